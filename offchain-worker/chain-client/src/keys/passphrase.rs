//! The passphrase of encrypted keys, and where it comes from: never from a command line, which all users of the machine can see.

use super::{secret_file, KeyError};
use std::{
	path::{Path, PathBuf},
	sync::OnceLock,
};
use zeroize::Zeroizing;

/// Shortest passphrase that is taken.
const SHORTEST: usize = 8;

/// A passphrase; wiped when dropped, never printed.
#[derive(Clone)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
	/// Takes over `text`.
	///
	/// # Errors
	/// [`KeyError::ShortPassphrase`].
	pub fn new(text: String) -> Result<Self, KeyError> {
		let text = Zeroizing::new(text);
		match text.chars().count() >= SHORTEST {
			true => Ok(Self(text)),
			false => Err(KeyError::ShortPassphrase { shortest: SHORTEST }),
		}
	}

	pub(super) fn expose(&self) -> &[u8] {
		self.0.as_bytes()
	}
}

impl std::fmt::Debug for Passphrase {
	fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		formatter.write_str("Passphrase(..)")
	}
}

#[derive(Debug)]
enum Source {
	File(PathBuf),
	Terminal,
	Nowhere,
}

/// Has the passphrase when an encrypted key needs one, and asks for it at most once.
#[derive(Debug)]
pub struct Unlock {
	source: Source,
	known: OnceLock<Passphrase>,
}

impl Unlock {
	/// Reads the passphrase from the first line of a file that belongs to its owner alone (such as a pipe at `/dev/fd/3`), or else asks at the
	/// terminal.
	pub fn new(file: Option<&Path>) -> Self {
		Self { source: file.map_or(Source::Terminal, |file| Source::File(file.to_path_buf())), known: OnceLock::new() }
	}

	/// Has no passphrase: encrypted keys are refused.
	pub fn never() -> Self {
		Self { source: Source::Nowhere, known: OnceLock::new() }
	}

	/// The passphrase that keys were opened with.
	pub(super) fn known(&self) -> Option<&Passphrase> {
		self.known.get()
	}

	/// The passphrase that `path` is encrypted with.
	///
	/// # Errors
	/// [`KeyError::Locked`] if nobody can be asked; what is wrong with the file that holds it.
	pub(super) fn passphrase(&self, path: &Path) -> Result<&Passphrase, KeyError> {
		self.get(|| {
			let locked = |_| KeyError::Locked { path: path.to_path_buf() };
			rpassword::prompt_password(format!("Passphrase of the keys in {}: ", folder(path))).map_err(locked)
		})
		.and_then(|known| known.ok_or_else(|| KeyError::Locked { path: path.to_path_buf() }))
	}

	/// A passphrase to encrypt the keys in the folder of `path` with. Whoever types it types it twice.
	///
	/// # Errors
	/// As [`Self::passphrase`]; [`KeyError::Differs`] if the two are not the same.
	pub(super) fn fresh(&self, path: &Path) -> Result<&Passphrase, KeyError> {
		self.get(|| {
			let ask = |prompt: String| rpassword::prompt_password(prompt).map_err(|_| KeyError::Locked { path: path.to_path_buf() });
			let first = Zeroizing::new(ask(format!("New passphrase of the keys in {}: ", folder(path)))?);
			let second = Zeroizing::new(ask("The same again: ".into())?);
			match first == second {
				true => Ok(first.to_string()),
				false => Err(KeyError::Differs),
			}
		})
		.and_then(|known| known.ok_or_else(|| KeyError::Locked { path: path.to_path_buf() }))
	}

	/// The known passphrase, the file's, or what `ask` gives; `None` if nobody is to be asked.
	fn get(&self, ask: impl FnOnce() -> Result<String, KeyError>) -> Result<Option<&Passphrase>, KeyError> {
		if self.known.get().is_none() {
			let passphrase = match &self.source {
				Source::Nowhere => return Ok(None),
				Source::Terminal => Passphrase::new(ask()?)?,
				Source::File(file) => {
					let text = secret_file::read(file).map_err(|error| error.of_passphrase())?;
					Passphrase::new(text.lines().next().unwrap_or_default().to_owned())?
				}
			};
			return Ok(Some(self.known.get_or_init(|| passphrase)));
		}
		Ok(self.known.get())
	}
}

fn folder(path: &Path) -> String {
	path.parent().unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::{fs, os::unix::fs::PermissionsExt};

	fn file(folder: &Path, text: &str, mode: u32) -> PathBuf {
		let path = folder.join("passphrase");
		fs::write(&path, text).unwrap();
		fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
		path
	}

	#[test]
	fn a_passphrase_is_the_first_line_of_a_file_that_others_cannot_read() {
		let folder = tempfile::tempdir().unwrap();
		let key = folder.path().join("account");
		let unlock = |text, mode| Unlock::new(Some(&file(folder.path(), text, mode)));
		let known = unlock("correct horse\nbattery\n", 0o600);
		assert_eq!(known.passphrase(&key).unwrap().expose(), b"correct horse");
		assert!(matches!(unlock("correct horse\n", 0o640).passphrase(&key), Err(KeyError::TooOpen { .. })));
		assert!(matches!(unlock("horse\n", 0o600).passphrase(&key), Err(KeyError::ShortPassphrase { .. })));
		let missing = folder.path().join("missing");
		let error = Unlock::new(Some(&missing)).passphrase(&key).unwrap_err();
		assert!(matches!(error, KeyError::NoPassphraseFile { .. }) && error.to_string().contains("--passphrase-file"), "{error}");
	}

	#[test]
	fn where_nobody_can_be_asked_the_error_names_the_key_and_what_to_do() {
		let error = Unlock::never().passphrase(Path::new("/base/keys/account")).unwrap_err();
		assert!(error.to_string().contains("/base/keys/account") && error.to_string().contains("--passphrase-file"), "{error}");
	}

	#[test]
	fn a_passphrase_is_not_printed() {
		let passphrase = Passphrase::new("correct horse".into()).unwrap();
		assert_eq!(format!("{passphrase:?}"), "Passphrase(..)");
	}
}
