//! The three keys of a provider: an sr25519 account that signs extrinsics, a secp256k1 key that signs Proofs of Neural Work, and an
//! ed25519 seed that is its libp2p identity. They lie in `<base>/keys`, one file each, and appear in no log.

mod account;
mod ponw;
mod secret_file;

pub use account::Account;
pub use ponw::PonwSigner;

use rand::{rngs::OsRng, RngCore};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Why keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
	/// There is no such key yet.
	#[error(
		"there is no key at {path}: make one with `neuroshard-worker key generate`, or restore yours with `neuroshard-worker key import`"
	)]
	Missing {
		/// File that was looked for.
		path: PathBuf,
	},
	/// A key is there already.
	#[error("there is a key at {path} already: move it away first if you really want another identity (its bond stays with the old one)")]
	Exists {
		/// File in the way.
		path: PathBuf,
	},
	/// Somebody else could read the key.
	#[error("{path} can be read by other users (mode {mode:o}): make it yours alone with `chmod 600 {path}`, and think of the key as known if this machine has other users")]
	TooOpen {
		/// The file.
		path: PathBuf,
		/// Its permission bits.
		mode: u32,
	},
	/// The file holds something else.
	#[error("{path} does not hold a key: expected {expected}")]
	Malformed {
		/// The file.
		path: PathBuf,
		/// What should be in it.
		expected: &'static str,
	},
	/// A phrase, seed or derivation path that makes no key.
	#[error("this is not a key: expected a 12 to 24-word phrase, a 0x-prefixed 32-byte seed, or a development path such as //Alice")]
	NotAKey,
	/// A phrase of another length than phrases have.
	#[error("this is not a key: a phrase has 12, 15, 18, 21 or 24 words, this one has {words}")]
	WordCount {
		/// Its words.
		words: usize,
	},
	/// A word of a phrase is not on the list of words that phrases are made of. The word itself is not repeated: it may be nearly right.
	#[error("word {position} of the phrase is not on the BIP-39 list of words: look for a typing mistake there")]
	UnknownWord {
		/// Counted from 1.
		position: usize,
	},
	/// Each word of a phrase may stand, but not together.
	#[error("the words of the phrase do not fit together (its checksum is wrong): one of them is another word, or two changed places")]
	Checksum,
	/// The file system refused.
	#[error("cannot use {path}: {source}")]
	Io {
		/// File concerned.
		path: PathBuf,
		/// Its answer.
		source: std::io::Error,
	},
}

/// A 32-byte secret seed; wiped when dropped, never printed.
#[derive(Clone)]
pub struct Seed(Zeroizing<[u8; 32]>);

impl Seed {
	/// A seed from the operating system's randomness.
	pub fn random() -> Self {
		let mut bytes = Zeroizing::new([0; 32]);
		OsRng.fill_bytes(bytes.as_mut());
		Self(bytes)
	}

	/// The secret bytes.
	pub fn expose(&self) -> &[u8; 32] {
		&self.0
	}

	fn load(path: &Path) -> Result<Self, KeyError> {
		let malformed = || KeyError::Malformed { path: path.to_path_buf(), expected: "64 hexadecimal digits" };
		let text = secret_file::read(path)?;
		let mut bytes = Zeroizing::new([0; 32]);
		hex::decode_to_slice(text.as_str(), bytes.as_mut()).map_err(|_| malformed())?;
		Ok(Self(bytes))
	}

	fn create(path: &Path) -> Result<Self, KeyError> {
		let seed = Self::random();
		secret_file::create(path, &Zeroizing::new(hex::encode(seed.expose())))?;
		Ok(seed)
	}

	fn load_or_create(path: &Path) -> Result<Self, KeyError> {
		match Self::load(path) {
			Err(KeyError::Missing { .. }) => Self::create(path),
			found => found,
		}
	}
}

impl std::fmt::Debug for Seed {
	fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		formatter.write_str("Seed(..)")
	}
}

/// All keys of a provider.
#[derive(Clone, Debug)]
pub struct Keys {
	/// Signs extrinsics and owns the money.
	pub account: Account,
	/// Signs Proofs of Neural Work.
	pub ponw: PonwSigner,
	/// Seed of the libp2p identity.
	pub network: Seed,
}

impl Keys {
	/// Makes new keys under `base` from a fresh 12-word phrase, which is returned once so that its owner can write it down.
	///
	/// # Errors
	/// [`KeyError::Exists`] if there is an account key.
	pub fn generate(base: &Path) -> Result<(Self, Zeroizing<String>), KeyError> {
		let phrase = account::new_phrase()?;
		Ok((Self::import(base, &phrase)?, phrase))
	}

	/// Makes keys under `base` for the account of `secret`: a phrase, a 0x-prefixed seed, or a path such as `//Alice`.
	///
	/// # Errors
	/// What [`Account::from_secret`] says, or [`KeyError::Exists`] if there is an account key.
	pub fn import(base: &Path, secret: &str) -> Result<Self, KeyError> {
		let account = Account::from_secret(secret)?;
		secret_file::create(&path(base, ACCOUNT), secret.trim())?;
		Self::with_account(base, account)
	}

	/// Loads the keys under `base`. With `suri` the account comes from it instead of a file: for development networks, since a
	/// command line is visible to every user of the machine.
	///
	/// # Errors
	/// [`KeyError::Missing`] without an account key, and whatever is wrong with a key file.
	pub fn load(base: &Path, suri: Option<&str>) -> Result<Self, KeyError> {
		Self::with_account(base, Account::load(base, suri)?)
	}

	/// The keys beside the account's are made on first use: both are replaceable by registering anew.
	fn with_account(base: &Path, account: Account) -> Result<Self, KeyError> {
		let ponw = PonwSigner::from_seed(&Seed::load_or_create(&path(base, PONW))?)
			.ok_or_else(|| KeyError::Malformed { path: path(base, PONW), expected: "a secp256k1 secret key as 64 hexadecimal digits" })?;
		Ok(Self { account, ponw, network: Seed::load_or_create(&path(base, NETWORK))? })
	}
}

const ACCOUNT: &str = "account";
const PONW: &str = "ponw";
const NETWORK: &str = "network";

fn path(base: &Path, name: &str) -> PathBuf {
	base.join("keys").join(name)
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::{fs, os::unix::fs::PermissionsExt};

	fn private(path: &Path, text: &str) {
		fs::write(path, text).unwrap();
		fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
	}

	#[test]
	fn generated_keys_are_the_same_after_a_restart() {
		let base = tempfile::tempdir().unwrap();
		let (made, phrase) = Keys::generate(base.path()).unwrap();
		let loaded = Keys::load(base.path(), None).unwrap();
		assert_eq!(made.account.id(), loaded.account.id());
		assert_eq!(made.ponw.public(), loaded.ponw.public());
		assert_eq!(made.network.expose(), loaded.network.expose());
		assert_eq!(phrase.split_whitespace().count(), 12);
		assert_eq!(Account::from_secret(&phrase).unwrap().id(), made.account.id());
	}

	#[test]
	fn without_an_account_key_the_error_says_how_to_get_one() {
		let base = tempfile::tempdir().unwrap();
		let error = Keys::load(base.path(), None).unwrap_err();
		assert!(matches!(error, KeyError::Missing { .. }));
		assert!(error.to_string().contains("key generate"), "{error}");
		assert!(!base.path().join("keys/ponw").exists(), "nothing is made for an account that is not there");
	}

	#[test]
	fn a_development_account_needs_no_account_file() {
		let base = tempfile::tempdir().unwrap();
		let alice = Keys::load(base.path(), Some("//Alice")).unwrap();
		assert_eq!(alice.account.address(), "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY");
		assert!(!base.path().join("keys/account").exists());
		assert_eq!(Keys::load(base.path(), Some("//Alice")).unwrap().ponw.public(), alice.ponw.public());
	}

	#[test]
	fn a_damaged_key_file_is_refused_and_left_alone() {
		let base = tempfile::tempdir().unwrap();
		Keys::generate(base.path()).unwrap();
		let ponw = base.path().join("keys/ponw");
		private(&ponw, "abcd");
		let error = Keys::load(base.path(), None).unwrap_err();
		assert!(matches!(error, KeyError::Malformed { .. }), "{error}");
		assert_eq!(fs::read_to_string(&ponw).unwrap(), "abcd");
		// A number above the group's order is no secret key either.
		private(&ponw, &"ff".repeat(32));
		assert!(matches!(Keys::load(base.path(), None), Err(KeyError::Malformed { .. })));
		private(&base.path().join("keys/account"), "twelve words that are none");
		assert!(matches!(Keys::load(base.path(), None), Err(KeyError::Malformed { .. })));
	}

	#[test]
	fn importing_twice_keeps_the_first_identity() {
		let base = tempfile::tempdir().unwrap();
		let first = Keys::import(base.path(), "//Alice").unwrap();
		assert!(matches!(Keys::import(base.path(), "//Bob"), Err(KeyError::Exists { .. })));
		assert_eq!(Keys::load(base.path(), None).unwrap().account.id(), first.account.id());
	}

	#[test]
	fn no_secret_is_ever_printed() {
		let base = tempfile::tempdir().unwrap();
		let keys = Keys::load(base.path(), Some("//Alice")).unwrap();
		let printed = format!("{keys:?}");
		assert!(!printed.contains(&hex::encode(keys.network.expose())));
		let secret = fs::read_to_string(base.path().join("keys/ponw")).unwrap();
		assert!(!printed.contains(secret.trim()));
	}
}
