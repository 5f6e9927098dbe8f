//! Claims that were found false and are not disputed yet: for want of money, of a node, or of room in its pool or among the disputes of an
//! account. They are kept until a final block has the challenge, the chain refuses it for good, or nobody can dispute them any more.

use super::{compute::Haste, latest, Verifier, BACKOFF};
use crate::WorkerError;
use neuroshard_chain_client::{BlockId, Call, ChainAt, Heads, Neuro};
use neuroshard_disputes::cases::ledger::{verdict, Finding};
use neuroshard_types::{dispute::ClaimId, BlockNumber};
use tokio::sync::watch;

/// Blocks until an account that could not pay the bond of a challenge is looked at again.
const POOR: BlockNumber = 20;
/// Blocks until an account against which there was no room for another dispute is looked at again.
const CROWDED: BlockNumber = 5;

/// A challenge that is to be sent, or to become final.
pub(super) struct Accusation {
	call: Call,
	/// The block that it is in, or that has the game already.
	made: Option<BlockId>,
	/// First block in which the claim cannot be disputed any more.
	until: BlockNumber,
	/// First block in which it is tried (again).
	from: BlockNumber,
}

#[cfg(test)]
impl Accusation {
	/// Has it be in a block that no branch has.
	pub(super) fn lose(&mut self) {
		self.made = self.made.map(|block| BlockId { hash: Default::default(), ..block });
	}
}

impl Verifier {
	/// Has `claim` disputed by `call` until block `until`.
	pub(super) fn accuse(&mut self, claim: ClaimId, call: Call, until: BlockNumber) {
		self.accusations.insert(claim, Accusation { call, made: None, until, from: 0 });
	}

	/// The next claim to dispute, or to look after: the one whose time is over first. Forgets those whose time is over.
	pub(super) fn next_accusation(&mut self, now: BlockNumber) -> Option<ClaimId> {
		self.accusations.retain(|_, accusation| accusation.until > now);
		let due = self.accusations.iter().filter(|(_, accusation)| accusation.from <= now);
		due.min_by_key(|(_, accusation)| accusation.until).map(|(claim, _)| claim.clone())
	}

	/// Sends a challenge, if its bond can be paid; or looks whether the block that it is in became final.
	pub(super) async fn dispute(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, claim: ClaimId) -> Result<(), WorkerError> {
		let now = at.block().number;
		if let Some(made) = self.accusations.get(&claim).and_then(|accusation| accusation.made) {
			let is_final = self.client.is_final(made).await?;
			let Some(accusation) = self.accusations.get_mut(&claim) else { return Ok(()) };
			match is_final {
				None => accusation.from = now.saturating_add(1),
				Some(true) => drop(self.accusations.remove(&claim)),
				// Another branch won, and may not have it.
				Some(false) => accusation.made = None,
			}
			return Ok(());
		}
		let (free, needed) = (at.funds(self.submitter.signer()).await?.free, at.needed_against(&claim, &self.me).await?);
		let Some(accusation) = self.accusations.get_mut(&claim) else { return Ok(()) };
		// As many games are open against the account as can be.
		let Some(needed) = needed else {
			accusation.from = now.saturating_add(CROWDED);
			return Ok(());
		};
		if free < needed {
			accusation.from = now.saturating_add(POOR);
			tracing::warn!(
				round = claim.round, who = %claim.who,
				"found a false claim and cannot pay for disputing it: {} are free, and the bond takes {}, which comes back; send this account some NEURO",
				Neuro(free), Neuro(needed)
			);
			return Ok(());
		}
		accusation.from = now.saturating_add(BACKOFF.after(None));
		let (call, until) = (accusation.call.clone(), accusation.until);
		let sent = self.unless_urgent(heads.clone(), Haste::Check, async { Ok(self.submitter.submit_prompt(call, needed).await) }).await?;
		let (finding, made) = match sent {
			// Put off. It may get into a block nevertheless, and is then found open.
			None => return Ok(()),
			Some(Ok(included)) => (Finding::Challenged, Some(included.block)),
			Some(Err(error)) => match verdict(&error) {
				Some(Finding::Challenged) => (Finding::Challenged, Some(self.client.heads().await?.best)),
				Some(finding) => {
					tracing::warn!("the challenge was refused: {error}");
					(finding, None)
				}
				None => {
					if let Some(accusation) = self.accusations.get_mut(&claim) {
						accusation.from = latest(&heads, now).saturating_add(BACKOFF.after(None));
					}
					return Err(error.into());
				}
			},
		};
		match self.accusations.get_mut(&claim).filter(|_| made.is_some()) {
			Some(accusation) => accusation.made = made,
			None => drop(self.accusations.remove(&claim)),
		}
		// After a reorganisation it is the same finding.
		if self.ledger.finding(&claim) == Some(finding) {
			return Ok(());
		}
		self.found(finding);
		self.note(claim, finding, until, now)
	}
}
