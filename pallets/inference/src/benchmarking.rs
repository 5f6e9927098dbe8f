//! Benchmarks of every call in its most expensive case.

use crate::{Call, Claim, Claims, Config, NextSession, Offers, Pallet, Session, Sessions, SessionsOf};
use alloc::vec::Vec;
use frame_benchmarking::v2::*;
use frame_support::{
	traits::{
		fungible::{Inspect as _, Mutate as _},
		Get,
	},
	BoundedVec,
};
use frame_system::{pallet_prelude::BlockNumberFor, RawOrigin};
use neuroshard_types::{
	inference::{CheckpointId, Class, Offer, Prices, SessionId, Span, Voucher, MAX_SPANS},
	AccountId, Balance, BlockNumber, H256, NEURO,
};
use sp_core::{crypto::KeyTypeId, sr25519};
use sp_runtime::{traits::Zero, MultiSignature};

/// Key type of the benchmarks' users in the keystore.
const KEYS: KeyTypeId = KeyTypeId(*b"user");
/// Balance of an account.
const FUNDS: Balance = 1_000_000 * NEURO;

/// Setup that the benchmarks need from the runtime.
pub trait BenchmarkHelper {
	/// Makes `who` an active provider in all roles, with money and all that a provider can have.
	fn provider(who: &AccountId);
	/// Makes a model whose shares earn, with as many layers as there are spans in the largest ring at least. Returns a checkpoint of it whose round is
	/// over, and how many layers it has.
	fn model() -> (CheckpointId, u16);
}

/// The member of a ring with this number.
fn member(number: u32) -> AccountId {
	account("member", number, 0)
}

/// An offer of the longest endpoint, with a ring of so many members: of `driver` alone if there are none.
fn offered<T: Config>(driver: &AccountId, members: u32, endpoint: u8) -> Offer {
	let (checkpoint, layers) = T::BenchmarkHelper::model();
	let spans = u16::try_from(members.max(1)).unwrap_or(u16::MAX);
	let span = |number: u16| {
		let who = if members == 0 { driver.clone() } else { member(number.into()) };
		let last = number.saturating_add(1) == spans;
		Span { who, first: number, layers: if last { layers.saturating_sub(number) } else { 1 } }
	};
	let ring: Vec<Span> = (0..spans).map(span).collect();
	(0..members).for_each(|number| T::BenchmarkHelper::provider(&member(number)));
	Offer {
		checkpoint,
		class: Class::ExactF32,
		prices: Prices { prompt: Balance::MAX, generated: Balance::MAX },
		redundancy: 1,
		endpoint: BoundedVec::truncate_from(alloc::vec![endpoint; 256]),
		ring: BoundedVec::truncate_from(ring),
	}
}

/// A driver, whose offer so many members have agreed to; the last `missing` ones have not.
fn ready<T: Config>(members: u32, missing: u32) -> Result<AccountId, BenchmarkError> {
	let driver: AccountId = whitelisted_caller();
	T::BenchmarkHelper::provider(&driver);
	let offer = offered::<T>(&driver, members, b'a');
	let hash = offer.hash(&driver);
	Pallet::<T>::do_offer(driver.clone(), offer)?;
	for number in 0..members.saturating_sub(missing) {
		Pallet::<T>::do_join(member(number), driver.clone(), hash)?;
	}
	Ok(driver)
}

/// A user with money, and its key.
fn user<T: Config>() -> (AccountId, sr25519::Public) {
	let key = sp_io::crypto::sr25519_generate(KEYS, None);
	let who = AccountId::new(key.0);
	T::Currency::set_balance(&who, FUNDS);
	(who, key)
}

/// A session of `user`.
fn opened<T: Config>(user: &AccountId, provider: Option<AccountId>) -> Result<SessionId, BenchmarkError> {
	let id = NextSession::<T>::get();
	Pallet::<T>::do_open(user.clone(), provider, T::MinEscrow::get().max(NEURO))?;
	Ok(id)
}

/// The signature of `key` under a voucher as wallets sign it: what is tried last.
fn signed<T: Config>(key: &sr25519::Public, voucher: &Voucher) -> Result<MultiSignature, BenchmarkError> {
	let genesis = frame_system::Pallet::<T>::block_hash(BlockNumberFor::<T>::zero());
	let wrapped = [&b"<Bytes>"[..], &voucher.message(genesis), &b"</Bytes>"[..]].concat();
	let signature = sp_io::crypto::sr25519_sign(KEYS, key, &wrapped).ok_or(BenchmarkError::Stop("no key"))?;
	Ok(MultiSignature::Sr25519(signature))
}

fn last_block<T: Config>(number: BlockNumber) {
	frame_system::Pallet::<T>::set_block_number(number.into());
}

#[benchmarks]
mod benchmarks {
	use super::*;

	/// In place of another one, to which all members have agreed.
	#[benchmark]
	fn offer(m: Linear<0, MAX_SPANS>) -> Result<(), BenchmarkError> {
		let driver = ready::<T>(m, 0)?;
		let next = offered::<T>(&driver, m, b'b');
		let hash = next.hash(&driver);

		#[extrinsic_call]
		_(RawOrigin::Signed(driver.clone()), next);

		assert_eq!(Offers::<T>::get(driver).map(|standing| standing.hash), Some(hash));
		Ok(())
	}

	/// The last one of the largest ring.
	#[benchmark]
	fn join() -> Result<(), BenchmarkError> {
		let driver = ready::<T>(MAX_SPANS, 1)?;
		let hash = Offers::<T>::get(&driver).map(|standing| standing.hash).unwrap_or_default();
		let who = member(MAX_SPANS.saturating_sub(1));

		#[extrinsic_call]
		_(RawOrigin::Signed(who), driver.clone(), hash);

		assert!(Offers::<T>::get(&driver).is_some_and(|standing| standing.is_ready(&driver)));
		Ok(())
	}

	#[benchmark]
	fn leave() -> Result<(), BenchmarkError> {
		let driver = ready::<T>(MAX_SPANS, 0)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(member(0)), driver.clone());

		assert!(Offers::<T>::get(&driver).is_some_and(|standing| !standing.is_ready(&driver)));
		Ok(())
	}

	#[benchmark]
	fn withdraw_offer(m: Linear<0, MAX_SPANS>) -> Result<(), BenchmarkError> {
		let driver = ready::<T>(m, 0)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(driver.clone()));

		assert!(!Offers::<T>::contains_key(driver));
		Ok(())
	}

	/// The last one that the user may open, with a provider that has the largest ring.
	#[benchmark]
	fn open_session() -> Result<(), BenchmarkError> {
		let driver = ready::<T>(MAX_SPANS, 0)?;
		let (user, _) = user::<T>();
		let id: SessionId = T::MaxSessions::get().into();
		SessionsOf::<T>::insert(&user, BoundedVec::truncate_from((1..id).collect()));
		NextSession::<T>::put(id);

		#[extrinsic_call]
		_(RawOrigin::Signed(user), Some(driver), T::MinEscrow::get());

		assert!(Sessions::<T>::contains_key(id));
		Ok(())
	}

	#[benchmark]
	fn top_up() -> Result<(), BenchmarkError> {
		let (user, _) = user::<T>();
		let id = opened::<T>(&user, None)?;
		let before = Sessions::<T>::get(id).map_or(0, |session| session.escrow);

		#[extrinsic_call]
		_(RawOrigin::Signed(user), id, NEURO);

		assert_eq!(Sessions::<T>::get(id).map(|session| session.escrow), Some(before.saturating_add(NEURO)));
		Ok(())
	}

	/// The first one of a prepaid session, with the signature that is looked at last. Everybody is paid.
	#[benchmark]
	fn claim(m: Linear<1, MAX_SPANS>) -> Result<(), BenchmarkError> {
		let driver = ready::<T>(m, 0)?;
		let (user, key) = user::<T>();
		let id = opened::<T>(&user, None)?;
		let voucher = Voucher { session: id, provider: driver.clone(), amount: NEURO / 2, answers: 1, receipts: H256::repeat_byte(7) };
		let signature = signed::<T>(&key, &voucher)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(driver.clone()), id, voucher, signature);

		assert_eq!(Claims::<T>::get(id, driver).map(|claimed| claimed.paid), Some(NEURO / 2));
		Ok(())
	}

	/// By the provider.
	#[benchmark]
	fn close_session() -> Result<(), BenchmarkError> {
		let driver = ready::<T>(0, 0)?;
		let (user, _) = user::<T>();
		let id = opened::<T>(&user, Some(driver.clone()))?;

		#[extrinsic_call]
		_(RawOrigin::Signed(driver), id);

		assert!(Sessions::<T>::get(id).is_some_and(|session| session.closes_at.is_some()));
		Ok(())
	}

	/// One that has paid so many providers, while there is the largest offer of its own.
	#[benchmark]
	fn settle(p: Linear<0, 16>) -> Result<(), BenchmarkError> {
		let driver = ready::<T>(MAX_SPANS, 0)?;
		let (user, _) = user::<T>();
		let id = opened::<T>(&user, Some(driver.clone()))?;
		for number in 0..p {
			Claims::<T>::insert(id, member(number), Claim { paid: 1, owed: 1, answers: 1, receipts: H256::repeat_byte(7) });
		}
		Sessions::<T>::mutate_extant(id, |session: &mut Session| session.payees = p);
		Pallet::<T>::do_close(user.clone(), id)?;
		last_block::<T>(BlockNumber::MAX);

		#[extrinsic_call]
		_(RawOrigin::Signed(driver), id);

		assert!(!Sessions::<T>::contains_key(id) && Claims::<T>::iter_prefix(id).next().is_none());
		assert_eq!(T::Currency::total_balance(&user), FUNDS);
		Ok(())
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
