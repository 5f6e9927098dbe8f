//! `transfer` and `claim`.

use super::{bill::Bill, open::open, parse, CliError, Common};
use clap::Args;
use neuroshard_chain_client::{balances, rewards, Call, ChainError, Neuro};
use neuroshard_support::counted::counted;
use neuroshard_types::{AccountId, Balance};

#[derive(Debug, Args)]
pub(super) struct Transfer {
	/// Address of the account that gets it.
	#[arg(long, value_name = "ADDRESS", value_parser = parse::address)]
	to: AccountId,
	/// How much, in NEURO.
	#[arg(long, value_name = "NEURO", value_parser = parse::amount, allow_negative_numbers = true)]
	amount: Neuro,
}

impl Transfer {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let opened = open(common).await?;
		let (call, at) = (balances::transfer(self.to.clone(), self.amount.0), opened.client.now().await?);
		Bill::of(&at, self.amount.0, std::slice::from_ref(&call)).await?.check(&opened, &at, "the transfer").await?;
		let included = opened.submitter.submit_once(call).await.map_err(unsent)?;
		println!("sent {} to {} in block {}", self.amount, self.to, included.block.number);
		Ok(0)
	}
}

/// A call that failed for certain, or of which nobody knows: that one is not sent again by itself.
pub(super) fn unsent(error: ChainError) -> CliError {
	match error {
		ChainError::Dispatch { .. } | ChainError::Unfunded { .. } | ChainError::Incompatible { .. } => error.into(),
		source => CliError::Unsure { source },
	}
}

#[derive(Debug, Args)]
pub(super) struct Claim {
	/// Account whose earnings to claim, at this account's fee; this account if not given.
	#[arg(long, value_name = "ADDRESS", value_parser = parse::address)]
	account: Option<AccountId>,
}

impl Claim {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let opened = open(common).await?;
		let who = self.account.unwrap_or_else(|| opened.who.clone());
		let own = who == opened.account.id();
		let eras = opened.client.now().await?.claimable_eras(&who).await?;
		for some in eras.chunks(rewards::MOST_CLAIMS) {
			let claim = |era| if own { rewards::claim(era) } else { rewards::claim_for(who.clone(), era) };
			opened.submitter.submit(Call::all(some.iter().map(|(era, _)| claim(*era)).collect())).await?;
		}
		let earned = eras.iter().fold(0, |sum: Balance, (_, amount)| sum.saturating_add(*amount));
		match eras.is_empty() {
			true => println!("nothing is ready to claim"),
			false => println!("claimed {} of {} for {who}", Neuro(earned), counted(eras.len(), "era")),
		}
		Ok(0)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn whoever_may_have_paid_already_is_told_to_look_first() {
		let expired = ChainError::NotIncluded { call: "Balances::transfer_keep_alive".into(), blocks: 64 };
		let words = unsent(expired).to_string();
		assert!(words.contains("within 64 blocks") && words.contains("look at what the chain has now before you do it again"), "{words}");
		let refused = ChainError::Dispatch { call: String::new(), name: String::new(), advice: String::new() };
		assert!(matches!(unsent(refused), CliError::Chain(_)), "that one sent nothing");
	}
}
