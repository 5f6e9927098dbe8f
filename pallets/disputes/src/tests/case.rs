//! Real claims about a tiny model, and players of games about them.

use super::*;
use neuroshard_compute::{
	exec::Exec,
	player::{AnswerStory, CheckpointStory, Job, PlayError, Player, Story, Traced, WorkStory},
	recorder::{record, record_choice, Chunk, Library},
	trace::Mistake,
};
use neuroshard_graph::{
	commit::{checkpoint_root, tensors_root},
	corpus::{Corpus, TokenWidth, Window},
	game::{Doubt, Entry, Move, Position, Setting, Side, Site, Subject},
	merkle::{blake2_256, merkle_root, prove, Hash},
	sampler::Sampling,
	tiles::{leaf_hash, LEAF_BYTES},
	witness::Tokens,
	ModelConfig, ParamKind, ParamLayout, TrainConfig, F32,
};
use neuroshard_types::{
	assignment::{draw_index, training_window, training_windows, Draw},
	dataset::{DatasetShape, TextTokens, Tokenizer},
	dispute::{AttestationClaim, ClaimId, ClaimKind, OuterJob, WorkClaim},
	inference::{CheckpointId, Class, Ending, Receipt, Tokens as TokensOf},
	proof::ProofSignature,
	quorum::QuorumClaim,
	run::{PhaseDurations, RunConfig, RunStart, Work},
	AccountId, H256,
};
use sp_core::{ecdsa, Pair};
use std::sync::{Arc, OnceLock};

/// Says what to do in a position, given what the defender did so far; nothing to stay silent.
pub type Strategy = Box<dyn FnMut(&Position, &[Move]) -> Option<Move>>;

/// Round of all claims about work.
pub const ROUND: u32 = 2;
const SHAPE: DatasetShape = DatasetShape { tokens_per_shard: 3_000, shard_count: 4, held_out: 1 };
const SEED: H256 = H256::repeat_byte(0x5e);
/// Place of the claimant in its round.
const PLACE: u32 = 1;
/// A mistake in the fourth inner step, which ends the second interval.
pub const MISTAKE: Mistake = Mistake { step: 3, stage: 3, output: 0, element: 1_999, mask: 1 << 22 };

/// A mistake in the third inner step, before any sample.
pub const EARLY_MISTAKE: Mistake = Mistake { step: 2, ..MISTAKE };

/// Numbers that are nobody else's.
fn noise(seed: u64, count: usize) -> impl Iterator<Item = f32> {
	let mut state = seed;
	(0..count).map(move |_| {
		state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
		((state >> 40) as f32) / 8_388_608.0 - 1.0
	})
}

/// Parameters that are large enough for every gradient to matter.
fn vector(layout: &ParamLayout, seed: u64) -> Vec<f32> {
	let mut values: Vec<f32> = noise(seed, layout.len()).map(|x| 0.25 * x).collect();
	for tensor in layout.tensors().iter().filter(|tensor| tensor.kind == ParamKind::Norm) {
		values[tensor.range()].iter_mut().for_each(|value| *value += 1.0);
	}
	values
}

/// Of the vocabulary here.
const WIDTH: TokenWidth = TokenWidth::Two;

/// A dataset with its proofs.
struct Text(Vec<Vec<u32>>);

impl Text {
	fn new(vocab: u32) -> Self {
		let shard = |seed| noise(seed, SHAPE.tokens_per_shard as usize).map(|x| ((x + 1.0) * 0.5 * vocab as f32) as u32).collect();
		Self((0..u64::from(SHAPE.shard_count)).map(shard).collect())
	}

	fn leaves(shard: &[u32]) -> Vec<[u8; LEAF_BYTES]> {
		let leaf = |chunk: &[u32]| {
			let mut bytes: Vec<u8> = chunk.iter().flat_map(|token| WIDTH.write(*token)[..2].to_vec()).collect();
			bytes.resize(LEAF_BYTES, 0);
			bytes.try_into().expect("a chunk is a leaf")
		};
		shard.chunks(WIDTH.chunk_tokens() as usize).map(leaf).collect()
	}

	fn hashes(shard: &[u32]) -> Vec<Hash> {
		Self::leaves(shard).iter().map(|leaf| leaf_hash(leaf)).collect()
	}

	fn roots(&self) -> Vec<Hash> {
		self.0.iter().map(|shard| merkle_root(&Self::hashes(shard))).collect()
	}
}

impl Library for Text {
	fn chunk(&self, shard: u32, chunk: u32) -> Option<Chunk> {
		let tokens = self.0.get(shard as usize)?;
		let leaf = Box::new(*Self::leaves(tokens).get(chunk as usize)?);
		Some(Chunk { leaf, in_shard: prove(&Self::hashes(tokens), chunk)?, in_corpus: prove(&self.roots(), shard)? })
	}
}

fn config(model: &ModelConfig, train: &TrainConfig) -> RunConfig {
	RunConfig {
		name: Default::default(),
		dataset: 0,
		model: model.clone(),
		train: train.clone(),
		genesis_root: H256::zero(),
		start: RunStart::Seed,
		min_participants: 1,
		max_participants: 4,
		min_bond: 1,
		rounds: None,
		durations: PhaseDurations { joining: 1, training: 1, revealing: 1, availability: 1, checkpointing: 1 },
		tokenizer: Tokenizer::BYTES,
		overlaps: false,
		epochs: true,
	}
}

/// The window of a sequence, drawn as the claimant's loader does.
fn window_of(train: &TrainConfig, step: u32, sequence: u32) -> Option<Window> {
	let drawn = Draw::of_all(SEED).among(training_windows(&SHAPE, train.seq_len))?;
	let index = drawn.window(draw_index(PLACE, train.inner_steps, step, train.batch, sequence))?;
	training_window(&SHAPE, train.seq_len, index)
}

/// A round of inner steps. Whatever is made of it lives as long as the test.
pub struct Round {
	pub model: ModelConfig,
	pub train: TrainConfig,
	text: Text,
	pub theta: Vec<f32>,
	pub momentum: Hash,
	start: Hash,
}

pub fn round() -> &'static Round {
	static ROUND_OF_TESTS: OnceLock<Round> = OnceLock::new();
	ROUND_OF_TESTS.get_or_init(|| {
		let model = ModelConfig { vocab: 64, dim: 64, heads: 2, kv_heads: 1, ffn: 32, max_seq: 64, ..ModelConfig::tiny() };
		let train = TrainConfig { batch: 1, inner_steps: 5, commit_interval: 2, ..TrainConfig::tiny() };
		let layout = ParamLayout::new(&model).expect("a model");
		let (theta, momentum) = (vector(&layout, 1), tensors_root(&layout, &vec![0.0; layout.len()], 1));
		let steps = u64::from(ROUND * train.inner_steps);
		let start = checkpoint_root(&tensors_root(&layout, &theta, 1), &momentum, ROUND, steps);
		Round { text: Text::new(model.vocab), model, train, theta, momentum, start }
	})
}

impl Round {
	fn corpus(&self) -> Corpus {
		let DatasetShape { tokens_per_shard, shard_count, .. } = SHAPE;
		Corpus { root: merkle_root(&self.text.roots()), shards: shard_count, tokens_per_shard, width: WIDTH }
	}

	/// The tokens of an inner step.
	pub fn tokens(&self, step: u32) -> Vec<u32> {
		let read = |sequence| {
			let window = window_of(&self.train, step, sequence).expect("a window");
			self.text.0[window.shard as usize][window.start as usize..][..self.train.seq_len as usize + 1].to_vec()
		};
		(0..self.train.batch).flat_map(read).collect()
	}

	/// What proves chunks of the dataset.
	pub fn library(&self) -> &dyn Library {
		&self.text
	}

	pub fn setting(&'static self) -> Setting<'static> {
		let window: &'static dyn Fn(u32, u32) -> Option<Window> = &|step, sequence| window_of(&round().train, step, sequence);
		let subject = Subject::Work { corpus: self.corpus(), window, steps: self.train.inner_steps, base: None, quorum: None };
		Setting { model: &self.model, train: &self.train, round: ROUND, start: self.start, subject }
	}

	fn story(&'static self) -> WorkStory<impl FnMut(u32, u32, &mut [u32]) -> Result<(), &'static str>> {
		let read = |step, sequence, buffer: &mut [u32]| {
			let window = window_of(&self.train, step, sequence).ok_or("no window")?;
			buffer.copy_from_slice(&self.text.0[window.shard as usize][window.start as usize..][..buffer.len()]);
			Ok(())
		};
		let start = (self.theta.clone(), self.momentum);
		WorkStory::new(Arc::new(Exec::new(1).expect("an executor")), &self.model, &self.train, ROUND, start, read).expect("a story")
	}
}

/// A strategy that tells the truth of its story.
pub fn truthful<S: Story + 'static>(mut player: Player<'static, S>) -> Strategy
where
	S::Error: std::fmt::Debug,
{
	Box::new(move |position, defence| match player.play(position, defence) {
		Ok(action) => Some(action),
		Err(PlayError::Nothing) => None,
		Err(error) => panic!("a player is at a loss: {error:?}"),
	})
}

/// Work as it is revealed, with or without a mistake in it.
pub fn work(mistake: Option<Mistake>) -> Work {
	let mut story = round().story();
	if let Some(mistake) = mistake {
		story = story.with_mistake(mistake);
	}
	let roots = story.roots(0, round().train.inner_steps).expect("a round");
	let (_, delta) = story.delta().expect("a round").expect("a delta");
	let committed = (1..).zip(roots).filter(|(step, _)| round().train.commits_after(*step)).map(|(_, root)| H256(root));
	Work { state_roots: committed.collect::<Vec<_>>().try_into().expect("few roots"), delta_root: H256(delta), delta_bytes: 1, tokens: 160 }
}

/// The state that an audit samples, with or without a mistake before it.
pub fn sample(mistake: Option<Mistake>) -> H256 {
	let story = round().story();
	let mut story = if let Some(mistake) = mistake { story.with_mistake(mistake) } else { story };
	let sampled = neuroshard_types::audit::sampled_steps(&round().train, round().train.inner_steps);
	assert_eq!(sampled, 2..3, "there is one step to sample");
	H256(*story.roots(0, 3).expect("a round").last().expect("three roots"))
}

/// Returns the first thing in `work` that an honest challenger doubts.
pub fn doubt(work: &Work) -> Option<Doubt> {
	let roots: Vec<Hash> = work.state_roots.iter().map(|root| root.0).collect();
	round().story().doubt(&roots, work.delta_root.0).expect("a round")
}

/// `work` is a claim of `who` in a round that is adopted now.
pub fn reveal(who: &AccountId, work: &Work) -> ClaimId {
	reveal_of(who, work, None)
}

/// The same about work of a quorum.
pub fn reveal_of(who: &AccountId, work: &Work, quorum: Option<QuorumClaim>) -> ClaimId {
	let round = round();
	let judged = WorkClaim {
		config: config(&round.model, &round.train),
		shape: SHAPE,
		dataset_root: H256(round.corpus().root),
		start: H256(round.start),
		start_round: ROUND,
		base: None,
		draw: Draw::of_all(SEED),
		position: PLACE,
		work_hash: H256(blake2_256(&codec::Encode::encode(work))),
		steps: round.train.inner_steps,
		quorum,
	};
	let id = claim(ClaimKind::Work, ROUND, who);
	<MockHelper as crate::BenchmarkHelper>::work(&id, judged);
	id
}

/// A claimant who stands by work, with or without a mistake in it.
pub fn claimant(mistake: Option<Mistake>) -> Strategy {
	let mut story = round().story();
	if let Some(mistake) = mistake {
		story = story.with_mistake(mistake);
	}
	truthful(Player::new(round().setting(), Side::Defender, story, None))
}

/// A challenger who computes the round as it is.
pub fn checker() -> Strategy {
	truthful(Player::new(round().setting(), Side::Challenger, round().story(), Some(&round().text)))
}

/// A challenger without a case, who objects to the last of whatever was posted.
pub fn quibbler() -> Strategy {
	let mut truth = round().story();
	Box::new(move |position, defence| {
		let posted = defence.last().map_or(&[][..], Move::list);
		let last = u32::try_from(posted.len()).ok()?.checked_sub(1);
		let entry = |index: u32| Some(Entry { hash: *posted.get(index as usize)?, proof: prove(posted, index)? });
		Some(match *position {
			Position::PickStep { .. } => Move::Step { index: last?, before: entry(last?.checked_sub(1)?), after: entry(last?)? },
			Position::PickNode { .. } => Move::Node { index: last?, root: entry(last?)? },
			Position::PickHash { .. } => Move::Hash { index: last?, entry: entry(last?)? },
			Position::PickPiece { site, target, leaf, states, .. } => {
				let posted = if states == Hash::default() { 0 } else { posted.len() as u32 };
				let (job, step) = match site {
					Site::Step { step, .. } => (Job::Step(step), step),
					_ => (Job::Delta, 0),
				};
				let traced = truth.trace(job).ok()?;
				let cell = target.cell(traced.trace.plan(), leaf)?;
				let window = |sequence: u32| window_of(&round().train, step, sequence);
				let tokens = (Tokens { corpus: round().corpus(), window: &window }, &round().text as &dyn Library);
				let witness = record(&traced.trace, &traced.nodes, Some(tokens), cell, posted).ok()?;
				Move::Piece { piece: posted, before: posted.checked_sub(1).and_then(entry), after: None, witness }
			}
			_ => return None,
		})
	})
}

/// Outer steps of rounds 5 and 6 with two deltas each.
struct Outer {
	model: ModelConfig,
	train: TrainConfig,
	vectors: Vec<Vec<f32>>,
	roots: Vec<Vec<Hash>>,
	start: Hash,
}

/// First round of the outer steps; the claim is one of the round after it.
pub const FIRST_ROUND: u32 = 5;

fn outer() -> &'static Outer {
	static OUTER_OF_TESTS: OnceLock<Outer> = OnceLock::new();
	OUTER_OF_TESTS.get_or_init(|| {
		let model = ModelConfig { vocab: 32, ffn: 32, ..ModelConfig::tiny() };
		let train = TrainConfig { outer_lr: F32::new(0.7), outer_beta: F32::new(0.9), ..TrainConfig::tiny() };
		let layout = ParamLayout::new(&model).expect("a model");
		let vectors: Vec<Vec<f32>> = (10..16).map(|seed| vector(&layout, seed)).collect();
		let roots: Vec<Hash> = vectors.iter().map(|vector| tensors_root(&layout, vector, 1)).collect();
		let start = checkpoint_root(&roots[0], &roots[1], FIRST_ROUND, u64::from(FIRST_ROUND * train.inner_steps));
		let roots = roots[2..].chunks(2).map(<[Hash]>::to_vec).collect();
		Outer { model, train, vectors, roots, start }
	})
}

impl Outer {
	/// The steps with a learning rate.
	fn story(&'static self, rate: f32) -> CheckpointStory<impl FnMut(u32) -> Result<Vec<Vec<f32>>, &'static str>> {
		let train = TrainConfig { outer_lr: F32::new(rate), ..self.train.clone() };
		let deltas = |step: u32| Ok(self.vectors[2..].chunks(2).nth(step as usize).ok_or("no such step")?.to_vec());
		let start = [self.vectors[0].clone(), self.vectors[1].clone()];
		let exec = Arc::new(Exec::new(1).expect("an executor"));
		CheckpointStory::new(exec, &self.model, &train, FIRST_ROUND, start, deltas).expect("a story")
	}

	fn player(&'static self, rate: f32, claimed: Hash, side: Side) -> Strategy {
		let subject = Subject::Checkpoint { deltas: &self.roots, inner_steps: &[], claimed };
		let setting = Setting { model: &self.model, train: &self.train, round: FIRST_ROUND, start: self.start, subject };
		truthful(Player::new(setting, side, self.story(rate), None))
	}
}

/// A learning rate that is not the run's.
pub const WRONG_RATE: f32 = 1.4;
/// The run's.
pub const RIGHT_RATE: f32 = 0.7;

/// `who` attests what two outer steps with this learning rate give, in a round that is adopted now. With the claimant and a
/// challenger who takes another rate for the right one, or the right one.
pub fn attest(who: &AccountId, rate: f32, believed: f32) -> (ClaimId, Strategy, Strategy) {
	let outer = outer();
	let claimed = *outer.story(rate).roots(0, 2).expect("two steps").last().expect("two steps");
	let steps = outer.roots.iter().map(|step| step.iter().map(|root| H256(*root)).collect()).collect();
	let job = OuterJob { first_round: FIRST_ROUND, start: H256(outer.start), steps, inner_steps: vec![] };
	let id = claim(ClaimKind::Attestation, FIRST_ROUND + 1, who);
	adopt(id.run, FIRST_ROUND);
	let judged = AttestationClaim { config: config(&outer.model, &outer.train), job, checkpoint: H256(claimed) };
	<MockHelper as crate::BenchmarkHelper>::attestation(&id, judged);
	(id, outer.player(rate, claimed, Side::Defender), outer.player(believed, claimed, Side::Challenger))
}

/// The session of all answers.
pub const SESSION: u64 = 7;
/// A wrong value behind the attention of the first layer, in the last row of the prompt.
const WRONG_VALUE: Mistake = Mistake { step: 0, stage: 6, output: 0, element: 4 * 64 + 5, mask: 1 << 30 };

/// Answer that a provider tells.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Telling {
	/// The answer that the model gives.
	Truth,
	/// Another token in the second place.
	WrongToken,
	/// The answer that the model gives with a wrong value in a layer.
	WrongLayer,
	/// Token 0 again and again, and that there is no other.
	FromOneToken,
}

/// An answer of the model of rounds of work, as its provider has signed it.
#[derive(Clone)]
pub struct Answered {
	pub claim: ClaimId,
	pub receipt: Receipt,
	pub signature: ProofSignature,
	pub text: [Vec<u32>; 2],
	mistake: Option<Mistake>,
}

/// Returns the checkpoint that answers are computed with.
pub fn checkpoint() -> CheckpointId {
	CheckpointId { run: 0, round: ROUND, root: H256(round().start) }
}

/// `who` answers in [`SESSION`].
pub fn answer(who: &AccountId, telling: Telling) -> Answered {
	let round = round();
	let checkpoint = checkpoint();
	let (key, config) = (key_of(who).public().0, config(&round.model, &round.train));
	assert_eq!(<MockHelper as crate::BenchmarkHelper>::answered(who, key, &checkpoint, config), SESSION);
	let mistake = (telling == Telling::WrongLayer).then_some(WRONG_VALUE);
	// Each token is what the model says behind the text so far; the doubt is found with any token in its place.
	let mut text = [vec![3, 1, 4, 1, 5], Vec::new()];
	for place in 0..4 {
		text[1].push(0);
		let mut answered = Answered::of(who, text.clone(), 0, mistake);
		let told = (0..64).find(|token| {
			answered.text[1][place] = *token;
			let answered = Answered::of(who, answered.text.clone(), 0, mistake);
			answered.first_doubt(mistake).is_none()
		});
		text[1][place] = told.expect("the model gives one of its tokens");
		if telling == Telling::WrongToken && place == 1 {
			text[1][place] = (text[1][place] + 1) % 64;
			break;
		}
	}
	if telling == Telling::FromOneToken {
		text[1] = vec![0; 4];
	}
	let answered = Answered::of(who, text, 0, mistake);
	match telling {
		Telling::FromOneToken => answered.changed(|receipt| receipt.usable = 1),
		_ => answered,
	}
}

/// `who` says something in [`SESSION`], in this place, that nobody has computed.
pub fn say(who: &AccountId, place: u32) -> Answered {
	let round = round();
	let config = config(&round.model, &round.train);
	<MockHelper as crate::BenchmarkHelper>::answered(who, key_of(who).public().0, &checkpoint(), config);
	Answered::of(who, [vec![3, place], vec![1, 5, 9]], place, None)
}

fn key_of(who: &AccountId) -> ecdsa::Pair {
	ecdsa::Pair::from_seed(who.as_ref())
}

impl Answered {
	fn of(who: &AccountId, text: [Vec<u32>; 2], place: u32, mistake: Option<Mistake>) -> Self {
		let receipt = Receipt {
			provider: Some(who.clone()),
			paid: Some((SESSION, place)),
			parameters: H256(round().start),
			checkpoint: Some((0, ROUND)),
			class: Class::ExactF32,
			usable: TextTokens::BYTES.usable,
			prompt: TokensOf::of(&text[0]),
			answer: TokensOf::of(&text[1]),
			ending: Ending::Cut,
			sampling: Sampling { seed: 9, ..Sampling::default() }.into(),
			price: 5,
		};
		let claim = claim(ClaimKind::Answer(receipt.hash(genesis())), ROUND, who);
		let signature = key_of(who).sign(&receipt.message(genesis())).0;
		Self { claim, receipt, signature, text, mistake }
	}

	/// The same with another receipt.
	pub fn changed(&self, change: impl FnOnce(&mut Receipt)) -> Self {
		let mut receipt = self.receipt.clone();
		change(&mut receipt);
		let claim = ClaimId { kind: ClaimKind::Answer(receipt.hash(genesis())), ..self.claim.clone() };
		let signature = key_of(&claim.who).sign(&receipt.message(genesis())).0;
		Self { claim, receipt, signature, ..self.clone() }
	}

	/// The same answer in another place of the session.
	pub fn again(&self, place: u32) -> Self {
		self.changed(|receipt| receipt.paid = Some((SESSION, place)))
	}

	fn setting(&self) -> Setting<'static> {
		let Round { model, train, start, .. } = round();
		Setting { model, train, round: ROUND, start: *start, subject: Subject::Answer(self.receipt.claimed(&TextTokens::BYTES)) }
	}

	fn story(&self, mistake: Option<Mistake>) -> AnswerStory {
		let Round { model, train, theta, momentum, .. } = round();
		let exec = Arc::new(Exec::new(1).expect("an executor"));
		let start = (theta.clone(), *momentum);
		let story =
			AnswerStory::new(exec, model, train, start, &self.receipt.claimed(&TextTokens::BYTES), self.text.clone()).expect("a story");
		match mistake {
			Some(mistake) => story.with_mistake(mistake),
			None => story,
		}
	}

	fn first_doubt(&self, mistake: Option<Mistake>) -> Option<u32> {
		self.story(mistake).doubt(&self.receipt.claimed(&TextTokens::BYTES)).expect("an answer")
	}

	/// Returns the first choice that an honest challenger doubts.
	pub fn doubt(&self) -> Option<u32> {
		self.first_doubt(None)
	}

	/// The provider, who stands by what it computed.
	pub fn provider(&self) -> Strategy {
		truthful(Player::new(self.setting(), Side::Defender, self.story(self.mistake), None))
	}

	/// A challenger who computes the answer as it is.
	pub fn checker(&self) -> Strategy {
		truthful(Player::new(self.setting(), Side::Challenger, self.story(None), None))
	}

	/// A challenger without a case, who has the chain choose the token.
	pub fn quibbler(&self) -> Strategy {
		let (mut story, setting, text) = (self.story(None), self.setting(), self.text.clone());
		Box::new(move |position, _| {
			let index = match *position {
				Position::PickRead { .. } => return Some(Move::Vector(0)),
				Position::PickRow { index, .. } => index,
				_ => return None,
			};
			let Subject::Answer(claim) = setting.subject else { return None };
			let Traced { trace, .. } = story.trace(Job::Read).ok()?;
			let text = text.each_ref().map(Vec::as_slice);
			let witness = record_choice(trace, text, claim.row(index)?).ok()?;
			Some(Move::Choice { index, witness })
		})
	}
}

fn genesis() -> H256 {
	System::block_hash(0)
}
