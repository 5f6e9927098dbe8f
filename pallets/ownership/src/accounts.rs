//! Stored types, and their arithmetic.

use codec::{Decode, Encode, MaxEncodedLen};
use neuroshard_types::Balance;
use scale_info::TypeInfo;
use sp_core::U256;

/// Earnings are kept in units of 2^-96 planck.
///
/// An amount has less than 128 bits, so an amount in these units has less than 224, and so has the sum of all that is ever owed of a model,
/// since that is no more than its revenue: nothing overflows 256 bits.
pub const FRACTION_BITS: u32 = 96;

/// A model and its revenue.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Model {
	/// Shares that earn, of all accounts.
	pub earning: u128,
	/// Revenue of a share that has earned since the beginning, in units of 2^-96 planck.
	pub per_share: U256,
	/// Revenue that is owed to nobody yet, since it did not divide, in units of 2^-96 planck.
	pub remainder: U256,
	/// Revenue so far, in planck.
	pub revenue: Balance,
	/// Part of it that was paid to holders, in planck.
	pub paid: Balance,
}

impl Model {
	/// Spreads `amount` planck, and what could not be spread before, over the shares that earn. `None` if there are none, or if the sum of
	/// all revenue would exceed 128 bits; the model is to be thrown away then.
	pub fn spread(&mut self, amount: Balance) -> Option<()> {
		self.revenue = self.revenue.checked_add(amount)?;
		let all = (U256::from(amount) << FRACTION_BITS).checked_add(self.remainder)?;
		let shares = U256::from(self.earning);
		self.per_share = self.per_share.checked_add(all.checked_div(shares)?)?;
		self.remainder = all.checked_rem(shares)?;
		Some(())
	}
}

/// Holding of an account in a model.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Holding {
	/// Its shares that earn.
	pub earning: u128,
	/// [`Model::per_share`] when it was settled last.
	pub settled_at: U256,
	/// Amount that was owed to it then, in units of 2^-96 planck.
	pub owed: U256,
}

impl Holding {
	/// Adds what its shares have earned since it was settled last: to be done before their number changes.
	pub fn settle(&mut self, model: &Model) {
		let each = model.per_share.saturating_sub(self.settled_at);
		self.owed = self.owed.saturating_add(each.saturating_mul(self.earning.into()));
		self.settled_at = model.per_share;
	}

	/// Whole planck that were owed to it when it was settled last.
	pub fn claimable(&self) -> Balance {
		// Less than 2^128, as is all revenue.
		Balance::try_from(self.owed >> FRACTION_BITS).unwrap_or(Balance::MAX)
	}

	/// Takes the whole planck out of what is owed. The fraction stays.
	pub fn take(&mut self) -> Balance {
		let whole = self.claimable();
		self.owed = self.owed.saturating_sub(U256::from(whole) << FRACTION_BITS);
		whole
	}
}
