//! Behaviour of the pallet, one file a subject.

mod acts;
mod audits;
mod claims;
mod cohorts;
mod dropouts;
mod history;
mod latecomers;
mod masses;
mod membership;
mod migration;
mod missing;
mod operators;
mod overlap;
mod quorums;
mod replays;
mod residuals;
mod room;
mod rounds;
mod runs;
mod struck;
mod switch;
mod unequal;
mod votes;
mod walk;

use crate::mock::*;
use neuroshard_types::{run::RunConfig, AccountId, RunId};

/// Everybody says yes to everything.
const ALL: [bool; 8] = [true; 8];

/// A run of this configuration with workers 1 to `count` in Training of round 0.
fn training_with(config: RunConfig, count: u8) -> (RunId, Vec<AccountId>) {
	let run = create(config);
	let workers: Vec<_> = (1..=count).map(worker).collect();
	workers.iter().for_each(|who| join(who, run).expect("a free place"));
	// Full runs start in the next block, others when the joining time is over.
	skip(3);
	(run, workers)
}

/// A run with workers 1 to `count` in Training of round 0.
fn training(count: u8) -> (RunId, Vec<AccountId>) {
	training_with(config(), count)
}

/// All of `workers` commit.
fn commit_all(run: RunId, workers: &[AccountId]) {
	workers.iter().for_each(|who| commit(who, run).expect("a commitment"));
}

/// All of `workers` reveal.
fn reveal_all(run: RunId, workers: &[AccountId]) {
	workers.iter().for_each(|who| reveal(who, run).expect("a reveal"));
}

/// All of `workers` vote for all deltas.
fn vote_all(run: RunId, workers: &[AccountId]) {
	let count = round(run).revealed().count();
	workers.iter().for_each(|who| vote(who, run, &ALL[..count]).expect("a vote"));
}

/// All of `workers` attest checkpoint number `root`, and the next block begins.
fn attest_all(run: RunId, workers: &[AccountId], root: u8) {
	workers.iter().for_each(|who| attest(who, run, root, 2.5).expect("an attestation"));
	skip(1);
}

/// A run with workers 1 to `count` in Availability of round 0.
fn availability(count: u8) -> (RunId, Vec<AccountId>) {
	let (run, workers) = training(count);
	commit_all(run, &workers);
	reveal_all(run, &workers);
	(run, workers)
}

/// A run with workers 1 to `count` in Checkpointing of round 0, all deltas included.
fn checkpointing(count: u8) -> (RunId, Vec<AccountId>) {
	let (run, workers) = availability(count);
	vote_all(run, &workers);
	(run, workers)
}

/// From Training to Checkpointing, all deltas included.
fn to_checkpointing(run: RunId, workers: &[AccountId]) {
	commit_all(run, workers);
	reveal_all(run, workers);
	vote_all(run, workers);
}

/// From Training to the adoption of checkpoint number `root`.
fn full_round(run: RunId, workers: &[AccountId], root: u8) {
	to_checkpointing(run, workers);
	attest_all(run, workers, root);
}
