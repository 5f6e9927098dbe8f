//! The vector operations on one 512-bit register.

use super::{
	avx2, few,
	int8::{panels, Activations, Block, Dots, Shape},
	int8_blocks::{self, columns, Bits, Packed, Sums, QUAD},
	product, Isa,
};
use core::arch::x86_64::*;
use neuroshard_kernels::math::{EXP_HI, EXP_LO, ROUND};

#[derive(Clone, Copy)]
pub(crate) struct Avx512;

// SAFETY of every block below: the trait demands AVX-512F and valid pointers.
impl Isa for Avx512 {
	type V = __m512;
	type K = __m512i;
	const MR: usize = 12;
	const NR: usize = 32;
	const FEW: usize = 8;

	#[inline(always)]
	unsafe fn prefetch(p: *const f32) {
		unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
	}
	#[inline(always)]
	unsafe fn load(p: *const f32) -> __m512 {
		unsafe { _mm512_loadu_ps(p) }
	}
	#[inline(always)]
	unsafe fn store(p: *mut f32, v: __m512) {
		unsafe { _mm512_storeu_ps(p, v) }
	}
	#[inline(always)]
	unsafe fn splat(x: f32) -> __m512 {
		unsafe { _mm512_set1_ps(x) }
	}
	#[inline(always)]
	unsafe fn add(a: __m512, b: __m512) -> __m512 {
		unsafe { _mm512_add_ps(a, b) }
	}
	#[inline(always)]
	unsafe fn sub(a: __m512, b: __m512) -> __m512 {
		unsafe { _mm512_sub_ps(a, b) }
	}
	#[inline(always)]
	unsafe fn mul(a: __m512, b: __m512) -> __m512 {
		unsafe { _mm512_mul_ps(a, b) }
	}
	#[inline(always)]
	unsafe fn div(a: __m512, b: __m512) -> __m512 {
		unsafe { _mm512_div_ps(a, b) }
	}
	#[inline(always)]
	unsafe fn sqrt(a: __m512) -> __m512 {
		unsafe { _mm512_sqrt_ps(a) }
	}
	#[inline(always)]
	unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
		unsafe { _mm512_fmadd_ps(a, b, c) }
	}
	#[inline(always)]
	unsafe fn fnma(a: __m512, b: __m512, c: __m512) -> __m512 {
		unsafe { _mm512_fnmadd_ps(a, b, c) }
	}
	#[inline(always)]
	unsafe fn exp_finish(x: __m512, shifted: __m512, y: __m512) -> __m512 {
		unsafe {
			let n = _mm512_sub_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(ROUND.to_bits() as i32));
			let scaled = _mm512_add_epi32(_mm512_castps_si512(y), _mm512_slli_epi32::<23>(n));
			// Not less than the lower bound: also true for NaN, which is replaced next.
			let kept = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, _mm512_set1_ps(EXP_LO));
			let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
			let y = _mm512_maskz_mov_epi32(kept, scaled);
			_mm512_castsi512_ps(_mm512_mask_mov_epi32(y, nan, _mm512_set1_epi32(0x7fc0_0000)))
		}
	}
	#[inline(always)]
	unsafe fn exp_clamp(x: __m512) -> __m512 {
		unsafe {
			let hi = _mm512_set1_ps(EXP_HI);
			_mm512_mask_mov_ps(x, _mm512_cmp_ps_mask::<_CMP_GT_OQ>(x, hi), hi)
		}
	}
	#[inline(always)]
	unsafe fn key(a: __m512) -> __m512i {
		unsafe {
			let positive_zero = _mm512_castps_si512(_mm512_add_ps(a, _mm512_setzero_ps()));
			let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a);
			flip(_mm512_mask_mov_epi32(positive_zero, nan, _mm512_set1_epi32(0x7fc0_0000)))
		}
	}
	#[inline(always)]
	unsafe fn from_key(a: __m512i) -> __m512 {
		unsafe { _mm512_castsi512_ps(flip(a)) }
	}
	#[inline(always)]
	unsafe fn min_key(a: __m512i, b: __m512i) -> __m512i {
		unsafe { _mm512_min_epi32(a, b) }
	}
	#[inline(always)]
	unsafe fn max_key(a: __m512i, b: __m512i) -> __m512i {
		unsafe { _mm512_max_epi32(a, b) }
	}
	#[inline(always)]
	unsafe fn get_or(s: &[f32], i: usize, fill: f32) -> __m512 {
		unsafe {
			debug_assert!(i <= s.len());
			let (at, left) = (s.as_ptr().add(i), s.len() - i);
			match left {
				16.. => _mm512_loadu_ps(at),
				_ => _mm512_mask_loadu_ps(_mm512_set1_ps(fill), first(left), at),
			}
		}
	}
	#[inline(always)]
	unsafe fn put(s: &mut [f32], i: usize, v: __m512) {
		unsafe {
			debug_assert!(i <= s.len());
			let (at, left) = (s.as_mut_ptr().add(i), s.len() - i);
			match left {
				16.. => _mm512_storeu_ps(at, v),
				_ => _mm512_mask_storeu_ps(at, first(left), v),
			}
		}
	}
	#[inline(always)]
	unsafe fn sum(v: __m512) -> f32 {
		unsafe {
			let upper = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(v)));
			avx2::sum(_mm256_add_ps(_mm512_castps512_ps256(v), upper))
		}
	}
	#[inline(always)]
	unsafe fn max(k: __m512i) -> f32 {
		unsafe { _mm512_cvtss_f32(Self::from_key(_mm512_set1_epi32(_mm512_reduce_max_epi32(k)))) }
	}
	#[inline(always)]
	unsafe fn transpose(rows: &mut [__m512; 16]) {
		unsafe {
			// 4x4 blocks within each 128-bit quarter of four rows at a time.
			let mut t = *rows;
			for g in 0..4 {
				let [a, b, c, d] = [rows[4 * g], rows[4 * g + 1], rows[4 * g + 2], rows[4 * g + 3]];
				let (ab_lo, ab_hi) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
				let (cd_lo, cd_hi) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
				t[4 * g] = _mm512_shuffle_ps::<0x44>(ab_lo, cd_lo);
				t[4 * g + 1] = _mm512_shuffle_ps::<0xee>(ab_lo, cd_lo);
				t[4 * g + 2] = _mm512_shuffle_ps::<0x44>(ab_hi, cd_hi);
				t[4 * g + 3] = _mm512_shuffle_ps::<0xee>(ab_hi, cd_hi);
			}
			// Quarter q of t[4 g + c] holds rows 4g..4g+4 of column 4q + c: exchange quarters and groups.
			for c in 0..4 {
				let [a, b, d, e] = [t[c], t[4 + c], t[8 + c], t[12 + c]];
				let (ab_even, ab_odd) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
				let (de_even, de_odd) = (_mm512_shuffle_f32x4::<0x88>(d, e), _mm512_shuffle_f32x4::<0xdd>(d, e));
				rows[c] = _mm512_shuffle_f32x4::<0x88>(ab_even, de_even);
				rows[8 + c] = _mm512_shuffle_f32x4::<0xdd>(ab_even, de_even);
				rows[4 + c] = _mm512_shuffle_f32x4::<0x88>(ab_odd, de_odd);
				rows[12 + c] = _mm512_shuffle_f32x4::<0xdd>(ab_odd, de_odd);
			}
		}
	}
	#[inline(always)]
	unsafe fn tile(k: usize, a: *const f32, b: *const f32, c: *mut f32, ldc: usize, load: bool, next: *const f32) {
		unsafe { product::tile::<Self, 12, 2>(k, a, b, c, ldc, load, next) }
	}
	#[inline(always)]
	unsafe fn few(m: usize, nk: (usize, usize), a: *const f32, b: *const f32, c: *mut f32, ldc: usize, load: bool) {
		// SAFETY: as for this method.
		unsafe {
			match m {
				1 => few::columns::<Self, 1, 2, 4>(nk, a, b, c, ldc, load),
				2 => few::columns::<Self, 2, 2, 4>(nk, a, b, c, ldc, load),
				3 => few::columns::<Self, 3, 2, 2>(nk, a, b, c, ldc, load),
				4 => few::columns::<Self, 4, 2, 2>(nk, a, b, c, ldc, load),
				5 => few::columns::<Self, 5, 2, 2>(nk, a, b, c, ldc, load),
				6 => few::columns::<Self, 6, 2, 2>(nk, a, b, c, ldc, load),
				7 => few::columns::<Self, 7, 2, 1>(nk, a, b, c, ldc, load),
				_ => few::columns::<Self, 8, 2, 1>(nk, a, b, c, ldc, load),
			}
		}
	}
}

/// AVX-512 with the instructions that multiply 8-bit numbers.
#[derive(Clone, Copy)]
pub(crate) struct Vnni;

// SAFETY of every block below: the trait demands AVX-512F with VNNI and valid pointers.
impl Dots for Vnni {
	type F = Avx512;
	type S = __m512i;
	type W = __m512i;
	type A = __m512i;
	const ROWS: usize = 6;

	#[inline(always)]
	unsafe fn start(start: i32) -> __m512i {
		unsafe { _mm512_set1_epi32(start) }
	}
	#[inline(always)]
	unsafe fn weights(at: *const u8) -> __m512i {
		unsafe { _mm512_loadu_si512(at.cast()) }
	}
	#[inline(always)]
	unsafe fn activations(at: *const i8) -> __m512i {
		unsafe { _mm512_set1_epi32(at.cast::<i32>().read_unaligned()) }
	}
	#[inline(always)]
	unsafe fn dot(sums: __m512i, weights: __m512i, activations: __m512i) -> __m512i {
		// The first factor is without a sign: the weights with their bias.
		unsafe { _mm512_dpbusd_epi32(sums, weights, activations) }
	}
	#[inline(always)]
	unsafe fn floats(sums: __m512i) -> __m512 {
		unsafe { _mm512_cvtepi32_ps(sums) }
	}
	#[inline(always)]
	unsafe fn rows(rows: usize, shape: Shape, a: *const Activations, b: *const Block, c: *mut f32) {
		// SAFETY: as for this method.
		unsafe {
			match rows {
				1 => panels::<Self, 1, 4>(shape, a, b, c),
				2 => panels::<Self, 2, 4>(shape, a, b, c),
				3 => panels::<Self, 3, 2>(shape, a, b, c),
				4 => panels::<Self, 4, 2>(shape, a, b, c),
				5 => panels::<Self, 5, 2>(shape, a, b, c),
				_ => panels::<Self, 6, 2>(shape, a, b, c),
			}
		}
	}
}

impl Bits for Avx512 {
	#[inline(always)]
	unsafe fn zeros() -> __m512i {
		unsafe { _mm512_setzero_si512() }
	}
	#[inline(always)]
	unsafe fn greater(most: __m512i, x: __m512) -> __m512i {
		unsafe { _mm512_max_epu32(most, _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fff_ffff))) }
	}
	#[inline(always)]
	unsafe fn rounded(x: __m512, inverse: __m512, round: __m512) -> __m512i {
		unsafe { _mm512_castps_si512(_mm512_fmadd_ps(x, inverse, round)) }
	}
	#[inline(always)]
	unsafe fn plus(a: __m512i, b: __m512i) -> __m512i {
		unsafe { _mm512_add_epi32(a, b) }
	}
	#[inline(always)]
	unsafe fn quads([a, b, c, d]: [__m512i; QUAD]) -> __m512i {
		unsafe {
			// Bits of the first where the mask has ones, else of the second.
			let (bytes, words) = (_mm512_set1_epi32(0xff), _mm512_set1_epi32(0xffff));
			let ab = _mm512_ternarylogic_epi32::<0xca>(bytes, a, _mm512_slli_epi32::<8>(b));
			let cd = _mm512_ternarylogic_epi32::<0xca>(bytes, c, _mm512_slli_epi32::<8>(d));
			_mm512_ternarylogic_epi32::<0xca>(words, ab, _mm512_slli_epi32::<16>(cd))
		}
	}
	#[inline(always)]
	unsafe fn store_bytes(at: *mut u8, bits: __m512i) {
		unsafe { _mm_storeu_si128(at.cast(), _mm512_cvtepi32_epi8(bits)) }
	}
	#[inline(always)]
	unsafe fn floats(bits: __m512i) -> __m512 {
		unsafe { _mm512_castsi512_ps(bits) }
	}
}

impl Sums for Vnni {
	type F = Avx512;
	type S = __m512i;
	type R = __m512i;
	type L = __m512i;
	const ROWS: usize = 6;

	#[inline(always)]
	unsafe fn start(at: *const i32) -> __m512i {
		unsafe { _mm512_loadu_si512(at.cast()) }
	}
	#[inline(always)]
	unsafe fn right(at: *const u8) -> __m512i {
		unsafe { _mm512_loadu_si512(at.cast()) }
	}
	#[inline(always)]
	unsafe fn left(at: *const u8) -> __m512i {
		unsafe { _mm512_set1_epi32(at.cast::<i32>().read_unaligned()) }
	}
	#[inline(always)]
	unsafe fn dot(sums: __m512i, right: __m512i, left: __m512i) -> __m512i {
		// The first factor is without a sign: the left operand with its bias.
		unsafe { _mm512_dpbusd_epi32(sums, left, right) }
	}
	#[inline(always)]
	unsafe fn floats(sums: __m512i) -> __m512 {
		unsafe { _mm512_cvtepi32_ps(sums) }
	}
	#[inline(always)]
	unsafe fn rows(rows: usize, shape: int8_blocks::Shape, a: (*const Packed, usize), b: *const Packed, c: *mut f32) {
		// SAFETY: as for this method.
		unsafe {
			match rows {
				1 => columns::<Self, 1, 2>(shape, a, b, c),
				2 => columns::<Self, 2, 2>(shape, a, b, c),
				3 => columns::<Self, 3, 2>(shape, a, b, c),
				4 => columns::<Self, 4, 2>(shape, a, b, c),
				5 => columns::<Self, 5, 2>(shape, a, b, c),
				_ => columns::<Self, 6, 2>(shape, a, b, c),
			}
		}
	}
}

/// The first `count` lanes, fewer than 16.
#[inline(always)]
fn first(count: usize) -> __mmask16 {
	(1 << count) - 1
}

/// As the scalar order key: inverts the lower bits of negative numbers.
#[inline(always)]
unsafe fn flip(bits: __m512i) -> __m512i {
	unsafe { _mm512_xor_si512(bits, _mm512_srli_epi32::<1>(_mm512_srai_epi32::<31>(bits))) }
}
