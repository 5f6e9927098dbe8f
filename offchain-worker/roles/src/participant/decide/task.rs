//! Tasks of a participant.

use neuroshard_types::{
	dispute::OuterJob,
	run::{Attestation, VoteBitmap},
	DatasetId, RoundIndex, RunId, H256,
};

/// A round whose inner steps this worker is to take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drawn {
	/// Its number.
	pub round: RoundIndex,
	/// Its attempt.
	pub attempt: u32,
	/// Seed of the window permutation. Every attempt has another one.
	pub seed: H256,
	/// Checkpoint that the inner steps start from.
	pub start: H256,
	/// Checkpoint that the delta is the difference from, if this worker is the bridge to another cohort, where the steps start from.
	pub base: Option<H256>,
	/// Place in the round: decides the windows.
	pub position: u32,
}

/// One thing to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
	/// Make the checkpoint of round 0 from the run's seed and compare it with the run's genesis root.
	BuildGenesis,
	/// Get the checkpoint with this root from disk or peers.
	FetchCheckpoint {
		/// Its root.
		root: H256,
	},
	/// Make the attested result of the outer step the loaded checkpoint.
	Adopt {
		/// Its root.
		root: H256,
	},
	/// Get the list of a dataset's shards, without which this worker could not train.
	FindDataset {
		/// The run's dataset.
		id: DatasetId,
	},
	/// Become a member: take part from the next round on, or from this one.
	Join,
	/// Be no member any more; the round at hand is finished all the same.
	Leave,
	/// Run the inner steps and store salt, work and delta.
	Train {
		/// Of this round.
		drawn: Drawn,
	},
	/// Send the sealed commitment.
	Commit,
	/// Send salt, work and proof.
	Reveal,
	/// Get deltas by root, from those who revealed them or others who have them.
	FetchDeltas {
		/// Rounds that they were revealed in, and roots.
		wanted: Vec<(RoundIndex, H256)>,
	},
	/// Say which deltas could be fetched and checked.
	Vote {
		/// One bit per revealed delta.
		vote: VoteBitmap,
	},
	/// Get the checkpoint with this root into the store, to redo outer steps from it, or to take inner steps from it. The loaded one stays.
	FetchStart {
		/// Its root.
		root: H256,
	},
	/// Get the checkpoint of another cohort into the store, to take inner steps from it.
	FetchSibling {
		/// The other cohort.
		run: RunId,
		/// Its round that starts from the checkpoint.
		round: RoundIndex,
		/// Root of the checkpoint.
		root: H256,
	},
	/// Take the outer steps, and measure the validation loss of what they end with.
	OuterSteps {
		/// The steps.
		job: OuterJob,
	},
	/// Send the attestation.
	Attest {
		/// The attestation.
		attestation: Attestation,
	},
	/// Say that nothing is heard any more of those whom the phase waits for.
	ReportMissing {
		/// One bit for each participant.
		missing: VoteBitmap,
	},
	/// Answer the chain's test of arithmetic, without which the provider does not become active.
	ProveArithmetic {
		/// Seed of the test's inputs.
		challenge: H256,
	},
	/// Prove to be reachable in this hour.
	ProveUptime {
		/// Hour since the epoch.
		hour: u32,
	},
	/// Collect earnings.
	Claim,
}

impl Drawn {
	/// Checkpoint of another cohort that the inner steps start from.
	pub fn bridged(&self) -> Option<H256> {
		self.base.map(|_| self.start)
	}
}

impl Task {
	/// Returns whether it is about the run at hand, and not about the account.
	pub fn is_of_run(&self) -> bool {
		!matches!(self, Self::ProveArithmetic { .. } | Self::ProveUptime { .. } | Self::Claim)
	}

	/// Returns whether it is what a participant says to the chain in a phase. When the plan does not want it any more, it was done, or came too late.
	pub fn is_act(&self) -> bool {
		matches!(self, Self::Commit | Self::Reveal | Self::Vote { .. } | Self::Attest { .. } | Self::ReportMissing { .. })
	}

	/// Returns whether it only waits for a block to take it, and the round does not wait for it: the worker goes on meanwhile.
	pub fn is_chore(&self) -> bool {
		matches!(self, Self::Leave | Self::ProveUptime { .. } | Self::Claim)
	}

	/// Returns whether it may take longer than the phase that asked for it, so that it is given up when the plan changes.
	pub fn is_long(&self) -> bool {
		self.is_act()
			|| matches!(
				self,
				// Another one may have taken the last place meanwhile: it would pay for a refusal.
				Self::Join
					| Self::FetchCheckpoint { .. }
					| Self::FindDataset { .. }
					| Self::Train { .. }
					| Self::FetchDeltas { .. }
					| Self::FetchStart { .. }
					| Self::FetchSibling { .. }
			)
	}

	/// Returns whether this task still does what a later plan wants.
	pub fn is_part_of(&self, plan: Option<&Self>) -> bool {
		match (self, plan) {
			// What was revealed meanwhile must not wait for what may never come. Nothing that has arrived is lost by starting anew.
			(Self::FetchDeltas { wanted }, Some(Self::FetchDeltas { wanted: now })) => now.iter().all(|one| wanted.contains(one)),
			// The round at hand is finished all the same: the membership ends when this is done.
			(this, Some(Self::Leave)) if this.is_act() || matches!(this, Self::Train { .. }) => true,
			// What has come since does not make another vote of it: the pool has the first one.
			(Self::Vote { .. }, Some(Self::Vote { .. })) => true,
			(this, now) => Some(this) == now,
		}
	}
}

impl std::fmt::Display for Task {
	/// Describes what the worker is doing, for people.
	fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		match self {
			Self::BuildGenesis => formatter.write_str("computing the first checkpoint"),
			Self::FetchCheckpoint { root } => write!(formatter, "fetching checkpoint {root}"),
			Self::Adopt { root } => write!(formatter, "taking over checkpoint {root}"),
			Self::FindDataset { id } => write!(formatter, "getting the list of shards of dataset {id}"),
			Self::Join => formatter.write_str("joining the run"),
			Self::Leave => formatter.write_str("leaving the run"),
			Self::Train { .. } => formatter.write_str("training"),
			Self::Commit => formatter.write_str("committing"),
			Self::Reveal => formatter.write_str("revealing"),
			Self::FetchDeltas { wanted } => write!(formatter, "fetching {} deltas", wanted.len()),
			Self::Vote { .. } => formatter.write_str("voting on the deltas"),
			Self::FetchStart { root } => write!(formatter, "fetching checkpoint {root}, which steps start from"),
			Self::FetchSibling { run, root, .. } => {
				write!(formatter, "fetching checkpoint {root} of run {run}, another cohort, to start from")
			}
			Self::OuterSteps { job } => {
				let deltas = job.steps.iter().map(Vec::len).fold(0, usize::saturating_add);
				match job.steps.len() {
					0 | 1 => write!(formatter, "applying {deltas} deltas and validating"),
					steps => write!(formatter, "redoing {steps} outer steps from round {} on, with {deltas} deltas", job.first_round),
				}
			}
			Self::Attest { .. } => formatter.write_str("attesting the checkpoint"),
			Self::ReportMissing { .. } => formatter.write_str("reporting whom the round waits for and nobody hears"),
			Self::ProveArithmetic { .. } => formatter.write_str("answering the chain's test of this machine's arithmetic"),
			Self::ProveUptime { .. } => formatter.write_str("proving uptime"),
			Self::Claim => formatter.write_str("claiming earnings"),
		}
	}
}
