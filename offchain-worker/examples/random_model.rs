//! Writes a model with random weights in Hugging Face layout, for benchmarks of serving: `random_model FOLDER 13.8M|110M`.

use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_training::{checkpoint::Checkpoint, export::export, presets};
use std::{path::PathBuf, process::ExitCode};

fn main() -> ExitCode {
	let mut arguments = std::env::args().skip(1);
	let (Some(folder), Some(size)) = (arguments.next(), arguments.next()) else {
		eprintln!("usage: random_model FOLDER 13.8M|110M");
		return ExitCode::from(2);
	};
	let (mut model, train) = presets::large();
	model.max_seq = 1_024;
	if size != "13.8M" {
		(model.dim, model.layers, model.heads, model.kv_heads, model.ffn) = (768, 14, 12, 12, 2_304);
	}
	let written = Checkpoint::genesis(0, &model, &train, 2).map_err(|error| error.to_string()).and_then(|mut checkpoint| {
		// Larger than at the beginning of a training: otherwise all tokens are about equally likely.
		checkpoint.params.iter_mut().for_each(|value| *value *= 2.0);
		export(&PathBuf::from(folder), &model, &Tokenizer::bytes(), &checkpoint.params).map_err(|error| error.to_string())?;
		println!("{}", checkpoint.params.len());
		Ok(())
	});
	match written {
		Ok(()) => ExitCode::SUCCESS,
		Err(error) => {
			eprintln!("error: {error}");
			ExitCode::FAILURE
		}
	}
}
