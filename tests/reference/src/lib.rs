//! The pages of `docs/reference`, written from the code: command lines, JSON-RPC, errors, run files, metrics and crates.
//!
//! What has no form that a program can ask for is read from the source, which is formatted: one field, one variant or one method in a line, below its
//! documentation.

pub mod chain;
pub mod cli;
pub mod crates;
pub mod errors;
pub mod metrics;
pub mod rpc;
pub mod run_file;
pub mod source;

use std::path::{Path, PathBuf};

/// Why a page cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
	/// A file of the source.
	#[error("cannot read {path}: {source}")]
	Read {
		/// The file.
		path: PathBuf,
		/// What the system said.
		source: std::io::Error,
	},
	/// The source does not have what is looked for.
	#[error("{path} has no {what}: tests/reference looks for it there")]
	Missing {
		/// The file.
		path: PathBuf,
		/// What is looked for.
		what: String,
	},
	/// The runtime's metadata are in another form.
	#[error("the runtime's metadata are not of version 16: {0}")]
	Metadata(String),
}

/// A page.
pub struct Page {
	/// Name of its file in `docs/reference`.
	pub name: &'static str,
	/// What is in it.
	pub text: String,
}

/// Returns the root folder of the workspace.
pub fn workspace() -> PathBuf {
	Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Writes all pages from the code as it is compiled here.
///
/// # Errors
/// [`ReferenceError`] if the source is not as it is expected.
pub fn pages() -> Result<Vec<Page>, ReferenceError> {
	let metadata = chain::metadata()?;
	Ok(vec![
		Page { name: "cli.md", text: cli::page() },
		Page { name: "rpc.md", text: rpc::page(&metadata)? },
		Page { name: "errors.md", text: errors::page(&metadata)? },
		Page { name: "run-file.md", text: run_file::page()? },
		Page { name: "metrics.md", text: metrics::page()? },
		Page { name: "crates.md", text: crates::page()? },
	])
}

/// Returns text as it may stand in a cell of a table.
pub(crate) fn cell(text: &str) -> String {
	unlinked(&text.split_whitespace().collect::<Vec<_>>().join(" ")).replace('|', "\\|")
}

/// Documentation without its links to other items of the code, which no page has.
fn unlinked(text: &str) -> String {
	let mut parts = text.split("[`");
	let mut plain = parts.next().unwrap_or_default().to_owned();
	for part in parts {
		let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
		let path = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).filter(|(path, _)| path.contains("::"));
		plain.push_str(&format!("`{name}`{}", path.map_or(rest, |(_, rest)| rest)));
	}
	plain
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn links_to_items_are_their_names() {
		assert_eq!(cell("At most\n[`MAX`](crate::MAX), as [`Self::all`]; a|b"), "At most `MAX`, as `Self::all`; a\\|b");
		assert_eq!(cell("[text](https://host.example/a) and `code`"), "[text](https://host.example/a) and `code`");
	}
}
