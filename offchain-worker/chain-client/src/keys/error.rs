//! Errors about keys, in words that say what to do and repeat no secret.

use std::path::PathBuf;

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
	/// The key is encrypted, and nobody can be asked for the passphrase.
	#[error("the key at {path} is encrypted, and there is no terminal to ask for its passphrase: name a file that holds it with --passphrase-file FILE")]
	Locked {
		/// The file.
		path: PathBuf,
	},
	/// The key is encrypted with another passphrase.
	#[error("{path} cannot be decrypted: the passphrase is wrong, or the file was changed")]
	WrongPassphrase {
		/// The file.
		path: PathBuf,
	},
	/// There is no file with the passphrase.
	#[error("there is no file {path} with the passphrase: name it with --passphrase-file FILE")]
	NoPassphraseFile {
		/// File that was looked for.
		path: PathBuf,
	},
	/// A passphrase that is soon guessed.
	#[error("a passphrase needs at least {shortest} characters")]
	ShortPassphrase {
		/// Fewest that are taken.
		shortest: usize,
	},
	/// A new passphrase was not typed the same twice.
	#[error("the two passphrases differ: nothing was changed, try again")]
	Differs,
	/// The file holds something else.
	#[error("{path} does not hold a key: expected {expected}")]
	Malformed {
		/// The file.
		path: PathBuf,
		/// Expected content.
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

impl KeyError {
	/// The same about the file with the passphrase.
	pub(super) fn of_passphrase(self) -> Self {
		match self {
			Self::Missing { path } => Self::NoPassphraseFile { path },
			other => other,
		}
	}
}
