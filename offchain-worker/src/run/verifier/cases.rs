//! Cases: a claim, and what it takes to recompute it, from peers and the store.

use super::Verifier;
use crate::{
	chain::ChainAt,
	data::loader::Assignment,
	run::{
		content::{read, round_label},
		WorkerError,
	},
	store::{ContentDescriptor, Store},
	train::checkpoint::{decode_delta, CheckpointError},
	verify::case::{Case, CaseError, SourceError},
};
use neuroshard_graph::{exec::Exec, tiles, ParamLayout};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind},
	RunId, H256,
};
use std::sync::{atomic::AtomicBool, Arc};

impl Verifier {
	/// The claim with what it takes to recompute it: the one at hand if it is the same; `None` if there is no such claim.
	pub(super) async fn case_of(&mut self, at: &ChainAt, claim: &ClaimId, cancel: Arc<AtomicBool>) -> Result<Option<Case>, WorkerError> {
		if let Some((known, case)) = self.case.take() {
			if known == *claim {
				return Ok(Some(case));
			}
		}
		match claim.kind {
			ClaimKind::Work => self.work_case(at, claim, cancel).await,
			ClaimKind::Attestation => self.attestation_case(at, claim).await,
			ClaimKind::Audit => Ok(None),
		}
	}

	async fn work_case(&mut self, at: &ChainAt, claim: &ClaimId, cancel: Arc<AtomicBool>) -> Result<Option<Case>, WorkerError> {
		let ClaimId { run, round, who, .. } = claim;
		let Some(judged) = at.work_claim(*run, *round, who).await? else { return Ok(None) };
		// What the claimant read: the windows that were drawn for it.
		let told = judged.clone();
		#[cfg(any(feature = "faults", test))]
		let told = self.told_by(claim, told);
		let train = &judged.config.train;
		let layout = ParamLayout::new(&judged.config.model).map_err(CaseError::from)?;
		let (theta, momentum) = self.start(*run, &layout, judged.start).await?;
		let dataset = self.content.dataset(at, judged.config.dataset, &self.dataset, &self.book.all()).await?;
		let assignment = Assignment {
			position: told.position,
			seed: told.seed,
			inner_steps: train.inner_steps,
			batch: train.batch,
			seq_len: train.seq_len,
		};
		let shards = dataset.loader.round_shards(&assignment)?;
		self.content.shards(&dataset, &shards, &self.book.all()).await?;
		let source = (dataset.loader.clone(), dataset.library());
		#[cfg(any(feature = "faults", test))]
		let mistake = self.mistake(claim, &judged)?;
		let case = Case::work(self.exec()?, *round, judged, told.windows(), (theta, momentum.0), source, cancel)?;
		#[cfg(any(feature = "faults", test))]
		let case = case.with_mistake(mistake);
		Ok(Some(case))
	}

	async fn attestation_case(&mut self, at: &ChainAt, claim: &ClaimId) -> Result<Option<Case>, WorkerError> {
		let ClaimId { run, round, who, .. } = claim;
		let Some(judged) = at.attestation_claim(*run, *round, who).await? else { return Ok(None) };
		let layout = ParamLayout::new(&judged.config.model).map_err(CaseError::from)?;
		let (theta, momentum) = self.start(*run, &layout, judged.job.start).await?;
		let start = [theta, self.vector(&layout, momentum)?];
		let leaves = u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)?;
		for delta in judged.job.steps.iter().flatten() {
			let content = ContentDescriptor { root: *delta, leaves };
			self.content.delta(round_label(*run, *round), content, None, &self.book.all()).await?;
		}
		let (store, steps, threads) = (self.content.store.clone(), judged.job.steps.clone(), self.threads);
		let deltas = move |step: u32| {
			let roots = steps.get(step as usize).into_iter().flatten();
			roots.map(|root| read_delta(&store, &layout, *root, threads)).collect::<Result<Vec<_>, _>>()
		};
		let (exec, train) = (self.exec()?, judged.config.train.clone());
		#[cfg(any(feature = "faults", test))]
		if let Some(lie) = self.own_fault(claim).and_then(|fault| fault.lie(*round)) {
			let told = move |step| deltas(step).map(|deltas| lie.deltas(deltas));
			return Ok(Some(Case::attestation(exec, judged, &lie.train(&train), start, told)?));
		}
		Ok(Some(Case::attestation(exec, judged, &train, start, deltas)?))
	}

	fn exec(&mut self) -> Result<Arc<Exec>, WorkerError> {
		if let Some(exec) = &self.exec {
			return Ok(exec.clone());
		}
		let exec = Arc::new(Exec::new(self.threads)?);
		self.exec = Some(exec.clone());
		Ok(exec)
	}

	/// Parameters of a checkpoint, and the root of its momentum.
	async fn start(&self, run: RunId, layout: &ParamLayout, root: H256) -> Result<(Vec<f32>, H256), WorkerError> {
		let leaves = u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)?;
		let header = self.content.checkpoint(run, root, leaves, &self.book.all()).await?;
		Ok((self.vector(layout, header.params)?, header.momentum))
	}

	/// A vector from the store.
	fn vector(&self, layout: &ParamLayout, root: H256) -> Result<Vec<f32>, WorkerError> {
		let decoded = tiles::decode(layout, &read(&self.content.store, root)?);
		Ok(decoded.map_err(|source| CheckpointError::Encoding { part: "checkpoint", source })?)
	}
}

fn read_delta(store: &Store, layout: &ParamLayout, root: H256, threads: usize) -> Result<Vec<f32>, SourceError> {
	let bytes = read(store, root).map_err(|_| SourceError::Missing(root))?;
	Ok(decode_delta(layout, &bytes, root, threads)?)
}
