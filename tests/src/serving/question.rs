//! What a client asks, and what it is answered.

use super::Reply;
use serde_json::{json, Value};
use std::{
	io::{Error, ErrorKind, Result},
	net::SocketAddr,
};

/// A request for completions or for a chat.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
	/// The prompt, or what the user says.
	pub prompt: String,
	/// Whether it is a chat.
	pub chat: bool,
	/// Whether pieces are told as they come.
	pub stream: bool,
	/// Answers.
	pub n: usize,
	/// Tokens of each.
	pub tokens: u32,
	/// Seed of the first answer.
	pub seed: u64,
	/// 0 for the likeliest tokens.
	pub temperature: f32,
	/// Whether receipts are asked for.
	pub receipt: bool,
}

/// The text of each answer, and why it ends.
pub type Answers = Vec<(String, String)>;

fn wrong(what: impl Into<String>) -> Error {
	Error::new(ErrorKind::InvalidData, what.into())
}

impl Default for Question {
	fn default() -> Self {
		let prompt = "Once upon a time".to_owned();
		Self { prompt, chat: false, stream: false, n: 1, tokens: 40, seed: 7, temperature: 1.0, receipt: false }
	}
}

impl Question {
	/// Where it is asked.
	pub fn path(&self) -> &'static str {
		match self.chat {
			true => "/v1/chat/completions",
			false => "/v1/completions",
		}
	}

	/// The body of the request, for the model of this name.
	pub fn body(&self, model: &str) -> String {
		let mut body = json!({
			"model": model,
			"stream": self.stream,
			"n": self.n,
			"max_tokens": self.tokens,
			"seed": self.seed,
			"temperature": self.temperature,
			"ignore_eos": true,
			"receipt": self.receipt,
		});
		match self.chat {
			true => body["messages"] = json!([{ "role": "user", "content": self.prompt }]),
			false => body["prompt"] = json!(self.prompt),
		}
		body.to_string()
	}

	/// Asks, and waits for all of the answers.
	///
	/// # Errors
	/// Those of the connection; [`ErrorKind::InvalidData`] with what came, if that is not what was asked for or not all of it.
	pub async fn ask(&self, address: SocketAddr, model: &str) -> Result<Answers> {
		if self.stream {
			return self.begin(address, model).await?.all().await;
		}
		let reply = Reply::to(address, self.path(), self.body(model).as_bytes()).await?;
		let status = reply.status;
		self.whole(status, &reply.json().await?)
	}

	/// Asks for a stream, and waits for its beginning.
	///
	/// # Errors
	/// As [`Self::ask`].
	pub async fn begin(&self, address: SocketAddr, model: &str) -> Result<Streamed> {
		let reply = Reply::to(address, self.path(), self.body(model).as_bytes()).await?;
		if reply.status != 200 {
			let status = reply.status;
			return Err(wrong(format!("status {status}: {}", reply.json().await?)));
		}
		Ok(Streamed { chat: self.chat, reply, answers: vec![(String::new(), None); self.n], done: false })
	}

	/// The answers in a body.
	///
	/// # Errors
	/// [`ErrorKind::InvalidData`] with the body, if it has not all of them.
	pub fn whole(&self, status: u16, body: &Value) -> Result<Answers> {
		let choice = |choice: &Value| {
			let text = if self.chat { &choice["message"]["content"] } else { &choice["text"] };
			Some((text.as_str()?.to_owned(), choice["finish_reason"].as_str()?.to_owned()))
		};
		let answers: Option<Answers> = body["choices"].as_array().and_then(|choices| choices.iter().map(choice).collect());
		answers.filter(|answers| status == 200 && answers.len() == self.n).ok_or_else(|| wrong(format!("status {status}: {body}")))
	}
}

/// The answers of a stream, as far as they have come.
#[derive(Debug)]
pub struct Streamed {
	chat: bool,
	reply: Reply,
	answers: Vec<(String, Option<String>)>,
	done: bool,
}

impl Streamed {
	/// Waits for the next piece; whether there was one.
	///
	/// # Errors
	/// Those of the connection; [`ErrorKind::InvalidData`] with what came, if that is no piece of an answer that is under way.
	pub async fn next(&mut self) -> Result<bool> {
		let Some(data) = self.reply.event().await? else { return Ok(false) };
		if self.done {
			return Err(wrong(format!("behind the end: {data}")));
		}
		if data == "[DONE]" {
			self.done = true;
			return Ok(true);
		}
		let event: Value = serde_json::from_str(&data).map_err(|_| wrong(&*data))?;
		let choice = &event["choices"][0];
		let text = if self.chat { &choice["delta"]["content"] } else { &choice["text"] };
		let index = choice["index"].as_u64().and_then(|index| usize::try_from(index).ok());
		match (index.and_then(|index| self.answers.get_mut(index)), text.as_str()) {
			(Some((all, ended @ None)), Some(text)) => {
				*all += text;
				*ended = choice["finish_reason"].as_str().map(str::to_owned);
				Ok(true)
			}
			_ => Err(wrong(data)),
		}
	}

	/// The text of each answer, as far as it has come.
	pub fn texts(&self) -> Vec<&str> {
		self.answers.iter().map(|(text, _)| &**text).collect()
	}

	/// Whether the stream has told its end.
	pub fn is_done(&self) -> bool {
		self.done
	}

	/// Waits for the rest.
	///
	/// # Errors
	/// As [`Self::next`]; [`ErrorKind::InvalidData`] if the answers are not complete.
	pub async fn all(mut self) -> Result<Answers> {
		while self.next().await? {}
		let all: Option<Answers> = self.answers.into_iter().map(|(text, finish)| Some((text, finish?))).collect();
		all.filter(|_| self.done).ok_or_else(|| wrong("the stream ended before its answers"))
	}
}
