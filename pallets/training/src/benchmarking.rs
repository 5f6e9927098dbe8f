//! Benchmarks of every call and transition, and of what a dispute asks for, in its most expensive case.

use crate::{expected, Active, Call, Config, Halted, Members, Pallet, Reason, Records, Round, Rounds, Run, Runs};
use alloc::{vec, vec::Vec};
use codec::Encode;
use frame_benchmarking::v2::*;
use frame_support::{traits::Get, weights::Weight, BoundedVec};
use frame_system::{pallet_prelude::BlockNumberFor, RawOrigin};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind, Claims},
	proof::{Proof, ProofSignature},
	run::{seal, vote_bitmap, Attestation, Phase, PhaseDurations, RunConfig, VoteBitmap, Work},
	traits::Clock,
	AccountId, DatasetId, ModelConfig, RunId, TrainConfig, F32, H256, MAX_STATE_ROOTS,
};
use sp_runtime::traits::Zero;

/// What the benchmarks need from the runtime.
pub trait BenchmarkHelper<Origin> {
	/// An origin that may approve runs.
	fn approver() -> Origin;
	/// An origin that may stop any run.
	fn stopper() -> Origin;
	/// An account that can pay the deposit of a run.
	fn sponsor() -> AccountId;
	/// An active dataset with 8,192 training windows of 32 tokens, one held out, and a vocabulary of at most 64.
	fn dataset() -> DatasetId;
	/// Active provider number `index` with the worker role, a bond above zero and hardware that is fast enough for anything.
	fn worker(index: u32) -> AccountId;
	/// Signs `proof` with the registered key of `who`.
	fn sign(who: &AccountId, proof: &Proof) -> ProofSignature;
	/// Lets chain time go on by at least a second.
	fn pass_time();
}

const SALT: [u8; 32] = [3; 32];

/// A run of exactly `p` participants with as many state roots as there can be.
fn config<T: Config>(p: u32) -> RunConfig {
	let phase = T::MaxPhaseDuration::get();
	RunConfig {
		name: BoundedVec::truncate_from(vec![b'x'; 64]),
		dataset: T::BenchmarkHelper::dataset(),
		model: ModelConfig { ffn: 32, ..ModelConfig::tiny() },
		train: TrainConfig { batch: 1, inner_steps: MAX_STATE_ROOTS, commit_interval: 1, validation_sequences: 1, ..TrainConfig::tiny() },
		genesis_root: H256::repeat_byte(1),
		min_participants: p,
		max_participants: p,
		min_bond: 1,
		rounds: None,
		durations: PhaseDurations { joining: phase, training: phase, revealing: phase, availability: phase, checkpointing: phase },
	}
}

/// The longest reason.
fn reason() -> Reason {
	Reason::truncate_from(vec![b'x'; 256])
}

fn origin<T: Config>(who: &AccountId) -> T::RuntimeOrigin {
	RawOrigin::Signed(who.clone()).into()
}

/// Lets the next block begin.
fn next_block<T: Config>() {
	let next = Pallet::<T>::now().saturating_add(1);
	frame_system::Pallet::<T>::set_block_number(next.into());
	Pallet::<T>::advance_due(Weight::MAX);
}

/// A run with `p` members in Joining, due in the next block, and its members by account bytes ascending.
fn joined<T: Config>(p: u32) -> Result<(RunId, Vec<AccountId>), BenchmarkError> {
	let run = crate::NextRun::<T>::get();
	Pallet::<T>::create_run(origin::<T>(&T::BenchmarkHelper::sponsor()), config::<T>(p))?;
	for index in 0..p {
		Pallet::<T>::join(origin::<T>(&T::BenchmarkHelper::worker(index)), run)?;
	}
	Ok((run, Members::<T>::get(run).into_inner()))
}

/// What the participant in `place` of a round did.
fn work<T: Config>(place: usize) -> Work {
	let config = config::<T>(1);
	let root = H256(sp_io::hashing::blake2_256(&place.to_le_bytes()));
	let state_roots = BoundedVec::truncate_from(vec![root; 64]);
	Work { state_roots, delta_root: root, delta_bytes: expected::delta_bytes(&config.model), tokens: config.train.tokens_per_round() }
}

fn sealed<T: Config>(run: RunId, who: &AccountId, work: &Work) -> H256 {
	let genesis = frame_system::Pallet::<T>::block_hash(BlockNumberFor::<T>::zero());
	seal(genesis, run, 0, 0, who, &SALT, work)
}

fn proven<T: Config>(run: RunId, who: &AccountId, work: &Work) -> (Proof, ProofSignature) {
	let work_hash = H256(sp_io::hashing::blake2_256(&work.encode()));
	let proof = Proof { key: expected::proof_key(run, 0), timestamp: T::Clock::now(), work_hash };
	(proof, T::BenchmarkHelper::sign(who, &proof))
}

fn everybody(members: &[AccountId]) -> VoteBitmap {
	vote_bitmap(members.iter().map(|_| true)).unwrap_or_default()
}

fn attestation() -> Attestation {
	Attestation { checkpoint: H256::repeat_byte(2), validation_loss: F32::new(2.5) }
}

/// Lets all members but the last one do what `phase` asks for, and the last one too if it is not `last`.
fn act<T: Config>(run: RunId, members: &[AccountId], phase: Phase, last: Phase) -> Result<(), BenchmarkError> {
	let active = members.len().saturating_sub(usize::from(phase == last));
	for (place, who) in members.iter().enumerate().take(active) {
		let origin = origin::<T>(who);
		let work = work::<T>(place);
		match phase {
			Phase::Joining => {}
			Phase::Training => Pallet::<T>::commit(origin, run, 0, 0, sealed::<T>(run, who, &work)).map(|_| ()).map_err(|e| e.error)?,
			Phase::Revealing => {
				let (proof, signature) = proven::<T>(run, who, &work);
				Pallet::<T>::reveal(origin, run, 0, 0, SALT, work, proof, signature).map(|_| ()).map_err(|e| e.error)?
			}
			Phase::Availability => {
				Pallet::<T>::vote_availability(origin, run, 0, 0, everybody(members)).map(|_| ()).map_err(|e| e.error)?
			}
			Phase::Checkpointing => Pallet::<T>::attest(origin, run, 0, 0, attestation()).map(|_| ()).map_err(|e| e.error)?,
		}
	}
	Ok(())
}

/// A run whose round waits for the last of `p` participants in `phase`.
fn waiting<T: Config>(p: u32, phase: Phase) -> Result<(RunId, Vec<AccountId>, AccountId), BenchmarkError> {
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

/// A run whose first round is adopted, with 128 places; and that round as it was in Checkpointing.
fn adopted<T: Config>() -> Result<(RunId, Round), BenchmarkError> {
	let (run, _, last) = waiting::<T>(128, Phase::Checkpointing)?;
	let round = Rounds::<T>::get(run).ok_or("a round under way")?;
	Pallet::<T>::attest(origin::<T>(&last), run, 0, 0, attestation()).map_err(|e| e.error)?;
	next_block::<T>();
	Ok((run, round))
}

fn stored<T: Config>(run: RunId) -> Result<Run, BenchmarkError> {
	Runs::<T>::get(run).ok_or("a run".into())
}

#[benchmarks]
mod benchmarks {
	use super::*;

	#[benchmark]
	fn create_run() {
		let sponsor = T::BenchmarkHelper::sponsor();
		let config = config::<T>(1);

		#[extrinsic_call]
		_(RawOrigin::Signed(sponsor), config);

		assert_eq!(Runs::<T>::iter_keys().count(), 1);
	}

	#[benchmark]
	fn approve_run() -> Result<(), BenchmarkError> {
		let (run, _) = joined::<T>(1)?;

		#[extrinsic_call]
		_(T::BenchmarkHelper::approver() as T::RuntimeOrigin, run);

		assert!(stored::<T>(run)?.approved);
		Ok(())
	}

	#[benchmark]
	fn stop_run(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, ..) = waiting::<T>(p, Phase::Availability)?;
		let sponsor = stored::<T>(run)?.sponsor;

		#[extrinsic_call]
		_(RawOrigin::Signed(sponsor), run);

		assert!(stored::<T>(run)?.finished_at.is_some());
		Ok(())
	}

	#[benchmark]
	fn force_stop_run(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, ..) = waiting::<T>(p, Phase::Availability)?;

		#[extrinsic_call]
		_(T::BenchmarkHelper::stopper() as T::RuntimeOrigin, run, reason());

		assert!(stored::<T>(run)?.finished_at.is_some());
		Ok(())
	}

	#[benchmark]
	fn halt_model() -> Result<(), BenchmarkError> {
		let (run, _) = joined::<T>(1)?;

		#[extrinsic_call]
		_(T::BenchmarkHelper::stopper() as T::RuntimeOrigin, run, reason());

		assert!(Halted::<T>::contains_key(run));
		Ok(())
	}

	#[benchmark]
	fn lift_halt() -> Result<(), BenchmarkError> {
		let (run, _) = joined::<T>(1)?;
		Pallet::<T>::halt_model(T::BenchmarkHelper::stopper(), run, reason())?;

		#[extrinsic_call]
		_(T::BenchmarkHelper::stopper() as T::RuntimeOrigin, run, reason());

		assert!(!Halted::<T>::contains_key(run));
		Ok(())
	}

	#[benchmark]
	fn join() -> Result<(), BenchmarkError> {
		let (run, members) = joined::<T>(128)?;
		let last = members.last().cloned().ok_or("a member")?;
		Pallet::<T>::leave(origin::<T>(&last), run)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(last), run);

		assert_eq!(Members::<T>::get(run).len(), 128);
		Ok(())
	}

	#[benchmark]
	fn leave() -> Result<(), BenchmarkError> {
		let (run, members) = joined::<T>(128)?;
		let first = members.first().cloned().ok_or("a member")?;

		#[extrinsic_call]
		_(RawOrigin::Signed(first), run);

		assert_eq!(Members::<T>::get(run).len(), 127);
		Ok(())
	}

	#[benchmark]
	fn commit(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, members, last) = waiting::<T>(p, Phase::Training)?;
		let sealed = sealed::<T>(run, &last, &work::<T>(members.len() - 1));

		#[extrinsic_call]
		_(RawOrigin::Signed(last), run, 0, 0, sealed);

		assert_eq!(Rounds::<T>::get(run).map(|round| round.stage.phase()), Some(Phase::Revealing));
		Ok(())
	}

	#[benchmark]
	fn reveal(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, members, last) = waiting::<T>(p, Phase::Revealing)?;
		let work = work::<T>(members.len() - 1);
		let (proof, signature) = proven::<T>(run, &last, &work);

		#[extrinsic_call]
		_(RawOrigin::Signed(last), run, 0, 0, SALT, work, proof, signature);

		assert_eq!(Rounds::<T>::get(run).map(|round| round.stage.phase()), Some(Phase::Availability));
		Ok(())
	}

	#[benchmark]
	fn vote_availability(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, members, last) = waiting::<T>(p, Phase::Availability)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(last), run, 0, 0, everybody(&members));

		assert_eq!(Rounds::<T>::get(run).map(|round| round.stage.phase()), Some(Phase::Checkpointing));
		Ok(())
	}

	#[benchmark]
	fn attest(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, _, last) = waiting::<T>(p, Phase::Checkpointing)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(last), run, 0, 0, attestation());

		let next = Pallet::<T>::now().saturating_add(1);
		assert!(Active::<T>::get().iter().any(|entry| entry.run == run && entry.due == Some(next)));
		Ok(())
	}

	#[benchmark]
	fn remove_run(r: Linear<0, 64>) -> Result<(), BenchmarkError> {
		let (run, _) = adopted::<T>()?;
		let record = Records::<T>::take(run, 0).ok_or("an adopted round")?;
		for round in 0..r {
			Records::<T>::insert(run, round, record.clone());
		}
		Pallet::<T>::force_stop_run(T::BenchmarkHelper::stopper(), run, reason()).map_err(|e| e.error)?;
		let end = Pallet::<T>::now().saturating_add(T::HistoryPeriod::get());
		frame_system::Pallet::<T>::set_block_number(end.into());
		let sponsor = stored::<T>(run)?.sponsor;

		#[extrinsic_call]
		_(RawOrigin::Signed(sponsor), run, r);

		assert!(!Runs::<T>::contains_key(run));
		Ok(())
	}

	#[benchmark]
	fn on_initialize() -> Result<(), BenchmarkError> {
		let (run, _) = joined::<T>(1)?;
		Pallet::<T>::schedule(run, None);

		#[block]
		{
			Pallet::<T>::advance_due(Weight::MAX);
		}

		Ok(())
	}

	/// One committed, everybody else is dropped.
	#[benchmark]
	fn advance(p: Linear<2, 128>) -> Result<(), BenchmarkError> {
		let (run, members) = joined::<T>(p)?;
		next_block::<T>();
		Pallet::<T>::commit(origin::<T>(&members[0]), run, 0, 0, sealed::<T>(run, &members[0], &work::<T>(0))).map_err(|e| e.error)?;
		let deadline = Rounds::<T>::get(run).and_then(|round| round.deadline).ok_or("a deadline")?;
		frame_system::Pallet::<T>::set_block_number(deadline.into());

		#[block]
		{
			Pallet::<T>::advance_due(Weight::MAX);
		}

		assert_eq!(Members::<T>::get(run).len(), 1);
		Ok(())
	}

	/// A round is adopted, and is the last one.
	#[benchmark]
	fn settle(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, _, last) = waiting::<T>(p, Phase::Checkpointing)?;
		Pallet::<T>::attest(origin::<T>(&last), run, 0, 0, attestation()).map_err(|e| e.error)?;
		Runs::<T>::mutate(run, |run| {
			if let Some(run) = run {
				run.approved = true;
				run.config.rounds = Some(1);
			}
		});
		let next = Pallet::<T>::now().saturating_add(1);
		frame_system::Pallet::<T>::set_block_number(next.into());

		#[block]
		{
			Pallet::<T>::advance_due(Weight::MAX);
		}

		assert!(stored::<T>(run)?.finished_at.is_some());
		Ok(())
	}

	/// A round starts.
	#[benchmark]
	fn begin(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, _) = joined::<T>(p)?;
		let next = Pallet::<T>::now().saturating_add(1);
		frame_system::Pallet::<T>::set_block_number(next.into());

		#[block]
		{
			Pallet::<T>::advance_due(Weight::MAX);
		}

		assert_eq!(Rounds::<T>::get(run).map(|round| round.stage.phase()), Some(Phase::Training));
		Ok(())
	}

	#[benchmark]
	fn claim(r: Linear<1, 64>) -> Result<(), BenchmarkError> {
		let (run, _) = adopted::<T>()?;
		let record = Records::<T>::get(run, 0).ok_or("an adopted round")?;
		for round in 0..r {
			Records::<T>::insert(run, round, record.clone());
		}
		let who = record.places.first().map(|place| place.account.clone()).ok_or("a place")?;
		let found;

		#[block]
		{
			found = Pallet::<T>::attestation(run, r - 1, &who);
		}

		assert_eq!(found.map(|found| found.job.steps.len()), usize::try_from(r).ok());
		Ok(())
	}

	/// A delta is false, and the next round is in Checkpointing.
	#[benchmark]
	fn condemn() -> Result<(), BenchmarkError> {
		let (run, before) = adopted::<T>()?;
		let places = Rounds::<T>::get(run).ok_or("a round under way")?;
		Rounds::<T>::insert(run, Round { round: places.round, attempt: places.attempt, ..before });
		let who = Members::<T>::get(run).first().cloned().ok_or("a member")?;

		#[block]
		{
			Pallet::<T>::condemn(&ClaimId { run, round: 0, kind: ClaimKind::Work, who: who.clone() });
		}

		assert_eq!((stored::<T>(run)?.replay, Members::<T>::get(run).len()), (Some(0), 127));
		Ok(())
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
