//! One answer: tokens from the engine become text, up to a stop string, and what is told about them.

use super::{error::ApiError, logprobs::Told, paid::Reserved, stop_strings::Stops};
use neuroshard_graph::sampler::Sampling;
use neuroshard_inference::batcher::{End, Reply};
use neuroshard_inference::{
	receipt::{Issuer, Transcript},
	text::{Growing, Text},
	Offsets,
};
use neuroshard_types::inference::Ending;
use std::{collections::VecDeque, sync::Arc};
use tokio::sync::mpsc;

/// A piece of an answer, or its prompt, if that is told back.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Piece {
	pub(super) text: String,
	/// The tokens that begin in it, if their probabilities are asked for.
	pub(super) tokens: Vec<Told>,
	/// Why the answer ends, with the last piece.
	pub(super) finish: Option<&'static str>,
}

/// An answer that is on its way.
pub(super) struct Answer {
	text: Arc<Text>,
	replies: mpsc::Receiver<Reply>,
	growing: Growing,
	stops: Stops,
	offsets: Offsets,
	/// Tokens whose probabilities are asked for, and whose text is not told.
	waiting: VecDeque<Told>,
	/// Characters that are told.
	characters: usize,
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
		let (is_paid, offsets, waiting, tokens) = (reserved.is_some(), Offsets::default(), VecDeque::new(), Vec::new());
		let (characters, ended, issued) = (0, None, None);
		Self { text, replies, growing, stops, offsets, waiting, characters, sampling, prompt, tokens, ended, reserved, issued, is_paid }
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
		while self.ended.is_none() {
			let reply = self.replies.recv().await.ok_or_else(|| ApiError::internal("the engine has stopped"))?;
			match reply {
				Reply::Prompt(tokens) => {
					let shown = self.text.decode(&self.prompt).map_err(|error| ApiError::internal(error.to_string()))?;
					self.offsets = Offsets::behind(shown.chars().count());
					self.waiting.extend(Told::of_prompt(tokens, &self.text, &shown));
					// Nothing is looked for in it.
					return Ok(Some(self.piece(shown, None)));
				}
				Reply::Ending(token) => self.waiting.push_back(Told::new(token, &self.text, &mut self.offsets)),
				Reply::Token(token) => {
					self.tokens.push(token.id);
					let new = self.growing.push(&self.text, token.id).map_err(|error| ApiError::internal(error.to_string()))?;
					if token.log.is_some() {
						self.waiting.push_back(Told::new(token, &self.text, &mut self.offsets));
					}
					let text = self.stops.push(&new);
					if self.stops.found() {
						self.end(Ending::Cut).await?;
						return Ok(Some(self.piece(text, Some("stop"))));
					}
					if !text.is_empty() {
						return Ok(Some(self.piece(text, None)));
					}
				}
				Reply::End(End::Failed(error)) => return Err(error.into()),
				Reply::End(end) => {
					self.end(if end == End::Stop { Ending::End } else { Ending::Cut }).await?;
					let left = std::mem::take(&mut self.growing).finish(&self.text);
					let mut text = self.stops.push(&left.map_err(|error| ApiError::internal(error.to_string()))?);
					text += &self.stops.finish();
					let finish = match end {
						_ if self.stops.found() => "stop",
						End::Stop => "stop",
						End::Length | End::Failed(_) => "length",
					};
					return Ok(Some(self.piece(text, Some(finish))));
				}
			}
		}
		Ok(None)
	}

	/// A piece with this text, and with the tokens that begin in it. Those behind a stop string are in none.
	fn piece(&mut self, text: String, finish: Option<&'static str>) -> Piece {
		self.characters = self.characters.saturating_add(text.chars().count());
		let all = finish.is_some() && !self.stops.found();
		let count = self.waiting.iter().take_while(|told| all || told.offset < self.characters).count();
		Piece { text, tokens: self.waiting.drain(..count).collect(), finish }
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

#[cfg(test)]
mod tests {
	use super::*;
	use crate::logprobs;
	use neuroshard_data::tokenizer::bytes::tokenizer_json;
	use neuroshard_inference::batcher::Token;
	use serde_json::{json, Value};
	use std::collections::BTreeSet;

	/// The pieces of an answer of these tokens, and the probabilities of each.
	async fn pieces(tokens: &[u32], stops: &[&str], end: End) -> Vec<(String, Value)> {
		told(&[], tokens.iter().map(|id| Reply::Token(token(*id))), stops, end).await
	}

	fn token(id: u32) -> Token {
		Token { id, log: Some(-1.0), top: Vec::new() }
	}

	/// The pieces of an answer to a prompt, from what the batcher says before the end.
	async fn told(prompt: &[u32], said: impl IntoIterator<Item = Reply>, stops: &[&str], end: End) -> Vec<(String, Value)> {
		let text = Arc::new(Text::new(tokenizer_json().as_bytes(), None, BTreeSet::new()).unwrap());
		let said: Vec<Reply> = said.into_iter().chain([Reply::End(end)]).collect();
		let (reply, replies) = mpsc::channel(said.len());
		for said in said {
			reply.try_send(said).unwrap();
		}
		let stops = stops.iter().map(|stop| (*stop).to_owned()).collect();
		let mut answer = Answer::new(text.clone(), prompt.to_vec(), Sampling::default(), replies, stops, None);
		let mut pieces = Vec::new();
		while let Some(piece) = answer.next().await.unwrap() {
			pieces.push((piece.text, logprobs::of_completion(&text, &piece.tokens)));
		}
		pieces
	}

	fn bytes(text: &str) -> Vec<u32> {
		text.bytes().map(u32::from).collect()
	}

	/// Text, offsets and tokens of all pieces together.
	fn joined(pieces: &[(String, Value)]) -> (String, Value, Value) {
		let all = |name: &str| pieces.iter().flat_map(|(_, of)| of[name].as_array().unwrap().clone()).collect();
		(pieces.iter().map(|(text, _)| text.as_str()).collect(), all("text_offset"), all("tokens"))
	}

	#[tokio::test]
	async fn places_of_tokens_are_those_in_the_whole_text_however_it_is_told() {
		let told = pieces(&bytes("😀ab"), &[], End::Length).await;
		assert_eq!(
			told.iter().map(|(text, of)| (text.as_str(), of["text_offset"].clone())).collect::<Vec<_>>(),
			[("😀", json!([0, 0, 0, 0])), ("a", json!([1])), ("b", json!([2])), ("", json!([]))]
		);
		// Half a character, and a token that texts leave out.
		let told = joined(&pieces(&[0xf0, 97, 256, 98, 0xc3], &[], End::Stop).await);
		let names = json!([r"bytes:\xf0", "a", "<|endoftext|>", "b", r"bytes:\xc3"]);
		assert_eq!(told, ("\u{fffd}ab\u{fffd}".into(), json!([0, 1, 2, 2, 3]), names));
	}

	#[tokio::test]
	async fn a_prompt_that_is_told_back_is_in_no_stop_string_and_the_token_that_ends_the_text_is_told_behind_it() {
		let prompt = [256, 97, 0xc3];
		let said = [Reply::Prompt(prompt.map(token).into()), Reply::Token(token(98)), Reply::Ending(token(256))];
		// Half a character ends the prompt: what the answer goes on with does not complete it.
		let pieces = told(&prompt, said, &["a"], End::Stop).await;
		assert_eq!(pieces.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(), ["a\u{fffd}", "b", ""]);
		let names = json!(["<|endoftext|>", "a", r"bytes:\xc3", "b", "<|endoftext|>"]);
		assert_eq!(joined(&pieces), ("a\u{fffd}b".into(), json!([0, 0, 1, 2, 3]), names));
	}

	#[tokio::test]
	async fn tokens_of_a_stop_string_are_not_told_and_those_that_only_waited_for_it_are() {
		let told = joined(&pieces(&bytes("aENDb"), &["END"], End::Length).await);
		assert_eq!(told, ("a".into(), json!([0]), json!(["a"])));
		let told = joined(&pieces(&bytes("aENEEN"), &["END"], End::Length).await);
		assert_eq!(told, ("aENEEN".into(), json!([0, 1, 2, 3, 4, 5]), json!(["a", "E", "N", "E", "E", "N"])));
	}
}
