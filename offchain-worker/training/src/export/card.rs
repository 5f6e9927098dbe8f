//! The model card: what a person reads who gets a model, and how its training is checked.

use super::ExportError;
use crate::checkpoint::Header;
use neuroshard_atomic_write::write_atomically;
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::{config::ARITHMETIC_VERSION, Adapter, ModelConfig};
use neuroshard_types::H256;
use std::{fs, path::Path};

/// What was exported.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Exported<'a> {
	/// The model that was trained.
	Model,
	/// An adapter, for PEFT.
	Adapter(&'a Adapter),
	/// The model that an adapter was trained beside, with that in it.
	Merged(&'a Adapter),
}

impl Exported<'_> {
	/// Software that loads it, by its name on the hub.
	fn library(self) -> &'static str {
		match self {
			Self::Model | Self::Merged(_) => "transformers",
			Self::Adapter(_) => "peft",
		}
	}

	/// What it is, with the model that it needs or needed.
	fn what(self, model: &ModelConfig) -> String {
		let (family, parameters) = (model.family, model.parameters());
		let beside = |adapter: &Adapter| {
			format!(
				"{} parameters of rank {} beside the {family:?} model of {parameters} parameters whose root is `{:?}`",
				adapter.parameters(model),
				adapter.rank,
				H256(adapter.base)
			)
		};
		match self {
			Self::Model => format!("A {family:?} model with {parameters} parameters, trained"),
			Self::Adapter(adapter) => format!("A LoRA adapter with {}, trained", beside(adapter)),
			Self::Merged(adapter) => {
				format!("A model with a LoRA adapter merged into it. The adapter has {}. It was trained", beside(adapter))
			}
		}
	}

	/// File that a worker of the run writes with the same bytes, and the option that it does that with.
	fn again(self) -> (&'static str, &'static str) {
		match self {
			Self::Model => ("model.safetensors", ""),
			Self::Adapter(_) => ("adapter_model.safetensors", ""),
			Self::Merged(_) => ("model.safetensors", " --merged"),
		}
	}
}

/// Writes `README.md` into `folder`: the card of the checkpoint that was exported there as it is told.
///
/// # Errors
/// [`ExportError::Io`].
pub fn write(folder: &Path, exported: Exported, model: &ModelConfig, tokenizer: &Tokenizer, header: &Header) -> Result<(), ExportError> {
	let path = folder.join("README.md");
	let written = fs::create_dir_all(folder).and_then(|()| write_atomically(&path, text(exported, model, tokenizer, header).as_bytes()));
	written.map_err(|source| ExportError::Io { path, source })
}

fn text(exported: Exported, model: &ModelConfig, tokenizer: &Tokenizer, header: &Header) -> String {
	let Header { run, round, adopted_steps, params, momentum } = header;
	let root = header.root();
	let words = if tokenizer.is_bytes() { "bytes".to_owned() } else { format!("{:?}", tokenizer.id().root) };
	let (library, what, (file, option)) = (exported.library(), exported.what(model), exported.again());
	format!(
		"---
library_name: {library}
pipeline_tag: text-generation
tags: [neuroshard]
---

# run-{run}, round {round}

{what} by strangers in a run of a NeuroShard chain. Everybody can compute the
training again, bit for bit.

| | |
| --- | --- |
| run | {run} |
| round that starts from this checkpoint | {round} |
| inner steps | {adopted_steps} |
| checkpoint root | `{root:?}` |
| parameters' root | `{params:?}` |
| outer momentum's root | `{momentum:?}` |
| tokenizer's root | `{words}` |
| arithmetic | version {ARITHMETIC_VERSION}, f32 |

The dataset, its root and the configuration are on chain:

```sh
neuroshard-worker status --run {run}
```

## Check it

The chain names the checkpoint root above for this round. With the dataset, compute the run again from the chain's blocks, and
compare each round with what the chain says:

```sh
neuroshard-worker replay --run {run} --dataset DATASET --rounds {round}
```

A worker of the run exports the same bytes of `{file}`:

```sh
neuroshard-worker run --serve-only --run {run}
neuroshard-worker export --run {run} --out again{option}
```

Other software sums in another order than the training did: its logits differ in the last digits.
"
	)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::presets;
	use neuroshard_graph::{Projections, F32};

	#[test]
	fn a_card_names_run_round_roots_and_how_they_are_checked() {
		let header = Header { run: 7, round: 3, adopted_steps: 600, params: H256([1; 32]), momentum: H256([2; 32]) };
		let folder = tempfile::tempdir().unwrap();
		write(folder.path(), Exported::Model, &presets::tiny().0, &Tokenizer::bytes(), &header).unwrap();
		let card = fs::read_to_string(folder.path().join("README.md")).unwrap();
		for words in [
			"# run-7, round 3",
			"| inner steps | 600 |",
			&format!("| checkpoint root | `{:?}` |", header.root()),
			&format!("| parameters' root | `0x{}` |", "01".repeat(32)),
			"neuroshard-worker replay --run 7 --dataset DATASET --rounds 3",
		] {
			assert!(card.contains(words), "{words} is not in {card}");
		}
	}

	#[test]
	fn a_card_of_an_adapter_names_the_model_it_is_beside_and_so_does_that_of_both_merged() {
		let model = presets::tiny().0;
		let header = Header { run: 7, round: 3, adopted_steps: 600, params: H256([1; 32]), momentum: H256([2; 32]) };
		let adapter = Adapter { base: [5; 32], rank: 8, alpha: F32::new(16.0), projections: Projections::ALL };
		let text = |exported| text(exported, &model, &Tokenizer::bytes(), &header);
		let [alone, merged] = [text(Exported::Adapter(&adapter)), text(Exported::Merged(&adapter))];
		for card in [&alone, &merged] {
			assert!(card.contains(&format!(
				"parameters of rank 8 beside the Llama model of 104768 parameters whose root is `0x{}`",
				"05".repeat(32)
			)));
		}
		assert!(alone.contains("library_name: peft") && alone.contains("`adapter_model.safetensors`") && alone.contains("--out again\n"));
		assert!(merged.contains("library_name: transformers") && merged.contains("--out again --merged\n"));
	}
}
