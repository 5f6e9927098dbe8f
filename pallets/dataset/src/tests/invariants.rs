//! Random sequences of calls keep every invariant and give every deposit back.

use super::{
	chunks::{opening_of, root_of_all},
	*,
};
use crate::{
	mock::{new_test_ext, stake_of, Balances, Inactive, OpenClaims, ALICE, ANSWER_TIME, BOB, HOLDER, OTHER, STAKE},
	Attestations, AttestedBy, Attesters, Challenges, Datasets as DatasetMap, Leaving, NextId,
};
use frame_support::{
	storage::with_storage_layer,
	traits::fungible::{Inspect, InspectHold, Mutate},
	BoundedVec,
};
use neuroshard_types::{
	dataset::{ChunkPlace, DatasetStatus, Manifest, ShardRange},
	traits::{Datasets, Providers},
};
use proptest::prelude::*;

/// Accounts that act. The last two are providers.
const ACTORS: [AccountId; 4] = [ALICE, BOB, HOLDER, OTHER];

#[derive(Clone, Debug)]
enum Action {
	Propose(u8, u32),
	Activate(DatasetId),
	Retire(DatasetId),
	Acquire(DatasetId),
	Release(DatasetId),
	ForceRetire(DatasetId),
	Remove(DatasetId),
	Attest(DatasetId, ShardRange),
	Withdraw(DatasetId, usize),
	Challenge(DatasetId, usize, ChunkPlace),
	/// Opens what is asked for, or something else.
	Answer(DatasetId, usize, bool),
	Conclude(DatasetId, usize, usize),
	Condemn(DatasetId, ChunkPlace),
	Pass(u32),
}

fn action() -> impl Strategy<Value = Action> {
	let id = 0..3u32;
	prop_oneof![
		4 => (1..64u8, 0..7u32).prop_map(|(name, held_out)| Action::Propose(name, held_out)),
		6 => id.clone().prop_map(Action::Activate),
		1 => id.clone().prop_map(Action::Retire),
		6 => id.clone().prop_map(Action::Acquire),
		4 => id.clone().prop_map(Action::Release),
		1 => id.clone().prop_map(Action::ForceRetire),
		2 => id.clone().prop_map(Action::Remove),
		16 => (id.clone(), 0..3u32, 0..6u32).prop_map(|(id, first, count)| Action::Attest(id, ShardRange { first, count })),
		3 => (id.clone(), 0..4usize).prop_map(|(id, who)| Action::Withdraw(id, who)),
		20 => (id.clone(), 2..4usize, place()).prop_map(|(id, who, place)| Action::Challenge(id, who, place)),
		12 => (id.clone(), 0..4usize, prop::bool::weighted(0.8)).prop_map(|(id, challenger, right)| Action::Answer(id, challenger, right)),
		16 => (id.clone(), 2..4usize, 0..4usize).prop_map(|(id, who, challenger)| Action::Conclude(id, who, challenger)),
		1 => (id, place()).prop_map(|(id, place)| Action::Condemn(id, place)),
		6 => (1..2 * ANSWER_TIME).prop_map(Action::Pass),
	]
}

fn place() -> impl Strategy<Value = ChunkPlace> {
	(0..5u32, 0..3u32).prop_map(|(shard, chunk)| ChunkPlace { shard, chunk })
}

/// Carries `action` out; a refused call must leave no trace, as the dispatcher guarantees on chain.
fn run(who: &AccountId, action: Action) {
	let origin = signed(who.clone());
	let _ = with_storage_layer(|| match action {
		Action::Propose(name, held_out) => {
			let mut manifest: Manifest = manifest();
			manifest.name = vec![b'x'; name.into()].try_into().expect("at most 64 bytes");
			manifest.shape.held_out = held_out;
			manifest.root = root_of_all();
			// Of these tokens many are beyond the vocabulary of the mock.
			if name % 3 > 0 {
				manifest.vocab = 65_536;
			}
			Dataset::propose(origin, manifest)
		}
		Action::Activate(id) => Dataset::activate(origin, id),
		Action::Retire(id) => Dataset::retire(origin, id),
		Action::Acquire(id) => Dataset::acquire(id),
		Action::Release(id) => {
			Dataset::release(id);
			Ok(())
		}
		Action::ForceRetire(id) => Dataset::force_retire(RuntimeOrigin::root(), id, Default::default()),
		Action::Remove(id) => Dataset::remove(origin, id),
		Action::Attest(id, shards) => Dataset::attest(origin, id, shards),
		Action::Withdraw(id, of) => Dataset::withdraw_attestation(origin, id, ACTORS[of].clone()),
		Action::Challenge(id, of, place) => Dataset::challenge_shard(origin, id, ACTORS[of].clone(), place),
		Action::Answer(id, challenger, right) => {
			let asked = Challenges::<Test>::get((id, who), &ACTORS[challenger]).map(|challenge| challenge.place);
			let mut opening = opening_of(asked.unwrap_or(ChunkPlace { shard: 0, chunk: 0 }));
			opening.data[0] ^= u8::from(!right);
			Dataset::answer_challenge(origin, id, ACTORS[challenger].clone(), opening)
		}
		Action::Conclude(id, of, challenger) => Dataset::conclude_challenge(origin, id, ACTORS[of].clone(), ACTORS[challenger].clone()),
		Action::Condemn(id, place) => Dataset::condemn(origin, id, place, opening_of(place)),
		Action::Pass(blocks) => {
			System::set_block_number(System::block_number() + blocks);
			Ok(())
		}
	});
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(96))]

	#[test]
	fn random_calls_keep_every_invariant(actions in prop::collection::vec((0..4usize, action()), 1..120)) {
		new_test_ext().execute_with(|| {
			let money = || ACTORS.map(|who| Balances::total_balance(&who)).iter().sum::<u128>()
				+ [HOLDER, OTHER].iter().map(<Test as crate::Config>::Providers::slashable).sum::<u128>();
			let missing = Balances::total_issuance() - money();
			for (index, action) in actions {
				run(&ACTORS[index], action.clone());
				prop_assert_eq!(Pallet::<Test>::do_try_state(), Ok(()), "after {:?}", action);
				prop_assert_eq!(Balances::total_issuance() - money(), missing, "after {:?}", action);
				let claims: u32 = OpenClaims::get().values().sum();
				prop_assert_eq!(u32::try_from(Attestations::<Test>::iter().count()), Ok(claims), "after {:?}", action);
			}
			// When everything is retired and released, nothing is on hold.
			for id in Pallet::<Test>::datasets() {
				let dataset = view(id);
				if matches!(dataset.status, DatasetStatus::Proposed | DatasetStatus::Active) {
					assert_ok!(Dataset::retire(signed(dataset.proposer), id));
				}
				(0..dataset.users).for_each(|_| Dataset::release(id));
			}
			pass(2 * ANSWER_TIME);
			for id in Pallet::<Test>::datasets() {
				assert_ok!(Dataset::remove(signed(BOB), id));
			}
			for ((id, who), challenger, _) in Challenges::<Test>::iter().collect::<Vec<_>>() {
				// One that was missed ends all others of the attestation.
				let _ = with_storage_layer(|| Dataset::conclude_challenge(signed(BOB), id, who, challenger));
			}
			for (id, who, _) in Attestations::<Test>::iter().collect::<Vec<_>>() {
				assert_ok!(Dataset::withdraw_attestation(signed(BOB), id, who));
			}
			prop_assert_eq!(Pallet::<Test>::do_try_state(), Ok(()));
			prop_assert_eq!(Pallet::<Test>::datasets(), Vec::<DatasetId>::new());
			prop_assert_eq!((Attesters::<Test>::iter().count(), Challenges::<Test>::iter().count()), (0, 0));
			prop_assert_eq!(ACTORS.map(|who| Balances::total_balance_on_hold(&who)), [0; 4]);
			Ok(())
		})?;
	}
}

/// Enough calls of each kind succeed that the property says something.
#[test]
fn histories_of_random_calls_reach_every_end() {
	use proptest::{strategy::ValueTree, test_runner::TestRunner};
	let mut runner = TestRunner::deterministic();
	let histories = prop::collection::vec(prop::collection::vec((0..4usize, action()), 200), 200);
	let mut all = [0; 7];
	for actions in histories.new_tree(&mut runner).expect("histories").current() {
		let ends = new_test_ext().execute_with(|| ends_of(actions));
		all.iter_mut().zip(ends).for_each(|(sum, count)| *sum += count);
	}
	assert!(all.iter().all(|count| *count > 0), "{all:?}");
}

/// Returns how often each of seven things happened in a history.
fn ends_of(actions: Vec<(usize, Action)>) -> [usize; 7] {
	for (index, action) in actions {
		// Who was punished comes back, with a new stake.
		Inactive::mutate(|inactive| inactive.clear());
		for who in [HOLDER, OTHER] {
			Balances::set_balance(&stake_of(&who), STAKE);
		}
		run(&ACTORS[index], action);
	}
	let count = |of: fn(&Event<Test>) -> bool| events().iter().filter(|event| of(event)).count();
	[
		count(|event| matches!(event, Event::Answered { .. })),
		count(|event| matches!(event, Event::Failed { .. })),
		count(|event| matches!(event, Event::Moot { .. })),
		count(|event| matches!(event, Event::Condemned { .. })),
		count(|event| matches!(event, Event::ForceRetired { .. })),
		count(|event| matches!(event, Event::Removed { .. })),
		count(|event| matches!(event, Event::AttestationEnding { .. })),
	]
}

#[test]
fn a_broken_invariant_is_noticed() {
	let broken = |change: &dyn Fn(&mut crate::Dataset), message: &'static str| {
		new_test_ext().execute_with(|| {
			propose(ALICE);
			DatasetMap::<Test>::mutate(0, |entry| change(entry.as_mut().expect("just proposed")));
			assert_eq!(Pallet::<Test>::do_try_state(), Err(message.into()));
		});
	};
	broken(&|dataset| dataset.deposit += 1, "what is on hold differs from deposits and bonds");
	broken(&|dataset| dataset.proposer = BOB, "what is on hold differs from deposits and bonds");
	broken(&|dataset| dataset.deposit = 0, "a deposit that was lost, or none");
	broken(&|dataset| dataset.users = 1, "a proposed dataset with users");
	let leaving = "a dataset that leaves and should not, or the other way round";
	broken(&|dataset| dataset.status = DatasetStatus::Retired, leaving);
	broken(&|_| Leaving::<Test>::insert(0, 1), leaving);
	broken(&|_| Leaving::<Test>::insert(1, 1), "a dataset that is gone leaves");
	broken(&|dataset| dataset.manifest.vocab = 33, "an invalid manifest");
	new_test_ext().execute_with(|| {
		propose(ALICE);
		NextId::<Test>::put(0);
		assert_eq!(Pallet::<Test>::do_try_state(), Err("a dataset with an identifier that was never given".into()));
	});
}

#[test]
fn a_broken_attestation_or_challenge_is_noticed() {
	let place = ChunkPlace { shard: 2, chunk: 1 };
	let broken = |change: &dyn Fn(&mut crate::Attestation, &mut crate::Challenge), message: &'static str| {
		new_test_ext().execute_with(|| {
			propose(ALICE);
			assert_ok!(Dataset::attest(signed(HOLDER), 0, ShardRange { first: 1, count: 3 }));
			assert_ok!(Dataset::challenge_shard(signed(BOB), 0, HOLDER, place));
			assert_eq!(Pallet::<Test>::do_try_state(), Ok(()));
			let mut attestation = Attestations::<Test>::get(0, HOLDER).expect("just attested");
			let mut challenge = Challenges::<Test>::get((0, HOLDER), BOB).expect("just opened");
			change(&mut attestation, &mut challenge);
			Attestations::<Test>::insert(0, HOLDER, attestation);
			Challenges::<Test>::insert((0, HOLDER), BOB, challenge);
			assert_eq!(Pallet::<Test>::do_try_state(), Err(message.into()));
		});
	};
	let sums = "what is on hold differs from deposits and bonds";
	broken(&|attestation, _| attestation.deposit += 1, sums);
	broken(&|_, challenge| challenge.bond -= 1, sums);
	broken(&|attestation, _| attestation.challenges = 2, "challenges are counted wrongly");
	broken(&|attestation, _| attestation.shards.count = 5, "an attestation of shards that are not there");
	broken(&|attestation, _| attestation.shards.count = 1, "a challenge of a shard that is not attested");
	broken(&|_, challenge| challenge.place.chunk = 3, "a challenge of a chunk that is not there");
	let listed = "attestations of an account are listed wrongly";
	broken(&|_, _| AttestedBy::<Test>::remove(HOLDER), listed);
	broken(&|_, _| AttestedBy::<Test>::insert(HOLDER, BoundedVec::truncate_from(vec![0, 0])), listed);
	broken(&|_, _| AttestedBy::<Test>::insert(HOLDER, BoundedVec::truncate_from(vec![0, 1])), listed);
	broken(&|_, _| AttestedBy::<Test>::insert(OTHER, BoundedVec::default()), listed);
	new_test_ext().execute_with(|| {
		propose(ALICE);
		assert_ok!(Dataset::attest(signed(HOLDER), 0, ShardRange { first: 1, count: 3 }));
		assert_ok!(Dataset::challenge_shard(signed(BOB), 0, HOLDER, place));
		assert_ok!(Dataset::retire(signed(ALICE), 0));
		assert_eq!(Pallet::<Test>::do_try_state(), Ok(()));
		Challenges::<Test>::mutate((0, HOLDER), BOB, |entry| entry.as_mut().expect("just opened").deadline = 1 + 2 * ANSWER_TIME);
		assert_eq!(Pallet::<Test>::do_try_state(), Err("a dataset leaves before a challenge can be answered".into()));
		remove(0);
		assert_eq!(Pallet::<Test>::do_try_state(), Err("a dataset left before a challenge could be answered".into()));
		pass(1);
		assert_eq!(Pallet::<Test>::do_try_state(), Ok(()));
	});
	new_test_ext().execute_with(|| {
		propose(ALICE);
		Attesters::<Test>::insert(0, 1);
		assert_eq!(Pallet::<Test>::do_try_state(), Err("attestations are counted wrongly".into()));
	});
}
