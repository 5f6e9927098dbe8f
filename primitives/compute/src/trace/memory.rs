//! What of a trace stays in memory, and how much that is.

use super::loss::Streamed;
use crate::exec::StepMemory;
use neuroshard_graph::{
	config::{ConfigError, ModelConfig, TrainConfig},
	graph::{Op, Origin, Place, Product, Stage, TensorId},
	plan::{Plan, ALIGNMENT},
};
use neuroshard_kernels::shape::SEGMENT;
use std::{collections::BTreeMap, ops::Range};

/// By number of the stage: whether what it writes is not kept when its last reader has run.
pub(super) fn passing(plan: &Plan, streamed: Option<Streamed>) -> Vec<bool> {
	let mut passing: Vec<bool> = plan.stages().iter().enumerate().map(|(index, stage)| passes(plan, streamed, (index, stage))).collect();
	let back = streamed.map_or(0, |streamed| streamed.back);
	// What is computed in place of what it is computed from takes no more memory here than in the arena of a step.
	for stage in plan.stages().iter().take(back) {
		let place = |id: TensorId| match plan.tensor(id)?.place {
			Place::Arena(at) => Some(at),
			Place::Fused | Place::External => None,
		};
		let Some(written) = plan.outputs(stage).first().and_then(|&id| place(id)) else { continue };
		for &(id, _) in plan.inputs(stage).iter().filter(|(id, _)| place(*id) == Some(written)) {
			if let Some(passes) = writer(plan, id).and_then(|writer| passing.get_mut(writer)) {
				*passes = true;
			}
		}
	}
	passing
}

fn passes(plan: &Plan, streamed: Option<Streamed>, (index, stage): (usize, &Stage)) -> bool {
	use Op::{AdamW, Muon, MuonDirection, MuonNormalize, MuonPolynomial};
	use Op::{KeyBack, LossBack, ProbabilityBack, QueryBack, RopeBack, Scale, ScoreBack, Scores, Softmax, SwigluBack, ValueBack};
	let op = stage.op;
	// Of Muon a direction stays; what it is made of does not.
	if plan.job.and_then(|job| job.update).is_some_and(|update| index >= update.first_direction) {
		let done = plan.stages().get(index + 1).is_none_or(|next| matches!(next.op, MuonDirection | Muon | AdamW));
		let update = matches!(op, AdamW | Muon);
		return update || matches!(op, MuonDirection | MuonNormalize | MuonPolynomial | Op::Product(_)) && !done;
	}
	// Of adapters, products and what is scaled are part of what stays forwards, and within a layer backwards.
	let product = matches!(op, Op::Product(kind) if kind != Product::Int8 && !kind.over_tokens());
	if (product || op == Scale) && streamed.is_some() {
		return streamed.is_some_and(|streamed| index >= streamed.back);
	}
	let attention = matches!(op, Scores | Softmax | ProbabilityBack | ScoreBack | QueryBack | KeyBack | ValueBack | RopeBack { .. });
	// Gradients of heads stay within a layer.
	let heads = op == Op::RmsBackApply
		&& plan.inputs(stage).get(2).is_some_and(|&(factors, _)| plan.tensor(factors).is_some_and(|info| info.cols > 1));
	attention || heads || matches!(op, LossBack | Op::Product(Product::Nn | Product::Int8Nn) | SwigluBack)
}

fn writer(plan: &Plan, id: TensorId) -> Option<usize> {
	match plan.origin(id)? {
		Origin::Stage { stage, .. } => usize::try_from(stage).ok(),
		_ => None,
	}
}

/// Most elements in memory while a training step is traced in the arena of a [`crate::exec::Trainer`] that spends memory on whole batches: that arena, and
/// what stays or passes beside it. Vectors that the step starts from are not among them.
///
/// # Errors
/// [`ConfigError`] for a configuration that is refused.
pub fn step_len(model: &ModelConfig, train: &TrainConfig) -> Result<u64, ConfigError> {
	let plan = Plan::training(model, train)?;
	let streamed = Streamed::of(&plan);
	let passing = passing(&plan, streamed);
	let len = |id: &TensorId| plan.tensor(*id).map_or(0, |info| info.len().next_multiple_of(ALIGNMENT));
	let written = |stages: Range<usize>, passes: bool| -> u64 {
		let stages = stages.filter(|&index| passing[index] == passes && streamed.is_none_or(|streamed| !streamed.computes(index)));
		stages.filter_map(|index| plan.stages().get(index)).flat_map(|stage| plan.outputs(stage)).map(len).sum()
	};
	let job = plan.job.ok_or(ConfigError::Dimension)?;
	let update = job.update.ok_or(ConfigError::Dimension)?;
	let kept = written(0..update.first_stage, false) + streamed.map_or(0, |streamed| streamed.kept(&plan).iter().map(len).sum());
	// Layers pass one after the other, and probabilities are computed again.
	let ends = plan.layers().iter().rev().map(|layer| layer.backward).skip(1).chain([update.first_direction]);
	let layers = plan.layers().iter().rev().zip(ends);
	let passed =
		layers.map(|(layer, end)| written(layer.forward.clone(), true) + written(layer.backward..end, true)).max().unwrap_or_default();
	let head = if u64::from(job.sizes.tokens) > SEGMENT as u64 { u64::from(model.vocab) * u64::from(model.dim) } else { 0 };
	let logits = u64::from(job.logits.rows) * u64::from(model.vocab) + head;
	let arena = StepMemory::default().arena_len(model, train).map_err(|_| ConfigError::TooLarge)?;
	Ok(arena.max(update.gradient + kept) + (passed + directions_len(&plan)).max(logits))
}

/// Elements that are in memory for directions of Muon that are not done. Memory of one matrix is used again for others of the same sizes.
fn directions_len(plan: &Plan) -> u64 {
	let mut most = BTreeMap::<u64, u64>::new();
	let stages = plan.stages().iter().filter(|stage| stage.op == Op::MuonNormalize);
	for info in stages.flat_map(|stage| plan.outputs(stage)).filter_map(|&id| plan.tensor(id)) {
		// A direction and the next one; products, their square, and what becomes of both.
		let square = u64::from(info.rows.min(info.cols)).pow(2);
		let mut needed = BTreeMap::from([(info.len(), 2)]);
		*needed.entry(square).or_default() += 3;
		for (len, count) in needed {
			let most = most.entry(len).or_default();
			*most = count.max(*most);
		}
	}
	most.into_iter().map(|(len, count)| len * count).sum()
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{
		exec::{Arena, Exec},
		trace::Trace,
	};
	use neuroshard_graph::{Adapter, Family, Optimizer, ParamLayout, Projection, Projections, F32};
	use std::sync::Arc;

	fn adapter(rank: u32, projections: Projections) -> Option<Adapter> {
		Some(Adapter { base: [0; 32], rank, alpha: F32::new(16.0), projections })
	}

	/// Nine layers, and training with this adapter.
	fn nine_layers(family: Family, adapter: Option<Adapter>) -> (ModelConfig, TrainConfig) {
		let model = ModelConfig { family, layers: 9, head_dim: Some(32), max_seq: 64, ..ModelConfig::tiny() };
		(model, TrainConfig { batch: 8, seq_len: 64, adapter, ..TrainConfig::tiny() })
	}

	/// Elements in memory after a step was traced: the arena, what stays beside it, and what passed.
	fn traced(model: &ModelConfig, train: &TrainConfig) -> [u64; 3] {
		let (exec, layout) = (Arc::new(Exec::new(2).unwrap()), ParamLayout::trained(model, train).unwrap());
		let vector = |len: usize| Arc::new((0..len).map(|at| (at % 13) as f32 * 0.01).collect::<Vec<_>>());
		let base = train.adapter.map(|_| vector(ParamLayout::new(model).unwrap().len()));
		let vectors = std::iter::repeat_with(|| vector(layout.len())).take(3).chain(base).collect();
		let tokens: Vec<u32> = (0..train.batch * (train.seq_len + 1)).map(|at| at % model.vocab).collect();
		let arena = Arena::new(StepMemory::default().arena_len(model, train).unwrap() as usize);
		let trace = Trace::of_step(&exec, model, train, vectors, &tokens, (0, 0), None).unwrap();
		let update = trace.plan.job.unwrap().update.unwrap();
		let trace = trace.computed(arena, update.gradient as usize);
		let beside = trace.tensors.iter().filter_map(|values| values.get()).map(Vec::len).sum::<usize>();
		let passed = trace.spare.lock().unwrap().values().flatten().map(Vec::len).sum::<usize>();
		[trace.arena.len(), beside, passed].map(|elements| elements as u64)
	}

	#[test]
	fn a_trace_takes_no_more_memory_than_is_said_and_not_much_less() {
		let queries = adapter(40, [Projection::Q].into_iter().collect());
		for family in [Family::Llama, Family::Qwen3] {
			let (model, train) = nine_layers(family, None);
			// Matrices of other sizes than activations, and a square one.
			let model = ModelConfig { dim: 96, ffn: 160, ..model };
			let train = TrainConfig { optimizer: Optimizer::Muon { momentum: F32::new(0.95) }, ..train };
			let (said, found) = (step_len(&model, &train).unwrap(), traced(&model, &train).iter().sum::<u64>());
			assert!(found <= said && said <= found * 5 / 4, "{family:?} with Muon: {found}, and {said} are said");
		}
		for (family, adapter) in [
			(Family::Llama, None),
			(Family::Llama, adapter(8, Projections::ALL)),
			(Family::Llama, queries),
			(Family::Qwen2, adapter(8, Projections::ALL)),
			(Family::Qwen3, adapter(40, Projections::ALL)),
		] {
			let (model, train) = nine_layers(family, adapter);
			let (said, found) = (step_len(&model, &train).unwrap(), traced(&model, &train).iter().sum::<u64>());
			assert!(found <= said && said <= found * 5 / 4, "{family:?} {adapter:?}: {found}, and {said} are said");
		}
	}

	#[test]
	fn an_adapter_leaves_nothing_beside_an_arena_that_a_model_would_not_leave() {
		for family in [Family::Llama, Family::Qwen2, Family::Qwen3] {
			let beside = |adapter| {
				let (model, train) = nine_layers(family, adapter);
				traced(&model, &train)[1]
			};
			let model = beside(None);
			assert!(beside(adapter(8, Projections::ALL)) <= model && beside(adapter(40, Projections::ALL)) <= model, "{family:?}");
		}
	}
}
