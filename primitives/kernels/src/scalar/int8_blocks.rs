//! Products of training in exact int8: both operands are quantized in the 32x32 blocks that their tiles are.
//!
//! A block has one scale, so the same 8-bit numbers serve a product along their rows and one along their columns: activations forwards and in the gradient
//! of a weight, a weight forwards and back, a gradient back and in that of a weight.

use super::{
	add_assign,
	int8::{chains, Group},
};
use crate::{
	math::ROUND,
	num::NAN,
	shape::{MatDims, Start, SEGMENT, TILE},
};
use alloc::{vec, vec::Vec};

/// Bits of a number without its sign, from which on it is not finite.
const INFINITE: u32 = 0x7f80_0000;
/// Added to a magnitude's bits, it carries into the exponent if they are more than 1.984375 times its power of two: 127 is that much times 2^6.
const CARRY: u32 = 0x0001_ffff;

/// A 32x32 block: each number is about `values[i] * scale`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Square {
	/// Between -127 and 127, row by row; zeros where the scale is NaN.
	pub values: [i8; TILE * TILE],
	/// The smallest power of two, from 2^-126 on, that no magnitude is more than 127 times. NaN if a number is not finite: so is every product with the
	/// block then.
	pub scale: f32,
}

impl Square {
	/// The scale of a block and one by it, given the greatest of its numbers' bits without signs; `None` if a number is not finite.
	#[inline(always)]
	pub fn scales(most: u32) -> Option<[f32; 2]> {
		(most < INFINITE).then(|| {
			let exponent = ((most + CARRY) >> 23).saturating_sub(6).max(1);
			[exponent, 254 - exponent].map(|exponent| f32::from_bits(exponent << 23))
		})
	}

	/// Quantizes a block, row by row.
	#[inline(always)]
	pub fn of(numbers: &[f32; TILE * TILE]) -> Self {
		let mut most = 0;
		for x in numbers {
			most = most.max(x.to_bits() & 0x7fff_ffff);
		}
		let mut square = Self { values: [0; TILE * TILE], scale: NAN };
		if let Some([scale, inverse]) = Self::scales(most) {
			square.scale = scale;
			for (value, x) in square.values.iter_mut().zip(numbers) {
				// Exact where it is not rounded to 0. Adding 1.5 * 2^23 rounds to an integer, which the lower bits then hold.
				*value = ((x * inverse + ROUND).to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32) as i8;
			}
		}
		square
	}
}

/// Which neighbours of a tensor are a line, a chain's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lines {
	Rows,
	Columns,
}

/// The groups of each line of `x`, whose rows have `cols` elements: those of a block share its scale.
fn groups(x: &[f32], cols: usize, lines: Lines) -> Vec<Group> {
	let rows = x.len().checked_div(cols).unwrap_or(0);
	let (count, per_line) = match lines {
		Lines::Rows => (rows, cols.div_ceil(TILE)),
		Lines::Columns => (cols, rows.div_ceil(TILE)),
	};
	let mut groups = vec![Group { values: [0; TILE], scale: 0.0 }; count * per_line];
	for top in (0..rows).step_by(TILE) {
		for left in (0..cols).step_by(TILE) {
			let (height, width) = (TILE.min(rows - top), TILE.min(cols - left));
			let mut block = [0.0; TILE * TILE];
			for (line, row) in block.chunks_exact_mut(TILE).zip(x.chunks_exact(cols).skip(top)).take(height) {
				line[..width].copy_from_slice(&row[left..left + width]);
			}
			let Square { values, scale } = Square::of(&block);
			let (first, group, inside) = match lines {
				Lines::Rows => (top, left / TILE, height),
				Lines::Columns => (left, top / TILE, width),
			};
			for line in 0..inside {
				let to = &mut groups[(first + line) * per_line + group];
				to.scale = scale;
				for (e, value) in to.values.iter_mut().enumerate() {
					*value = match lines {
						Lines::Rows => values[line * TILE + e],
						Lines::Columns => values[e * TILE + line],
					};
				}
			}
		}
	}
	groups
}

/// `C[m, n] = A[m, k] B[n, k]^T` of quantized blocks, plus what `c` holds if `start` says so.
///
/// Each output takes `fma(scale of a's block * scale of b's block, sum of the products of their values, c)` for each block of its chains, ascending. What is
/// beyond a tensor's edge counts as zero.
pub fn matmul_int8_nt(dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
	dims.check(a, b, c);
	chains(dims, &groups(a, dims.k, Lines::Rows), &groups(b, dims.k, Lines::Rows), c, start);
}

/// `C[m, n] = A[m, k] B[k, n]`, as [`matmul_int8_nt`].
pub fn matmul_int8_nn(dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
	dims.check(a, b, c);
	chains(dims, &groups(a, dims.k, Lines::Rows), &groups(b, dims.n, Lines::Columns), c, start);
}

/// `C[m, n] = A[k, m]^T B[k, n]`, as [`matmul_int8_nt`].
///
/// Here `k` counts tokens, in segments as in [`super::matmul_tn`].
pub fn matmul_int8_tn(dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
	dims.check(a, b, c);
	let MatDims { m, n, k } = dims;
	let segment = |first: usize, c: &mut [f32], start: Start| {
		let end = k.min(first + SEGMENT);
		let (a, b) = (groups(&a[first * m..end * m], m, Lines::Columns), groups(&b[first * n..end * n], n, Lines::Columns));
		chains(MatDims { k: end - first, ..dims }, &a, &b, c, start);
	};
	segment(0, c, start);
	let mut later = vec![0.0; if k > SEGMENT { c.len() } else { 0 }];
	for first in (SEGMENT..k).step_by(SEGMENT) {
		segment(first, &mut later, Start::Zero);
		add_assign(c, &later);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn bits(x: u32) -> f32 {
		f32::from_bits(x)
	}

	/// A block that begins with these numbers, zeros behind them.
	fn block(numbers: &[f32]) -> Square {
		let mut all = [0.0; TILE * TILE];
		all[..numbers.len()].copy_from_slice(numbers);
		Square::of(&all)
	}

	fn numbers(len: usize, seed: u32) -> Vec<f32> {
		let mut state = seed;
		let mut next = || {
			state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
			(state >> 8) as f32 / 8_388_608.0 - 1.0
		};
		(0..len).map(|_| next()).collect()
	}

	#[test]
	fn a_scale_is_the_smallest_power_of_two_that_no_magnitude_is_more_than_127_times() {
		for (most, scale, value) in [
			(127.0, 1.0, 127),
			(-127.0, 1.0, -127),
			// The next number after 127.
			(bits(0x42fe_0001), 2.0, 64),
			(128.0, 2.0, 64),
			(63.5, 0.5, 127),
			(64.0, 1.0, 64),
			(1.0, bits(0x3c80_0000), 64),
			(f32::MAX, bits(0x7c80_0000), 64),
			(127.0 * 2f32.powi(-100), 2f32.powi(-100), 127),
		] {
			let square = block(&[most]);
			assert_eq!((square.scale, square.values[0]), (scale, value), "{most}");
			let at_least = (most.abs() / scale, most.abs() / (scale / 2.0));
			assert!(at_least.0 <= 127.0 && at_least.1 > 127.0, "{most}");
		}
	}

	#[test]
	fn values_are_the_nearest_multiples_of_the_scale_with_ties_to_even() {
		let square = block(&[100.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.499_999_97, 99.5, 98.5, -0.0, 1e-30, -3.0]);
		assert_eq!(square.scale, 1.0);
		assert_eq!(square.values[..13], [100, 0, 2, 2, 0, -2, -2, 0, 100, 98, 0, 0, -3]);
		assert!(square.values[13..].iter().all(|&value| value == 0));
	}

	#[test]
	fn the_smallest_scale_is_the_smallest_normal_number() {
		let least = f32::MIN_POSITIVE;
		assert_eq!(block(&[]), Square { values: [0; TILE * TILE], scale: least });
		assert_eq!(block(&[-0.0]), block(&[]));
		// 127, 3 and 1 times it; half of it and the next number after that; the smallest subnormal number.
		let square = block(&[127.0 * least, -3.0 * least, least, bits(0x0040_0000), -bits(0x0040_0001), bits(1)]);
		assert_eq!((square.scale, &square.values[..6]), (least, &[127, -3, 1, 0, -1, 0][..]));
		assert_eq!(block(&[128.0 * least]).scale, 2.0 * least);
	}

	#[test]
	fn a_block_with_a_number_that_is_not_finite_makes_every_product_with_it_nan() {
		for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, bits(0xff80_0001)] {
			let square = block(&[1.0, odd]);
			assert!(square.scale.is_nan() && square.values == [0; TILE * TILE]);
			// Row 0 lies in the same block; row 32 does not.
			let mut a = vec![1.0; 33 * 32];
			a[3 * 32 + 5] = odd;
			let mut c = vec![0.0; 33];
			matmul_int8_nt(MatDims { m: 33, n: 1, k: 32 }, &a, &[2.0; 32], &mut c, Start::Zero);
			assert!(c[..32].iter().all(|c| c.is_nan()) && c[32] == 64.0, "{c:?}");
		}
	}

	#[test]
	fn products_are_known_numbers_of_scales_and_integer_sums() {
		// Row 0: scale 1, integers 127, -3, 0 (0.5 goes to the even one); and in the second block scale 2^-6, integer 64.
		let mut a = vec![0.0; 33];
		(a[0], a[1], a[2], a[32]) = (127.0, -3.0, 0.5, 1.0);
		let mut b = vec![0.0; 33];
		// Scale 2 for 200, so 1 is 0.5 of it: 0. Second block: scale 2^-5 for 3, integer 96.
		(b[0], b[1], b[32]) = (200.0, 1.0, 3.0);
		let mut c = [0.25];
		matmul_int8_nt(MatDims { m: 1, n: 1, k: 33 }, &a, &b, &mut c, Start::Existing);
		assert_eq!(c, [0.25 + 2.0 * (127.0 * 100.0) + 3.0]);
		matmul_int8_nt(MatDims { m: 1, n: 1, k: 33 }, &a, &b, &mut c, Start::Zero);
		assert_eq!(c, [25_403.0]);
		// As columns, a and b are one block each of row k: the same numbers, of the same blocks.
		for product in [matmul_int8_nn, matmul_int8_tn] {
			product(MatDims { m: 1, n: 1, k: 33 }, &a, &b, &mut c, Start::Zero);
			assert_eq!(c, [25_403.0]);
		}
	}

	#[test]
	fn the_three_products_of_one_pair_of_tensors_use_the_same_numbers() {
		let (m, n, k) = (70, 45, 100);
		let (a, b) = (numbers(m * k, 1), numbers(n * k, 2));
		let turned = |x: &[f32], cols: usize| -> Vec<f32> {
			let rows = x.len() / cols;
			(0..x.len()).map(|at| x[at % rows * cols + at / rows]).collect()
		};
		let dims = MatDims { m, n, k };
		let [mut nt, mut nn, mut tn] = [0; 3].map(|_| vec![0.5; m * n]);
		matmul_int8_nt(dims, &a, &b, &mut nt, Start::Existing);
		matmul_int8_nn(dims, &a, &turned(&b, k), &mut nn, Start::Existing);
		matmul_int8_tn(dims, &turned(&a, k), &turned(&b, k), &mut tn, Start::Existing);
		assert_eq!(nt, nn);
		assert_eq!(nt, tn);
		let mut exact = vec![0.5; m * n];
		super::super::matmul_nt(dims, &a, &b, &mut exact, Start::Existing);
		assert!(nt.iter().zip(&exact).all(|(found, exact)| (found - exact).abs() < 0.25) && nt != exact);
	}

	#[test]
	fn chains_over_tokens_are_cut_into_segments_that_are_added_in_order() {
		let (m, n, k) = (3, 2, 2 * SEGMENT + 40);
		let (a, b) = (numbers(m * k, 5), numbers(n * k, 6));
		let mut found = vec![0.75; m * n];
		matmul_int8_tn(MatDims { m, n, k }, &a, &b, &mut found, Start::Existing);
		let part = |first: usize, end: usize, c: &mut [f32], start| {
			matmul_int8_tn(MatDims { m, n, k: end - first }, &a[first * m..end * m], &b[first * n..end * n], c, start);
		};
		let mut expected = vec![0.75; m * n];
		part(0, SEGMENT, &mut expected, Start::Existing);
		for (first, end) in [(SEGMENT, 2 * SEGMENT), (2 * SEGMENT, k)] {
			let mut later = vec![f32::NAN; m * n];
			part(first, end, &mut later, Start::Zero);
			add_assign(&mut expected, &later);
		}
		assert_eq!(found, expected);
	}

	#[test]
	fn a_product_goes_on_from_where_it_is_cut_between_two_blocks() {
		let (a, b) = (numbers(100, 3), numbers(100, 4));
		let (mut whole, mut parts) = ([0.75], [0.75]);
		let dims = |k| MatDims { m: 1, n: 1, k };
		matmul_int8_nt(dims(100), &a, &b, &mut whole, Start::Existing);
		for (first, end) in [(0, 64), (64, 96), (96, 100)] {
			matmul_int8_nt(dims(end - first), &a[first..end], &b[first..end], &mut parts, Start::Existing);
		}
		assert_eq!(whole, parts);
	}
}
