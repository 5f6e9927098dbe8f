//! `gateway`.

use super::{
	bill::Bill,
	local,
	money::unsent,
	open::{create_base, open, Opened},
	parse,
	reach::reach,
	CliError, Common,
};
use clap::Args;
use neuroshard_chain_client::{inference, Call, ChainAt, ChainError, Heads, Neuro, Submitter};
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_disputes::answers::{Endpoint, InUse, Parts, Player, TranscriptStore};
use neuroshard_gateway::{bring_last, choice::Wanted, serve, Asker, Book, Disputer, GatewayError, Options, Terms};
use neuroshard_graph::{game::Side, ParamLayout};
use neuroshard_inference::{Card, Model};
use neuroshard_network::Reach;
use neuroshard_support::{counted::counted, hardware};
use neuroshard_types::{
	dataset::Tokenizer as TokenizerId,
	dispute::ClaimKind,
	inference::{CheckpointId, Class, OfferView, SessionId, SessionView},
	run::RunConfig,
	AccountId, Balance, BlockNumber, RunId,
};
use std::{
	net::{Ipv4Addr, SocketAddr},
	path::Path,
	sync::Arc,
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Args)]
pub(super) struct Gateway {
	/// Provider to ask; without it, the cheapest offer of --run, or one with whom this account has an open session.
	#[arg(long, value_name = "ADDRESS", value_parser = parse::address, required_unless_present = "run")]
	provider: Option<AccountId>,
	/// Run whose model is to answer.
	#[arg(long, value_name = "ID")]
	run: Option<RunId>,
	/// Put so much aside for a new session. One that is open with the provider is used as it is.
	#[arg(long, value_name = "NEURO", default_value = "5", value_parser = parse::amount, allow_negative_numbers = true)]
	escrow: Neuro,
	/// Put so much more aside for the session, once.
	#[arg(long, value_name = "NEURO", value_parser = parse::amount, allow_negative_numbers = true)]
	top_up: Option<Neuro>,
	/// Refuse offers that take more for 1000 tokens, of a prompt or of an answer.
	#[arg(long, value_name = "NEURO", value_parser = parse::amount, allow_negative_numbers = true)]
	most_price: Option<Neuro>,
	/// Address of this machine to listen at. Whoever reaches it can spend what the session has.
	#[arg(long, value_name = "HOST:PORT", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 8081)), value_parser = parse::listen)]
	listen: SocketAddr,
	/// Share of the answers to compute anew with the checkpoint in the base folder, from 0 to 1. After a false one, nothing is paid any more, and it is
	/// disputed on chain if this account has the bond.
	#[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse::share)]
	check: f64,
	/// Close the session with that provider, or settle it if its delay is over, and end.
	#[arg(long, requires = "provider", conflicts_with_all = ["top_up", "check"])]
	close: bool,
	/// Ask providers at private addresses as well, such as 192.168.1.2: for networks without the internet. Goes without saying with a node of a development or
	/// local chain on this machine.
	#[arg(long)]
	dial_private: bool,
	/// Threads for --check.
	#[arg(long, value_parser = parse::threads)]
	threads: Option<usize>,
}

/// A session of this account that is not settled, and whom it pays.
type Known = (SessionId, SessionView, AccountId);

impl Gateway {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		if !self.listen.ip().is_loopback() {
			let words =
				"--listen must be an address of this machine, such as 127.0.0.1:8081: whoever reaches it can spend what the session has";
			return Err(CliError::Invalid(words.to_owned()));
		}
		let stop = CancellationToken::new();
		super::start::stop_on_signals(&stop)?;
		let opened = open(common).await?;
		create_base(&opened.base)?;
		let at = opened.client.now().await?;
		at.check_compatible()?;
		// A session is of the account that signs, also if it is the operator of somebody.
		let submitter = Submitter::spawn(opened.client.clone(), opened.account.clone());
		let known = sessions(&at, &opened.account.id()).await?;
		if let (true, Some(provider)) = (self.close, &self.provider) {
			let reach = reach(&opened.client, &common.node, self.dial_private).await;
			return close(&opened, &submitter, &at, (provider, reach), known).await;
		}
		let open = only_open(known);
		let (transcript_store, accused) = (TranscriptStore::open(&opened.base)?, accused(&at, &opened.who).await?);
		let (over, mut playing) = (stop.child_token(), JoinSet::new());
		if !accused.is_empty() {
			println!("{} of this account about answers open: the moves are made", counted(accused.len(), "dispute"));
			playing.spawn(self.player(&opened, &transcript_store).run(over.clone()));
		}
		let reach = reach(&opened.client, &common.node, self.dial_private).await;
		let begun = self.begin(&opened, &submitter, &at, &open, (&accused, reach), transcript_store).await;
		// Whoever does not move in time loses its bond, whether there is somebody to be asked or not.
		if let (Err(error), false) = (&begun, accused.is_empty()) {
			tracing::error!("nobody is asked: {error}. This command goes on with the open disputes, and ends with them");
			stop.run_until_cancelled(decided(&opened, at.block().number)).await;
		}
		// One process plays from a base folder, with one player: that of the gateway from here on.
		over.cancel();
		while playing.join_next().await.is_some() {}
		let options = begun?;
		let ready = |address: SocketAddr| {
			println!(
				"clients of the OpenAI API get paid answers at http://{address}/v1; what they cost so far is at http://{address}/health"
			);
		};
		serve(options, ready, stop).await?;
		Ok(0)
	}

	/// Who plays the games that were open before.
	fn player(&self, opened: &Opened, transcript_store: &TranscriptStore) -> Player {
		let parts = Parts {
			client: opened.client.clone(),
			submitter: opened.submitter.clone(),
			transcript_store: transcript_store.clone(),
			side: Side::Challenger,
			threads: hardware::threads(self.threads),
			in_use: None,
			lie: None,
		};
		Player::new(parts).0
	}

	/// Chooses a provider, and has a session with it.
	async fn begin(
		&self,
		opened: &Opened,
		submitter: &Submitter,
		at: &ChainAt,
		open: &[Known],
		(accused, reach): (&[AccountId], Reach),
		transcript_store: TranscriptStore,
	) -> Result<Options, CliError> {
		let (offer, endpoint) = self.choose(at, open, accused, reach).await?;
		let session = self.session(opened, submitter, at, &offer, open).await?;
		self.options(opened, session, offer, endpoint, transcript_store).await
	}

	/// The offer that is taken, and where its provider answers. None of those in `accused`.
	async fn choose(&self, at: &ChainAt, open: &[Known], accused: &[AccountId], reach: Reach) -> Result<(OfferView, Endpoint), CliError> {
		if let Some(provider) = self.provider.as_ref().filter(|provider| accused.contains(provider)) {
			return Err(CliError::Invalid(format!(
				"a dispute of this account about an answer of {provider} is open, and nothing is asked or paid there until it has ended: name another provider"
			)));
		}
		let wanted = Wanted { run: self.run, most: self.most_price.map(|most| most.0), reach };
		let chosen = match (&self.provider, self.run) {
			(Some(provider), _) => wanted.of(provider, at.offer_of(provider).await?),
			(None, Some(run)) => {
				let known: Vec<_> = open.iter().map(|(_, _, provider)| provider.clone()).collect();
				let mut offers = at.offers().await?;
				offers.retain(|view| {
					let left_out = view.offer.checkpoint.run == run && accused.contains(&view.driver);
					if left_out {
						tracing::warn!("{} is not asked: a dispute of this account about an answer of it is open", view.driver);
					}
					!left_out
				});
				wanted.cheapest(run, offers, &known)
			}
			(None, None) => return Err(CliError::Invalid("name a provider with --provider, or a run with --run".into())),
		};
		let (offer, endpoint) = chosen.map_err(GatewayError::from)?;
		if let Some(halt) = at.halted(offer.offer.checkpoint.run).await? {
			let (run, why) = (offer.offer.checkpoint.run, String::from_utf8_lossy(&halt.reason).into_owned());
			return Err(CliError::Invalid(format!("governance has halted the model of run {run} ({why}): nobody may use it")));
		}
		let thousand = |price: Balance| Neuro(price.saturating_mul(1_000));
		println!(
			"{} answers at {endpoint} with run {}, for {} for 1000 tokens of a prompt and {} for 1000 of an answer",
			offer.driver,
			offer.offer.checkpoint.run,
			thousand(offer.offer.prices.prompt),
			thousand(offer.offer.prices.generated)
		);
		Ok((offer, endpoint))
	}

	/// The session that pays: the one that is open, or a new one.
	async fn session(
		&self,
		opened: &Opened,
		submitter: &Submitter,
		at: &ChainAt,
		offer: &OfferView,
		open: &[Known],
	) -> Result<SessionId, CliError> {
		let more = self.top_up.map_or(0, |more| more.0);
		let pay = async |amount: Balance, call: Call, what: &'static str| {
			Bill::of(at, amount, std::slice::from_ref(&call)).await?.check(opened, at, what).await?;
			submitter.submit_once(call).await.map_err(unsent)
		};
		if let Some((session, view)) = session_with(&offer.driver, open) {
			if more > 0 {
				pay(more, inference::top_up(session, more), "the session").await?;
			}
			println!("session {session} has {} put aside", Neuro(view.escrow.saturating_add(more)));
			return Ok(session);
		}
		let escrow = self.escrow.0.saturating_add(more);
		let least = at.inference_terms().await?.min_escrow;
		if escrow < least {
			return Err(CliError::Invalid(format!("a session takes {} at least: name more with --escrow", Neuro(least))));
		}
		let call = inference::open_session(Some(offer.driver.clone()), escrow);
		let included = pay(escrow, call, "the escrow of a session").await?;
		let session = included.first_field::<SessionId>("Inference", "SessionOpened");
		let mut session =
			session.ok_or_else(|| CliError::Unknown("session in the block that opened it: start the command again".into()))?;
		// On another branch, somebody else's session may have that number, or none has it.
		if !opened.client.becomes_final(included.block).await? {
			let open = only_open(sessions(&opened.client.now().await?, &opened.account.id()).await?);
			session = session_with(&offer.driver, &open).ok_or(CliError::SessionMoved)?.0;
		}
		println!("session {session} is open, with {} put aside", Neuro(escrow));
		Ok(session)
	}

	/// All that the gateway needs.
	async fn options(
		&self,
		opened: &Opened,
		session: SessionId,
		offer: OfferView,
		endpoint: Endpoint,
		transcript_store: TranscriptStore,
	) -> Result<Options, CliError> {
		let (at, genesis) = (opened.client.now().await?, opened.client.genesis());
		let OfferView { driver: provider, offer, .. } = offer;
		let registered = at.provider(&provider).await?;
		let registered = registered.ok_or_else(|| CliError::Unknown(format!("provider {provider}")))?;
		let run = offer.checkpoint.run;
		let view = at.run(run).await?.ok_or_else(|| CliError::Unknown(format!("run {run}")))?;
		let tokenizer = tokenizer(&opened.base, run, &view.config)?;
		let card = Card::of_run(format!("run-{run}"), &view.config.model, &tokenizer, offer.checkpoint.root.0)?;
		let book = Book::open(&opened.base, session).map_err(GatewayError::from)?;
		let claimed = at.claimed(session, &provider).await?;
		let owed = book.resume(&opened.account.id(), &provider, genesis, &claimed).map_err(GatewayError::from)?;
		let config = Arc::new(view.config);
		let (check, in_use) = match self.check > 0.0 {
			true => {
				let (model, in_use) = self.model(opened, &transcript_store, &offer.checkpoint, offer.class)?;
				(Some((self.check, model)), Some(in_use))
			}
			false => (None, None),
		};
		// Bonds are those of the account that acts, and games those of whom it acts for.
		let disputer = Disputer {
			client: opened.client.clone(),
			submitter: opened.submitter.clone(),
			transcript_store,
			config: config.clone(),
			in_use,
			threads: hardware::threads(self.threads),
		};
		let terms = Terms {
			genesis,
			session,
			provider,
			key: registered.info.ponw_key,
			checkpoint: offer.checkpoint,
			config,
			class: offer.class,
			prices: offer.prices,
			card: Arc::new(card),
		};
		Ok(Options { address: self.listen, account: opened.account.clone(), terms, owed, endpoint, book, check, disputer: Some(disputer) })
	}

	/// The checkpoint in the base folder, which is to be the offered one, and a copy of it for disputes.
	fn model(
		&self,
		opened: &Opened,
		transcript_store: &TranscriptStore,
		offered: &CheckpointId,
		class: Class,
	) -> Result<(Model, InUse), CliError> {
		let (run, root, threads) = (offered.run, offered.root, hardware::threads(self.threads));
		let (_, config, newest) = local::find(&opened.base, Some(run), threads)?;
		let layout = ParamLayout::new(&config).map_err(|error| CliError::Invalid(format!("the model of run {run} is refused: {error}")))?;
		let found = newest.header.root();
		let checkpoint = match found == root {
			true => newest,
			// It may be there from before.
			false => transcript_store.checkpoint(run, root, &layout, threads).map_err(|_| {
				CliError::Invalid(format!(
					"--check needs the checkpoint that is offered, {root:?}, and the newest one of run {run} here is {found:?}: \
					 `neuroshard-worker run --serve-only` fetches the run's newest one"
				))
			})?,
		};
		let in_use = transcript_store.keep_checkpoint(&checkpoint, &layout, threads)?;
		let tokenizer = local::tokenizer(&opened.base, run)?;
		Ok((Model::of_run(format!("run-{run}"), &config, &tokenizer, &checkpoint.params, root.0, class, threads)?, in_use))
	}
}

/// The tokenizer of a run: the byte-level one if the run says so, else the one that a worker left in the base folder.
fn tokenizer(base: &Path, run: RunId, config: &RunConfig) -> Result<Tokenizer, CliError> {
	match config.tokenizer == TokenizerId::BYTES {
		true => Ok(Tokenizer::bytes()),
		false => local::tokenizer(base, run),
	}
}

/// Whose answers `who` disputes: the provider of each open game.
async fn accused(at: &ChainAt, who: &AccountId) -> Result<Vec<AccountId>, ChainError> {
	let games = at.games_of(who).await?.into_iter();
	let ours = games.filter(|(claim, challenger)| matches!(claim.kind, ClaimKind::Answer(_)) && challenger == who);
	Ok(ours.map(|(claim, _)| claim.who).collect())
}

/// Waits until no game about an answer is open, in the best state and in a final one that is as far as block `since`, which had one.
async fn decided(opened: &Opened, since: BlockNumber) {
	let mut heads = opened.client.follow(Heads::default(), |_| {});
	while heads.changed().await.is_ok() {
		let Heads { best, finalized } = *heads.borrow_and_update();
		let none = async {
			for block in [best, finalized] {
				if block.number < since || !accused(&opened.client.at(block).await?, &opened.who).await?.is_empty() {
					return Ok(false);
				}
			}
			Ok::<_, ChainError>(true)
		};
		// What is not known is asked again with the next block.
		if none.await.unwrap_or(false) {
			return;
		}
	}
}

/// Sessions of an account with one provider each.
async fn sessions(at: &ChainAt, user: &AccountId) -> Result<Vec<Known>, CliError> {
	let mut known = Vec::new();
	for id in at.sessions_of(user).await? {
		if let Some(view) = at.session(id).await? {
			known.extend(view.provider.clone().map(|provider| (id, view, provider)));
		}
	}
	Ok(known)
}

/// Those that nobody has closed.
fn only_open(mut known: Vec<Known>) -> Vec<Known> {
	known.retain(|(_, view, _)| view.closes_at.is_none());
	known
}

/// The first session that pays `provider`.
fn session_with<'a>(provider: &AccountId, known: &'a [Known]) -> Option<(SessionId, &'a SessionView)> {
	known.iter().find(|(_, _, paid)| paid == provider).map(|(session, view, _)| (*session, view))
}

/// Closes the sessions with `provider`, and settles those whose delay is over.
async fn close(
	opened: &Opened,
	submitter: &Submitter,
	at: &ChainAt,
	(provider, reach): (&AccountId, Reach),
	known: Vec<Known>,
) -> Result<u8, CliError> {
	let ours: Vec<_> = known.into_iter().filter(|(_, _, paid)| paid == provider).collect();
	if ours.is_empty() {
		return Err(CliError::Unknown(format!("session of {} with {provider}", opened.account.address())));
	}
	let now = at.block().number;
	for (session, view, _) in ours {
		// Whoever pays from it is to end first.
		let book = Book::open(&opened.base, session).map_err(GatewayError::from)?;
		match view.closes_at {
			None => {
				let endpoint = at.offer_of(provider).await?.and_then(|view| Endpoint::parse(&view.offer.endpoint).ok());
				if let Some(endpoint) = endpoint {
					let (account, genesis) = (opened.account.clone(), opened.client.genesis());
					let asker = Asker { account, genesis, session, provider: provider.clone() };
					bring_last(&book, endpoint.reaching(reach), &asker).await;
				}
				let included = submitter.submit_once(inference::close_session(session)).await.map_err(unsent)?;
				let closing = opened.client.at(included.block).await?.session(session).await?.and_then(|view| view.closes_at);
				let due = closing.map_or_else(String::new, |block| format!(": `--close` again from block {block} on returns what is left"));
				println!("session {session} is closed{due}");
			}
			Some(block) if block > now => {
				println!(
					"session {session} is closed: `--close` again from block {block} on, {} from now, returns what is left",
					block - now
				);
			}
			Some(_) => {
				submitter.submit_once(inference::settle(session)).await.map_err(unsent)?;
				println!("session {session} is settled: what was left of {}, and not claimed since, is back", Neuro(view.escrow));
			}
		}
	}
	Ok(0)
}
