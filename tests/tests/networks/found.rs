//! Workers of a ring that nobody names: they announce themselves, and a driver finds them by its node and by gossip. Some are killed, and others come.

use crate::room::Load;
use neuroshard_e2e::{
	kept_unless_passed, lively_model, until, within, Binaries, Error, Layout, Network, Process, Question, Rules, Server, Streamed,
};
use std::{
	path::{Path, PathBuf},
	time::{Duration, Instant},
};

const MODEL: &str = "tiny";
/// Tokens of the model's longest text: a stream of so many goes on while holders come.
const LONGEST: u32 = 32_768;
/// Longest wait for an answer, and for somebody to be found.
const SOON: Duration = Duration::from_secs(180);
/// Pieces of a stream behind which it is under way.
const BEGUN: usize = 200;
const RULES: Rules = Rules { window: 30, clock: 15, extension: 5, audits: None, answers: None, patient: false };
/// What each holder lends, in MiB: enough for a layer and its KV cache (256), and not for both layers.
const MEMORY: &str = "400";
/// The holders, the last one of which comes later.
const HOLDERS: usize = 4;

/// A process that holds layers, and announces that.
struct Holder {
	process: Process,
	peer: String,
}

impl Holder {
	/// Has worker number `worker` hold layers of the model in the folder `files`, beside what it does otherwise.
	async fn start(network: &Network, worker: usize, files: &Path, folder: &Path) -> Self {
		let log: PathBuf = folder.join(format!("holder-{worker}.log"));
		let node = &network.workers[worker];
		let mut command = node.command(["hold", "--announce", "--threads", "1", "--memory", MEMORY]);
		command.arg("--model").arg(files);
		let mut process = Process::start(&format!("holder {worker}"), command, &log).unwrap();
		let address = until("a holder to listen", SOON, async || {
			process.check()?;
			let said = std::fs::read_to_string(&log).unwrap_or_default();
			let word = said.split_once("are held at ").and_then(|(_, behind)| Some(behind.split_once('\n')?.0.to_owned()));
			Ok(word)
		});
		let address = address.await.unwrap();
		let peer = address.rsplit_once('/').unwrap().1.to_owned();
		Self { process, peer }
	}
}

/// Numbers of the holders that have come to hold a span, as the driver says.
fn members(driver: &Server, holders: &[Holder]) -> Result<Vec<usize>, Error> {
	let said = driver.said()?;
	let joined = |holder: &Holder| said.contains(&format!("{} holds its span\n", holder.peer));
	Ok((0..holders.len()).filter(|number| joined(&holders[*number])).collect())
}

async fn pieces(stream: &mut Streamed, count: usize) {
	for _ in 0..count {
		assert!(stream.next().await.unwrap());
	}
	assert!(!stream.is_done());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_finds_the_workers_of_its_ring_and_others_take_the_place_of_those_that_are_killed() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("found").unwrap();
	let started = Instant::now();
	let binaries = Binaries::find().unwrap();
	let (files, worker) = (folder.path().join(MODEL), binaries.worker.clone());
	lively_model(&files, LONGEST).unwrap();
	let layout = Layout::create(folder.path().join("network"), None, HOLDERS as u16).unwrap();
	let mut network = Network::start(binaries, layout, RULES).await.unwrap();
	network.add_workers_without_audits(HOLDERS, None, 1).await.unwrap();
	let alone = Server::start::<&str>(&worker, &files, &folder.path().join("alone"), &[]).await.unwrap();
	let mut holders = Vec::new();
	for number in 0..HOLDERS - 1 {
		holders.push(Holder::start(&network, number, &files, folder.path()).await);
	}
	println!("the holders listen after {:.0} s", started.elapsed().as_secs_f64());
	let node = network.validators[0].url();
	let options = ["--ring", "auto", "--split", "memory", "--node", node];
	let driver = Server::start(&worker, &files, &folder.path().join("driver"), &options).await.unwrap();
	println!("the driver answers after {:.0} s", started.elapsed().as_secs_f64());

	for question in [Question::default(), Question { n: 2, seed: 3, tokens: 90, ..Question::default() }] {
		let (answered, expected) = tokio::join!(question.ask(driver.address, MODEL), question.ask(alone.address, MODEL));
		assert_eq!(answered.unwrap(), expected.unwrap());
	}
	// The model has two layers, of which each of two has one; the third one is spare.
	let first = members(&driver, &holders).unwrap();
	assert_eq!(first.len(), 2, "{}", driver.said().unwrap());

	// One of them is killed in the middle of a stream: the spare one takes its place.
	let stream = Question { stream: true, seed: 8, tokens: 3_000, ..Question::default() };
	let mut answering = stream.begin(driver.address, MODEL).await.unwrap();
	pieces(&mut answering, BEGUN).await;
	let killed = Instant::now();
	holders[first[0]].process.kill();
	pieces(&mut answering, BEGUN).await;
	println!("the stream goes on {:.1} s after a holder was killed", killed.elapsed().as_secs_f64());
	let (answered, expected) = tokio::join!(within("the rest of a stream", SOON, answering.all()), stream.ask(alone.address, MODEL));
	assert_eq!(answered.unwrap().unwrap(), expected.unwrap());
	assert_eq!(members(&driver, &holders).unwrap(), [0, 1, 2]);

	// Another one comes, and takes the place of the next that is killed.
	holders.push(Holder::start(&network, HOLDERS - 1, &files, folder.path()).await);
	let mut answering = stream.begin(driver.address, MODEL).await.unwrap();
	pieces(&mut answering, BEGUN).await;
	let killed = Instant::now();
	holders[first[1]].process.kill();
	pieces(&mut answering, BEGUN).await;
	println!("the stream goes on {:.1} s after another holder was killed", killed.elapsed().as_secs_f64());
	let (answered, expected) = tokio::join!(within("the rest of a stream", SOON, answering.all()), stream.ask(alone.address, MODEL));
	assert_eq!(answered.unwrap().unwrap(), expected.unwrap());
	assert_eq!(members(&driver, &holders).unwrap(), [0, 1, 2, 3]);
	let taken = driver.said().unwrap().matches(&format!("{} is taken for layers", holders[HOLDERS - 1].peer)).count();
	assert_eq!(taken, 1, "{}", driver.said().unwrap());

	alone.process.stop().await;
	driver.process.stop().await;
	network.stop().await;
	println!("all of it took {:.0} s", started.elapsed().as_secs_f64());
	folder.disable_cleanup(false);
}
