//! Adapters in folders as PEFT writes them, to answer with beside a model.

use crate::{
	files::{missing, Kind},
	folder::{json_if_there, FolderError},
	identity,
	parameters::{ParametersError, TensorFiles},
};
use neuroshard_compute::exec::{Exec, PackedAdapter};
use neuroshard_graph::{Adapter, ModelConfig, ParamLayout, ParamTensor, Projection, Projections, F32};
use neuroshard_types::H256;
use serde::Deserialize;
use serde_json::Value;
use std::{path::Path, sync::Arc};

const CONFIG: &str = "adapter_config.json";
const WEIGHTS: &str = "adapter_model.safetensors";
/// What PEFT has before the name of a model's tensor.
const PREFIX: &str = "base_model.model.";

/// An adapter that texts can be read beside.
#[derive(Clone, Debug)]
pub struct Adapted {
	/// Name that requests choose it by.
	pub name: String,
	/// Identity of the model with it: a hash of both.
	pub root: H256,
	/// Its matrices.
	pub packed: Arc<PackedAdapter>,
}

/// Fields of `adapter_config.json` that change what is computed. What is not known changes nothing that PEFT computes by default.
#[derive(Deserialize)]
struct Config {
	#[serde(default)]
	peft_type: Value,
	r: u32,
	lora_alpha: f32,
	target_modules: Modules,
	#[serde(default)]
	bias: Value,
	#[serde(flatten)]
	others: serde_json::Map<String, Value>,
}

/// Projections by their names, or a word for all of them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Modules {
	Names(Vec<String>),
	Word(String),
}

/// Fields with which something else is computed, unless they are off: null, false, 0, or empty.
const OFF: [&str; 14] = [
	"alpha_pattern",
	"alora_invocation_tokens",
	"fan_in_fan_out",
	"layer_replication",
	"layers_to_transform",
	"lora_bias",
	"megatron_config",
	"modules_to_save",
	"rank_pattern",
	"target_parameters",
	"trainable_token_indices",
	"use_dora",
	"use_qalora",
	"use_rslora",
];

impl Config {
	/// The adapter, whatever it is beside.
	fn adapter(&self) -> Result<Adapter, FolderError> {
		let refused = |what: String| Err(FolderError::Adapter(what));
		if self.peft_type != "LORA" {
			return refused(format!("its peft_type is {}, and LORA is computed", self.peft_type));
		}
		if !(self.bias.is_null() || self.bias == "none") {
			return refused(format!("it has biases ({})", self.bias));
		}
		let is_on = |value: &Value| match value {
			Value::Null | Value::Bool(false) => false,
			Value::Array(values) => !values.is_empty(),
			Value::Object(values) => !values.is_empty(),
			_ => true,
		};
		if let Some(field) = OFF.into_iter().find(|field| self.others.get(*field).is_some_and(is_on)) {
			return refused(format!("{field} is not computed"));
		}
		let projections = match &self.target_modules {
			Modules::Word(word) if word == "all-linear" => Projections::ALL,
			Modules::Word(word) => return refused(format!("its target_modules are chosen by {word:?}: name them one by one")),
			Modules::Names(names) => {
				// Also one by one, with their layers: that all of these are there is seen by the tensors.
				let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
				let known =
					|name: &String| Projection::ALL.into_iter().find(|projection| last(name).is_some_and(|last| last == projection.name()));
				let unknown = names.iter().find(|name| known(name).is_none());
				if let Some(name) = unknown {
					return refused(format!(
						"{name:?} is among its target_modules, and {} are computed",
						Projection::ALL.map(Projection::name).join(", ")
					));
				}
				names.iter().filter_map(known).collect()
			}
		};
		Ok(Adapter { base: [0; 32], rank: self.r, alpha: F32::new(self.lora_alpha), projections })
	}
}

impl Adapted {
	/// Reads the adapter in `folder`, which belongs to a model of this configuration and identity.
	///
	/// # Errors
	/// [`FolderError`], also for what is not computed: DoRA, other ranks for some layers, embeddings.
	pub fn of_folder(name: String, folder: &Path, model: &ModelConfig, root: H256, exec: &Exec) -> Result<Self, FolderError> {
		let path = folder.join(CONFIG);
		let config: Config = json_if_there(&path)?.ok_or_else(|| missing(&path, Kind::Adapter))?;
		let adapter = config.adapter()?;
		let layout = ParamLayout::of(model, Some(adapter))?;
		let told: Vec<ParamTensor> = layout.tensors().iter().map(as_peft).collect();
		let files = TensorFiles::all_of(&folder.join(WEIGHTS), &told)?;
		let mut params = vec![0.0; layout.len()];
		for [a, b] in told.as_chunks::<2>().0 {
			params[a.range()].copy_from_slice(&files.values(a)?);
			let (values, place) = (files.values(b)?, &mut params[b.range()]);
			// Rows and columns are exchanged in our order.
			for (row, values) in values.chunks_exact(b.cols).enumerate() {
				values.iter().enumerate().for_each(|(rank, value)| place[rank * b.rows + row] = *value);
			}
		}
		let packed = PackedAdapter::new(exec, model, &adapter, &params).map_err(ParametersError::from)?;
		Ok(Self { name, root: H256(identity::beside(root.0, &adapter, &params)), packed: Arc::new(packed) })
	}
}

/// A tensor of an adapter as PEFT names and lays it out.
fn as_peft(tensor: &ParamTensor) -> ParamTensor {
	let ParamTensor { rows, cols, .. } = *tensor;
	match tensor.name.strip_suffix(".lora_B.transposed") {
		Some(name) => ParamTensor { name: format!("{PREFIX}{name}.lora_B.weight"), rows: cols, cols: rows, ..tensor.clone() },
		None => ParamTensor { name: format!("{PREFIX}{}", tensor.name), ..tensor.clone() },
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_compute::exec::{Inference, Pages, Piece, Sequence, Wanted};
	use neuroshard_training::{adapter::merge, checkpoint::Checkpoint, export::peft::export, presets};
	use serde_json::json;
	use std::fs;

	const TEXT: [u32; 12] = [256, 97, 98, 99, 97, 98, 100, 97, 98, 99, 97, 101];

	fn adapter(projections: Projections) -> (ModelConfig, Adapter, Vec<f32>) {
		let model = presets::tiny().0;
		let adapter = Adapter { base: [0; 32], rank: 4, alpha: F32::new(16.0), projections };
		let len = ParamLayout::of(&model, Some(adapter)).unwrap().len();
		(model, adapter, (0..len).map(|at| ((at * 7_919 % 1_013) as f32 / 1_013.0 - 0.5) * 0.2).collect())
	}

	fn read(model: &ModelConfig, folder: &Path) -> Result<Adapted, String> {
		Adapted::of_folder("one".into(), folder, model, H256([1; 32]), &Exec::new(1).unwrap()).map_err(|error| error.to_string())
	}

	/// Logits after the last token.
	fn logits(model: &ModelConfig, params: &[f32], adapter: Option<Arc<PackedAdapter>>) -> Vec<f32> {
		let mut engine = Inference::new(Arc::new(Exec::new(1).unwrap()), model, params).unwrap();
		let mut sequence = Sequence::default().beside(adapter);
		let piece = Piece { sequence: &mut sequence, tokens: &TEXT, wanted: Wanted::Last };
		engine.logits(&Pages::new(4), &mut [piece]).unwrap().to_vec()
	}

	#[test]
	fn what_was_exported_for_peft_is_read_and_answers_as_the_merged_model() {
		let (model, adapter, trained) = adapter([Projection::Q, Projection::O, Projection::Down].into_iter().collect());
		let folder = tempfile::tempdir().unwrap();
		export(folder.path(), &model, &adapter, &trained).unwrap();
		let read = read(&model, folder.path()).unwrap();
		let mut params = Checkpoint::genesis(0, &model, &presets::tiny().1, 1).unwrap().params;
		let (without, beside) = (logits(&model, &params, None), logits(&model, &params, Some(read.packed)));
		merge(&Exec::new(1).unwrap(), &model, &adapter, &trained, &mut params).unwrap();
		let merged = logits(&model, &params, None);
		let apart = |one: &[f32], other: &[f32]| one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
		assert!(apart(&merged, &beside) < 1e-4 && apart(&merged, &without) > 0.01, "{}", apart(&merged, &beside));
	}

	#[test]
	fn another_base_other_numbers_and_another_factor_are_other_models() {
		let (model, adapter, trained) = adapter(Projections::ALL);
		let root = |root: [u8; 32], adapter: Adapter, trained: &[f32]| {
			let folder = tempfile::tempdir().unwrap();
			export(folder.path(), &model, &adapter, trained).unwrap();
			let adapted = Adapted::of_folder("one".into(), folder.path(), &model, H256(root), &Exec::new(1).unwrap());
			adapted.unwrap().root
		};
		let mut other = trained.clone();
		other[3] += 1.0;
		let one = root([1; 32], adapter, &trained);
		assert_eq!(one, root([1; 32], adapter, &trained));
		let others = [
			root([2; 32], adapter, &trained),
			root([1; 32], Adapter { alpha: F32::new(8.0), ..adapter }, &trained),
			root([1; 32], adapter, &other),
		];
		assert!(!others.contains(&one));
	}

	#[test]
	fn an_adapter_that_computes_something_else_is_refused_in_words() {
		let (model, adapter, trained) = adapter(Projections::ALL);
		let folder = tempfile::tempdir().unwrap();
		export(folder.path(), &model, &adapter, &trained).unwrap();
		let path = folder.path().join(CONFIG);
		let config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
		let with = |field: &str, value: Value| {
			let mut config = config.clone();
			config[field] = value;
			fs::write(&path, config.to_string()).unwrap();
			read(&model, folder.path()).map(drop)
		};
		for (field, value) in [
			("peft_type", json!("IA3")),
			("bias", json!("all")),
			("use_dora", json!(true)),
			("use_rslora", json!(true)),
			("rank_pattern", json!({ "q_proj": 2 })),
			("modules_to_save", json!(["lm_head"])),
			("layers_to_transform", json!([0])),
			("target_modules", json!(["q_proj", "embed_tokens"])),
			("target_modules", json!(".*_proj")),
			("r", json!(0)),
			("r", json!(5)),
			("r", json!(100_000)),
			("lora_alpha", json!("much")),
			("target_modules", json!([])),
		] {
			let error = with(field, value.clone()).unwrap_err();
			assert!(error.contains("adapter"), "{field} {value}: {error}");
		}
		// As PEFT writes what is off, and what it does not compute with.
		for (field, value) in [
			("rank_pattern", json!({})),
			("use_dora", Value::Null),
			("lora_dropout", json!(0.1)),
			("target_modules", json!("all-linear")),
			("target_modules", json!(["model.layers.0.mlp.up_proj", "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "down_proj"])),
		] {
			with(field, value).unwrap();
		}
		let error = with("target_modules", json!(["q_proj"])).unwrap_err();
		assert!(error.contains("base_model.model.model.layers.0.") && error.contains("not taken into account"), "{error}");
		fs::write(&path, config.to_string()).unwrap();
		let other = ModelConfig { ffn: model.ffn + 32, ..model.clone() };
		assert!(read(&other, folder.path()).unwrap_err().contains("gate_proj.lora_B.weight"));
		fs::remove_file(folder.path().join(WEIGHTS)).unwrap();
		assert!(read(&model, folder.path()).unwrap_err().contains(WEIGHTS));
	}
}
