//! Two cohorts of a family: runs that train one model, where in each round one participant, the bridge, starts from the other cohort's newest checkpoint.

use crate::{
	room::Load,
	scenario::{included, ROUND, SOON},
};
use neuroshard_chain_client::{training, Call, ChainAt};
use neuroshard_e2e::{kept_unless_passed, until, Binaries, Ended, Error, Layout, Network, Prepared, Preset, Text, Training, WorkerNode};
use neuroshard_types::{dispute::Base, run::RoundRecord, RunId, H256};
use std::{collections::BTreeSet, path::Path, time::Duration};

/// Workers of each cohort: a bridge is drawn among no fewer.
const WORKERS: usize = 2;
/// So few that all four of them train and check on two cores while blocks are waited for.
const INNER_STEPS: u32 = 20;
/// Adopted rounds with a bridge that are waited for in each cohort.
const BRIDGED: usize = 2;
/// For those, and for the rounds before them in which the other cohort has no checkpoint yet.
const ROUNDS: Duration = ROUND.saturating_mul(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_each_round_starts_from_the_other_cohorts_newest_checkpoint_and_whoever_has_that_can_check_it() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("cohorts").unwrap();
	let mut family = Family::start(folder.path()).await;
	family.each_cohort_adopts_rounds_with_a_bridge().await;
	let adopted = family.both_end().await;
	family.all_work_is_included_and_started_where_it_should(&adopted).await;
	family.everybody_has_checked_everything_and_nothing_is_disputed(&adopted).await;
	family.a_replay_needs_the_other_cohorts_checkpoints(&adopted).await;
	family.network.stop().await;
	folder.disable_cleanup(false);
}

/// A network with two runs of one family: the first workers take part in the first one, the others in the second one.
struct Family {
	network: Network,
	cohorts: [Training; 2],
}

/// Records of the adopted rounds of each cohort.
type Adopted = [Vec<RoundRecord>; 2];

impl Family {
	/// Starts it in `folder`. The sponsor makes the family before anybody takes part.
	async fn start(folder: &Path) -> Self {
		let layout = Layout::create(folder.join("network"), None, 4).unwrap();
		let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, 2..=2).await.unwrap().with_inner_steps(INNER_STEPS);
		let mut network = Network::start(Binaries::find().unwrap(), layout, Preset::Tiny.rules()).await.unwrap();
		let first = Training::sponsor(&network, prepared, None).await.unwrap();
		let second = first.another(&network).await.unwrap();
		let (runs, dataset) = ([first.run, second.run], first.dataset.clone());
		let mut family = network.user_command("train");
		family.arg("add-cohort").args(runs.map(|run| run.to_string()));
		Ended::output_of(family).await.unwrap();
		// Its first block may be on a branch that is given up.
		until("the family in a finalized block", SOON, async || {
			let at = finalized(&network).await?;
			Ok((at.cohorts(first.run).await? == runs && at.cohorts(second.run).await? == runs).then_some(()))
		})
		.await
		.unwrap();
		network.add_checking_workers(&runs, WORKERS, Some(&dataset), 1).await.unwrap();
		Self { network, cohorts: [first, second] }
	}

	async fn each_cohort_adopts_rounds_with_a_bridge(&mut self) {
		until("rounds with a bridge in both cohorts", ROUNDS, async || {
			self.network.check()?;
			let at = self.network.client().now().await?;
			for cohort in &self.cohorts {
				let bridged = adopted(&at, cohort.run).await?.into_iter().filter(|record| record.bridge.is_some()).count();
				if bridged < BRIDGED {
					return Ok(None);
				}
			}
			Ok(Some(()))
		})
		.await
		.unwrap();
	}

	/// Stops both runs, which takes them out of the family. The records of all that they have done.
	async fn both_end(&self) -> Adopted {
		is_sound(&self.network.client().now().await.unwrap()).await;
		// In one block: one that goes on alone has nobody to start from.
		let stops = self.cohorts.iter().map(|cohort| training::stop_run(cohort.run)).collect();
		self.network.sponsor().submit(Call::all(stops)).await.unwrap();
		for cohort in &self.cohorts {
			cohort.stopped(&self.network).await.unwrap();
		}
		let at = finalized(&self.network).await.unwrap();
		is_sound(&at).await;
		let mut records = Adopted::default();
		for (cohort, records) in self.cohorts.iter().zip(&mut records) {
			assert!(at.cohorts(cohort.run).await.unwrap().is_empty());
			*records = adopted(&at, cohort.run).await.unwrap();
		}
		let [first, second] = records.each_ref().map(|records| records[0].checkpoint);
		assert_ne!(first, second, "each trains on windows of its own: a bridge starts elsewhere than the others");
		records
	}

	async fn all_work_is_included_and_started_where_it_should(&self, adopted: &Adopted) {
		let at = self.network.client().now().await.unwrap();
		for (cohort, other) in [(0, 1), (1, 0)] {
			let (run, all) = (self.cohorts[cohort].run, self.members(cohort).iter().map(WorkerNode::provider).collect::<BTreeSet<_>>());
			let starts = starts(&adopted[other]);
			let mut began = 0;
			for (round, record) in (0..).zip(&adopted[cohort]) {
				let place = format!("round {round} of run {run}");
				assert_eq!(included(record), all, "{place}");
				assert!(record.excluded.is_empty() && !record.fallen, "{place}: {record:?}");
				// What the other cohort had by then. Round 0 begins when all are there, which no record says.
				let there = adopted[other].iter().filter(|before| before.adopted_at < began).count();
				began = record.adopted_at;
				let bridge = record.bridge.as_ref();
				println!("{place}: {bridge:?}, validation loss {}", record.validation_loss.get());
				assert!(bridge.is_some() || there == 0, "{place} has no bridge, and the other cohort had {there} rounds");
				if let Some(bridge) = bridge {
					assert!(bridge.taken && all.contains(&bridge.who), "{place}: {bridge:?}");
					let newest = (1..).contains(&bridge.round) && bridge.round as usize >= there;
					assert!(newest && bridge.run == self.cohorts[other].run, "{place}, there were {there} rounds: {bridge:?}");
					assert_eq!(Some(&bridge.checkpoint), starts.get(bridge.round as usize), "{place}");
				}
				for who in &all {
					let claim = at.work_claim(run, round, who).await.unwrap().expect("it has revealed its work");
					let expected = match record.bridged(who) {
						Some(bridge) => (bridge.checkpoint, bridge.round, Some(Base { checkpoint: record.start, round })),
						None => (record.start, round, None),
					};
					assert_eq!((claim.start, claim.start_round, claim.base), expected, "{place}: {who}");
				}
			}
			let learned = adopted[cohort].last().map(|record| record.validation_loss.get());
			assert!(learned < Some(self.cohorts[cohort].first_loss), "run {run} learned nothing: {learned:?}");
		}
	}

	/// Waits until each worker has computed again what the others in its run claim.
	async fn everybody_has_checked_everything_and_nothing_is_disputed(&mut self, adopted: &Adopted) {
		for (cohort, records) in adopted.iter().enumerate() {
			for worker in cohort * WORKERS..(cohort + 1) * WORKERS {
				let me = self.network.workers[worker].provider();
				let claims = records.iter().flat_map(|record| record.included.iter().chain(&record.attested));
				let due = claims.filter(|(who, _)| *who != me).count() as u64;
				let what = format!("worker {worker} to have checked {due} claims");
				let disputes = until(&what, ROUND, async || {
					self.network.check()?;
					let disputes = self.network.workers[worker].status().map(|status| status.disputes);
					Ok(disputes.filter(|disputes| disputes.checked >= due))
				});
				assert_eq!(disputes.await.unwrap().challenged, 0, "worker {worker} finds something false");
			}
		}
		let at = self.network.client().now().await.unwrap();
		for worker in &self.network.workers {
			let who = worker.provider();
			assert_eq!(at.games_of(&who).await.unwrap(), [], "{}", worker.name());
			assert_eq!(at.provider(&who).await.unwrap().unwrap().bonded, Network::BOND, "{}", worker.name());
		}
	}

	/// A worker has those that it started from itself, and those by which it has checked the others. Workers are stopped for it.
	async fn a_replay_needs_the_other_cohorts_checkpoints(&mut self, adopted: &Adopted) {
		self.network.stop_workers().await;
		let [first, second] = &self.cohorts;
		let (run, dataset) = (second.run.to_string(), second.dataset.to_string_lossy().into_owned());
		let root = adopted[1].last().expect("an adopted round").checkpoint;
		let worker = self.members(1).last().expect("a worker of the second cohort");
		let output = Ended::output_of(worker.command(["replay", "--run", &run, "--dataset", &dataset])).await.unwrap();
		assert!(output.contains("bit for bit") && output.contains(&format!("{root:?}")), "{output}");

		let mut without = self.network.user_command("replay");
		without.args(["--run", &run, "--dataset", &dataset]);
		let ended = Ended::of(without).await.unwrap();
		let words = [format!("of run {}, another cohort", first.run), "--base-path".into()];
		assert!(!ended.success && words.iter().all(|word| ended.error.contains(word)), "{} {}", ended.output, ended.error);
	}

	/// The workers of a cohort.
	fn members(&self, cohort: usize) -> &[WorkerNode] {
		&self.network.workers[cohort * WORKERS..(cohort + 1) * WORKERS]
	}
}

/// The newest finalized state.
async fn finalized(network: &Network) -> Result<ChainAt, Error> {
	let client = network.client();
	Ok(client.at(client.heads().await?.finalized).await?)
}

/// Records of the adopted rounds of `run`, oldest first.
async fn adopted(at: &ChainAt, run: RunId) -> Result<Vec<RoundRecord>, Error> {
	let rounds = at.run(run).await?.map_or(0, |run| run.rounds_adopted);
	let mut records = Vec::new();
	for round in 0..rounds {
		records.extend(at.record(run, round).await?);
	}
	Ok(records)
}

/// Checkpoints that the rounds with these records start from, and the one after them.
fn starts(records: &[RoundRecord]) -> Vec<H256> {
	records.iter().map(|record| record.start).chain(records.last().map(|record| record.checkpoint)).collect()
}

/// Checks that every invariant holds in a state: of families and bridges among others.
async fn is_sound(at: &ChainAt) {
	let soundness = at.soundness().await.unwrap();
	assert!(soundness.is_sound(), "{soundness}");
}
