//! Errors of the calls.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod errors {
	/// Why a call is refused, and what to do about it.
	#[pallet::error]
	pub enum Error<T> {
		/// No such round was adopted, or its record is gone. The view function `record` of `Training` shows what can be disputed.
		NotAdopted,
		/// The account made no such claim in this round. The view function `record` of `Training` shows who claimed what.
		NoClaim,
		/// Claims of this round can no longer be challenged. The view function `terms` shows how long they can be.
		WindowOver,
		/// Nobody challenges its own claim. Use another account, or another claim.
		OwnClaim,
		/// The claim was proven false already. There is nothing left to challenge about it.
		Condemned,
		/// The account has an open game about this claim. Play that one.
		AlreadyOpen,
		/// As many games are open against the account as it can be asked to play at once. Try again when one of them has ended: the view
		/// function `bond_against` answers then.
		TooManyGames,
		/// This is not what was revealed. Pass on the work of the `reveal` extrinsic as it is.
		WrongWork,
		/// The receipt has no valid signature by the key for proofs that its provider has registered, or names no provider or no checkpoint of a run; or the record of
		/// a member of a quorum has none by the key that it agreed with. Pass receipt or record and signature as their signer sent them.
		NotSigned,
		/// The receipt is of no session in which an answer could be disputed: it is settled, and the answer is not being audited; or it never paid this
		/// provider; or the run is unknown. Dispute an answer before its session is settled.
		NoSuchAnswer,
		/// There is no such game. The view functions `games` and `games_of` list the open ones.
		NoGame,
		/// It is the other side's turn, or somebody else's game. The view function `game` shows whose turn it is.
		NotYourTurn,
		/// The time of this side is over, and so is the game. Nothing can be played in it any more.
		TooLate,
		/// Another game has proven the claim false. This one ends by itself, and the bond comes back.
		ClaimFell,
		/// What the claim is judged by is gone, so that nothing can be judged. The game ends by itself, and the bond comes back.
		RecordGone,
		/// A list has more than 16,384 hashes, a proof more than 14, or a witness more than 256 KiB, about a choice 1,088 KiB. Send what the position asks for, and
		/// no more.
		TooLong,
		/// The game stands elsewhere than where this move answers: it was made on another fork, or sent twice. Read the game again by the
		/// view function `game`, and answer where it stands.
		OtherPosition,
		/// The position asks for another kind of move. The view function `game` shows it.
		WrongMove,
		/// The list has another number of entries than the position asks for. The view function `game` shows the position; make the list
		/// anew.
		WrongLength,
		/// What was posted does not lead to the root that it belongs to. Compute it again from the work that was revealed.
		WrongRoot,
		/// The entry is not in the posted list at its place. Take the list from the other side's last move.
		WrongEntry,
		/// There is no such interval, step, node, vector, tile or piece. Count from zero, and stay within what the position covers.
		NoSuchPlace,
		/// The witness is not one for this piece: too short, too long, or not what was committed to. It decides nothing:
		/// compute it again from the state before the piece, and send it in time.
		BadWitness,
		/// This runtime cannot judge the run's configuration. Challenge a claim of a run whose arithmetic version is that of the chain.
		Unjudgeable,
		/// Only an active provider that offers the role of a verifier audits. Register with that role, bond, and prove the arithmetic.
		NotVerifier,
		/// The account is enrolled, or has left the list less than two epochs ago. Wait for two epochs then.
		AlreadyEnrolled,
		/// There are as many verifiers as there can be. Try again when one has left: the view function `verifiers` lists them. Who is active no
		/// more leaves by itself, and its place is free two epochs later.
		TooManyVerifiers,
		/// The account is not enrolled, or has resigned already. Call `enroll` to audit.
		NotEnrolled,
		/// The account was not drawn to audit anything in this round, or the audit is closed. The view function `audits_of` lists what it was
		/// drawn for.
		NotDrawn,
		/// The account has sealed its report already. It opens it with `report_audit` when both auditors have sealed.
		AlreadySealed,
		/// The time for sealing is over, and nothing can be done any more. Seal the next audit before the deadline that the view function `audit`
		/// shows.
		SealingOver,
		/// The other auditor can still seal, and must not see this report before. Wait for its seal, or for the deadline that the view
		/// function `audit` shows.
		StillSealing,
		/// Nothing was sealed in time, so nothing can be reported. Seal the next audit before the deadline that the view function `audit`
		/// shows.
		NothingSealed,
		/// The account has reported already. There is nothing left to do in this audit.
		AlreadyReported,
		/// The time for reporting is over, and nothing can be done any more. Report the next audit before the deadline that the view function
		/// `audit` shows.
		ReportingOver,
		/// This is not the report that was sealed, or not with that salt. Send exactly what was sealed.
		SealBroken,
		/// The account was not drawn to audit this answer, or the audit is closed. The view function `answer_audits_of` lists what it was drawn for.
		NotDrawnForAnswer,
		/// The answer was demanded already. The view function `answer_audit` shows what has become of it, and the block whose body has it.
		AlreadyDemanded,
		/// It is too late to demand this answer. Demand the next one before the block `demand_by` of the view function `answer_audit`.
		DemandOver,
		/// Nobody demands this answer of the caller now: it was not demanded, or was delivered, or its time is over. The view function `answers_demanded_of`
		/// lists what is demanded.
		NotDemanded,
		/// The tokens are not those of the receipt. Send prompt and answer as they were read and given, token by token.
		WrongText,
		/// No dispute could be opened about this answer: its receipt names no run of this chain, or its text is longer than a dispute can judge.
		/// Answer nothing of that kind.
		Undisputable,
		/// This receipt is not the one that was paid for in this place. Send the receipt of that place, the root of those before it, and the hashes of all behind
		/// it up to the last one that was claimed, which the view function `answer_audit` shows.
		WrongReceipts,
		/// The account has less left that could be slashed than the least bond of a provider, and so no say in audits. The view function `limits` of
		/// `Staking` shows that bond. Bond more with `bond_extra`, and try again before the deadline that the view function `audit` shows.
		TooLittleAtStake,
		/// What one member of the quorum says that it gave is not what another one says that it was given. Post records that fit together.
		OpenSeam,
	}
}
