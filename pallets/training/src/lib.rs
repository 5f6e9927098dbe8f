//! Training runs and rounds.
//!
//! A sponsor creates a run: a model, how it is trained, and a dataset. Providers with the worker role join it and train the
//! model together in rounds. What happens in a round, and when, is the state machine of [`Stage`]:
//!
//! ```text
//! Joining -> Training -> Revealing -> Availability -> Checkpointing -> Training of the next round ...
//! ```
//!
//! - A phase ends early when everybody acted, else at its deadline. Who misses a deadline is a *dropout*: it no longer
//!   counts in this round's denominators, loses one point of reputation and its membership, and joins again when it is back.
//!   A delta that a dropout revealed before may still be included, and is then paid.
//! - Votes are weighed by the active bonds at the start of the round; nothing that happens to a bond meanwhile changes a
//!   denominator. A vote that decides nothing repeats its phase, a bounded number of times; then the *attempt* is aborted,
//!   all its proofs are voided, and the round starts anew from the same checkpoint with who is left.
//! - Places in the next round go to those who are members when Checkpointing begins. From then on the next checkpoint, and
//!   with it the next seed, is known to some, so later joins count for the round after, and a place that is given up
//!   meanwhile (`leave`, a missed attestation, a chilled or shrunken bond) stays as an uncounted one: nobody else's windows move.
//!   Who missed the availability vote keeps its place if it joins again before the next round starts.
//! - A Joining phase ends in the initialization of a block, never in the call of who joins, so that the last to join does
//!   not know the randomness of that block if [`Config::Randomness`] is fresh in every block.
//!
//! Chain work per round is a few small extrinsics per participant; what touches all of them (adoption, aborts) runs in the
//! initialization of the next block, at most one transition per run and block.
//!
//! # State and deposits
//! The last [`Config::RecordsKept`] rounds of a run stay on chain, also after its end, until its sponsor removes them with
//! `remove_run` once [`Config::HistoryPeriod`] is over. The sponsor's deposit pays for the run and as many records as it can
//! have, and goes back on removal.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(any(feature = "runtime-benchmarks", test))]
mod benchmarking;
pub mod expected;
#[cfg(test)]
mod mock;
pub mod round;
mod rounds;
mod runs;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod transition;
mod try_state;
mod views;
pub mod weights;

#[cfg(any(feature = "runtime-benchmarks", test))]
pub use benchmarking::BenchmarkHelper;
pub use pallet::*;
pub use round::{Accounts, Commitment, Participant, Round, Stage};
pub use runs::{ActiveRun, Record, Run};
pub use transition::AbortReason;
pub use weights::WeightInfo;

#[frame_support::pallet]
pub mod pallet {
	use crate::{
		round::{Accounts, Refusal},
		transition::AbortReason,
		ActiveRun, Record, Round, Run, WeightInfo,
	};
	use alloc::vec::Vec;
	use frame_support::{
		dispatch::DispatchResultWithPostInfo,
		pallet_prelude::*,
		traits::{fungible, EnsureOrigin, Randomness},
	};
	use frame_system::pallet_prelude::*;
	use neuroshard_types::{
		proof::{Proof, ProofSignature},
		run::{Attestation, Phase, RoundRecord, RoundView, RunConfig, RunView, VoteBitmap, Work},
		traits::{Clock, Datasets, Providers, WorkProofs},
		AccountId, Balance, BlockNumber, DatasetId, RoundIndex, RunId, F32, H256, MAX_PARTICIPANTS,
	};
	use sp_runtime::traits::SaturatedConversion;

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

	/// What the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<AccountId = AccountId, Hash = H256, RuntimeEvent: From<Event<Self>>> {
		/// NEURO: deposits are holds on it.
		type Currency: fungible::MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason>;
		/// The runtime's hold reasons, [`HoldReason`] among them.
		type RuntimeHoldReason: From<HoldReason>;
		/// Who may train, and with which stake.
		type Providers: Providers<AccountId, Balance>;
		/// What may be trained on.
		type Datasets: Datasets;
		/// Proofs of Neural Work. Every one that is submitted is confirmed or voided when its attempt ends.
		type Proofs: WorkProofs<AccountId>;
		/// Chain time.
		type Clock: Clock;
		/// Randomness of the assignment seeds. Should not be known before the block it is used in.
		type Randomness: Randomness<H256, BlockNumberFor<Self>>;
		/// Who approves runs to draw issuance, and may stop any run.
		type ApproveOrigin: EnsureOrigin<Self::RuntimeOrigin>;
		/// Deposit for a run, in planck.
		#[pallet::constant]
		type RunDeposit: Get<Balance>;
		/// Deposit for every record that the run may keep, in planck.
		#[pallet::constant]
		type RecordDeposit: Get<Balance>;
		/// Adopted rounds of a run that stay on chain. More than a challenge window can hold.
		#[pallet::constant]
		type RecordsKept: Get<u32>;
		/// Blocks after the end of a run before its history may be removed. Longer than the challenge window.
		#[pallet::constant]
		type HistoryPeriod: Get<BlockNumber>;
		/// Most runs that are active at a time.
		#[pallet::constant]
		type MaxActiveRuns: Get<u32>;
		/// Longest phase in blocks.
		#[pallet::constant]
		type MaxPhaseDuration: Get<BlockNumber>;
		/// Repeats of a vote before its attempt is aborted.
		#[pallet::constant]
		type MaxRepeats: Get<u32>;
		/// Weights of the calls.
		type WeightInfo: WeightInfo;
		/// Makes a dataset, providers and their proofs for the benchmarks.
		#[cfg(any(feature = "runtime-benchmarks", test))]
		type BenchmarkHelper: crate::BenchmarkHelper<Self::RuntimeOrigin>;
	}

	/// See the crate's documentation.
	#[pallet::pallet]
	#[pallet::storage_version(STORAGE_VERSION)]
	pub struct Pallet<T>(_);

	/// Why this pallet holds money.
	#[pallet::composite_enum]
	pub enum HoldReason {
		/// Deposit of a sponsor for a run and its history.
		#[codec(index = 0)]
		Run,
	}

	/// Identifier of the next run.
	#[pallet::storage]
	pub type NextRun<T: Config> = StorageValue<_, RunId, ValueQuery>;

	/// All runs that were not removed.
	#[pallet::storage]
	pub type Runs<T: Config> = StorageMap<_, Twox64Concat, RunId, Run>;

	/// Active runs by identifier ascending, and when each is looked at next.
	#[pallet::storage]
	pub type Active<T: Config> = StorageValue<_, BoundedVec<ActiveRun, T::MaxActiveRuns>, ValueQuery>;

	/// Who takes part in an active run: in the round under way, from the next one on, or both. At most `max_participants`.
	#[pallet::storage]
	pub type Members<T: Config> = StorageMap<_, Twox64Concat, RunId, Accounts, ValueQuery>;

	/// The round under way of every active run.
	#[pallet::storage]
	pub type Rounds<T: Config> = StorageMap<_, Twox64Concat, RunId, Round>;

	/// What was revealed in the round under way.
	#[pallet::storage]
	pub type Works<T: Config> = StorageDoubleMap<_, Twox64Concat, RunId, Blake2_128Concat, AccountId, Work>;

	/// Adopted rounds, the last [`Config::RecordsKept`] of each run.
	#[pallet::storage]
	pub type Records<T: Config> = StorageDoubleMap<_, Twox64Concat, RunId, Twox64Concat, RoundIndex, Record>;

	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// A new run waits for members.
		RunCreated {
			/// The run.
			run: RunId,
			/// Who created it.
			sponsor: AccountId,
			/// What it trains on.
			dataset: DatasetId,
			/// Root of its first checkpoint.
			genesis_root: H256,
			/// Deposit held, in planck.
			deposit: Balance,
		},
		/// Work for a run draws issuance from the round under way on.
		RunApproved {
			/// The run.
			run: RunId,
		},
		/// A run is over.
		RunFinished {
			/// The run.
			run: RunId,
			/// Rounds adopted.
			rounds: RoundIndex,
			/// Root of its last checkpoint.
			checkpoint: H256,
			/// Whether it was stopped before its last round.
			stopped: bool,
		},
		/// Some records of a finished run are gone.
		HistoryRemoved {
			/// The run.
			run: RunId,
			/// How many records.
			records: u32,
		},
		/// A run is gone and its deposit is free.
		RunRemoved {
			/// The run.
			run: RunId,
		},
		/// An account became a member.
		Joined {
			/// The run.
			run: RunId,
			/// The new member.
			who: AccountId,
		},
		/// A member left, or is no longer eligible at the start of a round.
		Left {
			/// The run.
			run: RunId,
			/// The former member.
			who: AccountId,
		},
		/// A participant missed a deadline: it is no member any more and may join again.
		DroppedOut {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// What it missed.
			phase: Phase,
		},
		/// Training began.
		RoundStarted {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// How often it was started before.
			attempt: u32,
			/// Checkpoint it starts from.
			checkpoint: H256,
			/// Seed of the window permutation.
			seed: H256,
			/// Places by account bytes ascending.
			participants: Vec<AccountId>,
			/// First block in which Training is over.
			deadline: BlockNumber,
		},
		/// A phase other than Training began.
		PhaseStarted {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The attempt.
			attempt: u32,
			/// The phase.
			phase: Phase,
			/// First block in which it is over; `None` while too few have joined.
			deadline: Option<BlockNumber>,
		},
		/// A vote decided nothing: its phase began anew with an empty ballot.
		PhaseRepeated {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The attempt.
			attempt: u32,
			/// The phase.
			phase: Phase,
			/// How often it was repeated.
			repeats: u32,
			/// First block in which it is over.
			deadline: Option<BlockNumber>,
		},
		/// A participant committed to its work.
		Committed {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// Its sealed commitment.
			sealed: H256,
		},
		/// A participant revealed its work.
		Revealed {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// Root of its delta, by which others fetch it.
			delta_root: H256,
		},
		/// A participant voted on the deltas.
		Voted {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// One bit per revealed participant.
			vote: VoteBitmap,
		},
		/// These deltas make the next checkpoint.
		DeltasIncluded {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// Whose, by account bytes ascending.
			included: Vec<AccountId>,
		},
		/// A participant attested the next checkpoint.
		Attested {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The participant.
			who: AccountId,
			/// Its word.
			attestation: Attestation,
		},
		/// A round ended with a new checkpoint; its record tells the rest.
		RoundAdopted {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The new checkpoint.
			checkpoint: H256,
			/// Its validation loss, nats per token.
			validation_loss: F32,
			/// Deltas in it.
			included: u32,
			/// Work units that each included participant was credited with as pending; 0 unless the run is approved.
			units: u128,
		},
		/// An attempt ended without a checkpoint and all its proofs are void.
		RoundAborted {
			/// The run.
			run: RunId,
			/// The round.
			round: RoundIndex,
			/// The attempt.
			attempt: u32,
			/// Why.
			reason: AbortReason,
		},
	}

	/// Why a call is refused, and what to do about it.
	#[pallet::error]
	pub enum Error<T> {
		/// No such run. The view function `runs` lists them.
		UnknownRun,
		/// The run is over. Join another one.
		RunFinished,
		/// The run is still going on. Stop it first.
		RunActive,
		/// The run's history is still needed for challenges. Try again [`Config::HistoryPeriod`] blocks after its end.
		HistoryNeeded,
		/// As many runs as possible are active. Wait until one is over.
		TooManyRuns,
		/// No identifier is left for a new run.
		RunIdsExhausted,
		/// Only the run's sponsor may do this.
		NotSponsor,
		/// The run is approved already; there is nothing to do.
		AlreadyApproved,
		/// The name is empty or not UTF-8. Choose another one.
		BadName,
		/// Participants must be at least 1, at most 128, and the minimum not above the maximum.
		BadParticipants,
		/// Every phase needs at least one block and at most [`Config::MaxPhaseDuration`].
		BadDurations,
		/// A run needs at least one round, or no limit; and a smallest bond above zero.
		BadLimits,
		/// A dimension is zero or no multiple of what its documentation asks. See `ModelConfig` and `TrainConfig`.
		BadDimension,
		/// `heads` must divide `dim`, and `kv_heads` must divide `heads`.
		BadHeads,
		/// The model or its step is larger than the protocol can judge. Choose a smaller model, batch or sequence.
		ModelTooLarge,
		/// The arithmetic version is not that of this chain. Use a worker that matches the runtime.
		ArithmeticVersion,
		/// A round has at most 64 state roots and the interval is at least 1. Choose a longer interval.
		CommitInterval,
		/// A float is not finite or outside its range.
		BadHyperparameter,
		/// The dataset is not active. Activate it, or choose another one.
		DatasetNotActive,
		/// The dataset's tokens do not fit the model. Choose a vocabulary at least as large as the dataset's.
		VocabularyTooSmall,
		/// A full round would need more windows than the training shards hold. Choose a larger dataset, fewer
		/// participants, fewer inner steps or a smaller batch.
		DatasetTooSmall,
		/// Held-out shards hold fewer windows than `validation_sequences`. Measure on fewer, or hold out more shards.
		HeldOutTooSmall,
		/// Only active providers with the worker role take part. Register, or activate the provider.
		NotActiveWorker,
		/// The active bond is below the run's minimum. Bond more.
		BondTooSmall,
		/// The account is a member already; there is nothing to do.
		AlreadyMember,
		/// The account is no member of this run.
		NotMember,
		/// As many members as the run takes have joined. Try again when one has left.
		RunFull,
		/// The run is in another round. Look at the view function `round`.
		WrongRound,
		/// The round is in another phase. Look at the view function `round`.
		WrongPhase,
		/// The account holds no place in this round. Join, and wait for the next one.
		NotParticipant,
		/// The account missed a deadline of this round, or had given up its place. Join again for the next one.
		DroppedOut,
		/// The account has acted in this phase already, and may not change what it said.
		AlreadyActed,
		/// Salt and work do not give the sealed commitment. Reveal exactly what was committed to.
		SealBroken,
		/// The work has another number of state roots than the run asks for.
		WrongStateRoots,
		/// The work has another number of tokens than the run asks for.
		WrongTokens,
		/// The delta has another size than the run's model gives.
		WrongDeltaBytes,
		/// Somebody revealed a delta with the same root in this round. Work on your own windows.
		DuplicateDelta,
		/// The proof is not about this work: its key or its work hash differs.
		WrongProof,
		/// The vote needs one bit for each revealed participant, and zeros beyond them.
		BadVote,
	}

	impl<T> From<Refusal> for Error<T> {
		fn from(refusal: Refusal) -> Self {
			match refusal {
				Refusal::WrongRound => Self::WrongRound,
				Refusal::WrongPhase => Self::WrongPhase,
				Refusal::NotParticipant => Self::NotParticipant,
				Refusal::NotCounted => Self::DroppedOut,
				Refusal::AlreadyActed => Self::AlreadyActed,
			}
		}
	}

	#[pallet::hooks]
	impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
		/// Moves every run on that is due: at most one transition each, of at most [`Config::MaxActiveRuns`] runs.
		fn on_initialize(_: BlockNumberFor<T>) -> Weight {
			Self::advance_due()
		}

		fn integrity_test() {
			assert!(T::RecordsKept::get() > 0, "training: at least the newest record must be kept");
			assert!(T::MaxPhaseDuration::get() > 0, "training: a phase must be allowed to last one block");
		}
	}

	#[pallet::call]
	impl<T: Config> Pallet<T> {
		/// Creates a run and holds the deposit for it. It waits for members at once.
		#[pallet::call_index(0)]
		#[pallet::weight(T::WeightInfo::create_run())]
		pub fn create_run(origin: OriginFor<T>, config: RunConfig) -> DispatchResult {
			let sponsor = ensure_signed(origin)?;
			Self::do_create_run(sponsor, config)
		}

		/// Lets the work for a run draw issuance, from the round under way on. Work for other runs is not paid by the chain.
		#[pallet::call_index(1)]
		#[pallet::weight(T::WeightInfo::approve_run())]
		pub fn approve_run(origin: OriginFor<T>, run: RunId) -> DispatchResult {
			T::ApproveOrigin::ensure_origin(origin)?;
			Self::do_approve_run(run)
		}

		/// Ends a run. For its sponsor and [`Config::ApproveOrigin`]. The round under way is void; adopted ones stand.
		#[pallet::call_index(2)]
		#[pallet::weight(T::WeightInfo::stop_run(MAX_PARTICIPANTS))]
		pub fn stop_run(origin: OriginFor<T>, run: RunId) -> DispatchResultWithPostInfo {
			let sponsor = match T::ApproveOrigin::try_origin(origin) {
				Ok(_) => None,
				Err(origin) => Some(ensure_signed(origin)?),
			};
			let participants = Self::do_stop_run(sponsor, run)?;
			Ok(Some(T::WeightInfo::stop_run(participants)).into())
		}

		/// Takes part in a run from the next round on; from the one after it if Checkpointing has begun.
		#[pallet::call_index(3)]
		#[pallet::weight(T::WeightInfo::join())]
		pub fn join(origin: OriginFor<T>, run: RunId) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_join(who, run)
		}

		/// Takes no part from the next round on. The round under way may, and should, be finished.
		#[pallet::call_index(4)]
		#[pallet::weight(T::WeightInfo::leave())]
		pub fn leave(origin: OriginFor<T>, run: RunId) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_leave(who, run)
		}

		/// Commits to the work of a round without showing it. `sealed` is [`neuroshard_types::run::seal`].
		#[pallet::call_index(5)]
		#[pallet::weight(T::WeightInfo::commit(MAX_PARTICIPANTS))]
		pub fn commit(origin: OriginFor<T>, run: RunId, round: RoundIndex, sealed: H256) -> DispatchResultWithPostInfo {
			let who = ensure_signed(origin)?;
			let participants = Self::do_commit(who, run, round, sealed)?;
			Ok(Some(T::WeightInfo::commit(participants)).into())
		}

		/// Shows the work that was committed to, with its Proof of Neural Work. The proof's key is
		/// [`crate::expected::proof_key`], its work hash the Blake2-256 of the encoded work.
		#[pallet::call_index(6)]
		#[pallet::weight(T::WeightInfo::reveal(MAX_PARTICIPANTS))]
		pub fn reveal(
			origin: OriginFor<T>,
			run: RunId,
			round: RoundIndex,
			salt: [u8; 32],
			work: Work,
			proof: Proof,
			proof_signature: ProofSignature,
		) -> DispatchResultWithPostInfo {
			let who = ensure_signed(origin)?;
			let participants = Self::do_reveal(who, run, round, &salt, work, &proof, &proof_signature)?;
			Ok(Some(T::WeightInfo::reveal(participants)).into())
		}

		/// Says whose deltas could be fetched and agree with their roots: one bit for each participant that revealed, in the
		/// order of accounts.
		#[pallet::call_index(7)]
		#[pallet::weight(T::WeightInfo::vote_availability(MAX_PARTICIPANTS))]
		pub fn vote_availability(origin: OriginFor<T>, run: RunId, round: RoundIndex, vote: VoteBitmap) -> DispatchResultWithPostInfo {
			let who = ensure_signed(origin)?;
			let participants = Self::do_vote(who, run, round, vote)?;
			Ok(Some(T::WeightInfo::vote_availability(participants)).into())
		}

		/// Says what the next checkpoint is, and its validation loss.
		#[pallet::call_index(8)]
		#[pallet::weight(T::WeightInfo::attest(MAX_PARTICIPANTS))]
		pub fn attest(origin: OriginFor<T>, run: RunId, round: RoundIndex, attestation: Attestation) -> DispatchResultWithPostInfo {
			let who = ensure_signed(origin)?;
			let participants = Self::do_attest(who, run, round, attestation)?;
			Ok(Some(T::WeightInfo::attest(participants)).into())
		}

		/// Removes up to `limit` records of a finished run, and the run itself, with its deposit, once none is left. For its sponsor.
		#[pallet::call_index(9)]
		#[pallet::weight(T::WeightInfo::remove_run(*limit))]
		pub fn remove_run(origin: OriginFor<T>, run: RunId, limit: u32) -> DispatchResultWithPostInfo {
			let who = ensure_signed(origin)?;
			let removed = Self::do_remove_run(who, run, limit)?;
			Ok(Some(T::WeightInfo::remove_run(removed)).into())
		}
	}

	#[pallet::view_functions]
	impl<T: Config> Pallet<T> {
		/// All runs, finished ones included, by identifier ascending.
		pub fn runs() -> Vec<RunId> {
			Self::run_ids()
		}

		/// A run; `None` if there is none with this identifier.
		pub fn run(id: RunId) -> Option<RunView> {
			Self::run_view(id)
		}

		/// The round under way of an active run.
		pub fn round(id: RunId) -> Option<RoundView> {
			Self::round_view(id)
		}

		/// What is kept of an adopted round.
		pub fn record(id: RunId, round: RoundIndex) -> Option<RoundRecord> {
			Records::<T>::get(id, round).map(Into::into)
		}

		/// Members of an active run by account bytes ascending.
		pub fn members(id: RunId) -> Vec<AccountId> {
			Members::<T>::get(id).into_inner()
		}
	}

	impl<T: Config> Pallet<T> {
		/// Height of the current block.
		pub(crate) fn now() -> BlockNumber {
			frame_system::Pallet::<T>::block_number().saturated_into()
		}
	}
}
