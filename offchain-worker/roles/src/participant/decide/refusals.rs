//! Tasks that would fail again if they were tried at once.

use super::task::Task;
use crate::WorkerError;
use neuroshard_chain_client::ChainError;
use neuroshard_support::backoff::Backoff;
use neuroshard_training::{outer::OuterError, round::TrainError};
use neuroshard_types::BlockNumber;

/// Blocks until a task that failed in vain is tried again.
const FIXED: BlockNumber = 10;
/// Longest of the rests that grow with each failure.
const LONGEST: BlockNumber = 32;
const BACKOFF: Backoff<BlockNumber> = Backoff::new(1, LONGEST);

/// Time for which a task that failed rests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::participant) enum Rest {
	/// The same number of blocks each time.
	Fixed,
	/// 1 block, then 2, 4, .. as long as it fails.
	Growing,
	/// As long as this worker runs.
	Lasting,
}

#[derive(Debug)]
struct Refusal {
	task: Task,
	rest: BlockNumber,
	until: BlockNumber,
}

/// Tasks that are not tried again before some block. There is at most one entry for a kind of task that changes nothing by itself, so the
/// list stays short; entries that have been over for some time are dropped with the next one.
#[derive(Debug, Default)]
pub(in crate::participant) struct Refusals(Vec<Refusal>);

impl Refusals {
	/// Notes that `task` failed in vain at block `best`.
	pub(in crate::participant) fn note(&mut self, task: Task, rest: Rest, best: BlockNumber) {
		let before = self.0.iter().find(|other| other.task == task).map(|other| other.rest);
		let rest = match (rest, before) {
			(Rest::Fixed, _) => FIXED,
			(Rest::Lasting, _) => BlockNumber::MAX,
			(Rest::Growing, before) => BACKOFF.after(before),
		};
		self.0.retain(|other| other.task != task && other.until.saturating_add(LONGEST) > best);
		self.0.push(Refusal { task, rest, until: best.saturating_add(rest) });
	}

	/// Returns whether `task` is not tried again at all.
	pub(in crate::participant) fn gave_up(&self, task: &Task) -> bool {
		self.0.iter().any(|other| other.task == *task && other.until == BlockNumber::MAX)
	}

	/// Returns whether `task` is not to be tried at block `best`.
	pub(in crate::participant) fn bars(&self, task: &Task, best: BlockNumber) -> bool {
		self.0.iter().any(|other| other.task == *task && best < other.until)
	}
}

impl WorkerError {
	/// Returns the rest after which the attempt may be made again, since it would end the same way before; `None` if it may be made again at once.
	pub(in crate::participant) fn rest(&self) -> Option<Rest> {
		match self {
			// The same machine gives the same answer.
			Self::Arithmetic(_) => Some(Rest::Lasting),
			Self::Chain(error) if error.is_dispatch("Staking::WrongAnswer") => Some(Rest::Lasting),
			// Every refused extrinsic costs a fee, every divergent attempt a computation that would end alike.
			Self::Chain(ChainError::Dispatch { .. } | ChainError::Stopped)
			| Self::Train(TrainError::Diverged(_))
			// Until the next round nothing changes.
			| Self::NoQuorum { .. }
			| Self::Unreachable { .. }
			| Self::Outer(OuterError::Train(TrainError::Diverged(_))) => Some(Rest::Fixed),
			Self::NoShardList { .. }
			| Self::UnknownDataset(_)
			| Self::OthersFolder { .. }
			| Self::NoRoom { .. }
			| Self::DiskFull { .. } => Some(Rest::Growing),
			_ => None,
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::arithmetic::Fault;

	#[test]
	fn a_refused_task_rests_for_some_blocks_whatever_else_is_refused_meanwhile() {
		let mut refusals = Refusals::default();
		assert!(!refusals.bars(&Task::Join, 100));
		refusals.note(Task::Join, Rest::Fixed, 100);
		refusals.note(Task::Claim, Rest::Fixed, 101);
		assert!(refusals.bars(&Task::Join, 109) && refusals.bars(&Task::Claim, 110));
		assert!(!refusals.bars(&Task::Join, 110) && !refusals.bars(&Task::Leave, 105));
	}

	#[test]
	fn what_nobody_has_is_asked_for_less_and_less_often() {
		let (mut refusals, task) = (Refusals::default(), Task::FindDataset { id: 3 });
		let mut asked = Vec::new();
		for best in 0..200 {
			if !refusals.bars(&task, best) {
				asked.push(best);
				refusals.note(task.clone(), Rest::Growing, best);
			}
		}
		assert_eq!(asked, [0, 1, 3, 7, 15, 31, 63, 95, 127, 159, 191]);
	}

	#[test]
	fn what_would_fail_for_ever_is_not_tried_again_but_another_like_it_is() {
		let test = |byte| Task::ProveArithmetic { challenge: neuroshard_types::H256::repeat_byte(byte) };
		let mut refusals = Refusals::default();
		refusals.note(test(1), Rest::Lasting, 100);
		refusals.note(Task::Join, Rest::Fixed, 1_000_000);
		assert!(refusals.bars(&test(1), 1_000_000) && refusals.gave_up(&test(1)));
		assert!(!refusals.bars(&test(2), 100) && !refusals.gave_up(&test(2)) && !refusals.gave_up(&Task::Join));
	}

	#[test]
	fn what_is_over_is_forgotten() {
		let mut refusals = Refusals::default();
		for best in 0..1_000 {
			refusals.note(Task::ProveUptime { hour: best }, Rest::Fixed, best);
		}
		assert!(refusals.0.len() < 50);
	}

	#[test]
	fn a_machine_that_computes_wrongly_is_not_tested_again_and_again() {
		assert_eq!(WorkerError::Arithmetic(Fault::Unstable).rest(), Some(Rest::Lasting));
		let refused = |name: &str| ChainError::Dispatch { call: String::new(), name: name.into(), advice: String::new() };
		assert_eq!(WorkerError::Chain(refused("Staking::WrongAnswer")).rest(), Some(Rest::Lasting));
		assert_eq!(WorkerError::Chain(refused("Staking::BondTooSmall")).rest(), Some(Rest::Fixed));
	}

	#[test]
	fn a_retired_dataset_is_asked_for_less_and_less_often_and_says_what_to_do() {
		let error = WorkerError::UnknownDataset(1);
		assert_eq!(error.rest(), Some(Rest::Growing));
		assert!(error.lacks_dataset() && !error.is_fatal());
		assert!(error.to_string().contains("retired") && error.to_string().contains("--run ID"), "{error}");
	}
}
