//! Metrics of worker and node.

use crate::{
	cell,
	source::{named, read},
	ReferenceError,
};
use std::fmt::Write as _;

/// Files of the worker that name metrics, and the prefix that these get.
const WORKER: (&str, &str) = ("offchain-worker/roles/src/status/metrics.rs", "neuroshard_worker_");
/// The same of the node.
const NODE: (&str, &str) = ("node/src/server/metrics.rs", "neuroshard_");

/// Returns the page.
///
/// # Errors
/// [`ReferenceError`] if the source is not where it is expected.
pub fn page() -> Result<String, ReferenceError> {
	let mut page = String::from(
		"# Metrics\n\nWhat worker and node say to Prometheus beside the metrics of the SDK (`substrate_..`). Counters end in `_total`. This page is written by \
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
	page.push_str("\n## Node\n\n| Metric | Meaning |\n| --- | --- |\n");
	let (path, prefix) = NODE;
	let text = read(path)?;
	let text = text.split("#[cfg(test)]").next().unwrap_or(&text);
	for (name, help) in named(text, &["Opts::new", "Gauge::new", "Counter::new"]) {
		let _ = writeln!(page, "| `{prefix}{name}` | {} |", cell(&help));
	}
	Ok(page)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn metrics_of_both_programs_are_listed() {
		let page = page().unwrap();
		for part in ["| `neuroshard_worker_audits_too_slow` |", "| `neuroshard_worker_node_fit` |", "| `neuroshard_rpc_held_bytes` |"] {
			assert!(page.contains(part), "{part}");
		}
	}
}
