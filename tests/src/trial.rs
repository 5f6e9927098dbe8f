//! A network with cheaters among honest workers, until all of them are judged.

use crate::{
	until, Binaries, Cheat, Cheater, Decided, Error, Flood, Flooded, Layout, Minted, Network, Prepared, Preset, Rules, Summary, Text,
	Tokens, Training, Verdicts, View,
};
use neuroshard_types::{BlockNumber, RoundIndex};
use std::{
	ops::RangeInclusive,
	path::Path,
	time::{Duration, Instant},
};

/// Longest wait for the last verdict, and for the checkpoint after it.
const VERDICTS: Duration = Duration::from_secs(900);
/// Under a flood, where there are the most workers: it takes minutes until they have checked a round on two slow cores.
const FLOODED: Rules = Rules { window: 240, clock: 60, extension: 30, audits: None, answers: None, patient: true };
/// Inner steps of a round: a third of those of the preset, because everybody runs everybody's again.
const INNER_STEPS: u32 = 40;
/// Honest workers.
const HONEST: u16 = 3;
/// Tokens of the tokenizer that is trained where the rule is robust: disputes are about rows of many tiles then.
const TRAINED: u32 = 2_000;

/// What became of the cheaters of a network.
pub struct Trial {
	/// Who they were.
	pub cheaters: Vec<Cheater>,
	/// What was decided.
	pub verdicts: Verdicts,
	/// What the training amounts to, when the first honest rewards were minted after the last verdict.
	pub summary: Summary,
	/// What the flood has left of the blocks from the opening of the first dispute to the last verdict, if there was one.
	pub flooded: Option<Flooded>,
}

/// What a trial is held under.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Terms {
	/// Nothing else.
	Plain,
	/// Another account fills what ordinary extrinsics may take of every block.
	Flooded,
	/// The outer step takes Multi-Krum of shortened deltas, and momentum.
	Robust,
}

impl Trial {
	/// Has workers cheat in the rounds that are named, in a network of tiny rounds that lives in `folder`, and ends it when they are judged and the
	/// next checkpoint is adopted; where something is audited, when the first auditors are paid.
	///
	/// # Errors
	/// [`Error::Late`] if one of them is not caught, and whatever keeps a network from running.
	pub async fn hold(folder: &Path, cheats: &[(Cheat, RoundIndex)], terms: Terms) -> Result<Self, Error> {
		let started = Instant::now();
		let flooded = terms == Terms::Flooded;
		let all = HONEST.saturating_add(Cheat::workers(cheats));
		let layout = Layout::create(folder.join("network"), None, all)?;
		let rules = if flooded { FLOODED } else { Preset::Tiny.rules_for(cheats, 1) };
		let tokens = if terms == Terms::Robust { Tokens::Trained(TRAINED) } else { Tokens::Bytes };
		let participants = u32::from(HONEST)..=u32::from(all);
		let prepared = Prepared::with_tokens(&layout, Preset::Tiny, (Text::Registry, tokens), participants).await?;
		let prepared = prepared.with_inner_steps(INNER_STEPS);
		let prepared = if terms == Terms::Robust { prepared.with_codes_robust_rule_and_momentum() } else { prepared };
		let mut network = Network::start(Binaries::find()?, layout, rules).await?;
		let run = Training::sponsor(&network, prepared, None).await?;
		network.add_workers_and_cheaters(usize::from(HONEST), cheats, Some(&run.dataset), 1).await?;
		let flood = if flooded {
			all_take_part(&mut network, &run).await?;
			Some(Flood::of_network(&network).await?)
		} else {
			None
		};
		let verdicts = all_judged(&mut network, &run).await?;
		let flooded = match flood {
			Some(flood) => Some(flood.stop(of_disputes(&verdicts)).await?),
			None => None,
		};
		run.stop(&network).await?;
		let minted = Minted::wait_for_first(&network, &run).await?;
		let view = View::look(&network, &run, None).await?;
		let summary = Summary::collect(&network, &run, &view, minted, started.elapsed()).await?;
		let cheaters = network.cheaters.clone();
		network.stop().await;
		Ok(Self { cheaters, verdicts, summary, flooded })
	}
}

/// The blocks from the opening of the first dispute to the last verdict.
fn of_disputes(verdicts: &Verdicts) -> RangeInclusive<BlockNumber> {
	let blocks = || verdicts.list().iter().map(Decided::blocks);
	let first = blocks().map(|blocks| *blocks.start()).min();
	let last = blocks().map(|blocks| *blocks.end()).max();
	first.unwrap_or(1)..=last.unwrap_or(0)
}

/// Waits for a round in which all take part. Under a flood, what a worker has to prove before it may come too late for the round in which it cheats.
async fn all_take_part(network: &mut Network, run: &Training) -> Result<(), Error> {
	until("a round in which all take part", VERDICTS, async || {
		network.check()?;
		let Some(round) = network.client().now().await?.round(run.run).await? else { return Ok(None) };
		let takes_part = |who| round.participants.iter().any(|one| one.account == who);
		Ok(network.workers.iter().all(|worker| takes_part(worker.provider())).then_some(()))
	})
	.await
}

/// Waits until every cheater is condemned and a checkpoint is adopted after the last verdict.
async fn all_judged(network: &mut Network, run: &Training) -> Result<Verdicts, Error> {
	let (mut verdicts, mut known) = (Verdicts::default(), None);
	until("all verdicts, and the checkpoint after the last", VERDICTS, async || {
		network.check()?;
		let view = View::look(network, run, known.clone()).await?;
		let view = known.insert(view);
		verdicts.read(network.client(), view.heads.finalized.number).await?;
		Ok(network.cheaters.iter().all(|cheater| cheater.is_dealt_with(&verdicts, view)).then_some(()))
	})
	.await?;
	Ok(verdicts)
}
