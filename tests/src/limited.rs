//! A model that no limit of memory admits: workers that are held to less than training it takes hold it as a quorum, and audit it in files, beside one that
//! has the memory.

use crate::{until, AuditRules, Binaries, Error, Layout, Network, Prepared, Preset, Rules, Text, Training};
use neuroshard_compute::exec::Exec;
use neuroshard_graph::span::cut;
use neuroshard_quorum::{held_bytes, member::JoinError, needed_bytes, Place};
use neuroshard_roles::Needs;
use neuroshard_support::memory::available_memory;
use neuroshard_training::presets;
use neuroshard_types::{
	audit::{AuditView, Report},
	run::{RoundRecord, RunConfig},
	AccountId, BlockNumber, ModelConfig, RoundIndex, TrainConfig, H256,
};
use std::{fmt, path::Path, sync::Arc, time::Duration};

/// Memory of a worker beside its part of the model: its program and its threads, messages under way, and parts of files.
const BESIDE: u64 = 96 << 20;
/// Verifiers: with so many both claims of a round are drawn. One of them is the worker that has the memory for all, if it audits in memory, so that one of
/// the two who are drawn for the quorum's work audits in files.
const VERIFIERS: usize = 4;
/// Longest time of a round of the smallest model, and from there to the reports about it.
const ROUND: Duration = Duration::from_secs(240);
/// Blocks for an audit of the smallest model, and for the report.
const SEAL_TIME: BlockNumber = 120;
const REPORT_TIME: BlockNumber = 10;
const CLOCK: BlockNumber = 30;
const EXTENSION: BlockNumber = 15;

/// How large the model is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Size {
	/// 13.8 million parameters.
	#[value(name = "14M")]
	M14,
	/// 113.7 million parameters.
	#[value(name = "110M")]
	M110,
	/// 510.5 million parameters.
	#[value(name = "500M")]
	M500,
}

impl Size {
	/// Model and training: rounds of four steps of 128 tokens.
	pub fn configs(self) -> (ModelConfig, TrainConfig) {
		let (large, train) = presets::large();
		let train = TrainConfig { batch: 4, seq_len: 32, inner_steps: 4, commit_interval: 2, validation_sequences: 16, ..train };
		let model = match self {
			Self::M14 => large,
			Self::M110 => ModelConfig { dim: 768, layers: 16, heads: 12, kv_heads: 12, ffn: 2_048, ..large },
			Self::M500 => ModelConfig { dim: 1_536, layers: 18, heads: 12, kv_heads: 12, ffn: 4_096, ..large },
		};
		(model, train)
	}

	/// How many times as long everything may take as with the smallest model.
	fn times(self) -> BlockNumber {
		match self {
			Self::M14 => 1,
			Self::M110 => 8,
			Self::M500 => 40,
		}
	}

	/// See [`even_units`].
	///
	/// # Errors
	/// As [`even_units`].
	pub fn units(self, members: u16) -> Result<Vec<u32>, Error> {
		even_units(&self.configs().0, members)
	}

	/// The least memory in which such a member works, in bytes, whole MiB.
	///
	/// # Errors
	/// [`Error::Setup`].
	pub fn limit(self, members: u16) -> Result<u64, Error> {
		self.most(members, needed_bytes)
	}

	/// Memory for an audit in files, in which none in memory fits: what a member holds while it trains.
	///
	/// # Errors
	/// [`Error::Setup`].
	pub fn limit_in_files(self, members: u16) -> Result<u64, Error> {
		self.most(members, held_bytes)
	}

	/// The most that a member takes, by these bytes of each place.
	fn most(self, members: u16, bytes: impl Fn(&Place, Arc<Exec>) -> Result<u64, JoinError>) -> Result<u64, Error> {
		let failed = |error: &dyn std::fmt::Display| Error::Setup(error.to_string());
		let (model, train) = self.configs();
		let spans = cut(&model, &self.units(members)?).map_err(|error| failed(&error))?;
		let exec = Arc::new(Exec::new(1).map_err(|error| failed(&error))?);
		let mut most = 0;
		for member in 0..spans.len() {
			let place = Place::usual((&model, &train), spans.clone(), member, 0);
			most = most.max(bytes(&place, exec.clone()).map_err(|error| failed(&error))?);
		}
		Ok((most + BESIDE).next_multiple_of(1 << 20))
	}
}

/// Units of a model that each of so many members holds: layers evenly, and the first one, which has least of them, the end and the embedding besides.
///
/// # Errors
/// [`Error::Setup`] for no member, or more than can have a layer each beside one that has none.
pub fn even_units(model: &ModelConfig, members: u16) -> Result<Vec<u32>, Error> {
	let (layers, count) = (model.layers, u32::from(members));
	if count == 0 || count > layers + 1 {
		return Err(Error::Setup(format!("a model of {layers} layers is held by 1 to {} members, not by {members}", layers + 1)));
	}
	let share = |member: u32| (member + 1) * layers / count - member * layers / count;
	Ok((0..count).map(|member| share(member) + if member == 0 { 2 } else { 0 }).collect())
}

/// What a worker has taken of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
	/// What it does in the network.
	pub does: String,
	/// Bytes that the system lets it take, if it is limited.
	pub limit: Option<u64>,
	/// Most bytes that it has had in use, with what is in memory of files that it reads.
	pub peak: u64,
}

impl fmt::Display for Memory {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		let Self { does, limit, peak } = self;
		let limit = limit.map_or_else(|| "no limit".into(), |limit| format!("limit {} MiB", limit >> 20));
		write!(formatter, "{does}: {} MiB at most, {limit}", peak.div_ceil(1 << 20))
	}
}

/// A network that trains a model whose training takes more memory than most workers have: the first worker has no limit and holds all of the model; those who
/// audit in files follow, and then the members of the quorum, of whom the first one leads.
pub struct Limited {
	/// The network.
	pub network: Network,
	/// The run.
	pub training: Training,
	/// Bytes to which members are held, and those who audit in files.
	pub limits: [u64; 2],
	/// Whether the first worker's place is a seat that holds all, with checkpoints in files, because this machine has not the memory for an ordinary one.
	pub seated: bool,
	/// The run as the chain has it.
	pub config: RunConfig,
	size: Size,
	/// Workers that audit in files.
	auditors: usize,
}

impl Limited {
	/// Starts it in `folder`, with so many members, for so many rounds.
	///
	/// # Errors
	/// Whatever keeps a network from running.
	pub async fn start(folder: &Path, size: Size, members: u16, rounds: RoundIndex) -> Result<Self, Error> {
		let (limits @ [limit, in_files], units) = ([size.limit(members)?, size.limit_in_files(members)?], size.units(members)?);
		// Members have an address for the others besides.
		let verifiers = u16::try_from(VERIFIERS).unwrap_or(u16::MAX);
		let layout = Layout::create(folder.join("network"), None, members.saturating_mul(2).saturating_add(verifiers).saturating_add(2))?;
		let prepared = Prepared::of_model(&layout, Preset::Tiny, Text::Registry, size.configs(), 2..=2).await?;
		let prepared = prepared.with_patience(size.times().saturating_mul(2));
		let seal_time = SEAL_TIME.saturating_mul(size.times());
		let audits = AuditRules { share: 1_000_000, seal_time, report_time: REPORT_TIME };
		let rules =
			Rules { window: audits.window(), clock: CLOCK, extension: EXTENSION, audits: Some(audits), answers: None, patient: true };
		let mut network = Network::start(Binaries::find()?, layout, rules).await?;
		let training = Training::sponsor(&network, prepared, Some(rounds)).await?;
		let dataset = Some(training.dataset.as_path());
		let missing = || Error::Setup(format!("the chain has no run {}", training.run));
		let config = network.client().now().await?.run(training.run).await?.ok_or_else(missing)?.config;
		let needs = Needs::of(&config).map_err(|error| Error::Setup(error.to_string()))?;
		// What the others take is theirs.
		let others = limit.saturating_mul(u64::from(members.saturating_add(verifiers)));
		let free = available_memory().map(|free| free.saturating_sub(others));
		let seated = needs.participant(free).is_err();
		let auditors = if seated { VERIFIERS } else { VERIFIERS - 1 };
		network.set_memory_limit(Some(in_files));
		network.add_workers_that_audit_in_files(training.run, auditors, dataset, 1).await?;
		network.set_memory_limit(None);
		match seated {
			false => network.add_workers(1, dataset, 1).await?,
			true => network.add_quorum(training.run, &size.units(1)?, dataset, 1).await?,
		}
		network.set_memory_limit(Some(limit));
		network.add_quorum(training.run, &units, dataset, 1).await?;
		Ok(Self { network, training, limits, seated, config, size, auditors })
	}

	/// Least bytes that training the model alone takes in memory.
	///
	/// # Errors
	/// [`Error::Setup`].
	pub fn alone(&self) -> Result<u64, Error> {
		let needs = Needs::of(&self.config).map_err(|error| Error::Setup(error.to_string()))?;
		Ok(needs.bounds()[1])
	}

	/// The account of the worker that holds all of the model.
	pub fn whole(&self) -> AccountId {
		self.provider(self.auditors)
	}

	/// The account that leads the quorum.
	pub fn leader(&self) -> AccountId {
		self.provider(self.auditors + 1)
	}

	fn provider(&self, worker: usize) -> AccountId {
		self.network.workers.get(worker).map(crate::WorkerNode::provider).unwrap_or_else(|| AccountId::new([0; 32]))
	}

	fn patience(&self) -> Duration {
		ROUND.saturating_mul(self.size.times())
	}

	/// The record of `round`, once it is adopted.
	///
	/// # Errors
	/// [`Error::Ended`] if a process ends, [`Error::Late`].
	pub async fn adopted(&mut self, round: RoundIndex) -> Result<RoundRecord, Error> {
		let (run, limit) = (self.training.run, self.patience());
		until(&format!("the end of round {round}"), limit, async || {
			self.network.check()?;
			Ok(self.network.client().now().await?.record(run, round).await?)
		})
		.await
	}

	/// The samples that both auditors of the quorum's work in `round` report.
	///
	/// # Errors
	/// As [`Self::adopted`].
	pub async fn audited(&mut self, round: RoundIndex) -> Result<[H256; 2], Error> {
		let (leader, limit) = (self.leader(), self.patience());
		let sample = |report: &Option<Report>| match report {
			Some(Report::Sample(root)) => Some(*root),
			_ => None,
		};
		let of = |audit: &AuditView| audit.subject == leader && audit.round == round;
		until(&format!("two reports on what the quorum did in round {round}"), limit, async || {
			self.network.check()?;
			let at = self.network.client().now().await?;
			for auditor in self.auditors() {
				let audits = at.audits_of(&auditor.provider()).await?;
				let found =
					audits.iter().find(|audit| of(audit)).and_then(|audit| Some([sample(&audit.report)?, sample(&audit.partner_report)?]));
				if found.is_some() {
					return Ok(found);
				}
			}
			Ok(None)
		})
		.await
	}

	/// What the workers have taken of memory, in their order.
	///
	/// # Errors
	/// [`Error::File`] if the system says nothing about one.
	pub fn memory(&mut self) -> Result<Vec<Memory>, Error> {
		let (seated, auditors) = (self.seated, self.auditors);
		let does = |number: usize| match number.checked_sub(auditors) {
			None => format!("audits in files, {number}"),
			Some(0) if seated => "holds all, with checkpoints in files".to_owned(),
			Some(0) => "holds all".to_owned(),
			Some(1) => "member 0, which leads".to_owned(),
			Some(number) => format!("member {}", number - 1),
		};
		let mut told = Vec::new();
		for (number, worker) in self.network.workers.iter_mut().enumerate() {
			let name = worker.name().to_owned();
			let process = worker.process().as_ref().ok_or_else(|| Error::Setup(format!("{name} does not run")))?;
			told.push(Memory { does: does(number), limit: process.memory_limit()?, peak: process.peak_memory()? });
		}
		Ok(told)
	}

	/// The workers that audit in files.
	pub fn auditors(&self) -> &[crate::WorkerNode] {
		self.network.workers.get(..self.auditors).unwrap_or_default()
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn sizes_are_what_they_are_called_and_units_add_up() {
		for (size, parameters) in [(Size::M14, 13_793_664), (Size::M110, 113_713_920), (Size::M500, 510_549_504)] {
			let (model, train) = size.configs();
			train.validate(&model).unwrap();
			for members in [1, 3, 4] {
				assert_eq!(size.units(members).unwrap().iter().sum::<u32>(), model.layers + 2, "{size:?}");
			}
			assert_eq!(model.parameters(), parameters, "{size:?}");
		}
		assert_eq!(Size::M14.units(3).unwrap(), [4, 3, 3]);
		assert!(Size::M14.units(0).is_err() && Size::M14.units(10).is_err());
		assert_eq!(even_units(&presets::tiny().0, 3).unwrap(), [2, 1, 1]);
	}

	#[test]
	fn a_third_of_a_model_takes_a_third_of_seven_numbers_for_each_parameter_and_more_for_a_defence() {
		let [needed, held] = [Size::M500.limit(3), Size::M500.limit_in_files(3)].map(|limit| limit.unwrap() - BESIDE);
		let third = 510_549_504 / 3 * 28;
		assert!((third..third + third / 10).contains(&held), "{held} of {third}");
		assert!((2 * third..4 * third).contains(&needed), "{needed} of {third}");
	}
}
