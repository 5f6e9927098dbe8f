//! `doctor`: everything a provider needs, checked one by one, each with what to do about it.

use super::{
	device, disk,
	open::{create_base, identity},
	owner, parse, print, CliError, Common,
};
use clap::Args;
use neuroshard_chain_client::{keys::Keys, ChainAt, ChainClient, Costs, Neuro, RoundSize};
use neuroshard_compute::exec::Exec;
use neuroshard_compute::kat;
use neuroshard_roles::status::Status;
use neuroshard_store::{free_disk, LEFT_FREE};
use neuroshard_support::{counted::counted, hardware, printable::printable_line};
use neuroshard_training::need::{longest_round, DiskNeed};
use neuroshard_types::{
	provider::{ProviderStatus, Suspension},
	run::{RunStatus, RunView},
	Balance, RunId,
};
use std::{
	net::{TcpListener, UdpSocket},
	path::Path,
	time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A worker's clock may differ this much from chain time, which itself is up to a slot old.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(30);
/// Money for the fees of fewer rounds than this is soon gone.
const FEW_ROUNDS: Balance = 10;

#[derive(Debug, Args)]
pub(super) struct Doctor {
	/// Port that the worker listens on.
	#[arg(long, default_value_t = 4600)]
	port: u16,
	/// Most disk that checkpoints, deltas and shards of the worker may take, in GiB.
	#[arg(long, value_name = "GIB", default_value = parse::MAX_DISK, value_parser = parse::gib)]
	max_disk: u64,
}

/// What a check found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
	Good,
	/// Works, but not as it should.
	Weak,
	/// Does not work.
	Bad,
}

/// Findings, printed as they come.
#[derive(Default)]
struct Findings {
	bad: u32,
}

impl Findings {
	fn note(&mut self, what: &str, verdict: Verdict, text: impl std::fmt::Display) {
		let sign = match verdict {
			Verdict::Good => "ok  ",
			Verdict::Weak => "weak",
			Verdict::Bad => "BAD ",
		};
		self.bad += u32::from(verdict == Verdict::Bad);
		println!("{sign}  {what:<10} {}", printable_line(&text.to_string()));
	}
}

impl Doctor {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let base = common.base()?;
		create_base(&base)?;
		let mut findings = Findings::default();
		kernels(&mut findings);
		accelerators(&mut findings);
		file_system(&mut findings, &base, self.max_disk);
		let worker = Status::read(&base).filter(|status| status.task.as_deref() != Some("stopped"));
		ports(&mut findings, self.port, worker.as_ref());
		let run = worker.and_then(|worker| worker.run);
		let keys = match Keys::unlock(&base, common.suri.as_deref(), &common.unlock()) {
			Ok(keys) => {
				findings.note("keys", Verdict::Good, keys.account.address());
				Some(keys)
			}
			Err(error) => {
				findings.note("keys", Verdict::Bad, error);
				None
			}
		};
		match ChainClient::connect_all(&common.node).await {
			Ok(client) => chain(&mut findings, &client, keys.as_ref(), run, self.max_disk).await?,
			Err(error) => findings.note("node", Verdict::Bad, error),
		}
		println!("{}", if findings.bad == 0 { "everything a provider needs is there" } else { "see BAD above" });
		Ok(u8::from(findings.bad > 0))
	}
}

fn kernels(findings: &mut Findings) {
	let checked = Exec::new(hardware::threads(None)).map_err(|error| error.to_string());
	match checked.and_then(|exec| kat::verify(&exec).map_err(|error| error.to_string())) {
		Ok(()) => findings.note("arithmetic", Verdict::Good, "this machine computes the known answers, bit for bit"),
		Err(error) => findings.note("arithmetic", Verdict::Bad, format!("{error}: work from this machine would be judged wrong")),
	}
}

/// Devices that could compute in place of the CPU, with `--device`.
fn accelerators(findings: &mut Findings) {
	match neuroshard_opencl::devices() {
		// Most machines have none.
		Err(_) => findings.note("devices", Verdict::Good, "the CPU; no other device speaks OpenCL here"),
		Ok(found) if found.is_empty() => findings.note("devices", Verdict::Good, "the CPU; no other device speaks OpenCL here"),
		Ok(found) => found.iter().enumerate().for_each(|(number, found)| {
			let verdict = if found.lacks().is_empty() { Verdict::Good } else { Verdict::Weak };
			findings.note("device", verdict, device::words(number, found));
		}),
	}
}

fn file_system(findings: &mut Findings, base: &Path, max_disk: u64) {
	let free = match free_disk(base) {
		Ok(free) => free,
		Err(error) => return findings.note("disk", Verdict::Bad, format!("{}: {error}", base.display())),
	};
	let stored = stored_bytes(&base.join("store"));
	let (verdict, advice) = match free.saturating_add(stored).saturating_sub(LEFT_FREE) < max_disk {
		true => (Verdict::Weak, ", less than --max-disk asks for: free some space, or name less to `run` and here"),
		false => (Verdict::Good, ""),
	};
	let text = format!("{} GiB free in {}, and {} GiB in use by the worker{advice}", free >> 30, base.display(), stored >> 30);
	findings.note("disk", verdict, text);
}

/// Bytes of all files below a folder, as far as they can be seen.
fn stored_bytes(folder: &Path) -> u64 {
	let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
	let sizes = entries.flatten().map(|entry| match entry.metadata() {
		Ok(metadata) if metadata.is_dir() => stored_bytes(&entry.path()),
		Ok(metadata) => metadata.len(),
		Err(_) => 0,
	});
	sizes.fold(0, u64::saturating_add)
}

/// Whether what the run takes of the disk fits into `max_disk`.
async fn room(findings: &mut Findings, at: &ChainAt, id: RunId, run: &RunView, max_disk: u64) -> Result<(), CliError> {
	let Some(dataset) = at.dataset(run.config.dataset).await? else { return Ok(()) };
	let Ok(need) = DiskNeed::of(&run.config, &dataset.manifest.shape, &at.dispute_terms().await?) else { return Ok(()) };
	let pace = disk::pace(at, id, run).await?;
	let blocks = pace.unwrap_or_else(|| longest_round(&run.config.durations));
	let (words, fits) = disk::fits(&need, blocks, max_disk);
	let measured = if pace.is_some() { "as in its newest rounds" } else { "if its phases last as long as they may" };
	let text = format!("run {id} takes {} ({measured}); {words}", disk::need(&need, run.config.max_participants, blocks));
	findings.note("max-disk", if fits { Verdict::Good } else { Verdict::Weak }, text);
	Ok(())
}

fn ports(findings: &mut Findings, port: u16, worker: Option<&Status>) {
	if let Some(worker) = worker {
		findings.note("reach", Verdict::Good, format!("{}. {}", counted(worker.peers, "peer"), worker.reachability));
		return;
	}
	let taken = TcpListener::bind(("0.0.0.0", port)).err().or_else(|| UdpSocket::bind(("0.0.0.0", port)).err());
	match taken {
		None => findings.note("port", Verdict::Good, format!("{port} is free; whether others reach it shows once the worker runs")),
		Some(error) => findings.note("port", Verdict::Bad, format!("{port}: {error}; choose another one with --port")),
	}
}

/// What each of several nodes says.
fn nodes(findings: &mut Findings, client: &ChainClient) {
	let watched = client.nodes().borrow().clone();
	for node in &watched.nodes {
		findings.note("node", if node.problem.is_none() { Verdict::Good } else { Verdict::Weak }, print::node(node));
	}
	if let Some(words) = watched.contradiction {
		findings.note("nodes", Verdict::Bad, words);
	}
}

async fn chain(
	findings: &mut Findings,
	client: &ChainClient,
	keys: Option<&Keys>,
	run: Option<RunId>,
	max_disk: u64,
) -> Result<(), CliError> {
	nodes(findings, client);
	let (health, heads) = (client.health().await?, client.heads().await?);
	let text = format!("{} on {}, block {}, finalized {}", health.version, health.chain, heads.best.number, heads.finalized.number);
	match health.syncing {
		false => findings.note("node", Verdict::Good, text),
		true => findings.note("node", Verdict::Weak, format!("{text}; still syncing, wait until it is done")),
	}
	let at = client.at(heads.best).await?;
	match at.check_compatible() {
		Ok(()) => findings.note("release", Verdict::Good, "chain and worker understand each other"),
		Err(error) => {
			findings.note("release", Verdict::Bad, error);
			return Ok(());
		}
	}
	clock(findings, at.time().await?);
	let run = match run {
		Some(id) => at.run(id).await?.map(|view| (id, view)),
		None => active_run(&at).await?,
	};
	if let Some((id, view)) = &run {
		room(findings, &at, *id, view, max_disk).await?;
	}
	if let Some(keys) = keys {
		account(findings, &at, keys, run.map(|(_, view)| view)).await?;
	}
	Ok(())
}

fn clock(findings: &mut Findings, chain_ms: u64) {
	if chain_ms == 0 {
		findings.note("clock", Verdict::Weak, "the chain has no block yet to compare with");
		return;
	}
	let own = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
	let chain = Duration::from_millis(chain_ms);
	let apart = own.abs_diff(chain);
	let text = format!("{} s from chain time", apart.as_secs());
	match apart <= CLOCK_TOLERANCE {
		true => findings.note("clock", Verdict::Good, text),
		false => findings.note("clock", Verdict::Weak, format!("{text}: set this machine's clock, unless the chain stands still")),
	}
}

/// `run` is the one that the worker is in, or would choose.
async fn account(findings: &mut Findings, at: &ChainAt, keys: &Keys, run: Option<RunView>) -> Result<(), CliError> {
	let (who, signer) = (owner::of(at, &keys.account).await?, keys.account.id());
	let operates = who != signer;
	if operates {
		findings.note("owner", Verdict::Good, format!("{who}: the account above is its operator, which signs its work and pays for that"));
	}
	let free = at.funds(&signer).await?.free;
	let provider = at.provider(&who).await?;
	let (minimum, _) = at.bond_limits().await?;
	let info = provider.as_ref().map_or_else(|| identity(keys), |provider| Ok(provider.info.clone()))?;
	let round = run.as_ref().map_or(RoundSize::LARGEST, |run| RoundSize::of(&run.config));
	let mut costs = at.costs(&info, round).await?;
	if let Some(run) = run {
		costs.stays = at.reserve(&run.config).await?;
	}
	let (verdict, text) = funds(free, provider.is_none().then_some(minimum), &costs);
	let text = if operates { format!("of the operator: {text}") } else { text };
	findings.note("funds", verdict, text);
	match &provider {
		None => findings.note("provider", Verdict::Bad, "not registered: `neuroshard-worker register`"),
		Some(provider) if matches!(provider.status, ProviderStatus::Unproven { .. }) => {
			let text =
				"registered, but the chain has not tested this machine's arithmetic yet: `neuroshard-worker run` answers the test by \
				itself, and so does `neuroshard-worker register`";
			findings.note("provider", Verdict::Bad, text);
		}
		Some(provider) if let Some(suspension) = provider.suspension(at.block().number) => {
			let text = match suspension {
				Suspension::Forever => "banned for good; another account needs a PoNW key and a peer id of its own".to_owned(),
				Suspension::Until(block) => {
					format!("suspended after an offence: bond what is missing (`bond-extra`), and `activate` at block {block}")
				}
			};
			findings.note("provider", Verdict::Bad, text);
		}
		Some(provider) if provider.status == ProviderStatus::Chilled => {
			findings.note(
				"provider",
				Verdict::Bad,
				format!("chilled, bond {}: bond more (`bond-extra`) and `activate`, or leave", Neuro(provider.bonded)),
			);
		}
		Some(provider) if provider.info.ponw_key != keys.ponw.public() => {
			findings.note("provider", Verdict::Weak, "registered with another PoNW key; the worker corrects that when it starts");
		}
		Some(provider) => {
			findings.note(
				"provider",
				Verdict::Good,
				format!("active, bond {}, reputation {}", Neuro(provider.bonded), provider.reputation),
			);
		}
	}
	let (earnings, era) = (at.earnings(&who).await?, at.era().await?);
	let text = format!(
		"{} so far, {} ready to claim; this era (blocks {} to {}) pays all training up to {}, of which about {} would be yours if it ended now",
		Neuro(earnings.claimed),
		Neuro(earnings.claimable),
		era.starts_at,
		era.ends_at,
		Neuro(era.parts.training),
		Neuro(earnings.current_era_estimate)
	);
	findings.note("reward", Verdict::Good, text);
	Ok(())
}

/// The run that a worker would choose.
async fn active_run(at: &ChainAt) -> Result<Option<(RunId, RunView)>, CliError> {
	for id in at.runs().await? {
		if let Some(run) = at.run(id).await?.filter(|run| run.status == RunStatus::Active) {
			return Ok(Some((id, run)));
		}
	}
	Ok(None)
}

/// Whether `free` planck last: beside the bond that an account which is not registered yet still has to take from it.
fn funds(free: Balance, bond: Option<Balance>, costs: &Costs) -> (Verdict, String) {
	let (has, round) = (Neuro(free), Neuro(costs.round));
	let needed = match bond {
		Some(bond) => bond.saturating_add(costs.before_work()),
		None => costs.stays.saturating_add(costs.round),
	};
	if free < needed {
		let purpose = match bond {
			Some(bond) => format!("for a bond of {} and the fees up to the end of the first round", Neuro(bond)),
			None => "for the fees of one round".into(),
		};
		let (needed, stays) = (Neuro(needed), Neuro(costs.stays));
		let text = format!(
			"{has}: at least {needed} is needed {purpose}, {stays} of it to stay free: for moves in disputes, if a run goes on; send it some NEURO"
		);
		return (Verdict::Bad, text);
	}
	// The first round's fees are within what is needed.
	let rounds = (free - needed).checked_div(costs.round).map_or(Balance::MAX, |more| more.saturating_add(1));
	let lasting = if bond.is_some() { ", beside the smallest bond" } else { "" };
	match rounds < FEW_ROUNDS {
		true => {
			(Verdict::Weak, format!("{has}: fees of {} (up to {round} each){lasting}; send it some NEURO soon", counted(rounds, "round")))
		}
		false => (Verdict::Good, format!("{has}; a round's fees are at most {round}")),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::NEURO;

	const COSTS: Costs = Costs { stays: NEURO / 1_000, start: NEURO / 50, round: NEURO / 20 };

	#[test]
	fn a_registered_account_needs_the_fees_of_some_rounds() {
		// 0.051 pays for one round and leaves what must stay.
		assert_eq!(funds(NEURO / 1_000 * 51 - 1, None, &COSTS).0, Verdict::Bad);
		let (verdict, text) = funds(NEURO / 1_000 * 51, None, &COSTS);
		assert!(verdict == Verdict::Weak && text.contains("fees of 1 round (up to 0.05 NEURO each)"), "{text}");
		assert_eq!(funds(NEURO / 1_000 * 501 - 1, None, &COSTS).0, Verdict::Weak);
		assert_eq!(funds(NEURO / 1_000 * 501, None, &COSTS).0, Verdict::Good);
	}

	#[test]
	fn before_it_is_registered_an_account_needs_the_bond_as_well() {
		// The bond, 0.001 that must stay, 0.02 to begin, 0.05 for a round.
		let needed = 100 * NEURO + NEURO / 1_000 * 71;
		let (verdict, text) = funds(needed - 1, Some(100 * NEURO), &COSTS);
		assert!(verdict == Verdict::Bad && text.contains("100.071 NEURO is needed for a bond of 100 NEURO"), "{text}");
		assert!(text.contains("0.001 NEURO of it to stay free"), "{text}");
		assert_eq!(funds(needed, Some(100 * NEURO), &COSTS).0, Verdict::Weak);
		assert_eq!(funds(needed + NEURO / 20 * 9, Some(100 * NEURO), &COSTS).0, Verdict::Good);
	}

	#[test]
	fn a_chain_without_fees_asks_for_none() {
		let free = Costs { start: 0, round: 0, ..COSTS };
		assert_eq!(funds(NEURO, None, &free).0, Verdict::Good);
	}
}
