//! Pages of texts that have ended, for texts that begin like them.

use neuroshard_compute::exec::{Page, Pages, PAGE_TOKENS};
use neuroshard_graph::merkle::{blake2_256, Hash};
use std::{collections::HashMap, sync::Arc};

/// Full pages by the hash of all tokens up to their end, and of what they were read beside.
#[derive(Default)]
pub(super) struct Prefixes {
	pages: HashMap<Hash, Kept>,
	clock: u64,
}

struct Kept {
	page: Arc<Page>,
	used: u64,
}

/// Hashes of the text's beginnings that end with a page. `beside`: identity of the model with the adapter that it is read beside; zeros without one.
fn hashes(beside: Hash, tokens: &[u32]) -> impl Iterator<Item = Hash> + '_ {
	tokens.chunks_exact(PAGE_TOKENS).scan(beside, |before, tokens| {
		let bytes: Vec<u8> = before.iter().copied().chain(tokens.iter().flat_map(|token| token.to_le_bytes())).collect();
		*before = blake2_256(&bytes);
		Some(*before)
	})
}

impl Prefixes {
	/// The pages of the longest known beginning of a prompt, of which one token at least is left to be read.
	pub(super) fn longest(&mut self, beside: Hash, prompt: &[u32]) -> Vec<Arc<Page>> {
		self.clock += 1;
		let before_last = prompt.split_last().map_or(&[][..], |(_, before)| before);
		let known = hashes(beside, before_last).map_while(|hash| {
			let kept = self.pages.get_mut(&hash)?;
			kept.used = self.clock;
			Some(kept.page.clone())
		});
		known.collect()
	}

	/// Keeps the full pages of a text.
	pub(super) fn keep(&mut self, beside: Hash, tokens: &[u32], full: &[Arc<Page>]) {
		self.clock += 1;
		for (hash, page) in hashes(beside, tokens).zip(full) {
			let (used, page) = (self.clock, page.clone());
			self.pages.entry(hash).and_modify(|kept| kept.used = used).or_insert(Kept { page, used });
		}
	}

	/// Lets go what was not used for the longest time, until so many pages can be taken.
	pub(super) fn make_room(&mut self, pages: &Pages, needed: usize) {
		if pages.used().saturating_add(needed) <= pages.limit() {
			return;
		}
		let mut by_age: Vec<_> = self.pages.iter().map(|(hash, kept)| (kept.used, *hash)).collect();
		by_age.sort_unstable();
		for (_, hash) in by_age {
			if pages.used().saturating_add(needed) <= pages.limit() {
				break;
			}
			self.pages.remove(&hash);
		}
	}
}
