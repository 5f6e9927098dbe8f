//! `bond-extra`, `unbond`, `withdraw`, `chill` and `activate`: what a provider does with its bond while it stays one.

use super::{money::unsent, open::open, parse, print, CliError, Common};
use clap::Args;
use neuroshard_chain_client::{staking, Call, Neuro};
use neuroshard_support::counted::counted;
use neuroshard_types::{provider::ProviderView, Balance, BlockNumber};

#[derive(Debug, Args)]
pub(super) struct BondExtra {
	/// How much to add, in NEURO.
	#[arg(long, value_name = "NEURO", value_parser = parse::amount, allow_negative_numbers = true)]
	amount: Neuro,
}

#[derive(Debug, Args)]
pub(super) struct Lock {
	/// For how many days from now, 1 to 365. A lock cannot be shortened.
	#[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=365))]
	days: u16,
}

#[derive(Debug, Args)]
pub(super) struct Unbond {
	/// How much to take out, in NEURO.
	#[arg(long, value_name = "NEURO", value_parser = parse::amount, allow_negative_numbers = true)]
	amount: Neuro,
}

impl BondExtra {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		change(common, Signer::Owner, |_, _| Ok(staking::bond_extra(self.amount.0))).await
	}
}

impl Lock {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		change(common, Signer::Owner, |_, _| Ok(staking::lock(self.days))).await
	}
}

impl Unbond {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		change(common, Signer::Owner, |provider, now| {
			unlocked_stake(provider, now)?;
			if self.amount.0 > provider.bonded {
				return Err(CliError::Invalid(format!("the active bond is {}: {} is more", Neuro(provider.bonded), self.amount)));
			}
			Ok(staking::unbond(self.amount.0))
		})
		.await
	}
}

pub(super) async fn withdraw(common: &Common) -> Result<u8, CliError> {
	change(common, Signer::Owner, |provider, now| {
		unlocked(provider, now).map_err(CliError::Invalid)?;
		Ok(staking::withdraw_unbonded())
	})
	.await
}

pub(super) async fn chill(common: &Common) -> Result<u8, CliError> {
	change(common, Signer::Either, |_, _| Ok(staking::chill())).await
}

pub(super) async fn activate(common: &Common) -> Result<u8, CliError> {
	change(common, Signer::Either, |_, _| Ok(staking::activate())).await
}

/// Who may sign a call about a provider.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signer {
	/// The provider itself: the call moves money.
	Owner,
	/// The provider or its operator.
	Either,
}

/// Sends the call that `decide` makes of the provider and the height of the best block, and shows what became of the bond.
async fn change(
	common: &Common,
	signer: Signer,
	decide: impl FnOnce(&ProviderView, BlockNumber) -> Result<Call, CliError>,
) -> Result<u8, CliError> {
	let opened = open(common).await?;
	let who = opened.who.clone();
	let at = opened.client.now().await?;
	let provider = at.provider(&who).await?;
	let provider = provider.ok_or_else(|| CliError::NotRegistered { address: who.to_string() })?;
	let call = decide(&provider, at.block().number)?;
	if signer == Signer::Owner && !opened.may_sign(&at, &call)? {
		return Ok(0);
	}
	opened.submitter.submit_once(call).await.map_err(unsent)?;
	match opened.client.now().await?.provider(&who).await? {
		None => println!("nothing is bonded any more; the registration has ended"),
		Some(provider) => {
			println!("provider   {}, bond {}", print::status(&provider.status), Neuro(provider.bonded));
			print::restrictions(&provider, at.block().number);
			for chunk in &provider.unbonding {
				println!("unbonding  {}, free from block {}", Neuro(chunk.amount), chunk.unlocks_at);
			}
		}
	}
	Ok(0)
}

/// Refuses before it costs a fee what the chain would refuse of a locked stake.
pub(super) fn unlocked_stake(provider: &ProviderView, now: BlockNumber) -> Result<(), CliError> {
	let until = provider.locked_until;
	match until.checked_sub(now).filter(|blocks| *blocks > 0) {
		Some(blocks) => {
			Err(CliError::Invalid(format!("the stake is locked: try again at block {until}, {} from now", counted(blocks, "block"))))
		}
		None => Ok(()),
	}
}

/// What can be withdrawn in block `now`, or in words why nothing can.
pub(super) fn unlocked(provider: &ProviderView, now: BlockNumber) -> Result<Balance, String> {
	let ProviderView { unbonding, open_claims, disputable_until, .. } = provider;
	let ready = unbonding.iter().filter(|chunk| chunk.unlocks_at <= now).fold(0, |sum: Balance, chunk| sum.saturating_add(chunk.amount));
	match unbonding.iter().map(|chunk| chunk.unlocks_at).min() {
		None => Err("nothing is on its way out: start with `neuroshard-worker unbond` or `leave`".into()),
		Some(next) if ready == 0 => {
			Err(format!("nothing is free yet: the next part is at block {next}, {} from now", counted(next.saturating_sub(now), "block")))
		}
		Some(_) if *open_claims > 0 => {
			Err(format!(
				"{} open: proofs that are not final or are disputed, which end by themselves, offers of answers, which end with `neuroshard-worker offer --withdraw`, or a place in the ring of one, which ends with `hold`",
				counted(*open_claims, "claim")
			))
		}
		Some(_) if *disputable_until > now => Err(format!(
			"what was claimed in the last rounds can still be disputed: try again at block {disputable_until}, {} from now",
			counted(disputable_until.saturating_sub(now), "block")
		)),
		Some(_) => Ok(ready),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_fixtures::provider;
	use neuroshard_types::provider::{ProviderStatus, UnbondingChunk};

	#[test]
	fn a_withdrawal_that_the_chain_would_refuse_is_refused_before_it_costs_a_fee() {
		let chunk = |amount, unlocks_at| UnbondingChunk { amount, unlocks_at };
		let staying = ProviderView { status: ProviderStatus::Chilled, bonded: 1, ..provider() };
		let leaving = ProviderView { unbonding: vec![chunk(5, 10), chunk(7, 20)], ..staying.clone() };
		assert!(unlocked(&staying, 100).unwrap_err().contains("unbond"));
		assert!(unlocked(&leaving, 9).unwrap_err().contains("at block 10, 1 block from now"));
		assert!(unlocked(&ProviderView { open_claims: 3, ..leaving.clone() }, 10).unwrap_err().contains("3 claims"));
		let disputable = ProviderView { disputable_until: 15, ..leaving.clone() };
		assert!(unlocked(&disputable, 12).unwrap_err().contains("at block 15, 3 blocks from now"));
		assert_eq!(unlocked(&disputable, 15), Ok(5));
		assert_eq!(unlocked(&leaving, 10), Ok(5));
		assert_eq!(unlocked(&leaving, 20), Ok(12));
	}
}
