//! Requests of the OpenAI API, as its clients send them, and what they ask of the engine.

use super::{elements::Elements, error::ApiError};
use crate::infer::Message;
use neuroshard_graph::sampler::Sampling;
use serde::{de::IgnoredAny, Deserialize, Deserializer};
use std::sync::Arc;

/// Answers to one prompt, at most.
const MOST_CHOICES: u32 = 16;
/// Alternatives to a token, at most.
const MOST_ALTERNATIVES: usize = 20;
/// Stop strings, at most, and bytes of one.
const MOST_STOPS: usize = 16;
const STOP_BYTES: usize = 256;
/// Tokens of a completion whose request says nothing.
const DEFAULT_TOKENS: u32 = 16;

/// One string, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Strings {
	One(String),
	Many(Vec<String>),
}

impl Strings {
	pub(super) fn all(self) -> Vec<String> {
		match self {
			Self::One(text) => vec![text],
			Self::Many(texts) => texts,
		}
	}
}

/// A prompt: text or tokens, one or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Prompts {
	Text(String),
	Tokens(Vec<u32>),
	Texts(Vec<String>),
	ManyTokens(Vec<Vec<u32>>),
}

/// A prompt.
#[derive(Clone, Debug)]
pub(super) enum Prompt {
	Text(String),
	Tokens(Vec<u32>),
}

impl Prompts {
	pub(super) fn all(self) -> Vec<Prompt> {
		match self {
			Self::Text(text) => vec![Prompt::Text(text)],
			Self::Tokens(tokens) => vec![Prompt::Tokens(tokens)],
			Self::Texts(texts) => texts.into_iter().map(Prompt::Text).collect(),
			Self::ManyTokens(prompts) => prompts.into_iter().map(Prompt::Tokens).collect(),
		}
	}
}

/// What completions and chats have in common.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Common {
	pub(super) model: String,
	n: Option<u32>,
	stream: Option<bool>,
	stream_options: Option<StreamOptions>,
	stop: Option<Strings>,
	seed: Option<i64>,
	#[serde(default, deserialize_with = "number")]
	temperature: Option<f32>,
	#[serde(default, deserialize_with = "number")]
	top_p: Option<f32>,
	top_k: Option<i64>,
	#[serde(default, deserialize_with = "number")]
	min_p: Option<f32>,
	#[serde(default, deserialize_with = "number")]
	repetition_penalty: Option<f32>,
	#[serde(default, deserialize_with = "number")]
	presence_penalty: Option<f32>,
	#[serde(default, deserialize_with = "number")]
	frequency_penalty: Option<f32>,
	ignore_eos: Option<bool>,
	receipt: Option<bool>,
	logit_bias: Option<Elements>,
}

/// A number of any digits. Within a flattened structure, serde hands those with a fraction on as what `serde_json` makes of them.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f32>, D::Error> {
	let number = Option::<serde_json::Number>::deserialize(from)?;
	Ok(number.and_then(|number| number.as_f64()).map(|number| number as f32))
}

#[derive(Clone, Debug, Deserialize)]
struct StreamOptions {
	#[serde(default)]
	include_usage: bool,
}

/// What is asked of each answer.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Ask {
	pub(super) sampling: Sampling,
	/// Answers to each prompt.
	pub(super) choices: u32,
	/// Most tokens; `None` for all that the model has room for.
	pub(super) most: Option<u32>,
	pub(super) stops: Arc<[String]>,
	/// Alternatives to each token, if probabilities are asked for.
	pub(super) log: Option<usize>,
	pub(super) stream: bool,
	/// Whether a stream ends with the number of its tokens.
	pub(super) usage: bool,
	/// Whether answers go on behind a token that ends texts.
	pub(super) endless: bool,
	/// Whether each answer comes with its receipt.
	pub(super) receipt: bool,
}

impl Common {
	fn ask(self, most: Option<u32>, log: Option<usize>) -> Result<Ask, ApiError> {
		let sampling = Sampling {
			temperature: self.temperature.unwrap_or(1.0),
			top_p: self.top_p.unwrap_or(1.0),
			// Others write -1 for all.
			top_k: self.top_k.map_or(0, |k| u32::try_from(k.max(0)).unwrap_or(u32::MAX)),
			min_p: self.min_p.unwrap_or(0.0),
			repetition: self.repetition_penalty.unwrap_or(1.0),
			presence: self.presence_penalty.unwrap_or(0.0),
			frequency: self.frequency_penalty.unwrap_or(0.0),
			seed: self.seed.map_or_else(rand::random, i64::cast_unsigned),
		};
		sampling.validate().map_err(|error| ApiError::field(error.setting, error.to_string()))?;
		let choices = self.n.unwrap_or(1);
		if !(1..=MOST_CHOICES).contains(&choices) {
			return Err(ApiError::field("n", format!("n must be a number from 1 to {MOST_CHOICES}")));
		}
		if most == Some(0) {
			return Err(ApiError::field("max_tokens", "max_tokens must be at least 1"));
		}
		let stops = self.stop.map(Strings::all).unwrap_or_default();
		if stops.len() > MOST_STOPS || stops.iter().any(|stop| stop.is_empty() || stop.len() > STOP_BYTES) {
			let words = format!("stop must be at most {MOST_STOPS} strings of {STOP_BYTES} bytes at most, none of them empty");
			return Err(ApiError::field("stop", words));
		}
		if self.logit_bias.is_some_and(|bias| !bias.is_empty()) {
			return Err(ApiError::field("logit_bias", "logit_bias is not supported"));
		}
		if log.is_some_and(|alternatives| alternatives > MOST_ALTERNATIVES) {
			return Err(ApiError::field("logprobs", format!("at most {MOST_ALTERNATIVES} alternatives to a token are told")));
		}
		let usage = self.stream_options.is_some_and(|options| options.include_usage);
		let [stream, endless, receipt] = [self.stream, self.ignore_eos, self.receipt].map(Option::unwrap_or_default);
		Ok(Ask { sampling, choices, most, stops: stops.into(), log, stream, usage, endless, receipt })
	}
}

/// Body of `/v1/completions`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct CompletionRequest {
	#[serde(flatten)]
	pub(super) common: Common,
	pub(super) prompt: Prompts,
	max_tokens: Option<u32>,
	logprobs: Option<usize>,
	echo: Option<bool>,
	suffix: Option<String>,
	best_of: Option<u32>,
}

impl CompletionRequest {
	/// The prompts, and what is asked.
	pub(super) fn ask(self) -> Result<(Vec<Prompt>, Ask), ApiError> {
		let choices = self.common.n.unwrap_or(1);
		if self.echo.unwrap_or(false) || self.suffix.is_some() || self.best_of.is_some_and(|best| best != choices) {
			return Err(ApiError::invalid("echo, suffix and best_of are not supported"));
		}
		let ask = self.common.ask(Some(self.max_tokens.unwrap_or(DEFAULT_TOKENS)), self.logprobs)?;
		Ok((self.prompt.all(), ask))
	}
}

/// Body of `/v1/chat/completions`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ChatRequest {
	#[serde(flatten)]
	pub(super) common: Common,
	messages: Vec<ChatMessage>,
	max_tokens: Option<u32>,
	max_completion_tokens: Option<u32>,
	logprobs: Option<bool>,
	top_logprobs: Option<usize>,
	tools: Option<Elements>,
	functions: Option<Elements>,
	audio: Option<IgnoredAny>,
	response_format: Option<ResponseFormat>,
}

#[derive(Clone, Debug, Deserialize)]
struct ResponseFormat {
	r#type: String,
}

#[derive(Clone, Debug, Deserialize)]
struct ChatMessage {
	role: String,
	content: Option<Content>,
}

/// Text, or parts of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Content {
	Text(String),
	Parts(Vec<Part>),
}

#[derive(Clone, Debug, Deserialize)]
struct Part {
	text: Option<String>,
}

impl ChatRequest {
	/// The messages, and what is asked.
	pub(super) fn ask(self) -> Result<(Vec<Message>, Ask), ApiError> {
		if self.tools.is_some_and(|tools| !tools.is_empty()) || self.functions.is_some_and(|functions| !functions.is_empty()) {
			return Err(ApiError::field("tools", "tools are not supported"));
		}
		if self.audio.is_some() {
			return Err(ApiError::field("audio", "only text is supported"));
		}
		if self.response_format.is_some_and(|format| format.r#type != "text") {
			return Err(ApiError::field("response_format", "only text is supported"));
		}
		if self.messages.is_empty() {
			return Err(ApiError::field("messages", "there must be a message"));
		}
		let messages = self.messages.into_iter().map(|message| {
			let content = match message.content {
				None => Some(String::new()),
				Some(Content::Text(text)) => Some(text),
				Some(Content::Parts(parts)) => parts.into_iter().map(|part| part.text).collect(),
			};
			let content = content.ok_or_else(|| ApiError::field("messages", "messages must be text"))?;
			Ok(Message { role: message.role, content })
		});
		let messages = messages.collect::<Result<_, ApiError>>()?;
		let log = self.logprobs.unwrap_or(false).then(|| self.top_logprobs.unwrap_or(0));
		let ask = self.common.ask(self.max_completion_tokens.or(self.max_tokens), log)?;
		Ok((messages, ask))
	}
}

/// Body of `/v1/embeddings`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct EmbeddingRequest {
	pub(super) model: String,
	pub(super) input: Prompts,
	pub(super) encoding_format: Option<String>,
	pub(super) dimensions: Option<usize>,
}

#[cfg(test)]
mod tests {
	use super::*;

	fn chat(fields: &str) -> Result<Ask, String> {
		let body = format!(r#"{{"model": "m", "messages": [{{"role": "user", "content": "hi"}}]{fields}}}"#);
		let request: ChatRequest = serde_json::from_str(&body).map_err(|error| error.to_string())?;
		request.ask().map(|(_, ask)| ask).map_err(|error| error.json().to_string())
	}

	#[test]
	fn numbers_are_read_with_and_without_a_fraction() {
		let ask =
			chat(r#", "temperature": 0.7, "top_p": 0.25, "min_p": 1e-1, "presence_penalty": -1, "seed": -1, "top_k": -1, "n": 2"#).unwrap();
		let expected = Sampling { temperature: 0.7, top_p: 0.25, min_p: 0.1, presence: -1.0, seed: u64::MAX, ..Sampling::default() };
		assert_eq!((ask.sampling, ask.choices, ask.most), (expected, 2, None));
		let plain = chat(r#", "temperature": null, "max_tokens": 5, "seed": 1"#).unwrap();
		assert_eq!((plain.sampling, plain.most), (Sampling { seed: 1, ..Sampling::default() }, Some(5)));
	}

	#[test]
	fn what_is_not_supported_is_refused_by_its_name() {
		for (fields, named) in [
			(r#", "temperature": 11.5"#, "temperature"),
			(r#", "stop": """#, "stop"),
			(r#", "tools": [{}]"#, "tools"),
			(r#", "logit_bias": {"50": -100}"#, "logit_bias"),
			(r#", "response_format": {"type": "json_object"}"#, "response_format"),
			(r#", "logprobs": true, "top_logprobs": 21"#, "logprobs"),
			(r#", "max_tokens": 0"#, "max_tokens"),
		] {
			let error = chat(fields).unwrap_err();
			assert!(error.contains(&format!("\"param\":\"{named}\"")), "{fields}: {error}");
		}
		assert!(chat(r#", "temperature": "warm""#).is_err());
	}
}
