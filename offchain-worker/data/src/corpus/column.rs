//! The text of records: which field has it, and what is said where it is missing.

use super::reader::{At, Reader};
use super::{Format, Reason};
use crate::DataError;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::{borrow::Cow, fmt};

/// So many records may be without the column before it is clear that none has it.
const WITHOUT: u64 = 1_000;
/// So many names of columns are told, and so many bytes of one.
pub(super) const MOST_NAMES: usize = 20;
pub(super) const LONGEST_NAME: usize = 100;

/// What is in the column of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
	Text(String),
	/// Null, a number, or something else that is no text.
	Other,
	/// The record has no such column.
	Missing,
}

/// Records of a file so far.
#[derive(Default)]
pub(super) struct Records {
	count: u64,
	has_column: bool,
	names: Vec<String>,
}

impl Records {
	/// Takes a record. `names` are those of its columns, if it is one of the first.
	pub(super) fn take(
		&mut self,
		reader: &mut Reader<'_>,
		value: Value,
		names: Vec<String>,
		format: Format,
		at: &At<'_>,
	) -> Result<(), DataError> {
		self.count = self.count.saturating_add(1);
		self.has_column |= value != Value::Missing;
		if self.names.is_empty() {
			self.names = names;
		}
		match value {
			Value::Text(text) => return reader.record(&text, format, at),
			Value::Other | Value::Missing => reader.leave(Reason::NoText, 0, at.name),
		}
		if self.count == WITHOUT {
			self.end(reader, at)
		} else {
			Ok(())
		}
	}

	/// Counts a record whose text is left out.
	pub(super) fn skip(&mut self) {
		self.count = self.count.saturating_add(1);
		self.has_column = true;
	}

	/// Number of the next record, from 1.
	pub(super) fn number(&self) -> u64 {
		self.count.saturating_add(1)
	}

	/// Returns whether names of columns are of use.
	pub(super) fn wants_names(&self) -> bool {
		self.names.is_empty() && !self.has_column
	}

	/// Checks at the end of a file that there was such a column.
	pub(super) fn end(&self, reader: &Reader<'_>, at: &At<'_>) -> Result<(), DataError> {
		match self.has_column || self.count == 0 {
			true => Ok(()),
			false => Err(no_column(reader.column(), &self.names, at)),
		}
	}
}

/// There is no such column among these.
pub(super) fn no_column<T: AsRef<str>>(column: &str, names: &[T], at: &At<'_>) -> DataError {
	let mut told: Vec<String> = names.iter().take(MOST_NAMES).map(|name| name.as_ref().chars().take(LONGEST_NAME).collect()).collect();
	if names.len() > MOST_NAMES {
		told.push("..".into());
	}
	DataError::NoColumn { place: at.name.to_owned(), column: column.to_owned(), columns: told }
}

/// A conversation in a column, as an object: a list is one of messages.
pub(super) fn conversation(text: &str) -> Cow<'_, str> {
	match text.trim_start().starts_with('[') {
		true => Cow::Owned(format!("{{\"messages\":{text}}}")),
		false => Cow::Borrowed(text),
	}
}

/// Picks the value out of a JSON object. Nothing else of it is held.
pub(super) struct Pick<'a> {
	/// Name of the field, or names with points between them.
	pub(super) path: &'a str,
	/// Gets the names of all fields.
	pub(super) names: Option<&'a mut Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Pick<'_> {
	type Value = Value;

	fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
		input.deserialize_any(self)
	}
}

impl<'de> Visitor<'de> for Pick<'_> {
	type Value = Value;

	fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
		to.write_str("an object")
	}

	fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
		let mut found = Value::Missing;
		while let Some(key) = map.next_key::<String>()? {
			if let Some(names) = self.names.as_mut().filter(|names| names.len() <= MOST_NAMES) {
				names.push(key.chars().take(LONGEST_NAME).collect());
			}
			let within = self.path.strip_prefix(key.as_str()).and_then(|rest| rest.strip_prefix('.'));
			if key == self.path {
				found = map.next_value_seed(Leaf)?;
			} else if let Some(path) = within {
				match map.next_value_seed(Pick { path, names: None })? {
					Value::Missing => (),
					value => found = value,
				}
			} else {
				map.next_value::<IgnoredAny>()?;
			}
		}
		Ok(found)
	}

	fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Value, A::Error> {
		IgnoredAny.visit_seq(seq).map(|_| Value::Missing)
	}

	fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
		Ok(Value::Missing)
	}

	fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
		Ok(Value::Missing)
	}

	fn visit_u64<E>(self, _: u64) -> Result<Value, E> {
		Ok(Value::Missing)
	}

	fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
		Ok(Value::Missing)
	}

	fn visit_str<E>(self, _: &str) -> Result<Value, E> {
		Ok(Value::Missing)
	}

	fn visit_unit<E>(self) -> Result<Value, E> {
		Ok(Value::Missing)
	}
}

/// The value of the column.
struct Leaf;

impl<'de> DeserializeSeed<'de> for Leaf {
	type Value = Value;

	fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
		input.deserialize_any(self)
	}
}

impl<'de> Visitor<'de> for Leaf {
	type Value = Value;

	fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
		to.write_str("a text")
	}

	fn visit_str<E>(self, text: &str) -> Result<Value, E> {
		Ok(Value::Text(text.to_owned()))
	}

	fn visit_string<E>(self, text: String) -> Result<Value, E> {
		Ok(Value::Text(text))
	}

	fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
		IgnoredAny.visit_map(map).map(|_| Value::Other)
	}

	fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Value, A::Error> {
		IgnoredAny.visit_seq(seq).map(|_| Value::Other)
	}

	fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
		Ok(Value::Other)
	}

	fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
		Ok(Value::Other)
	}

	fn visit_u64<E>(self, _: u64) -> Result<Value, E> {
		Ok(Value::Other)
	}

	fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
		Ok(Value::Other)
	}

	fn visit_unit<E>(self) -> Result<Value, E> {
		Ok(Value::Other)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn pick(json: &str, path: &str) -> (Value, Vec<String>) {
		let (mut names, mut input) = (Vec::new(), serde_json::Deserializer::from_str(json));
		let value = Pick { path, names: Some(&mut names) }.deserialize(&mut input).unwrap();
		input.end().unwrap();
		(value, names)
	}

	#[test]
	fn points_lead_into_objects_unless_a_name_has_them() {
		let json = r#"{"id": 1, "meta": {"lang": "en", "text": "in\nside"}, "meta.text": "plain", "text": "top", "n": [1, {"text": 2}]}"#;
		let text = |text: &str| Value::Text(text.into());
		assert_eq!(pick(json, "text"), (text("top"), vec!["id".into(), "meta".into(), "meta.text".into(), "text".into(), "n".into()]));
		assert_eq!(pick(json, "meta.lang").0, text("en"));
		assert_eq!(pick(json, "meta.text").0, text("plain"));
		assert_eq!(pick(r#"{"meta": {"text": "a"}}"#, "meta.text").0, text("a"));
		for (path, value) in
			[("id", Value::Other), ("n", Value::Other), ("meta", Value::Other), ("gone", Value::Missing), ("id.x", Value::Missing)]
		{
			assert_eq!(pick(json, path).0, value, "{path}");
		}
		for json in ["1", "[{\"text\": 1}]", "null", "\"text\"", "1.5", "-1", "true"] {
			assert_eq!(pick(json, "text").0, Value::Missing, "{json}");
		}
		assert_eq!(pick(r#"{"text": null}"#, "text").0, Value::Other);
	}
}
