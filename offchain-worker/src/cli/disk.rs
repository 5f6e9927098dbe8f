//! What a run takes of a worker's disk, in words for people.

use super::CliError;
use neuroshard_chain_client::ChainAt;
use neuroshard_training::need::DiskNeed;
use neuroshard_types::{run::RunView, BlockNumber, RoundIndex, RunId};

/// Adopted rounds over which a run's pace is measured.
const PACE_ROUNDS: RoundIndex = 32;

/// A size, rounded up.
pub(super) fn size(bytes: u64) -> String {
	if bytes < 1 << 30 {
		return format!("{} MiB", bytes.div_ceil(1 << 20));
	}
	let tenths = (u128::from(bytes) * 10).div_ceil(1 << 30);
	format!("{}.{} GiB", tenths / 10, tenths % 10)
}

/// What a member and a round take, and what all rounds together that are kept if one takes `blocks` blocks.
pub(super) fn need(need: &DiskNeed, members: u32, blocks: BlockNumber) -> String {
	let base = match need.base {
		0 => String::new(),
		bytes => format!(", and {} of the model that the adapter is beside", size(bytes)),
	};
	format!(
		"{} for each member in a round, {} for a round of {members} and its checkpoint; a round is kept for {} blocks after its adoption. With \
		rounds of {blocks} blocks these are {} rounds: {} for each worker, with {} of text{base}",
		size(need.delta),
		size(need.round),
		need.kept_for,
		need.rounds(blocks),
		size(need.total(blocks)),
		size(need.shards)
	)
}

/// How that compares with what a worker has for it; the second value says that it fits.
pub(super) fn fits(need: &DiskNeed, blocks: BlockNumber, max_disk: u64) -> (String, bool) {
	let limit = size(max_disk);
	let shortest = need.shortest_round(max_disk);
	match shortest {
		None => (format!("{limit} (--max-disk) do not hold it, however long a round takes"), false),
		Some(shortest) if shortest <= blocks => {
			(format!("{limit} (--max-disk) hold it, as long as a round takes {shortest} blocks or more"), true)
		}
		Some(shortest) => {
			let words = format!(
				"{limit} (--max-disk) do not hold it: workers would sit rounds out, so that one takes {shortest} blocks in the mean"
			);
			(words, false)
		}
	}
}

/// Blocks that the newest adopted rounds of a run took in the mean; `None` before two are adopted.
pub(super) async fn pace(at: &ChainAt, id: RunId, run: &RunView) -> Result<Option<BlockNumber>, CliError> {
	let Some(last) = run.rounds_adopted.checked_sub(1) else { return Ok(None) };
	let first = last.saturating_sub(PACE_ROUNDS);
	let (Some(from), Some(to)) = (at.record(id, first).await?, at.record(id, last).await?) else { return Ok(None) };
	Ok(to.adopted_at.saturating_sub(from.adopted_at).checked_div(last - first))
}

#[cfg(test)]
mod tests {
	use super::*;

	/// What 8 members of 13.8 million parameters take: see [`DiskNeed`].
	const NEED: DiskNeed = DiskNeed { delta: 56_421_504, round: 564_215_040, shards: 13_209_600, base: 0, kept_for: 65_500 };

	#[test]
	fn the_need_is_said_for_a_member_a_round_and_all_that_is_kept() {
		let words = need(&NEED, 8, 200);
		for part in ["54 MiB for each member", "539 MiB for a round of 8", "65500 blocks", "330 rounds: 173.5 GiB", "13 MiB of text"] {
			assert!(words.contains(part), "{part}: {words}");
		}
	}

	#[test]
	fn the_model_beside_an_adapter_is_said_and_counted() {
		let words = need(&DiskNeed { base: 512 << 20, ..NEED }, 8, 200);
		assert!(
			words.contains("330 rounds: 174.0 GiB") && words.contains("and 512 MiB of the model that the adapter is beside"),
			"{words}"
		);
		assert!(!need(&NEED, 8, 200).contains("adapter"));
	}

	#[test]
	fn a_disk_that_does_not_hold_a_run_is_told_what_would() {
		let (words, fit) = fits(&NEED, 200, 50 << 30);
		assert!(!fit && words.contains("50.0 GiB (--max-disk) do not hold it") && words.contains("705 blocks"), "{words}");
		let (words, fit) = fits(&NEED, 705, 50 << 30);
		assert!(fit && words.contains("hold it, as long as a round takes 705 blocks or more"), "{words}");
		assert!(!fits(&NEED, 200, 1 << 30).1);
	}
}
