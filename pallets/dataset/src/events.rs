//! Events of the pallet.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod events {
	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// A new dataset, not yet usable.
		Proposed {
			/// The dataset.
			id: DatasetId,
			/// Who proposed it.
			proposer: AccountId,
			/// Deposit held, in planck.
			deposit: Balance,
		},
		/// Runs may use the dataset.
		Activated {
			/// The dataset.
			id: DatasetId,
		},
		/// No new run may use the dataset.
		Retired {
			/// The dataset.
			id: DatasetId,
		},
		/// A dataset that takes no new runs, and that no run uses, has left the storage; its deposit is back with the proposer.
		Removed {
			/// The dataset.
			id: DatasetId,
			/// Deposit returned, in planck.
			deposit: Balance,
		},
		/// Somebody showed a chunk that contradicts the manifest: no new run may use the dataset.
		Condemned {
			/// The dataset.
			id: DatasetId,
			/// Who showed it.
			reporter: AccountId,
			/// Which chunk.
			place: ChunkPlace,
			/// Part of the proposer's deposit that the reporter got, in planck: nothing if it is the proposer.
			rewarded: Balance,
			/// Part of it that was burned, in planck.
			burned: Balance,
		},
		/// Governance has retired the dataset.
		ForceRetired {
			/// The dataset.
			id: DatasetId,
			/// Why, for people.
			reason: Reason,
		},
		/// A provider says that it holds shards, or says it again.
		Attested {
			/// The dataset.
			id: DatasetId,
			/// The provider.
			who: AccountId,
			/// The shards.
			shards: ShardRange,
			/// First block in which it does not say so any more.
			expires_at: BlockNumber,
		},
		/// An attester has withdrawn its attestation: it expires soon.
		AttestationEnding {
			/// The dataset.
			id: DatasetId,
			/// The provider.
			who: AccountId,
			/// First block in which it does not say so any more.
			expires_at: BlockNumber,
		},
		/// An attestation has ended; its deposit is back with the attester.
		AttestationEnded {
			/// The dataset.
			id: DatasetId,
			/// The provider.
			who: AccountId,
		},
		/// An attester is asked for a chunk.
		Challenged {
			/// The dataset.
			id: DatasetId,
			/// The attester.
			who: AccountId,
			/// Who asks.
			challenger: AccountId,
			/// The chunk.
			place: ChunkPlace,
			/// Last block for the answer.
			deadline: BlockNumber,
		},
		/// An attester has opened the chunk that it was asked for.
		Answered {
			/// The dataset.
			id: DatasetId,
			/// The attester.
			who: AccountId,
			/// Who asked.
			challenger: AccountId,
			/// Part of the challenger's bond that the attester got, in planck.
			rewarded: Balance,
			/// Part of it that was burned, in planck.
			burned: Balance,
		},
		/// An attester has not opened a chunk in time. The challenger's bond is back.
		Failed {
			/// The dataset.
			id: DatasetId,
			/// The attester.
			who: AccountId,
			/// Who asked.
			challenger: AccountId,
			/// Part of the attester's stake that the challenger got, in planck.
			rewarded: Balance,
			/// Part of it that was burned, in planck.
			burned: Balance,
		},
		/// A challenge has ended with its attestation, and nobody has lost it: the bond is back.
		Moot {
			/// The dataset.
			id: DatasetId,
			/// The attester.
			who: AccountId,
			/// Who asked.
			challenger: AccountId,
		},
	}
}
