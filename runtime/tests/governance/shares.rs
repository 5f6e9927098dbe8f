//! Places among the holders of a model, with the runtime's deposits and filters.

use super::*;
use codec::MaxEncodedLen;
use frame_support::{
	storage::StoragePrefixedMap,
	traits::{Get, StorageInfoTrait},
};
use neuroshard_runtime::{Balances, Ownership};
use neuroshard_types::{traits::FinalWork, RunId};
use pallet_assets::Call as Assets;
use pallet_utility::Call as Utility;

const MODEL: RunId = 7;
/// Two items: 68 bytes of a key and 66 of shares, 60 of a key and 80 of what they earn.
const DEPOSIT: u128 = 2 * NEURO / 10 + (68 + 66 + 60 + 80) * NEURO / 100;

fn reserved(key: Sr25519Keyring) -> u128 {
	Balances::reserved_balance(account(key))
}

/// Alice sends Eve some of her shares.
fn sends(amount: u128) -> RuntimeCall {
	Assets::transfer { id: MODEL.into(), target: account(Eve).into(), amount }.into()
}

/// Somebody pays for a place of Eve.
fn place_for_eve() -> RuntimeCall {
	Assets::touch_other { id: MODEL.into(), who: account(Eve).into() }.into()
}

/// A chain on which Alice has 10 free shares of a model and 90 that earn.
fn with_shares(test: impl FnOnce()) {
	execute(|| {
		Ownership::final_work(&account(Alice), MODEL, 100);
		assert_ok!(Ownership::release(signed(Alice), MODEL, 10));
		test();
	});
}

#[test]
fn deposits_for_shares_are_those_of_all_items_of_the_state() {
	let bytes = |info: Vec<frame_support::traits::StorageInfo>, prefix: [u8; 32]| {
		let info = info.into_iter().find(|info| info.prefix == prefix).expect("it is stored");
		// An item's key and value; the pallet and the name of the map, 32 bytes, are not counted.
		u128::from(info.max_size.expect("a bounded item"))
	};
	let shares = bytes(pallet_assets::Account::<Runtime>::storage_info(), pallet_assets::Account::<Runtime>::final_prefix());
	let earned =
		bytes(pallet_neuro_ownership::Holdings::<Runtime>::storage_info(), pallet_neuro_ownership::Holdings::<Runtime>::final_prefix());
	assert_eq!((shares, earned), (68 + 66, 60 + 80));
	assert_eq!(<<Runtime as pallet_assets::Config>::AssetAccountDeposit as Get<u128>>::get(), DEPOSIT);
	let approval = 20 + 2 * 48 + u128::try_from(pallet_assets::Approval::<u128, u128>::max_encoded_len()).expect("few");
	assert_eq!(<<Runtime as pallet_assets::Config>::ApprovalDeposit as Get<u128>>::get(), NEURO / 10 + approval * NEURO / 100);
}

#[test]
fn nobody_sends_shares_to_who_has_no_place_whatever_carries_the_call() {
	with_shares(|| {
		assert_eq!(dispatch(Alice, sends(1)), Err(FILTERED));
		assert_eq!(dispatch(Alice, Utility::batch_all { calls: vec![sends(1)] }), Err(FILTERED));
		assert_ok!(dispatch(Alice, Assets::approve_transfer { id: MODEL.into(), delegate: account(Bob).into(), amount: 10 }));
		let (owner, destination) = (account(Alice).into(), account(Eve).into());
		assert_eq!(dispatch(Bob, Assets::transfer_approved { id: MODEL.into(), owner, destination, amount: 1 }), Err(FILTERED));
		let earning = pallet_neuro_ownership::Call::transfer { model: MODEL, to: account(Eve), shares: 1 };
		assert_eq!(dispatch(Alice, earning), Err(pallet_neuro_ownership::Error::<Runtime>::NoPlace.into()));
		assert!(!Ownership::has_place(&account(Eve), MODEL));
	});
}

#[test]
fn a_wallet_makes_a_place_and_sends_shares_there_at_once_and_gets_the_deposit_back() {
	with_shares(|| {
		assert_ok!(dispatch(Alice, Utility::batch_all { calls: vec![place_for_eve(), sends(10)] }));
		assert_eq!((Ownership::shares(account(Eve), MODEL).free, reserved(Alice), reserved(Eve)), (10, DEPOSIT, 0));
		assert_ok!(dispatch(Eve, Assets::transfer_all { id: MODEL.into(), dest: account(Alice).into(), keep_alive: false }));
		assert_ok!(dispatch(Alice, Assets::refund_other { id: MODEL.into(), who: account(Eve).into() }));
		assert_eq!((Ownership::shares(account(Alice), MODEL).free, reserved(Alice)), (10, 0));
		assert_eq!(dispatch(Alice, sends(1)), Err(FILTERED));
	});
}

#[test]
fn deposits_for_places_that_nobody_has_reserved_are_noticed() {
	with_shares(|| {
		assert_ok!(dispatch(Alice, place_for_eve()));
		assert_eq!(invariants::broken(), None);
		let pays_less = |change: i128| {
			frame_system::Account::<Runtime>::mutate(account(Alice), |account| {
				account.data.reserved = account.data.reserved.checked_add_signed(-change).expect("it has that");
				account.data.free = account.data.free.checked_add_signed(change).expect("it has that");
			});
		};
		pays_less(1);
		assert_eq!(invariants::broken().as_deref(), Some("places: less is reserved than deposits for places add up to"));
		pays_less(-1);
	});
}
