//! The kernels inside the runtime, made visible.

use alloc::vec::Vec;
use codec::{Decode, Encode};
use neuroshard_graph::{
	corpus::{Corpus, TokenWidth, Window},
	game::{Base, GameError, Move, Outcome, Position, Setting, Subject},
	merkle::Hash,
	ModelConfig, TrainConfig,
};
use neuroshard_types::{dataset::TextTokens, inference::Receipt};
use scale_info::TypeInfo;

/// Subject of a game: [`Setting`] as it travels.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct Game {
	/// The model.
	pub model: ModelConfig,
	/// Training configuration.
	pub train: TrainConfig,
	/// Round that the claim begins with.
	pub round: u32,
	/// Root of the checkpoint that the claim begins with.
	pub start: Hash,
	/// Claim that is said to follow from it.
	pub claim: Claim,
}

/// Claim of a game: [`Subject`] as it travels.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub enum Claim {
	/// The inner steps of a round, and their delta.
	Work {
		/// Root over the dataset's shard roots.
		dataset: Hash,
		/// Its shards.
		shards: u32,
		/// Tokens of each.
		tokens_per_shard: u32,
		/// Shard and first token of every sequence of the disputed step's batch.
		windows: Vec<(u32, u32)>,
		/// Inner steps of the work.
		steps: u32,
		/// Root of the checkpoint that the delta is the difference from, and the round that starts from it, if it is not that of the claim's start.
		base: Option<(Hash, u32)>,
	},
	/// Outer steps.
	Checkpoint {
		/// Delta roots of each step, by account bytes ascending.
		deltas: Vec<Vec<Hash>>,
		/// Inner steps behind each, where deltas weigh by them.
		inner_steps: Vec<Vec<u32>>,
		/// Root of the checkpoint that they are claimed to end with.
		claimed: Hash,
	},
	/// An answer, as its receipt tells it, of a run with these tokens.
	Answer(Receipt, TextTokens),
}

impl Game {
	/// Returns the outcome of `action` at `position`; see [`Position::play`].
	///
	/// # Errors
	/// Those of [`Position::play`].
	pub fn play(&self, position: &Position, action: &Move) -> Result<Outcome, GameError> {
		let window = |_: u32, sequence: u32| match &self.claim {
			Claim::Work { windows, .. } => {
				let &(shard, start) = windows.get(usize::try_from(sequence).ok()?)?;
				Some(Window { shard, start })
			}
			Claim::Checkpoint { .. } | Claim::Answer(..) => None,
		};
		let subject = match &self.claim {
			&Claim::Work { dataset, shards, tokens_per_shard, steps, base, .. } => {
				let base = base.map(|(checkpoint, round)| Base { checkpoint, round });
				let corpus = Corpus { root: dataset, shards, tokens_per_shard, width: TokenWidth::of(self.model.vocab, self.train.masked) };
				Subject::Work { corpus, window: &window, steps, base, quorum: None }
			}
			Claim::Checkpoint { deltas, inner_steps, claimed } => Subject::Checkpoint { deltas, inner_steps, claimed: *claimed },
			Claim::Answer(receipt, tokens) => Subject::Answer(receipt.claimed(tokens)),
		};
		let setting = Setting { model: &self.model, train: &self.train, round: self.round, start: self.start, subject };
		position.play(&setting, action)
	}
}

sp_api::decl_runtime_apis! {
	/// Known answers of the kernels as computed inside this runtime, for anybody to compare with their own.
	pub trait KernelsApi {
		/// Name and Blake2-256 digest of every known-answer case.
		fn known_answers() -> Vec<(Vec<u8>, [u8; 32])>;
		/// Answer to the test of arithmetic with this seed, which `Staking::prove_arithmetic` compares a provider's with.
		fn drawn_answer(seed: [u8; 32]) -> [u8; 32];
		/// What a dispute's move would lead to, the last one with its verdict included, without anything being at stake.
		fn try_move(game: Game, position: Position, action: Move) -> Result<Outcome, GameError>;
	}
}
