//! Deltas, their codes, aggregation and the outer step: the device's have the bits of the CPU's, call by call and in whole rounds.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
#[path = "common/random.rs"]
mod random;

use common::{bits, device};
use core::convert::Infallible;
use neuroshard_compute::{
	exec::{decode_delta, take_outer_step, Arena, Backend, Combination, Deltas, Exec, OuterStep, StepMemory, Trainer},
	round::{run_round, RoundOutcome, RoundStart},
};
use neuroshard_graph::{
	commit::{checkpoint_root, tensors_root},
	config::{Aggregator, Code, Compressed, ModelConfig, Robust, Rule, TopK, TrainConfig, F32},
	init::theta_0,
	layout::ParamLayout,
	merkle::Hash,
};
use neuroshard_kernels::shape::{Distance, Measured, TILE};
use neuroshard_opencl::OpenCl;
use random::{Random, CODES};
use std::{ops::ControlFlow, sync::Arc};

#[test]
fn what_any_code_stands_for_has_the_bits_of_the_cpu() {
	let (device, exec) = (device(), Exec::new(1).unwrap());
	for seed in 0..60 {
		let mut random = Random(seed);
		let (code, tiling, kind) = (CODES[usize::try_from(seed).unwrap() % CODES.len()], random.tiling(), random.below(3));
		let len: usize = code.lengths(tiling.tiles()).into_iter().sum();
		let encoded: Vec<f32> = (0..len.next_multiple_of(TILE)).map(|_| random.number(kind)).collect();
		let [found, expected] = [Deltas::decode(&device, code, &tiling, &encoded), exec.decode(code, &tiling, &encoded)];
		assert!(bits(&found.unwrap()) == bits(&expected.unwrap()), "{code:?}, seed {seed}");
		assert_eq!(device.decode(code, &tiling, &encoded[1..]), exec.decode(code, &tiling, &encoded[1..]));
	}
	device.settled().unwrap();
}

#[test]
fn distances_of_any_vectors_have_the_bits_of_the_cpu() {
	let (device, exec) = (device(), Exec::new(1).unwrap());
	for seed in 0..40 {
		let mut random = Random(seed);
		let (tiling, kind, count) = (random.tiling(), random.below(3), random.within(1, 9));
		let mut numbers = |len: usize| (0..len).map(|_| random.number(kind)).collect::<Vec<f32>>();
		let vectors: Vec<Vec<f32>> = (0..count).map(|_| numbers(tiling.len())).collect();
		let factors = if seed % 2 == 0 { Vec::new() } else { numbers(count) };
		let vectors: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
		for from in [Distance::Pairs, Distance::Norms] {
			let (rows, cols) = from.block(count);
			let measured = Measured { tiling: &tiling, vectors: &vectors, factors: &factors };
			let [mut found, mut expected] = [(); 2].map(|()| vec![f32::NAN; tiling.segments() * rows * cols]);
			Deltas::distance_sums(&device, &measured, from, &mut found);
			exec.distance_sums(&measured, from, &mut expected);
			assert!(bits(&found) == bits(&expected), "{from:?}, seed {seed}");
		}
	}
	device.settled().unwrap();
}

#[test]
fn outer_steps_on_any_numbers_have_the_bits_of_the_cpu() {
	let (device, exec) = (device(), Exec::new(1).unwrap());
	for seed in 0..90 {
		let mut random = Random(seed);
		let (kind, len, count) = (random.below(3), random.one(&[1, 37, 1_000, 2_999]), random.within(1, 12));
		let trim = random.below(count.div_ceil(2));
		let mut numbers = |len: usize| (0..len).map(|_| random.number(kind)).collect::<Vec<f32>>();
		let deltas: Vec<Vec<f32>> = (0..count).map(|_| numbers(len)).collect();
		let combination = match seed % 4 {
			0 => Combination::Mean,
			1 => Combination::TrimmedMean { factors: Vec::new(), trim },
			2 => Combination::TrimmedMean { factors: numbers(count), trim },
			_ => Combination::WeightedSum(numbers(count)),
		};
		let (state, step) = ([numbers(len), numbers(len)], OuterStep { lr: numbers(1)[0], beta: numbers(1)[0] });
		let deltas: Vec<&[f32]> = deltas.iter().map(Vec::as_slice).collect();
		let (mut found, mut expected) = (state.clone(), state);
		device.step(&deltas, &combination, found.each_mut().map(Vec::as_mut_slice), step);
		exec.step(&deltas, &combination, expected.each_mut().map(Vec::as_mut_slice), step);
		assert!(found.map(|vector| bits(&vector)) == expected.map(|vector| bits(&vector)), "{combination:?}, seed {seed}");
	}
	device.settled().unwrap();
}

#[test]
fn vectors_beyond_a_window_have_the_bits_of_the_cpu() {
	let (device, exec) = (device(), Exec::new(2).unwrap());
	// Windows of an outer step on so many deltas have 16 Mi / (100 + 2) numbers, those of distances 163 tiles.
	let (count, layout) = (100, neuroshard_kernels::shape::Tiling::new([(3, 32), (1_500, 128)]));
	let mut random = Random(5);
	let deltas: Vec<Vec<f32>> = (0..count).map(|_| (0..layout.len()).map(|_| random.number(1)).collect()).collect();
	let deltas: Vec<&[f32]> = deltas.iter().map(Vec::as_slice).collect();
	let measured = Measured { tiling: &layout, vectors: &deltas, factors: &[] };
	let (rows, cols) = Distance::Pairs.block(count);
	let [mut found, mut expected] = [(); 2].map(|()| vec![0.0; layout.segments() * rows * cols]);
	Deltas::distance_sums(&device, &measured, Distance::Pairs, &mut found);
	exec.distance_sums(&measured, Distance::Pairs, &mut expected);
	assert!(bits(&found) == bits(&expected));
	let (mut found, step) = ([(); 2].map(|()| vec![0.5; layout.len()]), OuterStep { lr: 0.7, beta: 0.9 });
	let mut expected = found.clone();
	let median = Combination::TrimmedMean { factors: Vec::new(), trim: 49 };
	device.step(&deltas, &median, found.each_mut().map(Vec::as_mut_slice), step);
	exec.step(&deltas, &median, expected.each_mut().map(Vec::as_mut_slice), step);
	assert!(found.map(|vector| bits(&vector)) == expected.map(|vector| bits(&vector)));
	device.settled().unwrap();
}

#[test]
fn where_a_device_is_lost_the_cpu_does_what_is_left() {
	let (device, exec) = (device(), Exec::new(1).unwrap());
	let mut arena = device.arena(64).unwrap();
	// More than it has.
	let dims = neuroshard_kernels::shape::AttentionDims { batch: 1, seq: 1 << 20, heads: 1, kv_heads: 1, head_dim: 2 };
	device.attention_backward(&mut arena, dims, [0..2, 2..4, 4..6, 6..8, 8..10], [10..12, 12..14, 14..16]);
	device.settled().unwrap_err();
	let (deltas, step) = ([&[1.0f32, 2.0][..], &[3.0, 4.0]], OuterStep { lr: 1.0, beta: 0.0 });
	let mut state = [vec![10.0, 20.0], vec![0.0; 2]];
	device.step(&deltas, &Combination::Mean, state.each_mut().map(Vec::as_mut_slice), step);
	assert_eq!(state, [vec![8.0, 17.0], vec![2.0, 3.0]]);
	let tiling = neuroshard_kernels::shape::Tiling::new([(1, 32)]);
	let encoded: Vec<f32> = (0..288).map(|number| f32::from_bits(number * 0x0101)).collect();
	assert_eq!(device.decode(Code::Int8, &tiling, &encoded), exec.decode(Code::Int8, &tiling, &encoded));
	let vectors = [&[3.0f32; 32][..], &[1.0; 32]];
	let mut sums = vec![f32::NAN; 32 * 32];
	Deltas::distance_sums(&device, &Measured { tiling: &tiling, vectors: &vectors, factors: &[] }, Distance::Pairs, &mut sums);
	assert_eq!(sums[1], 128.0);
}

/// What two rounds come to: their work, and the checkpoint behind each.
type Rounds = Vec<(RoundOutcome, [Vec<u32>; 2], Hash)>;

fn rounds<B: Backend + Deltas>(backend: Arc<B>, (model, train): (&ModelConfig, &TrainConfig), arena: &mut B::Arena) -> Rounds {
	let mut trainer = Trainer::with_memory(backend.clone(), model, train, StepMemory::default()).unwrap();
	let layout = ParamLayout::trained(model, train).unwrap();
	let (mut theta, mut momentum, mut residual) = (theta_0(model, &layout, &train.seed), vec![0.0; layout.len()], None::<Vec<f32>>);
	let mut rounds = Vec::new();
	for round in 0..2 {
		let read = |step: u32, sequence: u32, tokens: &mut [u32]| {
			let token = |place: u32| (place * 7_919 + step * 77 + sequence * 13 + round) % 1_009 % model.vocab;
			(0..).zip(tokens).for_each(|(place, slot)| *slot = token(place));
			Ok::<_, Infallible>(())
		};
		let start = RoundStart { residual: residual.as_deref(), ..RoundStart::new(&theta, round) };
		let outcome = run_round(&mut trainer, arena, start, read, |_| ControlFlow::Continue(()), |_| ()).unwrap();
		let said = decode_delta(train, &*backend, &layout, outcome.delta.clone()).unwrap();
		let deltas: Vec<Vec<f32>> = [1.0, -0.5, 3.0, 0.75].map(|factor| said.iter().map(|x| factor * x).collect()).to_vec();
		take_outer_step(&*backend, &layout, train, &mut theta, &mut momentum, &deltas, &[]).unwrap();
		backend.settled().unwrap();
		let root = checkpoint_root(&tensors_root(&layout, &theta, 1), &tensors_root(&layout, &momentum, 1), round + 1, 0);
		residual = outcome.residual.as_ref().map(|residual| residual.after.clone());
		rounds.push((outcome, [bits(&theta), bits(&momentum)], root));
	}
	rounds
}

#[test]
fn whole_rounds_have_the_bits_of_the_cpu_with_every_code_and_rule() {
	let (device, exec): (Arc<OpenCl>, _) = (Arc::new(device()), Arc::new(Exec::new(2).unwrap()));
	let model = ModelConfig::tiny();
	let robust = |clip: f32, rule| Robust { clip: F32::new(clip), rule };
	let compressed = |code, rule| Aggregator::Compressed(Compressed { code, robust: robust(1.0, rule) });
	let top = |cosine| Code::TopK(TopK { numbers: 8, decay: F32::new(0.9), cosine });
	let aggregators = [
		Aggregator::Mean,
		Aggregator::TrimmedMean { trim: 1 },
		Aggregator::Robust(robust(1.0, Rule::Median)),
		Aggregator::Robust(robust(0.5, Rule::GeometricMedian { liars: 0, floor: F32::new(0.1), steps: 2 })),
		compressed(Code::Int8, Rule::MultiKrum { liars: 0 }),
		compressed(top(false), Rule::MixedKrum { liars: 0 }),
		compressed(top(true), Rule::Mean),
	];
	for aggregator in aggregators {
		let outer = (F32::new(0.7), F32::new(0.9));
		let train = TrainConfig { outer_lr: outer.0, outer_beta: outer.1, aggregator, ..TrainConfig::tiny() };
		let train = TrainConfig { inner_steps: 2, commit_interval: 2, ..train };
		let len = usize::try_from(StepMemory::default().arena_len(&model, &train).unwrap()).unwrap();
		let expected = rounds(exec.clone(), (&model, &train), &mut Arena::new(len));
		let found = rounds(device.clone(), (&model, &train), &mut device.arena(len).unwrap());
		assert!(found == expected, "{aggregator:?}");
	}
}
