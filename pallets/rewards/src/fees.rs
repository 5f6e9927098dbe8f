//! Fees of inference: who gets what, exactly, and what is burned.

use crate::{Config, Event, Pallet, TotalBurned};
use alloc::vec::Vec;
use frame_support::traits::{
	fungible::{Balanced, Inspect},
	tokens::{Fortitude, Precision, Preservation},
	Get, Imbalance, OnUnbalanced,
};
use neuroshard_types::{
	reward::{part_of, FeeShares},
	traits::InferenceFees,
	AccountId, Balance,
};
use sp_runtime::DispatchError;

/// Percent of a fee for the driver.
const DRIVER: u128 = 20;
/// Percent for those who computed layers.
const WORKERS: u128 = 40;
/// Percent for validators.
const VALIDATORS: u128 = 25;
/// Percent for the treasury. The last 10 are burned.
const TREASURY: u128 = 5;

/// Splits a fee of `amount` planck: each share rounded down, and what is left, a tenth and the remainders, burned.
pub fn split_fee(amount: Balance) -> FeeShares {
	let [driver, workers, validators, treasury] = [DRIVER, WORKERS, VALIDATORS, TREASURY].map(|percent| part_of(amount, percent, 100));
	let paid = driver.saturating_add(workers).saturating_add(validators).saturating_add(treasury);
	FeeShares { burn: amount.saturating_sub(paid), driver, workers, validators, treasury }
}

/// Splits `amount` planck pro rata to `layers`. The parts add up to it, unless nobody computed a layer: then all are zero.
///
/// A part is the difference of what is due up to and including it and what is due before it, both rounded down: it differs from the exact
/// one by less than a planck.
pub fn split_by_layers(amount: Balance, layers: &[u32]) -> Vec<Balance> {
	let all = layers.iter().fold(0u128, |sum, layers| sum.saturating_add((*layers).into()));
	let mut done = 0u128;
	let mut given: Balance = 0;
	let mut part = |layers: &u32| {
		done = done.saturating_add((*layers).into());
		let due = part_of(amount, done, all);
		let part = due.saturating_sub(given);
		given = due;
		part
	};
	layers.iter().map(&mut part).collect()
}

impl<T: Config> InferenceFees<AccountId, Balance> for Pallet<T> {
	fn pay_fee(from: &AccountId, amount: Balance, driver: &AccountId, workers: &[(AccountId, u32)]) -> Result<FeeShares, DispatchError> {
		let issued = T::Currency::total_issuance();
		let mut fee = T::Currency::withdraw(from, amount, Precision::Exact, Preservation::Preserve, Fortitude::Polite)?;
		let due = split_fee(amount);
		// What is paid of `part`: all of it, or nothing if the account cannot hold it. Then it is burned.
		let mut pay = |who: &AccountId, part: Balance| T::Currency::resolve(who, fee.extract(part)).map_or(0, |()| part);
		let layers: Vec<u32> = workers.iter().map(|(_, layers)| *layers).collect();
		let parts = split_by_layers(due.workers, &layers);
		let driver = pay(driver, due.driver);
		let workers = workers.iter().zip(parts).fold(0, |sum: Balance, ((who, _), part)| sum.saturating_add(pay(who, part)));
		let treasury = pay(&T::Treasury::get(), due.treasury);
		T::ValidatorPool::on_unbalanced(fee.extract(due.validators));
		drop(fee);
		// By what the issuance lost, since the pool may burn a part of its share as well.
		let burn = issued.saturating_sub(T::Currency::total_issuance());
		let elsewhere = driver.saturating_add(workers).saturating_add(treasury).saturating_add(burn);
		let shares = FeeShares { burn, driver, workers, validators: amount.saturating_sub(elsewhere), treasury };
		TotalBurned::<T>::mutate(|total| *total = total.saturating_add(burn));
		Self::deposit_event(Event::FeePaid { from: from.clone(), amount, shares });
		Ok(shares)
	}
}
