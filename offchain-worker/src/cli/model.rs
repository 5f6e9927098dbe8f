//! `model import`.

use super::{export::refuse_occupied, hub::Fetching, CliError, ModelFile};
use clap::{Args, Subcommand};
use neuroshard_inference::{import, Imported, ModelError};
use neuroshard_roles::write_model;
use neuroshard_support::{counted::counted, hardware};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum ModelCommand {
	/// Make a checkpoint of a model in Hugging Face layout, for `train create-run --start`, and print the `model` section of its run file.
	Import(Import),
}

impl ModelCommand {
	pub(super) async fn run(self) -> Result<u8, CliError> {
		match self {
			Self::Import(command) => command.run().await,
		}
	}
}

#[derive(Debug, Args)]
pub(super) struct Import {
	/// Folder of the model: config.json and safetensors, in f32 or in 16 bits; or hf://OWNER/NAME[@REVISION] for one of Hugging Face's hub. Its tokenizer
	/// goes into the dataset.
	#[arg(long, value_name = "DIR")]
	model: PathBuf,
	/// Where the checkpoint goes: a new or empty folder.
	#[arg(long, value_name = "DIR")]
	out: PathBuf,
	/// Write into a folder that is not empty, in place of the checkpoint that is there. Other files stay.
	#[arg(long)]
	force: bool,
}

impl Import {
	async fn run(self) -> Result<u8, CliError> {
		refuse_occupied(&self.out, self.force)?;
		let model = Fetching::default().model(&self.model).await?;
		let imported = import(&model, &self.out, hardware::threads(None)).map_err(ModelError::from)?;
		write_model(&self.out, &imported.model)?;
		println!("checkpoint {:?} in {}: {}", imported.header.root(), self.out.display(), said(&imported));
		println!("{}", section(&imported)?);
		Ok(0)
	}
}

/// Description of what was imported.
fn said(imported: &Imported) -> String {
	let Imported { header: _, model, added_rows } = imported;
	let parameters = model.parameters();
	let rows = match added_rows {
		0 => String::new(),
		added => format!(
			"; the vocabulary of {} is rounded up to {}, with {} of zeros",
			model.vocab.saturating_sub(*added),
			model.vocab,
			counted(*added, "row")
		),
	};
	format!("{parameters} parameters in f32, momentum of zeros{rows}. Build its dataset with --vocab {}", model.vocab)
}

/// The `model` section of a run file.
fn section(imported: &Imported) -> Result<String, CliError> {
	let file = ModelFile { vocab: Some(imported.model.vocab), ..ModelFile::of(&imported.model) };
	let json = serde_json::to_string_pretty(&file).map_err(|error| CliError::Invalid(error.to_string()))?;
	Ok(format!("\"model\": {json}"))
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_graph::{Family, ModelConfig, RopeScaling, F32};
	use neuroshard_training::{checkpoint::Header, presets};
	use neuroshard_types::H256;

	#[test]
	fn the_section_of_the_run_file_is_that_of_the_model_and_added_rows_are_said() {
		let rope_scaling = RopeScaling::Llama3 { factor: F32::new(8.0), low: F32::new(1.0), high: F32::new(4.0), original: 64 };
		let model = ModelConfig { family: Family::Qwen3, head_dim: Some(64), rope_scaling, ..presets::tiny().0 };
		let header = Header::first(H256::zero(), H256::zero());
		let imported = Imported { header, model: model.clone(), added_rows: 2 };
		let text = section(&imported).unwrap();
		let file: ModelFile = serde_json::from_str(text.strip_prefix("\"model\": ").unwrap()).unwrap();
		assert_eq!((file.vocab, file.config(32)), (Some(288), model));
		let words = said(&imported);
		assert!(words.contains("vocabulary of 286 is rounded up to 288, with 2 rows of zeros") && words.contains("--vocab 288"), "{words}");
		assert!(!said(&Imported { added_rows: 0, ..imported }).contains("rounded"));
	}
}
