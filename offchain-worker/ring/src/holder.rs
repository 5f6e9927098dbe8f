//! Holder of a part of a model: it computes it for a driver, and keeps the KV cache of the driver's texts.

use super::message::{by_text, root, wanted_of, Done, Hold, Pass, TextPart};
use neuroshard_compute::exec::{InferenceError, Input, Page, Pages, Piece, Sequence, PAGE_TOKENS};
use neuroshard_inference::Part;
use std::{
	collections::{HashMap, HashSet},
	sync::Arc,
	time::Instant,
};

/// A part of a model, with the KV cache of texts.
pub(super) struct Holder {
	inference: Box<dyn Part>,
	pages: Pages,
	/// Most pages.
	limit: usize,
	/// Pages by their numbers, and how many tokens each has.
	store: HashMap<u64, (Arc<Page>, usize)>,
	/// Output of the last pass.
	last: Option<(Done, Vec<f32>)>,
}

/// Why a pass is not computed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum HolderError {
	/// The rows that go in do not have the hash that they are said to have.
	#[error("the rows that go in do not have the hash they are said to have")]
	OtherRows,
	/// Keys and values are not here.
	#[error("page {0} is not here: the texts have to be read again")]
	Lacking(u64),
	/// The pages do not fit the text, or belong to several.
	#[error("the pages of a text do not fit its tokens, or are written by two")]
	Pages,
	/// The engine.
	#[error(transparent)]
	Inference(#[from] InferenceError),
}

fn size(value: u32) -> usize {
	usize::try_from(value).unwrap_or(usize::MAX)
}

impl Holder {
	/// Holds what `inference` is, with room for so many pages as `hold` says, and as fit into `memory` bytes.
	pub(super) fn new(inference: Box<dyn Part>, hold: &Hold, memory: u64) -> Self {
		let fit = usize::try_from(memory).unwrap_or(usize::MAX) / inference.page_bytes().max(1);
		let limit = size(hold.pages).min(fit);
		Self { pages: inference.pages(limit), limit, inference, store: HashMap::new(), last: None }
	}

	/// Computes a pass, of which `rows` go in.
	///
	/// # Errors
	/// [`HolderError`]; the KV cache is then as before.
	pub(super) fn pass(&mut self, pass: &Pass, rows: &[f32]) -> Result<&(Done, Vec<f32>), HolderError> {
		let began = Instant::now();
		self.last = None;
		for number in &pass.given_up {
			self.store.remove(number);
		}
		if pass.rows.is_some_and(|told| told != root(rows)) {
			return Err(HolderError::OtherRows);
		}
		let mut sequences = Vec::with_capacity(pass.texts.len());
		let mut written = HashSet::new();
		let taken: Result<(), HolderError> = pass.texts.iter().try_for_each(|text| {
			sequences.push(self.take(text, &mut written)?);
			Ok(())
		});
		let computed = taken.and_then(|()| {
			// What was written of pages that are begun anew is forgotten.
			for (sequence, text) in sequences.iter().zip(&pass.texts) {
				text.pages[sequence.len().div_ceil(PAGE_TOKENS)..].iter().for_each(|number| _ = self.store.remove(number));
			}
			let zeros = vec![0; pass.texts.iter().map(|text| size(text.count)).max().unwrap_or_default()];
			let pieces = sequences.iter_mut().zip(&pass.texts);
			let pieces = pieces.map(|(sequence, text)| {
				let tokens = if pass.rows.is_some() { &zeros[..size(text.count)] } else { &text.tokens[..] };
				Piece { sequence, tokens, wanted: wanted_of(text.wanted) }
			});
			let mut pieces: Vec<_> = pieces.collect();
			let input = if pass.rows.is_some() { Input::Rows(rows) } else { Input::Tokens };
			Ok(self.inference.pass(&self.pages, &mut pieces, input, pass.kind.into())?.to_vec())
		});
		for (sequence, text) in sequences.into_iter().zip(&pass.texts) {
			let len = sequence.len();
			let (full, open) = sequence.into_pages();
			for ((place, number), page) in text.pages.iter().enumerate().skip(full.len()).zip(open) {
				let filled = len.saturating_sub(place * PAGE_TOKENS).min(PAGE_TOKENS);
				self.store.insert(*number, (Arc::new(page), filled));
			}
		}
		let out = match computed {
			Err(HolderError::Inference(error)) if self.inference.replace_lost() => {
				// All texts lack their pages now, and are read again.
				self.store.clear();
				self.pages = self.inference.pages(self.limit);
				return Err(error.into());
			}
			computed => computed?,
		};
		let counts: Vec<usize> = pass.texts.iter().map(|text| super::message::told_rows(pass.kind, text)).collect();
		let width = out.len() / counts.iter().sum::<usize>().max(1);
		let roots = by_text(&out, &counts, width).map(root).collect();
		let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
		Ok(self.last.insert((Done { number: pass.number, roots, told: pass.told, micros }, out)))
	}

	/// Returns the output of the last pass, if it is this one.
	pub(super) fn again(&mut self, number: u64) -> Option<&(Done, Vec<f32>)> {
		let (done, _) = self.last.as_mut().filter(|(done, _)| done.number == number)?;
		done.told = true;
		self.last.as_ref()
	}

	/// The pages of a text, those that it writes taken out of the store.
	fn take(&mut self, text: &TextPart, written: &mut HashSet<u64>) -> Result<Sequence, HolderError> {
		let (first, count) = (size(text.first), size(text.count));
		let (full, begun) = (first / PAGE_TOKENS, first.div_ceil(PAGE_TOKENS));
		let last = first.saturating_add(count);
		let distinct = text.pages[full.min(text.pages.len())..].iter().all(|number| written.insert(*number));
		let fits = count > 0 && last <= self.inference.longest() && text.pages.len() == last.div_ceil(PAGE_TOKENS);
		if !fits || !distinct || text.pages[..full].iter().any(|number| written.contains(number)) {
			return Err(HolderError::Pages);
		}
		let here = |number: &u64, needed: usize| {
			let page = self.store.get(number).filter(|(_, filled)| *filled >= needed);
			page.map(|(page, _)| page.clone()).ok_or(HolderError::Lacking(*number))
		};
		let whole = text.pages[..full].iter().map(|number| here(number, PAGE_TOKENS)).collect::<Result<Vec<_>, _>>()?;
		let mut open = Vec::with_capacity(begun - full);
		// One at most: a page that is taken has to come back.
		for number in &text.pages[full..begun] {
			if self.store.get(number).is_none_or(|(_, filled)| *filled < first % PAGE_TOKENS) {
				return Err(HolderError::Lacking(*number));
			}
			let (page, filled) = self.store.remove(number).ok_or(HolderError::Lacking(*number))?;
			match Arc::try_unwrap(page) {
				Ok(page) => open.push(page),
				Err(shared) => {
					self.store.insert(*number, (shared, filled));
					return Err(HolderError::Pages);
				}
			}
		}
		Ok(Sequence::of_pages(first, whole, open))
	}
}
