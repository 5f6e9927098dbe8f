//! Places that several accounts hold together.

use super::*;
use crate::{Error, Event, Holders, Led, Quorums};
use frame_support::{assert_noop, assert_ok, dispatch::GetDispatchInfo};
use neuroshard_types::{
	dispute::{ClaimKind, Claims as ClaimsOfRounds},
	proof::WorkClaim,
	quorum::{Seat, Span},
	run::Phase,
	Aggregator, ModelConfig, Robust, Rule, TrainConfig, F32,
};

/// A model of two layers, whose head is a matrix of its own.
fn config() -> RunConfig {
	let config = crate::mock::config();
	RunConfig { model: ModelConfig { layers: 2, tied: false, ..config.model }, ..config }
}

/// Who holds so many units of the model of tests, which has four, beginning with unit 0.
fn holders(of: &[(u8, u32)]) -> Holders {
	let mut first = 0;
	let held = of.iter().map(|&(number, count)| {
		let span = Span { first, count };
		first += count;
		(worker(number), span)
	});
	held.collect::<Vec<_>>().try_into().expect("few members")
}

fn form(leader: u8, run: RunId, of: &[(u8, u32)]) -> frame_support::dispatch::DispatchResult {
	Training::form_quorum(RuntimeOrigin::signed(worker(leader)), run, holders(of))
}

fn agree(who: u8, run: RunId, leader: u8, of: &[(u8, u32)]) -> frame_support::dispatch::DispatchResult {
	Training::agree_quorum(RuntimeOrigin::signed(worker(who)), run, worker(leader), holders(of))
}

/// Workers 1 (embedding and a layer), 5 (a layer) and 6 (the end).
const THREE: &[(u8, u32)] = &[(1, 2), (5, 1), (6, 1)];

/// A run in Training of round 0, with a quorum of three that worker 1 leads, and with worker 2.
fn beside_one() -> (RunId, Vec<AccountId>) {
	let run = create(config());
	assert_ok!(form(1, run, THREE));
	assert_ok!(agree(5, run, 1, THREE));
	assert_ok!(agree(6, run, 1, THREE));
	let workers = vec![worker(1), worker(2)];
	workers.iter().for_each(|who| join(who, run).expect("a free place"));
	skip(3);
	(run, workers)
}

#[test]
fn joining_costs_what_is_looked_at_of_the_quorum_that_joins() {
	build_and_execute(|| {
		let run = create(config());
		assert_ok!(form(1, run, THREE));
		assert_ok!(agree(5, run, 1, THREE));
		assert_ok!(agree(6, run, 1, THREE));
		let time = |number| {
			let joined = Training::join(RuntimeOrigin::signed(worker(number)), run).expect("a free place");
			joined.actual_weight.expect("known by then").ref_time()
		};
		let (three, alone) = (time(1), time(2));
		// For each three reads of 25 us, a write of 100 us, and 20 us.
		const EACH: u64 = (3 * 25 + 100 + 20) * 1_000_000;
		assert_eq!(three - alone, 3 * EACH);
		let declared = crate::Call::<Test>::join { run }.get_dispatch_info().call_weight.ref_time();
		assert_eq!(declared - alone, 32 * EACH);
	});
}

#[test]
fn a_quorum_takes_part_when_all_of_it_have_agreed_to_what_its_leader_proposed() {
	build_and_execute(|| {
		let run = create(config());
		assert_ok!(form(1, run, THREE));
		assert_noop!(join(&worker(1), run), Error::<Test>::NotAgreed);
		assert_noop!(agree(5, run, 1, &[(1, 1), (5, 2), (6, 1)]), Error::<Test>::OtherQuorum);
		assert_noop!(agree(7, run, 1, THREE), Error::<Test>::OtherQuorum);
		assert_noop!(agree(5, run, 2, THREE), Error::<Test>::OtherQuorum);
		assert_ok!(agree(5, run, 1, THREE));
		assert_noop!(join(&worker(1), run), Error::<Test>::NotAgreed);
		assert_ok!(agree(6, run, 1, THREE));
		assert_ok!(join(&worker(1), run));
		System::assert_has_event(Event::QuorumProposed { run, leader: worker(1), holders: holders(THREE) }.into());
		System::assert_has_event(Event::QuorumAgreed { run, leader: worker(1), who: worker(6) }.into());
		let seat = |number: u8, first, count| Seat {
			leader: worker(1),
			who: worker(number),
			span: Span { first, count },
			key: Some([number; 33]),
		};
		assert_eq!(Training::quorums(run), vec![seat(1, 0, 2), seat(5, 2, 1), seat(6, 3, 1)]);
		// A key that is registered later is not the one that they have agreed with.
		Keys::mutate(|keys| keys.insert(worker(5), [77; 33]));
		assert_eq!(Training::quorums(run)[1].key, Some([5; 33]));
	});
}

#[test]
fn what_is_no_cut_of_the_model_or_of_no_providers_is_no_quorum() {
	build_and_execute(|| {
		let run = create(config());
		for bad in [&[(1, 2), (5, 1)][..], &[(1, 2), (5, 3)], &[(5, 2), (6, 2)], &[(1, 2), (1, 2)], &[(1, 5)]] {
			assert_noop!(form(1, run, bad), Error::<Test>::BadQuorum);
		}
		let tied = create(RunConfig { model: ModelConfig { tied: true, ..config().model }, ..config() });
		assert_noop!(form(1, tied, THREE), Error::<Test>::BadQuorum);
		let long = TrainConfig { inner_steps: 8_000, commit_interval: 4_000, ..config().train };
		crate::Runs::<Test>::mutate(run, |run| run.as_mut().expect("a run").config.train = long);
		assert_noop!(form(1, run, THREE), Error::<Test>::IntervalTooLong);
		crate::Runs::<Test>::mutate(run, |run| run.as_mut().expect("a run").config.train = config().train);
		provider(&worker(1), |provider| provider.bond = 99);
		assert_noop!(form(1, run, THREE), Error::<Test>::BondTooSmall);
		assert_noop!(form(1, run + 7, THREE), Error::<Test>::UnknownRun);
		assert_eq!(Training::quorums(run), vec![]);
		provider(&worker(1), |provider| provider.bond = BOND);
		assert_ok!(form(1, run, THREE));
		provider(&worker(5), |provider| provider.active = false);
		assert_noop!(agree(5, run, 1, THREE), Error::<Test>::NotActiveWorker);
	});
}

#[test]
fn nobody_holds_parts_of_two_places() {
	build_and_execute(|| {
		let run = create(config());
		let other: &[(u8, u32)] = &[(2, 2), (5, 2)];
		assert_ok!(form(1, run, THREE));
		assert_ok!(form(2, run, other));
		assert_ok!(agree(5, run, 1, THREE));
		assert_noop!(agree(5, run, 2, other), Error::<Test>::InQuorum);
		assert_noop!(join(&worker(5), run), Error::<Test>::InQuorum);
		assert_noop!(form(5, run, &[(5, 4)]), Error::<Test>::InQuorum);
		assert_ok!(join(&worker(6), run));
		assert_noop!(agree(6, run, 1, THREE), Error::<Test>::HasPlace);
		assert_ok!(leave(&worker(6), run));
		assert_ok!(form(6, run, &[(6, 4)]));
		assert_noop!(agree(6, run, 1, THREE), Error::<Test>::HasPlace);
		assert_ok!(form(6, run, &[]));
		assert_ok!(agree(6, run, 1, THREE));
		// Who takes back what it agreed to is free for another one.
		assert_ok!(leave(&worker(5), run));
		System::assert_has_event(Event::QuorumLeft { run, leader: worker(1), who: worker(5) }.into());
		assert_ok!(agree(5, run, 2, other));
		assert_noop!(join(&worker(1), run), Error::<Test>::NotAgreed);
		assert_ok!(join(&worker(2), run));
	});
}

#[test]
fn proposals_that_nobody_agrees_to_keep_nobody_from_leading_a_quorum() {
	build_and_execute(|| {
		let run = create(config());
		(10..=99).for_each(|number| enroll(&worker(number)));
		Keys::mutate(|keys| keys.extend((10..=99).map(|number| (worker(number), [number; 33]))));
		assert_ok!(form(1, run, &[(1, 4)]));
		// 31 proposals of four members, and a quorum of one: 125 of 128 seats.
		let proposal = |leader: u8| [(leader, 1), (leader + 1, 1), (leader + 2, 1), (leader + 3, 1)];
		for leader in 10..41 {
			assert_ok!(form(leader, run, &proposal(leader)));
		}
		assert_eq!(Training::quorums(run).len(), 125);
		assert_ok!(form(50, run, &proposal(50)));
		let leaders: Vec<_> = Training::quorums(run).into_iter().map(|seat| seat.leader).collect();
		assert_eq!(leaders, [1, 50, 50, 50, 50].map(worker));
	});
}

#[test]
fn the_pay_of_a_place_is_split_by_what_falls_to_each_span_and_all_stakes_answer_for_it() {
	build_and_execute(|| {
		let (run, workers) = beside_one();
		assert_ok!(Training::approve_run(RuntimeOrigin::root(), run));
		full_round(run, &workers, 1);
		// Of a step of 64 tokens in sequences of 32: six operations for each weight and token, attention over 33 / 2 keys on average, and 16 for each parameter
		// that the optimizer moves. A layer has four matrices of 32 by 32, three of 32 by 64, and two norms; the end 64 by 32, and a norm.
		let of_layer = 4 * 32 * 32 + 3 * 32 * 64 + 2 * 32;
		let layer = 64 * (6 * of_layer + 6 * 32 * 33) + 16 * of_layer;
		let (embedding, end) = (16 * 64 * 32, (64 * 6 + 16) * (64 * 32 + 32));
		let all = embedding + 2 * layer + end;
		// A unit is a token: four steps of 64.
		let units = 4 * 64;
		let (fifth, sixth) = (units * layer / all, units * end / all);
		assert!(fifth > 0 && sixth > 0, "there is something to split");
		assert_eq!(fate(&worker(5), run, 0), Some(Fate::Confirmed(fifth)));
		assert_eq!(fate(&worker(6), run, 0), Some(Fate::Confirmed(sixth)));
		assert_eq!(fate(&worker(1), run, 0), Some(Fate::Confirmed(units - fifth - sixth)));
		assert_eq!(fate(&worker(2), run, 0), Some(Fate::Confirmed(units)));
		let adopted = Training::record(run, 0).expect("a record").adopted_at;
		for number in [1, 2, 5, 6] {
			assert_eq!(Disputable::get().get(&worker(number)), Some(&adopted));
		}
	});
}

#[test]
fn hardware_of_a_leader_is_asked_for_its_own_part_only() {
	build_and_execute(|| {
		let (run, workers) = beside_one();
		to_checkpointing(run, &workers);
		let claims: Vec<WorkClaim> = crate::mock::Claims::get();
		let (led, alone) = (claims[0].flops, claims[1].flops);
		assert_eq!(alone, config().train.flops_of(&config().model, config().train.tokens_per_round()));
		assert!(led > alone / 4 && led < alone / 2, "{led} of {alone}: a layer of two, and the embedding");
	});
}

#[test]
fn a_claim_names_its_quorum_as_it_was_when_the_round_began() {
	build_and_execute(|| {
		let (run, workers) = beside_one();
		let seats = Training::quorums(run);
		assert_eq!(Training::quorums_of(run, 0), seats);
		// The place goes on with this round, and its members are other ones from the next round on.
		let two: &[(u8, u32)] = &[(1, 3), (7, 1)];
		assert_ok!(form(1, run, two));
		assert_ok!(agree(7, run, 1, two));
		full_round(run, &workers, 1);
		let claim = Training::work_claim(run, 0, worker(1)).expect("a claim");
		let quorum = claim.quorum.expect("a quorum");
		assert_eq!(quorum.seats, seats);
		assert_eq!((quorum.work.run, quorum.work.round, quorum.work.leader), (run, 0, worker(1)));
		assert_eq!(quorum.work.seed, claim.draw.seed);
		assert_eq!(Training::work_claim(run, 0, worker(2)).expect("a claim").quorum, None);
		assert_eq!(Training::quorums_of(run, 1).iter().map(|seat| seat.who.clone()).collect::<Vec<_>>(), [worker(1), worker(7)]);
		// As long as the record, of which three are kept.
		for root in 2..5 {
			full_round(run, &workers, root);
		}
		assert_eq!((Led::<Test>::get(run, 0).len(), Led::<Test>::get(run, 1).len()), (0, 2));
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), run));
		assert_eq!((Quorums::<Test>::get(run).len(), Led::<Test>::get(run, 3).len(), Led::<Test>::get(run, 4).len()), (0, 2, 0));
	});
}

#[test]
fn a_place_one_of_whose_members_is_gone_ends_with_the_round() {
	let leaves = |run| leave(&worker(5), run).expect("a member");
	for goes in [leaves, |_| provider(&worker(5), |provider| provider.active = false)] {
		build_and_execute(|| {
			let config = RunConfig { min_participants: 1, ..config() };
			let run = create(config);
			assert_ok!(form(1, run, THREE));
			assert_ok!(agree(5, run, 1, THREE));
			assert_ok!(agree(6, run, 1, THREE));
			let workers = vec![worker(1), worker(2)];
			workers.iter().for_each(|who| join(who, run).expect("a free place"));
			skip(3);
			goes(run);
			// What is under way is finished, and can be disputed.
			full_round(run, &workers, 1);
			assert_eq!(Training::work_claim(run, 0, worker(1)).and_then(|claim| claim.quorum).map(|quorum| quorum.seats.len()), Some(3));
			assert_eq!(round(run).counted().map(|one| one.account.clone()).collect::<Vec<_>>(), [worker(2)]);
			assert_eq!(Training::quorums_of(run, 1), vec![]);
		});
	}
}

#[test]
fn of_work_that_a_member_has_falsified_all_proofs_are_void_and_only_that_member_is_condemned() {
	build_and_execute(|| {
		let (run, workers) = beside_one();
		full_round(run, &workers, 1);
		let claim = claim(run, 0, ClaimKind::Work, &worker(1));
		<Training as ClaimsOfRounds>::condemn(&claim, &worker(5));
		for number in [1, 5, 6] {
			assert_eq!(fate(&worker(number), run, 0), Some(Fate::Void));
		}
		assert!(matches!(fate(&worker(2), run, 0), Some(Fate::Unpaid(_))));
		assert_eq!(Condemned::get(), [worker(5)]);
		assert!(Training::claim_condemned(claim));
		// The delta leaves the model, and the place, which has no trustworthy quorum any more, the run.
		assert_eq!(Training::members(run), [worker(2)]);
	});
}

#[test]
fn work_of_a_quorum_that_is_left_out_is_paid_to_none_of_it() {
	build_and_execute(|| {
		let (run, workers) = beside_one();
		full_round(run, &workers, 1);
		exclude_work(run, 0, &worker(1));
		for number in [1, 5, 6] {
			assert_eq!(fate(&worker(number), run, 0), Some(Fate::Void));
		}
		assert_eq!(Condemned::get(), vec![]);
	});
}

#[test]
fn stakes_behind_a_place_stay_from_the_beginning_of_a_round_to_its_end() {
	let kept = || [1, 2, 5, 6].map(|number| OpenClaims::get().get(&worker(number)).copied().unwrap_or_default());
	build_and_execute(|| {
		let (run, workers) = beside_one();
		assert_eq!(kept(), [1, 0, 1, 1]);
		// Nobody commits: another attempt.
		run_to_deadline(run);
		assert_eq!((round(run).attempt, kept()), (1, [0, 0, 0, 0]));
		workers.iter().for_each(|who| join(who, run).expect("a free place"));
		skip(3);
		assert_eq!((phase(run), kept()), (Phase::Training, [1, 0, 1, 1]));
		full_round(run, &workers, 1);
		assert_eq!((round(run).round, kept()), (1, [1, 0, 1, 1]));
		assert_ok!(leave(&worker(5), run));
		full_round(run, &workers, 2);
		assert_eq!(kept(), [0, 0, 0, 0]);
	});
	build_and_execute(|| {
		let (run, _) = beside_one();
		assert_eq!(kept(), [1, 0, 1, 1]);
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), run));
		assert_eq!(kept(), [0, 0, 0, 0]);
	});
}

#[test]
fn whoever_has_a_part_in_a_round_gets_no_other_one_in_it_by_coming_late() {
	build_and_execute(|| {
		let rule = Rule::WeightedMean { least_steps: 1 };
		let aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule });
		let run = create(RunConfig { train: TrainConfig { aggregator, commit_interval: 1, ..config().train }, ..config() });
		[2, 3].iter().for_each(|number| join(&worker(*number), run).expect("a free place"));
		skip(3);
		assert_eq!(round(run).participants.len(), 2);
		// A quorum comes late, and has a place at once.
		assert_ok!(form(1, run, THREE));
		assert_ok!(agree(5, run, 1, THREE));
		assert_ok!(agree(6, run, 1, THREE));
		assert_ok!(join(&worker(1), run));
		assert_eq!((round(run).participants.len(), Training::quorums_of(run, 0).len()), (3, 3));
		assert_eq!(OpenClaims::get().get(&worker(5)), Some(&1));
		// Who leaves it takes part alone from the next round on only.
		assert_ok!(leave(&worker(6), run));
		assert_ok!(join(&worker(6), run));
		assert_eq!(round(run).participants.len(), 3);
		assert!(Training::members(run).contains(&worker(6)));
		// So does a quorum that somebody with a place has agreed to be in.
		assert_ok!(leave(&worker(3), run));
		let other: &[(u8, u32)] = &[(4, 2), (3, 2)];
		assert_ok!(form(4, run, other));
		assert_ok!(agree(3, run, 4, other));
		assert_ok!(join(&worker(4), run));
		assert_eq!((round(run).participants.len(), Training::quorums_of(run, 0).len()), (3, 3));
	});
}
