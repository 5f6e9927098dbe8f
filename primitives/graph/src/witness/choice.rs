//! Judging one choice of an answer by the row of logits that it was made from.
//!
//! The witness is all tokens of prompt and answer, and then of every tile of the row the quarter that has the row, with its proof. A row of
//! 288 logits has nine tiles. The largest vocabulary that fits depends on the length of the text: some 3,300 tokens with the longest, more
//! than 4,096 with one of 10,000 tokens ([`choice_len`] says it exactly).

use super::{reader::Reader, Agreed, Source, Verdict, WitnessError, MAX_WITNESS};
use crate::{
	answer::Answer,
	cell::Address,
	merkle::{proof_len, Hash},
	plan::Plan,
	resume::{Leaves, Malformed},
	tiles::{QUARTER_BYTES, TILE},
};
use alloc::vec::Vec;

/// Row `row` of the logits, of which every tile is asked for once, from left to right.
pub(super) fn logits<L: Leaves>(plan: &Plan, row: u32, leaves: &mut L) -> Result<Vec<f32>, L::Error> {
	let tensor = plan.last_output().ok_or(Malformed)?;
	let info = plan.tensor(tensor).filter(|info| row < info.rows).ok_or(Malformed)?;
	let (band, within) = (row / 32, row % 32);
	let place = usize::try_from(within % 8).map_err(|_| Malformed)?;
	let mut values = Vec::new();
	for col in 0..info.cols.div_ceil(32) {
		let quarter = leaves.quarter(tensor, band, col, within / 8)?;
		values.extend(quarter.chunks_exact(TILE).nth(place).ok_or(Malformed)?);
	}
	values.truncate(usize::try_from(info.cols).map_err(|_| Malformed)?);
	Ok(values)
}

/// Bytes of the witness for choice `index` of `claim`; `None` if there is no such choice, or if they cannot be counted.
pub fn choice_len(plan: &Plan, claim: &Answer<'_>, index: u32) -> Option<usize> {
	let tensor = plan.last_output()?;
	let (row, cols) = (claim.row(index)?, plan.tensor(tensor)?.cols);
	let mut bytes = claim.prompt.len()?.checked_add(claim.answer.len()?)?;
	for col in 0..cols.div_ceil(32) {
		let Address::Node { node, leaf, leaves } = plan.address(tensor, row / 32, col)? else { return None };
		let proof = proof_len(leaves, leaf)?.checked_add(proof_len(plan.listed_nodes(), node)?)?;
		// The hashes of the other quarters, and those of the proof.
		let hashes = usize::try_from(proof).ok()?.checked_add(3)?;
		bytes = bytes.checked_add(QUARTER_BYTES)?.checked_add(hashes.checked_mul(size_of::<Hash>())?)?;
	}
	Some(bytes)
}

/// Makes choice `index` of the claim in `agreed.tokens` from what `witness` opens. [`Verdict::Upheld`] if it is the one that is claimed.
///
/// # Errors
/// [`WitnessError`] if the witness is not one for this choice: whoever sent it has shown nothing.
pub fn check_choice(plan: &Plan, agreed: &Agreed<'_>, index: u32, witness: &[u8]) -> Result<Verdict, WitnessError> {
	if witness.len() > MAX_WITNESS {
		return Err(WitnessError::Length);
	}
	let Some(Source::Text(claim)) = &agreed.tokens else { return Err(WitnessError::NoTokens) };
	let row = claim.row(index).ok_or(Malformed)?;
	let mut reader = Reader::new(plan, agreed, witness);
	let [prompt, answer] = reader.text(claim)?;
	let logits = logits(plan, row, &mut reader)?;
	reader.finish()?;
	Ok(match claim.is_chosen(index, &logits, [&prompt, &answer]) {
		true => Verdict::Upheld,
		false => Verdict::Refuted,
	})
}
