//! Whatever computes logits: a model on this machine, or a ring of workers.

use neuroshard_graph::exec::{Inference, InferenceError, Input, Output, Pages, Piece};

/// Computes logits. Equal texts get equal bits from every engine.
pub trait Engine: Send {
	/// Tokens of the vocabulary: the length of a row of logits.
	fn vocab(&self) -> usize;
	/// Tokens of the longest text.
	fn longest(&self) -> usize;
	/// Width of the residual stream.
	fn dim(&self) -> usize;
	/// Bytes that a page of keys and values takes, with all who hold one together.
	fn page_bytes(&self) -> usize;
	/// Room for so many pages.
	fn pages(&self, limit: usize) -> Pages;
	/// Has every text read its tokens; returns the wanted rows of logits, `[wanted, vocab]`, in the order of the pieces.
	///
	/// # Errors
	/// [`InferenceError`]; all texts are then as before.
	fn logits(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError>;
	/// As [`Self::logits`], but the rows are the residual stream after the last norm, `[wanted, dim]`.
	///
	/// # Errors
	/// As [`Self::logits`].
	fn hidden(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError>;
}

impl Engine for Inference {
	fn vocab(&self) -> usize {
		self.vocab()
	}

	fn longest(&self) -> usize {
		self.longest()
	}

	fn dim(&self) -> usize {
		self.dim()
	}

	fn page_bytes(&self) -> usize {
		self.page_bytes()
	}

	fn pages(&self, limit: usize) -> Pages {
		Pages::new(limit)
	}

	fn logits(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		self.pass(pages, pieces, Input::Tokens, Output::Logits)
	}

	fn hidden(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		self.pass(pages, pieces, Input::Tokens, Output::Hidden)
	}
}
