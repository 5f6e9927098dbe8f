//! What a player computes of its claim.

use super::PlayError;
use crate::trace::Trace;
use neuroshard_graph::{
	game::{Contents, Part, Records, Site, SpanNodes, Stand},
	merkle::Hash,
};

/// A job of the claim that can be disputed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Job {
	/// An inner step, from 0.
	Step(u32),
	/// The delta.
	Delta,
	/// An outer step of the claim, from 0.
	Outer(u32),
	/// Reading the text of an answer.
	Read,
	/// A member's part of an inner step.
	Span {
		/// The member.
		member: u32,
		/// The step, from 0 in the round.
		step: u32,
	},
}

impl Job {
	/// The job of `site`.
	pub(super) fn of(site: &Site) -> Self {
		match *site {
			Site::Step { step, .. } => Self::Step(step),
			Site::Delta { .. } | Site::Code { .. } => Self::Delta,
			Site::Outer { step, .. } | Site::Aggregate { step, .. } => Self::Outer(step),
			Site::Read { .. } => Self::Read,
			Site::Span { member, step, .. } => Self::Span { member, step },
		}
	}
}

/// A traced job.
pub struct Traced {
	/// All its tensors.
	pub trace: Trace,
	/// [`Trace::node_roots`].
	pub nodes: Vec<Hash>,
}

impl Traced {
	/// With the roots of its nodes.
	pub fn new(trace: Trace) -> Self {
		let nodes = trace.node_roots();
		Self { trace, nodes }
	}
}

/// What a challenger picks of the records of a quorum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PickedRecord {
	/// Whose record.
	pub member: u32,
	/// Its part.
	pub part: Part,
	/// The step, counted from the interval's first.
	pub step: u32,
	/// The result that is false; `None` for the state after the interval.
	pub out: Option<u32>,
}

/// The source of a player's moves: what comes out of the claim's start.
pub trait Story {
	/// Why something cannot be computed.
	type Error;

	/// State roots after the inner steps `first..first + count`, or checkpoint roots after these outer steps. Fewer if the job ends
	/// before in divergence.
	///
	/// # Errors
	/// [`PlayError::Source`] or [`PlayError::Trace`].
	fn roots(&mut self, first: u32, count: u32) -> Result<Vec<Hash>, PlayError<Self::Error>>;

	/// What the state before step `step` consists of.
	///
	/// # Errors
	/// [`PlayError::Source`] or [`PlayError::Trace`].
	fn contents(&mut self, step: u32) -> Result<Contents, PlayError<Self::Error>>;

	/// Roots of parameters and momentum of the checkpoint that the delta is the difference from: the one that the claim begins with, if it is no other.
	///
	/// # Errors
	/// [`PlayError::Position`] for a claim that begins with no checkpoint.
	fn base(&mut self) -> Result<[Hash; 2], PlayError<Self::Error>> {
		match self.contents(0)? {
			Contents::Checkpoint(contents) => Ok(contents),
			_ => Err(PlayError::Position),
		}
	}

	/// The trace of a job.
	///
	/// # Errors
	/// [`PlayError::Source`] or [`PlayError::Trace`].
	fn trace(&mut self, job: Job) -> Result<&Traced, PlayError<Self::Error>>;

	/// A member's part of the state after each step up to the disputed one.
	///
	/// # Errors
	/// [`PlayError::Position`] for work of one machine.
	fn span_states(&mut self, _: &Stand) -> Result<Vec<Hash>, PlayError<Self::Error>> {
		Err(PlayError::Position)
	}

	/// A member's part of the disputed step.
	///
	/// # Errors
	/// [`PlayError::Position`] for work of one machine.
	fn span_nodes(&mut self, _: &Stand) -> Result<SpanNodes, PlayError<Self::Error>> {
		Err(PlayError::Position)
	}

	/// The first thing that is false in what members have signed, of which these are the parts.
	///
	/// # Errors
	/// [`PlayError::Position`] for work of one machine, [`PlayError::Nothing`] if all of it is right.
	fn pick_record(&mut self, _: &Records, _: &[Part]) -> Result<PickedRecord, PlayError<Self::Error>> {
		Err(PlayError::Position)
	}

	/// All tokens of the prompt and of the answer that the claim is about; `None` if it is about none.
	fn text(&self) -> Option<[&[u32]; 2]> {
		None
	}
}

impl<S: Story + ?Sized> Story for &mut S {
	type Error = S::Error;

	fn roots(&mut self, first: u32, count: u32) -> Result<Vec<Hash>, PlayError<Self::Error>> {
		(**self).roots(first, count)
	}

	fn contents(&mut self, step: u32) -> Result<Contents, PlayError<Self::Error>> {
		(**self).contents(step)
	}

	fn trace(&mut self, job: Job) -> Result<&Traced, PlayError<Self::Error>> {
		(**self).trace(job)
	}

	fn span_states(&mut self, stand: &Stand) -> Result<Vec<Hash>, PlayError<Self::Error>> {
		(**self).span_states(stand)
	}

	fn span_nodes(&mut self, stand: &Stand) -> Result<SpanNodes, PlayError<Self::Error>> {
		(**self).span_nodes(stand)
	}

	fn pick_record(&mut self, records: &Records, parts: &[Part]) -> Result<PickedRecord, PlayError<Self::Error>> {
		(**self).pick_record(records, parts)
	}

	fn text(&self) -> Option<[&[u32]; 2]> {
		(**self).text()
	}
}
