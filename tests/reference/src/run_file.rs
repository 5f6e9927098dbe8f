//! Fields of run files.

use crate::{
	cell,
	source::{items, Item},
	ReferenceError,
};
use std::{collections::BTreeMap, fmt::Write as _};

const RUN_FILE: &str = "offchain-worker/src/cli/run_file.rs";
const CONFIG: &str = "primitives/graph/src/config.rs";
const RUN: &str = "primitives/types/src/run.rs";

/// Returns the page.
///
/// # Errors
/// [`ReferenceError`] if the source is not as expected.
pub fn page() -> Result<String, ReferenceError> {
	let mut page = String::from(
		"# Run files\n\nA run file is JSON that says what is to be trained, and how. `neuroshard-worker train template` prints one, `train plan` says what it \
		 takes, and `train create-run` creates the run. This page is written by `scripts/reference.sh`.\n",
	);
	let model = of_chain("pub struct ModelConfig")?;
	let train = of_chain("pub struct TrainConfig")?;
	table(&mut page, "The run", items(RUN_FILE, "pub struct RunFile")?, &BTreeMap::new());
	table(&mut page, "`model`", items(RUN_FILE, "pub struct ModelFile")?, &model);
	table(&mut page, "`model.family`: one of", items(CONFIG, "pub enum Family")?, &BTreeMap::new());
	table(&mut page, "`model.rope_scaling`: one of", items(CONFIG, "pub enum RopeScaling")?, &BTreeMap::new());
	table(&mut page, "`train`", items(RUN_FILE, "pub struct TrainFile")?, &train);
	table(&mut page, "`train.adapter`", items(RUN_FILE, "pub struct AdapterFile")?, &BTreeMap::new());
	table(&mut page, "`durations`", items(RUN, "pub struct PhaseDurations")?, &BTreeMap::new());
	table(&mut page, "`train.robust`", items(CONFIG, "pub struct Robust")?, &BTreeMap::new());
	table(&mut page, "`train.robust.rule`: one of", items(CONFIG, "pub enum Rule")?, &BTreeMap::new());
	table(&mut page, "`train.code`: one of", items(CONFIG, "pub enum Code")?, &BTreeMap::new());
	table(&mut page, "`train.code.TopK`", items(CONFIG, "pub struct TopK")?, &BTreeMap::new());
	Ok(page)
}

/// Documentation of the chain's fields, by name: fields of run files with the same name mean the same.
fn of_chain(head: &str) -> Result<BTreeMap<String, String>, ReferenceError> {
	Ok(items(CONFIG, head)?.into_iter().map(|item| (split(&item).0, item.docs)).collect())
}

/// Name and type of a field, or name of a variant.
fn split(item: &Item) -> (String, String) {
	let line = item.line.strip_prefix("pub ").unwrap_or(&item.line);
	let (name, ty) = line.split_once(": ").unwrap_or((line, ""));
	let name = name.split(['(', ' ']).next().unwrap_or(name);
	(name.to_owned(), ty.to_owned())
}

fn table(page: &mut String, title: &str, items: Vec<Item>, others: &BTreeMap<String, String>) {
	let has_types = items.iter().any(|item| !split(item).1.is_empty());
	let head = if has_types { "| Field | Type | Meaning |\n| --- | --- | --- |" } else { "| Value | Meaning |\n| --- | --- |" };
	// Writing to a string does not fail.
	let _ = write!(page, "\n## {title}\n\n{head}\n");
	for item in items {
		let (name, ty) = split(&item);
		let docs = if item.docs.is_empty() { others.get(&name).cloned().unwrap_or_default() } else { item.docs };
		let _ = match has_types {
			true => writeln!(page, "| `{name}` | `{}` | {} |", cell(&ty), cell(&docs)),
			false => writeln!(page, "| `{name}` | {} |", cell(&docs)),
		};
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn every_field_and_rule_has_its_meaning() {
		let page = page().unwrap();
		for part in [
			"| `min_participants` | `u32` |",
			"| `outer_beta` | `f32` | Momentum",
			"| `rank` | `u32` | Rows of A",
			"| `checkpointing` | `BlockNumber` |",
			"| `MixedKrum` |",
			"| `TopK` |",
		] {
			assert!(page.contains(part), "{part}");
		}
		let silent: Vec<&str> = page.lines().filter(|line| line.starts_with("| `") && line.ends_with("|  |")).collect();
		assert!(silent.is_empty(), "{silent:?}");
	}
}
