//! Computes answers anew.

use crate::{
	actor::{blocking::within, guarded::guarded},
	content::Content,
	peers::peers_of_round,
	WorkerError,
};
use neuroshard_chain_client::{ChainAt, ChainClient};
use neuroshard_compute::exec::Exec;
use neuroshard_disputes::{
	answers::{
		judge,
		player::{computed, doubt_of},
		Accusation, TranscriptStore, TranscriptStoreError,
	},
	cases::case::CaseError,
};
use neuroshard_graph::ParamLayout;
use neuroshard_inference::receipt::Transcript;
use neuroshard_support::memory::available_memory;
use neuroshard_training::checkpoint::Checkpoint;
use neuroshard_types::{
	answer_audit::AnswerId,
	dispute::AnswerClaim,
	inference::{CheckpointId, Receipt},
	run::{RunConfig, RunStart, RunView},
	AccountId, RoundIndex, RunId,
};
use std::{sync::Arc, time::Duration};

/// Longest wait in one attempt for a checkpoint.
const FETCHING: Duration = Duration::from_secs(600);

/// Computes answers anew. Clones share what it works with.
#[derive(Clone)]
pub(super) struct Judge {
	pub(super) client: ChainClient,
	pub(super) me: AccountId,
	pub(super) content: Content,
	pub(super) transcript_store: TranscriptStore,
	pub(super) threads: usize,
}

/// An answer that is to be computed anew.
pub(super) struct Job {
	pub(super) answer: AnswerId,
	pub(super) transcript: Transcript,
	/// Checkpoint that its provider offered when it was paid.
	pub(super) offered: CheckpointId,
}

/// Verdict on an answer.
pub(super) enum Verdict {
	/// The model gives it.
	Right,
	/// The model gives another one.
	False(Box<Charge>),
	/// The chain opens no game about it, and takes no delivery of it.
	Undisputable(String),
	/// Nobody can say.
	Unknown(String),
}

/// An answer that is false.
#[derive(Clone)]
pub(super) struct Charge {
	pub(super) transcript: Transcript,
	pub(super) accusation: Accusation,
	pub(super) config: RunConfig,
	/// Its first token that the model does not give.
	pub(super) doubt: u32,
}

impl Judge {
	/// Computes an answer anew. What a game about a false one takes is on disk then.
	pub(super) async fn run(self, job: Job) -> (AnswerId, Result<Verdict, WorkerError>) {
		let Job { answer, transcript, offered } = job;
		(answer, guarded("computing an answer anew", self.judge(offered, transcript)).await)
	}

	/// The run of an answer, and the round that starts from its checkpoint; or what there is to say of it without that it is computed.
	async fn run_of(
		&self,
		at: &ChainAt,
		offered: CheckpointId,
		receipt: &Receipt,
	) -> Result<Result<(RunId, RoundIndex, RunView), Verdict>, WorkerError> {
		let Some((run, round)) = receipt.checkpoint else { return Ok(Err(Verdict::Undisputable("its receipt names no run".into()))) };
		let Some(view) = at.run(run).await? else {
			let words = format!("there is no run {run}");
			// One that was offered may have been removed since.
			return Ok(Err(if run == offered.run { Verdict::Unknown(words) } else { Verdict::Undisputable(words) }));
		};
		// It is false, and no game is played about it.
		if receipt.sampling.validate().is_err() {
			return Ok(Ok((run, round, view)));
		}
		if receipt.claimed(&view.config.tokenizer.tokens).choices() == 0 {
			return Ok(Err(Verdict::Right));
		}
		// What it says of its vocabulary counts for nothing on chain.
		match judge::check_opens(&view.config, round, receipt) {
			Ok(()) => Ok(Ok((run, round, view))),
			Err(error) => Ok(Err(Verdict::Undisputable(error.to_string()))),
		}
	}

	/// Returns why no game can be opened about an answer, as far as that is known at once; `None` if one can.
	pub(super) async fn refuses(&self, at: &ChainAt, offered: CheckpointId, receipt: &Receipt) -> Result<Option<String>, WorkerError> {
		Ok(match self.run_of(at, offered, receipt).await? {
			Err(Verdict::Undisputable(why)) => Some(why),
			Ok(_) | Err(_) => None,
		})
	}

	async fn judge(&self, offered: CheckpointId, transcript: Transcript) -> Result<Verdict, WorkerError> {
		let (at, receipt) = (self.client.now().await?, &transcript.receipt);
		let (run, round, view) = match self.run_of(&at, offered, receipt).await? {
			Ok(found) => found,
			Err(verdict) => return Ok(verdict),
		};
		if receipt.sampling.validate().is_err() {
			let accusation = Accusation::new(&transcript, 0, &self.me, self.client.genesis())?;
			return Ok(Verdict::False(Box::new(Charge { transcript, accusation, config: view.config, doubt: 0 })));
		}
		check_memory(&view.config, receipt.prompt.count.saturating_add(receipt.answer.count))?;
		let Some(checkpoint) = self.checkpoint(&at, (run, round), &view, offered, receipt).await? else {
			return Ok(Verdict::Unknown("its receipt names parameters that are no checkpoint which the chain knows".into()));
		};
		let judged = AnswerClaim { config: view.config.clone(), receipt: receipt.clone() };
		let (threads, text) = (self.threads, [transcript.prompt.clone(), transcript.answer.clone()]);
		let doubt = computed(move || doubt_of(Arc::new(Exec::new(threads)?), round, judged, checkpoint, text)).await??;
		let Some(doubt) = doubt else { return Ok(Verdict::Right) };
		let accusation = Accusation::new(&transcript, doubt, &self.me, self.client.genesis())?;
		let Some(checkpoint) = self.checkpoint(&at, (run, round), &view, offered, receipt).await? else { return Err(WorkerError::Stopped) };
		let layout = ParamLayout::new(&view.config.model).map_err(CaseError::from)?;
		let (transcript_store, told) = (self.transcript_store.clone(), transcript.clone());
		let keep = move || {
			let _in_use = transcript_store.keep_checkpoint(&checkpoint, &layout, threads)?;
			transcript_store.keep(&told)
		};
		computed(keep).await??;
		Ok(Verdict::False(Box::new(Charge { transcript, accusation, config: view.config, doubt })))
	}

	/// Returns the checkpoint that an answer was computed with: the copy here, what the seed of the run gives, or what peers have; `None` for what the
	/// chain does not know as a checkpoint, since anybody could have this account fetch and keep what it likes otherwise.
	async fn checkpoint(
		&self,
		at: &ChainAt,
		(run, round): (RunId, RoundIndex),
		view: &RunView,
		offered: CheckpointId,
		receipt: &Receipt,
	) -> Result<Option<Checkpoint>, WorkerError> {
		let (transcript_store, threads, root) = (self.transcript_store.clone(), self.threads, receipt.parameters);
		let layout = ParamLayout::new(&view.config.model).map_err(CaseError::from)?;
		let of_transcript_store = layout.clone();
		match computed(move || transcript_store.checkpoint(run, root, &of_transcript_store, threads)).await? {
			Err(TranscriptStoreError::NoCheckpoint(_) | TranscriptStoreError::Checkpoint(_)) => {}
			here => return Ok(Some(here?)),
		}
		if root == view.config.genesis_root && view.config.start == RunStart::Seed {
			let config = view.config.clone();
			return Ok(Some(computed(move || Checkpoint::genesis(run, &config.model, &config.train, threads)).await??));
		}
		let made = match round.checked_sub(1) {
			Some(before) => at.record(run, before).await?.map(|record| record.checkpoint),
			None => None,
		};
		let starts = at.record(run, round).await?.map(|record| record.start);
		let known = [Some(view.checkpoint), Some(view.config.genesis_root), Some(offered.root), made, starts];
		if !known.contains(&Some(root)) {
			return Ok(None);
		}
		let mut peers = Vec::new();
		// The round that starts from it, and the one that made it.
		for round in [round, round.saturating_sub(1)] {
			peers.extend(peers_of_round(at, (run, round), view.config.dataset, &self.me).await?);
		}
		let leaves = u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)?;
		let fetched = self.content.checkpoint_of((run, &view.config), root, leaves, &peers);
		within(FETCHING, "the checkpoint that an answer was computed with", fetched).await??;
		let store = self.content.store.clone();
		computed(move || Content::read_checkpoint(&store, run, root, &layout, threads)).await?.map(Some)
	}
}

/// Checks that an answer of so many tokens can be computed anew in the memory of this machine.
fn check_memory(config: &RunConfig, tokens: u32) -> Result<(), WorkerError> {
	let (Some(needed), Some(available)) = (judge::memory(config, tokens), available_memory()) else { return Ok(()) };
	match needed <= available.saturating_sub(available / 4) {
		true => Ok(()),
		false => Err(WorkerError::TooLittleMemory { needed, available }),
	}
}
