//! The worker at work. Five roles of one account run side by side, each an actor with a folder of its own:
//!
//! - [`participant`] trains, and serves checkpoints. What it does next is decided in `participant/decide/plan.rs`, and nowhere else; where a bad
//!   delta is refused is `participant/deltas/refuse.rs`.
//! - [`verifier`] checks what others claim, computes what auditors report, and plays disputes.
//! - [`auditor`] has the account drawn for audits, and reports what the verifier computed.
//! - [`answers`] looks at answers that the account is drawn for, and disputes false ones.
//! - [`holder`] attests the operator's dataset, and opens the chunks that it is asked for.
//!
//! [`worker`] starts them out of [`parts`]. None of them uses another one; what they share is:
//!
//! - [`actor`]: shared parts of their loops.
//! - [`directory`]: who else is there, by what they announce; it is no role, and every process of a provider has it.
//! - [`conduct`]: what a worker does where it could do something else.
//! - [`quorum`]: rounds of which this account takes a part only, as their leader or for another one that leads.
//! - [`content`]: checkpoints, deltas and datasets, from disk or peers; [`peers`]: where those are, as the chain says it.
//! - [`defence`]: what is at stake, how long this account has for its moves, and what they may cost.
//! - [`samples`]: samples, which the verifier leaves for the auditor.
//! - [`journal`]: what a restart must not forget. [`leave`]: the request to leave.
//! - [`memory`]: how much a run takes; [`pace`]: how long. [`obstacle`] and [`error`]: what is in the way, in words.

mod actor;
mod answers;
pub mod arithmetic;
mod auditor;
mod conduct;
mod content;
pub mod defence;
pub mod directory;
mod earnings;
mod error;
mod holder;
mod journal;
mod leave;
mod memory;
mod obstacle;
mod pace;
mod participant;
mod parts;
mod peers;
mod quorum;
mod samples;
pub mod status;
mod verifier;
mod worker;

pub use conduct::{Conduct, Due, Honest, Made};
pub use content::{
	push::{push_base, push_checkpoint, push_dataset, Pushed},
	read_adapter, read_model, read_tokenizer,
	start::offer_start,
	write_model,
};
pub use error::WorkerError;
pub use holder::end_attestations;
pub use journal::{pending_in, Journal, JournalError, Pending};
pub use leave::{forget_request, LEAVE_FILE};
pub use memory::Needs;
pub use participant::{choose_run, KnownRun, Prospect};
pub use parts::{Mode, Options, Parts};
pub use quorum::{work_in_quorum, MemberOptions, Ways};
pub use worker::Worker;

/// Decisions of a participant, and the state that they are made from: for simulations.
pub mod decide {
	pub use super::{
		journal::PendingWork,
		participant::decide::{
			plan::plan_without,
			task::Task,
			view::{uptime_hour, ChainView, Delta, LocalState, NextCheckpoint, RunState, Sibling},
		},
		parts::Mode,
	};
}
