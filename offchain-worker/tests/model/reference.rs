//! A forward pass of Llama, Qwen 2 or Qwen 3 in f64, written from the architecture's description, that knows nothing of the engine. It reads
//! what was exported.

use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// A model read from a folder in the Hugging Face layout.
#[derive(Clone)]
pub struct Llama {
	pub tensors: BTreeMap<String, Vec<f64>>,
	vocab: usize,
	dim: usize,
	layers: usize,
	heads: usize,
	kv_heads: usize,
	head_dim: usize,
	ffn: usize,
	eps: f64,
	rope_theta: f64,
	rope_scaling: Value,
	tied: bool,
}

impl Llama {
	pub fn read(folder: &Path) -> Self {
		let config: Value = serde_json::from_str(&fs::read_to_string(folder.join("config.json")).unwrap()).unwrap();
		let number = |key: &str| config[key].as_u64().unwrap() as usize;
		let bytes = fs::read(folder.join("model.safetensors")).unwrap();
		let file = SafeTensors::deserialize(&bytes).unwrap();
		let mut tensors = BTreeMap::new();
		for (name, tensor) in file.tensors() {
			assert_eq!(tensor.dtype(), Dtype::F32);
			let values = tensor.data().chunks_exact(4).map(|bytes| f64::from(f32::from_le_bytes(bytes.try_into().unwrap())));
			tensors.insert(name, values.collect());
		}
		Self {
			tensors,
			vocab: number("vocab_size"),
			dim: number("hidden_size"),
			layers: number("num_hidden_layers"),
			heads: number("num_attention_heads"),
			kv_heads: number("num_key_value_heads"),
			head_dim: number("head_dim"),
			ffn: number("intermediate_size"),
			eps: config["rms_norm_eps"].as_f64().unwrap(),
			rope_theta: config["rope_theta"].as_f64().unwrap(),
			rope_scaling: config["rope_scaling"].clone(),
			tied: config["tie_word_embeddings"].as_bool().unwrap(),
		}
	}

	/// Logits after every token.
	pub fn logits(&self, tokens: &[u32]) -> Vec<Vec<f64>> {
		let embedding = &self.tensors["model.embed_tokens.weight"];
		let mut stream: Vec<Vec<f64>> = tokens.iter().map(|token| embedding[*token as usize * self.dim..][..self.dim].to_vec()).collect();
		for layer in 0..self.layers {
			let weight = |part: &str| &self.tensors[&format!("model.layers.{layer}.{part}.weight")];
			self.attention(&mut stream, layer, weight);
			for x in &mut stream {
				let h = self.norm(x, weight("post_attention_layernorm"));
				let (gate, up) = (linear(weight("mlp.gate_proj"), &h, self.ffn), linear(weight("mlp.up_proj"), &h, self.ffn));
				let hidden: Vec<f64> = gate.iter().zip(&up).map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up).collect();
				add(x, &linear(weight("mlp.down_proj"), &hidden, self.dim));
			}
		}
		let head = if self.tied { embedding } else { &self.tensors["lm_head.weight"] };
		stream.iter().map(|x| linear(head, &self.norm(x, &self.tensors["model.norm.weight"]), self.vocab)).collect()
	}

	/// Mean cross-entropy of the tokens after the first.
	pub fn loss(&self, tokens: &[u32]) -> f64 {
		let logits = self.logits(&tokens[..tokens.len() - 1]);
		let losses = logits.iter().zip(&tokens[1..]).map(|(logits, target)| {
			let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
			sum.ln() - logits[*target as usize]
		});
		losses.sum::<f64>() / (tokens.len() - 1) as f64
	}

	fn attention<'a>(&self, stream: &mut [Vec<f64>], layer: usize, weight: impl Fn(&str) -> &'a Vec<f64>) {
		let width = self.head_dim;
		// Biases and norms of heads are there in some models.
		let own = |name: &str| self.tensors.get(&format!("model.layers.{layer}.self_attn.{name}"));
		let project = |part: char, h: &[f64], heads: usize| {
			let mut out = linear(weight(&format!("self_attn.{part}_proj")), h, heads * width);
			if let Some(bias) = own(&format!("{part}_proj.bias")) {
				add(&mut out, bias);
			}
			match own(&format!("{part}_norm.weight")) {
				Some(norm) => out.chunks(width).flat_map(|head| self.norm(head, norm)).collect(),
				None => out,
			}
		};
		let (mut queries, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
		for (position, x) in stream.iter().enumerate() {
			let h = self.norm(x, weight("input_layernorm"));
			queries.push(self.rotate(project('q', &h, self.heads), position));
			keys.push(self.rotate(project('k', &h, self.kv_heads), position));
			values.push(project('v', &h, self.kv_heads));
		}
		for (position, x) in stream.iter_mut().enumerate() {
			let mut context = vec![0.0; self.heads * width];
			for head in 0..self.heads {
				let shared = head / (self.heads / self.kv_heads) * width;
				let query = &queries[position][head * width..][..width];
				let dot = |key: &Vec<f64>| -> f64 { query.iter().zip(&key[shared..]).map(|(a, b)| a * b).sum() };
				let scores = keys[..=position].iter().map(|key| (dot(key) / (width as f64).sqrt()).exp());
				let scores: Vec<f64> = scores.collect();
				let total: f64 = scores.iter().sum();
				for (score, value) in scores.iter().zip(&values) {
					for (out, value) in context[head * width..][..width].iter_mut().zip(&value[shared..]) {
						*out += score / total * value;
					}
				}
			}
			add(x, &linear(weight("self_attn.o_proj"), &context, self.dim));
		}
	}

	fn norm(&self, x: &[f64], weight: &[f64]) -> Vec<f64> {
		let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
		x.iter().zip(weight).map(|(x, weight)| x / (mean + self.eps).sqrt() * weight).collect()
	}

	/// The angle between neighbouring positions, as Hugging Face's `rope_scaling` says it.
	fn scaled(&self, frequency: f64) -> f64 {
		let number = |name: &str| self.rope_scaling[name].as_f64().unwrap();
		match self.rope_scaling["rope_type"].as_str() {
			None => frequency,
			Some("linear") => frequency / number("factor"),
			Some("llama3") => {
				let original = number("original_max_position_embeddings");
				let (low, high) = (number("low_freq_factor"), number("high_freq_factor"));
				let wavelength = std::f64::consts::TAU / frequency;
				let smooth = ((original / wavelength - low) / (high - low)).clamp(0.0, 1.0);
				(1.0 - smooth) * frequency / number("factor") + smooth * frequency
			}
			Some(other) => panic!("{other}"),
		}
	}

	/// Rotary position embedding: element i of a head turns with element i + width / 2.
	fn rotate(&self, mut x: Vec<f64>, position: usize) -> Vec<f64> {
		let width = self.head_dim;
		for head in x.chunks_exact_mut(width) {
			for i in 0..width / 2 {
				let angle = position as f64 * self.scaled(self.rope_theta.powf(-2.0 * i as f64 / width as f64));
				let (a, b) = (head[i], head[i + width / 2]);
				head[i] = a * angle.cos() - b * angle.sin();
				head[i + width / 2] = b * angle.cos() + a * angle.sin();
			}
		}
		x
	}
}

/// `weight [out, in]` times `x`.
fn linear(weight: &[f64], x: &[f64], out: usize) -> Vec<f64> {
	assert_eq!(weight.len(), out * x.len());
	weight.chunks_exact(x.len()).map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
}

fn add(x: &mut [f64], y: &[f64]) {
	x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}
