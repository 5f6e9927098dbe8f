//! Cheating on purpose, for tests and demonstrations of what becomes of it.
//!
//! Compiled into the tests of this crate and into builds with the feature `faults` only: an ordinary worker has no such options. But for
//! what a [`Fault`] names, such a worker does what every worker does. Everything that a fault draws follows from account, run and round,
//! so that after a restart a cheater still knows what it did, and can defend it.

mod answers;
mod checkpoint;
mod options;
#[cfg(test)]
mod tests;
mod work;

pub use answers::{AnswerCheat, AnswerKind, AnswerLie};
pub use checkpoint::CheckpointLie;
use neuroshard_graph::{config::ConfigError, graph::Op, merkle::blake2_256, plan::Plan, trace::Mistake, ModelConfig, TrainConfig};
use neuroshard_types::{dispute::ClaimKind, AccountId, RoundIndex, RunId, H256};
pub use options::{CheatOptions, Kind};
use rand::{rngs::StdRng, Rng, SeedableRng};
use std::path::PathBuf;
pub use work::{false_work, Position};

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
	/// One wrong bit of one weight after one inner step, on which the rest of the round is built.
	BitFlip,
	/// A checkpoint in which one delta counts twice, and another one not at all.
	WrongAggregate,
	/// A checkpoint whose outer step is twice as long.
	WrongOuterStep,
	/// As [`Deed::BitFlip`], without a word in disputes.
	Silence,
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

	/// Whether the worker defends its claims of `kind` in `round`. It does if it can: the moves of a game have to fit what was claimed, so
	/// that there are none for work that never was.
	pub fn answers_disputes(&self, kind: ClaimKind, round: RoundIndex) -> bool {
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

	/// What the worker reports as an auditor of `round` without having run it; `None` if it does what it should.
	pub fn made_up_sample(&self, run: RunId, round: RoundIndex) -> Option<H256> {
		(self.deed == Deed::LazyAudit && self.happens_in(round)).then(|| H256(self.draw(run, round)))
	}

	/// The wrong bit of `round`; `None` if there is none. A bit of the upper half of the mantissa: it changes the weight by up to a half,
	/// and neither vanishes in later rounding nor makes the training diverge at once. Where deltas are sent as codes, [`Deed::BitFlip`] is in the code.
	///
	/// # Errors
	/// [`ConfigError`] for a configuration that is refused.
	pub fn mistake(&self, run: RunId, round: RoundIndex, model: &ModelConfig, train: &TrainConfig) -> Result<Option<Mistake>, ConfigError> {
		if !matches!(self.deed, Deed::BitFlip | Deed::Silence) || !self.happens_in(round) {
			return Ok(None);
		}
		if self.deed == Deed::BitFlip && train.code().is_some() {
			let mut random = self.random(run, round);
			// The first stage is the one that encodes.
			let (element, mask) = (random.gen(), 1 << random.gen_range(12..23));
			return Ok(Some(Mistake { step: train.inner_steps, stage: 0, output: 0, element, mask }));
		}
		let plan = Plan::training(model, train)?;
		let updates: Vec<u32> = (0..).zip(plan.stages()).filter(|(_, stage)| stage.op == Op::AdamW).map(|(number, _)| number).collect();
		let mut random = self.random(run, round);
		let step = random.gen_range(0..train.inner_steps);
		let stage = updates.get(random.gen_range(0..updates.len().max(1))).copied().ok_or(ConfigError::Dimension)?;
		// The first output of the update is the weights; the element is taken modulo their number.
		let (output, element, mask) = (0, random.gen(), 1 << random.gen_range(12..23));
		Ok(Some(Mistake { step, stage, output, element, mask }))
	}

	/// The seed that windows are drawn with in `round` instead of `seed`, the round's own: another one if the shard is to be wrong.
	pub fn window_seed(&self, run: RunId, round: RoundIndex, seed: H256) -> H256 {
		match self.deed == Deed::WrongShard && self.happens_in(round) {
			true => H256(self.draw(run, round)),
			false => seed,
		}
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

	/// Whether the worker keeps to itself in `round` what it committed to.
	pub fn keeps_work_back(&self, round: RoundIndex) -> bool {
		self.deed == Deed::HandOver && self.happens_in(round)
	}

	fn draw(&self, run: RunId, round: RoundIndex) -> [u8; 32] {
		blake2_256(&codec::Encode::encode(&(b"neuroshard/fault/1", &self.who, run, round)))
	}

	fn random(&self, run: RunId, round: RoundIndex) -> StdRng {
		StdRng::from_seed(self.draw(run, round))
	}
}
