//! The work of a quorum, recomputed by one who has all of the model: it says which member's record is false.

use super::{
	super::{PickedRecord, PlayError, QuorumStory, SpanStory, Story, Traced},
	Job, WorkStory,
};
use crate::{exec::StepError, trace::TraceError};
use neuroshard_graph::{
	config::ConfigError,
	game::{Part, Records, SpanNodes, Stand},
	merkle::Hash,
	span::{Held, Span},
};

/// What members of a quorum hold, and what all of them compute in the interval at hand.
pub(super) struct Members {
	spans: Vec<Span>,
	/// First inner step of the interval, and the interval.
	interval: Option<(u32, QuorumStory)>,
}

impl<E, R: FnMut(u32, u32, &mut [u32]) -> Result<(), E>> WorkStory<R> {
	/// The same round, which is said to be the work of a quorum whose members hold these spans.
	#[must_use]
	pub fn of_quorum(self, spans: Vec<Span>) -> Self {
		Self { members: Some(Members { spans, interval: None }), ..self }
	}

	/// All members' parts of the interval that begins with step `first`, as far as it does not diverge.
	fn members_of(&mut self, first: u32) -> Result<&mut QuorumStory, PlayError<E>> {
		let members = self.members.as_ref().ok_or(PlayError::Position)?;
		if members.interval.as_ref().is_none_or(|(known, _)| *known != first) {
			let spans = members.spans.clone();
			if !self.seek(first)? {
				return Err(PlayError::Position);
			}
			let setup = |error: ConfigError| PlayError::Trace(error.into());
			let mut story = QuorumStory { members: Vec::new() };
			for span in spans {
				let held = Held::new(&self.model, self.train.adapter, span).map_err(setup)?;
				let state = self.vectors().map(|vector| held.of(vector));
				let of_base = Held::new(&self.model, None, span).map_err(setup)?;
				let base = self.start.model.as_ref().map(|model| of_base.of(model));
				let place = (&self.model, &self.train, span);
				story.members.push(SpanStory::new(self.exec.clone(), place, (self.round, first), state, base)?);
			}
			let end = self.steps.min(first.saturating_add(self.train.commit_interval));
			for step in first..end {
				let tokens = self.tokens(step)?;
				match story.step(&tokens, |_, _| {}) {
					Ok(()) => {}
					Err(TraceError::Step(StepError::Diverged)) => break,
					Err(error) => return Err(error.into()),
				}
			}
			if let Some(members) = &mut self.members {
				members.interval = Some((first, story));
			}
		}
		let interval = self.members.as_mut().and_then(|members| members.interval.as_mut());
		interval.map(|(_, story)| story).ok_or(PlayError::Position)
	}

	/// The first inner step of the interval that has step `step`.
	fn interval_of(&self, step: u32) -> u32 {
		step.checked_rem(self.train.commit_interval).map_or(0, |within| step.saturating_sub(within))
	}

	/// The trace of a member's part of step `step`.
	pub(super) fn member_traced(&mut self, job: Job, step: u32) -> Result<&Traced, PlayError<E>> {
		let first = self.interval_of(step);
		self.members_of(first)?.trace(job).map_err(PlayError::widen)
	}

	pub(super) fn member_states(&mut self, stand: &Stand) -> Result<Vec<Hash>, PlayError<E>> {
		self.members_of(stand.first)?.span_states(stand).map_err(PlayError::widen)
	}

	pub(super) fn member_nodes(&mut self, stand: &Stand) -> Result<SpanNodes, PlayError<E>> {
		self.members_of(stand.first)?.span_nodes(stand).map_err(PlayError::widen)
	}

	pub(super) fn picked_record(&mut self, records: &Records, parts: &[Part]) -> Result<PickedRecord, PlayError<E>> {
		let first = records.records.first().map(|(record, _)| record.first).ok_or(PlayError::Position)?;
		self.members_of(first)?.pick_record(records, parts).map_err(PlayError::widen)
	}
}
