//! When a worker announces itself.

use neuroshard_types::{
	announcement::{Announcement, Holdings, Way, MAX_LIFETIME_S, MIN_INTERVAL_MS},
	provider::{PeerIdBytes, PonwKey},
	AccountId, Moment,
};
use std::collections::{BTreeMap, BTreeSet};

/// Longest time from one announcement to its repetition, in milliseconds: half of a lifetime, so that one may be lost. The shortest is four fifths of it.
pub const REPEAT_MS: Moment = MAX_LIFETIME_S as Moment * 1_000 / 2;

/// Change of a time there and back that is none, in microseconds: less than a ring would notice.
const NOISE_US: u64 = 5_000;

/// Says when this worker should announce itself, and with which words.
#[derive(Clone, Debug)]
pub struct Announcer {
	provider: AccountId,
	key: PonwKey,
	peer: PeerIdBytes,
	last: Option<Last>,
	/// Time from which a change that was noticed is announced.
	changed: Option<Moment>,
}

#[derive(Clone, Debug)]
struct Last {
	sequence: u64,
	issued_at: Moment,
	/// Time from which it is repeated.
	repeat_at: Moment,
	holdings: Holdings,
}

impl Announcer {
	/// The announcer of a provider, which has not announced anything since its worker was started.
	pub fn new(provider: AccountId, key: PonwKey, peer: PeerIdBytes) -> Self {
		Self { provider, key, peer, last: None, changed: None }
	}

	/// Returns whether an announcement is due at `now`, by what this worker has: the first one; a repetition; or one of a [change](is_changed), some time
	/// after that was noticed, so that not all workers announce at once what changes for all of them. Never sooner than [`MIN_INTERVAL_MS`] after the last
	/// one. `chance` is uniformly random.
	pub fn is_due(&mut self, holdings: &Holdings, now: Moment, chance: u64) -> bool {
		let Some(last) = &self.last else { return true };
		self.changed = match is_changed(&last.holdings, holdings) {
			true => self.changed.or_else(|| Some(now.saturating_add(part(MIN_INTERVAL_MS, chance)))),
			// It has changed back.
			false => None,
		};
		let due = last.repeat_at.min(self.changed.unwrap_or(Moment::MAX)).max(last.issued_at.saturating_add(MIN_INTERVAL_MS));
		due <= now
	}

	/// The announcement of what this worker has at `now`, to be signed and sent. `chance` is uniformly random, and decides when it is repeated.
	pub fn announce(&mut self, holdings: Holdings, now: Moment, chance: u64) -> Announcement {
		let sequence = self.next_sequence(now);
		let repeat_at = now.saturating_add(REPEAT_MS - part(REPEAT_MS / 5, chance));
		self.changed = None;
		self.last = Some(Last { sequence, issued_at: now, repeat_at, holdings: holdings.clone() });
		self.of(sequence, now, MAX_LIFETIME_S, Some(holdings))
	}

	/// The farewell of this worker, which is about to stop; `None` if it has not announced anything.
	pub fn farewell(&mut self, now: Moment) -> Option<Announcement> {
		let sequence = self.next_sequence(now);
		self.last.take().map(|_| self.of(sequence, now, 0, None))
	}

	fn of(&self, sequence: u64, issued_at: Moment, lifetime: u16, holdings: Option<Holdings>) -> Announcement {
		Announcement { provider: self.provider.clone(), key: self.key, peer: self.peer.clone(), sequence, issued_at, lifetime, holdings }
	}

	/// The time, so that nothing has to be kept for after a restart; higher than the last one in any case.
	fn next_sequence(&self, now: Moment) -> u64 {
		let after = self.last.as_ref().map_or(0, |last| last.sequence.saturating_add(1));
		now.max(after)
	}
}

/// A part of `whole` from none to all, by `chance`.
fn part(whole: u64, chance: u64) -> u64 {
	let part = (u128::from(whole).saturating_add(1).saturating_mul(chance.into())) >> 64;
	u64::try_from(part).unwrap_or(whole).min(whole)
}

/// Returns whether two numbers differ by more than a fifth of the larger one.
fn differ(a: u64, b: u64) -> bool {
	u128::from(a.abs_diff(b)).saturating_mul(5) > u128::from(a.max(b))
}

/// Returns whether a worker has something else now than `then` that others should know soon: other addresses, spans or checkpoints; a speed, or free
/// memory, that differs by more than a fifth; or more than a quarter of its ways new, gone, or other by more than a half and 5 ms there and back.
pub fn is_changed(then: &Holdings, now: &Holdings) -> bool {
	fn set<T: Ord>(list: &[T]) -> BTreeSet<&T> {
		list.iter().collect()
	}
	set(&then.addresses) != set(&now.addresses)
		|| set(&then.held) != set(&now.held)
		|| set(&then.checkpoints) != set(&now.checkpoints)
		|| differ(then.speed.flops, now.speed.flops)
		|| differ(then.speed.bytes, now.speed.bytes)
		|| differ(then.memory, now.memory)
		|| are_other(&then.ways, &now.ways)
}

fn are_other(then: &[Way], now: &[Way]) -> bool {
	let before: BTreeMap<_, _> = then.iter().map(|way| (way.to, way)).collect();
	let is_same = |way: &&Way| before.get(&way.to).is_some_and(|other| !is_other(other, way));
	let same = now.iter().filter(is_same).count();
	let all = before.len().saturating_add(now.len()).saturating_sub(now.iter().filter(|way| before.contains_key(&way.to)).count());
	all.saturating_sub(same).saturating_mul(4) > all
}

fn is_other(a: &Way, b: &Way) -> bool {
	let (a, b) = (a.rtt_us(), b.rtt_us());
	let apart = a.abs_diff(b);
	apart > NOISE_US && apart.saturating_mul(2) > a.max(b)
}
