//! Random sequences of calls keep every invariant and give every deposit back.

use super::*;
use crate::{
	mock::{new_test_ext, Balances, ALICE, BOB, FUNDS},
	Datasets as DatasetMap, NextId,
};
use frame_support::{storage::with_storage_layer, traits::fungible::Inspect};
use neuroshard_types::{
	dataset::{DatasetStatus, Manifest},
	traits::Datasets,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Action {
	Propose(u8, u32),
	Activate(DatasetId),
	Retire(DatasetId),
	Acquire(DatasetId),
	Release(DatasetId),
}

fn action() -> impl Strategy<Value = Action> {
	let id = 0..6u32;
	prop_oneof![
		2 => (1..64u8, 0..7u32).prop_map(|(name, held_out)| Action::Propose(name, held_out)),
		3 => id.clone().prop_map(Action::Activate),
		1 => id.clone().prop_map(Action::Retire),
		4 => id.clone().prop_map(Action::Acquire),
		4 => id.prop_map(Action::Release),
	]
}

/// Carries `action` out; a refused call must leave no trace, as the dispatcher guarantees on chain.
fn run(who: &AccountId, action: Action) {
	let origin = signed(who.clone());
	let _ = with_storage_layer(|| match action {
		Action::Propose(name, held_out) => {
			let mut manifest: Manifest = manifest();
			manifest.name = vec![b'x'; name.into()].try_into().expect("at most 64 bytes");
			manifest.shape.held_out = held_out;
			Dataset::propose(origin, manifest)
		}
		Action::Activate(id) => Dataset::activate(origin, id),
		Action::Retire(id) => Dataset::retire(origin, id),
		Action::Acquire(id) => Dataset::acquire(id),
		Action::Release(id) => {
			Dataset::release(id);
			Ok(())
		}
	});
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(64))]

	#[test]
	fn random_calls_keep_every_invariant(actions in prop::collection::vec((0..2usize, action()), 1..80)) {
		new_test_ext().execute_with(|| {
			let accounts = [ALICE, BOB];
			for (index, action) in actions {
				run(&accounts[index], action.clone());
				prop_assert_eq!(Pallet::<Test>::do_try_state(), Ok(()), "after {:?}", action);
			}
			// When everything is retired and released, every deposit is back.
			for id in Pallet::<Test>::datasets() {
				let dataset = view(id);
				if dataset.status != DatasetStatus::Retired {
					assert_ok!(Dataset::retire(signed(dataset.proposer), id));
				}
				(0..dataset.users).for_each(|_| Dataset::release(id));
			}
			prop_assert_eq!(Pallet::<Test>::do_try_state(), Ok(()));
			prop_assert_eq!(Pallet::<Test>::datasets(), Vec::<DatasetId>::new());
			prop_assert_eq!(accounts.map(|who| Balances::balance(&who)), [FUNDS, FUNDS]);
			Ok(())
		})?;
	}
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
	broken(&|dataset| dataset.deposit += 1, "deposits differ from the hold");
	broken(&|dataset| dataset.proposer = BOB, "deposits differ from the hold");
	broken(&|dataset| dataset.users = 1, "a proposed dataset with users");
	broken(&|dataset| dataset.status = DatasetStatus::Retired, "an unused retired dataset");
	broken(&|dataset| dataset.manifest.vocab = 33, "an invalid manifest");
	new_test_ext().execute_with(|| {
		propose(ALICE);
		NextId::<Test>::put(0);
		assert_eq!(Pallet::<Test>::do_try_state(), Err("a dataset with an identifier that was never given".into()));
	});
}
