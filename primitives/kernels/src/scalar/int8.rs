//! Products of numbers that are held in 8 bits: both operands are quantized in groups of 32 along the chain.

use crate::{
	math::ROUND,
	num::{fma, NAN},
	shape::{MatDims, Start, GROUP},
};
use alloc::vec::Vec;

/// Greatest magnitude of a number in a group. So the sums of two products of magnitudes fit 16 bits, and those of a group 24.
const MOST: i32 = 127;
/// Bits of a number without its sign, from which on it is not finite.
const INFINITE: u32 = 0x7f80_0000;

/// Up to 32 neighbouring numbers of a row: each is about `values[i] * scale`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Group {
	/// Between -127 and 127; zeros beyond the end of the row, and where the scale is zero or NaN.
	pub values: [i8; GROUP],
	/// The greatest magnitude divided by 127. NaN if a number is not finite: so is every product with the group then.
	pub scale: f32,
}

impl Group {
	/// Quantizes numbers of a row: 32 of them, or those that are left at its end.
	///
	/// # Panics
	/// If there are more than 32.
	pub fn of(numbers: &[f32]) -> Self {
		let mut padded = [0.0; GROUP];
		padded[..numbers.len()].copy_from_slice(numbers);
		Self::whole(&padded)
	}

	/// Quantizes 32 numbers.
	#[inline(always)]
	pub fn whole(numbers: &[f32; GROUP]) -> Self {
		let mut most = 0;
		for x in numbers {
			most = most.max(x.to_bits() & 0x7fff_ffff);
		}
		let mut group = Self { values: [0; GROUP], scale: NAN };
		if most < INFINITE {
			group.scale = f32::from_bits(most) / MOST as f32;
			if group.scale > 0.0 {
				for (value, x) in group.values.iter_mut().zip(numbers) {
					// Adding 1.5 * 2^23 rounds to an integer, which the lower bits then hold. A subnormal scale is rounded so much that it may lie
					// beyond 127.
					let rounded = (x / group.scale + ROUND).to_bits() as i32 - ROUND.to_bits() as i32;
					*value = rounded.clamp(-MOST, MOST) as i8;
				}
			}
		}
		group
	}

	/// Sum of the products of both groups' values.
	fn dot(&self, other: &Self) -> i32 {
		self.values.iter().zip(&other.values).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum()
	}
}

/// The groups of each row of `x`, rows of `k` elements.
fn groups(x: &[f32], k: usize) -> Vec<Group> {
	x.chunks_exact(k.max(1)).flat_map(|row| row.chunks(GROUP)).map(Group::of).collect()
}

/// `C[m, n] = A[m, k] B[n, k]^T` of quantized rows, plus what `c` holds if `start` says so.
///
/// Each output takes `fma(scale of a's group * scale of b's group, sum of the products of their values, c)` for each group, ascending.
pub fn matmul_int8(dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
	dims.check(a, b, c);
	chains(dims, &groups(a, dims.k), &groups(b, dims.k), c, start);
}

/// The chains of all outputs: each row of `a`, and of `b`, has the groups that `k` of `dims` takes.
pub(super) fn chains(dims: MatDims, a: &[Group], b: &[Group], c: &mut [f32], start: Start) {
	let (n, per_row) = (dims.n, dims.k.div_ceil(GROUP));
	for (i, row) in c.chunks_exact_mut(n.max(1)).enumerate() {
		for (j, out) in row.iter_mut().enumerate() {
			let mut acc = if start == Start::Zero { 0.0 } else { *out };
			for (x, y) in a[i * per_row..(i + 1) * per_row].iter().zip(&b[j * per_row..(j + 1) * per_row]) {
				// Below 2^24, so exact.
				acc = fma(x.scale * y.scale, x.dot(y) as f32, acc);
			}
			*out = acc;
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn bits(x: u32) -> f32 {
		f32::from_bits(x)
	}

	#[test]
	fn values_are_the_nearest_multiples_of_a_127th_of_the_greatest_with_ties_to_even() {
		let group = Group::of(&[127.0, -127.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.499_999_97, 126.5, 125.5, -0.0, 1e-30]);
		assert_eq!(group.scale, 1.0);
		assert_eq!(group.values[..12], [127, -127, 0, 2, 2, 0, -2, 0, 126, 126, 0, 0]);
		assert_eq!(group.values[12..], [0; 20]);
		let group = Group::of(&[-3.0]);
		assert_eq!((group.values[0], group.scale), (-127, 3.0 / 127.0));
		assert_eq!(Group::of(&[f32::MAX, f32::MIN, 1.0]).values[..3], [127, -127, 0]);
	}

	#[test]
	fn zeros_and_numbers_too_small_for_a_scale_are_zeros() {
		for numbers in [&[][..], &[0.0; 32], &[-0.0; 7], &[bits(63), -bits(40)]] {
			assert_eq!(Group::of(numbers), Group { values: [0; 32], scale: 0.0 });
		}
	}

	#[test]
	fn a_subnormal_scale_is_rounded_and_values_beyond_are_clamped() {
		// 64 / 127 and 190 / 127 both round to one unit.
		for (most, value) in [(64, 64), (127, 127), (190, 127), (191, 96)] {
			let group = Group::of(&[bits(most), -bits(most), bits(1)]);
			assert_eq!(group.values[..2], [value, -value], "{most}");
			assert_eq!(group.scale, bits(if most == 191 { 2 } else { 1 }), "{most}");
		}
	}

	#[test]
	fn a_group_with_a_number_that_is_not_finite_makes_every_product_with_it_nan() {
		for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, bits(0xff80_0001)] {
			let mut a = [1.0; 64];
			a[40] = odd;
			let group = Group::of(&a[32..]);
			assert!(group.scale.is_nan() && group.values == [0; 32]);
			let mut c = [0.0; 2];
			matmul_int8(MatDims { m: 1, n: 2, k: 64 }, &a, &[0.0; 128], &mut c, Start::Zero);
			assert!(c.iter().all(|c| c.is_nan()));
			matmul_int8(MatDims { m: 2, n: 1, k: 32 }, &a, &[2.0; 32], &mut c, Start::Zero);
			assert!(c[0] == 64.0 && c[1].is_nan());
		}
	}

	#[test]
	fn a_product_goes_on_from_where_it_is_cut_between_two_groups() {
		let row = |seed: u32| -> Vec<f32> { (0..100u32).map(|i| ((i * seed) % 251) as f32 / 17.0 - 7.0).collect() };
		let (a, b) = (row(37), row(91));
		let (mut whole, mut parts) = ([0.75], [0.75]);
		let dims = |k| MatDims { m: 1, n: 1, k };
		matmul_int8(dims(100), &a, &b, &mut whole, Start::Existing);
		for (first, end) in [(0, 64), (64, 96), (96, 100)] {
			matmul_int8(dims(end - first), &a[first..end], &b[first..end], &mut parts, Start::Existing);
		}
		assert_eq!(whole[0].to_bits(), parts[0].to_bits());
		let exact: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>() + 0.75;
		assert!((whole[0] - exact).abs() < 0.02 * exact.abs().max(30.0), "{} against {exact}", whole[0]);
	}
}
