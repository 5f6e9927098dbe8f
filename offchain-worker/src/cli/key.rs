//! `key generate|show|import`.

use super::{CliError, Common};
use crate::{keys::Keys, net::keypair_from_secret};
use clap::Subcommand;
use std::io::Read;
use zeroize::Zeroizing;

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
	/// Make new keys and print the account's phrase, once.
	Generate,
	/// Show the public halves.
	Show,
	/// Restore an account from a phrase, seed or development path read from standard input.
	Import,
}

impl KeyCommand {
	pub(super) fn run(self, common: &Common) -> Result<u8, CliError> {
		let base = common.base()?;
		match self {
			Self::Generate => {
				let (keys, phrase) = Keys::generate(&base)?;
				println!(
					"Write these words down and keep them secret. They are the account; they are not shown again:\n\n    {}\n",
					*phrase
				);
				show(&keys)?;
			}
			Self::Show => show(&Keys::load(&base, common.suri.as_deref())?)?,
			Self::Import => {
				// From standard input, so that the secret is in no command line and no shell history.
				let mut secret = Zeroizing::new(String::new());
				std::io::stdin().take(1024).read_to_string(&mut secret).map_err(CliError::Input)?;
				show(&Keys::import(&base, &secret)?)?;
			}
		}
		Ok(0)
	}
}

fn show(keys: &Keys) -> Result<(), CliError> {
	println!("account   {}", keys.account.address());
	println!("ponw key  0x{}", hex::encode(keys.ponw.public()));
	println!("peer id   {}", keypair_from_secret(&mut keys.network.expose().clone())?.public().to_peer_id());
	Ok(())
}
