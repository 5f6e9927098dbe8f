//! Quorums: accounts that hold one place of a round together, each a span of the model.
//!
//! One of them leads: the place is its, and it speaks for it. What each does it signs, so that a dispute finds out whose work is false.

use crate::{proof::ProofSignature, provider::PonwKey, AccountId, ModelConfig, RoundIndex, RunId, TrainConfig, H256};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
pub use neuroshard_graph::{
	game::MAX_MEMBERS,
	span::{check_cut, CutError, Span},
};
use neuroshard_graph::{
	game::{Quorum, Records, MAX_RECORDS},
	Hash,
};
use scale_info::TypeInfo;
use sp_core::ecdsa;
use sp_runtime::{helpers_128bit::multiply_by_rational_with_rounding, traits::Verify, Rounding};

/// Most seats in the quorums of a run together.
pub const MAX_SEATS: u32 = 128;

/// What an account holds in a quorum.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Seat {
	/// Who leads.
	pub leader: AccountId,
	/// The member.
	pub who: AccountId,
	/// What it holds.
	pub span: Span,
	/// Its key for proofs when it agreed, which all that it says is signed with; `None` until then.
	pub key: Option<PonwKey>,
}

/// Work of a quorum as its members sign it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct QuorumWork {
	/// The chain's first block.
	pub genesis: H256,
	/// Run.
	pub run: RunId,
	/// Round.
	pub round: RoundIndex,
	/// Seed of the round, which is another one in each attempt.
	pub seed: H256,
	/// Who leads.
	pub leader: AccountId,
}

impl QuorumWork {
	/// The bytes that a member's key for proofs signs, of a statement about this work.
	pub fn message(&self, statement: Hash) -> Vec<u8> {
		(b"neuroshard/quorum/1", self, statement).encode()
	}

	/// Returns whether the key has signed a statement about this work.
	pub fn is_signed(&self, key: PonwKey, statement: Hash, signature: &ProofSignature) -> bool {
		let (signature, key) = (ecdsa::Signature::from_raw(*signature), ecdsa::Public::from_raw(key));
		// It hashes with Blake2-256 before it verifies.
		signature.verify(&self.message(statement)[..], &key)
	}
}

/// Whose work a claim is that a quorum stands behind.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct QuorumClaim {
	/// What they have signed.
	pub work: QuorumWork,
	/// Its members by number.
	pub seats: Vec<Seat>,
}

/// Those of `seats` that `leader` leads, by number.
pub fn led_by<'a>(seats: &'a [Seat], leader: &'a AccountId) -> impl Iterator<Item = &'a Seat> + Clone {
	seats.iter().filter(move |seat| seat.leader == *leader)
}

impl QuorumClaim {
	/// What the members sign whose seats are those of `all` that `leader` leads, in the attempt at a round with this seed; `None` if there are none.
	pub fn of(genesis: H256, (run, round, seed): (RunId, RoundIndex, H256), all: &[Seat], leader: &AccountId) -> Option<Self> {
		let seats: Vec<Seat> = led_by(all, leader).cloned().collect();
		let work = QuorumWork { genesis, run, round, seed, leader: leader.clone() };
		(!seats.is_empty()).then_some(Self { work, seats })
	}

	/// Applies `rule` to the quorum as a game takes it.
	pub fn judge<R>(&self, rule: impl FnOnce(Quorum<'_>) -> R) -> R {
		let spans: Vec<Span> = self.seats.iter().map(|seat| seat.span).collect();
		let signed = |member: u32, statement: Hash, signature: &ProofSignature| {
			let seat = usize::try_from(member).ok().and_then(|member| self.seats.get(member));
			seat.and_then(|seat| seat.key).is_some_and(|key| self.work.is_signed(key, statement, signature))
		};
		rule(Quorum { spans: &spans, signed: &signed })
	}
}

/// Splits the work units of a place by what falls to each span, rounded down: what is left over is nobody's.
pub fn split(units: u128, model: &ModelConfig, train: &TrainConfig, spans: impl Iterator<Item = Span>) -> Vec<u128> {
	let of = |span: Span| span.ranges(model).flatten().fold(0u128, |sum, unit| sum.saturating_add(train.flops_of_unit(model, unit)));
	let works: Vec<u128> = spans.map(of).collect();
	let all = works.iter().fold(0u128, |sum, work| sum.saturating_add(*work)).max(1);
	works.into_iter().map(|work| multiply_by_rational_with_rounding(units, work, all, Rounding::Down).unwrap_or_default()).collect()
}

/// Returns whether all that members with these spans can have to say about an interval fits into a move.
pub fn fits_a_move(model: &ModelConfig, train: &TrainConfig, spans: &[Span]) -> bool {
	Records::most_bytes(model, train, spans).is_ok_and(|bytes| bytes <= MAX_RECORDS)
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_graph::span::units;
	use proptest::prelude::*;
	use sp_core::Pair;

	fn work() -> QuorumWork {
		QuorumWork { genesis: H256([7; 32]), run: 3, round: 4, seed: H256([5; 32]), leader: AccountId::new([1; 32]) }
	}

	#[test]
	fn a_signature_is_for_one_statement_of_one_attempt_at_one_round_only() {
		let (pair, other) = (ecdsa::Pair::from_seed(&[1; 32]), ecdsa::Pair::from_seed(&[2; 32]));
		let (key, statement) = (pair.public().0, [9; 32]);
		let signature = pair.sign(&work().message(statement)).0;
		assert!(work().is_signed(key, statement, &signature));
		assert!(!work().is_signed(other.public().0, statement, &signature));
		assert!(!work().is_signed(key, [8; 32], &signature));
		let others = [
			QuorumWork { genesis: H256([8; 32]), ..work() },
			QuorumWork { run: 4, ..work() },
			QuorumWork { round: 5, ..work() },
			QuorumWork { seed: H256([6; 32]), ..work() },
			QuorumWork { leader: AccountId::new([2; 32]), ..work() },
		];
		assert!(others.iter().all(|work| !work.is_signed(key, statement, &signature)));
	}

	#[test]
	fn only_who_has_agreed_signs() {
		let pair = ecdsa::Pair::from_seed(&[1; 32]);
		let seat = |key| Seat { leader: work().leader, who: work().leader, span: Span { first: 0, count: 3 }, key };
		let claim = QuorumClaim { work: work(), seats: [None, Some(pair.public().0)].map(seat).into() };
		let signature = pair.sign(&work().message([9; 32])).0;
		claim.judge(|quorum| {
			assert_eq!((quorum.spans.len(), quorum.spans[1]), (2, Span { first: 0, count: 3 }));
			let signs = |member| (quorum.signed)(member, [9; 32], &signature);
			assert_eq!([0, 1, 2, u32::MAX].map(signs), [false, true, false, false]);
		});
	}

	proptest! {
		#[test]
		fn no_units_are_made_by_splitting_them_and_few_are_left_over(units_of_place in any::<u128>(), layers in 1u32..9, first in 0u32..9, length in 1u32..9) {
			let model = ModelConfig { layers, ..ModelConfig::tiny() };
			let all = units(&model);
			let (first, length) = (first % all, 1 + length % (all - 1).max(1));
			let spans = [Span { first, count: length }, Span { first: (first + length) % all, count: all - length }];
			let spans: Vec<Span> = spans.into_iter().filter(|span| span.count > 0).collect();
			let untied = ModelConfig { tied: false, ..model.clone() };
			prop_assert!(check_cut(&untied, &spans).is_ok());
			let parts = split(units_of_place, &model, &TrainConfig::tiny(), spans.iter().copied());
			let sum = parts.iter().try_fold(0u128, |sum, part| sum.checked_add(*part));
			prop_assert!(sum.is_some_and(|sum| sum <= units_of_place && units_of_place - sum < 2));
		}
	}
}
