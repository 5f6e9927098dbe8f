//! Tile-encoded vectors in files, read and written in parts.

use super::FilesError;
use neuroshard_graph::{
	cover::{merge, Cover},
	tiles::{decode_tensor, encode_tensor, leaf_hashes, tile_count, DecodeError, LEAF_BYTES, TILE},
	Hash, ParamLayout, ParamTensor,
};
use neuroshard_kernels::shape::Tiling;
use neuroshard_types::H256;
use std::{
	fs::{File, OpenOptions},
	io::{Read, Seek, SeekFrom},
	ops::Range,
	os::unix::fs::{FileExt, OpenOptionsExt},
	path::{Path, PathBuf},
	sync::Arc,
};

/// Numbers of a piece, if its tensor has rows short enough: 4 MiB.
const PIECE: usize = 1 << 20;

/// Whole rows of tiles of a tensor: they lie together in the vector, and their tiles in its encoding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Piece {
	/// As a tensor of its own.
	pub tensor: ParamTensor,
	/// Its elements of the vector.
	pub elements: Range<usize>,
	/// Its tiles of the vector.
	pub tiles: Range<usize>,
}

impl Piece {
	/// Its tensor, as operators ask for it.
	pub fn tiling(&self) -> Tiling {
		Tiling::new([(self.tensor.rows, self.tensor.cols)])
	}
}

/// A vector in pieces, in order.
pub(super) fn pieces(layout: &ParamLayout) -> Vec<Piece> {
	let (mut pieces, mut tile) = (Vec::new(), 0);
	for tensor in layout.tensors() {
		let rows = (PIECE / tensor.cols.max(1) / TILE).max(1) * TILE;
		for top in (0..tensor.rows).step_by(rows) {
			let part =
				ParamTensor { rows: rows.min(tensor.rows - top), cols: tensor.cols, offset: 0, name: String::new(), kind: tensor.kind };
			let (first, tiles) = (tensor.offset + top * tensor.cols, tile_count(part.rows, part.cols));
			pieces.push(Piece { elements: first..first + part.len(), tiles: tile..tile + tiles, tensor: part });
			tile += tiles;
		}
	}
	pieces
}

/// Hashes of the tiles of a vector, as far as they are known: few of them are in memory.
pub(super) struct Rooted {
	tiles: u32,
	next: u32,
	parts: Vec<(Cover, Vec<Hash>)>,
}

impl Rooted {
	pub fn new(tiles: usize) -> Self {
		Self { tiles: u32::try_from(tiles).unwrap_or(u32::MAX), next: 0, parts: Vec::new() }
	}

	/// Takes in the hashes of the next tiles.
	pub fn push(&mut self, hashes: &[Hash]) {
		let end = self.next.saturating_add(u32::try_from(hashes.len()).unwrap_or(u32::MAX));
		let cover = Cover::new(self.tiles, std::iter::once(self.next..end));
		let roots = cover.roots(hashes);
		self.parts.push((cover, roots));
		self.next = end;
	}

	/// Tiles whose hashes were taken in.
	pub fn len(&self) -> u32 {
		self.next
	}

	/// The root over all of them; `None` while some are missing.
	pub fn root(&self) -> Option<H256> {
		let parts: Vec<_> = self.parts.iter().map(|(cover, roots)| (cover, roots.as_slice())).collect();
		merge(self.tiles, &parts).map(H256)
	}
}

/// A tile-encoded vector in a file, whose root was computed from its bytes.
#[derive(Clone, Debug)]
pub struct TileFile {
	path: PathBuf,
	file: Arc<File>,
	/// First byte.
	first: u64,
	tiles: usize,
	root: H256,
}

impl TileFile {
	/// A vector that begins with its file, and has this root.
	pub(super) fn of(path: &Path, file: Arc<File>, tiles: usize, root: H256) -> Self {
		Self { path: path.to_path_buf(), file, first: 0, tiles, root }
	}

	/// The vector of this layout that begins at byte `first` of the file at `path`, all of which is read once.
	///
	/// # Errors
	/// [`FilesError::Root`] if its root is not `expected`, [`FilesError::Encoding`] for tiles that no honest vector has, [`FilesError::Io`].
	pub fn open(path: &Path, first: u64, layout: &ParamLayout, expected: H256, threads: usize) -> Result<Self, FilesError> {
		let io = |source| FilesError::io(path, source);
		let file = Arc::new(File::open(path).map_err(io)?);
		let tiles = layout.tile_count();
		let opened = Self { path: path.to_path_buf(), file, first, tiles, root: expected };
		let (mut rooted, mut wrong) = (Rooted::new(tiles), None);
		for piece in pieces(layout) {
			let bytes = opened.bytes(piece.tiles.clone())?;
			rooted.push(&leaf_hashes(&bytes, threads));
			let decoded = decode_tensor(&piece.tensor, &bytes, &mut vec![0.0; piece.tensor.len()]);
			wrong = wrong.or(decoded.err().map(|error| from(piece.tiles.start, error)));
		}
		let found = rooted.root().unwrap_or_default();
		match wrong {
			_ if found != expected => Err(FilesError::Root { path: path.to_path_buf(), found, expected }),
			Some(source) => Err(FilesError::Encoding { path: path.to_path_buf(), source }),
			None => Ok(opened),
		}
	}

	/// Merkle root over its tiles.
	pub fn root(&self) -> H256 {
		self.root
	}

	/// Its file.
	pub fn path(&self) -> &Path {
		&self.path
	}

	/// Bytes of its encoding.
	pub fn encoded_len(&self) -> u64 {
		self.tiles as u64 * LEAF_BYTES as u64
	}

	/// Reads its encoding from the first byte on.
	///
	/// # Errors
	/// [`FilesError::Io`].
	pub fn reader(&self) -> Result<impl Read, FilesError> {
		let opened = File::open(&self.path).and_then(|mut file| file.seek(SeekFrom::Start(self.first)).map(|_| file));
		Ok(opened.map_err(|source| FilesError::io(&self.path, source))?.take(self.encoded_len()))
	}

	/// Reads the bytes of some tiles.
	pub(super) fn bytes(&self, tiles: Range<usize>) -> Result<Vec<u8>, FilesError> {
		let mut bytes = vec![0; tiles.len() * LEAF_BYTES];
		let at = self.first + tiles.start as u64 * LEAF_BYTES as u64;
		self.file.read_exact_at(&mut bytes, at).map_err(|source| FilesError::io(&self.path, source))?;
		Ok(bytes)
	}

	/// Hashes of some tiles.
	///
	/// # Errors
	/// [`FilesError::Io`], also if the file has fewer.
	pub fn leaves(&self, tiles: Range<u32>, threads: usize) -> Result<Vec<Hash>, FilesError> {
		/// Tiles that are in memory at a time: 4 MiB.
		const PORTION: usize = 1 << 10;
		let size = |tile: u32| usize::try_from(tile).unwrap_or(usize::MAX).min(self.tiles);
		let tiles = size(tiles.start)..size(tiles.end);
		let mut hashes = Vec::with_capacity(tiles.len());
		for start in tiles.clone().step_by(PORTION) {
			hashes.extend(leaf_hashes(&self.bytes(start..tiles.end.min(start + PORTION))?, threads));
		}
		Ok(hashes)
	}

	/// Reads numbers `range` of a vector whose tiles are 32 times as many numbers as they have rows, one row after the other, as those of a code.
	pub(super) fn numbers(&self, range: Range<usize>) -> Result<Vec<f32>, FilesError> {
		let mut bytes = vec![0; 4 * range.len()];
		let at = self.first + 4 * range.start as u64;
		self.file.read_exact_at(&mut bytes, at).map_err(|source| FilesError::io(&self.path, source))?;
		Ok(floats(&bytes).collect())
	}

	/// The numbers of a piece.
	pub(super) fn piece(&self, piece: &Piece) -> Result<Vec<f32>, FilesError> {
		let mut values = vec![0.0; piece.tensor.len()];
		let decoded = decode_tensor(&piece.tensor, &self.bytes(piece.tiles.clone())?, &mut values);
		decoded.map_err(|source| FilesError::Encoding { path: self.path.clone(), source: from(piece.tiles.start, source) })?;
		Ok(values)
	}

	/// The same vector under another name, which its file was given.
	pub(super) fn renamed(self, path: &Path) -> Self {
		Self { path: path.to_path_buf(), ..self }
	}
}

/// An error of a part of a vector that begins with tile `first`.
fn from(first: usize, error: DecodeError) -> DecodeError {
	match error {
		DecodeError::Padding { tile } => DecodeError::Padding { tile: first + tile },
		DecodeError::Value { tile } => DecodeError::Value { tile: first + tile },
		error => error,
	}
}

/// Numbers of bytes.
pub(super) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
	bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes))
}

/// A file at `path` that only its owner may read, in place of what was there.
pub(super) fn create(path: &Path) -> Result<Arc<File>, FilesError> {
	let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path);
	file.map(Arc::new).map_err(|source| FilesError::io(path, source))
}

/// Writes a tile-encoded vector to a file, tile after tile.
pub struct TileWriter {
	path: PathBuf,
	file: Arc<File>,
	first: u64,
	tiles: usize,
	threads: usize,
	written: usize,
	rooted: Rooted,
}

impl TileWriter {
	/// Writes a vector of this layout to a file of its own at `path`, in place of what was there; `threads` hash it.
	///
	/// # Errors
	/// [`FilesError::Io`].
	pub fn create(path: &Path, layout: &ParamLayout, threads: usize) -> Result<Self, FilesError> {
		Ok(Self::new(path, create(path)?, 0, layout.tile_count(), threads))
	}

	/// Writes a vector of so many tiles to a file from byte `first` on.
	pub(super) fn new(path: &Path, file: Arc<File>, first: u64, tiles: usize, threads: usize) -> Self {
		Self { path: path.to_path_buf(), file, first, tiles, threads, written: 0, rooted: Rooted::new(tiles) }
	}

	/// Writes the next tiles.
	///
	/// # Errors
	/// [`FilesError::DiskFull`], [`FilesError::Io`].
	pub fn write(&mut self, tiles: &[u8]) -> Result<(), FilesError> {
		let at = self.first + self.written as u64 * LEAF_BYTES as u64;
		self.file.write_all_at(tiles, at).map_err(|source| FilesError::io(&self.path, source))?;
		self.rooted.push(&leaf_hashes(tiles, self.threads));
		self.written += tiles.len() / LEAF_BYTES;
		Ok(())
	}

	/// Writes the next piece.
	pub(super) fn piece(&mut self, piece: &Piece, values: &[f32]) -> Result<(), FilesError> {
		self.write(&encode_tensor(&piece.tensor, values))
	}

	/// The vector, once all of it is safely on disk.
	///
	/// # Errors
	/// [`FilesError::Unfinished`] if tiles are missing, [`FilesError::Io`].
	pub fn finish(self) -> Result<TileFile, FilesError> {
		let Self { path, file, first, tiles, written, rooted, .. } = self;
		let Some(root) = rooted.root().filter(|_| written == tiles) else {
			return Err(FilesError::Unfinished { path, expected: tiles, found: written });
		};
		file.sync_all().map_err(|source| FilesError::io(&path, source))?;
		Ok(TileFile { path, file, first, tiles, root })
	}
}
