//! Engines, which compute logits: a model on this machine, or a ring of workers.

use neuroshard_compute::exec::{Decoding, Inference, InferenceError, Input, Output, Pages, Piece};
use std::sync::Arc;

/// Computes logits. Equal texts get equal bits from every engine.
pub trait Engine: Send {
	/// Tokens of the vocabulary: the length of a row of logits.
	fn vocab(&self) -> usize;
	/// Tokens of the longest text.
	fn longest(&self) -> usize;
	/// Width of the residual stream.
	fn dim(&self) -> usize;
	/// Bytes that a page of the KV cache takes, with all who hold one together.
	fn page_bytes(&self) -> usize;
	/// Returns its readiness to compute, as it is seen from other threads.
	fn readiness(&self) -> Readiness {
		Readiness::default()
	}
	/// Has something else compute from now on, if what computed is lost and there is something else: all pages are to be asked for anew then, and all texts to
	/// be read again.
	fn replace_lost(&mut self) -> bool {
		false
	}
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

/// Computes a part of a model: an engine, where it is all of it.
pub trait Part: Engine {
	/// See [`Inference::pass`].
	///
	/// # Errors
	/// As [`Inference::pass`].
	fn pass(&mut self, pages: &Pages, pieces: &mut [Piece], input: Input, output: Output) -> Result<&[f32], InferenceError>;
}

/// Says whether an engine can compute now. Clones share it.
#[derive(Clone)]
pub struct Readiness(Arc<dyn Fn() -> bool + Send + Sync>);

impl Readiness {
	/// Asks `is_ready`.
	pub fn new(is_ready: impl Fn() -> bool + Send + Sync + 'static) -> Self {
		Self(Arc::new(is_ready))
	}

	/// Returns whether it can compute now.
	pub fn is_ready(&self) -> bool {
		(self.0)()
	}
}

impl Default for Readiness {
	/// Of an engine that always can.
	fn default() -> Self {
		Self::new(|| true)
	}
}

impl<B> Part for Inference<B>
where
	B: Decoding<Memory: Send, Weight: Send + Sync, Rows: Send> + Send + Sync + 'static,
{
	fn pass(&mut self, pages: &Pages, pieces: &mut [Piece], input: Input, output: Output) -> Result<&[f32], InferenceError> {
		self.pass(pages, pieces, input, output)
	}
}

impl<B> Engine for Inference<B>
where
	B: Decoding<Memory: Send, Weight: Send + Sync, Rows: Send> + Send + Sync + 'static,
{
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

	fn readiness(&self) -> Readiness {
		let backend = self.backend().clone();
		Readiness::new(move || !backend.is_lost())
	}

	fn pages(&self, limit: usize) -> Pages {
		self.pages(limit)
	}

	fn logits(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		self.pass(pages, pieces, Input::Tokens, Output::Logits)
	}

	fn hidden(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		self.pass(pages, pieces, Input::Tokens, Output::Hidden)
	}
}
