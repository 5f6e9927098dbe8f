//! A member of a quorum.

mod slip;
mod step;
mod take;

use crate::{
	keep::{Keep, KeepError},
	message::{Beginning, Message, Sums, Told},
};
use neuroshard_compute::exec::{Arena, Exec, SetupError, SpanTrainer, StepError, StepOutcome};
use neuroshard_graph::{
	config::{Adapter, ConfigError},
	cover::Cover,
	game::{Record, Signature},
	merkle::Hash,
	span::{check_cut, cover, given, units, CutError, Held, Seam, Span},
	ModelConfig, TrainConfig,
};
use neuroshard_training::files::{FilesError, TileFile};
use neuroshard_types::H256;
use std::{
	borrow::Cow,
	collections::{BTreeMap, VecDeque},
	sync::Arc,
};

pub use slip::{Slip, Slipped};

/// Signs for a member, and checks what others have signed.
pub trait Signer: Send {
	/// The own signature of a statement.
	fn sign(&self, statement: Hash) -> Signature;
	/// Whether member `member` has signed a statement.
	fn has_signed(&self, member: usize, statement: Hash, signature: &Signature) -> bool;
}

/// What a member is in a quorum.
#[derive(Clone, Debug)]
pub struct Place {
	/// The model.
	pub model: ModelConfig,
	/// How it is trained.
	pub train: TrainConfig,
	/// What each member holds: a cut of the model.
	pub spans: Vec<Span>,
	/// Number of this one.
	pub member: usize,
	/// Sequences of a micro-batch.
	pub micro_batch: u32,
	/// Micro-batches that are between forward and backward pass at most.
	pub flying: usize,
	/// Round, which counts inner steps of the schedule.
	pub round: u32,
}

/// Why a member cannot be set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JoinError {
	/// The spans.
	#[error(transparent)]
	Cut(#[from] CutError),
	/// No micro-batch may be under way.
	#[error("at least one micro-batch has to be between forward and backward pass")]
	Flying,
	/// There is no such member.
	#[error("the quorum has no member number {0}")]
	Member(usize),
	/// The configuration.
	#[error(transparent)]
	Setup(#[from] SetupError),
	/// Parameters, moments or the base of another span.
	#[error("the member's span has {expected} numbers in a vector where {found} are given; load the vectors of its own span")]
	Length {
		/// Numbers that the span has.
		expected: usize,
		/// Numbers that are given.
		found: usize,
	},
}

impl Place {
	/// The place of member `member` as workers take it, which all have to take the same way: sequence after sequence, with twice as many between both passes as
	/// there are members, at most all of a step, so that half of them may be under way between two members while each computes.
	pub fn usual((model, train): (&ModelConfig, &TrainConfig), spans: Vec<Span>, member: usize, round: u32) -> Self {
		let most = usize::try_from(train.batch).unwrap_or(usize::MAX);
		let flying = spans.len().saturating_mul(2).clamp(1, most.max(1));
		Self { model: model.clone(), train: train.clone(), spans, member, micro_batch: 1, flying, round }
	}

	/// What each member holds of the parameters that are trained of `adapter`, or of the whole model.
	///
	/// # Errors
	/// [`ConfigError`] for spans of another model.
	pub(crate) fn covers(&self, adapter: Option<Adapter>) -> Result<Vec<Cover>, ConfigError> {
		self.spans.iter().map(|&span| cover(&self.model, adapter, span)).collect()
	}

	/// What the member holds of the model that an adapter is beside, in `base`, and the roots of its subtrees; `None` without an adapter. The file is read once, a few
	/// tiles at a time.
	///
	/// # Errors
	/// [`FilesError`]: without a base or with another one, in reading it, and for spans of another model.
	pub(crate) fn own_base(&self, base: Option<&TileFile>, threads: usize) -> Result<Option<(Held, Vec<Hash>)>, FilesError> {
		let Some(adapter) = self.train.adapter else { return Ok(None) };
		let base = base.ok_or(FilesError::NoModel)?;
		if base.root() != H256(adapter.base) {
			return Err(FilesError::Root { path: base.path().to_path_buf(), found: base.root(), expected: H256(adapter.base) });
		}
		let mut parts = base.parts(&self.covers(None)?, threads)?;
		let own = *self.spans.get(self.member).ok_or(ConfigError::Dimension)?;
		Ok(Some((Held::new(&self.model, None, own)?, parts.swap_remove(self.member))))
	}

	/// Whether the member reads tokens: for the embedding, or for the targets of the loss.
	pub fn reads_tokens(&self) -> bool {
		let end = units(&self.model).saturating_sub(1);
		self.spans.get(self.member).is_some_and(|span| span.has(&self.model, 0) || span.has(&self.model, end))
	}
}

/// Why a step does not go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
	/// Somebody sent what it should not have.
	#[error("member {member} {what}")]
	Member {
		/// Who.
		member: usize,
		/// What it did.
		what: &'static str,
	},
	/// The step itself.
	#[error(transparent)]
	Step(#[from] StepError),
	/// Another step than the one that follows the member's state.
	#[error("inner step {asked} cannot begin where {next} is next or under way; begin the interval again from a state that is kept")]
	Order {
		/// The step that is next, or under way.
		next: u32,
		/// The step that was asked for.
		asked: u32,
	},
	/// What the member needs to defend itself cannot be kept.
	#[error(transparent)]
	Keep(#[from] KeepError),
}

/// The step under way.
#[derive(Default)]
struct Under {
	/// Rows and gradients that have arrived, by the seam that they pass; in order of micro-batches.
	arrived: BTreeMap<Seam, VecDeque<Vec<f32>>>,
	/// Micro-batches of a seam that have arrived, and hashes of their tiles.
	given: BTreeMap<Seam, (u32, Vec<Hash>)>,
	gave: BTreeMap<Seam, Vec<Hash>>,
	/// By segment: micro-batches whose forward, and whose backward pass is done.
	forward: Vec<usize>,
	backward: Vec<usize>,
	/// Of each member that has told them, this one's own included.
	sums: BTreeMap<usize, Sums>,
}

/// A member, with its parameters and moments in memory.
pub struct Member<S> {
	place: Place,
	signer: S,
	trainer: SpanTrainer,
	arena: Arena,
	/// Numbers of a row.
	width: usize,
	/// The inner step under way, and whether one is.
	step: u32,
	is_under_way: bool,
	under: Under,
	/// What has come for the next step already.
	early: Vec<(usize, Message)>,
	/// What it says about the interval so far, and what it tells the leader of the state before.
	record: Record,
	before: [Vec<Hash>; 3],
	base: Vec<Hash>,
	/// Bits of the sums of all units in each step of the interval, as they were told.
	sums: Vec<Vec<u32>>,
	/// Where each seam leads: who is given what passes there.
	holders: BTreeMap<Seam, usize>,
	outcome: Option<StepOutcome>,
	/// Where it keeps what it needs to defend itself.
	keep: Option<Keep>,
	slip: Option<Slip>,
}

/// What is to be sent, and to whom.
pub type Out = Vec<(usize, Message)>;

impl<S: Signer> Member<S> {
	/// A member at the beginning of a round, with parameters of its span, moments of zero, and of an adapter its part of the base.
	///
	/// # Errors
	/// [`JoinError`].
	pub fn new(place: Place, exec: Arc<Exec>, signer: S, theta: &[f32], base: Option<&[f32]>) -> Result<Self, JoinError> {
		Self::begins(place, exec, signer, (0, theta, None), base)
	}

	/// A member that goes on from a state: parameters, first and second moments of its span after `steps` inner steps of the round, which begin an interval.
	/// So all members can take an interval again, one of them replaced, from the last state that all have.
	///
	/// # Errors
	/// [`JoinError`].
	pub fn from_state(
		place: Place,
		exec: Arc<Exec>,
		signer: S,
		(steps, [theta, first, second]): (u32, [&[f32]; 3]),
		base: Option<&[f32]>,
	) -> Result<Self, JoinError> {
		Self::begins(place, exec, signer, (steps, theta, Some([first, second])), base)
	}

	fn begins(
		place: Place,
		exec: Arc<Exec>,
		signer: S,
		(step, theta, moments): (u32, &[f32], Option<[&[f32]; 2]>),
		base: Option<&[f32]>,
	) -> Result<Self, JoinError> {
		let Place { model, train, spans, member, micro_batch, flying, .. } = &place;
		check_cut(model, spans)?;
		if *flying == 0 {
			return Err(JoinError::Flying);
		}
		let span = *spans.get(*member).ok_or(JoinError::Member(*member))?;
		let trainer = SpanTrainer::new(exec, model, train, span, (*micro_batch, *flying))?;
		let len = |vector: &[f32], expected: usize| match vector.len() {
			found if found == expected => Ok(()),
			found => Err(JoinError::Length { expected, found }),
		};
		len(base.unwrap_or_default(), trainer.base().map_or(0, |held| held.layout.len()))?;
		let mut arena = Arena::new(trainer.arena_len());
		trainer.reset_moments(&mut arena);
		for (vector, values) in core::iter::once(theta).chain(moments.into_iter().flatten()).enumerate() {
			len(values, trainer.held().layout.len())?;
			trainer.set_vector(&mut arena, vector, values);
		}
		if let Some(base) = base {
			trainer.set_base(&mut arena, base);
		}
		let own_base = trainer.base().zip(base).map(|(held, base)| held.roots(base, trainer.exec().threads()));
		let before = trainer.state_roots(&arena);
		let record = Record::new(step, &before, own_base.as_deref());
		let adapter = train.adapter.is_some();
		let holders =
			spans.iter().enumerate().flat_map(|(member, &span)| given(model, adapter, span).into_iter().map(move |seam| (seam, member)));
		Ok(Self {
			width: usize::try_from(model.dim).unwrap_or(usize::MAX),
			holders: holders.collect(),
			place,
			signer,
			trainer,
			arena,
			step,
			is_under_way: false,
			under: Under::default(),
			early: Vec::new(),
			record,
			before,
			base: own_base.unwrap_or_default(),
			sums: Vec::new(),
			outcome: None,
			keep: None,
			slip: None,
		})
	}

	/// The same, which keeps what it needs to defend itself from the next interval on: without, it can lose a game by silence.
	#[must_use]
	pub fn with_keep(self, keep: Keep) -> Self {
		Self { keep: Some(keep), ..self }
	}

	/// What it keeps.
	pub fn keep(&mut self) -> Option<&mut Keep> {
		self.keep.as_mut()
	}

	/// Between two intervals, the state that it can begin with; what had come for the next step is forgotten. `None` within an interval.
	pub(crate) fn rests(&mut self) -> Option<Beginning> {
		let rests = !self.is_under_way && self.record.steps.is_empty();
		rests.then(|| {
			self.early.clear();
			Beginning { steps: self.step, state: self.record.before }
		})
	}

	/// Its parameters, first and second moments.
	pub fn state(&self) -> [Cow<'_, [f32]>; 3] {
		self.trainer.state(&self.arena)
	}

	fn span(&self) -> Span {
		self.place.spans[self.place.member]
	}

	/// Whether a member has the end of the model.
	fn has_end(&self, member: usize) -> bool {
		let last = units(&self.place.model).saturating_sub(1);
		self.place.spans.get(member).is_some_and(|span| span.has(&self.place.model, last))
	}

	fn adapter(&self) -> bool {
		self.place.train.adapter.is_some()
	}

	/// Whether it [reads tokens](Place::reads_tokens).
	pub fn reads_tokens(&self) -> bool {
		self.place.reads_tokens()
	}

	/// Begins inner step `step`, the one that is next, on a batch; who reads no tokens gives none.
	///
	/// # Errors
	/// [`Fault`].
	pub fn begin(&mut self, step: u32, tokens: &[u32]) -> Result<(), Fault> {
		if self.is_under_way || step != self.step {
			return Err(Fault::Order { next: self.step, asked: step });
		}
		let nothing = vec![0; if tokens.is_empty() { self.trainer.batch_tokens() } else { 0 }];
		self.trainer.begin_step(&self.arena, if tokens.is_empty() { &nothing } else { tokens })?;
		let segments = self.trainer.segments().len();
		self.under = Under { forward: vec![0; segments], backward: vec![0; segments], ..Under::default() };
		(self.is_under_way, self.outcome) = (true, None);
		let begins = self.record.steps.is_empty();
		if begins {
			self.record.first = step;
		}
		if let Some(keep) = &mut self.keep {
			if begins {
				let state = self.trainer.state(&self.arena);
				keep.begin(step, &state.each_ref().map(|vector| &**vector))?;
			}
			keep.step(step, tokens)?;
		}
		for (from, message) in core::mem::take(&mut self.early) {
			self.take(from, message)?;
		}
		Ok(())
	}

	/// What the step came to, once it is over.
	pub fn outcome(&self) -> Option<StepOutcome> {
		self.outcome
	}

	/// Its number.
	pub fn number(&self) -> usize {
		self.place.member
	}

	/// Members of the quorum.
	pub fn members(&self) -> usize {
		self.place.spans.len()
	}

	/// Who signs for it, and knows what others have signed.
	pub fn signer(&self) -> &S {
		&self.signer
	}

	/// Ends the interval: what this member tells the leader about it, and bits of the sums of all units in each step as others have told them. The next step begins
	/// another interval.
	///
	/// # Errors
	/// [`Fault::Keep`]: what cannot be defended is not told.
	pub fn record(&mut self) -> Result<(Told, Vec<Vec<u32>>), Fault> {
		let mut record = core::mem::take(&mut self.record);
		record.state = self.trainer.state_roots(&self.arena);
		self.record = Record { before: record.after(), base: record.base, ..Record::default() };
		let before = core::mem::replace(&mut self.before, record.state.clone());
		let signature = self.signer.sign(record.statement());
		if let Some(keep) = &mut self.keep {
			keep.record(&record, &signature)?;
		}
		Ok((Told { record, before, base: self.base.clone(), signature }, core::mem::take(&mut self.sums)))
	}
}
