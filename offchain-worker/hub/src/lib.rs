//! Files of Hugging Face's hub, by way of the cache that its own tools keep on this machine: what they have fetched is not fetched again, and the other way
//! round.
//!
//! - `name`: what is asked for, `hf://..`. `settings`: where the cache and the hub are, as the variables of its tools say. `client`: HTTP.
//! - `cache`: which files there are in the cache, and where. `fetch`: which there are in the hub, and those that are missing here.
//!
//! Nothing here is trusted but for TLS and, where the hub names one, the SHA-256 or Git's hash of a file: names that lead out of a folder are refused, whoever has
//! written them.

mod cache;
mod client;
mod fetch;
mod name;
mod settings;
#[cfg(test)]
mod tests;

pub use fetch::{Hub, Snapshot};
pub use name::{Kind, Name, PREFIX};
pub use settings::Settings;

use std::path::{Path, PathBuf};

/// Why something of the hub is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
	/// What was asked for is no name.
	#[error("{name:?} names nothing in the hub: {reason}. Expected hf://datasets/OWNER/NAME[@REVISION][/PATH], or hf://OWNER/NAME[@REVISION] for a model")]
	Name {
		/// As it was written.
		name: String,
		/// What is wrong with it.
		reason: &'static str,
	},
	/// A variable of the environment, or what it leads to, cannot be used.
	#[error("{name}: {reason}")]
	Setting {
		/// The variable.
		name: &'static str,
		/// What is wrong with it; never its value where that is secret.
		reason: String,
	},
	/// A file or folder of the cache could not be read or written.
	#[error("{path}: {source}", path = path.display())]
	Io {
		/// The file or folder.
		path: PathBuf,
		/// Error of the operating system.
		source: std::io::Error,
	},
	/// A file of the cache leads out of it.
	#[error("{path} leads out of the cache, or by way of several links: remove it, and let it be fetched again", path = path.display())]
	Outside {
		/// The file.
		path: PathBuf,
	},
	/// The cache does not have it, and nothing is fetched.
	#[error("{what} is not in the cache, {cache}, and HF_HUB_OFFLINE says that nothing is fetched: fetch it without that, or as with `hf download`", cache = cache.display())]
	NotCached {
		/// What was asked for.
		what: String,
		/// Folder of the cache.
		cache: PathBuf,
	},
	/// The hub did not answer, or not to the end.
	#[error("{url}: {reason}. What is in the cache already is taken with HF_HUB_OFFLINE=1; another address of the hub is named with HF_ENDPOINT")]
	Away {
		/// What was asked for.
		url: String,
		/// Why.
		reason: String,
	},
	/// The hub refuses it.
	#[error("{url}: the hub answers {status}{hint}", hint = hint(*status))]
	Refused {
		/// What was asked for.
		url: String,
		/// Status of the answer.
		status: u16,
	},
	/// What the hub answered cannot be used.
	#[error("{url}: {reason}")]
	Answer {
		/// What was asked for.
		url: String,
		/// What is wrong with the answer.
		reason: String,
	},
	/// There are no such files.
	#[error("{name} has no such file; there are {files}")]
	Nothing {
		/// What was asked for.
		name: String,
		/// Some files that there are.
		files: String,
	},
}

impl HubError {
	fn io(path: &Path, source: std::io::Error) -> Self {
		Self::Io { path: path.to_path_buf(), source }
	}
}

fn hint(status: u16) -> &'static str {
	match status {
		401 | 403 => ": take a token that may read it, in HF_TOKEN, and accept its terms on its page if it has some",
		404 => ": there is no such thing, or only for those with a token, in HF_TOKEN",
		429 => ": it has been asked too often, so try again later",
		_ => "",
	}
}
