//! What a member says in disputes about a round of its quorum, from its files: as the leader what all have signed and what the delta was made of, and for its own part
//! what it was given.

use crate::{
	keep::{DefenceError, Keep, KeepError, Kept},
	ledger::Ledger,
	member::{Place, Slip},
};
use neuroshard_compute::{
	exec::Exec,
	player::{PlayError, Player, SpanStory},
};
use neuroshard_graph::{
	game::{together, GameError, Move, Position, Record, Setting, Side, Site, Target},
	merkle::{level, Hash},
	span::{cover, Held},
};
use neuroshard_training::files::{FilesError, TileFile};
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
	/// The dispute is none of this work.
	#[error(transparent)]
	Game(#[from] GameError),
	/// The part of the state or of a step that is asked for cannot be computed anew.
	#[error("this worker's part of the disputed steps cannot be computed anew: {0}")]
	Play(#[from] PlayError<KeepError>),
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

/// What a leader's delta was made of.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
	/// Roots of parameters and momentum of the checkpoint that the round started from.
	pub start: [Hash; 2],
}

/// The vector that a position asks tiles of, if it is one that a leader has in a file, and its root: 0 for the delta as it was sent, 1 for what it has left unsaid where
/// it is a code that leaves something.
pub fn sent(position: &Position) -> Option<(u32, Hash)> {
	match *position {
		Position::Hashes { site: Site::Delta { .. } | Site::Code { .. }, target: Target::Vector(vector), root, .. } => Some((vector, root)),
		_ => None,
	}
}

/// A member's side in disputes about one round.
pub struct Defence {
	place: Place,
	folder: PathBuf,
	exec: Arc<Exec>,
	base: Option<TileFile>,
	ends: Option<Ends>,
	slip: Option<Slip>,
	/// The attempt that was asked for last.
	story: Option<(Kept, SpanStory<KeepError>)>,
}

impl Defence {
	/// Of the member at `place`, whose own folder for the round is `folder`; of an adapter with the `base` that it is beside. A leader has the `ends` of its delta.
	pub fn new(place: Place, folder: PathBuf, exec: Arc<Exec>, base: Option<TileFile>, ends: Option<Ends>) -> Self {
		Self { place, folder, exec, base, ends, slip: None, story: None }
	}

	/// The same of a member that has made this slip, and defends what came of it.
	#[must_use]
	pub fn with_slip(self, slip: Option<Slip>) -> Self {
		Self { slip, ..self }
	}

	/// The defender's move in `position`, which may ask for tiles of a file that was [`sent`]; `None` where a member does not say it from its files, but who has computed
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
				let story = self.story(position)?;
				Ok(Some(Player::new(*setting, Side::Defender, story, None).play(position, &[])?))
			}
			_ => Ok(None),
		}
	}

	/// What the leader has kept of the interval that begins with inner step `first`.
	fn kept_by_leader(&self, first: u32) -> Result<crate::Led, RespondError> {
		Ledger::new(self.folder.join("records"))?.kept(first)?.ok_or(RespondError::Unkept { first })
	}

	/// What the delta is the difference of.
	fn ends(&self) -> Result<Option<Move>, RespondError> {
		let Some(ends) = &self.ends else { return Ok(None) };
		let Some(last) = crate::intervals(&self.place.train).last() else { return Ok(None) };
		let parts = self.kept_by_leader(last.start)?.parts();
		let (model, adapter) = (&self.place.model, self.place.train.adapter);
		let covers = self.place.spans.iter().map(|&span| cover(model, adapter, span)).collect::<Result<Vec<_>, _>>();
		let covers = covers.map_err(GameError::from)?;
		let [params, first, second] = [0, 1, 2].map(|vector| together(&covers, parts.iter().map(|part| part.get(vector))));
		let (Some(params), Some(first), Some(second)) = (params, first, second) else { return Err(GameError::Root.into()) };
		Ok(Some(Move::Ends { start: ends.start, end: [params, first, second] }))
	}

	/// What the member computes anew of the attempt that is disputed.
	fn story(&mut self, position: &Position) -> Result<&mut SpanStory<KeepError>, RespondError> {
		let (first, is_it) = self.asked(position)?;
		let keep = Keep::new(self.folder.join("keep"))?;
		let ended = keep.kept(first)?.into_iter().rev().filter(Kept::has_ended);
		let mut those = ended.filter(|kept| kept.record().is_ok_and(|(record, _)| is_it(&record)));
		let kept = those.next().ok_or(RespondError::Unkept { first })?;
		let story = match self.story.take().filter(|(known, _)| *known == kept) {
			Some((_, story)) => story,
			None => self.anew(&kept)?,
		};
		Ok(&mut self.story.insert((kept, story)).1)
	}

	/// The interval that a position is about, and whether it is about such a record.
	fn asked(&self, position: &Position) -> Result<(u32, Box<dyn Fn(&Record) -> bool>), RespondError> {
		match position {
			Position::SpanSteps(stand) | Position::SpanNodes(stand) => {
				let steps = stand.part.steps;
				Ok((stand.first, Box::new(move |record| record.steps_root() == steps)))
			}
			Position::Hashes { site: Site::Span { step, given, .. }, .. }
			| Position::States { site: Site::Span { step, given, .. }, .. } => {
				let within = step.checked_rem(self.place.train.commit_interval).unwrap_or_default();
				let given = *given;
				let said = move |record: &Record| {
					let said = usize::try_from(within).ok().and_then(|within| record.steps.get(within));
					said.is_some_and(|said| given.starts_with(&said.given))
				};
				Ok((step.saturating_sub(within), Box::new(said)))
			}
			_ => Err(GameError::Place.into()),
		}
	}

	fn anew(&self, kept: &Kept) -> Result<SpanStory<KeepError>, RespondError> {
		let place = &self.place;
		let own = place.spans.get(place.member).copied().ok_or(DefenceError::Place(place.member))?;
		let base = match (place.train.adapter, &self.base) {
			(None, _) => None,
			(Some(_), None) => return Err(FilesError::NoModel.into()),
			(Some(_), Some(base)) => {
				let held = Held::new(&place.model, None, own).map_err(GameError::from)?;
				let covers = place.spans.iter().map(|&span| cover(&place.model, None, span)).collect::<Result<Vec<_>, _>>();
				let roots = base.parts(&covers.map_err(GameError::from)?, self.exec.threads())?;
				let roots = roots.get(place.member).map_or(&[][..], Vec::as_slice);
				Some(base.held(&held, roots, self.exec.threads())?)
			}
		};
		let story = kept.story(self.exec.clone(), place, base)?;
		Ok(match self.slip.and_then(|slip| slip.mistake(place)) {
			Some(mistake) => story.with_mistake(mistake),
			None => story,
		})
	}
}
