//! What aggregation makes of the number of deltas that arrive, and the weights that they get by their distances.

use crate::{
	config::{Aggregator, Compressed, Robust, Rule, F32, MAX_MIXED},
	plan::MAX_DELTAS,
};
use alloc::vec::Vec;
use neuroshard_kernels::{
	scalar::{self, Move, Squares},
	shape::Distance,
};

/// Values dropped at each end when `deltas` arrive and the configuration says `trim`: at most `(deltas - 1) / 2`.
pub fn effective_trim(trim: u16, deltas: u32) -> u32 {
	u32::from(trim).min(deltas.saturating_sub(1) / 2)
}

impl Aggregator {
	/// Liars among `deltas` who cannot lead the result far from what the others' deltas give.
	pub fn liars(self, deltas: u32) -> u32 {
		match self {
			Self::Mean => 0,
			Self::TrimmedMean { trim } => effective_trim(trim, deltas),
			Self::Robust(robust) | Self::Compressed(Compressed { robust, .. }) => robust.liars(deltas),
		}
	}

	/// Most deltas that the rule combines.
	pub const fn most_deltas(self) -> u32 {
		match self.robust() {
			Some(Robust { rule: Rule::MixedKrum { .. }, .. }) => MAX_MIXED,
			_ => MAX_DELTAS,
		}
	}

	/// Whether deltas weigh by the inner steps behind them.
	pub const fn weighs_steps(self) -> bool {
		matches!(self.robust(), Some(Robust { rule: Rule::WeightedMean { .. }, .. }))
	}

	/// The rule that compares deltas or shortens them, if one does.
	pub(crate) const fn robust(self) -> Option<Robust> {
		match self {
			Self::Mean | Self::TrimmedMean { .. } => None,
			Self::Robust(robust) | Self::Compressed(Compressed { robust, .. }) => Some(robust),
		}
	}
}

/// Liars that Krum's scores bear: the others are a majority by two more.
fn krum_liars(liars: u16, deltas: u32) -> u32 {
	u32::from(liars).min(deltas.saturating_sub(3) / 2)
}

/// Why a set of deltas cannot be aggregated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AggregateError {
	/// There is no delta, or more than the protocol has participants.
	#[error("{0} deltas cannot be aggregated")]
	Count(usize),
	/// Not as many numbers of inner steps as deltas, where deltas weigh by them; or some where they do not.
	#[error("inner steps of {steps} deltas for {deltas}")]
	Steps {
		/// Numbers of inner steps.
		steps: usize,
		/// Deltas.
		deltas: usize,
	},
	/// Deltas, result, parameters or momentum differ in length.
	#[error("vectors of different lengths: {0} and {1}")]
	Length(usize, usize),
}

/// What gives each delta its weight, by squared distances. Weights are multiplied by the factors that shorten deltas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weighing {
	/// Factors that shorten deltas to so many times the median norm.
	Clip(F32),
	/// All alike: no distances are needed.
	Mean,
	/// By the inner steps behind them: no distances are needed.
	Steps,
	/// Krum, by distances from each other.
	Krum {
		/// Others that count in a score.
		near: u32,
		/// Deltas that are kept.
		keep: u32,
	},
	/// Krum of mixed deltas, by distances from each other.
	MixedKrum {
		/// Others that a delta is mixed with, and that count in a score.
		near: u32,
		/// Mixed deltas that are kept.
		keep: u32,
	},
	/// A centre that moves, by distances from each other.
	Moved {
		/// Others that a delta is mixed with.
		near: u32,
		/// How it moves.
		step: Step,
		/// How often.
		steps: u8,
	},
}

/// How a centre moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
	/// Centred clipping.
	Clipping(F32),
	/// Towards the geometric median.
	Weiszfeld(F32),
}

impl Weighing {
	/// The distances that it needs.
	pub fn distance(self) -> Option<Distance> {
		match self {
			Self::Mean | Self::Steps => None,
			Self::Clip(_) => Some(Distance::Norms),
			Self::Krum { .. } | Self::MixedKrum { .. } | Self::Moved { .. } => Some(Distance::Pairs),
		}
	}

	/// The weights of `count` deltas, behind each of which are so many inner `steps` where these count. `squares` are rows of so many numbers as
	/// [`Distance::block`] says.
	pub fn weigh(self, squares: &[f32], count: usize, factors: &[f32], steps: &[u32]) -> Vec<f32> {
		let rows = Squares { rows: squares, stride: Distance::Pairs.block(count).1, count };
		let mut weights = match self {
			Self::Clip(clip) => return scalar::clip_factors(squares.get(..count).unwrap_or_default(), clip.get()),
			Self::Mean => alloc::vec![1.0 / count as f32; count],
			Self::Steps => scalar::step_weights(steps),
			Self::Krum { near, keep } => scalar::krum_weights(rows, near as usize, keep as usize),
			Self::MixedKrum { near, keep } => scalar::mixed_krum_weights(rows, near as usize, keep as usize),
			Self::Moved { near, step, steps } => {
				let step = match step {
					Step::Clipping(radius) => Move::Clipping(radius.get()),
					Step::Weiszfeld(floor) => Move::Weiszfeld(floor.get()),
				};
				scalar::moved_weights(rows, near as usize, step, steps)
			}
		};
		weights.iter_mut().zip(factors).for_each(|(weight, factor)| *weight *= factor);
		weights
	}
}

/// What is computed of a number of deltas, after they were shortened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
	/// The mean without so many values at each end.
	Trimmed(u32),
	/// A weighted sum.
	Weighted(Weighing),
}

impl Robust {
	/// As [`Aggregator::liars`].
	fn liars(&self, deltas: u32) -> u32 {
		match self.rule {
			Rule::Mean | Rule::WeightedMean { .. } => 0,
			Rule::TrimmedMean { trim } => effective_trim(trim, deltas),
			Rule::Median => deltas.saturating_sub(1) / 2,
			Rule::Krum { liars } | Rule::MultiKrum { liars } | Rule::MixedKrum { liars } => krum_liars(liars, deltas),
			Rule::CentredClipping { liars, .. } | Rule::GeometricMedian { liars, .. } => krum_liars(liars, deltas),
		}
	}

	/// What shortens deltas, if anything does.
	pub fn clipping(&self) -> Option<Weighing> {
		(self.clip.get() > 0.0).then_some(Weighing::Clip(self.clip))
	}

	/// How `deltas` are combined.
	pub fn way(&self, deltas: u32) -> Way {
		let honest = |liars: u16| deltas.saturating_sub(krum_liars(liars, deltas));
		let near = |liars: u16| honest(liars).saturating_sub(1);
		match self.rule {
			Rule::Mean => Way::Weighted(Weighing::Mean),
			Rule::WeightedMean { .. } => Way::Weighted(Weighing::Steps),
			Rule::Median => Way::Trimmed(deltas.saturating_sub(1) / 2),
			Rule::TrimmedMean { trim } => Way::Trimmed(effective_trim(trim, deltas)),
			Rule::Krum { liars } => Way::Weighted(Weighing::Krum { near: near(liars), keep: 1 }),
			Rule::MultiKrum { liars } => Way::Weighted(Weighing::Krum { near: near(liars), keep: honest(liars) }),
			Rule::MixedKrum { liars } => Way::Weighted(Weighing::MixedKrum { near: near(liars), keep: honest(liars) }),
			Rule::CentredClipping { liars, radius, steps } => {
				Way::Weighted(Weighing::Moved { near: near(liars), step: Step::Clipping(radius), steps })
			}
			Rule::GeometricMedian { liars, floor, steps } => {
				Way::Weighted(Weighing::Moved { near: near(liars), step: Step::Weiszfeld(floor), steps })
			}
		}
	}
}
