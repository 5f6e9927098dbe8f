//! Configurations of every shape: most of them accepted, many of them absurd.

use super::source::Source;
use neuroshard_graph::{
	Adapter, Aggregator, Code, Compressed, Family, ModelConfig, Optimizer, Products, Projection, Robust, RopeScaling, Rule, TopK,
	TrainConfig, F32,
};

fn tiles(source: &mut Source, most: u32) -> u32 {
	32 * (1 + source.either(most.min(8), most))
}

pub fn model(source: &mut Source) -> ModelConfig {
	let kv_heads = 1 << source.below(6);
	let group = 1 + source.either(4, 64);
	// The width of all keys is a multiple of 32.
	let head_dim = (32 / kv_heads).max(2) * (1 + source.either(8, 256));
	let heads = group * kv_heads;
	let mut model = ModelConfig {
		vocab: tiles(source, 2_048),
		dim: heads * head_dim,
		layers: 1 + source.either(3, 258),
		heads,
		kv_heads,
		ffn: tiles(source, 2_048),
		max_seq: tiles(source, 32_768),
		tied: source.once_in(2),
		rope_theta: if source.once_in(4) { source.word() } else { 10_000 },
		norm_eps: F32::new(1e-5),
		family: Family::Llama,
		head_dim: None,
		rope_scaling: RopeScaling::None,
	};
	if source.once_in(8) {
		let fields = [&mut model.vocab, &mut model.dim, &mut model.layers, &mut model.heads, &mut model.kv_heads, &mut model.ffn];
		let which = source.below(6) as usize;
		if let Some(field) = fields.into_iter().nth(which) {
			*field = source.word();
		}
	}
	model.family = match source.below(4) {
		2 => Family::Qwen2,
		3 => Family::Qwen3,
		_ => Family::Llama,
	};
	if source.once_in(4) {
		model.head_dim = Some(if source.once_in(8) { source.word() } else { head_dim });
		model.dim = tiles(source, 2_048);
	}
	let number = |source: &mut Source, usual: f32| if source.once_in(8) { F32(source.word()) } else { F32::new(usual) };
	model.rope_scaling = match source.below(8) {
		6 => RopeScaling::Linear { factor: number(source, 2.5) },
		7 => {
			let (factor, low, high) = (number(source, 8.0), number(source, 1.0), number(source, 4.0));
			RopeScaling::Llama3 { factor, low, high, original: source.below(3) * 4_096 }
		}
		_ => RopeScaling::None,
	};
	model
}

fn adapter(source: &mut Source) -> Adapter {
	let some = source.byte();
	let projections = Projection::ALL.into_iter().enumerate().filter(|(bit, _)| some >> bit & 1 == 1).map(|(_, projection)| projection);
	let alpha = if source.once_in(8) { F32(source.word()) } else { F32::new(16.0) };
	Adapter { base: [source.byte(); 32], rank: 1 + source.either(64, 300), alpha, projections: projections.collect() }
}

pub fn train(source: &mut Source, model: &ModelConfig) -> TrainConfig {
	let seq_tiles = (model.max_seq / 32).max(1);
	let few = |source: &mut Source| u16::from(source.byte());
	let rule = match source.below(9) {
		0 => Rule::Mean,
		1 => Rule::Median,
		2 => Rule::TrimmedMean { trim: few(source) },
		3 => Rule::Krum { liars: few(source) },
		4 => Rule::MultiKrum { liars: few(source) },
		5 => Rule::CentredClipping { liars: few(source), radius: F32(source.word()), steps: source.byte() },
		6 => Rule::WeightedMean { least_steps: 1 + source.below(4) },
		7 => Rule::MixedKrum { liars: few(source) },
		_ => Rule::GeometricMedian { liars: few(source), floor: F32(source.word()), steps: source.byte() },
	};
	let robust = |source: &mut Source| Robust { clip: F32(if source.once_in(2) { 0 } else { source.word() }), rule };
	let aggregator = match source.below(4) {
		0 => Aggregator::Mean,
		1 => Aggregator::TrimmedMean { trim: few(source) },
		2 => Aggregator::Robust(robust(source)),
		_ => {
			let numbers = if source.once_in(8) { source.byte() } else { 4 << source.below(5) };
			let decay = if source.once_in(8) { F32(source.word()) } else { F32::new(0.5) };
			let code = match source.below(4) {
				0 => Code::Int8,
				kind => Code::TopK(TopK { numbers, decay, cosine: kind == 1 }),
			};
			Aggregator::Compressed(Compressed { code, robust: robust(source) })
		}
	};
	let mut train = TrainConfig {
		batch: 1 + source.either(4, 70_000),
		seq_len: 32 * (1 + source.either(seq_tiles.min(4), seq_tiles)),
		inner_steps: 1 + source.either(8, 1_000_000),
		aggregator,
		..TrainConfig::tiny()
	};
	train.commit_interval = train.inner_steps.div_ceil(64) + source.below(4);
	if source.once_in(4) {
		train.total_steps = source.word();
		train.warmup_steps = source.below(train.total_steps);
	}
	if source.once_in(8) {
		let floats = [
			&mut train.lr,
			&mut train.lr_min,
			&mut train.beta1,
			&mut train.beta2,
			&mut train.eps,
			&mut train.weight_decay,
			&mut train.clip,
			&mut train.outer_lr,
			&mut train.outer_beta,
		];
		let which = source.below(9) as usize;
		if let Some(field) = floats.into_iter().nth(which) {
			*field = F32::new(source.float());
		}
	}
	train.masked = source.once_in(8);
	train.adapter = source.once_in(3).then(|| adapter(source));
	if source.once_in(3) {
		train.products = Products::Int8;
	}
	if source.once_in(4) {
		train.optimizer = Optimizer::Muon { momentum: F32::new(if source.once_in(8) { source.float() } else { 0.95 }) };
	}
	train
}
