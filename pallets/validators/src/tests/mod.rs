//! Behaviour of calls, elections, rewards, offences, view functions and genesis.

mod bonding;
mod election;
mod genesis;
mod nominating;
mod offences;
mod properties;
mod rewards;
mod sets;
mod tables;
mod views;
mod weights;

use crate::{
	mock::{account, keys, Balances, BlockReward, RuntimeEvent, RuntimeOrigin, Session, System, Test, Validators},
	Candidate, Candidates, Event, Exposure, Nominations, Position,
};
use codec::Encode;
use frame_support::{assert_ok, traits::fungible::InspectHold};
use neuroshard_types::{provider::UnbondingChunk, AccountId, Balance, BlockNumber};
use pallet_authorship::EventHandler;
use sp_runtime::{Perbill, RuntimeAppPublic};
use sp_staking::{
	offence::{OffenceDetails, OnOffenceHandler},
	SessionIndex,
};

/// A signed origin of the account number `tag`.
fn signed(tag: u8) -> RuntimeOrigin {
	RuntimeOrigin::signed(account(tag))
}

/// Registers session keys of an account.
fn register(tag: u8) {
	let mut keys = keys(tag);
	let proof = keys.dummy.generate_proof_of_possession(&account(tag).encode()).expect("the mock's keys prove their possession");
	assert_ok!(Session::set_keys(signed(tag), keys, proof.encode()));
}

/// Makes an account a candidate.
fn bond(tag: u8, amount: Balance, commission: u32) {
	register(tag);
	assert_ok!(Validators::bond(signed(tag), amount, Perbill::from_percent(commission)));
}

fn nominate(tag: u8, candidate: u8, amount: Balance) {
	assert_ok!(Validators::nominate(signed(tag), account(candidate), amount));
}

/// The candidate number `tag`.
fn candidate(tag: u8) -> Candidate {
	Candidates::<Test>::get(account(tag)).expect("a candidate")
}

/// The nomination of a candidate by the account number `tag`.
fn nomination(tag: u8, candidate: u8) -> Position {
	Nominations::<Test>::get(account(candidate), account(tag)).expect("a nomination")
}

fn chunk(amount: Balance, unlocks_at: BlockNumber) -> UnbondingChunk {
	UnbondingChunk { amount, unlocks_at }
}

/// Returns the amount on hold of an account, for whatever reason.
fn held(tag: u8) -> Balance {
	Balances::total_balance_on_hold(&account(tag))
}

/// A block of this author with this reward.
fn authored(tag: u8, reward: Balance) {
	BlockReward::set(reward);
	Validators::note_author(account(tag));
}

/// Begins the next session.
fn next_session() {
	Session::rotate_session();
}

/// Goes on for some blocks.
fn wait(blocks: BlockNumber) {
	System::set_block_number(System::block_number() + blocks);
}

/// An offence of some parts per thousand, in a session.
fn offence(tag: u8, parts: u32, session: SessionIndex) {
	let offender = OffenceDetails { offender: (account(tag), Exposure::default()), reporters: vec![] };
	<Validators as OnOffenceHandler<AccountId, _, _>>::on_offence(&[offender], &[Perbill::from_parts(parts * 1_000_000)], session);
}

/// This pallet's events so far, oldest first.
fn events() -> Vec<Event<Test>> {
	let ours = |record: frame_system::EventRecord<RuntimeEvent, _>| match record.event {
		RuntimeEvent::Validators(event) => Some(event),
		_ => None,
	};
	System::events().into_iter().filter_map(ours).collect()
}
