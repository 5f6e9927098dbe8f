//! What keeping inner states for disputes costs training: rounds of a preset, in turns without and with it.
//!
//! `cargo run --release -p neuroshard-worker --example kept_states [-- tiny|devnet|large [ROUNDS [THREADS]]]`

use neuroshard_data::loader::Loader;
use neuroshard_graph::corpus::TokenWidth;
use neuroshard_store::Store;
use neuroshard_training::{checkpoint::Checkpoint, engine::Engine, keeper::Keeper, kept::OwnRound, presets, round::Training};
use neuroshard_types::{assignment::Draw, dataset::DatasetShape, H256};
use std::{error::Error, sync::atomic::AtomicBool, time::Instant};

/// Bytes that the store may take: the default of `run --max-disk`.
const LIMIT: u64 = 50 << 30;

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments = std::env::args().skip(1);
	let preset = arguments.next().unwrap_or_else(|| "tiny".into());
	let rounds: u32 = arguments.next().map_or(Ok(5), |rounds| rounds.parse())?;
	let threads: usize = arguments.next().map_or(Ok(2), |threads| threads.parse())?;
	let (model, train) = match preset.as_str() {
		"tiny" => presets::tiny(),
		"devnet" => presets::devnet(),
		"large" => presets::large(),
		other => return Err(format!("{other} is no preset").into()),
	};
	let folder = tempfile::tempdir()?;
	let shape = DatasetShape { tokens_per_shard: 1 << 20, shard_count: 3, held_out: 1 };
	std::fs::create_dir(folder.path().join("shards"))?;
	for shard in 0..shape.shard_count {
		let tokens = (0..shape.tokens_per_shard).map(|token| (token.wrapping_mul(7_919) ^ shard.wrapping_mul(31)) % model.vocab);
		let bytes: Vec<u8> = tokens.flat_map(|token| (token as u16).to_le_bytes()).collect();
		std::fs::write(neuroshard_data::dataset::shard_path(folder.path(), shard), bytes)?;
	}
	let loader = Loader::new(folder.path(), shape, TokenWidth::of(model.vocab, train.masked))?;
	let store = Store::open(&folder.path().join("store"), LIMIT)?;
	let keeper = Keeper::start(store.clone())?;
	let mut engine = Engine::new(&model, &train, threads)?;
	let checkpoint = Checkpoint::genesis(0, &model, &train, threads)?;
	let (seed, elements) = (H256::repeat_byte(1), engine.layout().len());
	println!("{elements} parameters, {} inner steps, a state every {}, {threads} threads", train.inner_steps, train.commit_interval);

	let (going, mut seconds) = (AtomicBool::new(false), [Vec::new(), Vec::new()]);
	for round in 0..2 * rounds {
		let keeping = usize::from(round % 2 == 1);
		let training = Training::start(&mut engine, &checkpoint, &loader, 0, Draw::of_all(seed))?;
		let begun = Instant::now();
		match keeping {
			0 => training.run(&AtomicBool::new(false), |_| {})?,
			_ => {
				let keep = keeper.of(OwnRound { run: 0, round, seed }, &train, elements, &going);
				training.run_keeping(None, &going, |_| {}, keep)?
			}
		};
		seconds[keeping].push(begun.elapsed().as_secs_f64());
	}
	let [without, with] = seconds.map(|mut seconds| {
		seconds.sort_by(f64::total_cmp);
		f64::from(train.inner_steps) / seconds[seconds.len() / 2]
	});
	let states = store.spares("").len();
	println!("median: {without:.2} steps/s without, {with:.2} with it: {:+.1}%", (with / without - 1.0) * 100.0);
	println!("{states} states of {rounds} rounds are kept, {} MiB", store.usage().bytes >> 20);
	Ok(())
}
