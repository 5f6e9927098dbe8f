//! A network with cheaters among honest workers, until all of them are judged.

use crate::{
	made_dataset, registry_texts, until, Binaries, Cheat, Decided, Error, Flood, Flooded, Layout, Minted, Network, Prepared, Preset, Rules,
	Summary, Text, Training, Verdicts, View,
};
use neuroshard_types::{BlockNumber, RoundIndex, TrainConfig};
use std::{
	ops::RangeInclusive,
	path::{Path, PathBuf},
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
/// Tokens of the tokenizer that is trained for conversations: disputes are about rows of many tiles then.
const TRAINED: u32 = 2_000;
/// Bytes of the conversations.
const CHATS_BYTES: u64 = 4 << 20;
/// How conversations are written.
const TEMPLATE: &str = "{% for m in messages %}{{ m.role }}: {% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}\n{% endfor %}";

/// What became of the cheaters of a network.
pub struct Trial {
	/// The network, which still runs, with the cheaters.
	pub network: Network,
	/// What was trained.
	pub training: Training,
	/// The end of that.
	pub view: View,
	/// What was decided.
	pub verdicts: Verdicts,
	/// What the training amounts to: of a trial that is [held](Self::hold) when the first honest rewards were minted after the last verdict, of another one at its end.
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
	/// Conversations are trained on, and the outer step takes Multi-Krum of shortened deltas, and momentum.
	Robust,
}

impl Trial {
	/// Has workers cheat in the rounds that are named, in a network of tiny rounds that lives in `folder`, and ends the run when they are judged and
	/// the next checkpoint is adopted; where something is audited, when the first auditors are paid.
	///
	/// # Errors
	/// [`Error::Late`] if one of them is not caught, and whatever keeps a network from running.
	pub async fn hold(folder: &Path, cheats: &[(Cheat, RoundIndex)], terms: Terms) -> Result<Self, Error> {
		let layout = Layout::create(folder.join("network"), None, all_workers(cheats))?;
		let participants = Self::participants(cheats);
		let prepared = match terms {
			Terms::Robust => {
				let dataset = conversations(folder).await?;
				let train = TrainConfig { inner_steps: INNER_STEPS, ..Preset::Tiny.configs().1 };
				Prepared::of_dataset(dataset, Preset::Tiny, train, participants).await?.with_codes_robust_rule_and_momentum()
			}
			Terms::Plain | Terms::Flooded => {
				Prepared::new(&layout, Preset::Tiny, Text::Registry, participants).await?.with_inner_steps(INNER_STEPS)
			}
		};
		Self::of((layout, None), prepared, cheats, terms, true).await
	}

	/// Participants of the rounds of a trial with these cheats, who can be prepared for.
	pub fn participants(cheats: &[(Cheat, RoundIndex)]) -> RangeInclusive<u32> {
		u32::from(HONEST)..=u32::from(all_workers(cheats))
	}

	/// As [`Self::hold`], of a run that is `prepared`, and without waiting for rewards. What the run needs to be offered, one more worker offers.
	///
	/// # Errors
	/// As [`Self::hold`].
	pub async fn of_run(folder: &Path, prepared: Prepared, cheats: &[(Cheat, RoundIndex)]) -> Result<Self, Error> {
		Self::of_run_on(folder, prepared, cheats, None).await
	}

	/// As [`Self::of_run`]; where a device is named, every second worker computes on it, and the others on the CPU.
	///
	/// # Errors
	/// As [`Self::hold`].
	pub async fn of_run_on(folder: &Path, prepared: Prepared, cheats: &[(Cheat, RoundIndex)], device: Option<&str>) -> Result<Self, Error> {
		let more = u16::from(prepared.offered().is_some());
		let layout = Layout::create(folder.join("network"), None, all_workers(cheats).saturating_add(more))?;
		Self::of((layout, device), prepared, cheats, Terms::Plain, false).await
	}

	/// Waits for rewards if it is `paid`.
	async fn of(
		(layout, device): (Layout, Option<&str>),
		prepared: Prepared,
		cheats: &[(Cheat, RoundIndex)],
		terms: Terms,
		paid: bool,
	) -> Result<Self, Error> {
		let started = Instant::now();
		let flooded = terms == Terms::Flooded;
		let rules = if flooded { FLOODED } else { Preset::Tiny.rules_for(cheats, 1) };
		let mut network = Network::start(Binaries::find()?, layout, rules).await?;
		device.into_iter().for_each(|device| network.set_device(device));
		let offered = prepared.offered();
		let run = Training::sponsor(&network, prepared, None).await?;
		if let Some(folder) = offered {
			network.add_worker_with_start(&folder, Some(&run.dataset), 1).await?;
		}
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
		let minted = if paid { Minted::wait_for_first(&network, &run).await? } else { Minted::now(&network).await? };
		let view = View::look(&network, &run, None).await?;
		let summary = Summary::collect(&network, &run, &view, minted, started.elapsed()).await?;
		Ok(Self { network, training: run, view, verdicts, summary, flooded })
	}
}

fn all_workers(cheats: &[(Cheat, RoundIndex)]) -> u16 {
	HONEST.saturating_add(Cheat::workers(cheats))
}

/// A dataset of conversations that are made of text at hand: the user says the first half of each, the assistant the second.
async fn conversations(folder: &Path) -> Result<PathBuf, Error> {
	let path = folder.join("chats.jsonl");
	let lines: Vec<String> = registry_texts(CHATS_BYTES)?
		.iter()
		.map(|text| {
			let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
			let said = |role: &str, content: &str| serde_json::json!({ "role": role, "content": content });
			serde_json::json!({ "messages": [said("user", first), said("assistant", second)], "text": text }).to_string()
		})
		.collect();
	std::fs::write(&path, lines.join("\n")).map_err(Error::file(&path))?;
	made_dataset(&path, TRAINED, Some(TEMPLATE), Preset::Tiny, folder).await
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
