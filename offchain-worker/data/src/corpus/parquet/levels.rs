//! Small numbers, of which equal ones are counted and others packed: what is missing, and places in a dictionary.

use super::{
	thrift::{cut, Compact},
	Refused,
};

/// Numbers of `width` bits.
#[derive(Clone, Debug)]
pub(super) struct Levels<'a> {
	input: Compact<'a>,
	width: u32,
	/// Equal numbers that are still to come.
	equal: u64,
	value: u32,
	/// Packed numbers that are still to come, and the bits of those that were begun.
	packed: u64,
	bits: u64,
	held: u32,
}

impl<'a> Levels<'a> {
	pub(super) fn new(bytes: &'a [u8], width: u32) -> Result<Self, Refused> {
		match width <= 32 {
			true => Ok(Self { input: Compact(bytes), width, equal: 0, value: 0, packed: 0, bits: 0, held: 0 }),
			false => Err("a page has numbers of more than 32 bits".into()),
		}
	}

	pub(super) fn next(&mut self) -> Result<u32, Refused> {
		loop {
			if let Some(left) = self.equal.checked_sub(1) {
				self.equal = left;
				return Ok(self.value);
			}
			if let Some(left) = self.packed.checked_sub(1) {
				self.packed = left;
				return self.unpack();
			}
			self.run()?;
		}
	}

	fn run(&mut self) -> Result<(), Refused> {
		let header = self.input.varint()?;
		(self.bits, self.held) = (0, 0);
		if header & 1 == 1 {
			self.packed = (header >> 1).saturating_mul(8);
			return Ok(());
		}
		self.equal = header >> 1;
		let bytes = self.input.take(self.width.div_ceil(8).into())?;
		self.value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
		Ok(())
	}

	fn unpack(&mut self) -> Result<u32, Refused> {
		while self.held < self.width {
			let [byte, rest @ ..] = self.input.0 else { return Err(cut()) };
			self.input.0 = rest;
			self.bits |= u64::from(*byte) << self.held;
			self.held = self.held.saturating_add(8);
		}
		let mask = (1u64 << self.width).wrapping_sub(1);
		let value = u32::try_from(self.bits & mask).unwrap_or(u32::MAX);
		self.bits >>= self.width;
		self.held = self.held.saturating_sub(self.width);
		Ok(value)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn numbers_are_counted_or_packed() {
		// 100 times 4, and then 0 to 7 in three bits: the example of the format's description.
		let mut levels = Levels::new(&[0xc8, 0x01, 0x04, 0x03, 0x88, 0xc6, 0xfa], 3).unwrap();
		assert!((0..100).all(|_| levels.next() == Ok(4)));
		assert_eq!((0..8).map(|_| levels.next().unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
		assert!(levels.next().is_err());
		assert!(Levels::new(&[], 33).is_err());
		// No bits, as in a dictionary of one.
		assert_eq!(Levels::new(&[0x10], 0).unwrap().next(), Ok(0));
		assert_eq!(Levels::new(&[0x03], 0).unwrap().next(), Ok(0));
		assert_eq!(Levels::new(&[0x02, 0xff, 0xff, 0xff, 0xff], 32).unwrap().next(), Ok(u32::MAX));
	}
}
