//! `config.json`: the configuration of a model, and which tokens end its texts.

use super::{FolderError, Tokens};
use neuroshard_graph::{ConfigError, Family, ModelConfig, RopeScaling, F32};
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
	use_sliding_window: bool,
	/// Of Mistral, whose files without it mean so many.
	#[serde(default = "window")]
	sliding_window: Option<u32>,
	/// What each layer attends to.
	layer_types: Option<Vec<String>>,
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
		let number = |value: f64| F32::new(value as f32);
		let factor = self.factor.filter(|factor| *factor >= 1.0).map(number);
		let range = self.low_freq_factor.zip(self.high_freq_factor).map(|(low, high)| (number(low), number(high)));
		match (kind, factor, range, self.original_max_position_embeddings) {
			("default", ..) => Ok(RopeScaling::None),
			// Division by 1 changes nothing.
			("linear" | "llama3", Some(factor), ..) if factor.get() == 1.0 => Ok(RopeScaling::None),
			("linear", Some(factor), ..) => Ok(RopeScaling::Linear { factor }),
			("llama3", Some(factor), Some((low, high)), Some(original)) => Ok(RopeScaling::Llama3 { factor, low, high, original }),
			("linear" | "llama3", ..) => Err(FolderError::Unsupported(format!("its rope_scaling lacks numbers that {kind} takes"))),
			_ => Err(FolderError::Unsupported(format!("its positions are scaled in another way (rope_scaling: {kind})"))),
		}
	}
}

fn window() -> Option<u32> {
	Some(4_096)
}

fn silu() -> String {
	"silu".into()
}

impl Config {
	/// The configuration that it tells. Numbers that scale positions are rounded to f32.
	///
	/// # Errors
	/// [`FolderError::Unsupported`], [`FolderError::Config`].
	pub(super) fn model(&self) -> Result<ModelConfig, FolderError> {
		self.with_vocab(self.vocab_size)
	}

	/// The same with a vocabulary that is rounded up to a multiple of 32, and the tokens by which it is larger.
	///
	/// # Errors
	/// As [`Self::model`].
	pub(super) fn rounded(&self) -> Result<(ModelConfig, u32), FolderError> {
		let vocab = self.vocab_size.checked_next_multiple_of(32).unwrap_or(self.vocab_size);
		Ok((self.with_vocab(vocab)?, vocab.saturating_sub(self.vocab_size)))
	}

	fn with_vocab(&self, vocab: u32) -> Result<ModelConfig, FolderError> {
		let refused = |words: String| Err(FolderError::Unsupported(words));
		let heads = self.num_attention_heads;
		let family = match self.model_type.as_str() {
			"llama" | "mistral" => Family::Llama,
			"qwen2" => Family::Qwen2,
			"qwen3" => Family::Qwen3,
			other => return refused(format!("its type is {other}, and only those of type llama, mistral, qwen2 and qwen3 are")),
		};
		// Those of Qwen 2 need not be told.
		let biases = self.attention_bias && !family.has_biases();
		if self.hidden_act != "silu" || biases || self.mlp_bias {
			return refused("it has biases that others of its type do not have, or another activation than SiLU".into());
		}
		let slides = self.model_type == "mistral" && self.sliding_window.is_some_and(|window| window < self.max_position_embeddings);
		if slides || self.use_sliding_window || self.layer_types.iter().flatten().any(|kind| kind != "full_attention") {
			return refused("some of its layers do not attend to all of a text".into());
		}
		let mut scaling = RopeScaling::None;
		for told in [&self.rope_parameters, &self.rope_scaling].into_iter().flatten().map(Rope::scaling) {
			let told = told?;
			if scaling != RopeScaling::None && told != RopeScaling::None && scaling != told {
				return refused("its rope_scaling and its rope_parameters differ".into());
			}
			scaling = if told == RopeScaling::None { scaling } else { told };
		}
		// What files of Qwen 3 leave out is 128.
		let head_dim = self.head_dim.or((family == Family::Qwen3).then_some(128));
		// A number that is none becomes 0, which is refused below.
		let theta = self.rope_parameters.as_ref().and_then(|rope| rope.rope_theta).or(self.rope_theta).unwrap_or(10_000.0);
		let rope_theta = theta as u32;
		if f64::from(rope_theta) != theta {
			return refused(format!("its rope_theta, {theta}, is no whole number"));
		}
		let config = ModelConfig {
			vocab,
			dim: self.hidden_size,
			layers: self.num_hidden_layers,
			heads,
			kv_heads: self.num_key_value_heads.unwrap_or(heads),
			ffn: self.intermediate_size,
			max_seq: self.max_position_embeddings,
			tied: self.tie_word_embeddings,
			rope_theta,
			norm_eps: F32::new(self.rms_norm_eps as f32),
			family,
			head_dim: head_dim.filter(|width| width.checked_mul(heads) != Some(self.hidden_size)),
			rope_scaling: scaling,
		};
		if config.validate() == Err(ConfigError::TooLarge) {
			return refused(format!(
				"it has {} parameters, {} layers, {} tokens and texts of {}: at most 2^31, {}, 2^20 and 2^20 are served",
				config.parameters(),
				config.layers,
				config.vocab,
				config.max_seq,
				family.most_layers()
			));
		}
		config.validate()?;
		Ok(config)
	}
}
