//! Documents in the order of their contents' hashes, each once, whatever room there is for them.
//!
//! What does not fit in memory is written to files in order (runs), which are then read side by side.

use super::{corpus::Document, DataError};
use std::{
	cmp::{Ordering, Reverse},
	collections::{BinaryHeap, VecDeque},
	fs::{self, File},
	io::{self, BufReader, BufWriter, Read, Write},
	path::{Path, PathBuf},
};

/// Runs that are read side by side: far fewer than files that may be open.
const MOST_MERGED: usize = 128;
/// Bounds on the bytes that are read at once of a run.
const LEAST_BUFFER: usize = 4 << 10;
const MOST_BUFFER: usize = 1 << 20;

/// A document and where it goes. Of those that are equal but for blanks at their ends, the shortest comes first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sorted {
	/// Hash of the text without blanks at its end.
	key: [u8; 32],
	/// The text.
	pub(super) text: String,
	/// Number of the file that it is from.
	pub(super) file: u32,
}

impl Ord for Sorted {
	fn cmp(&self, other: &Self) -> Ordering {
		order((&self.key, &self.text, self.file), (&other.key, &other.text, other.file))
	}
}

impl PartialOrd for Sorted {
	fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
		Some(self.cmp(other))
	}
}

fn order(a: (&[u8; 32], &str, u32), b: (&[u8; 32], &str, u32)) -> Ordering {
	let length = |text: &str| text.len();
	a.0.cmp(b.0).then_with(|| length(a.1).cmp(&length(b.1))).then_with(|| a.1.cmp(b.1)).then_with(|| a.2.cmp(&b.2))
}

/// Collects documents.
pub(super) struct Sorter {
	/// Where runs go.
	folder: PathBuf,
	/// Most bytes that are held.
	memory: usize,
	held: Vec<Sorted>,
	bytes: usize,
	runs: VecDeque<PathBuf>,
	written: u64,
}

impl Sorter {
	/// Uses about `memory` bytes, and the folder `folder` of its own, which is created if it is needed.
	pub(super) fn new(folder: PathBuf, memory: u64) -> Self {
		let memory = usize::try_from(memory).unwrap_or(usize::MAX);
		Self { folder, memory, held: Vec::new(), bytes: 0, runs: VecDeque::new(), written: 0 }
	}

	/// Takes a document.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn add(&mut self, document: Document<'_>) -> Result<(), DataError> {
		let Document { text, file } = document;
		let key = super::blake2_256(text.trim_end().as_bytes()).0;
		// The list of documents may have twice the room that it uses.
		let bytes = text.len().saturating_add(2 * size_of::<Sorted>());
		if !self.held.is_empty() && self.bytes.saturating_add(bytes) > self.memory {
			self.write_run()?;
		}
		self.bytes = self.bytes.saturating_add(bytes);
		self.held.push(Sorted { key, text: text.to_owned(), file });
		Ok(())
	}

	fn write_run(&mut self) -> Result<(), DataError> {
		self.held.sort_unstable();
		let path = self.next_path()?;
		let mut run = Run::create(&path)?;
		for document in self.held.drain(..) {
			run.write(&document)?;
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

	/// All documents, in order.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn finish(mut self) -> Result<Merge, DataError> {
		if self.runs.is_empty() {
			self.held.sort_unstable();
			return Ok(Merge { heads: Heads::of(vec![Source::Held(self.held.into_iter())])?, last: None });
		}
		if !self.held.is_empty() {
			self.write_run()?;
		}
		self.held = Vec::new();
		while self.runs.len() > MOST_MERGED {
			let some: Vec<PathBuf> = self.runs.drain(..MOST_MERGED).collect();
			let path = self.next_path()?;
			let mut run = Run::create(&path)?;
			let mut merged = Heads::open(&some, self.memory)?;
			while let Some(document) = merged.next()? {
				run.write(&document)?;
			}
			run.finish()?;
			remove(&some)?;
			self.runs.push_back(path);
		}
		let runs: Vec<PathBuf> = self.runs.iter().cloned().collect();
		let heads = Heads::open(&runs, self.memory)?;
		Ok(Merge { heads, last: None })
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

	fn write(&mut self, document: &Sorted) -> Result<(), DataError> {
		let (file, length) = (document.file.to_le_bytes(), u64::try_from(document.text.len()).unwrap_or(u64::MAX).to_le_bytes());
		let parts: [&[u8]; 4] = [&document.key, &file, &length, document.text.as_bytes()];
		parts.iter().try_for_each(|part| self.file.write_all(part)).map_err(|error| DataError::io(&self.path, error))
	}

	fn finish(mut self) -> Result<(), DataError> {
		self.file.flush().map_err(|error| DataError::io(&self.path, error))
	}
}

/// Documents in order.
enum Source {
	Held(std::vec::IntoIter<Sorted>),
	Run(PathBuf, BufReader<File>),
}

impl Source {
	fn next(&mut self) -> Result<Option<Sorted>, DataError> {
		match self {
			Self::Held(documents) => Ok(documents.next()),
			Self::Run(path, file) => read(file).map_err(|error| DataError::io(path, error)),
		}
	}
}

fn read(file: &mut BufReader<File>) -> io::Result<Option<Sorted>> {
	let (mut key, mut number, mut length) = ([0; 32], [0; 4], [0; 8]);
	match file.read(&mut key)? {
		0 => return Ok(None),
		read => file.read_exact(key.get_mut(read..).unwrap_or_default())?,
	}
	file.read_exact(&mut number)?;
	file.read_exact(&mut length)?;
	let length = u64::from_le_bytes(length);
	let mut text = String::new();
	match file.take(length).read_to_string(&mut text).map(u64::try_from)? {
		Ok(read) if read == length => Ok(Some(Sorted { key, text, file: u32::from_le_bytes(number) })),
		_ => Err(io::ErrorKind::UnexpectedEof.into()),
	}
}

/// The first document of each source, and the sources.
struct Heads {
	heads: BinaryHeap<Reverse<(Sorted, usize)>>,
	sources: Vec<Source>,
}

impl Heads {
	fn open(runs: &[PathBuf], memory: usize) -> Result<Self, DataError> {
		let buffer = memory.checked_div(runs.len().saturating_mul(2)).unwrap_or_default().clamp(LEAST_BUFFER, MOST_BUFFER);
		let open = |path: &PathBuf| {
			let file = File::open(path).map_err(|error| DataError::io(path, error))?;
			Ok(Source::Run(path.clone(), BufReader::with_capacity(buffer, file)))
		};
		Self::of(runs.iter().map(open).collect::<Result<_, DataError>>()?)
	}

	fn of(mut sources: Vec<Source>) -> Result<Self, DataError> {
		let mut heads = BinaryHeap::new();
		for (index, source) in sources.iter_mut().enumerate() {
			heads.extend(source.next()?.map(|head| Reverse((head, index))));
		}
		Ok(Self { heads, sources })
	}

	fn next(&mut self) -> Result<Option<Sorted>, DataError> {
		let Some(Reverse((first, index))) = self.heads.pop() else { return Ok(None) };
		if let Some(head) = self.sources.get_mut(index).map(Source::next).transpose()?.flatten() {
			self.heads.push(Reverse((head, index)));
		}
		Ok(Some(first))
	}
}

/// All documents in order, each once.
pub(super) struct Merge {
	heads: Heads,
	last: Option<[u8; 32]>,
}

impl Merge {
	/// The next document; none at the end. Those that are left out are told to `repeated`, by file and bytes.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn next(&mut self, repeated: &mut dyn FnMut(u32, u64)) -> Result<Option<Sorted>, DataError> {
		while let Some(document) = self.heads.next()? {
			if self.last != Some(document.key) {
				self.last = Some(document.key);
				return Ok(Some(document));
			}
			repeated(document.file, u64::try_from(document.text.len()).unwrap_or(u64::MAX));
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
			sorter.add(Document { text, file: *file }).unwrap();
		}
		let runs = sorter.written;
		let (mut merge, mut texts, mut left) = (sorter.finish().unwrap(), Vec::new(), 0);
		while let Some(document) = merge.next(&mut |_, bytes| left += bytes).unwrap() {
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
			sorter.add(Document { text, file: 0 }).unwrap();
		}
		File::options().write(true).open(folder.path().join("runs/1")).unwrap().set_len(45).unwrap();
		assert!(matches!(sorter.finish().and_then(|mut merge| merge.next(&mut |_, _| ())), Err(DataError::Io { .. })));
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
