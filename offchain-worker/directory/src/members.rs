//! Members that are known, and who is forgotten.

use neuroshard_types::{
	announcement::{tag_of, Announcement, Held, Holdings, PeerTag, SignedAnnouncement, MAX_LIFETIME_S},
	AccountId, Moment, H256,
};
use std::{collections::BTreeMap, sync::Arc};

/// Most members that are remembered, those that have left included. With the longest announcements they take 16 MiB.
pub const MOST_MEMBERS: usize = 4_096;

/// Longest lifetime, in milliseconds.
pub(crate) const LONGEST_MS: Moment = MAX_LIFETIME_S as Moment * 1_000;

/// What a provider has; `None` once it has left, or its announcement has expired.
fn holdings(newest: &Announcement, now: Moment) -> Option<&Holdings> {
	newest.holdings.as_ref().filter(|_| now < newest.expires_at())
}

/// First moment in which no earlier announcement of a provider holds any more, so that nobody can bring it back with one.
fn remembered_until(newest: &Announcement) -> Moment {
	newest.issued_at.saturating_add(LONGEST_MS)
}

/// A member that is there.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
	/// Its newest announcement.
	pub announcement: &'a Announcement,
	/// What it has.
	pub holdings: &'a Holdings,
}

impl Member<'_> {
	/// Its account.
	pub fn account(&self) -> &AccountId {
		&self.announcement.provider
	}

	/// Returns whether it holds all of `span`, in one span or in several.
	pub fn holds(&self, span: &Held) -> bool {
		let mut have = u32::from(span.first);
		let mut spans: Vec<&Held> =
			self.holdings.held.iter().filter(|held| (held.parameters, held.class) == (span.parameters, span.class)).collect();
		spans.sort_unstable_by_key(|held| held.first);
		for held in spans {
			if u32::from(held.first) <= have {
				have = have.max(held.end());
			}
		}
		have >= span.end()
	}

	/// Returns whether it has these parameters on disk.
	pub fn has(&self, parameters: &H256) -> bool {
		self.holdings.checkpoints.contains(parameters)
	}
}

/// The directory of one chain.
#[derive(Clone, Debug)]
pub struct Directory {
	pub(crate) genesis: H256,
	/// Account of this worker, of which others tell it nothing new.
	pub(crate) own: AccountId,
	most: usize,
	/// Newest announcement of each.
	pub(crate) records: BTreeMap<AccountId, Arc<SignedAnnouncement>>,
	/// Accounts by the tags of their peers. Of two with one tag, the one that was known first.
	tags: BTreeMap<PeerTag, AccountId>,
}

impl Directory {
	/// An empty directory of the chain with this genesis, for the worker of `own`. It remembers [`MOST_MEMBERS`].
	pub fn new(genesis: H256, own: AccountId) -> Self {
		Self::remembering(genesis, own, MOST_MEMBERS)
	}

	/// An empty directory that remembers `most` members at most, at least one.
	pub fn remembering(genesis: H256, own: AccountId, most: usize) -> Self {
		Self { genesis, own, most: most.max(1), records: BTreeMap::new(), tags: BTreeMap::new() }
	}

	/// Members that are there, by account.
	pub fn members(&self, now: Moment) -> impl Iterator<Item = Member<'_>> {
		let newest = self.records.values().map(|signed| &signed.announcement);
		newest.filter_map(move |announcement| Some(Member { announcement, holdings: holdings(announcement, now)? }))
	}

	/// The member with this account, if it is there.
	pub fn member(&self, account: &AccountId, now: Moment) -> Option<Member<'_>> {
		let announcement = &self.records.get(account)?.announcement;
		holdings(announcement, now).map(|holdings| Member { announcement, holdings })
	}

	/// The newest announcements of those that are there, this worker's own included: what somebody who has come later is told.
	pub fn announcements(&self, now: Moment) -> impl Iterator<Item = &SignedAnnouncement> {
		self.records.values().map(|signed| &**signed).filter(move |signed| holdings(&signed.announcement, now).is_some())
	}

	/// Members that hold all of `span`, by account.
	pub fn holding<'a>(&'a self, span: &'a Held, now: Moment) -> impl Iterator<Item = Member<'a>> {
		self.members(now).filter(|member| member.holds(span))
	}

	/// Members that do not hold all of `span`, by account.
	pub fn lacking<'a>(&'a self, span: &'a Held, now: Moment) -> impl Iterator<Item = Member<'a>> {
		self.members(now).filter(|member| !member.holds(span))
	}

	/// The account of the peer with this tag.
	pub(crate) fn tagged(&self, tag: &PeerTag) -> Option<&AccountId> {
		self.tags.get(tag)
	}

	/// Forgets everybody of whom nothing holds any more. To be called from time to time: who has expired is no member before that either.
	pub fn expire(&mut self, now: Moment) {
		let over = self.records.iter().filter(|(_, newest)| remembered_until(&newest.announcement) <= now);
		let over: Vec<AccountId> = over.map(|(account, _)| account.clone()).collect();
		over.iter().for_each(|account| self.forget(account));
	}

	/// Forgets a provider, whose account was slashed or is registered no more.
	pub fn forget(&mut self, account: &AccountId) {
		if let Some(record) = self.records.remove(account) {
			let tag = tag_of(&record.announcement.peer);
			if self.tags.get(&tag) == Some(account) {
				self.tags.remove(&tag);
			}
		}
	}

	/// Notes this worker's own announcement, so that its row counts like those of others.
	pub fn note_own(&mut self, announcement: Arc<SignedAnnouncement>, now: Moment) {
		let _ = self.put(announcement, now);
	}

	/// Puts an announcement in the place of the one before. If too many are remembered, the one is forgotten that was issued longest ago, those that have
	/// left or expired before all others, and this worker's own never. Returns whether the new one was kept.
	pub(crate) fn put(&mut self, signed: Arc<SignedAnnouncement>, now: Moment) -> bool {
		let account = signed.announcement.provider.clone();
		if self.records.get(&account).is_some_and(|known| known.announcement.peer != signed.announcement.peer) {
			self.forget(&account);
		}
		// Also if it is known: a peer that another account had until lately has got its tag by now.
		self.tags.entry(tag_of(&signed.announcement.peer)).or_insert_with(|| account.clone());
		self.records.insert(account.clone(), signed);
		while self.records.len() > self.most {
			let others = self.records.iter().filter(|(other, _)| **other != self.own);
			let first = others.min_by_key(|(_, newest)| (holdings(&newest.announcement, now).is_some(), newest.announcement.issued_at));
			let Some(first) = first.map(|(account, _)| account.clone()) else { break };
			self.forget(&first);
		}
		self.records.contains_key(&account)
	}
}
