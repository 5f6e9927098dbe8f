//! The model that a network has trained, for whoever wants text from it when the network is gone.

use crate::{Error, Network, Training};
use neuroshard_training::checkpoint::checkpoint_folder;
use neuroshard_types::RunId;
use std::{
	fs,
	io::ErrorKind,
	path::{Path, PathBuf},
};

/// Folder below the user's cache in which the model of the last network stays whose own folder is removed.
const KEPT: &str = "neuroshard/last-devnet";

/// A model in a base folder as a worker has one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
	base: PathBuf,
	run: RunId,
}

impl Model {
	/// Where the worker is that has the newest checkpoint; `None` if none has one yet.
	///
	/// # Errors
	/// [`Error::Checkpoint`] if a worker's files are damaged.
	pub fn newest(network: &Network, training: &Training) -> Result<Option<Self>, Error> {
		let mut newest = None;
		for worker in &network.workers {
			let Some(found) = worker.checkpoint(training.run, &training.model)? else { continue };
			let round = found.header.round;
			if newest.as_ref().is_none_or(|(known, _)| *known < round) {
				newest = Some((round, Self { base: worker.base().to_path_buf(), run: training.run }));
			}
		}
		Ok(newest.map(|(_, model)| model))
	}

	/// Copies it into the folder `to`, in place of what was kept there before.
	///
	/// # Errors
	/// [`Error::File`]. What was kept before stays then, unless it could not be replaced by the copy.
	pub fn keep(&self, to: &Path) -> Result<Self, Error> {
		let parent = to.parent().unwrap_or(Path::new("."));
		fs::create_dir_all(parent).map_err(Error::file(parent))?;
		let copy = tempfile::tempdir_in(parent).map_err(Error::file(parent))?;
		let (from, into) = (checkpoint_folder(&self.base, self.run), checkpoint_folder(copy.path(), self.run));
		fs::create_dir_all(&into).map_err(Error::file(&into))?;
		for entry in fs::read_dir(&from).map_err(Error::file(&from))? {
			let entry = entry.map_err(Error::file(&from))?;
			fs::copy(entry.path(), into.join(entry.file_name())).map_err(Error::file(&entry.path()))?;
		}
		match fs::remove_dir_all(to) {
			Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::file(to)(error)),
			_ => {}
		}
		fs::rename(copy.keep(), to).map_err(Error::file(to))?;
		Ok(Self { base: to.to_path_buf(), run: self.run })
	}

	/// The command by which `worker` writes text from it, for a shell. It needs no network.
	pub fn command(&self, worker: &Path) -> String {
		let (worker, base) = (quoted(worker), quoted(&self.base));
		format!("{worker} generate --base-path {base} --run {} --prompt 'The ' --max-tokens 200", self.run)
	}

	/// The command by which `worker` answers over HTTP with it, for a shell. It needs no network.
	pub fn serve_command(&self, worker: &Path) -> String {
		format!("{} serve --base-path {} --run {}", quoted(worker), quoted(&self.base), self.run)
	}
}

/// Where the model of a network stays whose own folder is removed; `None` if the user has no folder for that.
pub fn kept_folder() -> Option<PathBuf> {
	let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
	let cache = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")))?;
	Some(cache.join(KEPT))
}

/// A path as a word for a shell.
fn quoted(path: &Path) -> String {
	let text = path.display().to_string();
	match text.chars().all(|character| character.is_ascii_alphanumeric() || "/._-+".contains(character)) {
		true => text,
		false => format!("'{}'", text.replace('\'', r"'\''")),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use clap::Parser;
	use neuroshard_graph::ParamLayout;
	use neuroshard_training::{checkpoint::Checkpoint, presets};
	use neuroshard_worker::cli::{self, Cli};

	/// A model as a worker of `run` has it below `base`.
	fn trained(base: &Path, run: RunId) -> Model {
		let (config, train) = presets::tiny();
		let folder = checkpoint_folder(base, run);
		let checkpoint = Checkpoint::genesis(run, &config, &train, 1).unwrap();
		checkpoint.save(&folder, &ParamLayout::new(&config).unwrap()).unwrap();
		fs::write(folder.join("model.json"), serde_json::to_vec(&config).unwrap()).unwrap();
		Model { base: base.to_path_buf(), run }
	}

	#[tokio::test]
	async fn a_kept_model_outlives_its_network_and_the_command_that_is_told_works_without_one() {
		let place = tempfile::tempdir().unwrap();
		let kept = place.path().join("neuroshard/last-devnet");
		for run in [3, 0] {
			let network = tempfile::tempdir().unwrap();
			let model = trained(network.path(), run).keep(&kept).unwrap();
			drop(network);
			let command =
				model.command(Path::new("neuroshard-worker")).replace("'The '", "The").replace("--max-tokens 200", "--max-tokens 2");
			let cli = Cli::try_parse_from(command.split(' ')).unwrap();
			assert_eq!(cli::run(cli).await.map_err(|error| error.to_string()), Ok(0), "{command}");
		}
		assert!(!checkpoint_folder(&kept, 3).exists(), "one model is kept, the last");
		assert_eq!(fs::read_dir(kept.parent().unwrap()).unwrap().count(), 1, "nothing else stays");
	}

	#[test]
	fn a_model_that_cannot_be_copied_leaves_the_one_before() {
		let place = tempfile::tempdir().unwrap();
		let (kept, network) = (place.path().join("last"), tempfile::tempdir().unwrap());
		trained(network.path(), 3).keep(&kept).unwrap();
		let gone = Model { base: place.path().join("gone"), run: 3 };
		assert!(gone.keep(&kept).is_err());
		assert!(checkpoint_folder(&kept, 3).join("model.json").exists());
		assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
	}

	#[test]
	fn paths_are_words_for_a_shell() {
		assert_eq!(quoted(Path::new("/home/me/.cache/a-b_c+1")), "/home/me/.cache/a-b_c+1");
		assert_eq!(quoted(Path::new("/it's here")), r"'/it'\''s here'");
	}
}
