//! Connections to the mock node, for tests of this crate and of `fixtures`, which compiles this file as its own.

use neuroshard_chain_client::{keys::Account, ChainClient, Submitter};
use neuroshard_mock_node::MockNode;

/// Connects to a node.
#[allow(async_fn_in_trait)]
pub trait Connect {
	/// A connection to this node.
	async fn client(&self) -> ChainClient;

	/// Sends extrinsics of an account to this node.
	async fn submitter(&self) -> Submitter;
}

impl Connect for MockNode {
	async fn client(&self) -> ChainClient {
		ChainClient::connect(&self.url()).await.unwrap()
	}

	async fn submitter(&self) -> Submitter {
		Submitter::spawn(self.client().await, Account::from_secret("//Alice").unwrap())
	}
}
