//! Errors of mirrors, in words for the person who named them.

use crate::{client::Answer, Location};
use neuroshard_store::StoreError;
use neuroshard_support::printable::printable_line;
use neuroshard_types::H256;
use std::{error::Error, io, time::Duration};

/// Most characters of an error of somebody else's that are told.
const TOLD: usize = 300;

/// Why a mirror did not give what it was asked for. The words follow its address.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MirrorError {
	/// It has no such file.
	#[error("does not have it")]
	Absent,
	/// It sends files from their beginning only.
	#[error("does not serve ranges of files, so that nothing can go on where it broke off: use a server that does, such as nginx")]
	NoRanges,
	/// It sends whoever asks elsewhere.
	#[error("answers with a redirect ({0}), which is not followed: name the address that it leads to")]
	Redirect(u16),
	/// It does not have it, or does not let this worker read it.
	#[error("refuses, since it does not have it or does not let this worker read it ({0}): stores say the same of both to whoever may not list them; credentials are taken from the environment, such as AWS_ACCESS_KEY_ID or GOOGLE_APPLICATION_CREDENTIALS")]
	Hidden(String),
	/// It wants other credentials, or any.
	#[error("refuses: {0}; credentials are taken from the environment, such as AWS_ACCESS_KEY_ID or GOOGLE_APPLICATION_CREDENTIALS")]
	Refused(String),
	/// A file is shorter than the content that it is named after.
	#[error("has {file} with {found} bytes instead of {expected}: push it again")]
	Short {
		/// Which one.
		file: &'static str,
		/// Bytes that came.
		found: u64,
		/// Bytes that were asked for.
		expected: u64,
	},
	/// A leaf does not have its hash.
	#[error("has a corrupt leaf (number {leaf}): remove the file there, and push it again")]
	CorruptLeaf {
		/// First wrong leaf of what was read together.
		leaf: u32,
	},
	/// The leaf list does not hash to the root.
	#[error("has a leaf list that does not hash to the root: remove the file there, and push it again")]
	WrongLeafList,
	/// The note does not belong to the root.
	#[error("has a note that does not belong to the root: remove the file there, and push it again")]
	WrongNote,
	/// It is slower than is waited for.
	#[error("is too slow: it did not send the next piece in {} s", .0.as_secs())]
	Slow(Duration),
	/// Connection, server or disk.
	#[error("failed: {0}")]
	Failed(String),
	/// It failed a while ago and is not asked.
	#[error("failed a while ago and is asked again in {} s", .0.as_secs().max(1))]
	Resting(Duration),
}

impl MirrorError {
	/// Error of the library, or of what lies below it.
	pub(crate) fn of(error: &object_store::Error) -> Self {
		use object_store::Error as E;
		if let Some(answer) = answer_in(error) {
			return match answer {
				Answer::Redirect(status) => Self::Redirect(*status),
				Answer::Late(within) => Self::Slow(*within),
			};
		}
		match error {
			E::NotFound { .. } => Self::Absent,
			E::NotSupported { .. } => Self::NoRanges,
			E::PermissionDenied { .. } => Self::Hidden(told(error)),
			E::Unauthenticated { .. } => Self::Refused(told(error)),
			_ => Self::Failed(told(error)),
		}
	}

	/// Returns whether another attempt, soon, may do better. Whoever is slow is not waited for again: peers may have it by now.
	pub(crate) fn passes(&self) -> bool {
		matches!(self, Self::Failed(_))
	}

	/// Returns whether it says nothing about other content.
	pub(crate) fn is_lack(&self) -> bool {
		matches!(self, Self::Absent | Self::Hidden(_))
	}

	/// Returns whether what it gave is not what its name says.
	pub(crate) fn is_lie(&self) -> bool {
		matches!(self, Self::CorruptLeaf { .. } | Self::WrongLeafList | Self::WrongNote)
	}
}

/// The answer of our client that an error goes back to.
fn answer_in(error: &object_store::Error) -> Option<&Answer> {
	let mut next: Option<&(dyn Error + 'static)> = Some(error);
	while let Some(error) = next {
		if let Some(answer) = error.downcast_ref() {
			return Some(answer);
		}
		next = error.source();
	}
	None
}

/// What can be told of an error of the library: the innermost one, which names the cause. It may quote what a server sent. One of JSON may quote
/// credentials, and only its place is told.
fn told(error: &object_store::Error) -> String {
	let mut innermost: &(dyn Error + 'static) = error;
	while let Some(source) = innermost.source() {
		innermost = source;
	}
	let words = match innermost.downcast_ref::<serde_json::Error>() {
		Some(json) => format!(
			"the JSON of its credentials, such as GOOGLE_SERVICE_ACCOUNT_KEY, is not understood at line {}, column {}",
			json.line(),
			json.column()
		),
		None => innermost.to_string(),
	};
	let mut told: String = printable_line(&words).chars().take(TOLD).collect();
	if told.len() < words.len() {
		told.push('…');
	}
	told.trim_end_matches([' ', ':']).to_owned()
}

/// A mirror, and why it did not give what it was asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("mirror {location} {error}")]
pub struct MirrorFailure {
	/// Its address.
	pub location: Location,
	/// Why.
	pub error: MirrorError,
}

/// Why no mirror brought a blob.
#[derive(Debug, thiserror::Error)]
pub enum FetchFailure {
	/// None could, in the order in which they were asked.
	#[error("no mirror could: {0:?}")]
	Mirrors(Vec<MirrorFailure>),
	/// The store could not take it.
	#[error(transparent)]
	Store(#[from] StoreError),
	/// The process ends.
	#[error("the worker is stopping")]
	Ended,
}

/// Why content was not pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
	/// Web servers are read only.
	#[error("{0} cannot be written to: push to s3://BUCKET/PATH, gs://BUCKET/PATH or file:///FOLDER, and serve that")]
	ReadOnly(Location),
	/// The store's settings do not make one.
	#[error("{location} cannot be used: {words}")]
	Settings {
		/// The address.
		location: Location,
		/// Why.
		words: String,
	},
	/// What is to be pushed could not be read.
	#[error("cannot read what is to be pushed: {0}")]
	Read(#[from] io::Error),
	/// What is to be pushed is something else.
	#[error("what is to be pushed has root {found:?} where {expected:?} is stated: it is damaged, or was changed meanwhile")]
	Root {
		/// Of the bytes.
		found: H256,
		/// Stated.
		expected: H256,
	},
	/// There is nothing to put it into.
	#[error("{0} leads to no bucket: make it first, or correct the address")]
	NoBucket(Location),
	/// The mirror did not take it.
	#[error("{0}. What has arrived is not sent again")]
	Mirror(#[from] MirrorFailure),
	/// The process ends.
	#[error("pushing was stopped")]
	Ended,
}

impl PushError {
	/// Settings that do not make a store.
	pub(crate) fn settings(location: Location, error: &object_store::Error) -> Self {
		Self::Settings { location, words: told(error) }
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::client::Connector;
	use object_store::gcp::GoogleCloudStorageBuilder;

	#[test]
	fn settings_that_are_not_understood_are_named_and_not_quoted() {
		let location = || "gs://bucket/".parse::<Location>().unwrap();
		for key in ["\"hidden\"", "{\"private_key\": [\"hidden\"]}", "{\"hidden\": 1}", "hidden"] {
			let built = GoogleCloudStorageBuilder::new()
				.with_bucket_name("bucket")
				.with_service_account_key(key)
				.with_http_connector(Connector)
				.build();
			let words = PushError::settings(location(), &built.unwrap_err()).to_string();
			assert!(words.contains("GOOGLE_SERVICE_ACCOUNT_KEY") && !words.contains("hidden"), "{words}");
		}
	}
}
