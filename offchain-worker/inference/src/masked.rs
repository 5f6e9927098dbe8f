//! An engine whose vocabulary has holes: numbers of tokens that the tokenizer does not know. They are never chosen.
//!
//! The chain judges nothing of it: the vocabulary of its runs has no holes. Who checks an answer of another model has the same tokenizer, and so
//! the same holes.

use super::engine::Engine;
use neuroshard_compute::exec::{InferenceError, Pages, Piece};

/// As the engine within, but that the logits of some tokens are minus infinity: whatever the settings, they have no share.
pub(super) struct Masked {
	engine: Box<dyn Engine>,
	holes: Vec<usize>,
	logits: Vec<f32>,
}

impl Masked {
	/// `engine`, which never has one of `holes` chosen; itself where there are none.
	pub(super) fn over(engine: Box<dyn Engine>, holes: impl Iterator<Item = usize>) -> Box<dyn Engine> {
		let vocab = engine.vocab();
		let holes: Vec<usize> = holes.filter(|hole| *hole < vocab).collect();
		match holes.is_empty() {
			true => engine,
			false => Box::new(Self { engine, holes, logits: Vec::new() }),
		}
	}
}

impl Engine for Masked {
	fn vocab(&self) -> usize {
		self.engine.vocab()
	}

	fn longest(&self) -> usize {
		self.engine.longest()
	}

	fn dim(&self) -> usize {
		self.engine.dim()
	}

	fn page_bytes(&self) -> usize {
		self.engine.page_bytes()
	}

	fn pages(&self, limit: usize) -> Pages {
		self.engine.pages(limit)
	}

	fn logits(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		let vocab = self.engine.vocab();
		self.logits.clear();
		self.logits.extend_from_slice(self.engine.logits(pages, pieces)?);
		for row in self.logits.chunks_exact_mut(vocab.max(1)) {
			for hole in &self.holes {
				row[*hole] = f32::NEG_INFINITY;
			}
		}
		Ok(&self.logits)
	}

	fn hidden(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		self.engine.hidden(pages, pieces)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_graph::sampler::{sample, Counts, Sampling};

	/// Five tokens, the likeliest of which are holes.
	struct Fixed;

	impl Engine for Fixed {
		fn vocab(&self) -> usize {
			5
		}

		fn longest(&self) -> usize {
			32
		}

		fn dim(&self) -> usize {
			32
		}

		fn page_bytes(&self) -> usize {
			1
		}

		fn pages(&self, limit: usize) -> Pages {
			Pages::new(limit)
		}

		fn logits(&mut self, _: &Pages, _: &mut [Piece]) -> Result<&[f32], InferenceError> {
			Ok(&[9.0, -1.0, 8.0, 0.0, 7.0, -9.0, -1.0, -8.0, 0.0, -7.0])
		}

		fn hidden(&mut self, _: &Pages, _: &mut [Piece]) -> Result<&[f32], InferenceError> {
			Ok(&[])
		}
	}

	#[test]
	fn no_setting_chooses_a_hole() {
		let mut engine = Masked::over(Box::new(Fixed), [0, 2, 4, 7].into_iter());
		let pages = engine.pages(1);
		let rows = engine.logits(&pages, &mut []).unwrap().to_vec();
		let mut counts = Counts::default();
		counts.prompt(&[0, 1]);
		counts.generated(2);
		let plain = Sampling::default();
		let settings = [
			plain,
			Sampling { temperature: 0.0, ..plain },
			Sampling { temperature: 10.0, top_p: 0.9, ..plain },
			Sampling { top_k: 4, min_p: 0.01, ..plain },
			Sampling { repetition: 0.1, presence: -2.0, frequency: -2.0, ..plain },
		];
		for (setting, row) in settings.iter().zip([&rows[..5], &rows[5..]].into_iter().cycle()) {
			let chosen = (0..500).map(|position| sample(row, 5, &counts, setting, position));
			assert!(chosen.into_iter().all(|token| [1, 3].contains(&token)), "{setting:?}");
		}
		assert_eq!(&rows[5..], [f32::NEG_INFINITY, -1.0, f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY]);
	}

	#[test]
	fn without_holes_logits_are_those_of_the_engine() {
		let mut engine = Masked::over(Box::new(Fixed), [7].into_iter());
		let pages = engine.pages(1);
		assert_eq!(engine.logits(&pages, &mut []).unwrap()[..5], [9.0, -1.0, 8.0, 0.0, 7.0]);
	}
}
