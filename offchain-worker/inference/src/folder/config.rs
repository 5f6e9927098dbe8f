//! `config.json`: the shape of a model, and which tokens end its texts.

use super::{FolderError, Tokens};
use crate::parameters::Shape;
use neuroshard_compute::exec::RopeScaling;
use neuroshard_graph::{ConfigError, ModelConfig, F32};
use serde::Deserialize;

/// Fields of `config.json` that matter.
#[derive(Deserialize)]
pub(super) struct Config {
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
	/// Tokens that end texts.
	#[serde(default)]
	pub(super) eos_token_id: Tokens,
}

/// Rotary position embedding: newer files have it in one place with `rope_theta`.
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

impl Config {
	/// The shape that it tells.
	///
	/// # Errors
	/// [`FolderError::Unsupported`], [`FolderError::Config`].
	pub(super) fn shape(&self) -> Result<Shape, FolderError> {
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
