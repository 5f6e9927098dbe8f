//! Whatever auditors do in whatever order: nothing is lost, nobody is paid twice, everything ends.

use super::*;
use crate::longest_game;
use proptest::{prelude::*, strategy::Strategy};
use std::collections::BTreeMap;

/// One step of a walk.
#[derive(Clone, Debug)]
enum Step {
	/// An auditor seals what is true, what is false, or that it could not work.
	Seal {
		auditor: usize,
		report: u8,
	},
	/// An auditor opens what it sealed, or something else.
	Open {
		auditor: usize,
		other: bool,
	},
	/// Somebody disputes a sample.
	Challenge {
		challenger: u8,
		auditor: usize,
	},
	/// Somebody disputes the work.
	ChallengeWork {
		challenger: u8,
	},
	/// In one of the open games, whoever's turn it is moves.
	Play(usize),
	/// A verifier leaves the list, or comes back to it.
	Resign(u8),
	Enroll(u8),
	/// So many blocks pass.
	Wait(u32),
}

fn steps() -> impl Strategy<Value = Step> {
	prop_oneof![
		6 => (0usize..4, 0u8..4).prop_map(|(auditor, report)| Step::Seal { auditor, report }),
		8 => (0usize..4, prop::bool::weighted(0.2)).prop_map(|(auditor, other)| Step::Open { auditor, other }),
		4 => (1u8..6, 0usize..4).prop_map(|(challenger, auditor)| Step::Challenge { challenger, auditor }),
		1 => (1u8..6).prop_map(|challenger| Step::ChallengeWork { challenger }),
		10 => any::<usize>().prop_map(Step::Play),
		1 => (0u8..5).prop_map(Step::Resign),
		1 => (0u8..5).prop_map(Step::Enroll),
		4 => (1u32..4).prop_map(Step::Wait),
		1 => (5u32..12).prop_map(Step::Wait),
	]
}

struct Walk {
	auditors: Vec<AccountId>,
	sealed: BTreeMap<AccountId, Report>,
	matches: BTreeMap<(ClaimId, AccountId), Match>,
	work: (ClaimId, Work, Doubt),
	issuance: Balance,
}

impl Walk {
	/// One false work and one that is right are audited by four of five verifiers.
	fn begin(seed: u64) -> Self {
		EpochSeed::set(H256::from_low_u64_be(seed));
		enrolled(5);
		let work = false_work();
		let (right, _) = right_work();
		draw(&work.0);
		let auditors = [&work.0, &right].into_iter().flat_map(|claim| audit(claim).expect("an audit").parts.map(|part| part.auditor));
		let (auditors, issuance) = (auditors.collect(), Balances::total_issuance());
		Self { auditors, sealed: BTreeMap::new(), matches: BTreeMap::new(), work, issuance }
	}

	fn take(&mut self, step: Step) {
		match step {
			Step::Seal { auditor, report } => {
				let (who, report) =
					(self.auditors[auditor].clone(), [truth(), mistaken(), Report::Unavailable, Report::TooSlow][usize::from(report)]);
				if seal(&who, 1, report).is_ok() {
					assert_eq!(self.sealed.insert(who, report), None);
				}
			}
			Step::Open { auditor, other } => {
				let who = &self.auditors[auditor];
				let report = self.sealed.get(who).copied().filter(|_| !other).unwrap_or(JUNK);
				let before = Disputes::audit(0, case::ROUND, who.clone());
				let opened = open(who, 1, report).is_ok();
				assert!(!opened || (!other && before.is_some_and(|view| view.phase == AuditPhase::Reporting && view.report.is_none())));
			}
			Step::Challenge { challenger, auditor } => {
				let (who, auditor) = (account(challenger), self.auditors[auditor].clone());
				if challenge_sample(&who, &auditor).is_ok() {
					let mistake = (self.sealed[&auditor] != truth()).then_some(case::EARLY_MISTAKE);
					let opponent = if mistake.is_some() { case::checker() } else { case::quibbler() };
					let game = Match::new(&sample_of(&auditor), &who, case::claimant(mistake), opponent);
					self.matches.insert((sample_of(&auditor), who), game);
				}
			}
			Step::ChallengeWork { challenger } => {
				let (who, (claim, work, doubt)) = (account(challenger), &self.work);
				if challenge(&who, claim, work, *doubt).is_ok() {
					let game = Match::new(claim, &who, case::claimant(Some(case::MISTAKE)), case::checker());
					self.matches.insert((claim.clone(), who), game);
				}
			}
			Step::Play(number) => {
				let games = Disputes::games(None);
				let game = games.get(number.checked_rem(games.len()).unwrap_or(0)).and_then(|key| self.matches.get_mut(key));
				if let Some(game) = game.filter(|game| game.is_on()) {
					game.step();
				}
			}
			Step::Resign(number) => {
				let _ = Disputes::resign(signed(&verifier(number)));
			}
			Step::Enroll(number) => {
				let _ = Disputes::enroll(signed(&verifier(number)));
			}
			Step::Wait(blocks) => (0..blocks).for_each(|_| next_block()),
		}
		self.check();
	}

	/// Money disappears by burning only; nobody is paid twice, or for what fell.
	fn check(&self) {
		check_invariants();
		let burned: Balance = decisions().iter().map(|(.., burned)| burned).sum();
		assert_eq!(Balances::total_issuance(), self.issuance - burned);
		let mut paid: Vec<AccountId> = credits().into_iter().map(|(who, _)| who).collect();
		paid.sort();
		let count = paid.len();
		paid.dedup();
		assert_eq!(paid.len(), count);
		assert!(paid.iter().all(|who| self.sealed.contains_key(who) && !Condemned::get().contains(&sample_of(who))));
	}
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

	#[test]
	fn nothing_is_lost_and_every_audit_ends(seed: u64, walked in prop::collection::vec(steps(), 1..80)) {
		build_and_execute(|| {
			let mut walk = Walk::begin(seed);
			walked.into_iter().for_each(|step| walk.take(step));
			// Nobody does anything any more. Leftovers take a few blocks.
			let games = Disputes::games(None).len() as u32;
			run_to(System::block_number().max(WINDOW + 1) + longest_game(CLOCK, EXTENSION) + games + 1);
			assert_eq!(Disputes::games(None), []);
			assert_forgotten();
			assert_eq!(closed().len(), 2);
			assert!(OpenClaims::get().values().all(|claims| *claims == 0));
			walk.check();
			for event in events() {
				// Who says the truth loses by silence only.
				if let Event::Decided { claim, decision, .. } = event {
					let truthful = claim.kind == ClaimKind::Audit && walk.sealed[&claim.who] == truth();
					assert!(!truthful || decision != Decision::Fraud);
				}
			}
		});
	}
}
