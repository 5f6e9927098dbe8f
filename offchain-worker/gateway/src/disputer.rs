//! Disputes false answers on chain, by itself, and plays the games that this account has opened about answers.

use neuroshard_chain_client::{ChainClient, Submitter};
use neuroshard_disputes::answers::{
	challenge, Accusation, ChallengeError, Dispute, InUse, Parts, Player, TranscriptStore, TranscriptStoreError,
};
use neuroshard_graph::game::Side;
use neuroshard_inference::receipt::Transcript;
use neuroshard_types::{inference::SessionId, run::RunConfig};
use serde_json::{json, Value};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{
	sync::{mpsc, watch},
	task::JoinSet,
	time::sleep,
};
use tokio_util::sync::CancellationToken;

/// Pause after a challenge that may succeed later, and until a block is looked at again that is not final yet.
const PAUSE: Duration = Duration::from_secs(12);

/// Parts that disputes take.
pub struct Disputer {
	/// The chain.
	pub client: ChainClient,
	/// Sends challenges and moves, for whom the account acts.
	pub submitter: Submitter,
	/// Folder of transcripts and checkpoints.
	pub transcript_store: TranscriptStore,
	/// The run that the offered checkpoint is of.
	pub config: Arc<RunConfig>,
	/// Keeps a copy of the checkpoint; only with it, answers are checked.
	pub in_use: Option<InUse>,
	/// Compute threads.
	pub threads: usize,
}

/// A false answer.
pub(super) struct Charge {
	pub(super) transcript: Transcript,
	/// The first of its tokens that is false.
	pub(super) doubt: u32,
	/// Path of the file with its receipt.
	pub(super) file: PathBuf,
}

/// A disputed answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Disputed {
	session: SessionId,
	/// Its place in the session.
	place: u32,
	/// State of the dispute, in words.
	state: String,
}

impl Disputed {
	pub(super) fn json(&self) -> Value {
		let Self { session, place, state } = self;
		json!({ "session": session, "place": place, "state": state })
	}

	/// Why nothing more is asked in `session`, if it is of that one.
	pub(super) fn stops(&self, session: SessionId) -> Option<String> {
		let Self { place, state, .. } = self;
		(self.session == session).then(|| format!("answer {place} of the session was disputed ({state})"))
	}

	fn of(dispute: &Dispute) -> Option<Self> {
		let (session, place) = dispute.paid?;
		Some(Self { session, place, state: dispute.state.to_string() })
	}
}

/// Why an answer is not disputed.
#[derive(Debug, thiserror::Error)]
enum NotDisputed {
	#[error(transparent)]
	Challenge(#[from] ChallengeError),
	#[error(transparent)]
	TranscriptStore(#[from] TranscriptStoreError),
}

impl NotDisputed {
	fn passes(&self) -> bool {
		matches!(self, Self::Challenge(error) if error.passes())
	}
}

impl Disputer {
	/// Starts the tasks that dispute what comes through `charges` and play what is open, until `stop` is cancelled. `told` is given how it goes.
	pub(super) fn start(
		mut self,
		tasks: &mut JoinSet<()>,
		charges: mpsc::Receiver<Charge>,
		told: watch::Sender<Option<Disputed>>,
		stop: CancellationToken,
	) {
		let (client, submitter, transcript_store) = (self.client.clone(), self.submitter.clone(), self.transcript_store.clone());
		let parts = Parts {
			client,
			submitter,
			transcript_store,
			side: Side::Challenger,
			threads: self.threads,
			in_use: self.in_use.take(),
			lie: None,
		};
		let (player, disputes) = Player::new(parts);
		tasks.spawn(player.run(stop.clone()));
		tasks.spawn(async move {
			let work = async { tokio::join!(self.accuse(charges, &told), relay(disputes, &told)) };
			stop.run_until_cancelled(work).await;
		});
	}

	/// Disputes what comes.
	async fn accuse(&self, mut charges: mpsc::Receiver<Charge>, told: &watch::Sender<Option<Disputed>>) {
		while let Some(charge) = charges.recv().await {
			let Some((session, place)) = charge.transcript.receipt.paid else { continue };
			let tell = |state: String| told.send_replace(Some(Disputed { session, place, state }));
			tell("is being disputed".into());
			loop {
				match self.dispute(&charge, session, place).await {
					Ok(()) => break,
					Err(error) if error.passes() => {
						tracing::warn!("answer {place} of session {session} is not disputed yet: {error}");
						tell(format!("not disputed yet: {error}"));
						sleep(PAUSE).await;
					}
					Err(error) => {
						let again = format!("`neuroshard-worker dispute {}` disputes it", charge.file.display());
						tracing::error!("answer {place} of session {session} is not disputed: {error}. {again}");
						tell(format!("not disputed: {error}. {again}"));
						break;
					}
				}
			}
		}
	}

	/// Disputes an answer, and returns when a final block has the game. What the game is played with is on disk before.
	async fn dispute(&self, charge: &Charge, session: SessionId, place: u32) -> Result<(), NotDisputed> {
		let (me, genesis) = (self.submitter.who(), self.client.genesis());
		let accusation = Accusation::new(&charge.transcript, charge.doubt, me, genesis)?;
		self.transcript_store.keep(&charge.transcript)?;
		loop {
			let made = challenge(&self.client, &self.submitter, &accusation, &self.config.model).await?;
			let doubt = charge.doubt;
			tracing::warn!("answer {place} of session {session} is disputed on chain, from token {doubt} on, in block {}", made.number);
			loop {
				match self.client.is_final(made).await {
					Ok(Some(true)) => return Ok(()),
					// Another branch won, and may not have it.
					Ok(Some(false)) => break,
					Ok(None) => {}
					Err(error) => tracing::debug!("whether the challenge is final is not known: {error}"),
				}
				sleep(PAUSE).await;
			}
		}
	}
}

/// Tells of the game that changed last.
async fn relay(mut disputes: watch::Receiver<Vec<Dispute>>, told: &watch::Sender<Option<Disputed>>) {
	while disputes.changed().await.is_ok() {
		let last = disputes.borrow_and_update().last().and_then(Disputed::of);
		if last.is_some() {
			told.send_replace(last);
		}
	}
}
