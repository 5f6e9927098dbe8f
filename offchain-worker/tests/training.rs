//! Rounds, the outer step and replay on a small model and text: what must agree agrees bit for bit.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use neuroshard_data::{
	build::{build, BuildOptions},
	corpus::Corpus,
	dataset::Dataset,
	loader::Loader,
	tokenizer::Tokenizer,
};
use neuroshard_graph::{corpus::TokenWidth, Aggregator, ModelConfig, Robust, Rule, TrainConfig};
use neuroshard_training::{
	checkpoint::{decode_delta, Checkpoint, CheckpointError},
	engine::Engine,
	outer::{apply_outer, apply_outer_steps, attest, Included, OuterError},
	presets,
	reach::within_reach,
	redo::Redo,
	replay::{replay_round, AdoptedRound, ReplayError},
	round::{validation_loss, TrainError, Trained, Training},
};
use neuroshard_types::{
	assignment::Draw,
	dispute::OuterJob,
	run::{RoundRecord, Work},
	AccountId, F32, H256,
};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Sentences of a small grammar: something that a small model learns in seconds.
fn corpus() -> Corpus {
	let pick = |words: &'static [&'static str], number: u32| words[(number.wrapping_mul(2_654_435_761) >> 16) as usize % words.len()];
	let sentence = |number: u32| {
		let subject = pick(&["the worker", "a validator", "the sponsor", "every shard"], number);
		let verb = pick(&["trains", "checks", "stores", "reveals"], number ^ 0x55);
		let object = pick(&["a delta", "the checkpoint", "its tokens", "the round"], number ^ 0xaa0);
		format!("{subject} {verb} {object} in step {number}.\n")
	};
	let document = |number: u32| (0..20).map(|line| sentence(20 * number + line)).collect();
	Corpus::given("a small grammar", (0..150).map(document).collect())
}

struct Network {
	_folder: tempfile::TempDir,
	dataset: Dataset,
	loader: Loader,
	engine: Engine,
	genesis: Checkpoint,
}

/// The tiny preset with short rounds.
fn configuration() -> (ModelConfig, TrainConfig) {
	let (model, train) = presets::tiny();
	(model, TrainConfig { inner_steps: 12, commit_interval: 3, batch: 8, warmup_steps: 4, ..train })
}

fn network(threads: usize) -> Network {
	network_of(configuration().1, threads)
}

fn network_of(train: TrainConfig, threads: usize) -> Network {
	let (model, _) = configuration();
	let folder = tempfile::tempdir().unwrap();
	let options = BuildOptions { tokens_per_shard: 8_192, held_out: 2, ..BuildOptions::default() };
	let dataset = build(&corpus(), &Tokenizer::bytes(), &options, folder.path()).unwrap().dataset;
	let loader = Loader::new(folder.path(), dataset.manifest.shape, dataset.manifest.width()).unwrap();
	let engine = Engine::new(&model, &train, threads).unwrap();
	let genesis = Checkpoint::genesis(3, &model, &train, threads).unwrap();
	Network { _folder: folder, dataset, loader, engine, genesis }
}

impl Network {
	fn train(&mut self, checkpoint: &Checkpoint, position: u32, seed: H256) -> Trained {
		let training = Training::start(&mut self.engine, checkpoint, &self.loader, position, Draw::of_all(seed)).unwrap();
		training.run(&AtomicBool::new(false), |_| ()).unwrap()
	}

	/// A round of three, of whom the first two are included, and what chain and reveals then say of it.
	fn round(&mut self) -> (RoundRecord, Vec<(AccountId, Work)>, Checkpoint) {
		self.round_of([u32::MAX; 2])
	}

	/// The same, in which the first two end after so many inner steps, if their rounds may.
	fn round_of(&mut self, ends: [u32; 2]) -> (RoundRecord, Vec<(AccountId, Work)>, Checkpoint) {
		let seed = H256([9; 32]);
		let participants: Vec<AccountId> = [10, 20, 30].map(|byte| AccountId::from([byte; 32])).to_vec();
		let genesis = self.genesis.clone();
		let (mut works, mut deltas, mut included, mut inner_steps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
		for (position, account) in (0..2).zip(&participants) {
			let end = ends[position as usize];
			let training = Training::start(&mut self.engine, &genesis, &self.loader, position, Draw::of_all(seed)).unwrap();
			let trained = training.ending(|done| done >= end).run(&AtomicBool::new(false), |_| ()).unwrap();
			let Trained { work, delta, .. } = trained;
			inner_steps.extend(work.steps(self.engine.train_config()).filter(|_| self.engine.train_config().weighs_steps()));
			deltas.push(decode_delta(&self.engine, &delta, work.delta_root).unwrap());
			included.push((account.clone(), work.delta_root));
			works.push((account.clone(), work));
		}
		let next = apply_outer(&self.engine, &genesis, &Included { deltas, inner_steps }).unwrap();
		let attested = attest(&mut self.engine, &next, &self.loader).unwrap();
		let record = RoundRecord {
			seed,
			participants,
			late: Vec::new(),
			bridge: None,
			included,
			checkpoint: attested.checkpoint,
			validation_loss: attested.validation_loss,
			adopted_at: 77,
			start: genesis.header.root(),
			inner_start: genesis.header.root(),
			first_round: 0,
			excluded: Vec::new(),
			fallen: false,
			attested: Vec::new(),
		};
		(record, works, next)
	}

	fn replay(&mut self, record: &RoundRecord, works: &[(AccountId, Work)]) -> Result<Checkpoint, ReplayError> {
		let steps = vec![record.included.iter().map(|(_, root)| *root).collect()];
		let train = self.engine.train_config();
		let of = |who: &AccountId| works.iter().find(|(other, _)| other == who).and_then(|(_, work)| work.steps(train));
		let behind: Vec<u32> = record.included.iter().filter_map(|(who, _)| of(who)).collect();
		let inner_steps = if train.weighs_steps() { vec![behind] } else { vec![] };
		let job = OuterJob { first_round: record.first_round, start: record.start, steps, inner_steps };
		let adopted = AdoptedRound { record: record.clone(), job, works: works.to_vec() };
		let mut redo = Redo::new([&adopted.job], [], None).unwrap();
		replay_round(&mut self.engine, &self.genesis, (&adopted, Draw::of_all(adopted.record.seed)), &self.loader, &mut redo, |_| ())
	}
}

#[test]
fn work_is_the_same_with_one_thread_and_with_two() {
	let (mut one, mut two) = (network(1), network(2));
	let genesis = one.genesis.clone();
	let work = one.train(&genesis, 1, H256([5; 32]));
	assert_eq!(two.train(&genesis, 1, H256([5; 32])), work);
	let (_, train) = configuration();
	assert_eq!(work.work.state_roots.len() as u32, train.state_roots());
	assert_eq!(work.work.tokens, u64::from(train.inner_steps * train.batch * train.seq_len));
	assert_eq!(work.work.delta_bytes, work.delta.len() as u64);
	assert_ne!(one.train(&genesis, 0, H256([5; 32])).work.delta_root, work.work.delta_root);
	assert_ne!(one.train(&genesis, 1, H256([6; 32])).work.delta_root, work.work.delta_root);
}

#[test]
fn rounds_of_different_length_weigh_by_their_steps_and_are_replayed_by_what_was_revealed() {
	let aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps: 3 } });
	let mut network = network_of(TrainConfig { aggregator, ..configuration().1 }, 2);
	let (record, works, next) = network.round_of([3, 10]);
	// A state is committed after every third step, and 10 is none of them.
	let steps: Vec<_> = works.iter().map(|(_, work)| (work.state_roots.len(), work.tokens / (8 * 64))).collect();
	assert_eq!(steps, [(1, 3), (4, 12)]);
	assert_eq!(network.replay(&record, &works).unwrap(), next);

	// Whoever says to have taken more steps is not believed, and what is said decides the weights.
	let [mut more, mut fewer] = [works.clone(), works];
	more[0].1.tokens *= 2;
	assert!(matches!(network.replay(&record, &more), Err(ReplayError::Delta { .. })), "its delta is that of three steps");
	fewer[1].1.tokens /= 2;
	assert!(network.replay(&record, &fewer).is_err());
}

#[test]
fn three_workers_learn_together() {
	let mut network = network(2);
	let start = validation_loss(&mut network.engine, &network.genesis.params.clone(), &network.loader).unwrap().get();
	let mut checkpoint = network.genesis.clone();
	for round in 0..4 {
		let deltas: Vec<_> = (0..3)
			.map(|position| {
				let trained = network.train(&checkpoint, position, H256([round; 32]));
				decode_delta(&network.engine, &trained.delta, trained.work.delta_root).unwrap()
			})
			.collect();
		checkpoint = apply_outer(&network.engine, &checkpoint, &deltas.into()).unwrap();
	}
	assert_eq!((checkpoint.header.round, checkpoint.header.adopted_steps), (4, 4 * u64::from(configuration().1.inner_steps)));
	let end = validation_loss(&mut network.engine, &checkpoint.params, &network.loader).unwrap().get();
	assert!(end < 0.8 * start, "{start} to {end}");
	assert!(f64::from(end) < network.dataset.manifest.unigram_entropy, "{end} against {}", network.dataset.manifest.unigram_entropy);
}

#[test]
fn a_checkpoint_whose_loss_is_not_finite_is_attested_with_an_infinite_one() {
	let attested = [1, 2].map(|threads| {
		let mut network = network(threads);
		let huge = vec![-1e10; network.genesis.params.len()];
		let next = apply_outer(&network.engine, &network.genesis, &vec![huge].into()).unwrap();
		let loss = validation_loss(&mut network.engine, &next.params, &network.loader);
		assert!(matches!(loss, Err(TrainError::Diverged(None))), "{loss:?}");
		let attested = attest(&mut network.engine, &next, &network.loader).unwrap();
		assert_eq!((attested.checkpoint, attested.validation_loss.get()), (next.header.root(), f32::INFINITY));
		attested
	});
	assert_eq!(attested[0], attested[1]);
}

#[test]
fn what_workers_train_is_within_reach_and_a_huge_delta_is_not() {
	let mut network = network(1);
	let genesis = network.genesis.clone();
	let trained = network.train(&genesis, 0, H256([5; 32]));
	let mut delta = decode_delta(&network.engine, &trained.delta, trained.work.delta_root).unwrap();
	assert!(within_reach(network.engine.train_config(), &network.engine.layout().tiling(), &genesis.params, &delta));
	delta[7] = 1e38;
	assert!(!within_reach(network.engine.train_config(), &network.engine.layout().tiling(), &genesis.params, &delta));
}

#[test]
fn with_outer_learning_rate_one_the_workers_parameters_are_averaged() {
	let network = network(1);
	let n = network.genesis.params.len();
	let delta = |value: f32| vec![value; n];
	let deltas = vec![delta(0.25), delta(0.75)];
	let next = apply_outer(&network.engine, &network.genesis, &deltas.into()).unwrap();
	assert!(next.params.iter().zip(&network.genesis.params).all(|(next, before)| *next == before - 0.5));
	assert!(next.momentum.iter().all(|value| *value == 0.5));
}

#[test]
fn deltas_of_another_model_are_refused() {
	let network = network(1);
	assert!(matches!(apply_outer(&network.engine, &network.genesis, &vec![vec![0.0; 5]].into()), Err(OuterError::Aggregate(_))));
}

#[test]
fn a_step_without_deltas_counts_its_round_and_changes_nothing_else() {
	let mut network = network(1);
	network.genesis.momentum.fill(0.5);
	let next = apply_outer(&network.engine, &network.genesis, &Included::default()).unwrap();
	assert_eq!((&next.params, &next.momentum), (&network.genesis.params, &network.genesis.momentum));
	let (_, train) = configuration();
	assert_eq!((next.header.round, next.header.adopted_steps), (1, u64::from(train.inner_steps)));
	assert_eq!(next.header.params, network.genesis.header.params);
	assert_ne!(next.header.root(), network.genesis.header.root());
}

#[test]
fn several_outer_steps_are_single_ones_one_after_the_other() {
	let network = network(2);
	let (model, train) = configuration();
	let engine = Engine::new(&model, &TrainConfig { outer_beta: F32::new(0.5), ..train }, 2).unwrap();
	let delta = |value: f32| vec![value; network.genesis.params.len()];
	let steps = [vec![delta(0.25), delta(0.5)], vec![], vec![delta(-1.0)]].map(Included::from);
	let single = steps.iter().fold(network.genesis.clone(), |last, step| apply_outer(&engine, &last, step).unwrap());
	let all = |steps: &[Included]| apply_outer_steps(&engine, &network.genesis, steps.iter().cloned().map(Ok::<_, OuterError>)).unwrap();
	assert_eq!(all(&steps), single);
	assert_eq!(single.header.round, 3);
	assert_eq!(all(&[]), network.genesis);
	// Momentum carries each step into those that follow, so that their order matters.
	assert_ne!(all(&[steps[2].clone(), steps[1].clone(), steps[0].clone()]).header.momentum, single.header.momentum);
	let failing = [Ok(steps[0].clone()), Err(OuterError::Checkpoint(CheckpointError::TooManyRounds(7)))];
	let error = apply_outer_steps(&engine, &network.genesis, failing).unwrap_err();
	assert!(matches!(error, OuterError::Checkpoint(CheckpointError::TooManyRounds(7))), "{error}");
}

#[test]
fn a_cancelled_round_stops_after_the_current_step() {
	let mut network = network(1);
	let (cancel, steps) = (AtomicBool::new(false), AtomicU32::new(0));
	let training = Training::start(&mut network.engine, &network.genesis, &network.loader, 0, Draw::of_all(H256([1; 32]))).unwrap();
	let outcome = training.run(&cancel, |progress| {
		steps.store(progress.step, Ordering::Relaxed);
		cancel.store(progress.step == 2, Ordering::Relaxed);
	});
	assert!(matches!(outcome, Err(TrainError::Cancelled)));
	assert_eq!(steps.into_inner(), 2);
}

#[test]
fn parameters_that_are_not_finite_end_as_divergence_and_not_as_a_fault() {
	let mut network = network(1);
	network.genesis.params[100] = f32::INFINITY;
	let training = Training::start(&mut network.engine, &network.genesis, &network.loader, 0, Draw::of_all(H256([1; 32]))).unwrap();
	let error = training.run(&AtomicBool::new(false), |_| ()).unwrap_err();
	assert_eq!(error.to_string(), "the training diverged in inner step 0: nothing to reveal in this round");
}

#[test]
fn a_shard_that_is_missing_or_a_dataset_that_is_too_small_is_said_in_words() {
	let mut network = network(1);
	let shape = network.dataset.manifest.shape;
	std::fs::remove_dir_all(network.dataset.folder.join("shards")).unwrap();
	let training = Training::start(&mut network.engine, &network.genesis, &network.loader, 0, Draw::of_all(H256([1; 32]))).unwrap();
	let error = training.run(&AtomicBool::new(false), |_| ()).unwrap_err().to_string();
	assert!(error.starts_with("inner step 0: ") && error.contains(".bin: No such file"), "{error}");
	let small = neuroshard_types::dataset::DatasetShape { shard_count: 2, held_out: 1, tokens_per_shard: shape.tokens_per_shard / 64 };
	let small = Loader::new(&network.dataset.folder, small, TokenWidth::Two).unwrap();
	let Err(error) = Training::start(&mut network.engine, &network.genesis, &small, 0, Draw::of_all(H256([1; 32]))) else {
		panic!("started")
	};
	assert_eq!(error.to_string(), "the dataset has fewer training windows than the round needs");
}

#[test]
fn a_replay_confirms_an_honest_round() {
	let mut network = network(2);
	let (record, works, next) = network.round();
	assert_eq!(network.replay(&record, &works).unwrap(), next);
}

#[test]
fn a_replay_names_what_differs() {
	let mut network = network(2);
	let (record, works, _) = network.round();
	let cheat = works[1].0.clone();

	let mut forged = record.clone();
	forged.included[1].1 = H256([1; 32]);
	assert!(matches!(network.replay(&forged, &works), Err(ReplayError::Delta { round: 0, account, .. }) if account == cheat));

	let mut forged_works = works.clone();
	forged_works[1].1.state_roots[2] = H256([1; 32]);
	let error = network.replay(&record, &forged_works).unwrap_err();
	assert!(matches!(&error, ReplayError::Work { account, .. } if *account == cheat));
	assert!(error.to_string().ends_with("revealed a state root (number 3 of 4) that a replay does not give"), "{error}");

	let forged = RoundRecord { checkpoint: H256([1; 32]), ..record.clone() };
	assert!(matches!(network.replay(&forged, &works), Err(ReplayError::Checkpoint { round: 0, .. })));

	let forged = RoundRecord { validation_loss: F32::new(0.5), ..record.clone() };
	assert!(matches!(network.replay(&forged, &works), Err(ReplayError::ValidationLoss { expected, .. }) if expected == 0.5));

	let mut forged = record.clone();
	forged.included[1].0 = AccountId::from([25; 32]);
	assert!(matches!(network.replay(&forged, &works), Err(ReplayError::Stranger { .. })));

	// Windows follow from the participants' places: one participant fewer and the second delta is another one.
	let mut forged = record;
	forged.participants.remove(0);
	forged.included.remove(0);
	assert!(matches!(network.replay(&forged, &works), Err(ReplayError::Delta { account, .. }) if account == cheat));
}
