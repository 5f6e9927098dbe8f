//! Replaying whole runs: agreement is claimed for rounds that were recomputed, and for nothing else.

use neuroshard_types::run::RoundRecord;
use neuroshard_types::{
	run::{PhaseDurations, RunConfig},
	AccountId, TrainConfig, F32, H256, NEURO,
};
use neuroshard_worker::{
	data::{
		corpus::{path_corpus, CorpusLimits},
		dataset::{build, BuildOptions},
		loader::Loader,
	},
	engine::Engine,
	train::{
		checkpoint::{decode_delta, Checkpoint},
		outer::{apply_outer, attest},
		presets,
		replay::{replay_run, AdoptedRound, Progress, ReplayError},
		round::Training,
	},
};
use std::sync::atomic::AtomicBool;

/// A run of two providers and two rounds that was trained honestly, and its last checkpoint.
struct Run {
	folder: tempfile::TempDir,
	loader: Loader,
	config: RunConfig,
	rounds: Vec<AdoptedRound>,
	last: Checkpoint,
}

const RUN: u32 = 3;

fn run() -> Run {
	let (model, train) = presets::tiny();
	let train = TrainConfig { inner_steps: 4, commit_interval: 2, batch: 4, warmup_steps: 2, ..train };
	let document = |number: u32| format!("document {number} says that {} is a number.\n", number * 7).repeat(30).into_bytes();
	let folder = tempfile::tempdir().unwrap();
	let text = tempfile::tempdir().unwrap();
	(0..120).for_each(|number| std::fs::write(text.path().join(format!("{number}.txt")), document(number)).unwrap());
	let corpus = path_corpus(text.path(), CorpusLimits::default()).unwrap();
	let options = BuildOptions { tokens_per_shard: 8_192, held_out: 2, ..BuildOptions::default() };
	let manifest = build(&corpus, &options, folder.path()).unwrap().manifest;
	let loader = Loader::new(folder.path(), manifest.shape, manifest.vocab).unwrap();
	let mut engine = Engine::new(&model, &train, 2).unwrap();
	let mut last = Checkpoint::genesis(RUN, &model, &train, 2).unwrap();
	let config = RunConfig {
		name: Default::default(),
		dataset: 0,
		genesis_root: last.header.root(),
		model,
		train,
		min_participants: 1,
		max_participants: 2,
		min_bond: NEURO,
		rounds: Some(2),
		durations: PhaseDurations { joining: 1, training: 1, revealing: 1, availability: 1, checkpointing: 1 },
	};
	let participants = [10, 20].map(|byte| AccountId::from([byte; 32])).to_vec();
	let mut rounds = Vec::new();
	for round in 0..2 {
		let (seed, start) = (H256([round; 32]), last.header.root());
		let (mut works, mut deltas) = (Vec::new(), Vec::new());
		for (position, account) in (0..).zip(&participants) {
			let training = Training::start(&mut engine, &last, &loader, position, seed).unwrap();
			let trained = training.run(&AtomicBool::new(false), |_| ()).unwrap();
			let delta = decode_delta(engine.layout(), &trained.delta, trained.work.delta_root, 1).unwrap();
			deltas.push((account.clone(), delta));
			works.push((account.clone(), trained.work));
		}
		last = apply_outer(&engine, &last, &deltas).unwrap();
		let attested = attest(&mut engine, &last, &loader).unwrap();
		let record = RoundRecord {
			seed,
			participants: participants.clone(),
			included: works.iter().map(|(account, work)| (account.clone(), work.delta_root)).collect(),
			checkpoint: attested.checkpoint,
			validation_loss: attested.validation_loss,
			adopted_at: 9,
			start,
			first_round: round.into(),
			excluded: Vec::new(),
			fallen: false,
			attested: Vec::new(),
		};
		rounds.push(AdoptedRound { record, works });
	}
	Run { folder, loader, config, rounds, last }
}

impl Run {
	fn replay(&self, rounds: &[AdoptedRound]) -> Result<Checkpoint, ReplayError> {
		replay_run(RUN, &self.config, rounds, &self.loader, 2, |_| ())
	}

	/// What a replay says if one thing in the second round were otherwise.
	fn replay_with(&self, change: impl FnOnce(&mut AdoptedRound)) -> ReplayError {
		let mut rounds = self.rounds.clone();
		change(&mut rounds[1]);
		let Err(error) = self.replay(&rounds) else { panic!("agreed") };
		assert!(error.is_difference(), "{error:?}");
		error
	}
}

#[test]
fn an_honest_run_agrees_round_by_round() {
	let run = run();
	let mut told = Vec::new();
	let tell = |progress: Progress<'_>| {
		if let Progress::Round(round, root, _) = progress {
			told.push((round, root));
		}
	};
	let last = replay_run(RUN, &run.config, &run.rounds, &run.loader, 1, tell).unwrap();
	assert_eq!(last, run.last);
	assert_eq!(told, [(0, run.rounds[0].record.checkpoint), (1, run.rounds[1].record.checkpoint)]);
}

#[test]
fn whatever_differs_in_a_later_round_is_named_with_its_round() {
	let run = run();
	let cheat = run.rounds[1].works[1].0.clone();
	let other = H256([1; 32]);

	let error = run.replay_with(|round| round.record.included[1].1 = other);
	assert!(matches!(&error, ReplayError::Delta { round: 1, account, .. } if *account == cheat), "{error:?}");
	let error = run.replay_with(|round| round.works[1].1.state_roots[0] = other);
	assert!(matches!(&error, ReplayError::Work { round: 1, account, .. } if *account == cheat), "{error:?}");
	let error = run.replay_with(|round| round.record.checkpoint = other);
	assert!(matches!(&error, ReplayError::Checkpoint { round: 1, expected, .. } if *expected == other), "{error:?}");
	let error = run.replay_with(|round| round.record.validation_loss = F32::new(0.5));
	assert!(matches!(&error, ReplayError::ValidationLoss { round: 1, .. }), "{error:?}");
	let error = run.replay_with(|round| round.record.seed = H256([77; 32]));
	assert!(matches!(&error, ReplayError::Delta { round: 1, .. }), "{error:?}");
	let error = run.replay_with(|round| drop(round.works.remove(1)));
	assert!(matches!(&error, ReplayError::NotRevealed { round: 1, account } if *account == cheat), "{error:?}");
	assert!(error.to_string().contains("without having revealed"), "{error}");
}

#[test]
fn a_first_checkpoint_that_is_not_the_seeds_is_a_difference() {
	let mut run = run();
	run.config.genesis_root = H256([1; 32]);
	let Err(error) = run.replay(&run.rounds) else { panic!("agreed") };
	assert!(matches!(error, ReplayError::Genesis { expected, .. } if expected == H256([1; 32])), "{error:?}");
	assert!(error.is_difference());
}

#[test]
fn a_run_without_adopted_rounds_gives_no_answer() {
	let run = run();
	let Err(error) = run.replay(&[]) else { panic!("agreed") };
	assert!(matches!(error, ReplayError::NoRounds) && !error.is_difference(), "{error:?}");
}

#[test]
fn a_dataset_that_cannot_be_read_gives_no_answer_either() {
	let run = run();
	std::fs::remove_dir_all(run.folder.path().join("shards")).unwrap();
	let Err(error) = run.replay(&run.rounds) else { panic!("agreed") };
	assert!(matches!(error, ReplayError::Train { round: 0, .. }) && !error.is_difference(), "{error:?}");
}
