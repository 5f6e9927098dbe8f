//! The address book against the view functions of the real runtime.

use super::*;
use codec::{Decode, Encode};
use neuroshard_fixtures::Connect;
use neuroshard_mock_node::{Fate, MockNode, Script};
use neuroshard_network::{keypair_from_secret, Network, NetworkConfig};
use neuroshard_runtime::{Runtime, Staking};
use neuroshard_store::Store;
use neuroshard_types::{
	provider::{ProviderInfo, ProviderStatus},
	H256, NEURO,
};
use pallet_neuro_staking::{Provider, Providers};
use tokio_util::sync::{CancellationToken, DropGuard};

const ME: AccountId = AccountId::new([255; 32]);

/// The nth account and its peer.
fn account(number: u16) -> AccountId {
	AccountId::new(std::array::from_fn(|at| number.to_le_bytes()[at % 2]))
}

fn peer(number: u16) -> PeerId {
	let mut secret = std::array::from_fn(|at| number.to_le_bytes()[at % 2]);
	keypair_from_secret(&mut secret).unwrap().public().to_peer_id()
}

/// Returns what the chain has after so many registrations, of which some are chilled.
fn in_chain<T>(peers: &[PeerId], chilled: fn(u16) -> bool, look: impl FnOnce() -> T) -> T {
	sp_io::TestExternalities::new_empty().execute_with(|| {
		for (number, peer) in (0u16..).zip(peers) {
			let info = ProviderInfo {
				roles: Default::default(),
				hardware: Default::default(),
				ponw_key: [2; 33],
				peer_id: peer.to_bytes().try_into().unwrap(),
				addresses: Default::default(),
			};
			let mut provider = Provider::new(info, NEURO, H256::zero());
			provider.status = if chilled(number) { ProviderStatus::Chilled } else { ProviderStatus::Active };
			Providers::<Runtime>::insert(account(number), provider);
		}
		look()
	})
}

/// A node with a chain, and a worker's network.
struct Fixture {
	node: MockNode,
	net: Handle,
	_dir: tempfile::TempDir,
	_stop: DropGuard,
}

impl Fixture {
	async fn new(registrations: u16, chilled: fn(u16) -> bool) -> Self {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let peers: Arc<[PeerId]> = (0..registrations).map(peer).collect();
		let of_page = peers.clone();
		node.answer_by("Staking", "active_peers", move |mut input| {
			let (after, limit) = Decode::decode(&mut input).unwrap();
			in_chain(&of_page, chilled, || Staking::active_peers(after, limit)).encode()
		});
		node.answer_by("Staking", "peers_of", move |mut input| {
			let accounts = Decode::decode(&mut input).unwrap();
			in_chain(&peers, chilled, || Staking::peers_of(accounts)).encode()
		});
		let (dir, stop) = (tempfile::tempdir().unwrap(), CancellationToken::new());
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		let keys = keypair_from_secret(&mut [9; 32]).unwrap();
		let (net, _) = Network::start(NetworkConfig::default(), keys, store, stop.clone()).await.unwrap();
		Self { node, net, _dir: dir, _stop: stop.drop_guard() }
	}

	async fn at(&self) -> ChainAt {
		self.node.client().await.now().await.unwrap()
	}

	async fn known_to_the_network(&self) -> usize {
		self.net.status().await.unwrap().known_peers
	}
}

/// The registrations in the order in which the chain lists them.
fn in_storage_order(registrations: u16) -> Vec<AccountId> {
	let peers = vec![PeerId::random(); usize::from(registrations)];
	in_chain(&peers, |_| false, || Providers::<Runtime>::iter_keys().collect())
}

fn number_of(account: &AccountId) -> u16 {
	let bytes: &[u8; 32] = account.as_ref();
	u16::from_le_bytes([bytes[0], bytes[1]])
}

#[tokio::test]
async fn a_provider_that_is_needed_is_found_behind_more_than_1000_others() {
	let fixture = Fixture::new(1_100, |_| false).await;
	let last = in_storage_order(1_100).pop().unwrap();
	let found = addresses(&fixture.at().await, [last.clone(), account(2_000), ME].into(), &ME).await.unwrap();
	let expected = PeerAddress::new(peer(number_of(&last)), []);
	assert_eq!(found, [(last, expected)].into());
}

#[tokio::test]
async fn everybody_else_is_known_after_some_looks_at_the_chain() {
	let fixture = Fixture::new(1_100, |_| false).await;
	let mut book = Book::default();
	let at = fixture.at().await;
	book.refresh(&at, None, &ME, &fixture.net).await.unwrap();
	assert_eq!(fixture.known_to_the_network().await, 1_000);
	book.refresh(&at, None, &ME, &fixture.net).await.unwrap();
	assert_eq!(fixture.known_to_the_network().await, 1_100);
	assert_eq!(book.all(), [], "nobody of them is needed");
	// The next pass begins, and nobody is forgotten meanwhile.
	book.refresh(&at, None, &ME, &fixture.net).await.unwrap();
	assert_eq!(fixture.known_to_the_network().await, 1_100);
}

#[tokio::test]
async fn chilled_providers_take_nobodys_place_and_are_found_if_they_are_needed() {
	let fixture = Fixture::new(300, |number| number % 3 > 0).await;
	let at = fixture.at().await;
	Book::default().refresh(&at, None, &ME, &fixture.net).await.unwrap();
	assert_eq!(fixture.known_to_the_network().await, 100);
	let found = addresses(&at, [account(1), account(3)].into(), &ME).await.unwrap();
	assert_eq!(found.into_keys().collect::<BTreeSet<_>>(), [account(1), account(3)].into());
}

#[test]
fn whoever_is_gone_is_forgotten_with_the_pass_after() {
	let page = |numbers: &[u16]| -> PeerPage {
		let entry = |number: &u16| (account(*number), peer(*number).to_bytes().try_into().unwrap(), Default::default());
		numbers.iter().map(entry).collect()
	};
	let all = |others: &Others| others.all().map(|(account, _)| number_of(account)).collect::<BTreeSet<_>>();
	let mut others = Others::default();
	others.note(page(&[1, 2]), Some(account(2)));
	assert_eq!(all(&others), [1, 2].into());
	others.note(page(&[3]), None);
	assert_eq!(all(&others), [1, 2, 3].into());
	others.note(page(&[1]), Some(account(1)));
	assert_eq!(all(&others), [1, 2, 3].into());
	others.note(page(&[4]), None);
	assert_eq!(all(&others), [1, 4].into());
}

#[test]
fn a_provider_is_found_by_its_account() {
	let entries = [1, 2, 3].map(|number| (account(number), PeerAddress::new(peer(number), []))).into();
	let book = Book { entries, read_at: Some(100), ..Default::default() };
	assert_eq!(book.peer_of(&account(2)), Some(peer(2)));
	assert_eq!(book.peer_of(&account(9)), None);
	assert_eq!(book.all().len(), 3);
}

#[test]
fn a_book_ages_by_blocks() {
	assert!(Book::default().is_old(0));
	let mut book = Book { read_at: Some(100), ..Default::default() };
	assert!(!book.is_old(109));
	assert!(book.is_old(110));
	assert!(!book.is_old(90), "a reorganisation does not make it old");
	book.expire();
	assert!(book.is_old(100));
}
