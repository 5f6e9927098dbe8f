//! Interfaces between pallets: small traits, wired to each other in the runtime.

use crate::{
	dataset::{DatasetShape, Tokenizer},
	inference::SessionId,
	offence::Offence,
	proof::{Proof, ProofKey, ProofKind, ProofSignature, WorkClaim},
	provider::{HardwareProfile, PonwKey, Role},
	reward::FeeShares,
	BlockNumber, DatasetId, ModelConfig, Moment, RoundIndex, RunId, TrainConfig, H256,
};
use sp_runtime::{DispatchError, DispatchResult};

/// Destination of slashed money.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlashTo<'a, AccountId> {
	/// Burned: total issuance falls.
	Burn,
	/// Paid to this account's free balance.
	Account(&'a AccountId),
}

/// Registered compute providers and their bonds. Implemented by `staking`.
pub trait Providers<AccountId, Balance> {
	/// The account whose work `signer` does: the owner that it is the operator of, else itself. Every call by which a provider works asks first,
	/// and goes on with the answer; calls that move money do not ask.
	fn acts_for(signer: AccountId) -> AccountId;
	/// Returns whether `who` is registered, active and offers `role`.
	fn is_active(who: &AccountId, role: Role) -> bool;
	/// Returns the number of providers that are active and offer `role`.
	fn active_count(role: Role) -> u32;
	/// Reputation of `who`, 0 to 1,000. Zero if unknown.
	fn reputation(who: &AccountId) -> u32;
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
	/// Notes that something `who` claims can be disputed from this block on: nothing is withdrawn before that time, and the longest game
	/// that begins in it, are over.
	fn note_disputable(who: &AccountId);
	/// Raises the reputation of `who` by one, up to its maximum: it did work that is final and is paid.
	fn note_success(who: &AccountId);
	/// Raises the reputation of `who` by one, up to that of a new provider: it is there.
	fn note_uptime(who: &AccountId);
	/// Lowers the reputation of `who` by `points`, down to zero.
	fn note_failure(who: &AccountId, points: u32);
	/// Notes that `who` reported an audit that it was drawn for, whatever the report is worth: a row of missed audits ends.
	fn note_audit_reported(who: &AccountId);
	/// Notes that `who` did not report an audit that it was drawn for in block `drawn_at`. So many in a row are
	/// [`Offence::RepeatedFailure`]; but all that were drawn before the last one was noted are one, since one outage of a machine misses
	/// them all.
	fn note_audit_missed(who: &AccountId, drawn_at: BlockNumber);
	/// Punishes `who` for `offence`: burns what that costs and returns it, lowers its reputation, and suspends it. What a lost dispute takes
	/// is taken by [`Self::slash`], before.
	fn punish(who: &AccountId, offence: Offence) -> Balance;
}

/// Models that runs make, each known by its run. Implemented by `training`.
pub trait Models {
	/// Returns whether the model of `run` may be used: the run is known, and governance has not halted its model. Whoever takes requests for a model, or
	/// is paid for answers, asks at every request.
	fn may_serve(run: RunId) -> bool;
	/// Returns the number of layers of the model of `run`; `None` for an unknown run.
	fn layers(run: RunId) -> Option<u32>;
	/// Returns whether round `round` of `run` starts, or has started, from the checkpoint with this root, and the chain still knows it. A checkpoint
	/// that has lost the two thirds that attested it is none, and neither is that of an adapter.
	fn is_checkpoint(run: RunId, round: RoundIndex, root: H256) -> bool;
}

/// Answers that are paid for. Implemented by `inference`.
pub trait PaidAnswers<AccountId> {
	/// Returns whether answers of `provider` in `session` can be disputed: the session is not settled, and is with this provider or has paid it.
	fn can_dispute(session: SessionId, provider: &AccountId) -> bool;
	/// Returns whether [`Self::condemn`] was called, and the session is not settled.
	fn is_condemned(session: SessionId, provider: &AccountId) -> bool;
	/// An answer of `provider` in `session` was proven false, or not defended: it is paid nothing more of that session. Does nothing for a session that
	/// is settled.
	fn condemn(session: SessionId, provider: &AccountId);
}

/// A dataset that runs may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActiveDataset {
	/// What fixes its windows.
	pub shape: DatasetShape,
	/// Its tokens are below this.
	pub vocab: u32,
	/// Whether its tokens say which of them are targets of the loss.
	pub masked: bool,
	/// The tokenizer.
	pub tokenizer: Tokenizer,
	/// Merkle root over its shard roots.
	pub root: H256,
}

/// Registered datasets. Implemented by `dataset`.
pub trait Datasets {
	/// Returns what runs need to know of an *active* dataset.
	fn active(id: DatasetId) -> Option<ActiveDataset>;
	/// Notes a run that uses the dataset, which must be active.
	fn acquire(id: DatasetId) -> DispatchResult;
	/// Ends a use that [`Self::acquire`] noted.
	fn release(id: DatasetId);
}

/// Proofs of Neural Work. Implemented by `ponw`.
///
/// Life of a training key (run, round): `submit` makes it *pending*. From there `void` frees it, so that a round that is
/// started anew under its old number can be proven again (by new work, with a new proof), and `confirm` uses it up:
/// afterwards no round of that run up to and including this one is accepted from that account, whatever becomes of the proof.
/// Every submitted proof must see `confirm` or `void`: until then its claim keeps the provider's bond from being withdrawn.
///
/// None of an account's proofs becomes final while something that it claims is disputed: `hold` when the first dispute opens, `release`
/// when the last one has ended. Fraud calls `void` for the proof of the round that it is about, and `condemn` for the rest.
pub trait WorkProofs<AccountId> {
	/// Checks signature, freshness, replay, rate and plausibility, and stores the proof as pending without payment.
	/// Opens a claim on the provider. The caller has checked that `proof.work_hash` is the hash of the revealed work
	/// and that `who` is a participant of that round.
	fn submit(who: &AccountId, proof: &Proof, signature: &ProofSignature, claim: WorkClaim) -> Result<(), DispatchError>;
	/// The work was included: the proof becomes final after the challenge window. Its `units` count for ownership of the model then, and are
	/// paid if `paid`. Does nothing if the key is not pending, or confirmed already.
	fn confirm(who: &AccountId, key: ProofKey, units: u128, paid: bool);
	/// The same for `who` as a member of a quorum, whose leader has proven the work: a proof of its part, which is confirmed at once. A claim on the provider is opened.
	/// Does nothing for an account that cannot have one: it is no provider any more, or has used up the key.
	fn confirm_part(who: &AccountId, key: ProofKey, units: u128, paid: bool);
	/// The work was not included, or its round is started anew: the proof ends without payment and its claim is closed.
	/// After `confirm`, while the proof is not final, it takes the payment back, disputed or not. Does nothing if the key is not pending.
	fn void(who: &AccountId, key: ProofKey);
	/// Something that `who` claims is disputed: none of its proofs, pending now or later, becomes final before [`Self::release`].
	fn hold(who: &AccountId);
	/// Nothing that `who` claims is disputed any more: proofs whose window is over become final in the next blocks. Does nothing if nothing
	/// holds them.
	fn release(who: &AccountId);
	/// Every proof of `who` that is pending now ends without payment: when it is confirmed, or voided, or would have become final.
	/// Until then its claim stays open. Proofs that are submitted later are not touched.
	fn condemn(who: &AccountId);
	/// No proof of `run` will be submitted any more, so that what guards against replays within it can be forgotten.
	/// Pending proofs are not touched. Call it once, when a run becomes finished.
	fn finish_run(run: RunId);
}

/// Final work units on their way to money. Implemented by `rewards`.
pub trait WorkCredits<AccountId> {
	/// Credits `units` of final work of `kind`, done in `role`, to the current era.
	fn credit(who: &AccountId, kind: ProofKind, role: Role, units: u128);
}

/// Final work on its way to ownership of the model. Implemented by `ownership`.
pub trait FinalWork<AccountId> {
	/// `who` did `units` of work on the model of `run`, and it is final. None at all changes nothing.
	fn final_work(who: &AccountId, run: RunId, units: u128);
}

/// Nobody owns what is trained.
impl<AccountId> FinalWork<AccountId> for () {
	fn final_work(_: &AccountId, _: RunId, _: u128) {}
}

/// Models that have owners. Implemented by `ownership`.
pub trait ModelShares {
	/// Returns whether anybody was ever given shares of the model of `run`: the model stays on chain for good then.
	fn exist(run: RunId) -> bool;
}

/// Revenue of a model on its way to its owners. Implemented by `ownership`.
pub trait ModelRevenue<AccountId, Balance> {
	/// Takes `amount` from the free balance of `from` and owes it to those whose shares of the model of `run` earn now, pro rata. Fails if
	/// there are none.
	fn deposit(from: &AccountId, run: RunId, amount: Balance) -> DispatchResult;
}

/// Issuance for authored blocks. Implemented by `rewards`.
pub trait BlockRewards<AccountId, Balance> {
	/// Mints what the current block's author is paid to `pot` and returns it: zero if nothing is due, or could not be minted.
	fn pay_block(pot: &AccountId) -> Balance;
}

/// Work units of training rounds. Implemented by `rewards`.
pub trait WorkUnits {
	/// Work units of one participant's round of such a run, of so many inner steps.
	fn of_round(model: &ModelConfig, train: &TrainConfig, steps: u32) -> u128;
}

/// Fees of inference on their way to those who earned them. Implemented by `rewards`.
pub trait InferenceFees<AccountId, Balance> {
	/// Takes `amount` from the free balance of `from` and pays driver, workers, validators and treasury; the rest is burned. `workers` names
	/// every account with the layers that it computed: their share is split pro rata. What cannot be paid is burned too: to an account that
	/// does not exist and would get less than the existential deposit, or for layers if nobody computed any. Returns where it all went.
	///
	/// The caller bounds and weighs `workers`: two accesses of an account for each.
	///
	/// # Errors
	/// Those of the currency, if `from` has less than `amount` to spend beyond the existential deposit. Nothing is paid then.
	fn pay_fee(from: &AccountId, amount: Balance, driver: &AccountId, workers: &[(AccountId, u32)]) -> Result<FeeShares, DispatchError>;
}

/// Chain time. Implemented in the runtime by `pallet-timestamp`.
pub trait Clock {
	/// Milliseconds since the Unix epoch, of the current block.
	fn now() -> Moment;
}
