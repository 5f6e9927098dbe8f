//! Games about the work of a quorum, which go on against the member that signed what is false.

use super::{
	case::{round, truthful, ROUND},
	*,
};
use crate::{Error, GamesAgainst};
use neuroshard_compute::{
	exec::Exec,
	player::{Player, QuorumStory, SpanStory},
	trace::Mistake,
};
use neuroshard_graph::{
	commit::{state_root, tensors_root},
	cover::merge,
	game::{Contents, Part, Position, Quorum, Record, Records, Setting, Signature},
	merkle::{prove, Hash},
	span::{Held as HeldPart, Span},
	ParamLayout,
};
use neuroshard_types::{
	proof::ProofSignature,
	quorum::{QuorumClaim, QuorumWork, Seat},
};
use sp_core::{ecdsa, Pair};
use std::sync::Arc;

/// Who leads: it has the end and, since both are one matrix, the embedding.
const LEADER: AccountId = HONEST;
/// Who has the layer.
const MEMBER: AccountId = account(52);
/// What both hold.
static SPANS: [Span; 2] = [Span { first: 2, count: 2 }, Span { first: 1, count: 1 }];
/// A mistake of the layer's holder in the fourth inner step, which ends the second interval.
const FALSE: (usize, Mistake) = (1, Mistake { step: 3, stage: 3, output: 0, element: 1_999, mask: 1 << 22 });

fn key(member: usize) -> ecdsa::Pair {
	ecdsa::Pair::from_seed(&[40 + member as u8; 32])
}

fn quorum_work() -> QuorumWork {
	let (genesis, seed) = (H256::repeat_byte(0xaa), H256::repeat_byte(0x5e));
	QuorumWork { genesis, run: 0, round: ROUND, seed, leader: LEADER }
}

fn sign(member: usize, statement: Hash) -> ProofSignature {
	key(member).sign(&quorum_work().message(statement)).0
}

/// Players know who they are: only the chain asks for signatures.
fn setting() -> Setting<'static> {
	static SIGNED: fn(u32, Hash, &Signature) -> bool = |_, _, _| true;
	round().setting().of_quorum(Quorum { spans: &SPANS, signed: &SIGNED })
}

/// An interval of the round as a quorum has computed it.
struct Interval {
	records: Records,
	story: QuorumStory,
	end: H256,
	/// The state after it, as whole vectors.
	state: [Vec<f32>; 3],
}

fn interval(first: u32, state: &[Vec<f32>; 3], mistake: Option<(usize, Mistake)>) -> Interval {
	let (model, train) = (&round().model, &round().train);
	let exec = Arc::new(Exec::new(1).expect("an executor"));
	let held = SPANS.map(|span| HeldPart::new(model, None, span).expect("a span"));
	let member = |number: usize| {
		let own = state.each_ref().map(|vector| held[number].of(vector));
		let story = SpanStory::new(exec.clone(), (model, train, SPANS[number]), (ROUND, first), own, None).expect("a story");
		match mistake.filter(|(liar, _)| *liar == number) {
			Some((_, mistake)) => story.with_mistake(mistake),
			None => story,
		}
	};
	let mut story = QuorumStory { members: (0..SPANS.len()).map(member).collect() };
	let last = (first + train.commit_interval).min(train.inner_steps);
	(first..last).for_each(|step| story.step(&round().tokens(step), |_, _| {}).expect("a step"));
	let layout = ParamLayout::new(model).expect("a model");
	let roots = state.each_ref().map(|vector| tensors_root(&layout, vector, 1));
	let (contents, vectors) = match first {
		0 => (Contents::Checkpoint([roots[0], round().momentum]), 1),
		_ => (Contents::State(roots), 3),
	};
	let of = |held: &HeldPart| state.iter().take(vectors).map(|vector| held.roots(&held.of(vector), 1)).collect();
	let before = held.iter().map(of).collect();
	let signs = |(number, member): (usize, &mut SpanStory)| {
		let record = member.record().clone();
		let signature = sign(number, record.statement());
		(record, signature)
	};
	let records: Vec<(Record, Signature)> = story.members.iter_mut().enumerate().map(signs).collect();
	let covers: Vec<_> = held.iter().map(HeldPart::cover).collect();
	let [params, one, two] = [0, 1, 2].map(|vector| {
		let parts: Vec<_> = covers.iter().zip(&records).map(|(cover, (record, _))| (cover, record.state[vector].as_slice())).collect();
		merge(held[0].all_tiles, &parts).expect("all tiles")
	});
	let end = H256(state_root(&params, &one, &two, last, u64::from(last * train.batch)));
	let mut state = [0, 1, 2].map(|_| vec![0.0; layout.len()]);
	for member in &story.members {
		let held = HeldPart::new(model, None, member.span()).expect("a span");
		state.iter_mut().zip(member.state()).for_each(|(whole, own)| held.write(&own, whole));
	}
	Interval { records: Records { contents, before, records }, story, end, state }
}

/// All intervals of the round.
fn computed(mistake: Option<(usize, Mistake)>) -> Vec<Interval> {
	let zeros = vec![0.0; round().theta.len()];
	let mut intervals = vec![interval(0, &[round().theta.clone(), zeros.clone(), zeros], mistake)];
	for first in [2, 4] {
		let before = intervals.last().expect("an interval").state.clone();
		intervals.push(interval(first, &before, mistake));
	}
	intervals
}

/// Work that a quorum reveals.
fn revealed(intervals: &[Interval]) -> (ClaimId, Work) {
	let roots: Vec<H256> = intervals.iter().map(|interval| interval.end).collect();
	let work = Work { state_roots: roots.try_into().expect("few roots"), ..case::work(None) };
	let seat = |number: usize, who: AccountId| Seat { leader: LEADER, who, span: SPANS[number], key: Some(key(number).public().0) };
	let quorum = QuorumClaim { work: quorum_work(), seats: vec![seat(0, LEADER), seat(1, MEMBER)] };
	(case::reveal_of(&LEADER, &work, Some(quorum)), work)
}

/// Leader and members of an interval, who stand by what they have said.
fn defenders(Interval { records, story, .. }: Interval) -> Strategy {
	let mut members = truthful(Player::new(setting(), Side::Defender, story, None));
	Box::new(move |position, defence| match position {
		Position::Records { .. } => Some(Move::Records(records.clone())),
		_ => members(position, defence),
	})
}

/// A challenger who has computed the second interval itself.
fn checker() -> Strategy {
	let right = computed(None).swap_remove(1);
	truthful(Player::new(setting(), Side::Challenger, right.story, Some(round().library())))
}

/// A quorum one of whose members was wrong in the second interval, and is challenged.
fn disputed() -> (ClaimId, Interval) {
	let mut intervals = computed(Some(FALSE));
	let (claim, work) = revealed(&intervals);
	assert_ok!(challenge(&ALICE, &claim, &work, Doubt::Interval(1)));
	(claim, intervals.swap_remove(1))
}

/// A record of member `member` in `records` that a challenger picks: what it says about its state after the interval.
fn pick(records: &Records, member: u32) -> Move {
	let parts: Vec<Part> = records.parts(&SPANS);
	let list: Vec<Hash> = parts.iter().map(Part::hash).collect();
	let proof = prove(&list, member).expect("a member");
	Move::Record { member, part: parts[member as usize], proof, step: 1, out: None }
}

fn stake(who: &AccountId) -> Balance {
	free(&stake_of(who))
}

#[test]
fn a_member_that_computed_falsely_loses_its_stake_and_nobody_else_of_the_quorum_does() {
	build_and_execute(|| {
		let (claim, interval) = disputed();
		Match::new(&claim, &ALICE, defenders(interval), checker()).finish();
		assert_eq!((Condemned::get(), Culprits::get()), (vec![claim.clone()], vec![MEMBER]));
		assert_eq!(Punished::get().into_iter().map(|(who, _)| who).collect::<Vec<_>>(), [MEMBER]);
		assert_eq!((stake(&LEADER), stake(&MEMBER)), (STAKE, 0));
		assert_eq!(free(&ALICE), FUNDS + STAKE / 2);
		let defended = events().into_iter().find_map(|event| match event {
			Event::Decided { defender, decision, extrinsics, .. } => Some((defender, decision, extrinsics)),
			_ => None,
		});
		let (defender, decision, extrinsics) = defended.expect("a decision");
		assert_eq!((defender, decision), (MEMBER, Decision::Fraud));
		assert!(extrinsics <= crate::MAX_MOVES, "{extrinsics} moves");
		assert_eq!(OpenClaims::get().values().copied().collect::<Vec<_>>(), [0, 0]);
	});
}

#[test]
fn what_a_leader_does_not_show_is_its_loss_alone() {
	build_and_execute(|| {
		let (claim, _) = disputed();
		run_to(Disputes::game(claim.clone(), ALICE).expect("a game").deadline + 1);
		assert_eq!((Condemned::get(), Culprits::get()), (vec![claim], vec![LEADER]));
		assert_eq!((stake(&LEADER), stake(&MEMBER)), (0, STAKE));
	});
}

#[test]
fn a_member_that_does_not_answer_for_its_record_loses_alone() {
	build_and_execute(|| {
		let (claim, interval) = disputed();
		assert_ok!(play(&LEADER, &claim, &ALICE, Move::Records(interval.records.clone())));
		assert_ok!(play(&ALICE, &claim, &ALICE, pick(&interval.records, 1)));
		assert_eq!(Disputes::game(claim.clone(), ALICE).expect("a game").defender, MEMBER);
		run_to(Disputes::game(claim.clone(), ALICE).expect("a game").deadline + 1);
		assert_eq!((Condemned::get(), Culprits::get()), (vec![claim], vec![MEMBER]));
		assert_eq!((stake(&LEADER), stake(&MEMBER)), (STAKE, 0));
	});
}

#[test]
fn a_member_has_a_clock_of_its_own_whatever_its_leader_has_used_up() {
	build_and_execute(|| {
		let (claim, interval) = disputed();
		let opened = Disputes::game(claim.clone(), ALICE).expect("a game");
		run_to(opened.deadline);
		assert_ok!(play(&LEADER, &claim, &ALICE, Move::Records(interval.records.clone())));
		assert_ok!(play(&ALICE, &claim, &ALICE, pick(&interval.records, 1)));
		let game = Disputes::game(claim, ALICE).expect("a game");
		assert_eq!((game.defender, game.deadline), (MEMBER, System::block_number() + CLOCK + EXTENSION));
	});
}

#[test]
fn only_the_member_whose_record_is_disputed_may_answer() {
	build_and_execute(|| {
		let (claim, interval) = disputed();
		let records = Move::Records(interval.records.clone());
		assert_noop!(play(&MEMBER, &claim, &ALICE, records.clone()), Error::<Test>::NotYourTurn);
		assert_ok!(play(&LEADER, &claim, &ALICE, records));
		assert_ok!(play(&ALICE, &claim, &ALICE, pick(&interval.records, 1)));
		assert_noop!(play(&LEADER, &claim, &ALICE, Move::Steps(vec![])), Error::<Test>::NotYourTurn);
		assert_noop!(play(&MEMBER, &claim, &ALICE, Move::Steps(vec![])), Error::<Test>::WrongLength);
		// The leader's own record is its own to defend.
		assert_ok!(challenge(&BOB, &claim, &revealed(&computed(Some(FALSE))).1, Doubt::Interval(1)));
		assert_ok!(play(&LEADER, &claim, &BOB, Move::Records(interval.records.clone())));
		assert_ok!(play(&BOB, &claim, &BOB, pick(&interval.records, 0)));
		assert_eq!(Disputes::game(claim, BOB).expect("a game").defender, LEADER);
	});
}

#[test]
fn who_says_that_right_work_is_false_pays_the_member_that_had_to_answer() {
	build_and_execute(|| {
		let intervals = computed(None);
		let (claim, work) = revealed(&intervals);
		let records = intervals[1].records.clone();
		assert_ok!(challenge(&ALICE, &claim, &work, Doubt::Interval(1)));
		assert_ok!(play(&LEADER, &claim, &ALICE, Move::Records(records.clone())));
		assert_ok!(play(&ALICE, &claim, &ALICE, pick(&records, 1)));
		let mut member = truthful(Player::new(setting(), Side::Defender, computed(None).swap_remove(1).story, None));
		let game = Disputes::game(claim.clone(), ALICE).expect("a game");
		assert_ok!(play(&MEMBER, &claim, &ALICE, member(&game.position, &[]).expect("an answer")));
		run_to(Disputes::game(claim.clone(), ALICE).expect("a game").deadline + 1);
		assert_eq!(decisions(), [(ALICE, Decision::ChallengerLate, BOND / 2, Some(MEMBER), BOND - BOND / 2)]);
		assert_eq!((stake(&LEADER), stake(&MEMBER), Condemned::get()), (STAKE, STAKE, vec![]));
	});
}

#[test]
fn all_stakes_behind_the_work_stay_and_no_proof_of_theirs_becomes_final_while_a_game_is_open() {
	build_and_execute(|| {
		let (claim, _) = disputed();
		assert_eq!(OpenClaims::get(), [(LEADER, 1), (MEMBER, 1)].into());
		assert_eq!(Held::get(), [LEADER, MEMBER].into());
		let loads = [LEADER, MEMBER].map(|who| (GamesAgainst::<Test>::get(&who).games, GamesAgainst::<Test>::get(&who).bonds));
		assert_eq!(loads, [(1, BOND), (1, 0)]);
		assert_eq!(Disputes::games_of(MEMBER, None), [(claim.clone(), ALICE)]);
		assert_eq!(Disputes::games_of(CHARLIE, None), []);
		run_to(Disputes::game(claim, ALICE).expect("a game").deadline + 1);
		assert_eq!(Held::get(), [].into());
	});
}

#[test]
fn records_that_somebody_has_not_signed_or_that_do_not_fit_together_are_not_taken() {
	build_and_execute(|| {
		let (claim, interval) = disputed();
		let with = |change: &dyn Fn(&mut Records)| {
			let mut records = interval.records.clone();
			change(&mut records);
			Move::Records(records)
		};
		let signed_by_another = with(&|records| records.records[1].1 = records.records[0].1);
		assert_noop!(play(&LEADER, &claim, &ALICE, signed_by_another), Error::<Test>::NotSigned);
		let of_another_round = with(&|records| {
			let other = QuorumWork { seed: H256::zero(), ..quorum_work() };
			records.records[1].1 = key(1).sign(&other.message(records.records[1].0.statement())).0;
		});
		assert_noop!(play(&LEADER, &claim, &ALICE, of_another_round), Error::<Test>::NotSigned);
		let open = with(&|records| {
			let record = &mut records.records[1].0;
			record.steps[0].given[0] = [7; 32];
			records.records[1].1 = sign(1, record.statement());
		});
		assert_noop!(play(&LEADER, &claim, &ALICE, open), Error::<Test>::OpenSeam);
		let long = with(&|records| records.before[0][0] = vec![[0; 32]; 1 << 14]);
		assert_noop!(play(&LEADER, &claim, &ALICE, long), Error::<Test>::TooLong);
		assert_ok!(play(&LEADER, &claim, &ALICE, with(&|_| {})));
	});
}
