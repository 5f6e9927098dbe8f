//! Audits of answers: some of those that providers are paid for are drawn, each with an auditor that looks at it.
//!
//! ```text
//! paid -> noted -> drawn -> undemanded ------------------------------> closed
//!                             +-> demanded -+-> delivered --------------^
//!                                           +-> withheld: the provider loses
//! ```
//!
//! # Drawing
//! What is claimed in an epoch is drawn two epochs later, by the same randomness as audits of work: nobody knew any of it when the answers were given. Each of
//! the answers is drawn with the probability of the genesis share, or a smaller one where little was paid for it; of one claim only from the last [`MAX_PROVEN`], and at most [`MAX_DRAWN`]. Each has one
//! auditor of the list of verifiers, which is not the provider.
//!
//! [`MAX_PROVEN`]: neuroshard_types::answer_audit::MAX_PROVEN
//! [`MAX_DRAWN`]: neuroshard_types::answer_audit::MAX_DRAWN
//!
//! # The text
//! Auditors ask providers for it, off chain. Who does not get it demands it, with a deposit. The provider then puts it into a block, in time, with what shows
//! that it is the one that was paid for. Nobody can say who of both has failed the other one before: so it costs both something, the provider what the
//! room in a block costs, and the auditor its deposit. A provider that is late loses as one that is late in a game.
//!
//! # What is false
//! Is disputed as any answer is, but the auditor holds the least bond, comes first, and does not depend on the session: that may be settled. Any receipt that the
//! provider has signed for the place is its claim, also another one than that which it was paid for. Where one of its answers has fallen, nothing more is
//! disputed or demanded of that session.
//!
//! # Bonds
//! An audit is over before the bond of the provider is free: from the claim of pay on, that is bound for as long as claims of the block can be disputed
//! ([`crate::GetDisputePeriod`]), and what would not be over by then is not drawn. So no audit opens a claim at the provider's stake of its own; a game does,
//! as always, and goes on behind the audit.

mod close;
mod demands;
mod drawing;
mod lots;
pub(crate) mod storage;
mod try_state;
mod types;
mod views;

pub(crate) use demands::{size, Handed};
pub(crate) use drawing::time_needed;
pub use types::{AnswerAudit, AuditedSession, Demand, NotedAnswers, TextOf};
pub(crate) use views::page;
