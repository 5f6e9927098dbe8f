//! Where pallets meet: small traits, wired to each other in the runtime.

use crate::{
	DatasetId, Moment,
	dataset::DatasetShape,
	proof::{Proof, ProofKey, ProofSignature, WorkClaim},
	provider::{HardwareProfile, PonwKey, Role},
};
use sp_runtime::{DispatchError, DispatchResult};

/// Where slashed money goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlashTo<'a, AccountId> {
	/// Burned: total issuance falls.
	Burn,
	/// Paid to this account's free balance.
	Account(&'a AccountId),
}

/// Registered compute providers and their bonds. Implemented by `staking`.
pub trait Providers<AccountId, Balance> {
	/// Whether `who` is registered, active and offers `role`.
	fn is_active(who: &AccountId, role: Role) -> bool;
	/// Active bond of `who`, without unbonding parts: its stake in votes. Zero if unknown.
	fn bond(who: &AccountId) -> Balance;
	/// Everything of `who` that can be slashed: active bond and unbonding parts.
	fn slashable(who: &AccountId) -> Balance;
	/// Key that `who` signs proofs with.
	fn ponw_key(who: &AccountId) -> Option<PonwKey>;
	/// Hardware that `who` registered.
	fn hardware(who: &AccountId) -> Option<HardwareProfile>;
	/// Takes up to `amount` from unbonding parts (latest first), then from the active bond, and sends it to `to`. Returns what was taken.
	fn slash(who: &AccountId, amount: Balance, to: SlashTo<'_, AccountId>) -> Balance;
	/// Notes a claim of `who` that must be settled before anything is withdrawn. Fails for an unknown provider.
	fn open_claim(who: &AccountId) -> DispatchResult;
	/// Settles a claim that [`Self::open_claim`] noted.
	fn close_claim(who: &AccountId);
	/// Raises the reputation of `who` by one, up to its maximum.
	fn note_success(who: &AccountId);
	/// Lowers the reputation of `who` by `points`, down to zero.
	fn note_failure(who: &AccountId, points: u32);
}

/// Registered datasets. Implemented by `dataset`.
pub trait Datasets {
	/// Shape and vocabulary of an *active* dataset.
	fn active(id: DatasetId) -> Option<(DatasetShape, u32)>;
	/// Notes a run that uses the dataset, which must be active.
	fn acquire(id: DatasetId) -> DispatchResult;
	/// Ends a use that [`Self::acquire`] noted.
	fn release(id: DatasetId);
}

/// Proofs of Neural Work. Implemented by `ponw`.
pub trait WorkProofs<AccountId> {
	/// Checks signature, freshness, replay, rate and plausibility, and stores the proof as pending without payment.
	/// Opens a claim on the provider.
	fn submit(who: &AccountId, proof: &Proof, signature: &ProofSignature, claim: WorkClaim) -> Result<(), DispatchError>;
	/// The work was included: the proof becomes final after the challenge window and then pays `units`.
	fn confirm(who: &AccountId, key: ProofKey, units: u128);
	/// The work was not included: the proof ends without payment and its claim is closed. Its key stays used.
	fn void(who: &AccountId, key: ProofKey);
}

/// Final work units on their way to money. Implemented by `rewards`.
pub trait WorkCredits<AccountId> {
	/// Credits `units` of final work done in `role` to the current era.
	fn credit(who: &AccountId, role: Role, units: u128);
}

/// Chain time. Implemented in the runtime by `pallet-timestamp`.
pub trait Clock {
	/// Milliseconds since the Unix epoch, of the current block.
	fn now() -> Moment;
}
