//! Calls that carry calls: the chain knows all of them, so that no dispute is played inside of one and no filter is passed by one.

use super::*;
use frame_support::{traits::GetCallMetadata, weights::Weight};
use neuroshard_runtime::{carriers::AllCarriers, OriginCaller};
use neuroshard_types::{
	dataset::ShardRange,
	dispute::{ClaimId, ClaimKind},
};
use pallet_neuro_disputes::{Carriers, CheckTurn, Refusal};
use scale_info::{meta_type, MetaType, TypeDef, TypeInfo};
use sp_runtime::{
	traits::DispatchTransaction,
	transaction_validity::{InvalidTransaction, TransactionSource::External},
};
use std::collections::BTreeSet;

/// One call for every way of carrying `call`.
pub fn carriers_of(call: &RuntimeCall) -> Vec<RuntimeCall> {
	use pallet_collective::Call as Collective;
	use pallet_multisig::Call as Multisig;
	use pallet_proxy::Call as Proxy;
	use pallet_scheduler::Call as Scheduler;
	use pallet_sudo::Call as Sudo;
	use pallet_utility::Call as Utility;
	let calls = || vec![call.clone()];
	let call = || Box::new(call.clone());
	let origin = || Box::new(OriginCaller::system(frame_system::RawOrigin::Signed(account(Alice))));
	let (real, delegate) = (account(Alice), account(Bob));
	let others = || vec![account(Charlie)];
	vec![
		Utility::batch { calls: calls() }.into(),
		Utility::batch_all { calls: calls() }.into(),
		Utility::force_batch { calls: calls() }.into(),
		Utility::as_derivative { index: 0, call: call() }.into(),
		Utility::with_weight { call: call(), weight: Weight::zero() }.into(),
		Utility::dispatch_as { as_origin: origin(), call: call() }.into(),
		Utility::dispatch_as_fallible { as_origin: origin(), call: call() }.into(),
		Utility::if_else { main: call(), fallback: call() }.into(),
		Sudo::sudo { call: call() }.into(),
		Sudo::sudo_unchecked_weight { call: call(), weight: Weight::zero() }.into(),
		Sudo::sudo_as { who: real.clone().into(), call: call() }.into(),
		neuroshard_runtime::enactment::Call::enact { call: call() }.into(),
		RuntimeCall::Council(Collective::execute { proposal: call(), length_bound: 1 }),
		RuntimeCall::Council(Collective::propose { threshold: 1, proposal: call(), length_bound: 1 }),
		RuntimeCall::TechnicalCommittee(Collective::execute { proposal: call(), length_bound: 1 }),
		RuntimeCall::TechnicalCommittee(Collective::propose { threshold: 1, proposal: call(), length_bound: 1 }),
		Scheduler::schedule { when: 9, maybe_periodic: None, priority: 0, call: call() }.into(),
		Scheduler::schedule_named { id: [0; 32], when: 9, maybe_periodic: None, priority: 0, call: call() }.into(),
		Scheduler::schedule_after { after: 9, maybe_periodic: None, priority: 0, call: call() }.into(),
		Scheduler::schedule_named_after { id: [0; 32], after: 9, maybe_periodic: None, priority: 0, call: call() }.into(),
		Multisig::as_multi_threshold_1 { other_signatories: others(), call: call() }.into(),
		Multisig::as_multi { threshold: 2, other_signatories: others(), maybe_timepoint: None, call: call(), max_weight: Weight::MAX }
			.into(),
		Proxy::proxy { real: real.clone().into(), force_proxy_type: None, call: call() }.into(),
		Proxy::proxy_announced { delegate: delegate.into(), real: real.into(), force_proxy_type: None, call: call() }.into(),
	]
}

fn name(call: &RuntimeCall) -> (String, String) {
	let metadata = call.get_call_metadata();
	(metadata.pallet_name.into(), metadata.function_name.into())
}

/// Returns whether values of this type hold calls of the runtime.
fn holds_calls(of: &MetaType, seen: &mut BTreeSet<MetaType>) -> bool {
	if *of == meta_type::<RuntimeCall>() {
		return true;
	}
	if !seen.insert(*of) {
		return false;
	}
	match of.type_info().type_def {
		TypeDef::Composite(composite) => composite.fields.iter().any(|field| holds_calls(&field.ty, seen)),
		TypeDef::Variant(variant) => variant.variants.iter().flat_map(|variant| &variant.fields).any(|field| holds_calls(&field.ty, seen)),
		TypeDef::Sequence(sequence) => holds_calls(&sequence.type_param, seen),
		TypeDef::Array(array) => holds_calls(&array.type_param, seen),
		TypeDef::Tuple(tuple) => tuple.fields.iter().any(|field| holds_calls(field, seen)),
		TypeDef::Compact(_) | TypeDef::Primitive(_) | TypeDef::BitSequence(_) => false,
	}
}

/// Names of all calls that hold calls, by the types of their arguments.
fn carrying() -> BTreeSet<(String, String)> {
	let TypeDef::Variant(pallets) = RuntimeCall::type_info().type_def else { panic!("the runtime's call is an enum") };
	let mut names = BTreeSet::new();
	for pallet in pallets.variants {
		let TypeDef::Variant(calls) = pallet.fields[0].ty.type_info().type_def else { panic!("a pallet's call is an enum") };
		let carry = calls.variants.iter().filter(|call| call.fields.iter().any(|field| holds_calls(&field.ty, &mut BTreeSet::new())));
		names.extend(carry.map(|call| (pallet.name.into(), call.name.into())));
	}
	names
}

fn play() -> RuntimeCall {
	let claim = ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: account(Bob) };
	let action = neuroshard_graph::game::Move::Vector(0);
	pallet_neuro_disputes::Call::play { claim, challenger: account(Alice), position: H256::zero(), action }.into()
}

fn answer() -> RuntimeCall {
	pallet_neuro_dataset::Call::answer_challenge { id: 0, challenger: account(Dave), opening: dataset::opening(0) }.into()
}

fn attest() -> RuntimeCall {
	pallet_neuro_dataset::Call::attest { id: 0, shards: ShardRange { first: 0, count: 1 } }.into()
}

#[test]
fn every_call_that_can_carry_calls_is_known_to_do_so() {
	let call: RuntimeCall = frame_system::Call::remark { remark: vec![] }.into();
	let carriers = carriers_of(&call);
	assert_eq!(carriers.iter().map(name).collect::<BTreeSet<_>>(), carrying());
	for carrier in &carriers {
		let carried = AllCarriers::carried(carrier);
		assert!(!carried.is_empty() && carried.iter().all(|carried| **carried == call), "{carrier:?}");
	}
	assert!(AllCarriers::carried(&call).is_empty());
}

#[test]
fn no_carrier_gets_a_dispute_an_answer_or_what_asks_for_answers_into_a_block_however_deep() {
	execute(|| {
		let valid = |call: &RuntimeCall| {
			let extension = CheckTurn::<Runtime>::default();
			extension.validate_only(signed(Alice), call, &Default::default(), 0, External, 0).map(|_| ())
		};
		let refused = Err(InvalidTransaction::Custom(Refusal::Carried.code()).into());
		for carrier in [play(), answer(), attest()].iter().flat_map(carriers_of) {
			assert_eq!(valid(&carrier), refused, "{carrier:?}");
			for outer in carriers_of(&carrier) {
				assert_eq!(valid(&outer), refused, "{outer:?}");
			}
		}
		for harmless in carriers_of(&transfer(Bob, 1)) {
			assert_eq!(valid(&harmless), Ok(()), "{harmless:?}");
		}
	});
}
