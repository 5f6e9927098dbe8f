//! JSON lines: an object on each line.

use super::{
	column::{Pick, Records},
	inflate::refusal,
	reader::{At, Part, Reader},
	text::BYTE_ORDER_MARK,
	Format,
};
use crate::DataError;
use serde::de::DeserializeSeed;
use std::io::{self, BufRead, Read};

/// Takes the text of each line.
pub(super) fn read(reader: &mut Reader<'_>, input: &mut dyn BufRead, at: &At<'_>) -> Result<(), DataError> {
	let (mut line, mut records, mut number) = (Vec::new(), Records::default(), 0u64);
	while next_line(input, &mut line, reader.record_bytes()).map_err(|error| at.failed(error))? {
		number = number.saturating_add(1);
		let content = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| number == 1).unwrap_or(&line).trim_ascii();
		if !content.is_empty() {
			if reader.room() == 0 {
				reader.leave_rest(at);
				break;
			}
			let Some(text) = reader.utf8(content, Part::Line(number), at)? else {
				records.skip();
				continue;
			};
			if reader.takes_records() {
				reader.record(&text, Format::JsonLines, at)?;
				continue;
			}
			let mut names = Vec::new();
			let mut json = serde_json::Deserializer::from_str(&text);
			let pick = Pick { path: reader.column(), names: records.wants_names().then_some(&mut names) };
			let value = pick.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
			let value = value.map_err(|error| at.broken(format!("line {number} is no JSON: {error}")))?;
			records.take(reader, value, names, Format::JsonLines, at)?;
		}
	}
	records.end(reader, at)
}

/// Reads a line with its end; nothing at the end of the file.
fn next_line(input: &mut dyn BufRead, line: &mut Vec<u8>, most: u64) -> io::Result<bool> {
	line.clear();
	let read = input.take(most.saturating_add(1)).read_until(b'\n', line)?;
	match u64::try_from(read).is_ok_and(|read| read > most) {
		true => Err(refusal(format!("a line has more than {most} bytes: raise --record-bytes"))),
		false => Ok(read > 0),
	}
}
