//! `quorum form|agree|show|work`: accounts that hold one place of a run together.

pub(super) mod members;
pub(super) mod ways;
mod words;
mod work;

use super::{
	conduct::Conducts,
	money::unsent,
	open::{open, Opened},
	parse, CliError, Common,
};
use clap::{Args, Subcommand};
use neuroshard_chain_client::{quorums, ChainAt, Neuro};
use neuroshard_types::{
	quorum::{fits_a_move, Seat, Span},
	run::RunConfig,
	AccountId, RunId,
};
use std::{collections::BTreeSet, path::PathBuf};

#[derive(Debug, Subcommand)]
pub(super) enum QuorumCommand<C: Conducts> {
	/// Propose a quorum that this account leads, in place of the one that it proposed before.
	Form(Form),
	/// Show what a leader proposes, and agree to exactly that: the stake of this account answers for what it signs then.
	Agree(Agree),
	/// Show the quorums of a run.
	Show {
		/// The run.
		#[arg(long, value_name = "ID")]
		run: RunId,
	},
	/// Train as a member of a quorum that another account leads: in each round of its place, this account's span. Who leads calls `run --quorum`.
	Work(Box<work::Work<C>>),
}

#[derive(Debug, Args)]
pub(super) struct Form {
	/// The run.
	#[arg(long, value_name = "ID")]
	run: RunId,
	/// File with the members by number, this account among them: a JSON list of {"account", "units", "address"}. The first one has the end of the model and
	/// its embedding, and layers follow.
	#[arg(long, value_name = "FILE", required_unless_present = "nobody")]
	members: Option<PathBuf>,
	/// Lead no quorum any more.
	#[arg(long, conflicts_with = "members")]
	nobody: bool,
}

#[derive(Debug, Args)]
pub(super) struct Agree {
	/// The run.
	#[arg(long, value_name = "ID")]
	run: RunId,
	/// Who leads.
	#[arg(long, value_name = "ADDRESS", value_parser = parse::address)]
	leader: AccountId,
}

impl<C: Conducts> QuorumCommand<C> {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		match self {
			Self::Form(command) => command.run(common).await?,
			Self::Agree(command) => command.run(common).await?,
			Self::Show { run } => show(common, run).await?,
			Self::Work(command) => return command.run(common).await,
		}
		Ok(0)
	}
}

impl Form {
	async fn run(self, common: &Common) -> Result<(), CliError> {
		let members = self.members.as_deref().map(members::read).transpose()?;
		let opened = open(common).await?;
		let at = opened.client.now().await?;
		let config = config(&at, self.run).await?;
		let holders = members.map_or(Ok(Vec::new()), |members| members::holders(&members, &config.model))?;
		check(&config, &holders, &opened.who)?;
		opened.submitter.submit_once(quorums::form(self.run, holders.clone())).await.map_err(unsent)?;
		if holders.is_empty() {
			println!("this account leads no quorum of run {}", self.run);
			return Ok(());
		}
		println!("proposed for run {}:", self.run);
		let seats = quorums::led_by(opened.client.now().await?.quorums(self.run).await?, &opened.who);
		words::seats(&config, &seats, &opened.who).iter().for_each(|line| println!("{line}"));
		println!(
			"each of the others agrees with `neuroshard-worker quorum agree --run {} --leader {}`, and works with",
			self.run, opened.who
		);
		println!(
			"`neuroshard-worker quorum work --run {} --leader {} --members FILE`; this account, when all have agreed, with",
			self.run, opened.who
		);
		println!("`neuroshard-worker run --run {} --quorum FILE`", self.run);
		Ok(())
	}
}

impl Agree {
	async fn run(self, common: &Common) -> Result<(), CliError> {
		let opened = open(common).await?;
		let at = opened.client.now().await?;
		let config = config(&at, self.run).await?;
		let seats = quorums::led_by(at.quorums(self.run).await?, &self.leader);
		words::seats(&config, &seats, &opened.who).iter().for_each(|line| println!("{line}"));
		own_seat(&seats, &opened.who, &self.leader, self.run)?;
		tell_reserve(&opened, &at, &config, &seats).await?;
		let holders = seats.iter().map(|seat| (seat.who.clone(), seat.span)).collect();
		opened.submitter.submit_once(quorums::agree(self.run, self.leader.clone(), holders)).await.map_err(unsent)?;
		println!("agreed: what this account signs about the work is checked with the key for proofs that it has now");
		Ok(())
	}
}

async fn config(at: &ChainAt, run: RunId) -> Result<RunConfig, CliError> {
	let view = at.run(run).await?;
	Ok(view.ok_or_else(|| CliError::Invalid(format!("there is no run {run}: `neuroshard-worker train list` shows all")))?.config)
}

/// Refuses before it costs a fee what the chain would refuse.
fn check(config: &RunConfig, holders: &[(AccountId, Span)], me: &AccountId) -> Result<(), CliError> {
	if holders.is_empty() {
		return Ok(());
	}
	if holders.iter().all(|(who, _)| who != me) {
		return Err(CliError::Invalid(format!("{me} is not among the members: who leads a quorum holds a part of the model, too")));
	}
	let spans: Vec<Span> = holders.iter().map(|(_, span)| *span).collect();
	match fits_a_move(&config.model, &config.train, &spans) {
		true => Ok(()),
		false => Err(CliError::Invalid(
			"what so many members say about the inner steps between two states does not fit into a move of a dispute: take fewer members, or a run \
			 whose states follow each other sooner (train.commit_interval)"
				.into(),
		)),
	}
}

/// The seat of this account, to which it has not agreed yet.
fn own_seat(seats: &[Seat], me: &AccountId, leader: &AccountId, run: RunId) -> Result<(), CliError> {
	if seats.is_empty() {
		return Err(CliError::Invalid(format!("{leader} proposes no quorum of run {run}: `neuroshard-worker quorum show` says who does")));
	}
	match seats.iter().find(|seat| seat.who == *me) {
		None => Err(CliError::Invalid(format!("{leader} proposes a quorum of run {run} without {me}: nothing was sent"))),
		Some(seat) if seat.key.is_some() => Err(CliError::Invalid(format!("{me} has agreed to this already: nothing was sent"))),
		Some(_) => Ok(()),
	}
}

/// Says what has to stay free on the account, and warns if it has less: who cannot pay for a move loses its stake.
async fn tell_reserve(opened: &Opened, at: &ChainAt, config: &RunConfig, seats: &[Seat]) -> Result<(), CliError> {
	let spans: Vec<Span> = seats.iter().map(|seat| seat.span).collect();
	let (needed, free) = (at.quorum_reserve(config, &spans).await?, at.funds(&opened.account.id()).await?.free);
	println!("fees of disputes could take up to {} of this account, which has {} free", Neuro(needed), Neuro(free));
	if free < needed {
		tracing::warn!(
			"who cannot pay for a move in a dispute loses its stake: send this account {} more",
			Neuro(needed.saturating_sub(free))
		);
	}
	Ok(())
}

async fn show(common: &Common, run: RunId) -> Result<(), CliError> {
	let opened = open(common).await?;
	let at = opened.client.now().await?;
	let (config, seats) = (config(&at, run).await?, at.quorums(run).await?);
	let leaders: BTreeSet<AccountId> = seats.iter().map(|seat| seat.leader.clone()).collect();
	if leaders.is_empty() {
		println!("run {run} has no quorums");
	}
	let has_place = at.members(run).await?;
	for leader in leaders {
		let place = if has_place.contains(&leader) { "has a place" } else { "has no place yet" };
		println!("quorum of {leader}, which {place}:");
		words::seats(&config, &quorums::led_by(seats.clone(), &leader), &opened.who).iter().for_each(|line| println!("{line}"));
	}
	Ok(())
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_fixtures::run_in_training;
	use neuroshard_types::{ModelConfig, TrainConfig};

	fn account(number: u8) -> AccountId {
		AccountId::new([number; 32])
	}

	#[test]
	fn a_quorum_that_the_chain_would_refuse_is_refused_before_it_costs_a_fee() {
		let (_, view, _) = run_in_training();
		let config = |commit_interval| RunConfig {
			model: ModelConfig::tiny(),
			train: TrainConfig { commit_interval, ..TrainConfig::tiny() },
			..view.config.clone()
		};
		let holders = [(account(1), Span::all(&ModelConfig::tiny()))];
		check(&config(2), &holders, &account(1)).unwrap();
		check(&config(2), &[], &account(1)).unwrap();
		assert!(check(&config(2), &holders, &account(2)).unwrap_err().to_string().contains("not among the members"));
		assert!(check(&config(1 << 24), &holders, &account(1)).unwrap_err().to_string().contains("train.commit_interval"));
	}

	#[test]
	fn only_a_proposal_with_this_account_is_agreed_to_and_only_once() {
		let seat = |who, key| Seat { leader: account(1), who: account(who), span: Span { first: 0, count: 1 }, key };
		let own = |seats: &[Seat]| own_seat(seats, &account(2), &account(1), 7).map_err(|error| error.to_string());
		own(&[seat(1, Some([1; 33])), seat(2, None)]).unwrap();
		assert!(own(&[]).unwrap_err().contains("proposes no quorum of run 7"));
		assert!(own(&[seat(1, Some([1; 33]))]).unwrap_err().contains("without"));
		assert!(own(&[seat(2, Some([1; 33]))]).unwrap_err().contains("already"));
	}
}
