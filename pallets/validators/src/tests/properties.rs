//! Random sequences of calls, blocks, sessions and offences keep every invariant, and no money appears or disappears unnoticed.

use super::*;
use crate::mock::{new_test_ext, BAR, ED};
use frame_support::{dispatch::DispatchResult, storage::with_storage_layer, traits::fungible::Inspect};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Accounts that act: the first are candidates at genesis.
const ACTORS: u8 = 8;

#[derive(Clone, Debug)]
enum Action {
	Bond(Balance, u32),
	BondExtra(Balance),
	Unbond(Balance),
	UnbondAll,
	Withdraw,
	Chill,
	Activate,
	Commission(u32),
	/// These name a candidate by its place in the list of candidates,
	Nominate(u8, Balance),
	/// and these by its place in the list of those that the actor nominates, or itself.
	Unnominate(u8, Balance),
	UnnominateAll(u8),
	WithdrawNomination(u8),
	Claim(u8),
	Count(u32),
	/// The actor's keys are purged, or set again.
	Keys(bool),
	/// The actor makes a block with this reward.
	Author(Balance),
	/// The actor commits an offence of so many parts per thousand, some sessions ago.
	Offend(u32, SessionIndex),
	Session,
	Wait(u32),
}

fn action() -> impl Strategy<Value = Action> {
	let actor = || 1..=ACTORS;
	let amount = || 0..4_000u128;
	let small = || 0..1_500u128;
	prop_oneof![
		4 => (500..6_000u128, 0..=100u32).prop_map(|(amount, commission)| Action::Bond(amount, commission)),
		2 => amount().prop_map(Action::BondExtra),
		3 => small().prop_map(Action::Unbond),
		1 => Just(Action::UnbondAll),
		3 => Just(Action::Withdraw),
		1 => Just(Action::Chill),
		2 => Just(Action::Activate),
		1 => (0..=100u32).prop_map(Action::Commission),
		10 => (actor(), amount()).prop_map(|(at, amount)| Action::Nominate(at, amount)),
		4 => (actor(), small()).prop_map(|(at, amount)| Action::Unnominate(at, amount)),
		2 => actor().prop_map(Action::UnnominateAll),
		6 => actor().prop_map(Action::WithdrawNomination),
		4 => actor().prop_map(Action::Claim),
		1 => (0..6u32).prop_map(Action::Count),
		1 => any::<bool>().prop_map(Action::Keys),
		8 => (0..5_000u128).prop_map(Action::Author),
		1 => (prop_oneof![3 => 0..=300u32, 1 => Just(1_000)], 0..4u32).prop_map(|(parts, ago)| Action::Offend(parts, ago)),
		4 => Just(Action::Session),
		4 => (1..40u32).prop_map(Action::Wait),
	]
}

/// The account at some place of a list that is gone through again and again, or the account itself if the list is empty.
fn at(place: u8, list: impl Iterator<Item = AccountId>) -> AccountId {
	let list: Vec<_> = list.collect();
	list.get(usize::from(place) % list.len().max(1)).cloned().unwrap_or_else(|| account(place))
}

/// Whom an actor nominates.
fn nominated(who: u8, place: u8) -> AccountId {
	at(place, crate::NominationsOf::<Test>::get(account(who)).into_iter())
}

/// Carries `action` out for `who`; a refused call must leave no trace, as the dispatcher guarantees on chain.
fn run(who: u8, action: &Action) -> bool {
	let origin = || signed(who);
	let call = |call: &dyn Fn() -> DispatchResult| with_storage_layer(call).is_ok();
	let plain = |result: frame_support::dispatch::DispatchResultWithPostInfo| result.map(|_| ()).map_err(|failed| failed.error);
	let percent = Perbill::from_percent;
	match *action {
		Action::Bond(amount, commission) => call(&|| Validators::bond(origin(), amount, percent(commission))),
		Action::BondExtra(amount) => call(&|| Validators::bond_extra(origin(), amount)),
		Action::Unbond(amount) => call(&|| Validators::unbond(origin(), amount)),
		Action::UnbondAll => {
			let all = Candidates::<Test>::get(account(who)).map_or(0, |candidate| candidate.own.stake.active);
			call(&|| Validators::unbond(origin(), all))
		}
		Action::Withdraw => call(&|| plain(Validators::withdraw_unbonded(origin()))),
		Action::Chill => call(&|| Validators::chill(origin())),
		Action::Activate => call(&|| Validators::activate(origin())),
		Action::Commission(parts) => call(&|| Validators::set_commission(origin(), percent(parts))),
		Action::Nominate(place, amount) => {
			let id = at(place, (1..=ACTORS).map(account).filter(|id| Candidates::<Test>::contains_key(id)));
			call(&|| plain(Validators::nominate(origin(), id.clone(), amount)))
		}
		Action::Unnominate(place, amount) => call(&|| Validators::unnominate(origin(), nominated(who, place), amount)),
		Action::UnnominateAll(place) => {
			let id = nominated(who, place);
			let all = Nominations::<Test>::get(&id, account(who)).map_or(0, |nomination| nomination.stake.active);
			call(&|| Validators::unnominate(origin(), id.clone(), all))
		}
		Action::WithdrawNomination(place) => call(&|| Validators::withdraw_nomination(origin(), nominated(who, place))),
		Action::Claim(place) => {
			let id = if place % 2 == 0 { account(who) } else { nominated(who, place) };
			call(&|| Validators::claim_rewards(origin(), id.clone()))
		}
		Action::Count(count) => call(&|| Validators::set_validator_count(RuntimeOrigin::root(), count)),
		Action::Keys(true) => {
			register(who);
			true
		}
		Action::Keys(false) => {
			// A set without keys would be an empty one: that a validator keeps its keys is up to the session pallet.
			let sets = [Session::validators(), Validators::elected().into_iter().map(|(who, _)| who).collect()];
			!sets.iter().any(|set| set.contains(&account(who))) && call(&|| Session::purge_keys(origin()))
		}
		Action::Author(reward) => {
			authored(who, reward);
			true
		}
		Action::Offend(parts, ago) => {
			offence(who, parts, pallet_session::CurrentIndex::<Test>::get().saturating_sub(ago));
			true
		}
		Action::Session => {
			next_session();
			true
		}
		Action::Wait(blocks) => {
			wait(blocks);
			true
		}
	}
}

/// Returns what each actor has lost by slashes, and what all actors together have earned, by the events of this block.
fn slashed_and_earned() -> (BTreeMap<AccountId, Balance>, Balance) {
	let (mut slashed, mut earned) = (BTreeMap::new(), 0);
	for event in events() {
		let (who, amount) = match event {
			Event::Slashed { candidate, own, .. } => (candidate, own),
			Event::NominationSlashed { nominator, amount, .. } => (nominator, amount),
			Event::Rewarded { amount, .. } => {
				earned += amount;
				continue;
			}
			_ => continue,
		};
		*slashed.entry(who).or_default() += amount;
	}
	(slashed, earned)
}

/// All that an actor owns: free, on hold, and claimable.
fn wealth(tag: u8) -> Balance {
	Balances::total_balance(&account(tag)) + Validators::claimable(account(tag))
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(128))]

	#[test]
	fn random_histories_keep_every_invariant(actions in prop::collection::vec((1..=ACTORS, action()), 1..300)) {
		new_test_ext().execute_with(|| {
			(3..=ACTORS).for_each(register);
			let genesis = Balances::total_issuance();
			let (mut minted, mut burned) = (0, 0);
			let mut barred_until = [0; ACTORS as usize + 1];
			for (who, action) in actions {
				System::reset_events();
				let before: Vec<_> = (1..=ACTORS).map(wealth).collect();
				let done = run(who, &action);
				prop_assert_eq!(Validators::do_try_state(), Ok(()), "after {:?}", action);
				let (slashed, earned) = slashed_and_earned();
				minted += earned;
				burned += slashed.values().sum::<Balance>();
				prop_assert_eq!(Balances::total_issuance(), genesis + minted - burned, "after {:?}", action);
				// Nobody loses but by a slash.
				for (tag, before) in (1..=ACTORS).zip(before) {
					let lost = slashed.get(&account(tag)).copied().unwrap_or(0);
					prop_assert!(wealth(tag) + lost >= before, "{} lost by {:?}", tag, action);
				}
				// The pot has what is owed and nothing else, to the planck.
				let pools: Balance = Candidates::<Test>::iter_values().map(|candidate| candidate.pool.unsettled).sum();
				let owed: Balance = crate::Owed::<Test>::iter_values().sum();
				prop_assert_eq!(Balances::free_balance(Validators::pot()), ED + pools + owed);
				if matches!(action, Action::Offend(..)) && events().iter().any(|event| matches!(event, Event::Barred { .. })) {
					barred_until[usize::from(who)] = System::block_number() + BAR;
				}
				let bars = System::block_number() < barred_until[usize::from(who)];
				if bars && matches!(action, Action::Bond(..) | Action::BondExtra(_) | Action::Activate) {
					prop_assert!(!done, "{} came back early by {:?}", who, action);
				}
				prop_assert!(!Session::validators().is_empty(), "a set is never empty");
			}
			Ok(())
		})?;
	}
}

/// Everybody leaves, and everybody gets everything back.
#[test]
fn who_leaves_gets_all_of_its_stake_and_rewards() {
	crate::mock::build_and_execute(|| {
		bond(3, 1_777, 13);
		bond(4, 1_313, 0);
		for tag in 5..=8 {
			nominate(tag, 3, 100 + 17 * Balance::from(tag));
			nominate(tag, 4, 300 - 11 * Balance::from(tag));
		}
		for block in 0..50 {
			authored(3 + (block % 2) as u8, 997);
		}
		for tag in 5..=8 {
			for id in [3, 4] {
				assert_ok!(Validators::unnominate(signed(tag), account(id), nomination(tag, id).stake.active));
			}
		}
		for tag in [3, 4] {
			assert_ok!(Validators::unbond(signed(tag), candidate(tag).own.stake.active));
		}
		wait(crate::mock::COOLDOWN);
		for tag in 5..=8 {
			for id in [3, 4] {
				assert_ok!(Validators::withdraw_nomination(signed(tag), account(id)));
			}
			assert_ok!(Validators::claim_rewards(signed(tag), account(3)));
		}
		for tag in [3, 4] {
			assert_ok!(Validators::withdraw_unbonded(signed(tag)));
			assert_ok!(Validators::claim_rewards(signed(tag), account(tag)));
		}
		let free: Balance = (3..=8).map(|tag| Balances::free_balance(account(tag))).sum();
		assert_eq!(free, 6 * crate::mock::FUNDS + 50 * 997);
		assert_eq!(Balances::free_balance(Validators::pot()), ED, "nothing is left");
	});
}

#[test]
fn a_broken_invariant_is_noticed() {
	let broken = |change: &dyn Fn(), message: &'static str| {
		new_test_ext().execute_with(|| {
			nominate(5, 1, 500);
			authored(1, 1_000);
			change();
			assert_eq!(Validators::do_try_state(), Err(message.into()));
		});
	};
	let candidate = |change: fn(&mut Candidate)| {
		Candidates::<Test>::mutate(account(1), |entry| change(entry.as_mut().expect("a candidate")));
	};
	broken(&|| candidate(|it| it.own.stake.active += 1), "a self-bond differs from the hold");
	broken(&|| candidate(|it| it.backing += 1), "backing differs from the nominations");
	broken(&|| candidate(|it| it.nominators += 1), "nominations miscounted");
	broken(&|| candidate(|it| it.pool.unsettled -= 900), "a pool has less than its positions are due");
	broken(&|| candidate(|it| it.pool.per_planck /= 2), "a pool has more than rounding explains");
	broken(&|| crate::Owed::<Test>::insert(account(7), 1), "the pot has less than it owes");
	broken(&|| crate::NominationsOf::<Test>::remove(account(5)), "nominations and their list differ");
	broken(&|| crate::ValidatorCount::<Test>::put(0), "a validator count out of range");
	broken(&|| crate::MinSelfBond::<Test>::put(1_001), "an active candidate below the minimum");
	let unknown = || crate::Exposures::<Test>::insert(1, frame_support::BoundedVec::truncate_from(vec![(account(9), Exposure::default())]));
	broken(&unknown, "an unknown account is elected");
	broken(&|| crate::Sets::<Test>::remove(0), "a set of no session, or a session of no set");
	broken(&|| crate::FirstSessions::<Test>::insert(2, 0), "a remembered session is not planned");
}
