//! Actions of accounts, drawn at random: most of it is what the state of the chain lets happen next.

mod accounts;
mod answers;
mod audits;
mod claims;
mod datasets;
mod decided;
mod games;
mod governance;
mod inference;
mod money;
mod providers;
mod rounds;
mod validators;
mod witness;

use crate::sequences::chain::account;
use neuroshard_runtime::{AccountId, Balance, RuntimeCall, RuntimeOrigin, NEURO};
use proptest::prelude::*;
pub use rounds::create_run;
pub use validators::session_keys;

/// A call and its origin; nothing if there is nothing to do, or it has happened already, without a call.
pub type Deed = Option<(RuntimeOrigin, RuntimeCall)>;

/// Somebody does something with some amount, perhaps with somebody else.
#[derive(Clone, Copy, Debug)]
pub struct Act {
	/// Number of the actor.
	who: u8,
	/// The pallets that it is about.
	area: u8,
	/// Number of the action.
	what: u8,
	/// With whom, or which one of several.
	whom: u8,
	/// A number for details.
	small: u8,
	/// Amount.
	amount: u32,
}

impl Arbitrary for Act {
	type Parameters = ();
	type Strategy = BoxedStrategy<Self>;

	fn arbitrary_with((): ()) -> Self::Strategy {
		let tuple = (any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>(), any::<u32>());
		tuple.prop_map(|(who, area, what, whom, small, amount)| Self { who, area, what, whom, small, amount }).boxed()
	}
}

impl Act {
	/// Does it.
	pub fn happen(&self) -> Deed {
		match self.area % 35 {
			0..=2 => money::deed(self),
			3..=6 => providers::deed(self),
			7..=9 => validators::deed(self),
			10..=12 => datasets::deed(self),
			13..=20 => rounds::deed(self),
			21..=24 => audits::deed(self),
			25..=26 => games::deed(self),
			27..=29 => governance::deed(self),
			30 | 31 => accounts::deed(self),
			_ => inference::deed(self),
		}
	}

	fn me(&self) -> AccountId {
		account(self.who)
	}

	fn other(&self) -> AccountId {
		account(self.whom)
	}

	/// From dust to more than anybody has.
	fn value(&self) -> Balance {
		Balance::from(self.amount) * NEURO / 1_000 / (1 + Balance::from(self.small))
	}

	/// A part of what there is: nothing, all of it, or something in between.
	fn part(&self, of: u128) -> u128 {
		of / 16 * u128::from(self.small % 17)
	}

	/// One of several.
	fn one_of<T>(&self, all: impl IntoIterator<Item = T>) -> Option<T> {
		let mut all: Vec<T> = all.into_iter().collect();
		let index = usize::from(self.whom).checked_rem(all.len())?;
		Some(all.swap_remove(index))
	}

	/// Returns whether this is one of so many that are like it.
	fn is_one_in(&self, many: u8) -> bool {
		self.small.is_multiple_of(many)
	}

	/// By the account itself.
	fn mine(&self, call: impl Into<RuntimeCall>) -> Deed {
		signed(self.me(), call)
	}
}

/// By an account, or by its operator.
fn signed(who: AccountId, call: impl Into<RuntimeCall>) -> Deed {
	let call = call.into();
	Some((RuntimeOrigin::signed(providers::signer(who, &call)), call))
}
