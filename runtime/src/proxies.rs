//! Proxies: what an account may let others do in its name.

use crate::RuntimeCall;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::traits::InstanceFilter;
use scale_info::TypeInfo;

/// Type of a proxy, by what it may do for the account that appointed it. All but [`ProxyType::Any`] list what they allow, so that a new call is not allowed
/// before somebody has thought about it. Calls of disputes, and answers to challenges of datasets, are never made by a proxy: see `CheckTurn`. An
/// operator makes them, so that only [`ProxyType::Any`] names one, or becomes one in the name of another account: see `pallet_neuro_staking`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub enum ProxyType {
	/// Everything.
	#[default]
	#[codec(index = 0)]
	Any,
	/// Calls that take no money out of the account. Signing for other accounts is not among them: they may have some.
	#[codec(index = 1)]
	NonTransfer,
	/// Motions and votes.
	#[codec(index = 2)]
	Governance,
	/// Bonds of providers, of validators and of those who stand behind them, and session keys.
	#[codec(index = 3)]
	Staking,
	/// Daily calls of a worker: it takes part in rounds and claims what it earned, but neither bonds nor unbonds anything.
	#[codec(index = 4)]
	Training,
	/// The account's name.
	#[codec(index = 5)]
	Identity,
}

impl InstanceFilter<RuntimeCall> for ProxyType {
	fn filter(&self, call: &RuntimeCall) -> bool {
		// A batch is allowed, since each call in it meets this filter again.
		match self {
			Self::Any => true,
			_ if matches!(call, RuntimeCall::Utility(_)) => true,
			Self::NonTransfer => moves_no_money(call),
			Self::Governance => governs(call),
			Self::Staking => bonds(call) || matches!(call, RuntimeCall::Validators(_) | RuntimeCall::Session(_)),
			Self::Training => trains(call),
			Self::Identity => names(call),
		}
	}

	fn is_superset(&self, other: &Self) -> bool {
		match (self, other) {
			(all, same) if all == same => true,
			(Self::Any, _) => true,
			(Self::NonTransfer, other) => *other != Self::Any,
			_ => false,
		}
	}
}

fn moves_no_money(call: &RuntimeCall) -> bool {
	let own = matches!(
		call,
		RuntimeCall::System(_)
			| RuntimeCall::Session(_)
			| RuntimeCall::Validators(_)
			| RuntimeCall::Training(_)
			| RuntimeCall::Ponw(_)
			| RuntimeCall::Rewards(_)
	);
	own || bonds(call) || keeps_data(call) || claims_revenue(call) || serves(call) || governs(call) || names(call)
}

/// Everything about providers but who their operators are.
fn bonds(call: &RuntimeCall) -> bool {
	use pallet_neuro_staking::Call as Staking;
	matches!(call, RuntimeCall::Staking(call) if !matches!(call, Staking::set_operator { .. } | Staking::serve { .. }))
}

/// Everything about datasets but what an accomplice can turn into money: half of the bond of a challenge goes to whoever answers, half of a
/// penalty to whoever asks for what is attested and not there, and half of the deposit to whoever condemns what is proposed.
fn keeps_data(call: &RuntimeCall) -> bool {
	use pallet_neuro_dataset::Call as Dataset;
	matches!(call, RuntimeCall::Dataset(call) if !matches!(call, Dataset::challenge_shard { .. } | Dataset::attest { .. } | Dataset::propose { .. }))
}

/// Takes what shares of models have earned, but gives none away.
fn claims_revenue(call: &RuntimeCall) -> bool {
	use pallet_neuro_ownership::Call as Ownership;
	matches!(call, RuntimeCall::Ownership(Ownership::claim { .. } | Ownership::claim_for { .. }))
}

/// Everything about paid inference but what an accomplice can turn into money: whoever the ring of an offer names is paid a part of what the driver earns, and
/// an escrow is for whoever is given vouchers.
fn serves(call: &RuntimeCall) -> bool {
	use pallet_neuro_inference::Call as Inference;
	let keeps = |call: &pallet_neuro_inference::Call<_>| {
		!matches!(call, Inference::offer { .. } | Inference::open_session { .. } | Inference::top_up { .. })
	};
	matches!(call, RuntimeCall::Inference(call) if keeps(call))
}

fn governs(call: &RuntimeCall) -> bool {
	matches!(call, RuntimeCall::Council(_) | RuntimeCall::TechnicalCommittee(_) | RuntimeCall::Treasury(_) | RuntimeCall::Preimage(_))
}

fn trains(call: &RuntimeCall) -> bool {
	use pallet_neuro_dataset::Call as Dataset;
	use pallet_neuro_staking::Call as Staking;
	use pallet_neuro_training::Call as Training;
	match call {
		RuntimeCall::Ponw(_) | RuntimeCall::Rewards(_) => true,
		RuntimeCall::Dataset(call) => matches!(call, Dataset::withdraw_attestation { .. }),
		RuntimeCall::Staking(call) => {
			matches!(call, Staking::update_info { .. } | Staking::chill {} | Staking::activate {} | Staking::prove_arithmetic { .. })
		}
		RuntimeCall::Training(call) => matches!(
			call,
			Training::join { .. }
				| Training::leave { .. }
				| Training::commit { .. }
				| Training::reveal { .. }
				| Training::vote_availability { .. }
				| Training::attest { .. }
				| Training::report_missing { .. }
		),
		_ => claims_revenue(call) || serves(call),
	}
}

/// Everything about names but paying a registrar.
fn names(call: &RuntimeCall) -> bool {
	matches!(call, RuntimeCall::Identity(call) if !matches!(call, pallet_identity::Call::request_judgement { .. }))
}
