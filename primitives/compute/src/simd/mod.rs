//! Operators on vectors of 16 f32: one generic source, compiled for each instruction set.
//!
//! A vector holds 16 neighbouring elements, so a reduction's 16 lanes are one register and every element sees the operations
//! of the scalar reference in the same order.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

pub(crate) mod attention;
pub(crate) mod columns;
pub(crate) mod distances;
pub(crate) mod elementwise;
pub(crate) mod few;
pub(crate) mod int8;
pub(crate) mod int8_blocks;
pub(crate) mod paged;
pub(crate) mod product;
pub(crate) mod rows;
pub(crate) mod unfused;

use neuroshard_kernels::{math, scalar::Lanes};

/// Lanes of a vector.
pub(crate) const LANES: usize = 16;

/// An instruction set that the operators are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
	/// Plain Rust on arrays, with the machine's fused multiply-add if every machine of this target has one, else the emulation.
	Portable,
	/// AVX2 and FMA, 6x16 product tiles.
	#[cfg(target_arch = "x86_64")]
	Avx2,
	/// AVX-512F, 12x32 product tiles. Products of 8-bit numbers use VNNI where the machine has it, else AVX2.
	#[cfg(target_arch = "x86_64")]
	Avx512,
}

impl Level {
	/// The levels that this machine can run, the fastest last.
	pub fn available() -> Vec<Level> {
		#[allow(unused_mut)]
		let mut levels = vec![Level::Portable];
		#[cfg(target_arch = "x86_64")]
		{
			if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
				levels.push(Level::Avx2);
				if is_x86_feature_detected!("avx512f") {
					levels.push(Level::Avx512);
				}
			}
		}
		levels
	}

	/// Whether products of 8-bit numbers use VNNI: their unsigned operand has a bias then.
	fn has_vnni(self) -> bool {
		#[cfg(target_arch = "x86_64")]
		return self == Self::Avx512 && is_x86_feature_detected!("avx512vnni");
		#[cfg(not(target_arch = "x86_64"))]
		false
	}
}

/// Operations on one vector. All are correctly rounded IEEE-754 operations, lane by lane.
///
/// # Safety
/// Every method must run on a machine that has the instruction set, inside a function compiled for it. Pointers are
/// valid for 16 elements; no alignment is needed.
pub(crate) trait Isa: Copy {
	/// 16 f32.
	type V: Copy;
	/// 16 i32, order keys.
	type K: Copy;
	/// Rows of a product tile.
	const MR: usize;
	/// Columns of a product tile, a multiple of 16.
	const NR: usize;
	/// Most rows of [`Self::few`].
	const FEW: usize;

	unsafe fn load(p: *const f32) -> Self::V;
	unsafe fn store(p: *mut f32, v: Self::V);
	unsafe fn splat(x: f32) -> Self::V;
	unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
	unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
	unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
	unsafe fn div(a: Self::V, b: Self::V) -> Self::V;
	unsafe fn sqrt(a: Self::V) -> Self::V;
	/// `a * b + c`.
	unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
	/// `-(a * b) + c`.
	unsafe fn fnma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
	/// As [`neuroshard_kernels::math::exp`], given `n` and the rounded sum that it was taken from, the polynomial's value `y` and the argument.
	unsafe fn exp_finish(x: Self::V, shifted: Self::V, y: Self::V) -> Self::V;
	/// `x`, or the upper bound of `exp` where it is greater.
	unsafe fn exp_clamp(x: Self::V) -> Self::V;
	unsafe fn key(a: Self::V) -> Self::K;
	unsafe fn from_key(a: Self::K) -> Self::V;
	unsafe fn min_key(a: Self::K, b: Self::K) -> Self::K;
	unsafe fn max_key(a: Self::K, b: Self::K) -> Self::K;
	/// Transposes 16 vectors as a 16x16 matrix.
	unsafe fn transpose(rows: &mut [Self::V; 16]);
	/// One product tile; see [`product::tile`].
	unsafe fn tile(k: usize, a: *const f32, b: *const f32, c: *mut f32, ldc: usize, load: bool, next: *const f32);
	/// [`few::columns`] of `m` rows, from 1 to [`Self::FEW`].
	unsafe fn few(m: usize, nk: (usize, usize), a: *const f32, b: *const f32, c: *mut f32, ldc: usize, load: bool);

	/// Asks for the line of the cache with `p`, which may be anywhere.
	#[inline(always)]
	unsafe fn prefetch(_p: *const f32) {}

	/// 16 elements of `s` from `i` on; those beyond its end are `fill`.
	#[inline(always)]
	unsafe fn get_or(s: &[f32], i: usize, fill: f32) -> Self::V {
		if i + LANES <= s.len() {
			// SAFETY: 16 elements follow.
			unsafe { Self::load(s.as_ptr().add(i)) }
		} else {
			let mut padded = [fill; LANES];
			padded[..s.len() - i].copy_from_slice(&s[i..]);
			// SAFETY: the array has 16 elements.
			unsafe { Self::load(padded.as_ptr()) }
		}
	}

	/// 16 elements of `s` from `i` on; those beyond its end are +0.
	#[inline(always)]
	unsafe fn get(s: &[f32], i: usize) -> Self::V {
		// SAFETY: as for this method.
		unsafe { Self::get_or(s, i, 0.0) }
	}

	/// Stores to `s` from `i` on; lanes beyond its end are dropped.
	#[inline(always)]
	unsafe fn put(s: &mut [f32], i: usize, v: Self::V) {
		if i + LANES <= s.len() {
			// SAFETY: 16 elements follow.
			unsafe { Self::store(s.as_mut_ptr().add(i), v) }
		} else {
			let mut padded = [0.0; LANES];
			// SAFETY: the array has 16 elements.
			unsafe { Self::store(padded.as_mut_ptr(), v) };
			let len = s.len() - i;
			s[i..].copy_from_slice(&padded[..len]);
		}
	}

	/// As [`neuroshard_kernels::math::exp`].
	#[inline(always)]
	unsafe fn exp(x: Self::V) -> Self::V {
		// SAFETY: as for this method.
		unsafe {
			let t = Self::exp_clamp(x);
			let round = Self::splat(math::ROUND);
			let shifted = Self::fma(t, Self::splat(math::LOG2_E), round);
			let n = Self::sub(shifted, round);
			let r = Self::fnma(n, Self::splat(math::LN2_HI), t);
			let r = Self::fnma(n, Self::splat(math::LN2_LO), r);
			let mut q = Self::splat(math::EXP_POLY[0]);
			for &c in &math::EXP_POLY[1..] {
				q = Self::fma(q, r, Self::splat(c));
			}
			let y = Self::add(Self::splat(1.0), Self::fma(Self::mul(r, r), q, r));
			Self::exp_finish(x, shifted, y)
		}
	}

	/// As [`neuroshard_kernels::math::sigmoid`].
	#[inline(always)]
	unsafe fn sigmoid(x: Self::V) -> Self::V {
		// SAFETY: as for this method.
		unsafe {
			let one = Self::splat(1.0);
			Self::div(one, Self::add(one, Self::exp(Self::sub(Self::splat(0.0), x))))
		}
	}

	/// Sum of the lanes in the order of rule 9.
	#[inline(always)]
	unsafe fn sum(v: Self::V) -> f32 {
		let mut lanes = Lanes::default();
		// SAFETY: the array has 16 elements.
		unsafe { Self::store(lanes.0.as_mut_ptr(), v) };
		lanes.finish()
	}

	/// Maximum of the lanes in the total order.
	#[inline(always)]
	unsafe fn max(k: Self::K) -> f32 {
		let mut lanes = [0.0; LANES];
		// SAFETY: the array has 16 elements.
		unsafe { Self::store(lanes.as_mut_ptr(), Self::from_key(k)) };
		lanes.into_iter().reduce(neuroshard_kernels::num::max).unwrap_or(f32::NEG_INFINITY)
	}
}

/// Declares operators: the generic body is compiled once for each instruction set, and the function dispatches on its [`Level`].
macro_rules! kernels {
	($($(#[$meta:meta])* fn $name:ident<$isa:ident $(: $bound:path)?>($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
		$(#[$meta])*
		#[allow(clippy::too_many_arguments)]
		pub(crate) fn $name(level: $crate::simd::Level, $($arg: $ty),*) {
			#[inline(always)]
			#[allow(clippy::too_many_arguments)]
			unsafe fn body<$isa: $crate::simd::Isa $(+ $bound)?>($($arg: $ty),*) {
				// SAFETY: the caller is compiled for the instruction set and runs on a machine that has it.
				unsafe { $body }
			}
			#[cfg(target_arch = "x86_64")]
			#[target_feature(enable = "avx512f,avx2,fma")]
			#[allow(clippy::too_many_arguments)]
			unsafe fn avx512($($arg: $ty),*) {
				// SAFETY: compiled for AVX-512F.
				unsafe { body::<$crate::simd::avx512::Avx512>($($arg),*) }
			}
			#[cfg(target_arch = "x86_64")]
			#[target_feature(enable = "avx2,fma")]
			#[allow(clippy::too_many_arguments)]
			unsafe fn avx2($($arg: $ty),*) {
				// SAFETY: compiled for AVX2 and FMA.
				unsafe { body::<$crate::simd::avx2::Avx2>($($arg),*) }
			}
			match level {
				// SAFETY: needs no instruction set.
				$crate::simd::Level::Portable => unsafe { body::<$crate::simd::portable::Portable>($($arg),*) },
				// SAFETY: an executor only holds levels that were detected on this machine.
				#[cfg(target_arch = "x86_64")]
				$crate::simd::Level::Avx2 => unsafe { avx2($($arg),*) },
				// SAFETY: as above.
				#[cfg(target_arch = "x86_64")]
				$crate::simd::Level::Avx512 => unsafe { avx512($($arg),*) },
			}
		}
	)*};
}
pub(crate) use kernels;
