//! What a network trains: a dataset made of text that is at hand, and a run.

use crate::{until, Ended, Error, Layout, Network, Preset, SLOT};
use neuroshard_chain_client::{dataset, training, Call, Submitter};
use neuroshard_data::{
	build::build,
	corpus::{path_corpus, registry_corpus, Corpus, CorpusLimits},
	dataset::TOKENIZER_FILE,
	loader::Loader,
	manifest::DatasetManifest,
	tokenizer::{train, Tokenizer},
	DataError,
};
use neuroshard_graph::ParamLayout;
use neuroshard_inference::import;
use neuroshard_support::{hardware, memory::available_memory};
use neuroshard_training::{
	checkpoint::{Checkpoint, Header},
	engine::Engine,
	export::export,
	files::{steps_bytes, FileEngine, FiledCheckpoint},
	round::validation_loss,
};
use neuroshard_types::{
	assignment::training_windows,
	run::{PhaseDurations, RunConfig, RunStart, RunStatus},
	Adapter, Aggregator, BlockNumber, Code, Compressed, DatasetId, ModelConfig, Projections, Robust, RoundIndex, Rule, RunId, TopK,
	TrainConfig, F32, H256, NEURO,
};
use std::{
	ops::RangeInclusive,
	path::{Path, PathBuf},
	time::Duration,
};

/// Longest wait for the end of a run that was stopped.
const STOP_LIMIT: Duration = Duration::from_secs(120);
/// Longest wait in seconds for everybody who is to take part, in a network with cheaters.
const PATIENT_JOINING: BlockNumber = 120;
/// Smallest bond of a participant.
const LEAST_BOND: u128 = 100 * NEURO;

/// Where text comes from.
#[derive(Clone, Debug)]
pub enum Text {
	/// Sources and READMEs of the crates that cargo has fetched to build this program.
	Registry,
	/// A text file, or a folder of text.
	Path(PathBuf),
}

/// What text becomes tokens by.
#[derive(Clone, Copy, Debug)]
pub enum Tokens {
	/// Each byte is one.
	Bytes,
	/// A tokenizer that is trained on the text, with so many tokens.
	Trained(u32),
}

/// A dataset and a run before anything is registered: it needs no network.
#[derive(Clone, Debug)]
pub struct Prepared {
	folder: PathBuf,
	manifest: neuroshard_types::dataset::Manifest,
	preset: Preset,
	model: ModelConfig,
	train: TrainConfig,
	/// How many times as long as in the preset phases may be.
	patience: BlockNumber,
	overlaps: bool,
	participants: RangeInclusive<u32>,
	genesis_root: H256,
	start: RunStart,
	/// Folder of a checkpoint that a worker must offer.
	offered: Option<PathBuf>,
	first_loss: f32,
	unigram_entropy: f64,
}

impl Prepared {
	/// Builds a dataset of `text` in the network's folder, and measures what a run begins with whose rounds have so many `participants`.
	///
	/// # Errors
	/// [`Error::Data`] if the text cannot be read or is too small, [`Error::TooLittleText`] if it is too small for so many.
	pub async fn new(layout: &Layout, preset: Preset, text: Text, participants: RangeInclusive<u32>) -> Result<Self, Error> {
		Self::with_tokens(layout, preset, (text, Tokens::Bytes), participants).await
	}

	/// As [`Self::new`], with tokens of some kind.
	///
	/// # Errors
	/// As [`Self::new`].
	pub async fn with_tokens(
		layout: &Layout,
		preset: Preset,
		(text, tokens): (Text, Tokens),
		participants: RangeInclusive<u32>,
	) -> Result<Self, Error> {
		let folder = layout.folder().join("dataset");
		let work = move || measured(preset, preset.configs(), dataset_of(preset, (&text, tokens), folder)?, participants, None);
		tokio::task::spawn_blocking(work).await.map_err(|error| Error::Setup(error.to_string()))?
	}

	/// As [`Self::new`], of another model than the preset's, which is trained like this and may be larger than memory.
	///
	/// # Errors
	/// As [`Self::new`].
	pub async fn of_model(
		layout: &Layout,
		preset: Preset,
		text: Text,
		configs: (ModelConfig, TrainConfig),
		participants: RangeInclusive<u32>,
	) -> Result<Self, Error> {
		let (folder, scratch) = (layout.folder().join("dataset"), layout.folder().join("first"));
		let work = move || {
			let dataset = dataset_of(preset, (&text, Tokens::Bytes), folder)?;
			let prepared = measured(preset, configs, dataset, participants, Some(&scratch))?;
			std::fs::remove_dir_all(&scratch).map_err(Error::file(&scratch))?;
			Ok(prepared)
		};
		tokio::task::spawn_blocking(work).await.map_err(|error| Error::Setup(error.to_string()))?
	}

	/// Of the dataset in `folder`, which a run of the preset's model is to be trained on as `train` says.
	///
	/// # Errors
	/// [`Error::Data`] if there is none, [`Error::TooLittleText`] if it is too small for so many participants.
	pub async fn of_dataset(folder: PathBuf, preset: Preset, train: TrainConfig, participants: RangeInclusive<u32>) -> Result<Self, Error> {
		let configs = (preset.configs().0, train);
		let work = move || measured(preset, configs, (folder.clone(), DatasetManifest::read(&folder)?), participants, None);
		tokio::task::spawn_blocking(work).await.map_err(|error| Error::Setup(error.to_string()))?
	}

	/// Writes a model of the run's shape, with its tokenizer and other random numbers than those of its seed, into `folder`, as other programs have models.
	///
	/// # Errors
	/// [`Error::Setup`].
	pub fn write_model(&self, folder: &Path) -> Result<(), Error> {
		let failed = |error: String| Error::Setup(format!("a model to start from: {error}"));
		let other = TrainConfig { seed: [9; 32], ..self.train.clone() };
		let params = Checkpoint::genesis(0, &self.model, &other, 1)?.params;
		let path = self.folder.join(TOKENIZER_FILE);
		let file = std::fs::read(&path).map_err(Error::file(&path))?;
		let tokenizer = Tokenizer::stated(file, self.manifest.tokenizer.tokens).map_err(|error| failed(error.to_string()))?;
		export(folder, &self.model, &tokenizer, &params).map_err(|error| failed(error.to_string()))
	}

	/// Has the run start from the model in `folder`, by a checkpoint that is written into `out`, and measures what it begins with then.
	///
	/// # Errors
	/// [`Error::Setup`] if there is no such model.
	pub async fn starting_from(mut self, folder: &Path, out: &Path) -> Result<Self, Error> {
		let (folder, out) = (folder.to_path_buf(), out.to_path_buf());
		let work = move || {
			let threads = hardware::threads(None);
			let imported = import(&folder, &out, threads).map_err(|error| Error::Setup(error.to_string()))?;
			let other = || Error::Setup(format!("{} has another model than the run", folder.display()));
			let layout = ParamLayout::new(&imported.model).map_err(|error| Error::Setup(error.to_string()))?;
			let checkpoint = Checkpoint::load(&out, &layout, threads)?.filter(|_| imported.model == self.model).ok_or_else(other)?;
			let mut engine = Engine::new(&self.model, &self.train, threads)?;
			let loader = Loader::new(&self.folder, self.manifest.shape, self.manifest.width())?;
			self.first_loss = validation_loss(&mut engine, &checkpoint.params, &loader)?.get();
			let Header { params, momentum, .. } = checkpoint.header;
			(self.start, self.genesis_root) = (RunStart::Given { params, momentum, of: None }, checkpoint.header.root());
			Ok(self)
		};
		tokio::task::spawn_blocking(work).await.map_err(|error| Error::Setup(error.to_string()))?
	}

	/// Has the run train an adapter of this rank on all projections beside the model in `folder`, by a checkpoint that is written into `out`, and measures what it
	/// begins with then.
	///
	/// # Errors
	/// [`Error::Setup`] if there is no such model.
	pub async fn beside(self, folder: &Path, out: &Path, rank: u32) -> Result<Self, Error> {
		let mut prepared = self.starting_from(folder, out).await?;
		let threads = hardware::threads(None);
		let layout = ParamLayout::new(&prepared.model).map_err(|error| Error::Setup(error.to_string()))?;
		let base = Checkpoint::load(out, &layout, threads)?.ok_or_else(|| Error::Setup("no checkpoint was imported".into()))?;
		let (alpha, projections) = (F32::new(16.0), Projections::ALL);
		prepared.train.adapter = Some(Adapter { base: base.header.params.0, rank, alpha, projections });
		let work = move || {
			let genesis = Checkpoint::genesis(0, &prepared.model, &prepared.train, threads)?;
			let mut engine = Engine::new(&prepared.model, &prepared.train, threads)?;
			engine.load_model(&base.params)?;
			let loader = Loader::new(&prepared.folder, prepared.manifest.shape, prepared.manifest.width())?;
			prepared.first_loss = validation_loss(&mut engine, &genesis.params, &loader)?.get();
			(prepared.start, prepared.genesis_root) = (RunStart::Seed, genesis.header.root());
			Ok(prepared)
		};
		let prepared = tokio::task::spawn_blocking(work).await.map_err(|error| Error::Setup(error.to_string()))?;
		prepared.map(|prepared| Self { offered: Some(out.to_path_buf()), ..prepared })
	}

	/// Folder of a checkpoint that a worker must offer.
	pub(crate) fn offered(&self) -> Option<PathBuf> {
		self.offered.clone()
	}

	/// Has rounds take so many inner steps.
	pub fn with_inner_steps(mut self, steps: u32) -> Self {
		self.train.inner_steps = steps;
		self
	}

	/// Has everybody take as many inner steps as its machine does in time, up to those of a round, and deltas weigh by them.
	pub fn with_steps_by_speed(mut self, least_steps: u32) -> Self {
		self.train.aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps } });
		self
	}

	/// Has the inner steps of a round begin while the round before is exchanged.
	pub fn with_overlap(mut self) -> Self {
		// What a round learns is corrected one round later: a whole step would swing.
		(self.train.outer_lr, self.train.outer_beta) = (F32::new(0.5), F32::new(0.0));
		Self { overlaps: true, ..self }
	}

	/// Has phases last so many times as long, for those who come late: far from their node, or started again.
	pub fn with_patience(self, patience: BlockNumber) -> Self {
		Self { patience, ..self }
	}

	/// Has deltas sent as codes that leave residuals, and the outer step take the mean of those shortened deltas that Multi-Krum puts first, and momentum.
	pub fn with_codes_robust_rule_and_momentum(mut self) -> Self {
		let robust = Robust { clip: F32::new(2.0), rule: Rule::MultiKrum { liars: 1 } };
		let code = Code::TopK(TopK { numbers: 32, decay: F32::new(0.9), cosine: true });
		self.train.aggregator = Aggregator::Compressed(Compressed { code, robust });
		(self.train.outer_lr, self.train.outer_beta) = (F32::new(0.7), F32::new(0.9));
		self
	}
}

/// A registered run.
#[derive(Clone, Debug)]
pub struct Training {
	/// Its number.
	pub run: RunId,
	/// Folder of its dataset.
	pub dataset: PathBuf,
	/// Model.
	pub model: ModelConfig,
	/// How it is trained.
	pub train: TrainConfig,
	/// Held-out loss of the first checkpoint, nats per token.
	pub first_loss: f32,
	/// Entropy of the held-out text's token frequencies, nats per token.
	pub unigram_entropy: f64,
	/// Folder of a checkpoint with the model that an adapter is trained beside.
	pub base: Option<PathBuf>,
}

impl Training {
	/// Registers the dataset, creates a run of `rounds` rounds, and approves it.
	///
	/// # Errors
	/// [`Error::Chain`] if the chain refuses something.
	pub async fn sponsor(network: &Network, prepared: Prepared, rounds: Option<RoundIndex>) -> Result<Self, Error> {
		let Prepared {
			folder,
			manifest,
			preset,
			model,
			train,
			patience,
			overlaps,
			participants,
			genesis_root,
			start,
			offered: base,
			first_loss,
			unigram_entropy,
		} = prepared;
		let (sponsor, tokenizer) = (network.sponsor(), manifest.tokenizer);
		let proposed = sponsor.submit(dataset::propose(manifest)).await?;
		let id: DatasetId = proposed.first_field("Dataset", "Proposed").ok_or_else(|| missing("dataset"))?;
		let durations = match network.rules().patient {
			true => patient(preset.durations()),
			false => preset.durations(),
		};
		let durations = in_blocks(durations, SLOT.checked_div(patience).unwrap_or(SLOT));
		let name = b"local network".to_vec().try_into().map_err(|_| missing("name"))?;
		let config = RunConfig {
			name,
			dataset: id,
			tokenizer,
			model: model.clone(),
			train: train.clone(),
			genesis_root,
			start,
			min_participants: *participants.start(),
			max_participants: *participants.end(),
			min_bond: LEAST_BOND,
			rounds,
			durations,
			overlaps,
			epochs: true,
		};
		let run = create(sponsor, vec![dataset::activate(id), training::create_run(config)]).await?;
		Ok(Self { run, dataset: folder, model, train, first_loss, unigram_entropy, base })
	}

	/// Creates another run with the configuration of this one, and approves it: they can be cohorts of one family.
	///
	/// # Errors
	/// [`Error::Chain`] if the chain refuses it.
	pub async fn another(&self, network: &Network) -> Result<Self, Error> {
		let view = network.client().now().await?.run(self.run).await?;
		let config = view.ok_or_else(|| Error::Setup(format!("the chain has no run {}", self.run)))?.config;
		let run = create(network.sponsor(), vec![training::create_run(config)]).await?;
		Ok(Self { run, ..self.clone() })
	}

	/// Stops the run, and waits until that is finalized: the first block that has it may be on a branch that is given up.
	///
	/// # Errors
	/// [`Error::Chain`] if the chain refuses it, [`Error::Late`] if no finalized block has it.
	pub async fn stop(&self, network: &Network) -> Result<(), Error> {
		network.sponsor().submit(training::stop_run(self.run)).await?;
		self.stopped(network).await
	}

	/// Has all rounds computed again by what worker number `worker` has in its folder. All workers are stopped for it.
	///
	/// # Errors
	/// [`Error::Unsound`] with what is said if that does not end, bit for bit, with the checkpoint `root`; [`Error::Command`] if it cannot be done.
	pub async fn replayed(&self, network: &mut Network, worker: usize, root: H256) -> Result<(), Error> {
		network.stop_workers().await;
		let (run, dataset) = (self.run.to_string(), self.dataset.display().to_string());
		let worker = network.workers.get(worker).ok_or_else(|| Error::Setup(format!("there is no worker {worker}")))?;
		let said = Ended::output_of(worker.command(["replay", "--run", &run, "--dataset", &dataset])).await?;
		match said.contains("bit for bit") && said.contains(&format!("{root:?}")) {
			true => Ok(()),
			false => Err(Error::Unsound(format!("a replay of run {run} does not end with checkpoint {root:?}: {said}"))),
		}
	}

	/// Waits until a finalized block says that the run is over.
	///
	/// # Errors
	/// [`Error::Late`] if none does.
	pub async fn stopped(&self, network: &Network) -> Result<(), Error> {
		let client = network.client();
		until("the end of the run in a finalized block", STOP_LIMIT, async || {
			let run = client.at(client.heads().await?.finalized).await?.run(self.run).await?;
			Ok(run.is_some_and(|run| run.status == RunStatus::Finished).then_some(()))
		})
		.await
	}
}

/// Makes `calls`, one of which creates a run, and approves that.
async fn create(sponsor: &Submitter, calls: Vec<Call>) -> Result<RunId, Error> {
	let created = sponsor.submit(Call::all(calls)).await?;
	let run = created.first_field("Training", "RunCreated").ok_or_else(|| missing("run"))?;
	sponsor.submit(Call::sudo(training::approve_run(run))).await?;
	Ok(run)
}

/// Longest phases where a machine checks all work beside doing it, and where the first round must not begin without those who cheat in an
/// early one.
fn patient(durations: PhaseDurations) -> PhaseDurations {
	let PhaseDurations { training, checkpointing, .. } = durations;
	let (training, checkpointing) = (training.saturating_mul(4), checkpointing.saturating_mul(4));
	PhaseDurations { joining: PATIENT_JOINING, training, checkpointing, ..durations }
}

/// Durations in blocks of `slot`, of those in seconds.
fn in_blocks(durations: PhaseDurations, slot: Duration) -> PhaseDurations {
	let slots = |seconds: BlockNumber| Duration::from_secs(seconds.into()).as_millis().checked_div(slot.as_millis()).unwrap_or_default();
	let blocks = |seconds| BlockNumber::try_from(slots(seconds)).unwrap_or(BlockNumber::MAX).max(1);
	let PhaseDurations { joining, training, revealing, availability, checkpointing } = durations;
	PhaseDurations {
		joining: blocks(joining),
		training: blocks(training),
		revealing: blocks(revealing),
		availability: blocks(availability),
		checkpointing: blocks(checkpointing),
	}
}

fn missing(what: &str) -> Error {
	Error::Setup(format!("the chain did not tell the new {what}'s identifier"))
}

/// A dataset of `text`, in `folder`.
fn dataset_of(preset: Preset, (text, tokens): (&Text, Tokens), folder: PathBuf) -> Result<(PathBuf, DatasetManifest), Error> {
	let mut limits = preset.limits();
	if let Tokens::Trained(_) = tokens {
		// A token is several bytes, and a round takes as many of them.
		limits.total_bytes = limits.total_bytes.saturating_mul(4);
	}
	let corpus = match text {
		Text::Registry => registry_corpus(&cargo_home()?, limits),
		Text::Path(path) => path_corpus(path, limits)?,
	};
	let tokenizer = match tokens {
		Tokens::Bytes => Tokenizer::bytes(),
		Tokens::Trained(vocab) => trained(&corpus, vocab, &folder.with_extension("tokenizer.json"))?,
	};
	let built = build(&corpus, &tokenizer, &preset.shards(), &folder)?.dataset;
	Ok((folder, built.manifest))
}

/// What a run begins with that trains a model on a dataset. With a folder for what is in files meanwhile, no more than half of the free memory is taken.
fn measured(
	preset: Preset,
	(model, train): (ModelConfig, TrainConfig),
	(folder, manifest): (PathBuf, DatasetManifest),
	participants: RangeInclusive<u32>,
	scratch: Option<&Path>,
) -> Result<Prepared, Error> {
	let model = ModelConfig { vocab: manifest.vocab, ..model };
	let train = TrainConfig { masked: manifest.masked, ..train };
	let windows = training_windows(&manifest.shape, train.seq_len);
	let needed = u64::from(*participants.end()).saturating_mul(u64::from(train.inner_steps)).saturating_mul(u64::from(train.batch));
	if windows < needed {
		return Err(Error::TooLittleText { windows, needed });
	}
	let threads = hardware::threads(None);
	let loader = Loader::new(&folder, manifest.shape, manifest.width())?;
	let (genesis, first_loss) = match scratch {
		None => {
			let mut engine = Engine::new(&model, &train, threads)?;
			let genesis = Checkpoint::genesis(0, &model, &train, threads)?;
			let loss = validation_loss(&mut engine, &genesis.params, &loader)?.get();
			(genesis.header, loss)
		}
		Some(scratch) => in_files((&model, &train), threads, &loader, scratch)?,
	};
	Ok(Prepared {
		manifest: manifest.on_chain()?,
		preset,
		model,
		patience: 1,
		overlaps: false,
		participants,
		genesis_root: genesis.root(),
		start: RunStart::Seed,
		offered: None,
		first_loss,
		train,
		unigram_entropy: manifest.unigram_entropy,
		folder,
	})
}

/// The first checkpoint of a run and its held-out loss, computed in half of the free memory and in files in `scratch`.
fn in_files((model, train): (&ModelConfig, &TrainConfig), threads: usize, loader: &Loader, scratch: &Path) -> Result<(Header, f32), Error> {
	let failed = |error: &dyn std::fmt::Display| Error::Setup(error.to_string());
	let genesis = FiledCheckpoint::genesis(&scratch.join("checkpoint"), 0, model, train, threads).map_err(|error| failed(&error))?;
	let memory = steps_bytes(available_memory().unwrap_or(1 << 32) / 2, 0);
	let mut engine = FileEngine::new(model, train, threads, memory, &scratch.join("engine")).map_err(|error| failed(&error))?;
	let windows = loader.validation_windows(train.validation_sequences, train.seq_len)?;
	let read = |sequence: u32, tokens: &mut [u32]| {
		let window = usize::try_from(sequence).ok().and_then(|sequence| windows.get(sequence).copied());
		loader.read(window.ok_or_else(|| DataError::Invalid(format!("there is no held-out sequence {sequence}")))?, tokens)
	};
	let loss = engine.validation_loss(&genesis.params, read).map_err(|error| failed(&error))?;
	Ok((genesis.header, loss))
}

/// A tokenizer of the text, in a file at `path`.
fn trained(corpus: &Corpus, vocab: u32, path: &Path) -> Result<Tokenizer, Error> {
	let failed = |source| Error::from(DataError::Tokenizer { path: path.to_path_buf(), source });
	let (documents, _) = corpus.texts()?;
	let file = train::train(documents.iter().map(String::as_str), vocab).map_err(failed)?;
	std::fs::write(path, file).map_err(|source| Error::from(DataError::io(path, source)))?;
	Tokenizer::open(path, None, false).map_err(failed)
}

/// Texts of the crates that cargo has fetched to build this program, of so many bytes together.
///
/// # Errors
/// [`Error::Data`] if they cannot be read.
pub fn registry_texts(total_bytes: u64) -> Result<Vec<String>, Error> {
	let (texts, _) = registry_corpus(&cargo_home()?, CorpusLimits { total_bytes, ..CorpusLimits::default() }).texts()?;
	Ok(texts.into_iter().collect())
}

fn cargo_home() -> Result<PathBuf, Error> {
	let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
	named("CARGO_HOME")
		.or_else(|| named("HOME").map(|home| home.join(".cargo")))
		.ok_or_else(|| Error::Setup("there is no cargo registry on this machine: name text with --corpus PATH".into()))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn phases_take_the_same_time_whatever_a_block_takes() {
		let seconds = PhaseDurations { joining: 4, training: 30, revealing: 30, availability: 24, checkpointing: 2 };
		assert_eq!(in_blocks(seconds, Duration::from_secs(1)), seconds);
		let blocks = PhaseDurations { joining: 1, training: 10, revealing: 10, availability: 8, checkpointing: 1 };
		assert_eq!(in_blocks(seconds, Duration::from_secs(3)), blocks);
	}
}
