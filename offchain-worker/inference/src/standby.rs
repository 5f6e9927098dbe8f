//! A part of a model on a device, and what computes it when the device is lost.

use super::engine::{Engine, Part, Readiness};
use neuroshard_compute::exec::{InferenceError, Input, Output, Pages, Piece};
use std::sync::{
	atomic::{AtomicBool, Ordering},
	Arc,
};

type Load = dyn FnOnce() -> Result<Box<dyn Part>, String> + Send;

/// A part of a model, in whose place another one computes when it can no more.
pub struct Standby {
	part: Box<dyn Part>,
	instead: Option<Box<Load>>,
	/// Whether nothing computes any more.
	is_gone: Arc<AtomicBool>,
}

impl Standby {
	/// `part`, and how what computes in its place is loaded.
	pub fn new(part: Box<dyn Part>, instead: impl FnOnce() -> Result<Box<dyn Part>, String> + Send + 'static) -> Self {
		Self { part, instead: Some(Box::new(instead)), is_gone: Arc::default() }
	}
}

impl Part for Standby {
	fn pass(&mut self, pages: &Pages, pieces: &mut [Piece], input: Input, output: Output) -> Result<&[f32], InferenceError> {
		self.part.pass(pages, pieces, input, output)
	}
}

impl Engine for Standby {
	fn vocab(&self) -> usize {
		self.part.vocab()
	}

	fn longest(&self) -> usize {
		self.part.longest()
	}

	fn dim(&self) -> usize {
		self.part.dim()
	}

	fn page_bytes(&self) -> usize {
		self.part.page_bytes()
	}

	fn readiness(&self) -> Readiness {
		let is_gone = self.is_gone.clone();
		Readiness::new(move || !is_gone.load(Ordering::Relaxed))
	}

	fn replace_lost(&mut self) -> bool {
		if self.part.readiness().is_ready() {
			return false;
		}
		match self.instead.take().map(|load| load()) {
			Some(Ok(part)) => {
				tracing::error!("what computed the model is lost; something else computes it from now on, and texts are read again");
				self.part = part;
				true
			}
			Some(Err(words)) => {
				tracing::error!("what computed the model is lost, and nothing takes its place: {words}");
				self.is_gone.store(true, Ordering::Relaxed);
				false
			}
			None => {
				self.is_gone.store(true, Ordering::Relaxed);
				false
			}
		}
	}

	fn pages(&self, limit: usize) -> Pages {
		self.part.pages(limit)
	}

	fn logits(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		self.part.logits(pages, pieces)
	}

	fn hidden(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		self.part.hidden(pages, pieces)
	}
}
