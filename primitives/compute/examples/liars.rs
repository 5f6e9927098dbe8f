//! What liars do to training: the validation loss after some rounds of DiLoCo on a text, for every attack and every rule of aggregation.
//!
//! `cargo run --release -p neuroshard-compute --example liars -- TEXT [ROUNDS [THREADS [INNER_STEPS [RULE [ATTACK]]]]]`. Ten workers train a small model on windows of the text, drawn for each.
//! Three of them lie in every round. They know what the others hand over. The clean run has no liars and takes the mean.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod text;

use neuroshard_compute::exec::{take_outer_step, Arena, Exec, Trainer};
use neuroshard_graph::{init::theta_0, Aggregator, ModelConfig, ParamLayout, Robust, Rule, TrainConfig, F32};
use std::{error::Error, sync::Arc};
use text::{extremes, Random, Text};

/// Workers.
const WORKERS: usize = 10;
/// Those of them who lie: the last ones.
const LIARS: usize = 3;
/// Runs of everything, each from other first parameters and on other windows.
const SEEDS: u8 = 3;

/// What liars hand over.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Attack {
	/// Their own work.
	None,
	/// Random numbers, as large in the mean as an honest delta.
	Noise,
	/// The opposite of their own work.
	SignFlip,
	/// Their own work a hundred times, backwards.
	Scaled,
	/// The others' mean and 1.5 of their standard deviations (Baruch et al. 2019, "A Little Is Enough", as in ByzFL).
	LittleIsEnough,
	/// The same, each coordinate against the others' mean.
	LittleAgainst,
	/// The opposite of the others' mean, half as long (Xie et al. 2019, inner-product manipulation).
	InnerProduct,
}

const ATTACKS: [Attack; 7] =
	[Attack::None, Attack::Noise, Attack::SignFlip, Attack::Scaled, Attack::LittleIsEnough, Attack::LittleAgainst, Attack::InnerProduct];

fn rules() -> Vec<(&'static str, Aggregator)> {
	let liars = u16::try_from(LIARS).unwrap_or(u16::MAX);
	let robust = |clip: f32, rule| Aggregator::Robust(Robust { clip: F32::new(clip), rule });
	let one = F32::new(1.0);
	vec![
		("mean", Aggregator::Mean),
		("Multi-Krum", robust(0.0, Rule::MultiKrum { liars })),
		("Multi-Krum, mixed", robust(0.0, Rule::MixedKrum { liars })),
		("centred clipping", robust(0.0, Rule::CentredClipping { liars, radius: one, steps: 5 })),
		("geometric median", robust(0.0, Rule::GeometricMedian { liars, floor: F32::new(0.1), steps: 5 })),
		("clipped mean", robust(1.0, Rule::Mean)),
		("trimmed mean", Aggregator::TrimmedMean { trim: liars }),
		("median", robust(0.0, Rule::Median)),
		("Krum", robust(0.0, Rule::Krum { liars })),
	]
}

/// Nearly normal: twelve uniform numbers.
fn normal(random: &mut Random) -> f32 {
	(0..12).map(|_| random.next() as f32 / (1u64 << 31) as f32).sum::<f32>() - 6.0
}

/// The first parameters, the text, and what trains.
struct World {
	model: ModelConfig,
	train: TrainConfig,
	layout: ParamLayout,
	exec: Arc<Exec>,
	text: Text,
	seed: u8,
}

impl World {
	/// Numbers of a worker in a round.
	fn random(&self, round: u32, worker: u64) -> Random {
		Random(u64::from(self.seed) << 56 | u64::from(round) << 32 | worker)
	}

	/// Deltas of a round that starts from `theta`.
	fn deltas(
		&self,
		trainer: &mut Trainer,
		arena: &mut [f32],
		theta: &[f32],
		round: u32,
		attack: Attack,
	) -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
		let mut deltas = Vec::new();
		let honest = if attack == Attack::None { WORKERS } else { WORKERS - LIARS };
		for worker in 0..WORKERS {
			// Those who need none of their own do not work.
			if worker >= honest && !matches!(attack, Attack::SignFlip | Attack::Scaled) {
				break;
			}
			let mut random = self.random(round, worker as u64);
			trainer.theta_mut(arena).copy_from_slice(theta);
			trainer.reset_moments(arena);
			for step in 0..self.train.inner_steps {
				let tokens = self.text.batch(&self.train, &mut random);
				trainer.train_step(arena, &tokens, u64::from(round * self.train.inner_steps + step), u64::from(step) + 1)?;
			}
			deltas.push(theta.iter().zip(trainer.theta(arena)).map(|(start, end)| start - end).collect());
		}
		let lie = |own: Option<&Vec<f32>>, random: &mut Random| -> Vec<f32> {
			let others = &deltas[..honest];
			let mean = |at: usize| others.iter().map(|delta: &Vec<f32>| delta[at]).sum::<f32>() / honest as f32;
			let size = |delta: &[f32]| (delta.iter().map(|x| x * x).sum::<f32>() / delta.len() as f32).sqrt();
			match (attack, own) {
				(Attack::SignFlip, Some(own)) => own.iter().map(|x| -x).collect(),
				(Attack::Scaled, Some(own)) => own.iter().map(|x| -100.0 * x).collect(),
				(Attack::Noise, _) => {
					let size = size(&others[0]);
					(0..theta.len()).map(|_| size * normal(random)).collect()
				}
				(Attack::InnerProduct, _) => (0..theta.len()).map(|at| -0.5 * mean(at)).collect(),
				_ => (0..theta.len())
					.map(|at| {
						let mean = mean(at);
						let square = others.iter().map(|delta| (delta[at] - mean) * (delta[at] - mean)).sum::<f32>();
						let sign = if attack == Attack::LittleAgainst { -mean.signum() } else { 1.0 };
						mean + 1.5 * sign * (square / (honest - 1) as f32).sqrt()
					})
					.collect(),
			}
		};
		let mut random = self.random(round, 0xffff);
		let lies: Vec<Vec<f32>> = (honest..WORKERS).map(|worker| lie(deltas.get(worker), &mut random)).collect();
		deltas.truncate(honest);
		deltas.extend(lies);
		Ok(deltas)
	}

	fn loss(&self, theta: &[f32]) -> Result<f32, Box<dyn Error>> {
		self.text.loss(&self.exec, &self.model, &self.train, theta)
	}

	/// The validation loss after so many rounds; infinite if it diverges.
	fn run(&self, rounds: u32, attack: Attack, aggregator: Aggregator) -> Result<f32, Box<dyn Error>> {
		let train = TrainConfig { aggregator, ..self.train.clone() };
		let mut theta = theta_0(&self.model, &self.layout, &train.seed);
		let mut momentum = vec![0.0; theta.len()];
		let mut trainer = Trainer::new(self.exec.clone(), &self.model, &train)?;
		let mut arena = Arena::new(trainer.arena_len());
		for round in 0..rounds {
			let Ok(deltas) = self.deltas(&mut trainer, &mut arena, &theta, round, attack) else { return Ok(f32::INFINITY) };
			take_outer_step(&*self.exec, &self.layout, &train, &mut theta, &mut momentum, &deltas, &[])?;
		}
		Ok(self.loss(&theta).unwrap_or(f32::INFINITY))
	}
}

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments = std::env::args().skip(1);
	let path = arguments.next().ok_or("the text is missing")?;
	let rounds: u32 = arguments.next().map_or(Ok(8), |rounds| rounds.parse())?;
	let threads: usize = arguments.next().map_or(Ok(2), |threads| threads.parse())?;
	let inner_steps = arguments.next().map_or(Ok(40), |steps| steps.parse())?;
	let only = arguments.next();
	let attack = arguments.next();
	let attacks: Vec<Attack> = ATTACKS.into_iter().filter(|one| attack.as_ref().is_none_or(|name| *name == format!("{one:?}"))).collect();
	let text = Text::read(&path)?;
	let model = ModelConfig { vocab: 288, dim: 64, layers: 2, heads: 4, kv_heads: 2, ffn: 160, max_seq: 128, ..ModelConfig::tiny() };
	let train = TrainConfig {
		batch: 16,
		seq_len: 64,
		inner_steps,
		lr: F32::new(5e-3),
		lr_min: F32::new(5e-4),
		warmup_steps: 4,
		validation_sequences: 512,
		..TrainConfig::tiny()
	};
	let layout = ParamLayout::new(&model)?;
	let mut world = World { exec: Arc::new(Exec::new(threads)?), model, train, layout, text, seed: 0 };
	let mut losses = |attack, aggregator: Aggregator| -> Result<Vec<f32>, Box<dyn Error>> {
		let runs = (0..SEEDS).map(|seed| {
			(world.seed, world.train.seed) = (seed, [seed; 32]);
			world.run(rounds, attack, aggregator)
		});
		runs.collect()
	};
	let clean = losses(Attack::None, Aggregator::Mean)?;
	println!("{rounds} rounds of {inner_steps} steps of {WORKERS} workers, {LIARS} of them lie; losses of the clean runs {clean:.4?}");
	println!("beyond them in percent: the mean of {SEEDS} seeds (least to most)");
	print!("{:18}", "");
	attacks.iter().for_each(|attack| print!("{:>24}", format!("{attack:?}")));
	println!();
	for (name, aggregator) in rules().into_iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)) {
		print!("{name:18}");
		for &attack in &attacks {
			let beyond = losses(attack, aggregator)?.into_iter().zip(&clean).map(|(loss, clean)| 100.0 * (loss / clean - 1.0));
			let beyond: Vec<f32> = beyond.collect();
			let [least, most] = extremes(&beyond);
			let mean = beyond.iter().sum::<f32>() / f32::from(SEEDS);
			print!("{:>24}", format!("{mean:+.1} ({least:+.1} to {most:+.1})"));
			std::io::Write::flush(&mut std::io::stdout())?;
		}
		println!();
	}
	Ok(())
}
