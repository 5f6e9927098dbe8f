//! The request to leave: a file, so that whoever runs `neuroshard-worker leave` reaches a worker that runs.

use super::WorkerError;
use std::path::Path;

/// A file of this name in the base folder asks the running worker to finish its round and end.
pub const LEAVE_FILE: &str = "leave";

/// Takes the request of [`LEAVE_FILE`] back: a worker that has left, or was stopped before it got to it, must not leave again after a new
/// registration.
///
/// # Errors
/// [`WorkerError::File`] if the file is there and cannot be removed.
pub fn forget_request(base: &Path) -> Result<(), WorkerError> {
	let path = base.join(LEAVE_FILE);
	match std::fs::remove_file(&path) {
		Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(WorkerError::File { path, source }),
		_ => Ok(()),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_request_that_was_fulfilled_does_not_stay() {
		let base = tempfile::tempdir().unwrap();
		forget_request(base.path()).unwrap();
		std::fs::write(base.path().join(LEAVE_FILE), b"").unwrap();
		forget_request(base.path()).unwrap();
		assert!(!base.path().join(LEAVE_FILE).exists());
	}
}
