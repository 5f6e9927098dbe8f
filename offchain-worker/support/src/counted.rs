//! Numbers of things in messages.

use std::fmt::{self, Display, Formatter};

/// A number of things, such as `1 block` and `2 blocks`.
#[derive(Clone, Copy, Debug)]
pub struct Counted<N>(N, &'static str);

/// So many things, whose name in the singular is `thing`, and in the plural ends with an s more.
pub fn counted<N: Display>(count: N, thing: &'static str) -> Counted<N> {
	Counted(count, thing)
}

impl<N: Display> Display for Counted<N> {
	fn fmt(&self, to: &mut Formatter) -> fmt::Result {
		let Self(count, thing) = self;
		let count = count.to_string();
		let ending = if count == "1" { "" } else { "s" };
		write!(to, "{count} {thing}{ending}")
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn one_thing_is_named_in_the_singular() {
		let told = [counted(0u32, "block"), counted(1, "block"), counted(2, "block"), counted(11, "block")].map(|count| count.to_string());
		assert_eq!(told, ["0 blocks", "1 block", "2 blocks", "11 blocks"]);
		assert_eq!(
			(counted(1usize, "participant").to_string(), counted("1", "round").to_string()),
			("1 participant".into(), "1 round".into())
		);
	}
}
