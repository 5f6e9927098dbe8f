//! The chain: blocks of the runtime in this process.

use codec::{Compact, Decode, Encode};
use frame_support::{
	dispatch::{DispatchClass, GetDispatchInfo},
	storage::transactional::with_transaction_unchecked,
	traits::{OnFinalize, OnIdle, OnInitialize},
	weights::Weight,
};
use neuroshard_kernels::kat::drawn;
use neuroshard_roles::decide::{ChainView, RunState};
use neuroshard_runtime::{
	genesis, invariants, AllPalletsWithSystem, Dataset, Rewards, Runtime, RuntimeCall, RuntimeGenesisConfig, RuntimeOrigin, Staking,
	System, Timestamp, Training, TxExtension, BLOCK_TIME_MS, NEURO,
};
use neuroshard_types::{
	dataset::{DatasetShape, Manifest, TextTokens, Tokenizer},
	dispute::Claims,
	provider::{HardwareProfile, ProviderInfo, ProviderStatus, Role, Roles},
	reward::EraIndex,
	run::{PhaseDurations, RunConfig, RunStart},
	AccountId, Aggregator, Balance, BlockNumber, DatasetId, ModelConfig, Robust, RoundIndex, Rule, RunId, TrainConfig, F32, H256,
};
use sp_consensus_babe::{
	digests::{PreDigest, SecondaryPlainPreDigest},
	BABE_ENGINE_ID,
};
use sp_core::{ecdsa, Pair};
use sp_runtime::{
	generic::{CheckedExtrinsic, ExtrinsicFormat},
	traits::Applyable,
	BuildStorage, Digest, DigestItem, Permill, TransactionOutcome,
};
use std::collections::VecDeque;

/// Milliseconds between blocks.
pub const SLOT_MS: u64 = BLOCK_TIME_MS;
/// Blocks until one is final.
pub const FINALITY: BlockNumber = 2;
/// Slot of the first block.
const FIRST_SLOT: u64 = 600_000_000;
/// Bytes of an extrinsic beside its call: length, version, address, signature, extensions.
const SIGNED: usize = 4 + 1 + 33 + 65 + 16;
/// Bond of a provider.
pub const BOND: Balance = 1_000 * NEURO;
/// What each account begins with.
const ENDOWMENT: Balance = 10_000 * NEURO;
/// What must stay for the fees of a dispute.
const RESERVE: Balance = NEURO;

/// An extrinsic that waits for a block.
struct Waiting {
	who: AccountId,
	call: RuntimeCall,
}

/// What a block was like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Block {
	/// Its number.
	pub number: BlockNumber,
	/// Share of the block's weight that was used, by the larger of its two dimensions.
	pub used: f64,
	/// Share that the chain's own work took: what is done at the beginning of a block.
	pub own: f64,
	/// Extrinsics in it.
	pub extrinsics: u32,
	/// Of them those that failed.
	pub failed: u32,
}

/// The chain.
pub struct Chain {
	state: sp_io::TestExternalities,
	pool: VecDeque<Waiting>,
	/// Runs as providers see them after the newest block.
	views: Vec<Option<ChainView>>,
	number: BlockNumber,
}

/// Who has provider number `number`'s money and stake.
pub fn account(number: u32) -> AccountId {
	AccountId::new(sp_io::hashing::blake2_256(&(b"neuroshard/sim/provider", number).encode()))
}

/// The key for its proofs.
pub fn ponw_key(number: u32) -> ecdsa::Pair {
	ecdsa::Pair::from_seed(&sp_io::hashing::blake2_256(&(b"neuroshard/sim/ponw", number).encode()))
}

/// Who sponsors the runs.
fn sponsor() -> AccountId {
	account(u32::MAX)
}

/// Genesis of the development preset with these accounts. Nothing is audited.
fn genesis_with(providers: u32) -> RuntimeGenesisConfig {
	let patch = serde_json::from_slice(&genesis::preset(&genesis::DEVELOPMENT.into()).unwrap_or_default()).unwrap_or_default();
	let mut config = serde_json::to_value(RuntimeGenesisConfig::default()).unwrap_or_default();
	merge(&mut config, patch);
	let mut config: RuntimeGenesisConfig = serde_json::from_value(config).unwrap_or_default();
	let endowed = (0..providers).map(|number| (account(number), ENDOWMENT));
	config.balances.balances.extend(endowed.chain([(sponsor(), 10_000_000 * NEURO)]));
	(config.disputes.audit_share, config.disputes.answer_audit_share) = (Permill::zero(), Permill::zero());
	config
}

fn merge(base: &mut serde_json::Value, patch: serde_json::Value) {
	match (base, patch) {
		(serde_json::Value::Object(base), serde_json::Value::Object(patch)) => {
			patch.into_iter().for_each(|(key, value)| merge(base.entry(key).or_insert(serde_json::Value::Null), value));
		}
		(base, patch) => *base = patch,
	}
}

/// What a provider registers.
fn info(number: u32) -> ProviderInfo {
	let peer = [&[0, 36][..], &number.to_le_bytes(), &[7; 32]].concat();
	ProviderInfo {
		roles: Roles::only(Role::Worker),
		hardware: HardwareProfile { gflops: 1_000, memory_mib: 1_024, bandwidth_kib_s: 1_024 },
		ponw_key: ponw_key(number).public().0,
		peer_id: peer.try_into().unwrap_or_default(),
		addresses: Default::default(),
	}
}

/// What a run of the simulation trains.
#[derive(Clone, Debug)]
pub struct Terms {
	/// Inner steps of a round; with [`Self::least_steps`] the most of them.
	pub inner_steps: u32,
	/// Fewest, if deltas weigh by inner steps, and everybody takes as many as its machine does in time. A state is committed after every tenth of the most.
	pub least_steps: Option<u32>,
	/// Rounds of each run.
	pub rounds: u32,
	/// Longest phases, in blocks.
	pub durations: PhaseDurations,
	/// Whether all runs are cohorts of one family.
	pub family: bool,
}

impl Chain {
	/// A chain with so many registered providers, and runs with at most `places` of them each.
	///
	/// # Errors
	/// What the chain says if it refuses something.
	pub fn new(providers: u32, places: &[u32], terms: &Terms) -> Result<Self, String> {
		let storage = genesis_with(providers).build_storage()?;
		let state = sp_io::TestExternalities::new(storage);
		let mut chain = Self { state, pool: VecDeque::new(), views: vec![None; places.len()], number: 0 };
		chain.block();
		chain.state.execute_with(|| set_up(providers, places, terms))?;
		chain.look();
		Ok(chain)
	}

	/// Number of the newest block.
	pub fn number(&self) -> BlockNumber {
		self.number
	}

	/// Hash of the first block.
	pub fn genesis(&self) -> H256 {
		hash_of(0)
	}

	/// Chain time, in milliseconds.
	pub fn time(&self) -> u64 {
		FIRST_SLOT.saturating_add(self.number.into()).saturating_mul(SLOT_MS)
	}

	/// Extrinsics that wait.
	pub fn waiting(&self) -> usize {
		self.pool.len()
	}

	/// Whether an extrinsic of `who` waits.
	pub fn waits(&self, who: &AccountId) -> bool {
		self.pool.iter().any(|waiting| waiting.who == *who)
	}

	/// Puts an extrinsic into the pool.
	pub fn submit(&mut self, who: AccountId, call: RuntimeCall) {
		self.pool.push_back(Waiting { who, call });
	}

	/// Reads something of the state after the newest block.
	pub fn read<R>(&mut self, read: impl FnOnce() -> R) -> R {
		self.state.execute_with(read)
	}

	/// A run as providers see it after the newest block, and with it the chain.
	pub fn view(&mut self, run: RunId) -> Option<&mut ChainView> {
		self.views.get_mut(usize::try_from(run).ok()?)?.as_mut()
	}

	/// Makes the next block of what waits.
	pub fn block(&mut self) -> Block {
		self.number = self.number.saturating_add(1);
		let (number, pool) = (self.number, &mut self.pool);
		let block = self.state.execute_with(|| make_block(number, pool));
		self.look();
		block
	}

	/// What is broken of what must always hold.
	pub fn broken(&mut self) -> Option<String> {
		self.state.execute_with(|| invariants::broken().map(|broken| format!("{broken:?}")))
	}

	/// Looks at all runs.
	fn look(&mut self) {
		let best = self.number;
		let views = &mut self.views;
		self.state.execute_with(|| {
			for (run, view) in (0..).zip(views) {
				*view = run_state(run).map(|run| ChainView {
					best,
					me: sponsor(),
					active: true,
					challenge: None,
					bond: BOND,
					run: Some(run),
					hour: None,
					claimable: 0,
					free: ENDOWMENT,
					reserve: RESERVE,
				});
			}
		});
	}
}

/// A run as the worker's observer reads it, but for what is a single provider's.
fn run_state(id: RunId) -> Option<RunState> {
	let (view, round) = (Training::run(id)?, Training::round(id));
	let job = Training::outer_job(id);
	let (members, reported) = (Training::members(id), Training::reported_missing(id));
	Some(RunState { id, view, round, job, members, finalized_seal: None, finalized_place: None, next_join: None, reported })
}

/// Registers providers, a dataset and runs, in a block without limits.
fn set_up(providers: u32, places: &[u32], terms: &Terms) -> Result<(), String> {
	let refused = |what: &str| {
		let what = what.to_owned();
		move |error: sp_runtime::DispatchError| format!("{what}: {error:?}")
	};
	let by = |who: &AccountId| RuntimeOrigin::signed(who.clone());
	for number in 0..providers {
		let who = account(number);
		Staking::register(by(&who), info(number), BOND).map_err(refused("register"))?;
		if let Some(ProviderStatus::Unproven { challenge }) = Staking::provider(who.clone()).map(|provider| provider.status) {
			Staking::prove_arithmetic(by(&who), H256(drawn(challenge.0))).map_err(refused("prove_arithmetic"))?;
		}
	}
	let sponsor = sponsor();
	Dataset::propose(by(&sponsor), manifest()).map_err(refused("dataset"))?;
	let dataset: DatasetId = 0;
	Dataset::activate(by(&sponsor), dataset).map_err(refused("dataset"))?;
	for (run, &places) in (0..).zip(places) {
		Training::create_run(by(&sponsor), config(dataset, places, terms)).map_err(refused("run"))?;
		Training::approve_run(RuntimeOrigin::root(), run).map_err(refused("approval"))?;
		if terms.family && run > 0 {
			Training::add_cohort(by(&sponsor), 0, run).map_err(refused("cohort"))?;
		}
	}
	Ok(())
}

fn manifest() -> Manifest {
	Manifest {
		name: b"text".to_vec().try_into().unwrap_or_default(),
		licence: b"Apache-2.0".to_vec().try_into().unwrap_or_default(),
		source: b"here".to_vec().try_into().unwrap_or_default(),
		tokenizer: Tokenizer { root: H256([3; 32]), bytes: 10_000, tokens: TextTokens::BYTES },
		vocab: 288,
		masked: false,
		shape: DatasetShape { tokens_per_shard: 65_536, shard_count: 1_000, held_out: 1 },
		root: H256([4; 32]),
		bytes: 131_072_000,
	}
}

fn config(dataset: DatasetId, places: u32, terms: &Terms) -> RunConfig {
	let model = ModelConfig { vocab: 288, ..ModelConfig::tiny() };
	let (aggregator, commit_interval) = match terms.least_steps {
		None => (Aggregator::Mean, terms.inner_steps),
		Some(least_steps) => {
			let rule = Rule::WeightedMean { least_steps };
			(Aggregator::Robust(Robust { clip: F32::new(0.0), rule }), terms.inner_steps.div_ceil(10))
		}
	};
	let train = TrainConfig { inner_steps: terms.inner_steps, commit_interval, aggregator, validation_sequences: 2, ..TrainConfig::tiny() };
	RunConfig {
		name: b"run".to_vec().try_into().unwrap_or_default(),
		dataset,
		model,
		train,
		genesis_root: H256([5; 32]),
		start: RunStart::Seed,
		min_participants: places.div_ceil(2).max(2).min(places),
		max_participants: places,
		min_bond: 100 * NEURO,
		rounds: Some(terms.rounds),
		durations: terms.durations,
		tokenizer: manifest().tokenizer,
		overlaps: false,
		epochs: true,
	}
}

/// What stands for the hash of a block: it differs from block to block.
fn hash_of(number: BlockNumber) -> H256 {
	H256(sp_io::hashing::blake2_256(&number.encode()))
}

/// A block of what waits, in order, as far as there is room; the rest goes on waiting.
fn make_block(number: BlockNumber, pool: &mut VecDeque<Waiting>) -> Block {
	let slot = FIRST_SLOT.saturating_add(number.into());
	let claim = PreDigest::SecondaryPlain(SecondaryPlainPreDigest { authority_index: author(number), slot: slot.into() });
	let digest = Digest { logs: vec![DigestItem::PreRuntime(BABE_ENGINE_ID, claim.encode())] };
	System::reset_events();
	System::initialize(&number, &hash_of(number.saturating_sub(1)), &digest);
	let hooks = AllPalletsWithSystem::on_initialize(number);
	let limits = <Runtime as frame_system::Config>::BlockWeights::get();
	System::register_extra_weight_unchecked(hooks.saturating_add(limits.base_block), DispatchClass::Mandatory);
	// Refused only for a time that goes backwards.
	let _ = Timestamp::set(RuntimeOrigin::none(), slot.saturating_mul(SLOT_MS));
	let own = share(System::block_weight().total(), limits.max_block);
	let mut block = Block { number, own, ..Block::default() };
	let mut left = VecDeque::new();
	// As from a pool: acts before all else.
	let (acts, others): (VecDeque<_>, VecDeque<_>) = pool.drain(..).partition(|waiting: &Waiting| is_act(&waiting.call));
	for waiting in acts.into_iter().chain(others) {
		match apply(&waiting) {
			Some(succeeded) => {
				block.extrinsics = block.extrinsics.saturating_add(1);
				block.failed = block.failed.saturating_add(u32::from(!succeeded));
			}
			// There is no room for it, or not any more.
			None => left.push_back(waiting),
		}
	}
	*pool = left;
	let used = System::block_weight().total();
	block.used = share(used, limits.max_block);
	AllPalletsWithSystem::on_idle(number, limits.max_block.saturating_sub(used));
	AllPalletsWithSystem::on_finalize(number);
	block
}

/// Whether a call is one that participants have to make in a phase.
fn is_act(call: &RuntimeCall) -> bool {
	use pallet_neuro_training::Call::{attest, commit, reveal, vote_availability};
	matches!(call, RuntimeCall::Training(commit { .. } | reveal { .. } | vote_availability { .. } | attest { .. }))
}

/// The larger share of the two dimensions.
fn share(used: Weight, of: Weight) -> f64 {
	let part = |used: u64, of: u64| if of == 0 { 0.0 } else { used as f64 / of as f64 };
	part(used.ref_time(), of.ref_time()).max(part(used.proof_size(), of.proof_size()))
}

/// Applies an extrinsic with all that the chain checks and charges, but for the signature. Whether it succeeded; `None` if the block does not take it.
fn apply(waiting: &Waiting) -> Option<bool> {
	let Waiting { who, call } = waiting;
	// No era, a nonce, no tip, and no hash of the metadata.
	let extension = (0_u8, Compact(System::account_nonce(who)), Compact(0_u128), 0_u8).encode();
	let extension = TxExtension::decode(&mut extension.as_slice()).ok()?;
	let length = call.encoded_size().saturating_add(SIGNED);
	let extrinsic: CheckedExtrinsic<_, _, _> =
		CheckedExtrinsic { format: ExtrinsicFormat::Signed(who.clone(), extension), function: call.clone() };
	let info = extrinsic.get_dispatch_info();
	let applied = with_transaction_unchecked(|| match extrinsic.apply::<Runtime>(&info, length) {
		Ok(result) => TransactionOutcome::Commit(Some(result)),
		Err(_) => TransactionOutcome::Rollback(None),
	})?;
	System::note_applied_extrinsic(&applied, info);
	Some(applied.is_ok())
}

/// Somebody who may author block `number`: not a validator that is disabled.
fn author(number: BlockNumber) -> u32 {
	let all = u32::try_from(pallet_babe::Authorities::<Runtime>::get().len()).unwrap_or(1);
	let disabled = pallet_session::Pallet::<Runtime>::disabled_validators();
	let free: Vec<_> = (0..all).filter(|place| !disabled.contains(place)).collect();
	let place = usize::try_from(number).unwrap_or_default().checked_rem(free.len()).unwrap_or_default();
	free.get(place).copied().unwrap_or_default()
}

/// Places of an adopted round, those of who came late and of a bridge that was taken, and the inner steps behind each delta that it includes; `None` for a round that was not
/// adopted.
pub fn included(run: RunId, round: RoundIndex) -> Option<([usize; 3], Vec<u32>)> {
	let record = Training::record(run, round)?;
	let revealed = <Training as Claims>::revealed(run, round);
	let is_included = |who: &AccountId| record.included.iter().any(|(other, _)| other == who);
	let steps = revealed.into_iter().filter(|(who, _)| is_included(who)).map(|(_, steps)| steps).collect();
	let bridged = record.bridge.iter().filter(|bridge| bridge.taken && is_included(&bridge.who)).count();
	Some(([record.participants.len(), record.late.len(), bridged], steps))
}

/// Eras that `who` can claim, with what they owe it, in planck.
pub fn claimable(who: &AccountId) -> Vec<(EraIndex, Balance)> {
	Rewards::claimable_eras(who.clone())
}
