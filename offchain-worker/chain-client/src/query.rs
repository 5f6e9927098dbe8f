//! View functions as bytes: looked up by name, types checked, answers decoded into this worker's types.

use crate::{error::ChainError, shape};
use codec::{Decode, DecodeAll, Encode};
use scale_info::TypeInfo;
use std::marker::PhantomData;
use subxt::metadata::Metadata;

/// Runtime API that executes view functions.
pub(super) const EXECUTE: &str = "RuntimeViewFunction_execute_view_function";

/// Why the chain did not execute a view function: `frame_support::view_functions::ViewFunctionDispatchError`.
#[derive(Debug, Decode, thiserror::Error)]
enum DispatchError {
	#[codec(index = 0)]
	#[error("the chain executes no view functions")]
	NotImplemented,
	#[codec(index = 1)]
	#[error("the chain knows no view function with the identifier {}", hex::encode(.0))]
	NotFound([u8; 32]),
	#[codec(index = 2)]
	#[error("the chain could not decode the arguments")]
	Codec,
}

/// A view function by name, from the tuple `A` to `R`.
pub(super) struct View<A, R> {
	pallet: &'static str,
	function: &'static str,
	types: PhantomData<fn(A) -> R>,
}

impl<A: Encode + TypeInfo + 'static, R: Decode + TypeInfo + 'static> View<A, R> {
	pub(super) const fn new(pallet: &'static str, function: &'static str) -> Self {
		Self { pallet, function, types: PhantomData }
	}

	/// Its name for people.
	pub(super) fn describe(&self) -> String {
		format!("{}::{}", self.pallet, self.function)
	}

	/// Checks that the chain has this view function with these types.
	pub(super) fn check(&self, metadata: &Metadata) -> Result<(), ChainError> {
		self.query_id(metadata).map(drop)
	}

	/// Input of [`EXECUTE`].
	///
	/// # Errors
	/// [`ChainError::Missing`] without such a function, [`ChainError::Incompatible`] if it takes or returns other types.
	pub(super) fn encode(&self, metadata: &Metadata, arguments: &A) -> Result<Vec<u8>, ChainError> {
		// The input is a byte list of its own: `execute_view_function(query_id, input: Vec<u8>)`.
		Ok((self.query_id(metadata)?, arguments.encode()).encode())
	}

	/// Value in the output of [`EXECUTE`].
	///
	/// # Errors
	/// [`ChainError::BadAnswer`].
	pub(super) fn decode(&self, output: &[u8]) -> Result<R, ChainError> {
		let bad = |reason: String| ChainError::BadAnswer { what: self.describe(), reason };
		let bytes = Result::<Vec<u8>, DispatchError>::decode_all(&mut &*output)
			.map_err(|error| bad(error.to_string()))?
			.map_err(|error| bad(error.to_string()))?;
		R::decode_all(&mut &*bytes).map_err(|error| bad(error.to_string()))
	}

	fn query_id(&self, metadata: &Metadata) -> Result<[u8; 32], ChainError> {
		let what = || format!("view function {}", self.describe());
		let found = metadata.pallet_by_name(self.pallet).and_then(|found| found.view_function_by_name(self.function));
		let found = found.ok_or_else(|| ChainError::Missing { what: what() })?;
		let inputs: Vec<_> = found.inputs().map(|input| (&*input.name, input.id)).collect();
		shape::same_arguments::<A>(metadata.types(), &inputs)
			.and_then(|()| shape::same::<R>(metadata.types(), found.output_ty()))
			.map_err(|mismatch| ChainError::Incompatible { what: what(), mismatch })?;
		Ok(*found.query_id())
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	const VIEW: View<(), u32> = View::new("Training", "run");

	#[test]
	fn an_answer_is_unwrapped_and_must_be_used_up() {
		let output = |value: Vec<u8>| Ok::<_, ()>(value).encode();
		assert_eq!(View::<(), Option<u32>>::new("Training", "run").decode(&output(Some(7u32).encode())).unwrap(), Some(7));
		let error = VIEW.decode(&output(7u64.encode())).unwrap_err();
		assert!(matches!(error, ChainError::BadAnswer { .. }), "{error}");
	}

	#[test]
	fn a_refusal_and_garbage_are_errors_in_words() {
		let error = VIEW.decode(&[1, 0]).unwrap_err();
		assert!(error.to_string().contains("Training::run") && error.to_string().contains("executes no view functions"), "{error}");
		assert!(VIEW.decode(&[]).is_err());
		assert!(VIEW.decode(&[9]).is_err());
	}
}
