//! The transaction extension: who gets a move into a block.

use super::*;
use crate::{turn::is_first, Call, CheckTurn, Missed, Refusal, Share};
use frame_support::{
	dispatch::{DispatchClass, DispatchInfo, GetDispatchInfo},
	traits::{Hooks, UnfilteredDispatchable},
	weights::Weight,
	BoundedVec,
};
use sp_runtime::{
	traits::DispatchTransaction,
	transaction_validity::{InvalidTransaction, TransactionSource::External, TransactionValidityError},
};

fn valid(origin: RuntimeOrigin, call: &RuntimeCall) -> Result<(), TransactionValidityError> {
	CheckTurn::<Test>::default().validate_only(origin, call, &DispatchInfo::default(), 0, External, 0).map(|_| ())
}

fn refused(refusal: Refusal) -> Result<(), TransactionValidityError> {
	Err(InvalidTransaction::Custom(refusal.code()).into())
}

fn call(claim: &ClaimId, challenger: &AccountId, action: Move) -> RuntimeCall {
	call_at(stands(claim, challenger), claim, challenger, action)
}

fn call_at(position: H256, claim: &ClaimId, challenger: &AccountId, action: Move) -> RuntimeCall {
	Call::play { claim: claim.clone(), challenger: challenger.clone(), position, action }.into()
}

/// A game about false work that waits for the defender.
fn opened() -> (ClaimId, Match) {
	let (claim, work, doubt) = false_work();
	assert_ok!(challenge(&ALICE, &claim, &work, doubt));
	(claim.clone(), Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker()))
}

#[test]
fn a_move_is_valid_from_the_account_whose_turn_it_is_only() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		for turn in [LIAR, ALICE, LIAR] {
			let (who, action) = game.next().expect("a move");
			assert_eq!(who, turn);
			let call = call(&claim, &ALICE, action);
			for other in [ALICE, LIAR, BOB, NOBODY] {
				let expected = if other == who { Ok(()) } else { refused(Refusal::NotYourTurn) };
				assert_eq!(valid(signed(&other), &call), expected);
			}
			assert_eq!(valid(RuntimeOrigin::none(), &call), Err(InvalidTransaction::BadSigner.into()));
			assert!(game.step());
		}
	});
}

#[test]
fn a_move_without_a_game_or_too_late_or_too_long_is_invalid() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let (_, action) = game.next().expect("a move");
		let long = Move::Steps(vec![[0; 32]; neuroshard_graph::game::MAX_LIST as usize + 1]);
		assert_eq!(valid(signed(&LIAR), &call(&claim, &ALICE, long)), refused(Refusal::TooLong));
		assert_eq!(valid(signed(&LIAR), &call(&claim, &BOB, action.clone())), refused(Refusal::NoGame));
		System::set_block_number(1 + CLOCK + EXTENSION + 1);
		assert_eq!(valid(signed(&LIAR), &call(&claim, &ALICE, action.clone())), refused(Refusal::TooLate));
		System::set_block_number(1);
		crate::Fallen::<Test>::insert(&claim, ());
		assert_eq!(valid(signed(&LIAR), &call(&claim, &ALICE, action)), refused(Refusal::ClaimFell));
		crate::Fallen::<Test>::remove(&claim);
	});
}

#[test]
fn a_move_for_another_position_is_invalid() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let (_, action) = game.next().expect("a move");
		let opening = stands(&claim, &ALICE);
		assert_eq!(valid(signed(&LIAR), &call_at(opening, &claim, &ALICE, action.clone())), Ok(()));
		for other in [H256::zero(), H256::repeat_byte(1)] {
			assert_eq!(valid(signed(&LIAR), &call_at(other, &claim, &ALICE, action.clone())), refused(Refusal::OtherPosition));
		}
		// The defender's next turn: what it said in the turn before is no answer to it.
		assert!(game.step() && game.step());
		assert_eq!(valid(signed(&LIAR), &call_at(opening, &claim, &ALICE, action)), refused(Refusal::OtherPosition));
	});
}

#[test]
fn a_challenge_that_another_call_carries_is_invalid() {
	build_and_execute(|| {
		let (_, work, doubt) = false_work();
		let opening = RuntimeCall::from(Call::<Test>::challenge_work { run: 0, round: 0, who: LIAR, work, doubt });
		assert_eq!(valid(signed(&ALICE), &opening), Ok(()));
		let carried = RuntimeCall::from(pallet_utility::Call::batch { calls: vec![opening] });
		assert_eq!(valid(signed(&ALICE), &carried), refused(Refusal::Carried));
	});
}

#[test]
fn a_move_that_another_call_carries_is_invalid_however_deep() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let (who, action) = game.next().expect("a move");
		let batch = |calls| RuntimeCall::from(pallet_utility::Call::batch { calls });
		let remark = || RuntimeCall::from(frame_system::Call::remark { remark: vec![] });
		assert_eq!(valid(signed(&who), &batch(vec![remark(), batch(vec![remark()])])), Ok(()));
		let mut carried = batch(vec![remark(), call(&claim, &ALICE, action), remark()]);
		for _ in 0..100 {
			assert_eq!(valid(signed(&who), &carried), refused(Refusal::Carried));
			carried = batch(vec![remark(), carried]);
		}
	});
}

#[test]
fn moves_are_operational_and_weigh_what_they_ask_for() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		let opening = Call::<Test>::challenge_work { run: 0, round: 0, who: LIAR, work, doubt };
		assert_eq!(opening.get_dispatch_info().class, DispatchClass::Normal);
		let info =
			|action| Call::<Test>::play { claim: claim.clone(), challenger: ALICE, position: H256::zero(), action }.get_dispatch_info();
		let light = info(Move::Vector(0));
		let list = info(Move::Hashes(vec![[0; 32]; 16_384]));
		let piece = |len| info(Move::Piece { piece: 0, before: None, after: None, witness: vec![0; len] });
		let (piece, short) = (piece(262_144), piece(1));
		assert_eq!(light.class, DispatchClass::Operational);
		let [light, list, piece] = [light, list, piece].map(|info| info.call_weight.ref_time());
		// A mebibyte to hash.
		assert_eq!(list - light, 1_048_576 * 10_000);
		// One number for the whole verdict, of which the plan alone is the other moves' part, and what a decision costs.
		assert_eq!(piece, short.call_weight.ref_time());
		let verdict = <() as crate::WeightInfo>::verdict().ref_time();
		assert_eq!(verdict, 5_000_000_000);
		assert!(piece - light >= verdict - 2_000_000_000);
		assert!(piece < 60_000_000_000, "{piece}");
		// A choice is drawn from a row of logits of any length: 1.04 us for each of them. That of the largest vocabulary has room among a block's moves.
		let choice = |len| info(Move::Choice { index: 0, witness: vec![0; len] }).call_weight.ref_time();
		let (none, most) = (choice(0), choice(neuroshard_graph::witness::MAX_CHOICE));
		// A quorum of 32 can stand behind work, and none behind an answer: of each member its provider, load and proof are looked up, 0.92 ms.
		assert_eq!((none, most - none), (piece - 32 * 920_000_000, (1_048_576 + 65_536) * 260_000));
		assert!(most < 2_000_000_000_000 / 8 * 3, "{most}");
	});
}

/// Checks that a block takes this call, signed by `who`.
fn taken(who: &AccountId, call: &RuntimeCall) -> Result<(), TransactionValidityError> {
	taken_with(who, call, 0)
}

/// The same with an extrinsic of so many bytes.
fn taken_with(who: &AccountId, call: &RuntimeCall, bytes: usize) -> Result<(), TransactionValidityError> {
	CheckTurn::<Test>::default().validate_and_prepare(signed(who), call, &DispatchInfo::default(), bytes, 0).map(|_| ())
}

fn provides(who: &AccountId, call: &RuntimeCall) -> Vec<Vec<u8>> {
	let valid = CheckTurn::<Test>::default().validate_only(signed(who), call, &DispatchInfo::default(), 0, External, 0);
	valid.expect("it is its turn").0.provides
}

#[test]
fn a_block_takes_one_try_at_a_position_good_or_not() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let (who, action) = game.next().expect("a move");
		let (good, bad) = (call(&claim, &ALICE, action), call(&claim, &ALICE, Move::Vector(7)));
		let later = Err(InvalidTransaction::ExhaustsResources.into());
		assert_eq!(taken(&who, &bad), Ok(()));
		assert!(bad.clone().dispatch_bypass_filter(signed(&who)).is_err(), "it stays that account's turn");
		assert_eq!([taken(&who, &bad), taken(&who, &good)], [later, later]);
		assert_eq!(valid(signed(&who), &good), Ok(()), "the next block may take it");
		// The other side's turn is another one.
		assert!(game.step());
		let (other, answer) = game.next().expect("a move");
		assert_eq!(taken(&other, &call(&claim, &ALICE, answer.clone())), Ok(()));
		Disputes::on_finalize(1);
		assert_eq!(taken(&other, &call(&claim, &ALICE, answer)), Ok(()));
		Disputes::on_finalize(1);
	});
}

#[test]
fn a_block_has_so_many_moves_and_no_more() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let (who, action) = game.next().expect("a move");
		let action = call(&claim, &ALICE, action);
		let turns = |count: u32| (0..count).map(|turn| H256::from_low_u64_be(turn.into())).collect::<Vec<_>>();
		let after = |count| crate::Taken::<Test>::put(crate::Room { tried: BoundedVec::truncate_from(turns(count)), ..Default::default() });
		after(256);
		assert_eq!(taken(&who, &action), Err(InvalidTransaction::ExhaustsResources.into()));
		after(255);
		assert_eq!(taken(&who, &action), Ok(()));
		Disputes::on_finalize(1);
	});
}

#[test]
fn the_moves_of_a_block_have_so_many_bytes_and_no_more() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let (who, action) = game.next().expect("a move");
		let action = call(&claim, &ALICE, action);
		let full = Err(InvalidTransaction::ExhaustsResources.into());
		let most = MOVES_LENGTH as usize;
		assert_eq!(taken_with(&who, &action, most + 1), full);
		assert_eq!(taken_with(&who, &action, most - 1), Ok(()));
		// The other side's turn is another one.
		assert!(game.step());
		let (other, answer) = game.next().expect("a move");
		let answer = call(&claim, &ALICE, answer);
		assert_eq!([taken_with(&other, &answer, 2), taken_with(&other, &answer, 1)], [full, Ok(())]);
		let remark = RuntimeCall::from(frame_system::Call::remark { remark: vec![] });
		assert_eq!(taken_with(&who, &remark, most), Ok(()), "it is not theirs that it takes");
		Disputes::on_finalize(1);
		assert_eq!(taken_with(&other, &answer, most), Ok(()));
		Disputes::on_finalize(1);
	});
}

#[test]
fn the_moves_of_a_block_have_so_much_time_and_no_more() {
	build_and_execute(|| {
		MovesShare::set(Share { bytes: u32::MAX, time: 1_000 });
		let (claim, mut game) = opened();
		let (who, action) = game.next().expect("a move");
		let action = call(&claim, &ALICE, action);
		let taking = |who: &AccountId, call: &RuntimeCall, time| {
			let info = DispatchInfo { call_weight: Weight::from_parts(time, 0), ..Default::default() };
			CheckTurn::<Test>::default().validate_and_prepare(signed(who), call, &info, 0, 0).map(|_| ())
		};
		let full: Result<(), TransactionValidityError> = Err(InvalidTransaction::ExhaustsResources.into());
		assert_eq!([taking(&who, &action, 1_001), taking(&who, &action, 999)], [full, Ok(())]);
		assert!(game.step());
		let (other, answer) = game.next().expect("a move");
		let answer = call(&claim, &ALICE, answer);
		assert_eq!([taking(&other, &answer, 2), taking(&other, &answer, 1)], [full, Ok(())]);
		Disputes::on_finalize(1);
	});
}

#[test]
fn two_moves_of_one_turn_exclude_each_other_in_the_pool() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let (who, action) = game.next().expect("a move");
		let first = provides(&who, &call(&claim, &ALICE, action));
		assert_eq!(first.len(), 1);
		assert_eq!(provides(&who, &call(&claim, &ALICE, Move::Vector(7))), first);
		assert!(game.step());
		let (other, answer) = game.next().expect("a move");
		assert_ne!(provides(&other, &call(&claim, &ALICE, answer)), first);
	});
}

/// Returns whether a block executes this call, signed by `who`, and the pallet does not refuse it.
fn executed(who: &AccountId, call: &RuntimeCall) -> bool {
	let dispatch = |origin| call.clone().dispatch_bypass_filter(origin);
	let result = CheckTurn::<Test>::default().test_run(signed(who), call, &DispatchInfo::default(), 0, 0, dispatch);
	Disputes::on_finalize(1);
	result.expect("a place in the block").is_ok()
}

#[test]
fn after_a_refused_move_those_about_the_same_position_come_no_longer_first() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let (who, action) = game.next().expect("a move");
		let (good, bad) = (call(&claim, &ALICE, action), call(&claim, &ALICE, Move::Vector(7)));
		assert!(is_first::<Test>(&good) && is_first::<Test>(&bad));
		assert!(!executed(&who, &bad));
		assert!(!is_first::<Test>(&good) && !is_first::<Test>(&bad));
		// They take nothing of the moves' room, but still one place in the block.
		let long = MOVES_LENGTH as usize + 1;
		assert_eq!(taken_with(&who, &good, long), Ok(()));
		assert_eq!(taken(&who, &bad), Err(InvalidTransaction::ExhaustsResources.into()));
		Disputes::on_finalize(1);
		assert!(executed(&who, &good));
		// The game stands elsewhere.
		assert_eq!(Missed::<Test>::iter().count(), 0);
		assert!(is_first::<Test>(&call(&claim, &ALICE, Move::Vector(7))));
	});
}

#[test]
fn a_game_that_ends_takes_the_note_about_its_refused_move_along() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let (who, _) = game.next().expect("a move");
		assert!(!executed(&who, &call(&claim, &ALICE, Move::Vector(7))));
		assert_eq!(Missed::<Test>::iter_keys().collect::<Vec<_>>(), [(claim.clone(), ALICE)]);
		run_to(1 + CLOCK + EXTENSION + 1);
		assert!(!crate::Games::<Test>::contains_key(&claim, &ALICE));
		assert_eq!(Missed::<Test>::iter().count(), 0);
	});
}
