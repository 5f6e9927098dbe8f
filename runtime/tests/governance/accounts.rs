//! Proxies and names.

use super::*;
use frame_support::{assert_noop, traits::InstanceFilter};
use neuroshard_runtime::{proxies::ProxyType, Balances, Identity, Multisig, Preimage, Proxy};
use neuroshard_types::{
	dataset::{ChunkPlace, ShardRange},
	inference::{CheckpointId, Class, Offer, Span},
};
use pallet_identity::legacy::IdentityInfo;

/// 0.1 NEURO for an item, and 0.01 NEURO for a byte.
const fn deposit(items: u128, bytes: u128) -> u128 {
	items * NEURO / 10 + bytes * NEURO / 100
}

fn free_and_reserved(key: Sr25519Keyring) -> (u128, u128) {
	let data = frame_system::Account::<Runtime>::get(account(key)).data;
	(data.free, data.reserved)
}

/// Returns the result of `call` in the name of Alice, by Bob.
fn by_proxy(call: impl Into<RuntimeCall>) -> DispatchResult {
	let call = Box::new(call.into());
	assert_ok!(dispatch(Bob, pallet_proxy::Call::proxy { real: account(Alice).into(), force_proxy_type: None, call }));
	last(|event| match event {
		RuntimeEvent::Proxy(pallet_proxy::Event::ProxyExecuted { result }) => Some(result),
		_ => None,
	})
}

#[test]
fn a_proxy_for_training_neither_transfers_nor_unbonds_nor_appoints_others() {
	execute(|| {
		assert_ok!(Proxy::add_proxy(signed(Alice), account(Bob).into(), ProxyType::Training, 0));
		// An item of 48 bytes, and 37 for each proxy in it.
		let held = deposit(1, 48 + 37);
		assert_eq!(free_and_reserved(Alice), (FUNDS - held, held));

		assert_eq!(by_proxy(transfer(Eve, NEURO)), Err(FILTERED));
		assert_eq!(by_proxy(pallet_neuro_staking::Call::unbond { amount: 1 }), Err(FILTERED));
		assert_eq!(by_proxy(pallet_neuro_staking::Call::bond_extra { amount: 1 }), Err(FILTERED));
		let appoint = |proxy_type| pallet_proxy::Call::add_proxy { delegate: account(Eve).into(), proxy_type, delay: 0 };
		assert_eq!(by_proxy(appoint(ProxyType::Any)), Err(FILTERED));
		assert_eq!(by_proxy(pallet_proxy::Call::remove_proxies {}), Err(FILTERED));
		for batch in [
			pallet_utility::Call::batch { calls: vec![transfer(Eve, NEURO)] },
			pallet_utility::Call::force_batch { calls: vec![transfer(Eve, NEURO)] },
			pallet_utility::Call::if_else { main: Box::new(transfer(Eve, NEURO)), fallback: Box::new(transfer(Eve, NEURO)) },
		] {
			let _ = by_proxy(batch);
		}
		assert_eq!((Balances::free_balance(account(Eve)), free_and_reserved(Alice)), (FUNDS, (FUNDS - held, held)));

		// It may take part in rounds: there is no such run, which is another error.
		assert_eq!(by_proxy(pallet_neuro_training::Call::join { run: 0 }), Err(pallet_neuro_training::Error::<Runtime>::UnknownRun.into()));
		assert_ok!(Proxy::remove_proxies(signed(Alice)));
		assert_eq!(free_and_reserved(Alice), (FUNDS, 0));
	});
}

/// An offer in which Eve does all the work.
fn offer() -> Offer {
	Offer {
		checkpoint: CheckpointId { run: 0, round: 0, root: H256::zero() },
		class: Class::ExactF32,
		prices: Default::default(),
		redundancy: 1,
		endpoint: Default::default(),
		ring: vec![Span { who: account(Eve), first: 0, layers: 1 }].try_into().expect("one"),
	}
}

#[test]
fn no_proxy_but_one_for_everything_takes_money_out_of_an_account() {
	let chunk = ChunkPlace { shard: 0, chunk: 0 };
	let transfers: [RuntimeCall; 15] = [
		transfer(Eve, 1),
		pallet_balances::Call::transfer_all { dest: account(Eve).into(), keep_alive: false }.into(),
		pallet_balances::Call::burn { value: 1, keep_alive: false }.into(),
		pallet_identity::Call::request_judgement { reg_index: 0, max_fee: NEURO }.into(),
		pallet_sudo::Call::sudo { call: Box::new(transfer(Eve, 1)) }.into(),
		pallet_assets::Call::transfer { id: 0.into(), target: account(Eve).into(), amount: 1 }.into(),
		pallet_neuro_ownership::Call::transfer { model: 0, to: account(Eve), shares: 1 }.into(),
		// Whom a ring names is paid a part of what is earned, and whoever has a voucher is paid.
		pallet_neuro_inference::Call::offer { offer: offer() }.into(),
		pallet_neuro_inference::Call::open_session { provider: Some(account(Eve)), escrow: NEURO }.into(),
		pallet_neuro_inference::Call::top_up { session: 0, amount: NEURO }.into(),
		// Half of its bond goes to whoever answers.
		pallet_neuro_dataset::Call::challenge_shard { id: 0, who: account(Eve), place: chunk }.into(),
		// Half of the penalty goes to whoever asks for what is not there, and half of the deposit to whoever shows what is false.
		pallet_neuro_dataset::Call::attest { id: 0, shards: ShardRange { first: 0, count: 1 } }.into(),
		pallet_neuro_dataset::Call::propose { manifest: crate::common::dataset::manifest(7) }.into(),
		pallet_proxy::Call::proxy { real: account(Eve).into(), force_proxy_type: None, call: Box::new(transfer(Eve, 1)) }.into(),
		pallet_multisig::Call::as_multi_threshold_1 { other_signatories: vec![], call: Box::new(transfer(Eve, 1)) }.into(),
	];
	for call in &transfers {
		assert!(ProxyType::Any.filter(call));
		for kind in [ProxyType::NonTransfer, ProxyType::Governance, ProxyType::Staking, ProxyType::Training, ProxyType::Identity] {
			assert!(!kind.filter(call), "{kind:?}: {call:?}");
		}
	}
}

#[test]
fn no_proxy_but_one_for_everything_names_an_operator_or_becomes_one_for_another_account() {
	use pallet_neuro_staking::Call as Staking;
	// An operator disputes and attests, which no proxy does.
	let named: RuntimeCall = Staking::set_operator { operator: Some(account(Bob)) }.into();
	let serving: RuntimeCall = Staking::serve { owner: Some(account(Bob)) }.into();
	for call in [named, serving] {
		assert!(ProxyType::Any.filter(&call));
		for kind in [ProxyType::NonTransfer, ProxyType::Governance, ProxyType::Staking, ProxyType::Training, ProxyType::Identity] {
			assert!(!kind.filter(&call), "{kind:?}: {call:?}");
		}
	}
}

#[test]
fn a_kind_of_proxy_includes_another_only_if_it_allows_all_that_this_one_allows() {
	use ProxyType::{Any, Governance, Identity, NonTransfer, Staking, Training};
	let kinds = [Any, NonTransfer, Governance, Staking, Training, Identity];
	let calls: Vec<RuntimeCall> = vec![
		transfer(Eve, 1),
		pallet_neuro_training::Call::join { run: 0 }.into(),
		pallet_neuro_dataset::Call::withdraw_attestation { id: 0, who: account(Eve) }.into(),
		pallet_neuro_dataset::Call::retire { id: 0 }.into(),
		pallet_neuro_staking::Call::unbond { amount: 1 }.into(),
		pallet_neuro_staking::Call::chill {}.into(),
		pallet_neuro_rewards::Call::claim { era: 0 }.into(),
		pallet_neuro_ownership::Call::claim { model: 0 }.into(),
		pallet_neuro_inference::Call::settle { session: 0 }.into(),
		pallet_neuro_validators::Call::chill {}.into(),
		pallet_session::Call::purge_keys {}.into(),
		pallet_treasury::Call::payout { index: 0 }.into(),
		pallet_identity::Call::clear_identity {}.into(),
		pallet_preimage::Call::note_preimage { bytes: vec![] }.into(),
	];
	for outer in kinds {
		for inner in kinds.into_iter().filter(|inner| outer.is_superset(inner)) {
			assert!(calls.iter().all(|call| outer.filter(call) || !inner.filter(call)), "{outer:?} includes {inner:?}");
		}
		assert_eq!(kinds.into_iter().all(|inner| outer.is_superset(&inner)), outer == Any);
	}
	assert!(NonTransfer.is_superset(&Training) && !Staking.is_superset(&Training) && !Training.is_superset(&Staking));
}

#[test]
fn a_name_costs_a_deposit_for_its_bytes_that_comes_back_with_it() {
	execute(|| {
		let raw = |text: &str| pallet_identity::Data::Raw(text.as_bytes().to_vec().try_into().expect("a short text"));
		let none = || pallet_identity::Data::None;
		let info = IdentityInfo {
			additional: Default::default(),
			display: raw("Alice"),
			legal: none(),
			web: raw("example.org"),
			riot: none(),
			email: none(),
			pgp_fingerprint: None,
			image: none(),
			twitter: none(),
		};
		// No additional field, five letters and eleven with a byte before each, five empty fields, no fingerprint.
		let bytes = 1 + 6 + 12 + 5 + 1;
		assert_ok!(Identity::set_identity(signed(Alice), Box::new(info)));
		let held = deposit(1, 64) + deposit(0, bytes);
		assert_eq!(free_and_reserved(Alice), (FUNDS - held, held));
		assert_ok!(Identity::clear_identity(signed(Alice)));
		assert_eq!(free_and_reserved(Alice), (FUNDS, 0));
		assert_noop!(Identity::clear_identity(signed(Alice)), pallet_identity::Error::<Runtime>::NoIdentity);
	});
}

#[test]
fn a_multisig_holds_a_deposit_for_each_signature_until_its_call_is_made() {
	execute(|| {
		let call = transfer(Eve, NEURO);
		let others = |key| vec![account(key)];
		let together = Multisig::multi_account_id(&[account(Bob), account(Alice)], 2);
		assert_ok!(dispatch(Ferdie, pallet_balances::Call::transfer_allow_death { dest: together.clone().into(), value: 3 * NEURO }));
		let sign = |key, other, timepoint| {
			let (call, max_weight) = (Box::new(call.clone()), weight(&call));
			let sign = pallet_multisig::Call::as_multi {
				threshold: 2,
				other_signatories: others(other),
				maybe_timepoint: timepoint,
				call,
				max_weight,
			};
			dispatch(key, sign)
		};
		assert_ok!(sign(Alice, Bob, None));
		let held = deposit(1, 144) + 2 * deposit(0, 32);
		assert_eq!(free_and_reserved(Alice), (FUNDS - held, held));
		assert_ok!(sign(Bob, Alice, Some(Multisig::timepoint())));
		assert_eq!((free_and_reserved(Alice), free_and_reserved(Eve)), ((FUNDS, 0), (FUNDS + NEURO, 0)));
		assert_eq!(Balances::free_balance(together), 2 * NEURO);
	});
}

#[test]
fn a_preimage_holds_a_deposit_for_its_bytes_until_it_is_removed() {
	execute(|| {
		let bytes = vec![7; 100];
		let hash = BlakeTwo256::hash(&bytes);
		assert_ok!(Preimage::note_preimage(signed(Alice), bytes));
		let held = deposit(1, 100);
		assert_eq!(free_and_reserved(Alice), (FUNDS - held, held));
		assert_ok!(Preimage::unnote_preimage(signed(Alice), hash));
		assert_eq!(free_and_reserved(Alice), (FUNDS, 0));
	});
}
