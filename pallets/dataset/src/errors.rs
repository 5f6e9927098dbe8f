//! Errors of the calls.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod errors {
	/// Why a call is refused.
	#[pallet::error]
	pub enum Error<T> {
		/// Name, licence or source is empty or not UTF-8. Fill in all three.
		InvalidText,
		/// The vocabulary is zero, above 262,144 or not a multiple of 32. Round it up to a multiple of 32.
		InvalidVocab,
		/// The tokenizer has no bytes or more than 64 MiB, or its tokens are not within the vocabulary: `end` below `usable`, and that up to `vocab`. Take the
		/// manifest as `dataset build` has written it.
		InvalidTokenizer,
		/// A shard has fewer than 2 or more than 2^26 tokens. Cut the text into other shards.
		InvalidShardSize,
		/// There are no shards or more than 65,536. Use larger shards.
		InvalidShardCount,
		/// Every shard is held out. Leave at least one for training.
		NothingToTrainOn,
		/// The manifest says that the source text has no bytes. State its size.
		NoBytes,
		/// The chain stores no more datasets. Wait until one is removed.
		TooManyDatasets,
		/// There is no such dataset, or it was removed. The view function `datasets` lists all there are.
		UnknownDataset,
		/// Only the account that proposed the dataset may do this. The view function `dataset` shows who that is.
		NotProposer,
		/// The dataset is active or retired already. There is nothing to activate; a retired one must be proposed anew.
		NotProposed,
		/// The dataset is retired already. The view function `removable_at` shows when `remove` gives the deposit back; before that, the last run that
		/// uses it ends.
		AlreadyRetired,
		/// The dataset is not active. Its proposer activates it; a retired or condemned one takes no new runs.
		NotActive,
		/// The dataset was condemned: a chunk contradicts its manifest. Use another dataset.
		Condemned,
		/// The range is empty, or ends behind the last shard. The view function `dataset` shows how many shards there are.
		InvalidShards,
		/// Only an active provider attests. Register, bond, and prove the arithmetic; `Staking::activate` lets a chilled one take part again.
		NotProvider,
		/// The dataset has as many attestations as there can be. Withdraw one that has expired, or try again later.
		TooManyAttestations,
		/// The account does not attest this, or not any more. The view functions `attestation` and `holders` show who does.
		NotAttested,
		/// The attestation is somebody else's and has not expired. Whoever made it may withdraw it.
		NotAttester,
		/// A challenge of the attestation is open. Answer it first: the view function `challenges_of` lists what is asked for. One that was missed is
		/// ended by `conclude_challenge`.
		OpenChallenges,
		/// The attestation still stands: it can be challenged until the block that the view function `attestation` shows. Withdraw it again then.
		StillAttested,
		/// The range leaves out shards that are attested, and what is attested is not taken back at once. Withdraw the attestation, wait until it has
		/// expired, and attest the other range then.
		Narrower,
		/// The stake is too small to lose the penalty for each attestation of the account: the view function `attestation_terms` shows it. Bond more
		/// with `bond_extra` of `Staking`, or withdraw what is attested of another dataset.
		StakeTooSmall,
		/// The account attests as many datasets as one can. Withdraw one of those that the view function `attestations_of` lists.
		TooManyAttested,
		/// The dataset leaves, and nothing is asked of it any more. There is nothing to do.
		DatasetLeaves,
		/// The dataset takes new runs, or a run uses it. Its proposer retires it first, and all its runs end.
		InUse,
		/// The dataset stays a while, so that it can be condemned and its attestations challenged. The view function `removable_at` shows how long.
		StillLeaving,
		/// Nobody challenges its own attestation. Withdraw what is not true.
		OwnAttestation,
		/// There is no such chunk: it is behind the shard's last one. Count from zero.
		NoSuchChunk,
		/// The account has an open challenge of this attestation. Wait until it has ended.
		AlreadyChallenged,
		/// As many challenges of this attestation are open as there can be. Try again when one of them has ended.
		TooManyChallenges,
		/// There is no such challenge. The view function `challenges_of` lists the open ones.
		NoChallenge,
		/// The time for the answer is over. Nothing can be done any more but to conclude the challenge.
		TooLate,
		/// The attester still has time to answer. The view function `challenges_of` shows until which block.
		StillTime,
		/// This is not the chunk at that place, or its proofs do not lead to the dataset's root. Send the 4 KiB of the chunk, and the siblings from
		/// the leaf upward.
		WrongOpening,
		/// The chunk is as the manifest says: all of its tokens are below the vocabulary, and only zeros follow the last one.
		/// It condemns nothing: send another chunk, if there is one that does not match.
		NotFalse,
	}
}
