//! Faults at random, by a seed, in a network that trains: processes that are killed or frozen, clocks that are wrong, lines that are cut. After each, how long it
//! takes until whoever was hit is back.

use crate::{cloud::Cloud, disk::SmallDisk};
use neuroshard_chain_client::{ChainClient, ChainError, Heads};
use neuroshard_e2e::{until, Error, Network, Process, Training, View};
use neuroshard_roles::status::{Status, STATUS_FILE};
use neuroshard_types::run::{Phase, RoundView};
use rand::{rngs::StdRng, Rng, SeedableRng};
use serde::Serialize;
use std::{
	ops::RangeInclusive,
	time::{Duration, Instant, SystemTime},
};

/// Longest wait for whoever was hit to be back.
const BACK_LIMIT: Duration = Duration::from_secs(300);
/// Blocks that a node may be behind another one that is at its newest block.
const BEHIND: u32 = 2;
/// Longest time that a killed process is away, and longest pause between two faults.
const AWAY_MS: u32 = 3_000;
const PAUSE_MS: u32 = 3_000;
/// Longest time that a process is frozen.
const FROZEN_MS: u32 = 20_000;
/// Least and most seconds that a clock is wrong by, and longest time that it is.
const WRONG_S: RangeInclusive<i64> = 30..=300;
const WRONG_MS: u32 = 60_000;
/// Time that a partition lasts.
const CUT: Duration = Duration::from_secs(60);

/// What happens to whom. Workers and validators by their numbers in the network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub enum Fault {
	/// A worker is killed, and started again after so many milliseconds.
	KillWorker {
		/// Which.
		worker: usize,
		/// Until it is started again.
		away_ms: u32,
	},
	/// The same with a validator.
	KillValidator {
		/// Which.
		validator: usize,
		/// Until it is started again.
		away_ms: u32,
	},
	/// A worker stands still for so many milliseconds.
	FreezeWorker {
		/// Which.
		worker: usize,
		/// For how long.
		frozen_ms: u32,
	},
	/// The same with a validator.
	FreezeValidator {
		/// Which.
		validator: usize,
		/// For how long.
		frozen_ms: u32,
	},
	/// The disk of the worker that has one of its own is full for so many milliseconds.
	FillDisk {
		/// For how long.
		full_ms: u32,
	},
	/// The clock of a machine is wrong by so many seconds for so many milliseconds, while its process runs.
	WrongClock {
		/// Which: the validators', then the workers'.
		machine: usize,
		/// Seconds that it is ahead, or behind.
		by_s: i64,
		/// For how long.
		wrong_ms: u32,
	},
	/// Nothing passes between two parts of the machines for a minute.
	Cut {
		/// In which part each machine is: the validators', then the workers'.
		parts: Vec<bool>,
	},
}

impl Fault {
	/// Whether a process is killed.
	pub fn is_kill(&self) -> bool {
		matches!(self, Self::KillWorker { .. } | Self::KillValidator { .. })
	}
}

/// A fault, and how it went.
#[derive(Clone, Debug, Serialize)]
pub struct Mended {
	/// Seconds from the first fault on.
	pub at: f64,
	/// What happened.
	pub fault: Fault,
	/// Seconds from the start of the process, from its going on, or from the end of the partition or of the wrong time, until whoever was hit is at the chain's newest
	/// block and checkpoint.
	pub seconds: f64,
}

/// What came of all faults.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
	/// Seed of the faults.
	pub seed: u64,
	/// All of them, in order.
	pub faults: Vec<Mended>,
	/// How many were killed.
	pub kills: usize,
	/// Median and worst time until a killed process was back, in seconds.
	pub recovery: Option<(f64, f64)>,
	/// Rounds that were adopted.
	pub rounds: usize,
	/// Places in these rounds, and how many of them were included.
	pub places: usize,
	/// See `places`.
	pub included: usize,
}

impl Report {
	/// Of these faults, and a network that is left alone since.
	pub fn new(seed: u64, faults: Vec<Mended>, view: &View) -> Self {
		let mut kills: Vec<f64> = faults.iter().filter(|one| one.fault.is_kill()).map(|one| one.seconds).collect();
		kills.sort_by(f64::total_cmp);
		let median = kills.get(kills.len() / 2).copied();
		let places = view.records.iter().map(|record| record.participants.len()).sum();
		let included = view.records.iter().map(|record| record.included.len()).sum();
		let recovery = median.zip(kills.last().copied());
		Self { seed, kills: kills.len(), faults, recovery, rounds: view.records.len(), places, included }
	}
}

/// Which kinds of faults there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kinds {
	/// Kills only.
	Kills,
	/// Kills and frozen processes: lines cannot be cut, and clocks not be set.
	Processes,
	/// All.
	All,
}

/// What a network has that can be disturbed beside its processes.
pub struct World {
	/// Machines of their own for its processes: the validators', then the workers'.
	pub cloud: Option<Cloud>,
	/// A disk of its own for the first worker.
	pub disk: Option<SmallDisk>,
}

/// The dice.
pub struct Chaos<'a> {
	dice: StdRng,
	kinds: Kinds,
	validators: usize,
	workers: usize,
	world: &'a World,
	begun: Instant,
}

impl<'a> Chaos<'a> {
	/// The faults of `seed` for the first ones of a network: so many validators and workers.
	pub fn new(seed: u64, kinds: Kinds, (validators, workers): (usize, usize), world: &'a World) -> Self {
		Self { dice: StdRng::seed_from_u64(seed), kinds, validators, workers, world, begun: Instant::now() }
	}

	fn draw(&mut self) -> Fault {
		let machine = self.dice.gen_range(0..self.validators.saturating_add(self.workers).max(1));
		let (away_ms, frozen_ms) = (self.dice.gen_range(0..AWAY_MS), self.dice.gen_range(1_000..FROZEN_MS));
		let (by_s, wrong_ms) = (self.dice.gen_range(WRONG_S), self.dice.gen_range(1_000..WRONG_MS));
		let by_s = if self.dice.gen() { by_s } else { -by_s };
		let mut parts: Vec<bool> = (0..self.validators.saturating_add(self.workers)).map(|_| self.dice.gen()).collect();
		// Not all in one part.
		if let [first, others @ ..] = parts.as_mut_slice() {
			*first = !others.last().copied().unwrap_or(*first);
		}
		let kind: u32 = self.dice.gen_range(0..100);
		let worker = machine.checked_sub(self.validators);
		match (self.kinds, kind, worker) {
			(Kinds::All, 96.., _) => Fault::Cut { parts },
			(Kinds::All, 92.., _) => Fault::FillDisk { full_ms: frozen_ms.saturating_mul(2) },
			(Kinds::All, 88.., _) => Fault::WrongClock { machine, by_s, wrong_ms },
			(Kinds::All | Kinds::Processes, 81.., Some(worker)) => Fault::FreezeWorker { worker, frozen_ms },
			(Kinds::All | Kinds::Processes, 81.., None) => Fault::FreezeValidator { validator: machine, frozen_ms },
			(_, _, Some(worker)) => Fault::KillWorker { worker, away_ms },
			(_, _, None) => Fault::KillValidator { validator: machine, away_ms },
		}
	}

	/// Does the next fault to `network`, and waits until whoever was hit is back.
	///
	/// # Errors
	/// [`Error::Late`] if it does not come back.
	pub async fn strike(&mut self, network: &mut Network, training: &Training) -> Result<Mended, Error> {
		let (fault, at) = (self.draw(), self.begun.elapsed().as_secs_f64());
		// Who has ended by itself must not pass for killed.
		network.check()?;
		match &fault {
			Fault::KillWorker { worker, away_ms } => {
				let hit = network.workers.get_mut(*worker).ok_or_else(nobody)?;
				hit.kill();
				pause(*away_ms).await;
				hit.start()?;
			}
			Fault::KillValidator { validator, away_ms } => {
				let hit = network.validators.get_mut(*validator).ok_or_else(nobody)?;
				hit.kill();
				pause(*away_ms).await;
				hit.start()?;
			}
			Fault::FreezeWorker { worker, frozen_ms } => {
				freeze(worker_of(network, *worker)?, *frozen_ms).await;
			}
			Fault::FreezeValidator { validator, frozen_ms } => {
				freeze(validator_of(network, *validator)?, *frozen_ms).await;
			}
			Fault::FillDisk { full_ms } => {
				let disk = self.world.disk.as_ref().ok_or_else(nobody)?;
				disk.fill()?;
				pause(*full_ms).await;
				disk.empty()?;
			}
			Fault::WrongClock { machine, by_s, wrong_ms } => {
				let clock = self.world.cloud.as_ref().and_then(|cloud| cloud.clock(*machine)).ok_or_else(nobody)?;
				let hit = match machine.checked_sub(self.validators) {
					Some(worker) => worker_of(network, worker)?,
					None => validator_of(network, *machine)?,
				};
				clock.set_wrong(*by_s, hit)?;
				pause(*wrong_ms).await;
				clock.set_wrong(0, hit)?;
			}
			Fault::Cut { parts } => {
				let cloud = self.world.cloud.as_ref().ok_or_else(nobody)?;
				cloud.cut(parts);
				tokio::time::sleep(CUT).await;
				cloud.join();
			}
		}
		let back_since = Instant::now();
		match &fault {
			Fault::KillWorker { worker, .. } | Fault::FreezeWorker { worker, .. } => worker_is_back(network, training, *worker).await?,
			Fault::KillValidator { validator, .. } | Fault::FreezeValidator { validator, .. } => {
				validator_is_back(network, *validator, BACK_LIMIT).await?;
			}
			Fault::FillDisk { .. } => worker_is_back(network, training, 0).await?,
			Fault::WrongClock { machine, by_s, .. } => match machine.checked_sub(self.validators) {
				Some(worker) => worker_is_back(network, training, worker).await?,
				// A block of the future is taken when its time has come: others refuse it, and whoever sends it, until then.
				None => {
					let ahead = Duration::from_secs(u64::try_from(*by_s).unwrap_or_default());
					validator_is_back(network, *machine, BACK_LIMIT.saturating_add(ahead)).await?;
				}
			},
			Fault::Cut { .. } => self.all_are_back(network, training).await?,
		}
		let seconds = back_since.elapsed().as_secs_f64();
		pause(self.dice.gen_range(0..PAUSE_MS)).await;
		Ok(Mended { at, fault, seconds })
	}

	/// Waits until everybody whom something may happen to is back.
	///
	/// # Errors
	/// [`Error::Late`] if one is not.
	pub async fn all_are_back(&self, network: &mut Network, training: &Training) -> Result<(), Error> {
		for validator in 0..self.validators {
			validator_is_back(network, validator, BACK_LIMIT).await?;
		}
		for worker in 0..self.workers {
			worker_is_back(network, training, worker).await?;
		}
		Ok(())
	}
}

fn nobody() -> Error {
	Error::Setup("there is nobody to be hit".into())
}

/// The process of a worker.
fn worker_of(network: &mut Network, number: usize) -> Result<&Process, Error> {
	network.workers.get_mut(number).and_then(|hit| hit.process().as_ref()).ok_or_else(nobody)
}

/// The process of a validator.
fn validator_of(network: &mut Network, number: usize) -> Result<&Process, Error> {
	network.validators.get_mut(number).and_then(|hit| hit.process().as_ref()).ok_or_else(nobody)
}

async fn freeze(hit: &Process, ms: u32) {
	hit.freeze();
	pause(ms).await;
	hit.thaw();
}

async fn pause(ms: u32) {
	tokio::time::sleep(Duration::from_millis(ms.into())).await;
}

/// Waits until a worker says something new: that it has the chain's newest checkpoint, or, as a member that follows, takes steps of the chain's round if that
/// is being trained.
async fn worker_is_back(network: &mut Network, training: &Training, number: usize) -> Result<(), Error> {
	let (what, since) = (format!("worker {number} to be back"), SystemTime::now());
	until(&what, BACK_LIMIT, async || {
		let Some((adopted, round)) = now(network, training).await? else { return Ok(None) };
		let worker = network.workers.get_mut(number).ok_or_else(nobody)?;
		let pid = worker.process().as_mut().map(|process| process.check().map(|()| process.id())).transpose()?;
		let written = std::fs::metadata(worker.base().join(STATUS_FILE)).and_then(|file| file.modified());
		let status = worker.status().filter(|status| Some(status.pid) == pid && written.is_ok_and(|written| written >= since));
		let follows = worker.follows();
		let is_back = |status: &Status| match follows {
			false => status.checkpoint_round.is_some_and(|round| round >= adopted),
			true => {
				status.round == round.as_ref().map(|round| round.round)
					&& (status.step.is_some() || round.as_ref().is_none_or(|round| round.phase != Phase::Training))
			}
		};
		Ok(status.filter(is_back).map(drop))
	})
	.await
}

/// Rounds that were adopted, and the round under way, by any validator that answers.
async fn now(network: &Network, training: &Training) -> Result<Option<(u32, Option<RoundView>)>, Error> {
	let look = async {
		let at = network.client().now().await?;
		let round = at.round(training.run).await?;
		Ok::<_, ChainError>(at.run(training.run).await?.map(|run| (run.rounds_adopted, round)))
	};
	match look.await {
		Ok(now) => Ok(now),
		Err(error) if error.passes() => Ok(None),
		Err(error) => Err(error.into()),
	}
}

/// Waits until a validator answers, is at the newest block of all, and has finalized one that nobody had before: blocks are finalized on one
/// branch, by both.
async fn validator_is_back(network: &mut Network, number: usize, limit: Duration) -> Result<(), Error> {
	let (what, mut before) = (format!("validator {number} to be back"), None);
	until(&what, limit, async || {
		let mut heads = Vec::new();
		for validator in &mut network.validators {
			validator.process().as_mut().map_or(Ok(()), |process| process.check())?;
			heads.push(heads_of(validator.url()).await);
		}
		let newest = heads.iter().flatten().map(|heads| heads.best.number).max();
		let before = *before.get_or_insert(newest.unwrap_or_default());
		let own = heads.get(number).and_then(Option::as_ref);
		let back =
			|own: &Heads| own.finalized.number > before && newest.is_some_and(|newest| own.best.number.saturating_add(BEHIND) >= newest);
		Ok(own.is_some_and(back).then_some(()))
	})
	.await
}

/// Best and finalized block of the node at `url`, if it answers.
async fn heads_of(url: &str) -> Option<Heads> {
	let asked = async { ChainClient::connect(url).await.ok()?.heads().await.ok() };
	tokio::time::timeout(Duration::from_secs(5), asked).await.ok().flatten()
}

#[cfg(test)]
mod tests {
	use super::*;

	fn faults(seed: u64, kinds: Kinds) -> Vec<Fault> {
		let mut chaos = Chaos::new(seed, kinds, (2, 4), &World { cloud: None, disk: None });
		(0..200).map(|_| chaos.draw()).collect()
	}

	#[test]
	fn faults_follow_from_the_seed_and_hit_everybody() {
		assert_eq!(faults(7, Kinds::All), faults(7, Kinds::All));
		assert_ne!(faults(7, Kinds::All), faults(8, Kinds::All));
		let all = faults(7, Kinds::All);
		for hit in 0..4 {
			assert!(all.iter().any(|fault| matches!(fault, Fault::KillWorker { worker, .. } if *worker == hit)));
		}
		for hit in 0..2 {
			assert!(all.iter().any(|fault| matches!(fault, Fault::KillValidator { validator, .. } if *validator == hit)));
		}
		let cut =
			|fault: &&Fault| matches!(fault, Fault::Cut { parts } if parts.len() == 6 && parts.contains(&true) && parts.contains(&false));
		assert_eq!(all.iter().filter(cut).count(), all.iter().filter(|fault| matches!(fault, Fault::Cut { .. })).count());
		let cuts = all.iter().filter(cut).count();
		assert!((1..40).contains(&cuts), "{cuts}");
		let clocks: Vec<_> = all
			.iter()
			.filter_map(|fault| match fault {
				Fault::WrongClock { machine, by_s, wrong_ms } => Some((*machine, *by_s, *wrong_ms)),
				_ => None,
			})
			.collect();
		assert!(clocks.iter().any(|(machine, ..)| *machine < 2) && clocks.iter().any(|(machine, ..)| *machine >= 2), "{clocks:?}");
		assert!(clocks.iter().any(|(_, by_s, _)| *by_s > 0) && clocks.iter().any(|(_, by_s, _)| *by_s < 0), "{clocks:?}");
		assert!(clocks.iter().all(|(_, by_s, wrong_ms)| (30..=300).contains(&by_s.abs()) && *wrong_ms <= 60_000), "{clocks:?}");
	}

	#[test]
	fn nothing_happens_that_cannot() {
		assert!(faults(7, Kinds::Kills).iter().all(Fault::is_kill));
		let frozen = |fault: &Fault| matches!(fault, Fault::FreezeWorker { .. } | Fault::FreezeValidator { .. });
		let processes = faults(7, Kinds::Processes);
		assert!(processes.iter().all(|fault| fault.is_kill() || frozen(fault)) && processes.iter().any(frozen));
	}
}
