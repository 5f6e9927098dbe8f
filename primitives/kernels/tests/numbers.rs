//! Numbers: fused multiply-add, order, square root and elementary functions.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Inputs, Kind, KINDS};
use neuroshard_kernels::{math, num};
use proptest::prelude::*;

/// A fused multiply-add of the standard library, which calls the machine's or a correctly rounded one.
fn reference(a: f32, b: f32, c: f32) -> f32 {
	a.mul_add(b, c)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma")]
fn compare_with_hardware(vectors: &[[f32; 3]]) {
	for &[a, b, c] in vectors {
		let hardware = a.mul_add(b, c);
		assert_eq!(
			num::canon_bits(hardware),
			num::canon_bits(num::fma_emulated(a, b, c)),
			"{:08x} {:08x} {:08x}",
			a.to_bits(),
			b.to_bits(),
			c.to_bits()
		);
	}
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_emulated_fma_is_the_hardware_one_on_millions_of_vectors() {
	if !is_x86_feature_detected!("fma") {
		return;
	}
	let mut inputs = Inputs::new(1);
	let mut vectors = Vec::new();
	for _ in 0..2_000_000 {
		// A product near the subnormal range and an addend of the same size: here double rounding would show.
		let x = f32::from_bits(0x2000_0000 | (inputs.word() & 0x80ff_ffff));
		let y = f32::from_bits(0x1300_0000 | (inputs.word() & 0x80ff_ffff));
		let z = f32::from_bits(inputs.word() & 0x80ff_ffff);
		vectors.push([x, y, z]);
		// Few significant bits: exact ties are frequent.
		let short = |w: u32| f32::from_bits((w & 0x8000_0000) | (0x1f80_0000 + (w & 0x0180_0000)) | (w & 0x0070_0003));
		vectors.push([short(inputs.word()), short(inputs.word()), f32::from_bits(inputs.word() & 0x80ff_0003)]);
	}
	for kind in KINDS {
		for _ in 0..500_000 {
			vectors.push([0; 3].map(|_| inputs.number(kind)));
		}
	}
	for _ in 0..1_000_000 {
		vectors.push([0; 3].map(|_| f32::from_bits(inputs.word())));
	}
	// SAFETY: the machine has the instruction.
	unsafe { compare_with_hardware(&vectors) };
}

#[test]
fn the_vector_on_which_double_rounding_fails_is_right() {
	let [x, y, z] = [0x2000_0001, 0x13ff_fffe, 0x0040_0001].map(f32::from_bits);
	assert_eq!(num::fma_emulated(x, y, z).to_bits(), 0x0040_0001);
	assert_eq!(num::fma(x, y, z).to_bits(), 0x0040_0001);
}

proptest! {
	#[test]
	fn the_emulated_fma_is_correctly_rounded(a: f32, b: f32, c: f32) {
		prop_assert_eq!(num::canon_bits(reference(a, b, c)), num::canon_bits(num::fma_emulated(a, b, c)));
	}

	#[test]
	fn order_keys_order_as_the_numbers_do(a: u32, b: u32) {
		let (a, b) = (f32::from_bits(a), f32::from_bits(b));
		prop_assert_eq!(num::from_order_key(num::order_key(a)).to_bits(), num::canon_bits(a));
		if let Some(order) = a.partial_cmp(&b) {
			prop_assert_eq!(order, num::order_key(a).cmp(&num::order_key(b)));
		} else if !b.is_nan() {
			prop_assert!(num::order_key(a) > num::order_key(b));
		}
		prop_assert_eq!(num::canon_bits(num::max(a, b)), num::canon_bits(num::max(b, a)));
	}
}

#[test]
fn canonical_forms_hide_signs_of_zero_and_payloads() {
	assert_eq!(num::canon_bits(-0.0), 0);
	for nan in [0x7f80_0001, 0x7fff_ffff, 0xffc0_0000, 0xff80_0123] {
		assert_eq!(num::canon_bits(f32::from_bits(nan)), 0x7fc0_0000);
	}
	for other in [1, 0x8000_0001, 0x7f80_0000, 0xff80_0000, 0x3f80_0000] {
		assert_eq!(num::canon_bits(f32::from_bits(other)), other);
	}
	assert_eq!(num::max(-0.0, 0.0).to_bits(), 0);
	assert!(num::max(f32::NAN, f32::INFINITY).is_nan());
}

#[test]
fn the_square_root_of_no_std_is_the_correctly_rounded_one() {
	let mut inputs = Inputs::new(2);
	for i in 0..3_000_000u32 {
		let x = if i < 1_000_000 { f32::from_bits(i * 8 + 1) } else { f32::from_bits(inputs.word() & 0x7fff_ffff) };
		assert_eq!(num::canon_bits(libm::sqrtf(x)), num::canon_bits(x.sqrt()), "{x:e}");
		assert_eq!(num::canon_bits(num::sqrt(x)), num::canon_bits(x.sqrt()));
	}
}

#[test]
fn every_nan_has_one_canonical_form_also_right_after_it_was_computed() {
	let mut inputs = Inputs::new(7);
	for _ in 0..100_000 {
		let (word, b) = (inputs.word(), f32::from_bits(inputs.word() & 0x3fff_ffff));
		// Any payload and sign.
		let a = f32::from_bits(word | 0x7f80_0001);
		// No sum of squares has a sign, nor has its root: a compiler may know that.
		for computed in [(a * a + b * b).sqrt(), a + b, a * b, a.sqrt()] {
			assert_eq!((num::canon_bits(computed), num::canon(computed).to_bits()), (0x7fc0_0000, 0x7fc0_0000), "{word:x}");
		}
	}
	assert_eq!(
		[-0.0, 0.0, -1.5, f32::MIN_POSITIVE / 2.0, f32::NEG_INFINITY].map(num::canon_bits),
		[0, 0, 0xbfc0_0000, 0x0040_0000, 0xff80_0000]
	);
}

/// Largest error in units in the last place over `arguments`.
fn worst_ulp(arguments: impl Iterator<Item = f32>, f: fn(f32) -> f32, exact: fn(f64) -> f64) -> f64 {
	arguments
		.map(|x| {
			let exact = exact(f64::from(x));
			let ulp = (2f64.powi(exact.abs().log2().floor() as i32 - 23)).max(2f64.powi(-149));
			(f64::from(f(x)) - exact).abs() / ulp
		})
		.fold(0.0, f64::max)
}

fn spread(from: f32, to: f32) -> impl Iterator<Item = f32> {
	(0..1_000_000).map(move |i| from + (to - from) * (i as f32 / 1e6))
}

#[test]
fn exp_is_accurate_and_exact_where_promised() {
	assert!(worst_ulp(spread(-87.33, 88.72), math::exp, f64::exp) < 1.1);
	assert!(worst_ulp(spread(-0.5, 0.5), math::exp, f64::exp) < 1.1);
	assert_eq!(math::exp(0.0).to_bits(), 0x3f80_0000);
	assert_eq!(math::exp(-0.0).to_bits(), 0x3f80_0000);
	assert_eq!(math::exp(-87.34).to_bits(), 0);
	assert_eq!(math::exp(f32::NEG_INFINITY).to_bits(), 0);
	assert_eq!(math::exp(f32::INFINITY), math::exp(88.72));
	assert!(math::exp(88.72).is_finite());
	assert!(math::exp(-87.33) >= f32::MIN_POSITIVE);
	assert_eq!(math::exp(f32::NAN).to_bits(), 0x7fc0_0000);
}

#[test]
fn ln_is_accurate_everywhere() {
	let mut inputs = Inputs::new(3);
	assert!(worst_ulp(spread(0.3, 3.0).filter(|&x| x != 1.0), math::ln, f64::ln) < 1.5);
	let any: Vec<f32> = (0..1_000_000).map(|_| f32::from_bits(inputs.word() & 0x7fff_ffff)).filter(|x| x.is_finite() && *x > 0.0).collect();
	assert!(worst_ulp(any.into_iter(), math::ln, f64::ln) < 1.5);
	assert!(worst_ulp((1..100_000).map(f32::from_bits), math::ln, f64::ln) < 1.0);
	assert_eq!(math::ln(1.0), 0.0);
	assert_eq!(math::ln(0.0), f32::NEG_INFINITY);
	assert_eq!(math::ln(-0.0), f32::NEG_INFINITY);
	assert_eq!(math::ln(f32::INFINITY), f32::INFINITY);
	assert!(math::ln(-1.0).is_nan() && math::ln(f32::NAN).is_nan());
}

#[test]
fn tanh_and_sigmoid_are_accurate() {
	assert!(worst_ulp(spread(-9.5, 9.5).filter(|&x| x != 0.0), math::tanh, f64::tanh) < 2.0);
	assert!(worst_ulp(spread(-85.0, 30.0), math::sigmoid, |x| 1.0 / (1.0 + (-x).exp())) < 2.5);
	assert_eq!((math::tanh(0.0), math::tanh(100.0), math::tanh(-100.0)), (0.0, 1.0, -1.0));
	assert_eq!((math::sigmoid(0.0), math::sigmoid(100.0)), (0.5, 1.0));
	assert!(math::sigmoid(f32::NAN).is_nan() && math::tanh(f32::NAN).is_nan());
}

#[test]
fn normal_numbers_have_the_moments_of_the_normal_distribution() {
	let mut inputs = Inputs::new(4);
	let numbers: Vec<f64> = (0..500_000)
		.flat_map(|_| {
			let (a, b) = math::normal_pair(inputs.word(), inputs.word());
			[f64::from(a), f64::from(b)]
		})
		.collect();
	let moment = |k: i32| numbers.iter().map(|x| x.powi(k)).sum::<f64>() / numbers.len() as f64;
	assert!(moment(1).abs() < 0.005 && (moment(2) - 1.0).abs() < 0.01 && moment(3).abs() < 0.02 && (moment(4) - 3.0).abs() < 0.05);
	assert!(numbers.iter().all(|x| x.abs() < 5.78));
	let (a, b) = math::normal_pair(0, 0);
	assert!((a - 5.768_108).abs() < 1e-5 && b == 0.0, "the smallest u is 2^-24");
	assert_eq!(math::normal_pair(u32::MAX, 12345).0, 0.0, "the largest u is 1");
	assert!(inputs.number(Kind::Plain).is_finite());
}
