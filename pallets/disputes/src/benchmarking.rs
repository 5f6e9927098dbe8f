//! Benchmarks of every call and hook in their most expensive case. What pieces cost is measured in the runtime's own WASM elsewhere: they are
//! executed by one function of `graph`, whoever calls it.

use crate::{
	clocks, AuditShare, Audits, Call, Clock, Config, Extension, Fallen, Games, Noted, Pallet, SweptTo, Undrawn, UndrawnSpan, Verifier,
	Verifiers,
};
use alloc::{vec, vec::Vec};
use frame_benchmarking::v2::*;
use frame_support::{traits::Get, BoundedVec};
use frame_system::RawOrigin;
use neuroshard_graph::{
	game::{Doubt, Move},
	merkle::blake2_256,
};
use neuroshard_types::{
	audit::{seal_report, Report},
	dispute::{AttestationClaim, ClaimId, ClaimKind, Claims, OuterJob, WorkClaim},
	run::{PhaseDurations, RunConfig, Work},
	span::Span,
	AccountId, Balance, ModelConfig, RoundIndex, TrainConfig, H256, MAX_PARTICIPANTS, MAX_STATE_ROOTS,
};
use sp_runtime::Permill;

/// What the benchmarks need from the runtime.
pub trait BenchmarkHelper {
	/// Gives `who` this much money.
	fn fund(who: &AccountId, amount: Balance);
	/// Makes `id` a claim about work in a round that is adopted in this block.
	fn work(id: &ClaimId, claim: WorkClaim);
	/// Makes `id` a claim about a checkpoint in a round that is adopted in this block.
	fn attestation(id: &ClaimId, claim: AttestationClaim);
	/// Makes `who` an active provider that verifies.
	fn verifier(who: &AccountId);
	/// Makes this the current epoch.
	fn epoch(epoch: u64);
}

/// A run whose only interval has so many inner steps.
fn config(steps: u32) -> RunConfig {
	RunConfig {
		name: Default::default(),
		dataset: 0,
		model: ModelConfig::tiny(),
		train: TrainConfig { inner_steps: steps, commit_interval: steps, ..TrainConfig::tiny() },
		genesis_root: H256::zero(),
		min_participants: 1,
		max_participants: MAX_PARTICIPANTS,
		min_bond: 1,
		rounds: None,
		durations: PhaseDurations { joining: 1, training: 1, revealing: 1, availability: 1, checkpointing: 1 },
	}
}

/// State roots of inner steps.
fn roots(count: u32) -> Vec<[u8; 32]> {
	(0..count).map(|step| blake2_256(&step.to_be_bytes())).collect()
}

/// A claim about work of so many inner steps in one interval, and the work.
fn work<T: Config>(round: RoundIndex, steps: u32) -> (ClaimId, Work) {
	let claim = ClaimId { run: 0, round, kind: ClaimKind::Work, who: account("claimant", round, 0) };
	let last = roots(steps).last().copied().map(H256).unwrap_or_default();
	let mut state_roots = vec![last; 1];
	state_roots.resize(usize::try_from(MAX_STATE_ROOTS).unwrap_or_default(), last);
	let work = Work { state_roots: BoundedVec::truncate_from(state_roots), delta_root: H256::zero(), delta_bytes: 1, tokens: 1 };
	let shape = neuroshard_types::dataset::DatasetShape { tokens_per_shard: 4_096, shard_count: 4, held_out: 1 };
	let judged = WorkClaim {
		config: config(steps),
		shape,
		dataset_root: H256::zero(),
		start: H256::zero(),
		seed: H256::zero(),
		position: 0,
		work_hash: H256(blake2_256(&codec::Encode::encode(&work))),
	};
	T::BenchmarkHelper::work(&claim, judged);
	(claim, work)
}

/// A challenger with money for the bond of a challenge of somebody without stake.
fn challenger<T: Config>(number: u32) -> AccountId {
	let who: AccountId = account("challenger", number, 0);
	T::BenchmarkHelper::fund(&who, T::Bond::get().saturating_mul(3));
	who
}

/// Verifiers that can be drawn in the current epoch.
fn verifiers<T: Config>(count: u32) {
	let account = |number| account("verifier", number, 0);
	let mut verifiers: Vec<_> = (0..count).map(|number| Verifier { account: account(number), since: 0, until: None }).collect();
	verifiers.sort_by(|a, b| a.account.cmp(&b.account));
	Verifiers::<T>::put(BoundedVec::truncate_from(verifiers));
	T::BenchmarkHelper::epoch(2);
}

/// Work that `auditors` audit, both of whom have sealed this report, and opened it if `opened`.
fn audited<T: Config>(report: Report, opened: bool) -> (ClaimId, [AccountId; 2]) {
	verifiers::<T>(512);
	let (claim, _) = work::<T>(0, 4);
	AuditShare::<T>::put(Permill::one());
	assert_eq!(Pallet::<T>::draw_round(claim.run, claim.round), 1);
	let auditors = Audits::<T>::get(&claim)
		.map(|audit| audit.parts.map(|part| part.auditor))
		.unwrap_or([account("none", 0, 0), account("none", 1, 0)]);
	for auditor in &auditors {
		T::BenchmarkHelper::verifier(auditor);
		assert_eq!(Pallet::<T>::do_seal(auditor.clone(), claim.run, claim.round, sealed::<T>(&claim, auditor, report)), Ok(()));
	}
	if opened {
		for auditor in &auditors {
			assert_eq!(Pallet::<T>::do_report(auditor.clone(), claim.run, claim.round, &[7; 32], report), Ok(()));
		}
	}
	(claim, auditors)
}

/// The seal of a report.
fn sealed<T: Config>(claim: &ClaimId, auditor: &AccountId, report: Report) -> H256 {
	let genesis = frame_system::Pallet::<T>::block_hash(frame_system::pallet_prelude::BlockNumberFor::<T>::default());
	seal_report(genesis, claim.run, claim.round, auditor, &[7; 32], &report)
}

/// A game about work of so many inner steps, opened by challenger `number`.
fn opened<T: Config>(number: u32, steps: u32) -> (ClaimId, AccountId) {
	let (claim, work) = work::<T>(0, steps);
	let who = challenger::<T>(number);
	let opened = Pallet::<T>::do_challenge_work(who.clone(), claim.clone(), &work, Doubt::Interval(0));
	assert_eq!(opened, Ok(()));
	(claim, who)
}

#[benchmarks]
mod benchmarks {
	use super::*;

	#[benchmark]
	fn challenge_work() {
		// Not the first game about the claim.
		let (claim, _) = opened::<T>(0, 4);
		let (_, work) = work::<T>(0, 4);
		let who = challenger::<T>(1);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), claim.run, claim.round, claim.who.clone(), work, Doubt::Interval(0));

		assert!(Games::<T>::contains_key(claim, who));
	}

	/// About `r` outer steps.
	#[benchmark]
	fn challenge_attestation(r: Linear<1, 64>) {
		let steps = vec![vec![H256::zero(); 128]; usize::try_from(r).unwrap_or_default()];
		let round = r.saturating_sub(1);
		let claim = ClaimId { run: 0, round, kind: ClaimKind::Attestation, who: account("claimant", 0, 0) };
		let job = OuterJob { first_round: 0, start: H256::zero(), steps };
		T::BenchmarkHelper::attestation(&claim, AttestationClaim { config: config(4), job, checkpoint: H256::zero() });
		let who = challenger::<T>(0);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), claim.run, claim.round, claim.who.clone());

		assert!(Games::<T>::contains_key(claim, who));
	}

	/// Posts a list of `n` hashes.
	#[benchmark]
	fn play(n: Linear<2, 16384>) {
		let (claim, who) = opened::<T>(0, n);
		let position = Games::<T>::get(&claim, &who).map(|game| H256(game.position.hash())).unwrap_or_default();

		#[extrinsic_call]
		_(RawOrigin::Signed(claim.who.clone()), claim.clone(), who.clone(), position, Move::Steps(roots(n)));

		assert_eq!(Games::<T>::get(claim, who).map(|game| game.extrinsics()), Some(2));
	}

	/// Nothing is due, and blocks are passed over.
	#[benchmark]
	fn end_due() {
		frame_system::Pallet::<T>::set_block_number(1_000u32.into());

		#[block]
		{
			Pallet::<T>::end_due();
		}

		assert_eq!(SweptTo::<T>::get(), clocks::MAX_PASSED);
	}

	#[benchmark]
	fn end_moot() -> Result<(), BenchmarkError> {
		let (claim, first) = opened::<T>(0, 4);
		let (_, second) = opened::<T>(1, 4);
		Fallen::<T>::insert(&claim, ());
		let game = Games::<T>::get(&claim, &first).ok_or(BenchmarkError::Stop("no game"))?;

		#[block]
		{
			Pallet::<T>::end_moot(claim.clone(), first.clone(), game);
		}

		assert!(!Games::<T>::contains_key(&claim, first) && Games::<T>::contains_key(&claim, second));
		Ok(())
	}

	/// The defender is late, and another game about the claim is open.
	#[benchmark]
	fn end_late() {
		let (claim, first) = opened::<T>(0, 4);
		let (_, second) = opened::<T>(1, 4);
		let deadline = Pallet::<T>::now().saturating_add(Clock::<T>::get()).saturating_add(Extension::<T>::get());
		frame_system::Pallet::<T>::set_block_number(deadline.saturating_add(1).into());
		SweptTo::<T>::put(deadline);

		#[block]
		{
			Pallet::<T>::end_due();
		}

		assert!(!Games::<T>::contains_key(&claim, first) || !Games::<T>::contains_key(&claim, second));
		assert!(Fallen::<T>::contains_key(&claim) || !crate::Dockets::<T>::contains_key(&claim));
	}

	/// The list is full afterwards.
	#[benchmark]
	fn enroll() {
		verifiers::<T>(511);
		let who: AccountId = account("caller", 0, 0);
		T::BenchmarkHelper::verifier(&who);

		#[extrinsic_call]
		_(RawOrigin::Signed(who));

		assert_eq!(Verifiers::<T>::get().len(), 512);
	}

	#[benchmark]
	fn resign() {
		verifiers::<T>(512);
		let who: AccountId = account("verifier", 0, 0);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()));

		assert!(!Pallet::<T>::list_verifiers().contains(&who));
	}

	/// The last one on the list is looked at.
	#[benchmark]
	fn sweep() {
		verifiers::<T>(512);
		frame_system::Pallet::<T>::set_block_number(511u32.into());

		#[block]
		{
			Pallet::<T>::sweep();
		}

		assert_eq!(Verifiers::<T>::get().len(), 512);
	}

	/// The partner has sealed.
	#[benchmark]
	fn seal_audit() {
		let (claim, [who, _]) = audited::<T>(Report::Unavailable, false);
		Audits::<T>::mutate(&claim, |audit| audit.iter_mut().for_each(|audit| audit.parts[0].sealed = None));

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), claim.run, claim.round, H256::zero());

		assert!(Audits::<T>::get(claim).is_some_and(|audit| audit.part(&who).is_some_and(|part| part.sealed.is_some())));
	}

	/// The work is excluded.
	#[benchmark]
	fn report_audit() {
		let (claim, [first, who]) = audited::<T>(Report::Unavailable, false);
		assert_eq!(Pallet::<T>::do_report(first, claim.run, claim.round, &[7; 32], Report::Unavailable), Ok(()));

		#[extrinsic_call]
		_(RawOrigin::Signed(who), claim.run, claim.round, [7; 32], Report::Unavailable);

		assert!(Audits::<T>::get(claim).is_some_and(|audit| audit.is_unavailable()));
	}

	#[benchmark]
	fn challenge_audit() {
		let (claim, [auditor, _]) = audited::<T>(Report::Sample(H256::zero()), true);
		let who = challenger::<T>(0);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), claim.run, claim.round, auditor.clone());

		assert!(Games::<T>::contains_key(ClaimId { kind: ClaimKind::Audit, who: auditor, ..claim }, who));
	}

	#[benchmark]
	fn draw_idle() {
		#[block]
		{
			Pallet::<T>::draw_due();
		}

		assert_eq!(Audits::<T>::iter_keys().count(), 0);
	}

	/// Of a round with `n` claims, all of which are drawn.
	#[benchmark]
	fn draw(n: Linear<1, 128>) -> Result<(), BenchmarkError> {
		verifiers::<T>(512);
		AuditShare::<T>::put(Permill::one());
		for number in 0..n {
			let (claim, _) = work::<T>(0, 4);
			let judged = T::Claims::work(claim.run, claim.round, &claim.who).ok_or(BenchmarkError::Stop("no work"))?;
			T::BenchmarkHelper::work(&ClaimId { who: account("other", number, 0), ..claim }, judged);
		}
		UndrawnSpan::<T>::put(Span { first: 0, next: 1 });
		Undrawn::<T>::insert(0, Noted { run: 0, round: 0, epoch: 0 });

		#[block]
		{
			Pallet::<T>::draw_due();
		}

		assert!(Audits::<T>::iter_keys().count() > 0);
		Ok(())
	}

	#[benchmark]
	fn close_idle() {
		audited::<T>(Report::Unavailable, true);

		#[block]
		{
			Pallet::<T>::close_due();
		}

		assert_eq!(Audits::<T>::iter_keys().count(), 1);
	}

	/// Both auditors are paid.
	#[benchmark]
	fn close() {
		let (claim, _) = audited::<T>(Report::Sample(H256::zero()), true);
		let closes_at = Audits::<T>::get(&claim).map(|audit| audit.closes_at).unwrap_or_default();
		frame_system::Pallet::<T>::set_block_number(closes_at.into());

		#[block]
		{
			Pallet::<T>::close_due();
		}

		assert!(!Audits::<T>::contains_key(&claim));
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
