//! What came of a simulation.

use crate::chain::Block;
use neuroshard_roles::decide::Task;
use neuroshard_types::{BlockNumber, RunId};
use serde::Serialize;

/// What came of a simulation. Shares are of a block's limits.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Report {
	/// Providers.
	pub providers: u32,
	/// Rounds of each run.
	pub rounds: u32,
	/// Blocks that were made.
	pub blocks: u32,
	/// Rounds that each run adopted.
	pub adopted: Vec<u32>,
	/// Blocks from the first to the last adoption of a run, in the mean for a round.
	pub blocks_per_round: f64,
	/// Largest share of a block's weight that was used.
	pub most_used: f64,
	/// Largest share that the chain's own work took.
	pub most_own: f64,
	/// Mean share of a block's weight that was used.
	pub mean_used: f64,
	/// Most extrinsics that waited when a block was made.
	pub most_waiting: usize,
	/// Extrinsics in blocks, and of them those that failed.
	pub extrinsics: [u64; 2],
	/// What providers sent for rounds: commitments, reveals, votes, attestations.
	pub acts: u64,
	/// Reports that others are missing.
	pub reports: u64,
	/// Other things that they sent: joining, uptime, claims.
	pub chores: u64,
	/// Places in adopted rounds.
	pub places: u64,
	/// Of these, the places of who came while the round was trained.
	pub late: u64,
	/// Deltas that these rounds include.
	pub included: u64,
	/// Of these, the deltas of who started from the checkpoint of another cohort.
	pub bridged: u64,
	/// Fewest and most inner steps behind one of them.
	pub inner_steps: Option<[u32; 2]>,
	/// Faults: killed processes, partitions, stalls of the chain.
	pub kills: u32,
	/// Partitions.
	pub partitions: u32,
	/// Stalls of the chain.
	pub stalls: u32,
	/// Providers that have another bond in the end than in the beginning.
	pub slashed: u32,
	/// What is broken of what must always hold.
	pub broken: Option<String>,
	/// First and last block in which each run adopted a round.
	#[serde(skip)]
	span: Vec<Option<[BlockNumber; 2]>>,
	/// Hash over what all blocks were like: equal for equal simulations.
	pub digest: u64,
}

impl Report {
	/// Of a simulation that begins.
	pub fn new(providers: u32, runs: u32, rounds: u32) -> Self {
		let runs = usize::try_from(runs).unwrap_or_default();
		Self { providers, rounds, adopted: vec![0; runs], span: vec![None; runs], ..Self::default() }
	}

	/// Number of runs.
	pub fn runs(&self) -> RunId {
		RunId::try_from(self.adopted.len()).unwrap_or(RunId::MAX)
	}

	/// Whether every run has adopted all its rounds.
	pub fn is_finished(&self) -> bool {
		self.adopted.iter().all(|adopted| *adopted >= self.rounds)
	}

	/// What is wrong with a simulation of honest providers.
	///
	/// # Errors
	/// What is wrong, in words.
	pub fn check(&self) -> Result<(), String> {
		if let Some(broken) = &self.broken {
			return Err(format!("an invariant is broken: {broken}"));
		}
		if self.slashed > 0 {
			return Err(format!("{} honest providers lost something", self.slashed));
		}
		match self.is_finished() {
			true => Ok(()),
			false => Err(format!("after {} blocks runs have adopted {:?} of {} rounds", self.blocks, self.adopted, self.rounds)),
		}
	}

	pub(crate) fn note(&mut self, block: &Block, waiting: usize) {
		let share = f64::from(self.blocks);
		self.blocks = self.blocks.saturating_add(1);
		self.mean_used = (self.mean_used * share + block.used) / f64::from(self.blocks);
		self.most_used = self.most_used.max(block.used);
		self.most_own = self.most_own.max(block.own);
		self.most_waiting = self.most_waiting.max(waiting);
		let [all, failed] = &mut self.extrinsics;
		(*all, *failed) = (all.saturating_add(block.extrinsics.into()), failed.saturating_add(block.failed.into()));
		let told = (self.digest, block.number, block.extrinsics, block.failed, block.used.to_bits());
		let [a, b, c, d, e, f, g, h, ..] = sp_io::hashing::blake2_256(&codec::Encode::encode(&told));
		self.digest = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
	}

	pub(crate) fn note_run(&mut self, run: RunId, adopted: u32, now: BlockNumber) {
		let Ok(run) = usize::try_from(run) else { return };
		let (Some(known), Some(span)) = (self.adopted.get_mut(run), self.span.get_mut(run)) else { return };
		if adopted > *known {
			*known = adopted;
			let first = span.map_or(now, |[first, _]| first);
			*span = Some([first, now]);
		}
		let spans = self.span.iter().flatten().map(|[first, last]| f64::from(last.saturating_sub(*first)));
		let rounds: f64 = self.adopted.iter().map(|adopted| f64::from(adopted.saturating_sub(1))).sum();
		self.blocks_per_round = if rounds > 0.0 { spans.sum::<f64>() / rounds } else { 0.0 };
	}

	/// Notes an adopted round of so many places, as many of who came late and of bridges, and the inner steps behind each delta that it includes.
	pub(crate) fn note_round(&mut self, [places, late, bridged]: [usize; 3], inner_steps: &[u32]) {
		let count = |len: usize| u64::try_from(len).unwrap_or(u64::MAX);
		self.places = self.places.saturating_add(count(places));
		self.late = self.late.saturating_add(count(late));
		self.bridged = self.bridged.saturating_add(count(bridged));
		self.included = self.included.saturating_add(count(inner_steps.len()));
		for &steps in inner_steps {
			let [fewest, most] = self.inner_steps.unwrap_or([steps; 2]);
			self.inner_steps = Some([fewest.min(steps), most.max(steps)]);
		}
	}

	pub(crate) fn note_call(&mut self, task: &Task) {
		let count = match task {
			Task::ReportMissing { .. } => &mut self.reports,
			task if task.is_act() => &mut self.acts,
			_ => &mut self.chores,
		};
		*count = count.saturating_add(1);
	}

	/// What a provider sent for each round of its run, in the mean.
	pub fn acts_per_round(&self) -> f64 {
		let runs = f64::from(self.runs().max(1));
		let each = self.adopted.iter().map(|adopted| f64::from(*adopted)).sum::<f64>() / runs * f64::from(self.providers);
		if each > 0.0 {
			self.acts as f64 / each
		} else {
			0.0
		}
	}
}
