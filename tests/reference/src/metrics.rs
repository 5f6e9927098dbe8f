//! Metrics of the worker.

use crate::{
	cell,
	source::{named, read},
	ReferenceError,
};
use std::fmt::Write as _;

/// Files of the worker that name metrics, and the prefix that these get.
const WORKER: (&str, &str) = ("offchain-worker/roles/src/status/metrics.rs", "neuroshard_worker_");

/// Returns the page.
///
/// # Errors
/// [`ReferenceError`] if the source is not where it is expected.
pub fn page() -> Result<String, ReferenceError> {
	let mut page = String::from(
		"# Metrics\n\nWhat the worker says to Prometheus. A node says what the SDK does (`substrate_..`). Counters end in `_total`. This page is written by \
		 `scripts/reference.sh`.\n\n## Worker (`run --metrics HOST:PORT`)\n\n| Metric | Meaning |\n| --- | --- |\n",
	);
	let (path, prefix) = WORKER;
	let text = read(path)?;
	// Tests name metrics of their own.
	let text = text.split("#[cfg(test)]").next().unwrap_or(&text);
	// Writing to a string does not fail.
	for (name, help) in named(text, &["counter", "gauge", "family", "registry.register"]) {
		let _ = writeln!(page, "| `{prefix}{name}` | {} |", cell(&help));
	}
	Ok(page)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn metrics_of_the_worker_are_listed() {
		let page = page().unwrap();
		for part in ["| `neuroshard_worker_audits_too_slow` |", "| `neuroshard_worker_node_fit` |"] {
			assert!(page.contains(part), "{part}");
		}
	}
}
