//! Plans: the fixed list of stages and nodes of each job, and where every tensor lies in one arena.

mod backward;
mod forward;
mod outer;

use crate::{
	config::{ConfigError, ModelConfig, TrainConfig},
	graph::{Access, Node, Op, Origin, Place, RowSlice, Stage, TensorId, TensorInfo, MAX_NODES, MAX_TILES_PER_NODE},
	layout::ParamLayout,
};
use alloc::vec::Vec;

/// Elements that every buffer of the arena is aligned to: 64 bytes.
pub const ALIGNMENT: u64 = 16;
/// Rows of a tile.
const TILE: u32 = 32;

/// Sizes of one batch on one model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sizes {
	pub batch: u32,
	pub seq: u32,
	/// `batch * seq`.
	pub tokens: u32,
	pub dim: u32,
	pub kv_dim: u32,
	pub ffn: u32,
	pub vocab: u32,
	pub heads: u32,
	pub kv_heads: u32,
	pub layers: u32,
	pub tied: bool,
}

impl Sizes {
	fn new(model: &ModelConfig, batch: u32, seq: u32) -> Result<Self, ConfigError> {
		Ok(Self {
			batch,
			seq,
			tokens: batch.checked_mul(seq).ok_or(ConfigError::TooLarge)?,
			dim: model.dim,
			kv_dim: model.kv_dim(),
			ffn: model.ffn,
			vocab: model.vocab,
			heads: model.heads,
			kv_heads: model.kv_heads,
			layers: model.layers,
			tied: model.tied,
		})
	}

	/// Rows of attention scores.
	fn score_rows(&self) -> Result<u32, ConfigError> {
		self.tokens.checked_mul(self.heads).ok_or(ConfigError::TooLarge)
	}
}

/// What a training plan has after the loss. The first three are offsets of flat vectors in parameter layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Update {
	pub first_moment: u64,
	pub second_moment: u64,
	pub gradient: u64,
	/// `[1, 1]` sum of squares of the gradient.
	pub square_norm: TensorId,
	/// `[1, 1]` clip factor.
	pub clip: TensorId,
	/// First stage that changes parameters.
	pub first_stage: usize,
}

/// What the executor needs to know of a plan that runs on an arena. Parameters are at its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ArenaJob {
	pub sizes: Sizes,
	/// `[1, 1]` mean loss; in validation the `tokens / 32` partial sums of a group, in rows of 32.
	pub loss: TensorId,
	pub update: Option<Update>,
}

impl ArenaJob {
	/// The numbers that end the job as diverged if they are not finite: the loss, and the gradient's square norm.
	pub fn ends(&self) -> impl Iterator<Item = TensorId> {
		[Some(self.loss), self.update.map(|update| update.square_norm)].into_iter().flatten()
	}
}

/// Stages, nodes and tensors of one job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
	tensors: Vec<TensorInfo>,
	/// Of each tensor.
	origins: Vec<Origin>,
	/// First tile of each parameter tensor in a vector, and after the last the number of all.
	vector_tiles: Vec<u32>,
	/// Vectors in parameter layout that the job ends with.
	results: Vec<Vec<TensorId>>,
	stages: Vec<Stage>,
	nodes: u32,
	listed_nodes: u32,
	arena_len: u64,
	pub(crate) job: Option<ArenaJob>,
}

impl Plan {
	/// The training step: forward, loss, backward, gradient norm, clipping and AdamW.
	///
	/// The arena begins with parameters, first moments, second moments and gradients.
	///
	/// # Errors
	/// Those of [`TrainConfig::validate`].
	pub fn training(model: &ModelConfig, train: &TrainConfig) -> Result<Self, ConfigError> {
		train.check_values(model)?;
		backward::training(model, train)
	}

	/// Forward pass and losses of [`TrainConfig::validation_batch`] held-out sequences. The arena begins with the
	/// parameters. The validation loss is the tree sum of all groups' partial sums times `1 / tokens`.
	///
	/// # Errors
	/// Those of [`TrainConfig::validate`].
	pub fn validation(model: &ModelConfig, train: &TrainConfig) -> Result<Self, ConfigError> {
		train.validate(model)?;
		forward::validation(model, train)
	}

	/// theta_0, one stage per parameter tensor.
	///
	/// # Errors
	/// Those of [`ModelConfig::validate`], and [`ConfigError::TooLarge`] for too many nodes.
	pub fn init(model: &ModelConfig) -> Result<Self, ConfigError> {
		outer::init(model)
	}

	/// A participant's delta: `theta_r - theta_H`, one stage per parameter tensor.
	///
	/// # Errors
	/// Those of [`ModelConfig::validate`], and [`ConfigError::TooLarge`] for too many nodes.
	pub fn delta(model: &ModelConfig) -> Result<Self, ConfigError> {
		outer::delta(model)
	}

	/// Aggregation of `deltas` deltas into the pseudo-gradient and the outer step, per parameter tensor.
	///
	/// # Errors
	/// Those of [`TrainConfig::validate`] but for the number of a training step's nodes, which is not looked at: a dispute makes this plan with
	/// every move. [`ConfigError::TooLarge`] for too many nodes of this one, or without a delta.
	pub fn outer(model: &ModelConfig, train: &TrainConfig, deltas: u32) -> Result<Self, ConfigError> {
		train.check_values(model)?;
		outer::outer(model, train, deltas)
	}

	/// The stages in topological order.
	pub fn stages(&self) -> &[Stage] {
		&self.stages
	}

	/// Tensor `id`; `None` for one of another plan.
	pub fn tensor(&self, id: TensorId) -> Option<&TensorInfo> {
		self.tensors.get(usize::try_from(id.0).ok()?)
	}

	/// All tensors, by [`TensorId`].
	pub fn tensors(&self) -> &[TensorInfo] {
		&self.tensors
	}

	/// Where the values of tensor `id` come from; `None` for one of another plan.
	pub fn origin(&self, id: TensorId) -> Option<Origin> {
		self.origins.get(usize::try_from(id.0).ok()?).copied()
	}

	/// Vectors in parameter layout that the job ends with, as tensors in layout order. Training: parameters, first and second moments.
	/// Delta: the delta. Outer step: pseudo-gradient, parameters, momentum. Others have none.
	pub fn results(&self) -> &[Vec<TensorId>] {
		&self.results
	}

	/// First tile of each parameter tensor in a vector's list of tiles, and after the last the number of all of them.
	pub fn vector_tiles(&self) -> &[u32] {
		&self.vector_tiles
	}

	/// Number of nodes, at most [`MAX_NODES`].
	pub fn node_count(&self) -> u32 {
		self.nodes
	}

	/// Nodes whose lists of tiles are committed to: those before the first stage that writes vectors the job ends with.
	pub fn listed_nodes(&self) -> u32 {
		self.listed_nodes
	}

	/// Elements of the arena.
	pub fn arena_len(&self) -> u64 {
		self.arena_len
	}

	/// Node `index`; `None` beyond the last.
	pub fn node(&self, index: u32) -> Option<Node> {
		let after = self.stages.partition_point(|stage| stage.first_node <= index);
		let stage = self.stages.get(after.checked_sub(1)?)?;
		let first = (index - stage.first_node).checked_mul(stage.rows_per_node)?;
		let rows = stage.rows.checked_sub(first).filter(|&rows| rows > 0)?.min(stage.rows_per_node);
		let slice = |&(tensor, access): &(TensorId, Access)| match access {
			Access::SameRows => Some(RowSlice { tensor, first, rows }),
			Access::Whole => Some(RowSlice { tensor, first: 0, rows: self.tensor(tensor)?.rows }),
		};
		Some(Node {
			op: stage.op,
			inputs: stage.inputs.iter().map(slice).collect::<Option<_>>()?,
			outputs: stage.outputs.iter().map(|&tensor| RowSlice { tensor, first, rows }).collect(),
		})
	}
}

/// Collects the stages of a plan.
struct Builder {
	plan: Plan,
	/// Vectors that were declared so far.
	vectors: u32,
}

impl Builder {
	fn new() -> Self {
		let plan = Plan {
			tensors: Vec::new(),
			origins: Vec::new(),
			vector_tiles: Vec::new(),
			results: Vec::new(),
			stages: Vec::new(),
			nodes: 0,
			listed_nodes: 0,
			arena_len: 0,
			job: None,
		};
		Self { plan, vectors: 0 }
	}

	/// Room in the arena for `rows * cols` elements.
	fn buffer(&mut self, rows: u32, cols: u32) -> Result<Place, ConfigError> {
		self.room(u64::from(rows) * u64::from(cols)).map(Place::Arena)
	}

	fn room(&mut self, len: u64) -> Result<u64, ConfigError> {
		let offset = self.plan.arena_len;
		let end = offset.checked_add(len).and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
		self.plan.arena_len = end.ok_or(ConfigError::TooLarge)?;
		Ok(offset)
	}

	/// A value of the given shape.
	fn tensor(&mut self, rows: u32, cols: u32, place: Place) -> Result<TensorId, ConfigError> {
		let id = u32::try_from(self.plan.tensors.len()).map_err(|_| ConfigError::TooLarge)?;
		self.plan.tensors.push(TensorInfo { rows, cols, place });
		// A stage that writes it, or a vector that it belongs to, says so later.
		self.plan.origins.push(Origin::Tokens);
		Ok(TensorId(id))
	}

	/// A value in an arena buffer of its own.
	fn fresh(&mut self, rows: u32, cols: u32) -> Result<TensorId, ConfigError> {
		let place = self.buffer(rows, cols)?;
		self.tensor(rows, cols, place)
	}

	/// One value for each parameter tensor, consecutive from `base` on or with the caller.
	fn parameters(&mut self, layout: &ParamLayout, base: Option<u64>) -> Result<Vec<TensorId>, ConfigError> {
		let vector = self.vectors;
		self.vectors += 1;
		let count = layout.tensors().len();
		let (mut tiles, mut ids) = (Vec::with_capacity(count + 1), Vec::with_capacity(count));
		tiles.push(0u32);
		for (tensor, place) in (0..).zip(layout.tensors()) {
			let rows = u32::try_from(place.rows).map_err(|_| ConfigError::TooLarge)?;
			let cols = u32::try_from(place.cols).map_err(|_| ConfigError::TooLarge)?;
			let offset = u64::try_from(place.offset).map_err(|_| ConfigError::TooLarge)?;
			let id = self.tensor(rows, cols, base.map_or(Place::External, |base| Place::Arena(base + offset)))?;
			self.set_origin(id, Origin::Vector { vector, tensor });
			tiles.push(tiles.last().copied().unwrap_or(0).saturating_add(rows.div_ceil(TILE).saturating_mul(cols.div_ceil(TILE))));
			ids.push(id);
		}
		self.plan.vector_tiles = tiles;
		Ok(ids)
	}

	fn set_origin(&mut self, id: TensorId, origin: Origin) {
		if let Some(known) = usize::try_from(id.0).ok().and_then(|id| self.plan.origins.get_mut(id)) {
			*known = origin;
		}
	}

	fn info(&self, id: TensorId) -> Result<TensorInfo, ConfigError> {
		self.plan.tensor(id).copied().ok_or(ConfigError::TooLarge)
	}

	/// A value of `like`'s shape in its memory: the result of an operator that works in place.
	fn in_place(&mut self, like: TensorId) -> Result<TensorId, ConfigError> {
		let TensorInfo { rows, cols, place } = self.info(like)?;
		self.tensor(rows, cols, place)
	}

	/// Adds a stage and cuts it into nodes.
	fn stage(&mut self, op: Op, inputs: Vec<(TensorId, Access)>, outputs: &[TensorId]) -> Result<(), ConfigError> {
		let mut rows = 0;
		let mut tiles_per_band = 0u32;
		for &output in outputs {
			let info = self.info(output)?;
			rows = info.rows;
			tiles_per_band = tiles_per_band.saturating_add(info.cols.div_ceil(TILE));
		}
		let bands = MAX_TILES_PER_NODE.checked_div(tiles_per_band).filter(|&bands| bands > 0).ok_or(ConfigError::TooLarge)?;
		let stage =
			Stage { op, inputs, outputs: outputs.to_vec(), rows, rows_per_node: bands.saturating_mul(TILE), first_node: self.plan.nodes };
		let nodes = self.plan.nodes.saturating_add(stage.nodes());
		if nodes > MAX_NODES {
			return Err(ConfigError::TooLarge);
		}
		let number = u32::try_from(self.plan.stages.len()).map_err(|_| ConfigError::TooLarge)?;
		for (output, &id) in (0..).zip(outputs) {
			self.set_origin(id, Origin::Stage { stage: number, output });
		}
		self.plan.nodes = nodes;
		self.plan.stages.push(stage);
		Ok(())
	}

	/// `count` partial sums in rows of 32.
	fn partials(&mut self, count: u32) -> Result<TensorId, ConfigError> {
		self.fresh(count.div_ceil(TILE), TILE)
	}

	/// Levels of fan-in 1,024 from `partials` down to one sum, which lies in the arena.
	fn tree_sum(&mut self, partials: TensorId) -> Result<TensorId, ConfigError> {
		let mut values = partials;
		loop {
			// A tile of 1,024 partial sums is a group.
			let groups = self.info(values)?.rows.div_ceil(TILE);
			let sums = if groups == 1 { self.fresh(1, 1)? } else { self.tensor(groups.div_ceil(TILE), TILE, Place::Fused)? };
			self.stage(Op::TreeSum, whole(&[values]), &[sums])?;
			if groups == 1 {
				return Ok(sums);
			}
			values = sums;
		}
	}

	fn finish(mut self) -> Plan {
		let writer = |&id: &TensorId| match self.plan.origin(id) {
			Some(Origin::Stage { stage, .. }) => usize::try_from(stage).ok(),
			_ => None,
		};
		let first = self.plan.results.iter().flatten().filter_map(writer).min();
		self.plan.listed_nodes = first.and_then(|first| self.plan.stages.get(first)).map_or(self.plan.nodes, |stage| stage.first_node);
		self.plan
	}
}

/// `SameRows` accesses of `ids`.
fn rows<const N: usize>(ids: [TensorId; N]) -> Vec<(TensorId, Access)> {
	ids.map(|id| (id, Access::SameRows)).to_vec()
}

/// `SameRows` accesses of `ids`, then `Whole` accesses of `whole`.
fn rows_and<const N: usize, const M: usize>(ids: [TensorId; N], whole: [TensorId; M]) -> Vec<(TensorId, Access)> {
	let mut inputs = Vec::with_capacity(N + M);
	inputs.extend(ids.map(|id| (id, Access::SameRows)));
	inputs.extend(whole.map(|id| (id, Access::Whole)));
	inputs
}

/// `Whole` accesses of `ids`.
fn whole(ids: &[TensorId]) -> Vec<(TensorId, Access)> {
	ids.iter().map(|&id| (id, Access::Whole)).collect::<Vec<_>>()
}
