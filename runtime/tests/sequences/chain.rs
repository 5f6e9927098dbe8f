//! Blocks with all hooks, and what becomes of money in them.

use super::{
	calls::{create_run, session_keys, Act},
	outcomes::outcome,
};
use crate::common::genesis_of;
use codec::{Compact, Decode, Encode};
use frame_support::{
	dispatch::GetDispatchInfo,
	storage::transactional::with_transaction_unchecked,
	traits::{CallMetadata, GetCallMetadata, OnFinalize, OnIdle, OnInitialize, TryState, TryStateSelect},
	weights::Weight,
};
use frame_system::ensure_signed;
use neuroshard_runtime::{
	genesis, invariants, AccountId, AllPalletsWithSystem, Balance, Balances, Runtime, RuntimeCall, RuntimeEvent, RuntimeGenesisConfig,
	RuntimeOrigin, System, Timestamp, TxExtension, BLOCK_TIME_MS, NEURO,
};
use neuroshard_types::RunId;
use pallet_assets::ExistenceReason;
use pallet_balances::Event as Money;
use pallet_neuro_ownership::Event as Shares;
use sp_consensus_babe::{
	digests::{PreDigest, SecondaryPlainPreDigest},
	BABE_ENGINE_ID,
};
use sp_keyring::Sr25519Keyring::{self, Alice, Bob, Charlie, Dave, Eve, Ferdie, One, Two};
use sp_runtime::{
	generic::{CheckedExtrinsic, ExtrinsicFormat},
	traits::{Applyable, Dispatchable},
	BuildStorage, Digest, DigestItem, Permill, TransactionOutcome,
};
use std::collections::{BTreeMap, BTreeSet};

/// Accounts that act.
pub const ACTORS: [Sr25519Keyring; 6] = [Alice, Bob, Charlie, Dave, Eve, Ferdie];
/// Accounts that are no providers, and sign their work.
const OPERATORS: [Sr25519Keyring; 2] = [One, Two];
/// Slot of the first block.
const FIRST_SLOT: u64 = 600_000_000;
/// Bytes of an extrinsic beside its call: address, signature, extensions.
const SIGNED: usize = 108;
/// Weight that is left of a block for `on_idle`.
const IDLE: Weight = Weight::from_parts(1_000_000_000_000, u64::MAX);

/// A chain of the development preset in which everybody who acts has session keys, so that each of them can be elected, and in which all that
/// ends by time ends within a sequence: disputes, unbonding, suspensions, eras, attestations of datasets. All work is audited.
#[derive(Default)]
pub struct Chain {
	/// Number of calls that were made.
	pub made: u32,
	/// Calls that succeeded, by pallet and name.
	pub succeeded: BTreeMap<String, u32>,
	/// Outcomes that have come about, as [`outcome`] names them.
	pub outcomes: BTreeMap<&'static str, u32>,
	/// Accounts that got shares of a model by work, with its run.
	worked: BTreeSet<(RunId, AccountId)>,
}

fn genesis() -> RuntimeGenesisConfig {
	let mut genesis = genesis_of(genesis::DEVELOPMENT);
	let keys = ACTORS.iter().enumerate();
	genesis.session.keys = keys.map(|(actor, key)| (key.to_account_id(), key.to_account_id(), session_keys(actor))).collect();
	genesis.balances.balances.extend(OPERATORS.map(|key| (key.to_account_id(), 10_000 * NEURO)));
	genesis.parameters.report_epochs = 4;
	(genesis.validators.cooldown, genesis.validators.bar_period) = (80, 60);
	// Three epochs of 10 blocks, twice 12 for sealing and 12 for reporting, fit into it.
	genesis.ponw.challenge_window = 70;
	(genesis.disputes.clock, genesis.disputes.extension) = (8, 4);
	genesis.disputes.audit_share = Permill::one();
	(genesis.disputes.seal_time, genesis.disputes.report_time) = (12, 12);
	// Three epochs and three times this fit into the 178 blocks in which claims can be disputed.
	(genesis.disputes.answer_audit_share, genesis.disputes.deliver_time) = (Permill::one(), 12);
	genesis.disputes.answer_draw_price = 0;
	genesis.staking.cooldown = 200;
	let penalties = &mut genesis.staking.penalties;
	for penalty in [&mut penalties.invalid_proof, &mut penalties.repeated_failure, &mut penalties.byzantine] {
		penalty.suspension = 30;
	}
	(genesis.dataset.attestation_period, genesis.dataset.answer_time) = (60, 8);
	genesis.rewards.history_depth = 8;
	genesis.inference.close_delay = 8;
	genesis
}

impl Chain {
	/// Begins a chain, makes blocks with these acts, and says what has come of it.
	pub fn of(blocks: &[Vec<Act>]) -> Self {
		let storage = genesis().build_storage().expect("the preset is a genesis");
		sp_io::TestExternalities::new(storage).execute_with(|| {
			let mut chain = Self::default();
			chain.block(&[]);
			create_run();
			blocks.iter().for_each(|acts| chain.block(acts));
			chain
		})
	}

	/// A block with these acts. Afterwards every invariant holds, and the issuance has changed by what events tell.
	fn block(&mut self, acts: &[Act]) {
		let before = Balances::total_issuance();
		let number = System::block_number() + 1;
		let slot = FIRST_SLOT + u64::from(number);
		let claim = PreDigest::SecondaryPlain(SecondaryPlainPreDigest { authority_index: author(number), slot: slot.into() });
		let digest = Digest { logs: vec![DigestItem::PreRuntime(BABE_ENGINE_ID, claim.encode())] };
		System::reset_events();
		System::initialize(&number, &System::parent_hash(), &digest);
		let hooks = AllPalletsWithSystem::on_initialize(number);
		assert!(hooks.all_lte(most_of_hooks()), "block {number} begins with {hooks:?}");
		Timestamp::set(RuntimeOrigin::none(), slot * BLOCK_TIME_MS).expect("the time of the slot");
		for act in acts {
			let Some((origin, call)) = act.happen() else { continue };
			let CallMetadata { pallet_name, function_name } = call.get_call_metadata();
			self.made += 1;
			if make(origin, call) {
				*self.succeeded.entry(format!("{pallet_name}.{function_name}")).or_default() += 1;
			}
		}
		AllPalletsWithSystem::on_idle(number, IDLE);
		AllPalletsWithSystem::on_finalize(number);
		assert_eq!(invariants::broken(), None, "after block {number} with {acts:?}");
		let sound = AllPalletsWithSystem::try_state(number, TryStateSelect::All);
		assert_eq!(sound, Ok(()), "the SDK's pallets after block {number} with {acts:?}");
		for outcome in System::read_events_no_consensus().filter_map(|record| outcome(&record.event)) {
			*self.outcomes.entry(outcome).or_default() += 1;
		}
		self.places_cost_deposits_or_work();
		let (minted, burned) = told();
		assert_eq!(Balances::total_issuance(), before + minted - burned, "issuance after block {number} with {acts:?}");
	}
}

impl Chain {
	/// Nobody has a place among the holders of a model who has neither worked for it nor somebody to pay a deposit.
	fn places_cost_deposits_or_work(&mut self) {
		let minted = System::read_events_no_consensus().filter_map(|record| match record.event {
			RuntimeEvent::Ownership(Shares::Minted { who, model, .. }) => Some((model, who)),
			_ => None,
		});
		self.worked.extend(minted);
		for (model, who, place) in pallet_assets::Account::<Runtime>::iter() {
			let paid = matches!(place.reason, ExistenceReason::DepositHeld(_) | ExistenceReason::DepositFrom(..));
			assert!(paid || self.worked.contains(&(model, who)), "a place of {model} that costs nothing");
		}
	}
}

/// Makes a call. What somebody signs is an extrinsic with all that the chain checks and charges; a call that the chain takes from nobody now is
/// made as one that another call carries. Returns whether it succeeded.
fn make(origin: RuntimeOrigin, call: RuntimeCall) -> bool {
	let Ok(who) = ensure_signed(origin.clone()) else { return call.dispatch(origin).is_ok() };
	// No era, a nonce, no tip, and no hash of the metadata.
	let extension = (0_u8, Compact(System::account_nonce(&who)), Compact(0_u128), 0_u8).encode();
	let extension = TxExtension::decode(&mut extension.as_slice()).expect("an extension");
	let length = call.encoded_size().saturating_add(SIGNED);
	let extrinsic: CheckedExtrinsic<_, _, _> = CheckedExtrinsic { format: ExtrinsicFormat::Signed(who, extension), function: call.clone() };
	let info = extrinsic.get_dispatch_info();
	let applied = with_transaction_unchecked(|| match extrinsic.apply::<Runtime>(&info, length) {
		Ok(result) => TransactionOutcome::Commit(Some(result)),
		Err(_) => TransactionOutcome::Rollback(None),
	});
	let Some(result) = applied else { return call.dispatch(origin).is_ok() };
	System::note_applied_extrinsic(&result, info);
	result.is_ok()
}

/// Returns the weight that a block of this chain may spend before its extrinsics: half of what is there for all of it. Sessions end in some of the
/// blocks.
fn most_of_hooks() -> Weight {
	<Runtime as frame_system::Config>::BlockWeights::get().max_block / 2
}

/// Somebody who may author block `number`: not a validator that is disabled.
fn author(number: u32) -> u32 {
	let all = u32::try_from(pallet_babe::Authorities::<Runtime>::get().len()).expect("few authorities");
	let disabled = pallet_session::Pallet::<Runtime>::disabled_validators();
	// The authorities that this block begins with can be others than those that it ends with.
	let free: Vec<_> = (0..all).filter(|place| !disabled.contains(place)).collect();
	free[usize::try_from(number).expect("a small number") % free.len()]
}

/// Returns the amounts that were minted and burned by the events of this block. What is lost as dust is told twice: as dust, and as what nobody took.
fn told() -> (Balance, Balance) {
	let (mut minted, mut burned) = (0, 0);
	for record in System::events() {
		let RuntimeEvent::Balances(event) = record.event else { continue };
		match event {
			Money::Minted { amount, .. } | Money::MintedCredit { amount } | Money::Issued { amount } => minted += amount,
			Money::Burned { amount, .. }
			| Money::BurnedHeld { amount, .. }
			| Money::BurnedDebt { amount }
			| Money::Rescinded { amount } => {
				burned += amount;
			}
			_ => {}
		}
	}
	(minted, burned)
}

/// Account of an actor.
pub fn account(number: u8) -> AccountId {
	ACTORS[usize::from(number) % ACTORS.len()].to_account_id()
}

/// Account of an operator.
pub fn operator(number: u8) -> AccountId {
	OPERATORS[usize::from(number) % OPERATORS.len()].to_account_id()
}
