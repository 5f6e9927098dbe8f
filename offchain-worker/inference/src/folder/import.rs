//! Import of a folder as a checkpoint that a run starts from.

use super::{config::Config, json_if_there, FolderError};
use crate::{
	files::{missing, Kind},
	parameters::{ParametersError, TensorFiles},
};
use neuroshard_graph::{ModelConfig, ParamKind, ParamLayout, ParamTensor};
use neuroshard_training::checkpoint::{Checkpoint, Header};
use std::path::Path;

/// A model that was imported.
#[derive(Clone, PartialEq, Debug)]
pub struct Imported {
	/// Header of the checkpoint.
	pub header: Header,
	/// Its model.
	pub model: ModelConfig,
	/// Rows of zeros at the end of the embedding, and of an output head of its own, which the folder does not have: a vocabulary is a multiple of 32.
	pub added_rows: u32,
}

/// Writes the model in `folder` into `out`, as a checkpoint of round 0: parameters in f32, which holds each weight in 16 bits, and momentum of zeros. No more than
/// one tensor is in memory. The tokenizer is the dataset's.
///
/// # Errors
/// [`FolderError`]: what is not served is not trained either.
pub fn import(folder: &Path, out: &Path, threads: usize) -> Result<Imported, FolderError> {
	let path = folder.join("config.json");
	let config: Config = json_if_there(&path)?.ok_or_else(|| missing(&path, Kind::Config))?;
	let (model, added_rows) = config.rounded()?;
	let layout = ParamLayout::new(&model)?;
	let added = usize::try_from(added_rows).unwrap_or(usize::MAX);
	let told: Vec<ParamTensor> = layout.tensors().iter().map(|tensor| without_rows(tensor, added)).collect();
	let files = TensorFiles::open(folder, &told)?;
	let header = Checkpoint::write_first(out, &layout, threads, |index, tensor| {
		let mut values = files.values(&told[index])?;
		values.resize(tensor.len(), 0.0);
		Ok::<_, ParametersError>(values)
	})?;
	Ok(Imported { header, model, added_rows })
}

/// A tensor as the folder has it, without the rows that are added to those of the vocabulary.
fn without_rows(tensor: &ParamTensor, added: usize) -> ParamTensor {
	let of_vocabulary = matches!(tensor.kind, ParamKind::Embedding | ParamKind::Head);
	ParamTensor { rows: if of_vocabulary { tensor.rows.saturating_sub(added) } else { tensor.rows }, ..tensor.clone() }
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_data::tokenizer::Tokenizer;
	use neuroshard_graph::{Family, RopeScaling, F32};
	use neuroshard_training::{export::export, presets};
	use safetensors::{tensor::TensorView, Dtype};
	use serde_json::{json, Value};
	use std::{fs, iter::repeat_n};

	/// A folder with a model.
	fn exported(model: &ModelConfig) -> (tempfile::TempDir, Checkpoint) {
		let checkpoint = Checkpoint::genesis(0, model, &presets::tiny().1, 1).unwrap();
		let folder = tempfile::tempdir().unwrap();
		export(folder.path(), model, &Tokenizer::bytes(), &checkpoint.params).unwrap();
		(folder, checkpoint)
	}

	#[test]
	fn an_exported_model_of_every_family_is_imported_under_the_root_that_it_had() {
		let (tiny, _) = presets::tiny();
		let llama3 = RopeScaling::Llama3 { factor: F32::new(8.0), low: F32::new(1.0), high: F32::new(4.0), original: 64 };
		for model in [
			tiny.clone(),
			ModelConfig { tied: !tiny.tied, rope_scaling: llama3, ..tiny.clone() },
			ModelConfig { family: Family::Qwen2, ..tiny.clone() },
			ModelConfig { family: Family::Qwen3, head_dim: Some(64), ..tiny.clone() },
		] {
			let (folder, checkpoint) = exported(&model);
			let out = tempfile::tempdir().unwrap();
			let imported = import(folder.path(), out.path(), 2).unwrap();
			assert_eq!(imported, Imported { header: checkpoint.header, model: model.clone(), added_rows: 0 });
			let read = Checkpoint::load(out.path(), &ParamLayout::new(&model).unwrap(), 1).unwrap();
			assert_eq!(read, Some(checkpoint));
			// No tokenizer is needed.
			fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
			assert_eq!(import(folder.path(), out.path(), 1).unwrap(), imported);
		}
	}

	/// Rewrites the weights of a folder as two files of 16 bits, with so many rows less in embedding and head; as f32 they are then these, with zeros for those.
	fn cut_and_split(folder: &Path, model: &ModelConfig, params: &[f32], rows: usize) -> Vec<f32> {
		let layout = ParamLayout::new(model).unwrap();
		let (mut expected, mut tensors, mut map) = (Vec::new(), [Vec::new(), Vec::new()], serde_json::Map::new());
		for (index, tensor) in layout.tensors().iter().enumerate() {
			let told = without_rows(tensor, rows);
			let high = |value: &f32| u16::try_from(value.to_bits() >> 16).unwrap();
			let halves: Vec<u16> = params[told.range()].iter().map(high).collect();
			expected.extend(halves.iter().map(|half| f32::from_bits(u32::from(*half) << 16)));
			expected.extend(repeat_n(0.0, tensor.len() - told.len()));
			let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
			let shape = if told.rows == 1 { vec![told.cols] } else { vec![told.rows, told.cols] };
			tensors[index % 2].push((told.name.clone(), shape, bytes));
			map.insert(told.name, format!("part-{}.safetensors", index % 2).into());
		}
		for (part, tensors) in tensors.iter().enumerate() {
			let views = tensors.iter().map(|(name, shape, bytes)| (name, TensorView::new(Dtype::BF16, shape.clone(), bytes).unwrap()));
			fs::write(folder.join(format!("part-{part}.safetensors")), safetensors::serialize(views, None).unwrap()).unwrap();
		}
		fs::remove_file(folder.join("model.safetensors")).unwrap();
		fs::write(folder.join("model.safetensors.index.json"), json!({ "weight_map": map }).to_string()).unwrap();
		set(folder, "vocab_size", (layout.tensors()[0].rows - rows).into());
		expected
	}

	/// Changes a field of `config.json`.
	fn set(folder: &Path, field: &str, value: Value) {
		let path = folder.join("config.json");
		let mut config: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
		config[field] = value;
		fs::write(path, config.to_string()).unwrap();
	}

	#[test]
	fn weights_of_16_bits_in_several_files_are_widened_and_a_vocabulary_is_rounded_up_with_rows_of_zeros() {
		let model = ModelConfig { tied: false, ..presets::tiny().0 };
		let ((folder, checkpoint), out) = (exported(&model), tempfile::tempdir().unwrap());
		let expected = cut_and_split(folder.path(), &model, &checkpoint.params, 30);
		let imported = import(folder.path(), out.path(), 2).unwrap();
		assert_eq!((&imported.model, imported.added_rows), (&model, 30));
		let read = Checkpoint::load(out.path(), &ParamLayout::new(&model).unwrap(), 1).unwrap().unwrap();
		assert_eq!((read.header, read.params), (imported.header, expected));
		assert!(read.momentum.iter().all(|value| *value == 0.0));
	}

	#[test]
	fn what_is_no_model_or_is_not_served_is_refused_in_words_and_leaves_no_checkpoint() {
		let (model, _) = presets::tiny();
		let refused = |spoil: &dyn Fn(&Path), words: &str| {
			let ((folder, _), out) = (exported(&model), tempfile::tempdir().unwrap());
			spoil(folder.path());
			let error = import(folder.path(), out.path(), 1).unwrap_err().to_string();
			assert!(error.contains(words), "{error}");
			assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0, "{words}");
		};
		let weights = |folder: &Path| folder.join("model.safetensors");
		let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
		refused(&|folder| fs::write(weights(folder), pointer).unwrap(), "git lfs pull");
		refused(&|folder| fs::rename(weights(folder), folder.join("pytorch_model.bin")).unwrap(), "save_pretrained");
		refused(&|folder| fs::remove_file(folder.join("config.json")).unwrap(), "config.json");
		refused(&|folder| set(folder, "model_type", "gpt2".into()), "its type is gpt2");
		refused(&|folder| set(folder, "rope_scaling", json!({ "type": "yarn", "factor": 4 })), "rope_scaling: yarn");
		// Claims that no file keeps: nothing of that size is allocated.
		refused(&|folder| set(folder, "vocab_size", 1_000_000.into()), "has no tensor model.embed_tokens.weight");
		refused(&|folder| set(folder, "num_hidden_layers", 100.into()), "has no tensor model.layers.2.");
		refused(&|folder| set(folder, "hidden_size", 4_294_967_264u32.into()), "not served");
		refused(&|folder| set(folder, "vocab_size", u32::MAX.into()), "not served");
		let cut = |folder: &Path| {
			let bytes = fs::read(weights(folder)).unwrap();
			fs::write(weights(folder), &bytes[..bytes.len() - 4]).unwrap();
		};
		refused(&cut, "ends before its tensors do");
		let long = |folder: &Path| {
			let mut bytes = fs::read(weights(folder)).unwrap();
			bytes[..8].copy_from_slice(&(1u64 << 60).to_le_bytes());
			fs::write(weights(folder), bytes).unwrap();
		};
		refused(&long, "its header would have");
		let overlap = |folder: &Path| {
			let header = json!({
				"model.embed_tokens.weight": { "dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16] },
				"model.norm.weight": { "dtype": "F32", "shape": [2, 2], "data_offsets": [8, 24] },
			});
			let (header, length) = (header.to_string(), u64::try_from(header.to_string().len()).unwrap());
			fs::write(weights(folder), [&length.to_le_bytes()[..], header.as_bytes(), &[0; 24]].concat()).unwrap();
		};
		refused(&overlap, "no whole safetensors file");
		let infinite = |folder: &Path| {
			let mut bytes = fs::read(weights(folder)).unwrap();
			let at = bytes.len() - 4;
			bytes[at..].copy_from_slice(&f32::INFINITY.to_le_bytes());
			fs::write(weights(folder), bytes).unwrap();
		};
		refused(&infinite, "infinite, or no number");
	}
}
