//! Extrinsics on their way into a block of a node that forgets, refuses, fails and goes away.

use crate::{disputes, keys::Account, testing::Connect, training, Call, ChainError, Submitter};
use codec::{Decode, Encode};
use neuroshard_graph::game::{Move, Position};
use neuroshard_mock_node::{nonce_and_tip_of, nonce_of, Fate, MockNode, Script};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind},
	AccountId, Balance, NEURO,
};

fn script(blocks_a_look: u32, fate: fn(usize) -> Fate) -> Script {
	Script { blocks_a_look, fate }
}

#[tokio::test]
async fn what_got_into_a_block_is_reported_with_block_and_events() {
	let node = MockNode::start(script(1, |_| Fate::Included)).await;
	let included = node.submitter().await.submit(training::join(7)).await.unwrap();
	assert!(included.block.number > 0);
	let names: Vec<_> = included.events.iter().map(|event| (event.pallet.as_str(), event.name.as_str())).collect();
	assert_eq!(names, [("System", "ExtrinsicSuccess")]);
	assert_eq!(node.submitted().borrow().len(), 1);
}

#[tokio::test]
async fn an_operator_sends_for_its_owner_as_long_as_it_is_one_and_nothing_for_itself_afterwards() {
	let node = MockNode::start(script(1, |_| Fate::Included)).await;
	let (operator, owner) = (Account::from_secret("//Alice").unwrap(), AccountId::new([7; 32]));
	let submitter = Submitter::spawn_for(node.client().await, operator.clone(), owner.clone());
	assert_eq!((submitter.who(), submitter.signer(), submitter.is_operator()), (&owner, &operator.id(), true));
	node.answer("Staking", "owner_of", &Some(owner.clone()));
	submitter.submit(training::join(7)).await.unwrap();
	for replaced in [None, Some(AccountId::new([8; 32]))] {
		node.answer("Staking", "owner_of", &replaced);
		let sent = [submitter.submit(training::join(7)).await, submitter.submit_urgent(training::join(7)).await];
		for error in sent.map(Result::unwrap_err) {
			let words = error.to_string();
			assert!(words.contains(&format!("{} is not the operator of {owner} any more", operator.id())), "{words}");
		}
	}
	assert_eq!(node.submitted().borrow().len(), 1);
}

#[tokio::test]
async fn a_call_that_fails_in_its_block_is_named_with_the_pallets_error_and_advice() {
	let node = MockNode::start(script(1, |_| Fate::Failed)).await;
	let error = node.submitter().await.submit(training::join(7)).await.unwrap_err();
	let ChainError::Dispatch { call, name, advice } = error else { panic!("{error}") };
	assert!(call == "Training::join" && name.starts_with("Training::") && !advice.is_empty(), "{call} {name} {advice}");
}

#[tokio::test]
async fn a_panic_ends_one_request_and_what_is_asked_for_next_is_sent() {
	let node = MockNode::start(script(1, |_| Fate::Included)).await;
	let submitter = node.submitter().await;
	for _ in 0..2 {
		let error = submitter.submit(Call::panicking()).await.unwrap_err();
		assert!(matches!(error, ChainError::Stopped), "{error}");
		submitter.submit_urgent(training::join(7)).await.unwrap();
	}
	assert_eq!(node.submitted().borrow().len(), 2);
}

#[tokio::test]
async fn a_panic_of_what_is_more_urgent_does_not_end_what_stood_aside_for_it() {
	let node = MockNode::start(script(16, |number| if number < 1 { Fate::Forgotten } else { Fate::Included })).await;
	let (submitter, mut submitted) = (node.submitter().await, node.submitted());
	let interrupt = async {
		submitted.wait_for(|all| !all.is_empty()).await.unwrap();
		submitter.submit_urgent(Call::panicking()).await
	};
	let (sent, panicked) = tokio::join!(submitter.submit(training::join(7)), interrupt);
	assert!(matches!(panicked, Err(ChainError::Stopped)), "{panicked:?}");
	sent.unwrap();
}

#[tokio::test]
async fn what_expires_is_left_to_whoever_asked_if_that_is_what_it_wants() {
	let node = MockNode::start(script(30, |_| Fate::Forgotten)).await;
	let error = node.submitter().await.submit_once(training::join(7)).await.unwrap_err();
	assert!(matches!(error, ChainError::NotIncluded { blocks: 64, .. }), "{error}");
	let submitted = node.submitted().borrow().clone();
	assert!(submitted.len() > 1 && submitted.iter().all(|one| *one == submitted[0]), "a forgotten extrinsic is handed over again as it is");
}

#[tokio::test]
async fn what_expires_is_signed_anew_otherwise() {
	let node = MockNode::start(script(30, |number| if number == 0 { Fate::Forgotten } else { Fate::Included })).await;
	node.submitter().await.submit(training::join(7)).await.unwrap();
	let submitted = node.submitted().borrow().clone();
	assert_ne!(submitted.first(), submitted.last());
}

#[tokio::test]
async fn a_nonce_that_another_extrinsic_took_is_replaced() {
	let outdated = |number| if number == 0 { Fate::Refused(1010, "Transaction is outdated") } else { Fate::Included };
	let node = MockNode::start(script(1, outdated)).await;
	node.submitter().await.submit_once(training::join(7)).await.unwrap();
	assert_eq!(node.submitted().borrow().len(), 2);
}

#[tokio::test]
async fn what_the_pool_will_never_take_is_not_tried_again() {
	let node = MockNode::start(script(1, |_| Fate::Refused(1010, "Transaction call is not expected"))).await;
	let error = node.submitter().await.submit(training::join(7)).await.unwrap_err();
	assert!(matches!(error, ChainError::Pool { .. }), "{error}");
	assert_eq!(node.submitted().borrow().len(), 1);
}

#[tokio::test]
async fn an_account_that_cannot_pay_is_told_what_it_has() {
	let broke = |_| Fate::Refused(1010, "Inability to pay some fees (e.g. account balance too low)");
	let node = MockNode::start(script(1, broke)).await;
	let error = node.submitter().await.submit(training::join(7)).await.unwrap_err();
	assert!(matches!(error, ChainError::Unfunded { .. }) && error.to_string().contains("0 NEURO"), "{error}");
}

#[tokio::test]
async fn a_node_that_goes_away_with_its_pool_and_comes_back_gets_the_extrinsic_again() {
	let mut node = MockNode::start(script(1, |_| Fate::IncludedAfterRestart)).await;
	let (submitter, mut submitted) = (node.submitter().await, node.submitted());
	let restart = async {
		submitted.wait_for(|all| !all.is_empty()).await.unwrap();
		node.restart().await;
	};
	let (included, ()) = tokio::join!(submitter.submit(training::join(7)), restart);
	included.unwrap();
	let submitted = node.submitted().borrow().clone();
	assert!(
		submitted.len() > 1 && submitted.iter().all(|one| *one == submitted[0]),
		"it is the same extrinsic: it cannot be executed twice"
	);
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_does_not_hold_up_what_is_sent_next() {
	let node = MockNode::start(script(1, |number| if number == 0 { Fate::Forgotten } else { Fate::Included })).await;
	let (submitter, mut submitted) = (node.submitter().await, node.submitted());
	tokio::select! {
		_ = submitter.submit_once(training::join(7)) => panic!("the node forgot it"),
		sent = submitted.wait_for(|all| !all.is_empty()) => drop(sent.unwrap()),
	}
	submitter.submit_once(training::leave(7)).await.unwrap();
	let submitted = node.submitted().borrow().clone();
	assert!(submitted.len() == 2 && submitted[0] != submitted[1], "the first one is not handed over again");
}

#[tokio::test]
async fn a_node_that_answers_no_more_calls_for_now_is_asked_again() {
	let node = MockNode::start(script(1, |_| Fate::Included)).await;
	let submitter = node.submitter().await;
	node.limit(5);
	submitter.submit_once(training::join(7)).await.unwrap();
	node.limit(1);
	let error = node.client().await.heads().await.unwrap_err();
	assert!(matches!(error, ChainError::NodeBusy { .. }) && error.to_string().contains("(RPC rate limit exceeded"), "{error}");
}

/// A move in a dispute with the longest list.
fn longest_move() -> Call {
	let who = AccountId::new([1; 32]);
	let claim = ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: who.clone() };
	disputes::play(claim, who, &Position::Checkpoints { count: 1 }, Move::Hashes(vec![[7; 32]; 16_384]))
}

fn nonces(submitted: &[Vec<u8>]) -> Vec<u64> {
	submitted.iter().map(|extrinsic| nonce_of(extrinsic)).collect()
}

#[tokio::test]
async fn a_move_overtakes_what_is_stuck_and_what_is_queued_and_they_follow_it() {
	let node = MockNode::start(script(1, |number| if number == 0 { Fate::Kept } else { Fate::Included })).await;
	let (submitter, mut submitted) = (node.submitter().await, node.submitted());
	let urgent = async {
		submitted.wait_for(|all| !all.is_empty()).await.unwrap();
		submitter.submit_urgent(longest_move()).await
	};
	let ordinary = |run| submitter.submit_once(training::join(run));
	let (moved, first, second, third) = tokio::join!(urgent, ordinary(1), ordinary(2), ordinary(3));
	let moved = moved.unwrap().block.number;
	assert!([first, second, third].into_iter().all(|one| one.unwrap().block.number > moved));
	let submitted = node.submitted().borrow().clone();
	assert_eq!(nonces(&submitted), [0, 0, 1, 2, 3], "the move has the place of the one that was stuck");
	let longest = submitted.iter().map(Vec::len).max().unwrap();
	assert!(longest > 512 * 1024 && submitted[1].len() == longest);
}

#[tokio::test]
async fn a_challenge_stands_aside_for_a_move_and_what_has_no_deadline_for_both() {
	let node = MockNode::start(script(1, |number| if number < 2 { Fate::Kept } else { Fate::Included })).await;
	let (submitter, mut submitted) = (node.submitter().await, node.submitted());
	let mut later = node.submitted();
	let challenge = async {
		submitted.wait_for(|all| !all.is_empty()).await.unwrap();
		submitter.submit_prompt(training::leave(7), 0).await.unwrap().block.number
	};
	let urgent = async {
		later.wait_for(|all| all.len() > 1).await.unwrap();
		submitter.submit_urgent(longest_move()).await.unwrap().block.number
	};
	let ordinary = async { submitter.submit_once(training::join(7)).await.unwrap().block.number };
	let (last, second, first) = tokio::join!(ordinary, challenge, urgent);
	assert!(first < second && second < last, "{first} {second} {last}");
	assert_eq!(nonces(&node.submitted().borrow()), [0, 0, 0, 1, 2], "each has the place of the one that stands aside");
}

#[tokio::test]
async fn an_act_in_a_round_waits_for_no_challenge_and_stands_aside_for_a_move() {
	let node = MockNode::start(script(1, |number| if number < 2 { Fate::Kept } else { Fate::Included })).await;
	let (submitter, mut submitted) = (node.submitter().await, node.submitted());
	let mut later = node.submitted();
	let act = async {
		submitted.wait_for(|all| !all.is_empty()).await.unwrap();
		submitter.submit_timely(training::leave(7), 1_000, 0).await.unwrap().block.number
	};
	let urgent = async {
		later.wait_for(|all| all.len() > 1).await.unwrap();
		submitter.submit_urgent(longest_move()).await.unwrap().block.number
	};
	let challenge = async { submitter.submit_prompt(training::join(7), 0).await.unwrap().block.number };
	let (last, second, first) = tokio::join!(challenge, act, urgent);
	assert!(first < second && second < last, "{first} {second} {last}");
	assert_eq!(nonces(&node.submitted().borrow()), [0, 0, 0, 1, 2], "each has the place of the one that stands aside");
}

#[tokio::test]
async fn what_is_too_late_for_its_deadline_is_given_up_and_holds_up_nothing_behind_it() {
	let node = MockNode::start(script(1, |number| if number < 2 { Fate::Forgotten } else { Fate::Included })).await;
	let submitter = node.submitter().await;
	let (first, second) =
		tokio::join!(submitter.submit_timely(training::leave(7), 12, 0), submitter.submit_timely(training::leave(8), 1_000, 0),);
	assert!(matches!(first, Err(ChainError::Late { deadline: 12, .. })), "{first:?}");
	second.unwrap();
	// One whose deadline is over before it is sent is not sent.
	let sent = node.submitted().borrow().len();
	let late = submitter.submit_timely(training::leave(9), 5, 0).await;
	assert!(matches!(late, Err(ChainError::Late { deadline: 5, .. })), "{late:?}");
	assert_eq!(node.submitted().borrow().len(), sent);
}

#[tokio::test]
async fn a_move_waits_a_block_at_a_time_for_a_place_that_the_pool_does_not_give_up() {
	let node = MockNode::start(script(1, |number| if number == 0 { Fate::Stale } else { Fate::Included })).await;
	let (submitter, mut submitted) = (node.submitter().await, node.submitted());
	// A move in a game that is over: nobody waits for it any more, and no block takes it.
	tokio::select! {
		_ = submitter.submit_urgent(longest_move()) => panic!("it is in no block"),
		sent = submitted.wait_for(|all| !all.is_empty()) => drop(sent.unwrap()),
	}
	submitter.submit_urgent(training::leave(7)).await.unwrap();
	let submitted = node.submitted().borrow().clone();
	assert!(submitted.len() > 2 && nonces(&submitted).iter().all(|nonce| *nonce == 0));
	assert!(submitted[1..].iter().all(|one| *one == submitted[1]), "it is signed once");
}

/// Tips that an urgent extrinsic offers one after the other, in planck, until the seventh is taken. All of them have the same place.
async fn offers(free: Balance, fate: fn(usize) -> Fate) -> Vec<Balance> {
	let node = MockNode::start(script(1, fate)).await;
	node.fund(free);
	node.submitter().await.submit_urgent(training::leave(7)).await.unwrap();
	let submitted = node.submitted().borrow().clone();
	assert!(submitted.iter().all(|one| nonce_of(one) == 0));
	let mut tips: Vec<_> = submitted.iter().map(|one| nonce_and_tip_of(one).1).collect();
	tips.dedup();
	tips
}

#[tokio::test]
async fn an_urgent_extrinsic_that_blocks_have_no_room_for_offers_larger_and_larger_tips() {
	let hundredth = NEURO / 100;
	let expected = [0, 1, 4, 16, 64, 256, 500].map(|hundredths| hundredths * hundredth);
	// The pool takes it, and no block does; and the pool is full.
	let forgotten = |number| if number < 6 { Fate::Forgotten } else { Fate::Included };
	let full = |number| if number < 6 { Fate::Refused(1016, "Immediately Dropped") } else { Fate::Included };
	assert_eq!(offers(1_000 * NEURO, forgotten).await, expected);
	assert_eq!(offers(1_000 * NEURO, full).await, expected);
}

/// Different extrinsics among those that were handed over.
fn different(submitted: &[Vec<u8>]) -> usize {
	submitted.iter().collect::<std::collections::HashSet<_>>().len()
}

/// Has four acts sent, each once something else was handed over after the one before, whose place it takes.
async fn four_acts(node: &MockNode, submitter: &Submitter) {
	let mut submitted = node.submitted();
	for act in 0..4 {
		submitted.wait_for(|all| different(all) > 2 * act).await.unwrap();
		submitter.submit_timely(training::leave(7), 1_000, 0).await.unwrap();
	}
}

#[tokio::test]
async fn a_challenge_whose_place_acts_take_again_and_again_offers_tips_all_the_same() {
	// The challenge and the acts by turns: no block takes the challenge, which has never waited for as long as one alone that is stuck.
	let node = MockNode::start(script(1, |number| if number % 2 == 0 && number < 8 { Fate::Kept } else { Fate::Included })).await;
	node.fund(1_000 * NEURO);
	let submitter = node.submitter().await;
	let (challenged, ()) = tokio::join!(submitter.submit_prompt(training::join(7), 0), four_acts(&node, &submitter));
	challenged.unwrap();
	let submitted = node.submitted().borrow().clone();
	assert!(nonce_and_tip_of(submitted.last().unwrap()).1 >= NEURO / 100, "it waited for some blocks each time");
}

#[tokio::test]
async fn a_challenge_offers_tips_also_if_nobody_waits_for_the_acts_that_take_its_place() {
	// As above, but who sends acts sees them on the chain before their way is followed.
	let node = MockNode::start(script(1, |number| if number % 2 == 0 && number < 12 { Fate::Kept } else { Fate::Included })).await;
	node.fund(1_000 * NEURO);
	let (submitter, mut submitted) = (node.submitter().await, node.submitted());
	let acts = async {
		for act in 0..6 {
			submitted.wait_for(|all| different(all) > 2 * act).await.unwrap();
			tokio::select! {
				_ = submitter.submit_timely(training::leave(7), 1_000, 0) => {},
				seen = submitted.wait_for(|all| different(all) > 2 * act + 1) => drop(seen.unwrap()),
			}
		}
	};
	let (challenged, ()) = tokio::join!(submitter.submit_prompt(training::join(7), 0), acts);
	challenged.unwrap();
	let submitted = node.submitted().borrow().clone();
	assert!(nonce_and_tip_of(submitted.last().unwrap()).1 >= NEURO / 100);
}

#[tokio::test]
async fn what_has_no_deadline_offers_no_tip_however_often_others_of_the_account_come_first() {
	let node = MockNode::start(script(3, |number| if number % 2 == 0 && number < 8 { Fate::Kept } else { Fate::Included })).await;
	node.fund(1_000 * NEURO);
	let submitter = node.submitter().await;
	let (sent, ()) = tokio::join!(submitter.submit_once(training::join(7)), four_acts(&node, &submitter));
	sent.unwrap();
	assert!(node.submitted().borrow().iter().all(|one| nonce_and_tip_of(one).1 == 0));
}

#[tokio::test]
async fn what_is_wanted_as_of_a_block_is_given_up_when_an_act_takes_its_place() {
	let node = MockNode::start(script(1, |number| if number == 0 { Fate::Kept } else { Fate::Included })).await;
	let (client, submitter) = (node.client().await, node.submitter().await);
	let (decided, mut submitted) = (client.heads().await.unwrap().best, node.submitted());
	let act = async {
		submitted.wait_for(|all| !all.is_empty()).await.unwrap();
		submitter.submit_urgent(longest_move()).await.unwrap();
	};
	let (given_up, ()) = tokio::join!(submitter.submit_as_of(training::join(7), decided), act);
	assert!(matches!(given_up, Err(ChainError::Pool { .. })), "{given_up:?}");
}

#[tokio::test]
async fn what_is_in_a_block_as_it_was_signed_before_is_found_there_and_not_sent_again() {
	// The pool refuses what is to replace it, and a block takes the first one.
	let node = MockNode::start(script(1, |number| if number == 0 { Fate::Slow } else { Fate::Included })).await;
	node.fund(1_000 * NEURO);
	node.submitter().await.submit_prompt(training::join(7), 0).await.unwrap();
	let submitted = node.submitted().borrow().clone();
	assert!(
		different(&submitted) > 1 && nonces(&submitted).iter().all(|nonce| *nonce == 0),
		"a version with a tip was signed for the same place"
	);
}

#[tokio::test]
async fn what_no_block_takes_for_as_long_as_an_extrinsic_is_valid_is_given_up() {
	let node = MockNode::start(script(1, |_| Fate::Refused(1016, "Immediately Dropped"))).await;
	node.fund(NEURO);
	let error = node.submitter().await.submit_urgent(training::leave(7)).await.unwrap_err();
	assert!(matches!(error, ChainError::NotIncluded { .. }), "{error}");
}

#[tokio::test]
async fn what_a_call_needs_itself_is_not_offered_as_a_tip() {
	let node = MockNode::start(script(1, |number| if number < 3 { Fate::Forgotten } else { Fate::Included })).await;
	node.fund(101 * NEURO);
	node.submitter().await.submit_prompt(training::leave(7), 100 * NEURO).await.unwrap();
	let submitted = node.submitted().borrow().clone();
	assert_eq!(submitted.iter().map(|one| nonce_and_tip_of(one).1).max(), Some(NEURO / 10));
}

#[tokio::test]
async fn a_tip_that_leaves_nothing_for_the_fee_is_taken_back() {
	let broke = |number| match number {
		0 => Fate::Forgotten,
		1 => Fate::Refused(1010, "Inability to pay some fees (e.g. account balance too low)"),
		_ => Fate::Included,
	};
	assert_eq!(offers(NEURO, broke).await, [0, NEURO / 100, 0]);
}

#[tokio::test]
async fn a_tip_is_at_most_a_tenth_of_what_is_free() {
	let forgotten = |number| if number < 6 { Fate::Forgotten } else { Fate::Included };
	assert_eq!(offers(NEURO, forgotten).await, [0, 1, 4, 10].map(|hundredths| hundredths * (NEURO / 100)));
}

#[tokio::test]
async fn what_was_sent_behind_an_extrinsic_that_is_gone_does_not_wait_for_its_place_to_be_filled() {
	let node = MockNode::start(script(1, |number| match number {
		0 => Fate::Stale,
		1 => Fate::Forgotten,
		_ => Fate::Included,
	}))
	.await;
	let (submitter, mut submitted) = (node.submitter().await, node.submitted());
	tokio::select! {
		_ = submitter.submit_urgent(longest_move()) => panic!("it is in no block"),
		sent = submitted.wait_for(|all| !all.is_empty()) => drop(sent.unwrap()),
	}
	submitter.submit(training::join(7)).await.unwrap();
	let submitted = nonces(&node.submitted().borrow());
	assert_eq!((submitted.first(), submitted.get(1), submitted.last()), (Some(&0), Some(&1), Some(&0)));
}

/// The block that an extrinsic's validity begins with, seen from block `now`.
fn birth(extrinsic: &[u8], now: u64) -> u64 {
	// Behind length, version, address and signature.
	let length = codec::Compact::<u32>::decode(&mut &*extrinsic).map(|length| codec::Compact(length.0).encoded_size()).unwrap();
	sp_runtime::generic::Era::decode(&mut &extrinsic[length + 1 + 33 + 65..]).unwrap().birth(now)
}

#[tokio::test]
async fn what_is_wanted_as_of_a_block_is_valid_after_it_alone_and_given_up_when_its_place_is_taken() {
	let taken = |number| if number == 1 { Fate::Refused(1010, "Transaction is outdated") } else { Fate::Included };
	let node = MockNode::start(script(1, taken)).await;
	let (client, submitter) = (node.client().await, node.submitter().await);
	let decided = client.heads().await.unwrap().best;
	node.grow(20);
	submitter.submit_as_of(training::join(7), decided).await.unwrap();
	// In the state after that block, the place of the first one is free.
	let error = submitter.submit_as_of(training::join(8), decided).await.unwrap_err();
	assert!(matches!(error, ChainError::Pool { .. }), "{error}");
	let submitted = node.submitted().borrow().clone();
	assert_eq!(nonces(&submitted), [0, 0]);
	assert!(submitted.iter().all(|one| birth(one, 22) == u64::from(decided.number)));
}
