//! What an adapter does to the model that it is beside.

use crate::export::ExportError;
use neuroshard_compute::exec::Exec;
use neuroshard_graph::{Adapter, ModelConfig, ParamLayout, ParamTensor};
use neuroshard_kernels::shape::{MatDims, Start};

/// End of the name of an A, behind that of its projection.
const A: &str = ".lora_A.weight";

/// Adds `(alpha / rank) B A` to the projections in `params`, a model's, that the adapter with parameters `trained` has one for.
///
/// Each weight takes `fma(scaled b, a, weight)` for each of the ranks, ascending, where `scaled b` is `b * (alpha / rank)`: everybody who merges gets the same
/// bits. A model with these weights gives other bits than the adapter beside it, which multiplies in another order.
///
/// # Errors
/// [`ExportError::Parameters`] for parameters of another model or adapter, [`ExportError::Config`] for one that is refused, [`ExportError::Projection`].
pub fn merge(exec: &Exec, model: &ModelConfig, adapter: &Adapter, trained: &[f32], params: &mut [f32]) -> Result<(), ExportError> {
	let (whole, layout) = (ParamLayout::new(model).map_err(ExportError::Config)?, of(model, adapter)?);
	for (layout, found) in [(&whole, params.len()), (&layout, trained.len())] {
		if layout.len() != found {
			return Err(ExportError::Parameters { expected: layout.len(), found });
		}
	}
	for [a, b] in layout.tensors().as_chunks::<2>().0 {
		let unknown = || ExportError::Projection(a.name.clone());
		let weight = projection(a).and_then(|name| whole.get(&format!("{name}.weight"))).ok_or_else(unknown)?;
		let mut scaled = trained[b.range()].to_vec();
		exec.scale(&mut scaled, adapter.scale());
		let dims = MatDims { m: weight.rows, n: weight.cols, k: a.rows };
		exec.matmul_tn(dims, &scaled, &trained[a.range()], &mut params[weight.range()], Start::Existing);
	}
	Ok(())
}

/// The layout of the parameters of `adapter` beside `model`.
pub(crate) fn of(model: &ModelConfig, adapter: &Adapter) -> Result<ParamLayout, ExportError> {
	ParamLayout::of(model, Some(*adapter)).map_err(ExportError::Config)
}

/// Name of the projection that the A `tensor` belongs to.
pub(crate) fn projection(tensor: &ParamTensor) -> Option<&str> {
	tensor.name.strip_suffix(A)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{checkpoint::Checkpoint, engine::Engine, presets};
	use neuroshard_graph::{Projection, Projections, TrainConfig, F32};

	fn adapter(rank: u32, projections: Projections) -> Adapter {
		Adapter { base: [0; 32], rank, alpha: F32::new(16.0), projections }
	}

	/// Numbers of no meaning, small enough for a model to go on.
	fn numbers(len: usize) -> Vec<f32> {
		(0..len).map(|at| ((at * 7_919 % 1_013) as f32 / 1_013.0 - 0.5) * 0.3).collect()
	}

	#[test]
	fn a_merged_weight_has_what_was_worked_out_by_hand() {
		let model = ModelConfig { layers: 1, ..ModelConfig::tiny() };
		let adapter = adapter(1, [Projection::Down].into_iter().collect());
		let (whole, layout) = (ParamLayout::new(&model).unwrap(), of(&model, &adapter).unwrap());
		let (mut params, mut trained) = (vec![0.0; whole.len()], vec![0.0; layout.len()]);
		let [a, b] = [0, 1].map(|index| layout.tensors()[index].clone());
		let weight = whole.get("model.layers.0.mlp.down_proj.weight").unwrap();
		assert_eq!((a.cols, b.cols), (weight.cols, weight.rows));
		(trained[a.offset + 3], trained[b.offset + 2]) = (0.5, 0.25);
		params[weight.offset + 2 * weight.cols + 3] = 1.0;
		merge(&Exec::new(1).unwrap(), &model, &adapter, &trained, &mut params).unwrap();
		// 16 times 0.5 times 0.25 more, in row 2 and column 3.
		let found: Vec<_> = params.iter().enumerate().filter(|(_, value)| **value != 0.0).collect();
		assert_eq!(found, [(weight.offset + 2 * weight.cols + 3, &3.0)]);
		let short = merge(&Exec::new(1).unwrap(), &model, &adapter, &trained[1..], &mut params);
		assert!(matches!(short, Err(ExportError::Parameters { .. })));
	}

	#[test]
	fn a_model_with_its_adapter_merged_has_the_loss_of_both_beside_each_other() {
		let (model, train) = presets::tiny();
		let base = Checkpoint::genesis(0, &model, &train, 1).unwrap().params;
		let beside = TrainConfig { adapter: Some(adapter(8, Projections::ALL)), ..train.clone() };
		let trained = numbers(ParamLayout::trained(&model, &beside).unwrap().len());
		let mut merged = base.clone();
		merge(&Exec::new(2).unwrap(), &model, &beside.adapter.unwrap(), &trained, &mut merged).unwrap();
		let mut engine = Engine::new(&model, &beside, 1).unwrap();
		assert!(engine.lacks_model() && engine.load(&trained).is_err(), "nothing is computed without the model");
		engine.load_model(&base).unwrap();
		engine.load(&trained).unwrap();
		let mut whole = Engine::new(&model, &train, 1).unwrap();
		let tokens: Vec<u32> = (0..train.batch * (train.seq_len + 1)).map(|at| at * 7_919 % 1_009 % model.vocab).collect();
		let loss = |engine: &mut Engine, params: &[f32]| {
			engine.load(params).unwrap();
			engine.gradients(&tokens).unwrap().0.loss
		};
		let [beside, merged, alone] = [loss(&mut engine, &trained), loss(&mut whole, &merged), loss(&mut whole, &base)];
		assert!((beside - merged).abs() < 1e-5 && (beside - alone).abs() > 1e-3, "{beside} {merged} {alone}");
	}
}
