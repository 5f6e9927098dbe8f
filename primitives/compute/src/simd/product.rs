//! Matrix products on register tiles: both operands are packed into panels as wide as a tile, which then streams through them.

use super::{kernels, Isa, Level, LANES};
use core::ops::Range;
use neuroshard_kernels::shape::MatDims;

/// Longest chain that a tile runs before it stores its accumulators: bounds the packed panels to the caches.
pub(crate) const KC: usize = 512;
/// Rows of the left operand that are packed at a time, a multiple of every tile height.
pub(crate) const MC: usize = 192;
/// Columns of the right operand that are packed at a time.
pub(crate) const NC: usize = 512;
/// Elements of a line of a packed panel, with some more behind them: panels that are whole pages apart would lie in one set of the first cache, and what is
/// stored beyond a panel's end must not hit the next.
pub(crate) const fn spaced(k: usize) -> usize {
	k + 2
}

/// Elements behind a packed block that packing may overwrite.
pub(crate) const SLACK: usize = LANES;

impl Level {
	/// Rows of a product tile.
	pub(crate) fn tile_rows(self) -> usize {
		match self {
			Level::Portable => super::portable::Portable::MR,
			#[cfg(target_arch = "x86_64")]
			Level::Avx2 => super::avx2::Avx2::MR,
			#[cfg(target_arch = "x86_64")]
			Level::Avx512 => super::avx512::Avx512::MR,
		}
	}
	/// Columns of a product tile.
	pub(crate) fn tile_cols(self) -> usize {
		match self {
			Level::Portable => super::portable::Portable::NR,
			#[cfg(target_arch = "x86_64")]
			Level::Avx2 => super::avx2::Avx2::NR,
			#[cfg(target_arch = "x86_64")]
			Level::Avx512 => super::avx512::Avx512::NR,
		}
	}
	/// Rows of a product up to which packed weights are read once for all of them.
	pub(crate) fn few(self) -> usize {
		match self {
			Level::Portable => super::portable::Portable::FEW,
			#[cfg(target_arch = "x86_64")]
			Level::Avx2 => super::avx2::Avx2::FEW,
			#[cfg(target_arch = "x86_64")]
			Level::Avx512 => super::avx512::Avx512::FEW,
		}
	}
}

/// An operand as lines (rows of the left one, columns of the right one) of `k` elements.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
	/// Element 0 of line 0.
	pub(crate) at: *const f32,
	/// Distance between lines, or between the elements of a line.
	pub(crate) stride: usize,
	/// Whether the elements of a line are neighbours; otherwise the lines are.
	pub(crate) along_k: bool,
	/// Elements that may be read from `at` on.
	pub(crate) len: usize,
}

// SAFETY: operands are only read.
unsafe impl Sync for Operand {}

impl Operand {
	/// An operand inside `data`, from its element `first` on.
	pub(crate) fn new(data: &[f32], first: usize, stride: usize, along_k: bool) -> Self {
		let data = &data[first..];
		Self { at: data.as_ptr(), stride, along_k, len: data.len() }
	}

	/// The operand whose line 0 is `line` and whose element 0 is `k`.
	///
	/// # Safety
	/// The element exists.
	pub(crate) unsafe fn from(self, line: usize, k: usize) -> Self {
		let offset = if self.along_k { line * self.stride + k } else { k * self.stride + line };
		debug_assert!(offset <= self.len);
		// SAFETY: inside the allocation, as the caller states.
		Self { at: unsafe { self.at.add(offset) }, len: self.len - offset, ..self }
	}
}

/// Packs `lines` lines of `k` elements into panels of `width` lines: element `(k, line)` of a panel goes to `k * width + line`.
///
/// What lines beyond the last hold, up to the panel's end, is arbitrary: the outputs that they lead to are never stored.
///
/// # Safety
/// As [`Isa`]'s methods; `dst` has room for whole panels and [`SLACK`] elements.
#[inline(always)]
pub(super) unsafe fn pack<I: Isa>(op: Operand, lines: usize, k: usize, width: usize, dst: *mut f32) {
	for (panel, first) in (0..lines).step_by(width).enumerate() {
		let count = width.min(lines - first);
		// SAFETY: the panel lies inside `dst`, its lines inside the operand.
		unsafe {
			let (op, dst) = (op.from(first, 0), dst.add(panel * width * k));
			if op.along_k {
				pack_transposed::<I>(op, count, k, width, dst);
			} else {
				pack_copied::<I>(op, count, k, width, dst);
			}
		}
	}
}

/// As [`pack`], into panels [`spaced`] apart. Lines that are neighbours in memory are read some elements of all of them at a time, as they lie there.
///
/// # Safety
/// As [`pack`], for panels that are so much larger.
#[inline(always)]
unsafe fn pack_spaced<I: Isa>(op: Operand, lines: usize, k: usize, width: usize, dst: *mut f32) {
	/// Elements of a line that are copied at a time.
	const ELEMENTS: usize = 8;
	let elements = if op.along_k { k } else { ELEMENTS };
	for kk in (0..k).step_by(elements) {
		let k_here = elements.min(k - kk);
		for (panel, first) in (0..lines).step_by(width).enumerate() {
			let count = width.min(lines - first);
			// SAFETY: the panel lies inside `dst`, its lines inside the operand; what is stored beyond a panel's last line is in the space behind it.
			unsafe {
				let (op, dst) = (op.from(first, kk), dst.add(panel * width * spaced(k) + kk * width));
				if op.along_k {
					pack_transposed::<I>(op, count, k_here, width, dst);
				} else {
					pack_copied::<I>(op, count, k_here, width, dst);
				}
			}
		}
	}
}

/// One panel of lines that are neighbours in memory.
///
/// # Safety
/// As [`pack`].
#[inline(always)]
unsafe fn pack_copied<I: Isa>(op: Operand, count: usize, k: usize, width: usize, dst: *mut f32) {
	/// Elements of a line that are asked for before they are read.
	const AHEAD: usize = 8;
	// SAFETY: reads `count` lines of `k` elements; a store may reach beyond its line, into what is written later or the slack.
	unsafe {
		for kk in 0..k {
			for line in (0..count).step_by(LANES) {
				let offset = kk * op.stride + line;
				let (src, dst) = (op.at.add(offset), dst.add(kk * width + line));
				I::prefetch(src.wrapping_add(AHEAD * op.stride));
				let readable = core::slice::from_raw_parts(src, LANES.min(op.len - offset));
				I::store(dst, I::get(readable, 0));
			}
		}
	}
}

/// One panel of lines whose elements are neighbours in memory: 16x16 blocks are transposed in registers.
///
/// # Safety
/// As [`pack`].
#[inline(always)]
unsafe fn pack_transposed<I: Isa>(op: Operand, count: usize, k: usize, width: usize, dst: *mut f32) {
	// SAFETY: reads `count` lines of `k` elements; a store may reach beyond its line, into what is written later or the slack.
	unsafe {
		// All groups of 16 lines of a block of 16 elements go before the next block, so that an overlapping store never hits finished data.
		for kk in (0..k).step_by(LANES) {
			let depth = LANES.min(k - kk);
			for line in (0..width).step_by(LANES).take_while(|&line| line < count) {
				let (src, dst) = (op.at.add(line * op.stride + kk), dst.add(kk * width + line));
				let (lines, all) = (LANES.min(count - line), LANES.min(width - line));
				// Whole blocks, whose size is known to the compiler, stay in registers.
				if (lines, depth) == (all, LANES) {
					pack_square::<I>((src, op.stride), (all, LANES), width, dst);
				} else {
					pack_square::<I>((src, op.stride), (lines, depth), width, dst);
				}
			}
		}
	}
}

/// `lines` lines of `depth` elements, both at most 16. The same elements of the next panel's lines come into the cache.
///
/// # Safety
/// As [`pack`].
#[inline(always)]
unsafe fn pack_square<I: Isa>((src, stride): (*const f32, usize), (lines, depth): (usize, usize), width: usize, dst: *mut f32) {
	// SAFETY: as for this function.
	unsafe {
		let mut block = [I::splat(0.0); LANES];
		for (l, row) in block.iter_mut().enumerate().take(lines) {
			I::prefetch(src.wrapping_add((width + l) * stride));
			*row = I::get(core::slice::from_raw_parts(src.add(l * stride), depth), 0);
		}
		I::transpose(&mut block);
		for (e, &column) in block.iter().enumerate().take(depth) {
			I::store(dst.add(e * width), column);
		}
	}
}

/// `MR x 16 NV` outputs: `c = a b`, or `c + a b`, over packed panels of `k` elements, k ascending in every accumulator.
///
/// Meanwhile the outputs at `next`, which are as far apart, come into the cache, a line at a time: all at once, they would hold up the operands.
///
/// # Safety
/// As [`Isa`]'s methods; `c` has `MR` rows of `16 NV` elements, `ldc` apart. `next` may be anywhere.
#[inline(always)]
pub(super) unsafe fn tile<I: Isa, const MR: usize, const NV: usize>(
	k: usize,
	mut a: *const f32,
	mut b: *const f32,
	c: *mut f32,
	ldc: usize,
	load: bool,
	mut next: *const f32,
) {
	/// Elements of the chains between two lines that are asked for.
	const BETWEEN: usize = 8;
	// SAFETY: as for this function.
	unsafe {
		let mut acc = [[I::splat(0.0); NV]; MR];
		if load {
			for (r, row) in acc.iter_mut().enumerate() {
				for (v, acc) in row.iter_mut().enumerate() {
					*acc = I::load(c.add(r * ldc + v * LANES));
				}
			}
		}
		let rows = MR.min(k / (NV * BETWEEN));
		for _ in 0..rows {
			for v in 0..NV {
				I::prefetch(next.wrapping_add(v * LANES));
				for _ in 0..BETWEEN {
					step::<I, MR, NV>(&mut acc, &mut a, &mut b);
				}
			}
			next = next.wrapping_add(ldc);
		}
		for _ in rows * NV * BETWEEN..k {
			step::<I, MR, NV>(&mut acc, &mut a, &mut b);
		}
		for (r, row) in acc.iter().enumerate() {
			for (v, &acc) in row.iter().enumerate() {
				I::store(c.add(r * ldc + v * LANES), acc);
			}
		}
	}
}

/// One element of each chain of a [`tile`].
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn step<I: Isa, const MR: usize, const NV: usize>(acc: &mut [[I::V; NV]; MR], a: &mut *const f32, b: &mut *const f32) {
	// SAFETY: as for this function.
	unsafe {
		let mut right = [I::splat(0.0); NV];
		for (v, right) in right.iter_mut().enumerate() {
			*right = I::load(b.add(v * LANES));
		}
		for (r, row) in acc.iter_mut().enumerate() {
			let left = I::splat(*a.add(r));
			for (acc, &right) in row.iter_mut().zip(&right) {
				*acc = I::fma(left, right, *acc);
			}
		}
		*a = a.add(MR);
		*b = b.add(NV * LANES);
	}
}

/// A [`tile`] at an edge: only `rows x cols` of it exist in `c`.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn edge_tile<I: Isa>((rows, cols, k): (usize, usize, usize), a: *const f32, b: *const f32, c: *mut f32, ldc: usize, load: bool) {
	let mut buffer = [0.0f32; 12 * 32];
	// SAFETY: the buffer holds the largest tile; `c` has `rows` rows of `cols` elements.
	unsafe {
		if load {
			for r in 0..rows {
				core::ptr::copy_nonoverlapping(c.add(r * ldc), buffer.as_mut_ptr().add(r * I::NR), cols);
			}
		}
		let at = buffer.as_mut_ptr();
		I::tile(k, a, b, at, I::NR, load, at);
		for r in 0..rows {
			core::ptr::copy_nonoverlapping(buffer.as_ptr().add(r * I::NR), c.add(r * ldc), cols);
		}
	}
}

/// All tiles of packed left panels (`m` rows) and packed right panels (`n` columns), over `k` elements.
///
/// Panels were packed with so many elements as stand beside them, of which the pointers show the first that is used.
///
/// # Safety
/// As [`Isa`]'s methods; `c` has `m` rows of `n` elements, `ldc` apart.
#[inline(always)]
pub(super) unsafe fn panels<I: Isa>(
	(m, n, k): (usize, usize, usize),
	(a, lines): (*const f32, usize),
	(b, depth): (*const f32, usize),
	c: *mut f32,
	ldc: usize,
	load: bool,
) {
	for j in (0..n).step_by(I::NR) {
		for i in (0..m).step_by(I::MR) {
			let (rows, cols) = (I::MR.min(m - i), I::NR.min(n - j));
			// SAFETY: panels and outputs exist.
			unsafe {
				let (a, b, c, top) = (a.add(i * lines), b.add(j * depth), c.add(i * ldc + j), c.add(j));
				if rows == I::MR && cols == I::NR {
					let next = if i + I::MR < m { c.wrapping_add(I::MR * ldc) } else { top.wrapping_add(I::NR) };
					I::tile(k, a, b, c, ldc, load, next);
				} else {
					edge_tile::<I>((rows, cols, k), a, b, c, ldc, load);
				}
			}
		}
	}
}

/// Output of a product: rows of `stride` elements.
#[derive(Clone, Copy)]
pub(crate) struct Output {
	/// Element (0, 0).
	pub(crate) at: *mut f32,
	/// Distance between rows.
	pub(crate) stride: usize,
}

// SAFETY: threads write disjoint parts.
unsafe impl Sync for Output {}

impl Output {
	/// The output that begins `elements` further on.
	///
	/// # Safety
	/// That is inside the allocation or at its end.
	pub(crate) unsafe fn from(self, elements: usize) -> Self {
		// SAFETY: as the caller states.
		Self { at: unsafe { self.at.add(elements) }, ..self }
	}
}

kernels! {
	/// Packs lines `lines` of a right operand, elements `k`, into panels that are [`spaced`] apart, at the beginning of `dst`.
	///
	/// The lines and elements exist and `dst` has room for whole panels and [`SLACK`].
	fn pack_block<I>(op: Operand, lines: Range<usize>, k: Range<usize>, dst: &mut [f32]) {
		debug_assert!(dst.len() >= lines.len().next_multiple_of(I::NR) * spaced(k.len()));
		pack_spaced::<I>(op.from(lines.start, k.start), lines.len(), k.len(), I::NR, dst.as_mut_ptr());
	}

	/// Packs lines `lines` of `op`, elements `k`, into panels of `width`, at the beginning of `dst`.
	///
	/// The lines and elements exist and `dst` has room for whole panels and [`SLACK`].
	fn pack_lines<I>(op: Operand, lines: Range<usize>, k: Range<usize>, width: usize, dst: &mut [f32]) {
		debug_assert!(dst.len() >= lines.len().next_multiple_of(width) * k.len());
		pack::<I>(op.from(lines.start, k.start), lines.len(), k.len(), width, dst.as_mut_ptr());
	}

	/// Multiplies rows `rows` of `a`, packed here block by block into `buffer`, with columns packed in `b`: `n` and `k` of `dims`, from the beginning of
	/// `a`, and of the panels of `b`, which have `depth` elements.
	///
	/// `c` is the output's element of row 0 of `a`. `buffer` has room for `MC * spaced(k) + SLACK` elements.
	fn multiply_rows<I>(a: Operand, rows: Range<usize>, dims: MatDims, b: (&[f32], usize), c: Output, load: bool, buffer: &mut [f32]) {
		let (MatDims { n, k, .. }, (b, depth)) = (dims, b);
		debug_assert!(b.len() >= (n.next_multiple_of(I::NR) - I::NR) * depth + k * I::NR && buffer.len() >= MC * spaced(k) + SLACK);
		for i in rows.clone().step_by(MC) {
			let m = MC.min(rows.end - i);
			pack_spaced::<I>(a.from(i, 0), m, k, I::MR, buffer.as_mut_ptr());
			panels::<I>((m, n, k), (buffer.as_ptr(), spaced(k)), (b.as_ptr(), depth), c.at.add(i * c.stride), c.stride, load);
		}
	}
}
