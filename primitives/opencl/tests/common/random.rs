//! Random numbers, and what calls are made of.

use neuroshard_graph::config::{Code, TopK, F32};
use neuroshard_kernels::shape::{Tiling, TILE};

/// Codes of every kind.
pub const CODES: [Code; 6] = [Code::Int8, top(4, false), top(64, false), top(8, true), top(32, true), top(64, true)];

const fn top(numbers: u8, cosine: bool) -> Code {
	Code::TopK(TopK { numbers, decay: F32::new(0.9), cosine })
}

/// Numbers without end, the same each time.
pub struct Random(pub u64);

impl Random {
	pub fn next(&mut self) -> u64 {
		// SplitMix64.
		self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
		let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
		let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
		z ^ (z >> 31)
	}

	pub fn below(&mut self, end: usize) -> usize {
		usize::try_from(self.next() % end as u64).unwrap()
	}

	pub fn within(&mut self, first: usize, last: usize) -> usize {
		first + self.below(last - first + 1)
	}

	pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
		of[self.below(of.len())]
	}

	pub fn bits(&mut self) -> u32 {
		u32::try_from(self.next() >> 32).unwrap()
	}

	/// In [-1, 1).
	pub fn unit(&mut self) -> f32 {
		(self.bits() >> 8) as f32 / 8_388_608.0 - 1.0
	}

	/// A number of a kind: as in training, of any exponent, or any bits, with infinities, NaNs, subnormal numbers and zeros.
	pub fn number(&mut self, kind: usize) -> f32 {
		match kind {
			0 => self.unit(),
			1 => self.unit() * f32::from_bits((self.bits() % 254 + 1) << 23),
			_ => match self.below(8) {
				0 => self.one(&[0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, f32::MAX, 1.0]),
				1 => f32::from_bits(self.bits() & 0x807f_ffff),
				_ => f32::from_bits(self.bits()),
			},
		}
	}

	/// Tensors of whole tiles across.
	pub fn tiling(&mut self) -> Tiling {
		let tensors = self.within(1, 4);
		Tiling::new((0..tensors).map(|_| (self.within(1, 70), TILE * self.within(1, 4))).collect::<Vec<_>>())
	}
}
