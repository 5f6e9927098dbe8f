//! The dispute game: from a claim about a round down to one piece of one tile, in a handful of moves.
//!
//! The *defender* stands by a claim, the *challenger* says that it is false. In turn the defender posts what lies between two points that
//! are settled, and the challenger names the first thing posted that it disagrees with. Whatever comes before it both sides then agree on,
//! so that the disputed part shrinks until it can be executed: [`crate::witness::check`].
//!
//! ```text
//! inner steps:  open - step roots - step - nodes - node or vector - tile hashes - tile - states - piece with its witness
//! delta:        open - ends - tile hashes - tile - [states -] piece
//!               as a code with a residual: open - ends - vector - tile hashes - tile - [states -] piece
//! outer step:   open - [checkpoints - step -] ends - vector - tile hashes - tile - states - piece
//!               with a robust rule: ends and nodes - node or vector - tile hashes - tile - states - piece
//! answer:       open - nodes - row - its tile hashes - choice, or tile of the row, with its witness
//!               open - nodes - node - tile hashes - tile - states - piece
//! ```
//!
//! So a game about an answer has at most 6 moves after its opening, and 4 if the model was run rightly and a token chosen wrongly: a node has at
//! most 8,192 tiles, whose hashes are one list.
//!
//! A list of more than [`MAX_LIST`] tile hashes is posted in two turns: the tree's nodes at a height, then the leaves below one of them.
//! Lists of one entry are not posted, tiles that are computed in one piece have no states in between.
//!
//! The game knows nothing of accounts, clocks and stakes. It is a pure function from position and move to position or verdict.

mod moves;
mod position;
mod quorum;

use crate::{
	answer::Answer,
	config::{ConfigError, ModelConfig, TrainConfig},
	corpus::{Corpus, Window},
	merkle::Hash,
	span::Seam,
	witness::WitnessError,
};
use alloc::vec::Vec;
pub use moves::{Contents, Entry, Move, SpanNodes};
pub use position::{Anchor, Position, Site, Target};
pub use quorum::{
	canonical, state_of, subtrees, sums_hash, sums_root, together, Discord, Part, Quorum, Record, Records, Signature, Stand, StepRecord,
	MAX_MEMBERS, MAX_RECORDS,
};

/// Most hashes of one posted list.
pub const MAX_LIST: u32 = 16_384;

/// What a game is about, and everything that it is judged by.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
	/// The model.
	pub model: &'a ModelConfig,
	/// How it is trained.
	pub train: &'a TrainConfig,
	/// Round that the claim begins with, from [`Self::start`].
	pub round: u32,
	/// Root of the checkpoint that the claim begins with.
	pub start: Hash,
	/// What is claimed to follow from it.
	pub subject: Subject<'a>,
}

/// A checkpoint that a delta is the difference from, beside the one that its inner steps start from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Base {
	/// Its root.
	pub checkpoint: Hash,
	/// Round that starts from it.
	pub round: u32,
}

/// What is claimed.
#[derive(Clone, Copy)]
pub enum Subject<'a> {
	/// The inner steps of a round, and their delta.
	Work {
		/// The dataset.
		corpus: Corpus,
		/// The window of a sequence (second) of an inner step (first).
		window: &'a dyn Fn(u32, u32) -> Option<Window>,
		/// Inner steps of the work.
		steps: u32,
		/// What the delta is the difference from, if that is another checkpoint than the one that the inner steps start from.
		base: Option<Base>,
		/// Who did it, if several machines did.
		quorum: Option<Quorum<'a>>,
	},
	/// Outer steps.
	Checkpoint {
		/// Delta roots of each step, by account bytes ascending. A step without any leaves parameters and momentum as they are.
		deltas: &'a [Vec<Hash>],
		/// Inner steps behind each of them, if deltas weigh by them; else for no delta of any step.
		inner_steps: &'a [Vec<u32>],
		/// Root of the checkpoint that they are claimed to end with.
		claimed: Hash,
	},
	/// An answer of the model with the parameters of the checkpoint that the claim begins with. Of the training configuration only the version
	/// of the arithmetic matters, and what roots of checkpoints are made with.
	Answer(Answer<'a>),
}

impl<'a> Subject<'a> {
	/// The windows of inner step `step`, by sequence; none for outer steps.
	pub fn windows(self, step: u32) -> impl Fn(u32) -> Option<Window> + 'a {
		move |sequence| match self {
			Self::Work { window, .. } => window(step, sequence),
			Self::Checkpoint { .. } | Self::Answer(_) => None,
		}
	}
}

/// The two sides.
#[derive(
	Clone,
	Copy,
	PartialEq,
	Eq,
	Debug,
	codec::Encode,
	codec::Decode,
	codec::DecodeWithMemTracking,
	codec::MaxEncodedLen,
	scale_info::TypeInfo,
)]
pub enum Side {
	/// Stands by its claim.
	Defender,
	/// Says that it is false.
	Challenger,
}

/// What a challenger disagrees with first in the work that was revealed.
#[derive(
	Clone,
	Copy,
	PartialEq,
	Eq,
	Debug,
	codec::Encode,
	codec::Decode,
	codec::DecodeWithMemTracking,
	codec::MaxEncodedLen,
	scale_info::TypeInfo,
)]
pub enum Doubt {
	/// State root number `.0`, which ends an interval of inner steps.
	Interval(u32),
	/// The delta: all state roots are right.
	Delta,
}

/// How a game ended.
#[derive(
	Clone,
	Copy,
	PartialEq,
	Eq,
	Debug,
	codec::Encode,
	codec::Decode,
	codec::DecodeWithMemTracking,
	codec::MaxEncodedLen,
	scale_info::TypeInfo,
)]
pub enum Ruling {
	/// The claim is false, or goes on after a step that ended the job in divergence, so that there was nothing to claim.
	Fraud,
	/// What the challenger disagreed with is right.
	Unfounded,
}

/// What a move leads to.
#[derive(Clone, PartialEq, Eq, Debug, codec::Encode, codec::Decode, scale_info::TypeInfo)]
#[allow(clippy::large_enum_variant, reason = "it is taken apart where it is returned")]
pub enum Outcome {
	/// The game goes on.
	Next(Position),
	/// It is decided.
	Decided(Ruling),
}

/// Why a move is refused. The position stays, and so does the turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error, codec::Encode, codec::Decode, scale_info::TypeInfo)]
pub enum GameError {
	/// Another kind of move is asked for.
	#[error("the position asks for another kind of move")]
	WrongMove,
	/// A list has the wrong number of entries.
	#[error("the list has {found} entries where {expected} are asked for")]
	Length {
		/// Entries asked for.
		expected: u32,
		/// Entries given.
		found: u32,
	},
	/// What was posted does not have the root that its parent says.
	#[error("what was posted does not lead to the root that it belongs to")]
	Root,
	/// An entry is not where it is said to be.
	#[error("the entry is not in the list at its place")]
	Entry,
	/// There is no such interval, step, node, vector, tile or piece.
	#[error("there is no such interval, step, node, vector, tile or piece")]
	Place,
	/// The witness decides nothing.
	#[error(transparent)]
	Witness(#[from] WitnessError),
	/// The configuration is refused.
	#[error(transparent)]
	Config(#[from] ConfigError),
	/// The claim is of another kind.
	#[error("this is asked of a claim of another kind")]
	OtherClaim,
	/// The text of an answer cannot be judged.
	#[error("the text has no prompt, no choice, or more tokens than the model or a dispute can read")]
	Text,
	/// The tokens of an answer were chosen by settings that nobody can claim: it is false without a game.
	#[error("the settings that tokens were chosen by are out of range")]
	#[codec(index = 10)]
	Settings,
	/// A record is not signed by the member whose it is said to be.
	#[error("the record of member {0} is not signed by it")]
	#[codec(index = 11)]
	Signature(u32),
	/// What one member says it gave is not what another one says it was given.
	#[error("the records do not fit together at {0:?}: what was received there is not what was sent")]
	#[codec(index = 12)]
	Seam(Seam),
}

/// The first position of a game about inner steps: `state_roots` and `delta_root` are what was revealed, the roots of residuals last.
///
/// # Errors
/// [`GameError::Place`] for an interval that the work does not have, [`GameError::OtherClaim`] for a claim about a checkpoint.
pub fn open_work(setting: &Setting<'_>, state_roots: &[Hash], delta_root: Hash, doubt: Doubt) -> Result<Position, GameError> {
	let Subject::Work { steps, quorum, .. } = setting.subject else { return Err(GameError::OtherClaim) };
	let root = |number: u32| usize::try_from(number).ok().and_then(|number| state_roots.get(number)).copied().ok_or(GameError::Place);
	let interval = setting.train.commit_interval;
	match doubt {
		Doubt::Delta => {
			let states = setting.train.state_roots_after(steps);
			let end = root(states.checked_sub(1).ok_or(GameError::Place)?)?;
			if !setting.train.leaves_residual() {
				return Ok(Position::Ends { end, delta: delta_root });
			}
			let after = states.checked_add(1).ok_or(GameError::Place)?;
			Ok(Position::CodedEnds { end, residual: root(states)?, results: [delta_root, root(after)?] })
		}
		Doubt::Interval(number) => {
			let first = number.checked_mul(interval).filter(|&first| first < steps).ok_or(GameError::Place)?;
			let count = interval.min(steps - first);
			let start = match number.checked_sub(1) {
				None => Anchor::Checkpoint,
				Some(before) => Anchor::State(root(before)?),
			};
			let end = root(number)?;
			Ok(match count {
				_ if quorum.is_some() => Position::Records { first, count, start, end },
				1 => Position::Nodes { step: first, before: start, after: end },
				_ => Position::Steps { first, count, start, end },
			})
		}
	}
}

/// The first position of a game about a sample: the root of the state after inner step `step`, counted from 0, whatever was revealed.
///
/// # Errors
/// [`GameError::Place`] for a step that the round does not have, or behind more steps than a list has hashes, [`GameError::OtherClaim`]
/// for a claim about a checkpoint, and for work that is said to be a quorum's: a sample is of one machine.
pub fn open_sample(setting: &Setting<'_>, step: u32, sample: Hash) -> Result<Position, GameError> {
	// Who samples the work of a quorum has computed all of it alone.
	let Subject::Work { steps, quorum: None, .. } = setting.subject else { return Err(GameError::OtherClaim) };
	if step >= steps.min(MAX_LIST) {
		return Err(GameError::Place);
	}
	Ok(match step {
		0 => Position::Nodes { step, before: Anchor::Checkpoint, after: sample },
		_ => Position::Steps { first: 0, count: step.saturating_add(1), start: Anchor::Checkpoint, end: sample },
	})
}

/// The first position of a game about an attested checkpoint.
///
/// # Errors
/// [`GameError::OtherClaim`] for a claim about inner steps, [`GameError::Place`] for one about no step at all.
pub fn open_checkpoint(setting: &Setting<'_>) -> Result<Position, GameError> {
	let Subject::Checkpoint { deltas, claimed, .. } = setting.subject else { return Err(GameError::OtherClaim) };
	match u32::try_from(deltas.len()).map_err(|_| GameError::Place)? {
		0 => Err(GameError::Place),
		1 => Ok(Position::Outer { step: 0, before: setting.start, after: claimed }),
		count if count <= MAX_LIST => Ok(Position::Checkpoints { count }),
		_ => Err(GameError::Place),
	}
}

/// The first position of a game about an answer: choice `doubt` is the first that the challenger disagrees with. That is token number `doubt` of
/// the answer, or the end if the answer has no more tokens. All tokens before it are taken as the answer tells them: what a model says next depends
/// on what it has said, right or wrong.
///
/// # Errors
/// [`GameError::OtherClaim`] for a claim about training, [`GameError::Text`] for a text without a prompt or a choice, or one that is too long,
/// [`GameError::Config`] for a vocabulary that is not trained, [`GameError::Place`] for a choice that is not claimed, [`GameError::Settings`] for settings out
/// of range.
pub fn open_answer(setting: &Setting<'_>, doubt: u32) -> Result<Position, GameError> {
	let Subject::Answer(claim) = setting.subject else { return Err(GameError::OtherClaim) };
	claim.sampling.validate().map_err(|_| GameError::Settings)?;
	setting.reading()?;
	match doubt < claim.choices() {
		true => Ok(Position::Read { index: doubt }),
		false => Err(GameError::Place),
	}
}
