//! The fields of a request's body, as the client wrote them: nothing is kept of them but where they are. What is wanted of one is read when it is wanted, and
//! a list only up to as many elements as are of use: a small body does not become large in memory.

use serde::{
	de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
	Deserialize, Deserializer,
};
use serde_json::value::RawValue;
use std::{collections::BTreeMap, fmt, marker::PhantomData};

/// Fields of a request.
const MOST: usize = 256;

/// The fields of a JSON object by their names. Of several with one name, the last one counts.
#[derive(Debug)]
pub(super) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
	/// The fields of the object in `body`.
	///
	/// # Errors
	/// In words for the client.
	pub(super) fn of(body: &'a [u8]) -> Result<Self, String> {
		serde_json::from_slice(body).map_err(|error| format!("the body is no JSON object: {error}"))
	}

	/// The value of a field; `None` if it is not there, or null.
	pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
		self.0.get(name).copied().filter(|value| value.get() != "null")
	}

	/// The value of a field; `None` if it is not there, or null.
	///
	/// # Errors
	/// In words for the client, if it is something else.
	pub(super) fn get<T: Deserialize<'a>>(&self, name: &str) -> Result<Option<T>, String> {
		self.raw(name).map(|value| read(name, value)).transpose()
	}

	/// A whole number; `None` if the field is not there, or null. Clients write `5.0` and `5e0` as well.
	///
	/// # Errors
	/// In words for the client, if it is something else.
	pub(super) fn whole(&self, name: &str) -> Result<Option<i128>, String> {
		let Some(value) = self.raw(name) else { return Ok(None) };
		if let Ok(whole) = value.get().parse::<i128>() {
			return Ok(Some(whole));
		}
		let number: f64 = read(name, value)?;
		// As far as each whole number has a form of its own.
		let is_whole = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
		is_whole.then_some(Some(number as i128)).ok_or_else(|| format!("{name} must be a whole number"))
	}

	/// The object as JSON, with one more field in place of those of that name.
	pub(super) fn with(&self, name: &str, value: &str) -> Vec<u8> {
		let mut body = vec![b'{'];
		let mut put = |name: &str, value: &str| {
			if body.len() > 1 {
				body.push(b',');
			}
			body.extend_from_slice(serde_json::Value::from(name).to_string().as_bytes());
			body.push(b':');
			body.extend_from_slice(value.as_bytes());
		};
		self.0.iter().filter(|(known, _)| *known != name).for_each(|(known, value)| put(known, value.get()));
		put(name, value);
		body.push(b'}');
		body
	}
}

impl<'de> Deserialize<'de> for Fields<'de> {
	fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
		struct Object;

		impl<'de> Visitor<'de> for Object {
			type Value = Fields<'de>;

			fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
				write!(formatter, "an object of at most {MOST} fields")
			}

			fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
				let mut fields = BTreeMap::new();
				while let Some((name, value)) = map.next_entry()? {
					fields.insert(name, value);
					if fields.len() > MOST {
						return Err(A::Error::custom(format!("there are more than {MOST} fields")));
					}
				}
				Ok(Fields(fields))
			}
		}

		from.deserialize_map(Object)
	}
}

/// Reads the value of the field `name`.
///
/// # Errors
/// In words for the client.
pub(super) fn read<'a, T: Deserialize<'a>>(name: &str, value: &'a RawValue) -> Result<T, String> {
	serde_json::from_str(value.get()).map_err(|error| format!("{name} cannot be read: {error}"))
}

/// What JSON begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
	/// A string.
	Text,
	/// A list whose first element, if there is one, is a string.
	Texts,
	/// A list whose first element is a list.
	Lists,
	/// Another list.
	List,
	/// Something else.
	Other,
}

impl Form {
	/// Of a value.
	pub(super) fn of(value: &RawValue) -> Self {
		let mut bytes = value.get().bytes().filter(|byte| !byte.is_ascii_whitespace());
		match (bytes.next(), bytes.next()) {
			(Some(b'"'), _) => Self::Text,
			(Some(b'['), Some(b'"')) => Self::Texts,
			(Some(b'['), Some(b'[')) => Self::Lists,
			(Some(b'['), _) => Self::List,
			_ => Self::Other,
		}
	}
}

/// A list of at most `N` elements.
#[derive(Debug)]
pub(super) struct AtMost<T, const N: usize>(pub(super) Vec<T>);

impl<T, const N: usize> Default for AtMost<T, N> {
	fn default() -> Self {
		Self(Vec::new())
	}
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for AtMost<T, N> {
	fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
		struct List<T, const N: usize>(PhantomData<T>);

		impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for List<T, N> {
			type Value = AtMost<T, N>;

			fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
				write!(formatter, "a list of at most {N} elements")
			}

			fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
				let mut all = Vec::new();
				while all.len() < N {
					match list.next_element()? {
						Some(next) => all.push(next),
						None => return Ok(AtMost(all)),
					}
				}
				match list.next_element::<IgnoredAny>()? {
					None => Ok(AtMost(all)),
					Some(_) => Err(A::Error::custom(format!("there are more than {N}"))),
				}
			}
		}

		from.deserialize_seq(List(PhantomData))
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn fields_are_passed_on_as_they_were_written_and_the_last_of_a_name_counts() {
		let fields = Fields::of(br#" { "a": 1.50, "receipt": false, "b\n": [ 1 ], "a": 1e2, "c": null } "#).unwrap();
		assert_eq!(fields.with("receipt", "true"), br#"{"a":1e2,"b\n":[ 1 ],"c":null,"receipt":true}"#);
		assert_eq!((fields.whole("a"), fields.whole("c"), fields.whole("d")), (Ok(Some(100)), Ok(None), Ok(None)));
		for wrong in ["", "[]", "{", "5", "{} {}", "{\"a\": }"] {
			assert!(Fields::of(wrong.as_bytes()).is_err(), "{wrong}");
		}
	}

	#[test]
	fn whole_numbers_have_any_form_and_nothing_else_is_one() {
		let whole = |value: &str| Fields::of(format!("{{\"n\":{value}}}").as_bytes()).unwrap().whole("n");
		for (value, expected) in [("1.0", 1), ("1e2", 100), ("-1", -1), ("18446744073709551615", u64::MAX.into())] {
			assert_eq!(whole(value), Ok(Some(expected)), "{value}");
		}
		for wrong in ["1.5", "\"2\"", "[]", "true", "1e400", "1e300"] {
			assert!(whole(wrong).unwrap_err().contains('n'), "{wrong}");
		}
	}

	#[test]
	fn lists_and_objects_are_read_up_to_a_number_of_elements() {
		let read = |json: &str| serde_json::from_str::<AtMost<u32, 2>>(json).map(|list| list.0).map_err(|error| error.to_string());
		assert_eq!(read("[1, 2]"), Ok(vec![1, 2]));
		assert!(read("[1, 2, [[[]]]]").unwrap_err().contains("more than 2"));
		let many: Vec<String> = (0..=MOST).map(|number| format!("\"{number}\":0")).collect();
		assert!(Fields::of(format!("{{{}}}", many.join(",")).as_bytes()).unwrap_err().contains("more than 256 fields"));
	}
}
