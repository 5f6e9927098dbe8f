//! A runtime of system, balances and this pallet, with providers, models and receivers of money that tests set.

use crate as pallet_neuro_inference;
use frame_support::{
	parameter_types,
	traits::{
		fungible::{Balanced, Mutate},
		tokens::{Fortitude, Precision, Preservation},
		ConstU128, ConstU32,
	},
};
use neuroshard_test_support::ext;
pub use neuroshard_test_support::ED;
use neuroshard_types::{
	answer_audit::{OnPaid, PaidAnswersOf},
	inference::{CheckpointId, Class, Offer, Prices, SessionId, Span, Voucher, MAX_SPANS},
	offence::Offence,
	provider::{HardwareProfile, PonwKey, Role, Roles},
	reward::FeeShares,
	traits::{InferenceFees, ModelRevenue, Models, Providers, SlashTo},
	AccountId, Balance, BlockNumber, RoundIndex, RunId, H256,
};
use sp_core::{sr25519, Pair};
use sp_keystore::{testing::MemoryKeystore, KeystoreExt};
use sp_runtime::{traits::Dispatchable, DispatchError, DispatchResult, MultiSignature, Perbill};
use std::collections::{BTreeMap, BTreeSet};

/// Free balance that users and providers start with.
pub const FUNDS: Balance = 1_000_000_000;
/// Least escrow.
pub const MIN_ESCROW: Balance = 100;
/// Deposit for an offer of no bytes.
pub const DEPOSIT_BASE: Balance = 1_000;
/// Deposit for a byte.
pub const DEPOSIT_PER_BYTE: Balance = 7;
/// Blocks from the end of a session until it can be settled.
pub const DELAY: BlockNumber = 20;
/// Most sessions of a user.
pub const MAX_SESSIONS: u32 = 4;
/// Most payees of a session.
pub const MAX_PAYEES: u32 = 3;
/// A run whose model has [`LAYERS`] layers.
pub const RUN: RunId = 7;
/// Another one.
pub const OTHER_RUN: RunId = 8;
/// Layers of both.
pub const LAYERS: u16 = 12;

/// A driver.
pub const DRIVER: AccountId = AccountId::new([1; 32]);
/// Another one.
pub const OTHER: AccountId = AccountId::new([2; 32]);
/// A worker.
pub const WORKER: AccountId = AccountId::new([3; 32]);
/// A predictor.
pub const PREDICTOR: AccountId = AccountId::new([4; 32]);
/// A verifier, which computes no layers.
pub const VERIFIER: AccountId = AccountId::new([5; 32]);
/// The operator of [`DRIVER`].
pub const OPERATOR: AccountId = AccountId::new([6; 32]);
/// An account that does not exist at genesis.
pub const NOBODY: AccountId = AccountId::new([9; 32]);
/// Account that gets the owners' part.
pub const OWNERS_POT: AccountId = AccountId::new([0xf0; 32]);
/// Account that gets the fees.
pub const FEES_POT: AccountId = AccountId::new([0xf1; 32]);

neuroshard_test_support::runtime! {
	2: Inference = pallet_neuro_inference;
}

/// A fee that was paid: by whom, how much, to which driver, and for which layers.
pub type Fee = (AccountId, Balance, AccountId, Vec<(AccountId, u32)>);

parameter_types! {
	/// Whom operators act for.
	pub static Owners: BTreeMap<AccountId, AccountId> = BTreeMap::new();
	/// Active providers.
	pub static Active: BTreeMap<AccountId, Roles> = BTreeMap::new();
	/// Claims that bonds answer for.
	pub static OpenClaims: BTreeMap<AccountId, u32> = BTreeMap::new();
	/// Of whom something can be disputed, each time it was noted.
	pub static Disputable: Vec<AccountId> = Vec::new();
	/// Answers that were told as paid.
	pub static Told: Vec<PaidAnswersOf> = Vec::new();
	/// Models that may not be used.
	pub static HaltedModels: BTreeSet<RunId> = BTreeSet::new();
	/// True if shares of models earn.
	pub static SharesEarn: bool = true;
	/// All fees.
	pub static Fees: Vec<Fee> = Vec::new();
	/// Part of the owners: a tenth, unless a test says otherwise.
	pub static OwnersShare: Perbill = Perbill::from_percent(10);
}

/// [`Providers`] of the mock.
pub struct MockProviders;

impl Providers<AccountId, Balance> for MockProviders {
	fn acts_for(signer: AccountId) -> AccountId {
		Owners::get().remove(&signer).unwrap_or(signer)
	}
	fn is_active(who: &AccountId, role: Role) -> bool {
		Active::get().get(who).is_some_and(|roles| roles.contains(role))
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
	fn ponw_key(_: &AccountId) -> Option<PonwKey> {
		None
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
		OpenClaims::mutate(|open| *open.get_mut(who).expect("a claim is open") -= 1);
	}
	fn note_disputable(who: &AccountId) {
		Disputable::mutate(|all| all.push(who.clone()));
	}
	fn note_success(_: &AccountId) {}
	fn note_uptime(_: &AccountId) {}
	fn note_failure(_: &AccountId, _: u32) {}
	fn note_audit_reported(_: &AccountId) {}
	fn note_audit_missed(_: &AccountId, _: BlockNumber) {}
	fn punish(_: &AccountId, _: Offence) -> Balance {
		0
	}
}

/// [`Models`] of the mock: those of [`RUN`] and [`OTHER_RUN`], whose rounds 0 to 2 start from checkpoints with roots of their number.
pub struct MockModels;

impl Models for MockModels {
	fn may_serve(run: RunId) -> bool {
		[RUN, OTHER_RUN].contains(&run) && !HaltedModels::get().contains(&run)
	}
	fn layers(run: RunId) -> Option<u32> {
		// The benchmarks need more.
		let layers = if run == RUN { LAYERS.into() } else { MAX_SPANS };
		[RUN, OTHER_RUN].contains(&run).then_some(layers)
	}
	fn is_checkpoint(run: RunId, round: RoundIndex, root: H256) -> bool {
		[RUN, OTHER_RUN].contains(&run) && round < 3 && root == root_of(round)
	}
}

/// [`ModelRevenue`] of the mock.
pub struct MockRevenue;

impl ModelRevenue<AccountId, Balance> for MockRevenue {
	fn deposit(from: &AccountId, _: RunId, amount: Balance) -> DispatchResult {
		// Not even a failure in the middle may leave something behind.
		Balances::transfer(from, &OWNERS_POT, amount, Preservation::Preserve)?;
		if SharesEarn::get() {
			Ok(())
		} else {
			Err(DispatchError::Other("nobody earns"))
		}
	}
}

/// [`InferenceFees`] of the mock: takes the money as the real one does, and keeps it in one account.
pub struct MockFees;

impl InferenceFees<AccountId, Balance> for MockFees {
	fn pay_fee(from: &AccountId, amount: Balance, driver: &AccountId, workers: &[(AccountId, u32)]) -> Result<FeeShares, DispatchError> {
		let fee = Balances::withdraw(from, amount, Precision::Exact, Preservation::Preserve, Fortitude::Polite)?;
		assert!(Balances::resolve(&FEES_POT, fee).is_ok(), "it exists");
		Fees::mutate(|fees| fees.push((from.clone(), amount, driver.clone(), workers.to_vec())));
		Ok(FeeShares::default())
	}
}

/// [`OnPaid`] of the mock: remembers.
pub struct MockAudits;

impl OnPaid for MockAudits {
	fn paid(answers: PaidAnswersOf) {
		assert!(Disputable::get().contains(&answers.provider), "its bond is bound by then");
		Told::mutate(|told| told.push(answers));
	}
}

/// Makes providers and models for the benchmarks.
pub struct MockHelper;

impl crate::BenchmarkHelper for MockHelper {
	fn provider(who: &AccountId) {
		Balances::set_balance(who, FUNDS);
		Active::mutate(|active| active.insert(who.clone(), Roles(15)));
	}
	fn model() -> (CheckpointId, u16) {
		(CheckpointId { run: OTHER_RUN, round: 1, root: root_of(1) }, 32)
	}
}

impl pallet_neuro_inference::Config for Test {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type Providers = MockProviders;
	type Models = MockModels;
	type Revenue = MockRevenue;
	type Fees = MockFees;
	type OnPaid = MockAudits;
	type OwnersShare = OwnersShare;
	type MinEscrow = ConstU128<MIN_ESCROW>;
	type MaxSessions = ConstU32<MAX_SESSIONS>;
	type MaxPayees = ConstU32<MAX_PAYEES>;
	type DepositBase = ConstU128<DEPOSIT_BASE>;
	type DepositPerByte = ConstU128<DEPOSIT_PER_BYTE>;
	type WeightInfo = crate::weights::SubstrateWeight<Test>;
	type BenchmarkHelper = MockHelper;
}

/// The key of a user.
pub fn pair(seed: u8) -> sr25519::Pair {
	sr25519::Pair::from_seed(&[seed; 32])
}

/// The user with this key.
pub fn user(seed: u8) -> AccountId {
	pair(seed).public().into()
}

/// Root of the checkpoint that a round of the mock's runs starts from.
pub fn root_of(round: RoundIndex) -> H256 {
	H256::from_low_u64_be(u64::from(round) + 1)
}

/// The mock at block 1, with two drivers, others who compute, an operator, and the users 1 and 2.
pub fn new_test_ext() -> sp_io::TestExternalities {
	let providers = [
		(DRIVER, Roles::only(Role::Driver)),
		(OTHER, Roles::only(Role::Driver).with(Role::Worker)),
		(WORKER, Roles::only(Role::Worker)),
		(PREDICTOR, Roles::only(Role::Predictor)),
		(VERIFIER, Roles::only(Role::Verifier)),
	];
	let rich = providers.iter().map(|(who, _)| who.clone()).chain([user(1), user(2)]).map(|who| (who, FUNDS));
	let balances = rich.chain([OWNERS_POT, FEES_POT].map(|who| (who, ED))).collect();
	let genesis = RuntimeGenesisConfig {
		balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
		inference: pallet_neuro_inference::GenesisConfig { close_delay: DELAY, ..Default::default() },
		..Default::default()
	};
	let mut ext = ext::<Test>(genesis, || {
		Owners::set([(OPERATOR, DRIVER)].into());
		Active::set(providers.into());
		OpenClaims::set(BTreeMap::new());
		Disputable::set(Vec::new());
		Told::set(Vec::new());
		HaltedModels::set(BTreeSet::new());
		SharesEarn::set(true);
		Fees::set(Vec::new());
		OwnersShare::set(Perbill::from_percent(10));
	});
	ext.register_extension(KeystoreExt::new(MemoryKeystore::new()));
	ext
}

/// Runs `test` on the mock, then checks every invariant: the pallet's own, and a claim at the bond of each who offers or has agreed.
pub fn build_and_execute(test: impl FnOnce()) {
	new_test_ext().execute_with(|| {
		test();
		check_invariants();
	});
}

/// See [`build_and_execute`].
pub fn check_invariants() {
	Inference::do_try_state().expect("invariants hold after the test");
	let mut bound = BTreeMap::<AccountId, u32>::new();
	for (driver, standing) in crate::Offers::<Test>::iter() {
		standing.consents.into_iter().chain([driver]).for_each(|who| *bound.entry(who).or_default() += 1);
	}
	let open: BTreeMap<_, _> = OpenClaims::get().into_iter().filter(|(_, count)| *count > 0).collect();
	assert_eq!(open, bound, "bonds of those who offer and agree are bound, and of nobody else");
}

/// Dispatches a call as an extrinsic of `who` would.
pub fn send(who: &AccountId, call: crate::Call<Test>) -> DispatchResult {
	RuntimeCall::from(call).dispatch(RuntimeOrigin::signed(who.clone())).map(|_| ()).map_err(|failed| failed.error)
}

/// Layers of `who`.
pub fn span(who: &AccountId, first: u16, layers: u16) -> Span {
	Span { who: who.clone(), first, layers }
}

/// An offer of [`RUN`] with this ring.
pub fn offer_with(ring: Vec<Span>) -> Offer {
	Offer {
		checkpoint: CheckpointId { run: RUN, round: 1, root: root_of(1) },
		class: Class::ExactF32,
		prices: Prices { prompt: 1, generated: 3 },
		redundancy: 1,
		endpoint: b"http://127.0.0.1:8000".to_vec().try_into().expect("short"),
		ring: ring.try_into().expect("few spans"),
	}
}

/// Has `driver` offer to compute everything itself, which is ready at once.
pub fn offer_alone(driver: &AccountId) {
	send(driver, crate::Call::offer { offer: offer_with(vec![span(driver, 0, LAYERS)]) }).expect("a good offer");
}

/// Has `seed`'s user open a session, and returns its number.
pub fn open(seed: u8, provider: Option<&AccountId>, escrow: Balance) -> SessionId {
	let session = crate::NextSession::<Test>::get();
	send(&user(seed), crate::Call::open_session { provider: provider.cloned(), escrow }).expect("a good session");
	session
}

/// A voucher with receipts of its number of answers.
pub fn voucher(session: SessionId, provider: &AccountId, amount: Balance, answers: u32) -> Voucher {
	Voucher { session, provider: provider.clone(), amount, answers, receipts: H256::from_low_u64_be(answers.into()) }
}

/// The signature of `seed`'s user under a voucher.
pub fn sign(seed: u8, voucher: &Voucher) -> MultiSignature {
	pair(seed).sign(&voucher.message(System::block_hash(0))).into()
}

/// Has the provider claim a voucher that `seed`'s user signed.
pub fn claim(seed: u8, voucher: Voucher) -> DispatchResult {
	let (provider, session, signature) = (voucher.provider.clone(), voucher.session, sign(seed, &voucher));
	send(&provider, crate::Call::claim { session, voucher, signature })
}

/// Free balance, and what is on hold for sessions.
pub fn money(who: &AccountId) -> (Balance, Balance) {
	(Balances::free_balance(who), Inference::held(crate::HoldReason::Escrow, who))
}
