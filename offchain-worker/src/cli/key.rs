//! `key generate|show|import|encrypt|decrypt`.

use super::{CliError, Common};
use clap::{Args, Subcommand};
use neuroshard_chain_client::keys::{self, Keys};
use neuroshard_network::keypair_from_secret;
use neuroshard_support::json_file;
use std::{io::Read, path::PathBuf};
use zeroize::Zeroizing;

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
	/// Make new keys and print the account's phrase, once.
	Generate(New),
	/// Show the public halves.
	Show,
	/// Restore an account from a phrase, seed or development path read from standard input.
	Import(New),
	/// Encrypt the key files in place with a passphrase.
	Encrypt,
	/// Decrypt the key files in place.
	Decrypt,
}

#[derive(Debug, Args)]
pub(super) struct New {
	/// Encrypt the key files with a passphrase, which is asked for at the terminal or read from --passphrase-file.
	#[arg(long)]
	encrypt: bool,
}

impl KeyCommand {
	pub(super) fn run(self, common: &Common) -> Result<u8, CliError> {
		let (base, unlock) = (common.base()?, common.unlock());
		match self {
			Self::Generate(new) => {
				let (keys, phrase) = if new.encrypt { Keys::generate_encrypted(&base, &unlock) } else { Keys::generate(&base) }?;
				println!(
					"Write these words down and keep them secret. They are the account; they are not shown again:\n\n    {}\n",
					*phrase
				);
				show(&keys)?;
			}
			Self::Show => show(&Keys::unlock(&base, common.suri.as_deref(), &unlock)?)?,
			Self::Import(new) => {
				// From standard input, so that the secret is in no command line and no shell history.
				let mut bytes = Zeroizing::new(Vec::with_capacity(2_048));
				std::io::stdin().take(1_024).read_to_end(&mut bytes).map_err(CliError::Input)?;
				let secret = secret(&bytes)?;
				let keys = if new.encrypt { Keys::import_encrypted(&base, secret, &unlock) } else { Keys::import(&base, secret) }?;
				show(&keys)?;
			}
			Self::Encrypt => tell("encrypted", &keys::encrypt(&base, &unlock)?),
			Self::Decrypt => tell("decrypted", &keys::decrypt(&base, &unlock)?),
		}
		Ok(0)
	}
}

/// The text of a secret, which may come from a file that begins with a byte order mark.
fn secret(bytes: &[u8]) -> Result<&str, CliError> {
	let words = "what came from standard input is not UTF-8 text: type the phrase, or save the file that it comes from as UTF-8";
	json_file::text(bytes).ok_or_else(|| CliError::Invalid(words.to_owned()))
}

fn tell(done: &str, files: &[PathBuf]) {
	for file in files {
		println!("{done}  {}", file.display());
	}
	if files.is_empty() {
		println!("all keys are {done} already");
	}
}

fn show(keys: &Keys) -> Result<(), CliError> {
	println!("account   {}", keys.account.address());
	println!("ponw key  0x{}", hex::encode(keys.ponw.public()));
	println!("peer id   {}", keypair_from_secret(&mut keys.network.expose().clone())?.public().to_peer_id());
	Ok(())
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_secret_may_begin_with_a_mark_and_one_in_another_encoding_is_told_in_plain_words() {
		assert_eq!(secret(b"\xef\xbb\xbf//Alice\n").unwrap(), "//Alice\n");
		assert_eq!(secret(b"//Alice").unwrap(), "//Alice");
		let wide: Vec<u8> = [0xfeff].into_iter().chain("//Alice".encode_utf16()).flat_map(u16::to_le_bytes).collect();
		let words = secret(&wide).unwrap_err().to_string();
		assert!(words.contains("UTF-8") && !words.contains("Alice"), "{words}");
	}
}
