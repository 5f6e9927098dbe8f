//! Blocks with all hooks, and what becomes of money in them.

use crate::{
	calls::{create_run, Act},
	common::genesis_of,
};
use codec::Encode;
use frame_support::{
	traits::{GetCallMetadata, OnFinalize, OnIdle, OnInitialize},
	weights::Weight,
};
use neuroshard_runtime::{
	genesis, invariants, AccountId, AllPalletsWithSystem, Balance, Balances, Runtime, RuntimeEvent, RuntimeOrigin, SessionKeys, System,
	Timestamp, BLOCK_TIME_MS,
};
use pallet_balances::Event as Money;
use sp_consensus_babe::{
	digests::{PreDigest, SecondaryPlainPreDigest},
	BABE_ENGINE_ID,
};
use sp_core::{ed25519, sr25519};
use sp_keyring::Sr25519Keyring::{self, Alice, Bob, Charlie, Dave, Eve, Ferdie};
use sp_runtime::{traits::Dispatchable, BuildStorage, Digest, DigestItem};
use std::collections::BTreeMap;

/// Who acts.
pub const ACTORS: [Sr25519Keyring; 6] = [Alice, Bob, Charlie, Dave, Eve, Ferdie];
/// Slot of the first block.
const FIRST_SLOT: u64 = 600_000_000;
/// What is left of a block for `on_idle`.
const IDLE: Weight = Weight::from_parts(1_000_000_000_000, u64::MAX);

/// A chain of the development preset in which everybody who acts has session keys, so that each of them can be elected.
pub struct Chain {
	succeeded: BTreeMap<String, u32>,
}

impl Chain {
	/// Begins a chain and does something with it.
	pub fn execute(test: impl FnOnce(&mut Self)) {
		let mut genesis = genesis_of(genesis::DEVELOPMENT);
		genesis.session.keys = ACTORS.map(|key| (key.to_account_id(), key.to_account_id(), session_keys(key))).to_vec();
		let storage = genesis.build_storage().expect("the preset is a genesis");
		sp_io::TestExternalities::new(storage).execute_with(|| {
			let mut chain = Self { succeeded: BTreeMap::new() };
			chain.block(&[]);
			create_run();
			test(&mut chain);
		});
	}

	/// Calls that succeeded, by pallet.
	pub fn succeeded(&self) -> &BTreeMap<String, u32> {
		&self.succeeded
	}

	/// A block with these acts. Afterwards every invariant holds, and the issuance has changed by what events tell.
	pub fn block(&mut self, acts: &[Act]) {
		let before = Balances::total_issuance();
		let number = System::block_number() + 1;
		let slot = FIRST_SLOT + u64::from(number);
		let claim = PreDigest::SecondaryPlain(SecondaryPlainPreDigest { authority_index: author(number), slot: slot.into() });
		let digest = Digest { logs: vec![DigestItem::PreRuntime(BABE_ENGINE_ID, claim.encode())] };
		System::reset_events();
		System::initialize(&number, &System::parent_hash(), &digest);
		AllPalletsWithSystem::on_initialize(number);
		Timestamp::set(RuntimeOrigin::none(), slot * BLOCK_TIME_MS).expect("the time of the slot");
		for act in acts {
			let Some((origin, call)) = act.happen() else { continue };
			let pallet = call.get_call_metadata().pallet_name;
			if call.dispatch(origin).is_ok() {
				*self.succeeded.entry(pallet.to_owned()).or_default() += 1;
			}
		}
		AllPalletsWithSystem::on_idle(number, IDLE);
		AllPalletsWithSystem::on_finalize(number);
		assert_eq!(invariants::broken(), None, "after block {number} with {acts:?}");
		let (minted, burned) = told();
		assert_eq!(Balances::total_issuance(), before + minted - burned, "issuance after block {number} with {acts:?}");
	}
}

/// Somebody who may author block `number`: not a validator that is disabled.
fn author(number: u32) -> u32 {
	let all = u32::try_from(pallet_babe::Authorities::<Runtime>::get().len()).expect("few authorities");
	let disabled = pallet_session::Pallet::<Runtime>::disabled_validators();
	// The authorities that this block begins with can be others than those that it ends with.
	let free: Vec<_> = (0..all).filter(|place| !disabled.contains(place)).collect();
	free[usize::try_from(number).expect("a small number") % free.len()]
}

/// What the events of this block say was minted and burned.
fn told() -> (Balance, Balance) {
	let (mut minted, mut burned) = (0, 0);
	for record in System::events() {
		let RuntimeEvent::Balances(event) = record.event else { continue };
		match event {
			Money::Minted { amount, .. } | Money::Issued { amount } => minted += amount,
			Money::Burned { amount, .. }
			| Money::BurnedHeld { amount, .. }
			| Money::Rescinded { amount }
			| Money::DustLost { amount, .. } => {
				burned += amount;
			}
			_ => {}
		}
	}
	(minted, burned)
}

fn session_keys(key: Sr25519Keyring) -> SessionKeys {
	let bytes = *AsRef::<[u8; 32]>::as_ref(&key.to_account_id());
	SessionKeys { babe: sr25519::Public::from(key.public()).into(), grandpa: ed25519::Public::from_raw(bytes).into() }
}

/// Account of an actor.
pub fn account(number: u8) -> AccountId {
	ACTORS[usize::from(number) % ACTORS.len()].to_account_id()
}
