//! Reading from the chain what the planner needs.

use super::decide::{
	choice::Choice,
	plan::has_acted,
	view::{uptime_hour, ChainView, RunState},
};
use crate::{arithmetic::open_challenge, defence::reserves::Reserves, earnings::claimable, WorkerError};
use neuroshard_chain_client::{ChainAt, ChainClient, ChainError, Heads};
use neuroshard_types::{
	dispute::OuterJob,
	provider::{ProviderStatus, ProviderView, Role},
	reward::{Earnings, EraIndex},
	run::{MissingReport, Phase, RoundView, RunView},
	AccountId, Balance, BlockNumber, Moment, RunId, H256,
};

/// The chain at one moment.
#[derive(Clone)]
pub(super) struct Observed {
	pub(super) heads: Heads,
	/// State after the best block.
	pub(super) at: ChainAt,
	/// For the planner.
	pub(super) chain: ChainView,
	/// Chain time of the best block.
	pub(super) time: Moment,
	pub(super) provider: Option<ProviderView>,
	/// The chain's smallest bond, in planck; asked only for a provider that is not active.
	pub(super) least_bond: Option<Balance>,
	pub(super) earnings: Earnings,
	/// Eras that can be claimed according to best and finalized block.
	pub(super) eras: Vec<EraIndex>,
}

/// Looks at the chain now, for the account `me`, whose fees `payer` pays. `at_hand` is the run that the worker is in. What does not depend on each
/// other is asked for at a time: a round trip to the node may take a good part of a block.
pub(super) async fn observe(
	client: &ChainClient,
	(me, payer): (&AccountId, &AccountId),
	choice: &mut Choice,
	at_hand: Option<RunId>,
	reserves: &mut Reserves,
) -> Result<Observed, WorkerError> {
	let heads = client.heads().await?;
	let (at, finalized) = tokio::try_join!(client.at(heads.best), client.at(heads.finalized))?;
	let registered = async {
		let provider = at.provider(me).await?;
		let active = provider.as_ref().is_some_and(|one| one.status == ProviderStatus::Active && one.info.roles.contains(Role::Worker));
		let least_bond = if active { None } else { Some(at.bond_limits().await?.0) };
		Ok::<_, ChainError>((provider, active, least_bond))
	};
	let chosen = async {
		let gflops = async || Ok(at.provider(me).await?.map_or(0, |provider| u64::from(provider.info.hardware.gflops)));
		let Some((id, view)) = choice.find(&at, at_hand, me, gflops).await? else { return Ok::<_, WorkerError>((None, 0)) };
		let (state, reserve) = tokio::try_join!(run_state(&at, &finalized, me, id), async { reserves.of(&at, id, &view.config).await })?;
		Ok((Some(state.with(id, view)), reserve))
	};
	let chain = async {
		let claimable = claimable(&at, &finalized, me);
		Ok::<_, WorkerError>(tokio::try_join!(registered, claimable, at.time(), at.funds(payer), at.earnings(me))?)
	};
	let (((provider, active, least_bond), (eras, claimable), time, funds, earnings), (run, reserve)) = tokio::try_join!(chain, chosen)?;
	let bond = provider.as_ref().map_or(0, |one| one.bonded);
	let challenge = provider.as_ref().and_then(open_challenge).filter(|_| least_bond.is_some_and(|least| bond >= least));
	let (best, me, free, hour) = (heads.best.number, me.clone(), funds.free, uptime_hour(time, me));
	let chain = ChainView { best, me, active, challenge, bond, run, hour, claimable, free, reserve };
	Ok(Observed { heads, at, chain, time, provider, least_bond, earnings, eras })
}

/// State of a run on chain beside the run itself.
struct Rest {
	round: Option<RoundView>,
	job: Option<OuterJob>,
	members: Vec<AccountId>,
	finalized_seal: Option<H256>,
	finalized_place: Option<u32>,
	next_join: Option<BlockNumber>,
	reported: Vec<MissingReport>,
}

impl Rest {
	fn with(self, id: RunId, view: RunView) -> RunState {
		let Self { round, job, members, finalized_seal, finalized_place, next_join, reported } = self;
		RunState { id, view, round, job, members, finalized_seal, finalized_place, next_join, reported }
	}
}

async fn run_state(at: &ChainAt, finalized: &ChainAt, me: &AccountId, id: RunId) -> Result<Rest, ChainError> {
	let (round, members, next_join) = tokio::try_join!(at.round(id), at.members(id), at.next_join(id, me))?;
	let phase = round.as_ref().map(|round| round.phase);
	let job = if phase == Some(Phase::Checkpointing) { at.outer_job(id).await? } else { None };
	// Asked only when the answer decides whether a salt may be revealed, or a late place is to be trained in.
	let decides = |round: &&RoundView| match round.phase {
		Phase::Training => round.late.contains(me),
		phase => phase == Phase::Revealing,
	};
	let there = match round.as_ref().filter(decides) {
		Some(round) => finalized.round(id).await?.filter(|there| (there.round, there.seed) == (round.round, round.seed)),
		None => None,
	};
	let finalized_place = there.as_ref().and_then(|there| there.position(me));
	let finalized_seal = there.and_then(|there| there.participants.into_iter().find(|one| one.account == *me)).and_then(|one| one.sealed);
	let next_join = next_join.filter(|_| !members.contains(me));
	// Asked only of a phase that this account waits in.
	let waits = round.as_ref().is_some_and(|round| {
		let me = round.participants.iter().find(|one| one.account == *me && one.counted);
		me.is_some_and(|me| has_acted(me, round.phase))
	});
	let reported = if waits { at.reported_missing(id).await? } else { Vec::new() };
	Ok(Rest { round, job, members, finalized_seal, finalized_place, next_join, reported })
}
