//! Creation, approval, end and removal of runs.

use super::*;
use crate::{record::Record, Error, Event, HoldReason, Records, Runs};
use frame_support::{assert_noop, assert_ok, traits::fungible::InspectHold};
use neuroshard_types::{
	run::{Attestation, PhaseDurations, RunStart, RunStatus},
	Adapter, Aggregator, Code, Compressed, ConfigError, Family, ModelConfig, Optimizer, Projection, Projections, Robust, Rule, TopK,
	TrainConfig, F32, H256,
};
use sp_runtime::{DispatchError, TokenError};

fn signed(who: AccountId) -> RuntimeOrigin {
	RuntimeOrigin::signed(who)
}

/// Expects that `change` makes the configuration unfit for this reason.
fn refused(change: impl FnOnce(&mut RunConfig), error: Error<Test>) {
	let mut config = config();
	change(&mut config);
	assert_noop!(Training::create_run(signed(SPONSOR), config), error);
}

#[test]
fn creating_a_run_holds_the_deposit_and_uses_the_dataset() {
	build_and_execute(|| {
		let run = create(config());
		// Three records are kept: 1,000 + 3 * 100.
		assert_eq!(Balances::total_balance_on_hold(&SPONSOR), 1_300);
		assert_eq!(Sets::get()[&DATASET].2, 1);
		let genesis_root = H256::repeat_byte(0xff);
		assert!(happened(Event::RunCreated { run, sponsor: SPONSOR, dataset: DATASET, genesis_root, deposit: 1_300 }));

		let view = Training::run(run).unwrap();
		assert_eq!((view.sponsor, view.status, view.approved), (SPONSOR, RunStatus::Active, false));
		assert_eq!((view.rounds_adopted, view.checkpoint), (0, genesis_root));
		assert_eq!(view.config, config());
		let round = Training::round(run).unwrap();
		assert_eq!((round.round, round.attempt, round.deadline), (0, 0, None));
		assert_eq!(Training::run(run + 1), None);
		assert_eq!(Training::round(run + 1), None);
	});
}

/// A configuration that starts from these parameters and momentum, and says of which run and round they are.
fn given(of: Option<(u32, u32)>) -> RunConfig {
	let start = RunStart::Given { params: H256::repeat_byte(5), momentum: H256::repeat_byte(6), of };
	RunConfig { genesis_root: start.root(0, 0).unwrap(), start, ..config() }
}

#[test]
fn a_run_starts_from_a_given_checkpoint_if_its_root_is_that_of_the_parts() {
	build_and_execute(|| {
		let run = create(given(None));
		assert_eq!(Training::run(run).unwrap().checkpoint, given(None).genesis_root);
		let start = given(None).start;
		refused(|c| c.start = start, Error::WrongStart);
		// Not as the checkpoint that a later round starts from: rounds begin at 0.
		refused(|c| (c.start, c.genesis_root) = (start, start.root(1, 4).unwrap()), Error::WrongStart);
	});
}

#[test]
fn a_run_that_goes_on_from_another_one_names_a_checkpoint_that_the_chain_knows_of_it() {
	build_and_execute(|| {
		let other = create(given(None));
		let config = |round| given(Some((other, round)));
		create(config(0));
		refused(|c| *c = given(Some((other + 9, 0))), Error::UnknownRun);
		refused(|c| *c = config(2), Error::WrongStart);
		refused(|c| (c.start, c.genesis_root) = (config(0).start, H256::zero()), Error::WrongStart);
	});
}

#[test]
fn a_run_goes_on_from_another_one_only_with_the_same_adapter_or_without_any() {
	build_and_execute(|| {
		let adapter = Adapter { base: [1; 32], rank: 4, alpha: F32::new(8.0), projections: Projections::ALL };
		let of = |other: Option<RunId>, adapter: Option<Adapter>| {
			let config = given(other.map(|other| (other, 0)));
			RunConfig { train: TrainConfig { adapter, ..config.train }, ..config }
		};
		let (model, beside) = (create(of(None, None)), create(of(None, Some(adapter))));
		create(of(Some(beside), Some(Adapter { alpha: F32::new(1.0), ..adapter })));
		let queries = [Projection::Q].into_iter().collect();
		let others = [
			None,
			Some(Adapter { base: [2; 32], ..adapter }),
			Some(Adapter { rank: 5, ..adapter }),
			Some(Adapter { projections: queries, ..adapter }),
		];
		for other in others {
			refused(|c| *c = of(Some(beside), other), Error::WrongStart);
		}
		refused(|c| *c = of(Some(model), Some(adapter)), Error::WrongStart);
	});
}

#[test]
fn a_run_goes_on_from_a_round_of_another_one_as_long_as_that_checkpoint_stands_and_its_record_is_kept() {
	build_and_execute(|| {
		let (other, workers) = training(2);
		let of = |round: u32| given(Some((other, round)));
		// Both rounds end with the same parameters and momentum, after 4 and 8 steps.
		for round in 1..=2 {
			let checkpoint = of(round).start.root(round, 4 * u64::from(round)).unwrap();
			to_checkpointing(other, &workers);
			for who in &workers {
				let attestation = Attestation { checkpoint, validation_loss: F32::new(2.5) };
				assert_ok!(Training::attest(signed(who.clone()), other, round - 1, 0, attestation));
			}
			skip(1);
			assert_eq!(Training::run(other).unwrap().rounds_adopted, round);
			refused(|c| *c = of(round + 1), Error::WrongStart);
			assert_ok!(Training::create_run(signed(SPONSOR), of(round)));
		}
		refused(|c| *c = of(0), Error::WrongStart);
		let record = Records::<Test>::take(other, 0).unwrap();
		refused(|c| *c = of(1), Error::WrongStart);
		Records::<Test>::insert(other, 0, Record { fallen: true, ..record.clone() });
		refused(|c| *c = of(1), Error::WrongStart);
		Records::<Test>::insert(other, 0, record);
		// So it is with the newest one.
		let newest = Records::<Test>::get(other, 1).unwrap();
		Records::<Test>::insert(other, 1, Record { fallen: true, ..newest.clone() });
		refused(|c| *c = of(2), Error::WrongStart);
		Records::<Test>::insert(other, 1, newest);
	});
}

#[test]
fn a_short_run_pays_for_the_records_that_it_can_have() {
	build_and_execute(|| {
		create(RunConfig { rounds: Some(1), ..config() });
		assert_eq!(Balances::total_balance_on_hold(&SPONSOR), 1_100);
		create(RunConfig { rounds: Some(1_000), ..config() });
		assert_eq!(Balances::total_balance_on_hold(&SPONSOR), 1_100 + 1_300);
		assert_eq!(Training::runs(), [0, 1]);
	});
}

#[test]
fn a_sponsor_who_cannot_pay_the_deposit_creates_nothing() {
	build_and_execute(|| {
		assert_noop!(Training::create_run(signed(worker(2)), config()), DispatchError::Token(TokenError::FundsUnavailable));
		assert!(Training::runs().is_empty());
	});
}

#[test]
fn calls_need_a_signature() {
	build_and_execute(|| {
		assert_noop!(Training::create_run(RuntimeOrigin::none(), config()), DispatchError::BadOrigin);
		assert_noop!(Training::join(RuntimeOrigin::root(), 0), DispatchError::BadOrigin);
	});
}

#[test]
fn unfit_configurations_are_refused_with_their_reason() {
	build_and_execute(|| {
		refused(|c| c.name = Default::default(), Error::BadName);
		refused(|c| c.name = vec![0xff].try_into().unwrap(), Error::BadName);
		refused(|c| c.min_participants = 0, Error::BadParticipants);
		refused(|c| c.min_participants = 5, Error::BadParticipants);
		refused(|c| c.max_participants = 129, Error::BadParticipants);
		refused(|c| c.durations.revealing = 0, Error::BadDurations);
		refused(|c| c.durations = PhaseDurations { training: 101, ..c.durations }, Error::BadDurations);
		refused(|c| c.rounds = Some(0), Error::BadLimits);
		refused(|c| c.min_bond = 0, Error::BadLimits);
		refused(|c| c.model.ffn = 33, Error::BadDimension);
		refused(|c| c.model.heads = 3, Error::BadHeads);
		refused(|c| c.model.layers = u32::MAX, Error::ModelTooLarge);
		refused(|c| c.train.arithmetic_version = 3, Error::ArithmeticVersion);
		refused(|c| c.train.commit_interval = 0, Error::CommitInterval);
		refused(|c| c.train.lr = F32::new(f32::NAN), Error::BadHyperparameter);
		let odd = Code::TopK(TopK { numbers: 5, decay: F32::new(0.9), cosine: false });
		refused(|c| c.train.aggregator = sent_as(odd), Error::BadCode);
		let sorted = Robust { clip: F32::new(0.0), rule: Rule::Median };
		refused(|c| c.train.aggregator = Aggregator::Compressed(Compressed { code: Code::Int8, robust: sorted }), Error::BadCode);
	});
}

#[test]
fn a_run_trains_a_model_with_muon_that_is_not_too_deep_for_it_and_no_adapter() {
	build_and_execute(|| {
		let with = |momentum: f32| Optimizer::Muon { momentum: F32::new(momentum) };
		let muon = |c: &mut RunConfig| c.train.optimizer = with(0.95);
		let mut config = config();
		muon(&mut config);
		let run = create(config);
		assert_eq!(Runs::<Test>::get(run).expect("a run").config.train.optimizer, with(0.95));
		refused(|c| c.train.optimizer = with(1.0), Error::BadOptimizer);
		let adapter = Adapter { base: [1; 32], rank: 4, alpha: F32::new(8.0), projections: Projections::ALL };
		refused(|c| (c.train.adapter, c.train.optimizer) = (Some(adapter), with(0.95)), Error::BadOptimizer);
		refused(|c| (c.model.layers, c.train.optimizer) = (34, with(0.95)), Error::ModelTooLarge);
	});
}

#[test]
fn a_deep_model_is_refused_before_its_plan_is_made() {
	build_and_execute(|| {
		// Few enough parameters, but millions of tensors.
		let deep = ModelConfig { layers: 200_000, ..config().model };
		assert_eq!(deep.validate(), Err(ConfigError::TooLarge));
		refused(|c| c.model.layers = 200_000, Error::ModelTooLarge);
		refused(|c| c.model.layers = 129, Error::ModelTooLarge);
		refused(|c| (c.model.family, c.model.layers) = (Family::Qwen2, 97), Error::ModelTooLarge);
	});
	// The bound takes little away: the smallest step of the narrowest model a few layers deeper would have too many nodes.
	let model = ModelConfig { layers: 129, heads: 1, kv_heads: 1, ffn: 32, vocab: 32, ..config().model };
	let train = TrainConfig { batch: 1, ..config().train };
	assert_eq!(train.validate(&model), Err(ConfigError::TooLarge));
	assert_eq!(train.validate(&ModelConfig { layers: 128, ..model }), Ok(()));
}

#[test]
fn the_dataset_must_be_active_and_fit_the_model() {
	build_and_execute(|| {
		refused(|c| c.dataset = 99, Error::DatasetNotActive);
	});
}

#[test]
fn a_run_has_the_vocabulary_and_the_tokenizer_of_its_dataset() {
	build_and_execute(|| {
		refused(|c| c.model.vocab = 32, Error::WrongVocabulary);
		refused(|c| c.model.vocab = 96, Error::WrongVocabulary);
		refused(|c| c.tokenizer.tokens.usable = 61, Error::WrongVocabulary);
		refused(|c| c.tokenizer.root = DATASET_ROOT, Error::WrongVocabulary);
		Sets::mutate(|sets| sets.get_mut(&DATASET).expect("the dataset of the mock").1 = 96);
		refused(|_| (), Error::WrongVocabulary);
		let wide = RunConfig { model: ModelConfig { vocab: 96, ..config().model }, ..config() };
		create(wide);
	});
}

#[test]
fn a_dataset_must_hold_the_windows_of_a_full_round() {
	build_and_execute(|| {
		// 64 training windows; a participant draws 4 * 2.
		refused(|c| c.max_participants = 9, Error::DatasetTooSmall);
		create(RunConfig { max_participants: 8, ..config() });
	});
}

#[test]
fn the_held_out_shards_must_hold_the_validation_windows() {
	build_and_execute(|| {
		refused(|c| c.train.validation_sequences = 9, Error::HeldOutTooSmall);
		let mut config = config();
		config.train.validation_sequences = 8;
		create(config);
	});
}

#[test]
fn a_run_is_masked_if_its_dataset_is() {
	build_and_execute(|| {
		let masked = || {
			let mut config = config();
			config.train.masked = true;
			config
		};
		assert_noop!(Training::create_run(signed(SPONSOR), masked()), Error::<Test>::WrongMask);
		Masked::set(true);
		assert_noop!(Training::create_run(signed(SPONSOR), config()), Error::<Test>::WrongMask);
		create(masked());
		assert!(Runs::<Test>::get(0).expect("a run").config.train.masked);
	});
}

#[test]
fn only_so_many_runs_are_active_at_a_time() {
	build_and_execute(|| {
		(0..3).for_each(|_| {
			create(config());
		});
		assert_noop!(Training::create_run(signed(SPONSOR), config()), Error::<Test>::TooManyRuns);
		assert_ok!(Training::stop_run(signed(SPONSOR), 1));
		create(config());
		assert_eq!(Training::runs(), [0, 1, 2, 3]);
	});
}

#[test]
fn identifiers_of_runs_do_not_wrap() {
	build_and_execute(|| {
		crate::NextRun::<Test>::put(u32::MAX);
		assert_noop!(Training::create_run(signed(SPONSOR), config()), Error::<Test>::RunIdsExhausted);
	});
}

#[test]
fn the_approving_origin_approves_a_run_once() {
	build_and_execute(|| {
		let run = create(config());
		assert_noop!(Training::approve_run(signed(SPONSOR), run), DispatchError::BadOrigin);
		assert_ok!(Training::approve_run(RuntimeOrigin::root(), run));
		assert!(happened(Event::RunApproved { run }));
		assert!(Training::run(run).unwrap().approved);
		assert_noop!(Training::approve_run(RuntimeOrigin::root(), run), Error::<Test>::AlreadyApproved);
		assert_noop!(Training::approve_run(RuntimeOrigin::root(), 9), Error::<Test>::UnknownRun);
		assert_ok!(Training::stop_run(signed(SPONSOR), run));
		assert_noop!(Training::approve_run(RuntimeOrigin::root(), run), Error::<Test>::RunFinished);
	});
}

#[test]
fn a_sponsor_stops_its_run_and_nobody_else_does() {
	build_and_execute(|| {
		let (first, second) = (create(config()), create(config()));
		assert_noop!(Training::stop_run(signed(worker(1)), first), Error::<Test>::NotSponsor);
		assert_noop!(Training::stop_run(signed(STOPPER), first), Error::<Test>::NotSponsor);
		assert_noop!(Training::stop_run(RuntimeOrigin::root(), first), DispatchError::BadOrigin);
		assert_noop!(Training::stop_run(signed(SPONSOR), 9), Error::<Test>::UnknownRun);
		assert_ok!(Training::stop_run(signed(SPONSOR), first));
		assert_ok!(Training::stop_run(signed(SPONSOR), second));
		assert_noop!(Training::stop_run(signed(SPONSOR), first), Error::<Test>::RunFinished);
		assert_noop!(join(&worker(1), first), Error::<Test>::RunFinished);
		assert_eq!(Sets::get()[&DATASET].2, 0);
		assert_eq!(FinishedRuns::get(), [first, second]);
		assert_eq!(Training::run(first).unwrap().status, RunStatus::Finished);
		assert_eq!(Training::round(first), None);
		let checkpoint = H256::repeat_byte(0xff);
		assert!(happened(Event::RunFinished { run: first, rounds: 0, checkpoint, stopped: true }));
	});
}

#[test]
fn stopping_in_mid_round_voids_what_was_proven() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		commit_all(run, &workers);
		reveal_all(run, &workers[..2]);
		assert_eq!(fate(&workers[0], run, 0), Some(Fate::Pending));
		assert_ok!(Training::stop_run(signed(SPONSOR), run));
		assert_eq!((fate(&workers[0], run, 0), fate(&workers[1], run, 0)), (Some(Fate::Void), Some(Fate::Void)));
		assert_eq!(fate(&workers[2], run, 0), None);
		assert_eq!(notes(&workers[0]), (0, 0));
		skip(100);
		assert_eq!(Training::members(run), []);
	});
}

#[test]
fn a_finished_run_is_removed_by_its_sponsor_after_the_history_period() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		full_round(run, &workers, 1);
		full_round(run, &workers, 2);
		assert_noop!(Training::remove_run(signed(SPONSOR), run, 9), Error::<Test>::RunActive);
		assert_ok!(Training::stop_run(signed(SPONSOR), run));
		skip(19);
		assert_noop!(Training::remove_run(signed(SPONSOR), run, 9), Error::<Test>::HistoryNeeded);
		skip(1);
		assert_noop!(Training::remove_run(signed(worker(1)), run, 9), Error::<Test>::NotSponsor);
		assert_noop!(Training::remove_run(signed(SPONSOR), 9, 9), Error::<Test>::UnknownRun);

		assert_ok!(Training::remove_run(signed(SPONSOR), run, 1));
		assert!(happened(Event::HistoryRemoved { run, records: 1 }));
		assert_eq!(Records::<Test>::iter_key_prefix(run).count(), 1);
		assert_eq!(Balances::total_balance_on_hold(&SPONSOR), 1_300);
		Owned::mutate(|owned| owned.insert(run));
		assert_ok!(Training::remove_run(signed(SPONSOR), run, 1));
		assert!(happened(Event::RunRemoved { run }));
		// The model stays.
		assert_eq!(Balances::balance_on_hold(&HoldReason::Model.into(), &SPONSOR), 40);
		assert_eq!(Balances::total_balance_on_hold(&SPONSOR), 40);
		assert!(!Runs::<Test>::contains_key(run));
		assert_noop!(Training::remove_run(signed(SPONSOR), run, 1), Error::<Test>::UnknownRun);
	});
}

#[test]
fn nothing_stays_on_hold_for_a_model_that_nobody_got_shares_of() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		full_round(run, &workers, 1);
		assert_ok!(Training::stop_run(signed(SPONSOR), run));
		skip(20);
		Owned::mutate(|owned| owned.insert(run + 1));
		assert_ok!(Training::remove_run(signed(SPONSOR), run, 9));
		assert_eq!(Balances::total_balance_on_hold(&SPONSOR), 0);
	});
}

#[test]
fn a_limit_of_zero_removes_a_run_without_history() {
	build_and_execute(|| {
		let run = create(config());
		assert_ok!(Training::stop_run(signed(SPONSOR), run));
		skip(20);
		assert_ok!(Training::remove_run(signed(SPONSOR), run, 0));
		assert!(Training::runs().is_empty());
		assert_eq!(Balances::total_balance_on_hold(&SPONSOR), 0, "there is no model");
	});
}
