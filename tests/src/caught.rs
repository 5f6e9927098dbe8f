//! What became of those who cheated.

use crate::{Cheater, Error, Network, Verdicts, View};
use neuroshard_chain_client::ChainAt;
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind},
	BlockNumber, RoundIndex,
};
use serde::Serialize;

/// What became of a cheater. Amounts are planck as text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheaterSummary {
	/// Name of the cheat.
	pub kind: String,
	/// Its address.
	pub who: String,
	/// Round in which it cheated.
	pub round: RoundIndex,
	/// Number of the dispute that condemned it, in the list of all; `None` if none did.
	pub dispute: Option<usize>,
	/// Its bond in the block before that.
	pub bond_before: String,
	/// Its bond at the end.
	pub bond_after: String,
	/// Whether a challenger was paid for it.
	pub challenger_paid: bool,
	/// Whether the checkpoints after the verdict are free of what it did: its delta is left out, or was never in; an attestation that
	/// was not adopted is in no checkpoint.
	pub out_of_the_model: bool,
}

impl CheaterSummary {
	/// What became of `cheater`, after what `verdicts` say.
	///
	/// # Errors
	/// [`Error::Chain`].
	pub(crate) async fn collect(network: &Network, cheater: &Cheater, verdicts: &Verdicts, view: &View) -> Result<Self, Error> {
		let client = network.client();
		let bonded = async |at: ChainAt| Ok::<_, Error>(at.provider(&cheater.account).await?.map_or(0, |provider| provider.bonded));
		let after = bonded(client.now().await?).await?;
		let dispute = cheater.caught(verdicts);
		let decided = dispute.and_then(|index| verdicts.list().get(index));
		let before = match decided {
			Some(decided) => bonded(client.at(client.block_at(decided.block.number.saturating_sub(1)).await?).await?).await?,
			None => after,
		};
		Ok(Self {
			kind: cheater.cheat.name().into(),
			who: cheater.account.to_string(),
			round: cheater.round,
			dispute,
			bond_before: before.to_string(),
			bond_after: after.to_string(),
			challenger_paid: decided.is_some_and(|one| one.verdict.rewarded > 0 && one.verdict.receiver.is_some()),
			out_of_the_model: decided.is_some_and(|one| is_out(&one.verdict.claim, one.block.number, view)),
		})
	}

	/// What is not as it must be.
	pub(crate) fn broken(&self) -> impl Iterator<Item = String> {
		let Self { kind, who, bond_before, bond_after, .. } = self;
		let claims = [
			(self.dispute.is_some(), format!("{who} got away with {kind}")),
			(self.dispute.is_none() || bond_before != bond_after, format!("{who} kept its bond of {bond_before} planck after {kind}")),
			(self.dispute.is_none() || self.challenger_paid, format!("nobody was paid for disputing {kind} of {who}")),
			(self.dispute.is_none() || self.out_of_the_model, format!("what {who} did by {kind} is still in the model")),
		];
		claims.into_iter().filter(|(holds, _)| !holds).map(|(_, words)| words)
	}

	/// One that was caught and has lost all that it should.
	#[cfg(test)]
	pub(crate) fn caught() -> Self {
		Self {
			kind: "noise".into(),
			who: "somebody".into(),
			round: 1,
			dispute: Some(0),
			bond_before: "10".into(),
			bond_after: "5".into(),
			challenger_paid: true,
			out_of_the_model: true,
		}
	}
}

/// Whether what was false in `claim` is in no checkpoint that was adopted after the verdict in block `decided`, of which there is at
/// least one if it is a claim about training.
fn is_out(claim: &ClaimId, decided: BlockNumber, view: &View) -> bool {
	let record = usize::try_from(claim.round).ok().and_then(|round| view.records.get(round));
	let later = record.zip(view.records.iter().find(|record| record.adopted_at > decided));
	match claim.kind {
		ClaimKind::Work => later.is_some_and(|(record, next)| {
			let was_in = record.included.iter().any(|(account, _)| *account == claim.who);
			// The outer steps from its round on were redone without it.
			record.excluded.contains(&claim.who) && (!was_in || next.first_round <= claim.round)
		}),
		ClaimKind::Attestation => later.is_some_and(|(record, _)| {
			record.attested.iter().any(|(account, checkpoint)| *account == claim.who && *checkpoint != record.checkpoint)
		}),
		// Nothing of an audit is in a checkpoint.
		ClaimKind::Audit => later.is_some(),
		// Nor of an answer, and no checkpoint need follow.
		ClaimKind::Answer(_) => true,
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_cheater_that_gets_away_with_anything_is_named() {
		type Break = fn(&mut CheaterSummary);
		let cases: [(&str, Break); 4] = [
			("got away", |one| one.dispute = None),
			("kept its bond", |one| one.bond_after = "10".into()),
			("nobody was paid", |one| one.challenger_paid = false),
			("still in the model", |one| one.out_of_the_model = false),
		];
		for (words, spoil) in cases {
			let mut one = CheaterSummary::caught();
			assert_eq!(one.broken().count(), 0);
			spoil(&mut one);
			let broken: Vec<String> = one.broken().collect();
			assert!(broken.len() == 1 && broken[0].contains(words) && broken[0].contains("noise"), "{words}: {broken:?}");
		}
	}
}
