//! The pallets wired together: three providers train one round, its work becomes final, and NEURO is minted for it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod inference;
mod operators;
mod quorums;

use crate::common::{genesis_of, provider};
use codec::Encode;
use frame_support::{
	assert_noop, assert_ok,
	traits::{fungible::Inspect, fungible::InspectHold, Get, Hooks},
};
use neuroshard_graph::{
	game::{Doubt, Move},
	layout::ParamLayout,
	merkle::blake2_256,
};
use neuroshard_runtime::{
	genesis, invariants, AccountId, Assets, Balances, Dataset, Disputes, Ownership, Ponw, Rewards, Runtime, RuntimeEvent,
	RuntimeGenesisConfig, RuntimeOrigin, Staking, System, Timestamp, Training, Validators, BLOCK_TIME_MS, EXISTENTIAL_DEPOSIT, NEURO,
};
use neuroshard_types::{
	audit::{seal_report, Report},
	dataset::{DatasetShape, Manifest, Tokenizer},
	dispute::{ClaimId, ClaimKind, Claims},
	proof::{Proof, ProofKey, ProofKind},
	provider::{ProviderStatus, Role, Roles},
	run::{seal, vote_bitmap, Attestation, Phase, PhaseDurations, RunConfig, RunStart, Work},
	traits::{InferenceFees, WorkUnits},
	ModelConfig, TrainConfig, F32, H256,
};
use pallet_neuro_disputes::Refusal;
use sp_core::Pair;
use sp_keyring::Sr25519Keyring::{Alice, Bob, Charlie, Dave, Eve, Ferdie};
use sp_runtime::{traits::AccountIdConversion, BuildStorage, DispatchError, Permill};

const GENESIS_HASH: H256 = H256([7; 32]);
const BOND: u128 = 10_000 * NEURO;

fn chain() -> sp_io::TestExternalities {
	chain_of(genesis_of(genesis::DEVELOPMENT))
}

fn chain_of(genesis: RuntimeGenesisConfig) -> sp_io::TestExternalities {
	let mut externalities: sp_io::TestExternalities = genesis.build_storage().unwrap().into();
	externalities.execute_with(|| {
		frame_system::BlockHash::<Runtime>::insert(0, GENESIS_HASH);
		next_block();
	});
	externalities
}

fn next_block() {
	let number = System::block_number() + 1;
	System::set_block_number(number);
	Ponw::on_initialize(number);
	Disputes::on_initialize(number);
	Training::on_initialize(number);
	Rewards::on_initialize(number);
	// The inherent comes after the hooks, which see the time of the block before.
	pallet_timestamp::Now::<Runtime>::put(u64::from(number) * BLOCK_TIME_MS + 1_700_000_000_000);
	check_invariants();
}

fn check_invariants() {
	assert_eq!(invariants::broken(), None);
	// A claim is open for every pending proof, open game, sample of an open audit, offer, consent to one, and seat of a quorum in a round under way, and for
	// nothing else;
	// and every proof that is not confirmed is one of a round under way.
	for (who, provider) in pallet_neuro_staking::Providers::<Runtime>::iter() {
		let pending = pallet_neuro_ponw::Pending::<Runtime>::iter_key_prefix(&who).count();
		let defends = |claim: &ClaimId, game: &pallet_neuro_disputes::Game| game.defenders(claim).any(|defender| *defender == who);
		let games = pallet_neuro_disputes::Games::<Runtime>::iter().filter(|(claim, _, game)| defends(claim, game)).count();
		let samples = usize::try_from(Disputes::open_samples(&who)).expect("few samples");
		let offers = pallet_neuro_inference::Offers::<Runtime>::iter();
		let offers = offers.filter(|(driver, standing)| *driver == who || standing.consents.contains(&who)).count();
		let under_way = |run: u32, round: u32| pallet_neuro_training::Rounds::<Runtime>::get(run).is_some_and(|now| now.round == round);
		let led = pallet_neuro_training::Led::<Runtime>::iter().filter(|(run, round, _)| under_way(*run, *round));
		let seats = led.map(|(.., seats)| seats.iter().filter(|seat| seat.who == who).count()).sum::<usize>();
		assert_eq!(usize::try_from(provider.open_claims), Ok(pending + games + samples + offers + seats), "claims of {who}");
	}
	let pending = pallet_neuro_ponw::Pending::<Runtime>::iter();
	let mut unconfirmed: Vec<_> = pending.filter(|(_, _, proof)| proof.final_at.is_none()).map(|(who, key, _)| (key.run, who)).collect();
	let mut revealed: Vec<_> = pallet_neuro_training::Works::<Runtime>::iter_keys().collect();
	unconfirmed.sort();
	revealed.sort();
	assert_eq!(unconfirmed, revealed);
}

fn register(who: &AccountId, seed: u8) {
	register_as(who, seed, Role::Worker);
}

fn register_as(who: &AccountId, seed: u8, role: Role) {
	assert_ok!(Staking::register(signed(who), provider::info(Roles::only(role), seed), BOND));
	let Some(ProviderStatus::Unproven { challenge }) = Staking::provider(who.clone()).map(|provider| provider.status) else {
		panic!("{who} has nothing to prove")
	};
	assert_ok!(Staking::prove_arithmetic(signed(who), H256(neuroshard_kernels::kat::drawn(challenge.0))));
}

fn model() -> ModelConfig {
	ModelConfig { vocab: 288, ..ModelConfig::tiny() }
}

fn train() -> TrainConfig {
	TrainConfig { validation_sequences: 2, ..TrainConfig::tiny() }
}

fn create_dataset() {
	let manifest = Manifest {
		name: b"text".to_vec().try_into().unwrap(),
		licence: b"Apache-2.0".to_vec().try_into().unwrap(),
		source: b"here".to_vec().try_into().unwrap(),
		tokenizer: Tokenizer::BYTES,
		vocab: 288,
		masked: false,
		shape: DatasetShape { tokens_per_shard: 4_096, shard_count: 4, held_out: 1 },
		root: H256([4; 32]),
		bytes: 16_384,
	};
	assert_ok!(Dataset::propose(RuntimeOrigin::signed(Alice.to_account_id()), manifest));
	assert_ok!(Dataset::activate(RuntimeOrigin::signed(Alice.to_account_id()), 0));
}

/// A run of one round whose phase of training lasts so many blocks at most.
fn create_run(training: u32) {
	let config = RunConfig {
		name: b"run".to_vec().try_into().unwrap(),
		dataset: 0,
		model: model(),
		train: train(),
		genesis_root: H256([5; 32]),
		start: RunStart::Seed,
		min_participants: 3,
		max_participants: 4,
		min_bond: 100 * NEURO,
		rounds: Some(1),
		durations: PhaseDurations { joining: 2, training, revealing: 5, availability: 5, checkpointing: 5 },
		tokenizer: Tokenizer::BYTES,
		overlaps: false,
		epochs: true,
	};
	assert_ok!(Training::create_run(RuntimeOrigin::signed(Alice.to_account_id()), config));
	assert_ok!(Training::approve_run(RuntimeOrigin::root(), 0));
}

fn phase() -> Phase {
	Training::round(0).unwrap().phase
}

/// Goes on to the first block in which the run is in `wanted`.
fn until(wanted: Phase) {
	for _ in 0..20 {
		if phase() == wanted {
			return;
		}
		next_block();
	}
	panic!("still {:?} after 20 blocks", phase());
}

fn work(seed: u8) -> Work {
	Work {
		state_roots: vec![H256([seed; 32]), H256([seed + 100; 32])].try_into().unwrap(),
		delta_root: H256([seed; 32]),
		delta_bytes: ParamLayout::new(&model()).unwrap().encoded_len().try_into().unwrap(),
		tokens: 4 * 2 * 32,
	}
}

fn reveal(who: &AccountId, seed: u8, signer: u8) -> Result<(), DispatchError> {
	let work = work(seed);
	let proof = Proof {
		key: ProofKey { run: 0, round: 0, kind: ProofKind::Training },
		timestamp: Timestamp::get(),
		work_hash: H256(blake2_256(&work.encode())),
	};
	let signature = provider::ponw_key(signer).sign(&proof.message(GENESIS_HASH, who)).0;
	Training::reveal(signed(who), 0, 0, 0, [seed; 32], work, proof, signature).map(|_| ()).map_err(|error| error.error)
}

fn signed(who: &AccountId) -> RuntimeOrigin {
	RuntimeOrigin::signed(who.clone())
}

/// Three registered providers that take part in round 0, and their seeds.
fn training(longest: u32) -> Vec<(AccountId, u8)> {
	let workers: Vec<(AccountId, u8)> = vec![(Bob.to_account_id(), 1), (Charlie.to_account_id(), 2), (Dave.to_account_id(), 3)];
	create_dataset();
	create_run(longest);
	for (who, seed) in &workers {
		register(who, *seed);
		assert_ok!(Training::join(signed(who), 0));
	}
	until(Phase::Training);
	workers
}

fn commit(who: &AccountId, seed: u8) {
	let sealed = seal(GENESIS_HASH, 0, 0, 0, who, &[seed; 32], &work(seed));
	assert_ok!(Training::commit(signed(who), 0, 0, 0, sealed));
}

#[test]
fn a_run_that_is_stopped_in_mid_round_keeps_nobodys_money() {
	chain().execute_with(|| {
		let bonded = Balances::total_balance_on_hold(&Alice.to_account_id());
		let workers = training(10);
		let [bob, charlie, dave] = [&workers[0].0, &workers[1].0, &workers[2].0];
		workers.iter().for_each(|(who, seed)| commit(who, *seed));
		until(Phase::Revealing);
		assert_ok!(reveal(bob, 1, 1));
		assert_ok!(reveal(charlie, 2, 2));
		assert_ok!(Staking::deregister(signed(bob)));
		assert_ok!(Staking::deregister(signed(dave)));
		let (_, cooldown) = Staking::limits();
		let alice = Alice.to_account_id();
		assert_ok!(Training::stop_run(signed(&alice), 0));
		check_invariants();
		assert_eq!(Ponw::pending(bob.clone()).len(), 0);
		for _ in 0..cooldown {
			next_block();
		}
		for who in [bob, dave] {
			assert_ok!(Staking::withdraw_unbonded(signed(who)));
			assert_eq!((Staking::provider(who.clone()), Balances::total_balance_on_hold(who)), (None, 0));
		}
		assert_eq!(Balances::total_balance_on_hold(charlie), BOND);
		assert!(Rewards::claimable_eras(charlie.clone()).is_empty(), "work that was never included pays nothing");

		// The sponsor's deposits come back too.
		assert_ok!(Dataset::retire(signed(&alice), 0));
		let history: u32 = <Runtime as pallet_neuro_training::Config>::HistoryPeriod::get();
		System::set_block_number(System::block_number() + history);
		assert_ok!(Training::remove_run(signed(&alice), 0, 0));
		assert_ok!(Dataset::remove(signed(&alice), 0));
		assert_eq!(Balances::total_balance_on_hold(&alice), bonded, "but for its bond as a validator");
		check_invariants();
	});
}

#[test]
fn who_withdraws_its_stake_in_a_long_round_votes_with_none_of_it() {
	chain().execute_with(|| {
		let (_, cooldown) = Staking::limits();
		let workers = training(cooldown + 10);
		let bob = &workers[0].0;
		assert_ok!(Staking::unbond(signed(bob), BOND - 1));
		for _ in 0..cooldown {
			next_block();
		}
		assert_ok!(Staking::withdraw_unbonded(signed(bob)));
		let gone = pallet_neuro_training::Error::<Runtime>::StakeGone;
		assert_noop!(Training::commit(signed(bob), 0, 0, 0, H256::zero()), gone);
		workers[1..].iter().for_each(|(who, seed)| commit(who, *seed));
		until(Phase::Revealing);
		assert_ok!(reveal(&workers[1].0, 2, 2));
	});
}

#[test]
fn who_was_not_included_can_be_challenged_and_slashed_until_the_last_dispute_is_over() {
	chain().execute_with(|| {
		let (_, cooldown) = Staking::limits();
		let workers = training(cooldown);
		let [bob, dave] = [&workers[0].0, &workers[2].0];
		// Both begin to leave as early as they can, and nobody could fetch the delta of Dave, whose account comes first.
		for who in [bob, dave] {
			assert_ok!(Staking::unbond(signed(who), BOND));
		}
		let unlocks_at = System::block_number() + cooldown;
		(0..cooldown - 10).for_each(|_| next_block());
		workers.iter().for_each(|(who, seed)| commit(who, *seed));
		workers.iter().for_each(|(who, seed)| reveal(who, *seed, *seed).unwrap());
		for (who, _) in &workers {
			assert_ok!(Training::vote_availability(signed(who), 0, 0, 0, vote_bitmap([false, true, true]).unwrap()));
		}
		let attestation = Attestation { checkpoint: H256([9; 32]), validation_loss: F32::new(3.5) };
		for (who, _) in &workers[..2] {
			assert_ok!(Training::attest(signed(who), 0, 0, 0, attestation));
		}
		next_block();
		let adopted = Training::adopted_at(0, 0).unwrap();
		assert!(adopted < unlocks_at && Ponw::pending(dave.clone()).is_empty());
		let terms = Disputes::terms();
		let until = adopted + terms.window + pallet_neuro_disputes::longest_game(terms.clock, terms.extension);
		for who in [bob, dave] {
			assert_eq!(Staking::provider(who.clone()).unwrap().disputable_until, until);
		}
		// A game begins in the last block in which one can.
		while System::block_number() < adopted + terms.window - 1 {
			next_block();
		}
		assert_ok!(Disputes::challenge_work(signed(&Eve.to_account_id()), 0, 0, dave.clone(), work(3), Doubt::Delta));
		while System::block_number() < until - 1 {
			next_block();
			let refused = |who: &AccountId| Staking::withdraw_unbonded(signed(who)).is_err();
			assert!(refused(bob) && refused(dave));
		}
		assert_noop!(Staking::withdraw_unbonded(signed(bob)), pallet_neuro_staking::Error::<Runtime>::Disputable);
		assert_eq!((Disputes::games(None), Balances::total_balance_on_hold(dave)), (vec![], 0));
		next_block();
		assert_ok!(Staking::withdraw_unbonded(signed(bob)));
		assert_eq!(Balances::total_balance_on_hold(bob), 0);
	});
}

/// The preset with a challenge window of so many blocks, in which all work is audited as far as there are auditors.
fn audited(challenge_window: u32) -> RuntimeGenesisConfig {
	let mut genesis = genesis_of(genesis::DEVELOPMENT);
	genesis.ponw.challenge_window = challenge_window;
	genesis.staking.cooldown = 1_000;
	genesis.disputes.audit_share = Permill::one();
	genesis
}

#[test]
#[should_panic(expected = "the challenge window is too short for audits")]
fn a_genesis_without_time_for_its_audits_is_refused() {
	// Three epochs of 10 slots, twice 30 blocks for sealing and 15 for reporting.
	let _ = audited(104).build_storage();
}

#[test]
#[should_panic(expected = "the cooldown of 550 blocks must be longer than the 550")]
fn a_genesis_whose_cooldown_ends_before_the_last_dispute_is_refused() {
	let mut genesis = genesis_of(genesis::DEVELOPMENT);
	// A window of 10 blocks, and games of up to 540.
	genesis.staking.cooldown = 550;
	let _ = genesis.build_storage();
}

#[test]
fn work_is_run_again_by_providers_drawn_two_epochs_later_who_are_paid_for_it() {
	chain_of(audited(105)).execute_with(|| {
		let auditors = [Eve, Ferdie].map(|key| key.to_account_id());
		for (who, seed) in auditors.iter().zip([4, 5]) {
			register_as(who, seed, Role::Verifier);
			assert_ok!(Disputes::enroll(signed(who)));
		}
		pallet_babe::EpochIndex::<Runtime>::put(2);
		let workers = training(10);
		assert!(Disputes::enroll(signed(&workers[0].0)).is_err(), "a worker is no verifier");
		workers.iter().for_each(|(who, seed)| commit(who, *seed));
		workers.iter().for_each(|(who, seed)| reveal(who, *seed, *seed).unwrap());
		for (who, _) in &workers {
			assert_ok!(Training::vote_availability(signed(who), 0, 0, 0, vote_bitmap([true; 3]).unwrap()));
		}
		let attestation = Attestation { checkpoint: H256([9; 32]), validation_loss: F32::new(3.5) };
		for (who, _) in &workers {
			assert_ok!(Training::attest(signed(who), 0, 0, 0, attestation));
		}
		next_block();
		let adopted = Training::adopted_at(0, 0).unwrap();
		pallet_babe::EpochIndex::<Runtime>::put(3);
		next_block();
		assert_eq!(Disputes::audits_of(auditors[0].clone(), None), []);
		pallet_babe::EpochIndex::<Runtime>::put(4);
		next_block();
		// Two auditors are enough for one of the three claims.
		let views = auditors.clone().map(|who| Disputes::audit(0, 0, who).expect("it was drawn"));
		assert_eq!((&views[0].subject, &views[0].partner, views[0].step), (&views[1].subject, &auditors[1], 2));
		assert!(workers.iter().any(|(who, _)| *who == views[0].subject));
		let sample = Report::Sample(H256([6; 32]));
		for who in &auditors {
			assert_ok!(Disputes::seal_audit(signed(who), 0, 0, seal_report(GENESIS_HASH, 0, 0, who, &[8; 32], &sample)));
		}
		for who in &auditors {
			assert_ok!(Disputes::report_audit(signed(who), 0, 0, [8; 32], sample));
			assert_eq!(Staking::provider(who.clone()).unwrap().open_claims, 1);
		}
		let credited = || auditors.iter().filter(|who| System::events().iter().any(|record| {
			matches!(&record.event, RuntimeEvent::Rewards(pallet_neuro_rewards::Event::Credited { who: paid, points, .. }) if paid == *who && *points > 0)
		})).count();
		while System::block_number() < adopted + 104 {
			next_block();
			check_invariants();
		}
		assert_eq!(credited(), 0);
		next_block();
		check_invariants();
		assert_eq!(credited(), 2);
		for who in &auditors {
			let provider = Staking::provider(who.clone()).unwrap();
			assert_eq!((provider.open_claims, provider.reputation), (0, 101));
		}
	});
}

#[test]
fn a_round_is_trained_and_its_work_is_paid_exactly_once() {
	chain().execute_with(|| {
		let issuance_before = Balances::total_issuance();
		assert_eq!(Rewards::issuance().minted(), 0);
		let workers = training(10);
		workers.iter().for_each(|(who, seed)| commit(who, *seed));
		until(Phase::Revealing);
		// Somebody else's key does not sign for Bob.
		assert!(reveal(&workers[0].0, 1, 2).is_err());
		for (who, seed) in &workers {
			assert_ok!(reveal(who, *seed, *seed));
			assert_eq!(Staking::provider(who.clone()).unwrap().open_claims, 1);
		}
		until(Phase::Availability);
		for (who, _) in &workers {
			let everybody = vote_bitmap([true, true, true]).unwrap();
			assert_ok!(Training::vote_availability(signed(who), 0, 0, 0, everybody));
		}
		until(Phase::Checkpointing);
		for (who, _) in &workers {
			let attestation = Attestation { checkpoint: H256([9; 32]), validation_loss: F32::new(3.5) };
			assert_ok!(Training::attest(signed(who), 0, 0, 0, attestation));
		}
		next_block();
		next_block();
		let run = Training::run(0).unwrap();
		assert_eq!((run.rounds_adopted, run.checkpoint), (1, H256([9; 32])));
		assert_eq!(Training::record(0, 0).unwrap().included.len(), 3);
		assert_eq!(Dataset::dataset(0).unwrap().users, 0);

		// Past the challenge window and the end of the era that it ends in.
		let adopted = System::block_number();
		while System::block_number() < adopted + 2 * Ponw::window() + 2 * 10 {
			next_block();
		}
		let mut minted = 0;
		for (who, _) in &workers {
			assert_eq!(Staking::provider(who.clone()).unwrap().open_claims, 0);
			let eras = Rewards::claimable_eras(who.clone());
			assert_eq!(eras.len(), 1, "{who} worked in one era");
			let before = Balances::balance(who);
			assert_ok!(Rewards::claim(signed(who), eras[0].0));
			assert_eq!(Balances::balance(who) - before, eras[0].1);
			assert!(Rewards::claim(signed(who), eras[0].0).is_err(), "an era is claimed once");
			minted += eras[0].1;
		}
		// Equal work and equal bonds: equal shares of the 80% for training of one era's 7,000 NEURO, or a little less after some decay.
		assert!(minted > 5_586 * NEURO && minted <= 5_600 * NEURO, "{minted}");
		let sums = Rewards::issuance();
		assert_eq!((sums.claimed, sums.to_validators, sums.burned), (minted, 0, 0));
		// The treasury got its 5% of every era that ended.
		let treasury: AccountId = frame_support::PalletId(*b"py/trsry").into_account_truncating();
		// What keeps its account alive was there at genesis.
		let treasury = Balances::balance(&treasury) - EXISTENTIAL_DEPOSIT;
		assert!(treasury > 340 * NEURO && treasury == sums.to_treasury, "{treasury}");
		assert_eq!(Balances::total_issuance(), issuance_before + minted + treasury);
		// They own a third of the model each, as wallets see it, and get a third of what it earns, rounded down.
		let third = NEURO - 1;
		assert_ok!(Ownership::deposit_revenue(signed(&Alice.to_account_id()), 0, 3 * NEURO));
		let units = <Rewards as WorkUnits>::of_round(&model(), &train(), train().inner_steps);
		assert_ok!(Assets::touch(signed(&Alice.to_account_id()), 0.into()));
		for (who, _) in &workers {
			let owned = Ownership::shares(who.clone(), 0);
			assert_eq!((owned.earning, owned.free, owned.claimable, Assets::balance(0, who)), (units, 0, third, units));
			let send = |amount| Assets::transfer(signed(who), 0.into(), Alice.to_account_id().into(), amount);
			assert_noop!(send(1), pallet_assets::Error::<Runtime>::BalanceLow);
			let before = Balances::balance(who);
			assert_ok!(Ownership::claim(signed(who), 0));
			assert_eq!(Balances::balance(who), before + third);
			assert_ok!(Ownership::release(signed(who), 0, 1));
			assert_ok!(send(1));
		}
		assert_eq!(Ownership::shares(Alice.to_account_id(), 0).free, 3);
		for (who, _) in &workers {
			assert_eq!(Balances::total_balance_on_hold(who), BOND);
		}
		check_invariants();
	});
}

/// Round 0 is adopted with the work and the attestation of all three.
fn adopted(workers: &[(AccountId, u8)]) {
	workers.iter().for_each(|(who, seed)| commit(who, *seed));
	until(Phase::Revealing);
	for (who, seed) in workers {
		assert_ok!(reveal(who, *seed, *seed));
	}
	until(Phase::Availability);
	for (who, _) in workers {
		assert_ok!(Training::vote_availability(signed(who), 0, 0, 0, vote_bitmap([true, true, true]).unwrap()));
	}
	until(Phase::Checkpointing);
	for (who, _) in workers {
		let attestation = Attestation { checkpoint: H256([9; 32]), validation_loss: F32::new(3.5) };
		assert_ok!(Training::attest(signed(who), 0, 0, 0, attestation));
	}
	next_block();
}

#[test]
fn who_does_not_defend_its_work_loses_its_bond_and_its_pay_to_the_challenger_and_nobody_else_loses_anything() {
	chain().execute_with(|| {
		let workers = training(10);
		adopted(&workers);
		let [bob, charlie, dave] = [&workers[0].0, &workers[1].0, &workers[2].0];
		let (eve, ferdie) = (Eve.to_account_id(), Ferdie.to_account_id());
		let (issuance, before) = (Balances::total_issuance() - Rewards::issuance().minted(), Balances::balance(&eve));
		for challenger in [&eve, &ferdie] {
			assert_ok!(Disputes::challenge_work(signed(challenger), 0, 0, bob.clone(), work(1), Doubt::Interval(0)));
		}
		assert_ok!(Disputes::challenge_attestation(signed(&eve), 0, 0, charlie.clone()));
		// Nothing that was revealed or attested is the root of anything, so that neither can say what it consists of. Both are silent.
		let terms = Disputes::terms();
		for _ in 0..terms.clock + terms.extension + 3 {
			next_block();
		}
		assert_eq!(Disputes::games(None), vec![]);
		for loser in [bob, charlie] {
			assert_eq!(Balances::total_balance_on_hold(loser), 0);
			assert_eq!(Staking::provider(loser.clone()).unwrap().open_claims, 0);
		}
		assert_eq!(Balances::total_balance_on_hold(dave), BOND);
		// Half of two bonds is paid, half burned, and the bonds of the challenges are back.
		assert_eq!(Balances::balance(&eve), before + BOND);
		assert_eq!(Balances::total_issuance() - Rewards::issuance().minted(), issuance - BOND);
		assert_eq!([&eve, &ferdie].map(Balances::total_balance_on_hold), [0, 0]);
		let record = Training::record(0, 0).unwrap();
		assert_eq!(record.excluded, vec![bob.clone()]);
		for _ in 0..2 * Ponw::window() + 20 {
			next_block();
		}
		let eras = |who: &AccountId| Rewards::claimable_eras(who.clone()).len();
		assert_eq!([eras(bob), eras(charlie), eras(dave)], [0, 0, 1]);
	});
}

#[test]
fn moves_are_admitted_from_whose_turn_it_is_and_as_extrinsics_of_their_own() {
	use neuroshard_runtime::RuntimeCall;
	use sp_runtime::{
		traits::DispatchTransaction,
		transaction_validity::{InvalidTransaction, TransactionSource::External},
	};
	chain().execute_with(|| {
		let workers = training(10);
		adopted(&workers);
		let (bob, eve) = (workers[0].0.clone(), Eve.to_account_id());
		assert_ok!(Disputes::challenge_work(signed(&eve), 0, 0, bob.clone(), work(1), Doubt::Delta));
		let claim = ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: bob.clone() };
		let play = |position| {
			let action = Move::Ends { start: [[0; 32]; 2], end: [[0; 32]; 3] };
			RuntimeCall::from(pallet_neuro_disputes::Call::play { claim: claim.clone(), challenger: eve.clone(), position, action })
		};
		let call = play(H256(Disputes::game(claim.clone(), eve.clone()).unwrap().position.hash()));
		let valid = |who: &AccountId, call: &RuntimeCall| {
			let extension = pallet_neuro_disputes::CheckTurn::<Runtime>::default();
			extension.validate_only(signed(who), call, &Default::default(), 0, External, 0).map(|_| ())
		};
		let refused = |refusal: Refusal| Err(InvalidTransaction::Custom(refusal.code()).into());
		assert_eq!(valid(&bob, &call), Ok(()));
		assert_eq!(valid(&eve, &call), refused(Refusal::NotYourTurn));
		assert_eq!(valid(&bob, &play(H256([1; 32]))), refused(Refusal::OtherPosition));
		let batch = pallet_utility::Call::batch_all { calls: vec![call.clone()] }.into();
		let fallback = pallet_utility::Call::if_else { main: Box::new(batch), fallback: Box::new(call.clone()) }.into();
		let sudo = pallet_sudo::Call::sudo_as { who: bob.clone().into(), call: Box::new(call) };
		for carrier in [sudo.into(), pallet_utility::Call::force_batch { calls: vec![fallback] }.into()] {
			assert_eq!(valid(&bob, &carrier), refused(Refusal::Carried));
		}
	});
}

#[test]
fn a_false_claim_costs_its_account_every_pending_proof_and_a_dispute_delays_all_of_an_account_and_nobody_elses() {
	chain().execute_with(|| {
		let workers = training(10);
		adopted(&workers);
		let adopted = Training::adopted_at(0, 0).unwrap();
		let [bob, charlie, dave] = [&workers[0].0, &workers[1].0, &workers[2].0];
		let eve = Eve.to_account_id();
		// Bob says nothing to a challenge of what he attested. Charlie answers that of his work, and Eve says nothing to that.
		assert_ok!(Disputes::challenge_attestation(signed(&eve), 0, 0, bob.clone()));
		assert_ok!(Disputes::challenge_work(signed(&eve), 0, 0, charlie.clone(), work(2), Doubt::Interval(0)));
		let claim = ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: charlie.clone() };
		let stands = H256(Disputes::game(claim.clone(), eve.clone()).unwrap().position.hash());
		assert_ok!(Disputes::play(signed(charlie), claim, eve.clone(), stands, Move::Steps(vec![[7; 32], [2; 32]])));
		let open = |who: &AccountId| Staking::provider(who.clone()).unwrap().open_claims;
		assert_eq!([open(bob), open(charlie), open(dave)], [2, 2, 1]);

		let terms = Disputes::terms();
		let until = System::block_number() + terms.clock + terms.extension;
		assert!(until > adopted + 3 * Ponw::window());
		while System::block_number() < until {
			next_block();
		}
		assert_eq!([open(bob), open(charlie), open(dave)], [2, 2, 0], "what is overdue waits for the game");
		next_block();
		assert_eq!((Disputes::games(None), [open(bob), open(charlie)]), (vec![], [0, 1]));
		next_block();
		assert_eq!([open(bob), open(charlie)], [0, 0]);
		for _ in 0..10 {
			next_block();
		}
		let eras = |who: &AccountId| Rewards::claimable_eras(who.clone()).len();
		assert_eq!([eras(bob), eras(charlie), eras(dave)], [0, 1, 1]);
	});
}

#[test]
fn accomplices_who_fill_the_limit_of_games_burn_as_much_as_a_lost_claim_takes() {
	use pallet_neuro_disputes::Config;
	let (share, taken) = (<Runtime as Config>::BondShare::get(), <Runtime as Config>::SlashShare::get());
	let most: u32 = <Runtime as Config>::MaxGamesPerDefender::get();
	// Half of so many bonds is burned.
	assert!(u64::from(share.deconstruct()) * u64::from(most) >= 2 * u64::from(taken.deconstruct()));
	chain().execute_with(|| {
		let workers = training(10);
		let [bob, charlie] = [&workers[0].0, &workers[1].0];
		// A sixteenth of 10,000 NEURO, and of 12,000.
		let bond_against = |who: &AccountId| {
			let claim = ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: who.clone() };
			Disputes::bond_against(claim, Eve.to_account_id())
		};
		assert_eq!(bond_against(bob), Some(625 * NEURO));
		assert_ok!(Staking::bond_extra(signed(charlie), 2_000 * NEURO));
		assert_eq!(bond_against(charlie), Some(750 * NEURO));
		assert_eq!(bond_against(&Alice.to_account_id()), Some(100 * NEURO), "who is no provider has nothing at stake");
	});
}

/// The tables of these values are in `pallets/rewards/src/tests/tables.rs`.
#[test]
fn presets_issue_and_rate_by_the_values_of_the_independent_tables() {
	use pallet_neuro_rewards::{Curve, Issuance, Rates, WorkRates};
	for preset in [genesis::DEVELOPMENT, genesis::LOCAL_TESTNET] {
		let mut externalities: sp_io::TestExternalities = genesis_of(preset).build_storage().unwrap().into();
		externalities.execute_with(|| {
			let (initial, floor, cap) = (7_000 * NEURO, 10 * NEURO, 100_000_000 * NEURO);
			let curve = Curve { initial, floor, ratio: 999_881_398_686_573_512, eras_per_step: 1, cap };
			assert_eq!(Issuance::<Runtime>::get(), curve, "{preset}");
			let (roles, targets) = ([1_200, 1_000, 1_100, 1_100], [10, 50, 10, 10]);
			let rates = Rates { training: 1_000, roles, targets, scarcity: 500, cap: 1_000_000_000_000 };
			assert_eq!(WorkRates::<Runtime>::get(), rates, "{preset}");
		});
	}
}

#[test]
fn presets_keep_unbonding_money_slashable_for_longer_than_a_challenge_may_take() {
	for preset in [genesis::DEVELOPMENT, genesis::LOCAL_TESTNET] {
		let mut externalities: sp_io::TestExternalities = genesis_of(preset).build_storage().unwrap().into();
		externalities.execute_with(|| {
			let (min_bond, cooldown) = Staking::limits();
			assert_eq!(min_bond, 100 * NEURO);
			let longest = pallet_neuro_disputes::longest_game(Disputes::terms().clock, Disputes::terms().extension);
			assert!(cooldown > Ponw::window() + longest, "{preset}");
			let epoch: u64 = <Runtime as pallet_babe::Config>::EpochDuration::get();
			assert_eq!(epoch, 10, "{preset} reads its epoch length from genesis");
			let history: u32 = <Runtime as pallet_neuro_training::Config>::HistoryPeriod::get();
			assert!(history > Ponw::window() + longest, "{preset} keeps what a dispute needs");
			assert_eq!(Training::shortest_round(), 1, "{preset} holds no round back");
			check_invariants();
		});
	}
}

#[test]
fn rounds_of_a_chain_with_long_disputes_take_as_long_as_records_need() {
	chain().execute_with(|| {
		// What a chain spec gets that says nothing: a day, four hours and half an hour.
		pallet_neuro_ponw::ChallengeWindow::<Runtime>::put(28_800);
		pallet_neuro_disputes::Clock::<Runtime>::put(4_800);
		pallet_neuro_disputes::Extension::<Runtime>::put(600);
		let (period, kept, replay) = (28_800 + pallet_neuro_disputes::longest_game(4_800, 600), 4_096, 1_024);
		assert_eq!(Training::shortest_round(), 27);
		assert!(27 * (kept - replay + 1) >= period && 26 * (kept - replay + 1) < period);
	});
}

#[test]
fn fees_go_to_the_author_of_the_block_and_change_no_issuance() {
	use frame_support::traits::{
		fungible::{Balanced, Mutate},
		tokens::{Fortitude, Precision, Preservation},
		OnUnbalanced,
	};
	chain().execute_with(|| {
		let (payer, author) = (Bob.to_account_id(), Alice.to_account_id());
		// The pre-runtime digest of a block that the first authority, Alice, made.
		let digest = sp_consensus_babe::digests::PreDigest::SecondaryPlain(sp_consensus_babe::digests::SecondaryPlainPreDigest {
			authority_index: 0,
			slot: 1.into(),
		});
		System::deposit_log(sp_runtime::DigestItem::PreRuntime(sp_consensus_babe::BABE_ENGINE_ID, digest.encode()));
		let issuance = Balances::total_issuance();
		let before = Balances::balance(&author);
		let fee = Balances::withdraw(&payer, 3 * NEURO, Precision::Exact, Preservation::Preserve, Fortitude::Polite).unwrap();
		neuroshard_runtime::fees::ToAuthor::on_unbalanced(fee);
		assert_eq!(Balances::balance(&author), before + 3 * NEURO);
		assert_eq!(Balances::total_issuance(), issuance);
		let minted: RuntimeEvent = pallet_balances::Event::Deposit { who: author.clone(), amount: 3 * NEURO }.into();
		System::assert_has_event(minted);
		assert_ok!(Balances::burn_from(&payer, NEURO, Preservation::Preserve, Precision::Exact, Fortitude::Polite));
		assert_eq!(Balances::total_issuance(), issuance - NEURO);
	});
}

#[test]
fn fees_of_inference_reward_the_author_of_the_block_and_are_all_accounted_for() {
	chain().execute_with(|| {
		let digest = sp_consensus_babe::digests::PreDigest::SecondaryPlain(sp_consensus_babe::digests::SecondaryPlainPreDigest {
			authority_index: 0,
			slot: 1.into(),
		});
		System::deposit_log(sp_runtime::DigestItem::PreRuntime(sp_consensus_babe::BABE_ENGINE_ID, digest.encode()));
		let (payer, driver, worker) = (Bob.to_account_id(), Charlie.to_account_id(), Dave.to_account_id());
		let treasury: AccountId = frame_support::PalletId(*b"py/trsry").into_account_truncating();
		let accounts = [payer.clone(), driver.clone(), worker.clone(), Validators::pot(), treasury];
		let balances = || accounts.each_ref().map(Balances::balance);
		let (before, issued) = (balances(), Balances::total_issuance());
		let shares = Rewards::pay_fee(&payer, 20 * NEURO, &driver, &[(worker, 12)]).unwrap();
		let [paid, driven, worked, pot, kept]: [u128; 5] = std::array::from_fn(|index| balances()[index].abs_diff(before[index]));
		assert_eq!([paid, driven, worked, pot, kept], [20, 4, 8, 5, 1].map(|share| share * NEURO));
		assert_eq!((shares.validators, shares.burn), (5 * NEURO, 2 * NEURO));
		assert_eq!((Balances::total_issuance(), Rewards::issuance().burned), (issued - 2 * NEURO, 2 * NEURO));
		let rewarded = System::events().into_iter().any(|record| {
			matches!(
				record.event,
				RuntimeEvent::Validators(pallet_neuro_validators::Event::Rewarded { validator, amount, .. })
					if validator == Alice.to_account_id() && amount == 5 * NEURO
			)
		});
		assert!(rewarded, "the author of the block is rewarded");
		check_invariants();
	});
}

#[test]
fn safe_mode_hinders_neither_a_dispute_nor_the_end_of_a_round() {
	use neuroshard_runtime::{RuntimeCall, SafeMode};
	use sp_runtime::traits::Dispatchable;
	chain().execute_with(|| {
		let workers = training(10);
		let [bob, charlie] = [&workers[0].0, &workers[1].0];
		let eve = Eve.to_account_id();
		// As extrinsics are, with the filters of their origin.
		let make = |who: &AccountId, call: RuntimeCall| call.dispatch(signed(who)).map(|_| ()).map_err(|error| error.error);
		let filtered = Err(frame_system::Error::<Runtime>::CallFiltered.into());
		assert_ok!(SafeMode::force_enter(RuntimeOrigin::root()));
		let transfer = || pallet_balances::Call::transfer_allow_death { dest: bob.clone().into(), value: NEURO }.into();
		assert_eq!(make(&eve, transfer()), filtered);

		for (who, seed) in &workers {
			let sealed = seal(GENESIS_HASH, 0, 0, 0, who, &[*seed; 32], &work(*seed));
			assert_ok!(make(who, pallet_neuro_training::Call::commit { run: 0, round: 0, attempt: 0, sealed }.into()));
		}
		until(Phase::Revealing);
		for (who, seed) in &workers {
			assert_ok!(reveal(who, *seed, *seed));
		}
		until(Phase::Availability);
		for (who, _) in &workers {
			let vote = vote_bitmap([true, true, true]).unwrap();
			assert_ok!(make(who, pallet_neuro_training::Call::vote_availability { run: 0, round: 0, attempt: 0, vote }.into()));
		}
		until(Phase::Checkpointing);
		for (who, _) in &workers {
			let attestation = Attestation { checkpoint: H256([9; 32]), validation_loss: F32::new(3.5) };
			assert_ok!(make(who, pallet_neuro_training::Call::attest { run: 0, round: 0, attempt: 0, attestation }.into()));
		}
		next_block();
		assert_eq!(Training::run(0).unwrap().rounds_adopted, 1);

		let doubt = Doubt::Interval(0);
		let open = pallet_neuro_disputes::Call::challenge_work { run: 0, round: 0, who: charlie.clone(), work: work(2), doubt };
		assert_ok!(make(&eve, open.into()));
		let claim = ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: charlie.clone() };
		let position = || H256(Disputes::game(claim.clone(), eve.clone()).unwrap().position.hash());
		let before = position();
		let action = Move::Steps(vec![[7; 32], [2; 32]]);
		let play = pallet_neuro_disputes::Call::play { claim: claim.clone(), challenger: eve.clone(), position: before, action };
		assert_ok!(make(charlie, play.into()));
		assert_ne!(position(), before, "the move was made");
		assert_ok!(make(bob, pallet_neuro_staking::Call::deregister {}.into()));
		assert_eq!(make(&eve, transfer()), filtered);
	});
}
