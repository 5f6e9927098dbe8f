//! What was measured, and whether it is sound.

use super::delivery::Delivered;
use neuroshard_e2e::{Chain, Error, Nodes};
use neuroshard_types::Moment;
use serde::Serialize;

/// What a chain was loaded with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
	/// Transfers, each of another account to a new one.
	Transfers,
	/// Proofs of Neural Work, each of another provider.
	Proofs,
}

/// How a chain did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measurement {
	/// What it was loaded with.
	pub kind: Kind,
	/// Its validators.
	pub validators: usize,
	/// Extrinsics that did what they should, in finalized blocks.
	pub finalized: usize,
	/// The same per second of chain time from the block before the first that holds one to the last.
	pub finalized_per_second: f64,
	/// Blocks from the first to the last that hold one.
	pub blocks: usize,
	/// Most of them in one block.
	pub max_in_block: usize,
	/// Largest share of its limits that one of these blocks used: of the weight of ordinary extrinsics, or of all.
	pub max_block_fullness: f64,
	/// Most memory that a node had since it was started, bytes.
	pub peak_rss_bytes: u64,
}

/// What is known of one block.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Block {
	time: Moment,
	held: usize,
	fullness: f64,
}

impl Measurement {
	/// Looks up what was delivered, block by block.
	///
	/// # Errors
	/// [`Error::Unsound`] if one of the extrinsics failed or a block is too heavy; [`Error::Setup`] if a node does not answer.
	pub(super) async fn take(kind: Kind, nodes: &mut Nodes, delivered: &Delivered) -> Result<Self, Error> {
		let chain = Chain::connect(nodes.client().url()).await?;
		let before = chain.time(delivered.before).await?;
		let mut blocks = Vec::new();
		for (number, places) in (delivered.before.saturating_add(1)..).zip(&delivered.places) {
			let done = chain.done(number).await?;
			if let Some(place) = places.iter().find(|place| !done.succeeded.contains(place)) {
				return Err(Error::Unsound(format!("extrinsic {place} of block {number} failed")));
			}
			blocks.push(Block { time: done.time, held: places.len(), fullness: done.fullness });
		}
		Self::of(kind, nodes.validators.len(), before, &blocks, nodes.peak_memory()?)
	}

	fn of(kind: Kind, validators: usize, before: Moment, blocks: &[Block], peak_rss_bytes: u64) -> Result<Self, Error> {
		let finalized = blocks.iter().map(|block| block.held).sum();
		let end = blocks.last().map_or(before, |block| block.time);
		let milliseconds = end.checked_sub(before).filter(|time| *time > 0);
		let milliseconds = milliseconds.ok_or_else(|| Error::Unsound("no chain time has passed".into()))?;
		let max_block_fullness = blocks.iter().map(|block| block.fullness).fold(0.0, f64::max);
		if max_block_fullness > 1.0 {
			return Err(Error::Unsound(format!("a block used {max_block_fullness} of its weight")));
		}
		Ok(Self {
			kind,
			validators,
			finalized,
			finalized_per_second: finalized as f64 * 1_000.0 / milliseconds as f64,
			blocks: blocks.len(),
			max_in_block: blocks.iter().map(|block| block.held).max().unwrap_or_default(),
			max_block_fullness,
			peak_rss_bytes,
		})
	}

	/// One line for people.
	pub fn describe(&self) -> String {
		let kind = match self.kind {
			Kind::Transfers => "transfers",
			Kind::Proofs => "proofs",
		};
		let Self { validators, finalized, finalized_per_second, blocks, max_in_block, max_block_fullness, peak_rss_bytes, .. } = self;
		let (full, memory) = (max_block_fullness * 100.0, *peak_rss_bytes as f64 / f64::from(1u32 << 20));
		format!(
			"{finalized} {kind} finalized with {validators} validator(s), {finalized_per_second:.0} per second, in {blocks} blocks; \
			 at most {max_in_block} in a block, at most {full:.1}% of a block's weight; {memory:.0} MiB at most"
		)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn block(time: Moment, held: usize, fullness: f64) -> Block {
		Block { time, held, fullness }
	}

	#[test]
	fn the_rate_is_over_the_time_from_the_block_before_the_first_to_the_last() {
		let blocks = [block(13_000, 100, 0.5), block(16_000, 0, 0.01), block(20_000, 50, 0.25)];
		let measured = Measurement::of(Kind::Proofs, 2, 10_000, &blocks, 7).unwrap();
		assert_eq!((measured.finalized, measured.blocks, measured.max_in_block, measured.validators), (150, 3, 100, 2));
		assert_eq!((measured.finalized_per_second, measured.max_block_fullness, measured.peak_rss_bytes), (15.0, 0.5, 7));
	}

	#[test]
	fn a_block_above_its_weight_and_a_chain_without_time_are_no_measurement() {
		let of = |blocks: &[Block]| Measurement::of(Kind::Transfers, 1, 10_000, blocks, 0);
		assert!(of(&[block(13_000, 1, 1.0)]).is_ok());
		assert!(of(&[block(13_000, 1, 1.000_1)]).unwrap_err().to_string().contains("weight"));
		assert!(of(&[]).is_err());
		assert!(of(&[block(10_000, 1, 0.5)]).is_err());
	}

	#[test]
	fn a_measurement_is_written_with_the_names_that_others_read() {
		let measured = Measurement::of(Kind::Transfers, 1, 0, &[block(3_000, 30, 0.5)], 9).unwrap();
		let json: serde_json::Value = serde_json::to_value([measured]).unwrap();
		let expected = serde_json::json!([{
			"kind": "transfers", "validators": 1, "finalized": 30, "finalized_per_second": 10.0, "blocks": 1,
			"max_in_block": 30, "max_block_fullness": 0.5, "peak_rss_bytes": 9,
		}]);
		assert_eq!(json, expected);
	}
}
