//! Families of runs, and who starts from the checkpoint of another cohort.

use super::{attest_all, commit_all, full_round, reveal_all, to_checkpointing, unequal, vote_all};
use crate::{mock::*, Bridges, Cohorts, Error, Event, Families, Records, Runs};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	dispute::{Base, Claims as _, OuterJob},
	run::{Bridge, Phase, PhaseDurations, RunConfig, Work, MAX_COHORTS},
	AccountId, Code, ModelConfig, RoundIndex, RunId, TrainConfig, F32, H256,
};
use sp_runtime::{DispatchError, DispatchResult};
use std::collections::BTreeSet;

/// Makes `run` a cohort of the family of `first`, in the name of the sponsor of the mock's runs.
fn add(first: RunId, run: RunId) -> DispatchResult {
	Training::add_cohort(RuntimeOrigin::signed(SPONSOR), first, run)
}

/// So many runs of the mock's configuration.
fn runs<const N: usize>() -> [RunId; N] {
	MaxActiveRuns::set(MAX_COHORTS + 1);
	[(); N].map(|()| create(config()))
}

/// A cohort with workers of its own.
struct Cohort {
	run: RunId,
	workers: Vec<AccountId>,
}

impl Cohort {
	/// A full round in which nobody starts from elsewhere.
	fn round(&self, root: u8) {
		full_round(self.run, &self.workers, root);
	}

	/// From Training to Availability; the bridge starts from the other checkpoint.
	fn reveal_bridged(&self) -> Bridge {
		let bridge = bridge(self.run).expect("a bridge is drawn");
		for who in &self.workers {
			commit_as(&bridge, who, self.run, &work(who, self.run));
		}
		reveal_all(self.run, &self.workers);
		bridge
	}

	/// A full round in which the bridge starts from the other checkpoint.
	fn bridged_round(&self, root: u8) -> Bridge {
		let bridge = self.reveal_bridged();
		vote_all(self.run, &self.workers);
		attest_all(self.run, &self.workers, root);
		bridge
	}

	/// Those of its workers who are not `who`.
	fn without(&self, who: &AccountId) -> Vec<AccountId> {
		self.workers.iter().filter(|other| *other != who).cloned().collect()
	}

	/// Delta roots of its workers, if they were to reveal now.
	fn deltas(&self) -> Vec<H256> {
		self.workers.iter().map(|who| work(who, self.run).delta_root).collect()
	}

	/// Rounds that have a bridge.
	fn bridges(&self) -> BTreeSet<RoundIndex> {
		Bridges::<Test>::iter_key_prefix(self.run).collect()
	}
}

/// A family of runs of this configuration with so many workers each, all in Training of round 0.
fn family_of<const N: usize>(config: RunConfig, sizes: [u8; N]) -> [Cohort; N] {
	let mut numbers = 1..;
	let cohorts = sizes.map(|size| {
		let run = create(config.clone());
		let workers: Vec<_> = numbers.by_ref().take(size.into()).map(worker).collect();
		workers.iter().for_each(|who| join(who, run).expect("a free place"));
		Cohort { run, workers }
	});
	cohorts[1..].iter().for_each(|cohort| add(cohorts[0].run, cohort.run).expect("runs that are alike"));
	skip(3);
	assert!(cohorts.iter().all(|cohort| phase(cohort.run) == Phase::Training));
	cohorts
}

/// A family of the mock's runs.
fn family<const N: usize>(sizes: [u8; N]) -> [Cohort; N] {
	family_of(config(), sizes)
}

/// Two cohorts of so many workers, the first in Training of round 1 with a bridge to the checkpoint number 2 of the other, which is in round 1 as well.
/// Its own is number 1.
fn with_a_bridge(sizes: [u8; 2]) -> [Cohort; 2] {
	let [cohort, other] = family(sizes);
	other.round(2);
	cohort.round(1);
	[cohort, other]
}

/// The bridge of the round under way.
fn bridge(run: RunId) -> Option<Bridge> {
	Training::round(run).expect("a round").bridge
}

/// Commits to `work` that started from the other checkpoint if it is that of the bridge.
fn commit_as(bridge: &Bridge, who: &AccountId, run: RunId, work: &Work) {
	let is_bridge = *who == bridge.who;
	assert_ok!(if is_bridge { commit_bridged_to(who, run, work, bridge.checkpoint) } else { commit_to(who, run, work) });
}

/// Returns the run, round and checkpoint that the bridge of the round under way leads to.
fn leads_to(run: RunId) -> Option<(RunId, RoundIndex, H256)> {
	bridge(run).map(|bridge| (bridge.run, bridge.round, bridge.checkpoint))
}

/// Checkpoint that the chain is told of by this number; that of round 0 is 0xff.
fn checkpoint(number: u8) -> H256 {
	H256::repeat_byte(number)
}

/// Numbers of the other cohort and of the participant that the draw of the round under way gives, of so many.
fn drawn(run: RunId, others: u64, counted: u64) -> (usize, usize) {
	let round = round(run);
	let bytes = [&b"neuroshard/bridge/1"[..], &round.seed.0, &round.attempt.to_le_bytes()].concat();
	let digest = sp_io::hashing::blake2_256(&bytes);
	let number = |at: usize, count| u64::from_le_bytes(digest[at..at + 8].try_into().expect("eight bytes")) % count;
	(number(0, others) as usize, number(8, counted) as usize)
}

/// Start, its round and base by which the work of these workers in an adopted round is judged.
fn judged_by(run: RunId, round: RoundIndex, who: &[AccountId]) -> Vec<(H256, RoundIndex, Option<Base>)> {
	let claims = who.iter().map(|who| Training::work(run, round, who).expect("it revealed"));
	claims.map(|claim| (claim.start, claim.start_round, claim.base)).collect()
}

#[test]
fn the_sponsor_of_runs_that_are_alike_makes_a_family_of_them() {
	build_and_execute(|| {
		let [one, first, other] = runs();
		// In what follows they may differ.
		let short = create(RunConfig {
			name: b"other".to_vec().try_into().unwrap(),
			min_participants: 1,
			max_participants: 3,
			min_bond: 50,
			rounds: Some(9),
			durations: PhaseDurations { training: 50, ..config().durations },
			..config()
		});
		assert_ok!(Training::approve_run(RuntimeOrigin::root(), other));
		assert_eq!(Training::cohorts(first), [0; 0]);
		for (run, cohorts) in [(other, vec![first, other]), (short, vec![first, other, short]), (one, vec![one, first, other, short])] {
			assert_ok!(add(first, run));
			assert!(happened(Event::CohortAdded { family: first, run }));
			cohorts.iter().for_each(|cohort| assert_eq!(Training::cohorts(*cohort), cohorts));
		}
		assert_eq!(Training::cohorts(99), [0; 0]);
	});
}

#[test]
fn nobody_but_the_sponsor_of_both_runs_makes_a_family_of_them() {
	build_and_execute(|| {
		let [one, other] = runs();
		let foreign = crate::NextRun::<Test>::get();
		assert_ok!(Training::create_run(RuntimeOrigin::signed(worker(1)), config()));
		for (who, first, run) in [
			(SPONSOR, one, foreign),
			(SPONSOR, foreign, one),
			(worker(1), one, foreign),
			(worker(1), foreign, one),
			(worker(1), one, other),
		] {
			assert_noop!(Training::add_cohort(RuntimeOrigin::signed(who), first, run), Error::<Test>::NotSponsor);
		}
		for origin in [RuntimeOrigin::root(), RuntimeOrigin::none()] {
			assert_noop!(Training::add_cohort(origin, one, other), DispatchError::BadOrigin);
		}
		// An operator adds nothing in its owner's name.
		Owners::set([(worker(9), SPONSOR)].into());
		assert_noop!(Training::add_cohort(RuntimeOrigin::signed(worker(9)), one, other), Error::<Test>::NotSponsor);
	});
}

#[test]
fn only_active_runs_are_cohorts() {
	build_and_execute(|| {
		let [active, ended] = runs();
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), ended));
		for (run, error) in [(ended, DispatchError::from(Error::<Test>::RunFinished)), (99, Error::<Test>::UnknownRun.into())] {
			assert_noop!(add(active, run), error);
			assert_noop!(add(run, active), error);
		}
	});
}

#[test]
fn runs_that_train_something_else_or_in_another_way_are_no_family() {
	build_and_execute(|| {
		let [run] = runs();
		assert_noop!(add(run, run), Error::<Test>::NotAlike);
		Sets::mutate(|sets| {
			let set = sets[&DATASET];
			sets.insert(DATASET + 1, set)
		});
		let same = config();
		let others = [
			RunConfig { dataset: DATASET + 1, ..same.clone() },
			RunConfig { genesis_root: H256::repeat_byte(0xfe), ..same.clone() },
			RunConfig { model: ModelConfig { ffn: same.model.ffn + 32, ..same.model }, ..same.clone() },
			RunConfig { train: TrainConfig { inner_steps: same.train.inner_steps - 1, ..same.train }, ..same.clone() },
			RunConfig { train: TrainConfig { lr: F32::new(0.5), ..same.train }, ..same.clone() },
			RunConfig { train: TrainConfig { aggregator: sent_as(Code::Int8), ..same.train }, ..same.clone() },
			unequal::unequal(3),
			RunConfig { overlaps: true, ..same },
		];
		for other in others.map(create) {
			assert_noop!(add(run, other), Error::<Test>::NotAlike);
			assert_noop!(add(other, run), Error::<Test>::NotAlike);
		}
	});
}

#[test]
fn runs_that_overlap_or_leave_residuals_are_no_family_however_alike_they_are() {
	build_and_execute(|| {
		MaxActiveRuns::set(9);
		let overlapping = RunConfig { overlaps: true, ..config() };
		let train = TrainConfig { aggregator: sent_as(top_k()), ..config().train };
		for unfit in [overlapping, RunConfig { train, ..config() }] {
			let [one, other] = [(); 2].map(|()| create(unfit.clone()));
			assert_noop!(add(one, other), Error::<Test>::NotAlike);
		}
		// Deltas that weigh by steps, and a code that leaves nothing.
		let train = TrainConfig { aggregator: sent_as(Code::Int8), ..config().train };
		for fit in [unequal::unequal(3), RunConfig { train, ..config() }] {
			let [one, other] = [(); 2].map(|()| create(fit.clone()));
			assert_ok!(add(one, other));
		}
	});
}

#[test]
fn a_run_is_in_one_family_which_has_the_name_of_the_run_that_it_began_with() {
	build_and_execute(|| {
		let [first, second, third, fourth, fifth] = runs();
		assert_ok!(add(first, second));
		for (beside, run) in [(first, second), (second, first), (third, first), (third, second)] {
			assert_noop!(add(beside, run), Error::<Test>::InFamily);
		}
		// Nothing of what was refused has begun a family.
		assert_eq!(Families::<Test>::iter().collect::<BTreeSet<_>>(), [(first, first), (second, first)].into());
		assert_ok!(add(third, fourth));
		for (beside, run) in [(first, third), (first, fourth), (third, second)] {
			assert_noop!(add(beside, run), Error::<Test>::InFamily);
		}
		// Any of its cohorts stands for the family.
		assert_ok!(add(fourth, fifth));
		assert!(happened(Event::CohortAdded { family: third, run: fifth }));
		assert_eq!((Training::cohorts(second), Training::cohorts(fifth)), (vec![first, second], vec![third, fourth, fifth]));
	});
}

#[test]
fn a_family_is_full_with_so_many_cohorts_until_one_ends() {
	build_and_execute(|| {
		const MOST: usize = MAX_COHORTS as usize;
		let runs: [RunId; MOST + 1] = runs();
		let (first, last) = (runs[0], runs[MOST]);
		runs[1..MOST].iter().for_each(|run| add(first, *run).expect("a place in the family"));
		assert_eq!(Training::cohorts(first), runs[..MOST]);
		assert_noop!(add(first, last), Error::<Test>::FamilyFull);
		assert_eq!(Training::cohorts(last), [0; 0]);
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), runs[9]));
		assert_ok!(add(first, last));
		assert_eq!(Training::cohorts(last), [&runs[..9], &runs[10..]].concat());
	});
}

#[test]
fn a_round_that_begins_once_another_cohort_has_learned_something_has_a_bridge_to_it() {
	build_and_execute(|| {
		let [one, other] = family([3, 2]);
		assert_eq!([&one, &other].map(|cohort| bridge(cohort.run)), [None, None]);
		one.round(1);
		assert_eq!((at(one.run), bridge(one.run)), ((1, 0), None), "the other has adopted nothing");
		other.round(2);
		assert_eq!(bridge(one.run), None, "its round had begun before");
		let drawn = bridge(other.run).expect("a bridge");
		let who = drawn.who.clone();
		assert!(other.workers.contains(&who));
		let expected = Bridge { who: who.clone(), run: one.run, round: 1, checkpoint: checkpoint(1), taken: false };
		assert_eq!(drawn, expected);
		assert!(happened(Event::BridgeDrawn { run: other.run, round: 1, who, other: one.run, other_round: 1, checkpoint: checkpoint(1) }));
		one.round(3);
		assert_eq!(leads_to(one.run), Some((other.run, 1, checkpoint(2))));
		// What was drawn stays what it was while the other goes on.
		other.round(4);
		one.workers.iter().for_each(|who| commit(who, one.run).expect("a commitment"));
		assert_eq!(leads_to(one.run), Some((other.run, 1, checkpoint(2))));
		assert_eq!(leads_to(other.run), Some((one.run, 2, checkpoint(3))));
		let events = System::events();
		let is_bridge = |event: &RuntimeEvent| matches!(event, RuntimeEvent::Training(Event::BridgeDrawn { .. }));
		assert_eq!(events.iter().filter(|record| is_bridge(&record.event)).count(), 3);
	});
}

#[test]
fn a_run_without_a_family_has_no_bridges() {
	build_and_execute(|| {
		let [one, other] = [[1, 2], [3, 4]].map(|numbers| {
			let cohort = Cohort { run: create(config()), workers: numbers.map(worker).to_vec() };
			cohort.workers.iter().for_each(|who| join(who, cohort.run).expect("a free place"));
			cohort
		});
		skip(3);
		for number in [1, 2] {
			[&one, &other].iter().for_each(|cohort| cohort.round(number));
		}
		assert_eq!(Bridges::<Test>::iter_keys().count(), 0);
		// It has them from the first round on that begins after it is in one.
		assert_ok!(add(one.run, other.run));
		assert_eq!(bridge(one.run), None);
		one.round(3);
		assert_eq!(leads_to(one.run), Some((other.run, 2, checkpoint(2))));
	});
}

#[test]
fn every_round_draws_one_of_those_who_count_and_one_of_the_other_cohorts_by_its_seed() {
	build_and_execute(|| {
		let cohorts = family([3, 3, 2]);
		let mut newest = [(0, 0xff); 3];
		let mut seen = BTreeSet::new();
		for (number, place) in (0..60).map(|number| (number, usize::from(number % 3))) {
			let cohort = &cohorts[place];
			cohort.round(number + 1);
			newest[place] = (u32::from(number / 3) + 1, number + 1);
			if number < 2 {
				continue;
			}
			let others: Vec<usize> = (0..3).filter(|other| *other != place).collect();
			let (to, who) = drawn(cohort.run, 2, cohort.workers.len() as u64);
			let (round, root) = newest[others[to]];
			let bridge = bridge(cohort.run).expect("a bridge");
			assert_eq!(bridge.who, cohort.workers[who]);
			assert_eq!((bridge.run, bridge.round, bridge.checkpoint), (cohorts[others[to]].run, round, checkpoint(root)));
			seen.insert((place, others[to], who));
		}
		// Each of 3, 3 and 2 to each of two others.
		assert_eq!(seen.len(), 16);
	});
}

#[test]
fn nobody_is_a_bridge_who_does_not_count_or_is_alone() {
	build_and_execute(|| {
		let [one, other, alone] = family_of(RunConfig { min_participants: 1, ..config() }, [3, 2, 1]);
		let gone = &one.workers[0];
		let left = &one.workers[1..];
		other.round(200);
		for number in 0..12 {
			to_checkpointing(one.run, &one.workers);
			// The places of the next round are fixed.
			assert_ok!(leave(gone, one.run));
			attest_all(one.run, &one.workers, 2 * number + 1);
			assert_eq!(round(one.run).participants.iter().map(|one| one.counted).collect::<Vec<_>>(), [false, true, true]);
			let (_, who) = drawn(one.run, 1, 2);
			assert_eq!(bridge(one.run).expect("a bridge").who, left[who]);
			assert_ok!(join(gone, one.run));
			full_round(one.run, left, 2 * number + 2);
			// As many rounds in the other cohorts, so that they are not too far behind.
			(0..2).for_each(|_| other.round(200));
			(0..2).for_each(|_| alone.round(201));
			assert_eq!(bridge(alone.run), None);
		}
		// Of two places one counts.
		to_checkpointing(other.run, &other.workers);
		assert_ok!(leave(&other.workers[1], other.run));
		attest_all(other.run, &other.workers, 202);
		assert_eq!((round(other.run).participants.len(), bridge(other.run)), (2, None));
		assert_eq!(Bridges::<Test>::iter_key_prefix(alone.run).count(), 0);
		assert!(bridge(one.run).is_some(), "to those who are alone others may be bridges");
	});
}

#[test]
fn no_bridge_leads_to_a_cohort_that_is_more_than_four_rounds_behind() {
	build_and_execute(|| {
		let [one, other] = family([2, 2]);
		other.round(101);
		for number in 1..=5 {
			one.round(number);
			assert_eq!(leads_to(one.run), Some((other.run, 1, checkpoint(101))), "it is up to four rounds behind");
		}
		one.round(6);
		assert_eq!(leads_to(one.run), None);
		// The other way it is however many rounds ahead.
		other.round(102);
		assert_eq!(leads_to(other.run), Some((one.run, 6, checkpoint(6))));
		one.round(7);
		assert_eq!(leads_to(one.run), None, "seven less two are five");
		(103..=104).for_each(|number| other.round(number));
		one.round(8);
		assert_eq!(leads_to(one.run), Some((other.run, 4, checkpoint(104))));
	});
}

#[test]
fn where_a_cohort_is_of_no_use_the_next_one_is_taken_for_it() {
	build_and_execute(|| {
		let [one, slow, other] = family([2, 2, 2]);
		// Plays rounds of these numbers and returns which of the two others were drawn.
		let play = |numbers: core::ops::RangeInclusive<u8>| {
			let rounds = numbers.map(|number| {
				other.round(100 + number);
				one.round(number);
				assert_eq!(leads_to(one.run), Some((other.run, number.into(), checkpoint(100 + number))));
				drawn(one.run, 2, 2).0
			});
			rounds.collect::<BTreeSet<_>>()
		};
		assert_eq!(play(1..=4), [0, 1].into(), "one has adopted nothing");
		slow.round(50);
		other.round(105);
		one.round(5);
		assert_eq!(play(6..=14), [0, 1].into(), "one is too far behind");
	});
}

#[test]
fn no_more_than_four_cohorts_are_looked_at() {
	build_and_execute(|| {
		MaxActiveRuns::set(9);
		// Five others wait for members. The one that can be used is the last one of six.
		let run = create(config());
		(0..5).for_each(|_| add(run, create(config())).expect("runs that are alike"));
		let [one, other] = [(run, [1, 2]), (create(config()), [3, 4])].map(|(run, numbers)| {
			numbers.iter().for_each(|number| join(&worker(*number), run).expect("a free place"));
			Cohort { run, workers: numbers.map(worker).to_vec() }
		});
		assert_ok!(add(one.run, other.run));
		skip(3);
		let mut seen = BTreeSet::new();
		for number in 1..=30 {
			other.round(100 + number);
			one.round(number);
			let (first, _) = drawn(one.run, 6, 2);
			// From the third one on, it is the fourth at most.
			assert_eq!(leads_to(one.run).map(|(run, ..)| run), Some(other.run).filter(|_| first >= 2));
			seen.insert(first);
		}
		assert_eq!(seen, (0..6).collect());
	});
}

#[test]
fn no_bridge_leads_to_a_checkpoint_with_a_fraud_that_is_known() {
	build_and_execute(|| {
		let [one, other] = family([2, 3]);
		other.round(1);
		one.round(2);
		condemn_work(other.run, 0, &other.workers[0]);
		assert_eq!(Runs::<Test>::get(other.run).unwrap().replay, Some(0));
		assert_eq!(leads_to(one.run), Some((other.run, 1, checkpoint(1))), "what was drawn stays");
		one.bridged_round(3);
		assert_eq!(leads_to(one.run), None);
		// The next checkpoint is without it.
		let left = &other.workers[1..];
		full_round(other.run, left, 4);
		one.round(5);
		assert_eq!(leads_to(one.run), Some((other.run, 2, checkpoint(4))));
		// So with one that has lost its two thirds.
		left.iter().for_each(|who| condemn_attestation(other.run, 1, who));
		assert_eq!(Runs::<Test>::get(other.run).unwrap().replay, Some(0));
		one.round(6);
		assert_eq!(leads_to(one.run), None);
	});
}

#[test]
fn no_bridge_leads_to_a_cohort_that_has_ended() {
	build_and_execute(|| {
		let [one, ended, third] = family([2, 2, 2]);
		ended.round(1);
		third.round(2);
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), ended.run));
		for number in 3..7 {
			one.round(number);
			assert_eq!(leads_to(one.run), Some((third.run, 1, checkpoint(2))));
		}
		assert_ok!(Training::force_stop_run(RuntimeOrigin::signed(STOPPER), third.run, Default::default()));
		assert!(bridge(one.run).is_some(), "what was drawn stays");
		one.bridged_round(7);
		assert_eq!(bridge(one.run), None);
		assert_eq!(judged_by(one.run, 4, &one.workers).iter().filter(|claim| claim.0 == checkpoint(2)).count(), 1);
	});
}

#[test]
fn the_work_of_a_bridge_is_judged_from_the_other_checkpoint_and_against_its_own() {
	build_and_execute(|| {
		let [one, other] = family([3, 2]);
		other.round(50);
		other.round(51);
		one.round(1);
		let seed = round(one.run).seed;
		let drawn = one.reveal_bridged();
		let taken = Bridge { taken: true, ..drawn.clone() };
		assert_eq!((drawn.round, drawn.taken, bridge(one.run)), (2, false, Some(taken.clone())));
		vote_all(one.run, &one.workers);
		attest_all(one.run, &one.workers, 2);
		let record = Training::record(one.run, 1).expect("a record");
		assert_eq!(record.bridge, Some(taken.clone()));
		for (who, claim) in one.workers.iter().zip(judged_by(one.run, 1, &one.workers)) {
			let is_bridge = *who == drawn.who;
			assert_eq!(record.bridged(who), Some(&taken).filter(|_| is_bridge));
			let base = Base { checkpoint: checkpoint(1), round: 1 };
			assert_eq!(claim, if is_bridge { (checkpoint(51), 2, Some(base)) } else { (checkpoint(1), 1, None) });
		}
		// Its windows are its own, as if it had started like the others.
		let place = one.workers.iter().position(|who| *who == drawn.who).expect("one of them");
		let claim = Training::work(one.run, 1, &drawn.who).expect("it revealed");
		assert_eq!((claim.draw.seed, claim.position as usize, claim.steps), (seed, place, 4));
		assert_eq!(claim.work_hash, Records::<Test>::get(one.run, 1).unwrap().places[place].revealed.unwrap().work_hash);
		// Nothing of it is known in the round before.
		assert_eq!(judged_by(one.run, 0, &one.workers), [(checkpoint(0xff), 0, None); 3]);
	});
}

#[test]
fn a_bridge_that_starts_like_the_others_is_judged_like_them() {
	build_and_execute(|| {
		let [one, _] = with_a_bridge([3, 2]);
		let drawn = bridge(one.run).expect("a bridge");
		one.round(3);
		let record = Training::record(one.run, 1).expect("a record");
		assert_eq!((record.bridged(&drawn.who), &record.bridge), (None, &Some(drawn.clone())));
		assert_eq!(judged_by(one.run, 1, &one.workers), [(checkpoint(1), 1, None); 3]);
	});
}

#[test]
fn a_bridge_that_drops_out_leaves_a_round_like_any_other() {
	build_and_execute(|| {
		let [one, _] = with_a_bridge([3, 2]);
		let drawn = bridge(one.run).expect("a bridge");
		let left = one.without(&drawn.who);
		commit_all(one.run, &left);
		run_to_deadline(one.run);
		reveal_all(one.run, &left);
		vote_all(one.run, &left);
		attest_all(one.run, &left, 3);
		assert_eq!(Training::record(one.run, 1).expect("a record").bridge, Some(drawn.clone()));
		assert_eq!(Training::work(one.run, 1, &drawn.who), None);
		assert_eq!(judged_by(one.run, 1, &left), [(checkpoint(1), 1, None); 2]);
	});
}

#[test]
fn nobody_but_the_bridge_starts_from_elsewhere() {
	build_and_execute(|| {
		let [one, other] = with_a_bridge([3, 2]);
		let drawn = bridge(one.run).expect("a bridge");
		assert_eq!(bridge(other.run), None);
		for cohort in [&one, &other] {
			for who in &cohort.workers {
				assert_ok!(commit_bridged_to(who, cohort.run, &work(who, cohort.run), drawn.checkpoint));
			}
			for who in cohort.workers.iter().filter(|who| **who != drawn.who) {
				assert_noop!(reveal(who, cohort.run), Error::<Test>::SealBroken);
			}
		}
		assert_eq!(bridge(one.run).map(|bridge| bridge.taken), Some(false));
		assert_ok!(reveal(&drawn.who, one.run));
		assert_eq!(bridge(one.run).map(|bridge| bridge.taken), Some(true));
	});
}

#[test]
fn a_bridge_starts_from_the_checkpoint_that_was_drawn_and_from_no_other_one() {
	build_and_execute(|| {
		let [one, other] = with_a_bridge([2, 2]);
		other.round(3);
		let who = &bridge(one.run).expect("a bridge").who;
		// That of its own cohort, the first one of both, what the other has by now, and none at all.
		for number in [1, 0xff, 3, 0] {
			let _ = frame_support::storage::with_storage_layer(|| {
				commit_bridged_to(who, one.run, &work(who, one.run), checkpoint(number))?;
				commit_all(one.run, &one.without(who));
				assert_noop!(reveal(who, one.run), Error::<Test>::SealBroken);
				Err::<(), _>(DispatchError::Other("the next one is tried in its place"))
			});
		}
		assert_ok!(commit_bridged_to(who, one.run, &work(who, one.run), checkpoint(2)));
		commit_all(one.run, &one.without(who));
		assert_ok!(reveal(who, one.run));
	});
}

#[test]
fn a_commitment_is_opened_by_what_was_committed_to_and_a_refused_reveal_takes_no_bridge() {
	build_and_execute(|| {
		let [one, _] = with_a_bridge([2, 2]);
		let Bridge { who, checkpoint: start, .. } = &bridge(one.run).expect("a bridge");
		let sealed = work(who, one.run);
		assert_ok!(commit_bridged_to(who, one.run, &sealed, *start));
		commit_all(one.run, &one.without(who));
		let mut other = sealed.clone();
		other.delta_root = checkpoint(9);
		assert_noop!(reveal_work(who, one.run, other), Error::<Test>::SealBroken);
		let ((index, attempt), proof) = (at(one.run), proof(one.run, &sealed));
		let reveal = |signature| {
			let origin = RuntimeOrigin::signed(who.clone());
			let revealed = Training::reveal(origin, one.run, index, attempt, [3; 32], sealed.clone(), proof, signature);
			revealed.map(|_| ()).map_err(|error| error.error)
		};
		assert_noop!(reveal(BAD_SIGNATURE), DispatchError::Other("bad signature"));
		assert_eq!(bridge(one.run).map(|bridge| bridge.taken), Some(false));
		assert_ok!(reveal([1; 65]));
		assert_eq!(bridge(one.run).map(|bridge| bridge.taken), Some(true));
	});
}

#[test]
fn a_bridge_changes_neither_outer_steps_nor_what_attestations_are_judged_by() {
	build_and_execute(|| {
		let [one, _] = with_a_bridge([3, 2]);
		let deltas = one.deltas();
		one.reveal_bridged();
		vote_all(one.run, &one.workers);
		let job = OuterJob { first_round: 1, start: checkpoint(1), steps: vec![deltas], inner_steps: vec![] };
		assert_eq!(Training::outer_job(one.run), Some(job.clone()));
		attest_all(one.run, &one.workers, 3);
		for who in &one.workers {
			let claim = Training::attestation(one.run, 1, who).expect("it attested");
			assert_eq!((claim.job, claim.checkpoint), (job.clone(), checkpoint(3)));
		}
		assert_eq!(Training::run(one.run).unwrap().checkpoint, checkpoint(3));
		let steps = one.workers.iter().map(|who| (who.clone(), 4)).collect::<Vec<_>>();
		assert_eq!(Training::revealed(one.run, 1), steps);
		assert!(one.workers.iter().all(|who| fate(who, one.run, 1) == Some(Fate::Unpaid(256))));
	});
}

#[test]
fn the_false_work_of_a_bridge_is_left_out_like_any_other() {
	build_and_execute(|| {
		let [one, _] = with_a_bridge([3, 2]);
		let deltas = one.deltas();
		let liar = one.bridged_round(3).who;
		let claim = Training::work(one.run, 1, &liar);
		condemn_work(one.run, 1, &liar);
		let left = one.without(&liar);
		let place = one.workers.iter().position(|who| *who == liar).expect("one of them");
		let honest: Vec<_> = deltas.into_iter().enumerate().filter(|(other, _)| *other != place).map(|(_, root)| root).collect();
		to_checkpointing(one.run, &left);
		let job = Training::outer_job(one.run).expect("Checkpointing");
		assert_eq!((job.first_round, job.start, &job.steps[0]), (1, checkpoint(1), &honest));
		attest_all(one.run, &left, 4);
		assert_eq!(Training::work(one.run, 1, &liar), claim, "another dispute judges it by the same");
		assert!(Training::record(one.run, 1).expect("a record").bridge.is_some_and(|bridge| bridge.taken));
	});
}

#[test]
fn outer_steps_that_are_redone_take_no_bridge_from_a_checkpoint_with_the_fraud_in_it() {
	build_and_execute(|| {
		// Rounds 1 and 2 have bridges. The fraud is in round 1: its own bridge is from a checkpoint before it.
		let [one, _] = with_a_bridge([4, 2]);
		let deltas = one.deltas();
		let first = one.bridged_round(3).who;
		let liar = one.without(&first).remove(0);
		let of_second = one.deltas();
		let second = one.bridged_round(4).who;
		condemn_work(one.run, 1, &liar);
		let left = one.without(&liar);
		let of_third = one.deltas();
		let third = bridge(one.run).expect("a bridge is drawn");
		for who in &left {
			commit_as(&third, who, one.run, &work(who, one.run));
		}
		reveal_all(one.run, &left);
		vote_all(one.run, &left);
		let without = |deltas: &[H256], gone: &[&AccountId]| -> Vec<H256> {
			let kept = one.workers.iter().zip(deltas).filter(|(who, _)| !gone.contains(who));
			kept.map(|(_, root)| *root).collect()
		};
		let job = Training::outer_job(one.run).expect("Checkpointing");
		let steps = vec![without(&deltas, &[&liar]), without(&of_second, &[&second]), without(&of_third, &[&third.who, &liar])];
		assert_eq!((job.first_round, job.start, &job.steps), (1, checkpoint(1), &steps));
		attest_all(one.run, &left, 5);
		let judged = |round| Training::attestation(one.run, round, &left[0]).expect("it attested").job;
		assert_eq!(judged(3), job, "it is judged by what was to be computed");
		assert_eq!(judged(2).steps, [of_second], "and what was computed before by what was known then");
	});
}

#[test]
fn a_run_that_is_approved_takes_nothing_from_one_whose_work_is_not_audited() {
	build_and_execute(|| {
		let [one, other] = family([2, 2]);
		assert_ok!(Training::approve_run(RuntimeOrigin::root(), one.run));
		other.round(1);
		one.round(2);
		assert_eq!((bridge(one.run), leads_to(other.run)), (None, None));
		other.round(3);
		assert_eq!(leads_to(other.run), Some((one.run, 1, checkpoint(2))), "the other way round there is nothing against it");
		assert_ok!(Training::approve_run(RuntimeOrigin::root(), other.run));
		one.round(4);
		assert_eq!(leads_to(one.run), Some((other.run, 2, checkpoint(3))));
	});
}

#[test]
fn outer_steps_that_are_to_be_redone_leave_the_bridge_of_the_round_under_way_as_it_is() {
	build_and_execute(|| {
		let [one, _] = with_a_bridge([3, 2]);
		let drawn = one.reveal_bridged();
		vote_all(one.run, &one.workers);
		let liar = one.without(&drawn.who).remove(0);
		condemn_work(one.run, 0, &liar);
		assert_eq!((phase(one.run), at(one.run)), (Phase::Checkpointing, (1, 1)));
		let taken = Some(Bridge { taken: true, ..drawn.clone() });
		assert_eq!(bridge(one.run), taken);
		attest_all(one.run, &one.without(&liar), 3);
		assert_eq!(Training::record(one.run, 1).expect("a record").bridge, taken);
		let base = Base { checkpoint: checkpoint(1), round: 1 };
		assert_eq!(judged_by(one.run, 1, &[drawn.who]), [(checkpoint(2), 1, Some(base))]);
	});
}

#[test]
fn an_attempt_after_an_aborted_one_draws_anew_and_leads_to_what_is_newest_then() {
	build_and_execute(|| {
		let [one, other] = with_a_bridge([2, 2]);
		let before = round(one.run);
		one.reveal_bridged();
		other.round(3);
		// Nobody votes, and nobody is left.
		run_to_deadline(one.run);
		assert_eq!((phase(one.run), bridge(one.run)), (Phase::Joining, None));
		assert!(one.bridges().is_empty());
		one.workers.iter().for_each(|who| join(who, one.run).expect("a free place"));
		skip(3);
		let after = round(one.run);
		assert_eq!((after.round, after.attempt), (1, 1));
		assert_ne!(after.seed, before.seed);
		let (_, who) = drawn(one.run, 1, 2);
		let expected = Bridge { who: one.workers[who].clone(), run: other.run, round: 2, checkpoint: checkpoint(3), taken: false };
		assert_eq!(bridge(one.run), Some(expected.clone()));
		one.bridged_round(4);
		let base = Base { checkpoint: checkpoint(1), round: 1 };
		assert_eq!(judged_by(one.run, 1, &[expected.who]), [(checkpoint(3), 2, Some(base))]);
	});
}

#[test]
fn an_attempt_in_which_outer_steps_are_redone_has_no_bridge() {
	build_and_execute(|| {
		let [one, other] = with_a_bridge([4, 2]);
		one.reveal_bridged();
		let liar = one.workers[0].clone();
		condemn_work(one.run, 0, &liar);
		// Nobody votes, and nobody is left.
		run_to_deadline(one.run);
		let left = one.without(&liar);
		left.iter().for_each(|who| join(who, one.run).expect("a free place"));
		skip(3);
		assert_eq!((phase(one.run), at(one.run)), (Phase::Training, (1, 1)));
		assert_eq!(Runs::<Test>::get(one.run).expect("a run").replay, Some(0));
		assert_eq!((bridge(one.run), one.bridges()), (None, BTreeSet::new()));
		// All deltas count.
		full_round(one.run, &left, 5);
		assert_eq!(Training::record(one.run, 1).expect("a record").included.len(), 3);
		assert_eq!(leads_to(one.run), Some((other.run, 1, checkpoint(2))));
	});
}

#[test]
fn an_attempt_that_begins_at_once_draws_anew_for_whoever_is_left() {
	build_and_execute(|| {
		let mut seen = BTreeSet::new();
		let [one, other] = with_a_bridge([3, 2]);
		for attempt in 0..6 {
			assert_eq!(at(one.run), (1, attempt));
			let (_, who) = drawn(one.run, 1, 3);
			let expected = Bridge { who: one.workers[who].clone(), run: other.run, round: 1, checkpoint: checkpoint(2), taken: false };
			assert_eq!(bridge(one.run), Some(expected));
			seen.insert(who);
			one.reveal_bridged();
			assert_eq!(bridge(one.run).map(|bridge| bridge.taken), Some(true));
			// No delta can be had: the vote is repeated twice.
			for _ in 0..3 {
				one.workers.iter().for_each(|who| vote(who, one.run, &[false; 3]).expect("a vote"));
				skip(1);
			}
		}
		assert!(seen.len() > 1, "not always the same");
		// Two of them are gone, and there is no bridge where one is left: it waits for others.
		one.workers[..2].iter().for_each(|who| provider(who, |provider| provider.active = false));
		one.reveal_bridged();
		for _ in 0..3 {
			one.workers.iter().for_each(|who| vote(who, one.run, &[false; 3]).expect("a vote"));
			skip(1);
		}
		assert_eq!((phase(one.run), at(one.run), bridge(one.run)), (Phase::Joining, (1, 7), None));
	});
}

#[test]
fn a_bridge_takes_as_many_steps_as_it_likes_where_others_do() {
	build_and_execute(|| {
		let [one, other] = family_of(unequal::unequal(3), [3, 2]);
		let play = |cohort: &Cohort, root| {
			unequal::round_of(cohort.run, &cohort.workers, &[9, 3, 6][..cohort.workers.len()]);
			attest_all(cohort.run, &cohort.workers, root);
		};
		play(&other, 2);
		play(&one, 1);
		// Whoever comes while the round is trained moves nobody, and is no bridge.
		let drawn = bridge(one.run).expect("a bridge");
		let late = worker(9);
		assert_ok!(join(&late, one.run));
		assert_eq!(bridge(one.run), Some(drawn.clone()));
		let all: Vec<_> = one.workers.iter().chain([&late]).cloned().collect();
		let works: Vec<_> = all.iter().map(|who| unequal::work_of(who, one.run, if *who == drawn.who { 6 } else { 9 })).collect();
		for (who, work) in all.iter().zip(&works) {
			commit_as(&drawn, who, one.run, work);
		}
		all.iter().zip(works).for_each(|(who, work)| reveal_work(who, one.run, work).expect("a reveal"));
		vote_all(one.run, &all);
		attest_all(one.run, &all, 3);
		let claim = Training::work(one.run, 1, &drawn.who).expect("it revealed");
		let base = Base { checkpoint: checkpoint(1), round: 1 };
		assert_eq!((claim.steps, claim.start, claim.start_round, claim.base), (6, checkpoint(2), 1, Some(base)));
		assert_eq!(judged_by(one.run, 1, &[late]), [(checkpoint(1), 1, None)]);
	});
}

#[test]
fn a_bridge_goes_with_the_record_of_its_round() {
	build_and_execute(|| {
		let [one, other] = family([2, 2]);
		other.round(101);
		one.round(1);
		for number in 2..=5 {
			other.round(100 + number);
			one.bridged_round(number);
		}
		// Three records are kept, and round 5 is under way.
		assert_eq!(one.bridges(), [2, 3, 4, 5].into());
		assert_eq!(Training::record(one.run, 1), None);
		for round in 2..5 {
			let bridge = Training::record(one.run, round).and_then(|record| record.bridge).expect("a record with a bridge");
			let number = u8::try_from(round).unwrap();
			assert_eq!((bridge.round, bridge.checkpoint, bridge.taken), (round, checkpoint(100 + number), true));
		}
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), one.run));
		assert_eq!(one.bridges(), [2, 3, 4].into(), "that of the round under way is gone");
		skip(20);
		let records = || Records::<Test>::iter_key_prefix(one.run).collect::<BTreeSet<_>>();
		for left in [2, 0] {
			assert_ok!(Training::remove_run(RuntimeOrigin::signed(SPONSOR), one.run, 3 - left));
			assert_eq!((one.bridges().len(), one.bridges()), (left as usize, records()));
			assert_ok!(Training::do_try_state());
		}
		assert!(!Runs::<Test>::contains_key(one.run) && !other.bridges().is_empty());
	});
}

#[test]
fn a_run_that_ends_leaves_its_family_and_the_last_one_leaves_none() {
	build_and_execute(|| {
		let [one, first, other] = runs();
		[one, other].iter().for_each(|run| add(first, *run).expect("runs that are alike"));
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), first));
		assert_eq!([one, first, other].map(Training::cohorts), [vec![one, other], vec![], vec![one, other]]);
		// Its name is left to the others, which take newcomers in.
		assert_eq!(Cohorts::<Test>::iter_keys().collect::<Vec<_>>(), [first]);
		let newcomer = create(config());
		assert_noop!(add(first, newcomer), Error::<Test>::RunFinished);
		assert_ok!(add(one, newcomer));
		assert_eq!(Training::cohorts(other), [one, other, newcomer]);
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), newcomer));
		assert_ok!(Training::force_stop_run(RuntimeOrigin::signed(STOPPER), other, Default::default()));
		assert_eq!(Training::cohorts(one), [one]);
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), one));
		assert_eq!((Cohorts::<Test>::iter_keys().count(), Families::<Test>::iter_keys().count()), (0, 0));
	});
}

#[test]
fn a_run_leaves_its_family_with_its_last_round() {
	build_and_execute(|| {
		let [one, other] = family_of(RunConfig { rounds: Some(2), ..config() }, [2, 2]);
		other.round(2);
		one.round(1);
		let drawn = one.bridged_round(3);
		System::assert_has_event(Event::RunFinished { run: one.run, rounds: 2, checkpoint: checkpoint(3), stopped: false }.into());
		assert_eq!((Training::cohorts(one.run), Training::cohorts(other.run)), (vec![], vec![other.run]));
		assert_eq!(one.bridges(), [1].into());
		other.round(4);
		assert_eq!(Families::<Test>::iter_keys().count(), 0);
		// Both are over; what was claimed in them is judged as before.
		let base = Base { checkpoint: checkpoint(1), round: 1 };
		assert_eq!(judged_by(one.run, 1, &[drawn.who]), [(checkpoint(2), 1, Some(base))]);
	});
}

#[test]
fn bridged_work_is_judged_as_before_when_both_cohorts_have_ended_and_the_other_is_gone() {
	build_and_execute(|| {
		let [one, other] = with_a_bridge([2, 2]);
		let drawn = one.bridged_round(3);
		let before = Training::work(one.run, 1, &drawn.who).expect("it revealed");
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), other.run));
		skip(10);
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), one.run));
		skip(10);
		assert_ok!(Training::remove_run(RuntimeOrigin::signed(SPONSOR), other.run, 9));
		assert!(!Runs::<Test>::contains_key(other.run));
		assert_eq!(Training::work(one.run, 1, &drawn.who), Some(before));
		condemn_work(one.run, 1, &drawn.who);
		assert_eq!(fate(&drawn.who, one.run, 1), Some(Fate::Void));
	});
}
