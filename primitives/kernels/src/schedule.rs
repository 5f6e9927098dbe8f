//! Scalars that steer a step: computed in f64 with additions, multiplications and divisions in a fixed order, then rounded once to f32 (rule 7).

/// 1.5 * 2^52: adding it rounds an f64 to an integer.
const ROUND: f64 = 6_755_399_441_055_744.0;
const TWO_OVER_PI: f64 = f64::from_bits(0x3fe4_5f30_6dc9_c883);
const PI: f64 = f64::from_bits(0x4009_21fb_5444_2d18);
/// pi/2 in three parts; products of the first two with quadrants below 2^20 are exact.
const HALF_PI: [f64; 3] =
	[f64::from_bits(0x3ff9_21fb_5440_0000), f64::from_bits(0x3dd0_b461_1a60_0000), f64::from_bits(0x3ba3_198a_2e03_7073)];
/// ln 2 in two parts; products of the first with exponents are exact.
const LN2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fee0_0000), f64::from_bits(0x3dea_39ef_3579_3c76)];
const LOG2_E: f64 = f64::from_bits(0x3ff7_1547_652b_82fe);
/// Taylor coefficients of sin(r)/r in r^2, highest power first.
const SIN: [f64; 9] = [
	1.0 / 355_687_428_096_000.0,
	-1.0 / 1_307_674_368_000.0,
	1.0 / 6_227_020_800.0,
	-1.0 / 39_916_800.0,
	1.0 / 362_880.0,
	-1.0 / 5_040.0,
	1.0 / 120.0,
	-1.0 / 6.0,
	1.0,
];
/// Taylor coefficients of cos(r) in r^2, highest power first.
const COS: [f64; 9] = [
	1.0 / 20_922_789_888_000.0,
	-1.0 / 87_178_291_200.0,
	1.0 / 479_001_600.0,
	-1.0 / 3_628_800.0,
	1.0 / 40_320.0,
	-1.0 / 720.0,
	1.0 / 24.0,
	-1.0 / 2.0,
	1.0,
];
/// Taylor coefficients of exp(r), highest power first.
const EXP: [f64; 15] = [
	1.0 / 87_178_291_200.0,
	1.0 / 6_227_020_800.0,
	1.0 / 479_001_600.0,
	1.0 / 39_916_800.0,
	1.0 / 3_628_800.0,
	1.0 / 362_880.0,
	1.0 / 40_320.0,
	1.0 / 5_040.0,
	1.0 / 720.0,
	1.0 / 120.0,
	1.0 / 24.0,
	1.0 / 6.0,
	1.0 / 2.0,
	1.0,
	1.0,
];
/// Coefficients of atanh(s)/s in s^2, highest power first.
const ATANH: [f64; 12] =
	[1.0 / 23.0, 1.0 / 21.0, 1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0];

fn horner<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
	let mut y = coefficients[0];
	for &c in &coefficients[1..] {
		y = y * x + c;
	}
	y
}

/// Sine and cosine of an angle in radians, |angle| at most 2^20.
fn sin_cos(angle: f64) -> (f64, f64) {
	let shifted = angle * TWO_OVER_PI + ROUND;
	let n = shifted - ROUND;
	let r = ((angle - n * HALF_PI[0]) - n * HALF_PI[1]) - n * HALF_PI[2];
	quadrant(shifted.to_bits() as u32 & 3, r)
}

/// Sine and cosine of `quarter * pi/2 + r`, |r| at most pi/4.
fn quadrant(quarter: u32, r: f64) -> (f64, f64) {
	let z = r * r;
	let sin = r * horner(z, &SIN);
	let cos = horner(z, &COS);
	match quarter {
		0 => (sin, cos),
		1 => (cos, -sin),
		2 => (-sin, -cos),
		_ => (-cos, sin),
	}
}

/// Sine and cosine of `part / 2^24` of a full turn, rounded to f32. Only the lower 24 bits of `part` count.
pub(crate) fn sin_cos_turn(part: u32) -> (f32, f32) {
	const EIGHTH: u32 = 1 << 21;
	let part = part & 0x00ff_ffff;
	let quarter = (part + EIGHTH) >> 22;
	let rest = f64::from(part) - f64::from(quarter << 22);
	let r = rest * (PI / 8_388_608.0);
	let (sin, cos) = quadrant(quarter & 3, r);
	(sin as f32, cos as f32)
}

/// e^x for |x| at most 700.
fn exp(x: f64) -> f64 {
	let shifted = x * LOG2_E + ROUND;
	let n = shifted - ROUND;
	let r = (x - n * LN2[0]) - n * LN2[1];
	let y = horner(r, &EXP);
	let n = shifted.to_bits().wrapping_sub(ROUND.to_bits());
	f64::from_bits(y.to_bits().wrapping_add(n << 52))
}

/// Natural logarithm of a positive normal number.
fn ln(x: f64) -> f64 {
	const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
	let offset = x.to_bits().wrapping_sub(SQRT_HALF_BITS);
	let e = (offset as i64 >> 52) as f64;
	let mantissa = f64::from_bits((offset & 0x000f_ffff_ffff_ffff) + SQRT_HALF_BITS);
	let s = (mantissa - 1.0) / (mantissa + 1.0);
	let tail = e * LN2[1] + 2.0 * s * horner(s * s, &ATANH);
	e * LN2[0] + tail
}

/// `base^exponent` by square-and-multiply, the lowest bit of the exponent first.
fn power(base: f64, mut exponent: u64) -> f64 {
	let mut result = 1.0;
	let mut square = base;
	while exponent > 0 {
		if exponent & 1 == 1 {
			result *= square;
		}
		square *= square;
		exponent >>= 1;
	}
	result
}

/// Warm-up followed by a cosine decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearningRate {
	/// Rate at the end of the warm-up.
	pub peak: f32,
	/// Rate at the end of the schedule.
	pub min: f32,
	/// Steps of linear warm-up: step `s` of it runs at `peak * (s + 1) / warmup_steps`.
	pub warmup_steps: u64,
	/// Steps of the whole schedule; 0 means unlimited: constant at `peak` after the warm-up.
	pub total_steps: u64,
}

impl LearningRate {
	/// Learning rate of the zero-based `step`. Beyond the schedule's end it stays at `min`.
	pub fn at(&self, step: u64) -> f32 {
		let (peak, min) = (f64::from(self.peak), f64::from(self.min));
		if step < self.warmup_steps {
			return (peak * ((step + 1) as f64) / self.warmup_steps as f64) as f32;
		}
		if self.total_steps == 0 {
			return self.peak;
		}
		if step >= self.total_steps {
			return self.min;
		}
		let progress = (step - self.warmup_steps) as f64 / (self.total_steps - self.warmup_steps) as f64;
		let (_, cos) = sin_cos(PI * progress);
		(min + 0.5 * (peak - min) * (1.0 + cos)) as f32
	}
}

/// `1 / (1 - beta^step)`, Adam's bias correction as a factor. `step` counts from 1; `beta` lies in [0, 1).
pub fn bias_correction(beta: f32, step: u64) -> f32 {
	(1.0 / (1.0 - power(f64::from(beta), step))) as f32
}

/// `1 - beta`, rounded once.
pub fn complement(beta: f32) -> f32 {
	(1.0 - f64::from(beta)) as f32
}

/// `1 - lr * weight_decay`, rounded once: the factor by which AdamW shrinks a parameter.
pub fn decay_factor(lr: f32, weight_decay: f32) -> f32 {
	(1.0 - f64::from(lr) * f64::from(weight_decay)) as f32
}

/// `1 / n`, rounded once. `n` is at least 1.
pub fn reciprocal(n: u64) -> f32 {
	(1.0 / n as f64) as f32
}

/// `1 / count`, rounded once, or 0 for what is not above 0: nothing that counts gives a mean of 0.
pub fn reciprocal_count(count: f32) -> f32 {
	if count > 0.0 {
		1.0 / count
	} else {
		0.0
	}
}

/// `1 / sqrt(head_dim)` of attention: the f32 square root, then the f32 division.
pub fn attention_scale(head_dim: usize) -> f32 {
	1.0 / crate::num::sqrt(head_dim as f32)
}

/// `0.2 * sqrt(side)`, the f32 square root, then the f32 product: what Muon's learning rate is multiplied by for a matrix whose longer side is `side`.
/// Orthogonalised directions are as large as AdamW's then ([Liu et al. 2025](https://arxiv.org/abs/2502.16982)).
pub fn muon_scale(side: usize) -> f32 {
	0.2 * crate::num::sqrt(side as f32)
}

/// RoPE tables: `cos` and `sin`, `[positions, head_dim / 2]` row-major, for the positions from `first` on.
///
/// Entry `(t, i)` belongs to the angle `(first + t) * theta^(-2i / head_dim)`, with a frequency that is scaled; the number of positions follows from the
/// slices.
///
/// # Panics
/// If the slices differ in length or are no multiple of `head_dim / 2`, or a position exceeds 2^20.
pub fn rope_tables(theta: u32, scaling: RopeScaling, head_dim: usize, first: usize, cos: &mut [f32], sin: &mut [f32]) {
	let half = head_dim / 2;
	assert!(half > 0 && cos.len() == sin.len() && cos.len().is_multiple_of(half), "rope table shape");
	assert!(first + cos.len() / half <= 1 << 20, "rope position");
	for i in 0..half {
		let frequency = scaling.of(rope_frequency(theta, head_dim, i));
		for (t, (c, s)) in cos.iter_mut().skip(i).step_by(half).zip(sin.iter_mut().skip(i).step_by(half)).enumerate() {
			let (sine, cosine) = sin_cos((first + t) as f64 * frequency);
			*c = cosine as f32;
			*s = sine as f32;
		}
	}
}

/// How models that were made for short texts turn by smaller angles, to read longer ones.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum RopeScaling {
	/// Not at all.
	#[default]
	None,
	/// All frequencies are divided (position interpolation, Chen et al. 2023).
	Linear {
		/// By this.
		factor: f64,
	},
	/// Frequencies that turn less than `low` times in a text of `original` tokens are divided by `factor`, those that turn more than `high` times stay,
	/// and between them it is interpolated by the number of turns (Llama 3.1).
	Llama3 {
		/// Divisor of low frequencies.
		factor: f64,
		/// Turns of low frequencies, at most.
		low: f64,
		/// Turns of high frequencies, at least; more than `low`.
		high: f64,
		/// Tokens of the texts that the model was made for.
		original: u32,
	},
}

impl RopeScaling {
	/// What becomes of an angle between neighbouring positions.
	fn of(self, frequency: f64) -> f64 {
		match self {
			Self::None => frequency,
			Self::Linear { factor } => frequency / factor,
			Self::Llama3 { factor, low, high, original } => {
				let turns = (f64::from(original) * frequency) / (2.0 * PI);
				if turns < low {
					frequency / factor
				} else if turns > high {
					frequency
				} else {
					let part = (turns - low) / (high - low);
					((1.0 - part) * frequency) / factor + part * frequency
				}
			}
		}
	}
}

/// Angle between neighbouring positions: `theta^(-2i / head_dim)`.
fn rope_frequency(theta: u32, head_dim: usize, i: usize) -> f64 {
	exp(-((2 * i) as f64 / head_dim as f64) * ln(f64::from(theta)))
}

/// One entry of [`rope_tables`]: cosine and sine for position `t` and pair `i`, which is below `head_dim / 2`.
pub fn rope_entry(theta: u32, scaling: RopeScaling, head_dim: usize, t: usize, i: usize) -> (f32, f32) {
	let (sine, cosine) = sin_cos(t as f64 * scaling.of(rope_frequency(theta, head_dim, i)));
	(cosine as f32, sine as f32)
}

#[cfg(test)]
mod tests {
	use super::*;

	fn close(a: f64, b: f64, relative: f64) -> bool {
		(a - b).abs() <= relative * b.abs().max(1e-300)
	}

	#[test]
	fn f64_functions_agree_with_the_standard_library() {
		for i in 0..200_000u32 {
			let t = f64::from(i) / 200_000.0;
			let x = (t - 0.5) * 60.0;
			assert!(close(exp(x), x.exp(), 1e-15), "exp {x}");
			let y = (t * 80.0 - 40.0).exp();
			assert!((ln(y) - y.ln()).abs() <= 4e-16 * y.ln().abs().max(1.0), "ln {y}");
			let a = (t * t) * 1_000_000.0;
			let (s, c) = sin_cos(a);
			assert!((s - a.sin()).abs() < 3e-16 && (c - a.cos()).abs() < 3e-16, "sin_cos {a}");
		}
	}

	#[test]
	fn a_turn_has_exact_quarters() {
		assert_eq!(sin_cos_turn(0), (0.0, 1.0));
		assert_eq!(sin_cos_turn(1 << 22), (1.0, 0.0));
		assert_eq!(sin_cos_turn(2 << 22), (0.0, -1.0));
		assert_eq!(sin_cos_turn(3 << 22), (-1.0, 0.0));
		for part in (0..1 << 24).step_by(997) {
			let angle = f64::from(part) / f64::from(1 << 24) * std::f64::consts::TAU;
			let (s, c) = sin_cos_turn(part);
			assert!((f64::from(s) - angle.sin()).abs() < 4e-8 && (f64::from(c) - angle.cos()).abs() < 4e-8);
		}
	}

	#[test]
	fn the_learning_rate_warms_up_decays_and_ends() {
		let schedule = LearningRate { peak: 1e-3, min: 1e-4, warmup_steps: 10, total_steps: 110 };
		assert!(close(f64::from(schedule.at(0)), 1e-4, 1e-7));
		assert_eq!(schedule.at(9), 1e-3);
		assert_eq!(schedule.at(10), 1e-3);
		assert!((schedule.at(60) - 5.5e-4).abs() < 1e-10);
		assert_eq!(schedule.at(110), 1e-4);
		assert_eq!(schedule.at(u64::MAX), 1e-4);
		for step in 10..110 {
			let progress = (step - 10) as f64 / 100.0;
			let (peak, min) = (f64::from(1e-3f32), f64::from(1e-4f32));
			let expected = min + 0.5 * (peak - min) * (1.0 + (std::f64::consts::PI * progress).cos());
			assert!(close(f64::from(schedule.at(step)), expected, 1e-7));
		}
		let unlimited = LearningRate { total_steps: 0, ..schedule };
		assert!(close(f64::from(unlimited.at(4)), 5e-4, 1e-7));
		assert_eq!(unlimited.at(1 << 40), 1e-3);
	}

	#[test]
	fn bias_corrections_agree_with_powers() {
		for beta in [0.9f32, 0.95, 0.999] {
			for step in [1u64, 2, 3, 17, 500, 10_000] {
				let expected = 1.0 / (1.0 - f64::from(beta).powi(step as i32));
				assert!(close(f64::from(bias_correction(beta, step)), expected, 6e-8), "{beta} {step}");
			}
		}
		assert_eq!(bias_correction(0.0, 1), 1.0);
	}

	#[test]
	fn scaled_angles_are_those_of_the_models_that_use_them() {
		// The values of Llama 3.2, whose implementation writes the same with wavelengths.
		let (theta, half, original, factor, low, high) = (500_000, 32, 8_192, 32.0, 1.0, 4.0);
		let scaling = RopeScaling::Llama3 { factor, low, high, original };
		let (mut cos, mut sin) = (vec![0.0; 2 * half], vec![0.0; 2 * half]);
		rope_tables(theta, scaling, 2 * half, 0, &mut cos, &mut sin);
		let mut kinds = [0; 3];
		for i in 0..half {
			let frequency = f64::from(theta).powf(-(i as f64) / half as f64);
			let wavelength = std::f64::consts::TAU / frequency;
			let (shortest, longest) = (f64::from(original) / high, f64::from(original) / low);
			let smooth = (f64::from(original) / wavelength - low) / (high - low);
			let (kind, expected) = if wavelength < shortest {
				(0, frequency)
			} else if wavelength > longest {
				(1, frequency / factor)
			} else {
				(2, (1.0 - smooth) * frequency / factor + smooth * frequency)
			};
			kinds[kind] += 1;
			assert!((f64::from(sin[half + i]) - expected.sin()).abs() < 4e-8, "{i}");
			assert!((f64::from(cos[half + i]) - expected.cos()).abs() < 4e-8, "{i}");
			assert_eq!(rope_entry(theta, scaling, 2 * half, 1, i), (cos[half + i], sin[half + i]));
		}
		assert!(kinds.iter().all(|kind| *kind > 0), "{kinds:?}");
		rope_tables(theta, RopeScaling::Linear { factor: 4.0 }, 2 * half, 0, &mut cos, &mut sin);
		assert!((f64::from(sin[half + 1]) - (500_000f64.powf(-1.0 / 32.0) / 4.0).sin()).abs() < 4e-8);
	}

	#[test]
	fn rope_tables_agree_with_powers_and_start_anywhere() {
		let (half, positions) = (32, 300);
		let (mut cos, mut sin) = (vec![0.0; half * positions], vec![0.0; half * positions]);
		rope_tables(10_000, RopeScaling::None, 2 * half, 0, &mut cos, &mut sin);
		for t in 0..positions {
			for i in 0..half {
				let angle = t as f64 * 10_000f64.powf(-(i as f64) / half as f64);
				assert!((f64::from(cos[t * half + i]) - angle.cos()).abs() < 4e-8);
				assert!((f64::from(sin[t * half + i]) - angle.sin()).abs() < 4e-8);
			}
		}
		let (mut c, mut s) = (vec![0.0; half], vec![0.0; half]);
		rope_tables(10_000, RopeScaling::None, 2 * half, 123, &mut c, &mut s);
		assert_eq!((&c[..], &s[..]), (&cos[123 * half..124 * half], &sin[123 * half..124 * half]));
		assert_eq!(rope_entry(10_000, RopeScaling::None, 2 * half, 123, 7), (c[7], s[7]));
	}
}
