//! Training by a quorum: each member holds a span of the model, takes its part of every inner step, and signs what it was given and what it gave.
//!
//! - [`member`]: what a member does, as a machine without clocks and sockets: messages go in, and one piece of work after the other is done.
//! - [`message`]: what members say to each other; [`link`]: over which streams.
//! - [`keep`]: what a member keeps to defend itself.
//! - [`lead`]: what the leader checks before anything is revealed.
//! - [`run`]: a member at work, on a thread of its own.
//!
//! Micro-batches go through the spans one behind the other: a member computes a backward pass as soon as it can and else the next forward pass, so that few
//! of them are between both at the same time (1F1B). In whatever order messages arrive, all bits are those of one machine.

pub mod keep;
pub mod lead;
pub mod link;
pub mod member;
pub mod message;
pub mod run;

pub use keep::{DefenceError, Keep, KeepError, Kept};
pub use lead::{LeadError, Leader, Led, Start};
pub use member::{Fault, Member, Place, Signer};
pub use message::{Message, Rows, Sums, Told};
pub use run::{work, Interval, Mail, QuorumError, Role, Task};
