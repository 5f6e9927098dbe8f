//! What an extrinsic takes from an account, compared with what is there before it is sent: a failed one costs its fee all the same.

use super::{open::Opened, CliError};
use neuroshard_chain_client::{Call, ChainAt, Neuro};
use neuroshard_types::Balance;

/// What extrinsics take from an account at most, in planck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bill {
	/// Sent away, or held as a deposit.
	pub(super) amount: Balance,
	/// Fees. Execution that turns out cheaper is paid back, so this is the most.
	pub(super) fees: Balance,
	/// Must stay in every account.
	pub(super) existential_deposit: Balance,
}

impl Bill {
	/// The bill for `amount` and the fees of `calls`.
	pub(super) async fn of(at: &ChainAt, amount: Balance, calls: &[Call]) -> Result<Self, CliError> {
		let mut bill = Self { amount, fees: 0, existential_deposit: at.existential_deposit()? };
		for call in calls {
			bill.fees = bill.fees.saturating_add(at.fee(call).await?);
		}
		Ok(bill)
	}

	/// Refuses what the account at hand cannot pay at `at`. `what` names the amount in words.
	pub(super) async fn check(&self, opened: &Opened, at: &ChainAt, what: &'static str) -> Result<(), CliError> {
		let free = at.funds(&opened.account.id()).await?.free;
		if self.covered_by(free) {
			return Ok(());
		}
		Err(CliError::CannotPay {
			address: opened.account.address(),
			free: Neuro(free),
			needed: Neuro(self.total()),
			what,
			amount: Neuro(self.amount),
			fees: Neuro(self.fees),
			stays: Neuro(self.existential_deposit),
		})
	}

	/// Whether an account with so much free money can pay it.
	fn covered_by(&self, free: Balance) -> bool {
		self.total() <= free
	}

	fn total(&self) -> Balance {
		self.amount.saturating_add(self.fees).saturating_add(self.existential_deposit)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn amount_fees_and_existential_deposit_must_all_be_there() {
		let bill = Bill { amount: 1_000, fees: 30, existential_deposit: 7 };
		assert!(bill.covered_by(1_037));
		assert!(!bill.covered_by(1_036));
		let absurd = Bill { amount: Balance::MAX - 1, ..bill };
		assert!(!absurd.covered_by(Balance::MAX - 2), "the sum does not wrap around");
	}
}
