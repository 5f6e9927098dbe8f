//! Events of the pallet.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod events {
	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// A new provider. It takes part once it has answered the challenge.
		Registered {
			/// The provider.
			who: AccountId,
			/// Its bond in planck.
			bond: Balance,
			/// Seed of the inputs that its machine is tested with.
			challenge: H256,
		},
		/// A provider has registered a higher speed than was tested. It takes part again once it has answered the challenge.
		TestDrawn {
			/// The provider.
			who: AccountId,
			/// Seed of the inputs that its machine is tested with.
			challenge: H256,
		},
		/// A provider computes what the chain computes, and is active.
		ArithmeticProven {
			/// The provider.
			who: AccountId,
		},
		/// A provider changed what it registered.
		InfoUpdated {
			/// The provider.
			who: AccountId,
		},
		/// A provider added to its active bond.
		Bonded {
			/// The provider.
			who: AccountId,
			/// What was added, in planck.
			amount: Balance,
		},
		/// A part of the active bond is on its way out.
		Unbonded {
			/// The provider.
			who: AccountId,
			/// How much, in planck.
			amount: Balance,
			/// First block at which it may be withdrawn.
			unlocks_at: BlockNumber,
		},
		/// Unlocked chunks went back to the provider's free balance.
		Withdrawn {
			/// The provider.
			who: AccountId,
			/// How much, in planck.
			amount: Balance,
		},
		/// A provider takes no new work: it chilled, left, or its active bond fell below the minimum.
		Chilled {
			/// The provider.
			who: AccountId,
		},
		/// A chilled provider takes part again.
		Activated {
			/// The provider.
			who: AccountId,
		},
		/// A provider is gone; its PoNW key and peer id are free again.
		Deregistered {
			/// The former provider.
			who: AccountId,
		},
		/// Money of a provider was taken.
		Slashed {
			/// The provider.
			who: AccountId,
			/// How much, in planck.
			amount: Balance,
			/// Who received it; `None` if it was burned.
			to: Option<AccountId>,
		},
		/// A provider locked its stake: unbonding may not start before a block.
		Locked {
			/// The provider.
			who: AccountId,
			/// First block in which unbonding may start.
			until: BlockNumber,
		},
		/// A provider has lost the role of a verifier, since its active bond is below what their number asks for. It goes on in its other
		/// roles, as a worker if it had none.
		Demoted {
			/// The provider.
			who: AccountId,
			/// What a verifier needs, in planck.
			least_bond: Balance,
		},
		/// A provider was punished, and is chilled.
		Punished {
			/// The provider.
			who: AccountId,
			/// For what.
			offence: Offence,
			/// What was burned for that, in planck.
			burned: Balance,
			/// Its reputation now.
			reputation: u32,
			/// First block in which it may take part again; the last number that there is if it is banned.
			suspended_until: BlockNumber,
		},
		/// A provider named its operator, or none. The one before acts for it no more.
		OperatorNamed {
			/// The provider.
			owner: AccountId,
			/// Its operator, once that account agrees.
			operator: Option<AccountId>,
		},
		/// An operator agreed to act for the provider that has named it.
		OperatorServes {
			/// The provider.
			owner: AccountId,
			/// Its operator.
			operator: AccountId,
		},
		/// An operator acts for its provider no more, by its own will.
		OperatorLeft {
			/// The provider.
			owner: AccountId,
			/// Its former operator.
			operator: AccountId,
		},
	}
}
