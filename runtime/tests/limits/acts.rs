//! Acts of participants in rounds of training.

use super::*;
use frame_support::traits::fungible::Mutate;
use neuroshard_runtime::Balances;
use neuroshard_types::{
	dataset::{DatasetShape, Tokenizer},
	proof::{Proof, ProofKey, ProofKind},
	provider::{Role, Roles},
	run::{vote_bitmap, Attestation, Phase, PhaseDurations, RunConfig, RunStart, Work},
	ModelConfig, TrainConfig, F32, MAX_PARTICIPANTS, MAX_STATE_ROOTS,
};
use pallet_neuro_disputes::FIRST;
use pallet_neuro_staking::{Provider, Providers};
use pallet_neuro_training::{Call, Commitment, Participant, Refusals, Round, Rounds, Run, Runs, Stage};

const RUN: u32 = 3;
const PHASES: [Phase; 4] = [Phase::Training, Phase::Revealing, Phase::Availability, Phase::Checkpointing];
const BOND: Balance = 100 * NEURO;

/// Participant number `number`, the first of which is [`SOMEBODY`].
fn participant(number: u32) -> AccountId {
	let mut bytes = [7; 32];
	bytes[28..].copy_from_slice(&(0x0707_0707 + number).to_be_bytes());
	AccountId::new(bytes)
}

/// A round in `phase` until block 9 of an approved run, all of whose participants have done what came before.
fn in_a_round(phase: Phase) {
	let config = RunConfig {
		name: b"run".to_vec().try_into().expect("a short name"),
		dataset: 0,
		model: ModelConfig::tiny(),
		train: TrainConfig::tiny(),
		genesis_root: H256::zero(),
		start: RunStart::Seed,
		min_participants: 1,
		max_participants: MAX_PARTICIPANTS,
		min_bond: BOND,
		rounds: None,
		durations: PhaseDurations { joining: 1, training: 9, revealing: 9, availability: 9, checkpointing: 9 },
		tokenizer: Tokenizer::BYTES,
		overlaps: false,
		epochs: true,
	};
	let run = Run {
		sponsor: SOMEBODY,
		deposit: 0,
		config,
		shape: DatasetShape { tokens_per_shard: 4_096, shard_count: 4, held_out: 1 },
		dataset_root: H256::zero(),
		approved: true,
		rounds_adopted: 2,
		checkpoint: H256::zero(),
		replay: None,
		spans: Default::default(),
		finished_at: None,
	};
	Runs::<Runtime>::insert(RUN, run);
	let place = |number| {
		let who = participant(number);
		Balances::set_balance(&who, 1_000 * NEURO);
		Providers::<Runtime>::insert(&who, Provider::new(provider::info(Roles::only(Role::Worker), 1), BOND, H256::zero()));
		let mut place = Participant::new(who, BOND, true);
		place.commitment = (phase != Phase::Training).then_some(Commitment { sealed: H256::zero(), at: 0 });
		place.delta_root = matches!(phase, Phase::Availability | Phase::Checkpointing).then(|| H256::from_low_u64_be(number.into()));
		place.included = phase == Phase::Checkpointing;
		place.vote = place.included.then(Default::default);
		place
	};
	let stage = match phase {
		Phase::Joining => Stage::Joining,
		Phase::Training => Stage::Training,
		Phase::Revealing => Stage::Revealing,
		Phase::Availability => Stage::Availability { repeats: 0 },
		Phase::Checkpointing => Stage::Checkpointing { repeats: 0, next: Default::default() },
	};
	let participants = (0..MAX_PARTICIPANTS).map(place).collect::<Vec<_>>().try_into().expect("as many as there can be");
	Rounds::<Runtime>::insert(RUN, Round { stage, participants, ..Round::joining(2, 1, Some(9)) });
}

/// Returns the act that `phase` asks for, as long as it can be.
fn act(phase: Phase) -> RuntimeCall {
	let (run, round, attempt) = (RUN, 2, 1);
	let call = match phase {
		Phase::Joining => Call::join { run },
		Phase::Training => Call::commit { run, round, attempt, sealed: H256([7; 32]) },
		Phase::Revealing => {
			let state_roots = vec![H256([7; 32]); MAX_STATE_ROOTS as usize].try_into().expect("as many as there can be");
			let work = Work { state_roots, delta_root: H256([7; 32]), delta_bytes: 1, tokens: 1 };
			let proof = Proof { key: ProofKey { run, round, kind: ProofKind::Training }, timestamp: 1, work_hash: H256([7; 32]) };
			Call::reveal { run, round, attempt, salt: [7; 32], work, proof, proof_signature: [7; 65] }
		}
		Phase::Availability => Call::vote_availability { run, round, attempt, vote: vote_bitmap([true; 128]).expect("128 bits") },
		Phase::Checkpointing => {
			Call::attest { run, round, attempt, attestation: Attestation { checkpoint: H256([7; 32]), validation_loss: F32::new(1.0) } }
		}
	};
	call.into()
}

fn change(change: impl FnOnce(&mut Run, &mut Round)) {
	let (mut run, mut round) = (Runs::<Runtime>::get(RUN).expect("the run"), Rounds::<Runtime>::get(RUN).expect("its round"));
	change(&mut run, &mut round);
	Runs::<Runtime>::insert(RUN, run);
	Rounds::<Runtime>::insert(RUN, round);
}

#[test]
fn what_all_participants_have_to_do_finds_room_in_a_block_that_ordinary_extrinsics_have_filled() {
	// Two blocks take the votes of as many as there can be, and one all else.
	for (phase, least) in PHASES.into_iter().zip([128, 128, 64, 128]) {
		in_a_full_block(|| {
			in_a_round(phase);
			let admitted = (0..MAX_PARTICIPANTS).filter(|number| admit_of(&participant(*number), &act(phase)).is_ok()).count();
			assert!(admitted >= least, "{admitted} in {phase:?}");
			let remark = RuntimeCall::System(SystemCall::remark { remark: Vec::new() });
			assert_eq!(admit(&remark).err(), Some(InvalidTransaction::ExhaustsResources.into()));
		});
	}
}

#[test]
fn acts_take_no_more_than_their_share_and_leave_moves_theirs() {
	in_an_empty_block(|| {
		in_a_round(Phase::Availability);
		let vote = act(Phase::Availability);
		let admitted = (0..MAX_PARTICIPANTS).take_while(|number| admit_of(&participant(*number), &vote).is_ok()).count();
		let time = known_of(&vote).0.total_weight().ref_time();
		assert_eq!(admitted as u64, 250_000_000_000 / time);
		assert_eq!(admit_of(&participant(MAX_PARTICIPANTS - 1), &vote).err(), Some(InvalidTransaction::ExhaustsResources.into()));
		assert_ok!(admit(&pallet_neuro_disputes::Call::seal_audit { run: 1, round: 1, sealed: H256([7; 32]) }.into()).map(drop));
	});
}

#[test]
fn a_pool_puts_acts_that_are_due_before_all_else_and_keeps_one_of_each_account() {
	for phase in PHASES {
		in_an_empty_block(|| {
			in_a_round(phase);
			let call = act(phase);
			let (due, paying) = (valid(&call, 0), valid(&call, NEURO));
			assert!(FIRST <= due.priority && due.priority < paying.priority);
			let remark = RuntimeCall::System(SystemCall::remark { remark: Vec::new() });
			assert!(valid(&remark, 900 * NEURO).priority < due.priority);
			// Two of them exclude each other, whatever they say.
			assert_eq!((due.provides.len(), &due.provides), (1, &paying.provides));
			let other = RuntimeCall::from(Call::commit { run: RUN, round: 2, attempt: 1, sealed: H256::zero() });
			assert_eq!(phase == Phase::Training, valid(&other, 0).provides == due.provides);
			// In a batch it may be made as well, like any other call.
			let carried = RuntimeCall::from(pallet_utility::Call::batch { calls: vec![call] });
			assert!(valid(&carried, 0).priority < FIRST);
		});
	}
}

/// Checks that an act is ordinary, in the pool and in blocks, if the round is changed like this.
fn is_ordinary(phase: Phase, why: &str, changed: fn(&mut Run, &mut Round)) {
	in_a_full_block(|| {
		in_a_round(phase);
		change(changed);
		assert_eq!(admit(&act(phase)).err(), Some(InvalidTransaction::ExhaustsResources.into()), "{why} in {phase:?}");
	});
	in_an_empty_block(|| {
		in_a_round(phase);
		change(changed);
		let known = valid(&act(phase), 0);
		assert!(known.priority < FIRST && known.provides.is_empty(), "{why} in {phase:?}");
		assert_ok!(admit(&act(phase)).map(drop));
	});
}

#[test]
fn what_the_chain_would_not_take_has_the_place_of_ordinary_extrinsics() {
	for phase in PHASES {
		is_ordinary(phase, "a run that was not approved", |run, _| run.approved = false);
		is_ordinary(phase, "a run that is over", |run, _| run.finished_at = Some(1));
		is_ordinary(phase, "another round", |_, round| round.round = 3);
		is_ordinary(phase, "another attempt", |_, round| round.attempt = 2);
		is_ordinary(phase, "another phase", |_, round| round.stage = Stage::Joining);
		is_ordinary(phase, "a dropout", |_, round| round.participants[0].counted = false);
		is_ordinary(phase, "a stake that is gone", |_, round| round.participants[0].stake = BOND + 1);
		is_ordinary(phase, "no participant", |_, round| {
			round.participants = round.participants[1..].to_vec().try_into().expect("fewer");
		});
		is_ordinary(phase, "done before", |_, round| {
			let first = &mut round.participants[0];
			first.commitment = Some(Commitment { sealed: H256::zero(), at: 0 });
			(first.delta_root, first.vote) = (Some(H256::zero()), Some(Default::default()));
			first.attestation = Some(Attestation { checkpoint: H256::zero(), validation_loss: F32::new(0.0) });
		});
	}
}

/// Makes this call as a block does with it, signed by [`SOMEBODY`]. Whether it was refused.
fn fails(call: &RuntimeCall) -> bool {
	let (info, bytes) = known_of(call);
	by_class().dispatch_transaction(RuntimeOrigin::signed(SOMEBODY), call.clone(), &info, bytes, 0).expect("a place").is_err()
}

#[test]
fn an_act_that_is_refused_in_its_block_is_the_only_one_that_had_room_in_its_phase() {
	in_an_empty_block(|| {
		in_a_round(Phase::Revealing);
		let reveal = act(Phase::Revealing);
		assert!(valid(&reveal, 0).priority >= FIRST);
		let before = *System::block_weight().get(DispatchClass::Operational);
		assert!(fails(&reveal), "it opens no commitment");
		let after = *System::block_weight().get(DispatchClass::Operational);
		assert!(before.ref_time() < after.ref_time());
		// What follows, in this block and in all others of the phase, is ordinary.
		pallet_neuro_disputes::Taken::<Runtime>::kill();
		assert!(valid(&reveal, 900 * NEURO).priority < FIRST);
		assert!(fails(&reveal));
		assert_eq!(*System::block_weight().get(DispatchClass::Operational), after);
		assert_eq!(Refusals::<Runtime>::iter().count(), 1);
		// That of others is not.
		assert_ok!(admit_of(&participant(1), &reveal).map(drop));
		// Neither is the next phase.
		in_a_round(Phase::Availability);
		assert!(valid(&act(Phase::Availability), 0).priority >= FIRST);
	});
}

#[test]
fn an_act_that_is_taken_is_not_noted_and_has_no_second_one() {
	in_an_empty_block(|| {
		in_a_round(Phase::Training);
		assert!(!fails(&act(Phase::Training)));
		assert_eq!(Rounds::<Runtime>::get(RUN).map(|round| round.participants[0].commitment.is_some()), Some(true));
		assert_eq!(Refusals::<Runtime>::iter().count(), 0);
		assert!(valid(&act(Phase::Training), 0).priority < FIRST);
	});
}

#[test]
fn an_act_that_an_operator_signs_has_the_room_of_its_provider() {
	let operator = AccountId::new([9; 32]);
	for phase in PHASES {
		in_a_full_block(|| {
			in_a_round(phase);
			Balances::set_balance(&operator, NEURO);
			let call = act(phase);
			assert_eq!(admit_of(&operator, &call).err(), Some(InvalidTransaction::ExhaustsResources.into()));
			pallet_neuro_staking::Operators::<Runtime>::insert(SOMEBODY, &operator);
			pallet_neuro_staking::OwnerOf::<Runtime>::insert(&operator, SOMEBODY);
			assert_ok!(admit_of(&operator, &call).map(drop));
		});
	}
}
