//! Judging one choice of an answer by the row of logits that it was made from.
//!
//! The witness is all tokens of prompt and answer, then of every tile of the row the quarter that has it, with the hashes of the others, a proof
//! of all the tiles together to the root of their node, and that node's proof. A row of 288 logits has nine tiles. A vocabulary of 5,504 tokens
//! fits beside the longest text, and one of 7,360 beside a short one ([`choice_len`] says it exactly).

use super::{reader::Reader, Agreed, Source, Verdict, WitnessError, MAX_WITNESS};
use crate::{
	answer::Answer,
	cell::Address,
	merkle::{proof_len, range_proof_len, Hash},
	plan::Plan,
	resume::Malformed,
	tiles::QUARTER_BYTES,
};

/// Where a row of the logits is committed to.
pub struct Row {
	/// The node.
	pub node: u32,
	/// Tiles of the node.
	pub leaves: u32,
	/// The first tile that has a part of the row.
	pub first: u32,
	/// How many have one, the last of them at the end of the row.
	pub tiles: u32,
	/// Which quarter of these tiles has it.
	pub quarter: u32,
	/// Which row of the quarter it is.
	pub line: usize,
}

impl Row {
	/// Row `row` of what the last stage of `plan` writes; `None` if there is none.
	pub fn of(plan: &Plan, row: u32) -> Option<Self> {
		let tensor = plan.last_output()?;
		let info = plan.tensor(tensor).filter(|info| row < info.rows)?;
		// The tiles of a row follow each other in the list of its node.
		let Address::Node { node, leaf, leaves } = plan.address(tensor, row / 32, 0)? else { return None };
		let line = usize::try_from(row % 8).ok()?;
		Some(Self { node, leaves, first: leaf, tiles: info.cols.div_ceil(32), quarter: row % 32 / 8, line })
	}

	/// Hashes in the proof of its tiles.
	pub fn proof_len(&self) -> Option<u32> {
		range_proof_len(self.leaves, self.first, self.tiles)
	}
}

/// Bytes of the witness for choice `index` of `claim`; `None` if there is no such choice, or if they cannot be counted.
pub fn choice_len(plan: &Plan, claim: &Answer<'_>, index: u32) -> Option<usize> {
	let row = Row::of(plan, claim.row(index)?)?;
	// Of each tile, the hashes of the other quarters.
	let hashes = row.tiles.checked_mul(3)?.checked_add(row.proof_len()?)?.checked_add(proof_len(plan.listed_nodes(), row.node)?)?;
	let hashes = usize::try_from(hashes).ok()?.checked_mul(size_of::<Hash>())?;
	let quarters = usize::try_from(row.tiles).ok()?.checked_mul(QUARTER_BYTES)?;
	claim.prompt.len()?.checked_add(claim.answer.len()?)?.checked_add(quarters)?.checked_add(hashes)
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
	let row = claim.row(index).and_then(|row| Row::of(plan, row)).ok_or(Malformed)?;
	let mut reader = Reader::new(plan, agreed, witness);
	let [prompt, answer] = reader.text(claim)?;
	let logits = reader.row(&row)?;
	reader.finish()?;
	Ok(match claim.is_chosen(index, &logits, [&prompt, &answer]) {
		true => Verdict::Upheld,
		false => Verdict::Refuted,
	})
}
