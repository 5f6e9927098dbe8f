//! Tests of demands, and of what becomes of them.

use super::*;
use crate::Call;
use neuroshard_types::{
	answer_audit::{LaterReceipts, Text},
	inference::{Receipt, Tokens},
	offence::Offence,
};
use sp_runtime::TokenError;

/// Half of the stake that a provider loses; the odd planck is burned.
const HALF: Balance = STAKE / 2;

/// Part of a deposit that a delivery costs the provider: the odd planck is its own.
const OF_PROVIDER: Balance = DEPOSIT - DEPOSIT / 2;

/// `who` has nothing to spend.
fn without_money(who: &AccountId) {
	Balances::set_balance(who, ED);
}

/// Returns the amounts that were rewarded and burned for each text that was not delivered.
fn withheld() -> Vec<(AnswerId, AccountId, Balance, Balance)> {
	let withheld = |event| match event {
		Event::AnswerWithheld { answer, auditor, rewarded, burned } => Some((answer, auditor, rewarded, burned)),
		_ => None,
	};
	events().into_iter().filter_map(withheld).collect()
}

#[test]
fn a_text_that_is_delivered_costs_who_demanded_it_and_who_delivers_it_the_same() {
	build_and_execute(|| {
		let answers = said(&HONEST, 4);
		let auditors = drawn(&answers);
		without_money(&HONEST);
		let issuance = Balances::total_issuance();
		for (place, auditor) in auditors.iter().enumerate() {
			let (had, stake) = ((free(auditor), deposit_of(auditor)), free(&stake_of(&HONEST)));
			assert_ok!(demand(auditor, &answers[place]));
			assert_eq!((free(auditor), deposit_of(auditor)), (had.0 - DEPOSIT, had.1 + DEPOSIT));
			let deadline = System::block_number() + DELIVER_TIME;
			assert_eq!(view(&answers[place]).map(|view| view.delivery), Some(Delivery::Demanded(deadline)));
			assert_eq!(Disputes::answers_demanded_of(HONEST, None).len(), 1);
			next_block();
			assert_ok!(send(&HONEST, delivery(&answers, place)));
			assert_eq!(view(&answers[place]).map(|view| view.delivery), Some(Delivery::Delivered(System::block_number())));
			assert_eq!((Disputes::answers_demanded_of(HONEST, None), deposit_of(auditor)), (vec![], had.1));
			assert_eq!((had.0 - free(auditor), stake - free(&stake_of(&HONEST))), (DEPOSIT / 2, OF_PROVIDER));
		}
		assert_eq!(Balances::total_issuance(), issuance - 4 * DEPOSIT);
		run_to(System::block_number() + LASTS);
		assert_forgotten();
		assert_eq!(
			(free(&stake_of(&HONEST)), Punished::get(), Condemned::get().len(), withheld()),
			(STAKE - 4 * OF_PROVIDER, vec![], 0, vec![])
		);
	});
}

#[test]
fn a_demand_takes_nothing_of_a_stake_from_a_provider_that_can_pay_and_the_rest_from_one_that_cannot() {
	build_and_execute(|| {
		let answers = said(&HONEST, 3);
		let auditors = drawn(&answers);
		// As much as a deposit is left for fees.
		let kept = ED + DEPOSIT;
		for (place, (had, has, of_stake)) in
			[(kept + OF_PROVIDER, kept, 0), (kept + 9, kept, OF_PROVIDER - 9), (kept - 1, kept - 1, OF_PROVIDER)].into_iter().enumerate()
		{
			assert_ok!(demand(&auditors[place], &answers[place]));
			Balances::set_balance(&HONEST, had);
			let (auditors_had, stake, issuance) = (free(&auditors[place]), free(&stake_of(&HONEST)), Balances::total_issuance());
			assert_ok!(send(&HONEST, delivery(&answers, place)));
			assert_eq!((free(&HONEST), stake - free(&stake_of(&HONEST))), (has, of_stake));
			// The odd planck is the provider's: as much comes back as that one has lost.
			assert_eq!((free(&auditors[place]) - auditors_had, issuance - Balances::total_issuance()), (OF_PROVIDER, DEPOSIT));
		}
	});
}

#[test]
fn an_operator_that_delivers_pays_for_it() {
	build_and_execute(|| {
		let answers = said(&HONEST, 1);
		let auditors = drawn(&answers);
		Owners::set([(ALICE, HONEST)].into());
		assert_ok!(demand(&auditors[0], &answers[0]));
		let had = [&ALICE, &HONEST, &stake_of(&HONEST)].map(free);
		assert_ok!(send(&ALICE, delivery(&answers, 0)));
		assert_eq!([&ALICE, &HONEST, &stake_of(&HONEST)].map(free), [had[0] - OF_PROVIDER, had[1], had[2]]);
	});
}

#[test]
fn who_demands_never_loses_more_than_who_delivers_has() {
	build_and_execute(|| {
		let answers = said(&HONEST, 2);
		let auditors = drawn(&answers);
		without_money(&HONEST);
		for (place, stake) in [(0, DEPOSIT / 4), (1, 0)] {
			assert_ok!(demand(&auditors[place], &answers[place]));
			Balances::set_balance(&stake_of(&HONEST), stake);
			let (had, issuance) = (free(&auditors[place]), Balances::total_issuance());
			assert_ok!(send(&HONEST, delivery(&answers, place)));
			assert_eq!((free(&auditors[place]), free(&stake_of(&HONEST))), (had + DEPOSIT - stake, 0));
			assert_eq!(Balances::total_issuance(), issuance - 2 * stake);
		}
	});
}

#[test]
fn a_text_that_is_not_delivered_costs_the_provider_what_a_late_defender_loses() {
	build_and_execute(|| {
		let answers = said(&LIAR, 2);
		assert_ok!(Disputes::enroll(signed(&LIAR)));
		let auditors = drawn(&answers);
		let issuance = Balances::total_issuance();
		assert_ok!(demand(&auditors[0], &answers[0]));
		let deadline = System::block_number() + DELIVER_TIME;
		run_to(deadline);
		assert_eq!(withheld(), []);
		run_to(deadline + 1);
		assert_eq!(withheld(), [(id(&answers[0]), auditors[0].clone(), HALF, HALF + 1)]);
		assert_eq!((free(&auditors[0]), deposit_of(&auditors[0]), free(&stake_of(&LIAR))), (FUNDS + HALF, 0, 0));
		assert_eq!(Balances::total_issuance(), issuance - HALF - 1);
		assert_eq!((Punished::get(), Lied::get()), (vec![(LIAR, Offence::InvalidProof)], [(SESSION, LIAR)].into()));
		assert_eq!((Condemned::get().len(), Disputes::verifiers().contains(&LIAR)), (1, false));
		// Nothing more of that session is demanded.
		let shown = view(&answers[1]).expect("an audit");
		assert!(shown.condemned && shown.delivery == Delivery::Undemanded);
		assert_noop!(demand(&auditors[1], &answers[1]), Error::<Test>::Condemned);
		assert_noop!(send(&LIAR, delivery(&answers, 0)), Error::<Test>::NotDemanded);
	});
}

#[test]
fn who_withholds_two_texts_of_a_session_loses_once() {
	build_and_execute(|| {
		let answers = said(&LIAR, 2);
		let auditors = drawn(&answers);
		assert_ok!(demand(&auditors[0], &answers[0]));
		next_block();
		assert_ok!(demand(&auditors[1], &answers[1]));
		run_to(System::block_number() + DELIVER_TIME);
		// The first one has ended: nobody needs the other one any more, and its deposit is not burned.
		assert_eq!(withheld().len(), 1);
		assert_noop!(send(&LIAR, delivery(&answers, 1)), Error::<Test>::NotDemanded);
		Balances::set_balance(&stake_of(&LIAR), STAKE);
		next_block();
		assert_eq!(withheld()[1..], [(id(&answers[1]), auditors[1].clone(), 0, 0)]);
		assert_eq!((free(&stake_of(&LIAR)), Condemned::get().len()), (STAKE, 1));
		assert_eq!((deposit_of(&auditors[0]), deposit_of(&auditors[1])), (0, 0));
	});
}

#[test]
fn only_the_drawn_auditor_demands_once_and_in_time() {
	build_and_execute(|| {
		let answers = said(&HONEST, 2);
		let auditors = drawn(&answers);
		assert_noop!(demand(&ALICE, &answers[0]), Error::<Test>::NotDrawnForAnswer);
		assert_noop!(demand(&auditors[0], &case::say(&HONEST, 2)), Error::<Test>::NotDrawnForAnswer);
		assert_noop!(demand(&auditors[0], &case::say(&LIAR, 0)), Error::<Test>::NotDrawnForAnswer);
		assert_ok!(demand(&auditors[0], &answers[0]));
		assert_noop!(demand(&auditors[0], &answers[0]), Error::<Test>::AlreadyDemanded);
		assert_ok!(send(&HONEST, delivery(&answers, 0)));
		assert_noop!(demand(&auditors[0], &answers[0]), Error::<Test>::AlreadyDemanded);
		let demand_by = view(&answers[1]).expect("an audit").demand_by;
		run_to(demand_by + 1);
		assert_noop!(demand(&auditors[1], &answers[1]), Error::<Test>::DemandOver);
		System::set_block_number(demand_by);
		assert_ok!(demand(&auditors[1], &answers[1]));
	});
}

#[test]
fn an_auditor_without_a_stake_or_a_deposit_demands_nothing() {
	build_and_execute(|| {
		let answers = said(&HONEST, 1);
		let auditors = drawn(&answers);
		Balances::set_balance(&auditors[0], ED + DEPOSIT - 1);
		assert_noop!(demand(&auditors[0], &answers[0]), TokenError::FundsUnavailable);
		Balances::set_balance(&auditors[0], FUNDS);
		Balances::set_balance(&stake_of(&auditors[0]), LEAST_STAKE - 1);
		assert_noop!(demand(&auditors[0], &answers[0]), Error::<Test>::TooLittleAtStake);
	});
}

#[test]
fn a_text_is_delivered_up_to_the_deadline_and_only_what_is_demanded() {
	build_and_execute(|| {
		let answers = said(&HONEST, 2);
		let auditors = drawn(&answers);
		assert_noop!(send(&HONEST, delivery(&answers, 0)), Error::<Test>::NotDemanded);
		for place in 0..2 {
			assert_ok!(demand(&auditors[place], &answers[place]));
		}
		let deadline = System::block_number() + DELIVER_TIME;
		run_to(deadline);
		assert_noop!(send(&LIAR, delivery(&answers, 0)), Error::<Test>::NotDemanded);
		assert_ok!(send(&HONEST, delivery(&answers, 0)));
		assert_noop!(send(&HONEST, delivery(&answers, 0)), Error::<Test>::NotDemanded);
		System::set_block_number(deadline + 1);
		assert_noop!(send(&HONEST, delivery(&answers, 1)), Error::<Test>::NotDemanded);
		System::set_block_number(deadline);
		assert_ok!(send(&HONEST, delivery(&answers, 1)));
	});
}

#[test]
fn only_the_text_that_was_paid_for_is_delivered() {
	build_and_execute(|| {
		let answers = said(&HONEST, 3);
		let auditors = drawn(&answers);
		assert_ok!(demand(&auditors[1], &answers[1]));
		type Change = fn(&mut Call<Test>);
		macro_rules! change {
			($field:ident => $how:expr) => {
				|call| {
					if let Call::deliver_answer { $field, .. } = call {
						$how($field);
					}
				}
			};
		}
		let refused: [(Change, Error<Test>); 11] = [
			(change!(place => |place: &mut u32| *place = 0), Error::NotDemanded),
			(change!(session => |session: &mut u64| *session += 1), Error::NotDemanded),
			(change!(receipt => |receipt: &mut Receipt| receipt.paid = Some((SESSION, 0))), Error::WrongReceipts),
			(change!(receipt => |receipt: &mut Receipt| receipt.price += 1), Error::WrongReceipts),
			(change!(receipt => |receipt: &mut Receipt| receipt.provider = None), Error::NotSigned),
			(change!(signature => |signature: &mut [u8; 65]| signature[7] ^= 1), Error::NotSigned),
			(change!(before => |before: &mut H256| before.0[3] ^= 1), Error::WrongReceipts),
			(change!(later => |later: &mut LaterReceipts| later[0].0[3] ^= 1), Error::WrongReceipts),
			(change!(later => |later: &mut LaterReceipts| later.truncate(0)), Error::WrongReceipts),
			(change!(prompt => |prompt: &mut Text| prompt[0] += 1), Error::WrongText),
			(change!(answer => |answer: &mut Text| answer.truncate(2)), Error::WrongText),
		];
		for (change, error) in refused {
			let mut call = delivery(&answers, 1);
			change(&mut call);
			assert_noop!(send(&HONEST, call), error);
		}
		assert_ok!(send(&HONEST, delivery(&answers, 1)));
	});
}

#[test]
fn another_receipt_for_the_place_that_was_not_paid_for_is_not_delivered() {
	build_and_execute(|| {
		let mut answers = said(&LIAR, 2);
		let auditors = drawn(&answers);
		assert_ok!(demand(&auditors[0], &answers[0]));
		let right = delivery(&answers, 0);
		answers[0] = answers[0].changed(|receipt| receipt.price += 1);
		assert_noop!(send(&LIAR, delivery(&answers, 0)), Error::<Test>::WrongReceipts);
		assert_ok!(send(&LIAR, right));
	});
}

#[test]
fn an_answer_that_nobody_could_dispute_is_not_delivered() {
	let [first, second, ..] = super::super::answers::settings_out_of_range();
	let changes: [fn(&mut Receipt); 6] = [
		first,
		second,
		|receipt| receipt.checkpoint = None,
		|receipt| receipt.checkpoint = Some((1, case::ROUND)),
		|receipt| receipt.prompt.count = 16_382,
		|receipt| receipt.prompt.count = 1_000,
	];
	for change in changes {
		build_and_execute(|| {
			let answers = [case::say(&LIAR, 0).changed(change)];
			let auditors = drawn(&answers);
			assert_ok!(demand(&auditors[0], &answers[0]));
			assert!([Error::<Test>::WrongText, Error::Undisputable]
				.map(Into::into)
				.contains(&send(&LIAR, delivery(&answers, 0)).unwrap_err()));
		});
	}
	// Where the tokens are all there.
	build_and_execute(|| {
		let mut answer = case::say(&LIAR, 0);
		answer.text[0] = vec![7; 1_000];
		let prompt = Tokens::of(&answer.text[0]);
		let answers = [answer.changed(|receipt| receipt.prompt = prompt)];
		let auditors = drawn(&answers);
		assert_ok!(demand(&auditors[0], &answers[0]));
		assert_noop!(send(&LIAR, delivery(&answers, 0)), Error::<Test>::Undisputable);
	});
	// Settings out of range are false by themselves, also where nothing was answered, or the run is gone.
	build_and_execute(|| {
		let mut answer = case::say(&LIAR, 0);
		answer.text[1].clear();
		let answers = [answer.changed(|receipt| {
			receipt.answer = Tokens::of(&[]);
			first(receipt);
		})];
		let auditors = drawn(&answers);
		assert_ok!(demand(&auditors[0], &answers[0]));
		assert_noop!(send(&LIAR, delivery(&answers, 0)), Error::<Test>::Undisputable);
		Configs::set(Default::default());
		assert_noop!(send(&LIAR, delivery(&answers, 0)), Error::<Test>::Undisputable);
	});
	// Nothing of an answer without tokens could be false, and a run that was offered may be gone.
	build_and_execute(|| {
		let mut answer = case::say(&HONEST, 0);
		answer.text[1].clear();
		let answers = [answer.changed(|receipt| receipt.answer = Tokens::of(&[])), case::say(&HONEST, 1)];
		let auditors = drawn(&answers);
		assert_ok!(demand(&auditors[0], &answers[0]));
		assert_ok!(send(&HONEST, delivery(&answers, 0)));
		Configs::set(Default::default());
		assert_ok!(demand(&auditors[1], &answers[1]));
		assert_ok!(send(&HONEST, delivery(&answers, 1)));
	});
}

#[test]
fn the_longest_text_is_delivered() {
	build_and_execute(|| {
		let mut answer = case::say(&HONEST, 0);
		Configs::mutate(|configs| {
			let model = &mut configs.get_mut(&0).expect("a run").model;
			(model.max_seq, model.heads, model.kv_heads) = (1 << 15, 1, 1);
		});
		answer.text = [vec![7; 16_000], vec![9; 384]];
		let [prompt, told] = answer.text.each_ref().map(|text| Tokens::of(text));
		let answers = [answer.changed(|receipt| (receipt.prompt, receipt.answer) = (prompt, told))];
		let auditors = drawn(&answers);
		assert_ok!(demand(&auditors[0], &answers[0]));
		assert_ok!(send(&HONEST, delivery(&answers, 0)));
	});
}

#[test]
fn operators_demand_with_their_own_money_and_deliver() {
	build_and_execute(|| {
		let answers = said(&HONEST, 2);
		let auditors = drawn(&answers);
		let (by, keeper) = (account(7), account(8));
		for (place, ending) in [(0, true), (1, false)] {
			Owners::set([(by.clone(), auditors[place].clone()), (keeper.clone(), HONEST)].into());
			assert_ok!(demand(&by, &answers[place]));
			assert_eq!((deposit_of(&by), deposit_of(&auditors[place])), (DEPOSIT, 0));
			if ending {
				assert_ok!(send(&keeper, delivery(&answers, place)));
				assert_eq!((deposit_of(&by), free(&by)), (0, FUNDS - DEPOSIT / 2));
			}
		}
		// Nobody delivers the other one: the owner is rewarded, and its operator has its deposit again.
		run_to(System::block_number() + DELIVER_TIME + 1);
		assert_eq!(withheld(), [(id(&answers[1]), auditors[1].clone(), HALF, HALF + 1)]);
		assert_eq!((deposit_of(&by), free(&by)), (0, FUNDS - DEPOSIT / 2));
	});
}

#[test]
fn a_provider_without_a_stake_that_is_late_loses_nothing_more_and_is_punished_all_the_same() {
	build_and_execute(|| {
		let answers = said(&LIAR, 1);
		let auditors = drawn(&answers);
		assert_ok!(demand(&auditors[0], &answers[0]));
		Balances::set_balance(&stake_of(&LIAR), 0);
		run_to(System::block_number() + DELIVER_TIME + 1);
		assert_eq!((withheld(), free(&auditors[0])), (vec![(id(&answers[0]), auditors[0].clone(), 0, 0)], FUNDS));
		assert_eq!(Punished::get(), [(LIAR, Offence::InvalidProof)]);
	});
}

#[test]
fn sixteen_demands_end_in_a_block_and_no_audit_closes_before_its_demand() {
	build_and_execute(|| {
		enrolled(4);
		give(FUNDS);
		for session in 0..40 {
			case::say(&LIAR, 0);
			pay(&LIAR, session, [0, 1], H256::repeat_byte(session as u8));
		}
		draw();
		for session in 0..40 {
			let auditor = Disputes::answer_audit(session, LIAR, 0).expect("an audit").auditor;
			assert_ok!(Disputes::demand_answer(signed(&auditor), session, LIAR, 0));
		}
		// No block ends any of them before they are long over.
		System::set_block_number(System::block_number() + LASTS + 1);
		let mut ended = Vec::new();
		for _ in 0..4 {
			next_block();
			ended.push(withheld().len());
		}
		assert_eq!(ended, [16, 32, 40, 40]);
		assert_forgotten();
		assert!((0..4).all(|number| deposit_of(&verifier(number)) == 0));
	});
}
