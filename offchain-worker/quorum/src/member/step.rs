//! What a member does in a step: passes, their rows, and the update.

use super::{Fault, Member, Out, Signer};
use crate::message::{Message, Rows, Sums};
use neuroshard_graph::{
	game::{canonical, StepRecord},
	merkle::{merkle_root, Hash},
	span::{gave, given, own_sums, put_sums, row_tiles, Seam},
};
use neuroshard_kernels::num::canon;

impl<S: Signer> Member<S> {
	/// Does the next piece of work, if there is one: a backward pass of a micro-batch, else a forward pass, else what ends the step. Returns what is to be sent; `None`
	/// while there is nothing to do until something arrives, and after the end of the step.
	///
	/// # Errors
	/// [`Fault::Step`].
	pub fn work(&mut self) -> Result<Option<Out>, Fault> {
		if !self.is_under_way {
			return Ok(None);
		}
		let all = self.trainer.micro_batches();
		for (number, segment) in self.trainer.segments().iter().enumerate().rev() {
			let micro = self.under.backward[number];
			let seam = segment.gradient_in.map(|_| Seam::Gradient(segment.units.end));
			// The end has its gradient from its own forward pass, and of an adapter the embedding waits for nobody.
			if micro < all && micro < self.under.forward[number] && self.has_arrived(seam) {
				return self.backward(number, micro, seam).map(Some);
			}
		}
		for (number, segment) in self.trainer.segments().iter().enumerate() {
			let micro = self.under.forward[number];
			let seam = segment.rows_in.map(|_| Seam::Rows(segment.units.start));
			// A place in memory is free when the backward pass is through.
			if micro < all && micro < self.oldest_flying().saturating_add(self.place.flying) && self.has_arrived(seam) {
				return self.forward(number, micro, seam).map(Some);
			}
		}
		if self.under.backward.iter().any(|&done| done < all) {
			return Ok(None);
		}
		self.end()
	}

	/// The first micro-batch whose memory is in use.
	fn oldest_flying(&self) -> usize {
		self.under.backward.iter().copied().min().unwrap_or_default()
	}

	/// Members without whose messages it cannot go on; none while it has work, or no step is under way.
	pub fn waits_for(&self) -> Vec<usize> {
		if !self.is_under_way {
			return Vec::new();
		}
		let (model, adapter, all) = (&self.place.model, self.adapter(), self.trainer.micro_batches());
		if self.has_told() {
			return (0..self.place.spans.len()).filter(|member| !self.under.sums.contains_key(member)).collect();
		}
		let missing = given(model, adapter, self.span())
			.into_iter()
			.filter(|seam| usize::try_from(self.next_micro(*seam)).is_ok_and(|next| next < all) && !self.has_arrived(Some(*seam)));
		let mut senders: Vec<usize> =
			missing.filter_map(|seam| self.place.spans.iter().position(|&span| gave(model, adapter, span).contains(&seam))).collect();
		senders.sort_unstable();
		senders.dedup();
		senders
	}

	/// Whether what a pass goes on from has arrived; it may need nothing.
	fn has_arrived(&self, seam: Option<Seam>) -> bool {
		seam.is_none_or(|seam| self.under.arrived.get(&seam).is_some_and(|rows| !rows.is_empty()))
	}

	/// The micro-batch that is next to arrive at a seam.
	pub(super) fn next_micro(&self, seam: Seam) -> u32 {
		self.under.given.get(&seam).map_or(0, |(next, _)| *next)
	}

	/// Whether it has told its sums: all of its passes are through.
	fn has_told(&self) -> bool {
		self.under.sums.contains_key(&self.place.member)
	}

	/// What a pass of a micro-batch goes on from, and the memory that it has.
	fn next_rows(&mut self, seam: Option<Seam>, micro: usize) -> (Vec<f32>, usize) {
		let rows = seam.and_then(|seam| self.under.arrived.get_mut(&seam)?.pop_front()).unwrap_or_default();
		(rows, micro % self.place.flying)
	}

	fn forward(&mut self, segment: usize, micro: usize, seam: Option<Seam>) -> Result<Out, Fault> {
		let (rows, slot) = self.next_rows(seam, micro);
		let out = self.trainer.forward(&mut self.arena, segment, (micro, slot), &rows).into_owned();
		self.under.forward[segment] = micro.saturating_add(1);
		let end = self.trainer.segments()[segment].units.end;
		Ok(self.send_rows(Seam::Rows(end), micro, out))
	}

	fn backward(&mut self, segment: usize, micro: usize, seam: Option<Seam>) -> Result<Out, Fault> {
		let (gradient, slot) = self.next_rows(seam, micro);
		let out = self.trainer.backward(&mut self.arena, segment, (micro, slot), &gradient).into_owned();
		self.under.backward[segment] = micro.saturating_add(1);
		let start = self.trainer.segments()[segment].units.start;
		Ok(self.send_rows(Seam::Gradient(start), micro, out))
	}

	/// Signs rows, notes them in the record, and sends them to whoever is given them.
	fn send_rows(&mut self, seam: Seam, micro: usize, mut numbers: Vec<f32>) -> Out {
		let Some(&to) = self.holders.get(&seam).filter(|_| !numbers.is_empty()) else { return Vec::new() };
		self.slip_in(seam, micro, &mut numbers);
		let tiles = row_tiles(&numbers, self.width);
		let micro = u32::try_from(micro).unwrap_or(u32::MAX);
		let signature = self.signer.sign(Rows::statement(self.step, micro, seam, &tiles));
		self.under.gave.entry(seam).or_default().extend(tiles);
		let rows = Rows { step: self.step, micro, seam, numbers, signature };
		vec![(to, Message::Rows(rows))]
	}

	/// Tells the own sums; once all others have told theirs, the update.
	fn end(&mut self) -> Result<Option<Out>, Fault> {
		let (model, adapter, own) = (self.place.model.clone(), self.adapter(), self.place.member);
		if !self.has_told() {
			let mut all = vec![0.0; self.trainer.sums()];
			self.trainer.squares(&mut self.arena, &mut all);
			let squares: Vec<f32> = own_sums(&model, adapter, self.span(), &all).into_iter().map(canon).collect();
			let loss = self.trainer.loss(&mut self.arena).map(canon);
			let signature = self.signer.sign(Sums::statement(self.step, &squares, loss));
			let sums = Sums { step: self.step, squares, loss, signature };
			let others = (0..self.place.spans.len()).filter(|&member| member != own);
			let out = others.map(|member| (member, Message::Sums(sums.clone()))).collect();
			self.under.sums.insert(own, sums);
			return Ok(Some(out));
		}
		if self.under.sums.len() < self.place.spans.len() {
			return Ok(None);
		}
		if let Some(keep) = &self.keep {
			keep.sums(self.step, &self.under.sums)?;
		}
		let mut all = vec![0.0; self.trainer.sums()];
		let mut loss = f32::NAN;
		for (member, sums) in &self.under.sums {
			put_sums(&model, adapter, self.place.spans[*member], &sums.squares, &mut all);
			if self.has_end(*member) {
				loss = sums.loss.unwrap_or(loss);
			}
		}
		let index = u64::from(self.place.round).saturating_mul(self.place.train.inner_steps.into()).saturating_add(self.step.into());
		let outcome = self.trainer.end_step(&mut self.arena, (&all, loss), index, u64::from(self.step).saturating_add(1))?;
		self.slip_after();
		self.note(&all);
		(self.is_under_way, self.outcome) = (false, Some(outcome));
		self.step = self.step.saturating_add(1);
		Ok(Some(Vec::new()))
	}

	/// Notes the step in the record.
	fn note(&mut self, sums: &[f32]) {
		let (model, adapter, span) = (&self.place.model, self.adapter(), self.span());
		let root = |hashes: Option<&Vec<Hash>>| hashes.map(|hashes| merkle_root(hashes)).unwrap_or_default();
		let given = given(model, adapter, span).iter().map(|seam| root(self.under.given.get(seam).map(|(_, hashes)| hashes))).collect();
		let gave = gave(model, adapter, span).iter().map(|seam| root(self.under.gave.get(seam))).collect();
		let squares = self.under.sums.get(&self.place.member).map_or(&[][..], |own| &own.squares);
		self.record.steps.push(StepRecord::new(given, gave, squares, sums));
		self.sums.push(canonical(sums));
	}
}
