//! Cheaters among honest workers, as processes in one network: each of a kind that ends in another way. Every one is caught, and nobody else
//! loses anything. The outer step takes a trimmed mean of the deltas, and momentum, so that disputes are about these.

use crate::trial;
use neuroshard_e2e::{Cheat, Terms};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_claim_noise_or_defend_a_false_claim_are_caught_and_nobody_else_loses_anything() {
	// One that does not answer, one that defends its work, one that defends its checkpoint.
	trial::all_are_caught(&[(Cheat::Noise, 0), (Cheat::BitFlip, 1), (Cheat::WrongAggregate, 1)], Terms::Robust).await;
}
