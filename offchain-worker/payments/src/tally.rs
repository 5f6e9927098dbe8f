//! The tally of a session.

use codec::{Decode, Encode};
use neuroshard_types::{
	inference::{chained, ClaimView, SessionId, Voucher},
	AccountId, Balance, H256,
};

/// All answers of a session up to some place. User and provider each keep one; a voucher says the user's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode)]
pub struct Tally {
	/// How many answers there are.
	pub answers: u32,
	/// What they cost, in planck.
	pub amount: Balance,
	/// Root of their receipts: that of none is zero, and with each one it is `chained`.
	pub receipts: H256,
}

impl Tally {
	/// Adds an answer of this price, whose receipt has this hash. Numbers at their limit stay there.
	#[must_use]
	pub fn with(self, price: Balance, receipt: H256) -> Self {
		Self {
			answers: self.answers.saturating_add(1),
			amount: self.amount.saturating_add(price),
			receipts: chained(self.receipts, receipt),
		}
	}

	/// Returns the voucher of the session for all these answers.
	pub fn voucher(self, session: SessionId, provider: AccountId) -> Voucher {
		let Self { answers, amount, receipts } = self;
		Voucher { session, provider, amount, answers, receipts }
	}
}

impl From<&Voucher> for Tally {
	fn from(voucher: &Voucher) -> Self {
		Self { answers: voucher.answers, amount: voucher.amount, receipts: voucher.receipts }
	}
}

/// What the chain has taken of a session for one provider.
impl From<&ClaimView> for Tally {
	fn from(claimed: &ClaimView) -> Self {
		Self { answers: claimed.answers, amount: claimed.owed, receipts: claimed.receipts }
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use proptest::prelude::*;

	#[test]
	fn a_tally_adds_prices_and_chains_receipts() {
		let [first, second] = [1, 2].map(H256::repeat_byte);
		let tally = Tally::default().with(10, first).with(5, second);
		assert_eq!(tally, Tally { answers: 2, amount: 15, receipts: chained(chained(H256::zero(), first), second) });
		assert_eq!(Tally::from(&tally.voucher(7, AccountId::new([1; 32]))), tally);
	}

	proptest! {
		/// Receipts reach the user in any order, and some late; whatever it has signed for is what the provider had then.
		#[test]
		fn user_and_provider_agree_whenever_the_user_has_all_receipts_up_to_some_place(
			answers in prop::collection::vec((any::<u64>(), any::<[u8; 32]>()), 0..20),
			shuffled in any::<prop::sample::Index>(),
		) {
			let given: Vec<(Balance, H256)> = answers.into_iter().map(|(price, receipt)| (price.into(), H256(receipt))).collect();
			let mut states = vec![Tally::default()];
			for (price, receipt) in &given {
				states.push(states.last().copied().unwrap_or_default().with(*price, *receipt));
			}
			let start = if given.is_empty() { 0 } else { shuffled.index(given.len()) };
			let (mut early, mut user) = (std::collections::BTreeMap::new(), Tally::default());
			for place in (start..given.len()).chain(0..start) {
				early.insert(place, given[place]);
				while let Some((price, receipt)) = early.remove(&(user.answers as usize)) {
					user = user.with(price, receipt);
				}
				prop_assert_eq!(user, states[user.answers as usize]);
			}
			prop_assert_eq!(Some(&user), states.last());
		}
	}
}
