//! Random inputs that the tests share.
#![allow(dead_code, reason = "each test file uses a part")]

use rand_chacha::{
	rand_core::{RngCore, SeedableRng},
	ChaCha8Rng,
};

/// What kind of numbers an input holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
	/// Uniform in [-2, 2).
	Plain,
	/// Finite, many of them subnormal or zeros of both signs.
	Small,
	/// Any bits: every exponent, infinities, NaNs.
	Any,
}

pub const KINDS: [Kind; 3] = [Kind::Plain, Kind::Small, Kind::Any];

pub struct Inputs(ChaCha8Rng);

impl Inputs {
	pub fn new(seed: u64) -> Self {
		Self(ChaCha8Rng::seed_from_u64(seed))
	}
	pub fn word(&mut self) -> u32 {
		self.0.next_u32()
	}
	pub fn below(&mut self, bound: usize) -> usize {
		self.word() as usize % bound
	}
	pub fn ids(&mut self, len: usize, bound: usize) -> Vec<u32> {
		(0..len).map(|_| self.below(bound) as u32).collect()
	}
	pub fn plain(&mut self) -> f32 {
		(self.word() >> 8) as f32 / 4_194_304.0 - 2.0
	}
	pub fn number(&mut self, kind: Kind) -> f32 {
		let choice = self.below(16);
		match kind {
			Kind::Plain => self.plain(),
			Kind::Small => match choice {
				0 => 0.0,
				1 => -0.0,
				2..=5 => f32::from_bits(self.word() & 0x807f_ffff),
				6..=9 => self.plain() * 1e-19,
				10 => self.plain() * 1e-38,
				_ => self.plain(),
			},
			Kind::Any => match choice {
				0 => f32::from_bits(self.word()),
				1 => *[f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::from_bits(0xffc0_1234)].get(self.below(64)).unwrap_or(&-0.0),
				2 => f32::from_bits(self.word() & 0x807f_ffff),
				3 => self.plain() * 1e30,
				4 => self.plain() * 60.0,
				_ => self.plain(),
			},
		}
	}
	pub fn tensor(&mut self, len: usize, kind: Kind) -> Vec<f32> {
		(0..len).map(|_| self.number(kind)).collect()
	}
}
