//! Reads GGUF files as the format is specified, and nothing that the files here do not have.

use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::{Family, ModelConfig, ParamLayout, RopeScaling, F32};
use neuroshard_training::{
	export::{
		gguf::{export, Precision},
		ExportError,
	},
	presets,
};
use std::{collections::BTreeMap, fs, path::Path};

/// A file: what its head says, as text, and of each tensor its shape, type and bytes.
struct Read {
	head: BTreeMap<String, String>,
	tensors: BTreeMap<String, (Vec<u64>, u32, Vec<u8>)>,
}

struct Cursor<'a>(&'a [u8], usize);

impl Cursor<'_> {
	fn take(&mut self, count: usize) -> &[u8] {
		self.1 += count;
		&self.0[self.1 - count..self.1]
	}

	fn u32(&mut self) -> u32 {
		u32::from_le_bytes(self.take(4).try_into().unwrap())
	}

	fn u64(&mut self) -> u64 {
		u64::from_le_bytes(self.take(8).try_into().unwrap())
	}

	fn text(&mut self) -> String {
		let count = usize::try_from(self.u64()).unwrap();
		String::from_utf8(self.take(count).to_vec()).unwrap()
	}

	fn value(&mut self, kind: u32) -> String {
		match kind {
			4 => self.u32().to_string(),
			5 => self.u32().cast_signed().to_string(),
			6 => f32::from_bits(self.u32()).to_string(),
			7 => (self.take(1) == [1]).to_string(),
			8 => self.text(),
			9 => {
				let (kind, count) = (self.u32(), self.u64());
				(0..count).map(|_| self.value(kind)).collect::<Vec<_>>().join("|")
			}
			other => panic!("type {other}"),
		}
	}
}

fn read(path: &Path) -> Read {
	let bytes = fs::read(path).unwrap();
	let mut cursor = Cursor(&bytes, 0);
	assert_eq!((cursor.take(4), bytes.len() % 32), (&b"GGUF"[..], 0));
	assert_eq!(cursor.u32(), 3);
	let (tensors, values) = (cursor.u64(), cursor.u64());
	let mut head = BTreeMap::new();
	for _ in 0..values {
		let (name, kind) = (cursor.text(), cursor.u32());
		let value = cursor.value(kind);
		assert!(head.insert(name, value).is_none());
	}
	let mut told = Vec::new();
	for _ in 0..tensors {
		let (name, lengths) = (cursor.text(), cursor.u32());
		let shape: Vec<u64> = (0..lengths).map(|_| cursor.u64()).collect();
		told.push((name, shape, cursor.u32(), usize::try_from(cursor.u64()).unwrap()));
	}
	let first = cursor.1.next_multiple_of(32);
	let tensors = told.into_iter().map(|(name, shape, kind, offset)| {
		assert_eq!(offset % 32, 0);
		let size = usize::try_from(shape.iter().product::<u64>()).unwrap() * if kind == 0 { 4 } else { 2 };
		(name, (shape, kind, bytes[first + offset..][..size].to_vec()))
	});
	Read { head, tensors: tensors.collect() }
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
	bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Parameters that are all different, and exact in 16 bits but for some.
fn parameters(model: &ModelConfig) -> Vec<f32> {
	(0..ParamLayout::new(model).unwrap().len()).map(|index| index as f32).collect()
}

#[test]
fn a_gguf_file_has_the_numbers_of_the_model_and_what_readers_of_the_format_need() {
	let llama3 = RopeScaling::Llama3 { factor: F32::new(8.0), low: F32::new(1.0), high: F32::new(4.0), original: 64 };
	let model = ModelConfig { kv_heads: 2, rope_scaling: llama3, ..presets::tiny().0 };
	let (layout, params) = (ParamLayout::new(&model).unwrap(), parameters(&model));
	let folder = tempfile::tempdir().unwrap();
	let path = folder.path().join("model.gguf");
	export(&path, "run-7", &model, (&Tokenizer::bytes(), Some("{{ messages }}")), &params, Precision::F32).unwrap();
	let Read { head, tensors } = read(&path);
	for (name, value) in [
		("general.architecture", "llama"),
		("general.name", "run-7"),
		("llama.attention.head_count_kv", "2"),
		("llama.rope.freq_base", "10000"),
		("tokenizer.ggml.model", "gpt2"),
		("tokenizer.ggml.pre", "gpt-2"),
		("tokenizer.ggml.bos_token_id", "256"),
		("tokenizer.ggml.eos_token_id", "256"),
		("tokenizer.ggml.add_bos_token", "true"),
		("tokenizer.ggml.merges", ""),
		("tokenizer.chat_template", "{{ messages }}"),
	] {
		assert_eq!(head[name], value, "{name}");
	}
	let words: Vec<&str> = head["tokenizer.ggml.tokens"].split('|').collect();
	// The bytes, one of which is written as the separator here, and special tokens.
	assert!(words.contains(&"Ġ") && words.contains(&"<"), "{words:?}");
	assert_eq!(tensors.len(), layout.tensors().len() + 1);
	assert!(!tensors.contains_key("output.weight"));
	let own = |name: &str| params[layout.get(name).unwrap().range()].to_vec();
	let (shape, kind, bytes) = &tensors["token_embd.weight"];
	assert_eq!((&shape[..], *kind), (&[u64::from(model.dim), u64::from(model.vocab)][..], 0));
	assert_eq!(numbers(bytes), own("model.embed_tokens.weight"));
	assert_eq!(numbers(&tensors["blk.1.ffn_down.weight"].2), own("model.layers.1.mlp.down_proj.weight"));
	assert_eq!(numbers(&tensors["blk.0.attn_v.weight"].2), own("model.layers.0.self_attn.v_proj.weight"));
	// Of each head, rows of its first half take turns with those of the second.
	let width = usize::try_from(model.head_dim()).unwrap();
	for (name, own) in [
		("blk.1.attn_q.weight", own("model.layers.1.self_attn.q_proj.weight")),
		("blk.0.attn_k.weight", own("model.layers.0.self_attn.k_proj.weight")),
	] {
		let rows: Vec<&[f32]> = own.chunks(usize::try_from(model.dim).unwrap()).collect();
		let paired = rows.chunks(width).flat_map(|head| (0..width / 2).flat_map(|row| [head[row], head[row + width / 2]]));
		assert_eq!(numbers(&tensors[name].2), paired.collect::<Vec<_>>().concat(), "{name}");
	}
	// The slowest pair turns less than once in 64 tokens, and the fastest ten times.
	let factors = numbers(&tensors["rope_freqs.weight"].2);
	assert_eq!((factors.len(), factors[0], factors[width / 2 - 1]), (width / 2, 1.0, 8.0));
}

#[test]
fn matrices_are_rounded_to_16_bits_and_vectors_are_not() {
	let model = ModelConfig { family: Family::Qwen3, head_dim: Some(32), tied: false, ..presets::tiny().0 };
	let mut params = vec![0.0; ParamLayout::new(&model).unwrap().len()];
	// 1 + 2^-9 lies nearer to 1 than to the next number of bf16, which is 1 + 2^-7, and is one of f16.
	params.fill(1.0 + 1.0 / 512.0);
	let folder = tempfile::tempdir().unwrap();
	let path = folder.path().join("model.gguf");
	for (precision, number, bits) in [(Precision::F16, 1, 0x3c02u16), (Precision::Bf16, 30, 0x3f80)] {
		export(&path, "x", &model, (&Tokenizer::bytes(), None), &params, precision).unwrap();
		let Read { head, tensors } = read(&path);
		assert_eq!((&head["general.architecture"][..], &head["qwen3.attention.key_length"][..]), ("qwen3", "32"));
		let (_, kind, bytes) = &tensors["output.weight"];
		assert_eq!((*kind, &bytes[..2]), (number, &bits.to_le_bytes()[..]));
		for name in ["output_norm.weight", "blk.0.attn_q_norm.weight"] {
			let (_, kind, bytes) = &tensors[name];
			assert_eq!((*kind, numbers(bytes)[0]), (0, params[0]), "{name}");
		}
	}
	params[5] = 70_000.0;
	let refused = export(&path, "x", &model, (&Tokenizer::bytes(), None), &params, Precision::F16).unwrap_err();
	assert!(refused.to_string().contains("model.embed_tokens.weight has 70000"), "{refused}");
}

#[test]
fn what_the_format_has_no_words_for_is_refused_by_name() {
	let tiny = presets::tiny().0;
	let llama3 = RopeScaling::Llama3 { factor: F32::new(8.0), low: F32::new(1.0), high: F32::new(4.0), original: 64 };
	for (model, words) in [
		(ModelConfig { family: Family::Qwen2, rope_scaling: llama3, ..tiny.clone() }, "scaled as in Llama 3"),
		(ModelConfig { family: Family::Qwen2, head_dim: Some(32), ..tiny }, "width of their own"),
	] {
		let folder = tempfile::tempdir().unwrap();
		let path = folder.path().join("model.gguf");
		let error = export(&path, "x", &model, (&Tokenizer::bytes(), None), &parameters(&model), Precision::F32).unwrap_err();
		assert!(matches!(error, ExportError::Gguf(_)) && error.to_string().contains(words), "{error}");
		assert!(!path.exists());
	}
}
