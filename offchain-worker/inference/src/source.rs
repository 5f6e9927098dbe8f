//! Sources of parts of a model.

use super::engine::Part;
use neuroshard_compute::exec::Stage;
use neuroshard_graph::{Class, ModelConfig};
use neuroshard_types::H256;
use std::{fmt, sync::Arc};

type Load = dyn Fn(&Stage, Class) -> Result<Box<dyn Part>, String> + Send + Sync;

/// A model whose parts can be loaded. Clones share it.
#[derive(Clone)]
pub struct Source {
	/// Root of the parameters.
	pub parameters: H256,
	/// The model.
	pub config: ModelConfig,
	/// The arithmetic that it is computed in.
	pub class: Class,
	load: Arc<Load>,
}

impl Source {
	/// A model in exact f32, and how a part of it is loaded.
	pub fn new(
		parameters: H256,
		config: ModelConfig,
		load: impl Fn(&Stage, Class) -> Result<Box<dyn Part>, String> + Send + Sync + 'static,
	) -> Self {
		Self { parameters, config, class: Class::ExactF32, load: Arc::new(load) }
	}

	/// The same model in another arithmetic.
	#[must_use]
	pub fn in_class(self, class: Class) -> Self {
		Self { class, ..self }
	}

	/// Loads a part.
	///
	/// # Errors
	/// In words, what keeps it from being loaded.
	pub fn load(&self, stage: &Stage) -> Result<Box<dyn Part>, String> {
		(self.load)(stage, self.class)
	}
}

impl fmt::Debug for Source {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		formatter.debug_struct("Source").field("parameters", &self.parameters).finish_non_exhaustive()
	}
}
