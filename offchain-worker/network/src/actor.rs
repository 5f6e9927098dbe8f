//! The task that owns the swarm: takes commands, routes requests to peers and answers theirs.

use crate::{
	address::is_relayed,
	behaviour::{Behaviour, BehaviourEvent},
	gossip::{self, Heard, Verdict},
	links::{Links, Reply, Waiting},
	message::{Answer, Incoming, Request},
	pulse::{Pulse, Pulses},
	rates::Rates,
	reachability::Probed,
	score::{Conduct, Ranking, Scores},
	serve,
	start::refusal,
	ways::{Way, Ways},
	GossipError, NetworkConfig, NetworkStatus, PeerAddress, PeerFailure, PeerId, Refusal,
};
use codec::Encode;
use futures::StreamExt;
use libp2p::{
	core::transport::ListenerId,
	multiaddr::Protocol,
	request_response::{Event, InboundRequestId, Message, OutboundFailure, OutboundRequestId, ResponseChannel},
	swarm::{
		dial_opts::{DialOpts, PeerCondition},
		DialError, SwarmEvent,
	},
	Swarm,
};
use neuroshard_store::Store;
use neuroshard_types::H256;
use std::collections::{HashMap, HashSet};
use tokio::{
	sync::{mpsc, oneshot},
	task::JoinSet,
	time::MissedTickBehavior,
};
use tokio_util::sync::CancellationToken;

/// Peers that the address book may hold.
const MAX_BOOK: usize = 16_384;
/// Peers that are tried, again and again, for each one that a connection is kept with.
const TRIED_PER_KEPT: usize = 4;

/// Command of a handle to the actor.
pub(crate) enum Command {
	/// Ask a peer, under these addresses or any that are known.
	Ask { peer: PeerAddress, request: Request, reply: Reply },
	/// The order in which to ask peers, beginning with `first` if it is worth it.
	Rank { peers: Vec<PeerId>, first: Option<PeerId>, root: H256, reply: oneshot::Sender<Ranking> },
	/// A fetch judged an answer.
	Judge { peer: PeerId, conduct: Conduct },
	/// Replace the address book. Connections are kept with the first ones.
	SetPeers(Vec<PeerAddress>),
	/// The address book.
	Book(oneshot::Sender<Vec<PeerAddress>>),
	/// Describe the network.
	Status(oneshot::Sender<NetworkStatus>),
	/// The peers that are alive.
	Pulses(oneshot::Sender<HashMap<PeerId, Pulse>>),
	/// The ways to peers.
	Ways(oneshot::Sender<HashMap<PeerId, Way>>),
	/// Publish a message.
	Publish { bytes: Vec<u8>, reply: oneshot::Sender<Result<(), GossipError>> },
	/// Messages of peers.
	Hear(oneshot::Sender<Option<mpsc::Receiver<Heard>>>),
	/// The application has looked at a message.
	Settle { heard: Heard, verdict: Verdict },
	/// Replace the messages that newcomers are told.
	Tell(Vec<u8>),
}

/// A request being answered.
pub(super) struct Serving {
	pub(super) peer: PeerId,
	/// True if the answer is on its way: from then on it is up to the peer how long that takes.
	pub(super) answered: bool,
}

/// The state of the network.
pub(crate) struct Actor {
	pub(super) swarm: Swarm<Behaviour>,
	pub(super) config: NetworkConfig,
	store: Store,
	commands: mpsc::Receiver<Command>,
	pub(super) links: Links,
	pub(super) scores: Scores,
	/// Peers in the order in which connections are kept with them.
	pub(super) book: Vec<PeerAddress>,
	pub(super) outbound: HashMap<OutboundRequestId, (PeerId, Reply)>,
	/// Requests being answered, until the answer has been sent.
	pub(super) inbound: HashMap<InboundRequestId, Serving>,
	reading: JoinSet<(InboundRequestId, ResponseChannel<Answer>, Answer)>,
	pub(super) probed: Probed,
	pub(super) pulses: Pulses,
	pub(super) ways: Ways,
	pub(super) rates: Rates,
	pub(super) heard: mpsc::Sender<Heard>,
	/// Until somebody takes it.
	hearing: Option<mpsc::Receiver<Heard>>,
	/// Messages of gossip that newcomers are told, encoded.
	told: Vec<u8>,
	/// Listeners on relays, with the relay's place in the configuration.
	pub(super) circuits: HashMap<ListenerId, usize>,
}

impl Actor {
	pub(crate) fn new(swarm: Swarm<Behaviour>, config: NetworkConfig, store: Store, commands: mpsc::Receiver<Command>) -> Self {
		let (heard, hearing) = gossip::queue();
		Self {
			swarm,
			scores: Scores::new(config.score),
			rates: Rates::new(gossip::rate(&config)),
			config,
			store,
			commands,
			links: Links::default(),
			book: Vec::new(),
			outbound: HashMap::new(),
			inbound: HashMap::new(),
			reading: JoinSet::new(),
			probed: Probed::Unknown,
			pulses: Pulses::default(),
			ways: Ways::default(),
			heard,
			hearing: Some(hearing),
			told: Vec::<Vec<u8>>::new().encode(),
			circuits: HashMap::new(),
		}
	}

	/// Runs until `cancel` is cancelled or no handle is left, then closes all connections.
	pub(crate) async fn run(mut self, cancel: CancellationToken) {
		let mut housekeeping = tokio::time::interval(self.config.timeouts.housekeeping);
		housekeeping.set_missed_tick_behavior(MissedTickBehavior::Delay);
		loop {
			tokio::select! {
				() = cancel.cancelled() => break,
				event = self.swarm.select_next_some() => self.on_event(event),
				command = self.commands.recv() => match command {
					Some(command) => self.on_command(command),
					None => break,
				},
				Some(read) = self.reading.join_next() => match read {
					Ok((id, channel, answer)) => {
						if let Some(serving) = self.inbound.get_mut(&id) {
							serving.answered = true;
						}
						self.send_answer(channel, answer);
					}
					Err(error) => tracing::error!(%error, "reading for a peer failed"),
				},
				_ = housekeeping.tick() => self.keep_house(),
			}
		}
		self.close().await;
	}

	/// Says farewell to everybody, and closes all connections.
	async fn close(mut self) {
		let peers: Vec<PeerId> = self.swarm.connected_peers().copied().collect();
		let sent = peers.iter().map(|peer| self.swarm.behaviour_mut().content.send_request(peer, Ok(Request::Farewell)));
		let mut unanswered: HashSet<OutboundRequestId> = sent.collect();
		let parting = async {
			while !unanswered.is_empty() {
				match self.swarm.select_next_some().await {
					SwarmEvent::Behaviour(BehaviourEvent::Content(Event::Message {
						message: Message::Response { request_id, .. },
						..
					})) => {
						unanswered.remove(&request_id);
					}
					SwarmEvent::Behaviour(BehaviourEvent::Content(Event::OutboundFailure { request_id, peer, error, .. })) => {
						unanswered.remove(&request_id);
						// It went over one of two connections, which the other side has just closed.
						if matches!(error, OutboundFailure::ConnectionClosed) && self.swarm.is_connected(&peer) {
							unanswered.insert(self.swarm.behaviour_mut().content.send_request(&peer, Ok(Request::Farewell)));
						}
					}
					_ => {}
				}
			}
		};
		if tokio::time::timeout(self.config.timeouts.farewell, parting).await.is_err() {
			tracing::debug!("some peers did not hear the farewell");
		}
		for peer in peers {
			// Fails only for a peer that has just gone.
			let _ = self.swarm.disconnect_peer_id(peer);
		}
		let closing = async {
			while self.swarm.network_info().num_peers() > 0 {
				self.swarm.select_next_some().await;
			}
		};
		if tokio::time::timeout(self.config.timeouts.shutdown, closing).await.is_err() {
			tracing::debug!("some connections did not close in time");
		}
	}

	fn on_command(&mut self, command: Command) {
		self.pardon();
		match command {
			Command::Ask { peer, request, reply } => self.ask(peer, request, reply),
			Command::Rank { peers, first, root, reply } => {
				let local = *self.swarm.local_peer_id();
				let peers: Vec<PeerId> = peers.into_iter().filter(|peer| *peer != local).collect();
				let now = self.config.clock.now();
				let mut ranking = self.scores.rank(&peers, first, local, root, now);
				self.pulses.living_first(&mut ranking.usable, now);
				let _ = reply.send(ranking);
			}
			Command::Judge { peer, conduct } => self.judge(peer, conduct),
			Command::SetPeers(peers) => self.set_peers(peers),
			Command::Book(reply) => {
				let _ = reply.send(self.book.clone());
			}
			Command::Status(reply) => {
				let _ = reply.send(self.status());
			}
			Command::Pulses(reply) => {
				let _ = reply.send(self.pulses.all(self.config.clock.now()));
			}
			Command::Ways(reply) => {
				let _ = reply.send(self.ways.all(self.config.clock.now()));
			}
			Command::Publish { bytes, reply } => {
				let _ = reply.send(self.publish(bytes));
			}
			Command::Hear(reply) => {
				let _ = reply.send(self.hearing.take().filter(|_| self.config.gossip.is_some()));
			}
			Command::Settle { heard, verdict } => self.settle(&heard, verdict),
			Command::Tell(told) => self.told = told,
		}
	}

	fn set_peers(&mut self, peers: Vec<PeerAddress>) {
		let local = *self.swarm.local_peer_id();
		let mut known = HashSet::new();
		self.book = peers.into_iter().filter(|peer| peer.peer != local && known.insert(peer.peer)).take(MAX_BOOK).collect();
		self.pulses.know(known);
		self.swarm.behaviour_mut().admission.set_known(self.book.iter().map(|peer| peer.peer).collect());
		self.keep_connected();
	}

	fn ask(&mut self, address: PeerAddress, request: Request, reply: Reply) {
		let (peer, now) = (address.peer, self.config.clock.now());
		if let Some(rest) = self.scores.banned(&peer, now) {
			let _ = reply.send(Err(PeerFailure::Banned(rest)));
			return;
		}
		let link = self.links.entry(peer);
		if link.waiting.len() >= self.config.limits.waiting_per_peer {
			let _ = reply.send(Err(PeerFailure::Queue));
			return;
		}
		link.hints = address.addresses;
		link.waiting.push_back(Waiting { request, reply, since: now });
		self.advance(peer);
	}

	/// Sends what waits for `peer` as far as its limit allows, or connects first.
	pub(super) fn advance(&mut self, peer: PeerId) {
		let Some(link) = self.links.get_mut(&peer) else { return };
		while link.is_direct() && link.in_flight < self.config.limits.requests_per_peer {
			let Some(Waiting { request, reply, .. }) = link.waiting.pop_front() else { return };
			// Nobody waits for an answer whose fetch was cancelled.
			if !reply.is_closed() {
				link.in_flight += 1;
				let id = self.swarm.behaviour_mut().content.send_request(&peer, Ok(request));
				self.outbound.insert(id, (peer, reply));
				self.ways.asked(peer, self.config.clock.now());
			}
		}
		if link.connections.is_empty() && link.dial.is_none() && !link.waiting.is_empty() {
			self.dial(peer);
		}
	}

	/// Connects to `peer` under every address known.
	fn dial(&mut self, peer: PeerId) {
		let link = self.links.entry(peer);
		let mut addresses = link.hints.clone();
		let registered = self.book.iter().find(|known| known.peer == peer).into_iter().flat_map(|known| &known.addresses);
		addresses.extend(registered.filter(|address| !link.hints.contains(address)).cloned());
		let options = DialOpts::peer_id(peer).condition(PeerCondition::Disconnected).addresses(addresses).build();
		link.dial = Some(options.connection_id());
		if let Err(error) = self.swarm.dial(options) {
			self.dial_failed(peer, &error);
		}
	}

	/// Ends an attempt to connect to `peer`.
	pub(super) fn dial_failed(&mut self, peer: PeerId, error: &DialError) {
		let now = self.config.clock.now();
		let link = self.links.entry(peer);
		link.dial = None;
		if link.connections.is_empty() {
			link.back_off(now);
			self.fail_waiting(peer, &PeerFailure::Unreachable(describe(error)));
		}
	}

	/// Tells everybody who waits for `peer` that it failed.
	pub(super) fn fail_waiting(&mut self, peer: PeerId, failure: &PeerFailure) {
		for waiting in self.links.entry(peer).waiting.drain(..) {
			let _ = waiting.reply.send(Err(failure.clone()));
		}
	}

	/// Hands the outcome of a request to whoever asked.
	pub(super) fn finish(&mut self, id: OutboundRequestId, outcome: Result<Answer, PeerFailure>) {
		let Some((peer, reply)) = self.outbound.remove(&id) else { return };
		if let Some(link) = self.links.get_mut(&peer) {
			link.in_flight = link.in_flight.saturating_sub(1);
		}
		let now = self.config.clock.now();
		match &outcome {
			Ok(Answer::Data(data)) => self.ways.answered(peer, data.len(), now),
			Ok(Answer::Refused(_)) => self.ways.answered(peer, 0, now),
			Err(_) => self.ways.failed(peer, now),
		}
		let late = matches!(outcome, Err(PeerFailure::Timeout));
		// Whoever asked judges what it hears; if it has given up already, silence must cost the peer its rank all the same.
		if reply.send(outcome).is_err() && late {
			self.judge(peer, Conduct::Unresponsive);
		}
		self.advance(peer);
	}

	pub(super) fn judge(&mut self, peer: PeerId, conduct: Conduct) {
		if self.scores.note(peer, conduct, self.config.clock.now()) {
			tracing::warn!(%peer, "a peer sent corrupt data; shutting it out for a while");
			self.swarm.behaviour_mut().banned.block_peer(peer);
			self.fail_waiting(peer, &PeerFailure::Banned(self.config.score.ban));
		}
	}

	pub(super) fn pardon(&mut self) {
		for peer in self.scores.pardon(self.config.clock.now()) {
			self.swarm.behaviour_mut().banned.unblock_peer(peer);
		}
	}

	/// Starts reading what a peer asked for, unless too much is being served already.
	pub(super) fn answer(&mut self, peer: PeerId, id: InboundRequestId, request: Incoming, channel: ResponseChannel<Answer>) {
		if !self.may_serve(&peer) {
			self.send_answer(channel, Answer::Refused(Refusal::Busy));
			return;
		}
		if request == Ok(Request::Gossip) {
			self.inbound.insert(id, Serving { peer, answered: true });
			self.send_answer(channel, Answer::Data(self.told.clone()));
			return;
		}
		self.inbound.insert(id, Serving { peer, answered: false });
		let store = self.store.clone();
		self.reading.spawn_blocking(move || (id, channel, serve::answer(&store, request)));
	}

	/// Returns whether there is a place for an answer to `peer`. Those that took their answers have most of the places, if they are in the address
	/// book. They share a few with strangers if they did not, and strangers that did not have none for a while.
	fn may_serve(&self, peer: &PeerId) -> bool {
		let (now, limits) = (self.config.clock.now(), self.config.limits);
		let knows = |peer: &PeerId| self.swarm.behaviour().admission.knows(peer);
		let is_stranger = |peer: &PeerId| !knows(peer) || self.scores.is_distrusted(peer, now);
		let serving = |counts: &dyn Fn(&PeerId) -> bool| self.inbound.values().filter(|serving| counts(&serving.peer)).count();
		if self.inbound.len() >= limits.serving || serving(&|other| other == peer) >= limits.serving_per_peer {
			return false;
		}
		match (knows(peer), self.scores.is_distrusted(peer, now)) {
			(true, false) => true,
			(true, true) | (false, false) => serving(&is_stranger) < limits.serving_strangers,
			(false, true) => false,
		}
	}

	pub(super) fn send_answer(&mut self, channel: ResponseChannel<Answer>, answer: Answer) {
		if self.swarm.behaviour_mut().content.send_response(channel, answer).is_err() {
			tracing::debug!("a peer left before its answer was ready");
		}
	}

	/// Does what is due from time to time.
	fn keep_house(&mut self) {
		let now = self.config.clock.now();
		self.pulses.awake(now);
		self.pardon();
		if let Some(time) = now.checked_sub(self.config.timeouts.dial) {
			for peer in self.links.stalled(time) {
				self.fail_waiting(peer, &PeerFailure::OnlyRelayed);
			}
		}
		self.links.prune(now);
		self.rates.prune(now);
		self.keep_connected();
		self.keep_reserved();
	}

	/// Connects to the first peers of the address book that can be reached, so that peers behind a router can be served over connections
	/// they made.
	fn keep_connected(&mut self) {
		let now = self.config.clock.now();
		let reachable = |peer: &PeerId| self.links.get(peer).is_none_or(|link| link.is_engaged() || link.may_dial(now));
		let limit = self.config.limits.kept_peers;
		let tried = self.book.iter().take(limit.saturating_mul(TRIED_PER_KEPT));
		let kept = tried.map(|known| known.peer).filter(|peer| reachable(peer) && self.scores.banned(peer, now).is_none());
		let lacking: Vec<PeerId> = kept.take(limit).filter(|peer| self.links.get(peer).is_none_or(|link| !link.is_engaged())).collect();
		for peer in lacking {
			self.dial(peer);
		}
	}

	/// Asks for a place at every relay if others cannot reach us.
	pub(super) fn keep_reserved(&mut self) {
		if self.probed != Probed::Private {
			return;
		}
		let reserved: HashSet<usize> = self.circuits.values().copied().collect();
		let relays: Vec<(usize, PeerAddress)> =
			self.config.relays.iter().cloned().enumerate().filter(|(place, _)| !reserved.contains(place)).collect();
		for (place, relay) in relays {
			let Some(address) = relay.addresses.into_iter().find(|address| !is_relayed(address)) else { continue };
			let address = address.with(Protocol::P2p(relay.peer)).with(Protocol::P2pCircuit);
			match self.swarm.listen_on(address) {
				Ok(listener) => {
					self.circuits.insert(listener, place);
				}
				Err(error) => tracing::warn!(peer = %relay.peer, %error, "cannot use a relay"),
			}
		}
	}
}

/// A failed attempt to connect in one line.
fn describe(error: &DialError) -> String {
	match error {
		DialError::NoAddresses => "no address of it is known".to_owned(),
		DialError::WrongPeerId { address, .. } => format!("somebody else answers at {address}"),
		DialError::Transport(attempts) => {
			let attempts = attempts.iter().map(|(address, error)| format!("{address}: {}", refusal(error)));
			attempts.collect::<Vec<_>>().join(", ")
		}
		other => other.to_string(),
	}
}
