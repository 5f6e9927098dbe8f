//! A mixture: documents of several sources, by shares of their tokens.
//!
//! All documents are made into tokens, and wait in a file for each source, in the order of their hashes. Then that source gives its next document which
//! has given the fewest tokens for its weight, until that source has none left. So every beginning of the dataset has the shares within a document,
//! held-out shards have them as all others, no document is taken twice, and of what is left over the documents with the lowest hashes are taken.

use super::DataError;
use std::{
	fs::{self, File},
	io::{self, BufReader, BufWriter, Read, Write},
	path::{Path, PathBuf},
};

/// Most sources: each has a file that is open.
pub const MOST_SOURCES: usize = 64;
/// Highest weight of a source.
pub const MOST_WEIGHT: u64 = 1_000_000;

/// What a source has given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Given {
	/// Its weight.
	pub weight: u64,
	/// Documents that are in the mixture.
	pub documents: u64,
	/// Their bytes.
	pub bytes: u64,
	/// Their tokens.
	pub tokens: u64,
	/// Documents that are left over.
	pub left: u64,
}

/// Collects the documents of all sources.
pub(crate) struct Mixture {
	sources: Vec<(PathBuf, BufWriter<File>, u64)>,
	given: Vec<Given>,
}

impl Mixture {
	/// Of sources with these weights. Its files are in `folder`.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn new(folder: &Path, weights: &[u64]) -> Result<Self, DataError> {
		fs::create_dir_all(folder).map_err(|error| DataError::io(folder, error))?;
		let open = |number: usize| {
			let path = folder.join(format!("source-{number}"));
			let file = File::create_new(&path).map_err(|error| DataError::io(&path, error))?;
			Ok((path, BufWriter::new(file), 0))
		};
		let sources = (0..weights.len()).map(open).collect::<Result<_, DataError>>()?;
		Ok(Self { sources, given: weights.iter().map(|weight| Given { weight: *weight, ..Given::default() }).collect() })
	}

	/// Takes a document of a source. One without tokens is none.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn push(&mut self, source: u32, bytes: u64, tokens: &[u32]) -> Result<(), DataError> {
		if tokens.is_empty() {
			return Ok(());
		}
		let Some((path, file, documents)) = usize::try_from(source).ok().and_then(|source| self.sources.get_mut(source)) else {
			return Ok(());
		};
		*documents = documents.saturating_add(1);
		let count = u64::try_from(tokens.len()).unwrap_or(u64::MAX);
		let head = [bytes.to_le_bytes(), count.to_le_bytes()];
		let mut write = || {
			file.write_all(head.as_flattened())?;
			tokens.iter().try_for_each(|token| file.write_all(&token.to_le_bytes()))
		};
		write().map_err(|error: io::Error| DataError::io(path, error))
	}

	/// Hands the documents of the mixture to `take`, and says what each source has given.
	///
	/// # Errors
	/// [`DataError::Io`], [`DataError::Invalid`] for a source without a document, or what `take` says.
	pub(super) fn finish(self, take: &mut dyn FnMut(&[u32]) -> Result<(), DataError>) -> Result<Vec<Given>, DataError> {
		let Self { sources, mut given } = self;
		let mut readers = Vec::new();
		for (number, (path, file, documents)) in (1u32..).zip(sources) {
			if documents == 0 {
				return Err(DataError::Invalid(format!(
					"source {number} of the mixture has no document, so that nothing can be taken of the others"
				)));
			}
			file.into_inner().map_err(|error| DataError::io(&path, error.into_error()))?;
			let file = File::open(&path).map_err(|error| DataError::io(&path, error))?;
			readers.push((path, BufReader::new(file), documents));
		}
		let mut tokens = Vec::new();
		while let Some(next) = next(&given) {
			let (Some(given), Some((path, file, documents))) = (given.get_mut(next), readers.get_mut(next)) else { break };
			if given.documents == *documents {
				break;
			}
			let bytes = read(file, &mut tokens).map_err(|error| DataError::io(path, error))?;
			take(&tokens)?;
			given.documents = given.documents.saturating_add(1);
			given.bytes = given.bytes.saturating_add(bytes);
			given.tokens = given.tokens.saturating_add(u64::try_from(tokens.len()).unwrap_or(u64::MAX));
		}
		for (given, (path, file, documents)) in given.iter_mut().zip(readers) {
			given.left = documents.saturating_sub(given.documents);
			drop(file);
			fs::remove_file(&path).map_err(|error| DataError::io(&path, error))?;
		}
		Ok(given)
	}
}

/// The source that has given the fewest tokens for its weight, of several the first.
fn next(given: &[Given]) -> Option<usize> {
	let by_weight = |(_, a): &(usize, &Given), (_, b): &(usize, &Given)| {
		let product = |tokens: u64, weight: u64| u128::from(tokens).saturating_mul(weight.into());
		product(a.tokens, b.weight).cmp(&product(b.tokens, a.weight))
	};
	given.iter().enumerate().min_by(by_weight).map(|(number, _)| number)
}

/// Reads the tokens of a document, and says its bytes.
fn read(file: &mut BufReader<File>, tokens: &mut Vec<u32>) -> io::Result<u64> {
	let mut head = [[0; 8]; 2];
	file.read_exact(head.as_flattened_mut())?;
	let [bytes, count] = head.map(u64::from_le_bytes);
	tokens.clear();
	for _ in 0..count {
		let mut token = [0; 4];
		file.read_exact(&mut token)?;
		tokens.push(u32::from_le_bytes(token));
	}
	Ok(bytes)
}

#[cfg(test)]
mod tests {
	use super::*;

	/// Documents by source and length, and what was given.
	type Mixed = (Vec<(u32, usize)>, Vec<Given>);

	/// The documents of a mixture, each of which has so many tokens that are its source, and what was given.
	fn mixed(sources: &[(u64, &[usize])]) -> Result<Mixed, DataError> {
		let folder = tempfile::tempdir().unwrap();
		let weights: Vec<u64> = sources.iter().map(|(weight, _)| *weight).collect();
		let mut mixture = Mixture::new(&folder.path().join("mixture"), &weights)?;
		for (number, (_, lengths)) in (0u32..).zip(sources) {
			lengths.iter().try_for_each(|length| mixture.push(number, 2 * *length as u64, &vec![number; *length]))?;
		}
		let mut taken = Vec::new();
		let given = mixture.finish(&mut |tokens| {
			taken.push((tokens[0], tokens.len()));
			Ok(())
		})?;
		assert_eq!(fs::read_dir(folder.path().join("mixture")).unwrap().count(), 0);
		Ok((taken, given))
	}

	#[test]
	fn each_source_gives_when_it_is_behind_its_share_until_it_has_nothing_left() {
		let (taken, given) = mixed(&[(3, &[30, 30, 30, 30]), (1, &[10, 40, 10])]).unwrap();
		// 0 and 0: the first. 30 / 3 and 0: the second. 10 and 10: the first. 20 and 10: the second. 20 and 50: the first, twice, and then it is used up.
		assert_eq!(taken, [(0, 30), (1, 10), (0, 30), (1, 40), (0, 30), (0, 30)]);
		assert_eq!(given[0], Given { weight: 3, documents: 4, bytes: 240, tokens: 120, left: 0 });
		assert_eq!(given[1], Given { weight: 1, documents: 2, bytes: 100, tokens: 50, left: 1 });
	}

	#[test]
	fn shares_are_those_of_the_weights_within_a_document() {
		let (_, given) = mixed(&[(5, &[7; 1000]), (2, &[3; 1000]), (1, &[11; 30])]).unwrap();
		assert_eq!((given[2].tokens, given[2].left), (330, 0));
		assert!(given[0].tokens.abs_diff(5 * 330) <= 11 * 5 && given[1].tokens.abs_diff(2 * 330) <= 11 * 2, "{given:?}");
	}

	#[test]
	fn a_source_without_a_document_is_refused_by_its_number() {
		for lengths in [&[][..], &[0]] {
			let error = mixed(&[(1, &[1]), (1, lengths)]).unwrap_err().to_string();
			assert!(error.starts_with("source 2 of the mixture has no document"), "{error}");
		}
	}

	#[test]
	fn documents_without_tokens_count_for_nothing() {
		assert_eq!(mixed(&[(1, &[0, 3, 0, 3]), (1, &[0, 2])]).unwrap(), mixed(&[(1, &[3, 3]), (1, &[2])]).unwrap());
	}
}
