//! What members give each other in the steps of an interval, and where it is had from.

use crate::{player::PlayError, trace::TraceError};
use std::sync::Arc;

/// What a member is given in an inner step.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GivenStep {
	/// The batch, each sequence with the token that follows it. Whoever has neither embedding nor end needs no right ones.
	pub tokens: Vec<u32>,
	/// Rows and gradients of the whole batch, in the order of [`given`].
	pub rows: Vec<Vec<f32>>,
	/// Sums of the squares of the gradients of all units.
	pub sums: Vec<f32>,
}

/// What a member gives in an inner step, as far as others need it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GaveStep {
	/// Rows and gradients of the whole batch, in the order of [`gave`].
	pub rows: Vec<Vec<f32>>,
	/// Sums of the squares of the gradients of its units that are trained.
	pub squares: Vec<f32>,
}

/// Reads what a member was given in a step, counted from the interval's first: a large model's is not kept in memory.
pub type ReadGiven<E> = Box<dyn FnMut(u32) -> Result<GivenStep, E> + Send + Sync>;

/// What a member was given in the steps of an interval.
pub(super) enum Steps<E> {
	Memory(Vec<Arc<GivenStep>>),
	/// So many steps, which are read.
	Kept(u32, ReadGiven<E>),
}

impl<E> Steps<E> {
	/// `None` behind the last one.
	pub(super) fn get(&mut self, step: u32) -> Result<Option<Arc<GivenStep>>, E> {
		match self {
			Self::Memory(steps) => Ok(steps.get(step as usize).cloned()),
			Self::Kept(count, read) if step < *count => read(step).map(|given| Some(Arc::new(given))),
			Self::Kept(..) => Ok(None),
		}
	}

	pub(super) fn len(&self) -> u32 {
		match self {
			Self::Memory(steps) => u32::try_from(steps.len()).unwrap_or(u32::MAX),
			Self::Kept(count, _) => *count,
		}
	}
}

/// Why the state after a step cannot be computed.
pub(super) enum SeekError<E> {
	Trace(TraceError),
	Source(E),
}

impl<E> From<TraceError> for SeekError<E> {
	fn from(error: TraceError) -> Self {
		Self::Trace(error)
	}
}

impl<E> From<SeekError<E>> for PlayError<E> {
	fn from(error: SeekError<E>) -> Self {
		match error {
			SeekError::Trace(error) => Self::Trace(error),
			SeekError::Source(error) => Self::Source(error),
		}
	}
}
