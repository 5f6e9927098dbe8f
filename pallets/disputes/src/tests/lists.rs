//! Lists of games and audits, page by page.

use super::{audits::verifier, *};
use crate::{Audit, Audits, Drawn, Part};
use neuroshard_types::dispute::PAGE;
use std::collections::BTreeSet;

#[test]
fn games_are_listed_page_by_page_to_the_last() {
	new_test_ext().execute_with(|| {
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		let game = Games::<Test>::get(&claim, &ALICE).expect("a game");
		for round in 100..700 {
			Games::<Test>::insert(ClaimId { round, ..claim.clone() }, &BOB, game.clone());
		}
		for (who, count) in [(LIAR, 601), (BOB, 600), (ALICE, 1)] {
			let (mut all, mut pages) = (Vec::new(), 0);
			loop {
				let page = Disputes::games_of(who.clone(), all.last().cloned());
				pages += 1;
				let was_last = page.len() < PAGE as usize;
				all.extend(page);
				if was_last {
					break;
				}
			}
			assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len(), pages), (count, count, count / PAGE as usize + 1));
		}
		assert_eq!(Disputes::games(None).len(), PAGE as usize);
	});
}

#[test]
fn audits_are_listed_page_by_page_to_the_last() {
	new_test_ext().execute_with(|| {
		let (claim, ..) = false_work();
		let parts = [0, 1].map(|number| Part::new(verifier(number)));
		let audit = Audit { step: 0, units: 1, drawn_at: 1, seal_by: 9, report_by: 9, closes_at: 99, overdue: false, parts };
		for round in 100..400 {
			Drawn::<Test>::insert(verifier(0), (claim.run, round), &claim.who);
			Audits::<Test>::insert(ClaimId { round, ..claim.clone() }, &audit);
		}
		let first = Disputes::audits_of(verifier(0), None);
		let rest = Disputes::audits_of(verifier(0), first.last().map(|last| (last.run, last.round)));
		let rounds: BTreeSet<u32> = first.iter().chain(&rest).map(|audit| audit.round).collect();
		assert_eq!((first.len(), first.len() + rest.len(), rounds), (PAGE as usize, 300, (100..400).collect()));
	});
}
