//! Judging one piece of one tile by what its inputs are committed to.
//!
//! A witness is the state before the piece, unless the piece is the first one, and then every leaf that the piece reads, in the order in
//! which [`crate::resume`] asks for them: the leaf's bytes and the hashes of its Merkle proof. Everything else follows from the plan: which
//! leaves, how many, where they lie and how long their proofs are. So the format has no lengths, no numbers and no choices.
//!
//! Where a claim is about an answer, tokens are opened all together: those of the prompt, then those of the answer, four bytes each.

mod choice;
mod reader;

use crate::{
	answer::{Answer, MAX_TEXT},
	cell::Cell,
	corpus::{Corpus, Window},
	merkle::{blake2_256, Hash},
	resume::{Job, Malformed, NUMBERS},
	tiles::{bytes_of, leaf_hash, LEAF_BYTES},
};
use alloc::vec::Vec;
pub use choice::{check_choice, check_row, choice_len, row_tile, row_tiles, MAX_CHOICE};
use reader::Reader;

/// Most bytes of a witness about a piece.
pub const MAX_WITNESS: usize = 256 * 1024;
// The largest that opens a text: all of its tokens, and for a gather 32 tiles, each with a proof of the largest tree.
const _: () = assert!(4 * MAX_TEXT as usize + 32 * (LEAF_BYTES + 32 * 32) <= MAX_WITNESS && MAX_WITNESS <= MAX_CHOICE);

/// What both sides of a dispute agree on: commitments to everything that the disputed piece may read.
pub struct Agreed<'a> {
	/// Roots of the vectors that the job starts from; see [`crate::graph::Origin::Vector`].
	pub vectors: &'a [Hash],
	/// Root over the roots of [`crate::plan::Plan::listed_nodes`].
	pub nodes: Hash,
	/// Roots of the vectors that the job ends with and whose tiles other stages read, as the pseudo-gradient.
	pub results: &'a [Hash],
	/// Where the tokens are, for a job that reads some.
	pub tokens: Option<Source<'a>>,
}

/// Where the tokens are that a job reads.
#[derive(Clone, Copy)]
pub enum Source<'a> {
	/// In a dataset: a training step.
	Dataset(Tokens<'a>),
	/// In a prompt and its answer.
	Text(Answer<'a>),
}

/// Where the tokens of a step's batch are.
#[derive(Clone, Copy)]
pub struct Tokens<'a> {
	/// The dataset.
	pub corpus: Corpus,
	/// The window of a sequence of the batch.
	pub window: &'a dyn Fn(u32) -> Option<Window>,
}

/// What is disputed: that `piece` of `cell` leads from `before` to `after`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
	/// The tile.
	pub cell: Cell,
	/// Which piece of its computation.
	pub piece: u32,
	/// [`state_hash`] of the state before the piece, which both sides agree on; not looked at for the first piece.
	pub before: Hash,
	/// Claimed: the hash of the state after the piece, or of the tile after the last one.
	pub after: Hash,
}

/// The answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
	/// The piece gives what is claimed.
	Upheld,
	/// It gives something else.
	Refuted,
	/// It gives what is claimed, and that is a loss or a gradient norm that is not finite: the job ended here, and has no result to claim.
	Diverged,
}

/// Why a witness decides nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error, codec::Encode, codec::Decode, scale_info::TypeInfo)]
pub enum WitnessError {
	/// There is no such tile or piece.
	#[error(transparent)]
	Malformed(#[from] Malformed),
	/// It is longer than [`MAX_WITNESS`], or [`MAX_CHOICE`], or shorter or longer than what the piece reads.
	#[error("the witness does not have the length that this piece asks for")]
	Length,
	/// The state is not the one that was agreed on.
	#[error("the state before the piece is not the one that was agreed on")]
	State,
	/// Leaf number `.0` is not what was committed to at its place.
	#[error("leaf {0} of the witness is not what was committed to at its place")]
	Leaf(u32),
	/// The piece reads tokens, and neither dataset nor text was given.
	#[error("the piece reads tokens, but the job has no dataset and no text")]
	NoTokens,
}

/// Hash of a state between two pieces.
pub fn state_hash(state: &[f32]) -> Hash {
	blake2_256(&bytes_of(state))
}

/// Whether `value`, which a stage's only tile begins with, ends the job.
fn diverges(job: &Job<'_>, cell: Cell, tile: &[f32]) -> bool {
	let tensor = job.plan().cell_tensor(cell);
	let ends = job.plan().job.is_some_and(|arena| arena.ends().any(|end| Some(end) == tensor));
	ends && !tile.first().is_some_and(|value| value.is_finite())
}

/// Executes the disputed piece on what `witness` opens.
///
/// # Errors
/// [`WitnessError`] if the witness is not one for this question: whoever sent it has shown nothing.
pub fn check(job: &Job<'_>, agreed: &Agreed<'_>, question: &Question, witness: &[u8]) -> Result<Verdict, WitnessError> {
	if witness.len() > MAX_WITNESS {
		return Err(WitnessError::Length);
	}
	let pieces = job.pieces(question.cell).ok_or(Malformed)?;
	if question.piece >= pieces {
		return Err(Malformed.into());
	}
	let last = question.piece + 1 == pieces;
	let mut reader = Reader::new(job.plan(), agreed, witness);
	let state = if question.piece == 0 {
		Vec::new()
	} else {
		let bytes = reader.take(4 * job.state_len(question.cell).ok_or(Malformed)?)?;
		if blake2_256(bytes) != question.before {
			return Err(WitnessError::State);
		}
		reader::floats(bytes).collect()
	};
	let state = job.advance(question.cell, question.piece, state, &mut reader)?;
	reader.finish()?;
	let after = if last { leaf_hash(&bytes_of(&state)) } else { state_hash(&state) };
	debug_assert!(!last || state.len() == NUMBERS);
	Ok(match after == question.after {
		false => Verdict::Refuted,
		true if last && diverges(job, question.cell, &state) => Verdict::Diverged,
		true => Verdict::Upheld,
	})
}
