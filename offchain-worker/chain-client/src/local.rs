//! View functions of a runtime that the asker executes itself.

use crate::{
	error::ChainError,
	query::{View, EXECUTE},
	views::{DATASET, OUTER_JOB, RECORD, ROUND, RUN},
};
use codec::{DecodeAll, Encode};
use neuroshard_types::{
	dataset::DatasetView,
	dispute::OuterJob,
	run::{RoundRecord, RoundView, RunView},
	DatasetId, RoundIndex, RunId,
};
use scale_info::TypeInfo;
use subxt::metadata::Metadata;

/// Version of the metadata that is read: the first one with view functions.
const METADATA_VERSION: u32 = 16;

/// Knows how to ask one runtime. Whoever executes it passes `call`: a runtime API's name and SCALE input to its output.
pub struct LocalViews {
	metadata: Metadata,
}

impl LocalViews {
	/// Reads the runtime's metadata.
	///
	/// # Errors
	/// What `call` fails with; [`ChainError::Missing`] or [`ChainError::BadAnswer`] if the runtime has no such metadata.
	pub fn load<E: From<ChainError>>(call: impl FnOnce(&str, &[u8]) -> Result<Vec<u8>, E>) -> Result<Self, E> {
		let what = "Metadata_metadata_at_version";
		let bad = |reason: String| ChainError::BadAnswer { what: what.into(), reason };
		let answer = call(what, &METADATA_VERSION.encode())?;
		let bytes = Option::<Vec<u8>>::decode_all(&mut answer.as_slice()).map_err(|error| bad(error.to_string()))?;
		let bytes = bytes.ok_or_else(|| ChainError::Missing { what: format!("metadata of version {METADATA_VERSION}") })?;
		Ok(Self { metadata: Metadata::decode_from(&bytes).map_err(|error| bad(error.to_string()))? })
	}

	/// A run.
	///
	/// # Errors
	/// What `call` fails with; [`ChainError::Missing`] or [`ChainError::Incompatible`] if the runtime does not have the function
	/// as this worker knows it.
	pub fn run<E: From<ChainError>>(&self, id: RunId, call: impl FnOnce(&str, &[u8]) -> Result<Vec<u8>, E>) -> Result<Option<RunView>, E> {
		self.ask(&RUN, (id,), call)
	}

	/// The current round of an active run.
	///
	/// # Errors
	/// As [`Self::run`].
	pub fn round<E: From<ChainError>>(
		&self,
		id: RunId,
		call: impl FnOnce(&str, &[u8]) -> Result<Vec<u8>, E>,
	) -> Result<Option<RoundView>, E> {
		self.ask(&ROUND, (id,), call)
	}

	/// An adopted round.
	///
	/// # Errors
	/// As [`Self::run`].
	pub fn record<E: From<ChainError>>(
		&self,
		id: RunId,
		round: RoundIndex,
		call: impl FnOnce(&str, &[u8]) -> Result<Vec<u8>, E>,
	) -> Result<Option<RoundRecord>, E> {
		self.ask(&RECORD, (id, round), call)
	}

	/// Outer steps that are to be attested, in Checkpointing.
	///
	/// # Errors
	/// As [`Self::run`].
	pub fn outer_job<E: From<ChainError>>(
		&self,
		id: RunId,
		call: impl FnOnce(&str, &[u8]) -> Result<Vec<u8>, E>,
	) -> Result<Option<OuterJob>, E> {
		self.ask(&OUTER_JOB, (id,), call)
	}

	/// A dataset.
	///
	/// # Errors
	/// As [`Self::run`].
	pub fn dataset<E: From<ChainError>>(
		&self,
		id: DatasetId,
		call: impl FnOnce(&str, &[u8]) -> Result<Vec<u8>, E>,
	) -> Result<Option<DatasetView>, E> {
		self.ask(&DATASET, (id,), call)
	}

	fn ask<A, R, E>(&self, view: &View<A, R>, arguments: A, call: impl FnOnce(&str, &[u8]) -> Result<Vec<u8>, E>) -> Result<R, E>
	where
		A: Encode + TypeInfo + 'static,
		R: codec::Decode + TypeInfo + 'static,
		E: From<ChainError>,
	{
		let input = view.encode(&self.metadata, &arguments)?;
		let output = call(EXECUTE, &input)?;
		Ok(view.decode(&output)?)
	}
}
