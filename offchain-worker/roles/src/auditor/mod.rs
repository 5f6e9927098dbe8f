//! The auditor: has this account drawn for audits, seals and reports the samples that the verifier computes, and disputes a partner's
//! false one.
//!
//! It is an actor beside the verifier: what is asked of it has deadlines, and a computation may last longer than those. What it has to say
//! is on disk before it is sealed, and everything else is read from the chain with every block, so that a restart changes nothing.

mod look;
mod place;
mod step;

use super::{
	actor::{guarded::guarded, told::Told},
	defence::reserves::Reserves,
	leave::LEAVE_FILE,
	samples::Samples,
	WorkerError,
};
use crate::{obstacle::Obstacle, status::Reporter};
use look::{Rules, Seen};
use neuroshard_chain_client::{next_block, BlockId, ChainClient, ChainError, Heads, Submitter};
use neuroshard_disputes::cases::{ledger::verdict, reports::Note};
use neuroshard_types::{
	audit::{AuditView, Report},
	dispute::{ClaimId, ClaimKind},
	AccountId, Balance, BlockNumber, RoundIndex, RunId, H256,
};
use place::Place;
use std::{
	collections::BTreeSet,
	mem::{discriminant, Discriminant},
	path::PathBuf,
	time::Instant,
};
use step::{answer, is_last_call, is_open, Standing, Step};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Blocks until what the chain refused is tried again: every attempt costs a fee.
const REST: BlockNumber = 100;
/// The same for what may succeed soon, and has little time: a challenge that the chain may still take, and what the account cannot pay.
const SHORT_REST: BlockNumber = 5;

/// The actor.
pub(super) struct Auditor {
	base: PathBuf,
	client: ChainClient,
	submitter: Submitter,
	me: AccountId,
	reporter: Reporter,
	samples: Samples,
	reserves: Reserves,
	rules: Option<Rules>,
	place: Place,
	/// Whether audits that there is no memory for are done in files.
	in_files: bool,
	/// Whether this worker leads a quorum.
	leads: bool,
	/// Steps that the chain refused, and the first block in which each is tried again.
	refused: Vec<(Step, BlockNumber)>,
	/// Challenges that are in blocks which are not final yet.
	made: Vec<(Step, BlockId)>,
	/// The refusal that was said last.
	told: Told,
	/// Kind of the obstacle that keeps this account from being drawn.
	waiting: Option<Discriminant<Obstacle>>,
	/// Audited rounds whose reports are on chain, as it was seen last; `None` before the first look.
	reported: Option<BTreeSet<(RunId, RoundIndex)>>,
}

impl Auditor {
	/// One that is drawn also for audits that there is no memory for if they are to be done `in_files`; of a worker that leads a quorum, or does not.
	pub(super) fn new(
		base: PathBuf,
		client: ChainClient,
		submitter: Submitter,
		reporter: Reporter,
		samples: Samples,
		(in_files, leads): (bool, bool),
	) -> Self {
		let me = submitter.who().clone();
		Self {
			base,
			client,
			submitter,
			me,
			reporter,
			samples,
			reserves: Reserves::default(),
			rules: None,
			place: Place::default(),
			in_files,
			leads,
			refused: Vec::new(),
			made: Vec::new(),
			told: Told::default(),
			waiting: None,
			reported: None,
		}
	}

	/// Works until `stop` is cancelled.
	pub(super) async fn run(mut self, stop: CancellationToken) {
		let mut heads = self.client.follow(Heads::default(), |_| {});
		loop {
			heads.mark_unchanged();
			let turn = guarded("the auditor", self.turn(heads.clone()));
			let Some(turn) = stop.run_until_cancelled(turn).await else { return };
			match turn {
				Ok(true) => continue,
				Ok(false) => {}
				// Whoever follows the heads for the status says that.
				Err(WorkerError::Chain(error)) if error.passes() => tracing::debug!("audits: {error}"),
				Err(error) => tracing::warn!("audits: {error}"),
			}
			next_block(&mut heads, &stop).await;
		}
	}

	/// Sends the most urgent thing; `false` if there is none.
	async fn turn(&mut self, heads: watch::Receiver<Heads>) -> Result<bool, WorkerError> {
		let seen = self.look().await?;
		self.refused.retain(|(_, until)| *until > seen.now);
		self.look_after_challenges().await?;
		self.place.note(seen.verifiers.contains(&self.me), seen.held, seen.now, seen.rules.window);
		for audit in &seen.audits {
			give_up(&self.samples, audit, seen.now)?;
		}
		self.samples.keep_only(&seen.audits);
		self.show(&seen);
		match self.steps(&seen).into_iter().next() {
			Some(step) => self.take(step, &seen, heads).await.map(|()| true),
			None => Ok(false),
		}
	}

	/// Returns the steps to send, the most urgent first.
	fn steps(&self, seen: &Seen) -> Vec<Step> {
		let answers = seen.audits.iter().filter_map(|audit| {
			let note = self.samples.note_of(audit)?;
			let finalized = seen.finalized.iter().find(|then| (then.run, then.round) == (audit.run, audit.round));
			answer(audit, &note, finalized, self.seal(&note), seen.now)
		});
		let standing = self.standing(seen);
		let has_say = standing.as_ref().is_some_and(Standing::has_say);
		let answers = answers.filter(|step| has_say || matches!(step, Step::Challenge { .. }));
		let steps = answers.chain(standing.and_then(|standing| standing.enrolment()));
		let waits = |step: &Step| self.refused.iter().any(|(refused, _)| refused == step) || self.made.iter().any(|(made, _)| made == step);
		steps.filter(|step| !waits(step)).collect()
	}

	fn standing<'a>(&self, seen: &'a Seen) -> Option<Standing<'a>> {
		let Seen { now, rules: Rules { audited, .. }, free, reserve, efforts, challenging, ref verifiers, .. } = *seen;
		let (provider, rests) = (seen.provider.as_ref()?, self.place.rests(now));
		let (enrolled, leaving) = (verifiers.contains(&self.me), self.base.join(LEAVE_FILE).exists());
		Some(Standing { provider, verifiers: verifiers.len(), enrolled, audited, rests, leaving, free, reserve, efforts, challenging })
	}

	fn seal(&self, note: &Note) -> H256 {
		note.seal(self.client.genesis(), &self.me)
	}

	fn show(&mut self, seen: &Seen) {
		let (enrolled, open) = (seen.verifiers.contains(&self.me), seen.audits.iter().filter(|audit| is_open(audit)));
		let sealed = open.clone().filter(|audit| audit.sealed.is_some()).count();
		let reported = seen.audits.iter().filter(|audit| audit.report.is_some());
		let fresh = reported.clone().filter(|audit| self.reported.as_ref().is_some_and(|known| !known.contains(&(audit.run, audit.round))));
		let fresh: Vec<_> = fresh.collect();
		let obstacle = self.standing(seen).and_then(|standing| standing.obstacle());
		// What is free changes with every look: the same obstacle is said once.
		let (kind, waiting) = (obstacle.as_ref().map(discriminant), obstacle.map(|obstacle| obstacle.to_string()));
		if let Some(words) = waiting.as_ref().filter(|_| self.waiting != kind) {
			tracing::warn!("{words}");
		}
		self.reporter.update(|status| {
			let audits = &mut status.audits;
			audits.enrolled = enrolled;
			audits.waiting.clone_from(&waiting);
			audits.open = u32::try_from(open.count()).unwrap_or(u32::MAX);
			audits.sealed = u32::try_from(sealed).unwrap_or(u32::MAX);
			for audit in &fresh {
				let count = match audit.report {
					Some(Report::Unavailable) => &mut audits.unavailable,
					Some(Report::TooSlow) => &mut audits.too_slow,
					Some(Report::Sample(_)) | None => &mut audits.reported,
				};
				*count = count.saturating_add(1);
			}
		});
		for audit in fresh {
			tracing::info!(round = audit.round, subject = %audit.subject, report = ?audit.report, "reported in an audit");
		}
		self.waiting = kind;
		self.reported = Some(reported.map(|audit| (audit.run, audit.round)).collect());
	}

	/// Notes which challenges are final. One in a block that another branch has won over is to be sent again.
	async fn look_after_challenges(&mut self) -> Result<(), WorkerError> {
		let mut open = Vec::new();
		for (step, block) in std::mem::take(&mut self.made) {
			match (self.client.is_final(block).await, &step) {
				(Ok(Some(true)), Step::Challenge { run, round, .. }) => self.samples.note_challenged(*run, *round)?,
				(Ok(Some(_)), _) => {}
				(Ok(None) | Err(_), _) => open.push((step, block)),
			}
		}
		self.made = open;
		Ok(())
	}

	/// Sends `step`, and remembers what became of it.
	async fn take(&mut self, step: Step, seen: &Seen, heads: watch::Receiver<Heads>) -> Result<(), WorkerError> {
		match self.send(&step, heads).await {
			Ok(Some(block)) => {
				self.note_sent(step, block);
				Ok(())
			}
			// It is not wanted any more.
			Ok(None) => Ok(()),
			Err(error @ (ChainError::Dispatch { .. } | ChainError::Unfunded { .. } | ChainError::Pool { .. })) => {
				let words = error.to_string();
				if self.told.is_new(&words, Instant::now()) {
					tracing::warn!("{words}");
				}
				let open = is_open_challenge(&step, &error);
				self.refused.push((step.clone(), seen.now.saturating_add(rest(&step, &error, seen.rules.window))));
				match step {
					Step::Challenge { run, round, .. } if !open => self.samples.note_challenged(run, round),
					_ => Ok(()),
				}
			}
			Err(error) => Err(error.into()),
		}
	}

	/// Waits for a step only as long as it is wanted: what is more urgent must not wait for one that gets into no block. The block that has it;
	/// `None` if it is not wanted any more.
	async fn send(&mut self, step: &Step, mut heads: watch::Receiver<Heads>) -> Result<Option<BlockId>, ChainError> {
		let (submitter, needed) = (self.submitter.clone(), self.needed_for(step).await?);
		let sent = async {
			match step {
				Step::Enroll | Step::Resign => submitter.submit_once(step.call()).await,
				Step::Seal { .. } | Step::Report { .. } => submitter.submit_urgent(step.call()).await,
				Step::Challenge { .. } => submitter.submit_prompt(step.call(), needed).await,
			}
		};
		let mut sending = std::pin::pin!(sent);
		let mut followed = true;
		loop {
			tokio::select! {
				sent = &mut sending => return sent.map(|included| Some(included.block)),
				changed = heads.changed(), if followed => {
					followed = changed.is_ok();
					// Not knowing better is no reason to give it up.
					let Ok(seen) = self.look().await else { continue };
					if self.steps(&seen).first() != Some(step) {
						return Ok(None);
					}
				},
			}
		}
	}

	/// Returns the amount that must be free for a step beside its fee.
	async fn needed_for(&self, step: &Step) -> Result<Balance, ChainError> {
		let Step::Challenge { run, round, who } = step else { return Ok(0) };
		let at = self.client.now().await?;
		let claim = ClaimId { run: *run, round: *round, kind: ClaimKind::Audit, who: who.clone() };
		// Without room for it, no bond is held.
		Ok(at.needed_against(&claim, &self.me).await?.unwrap_or(at.existential_deposit()?))
	}

	fn note_sent(&mut self, step: Step, block: BlockId) {
		match &step {
			Step::Enroll => tracing::info!("enrolled: this account can be drawn for audits"),
			Step::Resign => tracing::info!("resigned: this account is drawn for no more audits"),
			Step::Seal { round, .. } => tracing::info!(round, "sealed the report of an audit"),
			// It is told and counted when it is seen on chain.
			Step::Report { .. } => {}
			Step::Challenge { round, who, .. } => {
				tracing::warn!(round, %who, "the other auditor reported another sample: disputing it");
				self.reporter.update(|status| status.audits.challenged = status.audits.challenged.saturating_add(1));
				self.made.push((step, block));
			}
		}
	}
}

/// Returns whether the chain may still take a challenge that failed: money for a bond, or room for another dispute, may come.
fn is_open_challenge(step: &Step, error: &ChainError) -> bool {
	matches!(step, Step::Challenge { .. }) && verdict(error).is_none()
}

/// Blocks until a step that failed is tried again, where the challenge window has `window`.
fn rest(step: &Step, error: &ChainError, window: BlockNumber) -> BlockNumber {
	match step {
		_ if is_open_challenge(step, error) || matches!(error, ChainError::Unfunded { .. }) => SHORT_REST,
		// That costs nothing, and another extrinsic of this account may only have been faster.
		_ if matches!(error, ChainError::Pool { .. }) => 1,
		// It was on the list a short while ago: see [`Place`]. Room on the list, and the role, may come sooner.
		Step::Enroll if error.is_dispatch("Disputes::AlreadyEnrolled") => window,
		_ => REST,
	}
}

/// Has it reported that something could not be fetched, or else that this machine is too slow, if there is no sample and the time for it is nearly over.
fn give_up(samples: &Samples, audit: &AuditView, now: BlockNumber) -> Result<(), WorkerError> {
	if !is_last_call(audit, now) || samples.note_of(audit).is_some() {
		return Ok(());
	}
	let report = if samples.is_out_of_reach(audit) { Report::Unavailable } else { Report::TooSlow };
	samples.note_report(audit, report, now)
}

#[cfg(test)]
pub(super) use step::tests::provider;
#[cfg(test)]
mod tests;
