//! Makes the blocks of a small chain natively, as its only validator: genesis of the development preset, and the runtime's WASM.

use crate::common::genesis_of;
use codec::{Compact, Decode, Encode};
use neuroshard_chain_client::{Block, BlockId, Call, Entries, Header};
use neuroshard_runtime::{genesis, Babe, Executive, Runtime, RuntimeCall, SignedPayload, Timestamp, TxExtension, UncheckedExtrinsic};
use neuroshard_types::{AccountId, H256};
use sp_consensus_babe::{
	digests::{CompatibleDigestItem, PreDigest, SecondaryVRFPreDigest},
	make_vrf_sign_data, Epoch, Slot,
};
use sp_core::{crypto::VrfSecret, sr25519, storage::StateVersion, traits::ReadRuntimeVersionExt, Pair};
use sp_runtime::{generic::Era, traits::Header as _, BuildStorage, Digest, DigestItem};
use sp_state_machine::Backend;
use subxt::metadata::Metadata;

/// Slot of genesis, in the year 2027.
const SLOT: u64 = 600_000_000;

/// Root of the trie without leaves.
const NO_EXTRINSICS: [u8; 32] = [
	0x03, 0x17, 0x0a, 0x2e, 0x75, 0x97, 0xb7, 0xb7, 0xe3, 0xd8, 0x4c, 0x05, 0x39, 0x1d, 0x13, 0x9a, 0x62, 0xb1, 0x57, 0xe7, 0x87, 0x86,
	0xd8, 0xc0, 0x82, 0xf2, 0x9d, 0xcf, 0x4c, 0x11, 0x13, 0x14,
];

/// The chain as its validator, Alice, has it.
pub struct Chain {
	state: sp_io::TestExternalities,
	metadata: Metadata,
	alice: sr25519::Pair,
	nonce: u32,
	/// Slots without a block so far.
	pub missed: u64,
	/// Genesis, and every block after it with its author's seal.
	pub blocks: Vec<Block>,
}

impl Chain {
	pub fn new() -> Self {
		let wasm = neuroshard_runtime::WASM_BINARY.expect("this test needs the WASM runtime: unset SKIP_WASM_BUILD");
		let storage = genesis_of(genesis::DEVELOPMENT).build_storage().unwrap();
		let mut state = sp_io::TestExternalities::new_with_code_and_state(wasm, storage, StateVersion::V1);
		let executor = sc_executor::WasmExecutor::<sp_io::SubstrateHostFunctions>::builder().build();
		state.register_extension(ReadRuntimeVersionExt::new(executor));
		let metadata = state.execute_with(|| Runtime::metadata_at_version(16)).unwrap();
		let header = Header::new(0, H256(NO_EXTRINSICS), *state.backend.root(), H256::zero(), Digest::default());
		let genesis = Block { hash: header.hash(), header, extrinsics: Vec::new() };
		let alice = sr25519::Pair::from_string("//Alice", None).unwrap();
		Self { state, metadata: Metadata::decode_from(&metadata).unwrap(), alice, nonce: 0, missed: 0, blocks: vec![genesis] }
	}

	pub fn alice(&self) -> AccountId {
		AccountId::from(self.alice.public())
	}

	/// The newest block and the root of the state after it.
	pub fn head(&self) -> (BlockId, H256) {
		let block = self.blocks.last().unwrap();
		(BlockId { number: block.header.number, hash: block.hash }, block.header.state_root)
	}

	pub fn entries(&self) -> Entries {
		self.state.backend.pairs(Default::default()).unwrap().map(Result::unwrap).collect()
	}

	/// What the runtime says of the state after the newest block.
	pub fn look<R>(&mut self, look: impl FnOnce() -> R) -> R {
		self.state.execute_with(look)
	}

	/// Chain time of the next block.
	pub fn next_time(&self) -> u64 {
		*self.next_slot() * neuroshard_runtime::BLOCK_TIME_MS
	}

	fn next_slot(&self) -> Slot {
		(SLOT + self.blocks.len() as u64 + self.missed).into()
	}

	/// Epoch of the next block, as it was announced in those before: genesis fixes the one that begins with block 1.
	fn next_epoch(&mut self) -> Epoch {
		let (slot, first) = (self.next_slot(), self.blocks.len() == 1);
		self.state.execute_with(|| match Babe::current_epoch() {
			epoch if first || slot < epoch.start_slot + epoch.duration => epoch,
			// Epochs may have gone by without a block; the announced one then is that of the slot, under its number.
			_ => {
				let next = Babe::next_epoch();
				Epoch { epoch_index: (*slot - SLOT - 1) / next.duration, ..next }
			}
		})
	}

	/// A secondary slot of the only validator, with the VRF output that is due.
	pub fn claim(&mut self) -> SecondaryVRFPreDigest {
		let (slot, epoch) = (self.next_slot(), self.next_epoch());
		let vrf_signature = self.alice.vrf_sign(&make_vrf_sign_data(&epoch.randomness, slot, epoch.epoch_index));
		SecondaryVRFPreDigest { authority_index: 0, slot, vrf_signature }
	}

	/// Adds a block in which Alice makes these calls; each must succeed.
	pub fn block(&mut self, calls: Vec<Call>) {
		let calls: Vec<_> = calls.iter().map(|call| decoded(call.encode(&self.metadata).unwrap())).collect();
		self.block_of(calls);
	}

	pub fn block_of(&mut self, calls: Vec<RuntimeCall>) {
		let claim = PreDigest::SecondaryVRF(self.claim());
		self.block_by(claim, &self.alice.clone(), calls);
	}

	/// Adds a block with this claim of a slot and the seal of `author`.
	pub fn block_by(&mut self, claim: PreDigest, author: &sr25519::Pair, calls: Vec<RuntimeCall>) {
		let (parent, time) = (self.head().0, self.next_time());
		let digest = Digest { logs: vec![DigestItem::babe_pre_digest(claim)] };
		let header = Header::new(parent.number + 1, H256::zero(), H256::zero(), parent.hash, digest);
		let (alice, nonce) = (&self.alice, self.nonce);
		let (extrinsics, mut header) = self.state.execute_with(|| {
			Executive::initialize_block(&header);
			// `Timestamp::set`, the inherent.
			let mut extrinsics = vec![UncheckedExtrinsic::new_bare(decoded((1u8, 0u8, Compact(time)).encode()))];
			extrinsics.extend((nonce..).zip(calls).map(|(nonce, call)| signed(alice, nonce, call)));
			for extrinsic in &extrinsics {
				Executive::apply_extrinsic(extrinsic.clone()).unwrap().unwrap();
			}
			assert_eq!(Timestamp::get(), time);
			(extrinsics, Executive::finalize_block())
		});
		self.state.commit_all().unwrap();
		self.nonce += extrinsics.len() as u32 - 1;
		assert_eq!(header.state_root, *self.state.backend.root());
		header.digest.push(DigestItem::babe_seal(author.sign(header.hash().as_bytes()).into()));
		self.blocks.push(Block { hash: header.hash(), header, extrinsics: extrinsics.iter().map(Encode::encode).collect() });
	}
}

pub fn decoded(call: Vec<u8>) -> RuntimeCall {
	RuntimeCall::decode(&mut call.as_slice()).unwrap()
}

/// Signed within a block: what is signed names the genesis hash, which the runtime knows from the first block on.
fn signed(signer: &sr25519::Pair, nonce: u32, call: RuntimeCall) -> UncheckedExtrinsic {
	// Era, nonce, tip, and no hash of the metadata; the other extensions have no bytes.
	let extension = (Era::Immortal, Compact(nonce), Compact(0u128), 0u8).encode();
	let extension = TxExtension::decode(&mut extension.as_slice()).unwrap();
	let payload = SignedPayload::new(call, extension).unwrap();
	let signature = payload.using_encoded(|bytes| signer.sign(bytes));
	let (call, extension, _) = payload.deconstruct();
	UncheckedExtrinsic::new_signed(call, AccountId::from(signer.public()).into(), signature.into(), extension)
}
