//! Working memory that grows to what is needed and stays.

use crate::pages::zeros;

const ALIGNMENT: usize = 64 / size_of::<f32>();

/// A 64-byte-aligned buffer.
#[derive(Default)]
pub(super) struct Scratch(Vec<f32>);

impl Scratch {
	/// `len` elements with arbitrary contents.
	pub(super) fn take(&mut self, len: usize) -> &mut [f32] {
		if self.0.len() < len + ALIGNMENT {
			self.0 = zeros(len + ALIGNMENT);
		}
		let offset = self.offset();
		&mut self.0[offset..offset + len]
	}

	/// All that were taken, and some more.
	pub(super) fn taken(&self) -> &[f32] {
		&self.0[self.offset()..]
	}

	fn offset(&self) -> usize {
		self.0.as_ptr().align_offset(64).min(ALIGNMENT)
	}
}
