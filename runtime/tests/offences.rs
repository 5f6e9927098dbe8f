//! Reports of equivocation, from what a node has noticed to what the offender has lost.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use codec::{Decode, Encode};
use frame_support::{
	assert_ok,
	storage::with_transaction,
	traits::{Contains, KeyOwnerProofSystem, OnFinalize, OnInitialize},
};
use neuroshard_runtime::{
	invariants,
	offences::{KeyOwners, KeyOwnership, NoSignedReports},
	AccountId, AllPalletsWithSystem, Executive, Hash, Header, Runtime, RuntimeCall, RuntimeGenesisConfig, RuntimeOrigin, Session,
	SessionKeys, System, Timestamp, UncheckedExtrinsic, Validators, BLOCK_TIME_MS, NEURO,
};
use pallet_grandpa::SetIdSession;
use pallet_neuro_validators::Candidates;
use sp_consensus_babe::{
	digests::{CompatibleDigestItem, PreDigest, SecondaryPlainPreDigest},
	AuthorityId, EquivocationProof,
};
use sp_consensus_grandpa::{AuthorityPair as GrandpaPair, Equivocation, Message, Prevote};
use sp_core::{ed25519, sr25519, Pair};
use sp_keyring::Sr25519Keyring::{self, Alice, Bob, Charlie, Dave};
use sp_runtime::{
	traits::{Dispatchable, Header as _},
	transaction_validity::{InvalidTransaction, TransactionSource, TransactionValidityError},
	ApplyExtrinsicResult, BuildStorage, Digest, DigestItem, DispatchError, Perbill, TransactionOutcome,
};
use sp_staking::offence::Offence;

/// Slot of the first block.
const FIRST_SLOT: u64 = 600_000_000;
/// Slots of an epoch.
const EPOCH: u64 = 4;
/// Bond of everybody.
const BOND: u128 = 10_000 * NEURO;
const VALIDATORS: [Sr25519Keyring; 4] = [Alice, Bob, Charlie, Dave];

/// A chain of four validators at its first block.
fn execute(test: impl FnOnce()) {
	let mut genesis = RuntimeGenesisConfig::default();
	genesis.parameters.epoch_length = EPOCH;
	genesis.parameters.report_epochs = 3;
	genesis.balances.balances = VALIDATORS.map(|key| (account(key), 100_000 * NEURO)).to_vec();
	genesis.validators.candidates = VALIDATORS.map(|key| (account(key), BOND)).to_vec();
	genesis.validators.cooldown = 100;
	genesis.validators.bar_period = 200;
	genesis.session.keys = VALIDATORS.map(|key| (account(key), account(key), session_keys(key))).to_vec();
	let storage = genesis.build_storage().expect("a genesis");
	sp_io::TestExternalities::new(storage).execute_with(|| {
		block();
		test();
		assert_eq!(invariants::broken(), None);
	});
}

fn account(key: Sr25519Keyring) -> AccountId {
	key.to_account_id()
}

fn babe(key: Sr25519Keyring) -> sp_consensus_babe::AuthorityPair {
	sr25519::Pair::from_string(&key.to_seed(), None).expect("a well-known key").into()
}

fn grandpa(key: Sr25519Keyring) -> GrandpaPair {
	ed25519::Pair::from_string(&key.to_seed(), None).expect("a well-known key").into()
}

fn session_keys(key: Sr25519Keyring) -> SessionKeys {
	SessionKeys { babe: babe(key).public(), grandpa: grandpa(key).public() }
}

/// A claim of the author at a place in the running set.
fn claim(place: u32, slot: u64) -> DigestItem {
	DigestItem::babe_pre_digest(PreDigest::SecondaryPlain(SecondaryPlainPreDigest { authority_index: place, slot: slot.into() }))
}

fn slot() -> u64 {
	FIRST_SLOT + u64::from(System::block_number())
}

/// Ends the running block, if there is one, and begins the next, of Alice.
fn block() {
	let number = System::block_number() + 1;
	if number > 1 {
		AllPalletsWithSystem::on_finalize(number - 1);
	}
	System::initialize(&number, &System::parent_hash(), &Digest { logs: vec![claim(place(Alice), FIRST_SLOT + u64::from(number))] });
	AllPalletsWithSystem::on_initialize(number);
	Timestamp::set(RuntimeOrigin::none(), slot() * BLOCK_TIME_MS).expect("the time of the slot");
}

/// Goes on until session `index` runs.
fn session(index: u32) {
	while Session::current_index() < index {
		block();
	}
}

fn place(key: Sr25519Keyring) -> u32 {
	let validators = Session::validators();
	let place = validators.iter().position(|who| *who == account(key)).unwrap_or_default();
	place.try_into().expect("few validators")
}

/// A header of block 9 for this slot, sealed by the author.
fn header(author: Sr25519Keyring, slot: u64, state: u8) -> Header {
	let digest = Digest { logs: vec![claim(0, slot)] };
	let mut header = Header::new(9, Hash::zero(), Hash::repeat_byte(state), Hash::zero(), digest);
	let seal = babe(author).sign(header.hash().as_ref());
	header.digest_mut().push(DigestItem::babe_seal(seal));
	header
}

/// Two blocks of an author for one slot.
fn two_blocks(author: Sr25519Keyring, slot: u64) -> EquivocationProof<Header> {
	EquivocationProof {
		offender: babe(author).public(),
		slot: slot.into(),
		first_header: header(author, slot, 1),
		second_header: header(author, slot, 2),
	}
}

/// Two votes of a voter in one round of the running set.
fn two_votes(voter: Sr25519Keyring, round: u64) -> sp_consensus_grandpa::EquivocationProof<Hash, u32> {
	let set = pallet_grandpa::CurrentSetId::<Runtime>::get();
	sp_consensus_grandpa::EquivocationProof::new(set, two_votes_in(set, voter, round))
}

/// Two votes of a voter in one round of this set.
fn two_votes_in(set: u64, voter: Sr25519Keyring, round: u64) -> Equivocation<Hash, u32> {
	let vote = |target: u8| {
		let prevote = Prevote::<Header> { target_hash: Hash::repeat_byte(target), target_number: 3 };
		let payload = sp_consensus_grandpa::localized_payload(round, set, &Message::<Header>::Prevote(prevote.clone()));
		(prevote, grandpa(voter).sign(&payload))
	};
	// What the runtime knows no name for: two prevotes, as they travel.
	let bytes = (0u8, round, grandpa(voter).public(), vote(1), vote(2)).encode();
	Equivocation::decode(&mut &bytes[..]).expect("two prevotes")
}

fn owner(author: Sr25519Keyring) -> KeyOwnership {
	KeyOwners::prove((sp_consensus_babe::KEY_TYPE, babe(author).public())).expect("a validator")
}

fn report(proof: EquivocationProof<Header>, key_owner_proof: KeyOwnership) -> RuntimeCall {
	pallet_babe::Call::report_equivocation_unsigned { equivocation_proof: Box::new(proof), key_owner_proof }.into()
}

fn report_votes(proof: sp_consensus_grandpa::EquivocationProof<Hash, u32>, session: u32) -> RuntimeCall {
	let key_owner_proof = KeyOwnership { session, validators: 4 };
	pallet_grandpa::Call::report_equivocation_unsigned { equivocation_proof: Box::new(proof), key_owner_proof }.into()
}

/// Returns the answer of the reporting node's pool.
fn pooled(call: &RuntimeCall) -> Result<(), TransactionValidityError> {
	let extrinsic = UncheckedExtrinsic::new_bare(call.clone());
	let validate = || Executive::validate_transaction(TransactionSource::Local, extrinsic, Hash::zero());
	let answer = with_transaction(|| TransactionOutcome::Rollback(Ok::<_, DispatchError>(validate())));
	answer.expect("an answer").map(|_| ())
}

/// Returns the result in a block of an author that has it in its pool.
fn included(call: &RuntimeCall) -> ApplyExtrinsicResult {
	assert_ok!(pooled(call));
	Executive::apply_extrinsic(UncheckedExtrinsic::new_bare(call.clone()))
}

fn bond(key: Sr25519Keyring) -> u128 {
	Candidates::<Runtime>::get(account(key)).map_or(0, |candidate| candidate.own.stake.active)
}

#[test]
fn who_makes_two_blocks_for_one_slot_is_slashed_disabled_barred_and_leaves_the_set() {
	execute(|| {
		assert_eq!(included(&report(two_blocks(Dave, slot()), owner(Dave))), Ok(Ok(())));
		// One of four: (3/4)^2.
		assert_eq!(bond(Dave), BOND * 7 / 16);
		assert_eq!(Session::disabled_validators(), vec![place(Dave)]);
		assert_eq!(Validators::barred_until(account(Dave)), Some(1 + 200));
		session(2);
		assert!(!Session::validators().contains(&account(Dave)));
	});
}

#[test]
fn two_of_four_at_one_moment_lose_everything() {
	execute(|| {
		for (offender, left) in [(Dave, BOND * 7 / 16), (Charlie, 0)] {
			assert_eq!(included(&report(two_blocks(offender, slot()), owner(offender))), Ok(Ok(())));
			assert_eq!(bond(offender), left);
		}
		// Who was reported first loses what the second offence adds.
		assert_eq!([Alice, Bob, Dave].map(bond), [BOND, BOND, 0]);
		// Of four, one is disabled at most: the others are needed for finality.
		assert_eq!(Session::disabled_validators().len(), 1);
	});
}

#[test]
fn the_fraction_that_an_equivocation_costs_equals_an_independent_table() {
	// Offenders, validators: billionths, by Python's fractions. The share of three times as many is rounded down, and so is its square.
	let table = [
		(0, 4, 0),
		(1, 1, 1_000_000_000),
		(1, 2, 1_000_000_000),
		(1, 3, 1_000_000_000),
		(1, 4, 562_500_000),
		(2, 4, 1_000_000_000),
		(4, 4, 1_000_000_000),
		(1, 5, 360_000_000),
		(1, 7, 183_673_468),
		(2, 7, 734_693_877),
		(3, 7, 1_000_000_000),
		(1, 10, 90_000_000),
		(3, 10, 810_000_000),
		(4, 10, 1_000_000_000),
		(1, 21, 20_408_163),
		(2, 21, 81_632_652),
		(6, 21, 734_693_877),
		(7, 21, 1_000_000_000),
		(8, 21, 1_000_000_000),
		(1, 100, 900_000),
		(2, 100, 3_600_000),
		(10, 100, 90_000_000),
		(32, 100, 921_600_000),
		(33, 100, 980_100_000),
		(34, 100, 1_000_000_000),
		(100, 100, 1_000_000_000),
	];
	for (offenders, validator_set_count, billionths) in table {
		let (session_index, offender) = (0, account(Dave));
		let slot = FIRST_SLOT.into();
		let block = pallet_babe::EquivocationOffence { slot, session_index, validator_set_count, offender: offender.clone() };
		let time_slot = pallet_grandpa::TimeSlot { set_id: 0, round: 1 };
		let vote = pallet_grandpa::EquivocationOffence { time_slot, session_index, validator_set_count, offender };
		let fractions = [block.slash_fraction(offenders), vote.slash_fraction(offenders)];
		assert_eq!(fractions, [Perbill::from_parts(billionths); 2], "{offenders} of {validator_set_count}");
		// Of a stake, which is rounded down as well.
		assert_eq!(fractions.map(|fraction| fraction.mul_floor(1_000_000_000u128)), [u128::from(billionths); 2]);
		assert_eq!(fractions.map(|fraction| fraction.mul_floor(1u128)), [u128::from(billionths == 1_000_000_000); 2]);
	}
	assert_eq!(table.iter().map(|row| row.1).max(), Some(neuroshard_runtime::MAX_AUTHORITIES));
}

#[test]
fn what_was_reported_is_not_taken_again() {
	execute(|| {
		let call = report(two_blocks(Dave, slot()), owner(Dave));
		assert_eq!(included(&call), Ok(Ok(())));
		assert_eq!(pooled(&call), Err(InvalidTransaction::Stale.into()));
	});
}

/// As a block import sees them before it has put the seals back.
#[test]
fn headers_without_seals_are_not_taken_into_a_pool() {
	execute(|| {
		let mut proof = two_blocks(Dave, slot());
		proof.first_header.digest_mut().pop();
		proof.second_header.digest_mut().pop();
		assert_eq!(pooled(&report(proof, owner(Dave))), Err(InvalidTransaction::BadProof.into()));
	});
}

#[test]
fn votes_of_another_set_than_they_were_signed_for_are_not_taken_into_a_pool() {
	execute(|| {
		let moved = sp_consensus_grandpa::EquivocationProof::new(0, two_votes_in(1, Dave, 5));
		assert_ok!(pooled(&report_votes(two_votes(Dave, 5), 0)));
		assert_eq!(pooled(&report_votes(moved, 0)), Err(InvalidTransaction::BadProof.into()));
	});
}

#[test]
fn an_ownership_of_another_session_or_among_more_validators_is_refused() {
	execute(|| {
		for wrong in [KeyOwnership { session: 0, validators: 5 }, KeyOwnership { session: 9, validators: 4 }] {
			assert_eq!(pooled(&report(two_blocks(Dave, slot()), wrong)), Err(InvalidTransaction::BadProof.into()));
		}
		assert_eq!(owner(Dave), KeyOwnership { session: 0, validators: 4 });
		assert!(KeyOwners::prove((sp_consensus_babe::KEY_TYPE, AuthorityId::from(sr25519::Public::from_raw([7; 32])))).is_none());
	});
}

#[test]
fn a_report_that_names_another_session_than_that_of_the_slot_or_the_set_is_not_taken_into_a_pool() {
	execute(|| {
		session(1);
		let slot = slot();
		session(3);
		let named = |session| report(two_blocks(Dave, slot), KeyOwnership { session, validators: 4 });
		for wrong in [0, 2, 3] {
			assert_eq!(pooled(&named(wrong)), Err(InvalidTransaction::BadProof.into()), "{wrong}");
		}
		assert_eq!(included(&named(1)), Ok(Ok(())));
		assert_ok!(Session::purge_keys(RuntimeOrigin::signed(account(Charlie))));
		session(5);
		// The set of the sessions from 0 to 4 is the first, and Dave and Charlie are in the second one no more.
		assert_eq!((pallet_grandpa::CurrentSetId::<Runtime>::get(), SetIdSession::<Runtime>::get(0)), (1, Some(4)));
		let votes = |set, voter, session, validators| -> RuntimeCall {
			let equivocation_proof = Box::new(sp_consensus_grandpa::EquivocationProof::new(set, two_votes_in(set, voter, 5)));
			let key_owner_proof = KeyOwnership { session, validators };
			pallet_grandpa::Call::report_equivocation_unsigned { equivocation_proof, key_owner_proof }.into()
		};
		assert_eq!(pooled(&votes(0, Alice, 5, 2)), Err(InvalidTransaction::BadProof.into()), "the set is over");
		assert_eq!(pooled(&votes(1, Alice, 4, 4)), Err(InvalidTransaction::BadProof.into()), "the set is not there yet");
		assert_ok!(pooled(&votes(1, Alice, 5, 2)));
		assert_eq!(included(&votes(0, Charlie, 3, 4)), Ok(Ok(())));
	});
}

#[test]
fn who_had_a_key_is_known_by_slot_and_set_also_when_another_session_runs() {
	execute(|| {
		let (slot, key) = (slot(), babe(Dave).public());
		assert_ok!(Session::purge_keys(RuntimeOrigin::signed(account(Dave))));
		session(3);
		let in_session = |session| Some(KeyOwnership { session, validators: 4 });
		assert_eq!(KeyOwners::at_slot(slot.into(), key.as_ref()), in_session(0));
		assert_eq!(KeyOwners::at_slot(self::slot().into(), key.as_ref()), None, "it is not in the set any more");
		assert_eq!(KeyOwners::at_slot((slot + 100 * EPOCH).into(), key.as_ref()), None, "nothing is planned");
		assert_eq!(KeyOwners::in_set(0, grandpa(Dave).public().as_ref()), in_session(1));
		assert_eq!(KeyOwners::in_set(9, grandpa(Dave).public().as_ref()), None);
	});
}

#[test]
fn slots_belong_to_sessions_also_after_epochs_without_a_block() {
	execute(|| {
		// As BABE notes it when epochs 1 to 6 pass without a block: session 1 is epoch 7.
		let noted = vec![(7, 1)].try_into().expect("room for one");
		pallet_babe::SkippedEpochs::<Runtime>::put::<sp_runtime::BoundedVec<(u64, u32), _>>(noted);
		let key = babe(Dave).public();
		let session_of = |epoch: u64| KeyOwners::at_slot((FIRST_SLOT + 1 + epoch * EPOCH).into(), key.as_ref()).map(|owner| owner.session);
		assert_eq!([0, 7, 8].map(session_of), [Some(0), Some(1), None], "session 2 is not planned yet");
	});
}

#[test]
fn who_purges_its_keys_before_it_equivocates_with_them_is_slashed() {
	execute(|| {
		assert_ok!(Session::purge_keys(RuntimeOrigin::signed(account(Dave))));
		block();
		assert_eq!(included(&report(two_blocks(Dave, slot()), owner(Dave))), Ok(Ok(())));
		assert_eq!(bond(Dave), BOND * 7 / 16);
	});
}

#[test]
fn who_purges_its_keys_is_slashed_for_a_session_that_is_over() {
	execute(|| {
		let (proof, owner) = (two_blocks(Dave, slot()), owner(Dave));
		assert_ok!(Session::purge_keys(RuntimeOrigin::signed(account(Dave))));
		session(3);
		assert!(!Session::validators().contains(&account(Dave)));
		assert_eq!(included(&report(proof.clone(), owner)), Ok(Ok(())));
		assert_eq!(bond(Dave), BOND * 7 / 16);
	});
}

#[test]
fn nothing_is_reported_about_sessions_that_are_over_for_too_long() {
	execute(|| {
		let call = report(two_blocks(Dave, slot()), owner(Dave));
		session(3);
		assert_ok!(pooled(&call));
		session(4);
		assert_eq!(pooled(&call), Err(InvalidTransaction::BadProof.into()));
	});
}

#[test]
fn votes_in_rounds_of_a_set_that_lasts_cost_once() {
	execute(|| {
		session(3);
		for (round, session) in [(5, 1), (6, 2), (7, 3)] {
			assert_eq!(included(&report_votes(two_votes(Dave, round), session)), Ok(Ok(())));
			assert_eq!(bond(Dave), BOND * 7 / 16);
		}
	});
}

#[test]
fn signed_reports_are_refused_and_unsigned_ones_are_not() {
	execute(|| {
		let (proof, key_owner_proof) = (two_blocks(Dave, slot()), owner(Dave));
		let signed: [RuntimeCall; 2] = [
			pallet_babe::Call::report_equivocation { equivocation_proof: Box::new(proof.clone()), key_owner_proof }.into(),
			pallet_grandpa::Call::report_equivocation { equivocation_proof: Box::new(two_votes(Dave, 5)), key_owner_proof }.into(),
		];
		for call in signed {
			assert!(!<<Runtime as frame_system::Config>::BaseCallFilter as Contains<RuntimeCall>>::contains(&call));
			let refused = call.dispatch(RuntimeOrigin::signed(account(Alice))).expect_err("a signed report");
			assert_eq!(refused.error, frame_system::Error::<Runtime>::CallFiltered.into());
		}
		assert!(NoSignedReports::contains(&report(proof, key_owner_proof)));
		assert!(NoSignedReports::contains(&report_votes(two_votes(Dave, 5), 0)));
	});
}
