//! What is sent of a round in files: the delta or its code, and what the code leaves.

use super::{
	vector::{pieces, Piece},
	FileEngine, FilesError, TileFile, TileWriter,
};
use neuroshard_compute::exec::{encode_vector, Backend, CodeError, Exec, OutOfCoreError, Shelf, Shelved};
use neuroshard_graph::{
	config::{Code, F32},
	tiles::{bytes_of, DecodeError, LEAF_BYTES},
	ModelConfig, ParamLayout, TrainConfig,
};
use neuroshard_types::{
	run::{zeros_root, Work},
	H256,
};
use std::{
	fs,
	path::{Path, PathBuf},
};

/// What a round sends.
#[derive(Clone, Debug)]
pub struct SentFiles {
	/// The delta as it is sent.
	pub delta: TileFile,
	/// Root of the residual before the round, and the one after it, where deltas are sent as a code that leaves one.
	pub residual: Option<(H256, TileFile)>,
}

/// Numbers of a code on their way to a file: those of tiles one after the other, and behind them the scales of all.
struct Coded {
	waiting: Vec<u8>,
	/// One for each tile.
	scales: Vec<f32>,
}

impl Coded {
	/// Takes in the code of the next piece.
	fn push(&mut self, code: Code, piece: &Piece, encoded: &[f32], writer: &mut TileWriter) -> Result<(), FilesError> {
		let [len, scales] = code.lengths(piece.tiles.len());
		let (numbers, rest) = encoded.split_at(len);
		self.scales.extend(&rest[..scales]);
		self.write(numbers, writer)
	}

	fn write(&mut self, numbers: &[f32], writer: &mut TileWriter) -> Result<(), FilesError> {
		self.waiting.extend(bytes_of(numbers));
		let whole = self.waiting.len() / LEAF_BYTES * LEAF_BYTES;
		if whole > 0 {
			writer.write(&self.waiting[..whole])?;
			self.waiting.drain(..whole);
		}
		Ok(())
	}

	fn finish(mut self, writer: &mut TileWriter) -> Result<(), FilesError> {
		let scales = std::mem::take(&mut self.scales);
		self.write(&scales, writer)?;
		if self.waiting.is_empty() {
			return Ok(());
		}
		self.waiting.resize(LEAF_BYTES, 0);
		writer.write(&self.waiting)
	}
}

/// Gives a vector the name that its root says.
fn named(vector: TileFile, folder: &Path, what: &str) -> Result<TileFile, FilesError> {
	let path = folder.join(format!("{what}-{}.tiles", hex::encode(vector.root())));
	fs::rename(vector.path(), &path).map_err(|source| FilesError::io(&path, source))?;
	Ok(vector.renamed(&path))
}

/// What a round of all inner steps sends that began with the parameters `base` and ended with `end`, as [`neuroshard_compute::round::Sent::of`], in files in
/// `folder`: no more than a few pieces of the vectors are in memory.
///
/// # Errors
/// [`FilesError::Code`] if the delta is not finite, or what the code leaves of it, or the end itself is not; [`FilesError::Residual`],
/// [`FilesError::Config`]; those of reading and writing.
pub fn filed_delta(
	exec: &Exec,
	(model, train): (&ModelConfig, &TrainConfig),
	[base, end]: [&TileFile; 2],
	residual: Option<&TileFile>,
	folder: &Path,
) -> Result<SentFiles, FilesError> {
	let layouts = [&ParamLayout::trained(model, train)?, &ParamLayout::of_deltas(model, train)?];
	let read = |piece: &Piece, values: &mut [f32]| match end.piece(piece) {
		Ok(found) => {
			values.copy_from_slice(&found);
			Ok(())
		}
		// What has left the finite numbers is no damage of the file, whose root is known.
		Err(FilesError::Encoding { source: DecodeError::Value { .. }, .. }) => Err(CodeError::Value.into()),
		Err(error) => Err(error),
	};
	sent((exec, train), layouts, read, (base, residual), folder)
}

impl SentFiles {
	/// The work that is revealed of a round of so many inner steps that committed to these states.
	///
	/// # Errors
	/// [`FilesError::StateRoots`].
	pub fn work(&self, train: &TrainConfig, mut state_roots: Vec<H256>, steps: u32) -> Result<Work, FilesError> {
		state_roots.extend(self.residual.iter().flat_map(|(before, after)| [*before, after.root()]));
		let count = state_roots.len();
		Ok(Work {
			state_roots: state_roots.try_into().map_err(|_| FilesError::StateRoots(count))?,
			delta_root: self.delta.root(),
			delta_bytes: self.delta.encoded_len(),
			tokens: train.tokens_after(steps),
		})
	}
}

/// What is sent of the difference between `base` and the parameters that `end` reads, a piece at a time. `layouts` are those of parameters and of deltas.
fn sent(
	(exec, train): (&Exec, &TrainConfig),
	[layout, delta_layout]: [&ParamLayout; 2],
	mut end: impl FnMut(&Piece, &mut [f32]) -> Result<(), FilesError>,
	(base, residual): (&TileFile, Option<&TileFile>),
	folder: &Path,
) -> Result<SentFiles, FilesError> {
	let (code, threads) = (train.code(), exec.threads());
	let decay = code.and_then(Code::decay);
	if code.is_some() && decay.is_none() && residual.is_some() {
		return Err(FilesError::Residual);
	}
	let unnamed = |what: &str| -> PathBuf { folder.join(format!("{what}-unnamed.tiles")) };
	let mut delta = TileWriter::create(&unnamed("delta"), delta_layout, threads)?;
	let mut after = decay.map(|_| TileWriter::create(&unnamed("residual"), layout, threads)).transpose()?;
	let mut coded = Coded { waiting: Vec::new(), scales: Vec::new() };
	for piece in pieces(layout) {
		let len = piece.elements.len();
		// The end, and what is made of it.
		let mut arena = vec![0.0; 2 * len];
		end(&piece, &mut arena[..len])?;
		if let Some(residual) = residual.filter(|_| decay.is_some()) {
			arena[len..].copy_from_slice(&residual.piece(&piece)?);
		}
		exec.delta(&mut arena[..], &base.piece(&piece)?, 0..len, decay.map(F32::get), len..2 * len);
		let x = &mut arena[len..];
		let numbers = code.map(|code| encode_vector(code, exec, &piece.tiling(), x).map(|numbers| (code, numbers))).transpose()?;
		if !x.iter().all(|value| value.is_finite()) {
			return Err(CodeError::Value.into());
		}
		if let Some(after) = &mut after {
			after.piece(&piece, x)?;
		}
		match numbers {
			Some((code, numbers)) => coded.push(code, &piece, &numbers, &mut delta)?,
			None => delta.piece(&piece, x)?,
		}
	}
	coded.finish(&mut delta)?;
	let delta = named(delta.finish()?, folder, "delta")?;
	let tiles = u32::try_from(layout.tile_count()).unwrap_or(u32::MAX);
	let before = residual.map_or_else(|| zeros_root(tiles), TileFile::root);
	let after = after.map(|after| named(after.finish()?, folder, "residual")).transpose()?;
	Ok(SentFiles { delta, residual: after.map(|after| (before, after)) })
}

impl FileEngine {
	/// What is sent of the difference between `base` and the parameters on the shelf, as [`neuroshard_compute::round::Sent::of`], in files in `folder`.
	///
	/// # Errors
	/// [`FilesError::Code`] if the delta is not finite, or what the code leaves of it; [`FilesError::Residual`]; those of reading and writing.
	pub(super) fn sent(&mut self, base: &TileFile, residual: Option<&TileFile>, folder: &Path) -> Result<SentFiles, FilesError> {
		let Self { exec, train, layout, delta_layout, shelf, .. } = self;
		let end = |piece: &Piece, values: &mut [f32]| {
			shelf.read(Shelved::Parameters, piece.elements.start, values).map_err(|error| OutOfCoreError::from(error).into())
		};
		sent((&**exec, &*train), [&*layout, &*delta_layout], end, (base, residual), folder)
	}
}
