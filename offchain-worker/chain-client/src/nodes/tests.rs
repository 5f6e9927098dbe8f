//! Several nodes at work: failing over, comparing, and handing extrinsics to all.

use crate::{ChainClient, ChainError, Watched};
use neuroshard_mock_node::MockNode;
use neuroshard_types::H256;

async fn connect(nodes: &[&MockNode]) -> Result<ChainClient, ChainError> {
	ChainClient::connect_all(&nodes.iter().map(|node| node.url()).collect::<Vec<_>>()).await
}

/// The address of the node in use once `is_so`.
async fn used_when(client: &ChainClient, is_so: impl FnMut(&Watched) -> bool) -> String {
	let mut nodes = client.nodes();
	let watched = nodes.wait_for(is_so).await.unwrap();
	watched.nodes.iter().find(|node| node.used).unwrap().url.clone()
}

#[tokio::test]
async fn another_node_takes_the_place_of_one_that_goes_away_without_a_restart() {
	let (first, second) = (MockNode::with_blocks(10).await, MockNode::with_blocks(10).await);
	let client = connect(&[&first, &second]).await.unwrap();
	assert_eq!(client.url(), first.url());
	first.stop().await;
	assert_eq!(used_when(&client, |watched| !watched.nodes[0].used).await, second.url());
	assert_eq!(client.heads().await.unwrap().best.number, 10);
	assert_eq!(client.nodes().borrow().nodes[0].problem.as_deref(), Some("does not answer"));
}

#[tokio::test]
async fn a_node_that_falls_behind_is_left_and_one_that_is_away_at_the_start_is_not_waited_for() {
	let (first, second) = (MockNode::with_blocks(10).await, MockNode::with_blocks(10).await);
	let gone = MockNode::with_blocks(10).await;
	gone.stop().await;
	let client = connect(&[&gone, &first, &second]).await.unwrap();
	assert_eq!(client.url(), first.url());
	second.grow(6);
	assert_eq!(used_when(&client, |watched| watched.nodes[2].used).await, second.url());
	let behind = client.nodes().borrow().nodes[1].problem.clone();
	assert_eq!(behind.as_deref(), Some("is 6 blocks behind another node"));
}

#[tokio::test]
async fn an_extrinsic_is_handed_to_all_nodes() {
	let (first, second) = (MockNode::with_blocks(10).await, MockNode::with_blocks(10).await);
	let client = connect(&[&first, &second]).await.unwrap();
	let at = client.now().await.unwrap();
	let alice = crate::keys::Account::from_secret("//Alice").unwrap();
	let extrinsic = at.sign(&alice, &crate::training::join(7), 0, 0, Some((at.block(), 64))).unwrap();
	client.submit(&extrinsic).await.unwrap().unwrap();
	for node in [&first, &second] {
		assert_eq!(*node.submitted().borrow(), std::slice::from_ref(&extrinsic));
	}
}

#[tokio::test]
async fn what_only_one_node_calls_finalized_is_not_final_yet() {
	let (first, second) = (MockNode::with_blocks(10).await, MockNode::with_blocks(8).await);
	let client = connect(&[&first, &second]).await.unwrap();
	let heads = client.heads().await.unwrap();
	// Finalized blocks are two behind best ones.
	assert_eq!((heads.best.number, heads.finalized.number), (10, 6));
	assert_eq!(client.is_final(client.block_at(7).await.unwrap()).await.unwrap(), None);
	assert_eq!(client.is_final(client.block_at(6).await.unwrap()).await.unwrap(), Some(true));
}

#[tokio::test]
async fn nodes_that_contradict_each_other_are_named_and_nothing_becomes_final_while_the_best_block_is_followed() {
	let (first, second) = (MockNode::with_blocks(10).await, MockNode::with_blocks(10).await);
	let client = connect(&[&first, &second]).await.unwrap();
	assert_eq!(client.heads().await.unwrap().finalized.number, 8);
	second.branch_off(9);
	first.grow(4);
	second.grow(4);
	let mut nodes = client.nodes();
	let words = nodes.wait_for(|watched| watched.contradiction.is_some()).await.unwrap().contradiction.clone().unwrap();
	let honest = H256::from_low_u64_be(13);
	assert!(words.contains("finalized block 12"), "{words}");
	for said in [format!("{} says {honest:?}", first.url()), format!("{} says 0xff", second.url())] {
		assert!(words.contains(&said), "{said} is not in {words}");
	}
	let heads = client.heads().await.unwrap();
	assert_eq!((heads.best.number, heads.finalized.number), (14, 8));
	assert_eq!(client.is_final(client.block_at(3).await.unwrap()).await.unwrap(), None);
}

#[tokio::test]
async fn nodes_of_different_chains_are_refused_at_the_start() {
	let (first, second) = (MockNode::with_blocks(10).await, MockNode::with_blocks(10).await);
	second.branch_off(0);
	let error = connect(&[&first, &second]).await.map(drop).unwrap_err();
	assert!(matches!(error, ChainError::OtherChain { .. }), "{error}");
	assert!(error.to_string().contains(&first.url()) && error.to_string().contains(&second.url()), "{error}");
}
