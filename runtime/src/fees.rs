//! Fees: what weight and length cost, and who gets it.

use crate::{AccountId, Authorship, Balance, Balances};
use frame_support::{
	traits::{
		fungible::{Balanced, Credit},
		ConstU128, OnUnbalanced,
	},
	weights::ConstantMultiplier,
};

/// 10 planck per picosecond of reference time: a plain transfer costs about 0.0064 NEURO.
pub type WeightFee = ConstantMultiplier<Balance, ConstU128<10>>;

/// 10^6 planck per byte: 0.001 NEURO a kilobyte.
pub type LengthFee = ConstantMultiplier<Balance, ConstU128<1_000_000>>;

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
