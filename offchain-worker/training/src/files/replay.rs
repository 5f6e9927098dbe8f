//! The replay of a run whose model is larger than memory: [`crate::replay::replay_run`] with all vectors in files.

use super::{shelf::check_room, FileEngine, FileJobError, FileRound, FileStart, FiledCheckpoint, FilesError, FilesNeed, TileFile};
use crate::{
	checkpoint::{data_path, CheckpointError, Header},
	engine::JobError,
	redo::{stored_header, wanted},
	replay::{compare, left_out, AdoptedRound, Progress, ReplayError},
	round::{round_error, TrainError},
};
use neuroshard_compute::round::Stop;
use neuroshard_data::{
	loader::{Assignment, Loader},
	DataError,
};
use neuroshard_graph::ParamLayout;
use neuroshard_store::blob_path;
use neuroshard_types::{
	assignment::Draw,
	dispute::OuterJob,
	run::{zeros_root, RoundRecord, RunConfig, RunStart, Work},
	AccountId, RoundIndex, RunId, F32, H256,
};
use std::{
	collections::BTreeSet,
	fs,
	ops::ControlFlow,
	path::{Path, PathBuf},
};
use tempfile::TempDir;

/// What a replay in files takes.
#[derive(Clone, Debug)]
pub struct InFiles {
	/// Bytes of memory for a step.
	pub memory: u64,
	/// Threads.
	pub threads: usize,
	/// Folder for the files, which go at the end.
	pub folder: PathBuf,
	/// Content store of a worker, for what follows from nothing.
	pub store: Option<PathBuf>,
}

/// Files of a replay, and those of a content store. Whatever is read is checked against its root.
struct Kept {
	folder: TempDir,
	/// What outer steps are redone with.
	wanted: BTreeSet<H256>,
	store: Option<PathBuf>,
	layout: ParamLayout,
	threads: usize,
}

impl Kept {
	/// Folder of a checkpoint.
	fn checkpoint_folder(&self, root: H256) -> PathBuf {
		self.folder.path().join(format!("checkpoint-{}", hex::encode(root)))
	}

	/// A checkpoint of `run` that was computed, or is in the content store.
	fn checkpoint(&self, run: RunId, root: H256) -> Result<Option<FiledCheckpoint>, FilesError> {
		if let Some(kept) = FiledCheckpoint::open(&self.checkpoint_folder(root), &self.layout, self.threads)? {
			return Ok(Some(kept));
		}
		let Some(header) = self.store.as_deref().and_then(|store| stored_header(store, root)) else { return Ok(None) };
		let [params, momentum] = [header.params, header.momentum].map(|root| self.stored(root, &self.layout));
		let (Some(params), Some(momentum)) = (params?, momentum?) else { return Ok(None) };
		Ok(Some(FiledCheckpoint { header: Header { run, ..header }, params, momentum }))
	}

	/// A vector of the content store.
	fn stored(&self, root: H256, layout: &ParamLayout) -> Result<Option<TileFile>, FilesError> {
		let path = self.store.as_deref().map(|store| blob_path(store, root)).filter(|path| path.exists());
		path.map(|path| TileFile::open(&path, 0, layout, root, self.threads)).transpose()
	}

	/// A vector that was computed under this root, or is in the content store.
	fn vector(&self, what: &str, root: H256, layout: &ParamLayout) -> Result<Option<TileFile>, FilesError> {
		let own = self.folder.path().join(format!("{what}-{}.tiles", hex::encode(root)));
		match own.exists() {
			true => TileFile::open(&own, 0, layout, root, self.threads).map(Some),
			false => self.stored(root, layout),
		}
	}

	/// Gives the newest checkpoint, which is in `new`, the folder that its root says.
	fn name(&self, new: &Path, checkpoint: FiledCheckpoint) -> Result<FiledCheckpoint, FilesError> {
		let folder = self.checkpoint_folder(checkpoint.header.root());
		if !folder.exists() {
			fs::rename(new, &folder).map_err(|source| FilesError::io(&folder, source))?;
		}
		let path = data_path(&folder, &checkpoint.header);
		let FiledCheckpoint { header, params, momentum } = checkpoint;
		Ok(FiledCheckpoint { header, params: params.renamed(&path), momentum: momentum.renamed(&path) })
	}

	/// Removes all but what is wanted, residuals of `residuals`, and checkpoint `last`.
	fn prune(&self, last: H256, residuals: &BTreeSet<H256>) {
		let keeps = |name: &str| {
			let root = |what: &str| {
				let digits = name.strip_prefix(what)?.trim_end_matches(".tiles");
				hex::decode(digits).ok()?.try_into().ok().map(H256)
			};
			let of = |what: &str, keeps: &dyn Fn(H256) -> bool| root(what).is_some_and(keeps);
			of("delta-", &|root| self.wanted.contains(&root))
				|| of("residual-", &|root| residuals.contains(&root))
				|| of("checkpoint-", &|root| root == last || self.wanted.contains(&root))
		};
		for entry in fs::read_dir(self.folder.path()).into_iter().flatten().flatten() {
			let (name, path) = (entry.file_name(), entry.path());
			let Some(name) = name.to_str() else { continue };
			// What stays only costs space, until the replay is over.
			if name.starts_with("checkpoint-") && !keeps(name) {
				let _ = fs::remove_dir_all(path);
			} else if (name.starts_with("delta-") || name.starts_with("residual-")) && !keeps(name) {
				let _ = fs::remove_file(path);
			}
		}
	}
}

/// A replay of a run in files.
struct Replay<'a> {
	run: RunId,
	config: &'a RunConfig,
	loader: &'a Loader,
	engine: FileEngine,
	kept: Kept,
}

/// [`crate::replay::replay_run`] in a part of the memory that it takes: the same answers, and the root of the last checkpoint.
///
/// # Errors
/// [`ReplayError`]: the first difference, or what kept the replay from an answer.
pub fn replay_run_in_files(
	run: RunId,
	config: &RunConfig,
	rounds: &[AdoptedRound],
	loader: &Loader,
	InFiles { memory, threads, folder, store }: InFiles,
	mut progress: impl FnMut(Progress<'_>),
) -> Result<H256, ReplayError> {
	if rounds.is_empty() {
		return Err(ReplayError::NoRounds);
	}
	let files = |source: FilesError| ReplayError::Files { round: 0, source: Box::new(source) };
	let setup = |error| ReplayError::Setup(Box::new(CheckpointError::Config(error)));
	let need = FilesNeed::new(&config.model, &config.train).map_err(setup)?;
	let deltas = rounds.iter().map(|round| round.record.included.len()).max().unwrap_or_default();
	fs::create_dir_all(&folder).map_err(|source| files(FilesError::io(&folder, source)))?;
	// With the checkpoint that a round starts from.
	let needed = need.total(u32::try_from(deltas).unwrap_or(u32::MAX)).saturating_add(need.checkpoint);
	check_room(&folder, needed).map_err(files)?;
	let own = tempfile::Builder::new().prefix("replay-").tempdir_in(&folder).map_err(|source| files(FilesError::io(&folder, source)))?;
	let earlier = rounds.iter().map(|round| &round.record).filter(|record| record.inner_start != record.start);
	let kept = Kept {
		wanted: wanted(rounds.iter().map(|round| &round.job), earlier.map(|record| record.inner_start)),
		store,
		layout: ParamLayout::trained(&config.model, &config.train).map_err(setup)?,
		threads,
		folder: own,
	};
	let expected = config.genesis_root;
	let mut checkpoint = match config.start {
		RunStart::Seed => {
			let new = kept.folder.path().join("checkpoint-first");
			let first = FiledCheckpoint::genesis(&new, run, &config.model, &config.train, threads).map_err(files)?;
			match first.header.root() {
				found if found == expected => kept.name(&new, first).map_err(files)?,
				found => return Err(ReplayError::Genesis { found, expected }),
			}
		}
		RunStart::Given { .. } => kept.checkpoint(run, expected).map_err(files)?.ok_or(ReplayError::NoStart(expected))?,
	};
	progress(Progress::Genesis(expected));
	let mut engine = FileEngine::new(&config.model, &config.train, threads, memory, kept.folder.path()).map_err(files)?;
	if let Some(adapter) = config.train.adapter {
		let layout = ParamLayout::new(&config.model).map_err(setup)?;
		let base = kept.stored(H256(adapter.base), &layout).map_err(files)?;
		engine.load_model(&base.ok_or(ReplayError::NoModel(H256(adapter.base)))?).map_err(files)?;
	}
	let mut replay = Replay { run, config, loader, engine, kept };
	for adopted in rounds {
		let draw = Draw::new(config, (run, checkpoint.header.round), adopted.record.seed, &loader.shape());
		checkpoint = replay.round(&checkpoint, (adopted, draw), &mut progress)?;
	}
	Ok(checkpoint.header.root())
}

impl Replay<'_> {
	/// As [`crate::replay::replay_round`].
	fn round(
		&mut self,
		previous: &FiledCheckpoint,
		(adopted, draw): (&AdoptedRound, Draw),
		progress: &mut impl FnMut(Progress<'_>),
	) -> Result<FiledCheckpoint, ReplayError> {
		let round = previous.header.round;
		let AdoptedRound { record, job, .. } = adopted;
		let files = |source: FilesError| ReplayError::Files { round, source: Box::new(source) };
		let absent = |what: String| ReplayError::Absent { round, what };
		let absent_checkpoint = |root: H256| absent(format!("checkpoint {root:?}"));
		let earlier = match record.inner_start == record.start {
			true => None,
			false => {
				let found = self.kept.checkpoint(self.run, record.inner_start).map_err(files)?;
				Some(found.ok_or_else(|| absent_checkpoint(record.inner_start))?)
			}
		};
		let start = earlier.as_ref().unwrap_or(previous);
		let mut deltas = Vec::with_capacity(record.included.len());
		for (account, expected) in &record.included {
			progress(Progress::Provider(round, account));
			let crossed = self.started_elsewhere(round, record, account);
			let trained = crossed.and_then(|crossed| {
				let starts = crossed.as_ref().map_or((start, None), |crossed| (crossed, Some(previous)));
				self.train(round, starts, (adopted, draw), account, progress)
			});
			let (delta, doubt) = match trained {
				Ok((trained, revealed)) => {
					let doubt = compare(round, account, &trained.work, *expected, revealed).err();
					((trained.work.delta_root == *expected).then_some(trained.delta), doubt)
				}
				Err(error) => (None, Some(error)),
			};
			if let Some(error) = doubt {
				left_out(record, account, error)?;
				progress(Progress::Excluded(round, account));
			}
			let delta = match delta {
				Some(delta) => delta,
				None => {
					let revealed = self.kept.stored(*expected, self.engine.delta_layout()).map_err(files)?;
					self.keep_stored(revealed.ok_or_else(|| absent(format!("the delta of {account}")))?).map_err(files)?
				}
			};
			deltas.push((*expected, delta));
		}
		let next = self.outer_steps(previous, job, deltas, round)?;
		let (found, expected) = (next.header.root(), record.checkpoint);
		// What the next round may begin with: what this one has left, or began with where it was not included.
		let residuals = adopted.works.iter().filter_map(|(_, work)| work.residuals(self.engine.train_config())).flatten().collect();
		if found != expected {
			if !record.fallen {
				return Err(ReplayError::Checkpoint { round, found, expected });
			}
			progress(Progress::Fallen(round, expected));
			let fallen = self.kept.checkpoint(self.run, expected).map_err(files)?.ok_or_else(|| absent_checkpoint(expected))?;
			self.kept.prune(expected, &residuals);
			return Ok(fallen);
		}
		self.kept.prune(found, &residuals);
		let (found, expected) = (self.validation_loss(round, &next)?, record.validation_loss);
		if found != expected {
			return Err(ReplayError::ValidationLoss { round, found: found.get(), expected: expected.get() });
		}
		progress(Progress::Round(round, record.checkpoint, found.get()));
		Ok(next)
	}

	/// A link or copy of a vector of the content store among the own files, if it is needed once more: the store may drop it meanwhile.
	fn keep_stored(&self, vector: TileFile) -> Result<TileFile, FilesError> {
		let own = self.kept.folder.path().join(format!("delta-{}.tiles", hex::encode(vector.root())));
		if self.kept.wanted.contains(&vector.root()) && !own.exists() {
			fs::copy(vector.path(), &own).map_err(|source| FilesError::io(&own, source))?;
		}
		Ok(vector)
	}

	/// The checkpoint of another cohort that the work of `account` started from, if it did.
	fn started_elsewhere(
		&self,
		round: RoundIndex,
		record: &RoundRecord,
		account: &AccountId,
	) -> Result<Option<FiledCheckpoint>, ReplayError> {
		let Some(bridge) = record.bridged(account) else { return Ok(None) };
		// One that cannot be read is as good as none.
		let found = self.kept.checkpoint(self.run, bridge.checkpoint).ok().flatten();
		let what = || format!("checkpoint {:?} of run {}, another cohort, from which {account} started,", bridge.checkpoint, bridge.run);
		found.map(Some).ok_or_else(|| ReplayError::Elsewhere { round, what: what() })
	}

	/// Trains the round of `account` anew from the checkpoint `start`, with a delta from `base` if it is a bridge; with what it revealed.
	fn train<'b>(
		&mut self,
		round: RoundIndex,
		(start, base): (&FiledCheckpoint, Option<&FiledCheckpoint>),
		(adopted, draw): (&'b AdoptedRound, Draw),
		account: &AccountId,
		progress: &mut impl FnMut(Progress<'_>),
	) -> Result<(FileRound, &'b Work), ReplayError> {
		let AdoptedRound { record, works, .. } = adopted;
		let train = &self.config.train;
		let files = |source: FilesError| ReplayError::Files { round, source: Box::new(source) };
		let failed = |source: TrainError| ReplayError::Train { round, account: account.clone(), source: Box::new(source) };
		let position = record.position(account).ok_or_else(|| ReplayError::Stranger { round, account: account.clone() })?;
		let revealed = works.iter().find(|(other, _)| other == account);
		let (_, revealed) = revealed.ok_or_else(|| ReplayError::NotRevealed { round, account: account.clone() })?;
		let tiles = u32::try_from(self.kept.layout.tile_count()).unwrap_or(u32::MAX);
		let before = revealed.residuals(train).map(|[before, _]| before).filter(|before| *before != zeros_root(tiles));
		let absent = |before| ReplayError::Absent { round, what: format!("the residual {before:?} of {account}") };
		let residual = |before| self.kept.vector("residual", before, &self.kept.layout).map_err(files)?.ok_or_else(|| absent(before));
		let residual = before.map(residual).transpose()?;
		let steps = revealed.steps(train).unwrap_or(u32::MAX);
		let most = steps.min(train.inner_steps);
		let assignment = Assignment::new(train, position, draw);
		let windows = (0..assignment.inner_steps).map(|step| self.loader.step_windows(&assignment, step)).collect::<Result<Vec<_>, _>>();
		let windows = windows.map_err(|error| failed(error.into()))?;
		let tokens = |step: u32, sequence: u32, tokens: &mut [u32]| {
			let window = windows.get(step as usize).and_then(|windows| windows.get(sequence as usize)).copied();
			let missing = || DataError::Invalid(format!("no window was drawn for sequence {sequence}"));
			self.loader.read(window.ok_or_else(missing)?, tokens)
		};
		let heard = |taken: neuroshard_compute::round::Progress| {
			progress(Progress::Step(round, account, [taken.step, most]));
			match taken.step >= steps && train.may_end_after(taken.step) {
				true => ControlFlow::Break(Stop::Ends),
				false => ControlFlow::Continue(()),
			}
		};
		let start = FileStart {
			theta: &start.params,
			adopted_rounds: start.header.round,
			base: base.map(|base| &base.params),
			residual: residual.as_ref(),
		};
		let trained = self.engine.run_round(start, self.kept.folder.path(), tokens, |_| false, heard);
		let trained = trained.map_err(|error| match train_error(error) {
			Ok(error) => failed(error),
			Err(error) => files(error),
		})?;
		Ok((trained, revealed))
	}

	/// The checkpoint that the outer steps of a round's Checkpointing give, the last of which takes some of `deltas`.
	fn outer_steps(
		&self,
		previous: &FiledCheckpoint,
		job: &OuterJob,
		deltas: Vec<(H256, TileFile)>,
		round: RoundIndex,
	) -> Result<FiledCheckpoint, ReplayError> {
		let files = |source: FilesError| ReplayError::Files { round, source: Box::new(source) };
		let behind = |step: usize| job.inner_steps.get(step).map_or(&[][..], Vec::as_slice);
		// Where outer steps are redone, the last one may take fewer than were included.
		// Two may be equal, and one of them left out.
		let mut taken: Vec<H256> = job.steps.last().into_iter().flatten().copied().collect();
		let mut takes = |root: H256| taken.iter().position(|one| *one == root).map(|place| taken.swap_remove(place));
		let last: Vec<_> = deltas.into_iter().filter_map(|(root, delta)| takes(root).map(|_| delta)).collect();
		let new = self.kept.folder.path().join("checkpoint-next");
		let step = |from: &FiledCheckpoint, deltas: &[TileFile], number| self.engine.take_outer_step(from, deltas, behind(number), &new);
		let redone = job.steps.split_last().map(|(_, redone)| redone).unwrap_or_default();
		let mut from = None;
		if !redone.is_empty() {
			let start = self.kept.checkpoint(self.run, job.start).map_err(files)?;
			from = Some(start.ok_or_else(|| ReplayError::Absent { round, what: format!("checkpoint {:?}", job.start) })?);
		}
		for (number, roots) in redone.iter().enumerate() {
			let delta = |root: &H256| {
				let found = self.kept.vector("delta", *root, self.engine.delta_layout()).map_err(files)?;
				found.ok_or_else(|| ReplayError::Absent { round, what: format!("delta {root:?}") })
			};
			let deltas = roots.iter().map(delta).collect::<Result<Vec<_>, _>>()?;
			from = Some(step(from.as_ref().unwrap_or(previous), &deltas, number).map_err(files)?);
		}
		let next = step(from.as_ref().unwrap_or(previous), &last, job.steps.len().saturating_sub(1)).map_err(files)?;
		self.kept.name(&new, next).map_err(files)
	}

	/// As [`crate::outer::attest`].
	fn validation_loss(&mut self, round: RoundIndex, checkpoint: &FiledCheckpoint) -> Result<F32, ReplayError> {
		let outer = |source: TrainError| ReplayError::Outer { round, source: Box::new(source.into()) };
		let train = &self.config.train;
		let windows = self.loader.validation_windows(train.validation_sequences, train.seq_len).map_err(|error| outer(error.into()))?;
		let read = |sequence: u32, tokens: &mut [u32]| match windows.get(sequence as usize) {
			Some(window) => self.loader.read(*window, tokens),
			None => Err(DataError::Invalid("no such sequence".into())),
		};
		match self.engine.validation_loss(&checkpoint.params, read) {
			Ok(loss) => Ok(F32::new(loss)),
			Err(error) if error.is_divergence() => Ok(F32::new(f32::INFINITY)),
			Err(error) => Err(match train_error(error) {
				Ok(error) => outer(error),
				Err(source) => ReplayError::Files { round, source: Box::new(source) },
			}),
		}
	}
}

/// The error of a round or a validation as one in memory has it, if that can have it.
fn train_error(error: FileJobError<DataError>) -> Result<TrainError, FilesError> {
	match error {
		FileJobError::Round(error) => Ok(round_error(JobError::Round(error))),
		FileJobError::Validation(error) => Ok(round_error(JobError::Validation(error))),
		FileJobError::Files(error) => Err(error),
	}
}
