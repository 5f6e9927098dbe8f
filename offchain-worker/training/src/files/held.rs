//! What a span holds of a vector in a file, and the vector in a file of what spans hold.

use super::{
	vector::{create, pieces, Rooted},
	FilesError, TileFile,
};
use neuroshard_graph::{
	cover::{merge, Cover},
	span::Held,
	tiles::{decode_tensor, encode_tensor, leaf_hashes, LEAF_BYTES},
	Hash,
};
use neuroshard_types::H256;
use std::{
	fs::File,
	ops::Range,
	os::unix::fs::FileExt,
	path::{Path, PathBuf},
	sync::Arc,
};

/// Tiles that are read, or handed over, at a time: 1 MiB.
pub const HANDED_TILES: usize = 256;

/// Why tiles of a part are not written.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
	/// The disk.
	#[error(transparent)]
	Files(#[from] FilesError),
	/// Others than are next.
	#[error("tiles that are not the next ones of part {0}, or more than it has; give all of them, once, in order")]
	Order(usize),
	/// Another part than the one whose roots are known.
	#[error("tiles of part {0} whose roots are others than are known of it; refuse whoever gave them")]
	Root(usize),
}

/// Roots of the subtrees of a cover, as the hashes of their leaves come: few of them are in memory.
struct Subtrees {
	cover: Cover,
	roots: Vec<Hash>,
	under: Rooted,
}

impl Subtrees {
	fn new(cover: Cover) -> Self {
		let under = Rooted::new(leaves(&cover, 0));
		Self { cover, roots: Vec::new(), under }
	}

	/// Takes in the hashes of the next leaves; what is beyond the last subtree is left out.
	fn push(&mut self, mut hashes: &[Hash]) {
		while let Some(all) = self.cover.subtrees().get(self.roots.len()).map(|subtree| subtree.leaves) {
			let left = usize::try_from(all.saturating_sub(self.under.len())).unwrap_or(usize::MAX);
			let (those, after) = hashes.split_at(left.min(hashes.len()));
			if those.is_empty() {
				return;
			}
			self.under.push(those);
			if self.under.len() == all {
				self.roots.push(self.under.root().unwrap_or_default().0);
				self.under = Rooted::new(leaves(&self.cover, self.roots.len()));
			}
			hashes = after;
		}
	}
}

fn leaves(cover: &Cover, number: usize) -> usize {
	cover.subtrees().get(number).map_or(0, |subtree| usize::try_from(subtree.leaves).unwrap_or(usize::MAX))
}

fn size(tile: u32) -> usize {
	usize::try_from(tile).unwrap_or(usize::MAX)
}

/// Tiles of the whole vector that are a part's own tiles `own`, in ranges.
fn placed(ranges: &[Range<u32>], own: Range<usize>) -> Vec<Range<usize>> {
	let (mut placed, mut before) = (Vec::new(), 0);
	for range in ranges {
		let (first, len) = (size(range.start), range.len());
		let (start, end) = (own.start.clamp(before, before + len), own.end.clamp(before, before + len));
		if start < end {
			placed.push(first + start - before..first + end - before);
		}
		before += len;
	}
	placed
}

impl TileFile {
	/// Roots of what each cover has of the vector's tree. No more than a few tiles are in memory.
	///
	/// # Errors
	/// [`FilesError::Root`] if the vector's root does not follow of them: the covers are no cut of it, or the file has changed. [`FilesError::Io`].
	pub fn parts(&self, covers: &[Cover], threads: usize) -> Result<Vec<Vec<Hash>>, FilesError> {
		let part = |cover: &Cover| {
			let mut subtrees = Subtrees::new(cover.clone());
			for subtree in cover.subtrees() {
				let (first, end) = (size(subtree.first), size(subtree.first.saturating_add(subtree.leaves)));
				for start in (first..end).step_by(HANDED_TILES) {
					subtrees.push(&leaf_hashes(&self.bytes(start..end.min(start + HANDED_TILES))?, threads));
				}
			}
			Ok(subtrees.roots)
		};
		let parts = covers.iter().map(part).collect::<Result<Vec<_>, FilesError>>()?;
		let of: Vec<_> = covers.iter().zip(&parts).map(|(cover, roots)| (cover, roots.as_slice())).collect();
		let found = covers.first().and_then(|cover| merge(cover.all(), &of)).map(H256).unwrap_or_default();
		match found == self.root() {
			true => Ok(parts),
			false => Err(FilesError::Root { path: self.path().to_path_buf(), found, expected: self.root() }),
		}
	}

	/// What a span holds of the vector, whose roots over its cover are `expected`. Nothing else of the vector is in memory, but a piece of what is read.
	///
	/// # Errors
	/// [`FilesError::Part`] if what is read has other roots, [`FilesError::Encoding`], [`FilesError::Io`].
	pub fn held(&self, held: &Held, expected: &[Hash], threads: usize) -> Result<Vec<f32>, FilesError> {
		let mut own = vec![0.0; held.layout.len()];
		let (mut read, mut wrong) = (Subtrees::new(held.cover()), None);
		for piece in pieces(&held.layout) {
			let mut bytes = Vec::with_capacity(piece.tiles.len() * LEAF_BYTES);
			for range in placed(&held.tiles, piece.tiles.clone()) {
				bytes.extend(self.bytes(range)?);
			}
			read.push(&leaf_hashes(&bytes, threads));
			wrong = wrong.or(decode_tensor(&piece.tensor, &bytes, &mut own[piece.elements]).err());
		}
		match wrong {
			_ if read.roots != expected => Err(FilesError::Part(self.path().to_path_buf())),
			Some(source) => Err(FilesError::Encoding { path: self.path().to_path_buf(), source }),
			None => Ok(own),
		}
	}
}

/// Tiles of a span's own vector one after the other, at most [`HANDED_TILES`] at a time: the number of the first one, counted through the span's, and their
/// bytes.
pub fn handed<'a>(held: &'a Held, own: &'a [f32]) -> impl Iterator<Item = (u32, Vec<u8>)> + 'a {
	pieces(&held.layout).into_iter().flat_map(|piece| {
		let bytes = encode_tensor(&piece.tensor, &own[piece.elements]);
		let firsts = piece.tiles.step_by(HANDED_TILES);
		let of = |(first, bytes): (usize, &[u8])| (u32::try_from(first).unwrap_or(u32::MAX), bytes.to_vec());
		firsts.zip(bytes.chunks(HANDED_TILES * LEAF_BYTES)).map(of).collect::<Vec<_>>()
	})
}

/// A part of a vector that is being written.
struct Part {
	ranges: Vec<Range<u32>>,
	tiles: usize,
	/// Tiles that were written.
	next: usize,
	subtrees: Subtrees,
	expected: Vec<Hash>,
}

/// Writes a vector to a file whose parts come side by side, each in order, and checks each part against the roots that are known of it.
pub struct PartsWriter {
	path: PathBuf,
	file: Arc<File>,
	all_tiles: u32,
	threads: usize,
	parts: Vec<Part>,
}

impl PartsWriter {
	/// Writes to a file of its own at `path`, in place of what was there, what spans hold that are a cut, with the roots that are known of each.
	///
	/// # Errors
	/// [`FilesError::Io`].
	pub fn create(path: &Path, parts: Vec<(&Held, Vec<Hash>)>, threads: usize) -> Result<Self, FilesError> {
		let all_tiles = parts.first().map_or(0, |(held, _)| held.all_tiles);
		let part = |(held, expected): (&Held, Vec<Hash>)| Part {
			ranges: held.tiles.clone(),
			tiles: held.tiles.iter().map(ExactSizeIterator::len).sum(),
			next: 0,
			subtrees: Subtrees::new(held.cover()),
			expected,
		};
		Ok(Self { path: path.to_path_buf(), file: create(path)?, all_tiles, threads, parts: parts.into_iter().map(part).collect() })
	}

	/// Writes the next tiles of a part, of which tile `first` of the part is the first one.
	///
	/// # Errors
	/// [`PartError`]; nothing is written then of tiles that are not next.
	pub fn write(&mut self, number: usize, first: u32, tiles: &[u8]) -> Result<(), PartError> {
		let part = self.parts.get_mut(number).ok_or(PartError::Order(number))?;
		let count = tiles.len() / LEAF_BYTES;
		if size(first) != part.next || count == 0 || !tiles.len().is_multiple_of(LEAF_BYTES) || count > part.tiles - part.next {
			return Err(PartError::Order(number));
		}
		let mut rest = tiles;
		for range in placed(&part.ranges, part.next..part.next + count) {
			let (those, after) = rest.split_at((range.len() * LEAF_BYTES).min(rest.len()));
			let at = range.start as u64 * LEAF_BYTES as u64;
			self.file.write_all_at(those, at).map_err(|source| FilesError::io(&self.path, source))?;
			rest = after;
		}
		part.next += count;
		part.subtrees.push(&leaf_hashes(tiles, self.threads));
		let known = part.expected.get(..part.subtrees.roots.len());
		match known == Some(&part.subtrees.roots) {
			true => Ok(()),
			false => Err(PartError::Root(number)),
		}
	}

	/// Parts of which tiles are missing.
	pub fn missing(&self) -> Vec<usize> {
		let unfinished = |(number, part): (usize, &Part)| (part.next < part.tiles).then_some(number);
		self.parts.iter().enumerate().filter_map(unfinished).collect()
	}

	/// The vector, once all of it is safely on disk.
	///
	/// # Errors
	/// [`FilesError::Unfinished`] if tiles are missing, or the parts are no cut; [`FilesError::Io`].
	pub fn finish(self) -> Result<TileFile, FilesError> {
		let Self { path, file, all_tiles, parts, .. } = self;
		let of: Vec<_> = parts.iter().map(|part| (&part.subtrees.cover, part.subtrees.roots.as_slice())).collect();
		let Some(root) = merge(all_tiles, &of) else {
			return Err(FilesError::Unfinished { path, expected: size(all_tiles), found: parts.iter().map(|part| part.next).sum() });
		};
		file.sync_all().map_err(|source| FilesError::io(&path, source))?;
		Ok(TileFile::of(&path, file, size(all_tiles), H256(root)))
	}
}
