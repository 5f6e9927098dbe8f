//! States that a member has, in memory and in files, and how it begins with one of them.

use super::{Seat, SeatError};
use crate::{
	agree::{part_hash, MOST},
	keep::{Keep, KeepError, Kept},
	member::{Member, Signer},
	message::Beginning,
};

/// Where a state is.
pub(super) enum From {
	/// In the member's memory.
	Memory,
	/// Kept, at the beginning of an interval.
	Kept(Kept),
	/// In the checkpoint that the round starts from.
	Checkpoint,
}

impl<S: Signer + Clone> Seat<S> {
	/// What it keeps of intervals to defend itself.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn keep(&self) -> Result<Keep, KeepError> {
		Keep::of_round(&self.sources.folder)
	}

	/// States that it can begin with, the last ones of those that are kept. A state that cannot be read is none. Memory is freed where it holds none.
	pub(super) fn have(&mut self) -> Result<Vec<(Beginning, From)>, SeatError> {
		let rests = self.member.as_mut().and_then(Member::rests);
		if rests.is_none() {
			self.member = None;
		}
		let mut have: Vec<_> = rests.map(|rests| (rests, From::Memory)).into_iter().collect();
		let keep = self.keep()?;
		for first in keep.intervals()?.into_iter().rev() {
			if first == 0 || have.len() >= MOST - 1 || have.iter().any(|(one, _)| one.steps == first) {
				continue;
			}
			let start = |kept: Kept| {
				let start = kept.start(&self.place).ok()?;
				let part = start.map(|vector| self.held.roots(&vector, self.exec.threads()));
				Some((Beginning { steps: first, state: part_hash(&part) }, From::Kept(kept)))
			};
			have.extend(keep.kept(first)?.into_iter().rev().find_map(start));
		}
		if have.iter().all(|(one, _)| one.steps != 0) {
			let parts = super::first_parts(&self.params, &self.covers);
			let state = parts.get(self.place.member).map(part_hash).unwrap_or_default();
			have.push((Beginning { steps: 0, state }, From::Checkpoint));
		}
		Ok(have)
	}

	/// The member in the state after so many steps, which is one of those that it has.
	pub(super) fn begin(&mut self, have: Vec<(Beginning, From)>, steps: u32) -> Result<Member<S>, SeatError> {
		let from = have.into_iter().find(|(one, _)| one.steps == steps).map_or(From::Checkpoint, |(_, from)| from);
		let before = self.member.take();
		if let (From::Memory, Some(member)) = (&from, before) {
			return Ok(member);
		}
		let threads = self.exec.threads();
		let base = match (&self.base, &self.sources.base) {
			(Some((held, roots)), Some(base)) => Some(base.held(held, roots, threads)?),
			_ => None,
		};
		let (place, exec, signer) = (self.place.clone(), self.exec.clone(), self.signer.clone());
		let member = match from {
			From::Kept(kept) => {
				let start = kept.start(&place).map_err(|_| SeatError::Unkept(steps))?;
				Member::from_state(place, exec, signer, (steps, start.each_ref().map(Vec::as_slice)), base.as_deref())?
			}
			From::Memory | From::Checkpoint => {
				let own = self.params.get(place.member).map(Vec::as_slice).unwrap_or_default();
				let theta = self.sources.checkpoint.params.held(&self.held, own, threads)?;
				Member::new(place, exec, signer, &theta, base.as_deref())?
			}
		};
		Ok(member.with_keep(self.keep()?).with_slip(self.slip))
	}
}
