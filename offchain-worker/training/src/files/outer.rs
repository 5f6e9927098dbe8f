//! The end of a round in files: aggregation and the outer step, a run of tiles at a time.

use super::{
	shelf::check_room,
	vector::{create, floats},
	FileEngine, FiledCheckpoint, FilesError, TileFile, TileWriter,
};
use crate::{
	checkpoint::{data_path, name, Header},
	reach::{over_rounds, Reach},
};
use neuroshard_compute::exec::{decode_vector, CodeError, Combination, Deltas, OuterStep};
use neuroshard_graph::{
	tiles::{bytes_of, LEAF_BYTES, TILE},
	ParamLayout,
};
use neuroshard_kernels::{
	scalar::add_assign,
	shape::{Distance, Measured, Tiling, SUMMED_TILES},
};
use std::{fs, ops::Range, path::Path};

/// Segments of all vectors together that are in memory at a time, of 1 MiB each, if there are not more vectors.
const SEGMENTS: usize = 64;

/// Consecutive tiles of a vector, each as a tensor of its own: nothing of an outer step depends on which tensor a tile is of.
struct Part {
	tiles: Range<usize>,
	tiling: Tiling,
}

/// Rows of each tile of a vector.
fn tile_rows(layout: &ParamLayout) -> impl Iterator<Item = usize> + '_ {
	layout.tensors().iter().flat_map(|tensor| {
		let across = tensor.cols.div_ceil(TILE);
		(0..tensor.rows).step_by(TILE).flat_map(move |top| std::iter::repeat_n(TILE.min(tensor.rows - top), across))
	})
}

/// A vector in parts of whole segments.
fn parts(layout: &ParamLayout, segments: usize) -> impl Iterator<Item = Part> + '_ {
	let (mut rows, mut first) = (tile_rows(layout), 0);
	std::iter::from_fn(move || {
		let tiling = Tiling::new(rows.by_ref().take(segments.max(1) * SUMMED_TILES).map(|rows| (rows, TILE)));
		let tiles = first..first + tiling.tiles();
		first = tiles.end;
		(!tiling.is_empty()).then_some(Part { tiles, tiling })
	})
}

impl Part {
	/// What `vector` has there.
	fn of(&self, vector: &TileFile) -> Result<Vec<f32>, FilesError> {
		let bytes = vector.bytes(self.tiles.clone())?;
		let mut values = Vec::with_capacity(self.tiling.len());
		for (leaf, [rows, cols]) in bytes.chunks_exact(LEAF_BYTES).zip(self.tiling.shapes()) {
			values.extend(floats(leaf).take(rows * cols));
		}
		Ok(values)
	}

	/// The tiles of these values.
	fn encoded(&self, values: &[f32]) -> Vec<u8> {
		let (mut bytes, mut rest) = (Vec::with_capacity(self.tiles.len() * LEAF_BYTES), values);
		for [rows, cols] in self.tiling.shapes() {
			let (tile, after) = rest.split_at(rows * cols);
			rest = after;
			bytes.extend(bytes_of(tile));
			bytes.resize(bytes.len().next_multiple_of(LEAF_BYTES), 0);
		}
		bytes
	}
}

impl FileEngine {
	/// What a delta that was sent has in a part, decoded.
	fn decoded(&self, delta: &TileFile, part: &Part) -> Result<Vec<f32>, FilesError> {
		let values = match self.train.code() {
			None => part.of(delta)?,
			Some(code) => {
				let (each, [all, scales]) = (code.per_tile(), code.lengths(self.layout.tile_count()));
				let Range { start, end } = part.tiles;
				let mut encoded = delta.numbers(start * each..end * each)?;
				if scales > 0 {
					encoded.extend(delta.numbers(all + start..all + end)?);
				}
				encoded.resize(encoded.len().next_multiple_of(TILE), 0.0);
				decode_vector(code, &self.exec, &part.tiling, &encoded)?
			}
		};
		match values.iter().all(|value| value.is_finite()) {
			true => Ok(values),
			false => Err(CodeError::Value.into()),
		}
	}

	fn all_decoded(&self, deltas: &[TileFile], part: &Part) -> Result<Vec<Vec<f32>>, FilesError> {
		deltas.iter().map(|delta| self.decoded(delta, part)).collect()
	}

	/// Squared distances of whole deltas, summed over segments in order.
	fn squares(&self, deltas: &[TileFile], segments: usize, (distance, factors): (Distance, &[f32])) -> Result<Vec<f32>, FilesError> {
		let (rows, cols) = distance.block(deltas.len());
		let mut squares = vec![0.0; rows * cols];
		for part in parts(&self.layout, segments) {
			let deltas = self.all_decoded(deltas, &part)?;
			let vectors: Vec<&[f32]> = deltas.iter().map(Vec::as_slice).collect();
			let mut sums = vec![0.0; part.tiling.segments() * rows * cols];
			self.exec.distance_sums(&Measured { tiling: &part.tiling, vectors: &vectors, factors }, distance, &mut sums);
			sums.chunks_exact(rows * cols).for_each(|block| add_assign(&mut squares, block));
		}
		Ok(squares)
	}

	/// Whether the inner steps of so many rounds from these parameters can have made a delta, as [`crate::reach::within_reach`].
	///
	/// # Errors
	/// [`FilesError`], also of a code that stands for no finite numbers.
	pub fn is_within_reach(&self, rounds: u32, start: &TileFile, delta: &TileFile) -> Result<bool, FilesError> {
		let reach = Reach::new(&over_rounds(&self.train, rounds), &self.layout.tiling());
		for part in parts(&self.layout, SEGMENTS / 2) {
			let decoded = self.all_decoded(std::slice::from_ref(delta), &part)?;
			let theta = part.of(start)?;
			if !decoded.iter().all(|delta| reach.has(&part.tiling, &theta, delta)) {
				return Ok(false);
			}
		}
		Ok(true)
	}

	/// The checkpoint that follows `previous` when these deltas are included, as [`crate::outer::apply_outer`], in `folder`, in place of what was there.
	/// `inner_steps` are those behind each delta, in a run whose deltas weigh by them, and else none. Deltas are read once for the step itself, and once more for
	/// each kind of distances that the run's rule asks for.
	///
	/// # Errors
	/// [`FilesError`].
	pub fn take_outer_step(
		&self,
		previous: &FiledCheckpoint,
		deltas: &[TileFile],
		inner_steps: &[u32],
		folder: &Path,
	) -> Result<FiledCheckpoint, FilesError> {
		// Beside the deltas parameters, momentum, their encoding and the pseudo-gradient.
		self.outer_step_in(SEGMENTS / (deltas.len() + 4), previous, (deltas, inner_steps), folder)
	}

	/// The same with so many segments in memory at a time.
	pub(super) fn outer_step_in(
		&self,
		segments: usize,
		previous: &FiledCheckpoint,
		(deltas, inner_steps): (&[TileFile], &[u32]),
		folder: &Path,
	) -> Result<FiledCheckpoint, FilesError> {
		fs::create_dir_all(folder).map_err(|source| FilesError::io(folder, source))?;
		check_room(folder, self.need.checkpoint)?;
		let header = previous.header;
		let too_many = || FilesError::TooManyRounds(header.round);
		let round = header.round.checked_add(1).ok_or_else(too_many)?;
		let adopted_steps = header.adopted_steps.checked_add(u64::from(self.train.inner_steps)).ok_or_else(too_many)?;

		let combination = match deltas.is_empty() {
			true => None,
			false => Some(Combination::new(self.train.aggregator, deltas.len(), inner_steps, |distance, factors| {
				self.squares(deltas, segments, (distance, factors))
			})?),
		};
		let step = OuterStep { lr: self.train.outer_lr.get(), beta: self.train.outer_beta.get() };
		let path = folder.join("checkpoint-unnamed.tiles");
		let (file, tiles, threads) = (create(&path)?, self.layout.tile_count(), self.exec.threads());
		let writer = |first| TileWriter::new(&path, file.clone(), first, tiles, threads);
		let (mut params, mut momenta) = (writer(0), writer(self.layout.encoded_len() as u64));
		for part in parts(&self.layout, segments) {
			let (mut theta, mut momentum) = (part.of(&previous.params)?, part.of(&previous.momentum)?);
			if let Some(combination) = &combination {
				let deltas = self.all_decoded(deltas, &part)?;
				let deltas: Vec<&[f32]> = deltas.iter().map(Vec::as_slice).collect();
				self.exec.step(&deltas, combination, [&mut theta, &mut momentum], step);
			}
			params.write(&part.encoded(&theta))?;
			momenta.write(&part.encoded(&momentum))?;
		}
		let (params, momentum) = (params.finish()?, momenta.finish()?);
		let header = Header { run: header.run, round, adopted_steps, params: params.root(), momentum: momentum.root() };
		let data = data_path(folder, &header);
		fs::rename(&path, &data).map_err(|source| FilesError::io(&data, source))?;
		name(folder, &header)?;
		Ok(FiledCheckpoint { header, params: params.renamed(&data), momentum: momentum.renamed(&data) })
	}
}
