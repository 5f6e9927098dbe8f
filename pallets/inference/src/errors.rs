//! Errors of the calls.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod errors {
	/// Why a call is refused.
	#[pallet::error]
	pub enum Error<T> {
		/// The caller is no active provider with the role of a driver, nor the operator of one. Register with that role, and activate.
		NotDriver,
		/// The model may not be used: its run is unknown or removed, or governance has halted it. The view function `Training::halted` says why;
		/// wait until the halt is lifted, or offer another model.
		NotServed,
		/// The chain knows no such checkpoint of the run, or it has lost its two thirds. Offer the newest one, which the view function
		/// `Training::run` shows with the number of rounds adopted.
		UnknownCheckpoint,
		/// The endpoint is empty or not UTF-8. Name the address at which the provider answers.
		BadEndpoint,
		/// A span has no layers, or some that the model does not have. Compare it with the layers of the model, which `Training::run` shows.
		BadSpan,
		/// An account computes a layer twice, which checks nothing. Name another account for the second time.
		SameAccountTwice,
		/// A layer is not computed by as many accounts as the redundancy says, or that is zero. Cover each layer of the model so many times.
		BadRedundancy,
		/// A member of the ring is no active provider with the role of a worker or of a predictor. Have it register with one of them, or leave it out.
		MemberNotActive,
		/// The driver offers this already. Nothing needs to be done; who has agreed still does.
		OfferUnchanged,
		/// Sessions with the driver are not settled, and their users asked for the model that it offers now. Offer a checkpoint of the same run, or close
		/// and settle the sessions first.
		OtherModel,
		/// The account offers nothing. The view function `offers` lists those that do; an own one begins with `offer`.
		NoOffer,
		/// The offer is not the one with this hash any more. Look at the new one, which the view function `offer_of` shows, before agreeing to it.
		OfferChanged,
		/// The caller is not in the ring, or is the driver, who agrees by offering. Only other members of the ring join.
		NotMember,
		/// The caller has agreed to this offer already. Nothing needs to be done.
		AlreadyJoined,
		/// The caller has not agreed to this offer. There is nothing to leave.
		NotJoined,
		/// The provider is not active as a driver now, so that it takes on nobody. Name another one, or wait until it is.
		ProviderNotActive,
		/// Not all members of the ring have agreed to the offer. Wait until they have; the view function `offer_of` shows who has.
		NotReady,
		/// Sessions with the driver are not settled. Close each, wait for its delay, and settle it; `Staking::chill` keeps new ones from being opened.
		SessionsOpen,
		/// The escrow is below the least one. The view function `terms` says what that is.
		EscrowTooSmall,
		/// The account has as many sessions as it may have. Close one, and settle it after its delay.
		TooManySessions,
		/// There is no such session: it was settled, or never opened. The view function `sessions_of` lists those of an account.
		UnknownSession,
		/// The session is another account's. Only its user adds to its escrow; name one of your own.
		NotUser,
		/// Nothing would be added. Pass an amount of at least 1.
		ZeroAmount,
		/// The caller is neither the user of the session nor its provider, or the session is prepaid and the caller is not its user. Let one of them close
		/// it.
		NotParty,
		/// The session is closing: no money is added, and it cannot be closed again. Settle it from the block on that the view function `session` shows, and
		/// open a new one.
		SessionClosing,
		/// The session is open. Close it first, and settle it after its delay.
		SessionOpen,
		/// The delay of the session is not over, in which providers claim what they are owed. Settle it from the block on that the view function `session`
		/// shows.
		TooEarly,
		/// The voucher is for another session. Pass the session that it names.
		WrongSession,
		/// The caller is not the provider that the voucher names, nor its operator; or the session is with another provider. Let the one claim that both
		/// name.
		NotPayee,
		/// An answer of the provider in this session was proven false, or was not defended. Nothing more of the session is paid to it; answer in another one.
		AnswerCondemned,
		/// The voucher has no valid signature of the session's user for this chain. Have that account sign the bytes again, plain or as wallets wrap them.
		BadSignature,
		/// The voucher says no more than what was claimed before: amount and number of answers both grow from one to the next. Claim with a later one.
		StaleVoucher,
		/// The escrow is empty. Have the user top it up, and claim again with the same voucher; answer nothing before.
		EmptyEscrow,
		/// The session pays as many providers as it may. Have the user open another one.
		TooManyPayees,
	}
}
