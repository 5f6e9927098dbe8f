//! How fast models of 14 and of 110 million parameters answer, in f32 and in 8 bits: tokens a second of one text, of eight texts side by side, and of a
//! prompt of 128 tokens.
//!
//! `cargo run --release -p neuroshard-compute --example decode [-- ROUNDS]`

use neuroshard_compute::exec::{Exec, Inference, Pages, Piece, Sequence, Stage, Wanted};
use neuroshard_graph::{init::theta_0, Class, ModelConfig, ParamLayout, TrainConfig};
use std::{error::Error, sync::Arc, time::Instant};

/// Tokens of a prompt.
const PROMPT: usize = 128;
/// Tokens that texts get in a round, one by one.
const TOKENS: u32 = 16;

/// Seconds that one pass of `tokens` more tokens of `texts` texts takes.
fn pass(inference: &mut Inference, pages: &Pages, texts: &mut [Sequence], tokens: &[u32]) -> Result<f64, Box<dyn Error>> {
	let mut pieces: Vec<_> = texts.iter_mut().map(|sequence| Piece { sequence, tokens, wanted: Wanted::Last }).collect();
	let begun = Instant::now();
	inference.logits(pages, &mut pieces)?;
	Ok(begun.elapsed().as_secs_f64())
}

/// Tokens a second: of a prompt, of one text behind it, and of eight.
fn round(inference: &mut Inference) -> Result<[f64; 3], Box<dyn Error>> {
	let (pages, prompt) = (Pages::new(64), [7; PROMPT]);
	let (mut one, mut eight) = (Vec::from_iter([Sequence::default()]), Vec::new());
	let read = pass(inference, &pages, &mut one, &prompt)?;
	for _ in 0..8 {
		let mut text = [Sequence::default()];
		pass(inference, &pages, &mut text, &prompt)?;
		eight.extend(text);
	}
	let mut rate = |texts: &mut [Sequence]| -> Result<f64, Box<dyn Error>> {
		let mut seconds = 0.0;
		for token in 0..TOKENS {
			seconds += pass(inference, &pages, texts, &[token])?;
		}
		Ok(f64::from(TOKENS) * texts.len() as f64 / seconds)
	};
	Ok([PROMPT as f64 / read, rate(&mut one)?, rate(&mut eight)?])
}

fn main() -> Result<(), Box<dyn Error>> {
	let rounds = std::env::args().nth(1).map_or(Ok(7), |rounds| rounds.parse())?;
	let small =
		ModelConfig { vocab: 288, dim: 384, layers: 8, heads: 6, kv_heads: 6, ffn: 960, max_seq: 256, tied: false, ..ModelConfig::tiny() };
	let large = ModelConfig { vocab: 32_000, dim: 768, layers: 12, heads: 12, kv_heads: 12, ffn: 2_048, tied: true, ..small.clone() };
	[small, large].iter().try_for_each(|shape| compare(shape, rounds))
}

fn compare(shape: &ModelConfig, rounds: usize) -> Result<(), Box<dyn Error>> {
	let layout = ParamLayout::new(shape)?;
	let theta = theta_0(shape, &layout, &TrainConfig::tiny().seed);
	for threads in [1, 2] {
		let exec = Arc::new(Exec::new(threads)?);
		println!("{threads} thread(s), {:?}, {} parameters; median (slowest to fastest) of {rounds} rounds", exec.level(), layout.len());
		let whole = Stage::whole(usize::try_from(shape.layers)?);
		let model = |class| Inference::in_class(exec.clone(), shape, &theta, &whole, class);
		let mut models = [model(Class::ExactF32)?, model(Class::ExactInt8)?];
		let mut rates = [const { [const { Vec::new() }; 3] }; 2];
		for _ in 0..rounds {
			// Taking turns: other load on the machine then hits both.
			for (model, rates) in models.iter_mut().zip(&mut rates) {
				for (rates, rate) in rates.iter_mut().zip(round(model)?) {
					rates.push(rate);
				}
			}
		}
		for (kind, name) in ["a prompt of 128", "one text", "eight texts"].into_iter().enumerate() {
			let [plain, int8] = [0, 1].map(|class| {
				let rates: &mut Vec<f64> = &mut rates[class][kind];
				rates.sort_by(f64::total_cmp);
				[rates[rates.len() / 2], rates[0], rates[rates.len() - 1]]
			});
			let told = |[median, slowest, fastest]: [f64; 3]| format!("{median:>7.1} tokens/s ({slowest:.1} to {fastest:.1})");
			println!("  {name:>15}: f32 {}, int8 {}: {:.2} times as fast", told(plain), told(int8), int8[0] / plain[0]);
		}
	}
	Ok(())
}
