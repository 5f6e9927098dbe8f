//! How many paid answers a provider gives in a second: a server of a tiny model, a node of its own, and so many sessions that ask at the same time, each for one
//! token at a time, and pay for it.
//!
//! `cargo run --release --example paid_answers -- FOLDER [SESSIONS] [SECONDS]`: a new folder on the disk that is measured is made in FOLDER.

use codec::{Decode, Encode};
use neuroshard_chain_client::{
	keys::{Account, PonwSigner, Seed},
	ChainClient, Halt, Submitter,
};
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_disputes::answers::TranscriptStore;
use neuroshard_graph::Class;
use neuroshard_inference::{batcher::Limits, receipt::Transcript, Model};
use neuroshard_mock_node::{Fate, MockNode, Script};
use neuroshard_provider::{
	paid::{Accounts, Business, Keeper},
	serve, Options,
};
use neuroshard_training::{checkpoint::Checkpoint, presets};
use neuroshard_types::{
	inference::{chained, Ask, CheckpointId, ClaimView, Offer, OfferView, Prices, SessionId, SessionView, Span, Voucher},
	AccountId, Moment, H256, NEURO,
};
use serde::Deserialize;
use std::{
	error::Error,
	net::{Ipv4Addr, SocketAddr},
	path::PathBuf,
	time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::{
	io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream},
	net::TcpStream,
	task::JoinSet,
};
use tokio_util::sync::CancellationToken;

type Anyhow<T> = Result<T, Box<dyn Error + Send + Sync>>;

const ROOT: H256 = H256([7; 32]);
/// Of all texts, so that none is refused.
const LONGEST: u32 = 1_000;

#[derive(Deserialize)]
struct Document {
	choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
	receipt: Transcript,
}

/// Who asks in a session.
struct User {
	account: Account,
	genesis: H256,
	provider: AccountId,
	session: SessionId,
}

impl User {
	/// Asks and pays until `until`. Returns how many answers there were.
	async fn ask(self, address: SocketAddr, until: Instant) -> Anyhow<u32> {
		let Self { account, genesis, provider, session } = self;
		let mut socket = BufStream::new(TcpStream::connect(address).await?);
		socket.get_ref().set_nodelay(true)?;
		let now = SystemTime::now().duration_since(UNIX_EPOCH)? + Duration::from_secs(600);
		let ask = Ask { session, provider: provider.clone(), until: Moment::try_from(now.as_millis())? };
		let ask = hex::encode((ask.clone(), account.sign_ask(&ask, genesis)).encode());
		let body = r#"{"model":"tiny","prompt":[97],"max_tokens":1,"temperature":0}"#;
		let mut voucher = Voucher { session, provider, amount: 0, answers: 0, receipts: H256::zero() };
		while Instant::now() < until {
			let signed = hex::encode((voucher.clone(), account.sign_voucher(&voucher, genesis)).encode());
			let request = format!(
				"POST /v1/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nneuroshard-session: {session}\r\n\
				 neuroshard-ask: 0x{ask}\r\nneuroshard-voucher: 0x{signed}\r\ncontent-length: {}\r\n\r\n{body}",
				body.len()
			);
			socket.write_all(request.as_bytes()).await?;
			socket.flush().await?;
			let (mut length, mut status) = (0, String::new());
			socket.read_line(&mut status).await?;
			loop {
				let mut line = String::new();
				socket.read_line(&mut line).await?;
				if line.trim().is_empty() {
					break;
				}
				if let Some(told) = line.strip_prefix("content-length: ") {
					length = told.trim().parse()?;
				}
			}
			let mut answer = vec![0; length];
			socket.read_exact(&mut answer).await?;
			if !status.starts_with("HTTP/1.1 200") {
				return Err(format!("{}: {}", status.trim(), String::from_utf8_lossy(&answer)).into());
			}
			let document: Document = serde_json::from_slice(&answer)?;
			let transcript = &document.choices.first().ok_or("there is no answer")?.receipt;
			voucher.answers += 1;
			voucher.amount += transcript.receipt.price;
			voucher.receipts = chained(voucher.receipts, transcript.receipt.hash(genesis));
		}
		Ok(voucher.answers)
	}
}

#[tokio::main]
async fn main() -> Anyhow<()> {
	let mut arguments = std::env::args().skip(1);
	let folder: PathBuf = arguments.next().ok_or("name a folder")?.into();
	let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
	let (sessions, seconds) = (number(32)?, number(10)?);

	let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
	let client = ChainClient::connect(&node.url()).await?;
	let submitter = Submitter::spawn(client.clone(), Account::from_secret("//Alice")?);
	let (provider, genesis, account) = (submitter.who().clone(), client.genesis(), Account::from_secret("//Bob")?);
	let (config, train) = presets::tiny();
	let prices = Prices { prompt: 1, generated: 1 };
	let whole = Span { who: provider.clone(), first: 0, layers: u16::try_from(config.layers)? };
	let offer = Offer {
		checkpoint: CheckpointId { run: 0, round: 1, root: ROOT },
		class: Class::ExactF32,
		prices,
		redundancy: 1,
		endpoint: b"http://127.0.0.1:1".to_vec().try_into().map_err(|_| "the endpoint")?,
		ring: vec![whole].try_into().map_err(|_| "the ring")?,
	};
	let hash = offer.hash(&provider);
	let standing = OfferView {
		driver: provider.clone(),
		offer: offer.clone(),
		hash,
		consents: Default::default(),
		ready: true,
		sessions: 0,
		deposit: 0,
	};
	let view = SessionView { user: account.id(), provider: None, escrow: 1_000 * NEURO, paid: 0, closes_at: None };
	node.answer("Training", "halted", &None::<Halt>);
	node.answer("Inference", "offer_of", &Some(standing));
	node.answer("Inference", "next_session", &sessions);
	node.answer("Inference", "claimed", &ClaimView::default());
	node.answer_by("Inference", "session", move |arguments| {
		let session = SessionId::decode(&mut &arguments[..]).unwrap_or(SessionId::MAX);
		(session < sessions).then(|| view.clone()).encode()
	});

	let base = tempfile::tempdir_in(&folder)?;
	let accounts = Accounts::new(provider.clone(), genesis, base.path().to_owned(), TranscriptStore::open(base.path())?)?;
	accounts.answer_up_to(LONGEST);
	let signer = PonwSigner::from_seed(&Seed::random()).ok_or("no key")?;
	let keeper = Keeper::new(client, submitter, signer.clone(), accounts);
	let business = Business::begin(keeper, offer).await?;
	let params = Checkpoint::genesis(0, &config, &train, 1)?.params;
	let model = Model::of_run("tiny".into(), &config, &Tokenizer::bytes(), &params, ROOT.0, Class::ExactF32, 1)?;
	let options = Options {
		address: (Ipv4Addr::LOCALHOST, 0).into(),
		keys: None,
		limits: Limits { active: 64, waiting: 256, memory: 64 << 20, lookup: true },
		signer: Some((provider.clone(), signer, genesis)),
		checkpoint: Some((0, 1)),
		paid: Some((prices, business)),
		ring: None,
		served: None,
		adapters: Vec::new(),
		origins: Vec::new(),
		hosts: Vec::new(),
	};
	let (stop, (ready, bound)) = (CancellationToken::new(), tokio::sync::oneshot::channel());
	let stopped = stop.clone();
	// Whoever waits for it may have gone.
	let told = move |address| _ = ready.send(address);
	let serving = tokio::spawn(async move { serve(model, options, told, stopped).await });
	let address = bound.await?;

	let begun = Instant::now();
	let mut users = JoinSet::new();
	for session in 0..sessions {
		let user = User { account: account.clone(), genesis, provider: provider.clone(), session };
		users.spawn(user.ask(address, begun + Duration::from_secs(seconds)));
	}
	let mut answers = 0;
	while let Some(user) = users.join_next().await {
		answers += user??;
	}
	let taken = begun.elapsed().as_secs_f64();
	println!("{:.1} paid answers a second: {answers} in {taken:.2} s, {sessions} sessions", f64::from(answers) / taken);
	stop.cancel();
	serving.await??;
	Ok(())
}
