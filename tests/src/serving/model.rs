//! A model to be served.

use crate::Error;
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::ModelConfig;
use neuroshard_training::{checkpoint::Checkpoint, export::export, presets};
use std::path::Path;

/// Writes a small model with some life in it to a new folder; it reads texts of `longest` tokens. Its likeliest tokens are ASCII: the others have no
/// embedding, which is the head as well.
///
/// # Errors
/// [`Error::Checkpoint`] and [`Error::Setup`] if it cannot be made or written.
pub fn lively_model(folder: &Path, longest: u32) -> Result<(), Error> {
	let (model, train) = presets::tiny();
	let model = ModelConfig { max_seq: longest, ..model };
	let mut params = Checkpoint::genesis(0, &model, &train, 1)?.params;
	params.iter_mut().enumerate().for_each(|(index, value)| *value *= 3.0 + (index % 11) as f32 * 0.1);
	let size = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
	let row = size(model.dim);
	params[128 * row..size(model.vocab) * row].fill(0.0);
	export(folder, &model, &Tokenizer::bytes(), &params).map_err(|error| Error::Setup(error.to_string()))
}
