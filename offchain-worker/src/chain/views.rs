//! View functions of the chain's pallets, typed. All fail as [`ChainAt::view`] does.

use super::{client::ChainAt, error::ChainError};
use neuroshard_types::{
	dataset::DatasetView,
	provider::{Addresses, PeerIdBytes, ProviderView},
	reward::{Earnings, EraIndex, EraView},
	run::{RoundRecord, RoundView, RunView},
	AccountId, Balance, BlockNumber, DatasetId, RoundIndex, RunId,
};

impl ChainAt {
	/// The provider `who`, if it is registered.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn provider(&self, who: &AccountId) -> Result<Option<ProviderView>, ChainError> {
		self.view("Staking", "provider", (who.clone(),)).await
	}

	/// A page of providers with their peer ids and addresses, after an account, at most `limit`.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn peers(&self, after: Option<AccountId>, limit: u32) -> Result<Vec<(AccountId, PeerIdBytes, Addresses)>, ChainError> {
		self.view("Staking", "peers", (after, limit)).await
	}

	/// Smallest bond of an active provider in planck, and the blocks that unbonding takes.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn bond_limits(&self) -> Result<(Balance, BlockNumber), ChainError> {
		self.view("Staking", "limits", ()).await
	}

	/// A dataset.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn dataset(&self, id: DatasetId) -> Result<Option<DatasetView>, ChainError> {
		self.view("Dataset", "dataset", (id,)).await
	}

	/// All runs, by number ascending.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn runs(&self) -> Result<Vec<RunId>, ChainError> {
		self.view("Training", "runs", ()).await
	}

	/// A run.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn run(&self, id: RunId) -> Result<Option<RunView>, ChainError> {
		self.view("Training", "run", (id,)).await
	}

	/// The current round of an active run.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn round(&self, id: RunId) -> Result<Option<RoundView>, ChainError> {
		self.view("Training", "round", (id,)).await
	}

	/// An adopted round.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn record(&self, id: RunId, round: RoundIndex) -> Result<Option<RoundRecord>, ChainError> {
		self.view("Training", "record", (id, round)).await
	}

	/// Members of an active run, by account bytes ascending.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn members(&self, id: RunId) -> Result<Vec<AccountId>, ChainError> {
		self.view("Training", "members", (id,)).await
	}

	/// What `who` has earned.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn earnings(&self, who: &AccountId) -> Result<Earnings, ChainError> {
		self.view("Rewards", "earnings", (who.clone(),)).await
	}

	/// Ended eras that still owe `who`, and how much, in planck.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn claimable_eras(&self, who: &AccountId) -> Result<Vec<(EraIndex, Balance)>, ChainError> {
		self.view("Rewards", "claimable_eras", (who.clone(),)).await
	}

	/// Blocks from the end of a round until its proofs are final and its data may go.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn challenge_window(&self) -> Result<BlockNumber, ChainError> {
		self.view("Ponw", "window", ()).await
	}

	/// The current era.
	///
	/// # Errors
	/// See [`Self::view`].
	pub async fn era(&self) -> Result<EraView, ChainError> {
		self.view("Rewards", "era", ()).await
	}
}
