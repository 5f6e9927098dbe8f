//! What steps out of core cost: time against steps in memory, bytes read and written, and the most memory that the process had.
//!
//! `cargo run --release -p neuroshard-training --example out_of_core -- FOLDER LAYERS STEPS THREADS`: a model of 384 numbers a row, with batches of 8 sequences of
//! 256 tokens. Each line is measured in a process of its own, which ends with the same state roots or the measurement fails. The files are in FOLDER.

use neuroshard_compute::exec::OutOfCoreError;
use neuroshard_graph::{Hash, ModelConfig, TrainConfig};
use neuroshard_training::{
	checkpoint::Checkpoint,
	engine::Engine,
	files::{FileEngine, FiledCheckpoint, FilesError},
	presets,
};
use std::{error::Error, path::Path, process::Command, time::Instant};

/// Parts of the memory of steps in memory that are given, in hundredths.
const PARTS: [u64; 5] = [100, 60, 40, 25, 15];

/// What a process measured.
struct Measured {
	seconds: f64,
	parameters: Hash,
	/// Of a step.
	traffic: [u64; 2],
	spans: usize,
	bytes: u64,
}

fn tokens(model: &ModelConfig, train: &TrainConfig, step: u32) -> Vec<u32> {
	let count = train.batch * (train.seq_len + 1);
	(0..count).map(|at| (at.wrapping_mul(2_654_435_761).wrapping_add(step * 977) >> 7) % model.vocab).collect()
}

fn in_memory(model: &ModelConfig, train: &TrainConfig, steps: u32, threads: usize) -> Result<Measured, Box<dyn Error>> {
	let mut engine = Engine::new(model, train, threads)?;
	engine.load(&Checkpoint::genesis(0, model, train, threads)?.params)?;
	let begun = Instant::now();
	for step in 0..steps {
		engine.train_step(&tokens(model, train, step), step.into(), u64::from(step) + 1)?;
	}
	let seconds = begun.elapsed().as_secs_f64() / f64::from(steps.max(1));
	Ok(Measured { seconds, parameters: engine.state_roots()?[0], traffic: [0; 2], spans: 1, bytes: engine.arena_bytes() as u64 })
}

fn out_of_core(
	model: &ModelConfig,
	train: &TrainConfig,
	(steps, threads): (u32, usize),
	memory: u64,
	folder: &Path,
) -> Result<Measured, Box<dyn Error>> {
	let mut engine = match FileEngine::new(model, train, threads, memory, folder) {
		Err(FilesError::OutOfCore(OutOfCoreError::TooSmall { needed, .. })) => FileEngine::new(model, train, threads, needed, folder)?,
		engine => engine?,
	};
	engine.begin(&FiledCheckpoint::genesis(&folder.join("checkpoint"), 0, model, train, threads)?.params)?;
	let (before, begun) = (engine.traffic(), Instant::now());
	for step in 0..steps {
		engine.train_step(&tokens(model, train, step), step.into(), u64::from(step) + 1)?;
	}
	let seconds = begun.elapsed().as_secs_f64() / f64::from(steps.max(1));
	let traffic = [0, 1].map(|way| (engine.traffic()[way] - before[way]) / u64::from(steps.max(1)));
	Ok(Measured { seconds, parameters: engine.parameters_root()?.0, traffic, spans: engine.spans(), bytes: engine.bytes() })
}

/// Most memory that this process had, in KiB.
fn peak() -> Option<u64> {
	let status = std::fs::read_to_string("/proc/self/status").ok()?;
	status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

fn main() -> Result<(), Box<dyn Error>> {
	let given: Vec<String> = std::env::args().skip(1).collect();
	let [folder, layers, steps, threads, rest @ ..] = given.as_slice() else { return Err("FOLDER LAYERS STEPS THREADS".into()) };
	let (model, train) = presets::large();
	let model = ModelConfig { layers: layers.parse()?, ..model };
	let (steps, threads, folder): (u32, usize, _) = (steps.parse()?, threads.parse()?, Path::new(folder));
	if let [memory] = rest {
		let memory: u64 = memory.parse()?;
		let measured = match memory {
			0 => in_memory(&model, &train, steps, threads)?,
			_ => out_of_core(&model, &train, (steps, threads), memory, folder)?,
		};
		let Measured { seconds, parameters, traffic: [read, written], spans, bytes } = measured;
		let root: String = parameters.iter().map(|byte| format!("{byte:02x}")).collect();
		println!("{seconds} {root} {read} {written} {spans} {bytes} {}", peak().unwrap_or_default());
		return Ok(());
	}
	println!("{} parameters, {} tokens a step", model.parameters(), train.tokens_per_step());
	println!("memory of steps  spans  s/step  ratio  MiB read  MiB written  peak MiB");
	let (mut first, mut root) = (None, None);
	for part in std::iter::once(0).chain(PARTS) {
		let (alone, whole) = first.unwrap_or((0.0, 0));
		let output = Command::new(std::env::current_exe()?).args(&given).arg((whole * part / 100).to_string()).output()?;
		let line = String::from_utf8(output.stdout)?;
		let fields: Vec<&str> = line.split_whitespace().collect();
		let [seconds, found, read, written, spans, bytes, peak] = fields.as_slice() else {
			return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
		};
		let (seconds, bytes): (f64, u64) = (seconds.parse()?, bytes.parse()?);
		let mib = |bytes: &str| bytes.parse::<u64>().map(|bytes| bytes >> 20);
		if root.get_or_insert_with(|| found.to_string()) != found {
			return Err("steps out of core gave other parameters than those in memory".into());
		}
		let ratio = if first.is_some() { seconds / alone } else { 1.0 };
		first.get_or_insert((seconds, bytes));
		let (read, written, peak) = (mib(read)?, mib(written)?, peak.parse::<u64>()? >> 10);
		println!("{:>11} MiB  {spans:>5}  {seconds:>6.2}  {ratio:>5.2}  {read:>8}  {written:>11}  {peak:>8}", bytes >> 20);
	}
	Ok(())
}
