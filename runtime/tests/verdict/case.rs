//! A last move of a dispute about any piece of any job, however large the model: what the piece reads is made up, and so are the trees that
//! it is proven by.

use super::sparse::Sparse;
use neuroshard_graph::{
	cell::{Address, Cell},
	corpus::{Corpus, TokenWidth},
	game::{Entry, Move, Outcome, Position, Ruling, Site, Target},
	graph::{Op, TensorId},
	merkle::{blake2_256, Hash},
	plan::Plan,
	resume::{Job, Leaves, Malformed, Parameters, Tile, NUMBERS},
	tiles::{bytes_of, leaf_hash},
	witness::state_hash,
	Adapter, Aggregator, ModelConfig, TrainConfig,
};
use neuroshard_runtime::kernels_api::{Claim, Game};
use std::collections::BTreeMap;

/// Shards of the dataset, and tokens of each: proofs of 12 and 17 hashes.
const SHARDS: u32 = 4_096;
const TOKENS_PER_SHARD: u32 = 1 << 28;

/// Numbers that tensors hold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Data {
	/// Between -1 and 1.
	Usual,
	/// As usual in the first tensor that is read, subnormal in all others: what processors are slowest with.
	Subnormal,
}

/// One of the jobs that a game can come down to.
#[derive(Clone)]
pub struct Work {
	pub name: &'static str,
	pub model: ModelConfig,
	pub train: TrainConfig,
	/// Deltas of an outer step; `None` for an inner step or a delta.
	pub deltas: Option<u32>,
	/// True if it is the delta of a round.
	pub delta: bool,
	/// Returns a token by its place in the shard.
	pub token: fn(u32) -> u32,
}

impl Work {
	/// Returns the parameters that operators need beside their inputs.
	pub fn parameters(&self) -> Parameters {
		match self.deltas {
			Some(_) => Parameters::outer(&self.model, &self.train, &self.inner_steps()),
			None => Parameters::new(&self.model, &self.train, 3, 1),
		}
		.unwrap()
	}

	/// Inner steps behind each delta, where they count.
	pub fn inner_steps(&self) -> Vec<u32> {
		(1..=self.deltas.unwrap_or(0)).filter(|_| self.train.weighs_steps()).collect()
	}

	pub fn plan(&self) -> Plan {
		match (self.deltas, self.delta) {
			(Some(deltas), _) => Plan::outer(&self.model, &self.train, deltas),
			(None, true) => Plan::delta(&self.model, &self.train),
			(None, false) => Plan::training(&self.model, &self.train),
		}
		.unwrap_or_else(|error| panic!("{}: {error}", self.name))
	}
}

/// Returns the place of a sequence's window: two chunks of a shard of its own.
fn window(width: TokenWidth, sequence: u32) -> (u32, u32) {
	(sequence * 31 % SHARDS, (1 + sequence * 17) * width.chunk_tokens() - 13)
}

/// One leaf that the piece asked for.
enum Leaf {
	Tile { address: Address, bytes: Vec<u8> },
	Quarter { address: Address, bytes: Vec<u8>, others: Vec<Hash>, hash: Hash },
	Chunk { shard: u32, chunk: u32, bytes: Vec<u8> },
}

/// Makes up what a piece asks for, and notes it.
struct Author<'a> {
	plan: &'a Plan,
	data: Data,
	width: TokenWidth,
	token: fn(u32) -> u32,
	random: u64,
	seen: Vec<TensorId>,
	leaves: Vec<Leaf>,
}

impl Author<'_> {
	fn word(&mut self) -> u32 {
		self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
		(self.random >> 32) as u32
	}

	fn numbers(&mut self, tensor: Option<TensorId>, count: usize) -> Vec<f32> {
		let first = tensor.is_some() && self.seen.first().is_none_or(|&first| Some(first) == tensor);
		self.seen.extend(tensor);
		let subnormal = self.data == Data::Subnormal && !first;
		let mut number = || match subnormal {
			true => f32::from_bits(self.word() & 0x807f_ffff),
			false => self.word() as f32 / (1u32 << 31) as f32 - 1.0,
		};
		(0..count).map(|_| number()).collect()
	}

	fn address(&self, tensor: TensorId, row: u32, col: u32) -> Result<Address, Malformed> {
		self.plan.address(tensor, row, col).ok_or(Malformed)
	}
}

impl Leaves for Author<'_> {
	type Error = Malformed;

	fn tile(&mut self, tensor: TensorId, row: u32, col: u32) -> Result<Box<Tile>, Malformed> {
		let values = self.numbers(Some(tensor), NUMBERS);
		self.leaves.push(Leaf::Tile { address: self.address(tensor, row, col)?, bytes: bytes_of(&values) });
		values.into_boxed_slice().try_into().map_err(|_| Malformed)
	}

	fn quarter(&mut self, tensor: TensorId, row: u32, col: u32, quarter: u32) -> Result<[f32; NUMBERS / 4], Malformed> {
		let values = self.numbers(Some(tensor), NUMBERS / 4);
		let bytes = bytes_of(&values);
		let mut hashes: Vec<Hash> = (0..4).map(|other| [other; 32]).collect();
		hashes[quarter as usize] = blake2_256(&bytes);
		let hash = blake2_256(&hashes.concat());
		hashes.remove(quarter as usize);
		self.leaves.push(Leaf::Quarter { address: self.address(tensor, row, col)?, bytes, others: hashes, hash });
		values.try_into().map_err(|_| Malformed)
	}

	fn tokens(&mut self, sequence: u32, first: u32, count: u32) -> Result<Vec<u32>, Malformed> {
		let (shard, start) = window(self.width, sequence);
		let range = start + first..start + first + count;
		let tokens = self.width.chunk_tokens();
		for chunk in range.start / tokens..self.width.chunks(range.end) {
			let places = chunk * tokens..(chunk + 1) * tokens;
			let bytes = self.width.bytes() as usize;
			let bytes = places.flat_map(|place| self.width.write((self.token)(place)).into_iter().take(bytes)).collect();
			self.leaves.push(Leaf::Chunk { shard, chunk, bytes });
		}
		Ok(range.map(self.token).collect())
	}
}

/// The trees that a case's leaves are in.
#[derive(Default)]
struct Forest {
	/// Known leaves by tree, with each tree's length: vectors, results, nodes' lists.
	lists: BTreeMap<(u8, u32), (u32, BTreeMap<u32, Hash>)>,
	chunks: BTreeMap<u32, BTreeMap<u32, Hash>>,
}

fn tree_of(address: &Address) -> ((u8, u32), u32, u32) {
	match *address {
		Address::Node { node, leaf, leaves } => ((0, node), leaf, leaves),
		Address::Vector { vector, leaf, leaves } => ((1, vector), leaf, leaves),
		Address::Result { result, leaf, leaves } => ((2, result), leaf, leaves),
	}
}

/// A last move and all that it is judged by.
#[derive(Clone)]
pub struct Case {
	pub name: &'static str,
	pub op: Op,
	pub piece: (u32, u32),
	pub data: Data,
	pub game: Game,
	pub position: Position,
	pub action: Move,
	pub witness: usize,
}

impl Case {
	/// The last move about `piece` of `cell`, whose claim is right.
	pub fn new(work: &Work, plan: &Plan, cell: Cell, piece: u32, data: Data) -> Self {
		let job = Job::new(plan, work.parameters());
		let pieces = job.pieces(cell).unwrap();
		let seen = Vec::new();
		let width = TokenWidth::of(work.model.vocab, work.train.masked);
		let mut author = Author { plan, data, width, token: work.token, random: 7, seen, leaves: Vec::new() };
		let state = match piece {
			0 => Vec::new(),
			_ => author.numbers(None, job.state_len(cell).unwrap()),
		};
		let mut witness = bytes_of(&state);
		let before = (piece > 0).then(|| state_hash(&state));
		let next = job.advance(cell, piece, state, &mut author).unwrap();
		let after = if piece + 1 == pieces { leaf_hash(&bytes_of(&next)) } else { state_hash(&next) };

		let leaves = author.leaves;
		let mut forest = Forest::default();
		for leaf in &leaves {
			let (address, hash) = match leaf {
				Leaf::Tile { address, bytes } => (address, leaf_hash(bytes)),
				Leaf::Quarter { address, hash, .. } => (address, *hash),
				Leaf::Chunk { shard, chunk, bytes } => {
					forest.chunks.entry(*shard).or_default().insert(*chunk, leaf_hash(bytes));
					continue;
				}
			};
			let (tree, index, len) = tree_of(address);
			forest.lists.entry(tree).or_insert((len, BTreeMap::new())).1.insert(index, hash);
		}
		let lists: BTreeMap<(u8, u32), Sparse> =
			forest.lists.into_iter().map(|(key, (len, leaves))| (key, Sparse::new(len, leaves))).collect();
		let node_roots = lists.iter().filter(|((kind, _), _)| *kind == 0).map(|((_, node), list)| (*node, list.root())).collect();
		let nodes = Sparse::new(plan.listed_nodes(), node_roots);
		let corpus = Corpus { root: Hash::default(), shards: SHARDS, tokens_per_shard: TOKENS_PER_SHARD, width };
		let shards: BTreeMap<u32, Sparse> =
			forest.chunks.into_iter().map(|(shard, chunks)| (shard, Sparse::new(corpus.chunks(), chunks))).collect();
		let dataset = Sparse::new(SHARDS, shards.iter().map(|(&shard, chunks)| (shard, chunks.root())).collect());
		for leaf in &leaves {
			let (bytes, others, address) = match leaf {
				Leaf::Tile { address, bytes } => (bytes, &[][..], address),
				Leaf::Quarter { address, bytes, others, .. } => (bytes, &others[..], address),
				Leaf::Chunk { shard, chunk, bytes } => {
					witness.extend(bytes);
					witness.extend(shards[shard].proof(*chunk).concat());
					witness.extend(dataset.proof(*shard).concat());
					continue;
				}
			};
			let (tree, index, _) = tree_of(address);
			witness.extend(bytes);
			witness.extend(others.concat());
			witness.extend(lists[&tree].proof(index).concat());
			if let Address::Node { node, .. } = address {
				witness.extend(nodes.proof(*node).concat());
			}
		}

		let root = |kind: u8, number: u32| lists.get(&(kind, number)).map_or(Hash::default(), Sparse::root);
		let site = match (work.deltas, work.delta) {
			(Some(_), _) => {
				let (step, vectors, gradient) = (0, [root(1, 0), root(1, 1)], root(2, 0));
				match work.train.aggregator {
					Aggregator::Robust(_) | Aggregator::Compressed(_) => Site::Aggregate { step, vectors, gradient, nodes: nodes.root() },
					Aggregator::Mean | Aggregator::TrimmedMean { .. } => Site::Outer { step, vectors, gradient },
				}
			}
			(None, true) if work.train.leaves_residual() => Site::Code { vectors: [0, 1, 2].map(|vector| root(1, vector)) },
			(None, true) => Site::Delta { vectors: [root(1, 0), root(1, 1)] },
			(None, false) => Site::Step { step: 1, vectors: [root(1, 0), root(1, 1), root(1, 2)], nodes: nodes.root() },
		};
		let claim = match work.deltas {
			Some(count) => Claim::Checkpoint {
				deltas: vec![(0..count).map(|delta| root(1, 2 + delta)).collect()],
				inner_steps: vec![work.inner_steps()],
				claimed: [1; 32],
			},
			None => Claim::Work {
				dataset: dataset.root(),
				shards: SHARDS,
				tokens_per_shard: TOKENS_PER_SHARD,
				windows: (0..work.train.batch).map(|sequence| window(width, sequence)).collect(),
				steps: work.train.inner_steps,
				base: None,
			},
		};
		let (target, leaf) = match plan.address(plan.cell_tensor(cell).unwrap(), cell.row, cell.col).unwrap() {
			Address::Node { node, leaf, .. } => (Target::Node(node), leaf),
			Address::Result { result, leaf, .. } => (Target::Vector(result), leaf),
			Address::Vector { .. } => panic!("no stage writes what a job starts from"),
		};
		let entries = before.map(|before| (piece - 1, before)).into_iter().chain((piece + 1 < pieces).then_some((piece, after)));
		let states = Sparse::new(pieces - 1, entries.collect());
		let entry = |index: u32, hash: Hash| Entry { hash, proof: states.proof(index) };
		let bytes = witness.len();
		let action = Move::Piece {
			piece,
			before: before.map(|before| entry(piece - 1, before)),
			after: (piece + 1 < pieces).then(|| entry(piece, after)),
			witness,
		};
		let tile = if piece + 1 == pieces { after } else { [9; 32] };
		let position = Position::PickPiece { site, target, leaf, tile, states: states.root() };
		let base = plan.base_vector().map(|vector| root(1, vector));
		let adapter = work.train.adapter.map(|adapter| Adapter { base: base.unwrap_or_default(), ..adapter });
		let train = TrainConfig { adapter, ..work.train.clone() };
		let game = Game { model: work.model.clone(), train, round: 3, start: [2; 32], claim };
		let op = plan.stages()[cell.stage as usize].op;
		let case = Self { name: work.name, op, piece: (piece, pieces), data, game, position, action, witness: bytes };
		assert_eq!(case.play(), Outcome::Decided(Ruling::Unfounded), "{op:?}, piece {piece} of {pieces}");
		case
	}

	/// The same move where another tile was claimed, if the piece is its last.
	pub fn of_a_wrong_tile(&self) -> Option<Self> {
		let mut lie = self.clone();
		let Position::PickPiece { tile, .. } = &mut lie.position else { return None };
		tile[0] ^= 1;
		(self.piece.0 + 1 == self.piece.1).then_some(lie)
	}

	/// The verdict as it is computed here.
	pub fn play(&self) -> Outcome {
		self.game.play(&self.position, &self.action).unwrap_or_else(|error| panic!("{:?}: {error}", self.op))
	}
}
