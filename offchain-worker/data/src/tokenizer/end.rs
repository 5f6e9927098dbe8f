//! The token that ends a document, which a `tokenizer.json` does not name.

use super::TokenizerError;
use neuroshard_support::json_file;
use serde_json::Value;
use std::path::Path;
use tokenizers::Tokenizer as Library;

/// Files beside `tokenizer.json` that may name it.
const FILES: [&str; 2] = ["tokenizer_config.json", "special_tokens_map.json"];
/// Names that it usually has.
const USUAL: [&str; 7] =
	["<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>", "[SEP]"];

/// Returns the number of the token that ends documents: the one that is `named`, else the one that the files beside `path` name, else a usual one.
///
/// # Errors
/// [`TokenizerError::UnknownEnd`], [`TokenizerError::NoEnd`], and [`TokenizerError::Json`] for a file beside it that is no JSON.
pub(super) fn of(library: &Library, path: &Path, named: Option<&str>) -> Result<u32, TokenizerError> {
	let beside = FILES.iter().map(|name| named_in(&path.with_file_name(name))).find_map(Result::transpose);
	let named = match named {
		Some(named) => Some(named.to_owned()),
		None => beside.transpose()?,
	};
	if let Some(named) = named {
		return library.token_to_id(&named).ok_or(TokenizerError::UnknownEnd { named });
	}
	let specials = || library.get_added_tokens_decoder().into_iter().filter(|(_, token)| token.special);
	let usual = USUAL.iter().find_map(|name| specials().find(|(_, token)| token.content == *name));
	usual.map(|(id, _)| id).ok_or_else(|| {
		let example = specials().map(|(_, token)| token.content).min().unwrap_or_else(|| "<|endoftext|>".into());
		TokenizerError::NoEnd { example }
	})
}

/// Returns the `eos_token` in the file at `path`; nothing without the file, or without one.
fn named_in(path: &Path) -> Result<Option<String>, TokenizerError> {
	let Ok(bytes) = std::fs::read(path) else { return Ok(None) };
	let file: Value = json_file::parse(&bytes).map_err(|words| TokenizerError::Json(format!("{}: {words}", path.display())))?;
	let token = file.get("eos_token");
	let named = token.and_then(|token| token.as_str().or_else(|| token.get("content")?.as_str()));
	Ok(named.map(str::to_owned))
}
