//! View functions of the chain's pallets, typed. They fail if the node is away or its chain means something else by the name.

use crate::{client::ChainAt, error::ChainError, query::View};
use futures::{stream, StreamExt, TryStreamExt};
use neuroshard_types::{
	dataset::{DatasetView, Manifest},
	dispute::OuterJob,
	provider::{Addresses, PeerIdBytes, ProviderView, VerifierTerms},
	reward::{Earnings, EraIndex, EraView, IssuanceView},
	run::{MissingReport, RoundRecord, RoundView, RunView},
	AccountId, Balance, BlockNumber, DatasetId, RoundIndex, RunId, H256,
};
use std::collections::BTreeMap;
use subxt::metadata::Metadata;

/// Questions to the node at a time.
const AT_A_TIME: usize = 16;

/// Providers with their peer ids and addresses.
pub type PeerPage = Vec<(AccountId, PeerIdBytes, Addresses)>;

const PROVIDER: View<(AccountId,), Option<ProviderView>> = View::new("Staking", "provider");
const ACTIVE_PEERS: View<(Option<AccountId>, u32), (PeerPage, Option<AccountId>)> = View::new("Staking", "active_peers");
const PEERS_OF: View<(Vec<AccountId>,), PeerPage> = View::new("Staking", "peers_of");
const OPERATOR_OF: View<(AccountId,), Option<AccountId>> = View::new("Staking", "operator_of");
const OWNER_OF: View<(AccountId,), Option<AccountId>> = View::new("Staking", "owner_of");
const VERIFIER_TERMS: View<(), VerifierTerms> = View::new("Staking", "verifier_terms");
const LIMITS: View<(), (Balance, BlockNumber)> = View::new("Staking", "limits");
pub(super) const DATASET: View<(DatasetId,), Option<DatasetView>> = View::new("Dataset", "dataset");
const REMOVABLE_AT: View<(DatasetId,), Option<BlockNumber>> = View::new("Dataset", "removable_at");
const DATASETS: View<(), Vec<DatasetId>> = View::new("Dataset", "datasets");
const DEPOSIT_FOR: View<(Manifest,), Balance> = View::new("Dataset", "deposit_for");
const RUNS: View<(), Vec<RunId>> = View::new("Training", "runs");
pub(super) const RUN: View<(RunId,), Option<RunView>> = View::new("Training", "run");
pub(super) const ROUND: View<(RunId,), Option<RoundView>> = View::new("Training", "round");
pub(super) const RECORD: View<(RunId, RoundIndex), Option<RoundRecord>> = View::new("Training", "record");
pub(super) const OUTER_JOB: View<(RunId,), Option<OuterJob>> = View::new("Training", "outer_job");
const REDO_FROM: View<(RunId, RoundIndex), Option<RoundIndex>> = View::new("Training", "redo_from");
const MEMBERS: View<(RunId,), Vec<AccountId>> = View::new("Training", "members");
const COHORTS: View<(RunId,), Vec<RunId>> = View::new("Training", "cohorts");
const NEXT_JOIN: View<(RunId, AccountId), Option<BlockNumber>> = View::new("Training", "next_join");
const REPORTED_MISSING: View<(RunId,), Vec<MissingReport>> = View::new("Training", "reported_missing");
const RESIDUAL: View<(RunId, AccountId), Option<H256>> = View::new("Training", "residual");
const EARNINGS: View<(AccountId,), Earnings> = View::new("Rewards", "earnings");
const CLAIMABLE_ERAS: View<(AccountId,), Vec<(EraIndex, Balance)>> = View::new("Rewards", "claimable_eras");
const WINDOW: View<(), BlockNumber> = View::new("Ponw", "window");
const ERA: View<(), EraView> = View::new("Rewards", "era");
const ISSUANCE: View<(), IssuanceView> = View::new("Rewards", "issuance");

/// Checks that the chain has every view function that this worker asks, with the same types.
///
/// # Errors
/// The first one that is missing or differs.
pub fn check_views(metadata: &Metadata) -> Result<(), ChainError> {
	PROVIDER.check(metadata)?;
	ACTIVE_PEERS.check(metadata)?;
	PEERS_OF.check(metadata)?;
	LIMITS.check(metadata)?;
	OPERATOR_OF.check(metadata)?;
	OWNER_OF.check(metadata)?;
	VERIFIER_TERMS.check(metadata)?;
	DATASET.check(metadata)?;
	REMOVABLE_AT.check(metadata)?;
	DATASETS.check(metadata)?;
	DEPOSIT_FOR.check(metadata)?;
	RUNS.check(metadata)?;
	RUN.check(metadata)?;
	ROUND.check(metadata)?;
	RECORD.check(metadata)?;
	OUTER_JOB.check(metadata)?;
	REDO_FROM.check(metadata)?;
	MEMBERS.check(metadata)?;
	COHORTS.check(metadata)?;
	NEXT_JOIN.check(metadata)?;
	REPORTED_MISSING.check(metadata)?;
	RESIDUAL.check(metadata)?;
	EARNINGS.check(metadata)?;
	CLAIMABLE_ERAS.check(metadata)?;
	WINDOW.check(metadata)?;
	ERA.check(metadata)?;
	ISSUANCE.check(metadata)?;
	super::disputes::check(metadata)?;
	super::holdings::check(metadata)?;
	super::paid::check(metadata)?;
	super::audits::check(metadata)?;
	super::quorums::check(metadata)?;
	super::answer_audits::check(metadata)
}

impl ChainAt {
	/// The provider `who`, if it is registered.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn provider(&self, who: &AccountId) -> Result<Option<ProviderView>, ChainError> {
		self.view(&PROVIDER, (who.clone(),)).await
	}

	/// The active ones of at most `limit` providers after an account, with their peer ids and addresses, and the account to go on after;
	/// `None` if those were the last ones.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn active_peers(&self, after: Option<AccountId>, limit: u32) -> Result<(PeerPage, Option<AccountId>), ChainError> {
		self.view(&ACTIVE_PEERS, (after, limit)).await
	}

	/// Peer ids and addresses of the providers among `accounts`, of which the chain looks at the first 128.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn peers_of(&self, accounts: Vec<AccountId>) -> Result<PeerPage, ChainError> {
		self.view(&PEERS_OF, (accounts,)).await
	}

	/// Smallest bond of an active provider in planck, and the blocks that unbonding takes.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn bond_limits(&self) -> Result<(Balance, BlockNumber), ChainError> {
		self.view(&LIMITS, ()).await
	}

	/// Whom the provider `owner` has named as its operator, whether that account has agreed or not.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn operator_of(&self, owner: &AccountId) -> Result<Option<AccountId>, ChainError> {
		self.view(&OPERATOR_OF, (owner.clone(),)).await
	}

	/// The provider that `operator` acts for.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn owner_of(&self, operator: &AccountId) -> Result<Option<AccountId>, ChainError> {
		self.view(&OWNER_OF, (operator.clone(),)).await
	}

	/// Returns the bond that verifiers need.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn verifier_terms(&self) -> Result<VerifierTerms, ChainError> {
		self.view(&VERIFIER_TERMS, ()).await
	}

	/// A dataset.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn dataset(&self, id: DatasetId) -> Result<Option<DatasetView>, ChainError> {
		self.view(&DATASET, (id,)).await
	}

	/// First block in which a dataset can be removed; `None` if it takes new runs, or a run uses it.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn dataset_removable_at(&self, id: DatasetId) -> Result<Option<BlockNumber>, ChainError> {
		self.view(&REMOVABLE_AT, (id,)).await
	}

	/// All datasets, by number ascending.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn datasets(&self) -> Result<Vec<DatasetId>, ChainError> {
		self.view(&DATASETS, ()).await
	}

	/// Deposit in planck that proposing a dataset with this manifest holds.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn dataset_deposit(&self, manifest: Manifest) -> Result<Balance, ChainError> {
		self.view(&DEPOSIT_FOR, (manifest,)).await
	}

	/// All runs, by number ascending.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn runs(&self) -> Result<Vec<RunId>, ChainError> {
		self.view(&RUNS, ()).await
	}

	/// A run.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn run(&self, id: RunId) -> Result<Option<RunView>, ChainError> {
		self.view(&RUN, (id,)).await
	}

	/// These runs, as far as they exist. Anybody may create some, so that nobody waits for one after the other.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn run_views(&self, ids: impl IntoIterator<Item = RunId>) -> Result<BTreeMap<RunId, RunView>, ChainError> {
		let asked = stream::iter(ids).map(|id| async move { self.run(id).await.map(|view| Some((id, view?))) });
		let views: Vec<_> = asked.buffered(AT_A_TIME).try_collect().await?;
		Ok(views.into_iter().flatten().collect())
	}

	/// The current round of an active run.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn round(&self, id: RunId) -> Result<Option<RoundView>, ChainError> {
		self.view(&ROUND, (id,)).await
	}

	/// An adopted round.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn record(&self, id: RunId, round: RoundIndex) -> Result<Option<RoundRecord>, ChainError> {
		self.view(&RECORD, (id, round)).await
	}

	/// Outer steps that are to be attested, if the run's round is in Checkpointing.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn outer_job(&self, id: RunId) -> Result<Option<OuterJob>, ChainError> {
		self.view(&OUTER_JOB, (id,)).await
	}

	/// First round whose deltas and start checkpoint are needed as long as claims of `round` can be judged, and for what is to be redone
	/// anyway; `None` for an unknown run.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn redo_from(&self, id: RunId, round: RoundIndex) -> Result<Option<RoundIndex>, ChainError> {
		self.view(&REDO_FROM, (id, round)).await
	}

	/// Members of an active run, by account bytes ascending.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn members(&self, id: RunId) -> Result<Vec<AccountId>, ChainError> {
		self.view(&MEMBERS, (id,)).await
	}

	/// Active runs of the family that an active run is in, itself among them; none if it is in no family.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn cohorts(&self, id: RunId) -> Result<Vec<RunId>, ChainError> {
		self.view(&COHORTS, (id,)).await
	}

	/// First block in which `who`, which missed deadlines in a row, may join a run again; `None` if it need not wait (any more).
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn next_join(&self, id: RunId, who: &AccountId) -> Result<Option<BlockNumber>, ChainError> {
		self.view(&NEXT_JOIN, (id, who.clone())).await
	}

	/// Returns the reports of participants of the round under way that others are missing in its phase.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn reported_missing(&self, id: RunId) -> Result<Vec<MissingReport>, ChainError> {
		self.view(&REPORTED_MISSING, (id,)).await
	}

	/// Root of what the code of the delta of `who` left unsaid in the last adopted round of a run, with which its next delta may begin.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn residual(&self, id: RunId, who: &AccountId) -> Result<Option<H256>, ChainError> {
		self.view(&RESIDUAL, (id, who.clone())).await
	}

	/// Returns the earnings of `who`.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn earnings(&self, who: &AccountId) -> Result<Earnings, ChainError> {
		self.view(&EARNINGS, (who.clone(),)).await
	}

	/// Ended eras that still owe `who`, and how much, in planck.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn claimable_eras(&self, who: &AccountId) -> Result<Vec<(EraIndex, Balance)>, ChainError> {
		self.view(&CLAIMABLE_ERAS, (who.clone(),)).await
	}

	/// Blocks from the end of a round until its proofs are final, unless they are disputed.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn challenge_window(&self) -> Result<BlockNumber, ChainError> {
		self.view(&WINDOW, ()).await
	}

	/// The current era.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn era(&self) -> Result<EraView, ChainError> {
		self.view(&ERA, ()).await
	}

	/// Returns the amounts that were issued for work, blocks and the treasury, and that fees of inference burned.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn issuance(&self) -> Result<IssuanceView, ChainError> {
		self.view(&ISSUANCE, ()).await
	}
}
