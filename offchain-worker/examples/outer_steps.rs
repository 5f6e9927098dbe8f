//! What outer and inner step do to training: the validation loss after some rounds of a preset's run on a dataset, for outer rates and momenta, inner learning rates, and AdamW
//! or Muon.
//!
//! `cargo run --release -p neuroshard-worker --example outer_steps -- DATASET tiny|devnet[,int8] ROUNDS SEEDS OUTER..`, with a dataset of `neuroshard-worker dataset build`. ROUNDS, as in
//! `4,8`, are those after which the loss is told; SEEDS, as in `0,1,2`, draw the first parameters and the windows. OUTER is rate and momentum, as in `0.7,0.9`; behind them may stand
//! the learning rate of inner steps, constant after the warm-up, and then Muon's momentum, as in `0.7,0.9,3e-3,0.95`. The preset's rule combines the deltas of three workers. With `int8` the products of its layers are those of exact int8. All outer
//! steps see the same windows. One thread.

use neuroshard_data::{loader::Loader, manifest::DatasetManifest};
use neuroshard_training::{
	checkpoint::{decode_delta, Checkpoint},
	engine::Engine,
	outer::{apply_outer, attest, Included},
	presets,
	round::Training,
};
use neuroshard_types::{assignment::Draw, Optimizer, Products, TrainConfig, F32, H256};
use std::{error::Error, path::PathBuf, str::FromStr, sync::atomic::AtomicBool};

/// Workers of a round, as in a devnet.
const WORKERS: u32 = 3;

/// Numbers with commas between them.
fn numbers<T: FromStr>(text: &str) -> Result<Vec<T>, T::Err> {
	text.split(',').map(str::parse).collect()
}

/// The deltas of all workers in the round that starts from `checkpoint`.
fn deltas(engine: &mut Engine, checkpoint: &Checkpoint, loader: &Loader, seed: u8) -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
	let mut bytes = [seed; 32];
	bytes[..4].copy_from_slice(&checkpoint.header.round.to_le_bytes());
	let mut deltas = Vec::new();
	for position in 0..WORKERS {
		let training = Training::start(engine, checkpoint, loader, position, Draw::of_all(H256(bytes)))?;
		let trained = training.run(&AtomicBool::new(false), |_| {})?;
		deltas.push(decode_delta(engine, &trained.delta, trained.work.delta_root)?);
	}
	Ok(deltas)
}

fn main() -> Result<(), Box<dyn Error>> {
	let arguments: Vec<String> = std::env::args().skip(1).collect();
	let [dataset, preset, rounds, seeds, outer @ ..] = arguments.as_slice() else {
		return Err("usage: outer_steps DATASET tiny|devnet[,int8] ROUNDS SEEDS RATE,MOMENTUM[,LEARNING RATE[,MOMENTUM OF MUON]]..".into());
	};
	let (preset, products) = match preset.split_once(',') {
		None => (preset.as_str(), Products::F32),
		Some((preset, "int8")) => (preset, Products::Int8),
		Some((_, other)) => return Err(format!("products are int8, not {other}").into()),
	};
	let (model, train) = match preset {
		"tiny" => presets::tiny(),
		"devnet" => presets::devnet(),
		other => return Err(format!("{other} is no preset").into()),
	};
	let train = TrainConfig { products, ..train };
	let (folder, told) = (PathBuf::from(dataset), numbers::<u32>(rounds)?);
	let manifest = DatasetManifest::read(&folder)?;
	let loader = Loader::new(&folder, manifest.shape, manifest.width())?;
	for seed in numbers::<u8>(seeds)? {
		for outer in outer {
			let given = numbers::<f32>(outer)?;
			let [rate, momentum, inner @ ..] = given.as_slice() else {
				return Err("an outer step is RATE,MOMENTUM[,LEARNING RATE[,MOMENTUM OF MUON]]".into());
			};
			let mut train = TrainConfig { seed: [seed; 32], outer_lr: F32::new(*rate), outer_beta: F32::new(*momentum), ..train.clone() };
			if let Some(&lr) = inner.first() {
				(train.lr, train.lr_min, train.total_steps) = (F32::new(lr), F32::new(lr), 0);
			}
			if let Some(&momentum) = inner.get(1) {
				train.optimizer = Optimizer::Muon { momentum: F32::new(momentum) };
			}
			let mut engine = Engine::new(&model, &train, 1)?;
			let mut checkpoint = Checkpoint::genesis(0, &model, &train, 1)?;
			print!("seed {seed}, outer step {outer}:");
			for round in 1..=told.iter().copied().max().unwrap_or(0) {
				let included = Included::from(deltas(&mut engine, &checkpoint, &loader, seed)?);
				checkpoint = apply_outer(&engine, &checkpoint, &included)?;
				if told.contains(&round) {
					print!(" {:.4}", attest(&mut engine, &checkpoint, &loader)?.validation_loss.get());
					std::io::Write::flush(&mut std::io::stdout())?;
				}
			}
			println!();
		}
	}
	Ok(())
}
