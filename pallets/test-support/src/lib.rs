//! What the mocks of all pallets begin with.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use codec::Encode;
use neuroshard_types::{
	run::{RunConfig, RunStart},
	Balance,
};
use sp_io::TestExternalities;
use sp_runtime::{traits::One, BuildStorage};

/// A run's configuration as chains of before have stored it: without its tokenizer, the model's family, mask, adapter, products and optimizer, where the run starts, and epochs.
///
/// # Panics
/// For a run that there was not before: of another family, masked, of an adapter, in int8, with Muon, or with a start that is given.
pub fn config_of_before(config: &RunConfig) -> Vec<u8> {
	let RunConfig {
		name, dataset, model, train, genesis_root, start, min_participants, max_participants, min_bond, rounds, durations, ..
	} = config;
	// What says so stands at the end.
	let without = |count: usize, mut bytes: Vec<u8>| {
		let end = bytes.split_off(bytes.len() - count);
		assert!(end.iter().all(|byte| *byte == 0), "{end:?}");
		bytes
	};
	assert_eq!(*start, RunStart::Seed);
	let rest = (genesis_root, min_participants, max_participants, min_bond, rounds, durations, config.overlaps);
	[(name, dataset).encode(), without(3, model.encode()), without(4, train.encode()), rest.encode()].concat()
}

/// Existential deposit of the mocks.
pub const ED: Balance = 10;

/// Makes the runtime `Test`: the system, balances, and these pallets with their indices, from 2 on. Further items are those of the system's `Config`.
///
/// The crate that uses it has `frame-support`, of which `derive_impl` is imported here, `frame-system`, `neuroshard-types`, `pallet-balances` and
/// `sp-runtime`.
#[macro_export]
macro_rules! runtime {
	($($index:tt: $name:ident = $pallet:ident),+; $($of_system:tt)*) => {
		#[frame_support::runtime]
		mod runtime {
			#[runtime::runtime]
			#[runtime::derive(
				RuntimeCall,
				RuntimeEvent,
				RuntimeError,
				RuntimeOrigin,
				RuntimeFreezeReason,
				RuntimeHoldReason,
				RuntimeSlashReason,
				RuntimeLockId,
				RuntimeTask,
				RuntimeViewFunction
			)]
			pub struct Test;

			#[runtime::pallet_index(0)]
			pub type System = frame_system;

			#[runtime::pallet_index(1)]
			pub type Balances = pallet_balances;

			$(
				#[runtime::pallet_index($index)]
				pub type $name = $pallet;
			)+
		}

		use frame_support::derive_impl;

		#[derive_impl(frame_system::config_preludes::TestDefaultConfig)]
		impl frame_system::Config for Test {
			type Block = frame_system::mocking::MockBlockU32<Test>;
			type AccountId = neuroshard_types::AccountId;
			type Lookup = sp_runtime::traits::IdentityLookup<neuroshard_types::AccountId>;
			type AccountData = pallet_balances::AccountData<neuroshard_types::Balance>;
			type DbWeight = frame_support::weights::constants::RocksDbWeight;
			$($of_system)*
		}

		#[derive_impl(pallet_balances::config_preludes::TestDefaultConfig)]
		impl pallet_balances::Config for Test {
			type Balance = neuroshard_types::Balance;
			type ExistentialDeposit = frame_support::traits::ConstU128<{ $crate::ED }>;
			type AccountStore = System;
		}
	};
}

/// A mock with this genesis, at block 1, in which `set_up` was called.
pub fn ext<T: frame_system::Config>(genesis: impl BuildStorage, set_up: impl FnOnce()) -> TestExternalities {
	let mut ext = TestExternalities::new(genesis.build_storage().expect("genesis of the mock builds"));
	ext.execute_with(|| {
		frame_system::Pallet::<T>::set_block_number(One::one());
		set_up();
	});
	ext
}
