//! What holds in every simulated network, for a fixed number of seeds.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use neuroshard_sim::{
	chain::Terms,
	report::Report,
	world::{Plan, World},
};
use neuroshard_types::run::PhaseDurations;

/// Seeds of networks in which things go wrong.
const SEEDS: u64 = 24;

fn plan(providers: u32, places: u32, rounds: u32, seed: u64) -> Plan {
	let durations = PhaseDurations { joining: 20, training: 70, revealing: 20, availability: 20, checkpointing: 20 };
	let terms = Terms { inner_steps: 500, least_steps: None, rounds, durations, family: false };
	Plan { providers, places, terms, apart_ms: 0, seed, faults_every_ms: None, checked_every: 10 }
}

fn run(plan: Plan) -> Report {
	World::new(plan).expect("a network").run(5_000)
}

/// With every second seed, each provider takes as many inner steps as its machine does in time; with every third one, the runs are cohorts of a family.
fn with_faults(seed: u64) -> Report {
	let plan = plan(12, 6, 5, seed);
	let least_steps = seed.is_multiple_of(2).then_some(50);
	let family = seed.is_multiple_of(3);
	run(Plan { faults_every_ms: Some(20_000), terms: Terms { least_steps, family, ..plan.terms.clone() }, ..plan })
}

#[test]
fn whatever_goes_wrong_every_run_goes_on_to_its_end_and_nobody_loses_anything() {
	let (mut kills, mut partitions, mut stalls, mut reports, mut late, mut bridged) = (0, 0, 0, 0, 0, 0);
	for seed in 1..=SEEDS {
		let report = with_faults(seed);
		assert_eq!(report.check(), Ok(()), "seed {seed}: {report:?}");
		(kills, partitions, stalls) = (kills + report.kills, partitions + report.partitions, stalls + report.stalls);
		reports += report.reports;
		late += report.late;
		bridged += report.bridged;
	}
	assert!(kills > 5 * SEEDS as u32 && partitions > SEEDS as u32 && stalls > SEEDS as u32 / 2, "{kills}, {partitions}, {stalls}");
	assert!(reports > 0, "nobody was reported missing");
	assert!(bridged > SEEDS, "nobody started from the checkpoint of another cohort: {bridged}");
	assert!(late > 0, "nobody took part in a round that was being trained when it came back");
}

#[test]
fn the_same_seed_gives_the_same_blocks_and_another_one_others() {
	let [one, again, other] = [7, 7, 8].map(with_faults);
	assert_eq!(one, again);
	assert_ne!(one.digest, other.digest);
}

#[test]
fn where_deltas_weigh_by_inner_steps_machines_four_times_slower_are_in_every_round() {
	let plan = plan(40, 40, 3, 1);
	let durations = PhaseDurations { training: 20, ..plan.terms.durations };
	let report = run(Plan { terms: Terms { least_steps: Some(50), durations, ..plan.terms.clone() }, ..plan.clone() });
	assert_eq!(report.check(), Ok(()));
	assert_eq!((report.places, report.included), (3 * 40, 3 * 40), "{report:?}");
	// 12 of 20 blocks are for training: 36 seconds of steps of 50 to 200 ms, in whole intervals of 50.
	assert_eq!(report.inner_steps, Some([150, 500]), "{report:?}");

	// Where all have to take as many, the slow ones drop out.
	let equal = run(Plan { terms: Terms { durations, ..plan.terms.clone() }, ..plan });
	assert!(equal.included < 2 * 40, "{equal:?}");
}

#[test]
fn without_faults_a_provider_sends_four_extrinsics_a_round_however_many_there_are() {
	for providers in [10, 100, 300] {
		let report = run(plan(providers, 128, 2, 1));
		assert_eq!(report.check(), Ok(()), "{providers} providers");
		assert_eq!((report.acts_per_round(), report.reports), (4.0, 0), "{providers} providers: {report:?}");
		// A checkpoint needs two thirds: attestations that come after them are refused.
		assert!(report.extrinsics[1] <= u64::from(providers * report.rounds / 3), "{providers} providers: {report:?}");
		assert!(report.most_used < 0.5, "{providers} providers take {} of a block", report.most_used);
	}
}

#[test]
fn more_than_a_thousand_train_one_model_in_cohorts_of_which_each_round_takes_in_another_one() {
	let family = |providers, places| {
		let plan = plan(providers, places, 3, 1);
		// As with any runs, not all come in one block.
		run(Plan { terms: Terms { family: true, ..plan.terms.clone() }, apart_ms: 3_000, checked_every: 1_000, ..plan })
	};
	for (providers, places, cohorts) in [(60, 6, 10), (1_280, 128, 10)] {
		let report = family(providers, places);
		assert_eq!(report.check(), Ok(()), "{providers} providers");
		assert_eq!(report.included, u64::from(3 * providers), "everybody is included, bridges among them");
		// When their second rounds begin, the first ones find nobody who has adopted one, or do not meet who has.
		assert!((3 * cohorts / 2..=2 * cohorts - 1).contains(&report.bridged), "{} bridges", report.bridged);
		assert_eq!((report.acts_per_round(), report.reports), (4.0, 0), "as much for each as in one cohort");
		assert!(report.most_used < 0.5, "{providers} providers take {} of a block", report.most_used);
	}
}
