//! Training runs and rounds.
//!
//! A sponsor creates a run: a model, how it is trained, and a dataset. Providers with the worker role join it and train the
//! model together in rounds. What happens in a round, and when, is the state machine of [`Stage`]:
//!
//! ```text
//! Joining -> Training -> Revealing -> Availability -> Checkpointing -> Training of the next round ...
//! ```
//!
//! - A phase ends early when everybody acted, or two thirds of the stake report all others missing (the module `missing`), else at its deadline. Who misses a deadline is a *dropout*: it no longer
//!   counts in this round's denominators, loses one point of reputation and its membership, and joins again when it is back.
//!   The first time that is at once; from the second dropout in a row on, it waits once, 3, 7, .. 63 times the time for training. A
//!   deadline that more than a third miss is nobody's fault, and adds to no row.
//!   A delta that a dropout revealed before may still be included, and is then paid.
//! - Votes are weighed by the active bonds at the start of the round. Who leaves or bonds more meanwhile changes no denominator; but
//!   whoever loses a claim, or in Checkpointing has less to be slashed than its vote weighs, is *struck* out: neither its votes nor
//!   its stake count, and its delta is not included if that is not decided yet. A vote that decides nothing repeats its
//!   phase, a bounded number of times; then the *attempt* is aborted,
//!   all its proofs are voided, and the round starts anew from the same checkpoint with who is left.
//! - Places in the next round go to those who are members when Checkpointing begins. From then on the next checkpoint, and
//!   with it the next seed, is known to some, so later joins count for the round after, and a place that is given up
//!   meanwhile (`leave`, a missed attestation, a chilled or shrunken bond) stays as an uncounted one: nobody else's windows move.
//!   Who missed the availability vote keeps its place if it joins again before the next round starts.
//! - A Joining phase ends in the initialization of a block, never in the call of who joins, so that the last to join does
//!   not know the randomness of that block if [`Config::Randomness`] is fresh in every block.
//!
//! Chain work per round is a few small extrinsics per participant; what touches all of them (adoption, aborts) runs in the
//! initialization of the next block: at most one transition per run and block, longest due first, and no further one once a
//! quarter of the block is used.
//!
//! # Claims
//! What a participant revealed and attested are claims that outlive the round: a dispute pallet judges them through
//! [`neuroshard_types::dispute::Claims`]. A false delta leaves the outer steps, a false attestation the tally; a checkpoint whose other
//! attesters have no two thirds of the others *falls*. Inner steps are never redone: the next Checkpointing takes the outer
//! steps since the last good checkpoint again, with the recorded deltas, before its own (see [`replay`]). It begins anew if that
//! changes while it lasts. What a finished run ended with stays: its claims can be condemned, but nothing is redone.
//!
//! # State and deposits
//! The last [`Config::RecordsKept`] rounds of a run stay on chain, also after its end, until its sponsor removes them with
//! `remove_run` once [`Config::HistoryPeriod`] is over. A round takes as many blocks as make sure that no record goes while a dispute may
//! need it; what is decided earlier waits. The sponsor's deposit pays for the run and as many records as it can
//! have, and goes back on removal, but for [`Config::ModelDeposit`] if the model has shares: these stay for good.
#![cfg_attr(not(feature = "std"), no_std)]
// No float, and no cast that loses a sign or precision. Truncating ones cannot be denied: derives of the codec have some.
#![cfg_attr(
	not(any(test, feature = "runtime-benchmarks")),
	deny(clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::float_arithmetic)
)]

extern crate alloc;

mod absences;
#[cfg(any(feature = "runtime-benchmarks", test))]
mod benchmarking;
mod claims;
pub mod cohorts;
mod errors;
mod events;
pub mod expected;
mod latecomers;
pub mod migrations;
mod missing;
#[cfg(test)]
mod mock;
pub mod overlap;
mod quorums;
mod record;
pub mod replay;
mod residuals;
mod room;
pub mod round;
mod rounds;
mod runs;
mod switch;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod transition;
mod try_state;
mod views;
pub mod weights;

pub use absences::{Absence, AbsenceList, MAX_ABSENCES};
#[cfg(any(feature = "runtime-benchmarks", test))]
pub use benchmarking::BenchmarkHelper;
use frame_support::pallet_macros::import_section;
pub use missing::Reports;
pub use overlap::{Draw, Start};
pub use pallet::*;
pub use quorums::{Holders, Seats};
pub use record::{Place, Record, Revealed, StepsOfPlaces};
pub use residuals::ResidualRoots;
pub use room::Refused;
pub use round::{Accounts, Commitment, LateAccounts, Participant, Round, Stage};
pub use runs::{ActiveRun, Run};
pub use switch::{Halt, Reason};
pub use transition::AbortReason;
pub use weights::WeightInfo;

#[import_section(errors::errors)]
#[import_section(events::events)]
#[allow(clippy::expect_used, reason = "what the macros make has some")]
#[frame_support::pallet]
#[allow(clippy::large_enum_variant, reason = "calls are what they carry")]
pub mod pallet {
	use crate::{
		absences::AbsenceList,
		cohorts::{self, CohortList},
		missing::Reports,
		overlap::{Draw, Start},
		quorums::{self, Holders, Seats},
		residuals::ResidualRoots,
		room::Refused,
		round::{Accounts, LateAccounts, Refusal},
		transition::AbortReason,
		ActiveRun, Halt, Reason, Record, Round, Run, StepsOfPlaces, WeightInfo,
	};
	use alloc::vec::Vec;
	use frame_support::{
		dispatch::DispatchResultWithPostInfo,
		pallet_prelude::*,
		traits::{fungible, EnsureOrigin, Randomness},
	};
	use frame_system::pallet_prelude::*;
	use neuroshard_types::{
		audit::OnAdopted,
		dispute::{AttestationClaim, ClaimId, Claims, OuterJob, WorkClaim},
		proof::{Proof, ProofSignature},
		quorum::{Seat, MAX_MEMBERS},
		run::{Attestation, Bridge, MissingReport, Phase, RoundRecord, RoundView, RunConfig, RunView, VoteBitmap, Work},
		traits::{Clock, Datasets, ModelShares, Providers, WorkProofs, WorkUnits},
		AccountId, Balance, BlockNumber, DatasetId, RoundIndex, RunId, F32, H256, MAX_PARTICIPANTS,
	};
	use sp_runtime::traits::SaturatedConversion;

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(4);

	/// Types that the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<AccountId = AccountId, Hash = H256, RuntimeEvent: From<Event<Self>>> {
		/// NEURO: deposits are holds on it.
		type Currency: fungible::MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason>;
		/// The runtime's hold reasons, [`HoldReason`] among them.
		type RuntimeHoldReason: From<HoldReason>;
		/// Providers that may train, and their stakes.
		type Providers: Providers<AccountId, Balance>;
		/// Datasets that may be trained on.
		type Datasets: Datasets;
		/// Proofs of Neural Work. Every one that is submitted is confirmed or voided when its attempt ends.
		type Proofs: WorkProofs<AccountId>;
		/// Work units of a round.
		type Units: WorkUnits;
		/// Chain time.
		type Clock: Clock;
		/// Randomness of the assignment seeds. Should not be known before the block it is used in.
		type Randomness: Randomness<H256, BlockNumberFor<Self>>;
		/// Receiver of adopted rounds.
		type OnAdopted: OnAdopted;
		/// Origin that approves runs to draw issuance.
		type ApproveOrigin: EnsureOrigin<Self::RuntimeOrigin>;
		/// Origin that may stop any run, halt any model and lift that again.
		type StopOrigin: EnsureOrigin<Self::RuntimeOrigin>;
		/// Deposit for a run, in planck.
		#[pallet::constant]
		type RunDeposit: Get<Balance>;
		/// Deposit for every record that the run may keep, in planck.
		#[pallet::constant]
		type RecordDeposit: Get<Balance>;
		/// Models that have shares.
		type Shares: ModelShares;
		/// Part of [`Config::RunDeposit`] that stays on hold for good if the model has shares, in planck: who owns it stays on chain when its run
		/// is gone.
		#[pallet::constant]
		type ModelDeposit: Get<Balance>;
		/// Longest time in blocks from the adoption of a round until the last dispute about a claim of it is decided.
		type DisputePeriod: Get<BlockNumber>;
		/// Adopted rounds of a run that stay on chain. An attestation is judged by the records of all outer steps that it was about, so those
		/// beyond [`Config::MaxReplay`] outlast [`Config::DisputePeriod`]: no round is adopted faster than their number allows.
		#[pallet::constant]
		type RecordsKept: Get<u32>;
		/// Blocks after the end of a run before its history may be removed. Longer than [`Config::DisputePeriod`], which genesis asserts.
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
		/// Most outer steps that one Checkpointing takes. A fraud that would need more stays in the model; it is punished all the same.
		#[pallet::constant]
		type MaxReplay: Get<u32>;
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
		/// Part of that deposit which stays for the models of runs that are gone: their shares are never removed.
		#[codec(index = 1)]
		Model,
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

	/// Members of an active run: in the round under way, from the next one on, or both. At most `max_participants`.
	#[pallet::storage]
	pub type Members<T: Config> = StorageMap<_, Twox64Concat, RunId, Accounts, ValueQuery>;

	/// The round under way of every active run.
	#[pallet::storage]
	pub type Rounds<T: Config> = StorageMap<_, Twox64Concat, RunId, Round>;

	/// Work that was revealed in the round under way.
	#[pallet::storage]
	pub type Works<T: Config> = StorageDoubleMap<_, Twox64Concat, RunId, Blake2_128Concat, AccountId, Work>;

	/// Accounts that dropped out of an active run lately, and when each may join again.
	#[pallet::storage]
	pub type Absences<T: Config> = StorageMap<_, Twox64Concat, RunId, AbsenceList, ValueQuery>;

	/// Of every active run the newest phase in which something was refused for which blocks kept room, and whose it was: there is no more room
	/// for them in that phase.
	#[pallet::storage]
	pub type Refusals<T: Config> = StorageMap<_, Twox64Concat, RunId, Refused>;

	/// Of every active run, whom participants reported missing in the newest phase in which somebody was.
	#[pallet::storage]
	pub type Missing<T: Config> = StorageMap<_, Twox64Concat, RunId, Reports>;

	/// Of every active run whose deltas are sent as a code that leaves a residual: what each participant's left in the last adopted round.
	#[pallet::storage]
	pub type Residuals<T: Config> = StorageMap<_, Twox64Concat, RunId, ResidualRoots>;

	/// Inner steps behind what was revealed in adopted rounds of runs whose deltas weigh by them, by place: as long as the record of the round.
	#[pallet::storage]
	pub type InnerSteps<T: Config> = StorageDoubleMap<_, Twox64Concat, RunId, Twox64Concat, RoundIndex, StepsOfPlaces>;

	/// Participants that came while the round under way or an adopted one was trained, in the order in which they did: as long as the record of the
	/// round.
	#[pallet::storage]
	pub type Latecomers<T: Config> = StorageDoubleMap<_, Twox64Concat, RunId, Twox64Concat, RoundIndex, LateAccounts, ValueQuery>;

	/// Checkpoints that the inner steps of the round under way and of adopted rounds started from, in runs whose rounds overlap: as long as the record
	/// of the round.
	#[pallet::storage]
	pub type Starts<T: Config> = StorageDoubleMap<_, Twox64Concat, RunId, Twox64Concat, RoundIndex, Start>;

	/// The next round of active runs whose rounds overlap, drawn when the round under way began; none while Joining.
	#[pallet::storage]
	pub type Drawn<T: Config> = StorageMap<_, Twox64Concat, RunId, Draw>;

	/// The family of every active run that is in one, named by the run that it began with.
	#[pallet::storage]
	pub type Families<T: Config> = StorageMap<_, Twox64Concat, RunId, RunId>;

	/// The active runs of every family, by identifier ascending.
	#[pallet::storage]
	pub type Cohorts<T: Config> = StorageMap<_, Twox64Concat, RunId, CohortList, ValueQuery>;

	/// Participant that may start from the checkpoint of another cohort in the round under way, or might in an adopted one: as long as the record of the
	/// round.
	#[pallet::storage]
	pub type Bridges<T: Config> = StorageDoubleMap<_, Twox64Concat, RunId, Twox64Concat, RoundIndex, Bridge>;

	/// Seats of the quorums of every active run, those that not all have agreed to among them.
	#[pallet::storage]
	pub type Quorums<T: Config> = StorageMap<_, Twox64Concat, RunId, Seats, ValueQuery>;

	/// Seats of the quorums that hold places in the round under way, or held them in an adopted one: as long as the record of the round.
	#[pallet::storage]
	pub type Led<T: Config> = StorageDoubleMap<_, Twox64Concat, RunId, Twox64Concat, RoundIndex, Seats, ValueQuery>;

	/// Adopted rounds, the last [`Config::RecordsKept`] of each run.
	#[pallet::storage]
	pub type Records<T: Config> = StorageDoubleMap<_, Twox64Concat, RunId, Twox64Concat, RoundIndex, Record>;

	/// Models that may not be used, by their run. A run that is removed takes its entry along: its model is unknown then, and may not be used
	/// either.
	#[pallet::storage]
	pub type Halted<T: Config> = StorageMap<_, Twox64Concat, RunId, Halt>;

	/// Nothing to set: durations are those of a run, or of other pallets, which stand before this one in the runtime.
	#[pallet::genesis_config]
	#[derive(frame_support::DefaultNoBound)]
	pub struct GenesisConfig<T: Config> {
		/// Type marker.
		#[serde(skip)]
		pub _config: core::marker::PhantomData<T>,
	}

	#[pallet::genesis_build]
	impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
		fn build(&self) {
			let (history, disputes) = (T::HistoryPeriod::get(), T::DisputePeriod::get());
			assert!(history > disputes, "training: the history of a run must stay for longer than its claims can be disputed");
		}
	}

	impl<T> From<Refusal> for Error<T> {
		fn from(refusal: Refusal) -> Self {
			match refusal {
				Refusal::WrongRound => Self::WrongRound,
				Refusal::WrongAttempt => Self::WrongAttempt,
				Refusal::WrongPhase => Self::WrongPhase,
				Refusal::NotParticipant => Self::NotParticipant,
				Refusal::NotCounted => Self::DroppedOut,
				Refusal::AlreadyActed => Self::AlreadyActed,
			}
		}
	}

	#[pallet::hooks]
	impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
		/// Moves runs on that are due: at most one transition each, and no further one once a quarter of the block is used.
		fn on_initialize(_: BlockNumberFor<T>) -> Weight {
			Self::advance_due(T::BlockWeights::get().max_block.saturating_div(4))
		}

		#[cfg(feature = "try-runtime")]
		fn try_state(_: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
			Self::do_try_state()
		}

		fn integrity_test() {
			assert!(T::RecordsKept::get() > 0, "training: at least the newest record must be kept");
			assert!(T::MaxReplay::get() > 0, "training: every Checkpointing takes one outer step");
			assert!(T::MaxReplay::get() <= T::RecordsKept::get(), "training: outer steps are redone from records");
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

		/// Ends a run. For its sponsor. The round under way is void; adopted ones stand.
		#[pallet::call_index(2)]
		#[pallet::weight(T::WeightInfo::stop_run(MAX_PARTICIPANTS).saturating_add(cohorts::at_end::<T>()))]
		pub fn stop_run(origin: OriginFor<T>, run: RunId) -> DispatchResultWithPostInfo {
			let sponsor = ensure_signed(origin)?;
			let participants = Self::do_stop_run(sponsor, run)?;
			Ok(Some(T::WeightInfo::stop_run(participants).saturating_add(cohorts::at_end::<T>())).into())
		}

		/// Takes part in a run from the next round on; from the one after it if Checkpointing has begun. Where deltas weigh by inner steps, from the round under way on, in the first
		/// half of the time for its training and before anybody has committed.
		///
		/// Who dropped out more than once in a row waits before: the view function `next_join` says how long.
		#[pallet::call_index(3)]
		#[pallet::weight(T::WeightInfo::join().saturating_add(T::WeightInfo::commit(MAX_PARTICIPANTS)).saturating_add(quorums::at_join::<T>(MAX_MEMBERS)))]
		pub fn join(origin: OriginFor<T>, run: RunId) -> DispatchResultWithPostInfo {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			let members = Self::do_join(who, run)?;
			Ok(Some(
				T::WeightInfo::join()
					.saturating_add(T::WeightInfo::commit(MAX_PARTICIPANTS))
					.saturating_add(quorums::at_join::<T>(members)),
			)
			.into())
		}

		/// Takes no part from the next round on. The round under way may, and should, be finished. Of a member of a quorum that another account leads, the place of the quorum
		/// ends so.
		#[pallet::call_index(4)]
		#[pallet::weight(T::WeightInfo::leave().saturating_add(T::DbWeight::get().reads_writes(1, 1)))]
		pub fn leave(origin: OriginFor<T>, run: RunId) -> DispatchResult {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_leave(who, run)
		}

		/// Commits to the work of a round without showing it. `sealed` is [`neuroshard_types::run::seal`].
		#[pallet::call_index(5)]
		#[pallet::weight(T::WeightInfo::commit(MAX_PARTICIPANTS))]
		pub fn commit(origin: OriginFor<T>, run: RunId, round: RoundIndex, attempt: u32, sealed: H256) -> DispatchResultWithPostInfo {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			let acted = Self::do_commit(who, run, (round, attempt), sealed)?;
			Ok(Some(T::WeightInfo::commit(acted.places)).into())
		}

		/// Shows the work that was committed to, with its Proof of Neural Work. The proof's key is
		/// [`crate::expected::proof_key`], its work hash the Blake2-256 of the encoded work.
		#[pallet::call_index(6)]
		#[pallet::weight(T::WeightInfo::reveal(MAX_PARTICIPANTS).saturating_add(T::DbWeight::get().reads_writes(1, 1)))]
		#[allow(clippy::too_many_arguments, reason = "the arguments of a call are its wire format")]
		pub fn reveal(
			origin: OriginFor<T>,
			run: RunId,
			round: RoundIndex,
			attempt: u32,
			salt: [u8; 32],
			work: Work,
			proof: Proof,
			proof_signature: ProofSignature,
		) -> DispatchResultWithPostInfo {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			let acted = Self::do_reveal(who, run, (round, attempt), &salt, work, &proof, &proof_signature)?;
			Ok(Some(T::WeightInfo::reveal(acted.places).saturating_add(T::DbWeight::get().reads_writes(1, 1))).into())
		}

		/// Says whose deltas could be fetched and agree with their roots: one bit for each participant that revealed, in the
		/// order of accounts.
		#[pallet::call_index(7)]
		#[pallet::weight(T::WeightInfo::vote_availability(MAX_PARTICIPANTS))]
		pub fn vote_availability(
			origin: OriginFor<T>,
			run: RunId,
			round: RoundIndex,
			attempt: u32,
			vote: VoteBitmap,
		) -> DispatchResultWithPostInfo {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			let acted = Self::do_vote(who, run, (round, attempt), vote)?;
			// Only the last vote of a phase looks at the stakes of all.
			let weight = if acted.stakes_read { T::WeightInfo::vote_availability } else { T::WeightInfo::attest };
			Ok(Some(weight(acted.places)).into())
		}

		/// Says what the next checkpoint is, and its validation loss.
		#[pallet::call_index(8)]
		#[pallet::weight(T::WeightInfo::attest(MAX_PARTICIPANTS))]
		pub fn attest(
			origin: OriginFor<T>,
			run: RunId,
			round: RoundIndex,
			attempt: u32,
			attestation: Attestation,
		) -> DispatchResultWithPostInfo {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			let acted = Self::do_attest(who, run, (round, attempt), attestation)?;
			Ok(Some(T::WeightInfo::attest(acted.places)).into())
		}

		/// Removes up to `limit` records of a finished run, and the run itself, with its deposit, once none is left. For its sponsor.
		#[pallet::call_index(9)]
		#[pallet::weight(T::WeightInfo::remove_run(*limit).saturating_add(T::DbWeight::get().writes(u64::from(*limit).saturating_mul(3))))]
		pub fn remove_run(origin: OriginFor<T>, run: RunId, limit: u32) -> DispatchResultWithPostInfo {
			let who = ensure_signed(origin)?;
			let removed = Self::do_remove_run(who, run, limit)?;
			Ok(Some(T::WeightInfo::remove_run(removed).saturating_add(T::DbWeight::get().writes(u64::from(removed).saturating_mul(3))))
				.into())
		}

		/// Ends a run whatever its sponsor wants. For [`Config::StopOrigin`]. As with `stop_run`, the round under way is void; what was adopted
		/// stays earned, and can be disputed as before; the deposit goes back with the history.
		#[pallet::call_index(10)]
		#[pallet::weight(T::WeightInfo::force_stop_run(MAX_PARTICIPANTS).saturating_add(cohorts::at_end::<T>()))]
		pub fn force_stop_run(origin: OriginFor<T>, run: RunId, reason: Reason) -> DispatchResultWithPostInfo {
			T::StopOrigin::ensure_origin(origin)?;
			let participants = Self::do_force_stop_run(run, reason)?;
			Ok(Some(T::WeightInfo::force_stop_run(participants).saturating_add(cohorts::at_end::<T>())).into())
		}

		/// Forbids to use the model of a run, active or finished. For [`Config::StopOrigin`]. Training goes on unless it is stopped as well.
		#[pallet::call_index(11)]
		#[pallet::weight(T::WeightInfo::halt_model())]
		pub fn halt_model(origin: OriginFor<T>, run: RunId, reason: Reason) -> DispatchResult {
			T::StopOrigin::ensure_origin(origin)?;
			Self::do_halt_model(run, reason)
		}

		/// Lets a halted model be used again. For [`Config::StopOrigin`].
		#[pallet::call_index(12)]
		#[pallet::weight(T::WeightInfo::lift_halt())]
		pub fn lift_halt(origin: OriginFor<T>, run: RunId, reason: Reason) -> DispatchResult {
			T::StopOrigin::ensure_origin(origin)?;
			Self::do_lift_halt(run, reason)
		}

		/// Says of whom nothing was heard for a while, one bit for each participant in the order of accounts. For participants that have done what
		/// `phase` asks for, which is Training, Revealing or Availability; the newest report of each counts, for
		/// [`neuroshard_types::run::REPORTED_FOR`] blocks. When two thirds of the stake report everybody who is waited for, the deadline of the phase is
		/// the next block.
		#[pallet::call_index(13)]
		#[pallet::weight(T::WeightInfo::vote_availability(MAX_PARTICIPANTS).saturating_add(T::DbWeight::get().reads_writes(1, 1)))]
		pub fn report_missing(
			origin: OriginFor<T>,
			run: RunId,
			round: RoundIndex,
			attempt: u32,
			phase: Phase,
			missing: VoteBitmap,
		) -> DispatchResultWithPostInfo {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			let participants = Self::do_report_missing(who, run, (round, attempt), phase, missing)?;
			Ok(Some(T::WeightInfo::vote_availability(participants).saturating_add(T::DbWeight::get().reads_writes(1, 1))).into())
		}

		/// Makes the run `run` a cohort of the family of the run `beside`, which founds one if it is in none. For the sponsor of both, which train the same
		/// model in the same way, from the same checkpoint and on the same data, with rounds that do not overlap and deltas that leave no residual. A run
		/// leaves its family when it ends.
		#[pallet::call_index(14)]
		#[pallet::weight(T::WeightInfo::approve_run().saturating_add(T::DbWeight::get().reads_writes(4, 3)))]
		pub fn add_cohort(origin: OriginFor<T>, beside: RunId, run: RunId) -> DispatchResult {
			let sponsor = ensure_signed(origin)?;
			Self::do_add_cohort(&sponsor, beside, run)
		}

		/// Proposes a quorum that the caller leads, instead of the one that it has proposed before: who holds what, itself among them; nobody to lead none. When all
		/// others have agreed, it can join, or goes on with the next round where it is a member.
		#[pallet::call_index(15)]
		#[pallet::weight(T::WeightInfo::join().saturating_add(T::DbWeight::get().reads_writes(2, 1)))]
		pub fn form_quorum(origin: OriginFor<T>, run: RunId, holders: Holders) -> DispatchResult {
			let leader = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_form_quorum(leader, run, &holders)
		}

		/// Agrees to hold what `leader` has proposed, together with exactly these others. What the caller says about the work of the place is checked with the key for
		/// proofs that it has now, and its stake answers for that.
		#[pallet::call_index(16)]
		#[pallet::weight(T::WeightInfo::join().saturating_add(T::DbWeight::get().reads_writes(2, 1)))]
		pub fn agree_quorum(origin: OriginFor<T>, run: RunId, leader: AccountId, holders: Holders) -> DispatchResult {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_agree_quorum(who, run, leader, &holders)
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
			Self::record_view(id, round)
		}

		/// Outer steps that are to be attested, while the round under way is in Checkpointing: one, or after a fraud several.
		pub fn outer_job(id: RunId) -> Option<OuterJob> {
			Self::job_under_way(id)
		}

		/// Round that outer steps would be redone from if a claim of `round` were proven false now, or are to be redone from anyway if
		/// that is earlier. Claims of `round` are judged by nothing older either, so that the checkpoint that this round started from
		/// and all deltas since are needed as long as claims of `round` can be. `None` for an unknown run.
		pub fn redo_from(id: RunId, round: RoundIndex) -> Option<RoundIndex> {
			let run = Runs::<T>::get(id)?;
			let from = run.redo_from(round);
			Some(Starts::<T>::get(id, round).map_or(from, |start| from.min(start.round)))
		}

		/// What the claim of `who` about its work in an adopted round is judged by; `None` if it revealed none, or the record is gone.
		pub fn work_claim(id: RunId, round: RoundIndex, who: AccountId) -> Option<WorkClaim> {
			<Self as Claims>::work(id, round, &who)
		}

		/// What the claim of `who` about the checkpoint of an adopted round is judged by; `None` if it attested none, or a record is gone.
		pub fn attestation_claim(id: RunId, round: RoundIndex, who: AccountId) -> Option<AttestationClaim> {
			<Self as Claims>::attestation(id, round, &who)
		}

		/// Whether a claim was proven false, or not defended.
		pub fn claim_condemned(claim: ClaimId) -> bool {
			<Self as Claims>::is_condemned(&claim)
		}

		/// First block in which `who` may join the run again after dropouts; `None` if nothing keeps it.
		pub fn next_join(id: RunId, who: AccountId) -> Option<BlockNumber> {
			Self::waits_until(id, &who).filter(|until| *until > Self::now())
		}

		/// Who of the participants reports whom as missing in the phase that the round under way is in.
		pub fn reported_missing(id: RunId) -> Vec<MissingReport> {
			Self::reported(id)
		}

		/// Root of what the code of the delta of `who` left unsaid in the last adopted round: what its next delta begins with, or else with nothing.
		pub fn residual(id: RunId, who: AccountId) -> Option<H256> {
			Self::residual_of(id, &who)
		}

		/// Since when the model of a run may not be used, and why; `None` if it is not halted.
		pub fn halted(id: RunId) -> Option<Halt> {
			Halted::<T>::get(id)
		}

		/// Active runs of the family that an active run is in, itself among them; none if it is in no family.
		pub fn cohorts(id: RunId) -> Vec<RunId> {
			Self::cohorts_of(id)
		}

		/// Seats of the quorums of an active run, those of each by number, also of those that not all have agreed to.
		pub fn quorums(id: RunId) -> Vec<Seat> {
			Quorums::<T>::get(id).into_inner()
		}

		/// Seats of the quorums that hold places in the round under way, or held them in an adopted one.
		pub fn quorums_of(id: RunId, round: RoundIndex) -> Vec<Seat> {
			Led::<T>::get(id, round).into_inner()
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
