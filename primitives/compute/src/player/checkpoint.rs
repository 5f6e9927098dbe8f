//! Recomputing outer steps, as far as a game asks for them.

use super::{story::Traced, Job, PlayError, Story};
use crate::{
	exec::{decode_delta, take_outer_step, Exec},
	trace::{Trace, TraceError},
};
use neuroshard_graph::{
	commit::{checkpoint_root, tensors_root},
	config::{ModelConfig, TrainConfig},
	game::Contents,
	layout::ParamLayout,
	merkle::Hash,
};
use std::sync::Arc;

/// Outer steps from a checkpoint, each with its deltas.
pub struct CheckpointStory<D> {
	model: ModelConfig,
	train: TrainConfig,
	layout: ParamLayout,
	/// Numbers of a delta as it is sent.
	sent_len: usize,
	round: u32,
	exec: Arc<Exec>,
	start: [Vec<f32>; 2],
	/// Parameters and momentum after `done` steps.
	state: [Vec<f32>; 2],
	done: u32,
	deltas: D,
	/// Inner steps behind the deltas of each step, where deltas weigh by them.
	inner_steps: Vec<Vec<u32>>,
	traced: Option<(Job, Traced)>,
}

impl<E, D: FnMut(u32) -> Result<Vec<Vec<f32>>, E>> CheckpointStory<D> {
	/// Outer steps from parameters and momentum `start` of round `round`. `deltas(step)` are those of a step as they were sent, by account bytes
	/// ascending.
	///
	/// # Errors
	/// [`TraceError::Setup`] for a configuration that is refused, or vectors of another model.
	pub fn new(
		exec: Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		round: u32,
		start: [Vec<f32>; 2],
		deltas: D,
	) -> Result<Self, TraceError> {
		let layout = ParamLayout::trained(model, train)?;
		if start.iter().any(|vector| vector.len() != layout.len()) {
			return Err(neuroshard_graph::config::ConfigError::Dimension.into());
		}
		let sent_len = ParamLayout::of_deltas(model, train)?.len();
		let (model, train, state) = (model.clone(), train.clone(), start.clone());
		Ok(Self { model, train, layout, sent_len, round, exec, start, state, done: 0, deltas, inner_steps: Vec::new(), traced: None })
	}

	/// The same steps of a run whose deltas weigh by the inner steps behind them: so many behind each of a step.
	#[must_use]
	pub fn with_inner_steps(self, inner_steps: Vec<Vec<u32>>) -> Self {
		Self { inner_steps, ..self }
	}

	/// Inner steps behind the deltas of outer step `step`.
	fn steps_behind(&self, step: u32) -> &[u32] {
		self.inner_steps.get(step as usize).map_or(&[], Vec::as_slice)
	}

	fn deltas(&mut self, step: u32) -> Result<Vec<Vec<f32>>, PlayError<E>> {
		let deltas = (self.deltas)(step).map_err(PlayError::Source)?;
		match deltas.iter().all(|delta| delta.len() == self.sent_len) {
			true => Ok(deltas),
			false => Err(PlayError::Position),
		}
	}

	fn seek(&mut self, steps: u32) -> Result<(), PlayError<E>> {
		if self.done > steps {
			self.state.clone_from(&self.start);
			self.done = 0;
		}
		while self.done < steps {
			let sent = self.deltas(self.done)?;
			let decoded = sent.into_iter().map(|sent| decode_delta(&self.train, &*self.exec, &self.layout, sent));
			let deltas = decoded.collect::<Result<Vec<_>, _>>().map_err(|_| PlayError::Position)?;
			let steps = self.inner_steps.get(self.done as usize).map_or(&[][..], Vec::as_slice);
			let [params, momentum] = &mut self.state;
			take_outer_step(&*self.exec, &self.layout, &self.train, params, momentum, &deltas, steps).map_err(|_| PlayError::Position)?;
			self.done += 1;
		}
		Ok(())
	}

	fn vector_roots(&self) -> [Hash; 2] {
		[0, 1].map(|vector| tensors_root(&self.layout, &self.state[vector], self.exec.threads()))
	}
}

impl<E, D: FnMut(u32) -> Result<Vec<Vec<f32>>, E>> Story for CheckpointStory<D> {
	type Error = E;

	fn roots(&mut self, first: u32, count: u32) -> Result<Vec<Hash>, PlayError<E>> {
		let mut roots = Vec::new();
		for done in (first..first.saturating_add(count)).map(|step| step + 1) {
			self.seek(done)?;
			let [params, momentum] = self.vector_roots();
			let round = self.round.checked_add(done).ok_or(PlayError::Position)?;
			roots.push(checkpoint_root(&params, &momentum, round, u64::from(round) * u64::from(self.train.inner_steps)));
		}
		Ok(roots)
	}

	fn contents(&mut self, step: u32) -> Result<Contents, PlayError<E>> {
		self.seek(step)?;
		Ok(Contents::Checkpoint(self.vector_roots()))
	}

	fn trace(&mut self, job: Job) -> Result<&Traced, PlayError<E>> {
		let Job::Outer(step) = job else { return Err(PlayError::Position) };
		if self.traced.as_ref().is_none_or(|(traced, _)| *traced != job) {
			self.traced = None;
			self.seek(step)?;
			let deltas = self.deltas(step)?;
			let inputs: Vec<&[f32]> = deltas.iter().map(Vec::as_slice).collect();
			let [params, momentum] = &self.state;
			let trace = Trace::outer(&self.exec, &self.model, &self.train, [params, momentum], &inputs, self.steps_behind(step))?;
			self.traced = Some((job, Traced::new(trace)));
		}
		self.traced.as_ref().map(|(_, traced)| traced).ok_or(PlayError::Position)
	}
}
