//! A member at work: a loop between its inbox, its steps and its outboxes, for a thread of its own.

use crate::{
	lead::{LeadError, Leader, Led},
	link::Arrived,
	member::{Fault, Member, Signer},
	message::{Message, Told},
};
use neuroshard_compute::exec::StepOutcome;
use neuroshard_support::frames::FrameError;
use std::{
	collections::{BTreeMap, VecDeque},
	ops::Range,
	time::{Duration, Instant},
};
use tokio::{
	runtime::Handle,
	sync::mpsc::{Receiver, Sender},
	time::timeout,
};

/// Time in which a link that takes nothing more says why.
const CLOSING: Duration = Duration::from_secs(1);

/// Queues between a member and the links to others.
pub struct Mail {
	/// What arrives.
	pub inbox: Receiver<Arrived>,
	/// What is sent, by number of the member; none for itself. With [`room`] for messages no member waits for another one to read.
	pub outboxes: BTreeMap<usize, Sender<Message>>,
	/// Where time passes while the thread waits.
	pub runtime: Handle,
	/// What has arrived before it could be taken.
	early: VecDeque<Arrived>,
	/// Links that have ended: that matters to who waits for something of theirs.
	ended: BTreeMap<usize, FrameError>,
	waited: Duration,
}

/// Messages that wait between two members at most, where so many micro-batches are between forward and backward pass: their rows and gradients, the sums of a step, and
/// a record.
pub const fn room(flying: usize) -> usize {
	2 * flying + 2
}

/// What a member works on.
pub struct Task<'a> {
	/// Inner steps of the interval.
	pub steps: Range<u32>,
	/// The batch of a step; asked for by who reads tokens.
	pub tokens: &'a mut dyn FnMut(u32) -> Result<Vec<u32>, String>,
	/// Who leads: all records go there.
	pub role: Role<'a>,
	/// Longest time in which something arrives that is waited for.
	pub patience: Duration,
}

/// Who leads an interval.
pub enum Role<'a> {
	/// Another member, by its number.
	Follows(usize),
	/// This one, with what it knows of the state that the interval begins with.
	Leads(&'a mut Leader),
}

impl Role<'_> {
	fn leader(&mut self) -> Option<&mut Leader> {
		match self {
			Self::Leads(leader) => Some(leader),
			Self::Follows(_) => None,
		}
	}
}

/// What comes of an interval.
#[derive(Clone, PartialEq, Debug)]
pub struct Interval {
	/// Outcomes of its steps.
	pub outcomes: Vec<StepOutcome>,
	/// What the member says about it, signed.
	pub told: Told,
	/// Of who leads, what all members say, [checked](Leader::check).
	pub led: Option<Led>,
}

/// Why an interval has ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum QuorumError {
	/// Somebody's fault, or the step's.
	#[error(transparent)]
	Fault(#[from] Fault),
	/// What members say about the interval does not fit together.
	#[error(transparent)]
	Lead(#[from] LeadError),
	/// Members are late.
	#[error("nothing came from {} in {} ms; replace whoever is late, and begin again from the last state that all have", list(.0), .1.as_millis())]
	Late(Vec<usize>, Duration),
	/// A link has ended.
	#[error("the link to member {0} has ended: {1}")]
	Gone(usize, FrameError),
	/// All links are closed.
	#[error("all links of this member are closed")]
	Closed,
	/// Tokens cannot be had.
	#[error("the batch of step {0} cannot be had: {1}")]
	Tokens(u32, String),
}

impl QuorumError {
	/// Members to replace, as far as that shows to member `own`: who is late or gone, or at fault, or one of those.
	pub fn members(&self, own: usize) -> Vec<usize> {
		match self {
			Self::Late(members, _) => members.clone(),
			Self::Gone(member, _) | Self::Fault(Fault::Member { member, .. }) => vec![*member],
			Self::Lead(error) => error.members(own),
			_ => Vec::new(),
		}
	}
}

/// Numbers of members in words.
fn list(members: &[usize]) -> String {
	let numbers: Vec<String> = members.iter().map(ToString::to_string).collect();
	format!("member {}", numbers.join(" and "))
}

/// Takes the steps of an interval together with the others. The thread, which is none of the runtime's own, waits while nothing is to be done.
///
/// # Errors
/// [`QuorumError`]. The member's state is then that after the last step that it has ended.
pub fn work<S: Signer>(member: &mut Member<S>, mail: &mut Mail, task: &mut Task<'_>) -> Result<Interval, QuorumError> {
	let mut outcomes = Vec::new();
	if let Some(leader) = task.role.leader() {
		leader.begin(task.steps.clone())?;
	}
	for step in task.steps.clone() {
		let tokens = match member.reads_tokens() {
			true => (task.tokens)(step).map_err(|error| QuorumError::Tokens(step, error))?,
			false => Vec::new(),
		};
		member.begin(step, &tokens)?;
		while member.outcome().is_none() {
			// What has arrived comes first: it may be a gradient, which frees memory.
			while let Some(arrived) = mail.next() {
				mail.take(member, arrived, task.role.leader())?;
			}
			match member.work()? {
				Some(out) => {
					for (to, message) in out {
						mail.send(to, message)?;
					}
				}
				None => {
					let arrived = mail.wait(task.patience, &member.waits_for())?;
					mail.take(member, arrived, task.role.leader())?;
				}
			}
		}
		outcomes.extend(member.outcome());
	}
	let (told, sums) = member.record()?;
	let leader = match &mut task.role {
		Role::Follows(leader) => {
			mail.send(*leader, Message::Record(told.clone()))?;
			return Ok(Interval { outcomes, told, led: None });
		}
		Role::Leads(leader) => leader,
	};
	leader.take(member.signer(), member.number(), told.clone())?;
	while !leader.missing().is_empty() {
		let arrived = mail.wait(task.patience, &leader.missing())?;
		mail.take(member, arrived, Some(leader))?;
	}
	let led = leader.check(member.signer(), &sums)?;
	Ok(Interval { outcomes, told, led: Some(led) })
}

impl Mail {
	/// Without a message yet.
	pub fn new(inbox: Receiver<Arrived>, outboxes: BTreeMap<usize, Sender<Message>>, runtime: Handle) -> Self {
		Self { inbox, outboxes, runtime, early: VecDeque::new(), ended: BTreeMap::new(), waited: Duration::ZERO }
	}

	/// Time that was spent waiting for others.
	pub fn waited(&self) -> Duration {
		self.waited
	}

	/// Gives a member what has arrived; records are for whoever leads.
	fn take<S: Signer>(
		&mut self,
		member: &mut Member<S>,
		(from, message): Arrived,
		leader: Option<&mut Leader>,
	) -> Result<(), QuorumError> {
		match (message, leader) {
			(Ok(Message::Record(told)), Some(leader)) => leader.take(member.signer(), from, told)?,
			(Ok(message), _) => member.take(from, message)?,
			(Err(error), _) => drop(self.ended.insert(from, error)),
		}
		Ok(())
	}

	/// What has arrived already, if anything has.
	fn next(&mut self) -> Option<Arrived> {
		self.early.pop_front().or_else(|| self.inbox.try_recv().ok())
	}

	/// Waits for the next message of members of which something is `missing`, for one who takes no step meanwhile. What others send for the first step waits until
	/// that begins: no more than `room` messages of each.
	pub(crate) fn expect(&mut self, patience: Duration, missing: &[usize], room: usize) -> Result<(usize, Message), QuorumError> {
		loop {
			match self.wait(patience, missing)? {
				(from, Ok(message @ (Message::Rows(_) | Message::Sums(_)))) => {
					if self.early.iter().filter(|(sender, _)| *sender == from).count() >= room {
						return Err(Fault::Member { member: from, what: "sent more than fits before the first step" }.into());
					}
					self.early.push_back((from, Ok(message)));
				}
				(from, Ok(message)) => return Ok((from, message)),
				(from, Err(error)) => drop(self.ended.insert(from, error)),
			}
		}
	}

	pub(crate) fn send(&mut self, to: usize, message: Message) -> Result<(), QuorumError> {
		match self.outboxes.get(&to).is_some_and(|outbox| outbox.blocking_send(message).is_ok()) {
			true => Ok(()),
			// The reader of that link says why, if it has not already.
			false => match self.wait(CLOSING, &[to])? {
				(from, Err(error)) => Err(QuorumError::Gone(from, error)),
				_ => Err(QuorumError::Closed),
			},
		}
	}

	/// What arrives next, in so much time at most, if the links to those are there that something is `missing` of.
	fn wait(&mut self, patience: Duration, missing: &[usize]) -> Result<Arrived, QuorumError> {
		if let Some((member, error)) = missing.iter().find_map(|member| self.ended.remove_entry(member)) {
			return Err(QuorumError::Gone(member, error));
		}
		let (inbox, begun) = (&mut self.inbox, Instant::now());
		let arrived = self.runtime.block_on(async { timeout(patience, inbox.recv()).await });
		self.waited = self.waited.saturating_add(begun.elapsed());
		match arrived {
			Ok(Some(arrived)) => Ok(arrived),
			Ok(None) => Err(QuorumError::Closed),
			Err(_) => Err(QuorumError::Late(missing.to_vec(), patience)),
		}
	}
}
