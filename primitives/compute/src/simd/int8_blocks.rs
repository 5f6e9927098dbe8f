//! Products of training in exact int8: operands are quantized and packed in the 32x32 blocks that their tiles are, and multiplied block by block.
//!
//! The sum of products within two blocks is an integer, exact in any order, and one step of an f32 chain, with one scale for all outputs of both.

use super::{kernels, product::Output, Isa, Level, LANES};
use core::ops::Range;
use neuroshard_kernels::{math::ROUND, num::NAN, scalar::Square, shape::TILE};

/// Elements of a chain that are multiplied at a time.
pub(super) const QUAD: usize = 4;
/// Columns of an output at a time, so that their side stays in a cache while rows pass.
pub(super) const STRIP: usize = 64;
/// What is added to values on the left where one factor has to be without a sign.
const BIAS: i32 = 128;

/// Side of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
	Left,
	Right,
}

/// A block of an operand, zeros beyond its edge, as its side of a product reads it.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Packed {
	/// On the left, line by line. On the right of every line the first four, then of every line the next four.
	pub(super) values: [u8; TILE * TILE],
	/// On the right, for each line what the bias of the left operand's values adds to sums, taken away beforehand.
	starts: [i32; TILE],
	pub(super) scale: f32,
}

impl Packed {
	/// A block of zeros.
	pub(crate) const ZERO: Self = Self { values: [0; TILE * TILE], starts: [0; TILE], scale: 0.0 };
}

/// Where the blocks go that a row of blocks is packed into.
#[derive(Clone, Copy)]
pub(crate) struct Places {
	pub(crate) at: *mut Packed,
	/// Between two of them.
	pub(crate) stride: usize,
}

/// Rows of a block, in a tensor or in a copy with zeros beyond the edge.
#[derive(Clone, Copy)]
struct Rows {
	at: *const f32,
	stride: usize,
}

impl Rows {
	/// Of block (`row`, `col`) of `x`, whose rows have `cols` numbers. `copy` is to stay where it is.
	#[inline(always)]
	fn new(x: &[f32], cols: usize, (row, col): (usize, usize), copy: &mut [f32; TILE * TILE]) -> Self {
		let (x, left) = (&x[row * TILE * cols..], col * TILE);
		if left + TILE <= cols && x.len() >= TILE * cols {
			return Self { at: x[left..].as_ptr(), stride: cols };
		}
		copy.fill(0.0);
		let width = TILE.min(cols - left);
		for (to, from) in copy.as_chunks_mut::<TILE>().0.iter_mut().zip(x.chunks_exact(cols)) {
			to[..width].copy_from_slice(&from[left..left + width]);
		}
		Self { at: copy.as_ptr(), stride: TILE }
	}

	/// Half `half` of a row.
	#[inline(always)]
	fn half(self, row: usize, half: usize) -> *const f32 {
		self.at.wrapping_add(row * self.stride + half * LANES)
	}
}

/// What blocks are quantized with: an instruction set's vectors of 16 numbers as bits.
///
/// # Safety
/// As [`Isa`]'s methods.
pub(crate) trait Bits: Isa {
	/// Zeros.
	unsafe fn zeros() -> Self::K;
	/// The greater ones of `most` and the bits of `x` without signs.
	unsafe fn greater(most: Self::K, x: Self::V) -> Self::K;
	/// Bits of `x * inverse + round`, where `inverse` is a power of two: with one rounding or two, since the product is exact unless it is too small to matter.
	unsafe fn rounded(x: Self::V, inverse: Self::V, round: Self::V) -> Self::K;
	/// Sums, modulo 2^32.
	unsafe fn plus(a: Self::K, b: Self::K) -> Self::K;
	/// The lowest bytes of four vectors, those of the first lowest.
	unsafe fn quads(rows: [Self::K; QUAD]) -> Self::K;
	/// Stores the lowest byte of each.
	unsafe fn store_bytes(at: *mut u8, bits: Self::K);
	/// The same bits.
	unsafe fn floats(bits: Self::K) -> Self::V;

	/// The bits as numbers.
	#[inline(always)]
	unsafe fn numbers(bits: Self::K) -> [u32; LANES] {
		let mut numbers = [0u32; LANES];
		// SAFETY: as for this method.
		unsafe { Self::store(numbers.as_mut_ptr().cast(), Self::floats(bits)) };
		numbers
	}
}

/// Greatest bits without signs in each block of row `row` of blocks from block `col` on, for as many blocks as `most` has, none of them beyond the last one.
/// Whole rows are read one after the other: what comes next is then in a cache.
///
/// # Safety
/// As [`Isa`]'s methods.
#[inline(always)]
unsafe fn greatest<I: Bits>(x: &[f32], cols: usize, row: usize, col: usize, most: &mut [I::K]) {
	// SAFETY: as for this function.
	unsafe {
		most.fill(I::zeros());
		for line in x[row * TILE * cols..].chunks_exact(cols).take(TILE) {
			for (block, most) in most.iter_mut().enumerate() {
				let first = (col + block) * TILE;
				*most = I::greater(*most, I::get(line, first));
				if first + LANES < cols {
					*most = I::greater(*most, I::get(line, first + LANES));
				}
			}
		}
	}
}

/// Quad `quad` of half of the columns: of each the four rows from row `4 quad` on. Adds them to `sums`.
///
/// # Safety
/// As [`Isa`]'s methods; there are 32 rows, of 32 numbers.
#[inline(always)]
unsafe fn of_columns<I: Bits>(rows: Rows, (quad, half): (usize, usize), inverse: I::V, round: I::V, sums: &mut I::K) -> I::K {
	// SAFETY: as for this function.
	unsafe {
		let rows = [
			I::rounded(I::load(rows.half(QUAD * quad, half)), inverse, round),
			I::rounded(I::load(rows.half(QUAD * quad + 1, half)), inverse, round),
			I::rounded(I::load(rows.half(QUAD * quad + 2, half)), inverse, round),
			I::rounded(I::load(rows.half(QUAD * quad + 3, half)), inverse, round),
		];
		*sums = I::plus(*sums, I::plus(I::plus(rows[0], rows[1]), I::plus(rows[2], rows[3])));
		I::quads(rows)
	}
}

kernels! {
	/// Quantizes blocks (`row`, 0) to (`row`, last) of `x`, whose rows have `cols` numbers, and packs each with its rows as lines, with its columns, or both.
	fn quantize<I: Bits>(side: Side, x: &[f32], cols: usize, row: usize, biased: bool, of_rows: Option<Places>, of_cols: Option<Places>) {
		/// Blocks whose numbers are in a cache together.
		const TOGETHER: usize = 16;
		/// Halves of the lines of a block.
		const HALVES: usize = TILE / LANES;
		// What rounds to integers when it is added; a bias is added with it.
		let round = if biased && side == Side::Left { ROUND + BIAS as f32 } else { ROUND };
		let numbers_of_zeros = [0.0; TILE];
		let (mut copy, mut most) = ([0.0; TILE * TILE], [I::zeros(); TOGETHER]);
		for col in 0..cols.div_ceil(TILE) {
			if col % TOGETHER == 0 {
				greatest::<I>(x, cols, row, col, &mut most[..TOGETHER.min(cols.div_ceil(TILE) - col)]);
			}
			let most = I::numbers(most[col % TOGETHER]).into_iter().fold(0, u32::max);
			let (rows, [scale, inverse]) = match Square::scales(most) {
				Some(scales) => (Rows::new(x, cols, (row, col), &mut copy), scales),
				None => (Rows { at: numbers_of_zeros.as_ptr(), stride: 0 }, [NAN, 0.0]),
			};
			let (inverse, added) = (I::splat(inverse), I::splat(round));
			if let Some(Places { at, stride }) = of_rows {
				let out = &mut *at.add(col * stride);
				out.scale = scale;
				match side {
					Side::Left => {
						for (row, bytes) in out.values.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
							for (half, bytes) in bytes.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
								I::store_bytes(bytes.as_mut_ptr(), I::rounded(I::load(rows.half(row, half)), inverse, added));
							}
						}
					}
					Side::Right => {
						for (row, start) in out.starts.iter_mut().enumerate() {
							let mut bytes = [0; TILE];
							for (half, bytes) in bytes.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
								I::store_bytes(bytes.as_mut_ptr(), I::rounded(I::load(rows.half(row, half)), inverse, added));
							}
							for (quad, bytes) in bytes.as_chunks::<QUAD>().0.iter().enumerate() {
								out.values[(quad * TILE + row) * QUAD..][..QUAD].copy_from_slice(bytes);
							}
							*start = -BIAS * bytes.iter().map(|&byte| i32::from(byte as i8)).sum::<i32>();
						}
					}
				}
			}
			if let Some(Places { at, stride }) = of_cols {
				let out = &mut *at.add(col * stride);
				out.scale = scale;
				let mut sums = [I::zeros(); HALVES];
				match side {
					Side::Left => {
						// Lanes 0 to 7 of vector c are the quads of line c then, the others those of line 16 + c.
						let mut lanes = [I::splat(0.0); LANES];
						for (place, lanes) in lanes.iter_mut().enumerate() {
							let at = (place % (TILE / QUAD), place / (TILE / QUAD));
							*lanes = I::floats(of_columns::<I>(rows, at, inverse, added, &mut sums[at.1]));
						}
						I::transpose(&mut lanes);
						let (first, second) = out.values.split_at_mut(LANES * TILE);
						for ((lanes, first), second) in lanes.into_iter().zip(first.as_chunks_mut::<TILE>().0).zip(second.as_chunks_mut::<TILE>().0) {
							let mut both = [0.0f32; LANES];
							I::store(both.as_mut_ptr(), lanes);
							first.as_mut_ptr().copy_from_nonoverlapping(both.as_ptr().cast(), TILE);
							second.as_mut_ptr().copy_from_nonoverlapping(both.as_ptr().add(LANES / 2).cast(), TILE);
						}
					}
					Side::Right => {
						for (quad, quads) in out.values.as_chunks_mut::<{ QUAD * TILE }>().0.iter_mut().enumerate() {
							for (half, sums) in sums.iter_mut().enumerate() {
								let quads_of_half = of_columns::<I>(rows, (quad, half), inverse, added, sums);
								// Blocks are aligned as vectors are.
								I::store(quads.as_mut_ptr().add(half * QUAD * LANES).cast(), I::floats(quads_of_half));
							}
						}
						for (sums, starts) in sums.into_iter().zip(out.starts.as_chunks_mut::<LANES>().0) {
							// Without what rounding has added.
							*starts = I::numbers(sums).map(|sum| -BIAS * sum.wrapping_sub((TILE as u32).wrapping_mul(ROUND.to_bits())) as i32);
						}
					}
				}
			}
		}
	}
}

/// Packs a row of blocks for products at `level`: see [`quantize`].
pub(crate) fn pack(level: Level, side: Side, x: &[f32], cols: usize, row: usize, [of_rows, of_cols]: [Option<Places>; 2]) {
	quantize(level, side, x, cols, row, level.has_vnni(), of_rows, of_cols);
}

/// Sums of products of 8-bit numbers in the 16 lanes of a vector, which are lines of the right operand.
///
/// # Safety
/// As [`Isa`]'s methods: a machine that has the instruction set, and valid pointers.
pub(crate) trait Sums: Copy {
	/// What the f32 chains are computed with.
	type F: Isa;
	/// 16 sums, i32.
	type S: Copy;
	/// Four numbers of each line on the right.
	type R: Copy;
	/// Four numbers of a line on the left.
	type L: Copy;
	/// Rows of a product tile.
	const ROWS: usize;

	/// What 16 sums start from, where the left operand has its bias.
	unsafe fn start(at: *const i32) -> Self::S;
	/// 64 numbers.
	unsafe fn right(at: *const u8) -> Self::R;
	/// 4 numbers.
	unsafe fn left(at: *const u8) -> Self::L;
	/// `sums` and the products.
	unsafe fn dot(sums: Self::S, right: Self::R, left: Self::L) -> Self::S;
	/// The sums, exact.
	unsafe fn floats(sums: Self::S) -> <Self::F as Isa>::V;
	/// [`columns`] of so many rows, from 1 on.
	unsafe fn rows(rows: usize, shape: Shape, a: (*const Packed, usize), b: *const Packed, c: *mut f32);
}

/// What the rows of a product have in common.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
	/// Columns.
	n: usize,
	/// Blocks of a chain.
	groups: usize,
	/// Distance between rows of the output.
	stride: usize,
	/// Whether to go on from what the output holds.
	load: bool,
}

/// `R` lines of `a` from its line `i` on times `16 P` of `b` from its line `j` on: `c = a b`, or `c + a b`, blocks ascending in every accumulator.
///
/// # Safety
/// As [`Sums`]; all lines are of one block each; `c` has `R` rows of `16 P` elements.
#[inline(always)]
unsafe fn tile<D: Sums, const R: usize, const P: usize>(
	shape: Shape,
	(a, i): (*const Packed, usize),
	(b, j): (*const Packed, usize),
	c: *mut f32,
) {
	let Shape { groups, stride, load, .. } = shape;
	// SAFETY: as for this function.
	unsafe {
		let mut acc = [[D::F::splat(0.0); P]; R];
		if load {
			for (r, row) in acc.iter_mut().enumerate() {
				for (p, acc) in row.iter_mut().enumerate() {
					*acc = D::F::load(c.add(r * stride + p * LANES));
				}
			}
		}
		for g in 0..groups {
			let (a, b) = (&*a.add(g), &*b.add(g));
			let mut start = [D::start(b.starts.as_ptr().add(j)); P];
			for (p, start) in start.iter_mut().enumerate().skip(1) {
				*start = D::start(b.starts.as_ptr().add(j + p * LANES));
			}
			let mut sums = [start; R];
			for quad in 0..TILE / QUAD {
				let from = b.values.as_ptr().add((quad * TILE + j) * QUAD);
				let mut right = [D::right(from); P];
				for (p, right) in right.iter_mut().enumerate().skip(1) {
					*right = D::right(from.add(p * LANES * QUAD));
				}
				for (r, row) in sums.iter_mut().enumerate() {
					let left = D::left(a.values.as_ptr().add((i + r) * TILE + quad * QUAD));
					for (sums, &right) in row.iter_mut().zip(&right) {
						*sums = D::dot(*sums, right, left);
					}
				}
			}
			let scale = D::F::splat(a.scale * b.scale);
			for (acc, sums) in acc.iter_mut().zip(sums) {
				for (acc, sums) in acc.iter_mut().zip(sums) {
					*acc = D::F::fma(scale, D::floats(sums), *acc);
				}
			}
		}
		for (r, row) in acc.iter().enumerate() {
			for (p, &acc) in row.iter().enumerate() {
				D::F::store(c.add(r * stride + p * LANES), acc);
			}
		}
	}
}

/// [`tile`] over all columns, 32 at a time as long as there are so many, then 16 by 16.
///
/// # Safety
/// As [`tile`]; `c` has `n` columns.
#[inline(always)]
pub(super) unsafe fn columns<D: Sums, const R: usize, const P: usize>(
	shape: Shape,
	a: (*const Packed, usize),
	b: *const Packed,
	c: *mut f32,
) {
	let Shape { n, groups, stride, load } = shape;
	let mut j = 0;
	// SAFETY: as for this function.
	unsafe {
		while j + P * LANES <= n {
			tile::<D, R, P>(shape, a, (b.add(j / TILE * groups), j % TILE), c.add(j));
			j += P * LANES;
		}
		while j < n {
			let (b, c, width) = ((b.add(j / TILE * groups), j % TILE), c.add(j), LANES.min(n - j));
			let mut edge = [[0.0f32; LANES]; R];
			if load {
				for (r, row) in edge.iter_mut().enumerate() {
					core::ptr::copy_nonoverlapping(c.add(r * stride), row.as_mut_ptr(), width);
				}
			}
			tile::<D, R, 1>(Shape { stride: LANES, ..shape }, a, b, edge.as_mut_ptr().cast());
			for (r, row) in edge.iter().enumerate() {
				core::ptr::copy_nonoverlapping(row.as_ptr(), c.add(r * stride), width);
			}
			j += LANES;
		}
	}
}

/// As [`multiply`].
///
/// # Safety
/// As [`Sums`], and as [`multiply`].
#[inline(always)]
unsafe fn product<D: Sums>(a: &[Packed], m: usize, groups: usize, lines: Range<usize>, b: &[Packed], c: Output, load: bool) {
	let end = lines.end;
	for first in lines.step_by(STRIP) {
		let shape = Shape { n: STRIP.min(end - first), groups, stride: c.stride, load };
		let mut row = 0;
		while row < m {
			// As even parts of a block's rows as there can be.
			let left = (TILE - row % TILE).min(m - row);
			let rows = left.div_ceil(left.div_ceil(D::ROWS));
			// SAFETY: inside the slices and the output.
			unsafe {
				let (a, b) = (a.as_ptr().add(row / TILE * groups), b.as_ptr().add(first / TILE * groups));
				D::rows(rows, shape, (a, row % TILE), b, c.at.add(row * c.stride + first));
			}
			row += rows;
		}
	}
}

/// Rows 0 to `m` and columns `lines` of a product whose chains are `groups` blocks: those of a band of 32 lines lie one after the other. `lines` begins at
/// a block.
///
/// `c` is the output's element (0, 0), and has all these rows and columns.
pub(crate) fn multiply(level: Level, a: &[Packed], (m, groups): (usize, usize), lines: Range<usize>, b: &[Packed], c: Output, load: bool) {
	assert!(m.div_ceil(TILE) * groups <= a.len(), "rows");
	assert!(lines.end.div_ceil(TILE) * groups <= b.len() && lines.start.is_multiple_of(TILE), "columns");
	#[cfg(target_arch = "x86_64")]
	#[target_feature(enable = "avx512f,avx512vnni,avx2,fma")]
	unsafe fn vnni(a: &[Packed], m: usize, groups: usize, lines: Range<usize>, b: &[Packed], c: Output, load: bool) {
		// SAFETY: compiled for AVX-512F with VNNI.
		unsafe { product::<super::avx512::Vnni>(a, m, groups, lines, b, c, load) }
	}
	#[cfg(target_arch = "x86_64")]
	#[target_feature(enable = "avx2,fma")]
	unsafe fn avx2(a: &[Packed], m: usize, groups: usize, lines: Range<usize>, b: &[Packed], c: Output, load: bool) {
		// SAFETY: compiled for AVX2 and FMA.
		unsafe { product::<super::avx2::Avx2>(a, m, groups, lines, b, c, load) }
	}
	match level {
		// SAFETY of all: an executor only holds levels that were detected on this machine, and AVX2 is part of AVX-512's.
		Level::Portable => unsafe { product::<super::portable::Portable>(a, m, groups, lines, b, c, load) },
		#[cfg(target_arch = "x86_64")]
		_ if level.has_vnni() => unsafe { vnni(a, m, groups, lines, b, c, load) },
		#[cfg(target_arch = "x86_64")]
		_ => unsafe { avx2(a, m, groups, lines, b, c, load) },
	}
}

/// Sums as plain Rust on arrays.
impl Sums for super::portable::Portable {
	type F = Self;
	type S = [i32; LANES];
	type R = [u8; QUAD * LANES];
	type L = [u8; QUAD];
	const ROWS: usize = 1;

	#[inline(always)]
	unsafe fn start(_: *const i32) -> Self::S {
		[0; LANES]
	}
	#[inline(always)]
	unsafe fn right(at: *const u8) -> Self::R {
		// SAFETY: 64 numbers are readable.
		unsafe { at.cast::<Self::R>().read() }
	}
	#[inline(always)]
	unsafe fn left(at: *const u8) -> Self::L {
		// SAFETY: 4 numbers are readable.
		unsafe { at.cast::<Self::L>().read() }
	}
	#[inline(always)]
	unsafe fn dot(mut sums: Self::S, right: Self::R, left: Self::L) -> Self::S {
		for (sum, right) in sums.iter_mut().zip(right.as_chunks::<QUAD>().0) {
			for (&right, left) in right.iter().zip(left) {
				*sum += i32::from(right as i8) * i32::from(left as i8);
			}
		}
		sums
	}
	#[inline(always)]
	unsafe fn floats(sums: Self::S) -> [f32; LANES] {
		sums.map(|sum| sum as f32)
	}
	#[inline(always)]
	unsafe fn rows(_one: usize, shape: Shape, a: (*const Packed, usize), b: *const Packed, c: *mut f32) {
		// SAFETY: as for this method.
		unsafe { columns::<Self, 1, 1>(shape, a, b, c) }
	}
}

impl Bits for super::portable::Portable {
	#[inline(always)]
	unsafe fn zeros() -> Self::K {
		[0; LANES]
	}
	#[inline(always)]
	unsafe fn greater(most: Self::K, x: Self::V) -> Self::K {
		core::array::from_fn(|lane| most[lane].max((x[lane].to_bits() & 0x7fff_ffff) as i32))
	}
	#[inline(always)]
	unsafe fn rounded(x: Self::V, inverse: Self::V, round: Self::V) -> Self::K {
		core::array::from_fn(|lane| (x[lane] * inverse[lane] + round[lane]).to_bits() as i32)
	}
	#[inline(always)]
	unsafe fn plus(a: Self::K, b: Self::K) -> Self::K {
		core::array::from_fn(|lane| a[lane].wrapping_add(b[lane]))
	}
	#[inline(always)]
	unsafe fn quads(rows: [Self::K; QUAD]) -> Self::K {
		core::array::from_fn(|lane| i32::from_le_bytes(rows.map(|row| row[lane] as u8)))
	}
	#[inline(always)]
	unsafe fn store_bytes(at: *mut u8, bits: Self::K) {
		// SAFETY: 16 bytes are writable.
		unsafe { at.cast::<[u8; LANES]>().write(bits.map(|bits| bits as u8)) };
	}
	#[inline(always)]
	unsafe fn floats(bits: Self::K) -> Self::V {
		bits.map(|bits| f32::from_bits(bits as u32))
	}
}
