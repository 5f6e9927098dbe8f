//! Cheaters among honest workers, as processes in one network: each of a kind that ends in another way. Every one is caught, and nobody else
//! loses anything.

mod common;

use neuroshard_e2e::Cheat;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_claim_noise_or_defend_a_false_claim_are_caught_and_nobody_else_loses_anything() {
	// One that does not answer, one that defends its work, one that defends its checkpoint.
	common::all_are_caught(&[(Cheat::Noise, 1), (Cheat::BitFlip, 2), (Cheat::WrongAggregate, 3)], false).await;
}
