//! Exporting parameters as a GGUF file, which llama.cpp and the programs that are built on it load.
//!
//! Names and order of numbers are those that llama.cpp's own converter writes: Llama's queries and keys have the two numbers that are turned together side
//! by side, and vectors are f32 in every precision.

use super::{vocabulary, ExportError};
use half::{bf16, f16};
use neuroshard_atomic_write::write_atomically_with;
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::{Family, ModelConfig, ParamLayout, ParamTensor, RopeScaling};
use std::{io, path::Path};

/// Version of the format.
const VERSION: u32 = 3;
/// Tensors begin at multiples of it.
const ALIGNMENT: usize = 32;
/// Numbers that are converted at a time.
const PORTION: usize = 1 << 16;

/// How numbers of matrices are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
	/// As they are.
	F32,
	/// Rounded to IEEE half precision.
	F16,
	/// Rounded to the upper half of an f32.
	Bf16,
}

impl Precision {
	/// Number of the type in the format.
	const fn number(self) -> u32 {
		match self {
			Self::F32 => 0,
			Self::F16 => 1,
			Self::Bf16 => 30,
		}
	}

	/// Number of a file in which most tensors have it.
	const fn of_file(self) -> u32 {
		match self {
			Self::F32 => 0,
			Self::F16 => 1,
			Self::Bf16 => 32,
		}
	}

	const fn bytes(self) -> usize {
		match self {
			Self::F32 => 4,
			Self::F16 | Self::Bf16 => 2,
		}
	}

	fn write(self, value: f32, bytes: &mut Vec<u8>) {
		match self {
			Self::F32 => bytes.extend(value.to_le_bytes()),
			Self::F16 => bytes.extend(f16::from_f32(value).to_le_bytes()),
			Self::Bf16 => bytes.extend(bf16::from_f32(value).to_le_bytes()),
		}
	}
}

/// A value of the file's head.
pub(super) enum Value {
	U32(u32),
	F32(f32),
	Flag(bool),
	Text(String),
	Texts(Vec<String>),
	Numbers(Vec<i32>),
}

/// A tensor of the file.
struct Tensor {
	name: String,
	/// The length that changes fastest first.
	shape: Vec<usize>,
	precision: Precision,
	content: Content,
}

/// Where a tensor's numbers come from.
enum Content {
	/// These parameters. With a width, its rows are heads of it, in which what is turned together is put side by side.
	Parameters { range: std::ops::Range<usize>, cols: usize, paired: Option<usize> },
	/// These numbers.
	Numbers(Vec<f32>),
}

impl Tensor {
	fn bytes(&self) -> usize {
		self.shape.iter().product::<usize>().saturating_mul(self.precision.bytes())
	}
}

/// Writes the model, which is called `name`, into the file at `path`.
///
/// # Errors
/// [`ExportError`]; the file is then as it was before.
pub fn export(
	path: &Path,
	name: &str,
	model: &ModelConfig,
	(tokenizer, template): (&Tokenizer, Option<&str>),
	params: &[f32],
	precision: Precision,
) -> Result<(), ExportError> {
	let layout = ParamLayout::new(model).map_err(ExportError::Config)?;
	if params.len() != layout.len() {
		return Err(ExportError::Parameters { expected: layout.len(), found: params.len() });
	}
	let mut values = description(name, model, precision)?;
	values.extend(vocabulary::of(tokenizer, model.vocab)?);
	values.extend(template.map(|template| ("tokenizer.chat_template".to_owned(), Value::Text(template.to_owned()))));
	let tensors = tensors(model, &layout, precision);
	if precision == Precision::F16 {
		check_range(&layout, params)?;
	}
	write_atomically_with(path, |writer| {
		let head = head(&values, &tensors);
		writer.write_all(&head)?;
		let mut written = head.len();
		for tensor in &tensors {
			fill(writer, &mut written)?;
			write(writer, tensor, params)?;
			written = written.saturating_add(tensor.bytes());
		}
		fill(writer, &mut written)
	})
	.map_err(|source| ExportError::Io { path: path.to_path_buf(), source })
}

/// Writes zeros up to where the next tensor begins.
fn fill(writer: &mut dyn io::Write, written: &mut usize) -> io::Result<()> {
	let next = written.next_multiple_of(ALIGNMENT);
	writer.write_all(&[0; ALIGNMENT][..next.saturating_sub(*written)])?;
	*written = next;
	Ok(())
}

/// Refuses what half precision has no number for.
fn check_range(layout: &ParamLayout, params: &[f32]) -> Result<(), ExportError> {
	for tensor in layout.tensors().iter().filter(|tensor| tensor.rows > 1) {
		let values = params.get(tensor.range()).unwrap_or_default();
		if let Some(value) = values.iter().find(|value| value.is_finite() && f16::from_f32(**value).is_infinite()) {
			return Err(ExportError::Range { tensor: tensor.name.clone(), value: *value });
		}
	}
	Ok(())
}

/// What the head says about the model.
fn description(name: &str, model: &ModelConfig, precision: Precision) -> Result<Vec<(String, Value)>, ExportError> {
	let architecture = match model.family {
		Family::Llama => "llama",
		Family::Qwen2 => "qwen2",
		Family::Qwen3 => "qwen3",
	};
	let head = model.head_dim();
	if model.family == Family::Qwen2 && model.head_dim.is_some() {
		return Err(ExportError::Gguf("heads of a width of their own in a model of Qwen 2".into()));
	}
	let mut values = vec![
		("general.architecture".to_owned(), Value::Text(architecture.into())),
		("general.type".into(), Value::Text("model".into())),
		("general.name".into(), Value::Text(name.into())),
		("general.file_type".into(), Value::U32(precision.of_file())),
		("general.quantization_version".into(), Value::U32(2)),
	];
	let mut add = |name: &str, value| values.push((format!("{architecture}.{name}"), value));
	add("vocab_size", Value::U32(model.vocab));
	add("context_length", Value::U32(model.max_seq));
	add("embedding_length", Value::U32(model.dim));
	add("block_count", Value::U32(model.layers));
	add("feed_forward_length", Value::U32(model.ffn));
	add("attention.head_count", Value::U32(model.heads));
	add("attention.head_count_kv", Value::U32(model.kv_heads));
	add("attention.key_length", Value::U32(head));
	add("attention.value_length", Value::U32(head));
	add("attention.layer_norm_rms_epsilon", Value::F32(model.norm_eps.get()));
	add("rope.dimension_count", Value::U32(head));
	// As every reader of the format has it: thetas of models are far below 2^24, or round.
	add("rope.freq_base", Value::F32(model.rope_theta as f32));
	match model.rope_scaling {
		RopeScaling::None => {}
		RopeScaling::Linear { factor } => {
			add("rope.scaling.type", Value::Text("linear".into()));
			add("rope.scaling.factor", Value::F32(factor.get()));
		}
		// A tensor says it.
		RopeScaling::Llama3 { .. } if model.family == Family::Llama => {}
		RopeScaling::Llama3 { .. } => {
			return Err(ExportError::Gguf("positions that are scaled as in Llama 3, in a model of another family".into()));
		}
	}
	Ok(values)
}

/// All tensors, in the order in which they are written.
fn tensors(model: &ModelConfig, layout: &ParamLayout, precision: Precision) -> Vec<Tensor> {
	let head = usize::try_from(model.head_dim()).unwrap_or(usize::MAX);
	let factors = match model.rope_scaling {
		RopeScaling::Llama3 { factor, low, high, original } => {
			let [factor, low, high] = [factor, low, high].map(|number| f64::from(number.get()));
			let divisors = (0..head / 2).map(|pair| {
				let frequency = f64::from(model.rope_theta).powf(-((2 * pair) as f64) / head as f64);
				let turns = f64::from(original) * frequency / std::f64::consts::TAU;
				let part = (turns - low) / (high - low);
				let divisor = if turns < low {
					factor
				} else if turns > high {
					1.0
				} else {
					1.0 / ((1.0 - part) / factor + part)
				};
				divisor as f32
			});
			Some(divisors.collect::<Vec<_>>())
		}
		RopeScaling::None | RopeScaling::Linear { .. } => None,
	};
	let factors = factors.map(|numbers| Tensor {
		name: "rope_freqs.weight".into(),
		shape: vec![numbers.len()],
		precision: Precision::F32,
		content: Content::Numbers(numbers),
	});
	let parameters = layout.tensors().iter().map(|tensor| {
		let ParamTensor { name, rows, cols, .. } = tensor;
		let is_turned = name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight");
		let paired = (is_turned && model.family == Family::Llama).then_some(head);
		let (shape, precision) = if *rows == 1 { (vec![*cols], Precision::F32) } else { (vec![*cols, *rows], precision) };
		Tensor { name: renamed(name), shape, precision, content: Content::Parameters { range: tensor.range(), cols: *cols, paired } }
	});
	factors.into_iter().chain(parameters).collect()
}

/// The name in the format of a tensor's name in Hugging Face's models.
fn renamed(name: &str) -> String {
	let whole = match name {
		"model.embed_tokens.weight" => "token_embd.weight",
		"model.norm.weight" => "output_norm.weight",
		"lm_head.weight" => "output.weight",
		_ => "",
	};
	if !whole.is_empty() {
		return whole.into();
	}
	let (layer, part) = name.strip_prefix("model.layers.").and_then(|rest| rest.split_once('.')).unwrap_or_default();
	let part = [
		("input_layernorm", "attn_norm"),
		("post_attention_layernorm", "ffn_norm"),
		("self_attn.q_proj", "attn_q"),
		("self_attn.k_proj", "attn_k"),
		("self_attn.v_proj", "attn_v"),
		("self_attn.o_proj", "attn_output"),
		("self_attn.q_norm", "attn_q_norm"),
		("self_attn.k_norm", "attn_k_norm"),
		("mlp.gate_proj", "ffn_gate"),
		("mlp.up_proj", "ffn_up"),
		("mlp.down_proj", "ffn_down"),
	]
	.iter()
	.find_map(|(from, to)| Some(format!("{to}{}", part.strip_prefix(from).filter(|rest| rest.starts_with('.'))?)))
	.unwrap_or_else(|| part.into());
	format!("blk.{layer}.{part}")
}

/// All that comes before the tensors' numbers.
fn head(values: &[(String, Value)], tensors: &[Tensor]) -> Vec<u8> {
	let mut bytes = b"GGUF".to_vec();
	bytes.extend(VERSION.to_le_bytes());
	count(&mut bytes, tensors.len());
	count(&mut bytes, values.len());
	for (name, value) in values {
		text(&mut bytes, name);
		put(&mut bytes, value);
	}
	let mut offset = 0usize;
	for tensor in tensors {
		text(&mut bytes, &tensor.name);
		bytes.extend(u32::try_from(tensor.shape.len()).unwrap_or(u32::MAX).to_le_bytes());
		tensor.shape.iter().for_each(|length| count(&mut bytes, *length));
		bytes.extend(tensor.precision.number().to_le_bytes());
		count(&mut bytes, offset);
		offset = offset.saturating_add(tensor.bytes().next_multiple_of(ALIGNMENT));
	}
	bytes
}

fn count(bytes: &mut Vec<u8>, number: usize) {
	bytes.extend((number as u64).to_le_bytes());
}

fn text(bytes: &mut Vec<u8>, text: &str) {
	count(bytes, text.len());
	bytes.extend(text.as_bytes());
}

fn put(bytes: &mut Vec<u8>, value: &Value) {
	let kind = |bytes: &mut Vec<u8>, kind: u32| bytes.extend(kind.to_le_bytes());
	match value {
		Value::U32(number) => {
			kind(bytes, 4);
			bytes.extend(number.to_le_bytes());
		}
		Value::F32(number) => {
			kind(bytes, 6);
			bytes.extend(number.to_le_bytes());
		}
		Value::Flag(flag) => {
			kind(bytes, 7);
			bytes.push((*flag).into());
		}
		Value::Text(words) => {
			kind(bytes, 8);
			text(bytes, words);
		}
		Value::Texts(all) => {
			kind(bytes, 9);
			kind(bytes, 8);
			count(bytes, all.len());
			all.iter().for_each(|words| text(bytes, words));
		}
		Value::Numbers(all) => {
			kind(bytes, 9);
			kind(bytes, 5);
			count(bytes, all.len());
			all.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
		}
	}
}

/// Writes a tensor's numbers.
fn write(writer: &mut dyn io::Write, tensor: &Tensor, params: &[f32]) -> io::Result<()> {
	let mut bytes = Vec::new();
	let mut put = |values: &[f32]| {
		for portion in values.chunks(PORTION) {
			bytes.clear();
			portion.iter().for_each(|value| tensor.precision.write(*value, &mut bytes));
			writer.write_all(&bytes)?;
		}
		Ok(())
	};
	match &tensor.content {
		Content::Numbers(numbers) => put(numbers),
		Content::Parameters { range, paired: None, .. } => put(params.get(range.clone()).unwrap_or_default()),
		Content::Parameters { range, cols, paired: Some(width) } => {
			let values = params.get(range.clone()).unwrap_or_default();
			for row in 0..values.len() / cols {
				let from = source(row, *width).saturating_mul(*cols);
				put(values.get(from..from.saturating_add(*cols)).unwrap_or_default())?;
			}
			Ok(())
		}
	}
}

/// The row that becomes this one: of each head, first the two halves' first rows, then their second ones, and so on.
fn source(row: usize, width: usize) -> usize {
	let (head, within) = (row / width, row % width);
	head * width + (within % 2) * (width / 2) + within / 2
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn rows_of_a_head_are_paired_as_they_are_turned() {
		assert_eq!((0..8).map(|row| source(row, 4)).collect::<Vec<_>>(), [0, 2, 1, 3, 4, 6, 5, 7]);
	}

	#[test]
	fn tensors_have_the_names_that_llama_cpp_looks_for() {
		for (name, expected) in [
			("model.layers.12.self_attn.q_proj.bias", "blk.12.attn_q.bias"),
			("model.layers.0.self_attn.q_norm.weight", "blk.0.attn_q_norm.weight"),
			("model.layers.3.mlp.down_proj.weight", "blk.3.ffn_down.weight"),
			("model.embed_tokens.weight", "token_embd.weight"),
			("lm_head.weight", "output.weight"),
		] {
			assert_eq!(renamed(name), expected);
		}
	}
}
