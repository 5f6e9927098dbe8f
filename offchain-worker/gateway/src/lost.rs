//! Answers whose receipts did not come: what was asked, and what came of them. The provider tells their receipts when a voucher is brought.

use super::asked::Asked;
use neuroshard_types::H256;
use std::{
	cmp::Reverse,
	collections::{BTreeMap, VecDeque},
	sync::Arc,
	time::{Duration, Instant},
};

/// Most answers that are waited for: providers give fewer without a voucher.
const MOST: usize = 32;
/// Bytes of a text that are kept: with as many of its beginning it is told from others.
const SEEN: usize = 64 << 10;
/// For so long the receipt of an answer is asked for. One that was never computed has none.
const KEPT: Duration = Duration::from_secs(3_600);

/// An answer whose receipt did not come.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Missing {
	/// Request that was made.
	pub(super) asked: Arc<Asked>,
	/// Number of the answer among those to that request.
	pub(super) choice: u32,
	/// Part of its text that came.
	pub(super) seen: String,
	/// Time at which it broke off.
	pub(super) since: Instant,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Lost {
	/// The earliest comes first.
	waiting: VecDeque<Missing>,
	/// Receipts that were taken for such answers, by their places.
	found: BTreeMap<u32, (H256, Missing)>,
	/// Receipts that were told, and are of none of them.
	refused: VecDeque<H256>,
}

impl Lost {
	/// Notes that the answers to `asked` have broken off that are not in `seen` with `None`: what is in there came of their texts. Those of which nothing came
	/// may never have been computed, and take nobody's place.
	pub(super) fn add(&mut self, asked: &Asked, mut seen: BTreeMap<u32, Option<String>>, now: Instant) {
		let (asked, all) = (Arc::new(asked.clone()), asked.answers());
		let mut room = MOST.saturating_sub(self.waiting.len());
		let missing = (0..all).filter_map(|choice| {
			let mut seen = seen.remove(&choice).unwrap_or_else(|| Some(String::new()))?;
			seen.truncate(seen.floor_char_boundary(SEEN));
			seen.shrink_to_fit();
			if seen.is_empty() {
				room = room.checked_sub(1)?;
			}
			Some(Missing { asked: asked.clone(), choice, seen, since: now })
		});
		self.waiting.extend(missing.take(MOST));
		while self.waiting.len() > MOST {
			self.waiting.pop_front();
			tracing::warn!("more than {MOST} answers came without their receipts: those of the first are waited for no more");
		}
	}

	/// Returns the number of answers that are waited for.
	pub(super) fn len(&self) -> usize {
		self.waiting.len()
	}

	/// Waits no more for those that broke off long before `now`.
	pub(super) fn forget_old(&mut self, now: Instant) {
		self.waiting.retain(|missing| now.saturating_duration_since(missing.since) < KEPT);
	}

	/// For how many this holds.
	pub(super) fn count(&self, is: impl Fn(&Missing) -> bool) -> usize {
		self.waiting.iter().filter(|missing| is(missing)).count()
	}

	/// The place here of one for which this holds. Of several it is that which fewest receipts fit: of which most came, and then the one that was to be shortest.
	pub(super) fn find(&self, is: impl Fn(&Missing) -> bool) -> Option<usize> {
		let fit = self.waiting.iter().enumerate().filter(|(_, missing)| is(missing));
		let narrowest = fit.min_by_key(|(_, missing)| (Reverse(missing.seen.len()), missing.asked.most.unwrap_or(u32::MAX)));
		narrowest.map(|(place, _)| place)
	}

	/// Notes that the receipt with this hash, of the answer at `index` of the session, is that of the missing one at `place` here.
	pub(super) fn found(&mut self, place: usize, index: u32, receipt: H256) {
		let Some(missing) = self.waiting.remove(place) else { return };
		self.found.insert(index, (receipt, missing));
		if self.found.len() > MOST {
			self.found.pop_first();
		}
	}

	/// Notes that a receipt with this hash is of no missing answer. Whether it was not noted before.
	pub(super) fn refuse(&mut self, receipt: H256) -> bool {
		let is_new = !self.refused.contains(&receipt);
		if is_new {
			self.refused.push_back(receipt);
			while self.refused.len() > MOST {
				self.refused.pop_front();
			}
		}
		is_new
	}

	/// Returns whether this receipt was taken for a missing answer already. It has come with its own now, so that the missing one is another one, and is waited
	/// for again.
	pub(super) fn came(&mut self, index: u32, receipt: H256) -> bool {
		match self.found.get(&index) {
			Some((known, _)) if *known == receipt => {}
			_ => return false,
		}
		self.waiting.extend(self.found.remove(&index).map(|(_, missing)| missing));
		true
	}
}

#[cfg(test)]
mod tests {
	use super::{super::testing::asked, *};

	/// So many answers to one prompt.
	fn choices(choices: u32) -> Asked {
		let mut asked = asked();
		asked.choices = choices;
		asked
	}

	fn places(lost: &Lost) -> Vec<(u32, &str)> {
		lost.waiting.iter().map(|missing| (missing.choice, &*missing.seen)).collect()
	}

	#[test]
	fn answers_are_waited_for_whose_receipts_did_not_come_and_not_for_ever() {
		let (mut lost, now, three) = (Lost::default(), Instant::now(), choices(3));
		lost.add(&three, [(0, Some("a".into())), (1, None)].into(), now);
		assert_eq!(places(&lost), [(0, "a"), (2, "")]);
		lost.add(&asked(), BTreeMap::new(), now + KEPT / 2);
		lost.forget_old(now + KEPT);
		assert_eq!(places(&lost), [(0, "")]);
	}

	#[test]
	fn no_more_are_kept_than_a_provider_gives() {
		let (mut lost, now) = (Lost::default(), Instant::now());
		lost.add(&choices(u32::MAX), BTreeMap::new(), now);
		lost.add(&asked(), [(0, Some("last".into()))].into(), now);
		assert_eq!((lost.len(), places(&lost)[0], places(&lost)[MOST - 1]), (MOST, (1, ""), (0, "last")));
		lost.add(&choices(5), BTreeMap::new(), now);
		assert_eq!((lost.len(), places(&lost)[0], places(&lost)[MOST - 1]), (MOST, (1, ""), (0, "last")), "of these nothing came");
	}

	#[test]
	fn of_several_that_fit_it_is_that_which_fewest_receipts_fit() {
		let (mut lost, now) = (Lost::default(), Instant::now());
		let mut short = asked();
		short.most = Some(2);
		for (asked, seen) in [(asked(), ""), (asked(), "ab"), (short, "")] {
			lost.add(&asked, [(0, Some(seen.into()))].into(), now);
		}
		assert_eq!(lost.find(|missing| "abc".starts_with(&missing.seen)), Some(1));
		assert_eq!(lost.find(|missing| "xyz".starts_with(&missing.seen)), Some(2), "the shorter one");
		lost.add(&asked(), [(0, Some("é".repeat(SEEN)))].into(), now);
		assert_eq!(lost.waiting[3].seen, "é".repeat(SEEN / 2));
	}

	#[test]
	fn what_is_refused_is_noted_once() {
		let mut lost = Lost::default();
		assert!(lost.refuse(H256::zero()) && !lost.refuse(H256::zero()));
		(1..).take(MOST).for_each(|byte| assert!(lost.refuse(H256::repeat_byte(byte))));
		assert_eq!(lost.refused.len(), MOST);
	}

	#[test]
	fn a_receipt_that_comes_with_its_own_answer_leaves_the_other_one_missing() {
		let (mut lost, hash) = (Lost::default(), H256::repeat_byte(4));
		lost.add(&asked(), BTreeMap::new(), Instant::now());
		lost.found(0, 7, hash);
		assert_eq!(lost.len(), 0);
		assert!(!lost.came(7, H256::zero()) && !lost.came(8, hash));
		assert!(lost.came(7, hash) && !lost.came(7, hash));
		assert_eq!(lost.len(), 1);
	}
}
