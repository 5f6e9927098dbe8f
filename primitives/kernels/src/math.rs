//! Elementary functions on f32: fixed polynomials evaluated by fused multiply-add, so that every machine gives the same bits (rule 6).
//!
//! The vector forms of `neuroshard-compute` execute the same operations lane by lane; the constants live here.

use crate::{
	num::{fma, sqrt, NAN},
	schedule::sin_cos_turn,
};

/// Arguments below give +0.
pub const EXP_LO: f32 = f32::from_bits(0xc2ae_a8f6); // -87.33
/// Arguments above count as this one; the result stays finite.
pub const EXP_HI: f32 = f32::from_bits(0x42b1_70a4); // 88.72
/// 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits.
pub const ROUND: f32 = f32::from_bits(0x4b40_0000);
/// 1 / ln 2.
pub const LOG2_E: f32 = f32::from_bits(0x3fb8_aa3b);
/// Upper 15 bits of ln 2, so that its product with an exponent is exact.
pub const LN2_HI: f32 = f32::from_bits(0x3f31_7200);
/// The rest of ln 2.
pub const LN2_LO: f32 = f32::from_bits(0x35bf_be8e);
/// (e^r - 1 - r) / r^2 on [-ln2/2, ln2/2], highest power first.
pub const EXP_POLY: [f32; 5] = [
	f32::from_bits(0x3ab6_8885),
	f32::from_bits(0x3c09_05b7),
	f32::from_bits(0x3d2a_aa8d),
	f32::from_bits(0x3e2a_aa6e),
	f32::from_bits(0x3f00_0000),
];
/// (ln(1 + f) - f + f^2/2) / f^3 on [sqrt(1/2) - 1, sqrt(2) - 1], highest power first.
pub const LN_POLY: [f32; 9] = [
	f32::from_bits(0x3d8e_c753),
	f32::from_bits(0xbdeb_1ade),
	f32::from_bits(0x3def_5141),
	f32::from_bits(0xbdfe_7a63),
	f32::from_bits(0x3e11_e90d),
	f32::from_bits(0xbe2a_ada5),
	f32::from_bits(0x3e4c_cead),
	f32::from_bits(0xbe7f_fffe),
	f32::from_bits(0x3eaa_aaaa),
];
/// (tanh(x) - x) / x^3 as a polynomial in x^2 for |x| below [`TANH_SMALL`], highest power first.
const TANH_POLY: [f32; 5] = [
	f32::from_bits(0xbbc7_c6f2),
	f32::from_bits(0x3cac_0247),
	f32::from_bits(0xbd5c_92c5),
	f32::from_bits(0x3e08_870e),
	f32::from_bits(0xbeaa_aaa9),
];
const TANH_SMALL: f32 = 0.625;
/// Bits of sqrt(1/2): mantissas are brought into [sqrt(1/2), sqrt(2)).
pub const SQRT_HALF_BITS: u32 = 0x3f35_04f3;

#[inline(always)]
fn horner<const N: usize>(x: f32, coefficients: &[f32; N]) -> f32 {
	let mut y = coefficients[0];
	for &c in &coefficients[1..] {
		y = fma(y, x, c);
	}
	y
}

/// e^x. Exactly +0 below -87.33, exactly 1 at 0, e^88.72 above 88.72; NaN for NaN.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
	if x.is_nan() {
		return NAN;
	}
	if x < EXP_LO {
		return 0.0;
	}
	let x = if x > EXP_HI { EXP_HI } else { x };
	let shifted = fma(x, LOG2_E, ROUND);
	let n = shifted - ROUND;
	let r = fma(n, -LN2_HI, x);
	let r = fma(n, -LN2_LO, r);
	let q = horner(r, &EXP_POLY);
	let y = 1.0 + fma(r * r, q, r);
	// n lies in -126..=128 and the result is normal, so its exponent field can be added to as an integer.
	let n = shifted.to_bits().wrapping_sub(ROUND.to_bits());
	f32::from_bits(y.to_bits().wrapping_add(n << 23))
}

/// Natural logarithm. -inf at zero, NaN below it and for NaN, +inf at +inf; subnormals are exact inputs like any other.
pub fn ln(x: f32) -> f32 {
	if x.is_nan() || x < 0.0 {
		return NAN;
	}
	if x == 0.0 {
		return f32::NEG_INFINITY;
	}
	if x == f32::INFINITY {
		return x;
	}
	let subnormal = x < f32::MIN_POSITIVE;
	let (scaled, bias) = if subnormal { (x * 8_388_608.0, -23) } else { (x, 0) };
	let offset = scaled.to_bits().wrapping_sub(SQRT_HALF_BITS);
	let exponent = (offset as i32 >> 23) + bias;
	let mantissa = f32::from_bits((offset & 0x007f_ffff) + SQRT_HALF_BITS);
	let f = mantissa - 1.0;
	let e = exponent as f32;
	let f2 = f * f;
	let tail = f2 * f * horner(f, &LN_POLY);
	let tail = fma(e, LN2_LO, tail);
	let tail = fma(-0.5, f2, tail);
	fma(e, LN2_HI, f + tail)
}

/// Hyperbolic tangent.
pub fn tanh(x: f32) -> f32 {
	if x.is_nan() {
		return NAN;
	}
	let magnitude = x.abs();
	if magnitude < TANH_SMALL {
		let z = x * x;
		return fma(x * z, horner(z, &TANH_POLY), x);
	}
	let y = 1.0 - 2.0 / (exp(magnitude + magnitude) + 1.0);
	if x < 0.0 {
		-y
	} else {
		y
	}
}

/// Logistic function `1 / (1 + exp(-x))`.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
	1.0 / (1.0 + exp(-x))
}

/// Two independent standard normal numbers from two uniform words (Box-Muller).
///
/// The upper 24 bits of each word are used: `u = (a + 1) / 2^24` in (0, 1], the angle is `b / 2^24` of a turn. The results are
/// `sqrt(-2 ln u)` times the cosine and the sine of the angle; their magnitude is at most 5.77.
pub fn normal_pair(a: u32, b: u32) -> (f32, f32) {
	const UNIT: f32 = 1.0 / 16_777_216.0;
	let u = ((a >> 8) + 1) as f32 * UNIT;
	let radius = sqrt(-2.0 * ln(u));
	let (sin, cos) = sin_cos_turn(b >> 8);
	(radius * cos, radius * sin)
}
