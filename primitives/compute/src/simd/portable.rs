//! The vector operations as plain Rust on arrays.

use super::{few, product, Isa, LANES};
use neuroshard_kernels::{
	math::{EXP_HI, EXP_LO, ROUND},
	num,
};

#[derive(Clone, Copy)]
pub(crate) struct Portable;

type V = [f32; LANES];
type K = [i32; LANES];

#[inline(always)]
fn map2<T: Copy>(mut a: [T; LANES], b: [T; LANES], f: impl Fn(T, T) -> T) -> [T; LANES] {
	for (a, b) in a.iter_mut().zip(b) {
		*a = f(*a, b);
	}
	a
}

impl Isa for Portable {
	type V = V;
	type K = K;
	const MR: usize = 6;
	const NR: usize = 16;
	const FEW: usize = 1;

	#[inline(always)]
	unsafe fn load(p: *const f32) -> V {
		// SAFETY: 16 elements are readable; an array of f32 needs no more alignment than f32.
		unsafe { p.cast::<V>().read() }
	}
	#[inline(always)]
	unsafe fn store(p: *mut f32, v: V) {
		// SAFETY: 16 elements are writable.
		unsafe { p.cast::<V>().write(v) }
	}
	#[inline(always)]
	unsafe fn splat(x: f32) -> V {
		[x; LANES]
	}
	#[inline(always)]
	unsafe fn add(a: V, b: V) -> V {
		map2(a, b, |a, b| a + b)
	}
	#[inline(always)]
	unsafe fn sub(a: V, b: V) -> V {
		map2(a, b, |a, b| a - b)
	}
	#[inline(always)]
	unsafe fn mul(a: V, b: V) -> V {
		map2(a, b, |a, b| a * b)
	}
	#[inline(always)]
	unsafe fn div(a: V, b: V) -> V {
		map2(a, b, |a, b| a / b)
	}
	#[inline(always)]
	unsafe fn sqrt(a: V) -> V {
		a.map(num::sqrt)
	}
	#[inline(always)]
	unsafe fn fma(a: V, b: V, mut c: V) -> V {
		for i in 0..LANES {
			c[i] = num::fma(a[i], b[i], c[i]);
		}
		c
	}
	#[inline(always)]
	unsafe fn fnma(a: V, b: V, mut c: V) -> V {
		for i in 0..LANES {
			c[i] = num::fma(-a[i], b[i], c[i]);
		}
		c
	}
	#[inline(always)]
	unsafe fn exp_finish(x: V, shifted: V, mut y: V) -> V {
		for i in 0..LANES {
			let n = shifted[i].to_bits().wrapping_sub(ROUND.to_bits());
			y[i] = if x[i].is_nan() {
				num::NAN
			} else if x[i] < EXP_LO {
				0.0
			} else {
				f32::from_bits(y[i].to_bits().wrapping_add(n << 23))
			};
		}
		y
	}
	#[inline(always)]
	unsafe fn exp_clamp(x: V) -> V {
		x.map(|x| if x > EXP_HI { EXP_HI } else { x })
	}
	#[inline(always)]
	unsafe fn key(a: V) -> K {
		a.map(num::order_key)
	}
	#[inline(always)]
	unsafe fn from_key(a: K) -> V {
		a.map(num::from_order_key)
	}
	#[inline(always)]
	unsafe fn min_key(a: K, b: K) -> K {
		map2(a, b, Ord::min)
	}
	#[inline(always)]
	unsafe fn max_key(a: K, b: K) -> K {
		map2(a, b, Ord::max)
	}
	#[inline(always)]
	unsafe fn transpose(rows: &mut [V; 16]) {
		let original = *rows;
		for (r, row) in rows.iter_mut().enumerate() {
			*row = original.map(|column| column[r]);
		}
	}
	#[inline(always)]
	unsafe fn tile(k: usize, a: *const f32, b: *const f32, c: *mut f32, ldc: usize, load: bool, next: *const f32) {
		// SAFETY: as for this method; 6 rows of 1 vector.
		unsafe { product::tile::<Self, 6, 1>(k, a, b, c, ldc, load, next) }
	}
	#[inline(always)]
	unsafe fn few(_one: usize, nk: (usize, usize), a: *const f32, b: *const f32, c: *mut f32, ldc: usize, load: bool) {
		// SAFETY: as for this method.
		unsafe { few::columns::<Self, 1, 1, 1>(nk, a, b, c, ldc, load) }
	}
}
