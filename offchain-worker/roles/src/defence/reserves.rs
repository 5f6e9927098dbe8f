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
		let spans: Vec<_> = seats.iter().map(|seat| seat.span).collect();
		let reserve = match spans.is_empty() {
			true => at.reserve(config).await?,
			false => at.quorum_reserve(config, &spans).await?,
		};
		// Who leads may have proposed nobody yet.
		if self.leader.is_none() || !spans.is_empty() {
			self.known.insert(run, reserve);
		}
		Ok(reserve)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::participant::decide::plan::tests::training;
	use neuroshard_fixtures::Connect;
	use neuroshard_mock_node::MockNode;
	use neuroshard_types::{
		quorum::{Seat, Span},
		ModelConfig, TrainConfig,
	};

	#[tokio::test]
	async fn who_leads_a_quorum_keeps_more_free_once_it_has_proposed_one() {
		let node = MockNode::with_blocks(10).await;
		let (client, leader) = (node.client().await, AccountId::new([1; 32]));
		let at = client.now().await.unwrap();
		let model = ModelConfig { layers: 2, ..ModelConfig::tiny() };
		let config = RunConfig { model, train: TrainConfig::tiny(), ..training().0.run.unwrap().view.config };
		let seat =
			|who: u8, first, count| Seat { leader: leader.clone(), who: AccountId::new([who; 32]), span: Span { first, count }, key: None };
		let alone = Reserves::default().of(&at, 3, &config).await.unwrap();

		let mut reserves = Reserves::of_leader(leader.clone());
		node.answer("Training", "quorums", &Vec::<Seat>::new());
		assert_eq!(reserves.of(&at, 3, &config).await.unwrap(), alone);
		let seats = vec![seat(1, 0, 2), seat(2, 2, 2)];
		node.answer("Training", "quorums", &seats);
		let spans: Vec<Span> = seats.iter().map(|seat| seat.span).collect();
		let leading = reserves.of(&at, 3, &config).await.unwrap();
		assert_eq!(leading, at.quorum_reserve(&config, &spans).await.unwrap());
		assert!(leading > alone, "{leading} > {alone}");
		// It is asked once.
		node.answer("Training", "quorums", &Vec::<Seat>::new());
		assert_eq!(reserves.of(&at, 3, &config).await.unwrap(), leading);
	}
}
