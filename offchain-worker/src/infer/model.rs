//! A model that is ready to answer: its engine, its tokenizer, and how a chat becomes a prompt.

use super::{
	chat::{Chat, ChatError},
	folder::{Folder, FolderError},
	text::{Text, TextError},
};
use crate::data::tokenizer;
use neuroshard_graph::{
	config::ARITHMETIC_VERSION,
	exec::{Exec, ExecError, Inference, InferenceError},
	merkle::blake2_256,
	Hash, ModelConfig,
};
use neuroshard_types::H256;
use std::{collections::BTreeSet, path::Path, sync::Arc};

/// Why a model cannot answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
	/// The folder.
	#[error(transparent)]
	Folder(#[from] FolderError),
	/// The tokenizer.
	#[error(transparent)]
	Text(#[from] TextError),
	/// The chat template.
	#[error(transparent)]
	Chat(#[from] ChatError),
	/// The executor.
	#[error(transparent)]
	Exec(#[from] ExecError),
	/// The engine.
	#[error(transparent)]
	Inference(#[from] InferenceError),
	/// A checkpoint that was not trained with the byte-level tokenizer.
	#[error("the model's vocabulary has {0} tokens, the byte-level tokenizer {vocab}", vocab = tokenizer::VOCAB)]
	Vocabulary(u32),
}

/// A model that is ready to answer.
pub struct Model {
	/// Its name.
	pub name: String,
	/// Of its parameters: the checkpoint's root, or the hash of the parameters in a folder.
	pub root: H256,
	/// The engine.
	pub inference: Inference,
	/// Its tokenizer.
	pub text: Text,
	/// How a chat becomes a prompt.
	pub chat: Chat,
}

impl Model {
	/// A model that was trained with the byte-level tokenizer, with the parameters `params`, of which `root` is a hash.
	///
	/// # Errors
	/// [`ModelError`].
	pub fn of_bytes(name: String, config: &ModelConfig, params: &[f32], root: Hash, threads: usize) -> Result<Self, ModelError> {
		if config.vocab != tokenizer::VOCAB {
			return Err(ModelError::Vocabulary(config.vocab));
		}
		let end = u32::from(tokenizer::END_OF_TEXT);
		let mark = || tokenizer::END_OF_TEXT_TEXT.to_owned();
		Ok(Self {
			name,
			root: H256(root),
			inference: inference(config, params, threads)?,
			text: Text::new(&tokenizer::tokenizer_json(), Some(end), BTreeSet::from([end]))?,
			chat: Chat::new(None, mark(), mark())?,
		})
	}

	/// The model in a folder in Hugging Face Llama layout, under the folder's name.
	///
	/// # Errors
	/// [`ModelError`].
	pub fn of_folder(folder: &Path, threads: usize) -> Result<Self, ModelError> {
		let Folder { config, params, text, template, begin, end } = Folder::read(folder)?;
		let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
		let hash = {
			let bytes: Vec<u8> = params.iter().flat_map(|value| value.to_le_bytes()).collect();
			blake2_256(&bytes)
		};
		Ok(Self {
			name: name.unwrap_or_else(|| "model".into()),
			root: H256(hash),
			inference: inference(&config, &params, threads)?,
			text,
			chat: Chat::new(template, begin, end)?,
		})
	}

	/// What answers depend on: the arithmetic, and the parameters by the beginning of their root.
	pub fn fingerprint(&self) -> String {
		let [first, ..] = self.root.0.as_chunks::<8>().0 else { return String::new() };
		format!("f32-{ARITHMETIC_VERSION}-{}", hex::encode(first))
	}

	/// Tokens below this one are chosen from.
	pub fn usable(&self) -> usize {
		self.text.usable().min(self.inference.vocab())
	}
}

fn inference(config: &ModelConfig, params: &[f32], threads: usize) -> Result<Inference, ModelError> {
	Ok(Inference::new(Arc::new(Exec::new(threads)?), config, params)?)
}
