//! Models in Hugging Face folders of the Llama family: `config.json`, safetensors, `tokenizer.json`.

use super::text::{Text, TextError};
use neuroshard_graph::{ConfigError, ModelConfig, ParamLayout, F32};
use safetensors::{tensor::TensorView, Dtype, SafeTensorError, SafeTensors};
use serde::Deserialize;
use std::{
	collections::{BTreeMap, BTreeSet},
	fs,
	path::{Path, PathBuf},
};

/// Why a folder has no model.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
	/// A file cannot be read.
	#[error("cannot read {path}: {source}", path = path.display())]
	File {
		/// Which one.
		path: PathBuf,
		/// What the system said.
		source: std::io::Error,
	},
	/// A file is no JSON of the kind that it must be.
	#[error("{path} is not understood: {source}", path = path.display())]
	Json {
		/// Which one.
		path: PathBuf,
		/// Why.
		source: serde_json::Error,
	},
	/// The model computes something that this engine does not.
	#[error("this model is not served: {0}")]
	Unsupported(String),
	/// The shape is refused.
	#[error("this model is not served: {0}")]
	Config(#[from] ConfigError),
	/// The weights.
	#[error("{path}: {source}", path = path.display())]
	Weights {
		/// Which file.
		path: PathBuf,
		/// Why.
		source: SafeTensorError,
	},
	/// A tensor that the model needs.
	#[error("the weights have no tensor {0} of the shape that config.json says")]
	Tensor(String),
	/// The tokenizer.
	#[error(transparent)]
	Text(#[from] TextError),
}

/// A model as it lies in a folder.
pub struct Folder {
	/// Shape.
	pub config: ModelConfig,
	/// Parameters in the order of [`ParamLayout`].
	pub params: Vec<f32>,
	/// Tokenizer.
	pub text: Text,
	/// Template that makes a prompt of a chat, in Jinja's language.
	pub template: Option<String>,
	/// Text of the token that begins a text, as templates name it.
	pub begin: String,
	/// Text of the token that ends one.
	pub end: String,
}

/// What of `config.json` matters.
#[derive(Deserialize)]
struct Config {
	model_type: String,
	vocab_size: u32,
	hidden_size: u32,
	intermediate_size: u32,
	num_hidden_layers: u32,
	num_attention_heads: u32,
	num_key_value_heads: Option<u32>,
	head_dim: Option<u32>,
	max_position_embeddings: u32,
	rms_norm_eps: f64,
	rope_theta: Option<f64>,
	rope_scaling: Option<serde_json::Value>,
	rope_parameters: Option<Rope>,
	#[serde(default = "silu")]
	hidden_act: String,
	#[serde(default)]
	attention_bias: bool,
	#[serde(default)]
	mlp_bias: bool,
	#[serde(default)]
	tie_word_embeddings: bool,
	bos_token_id: Option<u32>,
	eos_token_id: Option<Tokens>,
}

/// Where newer files say what positions are.
#[derive(Deserialize)]
struct Rope {
	rope_type: Option<String>,
	rope_theta: Option<f64>,
}

fn silu() -> String {
	"silu".into()
}

/// One token, or several.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Tokens {
	One(u32),
	Many(Vec<u32>),
}

impl Tokens {
	fn all(self) -> Vec<u32> {
		match self {
			Self::One(token) => vec![token],
			Self::Many(tokens) => tokens,
		}
	}
}

/// What of `generation_config.json` matters.
#[derive(Default, Deserialize)]
struct Generation {
	eos_token_id: Option<Tokens>,
}

/// What of `tokenizer_config.json` matters.
#[derive(Default, Deserialize)]
struct Tokenizing {
	#[serde(default)]
	add_bos_token: bool,
	chat_template: Option<serde_json::Value>,
	bos_token: Option<Special>,
	eos_token: Option<Special>,
}

/// A special token: its text, alone or with what else is said of it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Special {
	Text(String),
	Described { content: String },
}

impl Special {
	fn text(self) -> String {
		match self {
			Self::Text(text) | Self::Described { content: text } => text,
		}
	}
}

/// What of `model.safetensors.index.json` matters.
#[derive(Deserialize)]
struct Index {
	weight_map: BTreeMap<String, String>,
}

impl Config {
	fn model(&self) -> Result<ModelConfig, FolderError> {
		let refused = |words: String| Err(FolderError::Unsupported(words));
		let heads = self.num_attention_heads;
		if self.model_type != "llama" {
			return refused(format!("its type is {}, and only those of type llama are", self.model_type));
		}
		if self.hidden_act != "silu" || self.attention_bias || self.mlp_bias {
			return refused("it has biases, or another activation than SiLU".into());
		}
		let scaled = self.rope_parameters.as_ref().and_then(|rope| rope.rope_type.as_deref()).is_some_and(|kind| kind != "default");
		if scaled || self.rope_scaling.as_ref().is_some_and(|scaling| !scaling.is_null()) {
			return refused("its positions are scaled (rope_scaling)".into());
		}
		if heads == 0 || self.head_dim.is_some_and(|dim| dim.checked_mul(heads) != Some(self.hidden_size)) {
			return refused("its heads are not hidden_size wide together".into());
		}
		// A number that is none becomes 0, which is refused below.
		let theta = self.rope_parameters.as_ref().and_then(|rope| rope.rope_theta).or(self.rope_theta).unwrap_or(10_000.0);
		let rope_theta = theta as u32;
		if f64::from(rope_theta) != theta {
			return refused(format!("its rope_theta, {theta}, is no whole number"));
		}
		let config = ModelConfig {
			vocab: self.vocab_size,
			dim: self.hidden_size,
			layers: self.num_hidden_layers,
			heads,
			kv_heads: self.num_key_value_heads.unwrap_or(heads),
			ffn: self.intermediate_size,
			max_seq: self.max_position_embeddings,
			tied: self.tie_word_embeddings,
			rope_theta,
			norm_eps: F32::new(self.rms_norm_eps as f32),
		};
		config.validate()?;
		Ok(config)
	}
}

impl Folder {
	/// Reads the model in `folder`. Weights in 16 bits become f32, which holds each of them.
	///
	/// # Errors
	/// [`FolderError`].
	pub fn read(folder: &Path) -> Result<Self, FolderError> {
		let needed: Config = json(&folder.join("config.json"))?;
		let config = needed.model()?;
		let generation: Generation = json_if_there(&folder.join("generation_config.json"))?;
		let tokenizing: Tokenizing = json_if_there(&folder.join("tokenizer_config.json"))?;
		let ends = generation.eos_token_id.or(needed.eos_token_id.clone()).map(Tokens::all).unwrap_or_default();
		let begin = needed.bos_token_id.filter(|_| tokenizing.add_bos_token);
		let text = Text::read(&folder.join("tokenizer.json"), begin, BTreeSet::from_iter(ends))?;
		let template = tokenizing.chat_template.as_ref().and_then(|template| template.as_str()).map(str::to_owned);
		let file = fs::read_to_string(folder.join("chat_template.jinja")).ok();
		let [begin, end] = [tokenizing.bos_token, tokenizing.eos_token].map(|token| token.map(Special::text).unwrap_or_default());
		Ok(Self { params: params(folder, &config)?, config, text, template: template.or(file), begin, end })
	}
}

fn read(path: &Path) -> Result<Vec<u8>, FolderError> {
	fs::read(path).map_err(|source| FolderError::File { path: path.into(), source })
}

fn json<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, FolderError> {
	serde_json::from_slice(&read(path)?).map_err(|source| FolderError::Json { path: path.into(), source })
}

fn json_if_there<T: for<'a> Deserialize<'a> + Default>(path: &Path) -> Result<T, FolderError> {
	match path.exists() {
		true => json(path),
		false => Ok(T::default()),
	}
}

/// The parameters, from one file or from those that the index names.
fn params(folder: &Path, config: &ModelConfig) -> Result<Vec<f32>, FolderError> {
	let layout = ParamLayout::new(config)?;
	let index = folder.join("model.safetensors.index.json");
	let files: BTreeSet<String> = match index.exists() {
		true => json::<Index>(&index)?.weight_map.into_values().collect(),
		false => BTreeSet::from(["model.safetensors".to_owned()]),
	};
	let mut params = vec![0.0; layout.len()];
	let mut missing: BTreeMap<&str, _> = layout.tensors().iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
	for file in files {
		// Names of files only: an index leads nowhere else.
		let path = folder.join(Path::new(&file).file_name().unwrap_or_default());
		let bytes = read(&path)?;
		let tensors = SafeTensors::deserialize(&bytes).map_err(|source| FolderError::Weights { path, source })?;
		for (name, view) in tensors.iter() {
			let Some(tensor) = missing.remove(name) else { continue };
			let shape = view.shape();
			let fits = shape == [tensor.rows, tensor.cols] || (tensor.rows == 1 && shape == [tensor.cols]);
			if !fits || !fill(&mut params[tensor.range()], &view) {
				return Err(FolderError::Tensor(name.into()));
			}
		}
	}
	let first = missing.into_keys().next();
	first.map_or(Ok(params), |name| Err(FolderError::Tensor(name.into())))
}

/// Writes a tensor's numbers as f32; whether it has a type of which each number is one.
fn fill(out: &mut [f32], view: &TensorView) -> bool {
	let data = view.data();
	match view.dtype() {
		Dtype::F32 => {
			for (out, bytes) in out.iter_mut().zip(data.as_chunks().0) {
				*out = f32::from_le_bytes(*bytes);
			}
		}
		Dtype::BF16 => {
			for (out, bytes) in out.iter_mut().zip(data.as_chunks().0) {
				*out = f32::from_bits(u32::from(u16::from_le_bytes(*bytes)) << 16);
			}
		}
		Dtype::F16 => {
			for (out, bytes) in out.iter_mut().zip(data.as_chunks().0) {
				*out = half(u16::from_le_bytes(*bytes));
			}
		}
		_ => return false,
	}
	true
}

/// The f32 that is this IEEE-754 binary16.
fn half(bits: u16) -> f32 {
	let (sign, exponent, fraction) = (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 31), u32::from(bits & 1023));
	let magnitude = match exponent {
		// Multiples of 2^-24.
		0 => (fraction as f32 / 16_777_216.0).to_bits(),
		31 => 0x7f80_0000 | fraction << 13,
		_ => (exponent + 112) << 23 | fraction << 13,
	};
	f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{
		export::export,
		train::{checkpoint::Checkpoint, presets},
	};

	/// A folder with a model, and that model.
	fn exported() -> (tempfile::TempDir, ModelConfig, Vec<f32>) {
		let (model, train) = presets::tiny();
		let params = Checkpoint::genesis(0, &model, &train, 1).unwrap().params;
		let folder = tempfile::tempdir().unwrap();
		export(folder.path(), &model, &params).unwrap();
		(folder, model, params)
	}

	#[test]
	fn an_exported_model_is_read_as_it_was() {
		let (folder, model, params) = exported();
		let read = Folder::read(folder.path()).unwrap();
		assert_eq!((read.config, read.params), (model, params));
		assert_eq!(read.text.prompt("a", false).unwrap(), [256, 97]);
		assert!(read.text.is_end(256) && read.template.is_none());
	}

	#[test]
	fn what_is_not_served_is_said() {
		let (folder, ..) = exported();
		let config = folder.path().join("config.json");
		let text = fs::read_to_string(&config).unwrap();
		let error = |from: &str, to: &str| {
			assert!(text.contains(from), "{from}");
			fs::write(&config, text.replace(from, to)).unwrap();
			Folder::read(folder.path()).map(drop).unwrap_err().to_string()
		};
		assert!(error("\"llama\"", "\"gpt2\"").contains("its type is gpt2"));
		assert!(error("\"rope_scaling\": null", "\"rope_scaling\": {}").contains("rope_scaling"));
		assert!(error("\"rope_theta\"", "\"rope_parameters\": { \"rope_type\": \"llama3\" }, \"x\"").contains("rope_scaling"));
		assert!(error("\"attention_bias\": false", "\"attention_bias\": true").contains("biases"));
		assert!(error("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3").contains("no tensor model.layers.2."));
		assert!(error("\"vocab_size\": 288", "\"vocab_size\": 289").contains("multiple"));
		assert!(error("{", "").contains("not understood"));
	}

	#[test]
	fn half_precision_is_converted_exactly() {
		let known = [
			(0x0000, 0.0),
			(0x8000, -0.0),
			(0x3c00, 1.0),
			(0xc000, -2.0),
			(0x7bff, 65_504.0),
			(0x0001, 5.960_464_5e-8),
			(0x0400, 6.103_515_6e-5),
		];
		for (bits, value) in known {
			assert_eq!(half(bits).to_bits(), f32::to_bits(value), "{bits:#x}");
		}
		assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
	}
}
