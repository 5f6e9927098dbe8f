//! `families FOLDER [TOKENIZER]`: writes a small model with random weights of each family, tied and not, in Hugging Face layout and as GGUF. With a
//! `tokenizer.json`, one model that reads it. `scripts/check-export.sh` holds them against other software.

use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::{init::theta_0, Family, ModelConfig, ParamKind, ParamLayout, RopeScaling, F32};
use neuroshard_training::{
	export::{export, gguf},
	presets,
};
use std::{
	error::Error,
	path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
	let base = PathBuf::from(std::env::args().nth(1).ok_or("families FOLDER")?);
	let tokenizer = match std::env::args().nth(2) {
		None => Tokenizer::bytes(),
		Some(path) => Tokenizer::open(Path::new(&path), None, false)?,
	};
	let (tiny, train) = presets::tiny();
	let plain = ModelConfig { dim: 128, layers: 3, heads: 4, kv_heads: 2, ffn: 256, max_seq: 512, vocab: tokenizer.vocab(), ..tiny };
	let llama3 = RopeScaling::Llama3 { factor: F32::new(8.0), low: F32::new(1.0), high: F32::new(4.0), original: 64 };
	let linear = RopeScaling::Linear { factor: F32::new(2.5) };
	let models = [
		("llama", plain.clone()),
		("llama3", ModelConfig { rope_theta: 500_000, rope_scaling: llama3, ..plain.clone() }),
		("linear", ModelConfig { rope_scaling: linear, head_dim: Some(64), ..plain.clone() }),
		("qwen2", ModelConfig { family: Family::Qwen2, rope_theta: 1_000_000, ..plain.clone() }),
		("qwen3", ModelConfig { family: Family::Qwen3, head_dim: Some(64), rope_theta: 1_000_000, ..plain }),
	];
	let count = if tokenizer.is_bytes() { models.len() } else { 1 };
	for (name, model) in models.into_iter().take(count) {
		for tied in [true, false].into_iter().take(count) {
			let model = ModelConfig { tied, ..model.clone() };
			let layout = ParamLayout::new(&model).map_err(|error| format!("{error:?}"))?;
			let mut params = theta_0(&model, &layout, &train.seed);
			// Larger weights, uneven norms and biases, as after some training.
			params.iter_mut().enumerate().for_each(|(index, value)| *value *= 1.5 + (index % 11) as f32 * 0.05);
			for tensor in layout.tensors().iter().filter(|tensor| tensor.kind == ParamKind::Bias) {
				params[tensor.range()].iter_mut().enumerate().for_each(|(index, value)| *value = (index % 5) as f32 * 0.1 - 0.2);
			}
			let folder = base.join(if tied { format!("{name}-tied") } else { name.to_owned() });
			export(&folder, &model, &tokenizer, &params)?;
			for precision in [gguf::Precision::F32, gguf::Precision::F16, gguf::Precision::Bf16] {
				let file = folder.with_extension(format!("{precision:?}.gguf").to_lowercase());
				gguf::export(&file, name, &model, (&tokenizer, None), &params, precision)?;
			}
			println!("{}", folder.display());
		}
	}
	Ok(())
}
