//! Numbers as differences, in blocks of few bits: the lengths of texts.

use super::{
	thrift::{cut, Compact},
	Refused,
};

/// Numbers that are still to come.
#[derive(Clone, Debug)]
pub(super) struct Deltas<'a> {
	input: Compact<'a>,
	/// Numbers of a packed part of a block, and parts of a block.
	part: u64,
	parts: u64,
	left: u64,
	value: i64,
	first: bool,
	least: i64,
	/// Widths of the parts of this block that are still to come.
	widths: &'a [u8],
	/// Packed numbers of this part that are still to come.
	packed: &'a [u8],
	in_part: u64,
	width: u32,
	bits: u128,
	held: u32,
}

impl<'a> Deltas<'a> {
	/// Numbers at the beginning of `bytes`, at most `most`.
	pub(super) fn new(bytes: &'a [u8], most: u64) -> Result<Self, Refused> {
		let mut input = Compact(bytes);
		let (block, parts, left) = (input.varint()?, input.varint()?, input.varint()?);
		let value = input.zigzag()?;
		let part = block.checked_div(parts).filter(|part| *part > 0 && part % 8 == 0 && block % parts == 0 && block <= 1 << 20);
		let part = part.filter(|_| left <= most).ok_or("the lengths of a page are broken")?;
		let (widths, packed) = Default::default();
		Ok(Self { input, part, parts, left, value, first: true, least: 0, widths, packed, in_part: 0, width: 0, bits: 0, held: 0 })
	}

	/// The next number; none at the end.
	pub(super) fn next(&mut self) -> Result<Option<i64>, Refused> {
		let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
		self.left = left;
		if !std::mem::take(&mut self.first) {
			if self.in_part == 0 {
				self.begin_part()?;
			}
			self.in_part = self.in_part.saturating_sub(1);
			let delta = self.unpack()?;
			self.value = self.value.wrapping_add(self.least).wrapping_add(delta.cast_signed());
		}
		Ok(Some(self.value))
	}

	/// What is behind all numbers.
	pub(super) fn behind(mut self) -> Result<&'a [u8], Refused> {
		while self.next()?.is_some() {}
		Ok(self.input.0)
	}

	fn begin_part(&mut self) -> Result<(), Refused> {
		if self.widths.is_empty() {
			self.least = self.input.zigzag()?;
			self.widths = self.input.take(self.parts)?;
		}
		let (width, rest) = self.widths.split_first().ok_or_else(cut)?;
		(self.width, self.widths) = (u32::from(*width), rest);
		if self.width > 64 {
			return Err("the lengths of a page are broken".into());
		}
		self.packed = self.input.take(self.part.saturating_mul(self.width.into()).div_ceil(8))?;
		(self.in_part, self.bits, self.held) = (self.part, 0, 0);
		Ok(())
	}

	fn unpack(&mut self) -> Result<u64, Refused> {
		while self.held < self.width {
			let (byte, rest) = self.packed.split_first().ok_or_else(cut)?;
			self.packed = rest;
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
		let mut deltas = Deltas::new(bytes, 100).unwrap();
		let behind = deltas.clone().behind().unwrap();
		(std::iter::from_fn(|| deltas.next().unwrap()).collect(), behind)
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
			assert!(Deltas::new(bytes, 100).is_err(), "{bytes:?}");
		}
		for bytes in [&[8, 1, 2, 0, 0, 65][..], &[8, 1, 2, 0, 0, 8, 1], &[8, 1, 2, 0]] {
			assert!(Deltas::new(bytes, 100).unwrap().behind().is_err(), "{bytes:?}");
		}
	}
}
