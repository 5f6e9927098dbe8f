//! Compute providers: registration, bonds, and proofs that they are up.

use super::{
	governance::{at_once, Body},
	signed, Act, Deed,
};
use crate::{common::provider, sequences::chain::operator};
use neuroshard_runtime::{AccountId, Runtime, RuntimeCall, Staking, Timestamp};
use neuroshard_types::{
	proof::{Proof, ProofKey, ProofKind, ProofSignature},
	provider::{ProviderInfo, ProviderStatus, Role, Roles},
	H256,
};
use pallet_neuro_staking::{Call, Operators};
use sp_core::{ecdsa, Pair};

/// Milliseconds of an hour.
const HOUR_MS: u64 = 3_600_000;
/// Different things to register.
const INFOS: u8 = 12;

pub fn deed(act: &Act) -> Deed {
	let amount = act.value();
	match act.what % 26 {
		0..=3 => act.mine(Call::register { info: info(act.who), bond: amount }),
		4..=7 => {
			let (who, digest) = act.one_of(asked())?;
			signed(who, Call::prove_arithmetic { digest })
		}
		8..=11 => act.mine(Call::bond_extra { amount }),
		12 => act.mine(Call::unbond { amount }),
		13 | 14 => act.mine(Call::withdraw_unbonded {}),
		15 => act.mine(Call::chill {}),
		16..=18 => act.mine(Call::activate {}),
		19 => act.mine(Call::deregister {}),
		20 => act.mine(Call::update_info { info: info(act.whom) }),
		21 if act.is_one_in(4) => act.mine(Call::lock { days: u16::from(act.whom) }),
		24 if act.is_one_in(2) => act.mine(Call::set_operator { operator: Some(operator(act.whom)) }),
		24 => act.mine(Call::set_operator { operator: None }),
		25 if act.is_one_in(4) => signed(operator(act.whom), Call::serve { owner: None }),
		25 => {
			let (owner, operator) = act.one_of(Operators::<Runtime>::iter())?;
			signed(operator, Call::serve { owner: Some(owner) })
		}
		22 if act.is_one_in(16) => at_once(Body::Council, Call::report_sybil { who: act.other() }),
		_ => up(act),
	}
}

/// Returns the signer of `call` of `who`: its operator, if it has one and the call is work.
pub fn signer(who: AccountId, call: &RuntimeCall) -> AccountId {
	use pallet_neuro_dataset::Call as Dataset;
	use pallet_neuro_inference::Call as Inference;
	use pallet_neuro_training::Call as Training;
	let works = match call {
		RuntimeCall::Ponw(_) | RuntimeCall::Disputes(_) => true,
		RuntimeCall::Staking(call) => {
			matches!(call, Call::update_info { .. } | Call::chill {} | Call::activate {} | Call::prove_arithmetic { .. })
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
		RuntimeCall::Inference(call) => matches!(
			call,
			Inference::offer { .. }
				| Inference::join { .. }
				| Inference::leave { .. }
				| Inference::withdraw_offer { .. }
				| Inference::claim { .. }
		),
		RuntimeCall::Dataset(call) => matches!(call, Dataset::attest { .. } | Dataset::answer_challenge { .. }),
		_ => false,
	};
	let operator = Staking::operator_of(who.clone()).filter(|operator| works && Staking::owner_of(operator.clone()).as_ref() == Some(&who));
	operator.unwrap_or(who)
}

/// A proof of uptime.
fn up(act: &Act) -> Deed {
	let (who, timestamp) = (act.me(), Timestamp::get());
	let run = u32::try_from(timestamp / HOUR_MS).ok()?;
	let proof = Proof { key: ProofKey { run, round: 0, kind: ProofKind::Uptime }, timestamp, work_hash: H256::zero() };
	let proof_signature = sign(&who, &proof)?;
	signed(who, pallet_neuro_ponw::Call::submit_uptime { proof, signature: proof_signature })
}

/// Hash of the first block.
pub fn genesis() -> H256 {
	neuroshard_runtime::System::block_hash(0)
}

/// The signature of a provider; nothing if it is none.
pub fn sign(who: &AccountId, proof: &Proof) -> Option<ProofSignature> {
	Some(ponw_key(who)?.sign(&proof.message(genesis(), who)).0)
}

/// The key for proofs of a provider; nothing if it is none.
pub fn ponw_key(who: &AccountId) -> Option<ecdsa::Pair> {
	let registered = Staking::provider(who.clone())?.info.ponw_key;
	(0..INFOS).map(provider::ponw_key).find(|pair| pair.public().0 == registered)
}

/// Returns the registration of a provider.
fn info(seed: u8) -> ProviderInfo {
	let seed = seed % INFOS;
	let roles = match seed % 4 {
		0 => Roles::only(Role::Worker).with(Role::Driver),
		2 => Roles::only(Role::Worker).with(Role::Verifier).with(Role::Driver),
		3 => Roles::only(Role::Verifier),
		_ => Roles::only(Role::Worker).with(Role::Verifier),
	};
	provider::info(roles, seed)
}

/// Returns the accounts that have something to prove, and the answer of a machine without faults.
fn asked() -> impl Iterator<Item = (AccountId, H256)> {
	pallet_neuro_staking::Providers::<Runtime>::iter().filter_map(|(who, provider)| match provider.status {
		ProviderStatus::Unproven { challenge } => Some((who, H256(neuroshard_kernels::kat::drawn(challenge.0)))),
		_ => None,
	})
}
