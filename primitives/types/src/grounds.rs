//! Grounds that a claim is judged by, as the dispute game takes them: the same for the chain and for both players.

use crate::{
	assignment::{draw_index, training_window, training_windows, Window},
	dispute::{AnswerClaim, AttestationClaim, WorkClaim},
	run::RunConfig,
	RoundIndex, H256,
};
use alloc::vec::Vec;
use neuroshard_graph::{
	corpus::{Corpus, TokenWidth},
	game::{Base, Setting, Subject},
	Hash,
};

/// Grounds that a claim is judged by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Grounds {
	/// Inner steps of a round.
	Work {
		/// The round.
		round: RoundIndex,
		/// The claim.
		claim: WorkClaim,
	},
	/// Outer steps.
	Attestation {
		/// The run.
		config: RunConfig,
		/// Round of the first step.
		first_round: RoundIndex,
		/// Checkpoint root that it starts from.
		start: Hash,
		/// Delta roots of each step.
		deltas: Vec<Vec<Hash>>,
		/// Inner steps behind each, where deltas weigh by them.
		inner_steps: Vec<Vec<u32>>,
		/// Checkpoint root that the last one is claimed to end with.
		claimed: Hash,
	},
	/// An answer of the model.
	Answer {
		/// Round that starts from the checkpoint it was computed with.
		round: RoundIndex,
		/// The claim.
		claim: AnswerClaim,
	},
}

impl Grounds {
	/// First round whose record they are read from.
	pub fn first_round(&self) -> RoundIndex {
		match self {
			Self::Work { round, .. } | Self::Answer { round, .. } => *round,
			Self::Attestation { first_round, .. } => *first_round,
		}
	}

	/// Records that they are read from.
	pub fn records(&self) -> u32 {
		match self {
			Self::Work { .. } | Self::Answer { .. } => 1,
			Self::Attestation { deltas, .. } => u32::try_from(deltas.len()).unwrap_or(u32::MAX),
		}
	}

	/// Applies `rule` to the setting of a game about the claim.
	pub fn judge<R>(&self, rule: impl FnOnce(&Setting<'_>) -> R) -> R {
		match self {
			Self::Work { claim, .. } => {
				let (model, train) = (&claim.config.model, &claim.config.train);
				let window = claim.windows();
				let base = claim.base.map(|base| Base { checkpoint: base.checkpoint.0, round: base.round });
				let work = Subject::Work { corpus: claim.corpus(), window: &window, steps: claim.steps, base, quorum: None };
				let setting = Setting { model, train, round: claim.start_round, start: claim.start.0, subject: work };
				match &claim.quorum {
					None => rule(&setting),
					Some(quorum) => quorum.judge(|quorum| rule(&setting.of_quorum(quorum))),
				}
			}
			Self::Attestation { config, first_round, start, deltas, inner_steps, claimed } => {
				let subject = Subject::Checkpoint { deltas, inner_steps, claimed: *claimed };
				rule(&Setting { model: &config.model, train: &config.train, round: *first_round, start: *start, subject })
			}
			Self::Answer { round, claim: AnswerClaim { config, receipt } } => {
				let (start, subject) = (receipt.parameters.0, Subject::Answer(receipt.claimed(&config.tokenizer.tokens)));
				rule(&Setting { model: &config.model, train: &config.train, round: *round, start, subject })
			}
		}
	}
}

impl From<AttestationClaim> for Grounds {
	fn from(AttestationClaim { config, job, checkpoint }: AttestationClaim) -> Self {
		let roots = |roots: Vec<H256>| roots.into_iter().map(|root| root.0).collect();
		let deltas = job.steps.into_iter().map(roots).collect();
		let (first_round, start, inner_steps) = (job.first_round, job.start.0, job.inner_steps);
		Self::Attestation { config, first_round, start, deltas, inner_steps, claimed: checkpoint.0 }
	}
}

impl WorkClaim {
	/// The dataset.
	pub fn corpus(&self) -> Corpus {
		// The vocabulary of a run is that of its dataset, and it is masked if that is.
		self.shape.corpus(self.dataset_root, TokenWidth::of(self.config.model.vocab, self.config.train.masked))
	}

	/// The window that the claimant was to read as sequence (second) of an inner step (first).
	pub fn windows(&self) -> impl Fn(u32, u32) -> Option<Window> + Send + Sync + 'static {
		let (shape, position, train) = (self.shape, self.position, self.config.train.clone());
		let drawn = self.draw.among(training_windows(&shape, train.seq_len));
		move |step, sequence| {
			let index = draw_index(position, train.inner_steps, step, train.batch, sequence);
			training_window(&shape, train.seq_len, drawn?.window(index)?)
		}
	}
}
