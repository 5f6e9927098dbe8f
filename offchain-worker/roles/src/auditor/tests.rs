//! The auditor against a node that answers what the test says, and remembers what was sent.

use super::*;
use crate::{participant::decide::plan, status::Status};
use neuroshard_chain_client::{audits, keys::Account, Call};
use neuroshard_fixtures::Connect;
use neuroshard_mock_node::{decoded_metadata, Fate, MockNode, Script};
use neuroshard_training::priority::Priority;
use neuroshard_types::{
	answer_audit::AnswerAuditTerms,
	audit::{AuditPhase, AuditTerms, AuditView},
	dispute::{ClaimId, ClaimKind, Terms},
	provider::{ProviderStatus, ProviderView, Role, Roles},
	run::RunView,
	Balance, NEURO,
};
use std::time::Duration;
use tokio::task::JoinHandle;

const OWN: H256 = H256([5; 32]);
/// Far behind all blocks that are made here.
const LATE: BlockNumber = 1_000_000;

/// Challenge window, in blocks.
const WINDOW: BlockNumber = 30;

/// As in the tests of the pure step, but for the blocks that are made here.
fn drawn() -> AuditView {
	AuditView { deadline: LATE, closes_at: LATE, ..step::tests::drawn() }
}

/// A node and a folder, on which auditors are started and ended.
struct Fixture {
	node: MockNode,
	base: tempfile::TempDir,
	me: AccountId,
	genesis: H256,
	reporter: Reporter,
}

impl Fixture {
	async fn new() -> Self {
		Self::with(|_| Fate::Included).await
	}

	/// A node on which this becomes of extrinsics.
	async fn with(fate: fn(usize) -> Fate) -> Self {
		let node = MockNode::start(Script { blocks_a_look: 1, fate }).await;
		node.answer("Staking", "provider", &Some(provider()));
		node.answer("Disputes", "verifiers", &Vec::<AccountId>::new());
		node.answer("Disputes", "audits_of", &Vec::<AuditView>::new());
		node.answer("Disputes", "games_of", &Vec::<(ClaimId, AccountId)>::new());
		node.answer("Disputes", "audit_terms", &AuditTerms { share: 1, seal_time: 20, report_time: 10 });
		node.answer(
			"Disputes",
			"answer_audit_terms",
			&AnswerAuditTerms { share: 0, draw_price: 0, deliver_time: 1, deposit: NEURO, open_for: 1 },
		);
		node.answer("Disputes", "terms", &Terms { window: WINDOW, clock: 5, extension: 5, bond: NEURO, most_games: 32 });
		node.answer("Disputes", "bond_against", &Some(NEURO));
		node.answer("Training", "runs", &Vec::<RunId>::new());
		let (me, genesis) = (node.submitter().await.who().clone(), node.client().await.genesis());
		Self { node, base: tempfile::tempdir().unwrap(), me, genesis, reporter: Reporter::new(Status::default()) }
	}

	fn samples(&self) -> Samples {
		Samples::open(self.base.path())
	}

	async fn auditor(&self) -> Auditor {
		let (client, submitter) = (self.node.client().await, self.node.submitter().await);
		Auditor::new(self.base.path().to_path_buf(), client, submitter, self.reporter.clone(), self.samples(), (false, false))
	}

	/// An auditor of a new process.
	async fn start(&self) -> (JoinHandle<()>, CancellationToken) {
		let stop = CancellationToken::new();
		(tokio::spawn(self.auditor().await.run(stop.clone())), stop)
	}

	/// Has all work of a run be audited, and an account have this much less than disputes about it can cost.
	async fn lack(&self, missing: Balance) {
		let mut view: RunView = plan::tests::training().0.run.unwrap().view;
		(view.config.model, view.config.train) = neuroshard_training::presets::tiny();
		self.node.answer("Training", "runs", &vec![1 as RunId]);
		self.node.answer("Training", "run", &Some(&view));
		let reserve = self.node.client().await.now().await.unwrap().reserve(&view.config).await.unwrap();
		self.node.fund(reserve - missing);
	}

	/// Waits until this call was sent, and returns how many extrinsics were sent by then.
	async fn sent(&self, call: &Call) -> usize {
		let call = call.encode(&decoded_metadata()).unwrap();
		let mut submitted = self.node.submitted();
		let all = submitted.wait_for(|all| all.iter().any(|one| one.ends_with(&call))).await.unwrap();
		all.len()
	}

	fn seal(&self) -> H256 {
		self.samples().note_of(&drawn()).unwrap().seal(self.genesis, &self.me)
	}
}

#[tokio::test]
async fn a_sample_is_sealed_then_reported_and_a_false_one_of_the_partner_disputed_with_restarts_in_between() {
	let fixture = Fixture::new().await;
	let (running, stop) = fixture.start().await;
	assert_eq!(fixture.sent(&audits::enroll()).await, 1, "it enrolls by itself");
	fixture.node.answer("Disputes", "verifiers", &vec![fixture.me.clone()]);
	fixture.node.answer("Disputes", "audits_of", &vec![drawn()]);
	stop.cancel();
	running.await.unwrap();

	// The verifier computes a sample, the process ends, and another one finds it on disk.
	fixture.samples().note_sample(&drawn(), Some(OWN), 0).unwrap();
	let (running, stop) = fixture.start().await;
	fixture.sent(&audits::seal(1, 2, fixture.seal())).await;
	let sealed = AuditView { sealed: Some(fixture.seal()), ..drawn() };
	fixture.node.answer("Disputes", "audits_of", &vec![sealed.clone()]);
	stop.cancel();
	running.await.unwrap();
	let salt = fixture.samples().note_of(&drawn()).unwrap().salt;
	let report = audits::report(1, 2, salt, Report::Sample(OWN));
	let opens = |fixture: &Fixture| {
		let call = report.encode(&decoded_metadata()).unwrap();
		fixture.node.submitted().borrow().iter().any(|one| one.ends_with(&call))
	};
	assert!(!opens(&fixture), "the partner can seal yet");

	let (running, stop) = fixture.start().await;
	fixture.node.answer("Disputes", "audits_of", &vec![AuditView { phase: AuditPhase::Reporting, partner_sealed: true, ..sealed.clone() }]);
	fixture.sent(&report).await;
	let both =
		|report, partner| AuditView { phase: AuditPhase::Waiting, report: Some(report), partner_report: Some(partner), ..sealed.clone() };
	fixture.node.answer("Disputes", "audits_of", &vec![both(Report::Sample(OWN), Report::Sample(H256([6; 32])))]);
	fixture.sent(&audits::challenge(1, 2, AccountId::new([2; 32]))).await;
	fixture.reporter.subscribe().wait_for(|status| status.audits.challenged == 1).await.unwrap();
	let noted = async {
		while !fixture.samples().note_of(&drawn()).unwrap().challenged {
			tokio::task::yield_now().await;
		}
	};
	tokio::time::timeout(Duration::from_secs(60), noted).await.expect("it is final, and not disputed again");
	stop.cancel();
	running.await.unwrap();
	let status = fixture.reporter.current().audits;
	assert_eq!((status.enrolled, status.open, status.reported, status.unavailable), (true, 0, 1, 0));
}

#[tokio::test]
async fn an_operator_seals_what_binds_the_account_that_it_acts_for() {
	let mut fixture = Fixture::new().await;
	fixture.me = AccountId::new([0x0b; 32]);
	fixture.node.answer("Staking", "owner_of", &Some(fixture.me.clone()));
	fixture.node.answer("Disputes", "verifiers", &vec![fixture.me.clone()]);
	fixture.node.answer("Disputes", "audits_of", &vec![drawn()]);
	fixture.samples().note_sample(&drawn(), Some(OWN), 0).unwrap();
	let stop = CancellationToken::new();
	let submitter = Submitter::spawn_for(fixture.node.client().await, Account::from_secret("//Alice").unwrap(), fixture.me.clone());
	let base = fixture.base.path().to_path_buf();
	let auditor = Auditor::new(base, fixture.node.client().await, submitter, fixture.reporter.clone(), fixture.samples(), (false, false));
	let running = tokio::spawn(auditor.run(stop.clone()));
	fixture.sent(&audits::seal(1, 2, fixture.seal())).await;
	stop.cancel();
	running.await.unwrap();
}

#[tokio::test]
async fn a_worker_that_leaves_is_drawn_no_more() {
	let fixture = Fixture::new().await;
	fixture.node.answer("Disputes", "verifiers", &vec![fixture.me.clone()]);
	std::fs::write(fixture.base.path().join(LEAVE_FILE), b"").unwrap();
	let (running, stop) = fixture.start().await;
	assert_eq!(fixture.sent(&audits::resign()).await, 1);
	stop.cancel();
	running.await.unwrap();
}

#[tokio::test]
async fn a_challenge_in_a_block_that_another_branch_won_over_is_made_again() {
	let fixture = Fixture::new().await;
	fixture.samples().note_sample(&drawn(), Some(OWN), 0).unwrap();
	let other = Some(Report::Sample(H256([6; 32])));
	let reported = AuditView { phase: AuditPhase::Waiting, report: Some(Report::Sample(OWN)), partner_report: other, ..drawn() };
	fixture.node.answer("Disputes", "audits_of", &vec![reported]);
	fixture.node.answer("Disputes", "verifiers", &vec![fixture.me.clone()]);
	let mut auditor = fixture.auditor().await;
	next_sent(&mut auditor).await;
	let challenge = audits::challenge(1, 2, AccountId::new([2; 32]));
	assert_eq!(fixture.sent(&challenge).await, 1);
	let [(_, block)] = auditor.made.as_mut_slice() else { panic!("it is not final yet") };
	block.hash = H256::repeat_byte(9);
	next_sent(&mut auditor).await;
	assert_eq!(fixture.node.submitted().borrow().len(), 2);
	// The second one stays.
	let heads = auditor.client.follow(Heads::default(), |_| {});
	while !auditor.made.is_empty() {
		assert!(!auditor.turn(heads.clone()).await.unwrap());
	}
	assert!(fixture.samples().note_of(&drawn()).unwrap().challenged);
	assert_eq!(fixture.node.submitted().borrow().len(), 2);
}

#[tokio::test]
async fn an_account_that_cannot_pay_for_disputes_resigns_seals_what_it_was_drawn_for_and_enrolls_when_it_can() {
	let fixture = Fixture::new().await;
	fixture.lack(NEURO / 1_000_000).await;
	fixture.node.answer("Disputes", "verifiers", &vec![fixture.me.clone()]);
	fixture.samples().note_sample(&drawn(), Some(OWN), 0).unwrap();
	let (running, stop) = fixture.start().await;
	assert_eq!(fixture.sent(&audits::resign()).await, 1);
	let waiting = |status: &Status| status.audits.waiting.clone();
	let mut status = fixture.reporter.subscribe();
	let words = waiting(&status.wait_for(|status| waiting(status).is_some()).await.unwrap()).unwrap();
	assert!(words.contains("send this account 0.000001 NEURO"), "{words}");
	fixture.node.answer("Disputes", "verifiers", &Vec::<AccountId>::new());
	fixture.node.answer("Disputes", "audits_of", &vec![drawn()]);
	fixture.sent(&audits::seal(1, 2, fixture.seal())).await;
	fixture.node.answer("Disputes", "audits_of", &vec![AuditView { sealed: Some(fixture.seal()), ..drawn() }]);
	fixture.lack(0).await;
	fixture.sent(&audits::enroll()).await;
	status.wait_for(|status| waiting(status).is_none()).await.unwrap();
	stop.cancel();
	running.await.unwrap();
}

#[tokio::test]
async fn a_machine_that_could_not_run_a_round_again_in_time_resigns_and_says_so_before_it_is_drawn() {
	let fixture = Fixture::new().await;
	fixture.lack(0).await;
	fixture.node.block_ms(1_000);
	fixture.node.answer("Disputes", "verifiers", &vec![fixture.me.clone()]);
	// 20 blocks for sealing. It trains 1 token in a second, and a round has more than 20 of them.
	fixture.reporter.update(|status| (status.run, status.tokens_per_second_alone) = (Some(1), Some(1.0)));
	let (running, stop) = fixture.start().await;
	assert_eq!(fixture.sent(&audits::resign()).await, 1);
	let waiting = |status: &Status| status.audits.waiting.clone();
	let mut status = fixture.reporter.subscribe();
	let words = waiting(&status.wait_for(|status| waiting(status).is_some()).await.unwrap()).unwrap();
	assert!(words.contains("run 1 again takes this machine about") && words.contains("has 20 s"), "{words}");
	stop.cancel();
	running.await.unwrap();
}

#[tokio::test]
async fn a_machine_that_is_fast_enough_enrolls() {
	let fixture = Fixture::new().await;
	fixture.lack(0).await;
	fixture.node.block_ms(1_000);
	fixture.reporter.update(|status| (status.run, status.tokens_per_second_alone) = (Some(1), Some(1e9)));
	let mut fast = provider();
	fast.info.hardware.gflops = 1_000_000;
	fixture.node.answer("Staking", "provider", &Some(fast));
	let (running, stop) = fixture.start().await;
	assert_eq!(fixture.sent(&audits::enroll()).await, 1);
	stop.cancel();
	running.await.unwrap();
}

#[tokio::test]
async fn a_machine_that_was_busy_at_an_audit_enrolls_again_a_challenge_window_later() {
	let fixture = Fixture::new().await;
	fixture.lack(0).await;
	fixture.node.block_ms(1_000);
	let mut fast = provider();
	fast.info.hardware.gflops = 1_000_000;
	fixture.node.answer("Staking", "provider", &Some(fast));
	let mut auditor = fixture.auditor().await;
	let config = auditor.client.now().await.unwrap().run(1).await.unwrap().unwrap().config;
	// Before that nobody knows how long blocks take.
	while best(&auditor).await <= 2 * crate::pace::FEWEST_BLOCKS {}
	let busy = best(&auditor).await;
	auditor.samples.pace.note_audit((1, &config), config.train.inner_steps, Duration::from_secs(100_000), Priority::Normal, busy);
	let heads = auditor.client.follow(Heads::default(), |_| {});
	assert!(!auditor.turn(heads).await.unwrap(), "it is too slow");
	assert!(fixture.reporter.current().audits.waiting.unwrap().contains("run 1 again takes this machine about"));
	let again = next_sent(&mut auditor).await;
	assert!(again > busy + WINDOW, "{again} after {busy}");
	assert_eq!(fixture.sent(&audits::enroll()).await, 1);
}

async fn best(auditor: &Auditor) -> BlockNumber {
	auditor.client.heads().await.unwrap().best.number
}

/// Takes turns until something is sent, and returns the best block then.
async fn next_sent(auditor: &mut Auditor) -> BlockNumber {
	let heads = auditor.client.follow(Heads::default(), |_| {});
	while !auditor.turn(heads.clone()).await.unwrap() {}
	best(auditor).await
}

#[tokio::test]
async fn whoever_was_dropped_enrolls_again_a_challenge_window_later() {
	let fixture = Fixture::new().await;
	let mut auditor = fixture.auditor().await;
	let heads = auditor.client.follow(Heads::default(), |_| {});
	fixture.node.answer("Disputes", "verifiers", &vec![fixture.me.clone()]);
	assert!(!auditor.turn(heads.clone()).await.unwrap());
	fixture.node.answer("Disputes", "verifiers", &Vec::<AccountId>::new());
	let dropped = best(&auditor).await;
	assert!(!auditor.turn(heads).await.unwrap(), "the chain keeps its old place for two epochs");
	let again = next_sent(&mut auditor).await;
	assert!(again >= dropped + WINDOW, "{again} after {dropped}");
	assert_eq!(fixture.sent(&audits::enroll()).await, 1);
}

#[tokio::test]
async fn whoever_was_refused_does_not_pay_for_that_again_soon() {
	let fixture = Fixture::with(|_| Fate::Failed).await;
	let mut auditor = fixture.auditor().await;
	let refused = best(&auditor).await;
	next_sent(&mut auditor).await;
	let again = next_sent(&mut auditor).await;
	assert!(again >= refused + REST, "{again} after {refused}");
}

#[test]
fn what_the_pool_refused_is_tried_again_at_the_next_block() {
	let refused = ChainError::Pool { call: String::new(), reason: "another extrinsic of this account was faster".into() };
	let seal = Step::Seal { run: 1, round: 2, sealed: H256::zero() };
	let report = Step::Report { run: 1, round: 2, salt: [0; 32], report: Report::Unavailable };
	assert_eq!([seal, report, Step::Enroll].map(|step| rest(&step, &refused, 28_800)), [1, 1, 1]);
}

#[test]
fn only_who_was_on_the_list_a_short_while_ago_waits_for_a_challenge_window() {
	let window = 28_800;
	let enroll =
		|name: &str| rest(&Step::Enroll, &ChainError::Dispatch { call: String::new(), name: name.into(), advice: String::new() }, window);
	assert_eq!(enroll("Disputes::AlreadyEnrolled"), window);
	assert_eq!((enroll("Disputes::TooManyVerifiers"), enroll("Disputes::NotVerifier")), (REST, REST));
}

#[tokio::test]
async fn who_opened_a_dispute_stays_on_the_list_until_that_is_over() {
	let fixture = Fixture::new().await;
	fixture.lack(1).await;
	fixture.node.answer("Disputes", "verifiers", &vec![fixture.me.clone()]);
	let game = |challenger: &AccountId| {
		let who = AccountId::new([2; 32]);
		vec![(ClaimId { run: 1, round: 2, kind: ClaimKind::Audit, who }, challenger.clone())]
	};
	fixture.node.answer("Disputes", "games_of", &game(&fixture.me));
	let mut auditor = fixture.auditor().await;
	let heads = auditor.client.follow(Heads::default(), |_| {});
	assert!(!auditor.turn(heads).await.unwrap());
	// One that somebody else opened holds none of its money.
	fixture.node.answer("Disputes", "games_of", &game(&AccountId::new([3; 32])));
	next_sent(&mut auditor).await;
	assert_eq!(fixture.sent(&audits::resign()).await, 1);
}

#[tokio::test]
async fn whoever_has_nothing_at_stake_any_more_seals_nothing() {
	let fixture = Fixture::new().await;
	fixture.samples().note_sample(&drawn(), Some(OWN), 0).unwrap();
	fixture.node.answer("Disputes", "audits_of", &vec![drawn()]);
	fixture.node.answer("Disputes", "verifiers", &vec![fixture.me.clone()]);
	let mut auditor = fixture.auditor().await;
	let slashed = ProviderView { status: ProviderStatus::Chilled, bonded: 0, ..provider() };
	fixture.node.answer("Staking", "provider", &Some(slashed));
	next_sent(&mut auditor).await;
	assert_eq!(fixture.sent(&audits::resign()).await, 1);
	fixture.node.answer("Staking", "provider", &Some(provider()));
	next_sent(&mut auditor).await;
	assert_eq!(fixture.sent(&audits::seal(1, 2, fixture.seal())).await, 2);
}

#[tokio::test]
async fn whoever_was_demoted_seals_what_it_was_drawn_for_and_then_resigns() {
	let fixture = Fixture::new().await;
	fixture.samples().note_sample(&drawn(), Some(OWN), 0).unwrap();
	fixture.node.answer("Disputes", "audits_of", &vec![drawn()]);
	fixture.node.answer("Disputes", "verifiers", &vec![fixture.me.clone()]);
	let mut demoted = provider();
	demoted.info.roles = Roles::only(Role::Worker);
	fixture.node.answer("Staking", "provider", &Some(demoted));
	let mut auditor = fixture.auditor().await;
	next_sent(&mut auditor).await;
	assert_eq!(fixture.sent(&audits::seal(1, 2, fixture.seal())).await, 1);
	fixture.node.answer("Disputes", "audits_of", &vec![AuditView { sealed: Some(fixture.seal()), ..drawn() }]);
	next_sent(&mut auditor).await;
	assert_eq!(fixture.sent(&audits::resign()).await, 2);
}

#[test]
fn what_is_not_there_when_the_time_is_nearly_over_is_reported_with_its_reason() {
	let base = tempfile::tempdir().unwrap();
	let samples = Samples::open(base.path());
	let audit = AuditView { deadline: 120, closes_at: 200, ..drawn() };
	samples.note_reach(&audit, false);
	give_up(&samples, &audit, 110).unwrap();
	assert_eq!(samples.note_of(&audit), None, "somebody may have it yet");
	give_up(&samples, &audit, 117).unwrap();
	assert_eq!(samples.note_of(&audit).map(|note| note.report), Some(Report::Unavailable));
	// It may be sealed: what comes later is too late.
	samples.note_sample(&audit, Some(OWN), 118).unwrap();
	assert_eq!(samples.note_of(&audit).map(|note| note.report), Some(Report::Unavailable));

	let other = AuditView { round: 3, ..audit };
	samples.note_reach(&other, false);
	samples.note_reach(&other, true);
	give_up(&samples, &other, 110).unwrap();
	assert_eq!(samples.note_of(&other), None, "it came in the end, and there is time left");
	give_up(&samples, &other, 117).unwrap();
	assert_eq!(samples.note_of(&other).map(|note| note.report), Some(Report::TooSlow), "it was not computed in time");

	let third = AuditView { round: 4, ..other };
	samples.note_sample(&third, Some(OWN), 116).unwrap();
	give_up(&samples, &third, 117).unwrap();
	assert_eq!(samples.note_of(&third).map(|note| note.report), Some(Report::Sample(OWN)));
}

#[test]
fn salts_are_random() {
	let base = tempfile::tempdir().unwrap();
	let samples = Samples::open(base.path());
	let second = AuditView { round: 3, ..drawn() };
	for audit in [&drawn(), &second] {
		samples.note_sample(audit, Some(OWN), 0).unwrap();
	}
	assert_ne!(samples.note_of(&drawn()).unwrap().salt, samples.note_of(&second).unwrap().salt);
}
