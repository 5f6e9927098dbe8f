//! Reveals as they stand in block bodies: what a replay recomputes.

use super::{
	client::{ChainAt, ChainClient},
	error::ChainError,
};
use codec::{Compact, Decode};
use neuroshard_types::{run::Work, AccountId, BlockNumber, RoundIndex, RunId, H256};
use sp_runtime::{MultiAddress, MultiSignature};
use subxt::metadata::Metadata;

/// A reveal that succeeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reveal {
	/// Block it is in.
	pub block: BlockNumber,
	/// Who revealed.
	pub who: AccountId,
	/// Round.
	pub round: RoundIndex,
	/// What was revealed.
	pub work: Work,
}

/// Walks blocks and keeps the successful reveals of one run.
pub struct History {
	client: ChainClient,
	run: RunId,
}

impl History {
	/// The history of `run` on the chain of `client`.
	pub fn new(client: ChainClient, run: RunId) -> Self {
		Self { client, run }
	}

	/// Successful reveals in the block at `number` of the best chain.
	///
	/// # Errors
	/// [`ChainError::Rpc`] or [`ChainError::Missing`] if the node has discarded the block or its state: replay needs an archive node.
	pub async fn reveals(&self, number: BlockNumber) -> Result<Vec<Reveal>, ChainError> {
		let block = self.client.block_at(number).await?;
		let body = self.client.body(block.hash).await?;
		// Most blocks hold the timestamp alone: their state is not asked for.
		if body.len() <= 1 {
			return Ok(Vec::new());
		}
		let at = self.client.at(block).await?;
		let Some(call) = RevealCall::of(at.at.metadata_ref()) else {
			return Err(ChainError::Missing { what: "call Training::reveal".into() });
		};
		let mut found: Vec<(u32, Reveal)> = Vec::new();
		for (index, extrinsic) in (0u32..).zip(&body) {
			if let Some((who, run, round, work)) = call.decode(at.at.metadata_ref(), extrinsic) {
				if run == self.run {
					found.push((index, Reveal { block: number, who, round, work }));
				}
			}
		}
		if found.is_empty() {
			return Ok(Vec::new());
		}
		let succeeded = successes(&at).await?;
		Ok(found.into_iter().filter(|(index, _)| succeeded.contains(index)).map(|(_, reveal)| reveal).collect())
	}
}

/// Numbers of a block's extrinsics that succeeded.
async fn successes(at: &ChainAt) -> Result<Vec<u32>, ChainError> {
	use subxt::events::Phase;
	let bad = |error: subxt::error::EventsError| at.client.rpc_error("the events of a block", error);
	let events = at.at.events().fetch().await.map_err(bad)?;
	let mut indices = Vec::new();
	for event in events.iter() {
		let event = event.map_err(bad)?;
		if let (Phase::ApplyExtrinsic(index), "System", "ExtrinsicSuccess") = (event.phase(), event.pallet_name(), event.event_name()) {
			indices.push(index);
		}
	}
	Ok(indices)
}

/// Where `Training::reveal` is in the call enum.
struct RevealCall {
	pallet: u8,
	call: u8,
}

/// First byte of a signed extrinsic of version 4.
const SIGNED_V4: u8 = 0b1000_0100;

impl RevealCall {
	fn of(metadata: &Metadata) -> Option<Self> {
		let pallet = metadata.pallet_by_name("Training")?;
		let call = pallet.call_variant_by_name("reveal")?;
		Some(Self { pallet: pallet.call_index(), call: call.index })
	}

	/// Signer, run, round and work, if the extrinsic is a signed reveal.
	fn decode(&self, metadata: &Metadata, mut extrinsic: &[u8]) -> Option<(AccountId, RunId, RoundIndex, Work)> {
		let input = &mut extrinsic;
		let length = Compact::<u32>::decode(input).ok()?.0;
		if usize::try_from(length) != Ok(input.len()) || u8::decode(input).ok()? != SIGNED_V4 {
			return None;
		}
		let MultiAddress::Id(who) = MultiAddress::<AccountId, ()>::decode(input).ok()? else { return None };
		MultiSignature::decode(input).ok()?;
		skip_extensions(metadata, input)?;
		if (u8::decode(input).ok()?, u8::decode(input).ok()?) != (self.pallet, self.call) {
			return None;
		}
		let (run, round, _attempt, _salt, work) = <(RunId, RoundIndex, u32, [u8; 32], Work)>::decode(input).ok()?;
		Some((who, run, round, work))
	}
}

/// Skips the transaction extensions' values, by their types in the metadata.
fn skip_extensions(metadata: &Metadata, input: &mut &[u8]) -> Option<()> {
	use subxt::ext::scale_decode::visitor::{decode_with_visitor, IgnoreVisitor};
	for extension in metadata.extrinsic().transaction_extensions_to_use_for_encoding() {
		decode_with_visitor(input, extension.extra_ty(), metadata.types(), IgnoreVisitor::new()).ok()?;
	}
	Some(())
}

/// Work, as its hash in a proof has it.
pub fn work_hash(work: &Work) -> H256 {
	use codec::Encode;
	H256(sp_crypto_hashing::blake2_256(&work.encode()))
}

#[cfg(test)]
mod tests {
	use super::*;
	use codec::{DecodeAll, Encode};

	#[test]
	fn work_decodes_from_its_bytes_and_nothing_else() {
		let work =
			Work { state_roots: vec![H256::zero()].try_into().unwrap(), delta_root: H256::repeat_byte(1), delta_bytes: 1, tokens: 2 };
		assert_eq!(Work::decode_all(&mut work.encode().as_slice()).unwrap(), work);
		assert_ne!(work_hash(&work), work_hash(&Work { tokens: 3, ..work.clone() }));
	}
}
