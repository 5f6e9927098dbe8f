//! Steps after a round was adopted: it is noted, and what it does not need any more goes.

use super::{observe::Observed, Participant};
use crate::{status::RoundStatus, WorkerError};
use neuroshard_types::BlockNumber;

/// Blocks after which it is looked again whether a dataset is needed.
const RELEASE: BlockNumber = 100;

impl Participant {
	/// Notes rounds that were adopted since the last look.
	pub(super) async fn note_rounds(&mut self, seen: &Observed) -> Result<(), WorkerError> {
		let Some(run) = seen.chain.run.as_ref() else { return Ok(()) };
		let adopted = run.view.rounds_adopted;
		let known = match self.at_hand {
			Some((id, known)) if id == run.id => known,
			_ => adopted,
		};
		for round in known..adopted {
			let Some(record) = seen.at.record(run.id, round).await? else { continue };
			let now = self.tasks.content.net.traffic();
			let before = std::mem::replace(&mut self.traffic, now);
			let note = RoundStatus {
				round,
				validation_loss: Some(record.validation_loss.get()),
				included: u32::try_from(record.included.len()).unwrap_or(u32::MAX),
				own_included: record.included.iter().any(|(account, _)| *account == seen.chain.me),
				bytes_in: now.received.saturating_sub(before.received),
				bytes_out: now.sent.saturating_sub(before.sent),
			};
			tracing::info!(round, loss = note.validation_loss, included = note.included, "round adopted");
			self.tasks.reporter.update(|status| status.note_round(note));
		}
		self.at_hand = Some((run.id, adopted));
		if known < adopted {
			self.tasks.prune(seen, self.local.mode).await?;
		}
		let (here, best) = ((run.id, run.view.status), seen.chain.best);
		let changed = self.released.is_none_or(|(before, _)| before != here);
		if changed || self.released.is_some_and(|(_, at)| best >= at.saturating_add(RELEASE)) {
			let needed = self.tasks.needed_datasets(seen).await?;
			self.local.dataset = self.local.dataset.filter(|id| needed.contains(id));
			if self.tasks.release_datasets(needed).await? {
				self.released = Some((here, best));
				if changed {
					self.lacking = None;
				}
			}
		}
		Ok(())
	}
}
