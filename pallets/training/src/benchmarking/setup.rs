//! Setup of the benchmarks: the largest of everything that is stored.

use crate::{
	expected,
	record::{Place, Record, Revealed},
	replay::Span,
	Absence, Absences, Active, ActiveRun, Config, Members, NextRun, Pallet, Participant, Reason, Records, Round, Rounds, Run, Runs,
	MAX_ABSENCES,
};
use alloc::{vec, vec::Vec};
use codec::Encode;
use frame_benchmarking::v2::*;
use frame_support::{traits::Get, weights::Weight, BoundedVec};
use frame_system::{pallet_prelude::BlockNumberFor, RawOrigin};
use neuroshard_types::{
	dataset::{Tokenizer, BYTE_VOCAB},
	proof::{Proof, ProofSignature},
	run::{seal, vote_bitmap, Attestation, Phase, PhaseDurations, RunConfig, RunStart, VoteBitmap, Work},
	traits::{Clock, Datasets},
	AccountId, DatasetId, ModelConfig, RoundIndex, RunId, TrainConfig, F32, H256, MAX_LAYERS, MAX_PARTICIPANTS, MAX_STATE_ROOTS,
};
use sp_runtime::traits::Zero;

/// Setup that the benchmarks need from the runtime.
pub trait BenchmarkHelper<Origin> {
	/// An origin that may approve runs.
	fn approver() -> Origin;
	/// An origin that may stop any run.
	fn stopper() -> Origin;
	/// An account that can pay the deposit of a run.
	fn sponsor() -> AccountId;
	/// An active dataset with 8,192 training windows of 32 tokens, one held out.
	fn dataset() -> DatasetId;
	/// Has that dataset leave when no run uses it any more.
	fn retire();
	/// Active provider number `index` with the worker role, a bond above one planck and hardware that is fast enough for anything. One more proof
	/// fits into its hour.
	fn worker(index: u32) -> AccountId;
	/// Leaves `who` a bond of one planck.
	fn impoverish(who: &AccountId);
	/// Signs `proof` with the registered key of `who`.
	fn sign(who: &AccountId, proof: &Proof) -> ProofSignature;
	/// Lets chain time go on by at least a second.
	fn pass_time();
	/// Has adopted rounds noted by whoever is told of them.
	fn note_adopted();
	/// Gives the model of `run` an owner.
	fn own(run: RunId);
}

pub(super) const SALT: [u8; 32] = [3; 32];

/// Number of the round under way: with its adoption the first record goes.
pub(super) fn index<T: Config>() -> RoundIndex {
	T::RecordsKept::get()
}

/// A run of exactly `p` participants with as many state roots as there can be, and as many nodes in a step.
pub(super) fn config<T: Config>(p: u32) -> RunConfig {
	let phase = T::MaxPhaseDuration::get();
	let dataset = T::BenchmarkHelper::dataset();
	let known = T::Datasets::active(dataset);
	RunConfig {
		name: BoundedVec::truncate_from(vec![b'x'; 64]),
		dataset,
		tokenizer: known.map_or(Tokenizer::BYTES, |known| known.tokenizer),
		model: ModelConfig {
			vocab: known.map_or(BYTE_VOCAB, |known| known.vocab),
			layers: MAX_LAYERS,
			heads: 1,
			kv_heads: 1,
			ffn: 32,
			..ModelConfig::tiny()
		},
		train: TrainConfig { batch: 1, inner_steps: MAX_STATE_ROOTS, commit_interval: 1, validation_sequences: 1, ..TrainConfig::tiny() },
		genesis_root: H256::repeat_byte(1),
		start: RunStart::Seed,
		min_participants: p,
		max_participants: p,
		min_bond: 1,
		rounds: None,
		durations: PhaseDurations { joining: phase, training: phase, revealing: phase, availability: phase, checkpointing: phase },
		overlaps: false,
		epochs: true,
	}
}

/// A run that goes on from the first round of another one, whose record is as long as one can be. The other one takes no place of an active run.
pub(super) fn going_on<T: Config>() -> Result<RunConfig, BenchmarkError> {
	let (other, config) = (NextRun::<T>::get(), config::<T>(1));
	Pallet::<T>::create_run(origin::<T>(&T::BenchmarkHelper::sponsor()), config.clone())?;
	Active::<T>::mutate(|active| _ = active.pop());
	Runs::<T>::mutate_extant(other, |run| run.rounds_adopted = 2);
	let start = RunStart::Given { params: H256::repeat_byte(1), momentum: H256::repeat_byte(2), of: Some((other, 1)) };
	let root = |round, steps| start.root(round, steps).ok_or("a given checkpoint");
	Records::<T>::insert(other, 0, Record { checkpoint: root(1, config.train.inner_steps.into())?, ..record() });
	Ok(RunConfig { genesis_root: root(0, 0)?, start, ..config })
}

/// The longest reason.
pub(super) fn reason() -> Reason {
	Reason::truncate_from(vec![b'x'; 256])
}

pub(super) fn origin<T: Config>(who: &AccountId) -> T::RuntimeOrigin {
	RawOrigin::Signed(who.clone()).into()
}

/// Lets the next block begin.
pub(super) fn next_block<T: Config>() {
	let next = Pallet::<T>::now().saturating_add(1);
	frame_system::Pallet::<T>::set_block_number(next.into());
	Pallet::<T>::advance_due(Weight::MAX);
}

/// Takes the places of all active runs but one.
pub(super) fn crowd<T: Config>() {
	let others = T::MaxActiveRuns::get().saturating_sub(1);
	NextRun::<T>::put(others);
	Active::<T>::put(BoundedVec::truncate_from((0..others).map(|run| ActiveRun { run, due: None }).collect()));
}

/// A run with `p` members in Joining, due in the next block, and its members by account bytes ascending.
pub(super) fn joined<T: Config>(p: u32) -> Result<(RunId, Vec<AccountId>), BenchmarkError> {
	let sponsor = T::BenchmarkHelper::sponsor();
	crowd::<T>();
	let (run, round) = (NextRun::<T>::get(), index::<T>());
	Pallet::<T>::create_run(origin::<T>(&sponsor), config::<T>(p))?;
	let spans =
		(0..round).step_by(2).filter(|from| from.saturating_add(1) < round).map(|from| Span { from, until: from.saturating_add(1) });
	Runs::<T>::mutate_extant(run, |run| (run.rounds_adopted, run.spans) = (round, BoundedVec::truncate_from(spans.collect())));
	Rounds::<T>::mutate_extant(run, |under_way| under_way.round = round);
	for index in 0..p {
		Pallet::<T>::join(origin::<T>(&T::BenchmarkHelper::worker(index)), run)?;
	}
	Ok((run, Members::<T>::get(run).into_inner()))
}

/// Fills the list of dropouts with those of `first`, and of others. All of them have waited.
pub(super) fn drop_out<T: Config>(run: RunId, first: &[AccountId]) {
	let others = (0..MAX_ABSENCES).map(|number| account("absent", number, 0));
	let accounts = first.iter().cloned().chain(others).take(usize::try_from(MAX_ABSENCES).unwrap_or_default());
	let mut list: Vec<_> = accounts.map(|who| Absence { who, dropouts: 1, until: 0 }).collect();
	list.sort_by(|a, b| a.who.cmp(&b.who));
	Absences::<T>::insert(run, BoundedVec::truncate_from(list));
}

/// Returns the work of the participant in `place` of a round.
pub(super) fn work<T: Config>(place: usize) -> Work {
	let config = config::<T>(1);
	let root = H256(sp_io::hashing::blake2_256(&place.to_le_bytes()));
	let state_roots = BoundedVec::truncate_from(vec![root; 64]);
	Work {
		state_roots,
		delta_root: root,
		delta_bytes: expected::delta_bytes(&config.model, &config.train),
		tokens: config.train.tokens_per_round(),
	}
}

pub(super) fn sealed<T: Config>(run: RunId, who: &AccountId, work: &Work) -> H256 {
	let genesis = frame_system::Pallet::<T>::block_hash(BlockNumberFor::<T>::zero());
	seal(genesis, run, index::<T>(), 0, who, &SALT, work)
}

pub(super) fn proven<T: Config>(run: RunId, who: &AccountId, work: &Work) -> (Proof, ProofSignature) {
	let work_hash = H256(sp_io::hashing::blake2_256(&work.encode()));
	let proof = Proof { key: expected::proof_key(run, index::<T>()), timestamp: T::Clock::now(), work_hash };
	(proof, T::BenchmarkHelper::sign(who, &proof))
}

pub(super) fn everybody(members: &[AccountId]) -> VoteBitmap {
	vote_bitmap(members.iter().map(|_| true)).unwrap_or_default()
}

pub(super) fn attestation() -> Attestation {
	Attestation { checkpoint: H256::repeat_byte(2), validation_loss: F32::new(2.5) }
}

/// Lets all members but the last one do what `phase` asks for, and the last one too if it is not `last`.
fn act<T: Config>(run: RunId, members: &[AccountId], phase: Phase, last: Phase) -> Result<(), BenchmarkError> {
	let active = members.len().saturating_sub(usize::from(phase == last));
	for (place, who) in members.iter().enumerate().take(active) {
		let (origin, round, work) = (origin::<T>(who), index::<T>(), work::<T>(place));
		let acted = match phase {
			Phase::Joining => return Ok(()),
			Phase::Training => Pallet::<T>::commit(origin, run, round, 0, sealed::<T>(run, who, &work)),
			Phase::Revealing => {
				let (proof, signature) = proven::<T>(run, who, &work);
				Pallet::<T>::reveal(origin, run, round, 0, SALT, work, proof, signature)
			}
			Phase::Availability => Pallet::<T>::vote_availability(origin, run, round, 0, everybody(members)),
			Phase::Checkpointing => Pallet::<T>::attest(origin, run, round, 0, attestation()),
		};
		acted.map_err(|refused| refused.error)?;
	}
	Ok(())
}

/// A run whose round waits for the last of `p` participants in `phase`.
pub(super) fn waiting<T: Config>(p: u32, phase: Phase) -> Result<(RunId, Vec<AccountId>, AccountId), BenchmarkError> {
	let (run, members) = joined::<T>(p)?;
	next_block::<T>();
	T::BenchmarkHelper::pass_time();
	for step in [Phase::Training, Phase::Revealing, Phase::Availability, Phase::Checkpointing] {
		act::<T>(run, &members, step, phase)?;
		if step == phase {
			break;
		}
	}
	let last = members.last().cloned().ok_or("at least one member")?;
	Ok((run, members, last))
}

/// A run whose round is adopted, with 128 places; and that round as it was in Checkpointing.
pub(super) fn adopted<T: Config>() -> Result<(RunId, Round), BenchmarkError> {
	let (run, _, last) = waiting::<T>(128, Phase::Checkpointing)?;
	let round = Rounds::<T>::get(run).ok_or("a round under way")?;
	Pallet::<T>::attest(origin::<T>(&last), run, index::<T>(), 0, attestation()).map_err(|e| e.error)?;
	next_block::<T>();
	Ok((run, round))
}

/// The record of a round with 128 places, all of whose holders did all.
pub(super) fn record() -> Record {
	let mut accounts: Vec<AccountId> = (0..MAX_PARTICIPANTS).map(|number| account("place", number, 0)).collect();
	accounts.sort();
	let place = |account| {
		let acted = Participant { included: true, attestation: Some(attestation()), ..Participant::new(account, 1, true) };
		let revealed = Revealed { delta_root: H256::zero(), work_hash: H256::zero() };
		Place { excluded_from: Some(RoundIndex::MAX), ..Place::new(&acted, Some(revealed)) }
	};
	Record {
		seed: H256::zero(),
		start: H256::zero(),
		first_round: 0,
		places: BoundedVec::truncate_from(accounts.into_iter().map(place).collect()),
		checkpoint: attestation().checkpoint,
		fallen: false,
		validation_loss: F32::new(2.5),
		adopted_at: 0,
	}
}

pub(super) fn stored<T: Config>(run: RunId) -> Result<Run, BenchmarkError> {
	Runs::<T>::get(run).ok_or("a run".into())
}
