//! Strings at which an answer ends.

use std::sync::Arc;

/// Text on its way to a client, of which nothing is passed on that can still become a stop string.
#[derive(Debug)]
pub(super) struct Stops {
	strings: Arc<[String]>,
	held: String,
	found: bool,
}

impl Stops {
	/// Ends at any of these, of which none is empty.
	pub(super) fn new(strings: Arc<[String]>) -> Self {
		Self { strings, held: String::new(), found: false }
	}

	/// Returns whether one was found: nothing comes after it.
	pub(super) fn found(&self) -> bool {
		self.found
	}

	/// Takes more text, and returns what can be passed on.
	pub(super) fn push(&mut self, text: &str) -> String {
		if self.found {
			return String::new();
		}
		self.held.push_str(text);
		let first = self.strings.iter().filter_map(|stop| self.held.find(stop.as_str())).min();
		if let Some(at) = first {
			self.found = true;
			self.held.truncate(at);
			return std::mem::take(&mut self.held);
		}
		// The longest end of the text that begins a stop string.
		let begins = |at: &usize| self.strings.iter().any(|stop| stop.starts_with(&self.held[*at..]));
		let places = self.held.char_indices().map(|(at, _)| at);
		let keep = places.filter(|at| begins(at)).min().unwrap_or(self.held.len());
		let rest = self.held.split_off(keep);
		std::mem::replace(&mut self.held, rest)
	}

	/// Returns the rest when no more text comes.
	pub(super) fn finish(&mut self) -> String {
		std::mem::take(&mut self.held)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use proptest::prelude::*;

	#[test]
	fn what_may_become_a_stop_string_waits() {
		let mut stops = Stops::new(["\n\n".into(), "END".into()].into());
		assert_eq!(stops.push("a\n"), "a");
		assert_eq!(stops.push("bE"), "\nb");
		assert_eq!(stops.push("N"), "");
		assert_eq!(stops.push("T, EN"), "ENT, ");
		assert_eq!((stops.push("D and more").as_str(), stops.found()), ("", true));
		assert_eq!((stops.push("more"), stops.finish()), (String::new(), String::new()));
	}

	proptest! {
		#[test]
		fn however_text_comes_it_ends_before_the_first_stop_string(text in "[abß]{0,30}", stops in prop::collection::vec("[abß]{1,3}", 0..3), cut in 1usize..5) {
			let end = stops.iter().filter_map(|stop| text.find(stop.as_str())).min().unwrap_or(text.len());
			let mut all = Stops::new(stops.into());
			let mut told = String::new();
			let characters: Vec<char> = text.chars().collect();
			for piece in characters.chunks(cut) {
				told += &all.push(&piece.iter().collect::<String>());
			}
			told += &all.finish();
			// With several strings in one piece, the earliest counts; between pieces, the one that is complete first.
			prop_assert!(text.starts_with(&told));
			prop_assert!(told.len() >= end || told == text[..end]);
			if !all.found() {
				prop_assert_eq!(told, text);
			}
		}
	}
}
