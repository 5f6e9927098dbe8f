//! What happens when, and what goes wrong.

use crate::{
	chain::{claimable, Block, Chain, Terms, SLOT_MS},
	provider::{Machine, Provider, Running, Sealed},
	report::Report,
};
use neuroshard_roles::decide::{ChainView, Delta, Task};
use neuroshard_runtime::{RuntimeCall, Staking, Training};
use neuroshard_types::{
	proof::{ProofKey, ProofKind},
	run::{vote_of, ParticipantView, Phase},
	AccountId, BlockNumber, RunId, H256,
};
use rand::{rngs::StdRng, Rng, SeedableRng};
use sp_io::hashing::blake2_256;
use std::{
	cmp::Reverse,
	collections::{BTreeMap, BTreeSet, BinaryHeap},
};

/// A process that is dead for so long is not waited for.
const SILENCE_MS: u64 = 30_000;
/// Blocks after which an act that is still wanted, and is in no pool, is sent again.
const RESENT: BlockNumber = 5;
/// Blocks between two looks of a provider at what it can claim.
const CLAIMS_EVERY: BlockNumber = 600;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Plan {
	/// Providers.
	pub providers: u32,
	/// Most of them in a run.
	pub places: u32,
	/// What each run trains.
	pub terms: Terms,
	/// Milliseconds from when the members of a run come to when those of the next one do.
	pub apart_ms: u64,
	/// Everything that is drawn follows from it.
	pub seed: u64,
	/// Mean time between faults, in milliseconds; `None` for none.
	pub faults_every_ms: Option<u64>,
	/// Blocks between two looks at what must always hold; at the end there is one in any case.
	pub checked_every: BlockNumber,
}

/// Something that happens.
#[derive(Clone, Debug)]
enum Event {
	/// A block is due.
	Block,
	/// A provider has heard of the newest block, or has finished something.
	Look(u32),
	/// A provider's task is done, if it is still this attempt.
	Done(u32, u64),
	/// An extrinsic reaches the pool.
	Arrives(AccountId, Box<RuntimeCall>),
	/// Something goes wrong.
	Fault,
	/// A provider's process starts again.
	Restart(u32),
	/// These are no longer cut off.
	Heal(Vec<u32>),
}

/// An event and when it happens. Of two at one time the earlier made comes first.
struct At {
	time_ms: u64,
	number: u64,
	event: Event,
}

impl PartialEq for At {
	fn eq(&self, other: &Self) -> bool {
		(self.time_ms, self.number) == (other.time_ms, other.number)
	}
}

impl Eq for At {}

impl PartialOrd for At {
	fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
		Some(self.cmp(other))
	}
}

impl Ord for At {
	fn cmp(&self, other: &Self) -> std::cmp::Ordering {
		(self.time_ms, self.number).cmp(&(other.time_ms, other.number))
	}
}

/// A network of simulated providers.
pub struct World {
	plan: Plan,
	chain: Chain,
	providers: Vec<Provider>,
	by_account: BTreeMap<AccountId, u32>,
	/// Providers of each run.
	members: Vec<Vec<u32>>,
	events: BinaryHeap<Reverse<At>>,
	made: u64,
	now_ms: u64,
	dice: StdRng,
	/// Since when each dead provider is.
	dead: BTreeMap<u32, u64>,
	/// Deltas that somebody beside their owner has.
	spread: BTreeSet<H256>,
	/// No block is made before this time.
	stalled_until_ms: u64,
	report: Report,
}

impl World {
	/// A network as `plan` says, before its first block.
	///
	/// # Errors
	/// What the chain refused.
	pub fn new(plan: Plan) -> Result<Self, String> {
		let mut dice = StdRng::seed_from_u64(plan.seed);
		let runs = plan.providers.div_ceil(plan.places.max(1)).max(1);
		// Nearly as many in each run.
		let of_run = |number: u32| number % runs;
		let mut members = vec![Vec::new(); usize::try_from(runs).unwrap_or_default()];
		for number in 0..plan.providers {
			if let Some(list) = usize::try_from(of_run(number)).ok().and_then(|run| members.get_mut(run)) {
				list.push(number);
			}
		}
		let places: Vec<u32> = members.iter().map(|list: &Vec<u32>| u32::try_from(list.len()).unwrap_or(u32::MAX)).collect();
		let chain = Chain::new(plan.providers, &places, &plan.terms)?;
		let providers: Vec<Provider> =
			(0..plan.providers).map(|number| Provider::new(number, of_run(number), machine(&mut dice))).collect();
		let by_account = providers.iter().map(|one| (one.account.clone(), one.number)).collect();
		let report = Report::new(plan.providers, runs, plan.terms.rounds);
		let mut world = Self {
			plan,
			chain,
			providers,
			by_account,
			members,
			events: BinaryHeap::new(),
			made: 0,
			now_ms: 0,
			dice,
			dead: BTreeMap::new(),
			spread: BTreeSet::new(),
			stalled_until_ms: 0,
			report,
		};
		world.at(SLOT_MS, Event::Block);
		world.next_fault();
		Ok(world)
	}

	/// Goes on until all runs are finished, or `most_blocks` are made, and says what came of it.
	pub fn run(mut self, most_blocks: BlockNumber) -> Report {
		while !self.report.is_finished() && self.chain.number() < most_blocks {
			let Some(Reverse(At { time_ms, event, .. })) = self.events.pop() else { break };
			self.now_ms = time_ms;
			self.happen(event);
		}
		self.finish()
	}

	fn at(&mut self, time_ms: u64, event: Event) {
		self.made = self.made.saturating_add(1);
		self.events.push(Reverse(At { time_ms, number: self.made, event }));
	}

	fn happen(&mut self, event: Event) {
		match event {
			Event::Block if self.now_ms < self.stalled_until_ms => self.at(self.stalled_until_ms, Event::Block),
			Event::Block => self.block(),
			Event::Look(who) => self.look(who),
			Event::Done(who, attempt) => self.done(who, attempt),
			Event::Arrives(who, call) => self.chain.submit(who, *call),
			Event::Fault => {
				self.fault();
				self.next_fault();
			}
			Event::Restart(who) => {
				self.dead.remove(&who);
				if let Some(provider) = self.provider(who) {
					provider.start();
				}
				self.look(who);
			}
			Event::Heal(group) => {
				for who in group {
					if let Some(provider) = self.provider(who) {
						provider.cut_off = false;
					}
					self.look(who);
				}
			}
		}
	}

	fn provider(&mut self, who: u32) -> Option<&mut Provider> {
		self.providers.get_mut(usize::try_from(who).ok()?)
	}

	/// Whether a process runs that others can reach.
	fn is_up(&self, who: u32) -> bool {
		usize::try_from(who).ok().and_then(|who| self.providers.get(who)).is_some_and(|one| self.reaches(one))
	}

	fn reaches(&self, one: &Provider) -> bool {
		one.alive && !one.cut_off && u64::from(one.run).saturating_mul(self.plan.apart_ms) <= self.now_ms
	}

	fn block(&mut self) {
		let block: Block = self.chain.block();
		let waiting = self.chain.waiting();
		self.report.note(&block, waiting);
		if self.report.broken.is_none() && block.number.is_multiple_of(self.plan.checked_every.max(1)) {
			self.report.broken = self.chain.broken().map(|broken| format!("in block {}: {broken}", block.number));
		}
		for run in 0..self.report.runs() {
			let adopted = self.chain.view(run).and_then(|view| view.run.as_ref()).map_or(0, |run| run.view.rounds_adopted);
			self.report.note_run(run, adopted, block.number);
		}
		// Earnings reach what each provider has set at different times.
		let looks = |one: &&mut Provider| one.number % CLAIMS_EVERY == block.number % CLAIMS_EVERY;
		for one in self.providers.iter_mut().filter(looks) {
			one.claimable = self.chain.read(|| claimable(&one.account));
		}
		let heard: Vec<(u32, u64)> =
			self.providers.iter().filter(|one| self.reaches(one)).map(|one| (one.number, one.machine.delay_ms)).collect();
		for (who, delay) in heard {
			self.at(self.now_ms.saturating_add(delay), Event::Look(who));
		}
		self.at(self.now_ms.saturating_add(SLOT_MS), Event::Block);
	}

	/// Those of a run whom nobody waits for.
	fn missing(&self, run: RunId) -> BTreeSet<AccountId> {
		let dead = self.dead.iter().filter(|(_, since)| since.saturating_add(SILENCE_MS) <= self.now_ms).map(|(who, _)| *who);
		let of_run = dead.filter_map(|who| self.providers.get(usize::try_from(who).ok()?)).filter(|one| one.run == run);
		of_run.map(|one| one.account.clone()).collect()
	}

	/// A provider looks at the chain, and begins what is due.
	fn look(&mut self, who: u32) {
		if !self.is_up(who) {
			return;
		}
		let Some(run) = self.provider(who).map(|one| one.run) else { return };
		let missing = self.missing(run);
		let Self { chain, providers, now_ms, .. } = self;
		let Some(provider) = usize::try_from(who).ok().and_then(|who| providers.get_mut(who)) else { return };
		let is_member = |view: &&mut ChainView| view.run.as_ref().is_some_and(|run| run.members.binary_search(&provider.account).is_ok());
		let next_join = match chain.view(run).filter(is_member) {
			Some(_) => None,
			None => {
				let (account, best) = (provider.account.clone(), chain.number());
				chain.read(|| Training::next_join(run, account)).filter(|block| *block > best)
			}
		};
		let (best, time) = (chain.number(), chain.time());
		// Looked up only for an act that should have come.
		let since = provider.running.as_ref().filter(|running| running.task.is_act()).map(|running| running.since);
		let waits = since.is_some_and(|since| best >= since.saturating_add(RESENT)) && chain.waits(&provider.account);
		let Some(view) = chain.view(run) else { return };
		provider.local.missing = missing;
		let plan = provider.plan(view, next_join, time);
		if let Some(running) = &provider.running {
			let stale = running.task.is_act() && best >= running.since.saturating_add(RESENT) && !waits;
			if !stale && (running.task.is_part_of(plan.as_ref()) || !(running.task.is_long() || running.task.is_act())) {
				return;
			}
			provider.running = None;
		}
		let Some(task) = plan else { return };
		let takes = provider.takes_ms(&task, view);
		let (attempt, since_ms) = (self.made, *now_ms);
		provider.running = Some(Running { task: task.clone(), attempt, since_ms, since: best });
		match takes {
			Some(takes) => self.at(since_ms.saturating_add(takes), Event::Done(who, attempt)),
			None => self.send(who, &task),
		}
	}

	/// A task is done.
	fn done(&mut self, who: u32, attempt: u64) {
		let genesis = self.chain.genesis();
		let Some(provider) = self.provider(who).filter(|one| one.alive) else { return };
		let Some(Running { task, .. }) = provider.running.take_if(|running| running.attempt == attempt) else { return };
		let run = provider.run;
		if let Task::FetchDeltas { wanted } = &task {
			let roots: Vec<H256> = wanted.iter().map(|(_, root)| *root).filter(|root| self.has_come(run, *root)).collect();
			self.spread.extend(roots.iter().copied());
			if let Some(provider) = self.provider(who) {
				provider.local.deltas.extend(roots.into_iter().map(|root| (root, Delta::Held)));
			}
		} else {
			let Self { chain, providers, .. } = self;
			let (provider, view) = (usize::try_from(who).ok().and_then(|who| providers.get_mut(who)), chain.view(run));
			if let (Some(provider), Some(view)) = (provider, view) {
				provider.finish(task, view, genesis);
			}
		}
		self.look(who);
	}

	/// Whether somebody who can be reached has a delta of a run.
	fn has_come(&mut self, run: RunId, root: H256) -> bool {
		if self.spread.contains(&root) {
			return true;
		}
		let round = self.chain.view(run).and_then(|view| view.run.as_ref()).and_then(|run| run.round.as_ref());
		let of = |one: &ParticipantView| one.work.as_ref().is_some_and(|work| work.delta_root == root);
		let owner = round.and_then(|round| round.participants.iter().find(|one| of(one))).map(|one| one.account.clone());
		owner.and_then(|owner| self.by_account.get(&owner).copied()).is_some_and(|owner| self.is_up(owner))
	}

	/// Sends what a task says to the chain.
	fn send(&mut self, who: u32, task: &Task) {
		let (genesis, time) = (self.chain.genesis(), self.chain.time());
		let Self { chain, providers, .. } = self;
		let Some(provider) = usize::try_from(who).ok().and_then(|who| providers.get_mut(who)) else { return };
		let run = provider.run;
		let at = chain.view(run).and_then(|view| view.run.as_ref()).and_then(|run| run.round.as_ref());
		let (round, attempt) = at.map_or((0, 0), |round| (round.round, round.attempt));
		let call: Option<RuntimeCall> = match task {
			Task::Join => Some(pallet_neuro_training::Call::join { run }.into()),
			Task::Leave => Some(pallet_neuro_training::Call::leave { run }.into()),
			Task::Commit => provider
				.local
				.pending
				.last()
				.map(|pending| pallet_neuro_training::Call::commit { run, round, attempt, sealed: pending.seal }.into()),
			Task::Reveal => provider.sealed.clone().map(|Sealed { attempt, salt, work }| {
				let work_hash = H256(blake2_256(&codec::Encode::encode(&work)));
				let key = ProofKey { run, round, kind: ProofKind::Training };
				let (proof, signature) = provider.prove(key, time, work_hash, genesis);
				pallet_neuro_training::Call::reveal { run, round, attempt, salt, work, proof, proof_signature: signature }.into()
			}),
			Task::Vote { vote } => Some(pallet_neuro_training::Call::vote_availability { run, round, attempt, vote: vote.clone() }.into()),
			Task::Attest { attestation } => {
				Some(pallet_neuro_training::Call::attest { run, round, attempt, attestation: *attestation }.into())
			}
			Task::ReportMissing { missing } => {
				let phase = at.map_or(Phase::Joining, |round| round.phase);
				debug_assert!((0..128).any(|place| vote_of(missing, place)), "nobody is missing");
				Some(pallet_neuro_training::Call::report_missing { run, round, attempt, phase, missing: missing.clone() }.into())
			}
			Task::ProveUptime { hour } => {
				provider.local.uptime = Some(*hour);
				let (proof, signature) = provider.prove_uptime(*hour, time, genesis);
				Some(pallet_neuro_ponw::Call::submit_uptime { proof, signature }.into())
			}
			Task::Claim => {
				let first = provider.claimable.first().map(|(era, _)| *era);
				provider.claimable.retain(|(era, _)| Some(*era) != first);
				first.map(|era| pallet_neuro_rewards::Call::claim { era }.into())
			}
			_ => None,
		};
		let (account, delay) = (provider.account.clone(), provider.machine.delay_ms);
		// What nobody waits for is done when it is sent.
		if task.is_chore() {
			provider.running = None;
		}
		if let Some(call) = call {
			self.report.note_call(task);
			self.at(self.now_ms.saturating_add(delay), Event::Arrives(account, Box::new(call)));
		}
	}

	fn next_fault(&mut self) {
		let Some(every) = self.plan.faults_every_ms else { return };
		let pause = self.dice.gen_range(1..=every.saturating_mul(2).max(1));
		self.at(self.now_ms.saturating_add(pause), Event::Fault);
	}

	/// One of the things that go wrong.
	fn fault(&mut self) {
		let who = self.dice.gen_range(0..self.plan.providers.max(1));
		match self.dice.gen_range(0..10) {
			0 => {
				let stall = self.dice.gen_range(SLOT_MS..=60_000);
				self.stalled_until_ms = self.now_ms.saturating_add(stall);
				self.report.stalls = self.report.stalls.saturating_add(1);
			}
			1 | 2 => {
				// Up to a third of a run is cut off from everybody.
				let run = self.provider(who).map_or(0, |one| one.run);
				let members = usize::try_from(run).ok().and_then(|run| self.members.get(run)).cloned().unwrap_or_default();
				let most = (members.len() / 3).max(1);
				let count = self.dice.gen_range(1..=most);
				let first = self.dice.gen_range(0..members.len().max(1));
				let group: Vec<u32> = members.iter().cycle().skip(first).take(count).copied().collect();
				for one in &group {
					if let Some(provider) = self.provider(*one) {
						provider.cut_off = true;
					}
				}
				let healed = self.now_ms.saturating_add(self.dice.gen_range(1_000..=90_000));
				self.report.partitions = self.report.partitions.saturating_add(1);
				self.at(healed, Event::Heal(group));
			}
			_ => {
				let (lost, pause) = (self.dice.gen_range(0..=120_000), self.dice.gen_range(1_000..=120_000));
				let Self { chain, providers, now_ms, .. } = self;
				let Some(provider) = usize::try_from(who).ok().and_then(|who| providers.get_mut(who)).filter(|one| one.alive) else {
					return;
				};
				let Some(view) = chain.view(provider.run) else { return };
				provider.die(view, *now_ms, lost);
				self.dead.insert(who, self.now_ms);
				self.report.kills = self.report.kills.saturating_add(1);
				self.at(self.now_ms.saturating_add(pause), Event::Restart(who));
			}
		}
	}

	fn finish(mut self) -> Report {
		let broken = self.chain.broken();
		self.report.broken = self.report.broken.take().or(broken);
		for run in 0..self.report.runs() {
			for round in 0..self.plan.terms.rounds {
				let included = self.chain.read(|| crate::chain::included(run, round));
				if let Some((places, inner_steps)) = included {
					self.report.note_round(places, &inner_steps);
				}
			}
		}
		let accounts: Vec<AccountId> = self.providers.iter().map(|one| one.account.clone()).collect();
		let bond = |who: &AccountId| Staking::provider(who.clone()).map_or(0, |one| one.bonded);
		let bonded = self.chain.read(|| accounts.iter().map(bond).collect::<Vec<_>>());
		self.report.slashed = u32::try_from(bonded.iter().filter(|bonded| **bonded != crate::chain::BOND).count()).unwrap_or(u32::MAX);
		self.report
	}
}

/// A machine as they are: four times slower than others at most, behind lines of 10 to 1,000 Mbit/s.
fn machine(dice: &mut StdRng) -> Machine {
	Machine {
		step_ms: dice.gen_range(50..=200),
		delay_ms: dice.gen_range(10..=150),
		bytes_per_s: *[1_250_000, 12_500_000, 125_000_000].get(dice.gen_range(0..3)).unwrap_or(&1_250_000),
	}
}
