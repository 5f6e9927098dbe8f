//! The chain's state, kept in memory and moved on by executing blocks.

use super::{block, seal, HistoryError};
use codec::{Decode, DecodeAll};
use neuroshard_chain_client::{Block, BlockId, Entries, Header, LocalViews};
use neuroshard_types::{
	dataset::DatasetView,
	dispute::OuterJob,
	run::{RoundRecord, RoundView, RunView},
	BlockNumber, DatasetId, RoundIndex, RunId, H256,
};
use sc_executor::WasmExecutor;
use sp_consensus_babe::Epoch;
use sp_core::{
	storage::StateVersion,
	traits::{CallContext, ReadRuntimeVersionExt, RuntimeCode, WrappedRuntimeCode},
};
use sp_runtime::{
	traits::{BlakeTwo256, Hash as _, Header as _},
	Digest,
};
use sp_state_machine::{
	backend::{BackendRuntimeCode, TryPendingCode},
	Backend, InMemoryBackend, OverlayedChanges, StateMachine,
};
use sp_version::RuntimeVersion;
use std::sync::LazyLock;

/// Blocks after which trie nodes that nothing refers to any more leave memory: seldom, as all nodes are looked at for it.
const SWEEP: BlockNumber = 1_024;

/// The state after one block.
///
/// In memory: the trie of this state, and what the last 1,024 blocks at most replaced in it.
pub struct State {
	machine: Machine,
	/// Runtime that executed the last block. One that this block brought executes the next, and migrates the state in it.
	runtime: Runtime,
	head: BlockId,
}

impl State {
	/// The state after `block` with these storage entries.
	///
	/// # Errors
	/// [`HistoryError::Root`] if their trie has not the root `expected`, in either layout; [`HistoryError::Runtime`] without a
	/// runtime that can be asked.
	pub fn new(block: BlockId, expected: H256, entries: &Entries) -> Result<Self, HistoryError> {
		let machine = Machine::new(entries, |root| root == expected);
		let machine = machine.map_err(|found| HistoryError::Root { number: block.number, found, expected })?;
		Self::of(machine, block)
	}

	/// The state at genesis of the chain with the genesis hash `expected`, with these storage entries. All of the header of genesis
	/// follows from them.
	///
	/// # Errors
	/// [`HistoryError::Genesis`] if they are another chain's; [`HistoryError::Runtime`] without a runtime that can be asked.
	pub fn genesis(expected: H256, entries: &Entries) -> Result<Self, HistoryError> {
		let machine = Machine::new(entries, |root| genesis_hash(root) == expected);
		let machine = machine.map_err(|root| HistoryError::Genesis { found: genesis_hash(root), expected })?;
		Self::of(machine, BlockId { number: 0, hash: expected })
	}

	fn of(machine: Machine, head: BlockId) -> Result<Self, HistoryError> {
		let runtime = Runtime::load(&machine, machine.code(head.number)?, head.number)?;
		Ok(Self { machine, runtime, head })
	}

	/// The block that this is the state after.
	pub fn head(&self) -> BlockId {
		self.head
	}

	/// Executes the next block. After an error the state is that of before.
	///
	/// # Errors
	/// [`HistoryError::NotNext`] for another block than the next; [`HistoryError::Diverges`] if it does not follow from its body;
	/// [`HistoryError::NotSealed`] if no validator of its epoch made it.
	pub fn execute(&mut self, next: &Block) -> Result<(), HistoryError> {
		let number = self.head.number.saturating_add(1);
		block::check(next, self.head).map_err(|reason| HistoryError::NotNext { number, reason })?;
		let not_sealed = |reason| HistoryError::NotSealed { number, reason };
		let (unsealed, seal) = seal::unsealed(&next.header).map_err(not_sealed)?;
		let input = block::input(&unsealed, &next.extrinsics).map_err(|reason| HistoryError::NotNext { number, reason })?;
		let code = self.machine.code(self.head.number)?;
		if code.hash != self.runtime.code.hash {
			self.runtime = Runtime::load(&self.machine, code, self.head.number)?;
		}

		let diverges = |reason| HistoryError::Diverges { number, reason };
		let mut overlay = OverlayedChanges::default();
		let context = CallContext::Onchain { import: true };
		let executed = self.machine.call(&self.runtime.code, &mut overlay, "Core_execute_block", &input, context);
		// What does not hold, such as a root that differs, the runtime writes to the log before it breaks off.
		executed.map_err(|reason| diverges(format!("{reason}; the runtime's own words are in the log")))?;
		// The first block of an epoch begins it, so that its epoch is known only now; who is in it was fixed an epoch before.
		let epoch = self.machine.call(&self.runtime.code, &mut overlay, "BabeApi_current_epoch", &[], CallContext::Offchain);
		let unknown = |reason| HistoryError::Runtime { number, method: "BabeApi_current_epoch".into(), reason };
		let epoch = Epoch::decode_all(&mut epoch.map_err(unknown)?.as_slice()).map_err(|error| unknown(error.to_string()))?;
		seal::check(&unsealed, &seal, &epoch).map_err(not_sealed)?;
		let changes = overlay.drain_storage_changes(&self.machine.backend, self.runtime.layout).map_err(diverges)?;
		// The runtime has compared it; that it did so is not left to it.
		let (root, expected) = (changes.transaction_storage_root, next.header.state_root);
		if root != expected {
			return Err(diverges(format!("the state after it has root {root:?}, not {expected:?}")));
		}
		self.machine.backend.apply_transaction(root, changes.transaction);
		if number.is_multiple_of(SWEEP) {
			self.machine.backend.backend_storage_mut().purge();
		}
		self.head = BlockId { number, hash: next.hash };
		Ok(())
	}

	/// A run in this state.
	///
	/// # Errors
	/// [`HistoryError::Runtime`], or [`HistoryError::Chain`] if the runtime means something else by it.
	pub fn run(&self, id: RunId) -> Result<Option<RunView>, HistoryError> {
		self.runtime.views.run(id, |method, input| self.ask(method, input))
	}

	/// The current round of an active run in this state.
	///
	/// # Errors
	/// As [`Self::run`].
	pub fn round(&self, id: RunId) -> Result<Option<RoundView>, HistoryError> {
		self.runtime.views.round(id, |method, input| self.ask(method, input))
	}

	/// An adopted round in this state.
	///
	/// # Errors
	/// As [`Self::run`].
	pub fn record(&self, id: RunId, round: RoundIndex) -> Result<Option<RoundRecord>, HistoryError> {
		self.runtime.views.record(id, round, |method, input| self.ask(method, input))
	}

	/// Outer steps that are to be attested in this state.
	///
	/// # Errors
	/// As [`Self::run`].
	pub fn outer_job(&self, id: RunId) -> Result<Option<OuterJob>, HistoryError> {
		self.runtime.views.outer_job(id, |method, input| self.ask(method, input))
	}

	/// A dataset in this state.
	///
	/// # Errors
	/// As [`Self::run`].
	pub fn dataset(&self, id: DatasetId) -> Result<Option<DatasetView>, HistoryError> {
		self.runtime.views.dataset(id, |method, input| self.ask(method, input))
	}

	fn ask(&self, method: &str, input: &[u8]) -> Result<Vec<u8>, HistoryError> {
		self.machine.ask(&self.runtime.code, self.head.number, method, input)
	}
}

/// Hash of the header of genesis with this state root: it has no parent, no extrinsics, and no digest.
fn genesis_hash(state_root: H256) -> H256 {
	// Without leaves, both layouts of the trie are the same.
	let no_extrinsics = BlakeTwo256::ordered_trie_root(Vec::new(), StateVersion::V1);
	Header::new(0, no_extrinsics, state_root, H256::zero(), Digest::default()).hash()
}

/// Executes runtimes. It keeps what it compiled, by the hash of the code, so that all states of this process share one.
static EXECUTOR: LazyLock<WasmExecutor<sp_io::SubstrateHostFunctions>> = LazyLock::new(|| WasmExecutor::builder().build());

/// A state on which runtimes are executed.
struct Machine {
	backend: InMemoryBackend<BlakeTwo256>,
}

impl Machine {
	/// On a state with these storage entries whose root `is_expected`, in either layout.
	///
	/// # Errors
	/// The root in the newer layout.
	fn new(entries: &Entries, is_expected: impl Fn(H256) -> bool) -> Result<Self, H256> {
		let mut backend = InMemoryBackend::<BlakeTwo256>::default();
		let pairs = || entries.iter().map(|(key, value)| (key.as_slice(), Some(value.as_slice())));
		// The layout is the runtime's, which is among the entries and not to be executed before they are known to be right.
		let (newer, mut nodes) = backend.storage_root(pairs(), StateVersion::V1);
		let mut root = newer;
		if !is_expected(root) {
			(root, nodes) = backend.storage_root(pairs(), StateVersion::V0);
		}
		if !is_expected(root) {
			return Err(newer);
		}
		backend.apply_transaction(root, nodes);
		Ok(Self { backend })
	}

	/// The code in the state, which executes the next block.
	fn code(&self, number: BlockNumber) -> Result<Code, HistoryError> {
		let missing = || HistoryError::Runtime { number, method: "anything".into(), reason: "the state holds no code".into() };
		let found = BackendRuntimeCode::new(&self.backend, TryPendingCode::Yes);
		let found = found.runtime_code().map_err(|_| missing())?;
		let wasm = found.code_fetcher.fetch_runtime_code().ok_or_else(missing)?.into_owned();
		Ok(Code { hash: found.hash, wasm, heap_pages: found.heap_pages })
	}

	/// Calls the runtime; what it changes is in `overlay` afterwards. The error is the executor's, in words.
	fn call(
		&self,
		code: &Code,
		overlay: &mut OverlayedChanges<BlakeTwo256>,
		method: &str,
		input: &[u8],
		context: CallContext,
	) -> Result<Vec<u8>, String> {
		let fetcher = WrappedRuntimeCode(code.wasm.as_slice().into());
		let code = RuntimeCode { code_fetcher: &fetcher, hash: code.hash.clone(), heap_pages: code.heap_pages };
		// A runtime upgrade looks at the version of the new code.
		let mut extensions = ReadRuntimeVersionExt::new(EXECUTOR.clone()).into();
		let mut machine = StateMachine::new(&self.backend, overlay, &*EXECUTOR, method, input, &mut extensions, &code, context);
		machine.execute().map_err(|error| without_backtrace(&error.to_string()))
	}

	/// Calls the runtime and forgets what it changed.
	fn ask(&self, code: &Code, number: BlockNumber, method: &str, input: &[u8]) -> Result<Vec<u8>, HistoryError> {
		let answer = self.call(code, &mut OverlayedChanges::default(), method, input, CallContext::Offchain);
		answer.map_err(|reason| HistoryError::Runtime { number, method: method.into(), reason })
	}
}

/// WASM in the state.
struct Code {
	hash: Vec<u8>,
	wasm: Vec<u8>,
	heap_pages: Option<u64>,
}

/// Code that has said of itself what is needed to execute and to ask it.
struct Runtime {
	code: Code,
	layout: StateVersion,
	views: LocalViews,
}

impl Runtime {
	fn load(machine: &Machine, code: Code, number: BlockNumber) -> Result<Self, HistoryError> {
		let method = "Core_version";
		let version = machine.ask(&code, number, method, &[])?;
		let version = RuntimeVersion::decode(&mut version.as_slice()).map_err(|error| HistoryError::Runtime {
			number,
			method: method.into(),
			reason: error.to_string(),
		})?;
		let views = LocalViews::load(|method, input| machine.ask(&code, number, method, input))?;
		Ok(Self { code, layout: version.state_version(), views })
	}
}

/// The executor's error without the trace of addresses that it adds, on one line.
fn without_backtrace(error: &str) -> String {
	let message = error.split("WASM backtrace:").next().unwrap_or(error);
	message.split_whitespace().collect::<Vec<_>>().join(" ")
}
