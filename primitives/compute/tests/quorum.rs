//! Disputes about work of quorums: who lied in its part loses, and nobody else.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{adapter, lively_theta, random_tokens, small::muon_train, text::Text, tiny_model, tiny_train, Lcg};
use neuroshard_compute::{
	exec::Exec,
	player::{GaveStep, PlayError, Player, QuorumStory, SpanStory, Story},
	recorder::Library,
	trace::Mistake,
};
use neuroshard_graph::{
	commit::{checkpoint_root, state_root, tensors_root},
	config::Family,
	corpus::Window,
	cover::merge,
	game::{
		open_work, sums_hash, Contents, Doubt, GameError, Move, Outcome, Position, Quorum, Record, Records, Ruling, Setting, Side,
		Signature, Subject,
	},
	merkle::{blake2_256, Hash},
	plan::Plan,
	span::{cut, trained_units, units, Held, Span},
	ModelConfig, ParamLayout, Projections, TrainConfig,
};
use std::{collections::BTreeMap, sync::Arc};

const ROUND: u32 = 1;
/// Most moves of a game after its opening: records and the one picked, states and the one picked, nodes and the one picked, subtrees, tiles, states
/// between pieces, each with what is picked of it.
const MOST_MOVES: usize = 14;

fn window_of(step: u32, sequence: u32) -> Option<Window> {
	Some(Window { shard: (step + sequence) % 3, start: step * 300 + sequence * 40 })
}

/// What a member signs with: who knows its number can, in this test.
fn signature(member: u32, statement: Hash) -> Signature {
	let half = blake2_256(&[&member.to_le_bytes()[..], &statement].concat());
	let mut signature = [0; 64];
	signature[..32].copy_from_slice(&half);
	signature
}

fn signed(member: u32, statement: Hash, given: &Signature) -> bool {
	signature(member, statement) == *given
}

/// A round that a quorum works on.
struct World {
	model: ModelConfig,
	train: TrainConfig,
	spans: Vec<Span>,
	text: Text,
	theta: Vec<f32>,
	base: Option<Vec<f32>>,
	momentum: Hash,
	start: Hash,
}

/// An interval as members have computed it.
struct Interval {
	records: Records,
	story: QuorumStory,
	/// State root after it.
	end: Hash,
}

impl World {
	fn new(seed: u64) -> Self {
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

	fn setting<'a>(&'a self, signed: &'a dyn Fn(u32, Hash, &Signature) -> bool) -> Setting<'a> {
		let quorum = Some(Quorum { spans: &self.spans, signed });
		Setting {
			model: &self.model,
			train: &self.train,
			round: ROUND,
			start: self.start,
			subject: Subject::Work { corpus: self.text.corpus(), window: &window_of, steps: self.train.inner_steps, base: None, quorum },
		}
	}

	fn tokens(&self, step: u32) -> Vec<u32> {
		let read = |sequence| self.text.read(window_of(step, sequence).unwrap(), self.train.seq_len).to_vec();
		(0..self.train.batch).flat_map(read).collect()
	}

	/// The interval that begins with step `first` from a state of whole vectors, with a member's mistake.
	fn interval(&self, first: u32, state: &[Vec<f32>; 3], mistake: Option<(usize, Mistake)>) -> Option<Interval> {
		self.computed(first, state, mistake, |_, _| {})
	}

	/// The same, where members tell something else than they computed.
	fn interval_of(&self, first: u32, state: &[Vec<f32>; 3], tell: impl FnMut(usize, &mut GaveStep)) -> Option<Interval> {
		self.computed(first, state, None, tell)
	}

	/// The members before the interval that begins with step `first`.
	fn quorum(&self, first: u32, state: &[Vec<f32>; 3], mistake: Option<(usize, Mistake)>) -> QuorumStory {
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

	fn computed(
		&self,
		first: u32,
		state: &[Vec<f32>; 3],
		mistake: Option<(usize, Mistake)>,
		mut tell: impl FnMut(usize, &mut GaveStep),
	) -> Option<Interval> {
		let held: Vec<_> = self.spans.iter().map(|&span| Held::new(&self.model, self.train.adapter, span).unwrap()).collect();
		let mut story = self.quorum(first, state, mistake);
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
	fn root_after(&self, records: &[(Record, Signature)], held: &[Held], steps: u32) -> Hash {
		let covers: Vec<_> = held.iter().map(Held::cover).collect();
		let [params, first, second] = [0, 1, 2].map(|vector| {
			let parts: Vec<_> = covers.iter().zip(records).map(|(cover, (record, _))| (cover, record.state[vector].as_slice())).collect();
			merge(held[0].all_tiles, &parts).unwrap()
		});
		state_root(&params, &first, &second, steps, u64::from(steps) * u64::from(self.train.batch))
	}

	/// The state after an interval, as whole vectors.
	fn state_after(&self, interval: &Interval) -> [Vec<f32>; 3] {
		let mut whole = [0, 1, 2].map(|_| vec![0.0; self.theta.len()]);
		for member in &interval.story.members {
			let held = Held::new(&self.model, self.train.adapter, member.span()).unwrap();
			whole.iter_mut().zip(member.state()).for_each(|(whole, own)| held.write(&own, whole));
		}
		whole
	}

	/// The state before interval `number`, and the state roots before it.
	fn before(&self, number: u32) -> ([Vec<f32>; 3], Vec<Hash>) {
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
enum End {
	Ruled(Ruling, Option<u32>),
	Silent(Side, Option<u32>),
}

type Strategy<'a> = dyn FnMut(&Position, &[Move]) -> Option<Move> + 'a;

fn referee(setting: &Setting, first: Position, defender: &mut Strategy, challenger: &mut Strategy) -> End {
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

fn honest<'a, 'b, S: Story>(player: &'a mut Player<'b, S>) -> impl FnMut(&Position, &[Move]) -> Option<Move> + use<'a, 'b, S>
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
fn defends<'a, 'b>(
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
fn drawn(world: &World, first: u32, random: &mut Lcg) -> (usize, Mistake) {
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
fn games() -> u64 {
	std::env::var("NEUROSHARD_GAMES").ok().and_then(|count| count.parse().ok()).unwrap_or(60)
}

#[test]
fn a_member_with_a_mistake_in_any_stage_loses_and_nobody_else_does() {
	let (mut decided, mut silent, mut harmless) = (0, 0, 0);
	for seed in 0..games() {
		let world = World::new(seed);
		let mut random = Lcg(seed + 1);
		let number = random.next() % world.train.state_roots_after(world.train.inner_steps);
		let (state, mut roots) = world.before(number);
		let first = number * world.train.commit_interval;
		let truth = world.interval(first, &state, None).unwrap();
		let (liar, mistake) = drawn(&world, first, &mut random);
		// The loss is reported, and nothing is computed from it; some bits are rounded away.
		let Some(work) = world.interval(first, &state, Some((liar, mistake))).filter(|work| work.end != truth.end) else {
			harmless += 1;
			continue;
		};
		roots.push(work.end);
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &roots, Hash::default(), Doubt::Interval(number)).unwrap();
		assert!(matches!(opened, Position::Records { .. }));
		let mut defender = Player::new(setting, Side::Defender, work.story, Some(&world.text as &dyn Library));
		let mut challenger = Player::new(setting, Side::Challenger, truth.story, Some(&world.text as &dyn Library));
		let end = referee(&setting, opened, &mut defends(&work.records, &mut defender), &mut honest(&mut challenger));
		match end {
			End::Ruled(Ruling::Fraud, Some(member)) if member as usize == liar => decided += 1,
			End::Silent(Side::Defender, Some(member)) if member as usize == liar => silent += 1,
			_ => panic!("seed {seed}: {end:?}, and member {liar} of {:?} lied by {mistake:?}", world.spans),
		}
	}
	println!("{decided} decided, {silent} by silence, {harmless} mistakes without a consequence");
	assert!(decided > 0 && silent == 0 && harmless * 3 < games());
}

#[test]
fn honest_members_lose_to_no_challenger_whatever_it_believes() {
	let mut ends = BTreeMap::new();
	for seed in 0..games() {
		let world = World::new(seed);
		let mut random = Lcg(seed + 2);
		let number = random.next() % world.train.state_roots_after(world.train.inner_steps);
		let (state, mut roots) = world.before(number);
		let first = number * world.train.commit_interval;
		let work = world.interval(first, &state, None).unwrap();
		let Some(accuser) = world.interval(first, &state, Some(drawn(&world, first, &mut random))) else { continue };
		roots.push(work.end);
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &roots, Hash::default(), Doubt::Interval(number)).unwrap();
		let mut defender = Player::new(setting, Side::Defender, work.story, Some(&world.text as &dyn Library));
		let mut challenger = Player::new(setting, Side::Challenger, accuser.story, Some(&world.text as &dyn Library));
		let end = referee(&setting, opened, &mut defends(&work.records, &mut defender), &mut honest(&mut challenger));
		assert!(matches!(end, End::Ruled(Ruling::Unfounded, _) | End::Silent(Side::Challenger, _)), "seed {seed}: {end:?}");
		*ends.entry(format!("{end:?}")).or_insert(0) += 1;
	}
	assert!(ends.keys().any(|end| end.contains("Unfounded")), "{ends:?}");
}

#[test]
fn a_leader_cannot_post_what_its_members_have_not_signed_or_what_does_not_fit_together() {
	for seed in 0..games().min(40) {
		let world = World::new(seed);
		let (state, mut roots) = world.before(0);
		let work = world.interval(0, &state, None).unwrap();
		roots.push(work.end);
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &roots, Hash::default(), Doubt::Interval(0)).unwrap();
		let post = |records: &Records| opened.play(&setting, &Move::Records(records.clone()));
		assert!(matches!(post(&work.records), Ok(Outcome::Next(Position::PickRecord { .. }))));
		let mut random = Lcg(seed + 3);
		let member = random.next() as usize % world.spans.len();
		let with = |change: &dyn Fn(&mut Records)| {
			let mut records = work.records.clone();
			change(&mut records);
			post(&records)
		};
		// Another word in a record, which nobody has signed.
		let changed = with(&|records| records.records[member].0.steps[0].sums[0] ^= 1);
		assert_eq!(changed, Err(GameError::Root), "seed {seed}");
		let state_changed = with(&|records| records.records[member].0.state[0].iter_mut().take(1).for_each(|root| root[3] ^= 1));
		assert!(state_changed.is_err() || work.records.records[member].0.state[0].is_empty(), "seed {seed}");
		let unsigned = with(&|records| records.records[member].1[0] ^= 1);
		assert_eq!(unsigned, Err(GameError::Signature(member as u32)), "seed {seed}");
		// A sum that is not in canonical form: told to all, and signed by all.
		if !work.records.records[member].0.steps[0].squares.is_empty() {
			let sums = |records: &Records| -> Vec<u32> {
				let adapter = world.train.adapter.is_some();
				let mut all = vec![0; neuroshard_graph::span::sums(&world.model, adapter) as usize];
				for (span, (record, _)) in world.spans.iter().zip(&records.records) {
					let places = trained_units(&world.model, adapter, *span);
					places.into_iter().zip(&record.steps[0].squares).for_each(|(place, &bits)| all[place as usize] = bits);
				}
				all
			};
			let told = |bits: u32| {
				with(&|records| {
					records.records[member].0.steps[0].squares[0] = bits;
					let all: Vec<u32> = sums(records);
					for (number, (record, given)) in records.records.iter_mut().enumerate() {
						record.steps[0].sums = sums_hash(&all);
						*given = signature(number as u32, record.statement());
					}
				})
			};
			assert!(told(0x3f80_0000).is_ok(), "seed {seed}");
			assert_eq!([0x8000_0000, 0x7fc0_0001].map(told), [const { Err(GameError::Root) }; 2], "seed {seed}");
		}
		// A record of another attempt at the interval, which began with another state.
		let other_attempt = with(&|records| {
			let (record, given) = &mut records.records[member];
			record.before[0] ^= 1;
			*given = signature(member as u32, record.statement());
		});
		assert_eq!(other_attempt, Err(GameError::Root), "seed {seed}");
		// A result that the member's plan does not have.
		let Ok(Outcome::Next(picks)) = post(&work.records) else { panic!("they are taken") };
		let parts = work.records.parts(&world.spans);
		let hashes: Vec<Hash> = parts.iter().map(|part| part.hash()).collect();
		let pick = |out| {
			let proof = neuroshard_graph::merkle::prove(&hashes, member as u32).unwrap();
			picks.play(&setting, &Move::Record { member: member as u32, part: parts[member], proof, step: 0, out: Some(out) })
		};
		let said = &work.records.records[member].0.steps[0];
		let results = 3 + (said.gave.len() + said.squares.len()) as u32;
		assert!((3..results).all(|out| pick(out).is_ok()), "seed {seed}");
		assert_eq!([0, 2, results, 1_000, u32::MAX].map(pick), [const { Err(GameError::Place) }; 5], "seed {seed}");
		// Rows that another one did not send, signed by who says it was given them.
		if !work.records.records[member].0.steps[0].given.is_empty() {
			let other_rows = with(&|records| {
				let (record, given) = &mut records.records[member];
				record.steps[0].given[0][0] ^= 1;
				*given = signature(member as u32, record.statement());
			});
			assert!(matches!(other_rows, Err(GameError::Seam(_))), "seed {seed}: {other_rows:?}");
		}
		// A state before that is not the one agreed on, and a member left out.
		let other_start = with(&|records| records.before[member].iter_mut().flatten().take(1).for_each(|root| root[0] ^= 1));
		let has_any = work.records.before[member].iter().flatten().next().is_some();
		assert!(!has_any || other_start == Err(GameError::Root), "seed {seed}");
		assert!(with(&|records| drop(records.records.remove(member))).is_err());
		assert!(with(&|records| drop(records.before.remove(member))).is_err());
		assert!(with(&|records| drop(records.records[member].0.steps.pop())).is_err());
	}
}

#[test]
fn a_member_that_tells_other_rows_than_it_computed_loses() {
	let mut told = 0;
	for seed in 0..games().min(60) {
		let world = World::new(seed);
		let mut random = Lcg(seed + 4);
		let (state, _) = world.before(0);
		let truth = world.interval(0, &state, None).unwrap();
		let liar = random.next() as usize % world.spans.len();
		// What it tells in the first step is another number than it has, in rows, gradients or sums.
		let kind = random.next() as usize;
		let tell = |member: usize, gives: &mut GaveStep| {
			if member == liar {
				let mut numbers: Vec<&mut f32> =
					gives.rows.iter_mut().filter_map(|rows| rows.get_mut(5)).chain(gives.squares.iter_mut()).collect();
				let count = numbers.len().max(1);
				if let Some(number) = numbers.get_mut(kind % count) {
					**number = f32::from_bits(number.to_bits() ^ (1 << 20));
				}
			}
		};
		let Some(work) = world.interval_of(0, &state, tell).filter(|work| work.records != truth.records) else { continue };
		told += 1;
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &[work.end], Hash::default(), Doubt::Interval(0)).unwrap();
		let mut defender = Player::new(setting, Side::Defender, work.story, Some(&world.text as &dyn Library));
		let mut challenger = Player::new(setting, Side::Challenger, truth.story, Some(&world.text as &dyn Library));
		let end = referee(&setting, opened, &mut defends(&work.records, &mut defender), &mut honest(&mut challenger));
		let loser = match end {
			End::Ruled(Ruling::Fraud, member) | End::Silent(Side::Defender, member) => member,
			other => panic!("seed {seed}: {other:?}"),
		};
		assert_eq!(loser, Some(liar as u32), "seed {seed}: {end:?}");
	}
	assert!(told > 0);
}

#[test]
fn members_give_the_same_bits_by_passes_in_memory_and_by_their_traces() {
	// 256 sequences of 32 tokens come in two micro-batches.
	for (seed, batch) in (0..12).map(|seed| (seed, 1)).chain([(1, 256), (2, 256)]) {
		let mut world = World::new(seed);
		world.train.batch = batch;
		let tokens = random_tokens((batch * (world.train.seq_len + 1)) as usize, world.model.vocab, seed);
		let state = world.before(0).0;
		let records = |mistake: Option<(usize, Mistake)>| -> Vec<Record> {
			let mut story = world.quorum(0, &state, mistake);
			story.step(&tokens, |_, _| {}).unwrap();
			story.members.iter_mut().map(|member| member.record().clone()).collect()
		};
		let in_memory = records(None);
		for member in 0..world.spans.len() {
			// It turns no bits over, but is traced.
			let traced = Mistake { step: 0, stage: 0, output: 0, element: 0, mask: 0 };
			assert_eq!(records(Some((member, traced))), in_memory, "seed {seed}, member {member}");
		}
	}
}
