//! Benchmarks, and what they need that only the runtime knows. Compiled for measuring alone.

use crate::{
	AccountId, AllPalletsWithSystem, Assets, Authorship, Balance, Balances, BlockNumber, Council, Dataset, Disputes, Identity, Inference,
	Multisig, Ownership, Ponw, Preimage, Proxy, Rewards, Runtime, RuntimeOrigin, SafeMode, Scheduler, Staking, Sudo, Timestamp, Training,
	TransactionPayment, Treasury, TxPause, Utility, Validators, NEURO,
};
use alloc::{string::String, vec, vec::Vec};
use codec::Encode;
use frame_benchmarking::{BenchmarkBatch, BenchmarkConfig, BenchmarkList};
use frame_support::{
	traits::{
		fungible::{Inspect, Mutate, MutateHold},
		Get, StorageInfo, StorageInfoTrait, TrackedStorageKey, WhitelistedStorageKeys,
	},
	BoundedVec,
};
use neuroshard_types::{
	dataset::{DatasetShape, DatasetStatus, Manifest, TextTokens, Tokenizer, BYTE_VOCAB},
	dispute::{AttestationClaim, ClaimId, ClaimKind, WorkClaim},
	inference::{CheckpointId, SessionId},
	proof::{Proof, ProofSignature},
	provider::{HardwareProfile, PonwKey, ProviderInfo, ProviderStatus, Role, Roles, MAX_GFLOPS},
	run::{Attestation, PhaseDurations, RunConfig, RunStart},
	traits::FinalWork,
	DatasetId, ModelConfig, Moment, RunId, TrainConfig, F32, H256, MAX_LAYERS, MAX_PARTICIPANTS,
};
use pallet_neuro_dataset::Datasets;
use pallet_neuro_inference::{Session, Sessions};
use pallet_neuro_ponw::benchmarking::KEYS;
use pallet_neuro_staking::{Provider, Providers, MAX_UNBONDING_CHUNKS, MISSES};
use pallet_neuro_training::{
	Accounts, Active, ActiveRun, Members, Participant, Place, Record, Records, Revealed, Round, Rounds, Run, Runs, Stage,
};
use sp_consensus_babe::digests::{PreDigest, SecondaryPlainPreDigest};
use sp_core::ecdsa;
use sp_runtime::{DigestItem, Permill};

frame_benchmarking::define_benchmarks!(
	[frame_system, frame_system_benchmarking::Pallet::<Runtime>]
	[frame_system_extensions, frame_system_benchmarking::extensions::Pallet::<Runtime>]
	[pallet_assets, Assets]
	[pallet_balances, Balances]
	[pallet_collective, Council]
	[pallet_identity, Identity]
	[pallet_multisig, Multisig]
	[pallet_neuro_dataset, Dataset]
	[pallet_neuro_disputes, Disputes]
	[pallet_neuro_inference, Inference]
	[pallet_neuro_ownership, Ownership]
	[pallet_neuro_ponw, Ponw]
	[pallet_neuro_rewards, Rewards]
	[pallet_neuro_staking, Staking]
	[pallet_neuro_training, Training]
	[pallet_neuro_validators, Validators]
	[pallet_preimage, Preimage]
	[pallet_proxy, Proxy]
	[pallet_safe_mode, SafeMode]
	[pallet_scheduler, Scheduler]
	[pallet_sudo, Sudo]
	[pallet_timestamp, Timestamp]
	[pallet_transaction_payment, TransactionPayment]
	[pallet_treasury, Treasury]
	[pallet_tx_pause, TxPause]
	[pallet_utility, Utility]
);

/// Returns the benchmarks, and the storage that there is.
pub fn list(extra: bool) -> (Vec<BenchmarkList>, Vec<StorageInfo>) {
	let mut list = Vec::new();
	list_benchmarks!(list, extra);
	(list, AllPalletsWithSystem::storage_info())
}

/// Measures.
pub fn run(config: BenchmarkConfig) -> Result<Vec<BenchmarkBatch>, String> {
	let mut whitelist = AllPalletsWithSystem::whitelisted_storage_keys();
	if config.pallet == b"pallet_transaction_payment" {
		whitelist.extend(paid_for_elsewhere());
	}
	let (mut batches, params) = (Vec::new(), (&config, &whitelist));
	add_benchmarks!(params, batches);
	Ok(batches)
}

/// Accounts that a fee is taken from and paid to, and that other weights price: that of who signs is read and written for its nonce in the same
/// extrinsic, and that of the author is in memory from a block's first extrinsic on, and written once for the block.
fn paid_for_elsewhere() -> impl Iterator<Item = TrackedStorageKey> {
	let who = [Some(frame_benchmarking::account("caller", 0, 0)), Validators::elected().into_iter().next().map(|(who, _)| who)];
	who.into_iter().flatten().map(|who| frame_system::Account::<Runtime>::hashed_key_for(who).into())
}

impl frame_system_benchmarking::Config for Runtime {}

impl pallet_transaction_payment::BenchmarkConfig for Runtime {
	fn setup_benchmark_environment() {
		// Fees are paid to the author, which somebody has to be.
		let digest = PreDigest::SecondaryPlain(SecondaryPlainPreDigest { authority_index: 0, slot: 0.into() });
		frame_system::Pallet::<Runtime>::deposit_log(DigestItem::PreRuntime(sp_consensus_babe::BABE_ENGINE_ID, digest.encode()));
		assert!(Authorship::author().is_some(), "genesis names validators");
	}
}

/// Setup that the benchmarks of our own pallets ask for.
pub struct Helper;

/// Stake of a provider.
const BOND: Balance = 10_000 * NEURO;

/// A new secp256k1 key, which can sign.
fn new_key() -> PonwKey {
	sp_io::crypto::ecdsa_generate(KEYS, None).0
}

/// Makes `who` an active provider with all that one can have, and a key.
fn enroll(who: &AccountId, ponw_key: PonwKey) {
	let address: BoundedVec<u8, _> = BoundedVec::truncate_from(vec![0; 128]);
	let info = ProviderInfo {
		roles: Roles::only(Role::Worker).with(Role::Verifier),
		hardware: HardwareProfile { gflops: MAX_GFLOPS, memory_mib: u32::MAX, bandwidth_kib_s: u32::MAX },
		ponw_key,
		peer_id: BoundedVec::truncate_from(vec![0; 44]),
		addresses: BoundedVec::truncate_from(vec![address; 8]),
	};
	Balances::set_balance(who, 2 * BOND);
	let held = Balances::set_on_hold(&pallet_neuro_staking::HoldReason::Bond.into(), who, BOND);
	assert!(held.is_ok(), "who has twice as much can have it held");
	let mut provider = Provider::new(info, BOND, H256::zero());
	provider.status = ProviderStatus::Active;
	for unlocks_at in 1..=MAX_UNBONDING_CHUNKS {
		assert_eq!(provider.bond.unbond(1, BlockNumber::MAX.saturating_sub(MAX_UNBONDING_CHUNKS).saturating_add(unlocks_at)), Ok(()));
	}
	Providers::<Runtime>::insert(who, provider);
}

impl pallet_neuro_dataset::BenchmarkHelper<RuntimeOrigin> for Helper {
	fn provider(who: &AccountId) {
		enroll(who, new_key());
	}
	fn retirer() -> RuntimeOrigin {
		RuntimeOrigin::root()
	}
}

impl pallet_neuro_ponw::BenchmarkHelper for Helper {
	fn register(who: &AccountId, key: PonwKey) {
		enroll(who, key);
	}
	fn set_time(now: Moment) {
		pallet_timestamp::Now::<Runtime>::put(now);
	}
	fn was_credited(who: &AccountId, run: RunId) -> bool {
		let era = pallet_neuro_rewards::Current::<Runtime>::get().index;
		pallet_neuro_rewards::Points::<Runtime>::contains_key(era, who)
			&& pallet_neuro_ownership::Holdings::<Runtime>::contains_key(who, run)
	}
}

impl pallet_neuro_training::BenchmarkHelper<RuntimeOrigin> for Helper {
	fn approver() -> RuntimeOrigin {
		RuntimeOrigin::root()
	}
	fn stopper() -> RuntimeOrigin {
		RuntimeOrigin::root()
	}
	fn sponsor() -> AccountId {
		let who: AccountId = frame_benchmarking::whitelisted_caller();
		Balances::set_balance(&who, 1_000_000 * NEURO);
		who
	}
	fn dataset() -> DatasetId {
		if !Datasets::<Runtime>::contains_key(0) {
			let manifest = Manifest {
				name: BoundedVec::truncate_from(vec![b'n'; 64]),
				licence: BoundedVec::truncate_from(vec![b'l'; 64]),
				source: BoundedVec::truncate_from(vec![b's'; 256]),
				tokenizer: Tokenizer { root: H256::repeat_byte(1), bytes: 10_000, tokens: TextTokens::BYTES },
				vocab: BYTE_VOCAB,
				masked: false,
				// 64 windows a shard, 128 training shards.
				shape: DatasetShape { tokens_per_shard: 64 * 32 + 1, shard_count: 129, held_out: 1 },
				root: H256::repeat_byte(2),
				bytes: u64::MAX,
			};
			let proposer = frame_benchmarking::account("proposer", 0, 0);
			let dataset = pallet_neuro_dataset::Dataset { proposer, deposit: 0, manifest, status: DatasetStatus::Active, users: 0 };
			Datasets::<Runtime>::insert(0, dataset);
		}
		0
	}
	fn worker(index: u32) -> AccountId {
		let who = frame_benchmarking::account("worker", index, 0);
		enroll(&who, new_key());
		pallet_neuro_ponw::benchmarking::crowd::<Runtime>(&who);
		who
	}
	fn retire() {
		Datasets::<Runtime>::mutate_exists(0, |dataset| dataset.iter_mut().for_each(|dataset| dataset.status = DatasetStatus::Retired));
	}
	fn impoverish(who: &AccountId) {
		Providers::<Runtime>::mutate_extant(who, |provider| provider.bond.active = 1);
	}
	fn note_adopted() {
		pallet_neuro_disputes::AuditShare::<Runtime>::put(Permill::one());
	}
	fn own(run: RunId) {
		Ownership::final_work(&frame_benchmarking::account("owner", 0, 0), run, 1);
	}
	fn sign(who: &AccountId, proof: &Proof) -> ProofSignature {
		let genesis = frame_system::Pallet::<Runtime>::block_hash(0);
		let hash = sp_io::hashing::blake2_256(&proof.message(genesis, who));
		let key = Providers::<Runtime>::get(who).map(|provider| ecdsa::Public::from_raw(provider.info.ponw_key));
		key.and_then(|key| sp_io::crypto::ecdsa_sign_prehashed(KEYS, &key, &hash)).map_or([0; 65], |signature| signature.0)
	}
	fn pass_time() {
		pallet_timestamp::Now::<Runtime>::mutate(|now| *now = now.saturating_add(1_000));
	}
}

/// The run of a claim.
fn put_run(id: &ClaimId, config: RunConfig, shape: DatasetShape, dataset_root: H256) {
	let run = Run {
		sponsor: frame_benchmarking::account("sponsor", 0, 0),
		deposit: 0,
		config,
		shape,
		dataset_root,
		approved: true,
		rounds_adopted: id.round.saturating_add(1),
		checkpoint: H256::zero(),
		replay: None,
		spans: Default::default(),
		finished_at: None,
	};
	Runs::<Runtime>::insert(id.run, run);
}

/// A round that is adopted in this block, with as many places as there can be. Nobody revealed or attested anything.
fn adopted(start: H256, seed: H256) -> Record {
	let place = |number| Place {
		account: frame_benchmarking::account("place", number, 0),
		stake: NEURO,
		counted: true,
		revealed: None,
		included: false,
		attested: None,
		excluded_from: None,
		condemned: false,
		disqualified: false,
	};
	let mut places: Vec<_> = (0..MAX_PARTICIPANTS).map(place).collect();
	places.sort_by(|a, b| a.account.cmp(&b.account));
	Record {
		seed,
		start,
		first_round: 0,
		places: BoundedVec::truncate_from(places),
		checkpoint: H256::zero(),
		fallen: false,
		validation_loss: F32::new(0.0),
		adopted_at: frame_system::Pallet::<Runtime>::block_number(),
	}
}

/// The place of `who`, which takes that of somebody who did nothing.
fn with_place(record: &mut Record, who: &AccountId, change: impl FnOnce(&mut Place)) {
	let held = record.places.iter().position(|place| place.account == *who);
	let index = held.or_else(|| record.places.iter().position(|place| place.revealed.is_none() && place.attested.is_none()));
	if let Some(place) = index.and_then(|index| record.places.get_mut(index)) {
		place.account = who.clone();
		change(place);
	}
	record.places.sort_by(|a, b| a.account.cmp(&b.account));
}

impl pallet_neuro_inference::BenchmarkHelper for Helper {
	fn provider(who: &AccountId) {
		enroll(who, new_key());
		let all = Role::ALL.into_iter().fold(Roles::default(), Roles::with);
		Providers::<Runtime>::mutate_extant(who, |provider| provider.info.roles = all);
	}
	fn model() -> (CheckpointId, u16) {
		if Authorship::author().is_none() {
			<Runtime as pallet_transaction_payment::BenchmarkConfig>::setup_benchmark_environment();
		}
		let model = ModelConfig { layers: MAX_LAYERS, ..ModelConfig::tiny() };
		let config = RunConfig {
			name: BoundedVec::truncate_from(vec![b'n'; 64]),
			dataset: 0,
			model,
			train: TrainConfig::tiny(),
			genesis_root: H256::zero(),
			start: RunStart::Seed,
			min_participants: 1,
			max_participants: MAX_PARTICIPANTS,
			min_bond: NEURO,
			rounds: None,
			durations: PhaseDurations { joining: 1, training: 1, revealing: 1, availability: 1, checkpointing: 1 },
			tokenizer: Tokenizer::BYTES,
			overlaps: false,
			epochs: true,
		};
		// A round that is over, and the one before: both are looked at.
		let id = ClaimId { run: 0, round: 1, kind: ClaimKind::Work, who: frame_benchmarking::account("sponsor", 0, 0) };
		put_run(&id, config, DatasetShape { tokens_per_shard: 4_096, shard_count: 4, held_out: 1 }, H256::zero());
		let root = H256::repeat_byte(7);
		for round in 0..=id.round {
			Records::<Runtime>::insert(id.run, round, adopted(root, H256::zero()));
		}
		Ownership::final_work(&frame_benchmarking::account("owner", 0, 0), id.run, 1);
		(CheckpointId { run: id.run, round: id.round, root }, u16::try_from(MAX_LAYERS).unwrap_or(u16::MAX))
	}
}

impl pallet_neuro_disputes::BenchmarkHelper for Helper {
	fn fund(who: &AccountId, amount: Balance) {
		Balances::set_balance(who, Balances::total_balance(who).saturating_add(amount));
	}
	fn work(id: &ClaimId, claim: WorkClaim) {
		put_run(id, claim.config, claim.shape, claim.dataset_root);
		let mut record = Records::<Runtime>::get(id.run, id.round).unwrap_or_else(|| adopted(claim.start, claim.seed));
		let revealed = Revealed { delta_root: H256::zero(), work_hash: claim.work_hash };
		with_place(&mut record, &id.who, |place| (place.revealed, place.included) = (Some(revealed), true));
		Records::<Runtime>::insert(id.run, id.round, record);
	}
	fn attestation(id: &ClaimId, claim: AttestationClaim) {
		let shape = DatasetShape { tokens_per_shard: 4_096, shard_count: 4, held_out: 1 };
		put_run(id, claim.config, shape, H256::zero());
		for (round, deltas) in (claim.job.first_round..).zip(&claim.job.steps) {
			let mut record = adopted(claim.job.start, H256::zero());
			for (place, delta_root) in record.places.iter_mut().zip(deltas) {
				place.revealed = Some(Revealed { delta_root: *delta_root, work_hash: H256::zero() });
				place.included = true;
			}
			if round == id.round {
				record.first_round = claim.job.first_round;
				let who = record.places.iter_mut().next();
				who.into_iter().for_each(|place| {
					place.account = id.who.clone();
					place.attested = Some(claim.checkpoint);
				});
				record.places.sort_by(|a, b| a.account.cmp(&b.account));
			}
			Records::<Runtime>::insert(id.run, round, record);
		}
	}
	fn under_way(id: &ClaimId) {
		let places = Records::<Runtime>::get(id.run, id.round).map(|record| record.places).unwrap_or_default();
		let next = Accounts::truncate_from(places.iter().map(|place| place.account.clone()).collect());
		let attestation = Some(Attestation { checkpoint: H256::zero(), validation_loss: F32::new(0.0) });
		let revealed = |account: &AccountId| Participant {
			delta_root: Some(H256::zero()),
			included: true,
			attestation,
			..Participant::new(account.clone(), NEURO, true)
		};
		let participants = BoundedVec::truncate_from(next.iter().map(revealed).collect());
		let stage = Stage::Checkpointing { repeats: 0, next: next.clone() };
		Rounds::<Runtime>::insert(id.run, Round { stage, participants, ..Round::joining(id.round.saturating_add(1), 0, None) });
		Members::<Runtime>::insert(id.run, next);
		let runs = (0..<Runtime as pallet_neuro_training::Config>::MaxActiveRuns::get()).map(|run| ActiveRun { run, due: None });
		Active::<Runtime>::put(BoundedVec::truncate_from(runs.collect()));
		pallet_neuro_ponw::benchmarking::wait::<Runtime>(&id.who, id.run, id.round);
	}
	fn verifier(who: &AccountId) {
		enroll(who, new_key());
		Providers::<Runtime>::mutate_extant(who, |provider| provider.missed.count = MISSES.saturating_sub(1));
	}
	fn chill(who: &AccountId) {
		Providers::<Runtime>::mutate_extant(who, |provider| provider.status = ProviderStatus::Chilled);
	}
	fn epoch(epoch: u64) {
		pallet_babe::EpochIndex::<Runtime>::put(epoch);
	}
	fn answered(who: &AccountId, key: PonwKey, checkpoint: &CheckpointId, config: RunConfig) -> SessionId {
		enroll(who, key);
		let id = ClaimId { run: checkpoint.run, round: checkpoint.round, kind: ClaimKind::Work, who: who.clone() };
		put_run(&id, config, DatasetShape { tokens_per_shard: 4_096, shard_count: 4, held_out: 1 }, H256::zero());
		// A round that is over: it is looked at.
		Records::<Runtime>::insert(checkpoint.run, checkpoint.round, adopted(checkpoint.root, H256::zero()));
		let session = Session { user: who.clone(), provider: Some(who.clone()), escrow: 0, paid: 0, payees: 0, closes_at: None };
		Sessions::<Runtime>::insert(0, session);
		0
	}
}
