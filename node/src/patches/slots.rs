//! Remembers who made which block for which slot.

use codec::{Decode, Encode};
use neuroshard_runtime::{configs::MAX_HEADER_SIZE, opaque::Block, Header};
use sc_client_api::AuxStore;
use sc_consensus_babe::find_pre_digest;
use sp_consensus_babe::{digests::CompatibleDigestItem, AuthorityId, AuthorityPair, EquivocationProof, Slot};
use sp_core::Pair;
use sp_runtime::traits::Header as _;

/// Slots before the running one whose blocks are compared.
pub const REMEMBERED: u64 = 1_000;
/// Slots that are stored. A slot takes the place of the one so many slots before it, so that nothing has to be looked for and removed; it is more
/// than [`REMEMBERED`] and the slot that may come next. It does not take that of a later one, which was stored while this node's clock was ahead: when
/// that slot comes, its author must not make another block for it.
const PLACES: u64 = 1_024;
/// Longest header in bytes that is remembered: what its author may put there, and as much for an epoch's first block with as many authorities
/// as there can be. Longer ones are of no valid block.
const MAX_HEADER: usize = 2 * MAX_HEADER_SIZE as usize;
/// Prefix of the keys that places are stored under.
const PREFIX: &[u8] = b"sealed_headers_of_slot_";

/// Result of looking at a header, by its slot and author.
#[derive(Clone, Debug, PartialEq)]
pub enum Sight {
	/// It is not compared: its slot is too old or in the future, or has no place, or it is too long.
	Ignored,
	/// It is not compared: none of its authors sealed it. It took signatures to see that.
	Unsealed,
	/// It is the first one of its author for this slot, and remembered from now on.
	First,
	/// It is the one that is remembered.
	Again,
	/// Its author sealed another one for this slot.
	Second {
		/// Proof of it.
		proof: Box<EquivocationProof<Header>>,
		/// True if [`set_reported`] was called for this slot and author.
		reported: bool,
	},
}

/// A header, the place among the authorities that it claims, who sealed it, and whether it was reported that this author sealed another one for
/// the slot.
#[derive(Encode, Decode)]
struct Sealed {
	header: Header,
	index: u32,
	author: AuthorityId,
	reported: bool,
}

/// Compares a whole header, with its seal, with those that are remembered of its slot, and remembers it if it is the first of its author. Only what
/// the author has sealed counts: no header costs anything for whom it merely names. `authors` says who can have the place among the authorities
/// that the header claims; it is asked only about a header that is new.
///
/// What it does to `store` is no transaction: only one may run at a time.
///
/// # Errors
/// What the storage says.
pub fn look<S: AuxStore>(
	store: &S,
	now: Slot,
	header: &Header,
	authors: impl FnOnce(u32) -> Vec<AuthorityId>,
) -> sp_blockchain::Result<Sight> {
	let Ok(claim) = find_pre_digest::<Block>(header) else { return Ok(Sight::Ignored) };
	let (slot, index) = (claim.slot(), claim.authority_index());
	let is_near = *slot <= (*now).saturating_add(1) && (*now).saturating_sub(*slot) <= REMEMBERED;
	if !is_near || header.encoded_size() > MAX_HEADER {
		return Ok(Sight::Ignored);
	}
	let Some(mut known) = load(store, slot)? else { return Ok(Sight::Ignored) };
	let hash = header.hash();
	if known.iter().any(|sealed| sealed.header.hash() == hash) {
		return Ok(Sight::Again);
	}
	// Two headers with different places prove nothing: who has one place now and another one soon could hide its blocks behind such a header.
	if let Some(first) = known.iter().find(|sealed| sealed.index == index && is_sealed_by(header, &sealed.author)) {
		let (offender, first_header) = (first.author.clone(), first.header.clone());
		let proof = Box::new(EquivocationProof { slot, offender, first_header, second_header: header.clone() });
		return Ok(Sight::Second { proof, reported: first.reported });
	}
	let Some(author) = authors(index).into_iter().find(|author| is_sealed_by(header, author)) else {
		return Ok(Sight::Unsealed);
	};
	known.push(Sealed { header: header.clone(), index, author, reported: false });
	save(store, slot, &known)?;
	Ok(Sight::First)
}

/// Notes that it was reported that `author` sealed two headers for `slot`.
///
/// # Errors
/// What the storage says.
pub fn set_reported<S: AuxStore>(store: &S, slot: Slot, author: &AuthorityId) -> sp_blockchain::Result<()> {
	let Some(mut known) = load(store, slot)? else { return Ok(()) };
	for sealed in known.iter_mut().filter(|sealed| sealed.author == *author) {
		sealed.reported = true;
	}
	save(store, slot, &known)
}

/// Returns whether the last digest of a header is the seal of `author` over the rest.
fn is_sealed_by(header: &Header, author: &AuthorityId) -> bool {
	let mut header = header.clone();
	let seal = header.digest_mut().pop().and_then(|item| item.as_babe_seal());
	seal.is_some_and(|seal| AuthorityPair::verify(&seal, header.hash(), author))
}

/// Returns the headers that are remembered of a slot; none if a later one has its place. What cannot be read is an earlier slot's, or none's.
fn load<S: AuxStore>(store: &S, slot: Slot) -> sp_blockchain::Result<Option<Vec<Sealed>>> {
	let place = store.get_aux(&key(slot))?;
	let place = place.and_then(|bytes| <(Slot, Vec<Sealed>)>::decode(&mut &bytes[..]).ok());
	Ok(match place {
		Some((stored, _)) if stored > slot => None,
		Some((stored, sealed)) if stored == slot => Some(sealed),
		_ => Some(Vec::new()),
	})
}

fn save<S: AuxStore>(store: &S, slot: Slot, known: &[Sealed]) -> sp_blockchain::Result<()> {
	store.insert_aux(&[(key(slot).as_slice(), (slot, known).encode().as_slice())], &[])
}

fn key(slot: Slot) -> Vec<u8> {
	let place = slot.checked_rem(PLACES).unwrap_or_default();
	[PREFIX, &place.to_be_bytes()].concat()
}

#[cfg(test)]
pub(crate) mod tests {
	use super::*;
	use sc_client_api::in_mem::Blockchain;
	use sp_consensus_babe::{
		check_equivocation_proof,
		digests::{PreDigest, SecondaryPlainPreDigest},
	};
	use sp_runtime::{Digest, DigestItem};

	pub(crate) const SLOT: u64 = 600_000_000;

	pub(crate) fn author(seed: u8) -> AuthorityPair {
		AuthorityPair::from_seed(&[seed; 32])
	}

	/// A sealed block of this author for the slot `slot`.
	pub(crate) fn header(author: &AuthorityPair, slot: u64, state: u8) -> Header {
		header_of_place(0, author, slot, state)
	}

	/// One that claims this place among the authorities.
	fn header_of_place(authority_index: u32, author: &AuthorityPair, slot: u64, state: u8) -> Header {
		let claim = PreDigest::SecondaryPlain(SecondaryPlainPreDigest { authority_index, slot: slot.into() });
		let digest = Digest { logs: vec![DigestItem::babe_pre_digest(claim)] };
		let hash = |byte| neuroshard_runtime::Hash::repeat_byte(byte);
		let mut header = Header::new(7, hash(0), hash(state), hash(0), digest);
		let seal = author.sign(header.hash().as_ref());
		header.digest_mut().push(DigestItem::babe_seal(seal));
		header
	}

	/// Returns the result for this header three slots after [`SLOT`], where `authors` can have made it.
	fn look_at(store: &Blockchain<Block>, header: &Header, authors: &[&AuthorityPair]) -> Sight {
		look(store, (SLOT + 3).into(), header, |_| authors.iter().map(|pair| pair.public()).collect()).expect("a store")
	}

	#[test]
	fn two_blocks_of_one_author_for_one_slot_are_proven_and_nothing_else_is() {
		let store = Blockchain::<Block>::new();
		let (one, other) = (author(1), author(2));
		let look = |author: &AuthorityPair, slot, state| look_at(&store, &header(author, slot, state), &[&one, &other]);
		let first = header(&one, SLOT, 1);
		assert_eq!(look_at(&store, &first, &[&one]), Sight::First);
		assert_eq!(look_at(&store, &first, &[]), Sight::Again);
		assert_eq!(look(&other, SLOT, 2), Sight::First, "another author");
		assert_eq!(look(&one, SLOT + 1, 2), Sight::First, "another slot");
		let Sight::Second { proof, reported } = look(&one, SLOT, 2) else { panic!("a second block") };
		assert_eq!((proof.offender.clone(), proof.slot, reported), (one.public(), SLOT.into(), false));
		assert!(check_equivocation_proof(*proof));
		set_reported(&store, SLOT.into(), &one.public()).expect("a store");
		assert!(matches!(look(&one, SLOT, 2), Sight::Second { reported: true, .. }));
		assert_eq!(look_at(&store, &first, &[&one]), Sight::Again, "the first one is still the first");
	}

	#[test]
	fn what_a_clock_that_was_ahead_by_hours_has_sealed_is_remembered_until_its_slot_comes() {
		let store = Blockchain::<Block>::new();
		let one = author(1);
		let look = |now: u64, slot, state| look(&store, now.into(), &header(&one, slot, state), |_| vec![one.public()]).expect("a store");
		let ahead = SLOT + 3 * PLACES;
		assert_eq!(look(ahead, ahead, 1), Sight::First);
		for slot in [SLOT, SLOT + PLACES, SLOT + 2 * PLACES] {
			assert_eq!(look(slot, slot, 1), Sight::Ignored, "its place is taken");
		}
		assert_eq!(look(SLOT + 1, SLOT + 1, 1), Sight::First, "the next one has a place of its own");
		assert!(matches!(look(ahead, ahead, 2), Sight::Second { .. }));
		assert_eq!(look(ahead + PLACES, ahead + PLACES, 1), Sight::First, "and then the place is free again");
	}

	#[test]
	fn a_header_with_the_seal_of_somebody_else_or_none_costs_nobody_anything() {
		let store = Blockchain::<Block>::new();
		let one = author(1);
		look_at(&store, &header(&one, SLOT, 1), &[&one]);
		let forged = header(&author(2), SLOT, 2);
		assert_eq!(look_at(&store, &forged, &[&one]), Sight::Unsealed);
		let mut bare = header(&one, SLOT, 2);
		bare.digest_mut().pop();
		assert_eq!(look_at(&store, &bare, &[&one]), Sight::Unsealed);
		let mut changed = header(&one, SLOT, 2);
		changed.set_state_root(neuroshard_runtime::Hash::repeat_byte(3));
		assert_eq!(look_at(&store, &changed, &[&one]), Sight::Unsealed);
	}

	#[test]
	fn nobody_hides_its_blocks_behind_a_header_with_the_place_that_it_has_in_the_next_epoch() {
		let store = Blockchain::<Block>::new();
		let one = author(1);
		assert_eq!(look_at(&store, &header_of_place(3, &one, SLOT, 9), &[&one]), Sight::First);
		assert_eq!(look_at(&store, &header(&one, SLOT, 1), &[&one]), Sight::First);
		let Sight::Second { proof, .. } = look_at(&store, &header(&one, SLOT, 2), &[&one]) else { panic!("a second block") };
		assert!(check_equivocation_proof(*proof));
	}

	#[test]
	fn the_last_thousand_slots_are_compared_and_one_that_may_come_next() {
		let one = author(1);
		for (slot, sight) in [
			(SLOT - REMEMBERED, Sight::First),
			(SLOT - REMEMBERED - 1, Sight::Ignored),
			(SLOT + 1, Sight::First),
			(SLOT + 2, Sight::Ignored),
		] {
			let store = Blockchain::<Block>::new();
			assert_eq!(look(&store, SLOT.into(), &header(&one, slot, 1), |_| vec![one.public()]).expect("a store"), sight, "{slot}");
		}
	}

	#[test]
	fn slots_far_apart_share_places_and_are_not_taken_for_each_other() {
		let store = Blockchain::<Block>::new();
		let one = author(1);
		let mut taken = std::collections::BTreeSet::new();
		for slot in SLOT..SLOT + 3 * PLACES {
			taken.insert(key(slot.into()));
		}
		assert_eq!(taken.len(), 1_024, "so many places, whatever the slots");
		for slot in [SLOT, SLOT + PLACES] {
			let look = |state| look(&store, slot.into(), &header(&one, slot, state), |_| vec![one.public()]).expect("a store");
			assert_eq!(look(1), Sight::First);
			assert!(matches!(look(2), Sight::Second { .. }));
		}
	}

	#[test]
	fn a_header_that_is_too_long_to_be_kept_is_not() {
		let store = Blockchain::<Block>::new();
		let one = author(1);
		let mut long = header(&one, SLOT, 1);
		long.digest_mut().pop();
		long.digest_mut().push(DigestItem::Other(vec![0; MAX_HEADER]));
		let seal = one.sign(long.hash().as_ref());
		long.digest_mut().push(DigestItem::babe_seal(seal));
		assert_eq!(look_at(&store, &long, &[&one]), Sight::Ignored);
	}
}
