//! What is only counted of a request: fields that are not supported, and refused if there is something in them.

use serde::{
	de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
	Deserialize, Deserializer,
};
use std::fmt;

/// How many elements a list or an object has. Nothing else is kept of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Elements(pub(super) usize);

impl Elements {
	/// Whether there is none.
	pub(super) fn is_empty(self) -> bool {
		self.0 == 0
	}
}

impl<'de> Deserialize<'de> for Elements {
	fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
		struct Count;

		impl<'de> Visitor<'de> for Count {
			type Value = Elements;

			fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
				formatter.write_str("a list or an object")
			}

			fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Elements, A::Error> {
				let mut count = 0usize;
				while list.next_element::<IgnoredAny>()?.is_some() {
					count = count.saturating_add(1);
				}
				Ok(Elements(count))
			}

			fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Elements, A::Error> {
				let mut count = 0usize;
				while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
					count = count.saturating_add(1);
				}
				Ok(Elements(count))
			}
		}

		from.deserialize_any(Count)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn elements_are_counted_and_nothing_else_is_one() {
		for (json, count) in [("[]", 0), ("{}", 0), ("[[0], {\"a\": [1]}]", 2), ("{\"50\": -100}", 1)] {
			assert_eq!(serde_json::from_str::<Elements>(json).unwrap(), Elements(count));
		}
		assert!(serde_json::from_str::<Elements>("\"text\"").is_err() && size_of::<Elements>() == size_of::<usize>());
	}
}
