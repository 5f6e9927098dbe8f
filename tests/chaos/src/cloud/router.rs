//! The router: a thread for what each machine sends, and one that hands it over when its time has come.

use super::{
	line::{Line, Lines},
	number_of,
};
use neuroshard_e2e::Error;
use rand::{rngs::StdRng, Rng, SeedableRng};
use std::{
	cmp::Reverse,
	collections::BinaryHeap,
	sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
	time::Instant,
};
use tun_rs::SyncDevice;

/// Bytes of a packet at most.
const LONGEST: usize = 65_536;
/// Packets on their way at most: what comes beyond them is dropped.
const MOST: usize = 65_536;

/// A packet on its way: when it arrives, its number, where, and itself.
type Packet = (Instant, u64, usize, Vec<u8>);

struct State {
	lines: Lines,
	dice: StdRng,
	sent: u64,
	on_the_way: BinaryHeap<Reverse<Packet>>,
}

/// Handle of the router. Its threads end when their devices are gone.
pub(super) struct Router(Arc<(Mutex<State>, Condvar)>);

impl Router {
	/// Starts it between `devices`, each with its line.
	pub(super) fn start(devices: Vec<SyncDevice>, lines: Vec<Line>, seed: u64) -> Result<Self, Error> {
		let state = State { lines: Lines::new(lines), dice: StdRng::seed_from_u64(seed), sent: 0, on_the_way: BinaryHeap::new() };
		let (shared, devices) = (Arc::new((Mutex::new(state), Condvar::new())), Arc::new(devices));
		for number in 0..devices.len() {
			let (shared, devices) = (shared.clone(), devices.clone());
			thread(format!("from-{number}"), move || {
				let mut buffer = vec![0; LONGEST];
				let Some(device) = devices.get(number) else { return };
				while let Ok(length) = device.recv(&mut buffer) {
					take(&shared, number, buffer.get(..length).unwrap_or_default());
				}
			})?;
		}
		let handing = shared.clone();
		thread("router".into(), move || loop {
			let (to, packet) = next(&handing);
			if let Some(device) = devices.get(to) {
				// A machine that is gone, or has no room, misses it.
				let _ = device.send(&packet);
			}
		})?;
		Ok(Self(shared))
	}

	/// Cuts machines from 1 on in two parts, or joins them.
	pub(super) fn cut(&self, parts: Option<&[bool]>) {
		let (state, _) = &*self.0;
		// This process is on whichever side it speaks to: see `take`.
		lock(state).lines.cut(parts.map(|parts| [[false].as_slice(), parts].concat()));
	}
}

fn thread(name: String, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
	let started = std::thread::Builder::new().name(name).spawn(work);
	started.map(drop).map_err(|error| Error::Setup(format!("the system gives no threads: {error}")))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
	state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends a packet on its way.
fn take((state, changed): &(Mutex<State>, Condvar), from: usize, packet: &[u8]) {
	let Some(to) = destination(packet) else { return };
	let mut state = lock(state);
	let State { lines, dice, sent, on_the_way } = &mut *state;
	let arrival = match from == 0 || to == 0 {
		// Who watches is nowhere, and sees everything.
		true => Some(Instant::now()),
		false => lines.arrival(from, to, packet.len(), Instant::now(), dice.gen()),
	};
	if let Some(arrival) = arrival.filter(|_| on_the_way.len() < MOST) {
		*sent = sent.wrapping_add(1);
		on_the_way.push(Reverse((arrival, *sent, to, packet.to_vec())));
		changed.notify_one();
	}
}

/// Waits for the next packet that arrives, and where.
fn next((state, changed): &(Mutex<State>, Condvar)) -> (usize, Vec<u8>) {
	let mut state = lock(state);
	loop {
		let now = Instant::now();
		let wait = state.on_the_way.peek().map(|Reverse((arrival, ..))| arrival.saturating_duration_since(now));
		match wait {
			Some(wait) if wait.is_zero() => {
				if let Some(Reverse((_, _, to, packet))) = state.on_the_way.pop() {
					return (to, packet);
				}
			}
			Some(wait) => state = changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0,
			None => state = changed.wait(state).unwrap_or_else(PoisonError::into_inner),
		}
	}
}

/// The machine that a packet is for: of IPv4 only.
fn destination(packet: &[u8]) -> Option<usize> {
	let version = packet.first()? >> 4;
	let address: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
	number_of(address).filter(|_| version == 4)
}
