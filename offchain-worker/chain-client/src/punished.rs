//! Amounts that offences burned, from the events of blocks: for those who watch a network.

use crate::{client::ChainAt, error::ChainError, event::EventShape};
use neuroshard_types::{offence::Offence, AccountId, Balance, BlockNumber};
use subxt::metadata::Metadata;

type Punished = (AccountId, Offence, Balance, u32, BlockNumber);
type Slashed = (AccountId, u32, Balance, Balance);
const PUNISHED: EventShape<Punished> =
	EventShape::new("Staking", "Punished", &["who", "offence", "burned", "reputation", "suspended_until"]);
const SLASHED: EventShape<Slashed> = EventShape::new("Validators", "Slashed", &["candidate", "session", "own", "nominations"]);

/// Checks that the chain's events have the same fields. A chain without offences passes.
pub(super) fn check(metadata: &Metadata) -> Result<(), ChainError> {
	PUNISHED.check(metadata)?;
	SLASHED.check(metadata)
}

/// Returns the amount that an event of a pallet burned for an offence, in planck; zero for any other event.
fn burned(pallet: &str, name: &str, bytes: &[u8]) -> Result<Balance, ChainError> {
	Ok(if (pallet, name) == (PUNISHED.pallet, PUNISHED.name) {
		let (_, _, burned, _, _) = PUNISHED.decode(bytes)?;
		burned
	} else if (pallet, name) == (SLASHED.pallet, SLASHED.name) {
		let (_, _, own, nominations) = SLASHED.decode(bytes)?;
		own.saturating_add(nominations)
	} else {
		0
	})
}

impl ChainAt {
	/// Returns the amount that was burned in this block for offences of providers and validators, in planck, beside what [disputes](Self::verdicts)
	/// burned.
	///
	/// # Errors
	/// [`ChainError::Incompatible`] if the chain means something else by the events; the node is away or has discarded the block's state.
	pub async fn burned_for_offences(&self) -> Result<Balance, ChainError> {
		check(self.at.metadata_ref())?;
		let burned = self.read_events(|pallet, name, bytes| burned(pallet, name, bytes).map(Some)).await?;
		Ok(burned.into_iter().fold(0, Balance::saturating_add))
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use codec::Encode;

	#[test]
	fn what_offences_burned_is_read_and_nothing_else() {
		let who = AccountId::new([1; 32]);
		let punished = (who.clone(), Offence::Byzantine, 7 as Balance, 90u32, 12u32).encode();
		let slashed = (who, 3u32, 5 as Balance, 6 as Balance).encode();
		assert_eq!(burned("Staking", "Punished", &punished).unwrap(), 7);
		assert_eq!(burned("Validators", "Slashed", &slashed).unwrap(), 11);
		// A slash of a provider may be paid to somebody.
		assert_eq!(burned("Staking", "Slashed", &slashed).unwrap(), 0);
		assert!(burned("Staking", "Punished", &punished[1..]).is_err());
	}
}
