//! A runtime of system, balances and this pallet, with recorded providers and credits and a clock that tests set.

use crate as pallet_neuro_ponw;
use alloc::collections::{BTreeMap, BTreeSet};
use frame_support::{
	parameter_types,
	traits::{ConstU32, Hooks},
};
use neuroshard_test_support::ext;
use neuroshard_types::{
	offence::Offence,
	proof::{Proof, ProofKey, ProofKind, ProofSignature, WorkClaim},
	provider::{HardwareProfile, PonwKey, Role},
	traits::{Clock, FinalWork, Providers, SlashTo, WorkCredits, WorkProofs},
	AccountId, Balance, BlockNumber, Moment, RoundIndex, RunId, H256,
};
use sp_core::{ecdsa, Pair};
use sp_keystore::{testing::MemoryKeystore, KeystoreExt};
use sp_runtime::{traits::Dispatchable, DispatchError, DispatchResult};

/// A provider.
pub const ALICE: AccountId = AccountId::new([1; 32]);
/// Another provider.
pub const BOB: AccountId = AccountId::new([2; 32]);
/// An account that never registered.
pub const NOBODY: AccountId = AccountId::new([9; 32]);
/// Challenge window of the mock, in blocks.
pub const WINDOW: BlockNumber = 10;
/// Proofs that become final in one block of the mock.
pub const MAX_FINAL: u32 = 3;
/// Plausibility slack of the mock.
pub const SLACK: u32 = 4;
/// Registered speed of every provider of the mock, GFLOP/s.
pub const GFLOPS: u32 = 100;
/// Chain time at which tests begin: an hour's beginning.
pub const START: Moment = 480_000 * HOUR;
/// An hour, milliseconds.
pub const HOUR: Moment = 3_600_000;
/// A minute, milliseconds.
pub const MINUTE: Moment = 60_000;

neuroshard_test_support::runtime! {
	2: Ponw = pallet_neuro_ponw;
}

parameter_types! {
	/// Chain time.
	pub static Now: Moment = START;
	/// Registered providers and their keys.
	pub static Keys: BTreeMap<AccountId, PonwKey> = BTreeMap::new();
	/// Whom operators act for.
	pub static Owners: BTreeMap<AccountId, AccountId> = BTreeMap::new();
	/// Registered, but not active.
	pub static Chilled: BTreeSet<AccountId> = BTreeSet::new();
	/// Open claims.
	pub static Claims: BTreeMap<AccountId, i64> = BTreeMap::new();
	/// Reputation gained.
	pub static Successes: BTreeMap<AccountId, u32> = BTreeMap::new();
	/// Uptime noted.
	pub static Uptimes: BTreeMap<AccountId, u32> = BTreeMap::new();
	/// Credits in order.
	pub static Credited: Vec<(AccountId, ProofKind, Role, u128)> = Vec::new();
	/// Final work on models, in order.
	pub static Owned: Vec<(AccountId, RunId, u128)> = Vec::new();
}

/// Providers as the statics say.
pub struct MockProviders;

impl Providers<AccountId, Balance> for MockProviders {
	fn acts_for(signer: AccountId) -> AccountId {
		Owners::get().remove(&signer).unwrap_or(signer)
	}
	fn is_active(who: &AccountId, role: Role) -> bool {
		role == Role::Verifier && Keys::get().contains_key(who) && !Chilled::get().contains(who)
	}
	fn active_count(_: Role) -> u32 {
		0
	}
	fn reputation(_: &AccountId) -> u32 {
		0
	}
	fn bond(_: &AccountId) -> Balance {
		0
	}
	fn slashable(_: &AccountId) -> Balance {
		0
	}
	fn ponw_key(who: &AccountId) -> Option<PonwKey> {
		Keys::get().get(who).copied()
	}
	fn hardware(who: &AccountId) -> Option<HardwareProfile> {
		let hardware = HardwareProfile { gflops: GFLOPS, memory_mib: 1_024, bandwidth_kib_s: 1_000 };
		Keys::get().contains_key(who).then_some(hardware)
	}
	fn slash(_: &AccountId, _: Balance, _: SlashTo<'_, AccountId>) -> Balance {
		0
	}
	fn open_claim(who: &AccountId) -> DispatchResult {
		if !Keys::get().contains_key(who) {
			return Err(DispatchError::Other("unknown provider"));
		}
		Claims::mutate(|claims| *claims.entry(who.clone()).or_default() += 1);
		Ok(())
	}
	fn close_claim(who: &AccountId) {
		Claims::mutate(|claims| *claims.entry(who.clone()).or_default() -= 1);
	}
	fn note_disputable(_: &AccountId) {}
	fn note_success(who: &AccountId) {
		Successes::mutate(|successes| *successes.entry(who.clone()).or_default() += 1);
	}
	fn note_uptime(who: &AccountId) {
		Uptimes::mutate(|uptimes| *uptimes.entry(who.clone()).or_default() += 1);
	}
	fn note_failure(_: &AccountId, _: u32) {}
	fn note_audit_reported(_: &AccountId) {}
	fn note_audit_missed(_: &AccountId, _: BlockNumber) {}
	fn punish(_: &AccountId, _: Offence) -> Balance {
		0
	}
}

/// Records credits.
pub struct MockCredits;

impl WorkCredits<AccountId> for MockCredits {
	fn credit(who: &AccountId, kind: ProofKind, role: Role, units: u128) {
		Credited::mutate(|credited| credited.push((who.clone(), kind, role, units)));
	}
}

/// Records final work.
pub struct MockOwners;

impl FinalWork<AccountId> for MockOwners {
	fn final_work(who: &AccountId, run: RunId, units: u128) {
		Owned::mutate(|owned| owned.push((who.clone(), run, units)));
	}
}

/// The static clock.
pub struct MockClock;

impl Clock for MockClock {
	fn now() -> Moment {
		Now::get()
	}
}

/// Registers by the statics.
pub struct MockHelper;

impl crate::BenchmarkHelper for MockHelper {
	fn register(who: &AccountId, key: PonwKey) {
		Keys::mutate(|keys| keys.insert(who.clone(), key));
	}
	fn set_time(now: Moment) {
		Now::set(now);
	}
	fn was_credited(who: &AccountId, run: RunId) -> bool {
		Credited::get().iter().any(|(credited, ..)| credited == who) && Owned::get().iter().any(|(owner, of, _)| (owner, *of) == (who, run))
	}
}

impl pallet_neuro_ponw::Config for Test {
	type Providers = MockProviders;
	type Credits = MockCredits;
	type OnFinal = MockOwners;
	type Clock = MockClock;
	type Slack = ConstU32<SLACK>;
	type MaxFinalPerBlock = ConstU32<MAX_FINAL>;
	type WeightInfo = crate::weights::SubstrateWeight<Test>;
	type BenchmarkHelper = MockHelper;
}

/// The secp256k1 key of an account of the mock.
pub fn pair(who: &AccountId) -> ecdsa::Pair {
	ecdsa::Pair::from_seed(who.as_ref())
}

/// The mock at block 1, with Alice and Bob registered.
pub fn new_test_ext() -> sp_io::TestExternalities {
	let genesis = RuntimeGenesisConfig {
		ponw: pallet_neuro_ponw::GenesisConfig { challenge_window: WINDOW, ..Default::default() },
		..Default::default()
	};
	let mut ext = ext::<Test>(genesis, || {
		Now::set(START);
		Keys::set([ALICE, BOB].into_iter().map(|who| (who.clone(), pair(&who).public().0)).collect());
		Owners::set(BTreeMap::new());
		Chilled::set(BTreeSet::new());
		Claims::set(BTreeMap::new());
		Successes::set(BTreeMap::new());
		Credited::set(Vec::new());
		Owned::set(Vec::new());
	});
	ext.register_extension(KeystoreExt::new(MemoryKeystore::new()));
	ext
}

/// Runs `test` on the mock, then checks every invariant: the pallet's own, and one open claim per pending proof.
pub fn build_and_execute(test: impl FnOnce()) {
	new_test_ext().execute_with(|| {
		test();
		check_invariants();
	});
}

/// The pallet's invariants, and one open claim per pending proof.
pub fn check_invariants() {
	Ponw::do_try_state().expect("invariants hold");
	for who in [ALICE, BOB] {
		let pending = crate::Pending::<Test>::iter_prefix(&who).count();
		assert_eq!(Claims::get().get(&who).copied().unwrap_or_default(), i64::try_from(pending).expect("few proofs"));
	}
}

/// Goes to block `to`, with hooks.
pub fn run_to(to: BlockNumber) {
	while System::block_number() < to {
		let next = System::block_number() + 1;
		System::set_block_number(next);
		Ponw::on_initialize(next);
	}
}

/// The training key of a round.
pub fn key(run: RunId, round: RoundIndex) -> ProofKey {
	ProofKey { run, round, kind: ProofKind::Training }
}

/// A proof of `key`, stamped now.
pub fn proof(key: ProofKey) -> Proof {
	Proof { key, timestamp: Now::get(), work_hash: H256::repeat_byte(5) }
}

/// An uptime proof stamped `timestamp`.
pub fn uptime(timestamp: Moment) -> Proof {
	let run = RunId::try_from(timestamp / HOUR).expect("hours fit");
	Proof { key: ProofKey { run, round: 0, kind: ProofKind::Uptime }, timestamp, work_hash: H256::zero() }
}

/// The signature of `who` over `proof` on the mock's chain.
pub fn sign(who: &AccountId, proof: &Proof) -> ProofSignature {
	pair(who).sign(&proof.message(System::block_hash(0), who)).0
}

/// A claim that the mock's hardware does easily.
pub const EASY: WorkClaim = WorkClaim { flops: 1_000, elapsed_ms: 1_000 };

/// Signs and submits a training proof stamped now.
pub fn submit(who: &AccountId, key: ProofKey) -> DispatchResult {
	let proof = proof(key);
	Ponw::submit(who, &proof, &sign(who, &proof), EASY)
}

/// Signs and dispatches `submit_uptime` as a transaction would.
pub fn submit_uptime(who: &AccountId, proof: Proof) -> DispatchResult {
	let call = RuntimeCall::from(crate::Call::submit_uptime { proof, signature: sign(who, &proof) });
	call.dispatch(RuntimeOrigin::signed(who.clone())).map(|_| ()).map_err(|failed| failed.error)
}
