use super::*;

#[test]
fn the_reference_gives_the_known_answers() {
	let hex = |digest: [u8; 32]| -> String { digest.iter().map(|b| format!("{b:02x}")).collect() };
	let listing: String = digests().into_iter().map(|(name, digest)| format!("{name} {}\n", hex(digest))).collect();
	assert_eq!(listing, KNOWN, "if the specification changed, this is the new file:\n{listing}");
}

/// Different for every number.
fn seed(number: u32) -> [u8; 32] {
	let mut digest = Digest::new();
	digest.add_bytes(&number.to_le_bytes());
	digest.finish()
}

#[test]
fn every_seed_has_another_answer_and_every_case_takes_part_in_that() {
	let answers: std::collections::BTreeSet<_> = (0..50).map(|number| drawn(seed(number))).collect();
	assert_eq!(answers.len(), 50);
	// Every byte of the seed counts.
	for byte in 0..32 {
		let mut other = seed(0);
		other[byte] ^= 1;
		assert!(!answers.contains(&drawn(other)), "byte {byte}");
	}
	let cases = |number| {
		let mut inputs = Inputs::drawn(seed(number));
		let mut answers = functions(&mut inputs, DRAWN_VECTORS);
		kat_suite!(inputs, answers, scalar::);
		answers
	};
	for (one, other) in cases(0).iter().zip(&cases(1)) {
		// Schedules have no inputs that could be drawn.
		assert_eq!(one == other, one.0 == "schedule", "{}", one.0);
	}
	let known: Vec<_> = digests().iter().map(|case| case.0).filter(|name| !name.starts_with("matmul_int8") && *name != "muon").collect();
	assert_eq!(cases(0).iter().map(|case| case.0).collect::<Vec<_>>(), known);
}

/// The reference, but one bit of one output of one operator is wrong, the first time that it is asked.
struct Broken {
	operator: &'static str,
	output: usize,
	done: std::cell::Cell<bool>,
}

impl Broken {
	fn spoil(&self, operator: &str, outputs: &mut [&mut [f32]]) {
		if operator == self.operator && !self.done.get() {
			// The last bit of the last number that has one: a NaN stays a NaN.
			let number = outputs[self.output].iter_mut().rev().find(|x| x.is_finite()).unwrap();
			*number = f32::from_bits(number.to_bits() ^ 1);
			self.done.set(true);
		}
	}
}

/// Methods of [`Broken`]: the reference's operators, their outputs in parentheses behind them.
macro_rules! broken {
	($($name:ident($($arg:ident: $ty:ty),*) -> ($($out:ident),*);)*) => {
		/// All operators with outputs in slices, and how many outputs each has.
		const OPERATORS: &[(&str, usize)] = &[$((stringify!($name), [$(stringify!($out)),*].len())),*];
		#[allow(clippy::too_many_arguments)]
		impl Broken {
			$(fn $name(&self, $($arg: $ty),*) {
				scalar::$name($($arg),*);
				self.spoil(stringify!($name), &mut [$($out),*]);
			})*
		}
	};
}

use crate::{
	scalar::{AttentionBackward, RmsBackward},
	shape::{AdamW, AttentionDims, MatDims, RopeDims, Start},
};

broken! {
	matmul_nt(dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) -> (c);
	matmul_nn(dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) -> (c);
	matmul_tn(dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) -> (c);
	attention_forward(dims: AttentionDims, q: &[f32], k: &[f32], v: &[f32], o: &mut [f32]) -> (o);
	attention_decode(dims: AttentionDims, q: &[f32], k: &[f32], v: &[f32], o: &mut [f32]) -> (o);
	attention_backward(dims: AttentionDims, input: AttentionBackward, dq: &mut [f32], dk: &mut [f32], dv: &mut [f32]) -> (dq, dk, dv);
	rms_stats(x: &[f32], dim: usize, eps: f32, r: &mut [f32]) -> (r);
	rms_apply(x: &[f32], r: &[f32], w: &[f32], y: &mut [f32]) -> (y);
	rms_backward_stats(dy: &[f32], x: &[f32], w: &[f32], r: &[f32], k: &mut [f32]) -> (k);
	rms_backward_apply(input: RmsBackward, dx: &mut [f32], start: Start) -> (dx);
	rms_weight_grad(dy: &[f32], x: &[f32], r: &[f32], heads: usize, dw: &mut [f32], start: Start) -> (dw);
	rope_forward(dims: RopeDims, x: &mut [f32], cos: &[f32], sin: &[f32]) -> (x);
	rope_backward(dims: RopeDims, dy: &mut [f32], cos: &[f32], sin: &[f32]) -> (dy);
	swiglu_forward(gate: &[f32], up: &[f32], h: &mut [f32]) -> (h);
	swiglu_backward(dh: &[f32], gate: &[f32], up: &[f32], d_gate: &mut [f32], d_up: &mut [f32]) -> (d_gate, d_up);
	add_bias(x: &mut [f32], b: &[f32]) -> (x);
	column_sums(dy: &[f32], db: &mut [f32], start: Start) -> (db);
	scale(x: &mut [f32], factor: f32) -> (x);
	add_assign(x: &mut [f32], y: &[f32]) -> (x);
	sub(a: &[f32], b: &[f32], out: &mut [f32]) -> (out);
	embedding_gather(table: &[f32], dim: usize, ids: &[u32], out: &mut [f32]) -> (out);
	embedding_scatter_add(dy: &[f32], dim: usize, ids: &[u32], grad: &mut [f32]) -> (grad);
	cross_entropy_stats(logits: &[f32], vocab: usize, max: &mut [f32], sum: &mut [f32]) -> (max, sum);
	cross_entropy_loss(logits: &[f32], vocab: usize, targets: &[u32], max: &[f32], sum: &[f32], loss: &mut [f32]) -> (loss);
	cross_entropy_backward(logits: &mut [f32], vocab: usize, targets: &[u32], max: &[f32], sum: &[f32], inv_n: f32) -> (logits);
	tile_sum_squares(x: &[f32], rows: usize, cols: usize, partials: &mut [f32]) -> (partials);
	tile_sums(x: &[f32], rows: usize, cols: usize, partials: &mut [f32]) -> (partials);
	adamw(step: &AdamW, p: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32]) -> (p, m, v);
	nesterov(theta: &mut [f32], m: &mut [f32], g: &[f32], lr: f32, beta: f32) -> (theta, m);
	mean(inputs: &[&[f32]], out: &mut [f32]) -> (out);
	trimmed_mean(inputs: &[&[f32]], factors: &[f32], trim: usize, out: &mut [f32]) -> (out);
}

impl Broken {
	fn tree_sum(&self, values: &mut [f32]) -> f32 {
		let mut sum = [scalar::tree_sum(values)];
		self.spoil("tree_sum", &mut [&mut sum]);
		sum[0]
	}

	/// What a machine with this fault would answer.
	fn drawn(&self, seed: [u8; 32]) -> [u8; 32] {
		let mut inputs = Inputs::drawn(seed);
		let mut answers = functions(&mut inputs, DRAWN_VECTORS);
		kat_suite!(inputs, answers, self.);
		digest_of(&answers)
	}
}

#[test]
fn one_wrong_bit_of_any_output_of_any_operator_gives_another_answer() {
	let expected = drawn(seed(7));
	let broken = |operator, output| Broken { operator, output, done: Default::default() };
	assert_eq!(broken("none", 0).drawn(seed(7)), expected, "without a fault it is the reference");
	for (operator, outputs) in OPERATORS.iter().chain(&[("tree_sum", 1)]) {
		for output in 0..*outputs {
			let broken = broken(operator, output);
			assert_ne!(broken.drawn(seed(7)), expected, "output {output} of {operator}");
			assert!(broken.done.get(), "{operator} is not asked");
		}
	}
}
