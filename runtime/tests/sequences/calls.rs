//! What somebody may want to do, drawn at random.

use crate::chain::account;
use crate::dataset::{manifest, opening};
use neuroshard_runtime::{
	offences::DisableAndSlash, AccountId, Balance, Dataset, Rewards, Runtime, RuntimeCall, RuntimeOrigin, Staking, Training, NEURO,
};
use neuroshard_types::{
	dataset::{ChunkPlace, ShardRange},
	proof::ProofKind,
	provider::{HardwareProfile, ProviderInfo, ProviderStatus, Role, Roles},
	run::{PhaseDurations, RunConfig},
	traits::{FinalWork, WorkCredits},
	DatasetId, ModelConfig, TrainConfig, H256,
};
use proptest::prelude::*;
use sp_runtime::{MultiAddress, Perbill};

/// Somebody does something with some amount, perhaps with somebody else.
#[derive(Clone, Copy, Debug)]
pub struct Act {
	who: u8,
	what: u8,
	whom: u8,
	small: u8,
	amount: u32,
}

impl Arbitrary for Act {
	type Parameters = ();
	type Strategy = BoxedStrategy<Self>;

	fn arbitrary_with((): ()) -> Self::Strategy {
		let tuple = (any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>(), any::<u32>());
		tuple.prop_map(|(who, what, whom, small, amount)| Self { who, what, whom, small, amount }).boxed()
	}
}

/// Deeds that there are.
const KINDS: u8 = 67;
/// The one run and model of these sequences.
const RUN: u32 = 0;

impl Act {
	/// The call and its origin; nothing if it has happened already, without a call.
	pub fn happen(&self) -> Option<(RuntimeOrigin, RuntimeCall)> {
		let (me, other) = (account(self.who), account(self.whom));
		let origin = RuntimeOrigin::signed(me.clone());
		// From dust to more than anybody has.
		let amount = Balance::from(self.amount) * NEURO / 1_000 / (1 + Balance::from(self.small));
		let half = Perbill::from_percent(u32::from(self.small) % 101);
		let call = match self.what % KINDS {
			0..=2 => balances(pallet_balances::Call::transfer_allow_death { dest: MultiAddress::Id(other), value: amount }),
			3 => balances(pallet_balances::Call::transfer_all { dest: MultiAddress::Id(other), keep_alive: self.small.is_multiple_of(2) }),
			4 => balances(pallet_balances::Call::burn { value: amount, keep_alive: true }),
			5..=7 => staking(pallet_neuro_staking::Call::register { info: info(self.who), bond: amount }),
			8 | 9 => staking(pallet_neuro_staking::Call::prove_arithmetic { digest: answer(&me) }),
			10 => staking(pallet_neuro_staking::Call::bond_extra { amount }),
			11 | 12 => staking(pallet_neuro_staking::Call::unbond { amount }),
			13 => staking(pallet_neuro_staking::Call::withdraw_unbonded {}),
			14 => staking(pallet_neuro_staking::Call::chill {}),
			15 => staking(pallet_neuro_staking::Call::activate {}),
			16 => staking(pallet_neuro_staking::Call::deregister {}),
			17 => staking(pallet_neuro_staking::Call::update_info { info: info(self.whom) }),
			18 => staking(pallet_neuro_staking::Call::lock { days: u16::from(self.small) }),
			19..=21 => validators(pallet_neuro_validators::Call::bond { amount, commission: half }),
			22 => validators(pallet_neuro_validators::Call::bond_extra { amount }),
			23 => validators(pallet_neuro_validators::Call::unbond { amount }),
			24 => validators(pallet_neuro_validators::Call::withdraw_unbonded {}),
			25 => validators(pallet_neuro_validators::Call::chill {}),
			26 => validators(pallet_neuro_validators::Call::activate {}),
			27 => validators(pallet_neuro_validators::Call::set_commission { commission: half }),
			28..=30 => validators(pallet_neuro_validators::Call::nominate { candidate: other, amount }),
			31 => validators(pallet_neuro_validators::Call::unnominate { candidate: other, amount }),
			32 => validators(pallet_neuro_validators::Call::withdraw_nomination { candidate: other }),
			33 | 34 => validators(pallet_neuro_validators::Call::claim_rewards { candidate: other }),
			35 => datasets(pallet_neuro_dataset::Call::propose { manifest: manifest(self.small % 4) }),
			36 => datasets(pallet_neuro_dataset::Call::activate { id: 0 }),
			37 => datasets(pallet_neuro_dataset::Call::retire { id: u32::from(self.small % 4) }),
			38 => RuntimeCall::Training(pallet_neuro_training::Call::create_run { config: config() }),
			39 => RuntimeCall::Training(pallet_neuro_training::Call::join { run: RUN }),
			40 => RuntimeCall::Training(pallet_neuro_training::Call::leave { run: RUN }),
			41 => RuntimeCall::Training(pallet_neuro_training::Call::remove_run { run: RUN, limit: u32::from(self.small) }),
			42 => RuntimeCall::Rewards(pallet_neuro_rewards::Call::claim { era: era_before(self.small) }),
			43 => RuntimeCall::Rewards(pallet_neuro_rewards::Call::claim_for { who: other, era: era_before(self.small) }),
			44 => RuntimeCall::Ownership(pallet_neuro_ownership::Call::deposit_revenue { model: RUN, amount }),
			45 => RuntimeCall::Ownership(pallet_neuro_ownership::Call::claim { model: RUN }),
			46 => RuntimeCall::Ownership(pallet_neuro_ownership::Call::release { model: RUN, shares: u128::from(self.amount) }),
			47 => RuntimeCall::Ownership(pallet_neuro_ownership::Call::enrol { model: RUN, shares: u128::from(self.amount) }),
			48 => RuntimeCall::Ownership(pallet_neuro_ownership::Call::transfer { model: RUN, to: other, shares: u128::from(self.amount) }),
			49 => RuntimeCall::Council(pallet_collective::Call::propose {
				threshold: 2,
				proposal: Box::new(RuntimeCall::System(frame_system::Call::remark { remark: vec![self.small] })),
				length_bound: 1_024,
			}),
			50 => RuntimeCall::Proxy(pallet_proxy::Call::add_proxy {
				delegate: MultiAddress::Id(other),
				proxy_type: Default::default(),
				delay: 0,
			}),
			// All or nothing: what the first did is undone if the second fails.
			51 => RuntimeCall::Utility(pallet_utility::Call::batch_all {
				calls: vec![
					validators(pallet_neuro_validators::Call::nominate { candidate: other.clone(), amount }),
					balances(pallet_balances::Call::transfer_keep_alive { dest: MultiAddress::Id(other), value: amount }),
				],
			}),
			52 => RuntimeCall::Assets(pallet_assets::Call::transfer {
				id: RUN.into(),
				target: MultiAddress::Id(other),
				// Few enough for whoever has released some.
				amount: 1 + u128::from(self.small),
			}),
			// Work that has become final.
			53 => {
				let units = u128::from(self.amount) * 1_000;
				<Rewards as WorkCredits<_>>::credit(&me, ProofKind::Training, Role::Worker, units);
				<neuroshard_runtime::Ownership as FinalWork<_>>::final_work(&me, RUN, units);
				return None;
			}
			// Offences are rare: one in 16 of these is reported.
			54 if self.small < 16 => {
				equivocate(&other, half);
				return None;
			}
			56 | 57 => datasets(pallet_neuro_dataset::Call::attest { id: self.dataset(), shards: ShardRange { first: 0, count: 4 } }),
			58 => datasets(pallet_neuro_dataset::Call::withdraw_attestation { id: self.dataset(), who: other }),
			59 | 60 => datasets(pallet_neuro_dataset::Call::challenge_shard {
				id: self.dataset(),
				who: other,
				place: ChunkPlace { shard: self.amount % 4, chunk: u32::from(self.small % 2) },
			}),
			61 | 62 => datasets(pallet_neuro_dataset::Call::answer_challenge {
				id: self.dataset(),
				challenger: other,
				opening: opening(text_of(self.dataset())),
			}),
			63 => datasets(pallet_neuro_dataset::Call::conclude_challenge {
				id: self.dataset(),
				who: other,
				challenger: account(self.amount.to_le_bytes()[0]),
			}),
			// Seldom, since no run uses the dataset afterwards.
			64 if self.small.is_multiple_of(8) => {
				let (place, id) = (ChunkPlace { shard: self.amount % 4, chunk: 0 }, self.dataset());
				datasets(pallet_neuro_dataset::Call::condemn { id, place, opening: opening(text_of(id)) })
			}
			// Governance acts, seldom.
			65 if self.small % 8 == 1 => {
				let call = pallet_neuro_dataset::Call::force_retire { id: self.dataset(), reason: Default::default() };
				return Some((RuntimeOrigin::root(), datasets(call)));
			}
			66 => datasets(pallet_neuro_dataset::Call::remove { id: self.dataset() }),
			_ => RuntimeCall::System(frame_system::Call::remark { remark: Vec::new() }),
		};
		Some((origin, call))
	}

	/// One of the first datasets.
	fn dataset(&self) -> DatasetId {
		u32::from(self.small / 64)
	}
}

fn balances(call: pallet_balances::Call<Runtime>) -> RuntimeCall {
	RuntimeCall::Balances(call)
}

fn staking(call: pallet_neuro_staking::Call<Runtime>) -> RuntimeCall {
	RuntimeCall::Staking(call)
}

fn datasets(call: pallet_neuro_dataset::Call<Runtime>) -> RuntimeCall {
	RuntimeCall::Dataset(call)
}

fn validators(call: pallet_neuro_validators::Call<Runtime>) -> RuntimeCall {
	RuntimeCall::Validators(call)
}

/// What a provider registers.
fn info(seed: u8) -> ProviderInfo {
	let seed = seed % 12;
	let mut ponw_key = [seed; 33];
	ponw_key[0] = 2;
	ProviderInfo {
		roles: Roles::only(if seed.is_multiple_of(2) { Role::Worker } else { Role::Verifier }),
		hardware: HardwareProfile { gflops: 1_000, memory_mib: 1_024, bandwidth_kib_s: 1_024 },
		ponw_key,
		// An identity multihash of 36 bytes, as an ed25519 key has.
		peer_id: [&[0, 36], &[seed; 36][..]].concat().try_into().expect("a short peer id"),
		addresses: Default::default(),
	}
}

/// What a machine without faults answers.
fn answer(who: &AccountId) -> H256 {
	match Staking::provider(who.clone()).map(|provider| provider.status) {
		Some(ProviderStatus::Unproven { challenge }) => H256(neuroshard_kernels::kat::drawn(challenge.0)),
		_ => H256::default(),
	}
}

/// The text of a dataset, which is its name.
fn text_of(id: DatasetId) -> u8 {
	Dataset::dataset(id).map_or(0, |dataset| dataset.manifest.name[0])
}

fn config() -> RunConfig {
	RunConfig {
		name: b"run".to_vec().try_into().expect("a short name"),
		dataset: 0,
		model: ModelConfig { vocab: 288, ..ModelConfig::tiny() },
		train: TrainConfig { validation_sequences: 2, ..TrainConfig::tiny() },
		genesis_root: H256([5; 32]),
		min_participants: 2,
		max_participants: 4,
		min_bond: 100 * NEURO,
		rounds: Some(3),
		durations: PhaseDurations { joining: 2, training: 3, revealing: 2, availability: 2, checkpointing: 2 },
	}
}

/// An era that has ended lately.
fn era_before(eras: u8) -> u32 {
	Rewards::era().index.saturating_sub(1 + u32::from(eras % 4))
}

/// The dataset and the run that everybody can take part in.
pub fn create_run() {
	let alice = RuntimeOrigin::signed(account(0));
	Dataset::propose(alice.clone(), manifest(0)).expect("a dataset");
	Dataset::activate(alice.clone(), 0).expect("an active dataset");
	Training::create_run(alice, config()).expect("a run");
	Training::approve_run(RuntimeOrigin::root(), RUN).expect("an approved run");
}

/// `who`, if it is a validator now and not the author of this block, is reported for an offence that costs this much.
fn equivocate(who: &AccountId, fraction: Perbill) {
	use sp_staking::offence::{OffenceDetails, OnOffenceHandler};
	// Nobody reports itself: the block would be thrown away with the report.
	if pallet_authorship::Pallet::<Runtime>::author().as_ref() == Some(who) {
		return;
	}
	let session = pallet_session::CurrentIndex::<Runtime>::get();
	let elected = pallet_neuro_validators::Exposures::<Runtime>::get(session);
	let Some((_, exposure)) = elected.into_iter().find(|(validator, _)| validator == who) else { return };
	let details = OffenceDetails { offender: (who.clone(), exposure), reporters: Vec::new() };
	DisableAndSlash::on_offence(&[details], &[fraction], session);
}
