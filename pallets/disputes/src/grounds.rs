//! What a claim is judged by, as the game takes it.

use crate::Config;
use alloc::vec::Vec;
use neuroshard_graph::{
	corpus::{Corpus, Window},
	game::{Setting, Subject},
	Hash,
};
use neuroshard_types::{
	assignment::{draw_index, training_window, training_windows, Permutation},
	dispute::{AttestationClaim, ClaimId, ClaimKind, Claims, WorkClaim},
	run::RunConfig,
	RoundIndex, H256,
};

/// What a claim is judged by.
pub(crate) enum Grounds {
	/// Inner steps of a round.
	Work { round: RoundIndex, claim: WorkClaim },
	/// Outer steps.
	Attestation { config: RunConfig, first_round: RoundIndex, start: Hash, deltas: Vec<Vec<Hash>>, claimed: Hash },
}

impl Grounds {
	/// Those of `claim`; `None` if there is no such claim, or a record that is needed is gone.
	pub fn of<T: Config>(claim: &ClaimId) -> Option<Self> {
		let ClaimId { run, round, kind, who } = claim;
		match kind {
			ClaimKind::Work => T::Claims::work(*run, *round, who).map(|claim| Self::Work { round: *round, claim }),
			ClaimKind::Attestation => T::Claims::attestation(*run, *round, who).map(Self::from),
		}
	}

	/// First round whose record they are read from.
	pub fn first_round(&self) -> RoundIndex {
		match self {
			Self::Work { round, .. } => *round,
			Self::Attestation { first_round, .. } => *first_round,
		}
	}

	/// Records that they are read from.
	pub fn records(&self) -> u32 {
		match self {
			Self::Work { .. } => 1,
			Self::Attestation { deltas, .. } => u32::try_from(deltas.len()).unwrap_or(u32::MAX),
		}
	}

	/// Applies `rule` to the setting of a game about the claim.
	pub fn judge<R>(&self, rule: impl FnOnce(&Setting<'_>) -> R) -> R {
		match self {
			Self::Work { round, claim } => {
				let (model, train) = (&claim.config.model, &claim.config.train);
				let window = drawn_windows(claim);
				let subject = Subject::Work { corpus: corpus(claim), window: &window };
				rule(&Setting { model, train, round: *round, start: claim.start.0, subject })
			}
			Self::Attestation { config, first_round, start, deltas, claimed } => {
				let subject = Subject::Checkpoint { deltas, claimed: *claimed };
				rule(&Setting { model: &config.model, train: &config.train, round: *first_round, start: *start, subject })
			}
		}
	}
}

impl From<AttestationClaim> for Grounds {
	fn from(AttestationClaim { config, job, checkpoint }: AttestationClaim) -> Self {
		let roots = |roots: Vec<H256>| roots.into_iter().map(|root| root.0).collect();
		let deltas = job.steps.into_iter().map(roots).collect();
		Self::Attestation { config, first_round: job.first_round, start: job.start.0, deltas, claimed: checkpoint.0 }
	}
}

/// The dataset of a claim about work.
fn corpus(claim: &WorkClaim) -> Corpus {
	let shape = claim.shape;
	Corpus { root: claim.dataset_root.0, shards: shape.shard_count, tokens_per_shard: shape.tokens_per_shard }
}

/// The window that the claimant was to read as sequence (second) of an inner step (first).
fn drawn_windows(claim: &WorkClaim) -> impl Fn(u32, u32) -> Option<Window> {
	let (shape, position, train) = (claim.shape, claim.position, claim.config.train.clone());
	let permutation = Permutation::new(claim.seed, training_windows(&shape, train.seq_len));
	move |step, sequence| {
		let index = draw_index(position, train.inner_steps, step, train.batch, sequence);
		training_window(&shape, train.seq_len, permutation?.apply(index)?)
	}
}
