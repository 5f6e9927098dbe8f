//! How often an extrinsic is signed before it is given up, and what it offers for a place in a block.

use crate::{call::Call, client::BlockId, error::ChainError};
use neuroshard_types::{Balance, BlockNumber, NEURO};

/// Blocks that an extrinsic is valid for.
pub(super) const MORTALITY: BlockNumber = 64;
/// Signed anew so many times before it is given up.
const SIGNATURES: u32 = 3;
/// Tip of an extrinsic with a deadline that blocks had no room for, in planck: somebody may be filling them. Each further time it is four times as much.
const FIRST_TIP: Balance = NEURO / 100;
/// Largest tip, in planck; and no more than a tenth of what is free beside what the call itself needs.
const LAST_TIP: Balance = 5 * NEURO;

/// What becomes of an extrinsic whose time is over.
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

/// How often a call was signed, and whether it is signed once more.
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

	fn sign_anew(&mut self, otherwise: ChainError) -> Result<(), ChainError> {
		self.signed = self.signed.saturating_add(1);
		match self.signed <= SIGNATURES {
			true => Ok(()),
			false => Err(otherwise),
		}
	}
}

/// What is known of an extrinsic with a deadline that blocks have not taken, however it was signed.
#[derive(Default, Debug)]
pub(super) struct Stuck {
	/// Tip in planck that it offers.
	pub(super) tip: Balance,
	/// Blocks that it was to get into.
	waited: BlockNumber,
	/// Nonce of the last one that the pool had.
	pub(super) had: Option<u64>,
}

impl Stuck {
	/// After so many more blocks have not taken the one with this nonce; whether the pool had `sent` it.
	pub(super) fn passed_by(&mut self, nonce: u64, sent: bool, blocks: BlockNumber) {
		self.waited = self.waited.saturating_add(blocks);
		self.had = sent.then_some(nonce).or(self.had);
	}

	/// Whether it has waited for longer than an extrinsic is valid.
	pub(super) fn is_too_long(&self) -> bool {
		self.waited > MORTALITY
	}

	/// Whether what the pool had is before this nonce: a block has taken that, or another one of this account in its place.
	pub(super) fn was_taken(&self, next: u64) -> bool {
		self.had.is_some_and(|nonce| nonce < next)
	}

	/// Offers more the next time.
	pub(super) fn raise(&mut self) {
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
	fn what_is_wanted_as_of_a_block_is_never_signed_anew() {
		let attempts = || Attempts::new(Expiry::AsOf(BlockId::default()));
		assert!(matches!(attempts().outdated(&call(), "taken".into(), false), Err(ChainError::Pool { .. })));
		assert!(matches!(attempts().expired(&call()), Err(ChainError::NotIncluded { .. })));
	}
}
