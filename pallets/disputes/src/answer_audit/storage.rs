//! Stored state of audits of answers.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod answer_storage {
	/// Claims of pay whose answers wait for their draw, oldest first, by numbers without a gap.
	#[pallet::storage]
	pub type UndrawnAnswers<T: Config> = StorageMap<_, Twox64Concat, u64, NotedAnswers>;

	/// Numbers of [`UndrawnAnswers`] that are in use.
	#[pallet::storage]
	pub type UndrawnAnswersSpan<T: Config> = StorageValue<_, Span, ValueQuery>;

	/// Audits of answers that are not closed.
	#[pallet::storage]
	pub type AnswerAudits<T: Config> = StorageMap<_, Blake2_128Concat, AnswerId, AnswerAudit>;

	/// Answers that each auditor was drawn for, those first whose audits close first: by auditor, the block of the close with its highest byte first, and
	/// answer.
	#[pallet::storage]
	pub type DrawnAnswers<T: Config> =
		StorageNMap<_, (NMapKey<Blake2_128Concat, AccountId>, NMapKey<Identity, [u8; 4]>, NMapKey<Blake2_128Concat, AnswerId>), ()>;

	/// Sessions with open audits of a provider's answers, by session and provider.
	#[pallet::storage]
	pub type AuditedSessions<T: Config> = StorageDoubleMap<_, Twox64Concat, SessionId, Blake2_128Concat, AccountId, AuditedSession>;

	/// Demands by their deadlines, earliest first, by numbers without a gap. Those that were met are among them.
	#[pallet::storage]
	pub type Demands<T: Config> = StorageMap<_, Twox64Concat, u64, AnswerId>;

	/// Numbers of [`Demands`] that are in use.
	#[pallet::storage]
	pub type DemandsSpan<T: Config> = StorageValue<_, Span, ValueQuery>;

	/// Audits of answers in the order of their closes, by numbers without a gap.
	#[pallet::storage]
	pub type AnswerClosings<T: Config> = StorageMap<_, Twox64Concat, u64, AnswerId>;

	/// Numbers of [`AnswerClosings`] that are in use.
	#[pallet::storage]
	pub type AnswerClosingsSpan<T: Config> = StorageValue<_, Span, ValueQuery>;

	/// Probability with which an answer is drawn. Fixed at genesis; zero on a chain that began before there was one.
	#[pallet::storage]
	pub type AnswerAuditShare<T: Config> = StorageValue<_, Permill, ValueQuery>;

	/// Planck that are paid for answers for each audit that is drawn of them, at least and on average. Fixed at genesis.
	#[pallet::storage]
	pub type AnswerDrawPrice<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Blocks for delivering an answer that is demanded. Fixed at genesis.
	#[pallet::storage]
	pub type DeliverTime<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;
}
