//! A runtime of system, balances and this pallet, with claims and stakes that tests set.

use crate::{self as pallet_neuro_disputes, Share};
use codec::Decode;
use frame_support::{
	parameter_types,
	traits::{
		fungible::{Inspect, Mutate},
		tokens::{Fortitude, Precision, Preservation},
		ConstU128, ConstU32, ConstU64, Hooks, Randomness,
	},
	weights::Weight,
};
use neuroshard_test_support::ext;
pub use neuroshard_test_support::ED;
use neuroshard_types::{
	dispute::{AttestationClaim, ClaimId, ClaimKind, Claims, WorkClaim},
	inference::{CheckpointId, SessionId},
	offence::Offence,
	proof::ProofKind,
	provider::{HardwareProfile, PonwKey, Role},
	run::{Act, RunConfig},
	traits::{PaidAnswers, Providers, SlashTo, WorkCredits},
	AccountId, Balance, BlockNumber, RoundIndex, RunId, H256,
};
use sp_keystore::{testing::MemoryKeystore, KeystoreExt};
use sp_runtime::{BuildStorage, DispatchResult, Perbill, Permill};
use std::collections::{BTreeMap, BTreeSet};

/// Bond of a challenge.
pub const BOND: Balance = 1_001;
/// Free balance that challengers start with.
pub const FUNDS: Balance = 10_000;
/// Stake of each claimant.
pub const STAKE: Balance = 50_001;
/// Stake that an auditor needs.
pub const LEAST_STAKE: Balance = 700;
/// Challenge window, in blocks.
pub const WINDOW: BlockNumber = 30;
/// Clock of each side, in blocks.
pub const CLOCK: BlockNumber = 8;
/// Extension, in blocks.
pub const EXTENSION: BlockNumber = 3;
/// Games that end by themselves in one block.
pub const MAX_ENDS: u32 = 2;
/// Bytes that the moves of a block have at most.
pub const MOVES_LENGTH: u32 = 1_000;
/// Bytes that the acts of a block have at most.
pub const ACTS_LENGTH: u32 = 300;
/// Picoseconds that they have.
pub const ACTS_TIME: u64 = 10_000;
/// Picoseconds of the look whether there is room for an act.
pub const ACT_WEIGHT: u64 = 77;
/// Deadline of every act.
pub const ACT_DEADLINE: BlockNumber = 99;
/// Most outer steps of an attestation.
pub const MAX_REPLAY: u32 = 4;

/// Slots of an epoch.
pub const EPOCH_LENGTH: u64 = 4;
/// Blocks for sealing a report.
pub const SEAL_TIME: BlockNumber = 5;
/// Blocks for opening it.
pub const REPORT_TIME: BlockNumber = 3;
/// Blocks for delivering an answer.
pub const DELIVER_TIME: BlockNumber = 6;
/// Deposit of a demand.
pub const DEPOSIT: Balance = 77;

/// Account number `tag`. Those below 100 have [`FUNDS`] or, from 50 on, [`STAKE`].
pub const fn account(tag: u8) -> AccountId {
	AccountId::new([tag; 32])
}

/// A challenger.
pub const ALICE: AccountId = account(1);
/// Another challenger.
pub const BOB: AccountId = account(2);
/// A third challenger.
pub const CHARLIE: AccountId = account(3);
/// An account without money.
pub const NOBODY: AccountId = account(9);
/// A claimant.
pub const LIAR: AccountId = account(50);
/// Another claimant.
pub const HONEST: AccountId = account(51);

neuroshard_test_support::runtime! {
	2: Disputes = pallet_neuro_disputes, 3: Utility = pallet_utility;
}

impl pallet_utility::Config for Test {
	type RuntimeEvent = RuntimeEvent;
	type RuntimeCall = RuntimeCall;
	type PalletsOrigin = OriginCaller;
	type WeightInfo = ();
}

parameter_types! {
	/// Claims about work of adopted rounds.
	pub static Works: BTreeMap<(RunId, RoundIndex, AccountId), WorkClaim> = BTreeMap::new();
	/// Claims about checkpoints of adopted rounds.
	pub static Attestations: BTreeMap<(RunId, RoundIndex, AccountId), AttestationClaim> = BTreeMap::new();
	/// Configurations of runs whose models answer.
	pub static Configs: BTreeMap<RunId, RunConfig> = BTreeMap::new();
	/// Providers that answer, by session.
	pub static Answering: BTreeSet<(SessionId, AccountId)> = BTreeSet::new();
	/// Providers that gave a false answer, by session.
	pub static Lied: BTreeSet<(SessionId, AccountId)> = BTreeSet::new();
	/// Keys for proofs.
	pub static Keys: BTreeMap<AccountId, PonwKey> = BTreeMap::new();
	/// Blocks in which rounds were adopted, as long as their records are there.
	pub static Adopted: BTreeMap<(RunId, RoundIndex), BlockNumber> = BTreeMap::new();
	/// Accounts none of whose proofs becomes final.
	pub static Held: BTreeSet<AccountId> = BTreeSet::new();
	/// Condemned claims.
	pub static Condemned: Vec<ClaimId> = Vec::new();
	/// By whose fault they are.
	pub static Culprits: Vec<AccountId> = Vec::new();
	/// Excluded claims.
	pub static Excluded: BTreeSet<ClaimId> = BTreeSet::new();
	/// Work units of an audit of any run.
	pub static AuditUnits: u128 = 0;
	/// The current epoch.
	pub static Epoch: u64 = 0;
	/// Randomness of the epoch.
	pub static EpochSeed: H256 = H256::zero();
	/// Whom operators act for.
	pub static Owners: BTreeMap<AccountId, AccountId> = BTreeMap::new();
	/// Accounts that offer no role, or are not active.
	pub static Inactive: BTreeSet<AccountId> = BTreeSet::new();
	/// Work that was paid: who, in which role, how many units.
	pub static Credited: Vec<(AccountId, Role, u128)> = Vec::new();
	/// Claims that stakes answer for: open games and samples.
	pub static OpenClaims: BTreeMap<AccountId, i64> = BTreeMap::new();
	/// Points of reputation that were lost.
	pub static Failures: BTreeMap<AccountId, u32> = BTreeMap::new();
	/// Accounts that were punished, with their offences.
	pub static Punished: Vec<(AccountId, Offence)> = Vec::new();
	/// Accounts that reported an audit.
	pub static Reported: Vec<AccountId> = Vec::new();
	/// Accounts that did not, and the block in which each was drawn.
	pub static Missed: Vec<(AccountId, BlockNumber)> = Vec::new();
	/// Points of reputation that were gained.
	pub static Successes: BTreeMap<AccountId, u32> = BTreeMap::new();
	/// [`WINDOW`] in all tests of this mock; the default genesis needs a longer one.
	pub static ChallengeWindow: BlockNumber = 28_800;
	pub static SlashShare: Perbill = Perbill::one();
	/// Of 50,001 planck at stake 501: less than [`BOND`].
	pub static BondShare: Perbill = Perbill::from_percent(1);
	pub static MaxGames: u32 = 32;
	pub static MovesShare: Share = Share { bytes: MOVES_LENGTH, time: u64::MAX };
	pub const ActsShare: Share = Share { bytes: ACTS_LENGTH, time: ACTS_TIME };
	/// Acts for which there is room.
	pub static Acts: Vec<(AccountId, Act)> = Vec::new();
}

/// [`Rounds`](crate::Rounds) of the mock: a remark is an act.
pub struct MockRounds;

impl crate::Rounds<RuntimeCall> for MockRounds {
	fn act(call: &RuntimeCall) -> Option<Act> {
		let RuntimeCall::System(frame_system::Call::remark_with_event { remark }) = call else { return None };
		Act::decode(&mut remark.as_slice()).ok()
	}
	fn weight() -> Weight {
		Weight::from_parts(ACT_WEIGHT, 0)
	}
	fn has_room(who: &AccountId, act: &Act) -> Option<BlockNumber> {
		Acts::get().contains(&(who.clone(), *act)).then_some(ACT_DEADLINE)
	}
	fn note_refused(who: &AccountId, act: Act, deadline: BlockNumber) {
		assert_eq!(deadline, ACT_DEADLINE);
		Acts::mutate(|acts| acts.retain(|known| *known != (who.clone(), act)));
	}
}

/// [`Claims`] of the mock.
pub struct MockClaims;

impl Claims for MockClaims {
	fn revealed(run: RunId, round: RoundIndex) -> Vec<(AccountId, u32)> {
		let works = Works::get().into_iter().filter(|((of, at, _), _)| (*of, *at) == (run, round));
		works.filter(|_| Adopted::get().contains_key(&(run, round))).map(|((.., who), claim)| (who, claim.steps)).collect()
	}
	fn audit_units(_: RunId, _: u32) -> u128 {
		AuditUnits::get()
	}
	fn work(run: RunId, round: RoundIndex, who: &AccountId) -> Option<WorkClaim> {
		Adopted::get().get(&(run, round))?;
		Works::get().get(&(run, round, who.clone())).cloned()
	}
	fn attestation(run: RunId, round: RoundIndex, who: &AccountId) -> Option<AttestationClaim> {
		Adopted::get().get(&(run, round))?;
		let claim = Attestations::get().get(&(run, round, who.clone())).cloned()?;
		Adopted::get().contains_key(&(run, claim.job.first_round)).then_some(claim)
	}
	fn config(run: RunId) -> Option<RunConfig> {
		let of_works = || Works::get().into_iter().find(|((of, ..), _)| *of == run).map(|(_, claim)| claim.config);
		Configs::get().remove(&run).or_else(of_works)
	}
	fn is_condemned(claim: &ClaimId) -> bool {
		Condemned::get().contains(claim)
	}
	fn adopted_at(run: RunId, round: RoundIndex) -> Option<BlockNumber> {
		Adopted::get().get(&(run, round)).copied()
	}
	fn hold(who: &AccountId) {
		Held::mutate(|held| held.insert(who.clone()));
	}
	fn release(who: &AccountId) {
		Held::mutate(|held| held.remove(who));
	}
	fn exclude(claim: &ClaimId) {
		Excluded::mutate(|excluded| excluded.insert(claim.clone()));
	}
	fn condemn(claim: &ClaimId, culprit: &AccountId) {
		Culprits::mutate(|culprits| culprits.push(culprit.clone()));
		assert!(!Condemned::get().contains(claim), "a claim is condemned once");
		Condemned::mutate(|condemned| condemned.push(claim.clone()));
	}
}

/// [`PaidAnswers`] of the mock.
pub struct MockAnswers;

impl PaidAnswers<AccountId> for MockAnswers {
	fn can_dispute(session: SessionId, provider: &AccountId) -> bool {
		Answering::get().contains(&(session, provider.clone()))
	}
	fn is_condemned(session: SessionId, provider: &AccountId) -> bool {
		Lied::get().contains(&(session, provider.clone()))
	}
	fn condemn(session: SessionId, provider: &AccountId) {
		if Answering::get().contains(&(session, provider.clone())) {
			Lied::mutate(|lied| lied.insert((session, provider.clone())));
		}
	}
}

/// [`Providers`] of the mock: the stake of a claimant is the balance of another account.
pub struct MockProviders;

/// Returns the account that the stake of `who` lies on.
pub fn stake_of(who: &AccountId) -> AccountId {
	let mut bytes: [u8; 32] = who.clone().into();
	bytes[31] = 0xff;
	AccountId::new(bytes)
}

impl Providers<AccountId, Balance> for MockProviders {
	fn acts_for(signer: AccountId) -> AccountId {
		Owners::get().remove(&signer).unwrap_or(signer)
	}
	fn is_active(who: &AccountId, _: Role) -> bool {
		!Inactive::get().contains(who)
	}
	fn active_count(_: Role) -> u32 {
		0
	}
	fn reputation(_: &AccountId) -> u32 {
		0
	}
	fn bond(who: &AccountId) -> Balance {
		Self::slashable(who)
	}
	fn slashable(who: &AccountId) -> Balance {
		Balances::balance(&stake_of(who))
	}
	fn ponw_key(who: &AccountId) -> Option<PonwKey> {
		Keys::get().remove(who)
	}
	fn hardware(_: &AccountId) -> Option<HardwareProfile> {
		None
	}
	fn slash(who: &AccountId, amount: Balance, to: SlashTo<'_, AccountId>) -> Balance {
		let (from, amount) = (stake_of(who), amount.min(Self::slashable(who)));
		let taken = match to {
			SlashTo::Account(to) => Balances::transfer(&from, to, amount, Preservation::Expendable),
			SlashTo::Burn => Balances::burn_from(&from, amount, Preservation::Expendable, Precision::Exact, Fortitude::Force),
		};
		taken.expect("stakes can be slashed")
	}
	fn open_claim(who: &AccountId) -> DispatchResult {
		OpenClaims::mutate(|open| *open.entry(who.clone()).or_default() += 1);
		Ok(())
	}
	fn close_claim(who: &AccountId) {
		OpenClaims::mutate(|open| *open.entry(who.clone()).or_default() -= 1);
	}
	fn note_disputable(_: &AccountId) {}
	fn note_success(who: &AccountId) {
		Successes::mutate(|points| *points.entry(who.clone()).or_default() += 1);
	}
	fn note_uptime(_: &AccountId) {}
	fn note_audit_reported(who: &AccountId) {
		Reported::mutate(|reported| reported.push(who.clone()));
	}
	fn note_audit_missed(who: &AccountId, drawn_at: BlockNumber) {
		Missed::mutate(|missed| missed.push((who.clone(), drawn_at)));
	}
	fn punish(who: &AccountId, offence: Offence) -> Balance {
		Punished::mutate(|punished| punished.push((who.clone(), offence)));
		0
	}
	fn note_failure(who: &AccountId, lost: u32) {
		Failures::mutate(|points| *points.entry(who.clone()).or_default() += lost);
	}
}

/// [`WorkCredits`] of the mock.
pub struct MockCredits;

impl WorkCredits<AccountId> for MockCredits {
	fn credit(who: &AccountId, kind: ProofKind, role: Role, units: u128) {
		assert_eq!(kind, ProofKind::Training);
		Credited::mutate(|credited| credited.push((who.clone(), role, units)));
	}
}

/// Randomness of the mock.
pub struct MockRandomness;

impl Randomness<H256, BlockNumber> for MockRandomness {
	fn random(_: &[u8]) -> (H256, BlockNumber) {
		(EpochSeed::get(), 0)
	}
}

/// Batches of the mock.
pub struct Batches;

impl crate::Carriers<RuntimeCall> for Batches {
	fn carried(call: &RuntimeCall) -> Vec<&RuntimeCall> {
		match call {
			RuntimeCall::Utility(pallet_utility::Call::batch { calls }) => calls.iter().collect(),
			_ => Vec::new(),
		}
	}
}

/// Claims for benchmarks.
pub struct MockHelper;

impl crate::BenchmarkHelper for MockHelper {
	fn fund(who: &AccountId, amount: Balance) {
		Balances::mint_into(who, amount).expect("money can be made");
	}
	fn work(id: &ClaimId, claim: WorkClaim) {
		adopt(id.run, id.round);
		Works::mutate(|works| works.insert((id.run, id.round, id.who.clone()), claim));
	}
	fn under_way(_: &ClaimId) {
		// Nothing here goes on.
	}
	fn chill(who: &AccountId) {
		Inactive::mutate(|inactive| inactive.insert(who.clone()));
	}
	fn verifier(who: &AccountId) {
		Inactive::mutate(|inactive| inactive.remove(who));
		Balances::mint_into(&stake_of(who), STAKE).expect("money can be made");
	}
	fn epoch(epoch: u64) {
		Epoch::set(epoch);
	}
	fn answered(who: &AccountId, key: PonwKey, checkpoint: &CheckpointId, config: RunConfig) -> SessionId {
		Keys::mutate(|keys| keys.insert(who.clone(), key));
		Configs::mutate(|configs| configs.insert(checkpoint.run, config));
		Answering::mutate(|answering| answering.insert((7, who.clone())));
		7
	}
	fn attestation(id: &ClaimId, claim: AttestationClaim) {
		adopt(id.run, claim.job.first_round);
		adopt(id.run, id.round);
		Attestations::mutate(|attestations| attestations.insert((id.run, id.round, id.who.clone()), claim));
	}
}

impl pallet_neuro_disputes::Config for Test {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type Claims = MockClaims;
	type Providers = MockProviders;
	type PaidAnswers = MockAnswers;
	type Credits = MockCredits;
	type Epochs = Epoch;
	type EpochLength = ConstU64<EPOCH_LENGTH>;
	type AuditRandomness = MockRandomness;
	type ChallengeWindow = ChallengeWindow;
	type Bond = ConstU128<BOND>;
	type BondShare = BondShare;
	type MaxGamesPerDefender = MaxGames;
	type DemandDeposit = ConstU128<DEPOSIT>;
	type SlashShare = SlashShare;
	type MaxReplay = ConstU32<MAX_REPLAY>;
	type MaxEndsPerBlock = ConstU32<MAX_ENDS>;
	type Outlasting = ();
	type Carriers = Batches;
	type Answers = ();
	type Rounds = MockRounds;
	type MovesShare = MovesShare;
	type ActsShare = ActsShare;
	type LeastStake = ConstU128<LEAST_STAKE>;
	type WeightInfo = crate::weights::SubstrateWeight<Test>;
	type BenchmarkHelper = MockHelper;
}

/// A round is adopted in this block.
pub fn adopt(run: RunId, round: RoundIndex) {
	Adopted::mutate(|adopted| adopted.insert((run, round), System::block_number()));
}

/// Genesis storage with these clocks.
pub fn storage(clock: BlockNumber, extension: BlockNumber) -> sp_runtime::Storage {
	ChallengeWindow::set(WINDOW);
	let challengers = (1..9).map(|tag| (account(tag), FUNDS));
	let claimants = (50..60).flat_map(|tag| [(account(tag), ED), (stake_of(&account(tag)), STAKE)]);
	RuntimeGenesisConfig {
		balances: pallet_balances::GenesisConfig { balances: challengers.chain(claimants).collect(), ..Default::default() },
		disputes: pallet_neuro_disputes::GenesisConfig {
			clock,
			extension,
			audit_share: Permill::one(),
			seal_time: SEAL_TIME,
			report_time: REPORT_TIME,
			answer_audit_share: Permill::one(),
			answer_draw_price: 0,
			deliver_time: DELIVER_TIME,
			..Default::default()
		},
		..Default::default()
	}
	.build_storage()
	.expect("genesis of the mock builds")
}

/// The mock at block 1.
pub fn new_test_ext() -> sp_io::TestExternalities {
	let mut ext = ext::<Test>(storage(CLOCK, EXTENSION), || {
		Works::set(BTreeMap::new());
		Attestations::set(BTreeMap::new());
		Configs::set(BTreeMap::new());
		Answering::set(BTreeSet::new());
		Lied::set(BTreeSet::new());
		Keys::set(BTreeMap::new());
		Adopted::set(BTreeMap::new());
		Held::set(BTreeSet::new());
		Condemned::set(Vec::new());
		Culprits::set(Vec::new());
		Excluded::set(BTreeSet::new());
		AuditUnits::set(0);
		Epoch::set(0);
		EpochSeed::set(H256::zero());
		Owners::set(BTreeMap::new());
		Inactive::set(BTreeSet::new());
		Credited::set(Vec::new());
		OpenClaims::set(BTreeMap::new());
		Failures::set(BTreeMap::new());
		Punished::set(Vec::new());
		Reported::set(Vec::new());
		Missed::set(Vec::new());
		Successes::set(BTreeMap::new());
		SlashShare::set(Perbill::one());
		BondShare::set(Perbill::from_percent(1));
		MaxGames::set(32);
		MovesShare::set(Share { bytes: MOVES_LENGTH, time: u64::MAX });
		Acts::set(Vec::new());
	});
	ext.register_extension(KeystoreExt::new(MemoryKeystore::new()));
	ext
}

/// Runs `test` on the mock, then checks every invariant.
pub fn build_and_execute(test: impl FnOnce()) {
	new_test_ext().execute_with(|| {
		test();
		check_invariants();
	});
}

/// The pallet's invariants; no proof of an account becomes final while a game against it is open, and those of no other account wait; stakes
/// answer for every game and every sample, and money only leaves by burning.
pub fn check_invariants() {
	Disputes::do_try_state().expect("invariants hold");
	let of = |(claim, _, game): (ClaimId, _, crate::Game)| game.defenders(&claim).cloned().collect::<Vec<_>>();
	let defenders: BTreeSet<_> = crate::Games::<Test>::iter().flat_map(of).collect();
	assert_eq!(Held::get(), defenders, "who is held is not who has games to defend");
	for (who, claims) in OpenClaims::get() {
		let games = crate::Games::<Test>::iter().flat_map(of).filter(|defender| *defender == who).count();
		assert_eq!(claims, i64::try_from(games).expect("few games") + i64::from(Disputes::open_samples(&who)), "claims on {who:?}");
	}
	let accounts: Balance = frame_system::Account::<Test>::iter_values().map(|info| info.data.free + info.data.reserved).sum();
	assert_eq!(accounts, Balances::total_issuance());
}

/// The next block begins.
pub fn next_block() {
	let next = System::block_number() + 1;
	System::set_block_number(next);
	Disputes::on_initialize(next);
	check_invariants();
}

/// Goes to block `to`.
pub fn run_to(to: BlockNumber) {
	while System::block_number() < to {
		next_block();
	}
}

/// A claim of run 0.
pub fn claim(kind: ClaimKind, round: RoundIndex, who: &AccountId) -> ClaimId {
	ClaimId { run: 0, round, kind, who: who.clone() }
}
