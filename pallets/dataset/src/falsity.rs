//! Manifests that do not match: what one chunk of a dataset can prove of them.

use crate::{challenges::opens, Config, Datasets, Error, Event, HoldReason, Pallet};
use frame_support::ensure;
use neuroshard_graph::corpus::MASK;
use neuroshard_types::{
	dataset::{ChunkOpening, ChunkPlace, DatasetStatus, Manifest},
	AccountId, DatasetId,
};
use sp_runtime::DispatchResult;

/// Returns whether chunk number `chunk` of a shard cannot be what `manifest` says: a token is not below the vocabulary, or something other than zero
/// follows the last token of the shard.
fn contradicts(manifest: &Manifest, chunk: u32, data: &[u8]) -> bool {
	let width = manifest.width();
	let before = chunk.saturating_mul(width.chunk_tokens());
	let tokens = usize::try_from(manifest.shape.tokens_per_shard.saturating_sub(before)).unwrap_or(usize::MAX);
	let mut values = width.read(data);
	let mask = if manifest.masked { MASK } else { 0 };
	values.by_ref().take(tokens).any(|token| token & !mask >= manifest.vocab) || values.any(|padding| padding != 0)
}

impl<T: Config> Pallet<T> {
	pub(crate) fn do_condemn(reporter: &AccountId, id: DatasetId, place: ChunkPlace, opening: &ChunkOpening) -> DispatchResult {
		let mut dataset = Datasets::<T>::get(id).ok_or(Error::<T>::UnknownDataset)?;
		ensure!(dataset.status != DatasetStatus::Condemned, Error::<T>::Condemned);
		ensure!(opens(&dataset, place, opening), Error::<T>::WrongOpening);
		ensure!(contradicts(&dataset.manifest, place.chunk, &opening.data), Error::<T>::NotFalse);
		// Nobody saves half of its deposit by being first to show what is false.
		let paid = Some(reporter).filter(|reporter| **reporter != dataset.proposer);
		let (rewarded, burned) = Self::forfeit(HoldReason::Manifest, &dataset.proposer, dataset.deposit, paid);
		dataset.deposit = 0;
		dataset.status = DatasetStatus::Condemned;
		Self::deposit_event(Event::Condemned { id, reporter: reporter.clone(), place, rewarded, burned });
		Self::store(id, dataset);
		Ok(())
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::mock::manifest;

	/// A chunk whose token `place` is `token`, all others being zero.
	fn chunk(place: usize, token: u16) -> Vec<u8> {
		let mut data = vec![0; 4_096];
		data[2 * place..2 * place + 2].copy_from_slice(&token.to_le_bytes());
		data
	}

	/// The mock's shards with tokens of four bytes: four full chunks, and one of 904.
	#[test]
	fn tokens_of_a_vocabulary_beyond_16_bits_are_four_bytes() {
		let mut wide = manifest();
		wide.vocab = 65_568;
		let of = |number, place: usize, token: u32| {
			let mut data = vec![0; 4_096];
			data[4 * place..4 * place + 4].copy_from_slice(&token.to_le_bytes());
			contradicts(&wide, number, &data)
		};
		assert!(!of(0, 1_023, 65_567) && of(0, 1_023, 65_568) && of(4, 0, u32::MAX));
		assert!(!of(4, 903, 65_567) && of(4, 904, 1) && !of(4, 904, 0));
	}

	/// Shards of masked tokens, which are four bytes of any vocabulary: what counts of them is no part of what they are.
	#[test]
	fn the_mask_of_a_token_is_none_of_an_identifier_beyond_the_vocabulary() {
		let masked = Manifest { masked: true, ..manifest() };
		let of = |number, place: usize, token: u32| {
			let mut data = vec![0; 4_096];
			data[4 * place..4 * place + 4].copy_from_slice(&token.to_le_bytes());
			contradicts(&masked, number, &data)
		};
		assert!(!of(0, 7, 1_023) && !of(0, 7, MASK | 1_023) && of(0, 7, 1_024) && of(0, 7, MASK | 1_024) && of(0, 7, u32::MAX));
		assert!(!of(4, 903, MASK) && of(4, 904, MASK), "padding is zeros");
	}

	/// The mock's shards have 5,000 tokens below 1,024: two full chunks, and one of 904.
	#[test]
	fn tokens_are_below_the_vocabulary_and_only_zeros_follow_the_last_one() {
		let of = |number, place, token| contradicts(&manifest(), number, &chunk(place, token));
		for number in 0..3 {
			assert!(!of(number, 0, 1_023) && of(number, 0, 1_024), "chunk {number}");
			assert!(!of(number, 903, 1_023) && of(number, 903, 1_024), "chunk {number}");
		}
		assert!(!of(0, 2_047, 1_023) && of(1, 2_047, u16::MAX));
		assert!(of(2, 904, 1) && of(2, 2_047, 256));
		assert!(!of(2, 904, 0));
	}

	#[test]
	fn with_all_identifiers_in_the_vocabulary_no_token_is_beyond_it() {
		let mut all = manifest();
		all.vocab = 65_536;
		assert!(!contradicts(&all, 0, &chunk(5, u16::MAX)));
	}

	#[test]
	fn a_shard_of_whole_chunks_has_no_padding() {
		let mut whole = manifest();
		whole.shape.tokens_per_shard = 4_096;
		assert!(!contradicts(&whole, 1, &chunk(2_047, 1_023)));
	}
}
