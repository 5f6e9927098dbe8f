//! Logits for generation and export.

mod common;
#[path = "common/reference.rs"]
mod reference;

use common::{lively_theta, random_tokens, tiny_model};
use neuroshard_graph::{
	exec::{forward_logits, DecodeError, Decoder, Exec},
	ModelConfig, ParamLayout,
};
use reference::Reference;
use std::sync::Arc;

fn decoder(model: &ModelConfig, capacity: usize) -> Decoder {
	Decoder::new(Arc::new(Exec::new(2).unwrap()), model, capacity).unwrap()
}

#[test]
fn decoding_token_by_token_gives_the_bits_of_a_prefill() {
	for model in [tiny_model(), ModelConfig { tied: false, ..tiny_model() }] {
		let theta = lively_theta(&ParamLayout::new(&model).unwrap(), 1);
		let tokens = random_tokens(40, model.vocab, 2);
		let at_once = forward_logits(&mut decoder(&model, 40), &theta, &tokens).unwrap();
		let rows: Vec<&[f32]> = at_once.chunks(64).collect();

		let mut one_by_one = decoder(&model, 64);
		for (token, row) in tokens.iter().zip(&rows) {
			assert_eq!(one_by_one.extend(&theta, &[*token]).unwrap(), *row);
		}
		let mut in_parts = decoder(&model, 64);
		assert_eq!(in_parts.extend(&theta, &tokens[..7]).unwrap(), rows[6]);
		assert_eq!(in_parts.extend(&theta, &tokens[7..]).unwrap(), rows[39]);
		in_parts.clear();
		assert_eq!(in_parts.extend(&theta, &tokens[..3]).unwrap(), rows[2]);
	}
}

#[test]
fn logits_agree_with_the_f64_model() {
	let model = tiny_model();
	let theta = lively_theta(&ParamLayout::new(&model).unwrap(), 1);
	let tokens = random_tokens(40, model.vocab, 2);
	let logits = forward_logits(&mut decoder(&model, 64), &theta, &tokens).unwrap();
	let exact: Vec<f64> = theta.iter().map(|&v| v.into()).collect();
	for (row, expected) in logits.chunks(64).zip(Reference::new(&model).logits(&exact, &tokens)) {
		for (&logit, expected) in row.iter().zip(expected) {
			assert!((f64::from(logit) - expected).abs() < 1e-4, "{logit} against {expected}");
		}
	}
}

#[test]
fn a_decoder_refuses_what_it_cannot_hold() {
	let model = tiny_model();
	let theta = lively_theta(&ParamLayout::new(&model).unwrap(), 1);
	let mut decoder = decoder(&model, 1000);
	assert_eq!(decoder.extend(&theta, &[]), Err(DecodeError::Empty));
	assert_eq!(decoder.extend(&theta, &[64]), Err(DecodeError::Vocabulary(64)));
	assert_eq!(decoder.extend(&theta, &[1; 65]), Err(DecodeError::Capacity { capacity: 64, found: 65 }));
	let short = DecodeError::Parameters { expected: theta.len(), found: 9 };
	assert_eq!(decoder.extend(&theta[..9], &[1]), Err(short));
	assert!(decoder.is_empty());
}
