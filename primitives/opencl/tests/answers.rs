//! Models that answer on the device, against the same on the CPU: texts of any length, beside each other, in both classes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{bits, device};
use neuroshard_compute::exec::{
	Decoding, Exec, Inference, InferenceError, Input, Output, Pages, Piece, Sequence, Stage, Wanted, PAGE_TOKENS,
};
use neuroshard_graph::{
	config::{Family, ModelConfig},
	init::theta_0,
	layout::ParamLayout,
	Class,
};
use std::sync::Arc;

/// Models of all families, with sizes that fill no group of work-items.
fn models() -> [ModelConfig; 3] {
	let tiny = ModelConfig { max_seq: 192, ..ModelConfig::tiny() };
	[
		ModelConfig { vocab: 96, dim: 96, layers: 2, heads: 6, kv_heads: 2, ffn: 160, ..tiny.clone() },
		ModelConfig { tied: false, family: Family::Qwen2, ..tiny.clone() },
		ModelConfig { family: Family::Qwen3, head_dim: Some(32), ..tiny },
	]
}

fn inference<B: Decoding>(backend: Arc<B>, model: &ModelConfig, stage: &Stage, class: Class) -> Inference<B> {
	let theta = theta_0(model, &ParamLayout::new(model).unwrap(), &[9; 32]);
	Inference::in_class(backend, model, &theta, stage, class).unwrap()
}

fn tokens(model: &ModelConfig, from: usize, count: usize) -> Vec<u32> {
	(from..from + count).map(|place| u32::try_from(place * 7_919 % 1_009).unwrap() % model.vocab).collect()
}

/// What comes of two texts that are read in pieces beside each other, one of which is cut, and of a third that begins with a page of the first.
fn read<B: Decoding>(mut inference: Inference<B>, model: &ModelConfig) -> Vec<Vec<u32>> {
	let (pages, mut out) = (inference.pages(8), Vec::new());
	let (mut long, mut short) = (Sequence::default(), Sequence::default());
	for (counts, wanted) in
		[([70, 3], Wanted::Last), ([1, 1], Wanted::Last), ([20, 61], Wanted::All), ([1, 2], Wanted::Nothing), ([1, 1], Wanted::All)]
	{
		let [first, second] = [(&long, counts[0]), (&short, counts[1])].map(|(text, count)| tokens(model, text.len() + 5 * count, count));
		let mut pieces =
			[Piece { sequence: &mut long, tokens: &first, wanted }, Piece { sequence: &mut short, tokens: &second, wanted: Wanted::Last }];
		out.push(bits(inference.logits(&pages, &mut pieces).unwrap()));
		short.truncate(short.len() - 1);
	}
	let mut third = Sequence::with_prefix(long.full().to_vec());
	assert_eq!(third.len(), PAGE_TOKENS);
	let next = tokens(model, 400, 9);
	let mut piece = [Piece { sequence: &mut third, tokens: &next, wanted: Wanted::All }];
	out.push(bits(inference.pass(&pages, &mut piece, Input::Tokens, Output::Hidden).unwrap()));
	drop((long, short, third));
	assert_eq!(pages.used(), 0);
	out
}

#[test]
fn texts_have_the_bits_of_the_cpu_in_all_families_and_both_classes() {
	let (device, exec) = (Arc::new(device()), Arc::new(Exec::new(2).unwrap()));
	for model in models() {
		let whole = Stage::whole(usize::try_from(model.layers).unwrap());
		for class in [Class::ExactF32, Class::ExactInt8] {
			let found = read(inference(device.clone(), &model, &whole, class), &model);
			let expected = read(inference(exec.clone(), &model, &whole, class), &model);
			assert!(found == expected, "{:?}, {class:?}", model.family);
		}
	}
}

#[test]
fn layers_of_a_model_have_the_bits_of_the_cpu() {
	let (device, exec) = (Arc::new(device()), Arc::new(Exec::new(2).unwrap()));
	let model = &models()[0];
	let middle = Stage { embedding: false, layers: 1..2, head: false };
	let rows: Vec<f32> = (0..11 * 96).map(|place| (place * 37 % 101) as f32 / 50.0 - 1.0).collect();
	fn through<B: Decoding>(mut part: Inference<B>, rows: &[f32]) -> Vec<u32> {
		let (pages, mut text) = (part.pages(1), Sequence::default());
		let mut piece = [Piece { sequence: &mut text, tokens: &[0; 11], wanted: Wanted::Nothing }];
		bits(part.pass(&pages, &mut piece, Input::Rows(rows), Output::Rows).unwrap())
	}
	let found = through(inference(device, model, &middle, Class::ExactInt8), &rows);
	assert!(found == through(inference(exec, model, &middle, Class::ExactInt8), &rows) && found.len() == rows.len());
}

#[test]
fn what_is_held_is_given_back_and_a_device_that_is_full_is_not_lost() {
	let (device, model) = (Arc::new(device()), &models()[0]);
	let whole = Stage::whole(usize::try_from(model.layers).unwrap());
	let first = inference(device.clone(), model, &whole, Class::ExactInt8);
	let most = first.pages(usize::MAX).limit();
	for _ in 0..3 {
		drop(inference(device.clone(), model, &whole, Class::ExactF32));
		assert_eq!(first.pages(usize::MAX).limit(), most);
	}
	// All that there is: nothing more fits beside it.
	let all: Vec<Pages> = (0..1_000).map(|_| first.pages(usize::MAX)).take_while(|pages| pages.limit() > 0).collect();
	assert!(!all.is_empty() && first.pages(1).limit() == 0);
	let theta = theta_0(model, &ParamLayout::new(model).unwrap(), &[9; 32]);
	let refused = Inference::in_class(device.clone(), model, &theta, &whole, Class::ExactF32).err();
	assert!(matches!(refused, Some(InferenceError::Device(_))), "{refused:?}");
	assert!(!device.is_lost());
	drop(all);
	inference(device, model, &whole, Class::ExactF32);
}

#[test]
fn pages_of_another_engine_and_more_of_them_than_there_are_refused() {
	let model = &models()[1];
	let mut model_here = inference(Arc::new(device()), model, &Stage::whole(usize::try_from(model.layers).unwrap()), Class::ExactF32);
	let (pages, mut text) = (model_here.pages(1), Sequence::default());
	let mut read = |pages: &Pages, text: &mut Sequence, count| {
		let tokens = tokens(model, 0, count);
		let mut piece = [Piece { sequence: text, tokens: &tokens, wanted: Wanted::Last }];
		model_here.logits(pages, &mut piece).map(<[f32]>::len)
	};
	assert_eq!(read(&pages, &mut text, 65), Err(InferenceError::NoPages { tokens: 65 }));
	assert_eq!((read(&pages, &mut text, 3), pages.used()), (Ok(usize::try_from(model.vocab).unwrap()), 1));
	// Pages of another model, and such that are not a device's.
	let other = inference(Arc::new(device()), &models()[0], &Stage::whole(2), Class::ExactF32).pages(4);
	assert_eq!(read(&other, &mut Sequence::default(), 1), Err(InferenceError::Pages));
	assert_eq!(read(&Pages::new(8), &mut text, 1), Err(InferenceError::Pages));
	assert_eq!(read(&Pages::new(8), &mut Sequence::default(), 1), Err(InferenceError::Pages));
}
