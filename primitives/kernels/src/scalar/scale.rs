//! Multiplication by a number.

/// `x = x * factor` for each element.
pub fn scale(x: &mut [f32], factor: f32) {
	for x in x {
		*x *= factor;
	}
}
