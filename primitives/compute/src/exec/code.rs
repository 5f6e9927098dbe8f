//! Encoding and decoding whole deltas on threads.

use super::{Deltas, Exec};
use neuroshard_graph::{
	config::{Code, TrainConfig},
	layout::ParamLayout,
	resume::{Tile, NUMBERS, SIDE},
};
use neuroshard_kernels::{scalar, shape::Tiling};
use std::sync::Mutex;

/// Why a delta cannot be encoded or decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodeError {
	/// Delta, residual or code have another length.
	#[error("a vector of {found} numbers where the model and its code have {expected}")]
	Length {
		/// What the model and its code ask for.
		expected: usize,
		/// What was given.
		found: usize,
	},
	/// What the code stands for, or what it leaves, is not finite.
	#[error("the code stands for a number that is not finite, or leaves one")]
	Value,
}

impl CodeError {
	/// Refuses another length than the one that is expected.
	///
	/// # Errors
	/// [`CodeError::Length`].
	pub fn expect(expected: usize, found: usize) -> Result<(), Self> {
		if expected == found {
			Ok(())
		} else {
			Err(Self::Length { expected, found })
		}
	}
}

/// Up to 32 rows of a tensor, of which tiles are encoded.
struct Band<'a> {
	values: &'a mut [f32],
	cols: usize,
	/// First tile.
	first: usize,
}

impl Band<'_> {
	fn rows(&self) -> usize {
		self.values.len() / self.cols
	}

	fn tiles(&self) -> usize {
		self.cols.div_ceil(SIDE)
	}

	fn gather(&self, tile: usize) -> Tile {
		let mut out = [0.0; NUMBERS];
		for (row, out) in self.values.chunks_exact(self.cols).zip(out.chunks_exact_mut(SIDE)) {
			out.copy_from_slice(&row[tile * SIDE..(tile + 1) * SIDE]);
		}
		out
	}

	fn scatter(&mut self, tile: usize, values: &Tile) {
		for (row, values) in self.values.chunks_exact_mut(self.cols).zip(values.chunks_exact(SIDE)) {
			row[tile * SIDE..(tile + 1) * SIDE].copy_from_slice(values);
		}
	}
}

/// Cuts a vector into bands. All tensors have a multiple of 32 columns.
fn bands<'a>(tiling: &Tiling, mut vector: &'a mut [f32]) -> Vec<Band<'a>> {
	let (mut bands, mut first) = (Vec::new(), 0);
	for [rows, cols] in tiling.shapes() {
		for top in (0..rows).step_by(SIDE) {
			let (values, rest) = vector.split_at_mut(SIDE.min(rows - top) * cols);
			let band = Band { values, cols, first };
			(vector, first) = (rest, first + band.tiles());
			bands.push(band);
		}
	}
	bands
}

/// Runs `work` on every job, on all threads.
fn on_each<J: Send>(exec: &Exec, jobs: impl IntoIterator<Item = J>, work: impl Fn(J) + Sync) {
	let mut lists: Vec<Vec<J>> = (0..exec.threads().max(1)).map(|_| Vec::new()).collect();
	let threads = lists.len();
	jobs.into_iter().enumerate().for_each(|(number, job)| lists[number % threads].push(job));
	let lists: Vec<_> = lists.into_iter().map(Mutex::new).collect();
	exec.on_threads(|thread| {
		// Each list has one thread: none waits.
		if let Some(Ok(mut list)) = lists.get(thread).map(Mutex::lock) {
			list.drain(..).for_each(&work);
		}
	});
}

/// The delta that was sent as `sent` in a run of this configuration.
///
/// # Errors
/// [`CodeError`], also for a number of it that is not finite.
pub fn decode_delta<D: Deltas>(train: &TrainConfig, compute: &D, layout: &ParamLayout, sent: Vec<f32>) -> Result<Vec<f32>, CodeError> {
	let delta = match train.code() {
		Some(code) => compute.decode(code, &layout.tiling(), &sent)?,
		None => sent,
	};
	CodeError::expect(layout.len(), delta.len())?;
	match delta.iter().all(|value| value.is_finite()) {
		true => Ok(delta),
		false => Err(CodeError::Value),
	}
}

/// Encodes `vector`, a delta to which the residual was added, and leaves in it what the code does not say, unless the code leaves no residual.
///
/// # Errors
/// [`CodeError::Length`].
pub fn encode_vector(code: Code, exec: &Exec, tiling: &Tiling, vector: &mut [f32]) -> Result<Vec<f32>, CodeError> {
	CodeError::expect(tiling.len(), vector.len())?;
	let [len, scales] = code.lengths(tiling.tiles());
	let mut encoded = vec![0.0; (len + scales).next_multiple_of(SIDE)];
	let (mut numbers, mut scales) = encoded.split_at_mut(len);
	let mut jobs = Vec::new();
	for band in bands(tiling, vector) {
		let (own, rest) = numbers.split_at_mut(band.tiles() * code.per_tile());
		let (own_scales, rest_scales) = scales.split_at_mut(if code.scales() { band.tiles() } else { 0 });
		(numbers, scales) = (rest, rest_scales);
		jobs.push((band, own, own_scales));
	}
	on_each(exec, jobs, |(mut band, numbers, scales)| {
		for (tile, numbers) in numbers.chunks_exact_mut(code.per_tile()).enumerate() {
			let values = band.gather(tile);
			let scale = code.encode(&values, numbers);
			scales.iter_mut().skip(tile).take(1).for_each(|slot| *slot = scale);
			if code.decay().is_some() {
				let said = code.decode(numbers, scale, band.rows());
				let mut rest = [0.0; NUMBERS];
				scalar::sub(&values, &said, &mut rest);
				band.scatter(tile, &rest);
			}
		}
	});
	Ok(encoded)
}

/// What the numbers of a code stand for.
///
/// # Errors
/// [`CodeError::Length`].
pub fn decode_vector(code: Code, exec: &Exec, tiling: &Tiling, encoded: &[f32]) -> Result<Vec<f32>, CodeError> {
	let [len, scales] = code.lengths(tiling.tiles());
	CodeError::expect((len + scales).next_multiple_of(SIDE), encoded.len())?;
	let (numbers, scales) = encoded.split_at(len);
	let mut vector = vec![0.0; tiling.len()];
	on_each(exec, bands(tiling, &mut vector), |mut band| {
		for tile in 0..band.tiles() {
			let at = band.first + tile;
			let own = &numbers[at * code.per_tile()..(at + 1) * code.per_tile()];
			let scale = scales.get(at).copied().unwrap_or(0.0);
			band.scatter(tile, &code.decode(own, scale, band.rows()));
		}
	});
	Ok(vector)
}

/// Adds the residual of earlier rounds to a delta.
///
/// # Errors
/// [`CodeError::Length`] for a residual of another length, or one for a code that leaves none, or none for one that does.
pub fn add_residual(code: Code, residual: Option<&[f32]>, delta: &mut [f32]) -> Result<(), CodeError> {
	let Some(decay) = code.decay() else { return CodeError::expect(0, residual.map_or(0, <[f32]>::len)) };
	let residual = residual.unwrap_or_default();
	CodeError::expect(delta.len(), residual.len())?;
	neuroshard_graph::code::add_residual(decay.get(), residual, delta);
	Ok(())
}
