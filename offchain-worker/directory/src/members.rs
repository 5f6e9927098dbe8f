//! Members that are known, and who is forgotten.

use neuroshard_types::{
	announcement::{tag_of, Announcement, Held, Holdings, PeerTag, MAX_LIFETIME_S},
	AccountId, Moment, H256,
};
use std::collections::BTreeMap;

/// Most members that are remembered, those that have left included. With the longest announcements they take 16 MiB.
pub const MOST_MEMBERS: usize = 4_096;

/// Longest lifetime, in milliseconds.
pub(crate) const LONGEST_MS: Moment = MAX_LIFETIME_S as Moment * 1_000;

/// What is remembered of a provider.
#[derive(Clone, Debug)]
pub(crate) struct Record {
	/// Its newest announcement.
	pub(crate) announcement: Announcement,
}

impl Record {
	/// What it has; `None` once it has left, or its announcement has expired.
	fn holdings(&self, now: Moment) -> Option<&Holdings> {
		self.announcement.holdings.as_ref().filter(|_| now < self.announcement.expires_at())
	}

	/// First moment in which no earlier announcement of it holds any more, so that nobody can bring it back with one.
	fn remembered_until(&self) -> Moment {
		self.announcement.issued_at.saturating_add(LONGEST_MS)
	}
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
		let mut spans: Vec<&Held> = self.holdings.held.iter().filter(|held| (held.parameters, held.class) == (span.parameters, span.class)).collect();
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
	pub(crate) records: BTreeMap<AccountId, Record>,
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
		let member = move |record: &'_ Record| record.holdings(now).is_some();
		let there = self.records.values().filter(move |record| member(record));
		there.filter_map(|record| Some(Member { announcement: &record.announcement, holdings: record.announcement.holdings.as_ref()? }))
	}

	/// The member with this account, if it is there.
	pub fn member(&self, account: &AccountId, now: Moment) -> Option<Member<'_>> {
		let record = self.records.get(account)?;
		record.holdings(now).map(|holdings| Member { announcement: &record.announcement, holdings })
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
		let over: Vec<AccountId> =
			self.records.iter().filter(|(_, record)| record.remembered_until() <= now).map(|(account, _)| account.clone()).collect();
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
	pub fn note_own(&mut self, announcement: Announcement, now: Moment) {
		let _ = self.put(announcement, now);
	}

	/// Puts an announcement in the place of the one before. If too many are remembered, the one is forgotten that was issued longest ago, those that have
	/// left or expired before all others, and this worker's own never. Returns whether the new one was kept.
	pub(crate) fn put(&mut self, announcement: Announcement, now: Moment) -> bool {
		let account = announcement.provider.clone();
		let tag = tag_of(&announcement.peer);
		self.forget(&account);
		self.tags.entry(tag).or_insert_with(|| account.clone());
		self.records.insert(account.clone(), Record { announcement });
		while self.records.len() > self.most {
			let others = self.records.iter().filter(|(other, _)| **other != self.own);
			let first = others.min_by_key(|(_, record)| (record.holdings(now).is_some(), record.announcement.issued_at));
			let Some(first) = first.map(|(account, _)| account.clone()) else { break };
			self.forget(&first);
		}
		self.records.contains_key(&account)
	}
}
