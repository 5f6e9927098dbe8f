//! An adapter as a folder that PEFT loads.

use super::{written, ExportError};
use crate::adapter::{of, projection};
use neuroshard_graph::{Adapter, ModelConfig};
use safetensors::tensor::{serialize, Dtype, TensorView};
use std::{collections::HashMap, path::Path};

/// Writes `adapter_model.safetensors` (f32) and `adapter_config.json` into `folder`. Which model it is beside, its user says.
///
/// # Errors
/// [`ExportError`]; files that were written before the error stay.
pub fn export(folder: &Path, model: &ModelConfig, adapter: &Adapter, params: &[f32]) -> Result<(), ExportError> {
	let layout = of(model, adapter)?;
	if params.len() != layout.len() {
		return Err(ExportError::Parameters { expected: layout.len(), found: params.len() });
	}
	let mut tensors = Vec::new();
	for [a, b] in layout.tensors().as_chunks::<2>().0 {
		let name = projection(a).ok_or_else(|| ExportError::Projection(a.name.clone()))?;
		let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
		tensors.push((format!("base_model.model.{name}.lora_A.weight"), vec![a.rows, a.cols], bytes(&params[a.range()])));
		tensors.push((
			format!("base_model.model.{name}.lora_B.weight"),
			vec![b.cols, b.rows],
			bytes(&transposed(&params[b.range()], b.cols)),
		));
	}
	let views = tensors.iter().map(|(name, shape, bytes)| Ok((name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes)?)));
	let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
	let weights = serialize(views, Some(HashMap::from([("format".to_string(), "pt".to_string())])))?;
	written(folder, [("adapter_model.safetensors", weights), ("adapter_config.json", config(adapter).into_bytes())])
}

fn config(adapter: &Adapter) -> String {
	let modules: Vec<&str> = adapter.projections.iter().map(neuroshard_graph::Projection::name).collect();
	let document = serde_json::json!({
		"peft_type": "LORA",
		"task_type": "CAUSAL_LM",
		"base_model_name_or_path": null,
		"r": adapter.rank,
		"lora_alpha": f64::from(adapter.alpha.get()),
		"lora_dropout": 0.0,
		"target_modules": modules,
		"bias": "none",
		"fan_in_fan_out": false,
		"use_rslora": false,
		"use_dora": false,
		"inference_mode": true,
	});
	format!("{document:#}\n")
}

/// `values`, rows of `cols`, with rows and columns exchanged.
fn transposed(values: &[f32], cols: usize) -> Vec<f32> {
	(0..cols).flat_map(|col| values.iter().skip(col).step_by(cols.max(1)).copied()).collect()
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_graph::{Projection, F32};
	use safetensors::SafeTensors;

	#[test]
	fn an_adapter_has_the_names_and_shapes_that_peft_has_for_it() {
		let model = ModelConfig { layers: 2, ..ModelConfig::tiny() };
		let projections = [Projection::Q, Projection::Down].into_iter().collect();
		let adapter = Adapter { base: [0; 32], rank: 3, alpha: F32::new(6.0), projections };
		let layout = of(&model, &adapter).unwrap();
		let params: Vec<f32> = (0..layout.len()).map(|at| at as f32).collect();
		let folder = tempfile::tempdir().unwrap();
		export(folder.path(), &model, &adapter, &params).unwrap();
		let bytes = std::fs::read(folder.path().join("adapter_model.safetensors")).unwrap();
		let tensors = SafeTensors::deserialize(&bytes).unwrap();
		assert_eq!(tensors.len(), 8);
		let of = |name: &str| tensors.tensor(&format!("base_model.model.model.layers.1.{name}.weight")).unwrap();
		// A hidden layer of 64 numbers, and a width of 32.
		assert_eq!(of("mlp.down_proj.lora_A").shape(), [3, 64]);
		let b = of("mlp.down_proj.lora_B");
		assert_eq!(b.shape(), [32, 3]);
		let number = |at: usize| f32::from_le_bytes(b.data()[4 * at..4 * at + 4].try_into().unwrap());
		let start = layout.get("model.layers.1.mlp.down_proj.lora_B.transposed").unwrap().offset;
		// Row 5 and column 2 of B is column 5 and row 2 of what is stored.
		assert_eq!(number(5 * 3 + 2), (start + 2 * 32 + 5) as f32);
		let config: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.path().join("adapter_config.json")).unwrap()).unwrap();
		assert_eq!((config["r"].as_u64(), config["lora_alpha"].as_f64()), (Some(3), Some(6.0)));
		assert_eq!(config["target_modules"], serde_json::json!(["q_proj", "down_proj"]));
	}
}
