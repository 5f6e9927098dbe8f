//! Parameters of a request that its answers have in common, so that receipts can be held against them.

use neuroshard_graph::sampler;
use neuroshard_http::api::{with_receipt, Fault, Input, Kind, Prompt, Request, Settings};
use neuroshard_inference::Card;
use neuroshard_types::{inference::Sampling, F32};

/// Parameters of the answers to one request.
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
	/// True if texts go on behind a token that ends them.
	pub(super) endless: bool,
	/// Seed of the first answer to each prompt.
	seed: u64,
	/// Sampling settings, but for the seed: by the API's defaults where the request says nothing.
	settings: sampler::Sampling,
}

impl Asked {
	/// Reads what a request with this body asks of the model of `card`, and returns it with the body for the provider, which asks for receipts as well.
	///
	/// # Errors
	/// What cannot be read, or is not supported.
	pub(super) fn of(kind: Kind, body: &[u8], card: &Card) -> Result<(Self, Vec<u8>), Fault> {
		let Request { input, settings, .. } = Request::read(kind, body)?;
		let wrong = |field: &str, error: &dyn ToString| Fault { param: Some(field.into()), code: None, message: error.to_string() };
		let tokens = |field, text: &str, marked| card.text.prompt(text, marked).map_err(|error| wrong(field, &error));
		let prompts = match input {
			Input::Prompts(prompts) => {
				let prompts = prompts.into_iter().map(|prompt| match prompt {
					Prompt::Text(text) => tokens("prompt", &text, false),
					Prompt::Tokens(tokens) => Ok(tokens),
				});
				prompts.collect::<Result<_, _>>()?
			}
			Input::Chat(messages) => {
				let text = card.chat.prompt(&messages).map_err(|error| wrong("messages", &error))?;
				vec![tokens("messages", &text, card.chat.is_marked())?]
			}
		};
		let Settings { sampling, seed, choices, most, stops, endless, .. } = settings;
		// Whoever draws it could draw until it likes the answer.
		let seed = seed.unwrap_or_else(rand::random);
		Ok((Self { prompts, choices, most, stops: stops.to_vec(), endless, seed, settings: sampling }, with_receipt(body, seed)?))
	}

	/// Returns the number of answers that are asked for.
	pub(super) fn answers(&self) -> u32 {
		u32::try_from(self.prompts.len()).unwrap_or(u32::MAX).saturating_mul(self.choices)
	}

	/// The prompt that answer `choice` is to; `None` if nobody asked for that one.
	pub(super) fn prompt(&self, choice: u32) -> Option<&[u32]> {
		let place = usize::try_from(choice.checked_div(self.choices)?).ok()?;
		self.prompts.get(place).map(Vec::as_slice)
	}

	/// The setting by which the tokens of answer `choice` were not chosen as was asked, if there is one: what the request does not name has the API's default,
	/// or for the seed that which was drawn, and is not for the provider to choose.
	pub(super) fn other_setting(&self, choice: u32, told: &Sampling) -> Option<&'static str> {
		let asked = Sampling::from(self.settings);
		// Of one prompt, each choice has the seed after the one before.
		let seed = self.seed.wrapping_add(choice.checked_rem(self.choices).unwrap_or_default().into());
		// Equal numbers, not equal bits: there are two zeros.
		let differs = |asked: F32, told: F32| asked.get() != told.get();
		let settings = [
			("seed", seed != told.seed),
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

#[cfg(test)]
mod tests {
	use super::{super::testing::card, *};
	use serde_json::{json, Value};

	fn of(kind: Kind, mut body: Value) -> Result<Asked, Fault> {
		body["model"] = "run-0".into();
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
		let plain = sampler::Sampling { seed: asked.seed, ..Default::default() };
		assert_eq!(asked.other_setting(0, &told(plain)), None);
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
	fn the_seed_that_a_request_does_not_name_is_not_for_the_provider_to_choose() {
		let body = |seed: &str| format!(r#"{{"model":"run-0","prompt":"a"{seed}}}"#);
		let of = |seed: &str| Asked::of(Kind::Completion, body(seed).as_bytes(), &card()).unwrap();
		let drawn: Vec<u64> = ["", "", r#","seed":null"#]
			.into_iter()
			.map(|none| {
				let (asked, sent) = of(none);
				let sent: Value = serde_json::from_slice(&sent).unwrap();
				assert_eq!(sent["seed"], json!(asked.seed));
				let other = sampler::Sampling { seed: asked.seed.wrapping_add(1), ..Default::default() };
				assert_eq!(asked.other_setting(0, &told(other)), Some("seed"));
				asked.seed
			})
			.collect();
		assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2], "{drawn:?}");
		assert_eq!(of(r#","seed":7"#).0.seed, 7);
	}

	#[test]
	fn what_cannot_be_read_is_refused_by_its_field_before_anybody_is_asked() {
		let param = |kind, body| of(kind, body).unwrap_err().param.unwrap();
		assert_eq!(param(Kind::Completion, json!({ "n": 1 })), "prompt");
		assert_eq!(param(Kind::Chat, json!({ "n": 1 })), "messages");
		let part = json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": "x" }] }]);
		assert_eq!(param(Kind::Chat, json!({ "messages": part })), "messages[0].content[0].type");
		assert_eq!(param(Kind::Completion, json!({ "prompt": "x", "temprature": 1 })), "temprature");
		assert_eq!(param(Kind::Completion, json!({ "prompt": "x", "tools": [{}] })), "tools");
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
			assert!(param(Kind::Completion, body).starts_with(field), "{field} {value}");
		}
	}

	#[test]
	fn the_provider_gets_the_body_as_it_was_written_and_is_asked_for_receipts() {
		let asked = br#"{"model": "m", "prompt":[[0], [1.0 ]], "seed": -1, "top_p": 1.50e-1, "receipt":false}"#;
		let (_, body) = Asked::of(Kind::Completion, asked, &card()).unwrap();
		assert_eq!(body, br#"{"receipt":true,"seed":18446744073709551615,"model":"m","prompt":[[0], [1.0 ]],"top_p":1.50e-1}"#);
	}

	#[test]
	fn a_stop_string_is_found_where_it_begins() {
		let asked = of(Kind::Completion, json!({ "prompt": "x", "stop": ["b\u{df}", "c"] })).unwrap();
		assert_eq!((asked.stop("ab", 0), asked.stop("ab\u{df}c", 2), asked.stop("\u{df}\u{df}c", 4)), (None, Some(1), Some(4)));
	}
}
