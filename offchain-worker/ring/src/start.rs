//! Setting up a ring: who is there, what they can do, who holds what, and the engine that has it computed.

use super::{
	accounts::{self, AccountError, MembersError, Offering},
	driver::{Patience, Ring},
	find::{Resting, UNTRUE, UNUSABLE},
	liars::Liars,
	link::{keep, EVENTS},
	message::{frame, receive_bare, send, FrameError, Hold, Profile, Reply, Request},
	placement::{place, Link, Links, Load, Model, Node, Placement, PlacementError, Roles, Speed, Split, Standing},
	presence::Presence,
	recruit::{Recruited, Recruiting},
	report::Reports,
	span::Span,
};
use futures::future::join_all;
use neuroshard_compute::exec::PAGE_TOKENS;
use neuroshard_graph::{Class, ModelConfig};
use neuroshard_inference::Source;
use neuroshard_network::{ByteStream, PeerAddress, PeerId, StreamError, Streams};
use neuroshard_types::{inference, AccountId, H256};
use std::{
	future::Future,
	path::PathBuf,
	pin::Pin,
	sync::{mpsc::sync_channel, Arc},
	time::{Duration, Instant},
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Number of times that a way to a holder is measured; the fastest time counts.
const MEASUREMENTS: u32 = 5;
/// Numbers that are sent to measure bandwidth.
const PROBE: usize = 256 << 10;
/// Longest time in which a holder says who it is.
const GREETING: Duration = Duration::from_secs(20);
/// Longest time in which all spans of a ring are loaded, as a rule.
pub const LOADING: Duration = Duration::from_secs(600);

/// Says who has the parameters of a ring and takes streams now, as far as the directory knows, of those whom its argument lets pass.
pub type Find = Arc<dyn Fn(&dyn Fn(&PeerId) -> bool) -> Vec<PeerAddress> + Send + Sync>;

/// A stream that is being opened.
pub(super) type OpenFuture = Pin<Box<dyn Future<Output = Option<ByteStream>> + Send>>;

/// Options of a ring's start.
#[derive(Clone)]
pub struct Options {
	/// Peers that may hold spans.
	pub members: Vec<PeerAddress>,
	/// Says who else may hold spans, and takes the place of who is lost; without it, nobody does but `members`.
	pub find: Option<Find>,
	/// Takes note of who could not be used, if there is `find`.
	pub resting: Resting,
	/// Number of members that hold each span.
	pub redundancy: usize,
	/// Rule by which layers are split.
	pub split: Split,
	/// Texts that are answered at a time.
	pub texts: u32,
	/// Pages of the KV cache.
	pub pages: usize,
	/// Times that members are waited for.
	pub patience: Patience,
	/// Longest time in which all spans are loaded.
	pub loading: Duration,
}

/// A ring that is set up.
pub struct Started {
	/// Engine that computes.
	pub engine: Ring,
	/// Placement of spans on members, with its reasons.
	pub placement: Placement,
	/// Reports about the members.
	pub reports: Reports,
	/// The ring of the driver's offer: the accounts of its members, and what each holds; `None` if they name none.
	pub ring: Option<inference::Ring>,
	/// Tasks that keep the members connected; they end with the token that they were started with.
	pub tasks: JoinSet<()>,
}

/// Why there is no ring.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
	/// Nobody answers.
	#[error("none of the workers of the ring can be used: {}", .0.join("; "))]
	Nobody(Vec<String>),
	/// They cannot be on an offer together.
	#[error(transparent)]
	Members(#[from] MembersError),
	/// They cannot hold the model.
	#[error("the model does not fit the workers of the ring: {0}")]
	Placement(#[from] PlacementError),
	/// A part of the model.
	#[error("a part of the model cannot be loaded: {0}")]
	Load(String),
	/// Somebody did not load its part.
	#[error("nobody has loaded the span that begins with layer {0} in time: their logs say why")]
	NotReady(u32),
	/// The thread that waits for them has ended.
	#[error("waiting for the ring was interrupted")]
	Interrupted,
}

/// Why a worker cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
	/// It cannot be reached.
	#[error(transparent)]
	Stream(#[from] StreamError),
	/// Its message cannot be read.
	#[error(transparent)]
	Frame(#[from] FrameError),
	/// It says why.
	#[error("{0}")]
	Refused(String),
	/// It says something else than was asked.
	#[error("it answers something else than it is asked")]
	Strange,
	/// It says nothing.
	#[error("it does not answer")]
	Silent,
	/// It has another model.
	#[error("it has other parameters, {0:?}")]
	Parameters(H256),
	/// It has told this driver wrong rows.
	#[error("it {words}, as a computation here has shown: delete its line in {} to use it all the same", path.display())]
	Liar {
		/// Description of what it did.
		words: String,
		/// Path of the file that has it noted.
		path: PathBuf,
	},
	/// Its account cannot be on the offer.
	#[error(transparent)]
	Account(#[from] AccountError),
	/// It names no account, and others that were found do or might.
	#[error("it names no account that the chain could pay: `hold --provider` does")]
	NoAccount,
}

/// A worker that could hold a span.
pub(super) struct Candidate {
	pub(super) address: PeerAddress,
	pub(super) profile: Profile,
	/// Seconds to it.
	pub(super) latency: f64,
	/// Bytes a second to it.
	bandwidth: f64,
	/// What the chain knows of its account.
	standing: Standing,
}

/// Sets up a ring among those that `options` name, but for `liars`, who are noted there. With `offering`, they are to be accounts of the chain, or none of
/// them is; of those who were found, only accounts are used.
///
/// # Errors
/// [`RingError`].
pub async fn start(
	streams: &Streams,
	source: Source,
	options: Options,
	liars: Liars,
	offering: Option<Offering>,
	stop: CancellationToken,
) -> Result<Started, RingError> {
	let greeting = options.members.iter().map(async |member| match liars.what(&member.peer.to_string()) {
		Some(words) => Err(Unusable::Liar { words: words.to_owned(), path: liars.path().to_owned() }),
		None => greet(streams, member, source.parameters, offering.as_ref()).await,
	});
	let greeted = join_all(greeting).await;
	let (mut candidates, mut failures) = (Vec::new(), Vec::new());
	// Nobody has chosen them: one without an account must not keep the others from an offer.
	let found_for_offer = options.find.is_some() && offering.is_some();
	for (member, greeted) in options.members.iter().zip(greeted) {
		match greeted.and_then(|candidate| candidate.offered(found_for_offer)) {
			Ok(candidate) => candidates.push(candidate),
			Err(why) => {
				options.resting.rest(member.peer, Instant::now(), UNUSABLE);
				failures.push(format!("{}: {why}", member.peer));
			}
		}
	}
	failures.iter().for_each(|words| tracing::warn!("{words}"));
	if candidates.is_empty() {
		return Err(RingError::Nobody(failures));
	}
	let members = match &offering {
		Some(_) => accounts::of_all(candidates.iter().map(|candidate| (candidate.address.peer.to_string(), candidate.account())))?,
		None => None,
	};
	let placement = placed(&source, &candidates, &options, members.is_some())?;
	let ring = members.as_ref().map(|members| accounts::ring(&placement, members)).transpose()?;
	let terms = offering.map(|offering| offering.terms).filter(|_| ring.is_some());
	let pages = options.pages.saturating_add(4 * usize::try_from(source.config.max_seq).unwrap_or(usize::MAX).div_ceil(PAGE_TOKENS));
	let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
	let mut spans: Vec<Span> = Vec::new();
	let (mut members, mut holds) = (Vec::new(), Vec::new());
	for span in placement.ring() {
		let holders = placement.spans.iter().filter(|other| other.first == span.first && other.layers == span.layers);
		let first = members.len();
		members.extend(holders.map(|holder| (holder.name.clone(), candidates[holder.node].address.clone())));
		let hold = Hold {
			parameters: source.parameters,
			class: source.class,
			embedding: false,
			first: narrow(span.first),
			layers: narrow(span.layers),
			head: span.head,
			pages: narrow(pages),
			terms: terms.clone(),
		};
		holds.resize(members.len(), hold.clone());
		spans.push(Span::new(hold, (first..members.len()).collect()));
	}
	let banned: Vec<CancellationToken> = members.iter().map(|_| CancellationToken::new()).collect();
	let (sender, events) = sync_channel(EVENTS);
	let (presence, reports, mut tasks) = (Presence::new(spans.len()), Reports::keeping(liars), JoinSet::new());
	let mut of_spans = spans.iter().enumerate().flat_map(|(number, span)| span.members.iter().map(move |_| number));
	for (index, (_, address)) in members.iter().enumerate() {
		let open = opening(streams.clone(), address.clone(), options.find.clone());
		let (hold, of) = (holds[index].clone(), (index, of_spans.next().unwrap_or_default()));
		tasks.spawn(keep(of, hold, (sender.clone(), presence.clone()), [stop.clone(), banned[index].clone()], None, open));
	}
	// Who is on an offer is on the chain: another one takes another offer.
	if let (Some(find), None) = (&options.find, &ring) {
		let needed = placement.ring().map(|span| span.bytes);
		let recruiting = Recruiting {
			streams: streams.clone(),
			find: find.clone(),
			spans: spans.iter().map(|span| span.hold.clone()).zip(needed).collect(),
			redundancy: options.redundancy.max(1),
			members: members
				.iter()
				.zip(&banned)
				.enumerate()
				.map(|(index, ((_, address), banned))| {
					let span = spans.iter().position(|span| span.members.contains(&index)).unwrap_or_default();
					Recruited { span, peer: address.peer, banned: banned.clone() }
				})
				.collect(),
			events: (sender.clone(), presence.clone()),
			reports: reports.clone(),
		};
		tasks.spawn(recruiting.run(stop.clone()));
	}
	let peers: Vec<PeerId> = members.iter().map(|(_, address)| address.peer).collect();
	let names = members.into_iter().map(|(name, _)| name).zip(banned).collect();
	let (patience, told, here) = (options.patience, reports.clone(), presence.clone());
	let (until, resting) = (Instant::now() + options.loading, options.resting);
	let waiting = move || {
		let mut ring = Ring::new(source, spans, names, (events, presence), patience, told).map_err(RingError::Load)?;
		ring.ready(until).map_err(|first| {
			// Before the ring is dropped: with it, those who are here are let go.
			let absent = peers.iter().enumerate().filter(|(member, _)| !here.has(*member));
			absent.for_each(|(_, peer)| resting.rest(*peer, Instant::now(), UNTRUE));
			RingError::NotReady(first)
		})?;
		Ok::<_, RingError>(ring)
	};
	let engine = tokio::task::spawn_blocking(waiting).await.map_err(|_| RingError::Interrupted)??;
	Ok(Started { engine, placement, reports, ring, tasks })
}

/// Opens streams to a member: where it is now, if that can be found out.
pub(super) fn opening(streams: Streams, address: PeerAddress, find: Option<Find>) -> impl FnMut() -> OpenFuture + Send {
	move || {
		let now = find.iter().flat_map(|find| find(&|peer| *peer == address.peer)).next();
		let (streams, address) = (streams.clone(), now.unwrap_or_else(|| address.clone()));
		Box::pin(async move { streams.open(&address).await.ok() })
	}
}

impl Candidate {
	/// Itself, unless it is `required` that it names an account.
	fn offered(self, required: bool) -> Result<Self, Unusable> {
		if required && self.account().is_none() {
			Err(Unusable::NoAccount)
		} else {
			Ok(self)
		}
	}

	/// The account that it names.
	fn account(&self) -> Option<&AccountId> {
		self.profile.account.as_ref()
	}
}

/// Asks a worker who it is, and measures the way to it. With `offering`, it is told if the account that it names is not its own, and is not used then.
pub(super) async fn greet(
	streams: &Streams,
	address: &PeerAddress,
	parameters: H256,
	offering: Option<&Offering>,
) -> Result<Candidate, Unusable> {
	let greeting = tokio::time::timeout(GREETING, measure(streams, address, parameters)).await;
	let (candidate, mut stream) = greeting.map_err(|_| Unusable::Silent)??;
	let (Some(offering), Some(account)) = (offering, candidate.account()) else { return Ok(candidate) };
	match offering.check(account, &address.peer).await {
		Ok(standing) => Ok(Candidate { standing, ..candidate }),
		Err(error) => {
			if let AccountError::Unfit(unfit) = &error {
				let tell = async {
					send(&mut stream, &frame(&Request::Unfit(unfit.clone()), &[])).await?;
					receive_bare::<Reply>(&mut stream).await
				};
				// If it is not there any more, it need not know.
				let _ = tokio::time::timeout(GREETING, tell).await;
			}
			Err(error.into())
		}
	}
}

/// Asks a worker who it is, and measures the way to it; with the stream that was used.
async fn measure(streams: &Streams, address: &PeerAddress, parameters: H256) -> Result<(Candidate, ByteStream), Unusable> {
	let mut stream = streams.open(address).await?;
	let mut ask = async |numbers: usize| {
		let frame = frame(&Request::Profile, &vec![0.0; numbers]);
		let mut fastest = f64::INFINITY;
		let mut profile = None;
		for _ in 0..MEASUREMENTS {
			let began = Instant::now();
			send(&mut stream, &frame).await?;
			match receive_bare(&mut stream).await? {
				Reply::Profile(answered) => profile = Some(answered),
				Reply::Refused { words, .. } => return Err(Unusable::Refused(words)),
				_ => return Err(Unusable::Strange),
			}
			fastest = fastest.min(began.elapsed().as_secs_f64());
		}
		Ok((profile, fastest))
	};
	let (_, short) = ask(0).await?;
	let (profile, long) = ask(PROBE).await?;
	let profile: Profile = profile.ok_or(Unusable::Strange)?;
	if profile.parameters != parameters {
		return Err(Unusable::Parameters(profile.parameters));
	}
	// Bytes of a probe, which f64 holds exactly.
	let bytes = (PROBE * size_of::<f32>()) as f64;
	let (latency, bandwidth) = ((short / 2.0).max(1e-6), bytes / (long - short).max(1e-6));
	Ok((Candidate { address: address.clone(), profile, latency, bandwidth, standing: Standing::UNKNOWN }, stream))
}

/// Bytes of memory that the holders of a model need together, if each of its parts is held once and so many texts are answered at a time.
pub fn needed(source: &Source, class: Class, texts: u32) -> u64 {
	// What cannot be held is said when it is placed.
	held(&source.config, class, texts)
		.map_or(u64::MAX, |model| model.layers.iter().fold(model.head.memory, |sum, layer| sum.saturating_add(layer.memory)))
}

/// Returns the model that the holders need memory for together, if so many texts are answered at a time.
pub(super) fn held(config: &ModelConfig, class: Class, texts: u32) -> Result<Model, PlacementError> {
	let mut model = Model::of(config, Load { class, context: config.max_seq, sequences: texts.max(1), batch: 1 })?;
	// The driver turns tokens into rows, so that the head shares nothing with anything that is held.
	model.embedding.memory = 0;
	model.embedding.work.bytes = 0;
	model.shared = 0;
	Ok(model)
}

/// Places the model on the candidates, in as few spans as an offer has room for if it is `offered`.
fn placed(source: &Source, candidates: &[Candidate], options: &Options, offered: bool) -> Result<Placement, PlacementError> {
	let model = held(&source.config, source.class, options.texts)?;
	let nodes: Vec<Node> = candidates
		.iter()
		.map(|candidate| Node {
			name: candidate.address.peer.to_string(),
			memory: candidate.profile.memory,
			// Measured numbers are far below 2^53.
			speed: Speed { flops: candidate.profile.flops as f64, bytes: candidate.profile.bandwidth as f64 },
			reputation: candidate.standing.reputation,
			uptime: candidate.standing.uptime,
			roles: Roles::ALL,
		})
		.collect();
	// Rows go from each worker to the driver, and from there to the next one.
	let links = Links::new(nodes.len(), |from, to| {
		let (from, to) = (&candidates[from], &candidates[to]);
		let bandwidth = 1.0 / (1.0 / from.bandwidth + 1.0 / to.bandwidth);
		Some(Link { latency: from.latency + to.latency, bandwidth })
	})?;
	let (redundancy, default) = (options.redundancy.max(1), super::placement::Request::default());
	let most_spans = if offered { accounts::most_spans(redundancy).min(default.most_spans) } else { default.most_spans };
	let request = super::placement::Request { split: options.split, redundancy, most_spans, ..default };
	place(&model, &nodes, &links, &request)
}
