//! Dependencies are compiled once: every selection of packages asks for the same features of each. `scripts/workspace-hack` sees to that.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde::Deserialize;
use std::{
	collections::BTreeMap,
	path::{Path, PathBuf},
	process::Command,
};

/// What cargo would compile. See cargo's documentation of `--unit-graph`.
#[derive(Deserialize)]
struct UnitGraph {
	units: Vec<Unit>,
	roots: Vec<usize>,
}

#[derive(Deserialize)]
struct Unit {
	pkg_id: String,
	target: Target,
	features: Vec<String>,
	mode: String,
	dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Target {
	kind: Vec<String>,
}

#[derive(Deserialize)]
struct Dependency {
	index: usize,
}

fn workspace() -> PathBuf {
	Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Each library that is compiled, and whether for build scripts and macros, with its features.
type Libraries = BTreeMap<(String, bool), Vec<Vec<String>>>;

/// What `cargo build` with this selection would compile, in words of cargo that only compilers in the making take without the variable.
fn libraries(selection: &[&str]) -> Libraries {
	let mut command = Command::new(env!("CARGO"));
	command.args(["build", "--offline", "--locked", "--release", "--unit-graph", "-Z", "unstable-options"]).args(selection);
	command.current_dir(workspace()).env("RUSTC_BOOTSTRAP", "1");
	let output = command.output().unwrap();
	assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
	let graph: UnitGraph = serde_json::from_slice(&output.stdout).unwrap();
	let (mut libraries, mut seen) = (Libraries::new(), vec![[false; 2]; graph.units.len()]);
	let mut open: Vec<_> = graph.roots.iter().map(|root| (*root, false)).collect();
	while let Some((index, beneath_host)) = open.pop() {
		let unit = &graph.units[index];
		let is = |kind: &str| unit.target.kind.iter().any(|one| one == kind);
		let for_host = beneath_host || is("proc-macro") || is("custom-build");
		if std::mem::replace(&mut seen[index][usize::from(for_host)], true) {
			continue;
		}
		open.extend(unit.dependencies.iter().map(|dependency| (dependency.index, for_host)));
		if unit.mode == "build" && (is("lib") || is("proc-macro")) {
			let variants = libraries.entry((unit.pkg_id.clone(), for_host)).or_default();
			if !variants.contains(&unit.features) {
				variants.push(unit.features.clone());
			}
		}
	}
	libraries
}

#[test]
fn what_one_package_needs_is_compiled_as_for_the_whole_workspace() {
	let all = libraries(&["--workspace", "--all-targets"]);
	// Tests of each package, and the binaries as people build them.
	let packages = std::fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
	let members = packages.lines().skip_while(|line| !line.starts_with("members")).take_while(|line| !line.starts_with(']'));
	let folders: Vec<_> = members.filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\",")).collect();
	assert!(folders.len() > 10, "{folders:?}");
	let manifests: Vec<String> = folders.iter().map(|folder| workspace().join(folder).join("Cargo.toml").display().to_string()).collect();
	let mut selections = vec![vec!["--workspace", "--lib", "--bins"], vec!["-p", "neuroshard-node"], vec!["-p", "neuroshard-worker"]];
	selections.extend(manifests.iter().map(|manifest| vec!["--tests", "--manifest-path", manifest]));
	for selection in selections {
		let some = libraries(&selection);
		for (library, variants) in some {
			let known = all.get(&library).map(Vec::as_slice).unwrap_or_default();
			for features in variants {
				assert!(
					known.contains(&features),
					"{library:?} is compiled twice: for {selection:?} with {features:?}, for the workspace with {known:?}. Give it the \
					 latter in scripts/workspace-hack/Cargo.toml, under build-dependencies if it is for build scripts and macros"
				);
			}
		}
	}
}
