//! Values that a run's configuration fixes before anybody has computed anything.

use codec::Encode;
use neuroshard_types::{
	assignment::{training_windows, windows_needed, windows_per_shard},
	dataset::DatasetShape,
	proof::{ProofKey, ProofKind, WorkClaim},
	run::{zeros_root, PhaseDurations, RunConfig, Work},
	ConfigError, ModelConfig, RoundIndex, RunId, TrainConfig, H256, MAX_PARTICIPANTS,
};

/// Side of a tile.
const SIDE: u64 = 32;

/// Why a run cannot be created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
	/// The name is empty or not UTF-8.
	Name,
	/// Participants are not `1 <= min <= max <= MAX_PARTICIPANTS`, or more than the rule of aggregation combines.
	Participants,
	/// A phase takes no block, or more than allowed.
	Durations,
	/// Zero rounds, or no bond at all.
	Limits,
	/// Rounds overlap that cannot: the end of their inner steps depends on the round before.
	Overlap,
	/// The model or the training configuration is refused.
	Config(ConfigError),
}

/// Checks everything of a configuration that does not need the dataset.
pub fn check(config: &RunConfig, longest_phase: u32) -> Result<(), Unfit> {
	if config.name.is_empty() || core::str::from_utf8(&config.name).is_err() {
		return Err(Unfit::Name);
	}
	if config.min_participants == 0
		|| config.min_participants > config.max_participants
		|| config.max_participants > MAX_PARTICIPANTS.min(config.train.aggregator.most_deltas())
	{
		return Err(Unfit::Participants);
	}
	let PhaseDurations { joining, training, revealing, availability, checkpointing } = config.durations;
	if [joining, training, revealing, availability, checkpointing].iter().any(|blocks| *blocks == 0 || *blocks > longest_phase) {
		return Err(Unfit::Durations);
	}
	if config.rounds == Some(0) || config.min_bond == 0 {
		return Err(Unfit::Limits);
	}
	if config.overlaps && (config.train.weighs_steps() || config.train.leaves_residual()) {
		return Err(Unfit::Overlap);
	}
	if config.model.layers > config.model.family.most_layers() {
		return Err(Unfit::Config(ConfigError::TooLarge));
	}
	config.train.validate(&config.model).map_err(Unfit::Config)
}

/// Returns whether a full round's windows can be drawn from the training shards without replacement.
pub fn enough_to_train(config: &RunConfig, shape: &DatasetShape) -> bool {
	let needed = windows_needed(config.max_participants, config.train.inner_steps, config.train.batch);
	needed <= training_windows(shape, config.train.seq_len)
}

/// Returns whether the held-out shards hold as many windows as the validation loss is measured on.
pub fn enough_to_validate(config: &RunConfig, shape: &DatasetShape) -> bool {
	let windows = u64::from(shape.held_out).saturating_mul(windows_per_shard(shape, config.train.seq_len));
	u64::from(config.train.validation_sequences) <= windows
}

/// Bytes of an encoded delta: 4 KiB for every 32x32 tile of what is sent, which is every parameter tensor, or their code.
pub fn delta_bytes(model: &ModelConfig, train: &TrainConfig) -> u64 {
	let tiles = vector_tiles(model, train);
	train.code().map_or(tiles, |code| code.tiles(tiles)).saturating_mul(4_096)
}

/// Root of a residual of zeros.
pub fn no_residual(model: &ModelConfig, train: &TrainConfig) -> H256 {
	let tiles = u32::try_from(vector_tiles(model, train)).unwrap_or(u32::MAX);
	zeros_root(tiles)
}

/// Tiles of all tensors that are trained.
///
/// All matrices consist of whole tiles; the vector of a norm or bias is one row, padded to 32. In closed form, because the list
/// of tensors of a deep model is long. `model` must be valid.
fn vector_tiles(model: &ModelConfig, train: &TrainConfig) -> u64 {
	if let Some(adapter) = train.adapter {
		return adapter.tiles(model);
	}
	let padded = model.vector_parameters().saturating_mul(SIDE - 1);
	model.parameters().saturating_add(padded).div_ceil(SIDE * SIDE)
}

/// Difference between a reveal and what its run asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mismatch {
	/// Number of state roots.
	StateRoots,
	/// Tokens, or inner steps after which no round of the run ends.
	Tokens,
	/// Size of the delta.
	DeltaBytes,
}

/// Checks the figures of revealed work, all of which follow from the run and the inner steps that the work tells.
pub fn check_work(work: &Work, model: &ModelConfig, train: &TrainConfig) -> Result<(), Mismatch> {
	let steps = work.steps(train).ok_or(Mismatch::Tokens)?;
	if u32::try_from(work.state_roots.len()) != Ok(train.revealed_roots_after(steps)) {
		return Err(Mismatch::StateRoots);
	}
	if work.delta_bytes != delta_bytes(model, train) {
		return Err(Mismatch::DeltaBytes);
	}
	Ok(())
}

/// Returns the work that a participant claims with so many tokens, and the time that it took.
pub fn claim(config: &RunConfig, tokens: u64, started_ms: u64, committed_ms: u64) -> WorkClaim {
	WorkClaim { flops: config.train.flops_of(&config.model, tokens), elapsed_ms: committed_ms.saturating_sub(started_ms) }
}

/// Returns the hash of work that a proof is about.
pub fn work_hash(work: &Work) -> H256 {
	H256(sp_io::hashing::blake2_256(&work.encode()))
}

/// Key of the proof of a participant's work in a round. The same in every attempt: an aborted one frees it.
pub fn proof_key(run: RunId, round: RoundIndex) -> ProofKey {
	ProofKey { run, round, kind: ProofKind::Training }
}

/// Seed of a round's window permutation.
pub fn seed(checkpoint: H256, randomness: H256, run: RunId, round: RoundIndex, attempt: u32) -> H256 {
	H256(sp_io::hashing::blake2_256(&(b"neuroshard/seed/1", checkpoint, randomness, run, round, attempt).encode()))
}
