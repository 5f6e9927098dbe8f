//! A secret under a passphrase, as one line of text:
//!
//! ```text
//! neuroshard-key 1 scrypt:17:8:1 SALT NONCE CIPHERTEXT
//! ```
//!
//! The key is scrypt (RFC 7914) of passphrase and salt with these costs (log2 N, r, p), 32 bytes; the cipher is ChaCha20-Poly1305 (RFC 8439),
//! which also authenticates all that stands before the ciphertext and the file's name. Salt (32 bytes), nonce (12 bytes) and ciphertext with tag
//! are hexadecimal.

use super::{passphrase::Passphrase, KeyError};
use chacha20poly1305::{AeadInPlace, ChaCha20Poly1305, Key, KeyInit, Nonce, Tag};
use rand::{rngs::OsRng, RngCore};
use scrypt::Params;
use std::path::Path;
use zeroize::Zeroizing;

/// First word of the text, which names its kind.
const MARK: &str = "neuroshard-key";
const VERSION: &str = "1";
/// Logarithm of scrypt's cost: 128 MiB, and some tenths of a second.
const COST: u8 = if cfg!(test) { 10 } else { 17 };
/// Costs that are worked with: a damaged file must not take a machine's memory.
const COSTS: std::ops::RangeInclusive<u8> = 10..=20;
const BLOCK_SIZE: u32 = 8;
const PARALLELISM: u32 = 1;

/// Returns whether `text` is a secret under a passphrase.
pub(super) fn is_sealed(text: &str) -> bool {
	text.split_whitespace().next() == Some(MARK)
}

/// `secret` under `passphrase`, for the file `path`.
///
/// # Errors
/// [`KeyError::Malformed`] if it is much too long for a secret.
pub(super) fn seal(path: &Path, secret: &str, passphrase: &Passphrase) -> Result<String, KeyError> {
	let (mut salt, mut nonce) = ([0; 32], [0; 12]);
	OsRng.fill_bytes(&mut salt);
	OsRng.fill_bytes(&mut nonce);
	let header = format!("{MARK} {VERSION} scrypt:{COST}:{BLOCK_SIZE}:{PARALLELISM} {} {}", hex::encode(salt), hex::encode(nonce));
	let unusable = || malformed(path);
	let cipher = cipher(passphrase, &salt, COST).ok_or_else(unusable)?;
	let bound = bound(&header, path);
	let mut text = Zeroizing::new(secret.as_bytes().to_vec());
	let tag = cipher.encrypt_in_place_detached(Nonce::from_slice(&nonce), bound.as_bytes(), &mut text).map_err(|_| unusable())?;
	Ok(format!("{header} {}{}", hex::encode(text.as_slice()), hex::encode(tag)))
}

/// The secret in `text`, which is the content of the file `path`.
///
/// # Errors
/// [`KeyError::Malformed`], or [`KeyError::WrongPassphrase`], which also is what a changed file looks like.
pub(super) fn open(path: &Path, text: &str, passphrase: &Passphrase) -> Result<Zeroizing<String>, KeyError> {
	let (header, ciphertext) = text.rsplit_once(' ').ok_or_else(|| malformed(path))?;
	let (cost, salt, nonce) = parse(header).ok_or_else(|| malformed(path))?;
	let mut secret = Zeroizing::new(hex::decode(ciphertext).map_err(|_| malformed(path))?);
	let (text, tag) = secret.split_last_chunk_mut::<16>().ok_or_else(|| malformed(path))?;
	let cipher = cipher(passphrase, &salt, cost).ok_or_else(|| malformed(path))?;
	let bound = bound(header, path);
	let wrong = |_| KeyError::WrongPassphrase { path: path.to_path_buf() };
	cipher.decrypt_in_place_detached(Nonce::from_slice(&nonce), bound.as_bytes(), text, Tag::from_slice(tag)).map_err(wrong)?;
	std::str::from_utf8(text).map(|secret| Zeroizing::new(secret.to_owned())).map_err(|_| malformed(path))
}

fn malformed(path: &Path) -> KeyError {
	KeyError::Malformed { path: path.to_path_buf(), expected: "an encrypted key of version 1" }
}

/// Returns the data that is authenticated beside the secret: with the file's name, no key can be put in another one's place.
fn bound(header: &str, path: &Path) -> String {
	format!("{header} {}", path.file_name().unwrap_or_default().to_string_lossy())
}

/// Cost, salt and nonce.
fn parse(header: &str) -> Option<(u8, [u8; 32], [u8; 12])> {
	let mut fields = header.split(' ');
	let mut next = || fields.next();
	let known = next()? == MARK && next()? == VERSION;
	let costs = next()?.strip_prefix("scrypt:")?.strip_suffix(&format!(":{BLOCK_SIZE}:{PARALLELISM}"))?;
	let cost = costs.parse().ok().filter(|cost| COSTS.contains(cost))?;
	let (mut salt, mut nonce) = ([0; 32], [0; 12]);
	hex::decode_to_slice(next()?, &mut salt).ok()?;
	hex::decode_to_slice(next()?, &mut nonce).ok()?;
	(known && next().is_none()).then_some((cost, salt, nonce))
}

fn cipher(passphrase: &Passphrase, salt: &[u8], cost: u8) -> Option<ChaCha20Poly1305> {
	let mut key = Zeroizing::new([0; 32]);
	let params = Params::new(cost, BLOCK_SIZE, PARALLELISM, key.len()).ok()?;
	scrypt::scrypt(passphrase.expose(), salt, &params, key.as_mut()).ok()?;
	Some(ChaCha20Poly1305::new(Key::from_slice(key.as_ref())))
}

#[cfg(test)]
mod tests {
	use super::*;

	fn passphrase(text: &str) -> Passphrase {
		Passphrase::new(text.to_owned()).unwrap()
	}

	/// Made by other implementations of scrypt (OpenSSL's) and ChaCha20-Poly1305 from salt 0, 1, .. and nonce 100, 101, ..
	const KNOWN: &str = "neuroshard-key 1 scrypt:10:8:1 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
		6465666768696a6b6c6d6e6f 9f55c6d7e656c1a1f8392324f0510ece696527a117a66b";

	#[test]
	fn what_other_implementations_encrypted_is_opened() {
		let path = Path::new("/base/keys/account");
		assert_eq!(open(path, KNOWN, &passphrase("correct horse")).unwrap().as_str(), "//Alice");
	}

	#[test]
	fn a_secret_comes_back_with_its_passphrase_alone_and_is_not_in_the_text() {
		let (path, secret) = (Path::new("keys/account"), "bottom drive obey lake curtain smoke basket hold race lonely fit walk");
		let text = seal(path, secret, &passphrase("correct horse")).unwrap();
		assert!(is_sealed(&text) && !is_sealed(secret) && !text.contains("bottom") && !text.contains(&hex::encode("bottom")));
		assert_eq!(open(path, &text, &passphrase("correct horse")).unwrap().as_str(), secret);
		let error = open(path, &text, &passphrase("incorrect horse")).unwrap_err();
		assert!(matches!(&error, KeyError::WrongPassphrase { .. }) && error.to_string().contains("keys/account"), "{error}");
		assert_ne!(seal(path, secret, &passphrase("correct horse")).unwrap(), text, "salt and nonce are fresh");
	}

	#[test]
	fn a_key_that_was_changed_or_put_in_another_ones_place_is_refused() {
		let right = passphrase("correct horse");
		assert!(matches!(open(Path::new("keys/ponw"), KNOWN, &right), Err(KeyError::WrongPassphrase { .. })));
		let account = Path::new("keys/account");
		let changed = KNOWN.replace("9f55", "9f56");
		assert!(matches!(open(account, &changed, &right), Err(KeyError::WrongPassphrase { .. })));
		let words = [("scrypt:10", "scrypt:40"), (":8:1", ":9:1"), ("key 1", "key 2"), ("0001", "zz01"), ("9f55", "")];
		for (is, becomes) in words.into_iter().chain([(" 6465666768696a6b6c6d6e6f", "")]) {
			let changed = KNOWN.replacen(is, becomes, 1);
			let opened = open(account, &changed, &right);
			assert!(matches!(opened, Err(KeyError::Malformed { .. } | KeyError::WrongPassphrase { .. })), "{changed}");
		}
		assert!(matches!(open(account, MARK, &right), Err(KeyError::Malformed { .. })));
	}
}
