//! What a member says in disputes about a round of its quorum, from its files: as the leader what all have signed and what the delta was made of, and for its own part
//! what it was given.

use crate::{
	keep::{DefenceError, Keep, KeepError, Kept},
	ledger::Ledger,
	member::{JoinError, Place, Slip},
};
use neuroshard_compute::{
	exec::Exec,
	player::{Job, PlayError, Player, SpanStory, Story},
	trace::TraceError,
};
use neuroshard_graph::{
	game::{together, GameError, Move, Position, Setting, Side, Site, Target},
	merkle::{level, merkle_root, Hash},
};
use neuroshard_support::memory::available_memory;
use neuroshard_training::files::{FilesError, TileFile};
use neuroshard_types::H256;
use std::{path::PathBuf, sync::Arc};

/// Why a member has nothing to say in a dispute.
#[derive(Debug, thiserror::Error)]
pub enum RespondError {
	/// What was kept.
	#[error(transparent)]
	Defence(#[from] DefenceError),
	/// Vectors of the model's size.
	#[error(transparent)]
	Files(#[from] FilesError),
	/// The place.
	#[error(transparent)]
	Join(#[from] JoinError),
	/// The dispute is none of this work.
	#[error(transparent)]
	Game(#[from] GameError),
	/// The part of the state or of a step that is asked for cannot be computed anew.
	#[error("this worker's part of the disputed steps cannot be computed anew: {0}")]
	Play(#[from] PlayError<KeepError>),
	/// What is disputed does not fit into memory.
	#[error(
		"computing this worker's part of the disputed steps anew takes {} MiB of memory, and {} MiB are available: free some, or raise the limit (--max-memory), \
		 before the clock of the dispute has run down",
		needed.div_ceil(1 << 20), available >> 20
	)]
	Memory {
		/// Bytes that it takes.
		needed: u64,
		/// Bytes that are available.
		available: u64,
	},
	/// No attempt that ended in the disputed record.
	#[error(
		"nothing is kept of an attempt at the inner steps from {first} on that ended in what is disputed: this worker has no defence; \
		 if its folder was moved, give it back the files of the round, and it goes on"
	)]
	Unkept {
		/// First inner step of the interval.
		first: u32,
	},
}

impl From<KeepError> for RespondError {
	fn from(error: KeepError) -> Self {
		Self::Defence(error.into())
	}
}

/// Bytes of memory that a member takes for a defence.
///
/// # Errors
/// [`JoinError`].
pub fn defence_bytes(place: &Place, exec: Arc<Exec>) -> Result<u64, JoinError> {
	let span = *place.spans.get(place.member).ok_or(JoinError::Member(place.member))?;
	SpanStory::<KeepError>::bytes(exec, (&place.model, &place.train, span)).map_err(|error| match error {
		TraceError::Setup(error) => error.into(),
		TraceError::Step(_) => JoinError::Member(place.member),
	})
}

/// A member's side in disputes about one round.
pub struct Defence {
	place: Place,
	folder: PathBuf,
	exec: Arc<Exec>,
	base: Option<TileFile>,
	/// Roots of parameters and momentum of the checkpoint that the round started from.
	start: Option<[Hash; 2]>,
	slip: Option<Slip>,
	/// The attempt that was asked for last.
	story: Option<(Kept, SpanStory<KeepError>)>,
}

impl Defence {
	/// Of the member at `place`, whose own folder for the round is `folder`; of an adapter with the `base` that it is beside. A leader has the roots of parameters
	/// and momentum of the checkpoint that the round started from, `start`.
	pub fn new(place: Place, folder: PathBuf, exec: Arc<Exec>, base: Option<TileFile>, start: Option<[Hash; 2]>) -> Self {
		Self { place, folder, exec, base, start, slip: None, story: None }
	}

	/// The same of a member that has made this slip, and defends what came of it.
	#[must_use]
	pub fn with_slip(self, slip: Option<Slip>) -> Self {
		Self { slip, ..self }
	}

	/// The defender's move in `position`, which may ask for tiles of a file that was [`sent`](Self::sent); `None` where a member does not say it from its files, but who has computed
	/// the whole delta anew.
	///
	/// # Errors
	/// [`RespondError`].
	pub fn respond(&mut self, setting: &Setting<'_>, position: &Position, sent: Option<&TileFile>) -> Result<Option<Move>, RespondError> {
		match *position {
			Position::Records { first, .. } => Ok(Some(Move::Records(self.kept_by_leader(first)?.records))),
			Position::Ends { .. } | Position::CodedEnds { .. } => self.ends(),
			Position::Hashes { site: Site::Delta { .. } | Site::Code { .. }, first, count, .. } => {
				let hashes = sent.map(|sent| sent.leaves(first..first.saturating_add(count), self.exec.threads())).transpose()?;
				Ok(hashes.map(|hashes| Move::Hashes(level(&hashes, position.height()))))
			}
			_ if position.member().is_some_and(|member| usize::try_from(member) == Ok(self.place.member)) => {
				self.of_attempt(setting, position).map(Some)
			}
			_ => Ok(None),
		}
	}

	/// What the leader has kept of the interval that begins with inner step `first`.
	fn kept_by_leader(&self, first: u32) -> Result<crate::Led, RespondError> {
		Ledger::of_round(&self.folder)?.kept(first)?.ok_or(RespondError::Unkept { first })
	}

	/// What the delta is the difference of.
	fn ends(&self) -> Result<Option<Move>, RespondError> {
		let Some(start) = self.start else { return Ok(None) };
		let Some(last) = crate::intervals(&self.place.train).last() else { return Ok(None) };
		let parts = self.kept_by_leader(last.start)?.parts();
		let covers = self.place.covers(self.place.train.adapter).map_err(GameError::from)?;
		let [params, first, second] = [0, 1, 2].map(|vector| together(&covers, parts.iter().map(|part| part.get(vector))));
		let (Some(params), Some(first), Some(second)) = (params, first, second) else { return Err(GameError::Root.into()) };
		Ok(Some(Move::Ends { start, end: [params, first, second] }))
	}

	/// The vector that a position asks tiles of, if it is one that the leader has in a file, and its root: 0 for the delta as it was sent, 1 for what it has left unsaid
	/// where it is a code that leaves something.
	///
	/// # Errors
	/// [`RespondError::Defence`] without the work of the round.
	pub fn sent(&self, position: &Position) -> Result<Option<(u32, H256)>, RespondError> {
		let Position::Hashes { site: Site::Delta { .. } | Site::Code { .. }, target: Target::Vector(vector), .. } = *position else {
			return Ok(None);
		};
		let work = Ledger::of_round(&self.folder)?.work()?;
		// The residual's root after the round is the last one that is revealed.
		let root = if vector == 0 { Some(work.delta_root) } else { work.state_roots.last().copied() };
		Ok(root.map(|root| (vector, root)))
	}

	/// The move of the attempt that is disputed. Several may have ended in a record, and differ in little.
	fn of_attempt(&mut self, setting: &Setting<'_>, position: &Position) -> Result<Move, RespondError> {
		let first = self.interval(position)?;
		let mut ended = Keep::of_round(&self.folder)?.kept(first)?;
		ended.retain(Kept::has_ended);
		// The one that was asked for before is the likeliest.
		ended.sort_by_key(|kept| self.story.as_ref().is_some_and(|(known, _)| known == kept));
		let mut missed = None;
		for kept in ended.into_iter().rev() {
			match self.respond_by(kept, setting, position) {
				Ok(Some(action)) => return Ok(action),
				Ok(None) => {}
				// Another attempt may be readable.
				Err(error) => missed = Some(error),
			}
		}
		Err(missed.unwrap_or(RespondError::Unkept { first }))
	}

	/// The move by an attempt, if that is the disputed one.
	fn respond_by(&mut self, kept: Kept, setting: &Setting<'_>, position: &Position) -> Result<Option<Move>, RespondError> {
		let (record, _) = kept.record()?;
		if let Position::SpanSteps(stand) | Position::SpanNodes(stand) = position {
			if stand.part.steps != record.steps_root() || stand.part.base != record.base {
				return Ok(None);
			}
		}
		let mut story = match self.story.take() {
			Some((known, story)) if known == kept => story,
			_ => self.anew(&kept)?,
		};
		if let Position::Hashes { site: Site::Span { member, step, nodes, .. }, .. }
		| Position::States { site: Site::Span { member, step, nodes, .. }, .. } = *position
		{
			// Nothing is asked here but what this account has posted the nodes of.
			if merkle_root(&story.trace(Job::Span { member, step })?.nodes) != nodes {
				return Ok(None);
			}
		}
		let action = Player::new(*setting, Side::Defender, &mut story, None).play(position, &[])?;
		let is_taken = position.play(setting, &action).is_ok();
		self.story = Some((kept, story));
		Ok(is_taken.then_some(action))
	}

	/// First inner step of the interval that a position is about.
	fn interval(&self, position: &Position) -> Result<u32, RespondError> {
		match position {
			Position::SpanSteps(stand) | Position::SpanNodes(stand) => Ok(stand.first),
			Position::Hashes { site: Site::Span { step, .. }, .. } | Position::States { site: Site::Span { step, .. }, .. } => {
				Ok(step.saturating_sub(step.checked_rem(self.place.train.commit_interval).unwrap_or_default()))
			}
			_ => Err(GameError::Place.into()),
		}
	}

	fn anew(&self, kept: &Kept) -> Result<SpanStory<KeepError>, RespondError> {
		let place = &self.place;
		let needed = defence_bytes(place, self.exec.clone())?;
		if let Some(available) = available_memory().filter(|available| *available < needed) {
			return Err(RespondError::Memory { needed, available });
		}
		let threads = self.exec.threads();
		let own = place.own_base(self.base.as_ref(), threads)?;
		let base = own.zip(self.base.as_ref()).map(|((held, roots), base)| base.held(&held, &roots, threads)).transpose()?;
		let story = kept.story(self.exec.clone(), place, base)?;
		Ok(match self.slip.and_then(|slip| slip.mistake(place)) {
			Some(mistake) => story.with_mistake(mistake),
			None => story,
		})
	}
}
