//! The chain's history, executed anew: what a finished run is replayed from.
//!
//! A start state, which must have the root that its header names, and the blocks after it are all that is taken from a node. The header
//! of genesis follows from the state, and must have the chain's genesis hash; a later start state is believed to be the chain's. Each
//! block is executed by the runtime that the state itself holds, which compares the state root and the extrinsics root of the header
//! with what it computed. So seeds, participants, reveals and inclusion of a run are those that follow from block bodies, however the
//! reveals are wrapped; none is an answer of the node.
//!
//! Every block must carry the seal of a validator of its epoch, and the validator's VRF output for its slot, so that a node cannot
//! make up blocks of its own. What is not checked is whether a primary slot was won, and finality: validators can make other blocks
//! than those that were finalized. Which chain it is, its genesis hash says.

mod block;
mod error;
mod fetch;
mod run;
mod seal;
mod spec;
mod state;

pub use error::HistoryError;
pub use fetch::{blocks, genesis_state, start_state};
pub use run::RunHistory;
pub use spec::genesis_entries;
pub use state::State;
