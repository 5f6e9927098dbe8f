//! Cheating on purpose, for tests and demonstrations of what becomes of it.
//!
//! But for what a [`Fault`] or an [`AnswerLie`] names, such a worker does what every worker does. Everything that a fault draws follows from account,
//! run and round, so that after a restart a cheater still knows what it did, and can defend it.

mod accomplice;
mod answers;
mod cheat;
mod checkpoint;
mod options;
#[cfg(test)]
mod tests;
mod work;

pub use answers::{AnswerCheat, AnswerLie};
pub use cheat::Cheat;
pub use checkpoint::CheckpointLie;
use futures::{future::BoxFuture, FutureExt};
use neuroshard_compute::trace::Mistake;
use neuroshard_data::loader::Loader;
use neuroshard_disputes::answers::Lie;
use neuroshard_graph::{config::ConfigError, graph::Op, merkle::blake2_256, plan::Plan, ModelConfig, TrainConfig};
use neuroshard_quorum::{Slip, Slipped};
use neuroshard_roles::{Conduct, Due, Honest, Made, WorkerError};
use neuroshard_training::{
	checkpoint::Checkpoint,
	engine::Engine,
	round::{TrainError, Trained},
};
use neuroshard_types::{dispute::ClaimKind, run::Attestation, AccountId, RoundIndex, RunId, H256};
use neuroshard_worker::cli::Conducts;
pub use options::CheatOptions;
use rand::{rngs::StdRng, Rng, SeedableRng};
use std::{path::PathBuf, sync::Arc};
pub use work::false_work;

/// What is done wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deed {
	/// Random numbers instead of work.
	Noise,
	/// Half of the inner steps, revealed as all of them.
	FewerSteps,
	/// The work of the accomplice whose base folder this is.
	Copy(PathBuf),
	/// The accomplice of [`Deed::Copy`]: commits to its own work, and does not reveal it.
	HandOver,
	/// Inner steps on other windows than those drawn.
	WrongShard,
	/// Inner steps in which every token is a target of the loss. Only where a dataset is masked, something is wrong with that.
	WrongMask,
	/// Inner steps of an adapter beside another model than the run's. Only where an adapter is trained, something is wrong with that.
	WrongBase,
	/// One wrong bit of a weight, or one wrong number of what another operator gives, in one inner step, on which the rest of the round is built. Only where
	/// there is that operator, something is wrong with that.
	BitFlip(Op),
	/// A checkpoint in which one delta counts twice, and another one not at all.
	WrongAggregate,
	/// A checkpoint whose outer step is twice as long.
	WrongOuterStep,
	/// As [`Deed::BitFlip`] of a weight, without a word in disputes.
	Silence,
	/// One wrong number of what a member of a quorum gives the others in one inner step, or of what it goes on with.
	Slip(Slipped),
	/// A random sample of work that it was drawn to audit, without running it.
	LazyAudit,
}

/// What a worker does wrong, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
	/// The cheater.
	pub who: AccountId,
	/// What it does.
	pub deed: Deed,
	/// Round in which it does that.
	pub round: RoundIndex,
	/// Whether it does that in all later rounds too.
	pub again: bool,
}

impl Fault {
	/// Whether this is a round to cheat in.
	pub fn happens_in(&self, round: RoundIndex) -> bool {
		round == self.round || (self.again && round > self.round)
	}

	/// What is wrong with the checkpoint that the worker attests in `round`; `None` for a right one.
	pub fn lie(&self, round: RoundIndex) -> Option<CheckpointLie> {
		let lie = match self.deed {
			Deed::WrongAggregate => Some(CheckpointLie::Aggregate),
			Deed::WrongOuterStep => Some(CheckpointLie::OuterStep),
			_ => None,
		};
		lie.filter(|_| self.happens_in(round))
	}

	fn draw(&self, run: RunId, round: RoundIndex) -> [u8; 32] {
		blake2_256(&codec::Encode::encode(&(b"neuroshard/fault/1", &self.who, run, round)))
	}

	fn random(&self, run: RunId, round: RoundIndex) -> StdRng {
		StdRng::from_seed(self.draw(run, round))
	}
}

impl Conduct for Fault {
	fn departs_in(&self, round: RoundIndex) -> bool {
		self.happens_in(round)
	}

	fn made(&self, run: RunId, round: RoundIndex, seed: H256) -> Option<BoxFuture<'static, Result<Made, WorkerError>>> {
		match &self.deed {
			Deed::Copy(from) if self.happens_in(round) => Some(accomplice::taken_over(from.clone(), run, seed).boxed()),
			_ => None,
		}
	}

	fn work(
		&self,
		due: Due,
		engine: &mut Engine,
		checkpoint: &Checkpoint,
		base: Option<&Checkpoint>,
		loader: &Loader,
	) -> Result<Option<Trained>, TrainError> {
		false_work(self, due, engine, (checkpoint, base), loader)
	}

	fn deltas(&self, round: RoundIndex, deltas: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
		match self.lie(round) {
			Some(lie) => lie.deltas(deltas),
			None => deltas,
		}
	}

	fn outer_step(&self, round: RoundIndex, train: &TrainConfig) -> TrainConfig {
		self.lie(round).map_or_else(|| train.clone(), |lie| lie.train(train))
	}

	fn attest(&self, round: RoundIndex, checkpoint: &Checkpoint) -> Option<Attestation> {
		self.lie(round).map(|lie| lie.attest(checkpoint))
	}

	fn keeps_work_back(&self, round: RoundIndex) -> bool {
		self.deed == Deed::HandOver && self.happens_in(round)
	}

	fn answers_disputes(&self, kind: ClaimKind, round: RoundIndex) -> bool {
		let speechless = match kind {
			ClaimKind::Audit => self.deed == Deed::LazyAudit,
			ClaimKind::Work | ClaimKind::Attestation => {
				matches!(self.deed, Deed::Noise | Deed::FewerSteps | Deed::Copy(_) | Deed::Silence)
			}
			// See [`AnswerLie`].
			ClaimKind::Answer(_) => false,
		};
		!(speechless && self.happens_in(round))
	}

	fn slip(&self, run: RunId, round: RoundIndex, train: &TrainConfig) -> Option<Slip> {
		let what = match self.deed {
			Deed::Slip(what) => what,
			Deed::Silence => Slipped::Parameters,
			_ => return None,
		};
		let mut random = self.random(run, round);
		let (step, element, bit) = (random.gen_range(0..train.inner_steps), random.gen(), random.gen_range(18..23));
		self.happens_in(round).then_some(Slip { step, what, element, mask: 1 << bit })
	}

	fn sample(&self, run: RunId, round: RoundIndex) -> Option<H256> {
		(self.deed == Deed::LazyAudit && self.happens_in(round)).then(|| H256(self.draw(run, round)))
	}

	fn mistake(&self, run: RunId, round: RoundIndex, model: &ModelConfig, train: &TrainConfig) -> Result<Option<Mistake>, ConfigError> {
		let op = match self.deed {
			Deed::BitFlip(op) if self.happens_in(round) => op,
			Deed::Silence if self.happens_in(round) => Op::AdamW,
			_ => return Ok(None),
		};
		if self.deed == Deed::BitFlip(Op::AdamW) && train.code().is_some() {
			let mut random = self.random(run, round);
			// The first stage is the one that encodes.
			let (element, mask) = (random.gen(), 1 << random.gen_range(12..23));
			return Ok(Some(Mistake { step: train.inner_steps, stage: 0, output: 0, element, mask }));
		}
		let plan = Plan::training(model, train)?;
		let stages: Vec<u32> = (0..).zip(plan.stages()).filter(|(_, stage)| stage.op == op).map(|(number, _)| number).collect();
		if stages.is_empty() {
			// A step of an adapter has no gradient of the embedding.
			return Ok(None);
		}
		let mut random = self.random(run, round);
		let step = random.gen_range(0..train.inner_steps);
		let stage = stages.get(random.gen_range(0..stages.len().max(1))).copied().ok_or(ConfigError::Dimension)?;
		// The first output of the update is the weights; the element is taken modulo their number.
		let (output, element, bit) = (0, random.gen(), random.gen_range(12..23));
		// What is summed up with many others is changed so much that it shows in the sum: to a number near zero, or from zero to one.
		let mask = if op == Op::AdamW { 1 << bit } else { 1.0f32.to_bits() };
		Ok(Some(Mistake { step, stage, output, element, mask }))
	}

	fn window_seed(&self, run: RunId, round: RoundIndex, seed: H256) -> H256 {
		match self.deed == Deed::WrongShard && self.happens_in(round) {
			true => H256(self.draw(run, round)),
			false => seed,
		}
	}

	fn model_beside(&self, round: RoundIndex, params: Arc<Vec<f32>>) -> Arc<Vec<f32>> {
		match self.deed == Deed::WrongBase && self.happens_in(round) {
			true => Arc::new(params.iter().map(|value| value * 1.25).collect()),
			false => params,
		}
	}

	fn reader(&self, round: RoundIndex, loader: Loader) -> Loader {
		match self.deed == Deed::WrongMask && self.happens_in(round) {
			true => loader.without_mask(),
			false => loader,
		}
	}
}

/// The command line of `neuroshard-cheat`.
#[derive(Clone, Copy, Debug)]
pub struct Cheats;

impl Conducts for Cheats {
	type OfRun = CheatOptions;
	type OfServe = AnswerCheat;

	fn of_run(options: CheatOptions, who: AccountId) -> Arc<dyn Conduct> {
		match options.fault(who) {
			Some(fault) => Arc::new(fault),
			None => Arc::new(Honest),
		}
	}

	fn of_serve(options: &AnswerCheat) -> Option<Arc<dyn Lie>> {
		options.lie().map(|lie| Arc::new(lie) as Arc<dyn Lie>)
	}
}
