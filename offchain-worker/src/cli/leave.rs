//! `leave`.

use super::{
	bond::{unlocked, unlocked_stake},
	open::{open, Opened, RunLock},
	start::check_dataset,
	until::BlockClock,
	CliError, Common,
};
use clap::Args;
use neuroshard_chain_client::{audits, rewards, staking, training, ChainAt, ChainError, Neuro};
use neuroshard_roles::{end_attestations, forget_request, LEAVE_FILE};
use neuroshard_support::counted::counted;
use neuroshard_types::{
	dispute::longest_game,
	run::{Phase, PhaseDurations, RoundView, RunStatus},
	AccountId, BlockNumber, RoundIndex, RunId,
};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct Leave {
	/// Do not wait for the round at hand: its work is lost, and it counts as a dropout.
	#[arg(long)]
	now: bool,
	/// Folder of the dataset that this account attests: what is asked for until the attestation has ended is answered out of it.
	#[arg(long, value_name = "DIR")]
	dataset: Option<PathBuf>,
}

impl Leave {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		self.dataset.as_deref().map_or(Ok(()), check_dataset)?;
		let opened = open(common).await?;
		let address = opened.who.to_string();
		let at = opened.client.now().await?;
		let Some(provider) = at.provider(&opened.who).await? else {
			return Err(CliError::NotRegistered { address });
		};
		if provider.bonded == 0 {
			return self.withdraw(&opened).await;
		}
		unlocked_stake(&provider, at.block().number)?;
		let deregister = staking::deregister();
		let lock = RunLock::take(&opened.base).ok();
		if !self.now && lock.is_none() {
			// The running worker sees this, leaves its run, finishes the round and ends.
			request(&opened)?;
			println!(
				"the running worker finishes its round, takes its bond out, and ends when nothing that it claimed can be disputed any more"
			);
			let clock = BlockClock::new(&opened.client, &at).await;
			let (rounds, terms) = (rounds_at_hand(&at, &opened.who).await?, at.dispute_terms().await?);
			let disputable = terms.window.saturating_add(longest_game(terms.clock, terms.extension));
			for line in waits(&rounds, (provider.disputable_until, disputable), &clock, at.block().number) {
				println!("{line}");
			}
			if !opened.may_sign(&at, &deregister)? {
				println!("it does not take the bond out itself, and waits until that is done: the status says when its round is finished");
			}
			println!("call `leave` again when it has");
			return Ok(0);
		}
		leave_runs(&opened).await?;
		resign(&opened).await?;
		let left = opened.may_sign(&at, &deregister)?;
		if left {
			opened.submitter.submit(deregister).await?;
		}
		let until = at.provider(&opened.who).await?.map_or(0, |provider| provider.disputable_until);
		let clock = BlockClock::new(&opened.client, &at).await;
		if until > at.block().number {
			let until = clock.until(until);
			println!("somebody may dispute what this account claimed until {until}: `run` defends it, nobody else does");
		}
		let (_, blocks) = at.bond_limits().await?;
		match left {
			true => println!(
				"{} of bond on its way out; call `leave` again in {}{} to withdraw it",
				Neuro(provider.bonded),
				counted(blocks, "block"),
				clock.about(blocks)
			),
			false => println!(
				"when that is in a block, {} of bond are on their way out: call `leave` {} later{}",
				Neuro(provider.bonded),
				counted(blocks, "block"),
				clock.about(blocks)
			),
		}
		if at.attestations_of(&opened.who).await?.is_empty() {
			forget_request(&opened.base)?;
		} else if lock.is_some() && until > at.block().number {
			// A worker can run only while this command does not.
			request(&opened)?;
			println!("start `run --dataset DIR`: it defends that, and ends what this account attests of datasets");
		} else {
			self.end_attestations(&opened, lock.as_ref()).await?;
		}
		Ok(0)
	}

	/// Ends what the account attests of datasets: nothing of its stake comes back before. `lock` is held unless a worker runs, which is asked to do it
	/// then. Returns whether nothing is attested any more.
	async fn end_attestations(&self, opened: &Opened, lock: Option<&RunLock>) -> Result<bool, CliError> {
		let at = opened.client.now().await?;
		let attested = at.attestations_of(&opened.who).await?;
		if attested.is_empty() {
			return Ok(true);
		}
		if lock.is_none() {
			request(opened)?;
			println!("the running worker ends what this account attests of datasets: call `leave` again when it has ended");
			return Ok(false);
		}
		let (count, blocks) = (attested.len(), at.attestation_terms().await?.answer_time);
		println!(
			"ending {} of datasets, which takes about {}{}: what is asked for meanwhile must be answered",
			counted(count, "attestation"),
			counted(blocks, "block"),
			BlockClock::new(&opened.client, &at).await.about(blocks)
		);
		if self.dataset.is_none() {
			println!("name the folder of the dataset with --dataset DIR, so that it is; if this is interrupted, call `leave` again");
		}
		end_attestations(opened.client.clone(), opened.submitter.clone(), self.dataset.clone()).await;
		println!("nothing is attested any more");
		Ok(true)
	}

	async fn withdraw(&self, opened: &Opened) -> Result<u8, CliError> {
		claim(opened).await?;
		let lock = RunLock::take(&opened.base).ok();
		if !self.end_attestations(opened, lock.as_ref()).await? {
			return Ok(0);
		}
		forget_request(&opened.base)?;
		let at = opened.client.now().await?;
		let Some(provider) = at.provider(&opened.who).await? else { return Ok(0) };
		match unlocked(&provider, at.block().number) {
			Ok(ready) => {
				let withdraw = staking::withdraw_unbonded();
				if opened.may_sign(&at, &withdraw)? {
					opened.submitter.submit(withdraw).await?;
					println!("{} withdrawn", Neuro(ready));
				}
			}
			Err(_) if provider.unbonding.is_empty() => println!("nothing is bonded"),
			Err(why) => println!("{why}"),
		}
		Ok(0)
	}
}

/// Asks the worker that runs, or the next one, to leave.
fn request(opened: &Opened) -> Result<(), CliError> {
	let path = opened.base.join(LEAVE_FILE);
	std::fs::write(&path, b"").map_err(CliError::file(&path))
}

/// A round that an account takes part in, and the last block of it unless a phase is repeated.
type AtHand = (RunId, RoundIndex, BlockNumber);

/// Rounds that `who` takes part in.
async fn rounds_at_hand(at: &ChainAt, who: &AccountId) -> Result<Vec<AtHand>, ChainError> {
	let mut rounds = Vec::new();
	for (run, view) in at.run_views(at.runs().await?).await? {
		let round = if view.status == RunStatus::Active { at.round(run).await? } else { None };
		if let Some(round) = round.filter(|round| round.participants.iter().any(|one| one.account == *who)) {
			rounds.push((run, round.round, last_block(&round, &view.config.durations, at.block().number)));
		}
	}
	Ok(rounds)
}

/// Block at which a round ends at the latest, unless a phase is repeated.
fn last_block(round: &RoundView, durations: &PhaseDurations, now: BlockNumber) -> BlockNumber {
	let PhaseDurations { training, revealing, availability, checkpointing, .. } = *durations;
	let later: &[BlockNumber] = match round.phase {
		Phase::Joining => &[training, revealing, availability, checkpointing],
		Phase::Training => &[revealing, availability, checkpointing],
		Phase::Revealing => &[availability, checkpointing],
		Phase::Availability => &[checkpointing],
		Phase::Checkpointing => &[],
	};
	later.iter().fold(round.deadline.unwrap_or(now), |block, phase| block.saturating_add(*phase))
}

/// What a running worker waits for before it ends, and until when. What was claimed can be disputed until block `known`, and what `rounds` bring for so
/// many blocks after them.
fn waits(rounds: &[AtHand], (known, disputable): (BlockNumber, BlockNumber), clock: &BlockClock, now: BlockNumber) -> Vec<String> {
	let round = |(run, round, end): &AtHand| {
		format!("round {round} of run {run} is over by {}, unless a phase of it is repeated", clock.until(*end))
	};
	let mut lines: Vec<String> = rounds.iter().map(round).collect();
	let ends = rounds.iter().map(|(_, _, end)| end.saturating_add(disputable));
	let until = ends.fold(known, BlockNumber::max);
	lines.push(match until > now {
		true => format!("what it claimed can be disputed until {}", clock.until(until)),
		false => "nothing that it claimed can be disputed".to_owned(),
	});
	lines
}

async fn leave_runs(opened: &Opened) -> Result<(), CliError> {
	let at = opened.client.now().await?;
	for run in at.runs().await? {
		let active = at.run(run).await?.is_some_and(|view| view.status == RunStatus::Active);
		if active && at.members(run).await?.contains(&opened.who) {
			opened.submitter.submit(training::leave(run)).await?;
			println!("left run {run}");
		}
	}
	Ok(())
}

/// Has the account drawn for no more audits.
async fn resign(opened: &Opened) -> Result<(), CliError> {
	if opened.client.now().await?.verifiers().await?.contains(&opened.who) {
		opened.submitter.submit(audits::resign()).await?;
		println!("resigned as a verifier");
	}
	Ok(())
}

/// Collects what the last rounds earned after the worker had left.
async fn claim(opened: &Opened) -> Result<(), CliError> {
	let eras = opened.client.now().await?.claimable_eras(&opened.who).await?;
	let earned: u128 = eras.iter().map(|(_, amount)| amount).sum();
	for (era, _) in &eras {
		opened.submitter.submit(rewards::claim_for(opened.who.clone(), *era)).await?;
	}
	if earned > 0 {
		println!("{} of earnings claimed", Neuro(earned));
	}
	Ok(())
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::H256;

	#[test]
	fn a_worker_that_leaves_says_which_block_its_round_and_its_claims_wait_for() {
		let clock = BlockClock::of(100, Some(6_000));
		assert_eq!(
			waits(&[(2, 7, 160)], (90, 1_000), &clock, 100),
			[
				"round 7 of run 2 is over by block 160, 60 blocks from now (about 6 min), unless a phase of it is repeated",
				"what it claimed can be disputed until block 1160, 1060 blocks from now (about 106 min)",
			]
		);
		assert_eq!(
			waits(&[], (130, 1_000), &clock, 100),
			["what it claimed can be disputed until block 130, 30 blocks from now (about 3 min)"]
		);
		assert_eq!(waits(&[], (100, 1_000), &clock, 100), ["nothing that it claimed can be disputed"]);
	}

	#[test]
	fn a_round_is_over_when_the_phases_after_the_one_at_hand_have_passed() {
		let durations = PhaseDurations { joining: 1, training: 10, revealing: 20, availability: 40, checkpointing: 80 };
		let mut round = RoundView {
			round: 3,
			attempt: 0,
			phase: Phase::Joining,
			deadline: None,
			checkpoint: H256::zero(),
			start: H256::zero(),
			seed: H256::zero(),
			started_at: (0, 0),
			participants: Vec::new(),
			late: Vec::new(),
			ahead: None,
			bridge: None,
		};
		for (phase, later) in
			[(Phase::Joining, 150), (Phase::Training, 140), (Phase::Revealing, 120), (Phase::Availability, 80), (Phase::Checkpointing, 0)]
		{
			(round.phase, round.deadline) = (phase, Some(500));
			assert_eq!(last_block(&round, &durations, 400), 500 + later, "{phase:?}");
			round.deadline = None;
			assert_eq!(last_block(&round, &durations, 400), 400 + later, "{phase:?}");
		}
	}
}
