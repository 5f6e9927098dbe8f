//! Reading from the chain what the planner needs.

use super::{
	plan::{choose_run, ChainView, RunState},
	WorkerError,
};
use crate::{
	arithmetic::open_challenge,
	chain::{ChainAt, ChainClient, ChainError, Heads},
};
use neuroshard_types::{
	provider::{ProviderStatus, ProviderView, Role},
	reward::{Earnings, EraIndex},
	run::{Phase, RunConfig},
	AccountId, Balance, Moment, RunId,
};
use std::collections::BTreeMap;

/// Milliseconds of an hour: uptime proofs are numbered by hours of chain time.
const HOUR_MS: Moment = 3_600_000;

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

/// What must stay free for disputes in each run, in planck. That follows from its configuration, and is asked once.
#[derive(Debug, Default)]
pub(super) struct Reserves(BTreeMap<RunId, Balance>);

impl Reserves {
	/// That of a run with this configuration.
	pub(super) async fn of(&mut self, at: &ChainAt, run: RunId, config: &RunConfig) -> Result<Balance, ChainError> {
		if let Some(known) = self.0.get(&run) {
			return Ok(*known);
		}
		let reserve = at.reserve(config).await?;
		self.0.insert(run, reserve);
		Ok(reserve)
	}
}

/// Looks at the chain now. `asked` is the run that the operator named, `at_hand` the one the worker is in.
pub(super) async fn observe(
	client: &ChainClient,
	me: &AccountId,
	asked: Option<RunId>,
	at_hand: Option<RunId>,
	reserves: &mut Reserves,
) -> Result<Observed, WorkerError> {
	let heads = client.heads().await?;
	let (at, finalized) = (client.at(heads.best).await?, client.at(heads.finalized).await?);
	let provider = at.provider(me).await?;
	let active = provider.as_ref().is_some_and(|one| one.status == ProviderStatus::Active && one.info.roles.contains(Role::Worker));
	let bond = provider.as_ref().map_or(0, |one| one.bonded);
	let least_bond = if active { None } else { Some(at.bond_limits().await?.0) };
	let challenge = provider.as_ref().and_then(open_challenge).filter(|_| least_bond.is_some_and(|least| bond >= least));
	let run = match find_run(&at, asked, at_hand).await? {
		Some(id) => run_state(&at, &finalized, me, id).await?,
		None => None,
	};
	let final_eras = finalized.claimable_eras(me).await?;
	let eras = at.claimable_eras(me).await?.into_iter().filter(|(era, _)| final_eras.iter().any(|(other, _)| other == era));
	let (eras, amounts): (Vec<EraIndex>, Vec<Balance>) = eras.unzip();
	let claimable = amounts.into_iter().fold(0, Balance::saturating_add);
	let time = at.time().await?;
	let hour = u32::try_from(time / HOUR_MS).unwrap_or(u32::MAX);
	let free = at.funds(me).await?.free;
	let reserve = match &run {
		Some(run) => reserves.of(&at, run.id, &run.view.config).await?,
		None => 0,
	};
	let chain = ChainView { best: heads.best.number, me: me.clone(), active, challenge, bond, run, hour, claimable, free, reserve };
	let earnings = at.earnings(me).await?;
	Ok(Observed { heads, at, chain, time, provider, least_bond, earnings, eras })
}

async fn find_run(at: &ChainAt, asked: Option<RunId>, at_hand: Option<RunId>) -> Result<Option<RunId>, WorkerError> {
	let mut known = Vec::new();
	for id in at.runs().await? {
		if let Some(view) = at.run(id).await? {
			known.push((id, view.status, view.approved));
		}
	}
	match (choose_run(&known, asked, at_hand), asked) {
		(None, Some(id)) => Err(WorkerError::UnknownRun(id)),
		(chosen, _) => Ok(chosen),
	}
}

async fn run_state(at: &ChainAt, finalized: &ChainAt, me: &AccountId, id: RunId) -> Result<Option<RunState>, WorkerError> {
	let Some(view) = at.run(id).await? else { return Ok(None) };
	let round = at.round(id).await?;
	let members = at.members(id).await?;
	let attesting = round.as_ref().is_some_and(|round| round.phase == Phase::Checkpointing);
	let job = if attesting { at.outer_job(id).await? } else { None };
	// Asked only when the answer decides whether a salt may be revealed.
	let revealing = round.as_ref().filter(|round| round.phase == Phase::Revealing);
	let finalized_seal = match revealing {
		Some(round) => {
			let there = finalized.round(id).await?.filter(|there| (there.round, there.seed) == (round.round, round.seed));
			there.and_then(|there| there.participants.into_iter().find(|one| one.account == *me)).and_then(|one| one.sealed)
		}
		None => None,
	};
	let next_join = if members.contains(me) { None } else { at.next_join(id, me).await? };
	Ok(Some(RunState { id, view, round, job, members, finalized_seal, next_join }))
}
