//! How fast this machine trains, against candle's autograd on the same model, and what committing states costs.

use neuroshard_compute::exec::{SetupError, StepMemory};
use neuroshard_graph::{ModelConfig, ParamLayout, TrainConfig};
use neuroshard_training::{
	checkpoint::{Checkpoint, CheckpointError},
	engine::{autograd::AutogradTrainer, Device, Engine, EngineError},
};
use std::{
	fmt,
	time::{Duration, Instant},
};

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
	/// The engine.
	#[error(transparent)]
	Engine(#[from] EngineError),
	/// theta_0.
	#[error(transparent)]
	Checkpoint(#[from] CheckpointError),
	/// Nothing to measure.
	#[error("at least one repetition is needed")]
	NoRepetitions,
}

/// Median, fastest and slowest of some repetitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
	/// Of all repetitions (the lower one of two).
	pub median: Duration,
	/// Shortest.
	pub fastest: Duration,
	/// Longest.
	pub slowest: Duration,
}

impl Timing {
	/// `None` without times.
	fn of(mut times: Vec<Duration>) -> Option<Self> {
		times.sort_unstable();
		let median = *times.get(times.len().saturating_sub(1) / 2)?;
		Some(Self { median, fastest: *times.first()?, slowest: *times.last()? })
	}

	fn rate(&self, tokens: u64) -> f64 {
		tokens as f64 / self.median.as_secs_f64()
	}

	/// Distance of the slowest from the fastest, percent of the median.
	fn spread(&self) -> f64 {
		100.0 * (self.slowest - self.fastest).as_secs_f64() / self.median.as_secs_f64()
	}
}

/// Measured weights. All steps are whole ones: forward, backward, AdamW; ours also clips by the gradient norm.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
	/// What took our steps.
	pub device: String,
	/// Parameters of the model.
	pub parameters: u64,
	/// Threads of either side.
	pub threads: usize,
	/// Bytes of our arena.
	pub arena_bytes: usize,
	/// Tokens of a step.
	pub tokens: u64,
	/// Steps timed together on either side.
	pub repetitions: u32,
	/// Our step.
	pub ours: Timing,
	/// The same step in candle with autograd.
	pub candle: Timing,
	/// Hashing parameters and moments once.
	pub commit: Timing,
	/// Steps between two commitments.
	pub commit_interval: u32,
}

impl Report {
	/// Our speed over candle's.
	pub fn ratio(&self) -> f64 {
		self.candle.median.as_secs_f64() / self.ours.median.as_secs_f64()
	}

	/// Time of state commitments, percent of the time of the steps between them.
	pub fn commit_overhead(&self) -> f64 {
		100.0 * self.commit.median.as_secs_f64() / (self.ours.median.as_secs_f64() * f64::from(self.commit_interval))
	}
}

impl fmt::Display for Report {
	fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
		writeln!(
			f,
			"{}: {} parameters, {} tokens a step, {} threads, {} repetitions, {} MiB of memory for our steps",
			self.device,
			self.parameters,
			self.tokens,
			self.threads,
			self.repetitions,
			self.arena_bytes >> 20
		)?;
		let mut line = |name: &str, timing: &Timing| {
			let (rate, milliseconds) = (timing.rate(self.tokens), 1e3 * timing.median.as_secs_f64());
			writeln!(f, "{name:8} {rate:>9.0} tokens/s  {milliseconds:>8.1} ms a step (median; spread {:.0}%)", timing.spread())
		};
		line("ours", &self.ours)?;
		line("candle", &self.candle)?;
		writeln!(f, "ours is {:.2} times as fast", self.ratio())?;
		write!(f, "committing the state every {} steps costs {:.2}%", self.commit_interval, self.commit_overhead())
	}
}

/// Times `repetitions` training steps of both sides, taking turns so that whatever else happens on the machine hits
/// both, after one untimed step each. candle uses as many threads as rayon gives it (`RAYON_NUM_THREADS`, else all).
///
/// # Errors
/// [`BenchError`].
pub fn bench(
	model: &ModelConfig,
	train: &TrainConfig,
	(device, threads): (Device, usize),
	memory: StepMemory,
	repetitions: u32,
) -> Result<Report, BenchError> {
	let theta = Checkpoint::genesis(0, model, train, threads)?.params;
	let mut engine = Engine::on(device, model, train, threads, Some(memory))?;
	engine.load(&theta)?;
	let mut peer = AutogradTrainer::new(model, engine.layout(), &theta, train)?;
	let tokens = pseudo_text(train.batch as usize * (train.seq_len as usize + 1), model.vocab);

	let (mut ours, mut candle, mut commit) = (Vec::new(), Vec::new(), Vec::new());
	for repetition in 0..=repetitions {
		let (t, timed) = (u64::from(repetition) + 1, repetition > 0);
		let begin = Instant::now();
		engine.train_step(&tokens, u64::from(repetition), t)?;
		let middle = Instant::now();
		engine.state_roots()?;
		let end = Instant::now();
		if timed {
			ours.push(middle - begin);
			commit.push(end - middle);
		}
		let begin = Instant::now();
		peer.train_step(&tokens, f64::from(train.lr.get()))?;
		if timed {
			candle.push(begin.elapsed());
		}
	}
	let timing = |times| Timing::of(times).ok_or(BenchError::NoRepetitions);
	Ok(Report {
		device: engine.is_on(),
		parameters: model.parameters(),
		threads,
		arena_bytes: engine.arena_bytes(),
		tokens: train.tokens_per_step(),
		repetitions,
		ours: timing(ours)?,
		candle: timing(candle)?,
		commit: timing(commit)?,
		commit_interval: train.commit_interval,
	})
}

/// Inner steps a second that `engine` takes on this machine, measured for `time` after a first step, or by that alone if it takes as long.
///
/// # Errors
/// [`BenchError`].
pub fn steps_within(mut engine: Engine, time: Duration) -> Result<f64, BenchError> {
	let tokens = begin(&mut engine)?;
	rate(time, |step| engine.train_step(&tokens, u64::from(step), u64::from(step).saturating_add(1)).map(drop)).map_err(BenchError::from)
}

/// Loads what the first step of a run begins with, and returns tokens of a batch.
///
/// # Errors
/// [`BenchError`].
pub(crate) fn begin(engine: &mut Engine) -> Result<Vec<u32>, BenchError> {
	let (model, train) = (engine.model().clone(), engine.train_config().clone());
	if engine.lacks_model() {
		// An adapter beside a model of zeros takes as long as beside any other.
		engine.load_model(&vec![0.0; ParamLayout::new(&model).map_err(SetupError::from).map_err(EngineError::from)?.len()])?;
	}
	engine.load(&Checkpoint::genesis(0, &model, &train, engine.exec().threads())?.params)?;
	Ok(pseudo_text(train.batch as usize * (train.seq_len as usize + 1), model.vocab))
}

/// Steps a second, as [`steps_within`] says. Each gets its number.
fn rate<E>(time: Duration, mut step: impl FnMut(u32) -> Result<(), E>) -> Result<f64, E> {
	let begin = Instant::now();
	step(0)?;
	let first = begin.elapsed();
	if first >= time {
		return Ok(1.0 / first.as_secs_f64());
	}
	let begin = Instant::now();
	let mut steps = 0u32;
	while begin.elapsed() < time {
		steps = steps.saturating_add(1);
		step(steps)?;
	}
	Ok(f64::from(steps) / begin.elapsed().as_secs_f64())
}

/// Tokens that look like nothing in particular: speed does not depend on them.
fn pseudo_text(length: usize, vocab: u32) -> Vec<u32> {
	let mut state = 1u32;
	let mut next = || {
		state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
		(state >> 8) % vocab.max(1)
	};
	(0..length).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_step_that_is_longer_than_the_measurement_is_taken_once() {
		let steps = |time| {
			let mut numbers = Vec::new();
			let rate = rate(time, |number| {
				numbers.push(number);
				// What takes some time, without a clock.
				std::hint::black_box((0..200_000u64).fold(0, |sum: u64, term| std::hint::black_box(sum ^ term)));
				Ok::<_, ()>(())
			});
			assert!(rate.unwrap() > 0.0);
			numbers
		};
		assert_eq!(steps(Duration::ZERO), [0]);
		let several = steps(Duration::from_millis(100));
		assert!(several.len() > 2 && several.iter().copied().eq(0..several.len() as u32), "{several:?}");
	}

	#[test]
	fn a_report_has_the_median_and_its_ratios() {
		let milliseconds = |values: &[u64]| Timing::of(values.iter().map(|value| Duration::from_millis(*value)).collect());
		assert_eq!(milliseconds(&[]), None);
		let report = Report {
			device: "the CPU".into(),
			parameters: 1,
			threads: 2,
			arena_bytes: 3 << 20,
			tokens: 1000,
			repetitions: 3,
			ours: milliseconds(&[300, 100, 200]).unwrap(),
			candle: milliseconds(&[500, 400, 600]).unwrap(),
			commit: milliseconds(&[8]).unwrap(),
			commit_interval: 4,
		};
		assert_eq!(report.ratio(), 2.5);
		assert!((report.commit_overhead() - 1.0).abs() < 1e-9);
		let text = report.to_string();
		assert!(
			text.contains("3 MiB") && text.contains("5000 tokens/s") && text.contains("spread 100%") && text.contains("2.50 times"),
			"{text}"
		);
	}
}
