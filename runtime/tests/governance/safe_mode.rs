//! Safe mode and paused calls.

use super::{carriers::carriers_of, *};
use frame_support::{
	assert_noop,
	traits::{fungible::Inspect, fungible::InspectHold, GetCallMetadata},
	BoundedVec,
};
use neuroshard_runtime::{
	safety::{Calls, IN_SAFE_MODE, NEVER_STOPPED},
	Balances, Multisig, Proxy, Rewards, Staking, TxPause, DAYS,
};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind},
	proof::ProofKind,
	provider::{Role, Roles},
	traits::WorkCredits,
};

const BOND: u128 = 1_000 * NEURO;

fn enter() {
	assert_ok!(committee(pallet_safe_mode::Call::force_enter {}));
	assert!(SafeMode::is_entered());
}

fn register(key: Sr25519Keyring) {
	assert_ok!(Staking::register(signed(key), provider::info(Roles::only(Role::Worker), 1), BOND));
}

fn full_name(pallet: &str, call: &str) -> pallet_tx_pause::RuntimeCallNameOf<Runtime> {
	let bounded = |name: &str| BoundedVec::try_from(name.as_bytes().to_vec()).expect("a short name");
	(bounded(pallet), bounded(call))
}

/// Every call of the list, one by one.
fn spelled_out(calls: Calls) -> Vec<(&'static str, &'static str)> {
	let all = |pallet| RuntimeCall::get_call_names(pallet).to_vec();
	calls
		.iter()
		.flat_map(|(pallet, calls)| if calls.is_empty() { all(pallet) } else { calls.to_vec() }.into_iter().map(|call| (*pallet, call)))
		.collect()
}

/// Calls that the chain promises to all who have money on it, whatever else is on the list.
const DISPUTES_AND_EXITS: Calls = &[
	(
		"Disputes",
		&[
			"challenge_work",
			"challenge_attestation",
			"challenge_audit",
			"challenge_answer",
			"demand_answer",
			"deliver_answer",
			"play",
			"seal_audit",
			"report_audit",
			"resign",
		],
	),
	("Dataset", &["answer_challenge", "conclude_challenge", "withdraw_attestation", "condemn", "remove"]),
	("Staking", &["unbond", "withdraw_unbonded", "chill", "deregister", "set_operator", "serve"]),
	("Validators", &["unbond", "withdraw_unbonded", "chill", "unnominate", "withdraw_nomination"]),
	("Session", &["purge_keys"]),
	("Training", &["stop_run", "force_stop_run", "remove_run", "halt_model", "lift_halt"]),
	("Rewards", &["claim", "claim_for"]),
	("Inference", &["leave", "withdraw_offer", "claim", "close_session", "settle"]),
	("Proxy", &["proxy", "remove_proxy", "remove_proxies"]),
	("Multisig", &["as_multi", "as_multi_threshold_1", "cancel_as_multi"]),
	("SafeMode", &["force_exit", "force_extend"]),
	("TxPause", &["unpause"]),
];

#[test]
fn every_name_in_the_lists_is_a_call_of_the_runtime() {
	for (pallet, calls) in NEVER_STOPPED.iter().chain(IN_SAFE_MODE).chain(DISPUTES_AND_EXITS) {
		assert!(RuntimeCall::get_module_names().contains(pallet), "{pallet}");
		let names = RuntimeCall::get_call_names(pallet);
		assert!(calls.iter().all(|call| names.contains(call)), "{pallet}: {calls:?}");
	}
}

#[test]
fn in_safe_mode_money_stays_where_it_is_and_disputes_and_exits_go_on() {
	execute(|| {
		register(Ferdie);
		enter();
		assert_eq!(dispatch(Alice, transfer(Bob, NEURO)), Err(FILTERED));
		assert_eq!(Balances::balance(&account(Alice)), FUNDS);
		// There is no such game, which the pallet says itself.
		let claim = ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: account(Bob) };
		let action = neuroshard_graph::game::Move::Vector(0);
		let play = pallet_neuro_disputes::Call::play { claim, challenger: account(Alice), position: H256::zero(), action };
		assert!(matches!(dispatch(Alice, play), Err(DispatchError::Module(error)) if error.index == 25));
		// A provider leaves, with all that it had.
		assert_ok!(dispatch(Ferdie, pallet_neuro_staking::Call::deregister {}));
		System::set_block_number(System::block_number() + Staking::limits().1);
		assert_ok!(dispatch(Ferdie, pallet_neuro_staking::Call::withdraw_unbonded {}));
		assert_eq!((Balances::balance(&account(Ferdie)), Balances::total_balance_on_hold(&account(Ferdie))), (FUNDS, 0));
		// Those of validators and nominators are refused by their pallet only, since nobody here has bonded.
		use pallet_neuro_validators::Call as Validators;
		for exit in [
			Validators::unbond { amount: 1 },
			Validators::withdraw_unbonded {},
			Validators::chill {},
			Validators::unnominate { candidate: account(Bob), amount: 1 },
			Validators::withdraw_nomination { candidate: account(Bob) },
		] {
			assert!(matches!(dispatch(Alice, exit), Err(DispatchError::Module(error)) if error.index == 5));
		}
		// Nobody new comes in.
		assert_eq!(dispatch(Ferdie, pallet_neuro_training::Call::join { run: 0 }), Err(FILTERED));
	});
}

#[test]
fn in_safe_mode_what_was_earned_is_claimed_by_its_owner_and_for_it_and_an_authorized_upgrade_is_looked_at() {
	execute(|| {
		register(Ferdie);
		// Work of two eras of a day.
		for era in 1..=2 {
			Rewards::credit(&account(Ferdie), ProofKind::Training, Role::Worker, 1);
			System::set_block_number(era * DAYS);
			Rewards::on_initialize(era * DAYS);
		}
		enter();
		// The cap of a claim: all that the account has at stake.
		let claims: [(_, RuntimeCall); 2] = [
			(Ferdie, pallet_neuro_rewards::Call::claim { era: 0 }.into()),
			(Alice, pallet_neuro_rewards::Call::claim_for { who: account(Ferdie), era: 1 }.into()),
		];
		for (sender, claim) in claims {
			let before = Balances::balance(&account(Ferdie));
			assert_ok!(dispatch(sender, claim));
			assert_eq!(Balances::balance(&account(Ferdie)), before + BOND);
		}
		let upgrade = frame_system::Call::apply_authorized_upgrade { code: vec![0] };
		assert_eq!(dispatch(Alice, upgrade), Err(frame_system::Error::<Runtime>::NothingAuthorized.into()));
		let unauthorized = frame_system::Call::set_code { code: vec![0] };
		assert_eq!(dispatch(Alice, unauthorized), Err(FILTERED));
	});
}

#[test]
fn in_safe_mode_nothing_is_smuggled_through_a_carrier_and_exits_pass_through_all_of_them() {
	execute(|| {
		assert_ok!(Proxy::add_proxy(signed(Alice), account(Bob).into(), Default::default(), 0));
		let before = Balances::balance(&account(Eve));
		enter();
		let remark: RuntimeCall = frame_system::Call::remark { remark: vec![] }.into();
		for forbidden in [transfer(Eve, NEURO), remark] {
			for carrier in carriers_of(&forbidden) {
				for outer in carriers_of(&carrier) {
					let _ = dispatch(Bob, outer);
				}
				let by_signature = neuroshard_runtime::carriers::by_signature(&carrier).is_some();
				let result = dispatch(Bob, carrier.clone());
				assert!(!by_signature || result == Err(FILTERED), "{carrier:?} gave {result:?}");
			}
		}
		assert_eq!(Balances::balance(&account(Eve)), before);

		let exit: RuntimeCall = pallet_neuro_staking::Call::chill {}.into();
		for carrier in carriers_of(&exit) {
			assert_ne!(dispatch(Bob, carrier.clone()), Err(FILTERED), "{carrier:?}");
		}
		// Alice is no provider, as the pallet says through her proxy.
		assert_ok!(dispatch(Bob, pallet_proxy::Call::proxy { real: account(Alice).into(), force_proxy_type: None, call: Box::new(exit) }));
		let result = last(|event| match event {
			RuntimeEvent::Proxy(pallet_proxy::Event::ProxyExecuted { result }) => Some(result),
			_ => None,
		});
		assert!(matches!(result, Err(DispatchError::Module(error)) if error.index == 21));
	});
}

#[test]
fn in_safe_mode_a_multisig_that_was_approved_before_does_not_move_money() {
	execute(|| {
		let call = transfer(Eve, NEURO);
		let others = |key| vec![account(key)];
		let hash = sp_io::hashing::blake2_256(&call.encode());
		assert_ok!(Multisig::approve_as_multi(signed(Alice), 2, others(Bob), None, hash, weight(&call)));
		let timepoint = Multisig::timepoint();
		enter();
		let last = pallet_multisig::Call::as_multi {
			threshold: 2,
			other_signatories: others(Alice),
			maybe_timepoint: Some(timepoint),
			call: Box::new(call.clone()),
			max_weight: weight(&call),
		};
		assert_eq!(dispatch(Bob, last), Err(FILTERED));
		// Its deposit comes back all the same.
		let cancel = pallet_multisig::Call::cancel_as_multi { threshold: 2, other_signatories: others(Bob), timepoint, call_hash: hash };
		assert_ok!(dispatch(Alice, cancel));
		assert_eq!(Balances::balance(&account(Alice)), FUNDS);
	});
}

#[test]
fn in_safe_mode_motions_stop_runs_but_spend_nothing() {
	execute(|| {
		create_run();
		enter();
		let spend =
			pallet_treasury::Call::spend { asset_kind: Box::new(()), amount: 1, beneficiary: Box::new(account(Eve)), valid_from: None };
		assert_eq!(council(spend), Err(FILTERED));
		assert_ok!(council(pallet_neuro_training::Call::force_stop_run { run: 0, reason: Default::default() }));
		assert!(!is_active());
	});
}

#[test]
fn safe_mode_is_entered_by_the_committee_extended_by_the_council_left_by_either_and_ends_by_itself() {
	execute(|| {
		use pallet_safe_mode::Call;
		// Not for money, nor by the council.
		assert!(dispatch(Alice, Call::enter {}).is_err());
		assert_eq!(council(Call::force_enter {}), Err(DispatchError::BadOrigin));
		enter();
		let until = || pallet_safe_mode::EnteredUntil::<Runtime>::get();
		assert_eq!(until(), Some(System::block_number() + 4_800));
		assert_eq!(committee(Call::force_extend {}), Err(DispatchError::BadOrigin));
		assert_ok!(council(Call::force_extend {}));
		assert_eq!(until(), Some(System::block_number() + 4_800 + 28_800));
		assert_ok!(council(Call::force_exit {}));
		assert_ok!(dispatch(Alice, transfer(Bob, NEURO)));
		enter();
		System::set_block_number(System::block_number() + 4_800);
		next_block();
		assert!(!SafeMode::is_entered());
	});
}

#[test]
fn a_paused_call_is_refused_also_in_a_batch_until_it_is_allowed_again() {
	execute(|| {
		let name = full_name("Balances", "transfer_allow_death");
		assert_eq!(council(pallet_tx_pause::Call::pause { full_name: name.clone() }), Err(DispatchError::BadOrigin));
		assert_ok!(committee(pallet_tx_pause::Call::pause { full_name: name.clone() }));
		let before = Balances::balance(&account(Bob));
		assert_eq!(dispatch(Alice, transfer(Bob, NEURO)), Err(FILTERED));
		for carrier in carriers_of(&transfer(Bob, NEURO)) {
			let _ = dispatch(Alice, carrier);
		}
		assert_eq!(Balances::balance(&account(Bob)), before);
		assert_ok!(council(pallet_tx_pause::Call::unpause { ident: name }));
		assert_ok!(dispatch(Alice, transfer(Bob, NEURO)));
		assert_eq!(Balances::balance(&account(Bob)), before + NEURO);
	});
}

#[test]
fn disputes_exits_and_governance_cannot_be_paused() {
	execute(|| {
		for (pallet, call) in spelled_out(DISPUTES_AND_EXITS).into_iter().chain(spelled_out(NEVER_STOPPED)) {
			assert!(spelled_out(NEVER_STOPPED).contains(&(pallet, call)), "{pallet}.{call} goes on in safe mode, too");
			assert_noop!(TxPause::pause(RuntimeOrigin::root(), full_name(pallet, call)), pallet_tx_pause::Error::<Runtime>::Unpausable);
		}
		// What has to do with training can: it is no exit.
		assert_ok!(TxPause::pause(RuntimeOrigin::root(), full_name("Training", "attest")));
		// No name is so long that its call would count as paused.
		let names = RuntimeCall::get_module_names().iter().flat_map(|pallet| RuntimeCall::get_call_names(pallet).iter().chain([pallet]));
		assert!(names.into_iter().all(|name| name.len() <= 64));
	});
}
