//! Models in Hugging Face folders of the Llama family: `config.json`, safetensors, `tokenizer.json`.

use super::{
	parameters::{Parameters, ParametersError, Shape},
	text::{Text, TextError},
};
use neuroshard_graph::{exec::RopeScaling, ConfigError, ModelConfig, F32};
use serde::Deserialize;
use std::{
	collections::BTreeSet,
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
	#[error(transparent)]
	Parameters(#[from] ParametersError),
	/// The tokenizer.
	#[error(transparent)]
	Text(#[from] TextError),
}

/// A model as it lies in a folder.
pub struct Folder {
	/// Shape.
	pub shape: Shape,
	/// Parameters.
	pub parameters: Parameters,
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
	rope_scaling: Option<Rope>,
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

/// How positions are read: newer files have it in one place with `rope_theta`.
#[derive(Clone, Deserialize)]
struct Rope {
	rope_type: Option<String>,
	/// Its name in old files; some have both.
	r#type: Option<String>,
	rope_theta: Option<f64>,
	factor: Option<f64>,
	low_freq_factor: Option<f64>,
	high_freq_factor: Option<f64>,
	original_max_position_embeddings: Option<u32>,
}

impl Rope {
	fn scaling(&self) -> Result<RopeScaling, FolderError> {
		let kind = self.rope_type.as_deref().or(self.r#type.as_deref());
		let kind = kind.unwrap_or(if self.factor.is_some() { "without a type" } else { "default" });
		let factor = self.factor.filter(|factor| factor.is_finite() && *factor >= 1.0);
		let range = self.low_freq_factor.zip(self.high_freq_factor).filter(|(low, high)| low.is_finite() && high.is_finite() && low < high);
		match (kind, factor, range, self.original_max_position_embeddings) {
			("default", ..) => Ok(RopeScaling::None),
			("linear", Some(factor), ..) => Ok(RopeScaling::Linear { factor }),
			("llama3", Some(factor), Some((low, high)), Some(original)) => Ok(RopeScaling::Llama3 { factor, low, high, original }),
			("linear" | "llama3", ..) => Err(FolderError::Unsupported(format!("its rope_scaling lacks numbers that {kind} takes"))),
			_ => Err(FolderError::Unsupported(format!("its positions are scaled in another way (rope_scaling: {kind})"))),
		}
	}
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

impl Config {
	fn shape(&self) -> Result<Shape, FolderError> {
		let refused = |words: String| Err(FolderError::Unsupported(words));
		let heads = self.num_attention_heads;
		if self.model_type != "llama" {
			return refused(format!("its type is {}, and only those of type llama are", self.model_type));
		}
		if self.hidden_act != "silu" || self.attention_bias || self.mlp_bias {
			return refused("it has biases, or another activation than SiLU".into());
		}
		let mut scaling = RopeScaling::None;
		for told in [&self.rope_parameters, &self.rope_scaling].into_iter().flatten().map(Rope::scaling) {
			let told = told?;
			if scaling != RopeScaling::None && told != RopeScaling::None && scaling != told {
				return refused("its rope_scaling and its rope_parameters differ".into());
			}
			scaling = if told == RopeScaling::None { scaling } else { told };
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
		if config.validate() == Err(ConfigError::TooLarge) {
			return refused(format!(
				"it has {} parameters, {} layers, {} tokens and texts of {}: at most 2^31, 128, 2^20 and 2^20 are served",
				config.parameters(),
				config.layers,
				config.vocab,
				config.max_seq
			));
		}
		config.validate()?;
		Ok(Shape { config, scaling })
	}
}

impl Folder {
	/// Reads the model in `folder`, all but its weights, which are hashed. In 16 bits, they become f32 when they are loaded, which holds each of them.
	///
	/// # Errors
	/// [`FolderError`].
	pub fn read(folder: &Path, threads: usize) -> Result<Self, FolderError> {
		let needed: Config = json(&folder.join("config.json"))?;
		let shape = needed.shape()?;
		let generation: Generation = json_if_there(&folder.join("generation_config.json"))?;
		let tokenizing: Tokenizing = json_if_there(&folder.join("tokenizer_config.json"))?;
		let ends = generation.eos_token_id.or(needed.eos_token_id.clone()).map(Tokens::all).unwrap_or_default();
		let begin = needed.bos_token_id.filter(|_| tokenizing.add_bos_token);
		let text = Text::read(&folder.join("tokenizer.json"), begin, BTreeSet::from_iter(ends))?;
		let template = tokenizing.chat_template.as_ref().and_then(|template| template.as_str()).map(str::to_owned);
		let file = fs::read_to_string(folder.join("chat_template.jinja")).ok();
		let [begin, end] = [tokenizing.bos_token, tokenizing.eos_token].map(|token| token.map(Special::text).unwrap_or_default());
		Ok(Self {
			parameters: Parameters::of_folder(folder, &shape.config, threads)?,
			shape,
			text,
			template: template.or(file),
			begin,
			end,
		})
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

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{
		export::export,
		train::{checkpoint::Checkpoint, presets},
	};
	use neuroshard_graph::merkle::blake2_256;

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
		let read = Folder::read(folder.path(), 1).unwrap();
		let bytes: Vec<u8> = params.iter().flat_map(|value| value.to_le_bytes()).collect();
		assert_eq!((read.shape, read.parameters.root.0), (Shape { config: model, scaling: RopeScaling::None }, blake2_256(&bytes)));
		assert_eq!(read.text.prompt("a", false).unwrap(), [256, 97]);
		assert!(read.text.is_end(256) && read.template.is_none());
	}

	#[test]
	fn scaled_positions_are_read_from_old_and_new_places() {
		let (folder, model, _) = exported();
		let config = folder.path().join("config.json");
		let text = fs::read_to_string(&config).unwrap();
		let numbers = "\"factor\": 32.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192";
		let llama3 = RopeScaling::Llama3 { factor: 32.0, low: 1.0, high: 4.0, original: 8_192 };
		for (from, to, scaling, rope_theta) in [
			("\"rope_scaling\": null", format!("\"rope_scaling\": {{ \"rope_type\": \"llama3\", {numbers} }}"), llama3, model.rope_theta),
			(
				"\"rope_scaling\": null",
				format!("\"rope_parameters\": {{ \"rope_type\": \"llama3\", {numbers}, \"rope_theta\": 500000.0 }}"),
				llama3,
				500_000,
			),
			(
				"\"rope_scaling\": null",
				"\"rope_scaling\": { \"type\": \"linear\", \"factor\": 2 }".into(),
				RopeScaling::Linear { factor: 2.0 },
				model.rope_theta,
			),
		] {
			assert!(text.contains(from));
			fs::write(&config, text.replace(from, &to)).unwrap();
			let shape = Folder::read(folder.path(), 1).unwrap().shape;
			assert_eq!(shape, Shape { config: ModelConfig { rope_theta, ..model.clone() }, scaling });
		}
	}

	#[test]
	fn what_is_not_served_is_said() {
		let (folder, ..) = exported();
		let config = folder.path().join("config.json");
		let text = fs::read_to_string(&config).unwrap();
		let error = |from: &str, to: &str| {
			assert!(text.contains(from), "{from}");
			fs::write(&config, text.replace(from, to)).unwrap();
			Folder::read(folder.path(), 1).map(drop).unwrap_err().to_string()
		};
		assert!(error("\"llama\"", "\"gpt2\"").contains("its type is gpt2"));
		assert!(error("\"rope_scaling\": null", "\"rope_scaling\": { \"type\": \"yarn\" }").contains("rope_scaling: yarn"));
		assert!(
			error("\"rope_theta\"", "\"rope_parameters\": { \"rope_type\": \"llama3\", \"factor\": 8 }, \"x\"").contains("lacks numbers")
		);
		assert!(error("\"attention_bias\": false", "\"attention_bias\": true").contains("biases"));
		assert!(error("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3").contains("no tensor model.layers.2."));
		assert!(error("\"vocab_size\": 288", "\"vocab_size\": 289").contains("multiple"));
		assert!(error("\"vocab_size\": 288", "\"vocab_size\": 4194304").contains("4194304 tokens"));
		assert!(error("\"rope_scaling\": null", "\"rope_scaling\": { \"factor\": 2 }").contains("rope_scaling: without a type"));
		assert!(error("\"rope_scaling\": null", "\"rope_scaling\": { \"type\": \"linear\", \"factor\": 0.5 }").contains("lacks numbers"));
		let differ =
			"\"rope_scaling\": { \"type\": \"linear\", \"factor\": 2 }, \"rope_parameters\": { \"rope_type\": \"linear\", \"factor\": 4 }";
		assert!(error("\"rope_scaling\": null", differ).contains("differ"));
		assert!(error("{", "").contains("not understood"));
	}
}
