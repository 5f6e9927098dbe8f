//! Inner steps, rounds and validation of a model in files.

use super::{delta::SentFiles, shelf::check_room, vector::pieces, FileJobError, FileShelf, FilesError, FilesNeed, TileFile};
use neuroshard_compute::{
	exec::{Exec, OutOfCore, OutOfCoreError, Shelf, Shelved, StepOutcome},
	round::{Progress, RoundError, Stop},
};
use neuroshard_graph::{commit::state_root, Hash, ModelConfig, ParamLayout, TrainConfig};
use neuroshard_types::{run::Work, H256};
use std::{ops::ControlFlow, path::Path, sync::Arc};

/// Trains a model in less memory than its vectors take, which lie in files.
pub struct FileEngine {
	pub(super) exec: Arc<Exec>,
	steps: OutOfCore,
	pub(super) shelf: FileShelf,
	pub(super) train: TrainConfig,
	pub(super) layout: ParamLayout,
	pub(super) delta_layout: ParamLayout,
	base_layout: ParamLayout,
	pub(super) need: FilesNeed,
	/// Whether the model is on the shelf that an adapter is beside; `true` without an adapter.
	has_model: bool,
}

/// What a round in files starts from.
#[derive(Clone, Copy, Debug)]
pub struct FileStart<'a> {
	/// Parameters of the checkpoint, theta_r.
	pub theta: &'a TileFile,
	/// Rounds that were adopted before it.
	pub adopted_rounds: u32,
	/// Parameters that the delta is the difference from, if not from [`Self::theta`].
	pub base: Option<&'a TileFile>,
	/// Residual of the rounds before; for a code that leaves one, `None` is one of zeros.
	pub residual: Option<&'a TileFile>,
}

impl<'a> FileStart<'a> {
	/// A round from a checkpoint's parameters.
	pub fn new(theta: &'a TileFile, adopted_rounds: u32) -> Self {
		Self { theta, adopted_rounds, base: None, residual: None }
	}
}

/// A trained round: what is committed to and revealed, and the files that are handed to others.
#[derive(Clone, Debug)]
pub struct FileRound {
	/// Work as it is sealed and revealed.
	pub work: Work,
	/// The delta as it is sent.
	pub delta: TileFile,
	/// The residual after the round, where deltas are sent as a code that leaves one.
	pub residual: Option<TileFile>,
	/// Loss of each inner step.
	pub losses: Vec<f32>,
}

impl FileEngine {
	/// An engine whose steps take at most `memory` bytes, beside a few MiB for parts of files and one for each delta of an outer step, and `threads` threads, the
	/// caller's included. What does not fit lies in `folder`, until the engine is dropped.
	///
	/// # Errors
	/// [`FilesError::OutOfCore`] for a configuration that cannot be cut into spans, or too little memory for the largest part of the model;
	/// [`FilesError::NoRoom`] for too little disk.
	pub fn new(model: &ModelConfig, train: &TrainConfig, threads: usize, memory: u64, folder: &Path) -> Result<Self, FilesError> {
		train.validate(model)?;
		let exec = Arc::new(Exec::new(threads)?);
		let need = FilesNeed::new(model, train)?;
		let shelf = FileShelf::new(folder, need.shelf)?;
		Ok(Self {
			steps: OutOfCore::new(&exec, model, train, memory)?,
			exec,
			shelf,
			train: train.clone(),
			layout: ParamLayout::trained(model, train)?,
			delta_layout: ParamLayout::of_deltas(model, train)?,
			base_layout: ParamLayout::new(model)?,
			need,
			has_model: train.adapter.is_none(),
		})
	}

	/// Layout of parameters, moments, momentum and residuals.
	pub fn layout(&self) -> &ParamLayout {
		&self.layout
	}

	/// Layout of deltas as they are sent.
	pub fn delta_layout(&self) -> &ParamLayout {
		&self.delta_layout
	}

	/// The training configuration.
	pub fn train_config(&self) -> &TrainConfig {
		&self.train
	}

	/// What computes.
	pub fn exec(&self) -> &Arc<Exec> {
		&self.exec
	}

	/// Parts that the model is cut into, one of which is in memory at a time.
	pub fn spans(&self) -> usize {
		self.steps.spans()
	}

	/// Bytes of memory that steps take.
	pub fn bytes(&self) -> u64 {
		self.steps.bytes()
	}

	/// Bytes that steps have read from the disk and written to it so far.
	pub fn traffic(&self) -> [u64; 2] {
		self.shelf.traffic()
	}

	/// Where what steps keep outside of memory lies: other files there go with the engine as well.
	pub fn folder(&self) -> &Path {
		self.shelf.folder()
	}

	/// Puts the model on the shelf that an adapter is beside. It stays there.
	///
	/// # Errors
	/// Those of reading and writing.
	pub fn load_model(&mut self, base: &TileFile) -> Result<(), FilesError> {
		for piece in pieces(&self.base_layout) {
			self.shelf.write(Shelved::Base, piece.elements.start, &base.piece(&piece)?).map_err(OutOfCoreError::from)?;
		}
		self.has_model = true;
		Ok(())
	}

	/// Puts parameters on the shelf.
	fn load(&mut self, theta: &TileFile) -> Result<(), FilesError> {
		if !self.has_model {
			return Err(FilesError::NoModel);
		}
		for piece in pieces(&self.layout) {
			self.shelf.write(Shelved::Parameters, piece.elements.start, &theta.piece(&piece)?).map_err(OutOfCoreError::from)?;
		}
		Ok(())
	}

	/// State root of what is on the shelf, after so many inner steps.
	pub(super) fn state_root(&mut self, done: u32) -> Result<Hash, FilesError> {
		let mut roots = [Hash::default(); 3];
		for (root, what) in roots.iter_mut().zip([Shelved::Parameters, Shelved::FirstMoment, Shelved::SecondMoment]) {
			*root = self.steps.root(&mut self.shelf, what)?.unwrap_or_default();
		}
		let [params, first, second] = roots;
		Ok(state_root(&params, &first, &second, done, u64::from(done) * u64::from(self.train.batch)))
	}

	/// Root of the parameters on the shelf.
	///
	/// # Errors
	/// [`FilesError::OutOfCore`].
	pub fn parameters_root(&mut self) -> Result<H256, FilesError> {
		Ok(H256(self.steps.root(&mut self.shelf, Shelved::Parameters)?.unwrap_or_default()))
	}

	/// Begins a round on these parameters, with moments of zeros.
	///
	/// # Errors
	/// [`FilesError::NoModel`], and those of reading and writing.
	pub fn begin(&mut self, theta: &TileFile) -> Result<(), FilesError> {
		self.load(theta)?;
		for moment in [Shelved::FirstMoment, Shelved::SecondMoment] {
			self.shelf.zero(moment, self.layout.len())?;
		}
		Ok(())
	}

	/// One inner step on what is on the shelf; arguments as [`OutOfCore::train_step`].
	///
	/// # Errors
	/// As there.
	pub fn train_step(&mut self, tokens: &[u32], schedule_index: u64, t: u64) -> Result<StepOutcome, OutOfCoreError> {
		self.steps.train_step(&mut self.shelf, tokens, schedule_index, t)
	}

	/// Inner step `step` of a round, from 0, on the tokens that are given for it.
	pub(super) fn inner_step<E>(
		&mut self,
		adopted_rounds: u32,
		step: u32,
		tokens: &mut impl FnMut(u32, u32, &mut [u32]) -> Result<(), E>,
	) -> Result<StepOutcome, FileJobError<E>> {
		let mut batch = vec![0; self.steps.batch_tokens()];
		let per_sequence = self.train.seq_len as usize + 1;
		for (sequence, buffer) in (0..).zip(batch.chunks_exact_mut(per_sequence)) {
			tokens(step, sequence, buffer).map_err(|source| FileJobError::Round(RoundError::Source { step, source }))?;
		}
		let index = u64::from(adopted_rounds) * u64::from(self.train.inner_steps) + u64::from(step);
		self.train_step(&batch, index, u64::from(step) + 1).map_err(|error| FileJobError::of_step(step, error))
	}

	/// A participant's round from `start`, as [`neuroshard_compute::round::run_round`]: the same bits. Files of its delta and its residual are left in `folder`,
	/// named by their roots. `progress` hears of each step, with its state root if that is committed, or `asked` says so of the step; it may end the round there,
	/// or give it up.
	///
	/// # Errors
	/// [`FileJobError`].
	pub fn run_round<E>(
		&mut self,
		start: FileStart<'_>,
		folder: &Path,
		mut tokens: impl FnMut(u32, u32, &mut [u32]) -> Result<(), E>,
		mut asked: impl FnMut(u32) -> bool,
		mut progress: impl FnMut(Progress) -> ControlFlow<Stop>,
	) -> Result<FileRound, FileJobError<E>> {
		let FileStart { theta, adopted_rounds, base, residual } = start;
		check_room(folder, self.need.delta)?;
		self.begin(theta)?;
		let (mut state_roots, mut losses) = (Vec::new(), Vec::new());
		for step in 0..self.train.inner_steps {
			let (done, outcome) = (step + 1, self.inner_step(adopted_rounds, step, &mut tokens)?);
			losses.push(outcome.loss);
			let commits = self.train.commits_after(done);
			let state_root = if commits || asked(done) { Some(self.state_root(done)?) } else { None };
			state_roots.extend(state_root.filter(|_| commits).map(H256));
			match progress(Progress { step: done, outcome, state_root }) {
				ControlFlow::Continue(()) => {}
				ControlFlow::Break(Stop::Abandoned) => return Err(FileJobError::Round(RoundError::Stopped)),
				ControlFlow::Break(Stop::Ends) if self.train.may_end_after(done) => break,
				ControlFlow::Break(Stop::Ends) => return Err(FileJobError::Round(RoundError::Early(done))),
			}
		}
		let sent = match self.sent(base.unwrap_or(theta), residual, folder) {
			Err(FilesError::Code(error)) => return Err(FileJobError::Round(error.into())),
			sent => sent?,
		};
		let work = sent.work(&self.train, state_roots, u32::try_from(losses.len()).unwrap_or(u32::MAX))?;
		let SentFiles { delta, residual } = sent;
		Ok(FileRound { work, delta, residual: residual.map(|(_, after)| after), losses })
	}

	/// Mean loss of `theta` over the held-out sequences, nats per token; `sequence` as in [`OutOfCore::validate`].
	///
	/// # Errors
	/// [`FileJobError::Validation`] or [`FileJobError::Files`].
	pub fn validation_loss<E>(
		&mut self,
		theta: &TileFile,
		sequence: impl FnMut(u32, &mut [u32]) -> Result<(), E>,
	) -> Result<f32, FileJobError<E>> {
		self.load(theta)?;
		let loss = self.steps.validate(&mut self.shelf, sequence).map_err(FilesError::from)?;
		loss.map_err(FileJobError::Validation)
	}
}
