//! Members of a directory: a thousand machines that announce themselves to each other by gossip, with the worker's own
//! [`Directory`](neuroshard_directory::Directory), [`Announcer`](neuroshard_directory::Announcer) and placement of rings, in virtual time.
//!
//! The mesh is simulated: each member passes a message that it takes on to all whom it is meshed with, but for the one that it came from. Everything that a
//! mesh does to send less is left out, so that what is counted here is more than what real members send.

mod mesh;
mod ring;

pub use mesh::LOSS;
pub use ring::{Driver, Moved};

use codec::Encode;
use neuroshard_directory::{row, Announcer, Directory, Measured, Registered};
use neuroshard_network::MESH_LOW;
use neuroshard_types::{
	announcement::{Announcement, Holdings, MachineSpeed, Malformed, SignedAnnouncement},
	provider::{Addresses, PeerIdBytes},
	AccountId, Moment, H256,
};
use rand::{rngs::StdRng, Rng, SeedableRng};
use sp_core::{ecdsa, Pair};
use std::{
	cmp::Reverse,
	collections::{BTreeSet, BinaryHeap},
	sync::Arc,
};

/// First moment.
pub const START: Moment = 1_700_000_000_000;
/// The chain that all are on.
const GENESIS: H256 = H256::repeat_byte(7);
/// Milliseconds between two looks of a member at whether it should announce itself.
const LOOK_MS: Moment = 10_000;
/// Milliseconds until the others notice that a member has vanished: three heartbeats.
const NOTICED_MS: Moment = 6_000;
/// Members to whom each one has measured its way.
const MEASURED: usize = 80;
/// Milliseconds that a member takes to look at a message.
const LOOKED_AT_MS: Moment = 2;

/// A machine.
struct Machine {
	account: AccountId,
	key: ecdsa::Pair,
	peer: PeerIdBytes,
	/// Where it is: light takes 1 ms for a unit.
	at: (f64, f64),
	speed: MachineSpeed,
	memory: u64,
	checkpoints: Vec<H256>,
	bandwidth: u64,
	up: bool,
	/// Members that it measures its way to.
	measured: Vec<usize>,
	announcer: Announcer,
	directory: Directory,
	mesh: BTreeSet<usize>,
	traffic: Traffic,
}

/// Bytes of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
	/// Received.
	pub received: u64,
	/// Sent.
	pub sent: u64,
}

impl Traffic {
	/// The sum of each.
	#[must_use]
	pub fn and(self, other: Self) -> Self {
		Self { received: self.received + other.received, sent: self.sent + other.sent }
	}

	/// The larger of each.
	#[must_use]
	pub fn larger(self, other: Self) -> Self {
		Self { received: self.received.max(other.received), sent: self.sent.max(other.sent) }
	}
}

/// A message under way.
struct Message {
	signed: Arc<SignedAnnouncement>,
	bytes: u64,
	/// Who has it.
	seen: Vec<bool>,
	/// What the signature was found to be, by the first one that looked at it.
	checked: Option<Result<(), Malformed>>,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
	/// A member looks at whether it should announce itself.
	Look(usize),
	/// A message reaches a member from another.
	Arrives { to: usize, from: usize, message: usize },
	/// All notice that a member has vanished.
	Vanishes(usize),
	/// A member starts.
	Starts(usize),
}

/// A network of members.
pub struct Members {
	machines: Vec<Machine>,
	messages: Vec<Message>,
	events: BinaryHeap<Reverse<(Moment, u64, Event)>>,
	made: u64,
	now: Moment,
	dice: StdRng,
}

impl Members {
	/// So many machines, all of which start within `within_ms`. Each fifth one has the model with these `parameters` on disk.
	pub fn new(count: usize, within_ms: Moment, parameters: H256, seed: u64) -> Self {
		let mut members = Self {
			machines: Vec::new(),
			messages: Vec::new(),
			events: BinaryHeap::new(),
			made: 0,
			now: START,
			dice: StdRng::seed_from_u64(seed),
		};
		members.add(count, within_ms, parameters);
		members
	}

	/// The time.
	pub fn now(&self) -> Moment {
		self.now
	}

	/// Adds machines that start within `within_ms` from now, and returns their numbers.
	pub fn add(&mut self, count: usize, within_ms: Moment, parameters: H256) -> Vec<usize> {
		let first = self.machines.len();
		let all = first + count;
		for number in first..all {
			let machine = self.machine(number, all, parameters);
			self.machines.push(machine);
			let starts = self.now + self.dice.gen_range(0..=within_ms);
			self.at(starts, Event::Starts(number));
		}
		(first..all).collect()
	}

	fn machine(&mut self, number: usize, all: usize, parameters: H256) -> Machine {
		let seed = number as u32 + 1;
		let mut name = [0; 32];
		name[..4].copy_from_slice(&seed.to_be_bytes());
		let (account, key) = (AccountId::new(name), ecdsa::Pair::from_seed(&name));
		// A multihash of 32 bytes.
		let peer = PeerIdBytes::truncate_from([&[18, 32][..], &name].concat());
		let dice = &mut self.dice;
		let at = (dice.gen_range(0.0..80.0), dice.gen_range(0.0..60.0));
		let gflops = *[50, 300, 1_500, 6_000, 25_000].get(dice.gen_range(0..5)).unwrap_or(&50);
		let speed = MachineSpeed { flops: gflops * 1_000_000_000, bytes: dice.gen_range(10..200) * 1_000_000_000 };
		Machine {
			directory: Directory::new(GENESIS, account.clone()),
			announcer: Announcer::new(account.clone(), key.public().0, peer.clone()),
			account,
			key,
			peer,
			at,
			speed,
			memory: dice.gen_range(2..16) << 30,
			checkpoints: if number.is_multiple_of(5) { vec![parameters] } else { Vec::new() },
			bandwidth: *[1_250_000, 12_500_000, 125_000_000].get(dice.gen_range(0..3)).unwrap_or(&1_250_000),
			up: false,
			measured: (0..MEASURED).map(|_| dice.gen_range(0..all)).filter(|other| *other != number).collect(),
			mesh: BTreeSet::new(),
			traffic: Traffic::default(),
		}
	}

	fn at(&mut self, time: Moment, event: Event) {
		self.made += 1;
		self.events.push(Reverse((time, self.made, event)));
	}

	/// Goes on for so many milliseconds.
	pub fn run(&mut self, ms: Moment) {
		let end = self.now + ms;
		while let Some(Reverse((time, ..))) = self.events.peek() {
			if *time > end {
				break;
			}
			if let Some(Reverse((time, _, event))) = self.events.pop() {
				self.now = time;
				self.happen(event);
			}
		}
		self.now = end;
	}

	fn happen(&mut self, event: Event) {
		match event {
			Event::Starts(who) => {
				self.machines[who].up = true;
				self.mesh_up(who);
				self.look(who);
			}
			Event::Look(who) => self.look(who),
			Event::Arrives { to, from, message } => self.arrives(to, from, message),
			Event::Vanishes(who) => self.unmesh(who),
		}
	}

	/// A member looks at what it has, and announces that if it is due.
	fn look(&mut self, who: usize) {
		if !self.machines[who].up {
			return;
		}
		if self.machines[who].mesh.len() < MESH_LOW {
			self.mesh_up(who);
		}
		let holdings = self.holdings(who);
		let (now, chance) = (self.now, [self.dice.gen(), self.dice.gen()]);
		let machine = &mut self.machines[who];
		if machine.announcer.is_due(&holdings, now, chance[0]) {
			machine.directory.expire(now);
			let announcement = machine.announcer.announce(holdings, now, chance[1]);
			self.publish(who, announcement);
		}
		self.at(now + LOOK_MS, Event::Look(who));
	}

	/// What a member has now.
	fn holdings(&mut self, who: usize) -> Holdings {
		let mut ways = Vec::with_capacity(MEASURED);
		for other in self.machines[who].measured.clone() {
			if self.machines.get(other).is_some_and(|other| other.up) {
				// What is measured varies by a twentieth.
				let ms = self.apart_ms(who, other) * self.dice.gen_range(0.95..1.05);
				let bandwidth = self.machines[other].bandwidth.min(self.machines[who].bandwidth);
				let peer = self.machines[other].peer.to_vec();
				ways.push(Measured { peer, rtt_us: (2_000.0 * ms) as u64, bandwidth: Some(bandwidth), age_s: 0 });
			}
		}
		let machine = &self.machines[who];
		Holdings {
			addresses: Addresses::truncate_from(vec![neuroshard_types::provider::Address::truncate_from(vec![4, 10, 0, 0, 1, 6, 17, 248])]),
			speed: machine.speed,
			memory: machine.memory,
			held: Default::default(),
			checkpoints: machine.checkpoints.clone().try_into().unwrap_or_default(),
			ways: row(ways),
		}
	}

	/// Milliseconds from one machine to another, one way.
	fn apart_ms(&self, a: usize, b: usize) -> f64 {
		let (a, b) = (self.machines[a].at, self.machines[b].at);
		1.0 + ((a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)).sqrt()
	}

	/// Signs an announcement, and sends it to all whom the member is meshed with.
	fn publish(&mut self, who: usize, announcement: Announcement) {
		let machine = &mut self.machines[who];
		let signature = machine.key.sign(&announcement.message(GENESIS)).0;
		let signed = Arc::new(SignedAnnouncement { announcement, signature });
		machine.directory.note_own(signed.clone(), self.now);
		let mut seen = vec![false; self.machines.len()];
		seen[who] = true;
		self.messages.push(Message { bytes: signed.encoded_size() as u64, signed, seen, checked: None });
		self.pass_on(who, None, self.messages.len() - 1);
	}

	/// A message arrives: the directory looks at it, and it is passed on if it is good and new.
	fn arrives(&mut self, to: usize, from: usize, number: usize) {
		let Self { machines, messages, now, .. } = self;
		let (machine, message) = (&mut machines[to], &mut messages[number]);
		if !machine.up {
			return;
		}
		machine.traffic.received += message.bytes;
		if message.seen.len() <= to {
			message.seen.resize(to + 1, false);
		}
		if std::mem::replace(&mut message.seen[to], true) {
			return;
		}
		let signed = message.signed.clone();
		let registered = || Registered { key: signed.announcement.key, peer: signed.announcement.peer.clone() };
		let check = |signed: &SignedAnnouncement| *message.checked.get_or_insert_with(|| signed.check_signature(GENESIS));
		if machine.directory.take_read(signed.clone(), *now, |_| Some(registered()), check).is_ok() {
			self.pass_on(to, Some(from), number);
		}
	}

	/// A member leaves, with a farewell or without.
	pub fn leave(&mut self, who: usize, farewell: bool) {
		if farewell {
			let (now, machine) = (self.now, &mut self.machines[who]);
			if let Some(announcement) = machine.announcer.farewell(now) {
				self.publish(who, announcement);
			}
		}
		self.machines[who].up = false;
		let noticed = if farewell { self.now } else { self.now + NOTICED_MS };
		self.at(noticed, Event::Vanishes(who));
	}

	/// A member's machine gets so many times slower, because something else runs on it.
	pub fn slow(&mut self, who: usize, times: u64) {
		let speed = &mut self.machines[who].speed;
		*speed = MachineSpeed { flops: (speed.flops / times).max(1), bytes: (speed.bytes / times).max(1) };
	}

	/// Machines that are up.
	pub fn up(&self) -> Vec<usize> {
		(0..self.machines.len()).filter(|who| self.machines[*who].up).collect()
	}

	/// The number of the machine with this name in placements.
	pub fn named(&self, name: &str) -> Option<usize> {
		self.machines.iter().position(|machine| neuroshard_ring::placement::name_of(&machine.peer) == name)
	}

	/// Returns whether the directory of `who` has `other` as a member.
	pub fn knows(&self, who: usize, other: usize) -> bool {
		self.machines[who].directory.member(&self.machines[other].account, self.now).is_some()
	}

	/// The directory of a member.
	pub fn directory(&self, who: usize) -> &Directory {
		&self.machines[who].directory
	}

	/// What each machine has received and sent since the last time that this was called.
	pub fn take_traffic(&mut self) -> Vec<Traffic> {
		self.machines.iter_mut().map(|machine| std::mem::take(&mut machine.traffic)).collect()
	}

	/// Bytes of the longest message so far.
	pub fn longest(&self) -> u64 {
		self.messages.iter().map(|message| message.bytes).max().unwrap_or_default()
	}
}
