//! Conversations in columns: a list of messages, of which each has a role and a content.

use super::{
	super::{
		column::{Records, Value},
		reader::{At, Part, Reader},
		Format,
	},
	footer::{self, Leaf},
	page::Pages,
	Budget, Source, BYTE_ARRAY,
};
use crate::DataError;
use std::borrow::Cow;

/// Names of the fields of a message.
const ROLE: &str = "role";
const CONTENT: &str = "content";

/// Returns whether a column is that of the roles or contents in the list `column`: below it, with one list above it.
pub(super) fn is_of(leaf: &Leaf, column: &str) -> bool {
	field(leaf, column).is_some_and(|name| [ROLE, CONTENT].contains(&name)) && leaf.repeated == 1
}

/// The last of the names that lead to a column below `column`, behind no more than what lists have between them.
fn field<'a>(leaf: &'a Leaf, column: &str) -> Option<&'a str> {
	let below = leaf.path.strip_prefix(column)?.strip_prefix('.')?;
	let names: Vec<&str> = below.splitn(4, '.').collect();
	names.last().copied().filter(|_| names.len() <= 3)
}

/// Takes the conversations in the list `column`, which `found` has the columns of.
pub(super) fn read(
	reader: &mut Reader<'_>,
	source: &Source<'_>,
	footer: &[u8],
	(column, found): (&str, &[(usize, Leaf)]),
	budget: &mut Budget,
) -> Result<(), DataError> {
	let at = source.at;
	let named = |name: &str| {
		let mut those = found.iter().filter(|(_, leaf)| is_of(leaf, column) && field(leaf, column) == Some(name));
		match (those.next(), those.next()) {
			(Some((_, leaf)), None) if leaf.kind != BYTE_ARRAY => Err(at.broken(format!("its column {:?} has no texts", leaf.path))),
			(Some(found), None) => Ok(found),
			(None, _) => Err(at.broken(format!("the messages in its column {column:?} have no {name:?}"))),
			(Some(_), Some(_)) => Err(at.broken(format!("its column {column:?} has {name:?} more than once"))),
		}
	};
	let ((first, role), (second, content)) = (named(ROLE)?, named(CONTENT)?);
	let chunks = |index: usize| footer::chunks(footer, index).map_err(|words| at.broken(words));
	let mut rows = Rows::default();
	for (roles, contents) in chunks(*first)?.iter().zip(&chunks(*second)?) {
		let (mut roles, mut contents) = (Pages::new(roles, role), Pages::new(contents, content));
		while reader.room() > 0 {
			let (a, b) = (roles.next(source)?, contents.next(source)?);
			let (Some(a), Some(b)) = (a, b) else {
				if a != b {
					return Err(unlike(at));
				}
				break;
			};
			let is_message = a.definition >= role.element;
			if a.repetition != b.repetition || is_message != (b.definition >= content.element) {
				return Err(unlike(at));
			}
			if a.repetition == 0 {
				rows.finish(reader, at)?;
				rows.begun = true;
			}
			for value in [a, b] {
				budget.spend(value.text, at)?;
			}
			if is_message {
				rows.add(reader, [a.text, b.text], at)?;
			}
		}
		rows.finish(reader, at)?;
	}
	Ok(())
}

fn unlike(at: &At<'_>) -> DataError {
	at.broken("its columns of roles and of contents do not belong together")
}

/// The conversation of a row, as JSON, as far as it is read.
#[derive(Default)]
struct Rows {
	records: Records,
	begun: bool,
	/// Whether a text of it is left out, since it is not UTF-8.
	left: bool,
	messages: String,
}

impl Rows {
	/// Adds a message: its role and its content.
	fn add(&mut self, reader: &mut Reader<'_>, texts: [Option<&[u8]>; 2], at: &At<'_>) -> Result<(), DataError> {
		self.messages.push(if self.messages.is_empty() { '[' } else { ',' });
		for ((name, text), before) in [ROLE, CONTENT].into_iter().zip(texts).zip(['{', ',']) {
			let text = match text.map(|text| reader.utf8(text, Part::Row(self.records.number()), at)).transpose()? {
				Some(None) => {
					self.left = true;
					None
				}
				text => text.flatten(),
			};
			let json = serde_json::to_string(&text.as_ref().map(Cow::as_ref)).map_err(|error| at.broken(error.to_string()))?;
			self.messages.push_str(&format!("{before}\"{name}\":{json}"));
		}
		self.messages.push('}');
		match u64::try_from(self.messages.len()).is_ok_and(|length| length > reader.record_bytes()) {
			true => {
				let (row, most) = (self.records.number(), reader.record_bytes());
				Err(at.broken(format!("the conversation in row {row} has more than {most} bytes: raise --record-bytes")))
			}
			false => Ok(()),
		}
	}

	/// Takes the row that ends here, if one was begun.
	fn finish(&mut self, reader: &mut Reader<'_>, at: &At<'_>) -> Result<(), DataError> {
		let messages = std::mem::take(&mut self.messages);
		if !std::mem::take(&mut self.begun) {
			return Ok(());
		}
		if std::mem::take(&mut self.left) {
			self.records.skip();
			return Ok(());
		}
		let value = match messages.is_empty() {
			true => Value::Other,
			false => Value::Text(format!("{{\"messages\":{messages}]}}")),
		};
		self.records.take(reader, value, Vec::new(), Format::Parquet, at)
	}
}
