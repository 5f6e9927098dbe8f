//! Who may have made a block, and that it was them: what a validator's node checks of a header before it takes the block.

use codec::Encode;
use neuroshard_chain_client::Header;
use sp_consensus_babe::{
	digests::{CompatibleDigestItem, PreDigest},
	make_vrf_sign_data, AuthorityId, AuthorityIndex, AuthoritySignature, Epoch, Slot,
};
use sp_core::{
	crypto::{VrfPublic, Wraps},
	sr25519, Pair, U256,
};
use sp_crypto_hashing::blake2_256;
use sp_runtime::DigestItem;

/// Takes the seal off `header`: the header that the author executed and signed.
///
/// # Errors
/// If there is no seal at the end.
pub(super) fn unsealed(header: &Header) -> Result<(Header, AuthoritySignature), String> {
	let mut header = header.clone();
	let seal = header.digest.pop().as_ref().and_then(CompatibleDigestItem::as_babe_seal);
	let seal = seal.ok_or_else(|| "its header does not end with the seal of its author".to_owned())?;
	Ok((header, seal))
}

/// Checks that `seal` is that of the validator of `epoch` that `header`, which is without it, names, and that the validator's VRF
/// output, which goes into the chain's randomness, is the one for the slot. A secondary slot must be the validator's.
///
/// Not checked is whether the output of a primary slot is low enough to win it. `epoch` must be the one that the slot is in.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn check(header: &Header, seal: &AuthoritySignature, epoch: &Epoch) -> Result<(), String> {
	let claims = header.digest.logs().iter().filter(|item| matches!(item, DigestItem::PreRuntime(sp_consensus_babe::BABE_ENGINE_ID, _)));
	let claims: Vec<_> = claims.collect();
	let [claim] = claims[..] else { return Err(format!("it has {} claims of a slot", claims.len())) };
	let claim = claim.as_babe_pre_digest().ok_or("its claim of a slot cannot be read")?;
	let (index, slot) = (claim.authority_index(), claim.slot());

	let vrf = match &claim {
		PreDigest::Primary(primary) => &primary.vrf_signature,
		PreDigest::SecondaryVRF(secondary) if epoch.config.allowed_slots.is_secondary_vrf_slots_allowed() => {
			let expected = secondary_author(slot, epoch);
			if expected != Some(index) {
				return Err(format!("slot {} is not that of validator {index}", *slot));
			}
			&secondary.vrf_signature
		}
		PreDigest::SecondaryPlain(_) | PreDigest::SecondaryVRF(_) => {
			return Err(format!("slot {} must be claimed otherwise", *slot));
		}
	};
	let author = author(index, epoch).ok_or_else(|| format!("there is no validator {index}"))?;
	let signature = seal.as_inner_ref();
	if !sr25519::Pair::verify(signature, header.hash(), author.as_inner_ref()) {
		return Err(format!("the seal is not that of validator {index}"));
	}
	let data = make_vrf_sign_data(&epoch.randomness, slot, epoch.epoch_index);
	if !author.as_inner_ref().vrf_verify(&data, vrf) {
		return Err(format!("the VRF output of validator {index} is not the one for slot {}", *slot));
	}
	Ok(())
}

fn author(index: AuthorityIndex, epoch: &Epoch) -> Option<&AuthorityId> {
	epoch.authorities.get(usize::try_from(index).ok()?).map(|(author, _)| author)
}

/// Validator that may make a block in `slot` if nobody wins it: the hash of randomness and slot, modulo the number of validators, as in
/// `sc-consensus-babe`. `None` without validators.
fn secondary_author(slot: Slot, epoch: &Epoch) -> Option<AuthorityIndex> {
	let hash = U256::from_big_endian(&blake2_256(&(epoch.randomness, slot).encode()));
	let index = hash.checked_rem(epoch.authorities.len().into())?;
	AuthorityIndex::try_from(index).ok()
}
