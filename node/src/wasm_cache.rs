//! The folder for the runtime's compiled code. The node executes what it finds there, so nobody else may be able to put something in.

use std::{
	fs::{self, DirBuilder},
	io,
	os::unix::fs::{DirBuilderExt, MetadataExt},
	path::{Path, PathBuf},
};

/// Why the folder is not used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
	/// It cannot be used at all.
	#[error("the folder {} for the runtime's compiled code cannot be used: {error}. Name another one with --wasm-cache", folder.display())]
	Unusable {
		/// The folder.
		folder: PathBuf,
		/// Error of the operating system.
		error: io::Error,
	},
	/// Somebody else could have put something in.
	#[error(
		"{}, and the node executes what it finds there: name another folder with --wasm-cache, or, if you trust what is in it, take that right \
		 away (chown, chmod o-w)",
		others(folder, *.owned)
	)]
	OfOthers {
		/// The folder.
		folder: PathBuf,
		/// True if it is this user's.
		owned: bool,
	},
}

fn others(folder: &Path, owned: bool) -> String {
	match owned {
		true => format!("everybody on this machine can write to {}", folder.display()),
		false => format!("{} belongs to another user", folder.display()),
	}
}

/// Makes the folder, for this user only, unless it is there.
///
/// # Errors
/// Every [`Error`].
pub fn prepare(folder: &Path) -> Result<(), Error> {
	const ROOT: u32 = 0;
	const EVERYBODY_WRITES: u32 = 0o002;
	let unusable = |error| Error::Unusable { folder: folder.to_owned(), error };
	folder.parent().map_or(Ok(()), fs::create_dir_all).map_err(unusable)?;
	match DirBuilder::new().mode(0o700).create(folder) {
		Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(unusable(error)),
		_ => {}
	}
	let about = fs::metadata(folder).map_err(unusable)?;
	// A process belongs to the user who runs it.
	let owned = [ROOT, fs::metadata("/proc/self").map_err(unusable)?.uid()].contains(&about.uid());
	match owned && about.mode() & EVERYBODY_WRITES == 0 {
		true => Ok(()),
		false => Err(Error::OfOthers { folder: folder.to_owned(), owned }),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::{fs::Permissions, os::unix::fs::PermissionsExt};

	#[test]
	fn a_folder_is_made_for_this_user_and_one_to_which_everybody_writes_is_refused() {
		let base = std::env::temp_dir().join(format!("neuroshard-wasm-cache-{}", std::process::id()));
		let folder = base.join("a/b");
		prepare(&folder).unwrap();
		assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
		prepare(&folder).unwrap();
		fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
		prepare(&folder).unwrap();
		fs::set_permissions(&folder, Permissions::from_mode(0o1777)).unwrap();
		let words = prepare(&folder).unwrap_err().to_string();
		assert!(words.contains("everybody") && words.contains("--wasm-cache") && words.contains("a/b"), "{words}");
		fs::write(base.join("file"), "").unwrap();
		assert!(matches!(prepare(&base.join("file/folder")), Err(Error::Unusable { .. })));
		fs::remove_dir_all(base).unwrap();
	}
}
