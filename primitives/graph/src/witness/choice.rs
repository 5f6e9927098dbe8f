//! Judging one choice of an answer by the row of logits that it was made from.
//!
//! The row is cut into tiles of 1,024 logits, zeros behind the last one. Their hashes are a list that the defender posts. Either a tile of it is not what
//! the nodes say, which is judged by the tiles of the logits that it is made of; or the whole row is opened, and the token drawn from it. The witness of that
//! has all tokens of prompt and answer, then all tiles of the row: four bytes a logit, whatever the vocabulary.

use super::{reader::Reader, Agreed, Source, Verdict, WitnessError, MAX_WITNESS};
use crate::{
	answer::MAX_TEXT,
	merkle::Hash,
	plan::Plan,
	resume::{Leaves, Malformed, NUMBERS, SIDE},
	tiles::{bytes_of, leaf_hash},
	validate::MAX_TRAINED_VOCAB,
};
use alloc::{vec, vec::Vec};

/// Most bytes of a witness about a choice: the longest text, and a row of the largest vocabulary.
pub const MAX_CHOICE: usize = choice_len(MAX_TRAINED_VOCAB, MAX_TEXT);

/// Tiles that a row of so many logits is cut into.
pub const fn row_tiles(vocab: u32) -> u32 {
	vocab.div_ceil(1_024)
}

/// Bytes of a witness about a choice, in a text of so many tokens.
pub const fn choice_len(vocab: u32, tokens: u32) -> usize {
	4 * (1_024 * row_tiles(vocab) as usize + tokens as usize)
}

/// Tile `tile` of row `row` of the logits that `plan` ends with.
///
/// # Errors
/// [`Malformed`] if there is none, and those of `leaves`.
pub fn row_tile<L: Leaves>(plan: &Plan, row: u32, tile: u32, leaves: &mut L) -> Result<Vec<f32>, L::Error> {
	let logits = plan.last_output().ok_or(Malformed)?;
	let info = plan.tensor(logits).filter(|info| row < info.rows && tile < row_tiles(info.cols)).ok_or(Malformed)?;
	let first = tile.checked_mul(32).ok_or(Malformed)?;
	let line = usize::try_from(row % 32).map_err(|_| Malformed)?;
	let mut values = vec![0.0; NUMBERS];
	for (col, out) in (first..info.cols.div_ceil(32)).zip(values.chunks_exact_mut(SIDE)) {
		let logits = leaves.tile(logits, row / 32, col)?;
		let from = logits.chunks_exact(SIDE).nth(line).ok_or(Malformed)?;
		out.copy_from_slice(from);
	}
	Ok(values)
}

/// Makes tile `tile` of row `row` of the logits from what `witness` opens. [`Verdict::Upheld`] if it has the hash `claimed`.
///
/// # Errors
/// [`WitnessError`] if the witness is not one for this tile: whoever sent it has shown nothing.
pub fn check_row(
	plan: &Plan,
	agreed: &Agreed<'_>,
	row: u32,
	(tile, claimed): (u32, Hash),
	witness: &[u8],
) -> Result<Verdict, WitnessError> {
	if witness.len() > MAX_WITNESS {
		return Err(WitnessError::Length);
	}
	let mut reader = Reader::new(plan, agreed, witness);
	let values = row_tile(plan, row, tile, &mut reader)?;
	reader.finish()?;
	Ok(match leaf_hash(&bytes_of(&values)) == claimed {
		true => Verdict::Upheld,
		false => Verdict::Refuted,
	})
}

/// Makes choice `index` of the claim in `agreed.tokens` from the row of logits whose tiles have the root `row`. [`Verdict::Upheld`] if it is the one that
/// is claimed.
///
/// # Errors
/// [`WitnessError`] if the witness is not one for this choice: whoever sent it has shown nothing.
pub fn check_choice(plan: &Plan, agreed: &Agreed<'_>, index: u32, row: &Hash, witness: &[u8]) -> Result<Verdict, WitnessError> {
	if witness.len() > MAX_CHOICE {
		return Err(WitnessError::Length);
	}
	let Some(Source::Text(claim)) = &agreed.tokens else { return Err(WitnessError::NoTokens) };
	let mut reader = Reader::new(plan, agreed, witness);
	let [prompt, answer] = reader.text(claim)?;
	let logits = reader.row(row)?;
	reader.finish()?;
	Ok(match claim.is_chosen(index, &logits, [&prompt, &answer]) {
		true => Verdict::Upheld,
		false => Verdict::Refuted,
	})
}
