//! Aggregators of pseudo-gradients. The caller orders the inputs: providers by account bytes, ascending.

use super::Lanes;
use crate::{
	num::{fma, from_order_key, order_key, sqrt, sqrt_f64},
	shape::{Distance, Measured, TILE},
};
use alloc::{vec, vec::Vec};

/// Numbers in a tile.
const NUMBERS: usize = TILE * TILE;

/// `out = (x_0 + x_1 + ...) / n`, added in ascending order from +0.
///
/// # Panics
/// If there is no input.
pub fn mean(inputs: &[&[f32]], out: &mut [f32]) {
	assert!(!inputs.is_empty() && inputs.iter().all(|x| x.len() == out.len()), "inputs");
	let n = inputs.len() as f32;
	for (i, out) in out.iter_mut().enumerate() {
		let mut sum = 0.0;
		for x in inputs {
			sum += x[i];
		}
		*out = sum / n;
	}
}

/// Per coordinate: sorts the canonical values by the total order, drops `trim` at each end, and takes the mean of the rest, added in ascending order.
/// With `factors`, one for each input, the values are multiplied by them first.
///
/// # Panics
/// If `2 * trim` is not below the number of inputs.
pub fn trimmed_mean(inputs: &[&[f32]], factors: &[f32], trim: usize, out: &mut [f32]) {
	assert!(2 * trim < inputs.len() && inputs.iter().all(|x| x.len() == out.len()), "inputs");
	assert!(factors.is_empty() || factors.len() == inputs.len(), "factors");
	let n = (inputs.len() - 2 * trim) as f32;
	let mut keys = Vec::with_capacity(inputs.len());
	for (i, out) in out.iter_mut().enumerate() {
		keys.clear();
		match factors {
			[] => keys.extend(inputs.iter().map(|x| order_key(x[i]))),
			_ => keys.extend(inputs.iter().zip(factors).map(|(x, factor)| order_key(factor * x[i]))),
		}
		keys.sort_unstable();
		let mut sum = 0.0;
		for &key in &keys[trim..inputs.len() - trim] {
			sum += from_order_key(key);
		}
		*out = sum / n;
	}
}

/// `out = w_0 x_0 + w_1 x_1 + ...`, each in one rounding and in ascending order, from +0.
pub fn weighted_sum(inputs: &[&[f32]], weights: &[f32], out: &mut [f32]) {
	assert!(inputs.len() == weights.len() && inputs.iter().all(|x| x.len() == out.len()), "inputs");
	out.fill(0.0);
	for (x, &weight) in inputs.iter().zip(weights) {
		out.iter_mut().zip(*x).for_each(|(out, &x)| *out = fma(weight, x, *out));
	}
}

/// Squared distance of two tiles: squares of differences by lanes.
pub fn tile_distance(a: &[f32], b: &[f32]) -> f32 {
	let mut lanes = Lanes::default();
	for (e, (a, b)) in a.iter().zip(b).enumerate() {
		let difference = a - b;
		lanes.add_product(e, difference, difference);
	}
	lanes.finish()
}

/// Squared distances, summed over the tiles of each segment in ascending order: block after block of [`Distance::block`]. A vector's from itself, and what stands beyond the vectors, is +0.
///
/// # Panics
/// If lengths do not match.
pub fn distance_sums(measured: &Measured<'_>, from: Distance, out: &mut [f32]) {
	measured.check(from, out);
	let (count, (rows, cols)) = (measured.vectors.len(), from.block(measured.vectors.len()));
	let mut tiles = vec![[0.0; NUMBERS]; count];
	out.fill(0.0);
	for (segment, out) in out.chunks_exact_mut(rows * cols).enumerate() {
		for tile in measured.tiling.segment(segment) {
			for (number, (vector, slot)) in measured.vectors.iter().zip(&mut tiles).enumerate() {
				measured.tiling.gather(vector, tile, slot);
				if let Some(factor) = measured.factors.get(number) {
					slot.iter_mut().for_each(|x| *x *= factor);
				}
			}
			match from {
				Distance::Pairs => {
					for (row, a) in tiles.iter().enumerate() {
						for (col, b) in tiles.iter().enumerate().filter(|&(col, _)| col != row) {
							out[row * cols + col] += tile_distance(a, b);
						}
					}
				}
				Distance::Norms => tiles.iter().zip(&mut *out).for_each(|(tile, sum)| *sum += tile_distance(tile, &[0.0; NUMBERS])),
			}
		}
	}
}

/// The lower median in the total order; `None` of nothing.
fn lower_median(values: &[f32]) -> Option<f32> {
	let mut keys: Vec<i32> = values.iter().map(|&value| order_key(value)).collect();
	keys.sort_unstable();
	keys.get(keys.len().checked_sub(1)? / 2).map(|&key| from_order_key(key))
}

/// Factors that shorten vectors to `clip` times the lower median of their norms, whose squares are `squares`.
pub fn clip_factors(squares: &[f32], clip: f32) -> Vec<f32> {
	let mut norms: Vec<f32> = squares.iter().map(|&square| sqrt(square)).collect();
	let limit = clip * lower_median(&norms).unwrap_or(0.0);
	norms.iter_mut().for_each(|norm| *norm = if *norm > limit { limit / *norm } else { 1.0 });
	norms
}

/// Squared distances of vectors from each other.
#[derive(Clone, Copy, Debug)]
pub struct Squares<'a> {
	/// A row for each vector.
	pub rows: &'a [f32],
	/// Numbers in a row.
	pub stride: usize,
	/// Number of vectors.
	pub count: usize,
}

impl Squares<'_> {
	/// The distance of two vectors; one that is too large for a float counts as the largest.
	fn at(&self, row: usize, col: usize) -> f32 {
		let square = self.rows[row * self.stride + col];
		if square < f32::MAX {
			square
		} else {
			f32::MAX
		}
	}

	/// For every vector all others: the nearest first, of equal ones the first.
	fn nearest(&self) -> Vec<Vec<usize>> {
		let others = |row: usize| {
			let mut others: Vec<(i32, usize)> =
				(0..self.count).filter(|&col| col != row).map(|col| (order_key(self.at(row, col)), col)).collect();
			others.sort_unstable();
			others.into_iter().map(|(_, col)| col).collect()
		};
		(0..self.count).map(others).collect()
	}

	/// The vectors in the order of their scores, of equal ones the first first. A score is the sum of squared distances from the first `near` of
	/// those that are `nearest`.
	fn by_score(&self, nearest: &[Vec<usize>], near: usize) -> Vec<usize> {
		let score = |row: usize, others: &[usize]| others.iter().take(near).fold(0.0, |sum, &col| sum + self.at(row, col));
		let mut scores: Vec<(i32, usize)> = nearest.iter().enumerate().map(|(row, others)| (order_key(score(row, others)), row)).collect();
		scores.sort_unstable();
		scores.into_iter().map(|(_, row)| row).collect()
	}
}

/// Weights of [Krum and Multi-Krum](https://arxiv.org/abs/1703.02757): the mean of the first `keep` vectors by score.
pub fn krum_weights(squares: Squares<'_>, near: usize, keep: usize) -> Vec<f32> {
	let mut weights = vec![0.0; squares.count];
	let weight = 1.0 / keep.min(squares.count) as f32;
	squares.by_score(&squares.nearest(), near).into_iter().take(keep).for_each(|row| weights[row] = weight);
	weights
}

/// Weights of vectors that so many steps made: their shares of all steps.
pub fn step_weights(steps: &[u32]) -> Vec<f32> {
	let all: u64 = steps.iter().copied().map(u64::from).sum();
	steps.iter().map(|&steps| steps as f32 / all.max(1) as f32).collect()
}

/// How a centre moves between mixed vectors. Limits are multiples of the lower median of their distances from it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Move {
	/// [Centred clipping](https://arxiv.org/abs/2012.10333): by the mean of the ways to all of them, none of which is longer than this.
	Clipping(f32),
	/// [Smoothed Weiszfeld](https://arxiv.org/abs/1912.13445), towards the geometric median: each weighs the inverse of its distance, and of no smaller one
	/// than this.
	Weiszfeld(f32),
}

/// Vectors that are mixed: each is the mean of itself and the others that are nearest to it
/// ([Allouah et al. 2023](https://arxiv.org/abs/2302.01772)).
///
/// All of them are sums of the given ones, so that their distances follow from those of the given ones. This is computed in f64, every sum in ascending order.
struct Mixed {
	/// Squared distances of the given ones, row by row.
	square: Vec<f64>,
	/// Which each is the mean of, ascending.
	of: Vec<Vec<usize>>,
}

/// The mean of those `values` that `of` names.
fn mean_of(of: &[usize], values: &[f64]) -> f64 {
	of.iter().fold(0.0, |sum, &at| sum + values[at]) / of.len() as f64
}

/// Adds `row` to `sum`, number by number.
fn add_row(sum: &mut [f64], row: &[f64]) {
	sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
}

/// Adds a mixed vector to the weights of a sum.
fn add_mixed(sum: &mut [f64], weight: f64, of: &[usize]) {
	of.iter().for_each(|&at| sum[at] += weight / of.len() as f64);
}

impl Mixed {
	/// Each with the `near` first of those that are `nearest` to it.
	fn new(squares: Squares<'_>, nearest: &[Vec<usize>], near: usize) -> Self {
		let count = squares.count;
		let mut square = vec![0.0; count * count];
		for (row, out) in square.chunks_exact_mut(count.max(1)).enumerate() {
			let others = out.iter_mut().enumerate().filter(|(col, _)| *col != row);
			others.for_each(|(col, out)| *out = f64::from(squares.at(row, col)));
		}
		let mixed = |(row, others): (usize, &Vec<usize>)| {
			let mut of: Vec<usize> = others.iter().copied().take(near).chain([row]).collect();
			of.sort_unstable();
			of
		};
		let of: Vec<Vec<usize>> = nearest.iter().enumerate().map(mixed).collect();
		Self { square, of }
	}

	/// Of each mixed vector the mean squared distance of those that it is the mean of from each other.
	fn spread(&self) -> Vec<f64> {
		let spread = |of: &Vec<usize>| of.iter().fold(0.0, |sum, &one| sum + mean_of(of, self.row(one))) / of.len() as f64;
		self.of.iter().map(spread).collect()
	}

	/// Squared distances of the given vectors from one.
	fn row(&self, row: usize) -> &[f64] {
		let count = self.of.len();
		&self.square[row * count..(row + 1) * count]
	}

	/// Squared distances of the mixed vectors from each other, row by row.
	fn squares(&self) -> Vec<f32> {
		let count = self.of.len();
		// The mean distance of each given vector from those of a mixed one; of these the means over those of another. Whole rows are added, since each number of
		// a sum waits for the one before.
		let mut from = vec![0.0; count * count];
		for (one, of) in self.of.iter().enumerate() {
			let mut sum = vec![0.0; count];
			of.iter().for_each(|&row| add_row(&mut sum, self.row(row)));
			// Number `col` stands in row `col`, so that those of all mixed vectors are next to each other.
			sum.iter().enumerate().for_each(|(col, sum)| from[col * count + one] = sum / of.len() as f64);
		}
		let mut between = vec![0.0; count * count];
		for (of, out) in self.of.iter().zip(between.chunks_exact_mut(count.max(1))) {
			of.iter().for_each(|&row| add_row(out, &from[row * count..(row + 1) * count]));
			out.iter_mut().for_each(|sum| *sum /= of.len() as f64);
		}
		let own: Vec<f64> = (0..count).map(|one| between[one * count + one]).collect();
		let square = |(at, &between): (usize, &f64)| {
			let square = between - 0.5 * (own[at / count] + own[at % count]);
			if square > 0.0 {
				square as f32
			} else {
				0.0
			}
		};
		between.iter().enumerate().map(square).collect()
	}
}

/// Weights of Multi-Krum of mixed vectors: each is mixed with the `near` others that are nearest to it, and of these means the first `keep` by
/// Krum's score of `near` others count.
pub fn mixed_krum_weights(squares: Squares<'_>, near: usize, keep: usize) -> Vec<f32> {
	let count = squares.count;
	let mixed = Mixed::new(squares, &squares.nearest(), near);
	let rows = mixed.squares();
	let between = Squares { rows: &rows, stride: count, count };
	let mut weights = vec![0.0; count];
	let weight = 1.0 / keep.min(count) as f64;
	let kept = between.by_score(&between.nearest(), near);
	kept.into_iter().take(keep).for_each(|row| add_mixed(&mut weights, weight, &mixed.of[row]));
	weights.into_iter().map(|weight| weight as f32).collect()
}

/// Weights of a centre that starts at one of the mixed vectors and moves `steps` times. A vector is mixed with the `near` others that are nearest to it. It
/// starts at the first by Krum's score of half of the vectors.
pub fn moved_weights(squares: Squares<'_>, near: usize, step: Move, steps: u8) -> Vec<f32> {
	let (count, nearest) = (squares.count, squares.nearest());
	let mixed = Mixed::new(squares, &nearest, near);
	let spread = mixed.spread();
	let mut centre = vec![0.0; count];
	if let Some(&first) = squares.by_score(&nearest, count / 2).first() {
		add_mixed(&mut centre, 1.0, &mixed.of[first]);
	}
	for _ in 0..steps {
		let from: Vec<f64> =
			(0..count).map(|row| mixed.row(row).iter().zip(&centre).fold(0.0, |sum, (square, weight)| sum + square * weight)).collect();
		let own = from.iter().zip(&centre).fold(0.0, |sum, (from, weight)| sum + from * weight);
		// With coefficients u that add up to zero, the square of the sum of u_i x_i is -1/2 of the sum of u_i u_j times their squared distances.
		let distances: Vec<f64> = mixed
			.of
			.iter()
			.zip(&spread)
			.map(|(of, spread)| {
				let square = mean_of(of, &from) - 0.5 * (spread + own);
				if square > 0.0 {
					sqrt_f64(square)
				} else {
					0.0
				}
			})
			.collect();
		let mut sorted = distances.clone();
		sorted.sort_unstable_by(f64::total_cmp);
		let median = sorted.get(count.saturating_sub(1) / 2).copied().unwrap_or(0.0);
		let (weights, rest) = match step {
			Move::Clipping(radius) => {
				let limit = f64::from(radius) * median;
				let weights = distances.iter().map(|&distance| if distance > limit { limit / distance } else { 1.0 } / count as f64);
				let weights: Vec<f64> = weights.collect();
				let rest = 1.0 - weights.iter().fold(0.0, |sum, weight| sum + weight);
				(weights, rest)
			}
			Move::Weiszfeld(floor) => {
				let least = f64::from(floor) * median;
				let inverse = |distance: f64| match (distance > least, least > 0.0) {
					(true, true) => 1.0 / distance,
					(false, true) => 1.0 / least,
					// Most are where the centre is: the others do not count.
					(far, false) => f64::from(u8::from(!far)),
				};
				let mut weights: Vec<f64> = distances.iter().map(|&distance| inverse(distance)).collect();
				let sum = weights.iter().fold(0.0, |sum, weight| sum + weight);
				weights.iter_mut().for_each(|weight| *weight /= sum);
				(weights, 0.0)
			}
		};
		centre.iter_mut().for_each(|weight| *weight *= rest);
		weights.iter().zip(&mixed.of).for_each(|(&weight, of)| add_mixed(&mut centre, weight, of));
	}
	centre.into_iter().map(|weight| weight as f32).collect()
}
