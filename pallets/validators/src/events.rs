//! Events of the pallet.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod events {
	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// A new candidate.
		CandidateAdded {
			/// The candidate.
			who: AccountId,
			/// Its self-bond in planck.
			bond: Balance,
			/// Part of every reward that it keeps.
			commission: Perbill,
		},
		/// A candidate added to its self-bond.
		Bonded {
			/// The candidate.
			who: AccountId,
			/// Planck added.
			amount: Balance,
		},
		/// A candidate started to take a part out of its self-bond.
		Unbonded {
			/// The candidate.
			who: AccountId,
			/// Planck on their way out.
			amount: Balance,
			/// First block in which they can be withdrawn.
			unlocks_at: BlockNumber,
		},
		/// A candidate withdrew unlocked parts.
		Withdrawn {
			/// The candidate.
			who: AccountId,
			/// Planck released.
			amount: Balance,
		},
		/// A candidate is not elected any more.
		Chilled {
			/// The candidate.
			who: AccountId,
		},
		/// A candidate can be elected again.
		Activated {
			/// The candidate.
			who: AccountId,
		},
		/// A candidate set its commission.
		CommissionSet {
			/// The candidate.
			who: AccountId,
			/// Part of every reward that it keeps.
			commission: Perbill,
			/// First block in which it applies.
			from: BlockNumber,
		},
		/// A candidate has nothing at stake any more, and its nominations are released.
		CandidateRemoved {
			/// Who was a candidate.
			who: AccountId,
		},
		/// A nominator backed a candidate, or added to its backing.
		Nominated {
			/// The nominator.
			nominator: AccountId,
			/// Whom it backs.
			candidate: AccountId,
			/// Planck added.
			amount: Balance,
		},
		/// A nominator started to take a part of its backing back.
		Unnominated {
			/// The nominator.
			nominator: AccountId,
			/// Whom it backs.
			candidate: AccountId,
			/// Planck on their way out.
			amount: Balance,
			/// First block in which they can be withdrawn.
			unlocks_at: BlockNumber,
		},
		/// A nominator withdrew unlocked parts.
		NominationWithdrawn {
			/// The nominator.
			nominator: AccountId,
			/// Whom it backed.
			candidate: AccountId,
			/// Planck released.
			amount: Balance,
		},
		/// A nomination ended at once: a larger one took its place, or its candidate left. All of it is free again.
		NominationReleased {
			/// The nominator.
			nominator: AccountId,
			/// Whom it backed.
			candidate: AccountId,
			/// Planck released, unbonding parts included.
			amount: Balance,
		},
		/// A validator set was elected.
		Elected {
			/// The session that it is for.
			session: SessionIndex,
			/// Its size.
			validators: u32,
		},
		/// The number of validators that are elected was set.
		ValidatorCountSet {
			/// Their number, from the next election on.
			count: u32,
		},
		/// A validator and its nominators earned.
		Rewarded {
			/// The validator.
			validator: AccountId,
			/// All that was earned, in planck.
			amount: Balance,
			/// What the validator keeps of it before it is shared by stake: the commission, and what cannot be divided.
			kept: Balance,
		},
		/// Rewards were paid.
		RewardsClaimed {
			/// Who was paid.
			who: AccountId,
			/// Planck paid.
			amount: Balance,
		},
		/// An account cannot be a candidate before some block.
		Barred {
			/// The offender.
			who: AccountId,
			/// First block in which it can.
			until: BlockNumber,
		},
		/// A candidate was slashed for an offence, with all that backs it. What was taken is burned.
		Slashed {
			/// The offender.
			candidate: AccountId,
			/// Session of the offence.
			session: SessionIndex,
			/// Planck taken from its self-bond, unbonding parts included.
			own: Balance,
			/// Planck taken from nominations, unbonding parts included.
			nominations: Balance,
		},
		/// A nomination was slashed for an offence of its candidate. What was taken is burned.
		NominationSlashed {
			/// The nominator.
			nominator: AccountId,
			/// The offender.
			candidate: AccountId,
			/// Planck taken, from unbonding parts included.
			amount: Balance,
		},
	}
}
