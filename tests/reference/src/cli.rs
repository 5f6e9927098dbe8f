//! Command lines of worker and node.

use crate::cell;
use clap::{Arg, Command, CommandFactory};
use neuroshard_node::cli::Cli as Node;
use neuroshard_worker::cli::Cli as Worker;
use std::fmt::Write as _;

/// Returns the page of all commands and options.
pub fn page() -> String {
	let mut page = String::from(
		"# Command lines\n\nAll commands and options of `neuroshard-worker` and `neuroshard-node`. `--help` says the same. This page is written by \
		 `scripts/reference.sh`.\n",
	);
	for command in [Worker::command(), Node::command().name("neuroshard-node")] {
		let name = command.get_name().to_owned();
		let mut command = command.bin_name(name.clone());
		command.build();
		write_command(&mut page, &command, &name, 2);
	}
	page
}

fn write_command(page: &mut String, command: &Command, name: &str, depth: usize) {
	// Writing to a string does not fail.
	let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
	let _ = write!(page, "\n{} `{name}`\n\n{}\n", "#".repeat(depth.min(4)), paragraph(&about));
	let options: Vec<&Arg> = command.get_arguments().filter(|option| is_listed(option, depth)).collect();
	if !options.is_empty() {
		page.push_str("\n| Option | Default | Meaning |\n| --- | --- | --- |\n");
	}
	for option in options {
		let help = option.get_long_help().or(option.get_help()).map(ToString::to_string).unwrap_or_default();
		let values: Vec<String> = option.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
		let is_switch = !option.get_action().takes_values();
		let values = if values.is_empty() || is_switch { String::new() } else { format!(". One of {}", values.join(", ")) };
		let default: Vec<String> = option.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
		let default = if default.is_empty() || is_switch { String::new() } else { format!("`{}`", default.join(" ")) };
		let _ = writeln!(
			page,
			"| `{}` | {} | {}{} |",
			cell(&spelling(option)),
			cell(&default),
			cell(&help).trim_end_matches('.'),
			cell(&values)
		);
	}
	for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
		write_command(page, sub, &format!("{name} {}", sub.get_name()), depth.saturating_add(1));
	}
}

/// Whether an option is in the table of a command: common ones are in that of the program alone.
fn is_listed(option: &Arg, depth: usize) -> bool {
	let is_common = option.is_global_set() && depth > 2;
	!is_common && !option.is_hide_set() && !matches!(option.get_id().as_str(), "help" | "version")
}

fn spelling(option: &Arg) -> String {
	let values: Vec<String> = option.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
	let value = if option.get_action().takes_values() { values.join(" ") } else { String::new() };
	match (option.get_long(), option.get_short()) {
		(Some(long), _) => format!("--{long} {value}").trim_end().to_owned(),
		(None, Some(short)) => format!("-{short} {value}").trim_end().to_owned(),
		(None, None) => format!("<{value}>"),
	}
}

/// Text of several lines as one paragraph each.
fn paragraph(text: &str) -> String {
	text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn every_command_has_a_heading_and_every_option_a_row() {
		let page = page();
		for part in [
			"### `neuroshard-worker run`",
			"### `neuroshard-worker dataset`",
			"| `--max-disk GIB` |",
			"## `neuroshard-node`",
			"| `--wasm-cache DIR` |",
		] {
			assert!(page.contains(part), "{part}");
		}
		assert_eq!(page.matches("| `--passphrase-file FILE` |").count(), 1, "common options are said once");
	}
}
