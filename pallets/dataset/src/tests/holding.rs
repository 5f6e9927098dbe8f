//! Attestations, and what a challenge of one leads to. The dataset is that of `chunks`: 5 shards of 3 chunks.

use super::{
	chunks::{opening_of, propose_real, PLACE},
	*,
};
use crate::{
	mock::{
		build_and_execute, stake_of, Balances, Inactive, OpenClaims, Owners, Punished, ALICE, ANSWER_TIME, ATTESTATION_DEPOSIT, BOB, BOND,
		FUNDS, HOLDER, NOBODY, OTHER, PENALTY, PERIOD, STAKE,
	},
	Attestations, AttestedBy, Challenges, Error, HoldReason, Refusal, MAX_ATTESTATIONS, MAX_ATTESTED, MAX_CHALLENGES,
};
use frame_support::{
	assert_noop,
	dispatch::{DispatchClass, GetDispatchInfo},
	traits::fungible::{Inspect, InspectHold, Mutate},
};
use neuroshard_types::{
	dataset::{AttestationTerms, AttestationView, ChallengeView, ChunkOpening, ChunkPlace, Coverage, HoldingView, ShardRange},
	offence::Offence,
	traits::Datasets,
	Balance, H256,
};
use sp_runtime::{DispatchError, DispatchResult, TokenError};

const ALL: ShardRange = ShardRange { first: 0, count: 5 };

fn range(first: u32, count: u32) -> ShardRange {
	ShardRange { first, count }
}

fn attest(who: AccountId, shards: ShardRange) -> DispatchResult {
	Dataset::attest(signed(who), 0, shards)
}

fn withdraw(caller: AccountId, who: AccountId) -> DispatchResult {
	Dataset::withdraw_attestation(signed(caller), 0, who)
}

fn challenge(challenger: AccountId, who: AccountId) -> DispatchResult {
	Dataset::challenge_shard(signed(challenger), 0, who, PLACE)
}

fn answer(who: AccountId, challenger: AccountId, opening: ChunkOpening) -> DispatchResult {
	Dataset::answer_challenge(signed(who), 0, challenger, opening)
}

fn conclude(caller: AccountId, who: AccountId, challenger: AccountId) -> DispatchResult {
	Dataset::conclude_challenge(signed(caller), 0, who, challenger)
}

fn held(reason: HoldReason, who: &AccountId) -> Balance {
	Balances::balance_on_hold(&reason.into(), who)
}

fn open_claims(who: &AccountId) -> u32 {
	OpenClaims::get().get(who).copied().unwrap_or_default()
}

/// A dataset that [`HOLDER`] attests.
fn attested() {
	propose_real();
	assert_ok!(attest(HOLDER, ALL));
}

/// Account number `index` of many, with money and a stake.
fn many(index: u32) -> AccountId {
	let mut bytes = [7; 32];
	bytes[..4].copy_from_slice(&index.to_le_bytes());
	let who = AccountId::new(bytes);
	Balances::set_balance(&who, FUNDS);
	Balances::set_balance(&stake_of(&who), STAKE);
	who
}

#[test]
fn an_attestation_holds_a_deposit_and_the_stake() {
	build_and_execute(|| {
		attested();
		assert_eq!((held(HoldReason::Attestation, &HOLDER), open_claims(&HOLDER)), (ATTESTATION_DEPOSIT, 1));
		let expires_at = 1 + PERIOD;
		assert_eq!(Pallet::<Test>::attestation(0, HOLDER), Some(AttestationView { shards: ALL, expires_at, challenges: 0 }));
		assert_eq!(events().last(), Some(&Event::Attested { id: 0, who: HOLDER, shards: ALL, expires_at }));

		assert_ok!(withdraw(HOLDER, HOLDER));
		let expires_at = 1 + ANSWER_TIME;
		assert_eq!(Pallet::<Test>::attestation(0, HOLDER), Some(AttestationView { shards: ALL, expires_at, challenges: 0 }));
		assert_eq!(events().last(), Some(&Event::AttestationEnding { id: 0, who: HOLDER, expires_at }));
		pass(ANSWER_TIME);
		assert_eq!((held(HoldReason::Attestation, &HOLDER), open_claims(&HOLDER)), (ATTESTATION_DEPOSIT, 1));
		assert_ok!(withdraw(HOLDER, HOLDER));
		assert_eq!((Balances::balance(&HOLDER), open_claims(&HOLDER)), (FUNDS, 0));
		assert_eq!(Pallet::<Test>::attestation(0, HOLDER), None);
		assert_eq!(events().last(), Some(&Event::AttestationEnded { id: 0, who: HOLDER }));
		assert_noop!(withdraw(HOLDER, HOLDER), Error::<Test>::NotAttested);
	});
}

#[test]
fn an_operator_attests_answers_and_withdraws_for_its_owner_and_what_is_lost_by_challenging_is_its_own() {
	build_and_execute(|| {
		propose_real();
		Owners::set([(BOB, HOLDER)].into());
		assert_ok!(attest(BOB, ALL));
		assert_eq!(Pallet::<Test>::attestation(0, BOB), None);
		assert_eq!((held(HoldReason::Attestation, &HOLDER), held(HoldReason::Attestation, &BOB)), (ATTESTATION_DEPOSIT, 0));
		assert_ok!(challenge(ALICE, HOLDER));
		assert_eq!(Dataset::admit(&BOB, 0, &ALICE, &opening_of(PLACE)), Err(Refusal::NoChallenge), "the caller resolves whom it is for");
		assert_ok!(answer(BOB, ALICE, opening_of(PLACE)));
		assert_eq!((Balances::balance(&HOLDER), Balances::balance(&BOB)), (FUNDS - ATTESTATION_DEPOSIT + BOND / 2, FUNDS));
		// Its own challenges are nobody else's.
		assert_ok!(attest(OTHER, ALL));
		assert_ok!(challenge(BOB, OTHER));
		assert_eq!((held(HoldReason::Challenge, &HOLDER), held(HoldReason::Challenge, &BOB)), (0, BOND));
		assert_noop!(withdraw(BOB, OTHER), Error::<Test>::NotAttester);
		assert_ok!(withdraw(BOB, HOLDER));
		pass(ANSWER_TIME);
		assert_ok!(withdraw(BOB, HOLDER));
		assert_eq!((held(HoldReason::Attestation, &HOLDER), open_claims(&HOLDER)), (0, 0));
	});
}

#[test]
fn only_active_providers_attest_and_only_shards_that_are_there() {
	build_and_execute(|| {
		assert_noop!(attest(HOLDER, ALL), Error::<Test>::UnknownDataset);
		propose_real();
		assert_noop!(attest(ALICE, ALL), Error::<Test>::NotProvider);
		for shards in [range(0, 0), range(0, 6), range(5, 1), range(u32::MAX, 2)] {
			assert_noop!(attest(HOLDER, shards), Error::<Test>::InvalidShards);
		}
		assert_ok!(attest(HOLDER, range(4, 1)));
		Inactive::mutate(|inactive| inactive.insert(OTHER));
		assert_noop!(attest(OTHER, ALL), Error::<Test>::NotProvider);
		assert_noop!(Dataset::attest(RuntimeOrigin::none(), 0, ALL), DispatchError::BadOrigin);
	});
}

#[test]
fn attesting_again_renews_and_widens_the_range_for_the_same_deposit() {
	build_and_execute(|| {
		propose_real();
		assert_ok!(attest(HOLDER, range(1, 2)));
		pass(7);
		assert_ok!(attest(HOLDER, range(0, 4)));
		let expected = AttestationView { shards: range(0, 4), expires_at: 8 + PERIOD, challenges: 0 };
		assert_eq!(Pallet::<Test>::attestation(0, HOLDER), Some(expected));
		assert_eq!((held(HoldReason::Attestation, &HOLDER), open_claims(&HOLDER)), (ATTESTATION_DEPOSIT, 1));
	});
}

#[test]
fn a_range_is_not_narrowed_or_moved_before_it_has_expired() {
	build_and_execute(|| {
		propose_real();
		assert_ok!(attest(HOLDER, range(1, 3)));
		for other in [range(1, 2), range(2, 2), range(0, 3), range(2, 3), range(4, 1)] {
			assert_noop!(attest(HOLDER, other), Error::<Test>::Narrower);
		}
		assert_ok!(withdraw(HOLDER, HOLDER));
		pass(ANSWER_TIME - 1);
		assert_noop!(attest(HOLDER, range(1, 2)), Error::<Test>::Narrower);
		pass(1);
		assert_ok!(attest(HOLDER, range(1, 2)));
		let expected = AttestationView { shards: range(1, 2), expires_at: System::block_number() + PERIOD, challenges: 0 };
		assert_eq!(Pallet::<Test>::attestation(0, HOLDER), Some(expected));
	});
}

#[test]
fn who_sees_a_challenge_coming_does_not_escape_it_by_withdrawing() {
	build_and_execute(|| {
		attested();
		// Sent before the challenge, and in a block before it.
		assert_ok!(withdraw(HOLDER, HOLDER));
		assert_noop!(withdraw(HOLDER, HOLDER), Error::<Test>::StillAttested);
		assert_noop!(withdraw(BOB, HOLDER), Error::<Test>::NotAttester);
		pass(ANSWER_TIME - 1);
		assert_eq!(Pallet::<Test>::holders(0, 2), [HOLDER]);
		assert_ok!(challenge(BOB, HOLDER));
		pass(1);
		assert_noop!(withdraw(HOLDER, HOLDER), Error::<Test>::OpenChallenges);
		assert_noop!(attest(HOLDER, range(3, 1)), Error::<Test>::OpenChallenges);
		pass(ANSWER_TIME);
		assert_ok!(conclude(BOB, HOLDER, BOB));
		assert_eq!(Balances::balance(&stake_of(&HOLDER)), STAKE - PENALTY);
	});
}

#[test]
fn a_withdrawal_is_not_kept_up_by_challenges_nor_does_it_prolong_anything() {
	build_and_execute(|| {
		attested();
		assert_ok!(challenge(BOB, HOLDER));
		assert_ok!(withdraw(HOLDER, HOLDER));
		assert_ok!(answer(HOLDER, BOB, opening_of(PLACE)));
		pass(ANSWER_TIME);
		assert_noop!(challenge(ALICE, HOLDER), Error::<Test>::NotAttested);
		assert_ok!(withdraw(HOLDER, HOLDER));

		// What expires sooner than a withdrawal would let it is not withdrawn.
		assert_ok!(attest(HOLDER, ALL));
		pass(PERIOD - ANSWER_TIME);
		assert_noop!(withdraw(HOLDER, HOLDER), Error::<Test>::StillAttested);
	});
}

#[test]
fn attesting_again_takes_a_withdrawal_back() {
	build_and_execute(|| {
		attested();
		assert_ok!(withdraw(HOLDER, HOLDER));
		assert_ok!(attest(HOLDER, ALL));
		pass(ANSWER_TIME);
		assert_noop!(withdraw(BOB, HOLDER), Error::<Test>::NotAttester);
		assert_eq!(Pallet::<Test>::attestation(0, HOLDER).map(|attestation| attestation.expires_at), Some(1 + PERIOD));
	});
}

#[test]
fn the_stake_answers_for_each_attestation() {
	build_and_execute(|| {
		for _ in 0..4 {
			propose(ALICE);
		}
		let attest = |id| Dataset::attest(signed(HOLDER), id, ALL);
		let stake = |amount| Balances::set_balance(&stake_of(&HOLDER), amount);
		stake(PENALTY - 1);
		assert_noop!(attest(0), Error::<Test>::StakeTooSmall);
		stake(3 * PENALTY - 1);
		assert_ok!(attest(0));
		assert_ok!(attest(1));
		assert_noop!(attest(2), Error::<Test>::StakeTooSmall);
		// A renewal is no further one.
		assert_ok!(attest(1));
		stake(3 * PENALTY);
		assert_ok!(attest(2));
		assert_noop!(attest(3), Error::<Test>::StakeTooSmall);
		// Who lost a part of its stake renews nothing before it has as much again, or less to answer for.
		stake(3 * PENALTY - 1);
		assert_noop!(attest(2), Error::<Test>::StakeTooSmall);
		assert_ok!(Dataset::withdraw_attestation(signed(HOLDER), 0, HOLDER));
		pass(ANSWER_TIME);
		assert_ok!(Dataset::withdraw_attestation(signed(HOLDER), 0, HOLDER));
		assert_ok!(attest(2));
		assert_eq!(AttestedBy::<Test>::get(HOLDER).into_inner(), [1, 2]);
	});
}

#[test]
fn what_an_account_attests_is_bounded_and_listed_with_what_it_is_asked_for() {
	build_and_execute(|| {
		assert_eq!(Pallet::<Test>::attestations_of(HOLDER), []);
		propose_real();
		(0..MAX_ATTESTED).for_each(|_| propose(BOB));
		Balances::set_balance(&stake_of(&HOLDER), FUNDS);
		let attest = |id| Dataset::attest(signed(HOLDER), id, range(2, 1));
		assert_ok!(attest(1));
		pass(1);
		assert_ok!(attest(0));
		assert_ok!(challenge(BOB, HOLDER));
		pass(1);
		assert_ok!(challenge(ALICE, HOLDER));
		let asked = |challenger, deadline| ChallengeView { challenger, place: PLACE, deadline };
		let holding = |dataset, expires_at, challenges| HoldingView { dataset, shards: range(2, 1), expires_at, challenges };
		let challenges = vec![asked(BOB, 2 + ANSWER_TIME), asked(ALICE, 3 + ANSWER_TIME)];
		let expected = [holding(1, 1 + PERIOD, vec![]), holding(0, 2 + PERIOD, challenges)];
		assert_eq!(Pallet::<Test>::attestations_of(HOLDER), expected);

		for id in 2..MAX_ATTESTED {
			assert_ok!(attest(id));
		}
		assert_noop!(attest(MAX_ATTESTED), Error::<Test>::TooManyAttested);
		assert_ok!(attest(7));
		assert_eq!(Pallet::<Test>::attestations_of(HOLDER).len(), 64);
	});
}

#[test]
fn what_was_asked_for_stays_attested_and_can_be_renewed() {
	build_and_execute(|| {
		attested();
		assert_ok!(challenge(ALICE, HOLDER));
		pass(2);
		assert_noop!(attest(HOLDER, range(3, 1)), Error::<Test>::Narrower);
		assert_ok!(attest(HOLDER, ALL));
		let expected = AttestationView { shards: ALL, expires_at: 3 + PERIOD, challenges: 1 };
		assert_eq!(Pallet::<Test>::attestation(0, HOLDER), Some(expected));
	});
}

#[test]
fn an_expired_attestation_counts_no_more_and_anybody_may_clear_it() {
	build_and_execute(|| {
		attested();
		pass(PERIOD - 1);
		assert_noop!(withdraw(BOB, HOLDER), Error::<Test>::NotAttester);
		assert_eq!(Pallet::<Test>::holders(0, 2), [HOLDER]);
		pass(1);
		assert_eq!(Pallet::<Test>::holders(0, 2), []);
		assert_noop!(challenge(ALICE, HOLDER), Error::<Test>::NotAttested);
		assert_ok!(withdraw(BOB, HOLDER));
		assert_eq!((Balances::balance(&HOLDER), open_claims(&HOLDER)), (FUNDS, 0));
	});
}

#[test]
fn attestations_of_a_dataset_are_bounded() {
	build_and_execute(|| {
		propose_real();
		for index in 0..MAX_ATTESTATIONS {
			assert_ok!(attest(many(index), ALL));
		}
		assert_noop!(attest(HOLDER, ALL), Error::<Test>::TooManyAttestations);
		// Those who are on the list may renew.
		assert_ok!(attest(many(3), ALL));
		assert_ok!(withdraw(many(0), many(0)));
		pass(ANSWER_TIME);
		assert_ok!(withdraw(BOB, many(0)));
		assert_ok!(attest(HOLDER, ALL));
	});
}

#[test]
fn an_answer_pays_the_attester_half_of_the_bond_and_burns_the_rest() {
	build_and_execute(|| {
		attested();
		assert_ok!(challenge(ALICE, HOLDER));
		assert_eq!(held(HoldReason::Challenge, &ALICE), BOND);
		let deadline = 1 + ANSWER_TIME;
		assert_eq!(events().last(), Some(&Event::Challenged { id: 0, who: HOLDER, challenger: ALICE, place: PLACE, deadline }));
		let asked = [ChallengeView { challenger: ALICE, place: PLACE, deadline }];
		assert_eq!(Pallet::<Test>::challenges_of(0, HOLDER), asked);

		let issuance = Balances::total_issuance();
		pass(ANSWER_TIME);
		assert_ok!(answer(HOLDER, ALICE, opening_of(PLACE)));
		// Of 2,001 planck 1,000 are paid.
		assert_eq!(Balances::balance(&HOLDER), FUNDS - ATTESTATION_DEPOSIT + 1_000);
		assert_eq!(Balances::total_balance(&ALICE), FUNDS - BOND);
		assert_eq!(issuance - Balances::total_issuance(), 1_001);
		assert_eq!(events().last(), Some(&Event::Answered { id: 0, who: HOLDER, challenger: ALICE, rewarded: 1_000, burned: 1_001 }));
		assert_eq!(Pallet::<Test>::attestation(0, HOLDER).map(|attestation| attestation.challenges), Some(0));
		assert_noop!(answer(HOLDER, ALICE, opening_of(PLACE)), Error::<Test>::NoChallenge);
		assert!(Punished::get().is_empty());
	});
}

#[test]
fn every_chunk_can_be_asked_for_and_opened() {
	build_and_execute(|| {
		attested();
		for shard in 0..5 {
			for chunk in 0..3 {
				let place = ChunkPlace { shard, chunk };
				assert_ok!(Dataset::challenge_shard(signed(BOB), 0, HOLDER, place));
				let another = ChunkPlace { shard, chunk: (chunk + 1) % 3 };
				assert_noop!(answer(HOLDER, BOB, opening_of(another)), Error::<Test>::WrongOpening);
				assert_ok!(answer(HOLDER, BOB, opening_of(place)));
			}
		}
	});
}

#[test]
fn a_wrong_answer_changes_nothing() {
	build_and_execute(|| {
		attested();
		assert_ok!(challenge(ALICE, HOLDER));
		let right = opening_of(PLACE);
		let mut flipped = right.clone();
		flipped.data[17] ^= 1;
		let mut short = right.clone();
		short.data.pop();
		let mut long = right.clone();
		long.in_shard.try_push(H256::zero()).unwrap();
		let mut other = right.clone();
		other.in_dataset[1] = H256::zero();
		let empty = ChunkOpening { data: Default::default(), in_shard: Default::default(), in_dataset: Default::default() };
		for wrong in [flipped, short, long, other, empty] {
			assert_noop!(answer(HOLDER, ALICE, wrong), Error::<Test>::WrongOpening);
		}
		// Nobody answers for another one.
		assert_noop!(answer(OTHER, ALICE, right.clone()), Error::<Test>::NoChallenge);
		assert_ok!(answer(HOLDER, ALICE, right));
	});
}

#[test]
fn an_answer_is_an_operational_call() {
	let call = crate::Call::<Test>::answer_challenge { id: 0, challenger: ALICE, opening: opening_of(PLACE) };
	assert_eq!(call.get_dispatch_info().class, DispatchClass::Operational);
}

#[test]
fn only_what_ends_a_challenge_in_time_is_admitted() {
	build_and_execute(|| {
		attested();
		assert_ok!(challenge(ALICE, HOLDER));
		let admit = |who, challenger, place| Dataset::admit(who, 0, challenger, &opening_of(place)).map(|challenge| challenge.place);
		assert_eq!(admit(&HOLDER, &ALICE, PLACE), Ok(PLACE));
		for (who, challenger) in [(&ALICE, &HOLDER), (&OTHER, &ALICE), (&HOLDER, &BOB)] {
			assert_eq!(admit(who, challenger, PLACE), Err(Refusal::NoChallenge));
		}
		assert_eq!(admit(&HOLDER, &ALICE, ChunkPlace { shard: 0, chunk: 0 }), Err(Refusal::WrongOpening));
		pass(ANSWER_TIME);
		assert_eq!(admit(&HOLDER, &ALICE, PLACE), Ok(PLACE));
		pass(1);
		assert_eq!(admit(&HOLDER, &ALICE, PLACE), Err(Refusal::TooLate));
	});
}

#[test]
fn silence_costs_a_part_of_the_stake_and_the_attestation() {
	build_and_execute(|| {
		attested();
		assert_ok!(challenge(BOB, HOLDER));
		assert_ok!(challenge(OTHER, HOLDER));
		let issuance = Balances::total_issuance();
		pass(ANSWER_TIME);
		assert_noop!(conclude(ALICE, HOLDER, BOB), Error::<Test>::StillTime);
		pass(1);
		assert_noop!(answer(HOLDER, BOB, opening_of(PLACE)), Error::<Test>::TooLate);
		assert_noop!(conclude(ALICE, HOLDER, ALICE), Error::<Test>::NoChallenge);
		assert_ok!(conclude(ALICE, HOLDER, BOB));

		// Of 10,001 planck 5,000 are paid to who asked; both bonds are back, and the deposit.
		assert_eq!(Balances::balance(&BOB), FUNDS + 5_000);
		assert_eq!((Balances::balance(&OTHER), Balances::balance(&HOLDER)), (FUNDS, FUNDS));
		assert_eq!(Balances::balance(&stake_of(&HOLDER)), STAKE - PENALTY);
		assert_eq!(issuance - Balances::total_issuance(), 5_001);
		assert_eq!(Punished::get(), [(HOLDER, Offence::InvalidProof)]);
		assert_eq!(open_claims(&HOLDER), 0);
		let told = events().split_off(events().len() - 3);
		let expected = [
			Event::Failed { id: 0, who: HOLDER, challenger: BOB, rewarded: 5_000, burned: 5_001 },
			Event::Moot { id: 0, who: HOLDER, challenger: OTHER },
			Event::AttestationEnded { id: 0, who: HOLDER },
		];
		assert_eq!(told, expected);
		assert_noop!(conclude(ALICE, HOLDER, OTHER), Error::<Test>::NoChallenge);
		assert_eq!((Attestations::<Test>::iter().count(), Challenges::<Test>::iter().count()), (0, 0));
	});
}

#[test]
fn who_has_less_at_stake_loses_all_of_it() {
	build_and_execute(|| {
		attested();
		Balances::set_balance(&stake_of(&HOLDER), 101);
		assert_ok!(challenge(BOB, HOLDER));
		pass(ANSWER_TIME + 1);
		assert_ok!(conclude(BOB, HOLDER, BOB));
		assert_eq!((Balances::balance(&BOB), Balances::balance(&stake_of(&HOLDER))), (FUNDS + 50, 0));
	});
}

#[test]
fn a_challenge_is_about_what_somebody_else_attests() {
	build_and_execute(|| {
		assert_noop!(challenge(ALICE, HOLDER), Error::<Test>::UnknownDataset);
		propose_real();
		assert_noop!(challenge(ALICE, HOLDER), Error::<Test>::NotAttested);
		assert_ok!(attest(HOLDER, range(3, 2)));
		assert_noop!(challenge(HOLDER, HOLDER), Error::<Test>::OwnAttestation);
		assert_noop!(challenge(ALICE, HOLDER), Error::<Test>::NotAttested);
		let ask = |who, shard, chunk| Dataset::challenge_shard(signed(who), 0, HOLDER, ChunkPlace { shard, chunk });
		assert_noop!(ask(ALICE, 5, 0), Error::<Test>::NotAttested);
		assert_noop!(ask(ALICE, 4, 3), Error::<Test>::NoSuchChunk);
		assert_noop!(ask(NOBODY, 4, 2), TokenError::FundsUnavailable);
		assert_ok!(ask(ALICE, 4, 2));
		assert_noop!(ask(ALICE, 3, 0), Error::<Test>::AlreadyChallenged);
	});
}

#[test]
fn an_accomplice_who_asks_first_keeps_nobody_else_from_asking_until_the_limit() {
	build_and_execute(|| {
		attested();
		for index in 0..MAX_CHALLENGES {
			assert_ok!(challenge(many(index), HOLDER));
		}
		assert_noop!(challenge(ALICE, HOLDER), Error::<Test>::TooManyChallenges);
		assert_ok!(answer(HOLDER, many(0), opening_of(PLACE)));
		assert_ok!(challenge(ALICE, HOLDER));
	});
}

#[test]
fn a_challenge_outlives_the_attestation_it_is_about() {
	build_and_execute(|| {
		attested();
		pass(PERIOD - 1);
		assert_ok!(challenge(ALICE, HOLDER));
		pass(1);
		assert_noop!(withdraw(BOB, HOLDER), Error::<Test>::OpenChallenges);
		assert_ok!(answer(HOLDER, ALICE, opening_of(PLACE)));
		assert_ok!(withdraw(BOB, HOLDER));
	});
}

#[test]
fn who_sees_a_challenge_coming_does_not_escape_it_by_the_dataset_s_end() {
	build_and_execute(|| {
		attested();
		assert_ok!(Dataset::retire(signed(ALICE), 0));
		pass(ANSWER_TIME - 1);
		assert_ok!(challenge(BOB, HOLDER));
		assert_ok!(challenge(OTHER, HOLDER));
		pass(1);
		assert_noop!(challenge(ALICE, HOLDER), Error::<Test>::DatasetLeaves);
		assert_ok!(answer(HOLDER, OTHER, opening_of(PLACE)));
		remove(0);
		// The dataset is gone, and what was missed costs as much as if it were not.
		assert_noop!(withdraw(HOLDER, HOLDER), Error::<Test>::OpenChallenges);
		assert_ok!(conclude(ALICE, HOLDER, BOB));
		assert_eq!((Balances::balance(&BOB), Balances::balance(&stake_of(&HOLDER))), (FUNDS + 5_000, STAKE - PENALTY));
	});
}

#[test]
fn what_was_attested_of_a_dataset_that_is_gone_is_cleared_by_anybody() {
	build_and_execute(|| {
		attested();
		assert_ok!(Dataset::retire(signed(ALICE), 0));
		remove(0);
		let gone = HoldingView { dataset: 0, shards: ALL, expires_at: 1 + PERIOD, challenges: vec![] };
		assert_eq!(Pallet::<Test>::attestations_of(HOLDER), [gone]);
		assert_ok!(withdraw(BOB, HOLDER));
		assert_eq!((Balances::balance(&HOLDER), Balances::balance(&ALICE), open_claims(&HOLDER)), (FUNDS, FUNDS, 0));
		assert_noop!(attest(HOLDER, ALL), Error::<Test>::UnknownDataset);
	});
}

#[test]
fn a_retired_dataset_that_is_used_is_still_attested_and_challenged() {
	build_and_execute(|| {
		propose_real();
		assert_ok!(Dataset::activate(signed(ALICE), 0));
		assert_ok!(Dataset::acquire(0));
		assert_ok!(Dataset::retire(signed(ALICE), 0));
		assert_ok!(attest(HOLDER, ALL));
		assert_ok!(challenge(BOB, HOLDER));
		assert_ok!(answer(HOLDER, BOB, opening_of(PLACE)));
	});
}

#[test]
fn coverage_is_counted_shard_by_shard_for_active_providers() {
	build_and_execute(|| {
		assert_eq!(Pallet::<Test>::coverage(0), []);
		propose_real();
		let of = |first, count, holders| Coverage { shards: range(first, count), holders };
		assert_eq!(Pallet::<Test>::coverage(0), [of(0, 5, 0)]);
		assert_ok!(attest(HOLDER, range(1, 3)));
		assert_eq!(Pallet::<Test>::coverage(0), [of(0, 1, 0), of(1, 3, 1), of(4, 1, 0)]);
		assert_ok!(attest(OTHER, range(3, 2)));
		assert_eq!(Pallet::<Test>::coverage(0), [of(0, 1, 0), of(1, 2, 1), of(3, 1, 2), of(4, 1, 1)]);
		// Where one ends and another begins the number stays the same.
		assert_ok!(withdraw(OTHER, OTHER));
		pass(ANSWER_TIME);
		assert_ok!(attest(OTHER, range(4, 1)));
		assert_eq!(Pallet::<Test>::coverage(0), [of(0, 1, 0), of(1, 4, 1)]);
		assert_eq!((Pallet::<Test>::holders(0, 3), Pallet::<Test>::holders(0, 4)), (vec![HOLDER], vec![OTHER]));
		Inactive::mutate(|inactive| inactive.insert(HOLDER));
		assert_eq!(Pallet::<Test>::coverage(0), [of(0, 4, 0), of(4, 1, 1)]);
		assert_eq!(Pallet::<Test>::holders(0, 3), []);
	});
}

#[test]
fn the_terms_are_those_of_the_runtime_and_of_genesis() {
	build_and_execute(|| {
		let terms =
			AttestationTerms { deposit: ATTESTATION_DEPOSIT, period: PERIOD, bond: BOND, answer_time: ANSWER_TIME, penalty: PENALTY };
		assert_eq!(Pallet::<Test>::attestation_terms(), terms);
	});
}
