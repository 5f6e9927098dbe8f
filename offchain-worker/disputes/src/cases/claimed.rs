//! The claim of a participant, for tests of this crate and of others, which compile this file as their own.

use neuroshard_atomic_write::write_atomically;
use neuroshard_compute::{exec::Exec, trace::Mistake};
use neuroshard_data::{
	dataset::{dataset_root, shard_path},
	loader::Loader,
};
use neuroshard_disputes::cases::{case::Case, library::Shards};
use neuroshard_graph::{
	commit::{checkpoint_root, tensors_root},
	init::theta_0,
	tiles::content_id,
	ParamLayout,
};
use neuroshard_types::{
	assignment::Draw,
	dataset::Tokenizer,
	dispute::WorkClaim,
	run::{PhaseDurations, RunConfig, RunStart},
	ModelConfig, TrainConfig, H256,
};
use std::{path::Path, sync::Arc};

/// The claim of a participant on a dataset in `folder`.
pub struct Claimed {
	pub folder: tempfile::TempDir,
	pub claim: WorkClaim,
	pub theta: Vec<f32>,
	pub momentum: [u8; 32],
	pub roots: Arc<[H256]>,
}

fn write_shards(folder: &Path, shards: u32, tokens: u32, vocab: u32) -> Arc<[H256]> {
	std::fs::create_dir(folder.join("shards")).unwrap();
	(0..shards)
		.map(|shard| {
			let bytes: Vec<u8> = (0..tokens)
				.flat_map(|token| ((token.wrapping_mul(7_919) ^ shard.wrapping_mul(31)) % vocab).to_le_bytes()[..2].to_vec())
				.collect();
			write_atomically(&shard_path(folder, shard), &bytes).unwrap();
			H256(content_id(&bytes, 1))
		})
		.collect()
}

impl Claimed {
	pub fn new() -> Self {
		let folder = tempfile::tempdir().unwrap();
		let (model, train) = (ModelConfig::tiny(), TrainConfig::tiny());
		let roots = write_shards(folder.path(), 3, 3_000, model.vocab);
		let layout = ParamLayout::new(&model).unwrap();
		let theta = theta_0(&model, &layout, &train.seed);
		let momentum = tensors_root(&layout, &vec![0.0; layout.len()], 1);
		let start = H256(checkpoint_root(&tensors_root(&layout, &theta, 1), &momentum, 0, 0));
		let durations = PhaseDurations { joining: 1, training: 1, revealing: 1, availability: 1, checkpointing: 1 };
		let config = RunConfig {
			name: b"tiny".to_vec().try_into().unwrap(),
			dataset: 0,
			model,
			train,
			genesis_root: start,
			start: RunStart::Seed,
			min_participants: 1,
			max_participants: 2,
			min_bond: 1,
			rounds: None,
			durations,
			tokenizer: Tokenizer::BYTES,
			overlaps: false,
			epochs: true,
		};
		let shape = neuroshard_types::dataset::DatasetShape { tokens_per_shard: 3_000, shard_count: 3, held_out: 1 };
		let (draw, dataset_root) = (Draw::new(&config, (0, 0), H256::repeat_byte(3), &shape), dataset_root(&roots));
		let steps = config.train.inner_steps;
		let claim = WorkClaim {
			config,
			shape,
			dataset_root,
			start,
			start_round: 0,
			base: None,
			draw,
			position: 1,
			work_hash: H256::zero(),
			steps,
			quorum: None,
		};
		Self { folder, claim, theta, momentum, roots }
	}

	pub fn case(&self, mistake: Option<Mistake>) -> Case {
		let loader = Loader::new(self.folder.path(), self.claim.shape, self.claim.corpus().width).unwrap();
		let shards = Shards::new(self.folder.path().to_path_buf(), self.claim.corpus(), self.roots.clone());
		let exec = Arc::new(Exec::new(1).unwrap());
		let start = (self.theta.clone(), self.momentum);
		Case::work(exec, 0, self.claim.clone(), self.claim.windows(), start, (loader, shards), Arc::default())
			.unwrap()
			.with_mistake(mistake)
	}
}
