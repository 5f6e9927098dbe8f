//! Invariants of the whole state after every block.

use crate::{
	holds, AccountId, Balance, Balances, BlockNumber, Dataset, Disputes, Inference, Ownership, Ponw, Rewards, Runtime, Staking, System,
	Training, Validators,
};
use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use frame_support::traits::Get;
use neuroshard_types::soundness::Soundness;
use sp_runtime::{DispatchError, TryRuntimeError};

sp_api::decl_runtime_apis! {
	/// Invariants of the whole state, for whoever watches a network: tests, explorers, operators.
	pub trait InvariantsApi {
		/// The first invariant that does not hold after this block, if there is one. It reads all of the state, so that a state of more than
		/// [`MAX_ENTRIES`](crate::invariants::MAX_ENTRIES) entries is not checked.
		fn broken() -> Soundness;
	}
}

/// Most entries of a state that is checked in one call: anybody can ask a node for that.
pub const MAX_ENTRIES: u32 = 20_000;

/// Checks some invariants and names the first that does not hold.
type Check = fn() -> Result<(), TryRuntimeError>;

/// Checks every invariant, unless there is too much to check.
pub fn soundness() -> Soundness {
	if has_more_entries_than(MAX_ENTRIES) {
		return Soundness::TooLarge { limit: MAX_ENTRIES };
	}
	broken().map_or(Soundness::Sound, Soundness::Broken)
}

/// Returns whether the state has more entries than `limit`. Looks at no more of them than that.
fn has_more_entries_than(limit: u32) -> bool {
	let mut key = Vec::new();
	for _ in 0..=limit {
		let Some(next) = sp_io::storage::next_key(&key) else { return false };
		key = next;
	}
	true
}

/// The first invariant that does not hold, however much there is to check.
pub fn broken() -> Option<String> {
	let checks: [(&str, Check); 14] = [
		("balances", money_is_all_there),
		("holds", holds::are_all_known),
		("places", holds::places_are_paid_for),
		("staking", Staking::do_try_state),
		("validators", Validators::do_try_state),
		("dataset", Dataset::do_try_state),
		("training", Training::do_try_state),
		("ponw", Ponw::do_try_state),
		("rewards", Rewards::do_try_state),
		("ownership", Ownership::do_try_state),
		("inference", Inference::do_try_state),
		("disputes", Disputes::do_try_state),
		("stakes", claims_keep_their_stakes),
		("pay", disputes_hold_proofs),
	];
	checks.into_iter().find_map(|(pallet, check)| check().err().map(|error| format!("{pallet}: {}", words(error))))
}

fn words(error: TryRuntimeError) -> String {
	match error {
		DispatchError::Other(words) => words.into(),
		error => format!("{error:?}"),
	}
}

/// Checks that the accounts have what was issued, and that what is held of an account is among what it has.
fn money_is_all_there() -> Result<(), TryRuntimeError> {
	let mut reserved = BTreeMap::<AccountId, Balance>::new();
	let mut total: Balance = 0;
	for (who, account) in frame_system::Account::<Runtime>::iter() {
		let sum = account.data.free.checked_add(account.data.reserved).ok_or("an account has more than there can be")?;
		total = total.checked_add(sum).ok_or("the accounts have more than there can be")?;
		reserved.insert(who, account.data.reserved);
	}
	if total != Balances::total_issuance() {
		return Err("what the accounts have is not what was issued".into());
	}
	for (who, holds) in pallet_balances::Holds::<Runtime>::iter() {
		let held = holds.iter().try_fold(0, |sum: Balance, hold| sum.checked_add(hold.amount)).ok_or("holds exceed what there can be")?;
		if reserved.get(&who).is_none_or(|reserved| *reserved < held) || !System::account_exists(&who) {
			return Err("more is held of an account than it has".into());
		}
	}
	Ok(())
}

/// Proofs of those who have games to defend are held, and of nobody else.
fn disputes_hold_proofs() -> Result<(), TryRuntimeError> {
	let defenders = pallet_neuro_disputes::GamesAgainst::<Runtime>::iter_keys();
	let held = |who: &AccountId| pallet_neuro_ponw::Held::<Runtime>::contains_key(who);
	let count = pallet_neuro_ponw::Held::<Runtime>::iter_keys().count();
	if defenders.filter(held).count() != count || pallet_neuro_disputes::GamesAgainst::<Runtime>::iter_keys().count() != count {
		return Err("a proof may become final while its account is disputed, or waits for no dispute".into());
	}
	Ok(())
}

/// Whoever claims something that can be disputed is registered, and withdraws nothing before that is over, nor while it is disputed or audited. Nor does who
/// attests a dataset, offers a model, or has agreed to an offer.
fn claims_keep_their_stakes() -> Result<(), TryRuntimeError> {
	let period: BlockNumber = pallet_neuro_disputes::GetDisputePeriod::<Runtime>::get();
	let provider = |who: &AccountId| pallet_neuro_staking::Providers::<Runtime>::get(who);
	for record in pallet_neuro_training::Records::<Runtime>::iter_values() {
		let until = record.adopted_at.saturating_add(period);
		for place in record.places.iter().filter(|place| place.revealed.is_some() && System::block_number() < until) {
			let stays = provider(&place.account).is_some_and(|provider| provider.disputable_until >= until);
			if !stays {
				return Err("a stake may leave while claims of its account can be disputed".into());
			}
		}
	}
	for (_, who) in pallet_neuro_dataset::Attestations::<Runtime>::iter_keys() {
		if provider(&who).is_none_or(|provider| provider.open_claims == 0) {
			return Err("a stake may leave while its account attests a dataset".into());
		}
	}
	for (driver, standing) in pallet_neuro_inference::Offers::<Runtime>::iter() {
		if standing.consents.iter().chain([&driver]).any(|who| provider(who).is_none_or(|provider| provider.open_claims == 0)) {
			return Err("a stake may leave while its account offers a model, or computes for who does".into());
		}
	}
	// An audit of an answer opens no claim: the claim of pay binds the bond for longer.
	for (answer, audit) in pallet_neuro_disputes::AnswerAudits::<Runtime>::iter() {
		let bound = provider(&answer.provider).is_some_and(|provider| provider.disputable_until >= audit.bound_until);
		if System::block_number() < audit.bound_until && !bound {
			return Err("a stake may leave while an answer of its account is audited".into());
		}
	}
	let games = pallet_neuro_disputes::Games::<Runtime>::iter_keys();
	for (claim, _) in games {
		if provider(&claim.who).is_none_or(|provider| provider.open_claims == 0) {
			return Err("a stake may leave while a claim of its account is disputed".into());
		}
	}
	Ok(())
}
