//! Memory for a plan.

use crate::pages::zeros;
use std::{
	borrow::{Borrow, BorrowMut},
	ops::{Deref, DerefMut},
};

/// Bytes that arenas are aligned to: a cache line, and the widest SIMD register.
const ALIGNMENT: usize = 64;

/// A zeroed arena, aligned to 64 bytes. Any other `&mut [f32]` of the same length gives the same results. The default has no elements.
#[derive(Default)]
pub struct Arena {
	buffer: Vec<f32>,
	first: usize,
	len: usize,
}

impl Arena {
	/// An arena of `len` elements.
	pub fn new(len: usize) -> Self {
		let slack = ALIGNMENT / size_of::<f32>();
		let buffer = zeros(len + slack);
		// `align_offset` may decline to answer; an arena that is not aligned is slower and nothing else.
		let first = buffer.as_ptr().align_offset(ALIGNMENT).min(slack);
		Self { buffer, first, len }
	}
}

impl Deref for Arena {
	type Target = [f32];

	fn deref(&self) -> &[f32] {
		&self.buffer[self.first..self.first + self.len]
	}
}

impl DerefMut for Arena {
	fn deref_mut(&mut self) -> &mut [f32] {
		&mut self.buffer[self.first..self.first + self.len]
	}
}

impl Borrow<[f32]> for Arena {
	fn borrow(&self) -> &[f32] {
		self
	}
}

impl BorrowMut<[f32]> for Arena {
	fn borrow_mut(&mut self) -> &mut [f32] {
		self
	}
}
