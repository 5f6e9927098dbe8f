//! Printing for people and pipes.

use neuroshard_chain_client::NodeReport;
use neuroshard_types::{
	provider::{ProviderStatus, ProviderView, Suspension},
	BlockNumber,
};
use std::{
	fmt,
	io::{self, Write},
};

/// As the standard library's, in all commands, but without a panic when nobody reads any more, as behind `| head -1`: the command goes
/// on to its end, so that nothing is left half done.
macro_rules! println {
	($($argument:tt)+) => {
		$crate::cli::print::line(format_args!($($argument)+))
	};
}

/// Prints a line. Ends the process if it cannot be written for another reason than that nobody reads it, such as a full disk.
pub(super) fn line(text: fmt::Arguments<'_>) {
	if let Err(error) = write_line(&mut io::stdout().lock(), text) {
		eprintln!("error: cannot write to standard output: {error}");
		std::process::exit(1);
	}
}

fn write_line(out: &mut impl Write, text: fmt::Arguments<'_>) -> io::Result<()> {
	match out.write_fmt(text).and_then(|()| out.write_all(b"\n")) {
		Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
		written => written,
	}
}

/// A provider's status in a word or some.
pub(super) fn status(status: &ProviderStatus) -> &'static str {
	match status {
		ProviderStatus::Active => "Active",
		ProviderStatus::Chilled => "Chilled",
		ProviderStatus::Unproven { .. } => "Unproven (registered; active once this machine has passed the chain's test of arithmetic)",
	}
}

/// What keeps a provider from taking part, or its bond from leaving, in block `now`.
pub(super) fn restrictions(provider: &ProviderView, now: BlockNumber) {
	if provider.locked_until > now {
		println!("locked     until block {}", provider.locked_until);
	}
	match provider.suspension(now) {
		Some(Suspension::Forever) => println!("banned     for good"),
		Some(Suspension::Until(block)) => println!("suspended  until block {block}"),
		None => {}
	}
}

/// What one of several nodes says.
pub(super) fn node(node: &NodeReport) -> String {
	let used = if node.used { ", in use" } else { "" };
	let blocks = match (node.best_block, node.finalized_block) {
		(Some(best), Some(finalized)) => format!(": block {best}, finalized {finalized}, runtime {}", node.spec_version),
		_ => String::new(),
	};
	let problem = node.problem.as_ref().map(|problem| format!(" {problem}")).unwrap_or_default();
	format!("{}{problem}{used}{blocks}", node.url)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn each_node_is_told_with_its_blocks_or_what_is_wrong_with_it() {
		let good =
			NodeReport { url: "ws://a".into(), used: true, best_block: Some(9), finalized_block: Some(7), spec_version: 8, problem: None };
		assert_eq!(node(&good), "ws://a, in use: block 9, finalized 7, runtime 8");
		let away = NodeReport { url: "ws://b".into(), problem: Some("does not answer".into()), ..Default::default() };
		assert_eq!(node(&away), "ws://b does not answer");
	}

	#[test]
	fn a_reader_that_has_gone_is_no_error_and_a_full_disk_is() {
		let (reader, mut writer) = io::pipe().unwrap();
		drop(reader);
		assert!(writer.write_all(b"a").is_err());
		write_line(&mut writer, format_args!("{}", 7)).unwrap();
		let mut full: &mut [u8] = &mut [0; 2];
		write_line(&mut full, format_args!("long")).unwrap_err();
	}

	#[test]
	fn a_line_is_written_whole() {
		let mut out = Vec::new();
		write_line(&mut out, format_args!("{}, {:?}", 7, "x")).unwrap();
		assert_eq!(out, b"7, \"x\"\n");
	}
}
