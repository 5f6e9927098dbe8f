//! Draw of the answers that are audited, and of their auditors, by a seed. Pure.

use crate::audit::Lots;
use alloc::vec::Vec;
use core::ops::Range;
use neuroshard_types::{answer_audit::MAX_DRAWN, AccountId, Balance, H256};
use sp_runtime::Permill;

/// One answer that is audited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lot {
	/// Its place.
	pub place: u32,
	/// Account that audits it.
	pub auditor: AccountId,
}

/// The probability with which each of so many answers is drawn for which `paid` was paid together: `share`, but no more than that one is drawn of all of them for
/// each `price`, on average. So audits cost money to make, and none is drawn for nothing.
pub fn weighed(share: Permill, price: Balance, paid: Balance, answers: u32) -> Permill {
	match price.saturating_mul(answers.into()) {
		0 => share,
		all => share.min(Permill::from_rational(paid, all)),
	}
}

/// Draws each of `places` with the probability `share`, at most [`MAX_DRAWN`] of them, and for each one of the `verifiers`, by account bytes ascending, which is
/// not the provider. Nothing if there is no other.
pub fn draw(seed: H256, share: Permill, places: Range<u32>, provider: &AccountId, verifiers: &[AccountId]) -> Vec<Lot> {
	const WHOLE: usize = 1_000_000;
	let mut lots = Lots::new(seed);
	let parts = usize::try_from(share.deconstruct()).unwrap_or(0);
	let mut drawn: Vec<u32> = places.filter(|_| lots.below(WHOLE) < parts).collect();
	// Where too many are drawn, each of them is as likely to stay.
	let most = usize::try_from(MAX_DRAWN).unwrap_or(usize::MAX);
	lots.shuffle(&mut drawn, most);
	drawn.truncate(most);
	drawn.sort_unstable();
	let own = verifiers.binary_search(provider);
	let others = verifiers.len().saturating_sub(usize::from(own.is_ok()));
	let auditor = |place: u32| {
		let number = lots.below(others);
		// Those behind the provider move up.
		let skipped = own.is_ok_and(|own| own <= number);
		let auditor = verifiers.get(number.saturating_add(usize::from(skipped)))?.clone();
		Some(Lot { place, auditor })
	};
	drawn.into_iter().filter_map(auditor).collect()
}

#[cfg(test)]
mod tests {
	use super::*;
	use proptest::prelude::*;
	use std::collections::BTreeMap;

	fn account(number: u16) -> AccountId {
		let mut bytes = [0; 32];
		bytes[..2].copy_from_slice(&number.to_be_bytes());
		AccountId::new(bytes)
	}

	fn accounts(first: u16, count: u16) -> Vec<AccountId> {
		(first..first + count).map(account).collect()
	}

	fn seed(number: u64) -> H256 {
		H256::from_low_u64_be(number)
	}

	/// Returns the draws of these places by so many seeds.
	fn drawn(seeds: u64, share: u32, places: Range<u32>) -> Vec<Vec<Lot>> {
		let (share, verifiers) = (Permill::from_parts(share), accounts(500, 6));
		(0..seeds).map(|number| draw(seed(number), share, places.clone(), &account(1), &verifiers)).collect()
	}

	#[test]
	fn each_answer_is_drawn_with_the_probability_of_the_share() {
		let mut places = BTreeMap::new();
		let all = drawn(20_000, 100_000, 90..94);
		all.iter().flatten().for_each(|lot| *places.entry(lot.place).or_insert(0) += 1);
		// A tenth of 20,000 for each of four; six standard deviations are 255.
		assert!(places.keys().eq(&[90, 91, 92, 93]) && places.values().all(|count| (1_745..=2_255).contains(count)), "{places:?}");
		// Independently of each other: both of the first two in one of 100 cases, and six standard deviations are 84.
		let both = all.iter().filter(|lots| [90, 91].iter().all(|place| lots.iter().any(|lot| lot.place == *place))).count();
		assert!((116..=284).contains(&both), "{both}");
		// One percent of one answer: 200 of 20,000.
		let rare = drawn(20_000, 10_000, 0..1).into_iter().flatten().count();
		assert!((116..=284).contains(&rare), "{rare}");
		assert!(drawn(100, 0, 0..256).into_iter().flatten().next().is_none());
		assert!(drawn(100, 1_000_000, 5..9).into_iter().all(|lots| lots.iter().map(|lot| lot.place).eq(5..9)));
	}

	#[test]
	fn answers_that_cost_little_are_drawn_more_rarely() {
		let weighed = |paid, answers| weighed(Permill::from_parts(10_000), 1_000_000, paid, answers).deconstruct();
		// A hundredth of the price for each answer: one in a hundred. Half of that: one in two hundred.
		assert_eq!([weighed(10_000, 1), weighed(2_560_000, 256), weighed(Balance::MAX, 1), weighed(Balance::MAX, u32::MAX)], [10_000; 4]);
		assert_eq!([weighed(5_000, 1), weighed(1_280_000, 256)], [5_000; 2]);
		assert_eq!([weighed(1, 256), weighed(0, 1), weighed(255, 256), weighed(256, 256)], [0, 0, 0, 1]);
		// Where a draw has no price, or there is no answer.
		assert_eq!(super::weighed(Permill::one(), 0, 0, 256), Permill::one());
		assert_eq!(super::weighed(Permill::one(), 1, 0, 0), Permill::one());
	}

	#[test]
	fn of_a_claim_four_are_drawn_at_most_and_each_as_often_as_any_other() {
		let mut places = BTreeMap::new();
		for lots in drawn(8_000, 1_000_000, 0..16) {
			assert_eq!(lots.len(), 4);
			lots.into_iter().for_each(|lot| *places.entry(lot.place).or_insert(0) += 1);
		}
		// A quarter of 8,000 for each; six standard deviations are 233.
		assert!(places.len() == 16 && places.values().all(|count| (1_767..=2_233).contains(count)), "{places:?}");
	}

	#[test]
	fn every_verifier_is_drawn_as_often_as_any_other_but_never_the_provider() {
		for (provider, others) in [(499, 6), (500, 5), (503, 5), (505, 5), (506, 6)] {
			let mut auditors = BTreeMap::new();
			for number in 0..6_000 {
				let lots = draw(seed(number), Permill::one(), 0..1, &account(provider), &accounts(500, 6));
				lots.into_iter().for_each(|lot| *auditors.entry(lot.auditor).or_insert(0) += 1);
			}
			assert!(!auditors.contains_key(&account(provider)) && auditors.len() == others);
			// 1,000 or 1,200 of 6,000; six standard deviations are below 190.
			let mean = 6_000 / i32::try_from(others).unwrap();
			assert!(auditors.values().all(|count: &i32| (count - mean).abs() < 190), "{auditors:?}");
		}
	}

	#[test]
	fn nothing_is_drawn_where_nobody_else_verifies() {
		let all = |verifiers: &[AccountId]| draw(seed(1), Permill::one(), 0..9, &account(500), verifiers);
		assert_eq!(all(&[]), []);
		assert_eq!(all(&accounts(500, 1)), []);
		assert_eq!(all(&accounts(500, 2)).len(), 4);
	}

	proptest! {
		#[test]
		fn a_draw_is_what_it_says(seed: [u8; 32], share in 0u32..=1_000_000, first: u32, count in 0u32..=256, provider in 0u16..40, verifiers in 0u16..32) {
			let (share, places) = (Permill::from_parts(share), first..first.saturating_add(count));
			let (provider, verifiers) = (account(provider), accounts(5, verifiers));
			let lots = draw(H256(seed), share, places.clone(), &provider, &verifiers);
			prop_assert!(lots.len() <= 4 && lots.is_sorted_by(|a, b| a.place < b.place));
			prop_assert!(lots.iter().all(|lot| places.contains(&lot.place) && lot.auditor != provider && verifiers.contains(&lot.auditor)));
			prop_assert_eq!(draw(H256(seed), share, places, &provider, &verifiers), lots);
		}
	}
}
