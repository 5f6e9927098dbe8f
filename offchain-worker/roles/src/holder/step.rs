//! Next steps of a holder, by the state of the chain.

use neuroshard_types::{
	dataset::{ChallengeView, ShardRange},
	AccountId, BlockNumber, DatasetId,
};

/// Blocks by which it is not worth to bring the end of an attestation nearer: the chain refuses what would not, when it comes to a block.
const SLACK: BlockNumber = 5;

/// Intent for the account's attestations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Intent {
	/// The folder's dataset is attested; other attestations end when they expire.
	Attest,
	/// Those that the folder can answer are ended, others when they expire.
	Answer,
	/// All of them are ended, those with missed challenges too.
	Leave,
}

/// Basis of an attestation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Basis {
	/// Shards in the operator's folder.
	Folder,
	/// Nothing that is at hand.
	Elsewhere,
	/// A dataset that is not on chain any more.
	Gone,
}

/// Attestation of this account for a dataset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Attested {
	pub(super) dataset: DatasetId,
	pub(super) basis: Basis,
	/// First block in which it does not count any more.
	pub(super) expires_at: BlockNumber,
	/// Open challenges.
	pub(super) challenges: Vec<ChallengeView>,
}

/// State of this account on chain.
#[derive(Debug)]
pub(super) struct Seen {
	/// The best block.
	pub(super) now: BlockNumber,
	/// Blocks for which an attestation holds.
	pub(super) period: BlockNumber,
	/// Blocks for an answer, and from a withdrawal to the end of an attestation.
	pub(super) answer_time: BlockNumber,
	/// True if it is an active provider.
	pub(super) active: bool,
	/// Attestations that its stake answers for.
	pub(super) backed: usize,
	pub(super) attested: Vec<Attested>,
	/// Shards to attest, once all of them are known to be in the folder.
	pub(super) target: Option<(DatasetId, ShardRange)>,
}

/// Step to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
	Answer { dataset: DatasetId, challenge: ChallengeView },
	Conclude { dataset: DatasetId, challenger: AccountId },
	Withdraw { dataset: DatasetId },
	Attest { dataset: DatasetId, shards: ShardRange },
}

impl Seen {
	/// Challenges, and whether each can still be answered: an extrinsic gets into the next block at the earliest.
	fn challenges(&self) -> impl Iterator<Item = (DatasetId, &ChallengeView, bool)> {
		let all = self.attested.iter().flat_map(|one| one.challenges.iter().map(|challenge| (one.dataset, challenge)));
		all.map(|(dataset, challenge)| (dataset, challenge, challenge.deadline > self.now))
	}

	/// Challenges that nobody answered in time.
	pub(super) fn missed(&self) -> usize {
		self.challenges().filter(|(_, _, in_time)| !in_time).count()
	}

	/// Returns the step that ends an attestation, if it is to end and something can be done for that now.
	fn ending(&self, one: &Attested, intent: Intent) -> Option<Step> {
		let dataset = one.dataset;
		if let Some(missed) = one.challenges.iter().find(|challenge| challenge.deadline <= self.now) {
			return (intent == Intent::Leave).then(|| Step::Conclude { dataset, challenger: missed.challenger.clone() });
		}
		if one.basis == Basis::Gone || one.expires_at <= self.now {
			let is_over = one.challenges.is_empty() && self.renewal_of(dataset, intent).is_none();
			return is_over.then_some(Step::Withdraw { dataset });
		}
		let ends = match intent {
			Intent::Attest => false,
			Intent::Answer => one.basis == Basis::Folder,
			Intent::Leave => true,
		};
		let notice = self.answer_time.saturating_add(SLACK);
		(ends && one.expires_at > self.now.saturating_add(notice)).then_some(Step::Withdraw { dataset })
	}

	/// Returns the shards to attest of `dataset`, now or later.
	fn renewal_of(&self, dataset: DatasetId, intent: Intent) -> Option<ShardRange> {
		let (_, shards) = self.target.filter(|(target, _)| *target == dataset)?;
		(intent == Intent::Attest && self.active && !self.is_unbacked()).then_some(shards)
	}

	/// Returns whether the stake is too small for what is to be attested.
	pub(super) fn is_unbacked(&self) -> bool {
		let more = self.target.filter(|(target, _)| self.attested.iter().all(|one| one.dataset != *target));
		self.target.is_some() && self.attested.len().saturating_add(usize::from(more.is_some())) > self.backed
	}

	fn renewal(&self, intent: Intent) -> Option<Step> {
		let (dataset, _) = self.target?;
		let shards = self.renewal_of(dataset, intent)?;
		let due = match self.attested.iter().find(|one| one.dataset == dataset) {
			Some(one) => one.challenges.is_empty() && one.expires_at.saturating_sub(self.now) < self.period / 2,
			None => true,
		};
		due.then_some(Step::Attest { dataset, shards })
	}
}

/// Returns the steps to send now, the most urgent first.
pub(super) fn steps(seen: &Seen, intent: Intent) -> Vec<Step> {
	let mut asked: Vec<_> = seen.challenges().filter(|(_, _, in_time)| *in_time).collect();
	asked.sort_by_key(|(_, challenge, _)| challenge.deadline);
	let answers = asked.into_iter().map(|(dataset, challenge, _)| Step::Answer { dataset, challenge: challenge.clone() });
	let endings = seen.attested.iter().filter_map(|one| seen.ending(one, intent));
	answers.chain(endings).chain(seen.renewal(intent)).collect()
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::dataset::ChunkPlace;

	const ALL: ShardRange = ShardRange { first: 0, count: 4 };

	fn challenge(by: u8, deadline: BlockNumber) -> ChallengeView {
		ChallengeView { challenger: AccountId::new([by; 32]), place: ChunkPlace { shard: 1, chunk: 2 }, deadline }
	}

	fn attested(dataset: DatasetId, expires_at: BlockNumber, deadlines: &[BlockNumber]) -> Attested {
		let challenges = deadlines.iter().map(|deadline| challenge(1, *deadline)).collect();
		Attested { dataset, basis: Basis::Folder, expires_at, challenges }
	}

	/// At block 100, with dataset 7 in the folder: an attestation holds for 200 blocks, an answer may take 40.
	fn seen(attested: Vec<Attested>) -> Seen {
		Seen { now: 100, period: 200, answer_time: 40, active: true, backed: 3, attested, target: Some((7, ALL)) }
	}

	const ATTEST: Step = Step::Attest { dataset: 7, shards: ALL };
	const WITHDRAW: Step = Step::Withdraw { dataset: 7 };

	fn conclude(dataset: DatasetId) -> Step {
		Step::Conclude { dataset, challenger: AccountId::new([1; 32]) }
	}

	fn answered(steps: &[Step]) -> Vec<(DatasetId, BlockNumber)> {
		let answers = steps.iter().filter_map(|step| match step {
			Step::Answer { dataset, challenge } => Some((*dataset, challenge.deadline)),
			_ => None,
		});
		answers.collect()
	}

	#[test]
	fn a_dataset_is_attested_if_that_is_wanted_and_renewed_when_half_of_the_time_is_over() {
		assert_eq!(steps(&seen(vec![]), Intent::Attest), [ATTEST]);
		assert_eq!(steps(&seen(vec![]), Intent::Answer), []);
		assert_eq!(steps(&seen(vec![attested(7, 200, &[])]), Intent::Attest), []);
		assert_eq!(steps(&seen(vec![attested(7, 199, &[])]), Intent::Attest), [ATTEST]);
		assert_eq!(steps(&seen(vec![attested(7, 90, &[])]), Intent::Attest), [ATTEST], "it has expired");
		let unchecked = Seen { target: None, ..seen(vec![]) };
		assert_eq!(steps(&unchecked, Intent::Attest), [], "nothing is attested before the folder was compared");
	}

	#[test]
	fn who_is_not_active_attests_nothing_answers_and_removes_what_has_expired() {
		let chilled = |attested| Seen { active: false, ..seen(attested) };
		assert_eq!(steps(&chilled(vec![]), Intent::Attest), []);
		assert_eq!(steps(&chilled(vec![attested(7, 110, &[])]), Intent::Attest), []);
		assert_eq!(answered(&steps(&chilled(vec![attested(7, 300, &[101])]), Intent::Attest)), [(7, 101)]);
		assert_eq!(steps(&chilled(vec![attested(7, 100, &[])]), Intent::Attest), [WITHDRAW]);
	}

	#[test]
	fn challenges_of_all_datasets_are_answered_the_most_urgent_first_and_nothing_comes_before_them() {
		let both = seen(vec![attested(7, 300, &[120, 105]), attested(9, 300, &[101, 130]), attested(10, 90, &[])]);
		let steps = steps(&both, Intent::Attest);
		assert_eq!(answered(&steps), [(9, 101), (7, 105), (7, 120), (9, 130)]);
		assert_eq!(steps[4..], [Step::Withdraw { dataset: 10 }]);
	}

	#[test]
	fn a_challenge_is_answered_whatever_is_in_the_folder_since_only_opening_it_tells() {
		let elsewhere = Attested { basis: Basis::Elsewhere, ..attested(9, 300, &[120]) };
		assert_eq!(answered(&steps(&seen(vec![elsewhere]), Intent::Answer)), [(9, 120)]);
	}

	#[test]
	fn nothing_is_renewed_while_it_is_challenged_but_notice_is_given() {
		let due = seen(vec![attested(7, 150, &[101])]);
		assert_eq!(steps(&due, Intent::Attest).len(), 1);
		assert_eq!(steps(&due, Intent::Leave)[1..], [WITHDRAW]);
		let over = seen(vec![attested(7, 100, &[101])]);
		assert_eq!(steps(&over, Intent::Leave).len(), 1, "it cannot be removed before the answer");
	}

	#[test]
	fn what_the_stake_does_not_answer_for_is_not_attested() {
		let others = vec![attested(1, 300, &[]), attested(2, 300, &[]), attested(3, 300, &[])];
		let full = seen(others.clone());
		assert!(full.is_unbacked());
		assert_eq!(steps(&full, Intent::Attest), []);
		let more = Seen { backed: 4, ..seen(others) };
		assert!(!more.is_unbacked());
		assert_eq!(steps(&more, Intent::Attest), [ATTEST]);
		let slashed = |expires_at| Seen { backed: 0, ..seen(vec![attested(7, expires_at, &[])]) };
		assert_eq!(steps(&slashed(150), Intent::Attest), []);
		assert_eq!(steps(&slashed(100), Intent::Attest), [WITHDRAW]);
		assert!(!Seen { target: None, ..seen(vec![]) }.is_unbacked());
	}

	#[test]
	fn what_is_missed_is_concluded_only_by_who_leaves() {
		let late = seen(vec![attested(7, 150, &[100, 101])]);
		assert_eq!(late.missed(), 1);
		for intent in [Intent::Attest, Intent::Answer] {
			assert_eq!(answered(&steps(&late, intent)), [(7, 101)]);
			assert_eq!(steps(&late, intent).len(), 1);
		}
		assert_eq!(steps(&late, Intent::Leave)[1..], [conclude(7)]);
	}

	#[test]
	fn what_is_not_wanted_any_more_is_withdrawn_once_and_removed_when_its_notice_is_over() {
		for intent in [Intent::Answer, Intent::Leave] {
			assert_eq!(steps(&seen(vec![attested(7, 146, &[])]), intent), [WITHDRAW], "gives notice");
			assert_eq!(steps(&seen(vec![attested(7, 145, &[])]), intent), [], "waits");
			assert_eq!(steps(&seen(vec![attested(7, 101, &[])]), intent), []);
			assert_eq!(steps(&seen(vec![attested(7, 100, &[])]), intent), [WITHDRAW], "removes");
		}
	}

	#[test]
	fn what_the_folder_cannot_answer_is_left_alone_until_it_expires_or_its_account_leaves() {
		let elsewhere = |expires_at| vec![Attested { basis: Basis::Elsewhere, ..attested(9, expires_at, &[]) }];
		let withdraw = [Step::Withdraw { dataset: 9 }];
		assert_eq!(steps(&seen(elsewhere(300)), Intent::Answer), []);
		assert_eq!(steps(&seen(elsewhere(300)), Intent::Leave), withdraw);
		assert_eq!(steps(&seen(elsewhere(100)), Intent::Answer), withdraw);
		// Another dataset with the same manifest as the one that is attested.
		assert_eq!(steps(&seen(vec![attested(7, 300, &[]), attested(9, 300, &[])]), Intent::Attest), []);
		assert_eq!(steps(&seen(vec![attested(7, 300, &[]), attested(9, 100, &[])]), Intent::Attest), withdraw);
	}

	#[test]
	fn what_was_attested_of_a_dataset_that_is_gone_is_removed_at_once_unless_a_challenge_was_missed() {
		let gone = |deadlines: &[BlockNumber]| Attested { basis: Basis::Gone, ..attested(9, 300, deadlines) };
		for intent in [Intent::Attest, Intent::Answer, Intent::Leave] {
			let seen = Seen { target: None, ..seen(vec![gone(&[])]) };
			assert_eq!(steps(&seen, intent), [Step::Withdraw { dataset: 9 }]);
		}
		let missed = Seen { target: None, ..seen(vec![gone(&[90])]) };
		assert_eq!(steps(&missed, Intent::Answer), []);
		assert_eq!(steps(&missed, Intent::Leave), [conclude(9)]);
	}
}
