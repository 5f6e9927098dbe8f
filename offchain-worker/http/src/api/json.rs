//! Values of JSON, each with the name of its field. They are read one by one from the text, so that nothing is kept of those that nobody asks for, and
//! numbers are what was written.

use super::fault::{short, Fault};
use serde::{
	de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
	Deserialize, Deserializer,
};
use serde_json::{error::Category, value::RawValue};
use std::{collections::BTreeMap, fmt, ops::RangeInclusive};

/// Fields of one object.
const MOST_FIELDS: usize = 512;
/// Digits of a whole number.
const MOST_DIGITS: usize = 36;

/// Path of a value in a request.
#[derive(Clone, Copy)]
pub(super) enum Path<'p> {
	/// A field of the request.
	Field(&'p str),
	/// An element of a list.
	Item(&'p Path<'p>, usize),
	/// A field of an object.
	Member(&'p Path<'p>, &'p str),
}

impl fmt::Display for Path<'_> {
	fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
		match self {
			Self::Field(name) => to.write_str(name),
			Self::Item(list, index) => write!(to, "{list}[{index}]"),
			Self::Member(object, name) => write!(to, "{object}.{name}"),
		}
	}
}

/// Type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
	Null,
	Flag,
	Number,
	Text,
	List,
	Object,
}

impl Type {
	fn of(text: &str) -> Self {
		match text.as_bytes().first() {
			Some(b'n') => Self::Null,
			Some(b't' | b'f') => Self::Flag,
			Some(b'"') => Self::Text,
			Some(b'[') => Self::List,
			Some(b'{') => Self::Object,
			_ => Self::Number,
		}
	}

	pub(super) fn name(self) -> &'static str {
		match self {
			Self::Null => "null",
			Self::Flag => "true or false",
			Self::Number => "a number",
			Self::Text => "a string",
			Self::List => "a list",
			Self::Object => "an object",
		}
	}
}

/// A value.
#[derive(Clone, Copy)]
pub(super) struct Entry<'p, 'a> {
	pub(super) path: Path<'p>,
	raw: &'a RawValue,
}

impl<'a> Entry<'_, 'a> {
	/// As it is written.
	pub(super) fn written(&self) -> &'a str {
		self.raw.get()
	}

	pub(super) fn kind(&self) -> Type {
		Type::of(self.written())
	}

	/// It is not what it must be.
	pub(super) fn wrong(&self, expected: &str) -> Fault {
		let given = match self.kind() {
			Type::Number | Type::Flag => short(self.written()),
			other => other.name().to_owned(),
		};
		Fault::field(self.path, "invalid_type", format!("{} must be {expected}, not {given}", self.path))
	}

	fn expect(&self, kind: Type, expected: &str) -> Result<(), Fault> {
		if self.kind() == kind {
			Ok(())
		} else {
			Err(self.wrong(expected))
		}
	}

	/// A string; `expected` is what it must be.
	pub(super) fn text(&self, expected: &str) -> Result<String, Fault> {
		self.expect(Type::Text, expected)?;
		serde_json::from_str(self.written())
			.map_err(|_| Fault::value(self.path, format!("{} is no text: half a pair of surrogates is in it", self.path)))
	}

	pub(super) fn flag(&self) -> Result<bool, Fault> {
		self.expect(Type::Flag, Type::Flag.name())?;
		Ok(self.written() == "true")
	}

	/// A whole number, however it is written, in a range.
	pub(super) fn whole(&self, range: RangeInclusive<i128>) -> Result<i128, Fault> {
		let expected = format!("a whole number from {} to {}", range.start(), range.end());
		self.expect(Type::Number, &expected)?;
		let number = whole(self.written()).filter(|number| range.contains(number));
		number.ok_or_else(|| Fault { code: Some("invalid_value"), ..self.wrong(&expected) })
	}

	/// The nearest number of 32 bits. It is infinite only for what is beyond them, and 0 only for 0.
	pub(super) fn number(&self) -> Result<f32, Fault> {
		self.expect(Type::Number, Type::Number.name())?;
		let number = self.written().parse::<f64>().map_err(|_| self.wrong(Type::Number.name()))? as f32;
		let digits = self.written().split(['e', 'E']).next().unwrap_or_default();
		let is_none = digits.bytes().all(|digit| !matches!(digit, b'1'..=b'9'));
		Ok(if number == 0.0 && !is_none { f32::from_bits(1).copysign(number) } else { number })
	}

	/// Takes each element of a list.
	pub(super) fn each(&self, expected: &str, mut take: impl FnMut(Entry<'_, 'a>) -> Result<(), Fault>) -> Result<(), Fault> {
		self.expect(Type::List, expected)?;
		let (mut fault, mut index) = (None, 0usize);
		let mut next = |raw: &'a RawValue| {
			let path = Path::Item(&self.path, index);
			index = index.saturating_add(1);
			take(Entry { path, raw }).map_err(|found| fault = Some(found)).is_ok()
		};
		let read = serde_json::Deserializer::from_str(self.written()).deserialize_seq(Items(&mut next));
		match (fault, read) {
			(Some(fault), _) => Err(fault),
			(None, Ok(())) => Ok(()),
			(None, Err(_)) => Err(self.wrong(expected)),
		}
	}

	/// The fields of an object that are not null.
	pub(super) fn members(&self, expected: &str) -> Result<Members<'a>, Fault> {
		self.expect(Type::Object, expected)?;
		let read = serde_json::from_str(self.written())
			.map_err(|_| Fault::value(self.path, format!("{} has a field whose name is no text", self.path)));
		Members::checked(read?, Some(&self.path))
	}
}

struct Items<'f, F>(&'f mut F);

impl<'de, F: FnMut(&'de RawValue) -> bool> Visitor<'de> for Items<'_, F> {
	type Value = ();

	fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
		to.write_str("a list")
	}

	fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
		while let Some(raw) = list.next_element()? {
			if !(self.0)(raw) {
				return Err(A::Error::custom("refused"));
			}
		}
		Ok(())
	}
}

/// Fields of an object, without those that are null.
#[derive(Default)]
pub(super) struct Members<'a> {
	fields: BTreeMap<String, &'a RawValue>,
	/// The first one that is there twice.
	twice: Option<String>,
	too_many: bool,
}

impl<'de> Deserialize<'de> for Members<'de> {
	fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
		struct Object;
		impl<'de> Visitor<'de> for Object {
			type Value = Members<'de>;

			fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
				to.write_str("an object")
			}

			fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Members<'de>, A::Error> {
				let mut members = Members::default();
				while let Some((name, raw)) = object.next_entry::<String, &'de RawValue>()? {
					if members.fields.len() == MOST_FIELDS {
						members.too_many = true;
						while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
						break;
					}
					if let Some((name, _)) = members.fields.remove_entry(&name) {
						members.twice.get_or_insert(name);
					}
					members.fields.insert(name, raw);
				}
				Ok(members)
			}
		}
		from.deserialize_map(Object)
	}
}

impl<'a> Members<'a> {
	/// The fields of a request.
	pub(super) fn of(body: &'a [u8]) -> Result<Self, Fault> {
		let text = std::str::from_utf8(body).map_err(|_| Fault::whole("the request's body is no text in UTF-8"))?;
		let read = serde_json::from_str::<Self>(text).map_err(|error| match error.classify() {
			Category::Data if !text.trim_start().starts_with('{') => {
				let kind = Type::of(text.trim_start()).name();
				Fault::whole(format!("the request's body must be a JSON object, not {kind}"))
			}
			_ => Fault::whole(format!("the request's body is no JSON: {error}")),
		});
		Self::checked(read?, None)
	}

	fn checked(mut self, of: Option<&Path>) -> Result<Self, Fault> {
		let name = |name: &str| short(&of.map_or_else(|| name.to_owned(), |of| Path::Member(of, name).to_string()));
		if let Some(twice) = &self.twice {
			let name = name(twice);
			return Err(Fault::value(&name, format!("{name} is there twice")));
		}
		if self.too_many {
			let words = format!("an object of the request has more than {MOST_FIELDS} fields");
			return Err(of.map_or_else(|| Fault::whole(&words), |of| Fault::value(of, &words)));
		}
		self.fields.retain(|_, raw| Type::of(raw.get()) != Type::Null);
		Ok(self)
	}

	/// A field of the request, if it is there.
	pub(super) fn get<'p>(&self, name: &'p str) -> Option<Entry<'p, 'a>> {
		self.fields.get(name).map(|raw| Entry { path: Path::Field(name), raw })
	}

	/// A field of an object at this place.
	pub(super) fn within<'p>(&self, of: &'p Path<'p>, name: &'p str) -> Option<Entry<'p, 'a>> {
		self.fields.get(name).map(|raw| Entry { path: Path::Member(of, name), raw })
	}

	pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
		self.fields.iter().map(|(name, raw)| (name.as_str(), *raw))
	}
}

/// The whole number that this number of JSON is, if it is one of not too many digits.
fn whole(text: &str) -> Option<i128> {
	let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
	let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
	let (front, fraction) = digits.split_once('.').unwrap_or((digits, ""));
	let all = [front, fraction].concat();
	let kept = all.trim_end_matches('0');
	if kept.is_empty() {
		return Some(0);
	}
	let exponent: i64 = exponent.parse().ok()?;
	let dropped = i64::try_from(all.len().saturating_sub(kept.len())).ok()?;
	// What is kept ends with another digit than 0, so that it is whole only without a fraction.
	let zeros = exponent.checked_add(dropped)?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
	let kept = kept.trim_start_matches('0');
	let zeros = usize::try_from(zeros).ok().filter(|zeros| zeros.saturating_add(kept.len()) <= MOST_DIGITS)?;
	let number: i128 = [kept, &"0".repeat(zeros)].concat().parse().ok()?;
	Some(number.saturating_mul(sign))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn whole_numbers_are_read_in_any_form_and_exactly() {
		for (text, expected) in [
			("0", 0),
			("-0.0", 0),
			("0e99999999999999999999", 0),
			("100", 100),
			("100.0", 100),
			("1e2", 100),
			("1E+2", 100),
			("10000e-2", 100),
			("0.01e4", 100),
			("-3.0", -3),
			("18446744073709551615", u64::MAX.into()),
			("1.8446744073709551615e19", u64::MAX.into()),
			("9223372036854775809", (1 << 63) + 1),
		] {
			assert_eq!(whole(text), Some(expected), "{text}");
		}
		for text in ["0.5", "1e-1", "1e400", "1e99999999999999999999", "123456789012345678901234567890123456789"] {
			assert_eq!(whole(text), None, "{text}");
		}
	}

	fn number(text: &str) -> f32 {
		let raw: &RawValue = serde_json::from_str(text).unwrap();
		Entry { path: Path::Field("x"), raw }.number().unwrap()
	}

	#[test]
	fn numbers_beyond_32_bits_become_neither_ordinary_ones_nor_zero() {
		assert_eq!(["0.7", "-1", "1e1", "0e5", "-0.0"].map(number), [0.7, -1.0, 10.0, 0.0, 0.0]);
		assert_eq!(["1e400", "-1e400", "1e39"].map(number), [f32::INFINITY, f32::NEG_INFINITY, f32::INFINITY]);
		for tiny in ["1e-400", "1e-50", "0.0000000000000000000000000000000000000000000000000000001"] {
			assert!(number(tiny) > 0.0, "{tiny}");
		}
		assert!(number("-1e-400") < 0.0);
	}

	#[test]
	fn fields_are_there_once_and_null_is_absent() {
		let members = Members::of(br#"{"a": null, "b": 1, "c": [[[]]]}"#).unwrap();
		assert_eq!(members.iter().map(|(name, raw)| (name, raw.get())).collect::<Vec<_>>(), [("b", "1"), ("c", "[[[]]]")]);
		let fault = |body: &[u8]| Members::of(body).err().unwrap();
		assert_eq!(fault(br#"{"a": 1, "\u0061": null}"#).param, Some("a".into()));
		let many = (0..=MOST_FIELDS).map(|place| format!("\"{place}\":0,")).collect::<String>();
		assert!(fault(format!("{{{many}\"z\":0}}").as_bytes()).message.contains("512 fields"));
		for (body, words) in [
			(&b"[1]"[..], "must be a JSON object, not a list"),
			(b"3", "not a number"),
			(b"", "no JSON"),
			(b"{\"a\": NaN}", "no JSON"),
			(b"{\"a\": 1} 2", "no JSON"),
			(b"{\"a\": \"\xff\"}", "UTF-8"),
			(b"{\"\\ud800\": 1}", "no JSON"),
		] {
			let fault = fault(body);
			assert!(fault.message.contains(words) && fault.param.is_none(), "{fault}");
		}
	}

	#[test]
	fn values_nested_however_deep_are_passed_over() {
		let deep = format!("{{\"a\": {}{}}}", "[".repeat(1 << 20), "]".repeat(1 << 20));
		assert_eq!(Members::of(deep.as_bytes()).unwrap().get("a").unwrap().kind(), Type::List);
	}
}
