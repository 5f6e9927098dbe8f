//! Reading of Thrift's compact protocol, in which headers are written: fields with numbers and types, of which any may be skipped.

use super::Refused;

/// Structures within one another.
const MOST_DEPTH: u32 = 32;

/// Types of fields.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compact<'a>(pub(super) &'a [u8]);

/// A field of a structure.
pub(super) struct Field {
	pub(super) number: i64,
	kind: u8,
}

impl<'a> Compact<'a> {
	/// What is in `bytes` from a place on.
	pub(super) fn at(bytes: &'a [u8], place: usize) -> Self {
		Self(bytes.get(place..).unwrap_or_default())
	}

	/// The place in `bytes`, whose end this is.
	pub(super) fn place(&self, bytes: &[u8]) -> usize {
		bytes.len().saturating_sub(self.0.len())
	}

	fn byte(&mut self) -> Result<u8, Refused> {
		let (first, rest) = self.0.split_first().ok_or_else(cut)?;
		self.0 = rest;
		Ok(*first)
	}

	/// A number of seven bits a byte, the lowest first.
	pub(super) fn varint(&mut self) -> Result<u64, Refused> {
		let mut value = 0u64;
		for shift in (0..64).step_by(7) {
			let byte = self.byte()?;
			value |= u64::from(byte & 0x7f) << shift;
			if byte & 0x80 == 0 {
				return Ok(value);
			}
		}
		Err("a number in a header is too long".into())
	}

	/// A number whose lowest bit is its sign.
	pub(super) fn zigzag(&mut self) -> Result<i64, Refused> {
		let value = self.varint()?;
		Ok((value >> 1).cast_signed() ^ (value & 1).cast_signed().wrapping_neg())
	}

	/// So many bytes.
	pub(super) fn take(&mut self, length: u64) -> Result<&'a [u8], Refused> {
		let (taken, rest) = usize::try_from(length).ok().and_then(|length| self.0.split_at_checked(length)).ok_or_else(cut)?;
		self.0 = rest;
		Ok(taken)
	}

	/// Reads a structure. `field` reads the fields that it knows, and says whether it did.
	pub(super) fn fields(&mut self, field: &mut dyn FnMut(&mut Self, &Field) -> Result<bool, Refused>) -> Result<(), Refused> {
		let mut number = 0i64;
		loop {
			let header = self.byte()?;
			if header == 0 {
				return Ok(());
			}
			number = match header >> 4 {
				0 => self.zigzag()?,
				step => number.saturating_add(step.into()),
			};
			let found = Field { number, kind: header & 0x0f };
			if !field(self, &found)? {
				self.skip(found.kind, 0)?;
			}
		}
	}

	/// Reads a list of structures.
	pub(super) fn structs(&mut self, field: &Field, mut item: impl FnMut(&mut Self) -> Result<(), Refused>) -> Result<(), Refused> {
		self.expect(field, LIST)?;
		let (count, kind) = self.list()?;
		if count > 0 && kind != STRUCT {
			return Err("a header has something else than it should".into());
		}
		(0..count).try_for_each(|_| item(self))
	}

	pub(super) fn number(&mut self, field: &Field) -> Result<i64, Refused> {
		match field.kind {
			I16 | I32 | I64 => self.zigzag(),
			_ => Err("a header has something else than a number".into()),
		}
	}

	pub(super) fn flag(&mut self, field: &Field) -> Result<bool, Refused> {
		match field.kind {
			TRUE | FALSE => Ok(field.kind == TRUE),
			_ => Err("a header has something else than a flag".into()),
		}
	}

	pub(super) fn text(&mut self, field: &Field) -> Result<String, Refused> {
		self.expect(field, BINARY)?;
		let length = self.varint()?;
		Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
	}

	pub(super) fn inner(&mut self, field: &Field, read: &mut dyn FnMut(&mut Self, &Field) -> Result<bool, Refused>) -> Result<(), Refused> {
		self.expect(field, STRUCT)?;
		self.fields(read)
	}

	fn expect(&self, field: &Field, kind: u8) -> Result<(), Refused> {
		match field.kind == kind {
			true => Ok(()),
			false => Err("a header has something else than it should".into()),
		}
	}

	/// Number and type of a list's items, each of which has a byte at least.
	fn list(&mut self) -> Result<(u64, u8), Refused> {
		let header = self.byte()?;
		let count = if header >> 4 == 15 { self.varint()? } else { u64::from(header >> 4) };
		match usize::try_from(count).is_ok_and(|count| count <= self.0.len()) {
			true => Ok((count, header & 0x0f)),
			false => Err(cut()),
		}
	}

	fn skip(&mut self, kind: u8, depth: u32) -> Result<(), Refused> {
		if depth > MOST_DEPTH {
			return Err("a header is nested too deep".into());
		}
		let below = depth.saturating_add(1);
		match kind {
			TRUE | FALSE => (),
			BYTE => self.byte().map(|_| ())?,
			I16 | I32 | I64 => self.varint().map(|_| ())?,
			DOUBLE => self.take(8).map(|_| ())?,
			BINARY => {
				let length = self.varint()?;
				self.take(length)?;
			}
			LIST | SET => {
				let (count, kind) = self.list()?;
				for _ in 0..count {
					self.skip_item(kind, below)?;
				}
			}
			MAP => {
				let count = self.varint()?;
				if count > 0 {
					let kinds = self.byte()?;
					if usize::try_from(count).map_or(true, |count| count > self.0.len()) {
						return Err(cut());
					}
					for _ in 0..count {
						self.skip_item(kinds >> 4, below)?;
						self.skip_item(kinds & 0x0f, below)?;
					}
				}
			}
			STRUCT => loop {
				let header = self.byte()?;
				if header == 0 {
					break;
				}
				if header >> 4 == 0 {
					self.varint()?;
				}
				self.skip(header & 0x0f, below)?;
			},
			_ => return Err("a header has a type that there is not".into()),
		}
		Ok(())
	}

	/// In lists and maps, flags have a byte of their own.
	fn skip_item(&mut self, kind: u8, depth: u32) -> Result<(), Refused> {
		match kind {
			TRUE | FALSE => self.byte().map(|_| ()),
			kind => self.skip(kind, depth),
		}
	}
}

pub(super) fn cut() -> Refused {
	"it is cut, or its header is broken".into()
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn numbers_have_seven_bits_a_byte_and_their_sign_below() {
		assert_eq!(Compact(&[0xac, 0x02]).varint(), Ok(300));
		assert_eq!([0u8, 1, 2, 3].map(|byte| Compact(&[byte]).zigzag()), [Ok(0), Ok(-1), Ok(1), Ok(-2)]);
		assert!(Compact(&[0x80; 11]).varint().is_err() && Compact(&[0x80]).varint().is_err());
	}

	#[test]
	fn unknown_fields_are_skipped_whatever_they_are() {
		// Of 1 to 7: a number, a flag, a text, a list of flags, a map, a structure with a double, and a number far away.
		let bytes = [
			0x15, 0x06, 0x11, 0x18, 0x02, b'h', b'i', 0x19, 0x21, 0x01, 0x02, 0x1b, 0x01, 0x58, 0x02, 0x01, b'k', 0x1c, 0x17, 0, 0, 0, 0,
			0, 0, 0, 0, 0x00, 0x05, 0x80, 0x02, 0x09, 0x00,
		];
		let mut numbers = Vec::new();
		let mut compact = Compact(&bytes);
		compact
			.fields(&mut |input, field| {
				if matches!(field.number, 1 | 128) {
					numbers.push(input.number(field)?);
					return Ok(true);
				}
				Ok(false)
			})
			.unwrap();
		assert_eq!((numbers, compact.0.len()), (vec![3, -5], 0));
	}

	#[test]
	fn what_is_nested_too_deep_or_longer_than_its_bytes_is_refused() {
		let skip = |bytes: &[u8]| Compact(bytes).fields(&mut |_, _| Ok(false));
		assert!(skip(&[0x1c; 100]).unwrap_err().contains("too deep"));
		assert!(skip(&[0x19, 0xf5, 0xff, 0xff, 0xff, 0x7f, 0]).unwrap_err().contains("cut"));
		assert!(skip(&[0x1b, 0xff, 0xff, 0xff, 0x7f, 0x55, 0]).unwrap_err().contains("cut"));
		assert!(skip(&[0x1e, 0]).is_err() && skip(&[]).is_err());
	}
}
