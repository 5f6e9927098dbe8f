//! Calls of every operator with random shapes and numbers: the device leaves the bits in its arena that the CPU leaves in one.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
#[path = "common/random.rs"]
mod random;

use common::{bits, device};
use neuroshard_compute::exec::{At, Backend, Exec, RmsInput};
use neuroshard_graph::{config::Code, graph::Product};
use neuroshard_kernels::{
	scalar::NO_TARGET,
	shape::{tile_count, AdamW, AttentionDims, MatDims, Muon, RopeDims, Start, Tiling, TILE},
};
use neuroshard_opencl::OpenCl;
use random::{Random, CODES};

/// Calls of each test, of every operator in turn; `NEUROSHARD_CALLS` takes more.
fn calls() -> u64 {
	std::env::var("NEUROSHARD_CALLS").map_or(600, |calls| calls.parse().unwrap())
}

/// An arena of operands one after the other.
struct Room<'a> {
	random: &'a mut Random,
	kind: usize,
	arena: Vec<f32>,
}

impl Room<'_> {
	/// Room for `len` numbers, with some between it and the next.
	fn take(&mut self, len: usize) -> At {
		let first = self.arena.len();
		let gap = self.random.below(3);
		for _ in 0..len + gap {
			let number = self.random.number(self.kind);
			self.arena.push(number);
		}
		first..first + len
	}
}

/// A call of an operator.
#[derive(Clone, Debug)]
enum Call {
	Fill(At, f32),
	Copy(At, usize),
	Gather(At, usize, Vec<u32>, At),
	ScatterAdd(At, usize, Vec<u32>, At),
	CountTargets(Vec<u32>, At),
	RmsStats(At, usize, f32, At),
	RmsApply([At; 4]),
	RmsBackwardStats(RmsInput, At),
	RmsBackwardApply(RmsInput, At, At, Start),
	RmsWeightGrad([At; 3], usize, At, Start),
	AddBias(At, At),
	ColumnSums(At, At, Start),
	Scale(At, f32),
	AddAssign(At, At),
	Rope(RopeDims, At, [Vec<f32>; 2], bool),
	Product(Product, MatDims, [At; 2], At, Start),
	AttentionForward(AttentionDims, [At; 3], At),
	AttentionBackward(AttentionDims, [At; 5], [At; 3]),
	SwigluForward([At; 3]),
	SwigluBackward([At; 3], [At; 2]),
	CrossEntropyStats(At, usize, [At; 2]),
	CrossEntropyLoss([At; 3], usize, Vec<u32>, At),
	CrossEntropyBackward([At; 3], usize, Vec<u32>, f32),
	PartialSums(At, At),
	TileSumSquares(At, usize, usize, At),
	TreeSum(At, usize),
	AdamW(Box<AdamW>, [At; 3], At),
	MuonDirection(Muon, [At; 3]),
	MuonNormalize(At, usize),
	MuonPolynomial([At; 2], usize),
	Muon(Muon, [At; 2], [At; 2]),
	Delta(Vec<f32>, At, Option<f32>, At),
	IsFinite(At, usize),
	Encode(Code, Tiling, At, At),
}

/// Operators above.
const OPERATORS: u64 = 34;

impl Call {
	/// A call of operator `which` with what it needs in an arena.
	fn new(which: u64, random: &mut Random) -> (Self, Vec<f32>) {
		let kind = random.below(3);
		let start = random.one(&[Start::Zero, Start::Existing]);
		let (rows, cols, factor) = (random.within(1, 70), random.within(1, 90), random.number(kind));
		let ids: Vec<u32> = (0..rows).map(|_| u32::try_from(random.below(9)).unwrap()).collect();
		let targets: Vec<u32> =
			(0..rows).map(|_| if random.below(4) == 0 { NO_TARGET } else { u32::try_from(random.below(cols)).unwrap() }).collect();
		let table: Vec<f32> = (0..512).map(|_| random.number(kind)).collect();
		let (heads, any) = (random.within(1, 3), random.within(1, 3_000));
		let dims = MatDims { m: rows, n: cols, k: random.one(&[1, 5, 16, 33, 100]) };
		let long = random.one(&[1, 40, 4_096, 4_097, 8_300]);
		let kv_heads = random.within(1, 2);
		let attention = AttentionDims {
			batch: random.within(1, 2),
			seq: random.within(1, 70),
			heads: kv_heads * random.within(1, 3),
			kv_heads,
			head_dim: 2 * random.within(1, 20),
		};
		let leaves = random.one(&[1, 1_000, 1_024, 1_025, 3_000]);
		let kind_of_product =
			random.one(&[Product::Nt, Product::Nn, Product::Tn, Product::Int8, Product::Int8Nt, Product::Int8Nn, Product::Int8Tn]);
		let back = random.below(2) == 0;
		let step = [(); 10].map(|()| random.number(kind));
		let [rate, momentum, decay, clip, ..] = step;
		let muon = Muon { rate, momentum, decay, clip };
		let mut room = Room { random, kind, arena: Vec::new() };
		let all = rows * cols;
		let rms = |room: &mut Room| RmsInput { dy: room.take(all), x: room.take(all), w: room.take(cols), r: room.take(rows) };
		let call = match which {
			0 => Self::Fill(room.take(all), factor),
			1 => Self::Copy(room.take(all), room.take(all).start),
			2 => Self::Gather(room.take(9 * cols), cols, ids, room.take(all)),
			3 => Self::ScatterAdd(room.take(all), cols, ids, room.take(9 * cols)),
			4 => Self::CountTargets(targets, room.take(rows)),
			5 => Self::RmsStats(room.take(all), cols, 1e-5, room.take(rows)),
			6 => Self::RmsApply([all, rows, cols, all].map(|len| room.take(len))),
			7 => Self::RmsBackwardStats(rms(&mut room), room.take(rows)),
			8 => Self::RmsBackwardApply(rms(&mut room), room.take(rows), room.take(all), start),
			9 => Self::RmsWeightGrad([all * heads, all * heads, rows * heads].map(|len| room.take(len)), heads, room.take(cols), start),
			10 => Self::AddBias(room.take(all), room.take(cols)),
			11 => Self::ColumnSums(room.take(all), room.take(cols), start),
			12 => Self::Scale(room.take(any), factor),
			13 => Self::AddAssign(room.take(any), room.take(any)),
			14 => {
				let dims = RopeDims { seq: 8, heads, head_dim: 8 };
				let tables = [&table[..32], &table[32..64]].map(<[f32]>::to_vec);
				Self::Rope(dims, room.take(3 * dims.seq * heads * dims.head_dim), tables, back)
			}
			15 => {
				// Chains over tokens have segments.
				let dims = if kind_of_product.over_tokens() { MatDims { m: rows % 9 + 1, n: cols % 9 + 1, k: long } } else { dims };
				let operands = [dims.m * dims.k, dims.k * dims.n].map(|len| room.take(len));
				Self::Product(kind_of_product, dims, operands, room.take(dims.m * dims.n), start)
			}
			16 => {
				let (queries, keys) = (attention.query_len(), attention.key_len());
				Self::AttentionForward(attention, [queries, keys, keys].map(|len| room.take(len)), room.take(queries))
			}
			17 => {
				let (queries, keys) = (attention.query_len(), attention.key_len());
				let input = [queries, keys, keys, queries, queries].map(|len| room.take(len));
				Self::AttentionBackward(attention, input, [queries, keys, keys].map(|len| room.take(len)))
			}
			18 => Self::SwigluForward([any; 3].map(|len| room.take(len))),
			19 => Self::SwigluBackward([any; 3].map(|len| room.take(len)), [any; 2].map(|len| room.take(len))),
			20 => Self::CrossEntropyStats(room.take(all), cols, [rows; 2].map(|len| room.take(len))),
			21 => Self::CrossEntropyLoss([all, rows, rows].map(|len| room.take(len)), cols, targets, room.take(rows)),
			22 => Self::CrossEntropyBackward([all, rows, rows].map(|len| room.take(len)), cols, targets, factor),
			23 => Self::PartialSums(room.take(any), room.take(any.div_ceil(TILE).next_multiple_of(TILE))),
			24 => Self::TileSumSquares(room.take(all), rows, cols, room.take(tile_count(rows, cols))),
			25 => Self::TreeSum(room.take(leaves), room.take(1).start),
			26 => Self::MuonDirection(muon, [any; 3].map(|len| room.take(len))),
			27 => Self::MuonNormalize(room.take(any), room.take(1).start),
			28 => Self::MuonPolynomial([rows * rows; 2].map(|len| room.take(len)), rows),
			29 => Self::Muon(muon, [any; 2].map(|len| room.take(len)), [any; 2].map(|len| room.take(len))),
			30 => {
				let base = room.take(any);
				let base = room.arena[base].to_vec();
				Self::Delta(base, room.take(any), back.then_some(factor), room.take(any))
			}
			31 => Self::IsFinite(room.take(if back { any } else { 1 }), room.take(1).start),
			32 => {
				let (code, tiling) = (room.random.one(&CODES), room.random.tiling());
				let x = room.take(tiling.len());
				let len: usize = code.lengths(tiling.tiles()).into_iter().sum();
				Self::Encode(code, tiling, x, room.take(len.next_multiple_of(TILE)))
			}
			_ => {
				let [lr, beta1, complement1, beta2, complement2, correction1, correction2, eps, decay, clip] = step;
				let step = AdamW { lr, beta1, complement1, beta2, complement2, correction1, correction2, eps, decay, clip };
				Self::AdamW(Box::new(step), [any; 3].map(|len| room.take(len)), room.take(any))
			}
		};
		(call, room.arena)
	}

	/// Calls it. What a sum of a tree leaves behind it is of no meaning.
	fn run<B: Backend>(&self, backend: &B, arena: &mut B::Arena) {
		match self.clone() {
			Self::Fill(at, value) => backend.fill(arena, at, value),
			Self::Copy(from, to) => backend.copy(arena, from, to),
			Self::Gather(table, dim, ids, out) => backend.embedding_gather(arena, table, dim, &ids, out),
			Self::ScatterAdd(dy, dim, ids, grad) => backend.embedding_scatter_add(arena, dy, dim, &ids, grad),
			Self::CountTargets(targets, out) => backend.count_targets(arena, &targets, out),
			Self::RmsStats(x, dim, eps, r) => backend.rms_stats(arena, x, dim, eps, r),
			Self::RmsApply([x, r, w, y]) => backend.rms_apply(arena, x, r, w, y),
			Self::RmsBackwardStats(input, k) => backend.rms_backward_stats(arena, input, k),
			Self::RmsBackwardApply(input, k, dx, start) => backend.rms_backward_apply(arena, input, k, dx, start),
			Self::RmsWeightGrad(input, heads, dw, start) => backend.rms_weight_grad(arena, input, heads, dw, start),
			Self::AddBias(x, b) => backend.add_bias(arena, x, b),
			Self::ColumnSums(dy, db, start) => backend.column_sums(arena, dy, db, start),
			Self::Scale(x, factor) => backend.scale(arena, x, factor),
			Self::AddAssign(x, y) => backend.add_assign(arena, x, y),
			Self::Rope(dims, x, tables, back) => {
				let tables = tables.map(|table| backend.table(table));
				backend.rope(arena, dims, x, tables.each_ref(), back);
			}
			Self::Product(kind, dims, operands, c, start) => backend.product(arena, kind, dims, operands, c, start),
			Self::AttentionForward(dims, input, o) => backend.attention_forward(arena, dims, input, o),
			Self::AttentionBackward(dims, input, gradients) => backend.attention_backward(arena, dims, input, gradients),
			Self::SwigluForward([gate, up, h]) => backend.swiglu_forward(arena, gate, up, h),
			Self::SwigluBackward(input, gradients) => backend.swiglu_backward(arena, input, gradients),
			Self::CrossEntropyStats(logits, vocab, [max, sum]) => backend.cross_entropy_stats(arena, logits, vocab, max, sum),
			Self::CrossEntropyLoss(input, vocab, targets, loss) => backend.cross_entropy_loss(arena, input, vocab, &targets, loss),
			Self::CrossEntropyBackward(input, vocab, targets, inv_n) => {
				backend.cross_entropy_backward(arena, input, vocab, &targets, inv_n)
			}
			Self::PartialSums(x, partials) => backend.partial_sums(arena, x, partials),
			Self::TileSumSquares(x, rows, cols, partials) => backend.tile_sum_squares(arena, x, rows, cols, partials),
			Self::TreeSum(values, to) => {
				backend.tree_sum(arena, values.clone(), to);
				backend.fill(arena, values, 0.0);
			}
			Self::AdamW(step, state, g) => backend.adamw(arena, &step, state, g),
			Self::MuonDirection(step, [m, g, u]) => backend.muon_direction(arena, &step, m, g, u),
			Self::MuonNormalize(x, squares) => backend.muon_normalize(arena, x, squares),
			Self::MuonPolynomial([a, aa], n) => backend.muon_polynomial(arena, a, aa, n),
			Self::Muon(step, state, [g, x]) => backend.muon(arena, &step, state, g, x),
			Self::Delta(base, end, decay, x) => backend.delta(arena, &base, end, decay, x),
			Self::IsFinite(x, out) => {
				let found = backend.is_finite(arena, x);
				backend.write(arena, out, &[if found { 1.0 } else { 0.0 }]);
			}
			Self::Encode(code, tiling, x, out) => {
				let numbers = backend.encode(arena, code, &tiling, x).unwrap();
				assert_eq!(numbers.len(), out.len());
				backend.write(arena, out.start, &numbers);
			}
		}
	}
}

fn agree(device: &OpenCl, exec: &Exec, which: u64, seed: u64) {
	let (call, mut expected) = Call::new(which, &mut Random(seed));
	let mut arena = device.arena(expected.len()).unwrap();
	device.write(&mut arena, 0, &expected);
	call.run(exec, &mut expected[..]);
	call.run(device, &mut arena);
	device.settled().unwrap();
	let found = device.view(&arena, 0..expected.len());
	let (found, expected) = (bits(&found), bits(&expected));
	let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
	assert!(wrong.is_none(), "operator {which}, seed {seed:#x}: element {wrong:?} of {}", expected.len());
}

#[test]
fn every_operator_leaves_the_bits_of_the_cpu() {
	let (device, exec) = (device(), Exec::new(1).unwrap());
	for call in 0..calls() {
		agree(&device, &exec, call % OPERATORS, call);
	}
}

#[test]
fn attention_in_several_launches_leaves_the_bits_of_the_cpu() {
	let (device, exec) = (device(), Exec::new(2).unwrap());
	// 2 x 3 x 2 heads of 1,200 queries are more than what is kept of probabilities at a time, as are those of two key heads.
	let dims = AttentionDims { batch: 2, seq: 1_200, heads: 6, kv_heads: 2, head_dim: 4 };
	let mut random = Random(1);
	let mut room = Room { random: &mut random, kind: 0, arena: Vec::new() };
	let (queries, keys) = (dims.query_len(), dims.key_len());
	let [q, k, v, o, d_o, dq, dk, dv] = [queries, keys, keys, queries, queries, queries, keys, keys].map(|len| room.take(len));
	let mut expected = room.arena;
	let mut arena = device.arena(expected.len()).unwrap();
	device.write(&mut arena, 0, &expected);
	let forward = Call::AttentionForward(dims, [q.clone(), k.clone(), v.clone()], o.clone());
	for call in [forward, Call::AttentionBackward(dims, [q, k, v, o, d_o], [dq, dk, dv])] {
		call.run(&exec, &mut expected[..]);
		call.run(&device, &mut arena);
	}
	device.settled().unwrap();
	assert!(bits(&device.view(&arena, 0..expected.len())) == bits(&expected));
}

#[test]
fn a_command_that_fails_is_told_and_none_follows_it() {
	let device = device();
	let mut arena = device.arena(64).unwrap();
	device.fill(&mut arena, 0..64, 1.0);
	// A sequence whose probabilities no buffer holds.
	let dims = AttentionDims { batch: 1, seq: 1 << 20, heads: 1, kv_heads: 1, head_dim: 2 };
	device.attention_backward(&mut arena, dims, [0..2, 2..4, 4..6, 6..8, 8..10], [10..12, 12..14, 14..16]);
	device.fill(&mut arena, 0..64, 2.0);
	let error = device.settled().unwrap_err();
	assert_eq!(error.what, "allocate memory");
	assert_eq!(device.settled(), Err(error));
}

#[test]
fn more_memory_than_the_device_has_is_refused_in_words() {
	let error = device().arena(usize::MAX / 8).map(drop).unwrap_err().to_string();
	assert!(error.contains("micro-batches"), "{error}");
}
