//! What it costs to train in cohorts: the validation loss after some rounds of DiLoCo on a text, of all workers in one round, of cohorts that know nothing of each other, and of cohorts
//! that are drawn together in two ways.
//!
//! `cargo run --release -p neuroshard-compute --example cohorts -- TEXT [ROUNDS [INNER_STEPS [WORKERS [SIZE [RATE [MOMENTUM [SEEDS]]]]]]]`. So many workers train a small model, in one round or
//! in cohorts of SIZE. Deltas are f32, and their mean is taken; RATE and MOMENTUM are those of the outer step. All methods see the same windows. The loss is the mean of all cohorts' and
//! seeds'. There is a thread for every worker.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod small;
mod text;

use neuroshard_compute::exec::{take_outer_step, Arena, Exec, Trainer};
use neuroshard_graph::{init::theta_0, Aggregator, ModelConfig, ParamLayout, TrainConfig, F32};
use std::{
	error::Error,
	str::FromStr,
	sync::Arc,
	thread::{scope, ScopedJoinHandle},
	time::Instant,
};
use text::{extremes, Random, Text};

/// How cohorts hear of each other.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Method {
	/// Not at all.
	Alone,
	/// Each outer step begins from the mean of the own parameters and those of a drawn cohort.
	Mixed,
	/// So many members of each cohort start from the parameters of a drawn one; their deltas are the difference from their own cohort's.
	Bridged(usize),
}

/// What goes wrong on a thread.
type Failed = Box<dyn Error + Send + Sync>;

/// The text, and what trains.
#[derive(Clone)]
struct World {
	model: ModelConfig,
	train: TrainConfig,
	layout: ParamLayout,
	text: Arc<Text>,
	seed: u8,
	workers: usize,
	rounds: u32,
}

/// Parameters and outer momentum of a cohort.
type State = (Vec<f32>, Vec<f32>);

impl World {
	/// The delta of a worker that starts from `start`, as the difference from `base`.
	fn delta(&self, round: u32, worker: usize, [start, base]: [&[f32]; 2]) -> Result<Vec<f32>, Failed> {
		let mut trainer = Trainer::new(Arc::new(Exec::new(1)?), &self.model, &self.train)?;
		let mut arena = Arena::new(trainer.arena_len());
		trainer.theta_mut(&mut arena).copy_from_slice(start);
		trainer.reset_moments(&mut arena);
		for step in 0..self.train.inner_steps {
			let index = round * self.train.inner_steps + step;
			let tokens = small::batch(&self.text, &self.train, self.seed, index, worker as u64);
			trainer.train_step(&mut arena, &tokens, u64::from(index), u64::from(step) + 1)?;
		}
		Ok(base.iter().zip(trainer.theta(&arena)).map(|(base, end)| base - end).collect())
	}

	/// A round of cohort `number`, whose members are so many, beside which `other` was drawn.
	fn round(&self, round: u32, number: usize, size: usize, method: Method, [own, other]: [&State; 2]) -> Result<State, Failed> {
		let start = |member: usize| match method {
			Method::Bridged(bridges) if member < bridges => &other.0,
			_ => &own.0,
		};
		let deltas = all((0..size).map(|member| (number * size + member, start(member))), |(worker, start)| {
			self.delta(round, worker, [start, &own.0])
		})?;
		let (mut theta, mut momentum) = own.clone();
		if method == Method::Mixed {
			theta.iter_mut().zip(&other.0).for_each(|(own, other)| *own = (*own + other) * 0.5);
		}
		take_outer_step(&Exec::new(1)?, &self.layout, &self.train, &mut theta, &mut momentum, &deltas, &[])?;
		Ok((theta, momentum))
	}

	/// The validation loss of each cohort of `size` in the end.
	fn run(&self, size: usize, method: Method) -> Result<Vec<f32>, Failed> {
		let cohorts = self.workers / size;
		let theta = theta_0(&self.model, &self.layout, &self.train.seed);
		let mut states: Vec<State> = vec![(theta.clone(), vec![0.0; theta.len()]); cohorts];
		let mut random = Random(u64::from(self.seed) << 32 | 77);
		for round in 0..self.rounds {
			let mut drawn = |own: usize| match cohorts.checked_sub(1) {
				Some(others) if others > 0 => (own + 1 + random.next() as usize % others) % cohorts,
				_ => own,
			};
			let pairs: Vec<(usize, usize)> = (0..cohorts).map(|own| (own, drawn(own))).collect();
			states = all(pairs, |(own, other)| self.round(round, own, size, method, [&states[own], &states[other]]))?;
		}
		all(states, |(theta, _)| {
			let exec = Arc::new(Exec::new(1)?);
			self.text.loss(&exec, &self.model, &self.train, &theta).map_err(|error| error.to_string().into())
		})
	}
}

/// What `work` makes of each of these, each on a thread of its own.
fn all<I: Send, T: Send>(items: impl IntoIterator<Item = I>, work: impl Fn(I) -> Result<T, Failed> + Sync) -> Result<Vec<T>, Failed> {
	let work = &work;
	scope(|scope| {
		let threads: Vec<ScopedJoinHandle<'_, _>> = items.into_iter().map(|item| scope.spawn(move || work(item))).collect();
		threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a thread has panicked".into()))).collect()
	})
}

/// The next argument, or else this value.
fn next<T: FromStr>(arguments: &mut impl Iterator<Item = String>, otherwise: T) -> Result<T, T::Err> {
	arguments.next().map_or(Ok(otherwise), |text| text.parse())
}

fn main() -> Result<(), Failed> {
	let mut arguments = std::env::args().skip(1);
	let path = arguments.next().ok_or("the text is missing")?;
	let (rounds, inner_steps) = (next(&mut arguments, 8u32)?, next(&mut arguments, 25u32)?);
	let (workers, size) = (next(&mut arguments, 32usize)?, next(&mut arguments, 4usize)?);
	let (rate, momentum) = (next(&mut arguments, 1.0f32)?, next(&mut arguments, 0.0f32)?);
	let seeds: u8 = next(&mut arguments, 3)?;
	if size == 0 || workers % size != 0 {
		return Err("WORKERS must be a multiple of SIZE".into());
	}
	let text = Arc::new(Text::read(&path).map_err(|error| error.to_string())?);
	let model = small::model();
	let train = TrainConfig {
		outer_lr: F32::new(rate),
		outer_beta: F32::new(momentum),
		aggregator: Aggregator::Mean,
		..small::train(rounds, inner_steps)
	};
	let layout = ParamLayout::new(&model)?;
	println!("{} parameters, {rounds} rounds of {inner_steps} inner steps of {workers} workers, {seeds} seeds", layout.len());
	let world = World { model, train, layout, text, seed: 0, workers, rounds };
	let half = Method::Bridged(size / 2);
	let methods = [(workers, Method::Alone), (size, Method::Alone), (size, Method::Mixed), (size, Method::Bridged(1)), (size, half)];
	all(methods, |(size, method)| {
		let (begun, mut losses) = (Instant::now(), Vec::new());
		for seed in 0..seeds {
			let mut world = world.clone();
			(world.seed, world.train.seed) = (seed, [seed; 32]);
			losses.extend(world.run(size, method)?);
		}
		let (mean, [least, most]) = (losses.iter().sum::<f32>() / losses.len() as f32, extremes(&losses));
		let name = format!("{} of {size}, {method:?}", workers / size);
		println!("{name:24}{mean:>8.4} ({least:.4} to {most:.4}) {:>6.0} s", begun.elapsed().as_secs_f64());
		Ok(())
	})?;
	Ok(())
}
