//! Small numbers, of which equal ones are counted and others packed: what is missing or repeated, and places in a dictionary.

use super::{
	thrift::{cut, Compact},
	Refused,
};

/// Numbers of `width` bits, at a place in bytes that are handed over each time.
#[derive(Clone, Debug)]
pub(super) struct Levels {
	at: usize,
	width: u32,
	/// Equal numbers that are still to come.
	equal: u64,
	value: u32,
	/// Packed numbers that are still to come, and the bits of those that were begun.
	packed: u64,
	bits: u64,
	held: u32,
}

impl Levels {
	pub(super) fn new(at: usize, width: u32) -> Result<Self, Refused> {
		match width <= 32 {
			true => Ok(Self { at, width, equal: 0, value: 0, packed: 0, bits: 0, held: 0 }),
			false => Err("a page has numbers of more than 32 bits".into()),
		}
	}

	pub(super) fn next(&mut self, bytes: &[u8]) -> Result<u32, Refused> {
		loop {
			if let Some(left) = self.equal.checked_sub(1) {
				self.equal = left;
				return Ok(self.value);
			}
			if let Some(left) = self.packed.checked_sub(1) {
				self.packed = left;
				return self.unpack(bytes);
			}
			self.run(bytes)?;
		}
	}

	fn run(&mut self, bytes: &[u8]) -> Result<(), Refused> {
		let mut input = Compact::at(bytes, self.at);
		let header = input.varint()?;
		self.at = input.place(bytes);
		(self.bits, self.held) = (0, 0);
		if header & 1 == 1 {
			self.packed = (header >> 1).saturating_mul(8);
			return Ok(());
		}
		self.equal = header >> 1;
		let value = input.take(self.width.div_ceil(8).into())?;
		self.at = input.place(bytes);
		self.value = value.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
		Ok(())
	}

	fn unpack(&mut self, bytes: &[u8]) -> Result<u32, Refused> {
		while self.held < self.width {
			let byte = bytes.get(self.at).ok_or_else(cut)?;
			self.at = self.at.saturating_add(1);
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
		let (mut levels, bytes) = (Levels::new(0, 3).unwrap(), [0xc8, 0x01, 0x04, 0x03, 0x88, 0xc6, 0xfa]);
		assert!((0..100).all(|_| levels.next(&bytes) == Ok(4)));
		assert_eq!((0..8).map(|_| levels.next(&bytes).unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
		assert!(levels.next(&bytes).is_err());
		assert!(Levels::new(0, 33).is_err());
		// No bits, as in a dictionary of one.
		assert_eq!(Levels::new(0, 0).unwrap().next(&[0x10]), Ok(0));
		assert_eq!(Levels::new(0, 0).unwrap().next(&[0x03]), Ok(0));
		assert_eq!(Levels::new(1, 32).unwrap().next(&[9, 0x02, 0xff, 0xff, 0xff, 0xff]), Ok(u32::MAX));
	}
}
