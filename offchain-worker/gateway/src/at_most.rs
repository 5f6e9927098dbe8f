//! Lists that are read only up to as many elements as are of use: a small document does not become large in memory.

use serde::{
	de::{Error, IgnoredAny, SeqAccess, Visitor},
	Deserialize, Deserializer,
};
use std::{fmt, marker::PhantomData};

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
	fn lists_are_read_up_to_a_number_of_elements() {
		let read = |json: &str| serde_json::from_str::<AtMost<u32, 2>>(json).map(|list| list.0).map_err(|error| error.to_string());
		assert_eq!(read("[1, 2]"), Ok(vec![1, 2]));
		assert!(read("[1, 2, [[[]]]]").unwrap_err().contains("more than 2"));
	}
}
