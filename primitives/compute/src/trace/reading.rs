//! The trace of reading a text.

use super::{
	step::{Batch, Mistake, TraceError},
	Trace,
};
use crate::exec::{Arena, Exec};
use neuroshard_graph::{
	class::Class,
	config::{ConfigError, ModelConfig, TrainConfig},
	plan::Plan,
	resume::Parameters,
};
use std::sync::Arc;

impl Trace {
	/// Reading `tokens`, a multiple of 32 of them, with these parameters in layout order, in a class: see [`Plan::reading`]. Tokens beyond the
	/// vocabulary count as the last one. With a mistake in it if that is one of step 0.
	///
	/// # Errors
	/// [`TraceError`] for a configuration that is refused, parameters of another model, or a text that is too long.
	pub fn reading(
		exec: &Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		params: Arc<Vec<f32>>,
		(tokens, class): (&[u32], Class),
		mistake: Option<Mistake>,
	) -> Result<Self, TraceError> {
		let count = u32::try_from(tokens.len()).map_err(|_| ConfigError::TooLarge)?;
		let plan = Plan::reading(model, count, class)?;
		let parameters = Parameters::reading(model, train, count)?;
		// No stage asks for the token behind the text.
		let batch = Batch::new(model, 1, &parameters, &[tokens, &[0]].concat())?;
		let mut trace = Self::new(exec, plan, parameters, [params].into())?;
		(trace.batch, trace.mistake) = (Some(batch), mistake.filter(|mistake| mistake.step == 0));
		Ok(trace.computed(Arena::default(), 0))
	}

	/// Row `row` of what the last stage writes: of a text that was read, the logits behind token `row`.
	pub fn logits(&self, row: u32) -> Option<&[f32]> {
		let id = self.plan.last_output()?;
		let row = usize::try_from(row).ok()?;
		self.tensor(id).chunks_exact(self.shape(id).1.max(1)).nth(row)
	}
}
