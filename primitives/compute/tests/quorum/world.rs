//! Rounds that quorums work on, and games about them.
#![allow(dead_code, reason = "every test binary compiles this module and uses a part of it")]

use super::common::{adapter, lively_theta, small::muon_train, text::Text, tiny_model, tiny_train, Lcg};
use neuroshard_compute::{
	exec::Exec,
	player::{GaveStep, PlayError, Player, QuorumStory, SpanStory, Story, WorkStart, WorkStory},
	trace::Mistake,
};
use neuroshard_graph::{
	commit::{checkpoint_root, state_root, tensors_root},
	config::Family,
	corpus::Window,
	cover::merge,
	game::{Contents, Move, Outcome, Position, Quorum, Record, Records, Ruling, Setting, Side, Signature, Subject},
	merkle::{blake2_256, Hash},
	plan::Plan,
	span::{cut, units, Held, Span},
	ModelConfig, ParamLayout, Projections, TrainConfig,
};
use std::{convert::Infallible, sync::Arc};

pub const ROUND: u32 = 1;
/// Most moves of a game after its opening: records and the one picked, states and the one picked, nodes and the one picked, subtrees, tiles, states
/// between pieces, each with what is picked of it.
pub const MOST_MOVES: usize = 14;

pub fn window_of(step: u32, sequence: u32) -> Option<Window> {
	Some(Window { shard: (step + sequence) % 3, start: step * 300 + sequence * 40 })
}

/// What a member signs with: who knows its number can, in this test.
pub fn signature(member: u32, statement: Hash) -> Signature {
	let half = blake2_256(&[&member.to_le_bytes()[..], &statement].concat());
	let mut signature = [0; 65];
	signature[..32].copy_from_slice(&half);
	signature
}

pub fn signed(member: u32, statement: Hash, given: &Signature) -> bool {
	signature(member, statement) == *given
}

/// A round that a quorum works on.
pub struct World {
	pub model: ModelConfig,
	pub train: TrainConfig,
	pub spans: Vec<Span>,
	pub text: Text,
	pub theta: Vec<f32>,
	pub base: Option<Vec<f32>>,
	pub momentum: Hash,
	pub start: Hash,
}

/// An interval as members have computed it.
pub struct Interval {
	pub records: Records,
	pub story: QuorumStory,
	/// State root after it.
	pub end: Hash,
}

impl World {
	pub fn new(seed: u64) -> Self {
		let mut random = Lcg(seed * 31 + 7);
		let mut below = |count: u32| random.next() % count;
		let family = [Family::Llama, Family::Qwen2, Family::Qwen3][below(3) as usize];
		let heads = [2, 4][below(2) as usize];
		let model = ModelConfig {
			family,
			heads,
			kv_heads: 2,
			head_dim: (family == Family::Qwen3 && heads == 4).then_some(32),
			dim: 64,
			ffn: 32,
			layers: 1 + below(3),
			vocab: 64,
			tied: below(2) == 0,
			..tiny_model()
		};
		let muon = below(4) == 0;
		let train =
			TrainConfig { batch: 1, inner_steps: 6, commit_interval: 1 + below(3), ..if muon { muon_train() } else { tiny_train() } };
		let beside = below(4) == 0 && !muon;
		let base = beside.then(|| lively_theta(&ParamLayout::new(&model).unwrap(), seed + 9));
		let root = base.as_ref().map(|base| tensors_root(&ParamLayout::new(&model).unwrap(), base, 1));
		let train = TrainConfig { adapter: root.map(|root| adapter(root, 8, Projections::ALL)), ..train };
		let layout = ParamLayout::trained(&model, &train).unwrap();
		let theta = lively_theta(&layout, seed);
		let momentum = tensors_root(&layout, &vec![0.0; layout.len()], 1);
		let steps = u64::from(ROUND) * u64::from(train.inner_steps);
		let start = checkpoint_root(&tensors_root(&layout, &theta, 1), &momentum, ROUND, steps);
		let all = units(&model);
		let mut ends: Vec<u32> = (if model.tied { 2 } else { 1 }..all).collect();
		let most = 1 + below(4) as usize;
		while ends.len() > most {
			ends.remove(below(ends.len() as u32) as usize);
		}
		let bounds: Vec<u32> = core::iter::once(0).chain(ends).chain([all]).collect();
		let spans = cut(&model, &bounds.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()).unwrap();
		let text = Text::random(3, 6_000, model.vocab, 3);
		Self { model, train, spans, text, theta, base, momentum, start }
	}

	pub fn setting<'a>(&'a self, signed: &'a dyn Fn(u32, Hash, &Signature) -> bool) -> Setting<'a> {
		let quorum = Some(Quorum { spans: &self.spans, signed });
		Setting {
			model: &self.model,
			train: &self.train,
			round: ROUND,
			start: self.start,
			subject: Subject::Work { corpus: self.text.corpus(), window: &window_of, steps: self.train.inner_steps, base: None, quorum },
		}
	}

	pub fn tokens(&self, step: u32) -> Vec<u32> {
		let read = |sequence| self.text.read(window_of(step, sequence).unwrap(), self.train.seq_len).to_vec();
		(0..self.train.batch).flat_map(read).collect()
	}

	/// The round on one machine.
	pub fn story(&self) -> WorkStory<impl FnMut(u32, u32, &mut [u32]) -> Result<(), Infallible> + use<'_>> {
		let read = |step, sequence, buffer: &mut [u32]| {
			let tokens = self.text.read(window_of(step, sequence).unwrap(), self.train.seq_len);
			buffer.copy_from_slice(&tokens[..buffer.len()]);
			Ok(())
		};
		let start = WorkStart { theta: self.theta.clone(), momentum: self.momentum, model: self.base.clone().map(Arc::new) };
		WorkStory::new(Arc::new(Exec::new(1).unwrap()), &self.model, &self.train, ROUND, start, read).unwrap()
	}

	/// The interval that begins with step `first` from a state of whole vectors, with a member's mistake.
	pub fn interval(&self, first: u32, state: &[Vec<f32>; 3], mistake: Option<(usize, Mistake)>) -> Option<Interval> {
		self.computed(first, state, self.quorum(first, state, mistake), |_, _| {})
	}

	/// The same, where members tell something else than they computed.
	pub fn interval_of(&self, first: u32, state: &[Vec<f32>; 3], tell: impl FnMut(usize, &mut GaveStep)) -> Option<Interval> {
		self.computed(first, state, self.quorum(first, state, None), tell)
	}

	/// The members before the interval that begins with step `first`.
	pub fn quorum(&self, first: u32, state: &[Vec<f32>; 3], mistake: Option<(usize, Mistake)>) -> QuorumStory {
		let exec = Arc::new(Exec::new(1).unwrap());
		let member = |(number, &span): (usize, &Span)| {
			let held = Held::new(&self.model, self.train.adapter, span).unwrap();
			let own = state.each_ref().map(|vector| held.of(vector));
			let of_base = Held::new(&self.model, None, span).unwrap();
			let base = self.base.as_ref().map(|base| of_base.of(base));
			let story = SpanStory::new(exec.clone(), (&self.model, &self.train, span), (ROUND, first), own, base).unwrap();
			match mistake.filter(|(member, _)| *member == number) {
				Some((_, mistake)) => story.with_mistake(mistake),
				None => story,
			}
		};
		QuorumStory { members: self.spans.iter().enumerate().map(member).collect() }
	}

	pub fn computed(
		&self,
		first: u32,
		state: &[Vec<f32>; 3],
		mut story: QuorumStory,
		mut tell: impl FnMut(usize, &mut GaveStep),
	) -> Option<Interval> {
		let held: Vec<_> = self.spans.iter().map(|&span| Held::new(&self.model, self.train.adapter, span).unwrap()).collect();
		let steps = self.train.commit_interval.min(self.train.inner_steps - first);
		for step in first..first + steps {
			let told = |member, gives: &mut GaveStep| {
				if step == first {
					tell(member, gives);
				}
			};
			// Whoever diverges has nothing to commit to.
			story.step(&self.tokens(step), told).ok()?;
		}
		let layout = ParamLayout::trained(&self.model, &self.train).unwrap();
		let roots = state.each_ref().map(|vector| tensors_root(&layout, vector, 1));
		let contents = if first == 0 { Contents::Checkpoint([roots[0], self.momentum]) } else { Contents::State(roots) };
		let vectors = if first == 0 { 1 } else { 3 };
		let before = self.spans.iter().zip(&held).map(|(&span, held)| {
			let of_base = Held::new(&self.model, None, span).unwrap();
			let trained = state.iter().take(vectors).map(|vector| held.roots(&held.of(vector), 1));
			trained.chain(self.base.iter().map(|base| of_base.roots(&of_base.of(base), 1))).collect()
		});
		let before = before.collect();
		let signs = |(number, member): (usize, &mut SpanStory)| {
			let record = member.record().clone();
			let signature = signature(number as u32, record.statement());
			(record, signature)
		};
		let records: Vec<(Record, Signature)> = story.members.iter_mut().enumerate().map(signs).collect();
		let end = self.root_after(&records, &held, first + steps);
		Some(Interval { records: Records { contents, before, records }, story, end })
	}

	/// State root of the members' parts.
	pub fn root_after(&self, records: &[(Record, Signature)], held: &[Held], steps: u32) -> Hash {
		let covers: Vec<_> = held.iter().map(Held::cover).collect();
		let [params, first, second] = [0, 1, 2].map(|vector| {
			let parts: Vec<_> = covers.iter().zip(records).map(|(cover, (record, _))| (cover, record.state[vector].as_slice())).collect();
			merge(held[0].all_tiles, &parts).unwrap()
		});
		state_root(&params, &first, &second, steps, u64::from(steps) * u64::from(self.train.batch))
	}

	/// The state after an interval, as whole vectors.
	pub fn state_after(&self, interval: &Interval) -> [Vec<f32>; 3] {
		let mut whole = [0, 1, 2].map(|_| vec![0.0; self.theta.len()]);
		for member in &interval.story.members {
			let held = Held::new(&self.model, self.train.adapter, member.span()).unwrap();
			whole.iter_mut().zip(member.state()).for_each(|(whole, own)| held.write(&own, whole));
		}
		whole
	}

	/// The state before interval `number`, and the state roots before it.
	pub fn before(&self, number: u32) -> ([Vec<f32>; 3], Vec<Hash>) {
		let zeros = vec![0.0; self.theta.len()];
		let (mut state, mut roots) = ([self.theta.clone(), zeros.clone(), zeros], Vec::new());
		for number in 0..number {
			let interval = self.interval(number * self.train.commit_interval, &state, None).unwrap();
			roots.push(interval.end);
			state = self.state_after(&interval);
		}
		(state, roots)
	}
}

/// How a game ended: the ruling, or whose turn it was when no legal move came; and who defended then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
	Ruled(Ruling, Option<u32>),
	Silent(Side, Option<u32>),
}

pub type Strategy<'a> = dyn FnMut(&Position, &[Move]) -> Option<Move> + 'a;

pub fn referee(setting: &Setting, first: Position, defender: &mut Strategy, challenger: &mut Strategy) -> End {
	let (mut position, mut defence, mut moves) = (first, Vec::new(), 0);
	loop {
		let turn = position.turn();
		let action = match turn {
			Side::Defender => defender(&position, &defence),
			Side::Challenger => challenger(&position, &defence),
		};
		let Some(action) = action else { return End::Silent(turn, position.member()) };
		match position.play(setting, &action) {
			Err(_) => return End::Silent(turn, position.member()),
			Ok(Outcome::Decided(ruling)) => return End::Ruled(ruling, position.member()),
			Ok(Outcome::Next(next)) => {
				if turn == Side::Defender {
					defence.push(action);
				}
				position = next;
				moves += 1;
				assert!(moves <= MOST_MOVES, "a game goes on and on");
			}
		}
	}
}

pub fn honest<'a, 'b, S: Story>(player: &'a mut Player<'b, S>) -> impl FnMut(&Position, &[Move]) -> Option<Move> + use<'a, 'b, S>
where
	S::Error: std::fmt::Debug,
{
	move |position, defence| match player.play(position, defence) {
		Ok(action) => Some(action),
		Err(PlayError::Nothing) => None,
		Err(error) => panic!("an honest player is at a loss: {error:?}"),
	}
}

/// A quorum as a defender: the leader posts the records, and each member stands by its own.
pub fn defends<'a, 'b>(
	records: &'a Records,
	player: &'a mut Player<'b, QuorumStory>,
) -> impl FnMut(&Position, &[Move]) -> Option<Move> + use<'a, 'b> {
	let mut members = honest(player);
	move |position, defence| match position {
		Position::Records { .. } => Some(Move::Records(records.clone())),
		_ => members(position, defence),
	}
}

/// A mistake of a member of the world's quorum in an interval that begins with a step, drawn.
pub fn drawn(world: &World, first: u32, random: &mut Lcg) -> (usize, Mistake) {
	let member = random.next() as usize % world.spans.len();
	let plan = Plan::span(&world.model, &world.train, world.spans[member]).unwrap();
	let steps = world.train.commit_interval.min(world.train.inner_steps - first);
	let stage = random.next() % plan.stages().len() as u32;
	let outputs = plan.outputs(&plan.stages()[stage as usize]).len() as u32;
	let mistake = Mistake {
		step: first + random.next() % steps,
		stage,
		output: random.next() % outputs,
		element: random.next().into(),
		mask: 1 << (random.next() % 31),
	};
	(member, mistake)
}

/// Games of each kind.
pub fn games() -> u64 {
	std::env::var("NEUROSHARD_GAMES").ok().and_then(|count| count.parse().ok()).unwrap_or(60)
}

impl World {
	/// With a token whose row in the embedding is no number, which is read in the second step first. `None` where the head is the same matrix.
	pub fn with_a_hole(seed: u64) -> Option<Self> {
		const HOLE: u32 = 5;
		let mut world = Self::new(seed);
		if world.model.tied {
			return None;
		}
		world.text.shards.iter_mut().flatten().filter(|token| **token == HOLE).for_each(|token| *token = 6);
		let Window { shard, start } = window_of(1, 0).unwrap();
		world.text.shards[shard as usize][start as usize + 3] = HOLE;
		let layout = ParamLayout::new(&world.model).unwrap();
		let place = layout.tensors()[0].range().start + (HOLE * world.model.dim) as usize;
		world.base.as_mut().unwrap_or(&mut world.theta)[place] = f32::NAN;
		Some(world.started())
	}

	/// With an end whose loss is a number and whose gradient's square is none: what the head is given is as large as the head is small. `None` where the head
	/// is not trained alone.
	pub fn with_a_steep_end(seed: u64) -> Option<Self> {
		let mut world = Self::new(seed);
		if world.model.tied || world.base.is_some() {
			return None;
		}
		let layout = ParamLayout::new(&world.model).unwrap();
		let [.., norm, head] = layout.tensors() else { panic!("a norm and a head") };
		world.theta[norm.range()].iter_mut().for_each(|value| *value *= 1e25);
		world.theta[head.range()].iter_mut().for_each(|value| *value *= 1e-25);
		world.spans.reverse();
		Some(world.started())
	}

	/// With the roots of what it starts from now.
	pub fn started(mut self) -> Self {
		if let Some(base) = &self.base {
			let root = tensors_root(&ParamLayout::new(&self.model).unwrap(), base, 1);
			self.train.adapter = Some(adapter(root, 8, Projections::ALL));
		}
		let trained = ParamLayout::trained(&self.model, &self.train).unwrap();
		let steps = u64::from(ROUND) * u64::from(self.train.inner_steps);
		self.start = checkpoint_root(&tensors_root(&trained, &self.theta, 1), &self.momentum, ROUND, steps);
		self
	}

	/// What an honest member of the quorum computes of an interval: up to where there is nothing more, if it ends before. And whether it does.
	pub fn honest(&self, first: u32, mut story: QuorumStory) -> (QuorumStory, bool) {
		let steps = self.train.commit_interval.min(self.train.inner_steps - first);
		let ends = (first..first + steps).any(|step| story.step(&self.tokens(step), |_, _| {}).is_err());
		(story, ends)
	}
}
