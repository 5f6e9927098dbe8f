//! A member's part in a round: it meets the others, trains its seat, and where that fails meets them again, until the round is complete or not wanted any more.

use super::Ways;
use crate::{actor::guarded::panicked, WorkerError};
use neuroshard_chain_client::keys::PonwSigner;
use neuroshard_compute::exec::Exec;
use neuroshard_data::loader::{Assignment, Loader};
use neuroshard_quorum::{
	links::{carry, meet, Meeting},
	needed_bytes, AgreeError, Conduct, Fault, Interval, Keyed, Mail, Place, Placed, QuorumError, Seat, SeatError, Slip, Sources,
};
use neuroshard_support::memory::available_memory;
use neuroshard_training::priority::lower_thread_priority;
use neuroshard_types::{
	quorum::{QuorumClaim, Span},
	run::RunConfig,
	AccountId,
};
use std::{
	ops::Range,
	panic::{catch_unwind, AssertUnwindSafe},
	sync::Arc,
	time::Duration,
};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Longest time in which something arrives that is waited for: a forward pass of all members, or the time that the leader takes to make the delta.
const PATIENCE: Duration = Duration::from_secs(300);
/// Before members are met again: those who are late see that the others have gone.
const AGAIN: Duration = Duration::from_secs(1);

/// Opens the files that a round is made of, on the thread that computes.
pub type Open = Box<dyn FnOnce(usize) -> Result<Sources, WorkerError> + Send>;
/// Hears of each interval that has ended: its steps, and the loss of the last one, of who has the end.
pub type Heard = Arc<dyn Fn(Range<u32>, Option<f32>) + Send + Sync>;

/// A round that a member is to take.
pub struct Attempt {
	/// Its place.
	pub place: Place,
	/// The work and the seats.
	pub claim: Arc<QuorumClaim>,
	/// Its key for proofs.
	pub signer: PonwSigner,
	/// Where tokens are read, and the windows of the quorum's place in the round.
	pub windows: (Loader, Assignment),
	/// Files.
	pub open: Open,
	/// Hears how far it is.
	pub heard: Heard,
	/// A wrong bit in what it gives.
	pub slip: Option<Slip>,
}

/// A seat on its way to the thread that computes and back.
type Taken = (Option<Seat<Keyed>>, Option<Mail>, Result<Placed, WorkerError>);

impl Attempt {
	/// The place of `me` on these seats; `None` if it has none.
	pub fn place(config: &RunConfig, claim: &QuorumClaim, me: &AccountId) -> Option<Place> {
		let member = claim.seats.iter().position(|seat| seat.who == *me)?;
		let spans: Vec<Span> = claim.seats.iter().map(|seat| seat.span).collect();
		Some(Place::usual((&config.model, &config.train), spans, member, claim.work.round))
	}

	/// The round's work, once all members have it; `None` if `stop` is cancelled before.
	///
	/// # Errors
	/// What meeting the others again would not mend: [`WorkerError::Seat`] with files, the disk or the configuration, or a round that diverged.
	pub async fn take(self, ways: &mut Ways, threads: usize, stop: &CancellationToken) -> Result<Option<Placed>, WorkerError> {
		let Self { place, claim, signer, windows, open, heard, slip } = self;
		let me = claim.seats.get(place.member).map(|seat| seat.who.clone());
		let leader = claim.seats.iter().position(|seat| seat.who == claim.work.leader).ok_or(WorkerError::Stopped)?;
		let members = match me.as_ref().map(|me| ways.to(&claim.seats, me)).transpose() {
			Ok(members) => members.ok_or(WorkerError::Stopped)?,
			Err(who) => return Err(WorkerError::Unreachable { who }),
		};
		// The links and the thread end with this, however it ends.
		let stop = stop.child_token();
		let _ending = stop.clone().drop_guard();
		let meeting = Meeting::new(members, place.member, &claim.work);
		let (mut seat, mut sources) = (None, Some((open, Keyed::new(signer, claim.clone()))));
		loop {
			let links = stop.run_until_cancelled(meet(&ways.streams, &mut ways.incoming, &meeting)).await;
			let Some(links) = links.transpose().map_err(|_| WorkerError::Stopped)? else { return Ok(None) };
			let (mail, moving) = carry(&place, links, &stop);
			let (of, heard, windows) = (place.clone(), heard.clone(), windows.clone());
			let (kept, first) = (seat.take(), sources.take());
			let (kept, mail, result) = on_thread(mail, move |mail| {
				let seat = match (kept, first) {
					(Some(seat), _) => Ok(seat),
					(None, Some((open, signer))) => made(of, leader, signer, open, threads).map(|seat| seat.with_slip(slip)),
					(None, None) => Err(WorkerError::Stopped),
				};
				match seat {
					Ok(mut seat) => {
						let result = train(&mut seat, mail, &windows, &*heard);
						(Some(seat), result)
					}
					Err(error) => (None, Err(error)),
				}
			})
			.await?;
			seat = kept;
			if let Some(mail) = mail {
				moving.close(mail).await;
			}
			match result {
				Ok(placed) => return Ok(Some(placed)),
				_ if stop.is_cancelled() => return Ok(None),
				Err(WorkerError::Seat(error)) if is_of_others(&error) => {
					let named: Vec<String> = error
						.members(place.member)
						.iter()
						.filter_map(|member| claim.seats.get(*member))
						.map(|seat| seat.who.to_string())
						.collect();
					tracing::warn!(named = named.join(" and "), "the quorum begins again from the last state that all have: {error}");
				}
				Err(error) => return Err(error),
			}
			if stop.run_until_cancelled(tokio::time::sleep(AGAIN)).await.is_none() {
				return Ok(None);
			}
		}
	}
}

/// Whether meeting the others again may mend it.
fn is_of_others(error: &SeatError) -> bool {
	let own = |error: &QuorumError| matches!(error, QuorumError::Tokens(..) | QuorumError::Fault(Fault::Step(_) | Fault::Keep(_)));
	match error {
		SeatError::Quorum(error) | SeatError::Agree(AgreeError::Quorum(error)) => !own(error),
		SeatError::Agree(AgreeError::Nothing(_)) => true,
		_ => false,
	}
}

fn made(place: Place, leader: usize, signer: Keyed, open: Open, threads: usize) -> Result<Seat<Keyed>, WorkerError> {
	let exec = Arc::new(Exec::new(threads)?);
	fits(&place, exec.clone(), available_memory())?;
	Ok(Seat::new(place, leader, signer, exec, open(threads)?)?)
}

/// Whether a member's part fits into `available` bytes, if these are known, and beside it the defence of one of another round: what does not would end the whole process.
fn fits(place: &Place, exec: Arc<Exec>, available: Option<u64>) -> Result<(), WorkerError> {
	let needed = needed_bytes(place, exec).map_err(SeatError::from)?;
	match available {
		Some(available) if available < needed => Err(WorkerError::TooLargePart { needed, available }),
		_ => Ok(()),
	}
}

fn train(
	seat: &mut Seat<Keyed>,
	mail: &mut Mail,
	(loader, assignment): &(Loader, Assignment),
	heard: &(dyn Fn(Range<u32>, Option<f32>) + Send + Sync),
) -> Result<Placed, WorkerError> {
	let mut tokens = |step: u32| tokens(loader, assignment, step);
	let mut heard = |steps: &Range<u32>, interval: &Interval| heard(steps.clone(), interval.outcomes.last().map(|outcome| outcome.loss));
	Ok(seat.train(mail, &mut Conduct { tokens: &mut tokens, patience: PATIENCE, heard: &mut heard })?)
}

/// The batch of a step.
fn tokens(loader: &Loader, assignment: &Assignment, step: u32) -> Result<Vec<u32>, String> {
	let length = usize::try_from(assignment.seq_len).unwrap_or(usize::MAX).saturating_add(1);
	let mut tokens = Vec::new();
	for window in loader.step_windows(assignment, step).map_err(|error| error.to_string())? {
		let mut sequence = vec![0; length];
		loader.read(window, &mut sequence).map_err(|error| error.to_string())?;
		tokens.extend(sequence);
	}
	Ok(tokens)
}

/// Runs `work` on a thread of its own, at low priority, and returns what becomes of the seat and the mail.
async fn on_thread(
	mut mail: Mail,
	work: impl FnOnce(&mut Mail) -> (Option<Seat<Keyed>>, Result<Placed, WorkerError>) + Send + 'static,
) -> Result<Taken, WorkerError> {
	let (answer, result) = oneshot::channel();
	let spawned = std::thread::Builder::new().name("quorum".into()).spawn(move || {
		if !lower_thread_priority() {
			tracing::debug!("the system keeps the thread of the quorum at normal priority");
		}
		let done = catch_unwind(AssertUnwindSafe(|| work(&mut mail)));
		let taken: Taken = match done {
			Ok((seat, result)) => (seat, Some(mail), result),
			Err(panic) => (None, None, Err(panicked("a round of the quorum", panic.as_ref()))),
		};
		// Nobody waits for it if the round is not wanted any more.
		let _ = answer.send(taken);
	});
	spawned.map_err(|source| WorkerError::File { path: "the thread of the quorum".into(), source })?;
	result.await.map_err(|_| WorkerError::Stopped)
}

#[cfg(test)]
mod tests;
