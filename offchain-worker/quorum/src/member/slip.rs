//! A wrong bit in what a member gives: what a machine that makes one mistake tells the others, and signs.

use super::{Member, Place, Signer};
use neuroshard_compute::trace::Mistake;
use neuroshard_graph::{
	graph::TensorId,
	plan::Plan,
	span::{gave, Held, Seam},
};

/// In what the wrong bit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slipped {
	/// The first rows that the member gives others.
	Rows,
	/// The first gradient that it gives others.
	Gradient,
	/// The first tensor of its parameters after the step.
	Parameters,
}

/// A wrong bit, and where. Only programs that show what becomes of it have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slip {
	/// Inner step, from 0.
	pub step: u32,
	/// In what.
	pub what: Slipped,
	/// Element of that, modulo its length.
	pub element: u64,
	/// Bits that are turned over.
	pub mask: u32,
}

impl Slip {
	/// Where in the list of seams that the member at `place` gives; `None` if it gives nothing of the kind, or it is in the parameters.
	fn seam(&self, place: &Place) -> Option<(usize, Seam)> {
		let span = *place.spans.get(place.member)?;
		let is_it = |seam: &Seam| match self.what {
			Slipped::Rows => matches!(seam, Seam::Rows(_)),
			Slipped::Gradient => matches!(seam, Seam::Gradient(_)),
			Slipped::Parameters => false,
		};
		gave(&place.model, place.train.adapter.is_some(), span).into_iter().enumerate().find(|(_, seam)| is_it(seam))
	}

	/// The same as a mistake in the plan of the member's span, by which it defends what it has given; `None` if it gives nothing of the kind.
	pub fn mistake(&self, place: &Place) -> Option<Mistake> {
		let plan = Plan::span(&place.model, &place.train, *place.spans.get(place.member)?).ok()?;
		let result = match self.what {
			Slipped::Parameters => 0,
			Slipped::Rows | Slipped::Gradient => self.seam(place)?.0.checked_add(3)?,
		};
		let tensor: TensorId = *plan.results().get(result)?.first()?;
		let written = |(number, stage)| Some((number, plan.outputs(stage).iter().position(|output| *output == tensor)?));
		let (stage, output) = plan.stages().iter().enumerate().rev().find_map(written)?;
		let (stage, output) = (u32::try_from(stage).ok()?, u32::try_from(output).ok()?);
		Some(Mistake { step: self.step, stage, output, element: self.element, mask: self.mask })
	}

	/// Turns the bit over if it is among `values`, which are the elements from `first` on of `len`.
	fn happen(&self, values: &mut [f32], first: usize, len: usize) {
		let element = self.element.checked_rem(len as u64).and_then(|element| usize::try_from(element).ok()?.checked_sub(first));
		if let Some(value) = element.and_then(|element| values.get_mut(element)) {
			*value = f32::from_bits(value.to_bits() ^ self.mask);
		}
	}
}

impl<S: Signer> Member<S> {
	/// The same, which makes this slip.
	#[must_use]
	pub fn with_slip(self, slip: Option<Slip>) -> Self {
		Self { slip, ..self }
	}

	/// Makes the slip in rows or a gradient of a micro-batch, if it is in those.
	pub(super) fn slip_in(&self, seam: Seam, micro: usize, numbers: &mut [f32]) {
		let slip = self.slip.filter(|slip| slip.step == self.step && slip.seam(&self.place).is_some_and(|(_, of)| of == seam));
		let Some(slip) = slip else { return };
		let part = numbers.len();
		slip.happen(numbers, micro.saturating_mul(part), self.trainer.micro_batches().saturating_mul(part));
	}

	/// Makes the slip in the parameters after a step, if it is in those.
	pub(super) fn slip_after(&mut self) {
		let slip = self.slip.filter(|slip| slip.step == self.step && slip.what == Slipped::Parameters);
		let held: &Held = self.trainer.held();
		let Some((slip, tensor)) = slip.zip(held.layout.tensors().first()) else { return };
		let (offset, len) = (tensor.offset, tensor.len());
		let [params, ..] = self.trainer.state(&self.arena);
		let mut params = params.into_owned();
		if let Some(values) = params.get_mut(offset..offset.saturating_add(len)) {
			slip.happen(values, 0, len);
		}
		self.trainer.set_vector(&mut self.arena, 0, &params);
	}
}
