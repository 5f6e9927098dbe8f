//! Counting of votes. All pure; stakes are those of the round's start.

use crate::round::Participant;
use alloc::vec::Vec;
use neuroshard_types::{run::vote_of, AccountId, Balance, F32, H256};

/// Returns whether `3 * part >= 2 * whole`, exactly and without overflow. Nothing has two thirds of nothing.
pub fn two_thirds(part: Balance, whole: Balance) -> bool {
	// 3p >= 2w  <=>  p >= ceil(2w / 3) = w - floor(w / 3) for integers.
	whole > 0 && part >= whole.saturating_sub(whole / 3)
}

/// Stake of all of them.
pub fn stake_of<'a>(participants: impl Iterator<Item = &'a Participant>) -> Balance {
	participants.fold(0, |sum, participant| sum.saturating_add(participant.stake))
}

/// Returns whether so many of those who began the round are `absent` at one deadline that it must be the chain's trouble and not theirs: more than a
/// third, both by heads and by stake. Who was struck out does not count. `absent` is by account bytes ascending.
///
/// Whoever dropped out before still counts as one who began it, so that those who have a third at most are never so many by themselves.
pub fn is_mass(participants: &[Participant], absent: &[AccountId]) -> bool {
	let began = || participants.iter().filter(|participant| participant.stake > 0);
	let missing = || began().filter(|participant| absent.binary_search(&participant.account).is_ok());
	missing().count() > began().count() / 3 && stake_of(missing()) > stake_of(began()) / 3
}

/// Stake of those who revealed and still count: the denominator of both votes.
pub fn electorate(participants: &[Participant]) -> Balance {
	stake_of(participants.iter().filter(|participant| participant.counted && participant.delta_root.is_some()))
}

/// For each participant, whether two thirds of the electorate could fetch and check its delta. Not one of whom nothing is at stake any more.
pub fn availability(participants: &[Participant]) -> Vec<bool> {
	let whole = electorate(participants);
	let mut bit = 0;
	participants
		.iter()
		.map(|candidate| {
			if candidate.delta_root.is_none() {
				return false;
			}
			let index = bit;
			bit += 1;
			let yes = participants.iter().filter(|voter| voter.counted && voter.vote.as_ref().is_some_and(|vote| vote_of(vote, index)));
			candidate.stake > 0 && two_thirds(stake_of(yes), whole)
		})
		.collect()
}

/// The root that two thirds of the electorate attest, if there is one.
pub fn quorum(participants: &[Participant]) -> Option<H256> {
	let whole = electorate(participants);
	let attesters = || participants.iter().filter(|participant| participant.counted);
	let roots = attesters().filter_map(|participant| Some(participant.attestation?.checkpoint));
	let stake_for = |root: H256| stake_of(attesters().filter(|other| other.attestation.is_some_and(|word| word.checkpoint == root)));
	roots.into_iter().find(|root| two_thirds(stake_for(*root), whole))
}

/// Stake-weighted lower median of the validation losses that were attested with `root`; `None` if nobody attests it.
///
/// Losses are ordered by IEEE-754 total order, so the result is exact whatever the bits are, NaNs included.
pub fn median_loss(participants: &[Participant], root: H256) -> Option<F32> {
	let mut losses: Vec<(u32, F32, Balance)> = participants
		.iter()
		.filter(|participant| participant.counted)
		.filter_map(|participant| {
			let word = participant.attestation.filter(|word| word.checkpoint == root)?;
			Some((total_order(word.validation_loss), word.validation_loss, participant.stake))
		})
		.collect();
	losses.sort_unstable_by_key(|(key, ..)| *key);
	let whole = losses.iter().fold(Balance::default(), |sum, (.., stake)| sum.saturating_add(*stake));
	let mut below: Balance = 0;
	losses
		.iter()
		.find(|(.., stake)| {
			below = below.saturating_add(*stake);
			below >= whole.saturating_sub(below)
		})
		.map(|(_, loss, _)| *loss)
}

/// An integer that orders the bits of floats by IEEE-754 `totalOrder`: -NaN < -inf < .. < -0 < +0 < .. < inf < NaN.
fn total_order(loss: F32) -> u32 {
	match loss.0 >> 31 {
		0 => loss.0 | 1 << 31,
		_ => !loss.0,
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::{
		run::{vote_bitmap, Attestation},
		AccountId,
	};
	use proptest::prelude::*;

	fn revealed(number: u8, stake: Balance) -> Participant {
		let mut participant = Participant::new(AccountId::new([number; 32]), stake, true);
		participant.delta_root = Some(H256::repeat_byte(number));
		participant
	}

	fn votes(mut participant: Participant, bits: &[bool]) -> Participant {
		participant.vote = vote_bitmap(bits.iter().copied());
		participant
	}

	fn attests(mut participant: Participant, root: u8, loss: f32) -> Participant {
		participant.attestation = Some(Attestation { checkpoint: H256::repeat_byte(root), validation_loss: F32::new(loss) });
		participant
	}

	#[test]
	fn exactly_two_thirds_are_enough_and_one_planck_less_is_not() {
		assert!(two_thirds(2, 3));
		assert!(!two_thirds(1, 3));
		assert!(two_thirds(200, 300));
		assert!(!two_thirds(199, 300));
		// Two thirds of 4 are 2.67, of 5 are 3.33.
		assert!(two_thirds(3, 4) && !two_thirds(2, 4));
		assert!(two_thirds(4, 5) && !two_thirds(3, 5));
		assert!(!two_thirds(0, 0) && !two_thirds(7, 0));
		assert!(two_thirds(Balance::MAX, Balance::MAX));
	}

	proptest! {
		#[test]
		fn two_thirds_agrees_with_the_products(part: u64, whole in 1u64..) {
			let exact = 3 * u128::from(part) >= 2 * u128::from(whole);
			prop_assert_eq!(two_thirds(part.into(), whole.into()), exact);
		}

		#[test]
		fn total_order_is_that_of_the_standard_library(a: u32, b: u32) {
			let ours = total_order(F32(a)).cmp(&total_order(F32(b)));
			prop_assert_eq!(ours, f32::from_bits(a).total_cmp(&f32::from_bits(b)));
		}
	}

	#[test]
	fn bits_of_a_vote_number_the_revealed_ones_only() {
		let silent = Participant::new(AccountId::new([2; 32]), 10, false);
		let tally = availability(&[votes(revealed(1, 10), &[true, false]), silent, votes(revealed(3, 10), &[true, false])]);
		assert_eq!(tally, [true, false, false]);
		let silent = Participant::new(AccountId::new([2; 32]), 10, false);
		let tally = availability(&[votes(revealed(1, 10), &[false, true]), silent, votes(revealed(3, 10), &[false, true])]);
		assert_eq!(tally, [false, false, true]);
	}

	#[test]
	fn a_delta_of_a_dropout_is_included_but_its_vote_and_stake_do_not_count() {
		let mut gone = votes(revealed(1, 1_000), &[false, false, false]);
		gone.counted = false;
		let tally = availability(&[gone, votes(revealed(2, 10), &[true, true, false]), votes(revealed(3, 5), &[false, true, true])]);
		// 10 of 15 are exactly two thirds; 5 of 15 are not.
		assert_eq!(tally, [true, true, false]);
	}

	#[test]
	fn a_delta_with_nothing_at_stake_is_not_included_and_keeps_its_bit() {
		let struck = revealed(2, 0);
		let tally = availability(&[votes(revealed(1, 10), &[true, true, false]), struck, votes(revealed(3, 10), &[true, true, true])]);
		assert_eq!(tally, [true, false, false]);
	}

	#[test]
	fn a_quorum_is_by_stake_and_not_by_heads() {
		let rich = attests(revealed(1, 20), 7, 1.0);
		let poor = |number| attests(revealed(number, 5), 8, 1.0);
		assert_eq!(quorum(&[rich.clone(), poor(2), poor(3)]), Some(H256::repeat_byte(7)));
		// 20 of 35 fall short.
		assert_eq!(quorum(&[rich, poor(2), poor(3), poor(4)]), None);
		assert_eq!(quorum(&[]), None);
	}

	#[test]
	fn those_who_have_not_attested_yet_are_in_the_denominator() {
		let word = attests(revealed(1, 10), 7, 1.0);
		assert_eq!(quorum(&[word.clone(), revealed(2, 10)]), None);
		assert_eq!(quorum(&[word, revealed(2, 5)]), Some(H256::repeat_byte(7)));
	}

	#[test]
	fn the_median_loss_is_weighted_and_ignores_other_roots() {
		let root = H256::repeat_byte(7);
		let list = [
			attests(revealed(1, 1), 7, 3.0),
			attests(revealed(2, 1), 7, 1.0),
			attests(revealed(3, 3), 7, 2.0),
			attests(revealed(4, 9), 8, 9.0),
		];
		assert_eq!(median_loss(&list, root), Some(F32::new(2.0)));
		// Two halves: the lower one.
		assert_eq!(median_loss(&list[..2], root), Some(F32::new(1.0)));
		assert_eq!(median_loss(&list[..2], H256::zero()), None);
	}

	#[test]
	fn a_minority_cannot_move_the_median_with_a_nan() {
		let list = [attests(revealed(1, 1), 7, f32::NAN), attests(revealed(2, 2), 7, 2.5)];
		assert_eq!(median_loss(&list, H256::repeat_byte(7)), Some(F32::new(2.5)));
		let lone = [attests(revealed(1, 1), 7, f32::NAN)];
		assert_eq!(median_loss(&lone, H256::repeat_byte(7)), Some(F32::new(f32::NAN)));
	}
}
