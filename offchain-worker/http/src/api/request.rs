//! Requests for completions and chats.

use super::{
	fault::Fault,
	fields,
	input::{messages, prompts, Input},
	json::{Members, Path, Type},
	Kind,
};
use neuroshard_graph::sampler::Sampling;
use std::sync::Arc;

/// Answers to one prompt, at most.
const MOST_CHOICES: u32 = 16;
/// Alternatives to a token, at most.
const MOST_ALTERNATIVES: u32 = 20;
/// Stop strings, at most, and bytes of one.
const MOST_STOPS: usize = 16;
const STOP_BYTES: usize = 256;
/// Tokens of a completion whose request says nothing.
const DEFAULT_TOKENS: u32 = 16;

/// A request for completions or for a chat, in which each value is in its range.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
	/// Name of the model.
	pub model: String,
	/// Input that is continued.
	pub input: Input,
	/// Settings of the answers.
	pub settings: Settings,
}

/// Settings for each answer to a request.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
	/// Sampling settings, by default where nothing is said; its seed is 0 if none is named.
	pub sampling: Sampling,
	/// Seed of the first answer to each prompt, if one is named. One below 0 is that of the same 64 bits.
	pub seed: Option<u64>,
	/// Answers to each prompt.
	pub choices: u32,
	/// Most tokens of an answer, 0 only for one that begins with its prompt; `None` for all that the model has room for.
	pub most: Option<u32>,
	/// Strings at which an answer ends; none of them is empty.
	pub stops: Arc<[String]>,
	/// Alternatives to each token, if probabilities are asked for.
	pub log: Option<usize>,
	/// True if each answer begins with its prompt.
	pub echo: bool,
	/// True if pieces are told as they come.
	pub stream: bool,
	/// True if a stream ends with the number of its tokens.
	pub usage: bool,
	/// True if answers go on behind a token that ends texts.
	pub endless: bool,
	/// True if each answer comes with its receipt.
	pub receipt: bool,
}

impl Request {
	/// Reads a request's body.
	///
	/// # Errors
	/// [`Fault`].
	pub fn read(kind: Kind, body: &[u8]) -> Result<Self, Fault> {
		let members = Members::of(body)?;
		fields::check(kind, &members)?;
		let flag = |name| members.get(name).map_or(Ok(false), |field| field.flag());
		let choices = number(&members, "n", 1, MOST_CHOICES)?.unwrap_or(1);
		if let Some(best) = members.get("best_of") {
			if best.whole(1..=MOST_CHOICES.into())? != choices.into() {
				return Err(Fault::unsupported("best_of", "all answers are told, so that it can only be what n is"));
			}
		}
		let (sampling, seed) = (sampling(&members)?, seed(&members)?);
		let echo = flag("echo")?;
		let most = match kind {
			Kind::Chat => most(&members, 1)?,
			_ => Some(most(&members, if echo { 0 } else { 1 })?.unwrap_or(DEFAULT_TOKENS)),
		};
		let input = match kind {
			Kind::Chat => Input::Chat(messages(&members)?),
			_ => Input::Prompts(prompts(&members, "prompt")?),
		};
		let settings = Settings {
			sampling: Sampling { seed: seed.unwrap_or_default(), ..sampling },
			seed,
			choices,
			most,
			stops: stops(&members)?.into(),
			log: log(kind, &members)?,
			echo,
			stream: flag("stream")?,
			usage: usage(&members)?,
			endless: flag("ignore_eos")?,
			receipt: flag("receipt")?,
		};
		Ok(Self { model: model(&members)?, input, settings })
	}
}

pub(super) fn model(members: &Members) -> Result<String, Fault> {
	let what = "the name of the model, as /v1/models tells it";
	members.get("model").ok_or_else(|| Fault::missing("model", what))?.text("a string, the name of the model")
}

/// A whole number within bounds.
fn number(members: &Members, name: &'static str, least: u32, most: u32) -> Result<Option<u32>, Fault> {
	let Some(field) = members.get(name) else { return Ok(None) };
	// Within bounds of 32 bits.
	Ok(u32::try_from(field.whole(least.into()..=most.into())?).ok())
}

fn most(members: &Members, least: u32) -> Result<Option<u32>, Fault> {
	let [old, new] = ["max_tokens", "max_completion_tokens"].map(|name| number(members, name, least, u32::MAX));
	match (old?, new?) {
		(Some(old), Some(new)) if old != new => {
			Err(Fault::value("max_completion_tokens", "max_completion_tokens and max_tokens are the same setting, and differ"))
		}
		(old, new) => Ok(new.or(old)),
	}
}

fn seed(members: &Members) -> Result<Option<u64>, Fault> {
	let Some(field) = members.get("seed") else { return Ok(None) };
	let seed = field.whole(i64::MIN.into()..=u64::MAX.into())?;
	Ok(u64::try_from(seed).ok().or_else(|| i64::try_from(seed).ok().map(i64::cast_unsigned)))
}

fn sampling(members: &Members) -> Result<Sampling, Fault> {
	let mut sampling = Sampling::default();
	for (name, setting) in [
		("temperature", &mut sampling.temperature),
		("top_p", &mut sampling.top_p),
		("min_p", &mut sampling.min_p),
		("repetition_penalty", &mut sampling.repetition),
		("presence_penalty", &mut sampling.presence),
		("frequency_penalty", &mut sampling.frequency),
	] {
		if let Some(field) = members.get(name) {
			*setting = field.number()?;
		}
	}
	if let Some(field) = members.get("top_k") {
		// -1 stands for all, as 0 does.
		sampling.top_k = u32::try_from(field.whole(-1..=u32::MAX.into())?).unwrap_or(0);
	}
	sampling.validate().map_err(|error| {
		let given = members.get(error.setting).map(|field| format!(", not {}", super::fault::short(field.written()))).unwrap_or_default();
		Fault::value(error.setting, format!("{error}{given}"))
	})?;
	Ok(sampling)
}

fn stops(members: &Members) -> Result<Vec<String>, Fault> {
	let expected = "a string, or a list of strings";
	let Some(field) = members.get("stop") else { return Ok(Vec::new()) };
	let mut stops = Vec::new();
	let mut add = |path: Path, stop: String| {
		if stop.is_empty() || stop.len() > STOP_BYTES {
			return Err(Fault::value(path, format!("{path} must have from 1 to {STOP_BYTES} bytes, not {}", stop.len())));
		}
		if stops.len() == MOST_STOPS {
			return Err(Fault::value(field.path, format!("stop has more than {MOST_STOPS} strings")));
		}
		stops.push(stop);
		Ok(())
	};
	match field.kind() {
		Type::List => field.each(expected, |entry| add(entry.path, entry.text("a string")?))?,
		_ => add(field.path, field.text(expected)?)?,
	}
	Ok(stops)
}

/// Alternatives to each token: completions name their number at once, chats in a second field.
fn log(kind: Kind, members: &Members) -> Result<Option<usize>, Fault> {
	let name = if kind == Kind::Chat { "top_logprobs" } else { "logprobs" };
	let count = number(members, name, 0, MOST_ALTERNATIVES)?.and_then(|count| usize::try_from(count).ok());
	if kind != Kind::Chat {
		return Ok(count);
	}
	let is_asked = members.get("logprobs").map_or(Ok(false), |field| field.flag())?;
	match count {
		Some(1..) if !is_asked => Err(Fault::value("top_logprobs", "top_logprobs is only for requests with \"logprobs\": true")),
		count => Ok(is_asked.then(|| count.unwrap_or(0))),
	}
}

fn usage(members: &Members) -> Result<bool, Fault> {
	let Some(field) = members.get("stream_options") else { return Ok(false) };
	let options = field.members("an object, such as {\"include_usage\": true}")?;
	fields::STREAM_OPTIONS.check(&options, Some(&field.path))?;
	options.within(&field.path, "include_usage").map_or(Ok(false), |field| field.flag())
}

/// The request in `body`, with a wish for receipts and for this seed.
///
/// # Errors
/// [`Fault`], if `body` is no object of JSON.
pub fn with_receipt(body: &[u8], seed: u64) -> Result<Vec<u8>, Fault> {
	let members = Members::of(body)?;
	let mut wished = format!(r#"{{"receipt":true,"seed":{seed}"#).into_bytes();
	for (name, raw) in members.iter().filter(|(name, _)| !matches!(*name, "receipt" | "seed")) {
		wished.extend_from_slice(b",");
		// A string is written as JSON without fail.
		wished.extend(serde_json::to_vec(name).unwrap_or_default());
		wished.extend_from_slice(b":");
		wished.extend_from_slice(raw.get().as_bytes());
	}
	wished.push(b'}');
	Ok(wished)
}

#[cfg(test)]
mod tests;
