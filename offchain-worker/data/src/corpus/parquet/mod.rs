//! Parquet, of which one column of texts is read, or the two of conversations, page by page.
//!
//! Nothing here allocates or repeats what a file merely claims: every count is held against the bytes that are there, and against how much a
//! file may become. That is why it is read here: the `parquet` crate, which writes the files of the tests, ends the process or takes all memory
//! for some files that are made for it.
//!
//! - `thrift`: how headers are written; `footer`: which columns there are, and where; `page`: what is in a page; `levels` and `deltas`: how numbers
//!   are packed; `codec`: compression; `chats`: conversations, in lists of roles and contents.

mod chats;
mod codec;
mod deltas;
mod footer;
mod levels;
mod page;
mod thrift;

use super::{
	column::{conversation, no_column, Records, Value},
	inflate::most_bytes,
	reader::{At, Part, Reader},
	Format,
};
use crate::{meter::Meter, DataError};
use footer::Leaf;
use page::Pages;
use std::{fs::File, os::unix::fs::FileExt};

/// Why a file is no Parquet that can be read, in words.
type Refused = String;

/// Physical type of columns of texts.
const BYTE_ARRAY: i64 = 6;

/// Takes the text of each row, or the conversation in it.
pub(super) fn read(reader: &mut Reader<'_>, file: &File, at: &At<'_>) -> Result<(), DataError> {
	let source = Source { file, at, size: at.size.unwrap_or(0), meter: reader.meter() };
	let footer = source.footer()?;
	let columns = if reader.takes_records() { reader.chat_columns() } else { vec![reader.column()] };
	let is_wanted =
		|leaf: &Leaf| columns.iter().any(|column| leaf.path == *column || (reader.takes_records() && chats::is_of(leaf, column)));
	let (found, names) = footer::find(&footer, is_wanted).map_err(|words| at.broken(words))?;
	// The first of the names that is there, in the order in which they are asked for.
	let column = columns.iter().find(|column| found.iter().any(|(_, leaf)| chats::is_of(leaf, column) || leaf.path == **column));
	let column = column.ok_or_else(|| no_column(columns.first().unwrap_or(&""), &names, at))?;
	let mut budget = Budget(most_bytes(source.size));
	match found.iter().rev().find(|(_, leaf)| leaf.path == *column) {
		Some((_, leaf)) if leaf.kind != BYTE_ARRAY || leaf.repeated > 0 => {
			return Err(at.broken(format!("its column {:?} has no texts, but numbers or lists: name another with --column", leaf.path)));
		}
		Some((index, leaf)) => texts(reader, &source, (&footer, *index, leaf), &mut budget)?,
		None => chats::read(reader, &source, &footer, (column, &found), &mut budget)?,
	}
	if reader.room() == 0 {
		reader.leave_rest(at);
	}
	Ok(())
}

/// Takes the texts of a column.
fn texts(
	reader: &mut Reader<'_>,
	source: &Source<'_>,
	(footer, index, leaf): (&[u8], usize, &Leaf),
	budget: &mut Budget,
) -> Result<(), DataError> {
	let (at, mut records) = (source.at, Records::default());
	for chunk in footer::chunks(footer, index).map_err(|words| at.broken(words))? {
		let mut pages = Pages::new(&chunk, leaf);
		while reader.room() > 0 {
			let Some(value) = pages.next(source)? else { break };
			budget.spend(value.text, at)?;
			let value = match value.text.map(|text| reader.utf8(text, Part::Row(records.number()), at)).transpose()? {
				Some(Some(text)) if reader.takes_records() => Value::Text(conversation(&text).into_owned()),
				Some(Some(text)) => Value::Text(text.into_owned()),
				Some(None) => {
					records.skip();
					continue;
				}
				None => Value::Other,
			};
			records.take(reader, value, Vec::new(), Format::Parquet, at)?;
		}
	}
	Ok(())
}

/// Bytes that a file may become yet.
struct Budget(u64);

impl Budget {
	/// Takes the bytes of a value from it.
	fn spend(&mut self, text: Option<&[u8]>, at: &At<'_>) -> Result<(), DataError> {
		let bytes = text.map_or(1, |text| u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_add(1));
		self.0 = self.0.saturating_sub(bytes);
		match self.0 {
			0 => Err(at.broken("its column has more than 1,000 times as much text as the file has bytes")),
			_ => Ok(()),
		}
	}
}

/// A file, and what is said of it.
struct Source<'a> {
	file: &'a File,
	at: &'a At<'a>,
	size: u64,
	meter: &'a Meter,
}

impl Source<'_> {
	/// Bytes of the file.
	fn bytes(&self, place: u64, length: u64) -> Result<Vec<u8>, DataError> {
		let within = place.checked_add(length).is_some_and(|end| end <= self.size);
		let length = usize::try_from(length).ok().filter(|_| within).ok_or_else(|| self.at.broken("it is cut, or its header is broken"))?;
		let mut bytes = vec![0; length];
		self.file.read_exact_at(&mut bytes, place).map_err(|error| self.at.failed(error))?;
		let read = u64::try_from(length).unwrap_or(u64::MAX);
		self.at.read.set(self.at.read.get().saturating_add(read));
		self.meter.add_read(read);
		Ok(bytes)
	}

	/// What the end of the file says of the rest.
	fn footer(&self) -> Result<Vec<u8>, DataError> {
		const TAIL: u64 = 8;
		/// As much as any file has with a thousand columns and row groups.
		const MOST: u64 = 64 << 20;
		let tail = self.size.checked_sub(TAIL).ok_or_else(|| self.at.broken("it is cut: this is no Parquet"))?;
		let bytes = self.bytes(tail, TAIL)?;
		let length = match bytes.as_slice() {
			[length @ .., b'P', b'A', b'R', b'1'] => length.try_into().map_or(0, u32::from_le_bytes),
			[.., b'P', b'A', b'R', b'E'] => return Err(self.at.broken("it is encrypted")),
			_ => return Err(self.at.broken("it is cut: this is no Parquet, or only its beginning")),
		};
		let place =
			tail.checked_sub(length.into()).filter(|_| u64::from(length) <= MOST).ok_or_else(|| self.at.broken("its footer is broken"))?;
		self.bytes(place, length.into())
	}
}

#[cfg(test)]
mod tests;
