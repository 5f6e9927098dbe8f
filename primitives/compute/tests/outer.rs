//! Aggregation and the outer step against numbers worked out by hand.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{every_rule, steps_behind};
use neuroshard_compute::{exec, native::Level};
use neuroshard_graph::{
	outer::{effective_trim, AggregateError},
	Aggregator, Robust, Rule, F32,
};
use neuroshard_kernels::shape::Tiling;
use proptest::prelude::*;

/// The pseudo-gradient of vectors with one row.
fn aggregated(deltas: &[&[f32]], aggregator: Aggregator) -> Vec<f32> {
	let mut out = vec![0.0; deltas[0].len()];
	let executor = exec::Exec::new(1).unwrap();
	exec::aggregate(&executor, &Tiling::new([(1, out.len())]), deltas, &[], aggregator, &mut out).unwrap();
	out
}

#[test]
fn mean_and_trimmed_mean_match_hand_computation() {
	let deltas: [&[f32]; 5] = [&[1.0, -4.0], &[2.0, 0.5], &[100.0, 0.25], &[3.0, 0.75], &[-50.0, 9.0]];
	assert_eq!(aggregated(&deltas[..2], Aggregator::Mean), [1.5, -1.75]);
	assert_eq!(aggregated(&deltas, Aggregator::TrimmedMean { trim: 1 }), [2.0, 0.5]);
	// Two deltas leave nothing to trim, five at most two at each end.
	assert_eq!(aggregated(&deltas[..2], Aggregator::TrimmedMean { trim: 3 }), [1.5, -1.75]);
	assert_eq!([1, 2, 3, 4, 5].map(|n| effective_trim(9, n)), [0, 0, 1, 1, 2]);
}

#[test]
fn robust_rules_match_hand_computation() {
	// Points on a line, of which the last is a lie.
	let deltas: [&[f32]; 5] = [&[0.0, 5.0], &[1.0, 5.0], &[2.0, 5.0], &[3.0, 5.0], &[100.0, 5.0]];
	let rule = |rule| aggregated(&deltas, Aggregator::Robust(Robust { clip: F32::new(0.0), rule }));
	assert_eq!(rule(Rule::Mean), [21.2, 5.0]);
	assert_eq!(rule(Rule::Median), [2.0, 5.0]);
	assert_eq!(rule(Rule::TrimmedMean { trim: 1 }), [2.0, 5.0]);
	// Sums of three squared distances: 14, 6, 6, 14, and far more.
	assert_eq!(rule(Rule::Krum { liars: 1 }), [1.0, 5.0]);
	assert_eq!(rule(Rule::MultiKrum { liars: 1 }), [1.5, 5.0]);
	assert_eq!(rule(Rule::MultiKrum { liars: 9 }), [1.5, 5.0], "five deltas bear one liar");
	// Five deltas bear one liar, so that each is mixed with the three that are nearest: means of 1.5, of which there are four, and 26.5 of 2, 3, 1 and 100.
	assert_eq!(rule(Rule::CentredClipping { liars: 1, radius: F32::new(1.0), steps: 3 }), [1.5, 5.0]);
	assert_eq!(rule(Rule::GeometricMedian { liars: 1, floor: F32::new(0.1), steps: 3 }), [1.5, 5.0]);
	// A rule that bears none mixes each with all.
	let found = rule(Rule::CentredClipping { liars: 0, radius: F32::new(1.0), steps: 1 });
	assert!((found[0] - 21.2).abs() < 1e-5 && (found[1] - 5.0).abs() < 1e-6, "{found:?}");
	// Norms 0, 1, 2, 3, 100: the last two are shortened to 2.
	let flat: Vec<Vec<f32>> = [0.0f32, 1.0, 2.0, 3.0, 100.0].map(|x| vec![x, 0.0]).to_vec();
	let flat: Vec<&[f32]> = flat.iter().map(Vec::as_slice).collect();
	let clipped = aggregated(&flat, Aggregator::Robust(Robust { clip: F32::new(1.0), rule: Rule::Mean }));
	assert!((clipped[0] - 1.4).abs() < 1e-6 && clipped[1] == 0.0, "{clipped:?}");
}

#[test]
fn outer_step_matches_hand_computation() {
	let executor = exec::Exec::new(1).unwrap();
	let (mut theta, mut momentum) = ([1.0, -2.0], [0.5, 0.0]);
	exec::outer_step(&executor, &mut theta, &mut momentum, &[0.25, 4.0], 0.5, 0.5).unwrap();
	assert_eq!(momentum, [0.5, 4.0]);
	assert_eq!(theta, [1.0 - 0.5 * 0.5, -2.0 - 0.5 * 6.0]);
	// Learning rate 1 without momentum puts theta at the mean of the workers' parameters.
	let mut theta = [3.0];
	exec::outer_step(&executor, &mut theta, &mut [0.0], &[1.25], 1.0, 0.0).unwrap();
	assert_eq!(theta, [1.75]);
}

proptest! {
	#[test]
	fn all_cores_give_the_bits_of_one_without_vectors(
		deltas in prop::collection::vec(prop::collection::vec(-1e3f32..1e3, 70 * 40), 1..7),
		rule in 0usize..20,
	) {
		let deltas: Vec<&[f32]> = deltas.iter().map(Vec::as_slice).collect();
		let aggregator = every_rule().get(rule).map_or(Aggregator::Mean, |&robust| Aggregator::Robust(robust));
		let bits = |executor: exec::Exec| {
			let mut out = vec![0.0; 70 * 40];
			let steps = steps_behind(aggregator, deltas.len());
			exec::aggregate(&executor, &Tiling::new([(70, 40)]), &deltas, &steps, aggregator, &mut out).unwrap();
			out.into_iter().map(f32::to_bits).collect::<Vec<_>>()
		};
		let portable = exec::Exec::with_level(1, Level::Portable).unwrap();
		prop_assert_eq!(bits(portable), bits(exec::Exec::new(2).unwrap()));
	}
}

#[test]
fn deltas_weigh_by_the_inner_steps_behind_them() {
	let aggregate = |clip: f32, deltas: &[&[f32]], steps: &[u32]| {
		let aggregator = Aggregator::Robust(Robust { clip: F32::new(clip), rule: Rule::WeightedMean { least_steps: 1 } });
		let mut out = [0.0; 2];
		exec::aggregate(&exec::Exec::new(1).unwrap(), &Tiling::new([(1, 2)]), deltas, steps, aggregator, &mut out).unwrap();
		out
	};
	// 100 of 400 steps, and 300.
	assert_eq!(aggregate(0.0, &[&[4.0, -8.0], &[8.0, 0.0]], &[100, 300]), [7.0, -2.0]);
	assert_eq!(aggregate(0.0, &[&[4.0, -8.0]], &[100]), [4.0, -8.0]);
	// Norms 3, 4 and 8: the last one is halved first.
	assert_eq!(aggregate(1.0, &[&[3.0, 0.0], &[0.0, 4.0], &[8.0, 0.0]], &[10, 10, 20]), [2.75, 1.0]);
}

#[test]
fn aggregation_refuses_mismatched_vectors() {
	let executor = exec::Exec::new(1).unwrap();
	let mut out = [0.0; 2];
	let tiling = Tiling::new([(1, 2)]);
	let mut aggregate =
		|deltas: &[&[f32]], steps: &[u32], aggregator| exec::aggregate(&executor, &tiling, deltas, steps, aggregator, &mut out);
	assert_eq!(aggregate(&[], &[], Aggregator::Mean), Err(AggregateError::Count(0)));
	assert_eq!(aggregate(&[&[1.0]], &[], Aggregator::Mean), Err(AggregateError::Length(2, 1)));
	let weighted = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps: 1 } });
	assert_eq!(aggregate(&[&[1.0, 1.0], &[1.0, 1.0]], &[3], weighted), Err(AggregateError::Steps { steps: 1, deltas: 2 }));
	assert_eq!(aggregate(&[&[1.0, 1.0], &[1.0, 1.0]], &[3, 3], Aggregator::Mean), Err(AggregateError::Steps { steps: 2, deltas: 2 }));
	assert_eq!(exec::outer_step(&executor, &mut out, &mut [0.0], &[0.0; 2], 1.0, 0.0), Err(AggregateError::Length(2, 1)));
}
