//! Genesis from a raw chain spec, for nodes that have pruned it.

use super::HistoryError;
use neuroshard_chain_client::Entries;
use neuroshard_support::json_file;
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

#[derive(Deserialize)]
struct Spec {
	genesis: Genesis,
}

#[derive(Deserialize)]
struct Genesis {
	raw: Raw,
}

/// Hexadecimal keys and values. Child tries are left out: the chain has none.
#[derive(Deserialize)]
struct Raw {
	top: BTreeMap<String, String>,
}

/// The storage entries of genesis in the raw chain spec at `path`, by key ascending. They are checked by the root of their trie.
///
/// # Errors
/// [`HistoryError::Spec`] if the file cannot be read or is a plain spec.
pub fn genesis_entries(path: &Path) -> Result<Entries, HistoryError> {
	let bad = |reason: String| HistoryError::Spec { path: path.to_path_buf(), reason };
	let bytes = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
	let spec: Spec = json_file::parse(&bytes).map_err(bad)?;
	let decode = |text: &str| hex::decode(text.trim_start_matches("0x")).map_err(|error| bad(error.to_string()));
	spec.genesis.raw.top.iter().map(|(key, value)| Ok((decode(key)?, decode(value)?))).collect()
}
