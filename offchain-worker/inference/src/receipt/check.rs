//! Computes an answer anew: its tokens are read like a prompt, since what comes after each of them does not depend on how it was read.

use super::{Malformed, Transcript};
use crate::{Adapted, Engine};
use neuroshard_compute::exec::{InferenceError, Piece, Sequence, Wanted, PAGE_TOKENS};
use neuroshard_graph::{
	sampler,
	sampler::{sample, Counts, SamplingError},
};
use neuroshard_types::{
	inference::{Class, Ending},
	H256,
};

/// Tokens that are read in one pass: logits of so many are in memory at a time.
const PORTION: usize = 256;

/// Result of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
	/// The model gives this answer.
	Equal,
	/// The model gives another one.
	Differs {
		/// Place in the answer, counted from 0; its length if another token would have come after it.
		index: usize,
		/// The token that was told there; `None` for the end.
		told: Option<u32>,
		/// The token that the model gives.
		own: u32,
	},
	/// Nobody can claim that tokens were chosen by these settings: false whatever the model gives.
	OutOfRange(SamplingError),
}

/// Why an answer cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
	/// The transcript contradicts itself.
	#[error(transparent)]
	Malformed(#[from] Malformed),
	/// It is about another model.
	#[error("the receipt is about parameters {told:?}, and the model at hand has {own:?}: name the model or the run that was asked")]
	OtherParameters {
		/// Of the receipt.
		told: H256,
		/// Of the model at hand.
		own: H256,
	},
	/// It was computed in another arithmetic.
	#[error("the answer was computed in {told:?}, and the model at hand computes in {own:?}")]
	OtherClass {
		/// Of the receipt.
		told: Class,
		/// Of the model at hand.
		own: Class,
	},
	/// The provider chose from other tokens.
	#[error("the provider chose from {told} tokens, and the model at hand has {own}")]
	OtherVocabulary {
		/// Of the receipt.
		told: u32,
		/// Of the model at hand.
		own: usize,
	},
	/// The engine.
	#[error(transparent)]
	Inference(#[from] InferenceError),
}

/// Facts that tell one model from another.
#[derive(Clone, Copy)]
pub struct Known<'a> {
	/// Root of its parameters.
	pub parameters: H256,
	/// Adapter that is part of it.
	pub adapter: Option<&'a Adapted>,
	/// The arithmetic that it is computed in.
	pub class: Class,
	/// Tokens below this one are chosen from.
	pub usable: usize,
	/// Returns whether a token ends a text.
	pub ends: &'a dyn Fn(u32) -> bool,
}

/// Computes the answer of `transcript` anew.
///
/// # Errors
/// [`CheckError`].
pub fn check(engine: &mut dyn Engine, known: Known, transcript: &Transcript) -> Result<Outcome, CheckError> {
	transcript.validate()?;
	let Transcript { receipt, prompt, answer, .. } = transcript;
	if receipt.parameters != known.parameters {
		return Err(CheckError::OtherParameters { told: receipt.parameters, own: known.parameters });
	}
	if receipt.class != known.class {
		return Err(CheckError::OtherClass { told: receipt.class, own: known.class });
	}
	if usize::try_from(receipt.usable).ok() != Some(known.usable) {
		return Err(CheckError::OtherVocabulary { told: receipt.usable, own: known.usable });
	}
	if let Err(error) = receipt.sampling.validate() {
		return Ok(Outcome::OutOfRange(error));
	}
	let sampling = sampler::Sampling::from(receipt.sampling);
	let Some(before) = prompt.len().checked_sub(1) else { return Err(InferenceError::Empty.into()) };
	// What comes after the last token of an answer that was cut is nobody's business.
	let read = answer.len().saturating_sub(usize::from(receipt.ending == Ending::Cut));
	// A token that is never chosen is false, so that nothing behind it is read.
	let never = answer.iter().position(|token| usize::try_from(*token).map_or(true, |token| token >= known.usable));
	let read = never.map_or(read, |never| read.min(never));
	if receipt.ending == Ending::Cut && answer.is_empty() {
		return Ok(Outcome::Equal);
	}
	let tokens: Vec<u32> = prompt.iter().chain(&answer[..read]).copied().collect();
	if tokens.len() > engine.longest() {
		return Err(InferenceError::TooLong { longest: engine.longest(), found: tokens.len() }.into());
	}
	let pages = engine.pages(tokens.len().div_ceil(PAGE_TOKENS));
	let (mut sequence, mut counts) = (Sequence::default(), Counts::default());
	sequence = sequence.beside(known.adapter.map(|adapter| adapter.packed.clone()));
	counts.prompt(prompt);
	for unwanted in tokens[..before].chunks(PORTION) {
		engine.logits(&pages, &mut [Piece { sequence: &mut sequence, tokens: unwanted, wanted: Wanted::Nothing }])?;
	}
	let (vocab, mut index) = (engine.vocab(), 0);
	for wanted in tokens[before..].chunks(PORTION) {
		let piece = Piece { sequence: &mut sequence, tokens: wanted, wanted: Wanted::All };
		for logits in engine.logits(&pages, &mut [piece])?.chunks_exact(vocab) {
			let position = u32::try_from(prompt.len() + index).unwrap_or(u32::MAX);
			let own = sample(logits, known.usable, &counts, &sampling, position);
			let told = answer.get(index).copied();
			match told {
				Some(told) if told == own => counts.generated(own),
				None if (known.ends)(own) => {}
				_ => return Ok(Outcome::Differs { index, told, own }),
			}
			index += 1;
		}
	}
	Ok(Outcome::Equal)
}

#[cfg(test)]
pub(super) mod tests {
	use super::*;
	use crate::{
		batcher::{Batcher, End, Job, Limits, Reply},
		receipt::Issuer,
	};
	use neuroshard_chain_client::keys::{PonwSigner, Seed};
	use neuroshard_compute::exec::{Exec, Inference};
	use neuroshard_graph::sampler::Sampling;
	use neuroshard_training::{checkpoint::Checkpoint, presets};
	use neuroshard_types::{inference::Prices, AccountId};
	use std::sync::Arc;
	use tokio::sync::mpsc;

	const END: u32 = 256;
	const USABLE: usize = 257;

	fn inference() -> Inference {
		let (model, train) = presets::tiny();
		let mut params = Checkpoint::genesis(0, &model, &train, 1).unwrap().params;
		params.iter_mut().enumerate().for_each(|(index, value)| *value *= 3.0 + (index % 11) as f32 * 0.1);
		Inference::new(Arc::new(Exec::new(1).unwrap()), &model, &params).unwrap()
	}

	fn known() -> Known<'static> {
		Known { parameters: H256::repeat_byte(5), adapter: None, class: Class::ExactF32, usable: USABLE, ends: &|token| token == END }
	}

	fn issuer() -> Issuer {
		let signer = (AccountId::new([1; 32]), PonwSigner::from_seed(&Seed::random()).unwrap(), H256::repeat_byte(6));
		let prices = Prices { prompt: 2, generated: 5 };
		Issuer { parameters: known().parameters, checkpoint: None, class: Class::ExactF32, usable: 257, signer: Some(signer), prices }
	}

	fn settings(seed: u64) -> Sampling {
		Sampling { temperature: 0.9, top_k: 40, top_p: 0.95, repetition: 1.1, presence: 0.2, seed, ..Sampling::default() }
	}

	/// An answer as the server computes it.
	fn asked(prompt: &[u32], most: u32, sampling: Sampling) -> Transcript {
		let limits = Limits { active: 4, waiting: 4, memory: 64 << 20, lookup: true };
		let (batcher, _) = Batcher::start(Box::new(inference()), USABLE, |token| token == END, limits).unwrap();
		let (reply, mut replies) = mpsc::channel(usize::try_from(most).unwrap() + 1);
		let job = Job { prompt: prompt.to_vec(), adapter: None, sampling, most, top: 0, log: false, echo: false, endless: false, reply };
		batcher.submit(vec![job]).unwrap();
		let mut answer = Vec::new();
		let ending = loop {
			match replies.blocking_recv().unwrap() {
				Reply::Token(token) => answer.push(token.id),
				Reply::Prompt(_) | Reply::Ending(_) => {}
				Reply::End(End::Stop) => break Ending::End,
				Reply::End(_) => break Ending::Cut,
			}
		};
		issuer().issue(prompt, &answer, ending, sampling, None)
	}

	/// Some answer, which ends by itself or not.
	pub(in crate::receipt) fn answered(cut: bool) -> Transcript {
		let wanted = if cut { Ending::Cut } else { Ending::End };
		let most = if cut { 20 } else { 100 };
		let answers = (0..200).map(|seed| asked(&[97, 98, 99], most, settings(seed)));
		answers.into_iter().find(|transcript| transcript.receipt.ending == wanted).unwrap()
	}

	#[test]
	fn what_the_server_answered_is_equal_whether_it_ended_or_was_cut() {
		for transcript in [answered(true), answered(false)] {
			assert_eq!(check(&mut inference(), known(), &transcript).unwrap(), Outcome::Equal);
		}
		let long: Vec<u32> = (0..90).map(|index| 97 + index % 7).collect();
		assert_eq!(check(&mut inference(), known(), &asked(&long, 30, settings(1))).unwrap(), Outcome::Equal);
	}

	#[test]
	fn the_price_is_that_of_all_tokens() {
		let transcript = answered(true);
		assert_eq!(transcript.receipt.price, 3 * 2 + 20 * 5);
	}

	#[test]
	fn the_first_token_that_differs_is_named() {
		let transcript = answered(true);
		let again = |answer: Vec<u32>, ending| {
			let issued = issuer().issue(&transcript.prompt, &answer, ending, settings(transcript.receipt.sampling.seed), None);
			check(&mut inference(), known(), &issued).unwrap()
		};
		let mut other = transcript.answer.clone();
		other[7] = (other[7] + 1) % 256;
		let (told, own) = (Some(other[7]), transcript.answer[7]);
		assert_eq!(again(other, Ending::Cut), Outcome::Differs { index: 7, told, own });
		// It went on.
		let shorter = transcript.answer[..5].to_vec();
		assert_eq!(again(shorter.clone(), Ending::End), Outcome::Differs { index: 5, told: None, own: transcript.answer[5] });
		assert_eq!(again(shorter, Ending::Cut), Outcome::Equal);
	}

	#[test]
	fn a_token_that_no_model_gives_is_false_and_what_comes_before_is_compared() {
		let transcript = answered(true);
		let again = |answer: Vec<u32>, ending| {
			let issued = issuer().issue(&transcript.prompt, &answer, ending, settings(transcript.receipt.sampling.seed), None);
			check(&mut inference(), known(), &issued).unwrap()
		};
		let mut other = transcript.answer.clone();
		other[7] = 70_000;
		let own = transcript.answer[7];
		for ending in [Ending::Cut, Ending::End] {
			assert_eq!(again(other.clone(), ending), Outcome::Differs { index: 7, told: Some(70_000), own });
		}
		other[3] = (other[3] + 1) % 256;
		assert_eq!(again(other.clone(), Ending::Cut), Outcome::Differs { index: 3, told: Some(other[3]), own: transcript.answer[3] });
		assert_eq!(
			again([&transcript.answer[..7], &[70_000]].concat(), Ending::Cut),
			Outcome::Differs { index: 7, told: Some(70_000), own }
		);
	}

	#[test]
	fn settings_out_of_range_are_false_whatever_was_answered() {
		let transcript = answered(true);
		let plain = settings(transcript.receipt.sampling.seed);
		let out_of_range = [
			Sampling { temperature: 3e38, ..plain },
			Sampling { presence: -1e38, ..plain },
			Sampling { repetition: f32::NAN, ..plain },
			Sampling { top_p: 0.0, ..plain },
		];
		for sampling in out_of_range {
			for answer in [&transcript.answer[..], &[]] {
				let issued = issuer().issue(&transcript.prompt, answer, Ending::Cut, sampling, None);
				let Err(error) = sampling.validate() else { panic!("{sampling:?}") };
				assert_eq!(check(&mut inference(), known(), &issued).unwrap(), Outcome::OutOfRange(error));
			}
		}
	}

	#[test]
	fn an_answer_of_another_model_or_with_other_tokens_is_not_compared() {
		let transcript = answered(true);
		let refused = |known: Known| check(&mut inference(), known, &transcript).unwrap_err().to_string();
		assert!(refused(Known { parameters: H256::zero(), ..known() }).contains("the receipt is about parameters 0x0505"));
		assert!(refused(Known { usable: 258, ..known() }).contains("257 tokens"));
		assert!(refused(Known { class: Class::ExactInt8, ..known() }).contains("computed in ExactF32"));
		let huge = issuer().issue(&[97; 200], &[97], Ending::Cut, settings(0), None);
		assert!(matches!(check(&mut inference(), known(), &huge), Err(CheckError::Inference(InferenceError::TooLong { .. }))));
		let unknown = issuer().issue(&[300], &[97], Ending::Cut, settings(0), None);
		assert!(matches!(check(&mut inference(), known(), &unknown), Err(CheckError::Inference(InferenceError::Vocabulary(300)))));
		let nothing = issuer().issue(&[], &[97], Ending::Cut, settings(0), None);
		assert!(matches!(check(&mut inference(), known(), &nothing), Err(CheckError::Inference(InferenceError::Empty))));
	}
}
