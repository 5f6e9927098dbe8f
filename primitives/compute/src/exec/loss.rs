//! Cross-entropy through the head, and its gradients: logits exist for some rows at a time, and one pass over a block of them gives all that
//! is needed of it.

use super::backend::{At, Backend};
use crate::native::{Exec, Shared};
use neuroshard_graph::graph::Product;
use neuroshard_kernels::shape::{MatDims, Start, SEGMENT};
use std::ops::Range;

/// The head's inputs: rows of a batch.
#[derive(Clone, Debug)]
pub(super) struct Head<'a> {
	/// `[rows, dim]` normalised activations.
	pub h: At,
	/// `[vocab, dim]` weights.
	pub w: At,
	/// The token that follows each row, or that it does not count.
	pub targets: &'a [u32],
	/// Rows of the batch before them.
	pub first: usize,
	/// Rows of the whole batch.
	pub tokens: usize,
}

/// What is measured of each row of logits.
#[derive(Clone, Debug)]
pub(super) struct Rows {
	/// Maximum.
	pub max: At,
	/// Sum of exponentials.
	pub sum: At,
	/// Cross-entropy.
	pub loss: At,
}

/// Gradients of the mean loss.
#[derive(Clone, Debug)]
pub(super) struct Gradients {
	/// `[rows, dim]`, of the normalised activations.
	pub dh: At,
	/// `[vocab, dim]`, of the weights; empty if they are not trained.
	pub dw: At,
	/// As `dw`, for what a later segment of the chains over tokens sums up; empty if there is none.
	pub later: At,
	/// One by the number of the batch's targets that count.
	pub inverse_count: f32,
}

/// Rows `all` of a batch in blocks of at most `most`, none of which reaches into two segments of the chains over tokens.
pub(crate) fn blocks(all: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
	let segments =
		core::iter::successors(Some(all.start), |first| Some((first / SEGMENT + 1) * SEGMENT)).take_while(move |first| *first < all.end);
	segments.flat_map(move |first| {
		let end = all.end.min((first / SEGMENT + 1) * SEGMENT);
		(first..end).step_by(most).map(move |first| first..end.min(first + most))
	})
}

/// What a block of rows is to the chains over tokens of a weight's gradient, no block reaching into two segments.
///
/// A chain over tokens goes on from the sum that is stored, up to the end of its segment. Those of later segments begin beside the gradient, and are
/// added in order.
struct Share {
	/// What its products start from.
	start: Start,
	/// Whether it belongs to the first segment, which is summed up in place.
	in_place: bool,
	/// Whether it ends a later segment.
	ends: bool,
}

impl Share {
	/// Of block `at` of `tokens` rows.
	fn new(at: &Range<usize>, tokens: usize) -> Self {
		let in_place = at.start < SEGMENT;
		Self {
			start: if at.start.is_multiple_of(SEGMENT) { Start::Zero } else { Start::Existing },
			in_place,
			ends: !in_place && (at.end.is_multiple_of(SEGMENT) || at.end == tokens),
		}
	}
}

/// Adds what the rows of block `at` of `tokens` rows give to the gradient of a weight: after the last block `dw` is what `matmul_tn` makes of all
/// rows. Later segments are summed up in `later`, of `dw`'s length if there is one. `shared`: as [`Backend::product_sharing`].
pub(super) fn add_to_weights<B: Backend>(
	backend: &B,
	arena: &mut B::Arena,
	(kind, shared): (Product, Shared),
	(at, tokens): (&Range<usize>, usize),
	[dy, x]: [At; 2],
	dw: At,
	later: At,
) {
	let (k, share) = (at.len(), Share::new(at, tokens));
	let dims = MatDims { m: dy.len() / k, n: x.len() / k, k };
	let to = if share.in_place { dw.clone() } else { later.clone() };
	backend.product_sharing(arena, kind, dims, [dy, x], to, (share.start, shared));
	if share.ends {
		backend.add_assign(arena, dw, later);
	}
}

/// The same outside an arena.
pub(crate) fn add_to_weights_of(
	exec: &Exec,
	(at, tokens): (&Range<usize>, usize),
	[dy, x]: [&[f32]; 2],
	dw: &mut [f32],
	later: &mut [f32],
) {
	let (k, share) = (at.len(), Share::new(at, tokens));
	let dims = MatDims { m: dy.len() / k, n: x.len() / k, k };
	exec.matmul_tn(dims, dy, x, if share.in_place { &mut *dw } else { &mut *later }, share.start);
	if share.ends {
		exec.add_assign(dw, later);
	}
}

/// Part `part` of `all`.
fn within(all: &At, part: &Range<usize>) -> At {
	all.start + part.start..all.start + part.end
}

impl Head<'_> {
	/// Computes losses, and gradients if they are asked for, with logits of at most `most` rows at a time in `block`. Equals `matmul_nt`,
	/// `cross_entropy_stats`, `cross_entropy_loss`, `cross_entropy_backward`, `matmul_nn` and `matmul_tn` on logits of all rows, bit for bit; the
	/// gradient of the weights once this has been done for all rows of the batch, in order.
	pub fn cross_entropy<B: Backend>(
		&self,
		backend: &B,
		arena: &mut B::Arena,
		(most, block): (usize, &At),
		rows: &Rows,
		gradients: Option<&Gradients>,
	) {
		let Self { h, w, targets: all, first, tokens } = self;
		let dim = h.len() / all.len();
		let vocab = w.len() / dim;
		for at in blocks(*first..first + all.len(), most) {
			let (m, here) = (at.len(), at.start - first..at.end - first);
			let (wide, targets) = (here.start * dim..here.end * dim, &all[here.clone()]);
			let (h, logits) = (within(h, &wide), within(block, &(0..m * vocab)));
			let [max, sum, loss] = [&rows.max, &rows.sum, &rows.loss].map(|all| within(all, &here));
			let dims = MatDims { m, n: vocab, k: dim };
			backend.product(arena, Product::Nt, dims, [h.clone(), w.clone()], logits.clone(), Start::Zero);
			backend.cross_entropy_stats(arena, logits.clone(), vocab, max.clone(), sum.clone());
			let measured = [logits.clone(), max, sum];
			backend.cross_entropy_loss(arena, measured.clone(), vocab, targets, loss);
			if let Some(Gradients { dh, dw, later, inverse_count }) = gradients {
				backend.cross_entropy_backward(arena, measured, vocab, targets, *inverse_count);
				let dims = MatDims { m, n: dim, k: vocab };
				backend.product(arena, Product::Nn, dims, [logits.clone(), w.clone()], within(dh, &wide), Start::Zero);
				if !dw.is_empty() {
					add_to_weights(
						backend,
						arena,
						(Product::Tn, Shared::default()),
						(&at, *tokens),
						[logits, h],
						dw.clone(),
						later.clone(),
					);
				}
			}
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_kernels::{
		num::canon_bits,
		scalar::{self, NO_TARGET},
		schedule,
	};

	/// `len` numbers in [-1, 1).
	fn fill(len: usize, seed: u32) -> Vec<f32> {
		let mut state = seed;
		let mut next = || {
			state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
			(state >> 8) as f32 / 8_388_608.0 - 1.0
		};
		(0..len).map(|_| next()).collect()
	}

	fn bits(values: &[f32]) -> Vec<u32> {
		values.iter().map(|&value| canon_bits(value)).collect()
	}

	/// Maxima, sums, losses, and gradients of activations and weights.
	type All = [Vec<u32>; 5];

	/// Activations, weights and targets.
	type Inputs<'a> = (&'a [f32], &'a [f32], &'a [u32]);

	/// By the reference on logits of all rows.
	fn expected((h, w, targets): Inputs, [tokens, vocab, dim]: [usize; 3]) -> All {
		let [mut max, mut sum, mut loss] = [(); 3].map(|()| vec![f32::NAN; tokens]);
		let [mut dh, mut dw] = [tokens, vocab].map(|rows| vec![f32::NAN; rows * dim]);
		let mut logits = vec![f32::NAN; tokens * vocab];
		scalar::matmul_nt(MatDims { m: tokens, n: vocab, k: dim }, h, w, &mut logits, Start::Zero);
		scalar::cross_entropy_stats(&logits, vocab, &mut max, &mut sum);
		scalar::cross_entropy_loss(&logits, vocab, targets, &max, &sum, &mut loss);
		scalar::cross_entropy_backward(&mut logits, vocab, targets, &max, &sum, schedule::reciprocal(tokens as u64));
		scalar::matmul_nn(MatDims { m: tokens, n: dim, k: vocab }, &logits, w, &mut dh, Start::Zero);
		scalar::matmul_tn(MatDims { m: vocab, n: dim, k: tokens }, &logits, h, &mut dw, Start::Zero);
		[max, sum, loss, dh, dw].map(|values| bits(&values))
	}

	fn found(exec: &Exec, (h, w, targets): Inputs, [tokens, vocab, dim]: [usize; 3], most: usize, backward: bool) -> All {
		let later = if tokens > SEGMENT { vocab * dim } else { 0 };
		let lens = [h.len(), w.len(), tokens, tokens, tokens, tokens * dim, vocab * dim, later, most * vocab];
		let mut end = 0;
		let [h_at, w_at, max, sum, loss, dh, dw, later, block] = lens.map(|len| {
			end += len;
			end - len..end
		});
		let mut arena = vec![f32::NAN; end];
		arena[h_at.clone()].copy_from_slice(h);
		arena[w_at.clone()].copy_from_slice(w);
		let head = Head { h: h_at, w: w_at, targets, first: 0, tokens };
		let inverse_count = schedule::reciprocal(tokens as u64);
		let gradients = Gradients { dh: dh.clone(), dw: dw.clone(), later, inverse_count };
		let rows = Rows { max: max.clone(), sum: sum.clone(), loss: loss.clone() };
		head.cross_entropy(exec, &mut arena[..], (most, &block), &rows, backward.then_some(&gradients));
		[max, sum, loss, dh, dw].map(|at| bits(&arena[at]))
	}

	/// Block sizes that do and do not divide the rows, or a segment.
	fn any_block_gives_the_bits_of_all_rows(shape: [usize; 3], sizes: &[usize]) {
		let [tokens, vocab, dim] = shape;
		let (h, mut w) = (fill(tokens * dim, 1), fill(vocab * dim, 2));
		// Large logits in some columns: exponentials of all sizes.
		w.iter_mut().step_by(5).for_each(|weight| *weight *= 30.0);
		let target = |row| u32::try_from(row * 31 % vocab).unwrap();
		all_bits_agree(shape, sizes, [&h, &w], &(0..tokens).map(target).collect::<Vec<_>>());
		// The first 40 rows, which are a block and more, and every third of the others have no target.
		let masked = |row| if row < 40 || row % 3 == 0 { NO_TARGET } else { target(row) };
		all_bits_agree(shape, sizes, [&h, &w], &(0..tokens).map(masked).collect::<Vec<_>>());
	}

	fn all_bits_agree(shape: [usize; 3], sizes: &[usize], [h, w]: [&[f32]; 2], targets: &[u32]) {
		let head = (h, w, targets);
		let expected = expected(head, shape);
		for threads in [1, 2] {
			let exec = Exec::new(threads).unwrap();
			for &most in sizes {
				assert!(found(&exec, head, shape, most, true) == expected, "{shape:?}, {most} rows at a time, {threads} thread(s)");
				exec.with_all_threads(|| assert!(found(&exec, head, shape, most, true) == expected, "{shape:?}, {most} rows, all threads"));
				let measured = found(&exec, head, shape, most, false);
				assert!(measured[..3] == expected[..3], "{shape:?}, {most} rows at a time, without gradients");
			}
		}
	}

	#[test]
	fn blocks_of_any_number_of_rows_give_the_bits_of_all_rows_together() {
		any_block_gives_the_bits_of_all_rows([96, 288, 64], &[32, 64, 96, 4_096]);
		any_block_gives_the_bits_of_all_rows([160, 1_056, 32], &[32, 96, 128, 160]);
	}

	#[test]
	fn blocks_end_where_chains_over_tokens_are_cut() {
		for tokens in [4_096, 4_128, 8_224] {
			any_block_gives_the_bits_of_all_rows([tokens, 64, 32], &[1_056, 4_096]);
		}
	}

	#[test]
	fn a_row_without_a_target_has_neither_loss_nor_gradient_whatever_its_logits_are() {
		let shape = [96, 64, 32];
		let (mut h, w) = (fill(96 * 32, 1), fill(64 * 32, 2));
		(h[40 * 32], h[70 * 32 + 3]) = (f32::NAN, f32::INFINITY);
		let exec = Exec::new(2).unwrap();
		let head: Inputs = (&h, &w, &[NO_TARGET; 96]);
		let [_, _, loss, dh, _] = found(&exec, head, shape, 32, true);
		assert!(loss.iter().chain(&dh).all(|&bits| bits == 0));
		let mut targets = [NO_TARGET; 96];
		targets[50] = 7;
		let [_, _, loss, dh, _] = found(&exec, (&h, &w, &targets), shape, 32, true);
		let rows: Vec<usize> =
			(0..96).filter(|row| loss[*row] != 0 || dh[row * 32..(row + 1) * 32].iter().any(|&bits| bits != 0)).collect();
		assert_eq!(rows, [50]);
	}

	#[test]
	fn logits_that_are_not_finite_give_the_bits_of_all_rows_together() {
		let shape = [96, 64, 32];
		let (mut h, w) = (fill(96 * 32, 1), fill(64 * 32, 2));
		(h[40 * 32], h[70 * 32 + 3]) = (f32::NAN, f32::INFINITY);
		let head: Inputs = (&h, &w, &[7; 96]);
		let exec = Exec::new(2).unwrap();
		for most in [32, 96] {
			assert!(found(&exec, head, shape, most, true) == expected(head, shape));
		}
	}
}
