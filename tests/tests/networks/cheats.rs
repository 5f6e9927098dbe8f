//! Cheaters of every kind that trains, among honest workers, as processes in two networks. Every one is caught, and nobody else loses anything.

use crate::trial;
use neuroshard_e2e::{Cheat, Terms};

/// Each of a kind that ends in another way. Conversations are trained on, so that targets are counted; the outer step takes Multi-Krum of shortened
/// deltas, and momentum, so that disputes are about these.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_claim_noise_or_defend_a_false_claim_are_caught_and_nobody_else_loses_anything() {
	// One that does not answer, two that defend their work, one that defends its checkpoint.
	let cheats = [(Cheat::Noise, 0), (Cheat::BitFlip, 1), (Cheat::WrongMask, 1), (Cheat::WrongAggregate, 1)];
	trial::all_are_caught(&cheats, Terms::Robust).await;
}

/// The other kinds, while an account floods all blocks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_a_flood_those_who_save_work_or_say_nothing_are_caught_and_nobody_else_loses_anything() {
	let cheats = [Cheat::FewerSteps, Cheat::CopiedDelta, Cheat::WrongShard, Cheat::Silence, Cheat::WrongOuterStep].map(|cheat| (cheat, 1));
	trial::all_are_caught(&cheats, Terms::Flooded).await;
}
