//! A text to learn from and a part of it that nothing is learned from, for examples that train.

use neuroshard_compute::exec::{Arena, Exec, Validator};
use neuroshard_graph::{ModelConfig, TrainConfig};
use std::{convert::Infallible, error::Error, sync::Arc};

/// Of so many pieces of the text, the loss is measured on one, and nothing is learned from it.
const HELD_OUT: usize = 10;
/// Tokens of a piece.
const PIECE: usize = 4_096;

/// Tokens: bytes of the text.
pub struct Text {
	learned: Vec<u32>,
	held_out: Vec<u32>,
}

impl Text {
	pub fn read(path: &str) -> Result<Self, Box<dyn Error>> {
		let (mut learned, mut held_out) = (Vec::new(), Vec::new());
		for (number, piece) in std::fs::read(path)?.chunks(PIECE).enumerate() {
			if number % HELD_OUT == HELD_OUT - 1 { &mut held_out } else { &mut learned }.extend(piece.iter().copied().map(u32::from));
		}
		Ok(Self { learned, held_out })
	}

	/// Tokens of a batch, from windows that are drawn.
	pub fn batch(&self, train: &TrainConfig, random: &mut Random) -> Vec<u32> {
		let (count, len) = (train.batch as usize, train.seq_len as usize + 1);
		let window = |_| {
			let start = random.next() as usize % (self.learned.len() - len);
			self.learned[start..start + len].iter().copied()
		};
		(0..count).flat_map(window).collect()
	}

	/// The loss of `theta` on what nothing was learned from.
	pub fn loss(&self, exec: &Arc<Exec>, model: &ModelConfig, train: &TrainConfig, theta: &[f32]) -> Result<f32, Box<dyn Error>> {
		let mut validator = Validator::new(exec.clone(), model, train)?;
		let mut arena = Arena::new(validator.arena_len());
		arena[..theta.len()].copy_from_slice(theta);
		let len = train.seq_len as usize + 1;
		let stride = (self.held_out.len() - len) / train.validation_sequences as usize;
		let sequence = |number: u32, tokens: &mut [u32]| {
			tokens.copy_from_slice(&self.held_out[number as usize * stride..][..len]);
			Ok::<_, Infallible>(())
		};
		Ok(validator.loss(&mut arena, sequence)?)
	}
}

/// Numbers of a seed, by Knuth's 64-bit generator.
pub struct Random(pub u64);

impl Random {
	pub fn next(&mut self) -> u64 {
		self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
		self.0 >> 33
	}
}

/// Least and most of some numbers.
pub fn extremes(numbers: &[f32]) -> [f32; 2] {
	[f32::min, f32::max].map(|best| numbers.iter().copied().reduce(best).unwrap_or(f32::NAN))
}
