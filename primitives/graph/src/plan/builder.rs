//! How the stages of a plan are put together, and its nodes counted.

use super::{Coded, Given, Layout, Plan, Slot, ALIGNMENT, TILE};
use crate::{
	config::{Adapter, Code, ConfigError, ModelConfig, Optimizer, Products, TrainConfig},
	graph::{Access, Op, Origin, Place, Product, Stage, TensorId, TensorInfo, MAX_NODES, MAX_TILES_PER_NODE, MAX_TILES_PER_ROW},
	layout::{parts, trained_parts, Part},
	span::Span,
};
use alloc::vec::Vec;
use core::ops::Range;

/// Most stages of a job on an adapter or with Muon: those of a training step of the deepest Llama, the largest plan that a move of a dispute pays for. Their
/// layers have more stages than other models', so that they would be more before their nodes are too many.
const MAX_COUNTED_STAGES: u32 = 7_577;

/// The tensors of a vector that the job starts from.
pub(super) struct Vector(Range<u32>);

impl Vector {
	pub fn get(&self, index: usize) -> Option<TensorId> {
		self.0.clone().nth(index).map(TensorId)
	}

	pub fn ids(&self) -> impl Iterator<Item = TensorId> {
		self.0.clone().map(TensorId)
	}
}

impl Layout {
	/// Of a model of so many layers.
	fn of(parts: impl IntoIterator<Item = Part>, layers: u32) -> Self {
		let mut layout = Self { slots: Vec::new(), tiles: alloc::vec![0u32], len: 0 };
		let mut tiles = 0u32;
		for part in parts {
			let (rows, cols) = (part.rows, part.cols);
			layout.slots.push(Slot { rows, cols, offset: layout.len, unit: part.unit(layers) });
			// At most 2^31 elements: `ModelConfig::validate` or `Adapter::validate` has seen to it.
			layout.len = layout.len.saturating_add(u64::from(rows).saturating_mul(u64::from(cols)));
			tiles = tiles.saturating_add(rows.div_ceil(TILE).saturating_mul(cols.div_ceil(TILE)));
			layout.tiles.push(tiles);
		}
		layout
	}
}

/// Collects the stages of a plan.
pub(super) struct Builder {
	pub plan: Plan,
	/// Elements of a vector in parameter layout.
	pub len: u64,
	/// How activations are multiplied with the head's weight.
	pub head: Product,
	/// How they are with those of layers, then gradients back through these, and in their gradients.
	pub layers: [Product; 3],
	/// What is trained beside the model, if that is not trained itself.
	pub adapter: Option<Adapter>,
	/// Whether there may be no more stages than [`MAX_COUNTED_STAGES`].
	pub counted: bool,
}

impl Builder {
	/// For jobs on the parameters of `model`, without a vector to start from.
	pub fn new(model: &ModelConfig) -> Result<Self, ConfigError> {
		Ok(Self::of(Layout::of(parts(model)?, model.layers)))
	}

	/// For jobs on what `train` trains of `span`.
	pub fn trained(model: &ModelConfig, train: &TrainConfig, span: Span) -> Result<Self, ConfigError> {
		let parts = trained_parts(model, train.adapter)?.into_iter().filter(|part| span.has(model, part.unit(model.layers)));
		let counted = train.adapter.is_some() || train.optimizer != Optimizer::AdamW;
		Ok(Self { adapter: train.adapter, counted, ..Self::of(Layout::of(parts, model.layers)) })
	}

	fn of(layout: Layout) -> Self {
		let len = layout.len;
		let plan = Plan {
			layout,
			vectors: Vec::new(),
			base: None,
			seams: None,
			coded: None,
			tensors: Vec::new(),
			results: Vec::new(),
			stages: Vec::new(),
			layers: Vec::new(),
			inputs: Vec::new(),
			outputs: Vec::new(),
			nodes: 0,
			listed_nodes: 0,
			arena_len: 0,
			job: None,
		};
		Self { plan, len, head: Product::Nt, layers: Products::F32.kinds(), adapter: None, counted: false }
	}

	/// The model that an adapter is beside, at `at` of the arena: its tensors in order. After all other vectors, before all other tensors.
	pub fn base(&mut self, model: &ModelConfig, span: Span, at: u64) -> Result<(Vector, u64), ConfigError> {
		if !self.plan.tensors.is_empty() {
			return Err(ConfigError::TooLarge);
		}
		let first = u32::try_from(self.plan.given()).map_err(|_| ConfigError::TooLarge)?;
		let own = parts(model)?.filter(|part| span.has(model, part.unit(model.layers)));
		let layout = Layout::of(own, model.layers);
		let len = layout.len;
		self.plan.base = Some((layout, at));
		let end = u32::try_from(self.plan.given()).map_err(|_| ConfigError::TooLarge)?;
		Ok((Vector(first..end), len))
	}

	/// The next tensor that the job of a span is given: a vector of its own. After all other vectors, before all other tensors.
	pub fn given_tensor(&mut self, rows: u32, cols: u32, place: Place) -> Result<TensorId, ConfigError> {
		let id = u32::try_from(self.plan.given()).map_err(|_| ConfigError::TooLarge)?;
		let tiles = rows.div_ceil(TILE).checked_mul(cols.div_ceil(TILE)).ok_or(ConfigError::TooLarge)?;
		let seams = self.plan.seams.as_mut().filter(|_| self.plan.tensors.is_empty()).ok_or(ConfigError::TooLarge)?;
		seams.given.push(Given { info: TensorInfo { rows, cols, place }, tiles: [0, tiles] });
		Ok(TensorId(id))
	}

	/// One more vector that the job starts from, at `base` of the arena or with the caller: its tensors in order. Before all other tensors.
	pub fn vector(&mut self, base: Option<u64>) -> Result<Vector, ConfigError> {
		if !self.plan.tensors.is_empty() {
			return Err(ConfigError::TooLarge);
		}
		let first = u32::try_from(self.plan.given()).map_err(|_| ConfigError::TooLarge)?;
		self.plan.vectors.push(base);
		let end = u32::try_from(self.plan.given()).map_err(|_| ConfigError::TooLarge)?;
		Ok(Vector(first..end))
	}

	/// Deltas are sent as `code`: the job starts from `given` of them, after all other vectors, or writes one as its first result.
	pub fn coded(&mut self, code: Code, given: u32, written: bool) -> Result<u32, ConfigError> {
		let rows = u32::try_from(code.rows(self.plan.vector_len())).map_err(|_| ConfigError::TooLarge)?;
		self.plan.coded = Some(Coded { code, rows, given, written });
		self.plan.vectors.extend((0..given).map(|_| None));
		Ok(rows)
	}

	/// One value for each parameter tensor, consecutive from `base` on or with the caller, which stages will write.
	pub fn parameters(&mut self, base: Option<u64>) -> Result<Vec<TensorId>, ConfigError> {
		let slots = 0..self.plan.layout.slots.len();
		let mut value = |index: usize| {
			let slot = *self.plan.layout.slots.get(index).ok_or(ConfigError::TooLarge)?;
			self.tensor(slot.rows, slot.cols, slot.place(base))
		};
		slots.map(&mut value).collect()
	}

	/// Room in the arena for `rows * cols` elements.
	pub fn buffer(&mut self, rows: u32, cols: u32) -> Result<Place, ConfigError> {
		self.room(u64::from(rows) * u64::from(cols)).map(Place::Arena)
	}

	pub fn room(&mut self, len: u64) -> Result<u64, ConfigError> {
		let offset = self.plan.arena_len;
		let end = offset.checked_add(len).and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
		self.plan.arena_len = end.ok_or(ConfigError::TooLarge)?;
		Ok(offset)
	}

	/// A value of the given shape.
	pub fn tensor(&mut self, rows: u32, cols: u32, place: Place) -> Result<TensorId, ConfigError> {
		let id = u32::try_from(self.plan.tensor_count()).map_err(|_| ConfigError::TooLarge)?;
		// A stage that writes it says so later.
		self.plan.tensors.push((TensorInfo { rows, cols, place }, Origin::Tokens));
		Ok(TensorId(id))
	}

	/// A value in an arena buffer of its own.
	pub fn fresh(&mut self, rows: u32, cols: u32) -> Result<TensorId, ConfigError> {
		let place = self.buffer(rows, cols)?;
		self.tensor(rows, cols, place)
	}

	pub fn info(&self, id: TensorId) -> Result<TensorInfo, ConfigError> {
		self.plan.tensor(id).ok_or(ConfigError::TooLarge)
	}

	/// A value of `like`'s shape in its memory: the result of an operator that works in place.
	pub fn in_place(&mut self, like: TensorId) -> Result<TensorId, ConfigError> {
		let TensorInfo { rows, cols, place } = self.info(like)?;
		self.tensor(rows, cols, place)
	}

	/// Adds a stage and cuts it into nodes.
	pub fn stage(&mut self, op: Op, inputs: impl IntoIterator<Item = Input>, outputs: &[TensorId]) -> Result<(), ConfigError> {
		let first = self.plan.inputs.len();
		self.plan.inputs.extend(inputs);
		self.cut(op, first, outputs)
	}

	/// Adds a stage whose inputs are those from number `first` of all on.
	fn cut(&mut self, op: Op, first: usize, outputs: &[TensorId]) -> Result<(), ConfigError> {
		let count = |len: usize| u32::try_from(len).map_err(|_| ConfigError::TooLarge);
		let number = count(self.plan.stages.len())?;
		let given = self.plan.given();
		let (mut rows, mut tiles_per_band) = (0, 0u32);
		for (output, &id) in (0..).zip(outputs) {
			let index = usize::try_from(id.0).ok().and_then(|id| id.checked_sub(given));
			let known = index.and_then(|index| self.plan.tensors.get_mut(index)).ok_or(ConfigError::TooLarge)?;
			known.1 = Origin::Stage { stage: number, output };
			rows = known.0.rows;
			tiles_per_band = tiles_per_band.saturating_add(known.0.cols.div_ceil(TILE));
		}
		if tiles_per_band > MAX_TILES_PER_ROW {
			return Err(ConfigError::TooLarge);
		}
		let bands = MAX_TILES_PER_NODE.checked_div(tiles_per_band).ok_or(ConfigError::TooLarge)?.max(1);
		let written = count(self.plan.outputs.len())?;
		self.plan.outputs.extend_from_slice(outputs);
		let stage = Stage {
			op,
			inputs: [count(first)?, count(self.plan.inputs.len())?],
			outputs: [written, count(self.plan.outputs.len())?],
			rows,
			rows_per_node: bands.saturating_mul(TILE),
			first_node: self.plan.nodes,
		};
		self.plan.nodes = self.plan.nodes.saturating_add(stage.nodes());
		if self.plan.nodes > MAX_NODES || (self.counted && number >= MAX_COUNTED_STAGES) {
			return Err(ConfigError::TooLarge);
		}
		self.plan.stages.push(stage);
		Ok(())
	}

	/// `count` partial sums in rows of 32.
	pub fn partials(&mut self, count: u32) -> Result<TensorId, ConfigError> {
		self.fresh(count.div_ceil(TILE), TILE)
	}

	/// Levels of fan-in 1,024 from `partials` down to one sum, which lies in the arena.
	pub fn tree_sum(&mut self, partials: TensorId) -> Result<TensorId, ConfigError> {
		let mut values = partials;
		loop {
			// A tile of 1,024 partial sums is a group.
			let groups = self.info(values)?.rows.div_ceil(TILE);
			let sums = if groups == 1 { self.fresh(1, 1)? } else { self.tensor(groups.div_ceil(TILE), TILE, Place::Fused)? };
			self.stage(Op::TreeSum, whole([values]), &[sums])?;
			if groups == 1 {
				return Ok(sums);
			}
			values = sums;
		}
	}

	/// The unit that tensor `index` of a vector belongs to.
	pub fn unit_of(&self, index: usize) -> Option<u32> {
		self.plan.layout.slots.get(index).map(|slot| slot.unit)
	}

	pub fn finish(mut self) -> Plan {
		let writer = |&id: &TensorId| match self.plan.origin(id) {
			Some(Origin::Stage { stage, .. }) => usize::try_from(stage).ok(),
			_ => None,
		};
		// What a span gives others is listed.
		let vectors = if self.plan.seams.is_some() { 3 } else { self.plan.results.len() };
		let first = self.plan.results.iter().take(vectors).flatten().filter_map(writer).min();
		self.plan.listed_nodes = first.and_then(|first| self.plan.stages.get(first)).map_or(self.plan.nodes, |stage| stage.first_node);
		self.plan
	}
}

/// One input of a stage.
pub(super) type Input = (TensorId, Access);

/// `SameRows` accesses of `ids`.
pub(super) fn rows<const N: usize>(ids: [TensorId; N]) -> [Input; N] {
	ids.map(|id| (id, Access::SameRows))
}

/// `Whole` accesses of `ids`.
pub(super) fn whole<const N: usize>(ids: [TensorId; N]) -> [Input; N] {
	ids.map(|id| (id, Access::Whole))
}

/// `SameRows` accesses of `ids`, then a `Whole` access of `last`.
pub(super) fn rows_and<const N: usize>(ids: [TensorId; N], last: TensorId) -> impl Iterator<Item = Input> {
	rows(ids).into_iter().chain([(last, Access::Whole)])
}
