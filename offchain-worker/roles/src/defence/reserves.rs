//! Reserves that an account must be able to pay in disputes with: who cannot pay for a move loses its stake.

use neuroshard_chain_client::{quorums::led_by, ChainAt, ChainError};
use neuroshard_types::{run::RunConfig, AccountId, Balance, RunId};
use std::collections::BTreeMap;

/// Amounts that must stay free for disputes in each run, in planck. They follow from its configuration, and are asked once.
#[derive(Debug, Default)]
pub struct Reserves {
	known: BTreeMap<RunId, Balance>,
	/// Who leads a quorum in its runs: it posts what all members have signed.
	leader: Option<AccountId>,
}

impl Reserves {
	/// Those of an account that holds its places as the leader of a quorum.
	pub fn of_leader(leader: AccountId) -> Self {
		Self { known: BTreeMap::new(), leader: Some(leader) }
	}

	/// That of a run with this configuration.
	pub async fn of(&mut self, at: &ChainAt, run: RunId, config: &RunConfig) -> Result<Balance, ChainError> {
		if let Some(known) = self.known.get(&run) {
			return Ok(*known);
		}
		let seats = match &self.leader {
			Some(leader) => led_by(at.quorums(run).await?, leader),
			None => Vec::new(),
		};
		if seats.is_empty() {
			let reserve = at.reserve(config).await?;
			// Who leads may have proposed nobody yet.
			if self.leader.is_none() {
				self.known.insert(run, reserve);
			}
			return Ok(reserve);
		}
		let spans: Vec<_> = seats.iter().map(|seat| seat.span).collect();
		let reserve = at.quorum_reserve(config, &spans).await?;
		self.known.insert(run, reserve);
		Ok(reserve)
	}
}
