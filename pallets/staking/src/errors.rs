//! Errors of the calls.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod errors {
	/// Why a call is refused.
	#[pallet::error]
	pub enum Error<T> {
		/// The account is registered already. Use `update_info` or `bond_extra`.
		AlreadyRegistered,
		/// The account is not a provider. Call `register` first.
		NotRegistered,
		/// The role set is empty or has unknown bits. Offer at least one of driver 1, worker 2, verifier 4, predictor 8.
		InvalidRoles,
		/// Speed or memory is zero, so that no work would ever be plausible, or the speed is more than 1,000,000 GFLOP/s. Measure the machine and register what it does.
		InvalidHardware,
		/// Not a compressed secp256k1 key. Its first byte is 2 or 3, and 32 more follow.
		InvalidPonwKey,
		/// Not a libp2p peer id. Give a SHA2-256 multihash, or an identity multihash of at most 42 bytes.
		InvalidPeerId,
		/// An address is empty. Leave it out of the list.
		InvalidAddress,
		/// Another provider registered this PoNW key. Create a new key.
		PonwKeyTaken,
		/// Another provider registered this peer id. Create a new libp2p key.
		PeerIdTaken,
		/// The active bond would be below the minimum that the view function `limits` shows. Bond more.
		BondTooSmall,
		/// The amount is zero. Name a positive amount.
		ZeroAmount,
		/// More than the active bond. The view function `provider` shows it.
		AmountExceedsBond,
		/// The list of unbonding chunks is full. Call `withdraw_unbonded` when one has unlocked.
		TooManyChunks,
		/// Claims of the provider are not settled yet, and its bond, its PoNW key and the speed that was tested answer for them. Wait until `open_claims` in the view function `provider` is zero; what it attests of datasets, its offer of
		/// a model, and its consent to one count until they are withdrawn.
		OpenClaims,
		/// What the provider claimed in adopted rounds can still be disputed. Wait until block `disputable_until` of the view function
		/// `provider`.
		Disputable,
		/// No chunk has unlocked yet. The view function `provider` shows when the next one does.
		NothingToWithdraw,
		/// The provider is chilled already. Call `activate` to take part again, or `unbond` to leave.
		AlreadyChilled,
		/// The provider is active already. There is nothing to do.
		AlreadyActive,
		/// Everything is unbonding already. Call `withdraw_unbonded` when it has unlocked: that ends the registration.
		AlreadyLeaving,
		/// The provider takes no part before it has answered the challenge that it was registered with. Call `prove_arithmetic`: a
		/// worker does that when it registers, and when it runs.
		Unproven,
		/// The provider has answered its challenge already. There is nothing left to be proven.
		AlreadyProven,
		/// The machine that gave this answer computes differently from the chain: its processor, compiler or driver has a fault, and
		/// its work would be judged wrong. Nothing is lost but the fee. Undo overclocking or use another machine and answer again,
		/// or leave with `deregister`.
		WrongAnswer,
		/// The stake is locked. Wait until block `locked_until` of the view function `provider`.
		Locked,
		/// The days are zero or more than 365. Lock for 1 to 365 days.
		InvalidLock,
		/// The stake is locked for at least as long already: a lock is only ever lengthened. The view function `provider` shows
		/// `locked_until`; name more days.
		LockNotLonger,
		/// The active bond is below what a verifier needs when there is one more of them; the view function `verifier_terms` shows it as
		/// `next_bond`. Bond more, or offer other roles with `update_info`.
		VerifierBondTooSmall,
		/// The provider was punished for an offence and takes no part for a while. Wait until block `suspended_until` of the view function
		/// `provider`. What is unbonding can be withdrawn meanwhile.
		Suspended,
		/// The provider is banned for good, with its PoNW key and peer id. Nothing that this account calls lets it take part again.
		Banned,
		/// A provider is nobody's operator: what it signs is its own work. Use an account that is not registered.
		IsProvider,
		/// The account is the operator of a provider, so that it cannot become one. Use another account, or call `serve` without an owner first.
		IsOperator,
		/// That account is named as the operator already, or none is and none was to be. There is nothing to do.
		OperatorUnchanged,
		/// The provider has not named this account as its operator. It calls `set_operator` first.
		NotNamed,
		/// The account is the operator of a provider already. Use another account, or call `serve` without an owner first.
		AlreadyServes,
		/// The account is nobody's operator. There is nothing to end.
		NotOperator,
	}
}
