//! Who authors blocks on a chain that anybody can join: one scenario of real nodes, since sessions take their time.

use crate::room::Load;
use neuroshard_e2e::{kept_unless_passed, until, Authorities, AuthorityClient, Binaries, Keys};
use neuroshard_types::{AccountId, BlockNumber, NEURO};
use std::time::Duration;
use subxt_signer::sr25519::{dev, Keypair};

/// A change of the validators takes two sessions of less than half a minute, on a busy machine.
const SESSIONS: Duration = Duration::from_secs(300);
/// Something that takes a few blocks.
const SOON: Duration = Duration::from_secs(120);
/// What the newcomer bonds.
const BOND: u128 = 20_000 * NEURO;

fn account(key: &Keypair) -> AccountId {
	AccountId::new(key.public_key().0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newcomer_authors_an_equivocator_leaves_and_a_fresh_node_catches_up() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("authorities").unwrap();
	let node = Binaries::find().unwrap().node;
	let names = ["alice", "bob", "charlie", "dave"];
	let mut network = Authorities::start(node, folder.path().join("network"), &names, 7).await.unwrap();
	let client = network.client(0).await.unwrap();

	let joined = a_fifth_validator_joins_by_bonding_and_authors(&mut network, &client).await;
	an_equivocator_is_slashed_and_leaves(&mut network, &client).await;
	finality_goes_on_without_one_more(&mut network, &client).await;
	a_fresh_node_has_the_state_without_the_blocks_before_it(&mut network, &client, joined).await;
	network.stop().await;
	folder.disable_cleanup(false);
}

/// Returns a block of a session that the newcomer takes part in.
async fn a_fifth_validator_joins_by_bonding_and_authors(network: &mut Authorities, client: &AuthorityClient) -> BlockNumber {
	let eve = dev::eve();
	let place = network.add("eve", Keys::Own).unwrap();
	let own = network.client(place).await.unwrap();
	let keys = own.rotate_keys(&account(&eve)).await.unwrap();
	own.become_candidate(&eve, &keys, BOND).await.unwrap();
	let mut looked_at = client.finalized().await.unwrap();
	until("a finalized block of the fifth validator", SESSIONS, async || {
		let finalized = client.finalized().await?;
		while looked_at < finalized {
			looked_at += 1;
			if client.author(looked_at).await? == account(&eve) {
				return Ok(Some(looked_at));
			}
		}
		Ok(None)
	})
	.await
	.unwrap()
}

/// Two nodes with the same keys make different blocks for the same slot as soon as it is theirs, unless one has seen the other's in time: nobody has
/// to pretend anything.
async fn an_equivocator_is_slashed_and_leaves(network: &mut Authorities, client: &AuthorityClient) {
	let dave = account(&dev::dave());
	let mut looked_at = client.finalized().await.unwrap();
	let before = client.self_bond(looked_at, &dave).await.unwrap();
	let twin = network.add("twin", Keys::WellKnown("dave")).unwrap();
	let slashed_in = until("the equivocator's bond to be slashed", SESSIONS, async || {
		let finalized = client.finalized().await?;
		while looked_at < finalized {
			looked_at += 1;
			if client.self_bond(looked_at, &dave).await? < before {
				return Ok(Some(looked_at));
			}
		}
		Ok(None)
	})
	.await
	.unwrap();
	// One offender of five: (3/5)^2 of everything that is at stake.
	assert_eq!(client.self_bond(slashed_in, &dave).await.unwrap(), before / 100 * 64);
	assert_eq!(client.disabled(slashed_in).await.unwrap(), vec![dave.clone()]);
	assert!(client.barred_until(slashed_in, &dave).await.unwrap().unwrap() > slashed_in);
	until("the validators without the equivocator", SESSIONS, async || Ok((!client.validators().await?.contains(&dave)).then_some(())))
		.await
		.unwrap();
	network.node(3).unwrap().kill();
	network.node(twin).unwrap().kill();
}

/// Four are left, and three of them are more than two thirds.
async fn finality_goes_on_without_one_more(network: &mut Authorities, client: &AuthorityClient) {
	assert_eq!(client.validators().await.unwrap().len(), 4);
	network.node(1).unwrap().kill();
	let killed_at = client.best().await.unwrap();
	until("a block that one validator did not see to be finalized", SOON, async || {
		Ok((client.finalized().await? > killed_at).then_some(()))
	})
	.await
	.unwrap();
}

async fn a_fresh_node_has_the_state_without_the_blocks_before_it(network: &mut Authorities, client: &AuthorityClient, joined: BlockNumber) {
	let place = network.add("fresh", Keys::None("warp")).unwrap();
	let fresh = network.client(place).await.unwrap();
	let target = client.finalized().await.unwrap();
	until("the fresh node to finalize what the others have", SESSIONS, async || Ok((fresh.finalized().await? >= target).then_some(())))
		.await
		.unwrap();
	// It knows the set as it is after all changes, and never executed the blocks in which they were made.
	assert_eq!(fresh.validators().await.unwrap(), client.validators().await.unwrap());
	// GRANDPA numbers its sets: the newcomer began one, and the equivocator's leaving another. The fresh node finalizes with the newest.
	let newest = fresh.finalized().await.unwrap();
	until("the others to finalize what the fresh node has", SOON, async || Ok((client.finalized().await? >= newest).then_some(())))
		.await
		.unwrap();
	let set = fresh.storage_at::<u64>(newest, "Grandpa", "CurrentSetId").await.unwrap();
	assert_eq!(set, client.storage_at::<u64>(newest, "Grandpa", "CurrentSetId").await.unwrap());
	assert!(set >= 2, "two changes of the validators, and GRANDPA is at set {set}");
	let old = fresh.storage_at::<u32>(joined, "Session", "CurrentIndex").await;
	assert!(old.is_err(), "the state after block {joined} is there: {old:?}");
	assert!(client.storage_at::<u32>(joined, "Session", "CurrentIndex").await.is_ok());
}
