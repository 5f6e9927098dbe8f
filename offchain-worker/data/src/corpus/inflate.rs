//! Compressed files: gzip, Zstandard and xz, within bounds.

use super::kind::Kind;
use crate::meter::Meter;
use std::{
	cell::Cell,
	io::{self, BufRead, Read},
	rc::Rc,
};

/// A file may become so many times as large, and what is below [`SLACK`] more. Gzip cannot do more; files of text do not.
const MOST_TIMES: u64 = 1_000;
const SLACK: u64 = 16 << 20;
/// Most memory in KiB that an xz file may ask for. Its own tool takes 65 MiB at its highest level.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// Most bytes that may become of `compressed` ones.
pub(super) fn most_bytes(compressed: u64) -> u64 {
	compressed.saturating_mul(MOST_TIMES).saturating_add(SLACK)
}

/// A refusal in words, as an error of a reader.
pub(super) fn refusal(words: String) -> io::Error {
	io::Error::other(words)
}

/// What `input` holds, which is compressed as `kind` says. `read` counts the bytes of the file itself.
pub(super) fn inflated<'a>(kind: Kind, input: Box<dyn BufRead + 'a>, read: &Rc<Cell<u64>>) -> io::Result<Box<dyn Read + 'a>> {
	let inner: Box<dyn Read + 'a> = match kind {
		Kind::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
		Kind::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(input, true, XZ_MEMORY_KIB)),
		_ => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
	};
	Ok(Box::new(Bounded { inner, read: Rc::clone(read), made: 0 }))
}

/// Counts the bytes that are read of a file.
pub(super) struct Counted<'m, R> {
	inner: R,
	read: Rc<Cell<u64>>,
	meter: &'m Meter,
}

impl<'m, R> Counted<'m, R> {
	pub(super) fn new(inner: R, read: &Rc<Cell<u64>>, meter: &'m Meter) -> Self {
		Self { inner, read: Rc::clone(read), meter }
	}
}

impl<R: Read> Read for Counted<'_, R> {
	fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
		let count = self.inner.read(buffer)?;
		let bytes = u64::try_from(count).unwrap_or(u64::MAX);
		self.read.set(self.read.get().saturating_add(bytes));
		self.meter.add_read(bytes);
		Ok(count)
	}
}

/// Ends with an error where too much is made of what was read.
struct Bounded<R> {
	inner: R,
	read: Rc<Cell<u64>>,
	made: u64,
}

impl<R: Read> Read for Bounded<R> {
	fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
		let count = self.inner.read(buffer)?;
		self.made = self.made.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
		if self.made > most_bytes(self.read.get()) {
			return Err(refusal(format!("it is more than {MOST_TIMES} times as large as its compressed file, as no text is")));
		}
		Ok(count)
	}
}
