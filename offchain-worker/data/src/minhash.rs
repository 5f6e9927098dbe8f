//! Near duplicates by MinHash, with the numbers of FineWeb: shingles of 5 words, 14 bands of 8 hashes.
//!
//! A text is a set of shingles: each 5 words in a row, in small letters, without marks, with each run of digits as one zero. A hash function gives a text
//! the least value that it has of any shingle: two texts have the same with the probability of their similarity (Jaccard), the shingles that they share
//! by those of both. Two texts are near duplicates if all hashes of a band are the same: with a similarity of 0.8 by a probability of 92 %, of 0.72 by
//! 65 %, of 0.5 by 5 %. Of the texts that are the same in a band, the one whose own hash (Blake2) is the lowest stays; so among the texts that stay, no two
//! are near duplicates, whatever the order that they are read in. A text of fewer than 5 words is none.

use crate::{
	filter::{is_symbol, words},
	sorter::{Record, Sorter},
	DataError,
};
use std::io::{self, BufRead, Read, Write};

/// Words of a shingle.
const SHINGLE: usize = 5;
const BANDS: usize = 14;
/// Hashes of a band.
const ROWS: usize = 8;

/// One hash for each band.
pub(super) type Signature = [u64; BANDS];

/// The signature of a text; nothing for one that has no shingle.
pub(super) fn signature(text: &str) -> Option<Signature> {
	let lower = text.to_lowercase();
	let hashes: Vec<u64> = words(&lower).into_iter().filter(|word| !is_symbol(word)).map(word_hash).collect();
	let mut least = [[u64::MAX; ROWS]; BANDS];
	let functions = functions();
	for shingle in hashes.windows(SHINGLE) {
		let shingle = shingle.iter().fold(0, |sum, word| mixed(sum ^ word));
		for (least, (factor, summand)) in least.as_flattened_mut().iter_mut().zip(functions.as_flattened()) {
			*least = (*least).min(shingle.wrapping_mul(*factor).wrapping_add(*summand));
		}
	}
	let has_shingle = hashes.len() >= SHINGLE;
	has_shingle.then(|| least.map(|rows| rows.into_iter().fold(0, |sum, hash| mixed(sum ^ hash))))
}

/// FNV-1a of a word, in which each run of digits is a zero.
fn word_hash(word: &str) -> u64 {
	const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
	const PRIME: u64 = 0x0100_0000_01b3;
	let mut was_digit = false;
	let mut hash = OFFSET;
	for byte in word.bytes() {
		let is_digit = byte.is_ascii_digit();
		if !(is_digit && was_digit) {
			let byte = if is_digit { b'0' } else { byte };
			hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
		}
		was_digit = is_digit;
	}
	mixed(hash)
}

/// The steps that end SplitMix64: each bit of the result depends on all.
fn mixed(value: u64) -> u64 {
	let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
	let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
	let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
	value ^ (value >> 31)
}

/// Factors, which are odd, and summands modulo 2^64 of the hash functions.
fn functions() -> [[(u64, u64); ROWS]; BANDS] {
	let mut state = 1u64;
	let mut next = || {
		state = mixed(state);
		state
	};
	std::array::from_fn(|_| std::array::from_fn(|_| (next() | 1, next())))
}

/// A text in a band.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
	band: u8,
	hash: u64,
	/// Beginning of the text's own hash.
	key: [u8; 16],
	/// Number of the text.
	text: u64,
}

const ENTRY_BYTES: usize = 33;

impl Record for Entry {
	fn held(&self) -> usize {
		0
	}

	fn write(&self, file: &mut dyn Write) -> io::Result<()> {
		let (hash, text) = (self.hash.to_le_bytes(), self.text.to_le_bytes());
		[&[self.band][..], &hash, &self.key, &text].iter().try_for_each(|part| file.write_all(part))
	}

	fn read(file: &mut dyn BufRead) -> io::Result<Option<Self>> {
		let mut bytes = Vec::with_capacity(ENTRY_BYTES);
		file.take(ENTRY_BYTES as u64).read_to_end(&mut bytes)?;
		let whole: Result<[u8; ENTRY_BYTES], _> = bytes.as_slice().try_into();
		match whole {
			_ if bytes.is_empty() => Ok(None),
			Err(_) => Err(io::ErrorKind::UnexpectedEof.into()),
			Ok([band, rest @ ..]) => {
				let (hash, rest) = rest.split_first_chunk().unwrap_or((&[0; 8], &[]));
				let (key, rest) = rest.split_first_chunk().unwrap_or((&[0; 16], &[]));
				let text = rest.first_chunk().unwrap_or(&[0; 8]);
				Ok(Some(Self { band, hash: u64::from_le_bytes(*hash), key: *key, text: u64::from_le_bytes(*text) }))
			}
		}
	}
}

/// Collects signatures.
pub(super) struct NearDuplicates(Sorter<Entry>);

impl NearDuplicates {
	/// Uses about `memory` bytes, and the folder `folder` of its own.
	pub(super) fn new(folder: std::path::PathBuf, memory: u64) -> Self {
		Self(Sorter::new(folder, memory))
	}

	/// Takes the signature of the text with this number and hash.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn add(&mut self, text: u64, hash: &[u8; 32], signature: &Signature) -> Result<(), DataError> {
		let key = hash.first_chunk().copied().unwrap_or_default();
		(0u8..).zip(signature).try_for_each(|(band, hash)| self.0.add(Entry { band, hash: *hash, key, text }))
	}

	/// The texts that do not stay. It has a bit for each text.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn finish(self) -> Result<Numbers, DataError> {
		let (mut entries, mut first, mut gone) = (self.0.finish()?, None::<Entry>, Numbers::default());
		while let Some(entry) = entries.next()? {
			match first.filter(|first| (first.band, first.hash) == (entry.band, entry.hash)) {
				// Equal texts are no near duplicates of each other: which of them stays is decided elsewhere.
				Some(first) if first.key != entry.key => gone.insert(entry.text),
				Some(_) => (),
				None => first = Some(entry),
			}
		}
		Ok(gone)
	}
}

/// A set of numbers.
#[derive(Default)]
pub(super) struct Numbers(Vec<u64>);

impl Numbers {
	fn insert(&mut self, number: u64) {
		let Ok(word) = usize::try_from(number >> 6) else { return };
		if self.0.len() <= word {
			self.0.resize(word.saturating_add(1), 0);
		}
		if let Some(bits) = self.0.get_mut(word) {
			*bits |= 1 << (number & 63);
		}
	}

	pub(super) fn contains(&self, number: u64) -> bool {
		let bits = usize::try_from(number >> 6).ok().and_then(|word| self.0.get(word));
		bits.is_some_and(|bits| bits >> (number & 63) & 1 == 1)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::collections::BTreeSet;

	fn letters(number: usize) -> String {
		format!("{:x}", mixed(number as u64)).chars().map(|digit| char::from(b'a' + digit.to_digit(16).unwrap() as u8)).collect()
	}

	fn words_of(numbers: impl Iterator<Item = usize>) -> String {
		numbers.map(letters).collect::<Vec<_>>().join(" ")
	}

	fn agree(a: &str, b: &str) -> usize {
		let (a, b) = (signature(a).unwrap(), signature(b).unwrap());
		a.iter().zip(b).filter(|(a, b)| **a == *b).count()
	}

	#[test]
	fn case_marks_and_digits_do_not_count_and_short_texts_have_no_signature() {
		assert_eq!(agree("The Year 1984, as\nit (really) was", "the year 7 as it... REALLY was!"), BANDS);
		assert_eq!(agree("the year 1984 as it was", "the year 1984 as it is"), 0);
		assert!(signature("one two three four .").is_none() && signature("one two three four 5").is_some());
	}

	#[test]
	fn bands_agree_as_often_as_the_similarity_of_texts_says() {
		// 1,000 words of which the last 112 are others: 884 shingles of 996 in both, 884 / 1108 are 0.798. 0.798^8 * 14 bands are 2.3 of them.
		let pairs = 200;
		let mut bands = 0;
		for pair in 0..pairs {
			let start = pair * 10_000;
			let (a, b) = (words_of(start..start + 1_000), words_of((start..start + 888).chain(start + 5_000..start + 5_112)));
			bands += agree(&a, &b);
		}
		let mean = bands as f64 / pairs as f64;
		assert!((1.9..2.8).contains(&mean), "{mean}");
		assert_eq!(
			(0..pairs)
				.map(|pair| agree(&words_of(pair * 99..pair * 99 + 50), &words_of(pair * 99 + 70_000..pair * 99 + 70_050)))
				.sum::<usize>(),
			0
		);
	}

	#[test]
	fn of_texts_that_agree_in_a_band_the_lowest_hash_stays_whatever_the_memory() {
		let signature_of = |bands: &[(usize, u64)], own: u64| {
			let mut signature: Signature = std::array::from_fn(|band| mixed(own * 100 + band as u64));
			bands.iter().for_each(|(band, hash)| signature[*band] = *hash);
			signature
		};
		// 0 and 1 agree, and so do 1 and 2; 3 is equal to 0; 4 agrees with 2 and is lower; 5 is alone.
		let texts = [
			(5, signature_of(&[(0, 7)], 0)),
			(6, signature_of(&[(0, 7), (13, 8)], 1)),
			(4, signature_of(&[(13, 8), (3, 9)], 2)),
			(5, signature_of(&[(0, 7)], 0)),
			(1, signature_of(&[(3, 9)], 4)),
			(2, signature_of(&[], 5)),
		];
		for memory in [0, 1 << 20] {
			let folder = tempfile::tempdir().unwrap();
			let mut near = NearDuplicates::new(folder.path().join("near"), memory);
			for (number, (key, signature)) in (0u64..).zip(&texts) {
				near.add(number, &[*key; 32], signature).unwrap();
			}
			let gone = near.finish().unwrap();
			assert_eq!((0..100).filter(|number| gone.contains(*number)).collect::<BTreeSet<_>>(), BTreeSet::from([1, 2]));
		}
	}

	#[test]
	fn the_signature_of_a_text_never_changes() {
		let signature = signature("the same text has the same signature on every machine").unwrap();
		assert_eq!(mixed(0), 0xe220_a839_7b1d_cdaf, "the first number of SplitMix64 from 0");
		assert_eq!(signature.iter().fold(0, |sum, band| mixed(sum ^ band)), 0xcce497034f2a46b5, "worked out apart");
	}
}
