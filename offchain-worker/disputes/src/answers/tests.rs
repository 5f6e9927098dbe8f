//! Answers of a small model, games about them, and players on a node of their own.

use super::*;
use crate::cases::{case::Case, record::Record};
use neuroshard_chain_client::{
	disputes::{challenge_answer, play, Act},
	Heads, Submitter,
};
use neuroshard_compute::{exec::Exec, trace::Mistake};
use neuroshard_fixtures::{
	answers::{alice, answered, config, given, layout, newest, other_token, somebody, GENESIS, ROUND, SESSION},
	Connect,
};
use neuroshard_graph::{
	game::{Move, Outcome, Position, Ruling, Side},
	ModelConfig,
};
use neuroshard_inference::receipt::Transcript;
use neuroshard_mock_node::{Fate, MockNode, Script};
use neuroshard_training::{checkpoint::Checkpoint, presets};
use neuroshard_types::{
	answer_audit::{AnswerAuditTerms, AnswerAuditView},
	dispute::{AnswerClaim, ClaimId, GameView, Terms},
	inference::{Receipt, SessionView},
	AccountId, BlockNumber, H256, NEURO,
};
use std::{collections::BTreeSet, os::unix::fs::PermissionsExt, path::Path, sync::Arc};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

fn case(transcript: &Transcript) -> Case {
	let claim = AnswerClaim { config: config(), receipt: transcript.receipt.clone() };
	let Checkpoint { params, header, .. } = newest();
	let text = [transcript.prompt.clone(), transcript.answer.clone()];
	Case::answer(Arc::new(Exec::new(1).unwrap()), ROUND, claim, (params, header.momentum.0), text).unwrap()
}

/// Returns the case that a machine with a mistake makes of an answer, which it holds for false from some choice on.
fn mistaken(transcript: &Transcript) -> (Case, u32) {
	let mistakes = (0..30).map(|stage| Mistake { step: 0, stage, output: 0, element: 77, mask: 1 << 30 });
	let found = mistakes.map(|mistake| case(transcript).with_mistake(Some(mistake))).find_map(|mut case| {
		let doubt = case.doubted_choice().unwrap()?;
		Some((case, doubt))
	});
	found.unwrap()
}

/// A game in which each side reads what the other one posted off the chain, and how it ends; `None` if the challenger has nothing to say.
fn dispute(transcript: &Transcript, doubt: u32, defending: &mut Case, challenging: &mut Case) -> Option<(Ruling, usize)> {
	let challenger = AccountId::new([2; 32]);
	let id = transcript.receipt.claim(GENESIS).unwrap();
	let mut blocks =
		vec![vec![Act::ChallengeAnswer { claim: id.clone(), doubt: doubt + 1 }, Act::ChallengeAnswer { claim: id.clone(), doubt }]];
	let mut position = challenging.open_answer(doubt).unwrap();
	loop {
		let mut record = Record::new(id.clone(), challenger.clone());
		blocks.iter().for_each(|block| record.read(challenging, block.clone()));
		assert!(record.is_at(&position));
		let case = if position.turn() == Side::Defender { &mut *defending } else { &mut *challenging };
		let action = match case.respond(position.turn(), &position, record.defence()) {
			Err(crate::cases::case::CaseError::Play(neuroshard_compute::player::PlayError::Nothing)) => return None,
			action => action.unwrap(),
		};
		let outcome = case.grounds().judge(|setting| position.play(setting, &action)).unwrap();
		blocks.push(vec![Act::Play { claim: id.clone(), challenger: challenger.clone(), position: H256(position.hash()), action }]);
		match outcome {
			Outcome::Next(next) => position = next,
			Outcome::Decided(ruling) => return Some((ruling, blocks.len())),
		}
	}
}

#[test]
fn a_false_answer_falls_and_a_right_one_stands() {
	let right = answered(somebody(), &newest().params, 0, |_| {});
	assert_eq!(case(&right).doubted_choice().unwrap(), None);
	assert_eq!(dispute(&right, 3, &mut case(&right), &mut case(&right)), None);
	let wrong = answered(somebody(), &newest().params, 0, other_token);
	assert_eq!(case(&wrong).doubted_choice().unwrap(), Some(5));
	assert_eq!(dispute(&wrong, 5, &mut case(&wrong), &mut case(&wrong)), Some((Ruling::Fraud, 5)));
	// Who answered with other parameters says what follows from them.
	let other = |_: &ModelConfig, mut right: Vec<f32>| {
		right.iter_mut().for_each(|value| *value = -*value);
		Ok(right)
	};
	let stranger = answered(somebody(), &other(&presets::tiny().0, newest().params).unwrap(), 0, |_| {});
	let doubt = case(&stranger).doubted_choice().unwrap().unwrap();
	let mut liar = case(&stranger).computed_with(other).unwrap();
	assert_eq!(dispute(&stranger, doubt, &mut liar, &mut case(&stranger)).unwrap().0, Ruling::Fraud);
	// A challenger whose machine is wrong loses.
	let (mut mistaken, doubt) = mistaken(&right);
	assert_eq!(dispute(&right, doubt, &mut case(&right), &mut mistaken).unwrap().0, Ruling::Unfounded);
}

fn files(folder: &Path) -> usize {
	std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

#[test]
fn a_transcript_survives_a_restart_and_goes_with_its_session_unless_it_is_disputed() {
	let base = tempfile::tempdir().unwrap();
	let (first, second) = (answered(somebody(), &newest().params, 0, |_| {}), answered(somebody(), &newest().params, 1, |_| {}));
	let in_use = {
		let transcript_store = TranscriptStore::open(base.path()).unwrap();
		let in_use = transcript_store.keep_checkpoint(&newest(), &layout(), 1).unwrap();
		for transcript in [&first, &second, &first] {
			let path = transcript_store.keep(transcript).unwrap();
			assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
		}
		in_use
	};
	let transcript_store = TranscriptStore::open(base.path()).unwrap();
	for transcript in [&first, &second] {
		assert_eq!(transcript_store.transcript(&transcript.receipt, GENESIS).unwrap(), *transcript);
	}
	assert_eq!(transcript_store.sessions().unwrap(), BTreeSet::from([SESSION]));
	let root = newest().header.root();
	assert_eq!(transcript_store.checkpoint(0, root, &layout(), 1).unwrap(), newest());
	assert_eq!(transcript_store.header(root), Some(newest().header));
	// One of them is disputed.
	let disputed = BTreeSet::from([second.receipt.hash(GENESIS)]);
	assert!(!transcript_store.forget(SESSION, &disputed).unwrap() && transcript_store.transcript(&first.receipt, GENESIS).is_ok());
	assert!(transcript_store.forget(SESSION, &BTreeSet::new()).unwrap() && transcript_store.sessions().unwrap().is_empty());
	assert!(matches!(transcript_store.transcript(&first.receipt, GENESIS), Err(TranscriptStoreError::NoTranscript { .. })));
	// The checkpoint goes when nobody answers with it.
	transcript_store.forget_checkpoints().unwrap();
	assert!(transcript_store.checkpoint(0, root, &layout(), 1).is_ok());
	drop(in_use);
	transcript_store.keep(&first).unwrap();
	transcript_store.forget_checkpoints().unwrap();
	assert!(transcript_store.checkpoint(0, root, &layout(), 1).is_ok());
	transcript_store.forget(SESSION, &BTreeSet::new()).unwrap();
	transcript_store.forget_checkpoints().unwrap();
	assert!(matches!(transcript_store.checkpoint(0, root, &layout(), 1), Err(TranscriptStoreError::NoCheckpoint(_))));
	assert_eq!(files(&base.path().join("answers")), 1, "the lock is left");
}

#[test]
fn a_checkpoint_can_be_kept_while_those_that_nobody_needs_are_deleted() {
	const TIMES: usize = 200;
	let base = tempfile::tempdir().unwrap();
	let transcript_store = TranscriptStore::open(base.path()).unwrap();
	let transcript = answered(somebody(), &newest().params, 0, |_| {});
	std::thread::scope(|scope| {
		scope.spawn(|| (0..TIMES).for_each(|_| transcript_store.forget_checkpoints().unwrap()));
		for _ in 0..TIMES {
			transcript_store.keep(&transcript).unwrap();
			assert!(transcript_store.forget(SESSION, &BTreeSet::new()).unwrap());
		}
	});
	transcript_store.forget_checkpoints().unwrap();
	assert_eq!(files(&base.path().join("answers")), 1, "the lock is left");
}

#[test]
fn what_was_changed_on_disk_is_not_used() {
	let base = tempfile::tempdir().unwrap();
	let transcript_store = TranscriptStore::open(base.path()).unwrap();
	let (first, second) = (answered(somebody(), &newest().params, 0, |_| {}), answered(somebody(), &newest().params, 1, |_| {}));
	let path = transcript_store.keep(&first).unwrap();
	let written = |bytes: &[u8]| {
		std::fs::write(&path, bytes).unwrap();
		transcript_store.transcript(&first.receipt, GENESIS).unwrap_err()
	};
	assert!(matches!(written(b"{"), TranscriptStoreError::Transcript { .. }));
	assert!(matches!(written(&serde_json::to_vec(&second).unwrap()), TranscriptStoreError::Transcript { .. }));
	let mut cut = first.clone();
	cut.answer.pop();
	assert!(matches!(written(&serde_json::to_vec(&cut).unwrap()), TranscriptStoreError::Malformed { .. }));
	let unpaid = Receipt { paid: None, ..first.receipt.clone() };
	assert!(matches!(transcript_store.transcript(&unpaid, GENESIS), Err(TranscriptStoreError::Unpaid)));
	// A damaged checkpoint is written anew.
	drop(transcript_store.keep_checkpoint(&newest(), &layout(), 1).unwrap());
	std::fs::write(base.path().join("answers").join(hex::encode(newest().header.root())).join("checkpoint.json"), "{}").unwrap();
	assert!(transcript_store.checkpoint(0, newest().header.root(), &layout(), 1).is_err());
	drop(transcript_store.keep_checkpoint(&newest(), &layout(), 1).unwrap());
	assert_eq!(transcript_store.checkpoint(0, newest().header.root(), &layout(), 1).unwrap(), newest());
}

#[test]
fn where_there_is_no_room_for_transcripts_that_is_told() {
	let base = tempfile::tempdir().unwrap();
	let transcript = answered(somebody(), &newest().params, 0, |_| {});
	let refused = |most, left| TranscriptStore::with_room(base.path(), most, left).unwrap().check_room().unwrap_err().to_string();
	assert!(TranscriptStore::with_room(base.path(), 1, 0).unwrap().check_room().is_ok());
	assert!(refused(1, u64::MAX).contains("have to stay free"));
	let transcript_store = TranscriptStore::with_room(base.path(), 1, 0).unwrap();
	transcript_store.keep(&transcript).unwrap();
	assert!(transcript_store.check_room().unwrap_err().to_string().contains("may have"));
	assert!(refused(1, 0).contains("may have"), "what is there is counted");
	transcript_store.forget(SESSION, &BTreeSet::new()).unwrap();
	transcript_store.check_room().unwrap();
}

/// A node with a game on it, and a player who is one side.
struct Fixture {
	node: MockNode,
	submitter: Submitter,
	transcript_store: TranscriptStore,
	player: Player,
	disputes: watch::Receiver<Vec<Dispute>>,
	heads: watch::Receiver<Heads>,
	base: tempfile::TempDir,
	_in_use: InUse,
}

/// Of the node's only account.
impl Fixture {
	async fn new(side: Side) -> Self {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		node.answer("Disputes", "games_of", &Vec::<(ClaimId, AccountId)>::new());
		node.answer("Inference", "session", &Some(session()));
		node.answer("Disputes", "answer_audit", &None::<AnswerAuditView>);
		node.answer(
			"Disputes",
			"answer_audit_terms",
			&AnswerAuditTerms { share: 0, draw_price: 0, deliver_time: 1, deposit: NEURO, open_for: 50 },
		);
		node.answer("Inference", "next_session", &(SESSION + 1));
		let base = tempfile::tempdir().unwrap();
		let (transcript_store, submitter) = (TranscriptStore::open(base.path()).unwrap(), node.submitter().await);
		let in_use = transcript_store.keep_checkpoint(&newest(), &layout(), 1).unwrap();
		let (player, disputes) = player(&node, &transcript_store, side).await;
		let heads = node.client().await.follow(Heads::default(), |_| {});
		Self { node, submitter, transcript_store, player, disputes, heads, base, _in_use: in_use }
	}

	/// Has the game be on the chain, there, with moves in these blocks.
	fn show(&self, id: &(ClaimId, AccountId), transcript: &Transcript, position: Position, moves: &[BlockNumber]) {
		self.node.answer("Disputes", "games_of", &vec![id.clone()]);
		let (turn, defender) = (position.turn(), id.0.who.clone());
		let view = GameView { position, turn, deadline: 90_000, reserve: 9, moves: moves.to_vec(), bond: NEURO, defender };
		self.node.answer("Disputes", "game", &Some(view));
		self.node.answer("Disputes", "answer_claim", &Some(AnswerClaim { config: config(), receipt: transcript.receipt.clone() }));
	}

	/// Has the player make a move, which is in a block then: that block, and the move.
	async fn moved(&mut self) -> (BlockNumber, Move) {
		let sent = self.node.submitted().borrow().len();
		assert!(self.player.turn(&self.heads).await.unwrap());
		assert_eq!(self.node.submitted().borrow().len(), sent + 1);
		let client = self.node.client().await;
		let last = client.now().await.unwrap().block().number;
		for number in (0..=last).rev() {
			if let Some(Act::Play { action, .. }) = client.posted(client.block_at(number).await.unwrap()).await.unwrap().pop() {
				return (number, action);
			}
		}
		panic!("no move is in a block");
	}
}

async fn player(node: &MockNode, transcript_store: &TranscriptStore, side: Side) -> (Player, watch::Receiver<Vec<Dispute>>) {
	let (client, submitter, transcript_store) = (node.client().await, node.submitter().await, transcript_store.clone());
	Player::new(Parts { client, submitter, transcript_store, side, threads: 1, in_use: None, lie: None })
}

fn session() -> SessionView {
	SessionView { user: alice(), provider: None, escrow: NEURO, paid: 0, closes_at: None }
}

fn next(case: &Case, position: Position, action: &Move) -> Outcome {
	case.grounds().judge(|setting| position.play(setting, action)).unwrap()
}

#[tokio::test]
async fn a_provider_defends_a_right_answer_to_the_end() {
	let mut fixture = Fixture::new(Side::Defender).await;
	let transcript = given(alice(), 0, |_| {}).await;
	fixture.transcript_store.keep(&transcript).unwrap();
	let id = (transcript.receipt.claim(GENESIS).unwrap(), somebody());
	let (mut challenger, doubt) = mistaken(&transcript);
	let (mut position, mut defence, mut moves) = (challenger.open_answer(doubt).unwrap(), Vec::new(), vec![1]);
	let ruling = loop {
		let action = match position.turn() {
			Side::Defender => {
				fixture.show(&id, &transcript, position, &moves);
				let (block, action) = fixture.moved().await;
				moves.push(block);
				defence.push(action.clone());
				// It is not its turn any more.
				if let Outcome::Next(next) = next(&challenger, position, &action) {
					fixture.show(&id, &transcript, next, &moves);
					assert!(!fixture.player.turn(&fixture.heads).await.unwrap());
				}
				action
			}
			Side::Challenger => {
				moves.push(1);
				challenger.respond(Side::Challenger, &position, &defence).unwrap()
			}
		};
		match next(&challenger, position, &action) {
			Outcome::Next(next) => position = next,
			Outcome::Decided(ruling) => break ruling,
		}
	};
	assert_eq!((ruling, defence.len() > 1), (Ruling::Unfounded, true));
	let told = fixture.disputes.borrow_and_update().clone();
	assert!(matches!(&told[..], [Dispute { paid: Some((SESSION, 0)), state: State::Open { .. }, .. }]), "{told:?}");
	// The final state still has it: it may come back.
	fixture.node.answer("Disputes", "games_of", &Vec::<(ClaimId, AccountId)>::new());
	for _ in 0..5 {
		assert!(!fixture.player.turn(&fixture.heads).await.unwrap());
		assert!(matches!(&fixture.disputes.borrow()[..], [Dispute { state: State::Open { .. }, .. }]));
	}
	fixture.node.answer("Disputes", "game", &None::<GameView>);
	while matches!(&fixture.disputes.borrow()[..], [Dispute { state: State::Open { .. }, .. }]) {
		assert!(!fixture.player.turn(&fixture.heads).await.unwrap());
	}
	assert!(matches!(&fixture.disputes.borrow()[..], [Dispute { state: State::Ended(None), .. }]));
}

#[tokio::test]
async fn a_challenger_reads_the_moves_off_the_blocks_also_after_a_restart_and_proves_the_token_false() {
	let mut fixture = Fixture::new(Side::Challenger).await;
	let transcript = given(somebody(), 0, other_token).await;
	fixture.transcript_store.keep(&transcript).unwrap();
	let id = (transcript.receipt.claim(GENESIS).unwrap(), alice());
	let mut defending = case(&transcript);
	let first = defending.open_answer(5).unwrap();
	let signature = transcript.signature.unwrap();
	let opening = fixture.submitter.submit(challenge_answer(transcript.receipt.clone(), signature, 5)).await.unwrap().block.number;
	let read = defending.respond(Side::Defender, &first, &[]).unwrap();
	let call = play(id.0.clone(), id.1.clone(), &first, read.clone());
	let posted = fixture.submitter.submit(call).await.unwrap().block.number;
	let Outcome::Next(position) = next(&defending, first, &read) else { panic!("a game") };
	fixture.show(&id, &transcript, position, &[opening, posted]);
	// Another process of this base folder comes too late.
	let (mut other, _) = player(&fixture.node, &fixture.transcript_store, Side::Challenger).await;
	let (named, nodes_are_right) = fixture.moved().await;
	assert_eq!(nodes_are_right, Move::Vector(0));
	assert!(!other.turn(&fixture.heads).await.unwrap());
	let Outcome::Next(position) = next(&defending, position, &nodes_are_right) else { panic!("a game") };
	let row = defending.respond(Side::Defender, &position, &[]).unwrap();
	let call = play(id.0.clone(), id.1.clone(), &position, row.clone());
	let posted_row = fixture.submitter.submit(call).await.unwrap().block.number;
	let Outcome::Next(position) = next(&defending, position, &row) else { panic!("a game") };
	fixture.show(&id, &transcript, position, &[opening, posted, named, posted_row]);
	let (_, choice) = fixture.moved().await;
	assert!(matches!(choice, Move::Choice { index: 5, .. }));
	assert!(matches!(next(&defending, position, &choice), Outcome::Decided(Ruling::Fraud)));
	// When the first one has ended, it goes on from the same files.
	fixture.player = player(&fixture.node, &TranscriptStore::open(fixture.base.path()).unwrap(), Side::Challenger).await.0;
	assert_eq!(fixture.moved().await.1, choice);
}

#[tokio::test]
async fn games_of_the_other_side_and_about_training_are_left_alone() {
	let mut fixture = Fixture::new(Side::Defender).await;
	let transcript = given(somebody(), 0, |_| {}).await;
	let claim = transcript.receipt.claim(GENESIS).unwrap();
	let position = case(&transcript).open_answer(0).unwrap();
	fixture.show(&(claim.clone(), alice()), &transcript, position, &[1]);
	assert!(!fixture.player.turn(&fixture.heads).await.unwrap());
	let work = ClaimId { kind: neuroshard_types::dispute::ClaimKind::Work, who: alice(), ..claim };
	fixture.show(&(work, somebody()), &transcript, position, &[1]);
	assert!(!fixture.player.turn(&fixture.heads).await.unwrap());
	assert!(fixture.disputes.borrow().is_empty() && fixture.node.submitted().borrow().is_empty());
}

#[tokio::test]
async fn a_move_for_which_something_is_missing_says_so_rests_and_is_tried_again() {
	let mut fixture = Fixture::new(Side::Defender).await;
	let transcript = given(alice(), 0, |_| {}).await;
	let id = (transcript.receipt.claim(GENESIS).unwrap(), somebody());
	fixture.show(&id, &transcript, case(&transcript).open_answer(0).unwrap(), &[1]);
	let error = fixture.player.turn(&fixture.heads).await.unwrap_err().to_string();
	assert!(error.contains("there is no transcript"), "{error}");
	assert!(!fixture.player.turn(&fixture.heads).await.unwrap(), "it rests");
	fixture.transcript_store.keep(&transcript).unwrap();
	while !fixture.player.turn(&fixture.heads).await.unwrap() {}
	assert_eq!(fixture.node.submitted().borrow().len(), 1);
}

#[tokio::test]
async fn transcripts_are_deleted_when_their_session_is_settled_for_good_and_no_game_needs_them() {
	let mut fixture = Fixture::new(Side::Defender).await;
	let transcript = given(alice(), 0, |_| {}).await;
	fixture.transcript_store.keep(&transcript).unwrap();
	let client = fixture.node.client().await;
	let sweep = async |fixture: &Fixture| {
		fixture.player.forget_settled(&client.now().await.unwrap()).await.unwrap();
		fixture.transcript_store.transcript(&transcript.receipt, GENESIS).is_ok()
	};
	assert!(sweep(&fixture).await, "the session is open");
	fixture.node.answer("Inference", "session", &None::<SessionView>);
	fixture.node.answer("Inference", "next_session", &SESSION);
	assert!(sweep(&fixture).await, "the final state has not seen it opened");
	fixture.node.answer("Inference", "next_session", &(SESSION + 1));
	let id = (transcript.receipt.claim(GENESIS).unwrap(), somebody());
	fixture.node.answer("Disputes", "games_of", &vec![id]);
	assert!(sweep(&fixture).await, "it is disputed");
	fixture.node.answer("Disputes", "games_of", &Vec::<(ClaimId, AccountId)>::new());
	assert!(!sweep(&fixture).await);
	// A player does that by itself.
	fixture.transcript_store.keep(&transcript).unwrap();
	assert!(!fixture.player.turn(&fixture.heads).await.unwrap());
	assert!(fixture.transcript_store.transcript(&transcript.receipt, GENESIS).is_err());
}

#[tokio::test]
async fn transcripts_of_a_settled_session_are_kept_as_long_as_audits_of_it_can_be_open() {
	let fixture = Fixture::new(Side::Defender).await;
	let transcript = given(alice(), 0, |_| {}).await;
	fixture.transcript_store.keep(&transcript).unwrap();
	fixture.node.answer(
		"Disputes",
		"answer_audit_terms",
		&AnswerAuditTerms { share: 1, draw_price: 0, deliver_time: 1, deposit: NEURO, open_for: 50 },
	);
	fixture.node.answer("Inference", "session", &None::<SessionView>);
	let client = fixture.node.client().await;
	let sweep = async || {
		let at = client.now().await.unwrap();
		fixture.player.forget_settled(&at).await.unwrap();
		(client.heads().await.unwrap().finalized.number, fixture.transcript_store.find(SESSION, transcript.receipt.hash(GENESIS)).is_ok())
	};
	let (first, kept) = sweep().await;
	assert!(kept);
	fixture.node.grow(40);
	assert!(sweep().await.1, "and what was noted first counts");
	fixture.node.grow(60);
	let (last, kept) = sweep().await;
	assert!(last >= first + 50 && !kept);
	assert_eq!(fixture.transcript_store.settled_since(SESSION, last).unwrap(), last, "nothing is left of it");
}

#[tokio::test]
async fn a_player_ends_when_it_is_told_to() {
	let fixture = Fixture::new(Side::Defender).await;
	let stop = CancellationToken::new();
	let playing = tokio::spawn(fixture.player.run(stop.clone()));
	stop.cancel();
	playing.await.unwrap();
}

#[tokio::test]
async fn an_answer_is_disputed_once_and_only_by_who_can_pay_for_it() {
	let fixture = Fixture::new(Side::Challenger).await;
	let transcript = given(somebody(), 0, other_token).await;
	let (client, model) = (fixture.node.client().await, config().model);
	let accusation = Accusation::new(&transcript, 5, &alice(), GENESIS).unwrap();
	fixture.node.answer("Disputes", "game", &None::<GameView>);
	let open = async || challenge(&client, &fixture.submitter, &accusation, &model).await;
	fixture.node.answer("Disputes", "bond_against", &None::<u128>);
	let error = open().await.unwrap_err();
	assert!(matches!(error, ChallengeError::Crowded(_)) && error.passes());
	fixture.node.answer("Disputes", "bond_against", &Some(100 * NEURO));
	let error = open().await.unwrap_err();
	assert!(matches!(error, ChallengeError::Poor { .. }) && !error.passes() && error.to_string().contains("100"), "{error}");
	fixture.node.fund(200 * NEURO);
	let block = open().await.unwrap();
	let posted = client.posted(block).await.unwrap();
	assert_eq!(posted, [Act::ChallengeAnswer { claim: accusation.claim.clone(), doubt: 5 }]);
	// Whoever was drawn holds the least bond, however much is at stake and however many games are open.
	fixture.node.answer("Disputes", "bond_against", &None::<u128>);
	fixture.node.answer("Disputes", "terms", &Terms { window: 30, clock: 5, extension: 5, bond: 3 * NEURO, most_games: 32 });
	let audit = AnswerAuditView { auditor: alice(), ..neuroshard_fixtures::answers::audit(&transcript, 1, H256::zero()) };
	fixture.node.answer("Disputes", "answer_audit", &Some(&audit));
	let at = client.now().await.unwrap();
	let (needed, kept) = accusation.needed(&at, &fixture.submitter, &model).await.unwrap();
	assert_eq!(kept, 3 * NEURO + at.existential_deposit().unwrap());
	assert!(needed > kept);
	fixture.node.answer("Disputes", "answer_audit", &Some(AnswerAuditView { auditor: somebody(), ..audit }));
	assert!(matches!(accusation.needed(&at, &fixture.submitter, &model).await, Err(ChallengeError::Crowded(_))));
	// It is open already.
	fixture.show(&(accusation.claim.clone(), alice()), &transcript, case(&transcript).open_answer(5).unwrap(), &[block.number]);
	open().await.unwrap();
	assert_eq!(fixture.node.submitted().borrow().len(), 1);
}

#[test]
fn what_cannot_be_disputed_is_refused_with_a_reason() {
	let transcript = answered(somebody(), &newest().params, 0, other_token);
	let refused = |transcript: &Transcript, who: AccountId, genesis| Accusation::new(transcript, 5, &who, genesis).unwrap_err().to_string();
	assert!(refused(&Transcript { signature: None, ..transcript.clone() }, alice(), GENESIS).contains("nobody has signed"));
	assert!(refused(&transcript, somebody(), GENESIS).contains("its own answers"));
	assert!(refused(&transcript, alice(), H256::zero()).contains("the first block"));
	let mut unpaid = transcript;
	unpaid.receipt.paid = None;
	assert!(refused(&unpaid, alice(), GENESIS).contains("no paid session"));
}
