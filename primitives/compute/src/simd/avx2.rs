//! The vector operations on two 256-bit registers.

use super::{
	few,
	int8::{panels, Activations, Block, Dots, Shape},
	int8_blocks::{self, columns, Bits, Packed, Sums, QUAD},
	product, Isa,
};
use core::arch::x86_64::*;
use neuroshard_kernels::math::{EXP_HI, EXP_LO, ROUND};

#[derive(Clone, Copy)]
pub(crate) struct Avx2;

/// Applies an intrinsic to both halves.
macro_rules! halves {
	($f:ident($($arg:ident),*)) => {
		($f($($arg.0),*), $f($($arg.1),*))
	};
}

// SAFETY of every block below: the trait demands AVX2, FMA and valid pointers.
impl Isa for Avx2 {
	type V = (__m256, __m256);
	type K = (__m256i, __m256i);
	const MR: usize = 6;
	const NR: usize = 16;
	const FEW: usize = 5;

	#[inline(always)]
	unsafe fn prefetch(p: *const f32) {
		unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
	}
	#[inline(always)]
	unsafe fn load(p: *const f32) -> Self::V {
		unsafe { (_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8))) }
	}
	#[inline(always)]
	unsafe fn store(p: *mut f32, v: Self::V) {
		unsafe {
			_mm256_storeu_ps(p, v.0);
			_mm256_storeu_ps(p.add(8), v.1);
		}
	}
	#[inline(always)]
	unsafe fn splat(x: f32) -> Self::V {
		unsafe { (_mm256_set1_ps(x), _mm256_set1_ps(x)) }
	}
	#[inline(always)]
	unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
		unsafe { halves!(_mm256_add_ps(a, b)) }
	}
	#[inline(always)]
	unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
		unsafe { halves!(_mm256_sub_ps(a, b)) }
	}
	#[inline(always)]
	unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
		unsafe { halves!(_mm256_mul_ps(a, b)) }
	}
	#[inline(always)]
	unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
		unsafe { halves!(_mm256_div_ps(a, b)) }
	}
	#[inline(always)]
	unsafe fn sqrt(a: Self::V) -> Self::V {
		unsafe { halves!(_mm256_sqrt_ps(a)) }
	}
	#[inline(always)]
	unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
		unsafe { halves!(_mm256_fmadd_ps(a, b, c)) }
	}
	#[inline(always)]
	unsafe fn fnma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
		unsafe { halves!(_mm256_fnmadd_ps(a, b, c)) }
	}
	#[inline(always)]
	unsafe fn exp_finish(x: Self::V, shifted: Self::V, y: Self::V) -> Self::V {
		unsafe { halves!(exp_finish(x, shifted, y)) }
	}
	#[inline(always)]
	unsafe fn exp_clamp(x: Self::V) -> Self::V {
		unsafe { halves!(exp_clamp(x)) }
	}
	#[inline(always)]
	unsafe fn key(a: Self::V) -> Self::K {
		unsafe { halves!(key(a)) }
	}
	#[inline(always)]
	unsafe fn from_key(a: Self::K) -> Self::V {
		unsafe { (_mm256_castsi256_ps(flip(a.0)), _mm256_castsi256_ps(flip(a.1))) }
	}
	#[inline(always)]
	unsafe fn min_key(a: Self::K, b: Self::K) -> Self::K {
		unsafe { halves!(_mm256_min_epi32(a, b)) }
	}
	#[inline(always)]
	unsafe fn max_key(a: Self::K, b: Self::K) -> Self::K {
		unsafe { halves!(_mm256_max_epi32(a, b)) }
	}
	#[inline(always)]
	unsafe fn sum(v: Self::V) -> f32 {
		unsafe { sum(_mm256_add_ps(v.0, v.1)) }
	}
	#[inline(always)]
	unsafe fn max(k: Self::K) -> f32 {
		unsafe {
			let most = _mm256_max_epi32(k.0, k.1);
			let most = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256::<1>(most));
			let most = _mm_max_epi32(most, _mm_shuffle_epi32::<0b0100_1110>(most));
			let most = _mm_max_epi32(most, _mm_shuffle_epi32::<0b1011_0001>(most));
			_mm256_cvtss_f32(_mm256_castsi256_ps(flip(_mm256_castsi128_si256(most))))
		}
	}
	#[inline(always)]
	unsafe fn transpose(rows: &mut [Self::V; 16]) {
		unsafe {
			let (mut top_left, mut top_right) = ([_mm256_setzero_ps(); 8], [_mm256_setzero_ps(); 8]);
			let (mut bottom_left, mut bottom_right) = (top_left, top_right);
			for i in 0..8 {
				(top_left[i], top_right[i]) = rows[i];
				(bottom_left[i], bottom_right[i]) = rows[8 + i];
			}
			transpose8(&mut top_left);
			transpose8(&mut top_right);
			transpose8(&mut bottom_left);
			transpose8(&mut bottom_right);
			for i in 0..8 {
				rows[i] = (top_left[i], bottom_left[i]);
				rows[8 + i] = (top_right[i], bottom_right[i]);
			}
		}
	}
	#[inline(always)]
	unsafe fn tile(k: usize, a: *const f32, b: *const f32, c: *mut f32, ldc: usize, load: bool, next: *const f32) {
		unsafe { product::tile::<Self, 6, 1>(k, a, b, c, ldc, load, next) }
	}
	#[inline(always)]
	unsafe fn few(m: usize, nk: (usize, usize), a: *const f32, b: *const f32, c: *mut f32, ldc: usize, load: bool) {
		// SAFETY: as for this method.
		unsafe {
			match m {
				1 => few::columns::<Self, 1, 1, 4>(nk, a, b, c, ldc, load),
				2 => few::columns::<Self, 2, 1, 2>(nk, a, b, c, ldc, load),
				3 => few::columns::<Self, 3, 1, 1>(nk, a, b, c, ldc, load),
				4 => few::columns::<Self, 4, 1, 1>(nk, a, b, c, ldc, load),
				_ => few::columns::<Self, 5, 1, 1>(nk, a, b, c, ldc, load),
			}
		}
	}
}

// SAFETY of every block below: the trait demands AVX2 and valid pointers.
impl Dots for Avx2 {
	type F = Self;
	type S = (__m256i, __m256i);
	type W = (__m256i, __m256i);
	/// Magnitudes, and the numbers: the sign goes to the weights, since one factor has to be without one. The sum of two such products fits 16
	/// bits, which it would not with the bias.
	type A = (__m256i, __m256i);
	const ROWS: usize = 2;

	#[inline(always)]
	unsafe fn start(_: i32) -> Self::S {
		unsafe { (_mm256_setzero_si256(), _mm256_setzero_si256()) }
	}
	#[inline(always)]
	unsafe fn weights(at: *const u8) -> Self::W {
		unsafe { (weights(at), weights(at.add(32))) }
	}
	#[inline(always)]
	unsafe fn activations(at: *const i8) -> Self::A {
		unsafe {
			let four = _mm256_set1_epi32(at.cast::<i32>().read_unaligned());
			(_mm256_abs_epi8(four), four)
		}
	}
	#[inline(always)]
	unsafe fn dot(sums: Self::S, weights: Self::W, activations: Self::A) -> Self::S {
		unsafe { (dot(sums.0, weights.0, activations), dot(sums.1, weights.1, activations)) }
	}
	#[inline(always)]
	unsafe fn floats(sums: Self::S) -> (__m256, __m256) {
		unsafe { halves!(_mm256_cvtepi32_ps(sums)) }
	}
	#[inline(always)]
	unsafe fn rows(rows: usize, shape: Shape, a: *const Activations, b: *const Block, c: *mut f32) {
		// SAFETY: as for this method.
		unsafe {
			match rows {
				1 => panels::<Self, 1, 4>(shape, a, b, c),
				_ => panels::<Self, 2, 1>(shape, a, b, c),
			}
		}
	}
}

impl Bits for Avx2 {
	#[inline(always)]
	unsafe fn zeros() -> Self::K {
		unsafe { (_mm256_setzero_si256(), _mm256_setzero_si256()) }
	}
	#[inline(always)]
	unsafe fn greater(most: Self::K, x: Self::V) -> Self::K {
		unsafe {
			let mask = _mm256_set1_epi32(0x7fff_ffff);
			let (first, second) = (_mm256_castps_si256(x.0), _mm256_castps_si256(x.1));
			(_mm256_max_epu32(most.0, _mm256_and_si256(first, mask)), _mm256_max_epu32(most.1, _mm256_and_si256(second, mask)))
		}
	}
	#[inline(always)]
	unsafe fn rounded(x: Self::V, inverse: Self::V, round: Self::V) -> Self::K {
		unsafe {
			let sums = halves!(_mm256_fmadd_ps(x, inverse, round));
			halves!(_mm256_castps_si256(sums))
		}
	}
	#[inline(always)]
	unsafe fn plus(a: Self::K, b: Self::K) -> Self::K {
		unsafe { halves!(_mm256_add_epi32(a, b)) }
	}
	#[inline(always)]
	unsafe fn quads([a, b, c, d]: [Self::K; QUAD]) -> Self::K {
		unsafe { (quads([a.0, b.0, c.0, d.0]), quads([a.1, b.1, c.1, d.1])) }
	}
	#[inline(always)]
	unsafe fn store_bytes(at: *mut u8, bits: Self::K) {
		unsafe {
			let mask = _mm256_set1_epi32(0xff);
			let words = _mm256_packus_epi32(_mm256_and_si256(bits.0, mask), _mm256_and_si256(bits.1, mask));
			// So far four of the first and four of the second in each half.
			let words = _mm256_permute4x64_epi64::<0xd8>(words);
			let (first, second) = (_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
			_mm_storeu_si128(at.cast(), _mm_packus_epi16(first, second));
		}
	}
	#[inline(always)]
	unsafe fn floats(bits: Self::K) -> Self::V {
		unsafe { halves!(_mm256_castsi256_ps(bits)) }
	}
}

/// The lowest bytes of four vectors, those of the first lowest.
#[inline(always)]
unsafe fn quads([a, b, c, d]: [__m256i; QUAD]) -> __m256i {
	unsafe {
		let mask = _mm256_set1_epi32(0xff);
		let ab = _mm256_or_si256(_mm256_and_si256(a, mask), _mm256_slli_epi32::<8>(_mm256_and_si256(b, mask)));
		let cd = _mm256_or_si256(_mm256_and_si256(c, mask), _mm256_slli_epi32::<8>(_mm256_and_si256(d, mask)));
		_mm256_or_si256(ab, _mm256_slli_epi32::<16>(cd))
	}
}

impl Sums for Avx2 {
	type F = Self;
	type S = (__m256i, __m256i);
	type R = (__m256i, __m256i);
	/// Magnitudes, and the numbers.
	type L = (__m256i, __m256i);
	const ROWS: usize = 2;

	#[inline(always)]
	unsafe fn start(_: *const i32) -> Self::S {
		unsafe { (_mm256_setzero_si256(), _mm256_setzero_si256()) }
	}
	#[inline(always)]
	unsafe fn right(at: *const u8) -> Self::R {
		unsafe { (_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(32).cast())) }
	}
	#[inline(always)]
	unsafe fn left(at: *const u8) -> Self::L {
		unsafe { <Self as Dots>::activations(at.cast()) }
	}
	#[inline(always)]
	unsafe fn dot(sums: Self::S, right: Self::R, left: Self::L) -> Self::S {
		unsafe { <Self as Dots>::dot(sums, right, left) }
	}
	#[inline(always)]
	unsafe fn floats(sums: Self::S) -> (__m256, __m256) {
		unsafe { <Self as Dots>::floats(sums) }
	}
	#[inline(always)]
	unsafe fn rows(rows: usize, shape: int8_blocks::Shape, a: (*const Packed, usize), b: *const Packed, c: *mut f32) {
		// SAFETY: as for this method.
		unsafe {
			match rows {
				1 => columns::<Self, 1, 2>(shape, a, b, c),
				_ => columns::<Self, 2, 1>(shape, a, b, c),
			}
		}
	}
}

/// 32 weights without their bias.
#[inline(always)]
unsafe fn weights(at: *const u8) -> __m256i {
	unsafe { _mm256_xor_si256(_mm256_loadu_si256(at.cast()), _mm256_set1_epi8(-128)) }
}

/// `sums` and the products of four weights of eight columns with four activations: magnitudes and numbers.
#[inline(always)]
unsafe fn dot(sums: __m256i, weights: __m256i, (magnitudes, numbers): (__m256i, __m256i)) -> __m256i {
	unsafe {
		let pairs = _mm256_maddubs_epi16(magnitudes, _mm256_sign_epi8(weights, numbers));
		_mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
	}
}

#[inline(always)]
unsafe fn exp_finish(x: __m256, shifted: __m256, y: __m256) -> __m256 {
	unsafe {
		let n = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(ROUND.to_bits() as i32));
		let scaled = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(y), _mm256_slli_epi32::<23>(n)));
		// Not less than the lower bound: also true for NaN, which is replaced next.
		let kept = _mm256_cmp_ps::<_CMP_NLT_UQ>(x, _mm256_set1_ps(EXP_LO));
		let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(x, x);
		_mm256_blendv_ps(_mm256_and_ps(kept, scaled), _mm256_set1_ps(neuroshard_kernels::num::NAN), nan)
	}
}

#[inline(always)]
unsafe fn exp_clamp(x: __m256) -> __m256 {
	unsafe {
		let hi = _mm256_set1_ps(EXP_HI);
		_mm256_blendv_ps(x, hi, _mm256_cmp_ps::<_CMP_GT_OQ>(x, hi))
	}
}

#[inline(always)]
unsafe fn key(a: __m256) -> __m256i {
	unsafe {
		let positive_zero = _mm256_add_ps(a, _mm256_setzero_ps());
		let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a);
		flip(_mm256_castps_si256(_mm256_blendv_ps(positive_zero, _mm256_set1_ps(neuroshard_kernels::num::NAN), nan)))
	}
}

/// As the scalar order key: inverts the lower bits of negative numbers.
#[inline(always)]
unsafe fn flip(bits: __m256i) -> __m256i {
	unsafe { _mm256_xor_si256(bits, _mm256_srli_epi32::<1>(_mm256_srai_epi32::<31>(bits))) }
}

/// Transposes an 8x8 matrix.
#[inline(always)]
unsafe fn transpose8(rows: &mut [__m256; 8]) {
	unsafe {
		let mut t = *rows;
		for g in 0..2 {
			let [a, b, c, d] = [rows[4 * g], rows[4 * g + 1], rows[4 * g + 2], rows[4 * g + 3]];
			let (ab_lo, ab_hi) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
			let (cd_lo, cd_hi) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
			t[4 * g] = _mm256_shuffle_ps::<0x44>(ab_lo, cd_lo);
			t[4 * g + 1] = _mm256_shuffle_ps::<0xee>(ab_lo, cd_lo);
			t[4 * g + 2] = _mm256_shuffle_ps::<0x44>(ab_hi, cd_hi);
			t[4 * g + 3] = _mm256_shuffle_ps::<0xee>(ab_hi, cd_hi);
		}
		for c in 0..4 {
			rows[c] = _mm256_permute2f128_ps::<0x20>(t[c], t[4 + c]);
			rows[4 + c] = _mm256_permute2f128_ps::<0x31>(t[c], t[4 + c]);
		}
	}
}

/// Sum of 8 lanes, each that of lanes `l` and `l + 8` of a vector: lanes `l + 4`, `l + 2`, `l + 1` are added in turn.
#[inline(always)]
pub(super) unsafe fn sum(v: __m256) -> f32 {
	// SAFETY: as for the trait's methods.
	unsafe {
		let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
		let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
		_mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
	}
}
