//! One dispute from its opening to the verdict, on a model of 13.8 million parameters, with both players in one process: how many
//! extrinsics, how many bytes, how long. Then the same with an honest claim, and the mistake on the challenger's side: what defending costs.
//!
//! `cargo run --release -p neuroshard-compute --example dispute [-- SEED [THREADS [STEPS [INTERVAL]]]]`
//!
//! The defender's machine turned over one bit of one weight at one inner step; with an odd seed it is any value of any stage instead.

use neuroshard_compute::{
	exec::{Arena, Exec, Trainer},
	player::{PlayError, Player, Story, WorkStory},
	recorder::{Chunk, Library},
	round::{run_round, RoundStart},
	trace::Mistake,
};
use neuroshard_graph::{
	commit::{checkpoint_root, state_root, tensors_root},
	corpus::{Corpus, TokenWidth, Window},
	game::{open_work, Doubt, Move, Outcome, Position, Setting, Side, Subject},
	graph::Op,
	init::theta_0,
	merkle::{merkle_root, prove, Hash},
	plan::Plan,
	tiles::{leaf_hash, LEAF_BYTES},
	ModelConfig, ParamLayout, TrainConfig,
};
use std::{error::Error, ops::ControlFlow, sync::Arc, time::Instant};

/// Reproducible numbers.
struct Lcg(u64);

impl Lcg {
	fn below(&mut self, bound: u64) -> u64 {
		self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
		(self.0 >> 20) % bound.max(1)
	}
}

/// Of a vocabulary of 4,096 tokens.
const WIDTH: TokenWidth = TokenWidth::Two;

/// A dataset of one shard.
struct Text(Vec<u32>);

impl Text {
	fn leaves(&self) -> impl Iterator<Item = Box<[u8; LEAF_BYTES]>> + '_ {
		self.0.chunks(WIDTH.chunk_tokens() as usize).map(|tokens| {
			let mut leaf = Box::new([0; LEAF_BYTES]);
			leaf.chunks_exact_mut(2).zip(tokens).for_each(|(bytes, token)| bytes.copy_from_slice(&WIDTH.write(*token)[..2]));
			leaf
		})
	}

	fn hashes(&self) -> Vec<Hash> {
		self.leaves().map(|leaf| leaf_hash(&*leaf)).collect()
	}
}

impl Library for Text {
	fn chunk(&self, _: u32, chunk: u32) -> Option<Chunk> {
		let leaf = self.leaves().nth(usize::try_from(chunk).ok()?)?;
		Some(Chunk { leaf, in_shard: prove(&self.hashes(), chunk)?, in_corpus: Vec::new() })
	}
}

/// Tokens of a sequence of a step, anywhere in the shard.
fn window(step: u32, sequence: u32) -> Window {
	Window { shard: 0, start: (step * 8 + sequence) * 311 }
}

/// Most memory that this process has had, from the system's books; empty where there are none.
fn peak() -> String {
	let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
	status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default().trim().to_owned()
}

/// Seconds that this process has had of all processors, from the system's books, in hundredths; zero where there are none. Other work on the
/// machine disturbs them less than the clock.
fn processor() -> f64 {
	let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
	let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
	fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The clock and [`processor`], in seconds.
struct Since(Instant, f64);

impl Since {
	fn now() -> Self {
		Self(Instant::now(), processor())
	}

	fn elapsed(&self) -> [f64; 2] {
		[self.0.elapsed().as_secs_f64(), processor() - self.1]
	}
}

fn kind(action: &Move) -> &'static str {
	match action {
		Move::Steps(_) => "steps",
		Move::Nodes { .. } => "nodes",
		Move::Ends { .. } => "ends",
		Move::Checkpoints(_) => "checkpoints",
		Move::Outer { .. } => "outer",
		Move::Hashes(_) => "hashes",
		Move::States(_) => "states",
		Move::Step { .. } => "step",
		Move::Node { .. } => "node",
		Move::Vector(_) => "vector",
		Move::Hash { .. } => "hash",
		Move::Piece { .. } => "piece",
		Move::Read { .. } => "read",
		Move::Choice { .. } => "choice",
		Move::Aggregate { .. } => "aggregate",
		Move::Records(_) | Move::Record { .. } | Move::SpanNodes(_) => "of a quorum",
	}
}

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u32>());
	let mut argument = |default: u32| arguments.next().unwrap_or(Ok(default));
	let (seed, threads, inner_steps, commit_interval) = (argument(0)?, argument(2)?, argument(20)?, argument(5)?);
	let model = ModelConfig {
		vocab: 4_096,
		dim: 384,
		layers: 6,
		heads: 6,
		kv_heads: 6,
		ffn: 1_024,
		max_seq: 256,
		tied: false,
		..ModelConfig::tiny()
	};
	let train = TrainConfig { batch: 8, seq_len: 256, inner_steps, commit_interval, ..TrainConfig::tiny() };
	let (exec, layout) = (Arc::new(Exec::new(usize::try_from(threads)?)?), ParamLayout::new(&model)?);
	let mut random = Lcg(u64::from(seed) + 1);
	let text = Text((0..(inner_steps + 1) * 8 * 311).map(|_| (random.below(4_096) & random.below(4_096)) as u32).collect());
	let theta = theta_0(&model, &layout, &train.seed);
	let momentum = tensors_root(&layout, &vec![0.0; layout.len()], 1);
	let start = checkpoint_root(&tensors_root(&layout, &theta, exec.threads()), &momentum, 0, 0);
	let read = |step: u32, sequence: u32, buffer: &mut [u32]| -> Result<(), std::io::Error> {
		let start = window(step, sequence).start as usize;
		let tokens = text.0.get(start..start + buffer.len()).ok_or(std::io::ErrorKind::UnexpectedEof)?;
		buffer.copy_from_slice(tokens);
		Ok(())
	};
	println!("{} parameters, {inner_steps} inner steps, a state root every {commit_interval}, {threads} threads", layout.len());

	// The work itself, honestly done.
	let mut trainer = Trainer::new(exec.clone(), &model, &train)?;
	let mut arena = Arena::new(trainer.arena_len());
	let begun = Since::now();
	let truth = run_round(&mut trainer, &mut arena, RoundStart::new(&theta, 0), read, |_| ControlFlow::Continue(()), |_| {})?;
	let work = begun.elapsed();
	drop(arena);

	let story = || WorkStory::new(exec.clone(), &model, &train, 0, (theta.clone(), momentum), read);
	let mut auditor = story()?;
	let begun = Since::now();
	assert_eq!(auditor.doubt(&truth.state_roots, truth.delta_root)?, None, "the honest round is doubted");
	let audit = begun.elapsed();
	drop(auditor);
	println!("the round {}, its audit {}: {}; {}", seconds(work), seconds(audit), times(audit, work), peak());

	// A claim with a mistake in it.
	let plan = Plan::training(&model, &train)?;
	let stages: Vec<u32> =
		(0..).zip(plan.stages()).filter(|(_, stage)| seed % 2 == 1 || stage.op == Op::AdamW).map(|(number, _)| number).collect();
	let stage = stages[usize::try_from(random.below(stages.len() as u64))?];
	let step = u32::try_from(random.below(u64::from(inner_steps)))?;
	let mistake = Mistake { step, stage, output: 0, element: random.below(u64::MAX), mask: 1 << random.below(32) };
	println!("{mistake:?}: {:?}", plan.stages()[stage as usize].op);
	let setting = Setting {
		model: &model,
		train: &train,
		round: 0,
		start,
		subject: Subject::Work {
			corpus: Corpus { root: merkle_root(&text.hashes()), shards: 1, tokens_per_shard: u32::try_from(text.0.len())?, width: WIDTH },
			window: &|step, sequence| Some(window(step, sequence)),
			steps: inner_steps,
			base: None,
			quorum: None,
		},
	};
	let interval = step / commit_interval;
	let (first_step, mut claimant) = (interval * commit_interval, story()?.with_mistake(mistake));
	let (mut roots, delta) = (Vec::new(), [7; 32]);
	for number in 0..=interval {
		let end = inner_steps.min((number + 1) * commit_interval);
		let Some(&root) = claimant.roots(end - 1, 1)?.first() else {
			println!("with the mistake the round diverges: nothing is claimed");
			return Ok(());
		};
		roots.push(root);
	}
	let mut challenger = Player::new(setting, Side::Challenger, story()?, Some(&text));
	let Some(doubt) = challenger.story().doubt(&roots, delta)? else {
		println!("the mistake has no consequence");
		return Ok(());
	};
	if doubt != Doubt::Interval(interval) {
		println!("the mistake has no consequence: {doubt:?}");
		return Ok(());
	}
	// The state that the interval starts from, as a worker keeps it.
	let mut state = None;
	if first_step > 0 {
		let mut keeper = Trainer::new(exec.clone(), &model, &TrainConfig { inner_steps: first_step, ..train.clone() })?;
		let mut arena = Arena::new(keeper.arena_len());
		run_round(&mut keeper, &mut arena, RoundStart::new(&theta, 0), read, |_| ControlFlow::Continue(()), |_| {})?;
		state = Some([keeper.theta(&arena), keeper.first_moment(&arena), keeper.second_moment(&arena)].map(<[f32]>::to_vec));
	}
	drop(claimant);
	let from = |story: WorkStory<_>, state: Option<[Vec<f32>; 3]>| match state {
		Some(state) => story.with_state(first_step, state),
		None => Ok(story),
	};
	let mut defender = Player::new(setting, Side::Defender, from(story()?.with_mistake(mistake), state.clone())?, None);
	play(&setting, open_work(&setting, &roots, delta, doubt)?, &mut defender, &mut challenger)?;
	drop((defender, challenger));

	println!("the same mistake made by the challenger:");
	let mut challenger = Player::new(setting, Side::Challenger, story()?.with_mistake(mistake), Some(&text));
	let doubt = challenger.story().doubt(&truth.state_roots, truth.delta_root)?.ok_or("the challenger has no doubt")?;
	let mut defender = Player::new(setting, Side::Defender, from(story()?, state.clone())?, None);
	let game = open_work(&setting, &truth.state_roots, truth.delta_root, doubt)?;
	let turns = play(&setting, game, &mut defender, &mut challenger)?;
	drop((defender, challenger));

	// What it is measured against: the interval and a step more, run again from the same state, with the interval's state root. In turn,
	// because a machine's first touch of memory costs more than the later ones.
	let count = commit_interval.min(inner_steps - first_step);
	let mut ratios = Vec::new();
	for _ in 0..5 {
		// The worker has it: to copy it is no part of defending.
		let kept = state.clone();
		let begun = Since::now();
		let mut defender = Player::new(setting, Side::Defender, from(story()?, kept)?, None);
		for position in &turns {
			defender.play(position, &[])?;
		}
		let defending = begun.elapsed();
		drop(defender);

		let begun = Since::now();
		let mut again = Trainer::new(exec.clone(), &model, &train)?;
		let mut arena = Arena::new(again.arena_len());
		match &state {
			Some(state) => again.set_state(&mut arena, state.each_ref().map(Vec::as_slice)),
			None => again.theta_mut(&mut arena).copy_from_slice(&theta),
		}
		let mut batch = vec![0; again.batch_tokens()];
		let per_sequence = batch.len() / train.batch as usize;
		for step in first_step..=first_step + count {
			if step == first_step + count {
				let vectors = [again.theta(&arena), again.first_moment(&arena), again.second_moment(&arena)];
				let [params, first, second] = vectors.map(|values| tensors_root(&layout, values, exec.threads()));
				let root = state_root(&params, &first, &second, step, u64::from(step) * u64::from(train.batch));
				assert_eq!(Some(&root), truth.state_roots.get(interval as usize), "the interval run again is another one");
			}
			(0..).zip(batch.chunks_exact_mut(per_sequence)).try_for_each(|(sequence, buffer)| read(step, sequence, buffer))?;
			again.train_step(&mut arena, &batch, u64::from(step), u64::from(step) + 1)?;
		}
		let rerun = begun.elapsed();
		ratios.push([0, 1].map(|which| defending[which] / rerun[which]));
		let (steps, ratio) = (count + 1, times(defending, rerun));
		println!("defending from a kept state {}, {steps} steps run again {}: {ratio}; {}", seconds(defending), seconds(rerun), peak());
	}
	let [clock, processor] = [0, 1].map(|which| {
		ratios.sort_by(|a, b| a[which].total_cmp(&b[which]));
		ratios[ratios.len() / 2][which]
	});
	println!("defending, median of {}: {clock:.3} times ({processor:.3})", ratios.len());
	Ok(())
}

fn seconds([clock, processor]: [f64; 2]) -> String {
	format!("{clock:.2} s ({processor:.2} of processors)")
}

fn times(a: [f64; 2], b: [f64; 2]) -> String {
	format!("{:.3} times ({:.3})", a[0] / b[0], a[1] / b[1])
}

/// Plays a game to its end, and says what every move takes. The positions that were the defender's turn.
fn play<D: Story, C: Story>(
	setting: &Setting<'_>,
	mut position: Position,
	defender: &mut Player<'_, D>,
	challenger: &mut Player<'_, C>,
) -> Result<Vec<Position>, Box<dyn Error>>
where
	PlayError<D::Error>: Error + 'static,
	PlayError<C::Error>: Error + 'static,
{
	let begun = Instant::now();
	let (mut extrinsics, mut defence, mut turns, mut judging) = (1, Vec::new(), Vec::new(), 0.0);
	loop {
		let (side, moved) = (position.turn(), Since::now());
		let action = match side {
			Side::Defender => defender.play(&position, &defence)?,
			Side::Challenger => challenger.play(&position, &defence)?,
		};
		let taken = moved.elapsed();
		let judged = Instant::now();
		let outcome = position.play(setting, &action)?;
		judging += judged.elapsed().as_secs_f64();
		extrinsics += 1;
		let bytes = codec::Encode::encoded_size(&action);
		println!("{extrinsics:>3} {side:?}: {} {bytes} bytes, {}", kind(&action), seconds(taken));
		if side == Side::Defender {
			turns.push(position);
			defence.push(action);
		}
		match outcome {
			Outcome::Next(next) => position = next,
			Outcome::Decided(ruling) => {
				let total = begun.elapsed().as_secs_f64();
				println!(
					"{ruling:?} after {extrinsics} extrinsics with the opening, {total:.2} s; judging took {:.1} ms of it",
					judging * 1e3
				);
				return Ok(turns);
			}
		}
	}
}
