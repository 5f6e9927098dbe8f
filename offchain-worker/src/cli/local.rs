//! The newest checkpoint in the base folder, for commands that need no chain.

use super::CliError;
use crate::{
	infer::{Card, Model, ModelError, Source},
	run::{checkpoint_folder, read_model},
	train::checkpoint::Checkpoint,
};
use neuroshard_graph::{
	exec::{Exec, Inference},
	Class, ParamLayout,
};
use neuroshard_types::{ModelConfig, RunId, H256};
use std::{path::Path, sync::Arc};

/// The newest checkpoint of `run`, or of the newest run that there is, ready to answer.
pub(super) fn model(base: &Path, run: Option<RunId>, class: Class, threads: usize) -> Result<Model, CliError> {
	let (run, config, checkpoint) = find(base, run, threads)?;
	Ok(Model::of_bytes(format!("run-{run}"), &config, &checkpoint.params, checkpoint.header.root().0, class, threads)?)
}

/// The model in `folder`, or, without one, the newest checkpoint as for [`model`]; and where its parts come from.
pub(super) fn card(base: &Path, run: Option<RunId>, folder: Option<&Path>, threads: usize) -> Result<(Card, Source), CliError> {
	let exec = Arc::new(Exec::new(threads).map_err(ModelError::from)?);
	if let Some(folder) = folder {
		let (card, config, _) = Card::of_folder(folder)?;
		let (folder, expected) = (folder.to_owned(), card.root);
		let params = move || {
			let (card, _, params) = Card::of_folder(&folder).map_err(|error| error.to_string())?;
			same(card.root, expected).map(|()| params)
		};
		let source = part_of(card.root, config, exec, params);
		return Ok((card, source));
	}
	let (run, config, checkpoint) = find(base, run, threads)?;
	let card = Card::of_bytes(format!("run-{run}"), &config, checkpoint.header.root().0)?;
	// In memory: the folder has another one as soon as the run goes on.
	let params = checkpoint.params;
	let source = part_of(card.root, config, exec, move || Ok(params.clone()));
	Ok((card, source))
}

fn same(found: H256, expected: H256) -> Result<(), String> {
	match found == expected {
		true => Ok(()),
		false => Err(format!("the model has changed since this command was started, from {expected:?} to {found:?}: start it anew")),
	}
}

fn part_of(
	root: H256,
	config: ModelConfig,
	exec: Arc<Exec>,
	params: impl Fn() -> Result<Vec<f32>, String> + Send + Sync + 'static,
) -> Source {
	let shape = config.clone();
	Source::new(root, config, move |stage, class| {
		Inference::in_class(exec.clone(), &shape, &params()?, stage, class).map_err(|error| error.to_string())
	})
}

/// Model and newest checkpoint of `run`, or of the newest run that there is.
pub(super) fn load(base: &Path, run: Option<RunId>, threads: usize) -> Result<(ModelConfig, Checkpoint), CliError> {
	let (_, model, checkpoint) = find(base, run, threads)?;
	Ok((model, checkpoint))
}

/// As [`load`], with the run's number.
pub(super) fn find(base: &Path, run: Option<RunId>, threads: usize) -> Result<(RunId, ModelConfig, Checkpoint), CliError> {
	let run = run.or_else(|| newest_run(base)).ok_or_else(|| missing(base, None))?;
	let folder = checkpoint_folder(base, run);
	let model = read_model(&folder)?.ok_or_else(|| missing(base, Some(run)))?;
	let layout = ParamLayout::new(&model).map_err(|error| CliError::Invalid(format!("the model of run {run} is refused: {error}")))?;
	let checkpoint = Checkpoint::load(&folder, &layout, threads)?.ok_or_else(|| missing(base, Some(run)))?;
	Ok((run, model, checkpoint))
}

fn newest_run(base: &Path) -> Option<RunId> {
	let entries = std::fs::read_dir(base.join("runs")).ok()?;
	entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).max()
}

fn missing(base: &Path, run: Option<RunId>) -> CliError {
	let run = run.map_or(String::new(), |run| format!(" of run {run}"));
	CliError::Unknown(format!("checkpoint{run} in {}: `neuroshard-worker run` computes or fetches one", base.display()))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn without_a_checkpoint_the_error_says_where_one_comes_from() {
		let base = tempfile::tempdir().unwrap();
		for run in [None, Some(3)] {
			let error = load(base.path(), run, 1).map(drop).unwrap_err();
			assert!(error.to_string().contains("neuroshard-worker run"), "{error}");
		}
	}

	#[test]
	fn the_newest_run_is_the_one_with_the_highest_number() {
		let base = tempfile::tempdir().unwrap();
		for name in ["2", "10", "other"] {
			std::fs::create_dir_all(base.path().join("runs").join(name)).unwrap();
		}
		assert_eq!(newest_run(base.path()), Some(10));
	}
}
