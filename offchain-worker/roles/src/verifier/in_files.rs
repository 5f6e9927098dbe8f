//! Audits where a round takes more memory than is free: parameters and moments lie in files, and the answers are the same. A dispute about what they find
//! takes the memory all the same, so that none is begun.

use super::{compute::on_thread, Verifier};
use crate::{
	content::rounds::round_label,
	peers::{addresses, peers_of_round},
	WorkerError,
};
use neuroshard_chain_client::ChainAt;
use neuroshard_compute::{exec::CodeError, player::PlayError, round::RoundError};
use neuroshard_data::loader::{Assignment, Loader};
use neuroshard_disputes::cases::case::{CaseError, SourceError};
use neuroshard_graph::{game::Doubt, ParamLayout};
use neuroshard_network::PeerAddress;
use neuroshard_store::{blob_path, ContentDescriptor};
use neuroshard_training::{
	checkpoint::Header,
	files::{steps_bytes, FileEngine, FileJobError, FileStart, FilesError, TileFile},
	priority::Priority,
};
use neuroshard_types::{
	dispute::{ClaimId, WorkClaim},
	run::{zeros_root, RunConfig, Work},
	H256,
};
use std::{
	path::PathBuf,
	sync::{
		atomic::{AtomicBool, Ordering},
		Arc,
	},
};

/// Where files of audits lie in the worker's folder.
pub(super) const FOLDER: &str = "out-of-core";

/// A claim about work, with what it takes to recompute it in files, all of which is in the store.
pub(super) struct FiledClaim {
	pub(super) judged: WorkClaim,
	start: Header,
	loader: Loader,
	/// Of the residual that the delta begins with, if it is not one of zeros.
	residual: Option<H256>,
	/// The worker's folder.
	base: PathBuf,
}

impl Verifier {
	/// What it takes to recompute a claim about work, but for the residual; `None` if there is no such claim, or it started from the checkpoint of another
	/// cohort.
	pub(super) async fn filed(&self, at: &ChainAt, claim: &ClaimId) -> Result<Option<FiledClaim>, WorkerError> {
		let ClaimId { run, round, who, .. } = claim;
		let Some(judged) = at.work_claim(*run, *round, who).await?.filter(|judged| judged.base.is_none()) else { return Ok(None) };
		let config = &judged.config;
		let leaves = leaves(config)?;
		let peers = peers_of_round(at, (*run, *round), config.dataset, &self.me).await?;
		let start = self.content.checkpoint_of((*run, config), judged.start, leaves, &peers).await?;
		self.content.base((*run, config), &peers).await?;
		let dataset = self.content.dataset(at, config.dataset, &self.dataset, &peers).await?;
		let shards = dataset.loader.round_shards(&Assignment::new(&config.train, judged.position, judged.draw))?;
		self.content.shards(&dataset, &shards, &peers).await?;
		let (loader, base) = (dataset.loader.clone(), self.content.base.clone());
		Ok(Some(FiledClaim { judged, start, loader, residual: None, base }))
	}

	/// Brings the residual into the store whose root is `before`: see [`Self::with_residual`].
	pub(super) async fn fetch_residual(&self, at: &ChainAt, claim: &ClaimId, config: &RunConfig, before: H256) -> Result<(), WorkerError> {
		let owner = addresses(at, [claim.who.clone()].into(), &self.me).await?.into_values();
		let others = peers_of_round(at, (claim.run, claim.round), config.dataset, &self.me).await?;
		let peers: Vec<PeerAddress> = owner.chain(others).collect();
		self.content.store.pin(before, &round_label(claim.run, claim.round))?;
		self.content.net.fetch(ContentDescriptor { root: before, leaves: leaves(config)? }, &peers).await?;
		Ok(())
	}

	/// The same claim with the residual that `work` says it began with.
	pub(super) async fn with_filed_residual(
		&self,
		at: &ChainAt,
		claim: &ClaimId,
		filed: FiledClaim,
		work: &Work,
	) -> Result<FiledClaim, WorkerError> {
		let config = &filed.judged.config;
		let zeros = zeros_root(leaves(config)?);
		let before = work.residuals(&config.train).map(|[before, _]| before).filter(|before| *before != zeros);
		if let Some(before) = before {
			self.fetch_residual(at, claim, config, before).await?;
		}
		Ok(FiledClaim { residual: before, ..filed })
	}

	/// As [`neuroshard_disputes::cases::case::Case::audit`], in half of the memory that is `available`.
	pub(super) async fn audit_in_files(
		&self,
		filed: FiledClaim,
		(work, step): (Option<Work>, u32),
		(available, priority): (u64, Priority),
	) -> Result<(Option<Doubt>, Option<H256>), WorkerError> {
		let (threads, cancel) = (self.threads, Arc::new(AtomicBool::new(false)));
		let cancelled = cancel.clone();
		on_thread(priority, cancel, move || filed.audit((work.as_ref(), step), (available / 2, threads), &cancelled)).await?
	}
}

/// Leaves of a vector of what a run trains.
fn leaves(config: &RunConfig) -> Result<u32, WorkerError> {
	let layout = ParamLayout::trained(&config.model, &config.train).map_err(CaseError::from)?;
	u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)
}

impl FiledClaim {
	fn audit(
		&self,
		(work, step): (Option<&Work>, u32),
		(memory, threads): (u64, usize),
		cancelled: &AtomicBool,
	) -> Result<(Option<Doubt>, Option<H256>), WorkerError> {
		let Self { judged, start, loader, residual, base } = self;
		let (RunConfig { model, train, .. }, store) = (&judged.config, base.join("store"));
		let open = |root: H256, layout: &ParamLayout| TileFile::open(&blob_path(&store, root), 0, layout, root, threads);
		let mut engine = FileEngine::new(model, train, threads, steps_bytes(memory, 0), &base.join(FOLDER))?;
		if let Some(adapter) = train.adapter {
			engine.load_model(&open(H256(adapter.base), &ParamLayout::new(model).map_err(CaseError::from)?)?)?;
		}
		let theta = open(start.params, engine.layout())?;
		let residual = residual.map(|root| match open(root, engine.layout()) {
			// As good as one that nobody hands out: nobody can have computed with it.
			Err(FilesError::Encoding { source, .. }) => Err(WorkerError::NoResidual { root, source }),
			opened => Ok(opened?),
		});
		let residual = residual.transpose()?;
		let start = FileStart { residual: residual.as_ref(), ..FileStart::new(&theta, judged.start_round) };
		let window = judged.windows();
		let read = |step: u32, sequence: u32, tokens: &mut [u32]| {
			if cancelled.load(Ordering::Relaxed) {
				return Err(SourceError::Cancelled);
			}
			let missing =
				|| neuroshard_data::DataError::Invalid(format!("no window is drawn for sequence {sequence} of inner step {step}"));
			Ok(loader.read(window(step, sequence).ok_or_else(missing)?, tokens)?)
		};
		let folder = engine.folder().to_path_buf();
		engine.audit(start, (judged.steps, Some(step)), work, &folder, read).map_err(|error| match error {
			FileJobError::Files(error) => error.into(),
			FileJobError::Round(RoundError::Source { source, .. }) => CaseError::from(PlayError::Source(source)).into(),
			FileJobError::Round(RoundError::Step { source, .. }) => FilesError::OutOfCore(source.into()).into(),
			_ => FilesError::Code(CodeError::Value).into(),
		})
	}
}
