//! Tensors as 32x32 tiles, and the hashes of 4 KiB leaves.
//!
//! A tile is 32 rows of 32 f32, little-endian, row-major: 4 KiB. Tiles at an edge are padded with zeros. A leaf's hash is
//! `H(h0 | h1 | h2 | h3)`, `h_q` the Blake2-256 of its quarter q: 8 rows, 1 KiB. Chunks of any other blob (tokens of a
//! shard, a file) are leaves of the same kind. Values are made canonical before they are hashed or encoded: `-0` becomes
//! `+0`, every NaN `7fc00000`.

use crate::{
	layout::{ParamLayout, ParamTensor},
	merkle::{blake2_256, hash_all, merkle_root, Hash},
};
use alloc::{vec, vec::Vec};
use neuroshard_kernels::num::canon_bits;

/// Rows and columns of a tile.
pub const TILE: usize = 32;
/// Bytes of a tile and of any other leaf.
pub const LEAF_BYTES: usize = 4 * TILE * TILE;
/// Bytes of a quarter of a leaf: 8 rows.
pub const QUARTER_BYTES: usize = LEAF_BYTES / 4;
/// Leaves that one thread gathers and hashes together: 64 KiB, which stays in a core's nearest caches.
pub const BATCH: usize = 16;
/// A leaf of zeros.
const ZEROS: [u8; LEAF_BYTES] = [0; LEAF_BYTES];

/// Why encoded tiles are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
	/// The layout asks for another number of bytes.
	#[error("{found} bytes of tiles where the layout has {expected}")]
	Length {
		/// What the layout asks for.
		expected: usize,
		/// What was given.
		found: usize,
	},
	/// A value outside the tensor's edge is not zero.
	#[error("tile {tile} has data outside the tensor's edge")]
	Padding {
		/// Number of the tile.
		tile: usize,
	},
	/// A value is infinite, NaN or negative zero; honest parameters and deltas have none.
	#[error("tile {tile} has a value that is not finite or not canonical")]
	Value {
		/// Number of the tile.
		tile: usize,
	},
	/// The destination does not have the layout's length.
	#[error("destination of {found} values where the layout has {expected}")]
	Destination {
		/// What the layout asks for.
		expected: usize,
		/// What was given.
		found: usize,
	},
}

/// Tiles of a tensor of `rows` by `cols`.
#[inline]
pub const fn tile_count(rows: usize, cols: usize) -> usize {
	rows.div_ceil(TILE) * cols.div_ceil(TILE)
}

/// Part of a tile that lies inside its tensor.
#[derive(Clone, Copy)]
struct TileBounds {
	first: usize,
	stride: usize,
	rows: usize,
	cols: usize,
}

impl TileBounds {
	/// Tile `index` of `tensor`, in row-major order of tiles.
	fn new(tensor: &ParamTensor, index: usize) -> Self {
		let across = tensor.cols.div_ceil(TILE);
		let (row, col) = (index / across * TILE, index % across * TILE);
		Self {
			first: tensor.offset + row * tensor.cols + col,
			stride: tensor.cols,
			rows: TILE.min(tensor.rows - row),
			cols: TILE.min(tensor.cols - col),
		}
	}

	/// Whether all of the tile lies inside.
	fn is_whole(&self) -> bool {
		(self.rows, self.cols) == (TILE, TILE)
	}

	fn gather(&self, values: &[f32], leaf: &mut [u8]) {
		leaf.fill(0);
		for row in 0..self.rows {
			let start = self.first + row * self.stride;
			let source = &values[start..start + self.cols];
			let target = &mut leaf[row * 4 * TILE..(row + 1) * 4 * TILE];
			for (bytes, &value) in target.chunks_exact_mut(4).zip(source) {
				bytes.copy_from_slice(&canon_bits(value).to_le_bytes());
			}
		}
	}

	fn scatter(&self, tile: usize, leaf: &[u8], values: &mut [f32]) -> Result<(), DecodeError> {
		for (row, line) in leaf.chunks_exact(4 * TILE).enumerate() {
			let inside = if row < self.rows { self.cols } else { 0 };
			let (data, padding) = line.split_at(4 * inside);
			if padding.iter().any(|&byte| byte != 0) {
				return Err(DecodeError::Padding { tile });
			}
			let start = self.first + row * self.stride;
			let target = if inside == 0 { &mut [][..] } else { &mut values[start..start + inside] };
			for (value, bytes) in target.iter_mut().zip(data.chunks_exact(4)) {
				*value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
				if !value.is_finite() || canon_bits(*value) != value.to_bits() {
					return Err(DecodeError::Value { tile });
				}
			}
		}
		Ok(())
	}
}

/// Every tile of `layout` in order, from number `first` on.
fn tile_bounds(layout: &ParamLayout, first: usize) -> impl Iterator<Item = TileBounds> + Clone + '_ {
	let mut before = 0;
	layout.tensors().iter().flat_map(move |tensor| {
		let count = tile_count(tensor.rows, tensor.cols);
		let skipped = first.saturating_sub(before).min(count);
		before += count;
		(skipped..count).map(move |index| TileBounds::new(tensor, index))
	})
}

/// The tiles of a flat vector, concatenated in the order of the layout. `values` beyond the layout are ignored.
///
/// # Panics
/// If `values` is shorter than the layout.
pub fn encode(layout: &ParamLayout, values: &[f32]) -> Vec<u8> {
	let mut bytes = vec![0; layout.encoded_len()];
	for (bounds, leaf) in tile_bounds(layout, 0).zip(bytes.chunks_exact_mut(LEAF_BYTES)) {
		bounds.gather(values, leaf);
	}
	bytes
}

/// The flat vector that `bytes` encode: the inverse of [`encode`] on finite values, and no other bytes are accepted.
///
/// # Errors
/// [`DecodeError`], naming the first tile that is wrong.
pub fn decode(layout: &ParamLayout, bytes: &[u8]) -> Result<Vec<f32>, DecodeError> {
	let mut values = vec![0.0; layout.len()];
	decode_into(layout, bytes, &mut values)?;
	Ok(values)
}

/// [`decode`] into a given vector of the layout's length, which is left in part overwritten after an error.
///
/// # Errors
/// [`DecodeError`], naming the first tile that is wrong.
pub fn decode_into(layout: &ParamLayout, bytes: &[u8], values: &mut [f32]) -> Result<(), DecodeError> {
	if bytes.len() != layout.encoded_len() {
		return Err(DecodeError::Length { expected: layout.encoded_len(), found: bytes.len() });
	}
	if values.len() != layout.len() {
		return Err(DecodeError::Destination { expected: layout.len(), found: values.len() });
	}
	for (tile, (bounds, leaf)) in tile_bounds(layout, 0).zip(bytes.chunks_exact(LEAF_BYTES)).enumerate() {
		bounds.scatter(tile, leaf, values)?;
	}
	Ok(())
}

/// Values of one tensor from its tiles, as [`decode_into`]: for work on a file of tiles, one tensor at a time. Tiles of
/// tensor i take [`ParamLayout::encoded_range`] of the file; errors count tiles from the tensor's first.
///
/// # Errors
/// [`DecodeError`], naming the first tile that is wrong.
pub fn decode_tensor(tensor: &ParamTensor, bytes: &[u8], values: &mut [f32]) -> Result<(), DecodeError> {
	let tiles = tile_count(tensor.rows, tensor.cols);
	if bytes.len() != tiles * LEAF_BYTES {
		return Err(DecodeError::Length { expected: tiles * LEAF_BYTES, found: bytes.len() });
	}
	if values.len() != tensor.len() {
		return Err(DecodeError::Destination { expected: tensor.len(), found: values.len() });
	}
	for (tile, leaf) in bytes.chunks_exact(LEAF_BYTES).enumerate() {
		let bounds = TileBounds::new(tensor, tile);
		TileBounds { first: bounds.first - tensor.offset, ..bounds }.scatter(tile, leaf, values)?;
	}
	Ok(())
}

/// The tiles of one tensor, whose `values` these are: the inverse of [`decode_tensor`].
///
/// # Panics
/// If `values` is shorter than the tensor.
pub fn encode_tensor(tensor: &ParamTensor, values: &[f32]) -> Vec<u8> {
	let mut bytes = vec![0; tile_count(tensor.rows, tensor.cols) * LEAF_BYTES];
	for (tile, leaf) in bytes.chunks_exact_mut(LEAF_BYTES).enumerate() {
		let bounds = TileBounds::new(tensor, tile);
		TileBounds { first: bounds.first - tensor.offset, ..bounds }.gather(values, leaf);
	}
	bytes
}

/// The bytes of values as they are hashed: canonical, little-endian.
pub fn bytes_of(values: &[f32]) -> Vec<u8> {
	values.iter().flat_map(|&value| canon_bits(value).to_le_bytes()).collect()
}

/// Hash of one leaf; a shorter one counts as padded with zeros.
///
/// # Panics
/// If `leaf` is longer than 4 KiB.
pub fn leaf_hash(leaf: &[u8]) -> Hash {
	let mut padded = [0; LEAF_BYTES];
	padded[..leaf.len()].copy_from_slice(leaf);
	let mut quarters = [0; 4 * 32];
	for (hash, quarter) in quarters.chunks_exact_mut(32).zip(padded.chunks_exact(QUARTER_BYTES)) {
		hash.copy_from_slice(&blake2_256(quarter));
	}
	blake2_256(&quarters)
}

/// Hashes `leaves`, whole ones, into `out`.
fn hash_leaves(leaves: &[u8], out: &mut [Hash]) {
	let mut quarters = [0; BATCH * 4 * 32];
	for (leaves, out) in leaves.chunks(BATCH * LEAF_BYTES).zip(out.chunks_mut(BATCH)) {
		let quarters = &mut quarters[..out.len() * 4 * 32];
		hash_all(leaves, QUARTER_BYTES, quarters);
		hash_all(quarters, 4 * 32, out.as_flattened_mut());
	}
}

/// Runs `work(first, part)` over consecutive parts of `out` on up to `threads` threads.
pub fn in_parts(threads: usize, out: &mut [Hash], work: impl Fn(usize, &mut [Hash]) + Sync) {
	#[cfg(feature = "std")]
	if threads > 1 && out.len() > 4 * BATCH {
		let part = out.len().div_ceil(threads).next_multiple_of(BATCH);
		std::thread::scope(|scope| {
			let work = &work;
			for (index, out) in out.chunks_mut(part).enumerate() {
				scope.spawn(move || work(index * part, out));
			}
		});
		return;
	}
	let _ = threads;
	work(0, out);
}

/// Hashes of leaves from number `first` on, into `out`: `write(number, leaf)` is called for one after the other and fills in its bytes.
pub fn hash_written(first: usize, out: &mut [Hash], mut write: impl FnMut(usize, &mut [u8])) {
	let (mut leaves, mut waiting) = (vec![0; BATCH * LEAF_BYTES], Vec::with_capacity(BATCH));
	let mut of_zeros = None;
	let end = first + out.len();
	for (number, hash) in (first..).zip(out) {
		let leaf = &mut leaves[waiting.len() * LEAF_BYTES..][..LEAF_BYTES];
		write(number, leaf);
		// Nearly half of all attention scores are tiles of zeros.
		if *leaf == ZEROS {
			*hash = *of_zeros.get_or_insert_with(|| leaf_hash(&[]));
		} else {
			waiting.push(hash);
		}
		if waiting.len() == BATCH || number + 1 == end {
			let mut hashes = [[0; 32]; BATCH];
			hash_leaves(&leaves[..waiting.len() * LEAF_BYTES], &mut hashes[..waiting.len()]);
			waiting.drain(..).zip(hashes).for_each(|(place, hash)| *place = hash);
		}
	}
}

/// The leaf of tile (`row`, `col`) of `values`, a tensor of so many rows and columns which has such a tile.
pub fn write_tile(values: &[f32], [rows, cols]: [usize; 2], row: usize, col: usize, leaf: &mut [u8]) {
	let (top, left) = (row * TILE, col * TILE);
	TileBounds { first: top * cols + left, stride: cols, rows: TILE.min(rows - top), cols: TILE.min(cols - left) }.gather(values, leaf);
}

/// Hashes of the 4 KiB leaves of `bytes`, the last padded with zeros, on up to `threads` threads.
pub fn leaf_hashes(bytes: &[u8], threads: usize) -> Vec<Hash> {
	let whole = bytes.len() / LEAF_BYTES;
	let mut hashes = vec![[0; 32]; whole];
	in_parts(threads, &mut hashes, |first, out| hash_leaves(&bytes[first * LEAF_BYTES..(first + out.len()) * LEAF_BYTES], out));
	let rest = &bytes[whole * LEAF_BYTES..];
	if !rest.is_empty() {
		hashes.push(leaf_hash(rest));
	}
	hashes
}

/// Hashes of the tiles of a flat vector: those of [`encode`]'s leaves, without making a copy of it.
///
/// # Panics
/// If `values` is shorter than the layout.
pub fn tile_hashes(layout: &ParamLayout, values: &[f32], threads: usize) -> Vec<Hash> {
	let mut hashes = vec![[0; 32]; layout.tile_count()];
	in_parts(threads, &mut hashes, |first, out| hash_tiles(&mut tile_bounds(layout, first), values, out));
	hashes
}

/// Hashes of the next tiles of `bounds`, as many as `out` has, which are no more than there are.
fn hash_tiles(bounds: &mut (impl Iterator<Item = TileBounds> + Clone), values: &[f32], out: &mut [Hash]) {
	/// Bytes of the hashes of a tile's quarters.
	const QUARTERS: usize = 4 * 32;
	let (mut leaves, mut quarters) = ([0; 2 * LEAF_BYTES], [0; BATCH * QUARTERS]);
	let mut ahead = bounds.clone().skip(2);
	for out in out.chunks_mut(BATCH) {
		let quarters = &mut quarters[..out.len() * QUARTERS];
		for pair in quarters.chunks_mut(2 * QUARTERS) {
			let tiles = [bounds.next(), if pair.len() > QUARTERS { bounds.next() } else { None }];
			let next = [ahead.next(), ahead.next()];
			if let ([Some(a), Some(b)], Some(pair)) = (tiles, pair.as_mut_array()) {
				let next = [next[0].unwrap_or(a), next[1].unwrap_or(b)];
				if a.is_whole() && b.is_whole() && hash_whole(values, [a, b], next, pair) {
					continue;
				}
			}
			tiles.iter().flatten().zip(leaves.chunks_exact_mut(LEAF_BYTES)).for_each(|(tile, leaf)| tile.gather(values, leaf));
			hash_all(&leaves[..pair.len() / QUARTERS * LEAF_BYTES], QUARTER_BYTES, pair);
		}
		hash_all(quarters, QUARTERS, out.as_flattened_mut());
	}
}

/// Hashes of the quarters of two whole tiles where they lie, before those that come `next`, if this machine has what that takes.
fn hash_whole(values: &[f32], tiles: [TileBounds; 2], next: [TileBounds; 2], out: &mut [u8; 256]) -> bool {
	#[cfg(feature = "std")]
	{
		let [tiles, next] = [tiles, next].map(|tiles| tiles.map(|tile| (tile.first, tile.stride)));
		neuroshard_kernels::hash::quarters(values, tiles, next, out)
	}
	#[cfg(not(feature = "std"))]
	{
		let _ = (values, tiles, next, out);
		false
	}
}

/// Tiles under one node of those that [`subtree_roots`] computes, a power of two.
const SUBTREE: usize = 64;

/// Nodes of the Merkle tree over the tiles of a layout that [`subtree_roots`] computes.
pub fn subtree_count(layout: &ParamLayout) -> usize {
	layout.tile_count().div_ceil(SUBTREE)
}

/// Nodes of the Merkle tree over the tiles of a flat vector, each over 64 tiles, from node `first` on: [`merkle_root`] over all of them is that over the tiles.
/// They can be computed apart.
///
/// # Panics
/// If `values` is shorter than the layout, or there are no such nodes.
pub fn subtree_roots(layout: &ParamLayout, values: &[f32], first: usize, out: &mut [Hash]) {
	let (all, mut leaves) = (layout.tile_count(), [[0; 32]; SUBTREE]);
	let mut bounds = tile_bounds(layout, first * SUBTREE);
	for (node, root) in (first..).zip(out) {
		let leaves = &mut leaves[..SUBTREE.min(all - node * SUBTREE)];
		hash_tiles(&mut bounds, values, leaves);
		*root = merkle_root(leaves);
	}
}

/// Content identifier of any blob: the Merkle root over its 4 KiB leaves. That of [`encode`]'s bytes equals
/// [`crate::commit::tensors_root`] of the vector.
pub fn content_id(bytes: &[u8], threads: usize) -> Hash {
	merkle_root(&leaf_hashes(bytes, threads))
}
