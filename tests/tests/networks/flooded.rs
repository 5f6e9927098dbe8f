//! The other kinds of cheaters among honest workers, as processes in one network, which an account floods all the time. Every cheater is caught,
//! and nobody else loses anything.

use crate::trial;
use neuroshard_e2e::{Cheat, Terms};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_a_flood_those_who_save_work_or_say_nothing_are_caught_and_nobody_else_loses_anything() {
	let cheats = [(Cheat::FewerSteps, 1), (Cheat::CopiedDelta, 1), (Cheat::WrongShard, 2), (Cheat::Silence, 2), (Cheat::WrongOuterStep, 3)];
	trial::all_are_caught(&cheats, Terms::Flooded).await;
}
