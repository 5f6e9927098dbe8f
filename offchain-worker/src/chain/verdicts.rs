//! How disputes ended, from the events of blocks: for those who watch a network. Whoever takes part asks view functions.

use super::{client::ChainAt, error::ChainError, shape};
use codec::{Compact, Decode, DecodeAll};
use neuroshard_types::{
	dispute::{ClaimId, Decision},
	AccountId, Balance, BlockNumber,
};
use scale_info::{form::PortableForm, Variant};
use std::collections::BTreeMap;
use subxt::{events::Phase, metadata::Metadata};

const PALLET: &str = "Disputes";
const DECIDED: &str = "Decided";
/// Names of the event's fields, in order.
const NAMES: [&str; 10] =
	["claim", "challenger", "decision", "slashed", "rewarded", "receiver", "burned", "extrinsics", "witness_bytes", "blocks"];
/// Their types.
type Fields = (ClaimId, AccountId, Decision, Balance, Balance, Option<AccountId>, Balance, u32, u32, BlockNumber);

/// The end of a dispute by a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
	/// What was disputed.
	pub claim: ClaimId,
	/// By whom.
	pub challenger: AccountId,
	/// How it ended.
	pub decision: Decision,
	/// What the side that lost has lost, in planck.
	pub slashed: Balance,
	/// How much of that somebody received, in planck.
	pub rewarded: Balance,
	/// Who received it.
	pub receiver: Option<AccountId>,
	/// How much of it was burned, in planck.
	pub burned: Balance,
	/// Extrinsics of the dispute.
	pub extrinsics: u32,
	/// Bytes of the witness that decided it; zero if none did.
	pub witness_bytes: u32,
	/// Blocks from its opening to its end.
	pub blocks: BlockNumber,
	/// Reference time of the extrinsic that decided, in picoseconds: its weight as it was charged. `None` if time decided.
	pub ref_time: Option<u64>,
}

impl Verdict {
	/// The side that lost.
	pub fn loser(&self) -> &AccountId {
		match self.decision {
			Decision::Fraud | Decision::DefenderLate => &self.claim.who,
			Decision::Unfounded | Decision::ChallengerLate => &self.challenger,
		}
	}

	fn decode(bytes: &[u8], ref_time: Option<u64>) -> Result<Self, codec::Error> {
		let (claim, challenger, decision, slashed, rewarded, receiver, burned, extrinsics, witness_bytes, blocks) =
			Fields::decode_all(&mut &*bytes)?;
		Ok(Self { claim, challenger, decision, slashed, rewarded, receiver, burned, extrinsics, witness_bytes, blocks, ref_time })
	}
}

/// Whether the chain means the same by the event. One without disputes does: it has no such event.
pub(super) fn check(metadata: &Metadata) -> Result<(), ChainError> {
	let variants = metadata.pallet_by_name(PALLET).and_then(|pallet| pallet.event_variants()).unwrap_or_default();
	variants.iter().filter(|variant| variant.name == DECIDED).try_for_each(|variant| same_fields(metadata, variant))
}

fn same_fields(metadata: &Metadata, variant: &Variant<PortableForm>) -> Result<(), ChainError> {
	let what = || format!("event {PALLET}::{DECIDED}");
	let fields: Vec<_> = variant.fields.iter().map(|field| (field.name.as_deref().unwrap_or_default(), field.ty.id)).collect();
	if !fields.iter().map(|(name, _)| *name).eq(NAMES) {
		let chain = fields.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
		let mismatch = shape::Mismatch { path: "fields".into(), chain, worker: NAMES.join(", ") };
		return Err(ChainError::Incompatible { what: what(), mismatch });
	}
	shape::same_arguments::<Fields>(metadata.types(), &fields).map_err(|mismatch| ChainError::Incompatible { what: what(), mismatch })
}

impl ChainAt {
	/// Disputes that were decided in this block, in order.
	///
	/// # Errors
	/// [`ChainError::Incompatible`] if the chain means something else by the event; the node is away or has discarded the block's state.
	pub async fn verdicts(&self) -> Result<Vec<Verdict>, ChainError> {
		check(self.at.metadata_ref())?;
		let bad = |error: subxt::error::EventsError| self.client.rpc_error("the events of a block", error);
		let events = self.at.events().fetch().await.map_err(bad)?;
		let (mut decided, mut ref_times) = (Vec::new(), BTreeMap::new());
		for event in events.iter() {
			let event = event.map_err(bad)?;
			let extrinsic = match event.phase() {
				Phase::ApplyExtrinsic(index) => Some(index),
				Phase::Finalization | Phase::Initialization => None,
			};
			match (event.pallet_name(), event.event_name()) {
				(PALLET, DECIDED) => decided.push((extrinsic, event.field_bytes().to_vec())),
				// Begins with the weight, and that with the reference time.
				("System", "ExtrinsicSuccess") => {
					let ref_time = Compact::<u64>::decode(&mut event.field_bytes()).ok();
					ref_times.extend(extrinsic.zip(ref_time));
				}
				_ => {}
			}
		}
		let undecodable =
			|error: codec::Error| ChainError::BadAnswer { what: format!("event {PALLET}::{DECIDED}"), reason: error.to_string() };
		let verdict = |(extrinsic, bytes): (Option<u32>, Vec<u8>)| {
			let ref_time = extrinsic.and_then(|index| ref_times.get(&index)).map(|time| time.0);
			Verdict::decode(&bytes, ref_time).map_err(undecodable)
		};
		decided.into_iter().map(verdict).collect()
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use codec::Encode;
	use neuroshard_types::dispute::ClaimKind;

	#[test]
	fn a_verdict_is_read_field_by_field_and_names_who_lost() {
		let (who, challenger) = (AccountId::new([1; 32]), AccountId::new([2; 32]));
		let claim = ClaimId { run: 3, round: 4, kind: ClaimKind::Work, who: who.clone() };
		let of = |decision: Decision| {
			let fields: Fields = (claim.clone(), challenger.clone(), decision, 10, 5, Some(challenger.clone()), 5, 9, 77, 12);
			Verdict::decode(&fields.encode(), Some(8)).unwrap()
		};
		let verdict = of(Decision::Fraud);
		let expected = Verdict {
			claim: claim.clone(),
			challenger: challenger.clone(),
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
		assert!([Decision::Fraud, Decision::DefenderLate].into_iter().all(|decision| *of(decision).loser() == who));
		assert!([Decision::Unfounded, Decision::ChallengerLate].into_iter().all(|decision| *of(decision).loser() == challenger));
		assert!(Verdict::decode(&[0; 9], None).is_err());
	}
}
