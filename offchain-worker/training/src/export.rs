//! Exporting parameters as a Hugging Face model of their family, so that other software loads what was trained here.
//!
//! - [`card`]: what is told to people about it. [`gguf`]: the same as one file for llama.cpp. [`peft`]: an adapter.

pub mod card;
pub mod gguf;
pub mod peft;
mod vocabulary;

use neuroshard_atomic_write::write_atomically;
use neuroshard_data::tokenizer::{bytes, Tokenizer};
use neuroshard_graph::{Family, ModelConfig, ParamLayout, RopeScaling};
use safetensors::{
	tensor::{serialize, Dtype, TensorView},
	SafeTensorError,
};
use std::{
	collections::HashMap,
	fs, io,
	path::{Path, PathBuf},
};

/// Why a model cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
	/// A file or folder could not be written.
	#[error("{path}: {source}", path = path.display())]
	Io {
		/// The file.
		path: PathBuf,
		/// Error of the operating system.
		source: io::Error,
	},
	/// Parameters of another model.
	#[error("{found} parameters where the model has {expected}")]
	Parameters {
		/// Of the model.
		expected: usize,
		/// Given.
		found: usize,
	},
	/// The tokenizer is for another vocabulary.
	#[error("the model's vocabulary has {model} tokens, and the tokenizer needs {needed}")]
	Vocabulary {
		/// Of the model.
		model: u32,
		/// Of the tokenizer, rounded up.
		needed: u32,
	},
	/// The file format has no words for the model or its tokenizer.
	#[error("GGUF cannot say this: {0}. A Hugging Face folder can: export without --format")]
	Gguf(String),
	/// A number beyond those of the precision.
	#[error("{tensor} has {value}, which is beyond 16 bits: export with --precision bf16 or f32")]
	Range {
		/// Name of the tensor.
		tensor: String,
		/// The number.
		value: f32,
	},
	/// A tensor of an adapter is of no projection of its model.
	#[error("{0} is of no projection of the model: the layout of adapters is another one than this program exports")]
	Projection(String),
	/// The model is refused.
	#[error("the model is refused: {0:?}")]
	Config(neuroshard_graph::ConfigError),
	/// The safetensors library.
	#[error("safetensors: {0}")]
	Safetensors(#[from] SafeTensorError),
}

/// Writes `model.safetensors` (f32), `config.json`, `generation_config.json`, `tokenizer.json` and
/// `tokenizer_config.json` into `folder`.
///
/// # Errors
/// [`ExportError`]; files that were written before the error stay.
pub fn export(folder: &Path, model: &ModelConfig, tokenizer: &Tokenizer, params: &[f32]) -> Result<(), ExportError> {
	if model.vocab < tokenizer.vocab() {
		return Err(ExportError::Vocabulary { model: model.vocab, needed: tokenizer.vocab() });
	}
	let weights = safetensors(model, params)?;
	let end = tokenizer.tokens().end;
	let (file, begin) = match tokenizer.is_bytes() {
		true => (bytes::exported_tokenizer_json().into_bytes(), Some(end)),
		false => (tokenizer.json().to_vec(), tokenizer.begin()),
	};
	let files = [
		("model.safetensors", weights),
		("config.json", config_json(model, begin, end).into_bytes()),
		("generation_config.json", generation_config_json(begin, end).into_bytes()),
		("tokenizer.json", file),
		("tokenizer_config.json", tokenizer_config_json(tokenizer, begin, model.max_seq).into_bytes()),
	];
	written(folder, files)
}

/// Writes these files into `folder`, which is made if it is not there.
fn written<const N: usize>(folder: &Path, files: [(&str, Vec<u8>); N]) -> Result<(), ExportError> {
	let io = |path: &Path, source| ExportError::Io { path: path.to_path_buf(), source };
	fs::create_dir_all(folder).map_err(|error| io(folder, error))?;
	for (name, bytes) in files {
		let path = folder.join(name);
		write_atomically(&path, &bytes).map_err(|error| io(&path, error))?;
	}
	Ok(())
}

/// The parameters under their Hugging Face names. A tied model has no `lm_head.weight`.
fn safetensors(model: &ModelConfig, params: &[f32]) -> Result<Vec<u8>, ExportError> {
	let layout = ParamLayout::new(model).map_err(ExportError::Config)?;
	if params.len() != layout.len() {
		return Err(ExportError::Parameters { expected: layout.len(), found: params.len() });
	}
	let bytes: Vec<u8> = params.iter().flat_map(|value| value.to_le_bytes()).collect();
	let tensors = layout.tensors().iter().map(|tensor| {
		let shape = match tensor.rows {
			1 => vec![tensor.cols],
			rows => vec![rows, tensor.cols],
		};
		let range = tensor.range();
		Ok((tensor.name.as_str(), TensorView::new(Dtype::F32, shape, &bytes[4 * range.start..4 * range.end])?))
	});
	let tensors = tensors.collect::<Result<Vec<_>, SafeTensorError>>()?;
	// Loaders ask for this key to know which library's tensor names these are.
	let metadata = HashMap::from([("format".to_string(), "pt".to_string())]);
	Ok(serialize(tensors, Some(metadata))?)
}

fn config_json(model: &ModelConfig, begin: Option<u32>, end: u32) -> String {
	let (architecture, model_type) = match model.family {
		Family::Llama => ("LlamaForCausalLM", "llama"),
		Family::Qwen2 => ("Qwen2ForCausalLM", "qwen2"),
		Family::Qwen3 => ("Qwen3ForCausalLM", "qwen3"),
	};
	let number = |value: neuroshard_graph::F32| f64::from(value.get());
	let scaling = match model.rope_scaling {
		RopeScaling::None => serde_json::Value::Null,
		RopeScaling::Linear { factor } => serde_json::json!({ "rope_type": "linear", "factor": number(factor) }),
		RopeScaling::Llama3 { factor, low, high, original } => serde_json::json!({
			"rope_type": "llama3",
			"factor": number(factor),
			"low_freq_factor": number(low),
			"high_freq_factor": number(high),
			"original_max_position_embeddings": original,
		}),
	};
	let document = serde_json::json!({
		"architectures": [architecture],
		"model_type": model_type,
		"torch_dtype": "float32",
		"vocab_size": model.vocab,
		"hidden_size": model.dim,
		"intermediate_size": model.ffn,
		"num_hidden_layers": model.layers,
		"num_attention_heads": model.heads,
		"num_key_value_heads": model.kv_heads,
		"head_dim": model.head_dim(),
		"max_position_embeddings": model.max_seq,
		"rms_norm_eps": number(model.norm_eps),
		"rope_theta": f64::from(model.rope_theta),
		"rope_scaling": scaling,
		"hidden_act": "silu",
		"attention_bias": false,
		"attention_dropout": 0.0,
		"mlp_bias": false,
		"tie_word_embeddings": model.tied,
		"bos_token_id": begin,
		"eos_token_id": end,
		"initializer_range": 0.02,
		"use_cache": true,
	});
	format!("{document:#}\n")
}

fn generation_config_json(begin: Option<u32>, end: u32) -> String {
	format!("{:#}\n", serde_json::json!({ "bos_token_id": begin, "eos_token_id": end, "do_sample": true }))
}

/// `begin` is what stands before a text, if it is one token.
fn tokenizer_config_json(tokenizer: &Tokenizer, begin: Option<u32>, max_seq: u32) -> String {
	let document = serde_json::json!({
		"tokenizer_class": "PreTrainedTokenizerFast",
		"model_max_length": max_seq,
		"add_bos_token": begin.is_some(),
		"bos_token": begin.and_then(|begin| tokenizer.written(begin)),
		"eos_token": tokenizer.written(tokenizer.tokens().end),
		"clean_up_tokenization_spaces": false,
	});
	format!("{document:#}\n")
}
