//! Limits on how often an extrinsic is signed before it is given up, and the tips that it offers for a place in a block.

use crate::{call::Call, client::BlockId, error::ChainError};
use neuroshard_types::{Balance, BlockNumber, NEURO};

/// Blocks that an extrinsic is valid for.
pub(super) const MORTALITY: BlockNumber = 64;
/// Signed anew so many times before it is given up.
const SIGNATURES: u32 = 3;
/// Tip of an extrinsic with a deadline that blocks had no room for, in planck: somebody may be filling them. Each further time it is four times as much.
const FIRST_TIP: Balance = NEURO / 100;
/// An extrinsic with a deadline that was to get into so many blocks without one of them taking it is signed anew, with a larger tip.
const STUCK_AFTER: BlockNumber = 3;
/// Largest tip, in planck; and no more than a tenth of what is free beside what the call itself needs.
const LAST_TIP: Balance = 5 * NEURO;

/// Handling of an extrinsic whose time is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expiry {
	/// It is signed anew, some times.
	SignAnew,
	/// Whoever asked decides whether it is still wanted.
	GiveUp,
	/// The same, and it is wanted as of this block only: on branches that have it, as the account's next extrinsic after it.
	AsOf(BlockId),
	/// The same, and no block from this one on is to have it. Until then it is signed anew.
	Deadline(BlockNumber),
}

impl Expiry {
	/// The deadline, if no block after `best` is before it.
	pub(super) fn missed(self, best: BlockNumber) -> Option<BlockNumber> {
		match self {
			Self::Deadline(deadline) if best.saturating_add(1) >= deadline => Some(deadline),
			_ => None,
		}
	}
}

/// Number of times that a call was signed, and whether it is signed once more.
#[derive(Debug)]
pub(super) struct Attempts {
	expiry: Expiry,
	signed: u32,
	expired: u32,
}

impl Attempts {
	pub(super) fn new(expiry: Expiry) -> Self {
		Self { expiry, signed: 1, expired: 0 }
	}

	/// After the time of one has passed: whether to sign anew, or what to say.
	pub(super) fn expired(&mut self, call: &Call) -> Result<(), ChainError> {
		self.expired = self.expired.saturating_add(1);
		let over = ChainError::NotIncluded { call: call.describe(), blocks: MORTALITY.saturating_mul(self.expired) };
		match self.expiry {
			Expiry::SignAnew => self.sign_anew(over),
			Expiry::GiveUp | Expiry::AsOf(_) => Err(over),
			Expiry::Deadline(_) => Ok(()),
		}
	}

	/// After the pool found nonce or birth block used up. That says nothing about the call itself. One that the pool had taken before
	/// may still come with another branch of the chain: only who wants it twice rather than never has it signed anew.
	pub(super) fn outdated(&mut self, call: &Call, reason: String, sent: bool) -> Result<(), ChainError> {
		let over = ChainError::Pool { call: call.describe(), reason };
		match self.expiry {
			Expiry::AsOf(_) => Err(over),
			Expiry::GiveUp | Expiry::Deadline(_) if sent => Err(over),
			_ => self.sign_anew(over),
		}
	}

	/// After blocks have passed: what was tried before them counts no more.
	pub(super) fn renew(&mut self) {
		self.signed = 1;
	}

	fn sign_anew(&mut self, otherwise: ChainError) -> Result<(), ChainError> {
		self.signed = self.signed.saturating_add(1);
		match self.signed <= SIGNATURES {
			true => Ok(()),
			false => Err(otherwise),
		}
	}
}

/// State of an extrinsic with a deadline that blocks have not taken, however it was signed.
#[derive(Default, Debug)]
pub(super) struct Stuck {
	/// Tip in planck that it offers.
	pub(super) tip: Balance,
	/// Blocks that it was to get into.
	waited: BlockNumber,
	/// Those of them with the tip that it offers now.
	in_vain: BlockNumber,
}

impl Stuck {
	/// After so many more blocks have not taken it, whoever had its place in them.
	pub(super) fn passed_by(&mut self, blocks: BlockNumber) {
		self.waited = self.waited.saturating_add(blocks);
		self.in_vain = self.in_vain.saturating_add(blocks);
	}

	/// Returns whether it has waited for longer than an extrinsic is valid.
	pub(super) fn is_too_long(&self) -> bool {
		self.waited > MORTALITY
	}

	/// Returns whether it is to offer more if `blocks` more have not taken it. A node whose pool has seen it invalid on a branch that was given up keeps
	/// those bytes, and puts them into no block.
	pub(super) fn is_due(&self, blocks: BlockNumber) -> bool {
		self.in_vain.saturating_add(blocks) > STUCK_AFTER
	}

	/// After blocks none of which could have had it.
	pub(super) fn forgive(&mut self) {
		self.in_vain = 0;
	}

	/// Offers more the next time.
	pub(super) fn raise(&mut self) {
		self.in_vain = 0;
		self.tip = self.tip.saturating_mul(4).clamp(FIRST_TIP, LAST_TIP);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn call() -> Call {
		crate::training::join(7)
	}

	#[test]
	fn what_expired_is_signed_anew_some_times_and_then_given_up() {
		let mut attempts = Attempts::new(Expiry::SignAnew);
		attempts.expired(&call()).unwrap();
		attempts.expired(&call()).unwrap();
		let error = attempts.expired(&call()).unwrap_err();
		assert!(matches!(&error, ChainError::NotIncluded { blocks: 192, .. }) && error.to_string().contains("Training::join"), "{error}");
	}

	#[test]
	fn a_worker_is_asked_again_whether_it_still_wants_what_expired() {
		let error = Attempts::new(Expiry::GiveUp).expired(&call()).unwrap_err();
		assert!(matches!(error, ChainError::NotIncluded { blocks: 64, .. }), "{error}");
	}

	#[test]
	fn a_nonce_that_is_taken_says_nothing_about_the_call() {
		let mut attempts = Attempts::new(Expiry::GiveUp);
		attempts.outdated(&call(), "taken".into(), false).unwrap();
		attempts.outdated(&call(), "taken".into(), false).unwrap();
		assert!(matches!(attempts.outdated(&call(), "taken".into(), false), Err(ChainError::Pool { .. })), "but it ends");
	}

	#[test]
	fn what_has_a_deadline_is_signed_anew_until_no_block_is_early_enough() {
		let expiry = Expiry::Deadline(100);
		let mut attempts = Attempts::new(expiry);
		(0..9).for_each(|_| attempts.expired(&call()).unwrap());
		// Block 99 is the last one before it.
		assert_eq!([97, 98, 99, 100].map(|best| expiry.missed(best)), [None, None, Some(100), Some(100)]);
		assert_eq!([Expiry::SignAnew, Expiry::GiveUp].map(|other| other.missed(BlockNumber::MAX)), [None, None]);
	}

	#[test]
	fn what_must_not_happen_twice_is_not_signed_anew_once_the_pool_had_it() {
		let outdated = |expiry| Attempts::new(expiry).outdated(&call(), "taken".into(), true);
		assert!(matches!(outdated(Expiry::GiveUp), Err(ChainError::Pool { .. })));
		assert!(matches!(outdated(Expiry::Deadline(9)), Err(ChainError::Pool { .. })));
		outdated(Expiry::SignAnew).unwrap();
	}

	#[test]
	fn blocks_count_until_a_tip_is_raised_also_if_others_had_the_place_in_them() {
		let mut stuck = Stuck::default();
		// Handed over at block 100, it has had blocks 101 to 103.
		assert!(!stuck.is_due(3) && stuck.is_due(4));
		stuck.passed_by(2);
		assert!(!stuck.is_due(0) && !stuck.is_due(1) && stuck.is_due(2));
		stuck.passed_by(2);
		assert!(stuck.is_due(0));
		stuck.raise();
		assert!(!stuck.is_due(3) && stuck.tip == FIRST_TIP);
		stuck.passed_by(60);
		assert!(!stuck.is_too_long());
		stuck.passed_by(1);
		assert!(stuck.is_too_long());
	}

	#[test]
	fn what_was_signed_in_vain_before_a_block_does_not_count_after_it() {
		let mut attempts = Attempts::new(Expiry::GiveUp);
		for _ in 0..9 {
			attempts.outdated(&call(), "taken".into(), false).unwrap();
			attempts.renew();
		}
	}

	#[test]
	fn what_is_wanted_as_of_a_block_is_never_signed_anew() {
		let attempts = || Attempts::new(Expiry::AsOf(BlockId::default()));
		assert!(matches!(attempts().outdated(&call(), "taken".into(), false), Err(ChainError::Pool { .. })));
		assert!(matches!(attempts().expired(&call()), Err(ChainError::NotIncluded { .. })));
	}
}
