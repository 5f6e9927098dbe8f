//! Patches of the SDK: what a node needs and the SDK has not, each made so that it could be taken there.
//!
//! | Patch | What the SDK does | What upstream would take |
//! | --- | --- | --- |
//! | [`bound`], [`listening`] | listens elsewhere, or nowhere, if an address is taken | errors at the start |
//! | [`equivocation`], [`slots`] | looks for equivocations of BABE at headers without seals, with which nothing can be proven | a look at whole headers, before their import |
//! | [`reports`] | forgets a report of equivocation with its pool | reports on disk until they are final |
//! | [`exporter`] | answers any name of its host, without bounds on connections and time | a check of names, and bounds |
//! | [`genesis`] | compiles the runtime of a spec that is not raw anew at every start | the first block by the node's executor, if there is none |
//! | [`gossip`] | queues the whole pool for a new peer, which ends the connection | extrinsics for a peer as fast as it takes them |
//! | [`last_peer`] | asks a peer that went away for nothing for a minute, and bans it, even if it is the only one | other terms for the last peer |

pub mod bound;
pub mod equivocation;
pub mod exporter;
pub mod genesis;
pub mod gossip;
pub mod last_peer;
pub mod listening;
pub mod reports;
pub mod slots;
