//! A transaction extension that keeps moves of everybody whose turn it is not out of blocks.

use crate::{
	answer_audit::{size, Handed},
	Call, Config, Games, Missed, Pallet, Refusal, Taken, WeightInfo,
};
use alloc::{vec, vec::Vec};
use codec::{Decode, DecodeWithMemTracking, Encode};
use core::marker::PhantomData;
use frame_support::{
	dispatch::DispatchInfo,
	pallet_prelude::{Get, TransactionSource},
	traits::IsSubType,
	weights::Weight,
	DefaultNoBound,
};
use neuroshard_types::{answer_audit::AnswerId, dispute::ClaimId, traits::Providers, AccountId, H256};
use scale_info::TypeInfo;
use sp_runtime::{
	traits::{
		AsSystemOriginSigner, BlakeTwo256, DispatchInfoOf, DispatchOriginOf, Dispatchable, Hash, PostDispatchInfoOf, TransactionExtension,
		ValidateResult,
	},
	transaction_validity::{InvalidTransaction, TransactionValidityError, ValidTransaction},
	DispatchResult,
};

/// Calls that carry other calls.
pub trait Carriers<RuntimeCall> {
	/// The calls that `call` would dispatch when it is dispatched. Empty for all but batches and the like.
	fn carried(call: &RuntimeCall) -> Vec<&RuntimeCall>;
}

/// No call carries another one.
impl<RuntimeCall> Carriers<RuntimeCall> for () {
	fn carried(_: &RuntimeCall) -> Vec<&RuntimeCall> {
		Vec::new()
	}
}

/// Calls of other pallets that are for one account at one time, as moves are, and have the part of blocks that is kept for moves.
pub trait Answers<RuntimeCall> {
	/// Returns whether no other call may carry `call`: such a call, or one by which an account takes on to make them.
	fn stands_alone(call: &RuntimeCall) -> bool;
	/// Weight of [`Self::admit`] for `call`, with asking for whom its signer acts. `None` if it is no such call.
	fn weight(call: &RuntimeCall) -> Option<Weight>;
	/// Checks that `who` may make `call` now. Where an operator signs, `who` is the provider that it acts for.
	///
	/// # Errors
	/// If not: the code of [`InvalidTransaction::Custom`] that nodes answer with. Those of [`Refusal`] are taken.
	fn admit(who: &AccountId, call: &RuntimeCall) -> Result<(), u8>;
}

/// There are no such calls.
impl<RuntimeCall> Answers<RuntimeCall> for () {
	fn stands_alone(_: &RuntimeCall) -> bool {
		false
	}
	fn weight(_: &RuntimeCall) -> Option<Weight> {
		None
	}
	fn admit(_: &AccountId, _: &RuntimeCall) -> Result<(), u8> {
		Ok(())
	}
}

/// Refuses transactions with a `play` that is not by the account whose turn it is, or its operator, in time, of a possible size and an answer to where the
/// game stands, with a `seal_audit` or `report_audit` by an account that has nothing to seal or to open now, and with a `deliver_answer` that is not what is demanded of
/// the account: see [`Refusal`] for the codes of [`InvalidTransaction::Custom`]. The same holds for [`Config::Answers`]. So nobody else gets such a call into the part of blocks that is kept for
/// them, and [`MovesAlone`](crate::MovesAlone) keeps all other calls out of it. Calls of this pallet, and those, that another call carries are
/// refused altogether: a game is read off the extrinsics of blocks, where both sides look for them.
///
/// Whoever may make such a call may make one: two for the same turn exclude each other in the pool, and a block takes one try at a position,
/// also if it was no good. All of a block's together have at most [`Config::MovesShare`] of it, so that they leave room for what they come before.
/// After a move that was no good, whatever that account sends about the same position has the room of ordinary extrinsics: so nobody fills blocks
/// or pools with moves that change nothing.
#[derive(Encode, Decode, DecodeWithMemTracking, DefaultNoBound, Clone, Eq, PartialEq, TypeInfo)]
#[scale_info(skip_type_params(T))]
pub struct CheckTurn<T>(PhantomData<T>);

impl<T> core::fmt::Debug for CheckTurn<T> {
	fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
		f.write_str("CheckTurn")
	}
}

/// Returns whether [`CheckTurn`] lets `call` into blocks from one account at one time only.
pub(crate) fn is_move<T: Config>(call: &T::RuntimeCall) -> bool
where
	T::RuntimeCall: IsSubType<Call<T>>,
{
	match call.is_sub_type() {
		Some(Call::play { .. } | Call::seal_audit { .. } | Call::report_audit { .. } | Call::deliver_answer { .. }) => true,
		Some(_) => false,
		None => T::Answers::weight(call).is_some(),
	}
}

/// Returns whether `call` is a move that comes first: any but one about a position at which another one was refused.
pub(crate) fn is_first<T: Config>(call: &T::RuntimeCall) -> bool
where
	T::RuntimeCall: IsSubType<Call<T>>,
{
	match call.is_sub_type() {
		Some(Call::play { claim, challenger, .. }) => !Missed::<T>::contains_key(claim, challenger),
		_ => is_move::<T>(call),
	}
}

/// Returns whether a call of this pallet, or another one that stands alone, is among those that `call` carries, however deep.
fn carries_one<T: Config>(call: &T::RuntimeCall) -> bool
where
	T::RuntimeCall: IsSubType<Call<T>>,
{
	// No recursion: how deep calls are nested is up to whoever sends them.
	let mut calls = vec![call];
	while let Some(call) = calls.pop() {
		let carried = T::Carriers::carried(call);
		if carried.iter().any(|call| call.is_sub_type().is_some() || T::Answers::stands_alone(call)) {
			return true;
		}
		calls.extend(carried);
	}
	false
}

impl<T: Config + Send + Sync> TransactionExtension<T::RuntimeCall> for CheckTurn<T>
where
	T::RuntimeCall: IsSubType<Call<T>> + Dispatchable<Info = DispatchInfo>,
	T::RuntimeOrigin: AsSystemOriginSigner<AccountId>,
{
	const IDENTIFIER: &'static str = "CheckTurn";
	type Implicit = ();
	/// The turn that a `play` answers.
	type Val = Option<H256>;
	/// The game that a `play` is about.
	type Pre = Option<(ClaimId, AccountId)>;

	fn weight(&self, call: &T::RuntimeCall) -> Weight {
		let check = match call.is_sub_type() {
			Some(Call::play { .. }) => T::WeightInfo::check_turn(),
			Some(Call::seal_audit { .. } | Call::report_audit { .. }) => T::WeightInfo::check_report(),
			Some(Call::deliver_answer { later, prompt, answer, .. }) => {
				let (tokens, later) = size(prompt, answer, later);
				T::WeightInfo::check_delivery(tokens, later)
			}
			_ => match T::Answers::weight(call) {
				Some(weight) => weight,
				None => return Weight::zero(),
			},
		};
		// What moves have taken of the block; for a `play` the note about a refused one, too.
		check.saturating_add(T::DbWeight::get().reads_writes(2, 2))
	}

	fn validate(
		&self,
		origin: T::RuntimeOrigin,
		call: &T::RuntimeCall,
		_info: &DispatchInfoOf<T::RuntimeCall>,
		_len: usize,
		_self_implicit: Self::Implicit,
		_inherited_implication: &impl Encode,
		_source: TransactionSource,
	) -> ValidateResult<Self::Val, T::RuntimeCall> {
		// Operators make the moves of those they act for. Who of both sends one does not matter: it is the same turn.
		let player = || origin.as_system_origin_signer().cloned().map(T::Providers::acts_for).ok_or(InvalidTransaction::BadSigner);
		let (mut turn, mut tried) = (None, None);
		let refused = match call.is_sub_type() {
			Some(Call::play { claim, challenger, position, action }) => {
				tried = Some(BlakeTwo256::hash_of(&(claim, challenger, position)));
				turn = tried;
				Pallet::<T>::admit(&player()?, claim, challenger, *position, action).err().map(Refusal::code)
			}
			Some(Call::seal_audit { run, round, .. }) => {
				let auditor = player()?;
				turn = Some(BlakeTwo256::hash_of(&("seal", &auditor, run, round)));
				Pallet::<T>::to_seal(&auditor, *run, *round).err().map(|_| Refusal::NotToReport.code())
			}
			Some(Call::report_audit { run, round, salt, report }) => {
				let auditor = player()?;
				turn = Some(BlakeTwo256::hash_of(&("report", &auditor, run, round)));
				Pallet::<T>::to_report(&auditor, *run, *round, salt, report).err().map(|_| Refusal::NotToReport.code())
			}
			Some(Call::deliver_answer { session, place, receipt, signature, before, later, prompt, answer }) => {
				let provider = player()?;
				turn = Some(BlakeTwo256::hash_of(&("deliver", &provider, session, place)));
				let demanded = AnswerId { session: *session, provider, place: *place };
				let handed = Handed { receipt, signature, before: *before, later, prompt, answer };
				Pallet::<T>::to_deliver(&demanded, &handed).err().map(|_| Refusal::NotToDeliver.code())
			}
			Some(_) => None,
			None if T::Answers::weight(call).is_some() => {
				// What may be answered can be answered in one way.
				let player = player()?;
				turn = Some(BlakeTwo256::hash_of(&("answer", &player, call)));
				T::Answers::admit(&player, call).err()
			}
			None => carries_one::<T>(call).then_some(Refusal::Carried.code()),
		};
		if let Some(code) = refused {
			return Err(InvalidTransaction::Custom(code).into());
		}
		let provides = turn.map(|turn| (Self::IDENTIFIER, turn).encode()).into_iter().collect();
		Ok((ValidTransaction { provides, ..Default::default() }, tried, origin))
	}

	fn prepare(
		self,
		tried: Self::Val,
		_origin: &DispatchOriginOf<T::RuntimeCall>,
		call: &T::RuntimeCall,
		info: &DispatchInfoOf<T::RuntimeCall>,
		len: usize,
	) -> Result<Self::Pre, TransactionValidityError> {
		if is_move::<T>(call) {
			Taken::<T>::try_mutate(|taken| {
				if is_first::<T>(call) {
					taken.moves.take(len, info.total_weight(), T::MovesShare::get())?;
				}
				tried.map_or(Ok(()), |position| taken.try_at(position))
			})?;
		}
		Ok(match call.is_sub_type() {
			Some(Call::play { claim, challenger, .. }) => Some((claim.clone(), challenger.clone())),
			_ => None,
		})
	}

	fn post_dispatch_details(
		game: Self::Pre,
		_info: &DispatchInfoOf<T::RuntimeCall>,
		_post_info: &PostDispatchInfoOf<T::RuntimeCall>,
		_len: usize,
		result: &DispatchResult,
	) -> Result<Weight, TransactionValidityError> {
		if let (Some((claim, challenger)), Err(_)) = (game, result) {
			if Games::<T>::contains_key(&claim, &challenger) {
				Missed::<T>::insert(claim, challenger, ());
			}
		}
		Ok(Weight::zero())
	}
}
