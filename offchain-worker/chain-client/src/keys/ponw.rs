//! The secp256k1 key of Proofs of Neural Work.

use super::Seed;
use neuroshard_types::{
	announcement::{Announcement, SignedAnnouncement},
	answer_audit::TextAsk,
	inference::Receipt,
	proof::{Proof, ProofSignature},
	provider::PonwKey,
	quorum::QuorumWork,
	AccountId, H256,
};
use subxt_signer::ecdsa::Keypair;

/// Signs Proofs of Neural Work.
#[derive(Clone)]
pub struct PonwSigner(Keypair);

impl PonwSigner {
	/// The signer of a secret key; `None` for zero or a number at or above the group's order.
	pub fn from_seed(seed: &Seed) -> Option<Self> {
		Keypair::from_secret_key(*seed.expose()).ok().map(Self)
	}

	/// Compressed public key, as registered on chain.
	pub fn public(&self) -> PonwKey {
		self.0.public_key().0
	}

	/// Signature (r, s, v) over the Blake2-256 hash of [`Proof::message`], as the chain recovers it.
	pub fn sign(&self, proof: &Proof, genesis: H256, who: &AccountId) -> ProofSignature {
		self.0.sign(&proof.message(genesis, who)).0
	}

	/// Signature (r, s, v) over the hash of a request for a text.
	pub fn sign_text_ask(&self, ask: &TextAsk, genesis: H256) -> ProofSignature {
		self.0.sign(&ask.message(genesis)).0
	}

	/// Signature (r, s, v) over the hash of [`QuorumWork::message`]: what a member of a quorum says about its work.
	pub fn sign_statement(&self, work: &QuorumWork, statement: [u8; 32]) -> ProofSignature {
		self.0.sign(&work.message(statement)).0
	}

	/// The announcement with its signature (r, s, v).
	pub fn sign_announcement(&self, announcement: Announcement, genesis: H256) -> SignedAnnouncement {
		let signature = self.0.sign(&announcement.message(genesis)).0;
		SignedAnnouncement { announcement, signature }
	}

	/// Signature (r, s, v) over the hash of a receipt.
	pub fn sign_receipt(&self, receipt: &Receipt, genesis: H256) -> ProofSignature {
		self.0.sign(&receipt.message(genesis)).0
	}
}

impl std::fmt::Debug for PonwSigner {
	fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		write!(formatter, "PonwSigner({})", hex::encode(self.public()))
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::proof::{ProofKey, ProofKind};
	use sp_core::ecdsa;
	use sp_crypto_hashing::blake2_256;

	#[test]
	fn the_chain_recovers_the_registered_key_from_a_proof() {
		let signer = PonwSigner::from_seed(&Seed::random()).unwrap();
		let who = AccountId::new([7; 32]);
		let genesis = H256::repeat_byte(3);
		let proof = Proof {
			key: ProofKey { run: 1, round: 2, kind: ProofKind::Training },
			timestamp: 1_700_000_000_000,
			work_hash: H256::repeat_byte(9),
		};
		let signature = ecdsa::Signature::from_raw(signer.sign(&proof, genesis, &who));
		let digest = blake2_256(&proof.message(genesis, &who));
		assert_eq!(signature.recover_prehashed(&digest).unwrap().0, signer.public());
		let other = blake2_256(&proof.message(H256::zero(), &who));
		assert_ne!(signature.recover_prehashed(&other).map(|key| key.0), Some(signer.public()), "another chain's proof is worthless");
	}
}
