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
	plan::Segment,
	span::{gave, given, put_sums, sums, trained_units, Seam},
};
use std::collections::BTreeMap;

/// All members' parts of an interval: of whoever leads a quorum, or says that one of its records is false.
pub struct QuorumStory {
	/// By number of the member.
	pub members: Vec<SpanStory>,
}

impl QuorumStory {
	/// Takes the next inner step of all members on a batch: what each gives the others are given. `tell` may put other rows, gradients and sums in the place
	/// of what a member gives; it is asked several times, with the rows that are known by then.
	///
	/// A member that makes a mistake in the step is traced for each seam; the others cost what training costs, and with micro-batches one more forward pass.
	///
	/// # Errors
	/// [`TraceError`]; after [`StepError::Diverged`] no further step is taken, and records that go on are false.
	pub fn step(&mut self, tokens: &[u32], mut tell: impl FnMut(usize, &mut GaveStep)) -> Result<(), TraceError> {
		let Some(first) = self.members.first() else { return Ok(()) };
		let (model, adapter) = (first.model.clone(), first.train.adapter.is_some());
		let rows = first.train.tokens_per_step() as usize * model.dim as usize;
		let mut known = BTreeMap::<Seam, Vec<f32>>::new();
		let outs: Vec<Vec<Seam>> = self.members.iter().map(|member| gave(&model, adapter, member.span)).collect();
		let mut gaves = Vec::new();
		for (member, outs) in self.members.iter_mut().zip(&outs) {
			member.catch_up()?;
			member.begin(tokens)?;
			let squares = vec![0.0; trained_units(&model, adapter, member.span).len()];
			gaves.push(GaveStep { rows: vec![vec![0.0; rows]; outs.len()], squares });
		}
		// Forwards, then backwards: every seam once, by whoever gives it.
		let units = model.layers.saturating_add(2);
		let forwards = (1..units).map(Seam::Rows);
		for seam in forwards.chain((1..units).rev().map(Seam::Gradient)) {
			let given_by = outs.iter().enumerate().find_map(|(member, outs)| Some((member, outs.iter().position(|out| *out == seam)?)));
			let Some((member, place)) = given_by else { continue };
			self.members[member].gives_at(seam, place, tokens, (&known, &mut gaves[member]))?;
			let mut told = gaves[member].clone();
			tell(member, &mut told);
			known.insert(seam, told.rows.swap_remove(place));
		}
		let mut all = vec![0.0; sums(&model, adapter) as usize];
		for (member, gave) in gaves.iter_mut().enumerate() {
			self.members[member].gives_sums(tokens, (&known, gave))?;
			tell(member, gave);
			put_sums(&model, adapter, self.members[member].span, &gave.squares, &mut all);
		}
		// All have said what is in their records before one of them finds that there is no state after the step.
		for (member, gave) in self.members.iter_mut().zip(&gaves) {
			let step = member.given_step(tokens, &known, all.clone());
			member.note(step, gave);
		}
		let ends: Vec<_> = self.members.iter_mut().map(|member| member.end_noted(&all)).collect();
		ends.into_iter().collect()
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
		// Behind a loss or norm that is not finite there is no state.
		if let Some(member) = self.members.iter().position(|story| story.diverged.is_some()) {
			let last = posted.records.get(member)?.0.steps.len().checked_sub(1)?;
			return Some((number(member)?, number(last)?, None));
		}
		let differs = |(member, story): (usize, &SpanStory)| Some(posted.records.get(member)?.0.state != story.record.state);
		let member = self.members.iter().enumerate().position(|member| differs(member) == Some(true))?;
		Some((number(member)?, number(steps.checked_sub(1)?)?, None))
	}
}

impl SpanStory {
	/// What it is given, as far as it is known.
	fn given_step(&self, tokens: &[u32], known: &BTreeMap<Seam, Vec<f32>>, sums: Vec<f32>) -> GivenStep {
		let seams = given(&self.model, self.train.adapter.is_some(), self.span).into_iter();
		GivenStep { tokens: tokens.to_vec(), rows: seams.map(|seam| known.get(&seam).cloned().unwrap_or_default()).collect(), sums }
	}

	/// Writes what it gives at a seam, the one at `place` of those that it gives.
	fn gives_at(
		&mut self,
		seam: Seam,
		place: usize,
		tokens: &[u32],
		(known, gave): (&BTreeMap<Seam, Vec<f32>>, &mut GaveStep),
	) -> Result<(), TraceError> {
		if self.is_mistaken(self.done) {
			*gave = self.gives(&self.given_step(tokens, known, Vec::new()))?;
			return Ok(());
		}
		let is_at = |segment: &Segment| match seam {
			Seam::Rows(unit) => segment.units.end == unit,
			Seam::Gradient(unit) => segment.units.start == unit,
		};
		let Some(segment) = self.trainer.segments().iter().position(is_at) else { return Ok(()) };
		let of = self.known_of(segment, known);
		let rows = match seam {
			Seam::Rows(_) => self.rows(segment, of.0),
			Seam::Gradient(_) => self.gradient(segment, of),
		};
		gave.rows.get_mut(place).into_iter().for_each(|place| place.clone_from(&rows));
		Ok(())
	}

	/// The rest of the passes, and what it says about its own units.
	fn gives_sums(&mut self, tokens: &[u32], (known, gave): (&BTreeMap<Seam, Vec<f32>>, &mut GaveStep)) -> Result<(), TraceError> {
		if self.is_mistaken(self.done) {
			*gave = self.gives(&self.given_step(tokens, known, Vec::new()))?;
			return Ok(());
		}
		for segment in 0..self.trainer.segments().len() {
			// Nobody is given their gradients.
			if self.trainer.segments()[segment].gradient_out.is_none() {
				self.gradient(segment, self.known_of(segment, known));
			}
		}
		gave.squares = self.squares();
		Ok(())
	}

	/// Rows and gradient that a segment is given; none where it is given none.
	fn known_of<'a>(&self, segment: usize, known: &'a BTreeMap<Seam, Vec<f32>>) -> (&'a [f32], &'a [f32]) {
		let Segment { units, rows_in, gradient_in, .. } = &self.trainer.segments()[segment];
		let of = |seam: Seam| known.get(&seam).map_or(&[][..], Vec::as_slice);
		let rows = rows_in.map_or(&[][..], |_| of(Seam::Rows(units.start)));
		(rows, gradient_in.map_or(&[][..], |_| of(Seam::Gradient(units.end))))
	}

	/// Ends a step that is noted already.
	fn end_noted(&mut self, sums: &[f32]) -> Result<(), TraceError> {
		match self.is_mistaken(self.done) {
			true => self.catch_up()?,
			false => self.end(sums)?,
		}
		self.record.state = self.trainer.state_roots(&self.arena);
		Ok(())
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
