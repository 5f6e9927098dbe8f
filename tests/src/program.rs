//! What programs that run a network for a while share.

use crate::Error;
use serde::Serialize;
use std::{path::Path, process::ExitCode, time::Duration};

/// Runs `work` in a temporary folder whose name begins with `prefix`, and which stays if something went wrong.
///
/// # Errors
/// Those of `work`; [`Error::File`] or [`Error::Setup`] if the system gives no folder or no threads.
pub fn in_temporary_folder(prefix: &str, work: impl AsyncFnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
	let path = std::env::temp_dir();
	let folder = tempfile::Builder::new().prefix(prefix).tempdir();
	let folder = folder.map_err(|source| Error::File { path, source })?;
	let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
	let runtime = runtime.map_err(|error| Error::Setup(format!("the system gives no threads: {error}")))?;
	let result = runtime.block_on(work(folder.path()));
	// Before the folder goes, so that nothing is written to it any more.
	runtime.shutdown_timeout(Duration::from_millis(500));
	if result.is_err() {
		eprintln!("logs and data stay in {}", folder.keep().display());
	}
	result
}

/// Writes `what` to the file `path` as JSON.
///
/// # Errors
/// [`Error::File`].
pub fn write_json(what: &impl Serialize, path: &Path) -> Result<(), Error> {
	let text = serde_json::to_string_pretty(what).map_err(|error| Error::Setup(error.to_string()))?;
	std::fs::write(path, text + "\n").map_err(Error::file(path))
}

/// Says what went wrong, if anything did.
pub fn exit_code(result: Result<(), Error>) -> ExitCode {
	match result {
		Ok(()) => ExitCode::SUCCESS,
		Err(error) => {
			eprintln!("error: {error}");
			ExitCode::FAILURE
		}
	}
}
