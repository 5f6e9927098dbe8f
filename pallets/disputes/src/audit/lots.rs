//! Draw of auditors for the work of others, by a seed. Pure.

use alloc::{collections::VecDeque, vec::Vec};
use codec::Encode;
use core::ops::Range;
use neuroshard_graph::merkle::blake2_256;
use neuroshard_types::{AccountId, H256};
use sp_runtime::Permill;

/// One claim that is audited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lot {
	/// Account whose work it is.
	pub subject: AccountId,
	/// Accounts that audit it: neither the subject, nor drawn for another claim.
	pub auditors: [AccountId; 2],
	/// Inner step after which the sample is taken.
	pub step: u32,
	/// Inner steps of the work.
	pub steps: u32,
}

/// Numbers by a seed.
pub(crate) struct Lots {
	seed: H256,
	number: u32,
}

impl Lots {
	/// Those of this seed, from the first one.
	pub(crate) const fn new(seed: H256) -> Self {
		Self { seed, number: 0 }
	}

	/// A number below `bound`, which is small against 2^64: all are as likely as makes no difference. Zero if `bound` is.
	pub(crate) fn below(&mut self, bound: usize) -> usize {
		let [a, b, c, d, e, f, g, h, ..] = blake2_256(&(self.seed, self.number).encode());
		self.number = self.number.saturating_add(1);
		let bound = u64::try_from(bound).unwrap_or(u64::MAX);
		let number = u64::from_le_bytes([a, b, c, d, e, f, g, h]).checked_rem(bound).unwrap_or(0);
		usize::try_from(number).unwrap_or(0)
	}

	/// Puts `count` of the items that were drawn first, in the order of the draw.
	pub(crate) fn shuffle<I>(&mut self, items: &mut [I], count: usize) {
		for place in 0..count.min(items.len()) {
			let other = place.saturating_add(self.below(items.len().saturating_sub(place)));
			items.swap(place, other);
		}
	}
}

/// Returns how many of `claims` are drawn: the share, and one more with the probability of what it leaves over.
fn count(lots: &mut Lots, share: Permill, claims: usize) -> usize {
	const WHOLE: usize = 1_000_000;
	let parts = usize::try_from(share.deconstruct()).unwrap_or(0).saturating_mul(claims);
	let more = lots.below(WHOLE) < parts % WHOLE;
	(parts / WHOLE).saturating_add(usize::from(more))
}

/// Draws `share` of the claimants, who come with the inner steps of their work, and for each of them two of the verifiers, as long as there are enough, and
/// one of the steps that `sampled` gives for those of its work.
pub fn draw(
	seed: H256,
	share: Permill,
	mut claimants: Vec<(AccountId, u32)>,
	mut verifiers: Vec<AccountId>,
	sampled: impl Fn(u32) -> Range<u32>,
) -> Vec<Lot> {
	let mut lots = Lots::new(seed);
	let count = count(&mut lots, share, claimants.len()).min(verifiers.len() / 2);
	lots.shuffle(&mut claimants, count);
	let all = verifiers.len();
	lots.shuffle(&mut verifiers, all);
	let mut pool = VecDeque::from(verifiers);
	let lot = |(subject, steps): (AccountId, u32)| {
		let sampled = sampled(steps);
		let mut other = || pool.remove(pool.iter().position(|who| *who != subject)?);
		let auditors = [other()?, other()?];
		let offset = u32::try_from(lots.below(sampled.len())).unwrap_or(0);
		Some(Lot { step: sampled.start.saturating_add(offset), auditors, subject, steps })
	};
	claimants.into_iter().take(count).filter_map(lot).collect()
}

#[cfg(test)]
mod tests {
	use super::*;
	use proptest::prelude::*;
	use std::collections::{BTreeMap, BTreeSet};

	fn accounts(first: u16, count: u16) -> Vec<AccountId> {
		let account = |number: u16| {
			let mut bytes = [0; 32];
			bytes[..2].copy_from_slice(&number.to_be_bytes());
			AccountId::new(bytes)
		};
		(first..first + count).map(account).collect()
	}

	/// Their claims, of 20 inner steps each.
	fn claims_of(first: u16, count: u16) -> Vec<(AccountId, u32)> {
		accounts(first, count).into_iter().map(|who| (who, 20)).collect()
	}

	fn seed(number: u64) -> H256 {
		H256::from_low_u64_be(number)
	}

	/// Returns how many of `claims` are drawn, by seed.
	fn counts(share: Permill, claims: u16) -> Vec<usize> {
		(0..2_000).map(|number| draw(seed(number), share, claims_of(0, claims), accounts(500, 300), |_| 0..4).len()).collect()
	}

	#[test]
	fn the_share_is_drawn_and_what_it_leaves_over_as_often_as_it_says() {
		assert!(counts(Permill::from_percent(20), 10).into_iter().all(|count| count == 2));
		assert!(counts(Permill::one(), 128).into_iter().all(|count| count == 128));
		assert!(counts(Permill::zero(), 128).into_iter().all(|count| count == 0));
		// 2.5 of 10: two or three, each in half of all cases. Six standard deviations are 134.
		let halves = counts(Permill::from_percent(25), 10);
		assert!(halves.iter().all(|count| matches!(count, 2 | 3)));
		let more = halves.iter().filter(|count| **count == 3).count();
		assert!((866..=1_134).contains(&more), "{more}");
		// A share below one claim is drawn now and then: 0.06 of all cases, 120 of 2,000, and six standard deviations are 64.
		let single = counts(Permill::from_percent(2), 3).into_iter().sum::<usize>();
		assert!((56..=184).contains(&single), "{single}");
	}

	#[test]
	fn every_claim_step_and_auditor_is_drawn_as_often_as_any_other() {
		let (mut subjects, mut auditors, mut steps) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
		for number in 0..3_000 {
			let lots = draw(seed(number), Permill::from_percent(50), claims_of(0, 4), accounts(500, 6), |_| 10..13);
			assert_eq!(lots.len(), 2);
			for lot in lots {
				*subjects.entry(lot.subject).or_insert(0) += 1;
				*steps.entry(lot.step).or_insert(0) += 1;
				lot.auditors.into_iter().for_each(|who| *auditors.entry(who).or_insert(0) += 1);
			}
		}
		// Half of 3,000 for a claim, a third of 6,000 for a step, two thirds of 3,000 for an auditor; six standard deviations are below 220.
		let near = |counts: Vec<i32>, expected: i32| counts.into_iter().all(|count| (count - expected).abs() < 220);
		assert!(subjects.len() == 4 && near(subjects.into_values().collect(), 1_500));
		assert!(steps.keys().eq(&[10, 11, 12]) && near(steps.into_values().collect(), 2_000));
		assert!(auditors.len() == 6 && near(auditors.into_values().collect(), 2_000));
	}

	#[test]
	fn a_step_is_drawn_of_those_that_the_work_has() {
		let claims: Vec<_> = accounts(0, 8).into_iter().zip(1..).collect();
		let lots = draw(seed(1), Permill::one(), claims.clone(), accounts(500, 16), |steps| 10 * steps..10 * steps + 3);
		assert_eq!(lots.len(), 8);
		for Lot { subject, step, steps, .. } in lots {
			assert!(claims.contains(&(subject, steps)));
			assert_eq!(step / 10, steps);
		}
	}

	#[test]
	fn claims_are_drawn_as_long_as_there_are_auditors() {
		let all = |verifiers| draw(seed(1), Permill::one(), claims_of(0, 10), verifiers, |_| 0..1);
		assert_eq!(all(accounts(500, 7)).len(), 3);
		assert_eq!(all(accounts(500, 1)), []);
		assert_eq!(all(Vec::new()), []);
		assert_eq!(draw(seed(1), Permill::one(), Vec::new(), accounts(500, 7), |_| 0..1), []);
		// Nobody audits itself, so that one alone beside the claimant is too few.
		assert_eq!(draw(seed(1), Permill::one(), claims_of(500, 1), accounts(500, 2), |_| 0..1), []);
	}

	proptest! {
		#[test]
		fn nobody_audits_itself_or_twice(seed: [u8; 32], share in 0u32..=1_000_000, claims in 0u16..=128, first in 0u16..200, verifiers in 0u16..=512) {
			let share = Permill::from_parts(share);
			let lots = draw(H256(seed), share, claims_of(0, claims), accounts(first, verifiers), |_| 3..17);
			let parts = u64::from(share.deconstruct()) * u64::from(claims);
			let most = usize::try_from(parts.div_ceil(1_000_000)).unwrap().min(usize::from(verifiers) / 2);
			// The last pair may be the claimant and one other.
			let least = usize::try_from(parts / 1_000_000).unwrap().min(usize::from(verifiers) / 2).saturating_sub(1);
			prop_assert!((least..=most).contains(&lots.len()), "{} of {}..={}", lots.len(), least, most);
			prop_assert!(lots.iter().all(|lot| !lot.auditors.contains(&lot.subject) && (3..17).contains(&lot.step)));
			let auditors: BTreeSet<_> = lots.iter().flat_map(|lot| lot.auditors.clone()).collect();
			prop_assert_eq!(auditors.len(), 2 * lots.len());
			let subjects: BTreeSet<_> = lots.iter().map(|lot| lot.subject.clone()).collect();
			prop_assert_eq!(subjects.len(), lots.len());
			prop_assert_eq!(draw(H256(seed), share, claims_of(0, claims), accounts(first, verifiers), |_| 3..17), lots);
		}
	}
}
