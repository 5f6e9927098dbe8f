//! What a member takes in from others.

use super::{Fault, Member, Signer};
use crate::message::{Message, Rows, Sums};
use neuroshard_graph::span::{gave, trained_units};

impl<S: Signer> Member<S> {
	/// Takes in a message. What comes for the next step waits until that has begun.
	///
	/// # Errors
	/// [`Fault::Member`] for what its sender should not have sent; nothing is taken then.
	pub fn take(&mut self, from: usize, message: Message) -> Result<(), Fault> {
		let fault = |what| Fault::Member { member: from, what };
		let step = match &message {
			Message::Rows(Rows { step, .. }) | Message::Sums(Sums { step, .. }) => *step,
			Message::Record(_) => return Err(fault("sent a record to one that does not lead")),
			_ => return Err(fault("sent something that no step has")),
		};
		if step == self.step.wrapping_add(1) || (!self.is_under_way && step == self.step) {
			// No more than what a step has of each member: rows and gradients of two seams, and sums.
			let most = self.trainer.micro_batches().saturating_mul(4).saturating_add(1);
			let fits = match &message {
				Message::Rows(rows) => rows.numbers.len() == self.width.saturating_mul(self.trainer.micro_tokens()),
				Message::Sums(sums) => sums.squares.len() <= self.trainer.sums(),
				_ => false,
			};
			if !fits || self.early.iter().filter(|(sender, _)| *sender == from).count() >= most {
				return Err(fault("sent more than a step has"));
			}
			self.early.push((from, message));
			return Ok(());
		}
		if step != self.step || !self.is_under_way {
			return Err(fault("sent something for another step"));
		}
		match message {
			Message::Rows(rows) => self.take_rows(from, rows),
			Message::Sums(sums) => {
				let span = *self.place.spans.get(from).ok_or(fault("is no member"))?;
				let units = trained_units(&self.place.model, self.adapter(), span).len();
				if sums.squares.len() != units || self.under.sums.contains_key(&from) {
					return Err(fault("sent sums that are not one for each of its units, or twice"));
				}
				if !sums.are_canonical() {
					return Err(fault("sent sums that are not in canonical form"));
				}
				if sums.loss.is_some() != self.has_end(from) {
					return Err(fault("sent a loss that is not its to tell, or none that is"));
				}
				if !self.signer.has_signed(from, Sums::statement(sums.step, &sums.squares, sums.loss), &sums.signature) {
					return Err(fault("sent sums that it has not signed"));
				}
				self.under.sums.insert(from, sums);
				Ok(())
			}
			_ => Ok(()),
		}
	}

	fn take_rows(&mut self, from: usize, rows: Rows) -> Result<(), Fault> {
		let fault = |what| Fault::Member { member: from, what };
		let (model, adapter) = (&self.place.model, self.adapter());
		let sends = self.place.spans.get(from).is_some_and(|&span| gave(model, adapter, span).contains(&rows.seam));
		if !sends || self.holders.get(&rows.seam) != Some(&self.place.member) {
			return Err(fault("sent rows of a seam that it has not with this one"));
		}
		let len = self.width.saturating_mul(self.trainer.micro_tokens());
		let next = self.next_micro(rows.seam);
		if rows.micro != next || rows.numbers.len() != len || usize::try_from(next).is_ok_and(|next| next >= self.trainer.micro_batches()) {
			return Err(fault("sent rows of another micro-batch or length than is next"));
		}
		let tiles = rows.tiles(self.width);
		if !self.signer.has_signed(from, Rows::statement(rows.step, rows.micro, rows.seam, &tiles), &rows.signature) {
			return Err(fault("sent rows that it has not signed"));
		}
		if let Some(keep) = &mut self.keep {
			keep.rows(&rows)?;
		}
		let (next, hashes) = self.under.given.entry(rows.seam).or_default();
		*next = next.saturating_add(1);
		hashes.extend(tiles);
		self.under.arrived.entry(rows.seam).or_default().push_back(rows.numbers);
		Ok(())
	}
}
