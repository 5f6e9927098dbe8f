//! Datasets: manifests, attestations, and challenges of both.

use super::{
	governance::{at_once, Body},
	signed, Act, Deed,
};
use crate::common::dataset::{manifest, opening};
use neuroshard_runtime::{Dataset, Runtime};
use neuroshard_types::{
	dataset::{ChunkPlace, ShardRange},
	DatasetId,
};
use pallet_neuro_dataset::{Attestations, Call, Challenges, Datasets};

pub fn deed(act: &Act) -> Deed {
	let (other, id) = (act.other(), dataset(act));
	let place = ChunkPlace { shard: act.amount % 4, chunk: u32::from(act.small % 2) };
	match act.what % 22 {
		0 | 1 => act.mine(Call::propose { manifest: manifest(act.small % 4) }),
		2 | 3 => {
			let dataset = Dataset::dataset(id)?;
			signed(dataset.proposer, Call::activate { id })
		}
		4 if act.is_one_in(4) => {
			let dataset = Dataset::dataset(id)?;
			signed(dataset.proposer, Call::retire { id })
		}
		5..=8 => act.mine(Call::attest { id, shards: ShardRange { first: 0, count: 4 } }),
		9 => {
			let (id, who) = act.one_of(Attestations::<Runtime>::iter_keys())?;
			signed(who.clone(), Call::withdraw_attestation { id, who })
		}
		10 => act.mine(Call::withdraw_attestation { id, who: other }),
		11..=13 => {
			let (id, who) = act.one_of(Attestations::<Runtime>::iter_keys())?;
			act.mine(Call::challenge_shard { id, who, place })
		}
		14..=16 => {
			let ((id, who), challenger) = act.one_of(Challenges::<Runtime>::iter_keys())?;
			signed(who, Call::answer_challenge { id, challenger, opening: opening(text_of(id)) })
		}
		17 | 18 => {
			let ((id, who), challenger) = act.one_of(Challenges::<Runtime>::iter_keys())?;
			act.mine(Call::conclude_challenge { id, who, challenger })
		}
		// Seldom, since no run uses the dataset afterwards.
		19 if act.is_one_in(4) => act.mine(Call::condemn { id, place: ChunkPlace { chunk: 0, ..place }, opening: opening(text_of(id)) }),
		20 if act.is_one_in(8) => at_once(Body::Committee, Call::force_retire { id, reason: Default::default() }),
		_ => act.mine(Call::remove { id }),
	}
}

/// One of the datasets that there are; the first one every second time, so that it meets with everything.
fn dataset(act: &Act) -> DatasetId {
	let known = act.one_of(Datasets::<Runtime>::iter_keys()).filter(|_| act.small < 128);
	known.unwrap_or_default()
}

/// The text of a dataset, which is its name.
pub fn text_of(id: DatasetId) -> u8 {
	Dataset::dataset(id).map_or(0, |dataset| dataset.manifest.name[0])
}
