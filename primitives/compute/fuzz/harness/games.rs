//! Whole games of an honest defender against a challenger who picks as the input says, and changes what it sends: it never wins.

use super::{
	common::{adapter, lively_theta, text::Text},
	source::Source,
};
use codec::{Decode, Encode};
use neuroshard_compute::{
	exec::Exec,
	player::{Job, PlayError, Player, Story, Traced},
	recorder::{record, record_choice, record_reading, record_row},
	trace::Trace,
};
use neuroshard_graph::{
	answer::{Answer, TokenList},
	commit::{checkpoint_root, state_root, tensors_root},
	corpus::Window,
	game::{
		open_answer, open_checkpoint, open_work, Contents, Doubt, Entry, Move, Outcome, Position, Ruling, Setting, Side, Site, Subject,
	},
	merkle::{prove, Hash},
	sampler::{sample, Counts, Sampling},
	witness::Tokens,
	Aggregator, Class, ModelConfig, Optimizer, ParamLayout, Products, Projections, TrainConfig, F32,
};
use std::sync::{Arc, OnceLock};

const ROUND: u32 = 2;
/// Most moves of a game after its opening.
const MOST_MOVES: usize = 11;
/// Tokens that answers are chosen from.
const USABLE: u32 = 60;
/// Training steps have other products.
const CLASS: Class = Class::ExactInt8;

fn sampling() -> Sampling {
	Sampling { top_p: 0.9, repetition: 1.2, seed: 5, ..Sampling::default() }
}

/// Claims that are right, with everything that was computed for them.
struct World {
	model: ModelConfig,
	train: TrainConfig,
	text: Text,
	start: Hash,
	/// What states (inner steps) or checkpoints (outer steps) consist of, before the first step and after each.
	contents: [Vec<Contents>; 2],
	/// Their roots.
	roots: [Vec<Hash>; 2],
	steps: Vec<Traced>,
	delta: Traced,
	outer: Vec<Traced>,
	deltas: Vec<Vec<Hash>>,
	/// A prompt and its answer.
	words: [Vec<u32>; 2],
	read: Traced,
}

fn window_of(step: u32, sequence: u32) -> Option<Window> {
	Some(Window { shard: step.checked_add(sequence)? % 2, start: step.checked_mul(40)?.checked_add(2_030)?.checked_add(sequence)? })
}

impl World {
	/// With a training of the model in f32, or of an adapter of this rank beside it, which is multiplied in int8.
	fn new(rank: Option<u32>) -> Self {
		let model = ModelConfig { vocab: 64, dim: 64, heads: 2, kv_heads: 1, ffn: 32, max_seq: 64, ..ModelConfig::tiny() };
		let train = TrainConfig {
			batch: 1,
			inner_steps: 3,
			commit_interval: 2,
			aggregator: Aggregator::TrimmedMean { trim: 1 },
			..TrainConfig::tiny()
		};
		let whole = ParamLayout::new(&model).unwrap();
		let beside = lively_theta(&whole, 2);
		let adapter = rank.map(|rank| adapter(tensors_root(&whole, &beside, 1), rank, Projections::ALL));
		// Where there is no adapter, projections have Muon.
		let optimizer = if adapter.is_some() { Optimizer::AdamW } else { Optimizer::Muon { momentum: F32::new(0.95) } };
		let products = if rank.is_some() { Products::Int8 } else { Products::F32 };
		let train = TrainConfig { adapter, optimizer, products, ..train };
		let (exec, layout) = (Arc::new(Exec::new(1).unwrap()), ParamLayout::trained(&model, &train).unwrap());
		let root = |values: &[f32]| tensors_root(&layout, values, 1);
		let text = Text::random(2, 6_000, model.vocab, 3);
		let (theta, zeros) = (lively_theta(&layout, 1), vec![0.0; layout.len()]);
		// Who answers has a model.
		let params = Arc::new(if rank.is_some() { beside.clone() } else { theta.clone() });
		let checkpoint = [root(&theta), root(&zeros)];
		let start = checkpoint_root(&checkpoint[0], &checkpoint[1], ROUND, u64::from(ROUND * train.inner_steps));
		let (mut contents, mut roots) =
			([vec![Contents::Checkpoint(checkpoint)], vec![Contents::Checkpoint(checkpoint)]], [vec![], vec![]]);
		let (mut steps, mut state) = (Vec::new(), [theta.clone(), zeros.clone(), zeros.clone()]);
		for step in 0..train.inner_steps {
			let tokens = text.read(window_of(step, 0).unwrap(), train.seq_len);
			let vectors: Vec<&[f32]> = state.iter().chain(rank.map(|_| &beside)).map(Vec::as_slice).collect();
			let trace = Trace::step(&exec, &model, &train, &vectors, tokens, ROUND, step).unwrap();
			state = [0, 1, 2].map(|result| trace.result(result));
			let after = trace.result_roots::<3>().unwrap();
			contents[0].push(Contents::State(after));
			roots[0].push(state_root(&after[0], &after[1], &after[2], step + 1, u64::from(step + 1)));
			steps.push(Traced::new(trace));
		}
		let delta = Traced::new(Trace::delta(&exec, &model, &train, [&theta, &state[0]], None).unwrap());
		let (mut outer, mut deltas, mut vectors) = (Vec::new(), Vec::new(), [theta, zeros]);
		for step in 0..2 {
			let inputs: Vec<Vec<f32>> = (0..4).map(|delta| lively_theta(&layout, 7 + 4 * step + delta)).collect();
			let slices: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
			let trace = Trace::outer(&exec, &model, &train, [&vectors[0], &vectors[1]], &slices, &[]).unwrap();
			let [_, params, momentum] = trace.result_roots::<3>().unwrap();
			vectors = [trace.result(1), trace.result(2)];
			let round = ROUND + step as u32 + 1;
			contents[1].push(Contents::Checkpoint([params, momentum]));
			roots[1].push(checkpoint_root(&params, &momentum, round, u64::from(round * train.inner_steps)));
			deltas.push(slices.iter().map(|values| root(values)).collect());
			outer.push(Traced::new(trace));
		}
		let (prompt, mut answer): (Vec<u32>, Vec<u32>) = ((3..33).collect(), Vec::new());
		let read = loop {
			let mut tokens: Vec<u32> = prompt.iter().chain(&answer).copied().collect();
			tokens.resize(64, 0);
			let trace = Trace::reading(&exec, &model, &train, params.clone(), (&tokens, CLASS), None).unwrap();
			let position = (prompt.len() + answer.len()) as u32;
			let mut counts = Counts::default();
			counts.prompt(&prompt);
			answer.iter().for_each(|&token| counts.generated(token));
			answer.push(sample(trace.logits(position - 1).unwrap(), USABLE as usize, &counts, &sampling(), position));
			// The last token of an answer that was cut is not read.
			if answer.len() == 5 {
				break Traced::new(trace);
			}
		};
		Self { model, train, text, start, contents, roots, steps, delta, outer, deltas, words: [prompt, answer], read }
	}

	/// What is claimed of the answer: the truth.
	fn claim(&self) -> Answer<'_> {
		let [prompt, answer] = self.words.each_ref().map(|tokens| TokenList::of(tokens));
		Answer { prompt, answer, ended: false, sampling: sampling(), usable: USABLE, ends: &[], class: CLASS }
	}

	fn words(&self) -> [&[u32]; 2] {
		self.words.each_ref().map(Vec::as_slice)
	}

	/// One of two: of a model, and of an adapter whose rank is no multiple of 32.
	fn get(of_adapter: bool) -> &'static Self {
		static WORLDS: [OnceLock<World>; 2] = [OnceLock::new(), OnceLock::new()];
		WORLDS[usize::from(of_adapter)].get_or_init(|| Self::new(of_adapter.then_some(40)))
	}

	fn traced(&self, job: Job) -> Option<&Traced> {
		match job {
			Job::Step(step) => self.steps.get(step as usize),
			Job::Delta => Some(&self.delta),
			Job::Outer(step) => self.outer.get(step as usize),
			Job::Read => Some(&self.read),
			// Nobody's work is a quorum's here.
			Job::Span { .. } => None,
		}
	}
}

/// Builds what games are played about, so that no input pays for it.
pub fn prepare() {
	for of_adapter in [false, true] {
		World::get(of_adapter);
	}
}

/// What is known of one of the claims: inner steps (0), outer steps (1) or the answer (2).
struct Known(&'static World, usize);

impl Story for Known {
	type Error = String;

	fn roots(&mut self, first: u32, count: u32) -> Result<Vec<Hash>, PlayError<String>> {
		let range = first as usize..(first + count) as usize;
		self.0.roots.get(self.1).and_then(|roots| roots.get(range)).map(<[Hash]>::to_vec).ok_or(PlayError::Position)
	}

	fn contents(&mut self, step: u32) -> Result<Contents, PlayError<String>> {
		self.0.contents[self.1 % 2].get(step as usize).copied().ok_or(PlayError::Position)
	}

	fn trace(&mut self, job: Job) -> Result<&Traced, PlayError<String>> {
		self.0.traced(job).ok_or(PlayError::Position)
	}

	fn text(&self) -> Option<[&[u32]; 2]> {
		Some(self.0.words())
	}
}

/// A move of the challenger: legal, before it is edited.
fn challenge(world: &World, source: &mut Source, position: &Position, posted: &[Hash]) -> Option<Move> {
	let entry = |index: u32| Some(Entry { hash: *posted.get(index as usize)?, proof: prove(posted, index)? });
	let any = |source: &mut Source| source.below(posted.len() as u32);
	let before = |index: u32| index.checked_sub(1).and_then(entry);
	Some(match *position {
		Position::PickStep { .. } | Position::PickCheckpoint { .. } => {
			let index = any(source);
			Move::Step { index, before: before(index), after: entry(index)? }
		}
		Position::PickVector { .. } => Move::Vector(source.below(4)),
		Position::PickNode { .. } if source.once_in(4) => Move::Vector(source.below(4)),
		Position::PickRead { .. } if source.once_in(3) => Move::Vector(source.below(2)),
		Position::PickRow { index, .. } => {
			let (row, Traced { trace, nodes }) = (world.claim().row(index)?, &world.read);
			match source.once_in(2) {
				true => Move::Choice { index, witness: record_choice(trace, world.words(), row).ok()? },
				false => {
					let piece = any(source);
					Move::Piece { piece, before: None, after: entry(piece), witness: record_row(trace, nodes, row, piece).ok()? }
				}
			}
		}
		Position::PickNode { .. } | Position::PickRead { .. } => {
			let index = any(source);
			Move::Node { index, root: entry(index)? }
		}
		Position::PickHash { .. } => {
			let index = any(source);
			Move::Hash { index, entry: entry(index)? }
		}
		Position::PickPiece { site, target, leaf, states, .. } => {
			let posted = if states == Hash::default() { &[][..] } else { posted };
			let piece = source.below(posted.len() as u32 + 1);
			let (job, step) = match site {
				Site::Step { step, .. } => (Job::Step(step), step),
				Site::Delta { .. } | Site::Code { .. } => (Job::Delta, 0),
				Site::Outer { step, .. } | Site::Aggregate { step, .. } => (Job::Outer(step), step),
				Site::Read { .. } => (Job::Read, 0),
				Site::Span { member, step, .. } => (Job::Span { member, step }, step),
			};
			let traced = world.traced(job)?;
			let cell = target.cell(traced.trace.plan(), leaf)?;
			let window = |sequence: u32| window_of(step, sequence);
			let tokens = Tokens { corpus: world.text.corpus(), window: &window };
			let witness = match job {
				Job::Read => record_reading(&traced.trace, &traced.nodes, world.words(), cell, piece).ok()?,
				_ => record(&traced.trace, &traced.nodes, Some((tokens, &world.text)), cell, piece).ok()?,
			};
			let entry = |index: u32| Some(Entry { hash: *posted.get(index as usize)?, proof: prove(posted, index)? });
			Move::Piece { piece, before: piece.checked_sub(1).and_then(entry), after: entry(piece), witness }
		}
		_ => return None,
	})
}

/// The same move with changes to its encoding, if that is one of a move.
fn edited(source: &mut Source, action: Move) -> Move {
	let mut action = action;
	if let Move::Piece { witness, .. } | Move::Choice { witness, .. } = &mut action {
		source.edit(witness);
	}
	if !source.once_in(4) {
		return action;
	}
	let mut bytes = action.encode();
	source.edit(&mut bytes);
	Move::decode(&mut &bytes[..]).unwrap_or(action)
}

pub fn run(source: &mut Source) {
	// Nobody answers with an adapter.
	let which = source.below(5) as usize;
	let (world, which) = (World::get(which > 2), which % 3);
	let window = window_of;
	let subject = match which {
		0 => Subject::Work { corpus: world.text.corpus(), window: &window, steps: world.train.inner_steps, base: None, quorum: None },
		1 => Subject::Checkpoint { deltas: &world.deltas, inner_steps: &[], claimed: world.roots[1][1] },
		_ => Subject::Answer(world.claim()),
	};
	let setting = Setting { model: &world.model, train: &world.train, round: ROUND, start: world.start, subject };
	let first = match which {
		0 => {
			let doubt = if source.once_in(4) { Doubt::Delta } else { Doubt::Interval(source.about(2)) };
			let delta = world.delta.trace.result_roots::<1>().unwrap()[0];
			open_work(&setting, &world.roots[0][1..], delta, doubt)
		}
		1 => open_checkpoint(&setting),
		_ => open_answer(&setting, source.about(4)),
	};
	let Ok(mut position) = first else { return };
	let mut defender = Player::new(setting, Side::Defender, Known(world, which), None);
	let mut defence: Vec<Move> = Vec::new();
	for _ in 0..MOST_MOVES {
		let posted = defence.last().map_or(&[][..], Move::list);
		let action = match position.turn() {
			Side::Defender => defender.play(&position, &[]).expect("an honest defender has an answer"),
			Side::Challenger => match challenge(world, source, &position, posted) {
				Some(action) => edited(source, action),
				None => return,
			},
		};
		// A position that is not one of the game's: nothing is claimed of it but that it can be played.
		if source.once_in(16) {
			let mut bytes = position.encode();
			source.edit(&mut bytes);
			if let Ok(position) = Position::decode(&mut &bytes[..]) {
				let _ = position.play(&setting, &action);
			}
		}
		match (position.play(&setting, &action), position.turn()) {
			(Ok(Outcome::Next(next)), Side::Defender) => {
				defence.push(action);
				position = next;
			}
			(Ok(Outcome::Next(next)), Side::Challenger) => position = next,
			(Ok(Outcome::Decided(ruling)), _) => return assert_eq!(ruling, Ruling::Unfounded, "{position:?}"),
			(Err(error), Side::Defender) => panic!("an honest answer is refused: {error}"),
			(Err(_), Side::Challenger) => return,
		}
	}
	panic!("a game goes on and on");
}
