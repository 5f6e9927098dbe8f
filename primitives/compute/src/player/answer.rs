//! Recomputing an answer, as far as a game asks for it.

use super::{story::Traced, Job, PlayError, Story};
use crate::{
	exec::Exec,
	trace::{Mistake, Trace, TraceError},
};
use neuroshard_graph::{
	answer::Answer,
	class::Class,
	commit::tensors_root,
	config::{ConfigError, ModelConfig, TrainConfig},
	game::Contents,
	layout::ParamLayout,
	merkle::Hash,
	sampler::Counts,
};
use std::{convert::Infallible, sync::Arc};

/// An answer that can be read again with the parameters that it is claimed to come from.
pub struct AnswerStory {
	model: ModelConfig,
	train: TrainConfig,
	exec: Arc<Exec>,
	params: Arc<Vec<f32>>,
	/// Roots of parameters and outer momentum.
	checkpoint: [Hash; 2],
	text: [Vec<u32>; 2],
	tokens: Vec<u32>,
	class: Class,
	traced: Option<Traced>,
	mistake: Option<Mistake>,
}

impl AnswerStory {
	/// The answer of `claim`, `text` its prompt and its answer, from the checkpoint with these parameters. `momentum` is the root of the checkpoint's
	/// outer momentum.
	///
	/// # Errors
	/// [`TraceError`] for parameters of another model, and for a text that is not the claim's or that a dispute does not read.
	pub fn new(
		exec: Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		(params, momentum): (Vec<f32>, Hash),
		claim: &Answer<'_>,
		text: [Vec<u32>; 2],
	) -> Result<Self, TraceError> {
		let layout = ParamLayout::new(model)?;
		let counts = text.each_ref().map(|tokens| u32::try_from(tokens.len()));
		if params.len() != layout.len() || counts != [Ok(claim.prompt.count), Ok(claim.answer.count)] {
			return Err(ConfigError::Dimension.into());
		}
		let tokens = claim.tokens(text.each_ref().map(Vec::as_slice)).ok_or(ConfigError::TooLarge)?;
		let checkpoint = [tensors_root(&layout, &params, exec.threads()), momentum];
		let (model, train, params) = (model.clone(), train.clone(), Arc::new(params));
		Ok(Self { model, train, exec, params, checkpoint, text, tokens, class: claim.class, traced: None, mistake: None })
	}

	/// The same answer with a mistake in it.
	#[must_use]
	pub fn with_mistake(self, mistake: Mistake) -> Self {
		Self { mistake: Some(mistake), traced: None, ..self }
	}

	/// The parameters that it is read with.
	pub fn parameters(&self) -> &[f32] {
		&self.params
	}

	/// The same answer read with these parameters, while the checkpoint's roots stay: what somebody says who answered with others than it names.
	///
	/// # Errors
	/// [`TraceError`] for parameters of another model.
	pub fn with_parameters(self, params: Vec<f32>) -> Result<Self, TraceError> {
		if params.len() != self.params.len() {
			return Err(ConfigError::Dimension.into());
		}
		Ok(Self { params: Arc::new(params), traced: None, ..self })
	}

	/// The first choice of `claim` that is not the one that the model makes; `None` if all are.
	///
	/// # Errors
	/// [`PlayError::Trace`], or [`PlayError::Position`] for a claim about another text.
	pub fn doubt(&mut self, claim: &Answer<'_>) -> Result<Option<u32>, PlayError<Infallible>> {
		self.trace(Job::Read)?;
		let trace = &self.traced.as_ref().ok_or(PlayError::Position)?.trace;
		let [prompt, answer] = &self.text;
		let mut counts = Counts::default();
		counts.prompt(prompt);
		let told = answer.iter().copied().map(Some).chain([None]);
		for (index, told) in (0..claim.choices()).zip(told) {
			let logits = claim.row(index).and_then(|row| trace.logits(row)).ok_or(PlayError::Position)?;
			if !claim.gives(index, logits, &counts, told) {
				return Ok(Some(index));
			}
			told.into_iter().for_each(|token| counts.generated(token));
		}
		Ok(None)
	}
}

impl Story for AnswerStory {
	type Error = Infallible;

	fn roots(&mut self, _: u32, _: u32) -> Result<Vec<Hash>, PlayError<Infallible>> {
		Err(PlayError::Position)
	}

	fn contents(&mut self, step: u32) -> Result<Contents, PlayError<Infallible>> {
		(step == 0).then_some(Contents::Checkpoint(self.checkpoint)).ok_or(PlayError::Position)
	}

	fn trace(&mut self, job: Job) -> Result<&Traced, PlayError<Infallible>> {
		if job != Job::Read {
			return Err(PlayError::Position);
		}
		if self.traced.is_none() {
			let tokens = (self.tokens.as_slice(), self.class);
			let trace = Trace::reading(&self.exec, &self.model, &self.train, self.params.clone(), tokens, self.mistake)?;
			self.traced = Some(Traced::new(trace));
		}
		self.traced.as_ref().ok_or(PlayError::Position)
	}

	fn text(&self) -> Option<[&[u32]; 2]> {
		Some(self.text.each_ref().map(Vec::as_slice))
	}
}
