//! Results of disputes, from the events of blocks: for those who watch a network. Whoever takes part asks view functions.

use crate::{client::ChainAt, error::ChainError, event::EventShape};
use codec::{Compact, Decode};
use neuroshard_types::{
	dispute::{ClaimId, Decision},
	AccountId, Balance, BlockNumber,
};
use subxt::metadata::Metadata;

/// The event's fields.
type Fields = (ClaimId, AccountId, AccountId, Decision, Balance, Balance, Option<AccountId>, Balance, u32, u32, BlockNumber);
const DECIDED: EventShape<Fields> = EventShape::new(
	"Disputes",
	"Decided",
	&["claim", "challenger", "defender", "decision", "slashed", "rewarded", "receiver", "burned", "extrinsics", "witness_bytes", "blocks"],
);

/// The end of a dispute by a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
	/// Claim that was disputed.
	pub claim: ClaimId,
	/// By whom.
	pub challenger: AccountId,
	/// Who defended it at the end: the claimant, or a member of the quorum that it leads.
	pub defender: AccountId,
	/// Decision that ended it.
	pub decision: Decision,
	/// Amount that the side that lost has lost, in planck.
	pub slashed: Balance,
	/// Part of it that somebody received, in planck.
	pub rewarded: Balance,
	/// Account that received it.
	pub receiver: Option<AccountId>,
	/// Part of it that was burned, in planck.
	pub burned: Balance,
	/// Extrinsics of the dispute.
	pub extrinsics: u32,
	/// Bytes of the witness that decided it; zero if none did.
	pub witness_bytes: u32,
	/// Blocks from its opening to its end.
	pub blocks: BlockNumber,
	/// Reference time of the verdict, in picoseconds: what is charged for the plan, the witness and the piece, beside what the extrinsic
	/// reads and writes. `None` if no piece was executed.
	pub ref_time: Option<u64>,
}

impl Verdict {
	/// The side that lost.
	pub fn loser(&self) -> &AccountId {
		match self.decision {
			Decision::Fraud | Decision::DefenderLate => &self.defender,
			Decision::Unfounded | Decision::ChallengerLate => &self.challenger,
		}
	}

	fn decode(bytes: &[u8], verdict_time: Option<u64>) -> Result<Self, ChainError> {
		let (claim, challenger, defender, decision, slashed, rewarded, receiver, burned, extrinsics, witness_bytes, blocks) =
			DECIDED.decode(bytes)?;
		let ref_time = verdict_time.filter(|_| witness_bytes > 0);
		Ok(Self { claim, challenger, defender, decision, slashed, rewarded, receiver, burned, extrinsics, witness_bytes, blocks, ref_time })
	}
}

/// Checks that the chain's event has the same fields. A chain without disputes passes: it has no such event.
pub(super) fn check(metadata: &Metadata) -> Result<(), ChainError> {
	DECIDED.check(metadata)
}

/// Reference time of any verdict about a piece: a weight begins with it.
fn verdict_time(metadata: &Metadata) -> Option<u64> {
	let weight = metadata.pallet_by_name(DECIDED.pallet)?.constant_by_name("VerdictWeight")?;
	Compact::<u64>::decode(&mut weight.value()).ok().map(|time| time.0)
}

impl ChainAt {
	/// Disputes that were decided in this block, in order.
	///
	/// # Errors
	/// [`ChainError::Incompatible`] if the chain means something else by the event; the node is away or has discarded the block's state.
	pub async fn verdicts(&self) -> Result<Vec<Verdict>, ChainError> {
		check(self.at.metadata_ref())?;
		let time = verdict_time(self.at.metadata_ref());
		self.read_events(|pallet, name, bytes| match (pallet, name) == (DECIDED.pallet, DECIDED.name) {
			true => Verdict::decode(bytes, time).map(Some),
			false => Ok(None),
		})
		.await
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use codec::Encode;
	use neuroshard_types::dispute::ClaimKind;

	#[test]
	fn a_verdict_is_read_field_by_field_and_names_who_lost() {
		let [leader, challenger, member] = [1, 2, 3].map(|number| AccountId::new([number; 32]));
		let claim = ClaimId { run: 3, round: 4, kind: ClaimKind::Work, who: leader };
		let of = |decision: Decision| {
			let fields: Fields =
				(claim.clone(), challenger.clone(), member.clone(), decision, 10, 5, Some(challenger.clone()), 5, 9, 77, 12);
			Verdict::decode(&fields.encode(), Some(8)).unwrap()
		};
		let verdict = of(Decision::Fraud);
		let expected = Verdict {
			claim: claim.clone(),
			challenger: challenger.clone(),
			defender: member.clone(),
			decision: Decision::Fraud,
			slashed: 10,
			rewarded: 5,
			receiver: Some(challenger.clone()),
			burned: 5,
			extrinsics: 9,
			witness_bytes: 77,
			blocks: 12,
			ref_time: Some(8),
		};
		assert_eq!(verdict, expected);
		assert!([Decision::Fraud, Decision::DefenderLate].into_iter().all(|decision| *of(decision).loser() == member));
		assert!([Decision::Unfounded, Decision::ChallengerLate].into_iter().all(|decision| *of(decision).loser() == challenger));
		assert!(Verdict::decode(&[0; 9], None).is_err());
	}
}
