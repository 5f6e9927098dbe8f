//! Products of training in exact int8: both operands are quantized block by block and packed, then multiplied. What is packed of an operand is kept for as
//! long as whoever multiplies says that other products read it.

use super::{int8::ROWS, share, Exec};
use crate::{
	pool::lock,
	simd::{
		int8_blocks::{multiply, pack, Packed, Places, Side},
		product::Output,
	},
};
use neuroshard_kernels::shape::{MatDims, Start, SEGMENT, TILE};
use std::ops::Range;

/// Operands that are packed at the same time at most: those that are kept for others, and two.
const MOST: usize = 8;

/// Which of the operands of a product others read, on the same side and with the same numbers, which nothing changes between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shared {
	/// Whether the last product that has read the left one, and the right one, was such a product.
	pub before: [bool; 2],
	/// Whether such a product will read it.
	pub after: [bool; 2],
}

/// What an operand is, and how it is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Source {
	side: Side,
	/// Address.
	at: usize,
	len: usize,
	cols: usize,
	/// Rows of a segment of chains along columns.
	segment: usize,
}

/// Which neighbours are a line, a chain's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lines {
	Rows,
	Columns,
}

/// A packed operand. Its memory is used again and again.
#[derive(Default)]
struct Operand {
	/// What it is of, while others may read it.
	source: Option<Source>,
	/// With rows as lines: band by band, those of 32 rows. With columns: segment by segment, and in each band by band.
	blocks: [Vec<Packed>; 2],
	/// Which of them there are.
	packed: [bool; 2],
}

impl Operand {
	/// Room for what is not packed yet of `wanted`; whether there is any.
	fn prepare(&mut self, blocks: usize, wanted: [bool; 2]) -> [bool; 2] {
		let missing = [0, 1].map(|lines| wanted[lines] && !self.packed[lines]);
		for lines in [0, 1] {
			if missing[lines] {
				self.blocks[lines].resize(blocks, Packed::ZERO);
				self.packed[lines] = true;
			}
		}
		missing
	}

	/// Where they go.
	fn places(&mut self, missing: [bool; 2]) -> [Option<*mut Packed>; 2] {
		let [rows, columns] = self.blocks.each_mut().map(|blocks| blocks.as_mut_ptr());
		[missing[0].then_some(rows), missing[1].then_some(columns)]
	}
}

/// Operands of products, those that are kept among them.
#[derive(Default)]
pub(super) struct Operands(Vec<Operand>);

impl Operands {
	/// The place of an operand, but not `other`: where it is kept, if that is the one that `before` tells of, else a free one.
	fn place(&mut self, source: Source, before: bool, other: Option<usize>) -> usize {
		let with = |of: Option<Source>| (0..self.0.len()).find(|&place| Some(place) != other && self.0[place].source == of);
		let kept = with(Some(source));
		let place = kept.or_else(|| with(None)).unwrap_or_else(|| match self.0.len() {
			MOST => usize::from(other == Some(0)),
			len => {
				self.0.push(Operand::default());
				len
			}
		});
		let operand = &mut self.0[place];
		if kept.is_none() || !before {
			operand.packed = [false; 2];
		}
		operand.source = Some(source);
		place
	}
}

/// Packs the part of an operand that thread `t` of `threads` has.
///
/// # Safety
/// There is room for all blocks in `places`, which nobody else uses but other threads with this function.
unsafe fn pack_share(exec: &Exec, x: &[f32], source: Source, places: [Option<*mut Packed>; 2], t: usize, threads: usize) {
	let (across, down) = (source.cols.div_ceil(TILE), x.len() / source.cols);
	if places == [None; 2] {
		return;
	}
	for top in share(down, TILE, t, threads).step_by(TILE) {
		let row = top / TILE;
		let first = top - top % source.segment;
		let groups = source.segment.min(down - first).div_ceil(TILE);
		// SAFETY: in rows, `across` blocks for each row of blocks; in columns as many for each row of blocks of the segments before.
		let places = unsafe {
			[
				places[0].map(|at| Places { at: at.add(row * across), stride: 1 }),
				places[1].map(|at| Places { at: at.add(first / TILE * across + (top - first) / TILE), stride: groups }),
			]
		};
		pack(exec.level, source.side, x, source.cols, row, places);
	}
}

impl Exec {
	/// As [`neuroshard_kernels::scalar::matmul_int8_nt`].
	pub fn matmul_int8_nt(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		self.shared_int8_nt(dims, [a, b], c, start, Shared::default());
	}

	/// As [`neuroshard_kernels::scalar::matmul_int8_nn`].
	pub fn matmul_int8_nn(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		self.shared_int8_nn(dims, [a, b], c, start, Shared::default());
	}

	/// As [`neuroshard_kernels::scalar::matmul_int8_tn`].
	pub fn matmul_int8_tn(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		self.shared_int8_tn(dims, [a, b], c, start, Shared::default());
	}

	/// [`Exec::matmul_int8_nt`] of operands that others share.
	pub(crate) fn shared_int8_nt(&self, dims: MatDims, [a, b]: [&[f32]; 2], c: &mut [f32], start: Start, shared: Shared) {
		self.blocks(dims, (a, dims.k, Lines::Rows), (b, dims.k, Lines::Rows), usize::MAX, c, start, shared);
	}

	/// [`Exec::matmul_int8_nn`] of operands that others share.
	pub(crate) fn shared_int8_nn(&self, dims: MatDims, [a, b]: [&[f32]; 2], c: &mut [f32], start: Start, shared: Shared) {
		self.blocks(dims, (a, dims.k, Lines::Rows), (b, dims.n, Lines::Columns), usize::MAX, c, start, shared);
	}

	/// [`Exec::matmul_int8_tn`] of operands that others share.
	pub(crate) fn shared_int8_tn(&self, dims: MatDims, [a, b]: [&[f32]; 2], c: &mut [f32], start: Start, shared: Shared) {
		self.blocks(dims, (a, dims.m, Lines::Columns), (b, dims.n, Lines::Columns), SEGMENT, c, start, shared);
	}

	/// `c = a b`, or `c + a b`, where the lines of both are chains, cut into segments. Of both operands: numbers, columns, lines.
	#[allow(clippy::too_many_arguments)]
	fn blocks(
		&self,
		dims: MatDims,
		(a, a_cols, a_lines): (&[f32], usize, Lines),
		(b, b_cols, b_lines): (&[f32], usize, Lines),
		segment: usize,
		c: &mut [f32],
		start: Start,
		shared: Shared,
	) {
		dims.check(a, b, c);
		let MatDims { m, n, k } = dims;
		if c.is_empty() {
			return;
		}
		if k == 0 {
			if start == Start::Zero {
				c.fill(0.0);
			}
			return;
		}
		let count = |x: &[f32], cols: usize| (x.len() / cols).div_ceil(TILE) * cols.div_ceil(TILE);
		// Of a gradient, which is on the left, both kinds of lines are read: packed together, it is quantized once.
		let wanted = |lines: Lines, both: bool| [lines == Lines::Rows || both, lines == Lines::Columns || both];
		let source =
			|side: Side, x: &[f32], cols: usize, segment: usize| Source { side, at: x.as_ptr().addr(), len: x.len(), cols, segment };
		let (a_source, b_source) = (source(Side::Left, a, a_cols, SEGMENT), source(Side::Right, b, b_cols, segment));
		let mut operands = lock(&self.quantized);
		let left = operands.place(a_source, shared.before[0], None);
		let right = operands.place(b_source, shared.before[1], Some(left));
		let Ok([left, right]) = operands.0.get_disjoint_mut([left, right]) else { return };
		let both = shared.after[0] && a_lines == Lines::Rows && b_lines == Lines::Columns;
		let a_missing = left.prepare(count(a, a_cols), wanted(a_lines, both));
		let b_missing = right.prepare(count(b, b_cols), wanted(b_lines, false));
		let threads = self.threads_for(m * n * k / 16);
		if a_missing != [false; 2] || b_missing != [false; 2] {
			let (a_places, b_places) = (Shares(left.places(a_missing)), Shares(right.places(b_missing)));
			self.run(threads, |t| {
				// SAFETY: just made room for.
				unsafe {
					pack_share(self, a, a_source, a_places.get(), t, threads);
					pack_share(self, b, b_source, b_places.get(), t, threads);
				}
			});
		}
		let (rows, columns) = (&left.blocks[a_lines as usize], &right.blocks[b_lines as usize]);
		let (row_bands, column_bands) = (m.div_ceil(TILE), n.div_ceil(TILE));
		let product = |at: Range<usize>, c: &mut [f32], start: Start| {
			let (first, groups) = (at.start / TILE, at.len().div_ceil(TILE));
			let (rows, columns) = (&rows[first * row_bands..], &columns[first * column_bands..]);
			let (c, load) = (Output { at: c.as_mut_ptr(), stride: n }, start == Start::Existing);
			let by_rows = row_bands >= 2 * threads;
			self.run(threads, |t| {
				let (mine, lines) = if by_rows { (share(m, TILE, t, threads), 0..n) } else { (0..m, share(n, TILE, t, threads)) };
				for first in mine.clone().step_by(ROWS) {
					let a = &rows[first / TILE * groups..];
					// SAFETY: the row exists.
					multiply(
						self.level,
						a,
						(ROWS.min(mine.end - first), groups),
						lines.clone(),
						columns,
						unsafe { c.from(first * n) },
						load,
					);
				}
			});
		};
		match segment {
			usize::MAX => product(0..k, c, start),
			_ => self.in_segments(k, c, start, product),
		}
		for (operand, after) in [left, right].into_iter().zip(shared.after) {
			if !after {
				operand.source = None;
			}
		}
	}
}

/// Places that threads pack their shares into.
struct Shares([Option<*mut Packed>; 2]);

// SAFETY: no two threads have the same blocks.
unsafe impl Sync for Shares {}

impl Shares {
	fn get(&self) -> [Option<*mut Packed>; 2] {
		self.0
	}
}

const _: () = assert!(ROWS.is_multiple_of(TILE) && SEGMENT.is_multiple_of(TILE));

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_kernels::scalar;

	fn numbers(len: usize, seed: u32) -> Vec<f32> {
		let mut state = seed;
		let mut next = || {
			state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
			(state >> 8) as f32 / 8_388_608.0 - 1.0
		};
		(0..len).map(|_| next()).collect()
	}

	/// The product of a kind, with what others share; the kinds are those of rows and of columns, in turn of the left and the right operand.
	fn product(exec: &Exec, kind: &str, dims: MatDims, operands: [&[f32]; 2], shared: Shared) -> Vec<f32> {
		let mut c = vec![f32::NAN; dims.m * dims.n];
		match kind {
			"nt" => exec.shared_int8_nt(dims, operands, &mut c, Start::Zero, shared),
			"nn" => exec.shared_int8_nn(dims, operands, &mut c, Start::Zero, shared),
			_ => exec.shared_int8_tn(dims, operands, &mut c, Start::Zero, shared),
		}
		c
	}

	fn expected(kind: &str, dims: MatDims, [a, b]: [&[f32]; 2]) -> Vec<f32> {
		let mut c = vec![f32::NAN; dims.m * dims.n];
		let reference = match kind {
			"nt" => scalar::matmul_int8_nt,
			"nn" => scalar::matmul_int8_nn,
			_ => scalar::matmul_int8_tn,
		};
		reference(dims, a, b, &mut c, Start::Zero);
		c
	}

	const LEFT: [bool; 2] = [true, false];
	const NONE: [bool; 2] = [false; 2];

	#[test]
	fn activations_are_used_again_only_if_they_are_those_of_the_product_before() {
		let exec = Exec::new(2).unwrap();
		let (m, n, k) = (70, 40, 100);
		let [mut x, w, other] = [1, 2, 3].map(|seed| numbers(100 * 70, seed));
		for kind in ["nt", "tn"] {
			// Over tokens the activations are the right operand.
			let (dims, mine) = if kind == "tn" { (MatDims { m: n, n: m, k }, [false, true]) } else { (MatDims { m, n, k }, LEFT) };
			let sides = |x: &[f32], w: &[f32]| {
				let (x, w) = (x[..m * k].to_vec(), w[..n * k].to_vec());
				if kind == "tn" {
					[w, x]
				} else {
					[x, w]
				}
			};
			let at = usize::from(kind == "tn");
			let kept = sides(&x, &w);
			let run = |x: &[f32], w: &[f32], shared: Shared| {
				let operands = if at == 1 { [&w[..n * k], &x[..m * k]] } else { [&x[..m * k], &w[..n * k]] };
				product(&exec, kind, dims, operands, shared)
			};
			let known = |operands: &[Vec<f32>; 2]| expected(kind, dims, operands.each_ref().map(Vec::as_slice));
			assert_eq!(run(&x, &w, Shared { before: NONE, after: mine }), known(&kept));
			// They are not looked at: whoever says that they are the same has not changed them.
			let first = x[0];
			x[0] = 1e9;
			let mut with_other = sides(&x, &other);
			with_other[at][0] = first;
			assert_eq!(run(&x, &other, Shared { before: mine, after: mine }), known(&with_other));
			// Products of others in between change nothing.
			assert_eq!(run(&other, &w, Shared::default()), known(&sides(&other, &w)));
			assert_eq!(run(&x, &other, Shared { before: mine, after: NONE }), known(&with_other));
			// Nobody has kept them.
			assert_eq!(run(&x, &w, Shared { before: mine, after: mine }), known(&sides(&x, &w)));
			// The first of the next products reads them anew.
			x[0] = first;
			assert_eq!(run(&x, &w, Shared { before: NONE, after: NONE }), known(&kept));
		}
	}

	#[test]
	fn gradients_are_quantized_once_for_both_products_that_read_them() {
		// Two segments of the chains over tokens, the second one with a block that is not whole.
		let (tokens, outputs, inputs) = (SEGMENT + 70, 70, 40);
		let [mut first, second, w, x] =
			[tokens * outputs, tokens * outputs, outputs * inputs, tokens * inputs].map(|len| numbers(len, len as u32));
		let (back, of_weight) = (MatDims { m: tokens, n: inputs, k: outputs }, MatDims { m: outputs, n: inputs, k: tokens });
		let unchanged = first.clone();
		for level in crate::simd::Level::available() {
			let exec = Exec::with_level(2, level).unwrap();
			for dy in [&first, &second] {
				let found = product(&exec, "nn", back, [dy, &w], Shared { before: NONE, after: LEFT });
				assert!(found == expected("nn", back, [dy, &w]), "{level:?}");
			}
			first[7] = 1e9;
			let found = product(&exec, "tn", of_weight, [&first, &x], Shared { before: LEFT, after: [false, true] });
			assert!(found == expected("tn", of_weight, [&unchanged, &x]), "{level:?}");
			let found = product(&exec, "tn", of_weight, [&second, &x], Shared { before: [true; 2], after: NONE });
			assert!(found == expected("tn", of_weight, [&second, &x]), "{level:?}");
			assert!(lock(&exec.quantized).0.iter().all(|operand| operand.source.is_none()));
			first[7] = unchanged[7];
		}
	}

	#[test]
	fn operands_that_nobody_asks_for_again_leave_room_for_others() {
		let exec = Exec::new(1).unwrap();
		let dims = MatDims { m: 3, n: 5, k: 40 };
		let all: Vec<Vec<f32>> = (0..20).map(|seed| numbers(5 * 40, seed)).collect();
		for x in &all {
			let operands = [&x[..3 * 40], &all[0][..]];
			assert_eq!(product(&exec, "nt", dims, operands, Shared { before: NONE, after: LEFT }), expected("nt", dims, operands));
		}
		assert_eq!(lock(&exec.quantized).0.len(), MOST);
	}
}
