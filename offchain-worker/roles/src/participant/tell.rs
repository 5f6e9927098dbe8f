//! Messages of a participant to its operator, in status and log.

use super::{
	decide::{obstacle::obstacle, task::Task},
	observe::Observed,
	Participant,
};
use crate::{parts::Mode, WorkerError};
use std::time::Instant;

impl Participant {
	/// Says once what keeps this worker from taking part.
	pub(super) fn tell_obstacle(&mut self, seen: &Observed) {
		let training = self.local.mode == Mode::Train && !self.leaving;
		let failed = |challenge| self.refusals.gave_up(&Task::ProveArithmetic { challenge });
		let found = training.then(|| obstacle(&seen.chain, seen.provider.as_ref(), seen.least_bond, failed)).flatten();
		let words = found.map(|found| self.of_operator(found.to_string()));
		if self.waiting != words {
			match &words {
				Some(words) => tracing::warn!("{words}"),
				None if training => tracing::info!("nothing keeps this worker from taking part any more"),
				None => {}
			}
			self.waiting = words;
		}
	}

	/// Returns the message about this account, with who signs and pays for it where that is another one.
	fn of_operator(&self, words: String) -> String {
		match &self.tasks.submitter {
			submitter if submitter.is_operator() => {
				format!("{words} ({} signs and pays for {})", submitter.signer(), submitter.who())
			}
			_ => words,
		}
	}

	/// Brings the status up to date.
	pub(super) async fn show(&self, seen: &Observed) {
		let network = self.tasks.content.net.status().await.ok();
		let traffic = self.tasks.content.net.traffic();
		let barred = self.choice.words(seen.chain.best);
		let run = seen.chain.run.as_ref();
		let round = run.and_then(|run| run.round.as_ref());
		let loaded = self.local.checkpoint;
		let (computing, running) = self.tasks.compute.times();
		self.tasks.reporter.update(|status| {
			status.best_block = seen.heads.best.number;
			status.finalized_block = seen.heads.finalized.number;
			let run_id = run.map(|run| run.id);
			if status.run != run_id {
				// That of one run says nothing of another.
				status.tokens_per_second_alone = None;
			}
			status.run = run_id;
			status.round = round.map(|round| round.round);
			status.waiting = self.waiting.clone().or_else(|| self.lacking.clone());
			status.barred = barred;
			status.phase = round.map(|round| format!("{:?}", round.phase));
			status.phase_deadline = round.and_then(|round| round.deadline);
			status.checkpoint = loaded.map(|root| format!("{root:?}"));
			status.checkpoint_round = run.filter(|run| loaded == Some(run.view.checkpoint)).map(|run| run.view.rounds_adopted);
			(status.computing_seconds, status.running_seconds) = (computing.as_secs_f64(), running.as_secs_f64());
			status.bytes_in = traffic.received;
			status.bytes_out = traffic.sent;
			status.earned = seen.earnings.claimed.to_string();
			status.claimable = seen.earnings.claimable.to_string();
			if let Some(network) = network {
				status.peers = u32::try_from(network.connections.len()).unwrap_or(u32::MAX);
				status.reachability = network.reachability.words();
				status.addresses = network.listening.iter().map(ToString::to_string).collect();
			}
		});
	}

	/// Says what went wrong, once as long as it stays.
	pub(super) fn report(&mut self, error: &WorkerError) {
		// Whoever follows the heads says, also in the status, that the node is away, and when it is back.
		if error.is_outrun() || matches!(error, WorkerError::Chain(error) if error.passes()) {
			return tracing::debug!("{error}");
		}
		let words = error.to_string();
		let told = match error.lacks_dataset() {
			true => self.lacking.replace(words.clone()).is_some(),
			false => !self.told.is_new(&words, Instant::now()),
		};
		match told {
			true => tracing::debug!("still: {words}"),
			false => tracing::warn!("{words}"),
		}
		// What is missing of the dataset stands in the status anyway, until it is there.
		if !error.lacks_dataset() {
			self.tasks.reporter.update(|status| status.last_error = Some(words));
		}
	}
}
