//! `serve`.

use super::{local, open::create_base, owner, parse, CliError, Common};
use crate::{
	hardware,
	infer::Model,
	ring::{
		placement::Split,
		start::{self, Started},
		Patience, RingView,
	},
	serve::{
		batcher::Limits,
		paid::{Accounts, Business, BusinessError},
		serve, Options,
	},
};
use clap::Args;
use neuroshard_chain_client::{
	keys::{network_seed, Keys, PonwSigner},
	ChainClient, Neuro, Submitter,
};
use neuroshard_graph::exec::PAGE_TOKENS;
use neuroshard_network::{keypair_from_secret, PeerAddress, Streams};
use neuroshard_types::{
	inference::{Class, Offer, Prices, Span},
	provider::Role,
	AccountId, RunId, H256,
};
use std::{
	net::{Ipv4Addr, SocketAddr},
	path::PathBuf,
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Args)]
pub(super) struct Serve {
	/// Serve the newest checkpoint of this run that is in the base folder; without it, that of the newest run.
	#[arg(long, conflicts_with = "model")]
	run: Option<RunId>,
	/// Serve the model in this folder, which is in Hugging Face Llama layout: what `export` wrote, or another one.
	#[arg(long, value_name = "DIR")]
	model: Option<PathBuf>,
	/// Name of the model in requests; `run-N`, or the folder's name, if not given.
	#[arg(long)]
	name: Option<String>,
	/// Address to listen at. With another one than 127.0.0.1, whoever reaches it may ask: use --api-keys.
	#[arg(long, value_name = "HOST:PORT", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)))]
	listen: SocketAddr,
	/// File with an API key of 16 characters or more in each line, and behind it, if there is a limit, requests per minute.
	#[arg(long, value_name = "FILE")]
	api_keys: Option<PathBuf>,
	/// Answers that are computed at a time.
	#[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
	parallel: u16,
	/// Answers that wait beside them, each choice to each prompt counted; who asks for more is told to come back later.
	#[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
	queue: u16,
	/// Memory for keys and values, in MiB. Answers wait for it.
	#[arg(long, value_name = "MIB", default_value_t = 1_024)]
	memory: usize,
	/// Have the layers computed by the workers at these addresses, which `hold` prints. May be given several times, or with commas between addresses.
	#[arg(long, value_name = "MULTIADDR", value_delimiter = ',')]
	ring: Vec<PeerAddress>,
	/// How many workers hold each layer. With two or more, what they compute is compared, and one takes the place of another.
	#[arg(long, default_value_t = 1, requires = "ring", value_parser = clap::value_parser!(u8).range(1..))]
	redundancy: u8,
	/// How layers are split: `speed` for the soonest answer, on as few workers as that takes, or `memory` in proportion to memory, on all.
	#[arg(long, value_enum, default_value_t = Splitting::Speed, requires = "ring")]
	split: Splitting,
	/// Say who holds which layers, and why, and end.
	#[arg(long, requires = "ring")]
	explain: bool,
	/// Be paid: offer the checkpoint on chain, answer only in sessions that pay this provider, and claim what they owe. Needs an account that is
	/// registered with the role of a driver.
	#[arg(long, conflicts_with_all = ["model", "api_keys"])]
	provider: bool,
	/// Price of 1,000 tokens of answers, in NEURO.
	#[arg(long, value_name = "NEURO", default_value = "0.05", requires = "provider")]
	price: Neuro,
	/// Price of 1,000 tokens of prompts, in NEURO.
	#[arg(long, value_name = "NEURO", default_value = "0.01", requires = "provider")]
	prompt_price: Neuro,
	/// Address that users are told to ask at; that which is listened at, if not given.
	#[arg(long, value_name = "URL", requires = "provider")]
	endpoint: Option<String>,
	/// Do not guess tokens from what a text has said before. Guessing changes no answer, only how fast it comes.
	#[arg(long)]
	no_lookup: bool,
	/// Threads.
	#[arg(long, value_parser = parse::threads)]
	threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Splitting {
	Speed,
	Memory,
}

impl Serve {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let stop = CancellationToken::new();
		super::start::stop_on_signals(&stop)?;
		let threads = hardware::threads(self.threads);
		let (mut model, ring) = match (self.ring.is_empty(), &self.model) {
			(true, Some(folder)) => (Model::of_folder(folder, threads)?, None),
			(true, None) => (local::model(&common.base()?, self.run, threads)?, None),
			(false, _) => {
				let (model, started) = self.ring(common, threads, &stop).await?;
				(model, Some(started))
			}
		};
		if let Some(ring) = &ring {
			for line in ring.view.placement.explain() {
				println!("{line}");
			}
			if self.explain {
				stop.cancel();
				return Ok(0);
			}
		}
		model.name = self.name.clone().unwrap_or(model.name);
		let limits = Limits {
			active: self.parallel.into(),
			waiting: self.queue.into(),
			memory: self.memory.saturating_mul(1 << 20),
			lookup: !self.no_lookup,
		};
		let name = model.name.clone();
		let (signer, paid, claims) = match self.provider {
			false => (None, None, None),
			true => {
				let Provided { signer, prices, business } = self.provide(common, model.root, threads).await?;
				// It ends after the last answer, with all that is owed by then.
				let over = CancellationToken::new();
				let claims = tokio::spawn(business.clone().claim(over.clone()));
				(Some(signer), Some((prices, business)), Some((over, claims)))
			}
		};
		let options =
			Options { address: self.listen, keys: self.api_keys, limits, signer, paid, ring: ring.as_ref().map(|ring| ring.view.clone()) };
		let ready = |address: SocketAddr| {
			println!("{name} answers at http://{address}/v1; a page to chat on is at http://{address}/");
			println!("curl http://{address}/v1/completions -H 'content-type: application/json' -d '{{\"model\": \"{name}\", \"prompt\": \"Once\"}}'");
		};
		serve(model, options, ready, stop).await?;
		if let Some((over, claims)) = claims {
			over.cancel();
			// It has said what it could not claim.
			let _ = claims.await;
		}
		Ok(0)
	}

	/// Offers the checkpoint on chain.
	async fn provide(&self, common: &Common, root: H256, threads: usize) -> Result<Provided, CliError> {
		let base = common.base()?;
		if self.endpoint.is_none() && (self.listen.port() == 0 || self.listen.ip().is_unspecified()) {
			return Err(CliError::Invalid(
				"users have to be told where to ask: name that with --endpoint URL, or an address and a port with --listen".into(),
			));
		}
		let (checkpoint, layers) = local::checkpoint_id(&base, self.run, threads)?;
		if checkpoint.root != root {
			return Err(CliError::Invalid("another checkpoint has come since this command was started: start it anew".into()));
		}
		let keys = Keys::unlock(&base, common.suri.as_deref(), &common.unlock())?;
		let client = ChainClient::connect_all(&common.node).await?;
		let now = client.now().await?;
		let who = owner::of(&now, &keys.account).await?;
		let provider = now.provider(&who).await?.ok_or_else(|| CliError::NotRegistered { address: who.to_string() })?;
		if !provider.info.roles.contains(Role::Driver) {
			let words = format!("{who} does not offer the role of a driver: `neuroshard-worker update --roles worker,driver` changes that");
			return Err(CliError::Invalid(words));
		}
		if provider.info.ponw_key != keys.ponw.public() {
			let words = "the key for proofs in this folder is not the registered one: `neuroshard-worker update` registers it";
			return Err(CliError::Invalid(words.into()));
		}
		let per_token = |price: Neuro| price.0 / 1_000;
		let prices = Prices { prompt: per_token(self.prompt_price), generated: per_token(self.price) };
		let endpoint = self.endpoint.clone().unwrap_or_else(|| format!("http://{}", self.listen));
		let endpoint = endpoint.into_bytes().try_into().map_err(|_| CliError::Invalid("the endpoint is longer than 256 bytes".into()))?;
		let layers = u16::try_from(layers).map_err(|_| CliError::Invalid("the model has more layers than an offer can name".into()))?;
		let whole = Span { who: who.clone(), first: 0, layers };
		let ring = vec![whole].try_into().map_err(|_| CliError::Invalid("the ring has too many spans".into()))?;
		let offer = Offer { checkpoint, class: Class::ExactF32, prices, redundancy: 1, endpoint, ring };
		let folder = base.join("sessions");
		create_base(&folder)?;
		let genesis = client.genesis();
		let accounts = Accounts::new(who.clone(), genesis, folder).map_err(BusinessError::from)?;
		let submitter = Submitter::spawn_for(client.clone(), keys.account, who.clone());
		let business = Business::begin(client, submitter, offer, accounts).await?;
		println!("offered on chain: run {}, round {}, by {who}", checkpoint.run, checkpoint.round);
		Ok(Provided { signer: (who, keys.ponw, genesis), prices, business })
	}

	/// The model, computed by the workers that were named.
	async fn ring(&self, common: &Common, threads: usize, stop: &CancellationToken) -> Result<(Model, Around), CliError> {
		let base = common.base()?;
		create_base(&base)?;
		let (card, source) = local::card(&base, self.run, self.model.as_deref(), threads)?;
		let keypair = keypair_from_secret(&mut network_seed(&base, &common.unlock())?.expose().to_owned())?;
		let (streams, _, _, _) = Streams::start(keypair, Vec::new(), stop.clone()).await?;
		println!("this driver is {}", streams.local());
		let page = source.config.kv_dim().saturating_mul(source.config.layers).saturating_mul(2);
		let page = usize::try_from(page).unwrap_or(usize::MAX).saturating_mul(PAGE_TOKENS * size_of::<f32>());
		let options = start::Options {
			members: self.ring.clone(),
			redundancy: self.redundancy.into(),
			split: match self.split {
				Splitting::Speed => Split::BySpeed,
				Splitting::Memory => Split::MemoryWeighted,
			},
			texts: self.parallel.into(),
			pages: self.memory.saturating_mul(1 << 20) / page.max(1),
			patience: Patience::default(),
		};
		let Started { engine, placement, reports, tasks } = start::start(&streams, source, options, stop.clone()).await?;
		Ok((card.with(Box::new(engine)), Around { view: RingView { placement, reports }, _tasks: tasks, _streams: streams }))
	}
}

/// What a provider needs to be paid.
struct Provided {
	signer: (AccountId, PonwSigner, H256),
	prices: Prices,
	business: Business,
}

/// What a ring needs beside its engine, as long as it is used.
struct Around {
	view: RingView,
	_tasks: JoinSet<()>,
	_streams: Streams,
}
