//! Whether the chain takes a run file, field by field. The chain says no as well, but for a fee, and not which field it means.

use super::{run_file::AdapterFile, ModelFile, RunFile, RunFileError, TrainFile};
use neuroshard_types::{
	assignment::{training_windows, windows_needed, windows_per_shard},
	dataset::{Manifest, MAX_VOCAB},
	BlockNumber, Code, Robust, RopeScaling, Rule, TopK, LEAST_LIMIT, MAX_CLIP, MAX_MOVES, MAX_PARTICIPANTS, MAX_RADIUS, MAX_RANK,
	MAX_STATE_ROOTS,
};

/// Side of a tile: dimensions are multiples of it.
const SIDE: u32 = 32;
/// Most bytes of a name.
const LONGEST_NAME: usize = 64;
/// Longest sequence.
const MAX_SEQUENCE: u32 = 1 << 20;
/// Largest number of a RoPE scaling.
const MAX_SCALING: f32 = 1e6;
/// Most tokens of a step, times heads where these have norms.
const MAX_TOKENS: u128 = 1 << 22;
/// Most attention probabilities of one layer and step.
const MAX_PROBABILITIES: u128 = 1 << 28;

type Checked = Result<(), RunFileError>;

fn refused(field: &'static str, reason: String) -> Checked {
	Err(RunFileError::Value { field, reason })
}

fn require(holds: bool, field: &'static str, reason: impl FnOnce() -> String) -> Checked {
	match holds {
		true => Ok(()),
		false => refused(field, reason()),
	}
}

/// A multiple of `unit` from `unit` to `most`.
fn whole(field: &'static str, value: u32, unit: u32, most: u32) -> Checked {
	require(value >= unit && value <= most && value.is_multiple_of(unit), field, || match (unit, most) {
		(1, u32::MAX) => format!("is {value}, but must be at least 1"),
		(1, most) => format!("is {value}, but must be 1 to {most}"),
		(unit, u32::MAX) => format!("is {value}, but must be a multiple of {unit}, and not 0"),
		(unit, most) => format!("is {value}, but must be a multiple of {unit} from {unit} to {most}"),
	})
}

/// A number from `low` to `high`.
fn within(field: &'static str, value: f32, low: f32, high: f32) -> Checked {
	require((low..=high).contains(&value), field, || format!("is {value}, but must be {low} to {high}"))
}

/// A number above 0, up to `high`. The least that counts as such is the smallest normal float.
fn above_zero(field: &'static str, value: f32, high: f32) -> Checked {
	require((f32::MIN_POSITIVE..=high).contains(&value), field, || format!("is {value}, but must be above 0 and at most {high}"))
}

impl RunFile {
	/// Checks every field that does not need the chain.
	///
	/// # Errors
	/// [`RunFileError::Value`] names the first field that the chain would refuse, and what it may be.
	pub fn check(&self) -> Result<(), RunFileError> {
		require(!self.name.is_empty(), "name", || "is empty".into())?;
		require(self.name.len() <= LONGEST_NAME, "name", || {
			format!("has {} bytes, but must have at most {LONGEST_NAME}", self.name.len())
		})?;
		require(!self.name.chars().any(char::is_control), "name", || "has control characters, such as line ends".into())?;
		self.bond()?;
		whole("max_participants", self.max_participants, 1, MAX_PARTICIPANTS.min(self.train.config(false).aggregator.most_deltas()))?;
		require((1..=self.max_participants).contains(&self.min_participants), "min_participants", || {
			format!("is {}, but must be 1 to max_participants, {}", self.min_participants, self.max_participants)
		})?;
		require(self.rounds != Some(0), "rounds", || "is 0: write null for a run without end".into())?;
		for (field, blocks) in self.phases() {
			whole(field, blocks, 1, u32::MAX)?;
		}
		self.model.check()?;
		self.train.check(&self.model)?;
		let train = self.train.config(false);
		require(!self.overlaps || !(train.weighs_steps() || train.leaves_residual()), "overlaps", || {
			"is true, but must be false with WeightedMean, whose inner steps end when the round's time does, and with TopK, whose deltas begin with what the last one left".into()
		})
	}

	fn phases(&self) -> [(&'static str, BlockNumber); 5] {
		let durations = self.durations;
		[
			("durations.joining", durations.joining),
			("durations.training", durations.training),
			("durations.revealing", durations.revealing),
			("durations.availability", durations.availability),
			("durations.checkpointing", durations.checkpointing),
		]
	}
}

impl ModelFile {
	fn check(&self) -> Checked {
		let Self { vocab, dim, layers, heads, kv_heads, ffn, max_seq, tied: _, rope_theta, norm_eps, family, head_dim, rope_scaling } =
			*self;
		whole("model.vocab", vocab.unwrap_or(SIDE), SIDE, MAX_VOCAB)?;
		whole("model.dim", dim, SIDE, u32::MAX)?;
		whole("model.layers", layers, 1, family.most_layers())?;
		require(heads > 0, "model.heads", || "is 0, but must be at least 1".into())?;
		// Heads with norms are whole tiles wide.
		let unit = if family.has_head_norms() { SIDE } else { 2 };
		match head_dim {
			None => require(dim.is_multiple_of(heads) && (dim / heads).is_multiple_of(unit), "model.heads", || {
				format!("is {heads}, but must divide model.dim, {dim}, into multiples of {unit}, where there is no model.head_dim")
			})?,
			Some(width) => {
				whole("model.head_dim", width, unit, u32::MAX)?;
				require(width.checked_mul(heads) != Some(dim), "model.head_dim", || {
					format!("is {width}, but must be left out: it is that without being given")
				})?;
			}
		}
		let head = head_dim.unwrap_or(dim / heads);
		let queries = head.saturating_mul(heads);
		require(queries.is_multiple_of(SIDE), "model.heads", || {
			format!("is {heads}, which makes the width of all queries {queries}: that must be a multiple of {SIDE}")
		})?;
		require(kv_heads > 0 && heads.is_multiple_of(kv_heads), "model.kv_heads", || {
			format!("is {kv_heads}, but must divide model.heads, {heads}")
		})?;
		let width = head.saturating_mul(kv_heads);
		require(width.is_multiple_of(SIDE), "model.kv_heads", || {
			format!("is {kv_heads}, which makes the width of all keys {width}: that must be a multiple of {SIDE}")
		})?;
		whole("model.ffn", ffn, SIDE, u32::MAX)?;
		whole("model.max_seq", max_seq, SIDE, MAX_SEQUENCE)?;
		require(rope_theta >= 2, "model.rope_theta", || format!("is {rope_theta}, but must be at least 2"))?;
		check_scaling(&rope_scaling)?;
		above_zero("model.norm_eps", norm_eps, 1.0)
	}
}

fn check_scaling(scaling: &RopeScaling) -> Checked {
	let more = |field, value: f32, than: f32| {
		require(value > than && value <= MAX_SCALING, field, || {
			format!("is {value}, but must be more than {than} and at most {MAX_SCALING}")
		})
	};
	match *scaling {
		RopeScaling::None => Ok(()),
		RopeScaling::Linear { factor } => more("model.rope_scaling.Linear.factor", factor.get(), 1.0),
		RopeScaling::Llama3 { factor, low, high, original } => {
			more("model.rope_scaling.Llama3.factor", factor.get(), 1.0)?;
			above_zero("model.rope_scaling.Llama3.low", low.get(), MAX_SCALING)?;
			more("model.rope_scaling.Llama3.high", high.get(), low.get())?;
			whole("model.rope_scaling.Llama3.original", original, 1, u32::MAX)
		}
	}
}

impl AdapterFile {
	fn check(&self) -> Checked {
		whole("train.adapter.rank", self.rank, 1, MAX_RANK)?;
		require(self.projections.iter().next().is_some(), "train.adapter.projections", || "is empty, but must name at least one".into())?;
		above_zero("train.adapter.alpha", self.alpha, 1e6)
	}
}

impl TrainFile {
	/// State roots of a round; `None` for an interval of 0.
	fn state_roots(&self) -> Option<u32> {
		(self.commit_interval > 0).then(|| self.inner_steps.div_ceil(self.commit_interval))
	}

	fn check(&self, model: &ModelFile) -> Checked {
		whole("train.batch", self.batch, 1, u32::MAX)?;
		whole("train.seq_len", self.seq_len, SIDE, u32::MAX)?;
		require(self.seq_len <= model.max_seq, "train.seq_len", || {
			format!("is {}, but must be at most model.max_seq, {}", self.seq_len, model.max_seq)
		})?;
		whole("train.inner_steps", self.inner_steps, 1, u32::MAX)?;
		// A residual takes two roots.
		let most = if self.code.is_some_and(|code| code.decay().is_some()) { MAX_STATE_ROOTS - 2 } else { MAX_STATE_ROOTS };
		let roots = self.state_roots();
		require(roots.is_some_and(|roots| roots <= most), "train.commit_interval", || {
			let least = self.inner_steps.div_ceil(most);
			format!(
				"is {}, but must be at least {least}: {} inner steps may have {most} committed states",
				self.commit_interval, self.inner_steps
			)
		})?;
		require(self.total_steps == 0 || self.total_steps >= self.warmup_steps, "train.total_steps", || {
			format!("is {}, but must be 0 or at least train.warmup_steps, {}", self.total_steps, self.warmup_steps)
		})?;
		within("train.lr", self.lr, 0.0, 1.0)?;
		within("train.lr_min", self.lr_min, 0.0, self.lr)?;
		within("train.beta1", self.beta1, 0.0, 0.9999)?;
		within("train.beta2", self.beta2, self.beta1, 0.999_999)?;
		within("train.eps", self.eps, 1e-16, 1.0)?;
		within("train.weight_decay", self.weight_decay, 0.0, 1.0)?;
		above_zero("train.clip", self.clip, 1e6)?;
		within("train.outer_lr", self.outer_lr, 0.0, 10.0)?;
		within("train.outer_beta", self.outer_beta, 0.0, 0.9999)?;
		if let Some(robust) = &self.robust {
			require(self.trim == 0, "train.trim", || "must be 0 beside train.robust, whose rule says what is trimmed".into())?;
			check_robust(robust)?;
			if let Rule::WeightedMean { least_steps } = robust.rule {
				whole("train.robust.rule.least_steps", least_steps, 1, self.inner_steps)?;
			}
		}
		self.check_code()?;
		self.adapter.map_or(Ok(()), |adapter| adapter.check())?;
		if let Some(momentum) = self.optimizer.momentum() {
			within("train.optimizer.Muon.momentum", momentum.get(), 0.0, 0.9999)?;
			require(self.adapter.is_none(), "train.optimizer", || "is Muon, but must be AdamW beside train.adapter".into())?;
		}
		whole("train.validation_sequences", self.validation_sequences, 1, u32::MAX)?;
		let chained = [self.batch, self.seq_len, if model.family.has_head_norms() { model.heads } else { 1 }].map(u128::from);
		let chain = chained.into_iter().fold(1, u128::saturating_mul);
		require(chain <= MAX_TOKENS, "train.batch", || {
			format!(
				"is {}, too large: the tokens of a step, times the heads where these have norms, are {chain}, at most {MAX_TOKENS}",
				self.batch
			)
		})?;
		let factors = [self.batch, model.heads, self.seq_len, self.seq_len].map(u128::from);
		let probabilities = factors.into_iter().fold(1, u128::saturating_mul);
		require(probabilities <= MAX_PROBABILITIES, "train.batch", || {
			format!(
				"is {}, too large for these sequences: batch * heads * seq_len^2 is {probabilities}, at most {MAX_PROBABILITIES}",
				self.batch
			)
		})
	}
}

impl TrainFile {
	fn check_code(&self) -> Checked {
		let Some(code) = self.code else { return Ok(()) };
		let sorts = self.trim > 0 || self.robust.is_some_and(|robust| matches!(robust.rule, Rule::Median | Rule::TrimmedMean { .. }));
		let cosine = match code {
			Code::Int8 => true,
			Code::TopK(TopK { numbers, decay, cosine }) => {
				require(matches!(numbers, 4 | 8 | 16 | 32 | 64), "train.code.TopK.numbers", || {
					format!("is {numbers}, but must be 4, 8, 16, 32 or 64")
				})?;
				within("train.code.TopK.decay", decay.get(), 0.0, 1.0)?;
				cosine
			}
		};
		require(!(sorts && cosine), "train.code", || {
			"must be TopK without cosine, or none, where a rule sorts numbers: train.trim, Median and TrimmedMean do".into()
		})
	}
}

fn check_robust(robust: &Robust) -> Checked {
	if robust.clip.get() != 0.0 {
		within("train.robust.clip", robust.clip.get(), LEAST_LIMIT, MAX_CLIP)?;
	}
	let (field, limit, most, steps) = match robust.rule {
		Rule::CentredClipping { radius, steps, .. } => ("train.robust.rule.radius", radius, MAX_RADIUS, steps),
		Rule::GeometricMedian { floor, steps, .. } => ("train.robust.rule.floor", floor, 1.0, steps),
		Rule::Mean
		| Rule::WeightedMean { .. }
		| Rule::Median
		| Rule::TrimmedMean { .. }
		| Rule::Krum { .. }
		| Rule::MultiKrum { .. }
		| Rule::MixedKrum { .. } => return Ok(()),
	};
	within(field, limit.get(), LEAST_LIMIT, most)?;
	require((1..=MAX_MOVES).contains(&steps), "train.robust.rule.steps", || format!("is {steps}, but must be 1 to {MAX_MOVES}"))
}

/// Checks what depends on the chain: its longest phase in blocks, and the dataset.
///
/// # Errors
/// [`RunFileError::Value`] names the field.
pub(super) fn fits(file: &RunFile, dataset: &Manifest, longest_phase: BlockNumber) -> Result<(), RunFileError> {
	for (field, blocks) in file.phases() {
		whole(field, blocks, 1, longest_phase)?;
	}
	let (train, shape) = (&file.train, &dataset.shape);
	let vocab = file.model.vocab.unwrap_or(dataset.vocab);
	require(dataset.vocab == vocab, "model.vocab", || {
		format!(
			"is {vocab}, but the dataset has a vocabulary of {}: leave it out, or build the dataset with --vocab {vocab}",
			dataset.vocab
		)
	})?;
	let needed = windows_needed(file.max_participants, train.inner_steps, train.batch);
	let there = training_windows(shape, train.seq_len);
	require(needed <= there, "max_participants * train.inner_steps * train.batch", || {
		format!("is {needed}, but the dataset's training shards hold {there} windows of {} tokens", train.seq_len)
	})?;
	let held_out = u64::from(shape.held_out).saturating_mul(windows_per_shard(shape, train.seq_len));
	require(u64::from(train.validation_sequences) <= held_out, "train.validation_sequences", || {
		format!("is {}, but the dataset's held-out shards hold {held_out} windows of {} tokens", train.validation_sequences, train.seq_len)
	})
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::cli::Preset;
	use neuroshard_types::{
		dataset::{DatasetShape, Tokenizer},
		Family, Optimizer, F32, H256,
	};
	use proptest::prelude::*;

	/// A change that makes a good file bad.
	type Change = fn(&mut RunFile);

	#[test]
	fn every_field_that_the_chain_would_refuse_is_named() {
		let changes: [(&str, Change); 42] = [
			("name", |file| file.name.clear()),
			("min_participants", |file| file.min_participants = 0),
			("min_participants", |file| file.min_participants = file.max_participants + 1),
			("max_participants", |file| file.max_participants = 129),
			("rounds", |file| file.rounds = Some(0)),
			("durations.revealing", |file| file.durations.revealing = 0),
			("model.vocab", |file| file.model.vocab = Some(300)),
			("model.dim", |file| file.model.dim = 0),
			("model.layers", |file| file.model.layers = 257),
			("model.heads", |file| file.model.heads = 5),
			("model.kv_heads", |file| file.model.kv_heads = 0),
			("model.kv_heads", |file| file.model.kv_heads = 1),
			("model.ffn", |file| file.model.ffn = 33),
			("model.max_seq", |file| file.model.max_seq = 100),
			("model.rope_theta", |file| file.model.rope_theta = 1),
			("model.norm_eps", |file| file.model.norm_eps = 0.0),
			("model.layers", |file| (file.model.family, file.model.layers) = (Family::Qwen2, 97)),
			("model.heads", |file| file.model.family = Family::Qwen3),
			("model.head_dim", |file| file.model.head_dim = Some(16)),
			("model.head_dim", |file| file.model.head_dim = Some(17)),
			("model.heads", |file| (file.model.heads, file.model.kv_heads, file.model.head_dim) = (3, 3, Some(8))),
			("model.rope_scaling.Linear.factor", |file| file.model.rope_scaling = RopeScaling::Linear { factor: F32::new(1.0) }),
			("model.rope_scaling.Llama3.high", |file| {
				let [factor, low] = [8.0, 4.0].map(F32::new);
				file.model.rope_scaling = RopeScaling::Llama3 { factor, low, high: low, original: 64 };
			}),
			("train.batch", |file| file.train.batch = 0),
			("train.batch", |file| file.train.batch = 1 << 20),
			("train.seq_len", |file| file.train.seq_len = 4_096),
			("train.inner_steps", |file| file.train.inner_steps = 0),
			("train.commit_interval", |file| file.train.commit_interval = 0),
			("train.commit_interval", |file| file.train.commit_interval = 1),
			("train.total_steps", |file| file.train.total_steps = 1),
			("train.lr", |file| file.train.lr = f32::NAN),
			("train.lr_min", |file| file.train.lr_min = file.train.lr * 2.0),
			("train.beta1", |file| file.train.beta1 = 1.0),
			("train.beta2", |file| file.train.beta2 = 0.5),
			("train.eps", |file| file.train.eps = 1e-17),
			("train.weight_decay", |file| file.train.weight_decay = f32::INFINITY),
			("train.clip", |file| file.train.clip = 0.0),
			("train.outer_lr", |file| file.train.outer_lr = 11.0),
			("train.outer_beta", |file| file.train.outer_beta = 1.0),
			("train.optimizer.Muon.momentum", |file| file.train.optimizer = Optimizer::Muon { momentum: F32::new(1.0) }),
			("train.optimizer", |file| {
				file.train.optimizer = Optimizer::Muon { momentum: F32::new(0.95) };
				let projections = neuroshard_types::Projections::ALL;
				file.train.adapter = Some(AdapterFile { base: None, rank: 8, alpha: 16.0, projections });
			}),
			("train.validation_sequences", |file| file.train.validation_sequences = 0),
		];
		for (field, change) in changes {
			let mut file = RunFile::of(Preset::Tiny);
			file.check().unwrap();
			change(&mut file);
			let error = file.check().unwrap_err();
			assert!(matches!(&error, RunFileError::Value { field: named, .. } if *named == field), "{field}: {error}");
		}
	}

	proptest! {
		/// The chain's rules live in `neuroshard-graph`; what passes here passes there, and the other way round.
		#[test]
		fn model_and_training_are_judged_as_the_chain_judges_them(
			dim in 0u32..200, heads in 0u32..9, kv_heads in 0u32..5, seq_len in 0u32..200, interval in 0u32..12,
			family in prop::sample::select(vec![Family::Llama, Family::Qwen2, Family::Qwen3]), width in prop::option::of(0u32..10),
			factor in 0.5f32..3.0,
			warmup in 0u32..3, total in 0u32..3, lr in -0.5f32..1.5, lr_min in -0.5f32..1.5, eps in -0.1f32..1.1,
		) {
			let mut file = RunFile::of(Preset::Tiny);
			let head_dim = width.map(|width| width * 8);
			let rope_scaling = if factor < 2.0 { RopeScaling::Linear { factor: F32::new(factor) } } else { RopeScaling::None };
			file.model = ModelFile { dim: dim / 16 * 16, heads, kv_heads, family, head_dim, rope_scaling, ..file.model };
			file.train = TrainFile {
				seq_len: seq_len / 16 * 16,
				commit_interval: interval,
				warmup_steps: warmup,
				total_steps: total,
				lr,
				lr_min,
				eps,
				..file.train
			};
			let judged = file.train.config(false).validate(&file.model.config(288));
			prop_assert_eq!(file.check().is_ok(), judged.is_ok(), "{:?} {:?}", file.check(), judged);
		}
	}

	#[test]
	fn a_run_that_does_not_fit_its_dataset_is_refused_with_both_numbers() {
		let dataset = |vocab, shard_count| Manifest {
			name: Default::default(),
			licence: Default::default(),
			source: Default::default(),
			tokenizer: Tokenizer::BYTES,
			vocab,
			masked: false,
			// 256 windows of 64 tokens, and one for its targets.
			shape: DatasetShape { tokens_per_shard: 16_385, shard_count, held_out: 1 },
			root: H256::zero(),
			bytes: 1,
		};
		let mut file = RunFile::of(Preset::Tiny);
		file.model.vocab = Some(288);
		let error = |file: &RunFile, dataset: Manifest, longest| fits(file, &dataset, longest).unwrap_err().to_string();
		// 8 participants, 120 steps of 16 sequences: 15,360 windows, 60 shards.
		fits(&file, &dataset(288, 61), 100).unwrap();
		let few = error(&file, dataset(288, 60), 100);
		assert!(few.contains("15360") && few.contains("15104"), "{few}");
		for vocab in [256, 320] {
			assert!(error(&file, dataset(vocab, 61), 100).contains("model.vocab is 288"));
		}
		fits(&RunFile::of(Preset::Tiny), &dataset(320, 61), 100).unwrap();
		assert!(error(&file, dataset(288, 61), 24).contains("durations.training is 25, but must be 1 to 24"));
		let mut much = file.clone();
		much.train.validation_sequences = 257;
		assert!(error(&much, dataset(288, 61), 100).contains("validation_sequences is 257"));
	}
}
