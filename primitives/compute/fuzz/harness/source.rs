//! Decisions read off an input: the same bytes always give the same ones, and any bytes will do.

/// The unread rest of an input; zeros follow its end.
pub struct Source<'a>(pub &'a [u8]);

impl Source<'_> {
	pub fn byte(&mut self) -> u8 {
		let Some((&first, rest)) = self.0.split_first() else { return 0 };
		self.0 = rest;
		first
	}

	pub fn word(&mut self) -> u32 {
		u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
	}

	/// A number below `bound`, or 0 for a bound of 0. Small bounds take a byte.
	pub fn below(&mut self, bound: u32) -> u32 {
		let drawn = if bound <= 256 { u32::from(self.byte()) } else { self.word() };
		drawn.checked_rem(bound).unwrap_or(0)
	}

	/// Once in `times` (at least 2), and never when the input is at its end.
	pub fn once_in(&mut self, times: u8) -> bool {
		self.byte() % times == times - 1
	}

	/// A number below `common`, or once in four times below `rare`.
	pub fn either(&mut self, common: u32, rare: u32) -> u32 {
		let bound = if self.once_in(4) { rare } else { common };
		self.below(bound)
	}

	/// Mostly a number below `bound`, and now and then any.
	pub fn about(&mut self, bound: u32) -> u32 {
		match self.byte() % 8 {
			6 => bound.saturating_sub(1).saturating_add(self.below(3)),
			7 => self.word(),
			_ => self.below(bound),
		}
	}

	/// A few changes to `bytes`, or none.
	pub fn edit(&mut self, bytes: &mut Vec<u8>) {
		for _ in 0..self.below(4) {
			let at = self.below(u32::try_from(bytes.len()).unwrap_or(u32::MAX)) as usize;
			match self.byte() % 8 {
				0 | 1 if at < bytes.len() => bytes[at] ^= 1 << (self.byte() % 8),
				2 if at < bytes.len() => bytes[at] = self.byte(),
				3 => bytes.truncate(at),
				4 => bytes.push(self.byte()),
				5 => bytes.extend((0..32).map(|_| self.byte())),
				6 if at + 32 <= bytes.len() => drop(bytes.drain(at..at + 32)),
				7 if at < bytes.len() => bytes.rotate_left(at),
				_ => {}
			}
		}
	}

	/// A float of any kind: more often than by chance a special one.
	pub fn float(&mut self) -> f32 {
		match self.byte() % 16 {
			0 => f32::NAN,
			1 => -f32::NAN,
			2 => f32::INFINITY,
			3 => f32::NEG_INFINITY,
			4 => -0.0,
			5 => f32::from_bits(1),
			6 => f32::MAX,
			7 => f32::MIN_POSITIVE,
			8..12 => f32::from_bits(self.word()),
			_ => f32::from(self.byte()) / 64.0 - 2.0,
		}
	}
}
