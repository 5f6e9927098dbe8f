//! Remembers who made which block for which slot.

use neuroshard_runtime::Header;
use sc_client_api::AuxStore;
use sc_consensus_slots::check_equivocation;
use sp_consensus_babe::{AuthorityId, EquivocationProof, Slot};

/// What is stored begins with it, so that these headers, which have their seals, do not meet those that BABE stores, which have lost them.
const PREFIX: &[u8] = b"sealed_";

/// Remembers the sealed `header` of a block of `author` for `slot`, and returns the proof if it made another one for it. At least the last
/// thousand slots before `now` are remembered.
///
/// # Errors
/// What the storage says.
pub fn second_block<S: AuxStore>(
	store: &S,
	now: Slot,
	slot: Slot,
	header: &Header,
	author: &AuthorityId,
) -> sp_blockchain::Result<Option<EquivocationProof<Header>>> {
	check_equivocation(&Prefixed(store), now, slot, header, author)
}

/// A part of a node's own storage.
struct Prefixed<'a, S>(&'a S);

impl<S: AuxStore> AuxStore for Prefixed<'_, S> {
	fn insert_aux<'a, 'b: 'a, 'c: 'a, I, D>(&self, insert: I, delete: D) -> sp_blockchain::Result<()>
	where
		I: IntoIterator<Item = &'a (&'c [u8], &'c [u8])>,
		D: IntoIterator<Item = &'a &'b [u8]>,
	{
		let insert: Vec<_> = insert.into_iter().map(|(key, value)| (prefixed(key), *value)).collect();
		let delete: Vec<_> = delete.into_iter().map(|key| prefixed(key)).collect();
		let insert: Vec<_> = insert.iter().map(|(key, value)| (key.as_slice(), *value)).collect();
		let delete: Vec<_> = delete.iter().map(Vec::as_slice).collect();
		self.0.insert_aux(&insert, &delete)
	}

	fn get_aux(&self, key: &[u8]) -> sp_blockchain::Result<Option<Vec<u8>>> {
		self.0.get_aux(&prefixed(key))
	}
}

fn prefixed(key: &[u8]) -> Vec<u8> {
	[PREFIX, key].concat()
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_runtime::opaque::Block;
	use sc_client_api::in_mem::Blockchain;
	use sp_consensus_babe::{
		check_equivocation_proof,
		digests::{CompatibleDigestItem, PreDigest, SecondaryPlainPreDigest},
		AuthorityPair,
	};
	use sp_core::Pair;
	use sp_runtime::{traits::Header as _, Digest, DigestItem};

	const SLOT: u64 = 600_000_000;

	fn author(seed: u8) -> AuthorityPair {
		AuthorityPair::from_seed(&[seed; 32])
	}

	/// A sealed block of this author for the slot `slot`.
	fn header(author: &AuthorityPair, slot: u64, state: u8) -> Header {
		let claim = PreDigest::SecondaryPlain(SecondaryPlainPreDigest { authority_index: 0, slot: slot.into() });
		let digest = Digest { logs: vec![DigestItem::babe_pre_digest(claim)] };
		let hash = |byte| neuroshard_runtime::Hash::repeat_byte(byte);
		let mut header = Header::new(7, hash(0), hash(state), hash(0), digest);
		let seal = author.sign(header.hash().as_ref());
		header.digest_mut().push(DigestItem::babe_seal(seal));
		header
	}

	#[test]
	fn two_blocks_of_one_author_for_one_slot_are_proven_and_nothing_else_is() {
		let store = Blockchain::<Block>::new();
		let look = |author: &AuthorityPair, slot: u64, state: u8| {
			let header = header(author, slot, state);
			second_block(&store, (SLOT + 3).into(), slot.into(), &header, &author.public()).expect("a store")
		};
		let (one, other) = (author(1), author(2));
		assert!(look(&one, SLOT, 1).is_none(), "a first block");
		assert!(look(&other, SLOT, 2).is_none(), "another author");
		assert!(look(&one, SLOT + 1, 2).is_none(), "another slot");
		let proof = look(&one, SLOT, 2).expect("a second block");
		assert_eq!((proof.offender.clone(), proof.slot), (one.public(), SLOT.into()));
		assert!(check_equivocation_proof(proof));
	}

	#[test]
	fn what_babe_remembers_is_not_touched() {
		let store = Blockchain::<Block>::new();
		let header = header(&author(1), SLOT, 1);
		second_block(&store, SLOT.into(), SLOT.into(), &header, &author(1).public()).expect("a store");
		assert!(check_equivocation(&store, SLOT.into(), SLOT.into(), &self::header(&author(1), SLOT, 2), &author(1).public())
			.expect("a store")
			.is_none());
	}
}
