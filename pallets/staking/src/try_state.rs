//! Invariants of the pallet's storage.

use crate::{
	ActiveCounts, Config, Cooldown, MinBond, Operators, OwnerOf, Pallet, PeerIdOwner, PonwKeyOwner, Provider, Providers, RoleCounts,
	TestedSpeeds, VerifierMinimums, MAX_LOCK_DAYS, MAX_REPUTATION, MISSES,
};
use frame_support::{ensure, traits::Get};
use neuroshard_types::{
	provider::{ProviderStatus, Roles},
	AccountId,
};
use sp_runtime::TryRuntimeError;

impl<T: Config> Pallet<T> {
	/// Checks every invariant; its cost grows with the number of providers, so it is no part of a block.
	///
	/// - The cooldown is longer than claims can be disputed.
	/// - Active and unbonding parts of every provider add up to what is on hold for it.
	/// - Chunks are non-zero and unlock in strictly ascending order.
	/// - An active provider's bond reaches the minimum, its registered data is valid and its reputation within bounds.
	/// - Who is suspended is not active, no stake is locked for more than a year, and a row of missed audits is punished.
	/// - Nothing can be disputed for longer than disputes about what is claimed now take.
	/// - As many active providers are counted for each role as there are.
	/// - No active or chilled provider has registered a higher speed than was tested.
	/// - PoNW keys and peer ids map to exactly the providers that registered them.
	/// - Only providers have operators, every operator that serves is the one that its provider has named, and none is a provider.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		ensure!(Cooldown::<T>::get() > T::DisputePeriod::get(), "the cooldown is not longer than claims can be disputed");
		ensure!(VerifierMinimums::<T>::get().ascends(), "more verifiers need a smaller bond");
		let (mut count, mut active) = (0usize, RoleCounts::default());
		for (who, provider) in Providers::<T>::iter() {
			count = count.saturating_add(1);
			active.change(Roles::default(), provider.active_roles());
			Self::try_bond(&who, &provider)?;
			Self::try_provider(&who, &provider)?;
		}
		ensure!(ActiveCounts::<T>::get() == active, "active providers are counted wrongly");
		// Every provider owns its key and peer id (checked above); equal counts mean that nobody else owns one.
		ensure!(PonwKeyOwner::<T>::iter_keys().count() == count, "a PoNW key without a provider");
		ensure!(PeerIdOwner::<T>::iter_keys().count() == count, "a peer id without a provider");
		for (who, tested) in TestedSpeeds::<T>::iter() {
			let provider = Providers::<T>::get(who).ok_or("a tested speed without a provider")?;
			let is_tested = !matches!(provider.status, ProviderStatus::Unproven { .. });
			ensure!(!is_tested || provider.info.hardware.gflops < tested, "a provider is faster than it was tested");
		}
		ensure!(Operators::<T>::iter_keys().all(Providers::<T>::contains_key), "an operator is named by nobody");
		for (operator, owner) in OwnerOf::<T>::iter() {
			ensure!(Operators::<T>::get(owner).as_ref() == Some(&operator), "an operator serves somebody who has not named it");
			ensure!(!Providers::<T>::contains_key(&operator), "an operator is a provider");
		}
		Ok(())
	}

	fn try_bond(who: &AccountId, provider: &Provider) -> Result<(), TryRuntimeError> {
		let bond = &provider.bond;
		let total = bond.unbonding.iter().try_fold(bond.active, |sum, chunk| sum.checked_add(chunk.amount));
		ensure!(total == Some(Self::held(who)), "bond and unbonding differ from the hold");
		ensure!(bond.unbonding.iter().all(|chunk| chunk.amount > 0), "an empty unbonding chunk");
		let ascending = bond.unbonding.windows(2).all(|pair| pair[0].unlocks_at < pair[1].unlocks_at);
		ensure!(ascending, "unbonding chunks out of order");
		Ok(())
	}

	fn try_provider(who: &AccountId, provider: &Provider) -> Result<(), TryRuntimeError> {
		let funded = provider.status != ProviderStatus::Active || provider.bond.active >= MinBond::<T>::get();
		ensure!(funded, "an active provider below the minimum bond");
		let longest = Self::now().saturating_add(T::DisputePeriod::get());
		ensure!(provider.disputable_until <= longest, "claims can be disputed for too long");
		ensure!(crate::info::info_problem(&provider.info).is_none(), "invalid registered data");
		ensure!(provider.reputation <= MAX_REPUTATION, "reputation above its maximum");
		let suspended = provider.suspended_until > Self::now();
		ensure!(provider.status != ProviderStatus::Active || !suspended, "an active provider is suspended");
		let longest = Self::now().saturating_add(T::BlocksPerDay::get().saturating_mul(MAX_LOCK_DAYS.into()));
		ensure!(provider.locked_until <= longest, "a stake is locked for too long");
		ensure!(provider.missed.count < MISSES && provider.missed.noted_at <= Self::now(), "missed audits are not punished");
		ensure!(PonwKeyOwner::<T>::get(provider.info.ponw_key).as_ref() == Some(who), "PoNW key mapped to somebody else");
		ensure!(PeerIdOwner::<T>::get(&provider.info.peer_id).as_ref() == Some(who), "peer id mapped to somebody else");
		Ok(())
	}
}
