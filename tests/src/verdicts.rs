//! Disputes of a network that were decided, and what they and offences burned.

use crate::{Cheater, Error};
use neuroshard_chain_client::{BlockId, ChainClient, Verdict};
use neuroshard_types::{dispute::ClaimKind, Balance, BlockNumber, RoundIndex, RunId};
use serde::Serialize;
use std::ops::RangeInclusive;

/// Picoseconds of reference time in a millisecond.
const PICOSECONDS: f64 = 1e9;

/// A dispute that was decided.
#[derive(Clone, PartialEq, Debug)]
pub struct Decided {
	/// How.
	pub verdict: Verdict,
	/// In which block.
	pub block: BlockId,
	/// Seconds of chain time from its opening on.
	pub seconds: f64,
}

impl Decided {
	/// The blocks after its opening, up to the one that decided it.
	pub fn blocks(&self) -> RangeInclusive<BlockNumber> {
		let Self { verdict, block, .. } = self;
		block.number.saturating_sub(verdict.blocks).saturating_add(1)..=block.number
	}
}

/// All decided disputes up to some block, in order, and what offences burned beside them. Ends without a decision are none of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Verdicts {
	read: BlockNumber,
	list: Vec<Decided>,
	offences: Vec<(BlockNumber, Balance)>,
}

impl Verdicts {
	/// Reads the blocks up to `last` that were not read yet. It should be finalized.
	///
	/// # Errors
	/// [`Error::Chain`].
	pub async fn read(&mut self, client: &ChainClient, last: BlockNumber) -> Result<(), Error> {
		while self.read < last {
			let number = self.read.saturating_add(1);
			let at = client.at(client.block_at(number).await?).await?;
			let mut decided = Vec::new();
			for verdict in at.verdicts().await? {
				let opened = client.at(client.block_at(number.saturating_sub(verdict.blocks)).await?).await?;
				let seconds = at.time().await?.saturating_sub(opened.time().await?) as f64 / 1e3;
				decided.push(Decided { verdict, block: at.block(), seconds });
			}
			let burned = at.burned_for_offences().await?;
			// All of a block or nothing, so that reading on after an error finds each once.
			self.list.extend(decided);
			self.offences.extend((burned > 0).then_some((number, burned)));
			self.read = number;
		}
		Ok(())
	}

	/// Those that were read.
	pub fn list(&self) -> &[Decided] {
		&self.list
	}

	/// What offences of validators burned, in planck.
	pub fn burned_for_offences(&self) -> Balance {
		self.offences.iter().fold(0, |sum, (_, burned)| sum.saturating_add(*burned))
	}

	/// What disputes and offences burned up to a block, in planck.
	pub fn burned(&self, last: BlockNumber) -> Balance {
		let disputes = self.list.iter().map(|one| (one.block.number, one.verdict.burned));
		let until = disputes.chain(self.offences.iter().copied()).filter(|(block, _)| *block <= last);
		until.fold(0, |total, (_, burned)| total.saturating_add(burned))
	}
}

/// A claim that was disputed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimSummary {
	/// Run.
	pub run: RunId,
	/// Round.
	pub round: RoundIndex,
	/// What is claimed.
	pub kind: ClaimKind,
	/// Address of whose claim it is.
	pub who: String,
}

/// A dispute that was decided. Amounts are planck as text, since JSON numbers end at 2^53.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DisputeSummary {
	/// Name of the cheat that it is about; `none` for a claim of an account that does not cheat in this round.
	pub kind: String,
	/// What was disputed.
	pub claim: ClaimSummary,
	/// Address of who disputed it.
	pub challenger: String,
	/// Extrinsics, opening and deciding move included.
	pub extrinsics: u32,
	/// Bytes of the witness that decided it; 0 if none did.
	pub witness_bytes: u32,
	/// Seconds of chain time from its opening to the verdict.
	pub seconds: f64,
	/// How it was decided.
	pub verdict: String,
	/// What the side that lost has lost.
	pub slashed: String,
	/// How much of that was paid to `receiver`.
	pub rewarded: String,
	/// Address of who received it.
	pub receiver: Option<String>,
	/// How much of it was burned.
	pub burned: String,
	/// Reference time of the deciding extrinsic's weight, in milliseconds; 0 if time decided.
	pub verdict_ms: f64,
	/// Whether an account lost that does not cheat.
	pub honest_loser: bool,
}

impl DisputeSummary {
	/// The summary of a dispute in a network with these cheaters.
	pub fn new(decided: &Decided, cheaters: &[Cheater]) -> Self {
		let Decided { verdict, seconds, .. } = decided;
		let claim = &verdict.claim;
		Self {
			kind: cheaters.iter().find(|one| one.made(claim)).map_or("none", |one| one.cheat.name()).into(),
			claim: ClaimSummary { run: claim.run, round: claim.round, kind: claim.kind, who: claim.who.to_string() },
			challenger: verdict.challenger.to_string(),
			extrinsics: verdict.extrinsics,
			witness_bytes: verdict.witness_bytes,
			seconds: *seconds,
			verdict: format!("{:?}", verdict.decision),
			slashed: verdict.slashed.to_string(),
			rewarded: verdict.rewarded.to_string(),
			receiver: verdict.receiver.as_ref().map(ToString::to_string),
			burned: verdict.burned.to_string(),
			verdict_ms: verdict.ref_time.map_or(0.0, |time| time as f64 / PICOSECONDS),
			honest_loser: cheaters.iter().all(|one| one.account != *verdict.loser()),
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::Cheat;
	use neuroshard_types::{
		dispute::{ClaimId, Decision},
		AccountId, H256,
	};

	fn decided(who: u8, challenger: u8, decision: Decision) -> Decided {
		let claim = ClaimId { run: 0, round: 1, kind: ClaimKind::Work, who: AccountId::new([who; 32]) };
		let verdict = Verdict {
			defender: claim.who.clone(),
			claim,
			challenger: AccountId::new([challenger; 32]),
			decision,
			slashed: 10,
			rewarded: 5,
			receiver: Some(AccountId::new([challenger; 32])),
			burned: 5,
			extrinsics: 9,
			witness_bytes: 4_096,
			blocks: 8,
			ref_time: Some(2_500_000_000),
		};
		Decided { verdict, block: BlockId { number: 40, hash: H256::zero() }, seconds: 24.0 }
	}

	fn cheater(round: RoundIndex) -> Cheater {
		Cheater { cheat: Cheat::BitFlip, round, again: false, account: AccountId::new([1; 32]) }
	}

	#[test]
	fn a_dispute_has_the_name_of_the_cheat_it_is_about_and_of_no_other() {
		let summary = DisputeSummary::new(&decided(1, 2, Decision::Fraud), &[cheater(1)]);
		assert_eq!((summary.kind.as_str(), summary.verdict.as_str(), summary.honest_loser), ("bit-flip", "Fraud", false));
		assert_eq!((summary.slashed.as_str(), summary.verdict_ms), ("10", 2.5));
		assert_eq!(DisputeSummary::new(&decided(1, 2, Decision::Fraud), &[cheater(2)]).kind, "none");
		assert_eq!(DisputeSummary::new(&decided(3, 2, Decision::Fraud), &[cheater(1)]).kind, "none");
	}

	#[test]
	fn a_dispute_has_all_blocks_after_its_opening_up_to_the_verdict() {
		// Opened in block 32.
		assert_eq!(decided(1, 2, Decision::Fraud).blocks(), 33..=40);
	}

	#[test]
	fn honest_accounts_that_lose_are_noticed_on_both_sides() {
		let lost = |who, challenger, decision| DisputeSummary::new(&decided(who, challenger, decision), &[cheater(1)]).honest_loser;
		assert!(lost(3, 1, Decision::DefenderLate) && lost(1, 2, Decision::Unfounded) && lost(1, 2, Decision::ChallengerLate));
		assert!(!lost(3, 1, Decision::Unfounded) && !lost(1, 2, Decision::DefenderLate));
	}

	#[test]
	fn only_a_verdict_about_the_cheat_catches_the_cheater() {
		let verdicts = |list: Vec<Decided>| Verdicts { read: 50, list, offences: vec![(39, 100), (41, 1_000)] };
		let list = vec![decided(3, 1, Decision::Unfounded), decided(1, 2, Decision::Unfounded), decided(1, 2, Decision::Fraud)];
		assert_eq!(cheater(1).caught(&verdicts(list.clone())), Some(2));
		assert_eq!(cheater(2).caught(&verdicts(list.clone())), None);
		let attesting = Cheater { cheat: Cheat::WrongAggregate, again: true, ..cheater(1) };
		assert_eq!(attesting.caught(&verdicts(list.clone())), None);
		assert_eq!((verdicts(list.clone()).burned(38), verdicts(list.clone()).burned(39)), (0, 100));
		assert_eq!((verdicts(list.clone()).burned(40), verdicts(list).burned(41)), (115, 1_115));
	}
}
