//! Models in Hugging Face folders of families that are served: `config.json`, safetensors, `tokenizer.json`.

mod config;
mod import;
mod words;

use super::{
	chat::{literals, Chat},
	files::{self, missing, FileError, Kind},
	parameters::{Parameters, ParametersError},
	text::{Text, TextError},
};
use config::Config;
use neuroshard_data::tokenizer::bytes;
use neuroshard_graph::{ConfigError, ModelConfig};
use neuroshard_support::json_file;
use serde::{de::DeserializeOwned, Deserialize, Deserializer};
use std::{
	collections::BTreeSet,
	path::{Path, PathBuf},
};
use words::{Template, Words};

pub use import::{import, Imported};

/// Bytes of the longest `config.json` and of those like it.
const LONGEST_CONFIG: u64 = 16 << 20;
/// Bytes of the longest `tokenizer.json`.
const LONGEST_TOKENIZER: u64 = 64 << 20;

/// Why a folder has no model.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
	/// A file cannot be read, or is another one than it should be.
	#[error(transparent)]
	File(#[from] FileError),
	/// A file is no JSON of the kind that it must be.
	#[error("{path} is not understood: {reason}", path = path.display())]
	Json {
		/// Path of the file.
		path: PathBuf,
		/// Why.
		reason: String,
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
	/// The adapter computes something that this engine does not.
	#[error("this adapter is not served: {0}")]
	Adapter(String),
	/// The template of chats.
	#[error("the chat template is refused: {0}")]
	Template(String),
	/// There is no template of chats where one is needed.
	#[error("there is no chat template beside the tokenizer: name a Jinja file that has one with --chat-template")]
	NoTemplate,
	/// The tokenizer.
	#[error("{path}: {source}", path = path.display())]
	Text {
		/// Its file.
		path: PathBuf,
		/// Error of the tokenizer.
		source: TextError,
	},
}

/// A model as it lies in a folder.
pub struct Folder {
	/// Configuration.
	pub config: ModelConfig,
	/// Parameters.
	pub parameters: Parameters,
	/// Tokenizer.
	pub text: Text,
	/// Template by which a chat becomes a prompt.
	pub chat: Chat,
}

/// Tokens: a number, or several. What is null names none.
#[derive(Clone, Default)]
struct Tokens(Vec<u32>);

impl<'de> Deserialize<'de> for Tokens {
	fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
		let value = serde_json::Value::deserialize(deserializer)?;
		let values = match &value {
			serde_json::Value::Null => &[][..],
			serde_json::Value::Array(values) => values,
			one => std::slice::from_ref(one),
		};
		let token = |value: &serde_json::Value| value.as_u64().and_then(|token| u32::try_from(token).ok());
		let tokens = values.iter().map(token).collect::<Option<_>>();
		tokens.map(Self).ok_or_else(|| serde::de::Error::custom(format!("{value} is no token, and no list of tokens")))
	}
}

/// Fields of `generation_config.json` that matter.
#[derive(Default, Deserialize)]
struct Generation {
	#[serde(default)]
	eos_token_id: Tokens,
}

impl Folder {
	/// Reads the model in `folder`, all but its weights, which are hashed. In 16 bits, they become f32 when they are loaded, which holds each of them.
	///
	/// # Errors
	/// [`FolderError`].
	pub fn read(folder: &Path, threads: usize) -> Result<Self, FolderError> {
		let path = folder.join("config.json");
		let needed: Config = json_if_there(&path)?.ok_or_else(|| missing(&path, Kind::Config))?;
		let config = needed.model()?;
		let generation: Generation = json_if_there(&folder.join("generation_config.json"))?.unwrap_or_default();
		let path = folder.join("tokenizer.json");
		if !is_there(&path) {
			return Err(missing(&path, Kind::Tokenizer).into());
		}
		let file = files::read(&path, LONGEST_TOKENIZER)?;
		let ends: BTreeSet<u32> = [needed.eos_token_id, generation.eos_token_id].into_iter().flat_map(|Tokens(tokens)| tokens).collect();
		let (text, chat) = speech(&path, &file, ends, Words::read(folder)?)?;
		let chat = chat.unwrap_or_else(Chat::by_line);
		if let Some(reason) = chat.refusal() {
			tracing::warn!("chats are refused, completions are not: the chat template of {} is not used: {reason}", folder.display());
		}
		Ok(Self { parameters: Parameters::of_folder(folder, &config, threads)?, config, text, chat })
	}
}

/// The tokenizer in `file`, which is at `path`, and the template by which a chat becomes a prompt, if there is one.
fn speech(path: &Path, file: &[u8], ends: BTreeSet<u32>, words: Words) -> Result<(Text, Option<Chat>), FolderError> {
	// Whose file does not say with what texts begin.
	let own = file == bytes::tokenizer_json().as_bytes();
	let failed = |source| FolderError::Text { path: path.to_path_buf(), source };
	let mut text = Text::new(file, own.then_some(bytes::END_OF_TEXT), ends).map_err(failed)?;
	if let Some(end) = words.special("eos_token") {
		text.end_at(end);
	}
	let chat = match words.template {
		Template::None => None,
		Template::Refused(reason) => Some(Chat::refused(reason)),
		Template::Is(template) => {
			text = text.with_template(&literals(&template)).map_err(failed)?;
			Some(Chat::new(template, &words.specials, text.controls().clone()))
		}
	};
	Ok((text, chat))
}

/// The tokenizer in `json`, and the template of the Jinja file `template`, or else the one in `folder`, in which special tokens have the names that
/// the files of `folder` give them.
///
/// # Errors
/// [`FolderError`]; [`FolderError::NoTemplate`] if there is none.
pub fn speaker(json: &[u8], folder: Option<&Path>, template: Option<&Path>) -> Result<(Text, Chat), FolderError> {
	let mut words = folder.map_or_else(|| Ok(Words::none()), Words::read)?;
	if let Some(path) = template {
		words.template = Template::Is(words::read_template(path).map_err(FolderError::Template)?);
	}
	let place = folder.unwrap_or(Path::new("")).join("tokenizer.json");
	match speech(&place, json, BTreeSet::new(), words)? {
		(text, Some(chat)) => match chat.refusal() {
			Some(reason) => Err(FolderError::Template(reason.to_owned())),
			None => Ok((text, chat)),
		},
		(_, None) => Err(FolderError::NoTemplate),
	}
}

fn is_there(path: &Path) -> bool {
	path.symlink_metadata().is_ok()
}

pub(crate) fn json_if_there<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FolderError> {
	if !is_there(path) {
		return Ok(None);
	}
	let json = files::read(path, LONGEST_CONFIG)?;
	json_file::parse(&json).map(Some).map_err(|reason| FolderError::Json { path: path.into(), reason })
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::Message;
	use neuroshard_data::tokenizer::Tokenizer;
	use neuroshard_graph::{merkle, Family, RopeScaling, F32};
	use neuroshard_training::{checkpoint::Checkpoint, export::export, presets};
	use serde_json::{json, Value};
	use std::fs;

	/// A folder with a model, and that model.
	fn exported() -> (tempfile::TempDir, ModelConfig, Vec<f32>) {
		let (model, train) = presets::tiny();
		let params = Checkpoint::genesis(0, &model, &train, 1).unwrap().params;
		let folder = tempfile::tempdir().unwrap();
		export(folder.path(), &model, &Tokenizer::bytes(), &params).unwrap();
		(folder, model, params)
	}

	#[test]
	fn an_exported_model_is_read_as_it_was() {
		let (folder, model, params) = exported();
		let read = Folder::read(folder.path(), 1).unwrap();
		let bytes: Vec<u8> = params.iter().flat_map(|value| value.to_le_bytes()).collect();
		assert_eq!((read.config, read.parameters.root.0), (model, merkle::blake2_256(&bytes)));
		assert_eq!(read.text.prompt("a", false).unwrap(), [256, 97]);
		assert!(read.text.is_end(256) && !read.chat.is_marked());
	}

	/// Adds fields to a file of a folder, which is made if it is not there; null takes one away.
	fn put(folder: &Path, name: &str, fields: Value) {
		let path = folder.join(name);
		let mut all: Value = fs::read(&path).map_or(json!({}), |bytes| serde_json::from_slice(&bytes).unwrap());
		all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
		fs::write(path, all.to_string()).unwrap();
	}

	fn prompt(folder: &Path) -> Result<String, String> {
		let chat = Folder::read(folder, 1).map_err(|error| error.to_string())?.chat;
		chat.prompt(&[Message { role: "user".into(), content: "hi".into() }]).map_err(|error| error.to_string())
	}

	/// A template that says its name.
	fn says(name: &str) -> String {
		format!("{name}: {{{{ messages[0].content }}}}")
	}

	#[test]
	fn of_several_templates_the_default_is_used_and_files_count_before_the_configuration() {
		let (base, ..) = exported();
		let folder = base.path();
		assert_eq!(prompt(folder).unwrap(), "user: hi\nassistant:");
		let named = |names: &[&str]| -> Vec<Value> { names.iter().map(|name| json!({ "name": name, "template": says(name) })).collect() };
		put(folder, "tokenizer_config.json", json!({ "chat_template": named(&["tool_use", "default"]) }));
		assert_eq!(prompt(folder).unwrap(), "default: hi");
		put(folder, "tokenizer_config.json", json!({ "chat_template": named(&["tool_use", "rag"]) }));
		let error = prompt(folder).unwrap_err();
		assert!(error.contains("only completions") && error.contains("rag, tool_use"), "{error}");
		put(folder, "tokenizer_config.json", json!({ "chat_template": 7 }));
		assert!(prompt(folder).unwrap_err().contains("chat_template"));
		put(folder, "tokenizer_config.json", json!({ "chat_template": [{ "name": "default" }] }));
		assert!(prompt(folder).unwrap_err().contains("lacks a name or a template"));
		put(folder, "tokenizer_config.json", json!({ "chat_template": says("config") }));
		assert_eq!(prompt(folder).unwrap(), "config: hi");
		for more in ["chat_templates", "additional_chat_templates"] {
			fs::create_dir(folder.join(more)).unwrap();
			fs::write(folder.join(more).join("tool_use.jinja"), says("tools")).unwrap();
		}
		let error = prompt(folder).unwrap_err();
		assert!(error.contains("(tool_use)"), "{error}");
		fs::write(folder.join("chat_template.jinja"), says("file")).unwrap();
		assert_eq!(prompt(folder).unwrap(), "file: hi");
		for (broken, words) in [("version https://git-lfs.github.com/spec/v1", "Git LFS pointer"), ("{% unheard of %}", "unheard")] {
			fs::write(folder.join("chat_template.jinja"), broken).unwrap();
			let error = prompt(folder).unwrap_err();
			assert!(error.contains("only completions") && error.contains(words), "{error}");
		}
	}

	/// As transformers does with `add_special_tokens=False`: chats begin with what the template says, completions with what `tokenizer.json` says.
	#[test]
	fn only_the_template_begins_a_chat_and_only_the_tokenizer_a_completion() {
		let (base, ..) = exported();
		let folder = base.path();
		fs::write(folder.join("chat_template.jinja"), "{{ messages[0].content }}").unwrap();
		let tokens = |marked| Folder::read(folder, 1).unwrap().text.prompt("hi", marked).unwrap();
		assert_eq!((tokens(true), tokens(false)), (vec![104, 105], vec![256, 104, 105]));
		// As transformers 5 saves it again.
		for saved in [json!(null), json!(false), json!(true)] {
			put(folder, "tokenizer_config.json", json!({ "add_bos_token": saved }));
			assert_eq!((tokens(true), tokens(false)), (vec![104, 105], vec![256, 104, 105]));
		}
		put(folder, "tokenizer.json", json!({ "post_processor": null }));
		put(folder, "tokenizer_config.json", json!({ "add_bos_token": true }));
		assert_eq!((tokens(true), tokens(false)), (vec![104, 105], vec![104, 105]));
		// What was exported before tokenizer.json said it.
		fs::write(folder.join("tokenizer.json"), bytes::tokenizer_json()).unwrap();
		assert_eq!((tokens(true), tokens(false)), (vec![104, 105], vec![256, 104, 105]));
	}

	#[test]
	fn texts_end_with_every_token_that_a_file_names_for_it() {
		let (base, ..) = exported();
		let folder = base.path();
		let ends = || {
			let text = Folder::read(folder, 1).unwrap().text;
			(0..288).filter(|token| text.is_end(*token)).collect::<Vec<u32>>()
		};
		put(folder, "config.json", json!({ "eos_token_id": [258, 259] }));
		put(folder, "generation_config.json", json!({ "eos_token_id": 257 }));
		put(folder, "tokenizer_config.json", json!({ "eos_token": { "content": "<|reserved_8|>", "special": true } }));
		assert_eq!(ends(), [257, 258, 259, 264]);
		put(folder, "config.json", json!({ "eos_token_id": null }));
		put(folder, "generation_config.json", json!({ "eos_token_id": [] }));
		put(folder, "tokenizer_config.json", json!({ "eos_token": null }));
		assert!(ends().is_empty());
		put(folder, "special_tokens_map.json", json!({ "eos_token": "<|reserved_9|>" }));
		assert_eq!(ends(), [265]);
		put(folder, "generation_config.json", json!({ "eos_token_id": "</s>" }));
		let error = Folder::read(folder, 1).map(drop).unwrap_err().to_string();
		assert!(error.contains("generation_config.json") && error.contains("\"</s>\" is no token"), "{error}");
	}

	#[test]
	fn a_file_that_is_missing_or_another_one_is_named() {
		let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
		for name in ["config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json", "model.safetensors"] {
			let (base, ..) = exported();
			fs::write(base.path().join(name), pointer).unwrap();
			let error = Folder::read(base.path(), 1).map(drop).unwrap_err().to_string();
			assert!(error.contains(&format!("{name} is a Git LFS pointer")) && error.contains("git lfs pull"), "{error}");
		}
		for (name, instead, words) in [
			("tokenizer.json", "tokenizer.model", "AutoTokenizer"),
			("model.safetensors", "pytorch_model.bin", "save_pretrained"),
			("config.json", "model.gguf", "GGUF"),
		] {
			let (base, ..) = exported();
			fs::rename(base.path().join(name), base.path().join(instead)).unwrap();
			let error = Folder::read(base.path(), 1).map(drop).unwrap_err().to_string();
			assert!(error.contains(name) && error.contains(instead) && error.contains(words), "{error}");
		}
		let (base, ..) = exported();
		put(base.path(), "tokenizer.json", json!({ "model": { "type": "BPE" } }));
		let error = Folder::read(base.path(), 1).map(drop).unwrap_err().to_string();
		assert!(error.contains("tokenizer.json: the tokenizer is not understood"), "{error}");
	}

	#[test]
	fn a_file_that_begins_with_a_mark_is_read_and_one_that_is_not_understood_is_told_with_the_field_in_plain_words() {
		let (base, ..) = exported();
		let path = |name: &str| base.path().join(name);
		for name in ["config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json"] {
			let text = fs::read_to_string(path(name)).unwrap();
			fs::write(path(name), format!("\u{feff}{text}")).unwrap();
			Folder::read(base.path(), 1).unwrap();
			let wide: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
			fs::write(path(name), wide).unwrap();
			let error = Folder::read(base.path(), 1).map(drop).unwrap_err().to_string();
			assert!(error.contains(name) && error.contains("it is not UTF-8 text"), "{error}");
			fs::write(path(name), text).unwrap();
		}
		for (name, fields, expected) in [
			("config.json", json!({ "hidden_size": -1 }), "hidden_size: invalid value: integer `-1`, expected a whole number from 0 to"),
			("config.json", json!({ "hidden_size": 32, "rope_theta": "x" }), "rope_theta: invalid type: string \"x\", expected a number"),
			("generation_config.json", json!({ "eos_token_id": {} }), "eos_token_id: {} is no token"),
		] {
			let text = fs::read_to_string(path(name)).unwrap();
			put(base.path(), name, fields);
			let error = Folder::read(base.path(), 1).map(drop).unwrap_err().to_string();
			assert!(error.contains(&format!("{name} is not understood: {expected}")), "{error}");
			fs::write(path(name), text).unwrap();
		}
		for part in ["model", "normalizer", "pre_tokenizer", "post_processor", "decoder"] {
			let text = fs::read_to_string(path("tokenizer.json")).unwrap();
			put(base.path(), "tokenizer.json", json!({ part: { "type": "Unheard" } }));
			let error = Folder::read(base.path(), 1).map(drop).unwrap_err().to_string();
			assert!(error.contains("tokenizer.json: the tokenizer is not understood: "), "{error}");
			assert!(!["enum", "Wrapper", "struct", "variant of"].iter().any(|word| error.contains(word)), "{part}: {error}");
			fs::write(path("tokenizer.json"), text).unwrap();
		}
	}

	#[test]
	fn scaled_positions_are_read_from_old_and_new_places() {
		let (folder, model, _) = exported();
		let config = folder.path().join("config.json");
		let text = fs::read_to_string(&config).unwrap();
		let numbers = "\"factor\": 32.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192";
		let llama3 = RopeScaling::Llama3 { factor: F32::new(32.0), low: F32::new(1.0), high: F32::new(4.0), original: 8_192 };
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
				RopeScaling::Linear { factor: F32::new(2.0) },
				model.rope_theta,
			),
			(
				"\"rope_scaling\": null",
				"\"rope_scaling\": { \"type\": \"linear\", \"factor\": 1 }".into(),
				RopeScaling::None,
				model.rope_theta,
			),
		] {
			assert!(text.contains(from));
			fs::write(&config, text.replace(from, &to)).unwrap();
			let config = Folder::read(folder.path(), 1).unwrap().config;
			assert_eq!(config, ModelConfig { rope_theta, rope_scaling: scaling, ..model.clone() });
		}
	}

	#[test]
	fn models_of_every_family_are_exported_and_read_as_they_were() {
		let (tiny, train) = presets::tiny();
		let llama3 = RopeScaling::Llama3 { factor: F32::new(8.5), low: F32::new(1.0), high: F32::new(4.0), original: 64 };
		let linear = RopeScaling::Linear { factor: F32::new(2.5) };
		for model in [
			ModelConfig { head_dim: Some(32), rope_scaling: llama3, ..tiny.clone() },
			ModelConfig { family: Family::Qwen2, rope_scaling: linear, ..tiny.clone() },
			ModelConfig { family: Family::Qwen3, head_dim: Some(32), tied: false, rope_theta: 1_000_000, ..tiny.clone() },
		] {
			let folder = tempfile::tempdir().unwrap();
			let params = Checkpoint::genesis(0, &model, &train, 1).unwrap().params;
			export(folder.path(), &model, &Tokenizer::bytes(), &params).unwrap();
			let read = Folder::read(folder.path(), 1).unwrap();
			let bytes: Vec<u8> = params.iter().flat_map(|value| value.to_le_bytes()).collect();
			assert_eq!((read.config, read.parameters.root.0), (model, merkle::blake2_256(&bytes)));
		}
	}

	#[test]
	fn a_mistral_that_attends_to_all_is_computed_as_a_llama() {
		let (folder, model, _) = exported();
		let config: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("config.json")).unwrap()).unwrap();
		let told = |window: Option<Value>, longest: u32| {
			let mut config = config.clone();
			(config["model_type"], config["max_position_embeddings"]) = ("mistral".into(), longest.into());
			if let Some(window) = window {
				config["sliding_window"] = window;
			}
			serde_json::from_value::<Config>(config).unwrap().model()
		};
		assert_eq!(told(Some(Value::Null), 8_192).unwrap(), ModelConfig { max_seq: 8_192, ..model });
		assert!(told(Some(8_192.into()), 8_192).is_ok() && told(None, 4_096).is_ok());
		assert!(told(Some(4_096.into()), 8_192).is_err() && told(None, 8_192).is_err());
	}

	#[test]
	fn a_width_of_heads_that_is_not_told_is_that_of_the_family() {
		let (folder, model, _) = exported();
		let path = folder.path().join("config.json");
		let config: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
		let told = |kind: &str, width: Value| {
			let mut config = config.clone();
			(config["model_type"], config["head_dim"]) = (kind.into(), width);
			serde_json::from_value::<Config>(config).unwrap().model().map(|model| model.head_dim)
		};
		assert_eq!(told("llama", Value::Null).unwrap(), None);
		assert_eq!(told("qwen2", (model.dim / model.heads).into()).unwrap(), None);
		assert_eq!(told("qwen2", 32.into()).unwrap(), Some(32));
		assert_eq!(told("qwen3", Value::Null).unwrap(), Some(128));
		assert!(told("qwen3", 48.into()).is_err());
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
		assert!(error("\"llama\"", "\"mistral\", \"sliding_window\": 16").contains("do not attend to all"));
		assert!(error("\"rope_scaling\": null", "\"rope_scaling\": { \"type\": \"yarn\" }").contains("rope_scaling: yarn"));
		assert!(
			error("\"rope_theta\"", "\"rope_parameters\": { \"rope_type\": \"llama3\", \"factor\": 8 }, \"x\"").contains("lacks numbers")
		);
		assert!(error("\"attention_bias\": false", "\"attention_bias\": true").contains("biases"));
		assert!(error("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3").contains("model.safetensors has no tensor model.layers.2."));
		assert!(error("\"mlp_bias\": false", "\"use_sliding_window\": true").contains("do not attend to all"));
		assert!(
			error("\"mlp_bias\": false", "\"layer_types\": [\"full_attention\", \"sliding_attention\"]").contains("do not attend to all")
		);
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
