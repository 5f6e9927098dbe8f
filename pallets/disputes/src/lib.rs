//! Disputes: anybody can show that what a participant of a training round claimed is false, and is paid for it by the claimant's stake.
//!
//! A *claim* is the work that a participant revealed, or the checkpoint that it attested ([`neuroshard_types::dispute::Claims`]). From the
//! adoption of its round until the challenge window is over, any other account can open a game about it with a bond:
//!
//! ```text
//!  challenge_work,              play: defender and challenger in turn
//!  challenge_attestation     +-----+
//!  ---------------------> open     |          Fraud, DefenderLate:          the claim falls, the claimant loses its stake
//!                          | ^-----+  ----->  Unfounded, ChallengerLate:    the challenger loses its bond
//!                          +--------------->  moot: another game has decided, or nothing can be judged any more
//! ```
//!
//! What a move means is none of this pallet's business: [`neuroshard_graph::game`] turns a position and a move into the next position or a
//! ruling, and executes the last piece of the disputed computation itself. This pallet knows accounts, clocks and money.
//!
//! # Independent games
//! Every challenger plays its own game with its own bond, however many there are about one claim. That a challenger loses, by a move or by
//! its clock, says nothing about the claim: the other games go on, and new ones can be opened while the window lasts. So an accomplice
//! who challenges first, to lose or to stall, protects nobody. The first game that ends with fraud decides for all: the others are moot,
//! and their bonds go back.
//!
//! # Clocks
//! Each side has a clock that runs while it is its turn, and gains an extension whenever its turn comes. Both are fixed at genesis. A
//! defender gains it for every game that is open against it, since it plays all of them with one machine, but at most a whole clock. Who
//! is late loses: silence of a claimant costs as much as fraud, else it would be the cheap way out. Games end at their deadline by
//! themselves, at the beginning of the next block; a bounded number in each, the others in the blocks after it. A game whose claim
//! can no longer be judged, since its record is gone, ends at its deadline without a loser.
//!
//! # Audits
//! Auditors that the chain draws by lot run adopted rounds again and are paid for it; a sample of a state that is not committed shows whether they
//! have. A sample is a claim as well. See `audit`.
//!
//! # Answers
//! What a provider has signed for an answer is a claim as well, about a model of a run instead of a round of it: see `answers`. Some of those that are paid for
//! are drawn, with an auditor that computes them again, and to which the provider hands them over: see `answer_audit`.
//!
//! # Money
//! A challenge holds a bond, the larger the more the claimant has at stake, and at most [`Config::MaxGamesPerDefender`] games are open
//! against an account at once, but for those of auditors that were drawn, who hold the least bond: that bounds what an honest claimant is
//! asked. While any is open, none of the account's proofs becomes final, so that filling the limit does not pay for one that cheats. A lost claim
//! costs [`Config::SlashShare`] of everything that the claimant has at stake, unbonding parts included. Half of that is burned, and half
//! goes to the earliest opener among the games about the claim that are open, before all others to one that was drawn to audit it, or for the
//! same audit as its sample. A lost bond is split the same way: half burned, half to the defender for its trouble. Nothing else creates,
//! destroys or moves money.
//!
//! Where the operator of a provider challenges, the provider is the challenger, and is rewarded; but the bond is held of the operator, since whoever
//! has its key could lose it on purpose.
//!
//! # Moves
//! `play` is an operational call, so that moves find room in full blocks. [`CheckTurn`] refuses it in the transaction pool already unless it
//! is the sender's turn. [`MovesAlone`] takes operational calls of other pallets for normal ones, and puts moves before all of those, and with them
//! the acts that rounds of training wait for ([`Rounds`]). A move
//! names the position that it answers, so that on another fork it is never taken for an answer to something else. Lists that are posted are
//! in extrinsics only; the chain keeps their roots, and the numbers of the blocks to find them in.
#![cfg_attr(not(feature = "std"), no_std)]
// No float, and no cast that loses a sign or precision. Truncating ones cannot be denied: derives of the codec have some.
#![cfg_attr(
	not(any(test, feature = "runtime-benchmarks")),
	deny(clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::float_arithmetic)
)]

extern crate alloc;

mod answer_audit;
mod answers;
mod audit;
#[cfg(any(feature = "runtime-benchmarks", test))]
mod benchmarking;
mod clocks;
mod docket;
mod errors;
mod events;
mod grounds;
mod kept_room;
mod load;
pub mod migrations;
#[cfg(test)]
mod mock;
mod moves;
mod opening;
mod room;
mod settlement;
#[cfg(test)]
mod tests;
mod try_state;
mod turn;
mod types;
mod views;
pub mod weights;

pub use answer_audit::{AnswerAudit, AuditedSession, Demand, NotedAnswers, TextOf};
pub use audit::{Audit, Noted, Part, Verifier, EPOCHS, MISSED_POINTS};
#[cfg(any(feature = "runtime-benchmarks", test))]
pub use benchmarking::BenchmarkHelper;
use frame_support::pallet_macros::import_section;
pub use kept_room::{MovesAlone, Place, Rounds, FIRST};
pub use moves::Refusal;
pub use neuroshard_types::dispute::{longest_game, most_gained, MAX_MOVES};
pub use pallet::*;
pub use room::{Room, Share, MAX_TRIED};
pub use turn::{Answers, Carriers, CheckTurn};
pub use types::{Docket, Game, Load, Members};
pub use weights::WeightInfo;

#[import_section(answer_audit::storage::answer_storage)]
#[import_section(audit::storage::storage)]
#[import_section(errors::errors)]
#[import_section(events::events)]
#[allow(clippy::expect_used, reason = "what the macros make has some")]
#[frame_support::pallet]
#[allow(clippy::large_enum_variant, clippy::too_many_arguments, reason = "calls are what they carry")]
pub mod pallet {
	use crate::{
		answer_audit::{self, size, AnswerAudit, AuditedSession, Handed, NotedAnswers},
		audit::{time_needed, Audit, Noted, Verifier},
		longest_game, weights, Answers, Carriers, Docket, Game, Load, Room, Rounds, Share, WeightInfo,
	};
	use alloc::vec::Vec;
	use frame_support::{
		dispatch::DispatchResultWithPostInfo,
		pallet_prelude::*,
		traits::{fungible, Randomness},
	};
	use frame_system::pallet_prelude::*;
	use neuroshard_graph::game::{Doubt, Move, Side};
	use neuroshard_types::{
		answer_audit::{AnswerAuditTerms, AnswerAuditView, AnswerId, LaterReceipts, Text},
		audit::{AuditClaim, AuditTerms, AuditView, Report, MAX_VERIFIERS},
		dispute::{AnswerClaim, ClaimId, ClaimKind, Claims, Decision, GameView, MoveKind, Terms},
		inference::{Receipt, SessionId},
		proof::ProofSignature,
		quorum::MAX_MEMBERS,
		run::Work,
		span::Span,
		traits::{PaidAnswers, Providers, WorkCredits},
		AccountId, Balance, BlockNumber, RoundIndex, RunId, H256, NEURO,
	};
	use sp_runtime::{Perbill, Permill, SaturatedConversion};

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(5);

	/// Types that the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<AccountId = AccountId, Hash = H256, RuntimeEvent: From<Event<Self>>> {
		/// NEURO: bonds are holds on it.
		type Currency: fungible::MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason>
			+ fungible::Mutate<AccountId, Balance = Balance>;
		/// The runtime's hold reasons, [`HoldReason`] among them.
		type RuntimeHoldReason: From<HoldReason>;
		/// Claims that can be disputed.
		type Claims: Claims;
		/// Stakes of claimants.
		type Providers: Providers<AccountId, Balance>;
		/// Answers that can be disputed.
		type PaidAnswers: PaidAnswers<AccountId>;
		/// Credits by which auditors are paid.
		type Credits: WorkCredits<AccountId>;
		/// Number of the current epoch.
		type Epochs: Get<u64>;
		/// Slots of an epoch.
		type EpochLength: Get<u64>;
		/// Randomness of the current epoch, from what the blocks of the one before carry: nobody knows all of it before the last of them.
		type AuditRandomness: Randomness<H256, BlockNumber>;
		/// Blocks from the adoption of a round in which its claims can be challenged.
		type ChallengeWindow: Get<BlockNumber>;
		/// Least that a challenge holds of the challenger, in planck: enough to pay for what a game costs an honest defender, twice.
		#[pallet::constant]
		type Bond: Get<Balance>;
		/// Part of what the claimant has at stake that a challenge holds of the challenger, if it is more than [`Self::Bond`], and the challenger
		/// was not drawn to audit the claim.
		#[pallet::constant]
		type BondShare: Get<Perbill>;
		/// Most games that are open against one account at once, without those of auditors that were drawn for what they dispute. A cheater
		/// that has accomplices open so many pays half of their bonds for it, which are this many times [`Self::BondShare`] of its stake.
		#[pallet::constant]
		type MaxGamesPerDefender: Get<u32>;
		/// Least stake of an auditor, in planck, to seal, to report and to be paid: the least bond of any provider.
		type LeastStake: Get<Balance>;
		/// Deposit that a demand for the text of an answer holds of the auditor, in planck: it is burned if the provider delivers.
		#[pallet::constant]
		type DemandDeposit: Get<Balance>;
		/// Share of its stake that a claimant loses with its claim.
		#[pallet::constant]
		type SlashShare: Get<Perbill>;
		/// Most outer steps that an attestation can be about: so many records are read to judge it.
		#[pallet::constant]
		type MaxReplay: Get<u32>;
		/// Most games that end by themselves in one block; the rest follows in the next blocks.
		#[pallet::constant]
		type MaxEndsPerBlock: Get<u32>;
		/// Durations, by name, that must be longer than claims can be disputed: genesis is refused otherwise. Whatever they are read from
		/// must be built before this pallet.
		type Outlasting: Get<Vec<(&'static str, BlockNumber)>>;
		/// Calls that carry other calls, for [`crate::CheckTurn`].
		type Carriers: Carriers<<Self as frame_system::Config>::RuntimeCall>;
		/// Calls of other pallets that [`CheckTurn`](crate::CheckTurn) looks at as it does at moves.
		type Answers: Answers<<Self as frame_system::Config>::RuntimeCall>;
		/// Acts in rounds, for [`crate::MovesAlone`].
		type Rounds: Rounds<<Self as frame_system::Config>::RuntimeCall>;
		/// Most that moves take of a block: more than the longest takes, and less than a block.
		type MovesShare: Get<Share>;
		/// Most that acts in rounds take of a block, beside the moves.
		type ActsShare: Get<Share>;
		/// Weights of the calls, of the hook and of the transaction extension.
		type WeightInfo: WeightInfo;
		/// Makes claims and funds for the benchmarks.
		#[cfg(any(feature = "runtime-benchmarks", test))]
		type BenchmarkHelper: crate::BenchmarkHelper;
	}

	/// See the crate's documentation.
	#[pallet::pallet]
	#[pallet::storage_version(STORAGE_VERSION)]
	pub struct Pallet<T>(_);

	/// Why this pallet holds money.
	#[pallet::composite_enum]
	pub enum HoldReason {
		/// Bond of a challenger for an open game.
		#[codec(index = 0)]
		Challenge,
		/// Deposit of an auditor that demands the text of an answer.
		#[codec(index = 1)]
		Demand,
	}

	/// Open games by claim and challenger.
	#[pallet::storage]
	pub type Games<T: Config> = StorageDoubleMap<_, Blake2_128Concat, ClaimId, Blake2_128Concat, AccountId, Game>;

	/// Open games whose bond is held of another account than the challenger: of the operator that challenged in its name.
	#[pallet::storage]
	pub type PaidBy<T: Config> = StorageDoubleMap<_, Blake2_128Concat, ClaimId, Blake2_128Concat, AccountId, AccountId>;

	/// Open games by the account that defends them: how many there are, and what they hold.
	#[pallet::storage]
	pub type GamesAgainst<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Load, ValueQuery>;

	/// First and last of the open games about each claim that has any.
	#[pallet::storage]
	pub type Dockets<T: Config> = StorageMap<_, Blake2_128Concat, ClaimId, Docket>;

	/// Open games by the block in which their deadline is.
	#[pallet::storage]
	pub type Deadlines<T: Config> = StorageDoubleMap<_, Twox64Concat, BlockNumber, Blake2_128Concat, (ClaimId, AccountId), ()>;

	/// Games whose deadline is before this block have ended.
	#[pallet::storage]
	pub type SweptTo<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;

	/// Claims that were proven false, or not defended, and about which games are still open: they end as moot.
	#[pallet::storage]
	pub type Fallen<T: Config> = StorageMap<_, Blake2_128Concat, ClaimId, ()>;

	/// Open games whose player has made a move that was refused, where they stand: whatever it sends about that position is an ordinary
	/// extrinsic from then on. See [`MovesAlone`].
	#[pallet::storage]
	pub type Missed<T: Config> = StorageDoubleMap<_, Blake2_128Concat, ClaimId, Blake2_128Concat, AccountId, ()>;

	/// Grounds that disputed answers are judged by, about which games are open.
	#[pallet::storage]
	pub type DisputedAnswers<T: Config> = StorageMap<_, Blake2_128Concat, ClaimId, AnswerClaim>;

	/// Account that was drawn to audit an answer about which games are open, and has opened one of them: it comes first also when its audit is closed.
	#[pallet::storage]
	pub type AuditorOfAnswer<T: Config> = StorageMap<_, Blake2_128Concat, ClaimId, AccountId>;

	/// Room that moves have taken of this block. Empty between blocks.
	#[pallet::storage]
	pub type Taken<T: Config> = StorageValue<_, Room, ValueQuery>;

	/// Blocks that each side has for all moves of a game. Fixed at genesis.
	#[pallet::storage]
	pub type Clock<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;

	/// Blocks that a side gains whenever its turn comes. Fixed at genesis.
	#[pallet::storage]
	pub type Extension<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;

	/// Durations of a preset.
	#[pallet::genesis_config]
	pub struct GenesisConfig<T: Config> {
		/// Blocks that each side has for all moves of a game; at least one.
		pub clock: BlockNumber,
		/// Blocks that a side gains whenever its turn comes.
		pub extension: BlockNumber,
		/// Share of a round's claims that is audited, in millionths. If it is not zero, the challenge window has room for three epochs, for
		/// sealing twice (the second time for challenges) and for reporting.
		pub audit_share: Permill,
		/// Blocks that auditors have for running a round and sealing their reports.
		pub seal_time: BlockNumber,
		/// Blocks that auditors have for opening them.
		pub report_time: BlockNumber,
		/// Probability with which an answer that is paid for is audited, in millionths. If it is not zero, the time in which claims can be disputed has
		/// room for three epochs and three times [`Self::deliver_time`].
		pub answer_audit_share: Permill,
		/// Planck that are paid for answers for each audit that is drawn of them, at least and on average: what costs less is drawn more rarely. If it is zero,
		/// everything is drawn with the same probability, so that audits can be made for nothing.
		pub answer_draw_price: Balance,
		/// Blocks that providers have for delivering an answer that is demanded; as many as auditors have for demanding it, and at least for disputing it.
		pub deliver_time: BlockNumber,
		/// Type marker.
		#[serde(skip)]
		pub _config: core::marker::PhantomData<T>,
	}

	impl<T: Config> Default for GenesisConfig<T> {
		/// Four hours and half an hour of 3-second blocks: no game lasts longer than 43 hours and a half. Auditors of one claim in five have
		/// four hours and one hour. One answer in a hundred is audited, or one for each NEURO, and delivered in four hours.
		fn default() -> Self {
			let (audit_share, seal_time, report_time) = (Permill::from_percent(20), 4_800, 1_200);
			let (answer_audit_share, answer_draw_price, deliver_time) = (Permill::from_percent(1), NEURO, 4_800);
			let (clock, extension, _config) = (4_800, 600, PhantomData);
			Self { clock, extension, audit_share, seal_time, report_time, answer_audit_share, answer_draw_price, deliver_time, _config }
		}
	}

	#[pallet::genesis_build]
	impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
		fn build(&self) {
			assert!(self.clock > 0, "disputes: both sides need time for a move");
			if !self.audit_share.is_zero() {
				assert!(self.seal_time > 0 && self.report_time > 0, "disputes: auditors need time for their reports");
				let needed = T::EpochLength::get().saturating_mul(3).saturating_add(time_needed(self.seal_time, self.report_time).into());
				assert!(u64::from(T::ChallengeWindow::get()) >= needed, "disputes: the challenge window is too short for audits");
			}
			Clock::<T>::put(self.clock);
			Extension::<T>::put(self.extension);
			AuditShare::<T>::put(self.audit_share);
			SealTime::<T>::put(self.seal_time);
			ReportTime::<T>::put(self.report_time);
			AnswerAuditShare::<T>::put(self.answer_audit_share);
			AnswerDrawPrice::<T>::put(self.answer_draw_price);
			DeliverTime::<T>::put(self.deliver_time);
			let period = GetDisputePeriod::<T>::get();
			if !self.answer_audit_share.is_zero() {
				assert!(self.deliver_time > 0, "disputes: providers need time to deliver answers");
				let time = answer_audit::time_needed(self.deliver_time);
				let needed = T::EpochLength::get().saturating_mul(3).saturating_add(time.into());
				assert!(
					u64::from(period) >= needed,
					"disputes: the {period} blocks in which claims can be disputed are too few for audits of answers, which take {needed}"
				);
			}
			for (what, blocks) in T::Outlasting::get() {
				assert!(
					blocks > period,
					"disputes: {what} of {blocks} blocks must be longer than the {period} in which claims can be disputed"
				);
			}
		}
	}

	/// Blocks from the adoption of a round until the last game about its claims has been decided, for those who ask for a `Get`: the challenge
	/// window and the longest game.
	pub struct GetDisputePeriod<T>(PhantomData<T>);

	impl<T: Config> Get<BlockNumber> for GetDisputePeriod<T> {
		fn get() -> BlockNumber {
			T::ChallengeWindow::get().saturating_add(longest_game(Clock::<T>::get(), Extension::<T>::get()))
		}
	}

	#[pallet::hooks]
	impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
		/// Ends games whose time is over, or whose claim has fallen, and demands that were not met; then closes audits, and draws those of one round, and those of
		/// answers.
		fn on_initialize(_: BlockNumberFor<T>) -> Weight {
			let at_the_end = T::DbWeight::get().writes(1);
			let work = Self::end_due().saturating_add(Self::close_due()).saturating_add(Self::draw_due());
			let answers = Self::end_demands().saturating_add(Self::close_answers()).saturating_add(Self::draw_answers());
			work.saturating_add(answers).saturating_add(at_the_end)
		}

		/// The next block has room again.
		fn on_finalize(_: BlockNumberFor<T>) {
			Taken::<T>::kill();
		}

		/// Looks whether one of the verifiers is active no more.
		fn on_idle(_: BlockNumberFor<T>, remaining: Weight) -> Weight {
			let weight = T::WeightInfo::sweep();
			if weight.any_gt(remaining) {
				return Weight::zero();
			}
			Self::sweep();
			weight
		}

		fn integrity_test() {
			assert!(T::Bond::get() > 0, "disputes: a challenge without a bond costs nothing");
			assert!(T::MaxGamesPerDefender::get() > 0, "disputes: nobody could be challenged");
			assert!(T::MaxEndsPerBlock::get() > 0, "disputes: no game would end by itself");
			assert!(T::DemandDeposit::get() > 0, "disputes: a demand costs something");
			assert!(T::MaxReplay::get() > 0, "disputes: an attestation is about one outer step at least");
		}

		#[cfg(feature = "try-runtime")]
		fn try_state(_: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
			Self::do_try_state()
		}
	}

	#[pallet::call]
	impl<T: Config> Pallet<T> {
		/// Disputes the work that `who` revealed in an adopted round, and holds a bond of the caller. `work` is what was revealed, and `doubt`
		/// the first part of it that the caller disagrees with: all before it is agreed on. The claimant moves first. Of an operator the bond is its
		/// own, and the challenger is the provider that it acts for.
		#[pallet::call_index(0)]
		#[pallet::weight(T::WeightInfo::challenge_work().saturating_add(Pallet::<T>::weight_of_members(MAX_MEMBERS)))]
		pub fn challenge_work(
			origin: OriginFor<T>,
			run: RunId,
			round: RoundIndex,
			who: AccountId,
			work: Work,
			doubt: Doubt,
		) -> DispatchResultWithPostInfo {
			let payer = ensure_signed(origin)?;
			let members = Self::do_challenge_work(payer, ClaimId { run, round, kind: ClaimKind::Work, who }, &work, doubt)?;
			Ok(Some(T::WeightInfo::challenge_work().saturating_add(Self::weight_of_members(members))).into())
		}

		/// Disputes the checkpoint that `who` attested in an adopted round, and holds a bond of the caller. The claimant moves first.
		#[pallet::call_index(1)]
		#[pallet::weight(T::WeightInfo::challenge_attestation(T::MaxReplay::get()))]
		pub fn challenge_attestation(origin: OriginFor<T>, run: RunId, round: RoundIndex, who: AccountId) -> DispatchResultWithPostInfo {
			let payer = ensure_signed(origin)?;
			let claim = ClaimId { run, round, kind: ClaimKind::Attestation, who };
			let records = Self::do_challenge_attestation(payer, claim)?;
			Ok(Some(T::WeightInfo::challenge_attestation(records)).into())
		}

		/// Makes a move in the game of `challenger` about `claim`. For the account whose turn it is, or its operator. `position` is the Blake2-256 of the
		/// encoded position that the move answers, as the view function `game` shows it. A move that is refused leaves the position, the turn
		/// and the clock as they are, and those that follow it there come no longer before other extrinsics.
		#[pallet::call_index(2)]
		#[pallet::weight((Pallet::<T>::weight_of(action, Pallet::<T>::most_judges(claim.kind)), DispatchClass::Operational))]
		pub fn play(
			origin: OriginFor<T>,
			claim: ClaimId,
			challenger: AccountId,
			position: H256,
			action: Move,
		) -> DispatchResultWithPostInfo {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			let judges = Self::do_play(&who, claim, challenger, position, &action)?;
			Ok(Some(Self::weight_of(&action, judges)).into())
		}

		/// Has the caller drawn as an auditor, from the second epoch after this one on. It must be an active provider that offers to verify.
		#[pallet::call_index(3)]
		#[pallet::weight(T::WeightInfo::enroll())]
		pub fn enroll(origin: OriginFor<T>) -> DispatchResult {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_enroll(who)
		}

		/// Has the caller no longer drawn as an auditor, from the second epoch after this one on. What it was drawn for before is still to be
		/// done.
		#[pallet::call_index(4)]
		#[pallet::weight(T::WeightInfo::resign())]
		pub fn resign(origin: OriginFor<T>) -> DispatchResult {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_resign(who)
		}

		/// Commits the caller to its report about the work that it was drawn to audit in this round: [`seal_report`] of it.
		///
		/// [`seal_report`]: neuroshard_types::audit::seal_report
		#[pallet::call_index(5)]
		#[pallet::weight((T::WeightInfo::seal_audit(), DispatchClass::Operational))]
		pub fn seal_audit(origin: OriginFor<T>, run: RunId, round: RoundIndex, sealed: H256) -> DispatchResult {
			let auditor = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_seal(auditor, run, round, sealed)
		}

		/// Opens the report that the caller has sealed. From then on its stake answers for a sample, until the audit closes.
		#[pallet::call_index(6)]
		#[pallet::weight((T::WeightInfo::report_audit(), DispatchClass::Operational))]
		pub fn report_audit(origin: OriginFor<T>, run: RunId, round: RoundIndex, salt: [u8; 32], report: Report) -> DispatchResult {
			let auditor = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_report(auditor, run, round, &salt, report)
		}

		/// Disputes the sample that `who` reported as an auditor in this round, and holds a bond of the caller. The auditor moves first.
		#[pallet::call_index(7)]
		#[pallet::weight(T::WeightInfo::challenge_audit())]
		pub fn challenge_audit(origin: OriginFor<T>, run: RunId, round: RoundIndex, who: AccountId) -> DispatchResult {
			let payer = ensure_signed(origin)?;
			Self::do_challenge_audit(payer, ClaimId { run, round, kind: ClaimKind::Audit, who })
		}

		/// Disputes the answer with this receipt, which its provider has signed, and holds a bond of the caller. `doubt` is the first token of the answer,
		/// counted from 0, that the model does not give; behind the last one, the end. The provider moves first. A receipt whose settings are out of range
		/// is false whatever `doubt` says: the provider loses at once, nothing is held, and the caller is rewarded.
		#[pallet::call_index(8)]
		#[pallet::weight(T::WeightInfo::challenge_answer().saturating_add(T::WeightInfo::decide()))]
		pub fn challenge_answer(
			origin: OriginFor<T>,
			receipt: Receipt,
			signature: ProofSignature,
			doubt: u32,
		) -> DispatchResultWithPostInfo {
			let payer = ensure_signed(origin)?;
			let fell = Self::do_challenge_answer(payer, receipt, &signature, doubt)?;
			// A game is decided later.
			Ok(if fell { ().into() } else { Some(T::WeightInfo::challenge_answer()).into() })
		}

		/// Demands the text of an answer that the caller was drawn to audit, and that `provider` did not hand over off chain, and holds a deposit of the caller. If
		/// the provider delivers it, half of the deposit is burned and half comes back, and as much as the first half is burned of who delivers: of the caller never
		/// more than of those. Else all of it comes back, and the provider loses as one that is late in a game.
		///
		/// # Errors
		/// `NotDrawnForAnswer`, `AlreadyDemanded`, `DemandOver`, `Condemned`, `TooLittleAtStake`; those of the currency, if the caller has less than the deposit.
		#[pallet::call_index(9)]
		#[pallet::weight(T::WeightInfo::demand_answer())]
		pub fn demand_answer(origin: OriginFor<T>, session: SessionId, provider: AccountId, place: u32) -> DispatchResult {
			let payer = ensure_signed(origin)?;
			Self::do_demand(payer, AnswerId { session, provider, place })
		}

		/// Delivers the text of an answer of the caller that is demanded. `receipt` is that of the place, with its signature; `before` is the root of the receipts of
		/// the answers before, zero for the first one; `later` are the hashes of the receipts behind it, up to the last one that was claimed with it. Half of the
		/// deposit of the demand is burned of what the caller can spend beyond a deposit; what is missing, of what the provider has at stake. What nobody could
		/// dispute is not delivered, and so lost.
		///
		/// # Errors
		/// `NotDemanded`, `WrongReceipts`, `WrongText`, `Undisputable`, `NotSigned`.
		#[pallet::call_index(10)]
		#[pallet::weight((Pallet::<T>::weight_of_delivery(prompt, answer, later), DispatchClass::Operational))]
		pub fn deliver_answer(
			origin: OriginFor<T>,
			session: SessionId,
			place: u32,
			receipt: Receipt,
			signature: ProofSignature,
			before: H256,
			later: LaterReceipts,
			prompt: Text,
			answer: Text,
		) -> DispatchResult {
			let by = ensure_signed(origin)?;
			let provider = T::Providers::acts_for(by.clone());
			let handed = Handed { receipt: &receipt, signature: &signature, before, later: &later, prompt: &prompt, answer: &answer };
			Self::do_deliver(&by, AnswerId { session, provider, place }, &handed)
		}
	}

	#[pallet::extra_constants]
	impl<T: Config> Pallet<T> {
		/// Returns the weight of the verdict about a piece by itself: the plan, the witness and the piece, without what is read for it and what it leads
		/// to.
		#[pallet::constant_name(VerdictWeight)]
		fn verdict_weight() -> Weight {
			T::WeightInfo::verdict()
		}
	}

	#[pallet::view_functions]
	impl<T: Config> Pallet<T> {
		/// The open game of `challenger` about `claim`.
		pub fn game(claim: ClaimId, challenger: AccountId) -> Option<GameView> {
			Games::<T>::get(&claim, challenger).map(|game| game.view(&claim))
		}

		/// Open games: claims and challengers, in no order of meaning, a page of at most [`PAGE`](neuroshard_types::dispute::PAGE). Pass the last one of a page to get
		/// the next page.
		pub fn games(after: Option<(ClaimId, AccountId)>) -> Vec<(ClaimId, AccountId)> {
			Self::list(after, |_, _, _| true)
		}

		/// Open games in which `who` defends, or may have to as a member of a quorum, or challenges, as [`Self::games`] lists them.
		pub fn games_of(who: AccountId, after: Option<(ClaimId, AccountId)>) -> Vec<(ClaimId, AccountId)> {
			Self::list(after, |claim, challenger, game| *challenger == who || game.defenders(claim).any(|one| *one == who))
		}

		/// What a challenge of `claim` by `challenger` holds now, in planck; `None` while as many games are open against its account as it can be
		/// asked to play at once, unless the challenger was drawn to audit the claim. Of an answer that nobody has disputed the chain does not know who was drawn for
		/// it: that one holds the bond of [`Self::terms`].
		pub fn bond_against(claim: ClaimId, challenger: AccountId) -> Option<Balance> {
			Self::price_of(&claim, &challenger).ok()
		}

		/// What holds for all games.
		pub fn terms() -> Terms {
			Self::read_terms()
		}

		/// What `auditor` was drawn for in this round, until the audit closes.
		pub fn audit(run: RunId, round: RoundIndex, auditor: AccountId) -> Option<AuditView> {
			Self::read_audit(run, round, &auditor)
		}

		/// What `auditor` was drawn for in all rounds, in no order of meaning, a page of at most [`PAGE`](neuroshard_types::dispute::PAGE). Pass run and round of the
		/// last one of a page to get the next page.
		pub fn audits_of(auditor: AccountId, after: Option<(RunId, RoundIndex)>) -> Vec<AuditView> {
			Self::list_audits(&auditor, after)
		}

		/// What the sample that `auditor` reported in this round is judged by, until the audit closes.
		pub fn audit_claim(run: RunId, round: RoundIndex, auditor: AccountId) -> Option<AuditClaim> {
			Self::sample_of(run, round, &auditor)
		}

		/// What a disputed answer is judged by, while a game about it is open.
		pub fn answer_claim(claim: ClaimId) -> Option<AnswerClaim> {
			DisputedAnswers::<T>::get(claim)
		}

		/// The audit of an answer, until it closes.
		pub fn answer_audit(session: SessionId, provider: AccountId, place: u32) -> Option<AnswerAuditView> {
			Self::read_answer_audit(AnswerId { session, provider, place })
		}

		/// Answers that `auditor` was drawn for and about which something is left to do, those first whose audits close first, a page of at most
		/// [`PAGE`](neuroshard_types::dispute::PAGE). Pass close and answer of the last one of a page to get the next page.
		pub fn answer_audits_of(auditor: AccountId, after: Option<(BlockNumber, AnswerId)>) -> Vec<AnswerAuditView> {
			Self::list_answer_audits(&auditor, after)
		}

		/// Answers of `provider` that are demanded and can be delivered, those first whose time ends first, a page of at most
		/// [`PAGE`](neuroshard_types::dispute::PAGE). Pass the last one of a page to get the next page.
		pub fn answers_demanded_of(provider: AccountId, after: Option<AnswerId>) -> Vec<AnswerAuditView> {
			Self::list_demanded(&provider, after)
		}

		/// What holds for audits of all answers.
		pub fn answer_audit_terms() -> AnswerAuditTerms {
			Self::read_answer_audit_terms()
		}

		/// Accounts that are enrolled as auditors.
		pub fn verifiers() -> Vec<AccountId> {
			Self::list_verifiers()
		}

		/// What holds for all audits.
		pub fn audit_terms() -> AuditTerms {
			Self::read_audit_terms()
		}
	}

	impl<T: Config> Pallet<T> {
		/// Height of the current block.
		pub(crate) fn now() -> BlockNumber {
			frame_system::Pallet::<T>::block_number().saturated_into()
		}

		/// Most records that a claim of this kind can be judged by, and members of a quorum that can stand behind it.
		pub(crate) fn most_judges(kind: ClaimKind) -> (u32, u32) {
			match kind {
				ClaimKind::Work => (1, MAX_MEMBERS),
				ClaimKind::Audit | ClaimKind::Answer(_) => (1, 0),
				ClaimKind::Attestation => (T::MaxReplay::get(), 0),
			}
		}

		/// What a game about the work of so many members costs more to open, or to end.
		pub(crate) fn weight_of_members(members: u32) -> Weight {
			weights::member::<T>().saturating_mul(members.into())
		}

		/// Weight of delivering so much.
		pub(crate) fn weight_of_delivery(prompt: &[u32], answer: &[u32], later: &[H256]) -> Weight {
			let (tokens, later) = size(prompt, answer, later);
			// What both lose: of the caller what it can spend, of the provider as in a game, and of the auditor a part that is burned and one that is released.
			let money = T::DbWeight::get().reads_writes(7, 7);
			T::WeightInfo::deliver_answer(tokens, later).saturating_add(money)
		}

		/// Weight of a move in a game about a claim that is judged by so many records, and that so many members of a quorum stand behind.
		pub(crate) fn weight_of(action: &Move, (records, members): (u32, u32)) -> Weight {
			let bytes = u32::try_from(action.volume()).unwrap_or(u32::MAX);
			let read = || T::WeightInfo::play(bytes, records);
			match action {
				Move::Piece { .. } => {
					T::WeightInfo::piece(records).saturating_add(T::WeightInfo::decide()).saturating_add(Self::weight_of_members(members))
				}
				Move::Choice { .. } => T::WeightInfo::choice(bytes, records).saturating_add(T::WeightInfo::decide()),
				Move::Outer { .. } => read().saturating_add(T::WeightInfo::decide()),
				Move::Records(records) => {
					read().saturating_add(T::WeightInfo::records(u32::try_from(records.records.len()).unwrap_or(u32::MAX)))
				}
				_ => read(),
			}
		}
	}
}
