//! `train plan`: what a run comes to, before it is created.

use super::{dataset_chain, disk, parse, run_check, run_file::Preset, until::BlockClock, CliError, Common, RunFile};
use crate::bench::steps_within;
use clap::Args;
use neuroshard_chain_client::{training, ChainClient, Neuro};
use neuroshard_graph::{ConfigError, ParamLayout};
use neuroshard_roles::Needs;
use neuroshard_support::{counted::counted, hardware, memory::available_memory};
use neuroshard_training::{
	engine::Engine,
	need::{longest_round, DiskNeed, RoundLeaves},
	slowest::{longest_check, too_short},
};
use neuroshard_types::{
	audit::AuditTerms,
	dataset::{DatasetShape, Manifest, Tokenizer, BYTE_VOCAB},
	dispute::Terms,
	run::{RunConfig, RunStart},
	Balance, DatasetId, ModelConfig, TrainConfig, H256,
};
use std::{
	path::{Path, PathBuf},
	time::Duration,
};

/// Time for which steps are measured.
const MEASURED: Duration = Duration::from_secs(3);
/// Bits of a Mbit.
const MEGA: f64 = 1e6;
/// Takes the place of a start: computing what the seed gives takes as much memory as the model, and nothing that is said here depends on it.
const ANY_START: RunStart = RunStart::Given { params: H256::zero(), momentum: H256::zero(), of: None };

#[derive(Debug, Args)]
pub(super) struct Plan {
	/// Run file.
	#[arg(long, value_name = "FILE", conflicts_with = "preset")]
	file: Option<PathBuf>,
	/// Configuration, if there is no run file.
	#[arg(long, value_enum, default_value = "devnet")]
	preset: Preset,
	/// Dataset on chain. With it, the node is asked whether the chain takes the run, and what it holds and takes for it; without it, nobody is asked.
	#[arg(long, value_name = "ID")]
	dataset: Option<DatasetId>,
	/// Disk in GiB that each worker has for it: what the run takes is compared with that. The chain says how many rounds are kept.
	#[arg(long, requires = "dataset", value_name = "GIB", default_value = parse::MAX_DISK, value_parser = parse::gib)]
	max_disk: u64,
	/// Tokens a second that a worker trains on; without it, this machine is measured for some seconds.
	#[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
	speed: Option<u32>,
	/// Threads to measure with.
	#[arg(long, value_parser = parse::threads, conflicts_with = "speed")]
	threads: Option<usize>,
	/// Mbit/s of a worker's line, each way.
	#[arg(long, value_name = "MBIT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
	line: u32,
}

/// What the chain says of a run.
struct OnChain {
	manifest: Manifest,
	disputes: Terms,
	audits: AuditTerms,
	blocks: BlockClock,
	deposit: Balance,
	fee: Balance,
}

impl OnChain {
	/// Asks the node.
	async fn ask(dataset: DatasetId, file: &RunFile, common: &Common) -> Result<Self, CliError> {
		let client = ChainClient::connect_all(&common.node).await?;
		let at = client.now().await?;
		let manifest = dataset_chain::usable(dataset, at.dataset(dataset).await?)?.manifest;
		run_check::fits(file, &manifest, at.longest_phase()?)?;
		let config = file.config(dataset, &manifest, ANY_START, 1)?;
		let deposit = at.run_deposit(config.rounds)?;
		// A fee counts bytes: most runs start from their seed.
		let create = training::create_run(RunConfig { start: RunStart::Seed, ..config });
		Ok(Self {
			disputes: at.dispute_terms().await?,
			audits: at.audit_terms().await?,
			blocks: BlockClock::new(&client, &at).await,
			fee: at.fee(&create).await?,
			manifest,
			deposit,
		})
	}
}

/// A dataset that nothing is known of but that its tokens are those of the model.
fn any_dataset(file: &RunFile) -> Manifest {
	Manifest {
		name: Default::default(),
		licence: Default::default(),
		source: Default::default(),
		tokenizer: Tokenizer::BYTES,
		vocab: file.model.vocab.unwrap_or(BYTE_VOCAB),
		masked: false,
		shape: DatasetShape { tokens_per_shard: 0, shard_count: 0, held_out: 0 },
		root: H256::zero(),
		bytes: 0,
	}
}

/// The run file that is named, or that of the preset. An adapter that is beside no model is beside any: that changes nothing that is said here.
fn read(file: Option<&Path>, preset: Preset) -> Result<RunFile, CliError> {
	let mut file = file.map_or_else(|| Ok(RunFile::of(preset)), RunFile::read)?;
	file.check()?;
	if let Some(adapter) = &mut file.train.adapter {
		adapter.base = adapter.base.or(Some(H256::zero()));
	}
	Ok(file)
}

/// Model and training of the run file that is named, or of the preset, whatever they are for.
pub(super) fn configs(file: Option<&Path>, preset: Preset) -> Result<(ModelConfig, TrainConfig), CliError> {
	let file = read(file, preset)?;
	let config = file.config(DatasetId::default(), &any_dataset(&file), ANY_START, 1)?;
	Ok((config.model, config.train))
}

impl Plan {
	pub(super) async fn run(self, common: &Common) -> Result<(), CliError> {
		let file = read(self.file.as_deref(), self.preset)?;
		let chain = match self.dataset {
			Some(dataset) => Some(OnChain::ask(dataset, &file, common).await?),
			None => None,
		};
		let manifest = chain.as_ref().map_or_else(|| any_dataset(&file), |chain| chain.manifest.clone());
		let config = file.config(self.dataset.unwrap_or_default(), &manifest, ANY_START, 1)?;
		let refused = |error: ConfigError| CliError::Invalid(format!("the run file's model or train is refused: {error}"));
		println!("{}", size(&config));
		println!("{}", memory(&config, available_memory()).map_err(refused)?);
		let traffic = Traffic::of(&config).map_err(refused)?;
		println!("{}", self.disk(&config, chain.as_ref()).map_err(refused)?);
		println!("{}", traffic.words(&config, self.line));
		let blocks = chain.as_ref().map(|chain| chain.blocks);
		match self.steps_a_second(&config) {
			Ok(steps) => println!("{}", time(&config, steps, traffic.seconds(self.line), blocks)),
			Err(reason) => println!("time: this machine cannot be measured: {reason}; --speed TOKENS says how fast workers are"),
		}
		println!("{}\n{}", liars(&file), checks(&file));
		match chain {
			Some(chain) => {
				for time in too_short(&config.durations, &config.train, &chain.audits, &chain.disputes) {
					tracing::warn!("{time}");
				}
				println!("{}", price(chain.deposit, chain.fee));
			}
			None => println!("deposit: --dataset ID has the chain asked for it, and whether it takes the run"),
		}
		Ok(())
	}

	/// Inner steps a second of a worker, or why nothing is known of it.
	fn steps_a_second(&self, config: &RunConfig) -> Result<f64, String> {
		let (model, train) = (&config.model, &config.train);
		if let Some(speed) = self.speed {
			return Ok(f64::from(speed) / train.tokens_per_step().max(1) as f64);
		}
		let needs = Needs::of(config).map_err(|error| error.to_string())?;
		let memory = needs.participant(available_memory()).map_err(|error| error.to_string())?;
		let engine = Engine::with_memory(model, train, hardware::threads(self.threads), memory).map_err(|error| error.to_string())?;
		eprintln!("measuring training steps on this machine; --speed TOKENS says how fast workers are, and skips that");
		steps_within(engine, MEASURED).map_err(|error| error.to_string())
	}

	fn disk(&self, config: &RunConfig, chain: Option<&OnChain>) -> Result<String, ConfigError> {
		let members = config.max_participants;
		let Some(chain) = chain else {
			let round = RoundLeaves::of(&config.model, &config.train)?.bytes(members.into());
			let base = config.train.adapter.map_or(Ok(0), |_| ParamLayout::new(&config.model).map(|layout| layout.encoded_len()))?;
			let base = match u64::try_from(base).unwrap_or(u64::MAX) {
				0 => String::new(),
				bytes => format!(", {} for the model that the adapter is beside", disk::size(bytes)),
			};
			return Ok(format!(
				"disk: {} for a round of {members} and its checkpoint{base}; how many rounds are kept, the chain says (--dataset ID)",
				disk::size(round)
			));
		};
		let need = DiskNeed::of(config, &chain.manifest.shape, &chain.disputes)?;
		let blocks = longest_round(&config.durations);
		let (words, _) = disk::fits(&need, blocks, self.max_disk);
		Ok(format!("disk: {}\ndisk: {words}", disk::need(&need, members, blocks)))
	}
}

/// What is trained, and how much.
pub(super) fn size(config: &RunConfig) -> String {
	let (model, train) = (&config.model, &config.train);
	let tokens = match train.weighs_steps() {
		true => format!("{} to {}", train.tokens_after(train.least_steps()), train.tokens_per_round()),
		false => train.tokens_per_round().to_string(),
	};
	let rounds = config.rounds.map_or("until it is stopped".to_owned(), |rounds| format!("for {}", counted(rounds, "round")));
	let adapter = train.adapter.map_or(String::new(), |adapter| format!("adapter: {} parameters beside ", adapter.parameters(model)));
	format!(
		"{adapter}model: {} parameters, {} rows of them for tokens; each participant trains on {tokens} tokens in a round, {rounds}",
		model.parameters(),
		model.vocab
	)
}

/// What a worker's memory must hold, beside what this machine has.
fn memory(config: &RunConfig, available: Option<u64>) -> Result<String, ConfigError> {
	let [fastest, least] = Needs::of(config)?.bounds();
	let here = available.map_or(String::new(), |bytes| format!("; this machine has {} free", disk::size(bytes)));
	Ok(format!(
		"memory: {} for each worker as it is fastest, down to {} with micro-batches and activations that are computed again{here}",
		disk::size(fastest),
		disk::size(least)
	))
}

/// Bytes that workers exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Traffic {
	/// A delta as it is sent.
	delta: u64,
	/// Deltas of the others of a full round, which a worker gets; as much leaves it in the mean.
	round: u64,
	/// Parameters and momentum of a checkpoint, which who joins gets.
	checkpoint: u64,
}

impl Traffic {
	fn of(config: &RunConfig) -> Result<Self, ConfigError> {
		let bytes = |layout: ParamLayout| u64::try_from(layout.encoded_len()).unwrap_or(u64::MAX);
		let delta = bytes(ParamLayout::of_deltas(&config.model, &config.train)?);
		let others = config.max_participants.saturating_sub(1);
		// Who joins an adapter's run gets the model as well that it is beside.
		let base = config.train.adapter.map_or(Ok(0), |_| ParamLayout::new(&config.model).map(bytes))?;
		let checkpoint = bytes(ParamLayout::trained(&config.model, &config.train)?).saturating_mul(2).saturating_add(base);
		Ok(Self { delta, round: delta.saturating_mul(others.into()), checkpoint })
	}

	/// Seconds that the deltas of a round take on a line of so many Mbit/s each way.
	fn seconds(&self, line: u32) -> f64 {
		8.0 * self.round as f64 / (f64::from(line) * MEGA)
	}

	fn words(&self, config: &RunConfig, line: u32) -> String {
		format!(
			"traffic: a delta has {} bytes; in a round of {} each worker gets {}, and sends as much in the mean: {} at {line} Mbit/s (--line). Who joins \
			 gets the checkpoint, {}, and the text of its windows",
			self.delta,
			config.max_participants,
			disk::size(self.round),
			span(self.seconds(line)),
			disk::size(self.checkpoint)
		)
	}
}

/// How long rounds take on a machine that takes so many inner steps a second, with so many seconds for the exchange.
fn time(config: &RunConfig, steps_a_second: f64, exchange: f64, blocks: Option<BlockClock>) -> String {
	let (train, longest) = (&config.train, config.durations.training);
	let tokens = steps_a_second * train.tokens_per_step() as f64;
	let about = blocks.map_or(String::new(), |blocks| blocks.about(longest));
	let allowed = blocks.and_then(|blocks| blocks.milliseconds(longest)).map(|ms| ms as f64 / 1e3);
	let training = f64::from(train.inner_steps) / steps_a_second;
	if train.weighs_steps() {
		let taken = allowed.map_or(String::new(), |seconds| {
			let steps = (steps_a_second * seconds).floor().min(f64::from(train.inner_steps));
			format!(": {steps:.0} in durations.training, {longest} blocks{about}, where at least {} count", train.least_steps())
		});
		return format!(
			"time: at {tokens:.0} tokens/s the {} inner steps of a round take {}; who has taken fewer in time ends there{taken}",
			train.inner_steps,
			span(training)
		);
	}
	let late = allowed.is_some_and(|seconds| training > seconds);
	let limit = if late { "too slow for" } else { "within" };
	let limit = allowed.map_or(String::new(), |_| format!(", {limit} durations.training, {longest} blocks{about}"));
	let round = if config.overlaps { training.max(exchange) } else { training + exchange };
	format!(
		"time: at {tokens:.0} tokens/s the {} inner steps of a round take {}{limit}; a round about {}, beside the blocks in which its phases end",
		train.inner_steps,
		span(training),
		span(round)
	)
}

/// Seconds, or minutes where these are many.
fn span(seconds: f64) -> String {
	match seconds {
		seconds if seconds < 120.0 => format!("{seconds:.1} s"),
		seconds => format!("{:.1} min", seconds / 60.0),
	}
}

fn price(deposit: Balance, fee: Balance) -> String {
	format!("deposit: {} on hold until the run is removed, and a fee of {} to create it from its seed", Neuro(deposit), Neuro(fee))
}

/// How many liars the run withstands.
pub(super) fn liars(file: &RunFile) -> String {
	let aggregator = file.train.config(false).aggregator;
	let of = |participants: u32| format!("{} of {participants}", aggregator.liars(participants));
	let (few, many) = (of(file.min_participants), of(file.max_participants));
	format!("aggregation: withstands {few} participants who hand over false deltas that audits have not found yet, and {many}")
}

/// What checking a round takes of whom it takes the most.
pub(super) fn checks(file: &RunFile) -> String {
	let blocks = longest_check(&file.durations, &file.train.config(false));
	format!("checks: the slowest machine that can take part runs a round again in {blocks} blocks; a chain's sealTime and clock should be at least as long")
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::cli::{run_file::AdapterFile, Cli};
	use clap::Parser;
	use neuroshard_compute::exec::StepMemory;
	use neuroshard_types::{Robust, Rule, F32, NEURO};

	/// 104,768 parameters: an embedding of 288 x 64; in each of 2 layers queries and their way back of 64 x 64, keys and values of 32 x 64, three
	/// matrices of 160 x 64 and two norms; one more norm.
	fn tiny() -> RunConfig {
		of(RunFile::of(Preset::Tiny))
	}

	fn of(file: RunFile) -> RunConfig {
		file.config(0, &any_dataset(&file), ANY_START, 1).unwrap()
	}

	#[test]
	fn disk_is_compared_with_what_the_chain_says_and_asked_for_with_a_dataset_alone() {
		let parse = |arguments: &[&str]| Cli::try_parse_from([&["neuroshard-worker", "train", "plan"], arguments].concat());
		assert!(parse(&["--max-disk", "9"]).unwrap_err().to_string().contains("--dataset <ID>"));
		assert!(parse(&["--max-disk", "9", "--dataset", "1"]).is_ok() && parse(&[]).is_ok() && parse(&["--dataset", "1"]).is_ok());
	}

	#[test]
	fn a_model_is_said_with_its_parameters_and_what_a_round_trains_on() {
		// 120 steps of 16 sequences of 64 tokens.
		let expected = "model: 104768 parameters, 288 rows of them for tokens; each participant trains on 122880 tokens in a round, until it is stopped";
		assert_eq!(size(&tiny()), expected);
		let words = size(&RunConfig { rounds: Some(1), ..tiny() });
		assert!(words.ends_with("for 1 round"), "{words}");
	}

	#[test]
	fn in_a_round_of_eight_a_worker_gets_seven_deltas_and_who_joins_two_vectors() {
		// Tiles of 4,096 bytes: 9 x 2 of the embedding; in a layer twice 2 x 2, twice 1 x 2, three times 5 x 2; five norms of 2. That is 112.
		let traffic = Traffic::of(&tiny()).unwrap();
		assert_eq!(traffic, Traffic { delta: 458_752, round: 3_211_264, checkpoint: 917_504 });
		// 25.690112 Mbit at 10 Mbit/s.
		assert!((traffic.seconds(10) - 2.569_011_2).abs() < 1e-9);
		let words = traffic.words(&tiny(), 10);
		assert!(
			words.contains("458752 bytes") && words.contains("round of 8 each worker gets 4 MiB") && words.contains("2.6 s at 10 Mbit/s"),
			"{words}"
		);
	}

	#[test]
	fn of_an_adapter_its_own_bytes_are_exchanged_and_who_joins_gets_the_model_once() {
		let mut file = RunFile::of(Preset::Tiny);
		let projections = [neuroshard_types::Projection::Q].into_iter().collect();
		file.train.adapter = Some(AdapterFile { base: Some(H256::zero()), rank: 8, alpha: 16.0, projections });
		let config = of(file);
		// A and B of 8 x 64 in each of 2 layers, each in 2 tiles; and the model's 112.
		let traffic = Traffic::of(&config).unwrap();
		assert_eq!(traffic, Traffic { delta: 8 * 4_096, round: 56 * 4_096, checkpoint: 16 * 4_096 + 112 * 4_096 });
		assert!(size(&config).starts_with("adapter: 2048 parameters beside model: 104768 parameters"), "{}", size(&config));
	}

	#[test]
	fn fewer_bytes_are_exchanged_where_deltas_are_codes() {
		let mut file = RunFile::of(Preset::Tiny);
		file.train.code = Some(neuroshard_types::Code::Int8);
		let traffic = Traffic::of(&of(file)).unwrap();
		assert!(traffic.delta < 458_752 / 3 && traffic.checkpoint == 917_504, "{traffic:?}");
	}

	#[test]
	fn a_round_takes_its_steps_and_the_exchange_and_is_held_against_the_longest_phase() {
		let config = tiny();
		// 120 steps, at 10 a second; 1,024 tokens each.
		let words = time(&config, 10.0, 3.0, None);
		for part in ["at 10240 tokens/s", "120 inner steps of a round take 12.0 s;", "a round about 15.0 s"] {
			assert!(words.contains(part), "{part}: {words}");
		}
		// 25 blocks of 6 s are 150 s: 120 steps at 0.8 a second fit in exactly.
		let blocks = BlockClock::of(1, Some(6_000));
		assert!(time(&config, 0.8, 3.0, Some(blocks)).contains("take 2.5 min, within durations.training, 25 blocks (about 3 min)"));
		assert!(time(&config, 0.79, 3.0, Some(blocks)).contains("too slow for durations.training, 25 blocks"));
		assert!(time(&RunConfig { overlaps: true, ..config }, 10.0, 3.0, None).contains("a round about 12.0 s"));
	}

	#[test]
	fn where_machines_take_as_many_steps_as_they_do_in_time_it_is_said_how_many_these_are() {
		let mut config = tiny();
		let rule = Rule::WeightedMean { least_steps: 20 };
		config.train.aggregator = neuroshard_types::Aggregator::Robust(Robust { clip: F32::new(0.0), rule });
		// 25 blocks of 2 s.
		let words = time(&config, 0.5, 3.0, Some(BlockClock::of(1, Some(2_000))));
		assert!(words.contains(": 25 in durations.training, 25 blocks (about 50 s), where at least 20 count"), "{words}");
		assert!(time(&config, 4.0, 3.0, Some(BlockClock::of(1, Some(2_000)))).contains(": 120 in durations.training"));
		// 20 steps to 120.
		assert!(size(&config).contains("on 20480 to 122880 tokens"), "{}", size(&config));
	}

	#[test]
	fn memory_is_said_from_the_most_to_the_least_and_beside_what_there_is() {
		let config = tiny();
		let [fastest, least] = Needs::of(&config).unwrap().bounds();
		let steps = |micro_batch, recompute| 4 * StepMemory { micro_batch, recompute }.arena_len(&config.model, &config.train).unwrap();
		let claim = 4 * neuroshard_compute::trace::step_len(&config.model, &config.train).unwrap();
		// Beside the arena of a step and the trace of a claim that is defended: 13 vectors of 104,768 numbers to train with (8, 3 deltas, 2 of a bridge), 5 of
		// the claim, and 2 deltas as they are sent.
		let beside = 18 * 4 * 104_768 + 2 * 458_752;
		assert_eq!(fastest, steps(None, false) + claim + beside);
		let validation = 4 * neuroshard_graph::plan::Plan::validation(&config.model, &config.train).unwrap().arena_len();
		assert_eq!(least, claim + steps(Some(1), true).max(validation) + beside);
		let words = memory(&config, Some(3 << 30)).unwrap();
		assert!(
			words.contains(&format!("{} MiB for each worker", fastest.div_ceil(1 << 20)))
				&& words.ends_with("this machine has 3.0 GiB free"),
			"{words}"
		);
	}

	#[test]
	fn what_the_chain_would_refuse_is_refused_before_anybody_is_asked() {
		let mut file = RunFile::of(Preset::Tiny);
		file.model.vocab = Some(1 << 19);
		assert!(file.config(0, &any_dataset(&file), ANY_START, 1).unwrap_err().to_string().contains("model.vocab"));
		// Each field by itself may be so large.
		let mut file = RunFile::of(Preset::Tiny);
		(file.model.dim, file.model.ffn, file.model.layers) = (1 << 16, 1 << 18, 128);
		let words = file.config(0, &any_dataset(&file), ANY_START, 1).unwrap_err().to_string();
		assert!(words.contains("model or train is refused"), "{words}");
	}

	#[test]
	fn deposit_and_fee_are_said_in_neuro() {
		let words = price(90 * NEURO + NEURO / 100 * 96, NEURO / 50);
		assert!(words.contains("90.96 NEURO on hold") && words.contains("fee of 0.02 NEURO"), "{words}");
	}
}
