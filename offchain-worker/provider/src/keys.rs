//! API keys and their limits: a file with a key in each line.

use super::error::ApiError;
use neuroshard_graph::merkle::{blake2_256, Hash};
use std::{
	collections::HashMap,
	os::unix::fs::PermissionsExt,
	path::{Path, PathBuf},
	sync::{Mutex, PoisonError},
	time::{Duration, Instant},
};

/// Period of a limit.
const MINUTE: Duration = Duration::from_secs(60);

/// Why keys are not used.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
	/// The file cannot be read.
	#[error("cannot read the API keys in {path}: {source}", path = path.display())]
	File {
		/// Path of the file.
		path: PathBuf,
		/// Error of the operating system.
		source: std::io::Error,
	},
	/// Others can read the file.
	#[error("others can read the API keys in {path}: `chmod 600` it first", path = path.display())]
	Open {
		/// Path of the file.
		path: PathBuf,
	},
	/// A line is no key.
	#[error("line {line} of {path} is no API key of 16 characters or more, with a number of requests per minute behind it if there is a limit", path = path.display())]
	Line {
		/// Path of the file.
		path: PathBuf,
		/// Number of the line, from 1.
		line: usize,
	},
}

/// The keys, by their hashes: a comparison tells nothing about a key.
#[derive(Debug)]
pub(super) struct Keys(HashMap<Hash, Mutex<Key>>);

#[derive(Debug)]
struct Key {
	/// Requests in a minute.
	limit: Option<u32>,
	since: Instant,
	used: u32,
}

impl Keys {
	/// Reads a file: in each line a key, and behind it how many requests a minute it may make. Empty lines, and those that begin with `#`, say nothing.
	///
	/// # Errors
	/// [`KeysError`].
	pub(super) fn read(path: &Path) -> Result<Self, KeysError> {
		let failed = |source| KeysError::File { path: path.into(), source };
		let mode = std::fs::metadata(path).map_err(failed)?.permissions().mode();
		if mode & 0o077 != 0 {
			return Err(KeysError::Open { path: path.into() });
		}
		let text = std::fs::read_to_string(path).map_err(failed)?;
		let mut keys = HashMap::new();
		for (line, words) in (1..).zip(text.lines()) {
			let wrong = || KeysError::Line { path: path.into(), line };
			let mut words = words.split_whitespace();
			let Some(key) = words.next().filter(|word| !word.starts_with('#')) else { continue };
			let limit = words.next().map(str::parse).transpose().map_err(|_| wrong())?;
			if key.len() < 16 || words.next().is_some() {
				return Err(wrong());
			}
			keys.insert(blake2_256(key.as_bytes()), Mutex::new(Key { limit, since: Instant::now(), used: 0 }));
		}
		Ok(Self(keys))
	}

	/// Counts a request with this `Authorization` header.
	///
	/// # Errors
	/// Without a known key, and beyond its limit.
	pub(super) fn admit(&self, header: Option<&str>, now: Instant) -> Result<(), ApiError> {
		let key = header.and_then(|header| header.strip_prefix("Bearer ")).map(|key| blake2_256(key.trim().as_bytes()));
		let key = key.and_then(|hash| self.0.get(&hash)).ok_or_else(ApiError::key)?;
		let mut key = key.lock().unwrap_or_else(PoisonError::into_inner);
		let passed = now.saturating_duration_since(key.since);
		if passed >= MINUTE {
			(key.since, key.used) = (now, 0);
		}
		if key.limit.is_some_and(|limit| key.used >= limit) {
			let left = MINUTE.saturating_sub(passed).as_secs().saturating_add(1);
			return Err(ApiError::limit(u16::try_from(left).unwrap_or(60)));
		}
		key.used = key.used.saturating_add(1);
		Ok(())
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::fs;

	fn file(text: &str, mode: u32) -> Result<Keys, KeysError> {
		let folder = tempfile::tempdir().unwrap();
		let path = folder.path().join("keys");
		fs::write(&path, text).unwrap();
		fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
		Keys::read(&path)
	}

	#[test]
	fn a_key_may_ask_as_often_as_its_line_says_in_a_minute() {
		let keys = file("# for tests\n\nabcdefghijklmnop 2\n0123456789abcdef\n", 0o600).unwrap();
		let (now, limited, free) = (Instant::now(), Some("Bearer abcdefghijklmnop"), Some("Bearer 0123456789abcdef"));
		assert_eq!(keys.admit(None, now), Err(ApiError::key()));
		assert_eq!(keys.admit(Some("Bearer abcdefghijklmno"), now), Err(ApiError::key()));
		assert_eq!([keys.admit(limited, now), keys.admit(limited, now)], [Ok(()), Ok(())]);
		assert!(keys.admit(limited, now + Duration::from_secs(20)).is_err());
		assert_eq!(keys.admit(limited, now + Duration::from_secs(90)), Ok(()));
		assert!((0..100).all(|_| keys.admit(free, now).is_ok()));
	}

	#[test]
	fn files_that_others_can_read_and_lines_that_are_no_keys_are_refused() {
		assert!(file("abcdefghijklmnop", 0o644).unwrap_err().to_string().contains("chmod 600"));
		for line in ["short", "abcdefghijklmnop many", "abcdefghijklmnop 1 2"] {
			assert!(file(line, 0o600).unwrap_err().to_string().starts_with("line 1 of"), "{line}");
		}
	}
}
