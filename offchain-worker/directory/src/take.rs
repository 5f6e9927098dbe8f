//! Checks of an announcement that a peer has passed on.

use crate::{
	members::{Directory, LONGEST_MS},
	MOST_MEMBERS,
};
use neuroshard_types::{
	announcement::{Announcement, Malformed, SignedAnnouncement, MAX_SKEW_MS, MIN_INTERVAL_MS},
	provider::{PeerIdBytes, PonwKey},
	AccountId, Moment,
};
use std::sync::Arc;

/// An active provider, as the chain has it registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Registered {
	/// Its key for proofs.
	pub key: PonwKey,
	/// Its peer id.
	pub peer: PeerIdBytes,
}

/// What an announcement that was taken has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
	/// A provider is there that was not.
	Arrived,
	/// A member has announced itself again.
	Renewed,
	/// A provider has said farewell.
	Left,
}

/// Why an announcement is not taken, and not passed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
	/// Nobody could have taken it for true: whoever passed it on has not looked at it, or has made it.
	#[error("the announcement is false ({0:?}): whoever sent it is at fault")]
	False(Malformed),
	/// It is about this worker.
	#[error("the announcement is this worker's own")]
	Own,
	/// It is issued later than now.
	#[error("the announcement is issued {0} ms from now: the clock of its provider, or of this machine, is wrong")]
	Future(Moment),
	/// It does not hold any more.
	#[error("the announcement expired {0} ms ago")]
	Expired(Moment),
	/// No active provider has this account, as far as this worker knows.
	#[error("the announcement is of an account that is no active provider")]
	Stranger,
	/// The account is registered with another key, or another peer id.
	#[error("the announcement is not signed by the key, or not of the peer, that its account has registered")]
	Unregistered,
	/// A newer one is known.
	#[error("an announcement of the same or a higher number is known")]
	Old,
	/// It comes too soon after the last one.
	#[error("the announcement comes {0} ms too soon after the last one of its provider")]
	TooSoon(Moment),
	/// All others that are known are newer.
	#[error("{MOST_MEMBERS} members are known, all of whom have announced themselves later")]
	Full,
}

impl Refusal {
	/// Returns whether it is false for everybody, so that whoever sent it is at fault. All other refusals follow from what this worker knows and others
	/// may not.
	pub fn is_false(&self) -> bool {
		matches!(self, Self::False(_))
	}
}

impl Directory {
	/// Takes an announcement that a peer has passed on. `registered` says what the chain has registered for an account, if it is that of an active provider.
	///
	/// What costs little is checked first, and the signature last.
	///
	/// # Errors
	/// [`Refusal`].
	pub fn take(&mut self, bytes: &[u8], now: Moment, registered: impl FnOnce(&AccountId) -> Option<Registered>) -> Result<News, Refusal> {
		let signed = Arc::new(SignedAnnouncement::read(bytes).map_err(Refusal::False)?);
		let genesis = self.genesis;
		self.take_read(signed, now, registered, |signed| signed.check_signature(genesis))
	}

	/// Takes an announcement that was [read](SignedAnnouncement::read) before. `check` checks its signature: simulations of many members remember what one
	/// of them has found.
	///
	/// # Errors
	/// [`Refusal`].
	pub fn take_read(
		&mut self,
		signed: Arc<SignedAnnouncement>,
		now: Moment,
		registered: impl FnOnce(&AccountId) -> Option<Registered>,
		check: impl FnOnce(&SignedAnnouncement) -> Result<(), Malformed>,
	) -> Result<News, Refusal> {
		let announcement = &signed.announcement;
		self.check_time(announcement, now)?;
		if announcement.provider == self.own {
			return Err(Refusal::Own);
		}
		let known = registered(&announcement.provider).ok_or(Refusal::Stranger)?;
		if (known.key, &known.peer) != (announcement.key, &announcement.peer) {
			return Err(Refusal::Unregistered);
		}
		self.check_order(announcement)?;
		check(&signed).map_err(Refusal::False)?;
		let news = match (announcement.is_farewell(), self.member(&announcement.provider, now)) {
			(true, _) => News::Left,
			(false, None) => News::Arrived,
			(false, Some(_)) => News::Renewed,
		};
		match self.put(signed, now) {
			true => Ok(news),
			false => Err(Refusal::Full),
		}
	}

	fn check_time(&self, announcement: &Announcement, now: Moment) -> Result<(), Refusal> {
		let early = announcement.issued_at.saturating_sub(now);
		if early > MAX_SKEW_MS {
			return Err(Refusal::Future(early));
		}
		// A farewell holds as long as what it ends could hold.
		let expires = match announcement.is_farewell() {
			true => announcement.issued_at.saturating_add(LONGEST_MS),
			false => announcement.expires_at(),
		};
		match expires <= now {
			true => Err(Refusal::Expired(now.saturating_sub(expires))),
			false => Ok(()),
		}
	}

	/// Checks that it comes after the last one of its provider, and not too soon. A farewell may come at any time, but not one after another.
	fn check_order(&self, announcement: &Announcement) -> Result<(), Refusal> {
		let Some(last) = self.records.get(&announcement.provider).map(|known| &known.announcement) else { return Ok(()) };
		// Whoever could go back in time could take turns between farewells and announcements as often as it likes.
		if announcement.sequence <= last.sequence || announcement.issued_at < last.issued_at {
			return Err(Refusal::Old);
		}
		let next = last.issued_at.saturating_add(MIN_INTERVAL_MS);
		let hurried = announcement.issued_at < next && (!announcement.is_farewell() || last.is_farewell());
		match hurried {
			true => Err(Refusal::TooSoon(next.saturating_sub(announcement.issued_at))),
			false => Ok(()),
		}
	}
}
