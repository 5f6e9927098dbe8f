//! The chain as a worker sees it: typed reads, typed calls, and extrinsics that get into a block. The only crate that knows subxt.
//!
//! There is no generated code: calls and view functions are looked up by name in the metadata of the chain at hand, and their types are
//! compared with those of `neuroshard-types` before they are used. A chain that means something else is an error in words.

// So that `testing` is the same file here and in the worker.
#[cfg(test)]
extern crate self as neuroshard_chain_client;

pub mod answer_audits;
mod archive;
mod attempts;
mod audited;
pub mod audits;
mod bodies;
mod call;
mod calls;
mod client;
mod delivery;
#[cfg(test)]
mod delivery_tests;
pub mod disputes;
mod error;
mod event;
mod explain;
mod fees;
pub mod holdings;
mod invariants;
pub mod keys;
mod local;
mod nodes;
mod paid;
mod punished;
mod query;
pub mod quorums;
#[cfg(test)]
mod runtime_tests;
pub mod shape;
mod sign;
mod state;
mod submit;
#[cfg(test)]
mod testing;
mod verdicts;
mod views;

pub use archive::{Block, Entries, Header};
pub use audited::Audited;
pub use call::Call;
pub use calls::{balances, dataset, inference, multisig, ponw, rewards, staking, system, training, work_hash};
pub use client::{next_block, BlockId, ChainAt, ChainClient, Heads, NodeHealth};
pub use error::{ChainError, Neuro};
pub use explain::Refusal;
pub use fees::{AnswerFees, Costs, RoundSize};
pub use local::LocalViews;
pub use nodes::{NodeReport, Watched};
pub use paid::Halt;
pub use state::Funds;
pub use submit::{Event, Included, Submitter};
pub use verdicts::Verdict;
pub use views::PeerPage;
