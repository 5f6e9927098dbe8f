//! Costs of a model, and speeds of nodes and of the links between them.

use super::PlacementError;
use neuroshard_compute::exec::PAGE_TOKENS;
use neuroshard_graph::{config::MAX_LAYERS, Class, ModelConfig};

/// Bytes of a key's or value's channel, of an activation, of a norm's parameter and of one that tokens are looked up in: all are 32-bit floats.
const FLOAT: u64 = 4;
/// Bytes of a token that goes back to the ring's first node.
const TOKEN: u64 = 4;
/// Slowest speed and bandwidth that is accepted, so that all predicted times are finite.
const SLOWEST: f64 = 1.0;
/// Longest latency that is accepted, in seconds: a day.
const LONGEST_LATENCY: f64 = 86_400.0;
/// The most points of reputation.
pub const BEST_REPUTATION: u16 = 1_000;

/// `value` as a float. Beyond 2^53 the nearest one is meant: costs are estimates.
pub(super) fn float(value: u64) -> f64 {
	value as f64
}

/// `count` as a float; exact, since nothing that is counted here reaches 2^53.
pub(super) fn count(count: usize) -> f64 {
	count as f64
}

/// `count` as 64 bits, of which `usize` has no more on any machine that the worker runs on.
pub(super) fn wide(count: usize) -> u64 {
	u64::try_from(count).unwrap_or(u64::MAX)
}

/// Bytes of so many parameters of linear maps. In 8 bits, 32 of them share a scale.
pub fn linear_bytes(class: Class, parameters: u64) -> u64 {
	match class {
		Class::ExactF32 => parameters.saturating_mul(FLOAT),
		Class::ExactInt8 => parameters.saturating_add(parameters.div_ceil(32).saturating_mul(FLOAT)),
	}
}

/// Load that a ring is planned for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
	/// Class of arithmetic, by which parameters are held.
	pub class: Class,
	/// Tokens of a sequence, at least one: for so many, the KV cache has room, and the last one attends to as many.
	pub context: u32,
	/// Sequences whose KV cache is held at a time, at least one.
	pub sequences: u32,
	/// Sequences that go around the ring together, at least one and at most `sequences`: parameters are read once for all of them.
	pub batch: u32,
}

/// The work of one operation for one step, in which each sequence of the batch gets a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
	/// Floating-point operations.
	pub flops: u64,
	/// Bytes that are read from memory.
	pub bytes: u64,
}

impl Work {
	/// Seconds that it takes at `speed`: the longer of computing and reading, which overlap (the roofline model).
	pub fn seconds(&self, speed: &Speed) -> f64 {
		(float(self.flops) / speed.flops).max(float(self.bytes) / speed.bytes)
	}
}

/// Part before or after the layers: the embedding, or the head with the last norm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct End {
	/// Bytes of memory.
	pub memory: u64,
	/// Its work.
	pub work: Work,
}

/// One decoder layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layer {
	/// Bytes of memory: parameters and KV cache.
	pub memory: u64,
	/// The work of its attention.
	pub attention: Work,
	/// The work of its MLP.
	pub mlp: Work,
}

/// Costs of a model: by layer, so that layers may differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
	/// The embedding.
	pub embedding: End,
	/// The layers, 1 to [`MAX_LAYERS`] of them.
	pub layers: Vec<Layer>,
	/// The head.
	pub head: End,
	/// Bytes of memory that embedding and head share where one node holds both: the matrix of a model whose `tied` is set.
	pub shared: u64,
	/// Bytes that go from node to node in a step.
	pub row: u64,
	/// Bytes that go from the last node to the first in a step.
	pub token: u64,
	/// Sequences of a step.
	pub batch: u32,
}

impl Model {
	/// Returns the costs of a model of the shape `config` under `load`.
	///
	/// Operations are those of the matrix products for one new token: two for each parameter of a linear map, and in each layer's attention
	/// `4 * heads * head_dim * context` for scores and values. The embedding reads one row, and multiplies nothing. What is read are the parameters, once
	/// for the whole batch, and in each layer's attention the keys and values of `context` tokens for each sequence. Memory for keys and
	/// values comes in whole pages of [`PAGE_TOKENS`]. Norms, rotations and what is held for a moment only are left out as too small.
	///
	/// # Errors
	/// [`PlacementError::Config`] for a shape that is not accepted, [`PlacementError::Load`] for a load.
	pub fn of(config: &ModelConfig, load: Load) -> Result<Self, PlacementError> {
		config.validate()?;
		let Load { class, context, sequences, batch } = load;
		let linear = |parameters| linear_bytes(class, parameters);
		if context == 0 || context > config.max_seq || batch == 0 || batch > sequences {
			return Err(PlacementError::Load { most: config.max_seq });
		}
		let [vocab, dim, ffn, q, kv] = [config.vocab, config.dim, config.ffn, config.q_dim(), config.kv_dim()].map(u64::from);
		let [context, sequences, steps] = [context, sequences, batch].map(u64::from);
		// At most 2^31 parameters, so that none of these products comes near 64 bits; what multiplies by loads saturates.
		let (matrix, projections, mlp) = (vocab * dim, 2 * dim * (q + kv), 3 * dim * ffn);
		// Norms and biases of a layer: all but the last norm.
		let vectors = config.vector_parameters().saturating_sub(dim) / u64::from(config.layers);
		let cached = 2 * kv * FLOAT;
		let pages = context.next_multiple_of(wide(PAGE_TOKENS));
		let layer = Layer {
			memory: (linear(projections + mlp) + FLOAT * vectors).saturating_add((cached * pages).saturating_mul(sequences)),
			attention: Work {
				flops: (2 * projections + 4 * q * context).saturating_mul(steps),
				bytes: (linear(projections) + FLOAT * vectors.saturating_sub(dim)).saturating_add((cached * context).saturating_mul(steps)),
			},
			mlp: Work { flops: (2 * mlp).saturating_mul(steps), bytes: linear(mlp) + FLOAT * dim },
		};
		let embedding = End { memory: FLOAT * matrix, work: Work { flops: 0, bytes: (FLOAT * dim).saturating_mul(steps) } };
		let head = Work { flops: (2 * matrix).saturating_mul(steps), bytes: linear(matrix) + FLOAT * dim };
		Ok(Self {
			embedding,
			layers: (0..config.layers).map(|_| layer).collect(),
			head: End { memory: linear(matrix) + FLOAT * dim, work: head },
			// In another class the head has a matrix of its own.
			shared: if config.tied && class == Class::ExactF32 { FLOAT * matrix } else { 0 },
			row: (FLOAT * dim).saturating_mul(steps),
			token: TOKEN.saturating_mul(steps),
			batch,
		})
	}

	/// Tokens a second of one layer at `speed`, on the mean of all layers, while a batch is computed.
	pub fn layer_rate(&self, speed: &Speed) -> f64 {
		let seconds: f64 = self.layers.iter().map(|layer| layer.attention.seconds(speed) + layer.mlp.seconds(speed)).sum();
		f64::from(self.batch) * count(self.layers.len()) / seconds
	}

	/// Bytes of memory of the whole model on one node; saturates.
	pub fn memory(&self) -> u64 {
		self.memory_of(0, self.blocks())
	}

	/// Embedding, layers and head, each counted as one block: what a ring is cut into.
	pub(super) fn blocks(&self) -> usize {
		self.layers.len() + 2
	}

	/// The layers among the blocks `from..to`.
	pub(super) fn layers_of(&self, from: usize, to: usize) -> std::ops::Range<usize> {
		let first = from.saturating_sub(1).min(self.layers.len());
		first..to.saturating_sub(1).clamp(first, self.layers.len())
	}

	/// Returns whether the blocks `from..to` include the head.
	pub(super) fn ends(&self, to: usize) -> bool {
		to == self.blocks()
	}

	/// Bytes of memory for the blocks `from..to`; saturates.
	pub(super) fn memory_of(&self, from: usize, to: usize) -> u64 {
		let layers = self.layers.get(self.layers_of(from, to)).unwrap_or_default();
		let layers = layers.iter().fold(0u64, |sum, layer| sum.saturating_add(layer.memory));
		let embedding = if from == 0 { self.embedding.memory } else { 0 };
		let head = if self.ends(to) { self.head.memory } else { 0 };
		let shared = if from == 0 && self.ends(to) { self.shared } else { 0 };
		layers.saturating_add(embedding).saturating_add(head).saturating_sub(shared)
	}

	/// The operations of block `block`.
	fn work(&self, block: usize) -> [Work; 2] {
		if block == 0 {
			return [self.embedding.work, Work::default()];
		}
		self.layers.get(block - 1).map_or([self.head.work, Work::default()], |layer| [layer.attention, layer.mlp])
	}

	/// Seconds that block `block` takes at `speed`.
	pub(super) fn seconds(&self, block: usize, speed: &Speed) -> f64 {
		self.work(block).iter().map(|work| work.seconds(speed)).sum()
	}

	/// Returns whether reading memory takes most of the time of the blocks `from..to` at `speed`.
	pub(super) fn reads_most(&self, from: usize, to: usize, speed: &Speed) -> bool {
		let work = || (from..to).flat_map(|block| self.work(block));
		let flops: f64 = work().map(|work| float(work.flops)).sum();
		let bytes: f64 = work().map(|work| float(work.bytes)).sum();
		bytes / speed.bytes >= flops / speed.flops
	}

	/// Accepts a model that can be placed: shared bytes are part of both ends, and there are neither no layers nor too many.
	pub(super) fn validate(&self) -> Result<(), PlacementError> {
		let most = usize::try_from(MAX_LAYERS).unwrap_or(usize::MAX);
		if self.layers.is_empty() || self.layers.len() > most || self.batch == 0 {
			return Err(PlacementError::Model);
		}
		if self.shared > self.embedding.memory.min(self.head.memory) {
			return Err(PlacementError::Model);
		}
		Ok(())
	}
}

/// Measured speed of a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Speed {
	/// Floating-point operations per second.
	pub flops: f64,
	/// Bytes per second that it reads from memory.
	pub bytes: f64,
}

/// Parts of a model that a node may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Roles {
	/// The embedding, as the ring's first node: it takes requests in.
	pub driver: bool,
	/// Layers.
	pub worker: bool,
	/// The head, as the ring's last node: it picks the tokens.
	pub predictor: bool,
}

impl Roles {
	/// All of them.
	pub const ALL: Self = Self { driver: true, worker: true, predictor: true };
}

/// One who offers to hold a part of a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
	/// Name or account; no two nodes have the same.
	pub name: String,
	/// Bytes of memory that it lends.
	pub memory: u64,
	/// Its measured speed.
	pub speed: Speed,
	/// Reputation, 0 to [`BEST_REPUTATION`].
	pub reputation: u16,
	/// Share of the time in which it could be reached, 0 to 1.
	pub uptime: f64,
	/// Parts that it may hold.
	pub roles: Roles,
}

impl Node {
	/// Accepts a node of which all numbers are ones that can be computed with.
	pub(super) fn validate(&self) -> Result<(), PlacementError> {
		let refuse = |what| Err(PlacementError::Node { name: self.name.clone(), what });
		let speed = |value: f64| value.is_finite() && value >= SLOWEST;
		if self.name.is_empty() {
			return refuse("its name is empty");
		}
		if !speed(self.speed.flops) || !speed(self.speed.bytes) {
			return refuse("its speed is not a number from 1 per second on");
		}
		if self.reputation > BEST_REPUTATION {
			return refuse("its reputation is more than 1000");
		}
		if !(0.0..=1.0).contains(&self.uptime) {
			return refuse("its uptime is not a number from 0 to 1");
		}
		Ok(())
	}
}

/// Measured latency and bandwidth from one node to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
	/// Seconds that the first byte takes.
	pub latency: f64,
	/// Bytes per second.
	pub bandwidth: f64,
}

impl Link {
	/// Seconds in which `bytes` arrive.
	pub fn seconds(&self, bytes: u64) -> f64 {
		self.latency + self.occupied(bytes)
	}

	/// Seconds for which `bytes` keep the link from carrying anything else.
	pub(super) fn occupied(&self, bytes: u64) -> f64 {
		float(bytes) / self.bandwidth
	}

	fn is_valid(&self) -> bool {
		(0.0..=LONGEST_LATENCY).contains(&self.latency) && self.bandwidth.is_finite() && self.bandwidth >= SLOWEST
	}
}

/// The links between nodes, each in its direction. Links that were not measured are not used.
#[derive(Clone, PartialEq, Debug)]
pub struct Links {
	nodes: usize,
	links: Vec<Option<Link>>,
}

impl Links {
	/// The links between `nodes` nodes: `link(from, to)` tells each, by the nodes' places in their list. Nobody is asked for the link of a
	/// node to itself.
	///
	/// # Errors
	/// [`PlacementError::Link`] for a latency that is not a number of seconds from 0 to a day, or a bandwidth below a byte per second, not
	/// finite, or not a number.
	pub fn new(nodes: usize, mut link: impl FnMut(usize, usize) -> Option<Link>) -> Result<Self, PlacementError> {
		let mut links = Vec::new();
		for from in 0..nodes {
			for to in 0..nodes {
				let link = if from == to { None } else { link(from, to) };
				if link.is_some_and(|link| !link.is_valid()) {
					return Err(PlacementError::Link { from, to });
				}
				links.push(link);
			}
		}
		Ok(Self { nodes, links })
	}

	/// Returns the number of nodes.
	pub fn nodes(&self) -> usize {
		self.nodes
	}

	/// The link from one node to another; `None` if it was not measured, for a node to itself, and for nodes that do not exist.
	pub fn get(&self, from: usize, to: usize) -> Option<Link> {
		let known = from < self.nodes && to < self.nodes;
		known.then(|| self.links.get(from * self.nodes + to).copied().flatten()).flatten()
	}
}
