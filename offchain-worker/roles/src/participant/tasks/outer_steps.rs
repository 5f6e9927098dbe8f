//! Outer steps: those of the round at hand, and after a fraud those of earlier rounds once more.

use super::{Effect, Moment, Tasks};
use crate::{
	actor::blocking::within,
	content::{read, Content},
	memory::Needs,
	participant::decide::view::NextCheckpoint,
	WorkerError,
};
use neuroshard_support::memory::available_memory;
use neuroshard_training::{
	checkpoint::decode_delta,
	engine::EngineError,
	outer::{apply_outer_steps_as, attest, Included},
};
use neuroshard_types::dispute::OuterJob;
use std::time::Duration;

/// Longest attempt to fetch the held-out shards; what has come by then is kept.
const SHARDS_TIMEOUT: Duration = Duration::from_secs(60);

impl Tasks {
	/// Takes the outer steps of `job`, whose deltas and start are here, and validates what comes out.
	pub(super) async fn outer_steps(&self, moment: &Moment, job: OuterJob) -> Result<Effect, WorkerError> {
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		let fetched = async {
			let dataset = self.dataset(moment).await?;
			self.validation_shards(moment, &dataset).await.map(|()| dataset)
		};
		// Nobody gives this task up while it computes, so that what it waits for must not take for ever.
		let dataset = within(SHARDS_TIMEOUT, "the held-out shards", fetched).await??;

		let (conduct, round) = (self.conduct.clone(), moment.round()?.1.round);
		let (store, reporter, todo) = (self.content.store.clone(), self.reporter.clone(), job.clone());
		let computed = self.compute.run(move |state| {
			let threads = state.threads();
			let prepared = state.prepare(run, &config)?;
			let most = todo.steps.iter().map(Vec::len).max().unwrap_or(0);
			Needs::of(&config).map_err(|error| EngineError::Setup(error.into()))?.check_outer_step(most, available_memory())?;
			let (engine, current) = (prepared.engine, prepared.current.as_ref());
			let loaded = current.filter(|current| current.header.root() == todo.start);
			let stored = match loaded {
				Some(_) => None,
				None => Some(Content::read_checkpoint(&store, run, todo.start, engine.layout(), threads)?),
			};
			let start = loaded.or(stored.as_ref()).ok_or(WorkerError::NotLoaded { root: todo.start })?;
			let steps = (0..).zip(&todo.steps).map(|(number, step): (usize, _)| {
				let deltas = step.iter().map(|root| Ok(decode_delta(engine, &read(&store, *root)?, *root)?));
				let inner_steps = todo.inner_steps.get(number).cloned().unwrap_or_default();
				let deltas = conduct.deltas(round, deltas.collect::<Result<_, WorkerError>>()?);
				Ok::<_, WorkerError>(Included { deltas, inner_steps })
			});
			let next = apply_outer_steps_as(engine, &conduct.outer_step(round, &config.train), start, steps)?;
			drop(stored);
			let attestation = match conduct.attest(round, &next) {
				Some(attestation) => attestation,
				None => attest(engine, &next, &dataset.loader)?,
			};
			// What was computed before and not adopted is nothing that anybody needs to find. Its blobs go with those of its round.
			let before = prepared.next.take().map(|before| before.header.root());
			let kept = [Some(next.header.root()), current.map(|current| current.header.root())];
			if let Some(before) = before.filter(|before| !kept.contains(&Some(*before))) {
				store.remove_note(before)?;
			}
			// Whoever attests a checkpoint can hand it out.
			Content::publish(&store, &next, engine.layout())?;
			reporter.update(|status| status.validation_loss = Some(attestation.validation_loss.get()));
			*prepared.next = Some(next);
			Ok(attestation)
		});
		let attestation = computed.await?;
		Ok(Effect::Stepped(NextCheckpoint { run, job, attestation }))
	}
}
