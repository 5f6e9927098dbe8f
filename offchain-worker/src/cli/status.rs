//! `status`.

use super::{owner, print, CliError, Common};
use clap::Args;
use neuroshard_chain_client::{
	keys::{Account, KeyError},
	ChainAt, ChainClient, Heads, Neuro, Watched,
};
use neuroshard_roles::{
	choose_run,
	defence::clocks::{most_urgent, Turn},
	status::Status,
	KnownRun,
};
use neuroshard_support::{counted::counted, printable::printable_line};
use neuroshard_types::{
	provider::ProviderView,
	reward::Earnings,
	run::{RoundView, RunView},
	BlockNumber, RunId,
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
		let base = common.base()?;
		// What the chain and its runs do can be looked at without an account.
		let account = match Account::load(&base, common.suri.as_deref(), &common.unlock()) {
			Err(KeyError::Missing { .. }) => None,
			account => Some(account?),
		};
		let client = ChainClient::connect_all(&common.node).await?;
		let heads = client.heads().await?;
		let at = client.at(heads.best).await?;
		let nodes = client.nodes().borrow().clone();
		let report = Report { nodes, ..Report::collect(&at, heads, account.as_ref(), self.run, Status::read(&base)).await? };
		if self.json {
			println!("{:#}", report.json());
		} else {
			report.print();
		}
		Ok(0)
	}
}

/// What an account has.
struct Holdings {
	address: String,
	free: Neuro,
	/// Who signs and pays for this account, if it is another one, and what that has.
	operator: Option<(String, Neuro)>,
	provider: Option<ProviderView>,
	earnings: Earnings,
}

impl Holdings {
	async fn of(at: &ChainAt, account: &Account) -> Result<Self, CliError> {
		let (who, signer) = (owner::of(at, account).await?, account.id());
		let operator = match who != signer {
			true => Some((account.address(), Neuro(at.funds(&signer).await?.free))),
			false => None,
		};
		Ok(Self {
			address: who.to_string(),
			free: Neuro(at.funds(&who).await?.free),
			operator,
			provider: at.provider(&who).await?,
			earnings: at.earnings(&who).await?,
		})
	}

	fn print(&self, now: BlockNumber) {
		println!("free       {}", self.free);
		if let Some((operator, free)) = &self.operator {
			println!("operator   {operator}, which signs and pays: free {free}");
		}
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
				print::restrictions(provider, now);
				for chunk in &provider.unbonding {
					println!("unbonding  {}, free from block {}", Neuro(chunk.amount), chunk.unlocks_at);
				}
			}
		}
		let Earnings { claimed, claimable, current_era_estimate } = self.earnings;
		println!("earned     {}, ready to claim {}, this era about {}", Neuro(claimed), Neuro(claimable), Neuro(current_era_estimate));
	}
}

struct Report {
	heads: Heads,
	/// `None` without a key.
	account: Option<Holdings>,
	total_issuance: u128,
	run: Option<(RunId, RunView, Option<RoundView>)>,
	/// Validation loss of the run's newest checkpoint.
	attested: Option<f32>,
	worker: Option<Status>,
	/// The most urgent move in a dispute.
	turn: Option<Turn>,
	/// What each of several nodes says.
	nodes: Watched,
}

impl Report {
	async fn collect(
		at: &ChainAt,
		heads: Heads,
		account: Option<&Account>,
		run: Option<RunId>,
		worker: Option<Status>,
	) -> Result<Self, CliError> {
		let mut views = Vec::new();
		for id in at.runs().await? {
			if let Some(view) = at.run(id).await? {
				views.push((id, view));
			}
		}
		let of =
			|(id, view): &(RunId, RunView)| KnownRun { id: *id, status: view.status, approved: view.approved, prospect: None, spread: 0 };
		let known: Vec<_> = views.iter().map(of).collect();
		// The worker's may be one that was named.
		let at_hand = worker.as_ref().and_then(|worker| worker.run).filter(|id| known.iter().any(|run| run.id == *id));
		let run =
			match choose_run(&known, run.or(at_hand), None, |_| false).and_then(|id| views.into_iter().find(|(other, _)| *other == id)) {
				Some((id, view)) => Some((id, view, at.round(id).await?)),
				None if run.is_some() => return Err(CliError::Unknown(format!("run {}", run.unwrap_or_default()))),
				None => None,
			};
		let attested = match &run {
			Some((id, view, _)) => attested_loss(at, *id, view).await?,
			None => None,
		};
		let turn = match account {
			Some(account) => most_urgent(at, &owner::of(at, account).await?).await?,
			None => None,
		};
		let account = match account {
			Some(account) => Some(Holdings::of(at, account).await?),
			None => None,
		};
		Ok(Self { heads, account, total_issuance: at.total_issuance().await?, run, attested, worker, turn, nodes: Watched::default() })
	}

	fn json(&self) -> Value {
		let account = self.account.as_ref();
		let provider = account.and_then(|account| account.provider.as_ref()).map(|provider| {
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
				"validation_loss": self.attested,
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
			"account": account.map(|account| &account.address),
			"operator": account.and_then(|account| account.operator.as_ref()).map(|(operator, free)| {
				json!({ "account": operator, "free": free.0.to_string() })
			}),
			"best_block": self.heads.best.number,
			"finalized_block": self.heads.finalized.number,
			"nodes": self.nodes.nodes,
			"contradiction": self.nodes.contradiction,
			"free": account.map(|account| account.free.0.to_string()),
			"total_issuance": self.total_issuance.to_string(),
			"provider": provider,
			"earnings": account.map(|Holdings { earnings, .. }| json!({
				"claimed": earnings.claimed.to_string(),
				"claimable": earnings.claimable.to_string(),
				"current_era_estimate": earnings.current_era_estimate.to_string(),
			})),
			"run": run,
			"move_due": self.turn.as_ref().map(|turn| json!({
				"run": turn.claim.run,
				"round": turn.claim.round,
				"claimant": turn.claim.who.to_string(),
				"challenger": turn.challenger.to_string(),
				"deadline": turn.deadline,
				"blocks_left": turn.blocks_left(self.heads.best.number),
			})),
			"worker": self.worker,
		})
	}

	fn print(&self) {
		let address =
			self.account.as_ref().map_or("none here: `neuroshard-worker key generate` makes one", |account| account.address.as_str());
		println!("account    {address}");
		println!("chain      block {}, finalized {}", self.heads.best.number, self.heads.finalized.number);
		for node in &self.nodes.nodes {
			println!("node       {}", printable_line(&print::node(node)));
		}
		if let Some(words) = &self.nodes.contradiction {
			println!("           {}", printable_line(words));
		}
		if let Some(account) = &self.account {
			account.print(self.heads.best.number);
		}
		match &self.run {
			None => println!("run        none that is approved (--run ID shows another one)"),
			Some((id, run, round)) => {
				let name = String::from_utf8_lossy(&run.config.name);
				let name = printable_line(&name);
				println!(
					"run        {id} ({name}), {:?}, {} done, checkpoint {:?}{}",
					run.status,
					counted(run.rounds_adopted, "round"),
					run.checkpoint,
					self.attested.map_or(String::new(), |loss| format!(" with a validation loss of {loss} nats"))
				);
				if let Some(round) = round {
					let deadline = round.deadline.map_or("open".to_owned(), |block| format!("until block {block}"));
					println!(
						"round      {}, {:?} ({deadline}), {}",
						round.round,
						round.phase,
						counted(round.participants.len(), "participant")
					);
				}
			}
		}
		if let Some(turn) = &self.turn {
			let left = turn.blocks_left(self.heads.best.number);
			println!("dispute    {} left for a move about round {} of run {}", counted(left, "block"), turn.claim.round, turn.claim.run);
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
			if let Some(words) = &worker.contradiction {
				println!("           {}", printable_line(words));
			}
			if let Some(waiting) = &audits.waiting {
				println!("           {}", printable_line(waiting));
			}
			for words in worker.waiting.iter().chain(&worker.barred) {
				println!("           {}", printable_line(words));
			}
			if let Some(ended) = &worker.ended {
				println!("           training has ended: {}", printable_line(ended));
			}
			if let Some(error) = &worker.last_error {
				println!("           last problem: {}", printable_line(error));
			}
		}
	}
}

/// Validation loss that is attested of the run's newest checkpoint, while the chain keeps the record of its round.
async fn attested_loss(at: &ChainAt, id: RunId, run: &RunView) -> Result<Option<f32>, CliError> {
	let Some(last) = run.rounds_adopted.checked_sub(1) else { return Ok(None) };
	let record = at.record(id, last).await?.filter(|record| record.checkpoint == run.checkpoint);
	Ok(record.map(|record| record.validation_loss.get()))
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_fixtures::{run_in_training, Connect};
	use neuroshard_mock_node::{Fate, MockNode, Script};
	use neuroshard_types::{run::RoundRecord, F32, H256};

	#[tokio::test]
	async fn a_run_is_shown_to_whoever_asks_also_without_a_key() {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let (id, run, round) = run_in_training();
		node.answer("Training", "runs", &vec![id]);
		node.answer("Training", "run", &Some(run));
		node.answer("Training", "round", &Some(round));
		node.answer("Training", "record", &None::<RoundRecord>);
		let base = tempfile::tempdir().unwrap();
		let common = Common {
			node: vec![node.url()],
			base_path: Some(base.path().to_path_buf()),
			suri: None,
			passphrase_file: None,
			max_memory: None,
		};
		for json in [false, true] {
			let shown = StatusCommand { json, run: Some(id) }.run(&common).await;
			assert_eq!(shown.map_err(|error| error.to_string()), Ok(0));
		}
		let none = StatusCommand { json: false, run: Some(id + 1) }.run(&common).await;
		assert!(none.unwrap_err().to_string().contains("run 8"));
		assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0, "nothing is made for it");
	}

	#[tokio::test]
	async fn the_loss_of_the_newest_checkpoint_is_told_and_that_of_no_other() {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let (id, mut run, _) = run_in_training();
		let record = RoundRecord {
			seed: H256::zero(),
			start: H256::zero(),
			inner_start: H256::zero(),
			first_round: 3,
			participants: Vec::new(),
			late: Vec::new(),
			bridge: None,
			included: Vec::new(),
			excluded: Vec::new(),
			attested: Vec::new(),
			checkpoint: H256::repeat_byte(5),
			fallen: false,
			validation_loss: F32::new(1.25),
			adopted_at: 7,
		};
		node.answer("Training", "record", &Some(record));
		let at = node.client().await.now().await.unwrap();
		for (rounds, checkpoint, expected) in [(4, 5, Some(1.25)), (4, 6, None), (0, 5, None)] {
			(run.rounds_adopted, run.checkpoint) = (rounds, H256::repeat_byte(checkpoint));
			assert_eq!(attested_loss(&at, id, &run).await.map_err(|error| error.to_string()), Ok(expected));
		}
	}
}
