//! The worker against the metadata of the runtime of the same release.

use crate::{
	balances, calls::check_calls, fees, inference, keys::Account, shape::Mismatch, staking, training, views::check_views, Call, ChainError,
};
use codec::{Decode, Encode};
use neuroshard_runtime::{Runtime, RuntimeCall};
use neuroshard_types::{
	inference::{CheckpointId, Class, Offer, Prices, Span, Voucher},
	provider::ProviderInfo,
	H256, NEURO,
};
use subxt::metadata::Metadata;

fn metadata() -> Metadata {
	// Some constants of the runtime are read from storage.
	let opaque = sp_io::TestExternalities::new_empty().execute_with(|| Runtime::metadata_at_version(16)).unwrap();
	Metadata::decode_from(&opaque).unwrap()
}

fn info() -> ProviderInfo {
	ProviderInfo {
		roles: Default::default(),
		hardware: Default::default(),
		ponw_key: [2; 33],
		peer_id: vec![1, 2, 3].try_into().unwrap(),
		addresses: Default::default(),
	}
}

#[test]
fn the_runtime_has_every_call_and_view_function_as_this_worker_knows_them() {
	let metadata = metadata();
	check_calls(&metadata).unwrap();
	check_views(&metadata).unwrap();
	super::verdicts::check(&metadata).unwrap();
	super::audited::check(&metadata).unwrap();
	super::punished::check(&metadata).unwrap();
}

#[test]
fn a_call_is_encoded_as_the_runtime_encodes_it() {
	let metadata = metadata();
	let bytes = staking::register(info(), 100 * NEURO).encode(&metadata).unwrap();
	let call = RuntimeCall::decode(&mut bytes.as_slice()).unwrap();
	assert_eq!(call.encode(), bytes);
	assert_eq!(call, RuntimeCall::Staking(pallet_neuro_staking::Call::register { info: info(), bond: 100 * NEURO }));
}

#[test]
fn calls_of_paid_inference_are_encoded_as_the_runtime_encodes_them() {
	let metadata = metadata();
	let [alice, bob] = ["//Alice", "//Bob"].map(|path| Account::from_secret(path).unwrap());
	let offer = Offer {
		checkpoint: CheckpointId { run: 1, round: 2, root: H256::repeat_byte(3) },
		class: Class::ExactF32,
		prices: Prices { prompt: 4, generated: 5 },
		redundancy: 1,
		endpoint: b"http://host:8080".to_vec().try_into().unwrap(),
		ring: vec![Span { who: bob.id(), first: 0, layers: 6 }].try_into().unwrap(),
	};
	let voucher = Voucher { session: 7, provider: bob.id(), amount: NEURO, answers: 2, receipts: H256::repeat_byte(9) };
	let signature = alice.sign_voucher(&voucher, H256::zero());
	let calls = [
		inference::join(bob.id(), offer.hash(&bob.id())),
		inference::offer(offer),
		inference::leave(bob.id()),
		inference::withdraw_offer(),
		inference::open_session(Some(bob.id()), 5 * NEURO),
		inference::top_up(7, NEURO),
		inference::claim(voucher, signature),
		inference::close_session(7),
		inference::settle(7),
	];
	for call in calls {
		let bytes = call.encode(&metadata).unwrap();
		assert_eq!(RuntimeCall::decode(&mut bytes.as_slice()).unwrap().encode(), bytes, "{}", call.describe());
	}
}

#[test]
fn what_an_owner_signs_elsewhere_registers_it_and_names_the_operator() {
	use pallet_neuro_staking::Call as Staking;
	let metadata = metadata();
	let operator = Account::from_secret("//Bob").unwrap().id();
	let name = staking::set_operator(Some(operator.clone()));
	let bytes = Call::all(vec![staking::register(info(), 100 * NEURO), name]).encode(&metadata).unwrap();
	let calls = [
		RuntimeCall::Staking(Staking::register { info: info(), bond: 100 * NEURO }),
		RuntimeCall::Staking(Staking::set_operator { operator: Some(operator) }),
	];
	let batch = RuntimeCall::decode(&mut bytes.as_slice()).unwrap();
	assert_eq!(neuroshard_runtime::carriers::by_signature(&batch).unwrap(), calls.iter().collect::<Vec<_>>());
}

#[test]
fn what_a_round_costs_is_estimated_from_calls_that_the_runtime_takes() {
	let metadata = metadata();
	for call in fees::round_calls(fees::RoundSize::LARGEST) {
		let bytes = call.encode(&metadata).unwrap();
		assert_eq!(RuntimeCall::decode(&mut bytes.as_slice()).unwrap().encode(), bytes, "{}", call.describe());
	}
}

#[test]
fn constants_are_read_from_the_metadata_by_name_and_type() {
	let metadata = metadata();
	assert_eq!(fees::constant::<u128>(&metadata, &fees::EXISTENTIAL_DEPOSIT).unwrap(), NEURO / 1_000);
	// Blocks of three seconds: a week, and a fortnight.
	assert_eq!(fees::constant::<u32>(&metadata, &fees::LONGEST_PHASE).unwrap(), 7 * 24 * 1_200);
	assert_eq!(fees::constant::<u32>(&metadata, &fees::HISTORY_PERIOD).unwrap(), 14 * 24 * 1_200);
	assert!(matches!(fees::constant::<u64>(&metadata, &fees::LONGEST_PHASE), Err(ChainError::Incompatible { .. })));
	assert!(matches!(fees::constant::<u32>(&metadata, &("Training", "Nothing")), Err(ChainError::Missing { .. })));
}

#[test]
fn a_runs_deposit_is_that_of_the_pallet() {
	let metadata = metadata();
	for rounds in [None, Some(0), Some(1), Some(100), Some(4_095), Some(4_096), Some(4_097), Some(u32::MAX)] {
		let held = neuroshard_runtime::Training::deposit(rounds);
		assert_eq!(fees::run_deposit(&metadata, rounds).unwrap(), held, "{rounds:?}");
	}
	assert_eq!(fees::run_deposit(&metadata, Some(100)).unwrap(), 51 * NEURO);
}

#[test]
fn wrapped_calls_are_encoded_inside_out() {
	let metadata = metadata();
	let bob = Account::from_secret("//Bob").unwrap().id();
	let call = Call::all(vec![Call::sudo(training::approve_run(7)), balances::transfer(bob, NEURO)]);
	let bytes = call.encode(&metadata).unwrap();
	let decoded = RuntimeCall::decode(&mut bytes.as_slice()).unwrap();
	assert_eq!(decoded.encode(), bytes);
	assert!(matches!(decoded, RuntimeCall::Utility(_)), "{decoded:?}");
	assert_eq!(call.describe(), "Training::approve_run (as sudo) and Balances::transfer_keep_alive");
}

#[test]
fn calls_that_the_chain_has_not_or_means_otherwise_are_refused_by_name() {
	use crate::call::Signature;
	let metadata = metadata();
	let missing = Signature::<()>::new("Staking", "fly").check(&metadata).unwrap_err();
	assert!(matches!(&missing, ChainError::Missing { .. }));
	assert!(missing.to_string().contains("Staking::fly"), "{missing}");
	let other = Signature::<(u64,)>::new("Training", "join").check(&metadata).unwrap_err();
	let expected = Mismatch { path: "run".into(), chain: "u32".into(), worker: "u64".into() };
	assert!(matches!(&other, ChainError::Incompatible { mismatch, .. } if *mismatch == expected), "{other}");
}
