//! What a request asks of each of its answers, so that receipts can be held against it.

use crate::infer::{Card, Message};
use neuroshard_types::{inference::Sampling, F32};
use serde::Deserialize;
use serde_json::Value;

/// Tokens of a completion whose request says nothing.
const DEFAULT_TOKENS: u32 = 16;

/// Two kinds of requests that are paid for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
	/// A text, continued.
	Completion,
	/// A chat.
	Chat,
}

/// What is asked of the answers to one request.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Asked {
	/// Tokens of each prompt.
	pub(super) prompts: Vec<Vec<u32>>,
	/// Answers to each prompt.
	pub(super) choices: u32,
	/// Most tokens of an answer, if there is a limit.
	pub(super) most: Option<u32>,
	/// Whether texts end at strings of the client's choice.
	pub(super) stops: bool,
	/// Seed of the first answer to each prompt.
	seed: Option<u64>,
	settings: Settings,
}

/// How tokens are to be chosen, as far as the request says.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
struct Settings {
	temperature: Option<f64>,
	top_p: Option<f64>,
	top_k: Option<i64>,
	min_p: Option<f64>,
	repetition_penalty: Option<f64>,
	presence_penalty: Option<f64>,
	frequency_penalty: Option<f64>,
}

#[derive(Deserialize)]
struct Body {
	n: Option<u32>,
	seed: Option<i64>,
	stop: Option<Value>,
	max_tokens: Option<u32>,
	max_completion_tokens: Option<u32>,
	prompt: Option<Prompts>,
	messages: Option<Vec<ChatMessage>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Prompts {
	Text(String),
	Tokens(Vec<u32>),
	Texts(Vec<String>),
	ManyTokens(Vec<Vec<u32>>),
}

#[derive(Deserialize)]
struct ChatMessage {
	role: String,
	content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
	Text(String),
	Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
	text: String,
}

impl Asked {
	/// What the body `body` of a request asks of the model that is told by `card`.
	///
	/// # Errors
	/// In words for the client, what cannot be read.
	pub(super) fn of(kind: Kind, body: &Value, card: &Card) -> Result<Self, String> {
		let read = |error: serde_json::Error| format!("the request cannot be read: {error}");
		let settings = Settings::deserialize(body).map_err(read)?;
		let Body { n, seed, stop, max_tokens, max_completion_tokens, prompt, messages } = Body::deserialize(body).map_err(read)?;
		let tokens = |text: &str, marked| card.text.prompt(text, marked).map_err(|error| error.to_string());
		let (prompts, most) = match kind {
			Kind::Completion => {
				let prompts = match prompt.ok_or("the request has no prompt")? {
					Prompts::Text(text) => vec![tokens(&text, false)?],
					Prompts::Texts(texts) => texts.iter().map(|text| tokens(text, false)).collect::<Result<_, _>>()?,
					Prompts::Tokens(tokens) => vec![tokens],
					Prompts::ManyTokens(prompts) => prompts,
				};
				(prompts, Some(max_tokens.unwrap_or(DEFAULT_TOKENS)))
			}
			Kind::Chat => {
				let messages: Vec<Message> = messages.ok_or("the request has no messages")?.into_iter().map(Message::from).collect();
				let text = card.chat.prompt(&messages).map_err(|error| error.to_string())?;
				(vec![tokens(&text, card.chat.is_marked())?], max_completion_tokens.or(max_tokens))
			}
		};
		let stops = stop.is_some_and(|stop| !stop.is_null());
		Ok(Self { prompts, choices: n.unwrap_or(1), most, stops, seed: seed.map(i64::cast_unsigned), settings })
	}

	/// How many answers are asked for.
	pub(super) fn answers(&self) -> u32 {
		u32::try_from(self.prompts.len()).unwrap_or(u32::MAX).saturating_mul(self.choices)
	}

	/// The prompt that answer `choice` is to; `None` if nobody asked for that one.
	pub(super) fn prompt(&self, choice: u32) -> Option<&[u32]> {
		let place = usize::try_from(choice.checked_div(self.choices)?).ok()?;
		self.prompts.get(place).map(Vec::as_slice)
	}

	/// The setting by which the tokens of answer `choice` were not chosen as was asked, if there is one.
	pub(super) fn other_setting(&self, choice: u32, told: &Sampling) -> Option<&'static str> {
		let Settings { temperature, top_p, top_k, min_p, repetition_penalty, presence_penalty, frequency_penalty } = &self.settings;
		// Of one prompt, each choice has the seed after the one before.
		let seed = self.seed.map(|seed| seed.wrapping_add(choice.checked_rem(self.choices).unwrap_or_default().into()));
		// -1 stands for all, as 0 does.
		let top_k = top_k.map(|k| u32::try_from(k.max(0)).unwrap_or(u32::MAX));
		let differs = |asked: &Option<f64>, told: F32| asked.is_some_and(|asked| asked as f32 != told.get());
		let settings = [
			("seed", seed.is_some_and(|seed| seed != told.seed)),
			("temperature", differs(temperature, told.temperature)),
			("top_p", differs(top_p, told.top_p)),
			("top_k", top_k.is_some_and(|k| k != told.top_k)),
			("min_p", differs(min_p, told.min_p)),
			("repetition_penalty", differs(repetition_penalty, told.repetition)),
			("presence_penalty", differs(presence_penalty, told.presence)),
			("frequency_penalty", differs(frequency_penalty, told.frequency)),
		];
		settings.into_iter().find(|(_, differs)| *differs).map(|(name, _)| name)
	}
}

impl From<ChatMessage> for Message {
	fn from(message: ChatMessage) -> Self {
		let content = match message.content {
			None => String::new(),
			Some(Content::Text(text)) => text,
			Some(Content::Parts(parts)) => parts.into_iter().map(|part| part.text).collect(),
		};
		Self { role: message.role, content }
	}
}

#[cfg(test)]
mod tests {
	use super::{super::testing::card, *};
	use neuroshard_graph::sampler;
	use serde_json::json;

	fn of(kind: Kind, body: Value) -> Result<Asked, String> {
		Asked::of(kind, &body, &card())
	}

	#[test]
	fn prompts_limits_and_settings_are_read_as_the_provider_reads_them() {
		let asked = of(Kind::Completion, json!({ "prompt": ["a", "bc"], "n": 2, "seed": -1, "top_k": -1, "temperature": 0.7 })).unwrap();
		assert_eq!((asked.choices, asked.most, asked.stops), (2, Some(16), false));
		assert_eq!(asked.prompt(1), Some(&card().text.prompt("a", false).unwrap()[..]));
		assert_eq!(asked.prompt(3), Some(&card().text.prompt("bc", false).unwrap()[..]));
		assert_eq!(asked.prompt(4), None);
		let told = |seed, temperature| Sampling::from(sampler::Sampling { seed, temperature, ..Default::default() });
		assert_eq!(asked.other_setting(0, &told(u64::MAX, 0.7)), None);
		assert_eq!(asked.other_setting(3, &told(0, 0.7)), None);
		assert_eq!(asked.other_setting(3, &told(1, 0.7)), Some("seed"));
		assert_eq!(asked.other_setting(3, &told(0, 0.75)), Some("temperature"));
		let chat = json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }], "max_tokens": 5, "stop": "x" });
		let asked = of(Kind::Chat, chat).unwrap();
		assert_eq!((asked.choices, asked.most, asked.stops), (1, Some(5), true));
		assert!(asked.prompt(0).unwrap().len() > 2);
	}

	#[test]
	fn what_cannot_be_read_is_refused_in_words() {
		assert!(of(Kind::Completion, json!({ "n": 1 })).unwrap_err().contains("prompt"));
		assert!(of(Kind::Chat, json!({ "prompt": "x" })).unwrap_err().contains("messages"));
		assert!(of(Kind::Chat, json!({ "messages": [{ "role": "user", "content": [{ "image_url": "x" }] }] })).is_err());
		assert!(of(Kind::Completion, json!({ "prompt": "x", "temperature": "warm" })).is_err());
		let none = of(Kind::Completion, json!({ "prompt": "x", "n": 0 })).unwrap();
		assert_eq!(none.prompt(0), None);
	}
}
