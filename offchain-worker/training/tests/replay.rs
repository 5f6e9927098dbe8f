//! Replaying whole runs: agreement is claimed for rounds that were recomputed, and for nothing else.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use codec::Encode;
use neuroshard_data::{
	build::{build, BuildOptions},
	corpus::{path_corpus, CorpusLimits},
	loader::Loader,
	tokenizer::Tokenizer,
};
use neuroshard_graph::{tiles, ParamLayout};
use neuroshard_store::Store;
use neuroshard_training::{
	checkpoint::{decode_delta, Checkpoint, Header},
	engine::{Device, Engine},
	files::{replay_run_in_files, InFiles},
	outer::{apply_outer, apply_outer_steps, attest, Included, OuterError},
	presets,
	replay::{replay_run, AdoptedRound, Progress, ReplayError},
	round::Training,
};
use neuroshard_types::{
	assignment::Draw,
	dispute::OuterJob,
	run::{Bridge, PhaseDurations, RoundRecord, RunConfig, RunStart},
	AccountId, Aggregator, Code, Compressed, Robust, Rule, TopK, TrainConfig, F32, H256, NEURO,
};
use std::{path::PathBuf, sync::atomic::AtomicBool};

/// A run of two providers, and its last checkpoint.
struct Run {
	folder: tempfile::TempDir,
	loader: Loader,
	config: RunConfig,
	rounds: Vec<AdoptedRound>,
	last: Checkpoint,
	/// What somebody must have kept: the false delta, and the wrong checkpoint.
	kept: tempfile::TempDir,
}

/// What was wrong in the first round, until the last one redid it.
#[derive(Clone, Copy, PartialEq)]
enum Fraud {
	None,
	/// The delta of the second provider.
	Delta,
	/// The adopted checkpoint.
	Checkpoint,
	/// Nothing, but the delta of the second provider was not included.
	LeftOut,
	/// Nothing, but the second provider started the second round from the checkpoint of another cohort.
	Bridge,
}

const RUN: u32 = 3;

/// Two rounds that were trained honestly.
fn run() -> Run {
	run_with(Fraud::None, 2)
}

fn run_with(fraud: Fraud, rounds_count: u8) -> Run {
	run_of(Aggregator::Mean, fraud, rounds_count)
}

fn run_of(aggregator: Aggregator, fraud: Fraud, rounds_count: u8) -> Run {
	let (model, train) = presets::tiny();
	let train = TrainConfig { inner_steps: 4, commit_interval: 2, batch: 4, warmup_steps: 2, aggregator, ..train };
	let document = |number: u32| format!("document {number} says that {} is a number.\n", number * 7).repeat(30).into_bytes();
	let folder = tempfile::tempdir().unwrap();
	let text = tempfile::tempdir().unwrap();
	(0..120).for_each(|number| std::fs::write(text.path().join(format!("{number}.txt")), document(number)).unwrap());
	let corpus = path_corpus(text.path(), CorpusLimits::default()).unwrap();
	let options = BuildOptions { tokens_per_shard: 8_192, held_out: 2, ..BuildOptions::default() };
	let manifest = build(&corpus, &Tokenizer::bytes(), &options, folder.path()).unwrap().dataset.manifest;
	let loader = Loader::new(folder.path(), manifest.shape, manifest.width()).unwrap();
	let mut engine = Engine::new(&model, &train, 2).unwrap();
	let mut last = Checkpoint::genesis(RUN, &model, &train, 2).unwrap();
	let config = RunConfig {
		name: Default::default(),
		dataset: 0,
		genesis_root: last.header.root(),
		start: RunStart::Seed,
		model,
		train,
		min_participants: 1,
		max_participants: 2,
		min_bond: NEURO,
		rounds: Some(2),
		durations: PhaseDurations { joining: 1, training: 1, revealing: 1, availability: 1, checkpointing: 1 },
		tokenizer: neuroshard_types::dataset::Tokenizer::BYTES,
		overlaps: false,
		epochs: true,
	};
	let participants = [10, 20].map(|byte| AccountId::from([byte; 32])).to_vec();
	let kept_folder = tempfile::tempdir().unwrap();
	let kept = Store::open(kept_folder.path(), 1 << 30).unwrap();
	let genesis = last.clone();
	// Where another cohort is after a round.
	let sibling = {
		let trained = Training::start(&mut engine, &genesis, &loader, 0, Draw::of_all(H256([99; 32])))
			.unwrap()
			.run(&AtomicBool::new(false), |_| ())
			.unwrap();
		let deltas = (aggregator == Aggregator::Mean).then(|| decode_delta(&engine, &trained.delta, trained.work.delta_root).unwrap());
		apply_outer(&engine, &genesis, &Included::from(deltas.into_iter().collect::<Vec<_>>())).unwrap()
	};
	if fraud == Fraud::Bridge {
		sibling.to_blobs(engine.layout()).iter().for_each(|blob| assert!(kept.put(blob).unwrap().leaves > 0));
		kept.set_note(sibling.header.root(), &sibling.header.encode()).unwrap();
	}
	let (mut rounds, mut lists) = (Vec::new(), Vec::<Vec<(H256, Vec<f32>)>>::new());
	let mut residuals: Vec<Option<Vec<f32>>> = vec![None; participants.len()];
	for round in 0..rounds_count {
		let (seed, start) = (H256([round; 32]), last.header.root());
		let (mut works, mut deltas) = (Vec::new(), Vec::new());
		for ((position, account), residual) in (0..).zip(&participants).zip(&mut residuals) {
			let (from, base) = match (fraud, round, position) {
				(Fraud::Bridge, 1, 1) => (&sibling, Some(last.params.as_slice())),
				_ => (&last, None),
			};
			let draw = Draw::new(&config, (RUN, round.into()), seed, &loader.shape());
			let training = Training::start(&mut engine, from, &loader, position, draw).unwrap().with_residual(residual.clone());
			let training = training.with_base(base);
			let mut trained = training.run(&AtomicBool::new(false), |_| ()).unwrap();
			let included = (fraud, round, position) != (Fraud::LeftOut, 0, 1);
			if included {
				*residual = trained.residual.as_ref().map(|bytes| tiles::decode(engine.layout(), bytes).unwrap());
			}
			let mut delta = decode_delta(&engine, &trained.delta, trained.work.delta_root).unwrap();
			if (fraud, round, position) == (Fraud::Delta, 0, 1) {
				delta.iter_mut().for_each(|value| *value *= 2.0);
				trained.work.delta_root = kept.put(&tiles::encode(engine.layout(), &delta)).unwrap().root;
			}
			if included {
				deltas.push((trained.work.delta_root, delta));
			}
			works.push((account.clone(), trained.work));
		}
		lists.push(deltas);
		let redone = !matches!(fraud, Fraud::None | Fraud::LeftOut | Fraud::Bridge) && round + 1 == rounds_count;
		let steps = if redone {
			let mut steps = lists.clone();
			if fraud == Fraud::Delta {
				steps[0].truncate(1);
			}
			steps
		} else {
			vec![lists[usize::from(round)].clone()]
		};
		let vectors = |step: &[(H256, Vec<f32>)]| Included::from(step.iter().map(|(_, delta)| delta.clone()).collect::<Vec<_>>());
		let from = if redone { &genesis } else { &last };
		let job = OuterJob {
			first_round: if redone { 0 } else { round.into() },
			start: from.header.root(),
			steps: steps.iter().map(|step| step.iter().map(|(root, _)| *root).collect()).collect(),
			inner_steps: Vec::new(),
		};
		last = apply_outer_steps(&engine, from, steps.iter().map(|step| Ok::<_, OuterError>(vectors(step)))).unwrap();
		let fallen = (fraud, round) == (Fraud::Checkpoint, 0);
		if fallen {
			last = apply_outer(&engine, &genesis, &vectors(&lists[0][..1])).unwrap();
			last.to_blobs(engine.layout()).iter().for_each(|blob| assert!(kept.put(blob).unwrap().leaves > 0));
			kept.set_note(last.header.root(), &last.header.encode()).unwrap();
		}
		let attested = attest(&mut engine, &last, &loader).unwrap();
		let record = RoundRecord {
			seed,
			participants: participants.clone(),
			late: Vec::new(),
			bridge: ((fraud, round) == (Fraud::Bridge, 1)).then(|| Bridge {
				who: participants[1].clone(),
				run: 9,
				round: 1,
				checkpoint: sibling.header.root(),
				taken: true,
			}),
			included: works
				.iter()
				.take(lists[usize::from(round)].len())
				.map(|(account, work)| (account.clone(), work.delta_root))
				.collect(),
			checkpoint: attested.checkpoint,
			validation_loss: attested.validation_loss,
			adopted_at: 9,
			start,
			inner_start: start,
			first_round: job.first_round,
			excluded: if (fraud, round) == (Fraud::Delta, 0) { vec![participants[1].clone()] } else { Vec::new() },
			fallen,
			attested: Vec::new(),
		};
		rounds.push(AdoptedRound { record, job, works });
	}
	Run { folder, loader, config, rounds, last, kept: kept_folder }
}

/// A replay in memory. What it says and tells must be what one in files does, in a third of the memory that a step takes.
fn replay(
	config: &RunConfig,
	rounds: &[AdoptedRound],
	loader: &Loader,
	store: Option<PathBuf>,
	mut tell: impl FnMut(Progress<'_>),
) -> Result<Checkpoint, ReplayError> {
	let mut heard = Vec::new();
	let hear = |progress: Progress<'_>| {
		heard.push(format!("{progress:?}"));
		tell(progress);
	};
	let outcome = replay_run(RUN, config, rounds, loader, store.clone(), (Device::Cpu, 2), hear);
	let folder = tempfile::tempdir().unwrap();
	let memory = Engine::new(&config.model, &config.train, 1).unwrap().arena_bytes() as u64 / 3;
	let on = InFiles { memory, threads: 2, folder: folder.path().into(), store };
	let mut told = Vec::new();
	let found = replay_run_in_files(RUN, config, rounds, loader, on, |progress| told.push(format!("{progress:?}")));
	assert_eq!(told, heard);
	match (&outcome, &found) {
		(Ok(last), Ok(root)) => assert_eq!(*root, last.header.root()),
		(Err(expected), Err(found)) => {
			assert_eq!((found.to_string(), found.is_difference()), (expected.to_string(), expected.is_difference()));
		}
		_ => panic!("{found:?} in files, and in memory {:?}", outcome.map(|last| last.header)),
	}
	assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
	outcome
}

impl Run {
	fn replay(&self, rounds: &[AdoptedRound]) -> Result<Checkpoint, ReplayError> {
		replay(&self.config, rounds, &self.loader, None, |_| ())
	}

	/// A replay with what somebody kept, and what it told of fraud.
	fn replay_with_kept(&self) -> (Result<Checkpoint, ReplayError>, Vec<String>) {
		let mut told = Vec::new();
		let tell = |progress: Progress<'_>| {
			if matches!(progress, Progress::Excluded(..) | Progress::Fallen(..)) {
				told.push(format!("{progress:?}"));
			}
		};
		let store = Some(self.kept.path().to_path_buf());
		(replay(&self.config, &self.rounds, &self.loader, store, tell), told)
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
	let (mut told, mut steps) = (Vec::new(), Vec::new());
	let tell = |progress: Progress<'_>| match progress {
		Progress::Round(round, root, _) => told.push((round, root)),
		Progress::Step(0, account, taken) if *account == run.rounds[0].record.included[0].0 => steps.push(taken),
		_ => {}
	};
	let last = replay(&run.config, &run.rounds, &run.loader, None, tell).unwrap();
	assert_eq!(last, run.last);
	assert_eq!(told, [(0, run.rounds[0].record.checkpoint), (1, run.rounds[1].record.checkpoint)]);
	let most = run.config.train.inner_steps;
	assert_eq!(steps, (1..=most).map(|taken| [taken, most]).collect::<Vec<_>>(), "each inner step of the first participant");
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
fn a_first_checkpoint_that_was_given_is_read_from_a_store_and_not_made_of_the_seed() {
	let mut run = run();
	let genesis = Checkpoint::genesis(RUN, &run.config.model, &run.config.train, 2).unwrap();
	let Header { params, momentum, .. } = genesis.header;
	run.config.start = RunStart::Given { params, momentum, of: None };
	let Err(error) = run.replay_with_kept().0 else { panic!("agreed") };
	assert!(matches!(error, ReplayError::NoStart(root) if root == genesis.header.root()) && !error.is_difference(), "{error:?}");
	let kept = Store::open(run.kept.path(), 1 << 30).unwrap();
	let layout = ParamLayout::new(&run.config.model).unwrap();
	genesis.to_blobs(&layout).iter().for_each(|blob| assert!(kept.put(blob).unwrap().leaves > 0));
	kept.set_note(genesis.header.root(), &genesis.header.encode()).unwrap();
	drop(kept);
	assert_eq!(run.replay_with_kept().0.unwrap(), run.last);
	// Another seed gives other epochs, and no other first checkpoint.
	run.config.train.seed = [77; 32];
	let Err(error) = run.replay_with_kept().0 else { panic!("agreed") };
	assert!(matches!(error, ReplayError::Delta { round: 0, .. }), "{error:?}");
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

#[test]
fn a_false_delta_that_was_left_out_since_is_no_difference_for_who_has_its_bytes() {
	let mut run = run_with(Fraud::Delta, 3);
	let cheat = run.rounds[0].works[1].0.clone();
	let (last, told) = run.replay_with_kept();
	assert_eq!((last.unwrap(), told), (run.last.clone(), vec![format!("{:?}", Progress::Excluded(0, &cheat))]));

	let Err(error) = run.replay(&run.rounds) else { panic!("agreed") };
	assert!(matches!(&error, ReplayError::Absent { round: 0, .. }) && !error.is_difference(), "{error:?}");
	assert!(error.to_string().contains("--base-path"), "{error}");

	// If all of the list were redone, the false delta would be in it.
	let all = run.rounds[0].job.steps[0].clone();
	run.rounds[2].job.steps[0] = all;
	let (outcome, _) = run.replay_with_kept();
	assert!(matches!(outcome, Err(ReplayError::Checkpoint { round: 2, .. })));
	run.rounds[0].record.excluded.clear();
	let (outcome, _) = run.replay_with_kept();
	assert!(matches!(outcome, Err(ReplayError::Delta { round: 0, account, .. }) if account == cheat), "the chain holds it for true");
}

#[test]
fn a_checkpoint_that_fell_is_no_difference_for_who_has_its_bytes() {
	let mut run = run_with(Fraud::Checkpoint, 2);
	let fallen = run.rounds[0].record.checkpoint;
	let (last, told) = run.replay_with_kept();
	assert_eq!((last.unwrap(), told), (run.last.clone(), vec![format!("{:?}", Progress::Fallen(0, fallen))]));
	let Err(error) = run.replay(&run.rounds) else { panic!("agreed") };
	assert!(matches!(&error, ReplayError::Absent { round: 0, .. }) && !error.is_difference(), "{error:?}");
	run.rounds[0].record.fallen = false;
	let (outcome, _) = run.replay_with_kept();
	assert!(matches!(outcome, Err(ReplayError::Checkpoint { round: 0, .. })));
}

#[test]
fn work_that_started_from_the_checkpoint_of_another_cohort_is_replayed_by_who_has_its_bytes() {
	let mut run = run_with(Fraud::Bridge, 3);
	let (last, told) = run.replay_with_kept();
	assert_eq!((last.unwrap(), told), (run.last.clone(), Vec::new()));
	assert_ne!(run.last, run_with(Fraud::None, 3).last);

	let Err(error) = run.replay(&run.rounds) else { panic!("agreed") };
	assert!(matches!(&error, ReplayError::Elsewhere { round: 1, .. }) && !error.is_difference(), "{error:?}");
	let words = error.to_string();
	assert!(words.contains("of run 9, another cohort") && words.contains("--base-path"), "{words}");

	// Had it started from its own cohort's checkpoint, as a bridge may, its work would be false.
	let bridge = run.rounds[1].record.bridge.as_mut().unwrap();
	let cheat = bridge.who.clone();
	bridge.taken = false;
	let (outcome, _) = run.replay_with_kept();
	assert!(matches!(outcome, Err(ReplayError::Delta { round: 1, account, .. }) if account == cheat));
}

#[test]
fn what_the_cpu_trained_is_replayed_on_another_device_with_the_same_bits() {
	let run = run();
	let last = replay_run(RUN, &run.config, &run.rounds, &run.loader, None, (Device::OpenCl(0), 2), |_| ());
	assert_eq!(last.expect("scripts/setup.sh --tests installs a device"), run.last);
}

/// Deltas that are sent as a code that leaves a residual.
fn coded() -> Aggregator {
	let code = Code::TopK(TopK { numbers: 8, decay: F32::new(0.9), cosine: true });
	Aggregator::Compressed(Compressed { code, robust: Robust { clip: F32::new(0.0), rule: Rule::Mean } })
}

#[test]
fn a_run_whose_deltas_leave_residuals_is_replayed_with_them() {
	let Run { folder: _text, loader, config, mut rounds, last, .. } = run_of(coded(), Fraud::None, 3);
	let of = |rounds: &[AdoptedRound]| replay(&config, rounds, &loader, None, |_| ());
	assert_eq!(of(&rounds).unwrap(), last);
	let residuals = |round: usize| rounds[round].works[0].1.residuals(&config.train).unwrap();
	assert!(residuals(0)[1] == residuals(1)[0] && residuals(1)[1] == residuals(2)[0] && residuals(0)[1] != residuals(1)[1]);

	// Whoever was not included goes on with what its delta began with.
	let Run { folder: _other_text, loader: other, config: same, rounds: left_out, last: end, .. } = run_of(coded(), Fraud::LeftOut, 3);
	assert_eq!(replay(&same, &left_out, &other, None, |_| ()).unwrap(), end);
	assert_ne!(end, last);

	// A residual that was not left by the round, and one that nobody left.
	let honest = rounds.clone();
	*rounds[1].works[0].1.state_roots.last_mut().unwrap() = H256([9; 32]);
	let found = of(&rounds).unwrap_err();
	assert!(found.is_difference() && found.to_string().contains("a state root (number 4 of 4)"), "{found}");
	rounds.clone_from(&honest);
	let roots = &mut rounds[2].works[0].1.state_roots;
	let before = roots.len() - 2;
	roots[before] = H256([9; 32]);
	let absent = of(&rounds).unwrap_err();
	assert!(!absent.is_difference() && absent.to_string().contains("the residual 0x0909"), "{absent}");
}
