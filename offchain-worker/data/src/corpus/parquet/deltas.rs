//! Numbers as differences, in blocks of few bits: the lengths of texts.

use super::{
	thrift::{cut, Compact},
	Refused,
};
use std::ops::Range;

/// Numbers that are still to come, at a place in bytes that are handed over each time.
#[derive(Clone, Debug)]
pub(super) struct Deltas {
	at: usize,
	/// Numbers of a packed part of a block, and parts of a block.
	part: u64,
	parts: u64,
	left: u64,
	value: i64,
	first: bool,
	least: i64,
	/// Widths of the parts of this block that are still to come.
	widths: Range<usize>,
	/// Packed numbers of this part that are still to come.
	packed: Range<usize>,
	in_part: u64,
	width: u32,
	bits: u128,
	held: u32,
}

impl Deltas {
	/// Numbers at a place in `bytes`, at most `most`.
	pub(super) fn new(bytes: &[u8], at: usize, most: u64) -> Result<Self, Refused> {
		let mut input = Compact::at(bytes, at);
		let (block, parts, left) = (input.varint()?, input.varint()?, input.varint()?);
		let value = input.zigzag()?;
		let part = block.checked_div(parts).filter(|part| *part > 0 && part % 8 == 0 && block % parts == 0 && block <= 1 << 20);
		let part = part.filter(|_| left <= most).ok_or("the lengths of a page are broken")?;
		let (widths, packed) = Default::default();
		Ok(Self {
			at: input.place(bytes),
			part,
			parts,
			left,
			value,
			first: true,
			least: 0,
			widths,
			packed,
			in_part: 0,
			width: 0,
			bits: 0,
			held: 0,
		})
	}

	/// The next number; none at the end.
	pub(super) fn next(&mut self, bytes: &[u8]) -> Result<Option<i64>, Refused> {
		let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
		self.left = left;
		if !std::mem::take(&mut self.first) {
			if self.in_part == 0 {
				self.begin_part(bytes)?;
			}
			self.in_part = self.in_part.saturating_sub(1);
			let delta = self.unpack(bytes)?;
			self.value = self.value.wrapping_add(self.least).wrapping_add(delta.cast_signed());
		}
		Ok(Some(self.value))
	}

	/// The place behind all numbers.
	pub(super) fn behind(mut self, bytes: &[u8]) -> Result<usize, Refused> {
		while self.next(bytes)?.is_some() {}
		Ok(self.at)
	}

	fn begin_part(&mut self, bytes: &[u8]) -> Result<(), Refused> {
		if self.widths.is_empty() {
			let mut input = Compact::at(bytes, self.at);
			self.least = input.zigzag()?;
			self.widths = self.take(input.place(bytes), self.parts, bytes)?;
		}
		let width = self.widths.next().and_then(|place| bytes.get(place)).ok_or_else(cut)?;
		self.width = u32::from(*width);
		if self.width > 64 {
			return Err("the lengths of a page are broken".into());
		}
		self.packed = self.take(self.at, self.part.saturating_mul(self.width.into()).div_ceil(8), bytes)?;
		(self.in_part, self.bits, self.held) = (self.part, 0, 0);
		Ok(())
	}

	/// The place of so many bytes from `start` on, behind which it goes on.
	fn take(&mut self, start: usize, length: u64, bytes: &[u8]) -> Result<Range<usize>, Refused> {
		let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length)).filter(|end| *end <= bytes.len());
		self.at = end.ok_or_else(cut)?;
		Ok(start..self.at)
	}

	fn unpack(&mut self, bytes: &[u8]) -> Result<u64, Refused> {
		while self.held < self.width {
			let byte = self.packed.next().and_then(|place| bytes.get(place)).ok_or_else(cut)?;
			self.bits |= u128::from(*byte) << self.held;
			self.held = self.held.saturating_add(8);
		}
		let value = u64::try_from(self.bits & (1u128 << self.width).wrapping_sub(1)).unwrap_or(u64::MAX);
		self.bits >>= self.width;
		self.held = self.held.saturating_sub(self.width);
		Ok(value)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn numbers(bytes: &[u8]) -> (Vec<i64>, &[u8]) {
		let mut deltas = Deltas::new(bytes, 0, 100).unwrap();
		let behind = deltas.clone().behind(bytes).unwrap();
		(std::iter::from_fn(|| deltas.next(bytes).unwrap()).collect(), &bytes[behind..])
	}

	#[test]
	fn differences_are_added_up() {
		// Blocks of 8 in one part. 7, 5, 3, 1, 2, 3, 4, 5: differences of -2 and 1, of which -2 is the least, in two bits: 0, 0, 0, 3, 3, 3, 3 and none.
		assert_eq!(numbers(&[8, 1, 8, 14, 3, 2, 0xc0, 0x3f, b'x']), (vec![7, 5, 3, 1, 2, 3, 4, 5], &b"x"[..]));
		assert_eq!(numbers(&[0x80, 1, 4, 1, 6, b'y']), (vec![3], &b"y"[..]));
		assert_eq!(numbers(&[0x80, 1, 4, 0, 0]), (vec![], &b""[..]));
		// Equal numbers take no bits.
		assert_eq!(numbers(&[8, 1, 9, 4, 0, 0]), (vec![2; 9], &b""[..]));
	}

	#[test]
	fn broken_ones_are_refused() {
		for bytes in [&[8, 0, 1, 0][..], &[7, 1, 1, 0], &[8, 3, 1, 0], &[8, 1, 101, 0], &[0x80, 0x80, 0x80, 1, 1, 1, 0], &[8, 1]] {
			assert!(Deltas::new(bytes, 0, 100).is_err(), "{bytes:?}");
		}
		for bytes in [&[8, 1, 2, 0, 0, 65][..], &[8, 1, 2, 0, 0, 8, 1], &[8, 1, 2, 0]] {
			assert!(Deltas::new(bytes, 0, 100).unwrap().behind(bytes).is_err(), "{bytes:?}");
		}
	}
}
