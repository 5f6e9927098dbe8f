//! Limits on the answers that a dispute can judge: it reads no text of any length.

use neuroshard_graph::{
	answer::MAX_TEXT,
	game::{open_answer, GameError, Setting, Subject},
	graph::{Op, TensorInfo},
	plan::Plan,
};
use neuroshard_types::{
	dataset::TextTokens,
	dispute::AnswerClaim,
	grounds::Grounds,
	inference::{Ending, Receipt},
	run::RunConfig,
	RoundIndex,
};

/// Rows and columns of a tile: a text is filled up to a multiple of it.
const TILE: u32 = 32;
/// Bytes of a tile's hash.
const HASH: u64 = 32;

/// Why nobody could show that an answer is false.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Undisputable {
	/// The chain takes its tokens from others than the provider did.
	#[error("the receipt says that its tokens were chosen from {told}, and the chain judges answers of this model by {expected}")]
	Usable {
		/// Of the receipt.
		told: u32,
		/// Of the chain.
		expected: u32,
	},
	/// No game can be opened.
	#[error("no dispute could judge the answer: {0}")]
	Game(#[from] GameError),
}

/// Checks that a dispute can judge the answer with this receipt, whichever of its tokens is wrong. It was computed with the checkpoint that `round` of the
/// run starts from.
///
/// # Errors
/// [`Undisputable`].
pub fn check_disputable(config: &RunConfig, round: RoundIndex, receipt: &Receipt) -> Result<(), Undisputable> {
	let expected = config.tokenizer.tokens.usable;
	if receipt.usable != expected {
		return Err(Undisputable::Usable { told: receipt.usable, expected });
	}
	Ok(check_opens(config, round, receipt)?)
}

/// Checks that the chain opens a game about the answer with this receipt, whatever it says of its vocabulary.
///
/// # Errors
/// Why it opens none.
pub fn check_opens(config: &RunConfig, round: RoundIndex, receipt: &Receipt) -> Result<(), GameError> {
	let grounds = Grounds::Answer { round, claim: AnswerClaim { config: config.clone(), receipt: receipt.clone() } };
	let last = receipt.claimed(&config.tokenizer.tokens).choices().saturating_sub(1);
	// Those between open as much.
	for doubt in [0, last] {
		grounds.judge(|setting| open_answer(setting, doubt))?;
	}
	Ok(())
}

/// Bytes of memory that it takes to defend an answer, or to dispute it: the parameters, and the trace of a text of so many tokens. `None` if no dispute
/// reads such a text.
pub fn memory(config: &RunConfig, tokens: u32) -> Option<u64> {
	// The last token of a text that was cut is not read, and may be the one that the model has no room for.
	let plan = [tokens, tokens.checked_sub(1)?].into_iter().find_map(|read| {
		let rows = read.checked_next_multiple_of(TILE)?;
		// The class changes no shape.
		Plan::reading(&config.model, rows, neuroshard_graph::Class::default()).ok()
	})?;
	let bytes = |info: TensorInfo| info.len().saturating_mul(4);
	let hashes =
		|info: TensorInfo| u64::from(info.rows.div_ceil(TILE)).saturating_mul(info.cols.div_ceil(TILE).into()).saturating_mul(HASH);
	// Tensors of the parameters are among them, once: trace and story share them.
	let all = plan.tensors().map(|info| bytes(info).saturating_add(hashes(info))).fold(0, u64::saturating_add);
	// A trace keeps all but these. Scores and probabilities are there at the same time, and their memory is used again in the next layer.
	let passing = plan.stages().iter().filter(|stage| matches!(stage.op, Op::Scores | Op::Softmax)).flat_map(|stage| plan.outputs(stage));
	let passing: Vec<u64> = passing.filter_map(|&id| plan.tensor(id)).map(bytes).collect();
	let largest = passing.iter().copied().max().unwrap_or(0);
	let passed = passing.into_iter().fold(0, u64::saturating_add);
	Some(all.saturating_sub(passed).saturating_add(largest.saturating_mul(2)))
}

/// Most tokens of a prompt and its answer together that a dispute about a model of this run can judge, and for which so many bytes of memory are enough, if
/// that is bounded; `None` if there is no such text.
pub fn longest_text(config: &RunConfig, room: Option<u64>) -> Option<u32> {
	let fits = |tokens| room.is_none_or(|room| memory(config, tokens).is_some_and(|needed| needed <= room));
	let is_judged = |tokens| is_judged(config, tokens) && fits(tokens);
	let (mut judged, mut longer) = (1, MAX_TEXT.saturating_add(1));
	if !is_judged(2) {
		return None;
	}
	// What is too long stays so when it grows.
	while longer.saturating_sub(judged) > 1 {
		let between = judged.midpoint(longer);
		match is_judged(between) {
			true => judged = between,
			false => longer = between,
		}
	}
	Some(judged)
}

/// Returns whether a text of so many tokens, one of them the prompt, is judged.
fn is_judged(config: &RunConfig, tokens: u32) -> bool {
	let Some(generated) = tokens.checked_sub(1) else { return false };
	let mut receipt = plain();
	(receipt.prompt.count, receipt.answer.count) = (1, generated);
	let subject = Subject::Answer(receipt.claimed(&config.tokenizer.tokens));
	let setting = Setting { model: &config.model, train: &config.train, round: 0, start: Default::default(), subject };
	generated.checked_sub(1).is_some_and(|last| [0, last].into_iter().all(|doubt| open_answer(&setting, doubt).is_ok()))
}

/// A receipt without anything in it.
fn plain() -> Receipt {
	use neuroshard_graph::sampler::Sampling;
	use neuroshard_types::inference::{Class, Tokens};
	Receipt {
		provider: None,
		paid: None,
		parameters: Default::default(),
		checkpoint: None,
		class: Class::ExactF32,
		usable: TextTokens::BYTES.usable,
		prompt: Tokens::of(&[]),
		answer: Tokens::of(&[]),
		ending: Ending::Cut,
		sampling: Sampling::default().into(),
		price: 0,
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_fixtures::answers::config;
	use neuroshard_types::ModelConfig;

	fn with(change: impl FnOnce(&mut ModelConfig)) -> RunConfig {
		let mut config = config();
		change(&mut config.model);
		config
	}

	fn receipt(prompt: u32, answer: u32, ending: Ending) -> Receipt {
		let mut receipt = Receipt { ending, ..plain() };
		(receipt.prompt.count, receipt.answer.count) = (prompt, answer);
		receipt
	}

	#[test]
	fn texts_are_judged_up_to_what_a_model_reads_and_a_witness_holds() {
		// The last token of a text that was cut is not read.
		assert_eq!(longest_text(&with(|model| model.max_seq = 64), None), Some(65));
		// 2^28 attention probabilities of four heads, or the longest text.
		assert_eq!(longest_text(&with(|model| model.max_seq = 1 << 20), None), Some(8_193));
		assert_eq!(longest_text(&with(|model| (model.max_seq, model.heads, model.kv_heads) = (1 << 20, 1, 1)), None), Some(MAX_TEXT));
		assert_eq!(longest_text(&with(|model| (model.max_seq, model.vocab) = (64, 1 << 18)), None), Some(65));
		assert_eq!(longest_text(&with(|model| model.vocab = (1 << 18) + 32), None), None);
	}

	#[test]
	fn less_memory_leaves_shorter_texts() {
		let config = with(|model| model.max_seq = 1 << 12);
		let needed = |tokens| memory(&config, tokens).unwrap();
		assert!(needed(64) < needed(65) && needed(65) == needed(96) && needed(96) < needed(4_096));
		// The last token is not read.
		assert_eq!(needed(4_097), needed(4_096));
		assert_eq!((memory(&config, 4_098), memory(&config, 0)), (None, None));
		// Scores of a layer alone, as the text is filled up to 32 rows, twice; and the parameters.
		let parameters = neuroshard_graph::ParamLayout::new(&config.model).unwrap().len() as u64;
		assert!(needed(4_096) > 4 * (parameters + (2 * u64::from(config.model.heads)) * 4_096 * 4_096));
		assert!(needed(4_096) < 8 * (parameters + (2 * u64::from(config.model.heads)) * 4_096 * 4_096));
		let longest = |room| longest_text(&config, Some(room));
		assert_eq!((longest(u64::MAX), longest_text(&config, None)), (Some(4_097), Some(4_097)));
		assert_eq!((longest(needed(64)), longest(needed(96) - 1), longest(needed(96))), (Some(64), Some(64), Some(96)));
		assert_eq!(longest(1), None);
	}

	#[test]
	fn what_no_game_can_be_opened_about_is_told() {
		let config = with(|model| model.max_seq = 64);
		let check = |receipt: &Receipt| check_disputable(&config, 0, receipt);
		assert_eq!(check(&receipt(60, 5, Ending::Cut)), Ok(()));
		assert_eq!(check(&receipt(60, 4, Ending::End)), Ok(()));
		assert!(check(&receipt(60, 5, Ending::End)).is_err() && check(&receipt(60, 6, Ending::Cut)).is_err());
		assert_eq!(check(&receipt(60, 0, Ending::Cut)), Err(GameError::Text.into()));
		assert_eq!(check(&receipt(0, 5, Ending::Cut)), Err(GameError::Text.into()));
		let other = Receipt { usable: 288, ..receipt(1, 1, Ending::Cut) };
		assert_eq!(check(&other), Err(Undisputable::Usable { told: 288, expected: 257 }));
		let vast = with(|model| model.vocab = (1 << 18) + 32);
		let refused = GameError::Config(neuroshard_graph::ConfigError::TooLarge);
		assert_eq!(check_disputable(&vast, 0, &receipt(1, 1, Ending::Cut)), Err(refused.into()));
	}
}
