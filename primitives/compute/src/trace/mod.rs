//! Traces: a job with every tensor at hand, fused ones included, as a dispute about it needs them.
//!
//! A trace computes the same bits as [`crate::exec`] does, stage by stage, and hashes every tile while it is in a cache. Of the backward
//! pass it keeps what passes from layer to layer: the rest is computed again if a game asks for it, which takes no more than a layer. Of a step it
//! keeps no logits either, and no gradient of them.

mod checkpoint;
mod hashes;
mod loss;
mod memory;
mod reading;
mod step;

use crate::exec::{Arena, Exec};
use hashes::written_hashes;
use loss::{Band, Streamed};
use memory::passing;
pub use memory::step_len;
use neuroshard_graph::{
	cell::{Address, Cell},
	config::ConfigError,
	graph::{Origin, TensorId},
	merkle::{merkle_root, Hash},
	plan::{Plan, ALIGNMENT},
	resume::{Job, Leaves, Malformed, Parameters, Tile, NUMBERS, SIDE},
	tiles::{bytes_of, in_parts, tile_count, write_tile},
};
use std::{
	collections::BTreeMap,
	ops::Range,
	sync::{Arc, Mutex, OnceLock, PoisonError},
};
use step::Batch;
pub use step::{Mistake, TraceError};

/// A job with all its tensors.
pub struct Trace {
	exec: Arc<Exec>,
	plan: Plan,
	parameters: Parameters,
	/// What the job starts from, in parameter layout.
	vectors: Vec<Arc<Vec<f32>>>,
	/// By number of the tensors of these vectors: which one, and where in it.
	given: Vec<(usize, Range<usize>)>,
	/// What the codes say that an outer step starts from, if it was asked for.
	decoded: OnceLock<Vec<Vec<f32>>>,
	/// Of a training step, or of reading a text.
	batch: Option<Batch>,
	mistake: Option<Mistake>,
	/// Logits and their gradient, which are not kept.
	streamed: Option<Streamed>,
	/// Of either the row of tiles that was asked for last.
	bands: Mutex<[Option<Band>; 2]>,
	/// Values of what stages write and is kept, as far as there is room.
	arena: Arena,
	/// By number: where in the arena a tensor lies; empty for one that does not.
	places: Vec<Range<usize>>,
	/// By number: values of the others, as far as they are kept or were asked for.
	tensors: Vec<OnceLock<Vec<f32>>>,
	/// By number: hashes of tiles, row by row.
	hashes: Vec<OnceLock<Vec<Hash>>>,
	/// Roots of the vectors that the job ends with.
	results: OnceLock<Vec<Hash>>,
	/// Memory of tensors that are not kept, by length: fresh memory costs more than what is computed into it.
	spare: Mutex<BTreeMap<usize, Vec<Vec<f32>>>>,
}

impl Trace {
	/// A trace with all vectors of the job's start in place and the rest to be computed.
	fn new(exec: &Arc<Exec>, plan: Plan, parameters: Parameters, vectors: Vec<Arc<Vec<f32>>>) -> Result<Self, ConfigError> {
		let (mut given, mut ends) = (Vec::new(), vec![0usize; vectors.len()]);
		for (id, info) in (0..).map(TensorId).zip(plan.tensors()) {
			let Some(Origin::Vector { vector, .. }) = plan.origin(id) else { break };
			let vector = usize::try_from(vector).map_err(|_| ConfigError::TooLarge)?;
			// The tensors of a vector come in layout order.
			let end = ends.get_mut(vector).ok_or(ConfigError::Dimension)?;
			let first = *end;
			*end = usize::try_from(info.len()).ok().and_then(|len| first.checked_add(len)).ok_or(ConfigError::TooLarge)?;
			given.push((vector, first..*end));
		}
		// A vector that the plan does not have ends at 0.
		if ends.iter().zip(&vectors).any(|(&end, vector)| vector.len() != end || (end == 0 && plan.seams().is_none())) {
			return Err(ConfigError::Dimension);
		}
		let count = plan.tensor_count();
		let (arena, places) = (Arena::default(), vec![0..0; count]);
		let tensors = (0..count).map(|_| OnceLock::new()).collect();
		let hashes = (0..count).map(|_| OnceLock::new()).collect();
		let (exec, batch, mistake, results, spare) = (exec.clone(), None, None, OnceLock::new(), Mutex::default());
		let (decoded, streamed, bands) = (OnceLock::new(), Streamed::of(&plan), Mutex::default());
		Ok(Self {
			exec,
			plan,
			parameters,
			vectors,
			given,
			decoded,
			batch,
			mistake,
			streamed,
			bands,
			arena,
			places,
			tensors,
			hashes,
			results,
			spare,
		})
	}

	/// Computes and hashes what the first `count` stages write, into `arena` from element `used` on, which is one of [`ALIGNMENT`], and where
	/// that has no room into memory of its own.
	fn run(&mut self, count: usize, mut arena: Arena, mut used: usize) {
		let passes = passing(&self.plan, self.streamed);
		let back = self.streamed.map_or(usize::MAX, |streamed| streamed.back);
		// Forwards and backwards: what passes is computed again for the backward pass.
		let mut last_readers = vec![[None; 2]; self.tensors.len()];
		for (index, stage) in self.plan.stages().iter().enumerate() {
			self.plan.inputs(stage).iter().for_each(|(id, _)| last_readers[id.0 as usize][usize::from(index >= back)] = Some(index));
		}
		for (index, stage) in self.plan.stages().iter().enumerate().take(count) {
			let streamed = self.streamed.filter(|streamed| streamed.begins(index));
			let ids = match streamed {
				Some(streamed) => streamed.kept(&self.plan),
				None if self.is_streamed(index) => Vec::new(),
				None => self.plan.outputs(stage).to_vec(),
			};
			let keeps = streamed.is_some() || !passes[index];
			let places = keeps.then(|| self.room(&ids, used)).filter(|places| places.last().is_some_and(|last| last.end <= arena.len()));
			if let Some(places) = places {
				let (written, mut free) = arena.split_at_mut(used);
				let mut outputs = Vec::new();
				for place in &places {
					// Places are in order, and begin where the last one has ended.
					let (output, rest) = core::mem::take(&mut free).split_at_mut(place.end - used);
					outputs.push(&mut output[place.start - used..]);
					(free, used) = (rest, place.end);
				}
				self.compute_new(index, streamed, written, &mut outputs);
				for ((id, values), place) in ids.iter().zip(outputs).zip(places) {
					self.hashes[id.0 as usize] = self.hashes_of(*id, values).into();
					self.places[id.0 as usize] = place;
				}
			} else if !ids.is_empty() {
				let outputs = self.in_memory(&ids, |outputs| self.compute_new(index, streamed, &arena, outputs));
				for (id, values) in ids.iter().zip(outputs) {
					self.hashes[id.0 as usize] = self.hashes_of(*id, &values).into();
					self.tensors[id.0 as usize] = values.into();
				}
			}
			let read = self.plan.inputs(stage).iter().map(|&(id, _)| id).filter(|id| last_readers[id.0 as usize].contains(&Some(index)));
			let mut done: Vec<TensorId> = read.collect();
			while let Some(id) = done.pop() {
				let Some(Origin::Stage { stage: writer, .. }) = self.plan.origin(id) else { continue };
				let writer = writer as usize;
				if self.is_streamed(writer) || !passes[writer] {
					continue;
				}
				let Some(values) = self.tensors[id.0 as usize].take() else { continue };
				self.spare([values]);
				// What it was computed from may have been computed again for it.
				let before = self.plan.inputs(&self.plan.stages()[writer]).iter().map(|&(id, _)| id);
				done.extend(before.filter(|id| last_readers[id.0 as usize].iter().flatten().all(|&reader| reader <= index)));
			}
		}
		self.arena = arena;
	}

	/// Whether stage `index` is computed together with the logits.
	fn is_streamed(&self, index: usize) -> bool {
		self.streamed.is_some_and(|streamed| streamed.covers(index))
	}

	/// Consecutive places for tensors, from `used` on.
	fn room(&self, ids: &[TensorId], mut used: usize) -> Vec<Range<usize>> {
		let places = ids.iter().map(|&id| {
			let (rows, cols) = self.shape(id);
			let start = used.next_multiple_of(ALIGNMENT as usize);
			used = start + rows * cols;
			start..used
		});
		places.collect()
	}

	/// Gives the arena back; what this trace has written into it means nothing any more.
	pub(crate) fn into_arena(self) -> Arena {
		self.arena
	}

	/// What stage `index` writes, with `arena` as far as it is written.
	fn stage(&self, index: usize, arena: &[f32]) -> Vec<Vec<f32>> {
		let Some(stage) = self.plan.stages().get(index) else { return Vec::new() };
		self.in_memory(self.plan.outputs(stage), |outputs| self.compute(index, arena, outputs))
	}

	/// What `write` writes to memory for these tensors.
	fn in_memory(&self, ids: &[TensorId], write: impl FnOnce(&mut [&mut [f32]])) -> Vec<Vec<f32>> {
		let shapes = ids.iter().map(|&id| self.shape(id));
		let mut outputs: Vec<Vec<f32>> = shapes.map(|(rows, cols)| self.memory(rows * cols)).collect();
		write(&mut outputs.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
		outputs
	}

	/// Computes what stage `index` writes when its turn comes: with logits all that is kept of them.
	fn compute_new(&self, index: usize, streamed: Option<Streamed>, arena: &[f32], outputs: &mut [&mut [f32]]) {
		match (streamed, &self.batch) {
			(Some(streamed), Some(batch)) => self.losses(streamed, batch, arena, outputs),
			_ => self.compute(index, arena, outputs),
		}
	}

	/// Computes what stage `index` writes from its inputs, with the mistake if it is made here.
	fn compute(&self, index: usize, arena: &[f32], outputs: &mut [&mut [f32]]) {
		let Some(stage) = self.plan.stages().get(index) else { return };
		let inputs: Vec<&[f32]> = self.plan.inputs(stage).iter().map(|&(id, _)| self.values(id, arena)).collect();
		match &self.batch {
			Some(batch) => self.step_stage(batch, stage, &inputs, outputs),
			None => self.checkpoint_stage(stage, &inputs, outputs),
		}
		if let Some(mistake) = self.mistake.filter(|mistake| mistake.stage as usize == index) {
			mistake.happen(outputs);
		}
	}

	/// Memory for `len` numbers; what it holds is arbitrary.
	fn memory(&self, len: usize) -> Vec<f32> {
		let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
		spare.get_mut(&len).and_then(Vec::pop).unwrap_or_else(|| vec![0.0; len])
	}

	/// Gives memory back for other tensors.
	fn spare(&self, values: impl IntoIterator<Item = Vec<f32>>) {
		let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
		values.into_iter().for_each(|values| spare.entry(values.len()).or_default().push(values));
	}

	/// The plan.
	pub fn plan(&self) -> &Plan {
		&self.plan
	}

	/// The job, to compute its tiles piece by piece.
	pub fn job(&self) -> Job<'_> {
		Job::new(&self.plan, self.parameters.clone())
	}

	/// The stage that writes a tensor, and what else it writes.
	fn writer(&self, id: TensorId) -> Option<(usize, &[TensorId])> {
		let Some(Origin::Stage { stage, .. }) = self.plan.origin(id) else { return None };
		let index = usize::try_from(stage).ok()?;
		Some((index, self.plan.outputs(self.plan.stages().get(index)?)))
	}

	/// Values of a tensor; empty for token identifiers and tensors of another plan.
	pub fn tensor(&self, id: TensorId) -> &[f32] {
		self.values(id, &self.arena)
	}

	/// [`Trace::tensor`] with `arena` as far as it is written.
	fn values<'a>(&'a self, id: TensorId, arena: &'a [f32]) -> &'a [f32] {
		let index = id.0 as usize;
		if let Some((vector, range)) = self.given.get(index) {
			return &self.vectors[*vector][range.clone()];
		}
		if let Some(place) = self.places.get(index).filter(|place| !place.is_empty()) {
			return arena.get(place.clone()).unwrap_or_default();
		}
		let Some(values) = self.tensors.get(index) else { return &[] };
		if let (None, Some((stage, outputs))) = (values.get(), self.writer(id)) {
			for (id, values) in outputs.iter().zip(self.stage(stage, arena)) {
				// Another thread may have been faster, with the same numbers.
				let _ = self.tensors[id.0 as usize].set(values);
			}
		}
		values.get().map_or(&[], Vec::as_slice)
	}

	/// Hashes of the tiles of a tensor, row by row.
	fn tensor_hashes(&self, id: TensorId) -> &[Hash] {
		let index = id.0 as usize;
		let Some(hashes) = self.hashes.get(index) else { return &[] };
		if hashes.get().is_none() {
			match self.writer(id).filter(|_| self.places[index].is_empty() && self.tensors[index].get().is_none()) {
				// Nobody has asked for the values: they are not kept for that.
				Some((stage, outputs)) => {
					let values = self.stage(stage, &self.arena);
					for (&id, values) in outputs.iter().zip(&values) {
						let _ = self.hashes[id.0 as usize].set(self.hashes_of(id, values));
					}
					self.spare(values);
				}
				None => {
					let _ = hashes.set(self.hashes_of(id, self.tensor(id)));
				}
			}
		}
		hashes.get().map_or(&[], Vec::as_slice)
	}

	/// Hashes of the tiles of tensor `id` with these values.
	fn hashes_of(&self, id: TensorId, values: &[f32]) -> Vec<Hash> {
		let (rows, cols) = self.shape(id);
		let width = cols.div_ceil(SIDE);
		let count = if values.is_empty() { 0 } else { tile_count(rows, cols) };
		written_hashes(&self.exec, count, |tile, leaf| write_tile(values, [rows, cols], tile / width, tile % width, leaf))
	}

	fn shape(&self, id: TensorId) -> (usize, usize) {
		self.plan.tensor(id).map_or((0, 0), |info| (info.rows as usize, info.cols as usize))
	}

	/// A vector that the job ends with, in parameter layout; see [`Plan::results`]. Empty if there is none.
	pub fn result(&self, result: usize) -> Vec<f32> {
		self.plan.results().get(result).into_iter().flatten().flat_map(|&id| self.tensor(id)).copied().collect()
	}

	/// A tile.
	pub fn tile_values(&self, tensor: TensorId, row: u32, col: u32) -> Option<Box<Tile>> {
		let (rows, cols) = self.shape(tensor);
		let (top, left) = (row as usize * SIDE, col as usize * SIDE);
		if top >= rows || left >= cols {
			return None;
		}
		let band = self.band(tensor, row);
		let values = match &band {
			Some(band) => band,
			None => self.tensor(tensor).get(top * cols..).unwrap_or_default(),
		};
		if values.is_empty() {
			return None;
		}
		let mut tile = Box::new([0.0; NUMBERS]);
		for (line, out) in values.chunks_exact(cols).take(SIDE).zip(tile.chunks_exact_mut(SIDE)) {
			let part = &line[left..cols.min(left + SIDE)];
			out[..part.len()].copy_from_slice(part);
		}
		Some(tile)
	}

	/// Hashes of the tiles that node `node` outputs; empty beyond the last node.
	pub fn node_hashes(&self, node: u32) -> Vec<Hash> {
		let outputs = self.plan.node(node).map_or(Vec::new(), |node| node.outputs);
		let tiles = outputs.iter().flat_map(|slice| {
			let (first, end) = (slice.first as usize / SIDE, (slice.first as usize + slice.rows as usize).div_ceil(SIDE));
			let width = self.shape(slice.tensor).1.div_ceil(SIDE);
			self.tensor_hashes(slice.tensor).get(first * width..end * width).unwrap_or_default()
		});
		tiles.copied().collect()
	}

	/// Roots of all nodes whose lists are committed to.
	pub fn node_roots(&self) -> Vec<Hash> {
		let mut roots = vec![[0; 32]; self.plan.listed_nodes() as usize];
		in_parts(self.exec.threads(), &mut roots, |first, roots| {
			for (node, root) in (0..).skip(first).zip(roots) {
				*root = merkle_root(&self.node_hashes(node));
			}
		});
		roots
	}

	/// Hashes of the tiles of a vector that the job ends with.
	pub fn result_hashes(&self, result: u32) -> Vec<Hash> {
		let tensors = self.plan.results().get(result as usize);
		tensors.into_iter().flatten().flat_map(|&id| self.tensor_hashes(id)).copied().collect()
	}

	/// Roots of the first `N` vectors that the job ends with; `None` if there are fewer.
	pub fn result_roots<const N: usize>(&self) -> Option<[Hash; N]> {
		self.all_result_roots().first_chunk().copied()
	}

	/// Roots of the vectors that the job ends with.
	pub fn all_result_roots(&self) -> &[Hash] {
		let root = |result| {
			let hashes = self.result_hashes(result);
			self.plan.result_cover(result).map_or_else(|| merkle_root(&hashes), |cover| merkle_root(&cover.roots(&hashes)))
		};
		let results = || (0..).zip(self.plan.results()).map(|(result, _)| root(result));
		self.results.get_or_init(|| results().collect())
	}

	/// The same trace, whose results are known to have these roots.
	pub(crate) fn with_result_roots(self, roots: &[Hash]) -> Self {
		Self { results: roots.to_vec().into(), ..self }
	}

	/// The node whose value is the first that ends the job as diverged: the loss or the gradient's square norm; `None` if both are finite.
	pub fn diverged_node(&self) -> Option<u32> {
		let job = self.plan.job.as_ref()?;
		job.ends().filter(|&id| !self.tensor(id).first().is_some_and(|value| value.is_finite())).find_map(|id| {
			match self.plan.address(id, 0, 0)? {
				Address::Node { node, .. } => Some(node),
				Address::Vector { .. } | Address::Result { .. } => None,
			}
		})
	}

	/// Hashes of the tiles of a vector that the job starts from.
	pub fn vector_hashes(&self, vector: u32) -> Vec<Hash> {
		let tensors = (0..).map(TensorId).zip(&self.given).filter(|(_, (other, _))| *other == vector as usize);
		tensors.flat_map(|(id, _)| self.tensor_hashes(id)).copied().collect()
	}

	/// Hashes of the states after each piece of a cell but the last, computed from this trace's values of its inputs.
	///
	/// # Errors
	/// [`Malformed`] for a cell of another plan.
	pub fn prefix_hashes(&self, cell: Cell) -> Result<Vec<Hash>, Malformed> {
		let job = self.job();
		let pieces = job.pieces(cell).ok_or(Malformed)?;
		let (mut state, mut hashes) = (Vec::new(), Vec::new());
		for piece in 0..pieces.saturating_sub(1) {
			state = job.advance(cell, piece, state, &mut &*self)?;
			hashes.push(neuroshard_graph::merkle::blake2_256(&bytes_of(&state)));
		}
		Ok(hashes)
	}
}

impl Leaves for &Trace {
	type Error = Malformed;

	fn tile(&mut self, tensor: TensorId, row: u32, col: u32) -> Result<Box<Tile>, Malformed> {
		self.tile_values(tensor, row, col).ok_or(Malformed)
	}

	fn quarter(&mut self, tensor: TensorId, row: u32, col: u32, quarter: u32) -> Result<[f32; NUMBERS / 4], Malformed> {
		let tile = self.tile_values(tensor, row, col).ok_or(Malformed)?;
		let mut part = [0.0; NUMBERS / 4];
		part.copy_from_slice(tile.chunks_exact(NUMBERS / 4).nth(quarter as usize).ok_or(Malformed)?);
		Ok(part)
	}

	fn tokens(&mut self, sequence: u32, first: u32, count: u32) -> Result<Vec<u32>, Malformed> {
		let (batch, length) = (self.batch.as_ref().ok_or(Malformed)?, self.parameters.seq + 1);
		let start = sequence as usize * length + first as usize;
		let inside = first as usize + count as usize <= length;
		batch.tokens.get(start..start + count as usize).filter(|_| inside).map(<[u32]>::to_vec).ok_or(Malformed)
	}
}
