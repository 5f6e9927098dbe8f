//! Networks of simulated providers, of any number: the chain's own runtime makes the blocks, and each provider does what the worker's own
//! [`plan_without`](neuroshard_roles::decide::plan_without) says next. Time, the network and the machines are simulated, and everything follows
//! from a seed: the same arguments give the same run, block by block.
//!
//! - [`chain`]: blocks of the runtime in this process, with its limits of weight and length, and what providers see of them.
//! - [`provider`]: a provider: its machine, its line, what it has, and how long its tasks take.
//! - [`world`]: what happens when, and what goes wrong.
//! - [`report`]: what came of it.
//! - [`members`]: another network, without a chain: members that find each other by what they announce, and the rings that they form.
//!
//! What is not simulated: inner steps and deltas (what is committed to are hashes of who did it where), forks of the chain, the pool's order by tips,
//! audits, disputes and inference.

pub mod chain;
pub mod members;
pub mod provider;
pub mod report;
pub mod world;
