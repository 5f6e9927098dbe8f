//! Options of programs, and of the scripts that build and start them.

use crate::{Ended, Error};
use std::{collections::BTreeSet, path::Path, process::Command};

/// The options that the help of the script with this name tells where nothing is there that could build, and those that the help of its program tells.
///
/// # Errors
/// [`Error::Command`] if the script fails.
pub async fn told_by(script: &str, mut program: clap::Command) -> Result<(BTreeSet<String>, BTreeSet<String>), Error> {
	let mut bare = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(script));
	bare.arg("--help").env("PATH", "/usr/bin:/bin").env("HOME", "/nonexistent").env("CARGO_TARGET_DIR", "/nonexistent");
	Ok((named(&Ended::output_of(bare).await?), named(&program.render_long_help().to_string())))
}

/// The options with which indented lines of a help begin.
fn named(help: &str) -> BTreeSet<String> {
	let indented = help.lines().filter_map(|line| line.strip_prefix("  "));
	let words = indented.filter_map(|line| line.trim_start().strip_prefix("--")?.split([' ', '=']).next());
	words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn an_option_is_named_once_without_its_value() {
		let help = "Usage: x [OPTIONS]\n--no\n  --rounds N  stop after\n      --summary=FILE\n  --rounds N  again\n  text --other\n";
		assert_eq!(named(help), ["rounds", "summary"].map(str::to_owned).into());
	}
}
