//! Addresses of providers, as the chain has them.

use neuroshard_chain_client::{ChainAt, ChainError, PeerPage};
use neuroshard_network::PeerAddress;
use neuroshard_types::{AccountId, DatasetId, RoundIndex, RunId};
use std::collections::{BTreeMap, BTreeSet};

/// Accounts whose addresses are asked for at a time.
const NAMES: usize = 128;

/// Returns the addresses of peers that have what it takes to judge claims of an adopted round: those that took part in it, and holders of the run's
/// dataset.
pub(super) async fn peers_of_round(
	at: &ChainAt,
	(run, round): (RunId, RoundIndex),
	dataset: DatasetId,
	me: &AccountId,
) -> Result<Vec<PeerAddress>, ChainError> {
	let mut accounts = holders(at, dataset).await?;
	accounts.extend(participants(at, run, round).await?);
	Ok(addresses(at, accounts, me).await?.into_values().collect())
}

/// Returns the accounts that attest a dataset. Workers attest all of its shards, the first one among them.
pub(super) async fn holders(at: &ChainAt, dataset: DatasetId) -> Result<BTreeSet<AccountId>, ChainError> {
	Ok(at.holders(dataset, 0).await?.into_iter().collect())
}

/// Returns the accounts that took part in an adopted round; none where its record is gone.
pub(super) async fn participants(at: &ChainAt, run: RunId, round: RoundIndex) -> Result<Vec<AccountId>, ChainError> {
	Ok(at.record(run, round).await?.map(|record| record.participants).unwrap_or_default())
}

/// Addresses of those of `accounts` that are registered, but not of `me`.
pub(super) async fn addresses(
	at: &ChainAt,
	mut accounts: BTreeSet<AccountId>,
	me: &AccountId,
) -> Result<BTreeMap<AccountId, PeerAddress>, ChainError> {
	accounts.remove(me);
	let accounts: Vec<AccountId> = accounts.into_iter().collect();
	let mut found = BTreeMap::new();
	for named in accounts.chunks(NAMES) {
		found.extend(readable(at.peers_of(named.to_vec()).await?));
	}
	Ok(found)
}

/// Whoever registered an unreadable peer id only makes itself unreachable.
pub(super) fn readable(page: PeerPage) -> impl Iterator<Item = (AccountId, PeerAddress)> {
	page.into_iter().filter_map(|(account, peer, addresses)| {
		let address = PeerAddress::from_bytes(&peer, addresses.iter().map(|address| address.as_slice())).ok()?;
		Some((account, address))
	})
}
