//! A quorum over the network of this machine, from checkpoints in files and a dataset to the work that one machine has.

use super::*;
use neuroshard_chain_client::keys::Seed;
use neuroshard_data::{
	build::{build, BuildOptions},
	corpus::Corpus,
	tokenizer::Tokenizer,
};
use neuroshard_graph::{span::cut, ModelConfig, ParamLayout, TrainConfig};
use neuroshard_network::{Keypair, PeerAddress, Purpose, Streams};
use neuroshard_training::{
	checkpoint::Checkpoint,
	engine::Engine,
	files::FiledCheckpoint,
	round::{Trained, Training},
};
use neuroshard_types::{assignment::Draw, quorum::Seat as SeatView, H256};
use std::{collections::BTreeMap, path::Path, sync::atomic::AtomicBool};

const SEED: H256 = H256([9; 32]);
const POSITION: u32 = 1;

struct Setting {
	folder: tempfile::TempDir,
	model: ModelConfig,
	train: TrainConfig,
	loader: Loader,
	claim: Arc<QuorumClaim>,
	keys: Vec<PonwSigner>,
}

/// Three accounts; the second one leads.
impl Setting {
	fn new() -> Self {
		let folder = tempfile::tempdir().unwrap();
		let (model, train) = neuroshard_training::presets::tiny();
		let train = TrainConfig { batch: 2, inner_steps: 4, commit_interval: 2, ..train };
		let text = |number: u32| (0..200).map(|line| format!("worker {} holds part {line}.\n", number * 31 % 17)).collect();
		let corpus = Corpus::given("lines", (0..40).map(text).collect());
		let options = BuildOptions { tokens_per_shard: 8_192, held_out: 1, ..BuildOptions::default() };
		let dataset = build(&corpus, &Tokenizer::bytes(), &options, &folder.path().join("dataset")).unwrap().dataset;
		let loader = Loader::new(&folder.path().join("dataset"), dataset.manifest.shape, dataset.manifest.width()).unwrap();
		FiledCheckpoint::genesis(&folder.path().join("checkpoint"), 3, &model, &train, 1).unwrap();
		let keys: Vec<PonwSigner> = (0..3).map(|_| PonwSigner::from_seed(&Seed::random()).unwrap()).collect();
		let units = neuroshard_graph::span::units(&model);
		let spans = cut(&model, &[2, 1, units - 3]).unwrap();
		let seats = spans.into_iter().zip(&keys).zip(0..).map(|((span, key), number)| SeatView {
			leader: account(1),
			who: account(number),
			span,
			key: Some(key.public()),
		});
		let claim = QuorumClaim::of(H256([1; 32]), (3, 0, SEED), &seats.collect::<Vec<_>>(), &account(1)).map(Arc::new).unwrap();
		Self { folder, model, train, loader, claim, keys }
	}

	fn windows(&self) -> Assignment {
		Assignment::new(&self.train, POSITION, Draw::of_all(SEED))
	}

	/// The round of member `number`, which keeps what it needs in the folder with this name.
	fn attempt(&self, number: usize, kept: &str, heard: Heard) -> Attempt {
		let (model, train) = (&self.model, &self.train);
		let spans = self.claim.seats.iter().map(|seat| seat.span).collect();
		let (checkpoint, folder) = (self.folder.path().join("checkpoint"), self.folder.path().join(kept));
		let layout = ParamLayout::trained(model, train).unwrap();
		let open = move |threads: usize| {
			let checkpoint = FiledCheckpoint::open(&checkpoint, &layout, threads)?.ok_or(WorkerError::Stopped)?;
			Ok(Sources { checkpoint, base: None, residual: None, folder })
		};
		Attempt {
			place: Place::usual((model, train), spans, number, 0),
			claim: self.claim.clone(),
			signer: self.keys[number].clone(),
			windows: (self.loader.clone(), self.windows()),
			open: Box::new(open),
			heard,
			slip: None,
		}
	}

	/// The round of one machine.
	fn alone(&self) -> Trained {
		let mut engine = Engine::new(&self.model, &self.train, 1).unwrap();
		let genesis = Checkpoint::genesis(3, &self.model, &self.train, 1).unwrap();
		let training = Training::start(&mut engine, &genesis, &self.loader, POSITION, Draw::of_all(SEED)).unwrap();
		training.run(&AtomicBool::new(false), |_| ()).unwrap()
	}
}

fn account(number: u8) -> AccountId {
	AccountId::new([number; 32])
}

fn silent() -> Heard {
	Arc::new(|_, _| ())
}

/// All members' networks, which end with the token.
async fn ways(stop: &CancellationToken) -> Vec<Ways> {
	let mut started = Vec::new();
	for number in 0..3 {
		let listen = vec!["/ip4/127.0.0.1/tcp/0".parse().unwrap()];
		let keypair = Keypair::generate_ed25519();
		let (streams, incoming, mut bound, _) = Streams::start_for(Purpose::Quorum, keypair, listen, stop.clone()).await.unwrap();
		started.push((account(number), bound.remove(0), streams, incoming));
	}
	let members: BTreeMap<AccountId, PeerAddress> = started.iter().map(|(who, address, ..)| (who.clone(), address.clone())).collect();
	started.into_iter().map(|(_, _, streams, incoming)| Ways { members: members.clone(), streams, incoming }).collect()
}

/// The bytes that are sent of a round.
fn sent(path: &Path) -> Vec<u8> {
	std::fs::read(path).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quorum_over_the_network_has_the_work_and_the_delta_of_one_machine() {
	let (setting, stop) = (Setting::new(), CancellationToken::new());
	let _ending = stop.clone().drop_guard();
	let expected = setting.alone();
	let steps = Arc::new(std::sync::Mutex::new(Vec::new()));
	let mut taking = Vec::new();
	for (number, mut ways) in ways(&stop).await.into_iter().enumerate() {
		let heard: Heard = match number {
			1 => {
				let steps = steps.clone();
				Arc::new(move |done, _| steps.lock().unwrap().push(done))
			}
			_ => silent(),
		};
		let attempt = setting.attempt(number, &format!("member-{number}"), heard);
		let stop = stop.clone();
		taking.push(tokio::spawn(async move { attempt.take(&mut ways, 1, &stop).await }));
	}
	for (number, taking) in taking.into_iter().enumerate() {
		let Placed { work, sent: files } = taking.await.unwrap().unwrap().unwrap();
		assert_eq!(work, expected.work, "member {number}");
		assert_eq!(files.is_some(), number == 1, "only the leader has the delta");
		if let Some(files) = files {
			assert_eq!(sent(files.delta.path()), expected.delta);
		}
	}
	assert_eq!(*steps.lock().unwrap(), [0..2, 2..4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_is_started_again_within_a_round_has_it_completed_all_the_same() {
	let (setting, stop) = (Setting::new(), CancellationToken::new());
	let _ending = stop.clone().drop_guard();
	let mut ways = ways(&stop).await.into_iter();
	let (mut first, mut second, mut third) = (ways.next().unwrap(), ways.next().unwrap(), ways.next().unwrap());
	// It is stopped behind the first interval.
	let ended = CancellationToken::new();
	let end = ended.clone();
	let heard: Heard = Arc::new(move |_, _| end.cancel());
	let others = [(setting.attempt(0, "member-0", silent())), (setting.attempt(1, "member-1", silent()))];
	let [of_first, of_second] = others;
	let stopped = stop.clone();
	let first = tokio::spawn(async move { of_first.take(&mut first, 1, &stopped).await });
	let stopped = stop.clone();
	let second = tokio::spawn(async move { of_second.take(&mut second, 1, &stopped).await });
	assert!(setting.attempt(2, "member-2", heard).take(&mut third, 1, &ended).await.unwrap().is_none());
	let third = setting.attempt(2, "member-2", silent()).take(&mut third, 1, &stop).await.unwrap().unwrap();
	let work = setting.alone().work;
	assert_eq!(
		[third.work, first.await.unwrap().unwrap().unwrap().work, second.await.unwrap().unwrap().unwrap().work],
		[(); 3].map(|()| work.clone())
	);
}

#[tokio::test]
async fn whoever_is_not_named_in_the_file_is_named_and_who_waits_in_vain_can_be_stopped() {
	let (setting, stop) = (Setting::new(), CancellationToken::new());
	let mut ways = ways(&stop).await;
	let mut first = ways.remove(0);
	let attempt = setting.attempt(0, "member-0", silent());
	stop.cancel();
	assert!(attempt.take(&mut first, 1, &stop).await.unwrap().is_none());
	first.members.remove(&account(2));
	let error = setting.attempt(0, "member-0", silent()).take(&mut first, 1, &stop).await.map(drop).unwrap_err();
	assert!(matches!(&error, WorkerError::Unreachable { who } if *who == account(2)), "{error}");
	let outside = QuorumClaim { seats: setting.claim.seats[..1].to_vec(), ..(*setting.claim).clone() };
	let config = crate::participant::decide::plan::tests::training().0.run.unwrap().view.config;
	assert!(Attempt::place(&config, &outside, &account(2)).is_none());
}

#[test]
fn a_part_that_takes_more_memory_than_is_left_is_refused_with_what_it_takes() {
	let setting = Setting::new();
	let place = setting.attempt(0, "member-0", silent()).place;
	let exec = Arc::new(Exec::new(1).unwrap());
	let needed = needed_bytes(&place, exec.clone()).unwrap();
	fits(&place, exec.clone(), Some(needed)).unwrap();
	fits(&place, exec.clone(), None).unwrap();
	let refused = fits(&place, exec, Some(needed - 1)).unwrap_err();
	assert!(matches!(refused, WorkerError::TooLargePart { needed: told, available } if told == needed && available == needed - 1));
	assert!(refused.to_string().contains("quorum form"), "{refused}");
}
