//! Texts that are looked at as a whole before they are split into documents: filters, and near duplicates.
//!
//! A text is a file, a line, a row or an object. One thread reads, and all others look at texts and split them; what is decided of a text depends on
//! nothing but it, or, for near duplicates, on the set of all texts.

use super::{
	build::BuildOptions,
	corpus::{pieces, Amount, Corpus, Found, Reason},
	filter::{refusal, Filter},
	minhash::{signature, NearDuplicates, Signature},
	parallel::in_order,
	sorter::{Merge, Sorted, Sorter},
	DataError,
};
use std::{collections::BTreeMap, path::Path};

/// Bytes of texts that a thread takes at once.
const BATCH_BYTES: usize = 256 << 10;
/// Files that are told of each reason.
const MOST_FILES: usize = 5;

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
	let mut sorter = Sorter::new(folder.join("documents"), memory_bytes.saturating_sub(for_bands));
	let mut near = NearDuplicates::new(folder.join("bands"), for_bands);
	let (mut number, mut refused) = (0u64, BTreeMap::<(Filter, &str), (Amount, Vec<u32>)>::new());
	let deal = |hand: &mut dyn FnMut(Vec<(String, u32)>) -> Result<(), DataError>| {
		let (mut batch, mut held) = (Vec::new(), 0usize);
		let found = corpus.read_whole(meter, &mut |document| {
			held = held.saturating_add(document.text.len());
			batch.push((document.text.to_owned(), document.file));
			if held < BATCH_BYTES {
				return Ok(());
			}
			held = 0;
			hand(std::mem::take(&mut batch))
		})?;
		hand(batch).map(|()| found)
	};
	let document_bytes = corpus.limits().document_bytes;
	let look = |batch: Vec<(String, u32)>| -> Vec<(u32, Judged)> {
		let judge = |(text, file): (String, u32)| (file, judge(&text, file, document_bytes, filters, *near_duplicates));
		batch.into_iter().map(judge).collect()
	};
	let mut found = in_order(*threads, deal, look, &mut |batch: Vec<(u32, Judged)>| {
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

fn judge(text: &str, file: u32, document_bytes: u64, filters: &[Filter], near_duplicates: bool) -> Judged {
	if let Some((filter, reason)) = refusal(filters, text) {
		return Judged::Refused(filter, reason, u64::try_from(text.len()).unwrap_or(u64::MAX));
	}
	let signature = if near_duplicates { signature(text) } else { None };
	let hashed = signature.map(|signature| (super::blake2_256(text.trim_end().as_bytes()).0, signature));
	let documents = pieces(text, document_bytes).filter(|piece| !piece.trim_end().is_empty());
	Judged::Documents(documents.map(|piece| Sorted::new(piece, file)).collect(), hashed)
}
