//! Tests of what comes first, what is put off, and what is tried again, on a node of one's own.

use super::{
	checks::Due,
	compute::{Haste, Running},
	*,
};
use crate::{
	conduct::Honest,
	content::rounds::{round_label, tests::record},
	participant::decide::plan::tests::training,
	status::Status,
};
use claimed::Claimed;
use neuroshard_chain_client::disputes;
use neuroshard_disputes::{cases::ledger::Finding, games::GameId};
use neuroshard_fixtures::Connect;
use neuroshard_graph::game::{Position, Side};
use neuroshard_mock_node::{Fate, MockNode, Script};
use neuroshard_network::{keypair_from_secret, Network, NetworkConfig};
use neuroshard_store::Store;
use neuroshard_types::{
	audit::{AuditPhase, AuditView},
	dispute::{ClaimKind, GameView, Terms},
	run::{RoundRecord, RunStatus},
	Balance, NEURO,
};
use std::sync::atomic::Ordering;
use tokio_util::sync::DropGuard;

#[path = "../../../disputes/src/cases/claimed.rs"]
mod claimed;

/// A node, a folder, and a verifier on them.
struct Fixture {
	node: MockNode,
	verifier: Verifier,
	_base: tempfile::TempDir,
	_stop: DropGuard,
}

impl Fixture {
	async fn new(fate: fn(usize) -> Fate) -> Self {
		let node = MockNode::start(Script { blocks_a_look: 1, fate }).await;
		node.answer("Disputes", "games_of", &Vec::<GameId>::new());
		node.answer("Disputes", "audits_of", &Vec::<AuditView>::new());
		node.answer("Disputes", "terms", &Terms { window: 30, clock: 5, extension: 100, bond: NEURO, most_games: 32 });
		let (base, stop) = (tempfile::tempdir().unwrap(), CancellationToken::new());
		let store = Store::open(&base.path().join("store"), 1 << 24).unwrap();
		let keys = keypair_from_secret(&mut [1; 32]).unwrap();
		let (net, _) = Network::start(NetworkConfig::default(), keys, store.clone(), stop.clone()).await.unwrap();
		let verifier = Verifier::new(Parts {
			base: base.path(),
			client: node.client().await,
			submitter: node.submitter().await,
			content: Content::new(store, net, base.path(), None),
			dataset: Default::default(),
			reporter: Reporter::new(Status::default()),
			threads: 2,
			check: 1.0,
			samples: Samples::open(base.path()),
			conduct: Arc::new(Honest),
			leads: false,
		});
		Self { node, verifier, _base: base, _stop: stop.drop_guard() }
	}

	fn heads(&self) -> watch::Receiver<Heads> {
		self.verifier.client.follow(Heads::default(), |_| {})
	}

	/// Has this account be challenger in a game about `claim`, in which it has to move.
	fn open_game(&self, claim: &ClaimId) -> GameId {
		let game = (claim.clone(), self.verifier.me.clone());
		self.node.answer("Disputes", "games_of", &vec![game.clone()]);
		self.deadline(99);
		game
	}

	/// Has the move of every game be due by this block.
	fn deadline(&self, deadline: BlockNumber) {
		self.node.answer("Disputes", "game", &Some(view_until(deadline)));
	}
}

const POSITION: Position = Position::Checkpoints { count: 3 };

/// A game in which the challenger has to move until this block.
fn view_until(deadline: BlockNumber) -> GameView {
	let defender = AccountId::new([9; 32]);
	GameView { position: POSITION, turn: Side::Challenger, deadline, reserve: 9, moves: vec![1, 2], bond: NEURO, defender }
}

/// Where it stands.
fn due() -> H256 {
	H256(POSITION.hash())
}

fn claim(round: RoundIndex) -> ClaimId {
	ClaimId { run: 0, round, kind: ClaimKind::Attestation, who: AccountId::new([1; 32]) }
}

#[tokio::test]
async fn downloads_and_computations_are_put_off_for_a_move_that_is_due() {
	let fixture = Fixture::new(|_| Fate::Included).await;
	let never = || std::future::pending::<Result<(), WorkerError>>();
	let done = fixture.verifier.unless_urgent(fixture.heads(), Haste::Check, async { Ok(7) }).await.unwrap();
	assert_eq!(done, Some(7));
	fixture.open_game(&claim(0));
	for haste in [Haste::Check, Haste::Audit { until: 0 }] {
		assert!(fixture.verifier.unless_urgent(fixture.heads(), haste, never()).await.unwrap().is_none());
	}
}

/// Heads of which the best one has this number.
fn heads_at(number: BlockNumber) -> (watch::Sender<Heads>, watch::Receiver<Heads>) {
	let mut heads = Heads::default();
	heads.best.number = number;
	watch::channel(heads)
}

#[tokio::test]
async fn a_rest_begins_when_an_attempt_has_failed_however_long_that_took() {
	let mut fixture = Fixture::new(|_| Fate::Included).await;
	let game = fixture.open_game(&claim(0));
	// Nobody answers what the claim is.
	let (_chain, heads) = heads_at(90);
	fixture.verifier.turn(heads).await.unwrap_err();
	let resting: Vec<_> = (89..99).filter(|now| fixture.verifier.games.failed.contains(&(game.clone(), due()), *now)).collect();
	assert_eq!(resting, [89, 90, 91, 92]);
}

#[tokio::test]
async fn a_move_is_tried_although_nobody_says_where_others_are() {
	let mut fixture = Fixture::new(|_| Fate::Included).await;
	let game = fixture.open_game(&claim(0));
	fixture.verifier.turn(heads_at(90).1).await.unwrap_err();
	assert!(fixture.verifier.games.failed.has_failed(&(game, due())), "only for want of the claim");
}

#[tokio::test]
async fn another_game_is_played_while_one_that_failed_rests() {
	let mut fixture = Fixture::new(|_| Fate::Included).await;
	let failed = fixture.open_game(&claim(0));
	let other = (claim(1), failed.1.clone());
	let games = [failed.clone(), other.clone()];
	let at = fixture.verifier.client.now().await.unwrap();
	let next = async |fixture: &Fixture| fixture.verifier.our_turn(&at, &games).await.unwrap().unwrap().0;
	assert_eq!(next(&fixture).await, failed);
	fixture.verifier.games.failed.note((failed, due()), at.block().number, 99);
	assert_eq!(next(&fixture).await, other);
}

#[tokio::test]
async fn a_move_that_has_failed_throws_no_work_away_until_shortly_before_its_deadline() {
	let mut fixture = Fixture::new(|_| Fate::Included).await;
	let game = fixture.open_game(&claim(0));
	fixture.deadline(10_000);
	let urgent =
		async |fixture: &Fixture| fixture.verifier.urgent_moves(&fixture.verifier.client.now().await.unwrap()).await.unwrap().len();
	assert_eq!(urgent(&fixture).await, 1);
	fixture.verifier.games.failed.note((game.clone(), due()), 0, 10_000);
	while fixture.verifier.client.now().await.unwrap().block().number < 5 {}
	let at = fixture.verifier.client.now().await.unwrap();
	assert!(fixture.verifier.our_turn(&at, std::slice::from_ref(&game)).await.unwrap().is_some(), "it has rested");
	assert_eq!(urgent(&fixture).await, 0);
	fixture.deadline(40);
	assert_eq!(urgent(&fixture).await, 1);
	// Another move than the one that failed.
	fixture.deadline(10_000);
	fixture.verifier.games.failed = Rests::new(BACKOFF);
	fixture.verifier.games.failed.note((game, H256::zero()), 0, 10_000);
	assert_eq!(urgent(&fixture).await, 1);
}

#[tokio::test]
async fn an_audit_under_way_is_put_off_only_for_moves_that_cannot_wait_for_it() {
	let fixture = Fixture::new(|_| Fate::Included).await;
	fixture.open_game(&claim(0));
	fixture.deadline(10_000);
	let urgent = async |until| fixture.verifier.is_more_urgent(Haste::Audit { until }).await.unwrap();
	assert!(!urgent(4_000).await && urgent(6_000).await);
	assert!(fixture.verifier.is_more_urgent(Haste::Check).await.unwrap());
	fixture.node.answer("Disputes", "games_of", &Vec::<GameId>::new());
	assert!(!urgent(6_000).await);
}

#[tokio::test]
async fn a_game_that_was_given_up_or_rests_puts_nothing_off() {
	let mut fixture = Fixture::new(|_| Fate::Included).await;
	let game = fixture.open_game(&claim(0));
	let at = fixture.verifier.client.now().await.unwrap();
	let games = [game.clone()];
	assert!(fixture.verifier.our_turn(&at, &games).await.unwrap().is_some());
	fixture.verifier.games.failed.note((game.clone(), due()), 50, 99);
	assert!(fixture.verifier.our_turn(&at, &games).await.unwrap().is_none());
	fixture.verifier.games.failed = Rests::new(BACKOFF);
	// It had nothing to say where the game stands, whatever it would say elsewhere after as many moves.
	fixture.verifier.games.resign(game, &view_until(99));
	assert!(fixture.verifier.our_turn(&at, &games).await.unwrap().is_none());
	let elsewhere = GameView { position: Position::Checkpoints { count: 4 }, ..view_until(99) };
	fixture.node.answer("Disputes", "game", &Some(elsewhere));
	assert!(fixture.verifier.our_turn(&at, &games).await.unwrap().is_some());
}

#[tokio::test]
async fn a_false_claim_is_disputed_as_soon_as_the_bond_can_be_paid_and_there_is_room() {
	let mut fixture = Fixture::new(|_| Fate::Included).await;
	let (accused, heads) = (claim(4), fixture.heads());
	let call = disputes::challenge_attestation(0, 4, accused.who.clone());
	fixture.verifier.accuse(accused.clone(), call, 10_000);
	let sent = fixture.node.submitted();
	// Long after whatever rest.
	const LATER: BlockNumber = 5_000;
	for (free, bond) in [(0, Some(NEURO)), (2 * NEURO, None::<Balance>)] {
		fixture.node.fund(free);
		fixture.node.answer("Disputes", "bond_against", &bond);
		let at = fixture.verifier.client.now().await.unwrap();
		let due = fixture.verifier.next_accusation(LATER).unwrap();
		fixture.verifier.dispute(&at, heads.clone(), due).await.unwrap();
		assert!(sent.borrow().is_empty() && fixture.verifier.ledger.finding(&accused).is_none());
		assert!(fixture.verifier.next_accusation(at.block().number).is_none(), "it rests");
	}
	fixture.node.answer("Disputes", "bond_against", &Some(NEURO));
	let at = fixture.verifier.client.now().await.unwrap();
	let due = fixture.verifier.next_accusation(LATER).unwrap();
	fixture.verifier.dispute(&at, heads, due).await.unwrap();
	assert_eq!((sent.borrow().len(), fixture.verifier.ledger.finding(&accused)), (1, Some(Finding::Challenged)));
}

#[tokio::test]
async fn a_challenge_is_looked_after_until_it_is_final_and_made_again_if_another_branch_won_over_its_block() {
	let mut fixture = Fixture::new(|_| Fate::Included).await;
	fixture.node.fund(2 * NEURO);
	fixture.node.answer("Disputes", "bond_against", &Some(NEURO));
	let (accused, sent) = (claim(4), fixture.node.submitted());
	fixture.verifier.accuse(accused.clone(), disputes::challenge_attestation(0, 4, accused.who.clone()), 10_000);
	let turn = async |fixture: &mut Fixture| {
		let at = fixture.verifier.client.now().await.unwrap();
		fixture.verifier.dispute(&at, fixture.heads(), accused.clone()).await.unwrap();
		sent.borrow().len()
	};
	assert_eq!(turn(&mut fixture).await, 1);
	fixture.verifier.accusations.get_mut(&accused).unwrap().lose();
	assert_eq!((turn(&mut fixture).await, turn(&mut fixture).await), (1, 2));
	assert_eq!(fixture.verifier.reporter.current().disputes.challenged, 1, "it is one challenge");
	while fixture.verifier.next_accusation(9_999).is_some() {
		assert_eq!(turn(&mut fixture).await, 2);
	}
}

#[tokio::test]
async fn a_challenge_that_the_pool_does_not_take_is_tried_again_until_its_time_is_over() {
	let mut fixture = Fixture::new(|_| Fate::Refused(1010, "Transaction call is not expected")).await;
	fixture.node.fund(2 * NEURO);
	fixture.node.answer("Disputes", "bond_against", &Some(NEURO));
	let accused = claim(4);
	fixture.verifier.accuse(accused.clone(), disputes::challenge_attestation(0, 4, accused.who.clone()), 1_000);
	let at = fixture.verifier.client.now().await.unwrap();
	fixture.verifier.dispute(&at, fixture.heads(), accused.clone()).await.unwrap_err();
	assert_eq!(fixture.verifier.next_accusation(999), Some(accused.clone()));
	assert!(fixture.verifier.next_accusation(1_000).is_none() && fixture.verifier.ledger.finding(&accused).is_none());
}

#[tokio::test]
async fn claims_of_a_run_are_checked_when_it_is_over_and_another_one_is_at_hand() {
	let (over, at_hand) = (5, 6);
	let mut fixture = Fixture::new(|_| Fate::Included).await;
	let other = AccountId::new([1; 32]);
	let mut view = training().0.run.unwrap().view;
	(view.status, view.rounds_adopted) = (RunStatus::Finished, 1);
	let record = RoundRecord { participants: vec![other.clone()], adopted_at: 10_000, ..record(H256::zero(), &[]) };
	fixture.node.answer("Training", "run", &Some(view));
	fixture.node.answer("Training", "record", &Some(record));
	let at = fixture.verifier.client.now().await.unwrap();
	assert!(fixture.verifier.next_claim(&at).await.unwrap().is_none(), "nothing of any run is here");
	// The worker took part in it.
	fixture.verifier.content.store.put_pinned(&[1; 4096], &round_label(over, 0)).unwrap();
	let mut checked = Vec::new();
	for run in [None, Some(at_hand), Some(at_hand), Some(at_hand)] {
		fixture.verifier.reporter.update(|status| status.run = run);
		let due = fixture.verifier.next_claim(&at).await.unwrap().unwrap();
		checked.push((due.claim.run, due.claim.kind));
		fixture.verifier.note(due.claim, Finding::Right, due.until, 0).unwrap();
	}
	let kinds = [ClaimKind::Attestation, ClaimKind::Work];
	assert_eq!(checked, [(over, kinds[0]), (over, kinds[1]), (at_hand, kinds[0]), (at_hand, kinds[1])]);
	assert!(fixture.verifier.next_claim(&at).await.unwrap().is_none());
}

#[tokio::test]
async fn a_machine_that_cannot_check_everything_checks_what_can_still_be_disputed_in_time_first() {
	let mut fixture = Fixture::new(|_| Fate::Included).await;
	let mut view = training().0.run.unwrap().view;
	view.rounds_adopted = 1;
	fixture.node.answer("Training", "run", &Some(view));
	fixture.verifier.reporter.update(|status| status.run = Some(6));
	let window = 30;
	let at = loop {
		let at = fixture.verifier.client.now().await.unwrap();
		if at.block().number >= window {
			break at;
		}
	};
	let now = at.block().number;
	let due = |left| Due { claim: claim(0), record: record(H256::zero(), &[]), until: now + left };
	let first = |lefts: &[BlockNumber]| {
		let of = lefts.iter().map(|left| due(*left));
		of.min_by_key(|due| due.haste(now, window)).map(|due| due.until - now)
	};
	// A fourth of a window of 30 blocks, rounded down, is for challenges.
	assert_eq!(first(&[29, 8, 20]), Some(8));
	assert_eq!(first(&[7, 29, 8]), Some(8));
	assert_eq!(first(&[5, 7, 6]), Some(7), "nothing else is left: what has the most time");

	// One round whose claims are late is checked where there is nothing else.
	let other = AccountId::new([1; 32]);
	let adopted_at = now + 6 - window;
	let late = RoundRecord { participants: vec![other], adopted_at, ..record(H256::zero(), &[]) };
	fixture.node.answer("Training", "record", &Some(late));
	assert!(fixture.verifier.next_claim(&at).await.unwrap().is_some_and(|due| due.claim.kind == ClaimKind::Attestation));
}

#[tokio::test]
async fn each_worker_has_an_order_of_its_own_in_which_it_checks_a_round() {
	let accounts: Vec<AccountId> = (1..=8).map(|number| AccountId::new([number; 32])).collect();
	let round = RoundRecord { participants: accounts.clone(), ..record(H256::zero(), &[]) };
	let (one, other) = (Fixture::new(|_| Fate::Included).await, Fixture::new(|_| Fate::Included).await);
	let [first, second] = [&one, &other].map(|fixture| fixture.verifier.unchecked(0, 0, &round));
	assert_eq!(first, one.verifier.unchecked(0, 0, &round), "the same whenever it is asked for");
	assert_ne!(first, second);
	let (attestations, works) = first.split_at(8);
	assert!(attestations.iter().all(|claim| claim.kind == ClaimKind::Attestation));
	let mut of: Vec<AccountId> = works.iter().filter(|claim| claim.kind == ClaimKind::Work).map(|claim| claim.who.clone()).collect();
	of.sort();
	assert_eq!(of, accounts);
}

#[tokio::test]
async fn an_audit_whose_window_is_near_comes_before_training_and_one_that_has_time_beside_it() {
	let fixture = Fixture::new(|_| Fate::Included).await;
	let judged = Claimed::new().claim;
	fixture.node.answer("Training", "work_claim", &Some(judged.clone()));
	fixture.node.answer("Staking", "provider", &Some(neuroshard_fixtures::provider()));
	let at = fixture.verifier.client.now().await.unwrap();
	let audit = |blocks| AuditView {
		run: 0,
		round: 2,
		subject: AccountId::new([1; 32]),
		partner: AccountId::new([2; 32]),
		step: 1,
		phase: AuditPhase::Sealing,
		deadline: at.block().number + blocks,
		sealed: None,
		report: None,
		partner_sealed: false,
		partner_report: None,
		closes_at: at.block().number + 100,
	};
	let priority = async |blocks| fixture.verifier.priority_of(&at, &audit(blocks)).await.unwrap();
	let pace = &fixture.verifier.samples.pace;
	assert_eq!(priority(50).await, Priority::Normal, "nobody knows how much time that is");
	// Running the round again took 10 seconds, and so does a block.
	let took = |seconds, priority| pace.note_audit((0, &judged.config), judged.steps, std::time::Duration::from_secs(seconds), priority, 1);
	took(10, Priority::Normal);
	pace.note_blocks((0, 0), (10, 100_500));
	assert_eq!((priority(2).await, priority(3).await, priority(50).await), (Priority::Normal, Priority::Low, Priority::Low));
	// Beside training it took 20 seconds more than there are now.
	took(50, Priority::Low);
	assert_eq!((priority(3).await, priority(50).await), (Priority::Normal, Priority::Low));
	assert!(fixture.verifier.samples.note_too_late(&audit(1)), "nothing was said of it");
	fixture.verifier.samples.keep_only(&[]);
	// Blocks take half as long.
	pace.note_blocks((0, 0), (10, 50_000));
	assert_eq!(priority(1).await, Priority::Normal);
	assert!(!fixture.verifier.samples.note_too_late(&audit(1)), "it was said that it will not be in time");
	// What is sealed, or too late to be, is computed beside training: only a dispute can follow from it.
	let sealed = AuditView { sealed: Some(H256::zero()), ..audit(2) };
	assert_eq!(fixture.verifier.priority_of(&at, &sealed).await.unwrap(), Priority::Low);
	assert_eq!(priority(0).await, Priority::Low);
}

#[tokio::test]
async fn threads_of_an_audit_whose_window_is_near_step_back_for_nothing() {
	let fixture = Fixture::new(|_| Fate::Included).await;
	let niceness = || rustix::process::getpriority_process(None).unwrap();
	let of = |priority| {
		let all = std::sync::Mutex::new(Vec::new());
		fixture.verifier.exec(priority).unwrap().on_threads(|thread| {
			// The first one is this thread.
			if thread > 0 {
				all.lock().unwrap().push(niceness());
			}
		});
		all.into_inner().unwrap()
	};
	assert_eq!(of(Priority::Normal), [niceness()]);
	assert_eq!(of(Priority::Low), [niceness().max(5)]);
	assert_eq!(of(Priority::Normal), [niceness()], "each has its own");
}

#[tokio::test]
async fn a_computation_that_nobody_waits_for_ends_and_makes_room_for_the_next() {
	let claimed = Claimed::new();
	let room = Arc::new(Semaphore::new(1));
	let case = claimed.case(None).in_room(room.clone().try_acquire_owned().unwrap());
	let running = Running::start(Priority::Low, case, |case| {
		let cancel = case.cancel();
		while !cancel.load(Ordering::Relaxed) {
			std::thread::yield_now();
		}
		Ok(())
	});
	assert!(room.try_acquire().is_err());
	drop(running);
	let _free = room.acquire().await.unwrap();
}

#[tokio::test]
async fn a_case_stays_in_memory_only_for_a_game_or_a_challenge_about_it() {
	let mut fixture = Fixture::new(|_| Fate::Included).await;
	let (claimed, game) = (Claimed::new(), (claim(1), AccountId::new([9; 32])));
	fixture.verifier.case = Some((claim(1), claimed.case(None)));
	fixture.verifier.tidy(std::slice::from_ref(&game), 5);
	assert!(fixture.verifier.case.is_some());
	fixture.verifier.accuse(claim(1), disputes::challenge_attestation(0, 1, game.1.clone()), 9);
	fixture.verifier.tidy(&[], 5);
	assert!(fixture.verifier.case.is_some());
	assert!(fixture.verifier.take_case(&claim(2)).is_none() && fixture.verifier.case.is_none(), "one of another claim is in the way");
	fixture.verifier.accusations.clear();
	fixture.verifier.case = Some((claim(1), claimed.case(None)));
	fixture.verifier.tidy(&[], 5);
	assert!(fixture.verifier.case.is_none());
}
