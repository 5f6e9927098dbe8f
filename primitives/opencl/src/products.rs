//! Products on a device: in f32 by tiles of the shape that is fastest there, in exact int8 by quantized blocks.

use crate::{
	backend::{
		existing, number,
		Argument::{self, Float, Memory, Number, Offset},
		ITEMS, SIDE,
	},
	Arena, OpenCl,
};
use neuroshard_compute::exec::{At, Backend};
use neuroshard_graph::graph::Product;
use neuroshard_kernels::shape::{tile_count, MatDims, Start, SEGMENT, TILE};
use std::{
	sync::{Mutex, PoisonError},
	time::{Duration, Instant},
};

/// Outputs that a work-item has, below and beside each other, and the kernels of [`Product::Nt`], [`Product::Nn`] and [`Product::Tn`] that give it so many.
struct Shape {
	down: usize,
	across: usize,
	kernels: [&'static str; 3],
}

const SHAPES: [Shape; 4] = [
	Shape { down: 1, across: 4, kernels: ["matmul_nt_1x4", "matmul_nn_1x4", "matmul_tn_1x4"] },
	Shape { down: 2, across: 2, kernels: ["matmul_nt_2x2", "matmul_nn_2x2", "matmul_tn_2x2"] },
	Shape { down: 4, across: 4, kernels: ["matmul_nt_4x4", "matmul_nn_4x4", "matmul_tn_4x4"] },
	Shape { down: 8, across: 8, kernels: ["matmul_nt_8x8", "matmul_nn_8x8", "matmul_tn_8x8"] },
];
/// The one that is used where none is measured.
const USUAL: usize = 2;
/// Rows up to which a product has few: those of answers have.
const FEW: usize = 32;
/// Products that are measured: as those of steps, and with few rows.
const MEASURED: [MatDims; 2] = [MatDims { m: 2_048, n: 2_048, k: 256 }, MatDims { m: 16, n: 2_048, k: 1_024 }];
/// Runs of which the fastest counts, and launches of each.
const RUNS: usize = 3;
const LAUNCHES: usize = 2;

/// Which shape is the fastest, by the kind of product and whether it has few rows. Measured when the first such product is computed; no bit depends on it.
pub(crate) struct Tiles {
	measured: [MatDims; 2],
	chosen: Mutex<[[Option<usize>; 2]; 3]>,
}

impl Default for Tiles {
	fn default() -> Self {
		Self { measured: MEASURED, chosen: Mutex::default() }
	}
}

fn kernel_of(kind: Product) -> usize {
	match kind {
		Product::Nn => 1,
		Product::Tn => 2,
		_ => 0,
	}
}

impl OpenCl {
	/// A product in f32 of two operands, each memory and offset, into a third.
	pub(crate) fn multiply_tiles(&self, kind: Product, operands: &[Argument; 6], dims: MatDims, segment: usize, start: Start) {
		let kernel = kernel_of(kind);
		let shape = self.tiles.as_ref().map_or(USUAL, |tiles| {
			let few = usize::from(dims.m <= FEW);
			let mut chosen = tiles.chosen.lock().unwrap_or_else(PoisonError::into_inner);
			*chosen[kernel][few].get_or_insert_with(|| self.fastest(kernel, tiles.measured[few]).unwrap_or(USUAL))
		});
		self.multiply_in(&SHAPES[shape], kernel, operands, dims, segment, start);
	}

	/// The same by tiles of a shape.
	fn multiply_in(&self, shape: &Shape, kernel: usize, operands: &[Argument; 6], dims: MatDims, segment: usize, start: Start) {
		let MatDims { m, n, k } = dims;
		let sizes = [number(m), number(n), number(k), number(segment), existing(start)];
		let groups = [n.div_ceil(16 * shape.across) * ITEMS, m.div_ceil(16 * shape.down) * ITEMS];
		self.launch(shape.kernels[kernel], groups, [ITEMS, ITEMS], &[&operands[..], &sizes].concat());
	}

	/// The shape that is fastest for a product; `None` if the device fails.
	fn fastest(&self, kernel: usize, dims: MatDims) -> Option<usize> {
		let MatDims { m, n, k } = dims;
		let mut kept = self.scratch();
		let from = self.scratch_room(&mut kept[0], (m + n) * k)?;
		let to = self.scratch_room(&mut kept[1], m * n)?;
		self.each("fill", (m + n) * k, &[Memory(from), Offset(0), Float(1.0)]);
		let operands = [Memory(from), Offset(0), Memory(from), Offset((m * k) as u64), Memory(to), Offset(0)];
		let mut best = (Duration::MAX, USUAL);
		for (number, shape) in SHAPES.iter().enumerate() {
			// The first run warms up.
			for run in 0..=RUNS {
				self.settled().ok()?;
				let begun = Instant::now();
				(0..LAUNCHES).for_each(|_| self.multiply_in(shape, kernel, &operands, dims, SEGMENT, Start::Zero));
				self.settled().ok()?;
				if run > 0 {
					best = best.min((begun.elapsed(), number));
				}
			}
		}
		Some(best.1)
	}

	/// A product of operands that are quantized in blocks.
	pub(crate) fn product_of_blocks(&self, arena: &mut Arena, kind: Product, dims: MatDims, [a, b]: [At; 2], c: At, start: Start) {
		let MatDims { m, n, k } = dims;
		let turned = [kind == Product::Int8Tn, kind != Product::Int8Nt];
		let mut kept = self.scratch();
		let mut quantized = |operand: usize, x: At, lines: usize| {
			let (rows, cols) = if turned[operand] { (k, lines) } else { (lines, k) };
			// A block takes a quarter of its numbers, and a scale.
			let room = self.scratch_room(&mut kept[operand], tile_count(rows, cols) * (TILE * TILE / 4 + 1))?;
			let operands = [arena.memory(), arena.at(&x), Memory(room), number(rows), number(cols)];
			self.launch("quantize", [cols.div_ceil(TILE) * TILE, rows.div_ceil(TILE)], [TILE, 1], &operands);
			Some(Memory(room))
		};
		let (Some(left), Some(right)) = (quantized(0, a, m), quantized(1, b, n)) else { return };
		let segment = if kind == Product::Int8Tn { SEGMENT } else { k };
		let sides = Number(u32::from(turned[0]) | u32::from(turned[1]) << 1);
		let shape = [number(m), number(n), number(k), number(segment), existing(start), sides];
		let groups = [n.div_ceil(SIDE) * ITEMS, m.div_ceil(SIDE) * ITEMS];
		self.launch("matmul_blocks", groups, [ITEMS, ITEMS], &[&[arena.memory(), left, right, arena.at(&c)][..], &shape].concat());
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::devices;
	use neuroshard_compute::exec::Exec;
	use neuroshard_kernels::scalar;
	use std::sync::Arc;

	fn device(text: &str) -> OpenCl {
		let found = devices().unwrap().remove(0);
		OpenCl::of_text(&found, Arc::new(Exec::new(1).unwrap()), text).unwrap()
	}

	/// `len` numbers in [-1, 1).
	fn numbers(len: usize, seed: u32) -> Vec<f32> {
		(0..len as u32).map(|place| (place.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0).collect()
	}

	fn bits(values: &[f32]) -> Vec<u32> {
		values.iter().map(|value| value.to_bits()).collect()
	}

	#[test]
	fn tiles_of_every_shape_give_the_same_bits() {
		let device = device(&OpenCl::text(true));
		let products = [scalar::matmul_nt, scalar::matmul_nn, scalar::matmul_tn];
		for (kernel, product) in products.into_iter().enumerate() {
			for (m, n, k) in [(1, 1, 1), (5, 130, 33), (129, 70, 17), (3, 65, 4_100), (64, 128, 64)] {
				let (dims, segment) = (MatDims { m, n, k }, if kernel == 2 { SEGMENT } else { k });
				for start in [Start::Zero, Start::Existing] {
					let (a, b, mut expected) = (numbers(m * k, 1), numbers(k * n, 2), numbers(m * n, 3));
					let mut arena = device.arena(a.len() + b.len() + expected.len()).unwrap();
					let before = expected.clone();
					product(dims, &a, &b, &mut expected, start);
					for shape in &SHAPES {
						device.write(&mut arena, 0, &[&a[..], &b, &before].concat());
						let at = [0, a.len(), a.len() + b.len()].map(|at| [arena.memory(), Offset(at as u64)]).concat();
						device.multiply_in(shape, kernel, &at.try_into().ok().unwrap(), dims, segment, start);
						let found = device.view(&arena, a.len() + b.len()..device.len(&arena));
						assert!(bits(&found) == bits(&expected), "{}, {dims:?}, {start:?}", shape.kernels[kernel]);
					}
				}
			}
		}
		device.settled().unwrap();
	}

	#[test]
	fn the_fastest_tiles_are_measured_once_for_each_kind_of_product() {
		let mut device = device(&OpenCl::text(true));
		let measured = [MatDims { m: 64, n: 64, k: 64 }, MatDims { m: 1, n: 64, k: 64 }];
		device.tiles = Some(Tiles { measured, chosen: Mutex::default() });
		let mut arena = device.arena(3 * 64 * 64).unwrap();
		let chosen = |device: &OpenCl| *device.tiles.as_ref().unwrap().chosen.lock().unwrap();
		let product = |device: &OpenCl, arena: &mut Arena, m: usize| {
			let dims = MatDims { m, n: 64, k: 64 };
			device.product(arena, Product::Nn, dims, [0..m * 64, 4_096..8_192], 8_192..8_192 + m * 64, Start::Zero);
		};
		product(&device, &mut arena, 64);
		let found = chosen(&device);
		assert!(found[1][0].is_some() && found.iter().flatten().flatten().count() == 1, "{found:?}");
		// What was measured is kept, whatever it is.
		device.tiles = Some(Tiles { measured, chosen: Mutex::new([[Some(0); 2]; 3]) });
		product(&device, &mut arena, 8);
		assert_eq!(chosen(&device), [[Some(0); 2]; 3]);
		device.settled().unwrap();
	}

	#[test]
	fn sums_of_the_extension_for_dot_products_are_those_by_hand() {
		// A driver that has it: four numbers of 8 bits and signs in each word.
		let extension = "#define cl_khr_integer_dot_product 1\n#define __opencl_c_integer_dot_product_input_4x8bit_packed 1\n\
			int dot_4x8packed_ss_int(uint a, uint b) {\n\
				int sum = 0;\n\
				for (int i = 0; i < 32; i += 8)\n\
					sum += ((int)(a << (24 - i)) >> 24) * ((int)(b << (24 - i)) >> 24);\n\
				return sum;\n\
			}\n";
		let [own, by_hand] = [extension.to_owned() + &OpenCl::text(false), OpenCl::text(false)].map(|text| device(&text));
		let product = |device: &OpenCl, kind, dims: MatDims| {
			let MatDims { m, n, k } = dims;
			let [a, b, c] = [m * k, k * n, m * n];
			let mut arena = device.arena(a + b + c).unwrap();
			device.write(&mut arena, 0, &[numbers(a, 5), numbers(b, 6)].concat());
			device.product(&mut arena, kind, dims, [0..a, a..a + b], a + b..a + b + c, Start::Zero);
			let found = bits(&device.view(&arena, a + b..a + b + c));
			device.settled().unwrap();
			found
		};
		for kind in [Product::Int8, Product::Int8Nt, Product::Int8Nn, Product::Int8Tn] {
			let dims = MatDims { m: 70, n: 35, k: 65 };
			assert!(product(&own, kind, dims) == product(&by_hand, kind, dims), "{kind:?}");
		}
	}
}
