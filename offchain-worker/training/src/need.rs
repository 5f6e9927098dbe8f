//! Disk space that a run takes of each worker that takes part in it.

use neuroshard_graph::{corpus::TokenWidth, ConfigError, ModelConfig, ParamLayout, TrainConfig};
use neuroshard_store::ContentDescriptor;
use neuroshard_types::{
	dataset::DatasetShape,
	dispute::Terms,
	run::{PhaseDurations, RunConfig},
	BlockNumber, H256,
};

/// Blocks beyond the time in which claims of a round can be in dispute: games that are to end in the same block end 32 in a block, and what
/// they decide must be redone on every branch of the chain that may become the finalized one.
const LATE: BlockNumber = 100;
/// Rounds beside those that are kept for disputes: the one under way, and one that goes when that is adopted.
const BESIDE: u64 = 2;

/// Blocks after its adoption for which a round's deltas and the checkpoint that it started from are kept.
pub fn kept_for(terms: &Terms) -> BlockNumber {
	terms.period().saturating_add(LATE)
}

/// Leaves of what a round leaves behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundLeaves {
	/// Of a vector in parameter layout.
	pub vector: u32,
	/// Of a delta as it is sent.
	pub delta: u32,
	/// True if a residual is left beside it.
	pub residual: bool,
}

impl RoundLeaves {
	/// Those of a run with this configuration.
	///
	/// # Errors
	/// A model that the chain would refuse.
	pub fn of(model: &ModelConfig, train: &TrainConfig) -> Result<Self, ConfigError> {
		let (vector, delta) = (leaves_of(&ParamLayout::trained(model, train)?)?, leaves_of(&ParamLayout::of_deltas(model, train)?)?);
		Ok(Self { vector, delta, residual: train.leaves_residual() })
	}

	/// Bytes on disk of a round: `deltas` of them, parameters and outer momentum of a checkpoint, and a residual.
	pub fn bytes(&self, deltas: u64) -> u64 {
		let vectors = if self.residual { 3 } else { 2 };
		blob_bytes(self.vector).saturating_mul(vectors).saturating_add(blob_bytes(self.delta).saturating_mul(deltas))
	}
}

fn leaves_of(layout: &ParamLayout) -> Result<u32, ConfigError> {
	u32::try_from(layout.tile_count()).map_err(|_| ConfigError::TooLarge)
}

/// A blob with the hashes of its leaves.
fn blob_bytes(leaves: u32) -> u64 {
	ContentDescriptor { root: H256::zero(), leaves }.disk_bytes()
}

/// Blocks that a round takes if every phase takes as long as it may. Rounds after the first one have no joining.
pub fn longest_round(durations: &PhaseDurations) -> BlockNumber {
	let PhaseDurations { joining: _, training, revealing, availability, checkpointing } = *durations;
	[training, revealing, availability, checkpointing].into_iter().fold(0, BlockNumber::saturating_add)
}

/// Disk space that a run takes of a worker, in bytes, besides inner states, which give way to everything else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskNeed {
	/// A member's delta.
	pub delta: u64,
	/// A round: the deltas of all members, and a checkpoint.
	pub round: u64,
	/// All shards of the dataset.
	pub shards: u64,
	/// The model that an adapter is beside; 0 where a model is trained.
	pub base: u64,
	/// Blocks for which a round is kept.
	pub kept_for: BlockNumber,
}

impl DiskNeed {
	/// That of a run that trains `model` like this on a dataset of this shape with so many `members`, where disputes have these `terms`.
	///
	/// # Errors
	/// A model that the chain would refuse.
	pub fn new(model: &ModelConfig, train: &TrainConfig, members: u32, shape: &DatasetShape, terms: &Terms) -> Result<Self, ConfigError> {
		let leaves = RoundLeaves::of(model, train)?;
		let base = match train.adapter {
			Some(_) => blob_bytes(leaves_of(&ParamLayout::new(model)?)?),
			None => 0,
		};
		let shard = TokenWidth::of(model.vocab, train.masked).chunks(shape.tokens_per_shard);
		Ok(Self {
			delta: blob_bytes(leaves.delta),
			round: leaves.bytes(members.into()),
			shards: blob_bytes(shard).saturating_mul(shape.shard_count.into()),
			base,
			kept_for: kept_for(terms),
		})
	}

	/// That of a run with as many members as it takes.
	///
	/// # Errors
	/// As [`Self::new`].
	pub fn of(config: &RunConfig, shape: &DatasetShape, terms: &Terms) -> Result<Self, ConfigError> {
		Self::new(&config.model, &config.train, config.max_participants, shape, terms)
	}

	/// Rounds that are there at once where one takes `blocks` blocks.
	pub fn rounds(&self, blocks: BlockNumber) -> u64 {
		u64::from(self.kept_for.div_ceil(blocks.max(1))).saturating_add(BESIDE)
	}

	/// All that there is at once where a round takes `blocks` blocks.
	pub fn total(&self, blocks: BlockNumber) -> u64 {
		self.round.saturating_mul(self.rounds(blocks)).saturating_add(self.shards).saturating_add(self.base)
	}

	/// The fewest blocks that a round may take so that all fits into `limit` bytes; `None` if it never does.
	pub fn shortest_round(&self, limit: u64) -> Option<BlockNumber> {
		let rounds = limit
			.checked_sub(self.shards)?
			.checked_sub(self.base)?
			.checked_div(self.round)?
			.checked_sub(BESIDE)
			.filter(|rounds| *rounds > 0)?;
		Some(self.kept_for.div_ceil(u32::try_from(rounds).unwrap_or(u32::MAX)).max(1))
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::{Adapter, Projection, F32};

	/// Defaults where a chain spec says nothing.
	const TERMS: Terms = Terms { window: 28_800, clock: 4_800, extension: 600, bond: 0, most_games: 32 };
	/// 100 shards of 65,536 tokens: 32 leaves each.
	const SHAPE: DatasetShape = DatasetShape { tokens_per_shard: 65_536, shard_count: 100, held_out: 4 };

	/// 13.8 million parameters: embedding and head of 9 x 12 tiles each; in each of 8 layers four matrices of 12 x 12 and three of 30 x 12;
	/// 17 norms of 12. That is 2 * 108 + 8 * (576 + 1,080) + 204 = 13,668 tiles.
	fn model() -> ModelConfig {
		crate::presets::large().0
	}

	#[test]
	fn eight_members_of_13_8_million_parameters_take_what_was_worked_out_by_hand() {
		let need = DiskNeed::new(&model(), &TrainConfig::tiny(), 8, &SHAPE, &TERMS).unwrap();
		// A tile has 4,096 bytes, and 32 of its hash.
		assert_eq!(need.delta, 13_668 * 4_128);
		assert_eq!(need.round, 10 * 56_421_504);
		assert_eq!(need.shards, 100 * 32 * 4_128);
		// A day and the longest game, 81,000 blocks, and 100 more.
		assert_eq!(need.kept_for, 81_100);
		// A round every ten minutes, 200 blocks: 405.5 of them, begun ones whole, and two.
		assert_eq!(need.rounds(200), 408);
		assert_eq!(need.total(200), 408 * 564_215_040 + 13_209_600);
		assert_eq!(need.total(200).div_ceil(1 << 30), 215);
		// As long as unbonding takes, 201,600 blocks, it would be two and a half times as much.
		assert_eq!(((201_600_u64.div_ceil(200) + 2) * need.round) >> 30, 530);
	}

	#[test]
	fn the_shortest_round_that_fits_is_said_and_one_block_less_does_not_fit() {
		let need = DiskNeed::new(&model(), &TrainConfig::tiny(), 8, &SHAPE, &TERMS).unwrap();
		// 50 GiB hold 95 rounds beside the shards, 93 of them for disputes: 81,100 / 93 = 872.04.
		let limit = 50 << 30;
		assert_eq!(need.shortest_round(limit), Some(873));
		assert!(need.total(873) <= limit && need.total(872) > limit);
		assert_eq!(need.shortest_round(need.total(81_100)), Some(81_100));
		assert_eq!(need.shortest_round(need.total(81_100) - 1), None);
		assert_eq!(need.shortest_round(u64::MAX), Some(1));
	}

	#[test]
	fn an_adapter_takes_the_model_that_it_is_beside_once() {
		let adapter = Adapter { base: [0; 32], rank: 32, alpha: F32::new(1.0), projections: [Projection::Q].into_iter().collect() };
		let train = TrainConfig { adapter: Some(adapter), ..TrainConfig::tiny() };
		let need = DiskNeed::new(&model(), &train, 8, &SHAPE, &TERMS).unwrap();
		// In each of 8 layers A and B of 12 tiles each.
		assert_eq!((need.delta, need.base), (8 * 24 * 4_128, 13_668 * 4_128));
		assert_eq!(need.total(200), 408 * 10 * 192 * 4_128 + 13_209_600 + 56_421_504);
		assert_eq!(need.shortest_round(need.total(81_100)), Some(81_100));
		assert_eq!(need.shortest_round(need.total(81_100) - 1), None);
	}

	#[test]
	fn rounds_without_end_are_counted_without_overflow() {
		let need = DiskNeed {
			round: u64::MAX,
			kept_for: BlockNumber::MAX,
			..DiskNeed::new(&model(), &TrainConfig::tiny(), 128, &SHAPE, &TERMS).unwrap()
		};
		assert_eq!((need.total(0), need.rounds(0)), (u64::MAX, u64::from(u32::MAX) + 2));
	}

	#[test]
	fn the_longest_round_has_no_joining() {
		let durations = PhaseDurations { joining: 1_000, training: 100, revealing: 20, availability: 7, checkpointing: 3 };
		assert_eq!(longest_round(&durations), 130);
	}
}
