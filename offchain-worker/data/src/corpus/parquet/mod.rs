//! Parquet, of which one column of texts is read, page by page.
//!
//! Nothing here allocates or repeats what a file merely claims: every count is held against the bytes that are there, and against how much a
//! file may become. That is why it is read here: the `parquet` crate, which writes the files of the tests, ends the process or takes all memory
//! for some files that are made for it.
//!
//! - `thrift`: how headers are written; `footer`: which columns there are, and where; `page`: what is in a page; `levels` and `deltas`: how numbers
//!   are packed; `codec`: compression.

mod codec;
mod deltas;
mod footer;
mod levels;
mod page;
mod thrift;

use super::{
	column::{no_column, Records, Value},
	inflate::most_bytes,
	reader::{At, Part, Reader},
	Format,
};
use crate::{meter::Meter, DataError};
use footer::{Chunk, Leaf};
use page::Pages;
use std::{fs::File, os::unix::fs::FileExt};

/// Why a file is no Parquet that can be read, in words.
type Refused = String;

/// Physical type of columns of texts.
const BYTE_ARRAY: i64 = 6;

/// Takes the text of each row.
pub(super) fn read(reader: &mut Reader<'_>, file: &File, at: &At<'_>) -> Result<(), DataError> {
	let source = Source { file, at, size: at.size.unwrap_or(0), meter: reader.meter() };
	let footer = source.footer()?;
	let found = footer::find(&footer, reader.column()).map_err(|words| at.broken(words))?;
	let (index, leaf) = found.map_err(|names| no_column(reader.column(), &names, at))?;
	if leaf.kind != BYTE_ARRAY || leaf.is_repeated {
		return Err(at.broken(format!("its column {:?} has no texts, but numbers or lists: name another with --column", leaf.path)));
	}
	let mut budget = most_bytes(source.size);
	let mut records = Records::default();
	for chunk in footer::chunks(&footer, index).map_err(|words| at.broken(words))? {
		if reader.room() == 0 {
			break;
		}
		read_chunk(reader, &source, (&chunk, &leaf), &mut records, &mut budget)?;
	}
	if reader.room() == 0 {
		reader.leave_rest(at);
	}
	Ok(())
}

fn read_chunk(
	reader: &mut Reader<'_>,
	source: &Source<'_>,
	(chunk, leaf): (&Chunk, &Leaf),
	records: &mut Records,
	budget: &mut u64,
) -> Result<(), DataError> {
	let at = source.at;
	let mut pages = Pages::new(chunk, leaf.optional);
	while let Some(header) = pages.header(source)? {
		let body = source.bytes(pages.place(), header.compressed)?;
		let mut taken = Ok(());
		let mut take = |text: Option<&[u8]>| {
			*budget = budget.saturating_sub(text.map_or(1, |text| u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_add(1)));
			if *budget == 0 {
				return Err("its column has more than 1,000 times as much text as the file has bytes".to_owned());
			}
			if reader.room() == 0 {
				return Ok(false);
			}
			let value = match text.map(|text| reader.utf8(text, Part::Row(records.number()), at)) {
				Some(Ok(Some(text))) => Value::Text(text.into_owned()),
				Some(Ok(None)) => {
					records.skip();
					return Ok(true);
				}
				Some(Err(error)) => {
					taken = Err(error);
					return Ok(false);
				}
				None => Value::Other,
			};
			taken = records.take(reader, value, Vec::new(), Format::Parquet, at);
			Ok(taken.is_ok())
		};
		let goes_on = pages.read(&header, &body, &mut take).map_err(|words| at.broken(words))?;
		taken?;
		if !goes_on {
			break;
		}
	}
	Ok(())
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
