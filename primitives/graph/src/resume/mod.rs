//! Every operator piece by piece: the same sums as the kernels', on one tile of the output, resumable after every *piece*.
//!
//! A tile is computed in [`Job::pieces`] pieces. Between two pieces there is a small state of floats, from which anybody can go on who
//! has the few tiles that the next piece reads; after the last piece the state is the tile. That is what makes a single step of a
//! computation small enough to be judged by a chain: see [`crate::witness`].
//!
//! Which tiles a piece reads is decided in one place, by asking [`Leaves`] for them: whoever records a witness and whoever checks it
//! run the same code.

mod aggregate;
mod attention;
mod code;
mod elementwise;
mod heads;
mod parameters;
mod reduce;
mod rows;
mod sums;
mod tokens;

use crate::{
	cell::Cell,
	graph::{Access, Extent, Op, Stage, TensorId},
	plan::Plan,
};
use alloc::{boxed::Box, collections::BTreeMap, vec, vec::Vec};
use heads::Heads;
use neuroshard_kernels::{
	scalar,
	shape::{MatDims, Start},
};
pub use parameters::{adamw, momentum, muon, Parameters};

/// Side of a tile.
pub const SIDE: usize = 32;
/// Numbers in a tile.
pub const NUMBERS: usize = SIDE * SIDE;
/// Tiles of one operand that one piece reads, where nothing else bounds it: 256 elements of a chain.
const WIDTH: u32 = 8;
/// Tiles that one piece of a sum over tiles reads.
const TILES: u32 = 16;
/// Deltas that one piece of a mean reads.
const DELTAS: u32 = 16;

/// Values of one tile, row by row; +0 beyond the tensor's edge.
pub type Tile = [f32; NUMBERS];

/// Where the values come from that a piece reads.
pub trait Leaves {
	/// Why a value cannot be had.
	type Error: From<Malformed>;

	/// Tile (`row`, `col`) of `tensor`.
	///
	/// # Errors
	/// If it cannot be had.
	fn tile(&mut self, tensor: TensorId, row: u32, col: u32) -> Result<Box<Tile>, Self::Error>;

	/// Rows `8 quarter` to `8 quarter + 7` of a tile.
	///
	/// # Errors
	/// If they cannot be had.
	fn quarter(&mut self, tensor: TensorId, row: u32, col: u32, quarter: u32) -> Result<[f32; NUMBERS / 4], Self::Error>;

	/// Tokens `first..first + count` of sequence `sequence` of the batch, which has one token more than a sequence's length.
	///
	/// # Errors
	/// If they cannot be had.
	fn tokens(&mut self, sequence: u32, first: u32, count: u32) -> Result<Vec<u32>, Self::Error>;
}

/// The cell, the piece or the state is none of this job's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error, codec::Encode, codec::Decode, scale_info::TypeInfo)]
#[error("the plan has no such tile, or its computation no such piece")]
pub struct Malformed;

/// A plan with the numbers that its operators need.
#[derive(Clone, Debug)]
pub struct Job<'a> {
	plan: &'a Plan,
	parameters: Parameters,
}

/// Reads every tile once for a piece, and of codes every quarter.
struct Cached<'a, L> {
	leaves: &'a mut L,
	tiles: BTreeMap<(u32, u32, u32), Box<Tile>>,
	quarters: BTreeMap<(u32, u32, u32), [f32; NUMBERS / 4]>,
}

impl<L: Leaves> Cached<'_, L> {
	fn tile(&mut self, tensor: TensorId, row: u32, col: u32) -> Result<&Tile, L::Error> {
		let key = (tensor.0, row, col);
		if !self.tiles.contains_key(&key) {
			let tile = self.leaves.tile(tensor, row, col)?;
			self.tiles.insert(key, tile);
		}
		self.tiles.get(&key).map(|tile| &**tile).ok_or(Malformed.into())
	}

	/// Quarter `quarter` of tile `row` of a code, whose tiles stand in one column.
	fn quarter(&mut self, code: TensorId, row: u32, quarter: u32) -> Result<&[f32; NUMBERS / 4], L::Error> {
		let key = (code.0, row, quarter);
		if !self.quarters.contains_key(&key) {
			let numbers = self.leaves.quarter(code, row, 0, quarter)?;
			self.quarters.insert(key, numbers);
		}
		self.quarters.get(&key).ok_or(Malformed.into())
	}

	/// Columns `first..first + count` of the 32 rows of a row of tiles, row by row.
	fn columns(&mut self, tensor: TensorId, row: u32, first: usize, count: usize) -> Result<Vec<f32>, L::Error> {
		let mut values = vec![0.0; SIDE * count];
		let mut done = 0;
		while done < count {
			let at = first + done;
			let tile = self.tile(tensor, row, u32::try_from(at / SIDE).map_err(|_| Malformed)?)?;
			let (offset, part) = (at % SIDE, (SIDE - at % SIDE).min(count - done));
			for (values, tile) in values.chunks_exact_mut(count).zip(tile.chunks_exact(SIDE)) {
				values[done..done + part].copy_from_slice(&tile[offset..offset + part]);
			}
			done += part;
		}
		Ok(values)
	}
}

/// One piece of one cell, with everything that is looked up only once.
struct Piece<'a> {
	plan: &'a Plan,
	parameters: &'a Parameters,
	stage: &'a Stage,
	cell: Cell,
	piece: u32,
	pieces: u32,
}

impl<'a> Job<'a> {
	/// `parameters` are those of the configuration that `plan` was made for.
	pub fn new(plan: &'a Plan, parameters: Parameters) -> Self {
		Self { plan, parameters }
	}

	/// The plan.
	pub fn plan(&self) -> &'a Plan {
		self.plan
	}

	fn stage(&self, cell: Cell) -> Option<&'a Stage> {
		let stage = self.plan.stages().get(usize::try_from(cell.stage).ok()?)?;
		let info = self.plan.tensor(self.plan.cell_tensor(cell)?)?;
		(cell.row < info.rows.div_ceil(32) && cell.col < info.cols.div_ceil(32)).then_some(stage)
	}

	/// Rows and columns, in tiles, of input `input`.
	fn tiles(&self, stage: &Stage, input: usize) -> Option<(u32, u32)> {
		let info = self.plan.tensor(self.plan.inputs(stage).get(input)?.0)?;
		Some((info.rows.div_ceil(32), info.cols.div_ceil(32)))
	}

	/// Heads with a norm in a row, of the stage that makes the weight's gradient.
	fn factors_per_row(&self, stage: &Stage) -> Option<u32> {
		let &(factors, _) = self.plan.inputs(stage).get(2)?;
		Some(self.plan.tensor(factors)?.cols)
	}

	/// Pieces that a cell is computed in, at least one; `None` for a cell of another plan.
	pub fn pieces(&self, cell: Cell) -> Option<u32> {
		let stage = self.stage(cell)?;
		let input = |number| self.tiles(stage, number);
		let sequence = self.parameters.sequence_tiles();
		let count = match stage.op {
			Op::Init
			| Op::RmsApply
			| Op::AddBias
			| Op::Scale
			| Op::Rope { .. }
			| Op::RopeBack { .. }
			| Op::Softmax
			| Op::Swiglu
			| Op::SwigluBack => 1,
			Op::Gather | Op::CountTargets | Op::LossRows | Op::MeanLoss | Op::LossBack | Op::RmsBackApply | Op::ScoreBack => 1,
			Op::MuonDirection | Op::MuonNormalize | Op::MuonPolynomial | Op::Muon => 1,
			Op::ClipScale | Op::AdamW | Op::Delta | Op::Residual(_) | Op::Nesterov => 1,
			Op::Encode(_) => code::PIECES,
			Op::RmsStats | Op::RmsBackStats => Heads::of(self.plan, stage, cell)?.tiles().div_ceil(WIDTH),
			Op::RowMax(Extent::Row) | Op::ExpSum(Extent::Row) => input(0)?.1.div_ceil(WIDTH),
			Op::RowMax(Extent::Causal) | Op::ExpSum(Extent::Causal) => (cell.row % sequence + 1).div_ceil(WIDTH),
			Op::Product(kind) if !kind.over_tokens() => input(0)?.1.div_ceil(WIDTH),
			Op::Product(_) | Op::ScatterAdd | Op::ColumnSums => input(0)?.0.div_ceil(WIDTH),
			Op::RmsWeightGrad => self.factors_per_row(stage)?.checked_mul(input(0)?.0)?.div_ceil(WIDTH),
			Op::Scores | Op::ProbabilityBack if cell.col > cell.row % sequence => 1,
			Op::Scores | Op::ProbabilityBack | Op::HeadDots => self.parameters.head_pieces(),
			Op::Context | Op::QueryBack => attention::row_pieces(&self.parameters, cell),
			Op::KeyBack | Op::ValueBack => attention::column_pieces(&self.parameters, cell),
			Op::TileSums | Op::TreeSum | Op::SquareTiles => {
				let tiles = (0..self.plan.inputs(stage).len()).try_fold(0u32, |sum, number| {
					let (rows, cols) = input(number)?;
					sum.checked_add(rows.checked_mul(cols)?)
				})?;
				let first = cell.row.checked_mul(1_024)?;
				tiles.checked_sub(first)?.min(1_024).div_ceil(TILES)
			}
			Op::AddUp => {
				let cols = (0..self.plan.inputs(stage).len()).try_fold(0u32, |sum, number| sum.checked_add(input(number)?.1))?;
				cols.div_ceil(TILES)
			}
			Op::Mean => u32::try_from(self.plan.inputs(stage).len()).ok()?.div_ceil(DELTAS),
			Op::TrimmedMean { .. } | Op::ClippedTrimmedMean { .. } => 8,
			Op::DistanceSums(distance) => aggregate::distance_pieces(self.plan, distance, cell.row, cell.col),
			Op::Distances(_) => aggregate::segment_pieces(self.plan),
			Op::Weights(_) => 1,
			Op::WeightedSum { .. } => self.plan.deltas().div_ceil(DELTAS),
		};
		Some(count.max(1))
	}

	/// Numbers of the state between two pieces of a cell; `None` for a cell of another plan.
	pub fn state_len(&self, cell: Cell) -> Option<usize> {
		let stage = self.stage(cell)?;
		Some(match stage.op {
			Op::RmsStats | Op::RmsBackStats => Heads::of(self.plan, stage, cell)?.state_len(),
			Op::ExpSum(_) | Op::HeadDots => SIDE * 16,
			Op::RowMax(_) | Op::RmsWeightGrad | Op::ColumnSums => SIDE,
			// The sum of finished segments, and the segment under way.
			Op::Product(kind) if kind.over_tokens() && sums::segmented(self.tiles(stage, 0)?.0) => 2 * NUMBERS,
			_ => NUMBERS,
		})
	}

	/// Runs piece `piece` on `state`, which is ignored before the first piece. Returns the state after it; after the last piece that is
	/// the tile.
	///
	/// # Errors
	/// [`Malformed`] for a cell or piece that the plan does not have or a state of another length; what `leaves` say otherwise.
	pub fn advance<L: Leaves>(&self, cell: Cell, piece: u32, state: Vec<f32>, leaves: &mut L) -> Result<Vec<f32>, L::Error> {
		let stage = self.stage(cell).ok_or(Malformed)?;
		let pieces = self.pieces(cell).ok_or(Malformed)?;
		if piece >= pieces || (piece > 0 && Some(state.len()) != self.state_len(cell)) {
			return Err(Malformed.into());
		}
		let mut leaves = Cached { leaves, tiles: BTreeMap::new(), quarters: BTreeMap::new() };
		let at = Piece { plan: self.plan, parameters: &self.parameters, stage, cell, piece, pieces };
		let next = at.run(state, &mut leaves)?;
		debug_assert!(next.len() == if piece + 1 == pieces { NUMBERS } else { self.state_len(cell).unwrap_or(0) });
		Ok(next)
	}

	/// A whole tile.
	///
	/// # Errors
	/// As [`Job::advance`].
	pub fn tile<L: Leaves>(&self, cell: Cell, leaves: &mut L) -> Result<Vec<f32>, L::Error> {
		let mut state = Vec::new();
		for piece in 0..self.pieces(cell).ok_or(Malformed)? {
			state = self.advance(cell, piece, state, leaves)?;
		}
		Ok(state)
	}
}

impl Piece<'_> {
	fn run<L: Leaves>(&self, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		match self.stage.op {
			Op::Init => Err(Malformed.into()),
			Op::Product(kind) => self.product(kind, state, leaves),
			Op::Gather => self.gather(leaves),
			Op::ScatterAdd => self.scatter_add(state, leaves),
			Op::CountTargets => self.count_targets(leaves),
			Op::LossRows => self.loss_rows(leaves),
			Op::LossBack => self.loss_back(leaves),
			Op::RmsStats => self.rms_stats(state, leaves),
			Op::RmsBackStats => self.rms_back_stats(state, leaves),
			Op::RowMax(extent) => self.row_max(extent, state, leaves),
			Op::ExpSum(extent) => self.exp_sum(extent, state, leaves),
			Op::RmsWeightGrad => self.rms_weight_grad(state, leaves),
			Op::ColumnSums => self.column_sums(state, leaves),
			Op::Scores => self.scores(true, state, leaves),
			Op::ProbabilityBack => self.scores(false, state, leaves),
			Op::HeadDots => self.head_dots(state, leaves),
			Op::Context | Op::QueryBack => self.weighted_rows(state, leaves),
			Op::KeyBack | Op::ValueBack => self.weighted_columns(state, leaves),
			Op::TileSums => self.sum_tiles(reduce::Sum::Plain, state, leaves),
			Op::TreeSum => self.sum_tiles(reduce::Sum::Group, state, leaves),
			Op::SquareTiles => self.sum_tiles(reduce::Sum::Squares, state, leaves),
			Op::AddUp => self.add_up(state, leaves),
			Op::Mean => self.mean(state, leaves),
			Op::TrimmedMean { trim } => self.trimmed_mean(trim, state, leaves),
			Op::ClippedTrimmedMean { slot, trim } => self.clipped_trimmed_mean((slot, trim), state, leaves),
			Op::DistanceSums(distance) => self.distance_sums(distance, state, leaves),
			Op::Distances(distance) => self.distances(distance, state, leaves),
			Op::Weights(weighing) => self.weights(weighing, leaves),
			Op::Encode(code) => self.encode(code, state, leaves),
			Op::Residual(code) => self.residual(code, leaves),
			Op::WeightedSum { slot } => self.weighted_sum(slot, state, leaves),
			_ => self.elementwise(leaves),
		}
	}

	/// What the piece's stage reads.
	fn inputs(&self) -> &[(TensorId, Access)] {
		self.plan.inputs(self.stage)
	}

	/// The tensor of input `number`.
	#[inline]
	fn input(&self, number: usize) -> Result<TensorId, Malformed> {
		self.inputs().get(number).map(|&(tensor, _)| tensor).ok_or(Malformed)
	}

	/// Whether this is the last piece.
	#[inline]
	fn last(&self) -> bool {
		self.piece + 1 == self.pieces
	}

	/// Tiles `first..end` of `count` that this piece reads, `width` at most.
	#[inline]
	fn span(&self, count: u32, width: u32) -> core::ops::Range<u32> {
		let first = self.piece.saturating_mul(width).min(count);
		first..first.saturating_add(width).min(count)
	}
}

/// `state`, or as many zeros before the first piece.
#[inline]
fn begun(piece: u32, state: Vec<f32>, len: usize) -> Vec<f32> {
	if piece == 0 {
		vec![0.0; len]
	} else {
		state
	}
}

/// Adds the products of 32 rows of `a` with 32 rows of `b` to a tile. The chains are those of `matmul_nt`, but all of a row go on side by side,
/// which takes the chain's WASM half the time.
fn add_row_products(a: &[f32], b: &[f32], tile: &mut [f32]) {
	let k = b.len() / SIDE;
	let mut across = vec![0.0; b.len()];
	for (col, row) in b.chunks_exact(k.max(1)).enumerate() {
		across.iter_mut().skip(col).step_by(SIDE).zip(row).for_each(|(slot, &value)| *slot = value);
	}
	scalar::matmul_nn(MatDims { m: SIDE, n: SIDE, k }, a, &across, tile, Start::Existing);
}

/// A tile whose first column is `values`.
fn column(values: impl IntoIterator<Item = f32>) -> Vec<f32> {
	let mut tile = vec![0.0; NUMBERS];
	for (slot, value) in tile.iter_mut().step_by(SIDE).zip(values) {
		*slot = value;
	}
	tile
}
