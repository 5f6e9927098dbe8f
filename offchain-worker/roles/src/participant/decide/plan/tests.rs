//! Tests of joining, and of a worker that is late, dropped or leaving.

use super::*;
use crate::{
	journal::PendingWork,
	participant::decide::view::{uptime_hour, NextCheckpoint},
};
use neuroshard_types::{
	dataset::Tokenizer,
	run::{Attestation, MissingReport, PhaseDurations, RunConfig, RunStart, RunView, Work, REPORTED_FOR},
	AccountId, Aggregator, ModelConfig, TrainConfig, F32, NEURO,
};
use std::collections::{BTreeMap, BTreeSet};

mod bridge;
mod overlap;
mod redone;
mod round;

const ME: u8 = 2;
const CHECKPOINT: H256 = H256::repeat_byte(0xc0);
const SEED: H256 = H256::repeat_byte(0x5e);
const EARLIER: H256 = H256::repeat_byte(0x91);
pub const SEAL: H256 = H256::repeat_byte(0x5a);

fn account(byte: u8) -> AccountId {
	AccountId::new([byte; 32])
}

fn delta(byte: u8) -> H256 {
	H256::repeat_byte(0xd0 + byte)
}

fn work(byte: u8) -> Work {
	Work { state_roots: vec![H256::repeat_byte(1)].try_into().unwrap(), delta_root: delta(byte), delta_bytes: 4096, tokens: 10 }
}

fn participant(byte: u8) -> ParticipantView {
	ParticipantView { account: account(byte), sealed: None, work: None, vote: None, attestation: None, included: false, counted: true }
}

fn config() -> RunConfig {
	let zero = F32::new(0.0);
	RunConfig {
		name: b"test".to_vec().try_into().unwrap(),
		dataset: 0,
		model: ModelConfig {
			vocab: 32,
			dim: 32,
			layers: 1,
			heads: 1,
			kv_heads: 1,
			ffn: 32,
			max_seq: 32,
			tied: true,
			norm_eps: zero,
			..ModelConfig::tiny()
		},
		train: TrainConfig {
			arithmetic_version: 1,
			seed: [1; 32],
			batch: 1,
			seq_len: 32,
			inner_steps: 1,
			commit_interval: 1,
			lr: zero,
			lr_min: zero,
			warmup_steps: 0,
			total_steps: 0,
			beta1: zero,
			beta2: zero,
			eps: zero,
			weight_decay: zero,
			clip: zero,
			outer_lr: zero,
			outer_beta: zero,
			aggregator: Aggregator::Mean,
			validation_sequences: 1,
			masked: false,
			adapter: None,
			products: Default::default(),
			optimizer: Default::default(),
		},
		genesis_root: H256::repeat_byte(0x90),
		start: RunStart::Seed,
		min_participants: 2,
		max_participants: 4,
		min_bond: NEURO,
		rounds: Some(4),
		durations: PhaseDurations { joining: 5, training: 50, revealing: 10, availability: 20, checkpointing: 20 },
		tokenizer: Tokenizer::BYTES,
		overlaps: false,
		epochs: true,
	}
}

/// Plans where nothing is barred.
pub fn plan(chain: &ChainView, local: &LocalState) -> Option<Task> {
	plan_without(chain, local, |_| false)
}

/// Training of the round at hand, in this place.
fn train(chain: &ChainView, position: u32) -> Task {
	let round = chain.run.as_ref().and_then(|run| run.round.as_ref()).unwrap();
	Task::Train { drawn: Drawn { round: round.round, attempt: round.attempt, seed: round.seed, start: round.start, base: None, position } }
}

/// Three participants of whom the second is this worker, with the checkpoint in hand and nothing done yet.
pub fn training() -> (ChainView, LocalState) {
	let round = RoundView {
		round: 1,
		attempt: 0,
		phase: Phase::Training,
		deadline: Some(100),
		checkpoint: CHECKPOINT,
		start: CHECKPOINT,
		seed: SEED,
		started_at: (40, 0),
		participants: vec![participant(1), participant(ME), participant(3)],
		late: Vec::new(),
		ahead: None,
		bridge: None,
	};
	let view = RunView {
		sponsor: account(9),
		config: config(),
		status: RunStatus::Active,
		approved: true,
		rounds_adopted: 1,
		checkpoint: CHECKPOINT,
		joining: vec![],
	};
	let chain = ChainView {
		best: 50,
		me: account(ME),
		active: true,
		challenge: None,
		bond: NEURO,
		run: Some(RunState {
			id: 7,
			view,
			round: Some(round),
			job: None,
			members: [1, ME, 3].map(account).to_vec(),
			finalized_seal: None,
			finalized_place: None,
			next_join: None,
			reported: vec![],
		}),
		hour: Some(10),
		claimable: 0,
		free: NEURO,
		reserve: NEURO,
	};
	let local = LocalState {
		mode: Mode::Train,
		checkpoint: Some(CHECKPOINT),
		dataset: Some(0),
		pending: Vec::new(),
		stored: None,
		sibling: None,
		deltas: BTreeMap::new(),
		next: None,
		diverged: Vec::new(),
		missing: Default::default(),
		uptime: Some(10),
		claim_from: NEURO / 100,
		in_a_hurry: false,
		leaving: false,
	};
	(chain, local)
}

#[test]
fn who_could_not_pay_for_a_dispute_claims_nothing_new_and_spends_nothing_it_need_not() {
	let (mut chain, mut local) = training();
	chain.free = chain.reserve - 1;
	assert_eq!(plan(&chain, &local), Some(Task::Leave));
	let me = chain.me.clone();
	run(&mut chain).members.retain(|member| *member != me);
	local.uptime = chain.hour.map(|hour| hour - 1);
	assert_eq!(plan(&chain, &local), None, "neither trains nor joins nor proves uptime");
	chain.claimable = NEURO;
	assert_eq!(plan(&chain, &local), Some(Task::Claim), "that is what it needs");
	// What is committed to is finished: it would be missed.
	local.pending = vec![PendingWork { run: 7, round: 1, seed: SEED, seal: SEAL, bridged: None }];
	assert_eq!(plan(&chain, &local), Some(Task::Commit));
	chain.free = chain.reserve;
	round(&mut chain).participants.clear();
	assert_eq!(plan(&chain, &local), Some(Task::Join));
}

fn run(chain: &mut ChainView) -> &mut RunState {
	chain.run.as_mut().unwrap()
}

fn round(chain: &mut ChainView) -> &mut RoundView {
	run(chain).round.as_mut().unwrap()
}

fn me(chain: &mut ChainView) -> &mut ParticipantView {
	&mut round(chain).participants[1]
}

/// Its work of the round is done, and sealed with [`SEAL`].
pub fn trained(local: &mut LocalState) {
	local.pending = vec![PendingWork { run: 7, round: 1, seed: SEED, seal: SEAL, bridged: None }];
	local.deltas.insert(delta(ME), Delta::Held);
}

/// Everybody has revealed; this worker holds its own delta.
fn revealed_by_all(phase: Phase) -> (ChainView, LocalState) {
	let (mut chain, mut local) = training();
	trained(&mut local);
	round(&mut chain).phase = phase;
	for (one, byte) in round(&mut chain).participants.iter_mut().zip([1, ME, 3]) {
		one.sealed = Some(SEAL);
		one.work = Some(work(byte));
	}
	(chain, local)
}

/// The outer step of the round with these deltas.
fn single(included: Vec<H256>) -> OuterJob {
	OuterJob { first_round: 1, start: CHECKPOINT, steps: vec![included], inner_steps: vec![] }
}

/// Everybody is included, and all deltas are held.
fn checkpointing() -> (ChainView, LocalState) {
	let (mut chain, mut local) = revealed_by_all(Phase::Checkpointing);
	for (one, byte) in round(&mut chain).participants.iter_mut().zip([1, ME, 3]) {
		one.included = true;
		local.deltas.insert(delta(byte), Delta::Held);
	}
	run(&mut chain).job = Some(single([1, ME, 3].map(delta).to_vec()));
	(chain, local)
}

fn stepped(local: &mut LocalState, job: OuterJob) -> Attestation {
	let attestation = Attestation { checkpoint: H256::repeat_byte(0xc1), validation_loss: F32::new(2.5) };
	local.next = Some(NextCheckpoint { run: 7, job, attestation });
	attestation
}

#[test]
fn a_new_provider_answers_the_chains_test_before_all_else_unless_it_only_serves_or_leaves() {
	let (mut chain, mut local) = training();
	let challenge = H256::repeat_byte(0x7e);
	(chain.active, chain.challenge, local.checkpoint) = (false, Some(challenge), None);
	let test = Task::ProveArithmetic { challenge };
	let fetch = Some(Task::FetchCheckpoint { root: CHECKPOINT });
	assert_eq!(plan(&chain, &local), Some(test.clone()));
	assert_eq!(plan_without(&chain, &local, |task| *task == test), fetch, "a machine that failed still serves");
	local.mode = Mode::ServeOnly;
	assert_eq!(plan(&chain, &local), fetch);
	(local.mode, local.leaving) = (Mode::Train, true);
	assert_eq!(plan(&chain, &local), fetch);
}

#[test]
fn what_a_phase_asks_for_is_given_up_when_the_phase_is_over_and_not_for_what_can_wait() {
	let (chain, _) = training();
	let vote = |bits: u8| Task::Vote { vote: vec![bits].try_into().unwrap() };
	let attest = Task::Attest { attestation: Attestation { checkpoint: H256::zero(), validation_loss: F32::new(1.0) } };
	for act in [Task::Commit, Task::Reveal, vote(1), attest] {
		assert!(act.is_long() && act.is_part_of(Some(&act)) && act.is_part_of(Some(&Task::Leave)));
		assert!(!act.is_part_of(None) && !act.is_part_of(Some(&train(&chain, 1))));
	}
	assert!(vote(1).is_part_of(Some(&vote(3))), "a delta that came since makes no other vote of it");
}

#[test]
fn a_membership_that_ends_holds_up_nothing_of_the_round_at_hand() {
	let (mut chain, mut local) = training();
	trained(&mut local);
	local.leaving = true;
	assert_eq!(plan(&chain, &local), Some(Task::Leave));
	// While that waits for a block.
	let meanwhile = |chain: &ChainView, local: &LocalState| plan_without(chain, local, Task::is_chore);
	assert_eq!(meanwhile(&chain, &local), Some(Task::Commit));
	chain.claimable = NEURO;
	local.uptime = None;
	me(&mut chain).sealed = Some(SEAL);
	assert_eq!(meanwhile(&chain, &local), None);
}

#[test]
fn without_a_run_there_is_nothing_to_train() {
	let (mut chain, local) = training();
	chain.run = None;
	assert_eq!(plan(&chain, &local), None);
}

#[test]
fn a_newcomer_checks_the_genesis_before_it_joins() {
	let (mut chain, mut local) = training();
	local.checkpoint = None;
	run(&mut chain).view.rounds_adopted = 0;
	assert_eq!(plan(&chain, &local), Some(Task::BuildGenesis));
	local.checkpoint = Some(CHECKPOINT);
	round(&mut chain).phase = Phase::Joining;
	round(&mut chain).participants.clear();
	run(&mut chain).members.clear();
	assert_eq!(plan(&chain, &local), Some(Task::Join));
	run(&mut chain).members.push(account(ME));
	assert_eq!(plan(&chain, &local), None, "it waits for the others");
}

#[test]
fn a_first_checkpoint_that_is_given_is_fetched_since_no_seed_gives_it() {
	let (mut chain, mut local) = training();
	local.checkpoint = None;
	let run = run(&mut chain);
	run.view.rounds_adopted = 0;
	run.view.config.start = RunStart::Given { params: H256::zero(), momentum: H256::zero(), of: None };
	assert_eq!(plan(&chain, &local), Some(Task::FetchCheckpoint { root: CHECKPOINT }));
}

#[test]
fn a_late_joiner_fetches_the_checkpoint_before_it_joins() {
	let (mut chain, mut local) = training();
	round(&mut chain).participants.remove(1);
	run(&mut chain).members.remove(1);
	local.checkpoint = Some(H256::repeat_byte(0x90));
	assert_eq!(plan(&chain, &local), Some(Task::FetchCheckpoint { root: CHECKPOINT }));
	local.checkpoint = Some(CHECKPOINT);
	assert_eq!(plan(&chain, &local), Some(Task::Join));
	run(&mut chain).members.push(account(ME));
	assert_eq!(plan(&chain, &local), None, "its turn comes with the next round");
}

#[test]
fn nobody_joins_a_full_run_or_without_the_bond_that_it_asks_for() {
	let (mut chain, local) = training();
	round(&mut chain).participants.remove(1);
	run(&mut chain).members.remove(1);
	chain.active = false;
	assert_eq!(plan(&chain, &local), None);
	chain.active = true;
	chain.bond = NEURO - 1;
	assert_eq!(plan(&chain, &local), None);
	chain.bond = NEURO;
	run(&mut chain).members = (10..14).map(account).collect();
	assert_eq!(plan(&chain, &local), None);
}

#[test]
fn nobody_joins_a_run_whose_dataset_is_out_of_reach() {
	let (mut chain, mut local) = training();
	round(&mut chain).participants.remove(1);
	run(&mut chain).members.remove(1);
	for known in [None, Some(8)] {
		local.dataset = known;
		assert_eq!(plan(&chain, &local), Some(Task::FindDataset { id: 0 }));
	}
	run(&mut chain).next_join = Some(1_000);
	assert_eq!(plan(&chain, &local), None, "nothing is asked of peers before it may join");
	run(&mut chain).next_join = None;
	local.dataset = Some(0);
	assert_eq!(plan(&chain, &local), Some(Task::Join));
}

#[test]
fn nobody_pays_for_joins_that_the_chain_would_refuse_while_it_has_to_wait() {
	let (mut chain, local) = training();
	round(&mut chain).participants.remove(1);
	run(&mut chain).members.remove(1);
	run(&mut chain).next_join = Some(1_000);
	assert_eq!(plan(&chain, &local), None);
	run(&mut chain).next_join = None;
	assert_eq!(plan(&chain, &local), Some(Task::Join));
}

#[test]
fn a_dropped_participant_asks_to_come_back_and_does_nothing_else() {
	for phase in [Phase::Training, Phase::Revealing, Phase::Availability, Phase::Checkpointing] {
		let (mut chain, mut local) = revealed_by_all(phase);
		me(&mut chain).counted = false;
		run(&mut chain).members.remove(1);
		assert_eq!(plan(&chain, &local), Some(Task::Join), "{phase:?}");
		run(&mut chain).members.push(account(ME));
		assert_eq!(plan(&chain, &local), None, "{phase:?}");
		local.leaving = true;
		assert_eq!(plan(&chain, &local), Some(Task::Leave), "{phase:?}");
	}
}

#[test]
fn leaving_ends_the_membership_at_once_and_finishes_the_round_at_hand() {
	let (mut chain, mut local) = training();
	local.leaving = true;
	assert_eq!(plan(&chain, &local), Some(Task::Leave));
	run(&mut chain).members.remove(1);
	assert_eq!(plan(&chain, &local), Some(train(&chain, 1)));
	round(&mut chain).participants.remove(1);
	assert_eq!(plan(&chain, &local), None, "it does not join again");
}

#[test]
fn a_finished_run_leaves_only_its_last_checkpoint_to_get() {
	let (mut chain, mut local) = training();
	run(&mut chain).view.status = RunStatus::Finished;
	run(&mut chain).round = None;
	assert_eq!(plan(&chain, &local), None);
	local.checkpoint = None;
	assert_eq!(plan(&chain, &local), Some(Task::FetchCheckpoint { root: CHECKPOINT }));
}

#[test]
fn a_round_of_a_run_that_is_stopped_is_given_up_at_once() {
	let (mut chain, local) = training();
	let task = plan(&chain, &local).expect("it trains");
	assert_eq!(task, train(&chain, 1));
	run(&mut chain).view.status = RunStatus::Finished;
	run(&mut chain).round = None;
	let now = plan(&chain, &local);
	assert!(!task.is_part_of(now.as_ref()) && has_left(&chain), "whoever stopped it");
}

#[test]
fn a_serving_node_keeps_up_with_checkpoints_and_takes_no_part() {
	let (mut chain, mut local) = training();
	local.mode = Mode::ServeOnly;
	assert_eq!(plan(&chain, &local), None);
	run(&mut chain).view.checkpoint = H256::repeat_byte(0xc1);
	assert_eq!(plan(&chain, &local), Some(Task::FetchCheckpoint { root: H256::repeat_byte(0xc1) }));
}

#[test]
fn each_account_proves_its_uptime_at_a_moment_of_its_own_in_every_hour() {
	const HOUR: u64 = 3_600_000;
	// The first four bytes are its moment in milliseconds, up to 10 minutes.
	let account = |own: u32| {
		let mut bytes = [9; 32];
		bytes[..4].copy_from_slice(&own.to_le_bytes());
		AccountId::new(bytes)
	};
	for (own, moment) in [(0, 0_u64), (1, 1), (599_999, 599_999), (600_000, 0), (600_007, 7)] {
		let hour = |in_hour| uptime_hour(5 * HOUR + in_hour, &account(own));
		assert_eq!(moment.checked_sub(1).and_then(hour), None, "{own}");
		assert_eq!((hour(moment), hour(HOUR - 1), hour(HOUR + moment)), (Some(5), Some(5), Some(6)), "{own}");
	}
}

#[test]
fn money_and_uptime_wait_for_the_round() {
	let (mut chain, mut local) = training();
	chain.claimable = NEURO;
	chain.hour = Some(11);
	assert_eq!(plan(&chain, &local), Some(train(&chain, 1)));
	me(&mut chain).sealed = Some(SEAL);
	assert_eq!(plan(&chain, &local), Some(Task::Claim));
	chain.claimable = NEURO / 1000;
	assert_eq!(plan(&chain, &local), Some(Task::ProveUptime { hour: 11 }));
	local.uptime = Some(11);
	assert_eq!(plan(&chain, &local), None);
}

#[test]
fn what_the_chain_refuses_does_not_hold_up_the_rest() {
	let (mut chain, local) = training();
	me(&mut chain).counted = false;
	run(&mut chain).members.remove(1);
	chain.claimable = NEURO;
	chain.hour = Some(11);
	assert_eq!(plan(&chain, &local), Some(Task::Join));
	let without_join = |task: &Task| *task == Task::Join;
	assert_eq!(plan_without(&chain, &local, without_join), Some(Task::Claim));
	let without_both = |task: &Task| matches!(task, Task::Join | Task::Claim);
	assert_eq!(plan_without(&chain, &local, without_both), Some(Task::ProveUptime { hour: 11 }));
}

#[test]
fn an_adopted_checkpoint_that_is_not_in_memory_any_more_is_loaded_from_elsewhere() {
	let (mut chain, mut local) = checkpointing();
	let attestation = stepped(&mut local, single(vec![delta(1)]));
	run(&mut chain).view.checkpoint = attestation.checkpoint;
	assert_eq!(plan(&chain, &local), Some(Task::Adopt { root: attestation.checkpoint }));
	local.unloaded();
	assert_eq!(plan(&chain, &local), Some(Task::FetchCheckpoint { root: attestation.checkpoint }));
}

#[test]
fn nothing_to_claim_is_never_claimed() {
	let (mut chain, mut local) = training();
	chain.run = None;
	local.claim_from = 0;
	assert_eq!(plan(&chain, &local), None);
}

#[test]
fn a_leaver_has_left_when_neither_round_nor_run_counts_on_it() {
	let (mut chain, _) = training();
	assert!(!has_left(&chain));
	run(&mut chain).members.remove(1);
	assert!(!has_left(&chain), "the round at hand is finished first");
	me(&mut chain).counted = false;
	assert!(has_left(&chain));
	chain.run = None;
	assert!(has_left(&chain));
}

#[test]
fn who_is_asked_to_leave_says_which_round_comes_first() {
	let (mut chain, _) = training();
	assert!(farewell(&chain).contains("finishes round 1 first"), "{}", farewell(&chain));
	me(&mut chain).counted = false;
	assert!(farewell(&chain).contains("no part in another round"), "a dropout has nothing to finish");
	chain.run = None;
	assert!(farewell(&chain).contains("takes the bond out"));
}

#[test]
fn a_long_task_goes_on_while_the_plan_wants_some_of_it() {
	let (one, two) = ((1, delta(1)), (1, delta(3)));
	let fetch = |wanted: &[(RoundIndex, H256)]| Task::FetchDeltas { wanted: wanted.to_vec() };
	let both = fetch(&[one, two]);
	assert!(!fetch(&[one]).is_part_of(Some(&both)), "the second one does not wait for the first");
	assert!(both.is_part_of(Some(&fetch(&[one]))), "the other one has come meanwhile");
	assert!(!fetch(&[one]).is_part_of(Some(&fetch(&[two]))));
	let (chain, _) = training();
	let [other, train] = [0, 1].map(|position| train(&chain, position));
	assert!(train.is_long() && train.is_part_of(Some(&train)));
	assert!(!train.is_part_of(Some(&other)));
	assert!(!train.is_part_of(None));
	assert!(train.is_part_of(Some(&Task::Leave)), "whoever leaves finishes its round");
	assert!(Task::Join.is_long() && !Task::Join.is_part_of(None), "it would pay for a refusal");
}

#[test]
fn whoever_has_acted_reports_those_whom_a_phase_waits_for_once_all_of_them_are_missing() {
	for phase in [Phase::Training, Phase::Revealing, Phase::Availability] {
		let (mut chain, mut local) = training();
		round(&mut chain).phase = phase;
		local.deltas.insert(H256::repeat_byte(7), Delta::Held);
		let act = |one: &mut ParticipantView| {
			let delta_root = H256::repeat_byte(7);
			let work = Work { state_roots: Default::default(), delta_root, delta_bytes: 0, tokens: 0 };
			(one.sealed, one.work) = (Some(SEAL), (phase != Phase::Training).then_some(work));
			one.vote = (phase == Phase::Availability).then(VoteBitmap::default);
		};
		local.missing = BTreeSet::from([account(1)]);
		// Its own part comes first.
		assert!(!matches!(plan(&chain, &local), Some(Task::ReportMissing { .. })), "{phase:?}");
		act(me(&mut chain));
		assert_eq!(plan(&chain, &local), None, "the third is at work");
		local.missing.insert(account(3));
		let both = vote_bitmap([true, false, true]).unwrap();
		assert_eq!(plan(&chain, &local), Some(Task::ReportMissing { missing: both.clone() }));
		let report = |byte: u8| MissingReport { who: account(byte), at: 45, missing: both.clone() };
		run(&mut chain).reported = vec![report(3)];
		assert_eq!(plan(&chain, &local), Some(Task::ReportMissing { missing: both.clone() }));
		run(&mut chain).reported = vec![report(3), report(ME)];
		assert_eq!(plan(&chain, &local), None, "it has said so");
		chain.best = 45 + REPORTED_FOR;
		assert_eq!(plan(&chain, &local), Some(Task::ReportMissing { missing: both.clone() }), "that counts no more");
		(chain.best, chain.free) = (50, chain.reserve - 1);
		run(&mut chain).reported = vec![];
		assert!(!matches!(plan(&chain, &local), Some(Task::ReportMissing { .. })), "disputes come first");
		chain.free = chain.reserve;
		act(&mut round(&mut chain).participants[2]);
		let missing = vote_bitmap([true, false, false]).unwrap();
		assert_eq!(plan(&chain, &local), Some(Task::ReportMissing { missing }));
		round(&mut chain).participants[0].counted = false;
		assert_eq!(plan(&chain, &local), None, "nobody is waited for");
	}
	let (mut chain, mut local) = training();
	local.missing = BTreeSet::from([account(1), account(3)]);
	round(&mut chain).phase = Phase::Joining;
	assert_eq!(plan(&chain, &local), None);
}
