//! Products of 8-bit numbers: sums of a group's products are integers, exact in any order, and each group is one step of an f32 chain.
//!
//! A vector of sums has the 16 columns of a panel as its lanes. Of a group, it takes four elements at a time: those of the weights of all columns
//! lie side by side, those of a row of activations are repeated in every lane.

use super::{kernels, portable::Portable, product::Output, Isa, Level, LANES};
use core::ops::Range;
use neuroshard_kernels::{scalar::Group, shape::GROUP};

/// Elements of a chain that are multiplied at a time.
pub(super) const QUAD: usize = 4;
/// What is added to weights, so that they are not negative.
pub(super) const BIAS: i32 = 128;

/// A group of each of the 16 columns of a panel of weights.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Block {
	/// Values plus 128: of every column the first four, then of every column the next four.
	pub(super) values: [u8; LANES * GROUP],
	/// One for each column.
	pub(super) scales: [f32; LANES],
}

impl Block {
	/// Groups of zeros.
	pub(crate) const ZERO: Self = Self { values: [BIAS as u8; LANES * GROUP], scales: [0.0; LANES] };
}

/// A group of a row of activations.
#[derive(Clone, Copy)]
pub(crate) struct Activations {
	group: Group,
	/// -128 times the sum of the values: what the bias of the weights adds to every sum of products, taken away beforehand.
	start: i32,
}

impl Activations {
	/// A group of zeros.
	pub(crate) const ZERO: Self = Self { group: Group { values: [0; GROUP], scale: 0.0 }, start: 0 };
}

/// Sums of products of 8-bit numbers in the 16 lanes of a vector.
///
/// # Safety
/// As [`Isa`]'s methods: a machine that has the instruction set, and valid pointers.
pub(crate) trait Dots: Copy {
	/// What the f32 chains are computed with.
	type F: Isa;
	/// 16 sums, i32.
	type S: Copy;
	/// Four weights of each column.
	type W: Copy;
	/// Four activations.
	type A: Copy;
	/// Rows that share what is read of the weights.
	const ROWS: usize;

	/// Sums that `start` goes into where weights are multiplied with their bias.
	unsafe fn start(start: i32) -> Self::S;
	/// 64 weights with their bias.
	unsafe fn weights(at: *const u8) -> Self::W;
	/// 4 activations.
	unsafe fn activations(at: *const i8) -> Self::A;
	/// `sums` and the products.
	unsafe fn dot(sums: Self::S, weights: Self::W, activations: Self::A) -> Self::S;
	/// The sums, exact.
	unsafe fn floats(sums: Self::S) -> <Self::F as Isa>::V;
	/// [`panels`] of `rows` rows, from 1 on.
	unsafe fn rows(rows: usize, shape: Shape, a: *const Activations, b: *const Block, c: *mut f32);
}

/// What the rows of a product have in common.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
	/// Columns.
	n: usize,
	/// Groups of a row.
	groups: usize,
	/// Distance between rows of the output.
	stride: usize,
	/// Whether to go on from what the output holds.
	load: bool,
}

/// `R` rows of `a` times `P` panels: `c = a b`, or `c + a b`, groups ascending in every accumulator.
///
/// # Safety
/// As [`Dots`]; `a` has `R` rows and `b` has `P` panels of `groups` groups; `c` has `R` rows of `16 P` elements.
#[inline(always)]
unsafe fn tile<D: Dots, const R: usize, const P: usize>(shape: Shape, a: *const Activations, b: *const Block, c: *mut f32) {
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
			let mut sums = [[D::start(0); P]; R];
			for (r, row) in sums.iter_mut().enumerate() {
				*row = [D::start((*a.add(r * groups + g)).start); P];
			}
			for quad in 0..GROUP / QUAD {
				let mut weights = [D::weights((*b.add(g)).values.as_ptr().add(quad * QUAD * LANES)); P];
				for (p, weights) in weights.iter_mut().enumerate().skip(1) {
					*weights = D::weights((*b.add(p * groups + g)).values.as_ptr().add(quad * QUAD * LANES));
				}
				for (r, row) in sums.iter_mut().enumerate() {
					let activations = D::activations((*a.add(r * groups + g)).group.values.as_ptr().add(quad * QUAD));
					for (sums, &weights) in row.iter_mut().zip(&weights) {
						*sums = D::dot(*sums, weights, activations);
					}
				}
			}
			for p in 0..P {
				let scales = D::F::load((*b.add(p * groups + g)).scales.as_ptr());
				for (r, (acc, sums)) in acc.iter_mut().zip(&sums).enumerate() {
					let scale = D::F::splat((*a.add(r * groups + g)).group.scale);
					acc[p] = D::F::fma(D::F::mul(scale, scales), D::floats(sums[p]), acc[p]);
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

/// [`tile`] over all columns, `P` panels at a time as long as there are so many whole ones, then one by one.
///
/// # Safety
/// As [`tile`]; `c` has `n` columns.
#[inline(always)]
pub(super) unsafe fn panels<D: Dots, const R: usize, const P: usize>(shape: Shape, a: *const Activations, b: *const Block, c: *mut f32) {
	let Shape { n, groups, stride, load } = shape;
	let mut j = 0;
	// SAFETY: as for this function.
	unsafe {
		while j + P * LANES <= n {
			tile::<D, R, P>(shape, a, b.add(j / LANES * groups), c.add(j));
			j += P * LANES;
		}
		while j < n {
			let (b, c, width) = (b.add(j / LANES * groups), c.add(j), LANES.min(n - j));
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

/// Columns `lines` of the product of `m` rows of `a` with weights packed in `b`. `lines` begins at a panel.
///
/// Some columns at a time are multiplied with all rows while their weights are in a cache.
///
/// # Safety
/// As [`Dots`]; the slices have these groups, and `c` these rows and columns.
#[inline(always)]
unsafe fn product<D: Dots>(a: &[Activations], m: usize, groups: usize, lines: Range<usize>, b: &[Block], c: Output, load: bool) {
	/// Columns at a time, a multiple of every tile's.
	const STRIP: usize = 64;
	let end = lines.end;
	for first in lines.step_by(STRIP) {
		let shape = Shape { n: STRIP.min(end - first), groups, stride: c.stride, load };
		for i in (0..m).step_by(D::ROWS) {
			// SAFETY: inside the slices and the output.
			unsafe {
				let (a, b) = (a.as_ptr().add(i * groups), b.as_ptr().add(first / LANES * groups));
				D::rows(D::ROWS.min(m - i), shape, a, b, c.at.add(i * c.stride + first));
			}
		}
	}
}

/// Columns `lines` of the product of all rows of `a`, which have `groups` groups, with weights packed in `b`. `lines` begins at a panel.
///
/// `c` is the output's element (0, 0), and has all these rows and columns.
pub(crate) fn multiply(level: Level, a: &[Activations], groups: usize, lines: Range<usize>, b: &[Block], c: Output, load: bool) {
	let m = a.len().checked_div(groups).unwrap_or(0);
	assert!(lines.end.div_ceil(LANES) * groups <= b.len() && lines.start.is_multiple_of(LANES), "weights");
	#[cfg(target_arch = "x86_64")]
	#[target_feature(enable = "avx512f,avx512vnni,avx2,fma")]
	unsafe fn vnni(a: &[Activations], m: usize, groups: usize, lines: Range<usize>, b: &[Block], c: Output, load: bool) {
		// SAFETY: compiled for AVX-512F with VNNI.
		unsafe { product::<super::avx512::Vnni>(a, m, groups, lines, b, c, load) }
	}
	#[cfg(target_arch = "x86_64")]
	#[target_feature(enable = "avx2,fma")]
	unsafe fn avx2(a: &[Activations], m: usize, groups: usize, lines: Range<usize>, b: &[Block], c: Output, load: bool) {
		// SAFETY: compiled for AVX2 and FMA.
		unsafe { product::<super::avx2::Avx2>(a, m, groups, lines, b, c, load) }
	}
	match level {
		// SAFETY: needs no instruction set.
		Level::Portable => unsafe { product::<Portable>(a, m, groups, lines, b, c, load) },
		// SAFETY: just detected.
		#[cfg(target_arch = "x86_64")]
		_ if level.has_vnni() => unsafe { vnni(a, m, groups, lines, b, c, load) },
		// SAFETY: an executor only holds levels that were detected on this machine, and AVX2 is part of AVX-512's.
		#[cfg(target_arch = "x86_64")]
		_ => unsafe { avx2(a, m, groups, lines, b, c, load) },
	}
}

kernels! {
	/// Quantizes rows of `k` elements, group by group.
	#[allow(unused_unsafe, reason = "what is written for one group is compiled for each instruction set as it is")]
	fn quantize<I>(x: &[f32], k: usize, out: &mut [Activations]) {
		for (row, out) in x.chunks_exact(k).zip(out.chunks_exact_mut(k.div_ceil(GROUP))) {
			let (whole, rest) = row.as_chunks::<GROUP>();
			for (numbers, out) in whole.iter().zip(&mut *out) {
				*out = activations(Group::whole(numbers));
			}
			if let (false, Some(last)) = (rest.is_empty(), out.last_mut()) {
				*last = activations(Group::of(rest));
			}
		}
	}

	/// Quantizes up to 16 rows of `k` weights as the columns of a panel, which holds zeros so far.
	#[allow(unused_unsafe, reason = "what is written for one group is compiled for each instruction set as it is")]
	fn pack<I>(weights: &[f32], k: usize, panel: &mut [Block]) {
		for (lane, row) in weights.chunks_exact(k).enumerate() {
			for (numbers, block) in row.chunks(GROUP).zip(&mut *panel) {
				let group = match numbers.as_array() {
					Some(numbers) => Group::whole(numbers),
					None => Group::of(numbers),
				};
				block.scales[lane] = group.scale;
				for (line, quad) in block.values.as_chunks_mut::<{ QUAD * LANES }>().0.iter_mut().zip(group.values.as_chunks::<QUAD>().0) {
					for (to, &value) in line[lane * QUAD..].iter_mut().zip(quad) {
						*to = (i32::from(value) + BIAS) as u8;
					}
				}
			}
		}
	}
}

#[inline(always)]
fn activations(group: Group) -> Activations {
	Activations { start: -BIAS * sum(&group.values), group }
}

/// Sum of a group's values: of eight at a time in 64 bits, since compilers take a loop of so few apart into single numbers.
#[inline(always)]
fn sum(values: &[i8; GROUP]) -> i32 {
	/// The lower of every two bytes.
	const LOWER: u64 = 0x00ff_00ff_00ff_00ff;
	let mut sums = 0;
	for eight in values.as_chunks::<8>().0 {
		let biased = u64::from_le_bytes(eight.map(|value| value as u8)) ^ 0x8080_8080_8080_8080;
		sums += (biased & LOWER) + (biased >> 8 & LOWER);
	}
	// Four sums of 16 bits, each of eight numbers with their bias; the upper 16 bits of the product are the sum of them.
	(sums.wrapping_mul(0x0001_0001_0001_0001) >> 48) as i32 - BIAS * GROUP as i32
}

/// Sums as plain Rust on arrays.
impl Dots for Portable {
	type F = Self;
	type S = [i32; LANES];
	type W = [u8; QUAD * LANES];
	type A = [i8; QUAD];
	const ROWS: usize = 1;

	#[inline(always)]
	unsafe fn start(start: i32) -> Self::S {
		[start; LANES]
	}
	#[inline(always)]
	unsafe fn weights(at: *const u8) -> Self::W {
		// SAFETY: 64 weights are readable.
		unsafe { at.cast::<Self::W>().read() }
	}
	#[inline(always)]
	unsafe fn activations(at: *const i8) -> Self::A {
		// SAFETY: 4 activations are readable.
		unsafe { at.cast::<Self::A>().read() }
	}
	#[inline(always)]
	unsafe fn dot(mut sums: Self::S, weights: Self::W, activations: Self::A) -> Self::S {
		for (sum, weights) in sums.iter_mut().zip(weights.as_chunks::<QUAD>().0) {
			for (&weight, activation) in weights.iter().zip(activations) {
				*sum += i32::from(weight) * i32::from(activation);
			}
		}
		sums
	}
	#[inline(always)]
	unsafe fn floats(sums: Self::S) -> [f32; LANES] {
		sums.map(|sum| sum as f32)
	}
	#[inline(always)]
	unsafe fn rows(_one: usize, shape: Shape, a: *const Activations, b: *const Block, c: *mut f32) {
		// SAFETY: as for this method.
		unsafe { panels::<Self, 1, 1>(shape, a, b, c) }
	}
}
