//! A network as one sees it from outside: what the chain says, and what the workers say.

use crate::{tokens_per_second::tokens_per_second, Error, Network, Training};
use neuroshard_chain_client::Heads;
use neuroshard_roles::status::Status;
use neuroshard_types::run::{RoundRecord, RoundView, RunView};

/// A network at one moment.
#[derive(Clone, Debug)]
pub struct View {
	/// Newest blocks.
	pub heads: Heads,
	/// The run, after the best block.
	pub run: RunView,
	/// Its round under way.
	pub round: Option<RoundView>,
	/// Its adopted rounds, oldest first.
	pub records: Vec<RoundRecord>,
	/// What each worker says.
	pub workers: Vec<Option<Status>>,
	/// Tokens of the deltas in the adopted checkpoints per second of chain time, from the start of the first round's training to the
	/// newest adoption; 0 before it.
	pub tokens_per_second: f64,
}

impl View {
	/// Looks at `network`. Adopted rounds that `before` knows are not asked for again.
	///
	/// # Errors
	/// [`Error::Chain`] if the first validator does not answer.
	pub async fn look(network: &Network, training: &Training, before: Option<Self>) -> Result<Self, Error> {
		let heads = network.client().heads().await?;
		let at = network.client().at(heads.best).await?;
		let missing = || Error::Setup(format!("the chain has no run {}", training.run));
		let run = at.run(training.run).await?.ok_or_else(missing)?;
		let mut records = before.as_ref().map(|before| before.records.clone()).unwrap_or_default();
		// After a reorganisation, the newest one may be another one.
		records.truncate(usize::try_from(run.rounds_adopted.saturating_sub(1)).unwrap_or_default());
		for round in u32::try_from(records.len()).unwrap_or(u32::MAX)..run.rounds_adopted {
			match at.record(training.run, round).await? {
				Some(record) => records.push(record),
				None => break,
			}
		}
		let round = at.round(training.run).await?;
		let workers = network.workers.iter().map(|worker| worker.status()).collect();
		let tokens_per_second = match before {
			Some(before) if before.records == records && before.tokens_per_second > 0.0 => before.tokens_per_second,
			_ => tokens_per_second(network.client(), training, &records).await?,
		};
		Ok(Self { heads, run, round, records, workers, tokens_per_second })
	}

	/// Loss of the newest adopted checkpoint.
	pub fn newest_loss(&self) -> Option<f32> {
		self.records.last().map(|record| record.validation_loss.get())
	}
}
