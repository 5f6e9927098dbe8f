//! Behaviour of calls, trait, view functions and genesis.

mod bonding;
mod challenge;
mod genesis;
mod identity;
mod invariants;
mod locks;
mod offences;
mod operators;
mod provider_trait;
mod status;
mod verifiers;
mod views;
mod weights;

use crate::{
	mock::{info, RuntimeEvent, RuntimeOrigin, Staking, System, Test},
	Event, Pallet,
};
use frame_support::assert_ok;
use neuroshard_types::{
	provider::{ProviderStatus, ProviderView, UnbondingChunk},
	AccountId, Balance, H256,
};

/// A signed origin.
fn signed(who: AccountId) -> RuntimeOrigin {
	RuntimeOrigin::signed(who)
}

/// Registers `who` with the info numbered by its account byte. It has to prove its arithmetic yet.
fn register_unproven(who: &AccountId, bond: Balance) {
	assert_ok!(Staking::register(signed(who.clone()), info(tag(who)), bond));
}

/// Registers `who` with the info numbered by its account byte, and makes it active.
fn register(who: &AccountId, bond: Balance) {
	register_unproven(who, bond);
	prove(who);
}

/// Answers the open challenge of `who` rightly.
fn prove(who: &AccountId) {
	assert_ok!(Staking::prove_arithmetic(signed(who.clone()), answer(challenge(who))));
}

/// The open challenge of `who`.
fn challenge(who: &AccountId) -> H256 {
	match view(who).status {
		ProviderStatus::Unproven { challenge } => challenge,
		other => panic!("{other:?} has no challenge"),
	}
}

/// The right answer to a challenge.
fn answer(challenge: H256) -> H256 {
	H256(neuroshard_kernels::kat::drawn(challenge.0))
}

/// The first byte of an account: the number of its info.
fn tag(who: &AccountId) -> u8 {
	AsRef::<[u8; 32]>::as_ref(who)[0]
}

/// The provider as the view function shows it.
fn view(who: &AccountId) -> ProviderView {
	Pallet::<Test>::provider(who.clone()).expect("a registered provider")
}

fn chunk(amount: Balance, unlocks_at: u32) -> UnbondingChunk {
	UnbondingChunk { amount, unlocks_at }
}

/// This pallet's events so far, oldest first.
fn events() -> Vec<Event<Test>> {
	let ours = |record: frame_system::EventRecord<RuntimeEvent, _>| match record.event {
		RuntimeEvent::Staking(event) => Some(event),
		_ => None,
	};
	System::events().into_iter().filter_map(ours).collect()
}
