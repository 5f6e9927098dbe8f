//! Cases: a claim, and what it takes to recompute it, from peers and the store.

use super::{SharedBase, Verifier};
use crate::{
	actor::guarded::panicked,
	content::{
		read,
		rounds::{bridge_label, round_label},
		Content,
	},
	memory::{free_beside_rounds, Needs},
	peers::{addresses, participants, peers_of_round},
	WorkerError,
};
use neuroshard_chain_client::ChainAt;
use neuroshard_compute::{exec::Exec, player::WorkStart};
use neuroshard_data::loader::Assignment;
use neuroshard_disputes::cases::case::{Case, CaseError, SourceError};
use neuroshard_graph::{tiles, ParamLayout};
use neuroshard_network::PeerAddress;
use neuroshard_store::{ContentDescriptor, Store};
use neuroshard_training::{
	checkpoint::{decode_sent, CheckpointError},
	kept::{self, OwnRound},
	priority::Priority,
};
use neuroshard_types::{
	audit::AuditClaim,
	dispute::{ClaimId, ClaimKind, WorkClaim},
	run::{zeros_root, RunConfig},
	RunId, H256,
};
use std::sync::{
	atomic::{AtomicBool, Ordering},
	Arc, Mutex, PoisonError,
};

impl Verifier {
	/// The case at hand, if it is of this claim. Any other one is dropped.
	pub(super) fn take_case(&mut self, claim: &ClaimId) -> Option<Case> {
		self.case.take().filter(|(known, _)| known == claim).map(|(_, case)| case)
	}

	/// The claim with what it takes to recompute it, unless it is at hand; `None` if there is no such claim. There is one case at a time: it
	/// is waited until the one before, which may be on its thread still, is gone.
	pub(super) async fn case_of(
		&self,
		at: &ChainAt,
		claim: &ClaimId,
		held: Option<Case>,
		priority: Priority,
	) -> Result<Option<Case>, WorkerError> {
		if held.is_some() {
			return Ok(held);
		}
		let room = self.room.clone().acquire_owned().await.map_err(|_| WorkerError::Stopped)?;
		Ok(self.new_case(at, claim, priority).await?.map(|case| case.in_room(room)))
	}

	/// Waits until no case is on its thread any more.
	pub(super) async fn wait_for_room(&self) -> Result<(), WorkerError> {
		self.room.acquire().await.map(drop).map_err(|_| WorkerError::Stopped)
	}

	/// Checks that a claim about the work of a run with this configuration fits into memory. What this account claimed itself is recomputed in any
	/// case: it has trained that run, and not to defend it costs the whole stake.
	fn check_memory(&self, claim: &ClaimId, config: &RunConfig) -> Result<(), WorkerError> {
		if claim.who == self.me {
			return Ok(());
		}
		Needs::of(config).map_err(CaseError::from)?.check_case(free_beside_rounds(self.leads))
	}

	async fn new_case(&self, at: &ChainAt, claim: &ClaimId, priority: Priority) -> Result<Option<Case>, WorkerError> {
		let ClaimId { run, round, kind, who } = claim;
		match kind {
			ClaimKind::Work => match at.work_claim(*run, *round, who).await? {
				Some(judged) => self.work_case(at, claim, judged, priority).await.map(Some),
				None => Ok(None),
			},
			ClaimKind::Attestation => self.attestation_case(at, claim, priority).await,
			ClaimKind::Audit => match at.audit_claim(*run, *round, who).await? {
				Some(AuditClaim { claim: judged, step, sample }) => {
					Ok(Some(self.work_case(at, claim, judged, priority).await?.with_sample(step, sample)))
				}
				None => Ok(None),
			},
			// Who gave the answer, and who asked for it, play these: see `answers`.
			ClaimKind::Answer(_) => Ok(None),
		}
	}

	/// A claim about a participant's inner steps, or about a state between them.
	async fn work_case(&self, at: &ChainAt, claim: &ClaimId, judged: WorkClaim, priority: Priority) -> Result<Case, WorkerError> {
		let ClaimId { run, round, kind, who } = claim;
		self.check_memory(claim, &judged.config)?;
		// What the claimant read: the windows that were drawn for it. What this account claimed itself is told as it was made.
		let own = *kind == ClaimKind::Work && *who == self.me;
		let mut told = judged.clone();
		if own {
			told.draw.seed = self.conduct.window_seed(*run, *round, judged.draw.seed);
		}
		let train = &judged.config.train;
		let layout = ParamLayout::trained(&judged.config.model, &judged.config.train).map_err(CaseError::from)?;
		let peers = peers_of_round(at, (*run, *round), judged.config.dataset, &self.me).await?;
		let (theta, momentum, base) = match judged.base {
			None => {
				let (theta, momentum) = self.start((*run, &judged.config), &layout, judged.start, &peers).await?;
				(theta, momentum, None)
			}
			Some(base) => {
				let (theta, momentum) = self.start_elsewhere(at, claim, &judged, &layout, &peers).await?;
				(theta, momentum, Some(self.start((*run, &judged.config), &layout, base.checkpoint, &peers).await?))
			}
		};
		let dataset = self.content.dataset(at, judged.config.dataset, &self.dataset, &peers).await?;
		let assignment = Assignment::new(train, told.position, told.draw);
		let shards = dataset.loader.round_shards(&assignment)?;
		self.content.shards(&dataset, &shards, &peers).await?;
		let loader = dataset.loader.clone();
		let source = (if own { self.conduct.reader(*round, loader) } else { loader }, dataset.library());
		let mistake = if own { self.conduct.mistake(*run, *round, &judged.config.model, train).map_err(CaseError::from)? } else { None };
		// Of what this worker trained itself there are states on disk.
		let states = own.then(|| {
			let own = OwnRound::new(*run, *round, judged.draw.seed, judged.base.map(|_| judged.start));
			kept::states(self.content.store.clone(), own, layout, train.batch, self.threads)
		});
		let model = shared_base(&self.content, &self.base, (*run, &judged.config), &peers).await?;
		let model = model.map(|params| if own { self.conduct.model_beside(*round, params) } else { params });
		let start = WorkStart { theta, momentum: momentum.0, model };
		let case = Case::work(self.exec(priority)?, *round, judged, told.windows(), start, source, Arc::default())?;
		let case = match base {
			Some((params, momentum)) => case.with_base((params, momentum.0))?,
			None => case,
		};
		let case = case.with_mistake(mistake);
		let case = match states {
			Some(states) => case.with_states(states),
			None => case,
		};
		Ok(case)
	}

	async fn attestation_case(&self, at: &ChainAt, claim: &ClaimId, priority: Priority) -> Result<Option<Case>, WorkerError> {
		let ClaimId { run, round, who, .. } = claim;
		let Some(judged) = at.attestation_claim(*run, *round, who).await? else { return Ok(None) };
		self.check_memory(claim, &judged.config)?;
		let layout = ParamLayout::trained(&judged.config.model, &judged.config.train).map_err(CaseError::from)?;
		let peers = peers_of_round(at, (*run, *round), judged.config.dataset, &self.me).await?;
		let (theta, momentum) = self.start((*run, &judged.config), &layout, judged.job.start, &peers).await?;
		let start = [theta, self.vector(&layout, momentum)?];
		let layout = ParamLayout::of_deltas(&judged.config.model, &judged.config.train).map_err(CaseError::from)?;
		let leaves = u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)?;
		for delta in judged.job.steps.iter().flatten() {
			let content = ContentDescriptor { root: *delta, leaves };
			self.content.delta(round_label(*run, *round), content, None, &peers).await?;
		}
		let (store, steps, threads) = (self.content.store.clone(), judged.job.steps.clone(), self.threads);
		let cancel = Arc::new(AtomicBool::new(false));
		let cancelled = cancel.clone();
		let read = move |root: &H256| match cancelled.load(Ordering::Relaxed) {
			true => Err(SourceError::Cancelled),
			false => read_delta(&store, &layout, *root, threads),
		};
		let deltas = move |step: u32| steps.get(step as usize).into_iter().flatten().map(&read).collect::<Result<Vec<_>, _>>();
		let (exec, train) = (self.exec(priority)?, judged.config.train.clone());
		if *who == self.me {
			let (conduct, round) = (self.conduct.clone(), *round);
			let train = conduct.outer_step(round, &train);
			let told = move |step| deltas(step).map(|deltas| conduct.deltas(round, deltas));
			return Ok(Some(Case::attestation(exec, judged, &train, start, told, cancel)?));
		}
		Ok(Some(Case::attestation(exec, judged, &train, start, deltas, cancel)?))
	}

	/// The executor whose threads have this priority.
	pub(super) fn exec(&self, priority: Priority) -> Result<Arc<Exec>, WorkerError> {
		let mut execs = self.execs.lock().unwrap_or_else(PoisonError::into_inner);
		if let Some((_, exec)) = execs.iter().find(|(known, _)| *known == priority) {
			return Ok(exec.clone());
		}
		let threads = self.threads;
		// Threads inherit the priority of the one that starts them.
		let starting = std::thread::Builder::new().name("verify".into()).spawn(move || {
			priority.take();
			Exec::new(threads)
		});
		let starting = starting.map_err(|source| WorkerError::File { path: "the verifier's thread".into(), source })?;
		let exec = Arc::new(starting.join().map_err(|panic| panicked("the verifier's executor", panic.as_ref()))??);
		execs.push((priority, exec.clone()));
		Ok(exec)
	}

	/// The case with the residual that the delta of `claim` begins with, whose root is `before`: what its last one has left unsaid. Only that participant
	/// has it, and whoever checked its work.
	pub(super) async fn with_residual(&self, at: &ChainAt, claim: &ClaimId, case: Case, before: H256) -> Result<Case, WorkerError> {
		if case.residual() == Some(before) {
			return Ok(case);
		}
		let Some(config) = case.config().cloned() else { return Ok(case) };
		let layout = ParamLayout::trained(&config.model, &config.train).map_err(CaseError::from)?;
		let leaves = u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)?;
		if before == zeros_root(leaves) {
			return Ok(case.with_residual(before, None));
		}
		self.fetch_residual(at, claim, &config, before).await?;
		let residual = tiles::decode(&layout, &read(&self.content.store, before)?);
		// As good as one that nobody hands out: nobody can have computed with it.
		let residual = residual.map_err(|source| WorkerError::NoResidual { root: before, source })?;
		Ok(case.with_residual(before, Some(residual)))
	}

	/// Parameters of a checkpoint, and the root of its momentum.
	async fn start(
		&self,
		run: (RunId, &RunConfig),
		layout: &ParamLayout,
		root: H256,
		peers: &[PeerAddress],
	) -> Result<(Vec<f32>, H256), WorkerError> {
		let leaves = u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)?;
		let header = self.content.checkpoint_of(run, root, leaves, peers).await?;
		Ok((self.vector(layout, header.params)?, header.momentum))
	}

	/// The same of the checkpoint of another cohort that the work of `claim` started from. Members of that cohort are asked as well. One that nobody can have started from is as good as
	/// one that nobody hands out.
	async fn start_elsewhere(
		&self,
		at: &ChainAt,
		claim: &ClaimId,
		judged: &WorkClaim,
		layout: &ParamLayout,
		peers: &[PeerAddress],
	) -> Result<(Vec<f32>, H256), WorkerError> {
		let ClaimId { run, round, .. } = claim;
		let mut peers = peers.to_vec();
		if let Some(bridge) = at.record(*run, *round).await?.and_then(|record| record.bridge) {
			let members = at.members(bridge.run).await?.into_iter().chain(participants(at, bridge.run, bridge.round).await?);
			peers.extend(addresses(at, members.collect(), &self.me).await?.into_values());
		}
		let (root, leaves) = (judged.start, u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)?);
		let header = self.content.checkpoint_for(*run, root, leaves, &peers, |_| bridge_label(*run, *round)).await?;
		if !header.is_of(judged.start_round, &judged.config.train) {
			return Err(WorkerError::NoStart { root, what: format!("says that it is of round {}", header.round) });
		}
		let theta = tiles::decode(layout, &read(&self.content.store, header.params)?);
		Ok((theta.map_err(|source| WorkerError::NoStart { root, what: source.to_string() })?, header.momentum))
	}

	/// A vector from the store.
	fn vector(&self, layout: &ParamLayout, root: H256) -> Result<Vec<f32>, WorkerError> {
		let decoded = tiles::decode(layout, &read(&self.content.store, root)?);
		Ok(decoded.map_err(|source| CheckpointError::Encoding { part: "checkpoint", source })?)
	}
}

/// Parameters of the model that the run's adapter is beside, which cases share; `None` without an adapter. They are kept with the run, whosever case has them
/// in memory.
async fn shared_base(
	content: &Content,
	known: &Mutex<Option<SharedBase>>,
	run: (RunId, &RunConfig),
	peers: &[PeerAddress],
) -> Result<Option<Arc<Vec<f32>>>, WorkerError> {
	let Some(adapter) = run.1.train.adapter else { return Ok(None) };
	content.base(run, peers).await?;
	let shared = |base: &Option<SharedBase>| base.as_ref().filter(|(root, _)| *root == adapter.base)?.1.upgrade();
	if let Some(params) = shared(&known.lock().unwrap_or_else(PoisonError::into_inner)) {
		return Ok(Some(params));
	}
	let params = Content::read_base(&content.store, run.1)?.map(Arc::new);
	*known.lock().unwrap_or_else(PoisonError::into_inner) = params.as_ref().map(|params| (adapter.base, Arc::downgrade(params)));
	Ok(params)
}

fn read_delta(store: &Store, layout: &ParamLayout, root: H256, threads: usize) -> Result<Vec<f32>, SourceError> {
	let bytes = read(store, root).map_err(|_| SourceError::Missing(root))?;
	Ok(decode_sent(layout, &bytes, root, threads)?)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::content::{
		rounds::base_label,
		tests::{alone, beside},
	};

	#[tokio::test]
	async fn a_model_that_another_runs_case_has_in_memory_is_kept_with_this_run_too() {
		let dir = tempfile::tempdir().unwrap();
		let (content, _stop) = alone(dir.path()).await;
		let (config, root) = beside(&content.store);
		let known = Mutex::new(None);
		let first = shared_base(&content, &known, (3, &config), &[]).await.unwrap().unwrap();
		let second = shared_base(&content, &known, (4, &config), &[]).await.unwrap().unwrap();
		assert!(Arc::ptr_eq(&first, &second), "it is in memory once");
		assert_eq!([3, 4].map(|run| content.store.pinned(&base_label(run))), [[root], [root]]);
		drop((first, second));
		assert!(known.lock().unwrap().as_ref().unwrap().1.upgrade().is_none(), "nobody has it in memory without a case");
	}
}
