//! Motions, the treasury, and what is scheduled.

use super::*;
use frame_support::{assert_noop, traits::fungible::Inspect};
use neuroshard_runtime::{Balances, Sudo, Treasury};
use pallet_collective::RawOrigin::Members;

fn approve() -> RuntimeCall {
	pallet_neuro_training::Call::approve_run { run: 0 }.into()
}

fn spend(amount: u128) -> RuntimeCall {
	pallet_treasury::Call::spend { asset_kind: Box::new(()), amount, beneficiary: Box::new(account(Eve)), valid_from: None }.into()
}

#[test]
fn a_motion_of_two_thirds_of_the_council_approves_a_run_and_the_committee_and_one_member_do_not() {
	execute(|| {
		create_run();
		assert_eq!(committee(approve()), Err(DispatchError::BadOrigin));
		// One vote of three is enough for a motion of its own, which may not do it.
		assert_ok!(Council::propose(signed(Alice), 1, Box::new(approve()), length(&approve())));
		assert!(!Training::run(0).expect("a run").approved);
		assert_ok!(council(approve()));
		assert!(Training::run(0).expect("a run").approved);
	});
}

#[test]
fn sponsors_read_who_approves_a_run_and_which_calls_there_are_for_it() {
	use frame_support::traits::GetCallName;
	let page = include_str!("../../../docs/guide/sponsor.md");
	assert!(page.contains("[two thirds of the council](../spec/governance-datasets.md#who-decides-what) or by root"));
	let calls = pallet_collective::Call::<Runtime, pallet_collective::Instance1>::get_call_names();
	for name in ["propose", "vote", "close", "release_proposal_cost"] {
		assert!(calls.contains(&name) && page.contains(&format!("`council.{name}`")), "{name}");
	}
	assert!(pallet_neuro_training::Call::<Runtime>::get_call_names().contains(&"approve_run") && page.contains("training.approveRun(RUN)"));
}

#[test]
fn proposing_holds_a_deposit_until_the_motion_is_gone() {
	execute(|| {
		create_run();
		let hash = BlakeTwo256::hash_of(&approve());
		assert_ok!(Council::propose(signed(Alice), 2, Box::new(approve()), length(&approve())));
		assert_eq!(Balances::balance(&account(Alice)), FUNDS - NEURO);
		assert!(Council::release_proposal_cost(signed(Alice), hash).is_err());
		for (member, yes) in [(Bob, false), (Charlie, false)] {
			assert_ok!(Council::vote(signed(member), hash, 0, yes));
		}
		assert_ok!(Council::close(signed(Bob), hash, 0, weight(&approve()), length(&approve())));
		assert_ok!(Council::release_proposal_cost(signed(Alice), hash));
		assert_eq!(Balances::balance(&account(Alice)), FUNDS);
	});
}

#[test]
fn who_is_no_member_neither_proposes_nor_votes() {
	execute(|| {
		let error = pallet_collective::Error::<Runtime, pallet_collective::Instance1>::NotMember;
		assert_noop!(Council::propose(signed(Dave), 2, Box::new(approve()), 100), error);
	});
}

#[test]
fn a_spend_of_the_treasury_pays_exactly_what_was_decided_and_once() {
	execute(|| {
		let treasury = Treasury::account_id();
		let rest = Balances::balance(&treasury);
		assert_ok!(dispatch(Ferdie, pallet_balances::Call::transfer_allow_death { dest: treasury.clone().into(), value: 500 * NEURO }));
		let issuance = Balances::total_issuance();
		assert_ok!(council(spend(123 * NEURO)));
		assert_eq!(Balances::balance(&account(Eve)), FUNDS);
		// Anybody sends it.
		assert_ok!(Treasury::payout(signed(Ferdie), 0));
		assert_eq!(Balances::balance(&account(Eve)), FUNDS + 123 * NEURO);
		assert_eq!(Balances::balance(&treasury), rest + 377 * NEURO);
		assert_eq!(Balances::total_issuance(), issuance);
		assert!(Treasury::payout(signed(Ferdie), 0).is_err());
	});
}

#[test]
fn a_spend_is_at_most_what_its_origin_may_spend() {
	execute(|| {
		let spend = |amount, origin: RuntimeOrigin| spend(amount).dispatch(origin).map(|_| ()).map_err(|error| error.error);
		let council = |yes| RuntimeOrigin::from(neuroshard_runtime::OriginCaller::Council(Members(yes, 7)));
		let too_much = Err(pallet_treasury::Error::<Runtime>::InsufficientPermission.into());
		// Four of seven are more than half, five are two thirds.
		for (yes, most) in [(4, 10_000 * NEURO), (5, 1_000_000 * NEURO)] {
			assert_eq!(spend(most, council(yes)), Ok(()));
			assert_eq!(spend(most + 1, council(yes)), too_much);
		}
		assert_eq!(spend(u128::MAX, RuntimeOrigin::root()), Ok(()));
		assert_eq!(spend(1, council(3)), Err(DispatchError::BadOrigin));
		assert_eq!(spend(1, signed(Alice)), Err(DispatchError::BadOrigin));
		// The old queue takes nothing.
		let old = pallet_treasury::Call::spend_local { amount: 1, beneficiary: account(Eve).into() };
		assert!(RuntimeCall::from(old).dispatch(RuntimeOrigin::root()).is_err());
	});
}

#[test]
fn a_scheduled_call_is_made_in_its_block_by_the_origin_that_scheduled_it() {
	execute(|| {
		create_run();
		let when = System::block_number() + 3;
		let later = |call: RuntimeCall| pallet_scheduler::Call::schedule { when, maybe_periodic: None, priority: 0, call: Box::new(call) };
		assert_ok!(council(later(approve())));
		// The committee may schedule it, and is refused when the time comes.
		assert_ok!(committee(later(spend(1))));
		assert_eq!(dispatch(Alice, later(approve())), Err(DispatchError::BadOrigin));
		while System::block_number() < when {
			assert!(!Training::run(0).expect("a run").approved);
			next_block();
		}
		assert!(Training::run(0).expect("a run").approved);
		let result = last(|event| match event {
			RuntimeEvent::Scheduler(pallet_scheduler::Event::Dispatched { task, result, .. }) if task == (when, 1) => Some(result),
			_ => None,
		});
		assert_eq!(result, Err(DispatchError::BadOrigin));
	});
}

#[test]
fn without_a_key_in_genesis_nobody_has_sudo() {
	execute(|| {
		for key in [Alice, Bob, Charlie, Dave, Eve, Ferdie] {
			assert_noop!(Sudo::sudo(signed(key), Box::new(approve())), pallet_sudo::Error::<Runtime>::RequireSudo);
			assert_noop!(Sudo::set_key(signed(key), account(key).into()), pallet_sudo::Error::<Runtime>::RequireSudo);
		}
		assert_eq!(council(pallet_sudo::Call::sudo { call: Box::new(approve()) }), Err(DispatchError::BadOrigin));
	});
}
