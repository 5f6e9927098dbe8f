//! Comma- and tab-separated values, whose first row has the names of the columns.

use super::{
	column::{conversation, no_column, Records, Value},
	reader::{At, Part, Reader},
	Format,
};
use crate::DataError;
use csv_core::ReadRecordResult;
use std::io::BufRead;

/// Takes the text of each row, or the conversation in it.
pub(super) fn read(reader: &mut Reader<'_>, input: &mut dyn BufRead, delimiter: u8, at: &At<'_>) -> Result<(), DataError> {
	let mut rows = Rows::new(input, delimiter, reader.record_bytes());
	if !rows.next(at)? {
		return Ok(());
	}
	let names: Vec<String> = rows.fields().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
	let columns = if reader.takes_records() { reader.chat_columns() } else { vec![reader.column()] };
	let column = columns.iter().find_map(|column| names.iter().position(|name| name == column));
	let column = column.ok_or_else(|| no_column(columns.first().unwrap_or(&""), &names, at))?;
	let mut records = Records::default();
	while rows.next(at)? {
		if reader.room() == 0 {
			reader.leave_rest(at);
			break;
		}
		let value = match rows.fields().nth(column) {
			Some(field) => match reader.utf8(field, Part::Row(records.number()), at)? {
				Some(text) if reader.takes_records() => Value::Text(conversation(&text).into_owned()),
				Some(text) => Value::Text(text.into_owned()),
				None => {
					records.skip();
					continue;
				}
			},
			// The column is there, but not in this row.
			None => Value::Other,
		};
		records.take(reader, value, Vec::new(), Format::Table, at)?;
	}
	Ok(())
}

struct Rows<'a> {
	input: &'a mut dyn BufRead,
	reader: csv_core::Reader,
	most: u64,
	/// The fields of a row, one after another, and where each ends.
	text: Vec<u8>,
	ends: Vec<usize>,
	fields: usize,
}

impl<'a> Rows<'a> {
	fn new(input: &'a mut dyn BufRead, delimiter: u8, most: u64) -> Self {
		let reader = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
		Self { input, reader, most, text: vec![0; 4096], ends: vec![0; 64], fields: 0 }
	}

	/// Reads a row; none at the end.
	fn next(&mut self, at: &At<'_>) -> Result<bool, DataError> {
		let (mut written, mut fields) = (0usize, 0usize);
		loop {
			let bytes = self.input.fill_buf().map_err(|error| at.failed(error))?;
			let room = (self.text.get_mut(written..).unwrap_or_default(), self.ends.get_mut(fields..).unwrap_or_default());
			let (result, read, text, ends) = self.reader.read_record(bytes, room.0, room.1);
			self.input.consume(read);
			(written, fields) = (written.saturating_add(text), fields.saturating_add(ends));
			match result {
				ReadRecordResult::InputEmpty => (),
				ReadRecordResult::OutputFull => self.text.resize(self.text.len().saturating_mul(2), 0),
				ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len().saturating_mul(2), 0),
				ReadRecordResult::Record => {
					self.fields = fields;
					return Ok(true);
				}
				ReadRecordResult::End => return Ok(false),
			}
			let held = written.saturating_add(fields.saturating_mul(size_of::<usize>()));
			if u64::try_from(held).is_ok_and(|held| held > self.most) {
				let line = self.reader.line();
				return Err(at.broken(format!(
					"a row that ends behind line {line} has more than {} bytes: close its quotes, or raise --record-bytes",
					self.most
				)));
			}
		}
	}

	fn fields(&self) -> impl Iterator<Item = &[u8]> + use<'_, 'a> {
		let ends = self.ends.get(..self.fields).unwrap_or_default();
		let starts = [0].into_iter().chain(ends.iter().copied());
		starts.zip(ends).map(|(start, end)| self.text.get(start..*end).unwrap_or_default())
	}
}
