//! What the tests of members and the example that measures them begin with.
#![allow(dead_code, clippy::unwrap_used, reason = "each of them compiles this module and uses a part of it")]

pub mod network;

use neuroshard_graph::{
	game::Signature,
	merkle::{blake2_256, Hash},
	TrainConfig,
};
use neuroshard_quorum::Signer;
use tokio::net::{TcpListener, TcpStream};

/// Signs with a hash: who knows a member's number can sign for it here. A real signature takes some tens of microseconds more.
#[derive(Clone)]
pub struct Stamp(pub usize);

impl Signer for Stamp {
	fn sign(&self, statement: Hash) -> Signature {
		let mut signature = [0; 65];
		signature[..32].copy_from_slice(&blake2_256(&[&self.0.to_le_bytes()[..], &statement].concat()));
		signature
	}

	fn has_signed(&self, member: usize, statement: Hash, signature: &Signature) -> bool {
		Self(member).sign(statement) == *signature
	}
}

/// The batch of a step.
pub fn tokens(train: &TrainConfig, vocab: u32, step: u32) -> Vec<u32> {
	(0..train.batch * (train.seq_len + 1)).map(|place| (place * 7_919 + step * 77) % 1_009 % vocab).collect()
}

/// Two ends of a connection over this machine's loopback.
pub async fn connection() -> [TcpStream; 2] {
	let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
	let address = listener.local_addr().unwrap();
	let (dialled, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
	[dialled.unwrap(), accepted.unwrap().0]
}
