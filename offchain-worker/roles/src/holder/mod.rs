//! The holder: attests the dataset in the operator's folder if it is asked to, opens the chunks that challengers ask this account for, and ends
//! attestations that are not wanted any more.
//!
//! It is an actor beside the worker's tasks, since an answer has a deadline. It remembers nothing that the chain does not say, so that a restart
//! changes nothing.

mod choice;
mod folder;
mod step;

use super::{
	actor::{guarded::guarded, told::Told},
	leave::LEAVE_FILE,
	WorkerError,
};
use choice::Choice;
use folder::Folder;
use neuroshard_chain_client::{holdings, next_block, BlockId, Call, ChainClient, ChainError, Heads, Submitter};
use neuroshard_support::counted::counted;
use neuroshard_types::{
	dataset::{ChallengeView, ChunkOpening, ChunkPlace, DatasetView, HoldingView, ShardRange},
	provider::ProviderStatus,
	Balance, BlockNumber, DatasetId,
};
use std::{path::PathBuf, time::Instant};
use step::{steps, Attested, Basis, Intent, Seen, Step};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Blocks until a chunk that could not be opened, or whose opening was refused, is tried again, and whatever only the pool refused: that cost nothing, and
/// says more about what else this account sends than about the call.
const SHORT_REST: BlockNumber = 10;
/// Blocks until what else the chain refused is tried again: every attempt costs a fee.
const REST: BlockNumber = 20;
/// The same for an attestation: what it takes, such as a deposit, may be missing for long.
const LONG_REST: BlockNumber = 200;

/// Result of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
	/// Something was done: there may be more to do at once.
	Acted,
	/// There is nothing to do in this block, while so many attestations stand.
	Waits(usize),
}

/// Ends all that the account attests of datasets: withdraws it, concludes what was missed, and answers until then what is asked for out of the
/// folder `dataset`. Returns when nothing is attested any more; while the node is away it waits.
pub async fn end_attestations(client: ChainClient, submitter: Submitter, dataset: Option<PathBuf>) {
	Holder::leaving(client, submitter, dataset).run_to_the_end(CancellationToken::new()).await;
}

/// The actor.
pub(super) struct Holder {
	client: ChainClient,
	submitter: Submitter,
	folder: Option<Folder>,
	choice: Choice,
	attest: bool,
	/// Base folder, where a request to leave is found.
	base: Option<PathBuf>,
	leaving: bool,
	/// Steps that were refused, and the first block in which each is tried again.
	refused: Vec<(Step, BlockNumber)>,
	/// Warnings and alarms that were given.
	warned: Told,
	alarmed: Told,
}

impl Holder {
	/// Attests the dataset in `folder` if it is asked to `attest`, answers in any case, and ends everything once it is asked in `base` to leave.
	pub(super) fn new(base: PathBuf, client: ChainClient, submitter: Submitter, folder: Option<PathBuf>, attest: bool) -> Self {
		Self { attest, base: Some(base), leaving: false, ..Self::leaving(client, submitter, folder) }
	}

	/// Ends everything, and answers out of `folder` until then.
	fn leaving(client: ChainClient, submitter: Submitter, folder: Option<PathBuf>) -> Self {
		Self {
			client,
			submitter,
			folder: folder.map(Folder::new),
			choice: Choice::default(),
			attest: false,
			base: None,
			leaving: true,
			refused: Vec::new(),
			warned: Told::default(),
			alarmed: Told::default(),
		}
	}

	/// Works until `stop` is cancelled.
	pub(super) async fn run(mut self, stop: CancellationToken) {
		self.work(&stop, |_| false).await;
	}

	/// Works until nothing is attested any more, or `stop` is cancelled.
	async fn run_to_the_end(mut self, stop: CancellationToken) {
		self.work(&stop, |turn| turn == Turn::Waits(0)).await;
	}

	async fn work(&mut self, stop: &CancellationToken, is_last: impl Fn(Turn) -> bool) {
		let mut heads = self.client.follow(Heads::default(), |_| {});
		loop {
			heads.mark_unchanged();
			let turn = guarded("the holder", self.turn(heads.clone()));
			let Some(turn) = stop.run_until_cancelled(turn).await else { return };
			match turn {
				Ok(turn) if is_last(turn) => return,
				Ok(Turn::Acted) => continue,
				Ok(Turn::Waits(_)) => {}
				// Whoever follows the heads for the status says that.
				Err(WorkerError::Chain(error)) if error.passes() => tracing::debug!("attestations: {error}"),
				Err(error) => self.say(&error.to_string()),
			}
			next_block(&mut heads, stop).await;
		}
	}

	fn say(&mut self, words: &str) {
		if self.warned.is_new(words, Instant::now()) {
			tracing::warn!("attestations: {words}");
		}
	}

	/// Says what costs a part of the stake.
	fn alarm(&mut self, words: &str) {
		if self.alarmed.is_new(words, Instant::now()) {
			tracing::error!("attestations: {words}");
		}
	}

	/// Does what is most urgent.
	async fn turn(&mut self, heads: watch::Receiver<Heads>) -> Result<Turn, WorkerError> {
		let seen = self.look().await?;
		self.refused.retain(|(_, until)| *until > seen.now);
		if seen.is_unbacked() {
			self.say("the stake is too small for what is to be attested: bond more, or withdraw what is attested of another dataset");
		}
		if seen.missed() > 0 && self.intent() != Intent::Leave {
			let (missed, why) = (seen.missed(), "anybody may conclude that, which costs a part of the stake");
			self.alarm(&format!(
				"{missed} challenges were not answered in time: {why}; `neuroshard-worker leave` does, and ends what is attested"
			));
		}
		match self.next(&seen) {
			Some(step) => self.take(step, &seen, heads).await.map(|()| Turn::Acted),
			None => Ok(Turn::Waits(seen.attested.len())),
		}
	}

	fn intent(&self) -> Intent {
		match (self.leaving, self.attest) {
			(true, _) => Intent::Leave,
			(_, true) => Intent::Attest,
			_ => Intent::Answer,
		}
	}

	/// Returns the step to send now, but for what was refused just before.
	fn next(&self, seen: &Seen) -> Option<Step> {
		steps(seen, self.intent()).into_iter().find(|step| self.refused.iter().all(|(refused, _)| refused != step))
	}

	async fn look(&mut self) -> Result<Seen, WorkerError> {
		let heads = self.client.heads().await?;
		let (at, now) = (self.client.at(heads.best).await?, heads.best.number);
		self.leaving |= self.base.as_ref().is_some_and(|base| base.join(LEAVE_FILE).exists());
		let intent = self.intent();
		if let Some(folder) = &mut self.folder {
			if let Err(error) = folder.look(now, intent == Intent::Attest).await {
				self.say(&error.to_string());
			}
		}
		let me = self.submitter.who().clone();
		let mut attested = Vec::new();
		for HoldingView { dataset, expires_at, challenges, .. } in at.attestations_of(&me).await? {
			let basis = self.basis(at.dataset(dataset).await?);
			attested.push(Attested { dataset, basis, expires_at, challenges });
		}
		let target = self.target(heads.finalized, &attested, now).await?;
		let terms = at.attestation_terms().await?;
		let provider = at.provider(&me).await?;
		let active = provider.as_ref().is_some_and(|provider| provider.status == ProviderStatus::Active);
		let backed = provider.map_or(0, |provider| provider.slashable().checked_div(terms.penalty).unwrap_or(Balance::MAX));
		let backed = usize::try_from(backed).unwrap_or(usize::MAX);
		Ok(Seen { now, period: terms.period, answer_time: terms.answer_time, active, backed, attested, target })
	}

	fn basis(&self, dataset: Option<DatasetView>) -> Basis {
		let Some(view) = dataset else { return Basis::Gone };
		match self.folder.as_ref().is_some_and(|folder| folder.opens(&view.manifest)) {
			true => Basis::Folder,
			false => Basis::Elsewhere,
		}
	}

	/// Returns the shards to attest, if that is wanted and all of them are in the folder.
	async fn target(
		&mut self,
		finalized: BlockId,
		attested: &[Attested],
		now: BlockNumber,
	) -> Result<Option<(DatasetId, ShardRange)>, WorkerError> {
		let wanted = self.intent() == Intent::Attest;
		let Some(folder) = self.folder.as_ref().filter(|folder| wanted && folder.is_whole()) else {
			self.choice.forget();
			return Ok(None);
		};
		let mine: Vec<_> = attested.iter().map(|one| one.dataset).collect();
		let at = self.client.at(finalized).await?;
		let target = self.choice.look(&at, folder, &mine, now).await?;
		// The finalized block may not know yet that it is gone.
		let gone = |id| attested.iter().any(|one| one.dataset == id && one.basis == Basis::Gone);
		Ok(target.filter(|(id, _)| !gone(*id)))
	}

	/// Sends `step`, or notes that it cannot be sent now.
	async fn take(&mut self, step: Step, seen: &Seen, heads: watch::Receiver<Heads>) -> Result<(), WorkerError> {
		let sent = match self.call(&step, seen).await {
			Ok(call) => self.send(&step, call, heads).await,
			Err(error) => Err(error),
		};
		match sent {
			Ok(true) => tell(&step, seen),
			// Something more urgent came up.
			Ok(false) => {}
			Err(error) => {
				let Some(rest) = rest(&step, &error) else { return Err(error) };
				match step {
					Step::Answer { .. } => self.alarm(&error.to_string()),
					_ => self.say(&error.to_string()),
				}
				self.refused.push((step, seen.now.saturating_add(rest)));
			}
		}
		Ok(())
	}

	async fn call(&mut self, step: &Step, seen: &Seen) -> Result<Call, WorkerError> {
		let me = self.submitter.who().clone();
		Ok(match step {
			Step::Attest { dataset, shards } => holdings::attest(*dataset, *shards),
			Step::Withdraw { dataset } => holdings::withdraw(*dataset, me),
			Step::Conclude { dataset, challenger } => holdings::conclude(*dataset, me, challenger.clone()),
			Step::Answer { dataset, challenge } => {
				let opening = self.open(*dataset, challenge.place, seen).await?;
				let opening = opening.map_err(|why| {
					let ChallengeView { place: ChunkPlace { shard, chunk }, deadline, .. } = *challenge;
					WorkerError::Unanswerable { dataset: *dataset, shard, chunk, deadline, why }
				});
				holdings::answer(*dataset, challenge.challenger.clone(), opening?)
			}
		})
	}

	/// A chunk of a dataset, or in words why it cannot be opened.
	async fn open(&mut self, dataset: DatasetId, place: ChunkPlace, seen: &Seen) -> Result<Result<ChunkOpening, String>, WorkerError> {
		let is_there = seen.attested.iter().any(|one| one.dataset == dataset && one.basis == Basis::Folder);
		match &mut self.folder {
			Some(folder) if is_there => folder.open(place).await,
			Some(folder) => Ok(Err(format!("{} holds another dataset, or cannot be read", folder.path().display()))),
			None => Ok(Err("the folder of the dataset was not named with --dataset".into())),
		}
	}

	/// Waits for a step until it is in a block, and for one that has time only until an answer is due: `false` then.
	async fn send(&mut self, step: &Step, call: Call, mut heads: watch::Receiver<Heads>) -> Result<bool, WorkerError> {
		let submitter = self.submitter.clone();
		if let Step::Answer { .. } = step {
			submitter.submit_urgent(call).await?;
			return Ok(true);
		}
		let mut sending = std::pin::pin!(submitter.submit_once(call));
		let mut followed = true;
		loop {
			tokio::select! {
				sent = &mut sending => return Ok(sent.map(|_| true)?),
				changed = heads.changed(), if followed => {
					followed = changed.is_ok();
					// Not knowing better is no reason to give it up.
					let Ok(seen) = self.look().await else { continue };
					if matches!(self.next(&seen), Some(Step::Answer { .. })) {
						return Ok(false);
					}
				},
			}
		}
	}
}

/// Blocks until a step that could not be done is tried again, while others are; `None` if the whole turn failed.
fn rest(step: &Step, error: &WorkerError) -> Option<BlockNumber> {
	let by_the_pool = match error {
		WorkerError::Chain(ChainError::Pool { .. }) => true,
		WorkerError::Unanswerable { .. } | WorkerError::Chain(ChainError::Dispatch { .. } | ChainError::Unfunded { .. }) => false,
		_ => return None,
	};
	Some(match step {
		Step::Answer { .. } if by_the_pool => 1,
		Step::Answer { .. } => SHORT_REST,
		_ if by_the_pool => SHORT_REST,
		Step::Withdraw { .. } | Step::Conclude { .. } => REST,
		Step::Attest { .. } => LONG_REST,
	})
}

fn tell(step: &Step, seen: &Seen) {
	match step {
		Step::Attest { dataset, .. } => tracing::info!("attested dataset {dataset}"),
		Step::Withdraw { dataset } => match seen.attested.iter().find(|one| one.dataset == *dataset) {
			Some(one) if one.basis != Basis::Gone && one.expires_at > seen.now => {
				tracing::info!("withdrew the attestation of dataset {dataset}: it ends in {}", counted(seen.answer_time, "block"));
			}
			_ => tracing::info!("the attestation of dataset {dataset} has ended"),
		},
		Step::Conclude { dataset, .. } => tracing::warn!("a challenge of dataset {dataset} was not answered in time, and is concluded"),
		Step::Answer { dataset, challenge } => {
			tracing::info!(challenger = %challenge.challenger, "opened a chunk of dataset {dataset} that was asked for");
		}
	}
}

#[cfg(test)]
mod tests;
