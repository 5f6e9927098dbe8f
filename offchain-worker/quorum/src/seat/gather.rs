//! The end of a round: members hand over their parameters, and the leader makes the delta of them.
//!
//! A delta is the difference between the checkpoint and the parameters after the last step, of which each member has signed the roots. So the leader takes those
//! parameters, compares them with what was signed as they come, and computes the difference itself: nobody can give another delta than its state does.

use super::{Placed, Seat, SeatError};
use crate::{
	agree::Parts,
	member::{Fault, Member, Signer},
	message::{Handed, Message},
	run::{Mail, QuorumError},
};
use neuroshard_graph::span::Held;
use neuroshard_training::files::{filed_delta, handed, FilesError, PartError, PartsWriter, SentFiles, TileFile};
use std::time::Duration;

impl<S: Signer + Clone> Seat<S> {
	/// Hands the own parameters to the leader when it asks for them, and hears from it what the round's work is.
	pub(super) fn hand_over(&self, member: &Member<S>, mail: &mut Mail, patience: Duration) -> Result<Placed, SeatError> {
		let fault = |member, what| QuorumError::from(Fault::Member { member, what });
		match mail.expect(patience, &[self.leader], self.room())? {
			(from, Message::Give) if from == self.leader => {}
			(from, _) => return Err(fault(from, "sent something else than the word to hand over parameters").into()),
		}
		let [params, ..] = member.state();
		for (first, tiles) in handed(&self.held, &params) {
			mail.send(self.leader, Message::Tiles(Handed { first, tiles }))?;
		}
		match mail.expect(patience, &[self.leader], self.room())? {
			(from, Message::Done(work)) if from == self.leader => Ok(Placed { work: *work, sent: None }),
			(from, _) => Err(fault(from, "sent something else than the work of the round").into()),
		}
	}

	/// The parameters after the last step, in a file, of what all members hand over; `last` is what they have signed.
	pub(super) fn gather(&self, member: &Member<S>, mail: &mut Mail, patience: Duration, last: Parts) -> Result<TileFile, SeatError> {
		let (model, train) = (&self.place.model, &self.place.train);
		let held = self.place.spans.iter().map(|&span| Held::new(model, train.adapter, span)).collect::<Result<Vec<_>, _>>()?;
		let parts = held.iter().zip(last).map(|(held, [params, ..])| (held, params)).collect();
		let mut end = PartsWriter::create(&self.sources.folder.join("end-unnamed.tiles"), parts, self.exec.threads())?;
		for other in self.others() {
			mail.send(other, Message::Give)?;
		}
		let [params, ..] = member.state();
		for (first, tiles) in handed(&self.held, &params) {
			end.write(self.place.member, first, &tiles).map_err(|error| refused(self.place.member, error))?;
		}
		loop {
			let missing = end.missing();
			if missing.is_empty() {
				return Ok(end.finish()?);
			}
			match mail.expect(patience, &missing, self.room())? {
				(from, Message::Tiles(Handed { first, tiles })) => end.write(from, first, &tiles).map_err(|error| refused(from, error))?,
				(member, _) => {
					let what = "sent something else than its parameters after the last step";
					return Err(QuorumError::from(Fault::Member { member, what }).into());
				}
			}
		}
	}

	/// What is sent of the round that ended with these parameters.
	pub(super) fn sent(&self, end: &TileFile) -> Result<SentFiles, FilesError> {
		let (of, residual) = ((&self.place.model, &self.place.train), self.sources.residual.as_ref());
		filed_delta(&self.exec, of, [&self.sources.checkpoint.params, end], residual, &self.sources.folder)
	}
}

/// Why what a member hands over is not taken.
fn refused(member: usize, error: PartError) -> SeatError {
	let what = match error {
		PartError::Files(error) => return error.into(),
		PartError::Order(_) => "handed over other tiles than are next, or more than it holds",
		PartError::Root(_) => "handed over other parameters than those of the state that it has signed",
	};
	QuorumError::from(Fault::Member { member, what }).into()
}
