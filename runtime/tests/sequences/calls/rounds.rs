//! Training runs: their lives, and who takes part in their rounds.

use super::{
	claims,
	governance::{at_once, Body},
	providers::{genesis, sign},
	signed, Act, Deed,
};
use crate::{common::dataset::manifest, sequences::chain::account};
use codec::Encode;
use neuroshard_graph::merkle::blake2_256;
use neuroshard_runtime::{AccountId, Dataset, Runtime, RuntimeOrigin, Timestamp, Training, NEURO};
use neuroshard_types::{
	dataset::Tokenizer,
	proof::{Proof, ProofKey, ProofKind},
	quorum::{Seat, Span},
	run::{seal, vote_bitmap, Attestation, ParticipantView, Phase, PhaseDurations, RoundView, RunConfig, RunStart},
	DatasetId, RunId, F32, H256,
};
use pallet_neuro_dataset::Datasets;
use pallet_neuro_training::{Active, Call, Runs};

/// Salt of every commitment.
const SALT: [u8; 32] = [7; 32];
/// Most runs at a time, so that every one of them gets somewhere.
const RUNS: usize = 2;

pub fn deed(act: &Act) -> Deed {
	let run = run(act);
	match act.what % 32 {
		0 | 1 if Active::<Runtime>::get().len() < RUNS => {
			let rounds = (!act.is_one_in(4)).then_some(3 + u32::from(act.small % 4));
			// Now and then one like that which is there, as for a family.
			let there = Active::<Runtime>::get().first().and_then(|active| Training::run(active.run)).filter(|_| act.is_one_in(2));
			if let Some(there) = there {
				return signed(there.sponsor, Call::create_run { config: config(there.config.dataset, rounds) });
			}
			act.mine(Call::create_run { config: config(act.one_of(active_datasets())?, rounds) })
		}
		2 | 3 => at_once(Body::Council, Call::approve_run { run }),
		4 if act.is_one_in(4) => act.mine(Call::leave { run }),
		5 if act.is_one_in(16) => signed(Training::run(run)?.sponsor, Call::stop_run { run }),
		6 if act.is_one_in(32) => at_once(Body::Committee, Call::force_stop_run { run, reason: Default::default() }),
		6 => family(act),
		7 => switch(act.one_of(Runs::<Runtime>::iter_keys())?),
		8 if act.is_one_in(8) => {
			let (run, sponsor) = act.one_of(Runs::<Runtime>::iter().map(|(id, run)| (id, run.sponsor)))?;
			signed(sponsor, Call::remove_run { run, limit: act.small.into() })
		}
		9..=12 => act.mine(Call::join { run }),
		13 | 14 if act.is_one_in(2) => quorum(act, run),
		_ => step(act, run),
	}
}

/// A member agrees to what its leader has proposed, or somebody proposes to hold a place with another one; now and then with nobody any more.
fn quorum(act: &Act, run: RunId) -> Deed {
	let seats = Training::quorums(run);
	let waiting = act.one_of(seats.iter().filter(|seat| seat.key.is_none()).cloned());
	if let Some(Seat { leader, who, .. }) = waiting.filter(|_| act.amount.is_multiple_of(2)) {
		let proposed: Vec<_> = seats.into_iter().filter(|seat| seat.leader == leader).map(|seat| (seat.who, seat.span)).collect();
		return signed(who, Call::agree_quorum { run, leader, holders: proposed.try_into().ok()? });
	}
	// The end goes with the embedding: both are one matrix.
	let layers = claims::model().layers;
	let (ends, rest) = (Span { first: layers + 1, count: 2 }, Span { first: 1, count: layers });
	let members = Training::members(run);
	let free = act.one_of((0..16).map(account).filter(|who| *who != act.me() && !members.contains(who)));
	let holders = free.filter(|_| !act.amount.is_multiple_of(8)).map(|other| vec![(act.me(), ends), (other, rest)]).unwrap_or_default();
	act.mine(Call::form_quorum { run, holders: holders.try_into().ok()? })
}

/// An active run, if there is any.
fn run(act: &Act) -> RunId {
	act.one_of(Active::<Runtime>::get()).map_or_else(|| (act.small % 4).into(), |active| active.run)
}

/// One of two active runs of a sponsor becomes a cohort beside the other.
fn family(act: &Act) -> Deed {
	let runs: Vec<RunId> = Active::<Runtime>::get().iter().map(|active| active.run).collect();
	let (beside, run) = (act.one_of(runs.clone())?, *runs.last()?);
	signed(Training::run(run)?.sponsor, Call::add_cohort { beside, run })
}

fn active_datasets() -> impl Iterator<Item = DatasetId> {
	let is_active = |id: &DatasetId| <Dataset as neuroshard_types::traits::Datasets>::active(*id).is_some();
	Datasets::<Runtime>::iter_keys().filter(is_active)
}

/// Halts the model, or lifts that.
fn switch(run: RunId) -> Deed {
	let reason = Default::default();
	match Training::halted(run) {
		None => at_once(Body::Committee, Call::halt_model { run, reason }),
		Some(_) => at_once(Body::Council, Call::lift_halt { run, reason }),
	}
}

/// Returns the action of one of those who are waited for, or a report about them.
fn step(act: &Act, id: RunId) -> Deed {
	let round = Training::round(id)?;
	if act.is_one_in(8) {
		return report(act, id, &round);
	}
	let waits = |participant: &&ParticipantView| {
		participant.counted
			&& match round.phase {
				Phase::Joining => false,
				Phase::Training => participant.sealed.is_none(),
				Phase::Revealing => participant.work.is_none(),
				Phase::Availability => participant.vote.is_none(),
				Phase::Checkpointing => participant.attestation.is_none(),
			}
	};
	let who = act.one_of(round.participants.iter().filter(waits).map(|participant| participant.account.clone()));
	let (who, run, attempt) = (who.unwrap_or_else(|| act.me()), id, round.attempt);
	let work = || claims::work(&who, id, round.round, round.checkpoint);
	let number = round.round;
	match round.phase {
		Phase::Joining => act.mine(Call::join { run }),
		Phase::Training => {
			let sealed = seal(genesis(), id, number, attempt, &who, &SALT, &work());
			signed(who, Call::commit { run, round: number, attempt, sealed })
		}
		Phase::Revealing => reveal(who.clone(), id, &round, work()),
		Phase::Availability => {
			let revealed = round.participants.iter().filter(|participant| participant.work.is_some()).count();
			let bits = (0..revealed).map(|place| !act.is_one_in(8) || act.amount >> (place % 32) & 1 == 1);
			signed(who, Call::vote_availability { run, round: number, attempt, vote: vote_bitmap(bits)? })
		}
		Phase::Checkpointing => {
			let value = if act.is_one_in(8) { 1.0 } else { 0.0 };
			let attestation = Attestation { checkpoint: claims::checkpoint(value, number + 1), validation_loss: F32::new(3.5) };
			signed(who, Call::attest { run, round: number, attempt, attestation })
		}
	}
}

/// One of those who have acted reports those who have not.
fn report(act: &Act, run: RunId, round: &RoundView) -> Deed {
	let has_acted = |one: &ParticipantView| match round.phase {
		Phase::Joining => false,
		Phase::Training => one.sealed.is_some(),
		Phase::Revealing => one.work.is_some(),
		Phase::Availability => one.vote.is_some(),
		Phase::Checkpointing => one.attestation.is_some(),
	};
	let who = act.one_of(round.participants.iter().filter(|one| has_acted(one)).map(|one| one.account.clone()))?;
	let missing = vote_bitmap(round.participants.iter().map(|one| one.counted && !has_acted(one)))?;
	let (round, attempt, phase) = (round.round, round.attempt, round.phase);
	signed(who, Call::report_missing { run, round, attempt, phase, missing })
}

fn reveal(who: AccountId, run: RunId, round: &RoundView, work: neuroshard_types::run::Work) -> Deed {
	let proof = Proof {
		key: ProofKey { run, round: round.round, kind: ProofKind::Training },
		timestamp: Timestamp::get(),
		work_hash: H256(blake2_256(&work.encode())),
	};
	let proof_signature = sign(&who, &proof)?;
	let (round, attempt) = (round.round, round.attempt);
	signed(who, Call::reveal { run, round, attempt, salt: SALT, work, proof, proof_signature })
}

fn config(dataset: DatasetId, rounds: Option<u32>) -> RunConfig {
	RunConfig {
		name: b"run".to_vec().try_into().expect("a short name"),
		dataset,
		model: claims::model(),
		train: claims::train(),
		genesis_root: claims::checkpoint(0.0, 0),
		start: RunStart::Seed,
		min_participants: 2,
		max_participants: 4,
		min_bond: 100 * NEURO,
		rounds,
		durations: PhaseDurations { joining: 2, training: 8, revealing: 8, availability: 8, checkpointing: 8 },
		tokenizer: Tokenizer::BYTES,
		overlaps: false,
		epochs: true,
	}
}

/// A dataset and a run that everybody can take part in.
pub fn create_run() {
	let alice = RuntimeOrigin::signed(account(0));
	Dataset::propose(alice.clone(), manifest(0)).expect("a dataset");
	Dataset::activate(alice.clone(), 0).expect("an active dataset");
	Training::create_run(alice, config(0, None)).expect("a run");
	Training::approve_run(RuntimeOrigin::root(), 0).expect("an approved run");
}
