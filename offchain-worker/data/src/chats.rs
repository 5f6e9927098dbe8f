//! Conversations in a corpus: records that become masked tokens, each of which says whether it is a target of the loss.

use crate::corpus::Amount;
use std::{
	collections::BTreeMap,
	fmt::Debug,
	sync::{Mutex, PoisonError},
};

/// Characters of a record that are told.
const TOLD: usize = 60;
/// Reasons that are told apart, and characters of each; a template may write any.
const MOST_REASONS: usize = 32;
const REASON: usize = 240;

/// Makes tokens of conversations.
pub trait Conversations: Debug + Send + Sync {
	/// Appends the tokens of a record, those that are no targets with [`MASK`](neuroshard_graph::corpus::MASK).
	///
	/// # Errors
	/// In words, why it is no conversation to learn from. What was appended is taken back.
	fn encode(&self, record: &str, tokens: &mut Vec<u32>) -> Result<(), String>;
}

/// Records of a corpus as conversations, and those that are none.
#[derive(Debug)]
pub struct Chats {
	conversations: Box<dyn Conversations>,
	left_out: Mutex<LeftOut>,
}

/// How many records, and the beginning of the first one in the order of texts.
type Records = (Amount, String);

/// Records that are no conversations, whatever the order that they come in.
#[derive(Debug, Default)]
struct LeftOut {
	/// By reason, for the first reasons in the order of texts.
	by_reason: BTreeMap<String, Records>,
	/// For all other reasons.
	others: Option<Records>,
}

impl LeftOut {
	fn add(&mut self, reason: String, records: Records) {
		match self.by_reason.get_mut(&reason) {
			Some(known) => join(known, records),
			None => drop(self.by_reason.insert(reason, records)),
		}
		if self.by_reason.len() > MOST_REASONS {
			if let Some((_, last)) = self.by_reason.pop_last() {
				match &mut self.others {
					Some(others) => join(others, last),
					none => *none = Some(last),
				}
			}
		}
	}
}

fn join((amount, first): &mut Records, (more, beginning): Records) {
	amount.count = amount.count.saturating_add(more.count);
	amount.bytes = amount.bytes.saturating_add(more.bytes);
	if beginning < *first {
		*first = beginning;
	}
}

impl Chats {
	/// Those that `conversations` makes tokens of.
	pub fn new(conversations: impl Conversations + 'static) -> Self {
		Self { conversations: Box::new(conversations), left_out: Mutex::default() }
	}

	/// Appends the tokens of a record, or notes that there are none.
	pub(super) fn encode(&self, record: &str, tokens: &mut Vec<u32>) {
		let start = tokens.len();
		let Err(reason) = self.conversations.encode(record, tokens) else { return };
		tokens.truncate(start);
		let beginning: String = record.chars().take(TOLD).collect();
		let amount = Amount { count: 1, bytes: u64::try_from(record.len()).unwrap_or(u64::MAX) };
		let mut left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
		left_out.add(reason.chars().take(REASON).collect(), (amount, beginning));
	}

	/// The records that are in no dataset, in words: a line for each of the first 32 reasons, and one for all others.
	pub fn left_out(&self) -> Vec<String> {
		let left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
		let line = |(reason, (amount, first)): (&str, &Records)| {
			let what = if amount.count == 1 { "conversation" } else { "conversations" };
			format!("{} bytes of {} {what}, such as the one that begins with {first}: {reason}", amount.bytes, amount.count)
		};
		let others = left_out.others.iter().map(|records| ("other reasons", records));
		left_out.by_reason.iter().map(|(reason, records)| (reason.as_str(), records)).chain(others).map(line).collect()
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{
		build::{build, BuildOptions},
		corpus::Corpus,
		tokenizer::Tokenizer,
	};
	use std::sync::Arc;

	/// Records with an x are none: the reason is the record itself.
	#[derive(Debug)]
	struct Lines;

	impl Conversations for Lines {
		fn encode(&self, record: &str, tokens: &mut Vec<u32>) -> Result<(), String> {
			tokens.extend(record.bytes().map(u32::from));
			if record.contains('x') {
				Err(record.to_owned())
			} else {
				Ok(())
			}
		}
	}

	#[test]
	fn the_first_reasons_are_told_and_the_others_counted_in_any_order_of_records() {
		let records: Vec<String> = (0..50).chain(10..50).map(|number| format!("x{number}")).collect();
		let told = |records: &[String]| {
			let chats = Chats::new(Lines);
			records.iter().for_each(|record| chats.encode(record, &mut Vec::new()));
			chats.left_out()
		};
		let lines = told(&records);
		assert_eq!(told(&records.iter().rev().cloned().collect::<Vec<_>>()), lines);
		// In the order of texts x0, x1, x10 to x19, x2, x20 to x29, x3 and x30 to x37 are 32.
		assert_eq!(lines.len(), 33);
		assert_eq!(lines[2], "6 bytes of 2 conversations, such as the one that begins with x10: x10");
		assert!(lines[31].ends_with(": x37"), "{}", lines[31]);
		// x38 to x49 twice, x4 to x9 once.
		assert_eq!(lines[32], "84 bytes of 30 conversations, such as the one that begins with x38: other reasons");
		assert!(told(&["x".repeat(10_000)])[0].len() < 400);
	}

	#[test]
	fn the_bytes_of_a_dataset_are_those_of_the_records_in_it() {
		let folder = tempfile::tempdir().unwrap();
		let record = |number: usize| format!("{number:05}{}\n", if number.is_multiple_of(3) { "x" } else { "y" });
		let corpus = Corpus::given("records", (0..3_000).map(record).collect());
		let options =
			BuildOptions { tokens_per_shard: 2_000, held_out: 1, chats: Some(Arc::new(Chats::new(Lines))), ..BuildOptions::default() };
		let built = build(&corpus, &Tokenizer::bytes(), &options, &folder.path().join("ds")).unwrap();
		assert_eq!(built.dataset.manifest.bytes, 2_000 * 7);
	}
}
