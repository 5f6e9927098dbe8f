//! One dispute about a model of 13.8 million parameters, between worker processes through a real chain, while nobody trains any more: how
//! many extrinsics, how many bytes, how long.
//!
//! `scripts/build.sh` first; then `cargo run --release -p neuroshard-e2e --example large_dispute`.

use neuroshard_e2e::{until, Binaries, Cheat, DisputeSummary, Error, Layout, Network, Prepared, Preset, Text, Training, Verdicts, View};
use neuroshard_types::run::RunStatus;
use std::time::{Duration, Instant};

/// Longest wait for the verdict.
const LIMIT: Duration = Duration::from_secs(1_800);
/// Rounds of the run; the last one is cheated in.
const ROUNDS: u32 = 2;

#[tokio::main]
async fn main() -> Result<(), Error> {
	let folder = tempfile::tempdir().map_err(|error| Error::Setup(error.to_string()))?;
	let layout = Layout::create(folder.path().join("network"), None, 2)?;
	let preset = Preset::Large;
	let prepared = Prepared::new(&layout, preset, Text::Registry, 2..=2).await?;
	let mut network = Network::start(Binaries::find()?, layout, preset.rules()).await?;
	let training = Training::sponsor(&network, prepared, Some(ROUNDS)).await?;
	network.add_workers_and_cheaters(1, &[(Cheat::BitFlip, ROUNDS - 1)], Some(&training.dataset), 1).await?;
	let (started, mut verdicts) = (Instant::now(), Verdicts::default());
	let decided = until("the verdict", LIMIT, async || {
		network.check()?;
		verdicts.read(network.client(), network.client().heads().await?.best.number).await?;
		Ok(network.cheaters.iter().find_map(|cheater| cheater.caught(&verdicts)).and_then(|index| verdicts.list().get(index).cloned()))
	})
	.await?;
	let view = View::look(&network, &training, None).await?;
	assert_eq!(view.run.status, RunStatus::Finished, "somebody trains beside the dispute");
	let summary = DisputeSummary::new(&decided, &network.cheaters);
	println!("{}", serde_json::to_string_pretty(&summary).map_err(|error| Error::Setup(error.to_string()))?);
	println!("{:.0} s from the start of the workers on", started.elapsed().as_secs_f64());
	network.stop().await;
	Ok(())
}
