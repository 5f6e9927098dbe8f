//! Conversations in a corpus: records that become masked tokens, each of which says whether it is a target of the loss.

use crate::corpus::Amount;
use std::{
	collections::BTreeMap,
	fmt::Debug,
	sync::{Mutex, PoisonError},
};

/// Characters of a record that are told.
const TOLD: usize = 60;

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
	/// By reason: how many, and the beginning of the first one in the order of texts.
	left_out: Mutex<BTreeMap<String, (Amount, String)>>,
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
		let mut left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
		let (amount, first) = left_out.entry(reason).or_insert_with(|| (Amount::default(), beginning.clone()));
		amount.count = amount.count.saturating_add(1);
		amount.bytes = amount.bytes.saturating_add(u64::try_from(record.len()).unwrap_or(u64::MAX));
		if beginning < *first {
			*first = beginning;
		}
	}

	/// The records that are in no dataset, in words, a line for each reason.
	pub fn left_out(&self) -> Vec<String> {
		let left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
		let line = |(reason, (amount, first)): (&String, &(Amount, String))| {
			let what = if amount.count == 1 { "conversation" } else { "conversations" };
			format!("{} bytes of {} {what}, such as the one that begins with {first}: {reason}", amount.bytes, amount.count)
		};
		left_out.iter().map(line).collect()
	}
}
