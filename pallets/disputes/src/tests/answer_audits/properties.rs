//! Whatever is paid for, drawn, demanded, delivered and disputed in whatever order: money adds up, prompt providers lose nothing, everything ends.

use super::*;
use crate::longest_game;
use proptest::{prelude::*, strategy::Strategy};
use std::collections::{BTreeMap, BTreeSet};

/// One step of a walk.
#[derive(Clone, Debug)]
enum Step {
	/// A provider is paid for so many more answers in a session.
	Pay { session: u64, honest: bool, count: u32 },
	/// An epoch ends.
	Epoch,
	/// An auditor demands a text, or somebody else tries.
	Demand { audit: usize, other: bool },
	/// A provider delivers what is demanded, or something else.
	Deliver { demand: usize, wrong: bool },
	/// Somebody disputes a drawn answer without a case, or its auditor does.
	Challenge { audit: usize, challenger: u8 },
	/// A session is settled.
	Settle(u64),
	/// A stake is what it was at first.
	Bond(bool),
	/// Blocks, in which the honest provider delivers whatever is demanded.
	Wait(u32),
}

fn steps() -> impl Strategy<Value = Step> {
	prop_oneof![
		6 => (0u64..4, any::<bool>(), 1u32..7).prop_map(|(session, honest, count)| Step::Pay { session, honest, count }),
		6 => Just(Step::Epoch),
		10 => (any::<usize>(), prop::bool::weighted(0.1)).prop_map(|(audit, other)| Step::Demand { audit, other }),
		6 => (any::<usize>(), prop::bool::weighted(0.2)).prop_map(|(demand, wrong)| Step::Deliver { demand, wrong }),
		3 => (any::<usize>(), 0u8..5).prop_map(|(audit, challenger)| Step::Challenge { audit, challenger }),
		1 => (0u64..4).prop_map(Step::Settle),
		1 => any::<bool>().prop_map(Step::Bond),
		8 => (1u32..4).prop_map(Step::Wait),
		1 => (4u32..25).prop_map(Step::Wait),
	]
}

/// The providers.
fn provider(honest: bool) -> AccountId {
	if honest {
		HONEST
	} else {
		LIAR
	}
}

struct Walk {
	/// Answers by session and provider.
	answers: BTreeMap<(u64, AccountId), Vec<Answered>>,
	settled: BTreeSet<u64>,
	issuance: Balance,
}

impl Walk {
	fn begin() -> Self {
		enrolled(4);
		give(40 * FUNDS);
		[LIAR, HONEST].iter().for_each(|who| drop(case::say(who, 0)));
		Self { answers: BTreeMap::new(), settled: BTreeSet::new(), issuance: Balances::total_issuance() }
	}

	fn pick<T>(all: Vec<T>, number: usize) -> Option<T> {
		let index = number.checked_rem(all.len())?;
		all.into_iter().nth(index)
	}

	fn audits() -> Vec<AnswerAuditView> {
		let mut all: Vec<_> = (0..4).flat_map(|number| Disputes::answer_audits_of(verifier(number), None)).collect();
		all.sort_by(|a, b| a.answer.cmp(&b.answer));
		all
	}

	/// Returns the call that delivers a demanded answer: that of the voucher which was claimed, whatever came behind it.
	fn delivery(&self, view: &AnswerAuditView) -> crate::Call<Test> {
		let AnswerId { session, provider, place } = view.answer.clone();
		let answers = &self.answers[&(session, provider)][..view.answers as usize];
		assert_eq!(root(answers), view.receipts);
		super::delivery(answers, place as usize)
	}

	fn pay(&mut self, session: u64, who: AccountId, count: u32) {
		if self.settled.contains(&session) || Lied::get().contains(&(session, who.clone())) {
			return;
		}
		Answering::mutate(|answering| answering.insert((session, who.clone())));
		let answers = self.answers.entry((session, who.clone())).or_default();
		let before = answers.len() as u32;
		let more = (before..before + count).map(|place| case::say(&who, place).changed(|receipt| receipt.paid = Some((session, place))));
		answers.extend(more);
		let (now, receipts) = (answers.len() as u32, root(answers));
		super::pay(&who, session, [before, now], receipts);
	}

	/// The honest provider delivers in time.
	fn next_block(&self) {
		next_block();
		for view in Disputes::answers_demanded_of(HONEST, None) {
			let delivered = send(&HONEST, self.delivery(&view));
			assert!(delivered.is_ok() || view.condemned, "{view:?} {delivered:?}");
		}
	}

	fn take(&mut self, step: Step) {
		match step {
			Step::Pay { session, honest, count } => self.pay(session, provider(honest), count),
			Step::Epoch => Epoch::mutate(|epoch| *epoch += 1),
			Step::Demand { audit, other } => {
				let Some(view) = Self::pick(Self::audits(), audit) else { return };
				let by = if other { ALICE } else { view.auditor.clone() };
				let AnswerId { session, provider, place } = view.answer.clone();
				let may = !other
					&& view.delivery == Delivery::Undemanded
					&& System::block_number() <= view.demand_by
					&& !view.condemned
					&& free(&by) >= DEPOSIT + ED
					&& free(&stake_of(&by)) >= LEAST_STAKE;
				assert_eq!(Disputes::demand_answer(signed(&by), session, provider, place).is_ok(), may, "{view:?}");
			}
			Step::Deliver { demand, wrong } => {
				let demanded = Self::audits().into_iter().filter(|view| matches!(view.delivery, Delivery::Demanded(_))).collect();
				let Some(view) = Self::pick(demanded, demand) else { return };
				let mut call = self.delivery(&view);
				if let (true, crate::Call::deliver_answer { prompt, .. }) = (wrong, &mut call) {
					prompt[0] += 1;
				}
				let Delivery::Demanded(deadline) = view.delivery else { return };
				let may = !wrong && !view.condemned && System::block_number() <= deadline;
				assert_eq!(send(&view.answer.provider, call).is_ok(), may, "{view:?}");
			}
			Step::Challenge { audit, challenger } => {
				let Some(view) = Self::pick(Self::audits(), audit) else { return };
				let AnswerId { session, provider, place } = view.answer.clone();
				// Nobody plays: a provider loses by its silence, and the honest one is left alone.
				if provider == HONEST {
					return;
				}
				let answer = &self.answers[&(session, provider)][place as usize];
				let who = if challenger == 0 { view.auditor.clone() } else { account(challenger) };
				let challenged = Disputes::challenge_answer(signed(&who), answer.receipt.clone(), answer.signature, 0);
				assert!(challenged.is_err() || !view.condemned);
				if challenged.is_ok() && who == view.auditor {
					assert_eq!(Disputes::game(answer.claim.clone(), who).map(|game| game.bond), Some(BOND));
				}
			}
			Step::Settle(session) => {
				self.settled.insert(session);
				Answering::mutate(|answering| answering.retain(|(of, _)| *of != session || *of == SESSION));
				Lied::mutate(|lied| lied.retain(|(of, _)| *of != session));
			}
			Step::Bond(honest) => {
				let stake = stake_of(&provider(honest));
				let before = Balances::total_issuance();
				Balances::set_balance(&stake, STAKE);
				self.issuance = self.issuance + Balances::total_issuance() - before;
			}
			Step::Wait(blocks) => (0..blocks).for_each(|_| self.next_block()),
		}
		self.check();
	}

	/// Money disappears by burning only, and as much as the events say. Who delivers loses its part of deliveries, and nothing else.
	fn check(&self) {
		check_invariants();
		let burned: Balance = events()
			.into_iter()
			.map(|event| match event {
				Event::Decided { burned, .. } | Event::AnswerDelivered { burned, .. } | Event::AnswerWithheld { burned, .. } => burned,
				_ => 0,
			})
			.sum();
		assert_eq!(Balances::total_issuance(), self.issuance - burned);
		let delivered = |event: &Event<Test>| matches!(event, Event::AnswerDelivered { answer, .. } if answer.provider == HONEST);
		let parts = Balance::try_from(events().iter().filter(|event| delivered(event)).count()).unwrap() * (DEPOSIT - DEPOSIT / 2);
		assert!(free(&stake_of(&HONEST)) + parts >= STAKE && Punished::get().iter().all(|(who, _)| *who != HONEST));
	}
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

	#[test]
	fn money_adds_up_and_every_audit_ends(walked in prop::collection::vec(steps(), 1..80)) {
		build_and_execute(|| {
			let mut walk = Walk::begin();
			walked.into_iter().for_each(|step| walk.take(step));
			// Nobody does anything any more, but for who delivers. Leftovers take a few blocks.
			Epoch::mutate(|epoch| *epoch += 2);
			for _ in 0..LASTS.max(longest_game(CLOCK, EXTENSION)) + 20 {
				walk.next_block();
			}
			walk.check();
			assert_forgotten();
			assert_eq!((Disputes::games(None), crate::UndrawnAnswers::<Test>::iter().count()), (vec![], 0));
			assert!((0..4).all(|number| deposit_of(&verifier(number)) == 0));
			assert!(OpenClaims::get().values().all(|claims| *claims == 0));
			// A text is withheld once for each demand at most, and costs something once for each session at most.
			let costly: Vec<_> = events()
				.into_iter()
				.filter_map(|event| match event {
					Event::AnswerWithheld { answer, rewarded, .. } if rewarded > 0 => Some((answer.session, answer.provider)),
					_ => None,
				})
				.collect();
			let sessions: BTreeSet<_> = costly.iter().cloned().collect();
			assert_eq!(sessions.len(), costly.len());
		});
	}
}
