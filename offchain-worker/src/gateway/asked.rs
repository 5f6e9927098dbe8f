//! What a request asks of each of its answers, so that receipts can be held against it.

use super::fields::{read, AtMost, Fields, Form};
use crate::infer::{Card, Message};
use neuroshard_graph::sampler;
use neuroshard_types::{inference::Sampling, F32};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Tokens of a completion whose request says nothing.
const DEFAULT_TOKENS: u32 = 16;
/// Prompts of a request, answers to each, and strings at which those end: what providers take.
const MOST_PROMPTS: usize = 64;
const MOST_CHOICES: u32 = 16;
const MOST_STOPS: usize = 16;
/// Messages of a chat, and parts of one.
const MOST_MESSAGES: usize = 16_384;
const MOST_PARTS: usize = 16_384;

/// Two kinds of requests that are paid for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
	/// A text, continued.
	Completion,
	/// A chat.
	Chat,
}

impl Kind {
	/// Where it is asked for.
	pub(super) fn path(self) -> &'static str {
		match self {
			Self::Completion => "/v1/completions",
			Self::Chat => "/v1/chat/completions",
		}
	}
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
	/// Strings at which texts end.
	pub(super) stops: Vec<String>,
	/// Whether texts go on behind a token that ends them.
	pub(super) endless: bool,
	/// Seed of the first answer to each prompt; `None` if the provider draws one.
	seed: Option<u64>,
	/// How tokens are to be chosen, but for the seed: by the API's defaults where the request says nothing.
	settings: sampler::Sampling,
}

#[derive(Deserialize)]
struct ChatMessage<'a> {
	role: String,
	#[serde(borrow)]
	content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part {
	text: String,
}

impl Asked {
	/// What a request with this body asks of the model that is told by `card`, and the body for the provider, which asks for receipts as well.
	///
	/// # Errors
	/// In words for the client, what cannot be read.
	pub(super) fn of(kind: Kind, body: &[u8], card: &Card) -> Result<(Self, Vec<u8>), String> {
		let fields = Fields::of(body)?;
		let tokens = |text: &str, marked| card.text.prompt(text, marked).map_err(|error| error.to_string());
		let limit = |name| fields.whole(name).map(|most| most.map(|most| u32::try_from(most.max(0)).unwrap_or(u32::MAX)));
		let most = match limit("max_completion_tokens")? {
			Some(most) => Some(most),
			None => limit("max_tokens")?,
		};
		let (prompts, most) = match kind {
			Kind::Completion => {
				let prompt = fields.raw("prompt").ok_or("the request has no prompt")?;
				let prompts = match Form::of(prompt) {
					Form::Text => vec![tokens(&read::<String>("prompt", prompt)?, false)?],
					Form::Texts => {
						let texts: AtMost<String, MOST_PROMPTS> = read("prompt", prompt)?;
						texts.0.iter().map(|text| tokens(text, false)).collect::<Result<_, _>>()?
					}
					Form::Lists => read::<AtMost<Vec<u32>, MOST_PROMPTS>>("prompt", prompt)?.0,
					Form::List => vec![read("prompt", prompt)?],
					Form::Other => return Err("prompt must be a text, a list of tokens, or a list of either".into()),
				};
				(prompts, Some(most.unwrap_or(DEFAULT_TOKENS)))
			}
			Kind::Chat => {
				let messages = fields.raw("messages").ok_or("the request has no messages")?;
				let messages: AtMost<ChatMessage<'_>, MOST_MESSAGES> = read("messages", messages)?;
				let messages = messages.0.into_iter().map(ChatMessage::message).collect::<Result<Vec<Message>, _>>()?;
				let text = card.chat.prompt(&messages).map_err(|error| error.to_string())?;
				(vec![tokens(&text, card.chat.is_marked())?], most)
			}
		};
		let choices = fields.whole("n")?.map_or(Some(1), |n| u32::try_from(n).ok().filter(|n| (1..=MOST_CHOICES).contains(n)));
		let asked = Self {
			prompts,
			choices: choices.ok_or_else(|| format!("n must be a number from 1 to {MOST_CHOICES}"))?,
			most,
			stops: stops(&fields)?,
			endless: fields.get("ignore_eos")?.unwrap_or(false),
			seed: fields.whole("seed")?.map(seed).transpose()?,
			settings: settings(&fields)?,
		};
		Ok((asked, fields.with("receipt", "true")))
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

	/// The setting by which the tokens of answer `choice` were not chosen as was asked, if there is one: what the request does not name has the API's default,
	/// and is not for the provider to choose, but for the seed.
	pub(super) fn other_setting(&self, choice: u32, told: &Sampling) -> Option<&'static str> {
		let asked = Sampling::from(self.settings);
		// Of one prompt, each choice has the seed after the one before.
		let seed = self.seed.map(|seed| seed.wrapping_add(choice.checked_rem(self.choices).unwrap_or_default().into()));
		// Equal numbers, not equal bits: there are two zeros.
		let differs = |asked: F32, told: F32| asked.get() != told.get();
		let settings = [
			("seed", seed.is_some_and(|seed| seed != told.seed)),
			("temperature", differs(asked.temperature, told.temperature)),
			("top_p", differs(asked.top_p, told.top_p)),
			("top_k", asked.top_k != told.top_k),
			("min_p", differs(asked.min_p, told.min_p)),
			("repetition_penalty", differs(asked.repetition, told.repetition)),
			("presence_penalty", differs(asked.presence, told.presence)),
			("frequency_penalty", differs(asked.frequency, told.frequency)),
		];
		settings.into_iter().find(|(_, differs)| *differs).map(|(name, _)| name)
	}

	/// The place in `text` at which the first of the stop strings begins, if there is one behind the first `known` bytes, where none is.
	pub(super) fn stop(&self, text: &str, known: usize) -> Option<usize> {
		let found = self.stops.iter().filter_map(|stop| {
			// One may have begun in what is known.
			let from = text.floor_char_boundary(known.saturating_sub(stop.len()));
			text.get(from..)?.find(stop.as_str()).map(|at| from.saturating_add(at))
		});
		found.min()
	}
}

/// The strings at which texts end.
fn stops(fields: &Fields<'_>) -> Result<Vec<String>, String> {
	let Some(stop) = fields.raw("stop") else { return Ok(Vec::new()) };
	let stops = match Form::of(stop) {
		Form::Text => vec![read("stop", stop)?],
		_ => read::<AtMost<String, MOST_STOPS>>("stop", stop)?.0,
	};
	match stops.iter().any(String::is_empty) {
		true => Err("stop must not be empty".into()),
		false => Ok(stops),
	}
}

fn seed(seed: i128) -> Result<u64, String> {
	let whole = u64::try_from(seed).or_else(|_| i64::try_from(seed).map(i64::cast_unsigned));
	whole.map_err(|_| "seed must be a number of 64 bits".into())
}

/// How tokens are to be chosen. The API's defaults are those of the sampler.
fn settings(fields: &Fields<'_>) -> Result<sampler::Sampling, String> {
	let plain = sampler::Sampling::default();
	let number = |name, default: f32| fields.get::<f64>(name).map(|told| told.map_or(default, |told| told as f32));
	let settings = sampler::Sampling {
		temperature: number("temperature", plain.temperature)?,
		top_p: number("top_p", plain.top_p)?,
		// -1 stands for all, as 0 does.
		top_k: fields.whole("top_k")?.map_or(plain.top_k, |k| u32::try_from(k.max(0)).unwrap_or(u32::MAX)),
		min_p: number("min_p", plain.min_p)?,
		repetition: number("repetition_penalty", plain.repetition)?,
		presence: number("presence_penalty", plain.presence)?,
		frequency: number("frequency_penalty", plain.frequency)?,
		seed: plain.seed,
	};
	settings.validate().map(|()| settings).map_err(|error| error.to_string())
}

impl ChatMessage<'_> {
	fn message(self) -> Result<Message, String> {
		let content = match self.content.filter(|content| content.get() != "null") {
			None => String::new(),
			Some(content) if Form::of(content) == Form::Text => read("content", content)?,
			Some(content) => read::<AtMost<Part, MOST_PARTS>>("content", content)?.0.into_iter().map(|part| part.text).collect(),
		};
		Ok(Message { role: self.role, content })
	}
}

#[cfg(test)]
mod tests {
	use super::{super::testing::card, *};
	use serde_json::{json, Value};

	fn of(kind: Kind, body: Value) -> Result<Asked, String> {
		Asked::of(kind, body.to_string().as_bytes(), &card()).map(|(asked, _)| asked)
	}

	fn told(settings: sampler::Sampling) -> Sampling {
		settings.into()
	}

	#[test]
	fn prompts_limits_and_settings_are_read_as_the_provider_reads_them() {
		let asked = of(Kind::Completion, json!({ "prompt": ["a", "bc"], "n": 2, "seed": -1, "top_k": -1, "temperature": 0.7 })).unwrap();
		assert_eq!((asked.choices, asked.most, asked.stops.len(), asked.endless), (2, Some(16), 0, false));
		assert_eq!(asked.prompt(1), Some(&card().text.prompt("a", false).unwrap()[..]));
		assert_eq!(asked.prompt(3), Some(&card().text.prompt("bc", false).unwrap()[..]));
		assert_eq!(asked.prompt(4), None);
		let with = |seed, temperature| told(sampler::Sampling { seed, temperature, ..Default::default() });
		assert_eq!(asked.other_setting(0, &with(u64::MAX, 0.7)), None);
		assert_eq!(asked.other_setting(3, &with(0, 0.7)), None);
		assert_eq!(asked.other_setting(3, &with(1, 0.7)), Some("seed"));
		assert_eq!(asked.other_setting(3, &with(0, 0.75)), Some("temperature"));
		let tokens = of(Kind::Completion, json!({ "prompt": [[1, 2], [3]], "max_tokens": 5.0, "ignore_eos": true })).unwrap();
		assert_eq!((tokens.prompts, tokens.most, tokens.endless), (vec![vec![1, 2], vec![3]], Some(5), true));
		let chat = json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }], "max_tokens": 5, "stop": "x" });
		let asked = of(Kind::Chat, chat).unwrap();
		assert_eq!((asked.choices, asked.most, &asked.stops[..]), (1, Some(5), &["x".to_owned()][..]));
		assert!(asked.prompt(0).unwrap().len() > 2);
	}

	#[test]
	fn settings_that_the_request_does_not_name_are_the_defaults_of_the_api() {
		let asked = of(Kind::Completion, json!({ "prompt": "a", "top_p": null })).unwrap();
		let plain = sampler::Sampling::default();
		for seed in [0, 7] {
			assert_eq!(asked.other_setting(0, &told(sampler::Sampling { seed, ..plain })), None);
		}
		for (changed, name) in [
			(sampler::Sampling { temperature: 0.0, ..plain }, "temperature"),
			(sampler::Sampling { top_p: 0.5, ..plain }, "top_p"),
			(sampler::Sampling { top_k: 1, ..plain }, "top_k"),
			(sampler::Sampling { min_p: 0.5, ..plain }, "min_p"),
			(sampler::Sampling { repetition: 2.0, ..plain }, "repetition_penalty"),
			(sampler::Sampling { presence: -2.0, ..plain }, "presence_penalty"),
			(sampler::Sampling { frequency: 2.0, ..plain }, "frequency_penalty"),
			(sampler::Sampling { temperature: f32::NAN, ..plain }, "temperature"),
		] {
			assert_eq!(asked.other_setting(0, &told(changed)), Some(name));
		}
	}

	#[test]
	fn what_cannot_be_read_is_refused_in_words() {
		assert!(of(Kind::Completion, json!({ "n": 1 })).unwrap_err().contains("prompt"));
		assert!(of(Kind::Chat, json!({ "prompt": "x" })).unwrap_err().contains("messages"));
		assert!(of(Kind::Chat, json!({ "messages": [{ "role": "user", "content": [{ "image_url": "x" }] }] })).is_err());
		for (field, value) in [
			("temperature", json!("warm")),
			("temperature", json!(3e38)),
			("top_p", json!(0)),
			("n", json!(0)),
			("n", json!(17)),
			("n", json!("2")),
			("stop", json!([""])),
			("stop", json!(vec!["x"; 17])),
			("seed", json!(1e30)),
			("prompt", json!(5)),
			("prompt", json!(vec!["x"; 65])),
			("prompt", json!(vec![[0]; 65])),
		] {
			let mut body = json!({ "prompt": "x" });
			body[field] = value.clone();
			let words = of(Kind::Completion, body).unwrap_err();
			assert!(words.contains(field), "{field} {value}: {words}");
		}
	}

	#[test]
	fn the_provider_gets_the_body_as_it_was_written_and_is_asked_for_receipts() {
		let (_, body) = Asked::of(Kind::Completion, br#"{"prompt":"x", "extra":[[0],1.50], "receipt":false}"#, &card()).unwrap();
		assert_eq!(body, br#"{"extra":[[0],1.50],"prompt":"x","receipt":true}"#);
	}

	#[test]
	fn a_stop_string_is_found_where_it_begins() {
		let asked = of(Kind::Completion, json!({ "prompt": "x", "stop": ["b\u{df}", "c"] })).unwrap();
		assert_eq!((asked.stop("ab", 0), asked.stop("ab\u{df}c", 2), asked.stop("\u{df}\u{df}c", 4)), (None, Some(1), Some(4)));
	}
}
