//! Cheaters among honest workers, as processes in one network: each of a kind that ends in another way. Every one is caught, and nobody else
//! loses anything. The other kinds differ from these in what is computed, which tests of the worker and of the game cover.

use neuroshard_e2e::{
	until, Binaries, Cheat, CheaterSummary, Layout, Minted, Network, Prepared, Preset, Summary, Text, Training, Verdicts, View,
};
use neuroshard_types::{dispute::Decision, run::RunStatus};
use neuroshard_worker::chain::training;
use std::time::{Duration, Instant};

/// Longest wait for the last verdict, and for the checkpoint after it.
const VERDICTS: Duration = Duration::from_secs(900);
/// Honest workers, who check everything.
const HONEST: u16 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_cheater_is_caught_and_nobody_else_loses_anything() {
	let mut folder = tempfile::Builder::new().prefix("neuroshard-cheats-").tempdir().unwrap();
	// Logs and data of a failure stay.
	folder.disable_cleanup(true);
	println!("everything is in {}", folder.path().display());
	let started = Instant::now();
	// One that does not answer, one that defends its work, one that defends its checkpoint.
	let cheats = [(Cheat::Noise, 1), (Cheat::BitFlip, 2), (Cheat::WrongAggregate, 3)];
	let layout = Layout::create(folder.path().join("network"), None, HONEST + 3).unwrap();
	let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, u32::from(HONEST)).await.unwrap();
	let mut network = Network::start_with(Binaries::find().unwrap(), layout, Some(Preset::Tiny.rules())).await.unwrap();
	let training_run = Training::sponsor(&network, prepared, None).await.unwrap();
	network.add_workers_and_cheaters(usize::from(HONEST), &cheats, Some(&training_run.dataset), 1).await.unwrap();

	let (mut verdicts, mut known) = (Verdicts::default(), None);
	until("all verdicts, and the checkpoint after the last", VERDICTS, async || {
		network.check()?;
		let view = View::look(&network, &training_run, known.clone()).await?;
		let view = known.insert(view);
		verdicts.read(network.client(), view.heads.finalized.number).await?;
		let caught = network.cheaters.iter().map(|cheater| cheater.caught(&verdicts)).collect::<Option<Vec<_>>>();
		let last =
			caught.and_then(|caught| caught.into_iter().filter_map(|index| verdicts.list().get(index)).map(|one| one.block.number).max());
		let over = last.is_some_and(|last| view.records.iter().any(|record| record.adopted_at > last));
		Ok(over.then_some(()))
	})
	.await
	.unwrap();
	network.sponsor().submit(training::stop_run(training_run.run)).await.unwrap();
	for cheater in &network.cheaters {
		let decided = &verdicts.list()[cheater.caught(&verdicts).unwrap()];
		assert_eq!(decided.verdict.decision, cheater.cheat.verdict(), "{cheater:?}");
		assert!(decided.verdict.extrinsics <= 11 && decided.verdict.witness_bytes <= 256 * 1024, "{decided:?}");
		let witnessed = decided.verdict.witness_bytes > 0 && decided.verdict.ref_time.is_some();
		assert_eq!(witnessed, decided.verdict.decision == Decision::Fraud, "{decided:?}");
	}

	let minted = Minted::wait(&network, &training_run, 0).await.unwrap();
	let view = View::look(&network, &training_run, None).await.unwrap();
	assert_eq!(view.run.status, RunStatus::Finished);
	let summary = Summary::collect(&network, &training_run, &view, minted, started.elapsed()).await.unwrap();
	summary.verify(None).unwrap();
	let lost_everything = |cheater: &CheaterSummary| cheater.bond_after == "0";
	assert!(summary.cheaters.len() == 3 && summary.cheaters.iter().all(lost_everything), "{:?}", summary.cheaters);
	assert_ne!(summary.burned_total, "0");
	network.stop().await;
	folder.disable_cleanup(false);
}
