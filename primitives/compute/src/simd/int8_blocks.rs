//! Operands of products in exact int8 with square blocks, quantized and packed as [`super::int8`] multiplies them.

use super::{
	int8::{activations, Activations, Block, BIAS, QUAD},
	kernels, LANES,
};
use neuroshard_kernels::{
	scalar::{Group, Square},
	shape::TILE,
};

/// Which neighbours of a tensor are a line, a chain's numbers; with the length of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lines {
	/// Rows of so many numbers.
	Rows(usize),
	/// Columns, so many of them.
	Columns(usize),
}

impl Lines {
	/// Lines of `x` from line `first` on, 32 of them at most.
	#[inline(always)]
	fn from(self, x: &[f32], first: usize) -> usize {
		let all = match self {
			Self::Rows(cols) => x.len() / cols,
			Self::Columns(cols) => cols,
		};
		(all - first).min(TILE)
	}
}

/// Quads of a block's lines: neighbours of each line four by four, lowest byte first.
type Quads = [[u32; TILE]; TILE / QUAD];

/// Block (`row`, `col`) of `x`, whose rows have `cols` numbers; zeros beyond the edge.
#[inline(always)]
fn block(x: &[f32], cols: usize, row: usize, col: usize) -> Square {
	let mut numbers = [0.0f32; TILE * TILE];
	let (first, width) = (col * TILE, TILE.min(cols - col * TILE));
	for (line, from) in numbers.as_chunks_mut::<TILE>().0.iter_mut().zip(x[row * TILE * cols..].chunks_exact(cols)) {
		match from[first..].first_chunk::<TILE>() {
			Some(whole) => *line = *whole,
			None => line[..width].copy_from_slice(&from[first..]),
		}
	}
	Square::of(&numbers)
}

/// Quads of the columns.
#[inline(always)]
fn of_columns(values: &[i8; TILE * TILE]) -> Quads {
	let mut quads = [[0; TILE]; TILE / QUAD];
	for (quads, rows) in quads.iter_mut().zip(values.as_chunks::<{ QUAD * TILE }>().0) {
		for (column, quad) in quads.iter_mut().enumerate() {
			let byte = |row: usize| u32::from(rows[row * TILE + column] as u8);
			*quad = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
		}
	}
	quads
}

/// Quads of the rows.
#[inline(always)]
fn of_rows(values: &[i8; TILE * TILE]) -> Quads {
	let mut quads = [[0; TILE]; TILE / QUAD];
	for (row, values) in values.as_chunks::<TILE>().0.iter().enumerate() {
		for (quads, quad) in quads.iter_mut().zip(values.as_chunks::<QUAD>().0) {
			quads[row] = u32::from_le_bytes(quad.map(|value| value as u8));
		}
	}
	quads
}

/// Block `at` of the chains of lines `first..first + 32`.
#[inline(always)]
fn of_lines(x: &[f32], lines: Lines, first: usize, at: usize) -> Square {
	match lines {
		Lines::Rows(cols) => block(x, cols, first / TILE, at),
		Lines::Columns(cols) => block(x, cols, at, first / TILE),
	}
}

kernels! {
	/// Quantizes up to 32 lines of the left operand, from line `first` on, a multiple of 32, into the groups of `out`.
	#[allow(unused_unsafe, reason = "what is written for one block is compiled for each instruction set as it is")]
	fn left<I>(x: &[f32], lines: Lines, first: usize, out: &mut [Activations]) {
		let count = lines.from(x, first);
		let groups = out.len() / count;
		for at in 0..groups {
			let Square { mut values, scale } = of_lines(x, lines, first, at);
			if let Lines::Columns(_) = lines {
				let quads = of_columns(&values);
				for (line, values) in values.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
					for (values, quads) in values.as_chunks_mut::<QUAD>().0.iter_mut().zip(&quads) {
						*values = quads[line].to_le_bytes().map(|byte| byte as i8);
					}
				}
			}
			for (values, line) in values.as_chunks::<TILE>().0.iter().zip(out.chunks_exact_mut(groups)) {
				line[at] = activations(Group { values: *values, scale });
			}
		}
	}

	/// The same of the right operand, into panels of 16 lines.
	#[allow(unused_unsafe, reason = "what is written for one block is compiled for each instruction set as it is")]
	fn right<I>(x: &[f32], lines: Lines, first: usize, out: &mut [Block]) {
		let count = lines.from(x, first);
		let groups = out.len() / count.div_ceil(LANES);
		for at in 0..groups {
			let Square { values, scale } = of_lines(x, lines, first, at);
			let quads = match lines {
				Lines::Rows(_) => of_rows(&values),
				Lines::Columns(_) => of_columns(&values),
			};
			for (panel, blocks) in out.chunks_exact_mut(groups).enumerate() {
				let block = &mut blocks[at];
				block.scales = [scale; LANES];
				for (line, quads) in block.values.as_chunks_mut::<{ QUAD * LANES }>().0.iter_mut().zip(&quads) {
					for (to, quad) in line.as_chunks_mut::<QUAD>().0.iter_mut().zip(&quads[panel * LANES..]) {
						// With its bias each byte has the other sign bit.
						*to = (quad ^ 0x8080_8080).to_le_bytes();
					}
				}
			}
		}
	}
}

const _: () = assert!(BIAS == 128);
