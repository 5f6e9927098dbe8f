//! What is on hold of all accounts together, for each reason of our own pallets.
//!
//! The pallets check what is on hold of every account that they know. Here is the other half: nothing is on hold of anybody else.

use crate::{AccountId, Balance, Runtime, RuntimeHoldReason};
use alloc::vec::Vec;
use frame_support::{ensure, traits::Get};
use pallet_neuro_dataset::{Attestations, Challenges, Datasets, HoldReason as Dataset};
use pallet_neuro_disputes::{Games, HoldReason as Disputes};
use pallet_neuro_ownership::Models;
use pallet_neuro_staking::{HoldReason as Staking, Providers};
use pallet_neuro_training::{HoldReason as Training, Runs};
use pallet_neuro_validators::{Candidates, HoldReason as Validators, Nominations};
use sp_runtime::TryRuntimeError;

/// The sum of some amounts. `None` if it is more than there can be.
fn sum(mut amounts: impl Iterator<Item = Balance>) -> Option<Balance> {
	amounts.try_fold(0, |sum: Balance, amount| sum.checked_add(amount))
}

/// Checks that deposits, bonds and stakes add up to what is on hold for them. For models that outlive their runs it is no more than the
/// deposits of all of them: one whose first share came after that has none.
pub fn are_all_known() -> Result<(), TryRuntimeError> {
	let holds: Vec<_> = pallet_balances::Holds::<Runtime>::iter_values().flatten().collect();
	let held = |reason: RuntimeHoldReason| sum(holds.iter().filter(|hold| hold.id == reason).map(|hold| hold.amount));
	let known: [(RuntimeHoldReason, Option<Balance>); 8] = [
		(Staking::Bond.into(), sum(Providers::<Runtime>::iter_values().map(|provider| provider.bond.total()))),
		(Validators::SelfBond.into(), sum(Candidates::<Runtime>::iter_values().map(|candidate| candidate.own.stake.total()))),
		(Validators::Nomination.into(), sum(Nominations::<Runtime>::iter_values().map(|nomination| nomination.stake.total()))),
		(Dataset::Manifest.into(), sum(Datasets::<Runtime>::iter_values().map(|dataset| dataset.deposit))),
		(Dataset::Attestation.into(), sum(Attestations::<Runtime>::iter_values().map(|attestation| attestation.deposit))),
		(Dataset::Challenge.into(), sum(Challenges::<Runtime>::iter_values().map(|challenge| challenge.bond))),
		(Training::Run.into(), sum(Runs::<Runtime>::iter_values().map(|run| run.deposit))),
		(Disputes::Challenge.into(), sum(Games::<Runtime>::iter_values().map(|game| game.bond))),
	];
	for (reason, known) in known {
		ensure!(known.is_some() && known == held(reason), "more or less is on hold than deposits, bonds and stakes add up to");
	}
	ensure!(held(Training::Model.into()) <= deposits_of_models(), "more is on hold for models than there are");
	Ok(())
}

/// Deposits of all models that outlive their runs.
fn deposits_of_models() -> Option<Balance> {
	let deposit = <Runtime as pallet_neuro_training::Config>::ModelDeposit::get();
	sum(Models::<Runtime>::iter_keys().filter(|run| !Runs::<Runtime>::contains_key(run)).map(|_| deposit))
}

/// How many accounts have something on hold, and those of whom it is for models, if that is more than [`are_all_known`] allows: nobody noted
/// which of them have shares.
///
/// It reads what everybody has on hold, in one block: 10,000 accounts take 80 ms of weight. A model that got its first share after its run was removed
/// hides one such deposit, which then stays on hold.
pub struct UnownedModels;

impl Get<(u64, Vec<AccountId>)> for UnownedModels {
	fn get() -> (u64, Vec<AccountId>) {
		let (mut read, mut held, mut accounts) = (0u64, 0, Vec::new());
		for (who, holds) in pallet_balances::Holds::<Runtime>::iter() {
			read = read.saturating_add(1);
			if let Some(hold) = holds.iter().find(|hold| hold.id == Training::Model.into()) {
				held = Balance::saturating_add(held, hold.amount);
				accounts.push(who);
			}
		}
		if deposits_of_models().is_none_or(|known| held <= known) {
			accounts.clear();
		}
		(read, accounts)
	}
}
