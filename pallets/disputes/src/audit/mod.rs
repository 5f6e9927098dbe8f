//! Audits: auditors drawn by lot run the work of adopted rounds again, and are paid for it.
//!
//! ```text
//! adopted -> noted -> drawn -> Sealing -> Reporting -> Waiting -> closed
//! ```
//!
//! # Drawing
//! A round is drawn two epochs after that of its adoption, by randomness that nobody knew any of while the round went on. So much is drawn as
//! the genesis share says. Every drawn claim gets two auditors, none of them audits another claim of the round, and none is drawn from that
//! enrolled or resigned when some of the randomness could be known: the lots are fixed before the draw. For that reason nobody is left out for
//! having become inactive meanwhile either: it seals and reports all the same as long as it has [`Config::LeastStake`](crate::Config::LeastStake). It leaves the list for
//! that, which makes room: in every block one of those who are enrolled is looked at.
//!
//! Only rounds of runs that draw issuance are audited: an audit of others would be paid by nobody.
//!
//! # Reports
//! Both auditors seal their samples before either is opened. A sample is a claim like any other: whoever finds it false opens a game about it.
//! While one is reported, the auditor's stake stays where it is. If both say that what they need cannot be had from anybody, the work is left
//! out and unpaid.
//!
//! # The close
//! An audit closes when the challenge window of its round is over, or, if games about the work or about a sample are open by then, with the last
//! of them. Equal samples are paid, and so is one that nobody contradicts. Samples that differ are not, unless one of them was proven false.
//! Who did not report costs reputation and leaves the list.

mod claims;
mod close;
mod drawing;
mod lots;
mod reports;
pub(crate) mod storage;
mod try_state;
mod types;
mod verifiers;
mod views;

pub(crate) use drawing::time_needed;
pub(crate) use lots::Lots;
pub(crate) use try_state::entries;
pub use types::{Audit, Noted, Part, Verifier, EPOCHS};

/// Points of reputation that an audit costs whom it was not done by.
pub const MISSED_POINTS: u32 = 10;
