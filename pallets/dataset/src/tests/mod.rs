//! Behaviour of calls, trait and view functions.

mod chunks;
mod falsity;
mod holding;
mod invariants;
mod lifecycle;
mod manifests;
mod migration;
mod views;
mod weights;

use crate::{
	mock::{manifest, Dataset, RuntimeEvent, RuntimeOrigin, System, Test, ANSWER_TIME},
	Event, Pallet,
};
use frame_support::assert_ok;
use neuroshard_types::{
	dataset::{DatasetView, TextTokens},
	AccountId, BlockNumber, DatasetId,
};

/// A signed origin.
fn signed(who: AccountId) -> RuntimeOrigin {
	RuntimeOrigin::signed(who)
}

/// Proposes the mock's manifest.
fn propose(who: AccountId) {
	assert_ok!(Dataset::propose(signed(who), manifest()));
}

/// Lets so many blocks pass.
fn pass(blocks: BlockNumber) {
	System::set_block_number(System::block_number() + blocks);
}

/// Lets the time pass for which an unused dataset stays, and has it removed by somebody.
fn remove(id: DatasetId) {
	pass(2 * ANSWER_TIME);
	assert_ok!(Dataset::remove(signed(crate::mock::NOBODY), id));
}

/// The dataset as the view function shows it.
fn view(id: DatasetId) -> DatasetView {
	Pallet::<Test>::dataset(id).expect("a stored dataset")
}

/// This pallet's events so far, oldest first.
fn events() -> Vec<Event<Test>> {
	let ours = |record: frame_system::EventRecord<RuntimeEvent, _>| match record.event {
		RuntimeEvent::Dataset(event) => Some(event),
		_ => None,
	};
	System::events().into_iter().filter_map(ours).collect()
}
