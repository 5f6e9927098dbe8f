//! Signatures of members: each with its key for proofs, of statements about one piece of work.

use crate::Signer;
use neuroshard_chain_client::keys::PonwSigner;
use neuroshard_graph::{game::Signature, merkle::Hash};
use neuroshard_types::quorum::QuorumClaim;
use std::sync::Arc;

/// Signs with this worker's key for proofs, and checks others by the keys with which they agreed to their seats.
#[derive(Clone)]
pub struct Keyed {
	own: PonwSigner,
	claim: Arc<QuorumClaim>,
}

impl Keyed {
	/// For the work of this quorum, as the chain would judge it.
	pub fn new(own: PonwSigner, claim: Arc<QuorumClaim>) -> Self {
		Self { own, claim }
	}
}

impl Signer for Keyed {
	fn sign(&self, statement: Hash) -> Signature {
		self.own.sign_statement(&self.claim.work, statement)
	}

	fn has_signed(&self, member: usize, statement: Hash, signature: &Signature) -> bool {
		let key = self.claim.seats.get(member).and_then(|seat| seat.key);
		key.is_some_and(|key| self.claim.work.is_signed(key, statement, signature))
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_chain_client::keys::Seed;
	use neuroshard_types::{
		quorum::{QuorumWork, Seat, Span},
		AccountId, H256,
	};

	#[test]
	fn a_statement_is_signed_by_its_member_about_this_work_and_the_chain_sees_the_same() {
		let keys = [1, 2].map(|_| PonwSigner::from_seed(&Seed::random()).unwrap());
		let account = |number: u8| AccountId::new([number; 32]);
		let work = QuorumWork { genesis: H256([9; 32]), run: 3, round: 4, seed: H256([5; 32]), leader: account(0) };
		let seat = |member: u8, key| Seat { leader: account(0), who: account(member), span: Span { first: member.into(), count: 1 }, key };
		let seats = vec![seat(0, Some(keys[0].public())), seat(1, Some(keys[1].public())), seat(2, None)];
		let claim = |work: &QuorumWork| Arc::new(QuorumClaim { work: work.clone(), seats: seats.clone() });
		let [first, second] = keys.map(|key| Keyed::new(key, claim(&work)));
		let signature = second.sign([7; 32]);
		assert_eq!([0, 1, 2, 3].map(|member| first.has_signed(member, [7; 32], &signature)), [false, true, false, false]);
		assert!(!first.has_signed(1, [8; 32], &signature));
		assert!(claim(&work).judge(|quorum| (quorum.signed)(1, [7; 32], &signature)));
		// Another attempt has another seed.
		let again = Keyed { claim: claim(&QuorumWork { seed: H256([6; 32]), ..work }), ..first };
		assert!(!again.has_signed(1, [7; 32], &signature));
	}
}
