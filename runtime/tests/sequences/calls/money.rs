//! Balances, rewards, shares of models and fees of inference.

use super::{signed, Act, Deed};
use crate::sequences::chain::{account, ACTORS};
use frame_support::storage::with_storage_layer;
use neuroshard_runtime::{AccountId, Ownership, Rewards};
use neuroshard_types::{reward::BudgetShares, traits::InferenceFees, RunId};
use pallet_assets::ExistenceReason;
use pallet_balances::Call as Balances;
use pallet_neuro_ownership::Call as Shares;
use pallet_neuro_rewards::Call as Eras;
use sp_runtime::MultiAddress;

pub fn deed(act: &Act) -> Deed {
	let (other, value) = (act.other(), act.value());
	let dest = MultiAddress::Id(other.clone());
	match act.what % 25 {
		0 | 1 => act.mine(Balances::transfer_allow_death { dest, value }),
		2 => act.mine(Balances::transfer_all { dest, keep_alive: act.is_one_in(2) }),
		3 => act.mine(Balances::burn { value, keep_alive: act.is_one_in(2) }),
		4 => act.mine(Balances::transfer_keep_alive { dest, value }),
		5 | 6 => {
			let (who, era) = earned(act)?;
			signed(who, Eras::claim { era })
		}
		7 => {
			let (who, era) = earned(act)?;
			act.mine(Eras::claim_for { who, era })
		}
		8 => super::governance::at_once(super::governance::Body::Council, Eras::set_shares { shares: shares(act) }),
		9..=11 => {
			pay_for_inference(act);
			None
		}
		12 | 13 => act.mine(Shares::deposit_revenue { model: model(act)?, amount: value }),
		14 => {
			let (who, model) = holder(act)?;
			signed(who, Shares::claim { model })
		}
		15 => {
			let (who, model) = holder(act)?;
			act.mine(Shares::claim_for { who, model })
		}
		16 => {
			let (who, model) = holder(act)?;
			let shares = act.part(Ownership::shares(who.clone(), model).earning);
			signed(who, Shares::release { model, shares })
		}
		17 => {
			let (who, model, free) = owner(act)?;
			signed(who, Shares::enrol { model, shares: act.part(free) })
		}
		18 => {
			let (who, model) = holder(act)?;
			let shares = act.part(Ownership::shares(who.clone(), model).earning);
			signed(who, Shares::transfer { model, to: other, shares })
		}
		19 => {
			let (who, model, free) = owner(act)?;
			signed(who, pallet_assets::Call::transfer { id: model.into(), target: dest, amount: act.part(free) })
		}
		20 => {
			let (who, model, _) = owner(act)?;
			signed(who, pallet_assets::Call::transfer_all { id: model.into(), dest, keep_alive: act.is_one_in(2) })
		}
		21 => act.mine(pallet_assets::Call::touch { id: model(act)?.into() }),
		22 => act.mine(pallet_assets::Call::touch_other { id: model(act)?.into(), who: dest }),
		23 => refund(act),
		_ => {
			let (who, model, free) = owner(act)?;
			let (id, delegate) = (model.into(), MultiAddress::Id(other));
			signed(who, pallet_assets::Call::approve_transfer { id, delegate, amount: act.part(free) })
		}
	}
}

/// An account and an ended era in which it earned something.
fn earned(act: &Act) -> Option<(AccountId, u32)> {
	let eras = |key: u8| Rewards::claimable_eras(account(key)).into_iter().map(move |(era, _)| (account(key), era));
	act.one_of((0..).take(ACTORS.len()).flat_map(eras))
}

/// Mostly shares that add up to all of a budget.
fn shares(act: &Act) -> BudgetShares {
	let more = u32::from(act.small) * 1_000;
	let odd = u32::from(act.is_one_in(4));
	BudgetShares { training: 600_000 - more, validation: 200_000 + more, treasury: 200_000 + odd }
}

/// A fee as inference pays it: there is no call for that.
fn pay_for_inference(act: &Act) {
	let (me, driver) = (act.me(), act.other());
	let workers = [(account(act.small), u32::from(act.small)), (account(act.what), 7)];
	let _ = with_storage_layer(|| Rewards::pay_fee(&me, act.value(), &driver, &workers[..usize::from(act.small % 3)]));
}

/// Somebody wants the deposit for a place back. Sometimes there are shares in it.
fn refund(act: &Act) -> Deed {
	let deposits = pallet_assets::Account::<neuroshard_runtime::Runtime>::iter().filter_map(|(model, who, place)| match place.reason {
		ExistenceReason::DepositHeld(_) => Some((who.clone(), who, model)),
		ExistenceReason::DepositFrom(payer, _) => Some((payer, who, model)),
		_ => None,
	});
	let (payer, who, model) = act.one_of(deposits)?;
	let id = model.into();
	if payer == who {
		signed(payer, pallet_assets::Call::refund { id, allow_burn: act.is_one_in(4) })
	} else {
		signed(payer, pallet_assets::Call::refund_other { id, who: MultiAddress::Id(who) })
	}
}

/// A model that has owners.
fn model(act: &Act) -> Option<RunId> {
	act.one_of(pallet_neuro_ownership::Models::<neuroshard_runtime::Runtime>::iter_keys())
}

/// Somebody whose shares of a model earn, or have earned.
fn holder(act: &Act) -> Option<(AccountId, RunId)> {
	act.one_of(pallet_neuro_ownership::Holdings::<neuroshard_runtime::Runtime>::iter_keys())
}

/// Somebody who has free shares of a model.
fn owner(act: &Act) -> Option<(AccountId, RunId, u128)> {
	let models = || pallet_neuro_ownership::Models::<neuroshard_runtime::Runtime>::iter_keys();
	let all = (0..).take(ACTORS.len()).flat_map(|key: u8| models().map(move |model| (account(key), model)));
	let owned = all.map(|(who, model)| (who.clone(), model, Ownership::shares(who, model).free));
	act.one_of(owned.filter(|(.., free)| *free > 0))
}
