//! What codes cost and save: the validation loss after some rounds of DiLoCo on a text, and the bytes that a worker receives, for every code of deltas.
//!
//! `cargo run --release -p neuroshard-compute --example compression -- TEXT [ROUNDS [THREADS [INNER_STEPS [METHOD]]]]`. Eight workers train a small model on
//! windows of the text, drawn for each. All methods see the same windows. Bytes are those that a worker receives for an inner step: the deltas of all
//! others, once a round; in an all-reduce, by the ring, all gradients less an eighth, twice. A thread does one method with one seed at a time; seconds
//! are those of all seeds together. With METHOD, only those whose names have it within.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod small;
mod text;

use neuroshard_compute::exec::{add_residual, decode_delta, encode_vector, take_outer_step, Arena, Exec, Trainer};
use neuroshard_graph::{init::theta_0, Aggregator, Code, Compressed, ModelConfig, ParamLayout, Robust, Rule, TopK, TrainConfig, F32};
use std::{
	error::Error,
	num::NonZeroUsize,
	sync::{
		atomic::{AtomicUsize, Ordering},
		mpsc, Arc,
	},
	time::{Duration, Instant},
};
use text::{extremes, Text};

/// Workers.
const WORKERS: u16 = 8;
/// Runs of everything, each from other first parameters and on other windows.
const SEEDS: u8 = 3;

/// How workers learn together.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Method {
	/// Every step has the gradient of all workers' sequences.
	AllReduce,
	/// Deltas of rounds, sent as they are or as a code, with an outer step of this rate and momentum. Where rounds overlap, inner steps start from the
	/// checkpoint before the newest one.
	Rounds { code: Option<Code>, rate: f32, momentum: f32, overlap: bool },
}

fn methods() -> Vec<(String, Method)> {
	let rounds = |code, rate, momentum| Method::Rounds { code, rate, momentum, overlap: false };
	let coded = |numbers, cosine, rate| rounds(Some(Code::TopK(TopK { numbers, decay: F32::new(DECAY), cosine })), rate, 0.0);
	let mut methods = vec![("f32 all-reduce".into(), Method::AllReduce)];
	for (rate, momentum) in [(1.0, 0.0), (0.7, 0.5), (0.7, 0.7), (0.7, 0.9)] {
		methods.push((format!("f32 deltas {rate} {momentum}"), rounds(None, rate, momentum)));
	}
	methods.push(("Int8".into(), rounds(Some(Code::Int8), 1.0, 0.0)));
	for (numbers, rates) in [(64, [1.0].as_slice()), (32, &[1.0, 1.5]), (16, &[1.0, 1.6, 2.0]), (8, &[1.0, 2.0, 3.0, 4.0])] {
		methods.extend(rates.iter().map(|rate| (format!("TopK {numbers} {rate}"), coded(numbers, false, *rate))));
	}
	for numbers in [64, 32, 16, 8] {
		methods.push((format!("TopK {numbers} cosine"), coded(numbers, true, 1.0)));
	}
	for (rate, momentum) in [(1.0, 0.0), (0.7, 0.0), (0.5, 0.0), (0.35, 0.5), (0.2, 0.8), (0.7, 0.9)] {
		methods.push((format!("overlap {rate} {momentum}"), Method::Rounds { code: None, rate, momentum, overlap: true }));
	}
	methods
}

/// What a residual is multiplied by, as in SparseLoCo.
const DECAY: f32 = 0.95;

/// The text, and what trains.
#[derive(Clone)]
struct World {
	model: ModelConfig,
	train: TrainConfig,
	layout: ParamLayout,
	exec: Arc<Exec>,
	text: Arc<Text>,
	seed: u8,
}

impl World {
	fn batch(&self, step: u32, worker: u16) -> Vec<u32> {
		small::batch(&self.text, &self.train, self.seed, step, worker.into())
	}

	fn loss(&self, theta: &[f32]) -> Result<f32, Box<dyn Error>> {
		self.text.loss(&self.exec, &self.model, &self.train, theta)
	}

	/// The validation loss after so many rounds.
	fn run(&self, rounds: u32, method: Method) -> Result<f32, Box<dyn Error>> {
		match method {
			Method::AllReduce => self.all_reduce(rounds),
			Method::Rounds { overlap, .. } => self.rounds(rounds, &of(method, &self.train), overlap),
		}
	}

	fn all_reduce(&self, rounds: u32) -> Result<f32, Box<dyn Error>> {
		let train = TrainConfig { batch: self.train.batch * u32::from(WORKERS), ..self.train.clone() };
		let mut trainer = Trainer::new(self.exec.clone(), &self.model, &train)?;
		let mut arena = Arena::new(trainer.arena_len());
		trainer.theta_mut(&mut arena).copy_from_slice(&theta_0(&self.model, &self.layout, &train.seed));
		trainer.reset_moments(&mut arena);
		for step in 0..rounds * train.inner_steps {
			let tokens: Vec<u32> = (0..WORKERS).flat_map(|worker| self.batch(step, worker)).collect();
			trainer.train_step(&mut arena, &tokens, u64::from(step), u64::from(step) + 1)?;
		}
		self.loss(trainer.theta(&arena))
	}

	fn rounds(&self, rounds: u32, train: &TrainConfig, overlap: bool) -> Result<f32, Box<dyn Error>> {
		let mut theta = theta_0(&self.model, &self.layout, &train.seed);
		let mut before = theta.clone();
		let mut momentum = vec![0.0; theta.len()];
		let mut residuals = vec![vec![0.0; theta.len()]; usize::from(WORKERS)];
		let mut trainer = Trainer::new(self.exec.clone(), &self.model, train)?;
		let mut arena = Arena::new(trainer.arena_len());
		for round in 0..rounds {
			let mut deltas = Vec::new();
			let start = if overlap { &before } else { &theta };
			for (worker, residual) in (0..WORKERS).zip(&mut residuals) {
				trainer.theta_mut(&mut arena).copy_from_slice(start);
				trainer.reset_moments(&mut arena);
				for step in 0..train.inner_steps {
					let index = round * train.inner_steps + step;
					trainer.train_step(&mut arena, &self.batch(index, worker), u64::from(index), u64::from(step) + 1)?;
				}
				let mut delta: Vec<f32> = start.iter().zip(trainer.theta(&arena)).map(|(start, end)| start - end).collect();
				if let Some(code) = train.code() {
					add_residual(code, code.decay().map(|_| residual.as_slice()), &mut delta)?;
					let sent = encode_vector(code, &self.exec, &self.layout.tiling(), &mut delta)?;
					let said = decode_delta(train, &*self.exec, &self.layout, sent)?;
					// What was not said is left in the vector.
					*residual = std::mem::replace(&mut delta, said);
				}
				deltas.push(delta);
			}
			before.clone_from(&theta);
			take_outer_step(&*self.exec, &self.layout, train, &mut theta, &mut momentum, &deltas, &[])?;
		}
		self.loss(&theta)
	}

	/// Bytes that a worker receives for an inner step.
	fn bytes(&self, method: Method) -> Result<f64, Box<dyn Error>> {
		let (workers, vector) = (f64::from(WORKERS), 4.0 * self.layout.len() as f64);
		Ok(match method {
			Method::AllReduce => 2.0 * vector * (workers - 1.0) / workers,
			Method::Rounds { .. } => {
				let sent = ParamLayout::of_deltas(&self.model, &of(method, &self.train))?.encoded_len();
				sent as f64 * (workers - 1.0) / f64::from(self.train.inner_steps)
			}
		})
	}
}

/// The configuration of a method with rounds.
fn of(method: Method, train: &TrainConfig) -> TrainConfig {
	let Method::Rounds { code, rate, momentum, .. } = method else { return train.clone() };
	let robust = Robust { clip: F32::new(0.0), rule: Rule::Mean };
	let aggregator = code.map_or(Aggregator::Mean, |code| Aggregator::Compressed(Compressed { code, robust }));
	TrainConfig { aggregator, outer_lr: F32::new(rate), outer_beta: F32::new(momentum), ..train.clone() }
}

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments = std::env::args().skip(1);
	let path = arguments.next().ok_or("the text is missing")?;
	let rounds: u32 = arguments.next().map_or(Ok(8), |rounds| rounds.parse())?;
	let threads: NonZeroUsize = arguments.next().map_or(Ok(NonZeroUsize::MIN), |threads| threads.parse())?;
	let inner_steps = arguments.next().map_or(Ok(40), |steps| steps.parse())?;
	let only = arguments.next();
	let text = Text::read(&path)?;
	let (model, train) = (small::model(), small::train(rounds, inner_steps));
	let layout = ParamLayout::new(&model)?;
	println!("{} parameters, {rounds} rounds of {inner_steps} inner steps of {WORKERS} workers, {SEEDS} seeds", layout.len());
	println!("{:22}{:>14}{:>12}{:>10}{:>26}{:>10}", "", "bytes a step", "all-reduce", "f32", "validation loss", "seconds");
	let mut world = World { exec: Arc::new(Exec::new(1)?), model, train, layout, text: Arc::new(text), seed: 0 };
	let full = world.bytes(Method::AllReduce)?;
	let deltas = world.bytes(Method::Rounds { code: None, rate: 1.0, momentum: 0.0, overlap: false })?;
	let methods: Vec<_> = methods().into_iter().filter(|(name, _)| only.as_ref().is_none_or(|only| name.contains(only.as_str()))).collect();
	let jobs: Vec<_> = (0..methods.len()).flat_map(|number| (0..SEEDS).map(move |seed| (number, seed))).collect();
	let (next, (done, results)) = (AtomicUsize::new(0), mpsc::channel());
	std::thread::scope(|scope| {
		for _ in 0..threads.get() {
			world.exec = Arc::new(Exec::new(1)?);
			let (mut world, methods, jobs, next, done) = (world.clone(), &methods, &jobs, &next, done.clone());
			scope.spawn(move || {
				while let Some(&(number, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
					(world.seed, world.train.seed) = (seed, [seed; 32]);
					let (name, method) = &methods[number];
					let begun = Instant::now();
					let loss = world.run(rounds, *method).map_err(|error| format!("{name}, seed {seed}: {error}"));
					// Nobody is there to be told any more if another one has failed.
					if done.send((number, loss, begun.elapsed())).is_err() {
						break;
					}
				}
			});
		}
		drop(done);
		let mut told: Vec<(Vec<f32>, Duration)> = vec![Default::default(); methods.len()];
		for (number, loss, took) in results {
			let ((name, method), (losses, seconds)) = (&methods[number], &mut told[number]);
			losses.push(loss?);
			*seconds += took;
			if losses.len() == usize::from(SEEDS) {
				let (mean, [least, most]) = (losses.iter().sum::<f32>() / f32::from(SEEDS), extremes(losses));
				let (bytes, loss, seconds) = (world.bytes(*method)?, format!("{mean:.4} ({least:.4} to {most:.4})"), seconds.as_secs_f64());
				println!("{name:22}{bytes:>14.0}{:>11.0}x{:>9.1}x{loss:>26}{seconds:>10.0}", full / bytes, deltas / bytes);
			}
		}
		Ok(())
	})
}
