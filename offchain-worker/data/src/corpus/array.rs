//! A JSON array of objects, which is read one after another.

use super::{
	column::{Pick, Records},
	inflate::refusal,
	reader::{At, Reader},
	text::BYTE_ORDER_MARK,
	Format,
};
use crate::DataError;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::{
	cell::Cell,
	fmt,
	io::{self, BufRead, BufReader, Read},
};

/// So many bytes are read at once, and may be counted with the wrong object.
const BUFFER: usize = 16 << 10;

/// Takes the text of each object.
pub(super) fn read(reader: &mut Reader<'_>, input: &mut dyn BufRead, at: &At<'_>) -> Result<(), DataError> {
	let read = Cell::new(0);
	if input.fill_buf().map_err(|error| at.failed(error))?.starts_with(BYTE_ORDER_MARK) {
		input.consume(BYTE_ORDER_MARK.len());
	}
	let limited = Limited { input, read: &read, most: reader.record_bytes() };
	let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(BUFFER, limited));
	let mut each = Each { reader, at, read: &read, records: Records::default(), stopped: None };
	let parsed = json.deserialize_seq(&mut each).and_then(|()| json.end());
	match (each.stopped, parsed) {
		(Some(stopped), _) => stopped,
		(None, Ok(())) => each.records.end(each.reader, at),
		(None, Err(error)) if error.is_io() => Err(at.failed(error.into())),
		(None, Err(error)) => Err(at.broken(format!("this is no JSON: {error}"))),
	}
}

/// What objects are in ends with an error where one is too long.
struct Limited<'a> {
	input: &'a mut dyn BufRead,
	/// Bytes of the object so far.
	read: &'a Cell<u64>,
	most: u64,
}

impl Read for Limited<'_> {
	fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
		let count = self.input.read(buffer)?;
		self.read.set(self.read.get().saturating_add(u64::try_from(count).unwrap_or(u64::MAX)));
		match self.read.get() > self.most {
			true => Err(refusal(format!("an object has more than {} bytes: raise --record-bytes", self.most))),
			false => Ok(count),
		}
	}
}

struct Each<'a, 'r> {
	reader: &'a mut Reader<'r>,
	at: &'a At<'a>,
	read: &'a Cell<u64>,
	records: Records,
	/// Why no more is read.
	stopped: Option<Result<(), DataError>>,
}

impl<'de> Visitor<'de> for &mut Each<'_, '_> {
	type Value = ();

	fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
		to.write_str("an array of objects")
	}

	fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
		loop {
			let mut names = Vec::new();
			let pick = Pick { path: self.reader.column(), names: self.records.wants_names().then_some(&mut names) };
			let Some(value) = items.next_element_seed(pick)? else { return Ok(()) };
			self.read.set(0);
			let taken = match self.reader.room() {
				0 => {
					self.reader.leave_rest(self.at);
					Some(Ok(()))
				}
				_ => self.records.take(self.reader, value, names, Format::JsonArray, self.at).err().map(Err),
			};
			if taken.is_some() {
				self.stopped = taken;
				return Err(A::Error::custom("no more is read"));
			}
		}
	}
}
