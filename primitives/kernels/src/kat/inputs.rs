//! Inputs and digests of the known answers: no dependency but the hash, the same on every machine.

use crate::num::canon_bits;
use alloc::vec::Vec;

/// Values at the borders of the number format.
const SPECIAL: [u32; 16] = [
	0x0000_0000,
	0x8000_0000,
	0x0000_0001,
	0x8000_0001,
	0x007f_ffff,
	0x0080_0000,
	0x8080_0000,
	0x3f80_0000,
	0xbf80_0000,
	0x7f7f_ffff,
	0xff7f_ffff,
	0x7f80_0000,
	0xff80_0000,
	0x7fc0_0000,
	0xffc1_2345,
	0x7f80_0001,
];

/// A 64-bit linear congruential generator, of which the upper words are used.
pub struct Inputs(u64);

impl Inputs {
	/// The same numbers for the same seed.
	pub fn new(seed: u64) -> Self {
		Self(seed)
	}

	/// Drawn from all bits of `seed`.
	pub fn drawn(seed: [u8; 32]) -> Self {
		let mut digest = Digest::new();
		digest.add_bytes(&seed);
		let [a, b, c, d, e, f, g, h, ..] = digest.finish();
		Self(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
	}

	/// Any 32 bits.
	pub fn word(&mut self) -> u32 {
		self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
		(self.0 >> 32) as u32
	}

	/// In [-2, 2), with 24 significant bits.
	pub fn plain(&mut self) -> f32 {
		(self.word() >> 8) as f32 / 4_194_304.0 - 2.0
	}

	/// Mostly plain; some small or subnormal.
	fn finite(&mut self) -> f32 {
		match self.word() >> 29 {
			0 => f32::from_bits(self.word() & 0x807f_ffff),
			1 => self.plain() * 1e-20,
			2 => self.plain() * 8.0,
			_ => self.plain(),
		}
	}

	/// Any number: specials, any bits, finite ones.
	pub fn any(&mut self) -> f32 {
		match self.word() >> 29 {
			0 => f32::from_bits(SPECIAL[(self.word() >> 28) as usize]),
			1 | 2 => f32::from_bits(self.word()),
			_ => self.finite(),
		}
	}

	/// A tensor of finite numbers, or with one number in `1 / rarity` being anything.
	pub fn tensor(&mut self, len: usize, rarity: Option<u32>) -> Vec<f32> {
		(0..len)
			.map(|_| match rarity {
				Some(rarity) if self.word().is_multiple_of(rarity) => self.any(),
				_ => self.finite(),
			})
			.collect()
	}

	/// Token ids below `vocab`.
	pub fn ids(&mut self, len: usize, vocab: u32) -> Vec<u32> {
		(0..len).map(|_| self.word() % vocab).collect()
	}
}

/// Blake2b-256, of canonical numbers for the most part.
pub struct Digest(blake2b_simd::State);

impl Digest {
	/// Of nothing yet.
	#[allow(clippy::new_without_default, reason = "nobody asks for one")]
	pub fn new() -> Self {
		Self(blake2b_simd::Params::new().hash_length(32).to_state())
	}

	/// Adds the canonical little-endian bytes of these numbers.
	pub fn add(&mut self, numbers: &[f32]) {
		// A block of the hash at a time.
		for numbers in numbers.chunks(32) {
			let mut block = [0; 128];
			for (bytes, &x) in block.chunks_exact_mut(4).zip(numbers) {
				bytes.copy_from_slice(&canon_bits(x).to_le_bytes());
			}
			self.add_bytes(&block[..4 * numbers.len()]);
		}
	}

	/// Adds these bytes.
	pub fn add_bytes(&mut self, bytes: &[u8]) {
		self.0.update(bytes);
	}

	/// Of all that was added.
	pub fn finish(self) -> [u8; 32] {
		let mut digest = [0; 32];
		digest.copy_from_slice(self.0.finalize().as_bytes());
		digest
	}
}
