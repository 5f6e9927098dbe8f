//! JSON as templates see it: fields in their order, and what users wrote with marks.

use super::{super::Chat, SAID};
use minijinja::Value;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Name under which the library hands over a number as it is written.
const NUMBER: &str = "$serde_json::private::Number";

const NONCHARACTERS: &str = "it has noncharacters, which no text should have";

/// Reads a value. Texts and the names of fields are marked by the chat; roles and names that are words stay as they are.
#[derive(Clone, Copy)]
pub(super) struct Json<'a> {
	chat: &'a Chat,
	/// Whether it is the role of a speaker.
	is_role: bool,
}

impl<'a> Json<'a> {
	pub(super) fn new(chat: &'a Chat) -> Self {
		Self { chat, is_role: false }
	}
}

impl<'de> DeserializeSeed<'de> for Json<'_> {
	type Value = Value;

	fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
		input.deserialize_any(self)
	}
}

impl<'de> Visitor<'de> for Json<'_> {
	type Value = Value;

	fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
		to.write_str("a conversation")
	}

	fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
		Ok(value.into())
	}

	fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
		Ok(value.into())
	}

	fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
		Ok(value.into())
	}

	fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
		Ok(value.into())
	}

	fn visit_unit<E>(self) -> Result<Value, E> {
		Ok(Value::from(()))
	}

	fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
		match text.contains(SAID) {
			true => Err(E::custom(NONCHARACTERS)),
			false if self.is_role => Ok(self.chat.role(text).into()),
			false => Ok(self.chat.mark(text).into()),
		}
	}

	fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
		let mut values = Vec::new();
		while let Some(value) = seq.next_element_seed(Self { is_role: false, ..self })? {
			values.push(value);
		}
		Ok(values.into())
	}

	fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
		let mut fields: Vec<(String, Value)> = Vec::new();
		while let Some(name) = map.next_key::<String>()? {
			if name == NUMBER {
				return number(&map.next_value::<String>()?).ok_or_else(|| A::Error::custom("a number is out of range"));
			}
			if name.contains(SAID) {
				return Err(A::Error::custom(NONCHARACTERS));
			}
			let value = map.next_value_seed(Self { is_role: name == "role", ..self })?;
			// Templates write names, too.
			fields.push((self.chat.role(&name), value));
		}
		Ok(fields.into_iter().collect())
	}
}

fn number(text: &str) -> Option<Value> {
	let whole = text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from));
	whole.ok().or_else(|| text.parse::<f64>().ok().filter(|value| value.is_finite()).map(Value::from))
}
