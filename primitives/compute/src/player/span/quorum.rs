//! All members' parts of an interval, for whoever says that one of them is false.

use super::{
	super::{Job, PickedRecord, PlayError, Story, Traced},
	GaveStep, GivenStep, SpanStory,
};
use crate::trace::TraceError;
use core::convert::Infallible;
use neuroshard_graph::{
	game::{Contents, Part, Records, SpanNodes, Stand},
	merkle::Hash,
	span::{gave, given, sums, trained_units, Seam},
};
use std::collections::BTreeMap;

/// All members' parts of an interval: of whoever leads a quorum, or says that one of its records is false.
pub struct QuorumStory {
	/// By number of the member.
	pub members: Vec<SpanStory>,
}

impl QuorumStory {
	/// Takes the next inner step of all members on a batch: what each gives the others are given. `tell` may put other rows, gradients and sums in the place
	/// of what a member gives.
	///
	/// # Errors
	/// [`TraceError`].
	pub fn step(&mut self, tokens: &[u32], mut tell: impl FnMut(usize, &mut GaveStep)) -> Result<(), TraceError> {
		let Some(first) = self.members.first() else { return Ok(()) };
		let (model, adapter) = (first.model.clone(), first.train.adapter.is_some());
		let mut known = BTreeMap::<Seam, Vec<f32>>::new();
		let mut gaves: Vec<GaveStep> = vec![GaveStep::default(); self.members.len()];
		let order: Vec<Vec<Seam>> = self.members.iter().map(|member| given(&model, adapter, member.span)).collect();
		let outs: Vec<Vec<Seam>> = self.members.iter().map(|member| gave(&model, adapter, member.span)).collect();
		let rows_of = |seams: &[Seam], known: &BTreeMap<Seam, Vec<f32>>| -> Vec<Vec<f32>> {
			seams.iter().map(|seam| known.get(seam).cloned().unwrap_or_default()).collect()
		};
		// Forwards, then backwards: every seam once, by whoever gives it.
		let units = model.layers.saturating_add(2);
		let forwards = (1..units).map(Seam::Rows);
		for seam in forwards.chain((1..units).rev().map(Seam::Gradient)) {
			let Some(member) = outs.iter().position(|outs| outs.contains(&seam)) else { continue };
			let step = GivenStep { tokens: tokens.to_vec(), rows: rows_of(&order[member], &known), sums: Vec::new() };
			let mut gives = self.members[member].gives(&step)?;
			tell(member, &mut gives);
			let place = outs[member].iter().position(|out| *out == seam);
			if let Some(rows) = place.and_then(|place| gives.rows.get(place)) {
				known.insert(seam, rows.clone());
			}
		}
		let mut all = vec![0.0; sums(&model, adapter) as usize];
		for (member, gaves) in gaves.iter_mut().enumerate() {
			let step = GivenStep { tokens: tokens.to_vec(), rows: rows_of(&order[member], &known), sums: Vec::new() };
			*gaves = self.members[member].gives(&step)?;
			tell(member, gaves);
			for (unit, square) in trained_units(&model, adapter, self.members[member].span).into_iter().zip(&gaves.squares) {
				all[unit as usize] = *square;
			}
		}
		for (member, gave) in gaves.iter().enumerate() {
			let step = GivenStep { tokens: tokens.to_vec(), rows: rows_of(&order[member], &known), sums: all.clone() };
			self.members[member].take(step, gave)?;
		}
		Ok(())
	}

	/// The first thing that a member says and that is not what this story gives: the member, the step, and which result; `None` for its state.
	fn doubt(&self, posted: &Records) -> Option<(u32, u32, Option<u32>)> {
		let first = self.members.first()?;
		let (model, adapter) = (&first.model, first.train.adapter.is_some());
		let units = model.layers.saturating_add(2);
		let seams: Vec<Seam> = (1..units).map(Seam::Rows).chain((1..units).rev().map(Seam::Gradient)).collect();
		let number = |place: usize| u32::try_from(place).ok();
		let steps = first.record.steps.len();
		for step in 0..steps {
			for seam in &seams {
				for (member, story) in self.members.iter().enumerate() {
					let Some(place) = gave(model, adapter, story.span).iter().position(|out| out == seam) else { continue };
					let said = posted.records.get(member)?.0.steps.get(step)?;
					if said.gave.get(place) != story.record.steps.get(step)?.gave.get(place) {
						return Some((number(member)?, number(step)?, number(place.saturating_add(3))));
					}
				}
			}
			for (member, story) in self.members.iter().enumerate() {
				let (said, own) = (posted.records.get(member)?.0.steps.get(step)?, story.record.steps.get(step)?);
				if let Some(place) = said.squares.iter().zip(&own.squares).position(|(said, own)| said != own) {
					let result = place.saturating_add(own.gave.len()).saturating_add(3);
					return Some((number(member)?, number(step)?, number(result)));
				}
			}
		}
		let differs = |(member, story): (usize, &SpanStory)| Some(posted.records.get(member)?.0.state != story.record.state);
		let member = self.members.iter().enumerate().position(|member| differs(member) == Some(true))?;
		Some((number(member)?, number(steps.checked_sub(1)?)?, None))
	}
}

impl Story for QuorumStory {
	type Error = Infallible;

	fn roots(&mut self, _: u32, _: u32) -> Result<Vec<Hash>, PlayError<Infallible>> {
		Err(PlayError::Position)
	}

	fn contents(&mut self, _: u32) -> Result<Contents, PlayError<Infallible>> {
		Err(PlayError::Position)
	}

	fn trace(&mut self, job: Job) -> Result<&Traced, PlayError<Infallible>> {
		match job {
			Job::Span { member, .. } => self.members.get_mut(member as usize).ok_or(PlayError::Position)?.trace(job),
			_ => Err(PlayError::Position),
		}
	}

	fn span_states(&mut self, stand: &Stand) -> Result<Vec<Hash>, PlayError<Infallible>> {
		self.members.get_mut(stand.member as usize).ok_or(PlayError::Position)?.span_states(stand)
	}

	fn span_nodes(&mut self, stand: &Stand) -> Result<SpanNodes, PlayError<Infallible>> {
		self.members.get_mut(stand.member as usize).ok_or(PlayError::Position)?.span_nodes(stand)
	}

	fn pick_record(&mut self, records: &Records, parts: &[Part]) -> Result<PickedRecord, PlayError<Infallible>> {
		let (member, step, out) = self.doubt(records).ok_or(PlayError::Nothing)?;
		let part = *parts.get(member as usize).ok_or(PlayError::Position)?;
		Ok(PickedRecord { member, part, step, out })
	}
}
