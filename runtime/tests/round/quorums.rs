//! A place that two providers hold: its pay, its stakes, and what a lost dispute costs whom.

use super::*;
use neuroshard_types::quorum::{split, Span};
use pallet_neuro_training::Holders;

/// Who leads has the end and, since both are one matrix, the embedding; the other one has the layer.
const SPANS: [Span; 2] = [Span { first: 2, count: 2 }, Span { first: 1, count: 1 }];

/// Bob and Eve hold a place together; Charlie and Dave one each. All of them, but for Eve, with their seeds.
fn with_a_quorum() -> (Vec<(AccountId, u8)>, AccountId) {
	let workers: Vec<(AccountId, u8)> = vec![(Bob.to_account_id(), 1), (Charlie.to_account_id(), 2), (Dave.to_account_id(), 3)];
	let (bob, eve) = (Bob.to_account_id(), Eve.to_account_id());
	create_dataset();
	create_run(10);
	workers.iter().for_each(|(who, seed)| register(who, *seed));
	register(&eve, 4);
	let holders: Holders = vec![(bob.clone(), SPANS[0]), (eve.clone(), SPANS[1])].try_into().unwrap();
	assert_ok!(Training::form_quorum(signed(&bob), 0, holders.clone()));
	assert_ok!(Training::agree_quorum(signed(&eve), 0, bob, holders));
	workers.iter().for_each(|(who, _)| assert!(Training::join(signed(who), 0).is_ok()));
	until(Phase::Training);
	(workers, eve)
}

#[test]
fn each_member_of_a_quorum_owns_and_is_paid_what_falls_to_its_span() {
	chain().execute_with(|| {
		let (workers, eve) = with_a_quorum();
		adopted(&workers);
		let bob = &workers[0].0;
		assert_eq!([bob, &eve].map(|who| Staking::provider(who.clone()).unwrap().open_claims), [1, 1]);
		let until = Staking::provider(bob.clone()).unwrap().disputable_until;
		assert_eq!(Staking::provider(eve.clone()).unwrap().disputable_until, until);
		let end = System::block_number() + 2 * Ponw::window() + 20;
		while System::block_number() < end {
			next_block();
		}
		let units = <Rewards as WorkUnits>::of_round(&model(), &train(), train().inner_steps);
		let parts = split(units, &model(), &train(), SPANS.into_iter());
		let owned = |who: &AccountId| Ownership::shares(who.clone(), 0).earning;
		assert_eq!([owned(&eve), owned(bob)], [parts[1], units - parts[1]]);
		assert!(parts[1] > units / 4 && parts[1] < units / 4 * 3, "a layer beside a head of half as many weights: {} of {units}", parts[1]);
		assert_eq!(owned(&workers[1].0), units);
		let paid = |who: &AccountId| Rewards::claimable_eras(who.clone()).iter().map(|(_, amount)| amount).sum::<u128>();
		let (eve, bob, charlie) = (paid(&eve), paid(bob), paid(&workers[1].0));
		assert!(eve > 0 && bob > 0 && (eve + bob).abs_diff(charlie) <= charlie / 1_000, "{eve} and {bob} beside {charlie}");
	});
}

#[test]
fn a_leader_that_shows_nothing_loses_its_own_stake_and_the_pay_of_all() {
	chain().execute_with(|| {
		let (workers, eve) = with_a_quorum();
		adopted(&workers);
		let [bob, charlie] = [&workers[0].0, &workers[1].0];
		let ferdie = Ferdie.to_account_id();
		let before = Balances::balance(&ferdie);
		assert_ok!(Disputes::challenge_work(signed(&ferdie), 0, 0, bob.clone(), work(1), Doubt::Interval(0)));
		assert_eq!([bob, &eve].map(|who| Staking::provider(who.clone()).unwrap().open_claims), [2, 2]);
		let terms = Disputes::terms();
		// Longer than the window: no pay of theirs becomes final meanwhile.
		for _ in 0..terms.clock + terms.extension {
			assert_eq!([bob, &eve].map(|who| Ownership::shares(who.clone(), 0).earning), [0, 0]);
			next_block();
		}
		(0..3).for_each(|_| next_block());
		assert_eq!(Disputes::games(None), vec![]);
		assert_eq!([bob, &eve].map(Balances::total_balance_on_hold), [0, BOND]);
		assert_eq!(Balances::balance(&ferdie), before + BOND / 2);
		assert_eq!(Training::record(0, 0).unwrap().excluded, vec![bob.clone()]);
		for _ in 0..2 * Ponw::window() + 20 {
			next_block();
		}
		let eras = |who: &AccountId| Rewards::claimable_eras(who.clone()).len();
		assert_eq!([eras(bob), eras(&eve), eras(charlie)], [0, 0, 1]);
		assert_eq!(Staking::provider(eve).unwrap().open_claims, 0);
	});
}
