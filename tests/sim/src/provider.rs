//! A provider: its machine and its line, what it has, and what its tasks give.

use crate::chain::{account, ponw_key, FINALITY, SLOT_MS};
use neuroshard_roles::decide::{plan_without, uptime_hour, ChainView, LocalState, Mode, NextCheckpoint, PendingWork, Sibling, Task};
use neuroshard_training::ending::{Ending, Now};
use neuroshard_types::{
	proof::{Proof, ProofKey, ProofKind},
	reward::EraIndex,
	run::{seal, seal_bridged, Attestation, RoundView, RunConfig, Work},
	AccountId, Balance, BlockNumber, Moment, RoundIndex, RunId, TrainConfig, F32, H256,
};
use sp_core::{ecdsa, Pair};
use sp_io::hashing::blake2_256;
use std::{
	collections::{BTreeMap, BTreeSet},
	time::{Duration, Instant},
};

/// A machine and its line.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
	/// Milliseconds of an inner step.
	pub step_ms: u64,
	/// Milliseconds to its node, and to a peer, one way.
	pub delay_ms: u64,
	/// Bytes that it receives in a second.
	pub bytes_per_s: u64,
}

/// What a provider is doing.
#[derive(Clone, Debug)]
pub struct Running {
	/// The task.
	pub task: Task,
	/// Number of this attempt, which tells it from those that were given up.
	pub attempt: u64,
	/// When it began, in milliseconds.
	pub since_ms: u64,
	/// Newest block when it began.
	pub since: BlockNumber,
}

/// Finished training, with what opens its seal.
#[derive(Clone, Debug)]
pub struct Sealed {
	/// Attempt at the round.
	pub attempt: u32,
	/// Salt.
	pub salt: [u8; 32],
	/// The work.
	pub work: Work,
}

/// A provider.
pub struct Provider {
	/// Its number.
	pub number: u32,
	/// Its account.
	pub account: AccountId,
	/// The run that it takes part in.
	pub run: RunId,
	/// Its machine.
	pub machine: Machine,
	/// What it has, as its worker's planner sees it.
	pub local: LocalState,
	/// Of [`LocalState::pending`].
	pub sealed: Option<Sealed>,
	/// Whether its process runs.
	pub alive: bool,
	/// Whether it is cut off from everybody.
	pub cut_off: bool,
	/// What it is doing.
	pub running: Option<Running>,
	/// Eras that it can claim, with what they owe it, in planck.
	pub claimable: Vec<(EraIndex, Balance)>,
	/// The round that it trains, by its seed, and milliseconds of it that are on disk.
	trained: Option<(H256, u64)>,
	/// Inner steps that it takes of the round that it trains.
	steps: u32,
	/// Its newest commitment on chain, and the block in which it was seen first.
	committed: Option<(H256, BlockNumber)>,
	/// The checkpoint that is on its disk, and the last one of another cohort.
	on_disk: Option<H256>,
	sibling_on_disk: Option<H256>,
	key: ecdsa::Pair,
}

impl Provider {
	/// Provider `number`, which takes part in `run`.
	pub fn new(number: u32, run: RunId, machine: Machine) -> Self {
		let local = LocalState {
			mode: Mode::Train,
			checkpoint: None,
			dataset: None,
			pending: Vec::new(),
			stored: None,
			sibling: None,
			deltas: BTreeMap::new(),
			next: None,
			diverged: Vec::new(),
			missing: BTreeSet::new(),
			uptime: None,
			claim_from: 1,
			in_a_hurry: false,
			leaving: false,
		};
		let (account, key) = (account(number), ponw_key(number));
		let (trained, steps, committed, on_disk, sibling_on_disk) = (None, 0, None, None, None);
		Self {
			number,
			account,
			run,
			machine,
			local,
			sealed: None,
			alive: true,
			cut_off: false,
			running: None,
			claimable: Vec::new(),
			trained,
			steps,
			committed,
			on_disk,
			sibling_on_disk,
			key,
		}
	}

	/// What the worker's planner says next. The view is the run's; what of it is this provider's own is filled in.
	pub fn plan(&mut self, view: &mut ChainView, next_join: Option<BlockNumber>, time: Moment) -> Option<Task> {
		view.me.clone_from(&self.account);
		view.hour = uptime_hour(time, &self.account);
		view.claimable = self.claimable.iter().fold(0, |sum, (_, amount)| sum.saturating_add(*amount));
		let best = view.best;
		if let Some(run) = &mut view.run {
			let me = run.round.iter().flat_map(|round| &round.participants).find(|one| one.account == self.account);
			if let Some(sealed) = me.and_then(|me| me.sealed).filter(|sealed| self.committed.is_none_or(|(known, _)| known != *sealed)) {
				self.committed = Some((sealed, best));
			}
			let deep = |(_, at): &(H256, BlockNumber)| at.saturating_add(FINALITY) <= best;
			run.finalized_seal = self.committed.filter(deep).map(|(sealed, _)| sealed);
			run.finalized_place = run.round.as_ref().and_then(|round| round.position(&self.account));
			run.next_join = next_join;
		}
		plan_without(view, &self.local, |_| false)
	}

	/// Milliseconds that `task` takes; `None` for one that waits for the chain.
	pub fn takes_ms(&mut self, task: &Task, view: &ChainView) -> Option<u64> {
		let Machine { step_ms, delay_ms, bytes_per_s } = self.machine;
		let config = view.run.as_ref().map(|run| &run.view.config);
		let vector = config.map_or(0, |config| config.model.parameters().saturating_mul(4));
		let fetched = |bytes: u64| {
			let on_line = bytes.saturating_mul(1_000).checked_div(bytes_per_s).unwrap_or(u64::MAX);
			on_line.saturating_add(delay_ms.saturating_mul(2))
		};
		match task {
			Task::BuildGenesis => Some(500),
			Task::FetchCheckpoint { root } if self.on_disk == Some(*root) => Some(300),
			Task::FetchCheckpoint { .. } | Task::FetchStart { .. } | Task::FetchSibling { .. } => Some(fetched(vector.saturating_mul(2))),
			Task::Adopt { .. } => Some(50),
			Task::FindDataset { .. } => Some(fetched(100_000)),
			Task::Train { .. } => {
				let round = view.run.as_ref().and_then(|run| run.round.as_ref());
				let done = self.trained.filter(|(of, _)| Some(*of) == round.map(|round| round.seed)).map_or(0, |(_, done)| done);
				let steps = config.zip(round).map_or(0, |(config, round)| self.steps(config, round, view.best, done));
				self.steps = steps;
				Some(u64::from(steps).saturating_mul(step_ms).saturating_sub(done))
			}
			Task::FetchDeltas { wanted } => Some(fetched(vector.saturating_mul(u64::try_from(wanted.len()).unwrap_or(u64::MAX)))),
			Task::OuterSteps { .. } => Some(2_000),
			_ => None,
		}
	}

	/// Inner steps that it takes of a round, as the worker decides it, on a chain whose blocks come in time. It has done `done` milliseconds of them.
	fn steps(&self, config: &RunConfig, round: &RoundView, best: BlockNumber, done: u64) -> u32 {
		let (train, step_ms) = (&config.train, self.machine.step_ms.max(1));
		let done_before = u32::try_from(done / step_ms).unwrap_or(u32::MAX).min(train.inner_steps);
		let begun = Now { clock: Instant::now(), best };
		let after = u64::from(best.saturating_sub(round.started_at.0)).saturating_mul(SLOT_MS);
		let late = round.late.contains(&self.account).then_some(Duration::from_millis(after));
		let ending = Ending::new(train, &config.durations, (late, round.deadline.unwrap_or(BlockNumber::MAX)), begun, done_before);
		let ends = |steps: &u32| {
			let ms = u64::from(steps.saturating_sub(done_before)).saturating_mul(step_ms);
			let blocks = u32::try_from(ms / SLOT_MS).unwrap_or(u32::MAX);
			let now = Now { clock: begun.clock + Duration::from_millis(ms), best: best.saturating_add(blocks) };
			train.may_end_after(*steps) && ending.ends_after(*steps, now)
		};
		(done_before.saturating_add(1)..=train.inner_steps).find(ends).unwrap_or(train.inner_steps)
	}

	/// What it has after `task`. Deltas are the world's to give.
	pub fn finish(&mut self, task: Task, view: &ChainView, genesis: H256) {
		let run = view.run.as_ref();
		match task {
			Task::BuildGenesis => self.load(run.map(|run| run.view.config.genesis_root)),
			Task::FetchCheckpoint { root } | Task::Adopt { root } => self.load(Some(root)),
			Task::FindDataset { id } => self.local.dataset = Some(id),
			Task::FetchStart { root } => self.local.stored = Some(root),
			Task::FetchSibling { root, .. } => {
				self.local.sibling = Some(Sibling::Here(root));
				self.sibling_on_disk = Some(root);
			}
			Task::Train { drawn } => {
				if let Some(run) = run {
					self.seal((run.id, drawn.round, drawn.attempt), (drawn.seed, drawn.bridged()), &run.view.config.train, genesis);
				}
			}
			Task::OuterSteps { job } => {
				// The same for everybody, as exact arithmetic has it.
				let checkpoint = H256(blake2_256(&codec::Encode::encode(&job)));
				let attestation = Attestation { checkpoint, validation_loss: F32::new(2.0) };
				self.local.next = Some(NextCheckpoint { run: self.run, job, attestation });
			}
			_ => {}
		}
	}

	fn load(&mut self, root: Option<H256>) {
		self.local.checkpoint = root;
		self.on_disk = root;
		// What belongs to earlier rounds is needed no more.
		self.local.deltas.clear();
	}

	/// What it reveals of a round with this seed, `bridged` from the checkpoint of another cohort: hashes of who did it where.
	fn seal(
		&mut self,
		(run, round, attempt): (RunId, RoundIndex, u32),
		(seed, bridged): (H256, Option<H256>),
		train: &TrainConfig,
		genesis: H256,
	) {
		let hash = |what: &str| H256(blake2_256(&codec::Encode::encode(&(what, &self.account, seed, attempt))));
		let roots: Vec<H256> = (0..train.revealed_roots_after(self.steps)).map(|number| hash(&format!("state {number}"))).collect();
		let work = Work {
			state_roots: roots.try_into().unwrap_or_default(),
			delta_root: hash("delta"),
			delta_bytes: DELTA_BYTES,
			tokens: train.tokens_after(self.steps),
		};
		let salt = hash("salt").0;
		let sealed = seal(genesis, run, round, attempt, &self.account, &salt, &work);
		let sealed = bridged.map_or(sealed, |checkpoint| seal_bridged(sealed, checkpoint));
		self.local.pending = vec![PendingWork { run, round, seed, seal: sealed, bridged }];
		self.sealed = Some(Sealed { attempt, salt, work });
	}

	/// Its signature under a proof.
	pub fn prove(&self, key: ProofKey, timestamp: u64, work_hash: H256, genesis: H256) -> (Proof, [u8; 65]) {
		let proof = Proof { key, timestamp, work_hash };
		let signature = self.key.sign(&proof.message(genesis, &self.account)).0;
		(proof, signature)
	}

	/// A proof of uptime in `hour`.
	pub fn prove_uptime(&self, hour: u32, timestamp: u64, genesis: H256) -> (Proof, [u8; 65]) {
		self.prove(ProofKey { run: hour, round: 0, kind: ProofKind::Uptime }, timestamp, H256::zero(), genesis)
	}

	/// Its process ends at once. Of inner steps under way, those up to `lost_ms` ago are on disk.
	pub fn die(&mut self, view: &ChainView, now_ms: u64, lost_ms: u64) {
		self.alive = false;
		let seed = view.run.as_ref().and_then(|run| run.round.as_ref()).map(|round| round.seed);
		if let (Some(Running { task: Task::Train { .. }, since_ms, .. }), Some(seed)) = (self.running.take(), seed) {
			let before = self.trained.filter(|(of, _)| *of == seed).map_or(0, |(_, done)| done);
			self.trained = Some((seed, before.saturating_add(now_ms.saturating_sub(since_ms).saturating_sub(lost_ms))));
		}
	}

	/// Its process starts again, with what is on disk.
	pub fn start(&mut self) {
		self.alive = true;
		self.local.unloaded();
		self.local.sibling = self.sibling_on_disk.map(Sibling::Here);
	}
}

/// Bytes of a delta of the simulated model.
const DELTA_BYTES: u64 = 4 * (288 * 32 + 4 * 32 * 32 + 3 * 32 * 64 + 3 * 32 * 32);
