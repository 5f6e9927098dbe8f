//! Tests of what ends training, and what outlives it, on a node of one's own.

use super::{decide::plan::tests::training, observe::observe, *};
use crate::{
	auditor::provider,
	conduct::Honest,
	parts::{Mode, Parts},
	status::{Reporter, Status},
	Worker,
};
use neuroshard_chain_client::keys::Account;
use neuroshard_fixtures::Connect;
use neuroshard_mock_node::{Fate, MockNode, Script};
use neuroshard_network::{keypair_from_secret, Handle, Network, NetworkConfig};
use neuroshard_store::Store;
use neuroshard_training::engine::Device;
use neuroshard_types::{
	audit::{AuditTerms, AuditView},
	dataset::{AttestationTerms, HoldingView},
	dispute::{ClaimId, ClaimKind, Terms},
	provider::ProviderView,
	reward::{Earnings, EraIndex},
	run::{RoundView, RunView},
	AccountId, Balance, ModelConfig, TrainConfig, NEURO,
};
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_util::sync::DropGuard;

type Games = Vec<(ClaimId, AccountId)>;

/// A node, and a folder for a worker on it.
struct Fixture {
	node: MockNode,
	base: tempfile::TempDir,
	reporter: Reporter,
	stop: CancellationToken,
	/// No worker outlives a test.
	_ending: [DropGuard; 2],
	net: Handle,
	store: Store,
}

impl Fixture {
	/// A node on which the account has claims that can be disputed for a long time.
	async fn new() -> Self {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		node.fund(1_000_000 * NEURO);
		node.answer("Staking", "active_peers", &(Vec::<(AccountId, Vec<u8>, Vec<Vec<u8>>)>::new(), None::<AccountId>));
		node.answer("Staking", "peers_of", &Vec::<(AccountId, Vec<u8>, Vec<Vec<u8>>)>::new());
		node.answer("Staking", "owner_of", &None::<AccountId>);
		node.answer("Dataset", "holders", &Vec::<AccountId>::new());
		node.answer("Staking", "limits", &(NEURO, 10 as BlockNumber));
		node.answer("Training", "runs", &Vec::<RunId>::new());
		node.answer("Training", "run", &None::<RunView>);
		node.answer("Training", "round", &None::<RoundView>);
		node.answer("Training", "members", &Vec::<AccountId>::new());
		node.answer("Training", "cohorts", &Vec::<RunId>::new());
		node.answer("Training", "next_join", &None::<BlockNumber>);
		node.answer("Rewards", "claimable_eras", &Vec::<(EraIndex, Balance)>::new());
		node.answer("Rewards", "earnings", &Earnings::default());
		node.answer("Disputes", "games_of", &Games::new());
		node.answer("Disputes", "game", &None::<neuroshard_types::dispute::GameView>);
		node.answer("Disputes", "audits_of", &Vec::<AuditView>::new());
		node.answer("Disputes", "verifiers", &Vec::<AccountId>::new());
		node.answer("Disputes", "audit_terms", &AuditTerms { share: 0, seal_time: 20, report_time: 10 });
		node.answer("Disputes", "terms", &Terms { window: 30, clock: 5, extension: 5, bond: NEURO, most_games: 32 });
		node.answer("Dataset", "attestations_of", &Vec::<HoldingView>::new());
		node.answer(
			"Dataset",
			"attestation_terms",
			&AttestationTerms { deposit: NEURO, period: 10, bond: NEURO, answer_time: 10, penalty: NEURO },
		);
		let (base, ending) = (tempfile::tempdir().unwrap(), CancellationToken::new());
		let store = Store::open(&base.path().join("store"), 1 << 24).unwrap();
		let keys = keypair_from_secret(&mut [1; 32]).unwrap();
		let (net, _) = Network::start(NetworkConfig::default(), keys, store.clone(), ending.clone()).await.unwrap();
		let reporter = Reporter::new(Status::default());
		let stop = CancellationToken::new();
		let _ending = [stop.clone().drop_guard(), ending.drop_guard()];
		let fixture = Self { node, base, reporter, stop, _ending, net, store };
		fixture.disputable_until(BlockNumber::MAX);
		fixture
	}

	/// Has the account's claims be disputable until this block.
	fn disputable_until(&self, until: BlockNumber) {
		let provider = ProviderView { disputable_until: until, open_claims: 0, ..provider() };
		self.node.answer("Staking", "provider", &Some(provider));
	}

	/// Has there be approved runs with these numbers, all with this first checkpoint.
	fn approve(&self, runs: &[RunId], genesis_root: H256) {
		let mut view = training().0.run.unwrap().view;
		(view.config.model, view.config.train, view.config.genesis_root) = (ModelConfig::tiny(), TrainConfig::tiny(), genesis_root);
		(view.checkpoint, view.rounds_adopted) = (genesis_root, 0);
		self.node.answer("Training", "runs", &runs.to_vec());
		self.node.answer("Training", "run", &Some(view));
	}

	/// Has somebody open a game about a claim of the account.
	fn dispute(&self) {
		let claim = ClaimId { run: 0, round: 1, kind: ClaimKind::Work, who: AccountId::new([9; 32]) };
		self.node.answer("Disputes", "games_of", &vec![(claim, AccountId::new([8; 32]))]);
	}

	/// A worker that takes part in run `run`, or chooses one.
	async fn start(&self, run: Option<RunId>) -> JoinHandle<Result<(), WorkerError>> {
		let base = self.base.path().to_path_buf();
		let keys = Keys::import(&base, "//Alice").unwrap();
		let owner = keys.account.id();
		let parts = Parts {
			base,
			keys,
			owner,
			client: self.node.client().await,
			store: self.store.clone(),
			net: self.net.clone(),
			reporter: self.reporter.clone(),
		};
		let options = Options {
			mode: Mode::Train,
			run,
			dataset: None,
			attest: false,
			threads: 1,
			device: Device::Cpu,
			claim_from: NEURO,
			conduct: Arc::new(Honest),
			check: 0.0,
			audit_in_files: false,
		};
		let (worker, stop, runtime) = (Worker::new(parts, options).unwrap(), self.stop.clone(), tokio::runtime::Handle::current());
		tokio::task::spawn_blocking(move || runtime.block_on(worker.run(stop)))
	}

	async fn status(&self, holds: impl FnMut(&Status) -> bool) -> Status {
		self.reporter.subscribe().wait_for(holds).await.unwrap().clone()
	}
}

#[tokio::test]
async fn the_defence_outlives_training_until_nothing_can_be_disputed_any_more() {
	let fixture = Fixture::new().await;
	let worker = fixture.start(Some(9)).await;
	let ended = fixture.status(|status| status.ended.is_some()).await;
	assert!(ended.ended.unwrap().contains("there is no run 9"));
	// What comes after that is noticed by the verifier, which plays it.
	fixture.dispute();
	fixture.status(|status| status.disputes.open == 1).await;
	fixture.disputable_until(0);
	let stays = fixture
		.status(|status| status.task.as_ref().is_some_and(|task| task.contains("1 dispute and") && task.contains("until block 0")))
		.await;
	assert!(stays.task.unwrap().contains("stays to defend") && !worker.is_finished());
	fixture.node.answer("Disputes", "games_of", &Games::new());
	let error = worker.await.unwrap().unwrap_err();
	assert!(matches!(error, WorkerError::UnknownRun(9)), "{error}");
}

#[tokio::test]
async fn whoever_has_nothing_at_stake_is_told_of_a_wrong_run_at_once() {
	let fixture = Fixture::new().await;
	fixture.node.answer("Staking", "provider", &None::<ProviderView>);
	let error = fixture.start(Some(9)).await.await.unwrap().unwrap_err();
	assert!(matches!(error, WorkerError::UnknownRun(9)), "{error}");
}

#[tokio::test]
async fn a_worker_whose_training_has_ended_stops_when_it_is_asked_to() {
	let fixture = Fixture::new().await;
	let worker = fixture.start(Some(9)).await;
	fixture.status(|status| status.ended.is_some()).await;
	fixture.stop.cancel();
	worker.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_journal_that_cannot_be_read_keeps_nobody_from_defending() {
	let fixture = Fixture::new().await;
	std::fs::write(fixture.base.path().join("journal"), b"damaged").unwrap();
	let worker = fixture.start(None).await;
	let ended = fixture.status(|status| status.ended.is_some()).await;
	assert!(ended.ended.unwrap().contains("journal is damaged"));
	fixture.dispute();
	fixture.status(|status| status.disputes.open == 1).await;
	assert_eq!(std::fs::read(fixture.base.path().join("journal")).unwrap(), b"damaged");
	fixture.stop.cancel();
	worker.await.unwrap().unwrap();
}

#[tokio::test]
async fn runs_with_a_false_first_checkpoint_are_barred_one_after_the_other_and_the_worker_goes_on() {
	let fixture = Fixture::new().await;
	fixture.approve(&[3, 4], H256::repeat_byte(7));
	let worker = fixture.start(None).await;
	let status = fixture.status(|status| status.barred.len() == 2).await;
	for (run, words) in [3, 4].iter().zip(&status.barred) {
		assert!(words.contains(&format!("run {run} is not taken")) && words.contains("genesis checkpoint"), "{words}");
	}
	fixture.dispute();
	let status = fixture.status(|status| status.disputes.open == 1 && status.run.is_none()).await;
	assert!(status.ended.is_none() && !worker.is_finished(), "another run may come");
	fixture.stop.cancel();
	worker.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_false_run_that_was_named_ends_training_and_not_the_defence() {
	let fixture = Fixture::new().await;
	fixture.approve(&[3], H256::repeat_byte(7));
	let worker = fixture.start(Some(3)).await;
	let ended = fixture.status(|status| status.ended.is_some()).await;
	assert!(ended.ended.unwrap().contains("genesis checkpoint"));
	fixture.dispute();
	fixture.status(|status| status.disputes.open == 1).await;
	assert!(!worker.is_finished());
	fixture.node.answer("Disputes", "games_of", &Games::new());
	fixture.disputable_until(0);
	let error = worker.await.unwrap().unwrap_err();
	assert!(matches!(error, WorkerError::Genesis { run: 3, .. }), "{error}");
}

#[tokio::test]
async fn a_run_that_nobody_approved_is_not_taken() {
	let fixture = Fixture::new().await;
	let mut view = training().0.run.unwrap().view;
	view.approved = false;
	fixture.node.answer("Training", "runs", &vec![1 as RunId]);
	fixture.node.answer("Training", "run", &Some(view));
	let worker = fixture.start(None).await;
	let status = fixture.status(|status| status.best_block > 20).await;
	assert!(status.run.is_none() && status.barred.is_empty() && status.ended.is_none(), "{status:?}");
	fixture.stop.cancel();
	worker.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_look_at_the_chain_takes_few_round_trips_and_asks_only_about_the_run_at_hand() {
	let fixture = Fixture::new().await;
	fixture.approve(&[3], H256::repeat_byte(7));
	let distance = fixture.node.from_afar(std::time::Duration::from_millis(100)).await;
	let client = ChainClient::connect(&distance.url()).await.unwrap();
	let me = Account::from_secret("//Alice").unwrap().id();
	let (mut choice, mut reserves) = (Choice::new(None), Reserves::default());
	observe(&client, (&me, &me), &mut choice, None, &mut reserves).await.unwrap();
	// There are many others by now.
	fixture.node.answer("Training", "runs", &(0..100).collect::<Vec<RunId>>());
	let before = distance.trips();
	let seen = observe(&client, (&me, &me), &mut choice, Some(3), &mut reserves).await.unwrap();
	assert_eq!(seen.chain.run.map(|run| run.id), Some(3));
	// Hashes of the heads, their numbers, their versions, what the chain says of account and run, and what follows from that.
	let trips = distance.trips() - before;
	assert!(trips <= 6, "{trips}");
}
