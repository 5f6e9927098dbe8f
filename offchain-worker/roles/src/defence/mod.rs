//! Stake of an account, and how long a worker stays to defend it: whoever is gone while something of it can be disputed loses its stake to the
//! first who asks.

pub mod clocks;
pub(super) mod reserves;

use super::actor::told::Told;
use neuroshard_chain_client::{next_block, ChainAt, ChainClient, ChainError, Heads};
use neuroshard_support::counted::counted;
use neuroshard_types::{AccountId, BlockNumber};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Things that others may ask an account for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AtStake {
	/// Games about its claims, or that it has opened.
	pub(super) games: usize,
	/// Audits that it was drawn for and that are not closed.
	pub(super) audits: usize,
	/// First block in which nothing that it claimed in adopted rounds can be disputed any more.
	pub(super) disputable_until: BlockNumber,
	/// Claims that are not final yet, those of a round under way included.
	pub(super) open_claims: u32,
	/// Datasets that it attests.
	pub(super) attested: usize,
}

impl AtStake {
	/// Returns the things that are at stake in this state of the chain.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub(super) async fn of(at: &ChainAt, who: &AccountId) -> Result<Self, ChainError> {
		let (provider, games, audits, attested) =
			tokio::try_join!(at.provider(who), at.games_of(who), at.audits_of(who), at.attestations_of(who))?;
		Ok(Self {
			games: games.len(),
			audits: audits.len(),
			disputable_until: provider.as_ref().map_or(0, |provider| provider.disputable_until),
			open_claims: provider.map_or(0, |provider| provider.open_claims),
			attested: attested.len(),
		})
	}

	/// Returns whether somebody may dispute something, or does, at block `now`.
	pub(super) fn is_disputable(&self, now: BlockNumber) -> bool {
		self.games > 0 || self.audits > 0 || self.disputable_until > now
	}

	/// Returns whether a worker that trains no more has something to stay for at block `now`.
	fn is_anything(&self, now: BlockNumber) -> bool {
		self.is_disputable(now) || self.open_claims > 0 || self.attested > 0
	}

	/// The same in words.
	fn words(&self) -> String {
		let Self { games, audits, disputable_until, open_claims, attested } = self;
		format!(
			"trains no more, and stays to defend: {} and {} open, {} not final, what it claimed can be disputed until block {disputable_until}, {} attested",
			counted(*games, "dispute"),
			counted(*audits, "audit"),
			counted(*open_claims, "claim"),
			counted(*attested, "dataset")
		)
	}
}

/// Returns when a final block says that nothing of `who` is at stake any more, or `stop` is cancelled. As long as the chain does not tell, something
/// may be. `say` is given what is waited for.
pub(super) async fn until_over(client: &ChainClient, who: &AccountId, stop: &CancellationToken, say: impl Fn(&str)) {
	let mut heads = client.follow(Heads::default(), |_| {});
	let mut told = Told::default();
	loop {
		heads.mark_unchanged();
		let look = async {
			let at = client.at(client.heads().await?.finalized).await?;
			let stake = AtStake::of(&at, who).await?;
			Ok::<_, ChainError>((stake, at.block().number))
		};
		let Some(looked) = stop.run_until_cancelled(look).await else { return };
		let words = match looked {
			Ok((stake, now)) if !stake.is_anything(now) => return,
			Ok((stake, _)) => stake.words(),
			Err(error) => format!("trains no more, and stays: whether something can be disputed is not known ({error})"),
		};
		if told.is_new(&words, Instant::now()) {
			tracing::warn!("{words}");
		}
		say(&words);
		next_block(&mut heads, stop).await;
	}
}
