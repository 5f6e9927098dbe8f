//! Whatever happens in whatever order: a key is paid at most once, claims match pending proofs, and no hour sees more than 120 proofs.

use crate::{mock::*, rate::Activity};
use frame_support::{traits::Hooks, weights::Weight};
use neuroshard_types::{traits::WorkProofs, AccountId, BlockNumber, RoundIndex};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Something that may happen.
#[derive(Clone, Debug)]
enum Step {
	Submit(bool, RoundIndex),
	Confirm(bool, RoundIndex),
	Void(bool, RoundIndex),
	Wait(BlockNumber),
}

fn step() -> impl Strategy<Value = Step> {
	let round = || 0u32..5;
	prop_oneof![
		3 => (any::<bool>(), round()).prop_map(|(who, round)| Step::Submit(who, round)),
		3 => (any::<bool>(), round()).prop_map(|(who, round)| Step::Confirm(who, round)),
		1 => (any::<bool>(), round()).prop_map(|(who, round)| Step::Void(who, round)),
		2 => (1u32..12).prop_map(Step::Wait),
	]
}

fn account(alice: bool) -> AccountId {
	if alice {
		ALICE
	} else {
		BOB
	}
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(128))]

	#[test]
	fn a_key_is_paid_at_most_once(steps in prop::collection::vec(step(), 1..60)) {
		new_test_ext().execute_with(|| {
			// Units name the round, so that credits can be told apart.
			for step in steps {
				match step {
					Step::Submit(who, round) => {
						let _refused = submit(&account(who), key(0, round));
					},
					Step::Confirm(who, round) => Ponw::confirm(&account(who), key(0, round), u128::from(round) + 1),
					Step::Void(who, round) => Ponw::void(&account(who), key(0, round)),
					Step::Wait(blocks) => run_to(System::block_number() + blocks),
				}
				Ponw::on_idle(System::block_number(), Weight::MAX);
				check_invariants();
			}
			let mut paid = BTreeMap::<_, u32>::new();
			for (who, _, _, units) in Credited::get() {
				*paid.entry((who, units)).or_default() += 1;
			}
			for ((who, units), times) in paid {
				prop_assert_eq!(times, 1, "{:?} was paid {} times for round {}", who, times, units - 1);
			}
			Ok(())
		})?;
	}

	#[test]
	fn no_hour_sees_more_than_120_proofs(waits in prop::collection::vec(prop_oneof![0u64..1_000, 0u64..60_000, 0..2 * HOUR], 130..400)) {
		let mut activity = Activity::default();
		let mut now = START;
		let mut accepted = Vec::new();
		for wait in waits {
			now += wait;
			let announced = activity.next_allowed_at(now);
			let mut trial = activity.clone();
			prop_assert_eq!(trial.note(now).is_ok(), announced <= now, "the announced time is the true one");
			prop_assert!(activity.clone().note(announced).is_ok());
			if activity.note(now).is_ok() {
				accepted.push(now);
			}
		}
		for (first, from) in accepted.iter().enumerate() {
			let within = accepted[first..].iter().take_while(|at| **at < from + HOUR).count();
			prop_assert!(within <= 120, "{} proofs within an hour", within);
		}
	}
}
