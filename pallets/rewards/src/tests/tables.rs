//! The curve, the points, claims and rewards of blocks with the presets' own values against tables that Python computed with integers and fractions alone.

use crate::{
	curve::{Curve, WHOLE},
	mock::*,
	multiplier::stake_multiplier,
	AccountPoints, Current, CurrentEra, CurrentTotal, EndedEra, EraLength, GenesisConfig, Rates, Standing,
};
use neuroshard_types::{
	proof::ProofKind,
	provider::Role,
	reward::{BudgetParts, EraIndex},
	traits::{BlockRewards, WorkCredits, WorkUnits},
	Balance, ModelConfig, TrainConfig, NEURO,
};

/// All that the presets and the default ever issue.
const CAP: Balance = 100_000_000 * NEURO;
/// The presets' curve: a half of it every 5,844 eras, four years of six hours each.
const PRESETS: Curve = Curve { initial: 7_000 * NEURO, floor: 10 * NEURO, ratio: 999_881_398_686_573_512, eras_per_step: 1, cap: CAP };

/// The curve where a chain spec says nothing: a half of it every 365 eras of a day each.
fn default() -> Curve {
	let genesis = GenesisConfig::<Test>::default();
	let cap = Balance::from(genesis.issuance_cap) * NEURO;
	let GenesisConfig { initial_budget: initial, budget_floor: floor, decay_ratio: ratio, eras_per_step, .. } = genesis;
	Curve { initial, floor, ratio, eras_per_step, cap }
}

/// Checks the eras of a table: number, budget, and all budgets before it.
fn check(curve: Curve, table: &[(EraIndex, Balance, Balance)]) {
	let (mut budget, mut spent) = (curve.initial, 0);
	let mut rows = table.iter();
	let mut row = rows.next();
	for era in 0.. {
		let Some(&(at, expected, before)) = row else { break };
		if era == at {
			assert_eq!((budget, spent), (expected, before), "era {era}");
			row = rows.next();
		}
		spent += budget;
		budget = curve.next(era + 1, budget, spent);
	}
}

#[test]
fn the_presets_curve_equals_an_independent_table_down_to_its_floor() {
	let table = [
		(0, 7_000_000_000_000_000, 0),
		(1, 6_999_169_790_806_014, 7_000_000_000_000_000),
		(2, 6_998_339_680_075_929, 13_999_169_790_806_014),
		// After a year.
		(1_460, 5_886_973_109_518_214, 9_384_608_469_542_209_346),
		// The first halving, and its neighbours.
		(5_843, 3_500_415_153_832_667, 29_507_133_985_776_180_797),
		(5_844, 3_499_999_999_997_884, 29_510_634_400_930_013_464),
		(5_845, 3_499_584_895_400_891, 29_514_134_400_930_011_348),
		// The second and the third.
		(11_688, 1_749_999_999_996_829, 44_265_951_601_382_663_529),
		(17_532, 874_999_999_996_299, 51_643_610_201_596_668_937),
		// The floor.
		(55_232, 10_001_041_119_958, 58_936_943_925_034_859_013),
		(55_233, 10_000_000_000_000, 58_936_953_926_075_978_971),
		(55_234, 10_000_000_000_000, 58_936_963_926_075_978_971),
	];
	check(PRESETS, &table);
}

#[test]
fn the_default_curve_equals_an_independent_table_down_to_its_floor() {
	let table = [
		(0, 10_000_000_000_000_000, 0),
		(1, 9_981_027_686_515_946, 10_000_000_000_000_000),
		(2, 9_962_091_367_899_786, 19_981_027_686_515_946),
		(364, 5_009_504_188_386_044, 2_630_409_736_697_803_875),
		(365, 4_999_999_999_999_870, 2_635_419_240_886_189_919),
		(366, 4_990_513_843_257_843, 2_640_419_240_886_189_789),
		(730, 2_499_999_999_999_805, 3_953_128_861_329_236_365),
		(1_095, 1_249_999_999_999_764, 4_611_983_671_550_711_652),
		(2_425, 100_001_426_044_912, 5_218_129_345_308_826_112),
		(2_426, 100_000_000_000_000, 5_218_229_346_734_871_024),
		(2_427, 100_000_000_000_000, 5_218_329_346_734_871_024),
	];
	check(default(), &table);
}

#[test]
fn curves_end_with_what_the_cap_leaves_and_then_nothing() {
	// Last whole budget with all before it, and the one after it.
	let presets = (4_161_536, 99_999_983_926_075_978_971, 6_073_924_021_029);
	let default_ends = (950_242, 99_999_829_346_734_871_024, 70_653_265_128_976);
	for (curve, (era, before, last)) in [(PRESETS, presets), (default(), default_ends)] {
		let floor = curve.floor;
		assert_eq!(curve.next(era, floor, before), floor);
		assert_eq!(curve.next(era + 1, floor, before + floor), last);
		assert_eq!(before + floor + last, CAP);
		assert_eq!(curve.next(era + 2, last, CAP), 0);
		assert_eq!(curve.next(EraIndex::MAX, 0, CAP), 0);
	}
}

#[test]
fn curves_of_all_planck_neither_overflow_nor_rise() {
	let most = Curve { initial: Balance::MAX, floor: 0, ratio: WHOLE - 1, eras_per_step: 1, cap: Balance::MAX };
	assert_eq!(most.next(1, Balance::MAX, 0), 340_282_366_920_938_463_123_092_240_510_829_747_991);
	let third = Curve { ratio: 333_333_333_333_333_333, ..most };
	assert_eq!(third.next(1, Balance::MAX, 0), 113_427_455_640_312_821_041_030_746_836_943_249_330);
	assert_eq!(third.next(1, Balance::MAX, Balance::MAX), 0);
	assert_eq!(Curve { ratio: WHOLE, ..most }.next(1, Balance::MAX, 0), Balance::MAX);
	assert_eq!(Curve { ratio: 0, ..most }.next(1, Balance::MAX, 0), 0);
	assert_eq!(Curve { ratio: 0, floor: 5, ..most }.next(EraIndex::MAX, Balance::MAX, Balance::MAX - 3), 3);
}

/// Rates of the presets.
const RATES: Rates =
	Rates { training: 1_000, roles: [1_200, 1_000, 1_100, 1_100], targets: [10, 50, 10, 10], scarcity: 500, cap: 1_000_000_000_000 };
/// The most that one proof brings.
const MOST: u128 = 4_294_967_296_000_000_000_000;

#[test]
fn points_equal_an_independent_table() {
	// Role, units, active providers of the role, reputation, stake: points in units of 2^-32, before the cap of a proof.
	let table = [
		(Role::Worker, 0, 50, 100, 0, 0),
		(Role::Worker, 1, 50, 100, 0, 4_294_967_296),
		(Role::Worker, 1, 0, 0, 0, 3_221_225_472),
		(Role::Worker, 947, 4, 100, 1_000 * NEURO, 6_532_138_450_245),
		(Role::Worker, 326_860, 3, 101, 1_000 * NEURO, 2_270_030_317_480_905),
		(Role::Verifier, 326_860, 2, 550, 2_500 * NEURO, 3_190_839_719_572_582),
		(Role::Driver, 1, 9, 1_000, 7_000 * NEURO, 10_552_734_644),
		(Role::Predictor, 247_490_150, 10, 99, 100 * NEURO, 1_179_409_343_823_893_427),
		(Role::Worker, 247_490_150, 49, 999, 15_000 * NEURO, 2_253_039_586_244_708_379),
		// A point below the cap, the cap, and above it.
		(Role::Worker, 999_999_999_999, 50, 100, 0, 4_294_967_295_995_705_032_704),
		(Role::Worker, 1_000_000_000_000, 50, 100, 0, MOST),
		(Role::Worker, 1_000_000_000_001, 50, 100, 0, 4_294_967_296_004_294_967_296),
		(Role::Verifier, 1_000_000_000_000, 50, 100, 0, 4_724_464_025_600_000_000_000),
		(Role::Verifier, 1, u32::MAX, 1_000, u64::MAX.into(), 17_129_364_101),
		(Role::Verifier, 1, 0, 1_000, u128::MAX, 93_726_244_985),
		(Role::Worker, u64::MAX.into(), 50, 100, 0, 79_228_162_514_264_337_589_248_983_040),
		(Role::Worker, u64::MAX.into(), 0, 1_000, 1_000_000 * NEURO, 355_942_495_559_018_618_285_426_164_923),
		// 2^96 units of one point each are one unit of 2^-32 too many for 128 bits.
		(Role::Worker, (1 << 96) - 1, 50, 100, 0, 340_282_366_920_938_463_463_374_607_427_473_244_160),
		(Role::Worker, 1 << 96, 50, 100, 0, u128::MAX),
		(Role::Worker, u128::MAX, 50, 0, 0, u128::MAX),
		(Role::Verifier, u128::MAX, 0, 1_000, u128::MAX, u128::MAX),
	];
	for (role, units, active, reputation, stake, points) in table {
		let standing = Standing { stake, reputation, active };
		let what = format!("{units} units as {role:?} among {active}, reputation {reputation}, stake {stake}");
		assert_eq!(RATES.points(ProofKind::Training, role, units, standing), points, "{what}");
		assert_eq!(RATES.points(ProofKind::Uptime, role, units, standing), 0, "{what}");
		// What an account is credited is capped.
		let presets = GenesisConfig {
			training_rate: RATES.training,
			role_rates: RATES.roles,
			role_targets: RATES.targets,
			scarcity_bonus: RATES.scarcity,
			max_points_per_proof: RATES.cap,
			..genesis()
		};
		execute_with(presets, || {
			bond(&ALICE, stake, 0);
			Offered::set([(role, active)].into());
			Reputations::set([(ALICE, reputation)].into());
			Rewards::credit(&ALICE, ProofKind::Training, role, units);
			assert_eq!(CurrentTotal::<Test>::get(), points.min(MOST), "{what}");
		});
	}
	assert_eq!(RATES.most(), MOST);
}

#[test]
fn a_rounds_units_become_the_tables_points() {
	// 4 layers of 8 x 128 tokens, 30 steps, 16 held-out sequences, by 3 workers of 1,000 NEURO: as in the table above.
	let model = ModelConfig { layers: 4, ..ModelConfig::tiny() };
	let train = TrainConfig { batch: 8, seq_len: 128, inner_steps: 30, validation_sequences: 16, ..TrainConfig::tiny() };
	build_and_execute(|| {
		let units = Rewards::of_round(&model, &train, train.inner_steps);
		let standing = Standing { stake: 1_000 * NEURO, reputation: 101, active: 3 };
		assert_eq!(RATES.points(ProofKind::Training, Role::Worker, units, standing), 2_270_030_317_480_905);
	});
}

#[test]
fn no_factor_is_more_than_its_most() {
	// 1.2 x 1.5 x 1.5 x 8.817...: what a unit of a preset is worth at most, by Python's fractions.
	let standing = Standing { stake: Balance::MAX, reputation: 1_000, active: 0 };
	assert_eq!(stake_multiplier(Balance::MAX), 37_869_189_893);
	assert_eq!(RATES.points(ProofKind::Training, Role::Driver, 1, standing), 102_246_812_711);
}

#[test]
fn claims_equal_an_independent_table() {
	// Part for training, points of the account and of all, its cap, what others have claimed: min(floor(part * points / all), cap, what is left).
	let table = [
		// The part for training of a presets' first era, by points and by what was at stake.
		(4_200_000_000_000_000, 0, 1, u128::MAX, 0, 0),
		(4_200_000_000_000_000, 1, 1, u128::MAX, 0, 4_200_000_000_000_000),
		(4_200_000_000_000_000, 1, 3, u128::MAX, 0, 1_400_000_000_000_000),
		(4_200_000_000_000_000, 2, 3, u128::MAX, 0, 2_800_000_000_000_000),
		(4_200_000_000_000_000, 1, 1, 1_000_000_000_000_000, 0, 1_000_000_000_000_000),
		(4_200_000_000_000_000, 1, 4, 1_000_000_000_000_000, 0, 1_000_000_000_000_000),
		(4_200_000_000_000_000, 5, 21, 1_000_000_000_000_000, 0, 1_000_000_000_000_000),
		(4_200_000_000_000_000, 5, 21, 1_000_000_000_000_001, 0, 1_000_000_000_000_000),
		// Points of the table above: three workers and a verifier.
		(4_200_000_000_000_000, 2_270_030_317_480_905, 10_000_930_672_015_297, 1_000_000_000_000_000, 0, 953_324_010_144_204),
		(4_200_000_000_000_000, 3_190_839_719_572_582, 10_000_930_672_015_297, 2_500_000_000_000_000, 0, 1_340_027_969_567_385),
		// What others have left.
		(4_200_000_000_000_000, 1, 3, u128::MAX, 4_199_999_999_999_999, 1),
		(4_200_000_000_000_000, 1, 3, u128::MAX, 4_200_000_000_000_000, 0),
		// One planck.
		(1, 1, 2, u128::MAX, 0, 0),
		(1, 18_446_744_073_709_551_615, 1 << 64, u128::MAX, 0, 0),
		(1, 1 << 64, 1 << 64, u128::MAX, 0, 1),
		// All that is ever issued, and all planck.
		(60_000_000_000_000_000_000, u128::MAX - 1, u128::MAX, u128::MAX, 0, 59_999_999_999_999_999_999),
		(60_000_000_000_000_000_000, 1, u128::MAX, u128::MAX, 0, 0),
		(u128::MAX, 1, u128::MAX, u128::MAX, 0, 1),
		(u128::MAX, u128::MAX - 1, u128::MAX, u128::MAX, 0, u128::MAX - 1),
		(u128::MAX, u128::MAX, u128::MAX, u128::MAX, 0, u128::MAX),
		(u128::MAX, 1, 3, u128::MAX, 0, 113_427_455_640_312_821_154_458_202_477_256_070_485),
		(u128::MAX, u128::MAX, u128::MAX, 0, 0, 0),
		// An era without points.
		(4_200_000_000_000_000, 0, 0, u128::MAX, 0, 0),
	];
	for (training, points, total_points, cap, claimed, expected) in table {
		let parts = BudgetParts { training, ..Default::default() };
		let era = EndedEra { parts, total_points, claimed, to_validators: 0, to_treasury: 0 };
		// Of training and of audits in any proportion.
		for audits in [0, points / 3, points] {
			let account = AccountPoints { training: points - audits, audits, cap, claimed: None };
			let what = format!("{points} of {total_points} for {training}, at most {cap}");
			assert_eq!(account.share(training, total_points).min(era.open()), expected, "{what}");
		}
	}
}

#[test]
fn rewards_of_blocks_equal_an_independent_table() {
	// Part for validation, blocks of an era: floor(part / blocks).
	let table = [
		// The presets' first era, the default's, and the presets' with a remainder.
		(1_050 * NEURO, 10, 105_000_000_000_000),
		(1_500 * NEURO, 28_800, 52_083_333_333),
		(1_050_000_000_000_009, 10, 105_000_000_000_000),
		// Planck.
		(0, 10, 0),
		(9, 10, 0),
		(10, 10, 1),
		(1, 1, 1),
		// All that is ever issued, and all planck.
		(15_000_000_000_000_000_000, u32::MAX, 3_492_459_655),
		(u128::MAX, 28_800, 11_815_359_962_532_585_536_922_729_424_714_174),
		(u128::MAX, u32::MAX, 79_228_162_532_711_081_671_548_469_249),
	];
	for (validation, blocks, expected) in table {
		new_test_ext().execute_with(|| {
			EraLength::<Test>::put(blocks);
			Current::<Test>::put(CurrentEra { parts: BudgetParts { validation, ..Default::default() }, ..Default::default() });
			assert_eq!(Rewards::pay_block(&VALIDATOR), expected, "{validation} in {blocks} blocks");
		});
	}
}
