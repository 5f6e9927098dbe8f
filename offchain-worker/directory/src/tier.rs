//! Tiers of machines: which sizes of models a worker is asked to train, by its measured speed, so that nobody is asked for what it cannot do in time, and
//! fast machines are not kept busy with what slow ones can do.
//!
//! A round takes a worker about [`ROUND_TOKENS`] tokens in [`ROUND_S`] seconds, with six operations for each parameter and token, forward and backward. The
//! largest size of a tier is what its slowest machine does in that time, rounded down; the smallest is the largest size of the tier two below it, so that
//! each size is asked of two tiers. Models that no machine holds alone are served in spans by machines of any tier: there, memory and ways decide, which
//! placement looks at.

use std::fmt;

/// Tokens that a worker trains on in a round: 512 steps of 2,048.
pub const ROUND_TOKENS: u64 = 512 * 2_048;
/// Seconds of a round's training: an hour, so that a participant that is lost costs little.
pub const ROUND_S: u64 = 3_600;
/// Operations for a parameter and token of training: two forward, and twice as many backward.
const OPERATIONS: u64 = 6;

/// Operations a second from which on a machine is in T1: all cores of a laptop.
pub const T1_FLOPS: u64 = 100_000_000_000;
/// From which on it is in T2: a server of many cores, or the graphics of a laptop.
pub const T2_FLOPS: u64 = 1_000_000_000_000;
/// From which on it is in T3: a graphics card. The chain's tier B begins here.
pub const T3_FLOPS: u64 = 5_000_000_000_000;
/// From which on it is in T4: a card of a data centre. The chain's tier A begins here.
pub const T4_FLOPS: u64 = 20_000_000_000_000;

/// Tier of a machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tier {
	/// Below [`T1_FLOPS`].
	T0,
	/// From [`T1_FLOPS`] on.
	T1,
	/// From [`T2_FLOPS`] on.
	T2,
	/// From [`T3_FLOPS`] on.
	T3,
	/// From [`T4_FLOPS`] on.
	T4,
}

/// Sizes of models, in parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
	/// The smallest.
	pub least: u64,
	/// The largest; `None` if there is none.
	pub most: Option<u64>,
}

impl Sizes {
	/// Returns whether a model of so many parameters is among them.
	pub fn include(&self, parameters: u64) -> bool {
		self.least <= parameters && self.most.is_none_or(|most| parameters <= most)
	}
}

impl Tier {
	/// All of them, the slowest first.
	pub const ALL: [Self; 5] = [Self::T0, Self::T1, Self::T2, Self::T3, Self::T4];

	/// The tier of a machine that does so many operations a second.
	pub fn of(flops: u64) -> Self {
		match flops {
			T4_FLOPS.. => Self::T4,
			T3_FLOPS.. => Self::T3,
			T2_FLOPS.. => Self::T2,
			T1_FLOPS.. => Self::T1,
			_ => Self::T0,
		}
	}

	/// The sizes that machines of this tier are asked for.
	pub fn sizes(self) -> Sizes {
		let (least, most) = match self {
			// A core of a laptop, with 20 GFLOP/s.
			Self::T0 => (0, Some(10_000_000)),
			Self::T1 => (0, Some(50_000_000)),
			Self::T2 => (10_000_000, Some(500_000_000)),
			Self::T3 => (50_000_000, Some(2_500_000_000)),
			Self::T4 => (500_000_000, None),
		};
		Sizes { least, most }
	}

	/// Returns whether a machine of this tier is asked to train a model of so many parameters.
	pub fn is_asked_for(self, parameters: u64) -> bool {
		self.sizes().include(parameters)
	}

	/// Says in words what a machine that does `flops` operations a second is asked for, and why.
	pub fn words(flops: u64) -> String {
		let tier = Self::of(flops);
		let Sizes { least, most } = tier.sizes();
		let speed = format!("With {} GFLOP/s this machine is in tier {tier}", flops / 1_000_000_000);
		let sizes = match (least, most) {
			(0, Some(most)) => format!("it is asked for models of up to {} million parameters", most / 1_000_000),
			(least, Some(most)) => format!("it is asked for models of {} to {} million parameters", least / 1_000_000, most / 1_000_000),
			(least, None) => format!("it is asked for models of {} million parameters and more", least / 1_000_000),
		};
		let larger = match most {
			Some(_) => "a round of a larger one would take it more than an hour",
			None => "smaller ones are left to slower machines",
		};
		format!("{speed}: {sizes}; {larger}.")
	}
}

impl fmt::Display for Tier {
	fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
		f.write_str(match self {
			Self::T0 => "T0",
			Self::T1 => "T1",
			Self::T2 => "T2",
			Self::T3 => "T3",
			Self::T4 => "T4",
		})
	}
}

/// Largest model, in parameters, of which a machine that does `flops` operations a second trains a round in time.
pub fn in_time(flops: u64) -> u64 {
	let parameters = u128::from(flops).saturating_mul(ROUND_S.into()) / u128::from(OPERATIONS.saturating_mul(ROUND_TOKENS));
	u64::try_from(parameters).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::provider;

	#[test]
	fn the_slowest_machine_of_a_tier_trains_its_largest_model_in_time() {
		// 6 * 2^20 operations for each parameter, in an hour.
		assert_eq!(in_time(T2_FLOPS), 572_204_589);
		for (tier, slowest) in [(Tier::T0, 20_000_000_000), (Tier::T1, T1_FLOPS), (Tier::T2, T2_FLOPS), (Tier::T3, T3_FLOPS)] {
			let most = tier.sizes().most.unwrap();
			assert!(most <= in_time(slowest) && in_time(slowest) < most * 2, "{tier}: {most}, {}", in_time(slowest));
			assert_eq!(Tier::of(slowest), tier);
			assert_eq!(Tier::of(slowest - 1).max(Tier::T0), if tier == Tier::T0 { Tier::T0 } else { Tier::ALL[tier as usize - 1] });
		}
	}

	#[test]
	fn every_size_is_asked_of_two_tiers_at_least_and_of_three_at_most() {
		for parameters in [1, 1_000_000, 10_000_000, 10_000_001, 50_000_000, 124_000_000, 500_000_000, 1_100_000_000, 2_147_483_648] {
			let asked = Tier::ALL.into_iter().filter(|tier| tier.is_asked_for(parameters)).count();
			assert!((2..=3).contains(&asked), "{parameters}: {asked}");
		}
		assert!(Tier::T4.is_asked_for(u64::MAX) && !Tier::T3.is_asked_for(2_500_000_001));
	}

	#[test]
	fn the_chains_tiers_begin_where_two_of_these_do() {
		let of = |gflops: u64| provider::Tier::of(u32::try_from(gflops).unwrap());
		let edge = |flops: u64| (of(flops / 1_000_000_000 - 1), of(flops / 1_000_000_000));
		assert_eq!(edge(T3_FLOPS), (provider::Tier::C, provider::Tier::B));
		assert_eq!(edge(T4_FLOPS), (provider::Tier::B, provider::Tier::A));
	}

	#[test]
	fn words_name_the_speed_the_tier_and_the_sizes() {
		assert_eq!(
			Tier::words(1_500_000_000_000),
			"With 1500 GFLOP/s this machine is in tier T2: it is asked for models of 10 to 500 million parameters; a round of a larger one would take it \
			 more than an hour."
		);
		assert!(Tier::words(T4_FLOPS).ends_with("of 500 million parameters and more; smaller ones are left to slower machines."));
		assert!(Tier::words(0).contains("tier T0: it is asked for models of up to 10 million"));
	}
}
