//! Errors of the calls.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod errors {
	/// Why a call is refused, and what to do about it.
	#[pallet::error]
	pub enum Error<T> {
		/// The account is a candidate already. Use `bond_extra`, `activate` or `set_commission`.
		AlreadyCandidate,
		/// The account is not a candidate. To become one call `bond`; to nominate, choose an account of the view function `candidates`.
		NotCandidate,
		/// No session keys are registered. Create them on the node with the RPC `author_rotateKeysWithOwner`, register them with
		/// `session.setKeys`, and try again.
		NoSessionKeys,
		/// There are as many candidates as there can be. Try again when one has left: the view function `limits` shows their number.
		TooManyCandidates,
		/// The active self-bond would be below the minimum that the view function `limits` shows. Bond more; or unbond all of it to leave.
		BondTooSmall,
		/// The amount is zero. Name a positive amount.
		ZeroAmount,
		/// More than what is active at stake there. The view functions `candidate` and `positions` show it.
		AmountExceedsStake,
		/// The list of unbonding parts is full. Withdraw when one of them has unlocked.
		TooManyChunks,
		/// Nothing has unlocked yet. The view functions `candidate` and `positions` show when the next part does.
		NothingToWithdraw,
		/// The account is in the validator set, or elected into the next one. Its last part can be withdrawn when it is in neither, and nothing
		/// that it did there can be reported any more: the view function `candidate` shows when.
		StillElected,
		/// What the account did in the validator set can still be reported. Withdraw its last part in block `reportable_until` of the view
		/// function `candidate`, or later.
		StillReportable,
		/// The candidate is chilled already. Call `activate` to be elected again, or unbond all of it to leave.
		AlreadyChilled,
		/// The candidate is active already. There is nothing to do.
		AlreadyActive,
		/// The account committed an offence and can neither bond nor be activated yet. The view function `barred_until` shows the first
		/// block in which it can.
		Barred,
		/// The candidate is chilled, so that it takes no nominations. Choose another one, or wait until it is active.
		NotActive,
		/// A candidate backs itself by its self-bond. Use `bond_extra`.
		OwnCandidacy,
		/// The account has no nomination of this candidate. The view function `positions` lists those that it has.
		NotNominated,
		/// The active nomination would be below the minimum that the view function `limits` shows. Nominate more; or take all of it back.
		NominationTooSmall,
		/// The candidate has as many nominations as it can have, and none is smaller than this one. Nominate at least what the view function
		/// `lowest_nomination` shows, which takes the place of the smallest.
		NominatorsFull,
		/// The account nominates as many candidates as it can. Take one nomination back and withdraw it first.
		TooManyNominations,
		/// Nothing was earned since the last claim. The view function `claimable` shows what can be claimed.
		NothingToClaim,
		/// The number of validators cannot be. Take at least 1, and at most the constant `MaxValidators`.
		InvalidValidatorCount,
	}
}
