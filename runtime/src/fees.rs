//! Fees: what weight and length cost, and who gets it. Deposits: what a place in the state costs while it is taken.

use crate::{AccountId, Authorship, Balance, Balances, Validators, NEURO};
use frame_support::{
	traits::{
		fungible::{Balanced, Credit},
		ConstU128, Imbalance, OnUnbalanced,
	},
	weights::ConstantMultiplier,
};

/// 10 planck per picosecond of reference time: a plain transfer costs about 0.0036 NEURO.
pub type WeightFee = ConstantMultiplier<Balance, ConstU128<10>>;

/// 10^6 planck per byte: 0.001 NEURO a kilobyte.
pub type LengthFee = ConstantMultiplier<Balance, ConstU128<1_000_000>>;

/// Deposit for an item of the state, in planck: 0.1 NEURO.
pub const DEPOSIT_PER_ITEM: Balance = NEURO / 10;

/// Deposit for a byte of the state, keys included, in planck: 0.01 NEURO.
pub const DEPOSIT_PER_BYTE: Balance = NEURO / 100;

/// Deposit for so many items of the state that hold so many bytes together, in planck.
pub const fn deposit(items: Balance, bytes: Balance) -> Balance {
	items.saturating_mul(DEPOSIT_PER_ITEM).saturating_add(bytes.saturating_mul(DEPOSIT_PER_BYTE))
}

/// Pays fees and tips to the author of the block. Without an author (only before the first block) they are burned.
pub struct ToAuthor;

impl OnUnbalanced<Credit<AccountId, Balances>> for ToAuthor {
	fn on_nonzero_unbalanced(credit: Credit<AccountId, Balances>) {
		if let Some(author) = Authorship::author() {
			// An author below the existential deposit cannot receive a fee smaller than it: that fee is burned.
			drop(Balances::resolve(&author, credit));
		}
	}
}

/// Pays the validators' share of fees of inference into their pot, as a reward of the author of the block, which shares it with those who
/// nominate it. What the pot cannot take is burned, as it is without an author.
pub struct ToValidators;

impl OnUnbalanced<Credit<AccountId, Balances>> for ToValidators {
	fn on_nonzero_unbalanced(credit: Credit<AccountId, Balances>) {
		let amount = credit.peek();
		if let Some(author) = Authorship::author() {
			if Balances::resolve(&Validators::pot(), credit).is_ok() {
				Validators::reward(&author, amount);
			}
		}
	}
}
