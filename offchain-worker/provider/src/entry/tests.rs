//! A provider's server on a node that has one session.

use super::super::{
	paid::{Accounts, Keeper},
	serve, Options,
};
use super::*;
use codec::{Decode, Encode};
use neuroshard_chain_client::{
	keys::{Account, PonwSigner, Seed},
	Halt,
};
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_disputes::answers::TranscriptStore;
use neuroshard_fixtures::Connect;
use neuroshard_graph::Class;
use neuroshard_inference::batcher::Limits;
use neuroshard_inference::Model;
use neuroshard_mock_node::{Fate, MockNode, Script};
use neuroshard_training::{checkpoint::Checkpoint, presets};
use neuroshard_types::{
	inference::{Ask, ClaimView, Prices, SessionId, SessionView, Voucher},
	AccountId, Moment, NEURO,
};
use std::{
	net::{Ipv4Addr, SocketAddr},
	sync::atomic::{AtomicUsize, Ordering},
	time::{SystemTime, UNIX_EPOCH},
};
use tokio::{
	io::{AsyncReadExt, AsyncWriteExt},
	net::TcpStream,
	task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// The only session that is not settled, and the number that the next one will have.
const SESSION: SessionId = 7;
const NEXT: SessionId = 9;

struct Scene {
	node: MockNode,
	business: Business,
	provider: AccountId,
	user: Account,
	/// Looks at sessions on the chain.
	looks: Arc<AtomicUsize>,
	_base: tempfile::TempDir,
}

impl Scene {
	async fn new() -> Self {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let (client, submitter) = (node.client().await, node.submitter().await);
		let (provider, user) = (submitter.who().clone(), Account::from_secret("//Bob").unwrap());
		let looks = Arc::new(AtomicUsize::new(0));
		let view = SessionView { user: user.id(), provider: None, escrow: NEURO, paid: 0, closes_at: None };
		let counted = looks.clone();
		node.answer("Training", "halted", &None::<Halt>);
		node.answer("Inference", "next_session", &NEXT);
		node.answer("Inference", "claimed", &ClaimView::default());
		node.answer_by("Inference", "session", move |arguments| {
			counted.fetch_add(1, Ordering::Relaxed);
			let session = SessionId::decode(&mut &arguments[..]).unwrap();
			(session == SESSION).then(|| view.clone()).encode()
		});
		let base = tempfile::tempdir().unwrap();
		let transcript_store = TranscriptStore::open(base.path()).unwrap();
		let accounts = Accounts::new(provider.clone(), client.genesis(), base.path().to_owned(), transcript_store).unwrap();
		accounts.answer_up_to(1_000);
		let keeper = Keeper::new(client, submitter, PonwSigner::from_seed(&Seed::random()).unwrap(), accounts);
		Self { node, business: Business::of(keeper, 0), provider, user, looks, _base: base }
	}

	/// Looks at sessions so far.
	fn looks(&self) -> usize {
		self.looks.load(Ordering::Relaxed)
	}

	/// The headers of a request in a session, signed by `by`.
	async fn head(&self, session: SessionId, by: &Account) -> String {
		let genesis = self.node.client().await.genesis();
		let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
		let until = Moment::try_from(now).unwrap() + 60_000;
		let ask = Ask { session, provider: self.provider.clone(), until };
		let voucher = Voucher { session, provider: self.provider.clone(), amount: 0, answers: 0, receipts: Default::default() };
		let ask = (ask.clone(), by.sign_ask(&ask, genesis)).encode();
		let voucher = (voucher.clone(), by.sign_voucher(&voucher, genesis)).encode();
		let digits = |bytes: Vec<u8>| format!("0x{}", hex::encode(bytes));
		format!("neuroshard-session: {session}\r\nneuroshard-ask: {}\r\nneuroshard-voucher: {}\r\n", digits(ask), digits(voucher))
	}

	/// Serves a tiny model.
	async fn serve(&self) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
		let (config, train) = presets::tiny();
		let params = Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
		let model = Model::of_run("tiny".into(), &config, &Tokenizer::bytes(), &params, [7; 32], Class::ExactF32, 1).unwrap();
		let signer = (self.provider.clone(), PonwSigner::from_seed(&Seed::random()).unwrap(), self.node.client().await.genesis());
		let options = Options {
			address: (Ipv4Addr::LOCALHOST, 0).into(),
			keys: None,
			limits: Limits { active: 4, waiting: 16, memory: 64 << 20, lookup: true },
			signer: Some(signer),
			checkpoint: Some((0, 1)),
			paid: Some((Prices { prompt: 1, generated: 1 }, self.business.clone())),
			ring: None,
			served: None,
			adapters: Vec::new(),
			origins: Vec::new(),
			hosts: Vec::new(),
		};
		let (stop, (ready, bound)) = (CancellationToken::new(), tokio::sync::oneshot::channel());
		let stopped = stop.clone();
		let serving = tokio::spawn(async move { serve(model, options, |address| ready.send(address).unwrap(), stopped).await.unwrap() });
		(bound.await.unwrap(), stop, serving)
	}
}

/// Sends this, and takes what comes up to the end of the answer's head.
async fn answered(address: SocketAddr, request: String) -> (String, TcpStream) {
	let mut socket = TcpStream::connect(address).await.unwrap();
	socket.write_all(request.as_bytes()).await.unwrap();
	let mut head = Vec::new();
	while !head.ends_with(b"\r\n\r\n") {
		head.push(socket.read_u8().await.unwrap());
	}
	(String::from_utf8(head).unwrap(), socket)
}

#[tokio::test]
async fn nobodys_body_is_read_before_its_head_says_who_pays() {
	let scene = Scene::new().await;
	let (address, stop, serving) = scene.serve().await;
	let stranger = Account::from_secret("//Charlie").unwrap();
	let (user, other, unknown) =
		(scene.head(SESSION, &scene.user).await, scene.head(SESSION, &stranger).await, scene.head(NEXT, &scene.user).await);
	// Each of these waits to be asked for its body, and is not.
	for path in ["completions", "chat/completions", "vouchers", "embeddings", "check"] {
		for head in ["", &other, &unknown] {
			let request = format!(
				"POST /v1/{path} HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-type: application/json\r\n{head}content-length: 4000000\r\n\r\n"
			);
			let (head, _socket) = answered(address, request).await;
			assert!(head.starts_with("HTTP/1.1 402 "), "{path}: {head}");
		}
	}
	let body = r#"{"model":"tiny","prompt":"x","max_tokens":2}"#;
	let head = format!("expect: 100-continue\r\ncontent-type: application/json\r\n{user}content-length: {}", body.len());
	let (head, mut socket) = answered(address, format!("POST /v1/completions HTTP/1.1\r\nhost: localhost\r\n{head}\r\n\r\n")).await;
	assert!(head.starts_with("HTTP/1.1 100 "), "{head}");
	socket.write_all(body.as_bytes()).await.unwrap();
	let mut answer = [0; 15];
	socket.read_exact(&mut answer).await.unwrap();
	assert_eq!(&answer, b"HTTP/1.1 200 OK");
	stop.cancel();
	serving.await.unwrap();
}

#[tokio::test]
async fn sessions_that_are_not_there_are_looked_for_once_and_invented_ones_never() {
	let scene = Scene::new().await;
	for session in (NEXT..NEXT + 50).chain([SessionId::MAX]) {
		assert!(scene.business.session(session).await.is_err());
	}
	assert_eq!(scene.looks(), 0);
	for _ in 0..10 {
		let error = scene.business.session(SESSION - 1).await.map(drop).unwrap_err();
		assert!(error.json().to_string().contains("there is no session 6"));
	}
	assert_eq!(scene.looks(), 1);
	assert!(scene.business.session(SESSION).await.is_ok());
}

#[tokio::test]
async fn in_a_session_that_was_asked_in_a_forged_request_asks_the_chain_nothing() {
	let scene = Scene::new().await;
	let accounts = scene.business.accounts();
	let headers = |head: String| {
		let lines = head.lines().map(|line| line.split_once(": ").unwrap());
		lines.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
	};
	let (user, stranger) = (headers(scene.head(SESSION, &scene.user).await), Account::from_secret("//Charlie").unwrap());
	assert!(accounts.admit(&user, |session| scene.business.session(session)).await.is_ok());
	let forged = headers(scene.head(SESSION, &stranger).await);
	let error = accounts.admit(&forged, |_| async { panic!("the chain is asked") }).await.map(drop).unwrap_err();
	assert!(error.json().to_string().contains("not signed by the user"), "{error:?}");
	let other = headers(scene.head(SESSION, &scene.user).await.replace("session: 7", "session: 8"));
	let error = accounts.admit(&other, |_| async { panic!("the chain is asked") }).await.map(drop).unwrap_err();
	assert!(error.json().to_string().contains("of several sessions"), "{error:?}");
}
