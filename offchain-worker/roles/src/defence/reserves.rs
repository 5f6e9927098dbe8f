//! Reserves that an account must be able to pay in disputes with: who cannot pay for a move loses its stake.

use neuroshard_chain_client::{ChainAt, ChainError};
use neuroshard_types::{run::RunConfig, Balance, RunId};
use std::collections::BTreeMap;

/// Amounts that must stay free for disputes in each run, in planck. They follow from its configuration, and are asked once.
#[derive(Debug, Default)]
pub struct Reserves(BTreeMap<RunId, Balance>);

impl Reserves {
	/// That of a run with this configuration.
	pub async fn of(&mut self, at: &ChainAt, run: RunId, config: &RunConfig) -> Result<Balance, ChainError> {
		if let Some(known) = self.0.get(&run) {
			return Ok(*known);
		}
		let reserve = at.reserve(config).await?;
		self.0.insert(run, reserve);
		Ok(reserve)
	}
}
