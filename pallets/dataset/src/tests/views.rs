//! View functions, except `verify_chunk`.

use super::*;
use crate::mock::{build_and_execute, ALICE, BOB};

type View = Pallet<Test>;

#[test]
fn an_unknown_dataset_is_none() {
	build_and_execute(|| {
		assert_eq!(View::dataset(0), None);
		assert_eq!(View::windows(0, 100), None);
		assert!(View::datasets().is_empty());
	});
}

#[test]
fn datasets_are_listed_in_ascending_order() {
	build_and_execute(|| {
		(0..40).for_each(|_| propose(ALICE));
		propose(BOB);
		assert_eq!(View::datasets(), (0..41).collect::<Vec<_>>());
	});
}

#[test]
fn windows_leave_held_out_shards_alone() {
	build_and_execute(|| {
		propose(ALICE);
		// (5,000 - 1) / 128 = 39 windows in each of 3 training shards.
		assert_eq!(View::windows(0, 128), Some(117));
		assert_eq!(View::windows(0, 4_999), Some(3));
		assert_eq!(View::windows(0, 5_000), Some(0));
		assert_eq!(View::windows(0, 0), Some(0));
	});
}

#[test]
fn a_longer_manifest_costs_a_larger_deposit() {
	build_and_execute(|| {
		let mut longer = manifest();
		longer.name = b"tiny-and-three".to_vec().try_into().expect("14 bytes fit");
		// 142 bytes, and 10 more, at 7 each, on top of 1,000.
		assert_eq!(View::deposit_for(manifest()), 1_994);
		assert_eq!(View::deposit_for(longer), 2_064);
	});
}
