//! A member's whole round: from the checkpoint in files to the work that is revealed and the delta that is sent.
//!
//! All members agree on the state that they begin with, take interval after interval, and hand their parameters to the leader, which makes the delta of them.
//! Nothing as large as the model is in any memory: a member holds its span, and the rest lies in files. Where a round ends before its end, each calls
//! [`Seat::train`] again over new links, one of them replaced by whoever has the files: it goes on from the last state that all have, with the same bits.

mod gather;
mod load;

use crate::{
	agree::{agree, first_parts, intervals, known, AgreeError, Parts},
	defence::defence_bytes,
	keep::KeepError,
	ledger::Ledger,
	member::{Fault, JoinError, Member, Place, Signer, Slip},
	message::Message,
	run::{room, work, Interval, Mail, QuorumError, Role, Task},
	Leader, Start,
};
use neuroshard_compute::exec::{CodeError, Exec, SpanTrainer, StepError};
use neuroshard_graph::{
	config::ConfigError,
	cover::Cover,
	merkle::Hash,
	span::{check_cut, Held},
};
use neuroshard_training::files::{FiledCheckpoint, FilesError, SentFiles, TileFile};
use neuroshard_types::{run::Work, RoundIndex, H256};
use std::{collections::BTreeMap, ops::Range, path::PathBuf, sync::Arc, time::Duration};

/// Files that a member's round is made of.
#[derive(Clone, Debug)]
pub struct Sources {
	/// The checkpoint that the round starts from.
	pub checkpoint: FiledCheckpoint,
	/// Parameters of the model that an adapter is beside.
	pub base: Option<TileFile>,
	/// What the place's last delta has left unsaid, in a run whose deltas are sent as a code that leaves something; only the leader reads it.
	pub residual: Option<TileFile>,
	/// The member's own folder for this attempt at the round, as no other attempt has the same windows: what it keeps to defend itself (`keep`), and of the leader the records (`records`), the delta and its residual.
	pub folder: PathBuf,
}

/// How a member takes its round.
pub struct Conduct<'a> {
	/// The batch of a step; asked for by who reads tokens.
	pub tokens: &'a mut dyn FnMut(u32) -> Result<Vec<u32>, String>,
	/// Longest time in which something arrives that is waited for: of a member also the time that the leader takes to make the delta.
	pub patience: Duration,
	/// Hears of each interval when it has ended.
	pub heard: &'a mut dyn FnMut(&Range<u32>, &Interval),
}

/// A round that is complete.
#[derive(Clone, Debug)]
pub struct Placed {
	/// Work that is sealed and later revealed, as one machine's: of who does not lead, as the leader has told it.
	pub work: Work,
	/// The files that others are handed; only the leader has them.
	pub sent: Option<SentFiles>,
}

/// Why a round is not complete.
#[derive(Debug, thiserror::Error)]
pub enum SeatError {
	/// The place.
	#[error(transparent)]
	Join(#[from] JoinError),
	/// The configuration.
	#[error(transparent)]
	Config(#[from] ConfigError),
	/// Files of the model's size.
	#[error(transparent)]
	Files(#[from] FilesError),
	/// Files that are kept of intervals.
	#[error(transparent)]
	Keep(#[from] KeepError),
	/// No state to begin with.
	#[error(transparent)]
	Agree(#[from] AgreeError),
	/// Another member, or a link.
	#[error(transparent)]
	Quorum(#[from] QuorumError),
	/// The steps start from a checkpoint of another round, as those of a bridge do.
	#[error(
		"the checkpoint is that of round {found}, and the place is one of round {expected}: \
		 start from the checkpoint of its own round; a quorum cannot be a bridge from another cohort's"
	)]
	Elsewhere {
		/// Of the place.
		expected: RoundIndex,
		/// Of the checkpoint.
		found: RoundIndex,
	},
	/// Records of an interval are gone.
	#[error("no records are kept of the interval that begins with inner step {0}, so that it could not be defended: begin the round again from there")]
	Unkept(u32),
	/// The parameters or the delta left the finite numbers behind the last step: an outcome, not a fault.
	#[error("the training diverged: nothing to reveal in this round")]
	Diverged,
}

impl SeatError {
	/// Whether the round has no result because it diverged: an outcome, not a fault.
	pub fn is_divergence(&self) -> bool {
		matches!(self, Self::Diverged | Self::Quorum(QuorumError::Fault(Fault::Step(StepError::Diverged))))
	}

	/// Members to replace, as far as that shows to member `own`: who is late or gone, or at fault, or one of those.
	pub fn members(&self, own: usize) -> Vec<usize> {
		match self {
			Self::Quorum(error) | Self::Agree(AgreeError::Quorum(error)) => error.members(own),
			Self::Agree(AgreeError::Nothing(members)) => members.clone(),
			_ => Vec::new(),
		}
	}
}

/// A member's place in a round.
pub struct Seat<S> {
	place: Place,
	leader: usize,
	signer: S,
	exec: Arc<Exec>,
	sources: Sources,
	held: Held,
	covers: Vec<Cover>,
	/// Of each member, roots of its subtrees of the checkpoint's parameters.
	params: Vec<Vec<Hash>>,
	/// What the span has of the base of an adapter, and roots of its subtrees.
	base: Option<(Held, Vec<Hash>)>,
	/// Its state, while it is one of this round's.
	member: Option<Member<S>>,
	slip: Option<Slip>,
}

/// Bytes of memory that a member holds: its span's parameters, moments and gradients, of an adapter its part of the base, micro-batches between both passes; and the
/// state that it begins with, once more while that is loaded. Beside that are messages under way, at most [`room`] between two members and twice that for each
/// neighbour, and pieces of files, some of 4 MiB.
///
/// # Errors
/// [`JoinError`].
pub fn held_bytes(place: &Place, exec: Arc<Exec>) -> Result<u64, JoinError> {
	let span = *place.spans.get(place.member).ok_or(JoinError::Member(place.member))?;
	let trainer: SpanTrainer = SpanTrainer::new(exec, &place.model, &place.train, span, (place.micro_batch, place.flying))?;
	let loaded = trainer.held().layout.len().saturating_mul(3).saturating_add(trainer.base().map_or(0, |held| held.layout.len()));
	Ok(u64::try_from(trainer.arena_len().saturating_add(loaded)).unwrap_or(u64::MAX).saturating_mul(4))
}

/// What a member takes of memory in all: what it [holds](held_bytes), and what [a defence](crate::defence_bytes) takes that it may have to make meanwhile.
///
/// # Errors
/// [`JoinError`].
pub fn needed_bytes(place: &Place, exec: Arc<Exec>) -> Result<u64, JoinError> {
	Ok(held_bytes(place, exec.clone())?.saturating_add(defence_bytes(place, exec)?))
}

impl<S: Signer + Clone> Seat<S> {
	/// A place in the round that starts from the checkpoint in `sources`, in a quorum that member `leader` leads. The checkpoint's parameters, and of an adapter
	/// the base, are read once, a few tiles at a time, for the roots of what each member has of them.
	///
	/// # Errors
	/// [`SeatError`].
	pub fn new(place: Place, leader: usize, signer: S, exec: Arc<Exec>, sources: Sources) -> Result<Self, SeatError> {
		let (model, train) = (&place.model, &place.train);
		check_cut(model, &place.spans).map_err(JoinError::from)?;
		let span = |member: usize| place.spans.get(member).copied().ok_or(JoinError::Member(member));
		let (own, _) = (span(place.member)?, span(leader)?);
		let header = sources.checkpoint.header;
		if !header.is_of(place.round, train) {
			return Err(SeatError::Elsewhere { expected: place.round, found: header.round });
		}
		let threads = exec.threads();
		let covers = place.covers(train.adapter)?;
		let params = sources.checkpoint.params.parts(&covers, threads)?;
		let base = place.own_base(sources.base.as_ref(), threads)?;
		let held = Held::new(model, train.adapter, own)?;
		Ok(Self { held, covers, params, base, member: None, slip: None, place, leader, signer, exec, sources })
	}

	/// The same, which makes this slip.
	#[must_use]
	pub fn with_slip(self, slip: Option<Slip>) -> Self {
		Self { slip, ..self }
	}

	/// Whether it leads.
	pub fn leads(&self) -> bool {
		self.leader == self.place.member
	}

	/// What the leader keeps of intervals: records that it posts if they are disputed.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn ledger(&self) -> Result<Ledger, KeepError> {
		Ledger::of_round(&self.sources.folder)
	}

	/// Takes the round with the others, from the last state that all have. `mail` is over links on which nothing was sent before. The thread, which is none of the
	/// links' runtime, waits while nothing is to be done.
	///
	/// # Errors
	/// [`SeatError`], after which it can be called again over new links. A member that has handed over its parameters and hears nothing of the work may find that
	/// the leader has revealed it all the same.
	pub fn train(&mut self, mail: &mut Mail, conduct: &mut Conduct<'_>) -> Result<Placed, SeatError> {
		let have = self.have()?;
		let ledger = if self.leads() { Some(self.ledger()?) } else { None };
		let states = ledger.as_ref().map(|ledger| known(&self.place.train, first_parts(&self.params, &self.covers), ledger)).transpose()?;
		let offered = have.iter().map(|(beginning, _)| *beginning).collect();
		let steps = agree((&self.place, self.leader), mail, offered, states.as_ref(), conduct.patience)?;
		let mut member = self.begin(have, steps)?;
		let mut leads = match (&ledger, &states) {
			(Some(ledger), Some(states)) => Some(self.leader(ledger, states, steps)?),
			_ => None,
		};
		let taken = self.intervals(&mut member, mail, conduct, (steps, leads.as_mut(), ledger.as_ref()));
		let placed = taken.and_then(|()| match &ledger {
			Some(ledger) => self.lead(&member, mail, conduct.patience, ledger),
			None => self.hand_over(&member, mail, conduct.patience),
		});
		self.member = Some(member);
		placed
	}

	/// The leader of the intervals from the state after so many steps on.
	fn leader(&self, ledger: &Ledger, states: &BTreeMap<u32, Parts>, steps: u32) -> Result<Leader, SeatError> {
		let before = intervals(&self.place.train).find(|interval| interval.end == steps);
		let start = match before {
			None => {
				let header = self.sources.checkpoint.header;
				Start::Checkpoint { root: header.root().0, momentum: header.momentum.0 }
			}
			Some(interval) => {
				let led = ledger.kept(interval.start)?.ok_or(SeatError::Unkept(interval.start))?;
				Start::State { root: led.root, steps }
			}
		};
		let leader = Leader::new(&self.place, start)?;
		Ok(match states.get(&steps) {
			Some(parts) => leader.with_parts(parts.clone()),
			None => leader,
		})
	}

	/// Takes the intervals that are left after so many steps.
	fn intervals(
		&self,
		member: &mut Member<S>,
		mail: &mut Mail,
		conduct: &mut Conduct<'_>,
		(done, mut leads, ledger): (u32, Option<&mut Leader>, Option<&Ledger>),
	) -> Result<(), SeatError> {
		for steps in intervals(&self.place.train).filter(|steps| steps.start >= done) {
			let role = match leads.as_deref_mut() {
				Some(leader) => Role::Leads(leader),
				None => Role::Follows(self.leader),
			};
			let mut task = Task { steps: steps.clone(), tokens: conduct.tokens, role, patience: conduct.patience };
			let interval = work(member, mail, &mut task)?;
			if let (Some(ledger), Some(led)) = (ledger, &interval.led) {
				ledger.keep(steps.start, led)?;
			}
			(conduct.heard)(&steps, &interval);
		}
		Ok(())
	}

	/// Makes the round's work of what all members hand over, and tells it to them.
	fn lead(&self, member: &Member<S>, mail: &mut Mail, patience: Duration, ledger: &Ledger) -> Result<Placed, SeatError> {
		let (mut roots, mut last) = (Vec::new(), None);
		for steps in intervals(&self.place.train) {
			let led = ledger.kept(steps.start)?.ok_or(SeatError::Unkept(steps.start))?;
			roots.push(H256(led.root));
			last = Some(led.parts());
		}
		let end = self.gather(member, mail, patience, last.unwrap_or_default())?;
		let sent = self.sent(&end);
		// Whatever comes of it: it is as large as the model, and nobody asks for it.
		let _ = std::fs::remove_file(end.path());
		let sent = match sent {
			Err(FilesError::Code(CodeError::Value)) => return Err(SeatError::Diverged),
			sent => sent?,
		};
		let work = sent.work(&self.place.train, roots, self.place.train.inner_steps)?;
		ledger.keep_work(&work)?;
		for other in self.others() {
			mail.send(other, Message::Done(Box::new(work.clone())))?;
		}
		Ok(Placed { work, sent: Some(sent) })
	}

	/// All members but this one.
	fn others(&self) -> impl Iterator<Item = usize> + '_ {
		(0..self.place.spans.len()).filter(|&member| member != self.place.member)
	}

	/// Messages that wait between two members at most.
	fn room(&self) -> usize {
		room(self.place.flying)
	}
}
