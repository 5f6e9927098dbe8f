//! Gossip: short messages that peers pass on to each other until all have them.
//!
//! Whoever gets a message passes it on only when the application has looked at it and said that it is good ([`Verdict`]). One that is false costs whoever
//! sent it its place among the peers. Messages have no author but what they say themselves; the same bytes are one message, and are passed on once.

use crate::{
	actor::{Actor, Command},
	message::{Answer, Request},
	rates::{Admission, Rate},
	score::Conduct,
	Handle, NetworkConfig, NetworkError, PeerAddress, PeerId, Stopped,
};
use codec::{DecodeAll, Encode};
use libp2p::gossipsub::{
	self, Behaviour, ConfigBuilder, IdentTopic, IdentityTransform, MessageAcceptance, MessageAuthenticity, MessageId, PeerScoreParams,
	PeerScoreThresholds, PublishError, TopicScoreParams, ValidationMode, WhitelistSubscriptionFilter,
};
use neuroshard_graph::merkle::blake2_256;
use neuroshard_types::{announcement::MAX_ANNOUNCEMENT, H256};
use std::{collections::HashSet, time::Duration};
use tokio::sync::mpsc;

/// Peers that each message is sent to and taken from.
pub const MESH: usize = 6;
/// Fewest of them before more are looked for.
pub const MESH_LOW: usize = 4;
/// Most of them before some are let go.
pub const MESH_HIGH: usize = 8;
/// Messages that wait for the application; more are not taken.
const QUEUE: usize = 256;
/// Bytes of messages that a newcomer is told at once, their lengths included: half of the longest answer.
const MOST_TOLD: usize = 512 << 10;
/// Bytes of a message's length among them, at most.
const LENGTH: usize = 4;
/// Bytes of a message beside its data: topic and lengths.
const FRAME: usize = 256;
/// Bytes of identifiers of messages that a peer may name at once.
const CONTROL: usize = 16 << 10;
/// For how long the same message is known again. After that, it is the application that knows it.
const REMEMBERED: Duration = Duration::from_secs(300);
/// Points that a false message costs among those who pass messages on: with one, a peer gets no more messages of this one.
const FALSE_POINTS: f64 = -100.0;

pub(crate) type GossipBehaviour = Behaviour<IdentityTransform, WhitelistSubscriptionFilter>;

/// Settings of gossip.
#[derive(Clone, Debug)]
pub struct GossipConfig {
	/// First block of the chain, which names the topic: those of other chains hear nothing of each other.
	pub genesis: H256,
	/// Most bytes of a message.
	pub most_bytes: usize,
	/// Time from one look at who passes messages on to whom to the next.
	pub heartbeat: Duration,
	/// Messages that one peer may pass on. More of it are neither heard nor passed on; with far more, it is shut out for a while.
	pub per_peer: Rate,
}

impl GossipConfig {
	/// That of the chain with this genesis.
	pub fn of(genesis: H256) -> Self {
		// 4,096 members that all repeat themselves within six minutes are 11 messages a second, if they all came from one peer; a burst is what all say
		// at once when a checkpoint is adopted, by one of six peers.
		let per_peer = Rate { per_second: 16.0, burst: 768.0 };
		Self { genesis, most_bytes: MAX_ANNOUNCEMENT, heartbeat: Duration::from_secs(1), per_peer }
	}

	pub(crate) fn topic(&self) -> IdentTopic {
		IdentTopic::new(format!("/neuroshard/announcements/1/{:?}", self.genesis))
	}
}

/// A message that a peer has passed on.
#[derive(Clone, Debug)]
pub struct Heard {
	/// Who passed it on.
	pub from: PeerId,
	/// The message.
	pub bytes: Vec<u8>,
	id: MessageId,
}

/// What the application says of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
	/// It is good, and is passed on.
	Good,
	/// It is nobody's fault that it is not: it is not passed on.
	Useless,
	/// Nobody could have taken it for good: it is not passed on, and whoever sent it is shut out for a while.
	False,
}

/// Why a message is not published.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GossipError {
	/// The network has been shut down.
	#[error(transparent)]
	Stopped(#[from] Stopped),
	/// The network was started without gossip.
	#[error("this worker's network was started without gossip")]
	Off,
	/// It is too long.
	#[error("a message of {bytes} bytes is longer than the {most} that peers take")]
	TooLong {
		/// Bytes of the message.
		bytes: usize,
		/// Most bytes of one.
		most: usize,
	},
	/// Nobody is there who would hear it.
	#[error("no peer is connected that listens: try again when one is")]
	Alone,
	/// It was published before.
	#[error("the same message was published or heard before")]
	Again,
	/// Peers are too slow.
	#[error("no peer takes messages fast enough: try again later")]
	Busy,
	/// Something else.
	#[error("the message could not be published: {0}")]
	Other(String),
}

/// The behaviour that passes messages on, and has subscribed to the topic.
pub(crate) fn behaviour(config: &GossipConfig) -> Result<GossipBehaviour, NetworkError> {
	let broken = |what: String| NetworkError::Gossip(what);
	let topic = config.topic();
	let mut settings = ConfigBuilder::default();
	settings
		.protocol_id_prefix("/neuroshard/gossip")
		// What a message says tells who made it.
		.validation_mode(ValidationMode::Anonymous)
		.validate_messages()
		.message_id_fn(|message| MessageId::from(blake2_256(&message.data).to_vec()))
		.max_transmit_size_for_topic(config.most_bytes.saturating_add(FRAME), topic.hash())
		.max_control_message_size(CONTROL)
		.duplicate_cache_time(REMEMBERED)
		.heartbeat_interval(config.heartbeat)
		.heartbeat_initial_delay(config.heartbeat)
		.mesh_n(MESH)
		.mesh_n_low(MESH_LOW)
		.mesh_n_high(MESH_HIGH)
		// What this worker says goes the way of all messages, and not to everybody whom it is connected with.
		.flood_publish(false)
		// Messages that are waited for, and those that are asked for again.
		.connection_handler_queue_len(QUEUE)
		.max_ihave_messages_heartbeat(4)
		.max_control_messages_sent(512);
	let settings = settings.build().map_err(|error| broken(error.to_string()))?;
	let filter = WhitelistSubscriptionFilter(HashSet::from([topic.hash()]));
	let mut behaviour = Behaviour::new_with_subscription_filter(MessageAuthenticity::Anonymous, settings, filter)
		.map_err(|error| broken(error.to_owned()))?;
	// Only what is false counts. Peers on one machine or behind one router are none the worse for it.
	let scores = TopicScoreParams {
		topic_weight: 1.0,
		time_in_mesh_weight: 0.0,
		first_message_deliveries_weight: 0.0,
		mesh_message_deliveries_weight: 0.0,
		mesh_failure_penalty_weight: 0.0,
		invalid_message_deliveries_weight: FALSE_POINTS,
		invalid_message_deliveries_decay: gossipsub::score_parameter_decay(Duration::from_secs(600)),
		..TopicScoreParams::default()
	};
	let params = PeerScoreParams {
		topics: [(topic.hash(), scores)].into_iter().collect(),
		ip_colocation_factor_weight: 0.0,
		..PeerScoreParams::default()
	};
	behaviour.with_peer_score(params, PeerScoreThresholds::default()).map_err(broken)?;
	behaviour.subscribe(&topic).map_err(|error| broken(error.to_string()))?;
	Ok(behaviour)
}

/// A new channel of messages to the application.
pub(crate) fn queue() -> (mpsc::Sender<Heard>, mpsc::Receiver<Heard>) {
	mpsc::channel(QUEUE)
}

impl Actor {
	/// Hands a message to the application, if there is room for it, somebody listens, and its sender may send one.
	pub(super) fn on_gossip(&mut self, event: gossipsub::Event) {
		let gossipsub::Event::Message { propagation_source: from, message_id: id, message } = event else { return };
		let now = self.config.clock.now();
		let admission = self.rates.admit(from, now);
		let admitted = admission == Admission::Taken && message.data.len() <= self.gossip_limit();
		let heard = Heard { from, bytes: message.data, id: id.clone() };
		if !admitted || self.heard.try_send(heard).is_err() {
			tracing::debug!(peer = %from, "a message was not heard: there are too many");
			self.report(&id, &from, MessageAcceptance::Ignore);
		}
		if admission == Admission::Flood {
			self.judge(from, Conduct::Corrupt);
		}
	}

	fn gossip_limit(&self) -> usize {
		self.config.gossip.as_ref().map_or(0, |gossip| gossip.most_bytes)
	}

	fn report(&mut self, id: &MessageId, from: &PeerId, acceptance: MessageAcceptance) {
		if let Some(gossip) = self.swarm.behaviour_mut().gossip.as_mut() {
			// False if it took the application so long that the message was forgotten.
			let _ = gossip.report_message_validation_result(id, from, acceptance);
		}
	}

	/// Does with a message what the application says of it.
	pub(super) fn settle(&mut self, heard: &Heard, verdict: Verdict) {
		let acceptance = match verdict {
			Verdict::Good => MessageAcceptance::Accept,
			Verdict::Useless => MessageAcceptance::Ignore,
			Verdict::False => MessageAcceptance::Reject,
		};
		self.report(&heard.id, &heard.from, acceptance);
		if verdict == Verdict::False {
			self.judge(heard.from, Conduct::Corrupt);
		}
	}

	pub(super) fn publish(&mut self, bytes: Vec<u8>) -> Result<(), GossipError> {
		let most = self.gossip_limit();
		let topic = self.config.gossip.as_ref().map(GossipConfig::topic);
		let (Some(gossip), Some(topic)) = (self.swarm.behaviour_mut().gossip.as_mut(), topic) else { return Err(GossipError::Off) };
		if bytes.len() > most {
			return Err(GossipError::TooLong { bytes: bytes.len(), most });
		}
		match gossip.publish(topic, bytes) {
			Ok(_) => Ok(()),
			Err(PublishError::Duplicate) => Err(GossipError::Again),
			Err(PublishError::NoPeersSubscribedToTopic) => Err(GossipError::Alone),
			Err(PublishError::AllQueuesFull(_)) => Err(GossipError::Busy),
			Err(other) => Err(GossipError::Other(other.to_string())),
		}
	}

	/// Peers that messages are passed on to.
	pub(super) fn gossip_peers(&self) -> Vec<PeerId> {
		self.swarm.behaviour().gossip.as_ref().map_or_else(Vec::new, |gossip| gossip.all_mesh_peers().copied().collect())
	}
}

impl Handle {
	/// Publishes a message: peers hear it, and those whose application says that it is good pass it on.
	///
	/// # Errors
	/// [`GossipError`].
	pub async fn publish(&self, bytes: Vec<u8>) -> Result<(), GossipError> {
		self.query(|reply| Command::Publish { bytes, reply }).await?
	}

	/// Messages that peers pass on. Each waits for a [verdict](Self::settle) for a few seconds. Only the first caller gets them.
	///
	/// # Errors
	/// [`Stopped`].
	pub async fn hear(&self) -> Result<Option<mpsc::Receiver<Heard>>, Stopped> {
		self.query(Command::Hear).await
	}

	/// Says which messages still say something: peers that have come later ask for them. What does not fit into an answer is left out, the last ones first.
	///
	/// # Errors
	/// [`Stopped`].
	pub async fn tell(&self, messages: impl IntoIterator<Item = Vec<u8>>) -> Result<(), Stopped> {
		let mut room = MOST_TOLD;
		let fits = |message: &Vec<u8>| {
			let rest = room.checked_sub(message.len().saturating_add(LENGTH));
			room = rest.unwrap_or(0);
			rest.is_some()
		};
		let told: Vec<Vec<u8>> = messages.into_iter().take_while(fits).collect();
		self.send(Command::Tell(told.encode())).await
	}

	/// The messages that a peer, with which there is a connection, [tells](Self::tell) those who have come later; `None` if it tells nothing. They have
	/// not been looked at.
	///
	/// # Errors
	/// [`Stopped`].
	pub async fn told_by(&self, peer: PeerId) -> Result<Option<Vec<Vec<u8>>>, Stopped> {
		match self.ask(PeerAddress::new(peer, []), Request::Gossip).await? {
			Ok(Answer::Data(bytes)) => match Vec::<Vec<u8>>::decode_all(&mut &bytes[..]) {
				Ok(told) => Ok(Some(told)),
				Err(_) => self.judge(peer, Conduct::Corrupt).await.map(|()| None),
			},
			Ok(Answer::Refused(_)) => Ok(None),
			Err(failure) => self.judge_failure(peer, &failure).await.map(|()| None),
		}
	}

	/// Says what a message is.
	///
	/// # Errors
	/// [`Stopped`].
	pub async fn settle(&self, heard: Heard, verdict: Verdict) -> Result<(), Stopped> {
		self.send(Command::Settle { heard: heard.without_bytes(), verdict }).await
	}
}

impl Heard {
	fn without_bytes(self) -> Self {
		Self { bytes: Vec::new(), ..self }
	}
}

/// Rates that are counted by: those of gossip, if there is any.
pub(crate) fn rate(config: &NetworkConfig) -> Rate {
	config.gossip.as_ref().map_or(Rate { per_second: 0.0, burst: 0.0 }, |gossip| gossip.per_peer)
}
