//! One piece of one tile, judged by what its inputs are committed to.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{
	every_code, every_compressed, every_rule, lively_theta, sent, sent_as,
	small::{muon_train, other_families},
	steps_behind,
	text::Text,
	tiny_model, tiny_train, Lcg,
};
use neuroshard_compute::{
	exec::Exec,
	recorder::{record, RecordError},
	trace::Trace,
};
use neuroshard_graph::{
	cell::Cell,
	corpus::{TokenWidth, Window},
	graph::Op,
	merkle::{merkle_root, Hash},
	tiles::{bytes_of, leaf_hash, LEAF_BYTES},
	witness::{check, state_hash, Agreed, Question, Source, Tokens, Verdict, WitnessError, MAX_WITNESS},
	Aggregator, Compressed, ModelConfig, ParamKind, ParamLayout, Robust, Rule, TrainConfig, F32,
};
use std::{collections::BTreeMap, sync::Arc};

/// A dataset, and the window of each sequence of the batch.
type Batch = (Text, Box<dyn Fn(u32) -> Option<Window>>);

/// A traced job with everything that its disputes need.
struct Case {
	trace: Trace,
	nodes: Vec<Hash>,
	vectors: Vec<Hash>,
	results: Vec<Hash>,
	text: Option<Batch>,
}

impl Case {
	fn of(trace: Trace, vectors: u32, text: Option<Batch>) -> Self {
		let nodes = trace.node_roots();
		let vectors = (0..vectors).map(|vector| merkle_root(&trace.vector_hashes(vector))).collect();
		let results = (0..trace.plan().results().len() as u32).map(|result| merkle_root(&trace.result_hashes(result))).collect();
		Self { trace, nodes, vectors, results, text }
	}

	fn step(model: &ModelConfig, train: &TrainConfig) -> Self {
		Self::step_on(Text::random(3, 5_000, model.vocab, 9), model, train)
	}

	fn step_on(text: Text, model: &ModelConfig, train: &TrainConfig) -> Self {
		// Windows in all shards, one of them across two chunks.
		let seq = train.seq_len;
		let window = move |sequence: u32| Some(Window { shard: sequence % 3, start: 2_040 + sequence * (seq + 7) });
		let tokens: Vec<u32> = (0..train.batch).flat_map(|sequence| text.read(window(sequence).unwrap(), seq).to_vec()).collect();
		let layout = ParamLayout::new(model).unwrap();
		let params = lively_theta(&layout, 1);
		let first: Vec<f32> = lively_theta(&layout, 2).iter().map(|x| x * 1e-2).collect();
		let second: Vec<f32> = first.iter().map(|x| x * x).collect();
		let trace = Trace::step(&Arc::new(Exec::new(1).unwrap()), model, train, &[&params, &first, &second], &tokens, 3, 2).unwrap();
		Self::of(trace, 3, Some((text, Box::new(window))))
	}

	fn outer(train: &TrainConfig, count: u64) -> Self {
		let (model, layout) = (tiny_model(), ParamLayout::new(&tiny_model()).unwrap());
		let vectors: Vec<Vec<f32>> = (0..count + 2).map(|seed| lively_theta(&layout, seed)).collect();
		let deltas: Vec<Vec<f32>> = vectors[2..].iter().map(|delta| sent(train, &layout, delta)).collect();
		let deltas: Vec<&[f32]> = deltas.iter().map(Vec::as_slice).collect();
		let trace = Trace::outer(
			&Arc::new(Exec::new(1).unwrap()),
			&model,
			train,
			[&vectors[0], &vectors[1]],
			&deltas,
			&steps_behind(train.aggregator, deltas.len()),
		)
		.unwrap();
		Self::of(trace, count as u32 + 2, None)
	}

	fn tokens(&self) -> Option<Tokens<'_>> {
		self.text.as_ref().map(|(text, window)| Tokens { corpus: text.corpus(), window })
	}

	fn record(&self, cell: Cell, piece: u32) -> Vec<u8> {
		let tokens = self.tokens().zip(self.text.as_ref()).map(|(tokens, (text, _))| (tokens, text as _));
		record(&self.trace, &self.nodes, tokens, cell, piece).unwrap()
	}

	/// The honest question about a piece.
	fn question(&self, cell: Cell, piece: u32) -> Question {
		let prefixes = self.trace.prefix_hashes(cell).unwrap();
		let tile = self.trace.tile_values(self.trace.plan().cell_tensor(cell).unwrap(), cell.row, cell.col).unwrap();
		let before = piece.checked_sub(1).map_or([0; 32], |before| prefixes[before as usize]);
		let after = prefixes.get(piece as usize).copied().unwrap_or(leaf_hash(&bytes_of(&*tile)));
		Question { cell, piece, before, after }
	}

	fn judge(&self, question: &Question, witness: &[u8]) -> Result<Verdict, WitnessError> {
		let agreed = Agreed {
			vectors: &self.vectors,
			nodes: merkle_root(&self.nodes),
			results: &self.results,
			tokens: self.tokens().map(Source::Dataset),
		};
		check(&self.trace.job(), &agreed, question, witness)
	}

	/// Every piece of some cells of every stage.
	fn questions(&self, random: &mut Lcg) -> Vec<(Op, Question)> {
		let plan = self.trace.plan();
		let mut questions = Vec::new();
		for (stage, info) in (0..).zip(plan.stages()) {
			for (output, &tensor) in (0..).zip(plan.outputs(info)) {
				let shape = plan.tensor(tensor).unwrap();
				for _ in 0..2 {
					let (row, col) = (random.next() % shape.rows.div_ceil(32), random.next() % shape.cols.div_ceil(32));
					let cell = Cell { stage, output, row, col };
					let pieces = self.trace.job().pieces(cell).unwrap();
					questions.extend((0..pieces).map(|piece| (info.op, self.question(cell, piece))));
				}
			}
		}
		questions
	}

	/// Honest claims are upheld, every other one refuted, and a witness with a changed byte shows nothing.
	fn all_questions_are_decided(&self) -> BTreeMap<String, usize> {
		let mut random = Lcg(77);
		let mut sizes = BTreeMap::new();
		for (op, question) in self.questions(&mut random) {
			let witness = self.record(question.cell, question.piece);
			assert!(witness.len() <= MAX_WITNESS, "{op:?}: {} bytes", witness.len());
			let most = sizes.entry(format!("{op:?}")).or_insert(0);
			*most = witness.len().max(*most);
			assert_eq!(self.judge(&question, &witness), Ok(Verdict::Upheld), "{op:?}, piece {}", question.piece);
			let mut lie = question;
			lie.after[random.next() as usize % 32] ^= 1 << (random.next() % 8);
			assert_eq!(self.judge(&lie, &witness), Ok(Verdict::Refuted), "{op:?}");
			if !witness.is_empty() {
				let mut forged = witness.clone();
				let at = random.next() as usize % forged.len();
				forged[at] ^= 1 << (random.next() % 8);
				assert!(matches!(self.judge(&question, &forged), Err(WitnessError::Leaf(_) | WitnessError::State)), "{op:?}, byte {at}");
				assert!(self.judge(&question, &witness[1..]).is_err());
			}
			let mut longer = witness;
			longer.push(0);
			assert_eq!(self.judge(&question, &longer), Err(WitnessError::Length));
		}
		sizes
	}
}

#[test]
fn every_piece_of_a_step_is_decided() {
	let sizes = Case::step(&tiny_model(), &tiny_train()).all_questions_are_decided();
	assert_eq!(sizes.len(), 38, "{sizes:#?}");
}

#[test]
fn every_piece_of_a_step_of_muon_is_decided() {
	let sizes = Case::step(&tiny_model(), &muon_train()).all_questions_are_decided();
	assert_eq!(sizes.len(), 42, "{sizes:#?}");
	let model = ModelConfig { dim: 288, heads: 9, kv_heads: 1, ffn: 320, layers: 1, ..tiny_model() };
	Case::step(&model, &muon_train()).all_questions_are_decided();
}

#[test]
fn every_piece_of_a_masked_step_is_decided() {
	let train = TrainConfig { masked: true, ..tiny_train() };
	let text = Text::random(3, 5_000, tiny_model().vocab, 9).masked(4);
	let sizes = Case::step_on(text, &tiny_model(), &train).all_questions_are_decided();
	assert_eq!(sizes.len(), 39, "{sizes:#?}");
	// A piece of counts has the tokens only: one chunk, or two.
	assert!(sizes["CountTargets"] < 3 * LEAF_BYTES);
}

#[test]
fn every_piece_of_steps_with_biases_and_with_norms_of_heads_is_decided() {
	let [qwen2, qwen3] = other_families();
	Case::step(&qwen2, &tiny_train()).all_questions_are_decided();
	Case::step(&qwen3, &tiny_train()).all_questions_are_decided();
	let many = ModelConfig { heads: 35, kv_heads: 5, layers: 1, ..qwen3 };
	Case::step(&many, &TrainConfig { batch: 9, ..tiny_train() }).all_questions_are_decided();
}

#[test]
fn every_piece_of_a_step_on_tokens_beyond_the_vocabulary_is_decided_as_if_they_were_its_last() {
	let (model, train) = (tiny_model(), tiny_train());
	let text = Text::random(3, 5_000, 65_536, 9);
	let known = text.shards.iter().map(|shard| shard.iter().map(|&token| token.min(63)).collect()).collect();
	assert_ne!(text.shards, known);
	let foreign = Case::step_on(text, &model, &train);
	foreign.all_questions_are_decided();
	let usual = Case::step_on(Text { shards: known, width: TokenWidth::Two }, &model, &train);
	assert_eq!(foreign.nodes, usual.nodes);
	assert_eq!(foreign.results, usual.results);
}

#[test]
fn every_piece_of_a_step_with_large_rows_is_decided() {
	let model = ModelConfig { vocab: 320, dim: 640, heads: 2, kv_heads: 1, ffn: 320, layers: 1, max_seq: 320, tied: false, ..tiny_model() };
	Case::step(&model, &TrainConfig { batch: 1, seq_len: 320, ..tiny_train() }).all_questions_are_decided();
}

#[test]
fn every_piece_of_outer_steps_and_deltas_is_decided() {
	Case::outer(&tiny_train(), 20).all_questions_are_decided();
	let trimmed = TrainConfig { aggregator: Aggregator::TrimmedMean { trim: 30 }, ..tiny_train() };
	let sizes = Case::outer(&trimmed, 128).all_questions_are_decided();
	assert!(sizes.values().all(|&bytes| bytes < MAX_WITNESS), "{sizes:?}");
	for robust in every_rule() {
		Case::outer(&TrainConfig { aggregator: Aggregator::Robust(robust), ..tiny_train() }, 5).all_questions_are_decided();
	}
	let layout = ParamLayout::new(&tiny_model()).unwrap();
	let (start, end) = (lively_theta(&layout, 1), lively_theta(&layout, 2));
	let trace = Trace::delta(&Arc::new(Exec::new(1).unwrap()), &tiny_model(), &tiny_train(), [&start, &end], None).unwrap();
	Case::of(trace, 2, None).all_questions_are_decided();
}

#[test]
fn every_piece_of_codes_and_residuals_is_decided() {
	let layout = ParamLayout::new(&tiny_model()).unwrap();
	let vectors = [1, 2, 3].map(|seed| lively_theta(&layout, seed));
	for code in every_code() {
		let train = sent_as(code);
		let residual = code.decay().map(|_| vectors[2].as_slice());
		let exec = Arc::new(Exec::new(1).unwrap());
		let trace = Trace::delta(&exec, &tiny_model(), &train, [&vectors[0], &vectors[1]], residual).unwrap();
		let sizes = Case::of(trace, if residual.is_some() { 3 } else { 2 }, None).all_questions_are_decided();
		// The proofs of the largest trees are 16 hashes longer than those of this model; a piece reads up to 16 tiles of each of two vectors.
		assert!(sizes.values().all(|&bytes| bytes + 32 * 16 * 32 < MAX_WITNESS), "{sizes:?}");
	}
	for aggregator in every_compressed().into_iter().step_by(5) {
		Case::outer(&TrainConfig { aggregator, ..tiny_train() }, 3).all_questions_are_decided();
	}
}

#[test]
fn the_largest_pieces_of_robust_rules_fit_a_witness() {
	let rules = [Rule::MultiKrum { liars: 40 }, Rule::CentredClipping { liars: 40, radius: F32::new(1.0), steps: 2 }, Rule::Median];
	let robust = rules.map(|rule| Robust { clip: F32::new(2.0), rule });
	let codes = every_code().into_iter().flat_map(|code| robust.map(|robust| Aggregator::Compressed(Compressed { code, robust })));
	let possible = |aggregator: &Aggregator| TrainConfig { aggregator: *aggregator, ..tiny_train() }.validate(&tiny_model()).is_ok();
	for aggregator in robust.map(Aggregator::Robust).into_iter().chain(codes.filter(possible)) {
		let case = Case::outer(&TrainConfig { aggregator, ..tiny_train() }, 128);
		let plan = case.trace.plan();
		for (stage, info) in (0..).zip(plan.stages()) {
			// The proofs of the largest trees are 21 hashes longer than those of this model.
			let cell = Cell { stage, output: 0, row: 0, col: 0 };
			for piece in [0, case.trace.job().pieces(cell).unwrap() - 1] {
				let (question, witness) = (case.question(cell, piece), case.record(cell, piece));
				assert_eq!(case.judge(&question, &witness), Ok(Verdict::Upheld), "{:?}", info.op);
				let leaves = witness.len() / 1_024;
				assert!(witness.len() + leaves.min(140) * 16 * 32 <= MAX_WITNESS, "{:?}: {} bytes", info.op, witness.len());
			}
		}
	}
}

#[test]
fn a_value_that_is_not_finite_ends_the_job_at_the_loss_and_at_the_norm_only() {
	let model = tiny_model();
	let mut huge = Case::step(&model, &tiny_train());
	// Normalised rows that are as large as floats can be make infinite logits.
	let layout = ParamLayout::new(&model).unwrap();
	let mut params = lively_theta(&layout, 1);
	for tensor in layout.tensors().iter().filter(|tensor| tensor.kind == ParamKind::Norm) {
		params[tensor.range()].fill(f32::MAX);
	}
	let zeros = vec![0.0; layout.len()];
	let (text, window) = huge.text.take().unwrap();
	let tokens: Vec<u32> =
		(0..tiny_train().batch).flat_map(|sequence| text.read(window(sequence).unwrap(), tiny_train().seq_len).to_vec()).collect();
	let exec = Arc::new(Exec::new(1).unwrap());
	let trace = Trace::step(&exec, &model, &tiny_train(), &[&params, &zeros, &zeros], &tokens, 0, 0).unwrap();
	let case = Case::of(trace, 3, Some((text, window)));
	let mut diverged = Vec::new();
	for (op, question) in case.questions(&mut Lcg(5)) {
		match case.judge(&question, &case.record(question.cell, question.piece)) {
			Ok(Verdict::Diverged) => diverged.push(op),
			Ok(Verdict::Upheld) => {}
			other => panic!("{op:?}: {other:?}"),
		}
	}
	diverged.dedup();
	assert_eq!(diverged, [Op::MeanLoss, Op::AddUp]);
}

#[test]
fn questions_about_nothing_are_errors() {
	let case = Case::step(&tiny_model(), &tiny_train());
	let cell = Cell { stage: 0, output: 0, row: 0, col: 0 };
	let question = case.question(cell, 0);
	let witness = case.record(cell, 0);
	for wrong in [
		Question { piece: 1, ..question },
		Question { piece: u32::MAX, ..question },
		Question { cell: Cell { stage: u32::MAX, ..cell }, ..question },
		Question { cell: Cell { output: 1, ..cell }, ..question },
		Question { cell: Cell { row: u32::MAX, ..cell }, ..question },
		Question { cell: Cell { col: u32::MAX, ..cell }, ..question },
	] {
		assert!(matches!(case.judge(&wrong, &witness), Err(WitnessError::Malformed(_))), "{wrong:?}");
	}
	assert_eq!(case.judge(&question, &vec![0; MAX_WITNESS + 1]), Err(WitnessError::Length));
	let agreed = Agreed { vectors: &case.vectors, nodes: merkle_root(&case.nodes), results: &[], tokens: None };
	assert_eq!(check(&case.trace.job(), &agreed, &question, &witness), Err(WitnessError::NoTokens));
	let lost = Text { shards: Vec::new(), width: TokenWidth::Two };
	let recorded = record(&case.trace, &case.nodes, case.tokens().map(|tokens| (tokens, &lost as _)), cell, 0);
	assert!(matches!(recorded, Err(RecordError::Chunk { .. })));
}

#[test]
fn the_state_after_a_piece_is_hashed_in_its_canonical_form() {
	assert_eq!(state_hash(&[0.0, f32::NAN]), state_hash(&[-0.0, -f32::NAN]));
	assert_ne!(state_hash(&[0.0]), state_hash(&[f32::MIN_POSITIVE]));
}
