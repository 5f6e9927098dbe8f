//! Tests of the manifests that `propose` accepts.

use super::*;
use crate::{
	mock::{build_and_execute, ALICE},
	Error,
};
use frame_support::assert_noop;
use neuroshard_types::dataset::Manifest;

fn refused(change: impl Fn(&mut Manifest), error: Error<Test>) {
	let error = sp_runtime::DispatchError::from(error);
	build_and_execute(|| {
		let mut bad = manifest();
		change(&mut bad);
		assert_noop!(Dataset::propose(signed(ALICE), bad), error);
	});
}

fn accepted(change: impl Fn(&mut Manifest)) {
	build_and_execute(|| {
		let mut good = manifest();
		change(&mut good);
		assert_ok!(Dataset::propose(signed(ALICE), good.clone()));
		assert_eq!(view(0).manifest, good);
	});
}

#[test]
fn texts_are_utf8_and_not_empty() {
	refused(|manifest| manifest.name = Default::default(), Error::InvalidText);
	refused(|manifest| manifest.licence = Default::default(), Error::InvalidText);
	refused(|manifest| manifest.source = Default::default(), Error::InvalidText);
	// A lone continuation byte.
	refused(|manifest| manifest.name = vec![0x80].try_into().expect("one byte fits"), Error::InvalidText);
	accepted(|manifest| manifest.name = "Größe".as_bytes().to_vec().try_into().expect("7 bytes fit"));
}

#[test]
fn a_vocabulary_is_a_positive_multiple_of_32_up_to_262144() {
	refused(|manifest| manifest.vocab = 0, Error::InvalidVocab);
	refused(|manifest| manifest.vocab = 1_000, Error::InvalidVocab);
	refused(|manifest| manifest.vocab = 262_176, Error::InvalidVocab);
	accepted(|manifest| manifest.vocab = 65_568);
	accepted(|manifest| manifest.vocab = 262_144);
}

#[test]
fn a_tokenizer_has_bytes_and_its_tokens_are_within_the_vocabulary() {
	refused(|manifest| manifest.tokenizer.bytes = 0, Error::InvalidTokenizer);
	refused(|manifest| manifest.tokenizer.bytes = (64 << 20) + 1, Error::InvalidTokenizer);
	refused(|manifest| manifest.tokenizer.tokens = TextTokens { usable: 1_025, end: 0 }, Error::InvalidTokenizer);
	refused(|manifest| manifest.tokenizer.tokens = TextTokens { usable: 1_000, end: 1_000 }, Error::InvalidTokenizer);
	refused(|manifest| manifest.tokenizer.tokens = TextTokens { usable: 0, end: 0 }, Error::InvalidTokenizer);
	accepted(|manifest| manifest.tokenizer.tokens = TextTokens { usable: 1_024, end: 1_023 });
	accepted(|manifest| manifest.tokenizer.bytes = 64 << 20);
}

#[test]
fn a_shard_has_2_to_2_to_the_26_tokens() {
	refused(|manifest| manifest.shape.tokens_per_shard = 1, Error::InvalidShardSize);
	refused(|manifest| manifest.shape.tokens_per_shard = (1 << 26) + 1, Error::InvalidShardSize);
	accepted(|manifest| manifest.shape.tokens_per_shard = 2);
	accepted(|manifest| manifest.shape.tokens_per_shard = 1 << 26);
}

#[test]
fn there_are_1_to_65536_shards() {
	refused(|manifest| manifest.shape.shard_count = 0, Error::InvalidShardCount);
	refused(|manifest| manifest.shape.shard_count = 65_537, Error::InvalidShardCount);
	accepted(|manifest| manifest.shape.shard_count = 65_536);
}

#[test]
fn a_shard_is_left_for_training() {
	refused(|manifest| manifest.shape.held_out = 5, Error::NothingToTrainOn);
	refused(|manifest| manifest.shape.held_out = u32::MAX, Error::NothingToTrainOn);
	accepted(|manifest| manifest.shape.held_out = 4);
	accepted(|manifest| manifest.shape.held_out = 0);
}

#[test]
fn a_source_has_bytes() {
	refused(|manifest| manifest.bytes = 0, Error::NoBytes);
}
