//! Reading windows of tokens from shard files.

use super::{dataset::shard_path, manifest, DataError};
use neuroshard_graph::{
	corpus::{TokenWidth, MASK},
	TrainConfig,
};
use neuroshard_types::{
	assignment::{self, Draw, Window},
	dataset::DatasetShape,
};
use std::{
	fs::File,
	os::unix::fs::FileExt,
	path::{Path, PathBuf},
};

/// Reads windows from the shard files below a dataset folder. Shards may arrive later: a file is opened when needed.
/// The content is trusted here; [`super::dataset::verify`] or the network's transfer check it.
#[derive(Clone, Debug)]
pub struct Loader {
	folder: PathBuf,
	shape: DatasetShape,
	width: TokenWidth,
	/// Bits that are not read.
	unread: u32,
}

/// The windows of one participant in one round.
#[derive(Clone, Copy, Debug)]
pub struct Assignment {
	/// Place among the round's participants, account bytes ascending.
	pub position: u32,
	/// What the round's windows are drawn by.
	pub draw: Draw,
	/// Inner steps of a round.
	pub inner_steps: u32,
	/// Sequences of a step.
	pub batch: u32,
	/// Tokens of a sequence.
	pub seq_len: u32,
}

impl Assignment {
	/// Of the participant at `position` of a round with this draw.
	pub fn new(train: &TrainConfig, position: u32, draw: Draw) -> Self {
		Self { position, draw, inner_steps: train.inner_steps, batch: train.batch, seq_len: train.seq_len }
	}
}

impl Loader {
	/// A loader for the dataset in `folder`, whose shape and width of tokens follow from what the chain states.
	///
	/// # Errors
	/// [`DataError::Invalid`] for a shape out of bounds.
	pub fn new(folder: &Path, shape: DatasetShape, width: TokenWidth) -> Result<Self, DataError> {
		manifest::check_shape(&shape)?;
		Ok(Self { folder: folder.to_path_buf(), shape, width, unread: 0 })
	}

	/// The same, which reads every token as a target. For programs that show what becomes of who trains like that.
	pub fn without_mask(self) -> Self {
		Self { unread: MASK, ..self }
	}

	/// Shape of the dataset.
	pub fn shape(&self) -> DatasetShape {
		self.shape
	}

	/// Fills `tokens` with those of `window`: as many as `tokens` is long, `seq_len + 1` for a sequence and its targets. They may be
	/// beyond the vocabulary: what a shard holds is what its root says, and training has a rule for such tokens.
	///
	/// # Errors
	/// [`DataError::Window`] if it leaves its shard, [`DataError::Io`] if the shard cannot be read.
	pub fn read(&self, window: Window, tokens: &mut [u32]) -> Result<(), DataError> {
		let start = u64::from(window.start);
		let end = start.saturating_add(tokens.len() as u64);
		let DatasetShape { tokens_per_shard, shard_count, .. } = self.shape;
		if window.shard >= shard_count || end > u64::from(tokens_per_shard) {
			return Err(DataError::Window { shard: window.shard, start, end, tokens_per_shard, shard_count });
		}
		let path = shard_path(&self.folder, window.shard);
		let width = self.width.bytes();
		let mut bytes = vec![0u8; width as usize * tokens.len()];
		let read = File::open(&path).and_then(|file| file.read_exact_at(&mut bytes, u64::from(width) * start));
		read.map_err(|error| DataError::io(&path, error))?;
		tokens.iter_mut().zip(self.width.read(&bytes)).for_each(|(place, token)| *place = token & !self.unread);
		Ok(())
	}

	/// Windows that inner step `step` of a round trains on, sequence after sequence.
	///
	/// # Errors
	/// [`DataError::Invalid`] if the dataset is too small for the round (the chain refuses such runs).
	pub fn step_windows(&self, assignment: &Assignment, step: u32) -> Result<Vec<Window>, DataError> {
		let too_small = || DataError::Invalid("the dataset has fewer training windows than the round needs".into());
		let Assignment { position, draw, inner_steps, batch, seq_len } = *assignment;
		let domain = assignment::training_windows(&self.shape, seq_len);
		let drawn = draw.among(domain).ok_or_else(too_small)?;
		(0..batch)
			.map(|sequence| {
				let index = drawn.window(assignment::draw_index(position, inner_steps, step, batch, sequence));
				index.and_then(|index| assignment::training_window(&self.shape, seq_len, index)).ok_or_else(too_small)
			})
			.collect()
	}

	/// Shards that a participant needs for its round, ascending.
	///
	/// # Errors
	/// As [`Self::step_windows`].
	pub fn round_shards(&self, assignment: &Assignment) -> Result<Vec<u32>, DataError> {
		let mut shards = std::collections::BTreeSet::new();
		for step in 0..assignment.inner_steps {
			shards.extend(self.step_windows(assignment, step)?.iter().map(|window| window.shard));
		}
		Ok(shards.into_iter().collect())
	}

	/// Windows that the validation loss is measured on: `count` of them, spread evenly over the held-out shards.
	///
	/// # Errors
	/// [`DataError::Invalid`] if there are fewer than `count`.
	pub fn validation_windows(&self, count: u32, seq_len: u32) -> Result<Vec<Window>, DataError> {
		let windows: Option<Vec<Window>> =
			(0..count).map(|index| assignment::validation_draw(&self.shape, seq_len, index, count)).collect();
		windows.ok_or_else(|| {
			DataError::Invalid(format!(
				"the held-out shards have fewer than {count} windows of {seq_len} tokens: use a smaller validation set"
			))
		})
	}
}
