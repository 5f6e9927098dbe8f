//! Events of the pallet.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod events {
	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// A claim is disputed. The claimant moves first.
		Opened {
			/// The claim; its account defends it.
			claim: ClaimId,
			/// Who says that it is false.
			challenger: AccountId,
			/// What the challenger disagrees with first, in a claim about work.
			doubt: Option<Doubt>,
			/// Bond held of the challenger, in planck.
			bond: Balance,
			/// Last block that the first move may be in.
			deadline: BlockNumber,
		},
		/// A side moved, and the game goes on. What it posted is in the extrinsic.
		Played {
			/// The claim.
			claim: ClaimId,
			/// Whose game about it.
			challenger: AccountId,
			/// Who moved.
			by: Side,
			/// What kind of move it was.
			kind: MoveKind,
			/// Encoded bytes of the move.
			bytes: u32,
			/// Whose turn it is now.
			turn: Side,
			/// Last block that the next move may be in.
			deadline: BlockNumber,
		},
		/// A game is over, and its bond is free or spent.
		Decided {
			/// The claim.
			claim: ClaimId,
			/// Whose game about it.
			challenger: AccountId,
			/// Who defended it at the end: the claimant, or a member of the quorum that it leads.
			defender: AccountId,
			/// How it ended.
			decision: Decision,
			/// What the side that lost has lost, in planck.
			slashed: Balance,
			/// How much of that somebody else received, in planck.
			rewarded: Balance,
			/// Who received it; `None` if nobody did.
			receiver: Option<AccountId>,
			/// How much of that was burned, in planck: the rest.
			burned: Balance,
			/// Extrinsics of the game, opening and deciding move included.
			extrinsics: u32,
			/// Bytes of the witness that decided it; zero if none did.
			witness_bytes: u32,
			/// Blocks from its opening to its end.
			blocks: BlockNumber,
		},
		/// A game ended without a decision, and its bond is free: another one has proven the claim false, or what the claim is judged
		/// by is gone.
		Moot {
			/// The claim.
			claim: ClaimId,
			/// Whose game about it.
			challenger: AccountId,
		},
		/// An account can be drawn as an auditor, from the second epoch after this one on.
		VerifierEnrolled {
			/// The account.
			who: AccountId,
		},
		/// An account is no longer drawn as an auditor, from the second epoch after this one on.
		VerifierResigned {
			/// The account.
			who: AccountId,
		},
		/// As if the account had resigned: it did not do what it was drawn for, something that it claimed fell, or it is no active verifier any
		/// more. It can enroll again.
		VerifierDropped {
			/// The account.
			who: AccountId,
		},
		/// Two auditors were drawn for a participant's work.
		AuditDrawn {
			/// Run.
			run: RunId,
			/// Adopted round.
			round: RoundIndex,
			/// Whose work it is.
			subject: AccountId,
			/// Who is to run it again.
			auditors: [AccountId; 2],
			/// The sample is the state root after this inner step, from 0.
			step: u32,
			/// Last block for sealing it.
			seal_by: BlockNumber,
		},
		/// Nothing was drawn of a round: its record is gone, all its states are committed, or too little is left of its challenge window.
		AuditsSkipped {
			/// Run.
			run: RunId,
			/// Adopted round.
			round: RoundIndex,
		},
		/// An auditor has sealed its report.
		AuditSealed {
			/// Run.
			run: RunId,
			/// Adopted round.
			round: RoundIndex,
			/// The auditor.
			auditor: AccountId,
			/// Its seal.
			sealed: H256,
		},
		/// An auditor has opened its report.
		AuditReported {
			/// Run.
			run: RunId,
			/// Adopted round.
			round: RoundIndex,
			/// The auditor.
			auditor: AccountId,
			/// What it says.
			report: Report,
		},
		/// An audit is over.
		AuditClosed {
			/// Run.
			run: RunId,
			/// Adopted round.
			round: RoundIndex,
			/// Whose work was audited.
			subject: AccountId,
			/// Work units that each of the paid was credited with.
			units: u128,
			/// Auditors that were paid.
			paid: Vec<AccountId>,
			/// Auditors that did not do what they were drawn for.
			missed: Vec<AccountId>,
		},
		/// An auditor was drawn for an answer.
		AnswerAuditDrawn {
			/// The answer.
			answer: AnswerId,
			/// Who is to compute it again.
			auditor: AccountId,
			/// Last block for demanding its text.
			demand_by: BlockNumber,
			/// Block in which the audit closes.
			closes_at: BlockNumber,
		},
		/// Nothing was drawn of a claim of pay: too little is left of the time in which the provider's bond is bound.
		AnswerAuditsSkipped {
			/// Session.
			session: SessionId,
			/// Who was paid.
			provider: AccountId,
			/// Answers of the voucher.
			answers: u32,
		},
		/// An auditor demands the text of an answer.
		AnswerDemanded {
			/// The answer, which its provider is to deliver.
			answer: AnswerId,
			/// Who demands it.
			auditor: AccountId,
			/// Deposit held for it, in planck.
			deposit: Balance,
			/// Last block for delivering it.
			deadline: BlockNumber,
		},
		/// A provider has delivered the text of an answer: this block's body has it.
		AnswerDelivered {
			/// The answer.
			answer: AnswerId,
			/// Who demanded it.
			auditor: AccountId,
			/// What was burned of both, in planck: half of the deposit, and as much of the provider.
			burned: Balance,
		},
		/// A provider has not delivered the text of an answer in time, and the deposit is free. The provider lost as if the answer were false; or it has lost because of
		/// another answer of that session before, and nothing now.
		AnswerWithheld {
			/// The answer.
			answer: AnswerId,
			/// Who demanded it.
			auditor: AccountId,
			/// What the auditor received of the provider's stake, in planck.
			rewarded: Balance,
			/// What of it was burned, in planck.
			burned: Balance,
		},
	}
}
