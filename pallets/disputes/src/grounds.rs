//! Grounds that a claim is judged by, from the chain's records.

use crate::{Config, DisputedAnswers, Pallet};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind, Claims},
	grounds::Grounds,
};

/// The grounds of `claim`; `None` if there is no such claim, or a record that is needed is gone.
pub(crate) fn of<T: Config>(claim: &ClaimId) -> Option<Grounds> {
	let ClaimId { run, round, kind, who } = claim;
	match kind {
		ClaimKind::Work => T::Claims::work(*run, *round, who).map(|claim| Grounds::Work { round: *round, claim }),
		ClaimKind::Attestation => T::Claims::attestation(*run, *round, who).map(Grounds::from),
		ClaimKind::Audit => {
			let claim = Pallet::<T>::sample_of(*run, *round, who)?.claim;
			Some(Grounds::Work { round: *round, claim })
		}
		ClaimKind::Answer(_) => DisputedAnswers::<T>::get(claim).map(|claim| Grounds::Answer { round: *round, claim }),
	}
}
