//! A straightforward Llama, Qwen 2 or Qwen 3 in f64: loops over positions, no caching, nothing shared with the crate.
#![allow(dead_code, reason = "every test binary compiles this module and uses a part of it")]

use neuroshard_graph::{Family, ModelConfig, ParamLayout, RopeScaling};
use std::f64::consts::TAU;

pub struct Reference {
	pub model: ModelConfig,
	pub layout: ParamLayout,
}

impl Reference {
	pub fn new(model: &ModelConfig) -> Self {
		Self { model: model.clone(), layout: ParamLayout::new(model).unwrap() }
	}

	fn tensor<'a>(&self, theta: &'a [f64], name: &str) -> &'a [f64] {
		&theta[self.layout.get(name).unwrap().range()]
	}

	fn linear(x: &[f64], w: &[f64]) -> Vec<f64> {
		w.chunks(x.len()).map(|row| row.iter().zip(x).map(|(w, x)| w * x).sum()).collect()
	}

	fn norm(&self, x: &[f64], w: &[f64]) -> Vec<f64> {
		let mean_square = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
		let r = 1.0 / (mean_square + f64::from(self.model.norm_eps.get())).sqrt();
		x.iter().zip(w).map(|(x, w)| x * r * w).collect()
	}

	/// Width of a head: an equal part of the residual stream, or what the configuration says.
	fn head_width(&self) -> usize {
		self.model.head_dim.unwrap_or(self.model.dim / self.model.heads) as usize
	}

	/// The angle between neighbouring positions, by wavelengths as models' authors write it.
	fn scaled(&self, frequency: f64) -> f64 {
		let wavelength = TAU / frequency;
		match self.model.rope_scaling {
			RopeScaling::None => frequency,
			RopeScaling::Linear { factor } => frequency / f64::from(factor.get()),
			RopeScaling::Llama3 { factor, low, high, original } => {
				let [factor, low, high] = [factor, low, high].map(|value| f64::from(value.get()));
				let original = f64::from(original);
				if wavelength < original / high {
					frequency
				} else if wavelength > original / low {
					frequency / factor
				} else {
					let smooth = (original / wavelength - low) / (high - low);
					(1.0 - smooth) * frequency / factor + smooth * frequency
				}
			}
		}
	}

	fn rope(&self, x: &mut [f64], position: usize) {
		let width = self.head_width();
		for head in x.chunks_mut(width) {
			for i in 0..width / 2 {
				let angle = position as f64 * self.scaled(f64::from(self.model.rope_theta).powf(-2.0 * i as f64 / width as f64));
				let (a, b) = (head[i], head[i + width / 2]);
				head[i] = a * angle.cos() - b * angle.sin();
				head[i + width / 2] = b * angle.cos() + a * angle.sin();
			}
		}
	}

	/// Logits after every token of one sequence.
	pub fn logits(&self, theta: &[f64], tokens: &[u32]) -> Vec<Vec<f64>> {
		let m = &self.model;
		let (dim, width) = (m.dim as usize, self.head_width());
		let group = (m.heads / m.kv_heads) as usize;
		let embedding = self.tensor(theta, "model.embed_tokens.weight");
		let mut xs: Vec<Vec<f64>> = tokens.iter().map(|&t| embedding[t as usize * dim..][..dim].to_vec()).collect();
		for layer in 0..m.layers {
			let p = |name: &str| self.tensor(theta, &format!("model.layers.{layer}.{name}.weight"));
			let (mut qs, mut ks, mut vs) = (vec![], vec![], vec![]);
			for (position, x) in xs.iter().enumerate() {
				let h = self.norm(x, p("input_layernorm"));
				let [mut q, mut k, mut v] = ["q", "k", "v"].map(|part| Self::linear(&h, p(&format!("self_attn.{part}_proj"))));
				if m.family == Family::Qwen2 {
					for (x, part) in [&mut q, &mut k, &mut v].into_iter().zip(["q", "k", "v"]) {
						let bias = self.tensor(theta, &format!("model.layers.{layer}.self_attn.{part}_proj.bias"));
						x.iter_mut().zip(bias).for_each(|(x, bias)| *x += bias);
					}
				}
				if m.family == Family::Qwen3 {
					for (x, name) in [(&mut q, "self_attn.q_norm"), (&mut k, "self_attn.k_norm")] {
						*x = x.chunks(width).flat_map(|head| self.norm(head, p(name))).collect();
					}
				}
				self.rope(&mut q, position);
				self.rope(&mut k, position);
				qs.push(q);
				ks.push(k);
				vs.push(v);
			}
			for (i, x) in xs.iter_mut().enumerate() {
				let mut o = vec![0.0; m.heads as usize * width];
				for h in 0..m.heads as usize {
					let at = h / group * width;
					let scores: Vec<f64> = (0..=i)
						.map(|j| (0..width).map(|e| qs[i][h * width + e] * ks[j][at + e]).sum::<f64>() / (width as f64).sqrt())
						.collect();
					let total: f64 = scores.iter().map(|s| s.exp()).sum();
					for (j, s) in scores.iter().enumerate() {
						for e in 0..width {
							o[h * width + e] += s.exp() / total * vs[j][at + e];
						}
					}
				}
				for (x, y) in x.iter_mut().zip(Self::linear(&o, p("self_attn.o_proj"))) {
					*x += y;
				}
				let h = self.norm(x, p("post_attention_layernorm"));
				let (gate, up) = (Self::linear(&h, p("mlp.gate_proj")), Self::linear(&h, p("mlp.up_proj")));
				let act: Vec<f64> = gate.iter().zip(&up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
				for (x, y) in x.iter_mut().zip(Self::linear(&act, p("mlp.down_proj"))) {
					*x += y;
				}
			}
		}
		let head = if m.tied { embedding } else { self.tensor(theta, "lm_head.weight") };
		xs.iter().map(|x| Self::linear(&self.norm(x, self.tensor(theta, "model.norm.weight")), head)).collect()
	}

	/// Mean cross-entropy of sequences of `seq + 1` tokens.
	pub fn loss(&self, theta: &[f64], tokens: &[u32], seq: usize) -> f64 {
		let mut total = 0.0;
		for sequence in tokens.chunks(seq + 1) {
			for (logits, &target) in self.logits(theta, &sequence[..seq]).iter().zip(&sequence[1..]) {
				total += logits.iter().map(|l| l.exp()).sum::<f64>().ln() - logits[target as usize];
			}
		}
		total / (tokens.len() / (seq + 1) * seq) as f64
	}
}
