//! Records in order, such as documents by their contents' hashes, whatever room there is for them.
//!
//! What does not fit in memory is written to files in order (runs), which are then read side by side.

use super::{
	corpus::{Document, Reason},
	minhash::Numbers,
	DataError,
};
use std::{
	cmp::{Ordering, Reverse},
	collections::{BinaryHeap, VecDeque},
	fs::{self, File},
	io::{self, BufRead, BufReader, BufWriter, Read, Write},
	path::{Path, PathBuf},
};

/// Runs that are read side by side: far fewer than files that may be open.
const MOST_MERGED: usize = 128;
/// Bounds on the bytes that are read at once of a run.
const LEAST_BUFFER: usize = 4 << 10;
const MOST_BUFFER: usize = 1 << 20;

/// What can be sorted.
pub(super) trait Record: Ord + Sized {
	/// Bytes that it takes in memory beside its own.
	fn held(&self) -> usize;

	/// Writes it to a run.
	///
	/// # Errors
	/// Those of `file`.
	fn write(&self, file: &mut dyn Write) -> io::Result<()>;

	/// Reads the next one of a run; nothing at its end.
	///
	/// # Errors
	/// Those of `file`, or that it ends within a record.
	fn read(file: &mut dyn BufRead) -> io::Result<Option<Self>>;
}

/// A document and where it goes. Of those that are equal but for blanks at their ends, the shortest comes first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sorted {
	/// Hash of the text without blanks at its end.
	key: [u8; 32],
	/// The text.
	pub(super) text: String,
	/// Number of the file that it is from.
	pub(super) file: u32,
	/// Number of the text that it is a part of, where texts are looked at as a whole.
	pub(super) number: u64,
}

impl Sorted {
	/// A document of a file.
	pub(super) fn new(text: &str, file: u32) -> Self {
		Self { key: super::blake2_256(text.trim_end().as_bytes()).0, text: text.to_owned(), file, number: 0 }
	}
}

impl From<Document<'_>> for Sorted {
	fn from(document: Document<'_>) -> Self {
		Self::new(document.text, document.file)
	}
}

impl Ord for Sorted {
	fn cmp(&self, other: &Self) -> Ordering {
		let place = |one: &Self| (one.file, one.number);
		let by_text = || self.text.len().cmp(&other.text.len()).then_with(|| self.text.cmp(&other.text));
		self.key.cmp(&other.key).then_with(by_text).then_with(|| place(self).cmp(&place(other)))
	}
}

impl PartialOrd for Sorted {
	fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
		Some(self.cmp(other))
	}
}

impl Record for Sorted {
	fn held(&self) -> usize {
		self.text.len()
	}

	fn write(&self, file: &mut dyn Write) -> io::Result<()> {
		let length = u64::try_from(self.text.len()).unwrap_or(u64::MAX).to_le_bytes();
		let (number, place) = (self.file.to_le_bytes(), self.number.to_le_bytes());
		[&self.key[..], &number, &place, &length, self.text.as_bytes()].iter().try_for_each(|part| file.write_all(part))
	}

	fn read(mut file: &mut dyn BufRead) -> io::Result<Option<Self>> {
		if file.fill_buf()?.is_empty() {
			return Ok(None);
		}
		let (mut key, mut number, mut place, mut length) = ([0; 32], [0; 4], [0; 8], [0; 8]);
		let parts: [&mut [u8]; 4] = [&mut key, &mut number, &mut place, &mut length];
		parts.into_iter().try_for_each(|part| file.read_exact(part))?;
		let length = u64::from_le_bytes(length);
		let mut text = String::new();
		match Read::take(&mut file, length).read_to_string(&mut text).map(u64::try_from)? {
			Ok(read) if read == length => Ok(Some(Self { key, text, file: u32::from_le_bytes(number), number: u64::from_le_bytes(place) })),
			_ => Err(io::ErrorKind::UnexpectedEof.into()),
		}
	}
}

/// Collects records.
pub(super) struct Sorter<T> {
	/// Where runs go.
	folder: PathBuf,
	/// Most bytes that are held.
	memory: usize,
	held: Vec<T>,
	bytes: usize,
	runs: VecDeque<PathBuf>,
	written: u64,
}

impl<T: Record> Sorter<T> {
	/// Uses about `memory` bytes, and the folder `folder` of its own, which is created if it is needed.
	pub(super) fn new(folder: PathBuf, memory: u64) -> Self {
		let memory = usize::try_from(memory).unwrap_or(usize::MAX);
		Self { folder, memory, held: Vec::new(), bytes: 0, runs: VecDeque::new(), written: 0 }
	}

	/// Takes a record.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn add(&mut self, record: T) -> Result<(), DataError> {
		// The list of records may have twice the room that it uses.
		let bytes = record.held().saturating_add(2 * size_of::<T>());
		if !self.held.is_empty() && self.bytes.saturating_add(bytes) > self.memory {
			self.write_run()?;
		}
		self.bytes = self.bytes.saturating_add(bytes);
		self.held.push(record);
		Ok(())
	}

	fn write_run(&mut self) -> Result<(), DataError> {
		self.held.sort_unstable();
		let path = self.next_path()?;
		let mut run = Run::create(&path)?;
		for record in self.held.drain(..) {
			run.write(&record)?;
		}
		run.finish()?;
		self.bytes = 0;
		self.runs.push_back(path);
		Ok(())
	}

	fn next_path(&mut self) -> Result<PathBuf, DataError> {
		fs::create_dir_all(&self.folder).map_err(|error| DataError::io(&self.folder, error))?;
		self.written = self.written.saturating_add(1);
		Ok(self.folder.join(self.written.to_string()))
	}

	/// All records, in order.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn finish(mut self) -> Result<InOrder<T>, DataError> {
		if self.runs.is_empty() {
			self.held.sort_unstable();
			return InOrder::of(vec![Source::Held(self.held.into_iter())]);
		}
		if !self.held.is_empty() {
			self.write_run()?;
		}
		self.held = Vec::new();
		while self.runs.len() > MOST_MERGED {
			let some: Vec<PathBuf> = self.runs.drain(..MOST_MERGED).collect();
			let path = self.next_path()?;
			let mut run = Run::create(&path)?;
			let mut merged = InOrder::<T>::open(&some, self.memory)?;
			while let Some(record) = merged.next()? {
				run.write(&record)?;
			}
			run.finish()?;
			remove(&some)?;
			self.runs.push_back(path);
		}
		let runs: Vec<PathBuf> = self.runs.iter().cloned().collect();
		InOrder::open(&runs, self.memory)
	}
}

fn remove(paths: &[PathBuf]) -> Result<(), DataError> {
	paths.iter().try_for_each(|path| fs::remove_file(path).map_err(|error| DataError::io(path, error)))
}

/// A run that is written.
struct Run {
	path: PathBuf,
	file: BufWriter<File>,
}

impl Run {
	fn create(path: &Path) -> Result<Self, DataError> {
		let file = File::create_new(path).map_err(|error| DataError::io(path, error))?;
		Ok(Self { path: path.to_path_buf(), file: BufWriter::with_capacity(MOST_BUFFER, file) })
	}

	fn write(&mut self, record: &impl Record) -> Result<(), DataError> {
		record.write(&mut self.file).map_err(|error| DataError::io(&self.path, error))
	}

	fn finish(mut self) -> Result<(), DataError> {
		self.file.flush().map_err(|error| DataError::io(&self.path, error))
	}
}

/// Records in order.
enum Source<T> {
	Held(std::vec::IntoIter<T>),
	Run(PathBuf, BufReader<File>),
}

impl<T: Record> Source<T> {
	fn next(&mut self) -> Result<Option<T>, DataError> {
		match self {
			Self::Held(records) => Ok(records.next()),
			Self::Run(path, file) => T::read(file).map_err(|error| DataError::io(path, error)),
		}
	}
}

/// All records in order: the first one of each source, and the sources.
pub(super) struct InOrder<T> {
	heads: BinaryHeap<Reverse<(T, usize)>>,
	sources: Vec<Source<T>>,
}

impl<T: Record> InOrder<T> {
	fn open(runs: &[PathBuf], memory: usize) -> Result<Self, DataError> {
		let buffer = memory.checked_div(runs.len().saturating_mul(2)).unwrap_or_default().clamp(LEAST_BUFFER, MOST_BUFFER);
		let open = |path: &PathBuf| {
			let file = File::open(path).map_err(|error| DataError::io(path, error))?;
			Ok(Source::Run(path.clone(), BufReader::with_capacity(buffer, file)))
		};
		Self::of(runs.iter().map(open).collect::<Result<_, DataError>>()?)
	}

	fn of(mut sources: Vec<Source<T>>) -> Result<Self, DataError> {
		let mut heads = BinaryHeap::new();
		for (index, source) in sources.iter_mut().enumerate() {
			heads.extend(source.next()?.map(|head| Reverse((head, index))));
		}
		Ok(Self { heads, sources })
	}

	/// The next record; none at the end.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn next(&mut self) -> Result<Option<T>, DataError> {
		let Some(Reverse((first, index))) = self.heads.pop() else { return Ok(None) };
		if let Some(head) = self.sources.get_mut(index).map(Source::next).transpose()?.flatten() {
			self.heads.push(Reverse((head, index)));
		}
		Ok(Some(first))
	}
}

/// All documents in order, each once, and none of a text that does not stay.
pub(super) struct Merge {
	documents: InOrder<Sorted>,
	gone: Numbers,
	last: Option<[u8; 32]>,
}

impl Merge {
	/// Those of `documents` but for texts with these numbers.
	pub(super) fn new(documents: InOrder<Sorted>, gone: Numbers) -> Self {
		Self { documents, gone, last: None }
	}

	/// The next document; none at the end. Those that are left out are told to `left`, by file and bytes.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn next(&mut self, left: &mut dyn FnMut(Reason, u32, u64)) -> Result<Option<Sorted>, DataError> {
		while let Some(document) = self.documents.next()? {
			let bytes = u64::try_from(document.text.len()).unwrap_or(u64::MAX);
			if self.gone.contains(document.number) {
				left(Reason::Near, document.file, bytes);
			} else if self.last == Some(document.key) {
				left(Reason::Repeated, document.file, bytes);
			} else {
				self.last = Some(document.key);
				return Ok(Some(document));
			}
		}
		Ok(None)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use proptest::prelude::*;
	use std::collections::BTreeMap;

	/// The texts in order, bytes of those that were left out, and how many runs there were.
	fn sorted(documents: &[(String, u32)], memory: u64) -> (Vec<String>, u64, u64) {
		let folder = tempfile::tempdir().unwrap();
		let mut sorter = Sorter::new(folder.path().join("runs"), memory);
		for (text, file) in documents {
			sorter.add(Sorted::new(text, *file)).unwrap();
		}
		let runs = sorter.written;
		let mut merge = Merge::new(sorter.finish().unwrap(), Numbers::default());
		let (mut texts, mut left) = (Vec::new(), 0);
		while let Some(document) = merge.next(&mut |_, _, bytes| left += bytes).unwrap() {
			texts.push(document.text);
		}
		(texts, left, runs)
	}

	#[test]
	fn more_runs_than_are_merged_at_once_give_what_memory_gives() {
		let documents: Vec<(String, u32)> = (0..3_000u32).map(|number| (format!("document {}", number % 2_000), number)).collect();
		let (texts, left, runs) = sorted(&documents, 1_000);
		assert!(runs > 2 * MOST_MERGED as u64, "{runs}");
		assert_eq!(
			(&texts, left),
			(&sorted(&documents, u64::MAX).0, documents.iter().skip(2_000).map(|(text, _)| text.len() as u64).sum())
		);
		assert_eq!((texts.len(), sorted(&documents, u64::MAX).2), (2_000, 0));
	}

	#[test]
	fn a_run_that_was_cut_is_an_error() {
		let folder = tempfile::tempdir().unwrap();
		let mut sorter = Sorter::new(folder.path().join("runs"), 1);
		for text in ["one", "two"] {
			sorter.add(Sorted::new(text, 0)).unwrap();
		}
		File::options().write(true).open(folder.path().join("runs/1")).unwrap().set_len(53).unwrap();
		assert!(matches!(sorter.finish().and_then(|mut documents| documents.next()), Err(DataError::Io { .. })));
	}

	proptest! {
		#[test]
		fn runs_of_any_length_give_what_sorting_in_memory_gives(documents in prop::collection::vec(("[ab]{1,3}[ \n]{0,2}", 0u32..5), 1..200), memory in 1u64..20_000) {
			// The shortest text for each that is different but for its end, by the hash of that.
			let mut expected = BTreeMap::new();
			for (text, _) in &documents {
				let kept = expected.entry(crate::blake2_256(text.trim_end().as_bytes()).0).or_insert(text);
				if (text.len(), text) < (kept.len(), *kept) {
					*kept = text;
				}
			}
			let expected: Vec<String> = expected.into_values().cloned().collect();
			let bytes = |texts: &[String]| texts.iter().map(|text| text.len() as u64).sum::<u64>();
			let all: Vec<String> = documents.iter().map(|(text, _)| text.clone()).collect();
			let (texts, left, _) = sorted(&documents, memory);
			prop_assert_eq!(&texts, &expected);
			prop_assert_eq!(left, bytes(&all) - bytes(&texts));
		}
	}
}
