//! The last move about the choice of a token, inside the runtime's WASM: with the largest witnesses, and whatever settings tokens are chosen by.

use super::Chain;
use neuroshard_compute::{
	exec::Exec,
	player::{AnswerStory, Job, Story, Traced},
	recorder::record_choice,
};
use neuroshard_graph::{
	commit::{checkpoint_root, tensors_root},
	game::{open_answer, Move, Outcome, Position, Ruling, Setting, Subject},
	sampler::Sampling,
	Hash, ModelConfig, ParamLayout, TrainConfig,
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
		let token = |place: u32| place.wrapping_mul(2_654_435_761) % 257;
		let prompt = (0..length / 2).map(token).collect();
		Self { name, model, prompt, answer: (length / 2..length).map(token).collect(), sampling }
	}

	fn receipt(&self, start: Hash) -> Receipt {
		Receipt {
			provider: None,
			paid: None,
			parameters: H256(start),
			checkpoint: Some((0, ROUND)),
			class: Class::ExactF32,
			usable: TextTokens::BYTES.usable,
			prompt: Tokens::of(&self.prompt),
			answer: Tokens::of(&self.answer),
			ending: Ending::Cut,
			sampling: self.sampling.into(),
			price: 0,
		}
	}

	/// The game, where it stands before the last move, that move, and how it is ruled.
	fn case(&self) -> (Game, Position, Move, Ruling) {
		let (model, train) = (&self.model, TrainConfig::tiny());
		let layout = ParamLayout::new(model).unwrap();
		let theta: Vec<f32> = (0..layout.len()).map(|index| ((index * 7_919) % 1_000) as f32 / 1_000.0 - 0.5).collect();
		let [params, momentum] = [tensors_root(&layout, &theta, 1), [9; 32]];
		let start = checkpoint_root(&params, &momentum, ROUND, u64::from(ROUND * train.inner_steps));
		let receipt = self.receipt(start);
		let claim = receipt.claimed(&TextTokens::BYTES);
		let setting = Setting { model, train: &train, round: ROUND, start, subject: Subject::Answer(claim) };
		let text = [self.prompt.clone(), self.answer.clone()];
		let exec = Arc::new(Exec::new(2).unwrap());
		let mut story = AnswerStory::new(exec, model, &train, (theta, momentum), &claim, text.clone()).unwrap();
		let index = claim.choices() - 1;
		let position = open_answer(&setting, index).unwrap();
		let row = claim.row(index).unwrap();
		let Traced { trace, nodes } = story.trace(Job::Read).unwrap();
		let text = text.each_ref().map(Vec::as_slice);
		let right = claim.is_chosen(index, trace.logits(row).unwrap(), text);
		let witness = record_choice(trace, nodes, text, row).unwrap();
		let read = Move::Read { start: [params, momentum], nodes: nodes.clone() };
		let Ok(Outcome::Next(position)) = position.play(&setting, &read) else { panic!("the nodes are taken") };
		let ruling = if right { Ruling::Unfounded } else { Ruling::Fraud };
		let game = Game { model: model.clone(), train, round: ROUND, start, claim: Claim::Answer(receipt, TextTokens::BYTES) };
		(game, position, Move::Choice { index, witness }, ruling)
	}
}

#[test]
fn choices_with_the_largest_witnesses_are_judged_in_wasm_as_natively() {
	let warm = Sampling { temperature: 0.7, top_k: 0, top_p: 0.9, min_p: 0.01, repetition: 1.1, presence: 0.2, frequency: 0.1, seed: 5 };
	let odd = Sampling { temperature: 10.0, top_p: f32::from_bits(1), repetition: 0.1, presence: -2.0, frequency: 2.0, ..warm };
	let chain = Chain::new();
	let mut largest = 0;
	for text in [
		Text::new("13.8M", 4_096, 512, warm),
		Text::new("greedy", 4_096, 512, Sampling { temperature: 0.0, ..warm }),
		Text::new("extreme settings", 4_096, 512, odd),
		Text::new("large vocabulary", 7_200, 512, warm),
		Text::new("long text", 6_784, 4_096, warm),
	] {
		let (game, position, action, ruling) = text.case();
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
	assert!(largest > 250_000, "{largest} bytes: none of them is near the limit");
}
