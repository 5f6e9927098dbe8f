//! `serve`.

use super::{
	conduct::Conducts,
	found::{self, Found, RingMember, Watched},
	local,
	open::create_base,
	owner, parse, CliError, Common,
};
use axum::http::Uri;
use clap::Args;
use neuroshard_chain_client::{
	keys::{network_seed, Keys, PonwSigner, Seed},
	ChainAt, ChainClient, Neuro, Submitter,
};
use neuroshard_compute::exec::PAGE_TOKENS;
use neuroshard_disputes::answers::{judge, longest_text, InUse, Parts, Player, TranscriptStore};
use neuroshard_graph::{game::Side, ParamLayout};
use neuroshard_http::Origin;
use neuroshard_inference::{batcher::Limits, Engine, Model, Readiness};
use neuroshard_network::{keypair_from_secret, Purpose, Reach, Streams};
use neuroshard_provider::{
	paid::{Accounts, Business, BusinessError, Keeper},
	serve, Options,
};
use neuroshard_ring::{
	accounts::{consent::Watch, is_of, Offering, Terms},
	find::Resting,
	liars::Liars,
	placement::Split,
	start::{self, RingError, Started},
	Patience, RingView,
};
use neuroshard_support::{backoff::Backoff, hardware, memory::available_memory};
use neuroshard_types::{
	inference::{self, CheckpointId, Class, Offer, Prices, Span},
	provider::{ProviderView, Role},
	run::RunConfig,
	AccountId, RoundIndex, RunId, H256,
};
use std::{
	net::{Ipv4Addr, SocketAddr},
	path::PathBuf,
	time::{Duration, Instant},
};
use tokio::{sync::watch, task::JoinSet, time::sleep};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// Pause after which a provider tries again to offer what it has.
const BACKOFF: Backoff<Duration> = Backoff::new(Duration::from_secs(15), LONGEST_PAUSE);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// Tokens of a text that a provider has to be able to defend: less is no use to anybody.
const LEAST_TEXT: u32 = 64;

#[derive(Debug, Args)]
pub(super) struct Serve<C: Conducts> {
	/// Serve the newest checkpoint of this run that is in the base folder; without it, that of the newest run.
	#[arg(long, conflicts_with = "model")]
	run: Option<RunId>,
	/// Serve the model in this folder, which is in Hugging Face layout: what `export` wrote, or another one.
	#[arg(long, value_name = "DIR")]
	model: Option<PathBuf>,
	/// Adapter beside the model, in a folder as `export` and PEFT write it, and the name that requests choose it by. May be given several times: all share the model.
	#[arg(long, value_name = "NAME=DIR", conflicts_with_all = ["provider", "ring"])]
	adapter: Vec<local::NamedAdapter>,
	/// Name of the model in requests; `run-N`, or the folder's name, if not given.
	#[arg(long)]
	name: Option<String>,
	/// Address to listen at. With another one than 127.0.0.1, whoever reaches it may ask: use --api-keys.
	#[arg(long, value_name = "HOST:PORT", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)), value_parser = parse::listen)]
	listen: SocketAddr,
	/// Let pages of this site ask from browsers, such as https://chat.example or http://localhost:3000. May be given several times; without it, no page of
	/// another site is answered.
	#[arg(long, value_name = "ORIGIN")]
	cors: Vec<Origin>,
	/// File with an API key of 16 characters or more in each line, and behind it, if there is a limit, requests per minute.
	#[arg(long, value_name = "FILE")]
	api_keys: Option<PathBuf>,
	/// Answers that are computed at a time.
	#[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
	parallel: u16,
	/// Answers that wait beside them, each choice to each prompt counted; who asks for more is told to come back later.
	#[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
	queue: u16,
	/// Tokens of the longest text, prompt and answer together, in steps of 32; the model's longest if not given. Memory for the KV cache has to have room for one.
	#[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(64..))]
	context: Option<u32>,
	/// Memory for the KV cache, in MiB. Answers wait for it.
	#[arg(long, value_name = "MIB", default_value_t = 1_024)]
	memory: usize,
	/// Have the layers computed by the workers at these addresses, which `hold` prints. May be given several times, or with commas between addresses. With
	/// `auto`, workers that announce themselves are found, and others take the place of those that are lost; that needs a node.
	#[arg(long, value_name = "MULTIADDR|auto", value_delimiter = ',')]
	ring: Vec<RingMember>,
	/// Dial private addresses that workers announce: for networks without the internet. Goes without saying on a chain for development.
	#[arg(long, requires = "ring")]
	dial_private: bool,
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
	/// registered with the role of a driver. With a --ring of workers that `hold --provider`, they are on the offer, and the chain pays each of them; it is
	/// waited until all have agreed.
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
	/// How parameters are held and multiplied: `f32`, or `int8` for a quarter of the memory and of what is read for each token. Answers differ between them, and
	/// each has the same bits on every machine.
	#[arg(long, value_enum, default_value_t = Arithmetic::F32)]
	class: Arithmetic,
	/// No speculative decoding: do not draft tokens from what a text has said before. It changes no answer, only how fast it comes.
	#[arg(long)]
	no_lookup: bool,
	#[command(flatten)]
	device: super::device::DeviceOption,
	/// Threads.
	#[arg(long, value_parser = parse::threads)]
	threads: Option<usize>,
	#[command(flatten)]
	conduct: C::OfServe,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Splitting {
	Speed,
	Memory,
}

/// A class of arithmetic, as options name it.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Arithmetic {
	F32,
	Int8,
}

impl From<Arithmetic> for Class {
	fn from(arithmetic: Arithmetic) -> Self {
		match arithmetic {
			Arithmetic::F32 => Self::ExactF32,
			Arithmetic::Int8 => Self::ExactInt8,
		}
	}
}

impl<C: Conducts> Serve<C> {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let stop = CancellationToken::new();
		super::start::stop_on_signals(&stop)?;
		let found = match found::named(&self.ring)? {
			Some(_) => None,
			None => match Found::open(common, self.dial_private, &stop).await? {
				Some(found) => Some(found),
				None => return Ok(0),
			},
		};
		let served = self.serve_on(common, found.as_ref(), &stop).await;
		if let Some(found) = found {
			found.leave().await;
		}
		served
	}

	/// Serves until `stop` is cancelled, with one ring after another if they are found.
	async fn serve_on(&self, common: &Common, found: Option<&Found>, stop: &CancellationToken) -> Result<u8, CliError> {
		let threads = hardware::threads(self.threads);
		if !self.provider || self.explain {
			return loop {
				match self.serve(common, threads, None, found, stop).await {
					Err(moves @ CliError::RingMoves(_)) => println!("{moves}"),
					served => break served,
				}
			};
		}
		let (mut kept, mut last) = (self.keep(common, threads).await?, None);
		let served = loop {
			let began = Instant::now();
			let served = self.serve(common, threads, Some(&mut kept), found, stop).await;
			let Err(error) = &served else { break served };
			// With the claims of what is owed by now.
			kept.attempt.cancel();
			kept.attempt = kept.over.child_token();
			if let (CliError::RingMoves(_), false) = (error, stop.is_cancelled()) {
				println!("{error}");
				continue;
			}
			if stop.is_cancelled() || !kept.has_answers() && !matches!(error, CliError::RingLied) {
				break served;
			}
			let wait = BACKOFF.after(last.filter(|_| began.elapsed() <= LONGEST_PAUSE));
			last = Some(wait);
			println!("{error}");
			println!(
				"no answers are given now, which is tried again in {} seconds. Those that were given are defended, and delivered to who audits them, until this is \
				 stopped",
				wait.as_secs()
			);
			if stop.run_until_cancelled(sleep(wait)).await.is_none() {
				break served;
			}
		};
		kept.finish().await;
		served
	}

	/// Serves until `stop` is cancelled; as a provider, with what that keeps.
	async fn serve(
		&self,
		common: &Common,
		threads: usize,
		mut kept: Option<&mut Kept>,
		found: Option<&Found>,
		stop: &CancellationToken,
	) -> Result<u8, CliError> {
		let class = self.class.into();
		let computes = local::Computes::new(self.device.device()?, threads)?;
		let registered = match &kept {
			Some(kept) => Some(self.registered(kept)?),
			None => None,
		};
		let (mut model, adapters, ring) = match self.ring.is_empty() {
			true => {
				let (model, adapters) = local::with_adapters(&common.base()?, self.which(), &self.adapter, class, &computes)?;
				(model, adapters, None)
			}
			false => {
				let Some((model, started)) = self.ring(common, &computes, registered.as_ref(), found, stop).await? else { return Ok(0) };
				(model, Vec::new(), Some(started))
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
		if let Some(lie) = C::of_serve(&self.conduct) {
			let (_, config, checkpoint) = local::find(&common.base()?, self.run, threads)?;
			model.engine = lie.engine(&config, &lie.parameters(&config, checkpoint.params)?, threads)?;
		}
		let limits = Limits {
			active: self.parallel.into(),
			waiting: self.queue.into(),
			memory: self.memory.saturating_mul(1 << 20),
			lookup: !self.no_lookup,
		};
		let name = model.name.clone();
		let (mut signer, mut checkpoint, mut paid, mut in_use) = (None, None, None, None);
		// Of a ring on the offer.
		let on_offer = ring.as_ref().filter(|ring| ring.members.is_some());
		let lie = on_offer.map_or_else(CancellationToken::new, |ring| ring.view.reports.lie().clone());
		if let (Some(registered), Some(kept)) = (registered, &mut kept) {
			let members = ring.as_ref().and_then(|ring| ring.members.clone());
			let provided = self.provide(common, registered, kept, members, model.root, threads).await?;
			// It ends after the last answer: with all that is owed by then. With a liar on the offer it ends without that, since each claim pays it.
			let claims = provided.business.clone().claim(kept.attempt.clone());
			let lie = lie.clone();
			kept.tasks.spawn(async move { _ = lie.run_until_cancelled(claims).await });
			if let Some(consents) = provided.consents {
				let (told, mut agreed) = watch::channel(false);
				kept.tasks.spawn(consents.run(told, kept.attempt.clone()));
				// Meanwhile what was answered before is claimed and defended.
				if !matches!(stop.run_until_cancelled(agreed.wait_for(|agreed| *agreed)).await, Some(Ok(_))) {
					return Ok(0);
				}
			}
			signer = Some((kept.who.clone(), kept.ponw.clone(), kept.client.genesis()));
			(checkpoint, paid, in_use) = (Some(provided.checkpoint), Some((provided.prices, provided.business)), Some(provided.in_use));
		}
		let served = local::served(&common.base()?, self.which(), model.root);
		if let Some(served) = &served {
			println!("{served}");
		}
		let is_paid = paid.is_some();
		let told: Vec<String> = adapters.iter().map(|adapter| adapter.name.clone()).collect();
		let options = Options {
			address: found.and_then(|found| found.bound.get()).copied().unwrap_or(self.listen),
			keys: self.api_keys.clone(),
			limits,
			signer,
			checkpoint,
			paid,
			ring: ring.as_ref().map(|ring| ring.view.clone()),
			served,
			adapters,
			origins: self.cors.clone(),
			// By that name a proxy before this server is asked.
			hosts: self.endpoint.iter().filter_map(|url| Some(url.parse::<Uri>().ok()?.host()?.to_owned())).collect(),
		};
		let ready = |address: SocketAddr| {
			found.map(|found| found.bound.set(address));
			println!("{name} answers at http://{address}/v1; a page to chat on is at http://{address}/");
			if !told.is_empty() {
				println!("beside it answer, by their names: {}", told.join(", "));
			}
			// Who pays asks by a gateway.
			if !is_paid {
				println!("curl http://{address}/v1/completions -H 'content-type: application/json' -d '{{\"model\": \"{name}\", \"prompt\": \"Once\"}}'");
			}
		};
		let serving = stop.child_token();
		let (ending, lied) = (serving.clone(), lie.clone());
		let _watch = AbortOnDropHandle::new(tokio::spawn(async move {
			lied.cancelled().await;
			ending.cancel();
		}));
		let root = model.root;
		let watched = ring.as_ref().map(|ring| Watched {
			run: common.base().ok().filter(|_| self.model.is_none()).map(|base| (base, self.run)),
			root,
			members: ring.view.placement.spans.iter().filter_map(|span| span.name.parse().ok()).collect(),
			offered: on_offer.map(|ring| ring.ready.clone()),
		});
		let moves = async {
			match (found, &watched) {
				(Some(found), Some(watched)) => found::moves(found, watched).await,
				_ => std::future::pending().await,
			}
		};
		let (ending, mut moved) = (serving.clone(), None);
		{
			let served = serve(model, options, ready, serving);
			tokio::pin!(served, moves);
			tokio::select! {
				served = &mut served => served?,
				words = &mut moves => {
					// Answers that are under way end first.
					ending.cancel();
					served.await?;
					moved = Some(words);
				}
			}
		}
		drop(in_use);
		if let (Some(words), false, false) = (moved, stop.is_cancelled(), lie.is_cancelled()) {
			return Err(CliError::RingMoves(words));
		}
		match lie.is_cancelled() && !stop.is_cancelled() {
			true => Err(CliError::RingLied),
			false => Ok(0),
		}
	}

	fn which(&self) -> local::Which<'_> {
		local::Which { folder: self.model.as_deref(), run: self.run, context: self.context }
	}

	/// Starts what a provider does for answers that it gave, whether it gives more or not: it defends them, and delivers their texts.
	async fn keep(&self, common: &Common, threads: usize) -> Result<Kept, CliError> {
		let base = common.base()?;
		let keys = Keys::unlock(&base, common.suri.as_deref(), &common.unlock())?;
		let client = ChainClient::connect_all(&common.node).await?;
		let now = client.now().await?;
		let who = owner::of(&now, &keys.account).await?;
		let provider = now.provider(&who).await?.ok_or_else(|| CliError::NotRegistered { address: who.to_string() })?;
		if provider.info.ponw_key != keys.ponw.public() {
			let words = "the key for proofs in this folder is not the registered one: `neuroshard-worker update` registers it";
			return Err(CliError::Invalid(words.into()));
		}
		let folder = base.join("sessions");
		create_base(&folder)?;
		let transcript_store = TranscriptStore::open(&base)?;
		let accounts = Accounts::new(who.clone(), client.genesis(), folder, transcript_store.clone()).map_err(BusinessError::from)?;
		let Keys { account, ponw, network, .. } = keys;
		let signs = account.id();
		let submitter = Submitter::spawn_for(client.clone(), account, who.clone());
		let parts = Parts {
			client: client.clone(),
			submitter: submitter.clone(),
			transcript_store: transcript_store.clone(),
			side: Side::Defender,
			threads,
			in_use: None,
			lie: C::of_serve(&self.conduct),
		};
		let (player, _) = Player::new(parts);
		let keeper = Keeper::new(client.clone(), submitter, ponw.clone(), accounts.clone());
		let (over, mut tasks) = (CancellationToken::new(), JoinSet::new());
		let attempt = over.child_token();
		tasks.spawn(player.run(over.clone()));
		tasks.spawn(keeper.clone().deliver(over.clone()));
		Ok(Kept { client, who, provider, signs, ponw, network, transcript_store, accounts, keeper, over, attempt, tasks })
	}

	/// What a provider's offer says, if it can make one.
	fn registered(&self, kept: &Kept) -> Result<Registered, CliError> {
		let Kept { client, who, provider, network, .. } = kept;
		if self.endpoint.is_none() && (self.listen.port() == 0 || self.listen.ip().is_unspecified()) {
			return Err(CliError::Invalid(
				"users have to be told where to ask: name that with --endpoint URL, or an address and a port with --listen".into(),
			));
		}
		if !provider.info.roles.contains(Role::Driver) {
			let words = format!("{who} does not offer the role of a driver: `neuroshard-worker update --roles worker,driver` changes that");
			return Err(CliError::Invalid(words));
		}
		if !self.ring.is_empty() {
			// By it the workers of the ring know whose offer it is.
			let identity = keypair_from_secret(&mut network.expose().to_owned())?.public().to_peer_id();
			is_of(who, &identity, Some(provider))?;
		}
		let per_token = |price: Neuro| price.0 / 1_000;
		let prices = Prices { prompt: per_token(self.prompt_price), generated: per_token(self.price) };
		Ok(Registered { client: client.clone(), who: who.clone(), prices })
	}

	/// Offers the checkpoint on chain, with these members, or else with this provider's account alone.
	async fn provide(
		&self,
		common: &Common,
		registered: Registered,
		kept: &Kept,
		members: Option<inference::Ring>,
		root: H256,
		threads: usize,
	) -> Result<Provided, CliError> {
		let Registered { client, who, prices } = registered;
		let (base, now) = (common.base()?, client.now().await?);
		let (run, model, checkpoint) = local::find(&base, self.run, threads)?;
		let id = CheckpointId { run, round: checkpoint.header.round, root: checkpoint.header.root() };
		if id.root != root {
			return Err(CliError::Invalid("another checkpoint has come since this command was started: start it anew".into()));
		}
		let endpoint = self.endpoint.clone().unwrap_or_else(|| format!("http://{}", self.listen));
		let endpoint = endpoint.into_bytes().try_into().map_err(|_| CliError::Invalid("the endpoint is longer than 256 bytes".into()))?;
		let config = now.run(run).await?.ok_or_else(|| CliError::Unknown(format!("run {run}")))?.config;
		let layout = ParamLayout::new(&model).map_err(|error| CliError::Invalid(format!("the model of run {run} is refused: {error}")))?;
		let in_use = kept.transcript_store.keep_checkpoint(&checkpoint, &layout, threads)?;
		drop(checkpoint);
		kept.accounts.answer_up_to(longest(&config, available_memory())?);
		warn_poor(&now, &config, &kept.signs).await?;
		let layers =
			u16::try_from(model.layers).map_err(|_| CliError::Invalid("the model has more layers than an offer can name".into()))?;
		let (redundancy, ring) = match members {
			Some(ring) => (self.redundancy, ring),
			None => {
				let whole = Span { who: who.clone(), first: 0, layers };
				(1, vec![whole].try_into().map_err(|_| CliError::Invalid("the ring has too many spans".into()))?)
			}
		};
		let offer = Offer { checkpoint: id, class: self.class.into(), prices, redundancy, endpoint, ring };
		let business = Business::begin(kept.keeper.clone(), offer.clone()).await?;
		println!("offered on chain: run {}, round {}, by {who}", id.run, id.round);
		let consents = Some(Watch { client, driver: who.clone(), offer }).filter(|watch| !watch.offer.members(&who).is_empty());
		Ok(Provided { checkpoint: (id.run, id.round), prices, business, in_use, consents })
	}

	/// The model, computed by the workers that were named, or are found; for a provider's offer, if there is one. `None` if the driver is asked to stop
	/// meanwhile.
	async fn ring(
		&self,
		common: &Common,
		computes: &local::Computes,
		registered: Option<&Registered>,
		found: Option<&Found>,
		stop: &CancellationToken,
	) -> Result<Option<(Model, Around)>, CliError> {
		if self.provider && self.redundancy < 2 {
			tracing::warn!(
				"nobody compares what the workers of the ring compute, and this provider's stake answers for it: name only workers that you trust, or have each \
				 layer held twice with --redundancy 2"
			);
		}
		let base = common.base()?;
		create_base(&base)?;
		let (card, source) = local::card(&base, self.which(), computes)?;
		let keypair = keypair_from_secret(&mut network_seed(&base, &common.unlock())?.expose().to_owned())?;
		let reach = found.map_or(Reach::Anywhere, |found| found.reach);
		let (streams, _, _, _) = Streams::start_within(reach, Purpose::Ring, keypair, Vec::new(), stop.clone()).await?;
		println!("this driver is {}", streams.local());
		let page = source.config.kv_dim().saturating_mul(source.config.layers).saturating_mul(2);
		let page = usize::try_from(page).unwrap_or(usize::MAX).saturating_mul(PAGE_TOKENS * size_of::<f32>());
		let find = found.map(|found| found.find(source.parameters, start::needed(&source, self.class.into(), self.parallel.into())));
		let options = start::Options {
			members: found::named(&self.ring)?.unwrap_or_default(),
			find: find.clone(),
			resting: found.map_or_else(Resting::default, |found| found.resting.clone()),
			redundancy: self.redundancy.into(),
			split: match self.split {
				Splitting::Speed => Split::BySpeed,
				Splitting::Memory => Split::MemoryWeighted,
			},
			texts: self.parallel.into(),
			pages: self.memory.saturating_mul(1 << 20) / page.max(1),
			patience: Patience::default(),
			loading: start::LOADING,
		};
		let offering = registered.map(|Registered { client, who, prices, .. }| Offering {
			client: client.clone(),
			terms: Terms { driver: who.clone(), prices: *prices, redundancy: self.redundancy },
		});
		let offers = offering.is_some();
		let source = source.in_class(self.class.into());
		let mut said = String::new();
		let Started { engine, placement, reports, ring: members, tasks } = loop {
			let mut options = options.clone();
			if let Some(find) = &find {
				let Some(there) = found::settled(find, stop).await else { return Ok(None) };
				options.members = there;
			}
			let liars = Liars::read(&base).map_err(|source| CliError::File { path: base.clone(), source })?;
			match (start::start(&streams, source.clone(), options, liars, offering.clone(), stop.clone()).await, &find) {
				(Ok(started), _) => break started,
				(Err(error @ (RingError::Nobody(_) | RingError::Placement(_) | RingError::NotReady(_))), Some(find)) if !self.explain => {
					if found::tried_again(find, &error, &mut said, stop).await.is_none() {
						return Ok(None);
					}
				}
				(Err(error), _) => return Err(error.into()),
			}
		};
		let ready = engine.readiness();
		if offers && members.is_none() {
			println!("no worker of the ring names an account (`hold --provider` does): this provider is alone on its offer, and pays them itself");
		}
		Ok(Some((
			card.with(self.class.into(), Box::new(engine)),
			Around { view: RingView { placement, reports }, members, ready, _tasks: tasks, _streams: streams },
		)))
	}
}

/// Longest text, in tokens, that may be answered: one that a dispute can judge, and that this machine can defend with what is `available` of its memory.
fn longest(config: &RunConfig, available: Option<u64>) -> Result<u32, CliError> {
	let judged = longest_text(config, None).ok_or_else(|| {
		CliError::Invalid(
			"no dispute can judge answers of this model, so that nobody would pay for them: serve it without --provider".into(),
		)
	})?;
	// A quarter is for what else comes.
	let room = available.map(|bytes| bytes.saturating_sub(bytes / 4));
	let longest = longest_text(config, room).unwrap_or(0);
	let mib = |bytes: u64| bytes.div_ceil(1 << 20);
	let least = LEAST_TEXT.min(judged);
	if longest < least {
		let needed = judge::memory(config, least).unwrap_or(u64::MAX);
		return Err(CliError::Invalid(format!(
			"defending an answer takes {} MiB of free memory for a text of {least} tokens, and {} MiB are free: who cannot defend an answer loses its stake. \
			 Make room, or serve it without --provider",
			mib(needed.saturating_add(needed / 3)),
			mib(available.unwrap_or(0))
		)));
	}
	if longest < judged {
		tracing::info!(
			"prompt and answer may have {longest} tokens together, not {judged}: that is what this machine can defend with {} MiB of free memory",
			mib(available.unwrap_or(0))
		);
	}
	Ok(longest)
}

/// What a provider does for answers that it gave, and what it takes to give more.
struct Kept {
	client: ChainClient,
	/// Who is paid: the account at hand, or the provider whose operator it is.
	who: AccountId,
	provider: ProviderView,
	/// The account at hand.
	signs: AccountId,
	ponw: PonwSigner,
	network: Seed,
	transcript_store: TranscriptStore,
	accounts: Accounts,
	keeper: Keeper,
	/// Ends the tasks.
	over: CancellationToken,
	/// Ends those that belong to what is offered now.
	attempt: CancellationToken,
	tasks: JoinSet<()>,
}

impl Kept {
	/// Whether there are answers that somebody can ask for, as far as that is known.
	fn has_answers(&self) -> bool {
		self.transcript_store.sessions().map_or(true, |sessions| !sessions.is_empty())
	}

	/// Ends what a provider does beside answering.
	async fn finish(mut self) {
		self.over.cancel();
		// They have said what they could not do.
		while self.tasks.join_next().await.is_some() {}
	}
}

/// What a provider's offer says, and by whom.
struct Registered {
	client: ChainClient,
	/// Who is paid.
	who: AccountId,
	prices: Prices,
}

/// What a provider needs to be paid.
struct Provided {
	/// Run, and the round that starts from the checkpoint.
	checkpoint: (RunId, RoundIndex),
	prices: Prices,
	business: Business,
	/// Keeps a copy of the checkpoint.
	in_use: InUse,
	/// Who watches whether all members of the ring have agreed, if there are some.
	consents: Option<Watch>,
}

/// Says what an account is short of that might have to defend an answer: who cannot pay for a move loses what it has at stake.
async fn warn_poor(at: &ChainAt, config: &RunConfig, who: &AccountId) -> Result<(), CliError> {
	let needed = at.answer_fees(&config.model).await?.defence.saturating_add(at.existential_deposit()?);
	let free = at.funds(who).await?.free;
	if free < needed {
		tracing::warn!(
			"{who} has {} free, and a dispute about one answer can take {} in fees: who cannot pay for a move loses its stake. Send it some NEURO",
			Neuro(free),
			Neuro(needed)
		);
	}
	Ok(())
}

/// What a ring needs beside its engine, as long as it is used.
struct Around {
	view: RingView,
	/// Its accounts, if it has them, and what each holds.
	members: Option<inference::Ring>,
	/// Whether each span has a holder.
	ready: Readiness,
	_tasks: JoinSet<()>,
	_streams: Streams,
}
