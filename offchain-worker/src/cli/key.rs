//! `key generate|show|import|encrypt|decrypt`.

use super::{CliError, Common};
use clap::{Args, Subcommand};
use neuroshard_chain_client::keys::{self, Keys};
use neuroshard_network::keypair_from_secret;
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
				let mut secret = Zeroizing::new(String::new());
				std::io::stdin().take(1024).read_to_string(&mut secret).map_err(CliError::Input)?;
				let keys = if new.encrypt { Keys::import_encrypted(&base, &secret, &unlock) } else { Keys::import(&base, &secret) }?;
				show(&keys)?;
			}
			Self::Encrypt => tell("encrypted", &keys::encrypt(&base, &unlock)?),
			Self::Decrypt => tell("decrypted", &keys::decrypt(&base, &unlock)?),
		}
		Ok(0)
	}
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
