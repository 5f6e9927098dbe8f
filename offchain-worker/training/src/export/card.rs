//! The model card: what a person reads who gets a model, and how its training is checked.

use super::ExportError;
use crate::checkpoint::Header;
use neuroshard_atomic_write::write_atomically;
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::{config::ARITHMETIC_VERSION, ModelConfig};
use std::{fs, path::Path};

/// Writes `README.md` into `folder`: the card of the checkpoint that was exported there.
///
/// # Errors
/// [`ExportError::Io`].
pub fn write(folder: &Path, model: &ModelConfig, tokenizer: &Tokenizer, header: &Header) -> Result<(), ExportError> {
	let path = folder.join("README.md");
	let written = fs::create_dir_all(folder).and_then(|()| write_atomically(&path, text(model, tokenizer, header).as_bytes()));
	written.map_err(|source| ExportError::Io { path, source })
}

fn text(model: &ModelConfig, tokenizer: &Tokenizer, header: &Header) -> String {
	let Header { run, round, adopted_steps, params, momentum } = header;
	let root = header.root();
	let library = if tokenizer.is_bytes() { "bytes".to_owned() } else { format!("{:?}", tokenizer.id().root) };
	let family = format!("{:?}", model.family);
	format!(
		"---
library_name: transformers
pipeline_tag: text-generation
tags: [neuroshard]
---

# run-{run}, round {round}

A {family} model with {parameters} parameters, trained by strangers in a run of a NeuroShard chain. Everybody can compute the
training again, bit for bit.

| | |
| --- | --- |
| run | {run} |
| round that starts from this checkpoint | {round} |
| inner steps | {adopted_steps} |
| checkpoint root | `{root:?}` |
| parameters' root | `{params:?}` |
| outer momentum's root | `{momentum:?}` |
| tokenizer's root | `{library}` |
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

A worker of the run exports the same bytes of `model.safetensors`:

```sh
neuroshard-worker run --serve-only --run {run}
neuroshard-worker export --run {run} --out again
```

Other software sums in another order than the training did: its logits differ in the last digits.
",
		parameters = model.parameters(),
	)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::presets;
	use neuroshard_types::H256;

	#[test]
	fn a_card_names_run_round_roots_and_how_they_are_checked() {
		let header = Header { run: 7, round: 3, adopted_steps: 600, params: H256([1; 32]), momentum: H256([2; 32]) };
		let folder = tempfile::tempdir().unwrap();
		write(folder.path(), &presets::tiny().0, &Tokenizer::bytes(), &header).unwrap();
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
}
