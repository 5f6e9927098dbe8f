//! Tests of what users pay and deposit against tables that Python computed with integers and fractions alone.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::common::provider;
use codec::Decode;
use frame_support::{
	assert_ok,
	dispatch::{DispatchClass, DispatchInfo, GetDispatchInfo, Pays, PostDispatchInfo},
	traits::{Get, OnFinalize},
	weights::Weight,
};
use neuroshard_runtime::{
	configs::RuntimeBlockWeights, fees::deposit, Balance, BlockNumber, Dataset, Disputes, Runtime, RuntimeCall, RuntimeGenesisConfig,
	RuntimeOrigin, Staking, System, Training, TransactionPayment, TxExtension, NEURO,
};
use neuroshard_types::{
	dataset::{DatasetShape, Manifest, Tokenizer},
	dispute::{ClaimId, ClaimKind},
	provider::{Role, Roles},
	AccountId, H256,
};
use pallet_neuro_staking::{Provider, Providers};
use pallet_transaction_payment::{Multiplier, NextFeeMultiplier};
use sp_runtime::{traits::TransactionExtension, BuildStorage};

const SOMEBODY: AccountId = AccountId::new([7; 32]);

/// The first block of a chain whose spec says nothing.
fn execute(test: impl FnOnce()) {
	let storage = RuntimeGenesisConfig::default().build_storage().expect("a genesis");
	sp_io::TestExternalities::new(storage).execute_with(|| {
		System::set_block_number(1);
		test();
	});
}

/// Has [`SOMEBODY`] be a provider with so much at stake.
fn provide(stake: Balance) {
	Providers::<Runtime>::insert(SOMEBODY, Provider::new(provider::info(Roles::only(Role::Worker), 1), stake, H256::zero()));
}

fn weighs(picoseconds: u64) -> DispatchInfo {
	DispatchInfo { call_weight: Weight::from_parts(picoseconds, 7), ..Default::default() }
}

/// Returns the base fee of every extrinsic: 10 planck for each picosecond that one takes which does nothing, as it was measured.
fn base() -> Balance {
	10 * Balance::from(RuntimeBlockWeights::get().get(DispatchClass::Normal).base_extrinsic.ref_time())
}

#[test]
fn fees_equal_an_independent_table() {
	// Picoseconds beyond those of an extrinsic that does nothing, bytes, tip: 10 * picoseconds + 10^6 * bytes + tip.
	let table = [
		(0, 0, 0, 0),
		(1, 0, 0, 10),
		(0, 1, 0, 1_000_000),
		(0, 0, 1, 1),
		// A millisecond and a kilobyte, somewhat more than a transfer with half a NEURO of tip, and all that ordinary extrinsics may take of a block.
		(1_000_000_000, 1_000, 0, 11_000_000_000),
		(530_123_457, 143, 500_000_000_000, 505_444_234_570),
		(1_499_999_999_999, 5_242_880, 0, 20_242_879_999_990),
		// A whole block's 2 seconds, which no weight exceeds, with the longest length.
		(2_000_000_000_000, u32::MAX, 100_000_000_000_000_000_000, 100_004_314_967_295_000_000),
		(u64::MAX, u32::MAX, 100_000_000_000_000_000_000, 100_004_314_967_295_000_000),
		(u64::MAX, u32::MAX, u128::MAX, u128::MAX),
	];
	execute(|| {
		for (picoseconds, bytes, tip, beside) in table {
			let (info, expected) = (weighs(picoseconds), base().saturating_add(beside));
			let what = format!("{picoseconds} ps, {bytes} bytes, {tip}");
			assert_eq!(TransactionPayment::compute_fee(bytes, &info, tip), expected, "{what}");
			// What took less than was said is paid for as what it took, and what needs no payment pays its tip.
			let more = weighs(picoseconds.saturating_add(1_000));
			let took = PostDispatchInfo { actual_weight: Some(info.call_weight), pays_fee: Pays::Yes };
			assert_eq!(TransactionPayment::compute_actual_fee(bytes, &more, &took, tip), expected, "{what}");
			let free = DispatchInfo { pays_fee: Pays::No, ..info };
			assert_eq!(TransactionPayment::compute_fee(bytes, &free, tip), tip, "{what}");
		}
	});
}

#[test]
fn a_transfer_costs_what_the_documents_say() {
	execute(|| {
		let call = RuntimeCall::from(pallet_balances::Call::transfer_keep_alive { dest: SOMEBODY.into(), value: NEURO });
		// Immortal, without a tip.
		let extension = TxExtension::decode(&mut [0; 16].as_slice()).expect("an extension");
		let info = DispatchInfo { extension_weight: extension.weight(&call), ..call.get_dispatch_info() };
		let fee = TransactionPayment::compute_fee(143, &info, 0);
		// docs/spec/economics.md: about 0.0036 NEURO.
		assert!((35 * NEURO / 10_000..37 * NEURO / 10_000).contains(&fee), "{fee}");
	});
}

#[test]
fn no_multiplier_outlives_its_block_and_none_changes_base_and_length() {
	// Multiplier in units of 10^-18: floor(multiplier * 10 * 530,123,457 / 10^18) + 10^6 * 143 + 5.
	let table = [
		(0, 143_000_005),
		(1, 143_000_005),
		(100_000_000, 143_000_005),
		(1_000_000_000, 143_000_010),
		(999_999_999_999_999_999, 5_444_234_574),
		(1_000_000_000_000_000_000, 5_444_234_575),
		(1_000_000_000_000_000_001, 5_444_234_575),
		(1_500_000_000_000_000_000, 8_094_851_860),
		(1_000_000_000_000_000_000_000_000_000, 5_301_234_570_143_000_005),
		(u128::MAX, 1_803_916_647_082_703_439_354_866_397_782),
	];
	for (multiplier, beside) in table {
		execute(|| {
			let fee = || TransactionPayment::compute_fee(143, &weighs(530_123_457), 5);
			assert_eq!(fee(), base() + 5_444_234_575);
			NextFeeMultiplier::<Runtime>::put(Multiplier::from_inner(multiplier));
			assert_eq!(fee(), base() + beside, "{multiplier}");
			// A full block ends, as an empty one would.
			System::register_extra_weight_unchecked(RuntimeBlockWeights::get().max_block, DispatchClass::Normal);
			TransactionPayment::on_finalize(1);
			assert_eq!(fee(), base() + 5_444_234_575, "after {multiplier}");
		});
	}
}

#[test]
fn deposits_for_state_equal_an_independent_table() {
	// Items, bytes: 10^11 * items + 10^10 * bytes, at most all planck.
	let table = [
		(0, 0, 0),
		(1, 0, 100_000_000_000),
		(0, 1, 10_000_000_000),
		(1, 1, 110_000_000_000),
		(1_000_000, 1_000_000_000, 10_100_000_000_000_000_000),
		(3_402_823_669_209_384_634_633_746_074, 0, 340_282_366_920_938_463_463_374_607_400_000_000_000),
		(3_402_823_669_209_384_634_633_746_075, 0, u128::MAX),
		(0, 34_028_236_692_093_846_346_337_460_743, 340_282_366_920_938_463_463_374_607_430_000_000_000),
		(0, 34_028_236_692_093_846_346_337_460_744, u128::MAX),
		(3_402_823_669_209_384_634_633_746_074, 10, u128::MAX),
		(u128::MAX, u128::MAX, u128::MAX),
	];
	for (items, bytes, expected) in table {
		assert_eq!(deposit(items, bytes), expected, "{items} items, {bytes} bytes");
	}
	// What is held: 2 items and 145 bytes, 3 and 415, 2 and 274, 1 and 148; for offers 1 and 101, and for each byte more.
	type Attestation = <Runtime as pallet_neuro_dataset::Config>::AttestationDeposit;
	type Model = <Runtime as pallet_neuro_training::Config>::ModelDeposit;
	type Place = <Runtime as pallet_assets::Config>::AssetAccountDeposit;
	type Approval = <Runtime as pallet_assets::Config>::ApprovalDeposit;
	assert_eq!((Attestation::get(), Model::get()), (1_650_000_000_000, 4_450_000_000_000));
	assert_eq!((Place::get(), Approval::get()), (2_940_000_000_000, 1_580_000_000_000));
	type Offer = <Runtime as pallet_neuro_inference::Config>::DepositBase;
	type OfferByte = <Runtime as pallet_neuro_inference::Config>::DepositPerByte;
	assert_eq!((Offer::get(), OfferByte::get()), (1_110_000_000_000, 10_000_000_000));
}

#[test]
fn deposits_of_runs_and_datasets_equal_independent_tables() {
	// Rounds: 50 * 10^12 + 10^10 * min(rounds, 4,096).
	let runs = [
		(Some(0), 50_000_000_000_000),
		(Some(1), 50_010_000_000_000),
		(Some(30), 50_300_000_000_000),
		(Some(4_095), 90_950_000_000_000),
		(Some(4_096), 90_960_000_000_000),
		(Some(4_097), 90_960_000_000_000),
		(Some(u32::MAX), 90_960_000_000_000),
		(None, 90_960_000_000_000),
	];
	for (rounds, expected) in runs {
		assert_eq!(Training::deposit(rounds), expected, "{rounds:?}");
	}
	// Bytes of name, licence and source: 10 * 10^12 + 10^10 * (101 + those + 1 or, from 64 on, 2 for each length).
	let datasets = [
		(0, 0, 0, 11_040_000_000_000),
		(4, 10, 4, 11_220_000_000_000),
		(63, 63, 63, 12_930_000_000_000),
		(64, 64, 256, 14_910_000_000_000),
	];
	for (name, licence, source, expected) in datasets {
		let text = |bytes| vec![b'a'; bytes];
		let manifest = Manifest {
			name: text(name).try_into().expect("64 bytes at most"),
			licence: text(licence).try_into().expect("64 bytes at most"),
			source: text(source).try_into().expect("256 bytes at most"),
			tokenizer: Tokenizer::BYTES,
			vocab: 288,
			masked: false,
			shape: DatasetShape { tokens_per_shard: 4_096, shard_count: 4, held_out: 1 },
			root: H256::zero(),
			bytes: 16_384,
		};
		assert_eq!(Dataset::deposit_for(manifest), expected, "{name}, {licence}, {source}");
	}
}

#[test]
fn bonds_of_challenges_equal_an_independent_table() {
	// The claimant's stake: max(ceil(stake / 16), 100 * 10^12).
	let table = [
		(0, 100_000_000_000_000),
		(1, 100_000_000_000_000),
		(1_599_999_999_999_999, 100_000_000_000_000),
		(1_600 * NEURO, 100_000_000_000_000),
		(1_600_000_000_000_001, 100_000_000_000_001),
		(1_600_000_000_000_016, 100_000_000_000_001),
		(1_600_000_000_000_017, 100_000_000_000_002),
		(2_500 * NEURO, 156_250_000_000_000),
		(10_000_000_000_000_001, 625_000_000_000_001),
		(123_456_789_012_345_678, 7_716_049_313_271_605),
		// All that is ever issued, and all planck.
		(100_000_000 * NEURO, 6_250_000_000_000_000_000),
		(u128::MAX - 15, 21_267_647_932_558_653_966_460_912_964_485_513_215),
		(u128::MAX - 14, 21_267_647_932_558_653_966_460_912_964_485_513_216),
		(u128::MAX, 21_267_647_932_558_653_966_460_912_964_485_513_216),
	];
	execute(|| {
		let claim = ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: SOMEBODY };
		for (stake, expected) in table {
			provide(stake);
			assert_eq!(Disputes::bond_against(claim.clone(), AccountId::new([8; 32])), Some(expected), "{stake}");
		}
	});
}

#[test]
fn ends_of_locks_equal_an_independent_table() {
	// Block, days: block + 28,800 * days, at most the last block there can be.
	let table: [(BlockNumber, u16, BlockNumber); 7] = [
		(1, 1, 28_801),
		(1, 7, 201_601),
		(28_799, 30, 892_799),
		(1_000_000, 365, 11_512_000),
		(4_284_455_295, 365, u32::MAX),
		(4_284_455_296, 365, u32::MAX),
		(u32::MAX, 1, u32::MAX),
	];
	for (block, days, expected) in table {
		execute(|| {
			provide(100 * NEURO);
			System::set_block_number(block);
			assert_ok!(Staking::lock(RuntimeOrigin::signed(SOMEBODY), days));
			let until = Staking::provider(SOMEBODY).map(|provider| provider.locked_until);
			assert_eq!(until, Some(expected), "{days} days from block {block} on");
		});
	}
}
