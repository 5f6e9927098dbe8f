//! Which crate of the workspace uses which.

use crate::{source::read, ReferenceError};
use std::{collections::BTreeMap, fmt::Write as _};

/// A crate, as its manifest says.
struct Crate {
	folder: String,
	description: String,
	uses: Vec<String>,
	tests_use: Vec<String>,
}

/// Returns the page.
///
/// # Errors
/// [`ReferenceError`] if a manifest is not where the workspace's says.
pub fn page() -> Result<String, ReferenceError> {
	let crates = crates()?;
	let levels = levels(&crates);
	let mut page = String::from(
		"# Crates\n\nEach with what it is and the crates of this workspace that it uses. A crate uses only crates of lower levels; level 0 uses none. Tests may \
		 use others. This page is written by `scripts/reference.sh`.\n\n| Level | Crate | Folder | Is | Uses | Its tests use |\n| --- | --- | --- | --- | --- | --- |\n",
	);
	let mut rows: Vec<(&String, &Crate)> = crates.iter().collect();
	rows.sort_by_key(|(name, _)| (levels.get(*name).copied().unwrap_or(0), *name));
	for (name, made) in rows {
		let level = levels.get(name).copied().unwrap_or(0);
		// Writing to a string does not fail.
		let _ = writeln!(
			page,
			"| {level} | `{name}` | `{}` | {} | {} | {} |",
			made.folder,
			made.description,
			made.uses.join(", "),
			made.tests_use.join(", ")
		);
	}
	Ok(page)
}

fn crates() -> Result<BTreeMap<String, Crate>, ReferenceError> {
	let workspace = read("Cargo.toml")?;
	let members = workspace.split_once("members = [").and_then(|(_, rest)| rest.split_once(']')).map_or("", |(inside, _)| inside);
	let mut crates = BTreeMap::new();
	for folder in members.split(',').map(|member| member.trim().trim_matches('"')).filter(|member| !member.is_empty()) {
		let manifest = read(&format!("{folder}/Cargo.toml"))?;
		let value = |key: &str| {
			let line = manifest.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
			line.map(|value| value.trim().trim_matches('"').to_owned()).unwrap_or_default()
		};
		let made = Crate {
			folder: folder.to_owned(),
			description: value("description"),
			uses: dependencies(&manifest, "[dependencies]"),
			tests_use: dependencies(&manifest, "[dev-dependencies]"),
		};
		crates.insert(value("name"), made);
	}
	// Crates of others have no level; what is built for the build alone is nobody's.
	let known: Vec<String> = crates.keys().cloned().collect();
	for made in crates.values_mut() {
		made.uses.retain(|name| known.contains(name) && name != "workspace-hack");
		made.tests_use.retain(|name| known.contains(name) && name != "workspace-hack" && !made.uses.contains(name));
	}
	Ok(crates)
}

/// Names of what a section of a manifest lists.
fn dependencies(manifest: &str, section: &str) -> Vec<String> {
	let lines = manifest.lines().skip_while(|line| *line != section).skip(1).take_while(|line| !line.starts_with('['));
	let mut names: Vec<String> = lines.filter_map(|line| line.split(['.', ' ', '=']).next()).map(str::to_owned).collect();
	names.retain(|name| !name.is_empty());
	names.sort();
	names
}

/// The longest way down from each crate. Cargo refuses circles.
fn levels(crates: &BTreeMap<String, Crate>) -> BTreeMap<String, usize> {
	let mut levels: BTreeMap<String, usize> = crates.keys().map(|name| (name.clone(), 0)).collect();
	for _ in crates {
		for (name, made) in crates {
			let level = made.uses.iter().filter_map(|used| levels.get(used)).max().map_or(0, |level| level.saturating_add(1));
			levels.insert(name.clone(), level);
		}
	}
	levels
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn every_crate_is_above_all_that_it_uses() {
		let crates = crates().unwrap();
		let levels = levels(&crates);
		assert_eq!((levels["neuroshard-kernels"], levels["neuroshard-graph"], levels["neuroshard-types"]), (0, 1, 2));
		for (name, made) in &crates {
			assert!(!made.description.is_empty(), "{name} says not what it is");
			assert!(made.uses.iter().all(|used| levels[used] < levels[name]), "{name}");
		}
	}
}
