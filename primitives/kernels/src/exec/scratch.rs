//! Working memory that grows to what is needed and stays.

/// A 64-byte-aligned buffer.
#[derive(Default)]
pub(super) struct Scratch(Vec<f32>);

impl Scratch {
	/// `len` elements with arbitrary contents.
	pub(super) fn take(&mut self, len: usize) -> &mut [f32] {
		const ALIGNMENT: usize = 64 / size_of::<f32>();
		if self.0.len() < len + ALIGNMENT {
			self.0 = vec![0.0; len + ALIGNMENT];
		}
		let offset = self.0.as_ptr().align_offset(64).min(ALIGNMENT);
		&mut self.0[offset..offset + len]
	}
}
