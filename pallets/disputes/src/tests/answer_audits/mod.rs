//! Audits of answers: draws, demands, disputes.

mod demands;
mod disputed;
mod draws;
mod invariants;
mod lists;
mod pool;
mod properties;

use super::{
	audits::{enrolled, verifier},
	case::{Answered, Telling, SESSION},
	*,
};
use crate::{AnswerAudits, Error};
use frame_support::traits::fungible::{InspectHold, Mutate};
use neuroshard_types::{
	answer_audit::{AnswerAuditView, AnswerId, Delivery, OnPaid, PaidAnswersOf},
	inference::chained,
};

/// Blocks from the draw to the close.
const LASTS: u32 = 3 * DELIVER_TIME;

/// Hash of an answer's receipt.
fn hash(answer: &Answered) -> H256 {
	answer.receipt.hash(System::block_hash(0))
}

/// Root of receipts.
fn root(answers: &[Answered]) -> H256 {
	answers.iter().fold(H256::zero(), |root, answer| chained(root, hash(answer)))
}

pub(super) fn id(answer: &Answered) -> AnswerId {
	let (session, place) = answer.receipt.paid.expect("a place");
	AnswerId { session, provider: answer.claim.who.clone(), place }
}

/// `who` is paid for so many answers, where it was paid for fewer before.
pub(super) fn pay(who: &AccountId, session: u64, places: [u32; 2], receipts: H256) {
	pay_for(who, session, places, receipts, 0);
}

/// The same, with so much.
fn pay_for(who: &AccountId, session: u64, [before, answers]: [u32; 2], receipts: H256, paid: Balance) {
	let checkpoint = case::checkpoint();
	<Disputes as OnPaid>::paid(PaidAnswersOf { session, provider: who.clone(), before, answers, receipts, checkpoint, paid });
}

/// Goes two epochs on and runs a block, in which what was paid for is drawn.
pub(super) fn draw() {
	Epoch::mutate(|epoch| *epoch += 2);
	next_block();
}

/// Gives four verifiers so much money.
fn give(amount: Balance) {
	for number in 0..4 {
		Balances::set_balance(&verifier(number), amount);
	}
}

/// These answers of one provider are paid for and drawn: all of them, by one of four verifiers each, who have money.
pub(super) fn drawn(answers: &[Answered]) -> Vec<AccountId> {
	enrolled(4);
	give(FUNDS);
	let who = &answers[0].claim.who;
	pay(who, SESSION, [0, answers.len().try_into().expect("few")], root(answers));
	draw();
	answers.iter().map(|answer| view(answer).expect("all are drawn").auditor).collect()
}

/// Returns so many answers that nobody has computed.
pub(super) fn said(who: &AccountId, count: u32) -> Vec<Answered> {
	(0..count).map(|place| case::say(who, place)).collect()
}

pub(super) fn view(answer: &Answered) -> Option<AnswerAuditView> {
	let AnswerId { session, provider, place } = id(answer);
	Disputes::answer_audit(session, provider, place)
}

fn demand(by: &AccountId, answer: &Answered) -> DispatchResult {
	let AnswerId { session, provider, place } = id(answer);
	Disputes::demand_answer(signed(by), session, provider, place)
}

/// Returns the call that delivers one of these answers.
fn delivery(answers: &[Answered], place: usize) -> crate::Call<Test> {
	let answer = &answers[place];
	let [prompt, told] = answer.text.clone().map(|text| text.try_into().expect("short"));
	crate::Call::deliver_answer {
		session: id(answer).session,
		place: id(answer).place,
		receipt: answer.receipt.clone(),
		signature: answer.signature,
		before: root(&answers[..place]),
		later: answers[place + 1..].iter().map(hash).collect::<Vec<_>>().try_into().expect("few"),
		prompt,
		answer: told,
	}
}

/// `by` signs this call.
fn send(by: &AccountId, call: crate::Call<Test>) -> DispatchResult {
	use sp_runtime::traits::Dispatchable;
	RuntimeCall::from(call).dispatch(signed(by)).map(|_| ()).map_err(|failed| failed.error)
}

/// The session of all answers is settled, and the provider offers nothing any more.
fn settle() {
	Answering::set(Default::default());
}

/// Returns the amount on hold for demands.
fn deposit_of(who: &AccountId) -> Balance {
	Balances::balance_on_hold(&crate::HoldReason::Demand.into(), who)
}

/// Nothing is left of any audit of an answer.
fn assert_forgotten() {
	let audits = AnswerAudits::<Test>::iter().count() + crate::DrawnAnswers::<Test>::iter().count();
	let queues = crate::AnswerClosings::<Test>::iter().count() + crate::Demands::<Test>::iter().count();
	assert_eq!((audits, queues, crate::AuditedSessions::<Test>::iter().count()), (0, 0, 0));
}
