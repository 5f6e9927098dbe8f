//! A model that is ready to answer: its engine, its tokenizer, and how a chat becomes a prompt.

use super::{
	chat::Chat,
	engine::Engine,
	folder::{Folder, FolderError},
	identity,
	masked::Masked,
	parameters::{Parameters, ParametersError},
	text::{Text, TextError},
};
use neuroshard_compute::exec::{Exec, ExecError, Inference, InferenceError, Stage};
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::{config::ANSWERS_ARITHMETIC, merkle::blake2_256, Class, Hash, ModelConfig};
use neuroshard_types::H256;
use std::{collections::BTreeSet, path::Path, sync::Arc};

/// Why a model cannot answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
	/// The folder.
	#[error(transparent)]
	Folder(#[from] FolderError),
	/// The parameters.
	#[error(transparent)]
	Parameters(#[from] ParametersError),
	/// The tokenizer.
	#[error(transparent)]
	Text(#[from] TextError),
	/// The executor.
	#[error(transparent)]
	Exec(#[from] ExecError),
	/// The engine.
	#[error(transparent)]
	Inference(#[from] InferenceError),
	/// A checkpoint that was not trained with this tokenizer.
	#[error("the model's vocabulary has {model} tokens, and its tokenizer needs {needed}: it is that of another run")]
	Vocabulary {
		/// Of the model.
		model: u32,
		/// Of the tokenizer, rounded up.
		needed: u32,
	},
}

/// A model without what computes it.
pub struct Card {
	/// Its name.
	pub name: String,
	/// Identity of the model: the checkpoint's root, or of a folder a hash of parameters and shape.
	pub root: H256,
	/// Hash of its shape.
	pub shape: Hash,
	/// Its tokenizer.
	pub text: Text,
	/// Template by which a chat becomes a prompt.
	pub chat: Chat,
}

/// A model that is ready to answer.
pub struct Model {
	/// Its name.
	pub name: String,
	/// Identity of the model: the checkpoint's root, or of a folder a hash of parameters and shape.
	pub root: H256,
	/// Hash of its shape.
	pub shape: Hash,
	/// The arithmetic that it is computed in.
	pub class: Class,
	/// Engine that computes it.
	pub engine: Box<dyn Engine>,
	/// Its tokenizer.
	pub text: Text,
	/// Template by which a chat becomes a prompt.
	pub chat: Chat,
}

impl Card {
	/// A model that was trained with `tokenizer`, with parameters of which `root` is a hash. Without files of a byte-level tokenizer that say with what texts
	/// begin, they begin with what ends the text before, as in training.
	///
	/// # Errors
	/// [`ModelError`].
	pub fn of_run(name: String, config: &ModelConfig, tokenizer: &Tokenizer, root: Hash) -> Result<Self, ModelError> {
		if config.vocab < tokenizer.vocab() {
			return Err(ModelError::Vocabulary { model: config.vocab, needed: tokenizer.vocab() });
		}
		let end = tokenizer.tokens().end;
		let begin = tokenizer.is_bytes().then_some(end);
		Ok(Self {
			name,
			root: H256(root),
			shape: identity::of_shape(config),
			text: Text::new(tokenizer.json(), begin, BTreeSet::from([end]))?,
			chat: Chat::by_line(),
		})
	}

	/// The model in a Hugging Face folder, under the folder's name, with its configuration and parameters.
	///
	/// # Errors
	/// [`ModelError`].
	pub fn of_folder(folder: &Path, threads: usize) -> Result<(Self, ModelConfig, Parameters), ModelError> {
		let Folder { config, parameters, text, chat } = Folder::read(folder, threads)?;
		let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
		let name = name.unwrap_or_else(|| "model".into());
		let (root, shape) = (H256(identity::of_model(&config, parameters.root.0)), identity::of_shape(&config));
		Ok((Self { name, root, shape, text, chat }, config, parameters))
	}

	/// The model, computed by `engine` in this arithmetic. Numbers of tokens that its tokenizer does not know are never chosen.
	pub fn with(self, class: Class, engine: Box<dyn Engine>) -> Model {
		let Self { name, root, shape, text, chat } = self;
		let engine = Masked::over(engine, text.holes());
		Model { name, root, shape, class, engine, text, chat }
	}
}

impl Model {
	/// A model that was trained with `tokenizer`, with the parameters `params`, of which `root` is a hash.
	///
	/// # Errors
	/// [`ModelError`].
	pub fn of_run(
		name: String,
		config: &ModelConfig,
		tokenizer: &Tokenizer,
		params: &[f32],
		root: Hash,
		class: Class,
		threads: usize,
	) -> Result<Self, ModelError> {
		let card = Card::of_run(name, config, tokenizer, root)?;
		let stage = Stage::whole(usize::try_from(config.layers).unwrap_or(usize::MAX));
		let engine = Inference::in_class(Arc::new(Exec::new(threads)?), config, params, &stage, class)?;
		Ok(card.with(class, Box::new(engine)))
	}

	/// Returns a fingerprint of what answers depend on: the arithmetic, the parameters by the beginning of the root, the shape by that of its hash, and
	/// tokenizer, chat template and ends of texts by that of theirs.
	pub fn fingerprint(&self) -> String {
		self.fingerprint_of(self.root)
	}

	/// As [`Self::fingerprint`], of the model with something beside it that gives it this identity.
	pub fn fingerprint_of(&self, root: H256) -> String {
		let words = blake2_256(&[self.text.hash(), self.chat.hash()].concat());
		let of_hash = |hash: &Hash| hash.first_chunk::<4>().map(hex::encode).unwrap_or_default();
		let root = root.0.first_chunk::<8>().map(hex::encode).unwrap_or_default();
		let class = match self.class {
			Class::ExactF32 => "f32",
			Class::ExactInt8 => "int8",
		};
		format!("{class}-{ANSWERS_ARITHMETIC}-{root}-{}-{}", of_hash(&self.shape), of_hash(&words))
	}

	/// Tokens below this one are chosen from, but for those that the tokenizer does not know.
	pub fn usable(&self) -> usize {
		self.text.usable().min(self.engine.vocab())
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::generate::generate;
	use neuroshard_graph::sampler::Sampling;
	use neuroshard_training::{checkpoint::Checkpoint, export::export, presets};
	use serde_json::{json, Value};
	use std::fs;

	/// A model that draws about any token, of a tokenizer that knows letters, token 258 and token 270.
	#[test]
	fn a_model_never_chooses_a_number_that_is_nobodys() {
		let (config, train) = presets::tiny();
		let params = Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
		let folder = tempfile::tempdir().unwrap();
		export(folder.path(), &config, &Tokenizer::bytes(), &params).unwrap();
		let path = folder.path().join("tokenizer.json");
		let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
		file["post_processor"] = Value::Null;
		file["model"]["vocab"].as_object_mut().unwrap().retain(|_, id| id.as_u64().is_some_and(|id| (97..123).contains(&id)));
		let token = |id: u32| json!({ "id": id, "content": format!("<{id}>"), "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": false });
		file["added_tokens"] = json!([token(270), token(258)]);
		fs::write(&path, file.to_string()).unwrap();
		let (card, config, parameters) = Card::of_folder(folder.path(), 1).unwrap();
		let stage = Stage::whole(2);
		let engine = parameters.load(Arc::new(Exec::new(1).unwrap()), &config, &stage, Class::ExactF32).unwrap();
		let mut model = card.with(Class::ExactF32, Box::new(engine));
		assert_eq!(model.usable(), 271);
		let sampling = Sampling { temperature: 10.0, ..Sampling::default() };
		let written = generate(&mut model, None, "a", 100, &sampling).unwrap();
		// Each of the tokens that there are is written: no other was chosen.
		let letters = written.replace("<258>", "A").replace("<270>", "B");
		assert_eq!(letters.chars().count(), 100, "{written}");
		assert!(letters.contains('A') && letters.contains('B'), "{written}");
	}

	#[test]
	fn models_that_read_chats_or_end_texts_in_another_way_have_other_fingerprints() {
		let (config, train) = presets::tiny();
		let params = Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
		let model = || Model::of_run("run-0".into(), &config, &Tokenizer::bytes(), &params, [5; 32], Class::ExactF32, 1).unwrap();
		let (mut template, mut name, mut ends, mut begin) = (model(), model(), model(), model());
		let chat = |names: &[(&str, &str)]| {
			let names: Vec<_> = names.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
			Chat::new("{{ messages[0].content }}".into(), &names, model().text.controls().clone())
		};
		(template.chat, name.chat) = (chat(&[]), chat(&[("bos_token", "x")]));
		let text = |begin, ends: &[u32]| Text::new(Tokenizer::bytes().json(), begin, ends.iter().copied().collect()).unwrap();
		let end = Tokenizer::bytes().tokens().end;
		(ends.text, begin.text) = (text(Some(end), &[97]), text(Some(97), &[end]));
		let mut other = model();
		other.shape = [0; 32];
		let known: BTreeSet<_> = [model(), template, name, ends, begin, other].iter().map(Model::fingerprint).collect();
		assert_eq!(known.len(), 6, "{known:?}");
		assert_eq!(model().fingerprint(), model().fingerprint());
		let root = hex::encode([5; 8]);
		assert!(known.iter().all(|fingerprint| fingerprint.starts_with(&format!("f32-{ANSWERS_ARITHMETIC}-{root}-"))), "{known:?}");
	}
}
