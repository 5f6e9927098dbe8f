//! Directories of workers on this machine, with a chain that says what it is told to.

use super::{registry::Registrations, *};
use neuroshard_chain_client::{
	keys::{PonwSigner, Seed},
	ChainError,
};
use neuroshard_directory::Registered;
use neuroshard_network::{keypair_from_secret, GossipConfig, Network, NetworkConfig};
use neuroshard_store::Store;
use neuroshard_types::{
	announcement::{Announcement, Holdings, MachineSpeed},
	provider::PeerIdBytes,
};
use std::{
	collections::BTreeMap,
	sync::{
		atomic::{AtomicU64, AtomicUsize, Ordering},
		Mutex,
	},
};
use tempfile::TempDir;

const GENESIS: H256 = H256::repeat_byte(5);
const START: Moment = 1_700_000_000_000;
/// Longest time until something happens that has to.
const SOON: Duration = Duration::from_secs(60);

/// A chain that has these providers, and how often it was asked about one and about all.
#[derive(Clone, Default)]
struct Chain(Arc<Said>);

#[derive(Default)]
struct Said {
	providers: Mutex<BTreeMap<AccountId, (Registered, PeerAddress)>>,
	asked: [AtomicUsize; 2],
}

impl Chain {
	fn register(&self, who: AccountId, key: [u8; 33], address: PeerAddress) {
		let peer = PeerIdBytes::truncate_from(address.peer.to_bytes());
		self.0.providers.lock().unwrap().insert(who, (Registered { key, peer }, address));
	}

	fn remove(&self, who: &AccountId) {
		self.0.providers.lock().unwrap().remove(who);
	}

	fn asked(&self) -> [usize; 2] {
		[0, 1].map(|what| self.0.asked[what].load(Ordering::SeqCst))
	}
}

impl Registrations for Chain {
	async fn active(&self) -> Result<BTreeMap<AccountId, PeerAddress>, ChainError> {
		self.0.asked[1].fetch_add(1, Ordering::SeqCst);
		Ok(self.0.providers.lock().unwrap().iter().map(|(who, (_, address))| (who.clone(), address.clone())).collect())
	}

	async fn registered(&self, account: &AccountId) -> Result<Option<Registered>, ChainError> {
		self.0.asked[0].fetch_add(1, Ordering::SeqCst);
		Ok(self.0.providers.lock().unwrap().get(account).map(|(registered, _)| registered.clone()))
	}
}

fn account(number: u8) -> AccountId {
	AccountId::new([number; 32])
}

fn peer(number: u8) -> PeerId {
	keypair_from_secret(&mut [number; 32]).unwrap().public().to_peer_id()
}

fn holdings(memory: u64) -> Holdings {
	Holdings {
		addresses: Default::default(),
		speed: MachineSpeed { flops: 1, bytes: 1 },
		memory,
		held: Default::default(),
		checkpoints: Default::default(),
		ways: Default::default(),
	}
}

#[tokio::test]
async fn the_chain_is_asked_once_about_each_and_again_where_an_announcement_says_something_else() {
	let (chain, key) = (Chain::default(), |key: u8| [key; 33]);
	let mut registry = Registry::new(chain.clone());
	let says = |key: [u8; 33]| Announcement {
		provider: account(1),
		key,
		peer: PeerIdBytes::truncate_from(peer(1).to_bytes()),
		sequence: 1,
		issued_at: START,
		lifetime: 900,
		holdings: Some(holdings(1)),
	};
	let address = |number: u8| PeerAddress::new(peer(number), []);
	// Nobody is asked about whom the list has not, and the list is not read for each of them.
	assert_eq!(registry.of(&says(key(1)), START).await, None);
	assert_eq!(registry.of(&says(key(1)), START + 5_999).await, None);
	assert_eq!(chain.asked(), [0, 1]);
	chain.register(account(1), key(1), address(1));
	assert_eq!(registry.of(&says(key(1)), START + 6_000).await.map(|known| known.key), Some(key(1)));
	for _ in 0..3 {
		assert!(registry.of(&says(key(1)), START + 50_000).await.is_some());
	}
	assert_eq!(chain.asked(), [1, 2]);
	// A forged one gets the right one's key, and costs a question now and then.
	assert_eq!(registry.of(&says(key(2)), START + 50_000).await.map(|known| known.key), Some(key(1)));
	assert_eq!(registry.of(&says(key(2)), START + 50_001).await.map(|known| known.key), Some(key(1)));
	assert_eq!(chain.asked(), [2, 2]);
	// It has another one now.
	chain.register(account(1), key(2), address(1));
	assert_eq!(registry.of(&says(key(2)), START + 56_000).await.map(|known| known.key), Some(key(2)));
	chain.remove(&account(1));
	registry.read(START + 60_000).await.unwrap();
	assert_eq!(registry.of(&says(key(2)), START + 60_000).await, None);
	assert!(!registry.is_active(&account(1)) && !registry.has_peer(&peer(1)));
}

/// A worker that is registered, and has a network.
struct Node {
	number: u8,
	net: Handle,
	signer: PonwSigner,
	folder: TempDir,
}

impl Node {
	async fn start(number: u8, chain: &Chain) -> Self {
		let folder = tempfile::tempdir().unwrap();
		let store = Store::open(folder.path(), 1 << 20).unwrap();
		let gossip = Some(GossipConfig { heartbeat: Duration::from_millis(200), ..GossipConfig::of(GENESIS) });
		let config = NetworkConfig { gossip, ..NetworkConfig::default() };
		let keypair = keypair_from_secret(&mut [number; 32]).unwrap();
		// It lives longer than the directory, which says farewell.
		let (net, _) = Network::start(config, keypair, store, CancellationToken::new()).await.unwrap();
		let signer = PonwSigner::from_seed(&Seed::random()).unwrap();
		let address = PeerAddress::new(net.peer_id(), net.status().await.unwrap().listening);
		chain.register(account(number), signer.public(), address);
		Self { number, net, signer, folder }
	}

	/// Starts its directory; it announces so many bytes of memory, if any.
	fn begin(self, chain: &Chain, now: &Now, memory: Option<u64>) -> Worker {
		let Self { number, net, signer, folder } = self;
		let announces = memory.map(|memory| Announces {
			provider: account(number),
			signer,
			peer: net.peer_id(),
			holdings: watch::channel(holdings(memory)).1,
		});
		let (task, known) = Task::new(chain.clone(), GENESIS, net.clone(), announces, true, now.clone());
		let stop = CancellationToken::new();
		let task = tokio::spawn(task.run(stop.clone()));
		Worker { net, known, stop, task, _folder: folder }
	}
}

/// A worker with a directory.
struct Worker {
	net: Handle,
	known: Known,
	stop: CancellationToken,
	task: JoinHandle<()>,
	_folder: TempDir,
}

impl Worker {
	/// Waits until it knows these, by what they announce.
	async fn knows(&mut self, expected: &[(u8, u64)]) {
		let expected: Vec<(AccountId, u64)> = expected.iter().map(|(number, memory)| (account(*number), *memory)).collect();
		let waiting = async {
			loop {
				let (directory, now) = self.known.look();
				let known: Vec<_> = directory.members(now).map(|member| (member.account().clone(), member.holdings.memory)).collect();
				if known == expected {
					return;
				}
				self.known.newest.changed().await.unwrap();
			}
		};
		tokio::time::timeout(SOON, waiting).await.unwrap();
	}

	async fn end(self) {
		self.stop.cancel();
		self.task.await.unwrap();
	}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_know_each_other_and_one_that_comes_late_is_told_and_who_leaves_or_is_removed_is_forgotten() {
	let (chain, clock) = (Chain::default(), Arc::new(AtomicU64::new(START)));
	let now: Now = {
		let clock = clock.clone();
		Arc::new(move || clock.load(Ordering::SeqCst))
	};
	let [one, middle, other] = [Node::start(1, &chain).await, Node::start(2, &chain).await, Node::start(3, &chain).await];
	let mut one = one.begin(&chain, &now, Some(10));
	// It announces nothing, and passes on what it hears.
	let mut middle = middle.begin(&chain, &now, None);
	let mut other = other.begin(&chain, &now, Some(30));
	for worker in [&mut one, &mut middle, &mut other] {
		worker.knows(&[(1, 10), (3, 30)]).await;
	}
	// Nobody has anything to announce when it comes: it asks.
	let mut late = Node::start(4, &chain).await.begin(&chain, &now, None);
	late.knows(&[(1, 10), (3, 30)]).await;
	other.end().await;
	for worker in [&mut one, &mut middle, &mut late] {
		worker.knows(&[(1, 10)]).await;
	}
	chain.remove(&account(1));
	clock.fetch_add(READ_MS, Ordering::SeqCst);
	late.knows(&[]).await;
	assert!(late.net.status().await.unwrap().known_peers > 0);
}
