//! Reductions (rule 9): 16 lanes and a tree written out by hand; whole tensors by tiles and a fan-in of 1,024.

use crate::{
	num::fma,
	shape::{tile_count, FAN_IN, TILE},
};

/// The resumable state of a row reduction: element `e` goes to lane `e mod 16`, in ascending order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lanes(
	/// The partial sums.
	pub [f32; 16],
);

impl Lanes {
	/// Adds `value`, which stands at index `element` of its row.
	#[inline]
	pub fn add(&mut self, element: usize, value: f32) {
		self.0[element % 16] += value;
	}

	/// Adds `a * b` in one rounding.
	#[inline]
	pub fn add_product(&mut self, element: usize, a: f32, b: f32) {
		let lane = &mut self.0[element % 16];
		*lane = fma(a, b, *lane);
	}

	/// The sum of the lanes: l + 8, l + 4, l + 2, l + 1.
	#[inline]
	pub fn finish(self) -> f32 {
		let l = self.0;
		let a = [l[0] + l[8], l[1] + l[9], l[2] + l[10], l[3] + l[11], l[4] + l[12], l[5] + l[13], l[6] + l[14], l[7] + l[15]];
		let b = [a[0] + a[4], a[1] + a[5], a[2] + a[6], a[3] + a[7]];
		let c = [b[0] + b[2], b[1] + b[3]];
		c[0] + c[1]
	}
}

/// Sum of products of two rows.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
	let mut lanes = Lanes::default();
	for (e, (&a, &b)) in a.iter().zip(b).enumerate() {
		lanes.add_product(e, a, b);
	}
	lanes.finish()
}

/// One partial sum of squares for each 32x32 tile of `x` `[rows, cols]`, tiles row by row.
///
/// Within a tile element `(r, c)` has index `32 r + c`; elements beyond the tensor's edge count as +0.
pub fn tile_sum_squares(x: &[f32], rows: usize, cols: usize, partials: &mut [f32]) {
	tiles(x, rows, cols, partials, |lanes, e, x| lanes.add_product(e, x, x));
}

/// One partial sum for each 32x32 tile of `x` `[rows, cols]`, tiles row by row.
pub fn tile_sums(x: &[f32], rows: usize, cols: usize, partials: &mut [f32]) {
	tiles(x, rows, cols, partials, |lanes, e, x| lanes.add(e, x));
}

fn tiles(x: &[f32], rows: usize, cols: usize, partials: &mut [f32], add: impl Fn(&mut Lanes, usize, f32)) {
	assert_eq!(x.len(), rows * cols, "input");
	assert_eq!(partials.len(), tile_count(rows, cols), "partials");
	let across = cols.div_ceil(TILE);
	for (tile, partial) in partials.iter_mut().enumerate() {
		let (top, left) = (tile / across * TILE, tile % across * TILE);
		let mut lanes = Lanes::default();
		for r in top..rows.min(top + TILE) {
			for (e, &x) in x[r * cols + left..r * cols + cols.min(left + TILE)].iter().enumerate() {
				add(&mut lanes, e, x);
			}
		}
		*partial = lanes.finish();
	}
}

/// Sum of the partials of one or more tensors: level by level, groups of 1,024, each by 16 lanes. Overwrites `values`.
///
/// Returns +0 for no values.
pub fn tree_sum(values: &mut [f32]) -> f32 {
	let mut len = values.len();
	if len == 0 {
		return 0.0;
	}
	loop {
		let groups = len.div_ceil(FAN_IN);
		for g in 0..groups {
			let mut lanes = Lanes::default();
			for (e, &x) in values[g * FAN_IN..len.min((g + 1) * FAN_IN)].iter().enumerate() {
				lanes.add(e, x);
			}
			values[g] = lanes.finish();
		}
		if groups == 1 {
			return values[0];
		}
		len = groups;
	}
}
