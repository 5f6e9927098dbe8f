//! Whatever happens in whatever order: a key is paid at most once, never while its account is held, never after that was condemned;
//! claims match pending proofs, and all are closed in the end; and no hour sees more than 120 proofs.

use crate::{mock::*, rate::Activity, Overdue, Pending, Released, Standings};
use frame_support::{traits::Hooks, weights::Weight};
use neuroshard_types::{proof::ProofKey, traits::WorkProofs, AccountId, BlockNumber, RoundIndex};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Something that may happen.
#[derive(Clone, Debug)]
enum Step {
	Submit(bool, RoundIndex),
	Confirm(bool, RoundIndex),
	Void(bool, RoundIndex),
	Hold(bool),
	Release(bool),
	Condemn(bool),
	Wait(BlockNumber),
}

fn step() -> impl Strategy<Value = Step> {
	let round = || 0u32..5;
	prop_oneof![
		6 => (any::<bool>(), round()).prop_map(|(who, round)| Step::Submit(who, round)),
		6 => (any::<bool>(), round()).prop_map(|(who, round)| Step::Confirm(who, round)),
		2 => (any::<bool>(), round()).prop_map(|(who, round)| Step::Void(who, round)),
		2 => any::<bool>().prop_map(Step::Hold),
		3 => any::<bool>().prop_map(Step::Release),
		1 => any::<bool>().prop_map(Step::Condemn),
		4 => (1u32..12).prop_map(Step::Wait),
	]
}

fn account(alice: bool) -> AccountId {
	if alice {
		ALICE
	} else {
		BOB
	}
}

/// Proofs that must not be paid: whatever is of accounts that are held, and what was pending when its account was condemned.
#[derive(Default)]
struct Unpaid {
	held: BTreeSet<AccountId>,
	condemned: BTreeSet<(AccountId, ProofKey)>,
}

impl Unpaid {
	fn perform(&mut self, step: Step) {
		let id = |who, round| (account(who), key(0, round));
		match step {
			Step::Submit(who, round) => {
				if submit(&account(who), key(0, round)).is_ok() {
					self.condemned.remove(&id(who, round));
				}
			}
			// Units name the round, so that credits can be told apart.
			Step::Confirm(who, round) => Ponw::confirm(&account(who), key(0, round), u128::from(round) + 1, true),
			Step::Void(who, round) => Ponw::void(&account(who), key(0, round)),
			Step::Hold(who) => {
				self.held.insert(account(who));
				Ponw::hold(&account(who));
			}
			Step::Release(who) => {
				self.held.remove(&account(who));
				Ponw::release(&account(who));
			}
			Step::Condemn(who) => {
				let pending = Pending::<Test>::iter_key_prefix(account(who)).map(|key| (account(who), key));
				self.condemned.extend(pending);
				Ponw::condemn(&account(who));
			}
			Step::Wait(blocks) => run_to(System::block_number() + blocks),
		}
	}

	/// That nothing was paid in this step that should not have been.
	fn check(&self, before: usize) {
		for (who, _, _, units) in &Credited::get()[before..] {
			let id = (who.clone(), key(0, u32::try_from(units - 1).expect("the number of a round")));
			assert!(!self.condemned.contains(&id), "{id:?} was paid after its account was condemned");
			assert!(!self.held.contains(who), "{id:?} was paid while its account was held");
		}
	}
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(128))]

	#[test]
	fn a_key_is_paid_at_most_once_and_every_claim_is_closed_in_the_end(steps in prop::collection::vec(step(), 1..80)) {
		new_test_ext().execute_with(|| {
			let mut unpaid = Unpaid::default();
			for step in steps {
				let before = Credited::get().len();
				unpaid.perform(step);
				unpaid.check(before);
				Ponw::on_idle(System::block_number(), Weight::MAX);
				check_invariants();
			}
			// Every dispute ends, and every proof is confirmed, or voided.
			for who in [ALICE, BOB] {
				Ponw::release(&who);
			}
			for (who, key, entry) in Pending::<Test>::iter().collect::<Vec<_>>() {
				if entry.final_at.is_none() {
					Ponw::void(&who, key);
				}
			}
			run_to(System::block_number() + WINDOW + 10);
			check_invariants();
			prop_assert_eq!((Pending::<Test>::iter().count(), Standings::<Test>::iter().count()), (0, 0));
			prop_assert_eq!((Overdue::<Test>::iter().count(), Released::<Test>::iter().count()), (0, 0));
			prop_assert!(Claims::get().values().all(|open| *open == 0));
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
