//! A transaction extension that leaves the part of blocks that is kept for moves, and for acts in rounds of training, to them, and has them come
//! first.

use crate::{turn::is_first, Call, Config, Taken};
use codec::{Decode, DecodeWithMemTracking, Encode};
use core::marker::PhantomData;
use frame_support::{
	dispatch::{DispatchClass, DispatchInfo, PostDispatchInfo},
	pallet_prelude::{Get, TransactionSource},
	traits::IsSubType,
	weights::Weight,
};
use neuroshard_types::{run::Act, traits::Providers, AccountId, BlockNumber};
use scale_info::TypeInfo;
use sp_runtime::{
	traits::{
		AsSystemOriginSigner, DispatchInfoOf, DispatchOriginOf, Dispatchable, Implication, PostDispatchInfoOf, TransactionExtension,
		TransactionExtensionMetadata, ValidateResult,
	},
	transaction_validity::{TransactionPriority, TransactionValidity, TransactionValidityError},
	DispatchResult,
};

/// The lowest priority that a move has in the pool, and more than anything else that is signed.
pub const FIRST: TransactionPriority = 1 << 63;

/// Acts of participants in rounds of training, for which blocks keep room while they are waited for.
pub trait Rounds<RuntimeCall> {
	/// The act that `call` is, if it is any.
	fn act(call: &RuntimeCall) -> Option<Act>;
	/// Weight of [`Self::has_room`] and [`Self::note_refused`].
	fn weight() -> Weight;
	/// The deadline of `act`, if there is room for it by `who` now: it would be taken, and nothing was refused that had room.
	fn has_room(who: &AccountId, act: &Act) -> Option<BlockNumber>;
	/// Notes that `act` by `who` with this deadline had room and was refused: what `who` sends in its place has none.
	fn note_refused(who: &AccountId, act: Act, deadline: BlockNumber);
}

/// There are no rounds.
impl<RuntimeCall> Rounds<RuntimeCall> for () {
	fn act(_: &RuntimeCall) -> Option<Act> {
		None
	}
	fn weight() -> Weight {
		Weight::zero()
	}
	fn has_room(_: &AccountId, _: &Act) -> Option<BlockNumber> {
		None
	}
	fn note_refused(_: &AccountId, _: Act, _: BlockNumber) {}
}

/// The extensions `E`, to which the signed extrinsics that [`CheckTurn`](crate::CheckTurn) admits as moves, and acts for which there is room
/// ([`Rounds`]), and nothing else, are operational.
///
/// Calls of other pallets are operational that anybody can sign, to see them fail in the block: those for root, say, or those that carry
/// them. What `E` does by class is to bound what a block has of each: for `E`, these calls are normal, as are those that carry an inherent.
///
/// In the pool, and so for authors, moves and acts come before all else that is signed, whatever that pays: nobody buys the blocks in which
/// another account's clock, or a phase, runs out. Among them, as among others, the one that pays more comes first. Whoever makes a move that is
/// refused has no such place any more until the game stands elsewhere, or the round is in another phase.
///
/// All acts of a block take at most [`Config::ActsShare`] of it, and there is room for one that declares no more than what is left, so that neither they
/// nor moves take the room of the others. One account has one in the pool for each phase. An act for which there is no room is an extrinsic like any other, as is one that another call carries.
///
/// In metadata and in the extrinsic, this is nothing beside `E`. Bare extrinsics, which nobody signs, stay what they are.
#[derive(Encode, Decode, DecodeWithMemTracking, Clone, Eq, PartialEq, TypeInfo)]
#[scale_info(skip_type_params(T))]
pub struct MovesAlone<T, E>(pub E, PhantomData<T>);

impl<T, E: core::fmt::Debug> core::fmt::Debug for MovesAlone<T, E> {
	fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
		self.0.fmt(f)
	}
}

/// Kind of an extrinsic for the extensions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
	/// One like any other.
	Ordinary,
	/// A move that comes first.
	Move,
	/// An act by this account for which there is room, with its deadline.
	Act(AccountId, Act, BlockNumber),
}

impl Place {
	/// That of `call`, signed by `origin`.
	fn of<T: Config>(origin: &T::RuntimeOrigin, call: &T::RuntimeCall) -> Self
	where
		T::RuntimeCall: IsSubType<Call<T>>,
		T::RuntimeOrigin: AsSystemOriginSigner<AccountId>,
	{
		if is_first::<T>(call) {
			return Self::Move;
		}
		let act = T::Rounds::act(call).and_then(|act| {
			// An operator's act is that of the provider it acts for.
			let who = T::Providers::acts_for(origin.as_system_origin_signer()?.clone());
			T::Rounds::has_room(&who, &act).map(|deadline| Self::Act(who, act, deadline))
		});
		act.unwrap_or(Self::Ordinary)
	}

	/// Returns the dispatch information that the extensions get for such an extrinsic, given that of its call.
	fn told(&self, info: &DispatchInfo) -> DispatchInfo {
		let class = match self {
			Self::Ordinary => DispatchClass::Normal,
			Self::Move => info.class,
			Self::Act(..) => DispatchClass::Operational,
		};
		DispatchInfo { class, ..*info }
	}

	/// Gives back what an act did not need of the room of acts: most declare more than they take.
	fn give_back<T: Config>(&self, info: &DispatchInfo, post_info: &PostDispatchInfo) {
		if let Self::Act(..) = self {
			Taken::<T>::mutate(|taken| taken.acts.give_back(post_info.calc_unspent(info)));
		}
	}

	/// Notes an act that was refused.
	fn note<T: Config>(self, result: &DispatchResult) {
		if let (Self::Act(who, act, deadline), Err(_)) = (self, result) {
			T::Rounds::note_refused(&who, act, deadline);
		}
	}
}

impl<T, E> TransactionExtension<T::RuntimeCall> for MovesAlone<T, E>
where
	T: Config + Send + Sync,
	E: TransactionExtension<T::RuntimeCall>,
	T::RuntimeCall: IsSubType<Call<T>> + Dispatchable<Info = DispatchInfo, PostInfo = PostDispatchInfo>,
	T::RuntimeOrigin: AsSystemOriginSigner<AccountId>,
{
	const IDENTIFIER: &'static str = E::IDENTIFIER;
	type Implicit = E::Implicit;
	type Val = (E::Val, Place);
	type Pre = (E::Pre, Place);

	fn implicit(&self) -> Result<Self::Implicit, TransactionValidityError> {
		self.0.implicit()
	}

	fn metadata() -> alloc::vec::Vec<TransactionExtensionMetadata> {
		E::metadata()
	}

	fn weight(&self, call: &T::RuntimeCall) -> Weight {
		// For whom the signer acts, and what acts have taken of the block, beside the look whether there is room.
		let look = || T::Rounds::weight().saturating_add(T::DbWeight::get().reads_writes(2, 1));
		self.0.weight(call).saturating_add(T::Rounds::act(call).map_or(Weight::zero(), |_| look()))
	}

	fn validate(
		&self,
		origin: DispatchOriginOf<T::RuntimeCall>,
		call: &T::RuntimeCall,
		info: &DispatchInfoOf<T::RuntimeCall>,
		len: usize,
		self_implicit: Self::Implicit,
		inherited_implication: &impl Implication,
		source: TransactionSource,
	) -> ValidateResult<Self::Val, T::RuntimeCall> {
		let place = Place::of::<T>(&origin, call);
		let told = place.told(info);
		let (mut valid, val, origin) = self.0.validate(origin, call, &told, len, self_implicit, inherited_implication, source)?;
		valid.priority = match place {
			Place::Ordinary => valid.priority.min(FIRST - 1),
			Place::Move | Place::Act(..) => (valid.priority / 2).saturating_add(FIRST),
		};
		if let Place::Act(who, act, _) = &place {
			valid.provides.push(("Act", who, act).encode());
		}
		Ok((valid, (val, place), origin))
	}

	fn prepare(
		self,
		(val, place): Self::Val,
		origin: &DispatchOriginOf<T::RuntimeCall>,
		call: &T::RuntimeCall,
		info: &DispatchInfoOf<T::RuntimeCall>,
		len: usize,
	) -> Result<Self::Pre, TransactionValidityError> {
		if let Place::Act(..) = place {
			Taken::<T>::try_mutate(|taken| taken.acts.take(len, info.total_weight(), T::ActsShare::get()))?;
		}
		let pre = self.0.prepare(val, origin, call, &place.told(info), len)?;
		Ok((pre, place))
	}

	fn post_dispatch_details(
		(pre, place): Self::Pre,
		info: &DispatchInfoOf<T::RuntimeCall>,
		post_info: &PostDispatchInfoOf<T::RuntimeCall>,
		len: usize,
		result: &DispatchResult,
	) -> Result<Weight, TransactionValidityError> {
		let told = place.told(info);
		place.give_back::<T>(info, post_info);
		place.note::<T>(result);
		E::post_dispatch_details(pre, &told, post_info, len, result)
	}

	fn post_dispatch(
		(pre, place): Self::Pre,
		info: &DispatchInfoOf<T::RuntimeCall>,
		post_info: &mut PostDispatchInfoOf<T::RuntimeCall>,
		len: usize,
		result: &DispatchResult,
	) -> Result<(), TransactionValidityError> {
		let told = place.told(info);
		place.give_back::<T>(info, post_info);
		place.note::<T>(result);
		E::post_dispatch(pre, &told, post_info, len, result)
	}

	fn bare_validate(call: &T::RuntimeCall, info: &DispatchInfoOf<T::RuntimeCall>, len: usize) -> TransactionValidity {
		E::bare_validate(call, info, len)
	}

	fn bare_validate_and_prepare(
		call: &T::RuntimeCall,
		info: &DispatchInfoOf<T::RuntimeCall>,
		len: usize,
	) -> Result<(), TransactionValidityError> {
		E::bare_validate_and_prepare(call, info, len)
	}

	fn bare_post_dispatch(
		info: &DispatchInfoOf<T::RuntimeCall>,
		post_info: &mut PostDispatchInfoOf<T::RuntimeCall>,
		len: usize,
		result: &DispatchResult,
	) -> Result<(), TransactionValidityError> {
		E::bare_post_dispatch(info, post_info, len, result)
	}
}
