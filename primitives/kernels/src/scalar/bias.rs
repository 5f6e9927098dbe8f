//! Biases: one number for each column, and its gradient.

use crate::shape::Start;

/// Adds `b` `[cols]` to each row of `x` `[rows, cols]`.
pub fn add_bias(x: &mut [f32], b: &[f32]) {
	assert!(!b.is_empty() && x.len().is_multiple_of(b.len()), "shape");
	for x in x.chunks_exact_mut(b.len()) {
		super::add_assign(x, b);
	}
}

/// Sums of the columns of `dy` `[rows, cols]`: a chain `db + dy` over the rows, ascending, for each column, from `start`.
pub fn column_sums(dy: &[f32], db: &mut [f32], start: Start) {
	assert!(!db.is_empty() && dy.len().is_multiple_of(db.len()), "shape");
	if start == Start::Zero {
		db.fill(0.0);
	}
	for dy in dy.chunks_exact(db.len()) {
		super::add_assign(db, dy);
	}
}
