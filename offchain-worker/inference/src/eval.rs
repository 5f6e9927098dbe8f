//! How well a model knows texts: perplexity, and accuracy on multiple choice as lm-evaluation-harness defines it.

use super::{
	adapter::Adapted,
	engine::Engine,
	text::{Text, TextError},
	Model,
};
use neuroshard_compute::exec::{InferenceError, Piece, Sequence, Wanted, PAGE_TOKENS};
use neuroshard_graph::sampler::LogProbabilities;
use serde::Deserialize;

/// Bytes of logits that are computed at a time.
const LOGITS: usize = 64 << 20;
/// Tokens that are read at a time, at most.
const PORTION: usize = 256;

/// Why there is no score.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
	/// The model.
	#[error(transparent)]
	Inference(#[from] InferenceError),
	/// The tokenizer.
	#[error(transparent)]
	Text(#[from] TextError),
	/// A window or a stride that leaves tokens out.
	#[error("a window has from 2 tokens to the {longest} that the model can read, and the stride from 1 to the window less 1, not {window} and {stride}")]
	Windows {
		/// Tokens that the model can read.
		longest: usize,
		/// Asked for.
		window: usize,
		/// Asked for.
		stride: usize,
	},
	/// A text of one token or none.
	#[error("the text has too few tokens: there is nothing to predict")]
	Short,
	/// A question with no right answer, or none that can be read.
	#[error("question {number} is not understood: {reason}")]
	Question {
		/// Counted from 1.
		number: usize,
		/// Why.
		reason: String,
	},
}

/// How well a text is predicted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Perplexity {
	/// Tokens that were predicted: all but the first.
	pub tokens: usize,
	/// Bytes of the text.
	pub bytes: usize,
	/// Times that a part of the text was read.
	pub windows: usize,
	/// Sum of the negative natural logarithms of the tokens' probabilities.
	pub nats: f64,
}

impl Perplexity {
	/// Nats a token.
	pub fn per_token(&self) -> f64 {
		self.nats / self.tokens as f64
	}

	/// Nats a byte, by which models with different tokenizers can be compared.
	pub fn per_byte(&self) -> f64 {
		self.nats / self.bytes as f64
	}
}

/// Predicts each token of a text once, but for the first. It is read in windows of `window` tokens, each beginning `stride` tokens after the one before: each token
/// has at least `window - stride` tokens before it, as far as there are so many. Where there is an `adapter`, that is beside the model.
///
/// # Errors
/// [`EvalError`].
pub fn perplexity(model: &mut Model, adapter: Option<&Adapted>, text: &str, window: usize, stride: usize) -> Result<Perplexity, EvalError> {
	let longest = model.engine.longest();
	if window < 2 || window > longest || stride == 0 || stride >= window {
		return Err(EvalError::Windows { longest, window, stride });
	}
	let tokens = model.text.begun(text)?;
	if tokens.len() < 2 {
		return Err(EvalError::Short);
	}
	let mut all = Perplexity { tokens: tokens.len() - 1, bytes: text.len(), windows: 0, nats: 0.0 };
	let (mut begin, mut known) = (0, 1);
	while known < tokens.len() {
		let end = tokens.len().min(begin + window);
		let logs = logs(&mut *model.engine, adapter, &tokens[begin..end], known - begin)?;
		all.nats -= logs.iter().map(|log| f64::from(*log)).sum::<f64>();
		all.windows += 1;
		(begin, known) = (begin + stride, end);
	}
	Ok(all)
}

/// A question with several answers, of which one is right.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
	/// What comes before the answers.
	pub context: String,
	/// The answers.
	pub choices: Vec<String>,
	/// Place of the right one, from 0 on.
	pub answer: usize,
}

/// Shares of questions that were answered right.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Accuracy {
	/// Questions.
	pub questions: usize,
	/// The right answer is the likeliest.
	pub right: usize,
	/// The right answer is the likeliest for its length in characters.
	pub right_normalized: usize,
}

impl Accuracy {
	/// Share, and the standard error of it, which is 0 for one question.
	pub fn share(&self, right: usize) -> (f64, f64) {
		let (questions, right) = (self.questions as f64, right as f64);
		let share = right / questions;
		(share, (share * (1.0 - share) / (questions - 1.0).max(1.0)).sqrt())
	}

	/// Adds an answer that was tried.
	fn add(&mut self, question: &Question, logs: &[f64]) {
		let lengths = question.choices.iter().map(|choice| choice.chars().count() as f64);
		let normalized: Vec<f64> = logs.iter().zip(lengths).map(|(log, length)| log / length).collect();
		self.questions += 1;
		self.right += usize::from(likeliest(logs) == question.answer);
		self.right_normalized += usize::from(likeliest(&normalized) == question.answer);
	}
}

/// The place of the highest number, the first of equals.
fn likeliest(logs: &[f64]) -> usize {
	let best = |best: usize, place: usize| if logs[place] > logs[best] { place } else { best };
	(1..logs.len()).fold(0, best)
}

/// Has a model answer questions, with `between` between context and answer. Where there is an `adapter`, that is beside the model.
///
/// # Errors
/// [`EvalError`].
pub fn accuracy(model: &mut Model, adapter: Option<&Adapted>, questions: &[Question], between: &str) -> Result<Accuracy, EvalError> {
	let mut all = Accuracy::default();
	for (place, question) in questions.iter().enumerate() {
		let wrong = |reason: &str| EvalError::Question { number: place + 1, reason: reason.into() };
		if question.answer >= question.choices.len() {
			return Err(wrong("its answer is none of its choices, which are counted from 0"));
		}
		let mut logs = Vec::with_capacity(question.choices.len());
		for choice in &question.choices {
			let (tokens, first) = pair(&model.text, &question.context, &format!("{between}{choice}"))?;
			if first == 0 || first >= tokens.len() {
				return Err(wrong("a choice has no token, or nothing comes before it"));
			}
			// What the model has no room for is cut off at the front.
			let cut = tokens.len().saturating_sub(model.engine.longest() + 1);
			let told = self::logs(&mut *model.engine, adapter, &tokens[cut..], first.saturating_sub(cut).max(1))?;
			logs.push(told.iter().map(|log| f64::from(*log)).sum());
		}
		all.add(question, &logs);
	}
	Ok(all)
}

/// The tokens of both together, and how many are those of the context. Blanks at the end of the context belong to what follows it.
fn pair(text: &Text, context: &str, choice: &str) -> Result<(Vec<u32>, usize), TextError> {
	let kept = context.trim_end();
	let whole = text.begun(&format!("{context}{choice}"))?;
	Ok((whole, text.begun(kept)?.len()))
}

/// Natural logarithms of the probabilities of the tokens from place `from` on, each after all that come before it. The last token need not fit.
fn logs(engine: &mut dyn Engine, adapter: Option<&Adapted>, tokens: &[u32], from: usize) -> Result<Vec<f32>, InferenceError> {
	let (vocab, read) = (engine.vocab(), &tokens[..tokens.len().saturating_sub(1)]);
	let portion = (LOGITS / size_of::<f32>() / vocab.max(1)).clamp(1, PORTION);
	let pages = engine.pages(read.len().div_ceil(PAGE_TOKENS));
	let mut sequence = Sequence::default().beside(adapter.map(|adapter| adapter.packed.clone()));
	let mut logs = Vec::new();
	let unwanted = from.saturating_sub(1).min(read.len());
	let before = read[..unwanted].chunks(PORTION).map(|tokens| (tokens, Wanted::Nothing));
	for (portion, wanted) in before.chain(read[unwanted..].chunks(portion).map(|tokens| (tokens, Wanted::All))) {
		let rows = engine.logits(&pages, &mut [Piece { sequence: &mut sequence, tokens: portion, wanted }])?;
		for row in rows.chunks_exact(vocab) {
			let next = tokens[unwanted + 1 + logs.len()];
			logs.push(LogProbabilities::new(row).of(next));
		}
	}
	Ok(logs)
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_compute::exec::{Exec, PackedAdapter};
	use neuroshard_data::tokenizer::Tokenizer;
	use neuroshard_graph::{Adapter, Class, ParamLayout, Projections, F32};
	use neuroshard_training::{adapter::merge, checkpoint::Checkpoint, presets};
	use neuroshard_types::H256;
	use std::sync::Arc;

	fn model() -> Model {
		let (config, train) = presets::tiny();
		let mut params = Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
		params.iter_mut().enumerate().for_each(|(index, value)| *value *= 3.0 + (index % 11) as f32 * 0.1);
		Model::of_run("run-0".into(), &config, &Tokenizer::bytes(), &params, [0; 32], Class::ExactF32, 1).unwrap()
	}

	/// The logarithm of what comes after these tokens, which are read at once.
	fn after(model: &mut Model, tokens: &[u32], next: u32) -> f64 {
		let (pages, mut sequence) = (model.engine.pages(8), Sequence::default());
		let piece = Piece { sequence: &mut sequence, tokens, wanted: Wanted::Last };
		let row: Vec<f64> = model.engine.logits(&pages, &mut [piece]).unwrap().iter().map(|logit| f64::from(*logit)).collect();
		row[usize::try_from(next).unwrap()] - row.iter().map(|logit| logit.exp()).sum::<f64>().ln()
	}

	#[test]
	fn each_token_is_predicted_once_with_what_its_window_has_before_it() {
		let mut model = model();
		let text = "let a = 1; let b = 2; let c = 3;";
		let tokens: Vec<u32> = std::iter::once(256).chain(text.bytes().map(u32::from)).collect();
		assert_eq!(tokens.len(), 33);
		// Windows 0..16, 6..22, 12..28 and 18..33.
		let begins = (1..33).map(|place| match place {
			1..16 => 0,
			16..22 => 6,
			22..28 => 12,
			_ => 18,
		});
		let expected: f64 = begins.zip(1..).map(|(begin, place)| -after(&mut model, &tokens[begin..place], tokens[place])).sum();
		let found = perplexity(&mut model, None, text, 16, 6).unwrap();
		assert_eq!((found.tokens, found.bytes, found.windows), (32, 32, 4));
		assert!((found.nats - expected).abs() < 1e-3, "{} {expected}", found.nats);
		assert!((found.per_token() - expected / 32.0).abs() < 1e-4);
		let whole = perplexity(&mut model, None, text, 128, 64).unwrap();
		assert_eq!(whole.windows, 1);
		for (window, stride) in [(1, 1), (129, 1), (16, 16), (16, 0)] {
			assert!(matches!(perplexity(&mut model, None, text, window, stride), Err(EvalError::Windows { .. })), "{window} {stride}");
		}
		assert!(matches!(perplexity(&mut model, None, "", 16, 8), Err(EvalError::Short)));
	}

	#[test]
	fn a_text_is_predicted_beside_an_adapter_as_the_merged_model_predicts_it() {
		let (config, train) = presets::tiny();
		let adapter = Adapter { base: [0; 32], rank: 4, alpha: F32::new(16.0), projections: Projections::ALL };
		let numbers = ParamLayout::of(&config, Some(adapter)).unwrap().len();
		let trained: Vec<f32> = (0..numbers).map(|at| ((at * 7_919 % 1_013) as f32 / 1_013.0 - 0.5) * 0.2).collect();
		let exec = Exec::new(1).unwrap();
		let packed = Arc::new(PackedAdapter::new(&exec, &config, &adapter, &trained).unwrap());
		let adapted = Adapted { name: "one".into(), root: H256::zero(), packed };
		let mut params = Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
		let nats = |params: &[f32], adapter| {
			let mut model = Model::of_run("run-0".into(), &config, &Tokenizer::bytes(), params, [0; 32], Class::ExactF32, 1).unwrap();
			perplexity(&mut model, adapter, "let a = 1; let b = 2;", 16, 8).unwrap().per_token()
		};
		let (without, beside) = (nats(&params, None), nats(&params, Some(&adapted)));
		merge(&exec, &config, &adapter, &trained, &mut params).unwrap();
		let merged = nats(&params, None);
		assert!((merged - beside).abs() < 1e-4 && (merged - without).abs() > 1e-2, "{merged} {beside} {without}");
	}

	#[test]
	fn answers_are_compared_by_their_probability_and_by_that_of_a_character() {
		let question = |choices: &[&str], answer| Question {
			context: String::new(),
			choices: choices.iter().map(|&choice| choice.into()).collect(),
			answer,
		};
		let mut all = Accuracy::default();
		// -3 for one character, -4 for two.
		all.add(&question(&["a", "bß"], 0), &[-3.0, -4.0]);
		all.add(&question(&["a", "bß"], 1), &[-3.0, -4.0]);
		all.add(&question(&["a", "b", "c"], 1), &[-3.0, -1.0, -1.0]);
		assert_eq!((all.questions, all.right, all.right_normalized), (3, 2, 2));
		let (share, error) = all.share(2);
		assert!((share - 2.0 / 3.0).abs() < 1e-12 && (error - 1.0 / 3.0).abs() < 1e-12, "{share} {error}");
		assert_eq!(Accuracy { questions: 1, right: 1, right_normalized: 0 }.share(1), (1.0, 0.0));
	}

	#[test]
	fn a_question_is_scored_by_what_follows_its_context() {
		let mut model = model();
		let (context, choices) = ("let x = ", ["7", "y"]);
		let mut tokens: Vec<u32> = std::iter::once(256).chain("let x =".bytes().map(u32::from)).collect();
		let mut logs = Vec::new();
		for choice in choices {
			// The blank of the context is a part of the answer, and so is the one between both.
			let mut sum = 0.0;
			let before = tokens.len();
			for byte in format!("  {choice}").bytes().map(u32::from) {
				sum += after(&mut model, &tokens, byte);
				tokens.push(byte);
			}
			tokens.truncate(before);
			logs.push(sum);
		}
		let better = usize::from(logs[1] > logs[0]);
		let question = Question { context: context.into(), choices: choices.map(str::to_owned).into(), answer: better };
		let other = Question { answer: 1 - better, ..question.clone() };
		let found = accuracy(&mut model, None, &[question.clone(), other], " ").unwrap();
		assert_eq!((found.questions, found.right), (2, 1));
		let none = Question { answer: 2, ..question.clone() };
		assert!(accuracy(&mut model, None, &[question.clone(), none], " ").unwrap_err().to_string().contains("question 2"));
		let long = Question { context: "x".repeat(1_000), ..question };
		assert_eq!(accuracy(&mut model, None, &[long], " ").unwrap().questions, 1);
	}
}
