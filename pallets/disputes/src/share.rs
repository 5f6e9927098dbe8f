//! A transaction extension that leaves the part of blocks that is kept for moves to them, and has them come first.

use crate::{turn::is_move, Call, Config};
use codec::{Decode, DecodeWithMemTracking, Encode};
use core::marker::PhantomData;
use frame_support::{
	dispatch::{DispatchClass, DispatchInfo},
	pallet_prelude::TransactionSource,
	traits::IsSubType,
	weights::Weight,
};
use scale_info::TypeInfo;
use sp_runtime::{
	traits::{
		DispatchInfoOf, DispatchOriginOf, Dispatchable, Implication, PostDispatchInfoOf, TransactionExtension,
		TransactionExtensionMetadata, ValidateResult,
	},
	transaction_validity::{TransactionPriority, TransactionValidity, TransactionValidityError},
	DispatchResult,
};

/// The lowest priority that a move has in the pool, and more than anything else that is signed.
pub const FIRST: TransactionPriority = 1 << 63;

/// The extensions `E`, to which the signed extrinsics that [`CheckTurn`](crate::CheckTurn) admits as moves, and nothing else, are operational.
///
/// Calls of other pallets are operational that anybody can sign, to see them fail in the block: those for root, say, or those that carry
/// them. What `E` does by class is to bound what a block has of each: for `E`, these calls are normal, as are those that carry an inherent.
///
/// In the pool, and so for authors, moves come before all else that is signed, whatever that pays: nobody buys the blocks in which another
/// account's clock runs out. Among moves, as among others, the one that pays more comes first.
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

/// What `call` is to the extensions, given what it says of itself.
fn class_of<T: Config>(call: &T::RuntimeCall, info: &DispatchInfo) -> DispatchClass
where
	T::RuntimeCall: IsSubType<Call<T>>,
{
	if is_move::<T>(call) {
		info.class
	} else {
		DispatchClass::Normal
	}
}

impl<T, E> TransactionExtension<T::RuntimeCall> for MovesAlone<T, E>
where
	T: Config + Send + Sync,
	E: TransactionExtension<T::RuntimeCall>,
	T::RuntimeCall: IsSubType<Call<T>> + Dispatchable<Info = DispatchInfo>,
{
	const IDENTIFIER: &'static str = E::IDENTIFIER;
	type Implicit = E::Implicit;
	type Val = E::Val;
	type Pre = (E::Pre, DispatchClass);

	fn implicit(&self) -> Result<Self::Implicit, TransactionValidityError> {
		self.0.implicit()
	}

	fn metadata() -> alloc::vec::Vec<TransactionExtensionMetadata> {
		E::metadata()
	}

	fn weight(&self, call: &T::RuntimeCall) -> Weight {
		self.0.weight(call)
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
		let info = DispatchInfo { class: class_of::<T>(call, info), ..*info };
		let (mut valid, val, origin) = self.0.validate(origin, call, &info, len, self_implicit, inherited_implication, source)?;
		valid.priority = match is_move::<T>(call) {
			true => (valid.priority / 2).saturating_add(FIRST),
			false => valid.priority.min(FIRST - 1),
		};
		Ok((valid, val, origin))
	}

	fn prepare(
		self,
		val: Self::Val,
		origin: &DispatchOriginOf<T::RuntimeCall>,
		call: &T::RuntimeCall,
		info: &DispatchInfoOf<T::RuntimeCall>,
		len: usize,
	) -> Result<Self::Pre, TransactionValidityError> {
		let class = class_of::<T>(call, info);
		let pre = self.0.prepare(val, origin, call, &DispatchInfo { class, ..*info }, len)?;
		Ok((pre, class))
	}

	fn post_dispatch_details(
		(pre, class): Self::Pre,
		info: &DispatchInfoOf<T::RuntimeCall>,
		post_info: &PostDispatchInfoOf<T::RuntimeCall>,
		len: usize,
		result: &DispatchResult,
	) -> Result<Weight, TransactionValidityError> {
		E::post_dispatch_details(pre, &DispatchInfo { class, ..*info }, post_info, len, result)
	}

	fn post_dispatch(
		(pre, class): Self::Pre,
		info: &DispatchInfoOf<T::RuntimeCall>,
		post_info: &mut PostDispatchInfoOf<T::RuntimeCall>,
		len: usize,
		result: &DispatchResult,
	) -> Result<(), TransactionValidityError> {
		E::post_dispatch(pre, &DispatchInfo { class, ..*info }, post_info, len, result)
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
