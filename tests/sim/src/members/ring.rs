//! A member that drives a ring, which it places and places anew by what its directory says.

use super::Members;
use neuroshard_ring::placement::{
	place,
	replacement::{replacement, Cause, Decision, Policy},
	Candidates, Model, Placement, PlacementError, Request, Standing,
};
use neuroshard_types::{Moment, H256};

/// A driver of a ring.
pub struct Driver {
	who: usize,
	model: Model,
	parameters: H256,
	/// The ring, and when it was placed.
	ring: Option<(Placement, Moment)>,
	/// When the ring moved, and why.
	pub moves: Vec<Moved>,
}

/// A move of a ring.
#[derive(Clone, PartialEq, Debug)]
pub struct Moved {
	/// When.
	pub at: Moment,
	/// Why.
	pub cause: Cause,
}

impl Driver {
	/// The member `who`, which serves `model` with these parameters and has no ring yet.
	pub fn new(who: usize, model: Model, parameters: H256) -> Self {
		Self { who, model, parameters, ring: None, moves: Vec::new() }
	}

	/// Names of the ring's members.
	pub fn names(&self) -> Vec<String> {
		self.ring.iter().flat_map(|(ring, _)| ring.ring().map(|span| span.name.clone())).collect()
	}

	/// Looks at the directory, and places the ring if there is none or it should move.
	///
	/// # Errors
	/// [`PlacementError`] if there is no ring and none can be placed, or what the directory says cannot be computed with.
	pub fn look(&mut self, members: &Members) -> Result<(), PlacementError> {
		let (now, current) = (members.now(), self.ring.as_ref().map(|(ring, _)| ring));
		let found = Candidates::of(members.directory(self.who), now, (&self.model, self.parameters), current, |_| Standing::UNKNOWN)?;
		let Some((ring, since)) = &self.ring else {
			self.ring = Some((place(&self.model, &found.nodes, &found.links, &Request::default())?, now));
			return Ok(());
		};
		let placed_s = now.saturating_sub(*since) as f64 / 1e3;
		if let Decision::Move { to, cause, .. } = replacement(&self.model, &found.nodes, &found.links, ring, placed_s, Policy::default())? {
			self.moves.push(Moved { at: now, cause });
			self.ring = Some((*to, now));
		}
		Ok(())
	}
}
