//! Cells: single tiles of a plan's tensors, and where each of them is committed to.
//!
//! Every tile of a vector in parameter layout that a job starts from or ends with is a leaf of the vector's list, tensor after tensor.
//! Every other tile that a stage writes is a leaf of its node's list: the tiles of the node's rows, output after output, row by row.
//! Counts and positions follow from the plan.

use crate::{
	graph::{Origin, Stage, TensorId},
	plan::Plan,
};

/// Side of a tile.
const SIDE: u32 = 32;

/// One tile of one output of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
	/// Number of the stage.
	pub stage: u32,
	/// Which of its outputs.
	pub output: u32,
	/// Row of tiles.
	pub row: u32,
	/// Column of tiles.
	pub col: u32,
}

/// The commitment that a tile belongs to, and its place there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Address {
	/// In the list of a node's tiles.
	Node {
		/// Number of the node.
		node: u32,
		/// Place in its list.
		leaf: u32,
		/// Length of its list.
		leaves: u32,
	},
	/// In the list of the tiles of a vector that the job starts from; see [`Origin::Vector`].
	Vector {
		/// Which vector.
		vector: u32,
		/// Place in its list.
		leaf: u32,
		/// Length of its list.
		leaves: u32,
	},
	/// In the list of the tiles of a vector that the job ends with; see [`Plan::results`].
	Result {
		/// Which vector.
		result: u32,
		/// Place in its list.
		leaf: u32,
		/// Length of its list.
		leaves: u32,
	},
}

fn index(value: u32) -> Option<usize> {
	usize::try_from(value).ok()
}

/// Tiles in a row of tiles of each output.
fn widths<'a>(plan: &'a Plan, stage: &'a Stage) -> impl Iterator<Item = Option<u32>> + 'a {
	plan.outputs(stage).iter().map(|&output| plan.tensor(output).map(|info| info.cols.div_ceil(SIDE)))
}

/// Node `number` of `stage`: its first row of tiles, and how many it has.
fn bands(stage: &Stage, number: u32) -> Option<(u32, u32)> {
	let first = number.checked_mul(stage.rows_per_node)?;
	let rows = stage.rows.checked_sub(first).filter(|&rows| rows > 0)?.min(stage.rows_per_node);
	Some((first / SIDE, rows.div_ceil(SIDE)))
}

impl Plan {
	/// The stage that node `node` belongs to, and the node's number within it.
	fn stage_of(&self, node: u32) -> Option<(u32, &Stage, u32)> {
		let number = self.stages().partition_point(|stage| stage.first_node <= node).checked_sub(1)?;
		let stage = self.stages().get(number)?;
		Some((u32::try_from(number).ok()?, stage, node.checked_sub(stage.first_node)?))
	}

	/// Number of tiles that node `node` outputs; `None` beyond the last node.
	pub fn node_tiles(&self, node: u32) -> Option<u32> {
		let (_, stage, within) = self.stage_of(node)?;
		let (_, bands) = bands(stage, within)?;
		widths(self, stage).try_fold(0u32, |sum, width| sum.checked_add(bands.checked_mul(width?)?))
	}

	/// Leaf `leaf` of node `node`; `None` if there is none.
	pub fn node_cell(&self, node: u32, leaf: u32) -> Option<Cell> {
		let (number, stage, within) = self.stage_of(node)?;
		let (first, bands) = bands(stage, within)?;
		let mut rest = leaf;
		for (output, width) in (0..).zip(widths(self, stage)) {
			let width = width?;
			let tiles = bands.checked_mul(width)?;
			if rest < tiles {
				return Some(Cell { stage: number, output, row: first.checked_add(rest / width)?, col: rest % width });
			}
			rest -= tiles;
		}
		None
	}

	/// Tiles of a vector in parameter layout.
	pub fn vector_len(&self) -> u32 {
		self.vector_tiles().last().copied().unwrap_or(0)
	}

	/// Tiles of a code.
	fn code_len(&self) -> Option<u32> {
		self.coded.map(|coded| coded.rows.div_ceil(SIDE))
	}

	/// Whether result vector `result` is a code.
	fn is_code(&self, result: u32) -> bool {
		result == 0 && self.coded.is_some_and(|coded| coded.written)
	}

	/// Tiles of result vector `result` (see [`Plan::results`]); `None` if there is none.
	pub fn result_len(&self, result: u32) -> Option<u32> {
		self.results().get(index(result)?)?;
		if self.is_code(result) {
			self.code_len()
		} else {
			self.single_len(result).or_else(|| Some(self.vector_len()))
		}
	}

	/// Leaf `leaf` of result vector `result` (see [`Plan::results`]); `None` if there is none.
	pub fn result_cell(&self, result: u32, leaf: u32) -> Option<Cell> {
		let (slot, row, col) = match (self.is_code(result), self.single_len(result)) {
			(true, _) => (0, leaf, 0),
			(false, None) => self.slot_of(leaf)?,
			(false, Some(_)) => {
				let width = self.tensor(*self.results().get(index(result)?)?.first()?)?.cols.div_ceil(SIDE);
				(0, leaf.checked_div(width)?, leaf % width)
			}
		};
		if leaf >= self.result_len(result)? {
			return None;
		}
		let id = *self.results().get(index(result)?)?.get(index(slot)?)?;
		match self.origin(id)? {
			Origin::Stage { stage, output } => Some(Cell { stage, output, row, col }),
			Origin::Vector { .. } | Origin::Tokens => None,
		}
	}

	/// Where tile (`row`, `col`) of `tensor` is committed to; `None` if the tensor has no such tile, or is no tensor of numbers.
	pub fn address(&self, tensor: TensorId, row: u32, col: u32) -> Option<Address> {
		let info = self.tensor(tensor)?;
		let width = info.cols.div_ceil(SIDE);
		if row >= info.rows.div_ceil(SIDE) || col >= width {
			return None;
		}
		match self.origin(tensor)? {
			Origin::Tokens => None,
			Origin::Vector { vector, tensor } => {
				let tiles = self.tiles_of(vector);
				let first = *tiles.get(index(tensor)?)?;
				let leaf = first.checked_add(row.checked_mul(width)?)?.checked_add(col)?;
				let code = self.coded.is_some_and(|coded| self.vectors_given().saturating_sub(coded.given) <= vector);
				let leaves = if code { self.code_len()? } else { *tiles.last()? };
				Some(Address::Vector { vector, leaf, leaves })
			}
			Origin::Stage { stage, output } => {
				let writer = self.stages().get(index(stage)?)?;
				// No listed stage writes a result: there is nothing to look for.
				let results = if writer.first_node < self.listed_nodes() { &[][..] } else { self.results() };
				let found = (0..).zip(results).find_map(|(result, ids)| Some((result, ids.iter().position(|&id| id == tensor)?)));
				if let Some((result, place)) = found {
					let first = *self.vector_tiles().get(place)?;
					let leaf = first.checked_add(row.checked_mul(width)?)?.checked_add(col)?;
					return Some(Address::Result { result, leaf, leaves: self.result_len(result)? });
				}
				let within = row / (writer.rows_per_node / SIDE);
				let (first, bands) = bands(writer, within)?;
				let before =
					widths(self, writer).take(index(output)?).try_fold(0u32, |sum, width| sum.checked_add(bands.checked_mul(width?)?))?;
				let leaf = before.checked_add((row - first).checked_mul(width)?)?.checked_add(col)?;
				let node = writer.first_node.checked_add(within)?;
				Some(Address::Node { node, leaf, leaves: self.node_tiles(node)? })
			}
		}
	}

	/// The way from leaf `leaf` of a vector that the job starts from, of `leaves`, to its root: how many leaves the trees on it have, and which one it comes
	/// from, the lowest first. Of a span's vectors these are a subtree of the whole vector's tree, and the list of such subtrees.
	pub fn vector_way(&self, vector: u32, leaf: u32, leaves: u32) -> Option<[(u32, u32); 2]> {
		let Some(cover) = self.vector_cover(vector) else { return Some([(leaves, leaf), (1, 0)]) };
		let (number, first, subtree) = cover.locate(leaf)?;
		Some([(subtree.leaves, leaf.checked_sub(first)?), (u32::try_from(cover.subtrees().len()).ok()?, number)])
	}

	/// The tensor of a cell; `None` for one of another plan.
	pub fn cell_tensor(&self, cell: Cell) -> Option<TensorId> {
		self.outputs(self.stages().get(index(cell.stage)?)?).get(index(cell.output)?).copied()
	}
}
