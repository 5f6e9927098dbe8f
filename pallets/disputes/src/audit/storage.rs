//! Stored state of audits.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod storage {
	/// Accounts that auditors are drawn from, by bytes ascending.
	#[pallet::storage]
	pub type Verifiers<T: Config> = StorageValue<_, BoundedVec<Verifier, ConstU32<MAX_VERIFIERS>>, ValueQuery>;

	/// Adopted rounds that wait for their draw, oldest first, by numbers without a gap.
	#[pallet::storage]
	pub type Undrawn<T: Config> = StorageMap<_, Twox64Concat, u64, Noted>;

	/// Numbers of [`Undrawn`] that are in use.
	#[pallet::storage]
	pub type UndrawnSpan<T: Config> = StorageValue<_, Span, ValueQuery>;

	/// Audits that are not closed, by the claim about work.
	#[pallet::storage]
	pub type Audits<T: Config> = StorageMap<_, Blake2_128Concat, ClaimId, Audit>;

	/// Account whose work each auditor was drawn for, by auditor and round.
	#[pallet::storage]
	pub type Drawn<T: Config> = StorageDoubleMap<_, Blake2_128Concat, AccountId, Twox64Concat, (RunId, RoundIndex), AccountId>;

	/// Audits that wait for their close, in the order of their closes, by numbers without a gap.
	#[pallet::storage]
	pub type Closings<T: Config> = StorageMap<_, Twox64Concat, u64, ClaimId>;

	/// Numbers of [`Closings`] that are in use.
	#[pallet::storage]
	pub type ClosingsSpan<T: Config> = StorageValue<_, Span, ValueQuery>;

	/// Share of a round's claims that is audited. Fixed at genesis.
	#[pallet::storage]
	pub type AuditShare<T: Config> = StorageValue<_, Permill, ValueQuery>;

	/// Blocks for sealing a report. Fixed at genesis.
	#[pallet::storage]
	pub type SealTime<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;

	/// Blocks for opening a sealed report. Fixed at genesis.
	#[pallet::storage]
	pub type ReportTime<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;
}
