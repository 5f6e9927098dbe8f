//! The inner steps of a round whose place this account holds as the leader of a quorum.

use super::{round::Ready, Effect, Moment, Tasks};
use crate::{
	actor::blocking::blocking,
	content::{
		filed::{layout, put_filed},
		rounds::{residual_label, round_label},
	},
	journal::Pending,
	quorum::{attempt::Attempt, seat_folder, Ways},
	WorkerError,
};
use neuroshard_data::loader::Assignment;
use neuroshard_quorum::{Placed, Sources};
use neuroshard_training::files::SentFiles;
use neuroshard_types::quorum::QuorumClaim;
use std::{
	sync::{atomic::Ordering, Arc},
	time::Duration,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// How often it is looked whether the round is still wanted.
const LOOK: Duration = Duration::from_millis(200);

/// What a leader works with.
#[derive(Clone)]
pub(in crate::participant) struct Leading {
	ways: Arc<Mutex<Ways>>,
	threads: usize,
}

impl Leading {
	/// With others who are reached like this.
	pub(in crate::participant) fn new(ways: Ways, threads: usize) -> Self {
		Self { ways: Arc::new(Mutex::new(ways)), threads }
	}
}

impl Tasks {
	/// Takes the inner steps together with the others of the quorum, and hands out what comes of them.
	pub(super) async fn lead(&self, leading: &Leading, ready: Ready) -> Result<Effect, WorkerError> {
		let Ready { drawn, moment, run, config, dataset, draw, left } = ready;
		let me = &moment.seen.chain.me;
		let seats = moment.seen.at.quorums_of(run, drawn.round).await?;
		let claim = QuorumClaim::of(self.genesis, (run, drawn.round, drawn.seed), &seats, me).map(Arc::new);
		let claim = claim.ok_or(WorkerError::NoQuorum { run, round: drawn.round })?;
		let place = Attempt::place(&config, &claim, me).ok_or(WorkerError::NoQuorum { run, round: drawn.round })?;
		let (content, folder, of) = (self.content.clone(), seat_folder(&self.content.base, run, drawn.round, drawn.seed), config.clone());
		let open = move |threads: usize| {
			let layout = layout(&of)?;
			let checkpoint = content.filed_checkpoint(run, drawn.start, &layout, threads)?;
			// One that is not here any more is one of zeros.
			let residual =
				left.filter(|root| content.store.contains(*root)).map(|root| content.filed(root, &layout, threads)).transpose()?;
			Ok(Sources { checkpoint, base: content.filed_base(&of, threads)?, residual, folder })
		};
		let (reporter, steps) = (self.reporter.clone(), config.train.inner_steps);
		let heard = move |done: std::ops::Range<u32>, loss: Option<f32>| {
			reporter.update(|status| (status.step, status.training_loss) = (Some((done.end, steps)), loss));
		};
		let attempt = Attempt {
			place,
			claim,
			signer: self.keys.ponw.clone(),
			windows: (dataset.loader.clone(), Assignment::new(&config.train, drawn.position, draw)),
			open: Box::new(open),
			heard: Arc::new(heard),
			slip: self.conduct.slip(run, drawn.round, &config.train),
		};
		let stop = CancellationToken::new();
		let mut ways = leading.ways.lock().await;
		let taken = tokio::select! {
			taken = attempt.take(&mut ways, leading.threads, &stop) => taken,
			() = cancelled(&moment) => Ok(None),
		};
		self.reporter.update(|status| status.step = None);
		let Placed { work, sent } = match taken {
			Ok(Some(placed)) => placed,
			Ok(None) => return Err(WorkerError::Stopped),
			Err(WorkerError::Seat(error)) if error.is_divergence() => {
				tracing::warn!("{error}: round {} is sat out", drawn.round);
				return Ok(Effect::Diverged(drawn.seed));
			}
			Err(error) => return Err(error),
		};
		let SentFiles { delta, residual } = sent.ok_or(WorkerError::Stopped)?;
		let (store, round, tokens) = (self.content.store.clone(), drawn.round, work.tokens);
		blocking(move || {
			put_filed(&store, &delta, &round_label(run, round))?;
			let Some((before, after)) = residual else { return Ok(()) };
			let label = residual_label(run, round);
			if store.contains(before) {
				store.pin(before, &label)?;
			}
			put_filed(&store, &after, &label)
		})
		.await?;
		self.reporter.update(|status| status.tokens = status.tokens.saturating_add(tokens));
		Ok(Effect::Trained(Pending::new(run, (drawn.round, drawn.attempt), drawn.seed, work)))
	}
}

/// Returns once the task is not wanted any more.
async fn cancelled(moment: &Moment) {
	while !moment.cancel.load(Ordering::Relaxed) {
		tokio::time::sleep(LOOK).await;
	}
}
