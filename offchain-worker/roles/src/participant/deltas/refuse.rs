//! Refusal of bad deltas: one that is no delta of the run's model, and one that inner steps cannot have made.

use crate::{
	participant::{decide::view::Delta, tasks::Tasks},
	WorkerError,
};
use neuroshard_training::{
	checkpoint::decode_delta,
	reach::{over_rounds, within_reach},
};
use neuroshard_types::{run::RunConfig, RunId, H256};

impl Tasks {
	/// Checks that a delta is one of this model; and if it is to be voted on, that inner steps from the checkpoint that it started from can
	/// have made it. A vote says both. `start` is that checkpoint, and how many rounds' inner steps may lie between it and what the delta leads to.
	pub(super) async fn check_delta(
		&self,
		(run, config): (RunId, RunConfig),
		start: Option<(H256, u32)>,
		root: H256,
		bytes: Vec<u8>,
	) -> Result<(), WorkerError> {
		let (checked, store) = (self.checked.clone(), self.content.store.clone());
		let job = self.compute.run(move |state| {
			let mut prepared = state.prepare(run, &config)?;
			let tiling = prepared.engine.layout().tiling();
			let decoded = decode_delta(prepared.engine, &bytes, root);
			let known = match (&decoded, start) {
				(Err(_), _) => Delta::Unsound,
				(Ok(delta), Some((start, rounds))) => {
					let (_, start) = prepared.at((run, &config), start, &store)?;
					if within_reach(&over_rounds(&config.train, rounds), &tiling, &start.params, delta) {
						Delta::Held
					} else {
						Delta::Excessive
					}
				}
				(Ok(_), None) => Delta::Held,
			};
			checked.note(root, known);
			if known == Delta::Excessive {
				tracing::warn!("delta {root} is larger than the round's steps can have made it: it is voted against");
			}
			decoded?;
			Ok(())
		});
		job.await
	}
}
