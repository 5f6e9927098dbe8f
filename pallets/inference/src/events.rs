//! Events of the pallet.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod events {
	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// A driver offers a model, or something else than before. Nobody has agreed to it yet.
		Offered {
			/// Driver.
			driver: AccountId,
			/// What answers are computed with.
			checkpoint: CheckpointId,
			/// What members of the ring agree to.
			hash: H256,
			/// Deposit held, in planck.
			deposit: Balance,
		},
		/// A member of a ring agreed to the offer.
		Joined {
			/// Driver.
			driver: AccountId,
			/// Member.
			who: AccountId,
			/// Whether all have now.
			ready: bool,
		},
		/// A member of a ring agrees to the offer no more.
		Left {
			/// Driver.
			driver: AccountId,
			/// Member.
			who: AccountId,
		},
		/// A driver offers nothing any more, and has its deposit back.
		OfferWithdrawn {
			/// Driver.
			driver: AccountId,
		},
		/// A user put money aside for answers.
		SessionOpened {
			/// Session.
			session: SessionId,
			/// Who pays.
			user: AccountId,
			/// Who is paid; `None` for a prepaid balance, from which everybody with a voucher is.
			provider: Option<AccountId>,
			/// Planck on hold.
			escrow: Balance,
		},
		/// A user put more money aside.
		ToppedUp {
			/// Session.
			session: SessionId,
			/// Planck that were added.
			amount: Balance,
			/// Planck on hold now.
			escrow: Balance,
		},
		/// A voucher was paid. `Rewards::FeePaid` says who got all of it but the owners' part.
		Claimed {
			/// Session.
			session: SessionId,
			/// Driver.
			provider: AccountId,
			/// Planck that left the escrow.
			amount: Balance,
			/// Planck of the voucher that the escrow did not have.
			missing: Balance,
			/// Planck of `amount` for the owners of the model: zero if no share of it earns.
			owners: Balance,
			/// Answers of the voucher.
			answers: u32,
			/// Receipts of the voucher.
			receipts: H256,
		},
		/// An answer of a provider was proven false, or was not defended: it is paid nothing more of the session.
		AnswerCondemned {
			/// Session.
			session: SessionId,
			/// Provider.
			provider: AccountId,
		},
		/// A session ends.
		SessionClosed {
			/// Session.
			session: SessionId,
			/// First block in which what is left may be returned. Providers claim before.
			closes_at: BlockNumber,
		},
		/// A session is over.
		SessionSettled {
			/// Session.
			session: SessionId,
			/// Who paid.
			user: AccountId,
			/// Planck that were left, and are the user's again.
			returned: Balance,
			/// Planck that were paid.
			paid: Balance,
		},
	}
}
