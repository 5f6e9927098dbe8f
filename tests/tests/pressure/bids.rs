//! An account that fills the blocks, and pays more for it than others do by themselves, and a worker who has a deadline.

use crate::SOON;
use neuroshard_chain_client::{keys::Account, system, Included, Submitter};
use neuroshard_e2e::{kept_unless_passed, until, within, Binaries, Flood, Nodes, Start};
use neuroshard_types::{Balance, NEURO};

/// Tip of each extrinsic of the flood, in planck. With it they come before all that offers nothing.
const FLOOD_TIP: Balance = NEURO / 1_000_000;
/// The first tip that a worker offers, in planck.
const FIRST_TIP: Balance = NEURO / 100;
/// Extrinsics in a block that the flood has filled, and more: inherents, and all that fit of its own.
const FILLED: usize = 30;
/// Extrinsics with a deadline that got into blocks for nothing before the flood has filled one, on a busy machine.
const MOST_FREE: u32 = 200;

/// The tip that an extrinsic has paid.
fn tip(included: &Included) -> Balance {
	let paid = included.events.iter().find(|event| event.name == "TransactionFeePaid").expect("a fee");
	// Account, fee, tip.
	Balance::from_le_bytes(paid.fields[48..].try_into().expect("three fields"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_a_deadline_gets_into_blocks_that_an_account_fills_and_pays_more_for() {
	let mut folder = kept_unless_passed("pressure").unwrap();
	let nodes = Nodes::start(&Binaries::find().unwrap().node, folder.path(), 1, &Start::default()).await.unwrap();
	let client = nodes.client();
	let [flooder, worker] = ["//Bob", "//Charlie"].map(|secret| Account::from_secret(secret).unwrap());
	let start = client.heads().await.unwrap().best.number;
	let flood = Flood::start(vec![client.clone()], flooder, FLOOD_TIP).await.unwrap();
	until("a block that the flood has filled", SOON, async || {
		let body = client.body(client.heads().await?.best.hash).await?;
		Ok((body.len() >= FILLED).then_some(()))
	})
	.await
	.unwrap();

	let submitter = Submitter::spawn(client.clone(), worker);
	let mut free = 0;
	// One may find a block that the flood had no time to fill.
	let (tip, end) = loop {
		let sent = submitter.submit_prompt(system::remark(Vec::new()), 0);
		let included = within("a place in a block", SOON, sent).await.unwrap().unwrap();
		match tip(&included) {
			0 => free += 1,
			tip => break (tip, included.block.number),
		}
		assert!(free <= MOST_FREE, "no block was so full that a place cost anything: {free} got in for nothing");
	};
	assert!(tip >= FIRST_TIP, "{tip} planck");
	let (known, full) = flood.stop(start..=end).await.unwrap().full(start..=end);
	println!("a tip of {tip} planck after {free} without; {full} of {known} blocks full");
	assert!(full >= 3, "{full} of {known} blocks");
	nodes.stop().await;
	folder.disable_cleanup(false);
}
