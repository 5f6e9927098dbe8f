//! Calls as bytes: pallet and call index looked up by name, arguments encoded as this worker's types, both checked against the metadata.

use crate::{
	error::ChainError,
	shape::{self, Mismatch},
};
use codec::{Compact, Encode};
use scale_info::TypeInfo;
use std::marker::PhantomData;
use subxt::{
	ext::{
		scale_encode::{self, EncodeAsFields, FieldIter, TypeResolver},
		scale_type_resolver,
	},
	metadata::Metadata,
};

/// A call that is not encoded for a chain yet.
#[derive(Clone, Debug)]
pub struct Call {
	pallet: &'static str,
	name: &'static str,
	arguments: Arguments,
}

type Check = fn(&Metadata, &[(&str, u32)]) -> Result<(), Mismatch>;

#[derive(Clone, Debug)]
enum Arguments {
	/// SCALE bytes of a tuple, and the comparison of its type with the chain's.
	Values { bytes: Vec<u8>, check: Check },
	/// One call: `Sudo::sudo`.
	Call(Box<Call>),
	/// A list of calls: `Utility::batch_all`.
	Calls(Vec<Call>),
}

/// A call by name, whose arguments are the fields of the tuple `A`.
pub(super) struct Signature<A> {
	pallet: &'static str,
	name: &'static str,
	arguments: PhantomData<A>,
}

impl<A: Encode + TypeInfo + 'static> Signature<A> {
	pub(super) const fn new(pallet: &'static str, name: &'static str) -> Self {
		Self { pallet, name, arguments: PhantomData }
	}

	/// The call with these arguments.
	pub(super) fn with(&self, arguments: A) -> Call {
		Call { pallet: self.pallet, name: self.name, arguments: Arguments::Values { bytes: arguments.encode(), check: Self::compare } }
	}

	/// Checks that the chain has this call with these arguments.
	pub(super) fn check(&self, metadata: &Metadata) -> Result<(), ChainError> {
		let call = Call { pallet: self.pallet, name: self.name, arguments: Arguments::Values { bytes: Vec::new(), check: Self::compare } };
		call.encode(metadata).map(drop)
	}

	fn compare(metadata: &Metadata, expected: &[(&str, u32)]) -> Result<(), Mismatch> {
		shape::same_arguments::<A>(metadata.types(), expected)
	}
}

impl Call {
	/// `call` with the root origin, for the holder of the sudo key of a development network.
	pub fn sudo(call: Self) -> Self {
		Self { pallet: "Sudo", name: "sudo", arguments: Arguments::Call(Box::new(call)) }
	}

	/// All `calls` in this order, or none.
	pub fn all(calls: Vec<Self>) -> Self {
		Self { pallet: "Utility", name: "batch_all", arguments: Arguments::Calls(calls) }
	}

	/// Its name for people: `Pallet::call`, and of a wrapping call what it wraps.
	pub fn describe(&self) -> String {
		match &self.arguments {
			Arguments::Call(inner) => format!("{} (as sudo)", inner.describe()),
			Arguments::Calls(calls) => calls.iter().map(Self::describe).collect::<Vec<_>>().join(" and "),
			Arguments::Values { .. } => format!("{}::{}", self.pallet, self.name),
		}
	}

	/// A call that nobody can encode without a panic.
	#[cfg(test)]
	pub(super) fn panicking() -> Self {
		let check: Check = |_, _| panic!("a call that cannot be encoded");
		Self { pallet: "Training", name: "join", arguments: Arguments::Values { bytes: Vec::new(), check } }
	}

	/// Call bytes for the chain with this metadata.
	///
	/// # Errors
	/// [`ChainError::Missing`] without such a call, [`ChainError::Incompatible`] if its arguments are of other types.
	pub fn encode(&self, metadata: &Metadata) -> Result<Vec<u8>, ChainError> {
		let missing = || ChainError::Missing { what: format!("call {}::{}", self.pallet, self.name) };
		let pallet = metadata.pallet_by_name(self.pallet).ok_or_else(missing)?;
		let variant = pallet.call_variant_by_name(self.name).ok_or_else(missing)?;
		let mut bytes = vec![pallet.call_index(), variant.index];
		match &self.arguments {
			Arguments::Values { bytes: values, check } => {
				let expected: Vec<_> = variant.fields.iter().map(|field| (field.name.as_deref().unwrap_or("_"), field.ty.id)).collect();
				check(metadata, &expected).map_err(|mismatch| ChainError::Incompatible { what: self.describe(), mismatch })?;
				bytes.extend_from_slice(values);
			}
			Arguments::Call(inner) => bytes.extend(inner.encode(metadata)?),
			Arguments::Calls(calls) => {
				Compact(u32::try_from(calls.len()).unwrap_or(u32::MAX)).encode_to(&mut bytes);
				for call in calls {
					bytes.extend(call.encode(metadata)?);
				}
			}
		}
		Ok(bytes)
	}

	/// The payload that subxt wraps into an extrinsic.
	///
	/// # Errors
	/// As [`Self::encode`].
	pub(super) fn payload(&self, metadata: &Metadata) -> Result<Payload, ChainError> {
		let bytes = self.encode(metadata)?;
		Ok(Payload { pallet: self.pallet, name: self.name, arguments: Raw(bytes.get(2..).unwrap_or_default().to_vec()) })
	}
}

/// A call with encoded arguments.
pub(super) struct Payload {
	pallet: &'static str,
	name: &'static str,
	arguments: Raw,
}

impl subxt::tx::Payload for Payload {
	type CallData = Raw;

	fn pallet_name(&self) -> &str {
		self.pallet
	}

	fn call_name(&self) -> &str {
		self.name
	}

	fn call_data(&self) -> &Raw {
		&self.arguments
	}
}

/// Arguments that are encoded and checked already.
pub(super) struct Raw(Vec<u8>);

impl EncodeAsFields for Raw {
	fn encode_as_fields_to<R: TypeResolver>(
		&self,
		_fields: &mut dyn FieldIter<'_, <R as scale_type_resolver::TypeResolver>::TypeId>,
		_types: &R,
		out: &mut Vec<u8>,
	) -> Result<(), scale_encode::Error> {
		out.extend_from_slice(&self.0);
		Ok(())
	}
}
