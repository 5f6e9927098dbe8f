//! A chain whose budgets had parts that nobody could earn.

use crate::{migrations::MigrateV2ToV3, mock::*, Current, EndedEra, Eras, Shares, TotalBudget, Unminted};
use codec::{Decode, Encode};
use frame_support::{
	storage::unhashed,
	traits::{GetStorageVersion, OnRuntimeUpgrade, StorageVersion},
};
use neuroshard_types::reward::{BudgetParts, BudgetShares};

/// Puts a value as version 2 had it: of its part for training, a number of `size` bytes, 15% and 5% of `whole` were parts of their own behind it.
fn put_old(key: &[u8], at: usize, size: usize, whole: u128) {
	let new = unhashed::get_raw(key).expect("a value");
	let mut training = [0; 16];
	training[..size].copy_from_slice(&new[at..at + size]);
	let parts = [u128::from_le_bytes(training) - whole / 5, whole * 3 / 20, whole / 20];
	let parts: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()[..size].to_vec()).collect();
	unhashed::put_raw(key, &[&new[..at], &parts, &new[at + size..]].concat());
}

#[test]
fn what_nobody_could_earn_is_for_training_from_the_era_under_way_on() {
	execute_with(with_shares(), || {
		work(&ALICE, 3);
		run_to_era(1);
		work(&BOB, 1);
		let (shares, current, era) = (Shares::<Test>::get(), Current::<Test>::get(), Eras::<Test>::get(0).expect("an era"));
		assert_eq!(current.encode().len(), 8 + 4 * 16);
		put_old(&Shares::<Test>::hashed_key(), 0, 4, 1_000_000);
		// Behind its number and its first block.
		put_old(&Current::<Test>::hashed_key(), 8, 16, 900_000);
		put_old(&Eras::<Test>::hashed_key_for(0), 0, 16, 1_000_000);
		// What of the first era nobody could earn was noted when it ended.
		Unminted::<Test>::mutate(|unminted| *unminted += 200_000);
		let old = <[u32; 5]>::decode(&mut &unhashed::get_raw(&Shares::<Test>::hashed_key()).expect("shares")[..]);
		assert_eq!(old, Ok([600_000, 150_000, 50_000, 150_000, 50_000]));
		StorageVersion::new(2).put::<Rewards>();
		MigrateV2ToV3::<Test>::on_runtime_upgrade();
		assert_eq!(Rewards::on_chain_storage_version(), Rewards::in_code_storage_version());
		assert_eq!((Shares::<Test>::get(), Current::<Test>::get()), (shares, current));
		assert_eq!(shares, BudgetShares { training: 800_000, validation: 150_000, treasury: 50_000 });
		let parts = BudgetParts { training: 600_000, ..era.parts };
		assert_eq!(Eras::<Test>::get(0), Some(EndedEra { parts, ..era }));
		assert_eq!((Rewards::do_try_state(), TotalBudget::<Test>::get()), (Ok(()), INITIAL));
		// What was to be claimed is claimed, and the era under way pays all of its part.
		assert_eq!(Rewards::claimable_eras(ALICE), [(0, 600_000)]);
		run_to_era(2);
		assert_eq!(Rewards::claimable_eras(BOB), [(1, 720_000)]);
	});
}
