//! A claim with what it takes to recompute it.

use super::library::Shards;
use neuroshard_compute::{
	exec::{Exec, SetupError},
	player::{AnswerStory, CheckpointStory, PlayError, Player, States, Story, WorkStart, WorkStory},
	trace::TraceError,
};
use neuroshard_data::{loader::Loader, DataError};
use neuroshard_graph::{
	game::{open_answer, open_checkpoint, open_sample, open_work, Doubt, GameError, Move, Position, Side},
	ConfigError, Hash, ModelConfig, TrainConfig,
};
use neuroshard_training::checkpoint::CheckpointError;
use neuroshard_types::{
	assignment::Window,
	dispute::{AnswerClaim, AttestationClaim, WorkClaim},
	grounds::Grounds,
	run::{RunConfig, Work},
	RoundIndex, H256,
};
use std::{
	convert::Infallible,
	sync::{
		atomic::{AtomicBool, Ordering},
		Arc,
	},
};
use tokio::sync::OwnedSemaphorePermit;

/// Why what a claim is about cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
	/// A window could not be read.
	#[error(transparent)]
	Data(#[from] DataError),
	/// A delta is not here, or is none of the model.
	#[error(transparent)]
	Delta(#[from] CheckpointError),
	/// A delta is not in the store.
	#[error("the delta {0} is not here: it is fetched again")]
	Missing(H256),
	/// Something more urgent came.
	#[error("put off for a move in a dispute")]
	Cancelled,
}

/// Why a claim gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
	/// It cannot be recomputed.
	#[error(transparent)]
	Play(#[from] PlayError<SourceError>),
	/// The model does not fit this machine.
	#[error(transparent)]
	Setup(#[from] SetupError),
	/// The job cannot be traced.
	#[error(transparent)]
	Trace(#[from] TraceError),
	/// The claim cannot be disputed like this.
	#[error(transparent)]
	Game(#[from] GameError),
}

impl From<ConfigError> for CaseError {
	fn from(error: ConfigError) -> Self {
		Self::Setup(error.into())
	}
}

impl From<PlayError<Infallible>> for CaseError {
	fn from(error: PlayError<Infallible>) -> Self {
		Self::Play(error.widen())
	}
}

impl CaseError {
	/// Returns whether the work was put off and nothing is wrong.
	pub fn is_cancelled(&self) -> bool {
		matches!(self, Self::Play(PlayError::Source(SourceError::Cancelled)))
	}
}

/// Reads the tokens of a sequence of an inner step.
type Read = Box<dyn FnMut(u32, u32, &mut [u32]) -> Result<(), SourceError> + Send + Sync>;
/// Gives the deltas of an outer step.
type Deltas = Box<dyn FnMut(u32) -> Result<Vec<Vec<f32>>, SourceError> + Send + Sync>;

enum Told {
	Work(Box<WorkStory<Read>>, Shards),
	Attestation(Box<CheckpointStory<Deltas>>),
	Answer(Box<AnswerStory>),
}

/// A claim that can be recomputed.
pub struct Case {
	grounds: Grounds,
	/// The inner step and the root of the state after it that are claimed, if that is what is claimed.
	sample: Option<(u32, H256)>,
	told: Told,
	/// Root of the residual that its delta began with, once that is at hand.
	residual: Option<H256>,
	/// Ends a computation at its next step.
	cancel: Arc<AtomicBool>,
	/// Given back with the case.
	_room: Option<OwnedSemaphorePermit>,
}

impl Case {
	/// A claim about the inner steps of `round` on `window`s. Raising `cancel` ends a computation at its next step.
	///
	/// # Errors
	/// [`CaseError::Setup`] if the model does not fit this machine or the parameters.
	pub fn work(
		exec: Arc<Exec>,
		round: RoundIndex,
		claim: WorkClaim,
		window: impl Fn(u32, u32) -> Option<Window> + Send + Sync + 'static,
		start: impl Into<WorkStart>,
		(loader, shards): (Loader, Shards),
		cancel: Arc<AtomicBool>,
	) -> Result<Self, CaseError> {
		let cancelled = cancel.clone();
		let read: Read = Box::new(move |step, sequence, tokens| {
			if cancelled.load(Ordering::Relaxed) {
				return Err(SourceError::Cancelled);
			}
			let window = window(step, sequence);
			let missing = || DataError::Invalid(format!("no window is drawn for sequence {sequence} of inner step {step}"));
			Ok(loader.read(window.ok_or_else(missing)?, tokens)?)
		});
		let (model, train) = (&claim.config.model, &claim.config.train);
		let story = WorkStory::new(exec, model, train, claim.start_round, start, read)?.with_steps(claim.steps);
		let story = match &claim.quorum {
			Some(quorum) => story.of_quorum(quorum.seats.iter().map(|seat| seat.span).collect()),
			None => story,
		};
		Ok(Self {
			grounds: Grounds::Work { round, claim },
			sample: None,
			told: Told::Work(Box::new(story), shards),
			residual: None,
			cancel,
			_room: None,
		})
	}

	/// A claim about outer steps, from parameters and momentum of the checkpoint that they start from. `deltas` gives those of a step, by
	/// account bytes ascending; `train` is the run's configuration. Raising `cancel` ends a computation at its next step.
	///
	/// # Errors
	/// [`CaseError::Trace`] if the vectors are not the model's.
	pub fn attestation(
		exec: Arc<Exec>,
		claim: AttestationClaim,
		train: &TrainConfig,
		start: [Vec<f32>; 2],
		mut deltas: impl FnMut(u32) -> Result<Vec<Vec<f32>>, SourceError> + Send + Sync + 'static,
		cancel: Arc<AtomicBool>,
	) -> Result<Self, CaseError> {
		let (model, first) = (&claim.config.model, claim.job.first_round);
		let cancelled = cancel.clone();
		let deltas: Deltas = Box::new(move |step| match cancelled.load(Ordering::Relaxed) {
			true => Err(SourceError::Cancelled),
			false => deltas(step),
		});
		let story = CheckpointStory::new(exec, model, train, first, start, deltas)?.with_inner_steps(claim.job.inner_steps.clone());
		Ok(Self { grounds: claim.into(), sample: None, told: Told::Attestation(Box::new(story)), residual: None, cancel, _room: None })
	}

	/// A claim about an answer, from the parameters of the checkpoint that it was computed with and the root of that checkpoint's momentum, which
	/// `round` starts from. `text` has the tokens of prompt and answer.
	///
	/// # Errors
	/// [`CaseError::Trace`] if parameters or text are not those of the claim, or a dispute does not read such a text.
	pub fn answer(
		exec: Arc<Exec>,
		round: RoundIndex,
		claim: AnswerClaim,
		start: (Vec<f32>, Hash),
		text: [Vec<u32>; 2],
	) -> Result<Self, CaseError> {
		let (model, train) = (&claim.config.model, &claim.config.train);
		let story = AnswerStory::new(exec, model, train, start, &claim.receipt.claimed(&claim.config.tokenizer.tokens), text)?;
		let (grounds, told) = (Grounds::Answer { round, claim }, Told::Answer(Box::new(story)));
		Ok(Self { grounds, sample: None, told, residual: None, cancel: Arc::default(), _room: None })
	}

	/// Recomputed with a mistake, as a cheater who made it on purpose defends its claim.
	#[must_use]
	pub fn with_mistake(self, mistake: Option<neuroshard_compute::trace::Mistake>) -> Self {
		let told = match (self.told, mistake) {
			(Told::Work(story, shards), Some(mistake)) => Told::Work(Box::new(story.with_mistake(mistake)), shards),
			(Told::Answer(story), Some(mistake)) => Told::Answer(Box::new(story.with_mistake(mistake))),
			(told, _) => told,
		};
		Self { told, ..self }
	}

	/// An answer as a provider defends it that has computed with other parameters than those of the checkpoint, which `used` makes of them.
	///
	/// # Errors
	/// [`CaseError`] if what it used is not at hand.
	pub fn computed_with(self, used: impl FnOnce(&ModelConfig, Vec<f32>) -> Result<Vec<f32>, CheckpointError>) -> Result<Self, CaseError> {
		let told = match (self.told, &self.grounds) {
			(Told::Answer(story), Grounds::Answer { claim, .. }) => {
				let used = used(&claim.config.model, story.parameters().to_vec());
				Told::Answer(Box::new(story.with_parameters(used.map_err(|error| PlayError::Source(SourceError::Delta(error)))?)?))
			}
			(told, _) => told,
		};
		Ok(Self { told, ..self })
	}

	/// Holding a place that is given back when the case is dropped.
	#[must_use]
	pub fn in_room(self, room: OwnedSemaphorePermit) -> Self {
		Self { _room: Some(room), ..self }
	}

	/// Returns the flag that ends a computation at its next step.
	pub fn cancel(&self) -> Arc<AtomicBool> {
		self.cancel.clone()
	}

	/// With the parameters that the delta is the difference from, and the root of the momentum in their checkpoint: see [`WorkStory::with_base`]. Other
	/// claims have none.
	///
	/// # Errors
	/// [`CaseError::Setup`] for parameters of another model.
	pub fn with_base(self, base: (Vec<f32>, Hash)) -> Result<Self, CaseError> {
		let told = match self.told {
			Told::Work(story, shards) => Told::Work(Box::new(story.with_base(base)?), shards),
			told @ (Told::Attestation(_) | Told::Answer(_)) => told,
		};
		Ok(Self { told, ..self })
	}

	/// With the residual with this root that the delta began with, where it is sent as a code that leaves one: see [`WorkStory::with_residual`]. Other claims
	/// have none.
	#[must_use]
	pub fn with_residual(self, root: H256, residual: Option<Vec<f32>>) -> Self {
		let told = match self.told {
			Told::Work(story, shards) => Told::Work(Box::new(story.with_residual(residual)), shards),
			told @ (Told::Attestation(_) | Told::Answer(_)) => told,
		};
		Self { told, residual: Some(root), ..self }
	}

	/// Root of the residual that it was given.
	pub fn residual(&self) -> Option<H256> {
		self.residual
	}

	/// The run's configuration, of a claim about work.
	pub fn config(&self) -> Option<&RunConfig> {
		match &self.grounds {
			Grounds::Work { claim, .. } => Some(&claim.config),
			Grounds::Attestation { .. } | Grounds::Answer { .. } => None,
		}
	}

	/// With states known that its steps go through: see [`WorkStory::with_states`]. Other claims have none.
	#[must_use]
	pub fn with_states(self, states: Box<States>) -> Self {
		let told = match self.told {
			Told::Work(story, shards) => Told::Work(Box::new(story.with_states(states)), shards),
			told @ (Told::Attestation(_) | Told::Answer(_)) => told,
		};
		Self { told, ..self }
	}

	/// The claim that the state after inner step `step`, counted from 0, has this root.
	#[must_use]
	pub fn with_sample(self, step: u32, root: H256) -> Self {
		Self { sample: Some((step, root)), ..self }
	}

	/// The position in which a game about it begins: `revealed` is what a challenger of work says.
	///
	/// # Errors
	/// [`CaseError::Game`] if the claim cannot be disputed like this.
	pub fn open(&self, revealed: Option<(&Work, Doubt)>) -> Result<Position, CaseError> {
		Ok(self.grounds.judge(|setting| match (revealed, self.sample) {
			(Some((work, doubt)), _) => {
				let roots: Vec<Hash> = work.state_roots.iter().map(|root| root.0).collect();
				open_work(setting, &roots, work.delta_root.0, doubt)
			}
			(None, Some((step, root))) => open_sample(setting, step, root.0),
			(None, None) => open_checkpoint(setting),
		})?)
	}

	/// The position in which a game about an answer begins that is doubted from choice `doubt` on.
	///
	/// # Errors
	/// [`CaseError::Game`] if there is no such choice, or it is another claim.
	pub fn open_answer(&self, doubt: u32) -> Result<Position, CaseError> {
		Ok(self.grounds.judge(|setting| open_answer(setting, doubt))?)
	}

	/// The first choice of an answer that is not the model's; `None` if all are. Reads the text.
	///
	/// # Errors
	/// [`CaseError`]; [`GameError::OtherClaim`] for another claim.
	pub fn doubted_choice(&mut self) -> Result<Option<u32>, CaseError> {
		let (Told::Answer(story), Grounds::Answer { claim, .. }) = (&mut self.told, &self.grounds) else {
			return Err(GameError::OtherClaim.into());
		};
		Ok(story.doubt(&claim.receipt.claimed(&claim.config.tokenizer.tokens))?)
	}

	/// Returns the grounds that the claim is judged by.
	pub fn grounds(&self) -> &Grounds {
		&self.grounds
	}

	/// The first thing in revealed work that is false; `None` if all of it is right. Runs the round.
	///
	/// # Errors
	/// [`CaseError`]; [`GameError::OtherClaim`] for a claim about a checkpoint.
	pub fn doubt(&mut self, work: &Work) -> Result<Option<Doubt>, CaseError> {
		let Told::Work(story, _) = &mut self.told else { return Err(GameError::OtherClaim.into()) };
		let roots: Vec<Hash> = work.state_roots.iter().map(|root| root.0).collect();
		Ok(story.doubt(&roots, work.delta_root.0)?)
	}

	/// Returns the result of [`Self::doubt`] for `work`, if that is known, and the root of the state after inner step `step`, counted from 0, whatever
	/// was revealed; `None` if the round diverges before. Runs the round.
	///
	/// # Errors
	/// [`CaseError`]; [`GameError::OtherClaim`] for a claim about a checkpoint.
	pub fn audit(&mut self, work: Option<&Work>, step: u32) -> Result<(Option<Doubt>, Option<H256>), CaseError> {
		let Told::Work(story, _) = &mut self.told else { return Err(GameError::OtherClaim.into()) };
		let (doubt, sample) = match work {
			Some(work) => {
				let roots: Vec<Hash> = work.state_roots.iter().map(|root| root.0).collect();
				story.audit(&roots, work.delta_root.0, Some(step))?
			}
			None => (None, story.roots(step, 1)?.first().copied()),
		};
		Ok((doubt, sample.map(H256)))
	}

	/// State roots and delta root that this round reveals; `None` if it diverges.
	///
	/// # Errors
	/// [`CaseError`]; [`GameError::OtherClaim`] for a claim that is not about work.
	#[cfg(test)]
	pub(super) fn reveal(&mut self) -> Result<Option<(Vec<Hash>, Hash)>, CaseError> {
		let Grounds::Work { claim, .. } = &self.grounds else { return Err(GameError::OtherClaim.into()) };
		let Told::Work(story, _) = &mut self.told else { return Err(GameError::OtherClaim.into()) };
		let train = &claim.config.train;
		let roots = story.roots(0, claim.steps)?;
		let committed = (1..).zip(roots).filter(|(step, _)| train.commits_after(*step)).map(|(_, root)| root).collect();
		Ok(story.delta()?.map(|(_, delta)| (committed, delta)))
	}

	/// The checkpoint that the outer steps give.
	///
	/// # Errors
	/// [`CaseError`]; [`GameError::OtherClaim`] for a claim about work.
	pub fn checkpoint(&mut self) -> Result<H256, CaseError> {
		let (Told::Attestation(story), Grounds::Attestation { deltas, .. }) = (&mut self.told, &self.grounds) else {
			return Err(GameError::OtherClaim.into());
		};
		let steps = u32::try_from(deltas.len()).map_err(|_| GameError::Place)?;
		let root = *story.roots(0, steps)?.last().ok_or(GameError::Place)?;
		Ok(H256(root))
	}

	/// The move of `side` in `position`, after the defender's moves so far.
	///
	/// # Errors
	/// [`CaseError::Play`]; with [`PlayError::Nothing`] for a challenger who has no case.
	pub fn respond(&mut self, side: Side, position: &Position, defence: &[Move]) -> Result<Move, CaseError> {
		let Self { grounds, told, .. } = self;
		grounds.judge(|setting| match told {
			Told::Work(story, shards) => Ok(Player::new(*setting, side, &mut **story, Some(shards)).play(position, defence)?),
			Told::Attestation(story) => Ok(Player::new(*setting, side, &mut **story, None).play(position, defence)?),
			Told::Answer(story) => Ok(Player::new(*setting, side, &mut **story, None).play(position, defence)?),
		})
	}
}
