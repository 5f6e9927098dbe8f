//! What is named in Hugging Face's hub.

use super::CliError;
use neuroshard_hub::{Hub, Kind, Name, Settings, Snapshot, PREFIX};
use neuroshard_support::{counted::counted, printable::printable_line};
use std::path::{Path, PathBuf};

/// Fetches what is named in the hub, and knows what was.
#[derive(Default)]
pub(super) struct Fetching {
	hub: Option<Hub>,
	/// What was named: of the hub, by commit, and the names of other files and folders.
	told: Vec<String>,
}

impl Fetching {
	/// The files that `path` names, if it is of the hub; otherwise `path` itself.
	pub(super) async fn paths(&mut self, path: &Path) -> Result<Vec<PathBuf>, CliError> {
		let Some(name) = name(path)? else {
			self.told.push(path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned());
			return Ok(vec![path.to_path_buf()]);
		};
		if name.kind != Kind::Dataset {
			return Err(CliError::Invalid(format!("{name} is a model: a dataset is hf://datasets/OWNER/NAME[@REVISION][/PATH]")));
		}
		Ok(self.snapshot(&name).await?.files)
	}

	/// The folder of the model that `path` names, if it is of the hub; otherwise `path` itself.
	pub(super) async fn model(&mut self, path: &Path) -> Result<PathBuf, CliError> {
		let Some(name) = name(path)? else { return Ok(path.to_path_buf()) };
		if name.kind != Kind::Model {
			return Err(CliError::Invalid(format!("{name} is a dataset: a model is hf://OWNER/NAME[@REVISION]")));
		}
		Ok(self.snapshot(&name).await?.folder)
	}

	/// What was named, in words, if any of it is of the hub.
	pub(super) fn source(&self) -> Option<String> {
		self.hub.as_ref().map(|_| format!("text of {}", self.told.join(", ")))
	}

	async fn snapshot(&mut self, name: &Name) -> Result<Snapshot, CliError> {
		let hub = match self.hub.take() {
			Some(hub) => hub,
			None => Hub::new(Settings::from_environment()?)?,
		};
		let tell = &mut |file: &str| eprintln!("fetching {}", printable_line(file));
		let snapshot = self.hub.insert(hub).snapshot(name, tell).await?;
		if snapshot.may_lack {
			let files = counted(snapshot.files.len() as u64, "file");
			eprintln!(
				"HF_HUB_OFFLINE: {files} of {} in the cache, and whether there are more in the hub is not known",
				printable_line(&name.to_string())
			);
		}
		self.told.push(name.at(&snapshot.commit).to_string());
		Ok(snapshot)
	}
}

/// What `path` names in the hub, if it does.
fn name(path: &Path) -> Result<Option<Name>, CliError> {
	let text = path.to_string_lossy();
	let named = text.starts_with(PREFIX).then(|| text.parse()).transpose()?;
	Ok(named)
}
