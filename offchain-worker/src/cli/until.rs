//! When a block will be, in words.

use neuroshard_chain_client::{ChainAt, ChainClient};
use neuroshard_support::counted::counted;
use neuroshard_types::BlockNumber;

/// Blocks over which it is measured how long one takes.
const MEASURED: BlockNumber = 100;

/// The block that it is, and how long blocks take.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockClock {
	now: BlockNumber,
	/// Milliseconds from block to block, if the node knows.
	block_ms: Option<u64>,
}

impl BlockClock {
	/// At the block of `at`. A node may not have earlier states.
	pub(super) async fn new(client: &ChainClient, at: &ChainAt) -> Self {
		let now = at.block().number;
		let measured = async {
			let before = client.block_at(now.saturating_sub(MEASURED).max(1)).await.ok()?;
			let (earlier, later) = (client.at(before).await.ok()?.time().await.ok()?, at.time().await.ok()?);
			later.checked_sub(earlier)?.checked_div(now.checked_sub(before.number)?.into())
		};
		Self { now, block_ms: measured.await.filter(|ms| *ms > 0) }
	}

	/// Such as `block 480, 120 blocks from now (about 12 min)`.
	pub(super) fn until(&self, block: BlockNumber) -> String {
		let blocks = block.saturating_sub(self.now);
		format!("block {block}, {} from now{}", counted(blocks, "block"), self.about(blocks))
	}

	/// How long so many blocks take, if that is known.
	pub(super) fn milliseconds(&self, blocks: BlockNumber) -> Option<u64> {
		Some(self.block_ms?.saturating_mul(blocks.into()))
	}

	/// How long so many blocks take, in brackets, if that is known.
	pub(super) fn about(&self, blocks: BlockNumber) -> String {
		let Some(ms) = self.milliseconds(blocks) else { return String::new() };
		let seconds = ms.div_ceil(1_000);
		match seconds {
			0..=119 => format!(" (about {seconds} s)"),
			120..=7_199 => format!(" (about {} min)", seconds.div_ceil(60)),
			7_200..=172_799 => format!(" (about {} h)", seconds.div_ceil(3_600)),
			_ => format!(" (about {} days)", seconds.div_ceil(86_400)),
		}
	}
}

#[cfg(test)]
impl BlockClock {
	pub(super) fn of(now: BlockNumber, block_ms: Option<u64>) -> Self {
		Self { now, block_ms }
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_block_is_named_with_how_far_it_is_in_blocks_and_in_time() {
		let clock = BlockClock::of(360, Some(6_000));
		assert_eq!(clock.until(480), "block 480, 120 blocks from now (about 12 min)");
		assert_eq!(clock.until(361), "block 361, 1 block from now (about 6 s)");
		assert_eq!(clock.until(300), "block 300, 0 blocks from now (about 0 s)");
		assert_eq!(clock.about(100_800), " (about 7 days)");
		assert_eq!(clock.about(1_800), " (about 3 h)");
		assert_eq!(BlockClock::of(1, None).until(4), "block 4, 3 blocks from now");
	}
}
