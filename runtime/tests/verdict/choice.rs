//! The last move about the choice of a token, inside the runtime's WASM: with the largest witnesses, and whatever settings tokens are chosen by.

use super::Chain;
use neuroshard_compute::{
	exec::Exec,
	player::{AnswerStory, Job, Story, Traced},
	recorder::{record_choice, record_row, row_hashes},
};
use neuroshard_graph::{
	commit::{checkpoint_root, tensors_root},
	game::{open_answer, Entry, Move, Outcome, Position, Ruling, Setting, Subject},
	merkle::prove,
	sampler::Sampling,
	witness::MAX_CHOICE,
	Hash, ModelConfig, ParamLayout, TrainConfig, MAX_TRAINED_VOCAB,
};
use neuroshard_runtime::kernels_api::{Claim, Game};
use neuroshard_types::{
	dataset::TextTokens,
	inference::{Class, Ending, Receipt, Tokens},
	H256,
};
use std::sync::Arc;

const ROUND: u32 = 2;

/// An answer of a model, about the last token of which there is a dispute.
struct Text {
	name: &'static str,
	model: ModelConfig,
	prompt: Vec<u32>,
	answer: Vec<u32>,
	sampling: Sampling,
}

impl Text {
	fn new(name: &'static str, vocab: u32, length: u32, sampling: Sampling) -> Self {
		let model = ModelConfig { vocab, dim: 32, layers: 1, heads: 1, kv_heads: 1, ffn: 32, max_seq: length, ..ModelConfig::tiny() };
		let token = |place: u32| place.wrapping_mul(2_654_435_761) % vocab;
		let prompt = (0..length / 2).map(token).collect();
		Self { name, model, prompt, answer: (length / 2..length).map(token).collect(), sampling }
	}

	/// Every token of the model is drawn from.
	fn tokens(&self) -> TextTokens {
		TextTokens { usable: self.model.vocab, ..TextTokens::BYTES }
	}

	fn receipt(&self, start: Hash) -> Receipt {
		Receipt {
			provider: None,
			paid: None,
			parameters: H256(start),
			checkpoint: Some((0, ROUND)),
			class: Class::ExactF32,
			usable: self.model.vocab,
			prompt: Tokens::of(&self.prompt),
			answer: Tokens::of(&self.answer),
			ending: Ending::Cut,
			sampling: self.sampling.into(),
			price: 0,
		}
	}

	/// The game, where it stands before the last move, that move with its ruling, and one about the last tile of the row, which is right.
	fn case(&self) -> (Game, Position, (Move, Ruling), Move) {
		let (model, train) = (&self.model, TrainConfig::tiny());
		let layout = ParamLayout::new(model).unwrap();
		let theta: Vec<f32> = (0..layout.len()).map(|index| ((index * 7_919) % 1_000) as f32 / 1_000.0 - 0.5).collect();
		let [params, momentum] = [tensors_root(&layout, &theta, 1), [9; 32]];
		let start = checkpoint_root(&params, &momentum, ROUND, u64::from(ROUND * train.inner_steps));
		let receipt = self.receipt(start);
		let tokens = self.tokens();
		let claim = receipt.claimed(&tokens);
		let setting = Setting { model, train: &train, round: ROUND, start, subject: Subject::Answer(claim) };
		let text = [self.prompt.clone(), self.answer.clone()];
		let exec = Arc::new(Exec::new(2).unwrap());
		let mut story = AnswerStory::new(exec, model, &train, (theta, momentum), &claim, text.clone()).unwrap();
		let index = claim.choices() - 1;
		let first = open_answer(&setting, index).unwrap();
		let row = claim.row(index).unwrap();
		let Traced { trace, nodes } = story.trace(Job::Read).unwrap();
		let text = text.each_ref().map(Vec::as_slice);
		let right = claim.is_chosen(index, trace.logits(row).unwrap(), text);
		let hashes = row_hashes(trace, row).unwrap();
		let piece = u32::try_from(hashes.len()).unwrap() - 1;
		let after = Some(Entry { hash: hashes[piece as usize], proof: prove(&hashes, piece).unwrap() });
		let tile = Move::Piece { piece, before: None, after, witness: record_row(trace, nodes, row, piece).unwrap() };
		let choice = Move::Choice { index, witness: record_choice(trace, text, row).unwrap() };
		let moves = [Move::Read { start: [params, momentum], nodes: nodes.clone() }, Move::Vector(0), Move::Hashes(hashes)];
		let position = moves.iter().fold(first, |position, action| match position.play(&setting, action) {
			Ok(Outcome::Next(position)) => position,
			other => panic!("{other:?}"),
		});
		let ruling = if right { Ruling::Unfounded } else { Ruling::Fraud };
		let game = Game { model: model.clone(), train, round: ROUND, start, claim: Claim::Answer(receipt, tokens) };
		(game, position, (choice, ruling), tile)
	}
}

#[test]
fn choices_with_the_largest_witnesses_are_judged_in_wasm_as_natively() {
	let warm = Sampling { temperature: 0.7, top_k: 0, top_p: 0.9, min_p: 0.01, repetition: 1.1, presence: 0.2, frequency: 0.1, seed: 5 };
	let odd = Sampling { temperature: 10.0, top_p: f32::from_bits(1), repetition: 0.1, presence: -2.0, frequency: 2.0, ..warm };
	// All tokens but one are sorted, and drawn from.
	let slow = |vocab: u32| Sampling { temperature: 10.0, top_k: vocab - 1, top_p: 1.0 - f32::EPSILON, min_p: f32::MIN_POSITIVE, ..warm };
	let chain = Chain::new();
	let mut largest = 0;
	for text in [
		Text::new("13.8M", 4_096, 512, warm),
		Text::new("greedy", 4_096, 512, Sampling { temperature: 0.0, ..warm }),
		Text::new("extreme settings", 4_096, 512, odd),
		Text::new("large vocabulary", 151_936, 64, slow(151_936)),
		Text::new("largest vocabulary", MAX_TRAINED_VOCAB, 96, slow(MAX_TRAINED_VOCAB)),
		Text::new("long text", 6_784, 4_096, warm),
	] {
		let (game, position, (action, ruling), tile) = text.case();
		let (verdict, [fastest, median, slowest]) = chain.play_in(&game, &position, &tile);
		assert_eq!(verdict, Ok(Outcome::Decided(Ruling::Unfounded)), "{}", text.name);
		println!("{:18} {median:?} ({fastest:?} to {slowest:?}), a tile of the row", text.name);
		let (verdict, [fastest, median, slowest]) = chain.play_in(&game, &position, &action);
		assert_eq!(verdict, Ok(Outcome::Decided(ruling)), "{}", text.name);
		assert_eq!(game.play(&position, &action), Ok(Outcome::Decided(ruling)), "{}", text.name);
		let Move::Choice { index, witness } = action else { panic!("another move") };
		// What was tampered with decides nothing, on either side.
		let mut other = witness.clone();
		other[witness.len() / 2] ^= 1;
		let tampered = Move::Choice { index, witness: other };
		assert_eq!(chain.play_in(&game, &position, &tampered).0, game.play(&position, &tampered));
		assert!(game.play(&position, &tampered).is_err());
		println!("{:18} {median:?} ({fastest:?} to {slowest:?}), {} bytes", text.name, witness.len());
		largest = largest.max(witness.len());
	}
	assert!(largest > MAX_CHOICE - 65_536 && largest <= MAX_CHOICE, "{largest} bytes: none of them is near the limit");
}
