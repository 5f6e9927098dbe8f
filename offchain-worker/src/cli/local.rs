//! The newest checkpoint in the base folder, for commands that need no chain.

use super::CliError;
use neuroshard_compute::exec::{Decoding, Exec, InferenceError, Stage};
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::{tiles, Class, ParamLayout};
use neuroshard_inference::{Adapted, Card, Model, ModelError, Parameters, ParametersError, Part, Source, Standby};
use neuroshard_opencl::OpenCl;
use neuroshard_provider::Served;
use neuroshard_roles::{read_adapter, read_model, read_tokenizer};
use neuroshard_store::read_blob;
use neuroshard_training::{
	checkpoint::{checkpoint_folder, Checkpoint},
	engine::Device,
};
use neuroshard_types::{Adapter, ModelConfig, RunId, H256};
use std::{
	path::{Path, PathBuf},
	str::FromStr,
	sync::Arc,
};

/// Which model.
#[derive(Clone, Copy, Default)]
pub(super) struct Which<'a> {
	/// The one in this folder.
	pub folder: Option<&'a Path>,
	/// Without a folder, the newest checkpoint of this run; without both, that of the newest run that there is.
	pub run: Option<RunId>,
	/// For texts of so many tokens at most.
	pub context: Option<u32>,
}

/// An adapter in a folder, and the name that requests choose it by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NamedAdapter {
	name: String,
	folder: PathBuf,
}

impl FromStr for NamedAdapter {
	type Err = &'static str;

	fn from_str(text: &str) -> Result<Self, Self::Err> {
		match text.split_once('=') {
			Some((name, folder)) if !name.is_empty() && !folder.is_empty() => Ok(Self { name: name.into(), folder: folder.into() }),
			_ => Err("an adapter is told as NAME=DIR: the name that requests choose it by, and its folder"),
		}
	}
}

/// What computes parts of models: threads of this machine, or a device.
#[derive(Clone)]
pub(super) struct Computes {
	exec: Arc<Exec>,
	device: Option<Arc<OpenCl>>,
}

impl Computes {
	/// That device, if it computes the bits of the CPU, with `threads` threads beside it; else these threads alone.
	///
	/// # Errors
	/// [`CliError`] for threads that cannot be started.
	pub(super) fn new(device: Device, threads: usize) -> Result<Self, CliError> {
		let exec = Arc::new(Exec::new(threads).map_err(ModelError::from)?);
		let verified = |number| {
			let device = Arc::new(OpenCl::new(number, exec.clone())?);
			device.verify().map(|()| device)
		};
		let device = match device {
			Device::Cpu => None,
			Device::OpenCl(number) => verified(number).inspect_err(|error| tracing::error!("{error}; the CPU computes in its place")).ok(),
		};
		Ok(Self { exec, device })
	}

	/// The device, if it has not failed.
	pub(super) fn device(&self) -> Option<&Arc<OpenCl>> {
		self.device.as_ref().filter(|device| !device.is_lost())
	}

	/// The threads.
	pub(super) fn exec(&self) -> &Exec {
		&self.exec
	}

	/// Loads a part. Where a device has no room for it, or fails, the CPU computes, also from when it fails later; so it does what has no layers.
	fn load(&self, parameters: &Arc<Parameters>, model: &ModelConfig, stage: &Stage, class: Class) -> Result<Box<dyn Part>, String> {
		let here = {
			let (parameters, exec, model, stage) = (parameters.clone(), self.exec.clone(), model.clone(), stage.clone());
			move || parameters.load(exec, &model, &stage, class).map(boxed).map_err(|error| error.to_string())
		};
		if let Some(device) = self.device().filter(|_| !stage.layers.is_empty()) {
			match parameters.load(device.clone(), model, stage, class) {
				Err(ParametersError::Inference(InferenceError::Device(error))) => {
					tracing::error!("{}: {error}; the CPU computes in its place", device.name());
				}
				Ok(loaded) => return Ok(boxed(Standby::new(boxed(loaded), here))),
				Err(error) => return Err(error.to_string()),
			}
		}
		here()
	}
}

fn boxed(part: impl Part + 'static) -> Box<dyn Part> {
	Box::new(part)
}

/// A model and what can be beside it, ready to answer.
pub(super) fn with_adapters(
	base: &Path,
	which: Which,
	adapters: &[NamedAdapter],
	class: Class,
	computes: &Computes,
) -> Result<(Model, Vec<Adapted>), CliError> {
	if let (Some(device), false) = (computes.device(), adapters.is_empty()) {
		let words = format!("{} computes no adapters: leave --device or the adapter out", device.name());
		return Err(CliError::Invalid(words));
	}
	let (card, source) = card(base, which, computes)?;
	// Packing an adapter is little work, and there may be none.
	let exec = Exec::new(1).map_err(ModelError::from)?;
	let read = |adapter: &NamedAdapter| Adapted::of_folder(adapter.name.clone(), &adapter.folder, &source.config, card.root, &exec);
	let adapters = adapters.iter().map(read).collect::<Result<_, _>>().map_err(ModelError::from)?;
	let stage = Stage::whole(usize::try_from(source.config.layers).unwrap_or(usize::MAX));
	let engine = source.in_class(class).load(&stage).map_err(CliError::Invalid)?;
	Ok((card.with(class, engine), adapters))
}

/// As [`with_adapters`], with the adapter in one folder at most, which has no name.
pub(super) fn with_adapter(
	base: &Path,
	which: Which,
	adapter: Option<&Path>,
	class: Class,
	computes: &Computes,
) -> Result<(Model, Option<Adapted>), CliError> {
	let adapter = adapter.map(|folder| NamedAdapter { name: folder.display().to_string(), folder: folder.into() });
	let (model, mut adapters) = with_adapters(base, which, adapter.as_slice(), class, computes)?;
	Ok((model, adapters.pop()))
}

/// What is known of a model before its parameters are read, and where these come from.
pub(super) fn card(base: &Path, which: Which, computes: &Computes) -> Result<(Card, Source), CliError> {
	let Which { folder, run, context } = which;
	let threads = computes.exec.threads();
	let (card, mut config, parameters) = match folder {
		Some(folder) => Card::of_folder(folder, threads)?,
		None => {
			let (run, config) = shape(base, run)?;
			refuse_adapter(run, read_adapter(&checkpoint_folder(base, run))?.as_ref())?;
			let found = Parameters::of_checkpoint(&checkpoint_folder(base, run), &config, threads).map_err(ModelError::from)?;
			let (_, parameters) = found.ok_or_else(|| missing(base, Some(run)))?;
			let card = Card::of_run(format!("run-{run}"), &config, &tokenizer(base, run)?, parameters.root.0)?;
			(card, config, parameters)
		}
	};
	if let Some(context) = context {
		config.max_seq = longest(context, config.max_seq)?;
	}
	let (model, computes, parameters) = (config.clone(), computes.clone(), Arc::new(parameters));
	let load = move |stage: &Stage, class| computes.load(&parameters, &model, stage, class);
	let source = Source::new(card.root, config, load);
	Ok((card, source))
}

/// The longest text in tokens, if `context` is asked for and the model reads `most`.
fn longest(context: u32, most: u32) -> Result<u32, CliError> {
	if context > most {
		let words = format!(
			"--context {context} is more than the {most} tokens that this model can read: name {most} at most, or leave the option out"
		);
		return Err(CliError::Invalid(words));
	}
	// It is a multiple of 32, as the model's is.
	let longest = context / 32 * 32;
	if longest != context {
		println!("texts have {longest} tokens at most, not {context}: their bound is a multiple of 32");
	}
	Ok(longest)
}

/// Number, model and newest checkpoint of `run`, or of the newest run that there is.
pub(super) fn find(base: &Path, run: Option<RunId>, threads: usize) -> Result<(RunId, ModelConfig, Checkpoint), CliError> {
	let found = trained(base, run, threads)?;
	refuse_adapter(found.run, found.adapter.as_ref())?;
	Ok((found.run, found.model, found.checkpoint))
}

/// What a run trains.
pub(super) struct Trained {
	/// The run.
	pub run: RunId,
	/// The model.
	pub model: ModelConfig,
	/// What is trained beside it, if that is not trained itself.
	pub adapter: Option<Adapter>,
	/// The newest checkpoint of what is trained.
	pub checkpoint: Checkpoint,
}

/// What `run`, or the newest run that there is, trains.
pub(super) fn trained(base: &Path, run: Option<RunId>, threads: usize) -> Result<Trained, CliError> {
	let (run, model) = shape(base, run)?;
	let folder = checkpoint_folder(base, run);
	let adapter = read_adapter(&folder)?;
	let layout = ParamLayout::of(&model, adapter);
	let layout = layout.map_err(|error| CliError::Invalid(format!("the model of run {run} is refused: {error}")))?;
	let checkpoint = Checkpoint::load(&folder, &layout, threads)?.ok_or_else(|| missing(base, Some(run)))?;
	Ok(Trained { run, model, adapter, checkpoint })
}

/// What is known of [`trained`] before a checkpoint is read: the run, and its adapter.
pub(super) fn adapter(base: &Path, run: Option<RunId>) -> Result<(RunId, Option<Adapter>), CliError> {
	let (run, _) = shape(base, run)?;
	Ok((run, read_adapter(&checkpoint_folder(base, run))?))
}

/// Refuses what is an adapter's where a model is needed.
fn refuse_adapter(run: RunId, adapter: Option<&Adapter>) -> Result<(), CliError> {
	match adapter {
		None => Ok(()),
		Some(_) => Err(CliError::Invalid(format!(
			"run {run} trains an adapter, which answers nothing by itself: `neuroshard-worker export --run {run} --out DIR` writes it for \
			 `serve --model FOLDER --adapter NAME=DIR` beside its model, with --merged the model with it, for `--model DIR`"
		))),
	}
}

/// Parameters of the model that an adapter of `run` is beside, out of the store below `base`.
pub(super) fn beside(base: &Path, run: RunId, model: &ModelConfig, adapter: &Adapter) -> Result<Vec<f32>, CliError> {
	let refused = |error: &dyn std::fmt::Display| CliError::Invalid(format!("the model that the adapter of run {run} is beside: {error}"));
	let layout = ParamLayout::new(model).map_err(|error| refused(&error))?;
	let blob = read_blob(&base.join("store"), H256(adapter.base)).map_err(|error| {
		refused(&format!(
			"{error}: `--base FOLDER` names a folder that `model import` filled with it, and `neuroshard-worker run` fetches it again"
		))
	})?;
	tiles::decode(&layout, &blob).map_err(|error| refused(&error))
}

/// The tokenizer of `run`, as it lies beside the newest checkpoint.
pub(super) fn tokenizer(base: &Path, run: RunId) -> Result<Tokenizer, CliError> {
	read_tokenizer(&checkpoint_folder(base, run))?.ok_or_else(|| {
		CliError::Unknown(format!(
			"tokenizer of run {run} in {}: `neuroshard-worker run` fetches it from those who hold the run's dataset",
			base.display()
		))
	})
}

/// The run and the round of the newest checkpoint with this root, which was just read for `which`; `None` for a folder.
pub(super) fn served(base: &Path, which: Which, root: H256) -> Option<Served> {
	let run = which.run.or_else(|| newest_run(base)).filter(|_| which.folder.is_none())?;
	let folder = checkpoint_folder(base, run);
	let newest = move || Checkpoint::header(&folder).ok().flatten();
	let round = newest().filter(|header| header.root() == root)?.round;
	Some(Served::new(run, round, move || newest().map(|header| header.round)))
}

/// Root of the newest checkpoint in the base folder; `None` for a folder, or without one.
pub(super) fn newest(base: &Path, which: Which) -> Option<H256> {
	let run = which.run.or_else(|| newest_run(base)).filter(|_| which.folder.is_none())?;
	Some(Checkpoint::header(&checkpoint_folder(base, run)).ok().flatten()?.root())
}

/// `run`, or the newest run that there is, and its model.
fn shape(base: &Path, run: Option<RunId>) -> Result<(RunId, ModelConfig), CliError> {
	let run = run.or_else(|| newest_run(base)).ok_or_else(|| missing(base, None))?;
	let model = read_model(&checkpoint_folder(base, run))?.ok_or_else(|| missing(base, Some(run)))?;
	Ok((run, model))
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
	use neuroshard_compute::exec::Backend;
	use neuroshard_graph::sampler::Sampling;
	use neuroshard_inference::{
		batcher::{Batcher, Job, Limits, Reply},
		generate::generate,
	};
	use neuroshard_kernels::shape::AttentionDims;
	use neuroshard_training::presets;

	#[test]
	fn without_a_checkpoint_the_error_says_where_one_comes_from() {
		let base = tempfile::tempdir().unwrap();
		for run in [None, Some(3)] {
			let error = find(base.path(), run, 1).map(drop).unwrap_err();
			assert!(error.to_string().contains("neuroshard-worker run"), "{error}");
		}
	}

	#[test]
	fn a_device_writes_the_text_of_the_cpu_takes_no_adapters_and_is_replaced_if_it_is_not_there() {
		let base = tempfile::tempdir().unwrap();
		let (model, train) = presets::tiny();
		let params = Checkpoint::genesis(3, &model, &train, 1).unwrap().params;
		neuroshard_training::export::export(base.path(), &model, &Tokenizer::bytes(), &params).unwrap();
		let which = Which { folder: Some(base.path()), ..Which::default() };
		let write = |computes: &Computes, class| {
			let (mut model, _) = with_adapter(base.path(), which, None, class, computes).unwrap();
			let sampling = Sampling { temperature: 3.0, ..Sampling::default() };
			generate(&mut model, None, "The device and the CPU ", 60, &sampling).unwrap()
		};
		let [cpu, device, absent] = [Device::Cpu, Device::OpenCl(0), Device::OpenCl(99)].map(|device| Computes::new(device, 1).unwrap());
		assert_eq!([&cpu, &device, &absent].map(|computes| computes.device().is_some()), [false, true, false]);
		for class in [Class::ExactF32, Class::ExactInt8] {
			let text = write(&cpu, class);
			assert!(!text.is_empty());
			assert_eq!((write(&device, class), write(&absent, class)), (text.clone(), text));
		}
		let adapter = NamedAdapter { name: "a".into(), folder: base.path().into() };
		let refused = with_adapters(base.path(), which, &[adapter], Class::ExactF32, &device).err().unwrap().to_string();
		assert!(refused.contains("leave --device or the adapter out"), "{refused}");
	}

	#[test]
	fn where_a_device_is_lost_while_it_answers_the_cpu_goes_on_with_the_same_text() {
		let base = tempfile::tempdir().unwrap();
		let (model, train) = presets::tiny();
		let params = Checkpoint::genesis(3, &model, &train, 1).unwrap().params;
		neuroshard_training::export::export(base.path(), &model, &Tokenizer::bytes(), &params).unwrap();
		let which = Which { folder: Some(base.path()), ..Which::default() };
		let start = |computes: &Computes| {
			let (model, _) = with_adapter(base.path(), which, None, Class::ExactInt8, computes).unwrap();
			let limits = Limits { active: 2, waiting: 8, memory: 64 << 20, lookup: false };
			Batcher::start(model.engine, 256, |_| false, limits).unwrap().0
		};
		let ask = |batcher: &Batcher, first: u32| {
			let (reply, replies) = tokio::sync::mpsc::channel(64);
			let sampling = Sampling { temperature: 3.0, ..Sampling::default() };
			let prompt = (0..20).map(|place| (first + place) % 256).collect();
			let job = Job { prompt, adapter: None, sampling, most: 40, top: 0, log: false, echo: false, endless: true, reply };
			batcher.submit(vec![job]).unwrap();
			replies
		};
		let all = |mut replies: tokio::sync::mpsc::Receiver<Reply>| std::iter::from_fn(|| replies.blocking_recv()).collect::<Vec<_>>();
		let [cpu, device] = [Device::Cpu, Device::OpenCl(0)].map(|device| Computes::new(device, 1).unwrap());
		let expected = [5, 9].map(|first| all(ask(&start(&cpu), first)));
		assert_eq!(expected[0].len(), 41);
		let batcher = start(&device);
		let mut replies = ask(&batcher, 5);
		let mut found = vec![replies.blocking_recv().unwrap()];
		let lost = device.device().unwrap();
		let mut arena = lost.arena(16).unwrap();
		// Probabilities of a sequence that no buffer holds.
		let dims = AttentionDims { batch: 1, seq: 1 << 20, heads: 1, kv_heads: 1, head_dim: 2 };
		lost.attention_backward(&mut arena, dims, [0..2, 2..4, 4..6, 6..8, 8..10], [10..12, 12..14, 14..16]);
		assert!(device.device().is_none());
		found.extend(all(replies));
		assert_eq!([found, all(ask(&batcher, 9))], expected);
	}

	#[test]
	fn the_checkpoint_that_is_served_is_told_and_a_newer_one_when_it_comes() {
		let base = tempfile::tempdir().unwrap();
		let folder = checkpoint_folder(base.path(), 3);
		std::fs::create_dir_all(&folder).unwrap();
		let (model, train) = presets::tiny();
		let (mut checkpoint, layout) = (Checkpoint::genesis(3, &model, &train, 1).unwrap(), ParamLayout::new(&model).unwrap());
		checkpoint.save(&folder, &layout).unwrap();
		let root = checkpoint.header.root();
		let told = served(base.path(), Which::default(), root).unwrap();
		let newer = |told: &Served| told.json()["newer_round"].clone();
		assert!(newer(&told).is_null());
		checkpoint.header.round = 1;
		checkpoint.save(&folder, &layout).unwrap();
		assert_eq!(newer(&told), 1);
		assert!(served(base.path(), Which { folder: Some(&folder), ..Which::default() }, root).is_none());
	}

	#[test]
	fn more_text_than_the_model_can_read_is_refused() {
		assert_eq!([64, 100, 1_024].map(|context| longest(context, 1_024).unwrap()), [64, 96, 1_024]);
		let error = longest(100_000, 1_024).unwrap_err().to_string();
		assert!(error.contains("--context 100000") && error.contains("1024 at most"), "{error}");
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
