//! How much a chain takes: extrinsics that were signed before the clock starts, counted when they are finalized, each looked up in its block.

mod accounts;
mod delivery;
mod measurement;
mod proofs;
mod transfers;

pub use measurement::{Kind, Measurement};

use crate::{Error, Nodes, Start};
use std::path::Path;

/// What a chain is loaded with.
#[derive(Clone, Debug)]
pub struct Load {
	/// Validators: one or two.
	pub validators: u16,
	/// Transfers, each of another account to a new one.
	pub transfers: u32,
	/// Proofs of Neural Work, each of another provider.
	pub proofs: u32,
	/// Further options of the nodes.
	pub options: Vec<String>,
}

impl Load {
	/// Starts a chain in the new folder `folder`, loads it, and says how it did. `say` is told what is done.
	///
	/// # Errors
	/// Those of [`Nodes::start`]; [`Error::Unsound`] if an extrinsic fails, a receiver has another amount than it was sent, or a block is heavier than
	/// blocks may be.
	pub async fn run(&self, node: &Path, folder: &Path, say: impl Fn(&str)) -> Result<Vec<Measurement>, Error> {
		say("making accounts");
		let senders = transfers::senders(self.transfers)?;
		let providers = proofs::providers(self.proofs)?;
		let endowed = senders.iter().map(|sender| (sender.id(), transfers::ENDOWMENT));
		let endowed = endowed.chain(providers.iter().map(|provider| (provider.account.id(), proofs::ENDOWMENT))).collect();
		let mut options = delivery::options();
		options.extend_from_slice(&self.options);
		say("starting the chain");
		let mut nodes = Nodes::start(node, folder, self.validators, &Start { endowed, slot: None, options }).await?;
		let mut measured = Vec::new();
		if !senders.is_empty() {
			say(&format!("signing {} transfers", senders.len()));
			measured.push(transfers::measure(&mut nodes, &senders, &say).await?);
		}
		if !providers.is_empty() {
			measured.push(proofs::measure(&mut nodes, &providers, &say).await?);
		}
		nodes.stop().await;
		Ok(measured)
	}
}
