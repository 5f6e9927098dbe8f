//! Helpers of the tests of inner states.

use super::kept::OwnRound;
use neuroshard_compute::round::{InnerState, Vectors};
use neuroshard_graph::{ModelConfig, ParamLayout, TrainConfig};
use neuroshard_store::Store;
use neuroshard_types::H256;

pub(super) const ROUND: OwnRound = OwnRound { run: 3, round: 7, seed: H256::repeat_byte(5) };

pub(super) fn layout() -> ParamLayout {
	ParamLayout::new(&ModelConfig::tiny()).unwrap()
}

/// States are committed after 3, 6, 9 and 10 steps.
pub(super) fn train() -> TrainConfig {
	TrainConfig { inner_steps: 10, commit_interval: 3, ..TrainConfig::tiny() }
}

pub(super) fn vectors(step: u32) -> [Vec<f32>; 3] {
	[1.0, 2.0, 3.0].map(|part| (0..layout().len()).map(|at| part + at as f32 * step as f32).collect())
}

/// The state after so many steps of [`train`], with roots of zeros.
pub(super) fn state(step: u32, vectors: &[Vec<f32>; 3]) -> InnerState<'_> {
	let committed = match step {
		10 => 4,
		_ => step as usize / 3,
	};
	let vectors = Vectors::Here(vectors.each_ref().map(Vec::as_slice));
	InnerState { step, vectors, state_roots: &[[0; 32]; 4][..committed], losses: &[0.5; 10][..step as usize] }
}

pub(super) fn open(limit: u64) -> (tempfile::TempDir, Store) {
	let dir = tempfile::tempdir().unwrap();
	let store = Store::open(dir.path(), limit).unwrap();
	(dir, store)
}
