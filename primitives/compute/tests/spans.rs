//! A model cut into spans takes the steps of one machine, bit for bit: in whatever order messages arrive, and out of core.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{adapter, lively_theta, random_tokens, tiny_model, tiny_train, Lcg};
use neuroshard_compute::exec::{
	Arena, Exec, OutOfCore, OutOfCoreError, Shelf, Shelved, SpanTrainer, StepError, StepMemory, StepOutcome, Trainer, ValidationError,
	Validator,
};
use neuroshard_graph::{
	config::{Family, Optimizer, Products},
	corpus::MASK,
	cover::merge,
	span::{check_cut, cut, units, Span},
	Hash, ModelConfig, ParamLayout, Projections, TrainConfig, F32,
};
use std::{
	collections::{BTreeMap, VecDeque},
	io,
	sync::Arc,
};

const STEPS: u32 = 2;

/// A model and how it is trained, drawn from a seed.
struct Case {
	model: ModelConfig,
	train: TrainConfig,
	theta: Vec<f32>,
	base: Option<Vec<f32>>,
}

fn case(seed: u64) -> Case {
	let mut random = Lcg(seed * 77 + 1);
	let mut below = |count: u32| random.next() % count;
	let family = [Family::Llama, Family::Qwen2, Family::Qwen3][below(3) as usize];
	let (heads, kv_heads) = [(2, 1), (4, 2), (2, 2)][below(3) as usize];
	let model = ModelConfig {
		family,
		heads,
		kv_heads,
		head_dim: (family == Family::Qwen3 && heads == 4).then_some(32),
		dim: 64,
		ffn: 32 * (1 + below(3)),
		layers: 1 + below(5),
		tied: below(2) == 0,
		vocab: [64, 96, 320][below(3) as usize],
		..tiny_model()
	};
	let optimizer = if below(3) == 0 { Optimizer::Muon { momentum: F32::new(0.95) } } else { Optimizer::AdamW };
	let train = TrainConfig {
		batch: [2, 4, 6][below(3) as usize],
		masked: below(3) == 0,
		products: if below(3) == 0 { Products::Int8 } else { Products::F32 },
		optimizer,
		..tiny_train()
	};
	let train = match below(4) {
		0 => TrainConfig { optimizer: Optimizer::AdamW, adapter: Some(adapter([0; 32], 8, Projections::ALL)), ..train },
		_ => train,
	};
	let layout = ParamLayout::trained(&model, &train).unwrap();
	let base = train.adapter.map(|_| lively_theta(&ParamLayout::new(&model).unwrap(), seed + 9));
	Case { theta: lively_theta(&layout, seed), base, model, train }
}

impl Case {
	fn tokens(&self, step: u32) -> Vec<u32> {
		let count = (self.train.batch * (self.train.seq_len + 1)) as usize;
		let mut tokens = random_tokens(count, self.model.vocab, 1_000 + u64::from(step));
		if self.train.masked {
			tokens.iter_mut().step_by(3).for_each(|token| *token |= MASK);
		}
		tokens
	}

	/// A cut into so many spans, at places that are drawn.
	fn cut(&self, spans: u32, random: &mut Lcg) -> Vec<Span> {
		let units = units(&self.model);
		// Of a tied model end and embedding, which come first, stay together.
		let least = if self.model.tied { 2 } else { 1 };
		let mut ends: Vec<u32> = (least..units).collect();
		while ends.len() >= spans as usize {
			ends.remove(random.next() as usize % ends.len());
		}
		let all: Vec<u32> = core::iter::once(0).chain(ends).chain([units]).collect();
		let counts: Vec<u32> = all.windows(2).map(|pair| pair[1] - pair[0]).collect();
		cut(&self.model, &counts).unwrap()
	}

	/// What one machine makes of it: outcomes, and roots of the three vectors.
	fn alone(&self) -> (Vec<[u32; 2]>, [Hash; 3]) {
		let mut trainer = Trainer::with_memory(Arc::new(Exec::new(2).unwrap()), &self.model, &self.train, StepMemory::default()).unwrap();
		let mut arena = Arena::new(trainer.arena_len());
		trainer.begin(&mut arena, &self.theta);
		if let Some(base) = &self.base {
			trainer.set_model(&mut arena, base);
		}
		let mut step = |step| trainer.train_step(&mut arena, &self.tokens(step), step.into(), u64::from(step) + 1).unwrap();
		let outcomes = (0..STEPS).map(|number| bits(step(number))).collect();
		(outcomes, trainer.state_roots(&arena))
	}
}

fn bits(StepOutcome { loss, grad_norm }: StepOutcome) -> [u32; 2] {
	[loss.to_bits(), grad_norm.to_bits()]
}

/// A holder of a span, with what has arrived and is not done.
struct Member {
	trainer: SpanTrainer,
	arena: Arena,
	forwards: Vec<VecDeque<(usize, Vec<f32>)>>,
	backwards: Vec<VecDeque<(usize, Vec<f32>)>>,
}

/// Holders of all spans of a cut, who send each other rows in an order that is drawn.
struct Quorum<'a> {
	case: &'a Case,
	members: Vec<Member>,
	flying: usize,
}

impl<'a> Quorum<'a> {
	fn new(case: &'a Case, spans: &[Span], micro_batch: u32, flying: usize) -> Self {
		check_cut(&case.model, spans).unwrap();
		let member = |&span: &Span| {
			let exec = Arc::new(Exec::new(1).unwrap());
			let trainer = SpanTrainer::new(exec, &case.model, &case.train, span, (micro_batch, flying)).unwrap();
			let mut arena = Arena::new(trainer.arena_len());
			arena.fill(f32::NAN);
			trainer.set_vector(&mut arena, 0, &trainer.held().of(&case.theta));
			if let (Some(held), Some(base)) = (trainer.base(), &case.base) {
				trainer.set_base(&mut arena, &held.of(base));
			}
			trainer.reset_moments(&mut arena);
			let queues = || trainer.segments().iter().map(|_| VecDeque::new()).collect();
			Member { forwards: queues(), backwards: queues(), trainer, arena }
		};
		Self { case, members: spans.iter().map(member).collect(), flying }
	}

	/// The member and segment that has `unit` as its first one, or behind its last.
	fn at(&self, unit: u32, first: bool) -> Option<(usize, usize)> {
		let is = |units: &core::ops::Range<u32>| if first { units.start == unit } else { units.end == unit };
		let places = self.members.iter().enumerate().flat_map(|(member, all)| {
			all.trainer.segments().iter().enumerate().map(move |(segment, part)| (member, segment, part.units.clone()))
		});
		places.into_iter().find(|(.., units)| is(units)).map(|(member, segment, _)| (member, segment))
	}

	fn step(&mut self, number: u32, random: &mut Lcg) -> StepOutcome {
		let tokens = self.case.tokens(number);
		for member in &mut self.members {
			// Only who reads tokens has them.
			let reads = member.trainer.segments().iter().any(|part| part.units.start == 0 || part.units.end == units(&self.case.model));
			let given = if reads { tokens.clone() } else { vec![0; tokens.len()] };
			member.trainer.begin_step(&member.arena, &given).unwrap();
		}
		let micro_batches = self.members[0].trainer.micro_batches();
		let (begin, (mut begun, mut done)) = (self.at(0, true).unwrap(), (0, 0));
		loop {
			let mut ready: Vec<(usize, usize, bool)> = Vec::new();
			for (index, member) in self.members.iter().enumerate() {
				for segment in 0..member.trainer.segments().len() {
					let may_begin = (index, segment) == begin && begun < micro_batches && begun - done < self.flying;
					if may_begin || !member.forwards[segment].is_empty() {
						ready.push((index, segment, true));
					}
					if !member.backwards[segment].is_empty() {
						ready.push((index, segment, false));
					}
				}
			}
			let Some(&(index, segment, forwards)) = ready.get(random.next() as usize % ready.len().max(1)) else { break };
			let flying = self.flying;
			let Member { trainer, arena, forwards: rows, backwards } = &mut self.members[index];
			let part = trainer.segments()[segment].units.clone();
			if forwards {
				let (micro, rows) = match (index, segment) == begin {
					true => (begun, Vec::new()),
					false => rows[segment].pop_front().unwrap(),
				};
				begun += usize::from((index, segment) == begin);
				let out = trainer.forward(arena, segment, (micro, micro % flying), &rows).to_vec();
				match self.at(part.end, true) {
					Some((next, segment)) => self.members[next].forwards[segment].push_back((micro, out)),
					None => self.members[index].backwards[segment].push_back((micro, out)),
				}
			} else {
				let (micro, gradient) = backwards[segment].pop_front().unwrap();
				let out = trainer.backward(arena, segment, (micro, micro % flying), &gradient).to_vec();
				match self.at(part.start, false) {
					Some((next, segment)) => self.members[next].backwards[segment].push_back((micro, out)),
					None => done += 1,
				}
			}
		}
		assert_eq!((begun, done), (micro_batches, micro_batches));
		let mut squares = vec![f32::NAN; self.members[0].trainer.sums()];
		let mut loss = None;
		for member in &mut self.members {
			member.trainer.squares(&mut member.arena, &mut squares);
			loss = loss.or(member.trainer.loss(&mut member.arena));
		}
		let (loss, t) = (loss.unwrap(), u64::from(number) + 1);
		let outcomes: Vec<_> = self
			.members
			.iter_mut()
			.map(|member| member.trainer.end_step(&mut member.arena, (&squares, loss), number.into(), t).unwrap())
			.collect();
		assert!(outcomes.iter().all(|outcome| bits(*outcome) == bits(outcomes[0])));
		outcomes[0]
	}

	fn roots(&self) -> [Hash; 3] {
		let of: Vec<_> = self.members.iter().map(|member| (member.trainer.held(), member.trainer.state_roots(&member.arena))).collect();
		[0, 1, 2].map(|vector| {
			let covers: Vec<_> = of.iter().map(|(held, roots)| (held.cover(), &roots[vector])).collect();
			let parts: Vec<_> = covers.iter().map(|(cover, roots)| (cover, roots.as_slice())).collect();
			merge(of[0].0.all_tiles, &parts).unwrap()
		})
	}
}

/// What is kept, in memory.
#[derive(Default)]
struct Kept(BTreeMap<Shelved, Vec<f32>>);

impl Shelf for Kept {
	fn read(&mut self, what: Shelved, first: usize, values: &mut [f32]) -> io::Result<()> {
		let kept = self.0.get(&what).and_then(|kept| kept.get(first..first + values.len()));
		values.copy_from_slice(kept.ok_or_else(|| io::Error::other(format!("{what:?} was never written there")))?);
		Ok(())
	}

	fn write(&mut self, what: Shelved, first: usize, values: &[f32]) -> io::Result<()> {
		let kept = self.0.entry(what).or_default();
		kept.resize(kept.len().max(first + values.len()), f32::NAN);
		kept[first..first + values.len()].copy_from_slice(values);
		Ok(())
	}
}

#[test]
fn twenty_random_models_in_two_three_and_four_spans_have_the_bits_of_one_machine() {
	for seed in 0..20 {
		let (case, mut random) = (case(seed), Lcg(seed + 5));
		let (outcomes, roots) = case.alone();
		let ways = [1, 2].map(|micro| case.train.batch / micro).into_iter().chain([1]);
		for (spans, micro_batch) in [2, 3, 4].into_iter().flat_map(|spans| ways.clone().map(move |micro| (spans, micro))) {
			let most = units(&case.model) - u32::from(case.model.tied);
			let spans = case.cut(spans.min(most), &mut random);
			let flying = 1 + random.next() as usize % 3;
			let mut quorum = Quorum::new(&case, &spans, micro_batch, flying);
			for (number, expected) in (0..).zip(&outcomes) {
				assert_eq!(bits(quorum.step(number, &mut random)), *expected, "seed {seed}, {spans:?}, step {number}");
			}
			assert_eq!(quorum.roots(), roots, "seed {seed}, {spans:?}");
		}
	}
}

#[test]
fn twenty_random_models_out_of_core_have_the_bits_of_one_machine() {
	let mut counts = Vec::new();
	for seed in 0..20 {
		let case = case(seed);
		let (outcomes, roots) = case.alone();
		let exec = Arc::new(Exec::new(1).unwrap());
		let refused = OutOfCore::new(&exec, &case.model, &case.train, 1_000).err();
		let Some(OutOfCoreError::TooSmall { needed, given: 1_000 }) = refused else { panic!("{refused:?}") };
		for memory in [needed, needed + needed / 3, 3 * needed, u64::MAX] {
			let mut executor = OutOfCore::new(&exec, &case.model, &case.train, memory).unwrap();
			counts.push(executor.spans());
			let mut kept = Kept::default();
			let zeros = vec![0.0; case.theta.len()];
			for (what, values) in [(Shelved::Parameters, &case.theta), (Shelved::FirstMoment, &zeros), (Shelved::SecondMoment, &zeros)] {
				kept.write(what, 0, values).unwrap();
			}
			if let Some(base) = &case.base {
				kept.write(Shelved::Base, 0, base).unwrap();
			}
			for (number, expected) in (0..).zip(&outcomes) {
				let outcome = executor.train_step(&mut kept, &case.tokens(number), number.into(), u64::from(number) + 1).unwrap();
				assert_eq!(bits(outcome), *expected, "seed {seed}, {memory} bytes, step {number}");
			}
			let found =
				[Shelved::Parameters, Shelved::FirstMoment, Shelved::SecondMoment].map(|what| executor.root(&mut kept, what).unwrap());
			assert_eq!(found, roots.map(Some), "seed {seed}, {memory} bytes");
		}
	}
	// All sizes were met, from the whole model in memory to one unit at a time.
	assert!(counts.contains(&1) && counts.iter().any(|&spans| spans >= 5), "{counts:?}");
}

#[test]
fn the_held_out_loss_of_twenty_random_models_out_of_core_has_the_bits_of_one_machine() {
	for seed in 0..20 {
		let mut case = case(seed);
		case.train.validation_sequences = [1, 3, 4, 7, 12][seed as usize % 5];
		let sequences = |number: u32, tokens: &mut [u32]| {
			tokens.copy_from_slice(&random_tokens(tokens.len(), case.model.vocab, 5_000 + u64::from(number)));
			if case.train.masked {
				tokens.iter_mut().step_by(3 + number as usize).for_each(|token| *token |= MASK);
			}
			Ok::<_, io::Error>(())
		};
		let exec = Arc::new(Exec::new(1).unwrap());
		let mut validator = Validator::new(exec.clone(), &case.model, &case.train).unwrap();
		let trainer = Trainer::new(exec.clone(), &case.model, &case.train).unwrap();
		let mut arena = Arena::new(trainer.arena_len().max(validator.arena_len()));
		trainer.begin(&mut arena, &case.theta);
		if let Some(base) = &case.base {
			trainer.set_model(&mut arena, base);
		}
		let expected = validator.loss(&mut arena, sequences).unwrap();

		let refused = OutOfCore::new(&exec, &case.model, &case.train, 0).err();
		let Some(OutOfCoreError::TooSmall { needed, given: 0 }) = refused else { panic!("{refused:?}") };
		for memory in [needed, 2 * needed, u64::MAX] {
			let mut executor = OutOfCore::new(&exec, &case.model, &case.train, memory).unwrap();
			assert!(executor.bytes() <= memory);
			let mut kept = Kept::default();
			kept.write(Shelved::Parameters, 0, &case.theta).unwrap();
			case.base.iter().for_each(|base| kept.write(Shelved::Base, 0, base).unwrap());
			let found = executor.validate(&mut kept, sequences).unwrap().unwrap();
			assert_eq!(found.to_bits(), expected.to_bits(), "seed {seed}, {memory} bytes: {found} and {expected}");
			// A sequence that cannot be had is named, and parameters that are no numbers have no loss.
			let missing = |number: u32, _: &mut [u32]| if number == 0 { Err("gone") } else { Ok(()) };
			let refused = executor.validate(&mut kept, missing).unwrap();
			assert_eq!(refused, Err(ValidationError::Source { sequence: 0, source: "gone" }));
			kept.write(Shelved::Parameters, 0, &vec![f32::NAN; case.theta.len()]).unwrap();
			let diverged = executor.validate(&mut kept, sequences).unwrap();
			assert!(matches!(diverged, Err(ValidationError::Step(StepError::Diverged))), "{diverged:?}");
		}
	}
}

#[test]
fn a_step_of_more_than_4096_tokens_in_spans_has_the_bits_of_one_machine() {
	let model = ModelConfig { layers: 2, tied: false, ..tiny_model() };
	let train = TrainConfig { batch: 256, ..tiny_train() };
	let theta = lively_theta(&ParamLayout::new(&model).unwrap(), 3);
	let case = Case { model, train, theta, base: None };
	let (outcomes, roots) = case.alone();
	for micro_batch in [128, 32] {
		let spans = cut(&case.model, &[1, 2, 1]).unwrap();
		let mut quorum = Quorum::new(&case, &spans, micro_batch, 2);
		for (number, expected) in (0..).zip(&outcomes) {
			assert_eq!(bits(quorum.step(number, &mut Lcg(7))), *expected);
		}
		assert_eq!(quorum.roots(), roots, "micro-batches of {micro_batch}");
	}
}

#[test]
fn spans_need_memory_for_their_own_parameters_only() {
	let model = ModelConfig { layers: 6, ..tiny_model() };
	let train = TrainConfig { batch: 4, ..tiny_train() };
	let exec = Arc::new(Exec::new(1).unwrap());
	let len = |span| SpanTrainer::new(exec.clone(), &model, &train, span, (1, 1)).unwrap().arena_len();
	let (all, half) = (len(Span::all(&model)), len(Span { first: 1, count: 3 }));
	let layer = ParamLayout::new(&ModelConfig { layers: 1, ..model.clone() }).unwrap().len()
		- ParamLayout::new(&ModelConfig { layers: 1, ..model.clone() }).unwrap().get("model.embed_tokens.weight").unwrap().len();
	// Four vectors of three layers, and their activations.
	assert!(half >= 12 * (layer - 64) && half < all / 2, "{half} of {all}, a layer has {layer}");
}
