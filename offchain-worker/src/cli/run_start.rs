//! What a run starts from: `train create-run --start`.

use super::CliError;
use codec::DecodeAll;
use neuroshard_chain_client::ChainAt;
use neuroshard_roles::{read_adapter, read_model};
use neuroshard_store::read_note;
use neuroshard_training::checkpoint::{checkpoint_folder, Checkpoint, Header};
use neuroshard_types::{run::RunStart, Adapter, ModelConfig, RoundIndex, RunId, H256};
use std::{
	convert::Infallible,
	path::{Path, PathBuf},
	str::FromStr,
};

/// What a run is to start from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Start {
	/// The seed in its file.
	Seed,
	/// The checkpoint that a round of another run starts from.
	Round(RunId, RoundIndex),
	/// A checkpoint in the worker's store.
	Root(H256),
	/// A checkpoint in a folder.
	Folder(PathBuf),
}

impl FromStr for Start {
	type Err = Infallible;

	fn from_str(text: &str) -> Result<Self, Infallible> {
		let mut root = H256::zero();
		let number = |digits: &str| digits.parse().ok();
		let round = text.split_once(':').and_then(|(run, round)| Some((number(run)?, number(round)?)));
		Ok(match (text, round) {
			("seed", _) => Self::Seed,
			(_, Some((run, round))) => Self::Round(run, round),
			_ if hex::decode_to_slice(text.trim_start_matches("0x"), root.as_bytes_mut()).is_ok() => Self::Root(root),
			_ => Self::Folder(text.into()),
		})
	}
}

impl Start {
	/// The chain's form, for a run of `model`, or of an adapter beside it. What the chain does not know of a checkpoint, that it is made of these parameters and this momentum, is read from where it
	/// is, or below `base`.
	///
	/// # Errors
	/// [`CliError`] if it is not to be had, or is known to be of another model or adapter.
	pub(super) async fn resolve(
		&self,
		base: &Path,
		at: &ChainAt,
		(model, adapter): (&ModelConfig, Option<&Adapter>),
	) -> Result<RunStart, CliError> {
		let given = |header: Header, of| RunStart::Given { params: header.params, momentum: header.momentum, of };
		match self {
			Self::Seed => Ok(RunStart::Seed),
			Self::Folder(folder) => {
				let header = in_folder(folder, model, adapter)?;
				Ok(given(header, None))
			}
			Self::Root(root) => {
				let header = noted(base, *root).ok_or_else(|| absent(base, &format!("{root:?}")))?;
				Ok(given(header, None))
			}
			Self::Round(run, round) => {
				let unknown = || CliError::Unknown(format!("run {run} on this chain"));
				let view = at.run(*run).await?.ok_or_else(unknown)?;
				fits(&view.config.model, model, &format!("run {run}"))?;
				trains_the_same(view.config.train.adapter.as_ref(), adapter, &format!("run {run}"))?;
				let root = match round.checked_sub(1) {
					None => Some(view.config.genesis_root),
					Some(before) => at.record(*run, before).await?.filter(|record| !record.fallen).map(|record| record.checkpoint),
				};
				let root = root
					.ok_or_else(|| CliError::Unknown(format!("checkpoint that round {round} of run {run} starts from, on this chain")))?;
				let newest = || Checkpoint::header(&checkpoint_folder(base, *run)).ok().flatten().filter(|newest| newest.root() == root);
				let header = noted(base, root).or_else(newest).ok_or_else(|| absent(base, &format!("{root:?} of run {run}")))?;
				Ok(given(header, Some((*run, *round))))
			}
		}
	}

	/// What is to be done so that workers of `run` can begin.
	pub(super) fn advice(&self, run: RunId) -> Option<String> {
		let from = match self {
			Self::Seed => return None,
			Self::Folder(folder) => format!("`neuroshard-worker run --run {run} --start {}`", folder.display()),
			Self::Root(_) | Self::Round(..) => "a worker that has the checkpoint".into(),
		};
		Some(format!("its workers fetch what it starts from: let {from} run until as many as it needs have joined"))
	}
}

/// The header of the checkpoint in `folder`, if that is one of `model`, or of this adapter beside it.
fn in_folder(folder: &Path, model: &ModelConfig, adapter: Option<&Adapter>) -> Result<Header, CliError> {
	let header = Checkpoint::header(folder)?.ok_or_else(|| no_start(folder))?;
	if let Some(found) = read_model(folder)? {
		fits(&found, model, &folder.display().to_string())?;
	}
	trains_the_same(read_adapter(folder)?.as_ref(), adapter, &folder.display().to_string())?;
	Ok(header)
}

/// What is said of a folder that has nothing to start from.
pub(super) fn no_start(folder: &Path) -> CliError {
	CliError::Invalid(format!(
		"there is no checkpoint in {}: name a folder that `model import` filled, RUN:ROUND or seed",
		folder.display()
	))
}

/// Refuses a checkpoint of another model, which only the longest text does not make.
fn fits(found: &ModelConfig, model: &ModelConfig, whose: &str) -> Result<(), CliError> {
	let found = ModelConfig { max_seq: model.max_seq, ..found.clone() };
	if found == *model {
		return Ok(());
	}
	let words = format!(
		"the model of {whose} is another one than that of the run file: it is {found:?}, and the run file, with the dataset, has {model:?}"
	);
	Err(CliError::Invalid(words))
}

/// Refuses a checkpoint of an adapter where a model's or another adapter's is needed, and the other way round. Alpha may be another one.
pub(super) fn trains_the_same(found: Option<&Adapter>, needed: Option<&Adapter>, whose: &str) -> Result<(), CliError> {
	if found.map(Adapter::place) == needed.map(Adapter::place) {
		return Ok(());
	}
	let words = |adapter: Option<&Adapter>| match adapter {
		None => "a model".to_owned(),
		Some(Adapter { base, rank, projections, .. }) => {
			format!("an adapter of rank {rank} of {} beside model {:?}", Vec::from(*projections).join(", "), H256(*base))
		}
	};
	Err(CliError::Invalid(format!("the checkpoint of {whose} is that of {}, and what is needed here is {}", words(found), words(needed))))
}

/// The header of a checkpoint that the store below `base` knows.
fn noted(base: &Path, root: H256) -> Option<Header> {
	let note = read_note(&base.join("store"), root).ok()??;
	Header::decode_all(&mut note.as_slice()).ok().filter(|header| header.root() == root)
}

fn absent(base: &Path, what: &str) -> CliError {
	CliError::Unknown(format!(
		"checkpoint {what} in {}: name its folder, or the base path of a worker that has it with --base-path",
		base.display()
	))
}

#[cfg(test)]
mod tests {
	use super::*;
	use codec::Encode;
	use neuroshard_fixtures::{run_in_training, Connect};
	use neuroshard_graph::ParamLayout;
	use neuroshard_mock_node::{Fate, MockNode, Script};
	use neuroshard_roles::write_model;
	use neuroshard_store::Store;
	use neuroshard_training::presets;
	use neuroshard_types::{run::RoundRecord, Projections, TrainConfig, F32};

	#[test]
	fn a_start_is_a_seed_a_round_of_a_run_a_root_or_a_folder() {
		let read = |text: &str| text.parse::<Start>().unwrap();
		let digits = "0b".repeat(32);
		assert_eq!(read("seed"), Start::Seed);
		assert_eq!(read("3:12"), Start::Round(3, 12));
		assert_eq!((read(&digits), read(&format!("0x{digits}"))), (Start::Root(H256::repeat_byte(11)), Start::Root(H256::repeat_byte(11))));
		for folder in ["./seed", "start", "3:", "C:7"] {
			assert_eq!(read(folder), Start::Folder(folder.into()));
		}
	}

	#[test]
	fn a_folder_counts_if_it_has_a_checkpoint_of_that_model() {
		let (base, (model, train)) = (tempfile::tempdir().unwrap(), presets::tiny());
		let error = in_folder(base.path(), &model, None).unwrap_err().to_string();
		assert!(error.contains("there is no checkpoint in") && error.contains("model import"), "{error}");
		let checkpoint = Checkpoint::genesis(0, &model, &train, 1).unwrap();
		checkpoint.save(base.path(), &ParamLayout::new(&model).unwrap()).unwrap();
		write_model(base.path(), &model).unwrap();
		assert_eq!(in_folder(base.path(), &model, None).unwrap(), checkpoint.header);
		assert!(in_folder(base.path(), &ModelConfig { max_seq: 32, ..model.clone() }, None).is_ok());
		let error = in_folder(base.path(), &ModelConfig { rope_theta: 20_000, ..model }, None).unwrap_err().to_string();
		assert!(error.contains("is another one than that of the run file") && error.contains("20000"), "{error}");
	}

	#[test]
	fn a_folder_of_an_adapter_is_no_models_and_goes_on_with_that_adapter_alone() {
		let (base, (model, train)) = (tempfile::tempdir().unwrap(), presets::tiny());
		let adapter = Adapter { base: [7; 32], rank: 4, alpha: F32::new(8.0), projections: Projections::ALL };
		let train = TrainConfig { adapter: Some(adapter), ..train };
		let checkpoint = Checkpoint::genesis(0, &model, &train, 1).unwrap();
		checkpoint.save(base.path(), &ParamLayout::trained(&model, &train).unwrap()).unwrap();
		write_model(base.path(), &model).unwrap();
		std::fs::write(base.path().join("adapter.json"), serde_json::to_vec(&adapter).unwrap()).unwrap();
		let found = |needed: Option<Adapter>| in_folder(base.path(), &model, needed.as_ref());
		assert_eq!(found(Some(adapter)).unwrap(), checkpoint.header);
		assert!(found(Some(Adapter { alpha: F32::new(1.0), ..adapter })).is_ok());
		for other in [None, Some(Adapter { rank: 5, ..adapter }), Some(Adapter { base: [8; 32], ..adapter })] {
			let words = found(other).unwrap_err().to_string();
			assert!(words.contains("is that of an adapter of rank 4 of q_proj, k_proj") && words.contains("0x0707"), "{words}");
		}
		std::fs::remove_file(base.path().join("adapter.json")).unwrap();
		assert!(found(Some(adapter)).unwrap_err().to_string().contains("is that of a model, and what is needed here is an adapter"));
	}

	#[tokio::test]
	async fn a_round_of_another_run_is_named_by_the_parts_of_what_it_starts_from_on_chain() {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let base = tempfile::tempdir().unwrap();
		let store = Store::open(&base.path().join("store"), 1 << 20).unwrap();
		let (_, mut view, _) = run_in_training();
		let header = Header { round: 4, adopted_steps: 48, ..Header::first(H256::repeat_byte(1), H256::repeat_byte(2)) };
		(view.rounds_adopted, view.checkpoint) = (4, header.root());
		node.answer("Training", "run", &Some(view.clone()));
		let record = RoundRecord {
			seed: H256::zero(),
			start: H256::zero(),
			inner_start: H256::zero(),
			first_round: 3,
			participants: Vec::new(),
			late: Vec::new(),
			bridge: None,
			included: Vec::new(),
			excluded: Vec::new(),
			attested: Vec::new(),
			checkpoint: header.root(),
			fallen: false,
			validation_loss: F32::new(1.0),
			adopted_at: 7,
		};
		node.answer("Training", "record", &Some(record.clone()));
		let at = node.client().await.now().await.unwrap();
		let model = view.config.model;
		let error = |round, model: &ModelConfig| {
			let (at, base, model) = (at.clone(), base.path().to_path_buf(), model.clone());
			async move { Start::Round(7, round).resolve(&base, &at, (&model, None)).await.unwrap_err().to_string() }
		};
		let words = error(4, &model).await;
		assert!(words.contains(&format!("{:?} of run 7", header.root())) && words.contains("--base-path"), "{words}");
		store.set_note(header.root(), &header.encode()).unwrap();
		let start = Start::Round(7, 4).resolve(base.path(), &at, (&model, None)).await.unwrap();
		assert_eq!(start, RunStart::Given { params: header.params, momentum: header.momentum, of: Some((7, 4)) });
		// The record is gone, or what it says has fallen.
		node.answer("Training", "record", &Some(RoundRecord { fallen: true, ..record }));
		assert!(error(4, &model).await.contains("checkpoint that round 4 of run 7 starts from"));
		node.answer("Training", "record", &None::<RoundRecord>);
		assert!(error(3, &model).await.contains("checkpoint that round 3 of run 7 starts from"));
		let adapter = Adapter { base: [0; 32], rank: 4, alpha: F32::new(8.0), projections: Projections::ALL };
		let words = Start::Round(7, 4).resolve(base.path(), &at, (&model, Some(&adapter))).await.unwrap_err().to_string();
		assert!(words.contains("run 7 is that of a model, and what is needed here is an adapter of rank 4"), "{words}");
		let other = ModelConfig { layers: model.layers + 1, ..model };
		assert!(error(4, &other).await.contains("the model of run 7 is another one"));
	}

	#[test]
	fn a_root_is_known_by_the_note_in_the_store_of_a_worker() {
		let base = tempfile::tempdir().unwrap();
		let header = Header { round: 4, adopted_steps: 48, ..Header::first(H256::repeat_byte(1), H256::repeat_byte(2)) };
		assert_eq!(noted(base.path(), header.root()), None);
		let store = Store::open(&base.path().join("store"), 1 << 20).unwrap();
		store.set_note(header.root(), &header.encode()).unwrap();
		assert_eq!(noted(base.path(), header.root()), Some(header));
		store.set_note(H256::zero(), &header.encode()).unwrap();
		assert_eq!(noted(base.path(), H256::zero()), None);
	}
}
