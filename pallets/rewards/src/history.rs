//! History that wallets show: eras that ended, what an account got for them, and what work would bring.

use crate::{
	AccountPoints, Claimed, Config, Current, CurrentTotal, EndedEra, EraLength, Eras, HistoryDepth, Issuance, Pallet, Points, Standing,
	TotalBudget, TotalBurned, TotalClaimed, TotalToTreasury, TotalToValidators, Unminted, WorkRates,
};
use alloc::vec::Vec;
use neuroshard_types::{
	proof::ProofKind,
	provider::Role,
	reward::{AccountEra, Earnings, EraIndex, EraRecord, EraView, IssuanceView},
	traits::Providers,
	AccountId, Balance,
};

impl<T: Config> Pallet<T> {
	/// See the view function `era`.
	pub(crate) fn current_era() -> EraView {
		let era = Current::<T>::get();
		EraView {
			index: era.index,
			starts_at: era.starts_at,
			ends_at: era.starts_at.saturating_add(EraLength::<T>::get()),
			budget: era.parts.total(),
			parts: era.parts,
			total_points: CurrentTotal::<T>::get(),
		}
	}

	/// See the view function `era_history`.
	pub(crate) fn ended_eras(from: EraIndex, count: u32) -> Vec<EraRecord> {
		let from = from.max(Self::oldest_claimable());
		let until = from.saturating_add(count.min(HistoryDepth::<T>::get())).min(Current::<T>::get().index);
		(from..until)
			.filter_map(|index| {
				let EndedEra { parts, total_points, claimed, to_validators, to_treasury } = Eras::<T>::get(index)?;
				Some(EraRecord { index, parts, total_points, claimed, to_validators, to_treasury })
			})
			.collect()
	}

	/// See the view function `account_history`.
	pub(crate) fn eras_of(who: &AccountId) -> Vec<AccountEra> {
		(Self::oldest_claimable()..=Current::<T>::get().index)
			.filter_map(|index| {
				let entry = Points::<T>::get(index, who)?;
				let amount = entry.claimed.unwrap_or_else(|| Self::worth(index, &entry));
				let AccountPoints { training, audits, claimed, .. } = entry;
				Some(AccountEra { index, training, audits, amount, claimed: claimed.is_some() })
			})
			.collect()
	}

	/// Returns the reward of an account's entry in era `index`, if the current one ended now.
	fn worth(index: EraIndex, entry: &AccountPoints) -> Balance {
		match Eras::<T>::get(index) {
			Some(era) => entry.share(era.parts.training, era.total_points).min(era.open()),
			None => entry.share(Current::<T>::get().parts.training, CurrentTotal::<T>::get()),
		}
	}

	/// See the view function `claimable_eras`.
	pub(crate) fn claimable_eras_of(who: &AccountId) -> Vec<(EraIndex, Balance)> {
		let current = Current::<T>::get().index;
		let unclaimed = Self::eras_of(who).into_iter().filter(|era| era.index < current && !era.claimed);
		unclaimed.map(|era| (era.index, era.amount)).filter(|(_, amount)| *amount > 0).collect()
	}

	/// See the view function `earnings`.
	pub(crate) fn earnings_of(who: &AccountId) -> Earnings {
		let claimable = Self::claimable_eras_of(who).into_iter().fold(0, |sum: Balance, (_, amount)| sum.saturating_add(amount));
		let current = Current::<T>::get().index;
		let current_era_estimate = Points::<T>::get(current, who).map_or(0, |entry| Self::worth(current, &entry));
		Earnings { claimed: Claimed::<T>::get(who), claimable, current_era_estimate }
	}

	/// See the view function `estimate`.
	pub(crate) fn estimate_of(stake: Balance, role: Role, reputation: u32, units: u128) -> Balance {
		let total = CurrentTotal::<T>::get();
		let standing = Standing { stake, reputation, active: T::Providers::active_count(role) };
		let points = WorkRates::<T>::get().points(ProofKind::Training, role, units, standing).min(u128::MAX.saturating_sub(total));
		let entry = AccountPoints { training: points, audits: 0, cap: stake, claimed: None };
		entry.share(Current::<T>::get().parts.training, total.saturating_add(points))
	}

	/// See the view function `issuance`.
	pub(crate) fn sums() -> IssuanceView {
		IssuanceView {
			cap: Issuance::<T>::get().cap,
			budgets: TotalBudget::<T>::get(),
			claimed: TotalClaimed::<T>::get(),
			to_validators: TotalToValidators::<T>::get(),
			to_treasury: TotalToTreasury::<T>::get(),
			unminted: Unminted::<T>::get(),
			burned: TotalBurned::<T>::get(),
		}
	}
}
