//! `status`.

use super::{open::open, print, CliError, Common};
use crate::{
	chain::{ChainAt, Heads, Neuro},
	infer::printable_line,
	keys::Account,
	run::{plan::choose_run, status::Status},
};
use clap::Args;
use neuroshard_types::{
	provider::ProviderView,
	reward::Earnings,
	run::{RoundView, RunView},
	RunId,
};
use serde_json::{json, Value};

#[derive(Debug, Args)]
pub(super) struct StatusCommand {
	/// Print JSON; amounts are planck as text.
	#[arg(long)]
	json: bool,
	/// Run to show instead of the one that a worker would choose.
	#[arg(long)]
	run: Option<RunId>,
}

impl StatusCommand {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let opened = open(common).await?;
		let heads = opened.client.heads().await?;
		let at = opened.client.at(heads.best).await?;
		let worker = Status::read(&opened.base);
		let report = Report::collect(&at, heads, &opened.account, self.run, worker).await?;
		if self.json {
			println!("{:#}", report.json());
		} else {
			report.print();
		}
		Ok(0)
	}
}

struct Report {
	heads: Heads,
	address: String,
	free: Neuro,
	total_issuance: u128,
	provider: Option<ProviderView>,
	earnings: Earnings,
	run: Option<(RunId, RunView, Option<RoundView>)>,
	worker: Option<Status>,
}

impl Report {
	async fn collect(at: &ChainAt, heads: Heads, account: &Account, run: Option<RunId>, worker: Option<Status>) -> Result<Self, CliError> {
		let who = account.id();
		let mut views = Vec::new();
		for id in at.runs().await? {
			if let Some(view) = at.run(id).await? {
				views.push((id, view));
			}
		}
		let known: Vec<_> = views.iter().map(|(id, view)| (*id, view.status, view.approved)).collect();
		let at_hand = worker.as_ref().and_then(|worker| worker.run);
		let run = match choose_run(&known, run, at_hand).and_then(|id| views.into_iter().find(|(other, _)| *other == id)) {
			Some((id, view)) => Some((id, view, at.round(id).await?)),
			None if run.is_some() => return Err(CliError::Unknown(format!("run {}", run.unwrap_or_default()))),
			None => None,
		};
		Ok(Self {
			heads,
			address: account.address(),
			free: Neuro(at.funds(&who).await?.free),
			total_issuance: at.total_issuance().await?,
			provider: at.provider(&who).await?,
			earnings: at.earnings(&who).await?,
			run,
			worker,
		})
	}

	fn json(&self) -> Value {
		let provider = self.provider.as_ref().map(|provider| {
			json!({
				"status": provider.status,
				"roles": provider.info.roles,
				"hardware": provider.info.hardware,
				"bonded": provider.bonded.to_string(),
				"unbonding": provider.unbonding.iter().map(|chunk| json!({
					"amount": chunk.amount.to_string(),
					"unlocks_at": chunk.unlocks_at,
				})).collect::<Vec<_>>(),
				"open_claims": provider.open_claims,
				"disputable_until": provider.disputable_until,
				"reputation": provider.reputation,
				"tier": provider.tier,
				"locked_until": provider.locked_until,
				"suspended_until": provider.suspended_until,
				"missed_audits": provider.missed_audits,
			})
		});
		let run = self.run.as_ref().map(|(id, run, round)| {
			json!({
				"id": id,
				"name": String::from_utf8_lossy(&run.config.name),
				"dataset": run.config.dataset,
				"status": run.status,
				"approved": run.approved,
				"rounds": run.config.rounds,
				"rounds_adopted": run.rounds_adopted,
				"checkpoint": format!("{:?}", run.checkpoint),
				"round": round.as_ref().map(|round| json!({
					"round": round.round,
					"attempt": round.attempt,
					"phase": round.phase,
					"deadline": round.deadline,
					"participants": round.participants.len(),
					"committed": round.participants.iter().filter(|one| one.sealed.is_some()).count(),
					"revealed": round.participants.iter().filter(|one| one.work.is_some()).count(),
					"voted": round.participants.iter().filter(|one| one.vote.is_some()).count(),
					"attested": round.participants.iter().filter(|one| one.attestation.is_some()).count(),
				})),
			})
		});
		json!({
			"account": self.address,
			"best_block": self.heads.best.number,
			"finalized_block": self.heads.finalized.number,
			"free": self.free.0.to_string(),
			"total_issuance": self.total_issuance.to_string(),
			"provider": provider,
			"earnings": {
				"claimed": self.earnings.claimed.to_string(),
				"claimable": self.earnings.claimable.to_string(),
				"current_era_estimate": self.earnings.current_era_estimate.to_string(),
			},
			"run": run,
			"worker": self.worker,
		})
	}

	fn print(&self) {
		println!("account    {}", self.address);
		println!("chain      block {}, finalized {}", self.heads.best.number, self.heads.finalized.number);
		println!("free       {}", self.free);
		match &self.provider {
			None => println!("provider   not registered (`neuroshard-worker register`)"),
			Some(provider) => {
				println!(
					"provider   {}, bond {}, reputation {}, tier {:?}",
					print::status(&provider.status),
					Neuro(provider.bonded),
					provider.reputation,
					provider.tier
				);
				print::restrictions(provider, self.heads.best.number);
				for chunk in &provider.unbonding {
					println!("unbonding  {}, free from block {}", Neuro(chunk.amount), chunk.unlocks_at);
				}
			}
		}
		let Earnings { claimed, claimable, current_era_estimate } = self.earnings;
		println!("earned     {}, ready to claim {}, this era about {}", Neuro(claimed), Neuro(claimable), Neuro(current_era_estimate));
		match &self.run {
			None => println!("run        none on this chain yet"),
			Some((id, run, round)) => {
				let name = String::from_utf8_lossy(&run.config.name);
				let name = printable_line(&name);
				println!("run        {id} ({name}), {:?}, {} rounds done, checkpoint {:?}", run.status, run.rounds_adopted, run.checkpoint);
				if let Some(round) = round {
					let deadline = round.deadline.map_or("open".to_owned(), |block| format!("until block {block}"));
					println!("round      {}, {:?} ({deadline}), {} participants", round.round, round.phase, round.participants.len());
				}
			}
		}
		if let Some(worker) = &self.worker {
			println!("worker     {}", worker.task.as_deref().map_or("idle".into(), printable_line));
			if let Some(speed) = worker.tokens_per_second {
				println!("speed      {speed:.0} tokens/s while it trained in the newest round");
			}
			let audits = &worker.audits;
			if *audits != Default::default() {
				let state = if audits.enrolled { "enrolled" } else { "not enrolled" };
				println!("audits     {state}, {} open, {} reported since the start", audits.open, audits.reported);
			}
			if let Some(waiting) = &audits.waiting {
				println!("           {}", printable_line(waiting));
			}
			if let Some(waiting) = &worker.waiting {
				println!("           {}", printable_line(waiting));
			}
			if let Some(error) = &worker.last_error {
				println!("           last problem: {}", printable_line(error));
			}
		}
	}
}
