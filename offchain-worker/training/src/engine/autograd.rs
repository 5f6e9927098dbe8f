//! The same model in plain candle with candle's autograd: the peer that tests and the benchmark compare the engine with.
//!
//! Nothing of a run depends on it. It uses only candle operators that have a backward pass (`softmax_last_dim`,
//! `rms_norm` and `rope` have none, and lose gradients silently).

use super::EngineError;
use candle_core::{backprop::GradStore, DType, Device, Result, Tensor, Var, D};
use neuroshard_graph::{corpus::MASK, layout::LayerTensors, ModelConfig, ParamLayout, TrainConfig};

/// Parameters of a model as candle variables, in the order of its layout.
pub struct AutogradModel {
	model: ModelConfig,
	vars: Vec<Var>,
}

impl AutogradModel {
	/// A model with the parameters `theta`, which has the layout's length.
	///
	/// # Errors
	/// What candle says.
	pub fn new(model: &ModelConfig, layout: &ParamLayout, theta: &[f32]) -> Result<Self> {
		let vars = layout.tensors().iter().map(|tensor| {
			let values = theta.get(tensor.range()).unwrap_or_default();
			match tensor.rows {
				1 => Var::from_slice(values, tensor.cols, &Device::Cpu),
				rows => Var::from_slice(values, (rows, tensor.cols), &Device::Cpu),
			}
		});
		Ok(Self { model: model.clone(), vars: vars.collect::<Result<_>>()? })
	}

	/// The variables, in the order of the layout.
	pub fn vars(&self) -> &[Var] {
		&self.vars
	}

	/// Gradients of `loss` for every variable, in the order of the layout.
	///
	/// # Errors
	/// A variable without a gradient, and what candle says.
	pub fn gradients(&self, loss: &Tensor) -> Result<Vec<Tensor>> {
		let gradients: GradStore = loss.backward()?;
		let gradient = |var: &Var| gradients.get(var).cloned();
		let missing = || candle_core::Error::Msg("a parameter has no gradient".into());
		self.vars.iter().map(|var| gradient(var).ok_or_else(missing)).collect()
	}

	/// Mean cross-entropy of `tokens`, `batch` sequences of `seq + 1`, over those targets that have no [`MASK`].
	///
	/// # Errors
	/// What candle says, for instance about other numbers of tokens.
	pub fn loss(&self, tokens: &[u32], batch: usize, seq: usize) -> Result<Tensor> {
		let split = |skip: usize| -> Vec<u32> {
			tokens.chunks(seq + 1).flat_map(|sequence| sequence.iter().skip(skip).take(seq)).copied().collect()
		};
		let ids = |skip| split(skip).into_iter().map(|token| token & !MASK).collect::<Vec<_>>();
		let targets = Tensor::from_vec(ids(1), (batch * seq, 1), &Device::Cpu)?;
		let counts: Vec<f32> = split(1).into_iter().map(|token| if token & MASK == 0 { 1.0 } else { 0.0 }).collect();
		let count = f64::from(counts.iter().sum::<f32>());
		let counts = Tensor::from_vec(counts, (batch * seq, 1), &Device::Cpu)?;
		let logits = self.logits(&ids(0), batch, seq)?;
		let picked = logits.gather(&targets, 1)?;
		let losses = (logits.log_sum_exp(D::Minus1)?.unsqueeze(1)? - picked)?;
		(losses * counts)?.sum_all()? / count
	}

	/// Logits `[batch * seq, vocab]` of `batch` sequences of `seq` tokens.
	///
	/// # Errors
	/// What candle says.
	pub fn logits(&self, tokens: &[u32], batch: usize, seq: usize) -> Result<Tensor> {
		let ids = Tensor::from_slice(tokens, batch * seq, &Device::Cpu)?;
		let shape = Shape::new(&self.model, batch, seq)?;
		let missing = || candle_core::Error::Msg("the layout has too few tensors".into());
		let mut vars = self.vars.iter();
		let mut next = || vars.next().ok_or_else(missing);
		let embedding = next()?;
		let mut x = embedding.index_select(&ids, 0)?;
		for _ in 0..self.model.layers {
			x = shape.layer(&x, &LayerTensors::in_order(self.model.family, &mut next)?)?;
		}
		let norm = next()?;
		let head = if self.model.tied { embedding } else { next()? };
		shape.norm(&x, norm)?.matmul(&head.t()?)
	}
}

/// Sizes and tables of one batch.
struct Shape {
	batch: usize,
	seq: usize,
	heads: usize,
	kv_heads: usize,
	head_dim: usize,
	eps: f64,
	cos: Tensor,
	sin: Tensor,
	mask: Tensor,
}

impl Shape {
	fn new(model: &ModelConfig, batch: usize, seq: usize) -> Result<Self> {
		let head_dim = model.head_dim() as usize;
		let (cos, sin) = model.rope_tables(seq);
		let table = |values| Tensor::from_vec(values, (seq, head_dim / 2), &Device::Cpu);
		let visible = |index: usize| if index % seq <= index / seq { 0.0 } else { f32::NEG_INFINITY };
		Ok(Self {
			batch,
			seq,
			heads: model.heads as usize,
			kv_heads: model.kv_heads as usize,
			head_dim,
			eps: f64::from(model.norm_eps.get()),
			cos: table(cos)?,
			sin: table(sin)?,
			mask: Tensor::from_vec((0..seq * seq).map(visible).collect(), (seq, seq), &Device::Cpu)?,
		})
	}

	fn norm(&self, x: &Tensor, weight: &Tensor) -> Result<Tensor> {
		let root = (x.sqr()?.mean_keepdim(D::Minus1)? + self.eps)?.sqrt()?;
		x.broadcast_div(&root)?.broadcast_mul(weight)
	}

	fn layer(&self, x: &Tensor, params: &LayerTensors<&Var>) -> Result<Tensor> {
		let LayerTensors { norm1, q, k, v, biases, o, head_norms, norm2, gate, up, down } = *params;
		let h = self.norm(x, norm1)?;
		let [mut q, mut k, mut v] = [h.matmul(&q.t()?)?, h.matmul(&k.t()?)?, h.matmul(&v.t()?)?];
		if let Some([q_bias, k_bias, v_bias]) = biases {
			(q, k, v) = (q.broadcast_add(q_bias)?, k.broadcast_add(k_bias)?, v.broadcast_add(v_bias)?);
		}
		let (mut q, mut k, v) = (self.split(&q, self.heads)?, self.split(&k, self.kv_heads)?, self.split(&v, self.kv_heads)?);
		if let Some([q_norm, k_norm]) = head_norms {
			(q, k) = (self.norm(&q, q_norm)?, self.norm(&k, k_norm)?);
		}
		let (q, k, v) = (self.rope(&q)?, self.repeat(&self.rope(&k)?)?, self.repeat(&v)?);
		let scores = (q.matmul(&k.transpose(2, 3)?.contiguous()?)? / (self.head_dim as f64).sqrt())?;
		let scores = scores.broadcast_add(&self.mask)?;
		let weights = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?.detach())?.exp()?;
		let weights = weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)?;
		let context = weights.matmul(&v)?.transpose(1, 2)?.contiguous()?;
		let context = context.reshape((self.batch * self.seq, self.heads * self.head_dim))?;
		let x = (x + context.matmul(&o.t()?)?)?;
		let h = self.norm(&x, norm2)?;
		let hidden = (h.matmul(&gate.t()?)?.silu()? * h.matmul(&up.t()?)?)?;
		&x + hidden.matmul(&down.t()?)?
	}

	/// `[tokens, heads * head_dim]` to `[batch, heads, seq, head_dim]`.
	fn split(&self, x: &Tensor, heads: usize) -> Result<Tensor> {
		x.reshape((self.batch, self.seq, heads, self.head_dim))?.transpose(1, 2)?.contiguous()
	}

	/// Half-rotation as in Hugging Face's Llama.
	fn rope(&self, x: &Tensor) -> Result<Tensor> {
		let half = self.head_dim / 2;
		let (x1, x2) = (x.narrow(D::Minus1, 0, half)?, x.narrow(D::Minus1, half, half)?);
		let first = (x1.broadcast_mul(&self.cos)? - x2.broadcast_mul(&self.sin)?)?;
		let second = (x2.broadcast_mul(&self.cos)? + x1.broadcast_mul(&self.sin)?)?;
		Tensor::cat(&[first, second], D::Minus1)?.contiguous()
	}

	/// Every key head once for each query head of its group.
	fn repeat(&self, x: &Tensor) -> Result<Tensor> {
		let group = self.heads / self.kv_heads;
		if group == 1 {
			return Ok(x.clone());
		}
		let shape = (self.batch, self.kv_heads, group, self.seq, self.head_dim);
		x.unsqueeze(2)?.expand(shape)?.contiguous()?.reshape((self.batch, self.heads, self.seq, self.head_dim))
	}
}

/// AdamW on an [`AutogradModel`], as candle users write it: moments are tensors beside the variables. No clipping.
pub struct AutogradTrainer {
	model: AutogradModel,
	moments: Vec<(Tensor, Tensor)>,
	train: TrainConfig,
	step: i32,
}

impl AutogradTrainer {
	/// A trainer that starts from the parameters `theta` with zero moments.
	///
	/// # Errors
	/// [`EngineError::Device`].
	pub fn new(model: &ModelConfig, layout: &ParamLayout, theta: &[f32], train: &TrainConfig) -> std::result::Result<Self, EngineError> {
		let model = AutogradModel::new(model, layout, theta)?;
		let zeros = |var: &Var| Tensor::zeros(var.shape(), DType::F32, &Device::Cpu);
		let moments = model.vars().iter().map(|var| Ok((zeros(var)?, zeros(var)?))).collect::<Result<_>>()?;
		Ok(Self { model, moments, train: train.clone(), step: 0 })
	}

	/// One step on a batch of `batch * (seq_len + 1)` tokens with learning rate `lr`; returns the loss before it.
	///
	/// # Errors
	/// [`EngineError::Device`].
	pub fn train_step(&mut self, tokens: &[u32], lr: f64) -> std::result::Result<f32, EngineError> {
		let loss = self.model.loss(tokens, self.train.batch as usize, self.train.seq_len as usize)?;
		let gradients = self.model.gradients(&loss)?;
		self.update(&gradients, lr)?;
		Ok(loss.to_scalar()?)
	}

	fn update(&mut self, gradients: &[Tensor], lr: f64) -> Result<()> {
		let config = [self.train.beta1, self.train.beta2, self.train.eps, self.train.weight_decay];
		let [beta1, beta2, eps, weight_decay] = config.map(|value| f64::from(value.get()));
		self.step += 1;
		let (correction1, correction2) = (1.0 - beta1.powi(self.step), 1.0 - beta2.powi(self.step));
		for ((var, gradient), (first, second)) in self.model.vars.iter().zip(gradients).zip(&mut self.moments) {
			*first = ((&*first * beta1)? + (gradient * (1.0 - beta1))?)?;
			*second = ((&*second * beta2)? + (gradient.sqr()? * (1.0 - beta2))?)?;
			let update = ((&*first / correction1)? / ((&*second / correction2)?.sqrt()? + eps)?)?;
			var.set(&((var.as_tensor() * (1.0 - lr * weight_decay))? - (update * lr)?)?)?;
		}
		Ok(())
	}
}
