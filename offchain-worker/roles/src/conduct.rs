//! Conduct of a worker where it could do something else.

use crate::WorkerError;
use futures::future::BoxFuture;
use neuroshard_compute::trace::Mistake;
use neuroshard_data::loader::Loader;
use neuroshard_graph::{config::ConfigError, ModelConfig, TrainConfig};
use neuroshard_quorum::Slip;
use neuroshard_training::{
	checkpoint::Checkpoint,
	engine::Engine,
	round::{TrainError, Trained},
};
use neuroshard_types::{
	assignment::Draw,
	dispute::ClaimKind,
	run::{Attestation, Work},
	RoundIndex, RunId, H256,
};
use std::{fmt::Debug, sync::Arc};

/// Place of work that is due in a run.
#[derive(Clone, Debug)]
pub struct Due {
	/// The run.
	pub run: RunId,
	/// Its round.
	pub round: RoundIndex,
	/// What the round's windows are drawn by.
	pub draw: Draw,
	/// Place among the participants.
	pub position: u32,
	/// Residual of the rounds before, where deltas are sent as a code that leaves one; `None` is one of zeros.
	pub residual: Option<Vec<f32>>,
}

/// Work and the encoding of its delta.
pub type Made = (Work, Vec<u8>);

/// Conduct of a worker. Every method's own body is what an honest worker does; programs that show what becomes of cheaters replace some.
///
/// What a conduct draws must follow from account, run and round, so that a cheater still knows after a restart what it did, and can defend it.
pub trait Conduct: Debug + Send + Sync {
	/// Returns whether [`Self::made`] or [`Self::work`] may give something else than the work that is due in this round.
	fn departs_in(&self, round: RoundIndex) -> bool {
		let _ = round;
		false
	}

	/// Takes over work for the round with this seed that somebody else has made, and waits for it; `None` if there is no such work to wait for.
	fn made(&self, run: RunId, round: RoundIndex, seed: H256) -> Option<BoxFuture<'static, Result<Made, WorkerError>>> {
		let _ = (run, round, seed);
		None
	}

	/// Returns the seed that windows are drawn with in place of `seed`, the round's own.
	fn window_seed(&self, run: RunId, round: RoundIndex, seed: H256) -> H256 {
		let _ = (run, round);
		seed
	}

	/// Returns what the round's windows are read with in place of `loader`.
	fn reader(&self, round: RoundIndex, loader: Loader) -> Loader {
		let _ = round;
		loader
	}

	/// Returns the parameters of the model that an adapter is trained beside in place of these, with which the round's work is defended.
	fn model_beside(&self, round: RoundIndex, params: Arc<Vec<f32>>) -> Arc<Vec<f32>> {
		let _ = round;
		params
	}

	/// Does what is revealed in place of the work that is due, from a checkpoint, with a delta from `base` if the participant is a bridge; `None` if
	/// the work is to be done as it should be.
	///
	/// # Errors
	/// [`TrainError`] as for honest work.
	fn work(
		&self,
		due: Due,
		engine: &mut Engine,
		checkpoint: &Checkpoint,
		base: Option<&Checkpoint>,
		loader: &Loader,
	) -> Result<Option<Trained>, TrainError> {
		let _ = (due, engine, checkpoint, base, loader);
		Ok(None)
	}

	/// Returns whether work that is committed to is not revealed.
	fn keeps_work_back(&self, round: RoundIndex) -> bool {
		let _ = round;
		false
	}

	/// Returns the deltas that a round's outer step aggregates in place of these.
	fn deltas(&self, round: RoundIndex, deltas: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
		let _ = round;
		deltas
	}

	/// Returns the configuration that a round's outer step is taken with in place of the run's.
	fn outer_step(&self, round: RoundIndex, train: &TrainConfig) -> TrainConfig {
		let _ = round;
		train.clone()
	}

	/// Attests a checkpoint before it is validated; `None` if it is to be validated first.
	fn attest(&self, round: RoundIndex, checkpoint: &Checkpoint) -> Option<Attestation> {
		let _ = (round, checkpoint);
		None
	}

	/// Returns the mistake with which the round's work was made, and is defended.
	///
	/// # Errors
	/// [`ConfigError`] for a configuration that is refused.
	fn mistake(&self, run: RunId, round: RoundIndex, model: &ModelConfig, train: &TrainConfig) -> Result<Option<Mistake>, ConfigError> {
		let _ = (run, round, model, train);
		Ok(None)
	}

	/// Returns the wrong bit in what this account gives the others of its quorum in a round, and by which it defends its part.
	fn slip(&self, run: RunId, round: RoundIndex, train: &TrainConfig) -> Option<Slip> {
		let _ = (run, round, train);
		None
	}

	/// Returns whether the worker defends its claims of this kind in this round.
	fn answers_disputes(&self, kind: ClaimKind, round: RoundIndex) -> bool {
		let _ = (kind, round);
		true
	}

	/// Returns a sample to report as an auditor in place of one that is computed.
	fn sample(&self, run: RunId, round: RoundIndex) -> Option<H256> {
		let _ = (run, round);
		None
	}
}

/// Does everything as it should be done.
#[derive(Clone, Copy, Debug)]
pub struct Honest;

impl Conduct for Honest {}
