//! Texts that are looked at as a whole before they are split into documents: filters, and near duplicates.
//!
//! A text is a file, a line, a row or an object. One thread reads, and all others look at texts and split them; what is decided of a text depends on
//! nothing but it, or, for near duplicates, on the set of all texts. Looking at a text takes up to [`IN_MEMORY`] bytes for a byte of it: no more texts are
//! handed over at a time than have room, but for one text that has none alone.

use super::{
	build::BuildOptions,
	corpus::{pieces, with_line_feeds, Amount, Corpus, Found, LineEnds, Reason},
	filter::{refusal, Filter},
	minhash::{signature, NearDuplicates, Signature},
	parallel::in_order,
	sorter::{Merge, Sorted, Sorter},
	DataError,
};
use std::{
	collections::BTreeMap,
	path::Path,
	sync::{Arc, Condvar, Mutex, PoisonError},
};

/// Bytes of texts that a thread takes at once.
const BATCH_BYTES: usize = 64 << 10;
/// Bytes of memory for a byte of a text that is looked at, at most: its words and n-grams.
const IN_MEMORY: u64 = 70;
/// Files that are told of each reason.
const MOST_FILES: usize = 5;

/// Texts with the numbers of their files, and the place that they take.
type Texts = (Vec<(String, u32)>, Place);

/// What becomes of a text.
enum Judged {
	/// A filter leaves it out, with its bytes.
	Refused(Filter, &'static str, u64),
	/// Its documents, and its hash and signature where near duplicates are looked for.
	Documents(Vec<Sorted>, Option<([u8; 32], Signature)>),
}

/// Reads all documents of a corpus whose texts `options` let pass, and sorts them. Files are in `folder`, which is created if there are any.
///
/// # Errors
/// As [`Corpus::read`], or [`DataError::Io`].
pub(super) fn read(corpus: &Corpus, options: &BuildOptions, folder: &Path) -> Result<(Merge, Found), DataError> {
	let BuildOptions { filters, near_duplicates, memory_bytes, threads, meter, .. } = options;
	let for_bands = if *near_duplicates { memory_bytes / 4 } else { 0 };
	let for_texts = memory_bytes / 4;
	let room = Room::new(for_texts / IN_MEMORY);
	let mut sorter = Sorter::new(folder.join("documents"), memory_bytes.saturating_sub(for_bands).saturating_sub(for_texts));
	let mut near = NearDuplicates::new(folder.join("bands"), for_bands);
	let (mut number, mut refused) = (0u64, BTreeMap::<(Filter, &str), (Amount, Vec<u32>)>::new());
	let deal = |hand: &mut dyn FnMut(Texts) -> Result<(), DataError>| {
		let (mut batch, mut held) = (Vec::new(), 0usize);
		let found = corpus.read_whole(meter, &mut |document| {
			held = held.saturating_add(document.text.len());
			batch.push((document.text.to_owned(), document.file));
			if held < BATCH_BYTES {
				return Ok(());
			}
			let place = room.place(std::mem::take(&mut held));
			hand((std::mem::take(&mut batch), place))
		})?;
		hand((batch, room.place(held))).map(|()| found)
	};
	let (document_bytes, line_ends) = (corpus.limits().document_bytes, corpus.line_ends());
	let look = |(batch, place): Texts| -> (Vec<(u32, Judged)>, Place) {
		let judge = |(text, file): (String, u32)| (file, judge(&text, file, (document_bytes, line_ends), filters, *near_duplicates));
		(batch.into_iter().map(judge).collect(), place)
	};
	let mut found = in_order(*threads, deal, look, &mut |(batch, _place): (Vec<(u32, Judged)>, _)| {
		for (file, judged) in batch {
			match judged {
				Judged::Refused(filter, reason, bytes) => {
					let (amount, files) = refused.entry((filter, reason)).or_default();
					amount.count = amount.count.saturating_add(1);
					amount.bytes = amount.bytes.saturating_add(bytes);
					if files.len() < MOST_FILES && files.last() != Some(&file) {
						files.push(file);
					}
				}
				Judged::Documents(documents, signature) => {
					if let Some((hash, signature)) = signature {
						near.add(number, &hash, &signature)?;
					}
					for mut document in documents {
						document.number = number;
						sorter.add(document)?;
					}
				}
			}
			number = number.saturating_add(1);
		}
		Ok(())
	})?;
	for ((filter, reason), (amount, files)) in refused {
		found.leave(Reason::Filtered(filter, reason), amount, &files);
	}
	let gone = near.finish()?;
	Ok((Merge::new(sorter.finish()?, gone), found))
}

fn judge(text: &str, file: u32, (document_bytes, line_ends): (u64, LineEnds), filters: &[Filter], near_duplicates: bool) -> Judged {
	// Filters know lines that end with line feeds.
	let lines = with_line_feeds(text);
	if let Some((filter, reason)) = refusal(filters, &lines) {
		return Judged::Refused(filter, reason, u64::try_from(text.len()).unwrap_or(u64::MAX));
	}
	let signature = if near_duplicates { signature(&lines) } else { None };
	let hashed = signature.map(|signature| (super::blake2_256(text.trim_end().as_bytes()).0, signature));
	let documents = pieces(text, document_bytes, line_ends).filter(|piece| !piece.trim_end().is_empty());
	Judged::Documents(documents.map(|piece| Sorted::new(piece, file)).collect(), hashed)
}

/// Room for texts that are looked at.
struct Room {
	most: u64,
	taken: Mutex<u64>,
	left: Condvar,
}

/// Part of it, until it is dropped.
struct Place {
	room: Arc<Room>,
	bytes: u64,
}

impl Room {
	fn new(most: u64) -> Arc<Self> {
		Arc::new(Self { most, taken: Mutex::default(), left: Condvar::new() })
	}

	/// Waits until so many bytes have room, or nothing else is there.
	fn place(self: &Arc<Self>, bytes: usize) -> Place {
		let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
		let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
		let is_full = |taken: &mut u64| *taken > 0 && taken.saturating_add(bytes) > self.most;
		let mut taken = self.left.wait_while(taken, is_full).unwrap_or_else(PoisonError::into_inner);
		*taken = taken.saturating_add(bytes);
		Place { room: self.clone(), bytes }
	}
}

impl Drop for Place {
	fn drop(&mut self) {
		let mut taken = self.room.taken.lock().unwrap_or_else(PoisonError::into_inner);
		*taken = taken.saturating_sub(self.bytes);
		drop(taken);
		self.room.left.notify_one();
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::sync::atomic::{AtomicU64, Ordering};

	#[test]
	fn no_more_is_taken_at_a_time_than_has_room_but_for_one_that_has_none() {
		let (room, now, highest) = (Room::new(100), AtomicU64::new(0), AtomicU64::new(0));
		let deal = |hand: &mut dyn FnMut((u64, Place)) -> Result<(), DataError>| {
			[30, 30, 30, 30, 30, 250, 90, 20].repeat(20).into_iter().try_for_each(|bytes| {
				let place = room.place(bytes);
				let bytes = u64::try_from(bytes).unwrap();
				let all = now.fetch_add(bytes, Ordering::SeqCst) + bytes;
				assert!(all <= 100 || all == 250, "{all}");
				highest.fetch_max(all, Ordering::SeqCst);
				hand((bytes, place))
			})
		};
		let mut sum = 0;
		in_order(3, deal, |job| job, &mut |(bytes, _place)| {
			now.fetch_sub(bytes, Ordering::SeqCst);
			sum += bytes;
			Ok(())
		})
		.unwrap();
		assert_eq!((sum, highest.into_inner()), (20 * 510, 250));
	}
}
