//! Tasks of a participant that holds its model in files, because it leads a quorum: what others do in an engine's memory. Checkpoints are in the store alone, not in a
//! folder of their own.

use super::{leaves, Effect, Moment, Tasks};
use crate::{
	actor::blocking::within,
	content::{filed::publish_filed, Content},
	participant::decide::view::{Delta, NextCheckpoint},
	WorkerError,
};
use neuroshard_compute::{
	exec::{CodeError, ValidationError},
	round::RoundError,
};
use neuroshard_data::DataError;
use neuroshard_store::StoreError;
use neuroshard_support::memory::available_memory;
use neuroshard_training::files::{steps_bytes, FileEngine, FileJobError, FiledCheckpoint, FilesError};
use neuroshard_types::{
	dispute::OuterJob,
	run::{Attestation, RunConfig, RunStart},
	RunId, F32, H256,
};
use std::{path::PathBuf, time::Duration};

/// Longest attempt to fetch the held-out shards; what has come by then is kept.
const SHARDS_TIMEOUT: Duration = Duration::from_secs(60);
/// Memory of steps where the system does not say how much is free.
const MEMORY: u64 = 1 << 30;

/// Where files lie that go with what they are for.
fn folder(content: &Content) -> PathBuf {
	content.base.join("out-of-core")
}

/// An engine in half of the memory that is free, with so many deltas beside it.
fn engine(content: &Content, config: &RunConfig, threads: usize, deltas: usize) -> Result<FileEngine, WorkerError> {
	let memory = available_memory().map_or(MEMORY, |available| available / 2);
	Ok(FileEngine::new(&config.model, &config.train, threads, steps_bytes(memory, deltas), &folder(content))?)
}

impl Tasks {
	/// Makes the checkpoint of round 0 from the run's seed.
	pub(super) async fn filed_genesis(&self, moment: &Moment) -> Result<Effect, WorkerError> {
		self.offer_dataset(moment).await?;
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		self.content.base((run, &config), &moment.book.all()).await?;
		let content = self.content.clone();
		self.compute.run(move |state| make_first(&content, (run, &config), state.threads())).await.map(Effect::Loaded)
	}

	/// Gets a checkpoint into the store; with the data that a member needs if it is the newest one.
	pub(super) async fn filed_checkpoint(&self, moment: &Moment, root: H256) -> Result<Effect, WorkerError> {
		self.offer_dataset(moment).await?;
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		self.content.base((run, &config), &moment.book.all()).await?;
		self.content.checkpoint_of((run, &config), root, leaves(&config)?.vector, &moment.book.all()).await?;
		Ok(Effect::Loaded(root))
	}

	/// Makes the result of the own outer steps, which is in the store, the newest checkpoint.
	pub(super) fn filed_adopt(&self, moment: &Moment, root: H256) -> Result<Effect, WorkerError> {
		let header = Content::stored_header(&self.content.store, moment.run()?.id, root)?;
		header.ok_or(StoreError::Unknown { root })?;
		Ok(Effect::Adopted { root, before: None })
	}

	/// Gets an earlier checkpoint into the store.
	pub(super) async fn filed_start(&self, moment: &Moment, root: H256) -> Result<Effect, WorkerError> {
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		if root != config.genesis_root || config.start != RunStart::Seed {
			self.content.checkpoint_of((run, &config), root, leaves(&config)?.vector, &moment.book.all()).await?;
			return Ok(Effect::StoredStart(root));
		}
		let content = self.content.clone();
		self.compute.run(move |state| make_first(&content, (run, &config), state.threads())).await.map(Effect::StoredStart)
	}

	/// As [`Self::check_delta`], of a delta that is in the store.
	pub(in crate::participant) async fn check_filed_delta(
		&self,
		(run, config): (RunId, RunConfig),
		start: Option<(H256, u32)>,
		root: H256,
	) -> Result<(), WorkerError> {
		let (checked, content) = (self.checked.clone(), self.content.clone());
		let job = self.compute.run(move |state| {
			let known = judged(&content, (run, &config), start, root, state.threads())?;
			checked.note(root, known);
			match known {
				Delta::Held => {}
				Delta::Unsound => tracing::warn!("delta {root} is none of the run's model: it is voted against"),
				Delta::Excessive => tracing::warn!("delta {root} is larger than the round's steps can have made it: it is voted against"),
			}
			Ok(())
		});
		job.await
	}

	/// Takes the outer steps of `job`, whose deltas and start are in the store, and validates what comes out.
	pub(super) async fn filed_outer_steps(&self, moment: &Moment, job: OuterJob) -> Result<Effect, WorkerError> {
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		let fetched = async {
			let dataset = self.dataset(moment).await?;
			self.validation_shards(moment, &dataset).await.map(|()| dataset)
		};
		let dataset = within(SHARDS_TIMEOUT, "the held-out shards", fetched).await??;
		let (content, reporter, todo) = (self.content.clone(), self.reporter.clone(), job.clone());
		let computed = self.compute.run(move |state| {
			let threads = state.threads();
			let most = todo.steps.iter().map(Vec::len).max().unwrap_or(0);
			let mut engine = engine(&content, &config, threads, most)?;
			let next = outer_steps(&content, &engine, (run, &todo), threads)?;
			if let Some(base) = content.filed_base(&config, threads)? {
				engine.load_model(&base)?;
			}
			let train = &config.train;
			let windows = dataset.loader.validation_windows(train.validation_sequences, train.seq_len)?;
			let read = |sequence: u32, tokens: &mut [u32]| {
				let window = usize::try_from(sequence).ok().and_then(|sequence| windows.get(sequence).copied());
				let missing = || DataError::Invalid(format!("there is no held-out sequence {sequence}"));
				dataset.loader.read(window.ok_or_else(missing)?, tokens)
			};
			let loss = match engine.validation_loss(&next.params, read) {
				// It is what the deltas give all the same, and only claims of adopted rounds can be disputed.
				Err(error) if error.is_divergence() => f32::INFINITY,
				loss => loss.map_err(failed)?,
			};
			// Whoever attests a checkpoint can hand it out.
			publish_filed(&content.store, &next)?;
			reporter.update(|status| status.validation_loss = Some(loss));
			Ok(Attestation { checkpoint: next.header.root(), validation_loss: F32::new(loss) })
		});
		let attestation = computed.await?;
		Ok(Effect::Stepped(NextCheckpoint { run, job, attestation }))
	}
}

/// What is to be known of a delta in the store.
fn judged(
	content: &Content,
	(run, config): (RunId, &RunConfig),
	start: Option<(H256, u32)>,
	root: H256,
	threads: usize,
) -> Result<Delta, WorkerError> {
	let engine = engine(content, config, threads, 1)?;
	let delta = match content.filed(root, engine.delta_layout(), threads) {
		Err(WorkerError::Files(FilesError::Encoding { .. })) => return Ok(Delta::Unsound),
		delta => delta?,
	};
	let Some((start, rounds)) = start else { return Ok(Delta::Held) };
	let header = Content::stored_header(&content.store, run, start)?.ok_or(WorkerError::NotLoaded { root: start })?;
	match engine.is_within_reach(rounds, &content.filed(header.params, engine.layout(), threads)?, &delta) {
		Ok(true) => Ok(Delta::Held),
		Ok(false) => Ok(Delta::Excessive),
		Err(FilesError::Code(_)) => Ok(Delta::Unsound),
		Err(error) => Err(error.into()),
	}
}

/// Why there is no validation loss.
fn failed(error: FileJobError<DataError>) -> WorkerError {
	match error {
		FileJobError::Files(error) => error.into(),
		FileJobError::Validation(ValidationError::Source { source, .. }) | FileJobError::Round(RoundError::Source { source, .. }) => {
			source.into()
		}
		FileJobError::Validation(ValidationError::Step(source)) | FileJobError::Round(RoundError::Step { source, .. }) => {
			FilesError::OutOfCore(source.into()).into()
		}
		FileJobError::Round(_) => FilesError::Code(CodeError::Value).into(),
	}
}

/// The first checkpoint of a run, which is made from its seed, in the store. Returns its root.
fn make_first(content: &Content, (run, config): (RunId, &RunConfig), threads: usize) -> Result<H256, WorkerError> {
	let made = folder(content).join(format!("first-{run}"));
	let checkpoint = FiledCheckpoint::genesis(&made, run, &config.model, &config.train, threads)?;
	let (found, expected) = (checkpoint.header.root(), config.genesis_root);
	let published = match found == expected {
		true => publish_filed(&content.store, &checkpoint),
		false => Err(WorkerError::Genesis { run, expected, found }),
	};
	// What stays only costs space.
	let _ = std::fs::remove_dir_all(&made);
	published.map(|()| found)
}

/// The checkpoint behind these outer steps, in a folder that goes with the engine.
fn outer_steps(
	content: &Content,
	engine: &FileEngine,
	(run, todo): (RunId, &OuterJob),
	threads: usize,
) -> Result<FiledCheckpoint, WorkerError> {
	let mut last = content.filed_checkpoint(run, todo.start, engine.layout(), threads)?;
	for (number, step) in todo.steps.iter().enumerate() {
		let deltas = step.iter().map(|root| content.filed(*root, engine.delta_layout(), threads)).collect::<Result<Vec<_>, _>>()?;
		let inner_steps = todo.inner_steps.get(number).map(Vec::as_slice).unwrap_or_default();
		last = engine.take_outer_step(&last, &deltas, inner_steps, &engine.folder().join(format!("outer-{number}")))?;
	}
	Ok(last)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{content::tests::alone, participant::decide::plan::tests::training};
	use neuroshard_graph::{tiles, ModelConfig, TrainConfig};
	use neuroshard_training::{
		checkpoint::Checkpoint,
		engine::Engine,
		outer::{apply_outer, Included},
	};

	fn config() -> RunConfig {
		let config = RunConfig { model: ModelConfig::tiny(), train: TrainConfig::tiny(), ..training().0.run.unwrap().view.config };
		let genesis_root = Checkpoint::genesis(7, &config.model, &config.train, 1).unwrap().header.root();
		RunConfig { genesis_root, ..config }
	}

	#[tokio::test]
	async fn outer_steps_in_files_lead_to_the_checkpoints_of_an_engine() {
		let (dir, config) = (tempfile::tempdir().unwrap(), config());
		let (content, _stop) = alone(dir.path()).await;
		let engine = Engine::new(&config.model, &config.train, 1).unwrap();
		assert_eq!(make_first(&content, (7, &config), 1).unwrap(), config.genesis_root);
		let mut expected = Checkpoint::genesis(7, &config.model, &config.train, 1).unwrap();
		let (mut steps, layout) = (Vec::new(), engine.layout());
		for scale in [1e-4_f32, -3e-4] {
			let delta: Vec<f32> = (0..layout.len()).map(|at| scale * (at % 17) as f32).collect();
			steps.push(vec![content.store.put(&tiles::encode(layout, &delta)).unwrap().root]);
			expected = apply_outer(&engine, &expected, &Included::from(vec![delta])).unwrap();
		}
		let todo = OuterJob { first_round: 0, start: config.genesis_root, steps, inner_steps: Vec::new() };
		let filed = super::engine(&content, &config, 1, 1).unwrap();
		let next = outer_steps(&content, &filed, (7, &todo), 1).unwrap();
		assert_eq!(next.header, expected.header);
		publish_filed(&content.store, &next).unwrap();
		assert_eq!(Content::read_checkpoint(&content.store, 7, next.header.root(), layout, 1).unwrap(), expected);
		let other = RunConfig { genesis_root: H256::zero(), ..config };
		assert!(matches!(make_first(&content, (7, &other), 1), Err(WorkerError::Genesis { run: 7, .. })));
	}

	#[tokio::test]
	async fn a_delta_in_the_store_is_judged_as_one_in_memory_is() {
		let (dir, config) = (tempfile::tempdir().unwrap(), config());
		let (content, _stop) = alone(dir.path()).await;
		make_first(&content, (7, &config), 1).unwrap();
		let layout = crate::content::filed::layout(&config).unwrap();
		let put = |number: f32| content.store.put(&tiles::encode(&layout, &vec![number; layout.len()])).unwrap().root;
		let start = Some((config.genesis_root, 1));
		let judge = |root, start| judged(&content, (7, &config), start, root, 1);
		assert_eq!(judge(put(1e-4), start).unwrap(), Delta::Held);
		assert_eq!(judge(put(1e20), start).unwrap(), Delta::Excessive);
		assert_eq!(judge(put(1e20), None).unwrap(), Delta::Held, "it was voted on when it was new");
		assert_eq!(judge(put(f32::INFINITY), start).unwrap(), Delta::Unsound);
		assert!(matches!(judge(put(1e-4), Some((H256::zero(), 1))), Err(WorkerError::NotLoaded { .. })));
		assert!(judge(H256::zero(), start).is_err(), "it is not here");
	}
}
