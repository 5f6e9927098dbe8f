//! Plans: the fixed list of stages and nodes of each job, and where every tensor lies in one arena.

mod backward;
mod builder;
mod forward;
mod muon;
mod outer;
mod seams;

use crate::{
	class::Class,
	config::{Code, ConfigError, Family, ModelConfig, TrainConfig},
	cover::Cover,
	graph::{Access, Node, Origin, Place, RowSlice, Stage, TensorId, TensorInfo},
	span::Span,
};
use alloc::vec::Vec;
use builder::{rows, rows_and, whole, Builder, Vector};
use neuroshard_kernels::shape::{SEGMENT, SUMMED_TILES};
pub use seams::{Given, Seams, Segment};

/// Elements that every buffer of the arena is aligned to: 64 bytes.
pub const ALIGNMENT: u64 = 16;
/// Rows of a tile.
const TILE: u32 = 32;
/// [`SUMMED_TILES`].
const SUMMED: u32 = 256;
const _: () = assert!(SUMMED as usize == SUMMED_TILES);
/// [`SEGMENT`].
const CHAIN: u32 = 4_096;
const _: () = assert!(CHAIN as usize == SEGMENT);
/// Most logits in memory at a time, 128 MiB of them; of a vocabulary so large that 32 rows are more, 32 rows.
const LOGITS: u32 = 1 << 25;
/// Most rows of logits at a time: with more, products are no faster, and logits leave the caches.
const LOGIT_ROWS: u32 = 512;
/// Newton-Schulz steps that orthogonalise a direction of Muon.
pub(crate) const NEWTON_SCHULZ_STEPS: u8 = 5;
/// Most deltas of an outer step.
pub const MAX_DELTAS: u32 = 128;

/// Sizes of one batch on one model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
	/// Sequences.
	pub batch: u32,
	/// Tokens of a sequence.
	pub seq: u32,
	/// `batch * seq`.
	pub tokens: u32,
	pub(crate) dim: u32,
	pub(crate) q_dim: u32,
	pub(crate) kv_dim: u32,
	pub(crate) ffn: u32,
	/// Tokens of the vocabulary.
	pub vocab: u32,
	pub(crate) heads: u32,
	pub(crate) kv_heads: u32,
	pub(crate) layers: u32,
	/// The part of the model that the job is on.
	pub(crate) span: Span,
	pub(crate) tied: bool,
	pub(crate) family: Family,
}

impl Sizes {
	fn new(model: &ModelConfig, batch: u32, seq: u32) -> Result<Self, ConfigError> {
		Ok(Self {
			batch,
			seq,
			tokens: batch.checked_mul(seq).ok_or(ConfigError::TooLarge)?,
			dim: model.dim,
			q_dim: model.q_dim(),
			kv_dim: model.kv_dim(),
			ffn: model.ffn,
			vocab: model.vocab,
			heads: model.heads,
			kv_heads: model.kv_heads,
			layers: model.layers,
			span: Span::all(model),
			tied: model.tied,
			family: model.family,
		})
	}

	/// Units of the model.
	fn units(&self) -> u32 {
		self.layers.saturating_add(2)
	}

	/// Whether the job is on unit `unit`.
	fn has(&self, unit: u32) -> bool {
		self.span.has_of(self.units(), unit)
	}

	/// Whether the job is on the end of the model: final norm, head and loss.
	fn has_end(&self) -> bool {
		self.has(self.layers.saturating_add(1))
	}

	/// Rows of attention scores.
	fn score_rows(&self) -> Result<u32, ConfigError> {
		self.tokens.checked_mul(self.heads).ok_or(ConfigError::TooLarge)
	}
}

/// What a training plan has after the loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Update {
	/// Offset of the first moments, a flat vector in parameter layout.
	pub first_moment: u64,
	/// That of the second moments.
	pub second_moment: u64,
	/// That of the gradient.
	pub gradient: u64,
	/// `[1, 1]` sum of squares of the gradient.
	pub square_norm: TensorId,
	/// First stage after the clip factor: what Muon's directions are made of, and then the update. Before it, nothing depends on moments.
	pub first_direction: usize,
	/// First stage that changes parameters.
	pub first_stage: usize,
}

/// Where a layer is in the plan of a training step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayerStages {
	/// Stages of its forward pass. The last one writes what the next layer begins with, which stays in any plan of a training step.
	pub forward: core::ops::Range<usize>,
	/// First stage of its backward pass.
	pub backward: usize,
}

/// Memory for logits, which exist for some rows at a time: a row needs nothing of others. No bit depends on how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogitsBlock {
	/// Offset of the rows in the arena.
	pub offset: u64,
	/// Most rows at a time, a multiple of 32; 0 for a span without logits.
	pub rows: u32,
	/// Offset of a second gradient of the head, of a training step that has chains over tokens of more than one segment.
	pub later: Option<u64>,
}

/// What the executor needs to know of a plan that runs on an arena. Parameters are at its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArenaJob {
	/// Of its batch.
	pub sizes: Sizes,
	/// `[1, 1]` mean loss, `None` for a span without it; in validation the `tokens / 32` partial sums of a group, in rows of 32.
	pub loss: Option<TensorId>,
	/// Where logits are while they are needed.
	pub logits: LogitsBlock,
	/// Whether tokens say which of them are targets.
	pub masked: bool,
	/// Of a training step.
	pub update: Option<Update>,
}

impl ArenaJob {
	/// The numbers that end the job as diverged if they are not finite: the loss, and the gradient's square norm.
	pub fn ends(&self) -> impl Iterator<Item = TensorId> {
		[self.loss, self.update.map(|update| update.square_norm)].into_iter().flatten()
	}
}

/// A tensor of a vector in parameter layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
	rows: u32,
	cols: u32,
	/// First element of the vector that belongs to it.
	offset: u64,
	/// The [unit](crate::span) of the model that it belongs to.
	unit: u32,
}

impl Slot {
	/// Where it is in a vector at `base` of the arena, or with the caller.
	fn place(&self, base: Option<u64>) -> Place {
		base.map_or(Place::External, |base| Place::Arena(base.saturating_add(self.offset)))
	}
}

/// The tensors of a vector.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Layout {
	slots: Vec<Slot>,
	/// First tile of each of them in the vector, and after the last the number of all.
	tiles: Vec<u32>,
	/// Elements.
	len: u64,
}

/// Deltas that are sent as codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coded {
	/// The code.
	pub code: Code,
	/// Rows of a code.
	pub rows: u32,
	/// How many of the job's last vectors are codes.
	pub given: u32,
	/// Whether the first vector that the job ends with is one.
	pub written: bool,
}

/// Stages, nodes and tensors of one job.
///
/// Every move of a dispute makes one on chain: it has no names and few allocations, and vectors that the job starts from, of which an outer
/// step has one for every delta, share one list of their tensors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
	/// Of any vector but the base's.
	layout: Layout,
	/// Where the vectors lie in the arena that the job starts from; `None` for one that is with the caller. Their tensors are numbered first,
	/// vector after vector.
	vectors: Vec<Option<u64>>,
	/// The model that an adapter is beside, and where it lies in the arena: the last vector that the job starts from.
	base: Option<(Layout, u64)>,
	/// Of a span.
	seams: Option<Seams>,
	/// If deltas are sent as codes.
	pub coded: Option<Coded>,
	/// All other tensors, and where their values come from.
	tensors: Vec<(TensorInfo, Origin)>,
	/// Vectors in parameter layout that the job ends with, and then single tensors that a span gives.
	results: Vec<Vec<TensorId>>,
	stages: Vec<Stage>,
	/// Layers, if it passes through them.
	layers: Vec<LayerStages>,
	/// What stages read, one after the other.
	inputs: Vec<(TensorId, Access)>,
	/// What stages write, one after the other.
	outputs: Vec<TensorId>,
	nodes: u32,
	listed_nodes: u32,
	arena_len: u64,
	/// If it runs on an arena.
	pub job: Option<ArenaJob>,
}

/// The part of a list that a stage says is its own.
fn part<T>(list: &[T], [first, end]: [u32; 2]) -> &[T] {
	let place = |index: u32| usize::try_from(index).unwrap_or(usize::MAX);
	list.get(place(first)..place(end)).unwrap_or_default()
}

impl Plan {
	/// The training step: forward, loss, backward, gradient norm, clipping and AdamW or Muon.
	///
	/// The arena begins with parameters, first moments and second moments, then of an adapter its base, and gradients.
	///
	/// # Errors
	/// Those of [`TrainConfig::validate`].
	pub fn training(model: &ModelConfig, train: &TrainConfig) -> Result<Self, ConfigError> {
		train.check_values(model)?;
		backward::training(model, train, None, forward::Keep::All)
	}

	/// The part of the training step that falls to `span`: see [`Plan::seams`]. The arena begins with its parameters and moments, then of an adapter its part
	/// of the base, and gradients; what lies behind is of one batch, or micro-batch.
	///
	/// # Errors
	/// Those of [`TrainConfig::validate`] but for the number of the whole step's nodes; [`ConfigError::Dimension`] for a span of another model,
	/// [`ConfigError::ArithmeticVersion`] for version 1, in which units have no sums of their own.
	pub fn span(model: &ModelConfig, train: &TrainConfig, span: Span) -> Result<Self, ConfigError> {
		train.check_values(model)?;
		if train.arithmetic_version < 2 {
			return Err(ConfigError::ArithmeticVersion);
		}
		if !span.is_of(model) {
			return Err(ConfigError::Dimension);
		}
		backward::training(model, train, Some(span), forward::Keep::All)
	}

	/// The same stages in less memory: of each layer only what it begins with stays, so that whoever runs the plan runs a layer's forward stages
	/// again before its backward pass, but for the last layer's.
	///
	/// # Errors
	/// Those of [`TrainConfig::validate`].
	pub fn recomputing(model: &ModelConfig, train: &TrainConfig) -> Result<Self, ConfigError> {
		train.check_values(model)?;
		backward::training(model, train, None, forward::Keep::Stream)
	}

	/// Forward pass and losses of [`TrainConfig::validation_batch`] held-out sequences. The arena begins with the
	/// parameters. The validation loss is the tree sum of all groups' partial sums times one by the number of targets that count, or 0 without any.
	///
	/// # Errors
	/// Those of [`TrainConfig::validate`].
	pub fn validation(model: &ModelConfig, train: &TrainConfig) -> Result<Self, ConfigError> {
		train.validate(model)?;
		forward::validation(model, train)
	}

	/// One sequence of `tokens` tokens, which have no batch beside them, up to the logits behind each of them. It is the forward part of
	/// [`Plan::validation`] for another length, cut before the targets and the loss; in [`Class::ExactInt8`] with other products. All its nodes are
	/// listed, and the last stage writes the logits.
	/// A text whose length is no multiple of 32 is filled up at its end with token 0: no row sees a later one.
	///
	/// # Errors
	/// Those of [`ModelConfig::validate`]; [`ConfigError::Dimension`] for a number that is no multiple of 32, or 0; [`ConfigError::TooLarge`] for
	/// more than the model's longest sequence, more than 2^28 attention probabilities in a layer, or too many nodes.
	pub fn reading(model: &ModelConfig, tokens: u32, class: Class) -> Result<Self, ConfigError> {
		forward::reading(model, tokens, class)
	}

	/// theta_0, one stage per parameter tensor.
	///
	/// # Errors
	/// Those of [`ModelConfig::validate`], and [`ConfigError::TooLarge`] for too many nodes.
	pub fn init(model: &ModelConfig) -> Result<Self, ConfigError> {
		outer::init(model)
	}

	/// A participant's delta as it is sent: `theta_r - theta_H`, one stage per parameter tensor; or its code, and then the residual after it if the
	/// code leaves one.
	///
	/// # Errors
	/// Those of [`TrainConfig::validate`] but for the number of a training step's nodes, and [`ConfigError::TooLarge`] for too many nodes.
	pub fn delta(model: &ModelConfig, train: &TrainConfig) -> Result<Self, ConfigError> {
		train.check_values(model)?;
		outer::delta(model, train)
	}

	/// Aggregation of `deltas` deltas into the pseudo-gradient and the outer step, per parameter tensor.
	///
	/// # Errors
	/// Those of [`TrainConfig::validate`] but for the number of a training step's nodes, which is not looked at: a dispute makes this plan with
	/// every move. [`ConfigError::TooLarge`] for too many nodes of this one, without a delta, or for more than [`MAX_DELTAS`].
	pub fn outer(model: &ModelConfig, train: &TrainConfig, deltas: u32) -> Result<Self, ConfigError> {
		train.check_values(model)?;
		outer::outer(model, train, deltas)
	}

	/// The stages in topological order.
	pub fn stages(&self) -> &[Stage] {
		&self.stages
	}

	/// Layers of the model, of a span its own, if the job passes through them; first stages of backward passes only in a training step.
	pub fn layers(&self) -> &[LayerStages] {
		&self.layers
	}

	/// What a stage of this plan reads.
	pub fn inputs(&self, stage: &Stage) -> &[(TensorId, Access)] {
		part(&self.inputs, stage.inputs)
	}

	/// What a stage of this plan writes; all have the same number of rows.
	pub fn outputs(&self, stage: &Stage) -> &[TensorId] {
		part(&self.outputs, stage.outputs)
	}

	/// Tensors of the vectors in parameter layout that the job starts from.
	fn wide(&self) -> usize {
		self.vectors.len().saturating_sub(self.codes()).saturating_mul(self.layout.slots.len())
	}

	/// Codes that the job starts from, one tensor each.
	fn codes(&self) -> usize {
		self.coded.and_then(|coded| usize::try_from(coded.given).ok()).unwrap_or_default()
	}

	/// Tensors of all vectors that the job starts from.
	fn given(&self) -> usize {
		let seams = self.seams.as_ref().map_or(0, |seams| seams.given.len());
		self.before_seams().saturating_add(seams)
	}

	/// Tensors of the vectors before those that a span is given.
	fn before_seams(&self) -> usize {
		let base = self.base.as_ref().map_or(0, |(base, _)| base.slots.len());
		self.wide().saturating_add(self.codes()).saturating_add(base)
	}

	/// Tensor number `index` if a span is given it, and its number among these.
	fn given_tensor(&self, index: usize) -> Option<(usize, TensorInfo)> {
		let number = index.checked_sub(self.before_seams())?;
		Some((number, self.seams.as_ref()?.given.get(number)?.info))
	}

	/// What a span is given by others and gives them; `None` for a job on a whole model.
	pub fn seams(&self) -> Option<&Seams> {
		self.seams.as_ref()
	}

	/// Number of the first vector that a span is given: one tensor each.
	pub fn first_given(&self) -> u32 {
		self.vectors_given().saturating_add(self.base.is_some().into())
	}

	/// Tensor number `index` of the base; `None` if that is another one.
	fn base_tensor(&self, index: usize) -> Option<(usize, Slot, u64)> {
		let (base, at) = self.base.as_ref()?;
		let number = index.checked_sub(self.wide().checked_add(self.codes())?)?;
		Some((number, *base.slots.get(number)?, *at))
	}

	/// Number of the vector that is the model beside an adapter; `None` for a job without one.
	pub fn base_vector(&self) -> Option<u32> {
		self.base.as_ref().map(|_| self.vectors_given())
	}

	/// Where that lies in the arena.
	pub fn base_range(&self) -> Option<core::ops::Range<u64>> {
		self.base.as_ref().map(|(base, at)| *at..at.saturating_add(base.len))
	}

	/// First tile of each tensor of vector `vector` that the job starts from, and after the last the number of all of them.
	pub(crate) fn tiles_of(&self, vector: u32) -> &[u32] {
		let given = vector.checked_sub(self.first_given()).and_then(|given| self.seams.as_ref()?.given.get(usize::try_from(given).ok()?));
		match &self.base {
			_ if given.is_some() => given.map_or(&[], |given| &given.tiles),
			Some((base, _)) if Some(vector) == self.base_vector() => &base.tiles,
			_ => &self.layout.tiles,
		}
	}

	/// The subtrees of a whole vector's tree that a span has of vector `vector` that its job starts from: parameters and moments, and the base of an adapter.
	/// `None` for others, whose tiles are one tree.
	pub fn vector_cover(&self, vector: u32) -> Option<&Cover> {
		match vector {
			_ if Some(vector) == self.base_vector() => self.seams.as_ref()?.base_cover.as_ref(),
			_ => self.result_cover(vector),
		}
	}

	/// The same of result `result`: parameters and moments.
	pub fn result_cover(&self, result: u32) -> Option<&Cover> {
		self.seams.as_ref().map(|seams| &seams.cover).filter(|_| result < 3)
	}

	/// Vectors that the job starts from, but for a base.
	pub(crate) fn vectors_given(&self) -> u32 {
		u32::try_from(self.vectors.len()).unwrap_or(u32::MAX)
	}

	/// Deltas of an outer step; their vectors come after parameters and momentum.
	pub(crate) fn deltas(&self) -> u32 {
		self.vectors_given().saturating_sub(2)
	}

	/// Tensor `slot` of vector `vector` in parameter layout that the job starts from; `None` if there is none.
	pub(crate) fn vector_tensor(&self, vector: u32, slot: u32) -> Option<TensorId> {
		let slots = u32::try_from(self.layout.slots.len()).ok()?;
		let id = vector.checked_mul(slots)?.checked_add(slot)?;
		let inside = slot < slots && usize::try_from(id).is_ok_and(|id| id < self.wide());
		inside.then_some(TensorId(id))
	}

	/// The code of delta `delta` of an outer step; `None` if there is none.
	pub(crate) fn delta_code(&self, delta: u32) -> Option<TensorId> {
		let inside = self.coded.is_some_and(|coded| delta < coded.given);
		inside.then(|| u32::try_from(self.wide()).ok()?.checked_add(delta).map(TensorId))?
	}

	/// Tensor `slot` of delta `delta` of an outer step; `None` if there is none, or it is a code.
	pub(crate) fn delta_tensor(&self, delta: u32, slot: u32) -> Option<TensorId> {
		self.vector_tensor(delta.checked_add(2)?, slot)
	}

	/// Segments that the tiles of a vector are summed in: see [`SUMMED_TILES`].
	pub(crate) fn segments(&self) -> u32 {
		self.vector_len().div_ceil(SUMMED)
	}

	/// Tiles of a segment.
	pub(crate) fn segment(&self, segment: u32) -> core::ops::Range<u32> {
		let first = segment.saturating_mul(SUMMED).min(self.vector_len());
		first..first.saturating_add(SUMMED).min(self.vector_len())
	}

	/// Rows of tile row `row` of tensor `slot` that are inside it.
	pub(crate) fn rows_inside(&self, slot: u32, row: u32) -> Option<usize> {
		let rows = self.layout.slots.get(usize::try_from(slot).ok()?)?.rows;
		usize::try_from(rows.checked_sub(row.checked_mul(TILE)?)?.min(TILE)).ok()
	}

	/// Number of a tile in a vector's list; `None` if there is none.
	pub(crate) fn tile_of(&self, slot: u32, row: u32, col: u32) -> Option<u32> {
		let index = usize::try_from(slot).ok()?;
		let width = self.layout.slots.get(index)?.cols.div_ceil(TILE);
		self.layout.tiles.get(index)?.checked_add(row.checked_mul(width)?)?.checked_add(col)
	}

	/// Tile `tile` of a vector's list: number of the tensor, row and column; `None` beyond the last.
	pub(crate) fn slot_of(&self, tile: u32) -> Option<(u32, u32, u32)> {
		let slot = self.layout.tiles.partition_point(|&first| first <= tile).checked_sub(1)?;
		let width = self.layout.slots.get(slot)?.cols.div_ceil(TILE);
		let within = tile.checked_sub(*self.layout.tiles.get(slot)?)?;
		Some((u32::try_from(slot).ok()?, within.checked_div(width)?, within % width))
	}

	/// Elements of a vector that belong to tensor `slot`.
	pub fn slot_range(&self, slot: u32) -> Option<core::ops::Range<usize>> {
		let Slot { rows, cols, offset, .. } = *self.layout.slots.get(usize::try_from(slot).ok()?)?;
		let first = usize::try_from(offset).ok()?;
		Some(first..first.checked_add(rows as usize * cols as usize)?)
	}

	/// The tensors of a vector.
	pub fn tiling(&self) -> neuroshard_kernels::shape::Tiling {
		neuroshard_kernels::shape::Tiling::new(self.layout.slots.iter().map(|slot| (slot.rows as usize, slot.cols as usize)))
	}

	/// Number of tensors; they are numbered from 0.
	pub fn tensor_count(&self) -> usize {
		self.given().saturating_add(self.tensors.len())
	}

	/// Tensor `id`; `None` for one of another plan.
	pub fn tensor(&self, id: TensorId) -> Option<TensorInfo> {
		let index = usize::try_from(id.0).ok()?;
		if let Some(other) = index.checked_sub(self.given()) {
			return self.tensors.get(other).map(|&(info, _)| info);
		}
		if let Some((_, info)) = self.given_tensor(index) {
			return Some(info);
		}
		if let Some((_, slot, at)) = self.base_tensor(index) {
			return Some(TensorInfo { rows: slot.rows, cols: slot.cols, place: slot.place(Some(at)) });
		}
		if let Some(coded) = self.coded.filter(|_| index >= self.wide()) {
			return Some(TensorInfo { rows: coded.rows, cols: TILE, place: Place::External });
		}
		let slot = self.layout.slots.get(index.checked_rem(self.layout.slots.len())?)?;
		let base = *self.vectors.get(index.checked_div(self.layout.slots.len())?)?;
		Some(TensorInfo { rows: slot.rows, cols: slot.cols, place: slot.place(base) })
	}

	/// All tensors, by [`TensorId`].
	pub fn tensors(&self) -> impl Iterator<Item = TensorInfo> + '_ {
		(0..).map(TensorId).map_while(|id| self.tensor(id))
	}

	/// Where the values of tensor `id` come from; `None` for one of another plan.
	pub fn origin(&self, id: TensorId) -> Option<Origin> {
		let index = usize::try_from(id.0).ok()?;
		if let Some(other) = index.checked_sub(self.given()) {
			return self.tensors.get(other).map(|&(_, origin)| origin);
		}
		if let Some((number, _)) = self.given_tensor(index) {
			return Some(Origin::Vector { vector: self.first_given().checked_add(u32::try_from(number).ok()?)?, tensor: 0 });
		}
		if let Some((tensor, ..)) = self.base_tensor(index) {
			return Some(Origin::Vector { vector: self.base_vector()?, tensor: u32::try_from(tensor).ok()? });
		}
		let (vector, tensor) = match index.checked_sub(self.wide()) {
			Some(code) => (self.vectors.len().checked_sub(self.codes())?.checked_add(code)?, 0),
			None => (index.checked_div(self.layout.slots.len())?, index.checked_rem(self.layout.slots.len())?),
		};
		Some(Origin::Vector { vector: u32::try_from(vector).ok()?, tensor: u32::try_from(tensor).ok()? })
	}

	/// What the last stage writes first: of [`Plan::reading`] the logits.
	pub fn last_output(&self) -> Option<TensorId> {
		self.outputs(self.stages.last()?).first().copied()
	}

	/// Vectors in parameter layout that the job ends with, as tensors in layout order. Training: parameters, first and second moments; of a span then single
	/// tensors that it gives, as [`Seams::results`] lists them.
	/// Delta: the delta, or its code and the residual after it. Outer step: pseudo-gradient, parameters, momentum. Others have none.
	pub fn results(&self) -> &[Vec<TensorId>] {
		&self.results
	}

	/// First tile of each parameter tensor in a vector's list of tiles, and after the last the number of all of them.
	pub fn vector_tiles(&self) -> &[u32] {
		&self.layout.tiles
	}

	/// Number of nodes, at most [`crate::graph::MAX_NODES`].
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
			inputs: self.inputs(stage).iter().map(slice).collect::<Option<_>>()?,
			outputs: self.outputs(stage).iter().map(|&tensor| RowSlice { tensor, first, rows }).collect(),
		})
	}
}
