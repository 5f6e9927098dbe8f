//! Any piece of any job on any numbers: it never fails, and what it reads fits in a witness.

use super::{config, source::Source};
use neuroshard_graph::{
	cell::{Address, Cell},
	game::MAX_LIST,
	graph::TensorId,
	merkle::proof_len,
	plan::Plan,
	resume::{Job, Leaves, Malformed, Parameters, Tile, NUMBERS},
	witness::MAX_WITNESS,
};

/// Numbers from the input, again and again; counts what a witness of them would be.
struct Hostile<'a> {
	plan: &'a Plan,
	floats: Vec<f32>,
	tokens: Vec<u32>,
	next: usize,
	sequences: u32,
	/// Tokens of a sequence and the one that follows.
	length: u32,
	bytes: usize,
}

impl Hostile<'_> {
	fn float(&mut self) -> f32 {
		self.next += 1;
		self.floats[self.next % self.floats.len()]
	}

	fn open(&mut self, tensor: TensorId, row: u32, col: u32) {
		let hashes = |count, index| proof_len(count, index).expect("an address lies in its list");
		let hashes = match self.plan.address(tensor, row, col).expect("a piece reads what is committed to") {
			Address::Node { node, leaf, leaves } => {
				assert!(node < self.plan.listed_nodes(), "a piece reads what is listed");
				hashes(leaves, leaf) + hashes(self.plan.listed_nodes(), node)
			}
			Address::Vector { leaf, leaves, .. } | Address::Result { leaf, leaves, .. } => hashes(leaves, leaf),
		};
		self.bytes += 32 * hashes as usize;
	}
}

impl Leaves for Hostile<'_> {
	type Error = Malformed;

	fn tile(&mut self, tensor: TensorId, row: u32, col: u32) -> Result<Box<Tile>, Malformed> {
		self.open(tensor, row, col);
		self.bytes += 4 * NUMBERS;
		let mut tile = Box::new([0.0; NUMBERS]);
		tile.iter_mut().for_each(|value| *value = self.float());
		Ok(tile)
	}

	fn quarter(&mut self, tensor: TensorId, row: u32, col: u32, quarter: u32) -> Result<[f32; NUMBERS / 4], Malformed> {
		assert!(quarter < 4);
		self.open(tensor, row, col);
		self.bytes += NUMBERS + 3 * 32;
		Ok(core::array::from_fn(|_| self.float()))
	}

	fn tokens(&mut self, sequence: u32, first: u32, count: u32) -> Result<Vec<u32>, Malformed> {
		assert!(sequence < self.sequences && first.checked_add(count).is_some_and(|end| end <= self.length), "tokens of the batch");
		// One chunk more than they fill, each with two proofs of at most 21 and 16 hashes.
		self.bytes += (count as usize / 2_048 + 2) * (4_096 + 37 * 32);
		Ok((0..count as usize).map(|place| self.tokens[place % self.tokens.len()]).collect())
	}
}

pub fn run(source: &mut Source) {
	let model = config::model(source);
	let train = config::train(source, &model);
	let (round, step) = (source.about(100), source.about(train.inner_steps));
	let plan = match source.below(4) {
		0 | 1 => Plan::training(&model, &train),
		2 => Plan::delta(&model, &train),
		_ => Plan::outer(&model, &train, 1 + source.below(128)),
	};
	let (Ok(plan), Ok(parameters)) = (plan, Parameters::new(&model, &train, round, step)) else { return };
	let job = Job::new(&plan, parameters);
	let stages = plan.stages().len() as u32;
	let stage = source.about(stages);
	let output = source.below(3);
	let shape = plan.cell_tensor(Cell { stage, output, row: 0, col: 0 }).and_then(|tensor| plan.tensor(tensor));
	let (rows, cols) = shape.map_or((1, 1), |info| (info.rows.div_ceil(32), info.cols.div_ceil(32)));
	let cell = Cell { stage, output, row: source.about(rows), col: source.about(cols) };
	let Some(pieces) = job.pieces(cell) else {
		assert!(shape.is_none() || cell.row >= rows || cell.col >= cols, "every tile has pieces: {cell:?}");
		return;
	};
	assert!(pieces <= MAX_LIST + 1, "{pieces} pieces");
	let piece = if source.once_in(2) { pieces - 1 } else { source.about(pieces) };
	let state_len = job.state_len(cell).expect("a cell has states");
	let len = if source.once_in(16) { source.about(state_len as u32).min(5_000) as usize } else { state_len };
	let floats: Vec<f32> = (0..37).map(|_| source.float()).collect();
	let tokens: Vec<u32> = (0..5).map(|_| source.about(model.vocab)).collect();
	let state: Vec<f32> = floats.iter().copied().cycle().take(len).collect();
	let length = train.seq_len + 1;
	let mut leaves = Hostile { plan: &plan, floats, tokens, next: 0, sequences: train.batch, length, bytes: 4 * state_len };
	let legal = piece < pieces && (piece == 0 || len == state_len);
	let next = job.advance(cell, piece, state, &mut leaves);
	assert_eq!(next.is_ok(), legal, "{cell:?}, piece {piece} of {pieces}");
	assert!(leaves.bytes <= MAX_WITNESS, "{:?}: a witness of {} bytes", plan.stages()[stage as usize].op, leaves.bytes);
	if let Ok(next) = next {
		assert_eq!(next.len(), if piece + 1 == pieces { NUMBERS } else { state_len });
	}
}
