//! An account that fills the blocks, and pays more for it than others do by themselves, and a worker who has a deadline.

use crate::{folder, SOON};
use neuroshard_e2e::{until, Binaries, Flood, Nodes, Start};
use neuroshard_types::{Balance, NEURO};
use neuroshard_worker::{
	chain::{system, Included, Submitter},
	keys::Account,
};

/// Tip of each extrinsic of the flood, in planck. With it they come before all that offers nothing.
const FLOOD_TIP: Balance = NEURO / 1_000_000;
/// The first tip that a worker offers, in planck.
const FIRST_TIP: Balance = NEURO / 100;
/// Bytes that must get into a block: more than the flood leaves, and less than one of its extrinsics.
const BYTES: usize = 60_000;
/// Extrinsics of a deadline that are sent. One may find a block that the flood did not fill in time.
const ATTEMPTS: usize = 5;

/// The tip that an extrinsic has paid.
fn tip(included: &Included) -> Balance {
	let paid = included.events.iter().find(|event| event.name == "TransactionFeePaid").expect("a fee");
	// Account, fee, tip.
	Balance::from_le_bytes(paid.fields[48..].try_into().expect("three fields"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_a_deadline_gets_into_blocks_that_an_account_fills_and_pays_more_for() {
	let mut folder = folder();
	let nodes = Nodes::start(&Binaries::find().unwrap().node, folder.path(), 1, &Start::default()).await.unwrap();
	let client = nodes.client();
	let [flooder, worker] = ["//Bob", "//Charlie"].map(|secret| Account::from_secret(secret).unwrap());
	let start = client.heads().await.unwrap().best.number;
	let flood = Flood::start(vec![client.clone()], flooder, FLOOD_TIP).await.unwrap();
	until("a block that the flood has filled", SOON, async || {
		let body = client.body(client.heads().await?.best.hash).await?;
		Ok((body.iter().map(Vec::len).sum::<usize>() > 3_000_000).then_some(()))
	})
	.await
	.unwrap();

	let submitter = Submitter::spawn(client.clone(), worker);
	let (mut tips, mut end) = (Vec::new(), start);
	while tips.len() < ATTEMPTS && tips.iter().all(|tip| *tip == 0) {
		let sent = submitter.submit_urgent(system::remark(vec![0; BYTES]), 0);
		let included = tokio::time::timeout(SOON, sent).await.expect("a place in time").unwrap();
		tips.push(tip(&included));
		end = included.block.number;
	}
	assert!(tips.iter().any(|tip| *tip >= FIRST_TIP), "no block was so full that a place cost anything: {tips:?}");
	let (known, full) = flood.stop(start..=end).await.unwrap().full(start..=end);
	println!("tips of {tips:?} planck; {full} of {known} blocks full");
	assert!(full >= 3, "{full} of {known} blocks");
	nodes.stop().await;
	folder.disable_cleanup(false);
}
