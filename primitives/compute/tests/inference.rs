//! Logits of models that answer.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
#[path = "common/reference.rs"]
mod reference;

use common::{lively_theta, random_tokens, small::other_families, tiny_model};
use neuroshard_compute::{
	exec::{Exec, GivenUp, Inference, InferenceError, Input, Output, PackedAdapter, Pages, Piece, Sequence, Stage, Wanted, PAGE_TOKENS},
	native::Level,
};
use neuroshard_graph::{Adapter, Class, ModelConfig, ParamLayout, ParamTensor, Projection, Projections, F32};
use proptest::prelude::*;
use reference::Reference;
use std::sync::Arc;

/// Shapes whose heads, groups and widths are of different kinds: whole vectors, parts of them, several.
fn shapes() -> Vec<ModelConfig> {
	let tiny = ModelConfig { max_seq: 3 * 64, ..tiny_model() };
	let [qwen2, qwen3] = other_families().map(|model| ModelConfig { max_seq: 3 * 64, ..model });
	vec![
		qwen2,
		qwen3,
		tiny.clone(),
		ModelConfig { tied: false, ..tiny.clone() },
		ModelConfig { dim: 96, heads: 3, kv_heads: 1, ffn: 160, ..tiny.clone() },
		ModelConfig { dim: 160, heads: 2, kv_heads: 2, ffn: 32, layers: 1, ..tiny.clone() },
		ModelConfig { dim: 64, heads: 16, kv_heads: 8, ffn: 96, ..tiny },
	]
}

fn tokens(count: usize, vocab: u32, seed: u64) -> Vec<u32> {
	random_tokens(count, vocab, seed)
}

const CLASSES: [Class; 2] = [Class::ExactF32, Class::ExactInt8];

fn model(model: &ModelConfig, threads: usize, class: Class) -> Inference {
	whole(Exec::new(threads).unwrap(), model, class)
}

fn whole(exec: Exec, model: &ModelConfig, class: Class) -> Inference {
	let theta = lively_theta(&ParamLayout::new(model).unwrap(), 1);
	let stage = Stage::whole(usize::try_from(model.layers).unwrap());
	Inference::in_class(Arc::new(exec), model, &theta, &stage, class).unwrap()
}

fn bits(logits: &[f32]) -> Vec<u32> {
	logits.iter().map(|logit| logit.to_bits()).collect()
}

/// Logits after every token, each text by itself and at once.
fn at_once(inference: &mut Inference, text: &[u32]) -> Vec<Vec<u32>> {
	let mut sequence = Sequence::default();
	let piece = Piece { sequence: &mut sequence, tokens: text, wanted: Wanted::All };
	let vocab = inference.vocab();
	inference.logits(&Pages::new(64), &mut [piece]).unwrap().chunks(vocab).map(bits).collect()
}

#[test]
fn logits_agree_with_the_f64_model() {
	for config in shapes() {
		let theta = lively_theta(&ParamLayout::new(&config).unwrap(), 1);
		let (short, text) = (random_tokens(70, config.vocab, 2), tokens(70, config.vocab, 2));
		let exact: Vec<f64> = theta.iter().map(|&v| v.into()).collect();
		let expected = Reference::new(&config).logits(&exact, &short);
		for (row, expected) in at_once(&mut model(&config, 2, Class::ExactF32), &text).iter().zip(&expected) {
			for (&logit, expected) in row.iter().zip(expected) {
				let logit = f64::from(f32::from_bits(logit));
				assert!((logit - expected).abs() < 1e-4, "{logit} against {expected}");
			}
		}
		// Eight bits for each factor of a product leave an error of some percent of what the logits are.
		let (mut error, mut size) = (0.0, 0.0);
		for (row, expected) in at_once(&mut model(&config, 2, Class::ExactInt8), &text).iter().zip(&expected) {
			for (&logit, expected) in row.iter().zip(expected) {
				error += (f64::from(f32::from_bits(logit)) - expected).powi(2);
				size += expected.powi(2);
			}
		}
		let error = (error / size).sqrt();
		assert!((1e-3..0.06).contains(&error), "{error}");
	}
}

#[test]
fn every_instruction_set_and_number_of_threads_gives_the_same_bits() {
	for config in shapes() {
		let text = tokens(100, config.vocab, 3);
		let answers = CLASSES.map(|class| {
			let mut answers = Vec::new();
			for level in Level::available() {
				for threads in [1, 3] {
					answers.push(at_once(&mut whole(Exec::with_level(threads, level).unwrap(), &config, class), &text));
				}
			}
			assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{class:?}");
			answers.pop()
		});
		assert_ne!(answers[0], answers[1]);
	}
}

/// A text of a batch, and how many of its tokens it gets in each pass; 0 to stand by.
#[derive(Clone, Debug)]
struct Reader {
	text: Vec<u32>,
	portions: Vec<usize>,
}

fn readers(vocab: u32) -> impl Strategy<Value = Vec<Reader>> {
	let reader = (1usize..150, any::<u64>(), prop::collection::vec(0usize..40, 1..12));
	let reader = reader.prop_map(move |(len, seed, portions)| Reader { text: tokens(len, vocab, seed), portions });
	prop::collection::vec(reader, 1..12)
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

	/// Whatever the pieces, the batch and the interruptions; also after a text went a wrong way and back, as with guessed tokens, and where a text
	/// goes on from another one's pages.
	#[test]
	fn a_tokens_logits_depend_on_nothing_but_the_tokens_before_it(
		(shape, readers) in (0..shapes().len()).prop_flat_map(|shape| (Just(shape), readers(shapes()[shape].vocab))),
		threads in 1usize..3,
		class in prop::sample::select(CLASSES.to_vec()),
	) {
		let config = &shapes()[shape];
		let mut inference = model(config, threads, class);
		let expected: Vec<_> = readers.iter().map(|reader| at_once(&mut inference, &reader.text)).collect();
		let pages = Pages::new(1_000);
		let mut sequences: Vec<_> = readers.iter().map(|_| Sequence::default()).collect();
		for pass in 0.. {
			let mut rest: Vec<(usize, &mut Sequence, &[u32])> = Vec::new();
			for (index, (sequence, reader)) in sequences.iter_mut().zip(&readers).enumerate() {
				let portion = reader.portions[pass % reader.portions.len()].max(usize::from(pass > 20));
				let left = &reader.text[sequence.len()..];
				let portion = &left[..portion.min(left.len())];
				if !portion.is_empty() {
					rest.push((index, sequence, portion));
				}
			}
			if rest.is_empty() && pass > 20 {
				break;
			}
			let rows: Vec<usize> = rest.iter().flat_map(|(index, sequence, tokens)| {
				std::iter::repeat_n(*index, tokens.len()).zip(sequence.len()..).map(|(index, row)| index * 1_000 + row)
			}).collect();
			let mut pieces: Vec<_> =
				rest.into_iter().map(|(_, sequence, tokens)| Piece { sequence, tokens, wanted: Wanted::All }).collect();
			let logits = inference.logits(&pages, &mut pieces).unwrap().to_vec();
			for (row, logits) in rows.into_iter().zip(logits.chunks(inference.vocab())) {
				prop_assert_eq!(&bits(logits), &expected[row / 1_000][row % 1_000]);
			}
			// A wrong way and back.
			if pass % 3 == 1 && pass < 20 {
				for sequence in sequences.iter_mut().filter(|sequence| sequence.len() < 150) {
					let before = sequence.len();
					inference.logits(&pages, &mut [Piece { sequence, tokens: &[1, 2, 3], wanted: Wanted::Last }]).unwrap();
					sequence.truncate(before);
				}
			}
			// A text goes on from the pages that it has shown.
			if pass % 4 == 3 && pass < 20 {
				for sequence in &mut sequences {
					let full = sequence.full().to_vec();
					*sequence = Sequence::with_prefix(full);
				}
			}
		}
		drop(sequences);
		prop_assert_eq!(pages.used(), 0);
	}
}

/// Logits of passes of a text through the parts of a model, in pieces.
fn through(stages: &mut [(Inference, Pages, Sequence)], text: &[u32], portions: &[usize]) -> Vec<Vec<u32>> {
	let (mut logits, mut done, last) = (Vec::new(), 0, stages.len() - 1);
	for portion in portions.iter().cycle() {
		let tokens = &text[done..(done + portion).min(text.len())];
		done += tokens.len();
		let mut rows: Option<Vec<f32>> = None;
		for (index, (inference, pages, sequence)) in stages.iter_mut().enumerate() {
			let input = rows.as_deref().map_or(Input::Tokens, Input::Rows);
			let output = if index == last { Output::Logits } else { Output::Rows };
			let piece = Piece { sequence, tokens, wanted: Wanted::All };
			rows = Some(inference.pass(pages, &mut [piece], input, output).unwrap().to_vec());
		}
		let vocab = stages[last].0.vocab();
		logits.extend(rows.unwrap().chunks(vocab).map(bits));
		if done == text.len() {
			return logits;
		}
	}
	logits
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

	#[test]
	fn a_model_in_parts_gives_the_same_bits_however_it_is_cut(
		shape in 0..shapes().len(),
		cuts in prop::collection::vec(0usize..=3, 0..4),
		(len, seed) in (1usize..150, any::<u64>()),
		portions in prop::collection::vec(1usize..40, 1..5),
		(apart, levels) in (any::<bool>(), prop::collection::vec(0..Level::available().len(), 5)),
		class in prop::sample::select(CLASSES.to_vec()),
	) {
		let config = &ModelConfig { layers: 3, ..shapes()[shape].clone() };
		let theta = lively_theta(&ParamLayout::new(config).unwrap(), 1);
		let text = tokens(len, config.vocab, seed);
		let expected = at_once(&mut model(config, 1, class), &text);
		// The first and the last part may have no layer at all.
		let mut cuts: Vec<usize> = cuts.into_iter().chain(if apart { vec![0, 3] } else { vec![] }).collect();
		cuts.sort_unstable();
		let bounds: Vec<usize> = std::iter::once(0).chain(cuts).chain([3]).collect();
		let last = bounds.len() - 2;
		let stages = bounds.windows(2).enumerate().map(|(index, pair)| {
			let stage = Stage { embedding: index == 0, layers: pair[0]..pair[1], head: index == last };
			let exec = Exec::with_level(1 + index % 2, Level::available()[levels[index % levels.len()]]).unwrap();
			(Inference::in_class(Arc::new(exec), config, &theta, &stage, class).unwrap(), Pages::new(8), Sequence::default())
		});
		let mut stages: Vec<_> = stages.collect();
		prop_assert_eq!(through(&mut stages, &text, &portions), expected);
	}
}

#[test]
fn a_part_of_a_model_reads_only_the_tensors_that_it_computes_with() {
	for tied in [true, false] {
		let config = ModelConfig { layers: 3, tied, ..tiny_model() };
		let theta = lively_theta(&ParamLayout::new(&config).unwrap(), 1);
		let read = |embedding, layers, head| {
			let mut names = Vec::new();
			let exec = Arc::new(Exec::new(1).unwrap());
			let part = Inference::load(exec, &config, &Stage { embedding, layers, head }, Class::ExactF32, |_, tensor| {
				names.push(tensor.name.clone());
				Ok::<_, InferenceError>(theta[tensor.range()].into())
			});
			assert!(part.is_ok());
			names.sort();
			names
		};
		// Nine tensors of a layer, and the last norm, which is small.
		let middle = read(false, 1..2, false);
		assert_eq!(middle.len(), 10);
		assert!(middle.iter().all(|name| name.starts_with("model.layers.1.") || name == "model.norm.weight"), "{middle:?}");
		assert_eq!(read(true, 0..0, false), ["model.embed_tokens.weight", "model.norm.weight"]);
		let matrix = if tied { "model.embed_tokens.weight" } else { "lm_head.weight" };
		assert_eq!(read(false, 3..3, true), {
			let mut names = [matrix, "model.norm.weight"];
			names.sort_unstable();
			names
		});
		assert_eq!(read(true, 0..3, true).len(), ParamLayout::new(&config).unwrap().tensors().len());
	}
	let config = tiny_model();
	let short = |_: usize, _: &ParamTensor| Ok::<_, InferenceError>(vec![0.0; 32].into());
	let error = Inference::load(Arc::new(Exec::new(1).unwrap()), &config, &Stage::whole(1), Class::ExactF32, short).err();
	assert!(matches!(error, Some(InferenceError::Parameters { found: 32, .. })));
}

#[test]
fn a_part_of_a_model_gives_only_what_it_has() {
	let config = tiny_model();
	let theta = lively_theta(&ParamLayout::new(&config).unwrap(), 1);
	let part =
		|embedding, layers, head| Inference::stage(Arc::new(Exec::new(1).unwrap()), &config, &theta, &Stage { embedding, layers, head });
	let layers = usize::try_from(config.layers).unwrap();
	let error = part(true, 1..layers + 1, true).err();
	assert_eq!(error, Some(InferenceError::Layers { first: 1, end: layers + 1, layers }));
	let mut middle = part(false, 0..1, false).unwrap();
	let (pages, mut sequence, dim) = (Pages::new(1), Sequence::default(), middle.dim());
	let mut pass = |input, output| {
		let piece = Piece { sequence: &mut sequence, tokens: &[1, 2], wanted: Wanted::Last };
		middle.pass(&pages, &mut [piece], input, output).map(<[f32]>::len)
	};
	assert_eq!(pass(Input::Tokens, Output::Rows), Err(InferenceError::Stage("embedding")));
	let rows = vec![0.5; 2 * dim];
	assert_eq!(pass(Input::Rows(&rows), Output::Logits), Err(InferenceError::Stage("head")));
	assert_eq!(pass(Input::Rows(&rows[1..]), Output::Rows), Err(InferenceError::Rows { expected: 2 * dim, found: 2 * dim - 1 }));
	assert_eq!(pass(Input::Rows(&rows), Output::Rows), Ok(2 * dim));
	assert_eq!(sequence.len(), 2);
}

#[test]
fn pages_that_are_elsewhere_are_told_when_they_are_given_up() {
	let given_up = GivenUp::default();
	let pages = Pages::elsewhere(3, given_up.clone());
	let (mut one, mut other) = (Sequence::default(), Sequence::default());
	one.reserve(&pages, 2 * PAGE_TOKENS, 0).unwrap();
	one.advance(2 * PAGE_TOKENS);
	assert!(other.reserve(&pages, PAGE_TOKENS + 1, 0).is_none());
	other.reserve(&pages, 1, 0).unwrap();
	let (ones, others): (Vec<_>, Vec<_>) = (one.numbers().collect(), other.numbers().collect());
	assert!(ones[0] < ones[1] && ones.len() == 2 && others.len() == 1 && !ones.contains(&others[0]));
	let shared = Sequence::with_prefix(one.full()[..1].to_vec());
	drop(one);
	assert_eq!((given_up.take(), pages.used()), (vec![ones[1]], 2));
	drop((shared, other));
	assert_eq!((given_up.take(), given_up.take()), (vec![ones[0], others[0]], vec![]));
}

#[test]
fn only_what_is_wanted_is_told_and_the_hidden_rows_are_those_of_the_head() {
	let config = &shapes()[0];
	let mut inference = model(config, 1, Class::ExactF32);
	let (one, other) = (tokens(70, config.vocab, 4), tokens(5, config.vocab, 5));
	let expected = [at_once(&mut inference, &one), at_once(&mut inference, &other)];
	let (mut first, mut second, mut third) = Default::default();
	let mut pieces = [
		Piece { sequence: &mut first, tokens: &one, wanted: Wanted::Nothing },
		Piece { sequence: &mut second, tokens: &one, wanted: Wanted::Last },
		Piece { sequence: &mut third, tokens: &other, wanted: Wanted::All },
	];
	let pages = Pages::new(100);
	let vocab = inference.vocab();
	let rows: Vec<_> = inference.logits(&pages, &mut pieces).unwrap().chunks(vocab).map(bits).collect();
	assert_eq!(rows[0], expected[0][69]);
	assert_eq!(rows[1..], expected[1]);
	let mut fourth = Sequence::default();
	let piece = Piece { sequence: &mut fourth, tokens: &one, wanted: Wanted::Last };
	assert_eq!(inference.pass(&pages, &mut [piece], Input::Tokens, Output::Hidden).unwrap().len(), inference.dim());
}

#[test]
fn what_cannot_be_read_is_refused_and_changes_nothing() {
	let config = tiny_model();
	let mut inference = model(&config, 1, Class::ExactF32);
	let pages = Pages::new(1);
	let mut sequence = Sequence::default();
	let mut read = |sequence: &mut Sequence, tokens: &[u32]| {
		let piece = Piece { sequence, tokens, wanted: Wanted::Last };
		inference.logits(&pages, &mut [piece]).map(<[f32]>::to_vec)
	};
	assert_eq!(read(&mut sequence, &[]), Err(InferenceError::Empty));
	assert_eq!(read(&mut sequence, &[64]), Err(InferenceError::Vocabulary(64)));
	assert_eq!(read(&mut sequence, &[1; 65]), Err(InferenceError::TooLong { longest: 64, found: 65 }));
	assert_eq!(sequence.len(), 0);
	assert_eq!(pages.used(), 0);
	let alone = read(&mut sequence, &[1; 64]).unwrap();
	assert_eq!((pages.used(), PAGE_TOKENS), (1, 64));
	let mut other = Sequence::default();
	assert_eq!(read(&mut other, &[1; 3]), Err(InferenceError::NoPages { tokens: 3 }));
	drop(sequence);
	assert_eq!(read(&mut other, &[1; 64]).unwrap(), alone);
	let theta = vec![0.0; 9];
	let error = Inference::new(Arc::new(Exec::new(1).unwrap()), &config, &theta).err();
	assert_eq!(error, Some(InferenceError::Parameters { expected: ParamLayout::new(&config).unwrap().len(), found: 9 }));
}

/// An adapter of so many ranks, and its parameters, of which B is not zero.
fn adapter(model: &ModelConfig, rank: u32, projections: Projections, seed: u64) -> (Adapter, Vec<f32>) {
	let adapter = Adapter { base: [0; 32], rank, alpha: F32::new(8.0), projections };
	let len = ParamLayout::of(model, Some(adapter)).unwrap().len();
	let numbers = random_tokens(len, 2_001, seed);
	(adapter, numbers.into_iter().map(|number| (number as f32 - 1_000.0) / 5_000.0).collect())
}

fn packed(model: &ModelConfig, (adapter, params): &(Adapter, Vec<f32>)) -> Arc<PackedAdapter> {
	Arc::new(PackedAdapter::new(&Exec::new(1).unwrap(), model, adapter, params).unwrap())
}

/// Logits after every token of a text beside an adapter.
fn beside(inference: &mut Inference, adapter: Option<&Arc<PackedAdapter>>, text: &[u32]) -> Vec<Vec<u32>> {
	let mut sequence = Sequence::default().beside(adapter.cloned());
	let piece = Piece { sequence: &mut sequence, tokens: text, wanted: Wanted::All };
	let vocab = inference.vocab();
	inference.logits(&Pages::new(64), &mut [piece]).unwrap().chunks(vocab).map(bits).collect()
}

/// The weights with the adapter merged, in f64.
fn merged(model: &ModelConfig, theta: &[f32], (adapter, params): &(Adapter, Vec<f32>)) -> Vec<f64> {
	let (whole, layout) = (ParamLayout::new(model).unwrap(), ParamLayout::of(model, Some(*adapter)).unwrap());
	let mut merged: Vec<f64> = theta.iter().map(|&value| value.into()).collect();
	for [a, b] in layout.tensors().as_chunks::<2>().0 {
		let weight = whole.get(&a.name.replace(".lora_A", "")).unwrap();
		for row in 0..weight.rows {
			for col in 0..weight.cols {
				let terms = (0..a.rows)
					.map(|rank| f64::from(params[a.offset + rank * a.cols + col]) * f64::from(params[b.offset + rank * b.cols + row]));
				merged[weight.offset + row * weight.cols + col] += terms.sum::<f64>() * f64::from(adapter.scale());
			}
		}
	}
	merged
}

#[test]
fn logits_beside_an_adapter_are_those_of_the_model_that_it_is_merged_into() {
	for config in shapes() {
		let theta = lively_theta(&ParamLayout::new(&config).unwrap(), 1);
		let some = [Projection::K, Projection::O, Projection::Down].into_iter().collect();
		for (rank, projections) in [(1, Projections::ALL), (5, some)] {
			let one = adapter(&config, rank, projections, 6);
			let (short, text) = (random_tokens(40, config.vocab, 2), tokens(40, config.vocab, 2));
			let expected = Reference::new(&config).logits(&merged(&config, &theta, &one), &short);
			let without = at_once(&mut model(&config, 2, Class::ExactF32), &text);
			let found = beside(&mut model(&config, 2, Class::ExactF32), Some(&packed(&config, &one)), &text);
			let mut apart = 0.0f64;
			for ((row, expected), without) in found.iter().zip(&expected).zip(&without) {
				for ((&logit, expected), without) in row.iter().zip(expected).zip(without) {
					let logit = f64::from(f32::from_bits(logit));
					assert!((logit - expected).abs() < 1e-4, "{logit} against {expected}");
					apart = apart.max((f64::from(f32::from_bits(*without)) - expected).abs());
				}
			}
			assert!(apart > 0.01, "the adapter changes nothing: {apart}");
		}
	}
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

	/// Each text has its own adapter, or none.
	#[test]
	fn what_a_text_gets_beside_its_adapter_does_not_depend_on_the_others(
		shape in 0..shapes().len(),
		texts in prop::collection::vec((1usize..100, any::<u64>(), 0usize..3), 1..8),
		portion in 1usize..50,
		class in prop::sample::select(CLASSES.to_vec()),
	) {
		let config = &shapes()[shape];
		let mut inference = model(config, 2, class);
		let adapters = [(2, 6), (40, 7)].map(|(rank, seed)| packed(config, &adapter(config, rank, Projections::ALL, seed)));
		let of = |which: usize| which.checked_sub(1).map(|index| &adapters[index]);
		let texts: Vec<_> = texts.into_iter().map(|(len, seed, which)| (tokens(len, config.vocab, seed), of(which))).collect();
		let expected: Vec<_> = texts.iter().map(|(text, adapter)| beside(&mut inference, *adapter, text)).collect();
		let pages = Pages::new(100);
		let mut sequences: Vec<_> = texts.iter().map(|(_, adapter)| Sequence::default().beside(adapter.cloned())).collect();
		let mut found: Vec<Vec<Vec<u32>>> = vec![Vec::new(); texts.len()];
		while found.iter().zip(&texts).any(|(found, (text, _))| found.len() < text.len()) {
			let reading: Vec<_> = (0..texts.len()).filter(|at| found[*at].len() < texts[*at].0.len()).collect();
			let left = sequences.iter_mut().zip(&texts).filter(|(sequence, (text, _))| sequence.len() < text.len());
			let mut pieces: Vec<_> = left.map(|(sequence, (text, _))| {
				let tokens = &text[sequence.len()..text.len().min(sequence.len() + portion)];
				Piece { sequence, tokens, wanted: Wanted::All }
			}).collect();
			let counts: Vec<_> = pieces.iter().map(|piece| piece.tokens.len()).collect();
			let vocab = inference.vocab();
			let mut rows = inference.logits(&pages, &mut pieces).unwrap().chunks(vocab).map(bits);
			for (at, count) in reading.into_iter().zip(counts) {
				found[at].extend(rows.by_ref().take(count));
			}
		}
		prop_assert_eq!(found, expected);
	}
}

#[test]
fn an_adapter_of_another_model_is_refused() {
	let config = tiny_model();
	let other = ModelConfig { ffn: config.ffn + 32, ..config.clone() };
	let mut inference = model(&config, 1, Class::ExactF32);
	let mut sequence = Sequence::default().beside(Some(packed(&other, &adapter(&other, 2, Projections::ALL, 1))));
	let piece = Piece { sequence: &mut sequence, tokens: &[1], wanted: Wanted::Last };
	assert_eq!(inference.logits(&Pages::new(1), &mut [piece]), Err(InferenceError::Adapter));
	let (told, params) = adapter(&config, 2, Projections::ALL, 1);
	let packed = |told: &Adapter, params: &[f32]| PackedAdapter::new(&Exec::new(1).unwrap(), &config, told, params).err();
	assert!(matches!(packed(&told, &params[1..]), Some(InferenceError::Parameters { .. })));
	assert!(matches!(packed(&Adapter { rank: 0, ..told }, &params), Some(InferenceError::Setup(_))));
}
