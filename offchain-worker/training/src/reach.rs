//! Bound on how far the inner steps of a round can take a parameter: a delta beyond that is voted against, whoever could fetch it.
//!
//! A delta with huge, but finite values would make a checkpoint that nobody can train on, or even validate. It is a false claim like any
//! other; but claims can only be disputed when their round was adopted, and it would keep every attempt from being. So it must not be
//! included. The rule is generous: no delta of a configuration that `TrainConfig::validate` accepts breaks it.
//!
//! Step t of AdamW sets `p <- decay * p - lr_t * u`, with `0 <= decay <= 1`, `lr_t <= lr` and `u = m' / (sqrt(v') + eps)`. m' and v' are
//! means of the gradients g_1 .. g_t and of their squares, with weights a_i and b_i that decay by `beta1` and `beta2`. By Cauchy and Schwarz
//!
//! ```text
//! |u| <= |sum a_i g_i| / sqrt(sum b_i g_i^2) <= sqrt(sum a_i^2 / b_i) <= sqrt(max a_i / b_i)
//! ```
//!
//! and for `beta1 <= beta2`, which is asked of a configuration, the largest ratio is that of the newest gradient:
//! `(1 + beta2 + .. beta2^(t-1)) / (1 + beta1 + .. beta1^(t-1)) <= t`. So H steps change a parameter theta by at most
//! `|theta| + lr * H * sqrt(H)`. The rule is twice and four times that, for rounding: what 32 bits lose of the squares of tiny gradients is
//! small against `eps`, of which at least 1e-16 is asked.
//!
//! A step of Muon sets `p <- decay * p - lr_t * s * x` with `s = 0.2 sqrt(n)`, n the longer side of the matrix. No number of x is larger than its largest
//! singular value. That is at most 1 before the Newton-Schulz steps, which take what is between 0 and 1.21 to what is between 0 and 1.21. So H steps change
//! a parameter by at most `|theta| + lr * H * sqrt(n) / 4`, of which the rule is four times as well.
//!
//! What a code says is that of several deltas: with a decay of b a residual holds up to `1 / (1 - b)` of them, and a number waits for no more rounds than
//! there are numbers in its tile before it is said. Of a tile the largest numbers are compared: the levels of a code are means of several. A number of a
//! cosine transform's tile can have all that is in the tile: 32 times the largest.

use super::checkpoint::Checkpoint;
use neuroshard_graph::resume::NUMBERS;
use neuroshard_kernels::shape::Tiling;
use neuroshard_types::{Code, Optimizer, RoundIndex, TopK, TrainConfig};

/// How far the inner steps of a round can take parameters of a model.
#[derive(Clone, Debug)]
pub struct Reach {
	train: TrainConfig,
	reach: f64,
}

impl Reach {
	/// Of a model with these tensors.
	pub fn new(train: &TrainConfig, tensors: &Tiling) -> Self {
		let steps = f64::from(train.inner_steps);
		let step = match train.optimizer {
			Optimizer::AdamW => steps.sqrt(),
			Optimizer::Muon { .. } => steps.sqrt().max(longest_side(tensors).sqrt() / 4.0),
		};
		Self { train: train.clone(), reach: 4.0 * f64::from(train.lr.get()) * steps * step }
	}

	/// Returns whether inner steps from the parameters `start` can have made `delta`, both in whole tiles of the model, `tiling`. Computed from numbers of 64 bits
	/// by additions, multiplications and a root, so that all machines agree.
	pub fn has(&self, tiling: &Tiling, start: &[f32], delta: &[f32]) -> bool {
		let Self { train, reach } = self;
		let within = |theta: f64, change: f32| f64::from(change).abs() <= 2.0 * theta + reach;
		let Some(code) = train.code() else {
			return start.len() == delta.len() && start.iter().zip(delta).all(|(theta, &change)| within(f64::from(*theta).abs(), change));
		};
		let more = match code {
			Code::Int8 => 1.0,
			Code::TopK(TopK { decay, cosine, .. }) => {
				let rounds = (1.0 / (1.0 - f64::from(decay.get()))).min(WAITED);
				rounds * if cosine { SIDE } else { 1.0 }
			}
		};
		let tile_within = |tile: usize| {
			let (mut before, mut change) = ([0.0; NUMBERS], [0.0; NUMBERS]);
			tiling.gather(start, tile, &mut before);
			tiling.gather(delta, tile, &mut change);
			let largest = |tile: &[f32]| tile.iter().fold(0.0, |most: f64, x| most.max(f64::from(x.abs())));
			largest(&change) <= more * (2.0 * largest(&before) + reach)
		};
		// A NaN is never the larger one, but no number of a delta that was decoded.
		[start.len(), delta.len()] == [tiling.len(); 2] && (0..tiling.tiles()).all(tile_within)
	}
}

/// Returns whether inner steps from the parameters `start` can have made `delta`, which has their length and tiles: see [`Reach`].
pub fn within_reach(train: &TrainConfig, tiling: &Tiling, start: &[f32], delta: &[f32]) -> bool {
	Reach::new(train, tiling).has(tiling, start, delta)
}

/// The longest side of a matrix.
fn longest_side(tiling: &Tiling) -> f64 {
	let matrices = tiling.shapes().filter(|[rows, _]| *rows > 1);
	let side = matrices.flatten().max().unwrap_or_default();
	f64::from(u32::try_from(side).unwrap_or(u32::MAX))
}

/// Returns whether a bridge is to start from the checkpoint of another cohort: it lies no further from the own one than the inner steps of
/// [`rounds_apart`] can have led. Others vote on the delta of a bridge by that, so that none is to start from one that lies further away.
pub fn can_be_siblings(train: &TrainConfig, tiling: &Tiling, [own, other]: [&Checkpoint; 2]) -> bool {
	let apart: Vec<f32> = own.params.iter().zip(&other.params).map(|(own, other)| own - other).collect();
	let rounds = rounds_apart(own.header.round, other.header.round);
	own.params.len() == other.params.len() && within_reach(&over_rounds(train, rounds), tiling, &own.params, &apart)
}

/// By how many rounds' inner steps checkpoints of two cohorts may be apart: by all rounds since the first checkpoint, which they have in common, but by [`APART`] at most.
pub fn rounds_apart(own: RoundIndex, other: RoundIndex) -> u32 {
	own.max(other).min(APART)
}

/// The same training with the inner steps of so many rounds in one.
pub fn over_rounds(train: &TrainConfig, rounds: u32) -> TrainConfig {
	TrainConfig { inner_steps: train.inner_steps.saturating_mul(rounds), ..train.clone() }
}

/// Rounds by whose inner steps cohorts are apart at most. What steps can reach is far more than what they make of a model, and bridges hold cohorts together; the more is allowed,
/// the larger a delta a false bridge may hand over.
const APART: u32 = 4;
/// Rounds that a number waits at most until a code says it: as many as a tile has numbers.
const WAITED: f64 = 1_024.0;
/// Side of a tile.
const SIDE: f64 = 32.0;

#[cfg(test)]
mod tests {
	use super::*;
	use crate::checkpoint::Header;
	use neuroshard_graph::resume::{adamw, muon};
	use neuroshard_kernels::{
		scalar,
		schedule::decay_factor,
		shape::{AdamW, MatDims, Start},
	};
	use neuroshard_types::{Aggregator, ModelConfig, F32, H256};
	use proptest::prelude::*;

	/// Returns a parameter after AdamW at its peak learning rate, by these gradients.
	fn trained(train: &TrainConfig, start: f32, gradients: &[f32]) -> f32 {
		let (mut p, mut m, mut v) = ([start], [0.0], [0.0]);
		for (gradient, t) in gradients.iter().zip(1..) {
			scalar::adamw(&adamw_at(train, t), &mut p, &mut m, &mut v, &[*gradient]);
		}
		p[0]
	}

	/// AdamW's scalars at the peak learning rate, in step `t` from 1.
	fn adamw_at(train: &TrainConfig, t: u64) -> AdamW {
		AdamW { lr: train.lr.get(), decay: decay_factor(train.lr.get(), train.weight_decay.get()), ..adamw(train, 0, t) }
	}

	fn config(steps: usize, [lr, beta1, beta2, eps, weight_decay]: [f32; 5]) -> TrainConfig {
		let inner_steps = u32::try_from(steps).unwrap();
		TrainConfig {
			inner_steps,
			commit_interval: inner_steps,
			lr: F32::new(lr),
			lr_min: F32::new(0.0),
			beta1: F32::new(beta1),
			beta2: F32::new(beta2),
			eps: F32::new(eps),
			weight_decay: F32::new(weight_decay),
			..TrainConfig::tiny()
		}
	}

	/// Gradients of any size that clipping leaves, many of them zero.
	fn gradient() -> impl Strategy<Value = f32> {
		let sized =
			(-40f32..6.0, any::<bool>()).prop_map(|(power, negative)| 10f32.powf(power).min(1e6) * if negative { -1.0 } else { 1.0 });
		prop_oneof![2 => sized, 1 => Just(0.0), 1 => -1e-3f32..1e-3]
	}

	/// A decay near 1 more often than not.
	fn beta(largest: f32) -> impl Strategy<Value = f32> {
		prop_oneof![Just(0.0), 0.0f32..0.99, 0.99f32..=largest, Just(largest)]
	}

	proptest! {
		#![proptest_config(ProptestConfig::with_cases(2_000))]

		#[test]
		fn no_delta_of_an_accepted_configuration_is_out_of_reach(
			gradients in prop::collection::vec(gradient(), 1..300),
			start in prop_oneof![Just(0.0f32), -1e3f32..1e3],
			(beta1, beta2) in (beta(0.9999), beta(0.999_999)),
			eps in (-16f32..0.0).prop_map(|power| 10f32.powf(power).max(1e-16)),
			(lr, weight_decay) in (0.0f32..=1.0, 0.0f32..=1.0),
		) {
			let betas = if beta1 <= beta2 { [beta1, beta2] } else { [beta2, beta1] };
			let train = config(gradients.len(), [lr, betas[0], betas[1], eps, weight_decay]);
			prop_assert_eq!(train.validate(&ModelConfig::tiny()), Ok(()));
			let delta = start - trained(&train, start, &gradients);
			prop_assert!(within_reach(&train, &Tiling::default(), &[start], &[delta]), "{delta} from {start}");
		}
	}

	#[test]
	fn one_gradient_after_many_zeros_moves_a_parameter_by_the_root_of_the_steps() {
		let train = config(100, [1e-3, 0.0, 0.999_999, 1e-16, 0.0]);
		let mut gradients = vec![0.0; 100];
		gradients[99] = 1.0;
		let change = trained(&train, 0.0, &gradients).abs();
		assert!((0.0099..0.0101).contains(&change), "{change}: ten times the learning rate");
	}

	#[test]
	fn a_step_of_muon_is_within_reach_however_long_a_side_of_its_matrix_is() {
		let (rows, cols) = (32, 16_384);
		let tiling = Tiling::new([(rows, cols)]);
		let adamw = config(1, [0.01, 0.9, 0.95, 1e-8, 0.0]);
		let with_muon = TrainConfig { optimizer: Optimizer::Muon { momentum: F32::new(0.95) }, ..adamw.clone() };
		// A gradient of one number is the direction itself, with a singular value of 1; orthogonalised it is that as well, or nearly.
		let (mut u, zeros) = (vec![0.0; rows * cols], vec![0.0; rows * cols]);
		let gradient: Vec<f32> = (0..rows * cols).map(|at| if at == 77 { 1.0 } else { 0.0 }).collect();
		let step = muon(&adamw_at(&adamw, 1), 0.95, (rows, cols));
		scalar::muon_direction(&step, &zeros, &gradient, &mut u);
		let sum_squares = u.iter().map(|x| x * x).sum();
		scalar::muon_normalize(&mut u, sum_squares);
		for _ in 0..5 {
			let dims = |n, k| MatDims { m: rows, n, k };
			let (mut a, mut b, mut next) = (vec![0.0; rows * rows], vec![0.0; rows * rows], vec![0.0; rows * cols]);
			scalar::matmul_nt(dims(rows, cols), &u, &u, &mut a, Start::Zero);
			scalar::matmul_nt(dims(rows, rows), &a, &a, &mut b, Start::Zero);
			scalar::muon_polynomial(&a, &mut b, rows, 0);
			scalar::matmul_nn(dims(cols, rows), &b, &u, &mut next, Start::Zero);
			u = next;
		}
		let (mut p, mut m) = (zeros.clone(), zeros.clone());
		scalar::muon(&step, &mut p, &mut m, &gradient, &u);
		let delta: Vec<f32> = p.iter().map(|p| -p).collect();
		// 0.01 * 0.2 * 128 is 0.256.
		assert!((0.17..0.31).contains(&delta[77]), "{}", delta[77]);
		assert!(within_reach(&with_muon, &tiling, &zeros, &delta) && !within_reach(&adamw, &tiling, &zeros, &delta));
		// 4 * 0.01 * 128 / 4 is 1.28.
		let of = |change: f32| gradient.iter().map(|x| x * change).collect::<Vec<_>>();
		assert!(within_reach(&with_muon, &tiling, &zeros, &of(1.27)) && !within_reach(&with_muon, &tiling, &zeros, &of(1.29)));
	}

	#[test]
	fn a_bridge_starts_from_no_checkpoint_that_lies_further_away_than_steps_can_have_led() {
		let train = TrainConfig { inner_steps: 4, lr: F32::new(0.5), aggregator: Aggregator::Mean, ..TrainConfig::tiny() };
		let checkpoint = |round: u32, values: [f32; 2]| {
			let header = Header { run: 0, round, adopted_steps: 4 * u64::from(round), params: H256::zero(), momentum: H256::zero() };
			Checkpoint { header, params: values.to_vec(), momentum: vec![0.0; 2] }
		};
		let own = checkpoint(2, [1.0, -1.0]);
		let siblings = |round, values| can_be_siblings(&train, &Tiling::default(), [&own, &checkpoint(round, values)]);
		// Three rounds of four steps: 4 * 0.5 * 12 * sqrt(12) = 83.1, and twice the own parameter.
		assert!(siblings(3, [-84.0, 84.0]) && siblings(3, [86.0, -1.0]));
		assert!(!siblings(3, [-84.2, -1.0]) && !siblings(3, [1.0, -86.2]));
		// Two: 45.3. What is no number is nowhere.
		assert!(siblings(1, [48.0, -1.0]) && !siblings(1, [48.5, -1.0]));
		assert!(!siblings(3, [f32::NAN, 0.0]) && !siblings(3, [0.0, f32::INFINITY]));
		// However many rounds it were, those of four: 4 * 0.5 * 16 * sqrt(16) = 128, and twice the own parameter.
		for round in [4, 5, 1_000_000] {
			assert!(siblings(round, [130.9, -1.0]) && !siblings(round, [131.1, -1.0]), "round {round}");
		}
	}

	#[test]
	fn what_is_beyond_reach_is_noticed_in_any_place() {
		// 4 * 0.01 * 100 * 10.
		let train = config(100, [0.01, 0.9, 0.95, 1e-8, 0.1]);
		let start = [0.0, 0.5, -2.0];
		assert!(within_reach(&train, &Tiling::default(), &start, &[39.9, -40.9, 43.9]));
		for (place, value) in [(0, 40.1), (1, -41.1), (2, 44.1), (2, -44.1), (1, 1e38)] {
			let mut delta = [0.0; 3];
			delta[place] = value;
			assert!(!within_reach(&train, &Tiling::default(), &start, &delta), "{value} in place {place}");
		}
		assert!(
			!within_reach(&train, &Tiling::default(), &start, &[0.0; 2]) && !within_reach(&train, &Tiling::default(), &[0.0], &[f32::NAN])
		);
	}
}
