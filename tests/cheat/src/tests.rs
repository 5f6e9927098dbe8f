//! What cheaters reveal and attest, against what they should.

use super::*;
use clap::{Parser, ValueEnum};
use neuroshard_compute::player::{CheckpointStory, Story, WorkStart, WorkStory};
use neuroshard_data::{
	build::{build, BuildOptions},
	chats::{Chats, Conversations},
	corpus::Corpus,
	loader::{Assignment, Loader},
	tokenizer::Tokenizer,
	DataError,
};
use neuroshard_graph::{corpus::MASK, game::Doubt, Aggregator, Code, Compressed, Robust, Rule, TopK, F32};
use neuroshard_training::{
	checkpoint::{decode_delta, Checkpoint},
	engine::Engine,
	outer::{apply_outer_as, apply_outer_steps_as, Included, OuterError},
	presets,
	round::{Trained, Training},
};
use neuroshard_types::assignment::Draw;
use std::{convert::Infallible, sync::atomic::AtomicBool};

const RUN: RunId = 3;
const SEED: H256 = H256::repeat_byte(9);
const STEPS: u32 = 12;
const INTERVAL: u32 = 3;
const BIT_FLIP: Deed = Deed::BitFlip(Op::AdamW);

struct Fixture {
	_folder: tempfile::TempDir,
	loader: Loader,
	engine: Engine,
	genesis: Checkpoint,
}

fn config(inner_steps: u32) -> (ModelConfig, TrainConfig) {
	let (model, train) = presets::tiny();
	(model, TrainConfig { inner_steps, commit_interval: INTERVAL, batch: 8, ..train })
}

fn fixture(inner_steps: u32) -> Fixture {
	bench_of(Aggregator::Mean, inner_steps)
}

/// Deltas that are sent as a code that leaves a residual.
fn coded() -> Aggregator {
	let code = Code::TopK(TopK { numbers: 8, decay: F32::new(0.9), cosine: false });
	Aggregator::Compressed(Compressed { code, robust: Robust { clip: F32::new(0.0), rule: Rule::Mean } })
}

fn bench_of(aggregator: Aggregator, inner_steps: u32) -> Fixture {
	bench_on(aggregator, inner_steps, None)
}

/// Every other byte is a target.
#[derive(Debug)]
struct EveryOther;

impl Conversations for EveryOther {
	fn encode(&self, record: &str, tokens: &mut Vec<u32>) -> Result<(), String> {
		let mask = |place: u32| if place.is_multiple_of(2) { MASK } else { 0 };
		tokens.extend((0..).zip(record.bytes()).map(|(place, byte)| u32::from(byte) | mask(place)));
		Ok(())
	}
}

fn masked(aggregator: Aggregator) -> Fixture {
	bench_on(aggregator, STEPS, Some(Arc::new(Chats::new(EveryOther))))
}

fn bench_on(aggregator: Aggregator, inner_steps: u32, chats: Option<Arc<Chats>>) -> Fixture {
	let (model, train) = config(inner_steps);
	let train = TrainConfig { aggregator, masked: chats.is_some(), ..train };
	let sentence =
		|number: u32| format!("Worker {} trains step {number} of shard {}.\n", number % 7, number.wrapping_mul(2_654_435_761) >> 20);
	let document = |number: u32| (0..20).map(|line| sentence(20 * number + line)).collect();
	let corpus = Corpus::given("a small grammar", (0..150).map(document).collect());
	let folder = tempfile::tempdir().unwrap();
	let options = BuildOptions { tokens_per_shard: 8_192, held_out: 2, chats, ..BuildOptions::default() };
	let manifest = build(&corpus, &Tokenizer::bytes(), &options, folder.path()).unwrap().dataset.manifest;
	let loader = Loader::new(folder.path(), manifest.shape, manifest.width()).unwrap();
	let engine = Engine::new(&model, &train, 2).unwrap();
	let genesis = Checkpoint::genesis(RUN, &model, &train, 2).unwrap();
	Fixture { _folder: folder, loader, engine, genesis }
}

impl Fixture {
	fn honest(&mut self, position: u32, seed: H256) -> Trained {
		let training = Training::start(&mut self.engine, &self.genesis, &self.loader, position, Draw::of_all(seed)).unwrap();
		training.run(&AtomicBool::new(false), |_| ()).unwrap()
	}

	/// What the cheater reveals in round 0, in which it has the first place.
	fn cheated(&mut self, deed: Deed) -> Trained {
		let due = Due { run: RUN, round: 0, draw: Draw::of_all(SEED), position: 0, residual: None };
		false_work(&fault(deed), due, &mut self.engine, (&self.genesis, None), &self.loader).unwrap().unwrap()
	}

	fn delta(&self, trained: &Trained) -> Vec<f32> {
		decode_delta(&self.engine, &trained.delta, trained.work.delta_root).unwrap()
	}

	/// What an honest verifier says of work that is due in the first place.
	fn doubt(&self, trained: &Trained) -> Option<Doubt> {
		let (engine, loader) = (&self.engine, &self.loader);
		let windows = Assignment::new(engine.train_config(), 0, Draw::of_all(SEED));
		let read = |step: u32, sequence: u32, tokens: &mut [u32]| -> Result<(), DataError> {
			loader.read(loader.step_windows(&windows, step)?[sequence as usize], tokens)
		};
		let model = engine.model_beside().unwrap().map(Arc::new);
		let start = WorkStart { theta: self.genesis.params.clone(), momentum: self.genesis.header.momentum.0, model };
		let mut story = WorkStory::new(engine.exec().clone(), engine.model(), engine.train_config(), 0, start, read).unwrap();
		let roots: Vec<_> = trained.work.state_roots.iter().map(|root| root.0).collect();
		story.doubt(&roots, trained.work.delta_root.0).unwrap()
	}
}

fn fault(deed: Deed) -> Fault {
	Fault { who: AccountId::new([7; 32]), deed, round: 0, again: false }
}

/// How many of the first state roots are those of honest work.
fn right_roots(cheated: &Trained, honest: &Trained) -> usize {
	cheated.work.state_roots.iter().zip(&honest.work.state_roots).take_while(|(one, other)| one == other).count()
}

#[test]
fn false_work_looks_like_work_is_the_same_again_and_is_found_false() {
	for aggregator in [Aggregator::Mean, coded()] {
		false_work_is_found(bench_of(aggregator, STEPS));
	}
}

#[test]
fn who_takes_every_token_as_a_target_is_found_where_a_dataset_is_masked() {
	let mut unmasked = fixture(STEPS);
	assert_eq!(unmasked.cheated(Deed::WrongMask), unmasked.honest(0, SEED), "all of them are");
	for aggregator in [Aggregator::Mean, coded()] {
		let mut fixture = masked(aggregator);
		let (honest, cheated) = (fixture.honest(0, SEED), fixture.cheated(Deed::WrongMask));
		assert_eq!((cheated.work.delta_bytes, cheated.work.tokens), (honest.work.delta_bytes, honest.work.tokens));
		assert_eq!((right_roots(&cheated, &honest), fixture.cheated(Deed::WrongMask)), (0, cheated.clone()));
		assert_eq!((fixture.doubt(&honest), fixture.doubt(&cheated)), (None, Some(Doubt::Interval(0))));
	}
}

/// What trains an adapter.
fn adapted() -> Fixture {
	let mut fixture = fixture(STEPS);
	let beside = fixture.genesis.params.clone();
	let (model, train) = (fixture.engine.model().clone(), fixture.engine.train_config().clone());
	let projections = neuroshard_graph::Projections::ALL;
	let adapter = neuroshard_graph::Adapter { base: fixture.genesis.header.params.0, rank: 4, alpha: F32::new(8.0), projections };
	let train = TrainConfig { adapter: Some(adapter), ..train };
	fixture.engine = Engine::new(&model, &train, 2).unwrap();
	fixture.engine.load_model(&beside).unwrap();
	fixture.genesis = Checkpoint::genesis(RUN, &model, &train, 2).unwrap();
	fixture
}

#[test]
fn a_wrong_sum_of_the_embeddings_gradient_is_honest_work_where_an_adapter_is_trained() {
	let mut fixture = adapted();
	assert_eq!(fixture.cheated(Deed::BitFlip(Op::ScatterAdd)).work, fixture.honest(0, SEED).work);
}

#[test]
fn an_engine_has_the_right_model_after_false_work_that_failed() {
	let mut fixture = adapted();
	let honest = fixture.honest(0, SEED);
	let due = Due { run: RUN, round: 0, draw: Draw::of_all(SEED), position: 0, residual: None };
	let short = Checkpoint { params: vec![0.0; 3], ..fixture.genesis.clone() };
	assert!(false_work(&fault(Deed::WrongBase), due, &mut fixture.engine, (&short, None), &fixture.loader).is_err());
	assert_eq!(fixture.honest(0, SEED), honest);
}

#[test]
fn a_wrong_loss_is_wrong_where_targets_are_masked_too() {
	let mut fixture = masked(Aggregator::Mean);
	let honest = fixture.honest(0, SEED);
	let (model, train) = (fixture.engine.model().clone(), fixture.engine.train_config().clone());
	// Half of all rows have a gradient of zeros.
	for byte in 0..8 {
		let fault = Fault { who: AccountId::new([byte; 32]), ..fault(Deed::BitFlip(Op::LossBack)) };
		let mistake = fault.mistake(RUN, 0, &model, &train).unwrap().unwrap();
		let due = Due { run: RUN, round: 0, draw: Draw::of_all(SEED), position: 0, residual: None };
		let cheated = false_work(&fault, due, &mut fixture.engine, (&fixture.genesis, None), &fixture.loader).unwrap().unwrap();
		assert_eq!(right_roots(&cheated, &honest), (mistake.step / INTERVAL) as usize, "{mistake:?}");
		assert_eq!(fixture.doubt(&cheated), Some(Doubt::Interval(mistake.step / INTERVAL)), "{mistake:?}");
	}
}

#[test]
fn an_adapter_that_was_trained_beside_another_model_is_found() {
	let mut fixture = adapted();
	let (honest, cheated) = (fixture.honest(0, SEED), fixture.cheated(Deed::WrongBase));
	assert_eq!((right_roots(&cheated, &honest), fixture.cheated(Deed::WrongBase)), (0, cheated.clone()));
	assert_eq!(fixture.honest(0, SEED), honest, "its next round is beside the right one");
	assert_eq!((fixture.doubt(&honest), fixture.doubt(&cheated)), (None, Some(Doubt::Interval(0))));
	let flipped = fixture.cheated(BIT_FLIP);
	assert!(fixture.doubt(&flipped).is_some());
}

fn false_work_is_found(mut fixture: Fixture) {
	let honest = fixture.honest(0, SEED);
	assert_eq!(fixture.doubt(&honest), None);
	for deed in [Deed::Noise, Deed::FewerSteps, Deed::WrongShard, BIT_FLIP, Deed::Silence] {
		let cheated = fixture.cheated(deed.clone());
		let (work, expected) = (&cheated.work, &honest.work);
		assert_eq!(work.state_roots.len(), expected.state_roots.len(), "{deed:?}");
		assert_eq!((work.delta_bytes, work.tokens), (expected.delta_bytes, expected.tokens), "{deed:?}");
		assert_ne!(work.delta_root, expected.delta_root, "{deed:?}");
		assert!(fixture.delta(&cheated).iter().all(|value| value.abs() < 1.0), "{deed:?}: a delta that others can apply");
		assert_eq!(fixture.cheated(deed.clone()), cheated, "{deed:?}");
		let first = u32::try_from(right_roots(&cheated, &honest)).unwrap();
		let in_code = deed == BIT_FLIP && fixture.engine.train_config().code().is_some();
		assert_eq!(fixture.doubt(&cheated), Some(if in_code { Doubt::Delta } else { Doubt::Interval(first) }), "{deed:?}");
	}
}

/// A bridge that lies starts from another checkpoint, and hands over a delta from its own, like one that does not.
#[test]
fn false_work_of_a_bridge_is_found_false_too() {
	let mut fixture = fixture(STEPS);
	let base = {
		let params = fixture.genesis.params.iter().map(|value| value * 1.5).collect();
		Checkpoint { params, ..fixture.genesis.clone() }
	};
	let Fixture { engine, genesis, loader, .. } = &mut fixture;
	let training = Training::start(engine, genesis, loader, 0, Draw::of_all(SEED)).unwrap().with_base(Some(&base.params));
	let honest = training.run(&AtomicBool::new(false), |_| ()).unwrap();
	let windows = Assignment::new(engine.train_config(), 0, Draw::of_all(SEED));
	let doubt = |engine: &Engine, trained: &Trained| {
		let read = |step: u32, sequence: u32, tokens: &mut [u32]| -> Result<(), DataError> {
			loader.read(loader.step_windows(&windows, step)?[sequence as usize], tokens)
		};
		let start = (genesis.params.clone(), genesis.header.momentum.0);
		let story = WorkStory::new(engine.exec().clone(), engine.model(), engine.train_config(), 0, start, read).unwrap();
		let mut story = story.with_base((base.params.clone(), base.header.momentum.0)).unwrap();
		let roots: Vec<_> = trained.work.state_roots.iter().map(|root| root.0).collect();
		story.doubt(&roots, trained.work.delta_root.0).unwrap()
	};
	assert_eq!(doubt(engine, &honest), None);
	for deed in [Deed::FewerSteps, Deed::WrongShard, BIT_FLIP] {
		let due = Due { run: RUN, round: 0, draw: Draw::of_all(SEED), position: 0, residual: None };
		let cheated = false_work(&fault(deed.clone()), due, engine, (genesis, Some(&base)), loader).unwrap().unwrap();
		let first = u32::try_from(right_roots(&cheated, &honest)).unwrap();
		assert_eq!(doubt(engine, &cheated), Some(Doubt::Interval(first)), "{deed:?}");
		let delta = decode_delta(engine, &cheated.delta, cheated.work.delta_root).unwrap();
		let own = decode_delta(engine, &honest.delta, honest.work.delta_root).unwrap();
		let apart = |delta: &[f32]| delta.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
		assert!((apart(&delta) / apart(&own) - 1.0).abs() < 0.2, "{deed:?}: it says where the other checkpoint is");
	}
}

#[test]
fn noise_has_no_right_root_and_depends_on_the_account() {
	let mut fixture = fixture(STEPS);
	let (honest, noise) = (fixture.honest(0, SEED), fixture.cheated(Deed::Noise));
	assert!(noise.work.state_roots.iter().all(|root| !honest.work.state_roots.contains(root)));
	let other = Fault { who: AccountId::new([8; 32]), ..fault(Deed::Noise) };
	let due = Due { run: RUN, round: 0, draw: Draw::of_all(SEED), position: 0, residual: None };
	let other = false_work(&other, due, &mut fixture.engine, (&fixture.genesis, None), &fixture.loader).unwrap().unwrap();
	assert_ne!(other.work.delta_root, noise.work.delta_root, "the chain takes no delta twice");
}

#[test]
fn fewer_steps_end_where_honest_work_is_half_way() {
	let mut whole = fixture(STEPS);
	let (honest, cheated) = (whole.honest(0, SEED), whole.cheated(Deed::FewerSteps));
	// The first place has the same windows in a shorter round.
	let half = fixture(STEPS / 2).honest(0, SEED);
	assert_eq!(cheated.work.delta_root, half.work.delta_root);
	assert_eq!(right_roots(&cheated, &honest), (STEPS / 2 / INTERVAL) as usize);
	let distinct: std::collections::BTreeSet<_> = cheated.work.state_roots.iter().collect();
	assert_eq!(distinct.len(), cheated.work.state_roots.len(), "every root has its own step in it");
}

#[test]
fn a_wrong_shard_is_honest_work_on_other_windows() {
	let mut fixture = fixture(STEPS);
	let cheated = fixture.cheated(Deed::WrongShard);
	let elsewhere = fault(Deed::WrongShard).window_seed(RUN, 0, SEED);
	assert_ne!(elsewhere, SEED);
	assert_eq!(cheated.work, fixture.honest(0, elsewhere).work);
	assert_eq!(fault(Deed::Noise).window_seed(RUN, 0, SEED), SEED);
}

#[test]
fn one_wrong_bit_spoils_everything_after_its_step_and_nothing_before() {
	let mut fixture = fixture(STEPS);
	let honest = fixture.honest(0, SEED);
	let mut steps = std::collections::BTreeSet::new();
	for byte in 0..6 {
		let fault = Fault { who: AccountId::new([byte; 32]), ..fault(BIT_FLIP) };
		let (model, train) = config(STEPS);
		let mistake = fault.mistake(RUN, 0, &model, &train).unwrap().unwrap();
		assert_eq!((mistake.mask.count_ones(), mistake.output), (1, 0));
		let plan = Plan::training(&model, &train).unwrap();
		assert_eq!(plan.stages()[mistake.stage as usize].op, Op::AdamW);
		let due = Due { run: RUN, round: 0, draw: Draw::of_all(SEED), position: 0, residual: None };
		let cheated = false_work(&fault, due, &mut fixture.engine, (&fixture.genesis, None), &fixture.loader).unwrap().unwrap();
		assert_eq!(right_roots(&cheated, &honest), (mistake.step / INTERVAL) as usize, "{mistake:?}");
		steps.insert(mistake.step);
	}
	assert!(steps.len() > 1, "the step is drawn: {steps:?}");
}

/// A model of many tokens, of which a step reads few: most rows of the embedding have a gradient by the head alone.
#[test]
fn one_wrong_bit_where_a_vocabulary_is_large_is_found_in_its_step() {
	let mut fixture = fixture(STEPS);
	let (model, train) = config(STEPS);
	let model = ModelConfig { vocab: 4_128, ..model };
	let train = TrainConfig { batch: 1, ..train };
	fixture.engine = Engine::new(&model, &train, 2).unwrap();
	fixture.genesis = Checkpoint::genesis(RUN, &model, &train, 2).unwrap();
	let honest = fixture.honest(0, SEED);
	for op in [Op::Gather, Op::LossBack, Op::ScatterAdd] {
		for byte in 0..4 {
			let fault = Fault { who: AccountId::new([byte; 32]), ..fault(Deed::BitFlip(op)) };
			let mistake = fault.mistake(RUN, 0, &model, &train).unwrap().unwrap();
			assert_eq!(Plan::training(&model, &train).unwrap().stages()[mistake.stage as usize].op, op);
			let due = Due { run: RUN, round: 0, draw: Draw::of_all(SEED), position: 0, residual: None };
			let cheated = false_work(&fault, due, &mut fixture.engine, (&fixture.genesis, None), &fixture.loader).unwrap().unwrap();
			assert_eq!(right_roots(&cheated, &honest), (mistake.step / INTERVAL) as usize, "{op:?} {mistake:?}");
			assert_eq!(fixture.doubt(&cheated), Some(Doubt::Interval(mistake.step / INTERVAL)), "{op:?} {mistake:?}");
		}
	}
}

#[test]
fn a_copy_is_not_what_the_copier_was_to_do() {
	let mut fixture = fixture(STEPS);
	let trained = fixture.honest(1, SEED);
	assert!(fixture.doubt(&trained).is_some(), "the copier's windows are others");
}

/// Deltas of three participants.
fn deltas(fixture: &mut Fixture) -> Vec<Vec<f32>> {
	let trained: Vec<Trained> = (0..3).map(|position| fixture.honest(position, SEED)).collect();
	trained.iter().map(|trained| fixture.delta(trained)).collect()
}

/// The outer step as a worker with this fault takes it in round 0.
fn outer_step(fixture: &Fixture, fault: &Fault, deltas: Vec<Vec<f32>>) -> Result<Checkpoint, OuterError> {
	let train = fault.outer_step(0, fixture.engine.train_config());
	apply_outer_as(&fixture.engine, &train, &fixture.genesis, &fault.deltas(0, deltas).into())
}

/// Root of the checkpoint after an outer step with these deltas, as a verifier computes it.
fn right_root(fixture: &Fixture, deltas: &[Vec<f32>]) -> H256 {
	let (engine, told) = (&fixture.engine, |_| Ok::<_, Infallible>(deltas.to_vec()));
	let start = [fixture.genesis.params.clone(), fixture.genesis.momentum.clone()];
	let mut story = CheckpointStory::new(engine.exec().clone(), engine.model(), engine.train_config(), 0, start, told).unwrap();
	H256(story.roots(0, 1).unwrap()[0])
}

#[test]
fn a_wrong_aggregate_counts_one_delta_twice_and_leaves_one_out() {
	let mut fixture = fixture(STEPS);
	let right = deltas(&mut fixture);
	let attested = outer_step(&fixture, &fault(Deed::WrongAggregate), right.clone()).unwrap().header.root();
	assert_ne!(attested, right_root(&fixture, &right));
	assert_eq!(attested, right_root(&fixture, &[right[1].clone(), right[1].clone(), right[2].clone()]));
	let lone = outer_step(&fixture, &fault(Deed::WrongAggregate), vec![right[0].clone()]).unwrap().header.root();
	assert_ne!(lone, right_root(&fixture, &right[..1]));
}

#[test]
fn a_wrong_outer_step_goes_twice_as_far() {
	let mut fixture = fixture(STEPS);
	let right = deltas(&mut fixture);
	let attested = outer_step(&fixture, &fault(Deed::WrongOuterStep), right.clone()).unwrap();
	assert_ne!(attested.header.root(), right_root(&fixture, &right));
	let train = fixture.engine.train_config();
	assert_eq!((train.outer_lr.get(), train.outer_beta.get()), (1.0, 0.0), "a step is as long as the mean of the deltas");
	for (element, (start, end)) in fixture.genesis.params.iter().zip(&attested.params).enumerate() {
		let mean = right.iter().map(|delta| f64::from(delta[element])).sum::<f64>() / 3.0;
		assert!((f64::from(*start) - f64::from(*end) - 2.0 * mean).abs() < 1e-6, "{element}: {start} {end} {mean}");
	}
}

#[test]
fn a_liar_can_tell_the_story_of_its_checkpoint() {
	let mut fixture = fixture(STEPS);
	let right = deltas(&mut fixture);
	let (exec, model, train) = (fixture.engine.exec().clone(), fixture.engine.model().clone(), fixture.engine.train_config().clone());
	for lie in [CheckpointLie::Aggregate, CheckpointLie::OuterStep] {
		// A step without deltas between two with some, as outer steps that are redone may have.
		let steps = [right.clone(), Vec::new(), right[1..].to_vec()].map(Included::from);
		let lies = steps.clone().map(|step| Ok::<_, OuterError>(Included { deltas: lie.deltas(step.deltas), ..step }));
		let attested = apply_outer_steps_as(&fixture.engine, &lie.train(&train), &fixture.genesis, lies).unwrap();
		let told = |step: u32| Ok::<_, Infallible>(lie.deltas(steps[step as usize].deltas.clone()));
		let start = [fixture.genesis.params.clone(), fixture.genesis.momentum.clone()];
		let mut story = CheckpointStory::new(exec.clone(), &model, &lie.train(&train), 0, start, told).unwrap();
		assert_eq!(story.roots(0, 3).unwrap().last().copied(), Some(attested.header.root().0), "{lie:?}");
		assert_eq!(lie.attest(&attested).checkpoint, attested.header.root());
	}
}

#[test]
fn a_fault_happens_in_its_round_or_from_then_on() {
	let once = Fault { round: 2, ..fault(Deed::WrongAggregate) };
	let again = Fault { again: true, ..once.clone() };
	let lies = |fault: &Fault| (0..5).map(|round| fault.lie(round).is_some()).collect::<Vec<_>>();
	assert_eq!(lies(&once), [false, false, true, false, false]);
	assert_eq!(lies(&again), [false, false, true, true, true]);
	let accomplice = Fault { deed: Deed::HandOver, ..once.clone() };
	assert!(accomplice.keeps_work_back(2) && !accomplice.keeps_work_back(3) && !once.keeps_work_back(2));
	let mut fixture = fixture(STEPS);
	let due = Due { run: RUN, round: 1, draw: Draw::of_all(SEED), position: 0, residual: None };
	let before = false_work(&Fault { round: 2, ..fault(Deed::Noise) }, due, &mut fixture.engine, (&fixture.genesis, None), &fixture.loader);
	assert_eq!(before.unwrap(), None);
}

#[test]
fn only_what_has_a_story_is_defended() {
	let silent = [Deed::Noise, Deed::FewerSteps, Deed::Copy(PathBuf::new()), Deed::Silence];
	for kind in [ClaimKind::Work, ClaimKind::Attestation] {
		let silenced = |deed: &Deed| !fault(deed.clone()).answers_disputes(kind, 0) && fault(deed.clone()).answers_disputes(kind, 1);
		assert!(silent.iter().all(silenced));
		let stubborn = [
			Deed::WrongShard,
			Deed::WrongMask,
			Deed::WrongBase,
			BIT_FLIP,
			Deed::WrongAggregate,
			Deed::WrongOuterStep,
			Deed::HandOver,
			Deed::LazyAudit,
		];
		assert!(stubborn.into_iter().all(|deed| fault(deed).answers_disputes(kind, 0)));
	}
	assert!(silent.into_iter().all(|deed| fault(deed).answers_disputes(ClaimKind::Audit, 0)));
	assert!(!fault(Deed::LazyAudit).answers_disputes(ClaimKind::Audit, 0));
}

#[test]
fn a_lazy_auditor_makes_samples_up_from_its_round_on_and_nobody_else_does() {
	let lazy = Fault { again: true, round: 2, ..fault(Deed::LazyAudit) };
	let made_up: Vec<_> = (0..5).map(|round| lazy.sample(RUN, round)).collect();
	assert!(made_up[..2].iter().all(Option::is_none) && made_up[2..].iter().all(Option::is_some));
	assert_eq!(made_up[3], lazy.sample(RUN, 3), "it is the same after a restart");
	assert_ne!(made_up[3], made_up[4]);
	let partner = Fault { who: AccountId::new([8; 32]), ..lazy };
	assert_ne!(made_up[3], partner.sample(RUN, 3));
	assert_eq!(fault(Deed::Noise).sample(RUN, 0), None);
}

#[derive(Parser)]
struct Line {
	#[command(flatten)]
	options: CheatOptions,
}

#[test]
fn every_kind_is_asked_for_by_its_name() {
	let who = AccountId::new([7; 32]);
	let parse = |line: &[&str]| Line::try_parse_from([&["run"], line].concat()).map(|line| line.options.fault(who.clone()));
	assert_eq!(parse(&[]).unwrap(), None);
	for cheat in Cheat::value_variants().iter().filter(|cheat| !cheat.is_of_answers()) {
		let asked = parse(&["--cheat", cheat.name(), "--cheat-from", "/base"]).unwrap();
		assert!(asked.is_some(), "{cheat:?}");
	}
	assert!(parse(&["--cheat", "wrong-token"]).unwrap_err().to_string().contains("noise, fewer-steps"));
	let asked = parse(&["--cheat", "bit-flip"]).unwrap();
	assert_eq!(asked, Some(Fault { round: 1, ..fault(BIT_FLIP) }));
	let asked = parse(&["--cheat", "noise", "--cheat-round", "4", "--cheat-again"]).unwrap();
	assert_eq!(asked, Some(Fault { round: 4, again: true, ..fault(Deed::Noise) }));
	let asked = parse(&["--cheat", "copied-delta", "--cheat-from", "/base"]).unwrap();
	assert_eq!(asked.map(|fault| fault.deed), Some(Deed::Copy("/base".into())));
	assert_eq!(parse(&["--hand-over"]).unwrap().map(|fault| fault.deed), Some(Deed::HandOver));
	assert!(parse(&["--cheat", "copied-delta"]).is_err(), "a copy needs an original");
	assert!(parse(&["--cheat", "noise", "--hand-over"]).is_err());
}
