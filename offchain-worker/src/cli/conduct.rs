//! Options that make a worker misbehave, for programs that have such.

use clap::Args;
use neuroshard_disputes::answers::Lie;
use neuroshard_roles::{Conduct, Honest};
use neuroshard_types::AccountId;
use std::{fmt::Debug, sync::Arc};

/// Where a program's workers get their conduct from. [`Honest`] has no options, and is that of every worker that is installed.
pub trait Conducts: Debug + Send + Sync + 'static {
	/// Further options of `run`.
	type OfRun: Args + Debug + Send + Sync;
	/// Further options of `serve`.
	type OfServe: Args + Debug + Send + Sync;

	/// Returns how the worker of `who` behaves.
	fn of_run(options: Self::OfRun, who: AccountId) -> Arc<dyn Conduct>;

	/// Returns what is false about every answer, if anything is.
	fn of_serve(options: &Self::OfServe) -> Option<Arc<dyn Lie>>;
}

/// No options.
#[derive(Clone, Copy, Debug, Args)]
pub struct NoOptions {}

impl Conducts for Honest {
	type OfRun = NoOptions;
	type OfServe = NoOptions;

	fn of_run(NoOptions {}: NoOptions, _who: AccountId) -> Arc<dyn Conduct> {
		Arc::new(Self)
	}

	fn of_serve(NoOptions {}: &NoOptions) -> Option<Arc<dyn Lie>> {
		None
	}
}
