//! The numbers: canonical form, fused multiply-add, total order and square root of the exact-f32 specification (rules 1 to 5).

/// The canonical NaN.
pub const NAN: f32 = f32::from_bits(0x7fc0_0000);

/// Canonical form, modulo which tensors are hashed, compared and serialised: any NaN becomes `7fc00000`, -0 becomes +0.
#[inline(always)]
pub fn canon(x: f32) -> f32 {
	f32::from_bits(canon_bits(x))
}

/// Bits of the canonical form of `x`.
///
/// In integers: compilers take the liberty of replacing one NaN by another in operations of floats, a comparison with itself included.
#[inline(always)]
pub fn canon_bits(x: f32) -> u32 {
	const INFINITY: u32 = f32::INFINITY.to_bits();
	let bits = x.to_bits();
	match bits & 0x7fff_ffff {
		0 => 0,
		magnitude if magnitude > INFINITY => NAN.to_bits(),
		_ => bits,
	}
}

/// Correctly rounded `a * b + c`: the hardware instruction where the build guarantees one, else [`fma_emulated`].
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
	#[cfg(all(feature = "std", any(target_arch = "aarch64", target_feature = "fma")))]
	{
		a.mul_add(b, c)
	}
	#[cfg(not(all(feature = "std", any(target_arch = "aarch64", target_feature = "fma"))))]
	{
		fma_emulated(a, b, c)
	}
}

/// Correctly rounded `a * b + c` from f64 additions and multiplications only.
///
/// The product is exact in f64 (48 significant bits). The sum is rounded to odd: TwoSum gives its rounding error, and an inexact
/// even result moves one unit in the last place toward the exact value. Narrowing an odd 53-bit value to 24 bits, or
/// fewer for subnormals, then rounds once, as the fused operation does.
#[inline(always)]
pub fn fma_emulated(a: f32, b: f32, c: f32) -> f32 {
	let p = f64::from(a) * f64::from(b);
	let c = f64::from(c);
	let s = p + c;
	let virtual_c = s - p;
	let e = (p - (s - virtual_c)) + (c - virtual_c);
	let bits = s.to_bits();
	// For an infinite or NaN sum `e` is NaN.
	if e != 0.0 && !e.is_nan() && bits & 1 == 0 {
		// Same sign: the magnitude grows, so the bits do; otherwise they shrink. An inexact sum is never zero.
		let odd = if (e > 0.0) == (s > 0.0) { bits + 1 } else { bits - 1 };
		return f64::from_bits(odd) as f32;
	}
	s as f32
}

/// Key of the total order of canonical values: integers that compare as the floats do, NaN above everything.
#[inline(always)]
pub fn order_key(x: f32) -> i32 {
	flip(canon_bits(x) as i32)
}

/// The canonical float of a key made by [`order_key`].
#[inline(always)]
pub fn from_order_key(key: i32) -> f32 {
	f32::from_bits(flip(key) as u32)
}

/// Maximum in the total order of canonical values. `f32::max` is not used: it drops NaNs and may return either zero.
#[inline(always)]
pub fn max(a: f32, b: f32) -> f32 {
	from_order_key(order_key(a).max(order_key(b)))
}

/// Correctly rounded square root.
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
	#[cfg(feature = "std")]
	{
		x.sqrt()
	}
	#[cfg(not(feature = "std"))]
	{
		libm::sqrtf(x)
	}
}

/// Correctly rounded square root in f64.
#[inline(always)]
pub fn sqrt_f64(x: f64) -> f64 {
	#[cfg(feature = "std")]
	{
		x.sqrt()
	}
	#[cfg(not(feature = "std"))]
	{
		libm::sqrt(x)
	}
}

/// Inverts the 31 lower bits of negative numbers; its own inverse.
#[inline(always)]
fn flip(bits: i32) -> i32 {
	bits ^ (((bits >> 31) as u32) >> 1) as i32
}
