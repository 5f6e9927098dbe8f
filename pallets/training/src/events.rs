//! Events of the pallet.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod events {
	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// A new run waits for members.
		RunCreated {
			/// The run.
			run: RunId,
			/// Who created it.
			sponsor: AccountId,
			/// What it trains on.
			dataset: DatasetId,
			/// Root of its first checkpoint.
			genesis_root: H256,
			/// Deposit held, in planck.
			deposit: Balance,
		},
		/// Work for a run draws issuance from the round under way on.
		RunApproved {
			/// The run.
			run: RunId,
		},
		/// A run is over.
		RunFinished {
			/// The run.
			run: RunId,
			/// Rounds adopted.
			rounds: RoundIndex,
			/// Root of its last checkpoint.
			checkpoint: H256,
			/// Whether it was stopped before its last round.
			stopped: bool,
		},
		/// A run is ended by the stop switch; [`Event::RunFinished`] follows.
		RunForceStopped {
			/// The run.
			run: RunId,
			/// Why.
			reason: Reason,
		},
		/// A model may not be used any more.
		ModelHalted {
			/// Its run.
			run: RunId,
			/// Why.
			reason: Reason,
		},
		/// A halted model may be used again.
		HaltLifted {
			/// Its run.
			run: RunId,
			/// Why.
			reason: Reason,
		},
		/// Some records of a finished run are gone.
		HistoryRemoved {
			/// The run.
			run: RunId,
			/// How many records.
			records: u32,
		},
		/// A run is gone and its deposit is free, but for what stays on hold for its model.
		RunRemoved {
			/// The run.
			run: RunId,
		},
		/// An account became a member.
		Joined {
			/// The run.
			run: RunId,
			/// The new member.
			who: AccountId,
		},
		/// A quorum was proposed, or with nobody in it is none any more.
		QuorumProposed {
			/// The run.
			run: RunId,
			/// Who leads it.
			leader: AccountId,
			/// Who is to hold what.
			holders: Holders,
		},
		/// A member agreed to what was proposed.
		QuorumAgreed {
			/// The run.
			run: RunId,
			/// Who leads the quorum.
			leader: AccountId,
			/// The member.
			who: AccountId,
		},
		/// A member has left a quorum.
		QuorumLeft {
			/// The run.
			run: RunId,
			/// Who leads the quorum.
			leader: AccountId,
			/// The former member.
			who: AccountId,
		},
		/// A new member takes part in the round under way, which is being trained.
		CameLate {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// How often it was started before.
			attempt: u32,
			/// The participant.
			who: AccountId,
			/// Its place, which gives its windows.
			position: u32,
		},
		/// A member left, or is no longer eligible at the start of a round.
		Left {
			/// The run.
			run: RunId,
			/// The former member.
			who: AccountId,
		},
		/// A participant missed a deadline: it is no member any more and may join again.
		DroppedOut {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// What it missed.
			phase: Phase,
		},
		/// Training began.
		RoundStarted {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// How often it was started before.
			attempt: u32,
			/// Checkpoint that its outer step starts from, and where rounds do not overlap its inner steps.
			checkpoint: H256,
			/// Seed of the window permutation.
			seed: H256,
			/// Places by account bytes ascending.
			participants: Vec<AccountId>,
			/// First block in which Training is over.
			deadline: BlockNumber,
		},
		/// The next round is drawn, in a run whose rounds overlap: its inner steps can begin.
		RoundDrawn {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// Checkpoint that its inner steps start from.
			checkpoint: H256,
			/// Seed of the window permutation.
			seed: H256,
			/// Places by account bytes ascending.
			participants: Vec<AccountId>,
		},
		/// A phase other than Training began; or Checkpointing began anew, because other outer steps are to be taken.
		PhaseStarted {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The attempt.
			attempt: u32,
			/// The phase.
			phase: Phase,
			/// First block in which it is over; `None` while too few have joined.
			deadline: Option<BlockNumber>,
		},
		/// A vote decided nothing: its phase began anew with an empty ballot.
		PhaseRepeated {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The attempt.
			attempt: u32,
			/// The phase.
			phase: Phase,
			/// How often it was repeated.
			repeats: u32,
			/// First block in which it is over.
			deadline: Option<BlockNumber>,
		},
		/// A participant committed to its work.
		Committed {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// Its sealed commitment.
			sealed: H256,
		},
		/// A participant revealed its work.
		Revealed {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// Root of its delta, by which others fetch it.
			delta_root: H256,
		},
		/// A participant voted on the deltas.
		Voted {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// One bit per revealed participant.
			vote: VoteBitmap,
		},
		/// These deltas make the next checkpoint.
		DeltasIncluded {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// Whose, by account bytes ascending.
			included: Vec<AccountId>,
		},
		/// A participant attested the next checkpoint.
		Attested {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// Its word.
			attestation: Attestation,
		},
		/// A round ended with a new checkpoint; its record tells the rest.
		RoundAdopted {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The new checkpoint.
			checkpoint: H256,
			/// Its validation loss, nats per token.
			validation_loss: F32,
			/// Deltas in it.
			included: u32,
			/// Work units that each included participant was credited with as pending; 0 unless the run is approved. Where deltas weigh by inner steps,
			/// those of one with all of them: the others have as many less as they took fewer steps.
			units: u128,
		},
		/// An attempt ended without a checkpoint and all its proofs are void.
		RoundAborted {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The attempt.
			attempt: u32,
			/// Why.
			reason: AbortReason,
		},
		/// Work is left out without anybody having cheated. Its delta leaves the model, and it is not paid.
		WorkExcluded {
			/// Which claim.
			claim: ClaimId,
			/// As in [`Event::ClaimCondemned`].
			replay: Option<RoundIndex>,
		},
		/// A claim was proven false, or not defended.
		ClaimCondemned {
			/// Which.
			claim: ClaimId,
			/// First round whose outer step the next Checkpointing redoes for it; `None` if the model is not touched, the run is over, or
			/// more than [`Config::MaxReplay`] outer steps would have to be redone.
			replay: Option<RoundIndex>,
		},
		/// A participant has not heard for a while of some of those whom a phase waits for.
		ReportedMissing {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// The phase.
			phase: Phase,
			/// One bit per participant.
			missing: VoteBitmap,
		},
		/// A run is a cohort of a family from now on.
		CohortAdded {
			/// The run that the family began with.
			family: RunId,
			/// The cohort.
			run: RunId,
		},
		/// A round began in which one participant may start from the newest checkpoint of another cohort.
		BridgeDrawn {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// The other cohort.
			other: RunId,
			/// Round of the other cohort that starts from the checkpoint.
			other_round: RoundIndex,
			/// Root of the checkpoint.
			checkpoint: H256,
		},
	}
}
