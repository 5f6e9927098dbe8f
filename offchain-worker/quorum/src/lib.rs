//! Training by a quorum: each member holds a span of the model, takes its part of every inner step, and signs what it was given and what it gave.
//!
//! - [`member`]: what a member does, as a machine without clocks and sockets: messages go in, and one piece of work after the other is done.
//! - [`message`]: what members say to each other; [`link`]: over which streams.
//! - [`links`]: how members reach each other; [`keys`]: with which they sign.
//! - [`keep`]: what a member keeps to defend itself; [`defence`]: what it says from that.
//! - [`lead`]: what the leader checks before anything is revealed.
//! - [`ledger`]: what the leader keeps of that, to post it.
//! - [`run`]: a member at work on an interval, on a thread of its own.
//! - [`agree`]: where all begin, or go on; [`seat`]: a member's whole round, from the checkpoint to the delta, with all that is as large as the model in files.
//!
//! Micro-batches go through the spans one behind the other: a member computes a backward pass as soon as it can and else the next forward pass, so that few
//! of them are between both at the same time (1F1B). In whatever order messages arrive, all bits are those of one machine.

pub mod agree;
pub mod defence;
pub mod keep;
pub mod keys;
pub mod lead;
pub mod ledger;
pub mod link;
pub mod links;
pub mod member;
pub mod message;
pub mod run;
pub mod seat;

pub use agree::{intervals, AgreeError};
pub use defence::{defence_bytes, Defence, RespondError};
pub use keep::{DefenceError, Keep, KeepError, Kept};
pub use keys::Keyed;
pub use lead::{LeadError, Leader, Led, Start};
pub use ledger::Ledger;
pub use member::{Fault, Member, Place, Signer, Slip, Slipped};
pub use message::{Beginning, Handed, Message, Rows, Sums, Told};
pub use run::{work, Interval, Mail, QuorumError, Role, Task};
pub use seat::{held_bytes, needed_bytes, Conduct, Placed, Seat, SeatError, Sources};
