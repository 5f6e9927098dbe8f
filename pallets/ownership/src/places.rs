//! Places among the holders of a model: accounts of `pallet-assets`. Work that becomes final makes one, and so does whoever pays the deposit
//! for it, with `assets.touch` or `assets.touch_other`, and gets it back once the place is empty. Nothing else makes one.

use crate::{Config, Pallet};
use frame_support::traits::{fungibles::Inspect as _, Contains, ContainsPair as _, IsSubType};
use neuroshard_types::{AccountId, RunId};
use pallet_assets::Call;
use sp_runtime::traits::StaticLookup;

impl<T: Config> Pallet<T> {
	/// Returns whether `who` has a place among the holders of `model`, with or without shares.
	pub fn has_place(who: &AccountId, model: RunId) -> bool {
		T::Shares::contains(&model, who)
	}
}

/// Returns the account that gets shares by a call of `pallet-assets`, and the run of their model. `None` for calls that move none, and for those of
/// the owner of a class, whom no account is.
fn receiver<T: Config + pallet_assets::Config<AssetId = RunId>>(call: &Call<T>) -> Option<(AccountId, RunId)> {
	let (id, to) = match call {
		Call::transfer { id, target: to, .. }
		| Call::transfer_keep_alive { id, target: to, .. }
		| Call::transfer_approved { id, destination: to, .. }
		| Call::transfer_all { id, dest: to, .. } => (id, to),
		_ => return None,
	};
	Some((T::Lookup::lookup(to.clone()).ok()?, id.clone().into()))
}

/// The filter of calls that the runtime needs: `pallet-assets` makes a place without a deposit for whoever is sent shares, so that shares are
/// sent only to those who have one.
impl<T> Contains<T::RuntimeCall> for Pallet<T>
where
	T: Config + pallet_assets::Config<AssetId = RunId>,
	T::RuntimeCall: IsSubType<Call<T>>,
{
	fn contains(call: &T::RuntimeCall) -> bool {
		let Some((who, model)) = call.is_sub_type().and_then(receiver::<T>) else { return true };
		// Shares that do not exist are refused with the error that says so.
		!T::Shares::asset_exists(model) || Self::has_place(&who, model)
	}
}
