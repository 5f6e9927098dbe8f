//! `leave`.

use super::{
	bond::{unlocked, unlocked_stake},
	open::{open, Opened, RunLock},
	CliError, Common,
};
use crate::{
	chain::{audits, holdings, rewards, staking, training, Neuro},
	run::{forget_request, LEAVE_FILE},
};
use clap::Args;
use neuroshard_types::{provider::ProviderView, run::RunStatus};

#[derive(Debug, Args)]
pub(super) struct Leave {
	/// Do not wait for the round at hand: its work is lost, and it counts as a dropout.
	#[arg(long)]
	now: bool,
}

impl Leave {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let opened = open(common).await?;
		let address = opened.account.address();
		let at = opened.client.now().await?;
		let Some(provider) = at.provider(&opened.account.id()).await? else {
			return Err(CliError::NotRegistered { address });
		};
		if provider.bonded == 0 {
			forget_request(&opened.base)?;
			return withdraw(&opened, &provider).await;
		}
		unlocked_stake(&provider, at.block().number)?;
		if !self.now && RunLock::take(&opened.base).is_err() {
			// The running worker sees this, leaves its run, finishes the round and ends.
			let path = opened.base.join(LEAVE_FILE);
			std::fs::write(&path, b"").map_err(CliError::file(&path))?;
			println!(
				"the running worker finishes its round, takes its bond out, and ends when nothing that it claimed can be disputed any more"
			);
			println!("call `leave` again when it has");
			return Ok(0);
		}
		leave_runs(&opened).await?;
		resign(&opened).await?;
		withdraw_attestations(&opened).await?;
		opened.submitter.submit(staking::deregister()).await?;
		forget_request(&opened.base)?;
		let until = at.provider(&opened.account.id()).await?.map_or(0, |provider| provider.disputable_until);
		if until > at.block().number {
			println!("until block {until} somebody may dispute what this account claimed: `run` defends it, nobody else does");
		}
		let (_, blocks) = at.bond_limits().await?;
		println!("{} of bond on its way out; call `leave` again in {blocks} blocks to withdraw it", Neuro(provider.bonded));
		Ok(0)
	}
}

async fn leave_runs(opened: &Opened) -> Result<(), CliError> {
	let at = opened.client.now().await?;
	for run in at.runs().await? {
		let active = at.run(run).await?.is_some_and(|view| view.status == RunStatus::Active);
		if active && at.members(run).await?.contains(&opened.account.id()) {
			opened.submitter.submit(training::leave(run)).await?;
			println!("left run {run}");
		}
	}
	Ok(())
}

/// Has the account drawn for no more audits.
async fn resign(opened: &Opened) -> Result<(), CliError> {
	if opened.client.now().await?.verifiers().await?.contains(&opened.account.id()) {
		opened.submitter.submit(audits::resign()).await?;
		println!("resigned as a verifier");
	}
	Ok(())
}

/// Ends what the account attests of datasets: nothing of its stake comes back before.
async fn withdraw_attestations(opened: &Opened) -> Result<(), CliError> {
	let (at, who) = (opened.client.now().await?, opened.account.id());
	for id in at.datasets().await? {
		match at.attestation(id, &who).await? {
			Some(attestation) if attestation.challenges > 0 => println!(
				"the attestation of dataset {id} stays while it is challenged: `run --dataset DIR --attest` answers, and `leave` withdraws it then"
			),
			Some(_) => {
				opened.submitter.submit(holdings::withdraw(id, who.clone())).await?;
				println!("withdrew the attestation of dataset {id}");
			}
			None => {}
		}
	}
	Ok(())
}

/// Collects what the last rounds earned after the worker had left.
async fn claim(opened: &Opened) -> Result<(), CliError> {
	let eras = opened.client.now().await?.claimable_eras(&opened.account.id()).await?;
	let earned: u128 = eras.iter().map(|(_, amount)| amount).sum();
	for (era, _) in &eras {
		opened.submitter.submit(rewards::claim(*era)).await?;
	}
	if earned > 0 {
		println!("{} of earnings claimed", Neuro(earned));
	}
	Ok(())
}

async fn withdraw(opened: &Opened, provider: &ProviderView) -> Result<u8, CliError> {
	claim(opened).await?;
	withdraw_attestations(opened).await?;
	let best = opened.client.heads().await?.best.number;
	match unlocked(provider, best) {
		Ok(ready) => {
			opened.submitter.submit(staking::withdraw_unbonded()).await?;
			println!("{} withdrawn", Neuro(ready));
		}
		Err(_) if provider.unbonding.is_empty() => println!("nothing is bonded"),
		Err(why) => println!("{why}"),
	}
	Ok(0)
}
