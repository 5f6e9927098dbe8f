use super::*;
use neuroshard_types::{
	provider::{ProviderInfo, Roles, Tier, UnbondingChunk},
	NEURO,
};

const GENESIS: H256 = H256([4; 32]);
const OWN: H256 = H256([5; 32]);
const OTHER: H256 = H256([6; 32]);

fn me() -> AccountId {
	AccountId::new([9; 32])
}

/// Drawn at block 100, 20 blocks for sealing, 10 for reporting, closed at block 200.
pub(in crate::auditor) fn drawn() -> AuditView {
	AuditView {
		run: 1,
		round: 2,
		subject: AccountId::new([1; 32]),
		partner: AccountId::new([2; 32]),
		step: 7,
		phase: AuditPhase::Sealing,
		deadline: 120,
		sealed: None,
		report: None,
		partner_sealed: false,
		partner_report: None,
		closes_at: 200,
	}
}

fn note(report: Report) -> Note {
	Note { run: 1, round: 2, subject: AccountId::new([1; 32]), step: 7, salt: [3; 32], report, until: 200, challenged: false }
}

fn sample() -> Note {
	note(Report::Sample(OWN))
}

fn sealed() -> H256 {
	sample().seal(GENESIS, &me())
}

/// Both have sealed at block 110.
fn reporting() -> AuditView {
	AuditView { phase: AuditPhase::Reporting, deadline: 120, sealed: Some(sealed()), partner_sealed: true, ..drawn() }
}

/// Both have reported.
fn waiting(own: Report, partner: Report) -> AuditView {
	AuditView { phase: AuditPhase::Waiting, deadline: 200, report: Some(own), partner_report: Some(partner), ..reporting() }
}

fn next(audit: &AuditView, finalized: Option<&AuditView>, now: BlockNumber) -> Option<Step> {
	answer(audit, &sample(), finalized, sealed(), now)
}

#[test]
fn a_report_is_sealed_at_once_and_not_after_the_deadline() {
	let seal = Some(Step::Seal { run: 1, round: 2, sealed: sealed() });
	assert_eq!(next(&drawn(), None, 101), seal);
	assert_eq!(next(&drawn(), None, 119), seal);
	// The next block is after the last one.
	assert_eq!(next(&drawn(), None, 120), None);
	// With a reorganisation a seal may be gone: it is sent again.
	assert_eq!(next(&AuditView { sealed: Some(sealed()), ..drawn() }, None, 105), None);
	assert_eq!(next(&drawn(), Some(&AuditView { sealed: Some(sealed()), ..drawn() }), 106), seal);
}

#[test]
fn a_report_is_opened_when_nobody_can_seal_any_more_on_any_fork() {
	let report = Some(Step::Report { run: 1, round: 2, salt: [3; 32], report: Report::Sample(OWN) });
	let sealing = AuditView { phase: AuditPhase::Sealing, ..reporting() };
	assert_eq!(next(&reporting(), None, 111), None);
	assert_eq!(next(&reporting(), Some(&sealing), 112), None);
	assert_eq!(next(&reporting(), Some(&AuditView { sealed: None, ..reporting() }), 112), None);
	assert_eq!(next(&reporting(), Some(&reporting()), 113), report);
	assert_eq!(next(&reporting(), Some(&reporting()), 119), report);
	assert_eq!(next(&reporting(), Some(&reporting()), 120), None);
	// When nothing gets finalized, it is opened in time all the same.
	assert_eq!(next(&reporting(), Some(&sealing), 115), None);
	assert_eq!(next(&reporting(), Some(&sealing), 116), report);
}

#[test]
fn what_was_not_sealed_is_not_reported() {
	for sealed in [None, Some(OTHER)] {
		let audit = AuditView { sealed, ..reporting() };
		assert_eq!(next(&audit, Some(&audit), 118), None);
	}
}

#[test]
fn a_partner_with_another_sample_is_disputed_once_as_long_as_it_can_be() {
	let (own, other) = (Report::Sample(OWN), Report::Sample(OTHER));
	let challenge = Some(Step::Challenge { run: 1, round: 2, who: AccountId::new([2; 32]) });
	assert_eq!(next(&waiting(own, other), None, 121), challenge);
	assert_eq!(next(&waiting(own, other), None, 198), challenge);
	assert_eq!(next(&waiting(own, other), None, 199), None, "block 200 takes none");
	let challenged = Note { challenged: true, ..sample() };
	assert_eq!(answer(&waiting(own, other), &challenged, None, sealed(), 121), None);
}

#[test]
fn nothing_is_disputed_without_two_samples_that_differ() {
	let (own, other) = (Report::Sample(OWN), Report::Sample(OTHER));
	assert_eq!(next(&waiting(own, own), None, 121), None);
	assert_eq!(next(&waiting(own, Report::Unavailable), None, 121), None);
	assert_eq!(next(&AuditView { partner_report: None, ..waiting(own, own) }, None, 121), None);
	assert_eq!(next(&AuditView { report: None, ..waiting(own, other) }, None, 121), None);
	let unavailable = note(Report::Unavailable);
	assert_eq!(answer(&waiting(Report::Unavailable, other), &unavailable, None, sealed(), 121), None);
	// What stands on chain is not what this worker computed.
	assert_eq!(answer(&waiting(other, own), &sample(), None, sealed(), 121), None);
}

#[test]
fn it_is_late_for_what_is_missing_when_few_blocks_are_left_for_the_seal() {
	let late: Vec<_> = (110..125).filter(|now| is_last_call(&drawn(), *now)).collect();
	assert_eq!(late, [116, 117, 118, 119]);
	assert!(!is_last_call(&reporting(), 118));
}

#[test]
fn an_audit_is_open_until_this_auditor_has_reported_or_cannot_any_more() {
	assert!(is_open(&drawn()) && is_open(&AuditView { sealed: Some(sealed()), ..drawn() }) && is_open(&reporting()));
	assert!(!is_open(&AuditView { report: Some(Report::Sample(OWN)), ..reporting() }));
	assert!(!is_open(&AuditView { sealed: None, ..reporting() }));
	assert!(!is_open(&waiting(Report::Sample(OWN), Report::Sample(OWN))));
}

/// An active provider with the role of a verifier, and no other.
pub fn provider() -> ProviderView {
	let (hardware, addresses, peer_id) = Default::default();
	let info = ProviderInfo { roles: Roles::only(Role::Verifier), hardware, ponw_key: [2; 33], peer_id, addresses };
	let (status, unbonding) = (ProviderStatus::Active, Vec::new());
	let (locked_until, suspended_until, missed_audits) = (0, 0, 0);
	let (bonded, open_claims, reputation, disputable_until, tier) = (100 * NEURO, 0, 0, 0, Tier::C);
	ProviderView {
		info,
		status,
		bonded,
		unbonding,
		open_claims,
		reputation,
		disputable_until,
		tier,
		locked_until,
		suspended_until,
		missed_audits,
	}
}

/// Of an account that is not drawn, among five others, with all that disputes take.
fn standing(provider: &ProviderView) -> Standing<'_> {
	let (enrolled, audited, rests, leaving) = (false, true, None, false);
	Standing {
		provider,
		verifiers: 5,
		enrolled,
		audited,
		rests,
		leaving,
		free: 7 * NEURO,
		reserve: 7 * NEURO,
		efforts: Efforts::default(),
		challenging: false,
	}
}

#[test]
fn active_providers_with_the_role_are_drawn_until_they_leave() {
	let active = provider();
	let outside = || standing(&active);
	let enrolled = || Standing { enrolled: true, ..outside() };
	let full = MAX_VERIFIERS as usize;
	assert_eq!((outside().enrolment(), enrolled().enrolment()), (Some(Step::Enroll), None));
	assert_eq!(Standing { verifiers: full, ..outside() }.enrolment(), None);
	assert_eq!(Standing { leaving: true, ..outside() }.enrolment(), None);
	assert_eq!(Standing { leaving: true, verifiers: full, ..enrolled() }.enrolment(), Some(Step::Resign));
	assert_eq!(Standing { audited: false, ..outside() }.enrolment(), None, "nobody is drawn");
}

#[test]
fn who_is_chilled_or_demoted_is_drawn_no_more_and_has_a_say_while_anything_is_at_stake() {
	let chilled = ProviderView { status: ProviderStatus::Chilled, ..provider() };
	let mut without = provider();
	without.info.roles = Roles::only(Role::Worker);
	for provider in [&chilled, &without] {
		assert!(standing(provider).has_say());
		assert_eq!(standing(provider).enrolment(), None);
		assert_eq!(Standing { enrolled: true, ..standing(provider) }.enrolment(), Some(Step::Resign));
	}
	let unbonding = vec![UnbondingChunk { amount: 1, unlocks_at: 500 }];
	assert!(standing(&ProviderView { bonded: 0, unbonding, ..chilled.clone() }).has_say());
	assert!(!standing(&ProviderView { bonded: 0, ..chilled }).has_say());
}

#[test]
fn who_rests_enrolls_afterwards_and_says_when() {
	let active = provider();
	let rests = || Standing { rests: Some(99), ..standing(&active) };
	assert_eq!(rests().enrolment(), None);
	assert!(rests().obstacle().unwrap().to_string().ends_with("enrolls again at block 99"));
	// After a reorganisation it may be on the list all the same.
	let enrolled = Standing { enrolled: true, ..rests() };
	assert_eq!((enrolled.enrolment(), enrolled.obstacle()), (None, None));
	assert_eq!(Standing { leaving: true, ..rests() }.obstacle(), None);
}

#[test]
fn who_could_not_audit_in_time_is_not_drawn_and_says_so_before() {
	let active = provider();
	let slow = |enrolled, takes_ms| {
		let efforts = Efforts { longest: Some(Longest { run: 7, takes_ms, has_ms: 60_000 }), ..Efforts::default() };
		Standing { enrolled, efforts, ..standing(&active) }
	};
	// Who is not on the list needs some room; who is on it leaves it when there is not time enough at all.
	assert_eq!((slow(false, 48_000).enrolment(), slow(false, 48_001).enrolment()), (Some(Step::Enroll), None));
	assert_eq!((slow(true, 60_000).enrolment(), slow(true, 60_001).enrolment()), (None, Some(Step::Resign)));
	let words = slow(false, 61_000).obstacle().unwrap().to_string();
	assert!(words.contains("run 7") && words.contains("about 61 s") && words.contains("has 60 s"), "{words}");
	assert_eq!(slow(true, 60_000).obstacle(), None);
	// Nobody else has to hear of it.
	assert_eq!(Standing { leaving: true, ..slow(false, 61_000) }.obstacle(), None);
}

#[test]
fn who_has_no_memory_for_a_round_does_not_enroll_and_says_so_and_stays_if_it_is_on_the_list() {
	let active = provider();
	let efforts = Efforts { too_large: Some(TooLarge { run: 7, needed: 3 << 20, available: 1 << 20 }), ..Efforts::default() };
	let large = |enrolled| Standing { enrolled, efforts, ..standing(&active) };
	assert_eq!((large(false).enrolment(), large(true).enrolment()), (None, None));
	let words = large(false).obstacle().unwrap().to_string();
	assert!(words.contains("run 7") && words.contains("3 MiB") && words.contains("1 MiB"), "{words}");
	assert_eq!(large(true).obstacle(), None);
}

#[test]
fn an_account_that_a_dispute_could_empty_is_drawn_no_more_and_says_what_is_missing() {
	let active = provider();
	let short = |enrolled| Standing { enrolled, free: 7 * NEURO - 1, ..standing(&active) };
	assert_eq!((short(false).enrolment(), short(true).enrolment()), (None, Some(Step::Resign)));
	let words = short(true).obstacle().unwrap().to_string();
	assert!(words.contains("6.999999 NEURO are free") && words.contains("can come to 7 NEURO"), "{words}");
	assert!(words.contains("send this account 0.000001 NEURO"), "{words}");
	assert_eq!(short(false).obstacle(), short(true).obstacle(), "also when it has resigned");
	assert_eq!(standing(&active).obstacle(), None);
	// What is missing is the bond of a dispute that it opened, and comes back.
	let challenging = |enrolled| Standing { challenging: true, ..short(enrolled) };
	assert_eq!((challenging(true).enrolment(), challenging(true).obstacle()), (None, None));
	assert_eq!((challenging(false).enrolment(), challenging(false).obstacle()), (None, short(false).obstacle()));
	assert_eq!(Standing { leaving: true, ..challenging(true) }.enrolment(), Some(Step::Resign));
	// Who would not be drawn anyway need not have it.
	assert_eq!(Standing { leaving: true, ..short(true) }.obstacle(), None);
	let mut without = provider();
	without.info.roles = Roles::only(Role::Worker);
	assert_eq!(Standing { provider: &without, ..short(false) }.obstacle(), None);
}
