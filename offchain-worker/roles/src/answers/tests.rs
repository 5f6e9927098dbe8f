//! An auditor of answers on a node that says what it was drawn for, and a provider that hands something over.

use super::*;
use axum::{routing::post, Json, Router};
use codec::{Decode, Encode};
use neuroshard_chain_client::{disputes::Act, keys::Seed, ChainAt};
use neuroshard_disputes::answers::Handed;
use neuroshard_fixtures::answers::{alice, answered, audit, config, layout, newest, other_token, somebody, GENESIS, SESSION};
use neuroshard_fixtures::{self as testing, Connect};
use neuroshard_mock_node::{decoded_metadata, Fate, MockNode, Script};
use neuroshard_network::{keypair_from_secret, Network, NetworkConfig};
use neuroshard_store::Store;
use neuroshard_types::{
	answer_audit::{AnswerAuditTerms, Delivery},
	dispute::{ClaimId, GameView, Terms, PAGE},
	inference::{chained, CheckpointId, Class, Offer, OfferView, Prices},
	provider::{ProviderInfo, ProviderView},
	run::{RunStatus, RunView},
	H256, NEURO,
};
use std::future::IntoFuture;
use tokio::net::TcpListener;

/// Blocks for a delivery: more than are made here by themselves.
const DELIVER_TIME: BlockNumber = 1_000;

/// An auditor, its node, and the answer that it was drawn for.
struct Fixture {
	node: MockNode,
	answers: Answers,
	transcript: Transcript,
	stop: CancellationToken,
	_base: tempfile::TempDir,
}

impl Drop for Fixture {
	fn drop(&mut self) {
		self.stop.cancel();
	}
}

impl Fixture {
	/// Drawn for an answer of somebody, with some of its tokens changed.
	async fn new(change: impl FnOnce(&mut [u32]) + Send + 'static) -> Self {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let given = tokio::task::spawn_blocking(move || answered(somebody(), &newest().params, 0, change));
		let transcript = given.await.unwrap();
		let terms = AnswerAuditTerms { share: 1, draw_price: 0, deliver_time: DELIVER_TIME, deposit: NEURO, open_for: 9_000 };
		node.answer("Disputes", "answer_audit_terms", &terms);
		let info = ProviderInfo { ponw_key: transcript.key.unwrap(), ..testing::provider().info };
		node.answer("Staking", "provider", &Some(ProviderView { info, ..testing::provider() }));
		let view = RunView {
			sponsor: somebody(),
			config: config(),
			status: RunStatus::Active,
			approved: true,
			rounds_adopted: 0,
			checkpoint: newest().header.root(),
			joining: Vec::new(),
		};
		node.answer("Training", "run", &Some(view));
		node.answer("Disputes", "game", &None::<GameView>);
		// The limit is full, and the bond of others is more than this account has.
		node.answer("Disputes", "bond_against", &None::<u128>);
		node.answer("Disputes", "terms", &Terms { window: 30, clock: 5, extension: 5, bond: 100 * NEURO, most_games: 32 });
		node.fund(1_000 * NEURO);
		let (base, stop) = (tempfile::tempdir().unwrap(), CancellationToken::new());
		// The checkpoint is here: the run's newest one.
		newest().save(&neuroshard_training::checkpoint::checkpoint_folder(base.path(), 0), &layout()).unwrap();
		let store = Store::open(&base.path().join("store"), 1 << 24).unwrap();
		let keys = keypair_from_secret(&mut [1; 32]).unwrap();
		let (net, _) = Network::start(NetworkConfig::default(), keys, store.clone(), stop.clone()).await.unwrap();
		let (client, submitter) = (node.client().await, node.submitter().await);
		let signer = PonwSigner::from_seed(&Seed::random()).unwrap();
		let content = Content::new(store, net, base.path(), None);
		let (answers, _) = Answers::new(Parts { base: base.path(), client, submitter, signer, content, threads: 1 }).unwrap();
		let fixture = Self { node, answers, transcript, stop, _base: base };
		fixture.offer(None);
		fixture.draw(Delivery::Undemanded, 2 * DELIVER_TIME);
		fixture
	}

	fn audit(&self, delivery: Delivery, demand_by: BlockNumber) -> AnswerAuditView {
		let receipts = chained(H256::zero(), self.transcript.receipt.hash(GENESIS));
		AnswerAuditView { auditor: alice(), delivery, demand_by, closes_at: 4 * DELIVER_TIME, ..audit(&self.transcript, 1, receipts) }
	}

	fn draw(&self, delivery: Delivery, demand_by: BlockNumber) {
		let audit = self.audit(delivery, demand_by);
		self.node.answer("Disputes", "answer_audits_of", &vec![&audit]);
		self.node.answer("Disputes", "answer_audit", &Some(audit));
	}

	/// The provider is at this address, or offers nothing.
	fn offer(&self, port: Option<u16>) {
		let view = port.map(|port| OfferView {
			driver: somebody(),
			offer: Offer {
				checkpoint: CheckpointId { run: 0, round: 0, root: newest().header.root() },
				class: Class::ExactF32,
				prices: Prices { prompt: 1, generated: 1 },
				redundancy: 1,
				endpoint: format!("http://127.0.0.1:{port}").into_bytes().try_into().unwrap(),
				ring: Default::default(),
			},
			hash: H256::zero(),
			consents: Default::default(),
			ready: true,
			sessions: 0,
			deposit: 0,
		});
		self.node.answer("Inference", "offer_of", &view);
	}

	/// A provider that hands this over to everybody.
	async fn provider_with(&self, handed: Handed) {
		let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
		self.offer(Some(listener.local_addr().unwrap().port()));
		let router = Router::new().route(neuroshard_disputes::answers::handed::TEXTS, post(move || async { Json(handed) }));
		let (stop, serve) = (self.stop.clone(), axum::serve(listener, router));
		tokio::spawn(async move { stop.run_until_cancelled(serve.into_future()).await });
	}

	fn handed(&self) -> Handed {
		Handed { transcript: self.transcript.clone(), before: H256::zero(), later: Vec::new() }
	}

	/// Takes a turn, and computes what is to be computed; whether there was something to do.
	async fn turn(&mut self) -> bool {
		match self.answers.turn(false).await.unwrap() {
			Turn::Idle => return false,
			Turn::Did => {}
			Turn::Compute(job) => {
				assert!(matches!(self.answers.turn(true).await.unwrap(), Turn::Idle), "one at a time");
				let (answer, verdict) = self.answers.judge.clone().run(*job).await;
				self.answers.take_verdict(answer, verdict);
			}
		}
		true
	}

	/// Takes so many turns, and returns whether the last one did something.
	async fn turns(&mut self, count: usize) -> bool {
		let mut did = false;
		for _ in 0..count {
			did = self.turn().await;
		}
		did
	}

	fn known(&self) -> Option<Known> {
		self.answers.looks.values().next().map(|look| look.found.known())
	}

	/// The last block, and the state there.
	async fn now(&self) -> ChainAt {
		self.node.client().await.now().await.unwrap()
	}

	fn sent(&self) -> usize {
		self.node.submitted().borrow().len()
	}
}

#[tokio::test]
async fn a_right_answer_is_computed_once_and_nothing_is_sent() {
	let mut fixture = Fixture::new(|_| {}).await;
	fixture.provider_with(fixture.handed()).await;
	assert!(fixture.turns(1).await);
	assert_eq!(fixture.known(), Some(Known::Text));
	assert!(fixture.turns(1).await);
	assert_eq!(fixture.known(), Some(Known::All));
	assert!(!fixture.turns(1).await && fixture.sent() == 0);
	// What is not listed may come back with another branch; what is closed is forgotten.
	fixture.node.answer("Disputes", "answer_audits_of", &Vec::<AnswerAuditView>::new());
	assert!(!fixture.turns(1).await && fixture.known() == Some(Known::All));
	fixture.node.grow(4 * DELIVER_TIME);
	assert!(!fixture.turns(1).await && fixture.known().is_none());
}

#[tokio::test]
async fn a_false_answer_is_disputed_once_from_its_first_false_token_on_with_all_that_the_game_takes_on_disk() {
	let mut fixture = Fixture::new(other_token).await;
	fixture.provider_with(fixture.handed()).await;
	fixture.turns(2).await;
	assert_eq!(fixture.known(), Some(Known::False));
	let transcript_store = fixture.answers.transcript_store.clone();
	assert_eq!(transcript_store.find(SESSION, fixture.transcript.receipt.hash(GENESIS)).unwrap(), fixture.transcript);
	assert_eq!(transcript_store.header(newest().header.root()), Some(newest().header));
	fixture.turns(1).await;
	let (at, client) = (fixture.now().await, fixture.node.client().await);
	let mut posted = Vec::new();
	for number in 0..=at.block().number {
		posted.extend(client.posted(client.block_at(number).await.unwrap()).await.unwrap());
	}
	let claim: ClaimId = fixture.transcript.receipt.claim(GENESIS).unwrap();
	assert_eq!(posted, [Act::ChallengeAnswer { claim, doubt: 5 }]);
	// However it ends, that is all.
	for _ in 0..8 {
		fixture.node.grow(LONGEST_REST);
		fixture.turns(1).await;
	}
	assert_eq!((fixture.known(), fixture.sent()), (Some(Known::False), 1));
}

#[tokio::test]
async fn settings_out_of_range_are_disputed_without_a_model_or_a_bond() {
	let mut fixture = Fixture::new(|_| {}).await;
	let mut receipt = fixture.transcript.receipt.clone();
	receipt.sampling.temperature = neuroshard_types::F32::new(3e38);
	// Nobody has such parameters.
	receipt.parameters = H256::repeat_byte(9);
	let key = PonwSigner::from_seed(&Seed::random()).unwrap();
	(fixture.transcript.key, fixture.transcript.signature) = (Some(key.public()), Some(key.sign_receipt(&receipt, GENESIS)));
	fixture.transcript.receipt = receipt;
	let info = ProviderInfo { ponw_key: key.public(), ..testing::provider().info };
	fixture.node.answer("Staking", "provider", &Some(ProviderView { info, ..testing::provider() }));
	fixture.draw(Delivery::Undemanded, 2 * DELIVER_TIME);
	fixture.node.fund(NEURO);
	fixture.provider_with(fixture.handed()).await;
	assert!(fixture.turns(2).await);
	assert_eq!(fixture.known(), Some(Known::False));
	assert!(fixture.turns(1).await && fixture.sent() == 1);
}

#[tokio::test]
async fn another_text_than_the_one_that_was_paid_for_is_none_and_the_right_one_is_demanded_in_time() {
	let mut fixture = Fixture::new(|_| {}).await;
	let other = tokio::task::spawn_blocking(|| answered(somebody(), &newest().params, 1, |_| {})).await.unwrap();
	fixture.provider_with(Handed { transcript: other, ..fixture.handed() }).await;
	assert!(fixture.turns(1).await);
	assert_eq!(fixture.known(), Some(Known::Nothing { asked: true }));
	assert!(!fixture.turns(1).await, "it rests");
	// Half of the time for a demand is over.
	let now = fixture.now().await.block().number;
	fixture.draw(Delivery::Undemanded, now + LONGEST_REST + DELIVER_TIME / 2);
	fixture.node.grow(LONGEST_REST);
	assert!(fixture.turns(1).await);
	let demand = answer_audits::demand(fixture.audit(Delivery::Undemanded, 0).answer).encode(&decoded_metadata()).unwrap();
	assert!(fixture.node.submitted().borrow().iter().any(|sent| sent.ends_with(&demand)) && fixture.sent() == 1);
	// It is waited for then, and read from its block.
	fixture.draw(Delivery::Demanded(now + 2 * DELIVER_TIME), now);
	fixture.node.grow(LONGEST_REST);
	assert!(!fixture.turns(1).await);
	let delivered = answer_audits::deliver(SESSION, 0, fixture.handed().into_delivered().unwrap());
	let block = fixture.node.submitter().await.submit(delivered).await.unwrap().block.number;
	fixture.draw(Delivery::Delivered(block), now);
	assert!(fixture.turns(2).await);
	assert_eq!((fixture.known(), fixture.sent()), (Some(Known::All), 2));
}

#[tokio::test]
async fn a_provider_that_offers_nothing_is_no_reason_to_do_nothing() {
	let mut fixture = Fixture::new(|_| {}).await;
	assert!(fixture.turns(1).await);
	assert_eq!(fixture.known(), Some(Known::Nothing { asked: true }));
	let now = fixture.now().await.block().number;
	fixture.draw(Delivery::Undemanded, now + LONGEST_REST + DELIVER_TIME / 2);
	fixture.node.grow(LONGEST_REST);
	assert!(fixture.turns(1).await && fixture.sent() == 1);
}

#[tokio::test]
async fn an_answer_that_was_drawn_after_a_thousand_others_is_demanded_in_time() {
	let mut fixture = Fixture::new(|_| {}).await;
	let now = fixture.now().await.block().number;
	// Their texts can be demanded no more, and nobody hands them over.
	let others = (1_000..=2_000).map(|session| {
		let mut audit = fixture.audit(Delivery::Undemanded, now);
		(audit.answer.session, audit.closes_at) = (session, 3 * DELIVER_TIME);
		audit
	});
	let all: Vec<AnswerAuditView> = others.chain([fixture.audit(Delivery::Undemanded, now + DELIVER_TIME / 2)]).collect();
	fixture.node.answer_by("Disputes", "answer_audits_of", move |mut input| {
		let (_, after) = <(AccountId, Option<(BlockNumber, AnswerId)>)>::decode(&mut input).unwrap();
		let behind = after.map_or(0, |(_, after)| all.iter().position(|audit| audit.answer == after).unwrap() + 1);
		all[behind..].iter().take(PAGE as usize).collect::<Vec<_>>().encode()
	});
	let demand = answer_audits::demand(fixture.audit(Delivery::Undemanded, 0).answer).encode(&decoded_metadata()).unwrap();
	// It is asked for, and then demanded, before all others.
	for _ in 0..2 {
		assert!(fixture.turns(1).await);
		fixture.node.grow(LONGEST_REST);
	}
	assert!(fixture.node.submitted().borrow().iter().any(|sent| sent.ends_with(&demand)) && fixture.sent() == 1);
}

/// A provider that offers nothing, and whose text is due to be demanded.
async fn due() -> Fixture {
	let mut fixture = Fixture::new(|_| {}).await;
	assert!(fixture.turns(1).await);
	fixture.node.grow(LONGEST_REST);
	let now = fixture.now().await.block().number;
	fixture.draw(Delivery::Undemanded, now + DELIVER_TIME / 4);
	fixture
}

#[tokio::test]
async fn who_cannot_pay_the_deposit_demands_nothing_and_pays_no_fee_before_it_can() {
	let mut fixture = due().await;
	fixture.node.fund(NEURO);
	for _ in 0..3 {
		assert!(fixture.turns(1).await && fixture.sent() == 0);
		let now = fixture.now().await.block().number + LONGEST_REST;
		fixture.node.grow(LONGEST_REST);
		fixture.draw(Delivery::Undemanded, now + DELIVER_TIME / 4);
	}
	fixture.node.fund(2 * NEURO);
	assert!(fixture.turns(1).await && fixture.sent() == 1);
}

#[tokio::test]
async fn no_more_is_spent_on_a_provider_than_its_stake_is_worth() {
	let mut fixture = due().await;
	let now = fixture.now().await.block().number;
	fixture.answers.budget.note(&somebody(), now);
	assert!(fixture.turns(1).await && fixture.sent() == 0);
	fixture.answers.budget = Budget::default();
	fixture.node.grow(LONGEST_REST);
	let now = fixture.now().await.block().number;
	fixture.draw(Delivery::Undemanded, now + DELIVER_TIME / 4);
	assert!(fixture.turns(1).await && fixture.sent() == 1);
}
