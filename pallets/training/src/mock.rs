//! A runtime of system, balances and this pallet; providers, datasets and proofs are tables that tests write to.

use crate as pallet_neuro_training;
use codec::Encode;
use frame_support::{
	ord_parameter_types, parameter_types,
	traits::{Hooks, Randomness},
};
use frame_system::{EnsureRoot, EnsureSignedBy};
use neuroshard_test_support::ext;
use neuroshard_types::{
	audit::OnAdopted,
	dataset::{DatasetShape, TextTokens, Tokenizer},
	dispute::{ClaimId, ClaimKind, Claims as ClaimsOfRounds},
	offence::Offence,
	proof::{Proof, ProofKey, ProofSignature, WorkClaim},
	provider::{HardwareProfile, PonwKey, Role},
	run::{seal, seal_bridged, vote_bitmap, Attestation, Phase, PhaseDurations, RunConfig, RunStart, Work},
	traits::{ActiveDataset, Clock, Datasets, ModelShares, Providers, SlashTo, WorkProofs, WorkUnits},
	AccountId, Aggregator, Balance, BlockNumber, Code, Compressed, DatasetId, ModelConfig, Moment, Robust, RoundIndex, Rule, RunId, TopK,
	TrainConfig, F32, H256,
};
use sp_runtime::{DispatchError, DispatchResult};
use std::collections::{BTreeMap, BTreeSet};

/// Milliseconds between blocks.
pub const BLOCK_MS: Moment = 3_000;
/// Creates the runs.
pub const SPONSOR: AccountId = AccountId::new([200; 32]);
/// Has the stop switch.
pub const STOPPER: AccountId = AccountId::new([201; 32]);
/// Balance that the sponsor starts with.
pub const FUNDS: Balance = 1_000_000;
/// Bond of every provider at the start.
pub const BOND: Balance = 300;
/// The active dataset.
pub const DATASET: DatasetId = 7;
/// Root of that dataset.
pub const DATASET_ROOT: H256 = H256::repeat_byte(0xda);
/// Its tokenizer.
pub const TOKENIZER: Tokenizer = Tokenizer { root: H256::repeat_byte(0xdb), bytes: 5_000, tokens: TextTokens { usable: 60, end: 59 } };
/// A signature that the mock's proofs refuse.
pub const BAD_SIGNATURE: ProofSignature = [0; 65];

neuroshard_test_support::runtime! {
	2: Training = pallet_neuro_training;
}

/// A provider of the mock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MockProvider {
	/// True if it is active.
	pub active: bool,
	/// Active bond.
	pub bond: Balance,
	/// Unbonding and not withdrawn.
	pub unbonding: Balance,
	/// Notes of success.
	pub successes: u32,
	/// Points of failure.
	pub failures: u32,
}

/// State of a proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
	/// Submitted, neither confirmed nor voided.
	Pending,
	/// Confirmed with so many units that are paid.
	Confirmed(u128),
	/// Confirmed with so many units that are not paid.
	Unpaid(u128),
	/// Voided.
	Void,
}

parameter_types! {
	/// Whom operators act for.
	pub static Owners: BTreeMap<AccountId, AccountId> = BTreeMap::new();
	pub static Table: BTreeMap<AccountId, MockProvider> = BTreeMap::new();
	pub static Masked: bool = false;
	pub static Sets: BTreeMap<DatasetId, (DatasetShape, u32, u32)> = BTreeMap::new();
	/// The newest fate of every key.
	pub static Fates: BTreeMap<(AccountId, RunId, RoundIndex), Fate> = BTreeMap::new();
	pub static Submitted: u32 = 0;
	pub static Settled: u32 = 0;
	pub static Claims: Vec<WorkClaim> = Vec::new();
	pub static FinishedRuns: Vec<RunId> = Vec::new();
	/// Accounts none of whose proofs becomes final.
	pub static Held: BTreeSet<AccountId> = BTreeSet::new();
	/// Accounts whose proofs were all voided, once for every time.
	pub static Condemned: Vec<AccountId> = Vec::new();
	/// Adoptions that others were told of: run, round, and who had revealed in it.
	pub static Told: Vec<(RunId, RoundIndex, Vec<AccountId>)> = Vec::new();
	/// True if anything can be audited.
	pub static CanAudit: bool = true;
	/// Blocks in which claims of each account were last noted as disputable.
	pub static Disputable: BTreeMap<AccountId, BlockNumber> = BTreeMap::new();
	/// Claims that keep stakes where they are.
	pub static OpenClaims: BTreeMap<AccountId, i64> = BTreeMap::new();
	/// Keys for proofs.
	pub static Keys: BTreeMap<AccountId, PonwKey> = BTreeMap::new();
	pub static Random: H256 = H256::repeat_byte(0x11);
	pub static RecordsKept: u32 = 3;
	pub const RunDeposit: Balance = 1_000;
	pub const RecordDeposit: Balance = 100;
	pub const ModelDeposit: Balance = 40;
	/// Models that have shares.
	pub static Owned: BTreeSet<RunId> = BTreeSet::new();
	pub static DisputePeriod: BlockNumber = 1;
	pub static HistoryPeriod: BlockNumber = 20;
	pub static MaxActiveRuns: u32 = 3;
	pub const MaxPhaseDuration: BlockNumber = 100;
	pub const MaxRepeats: u32 = 2;
	pub static MaxReplay: u32 = 3;
}

/// [`Providers`] of the mock.
pub struct MockProviders;

impl Providers<AccountId, Balance> for MockProviders {
	fn acts_for(signer: AccountId) -> AccountId {
		Owners::get().remove(&signer).unwrap_or(signer)
	}
	fn is_active(who: &AccountId, role: Role) -> bool {
		role == Role::Worker && Table::get().get(who).is_some_and(|provider| provider.active)
	}
	fn active_count(_: Role) -> u32 {
		0
	}
	fn reputation(_: &AccountId) -> u32 {
		0
	}
	fn bond(who: &AccountId) -> Balance {
		Table::get().get(who).map_or(0, |provider| provider.bond)
	}
	fn slashable(who: &AccountId) -> Balance {
		Table::get().get(who).map_or(0, |provider| provider.bond + provider.unbonding)
	}
	fn ponw_key(who: &AccountId) -> Option<PonwKey> {
		Keys::get().get(who).copied()
	}
	fn hardware(_: &AccountId) -> Option<HardwareProfile> {
		None
	}
	fn slash(_: &AccountId, _: Balance, _: SlashTo<'_, AccountId>) -> Balance {
		0
	}
	fn open_claim(who: &AccountId) -> DispatchResult {
		OpenClaims::mutate(|open| *open.entry(who.clone()).or_default() += 1);
		Ok(())
	}
	fn close_claim(who: &AccountId) {
		OpenClaims::mutate(|open| *open.entry(who.clone()).or_default() -= 1);
	}
	fn note_disputable(who: &AccountId) {
		Disputable::mutate(|noted| noted.insert(who.clone(), System::block_number()));
	}
	fn note_success(who: &AccountId) {
		provider(who, |provider| provider.successes += 1);
	}
	fn note_uptime(_: &AccountId) {}
	fn note_audit_reported(_: &AccountId) {}
	fn note_audit_missed(_: &AccountId, _: BlockNumber) {}
	fn punish(_: &AccountId, _: Offence) -> Balance {
		0
	}
	fn note_failure(who: &AccountId, points: u32) {
		provider(who, |provider| provider.failures += points);
	}
}

/// Changes a provider.
pub fn provider(who: &AccountId, change: impl FnOnce(&mut MockProvider)) {
	Table::mutate(|table| change(table.get_mut(who).expect("a provider of the mock")));
}

/// Successes and failures of a provider.
pub fn notes(who: &AccountId) -> (u32, u32) {
	let provider = Table::get()[who].clone();
	(provider.successes, provider.failures)
}

/// [`Datasets`] of the mock.
pub struct MockDatasets;

impl Datasets for MockDatasets {
	fn active(id: DatasetId) -> Option<ActiveDataset> {
		let (shape, vocab, _) = *Sets::get().get(&id)?;
		Some(ActiveDataset { shape, vocab, masked: Masked::get(), tokenizer: TOKENIZER, root: DATASET_ROOT })
	}
	fn acquire(id: DatasetId) -> DispatchResult {
		Sets::mutate(|sets| sets.get_mut(&id).map(|set| set.2 += 1)).ok_or(DispatchError::Unavailable)
	}
	fn release(id: DatasetId) {
		Sets::mutate(|sets| sets.get_mut(&id).expect("an acquired dataset").2 -= 1);
	}
}

/// [`WorkProofs`] of the mock: panics if a proof is confirmed that is not pending.
pub struct MockProofs;

impl WorkProofs<AccountId> for MockProofs {
	fn submit(who: &AccountId, proof: &Proof, signature: &ProofSignature, claim: WorkClaim) -> Result<(), DispatchError> {
		if *signature == BAD_SIGNATURE {
			return Err(DispatchError::Other("bad signature"));
		}
		let key = (who.clone(), proof.key.run, proof.key.round);
		let fate = Fates::mutate(|fates| fates.insert(key, Fate::Pending));
		assert!(matches!(fate, None | Some(Fate::Void)), "a proof key that is pending or used up: {fate:?}");
		Submitted::mutate(|count| *count += 1);
		Claims::mutate(|claims| claims.push(claim));
		Ok(())
	}
	fn confirm(who: &AccountId, key: ProofKey, units: u128, paid: bool) {
		settle(who, key, if paid { Fate::Confirmed(units) } else { Fate::Unpaid(units) });
	}
	fn confirm_part(who: &AccountId, key: ProofKey, units: u128, paid: bool) {
		let fate = Fates::mutate(|fates| fates.insert((who.clone(), key.run, key.round), Fate::Pending));
		assert!(matches!(fate, None | Some(Fate::Void)), "a part of a place for one that has its own: {fate:?}");
		Submitted::mutate(|count| *count += 1);
		Self::confirm(who, key, units, paid);
	}
	fn void(who: &AccountId, key: ProofKey) {
		// Of claims that are condemned, the proof may be void already.
		if !matches!(fate(who, key.run, key.round), None | Some(Fate::Void)) {
			settle(who, key, Fate::Void);
		}
	}
	fn hold(who: &AccountId) {
		assert!(Held::mutate(|held| held.insert(who.clone())), "an account is held once");
	}
	fn release(who: &AccountId) {
		assert!(Held::mutate(|held| held.remove(who)), "a held account is released");
	}
	fn condemn(who: &AccountId) {
		Condemned::mutate(|accounts| accounts.push(who.clone()));
	}
	fn finish_run(run: RunId) {
		FinishedRuns::mutate(|runs| runs.push(run));
	}
}

fn settle(who: &AccountId, key: ProofKey, fate: Fate) {
	let before = Fates::mutate(|fates| fates.insert((who.clone(), key.run, key.round), fate));
	match (before, fate) {
		(Some(Fate::Pending), _) => Settled::mutate(|count| *count += 1),
		// A payment is taken back; it was settled before.
		(Some(Fate::Confirmed(_) | Fate::Unpaid(_)), Fate::Void) => {}
		_ => panic!("settled a proof that is not pending: {before:?}"),
	}
}

/// Returns the state of the proof of `who`.
pub fn fate(who: &AccountId, run: RunId, round: RoundIndex) -> Option<Fate> {
	Fates::get().get(&(who.clone(), run, round)).copied()
}

/// [`Clock`] of the mock: [`BLOCK_MS`] a block.
pub struct MockClock;

impl Clock for MockClock {
	fn now() -> Moment {
		Moment::from(System::block_number()) * BLOCK_MS
	}
}

/// [`Randomness`] of the mock: whatever tests set.
pub struct MockRandomness;

impl Randomness<H256, BlockNumber> for MockRandomness {
	fn random(_: &[u8]) -> (H256, BlockNumber) {
		(Random::get(), System::block_number())
	}
}

/// The benchmarks' helper of the mock.
pub struct MockHelper;

impl crate::BenchmarkHelper<RuntimeOrigin> for MockHelper {
	fn approver() -> RuntimeOrigin {
		RuntimeOrigin::root()
	}
	fn stopper() -> RuntimeOrigin {
		RuntimeOrigin::signed(STOPPER)
	}
	fn sponsor() -> AccountId {
		// Every benchmark begins with its sponsor, on an empty chain: proofs of the one before are forgotten with it.
		Fates::take();
		SPONSOR
	}
	fn dataset() -> DatasetId {
		// 64 windows a shard, 128 training shards.
		let shape = DatasetShape { tokens_per_shard: 64 * 32 + 1, shard_count: 129, held_out: 1 };
		Sets::mutate(|sets| {
			sets.entry(DATASET + 1).or_insert((shape, 64, 0));
		});
		DATASET + 1
	}
	fn retire() {
		// Nothing is stored of datasets here.
	}
	fn worker(index: u32) -> AccountId {
		let mut bytes = [0; 32];
		bytes[28..].copy_from_slice(&index.to_be_bytes());
		let who = AccountId::new(bytes);
		enroll(&who);
		who
	}
	fn impoverish(who: &AccountId) {
		provider(who, |provider| provider.bond = 1);
	}
	fn sign(_: &AccountId, _: &Proof) -> ProofSignature {
		[1; 65]
	}
	fn pass_time() {
		// Nothing here asks whether a machine is fast enough.
	}
	fn note_adopted() {
		// The mock notes all.
	}
	fn own(run: RunId) {
		Owned::mutate(|owned| owned.insert(run));
	}
}

ord_parameter_types! {
	pub const Stopper: AccountId = STOPPER;
}

/// A unit is a token.
pub struct MockUnits;

impl WorkUnits for MockUnits {
	fn of_round(_: &ModelConfig, train: &TrainConfig, steps: u32) -> u128 {
		train.tokens_after(steps).into()
	}
}

/// Notes what it is told.
pub struct MockAudits;

impl OnAdopted for MockAudits {
	fn adopted(run: RunId, round: RoundIndex) {
		Told::mutate(|told| told.push((run, round, Training::revealed(run, round).into_iter().map(|(who, _)| who).collect())));
	}

	fn can_audit(_: &TrainConfig) -> bool {
		CanAudit::get()
	}
}

/// [`ModelShares`] of the mock.
pub struct MockShares;

impl ModelShares for MockShares {
	fn exist(run: RunId) -> bool {
		Owned::get().contains(&run)
	}
}

impl pallet_neuro_training::Config for Test {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type Providers = MockProviders;
	type Datasets = MockDatasets;
	type Proofs = MockProofs;
	type Units = MockUnits;
	type Clock = MockClock;
	type Randomness = MockRandomness;
	type OnAdopted = MockAudits;
	type ApproveOrigin = EnsureRoot<AccountId>;
	type StopOrigin = EnsureSignedBy<Stopper, AccountId>;
	type RunDeposit = RunDeposit;
	type RecordDeposit = RecordDeposit;
	type Shares = MockShares;
	type ModelDeposit = ModelDeposit;
	type DisputePeriod = DisputePeriod;
	type RecordsKept = RecordsKept;
	type HistoryPeriod = HistoryPeriod;
	type MaxActiveRuns = MaxActiveRuns;
	type MaxPhaseDuration = MaxPhaseDuration;
	type MaxRepeats = MaxRepeats;
	type MaxReplay = MaxReplay;
	type WeightInfo = ();
	type BenchmarkHelper = MockHelper;
}

/// Worker number `number`.
pub fn worker(number: u8) -> AccountId {
	AccountId::new([number; 32])
}

/// Makes `who` an active provider with [`BOND`].
pub fn enroll(who: &AccountId) {
	let provider = MockProvider { active: true, bond: BOND, unbonding: 0, successes: 0, failures: 0 };
	Table::mutate(|table| table.insert(who.clone(), provider));
}

/// The mock at block 1, with workers 1 to 9.
pub fn new_test_ext() -> sp_io::TestExternalities {
	let balances = pallet_balances::GenesisConfig { balances: vec![(SPONSOR, FUNDS), (worker(1), FUNDS)], ..Default::default() };
	ext::<Test>(RuntimeGenesisConfig { balances, ..Default::default() }, || {
		frame_system::BlockHash::<Test>::insert(0, H256::repeat_byte(0xaa));
		(1..10).for_each(|number| enroll(&worker(number)));
		// 4 * 33 / 32 = 4 windows a shard: 64 for training, 8 held out.
		let shape = DatasetShape { tokens_per_shard: 132, shard_count: 18, held_out: 2 };
		Sets::set([(DATASET, (shape, 64, 0))].into());
		Fates::take();
		OpenClaims::take();
		Keys::set((1..10).map(|number| (worker(number), [number; 33])).collect());
		Owners::set(BTreeMap::new());
		Submitted::set(0);
		Settled::set(0);
		Claims::take();
		FinishedRuns::take();
		Held::take();
		Condemned::take();
		Told::take();
		CanAudit::set(true);
		Disputable::take();
		DisputePeriod::set(1);
		HistoryPeriod::set(20);
		RecordsKept::set(3);
		MaxReplay::set(3);
		MaxActiveRuns::set(3);
	})
}

/// Runs `test` on the mock, then checks every invariant.
pub fn build_and_execute(test: impl FnOnce()) {
	new_test_ext().execute_with(|| {
		test();
		Training::do_try_state().expect("invariants hold after the test");
	});
}

/// A run of 2 to 4 participants that train 4 steps of 2 sequences of 32 tokens.
pub fn config() -> RunConfig {
	RunConfig {
		name: b"tiny".to_vec().try_into().expect("a short name"),
		dataset: DATASET,
		tokenizer: TOKENIZER,
		model: ModelConfig::tiny(),
		train: TrainConfig { commit_interval: 3, ..TrainConfig::tiny() },
		genesis_root: H256::repeat_byte(0xff),
		start: RunStart::Seed,
		min_participants: 2,
		max_participants: 4,
		min_bond: 100,
		rounds: None,
		durations: PhaseDurations { joining: 3, training: 10, revealing: 5, availability: 6, checkpointing: 7 },
		overlaps: false,
		epochs: true,
	}
}

/// Creates a run of this configuration.
pub fn create(config: RunConfig) -> RunId {
	let run = crate::NextRun::<Test>::get();
	Training::create_run(RuntimeOrigin::signed(SPONSOR), config).expect("a valid run");
	run
}

/// Lets every block up to `block` begin, and checks every invariant in each.
pub fn run_to(block: BlockNumber) {
	while System::block_number() < block {
		let next = System::block_number() + 1;
		System::set_block_number(next);
		Training::on_initialize(next);
		Training::do_try_state().expect("invariants hold in every block");
	}
}

/// Lets `blocks` blocks begin.
pub fn skip(blocks: BlockNumber) {
	run_to(System::block_number() + blocks);
}

/// Lets the phase run into its deadline.
pub fn run_to_deadline(run: RunId) {
	run_to(round(run).deadline.expect("a phase with a deadline"));
}

/// The round under way.
pub fn round(run: RunId) -> crate::Round {
	crate::Rounds::<Test>::get(run).expect("an active run")
}

/// Number and attempt of the round under way.
pub fn at(run: RunId) -> (RoundIndex, u32) {
	(round(run).round, round(run).attempt)
}

/// The phase of the round under way.
pub fn phase(run: RunId) -> Phase {
	round(run).stage.phase()
}

/// Returns the work of `who` in the round under way; different for every worker, round and attempt.
pub fn work(who: &AccountId, run: RunId) -> Work {
	let round = round(run);
	let digest = |part: u32| H256(sp_io::hashing::blake2_256(&(who, run, round.round, round.attempt, part).encode()));
	let RunConfig { model, train, .. } = crate::Runs::<Test>::get(run).expect("a run").config;
	Work {
		state_roots: (0..train.revealed_roots()).map(digest).collect::<Vec<_>>().try_into().expect("few roots"),
		delta_root: digest(99),
		delta_bytes: crate::expected::delta_bytes(&model, &train),
		tokens: train.tokens_per_round(),
	}
}

/// Deltas that are sent as `code`, and their mean.
pub fn sent_as(code: Code) -> Aggregator {
	let robust = Robust { clip: F32::new(0.0), rule: Rule::Mean };
	Aggregator::Compressed(Compressed { code, robust })
}

/// A code that leaves a residual.
pub fn top_k() -> Code {
	Code::TopK(TopK { numbers: 8, decay: F32::new(0.9), cosine: false })
}

/// The proof of `work`.
pub fn proof(run: RunId, work: &Work) -> Proof {
	let key = crate::expected::proof_key(run, round(run).round);
	Proof { key, timestamp: MockClock::now(), work_hash: H256(sp_io::hashing::blake2_256(&work.encode())) }
}

/// Commits to `work`.
pub fn commit_to(who: &AccountId, run: RunId, work: &Work) -> DispatchResult {
	let (index, attempt) = at(run);
	let sealed = seal(H256::repeat_byte(0xaa), run, index, attempt, who, &[3; 32], work);
	Training::commit(RuntimeOrigin::signed(who.clone()), run, index, attempt, sealed).map(|_| ()).map_err(|error| error.error)
}

/// Commits to [`work`].
pub fn commit(who: &AccountId, run: RunId) -> DispatchResult {
	commit_to(who, run, &work(who, run))
}

/// Commits to `work` that started from this checkpoint of another cohort.
pub fn commit_bridged_to(who: &AccountId, run: RunId, work: &Work, checkpoint: H256) -> DispatchResult {
	let (index, attempt) = at(run);
	let sealed = seal_bridged(seal(H256::repeat_byte(0xaa), run, index, attempt, who, &[3; 32], work), checkpoint);
	Training::commit(RuntimeOrigin::signed(who.clone()), run, index, attempt, sealed).map(|_| ()).map_err(|error| error.error)
}

/// Reveals `work`.
pub fn reveal_work(who: &AccountId, run: RunId, work: Work) -> DispatchResult {
	let proof = proof(run, &work);
	let ((index, attempt), origin) = (at(run), RuntimeOrigin::signed(who.clone()));
	Training::reveal(origin, run, index, attempt, [3; 32], work, proof, [1; 65]).map(|_| ()).map_err(|error| error.error)
}

/// Reveals [`work`].
pub fn reveal(who: &AccountId, run: RunId) -> DispatchResult {
	reveal_work(who, run, work(who, run))
}

/// Votes with these bits.
pub fn vote(who: &AccountId, run: RunId, bits: &[bool]) -> DispatchResult {
	let bitmap = vote_bitmap(bits.iter().copied()).expect("few bits");
	let (index, attempt) = at(run);
	Training::vote_availability(RuntimeOrigin::signed(who.clone()), run, index, attempt, bitmap).map(|_| ()).map_err(|error| error.error)
}

/// Attests checkpoint number `root`.
pub fn attest(who: &AccountId, run: RunId, root: u8, loss: f32) -> DispatchResult {
	let attestation = Attestation { checkpoint: H256::repeat_byte(root), validation_loss: F32::new(loss) };
	let (index, attempt) = at(run);
	Training::attest(RuntimeOrigin::signed(who.clone()), run, index, attempt, attestation).map(|_| ()).map_err(|error| error.error)
}

/// Joins.
pub fn join(who: &AccountId, run: RunId) -> DispatchResult {
	Training::join(RuntimeOrigin::signed(who.clone()), run).map(drop).map_err(|refused| refused.error)
}

/// Leaves.
pub fn leave(who: &AccountId, run: RunId) -> DispatchResult {
	Training::leave(RuntimeOrigin::signed(who.clone()), run)
}

/// The claim of `who` in an adopted round.
pub fn claim(run: RunId, round: RoundIndex, kind: ClaimKind, who: &AccountId) -> ClaimId {
	ClaimId { run, round, kind, who: who.clone() }
}

/// Condemns the work of `who` in an adopted round.
pub fn condemn_work(run: RunId, round: RoundIndex, who: &AccountId) {
	<Training as ClaimsOfRounds>::condemn(&claim(run, round, ClaimKind::Work, who), who);
}

/// Leaves the work of `who` in an adopted round out.
pub fn exclude_work(run: RunId, round: RoundIndex, who: &AccountId) {
	<Training as ClaimsOfRounds>::exclude(&claim(run, round, ClaimKind::Work, who));
}

/// Condemns what `who` attested in an adopted round.
pub fn condemn_attestation(run: RunId, round: RoundIndex, who: &AccountId) {
	<Training as ClaimsOfRounds>::condemn(&claim(run, round, ClaimKind::Attestation, who), who);
}

/// Returns whether the pallet deposited this event.
pub fn happened(event: crate::Event<Test>) -> bool {
	let event = RuntimeEvent::Training(event);
	System::events().iter().any(|record| record.event == event)
}
