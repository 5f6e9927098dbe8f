//! Benchmarks of every call and hook in their most expensive case. What pieces cost is measured in the runtime's own WASM elsewhere: they are
//! executed by one function of `graph`, whoever calls it.

mod setup;

use crate::{
	answer_audit::Handed, AnswerAudits, AnswerClosings, Audits, Call, Config, Deadlines, Demands, Games, Noted, Pallet, SweptTo, TextOf,
	Undrawn, UndrawnAnswers, UndrawnSpan, Verifiers,
};
use frame_benchmarking::v2::*;
use frame_system::RawOrigin;
use neuroshard_graph::game::{Anchor, Doubt, Move, Position};
use neuroshard_types::{
	audit::Report,
	dispute::{ClaimId, ClaimKind, Decision},
	span::Span,
	traits::Providers,
	AccountId, H256,
};
pub use setup::BenchmarkHelper;
use setup::*;

/// Hashes that a move with so many bytes to hash posts: with their tree, they are hashed twice.
fn hashes(bytes: u32) -> u32 {
	bytes.div_euclid(64)
}

#[benchmarks]
mod benchmarks {
	use super::*;

	/// The first game against the claimant.
	#[benchmark]
	fn challenge_work() {
		let (claim, work) = work::<T>(0);
		let who = challenger::<T>(0);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), claim.run, claim.round, claim.who.clone(), work, Doubt::Interval(0));

		assert!(Games::<T>::contains_key(claim, who));
	}

	/// About `r` outer steps; the first game against the claimant.
	#[benchmark]
	fn challenge_attestation(r: Linear<1, 64>) {
		let claim = attestation::<T>(r);
		let who = challenger::<T>(0);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), claim.run, claim.round, claim.who.clone());

		assert!(Games::<T>::contains_key(claim, who));
	}

	/// Posts a list with `b` bytes to hash, about a claim that is judged by `r` records, and gains time by it.
	#[benchmark]
	fn play(b: Linear<128, 1048576>, r: Linear<1, 64>) -> Result<(), BenchmarkError> {
		let (claim, who, list) = (attestation::<T>(r), challenger::<T>(0), roots(hashes(b)));
		Pallet::<T>::do_challenge_attestation(who.clone(), claim.clone())?;
		let end = list.last().copied().ok_or("a root")?;
		let position = Position::Steps { first: 0, count: hashes(b), start: Anchor::Checkpoint, end };
		Games::<T>::mutate(&claim, &who, |game| game.iter_mut().for_each(|game| game.position = position));
		frame_system::Pallet::<T>::set_block_number(Pallet::<T>::now().saturating_add(1).into());

		#[extrinsic_call]
		_(RawOrigin::Signed(claim.who.clone()), claim.clone(), who.clone(), H256(position.hash()), Move::Steps(list));

		assert_eq!(Games::<T>::get(claim, who).map(|game| game.extrinsics()), Some(2));
		Ok(())
	}

	/// Work falls: its claimant loses its stake, what its round computed is redone, and its audit closes, whose auditors are paid.
	#[benchmark]
	fn decide() -> Result<(), BenchmarkError> {
		let (claim, work, _) = reported::<T>(Report::Sample(H256::zero()));
		let (who, game) = opened::<T>(&claim, &work)?;

		#[block]
		{
			Pallet::<T>::decide(claim.clone(), who.clone(), game, Decision::Fraud, 0);
		}

		assert!(!Games::<T>::contains_key(&claim, who) && !Audits::<T>::contains_key(&claim));
		assert_eq!(T::Providers::slashable(&claim.who), 0);
		Ok(())
	}

	/// Nothing is due, and `p` blocks are passed over.
	#[benchmark]
	fn end_due(p: Linear<0, 16>) {
		frame_system::Pallet::<T>::set_block_number(1_000u32.into());
		SweptTo::<T>::put(1_000u32.saturating_sub(p));

		#[block]
		{
			Pallet::<T>::end_due();
		}

		assert_eq!(SweptTo::<T>::get(), 1_000);
	}

	/// The audit closes, whose auditors have missed it.
	#[benchmark]
	fn end_moot() -> Result<(), BenchmarkError> {
		let (claim, work, _) = drawn::<T>();
		let (who, game) = opened::<T>(&claim, &work)?;

		#[block]
		{
			Pallet::<T>::end_moot(claim.clone(), who.clone(), game);
		}

		assert!(!Games::<T>::contains_key(&claim, who) && !Audits::<T>::contains_key(&claim));
		Ok(())
	}

	/// As a decision; the defender is late.
	#[benchmark]
	fn end_late() -> Result<(), BenchmarkError> {
		let (claim, work, _) = reported::<T>(Report::Sample(H256::zero()));
		let (who, game) = opened::<T>(&claim, &work)?;
		frame_system::Pallet::<T>::set_block_number(game.deadline.saturating_add(1).into());
		SweptTo::<T>::put(game.deadline);

		#[block]
		{
			Pallet::<T>::end_due();
		}

		assert!(!Games::<T>::contains_key(&claim, who) && !Audits::<T>::contains_key(&claim));
		assert_eq!((T::Providers::slashable(&claim.who), Deadlines::<T>::iter().count()), (0, 0));
		Ok(())
	}

	#[benchmark]
	fn check_turn() -> Result<(), BenchmarkError> {
		let (claim, work) = work::<T>(0);
		let (who, game) = opened::<T>(&claim, &work)?;
		let (position, action) = (H256(game.position.hash()), Move::Steps(roots(4)));
		let admitted;

		#[block]
		{
			admitted = Pallet::<T>::admit(&claim.who, &claim, &who, position, &action);
		}

		assert_eq!(admitted, Ok(game));
		Ok(())
	}

	/// A report is opened.
	#[benchmark]
	fn check_report() {
		let (claim, _, auditors) = drawn::<T>();
		auditors.iter().for_each(|auditor| seal::<T>(&claim, auditor, Report::Unavailable));
		let [who, _] = auditors;
		let admitted;

		#[block]
		{
			admitted = Pallet::<T>::to_report(&who, claim.run, claim.round, &SALT, &Report::Unavailable);
		}

		assert_eq!(admitted.map(|(of, _)| of).ok(), Some(claim));
	}

	/// The list is full afterwards.
	#[benchmark]
	fn enroll() {
		verifiers::<T>(511);
		let who: AccountId = account("caller", 0, 0);
		T::BenchmarkHelper::verifier(&who);

		#[extrinsic_call]
		_(RawOrigin::Signed(who));

		assert_eq!(Verifiers::<T>::get().len(), 512);
	}

	#[benchmark]
	fn resign() {
		verifiers::<T>(512);
		let who: AccountId = account("verifier", 0, 0);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()));

		assert!(!Pallet::<T>::list_verifiers().contains(&who));
	}

	/// The last one on the list is active no more.
	#[benchmark]
	fn sweep() -> Result<(), BenchmarkError> {
		verifiers::<T>(512);
		let who = Verifiers::<T>::get().last().map(|last| last.account.clone()).ok_or("a verifier")?;
		T::BenchmarkHelper::verifier(&who);
		T::BenchmarkHelper::chill(&who);
		frame_system::Pallet::<T>::set_block_number(511u32.into());

		#[block]
		{
			Pallet::<T>::sweep();
		}

		assert!(!Pallet::<T>::list_verifiers().contains(&who));
		Ok(())
	}

	/// The partner has sealed.
	#[benchmark]
	fn seal_audit() {
		let (claim, _, [who, partner]) = drawn::<T>();
		seal::<T>(&claim, &partner, Report::Unavailable);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), claim.run, claim.round, H256::zero());

		assert!(Audits::<T>::get(claim).is_some_and(|audit| audit.part(&who).is_some_and(|part| part.sealed.is_some())));
	}

	/// The work is excluded.
	#[benchmark]
	fn report_audit() {
		let (claim, _, [first, who]) = drawn::<T>();
		[&first, &who].into_iter().for_each(|auditor| seal::<T>(&claim, auditor, Report::Unavailable));
		assert_eq!(Pallet::<T>::do_report(first, claim.run, claim.round, &SALT, Report::Unavailable), Ok(()));
		T::BenchmarkHelper::under_way(&claim);

		#[extrinsic_call]
		_(RawOrigin::Signed(who), claim.run, claim.round, SALT, Report::Unavailable);

		assert!(Audits::<T>::get(claim).is_some_and(|audit| audit.is_unavailable()));
	}

	#[benchmark]
	fn challenge_audit() {
		let (claim, _, [auditor, _]) = reported::<T>(Report::Sample(H256::zero()));
		let who = challenger::<T>(0);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), claim.run, claim.round, auditor.clone());

		assert!(Games::<T>::contains_key(ClaimId { kind: ClaimKind::Audit, who: auditor, ..claim }, who));
	}

	/// The first game against the provider.
	#[benchmark]
	fn challenge_answer() -> Result<(), BenchmarkError> {
		let (receipt, signature) = answered::<T>()?;
		let who = challenger::<T>(0);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), receipt, signature, 0);

		assert_eq!(Pallet::<T>::games_of(who, None).len(), 1);
		Ok(())
	}

	/// Of a text with `t` tokens, behind which there are `l` answers.
	#[benchmark]
	fn check_delivery(t: Linear<1, 16384>, l: Linear<0, 255>) -> Result<(), BenchmarkError> {
		let (answer, delivery) = demanded::<T>(t, l)?;
		let Delivery { receipt, signature, before, later, prompt, answer: tokens } = &delivery;
		let handed = Handed { receipt, signature, before: *before, later, prompt, answer: tokens };
		let admitted;

		#[block]
		{
			admitted = Pallet::<T>::to_deliver(&answer, &handed);
		}

		assert!(admitted.is_ok());
		Ok(())
	}

	#[benchmark]
	fn demand_answer() -> Result<(), BenchmarkError> {
		let (answer, auditor, _) = drawn_answer::<T>(1, 0)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(auditor), answer.session, answer.provider.clone(), answer.place);

		assert!(AnswerAudits::<T>::get(answer).is_some_and(|audit| audit.demand().is_some()));
		Ok(())
	}

	/// A text with `t` tokens, behind which there are `l` answers.
	#[benchmark]
	fn deliver_answer(t: Linear<1, 16384>, l: Linear<0, 255>) -> Result<(), BenchmarkError> {
		let (answer, delivery) = demanded::<T>(t, l)?;
		let Delivery { receipt, signature, before, later, prompt, answer: tokens } = delivery;

		#[extrinsic_call]
		_(RawOrigin::Signed(answer.provider.clone()), answer.session, answer.place, receipt, signature, before, later, prompt, tokens);

		assert!(AnswerAudits::<T>::get(answer).is_some_and(|audit| matches!(audit.text, TextOf::Delivered(_))));
		Ok(())
	}

	/// Takes `n` demands that were met out of their queue.
	#[benchmark]
	fn end_demands(n: Linear<0, 16>) -> Result<(), BenchmarkError> {
		let (answer, _, _) = drawn_answer::<T>(1, 0)?;
		queue_met::<T>(&answer, n);

		#[block]
		{
			Pallet::<T>::end_demands();
		}

		assert_eq!(Demands::<T>::iter_keys().count(), 0);
		Ok(())
	}

	/// The provider loses its stake.
	#[benchmark]
	fn end_demand() -> Result<(), BenchmarkError> {
		let (answer, _) = demanded::<T>(1, 0)?;
		frame_system::Pallet::<T>::set_block_number(Pallet::<T>::now().saturating_add(2).into());

		#[block]
		{
			Pallet::<T>::end_demands();
		}

		assert!(AnswerAudits::<T>::get(&answer).is_some_and(|audit| audit.text == TextOf::Withheld));
		assert_eq!(T::Providers::slashable(&answer.provider), 0);
		Ok(())
	}

	/// `n` audits, each of another session.
	#[benchmark]
	fn close_answers(n: Linear<0, 64>) {
		audits_of_answers::<T>(n);
		frame_system::Pallet::<T>::set_block_number(Pallet::<T>::now().saturating_add(3).into());

		#[block]
		{
			Pallet::<T>::close_answers();
		}

		assert_eq!(AnswerClosings::<T>::iter_keys().count(), 0);
	}

	/// A claim of pay waits for its epoch.
	#[benchmark]
	fn draw_answers_idle() {
		note_answers::<T>(1, u64::MAX);

		#[block]
		{
			Pallet::<T>::draw_answers();
		}

		assert_eq!(UndrawnAnswers::<T>::iter_keys().count(), 1);
	}

	/// From `c` claims of pay, with 256 answers each, of which at most `d` are drawn: four from each of the first ones.
	#[benchmark]
	fn draw_answers(c: Linear<1, 64>, d: Linear<0, 256>) {
		verifiers::<T>(512);
		note_answers::<T>(c, 0);
		leave_undrawn::<T>(d.div_ceil(4));

		#[block]
		{
			Pallet::<T>::draw_answers();
		}

		assert_eq!(UndrawnAnswers::<T>::iter_keys().count(), 0);
		let drawn = c.min(d.div_ceil(4)).saturating_mul(4);
		assert_eq!(AnswerAudits::<T>::iter_keys().count(), usize::try_from(drawn).unwrap_or_default());
	}

	/// A round waits for its epoch.
	#[benchmark]
	fn draw_idle() {
		UndrawnSpan::<T>::put(Span { first: 0, next: 1 });
		Undrawn::<T>::insert(0, Noted { run: 0, round: 0, epoch: u64::MAX });

		#[block]
		{
			Pallet::<T>::draw_due();
		}

		assert!(Undrawn::<T>::contains_key(0));
	}

	/// Of a round with `n` claims, all of which are drawn.
	#[benchmark]
	fn draw(n: Linear<1, 128>) {
		verifiers::<T>(512);
		(0..n).for_each(|number| drop(work::<T>(number)));
		UndrawnSpan::<T>::put(Span { first: 0, next: 1 });
		Undrawn::<T>::insert(0, Noted { run: 0, round: 0, epoch: 0 });

		#[block]
		{
			Pallet::<T>::draw_due();
		}

		assert_eq!(Audits::<T>::iter_keys().count(), usize::try_from(n).unwrap_or_default());
	}

	#[benchmark]
	fn close_idle() {
		drawn::<T>();

		#[block]
		{
			Pallet::<T>::close_due();
		}

		assert_eq!(Audits::<T>::iter_keys().count(), 1);
	}

	/// Both auditors have missed it, and are punished.
	#[benchmark]
	fn close() {
		let (claim, _, auditors) = drawn::<T>();
		let closes_at = Audits::<T>::get(&claim).map(|audit| audit.closes_at).unwrap_or_default();
		frame_system::Pallet::<T>::set_block_number(closes_at.into());

		#[block]
		{
			Pallet::<T>::close_due();
		}

		assert!(!Audits::<T>::contains_key(&claim));
		assert!(auditors.iter().all(|auditor| !Pallet::<T>::list_verifiers().contains(auditor)));
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
