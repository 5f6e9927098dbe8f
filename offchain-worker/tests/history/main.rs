//! Executing a chain's blocks anew: what follows from them is found, what does not is named.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod author;
#[path = "../../../runtime/tests/common/genesis.rs"]
mod common;

use author::{decoded, Chain};
use codec::Encode;
use neuroshard_chain_client::{dataset, staking, training, work_hash, Block, Call, Header};
use neuroshard_graph::layout::ParamLayout;
use neuroshard_kernels::kat;
use neuroshard_roles::arithmetic::open_challenge;
use neuroshard_runtime::{Staking, Training};
use neuroshard_training::presets;
use neuroshard_types::{
	dataset::{DatasetShape, Manifest, TextTokens, Tokenizer},
	proof::{Proof, ProofKey, ProofKind},
	provider::{HardwareProfile, ProviderInfo, Role, Roles},
	run::{seal, vote_bitmap, Attestation, PhaseDurations, RunConfig, RunStart, Work},
	F32, H256, NEURO,
};
use neuroshard_worker::history::{HistoryError, RunHistory, State};
use sp_consensus_babe::{
	digests::{CompatibleDigestItem, PreDigest, PrimaryPreDigest, SecondaryPlainPreDigest, SecondaryVRFPreDigest},
	make_vrf_sign_data,
};
use sp_core::{crypto::VrfSecret, ecdsa, sr25519, Pair};
use sp_maybe_compressed_blob::{compress_weakly, CODE_BLOB_BOMB_LIMIT};
use sp_runtime::DigestItem;

const SALT: [u8; 32] = [7; 32];

fn manifest() -> Manifest {
	Manifest {
		name: b"text".to_vec().try_into().unwrap(),
		licence: b"Apache-2.0".to_vec().try_into().unwrap(),
		source: b"here".to_vec().try_into().unwrap(),
		tokenizer: Tokenizer { root: H256([3; 32]), bytes: 10_000, tokens: TextTokens::BYTES },
		vocab: 288,
		masked: false,
		shape: DatasetShape { tokens_per_shard: 1 << 20, shard_count: 4, held_out: 1 },
		root: H256([4; 32]),
		bytes: 16_384,
	}
}

/// A run of one provider and one round that may last two blocks in every phase.
fn config() -> RunConfig {
	let (model, train) = presets::tiny();
	RunConfig {
		name: b"run".to_vec().try_into().unwrap(),
		dataset: 0,
		model,
		train,
		genesis_root: H256([5; 32]),
		start: RunStart::Seed,
		min_participants: 1,
		max_participants: 1,
		min_bond: 100 * NEURO,
		rounds: Some(1),
		durations: PhaseDurations { joining: 2, training: 2, revealing: 2, availability: 2, checkpointing: 2 },
		tokenizer: manifest().tokenizer,
		overlaps: false,
		epochs: true,
	}
}

fn key() -> ecdsa::Pair {
	ecdsa::Pair::from_seed(&[1; 32])
}

/// Work with the right form: nobody on chain computes it.
fn work(seed: u8) -> Work {
	let (model, train) = presets::tiny();
	Work {
		state_roots: vec![H256([seed; 32]); train.state_roots() as usize].try_into().unwrap(),
		delta_root: H256([seed; 32]),
		delta_bytes: ParamLayout::new(&model).unwrap().encoded_len() as u64,
		tokens: u64::from(train.inner_steps * train.batch * train.seq_len),
	}
}

/// A chain whose only provider is about to train the first round.
fn started() -> Chain {
	let mut chain = Chain::new();
	let info = ProviderInfo {
		roles: Roles::only(Role::Worker),
		hardware: HardwareProfile { gflops: 1_000_000, memory_mib: 1_024, bandwidth_kib_s: 1_024 },
		ponw_key: key().public().0,
		peer_id: [&[0, 36], &[1; 36][..]].concat().try_into().unwrap(),
		addresses: Default::default(),
	};
	// The same registration in another chain's first block is tested with the same inputs.
	let register = staking::register(info, 10_000 * NEURO);
	let mut trial = Chain::new();
	trial.block(vec![register.clone()]);
	let alice = trial.alice();
	let provider = trial.look(|| Staking::provider(alice)).unwrap();
	let challenge = open_challenge(&provider).unwrap();
	chain.block(vec![
		register,
		staking::prove_arithmetic(H256(kat::drawn(challenge.0))),
		dataset::propose(manifest()),
		dataset::activate(0),
		training::create_run(config()),
		training::join(0),
	]);
	chain.block(vec![]);
	chain
}

fn commit(chain: &mut Chain, attempt: u32, work: &Work) {
	let sealed = seal(chain.blocks[0].hash, 0, 0, attempt, &chain.alice(), &SALT, work);
	chain.block(vec![training::commit(0, 0, attempt, sealed)]);
}

fn reveal(chain: &Chain, attempt: u32, work: &Work) -> Call {
	let key_of_proof = ProofKey { run: 0, round: 0, kind: ProofKind::Training };
	let proof = Proof { key: key_of_proof, timestamp: chain.next_time(), work_hash: work_hash(work) };
	let signature = key().sign(&proof.message(chain.blocks[0].hash, &chain.alice())).0;
	training::reveal(0, 0, attempt, SALT, work.clone(), proof, signature)
}

/// The vote, the attestation, and the block that adopts the round.
fn adopt(chain: &mut Chain, attempt: u32) {
	chain.block(vec![training::vote_availability(0, 0, attempt, vote_bitmap([true]).unwrap())]);
	let attestation = Attestation { checkpoint: H256([9; 32]), validation_loss: F32::new(3.5) };
	chain.block(vec![training::attest(0, 0, attempt, attestation)]);
	chain.block(vec![]);
}

/// A chain of seven blocks with one adopted round, whose only reveal is inside a batch, and the state at genesis.
fn adopted() -> (Chain, State) {
	let genesis = at_head(&Chain::new());
	let mut chain = started();
	commit(&mut chain, 0, &work(1));
	let batch = Call::all(vec![reveal(&chain, 0, &work(1)), staking::bond_extra(NEURO)]);
	chain.block(vec![batch]);
	adopt(&mut chain, 0);
	(chain, genesis)
}

/// What is known to who starts at the newest block.
fn at_head(chain: &Chain) -> State {
	let (block, root) = chain.head();
	State::new(block, root, &chain.entries()).unwrap()
}

/// Executes `blocks` and what they say of the run.
fn follow(state: &mut State, blocks: &[Block]) -> Result<RunHistory, HistoryError> {
	let mut run = RunHistory::new(0, state)?;
	for block in blocks {
		state.execute(block)?;
		run.observe(state)?;
	}
	Ok(run)
}

#[test]
fn a_run_follows_from_the_blocks_and_a_reveal_counts_inside_a_batch() {
	let (mut chain, mut state) = adopted();
	let run = follow(&mut state, &chain.blocks[1..]).unwrap();
	assert_eq!(state.head(), chain.head().0);
	let record = chain.look(|| Training::record(0, 0)).unwrap();
	let [round] = run.rounds() else { panic!("{} rounds", run.rounds().len()) };
	assert_eq!(round.record, record);
	assert_eq!(record.included, [(chain.alice(), H256([1; 32]))]);
	assert_eq!(round.works, [(chain.alice(), work(1))]);
	assert!(run.is_finished());
	assert_eq!((run.config(), run.manifest()), (Some(&config()), Some(&manifest())));
	assert_eq!(run.changes(), 7, "creation, start, commit, reveal, vote, attestation, adoption");
}

#[test]
fn what_an_aborted_attempt_revealed_does_not_count() {
	let genesis = at_head(&Chain::new());
	let mut chain = started();
	commit(&mut chain, 0, &work(1));
	chain.block(vec![reveal(&chain, 0, &work(1))]);
	// Nobody votes: the attempt ends with its only participant, who comes back. The next round begins in block 11, which as the first
	// one of an epoch has no room for calls.
	(5..10).for_each(|_| chain.block(vec![]));
	assert_eq!(chain.look(|| Training::round(0)).unwrap().attempt, 1);
	chain.block(vec![training::join(0)]);
	chain.block(vec![]);
	commit(&mut chain, 1, &work(2));
	chain.block(vec![reveal(&chain, 1, &work(2))]);
	adopt(&mut chain, 1);
	let mut state = genesis;
	let run = follow(&mut state, &chain.blocks[1..]).unwrap();
	assert_eq!(run.rounds().len(), 1);
	assert_eq!(run.rounds()[0].works, [(chain.alice(), work(2))]);
}

#[test]
fn a_run_that_has_adopted_nothing_yet_has_no_rounds() {
	let (chain, mut state) = adopted();
	assert!(follow(&mut state, &[]).unwrap().config().is_none());
	let run = follow(&mut state, &chain.blocks[1..7]).unwrap();
	assert!(run.config().is_some() && run.rounds().is_empty() && !run.is_finished());
}

#[test]
fn a_changed_body_is_named_and_leaves_the_state_as_it_was() {
	let (chain, mut state) = adopted();
	follow(&mut state, &chain.blocks[1..4]).unwrap();
	let honest = &chain.blocks[4];
	let without = Block { extrinsics: honest.extrinsics[..1].to_vec(), ..honest.clone() };
	let mut other_signature = honest.clone();
	other_signature.extrinsics[1][60] ^= 1;
	let mut no_extrinsic = honest.clone();
	no_extrinsic.extrinsics[1] = vec![4, 0xff];
	for forged in [without, other_signature, no_extrinsic] {
		let error = state.execute(&forged).unwrap_err();
		assert!(matches!(error, HistoryError::Diverges { number: 4, .. }), "{error:?}");
		assert!(error.to_string().starts_with("block 4 does not follow from its body: "), "{error}");
		assert_eq!(state.head().number, 3);
	}
	follow(&mut state, &chain.blocks[4..]).unwrap();
	assert_eq!(state.head(), chain.head().0);
}

#[test]
fn a_changed_result_is_named_too() {
	let (chain, mut state) = adopted();
	let mut forged = chain.blocks[1].clone();
	forged.header.state_root = H256([1; 32]);
	let error = state.execute(&forged).unwrap_err();
	assert!(matches!(error, HistoryError::NotNext { number: 1, .. }), "the hash is another one: {error:?}");
	forged.hash = forged.header.hash();
	let error = state.execute(&forged).unwrap_err();
	assert!(matches!(error, HistoryError::Diverges { number: 1, .. }), "{error:?}");
}

#[test]
fn blocks_come_in_order_and_sealed() {
	let (chain, mut state) = adopted();
	let error = state.execute(&chain.blocks[2]).unwrap_err();
	assert!(matches!(error, HistoryError::NotNext { number: 1, .. }), "{error:?}");
	let mut unsealed = chain.blocks[1].clone();
	unsealed.header.digest.pop();
	unsealed.hash = unsealed.header.hash();
	let error = state.execute(&unsealed).unwrap_err();
	assert!(matches!(error, HistoryError::NotSealed { number: 1, .. }), "{error:?}");
	assert!(error.to_string().contains("does not end with the seal"), "{error}");
}

#[test]
fn a_block_that_no_validator_sealed_is_refused_and_leaves_the_state_as_it_was() {
	let (chain, mut state) = adopted();
	let honest = &chain.blocks[1];
	let header = seal_with(&honest.header, |unsealed| sr25519::Pair::from_string("//Bob", None).unwrap().sign(unsealed.as_bytes()));
	let bobs = Block { hash: header.hash(), header, ..honest.clone() };
	let header = seal_with(&honest.header, |_| sr25519::Signature::default());
	let nobodys = Block { hash: header.hash(), header, ..honest.clone() };
	for forged in [bobs, nobodys] {
		let error = state.execute(&forged).unwrap_err();
		assert!(error.to_string().starts_with("block 1 is not sealed by a validator of its epoch: the seal is not"), "{error}");
		assert!(error.is_difference());
		assert_eq!(state.head().number, 0);
	}
	follow(&mut state, &chain.blocks[1..]).unwrap();
}

/// `header` with another seal, made of the hash that is sealed.
fn seal_with(header: &Header, seal: impl FnOnce(H256) -> sr25519::Signature) -> Header {
	let mut header = header.clone();
	header.digest.pop();
	header.digest.push(DigestItem::babe_seal(seal(header.hash()).into()));
	header
}

#[test]
fn a_slot_is_claimed_by_its_validator_with_the_vrf_output_that_is_due() {
	type Forge = fn(SecondaryVRFPreDigest) -> PreDigest;
	let forgeries: [(Forge, &str); 4] = [
		(|due| PreDigest::SecondaryPlain(SecondaryPlainPreDigest { authority_index: 0, slot: due.slot }), "must be claimed otherwise"),
		(|due| PreDigest::SecondaryVRF(SecondaryVRFPreDigest { authority_index: 1, ..due }), "is not that of validator 1"),
		(|due| primary(SecondaryVRFPreDigest { authority_index: 1, ..due }), "there is no validator 1"),
		(
			|mut due| {
				let other = make_vrf_sign_data(&[1; 32], due.slot, 0);
				due.vrf_signature = sr25519::Pair::from_string("//Alice", None).unwrap().vrf_sign(&other);
				primary(due)
			},
			"the VRF output of validator 0 is not the one",
		),
	];
	for (forge, reason) in forgeries {
		let mut chain = Chain::new();
		let mut state = at_head(&chain);
		let (claim, alice) = (forge(chain.claim()), sr25519::Pair::from_string("//Alice", None).unwrap());
		chain.block_by(claim, &alice, vec![]);
		let error = state.execute(&chain.blocks[1]).unwrap_err();
		assert!(matches!(error, HistoryError::NotSealed { number: 1, .. }), "{error:?}");
		assert!(error.to_string().contains(reason), "{error}");
	}
}

#[test]
fn blocks_after_epochs_without_any_are_those_of_their_slot() {
	let mut chain = Chain::new();
	let mut state = at_head(&chain);
	for missed in [0, 3, 25, 100, 0] {
		chain.missed += missed;
		chain.block(vec![]);
		chain.block(vec![]);
	}
	for block in &chain.blocks[1..] {
		state.execute(block).unwrap();
	}
	assert_eq!(state.head(), chain.head().0);
}

/// The same as a primary slot, whose form of claim is equal.
fn primary(due: SecondaryVRFPreDigest) -> PreDigest {
	PreDigest::Primary(PrimaryPreDigest { authority_index: due.authority_index, slot: due.slot, vrf_signature: due.vrf_signature })
}

#[test]
fn a_changed_start_state_is_refused_by_its_root() {
	let chain = Chain::new();
	let (block, root) = chain.head();
	let entries = chain.entries();
	let mut rich = entries.clone();
	// The issuance: twox128 of `Balances` and of `TotalIssuance`.
	let key = hex::decode("c2261276cc9d1f8598ea4b6a74b15c2f57c875e4cff74148e4628f264b974c80").unwrap();
	rich.iter_mut().find(|(found, _)| *found == key).unwrap().1[15] ^= 1;
	let shorter = entries[1..].to_vec();
	for forged in [rich, shorter, Vec::new()] {
		let Err(error) = State::new(block, root, &forged) else { panic!("accepted") };
		assert!(matches!(error, HistoryError::Root { number: 0, expected, .. } if expected == root), "{error:?}");
	}
}

#[test]
fn a_start_up_to_the_block_before_the_adoption_serves_and_one_after_it_does_not() {
	let mut chain = started();
	commit(&mut chain, 0, &work(1));
	chain.block(vec![reveal(&chain, 0, &work(1))]);
	let mut states = vec![at_head(&chain)];
	chain.block(vec![training::vote_availability(0, 0, 0, vote_bitmap([true]).unwrap())]);
	states.push(at_head(&chain));
	let attestation = Attestation { checkpoint: H256([9; 32]), validation_loss: F32::new(3.5) };
	chain.block(vec![training::attest(0, 0, 0, attestation)]);
	states.push(at_head(&chain));
	chain.block(vec![]);
	let mut over = at_head(&chain);
	for mut state in states {
		let first = state.head().number as usize + 1;
		let run = follow(&mut state, &chain.blocks[first..]).unwrap();
		assert_eq!(run.rounds().len(), 1, "from block {first} on");
		assert_eq!(run.rounds()[0].works, [(chain.alice(), work(1))]);
		assert_eq!(run.changes() as usize, chain.blocks.len() - first);
	}
	let Err(error) = follow(&mut over, &[]) else { panic!("accepted") };
	assert!(matches!(error, HistoryError::StartsTooLate { run: 0, number: 7 }), "{error:?}");
	assert!(error.to_string().contains("--from-block"), "{error}");
}

#[test]
fn genesis_is_that_of_the_chain_with_its_hash_and_of_no_other() {
	let mut chain = Chain::new();
	let (hash, entries) = (chain.blocks[0].hash, chain.entries());
	let mut state = State::genesis(hash, &entries).unwrap();
	chain.block(vec![]);
	follow(&mut state, &chain.blocks[1..]).unwrap();
	for (expected, entries) in [(H256([1; 32]), &entries[..]), (hash, &entries[1..])] {
		let Err(error) = State::genesis(expected, &entries.to_vec()) else { panic!("accepted") };
		assert!(matches!(error, HistoryError::Genesis { found, .. } if found != expected), "{error:?}");
		assert!(!error.is_difference());
	}
}

#[test]
fn what_is_swept_from_memory_is_missed_by_no_block() {
	let mut chain = Chain::new();
	let mut state = at_head(&chain);
	// Past two sweeps, one of them after blocks that had one before.
	for _ in 0..2_060 {
		chain.block(vec![]);
		state.execute(chain.blocks.last().unwrap()).unwrap();
	}
	assert_eq!(state.head(), chain.head().0);
	assert!(state.run(0).unwrap().is_none());
}

#[test]
fn new_code_in_the_state_executes_the_blocks_after_it() {
	let mut chain = Chain::new();
	let mut state = at_head(&chain);
	let sudo = |call: u8, code: &[u8]| {
		// `Sudo::sudo` of `System::set_code` (2) or `System::set_code_without_checks` (3).
		decoded([&[9, 0, 0, call][..], &code.encode()].concat())
	};
	let same = neuroshard_runtime::WASM_BINARY.unwrap();
	// Other bytes, and small enough for a block.
	let other = compress_weakly(neuroshard_runtime::WASM_BINARY_BLOATY.unwrap(), CODE_BLOB_BOMB_LIMIT).unwrap();
	// The first one looks at the version of the code, finds no higher one, and changes nothing.
	chain.block_of(vec![sudo(2, same)]);
	chain.block_of(vec![sudo(3, &other)]);
	chain.block(vec![]);
	for block in &chain.blocks[1..] {
		state.execute(block).unwrap();
	}
	assert_eq!(state.head(), chain.head().0);
	let code = chain.entries().into_iter().find(|(key, _)| key == b":code").unwrap().1;
	assert_eq!(code, other);
}

#[test]
fn a_raw_spec_gives_the_entries_of_genesis_and_a_plain_one_says_what_to_do() {
	let chain = Chain::new();
	let hexadecimal = |bytes: &[u8]| format!("0x{}", hex::encode(bytes));
	let top: serde_json::Map<_, _> = chain.entries().iter().map(|(key, value)| (hexadecimal(key), hexadecimal(value).into())).collect();
	let folder = tempfile::tempdir().unwrap();
	let path = folder.path().join("spec.json");
	std::fs::write(&path, serde_json::json!({ "id": "x", "genesis": { "raw": { "top": top, "childrenDefault": {} } } }).to_string())
		.unwrap();
	let mut expected = chain.entries();
	expected.sort();
	assert_eq!(neuroshard_worker::history::genesis_entries(&path).unwrap(), expected);
	std::fs::write(&path, r#"{ "genesis": { "runtimeGenesis": {} } }"#).unwrap();
	let error = neuroshard_worker::history::genesis_entries(&path).unwrap_err();
	assert!(error.to_string().contains("export-chain-spec"), "{error}");
}
