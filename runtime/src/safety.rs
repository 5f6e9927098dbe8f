//! Calls that go on in safe mode, and that nobody can pause.

use crate::{carriers, Runtime, RuntimeCall};
use alloc::vec;
use frame_support::traits::{CallMetadata, Contains, GetCallMetadata};
use pallet_tx_pause::RuntimeCallNameOf;

/// Calls by their pallet and name; no names stand for all calls of the pallet.
pub type Calls = &'static [(&'static str, &'static [&'static str])];

/// Calls that nobody can stop: what makes blocks, who ends it all again, disputes, exits, and the calls by which such calls are made for others.
/// The last ones only carry, and what they carry is filtered by its own name.
pub const NEVER_STOPPED: Calls = &[
	// Blocks and their authors.
	("Timestamp", &[]),
	("Babe", &[]),
	("Grandpa", &[]),
	("Session", &["purge_keys"]),
	// Only the code that governance has authorized.
	("System", &["apply_authorized_upgrade"]),
	// Governance.
	("Council", &[]),
	("TechnicalCommittee", &[]),
	("Enactment", &[]),
	("Scheduler", &[]),
	("Preimage", &[]),
	("SafeMode", &[]),
	("TxPause", &[]),
	("Sudo", &[]),
	("Training", &["stop_run", "force_stop_run", "halt_model", "lift_halt", "remove_run"]),
	// Disputes: who is silent loses its stake, and a claim that nobody can challenge is paid.
	("Disputes", &[]),
	// The same of challenges to open a chunk of a dataset, and what takes a false or unwanted dataset out of use.
	("Dataset", &["answer_challenge", "conclude_challenge", "withdraw_attestation", "condemn", "retire", "force_retire", "remove"]),
	// Exits of providers, of validators and of those who stand behind them.
	// An operator's key that was stolen is taken out of use, and another one put there, which answers in disputes.
	("Staking", &["unbond", "withdraw_unbonded", "chill", "deregister", "set_operator", "serve"]),
	("Validators", &["unbond", "withdraw_unbonded", "chill", "unnominate", "withdraw_nomination"]),
	// What is earned is lost if it is not claimed in time.
	("Rewards", &["claim", "claim_for"]),
	// The same of vouchers; and what users have put aside goes back, and who offers answers, or computes them, is bound no more.
	("Inference", &["leave", "withdraw_offer", "claim", "close_session", "settle"]),
	// Carriers.
	("Utility", &[]),
	("Multisig", &["as_multi_threshold_1", "as_multi", "approve_as_multi", "cancel_as_multi"]),
	// With those that take a lost key's power away.
	("Proxy", &["proxy", "proxy_announced", "announce", "remove_announcement", "reject_announcement", "remove_proxy", "remove_proxies"]),
];

/// Calls that go on in safe mode besides: a round under way is finished, or who trains would be punished for dropping out.
pub const IN_SAFE_MODE: Calls = &[("Training", &["leave", "commit", "reveal", "vote_availability", "attest", "report_missing"])];

/// Returns whether `calls` has this one.
fn has(calls: Calls, pallet: &str, call: &str) -> bool {
	calls.iter().any(|(name, calls)| *name == pallet && (calls.is_empty() || calls.contains(&call)))
}

/// Calls that are made in safe mode: those of [`NEVER_STOPPED`] and [`IN_SAFE_MODE`], and what carries nothing but such calls.
pub struct InSafeMode;

impl Contains<RuntimeCall> for InSafeMode {
	fn contains(call: &RuntimeCall) -> bool {
		// No recursion: how deep calls are nested is up to whoever sends them.
		let mut calls = vec![call];
		while let Some(call) = calls.pop() {
			let CallMetadata { function_name, pallet_name } = call.get_call_metadata();
			if !has(NEVER_STOPPED, pallet_name, function_name) && !has(IN_SAFE_MODE, pallet_name, function_name) {
				return false;
			}
			calls.extend(carriers::by_signature(call).unwrap_or_default());
		}
		true
	}
}

/// Calls that cannot be paused: those of [`NEVER_STOPPED`].
pub struct NeverPaused;

impl Contains<RuntimeCallNameOf<Runtime>> for NeverPaused {
	fn contains((pallet, call): &RuntimeCallNameOf<Runtime>) -> bool {
		let names = core::str::from_utf8(pallet).ok().zip(core::str::from_utf8(call).ok());
		names.is_some_and(|(pallet, call)| has(NEVER_STOPPED, pallet, call))
	}
}
