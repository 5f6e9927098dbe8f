//! Disputes about an answer, from their openings to the verdicts, on a model of 13.8 million parameters, with both players in one process: one about
//! a token that was chosen wrongly, and one about a value that was computed wrongly. How many extrinsics, how many bytes, how long: judging the fastest
//! (median) of nine times. In both classes of arithmetic.
//!
//! `cargo run --release -p neuroshard-compute --example answer [-- PROMPT [ANSWER [THREADS]]]`

use codec::Encode;
use neuroshard_compute::{
	exec::{Exec, Inference, Pages, Piece, Sequence, Stage, Wanted, PAGE_TOKENS},
	player::{AnswerStory, Player},
	trace::Mistake,
};
use neuroshard_graph::{
	answer::{Answer, TokenList},
	commit::{checkpoint_root, tensors_root},
	game::{open_answer, Move, Outcome, Setting, Side, Subject},
	init::theta_0,
	sampler::{sample, Counts, Sampling},
	Class, ModelConfig, ParamLayout, TrainConfig,
};
use std::{error::Error, sync::Arc, time::Instant};

fn play(setting: &Setting<'_>, doubt: u32, mut sides: [Player<'_, AnswerStory>; 2]) -> Result<(), Box<dyn Error>> {
	let begun = Instant::now();
	let (mut position, mut defence, mut count) = (open_answer(setting, doubt)?, Vec::new(), 1);
	loop {
		let turn = position.turn();
		let player = &mut sides[usize::from(turn == Side::Challenger)];
		let thought = Instant::now();
		let action = player.play(&position, &defence)?;
		let thought = thought.elapsed();
		let mut judged = Vec::new();
		for _ in 0..9 {
			let begun = Instant::now();
			position.play(setting, &action)?;
			judged.push(begun.elapsed());
		}
		judged.sort();
		let outcome = position.play(setting, &action)?;
		count += 1;
		let name = format!("{action:?}").split([' ', '(']).next().unwrap_or_default().to_owned();
		println!(
			"  {count} {turn:?}: {name}, {} bytes, found in {thought:.2?}, judged in {:.2?} ({:.2?})",
			action.encoded_size(),
			judged[0],
			judged[4]
		);
		match outcome {
			Outcome::Decided(ruling) => {
				println!("  {ruling:?} after {count} extrinsics and {:.1?}", begun.elapsed());
				return Ok(());
			}
			Outcome::Next(next) => position = next,
		}
		if matches!(action, Move::Read { .. } | Move::Hashes(_) | Move::States(_)) {
			defence.push(action);
		}
	}
}

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u32>());
	let mut argument = |default: u32| arguments.next().unwrap_or(Ok(default));
	let (asked, most, threads) = (argument(400)?, argument(100)?.max(1), usize::try_from(argument(2)?)?);
	[Class::ExactF32, Class::ExactInt8].into_iter().try_for_each(|class| dispute(asked, most, threads, class))
}

fn dispute(asked: u32, most: u32, threads: usize, class: Class) -> Result<(), Box<dyn Error>> {
	let model = ModelConfig {
		vocab: 4_096,
		dim: 384,
		layers: 6,
		heads: 6,
		kv_heads: 6,
		ffn: 1_024,
		max_seq: (asked + most).next_multiple_of(32),
		tied: false,
		..ModelConfig::tiny()
	};
	let (train, layout, exec) = (TrainConfig::tiny(), ParamLayout::new(&model)?, Arc::new(Exec::new(threads)?));
	let theta: Vec<f32> = theta_0(&model, &layout, &train.seed).into_iter().map(|value| value * 3.0).collect();
	let momentum = [9; 32];
	let start = checkpoint_root(&tensors_root(&layout, &theta, threads), &momentum, 0, 0);
	let prompt: Vec<u32> = (0..asked).map(|place| place * 2_654_435 % model.vocab).collect();
	let (sampling, mut answer) = (Sampling { top_p: 0.9, seed: 5, ..Sampling::default() }, Vec::new());

	let begun = Instant::now();
	let mut inference = Inference::in_class(exec.clone(), &model, &theta, &Stage::whole(usize::try_from(model.layers)?), class)?;
	let (pages, mut sequence, mut counts, mut unread) =
		(Pages::new(usize::try_from(model.max_seq)? / PAGE_TOKENS + 1), Sequence::default(), Counts::default(), prompt.clone());
	counts.prompt(&prompt);
	for position in asked..asked + most {
		let piece = Piece { sequence: &mut sequence, tokens: &unread, wanted: Wanted::Last };
		let token = sample(inference.logits(&pages, &mut [piece])?, usize::try_from(model.vocab)?, &counts, &sampling, position);
		counts.generated(token);
		answer.push(token);
		unread = vec![token];
	}
	println!("{class:?}, {} parameters, {asked} and {most} tokens, {threads} threads: answered in {:.1?}", layout.len(), begun.elapsed());

	let wrong = most / 2;
	answer[usize::try_from(wrong)?] ^= 1;
	let list = TokenList::of;
	let claim = Answer { prompt: list(&prompt), answer: list(&answer), ended: false, sampling, usable: model.vocab, ends: &[], class };
	let setting = Setting { model: &model, train: &train, round: 0, start, subject: Subject::Answer(claim) };
	let story = || AnswerStory::new(exec.clone(), &model, &train, (theta.clone(), momentum), &claim, [prompt.clone(), answer.clone()]);
	let begun = Instant::now();
	assert_eq!(story()?.doubt(&claim)?, Some(wrong), "the wrong token is not found");
	println!("the first wrong token is found in {:.1?}", begun.elapsed());
	let player = |side, story| Player::new(setting, side, story, None);
	println!("a wrong token:");
	play(&setting, wrong, [player(Side::Defender, story()?), player(Side::Challenger, story()?)])?;
	println!("a wrong value in a layer:");
	// A product of the fourth layer.
	let mistake = Mistake { step: 0, stage: 60, output: 0, element: 70_000, mask: 1 << 20 };
	play(&setting, wrong, [player(Side::Defender, story()?.with_mistake(mistake)), player(Side::Challenger, story()?)])
}
