//! A node of one's own for tests: it speaks JSON-RPC, has the runtime's metadata, and makes blocks whenever it is asked for the best one.
//!
//! It knows nothing of the client that is tested against it, so that the client's own tests can use it, too.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod distance;

use codec::{Compact, Decode, Encode};
pub use distance::Distance;
use jsonrpsee::{
	server::{Server, ServerHandle},
	types::{ErrorObjectOwned, Params},
	RpcModule,
};
use neuroshard_runtime::Runtime;
use neuroshard_types::{BlockNumber, H256};
use serde_json::{json, Value};
use sp_crypto_hashing::twox_128;
use std::{
	collections::BTreeMap,
	net::SocketAddr,
	sync::{Arc, Mutex},
	time::Duration,
};
use tokio::{net::TcpSocket, sync::watch};

/// Runtime API that executes view functions.
const EXECUTE: &str = "RuntimeViewFunction_execute_view_function";

/// Blocks that the finalized one is behind the best one.
const FINALITY_LAG: BlockNumber = 2;

/// Entries of the state at genesis. The blocks after it hide the values.
pub const ENTRIES: u16 = 1_300;

/// Key and value of the nth entry.
pub fn entry(number: u16) -> (Vec<u8>, Vec<u8>) {
	(number.to_be_bytes().to_vec(), vec![1; usize::from(number % 40)])
}

/// What becomes of a submitted extrinsic.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
	/// It is in the next block and succeeds.
	Included,
	/// It is in the next block and fails there with the first error of pallet `Training`.
	Failed,
	/// The pool takes it and forgets it.
	Forgotten,
	/// The pool forgets it until the node has been restarted; then it is in the next block.
	IncludedAfterRestart,
	/// The pool keeps it, and it gets into no block. One with the same nonce drives it out.
	Kept,
	/// The pool keeps it for some blocks and takes no other one with the same nonce meanwhile; then it drops it.
	Stale,
	/// As [`Self::Stale`], for longer, and then it gets into a block.
	Slow,
	/// The pool refuses it with this code and this explanation.
	Refused(i32, &'static str),
}

/// What happens on a chain: how many blocks each look at the best one finds new, and the fate of the nth different extrinsic.
#[derive(Clone, Copy)]
pub struct Script {
	/// Blocks that each look at the best one finds new.
	pub blocks_a_look: BlockNumber,
	/// Fate of the nth different extrinsic.
	pub fate: fn(usize) -> Fate,
}

/// Blocks that a slow extrinsic stays in the pool.
const SLOW: BlockNumber = 9;
/// Blocks that a stale extrinsic stays in the pool.
const STALE: BlockNumber = 5;

/// Nonce of an extrinsic.
pub fn nonce_of(extrinsic: &[u8]) -> u64 {
	nonce_and_tip_of(extrinsic).0
}

/// Nonce and tip of an extrinsic.
pub fn nonce_and_tip_of(extrinsic: &[u8]) -> (u64, u128) {
	let mut rest = extrinsic;
	Compact::<u32>::decode(&mut rest).unwrap();
	// Version, address, signature, and an era that ends.
	let (nonce, tip) = <(Compact<u64>, Compact<u128>)>::decode(&mut &rest[1 + 33 + 65 + 2..]).unwrap();
	(nonce.0, tip.0)
}

/// A view function: its arguments, and what it answers.
type Answer = Arc<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// The chain behind a node. It outlives the node.
struct Chain {
	script: Script,
	/// Extrinsics of every block, and whether each one failed.
	blocks: Vec<Vec<(Vec<u8>, bool)>>,
	pool: Vec<(Vec<u8>, bool)>,
	/// Nonce of what the pool keeps, the block before which it takes no other one with it, and what the block after that has.
	kept: Option<(u64, BlockNumber, Option<Vec<u8>>)>,
	restarted: bool,
	submitted: watch::Sender<Vec<Vec<u8>>>,
	/// What view functions answer, by their identifiers, in whatever state.
	answers: BTreeMap<[u8; 32], Answer>,
	/// Free balance of every account.
	free: u128,
	/// What the chain is for, if it is said.
	kind: Option<&'static str>,
	/// Milliseconds from block to block; the chain has no time if zero.
	block_ms: u64,
	/// Questions for headers that are not answered for now.
	busy: u32,
	/// The first block that is another one than on other nodes, and what its hash begins with.
	branch: Option<(BlockNumber, u8)>,
}

impl Chain {
	fn best(&self) -> BlockNumber {
		u32::try_from(self.blocks.len() - 1).unwrap()
	}

	fn make_blocks(&mut self) {
		for _ in 0..self.script.blocks_a_look {
			self.blocks.push(std::mem::take(&mut self.pool));
		}
		let best = self.best();
		if let Some((_, _, slow)) = self.kept.take_if(|(_, until, _)| *until > 0 && best >= *until) {
			self.pool.extend(slow.map(|extrinsic| (extrinsic, false)));
		}
	}

	fn hash_of(&self, number: BlockNumber) -> H256 {
		let mut hash = H256::from_low_u64_be(u64::from(number) + 1);
		if let Some((_, begin)) = self.branch.filter(|(first, _)| number >= *first) {
			hash.0[0] = begin;
		}
		hash
	}

	fn header(&self, number: BlockNumber) -> Value {
		let nothing = format!("{:?}", H256::zero());
		let parent = format!("{:?}", self.hash_of(number.saturating_sub(1)));
		json!({
			"parentHash": parent, "number": format!("{number:#x}"), "stateRoot": nothing, "extrinsicsRoot": nothing, "digest": { "logs": [] }
		})
	}

	/// The account's next nonce after a block: all extrinsics are one account's.
	fn nonce(&self, at: BlockNumber) -> u32 {
		let blocks = self.blocks.iter().take(at as usize + 1);
		u32::try_from(blocks.map(Vec::len).sum::<usize>()).unwrap()
	}

	fn submit(&mut self, extrinsic: Vec<u8>) -> Result<Value, ErrorObjectOwned> {
		self.submitted.send_modify(|all| all.push(extrinsic.clone()));
		let mut different: Vec<Vec<u8>> = Vec::new();
		for one in self.submitted.borrow().iter() {
			if !different.contains(one) {
				different.push(one.clone());
			}
		}
		let number = different.iter().position(|one| *one == extrinsic).unwrap();
		let nonce = nonce_of(&extrinsic);
		if let Some((_, until, _)) = self.kept.as_ref().filter(|(kept, ..)| *kept == nonce) {
			if *until > 0 {
				return Err(ErrorObjectOwned::owned(1014, "Priority is too low: (1 vs 1)", Some("the pool has another one")));
			}
			self.kept = None;
		}
		match (self.script.fate)(number) {
			Fate::Kept => self.kept = Some((nonce, 0, None)),
			Fate::Stale => self.kept = Some((nonce, self.best() + STALE, None)),
			Fate::Slow => self.kept = Some((nonce, self.best() + SLOW, Some(extrinsic))),
			Fate::Included => self.pool.push((extrinsic, false)),
			Fate::Failed => self.pool.push((extrinsic, true)),
			Fate::IncludedAfterRestart if self.restarted => self.pool.push((extrinsic, false)),
			Fate::Forgotten | Fate::IncludedAfterRestart => {}
			Fate::Refused(code, why) => return Err(ErrorObjectOwned::owned(code, "Invalid Transaction", Some(why))),
		}
		Ok(json!(format!("{:?}", H256::zero())))
	}

	/// `System::Events` of a block, as the runtime encodes them.
	fn events(&self, number: BlockNumber) -> Vec<u8> {
		let extrinsics = &self.blocks[number as usize];
		let mut bytes = Compact(u32::try_from(extrinsics.len()).unwrap()).encode();
		let (system, training) = (pallet_index("System"), pallet_index("Training"));
		for (index, (_, failed)) in (0u32..).zip(extrinsics) {
			// Phase `ApplyExtrinsic`, and the event of pallet `System`.
			bytes.extend((0u8, index, system).encode());
			match failed {
				true => bytes.extend((1u8, 3u8, training, [0u8; 4]).encode()),
				false => bytes.push(0),
			}
			// `DispatchInfo` with weight, class and whether it pays; no topics.
			bytes.extend((Compact(0u64), Compact(0u64), 0u8, 0u8, Compact(0u32)).encode());
		}
		bytes
	}
}

fn metadata(version: u32) -> Option<Vec<u8>> {
	// Some constants of the runtime are read from storage.
	sp_io::TestExternalities::new_empty().execute_with(|| Runtime::metadata_at_version(version)).map(|opaque| opaque.encode())
}

/// The metadata that the node answers with.
pub fn decoded_metadata() -> subxt::metadata::Metadata {
	let bytes = sp_io::TestExternalities::new_empty().execute_with(|| Runtime::metadata_at_version(16)).unwrap();
	subxt::metadata::Metadata::decode_from(&bytes).unwrap()
}

fn pallet_index(name: &str) -> u8 {
	decoded_metadata().pallet_by_name(name).unwrap().call_index()
}

fn hex_of(bytes: &[u8]) -> Value {
	json!(format!("0x{}", hex::encode(bytes)))
}

/// The parameters of a request, as JSON.
fn values(params: &Params) -> Vec<Value> {
	params.parse().unwrap_or_default()
}

fn bytes_of(value: Option<&Value>) -> Vec<u8> {
	let text = value.and_then(Value::as_str).unwrap_or_default();
	hex::decode(text.trim_start_matches("0x")).unwrap_or_default()
}

/// Height of the block whose hash is a parameter.
fn number_of(value: Option<&Value>) -> BlockNumber {
	let hash = H256::from_slice(&bytes_of(value));
	u32::try_from(hash.to_low_u64_be() - 1).unwrap()
}

fn methods(chain: Arc<Mutex<Chain>>) -> RpcModule<Arc<Mutex<Chain>>> {
	let mut module = RpcModule::new(chain);
	module
		.register_method("chain_getBlockHash", |params, chain, _| {
			let mut chain = chain.lock().unwrap();
			let number = values(&params).first().and_then(Value::as_u64).map(|number| u32::try_from(number).unwrap());
			if number.is_none() {
				chain.make_blocks();
			}
			let number = number.unwrap_or(chain.best());
			json!((number <= chain.best()).then(|| format!("{:?}", chain.hash_of(number))))
		})
		.unwrap();
	module
		.register_method("chain_getFinalizedHead", |_, chain, _| {
			let chain = chain.lock().unwrap();
			json!(format!("{:?}", chain.hash_of(chain.best().saturating_sub(FINALITY_LAG))))
		})
		.unwrap();
	module
		.register_method("chain_getHeader", |params, chain, _| {
			let mut chain = chain.lock().unwrap();
			if let Some(left) = chain.busy.checked_sub(1) {
				chain.busy = left;
				return Err(ErrorObjectOwned::owned(-32_999, "RPC rate limit exceeded", None::<()>));
			}
			Ok(chain.header(number_of(values(&params).first())))
		})
		.unwrap();
	module
		.register_method("chain_getBlock", |params, chain, _| {
			let number = number_of(values(&params).first());
			let chain = chain.lock().unwrap();
			let extrinsics: Vec<Value> = chain.blocks[number as usize].iter().map(|(bytes, _)| hex_of(bytes)).collect();
			json!({ "block": { "header": chain.header(number), "extrinsics": extrinsics }, "justifications": null })
		})
		.unwrap();
	module
		.register_method("state_call", |params, chain, _| {
			let values = values(&params);
			match values.first().and_then(Value::as_str) {
				Some("Core_version") => hex_of(&neuroshard_runtime::VERSION.encode()),
				Some("Metadata_metadata_versions") => hex_of(&vec![16u32].encode()),
				Some("Metadata_metadata_at_version") => {
					let version = bytes_of(values.get(1)).first().copied().unwrap_or_default();
					let encoded = metadata(u32::from(version)).map_or(vec![0], |bytes| [vec![1], bytes].concat());
					hex_of(&encoded)
				}
				Some(EXECUTE) => {
					let (function, input) = <([u8; 32], Vec<u8>)>::decode(&mut &*bytes_of(values.get(1))).unwrap();
					let answer = chain.lock().unwrap().answers.get(&function).cloned();
					answer.map_or(Value::Null, |answer| hex_of(&Ok::<_, ()>(answer(&input)).encode()))
				}
				Some("AccountNonceApi_account_nonce") => {
					let at = number_of(values.get(2));
					hex_of(&chain.lock().unwrap().nonce(at).encode())
				}
				// Weight and class of dispatch, and a fee of one planck for a byte: the length of the extrinsic stands at the end.
				Some("TransactionPaymentApi_query_info") => {
					let input = bytes_of(values.get(1));
					let length = u32::from_le_bytes(*input.last_chunk().unwrap());
					hex_of(&(Compact(0u64), Compact(0u64), 0u8, u128::from(length)).encode())
				}
				_ => Value::Null,
			}
		})
		.unwrap();
	module
		.register_method("state_getStorage", |params, chain, _| {
			let values = values(&params);
			let entry = |name: &[u8]| [twox_128(b"System"), twox_128(name)].concat();
			let (key, chain) = (bytes_of(values.first()), chain.lock().unwrap());
			match key {
				key if key == [twox_128(b"Timestamp"), twox_128(b"Now")].concat() && chain.block_ms > 0 => {
					hex_of(&u64::from(number_of(values.get(1))).saturating_mul(chain.block_ms).encode())
				}
				key if key == entry(b"Events") => hex_of(&chain.events(number_of(values.get(1)))),
				// Counters, then the free balance, and three more numbers of its size.
				key if key.starts_with(&entry(b"Account")) && chain.free > 0 => hex_of(&([0u32; 4], [chain.free, 0, 0, 0]).encode()),
				_ => Value::Null,
			}
		})
		.unwrap();
	module
		.register_method("state_getKeysPaged", |params, _, _| {
			let values = values(&params);
			let count = values.get(1).and_then(Value::as_u64).unwrap_or_default();
			let last = bytes_of(values.get(2));
			let keys = (0..ENTRIES).map(|number| entry(number).0).filter(|key| *key > last);
			json!(keys.take(usize::try_from(count).unwrap()).map(|key| hex_of(&key)).collect::<Vec<_>>())
		})
		.unwrap();
	module
		.register_method("state_queryStorageAt", |params, _, _| {
			let values = values(&params);
			let honest = number_of(values.get(1)) == 0;
			let keys = values.first().and_then(Value::as_array).cloned().unwrap_or_default();
			let value = |key: &Value| entry(u16::from_be_bytes(bytes_of(Some(key)).try_into().unwrap())).1;
			let changes: Vec<_> = keys.iter().map(|key| json!([key, honest.then(|| hex_of(&value(key)))])).collect();
			json!([{ "block": values.get(1), "changes": changes }])
		})
		.unwrap();
	module
		.register_method(
			"state_getRuntimeVersion",
			|_, _, _| json!({ "specName": "neuroshard", "specVersion": neuroshard_runtime::VERSION.spec_version, "transactionVersion": 1 }),
		)
		.unwrap();
	module
		.register_method("system_chainType", |_, chain, _| {
			let unknown = || ErrorObjectOwned::owned(-32_601, "Method not found", None::<()>);
			chain.lock().unwrap().kind.map(|kind| json!(kind)).ok_or_else(unknown)
		})
		.unwrap();
	module.register_method("system_health", |_, _, _| json!({ "peers": 0, "isSyncing": false, "shouldHavePeers": false })).unwrap();
	module
		.register_method("system_accountNextIndex", |_, chain, _| {
			let chain = chain.lock().unwrap();
			let next = u64::from(chain.nonce(chain.best()));
			json!(if chain.kept.as_ref().is_some_and(|(nonce, ..)| *nonce == next) { next + 1 } else { next })
		})
		.unwrap();
	module
		.register_method("author_submitExtrinsic", |params, chain, _| chain.lock().unwrap().submit(bytes_of(values(&params).first())))
		.unwrap();
	module
}

/// A node and its chain.
pub struct MockNode {
	chain: Arc<Mutex<Chain>>,
	server: ServerHandle,
	address: SocketAddr,
	/// Keeps the port while the node is stopped: else another node of the same process may get it, and answer in its place.
	_reserved: TcpSocket,
}

impl MockNode {
	/// Starts a node at a port that the system chooses.
	pub async fn start(script: Script) -> Self {
		let (submitted, _) = watch::channel(Vec::new());
		let (blocks, pool, kept, restarted) = (vec![Vec::new()], Vec::new(), None, false);
		let (answers, free, kind, block_ms, busy, branch) = (BTreeMap::new(), 0, None, 0, 0, None);
		let chain =
			Arc::new(Mutex::new(Chain { script, blocks, pool, kept, restarted, submitted, answers, free, kind, block_ms, busy, branch }));
		let reserved = shared("127.0.0.1:0".parse().unwrap());
		let address = reserved.local_addr().unwrap();
		Self { server: serve(&chain, address), chain, address, _reserved: reserved }
	}

	/// A node that makes no block by itself, and has so many beside the first one.
	pub async fn with_blocks(blocks: BlockNumber) -> Self {
		let node = Self::start(Script { blocks_a_look: 0, fate: |_| Fate::Included }).await;
		node.grow(blocks);
		node
	}

	/// Makes so many blocks.
	pub fn grow(&self, blocks: BlockNumber) {
		self.chain.lock().unwrap().blocks.extend((0..blocks).map(|_| Vec::new()));
	}

	/// Has all blocks from this height on be others than on other nodes.
	pub fn branch_off(&self, first: BlockNumber) {
		self.chain.lock().unwrap().branch = Some((first, 0xff));
	}

	/// Ends the node.
	pub async fn stop(&self) {
		self.server.stop().unwrap();
		self.server.clone().stopped().await;
	}

	/// Ends the node and starts it anew, on the same chain and at the same address.
	pub async fn restart(&mut self) {
		self.stop().await;
		self.chain.lock().unwrap().restarted = true;
		self.server = serve(&self.chain, self.address);
	}

	/// Has a view function answer this from now on, to whatever question.
	pub fn answer(&self, pallet: &str, function: &str, answer: &impl Encode) {
		let answer = answer.encode();
		self.answer_by(pallet, function, move |_| answer.clone());
	}

	/// Has a view function answer its encoded arguments with this from now on.
	pub fn answer_by(&self, pallet: &str, function: &str, answer: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) {
		let metadata = decoded_metadata();
		let function = *metadata.pallet_by_name(pallet).unwrap().view_function_by_name(function).unwrap().query_id();
		self.chain.lock().unwrap().answers.insert(function, Arc::new(answer));
	}

	/// Has every account have so much from now on.
	pub fn fund(&self, free: u128) {
		self.chain.lock().unwrap().free = free;
	}

	/// Has blocks be so many milliseconds apart, by the chain's own time, since genesis.
	pub fn block_ms(&self, ms: u64) {
		self.chain.lock().unwrap().block_ms = ms;
	}

	/// Has the chain be of this type from now on.
	pub fn chain_type(&self, kind: &'static str) {
		self.chain.lock().unwrap().kind = Some(kind);
	}

	/// Has the next questions for headers be refused, as a node does that limits them.
	pub fn limit(&self, questions: u32) {
		self.chain.lock().unwrap().busy = questions;
	}

	/// What was submitted so far, whenever that changes.
	pub fn submitted(&self) -> watch::Receiver<Vec<Vec<u8>>> {
		self.chain.lock().unwrap().submitted.subscribe()
	}

	/// Where it listens.
	pub fn url(&self) -> String {
		format!("ws://{}", self.address)
	}

	/// What lies between this node and clients that connect there, with everything that is sent to it on its way for this long.
	pub async fn from_afar(&self, way: Duration) -> Distance {
		Distance::to(self.address, way).await
	}
}

/// A socket at an address that others may listen at if they, too, say that they share it. No port 0 is ever given out as one that it holds.
fn shared(address: SocketAddr) -> TcpSocket {
	let socket = TcpSocket::new_v4().unwrap();
	socket.set_reuseport(true).unwrap();
	socket.bind(address).unwrap();
	socket
}

fn serve(chain: &Arc<Mutex<Chain>>, address: SocketAddr) -> ServerHandle {
	let listener = shared(address).listen(1_024).unwrap().into_std().unwrap();
	Server::builder().build_from_tcp(listener).unwrap().start(methods(chain.clone()))
}
