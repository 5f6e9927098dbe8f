//! Transfers: each from another account, to an account that did not exist.

use super::{
	accounts::{in_parallel, Set},
	delivery::deliver,
	measurement::{Kind, Measurement},
};
use neuroshard_chain_client::{balances, keys::Account};
use neuroshard_e2e::{Error, Nodes};
use neuroshard_types::{Balance, BlockNumber, NEURO};
use std::time::Duration;

/// What a sender has in genesis, in planck: what it sends, and fees.
pub(super) const ENDOWMENT: Balance = 2 * NEURO;
/// Blocks that an extrinsic is valid for.
pub(super) const VALIDITY: BlockNumber = 1_024;
/// Longest wait for all of them, without the time that it takes at the least of rates.
pub(super) const LIMIT: Duration = Duration::from_secs(120);
/// The least of rates, per second: a block has room for about a hundred tests of arithmetic.
const SLOWEST: u32 = 20;
/// Questions about balances at a time.
const QUESTIONS: usize = 32;

/// The accounts that send.
pub(super) fn senders(count: u32) -> Result<Vec<Account>, Error> {
	in_parallel(count, |index| Set::Senders.account(index))
}

/// What the receiver of this number gets, in planck: each another amount, so that none can be taken for another.
fn amount(index: u32) -> Balance {
	NEURO.saturating_add(index.into())
}

/// Longest wait for `count` extrinsics.
pub(super) fn limit(count: u32) -> Duration {
	LIMIT.saturating_add(Duration::from_secs(count.div_ceil(SLOWEST).into()))
}

/// Measures transfers of all `senders`.
///
/// # Errors
/// Those of delivering and measuring, and [`Error::Unsound`] if a receiver has not exactly what it was sent.
pub(super) async fn measure(nodes: &mut Nodes, senders: &[Account], say: &impl Fn(&str)) -> Result<Measurement, Error> {
	let heads = nodes.client().heads().await?;
	let at = nodes.client().at(heads.finalized).await?;
	let count = u32::try_from(senders.len()).map_err(|error| Error::Setup(error.to_string()))?;
	let numbered = |index: u32| usize::try_from(index).ok().and_then(|index| senders.get(index));
	let extrinsics = in_parallel(count, |index| {
		let sender = numbered(index).ok_or_else(|| Error::Setup(format!("there is no sender {index}")))?;
		let call = balances::transfer(Set::Receivers.id(index), amount(index));
		Ok(at.sign(sender, &call, 0, 0, Some((at.block(), VALIDITY)))?)
	})?;
	say("sending the transfers");
	let delivered = deliver(nodes, extrinsics, limit(count)).await?;
	say("looking at blocks and balances");
	let measured = Measurement::take(Kind::Transfers, nodes, &delivered).await?;
	all_received(nodes, count, delivered.last).await?;
	Ok(measured)
}

/// Fails unless each of `count` receivers has what it was sent, after the block at a height.
async fn all_received(nodes: &Nodes, count: u32, last: BlockNumber) -> Result<(), Error> {
	let at = nodes.client().at(nodes.client().block_at(last).await?).await?;
	let mut parts = tokio::task::JoinSet::new();
	for first in 0..u32::try_from(QUESTIONS).unwrap_or(1) {
		let at = at.clone();
		parts.spawn(async move {
			for index in (first..count).step_by(QUESTIONS) {
				let free = at.funds(&Set::Receivers.id(index)).await?.free;
				if free != amount(index) {
					return Err(Error::Unsound(format!("receiver {index} has {free} planck, not {}", amount(index))));
				}
			}
			Ok(())
		});
	}
	while let Some(part) = parts.join_next().await {
		part.map_err(|error| Error::Setup(error.to_string()))??;
	}
	Ok(())
}
