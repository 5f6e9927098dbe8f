//! Tasks that would fail again if they were tried at once.

use super::plan::Task;
use neuroshard_types::BlockNumber;

/// Blocks until a task that failed in vain is tried again.
const BARRED_FOR: BlockNumber = 10;

/// Tasks that are not tried again before some block. There is at most one entry for a kind of task that changes nothing by itself, so the
/// list stays short; entries whose time is over are dropped with the next one.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<(Task, BlockNumber)>);

impl Refusals {
	/// Notes that `task` failed in vain at block `best`.
	pub(super) fn note(&mut self, task: Task, best: BlockNumber) {
		self.0.retain(|(other, until)| *other != task && *until > best);
		self.0.push((task, best.saturating_add(BARRED_FOR)));
	}

	/// Whether `task` is not to be tried at block `best`.
	pub(super) fn bars(&self, task: &Task, best: BlockNumber) -> bool {
		self.0.iter().any(|(other, until)| other == task && best < *until)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_refused_task_rests_for_some_blocks_whatever_else_is_refused_meanwhile() {
		let mut refusals = Refusals::default();
		assert!(!refusals.bars(&Task::Join, 100));
		refusals.note(Task::Join, 100);
		refusals.note(Task::Claim, 101);
		assert!(refusals.bars(&Task::Join, 109) && refusals.bars(&Task::Claim, 110));
		assert!(!refusals.bars(&Task::Join, 110) && !refusals.bars(&Task::Leave, 105));
	}

	#[test]
	fn what_is_over_is_forgotten() {
		let mut refusals = Refusals::default();
		for best in 0..1_000 {
			refusals.note(Task::ProveUptime { hour: best }, best);
		}
		assert!(refusals.0.len() <= 10);
	}
}
