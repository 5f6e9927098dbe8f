//! A round that a quorum works on, and games about it.
#![allow(dead_code, reason = "each test compiles this module and uses a part of it")]

#[path = "../../../../primitives/compute/tests/common/mod.rs"]
pub mod common;
#[path = "../../../../primitives/compute/tests/quorum/world.rs"]
mod world;

use crate::common::{
	network::{self, Network},
	Stamp,
};
use common::{adapter, lively_theta, text::Text, tiny_model, tiny_train, Lcg};
use neuroshard_compute::{
	exec::Exec,
	player::{Player, QuorumStory, SpanStory},
	trace::Mistake,
};
use neuroshard_graph::{
	commit::tensors_root,
	config::Family,
	corpus::Window,
	game::{Move, Quorum, Setting, Side, Signature, Subject},
	merkle::Hash,
	plan::Plan,
	span::{units, Held, Span},
	ModelConfig, ParamLayout, Projections, TrainConfig,
};
use neuroshard_quorum::{Leader, Led, Place, Signer};
use std::{collections::BTreeMap, ops::Range, sync::Arc};
pub use world::{games, honest, referee, End, Strategy};

pub fn signed(member: u32, statement: Hash, signature: &Signature) -> bool {
	Stamp(0).has_signed(member as usize, statement, signature)
}

pub fn window_of(step: u32, sequence: u32) -> Option<Window> {
	Some(Window { shard: (step + sequence) % 3, start: step * 300 + sequence * 40 })
}

pub struct World {
	pub model: ModelConfig,
	pub train: TrainConfig,
	pub spans: Vec<Span>,
	pub micro_batch: u32,
	pub text: Text,
	pub theta: Vec<f32>,
	/// Of an adapter.
	pub base: Option<Vec<f32>>,
	pub exec: Arc<Exec>,
}

impl World {
	pub fn new(seed: u64) -> Self {
		let mut random = Lcg(seed * 37 + 5);
		let mut below = |count: u32| random.next() % count;
		let family = [Family::Llama, Family::Qwen2, Family::Qwen3][below(3) as usize];
		let model = ModelConfig {
			family,
			heads: 2,
			kv_heads: 2,
			dim: 64,
			ffn: 32,
			layers: 1 + below(3),
			vocab: 64,
			tied: below(2) == 0,
			..tiny_model()
		};
		let train = TrainConfig { batch: 2, inner_steps: 4, commit_interval: 1 + below(3), ..tiny_train() };
		let base = (seed % 4 == 3).then(|| lively_theta(&ParamLayout::new(&model).unwrap(), seed + 9));
		let root = base.as_ref().map(|base| tensors_root(&ParamLayout::new(&model).unwrap(), base, 1));
		let train = TrainConfig { adapter: root.map(|root| adapter(root, 8, Projections::ALL)), ..train };
		let theta = lively_theta(&ParamLayout::trained(&model, &train).unwrap(), seed);
		let all = units(&model);
		let mut ends: Vec<u32> = (if model.tied { 2 } else { 1 }..all).collect();
		let most = 1 + below(3) as usize;
		while ends.len() > most {
			ends.remove(below(ends.len() as u32) as usize);
		}
		let bounds: Vec<u32> = core::iter::once(0).chain(ends).chain([all]).collect();
		let counts: Vec<u32> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
		let spans = neuroshard_graph::span::cut(&model, &counts).unwrap();
		let text = Text::random(3, 6_000, model.vocab, 3);
		Self { micro_batch: 1 + below(2), model, train, spans, text, theta, base, exec: Arc::new(Exec::new(1).unwrap()) }
	}

	pub fn place(&self, member: usize) -> Place {
		let (model, train, spans) = (self.model.clone(), self.train.clone(), self.spans.clone());
		Place { model, train, spans, member, micro_batch: self.micro_batch, flying: 2, round: 0 }
	}

	pub fn network(&self) -> Network {
		Network::beside(&self.place(0), &self.theta, self.base.as_deref())
	}

	/// A member's part of the base.
	pub fn base_of(&self, member: usize) -> Option<Vec<f32>> {
		self.base.as_ref().map(|base| network::own_base(&self.place(0), member, base))
	}

	pub fn leader(&self) -> Leader {
		network::leader(&self.place(0), &self.theta)
	}

	pub fn intervals(&self) -> impl Iterator<Item = Range<u32>> + use<> {
		let (all, every) = (self.train.inner_steps, self.train.commit_interval);
		(0..all).step_by(every as usize).map(move |first| first..all.min(first + every))
	}

	pub fn tokens(&self, step: u32) -> Vec<u32> {
		let read = |sequence| self.text.read(window_of(step, sequence).unwrap(), self.train.seq_len).to_vec();
		(0..self.train.batch).flat_map(read).collect()
	}

	pub fn setting<'a>(&'a self, signed: &'a dyn Fn(u32, Hash, &Signature) -> bool) -> Setting<'a> {
		let (steps, quorum) = (self.train.inner_steps, Some(Quorum { spans: &self.spans, signed }));
		let (model, train, corpus) = (&self.model, &self.train, self.text.corpus());
		let start = network::checkpoint(&self.place(0), &self.theta).1;
		Setting { model, train, round: 0, start, subject: Subject::Work { corpus, window: &window_of, steps, base: None, quorum } }
	}

	/// A member's part of an interval that begins with a state of whole vectors.
	pub fn part(&self, member: usize, first: u32, state: &[Vec<f32>; 3]) -> SpanStory {
		let own = state.each_ref().map(|vector| network::own(&self.place(0), member, vector));
		let of = (&self.model, &self.train, self.spans[member]);
		SpanStory::new(self.exec.clone(), of, (0, first), own, self.base_of(member)).unwrap()
	}

	/// The state that the round begins with.
	pub fn start(&self) -> [Vec<f32>; 3] {
		let zeros = vec![0.0; self.theta.len()];
		[self.theta.clone(), zeros.clone(), zeros]
	}

	/// What one machine says about an interval, with a member's mistake; `None` if it diverges by it.
	pub fn story(&self, number: usize, mistake: Option<(usize, Mistake)>) -> Option<QuorumStory> {
		let mut state = self.start();
		for (place, steps) in self.intervals().enumerate() {
			let member = |member: usize| {
				let story = self.part(member, steps.start, &state);
				match mistake.filter(|(liar, _)| place == number && *liar == member) {
					Some((_, mistake)) => story.with_mistake(mistake),
					None => story,
				}
			};
			let mut story = QuorumStory { members: (0..self.spans.len()).map(member).collect() };
			for step in steps {
				story.step(&self.tokens(step), |_, _| {}).ok()?;
			}
			if place == number {
				return Some(story);
			}
			for (member, &span) in story.members.iter().zip(&self.spans) {
				let held = Held::new(&self.model, self.train.adapter, span).unwrap();
				state.iter_mut().zip(member.state()).for_each(|(whole, own)| held.write(&own, whole));
			}
		}
		None
	}

	/// A mistake of a member in an interval.
	pub fn drawn(&self, number: usize, seed: u64) -> (usize, Mistake) {
		let mut random = Lcg(seed + 11);
		let member = random.next() as usize % self.spans.len();
		let plan = Plan::span(&self.model, &self.train, self.spans[member]).unwrap();
		let steps = self.intervals().nth(number).unwrap();
		let stage = random.next() % plan.stages().len() as u32;
		let outputs = plan.outputs(&plan.stages()[stage as usize]).len() as u32;
		let step = steps.start + random.next() % (steps.end - steps.start);
		let mask = 1 << (random.next() % 31);
		(member, Mistake { step, stage, output: random.next() % outputs, element: random.next().into(), mask })
	}

	/// A quorum as a defender: the leader posts what it has, and each member that is asked plays what `story` gives.
	pub fn defends<'a, E: std::fmt::Debug + 'a>(
		&'a self,
		led: &'a Led,
		mut story: impl FnMut(usize) -> SpanStory<E> + 'a,
	) -> Box<Strategy<'a>> {
		let mut players = BTreeMap::new();
		Box::new(move |position, defence| {
			let Some(member) = position.member() else { return Some(Move::Records(led.records.clone())) };
			let player = players
				.entry(member)
				.or_insert_with(|| Player::new(self.setting(&signed), Side::Defender, story(member as usize), Some(&self.text)));
			honest(player)(position, defence)
		})
	}
}
