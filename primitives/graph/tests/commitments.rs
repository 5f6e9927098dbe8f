//! Tiles, Merkle trees, roots and initial parameters.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{tiny_model, tiny_train};
use neuroshard_graph::{
	commit,
	init::theta_0,
	merkle::{blake2_256, level, merkle_root, proof_len, prove, verify},
	tiles::{content_id, decode, decode_tensor, encode, leaf_hash, leaf_hashes, tile_hashes, DecodeError, LEAF_BYTES},
	Hash, ParamLayout,
};
use proptest::prelude::*;

fn layout() -> ParamLayout {
	ParamLayout::new(&tiny_model()).unwrap()
}

fn ramp(layout: &ParamLayout) -> Vec<f32> {
	(0..layout.len()).map(|i| i as f32 * 0.5 - 1000.0).collect()
}

/// Hash of a leaf straight from the definition.
fn leaf_by_definition(leaf: &[u8]) -> Hash {
	let quarters: Vec<u8> = leaf.chunks(1024).flat_map(blake2_256).collect();
	blake2_256(&quarters)
}

#[test]
fn blake2_256_of_abc_is_the_published_value() {
	let expected = "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319";
	let hex: String = blake2_256(b"abc").iter().map(|byte| format!("{byte:02x}")).collect();
	assert_eq!(hex, expected);
}

#[test]
fn first_tile_holds_the_first_32_rows_and_columns() {
	let layout = layout();
	let values = ramp(&layout);
	let bytes = encode(&layout, &values);
	for (row, col) in [(0, 0), (0, 31), (1, 0), (31, 31)] {
		let at = (row * 32 + col) * 4;
		assert_eq!(bytes[at..at + 4], values[row * 64 + col].to_le_bytes());
	}
	assert_eq!(bytes[LEAF_BYTES..LEAF_BYTES + 4], values[32].to_le_bytes());
}

#[test]
fn tile_hashes_follow_the_definition_with_any_number_of_threads() {
	let layout = layout();
	let values = ramp(&layout);
	let bytes = encode(&layout, &values);
	let expected: Vec<Hash> = bytes.chunks(LEAF_BYTES).map(leaf_by_definition).collect();
	for threads in [0, 1, 2, 3, 64] {
		assert_eq!(tile_hashes(&layout, &values, threads), expected);
		assert_eq!(leaf_hashes(&bytes, threads), expected);
	}
	assert_eq!(commit::tensors_root(&layout, &values, 2), content_id(&bytes, 1));
}

/// Bytes without a pattern.
fn noise(len: usize) -> Vec<u8> {
	let mut state = 1u64;
	let mut next = || {
		state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
		(state >> 56) as u8
	};
	(0..len).map(|_| next()).collect()
}

#[test]
fn leaves_hash_as_defined_in_groups_of_any_number() {
	let bytes = noise(150 * LEAF_BYTES);
	let expected: Vec<Hash> = bytes.chunks(LEAF_BYTES).map(leaf_by_definition).collect();
	for count in (0..40).chain([64, 65, 149, 150]) {
		for threads in [1, 2] {
			assert_eq!(leaf_hashes(&bytes[..count * LEAF_BYTES], threads), expected[..count]);
		}
	}
}

#[test]
fn tiles_of_zeros_hash_as_defined_wherever_they_are() {
	let layout = layout();
	for every in [1, 2, 3, 40] {
		let mut values = ramp(&layout);
		// Tiles lie in bands of 32 rows.
		for (number, band) in values.chunks_mut(32 * 64).enumerate() {
			if number % every == 0 {
				band.fill([0.0, -0.0][number % 2]);
			}
		}
		let expected: Vec<Hash> = encode(&layout, &values).chunks(LEAF_BYTES).map(leaf_by_definition).collect();
		assert_eq!(tile_hashes(&layout, &values, 2), expected);
	}
}

#[test]
fn a_root_is_that_of_pairs_of_pairs() {
	let hashes: Vec<Hash> = noise(32 * 300).as_chunks::<32>().0.to_vec();
	for count in (1..70).chain([127, 128, 255, 300]) {
		let mut nodes = hashes[..count].to_vec();
		for height in 0.. {
			assert_eq!(level(&hashes[..count], height), nodes);
			if nodes.len() == 1 {
				break;
			}
			nodes = nodes.chunks(2).map(|pair| if pair.len() == 2 { blake2_256(&pair.concat()) } else { pair[0] }).collect();
		}
		assert_eq!(merkle_root(&hashes[..count]), nodes[0]);
	}
}

#[test]
fn zeros_and_nans_hash_alike() {
	let layout = layout();
	let mut values = ramp(&layout);
	values[5] = 0.0;
	values[6] = f32::NAN;
	let root = commit::tensors_root(&layout, &values, 1);
	values[5] = -0.0;
	values[6] = f32::from_bits(0xffc1_2345);
	assert_eq!(commit::tensors_root(&layout, &values, 1), root);
	values[5] = 1.0;
	assert_ne!(commit::tensors_root(&layout, &values, 1), root);
}

#[test]
fn decoding_refuses_what_encoding_never_makes() {
	let layout = layout();
	let bytes = encode(&layout, &ramp(&layout));
	let refused = |change: &dyn Fn(&mut Vec<u8>)| {
		let mut bytes = bytes.clone();
		change(&mut bytes);
		decode(&layout, &bytes).unwrap_err()
	};
	let short = DecodeError::Length { expected: bytes.len(), found: bytes.len() - 1 };
	assert_eq!(refused(&|b| b.truncate(b.len() - 1)), short);
	assert_eq!(refused(&|b| b[LEAF_BYTES..LEAF_BYTES + 4].copy_from_slice(&f32::INFINITY.to_le_bytes())), DecodeError::Value { tile: 1 });
	assert_eq!(refused(&|b| b[..4].copy_from_slice(&f32::NAN.to_le_bytes())), DecodeError::Value { tile: 0 });
	assert_eq!(refused(&|b| b[..4].copy_from_slice(&(-0.0f32).to_le_bytes())), DecodeError::Value { tile: 0 });
	// The last tile belongs to the final norm: one row of data, 31 of padding.
	let last = layout.tile_count() - 1;
	assert_eq!(refused(&|b| *b.last_mut().unwrap() = 1), DecodeError::Padding { tile: last });
}

#[test]
fn roots_are_the_known_ones() {
	let hex = |hash: Hash| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
	let leaves: Vec<Hash> = (0..5u8).map(|i| [i; 32]).collect();
	let pair = |a: Hash, b: Hash| blake2_256(&[a, b].concat());
	let by_hand = pair(pair(pair(leaves[0], leaves[1]), pair(leaves[2], leaves[3])), leaves[4]);
	assert_eq!(merkle_root(&leaves), by_hand);
	assert_eq!(merkle_root(&[]), [0; 32]);
	assert_eq!(merkle_root(&[[9; 32]]), [9; 32]);

	let zero = [0; 32];
	let one = [1; 32];
	let state: Vec<u8> = [&b"neuroshard/state/1"[..], &zero, &one, &zero, &3u32.to_le_bytes(), &6u64.to_le_bytes()].concat();
	assert_eq!(commit::state_root(&zero, &one, &zero, 3, 6), blake2_256(&state));
	let checkpoint: Vec<u8> = [&b"neuroshard/checkpoint/1"[..], &zero, &one, &2u32.to_le_bytes(), &12u64.to_le_bytes()].concat();
	assert_eq!(commit::checkpoint_root(&zero, &one, 2, 12), blake2_256(&checkpoint));

	// Pins theta_0, the tile format and the commitment together: a change is a new arithmetic version.
	let genesis = commit::genesis_root(&tiny_model(), &tiny_train(), 2).unwrap();
	assert_eq!(hex(genesis), "f9c05ece197e5c381266d745e529b2f883f398edeb98f053c8920c636ddcee19");
}

#[test]
fn theta_0_has_the_promised_spread_and_depends_on_seed_and_tensor() {
	let (model, layout) = (tiny_model(), layout());
	let theta = theta_0(&model, &layout, &[1; 32]);
	let spread = |name: &str| {
		let values = &theta[layout.get(name).unwrap().range()];
		let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / values.len() as f64;
		let variance = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / values.len() as f64;
		assert!(mean.abs() < 0.002, "{name}: mean {mean}");
		variance.sqrt()
	};
	assert!((spread("model.embed_tokens.weight") - 0.02).abs() < 0.001);
	assert!((spread("model.layers.1.mlp.up_proj.weight") - 0.02).abs() < 0.001);
	assert!((spread("model.layers.0.self_attn.o_proj.weight") - 0.01).abs() < 0.0005);
	assert!(theta[layout.get("model.norm.weight").unwrap().range()].iter().all(|&v| v == 1.0));
	let q = |layer: u32| layout.get(&format!("model.layers.{layer}.self_attn.q_proj.weight")).unwrap().range();
	assert_ne!(theta[q(0)], theta[q(1)]);
	assert_eq!(theta_0(&model, &layout, &[1; 32]), theta);
	assert_ne!(theta_0(&model, &layout, &[2; 32])[q(0)], theta[q(0)]);
}

proptest! {
	#[test]
	fn finite_values_survive_encoding(seed in any::<u64>()) {
		let layout = layout();
		let mut state = seed;
		let values: Vec<f32> = (0..layout.len())
			.map(|_| {
				state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
				let value = f32::from_bits((state >> 32) as u32);
				if value.is_finite() { value + 0.0 } else { 1.0 }
			})
			.collect();
		let decoded = decode(&layout, &encode(&layout, &values)).unwrap();
		prop_assert!(decoded.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
	}

	#[test]
	fn one_tensor_decodes_like_the_whole(at in any::<prop::sample::Index>()) {
		let layout = layout();
		let values = ramp(&layout);
		let bytes = encode(&layout, &values);
		let index = at.index(layout.tensors().len());
		let tensor = &layout.tensors()[index];
		let range = layout.encoded_range(index).unwrap();
		let mut out = vec![0.0; tensor.len()];
		decode_tensor(tensor, &bytes[range.clone()], &mut out).unwrap();
		prop_assert_eq!(&out, &values[tensor.range()]);
		let short = DecodeError::Length { expected: range.len(), found: range.len() - 1 };
		prop_assert_eq!(decode_tensor(tensor, &bytes[range.start + 1..range.end], &mut out), Err(short));
	}

	#[test]
	fn a_short_last_leaf_counts_as_padded(len in 1usize..3 * LEAF_BYTES, byte in 1u8..) {
		let blob = vec![byte; len];
		let mut padded = blob.clone();
		padded.resize(len.next_multiple_of(LEAF_BYTES), 0);
		prop_assert_eq!(leaf_hashes(&blob, 1), leaf_hashes(&padded, 2));
		prop_assert_eq!(leaf_hash(&padded[..LEAF_BYTES]), leaf_by_definition(&padded[..LEAF_BYTES]));
	}

	#[test]
	fn proofs_hold_for_their_own_leaf_only(count in 1u32..70, at in any::<prop::sample::Index>(), other in any::<prop::sample::Index>()) {
		let leaves: Vec<Hash> = (0..count).map(|i| blake2_256(&i.to_le_bytes())).collect();
		let root = merkle_root(&leaves);
		let (index, wrong) = (at.index(leaves.len()), other.index(leaves.len()));
		let at = u32::try_from(index).unwrap();
		let proof = prove(&leaves, at).unwrap();
		prop_assert_eq!(proof_len(count, at), u32::try_from(proof.len()).ok());
		prop_assert!(verify(&root, &proof, count, at, leaves[index]));
		prop_assert_eq!(verify(&root, &proof, count, at, leaves[wrong]), wrong == index);
		prop_assert!(!verify(&root, &[&proof[..], &[[0; 32]]].concat(), count, at, leaves[index]));
		if let Some((_, shorter)) = proof.split_last() {
			prop_assert!(!verify(&root, shorter, count, at, leaves[index]));
		}
		prop_assert!(prove(&leaves, count).is_none());
		prop_assert!(!verify(&root, &proof, count, count, leaves[index]));
	}
}
