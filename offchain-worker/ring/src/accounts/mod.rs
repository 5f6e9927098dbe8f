//! Rings whose members are accounts of the chain.
//!
//! A holder names its account when it is greeted. Nobody is believed: the account is that of whoever is at the other end only if the chain has it
//! registered with the identity of the connection, which nobody else can register. Before anything is held, both sides know what the driver will
//! offer: [`Terms`], and the layers that the holder gets.
//!
//! - [`Offering`]: the driver's side. It looks at whom it greets, and makes the ring of its offer from who holds what.
//! - [`consent`]: the driver waits until all members have agreed.
//! - [`drivers`]: whom a holder answers.
//! - [`member`]: the holder agrees to the offer, if it is the one that it was told.

pub mod consent;
pub mod drivers;
pub mod member;
#[cfg(test)]
mod tests;

use super::placement::{Placement, Standing};
use codec::{Decode, Encode};
use neuroshard_chain_client::{ChainClient, ChainError};
use neuroshard_network::PeerId;
use neuroshard_types::{
	inference::{Prices, Ring, Span, MAX_SPANS},
	provider::{PeerIdBytes, ProviderStatus, ProviderView, Role},
	AccountId,
};
use std::collections::BTreeSet;

/// Terms that a driver offers with a holder, beside the parameters and the span that it holds.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Terms {
	/// The driver's account.
	pub driver: AccountId,
	/// Prices of tokens.
	pub prices: Prices,
	/// Number of accounts that hold each layer.
	pub redundancy: u8,
}

/// Why an account is not taken for that of the worker which names it, or cannot be a member of a ring.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, thiserror::Error)]
pub enum Unfit {
	/// It is no provider.
	#[error("account {0} is not registered as a provider: do that first with `neuroshard-worker register`")]
	NotRegistered(AccountId),
	/// It is registered with another identity.
	#[error(
		"account {account} is registered with the identity {}, and the worker that names it has {}: `neuroshard-worker update` in that worker's base folder registers \
		 its identity, or another account is meant",
		shown(registered),
		shown(peer)
	)]
	OtherPeer {
		/// The account.
		account: AccountId,
		/// The identity that it has registered.
		registered: PeerIdBytes,
		/// That of the worker.
		peer: PeerIdBytes,
	},
	/// It takes no work.
	#[error("account {0} takes no work, so that it cannot agree to an offer: `neuroshard-worker status` says why, and `neuroshard-worker activate` takes work again")]
	NotActive(AccountId),
	/// It does not compute layers.
	#[error(
		"account {0} has neither the role of a worker nor that of a predictor: `neuroshard-worker update --roles worker` changes that"
	)]
	NoRole(AccountId),
}

/// An identity, as people know it.
fn shown(bytes: &PeerIdBytes) -> String {
	PeerId::from_bytes(bytes).map_or_else(|_| format!("0x{}", hex::encode(bytes)), |peer| peer.to_string())
}

/// Checks that `account` is that of the worker with the identity `peer`, where the chain has `provider` registered for it.
///
/// # Errors
/// [`Unfit::NotRegistered`], [`Unfit::OtherPeer`].
pub fn is_of(account: &AccountId, peer: &PeerId, provider: Option<&ProviderView>) -> Result<(), Unfit> {
	let provider = provider.ok_or_else(|| Unfit::NotRegistered(account.clone()))?;
	let registered = &provider.info.peer_id;
	match registered[..] == peer.to_bytes()[..] {
		true => Ok(()),
		// Identities have less than the 64 bytes that the chain takes.
		false => Err(Unfit::OtherPeer {
			account: account.clone(),
			registered: registered.clone(),
			peer: PeerIdBytes::truncate_from(peer.to_bytes()),
		}),
	}
}

/// Checks that `account` is that of the worker with the identity `peer`, and can be a member of a ring.
///
/// # Errors
/// [`Unfit`].
pub fn is_member(account: &AccountId, peer: &PeerId, provider: Option<&ProviderView>) -> Result<(), Unfit> {
	is_of(account, peer, provider)?;
	let Some(provider) = provider else { return Err(Unfit::NotRegistered(account.clone())) };
	if provider.status != ProviderStatus::Active {
		return Err(Unfit::NotActive(account.clone()));
	}
	match [Role::Worker, Role::Predictor].into_iter().any(|role| provider.info.roles.contains(role)) {
		true => Ok(()),
		false => Err(Unfit::NoRole(account.clone())),
	}
}

/// Why an account that a worker names is not used.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
	/// By what the chain says of it.
	#[error(transparent)]
	Unfit(#[from] Unfit),
	/// The chain says nothing.
	#[error("the chain cannot be asked whose account it names: {0}")]
	Chain(#[from] ChainError),
}

/// Offer of a driver on chain, with holders that are accounts.
#[derive(Clone)]
pub struct Offering {
	/// Says whose accounts are whose.
	pub client: ChainClient,
	/// Its terms.
	pub terms: Terms,
}

impl Offering {
	/// Checks that `account` is that of the worker with the identity `peer`, and can be a member of a ring. Returns what the chain knows of it.
	///
	/// # Errors
	/// [`AccountError`].
	pub(super) async fn check(&self, account: &AccountId, peer: &PeerId) -> Result<Standing, AccountError> {
		let provider = self.client.now().await?.provider(account).await?;
		is_member(account, peer, provider.as_ref())?;
		Ok(provider.map_or(Standing::UNKNOWN, |provider| Standing::of(provider.reputation)))
	}
}

/// Why there is no ring of accounts.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MembersError {
	/// Some can be on the offer, and some cannot.
	#[error(
		"some workers of the ring name an account, which the chain would pay, and some do not: {}. Start all of them with `hold --provider`, or none",
		.0.join(", ")
	)]
	Mixed(Vec<String>),
	/// Somebody was named twice.
	#[error("account {0} is that of two of the workers named with --ring: name each of them once")]
	Twice(AccountId),
	/// More spans than an offer has.
	#[error(
		"the ring has {0} spans, each copy counted, and an offer {MAX_SPANS} at most: name fewer workers, or take a lower --redundancy"
	)]
	Spans(usize),
	/// More layers than an offer can name.
	#[error("the model has more layers than an offer can name")]
	Layers,
}

/// The accounts of workers, who are told by their names; `None` if none of them names one.
///
/// # Errors
/// [`MembersError::Mixed`], [`MembersError::Twice`].
pub(super) fn of_all<'a>(workers: impl Iterator<Item = (String, Option<&'a AccountId>)>) -> Result<Option<Vec<AccountId>>, MembersError> {
	let (mut accounts, mut without, mut known) = (Vec::new(), Vec::new(), BTreeSet::new());
	for (name, account) in workers {
		match account {
			Some(account) if known.insert(account.clone()) => accounts.push(account.clone()),
			Some(account) => return Err(MembersError::Twice(account.clone())),
			None => without.push(name),
		}
	}
	match (accounts.is_empty(), without.is_empty()) {
		(true, _) => Ok(None),
		(false, true) => Ok(Some(accounts)),
		(false, false) => Err(MembersError::Mixed(without)),
	}
}

/// The ring of an offer: who holds what by `placement`, where `accounts` are those of its nodes.
///
/// # Errors
/// [`MembersError::Spans`], [`MembersError::Layers`].
pub(super) fn ring(placement: &Placement, accounts: &[AccountId]) -> Result<Ring, MembersError> {
	let narrow = |layers: usize| u16::try_from(layers).map_err(|_| MembersError::Layers);
	let spans = placement.spans.iter().filter_map(|span| Some((accounts.get(span.node)?, span)));
	let spans = spans.map(|(who, span)| Ok(Span { who: who.clone(), first: narrow(span.first)?, layers: narrow(span.layers)? }));
	let spans: Vec<Span> = spans.collect::<Result<_, _>>()?;
	Ring::try_from(spans).map_err(|spans| MembersError::Spans(spans.len()))
}

/// Most spans of a ring, each held so many times, that an offer has room for.
pub(super) fn most_spans(redundancy: usize) -> usize {
	let all = usize::try_from(MAX_SPANS).unwrap_or(usize::MAX);
	(all / redundancy.max(1)).max(1)
}
