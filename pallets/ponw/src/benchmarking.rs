//! Benchmarks of every call and hook in their most expensive case.

use crate::{
	cleaning, Activities, Activity, Call, Config, FinishedRuns, Held, LastProven, Overdue, Pallet, Pending, QueueBounds, Released, SweptTo,
};
use frame_benchmarking::v2::*;
use frame_support::BoundedVec;
use frame_system::{pallet_prelude::BlockNumberFor, RawOrigin};
use neuroshard_types::{
	proof::{Proof, ProofKey, ProofKind, MAX_PROOFS_PER_HOUR},
	provider::PonwKey,
	traits::{Clock, WorkProofs},
	AccountId, Moment, RoundIndex, RunId, H256,
};
use sp_core::{crypto::KeyTypeId, ecdsa};
use sp_runtime::traits::Zero;

/// Key type of the benchmarks' providers in the keystore.
pub const KEYS: KeyTypeId = KeyTypeId(*b"ponw");

/// Setup that the benchmarks need from the runtime.
pub trait BenchmarkHelper {
	/// Registers `who` as an active provider with this key, and all that a provider can have.
	fn register(who: &AccountId, key: PonwKey);
	/// Makes this the chain time.
	fn set_time(now: Moment);
	/// Returns whether final work of `who` for `run` was credited, and made it an owner of the model.
	fn was_credited(who: &AccountId, run: RunId) -> bool;
}

/// A registered provider and its key.
fn provider<T: Config>() -> (AccountId, ecdsa::Public) {
	let who: AccountId = whitelisted_caller();
	let key = sp_io::crypto::ecdsa_generate(KEYS, None);
	T::BenchmarkHelper::register(&who, key.0);
	(who, key)
}

/// Leaves room for one proof of `who` within the hour, so that the longest list is decoded, searched and encoded with it.
pub fn crowd<T: Config>(who: &AccountId) {
	let accepted = alloc::vec![T::Clock::now(); 119];
	Activities::<T>::insert(who, Activity { accepted: BoundedVec::truncate_from(accepted), uptime_hour: None });
}

/// A confirmed proof of `who`.
fn confirmed<T: Config>(who: &AccountId) -> ProofKey {
	let key = ProofKey { run: 0, round: 0, kind: ProofKind::Training };
	Pallet::<T>::add(who, key);
	Pallet::<T>::confirm(who, key, 1_000_000, true);
	key
}

/// Gives `who` a confirmed proof of its work in a round, and another one that is overdue, as while its account is held.
pub fn wait<T: Config>(who: &AccountId, run: RunId, round: RoundIndex) {
	let key = ProofKey { run, round, kind: ProofKind::Training };
	Pallet::<T>::add(who, key);
	Pallet::<T>::confirm(who, key, 1_000_000, true);
	Overdue::<T>::insert(who, ProofKey { run: run.saturating_add(1), ..key }, ());
}

/// A held provider with a proof whose window is over.
fn overdue<T: Config>() -> AccountId {
	let (who, _) = provider::<T>();
	confirmed::<T>(&who);
	Pallet::<T>::hold(&who);
	let end = Pallet::<T>::now().saturating_add(crate::ChallengeWindow::<T>::get());
	frame_system::Pallet::<T>::set_block_number(end.into());
	Pallet::<T>::settle(1);
	who
}

/// Account number `n`.
fn nth(n: u32) -> AccountId {
	account("account", n, 0)
}

#[benchmarks]
mod benchmarks {
	use super::*;

	#[benchmark]
	fn submit_uptime() -> Result<(), BenchmarkError> {
		let (who, key) = provider::<T>();
		let now = T::Clock::now();
		crowd::<T>(&who);
		let run = Pallet::<T>::hour_of(now).unwrap_or_default();
		let proof = Proof { key: ProofKey { run, round: 0, kind: ProofKind::Uptime }, timestamp: now, work_hash: H256::zero() };
		let genesis = frame_system::Pallet::<T>::block_hash(BlockNumberFor::<T>::zero());
		let hash = sp_io::hashing::blake2_256(&proof.message(genesis, &who));
		let signature = sp_io::crypto::ecdsa_sign_prehashed(KEYS, &key, &hash).ok_or(BenchmarkError::Stop("no key"))?.0;

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), proof, signature);

		assert_eq!(Activities::<T>::get(&who).and_then(|activity| activity.uptime_hour), Some(run));
		Ok(())
	}

	/// Each proof is of another account, and the first final work of another run.
	#[benchmark]
	fn settle(n: Linear<0, 64>) {
		for run in 0..n {
			let (who, key) = (nth(run), ProofKey { run, round: 0, kind: ProofKind::Training });
			T::BenchmarkHelper::register(&who, [2; 33]);
			Pallet::<T>::add(&who, key);
			Pallet::<T>::confirm(&who, key, 1_000_000, true);
		}
		let end = Pallet::<T>::now().saturating_add(crate::ChallengeWindow::<T>::get());
		frame_system::Pallet::<T>::set_block_number(end.into());

		#[block]
		{
			Pallet::<T>::settle(64);
		}

		assert_eq!((QueueBounds::<T>::get().first, Pending::<T>::iter().count()), (u64::from(n), 0));
		assert!((0..n).all(|run| T::BenchmarkHelper::was_credited(&nth(run), run)));
	}

	/// All that is looked at is stale.
	#[benchmark]
	fn clean() {
		FinishedRuns::<T>::insert(0, ());
		for n in 0..cleaning::FORGOTTEN_PER_BLOCK {
			LastProven::<T>::insert(0, nth(n), 0);
		}
		let accepted = BoundedVec::truncate_from(alloc::vec![0; MAX_PROOFS_PER_HOUR.try_into().unwrap_or_default()]);
		for n in 0..cleaning::SWEPT_PER_BLOCK {
			Activities::<T>::insert(nth(n), Activity { accepted: accepted.clone(), uptime_hour: None });
		}
		T::BenchmarkHelper::set_time(Moment::MAX);

		#[block]
		{
			Pallet::<T>::clean();
		}

		assert_eq!((LastProven::<T>::iter_prefix(0).count(), Activities::<T>::iter().count()), (0, 0));
		assert!(SweptTo::<T>::exists());
	}

	/// Once more, while its overdue proof is to be ended.
	#[benchmark]
	fn hold() {
		let who = overdue::<T>();
		Pallet::<T>::release(&who);
		assert!(Released::<T>::contains_key(&who));

		#[block]
		{
			Pallet::<T>::hold(&who);
		}

		assert!(Held::<T>::contains_key(&who));
	}

	#[benchmark]
	fn release() {
		let who = overdue::<T>();

		#[block]
		{
			Pallet::<T>::release(&who);
		}

		assert!(Released::<T>::contains_key(&who));
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
