//! How rounds begin and end on a device: deltas and their codes, aggregation and the outer step. What is in this machine's memory goes through what operators
//! keep beside the arena, in windows.

use crate::{
	backend::{
		number,
		Argument::{self, Float, Memory, Number},
		Room, SCRATCH,
	},
	Arena, OpenCl,
};
use neuroshard_compute::exec::{decode_vector, At, Backend, CodeError, Combination, Deltas, OuterStep};
use neuroshard_graph::config::{Code, TopK};
use neuroshard_kernels::shape::{Distance, Measured, Tiling, SUMMED_TILES, TILE};
use opencl3::{memory::ClMem, types::cl_mem};

/// Numbers in a tile, and work-items of a group that has one to encode or decode.
const NUMBERS: usize = TILE * TILE;
const CODE_LANES: usize = 32;
const LANES: usize = 16;

/// Some rows of a tensor of a vector: whole bands of tiles.
struct Part {
	/// First element.
	at: usize,
	rows: usize,
	cols: usize,
	/// First tile, and how many there are.
	first: usize,
	tiles: usize,
}

/// All of a vector, in parts of at most `most` tiles if a band has not more. All tensors have a multiple of 32 columns.
fn parts(tiling: &Tiling, most: usize) -> Vec<Part> {
	let (mut parts, mut at, mut first) = (Vec::new(), 0, 0);
	for [rows, cols] in tiling.shapes() {
		let across = cols.div_ceil(TILE);
		let step = TILE * (most / across.max(1)).max(1);
		for top in (0..rows).step_by(step) {
			let rows = step.min(rows - top);
			let tiles = rows.div_ceil(TILE) * across;
			parts.push(Part { at, rows, cols, first, tiles });
			(at, first) = (at + rows * cols, first + tiles);
		}
	}
	parts
}

impl OpenCl {
	/// Writes to a room, from element `first` on. [`Self::scratch_room`] has made it.
	fn write_to_room(&self, room: &mut Room, first: usize, values: &[f32]) {
		if let Some((buffer, _)) = room {
			self.write_to(buffer, first, values);
		}
	}

	/// Reads from a room, from element `first` on.
	fn read_from_room(&self, room: &Room, first: usize, values: &mut [f32]) {
		if let Some((buffer, _)) = room {
			self.download("read its memory", buffer, first, values);
		}
	}

	/// Launches a kernel that has a tile in each group.
	fn by_tiles(&self, name: &'static str, part: &Part, operands: [Argument; 2], to: Option<cl_mem>, code: Code) {
		let shape = [number(part.rows), number(part.cols)];
		let kind = match code {
			Code::Int8 => Vec::new(),
			Code::TopK(TopK { numbers, cosine, .. }) => vec![Number(numbers.into()), Number(cosine.into())],
		};
		let to: Vec<_> = to.map(Memory).into_iter().collect();
		self.launch(name, [part.tiles * CODE_LANES], [CODE_LANES], &[&operands[..], &shape, &to, &kind].concat());
	}

	/// See [`Backend::delta`].
	pub(crate) fn delta_in_windows(&self, arena: &mut Arena, base: &[f32], end: At, decay: Option<f32>, x: At) {
		assert!(end.len() == base.len() && x.len() == base.len(), "shape");
		let mut kept = self.scratch();
		for (values, first) in base.chunks(SCRATCH).zip((0..).step_by(SCRATCH)) {
			let Some(room) = self.scratch_room(&mut kept[0], values.len()) else { return };
			self.write_to_room(&mut kept[0], 0, values);
			let [end, x] = [&end, &x].map(|at| arena.at(&(at.start + first..at.end)));
			let operands = [arena.memory(), Memory(room), end, x, Number(decay.is_some().into()), Float(decay.unwrap_or(0.0))];
			self.each("delta", values.len(), &operands);
		}
	}

	/// See [`Backend::encode`].
	pub(crate) fn encode_in_windows(&self, arena: &mut Arena, code: Code, tiling: &Tiling, x: At) -> Result<Vec<f32>, CodeError> {
		CodeError::expect(tiling.len(), x.len())?;
		let [len, scales] = code.lengths(tiling.tiles());
		let mut encoded = vec![0.0; (len + scales).next_multiple_of(TILE)];
		let (numbers, scales) = encoded.split_at_mut(len);
		let (each, name) = (code.per_tile(), if code.scales() { "encode_int8" } else { "encode_top" });
		let mut kept = self.scratch();
		for part in parts(tiling, SCRATCH / NUMBERS) {
			let Some(room) = self.scratch_room(&mut kept[1], part.tiles * (each + 1)) else { break };
			let at = arena.at(&(x.start + part.at..x.end));
			self.by_tiles(name, &part, [arena.memory(), at], Some(room), code);
			let tiles = part.first..part.first + part.tiles;
			self.read_from_room(&kept[1], 0, &mut numbers[tiles.start * each..tiles.end * each]);
			if code.scales() {
				self.read_from_room(&kept[1], part.tiles * each, &mut scales[tiles]);
			}
		}
		Ok(encoded)
	}

	/// See [`Deltas::decode`], of a code with the right length; `None` if the device fails.
	fn decode_in_windows(&self, code: Code, tiling: &Tiling, encoded: &[f32]) -> Option<Vec<f32>> {
		let mut vector = vec![0.0; tiling.len()];
		let (numbers, scales) = encoded.split_at(code.lengths(tiling.tiles())[0]);
		let (each, name) = (code.per_tile(), if code.scales() { "decode_int8" } else { "decode_top" });
		let mut kept = self.scratch();
		for part in parts(tiling, SCRATCH / NUMBERS) {
			let tiles = part.first..part.first + part.tiles;
			let from = self.scratch_room(&mut kept[0], part.tiles * (each + 1))?;
			let to = self.scratch_room(&mut kept[1], part.rows * part.cols)?;
			self.write_to_room(&mut kept[0], 0, &numbers[tiles.start * each..tiles.end * each]);
			if code.scales() {
				self.write_to_room(&mut kept[0], part.tiles * each, &scales[tiles]);
			}
			self.by_tiles(name, &part, [Memory(from), Memory(to)], None, code);
			self.read_from_room(&kept[1], 0, &mut vector[part.at..part.at + part.rows * part.cols]);
		}
		self.settled().ok().map(|()| vector)
	}

	/// See [`Deltas::distance_sums`]; `None` if the device fails, with nothing in `out` that counts.
	fn distances_in_windows(&self, measured: &Measured<'_>, from: Distance, out: &mut [f32]) -> Option<()> {
		let Measured { tiling, vectors, factors } = *measured;
		let (count, (rows, cols)) = (vectors.len(), from.block(vectors.len()));
		let (norms, from_rows) = (from == Distance::Norms, if from == Distance::Norms { 1 } else { count });
		let ones = vec![1.0; count];
		let factors = self.upload(if factors.is_empty() { &ones } else { factors })?;
		let most = (SCRATCH / (NUMBERS * count)).clamp(1, tiling.tiles().max(1));
		let mut gathered = vec![[0.0; NUMBERS]; most];
		let mut kept = self.scratch();
		out.fill(0.0);
		for first in (0..tiling.tiles()).step_by(most) {
			let tiles = most.min(tiling.tiles() - first);
			let values = self.scratch_room(&mut kept[0], count * tiles * NUMBERS)?;
			let mut distances = vec![0.0; from_rows * count * tiles];
			let to = self.scratch_room(&mut kept[1], distances.len())?;
			for (place, vector) in vectors.iter().enumerate() {
				let slots = &mut gathered[..tiles];
				(first..).zip(&mut *slots).for_each(|(tile, slot)| tiling.gather(vector, tile, slot));
				self.write_to_room(&mut kept[0], place * tiles * NUMBERS, slots.as_flattened());
			}
			let operands = [Memory(values), Memory(factors.get()), Memory(to), Number(norms.into())];
			self.launch("tile_distances", [tiles * LANES, from_rows, count], [LANES, 1, 1], &operands);
			self.read_from_room(&kept[1], 0, &mut distances);
			for (pair, distances) in distances.chunks_exact(tiles).enumerate() {
				let (row, col) = (pair / count, pair % count);
				if norms || row < col {
					for (tile, distance) in (first..).zip(distances) {
						out[tile / SUMMED_TILES * rows * cols + row * cols + col] += distance;
					}
				}
			}
		}
		if !norms {
			// The distance of a pair is the same from either side.
			for block in out.chunks_exact_mut(rows * cols) {
				for row in 1..count {
					(0..row).for_each(|col| block[row * cols + col] = block[col * cols + row]);
				}
			}
		}
		self.settled().ok()
	}

	/// See [`Deltas::step`]; how many elements are done, which are all unless the device fails.
	fn step_in_windows(&self, deltas: &[&[f32]], how: &Combination, [theta, momentum]: [&mut [f32]; 2], step: OuterStep) -> usize {
		let ones = vec![1.0; deltas.len()];
		let (way, trim, weights) = match how {
			Combination::Mean => (0, 0, &ones),
			Combination::TrimmedMean { factors, trim } => (1, *trim, if factors.is_empty() { &ones } else { factors }),
			Combination::WeightedSum(weights) => (2, 0, weights),
		};
		let Some(weights) = self.upload(weights) else { return 0 };
		let most = (SCRATCH / (deltas.len() + 2)).max(1);
		let mut kept = self.scratch();
		for first in (0..theta.len()).step_by(most) {
			let at = first..theta.len().min(first + most);
			let len = at.len();
			let Some(room) = self.scratch_room(&mut kept[0], len * (deltas.len() + 2)) else { return first };
			let vectors = [&*theta, &*momentum].into_iter().chain(deltas.iter().copied());
			for (place, vector) in vectors.enumerate() {
				self.write_to_room(&mut kept[0], place * len, &vector[at.clone()]);
			}
			let operands = [Memory(room), Memory(weights.get()), number(len), number(deltas.len()), Number(way), number(trim)];
			self.each("outer_step", len, &[&operands[..], &[Float(step.lr), Float(step.beta)]].concat());
			let mut found = vec![0.0; 2 * len];
			self.read_from_room(&kept[0], 0, &mut found);
			// Nothing that a device has left that fails is taken.
			if self.settled().is_err() {
				return first;
			}
			theta[at.clone()].copy_from_slice(&found[..len]);
			momentum[at].copy_from_slice(&found[len..]);
		}
		theta.len()
	}
}

impl Deltas for OpenCl {
	fn decode(&self, code: Code, tiling: &Tiling, encoded: &[f32]) -> Result<Vec<f32>, CodeError> {
		let [len, scales] = code.lengths(tiling.tiles());
		CodeError::expect((len + scales).next_multiple_of(TILE), encoded.len())?;
		match self.decode_in_windows(code, tiling, encoded) {
			Some(vector) => Ok(vector),
			None => decode_vector(code, self.host(), tiling, encoded),
		}
	}

	fn distance_sums(&self, measured: &Measured<'_>, from: Distance, out: &mut [f32]) {
		measured.check(from, out);
		if self.distances_in_windows(measured, from, out).is_none() {
			self.host().distance_sums(measured, from, out);
		}
	}

	fn step(&self, deltas: &[&[f32]], combination: &Combination, [theta, momentum]: [&mut [f32]; 2], step: OuterStep) {
		assert!(theta.len() == momentum.len() && deltas.iter().all(|delta| delta.len() == theta.len()), "vectors");
		let done = self.step_in_windows(deltas, combination, [theta, momentum], step);
		if done < theta.len() {
			let left: Vec<&[f32]> = deltas.iter().map(|delta| &delta[done..]).collect();
			self.host().step(&left, combination, [&mut theta[done..], &mut momentum[done..]], step);
		}
	}
}
