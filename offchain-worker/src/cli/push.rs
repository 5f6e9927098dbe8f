//! `push`.

use super::{dataset::refuse_no_dataset, CliError};
use clap::Args;
use neuroshard_mirror::{Location, Target};
use neuroshard_roles::{push_base, push_checkpoint, push_dataset, Pushed, WorkerError};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct Push {
	/// Folder of a dataset.
	#[arg(long, value_name = "DIR", required_unless_present = "checkpoint")]
	dataset: Option<PathBuf>,
	/// Folder of a checkpoint: what `model import` made, or `runs/ID` in the base folder of a worker.
	#[arg(long, value_name = "DIR")]
	checkpoint: Option<PathBuf>,
	/// Where to: s3://BUCKET/PATH, gs://BUCKET/PATH or file:///FOLDER. Credentials are taken from the environment, such as AWS_ACCESS_KEY_ID and
	/// AWS_SECRET_ACCESS_KEY, or GOOGLE_APPLICATION_CREDENTIALS.
	// Parsed here, since the parser of the command line would quote a secret.
	#[arg(long, value_name = "URL")]
	to: String,
}

impl Push {
	pub(super) async fn run(self) -> Result<u8, CliError> {
		let target = Target::open(location("--to", &self.to)?).map_err(WorkerError::from)?;
		let mut sent = 0u64;
		let mut told = |pushed: Pushed| {
			sent = sent.saturating_add(pushed.sent);
			match pushed.sent {
				0 => println!("{}: is there", pushed.part),
				bytes => println!("{}: sent {:.1} MB", pushed.part, bytes as f64 / 1e6),
			}
		};
		let mut roots = Vec::new();
		if let Some(folder) = &self.dataset {
			refuse_no_dataset(folder)?;
			roots.push(("dataset", push_dataset(&target, folder, &mut told).await?));
		}
		if let Some(folder) = &self.checkpoint {
			roots.push(("checkpoint", push_checkpoint(&target, folder, &mut told).await?));
			if let Some(base) = push_base(&target, folder, &mut told).await? {
				println!(
					"model {base:?}, which the adapter is beside, is not in the store beside {}: workers need it as well, so push the folder that \
					 `model import` made of it",
					folder.display()
				);
			}
		}
		for (what, root) in roots {
			println!("{what} {root:?} is at {}: workers read it with `run --mirror URL`", self.to);
		}
		println!("{:.1} MB sent", sent as f64 / 1e6);
		Ok(0)
	}
}

/// The address of a mirror that `option` names.
pub(super) fn location(option: &str, text: &str) -> Result<Location, CliError> {
	text.parse().map_err(|error| CliError::Invalid(format!("{option}: {error}")))
}

#[cfg(test)]
mod tests {
	use super::{super::Cli, *};
	use clap::Parser;

	#[test]
	fn a_push_names_a_dataset_or_a_checkpoint_or_both() {
		let parse = |rest: &[&str]| Cli::try_parse_from([&["neuroshard-worker", "push", "--to", "s3://bucket/a"], rest].concat());
		parse(&["--dataset", "d"]).unwrap();
		parse(&["--checkpoint", "c"]).unwrap();
		parse(&["--dataset", "d", "--checkpoint", "c"]).unwrap();
		assert!(parse(&[]).unwrap_err().to_string().contains("--dataset"));
	}

	#[tokio::test]
	async fn an_address_with_a_secret_is_refused_without_a_word_of_it_and_a_web_server_takes_nothing() {
		let push = |to: &str| Push { dataset: None, checkpoint: None, to: to.into() }.run();
		let refused = push("https://user:hidden@host/").await.unwrap_err().to_string();
		assert!(refused.contains("environment") && !refused.contains("hidden"), "{refused}");
		assert!(push("https://host/").await.unwrap_err().to_string().contains("cannot be written to"));
	}
}
