//! One answer: tokens from the engine become text, up to a stop string, and what is told about them.

use super::{
	batcher::{End, Reply, Token},
	error::ApiError,
	paid::Reserved,
	stops::Stops,
};
use crate::{
	infer::text::{Growing, Text},
	receipt::{Issuer, Transcript},
};
use neuroshard_graph::sampler::Sampling;
use neuroshard_types::inference::Ending;
use serde_json::{json, Value};
use std::sync::Arc;
use tokio::sync::mpsc;

/// A piece of an answer.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Piece {
	pub(super) text: String,
	pub(super) tokens: Vec<Token>,
	/// Why the answer ends, with the last piece.
	pub(super) finish: Option<&'static str>,
}

/// An answer that is on its way.
pub(super) struct Answer {
	text: Arc<Text>,
	replies: mpsc::Receiver<Reply>,
	growing: Growing,
	stops: Stops,
	sampling: Sampling,
	prompt: Vec<u32>,
	tokens: Vec<u32>,
	/// Why it has ended, if it has.
	ended: Option<Ending>,
	/// Its place in a session, and who makes receipts, if it is paid for and has not ended.
	reserved: Option<(Reserved, Arc<Issuer>)>,
	/// The receipt of one that is paid for and has ended.
	issued: Option<Transcript>,
	is_paid: bool,
}

impl Answer {
	/// The answer to a prompt of these tokens.
	pub(super) fn new(
		text: Arc<Text>,
		prompt: Vec<u32>,
		sampling: Sampling,
		replies: mpsc::Receiver<Reply>,
		stops: Arc<[String]>,
		reserved: Option<(Reserved, Arc<Issuer>)>,
	) -> Self {
		let (growing, stops) = (Growing::after(&prompt), Stops::new(stops));
		let (is_paid, tokens) = (reserved.is_some(), Vec::new());
		Self { text, replies, growing, stops, sampling, prompt, tokens, ended: None, reserved, issued: None, is_paid }
	}

	/// Tokens that were generated for it so far.
	pub(super) fn generated(&self) -> usize {
		self.tokens.len()
	}

	/// The receipt, when it has ended.
	///
	/// # Errors
	/// If an answer that is paid for has none.
	pub(super) fn receipt(&mut self, issuer: &Issuer) -> Result<Transcript, ApiError> {
		match self.is_paid {
			true => self.issued.take().ok_or_else(|| ApiError::internal("the answer has no receipt")),
			false => Ok(issuer.issue(&self.prompt, &self.tokens, self.ended.unwrap_or(Ending::Cut), self.sampling, None)),
		}
	}

	/// The next piece; `None` after the last one. What is not taken any more is not computed either, once this is dropped.
	///
	/// # Errors
	/// If the engine or the tokenizer fails.
	pub(super) async fn next(&mut self) -> Result<Option<Piece>, ApiError> {
		let mut piece = Piece::default();
		while self.ended.is_none() {
			let reply = self.replies.recv().await.ok_or_else(|| ApiError::internal("the engine has stopped"))?;
			match reply {
				Reply::Token(token) => {
					self.tokens.push(token.id);
					let new = self.growing.push(&self.text, token.id).map_err(|error| ApiError::internal(error.to_string()))?;
					piece.text += &self.stops.push(&new);
					piece.tokens.push(token);
					if self.stops.found() {
						self.end(Ending::Cut).await?;
						piece.finish = Some("stop");
						return Ok(Some(piece));
					}
					if !piece.text.is_empty() {
						return Ok(Some(piece));
					}
				}
				Reply::End(End::Failed(error)) => return Err(error.into()),
				Reply::End(end) => {
					self.end(if end == End::Stop { Ending::End } else { Ending::Cut }).await?;
					let left = std::mem::take(&mut self.growing).finish(&self.text);
					piece.text += &self.stops.push(&left.map_err(|error| ApiError::internal(error.to_string()))?);
					piece.text += &self.stops.finish();
					piece.finish = Some(match end {
						_ if self.stops.found() => "stop",
						End::Stop => "stop",
						End::Length | End::Failed(_) => "length",
					});
					return Ok(Some(piece));
				}
			}
		}
		Ok(None)
	}

	/// All of it.
	///
	/// # Errors
	/// As [`Self::next`].
	pub(super) async fn all(&mut self) -> Result<Piece, ApiError> {
		let mut all = Piece::default();
		while let Some(piece) = self.next().await? {
			all.text += &piece.text;
			all.tokens.extend(piece.tokens);
			all.finish = piece.finish;
		}
		Ok(all)
	}

	/// Ends it: nothing more is computed. One that is paid for has its receipt then, which is noted.
	async fn end(&mut self, ending: Ending) -> Result<(), ApiError> {
		self.ended = Some(ending);
		self.replies.close();
		if let Some((reserved, issuer)) = self.reserved.take() {
			self.issued = Some(reserved.issue(issuer, self.prompt.clone(), self.tokens.clone(), ending, self.sampling).await?);
		}
		Ok(())
	}
}

impl Drop for Answer {
	/// Whoever goes away owes what it has taken.
	fn drop(&mut self) {
		let Some((reserved, issuer)) = self.reserved.take().filter(|_| !self.tokens.is_empty()) else { return };
		// It is noted without anybody who waits for it.
		drop(reserved.issue(issuer, std::mem::take(&mut self.prompt), std::mem::take(&mut self.tokens), Ending::Cut, self.sampling));
	}
}

/// Probabilities as chats tell them.
pub(super) fn chat_logprobs(text: &Text, tokens: &[Token]) -> Value {
	let entry = |id: u32, log: f32| {
		let token = text.token(id);
		// A part of a character has no bytes that could be told as text.
		let bytes = (!token.contains(char::REPLACEMENT_CHARACTER)).then(|| token.as_bytes().to_vec());
		json!({ "token": token, "logprob": log, "bytes": bytes })
	};
	let content = tokens.iter().map(|token| {
		let mut of = entry(token.id, token.log.unwrap_or_default());
		of["top_logprobs"] = token.top.iter().map(|(id, log)| entry(*id, *log)).collect();
		of
	});
	json!({ "content": content.collect::<Vec<_>>(), "refusal": null })
}

/// Probabilities as completions tell them; the answer's text begins `offset` characters after its beginning.
pub(super) fn completion_logprobs(text: &Text, tokens: &[Token], mut offset: usize) -> Value {
	let words: Vec<String> = tokens.iter().map(|token| text.token(token.id)).collect();
	let offsets = words.iter().map(|word| {
		let at = offset;
		offset += word.chars().count();
		at
	});
	let top = |token: &Token| Value::Object(token.top.iter().map(|(id, log)| (text.token(*id), (*log).into())).collect());
	json!({
		"text_offset": offsets.collect::<Vec<_>>(),
		"tokens": words,
		"token_logprobs": tokens.iter().map(|token| token.log).collect::<Vec<_>>(),
		"top_logprobs": tokens.iter().map(top).collect::<Vec<_>>(),
	})
}
