//! Last step of leaving.

use super::{decide::task::Task, observe::Observed, Participant};
use crate::{defence::AtStake, leave::forget_request, WorkerError};
use neuroshard_chain_client::staking;
use std::time::Instant;

impl Participant {
	/// The end of leaving: takes the bond out, and stays to defend what this account has claimed. `true` once nothing of that can be
	/// disputed any more: whoever is gone before loses its bond to the first who asks.
	pub(super) async fn leave(&mut self, seen: &Observed) -> Result<bool, WorkerError> {
		let bonded = seen.provider.as_ref().is_some_and(|provider| provider.bonded > 0);
		if bonded && !self.tasks.submitter.is_operator() {
			if self.refusals.bars(&Task::Leave, seen.chain.best) {
				return Ok(false);
			}
			self.tasks.submitter.submit(staking::deregister()).await?;
			tracing::info!("left: the bond is on its way out; `neuroshard-worker leave` withdraws it after the cooldown");
			return Ok(false);
		}
		let stake = AtStake::of(&seen.at, &seen.chain.me).await?;
		let words = if bonded {
			"has left its run, and defends what it claimed: its owner signs `Staking.deregister`, as `neuroshard-worker leave` prints it"
				.into()
		} else if stake.is_disputable(seen.heads.finalized.number) {
			format!("stays to defend what it claimed, which can be disputed until block {}", stake.disputable_until)
		} else if stake.attested > 0 {
			"stays until what it attests of datasets has ended".into()
		} else {
			forget_request(&self.base)?;
			return Ok(true);
		};
		if self.told.is_new(&words, Instant::now()) {
			tracing::info!("{words}");
		}
		self.tasks.reporter.update(|status| status.task = Some(words));
		Ok(false)
	}
}
