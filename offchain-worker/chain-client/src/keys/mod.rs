//! The three keys of a provider: an sr25519 account that signs extrinsics, a secp256k1 key that signs Proofs of Neural Work, and an
//! ed25519 seed that is its libp2p identity. They lie in `<base>/keys`, one file each, as they are or [`sealed`], and appear in no log.

mod account;
mod error;
mod passphrase;
mod ponw;
mod sealed;
mod secret_file;

pub use account::Account;
pub use error::KeyError;
pub use passphrase::{Passphrase, Unlock};
pub use ponw::PonwSigner;

use rand::{rngs::OsRng, RngCore};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

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

	fn load(path: &Path, unlock: &Unlock) -> Result<Self, KeyError> {
		let malformed = || KeyError::Malformed { path: path.to_path_buf(), expected: "64 hexadecimal digits" };
		let text = read(path, unlock)?;
		let mut bytes = Zeroizing::new([0; 32]);
		hex::decode_to_slice(text.as_str(), bytes.as_mut()).map_err(|_| malformed())?;
		Ok(Self(bytes))
	}

	fn create(path: &Path, unlock: &Unlock) -> Result<Self, KeyError> {
		let seed = Self::random();
		create(path, &Zeroizing::new(hex::encode(seed.expose())), unlock.known())?;
		Ok(seed)
	}

	fn load_or_create(path: &Path, unlock: &Unlock) -> Result<Self, KeyError> {
		match Self::load(path, unlock) {
			Err(KeyError::Missing { .. }) => Self::create(path, unlock),
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

	/// [`Self::generate`], with all of them encrypted under the passphrase that `unlock` gets.
	///
	/// # Errors
	/// As [`Self::generate`], and what `unlock` says.
	pub fn generate_encrypted(base: &Path, unlock: &Unlock) -> Result<(Self, Zeroizing<String>), KeyError> {
		let phrase = account::new_phrase()?;
		Ok((Self::import_encrypted(base, &phrase, unlock)?, phrase))
	}

	/// Makes keys under `base` for the account of `secret`: a phrase, a 0x-prefixed seed, or a path such as `//Alice`.
	///
	/// # Errors
	/// What [`Account::from_secret`] says, or [`KeyError::Exists`] if there is an account key.
	pub fn import(base: &Path, secret: &str) -> Result<Self, KeyError> {
		let account = Account::from_secret(secret)?;
		create(&path(base, ACCOUNT), secret.trim(), None)?;
		Self::with_account(base, account, &Unlock::never())
	}

	/// [`Self::import`], with all keys that are made encrypted under the passphrase that `unlock` gets.
	///
	/// # Errors
	/// As [`Self::import`], and what `unlock` says.
	pub fn import_encrypted(base: &Path, secret: &str, unlock: &Unlock) -> Result<Self, KeyError> {
		let (account, path) = (Account::from_secret(secret)?, path(base, ACCOUNT));
		if path.exists() {
			// Before anybody thinks of a passphrase.
			return Err(KeyError::Exists { path });
		}
		create(&path, secret.trim(), Some(unlock.fresh(&path)?))?;
		Self::with_account(base, account, unlock)
	}

	/// [`Self::unlock`] for keys that are not encrypted.
	///
	/// # Errors
	/// As [`Self::unlock`]; [`KeyError::Locked`] for an encrypted key.
	pub fn load(base: &Path, suri: Option<&str>) -> Result<Self, KeyError> {
		Self::unlock(base, suri, &Unlock::never())
	}

	/// Loads the keys under `base`, those that are encrypted with the passphrase that `unlock` gets. With `suri` the account comes from it instead
	/// of a file: for development networks, since a command line is visible to every user of the machine.
	///
	/// # Errors
	/// [`KeyError::Missing`] without an account key, and whatever is wrong with a key file or its passphrase.
	pub fn unlock(base: &Path, suri: Option<&str>, unlock: &Unlock) -> Result<Self, KeyError> {
		Self::with_account(base, Account::load(base, suri, unlock)?, unlock)
	}

	/// The keys beside the account's are made on first use: both are replaceable by registering anew. They are encrypted if the account's is.
	fn with_account(base: &Path, account: Account, unlock: &Unlock) -> Result<Self, KeyError> {
		let ponw = PonwSigner::from_seed(&Seed::load_or_create(&path(base, PONW), unlock)?)
			.ok_or_else(|| KeyError::Malformed { path: path(base, PONW), expected: "a secp256k1 secret key as 64 hexadecimal digits" })?;
		Ok(Self { account, ponw, network: Seed::load_or_create(&path(base, NETWORK), unlock)? })
	}
}

/// Encrypts all keys under `base` in place with the passphrase that `unlock` gets, and returns the files that were changed. Those that are
/// encrypted already must be so with the same passphrase. Nothing is changed unless all can be.
///
/// # Errors
/// [`KeyError::Missing`] without an account key, and whatever is wrong with a key file or the passphrase.
pub fn encrypt(base: &Path, unlock: &Unlock) -> Result<Vec<PathBuf>, KeyError> {
	let mut changes = Vec::new();
	for (path, text) in stored(base)? {
		match sealed::is_sealed(&text) {
			true => drop(sealed::open(&path, &text, unlock.passphrase(&path)?)?),
			false => {
				let text = sealed::seal(&path, &text, unlock.fresh(&path)?)?;
				changes.push((path, Zeroizing::new(text)));
			}
		}
	}
	replace(changes)
}

/// Decrypts all keys under `base` in place, and returns the files that were changed. Nothing is changed unless all can be.
///
/// # Errors
/// As [`encrypt`].
pub fn decrypt(base: &Path, unlock: &Unlock) -> Result<Vec<PathBuf>, KeyError> {
	let mut changes = Vec::new();
	for (path, text) in stored(base)? {
		if sealed::is_sealed(&text) {
			let secret = sealed::open(&path, &text, unlock.passphrase(&path)?)?;
			changes.push((path, secret));
		}
	}
	replace(changes)
}

/// The key files that there are, the account's first, and what is in them.
fn stored(base: &Path) -> Result<Vec<(PathBuf, Zeroizing<String>)>, KeyError> {
	let mut stored = Vec::new();
	for name in [ACCOUNT, PONW, NETWORK] {
		let path = path(base, name);
		match secret_file::read(&path) {
			Ok(text) => stored.push((path, text)),
			Err(KeyError::Missing { .. }) if name != ACCOUNT => {}
			Err(error) => return Err(error),
		}
	}
	Ok(stored)
}

fn replace(changes: Vec<(PathBuf, Zeroizing<String>)>) -> Result<Vec<PathBuf>, KeyError> {
	let replaced = changes.into_iter().map(|(path, text)| secret_file::replace(&path, &text).map(|()| path));
	replaced.collect()
}

/// The secret in a key file.
fn read(path: &Path, unlock: &Unlock) -> Result<Zeroizing<String>, KeyError> {
	let text = secret_file::read(path)?;
	match sealed::is_sealed(&text) {
		true => sealed::open(path, &text, unlock.passphrase(path)?),
		false => Ok(text),
	}
}

/// Makes a key file, encrypted if there is a passphrase.
fn create(path: &Path, secret: &str, passphrase: Option<&Passphrase>) -> Result<(), KeyError> {
	match passphrase {
		Some(passphrase) => secret_file::create(path, &sealed::seal(path, secret, passphrase)?),
		None => secret_file::create(path, secret),
	}
}

/// Seed of the libp2p identity under `base`, which is made on first use. It needs no account.
///
/// # Errors
/// Whatever is wrong with the key file or its passphrase.
pub fn network_seed(base: &Path, unlock: &Unlock) -> Result<Seed, KeyError> {
	Seed::load_or_create(&path(base, NETWORK), unlock)
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

	/// Has the passphrase that is in a file beside the keys.
	fn unlock(base: &Path, passphrase: &str) -> Unlock {
		let file = base.join("passphrase");
		private(&file, passphrase);
		Unlock::new(Some(&file))
	}

	#[test]
	fn keys_that_are_made_encrypted_are_the_same_after_a_restart_and_stand_in_no_file() {
		let base = tempfile::tempdir().unwrap();
		let (made, phrase) = Keys::generate_encrypted(base.path(), &unlock(base.path(), "correct horse")).unwrap();
		for name in [ACCOUNT, PONW, NETWORK] {
			let text = fs::read_to_string(path(base.path(), name)).unwrap();
			assert!(sealed::is_sealed(&text) && !text.contains(phrase.as_str()) && !text.contains(&hex::encode(made.network.expose())));
			assert_eq!(fs::metadata(path(base.path(), name)).unwrap().permissions().mode() & 0o777, 0o600);
		}
		let loaded = Keys::unlock(base.path(), None, &unlock(base.path(), "correct horse")).unwrap();
		assert_eq!((loaded.account.id(), loaded.ponw.public()), (made.account.id(), made.ponw.public()));
		assert_eq!(loaded.network.expose(), made.network.expose());
		let error = Keys::unlock(base.path(), None, &unlock(base.path(), "another horse")).unwrap_err();
		assert!(matches!(error, KeyError::WrongPassphrase { .. }), "{error}");
		assert!(matches!(Keys::load(base.path(), None), Err(KeyError::Locked { .. })));
	}

	#[test]
	fn keys_are_encrypted_and_decrypted_in_place_and_stay_the_same() {
		let base = tempfile::tempdir().unwrap();
		let (made, _) = Keys::generate(base.path()).unwrap();
		let before: Vec<_> = [ACCOUNT, PONW, NETWORK].map(|name| fs::read(path(base.path(), name)).unwrap()).into();
		assert_eq!(encrypt(base.path(), &unlock(base.path(), "correct horse")).unwrap().len(), 3);
		for name in [ACCOUNT, PONW, NETWORK] {
			assert!(sealed::is_sealed(&fs::read_to_string(path(base.path(), name)).unwrap()));
			assert_eq!(fs::metadata(path(base.path(), name)).unwrap().permissions().mode() & 0o777, 0o600);
		}
		let loaded = Keys::unlock(base.path(), None, &unlock(base.path(), "correct horse")).unwrap();
		assert_eq!((loaded.account.id(), loaded.ponw.public()), (made.account.id(), made.ponw.public()));
		assert_eq!(encrypt(base.path(), &unlock(base.path(), "correct horse")).unwrap(), Vec::<PathBuf>::new(), "they are");
		assert!(matches!(decrypt(base.path(), &unlock(base.path(), "another horse")), Err(KeyError::WrongPassphrase { .. })));
		assert_eq!(decrypt(base.path(), &unlock(base.path(), "correct horse")).unwrap().len(), 3);
		let after: Vec<_> = [ACCOUNT, PONW, NETWORK].map(|name| fs::read(path(base.path(), name)).unwrap()).into();
		assert_eq!(after, before);
		assert_eq!(fs::read_dir(base.path().join("keys")).unwrap().count(), 3, "nothing else stays behind");
	}

	#[test]
	fn a_key_under_another_passphrase_keeps_all_from_being_changed() {
		let base = tempfile::tempdir().unwrap();
		Keys::generate_encrypted(base.path(), &unlock(base.path(), "correct horse")).unwrap();
		let ponw = path(base.path(), PONW);
		private(&ponw, &sealed::seal(&ponw, &"11".repeat(32), &Passphrase::new("another horse".into()).unwrap()).unwrap());
		let account = fs::read(path(base.path(), ACCOUNT)).unwrap();
		assert!(matches!(decrypt(base.path(), &unlock(base.path(), "correct horse")), Err(KeyError::WrongPassphrase { .. })));
		assert_eq!(fs::read(path(base.path(), ACCOUNT)).unwrap(), account);
	}

	#[test]
	fn a_key_that_is_made_beside_an_encrypted_account_is_encrypted_as_well() {
		let base = tempfile::tempdir().unwrap();
		Keys::generate_encrypted(base.path(), &unlock(base.path(), "correct horse")).unwrap();
		fs::remove_file(path(base.path(), NETWORK)).unwrap();
		Keys::unlock(base.path(), None, &unlock(base.path(), "correct horse")).unwrap();
		assert!(sealed::is_sealed(&fs::read_to_string(path(base.path(), NETWORK)).unwrap()));
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
