//! A training run as its sponsor writes it: JSON with numbers that people read. The chain's form carries floats as bits.

use clap::ValueEnum;
use neuroshard_chain_client::Neuro;
use neuroshard_support::json_file;
use neuroshard_training::presets;
use neuroshard_types::{
	dataset::Manifest,
	run::{PhaseDurations, RunConfig, RunStart},
	Adapter, Aggregator, Code, Compressed, DatasetId, Family, ModelConfig, Optimizer, Products, Projections, Robust, RopeScaling,
	RoundIndex, Rule, TrainConfig, F32, H256,
};
use serde::{Deserialize, Serialize};
use std::{
	fs::File,
	io::Read,
	path::{Path, PathBuf},
};

/// Most bytes of a run file: far more than one has.
const LONGEST: u64 = 1 << 20;

/// Learning rates, the largest and the least, at which models that there are keep most of what they know.
const FURTHER: (f32, f32) = (2e-5, 2e-6);

/// Why a run file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
	/// It cannot be read.
	#[error("cannot read {path}: {source}")]
	Io {
		/// The file.
		path: PathBuf,
		/// What the system said.
		source: std::io::Error,
	},
	/// It is not what a run file looks like.
	#[error("{path} is not a run file: {reason}; `neuroshard-worker train template` prints one")]
	Malformed {
		/// The file.
		path: PathBuf,
		/// Where reading ended.
		reason: String,
	},
	/// A value that the chain would refuse.
	#[error("the run file's {field} {reason}")]
	Value {
		/// Which field.
		field: &'static str,
		/// What is wrong.
		reason: String,
	},
}

/// Configurations that come with the worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Preset {
	/// Learns visibly on two cores within minutes.
	Devnet,
	/// 13.8 million parameters, eight inner steps a round.
	Large,
	/// A round takes seconds: for tests.
	Tiny,
}

impl Preset {
	/// Model and training configuration.
	pub fn configs(self) -> (ModelConfig, TrainConfig) {
		match self {
			Self::Devnet => presets::devnet(),
			Self::Large => presets::large(),
			Self::Tiny => presets::tiny(),
		}
	}
}

/// A training run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFile {
	/// Name, at most 64 bytes.
	pub name: String,
	/// Shape of the model.
	pub model: ModelFile,
	/// Optimizers, batch and schedule.
	pub train: TrainFile,
	/// A round starts with no fewer participants.
	pub min_participants: u32,
	/// And with no more.
	pub max_participants: u32,
	/// Smallest bond of a participant, in NEURO.
	pub min_bond: String,
	/// Rounds; `null` goes on until stopped.
	pub rounds: Option<RoundIndex>,
	/// Longest duration of each phase, in blocks.
	pub durations: PhaseDurations,
	/// Whether the inner steps of a round begin while the round before is exchanged.
	#[serde(default, skip_serializing_if = "std::ops::Not::not")]
	pub overlaps: bool,
}

/// [`ModelConfig`] with floats as numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ModelFile {
	/// Rows of the embedding; without it as many as the vocabulary of the dataset has.
	#[serde(default, skip_serializing_if = "Option::is_none")]
	pub vocab: Option<u32>,
	pub dim: u32,
	pub layers: u32,
	pub heads: u32,
	pub kv_heads: u32,
	pub ffn: u32,
	pub max_seq: u32,
	pub tied: bool,
	pub rope_theta: u32,
	pub norm_eps: f32,
	/// What queries, keys and values get before RoPE; `Llama` without this field.
	#[serde(default, skip_serializing_if = "is_default")]
	pub family: Family,
	/// Numbers in a head, if they are not `dim / heads`.
	#[serde(default, skip_serializing_if = "is_default")]
	pub head_dim: Option<u32>,
	/// Scaling of the RoPE frequencies; `None` without this field.
	#[serde(default, skip_serializing_if = "is_default")]
	pub rope_scaling: RopeScaling,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
	*value == T::default()
}

/// [`TrainConfig`] with floats as numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct TrainFile {
	/// Seed of the first parameters, if no checkpoint gives them: 32 bytes in hexadecimal digits, which may begin with `0x`, or any other text, which is hashed.
	pub seed: String,
	pub batch: u32,
	pub seq_len: u32,
	pub inner_steps: u32,
	pub commit_interval: u32,
	pub lr: f32,
	pub lr_min: f32,
	pub warmup_steps: u32,
	pub total_steps: u32,
	pub beta1: f32,
	pub beta2: f32,
	pub eps: f32,
	pub weight_decay: f32,
	pub clip: f32,
	pub outer_lr: f32,
	pub outer_beta: f32,
	/// Values dropped at each end of a trimmed mean; 0 is the mean.
	pub trim: u16,
	/// A rule that compares whole deltas or shortens them; not with `trim`.
	#[serde(default, skip_serializing_if = "Option::is_none")]
	pub robust: Option<Robust>,
	/// What deltas are sent as; without it as they are.
	#[serde(default, skip_serializing_if = "Option::is_none")]
	pub code: Option<Code>,
	pub validation_sequences: u32,
	/// What is trained beside a model that stays as it is; without it the model is trained.
	#[serde(default, skip_serializing_if = "Option::is_none")]
	pub adapter: Option<AdapterFile>,
	/// What the products of the layers are computed in: `f32`, or `int8`, in which 32x32 blocks of both operands have 8 bits a number and one scale; `f32`
	/// without this field.
	#[serde(default, skip_serializing_if = "is_default")]
	pub products: Products,
	/// What changes the weights of the layers' projections; AdamW without this field.
	#[serde(default, skip_serializing_if = "is_default")]
	pub optimizer: Optimizer,
}

/// [`Adapter`] with floats as numbers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterFile {
	/// Root of the parameters of the model that it is beside; without it what `create-run --base` names.
	#[serde(default, skip_serializing_if = "Option::is_none")]
	pub base: Option<H256>,
	/// Rows of A and columns of B.
	pub rank: u32,
	/// What their product is multiplied by, times the rank.
	pub alpha: f32,
	/// Names of the projections that have one: `q_proj`, `k_proj`, `v_proj`, `o_proj`, `gate_proj`, `up_proj` and `down_proj`.
	pub projections: Projections,
}

impl RunFile {
	/// Reads a run file.
	///
	/// # Errors
	/// [`RunFileError::Io`] and [`RunFileError::Malformed`].
	pub fn read(path: &Path) -> Result<Self, RunFileError> {
		let io = |source| RunFileError::Io { path: path.to_path_buf(), source };
		let malformed = |reason: String| RunFileError::Malformed { path: path.to_path_buf(), reason };
		let mut bytes = Vec::new();
		File::open(path).and_then(|file| file.take(LONGEST.saturating_add(1)).read_to_end(&mut bytes)).map_err(io)?;
		if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LONGEST {
			return Err(malformed(format!("it is longer than {LONGEST} bytes")));
		}
		json_file::parse(&bytes).map_err(malformed)
	}

	/// A run of a preset's model that goes on until it is stopped.
	pub fn of(preset: Preset) -> Self {
		let (model, train) = preset.configs();
		let (name, durations) = match preset {
			Preset::Devnet => ("devnet", PhaseDurations { joining: 5, training: 300, revealing: 12, availability: 30, checkpointing: 60 }),
			Preset::Large => ("large", PhaseDurations { joining: 5, training: 300, revealing: 12, availability: 30, checkpointing: 60 }),
			Preset::Tiny => ("tiny", PhaseDurations { joining: 4, training: 25, revealing: 10, availability: 10, checkpointing: 12 }),
		};
		Self {
			name: name.into(),
			model: ModelFile::of(&model),
			train: TrainFile::of(&train),
			min_participants: 3,
			max_participants: 8,
			min_bond: "100".into(),
			rounds: None,
			durations,
			overlaps: false,
		}
	}

	/// Has a model that there is trained further: one of this shape, on shorter sequences if it knows no longer ones, in small steps.
	pub(super) fn go_on_with(&mut self, model: &ModelConfig) {
		self.model = ModelFile { vocab: Some(model.vocab), ..ModelFile::of(model) };
		self.train.seq_len = self.train.seq_len.min(model.max_seq);
		(self.train.lr, self.train.lr_min) = FURTHER;
	}

	/// Smallest bond of a participant.
	///
	/// # Errors
	/// [`RunFileError::Value`] if it is no amount.
	pub(super) fn bond(&self) -> Result<Neuro, RunFileError> {
		self.min_bond.parse().map_err(|reason| RunFileError::Value { field: "min_bond", reason })
	}

	/// Names the model that the adapter is beside by the root of its parameters.
	///
	/// # Errors
	/// [`RunFileError::Value`] without an adapter, or with one beside another model.
	pub(super) fn set_base(&mut self, root: H256) -> Result<(), RunFileError> {
		let Some(adapter) = &mut self.train.adapter else {
			let reason = "is not there, and --base names the model that an adapter is beside: leave it out, or give the file one".into();
			return Err(RunFileError::Value { field: "train.adapter", reason });
		};
		if let Some(other) = adapter.base.filter(|other| *other != root) {
			let reason = format!("is {other:?}, and --base names {root:?}: leave one of both out");
			return Err(RunFileError::Value { field: "train.adapter.base", reason });
		}
		adapter.base = Some(root);
		Ok(())
	}

	/// Refuses an adapter that is beside no model.
	pub(super) fn has_base(&self) -> Result<(), RunFileError> {
		if self.train.adapter.is_some_and(|adapter| adapter.base.is_none()) {
			return Err(RunFileError::Value { field: "train.adapter.base", reason: "is beside no model: name one with --base".into() });
		}
		Ok(())
	}

	/// The chain's form, for `dataset` with this manifest, and a run that starts from there. The genesis root is computed with `threads` threads where a
	/// seed gives it.
	///
	/// # Errors
	/// [`RunFileError::Value`] for what the chain would refuse.
	pub fn config(&self, dataset: DatasetId, manifest: &Manifest, start: RunStart, threads: usize) -> Result<RunConfig, RunFileError> {
		self.check()?;
		self.has_base()?;
		let (model, train) = (self.model.config(manifest.vocab), self.train.config(manifest.masked));
		let root = match start.root(0, 0) {
			Some(given) => train.validate(&model).map(|()| given),
			None => neuroshard_graph::commit::genesis_root(&model, &train, threads).map(H256),
		};
		let genesis_root = root.map_err(|error| RunFileError::Value { field: "model or train", reason: format!("is refused: {error}") })?;
		let bond = self.bond()?;
		let name = self.name.clone().into_bytes().try_into();
		Ok(RunConfig {
			name: name.map_err(|_| RunFileError::Value { field: "name", reason: "is too long".into() })?,
			dataset,
			tokenizer: manifest.tokenizer,
			model,
			train,
			genesis_root,
			start,
			min_participants: self.min_participants,
			max_participants: self.max_participants,
			min_bond: bond.0,
			rounds: self.rounds,
			durations: self.durations,
			overlaps: self.overlaps,
			epochs: true,
		})
	}
}

impl ModelFile {
	/// Of whatever vocabulary the dataset has.
	pub(super) fn of(model: &ModelConfig) -> Self {
		let ModelConfig {
			vocab: _,
			dim,
			layers,
			heads,
			kv_heads,
			ffn,
			max_seq,
			tied,
			rope_theta,
			norm_eps,
			family,
			head_dim,
			rope_scaling,
		} = model.clone();
		let (vocab, norm_eps) = (None, norm_eps.get());
		Self { vocab, dim, layers, heads, kv_heads, ffn, max_seq, tied, rope_theta, norm_eps, family, head_dim, rope_scaling }
	}

	/// The model on a dataset with so large a vocabulary.
	pub(super) fn config(&self, vocab: u32) -> ModelConfig {
		let vocab = self.vocab.unwrap_or(vocab);
		let Self { vocab: _, dim, layers, heads, kv_heads, ffn, max_seq, tied, rope_theta, norm_eps, family, head_dim, rope_scaling } =
			*self;
		let norm_eps = F32::new(norm_eps);
		ModelConfig { vocab, dim, layers, heads, kv_heads, ffn, max_seq, tied, rope_theta, norm_eps, family, head_dim, rope_scaling }
	}
}

impl TrainFile {
	fn of(train: &TrainConfig) -> Self {
		Self {
			seed: hex::encode(train.seed),
			batch: train.batch,
			seq_len: train.seq_len,
			inner_steps: train.inner_steps,
			commit_interval: train.commit_interval,
			lr: train.lr.get(),
			lr_min: train.lr_min.get(),
			warmup_steps: train.warmup_steps,
			total_steps: train.total_steps,
			beta1: train.beta1.get(),
			beta2: train.beta2.get(),
			eps: train.eps.get(),
			weight_decay: train.weight_decay.get(),
			clip: train.clip.get(),
			outer_lr: train.outer_lr.get(),
			outer_beta: train.outer_beta.get(),
			trim: match train.aggregator {
				Aggregator::Mean | Aggregator::Robust(_) | Aggregator::Compressed(_) => 0,
				Aggregator::TrimmedMean { trim } => trim,
			},
			robust: match train.aggregator {
				Aggregator::Mean | Aggregator::TrimmedMean { .. } => None,
				Aggregator::Robust(robust) | Aggregator::Compressed(Compressed { robust, .. }) => Some(robust),
			},
			code: train.code(),
			validation_sequences: train.validation_sequences,
			adapter: train.adapter.map(|Adapter { base, rank, alpha, projections }| AdapterFile {
				base: Some(H256(base)),
				rank,
				alpha: alpha.get(),
				projections,
			}),
			products: train.products,
			optimizer: train.optimizer,
		}
	}

	fn seed(&self) -> [u8; 32] {
		let mut seed = [0; 32];
		match hex::decode_to_slice(self.seed.strip_prefix("0x").unwrap_or(&self.seed), &mut seed) {
			Ok(()) => seed,
			Err(_) => sp_crypto_hashing::blake2_256(self.seed.as_bytes()),
		}
	}

	/// The training configuration on a dataset whose tokens say which of them are targets of the loss, if it is `masked`.
	pub(super) fn config(&self, masked: bool) -> TrainConfig {
		TrainConfig {
			arithmetic_version: neuroshard_graph::config::ARITHMETIC_VERSION,
			seed: self.seed(),
			batch: self.batch,
			seq_len: self.seq_len,
			inner_steps: self.inner_steps,
			commit_interval: self.commit_interval,
			lr: F32::new(self.lr),
			lr_min: F32::new(self.lr_min),
			warmup_steps: self.warmup_steps,
			total_steps: self.total_steps,
			beta1: F32::new(self.beta1),
			beta2: F32::new(self.beta2),
			eps: F32::new(self.eps),
			weight_decay: F32::new(self.weight_decay),
			clip: F32::new(self.clip),
			outer_lr: F32::new(self.outer_lr),
			outer_beta: F32::new(self.outer_beta),
			aggregator: match (self.code, self.robust, self.trim) {
				(Some(code), robust, trim) => {
					let rule = if trim == 0 { Rule::Mean } else { Rule::TrimmedMean { trim } };
					Aggregator::Compressed(Compressed { code, robust: robust.unwrap_or(Robust { clip: F32::new(0.0), rule }) })
				}
				(None, Some(robust), _) => Aggregator::Robust(robust),
				(None, None, 0) => Aggregator::Mean,
				(None, None, trim) => Aggregator::TrimmedMean { trim },
			},
			validation_sequences: self.validation_sequences,
			masked,
			adapter: self.adapter.map(|AdapterFile { base, rank, alpha, projections }| Adapter {
				base: base.unwrap_or_default().0,
				rank,
				alpha: F32::new(alpha),
				projections,
			}),
			products: self.products,
			optimizer: self.optimizer,
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::{
		dataset::{DatasetShape, Tokenizer},
		TopK,
	};

	fn bytes() -> Manifest {
		Manifest {
			name: Default::default(),
			licence: Default::default(),
			source: Default::default(),
			tokenizer: Tokenizer::BYTES,
			vocab: 288,
			masked: false,
			shape: DatasetShape { tokens_per_shard: 1_000, shard_count: 2, held_out: 1 },
			root: H256::zero(),
			bytes: 1,
		}
	}

	fn tiny() -> RunFile {
		let mut file = RunFile::of(Preset::Tiny);
		file.model = ModelFile { dim: 32, layers: 1, heads: 1, kv_heads: 1, ffn: 32, max_seq: 32, ..file.model };
		file.train = TrainFile { seq_len: 32, ..file.train };
		file
	}

	#[test]
	fn presets_survive_the_way_through_a_file() {
		for preset in [Preset::Devnet, Preset::Large, Preset::Tiny] {
			let text = serde_json::to_string(&RunFile::of(preset)).unwrap();
			let file: RunFile = serde_json::from_str(&text).unwrap();
			assert_eq!((file.model.config(288), file.train.config(false)), preset.configs());
		}
	}

	#[test]
	fn a_seed_text_and_the_genesis_root_follow_from_the_file() {
		let config = tiny().config(3, &bytes(), RunStart::Seed, 1).unwrap();
		assert_eq!(config.dataset, 3);
		assert_eq!(config.min_bond, 100 * neuroshard_types::NEURO);
		assert_eq!(config, tiny().config(3, &bytes(), RunStart::Seed, 2).unwrap(), "threads do not change it");
		let masked = tiny().config(3, &Manifest { masked: true, ..bytes() }, RunStart::Seed, 1).unwrap();
		assert!(masked.train.masked && !config.train.masked, "it is the dataset that is masked, or not");
		assert_eq!(masked.genesis_root, config.genesis_root);
		let mut other = tiny();
		other.train.seed = "another".into();
		assert_ne!(other.config(3, &bytes(), RunStart::Seed, 1).unwrap().genesis_root, config.genesis_root);
	}

	#[test]
	fn an_adapter_is_beside_the_model_that_its_file_or_the_command_names() {
		let json = r#"{"rank": 8, "alpha": 16.0, "projections": ["q_proj", "v_proj"]}"#;
		let mut file = tiny();
		file.train.adapter = Some(serde_json::from_str(json).unwrap());
		let refused = file.config(3, &bytes(), RunStart::Seed, 1).unwrap_err().to_string();
		assert!(refused.contains("train.adapter.base") && refused.contains("--base"), "{refused}");
		file.set_base(H256::repeat_byte(7)).unwrap();
		file.set_base(H256::repeat_byte(7)).unwrap();
		let other = file.set_base(H256::repeat_byte(8)).unwrap_err().to_string();
		assert!(
			other.contains(&format!("{:?}", H256::repeat_byte(7))) && other.contains(&format!("{:?}", H256::repeat_byte(8))),
			"{other}"
		);
		assert!(tiny().set_base(H256::repeat_byte(7)).unwrap_err().to_string().contains("train.adapter"));
		let config = file.config(3, &bytes(), RunStart::Seed, 1).unwrap();
		let adapter = config.train.adapter.unwrap();
		assert_eq!((adapter.base, adapter.rank, adapter.scale()), ([7; 32], 8, 2.0));
		// One layer of width 32: A has 8 x 32 and B as much, for each of two projections.
		assert_eq!(adapter.parameters(&config.model), 1_024);
		assert_ne!(config.genesis_root, tiny().config(3, &bytes(), RunStart::Seed, 1).unwrap().genesis_root);
		let again: RunFile = serde_json::from_str(&serde_json::to_string(&file).unwrap()).unwrap();
		assert_eq!(again, file);
		let unknown = serde_json::from_str::<AdapterFile>(&json.replace("v_proj", "w_proj")).unwrap_err().to_string();
		assert!(unknown.contains("there is no projection w_proj"), "{unknown}");
	}

	#[test]
	fn a_file_without_an_optimizer_has_adamw_and_muon_needs_its_momentum() {
		let mut json = serde_json::to_value(tiny()).unwrap();
		assert!(json["train"].get("optimizer").is_none());
		json["train"]["optimizer"] = serde_json::json!({"Muon": {"momentum": 0.95}});
		let file: RunFile = serde_json::from_value(json.clone()).unwrap();
		let config = file.config(3, &bytes(), RunStart::Seed, 1).unwrap();
		assert_eq!(config.train.optimizer, Optimizer::Muon { momentum: F32::new(0.95) });
		json["train"]["optimizer"] = serde_json::json!({"Muon": {}});
		assert!(serde_json::from_value::<RunFile>(json).unwrap_err().to_string().contains("momentum"));
	}

	#[test]
	fn a_model_that_there_is_takes_the_place_of_the_configurations_with_a_smaller_step() {
		let model =
			ModelConfig { vocab: 49_152, dim: 64, heads: 2, kv_heads: 1, max_seq: 96, family: Family::Qwen2, ..Preset::Tiny.configs().0 };
		let mut file = RunFile::of(Preset::Devnet);
		file.go_on_with(&model);
		assert_eq!((file.model.config(288), file.train.seq_len, file.train.lr), (model.clone(), 96, 2e-5));
		file.check().unwrap();
		file.go_on_with(&ModelConfig { max_seq: 8_192, ..model });
		assert_eq!(file.train.seq_len, 96, "it is not made longer");
	}

	#[test]
	fn a_given_start_takes_the_place_of_the_seed() {
		let start = RunStart::Given { params: H256::repeat_byte(1), momentum: H256::repeat_byte(2), of: Some((3, 4)) };
		let config = tiny().config(3, &bytes(), start, 1).unwrap();
		assert_eq!((config.start, Some(config.genesis_root)), (start, start.root(0, 0)));
		let mut large = tiny();
		large.model.vocab = Some(1 << 19);
		assert!(large.config(3, &bytes(), start, 1).is_err(), "what is trained is checked all the same");
	}

	#[test]
	fn a_family_a_width_of_heads_and_a_scaling_may_be_left_out_and_are_read_as_the_chain_shows_them() {
		let plain = serde_json::to_value(tiny()).unwrap();
		for field in ["family", "head_dim", "rope_scaling"] {
			assert!(plain["model"].get(field).is_none(), "{field}");
		}
		let with = |field: &str, json: &str| {
			let mut value = plain.clone();
			value["model"]["head_dim"] = 64.into();
			value["model"][field] = serde_json::from_str(json).unwrap();
			serde_json::from_value::<RunFile>(value)
		};
		let file = with("family", "\"Qwen3\"").unwrap();
		let model = file.config(0, &bytes(), RunStart::Seed, 1).unwrap().model;
		assert_eq!((model.family, model.head_dim, model.rope_scaling), (Family::Qwen3, Some(64), RopeScaling::None));
		assert_eq!(ModelFile::of(&model), file.model);
		let scaling = |json: &str| with("rope_scaling", json).unwrap().model.config(288).rope_scaling;
		assert_eq!(scaling(r#"{"Linear": {"factor": 2.5}}"#), RopeScaling::Linear { factor: F32::new(2.5) });
		let [factor, low, high] = [8.0, 1.0, 4.0].map(F32::new);
		let llama3 = r#"{"Llama3": {"factor": 8, "low": 1, "high": 4, "original": 8192}}"#;
		assert_eq!(scaling(llama3), RopeScaling::Llama3 { factor, low, high, original: 8_192 });
		assert!(with("family", "\"gpt2\"").is_err() && with("rope_scaling", r#"{"Linear": {}}"#).is_err());
	}

	#[test]
	fn a_robust_rule_is_read_as_the_chain_shows_it_and_checked_by_field() {
		let with = |robust: &str| {
			let mut value = serde_json::to_value(tiny()).unwrap();
			value["train"]["robust"] = serde_json::from_str(robust).unwrap();
			serde_json::from_value::<RunFile>(value)
		};
		let file = with(r#"{"clip": 2, "rule": {"MultiKrum": {"liars": 3}}}"#).unwrap();
		let robust = Robust { clip: F32::new(2.0), rule: Rule::MultiKrum { liars: 3 } };
		assert_eq!(file.config(0, &bytes(), RunStart::Seed, 1).unwrap().train.aggregator, Aggregator::Robust(robust));
		assert_eq!([10, 8, 2].map(|deltas| file.train.config(false).aggregator.liars(deltas)), [3, 2, 0]);
		for wrong in [
			r#"{"clip": 0, "rule": "Mode"}"#,
			r#"{"clip": 0, "rule": {"Krum": {"liars": 3, "steps": 4}}}"#,
			r#"{"clip": 0, "rule": "Median", "trim": 2}"#,
		] {
			assert!(with(wrong).is_err(), "{wrong}");
		}
		let reason = |robust: &str| with(robust).unwrap().check().unwrap_err().to_string();
		assert!(reason(r#"{"clip": -1, "rule": "Median"}"#).contains("train.robust.clip is -1"));
		let steps = reason(r#"{"clip": 0, "rule": {"CentredClipping": {"liars": 1, "radius": 1, "steps": 9}}}"#);
		assert!(steps.contains("train.robust.rule.steps is 9, but must be 1 to 8"), "{steps}");
		let mut both = with(r#"{"clip": 0, "rule": "Median"}"#).unwrap();
		both.train.trim = 1;
		assert!(both.check().unwrap_err().to_string().contains("train.trim must be 0"));
	}

	#[test]
	fn a_code_is_read_as_the_chain_shows_it_and_checked_by_field() {
		let with = |code: &str, robust: Option<&str>| {
			let mut value = serde_json::to_value(tiny()).unwrap();
			value["train"]["code"] = serde_json::from_str(code).unwrap();
			if let Some(robust) = robust {
				value["train"]["robust"] = serde_json::from_str(robust).unwrap();
			}
			serde_json::from_value::<RunFile>(value)
		};
		let top = r#"{"TopK": {"numbers": 8, "decay": 0.95, "cosine": false}}"#;
		let code = Code::TopK(TopK { numbers: 8, decay: F32::new(0.95), cosine: false });
		let mean = Robust { clip: F32::new(0.0), rule: Rule::Mean };
		let file = with(top, None).unwrap();
		assert_eq!(
			file.config(0, &bytes(), RunStart::Seed, 1).unwrap().train.aggregator,
			Aggregator::Compressed(Compressed { code, robust: mean })
		);
		let median = r#"{"clip": 0, "rule": "Median"}"#;
		with(top, Some(median)).unwrap().config(0, &bytes(), RunStart::Seed, 1).unwrap();
		let again = TrainFile::of(&file.train.config(false));
		assert_eq!(again.config(false), file.train.config(false));
		let reason = |code: &str, robust: Option<&str>| with(code, robust).unwrap().check().unwrap_err().to_string();
		assert!(reason(r#"{"TopK": {"numbers": 5, "decay": 0.9, "cosine": false}}"#, None).contains("train.code.TopK.numbers is 5"));
		assert!(reason(r#"{"TopK": {"numbers": 8, "decay": 1.5, "cosine": false}}"#, None).contains("train.code.TopK.decay is 1.5"));
		assert!(reason(r#""Int8""#, Some(median)).contains("train.code"));
		assert!(with(r#""Int4""#, None).is_err());
		let mut many = with(top, None).unwrap();
		(many.train.inner_steps, many.train.commit_interval) = (63, 1);
		assert!(many.check().unwrap_err().to_string().contains("train.commit_interval"), "two roots are those of residuals");
	}

	#[test]
	fn what_the_chain_would_refuse_is_refused_with_the_fields_name() {
		let mut file = tiny();
		file.model.dim = 33;
		assert!(file.config(0, &bytes(), RunStart::Seed, 1).unwrap_err().to_string().contains("model.dim is 33"));
		let mut file = tiny();
		file.min_bond = "-1".into();
		assert!(file.check().unwrap_err().to_string().contains("min_bond"), "before anything is computed");
		for wrong in ["", "1e3", "1,000", "\u{663}"] {
			let file = RunFile { min_bond: wrong.into(), ..tiny() };
			assert!(file.check().unwrap_err().to_string().contains("min_bond"), "{wrong}");
		}
		for wrong in ["x".repeat(65), "\u{e4}".repeat(33), "a\nb".into(), "\u{1b}[31m".into()] {
			let error = RunFile { name: wrong.clone(), ..tiny() }.check().unwrap_err().to_string();
			assert!(error.starts_with("the run file's name ") && !error.contains('\u{1b}') && !error.contains('\n'), "{error}");
		}
		RunFile { name: "x".repeat(64), ..tiny() }.check().unwrap();
	}

	#[test]
	fn a_seed_in_hexadecimal_digits_is_the_same_with_and_without_their_prefix() {
		let seed = |seed: &str| TrainFile { seed: seed.into(), ..tiny().train }.seed();
		let digits = "0f".repeat(32);
		assert_eq!((seed(&digits), seed(&format!("0x{digits}"))), ([15; 32], [15; 32]));
		assert_ne!(seed("0x0f"), [15; 32]);
	}

	#[test]
	fn a_wrong_file_is_refused_with_a_way_to_a_right_one() {
		let folder = tempfile::tempdir().unwrap();
		let path = folder.path().join("run.json");
		std::fs::write(&path, "{\"name\": 1}").unwrap();
		let error = RunFile::read(&path).unwrap_err();
		assert!(error.to_string().contains("train template") && error.to_string().contains("name: invalid type"), "{error}");
		assert!(matches!(RunFile::read(&folder.path().join("none")), Err(RunFileError::Io { .. })));
	}

	#[test]
	fn products_of_layers_are_f32_unless_the_file_says_int8() {
		let mut value = serde_json::to_value(tiny()).unwrap();
		assert_eq!(value["train"].get("products"), None);
		for (word, expected) in [("f32", Some(Products::F32)), ("int8", Some(Products::Int8)), ("Int8", None), ("bf16", None)] {
			value["train"]["products"] = word.into();
			let file = serde_json::from_value::<RunFile>(value.clone()).ok();
			assert_eq!(file.as_ref().map(|file| file.train.config(false).products), expected, "{word}");
			if let Some(file) = file {
				assert_eq!(TrainFile::of(&file.train.config(false)).products, file.train.products);
			}
		}
	}

	#[test]
	fn a_run_file_may_be_saved_with_a_mark_or_other_line_ends_and_is_told_in_plain_words_if_it_is_none() {
		let folder = tempfile::tempdir().unwrap();
		let path = folder.path().join("run.json");
		let read = |bytes: &[u8]| {
			std::fs::write(&path, bytes).unwrap();
			RunFile::read(&path)
		};
		let whole = serde_json::to_string_pretty(&tiny()).unwrap();
		for text in [format!("\u{feff}{whole}"), whole.replace('\n', "\r\n")] {
			assert_eq!(read(text.as_bytes()).unwrap(), tiny());
		}
		let wide: Vec<u8> = [0xfeff].into_iter().chain(whole.encode_utf16()).flat_map(u16::to_le_bytes).collect();
		let without = |field: &str| {
			let mut value = serde_json::to_value(tiny()).unwrap();
			value.as_object_mut().unwrap().remove(field);
			value.to_string().into_bytes()
		};
		let with = |field: &str, value: serde_json::Value| {
			let mut all = serde_json::to_value(tiny()).unwrap();
			all["train"][field] = value;
			all.to_string().into_bytes()
		};
		for (bytes, expected) in [
			(wide, "it is not UTF-8 text"),
			(vec![b' '; (1 << 20) + 1], "longer than"),
			(format!("{whole} x").into_bytes(), "is not a run file: trailing characters"),
			(without("model"), "is not a run file: missing field `model`"),
			(with("batch", (-1).into()), "batch: invalid value: integer `-1`, expected a whole number from 0 to 4294967295"),
			(with("lr", "NaN".into()), "lr: invalid type: string \"NaN\", expected a number"),
		] {
			let error = read(&bytes).unwrap_err().to_string();
			assert!(error.contains(expected), "{error}");
		}
	}
}
