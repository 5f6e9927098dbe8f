//! Playing the dispute game: what to answer in every position, for either side.
//!
//! A player recomputes what the game is about and says the truth. As a challenger it names the first difference between what the defender
//! posted and what it computed itself; if there is none, it has nothing to say. An honest player wins on either side.

mod answer;
mod checkpoint;
mod span;
mod story;
mod work;

use crate::{
	recorder::{record, record_choice, record_reading, record_row, row_hashes, Library, RecordError},
	trace::{Trace, TraceError},
};
pub use answer::AnswerStory;
pub use checkpoint::CheckpointStory;
use core::convert::Infallible;
use neuroshard_graph::{
	game::{subtrees, Contents, Entry, Move, Part, Position, Setting, Side, Site, SpanNodes, Subject, Target},
	merkle::{level, prove, Hash},
	resume::Malformed,
	tiles::{bytes_of, leaf_hash},
	witness::Tokens,
};
use span::pick_state;
pub use span::{GaveStep, GivenStep, QuorumStory, ReadGiven, SpanStory};
pub use story::{Job, PickedRecord, Story, Traced};
pub use work::{States, WorkStart, WorkStory};

/// Why a player has no move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlayError<E> {
	/// Tokens or vectors cannot be had.
	#[error("what the game is about cannot be recomputed: {0}")]
	Source(E),
	/// The job cannot be traced.
	#[error(transparent)]
	Trace(#[from] TraceError),
	/// A witness cannot be written.
	#[error(transparent)]
	Record(#[from] RecordError),
	/// It is the other side's turn.
	#[error("it is not this side's turn")]
	NotOurTurn,
	/// The position is none of this claim, or what was posted is not at hand.
	#[error("the position does not belong to this claim, or the list that was posted last is missing")]
	Position,
	/// Everything that was posted is right.
	#[error("everything that the other side posted is right: there is nothing to object to")]
	Nothing,
}

impl PlayError<Infallible> {
	/// The same, of what is part of a story whose source may fail.
	pub fn widen<E>(self) -> PlayError<E> {
		match self {
			Self::Source(never) => match never {},
			Self::Trace(error) => PlayError::Trace(error),
			Self::Record(error) => PlayError::Record(error),
			Self::NotOurTurn => PlayError::NotOurTurn,
			Self::Position => PlayError::Position,
			Self::Nothing => PlayError::Nothing,
		}
	}
}

impl<E> From<Malformed> for PlayError<E> {
	fn from(_: Malformed) -> Self {
		Self::Position
	}
}

/// One side of a game.
pub struct Player<'a, S> {
	setting: Setting<'a>,
	side: Side,
	story: S,
	/// Chunks of the dataset, for witnesses that read tokens.
	library: Option<&'a dyn Library>,
}

/// Entry `index` of `list`, with its proof.
fn entry<E>(list: &[Hash], index: u32) -> Result<Entry, PlayError<E>> {
	let hash = usize::try_from(index).ok().and_then(|index| list.get(index)).copied().ok_or(PlayError::Position)?;
	Ok(Entry { hash, proof: prove(list, index).ok_or(PlayError::Position)? })
}

/// The first entry in which the lists differ. One that ends early differs there.
fn first_difference(own: &[Hash], posted: &[Hash]) -> Option<u32> {
	let index = own.iter().zip(posted).position(|(own, posted)| own != posted);
	let index = index.or_else(|| (own.len() < posted.len()).then_some(own.len()));
	index.and_then(|index| u32::try_from(index).ok())
}

impl<'a, S: Story> Player<'a, S> {
	/// A player of `side` in the game that `setting` describes. `library` is needed for a claim about inner steps.
	pub fn new(setting: Setting<'a>, side: Side, story: S, library: Option<&'a dyn Library>) -> Self {
		Self { setting, side, story, library }
	}

	/// What it computes.
	pub fn story(&mut self) -> &mut S {
		&mut self.story
	}

	/// The move to make in `position`. A challenger needs `defence`, the defender's moves so far: the lists that it posted.
	///
	/// # Errors
	/// [`PlayError`]; [`PlayError::Nothing`] if a challenger agrees with everything.
	pub fn play(&mut self, position: &Position, defence: &[Move]) -> Result<Move, PlayError<S::Error>> {
		if position.turn() != self.side {
			return Err(PlayError::NotOurTurn);
		}
		match self.side {
			Side::Defender => self.defend(position),
			Side::Challenger => self.challenge(position, defence),
		}
	}

	fn defend(&mut self, position: &Position) -> Result<Move, PlayError<S::Error>> {
		Ok(match *position {
			Position::Steps { first, count, end, .. } => {
				// The last root is the one that was claimed: the step before it is not run again for that.
				let known = count.saturating_sub(1);
				let mut roots = self.story.roots(first, known)?;
				if u32::try_from(roots.len()).is_ok_and(|found| found == known) {
					roots.push(end);
				}
				Move::Steps(roots)
			}
			Position::Checkpoints { count } => Move::Checkpoints(self.story.roots(0, count)?),
			Position::Nodes { step, .. } => {
				let before = self.story.contents(step)?;
				let Traced { trace, nodes } = self.story.trace(Job::Step(step))?;
				Move::Nodes { before, after: trace.result_roots::<3>().ok_or(PlayError::Position)?, nodes: nodes.clone() }
			}
			Position::Ends { .. } | Position::CodedEnds { .. } => {
				let start = self.story.base()?;
				let Contents::State(end) = self.story.contents(self.setting.inner_steps().map_err(|_| PlayError::Position)?)? else {
					return Err(PlayError::Position);
				};
				Move::Ends { start, end }
			}
			Position::Outer { step, .. } => {
				let Contents::Checkpoint(before) = self.story.contents(step)? else { return Err(PlayError::Position) };
				let after = step.checked_add(1).ok_or(PlayError::Position)?;
				let Contents::Checkpoint(after) = self.story.contents(after)? else { return Err(PlayError::Position) };
				if self.skipped(step) {
					return Ok(Move::Outer { before, after, gradient: Hash::default() });
				}
				let Traced { trace, nodes } = self.story.trace(Job::Outer(step))?;
				let [gradient] = trace.result_roots::<1>().ok_or(PlayError::Position)?;
				match self.setting.aggregates_in_steps() {
					true => Move::Aggregate { before, after, gradient, nodes: nodes.clone() },
					false => Move::Outer { before, after, gradient },
				}
			}
			Position::Read { .. } => {
				let Contents::Checkpoint(start) = self.story.contents(0)? else { return Err(PlayError::Position) };
				Move::Read { start, nodes: self.story.trace(Job::Read)?.nodes.clone() }
			}
			Position::Row { index, .. } => {
				let row = self.row(index)?;
				Move::Hashes(row_hashes(&self.story.trace(Job::Read)?.trace, row)?)
			}
			Position::Hashes { site, target, first, count, .. } => Move::Hashes(self.entries(position, &site, target, (first, count))?),
			Position::SpanSteps(stand) => Move::Steps(self.story.span_states(&stand)?),
			Position::SpanNodes(stand) => Move::SpanNodes(self.story.span_nodes(&stand)?),
			Position::States { site, target, leaf, .. } => {
				let trace = &self.story.trace(Job::of(&site))?.trace;
				let cell = target.cell(trace.plan(), leaf).ok_or(PlayError::Position)?;
				Move::States(trace.prefix_hashes(cell)?)
			}
			_ => return Err(PlayError::NotOurTurn),
		})
	}

	fn challenge(&mut self, position: &Position, defence: &[Move]) -> Result<Move, PlayError<S::Error>> {
		let posted = defence.last().map_or(&[][..], Move::list);
		Ok(match *position {
			Position::PickStep { first, count, .. } => self.pick_step(first, count, posted)?,
			Position::PickCheckpoint { count, .. } => self.pick_step(0, count, posted)?,
			Position::PickNode { site, results } => {
				let Traced { trace, nodes } = self.story.trace(Job::of(&site))?;
				let differs = first_difference(nodes, posted);
				let diverged = trace.diverged_node();
				// Behind what a member gave it may have gone on from what others gave it afterwards, which is not agreed on.
				let end = match site {
					Site::Span { out: Some(out), .. } => trace.plan().nodes_up_to(out).ok_or(PlayError::Position)?,
					_ => u32::MAX,
				};
				match [differs, diverged].into_iter().flatten().filter(|&node| node < end).min() {
					Some(index) => Move::Node { index, root: entry(posted, index)? },
					None => match site {
						Site::Span { out: Some(out), .. } => {
							let own = trace.all_result_roots().get(out as usize).ok_or(PlayError::Position)?;
							let [claimed, ..] = results;
							if *own == claimed {
								return Err(PlayError::Nothing);
							}
							Move::Vector(out)
						}
						_ => pick_vector(trace, &results)?,
					},
				}
			}
			Position::PickRecord { .. } => self.pick_record(defence)?,
			Position::PickSpanStep { stand, .. } => {
				let own = self.story.span_states(&stand)?;
				let index = pick_state(&stand, &own, posted)?;
				let before = index.checked_sub(1).map(|before| entry(posted, before)).transpose()?;
				let after = if index < stand.states() { entry(posted, index)? } else { Entry::default() };
				Move::Step { index, before, after }
			}
			Position::PickVector { site, results } => pick_vector(&self.story.trace(Job::of(&site))?.trace, &results)?,
			Position::PickRead { index, .. } => self.pick_read(index, posted)?,
			Position::PickRow { index, .. } => self.pick_row(index, posted)?,
			Position::PickHash { site, target, first, count, .. } => {
				let own = self.entries(position, &site, target, (first, count))?;
				let index = first_difference(&own, posted).ok_or(PlayError::Nothing)?;
				Move::Hash { index, entry: entry(posted, index)? }
			}
			Position::PickPiece { site, target, leaf, tile, .. } => {
				// What was agreed on are the nodes that were posted: the own ones differ from the disputed one on.
				let nodes = defence.iter().rev().find_map(|action| match action {
					Move::Nodes { nodes, .. } | Move::Read { nodes, .. } | Move::Aggregate { nodes, .. } => Some(nodes.as_slice()),
					Move::SpanNodes(SpanNodes { nodes, .. }) => Some(nodes.as_slice()),
					_ => None,
				});
				self.pick_piece(&site, (target, leaf, tile), posted, nodes.unwrap_or(&[]))?
			}
			_ => return Err(PlayError::NotOurTurn),
		})
	}

	/// Whether an outer step has no deltas.
	fn skipped(&self, step: u32) -> bool {
		match self.setting.subject {
			Subject::Checkpoint { deltas, .. } => deltas.get(step as usize).is_some_and(Vec::is_empty),
			Subject::Work { .. } | Subject::Answer(_) => false,
		}
	}

	fn pick_step(&mut self, first: u32, count: u32, posted: &[Hash]) -> Result<Move, PlayError<S::Error>> {
		let own = self.story.roots(first, count)?;
		let index = first_difference(&own, posted).ok_or(PlayError::Nothing)?;
		let before = index.checked_sub(1).map(|before| entry(posted, before)).transpose()?;
		Ok(Move::Step { index, before, after: entry(posted, index)? })
	}

	/// The row of logits that choice `index` is made from.
	fn row(&self, index: u32) -> Result<u32, PlayError<S::Error>> {
		let Subject::Answer(claim) = self.setting.subject else { return Err(PlayError::Position) };
		claim.row(index).ok_or(PlayError::Position)
	}

	/// The first tile of the row that differs, or else choice `index`.
	fn pick_row(&mut self, index: u32, posted: &[Hash]) -> Result<Move, PlayError<S::Error>> {
		let row = self.row(index)?;
		let text = self.story.text().ok_or(PlayError::Position)?.map(<[u32]>::to_vec);
		let Traced { trace, nodes } = self.story.trace(Job::Read)?;
		Ok(match first_difference(&row_hashes(trace, row)?, posted) {
			Some(piece) => {
				Move::Piece { piece, before: None, after: Some(entry(posted, piece)?), witness: record_row(trace, nodes, row, piece)? }
			}
			None => Move::Choice { index, witness: record_choice(trace, text.each_ref().map(Vec::as_slice), row)? },
		})
	}

	/// The first node that differs, or else choice `index`.
	fn pick_read(&mut self, index: u32, posted: &[Hash]) -> Result<Move, PlayError<S::Error>> {
		let Subject::Answer(claim) = self.setting.subject else { return Err(PlayError::Position) };
		let row = self.row(index)?;
		// The trace comes first: it takes the whole story.
		if let Some(index) = first_difference(&self.story.trace(Job::Read)?.nodes, posted) {
			return Ok(Move::Node { index, root: entry(posted, index)? });
		}
		let text = self.story.text().ok_or(PlayError::Position)?.map(<[u32]>::to_vec);
		let text = text.each_ref().map(Vec::as_slice);
		let Traced { trace, .. } = self.story.trace(Job::Read)?;
		match claim.is_chosen(index, trace.logits(row).ok_or(PlayError::Position)?, text) {
			true => Err(PlayError::Nothing),
			false => Ok(Move::Vector(0)),
		}
	}

	/// Own entries of the list that a position asks for.
	fn entries(
		&mut self,
		position: &Position,
		site: &Site,
		target: Target,
		(first, count): (u32, u32),
	) -> Result<Vec<Hash>, PlayError<S::Error>> {
		let hashes = self.hashes(site, target, first, count)?;
		let plan = self.story.trace(Job::of(site))?.trace.plan();
		Ok(match subtrees(plan, target, first, count) {
			Some(cover) => cover.roots(&hashes),
			None => level(&hashes, position.height()),
		})
	}

	/// The first record with something false in it.
	fn pick_record(&mut self, defence: &[Move]) -> Result<Move, PlayError<S::Error>> {
		let Some(Move::Records(records)) = defence.last() else { return Err(PlayError::Position) };
		let Subject::Work { quorum: Some(quorum), .. } = self.setting.subject else { return Err(PlayError::Position) };
		let parts = records.parts(quorum.spans);
		let PickedRecord { member, part, step, out } = self.story.pick_record(records, &parts)?;
		let hashes: Vec<Hash> = parts.iter().map(Part::hash).collect();
		Ok(Move::Record { member, part, proof: prove(&hashes, member).ok_or(PlayError::Position)?, step, out })
	}

	/// Own hashes of the tiles `first..first + count` of what `target` names.
	fn hashes(&mut self, site: &Site, target: Target, first: u32, count: u32) -> Result<Vec<Hash>, PlayError<S::Error>> {
		let trace = &self.story.trace(Job::of(site))?.trace;
		let all = match target {
			Target::Node(node) => trace.node_hashes(node),
			Target::Vector(vector) => trace.result_hashes(vector),
		};
		let (first, count) = (first as usize, count as usize);
		first.checked_add(count).and_then(|end| all.get(first..end)).map(<[Hash]>::to_vec).ok_or(PlayError::Position)
	}

	fn pick_piece(
		&mut self,
		site: &Site,
		(target, leaf, tile): (Target, u32, Hash),
		posted: &[Hash],
		agreed: &[Hash],
	) -> Result<Move, PlayError<S::Error>> {
		let (subject, library) = (self.setting.subject, self.library);
		let text = self.story.text().map(|text| text.map(<[u32]>::to_vec));
		let Traced { trace, .. } = self.story.trace(Job::of(site))?;
		let cell = target.cell(trace.plan(), leaf).ok_or(PlayError::Position)?;
		let own = trace.prefix_hashes(cell)?;
		// No states are posted of a tile that is computed in one piece: the last list is another one then.
		let posted = if own.is_empty() { &[] } else { posted };
		if own.len() != posted.len() {
			return Err(PlayError::Position);
		}
		let between = u32::try_from(own.len()).map_err(|_| PlayError::Position)?;
		let tensor = trace.plan().cell_tensor(cell).ok_or(PlayError::Position)?;
		let own_tile = trace.tile_values(tensor, cell.row, cell.col).ok_or(PlayError::Position)?;
		// An agreed tile is disputed only for ending the job.
		if leaf_hash(&bytes_of(&*own_tile)) == tile && own == posted && trace.diverged_node().is_none() {
			return Err(PlayError::Nothing);
		}
		let piece = first_difference(&own, posted).unwrap_or(between);
		let before = piece.checked_sub(1).map(|before| entry(posted, before)).transpose()?;
		let after = (piece < between).then(|| entry(posted, piece)).transpose()?;
		if let Site::Read { .. } = site {
			let text = text.as_ref().ok_or(PlayError::Position)?.each_ref().map(Vec::as_slice);
			return Ok(Move::Piece { piece, before, after, witness: record_reading(trace, agreed, text, cell, piece)? });
		}
		let step = if let Site::Step { step, .. } | Site::Span { step, .. } = site { *step } else { 0 };
		let window = subject.windows(step);
		let tokens = match (subject, library) {
			(Subject::Work { corpus, .. }, Some(library)) => Some((Tokens { corpus, window: &window }, library)),
			_ => None,
		};
		Ok(Move::Piece { piece, before, after, witness: record(trace, agreed, tokens, cell, piece)? })
	}
}

/// The first vector of a job's results that differs.
fn pick_vector<E>(trace: &Trace, results: &[Hash; 3]) -> Result<Move, PlayError<E>> {
	let own = trace.all_result_roots();
	first_difference(own, results.get(..own.len()).unwrap_or(results)).map(Move::Vector).ok_or(PlayError::Nothing)
}
