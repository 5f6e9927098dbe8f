//! Operators: their keys do all the work of providers whose own keys stay offline, and move none of their money.

use super::*;
use frame_support::traits::{fungible::Mutate, GetCallMetadata};
use neuroshard_graph::{game::Entry, merkle};
use neuroshard_runtime::{Address, RuntimeCall};
use neuroshard_types::{
	dataset::{ChunkOpening, ChunkPlace, ShardRange},
	provider::ProviderInfo,
	reward::BudgetShares,
	traits::Providers as _,
};
use pallet_neuro_disputes::CheckTurn;
use sp_runtime::{
	traits::{DispatchTransaction, Dispatchable},
	transaction_validity::TransactionSource::External,
};

/// Balance of an operator: for fees, and for the bond of a challenge.
const FUNDS: u128 = 1_000 * NEURO;

/// The operator of the owner with this seed.
fn operator(seed: u8) -> AccountId {
	AccountId::new([200 + seed; 32])
}

/// Returns the result of an extrinsic with this call, signed by `who`: the chain asks whose turn it is, and with which filters.
fn make(who: &AccountId, call: impl Into<RuntimeCall>) -> Result<(), DispatchError> {
	let call = call.into();
	let valid = CheckTurn::<Runtime>::default().validate_only(signed(who), &call, &Default::default(), 0, External, 0);
	valid.map_err(|_| DispatchError::Other("not its turn"))?;
	call.dispatch(signed(who)).map(|_| ()).map_err(|error| error.error)
}

/// Both sides agree on who the operator is. The owner signs nothing any more.
fn operate(owner: &AccountId, seed: u8) -> AccountId {
	let operator = operator(seed);
	assert_ok!(Balances::mint_into(&operator, FUNDS));
	assert_ok!(make(owner, pallet_neuro_staking::Call::set_operator { operator: Some(operator.clone()) }));
	assert_ok!(make(&operator, pallet_neuro_staking::Call::serve { owner: Some(owner.clone()) }));
	operator
}

#[test]
fn operators_do_a_round_and_win_its_disputes_for_owners_who_sign_nothing_after_their_registration() {
	use pallet_neuro_disputes::Call as Disputed;
	use pallet_neuro_training::Call as Trained;
	chain().execute_with(|| {
		create_dataset();
		create_run(10);
		let workers: Vec<(AccountId, u8)> = vec![(Bob.to_account_id(), 1), (Charlie.to_account_id(), 2), (Dave.to_account_id(), 3)];
		for (owner, seed) in &workers {
			assert_ok!(Staking::register(signed(owner), provider::info(Roles::only(Role::Worker), *seed), BOND));
			let by = operate(owner, *seed);
			let Some(ProviderStatus::Unproven { challenge }) = Staking::provider(owner.clone()).map(|provider| provider.status) else {
				panic!("{owner} has nothing to prove")
			};
			let digest = H256(neuroshard_kernels::kat::drawn(challenge.0));
			assert_ok!(make(&by, pallet_neuro_staking::Call::prove_arithmetic { digest }));
			assert_ok!(make(&by, Trained::join { run: 0 }));
		}
		let free = |who: &AccountId| Balances::balance(who);
		let before: Vec<u128> = workers.iter().map(|(owner, _)| free(owner)).collect();
		until(Phase::Training);
		for (owner, seed) in &workers {
			let sealed = seal(GENESIS_HASH, 0, 0, 0, owner, &[*seed; 32], &work(*seed));
			assert_ok!(make(&operator(*seed), Trained::commit { run: 0, round: 0, attempt: 0, sealed }));
		}
		until(Phase::Revealing);
		for (owner, seed) in &workers {
			let work = work(*seed);
			let key = ProofKey { run: 0, round: 0, kind: ProofKind::Training };
			let proof = Proof { key, timestamp: Timestamp::get(), work_hash: H256(blake2_256(&work.encode())) };
			let proof_signature = provider::ponw_key(*seed).sign(&proof.message(GENESIS_HASH, owner)).0;
			assert_ok!(make(
				&operator(*seed),
				Trained::reveal { run: 0, round: 0, attempt: 0, salt: [*seed; 32], work, proof, proof_signature }
			));
		}
		until(Phase::Availability);
		for (_, seed) in &workers {
			let vote = vote_bitmap([true, true, true]).unwrap();
			assert_ok!(make(&operator(*seed), Trained::vote_availability { run: 0, round: 0, attempt: 0, vote }));
		}
		until(Phase::Checkpointing);
		for (_, seed) in &workers {
			let attestation = Attestation { checkpoint: H256([9; 32]), validation_loss: F32::new(3.5) };
			assert_ok!(make(&operator(*seed), Trained::attest { run: 0, round: 0, attempt: 0, attestation }));
		}
		next_block();
		let record = Training::record(0, 0).unwrap();
		let included: Vec<_> = record.included.iter().map(|(who, _)| who.clone()).collect();
		let mut owners: Vec<_> = workers.iter().map(|(owner, _)| owner.clone()).collect();
		owners.sort();
		assert_eq!(included, owners);

		// Bob says what is in the first interval of his work, and Dave which step of it is wrong. Bob says nothing to that.
		let [bob, charlie, dave] = [0, 1, 2].map(|index| workers[index].0.clone());
		let claim = |who: &AccountId| ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: who.clone() };
		let play = |claim: &ClaimId, challenger: &AccountId, action| -> RuntimeCall {
			let position = H256(Disputes::game(claim.clone(), challenger.clone()).unwrap().position.hash());
			Disputed::play { claim: claim.clone(), challenger: challenger.clone(), position, action }.into()
		};
		let open = |who: &AccountId, seed| Disputed::challenge_work {
			run: 0,
			round: 0,
			who: who.clone(),
			work: work(seed),
			doubt: Doubt::Interval(0),
		};
		assert_ok!(make(&operator(3), open(&bob, 1)));
		assert_eq!((Balances::total_balance_on_hold(&operator(3)), free(&operator(3))), (625 * NEURO, FUNDS - 625 * NEURO));
		let steps = [[7; 32], [1; 32]];
		let answer = play(&claim(&bob), &dave, Move::Steps(steps.to_vec()));
		for other in [&operator(3), &dave] {
			assert!(make(other, answer.clone()).is_err(), "it is Bob's turn");
		}
		assert_ok!(make(&operator(1), answer));
		let entry = Entry { hash: steps[0], proof: merkle::prove(&steps, 0).unwrap() };
		assert_ok!(make(&operator(3), play(&claim(&bob), &dave, Move::Step { index: 0, before: None, after: entry })));
		// Charlie answers a challenge of a stranger, which says no more.
		let eve = Eve.to_account_id();
		assert_ok!(make(&eve, open(&charlie, 2)));
		assert_ok!(make(&operator(2), play(&claim(&charlie), &eve, Move::Steps(vec![[7; 32], [2; 32]]))));
		let terms = Disputes::terms();
		for _ in 0..2 * (terms.clock + terms.extension) {
			next_block();
		}
		assert_eq!(Disputes::games(None), vec![]);
		// Half of Bob's stake, and half of Eve's bond, which is a sixteenth of Charlie's.
		let gained: Vec<u128> = workers.iter().zip(&before).map(|((owner, _), before)| free(owner) - before).collect();
		assert_eq!(gained, [0, BOND / 32, BOND / 2]);
		assert_eq!([1, 2, 3].map(|seed| Balances::total_balance(&operator(seed))), [FUNDS; 3]);
		assert_eq!([&bob, &charlie, &dave].map(Balances::total_balance_on_hold), [0, BOND, BOND]);

		// What is earned is the owners', whoever claims it.
		for _ in 0..2 * Ponw::window() + 20 {
			next_block();
		}
		for (owner, seed) in &workers[1..] {
			let (before, eras) = (free(owner), Rewards::claimable_eras(owner.clone()));
			assert_eq!((eras.len(), Rewards::claimable_eras(operator(*seed)).len()), (1, 0));
			assert_ok!(make(&operator(*seed), pallet_neuro_rewards::Call::claim_for { who: owner.clone(), era: eras[0].0 }));
			assert_eq!(free(owner), before + eras[0].1);
		}
		assert_eq!([2, 3].map(|seed| Balances::total_balance(&operator(seed))), [FUNDS; 2]);
	});
}

/// Calls by which an operator works for its owner.
const WORK: [(&str, &[&str]); 6] = [
	("Staking", &["update_info", "chill", "activate", "prove_arithmetic"]),
	("Training", &["join", "leave", "form_quorum", "agree_quorum", "commit", "reveal", "vote_availability", "attest", "report_missing"]),
	("Ponw", &["submit_uptime"]),
	(
		"Disputes",
		&[
			"challenge_work",
			"challenge_attestation",
			"challenge_audit",
			"challenge_answer",
			"demand_answer",
			"deliver_answer",
			"play",
			"enroll",
			"resign",
			"seal_audit",
			"report_audit",
		],
	),
	("Dataset", &["attest", "withdraw_attestation", "answer_challenge"]),
	("Inference", &["offer", "join", "leave", "withdraw_offer", "claim"]),
];

/// All other calls of the pallets that know providers, and those that move money, made to the disadvantage of `owner`.
fn not_work(owner: &AccountId, operator: &AccountId, info: ProviderInfo) -> Vec<RuntimeCall> {
	use pallet_balances::Call as Money;
	use pallet_neuro_dataset::Call as Data;
	use pallet_neuro_inference::Call as Answers;
	use pallet_neuro_ownership::Call as Shares;
	use pallet_neuro_rewards::Call as Eras;
	use pallet_neuro_staking::Call as Stake;
	use pallet_neuro_training::Call as Runs;
	let (to, from) = (|| -> Address { operator.clone().into() }, || -> Address { owner.clone().into() });
	let run = Training::run(0).unwrap().config;
	let manifest = Dataset::dataset(0).unwrap().manifest;
	let opening =
		|| ChunkOpening { data: vec![0; 4_096].try_into().unwrap(), in_shard: Default::default(), in_dataset: Default::default() };
	let place = ChunkPlace { shard: 0, chunk: 0 };
	vec![
		Stake::register { info, bond: BOND }.into(),
		Stake::bond_extra { amount: NEURO }.into(),
		Stake::unbond { amount: NEURO }.into(),
		Stake::withdraw_unbonded {}.into(),
		Stake::deregister {}.into(),
		Stake::lock { days: 365 }.into(),
		Stake::report_sybil { who: owner.clone() }.into(),
		Stake::set_operator { operator: None }.into(),
		Stake::set_operator { operator: Some(operator.clone()) }.into(),
		Money::transfer_allow_death { dest: to(), value: NEURO }.into(),
		Money::transfer_keep_alive { dest: to(), value: NEURO }.into(),
		Money::transfer_all { dest: to(), keep_alive: false }.into(),
		Money::force_transfer { source: from(), dest: to(), value: NEURO }.into(),
		Money::force_unreserve { who: from(), amount: NEURO }.into(),
		Money::force_set_balance { who: from(), new_free: 0 }.into(),
		Money::force_adjust_total_issuance { direction: pallet_balances::AdjustmentDirection::Decrease, delta: NEURO }.into(),
		Money::upgrade_accounts { who: vec![owner.clone()] }.into(),
		Money::burn { value: NEURO, keep_alive: true }.into(),
		Eras::claim { era: 0 }.into(),
		Eras::claim_for { who: owner.clone(), era: 0 }.into(),
		Eras::set_shares { shares: BudgetShares::default() }.into(),
		Shares::deposit_revenue { model: 0, amount: NEURO }.into(),
		Shares::claim { model: 0 }.into(),
		Shares::claim_for { who: owner.clone(), model: 0 }.into(),
		Shares::enrol { model: 0, shares: 1 }.into(),
		Shares::release { model: 0, shares: 1 }.into(),
		Shares::transfer { model: 0, to: operator.clone(), shares: 1 }.into(),
		Runs::create_run { config: run }.into(),
		Runs::approve_run { run: 0 }.into(),
		Runs::add_cohort { beside: 0, run: 1 }.into(),
		Runs::stop_run { run: 0 }.into(),
		Runs::force_stop_run { run: 0, reason: Default::default() }.into(),
		Runs::remove_run { run: 0, limit: 1 }.into(),
		Runs::halt_model { run: 0, reason: Default::default() }.into(),
		Runs::lift_halt { run: 0, reason: Default::default() }.into(),
		Data::propose { manifest }.into(),
		Data::activate { id: 0 }.into(),
		Data::retire { id: 0 }.into(),
		Data::challenge_shard { id: 0, who: owner.clone(), place }.into(),
		Data::conclude_challenge { id: 0, who: owner.clone(), challenger: operator.clone() }.into(),
		Data::condemn { id: 0, place, opening: opening() }.into(),
		Data::force_retire { id: 0, reason: Default::default() }.into(),
		Data::remove { id: 0 }.into(),
		Answers::open_session { provider: Some(owner.clone()), escrow: NEURO }.into(),
		Answers::top_up { session: 0, amount: NEURO }.into(),
		// Of what the owner pays for.
		Answers::close_session { session: 0 }.into(),
		Answers::settle { session: 0 }.into(),
		pallet_proxy::Call::add_proxy { delegate: to(), proxy_type: Default::default(), delay: 0 }.into(),
		pallet_proxy::Call::proxy {
			real: from(),
			force_proxy_type: None,
			call: Box::new(Money::transfer_allow_death { dest: to(), value: NEURO }.into()),
		}
		.into(),
		// Last: it is nobody's operator then.
		Stake::serve { owner: None }.into(),
	]
}

#[test]
fn no_call_of_an_operator_takes_burns_or_locks_what_its_owner_has() {
	chain().execute_with(|| {
		// It owns a dataset, a run, a stake, and money beside it; has attested the dataset, and put something aside for answers.
		let owner = Alice.to_account_id();
		create_dataset();
		create_run(10);
		register(&owner, 1);
		let by = operate(&owner, 1);
		assert_ok!(Staking::unbond(signed(&owner), NEURO));
		assert_ok!(make(&by, pallet_neuro_dataset::Call::attest { id: 0, shards: ShardRange { first: 0, count: 1 } }));
		assert_ok!(make(&owner, pallet_neuro_inference::Call::open_session { provider: None, escrow: NEURO }));
		System::set_block_number(System::block_number() + Staking::limits().1);

		let has = || (System::account(&owner).data, Staking::provider(owner.clone()), Staking::operator_of(owner.clone()));
		let before = has();
		let calls = not_work(&owner, &by, provider::info(Roles::only(Role::Worker), 9));
		let mut known: Vec<(&str, &str)> = WORK.iter().flat_map(|(pallet, calls)| calls.iter().map(|call| (*pallet, *call))).collect();
		for call in &calls {
			let name = call.get_call_metadata();
			known.push((name.pallet_name, name.function_name));
			assert_eq!(Staking::acts_for(by.clone()), owner);
			let _ = make(&by, call.clone());
			let is_end = name.function_name == "serve";
			let (money, provider, operator) = has();
			assert_eq!((money, provider), (before.0.clone(), before.1.clone()), "{call:?}");
			assert_eq!(operator, before.2.clone().filter(|_| !is_end), "{call:?}");
		}
		// No call of these pallets is left out.
		for pallet in ["Staking", "Training", "Ponw", "Disputes", "Dataset", "Rewards", "Ownership", "Inference", "Balances"] {
			for call in RuntimeCall::get_call_names(pallet) {
				assert!(known.contains(&(pallet, call)), "{pallet}.{call}: is it work?");
			}
		}
	});
}

#[test]
fn a_key_that_was_stolen_is_replaced_in_safe_mode_too_and_answers_no_more() {
	use neuroshard_runtime::SafeMode;
	chain().execute_with(|| {
		let bob = Bob.to_account_id();
		register(&bob, 1);
		let stolen = operate(&bob, 1);
		assert_ok!(SafeMode::force_enter(RuntimeOrigin::root()));
		let next = operator(2);
		assert_ok!(Balances::mint_into(&next, FUNDS));
		assert_ok!(make(&bob, pallet_neuro_staking::Call::set_operator { operator: Some(next.clone()) }));
		assert_eq!(Staking::acts_for(stolen.clone()), stolen);
		assert_ok!(make(&next, pallet_neuro_staking::Call::serve { owner: Some(bob.clone()) }));
		assert!(make(&stolen, pallet_neuro_staking::Call::chill {}).is_err());
		assert_ok!(make(&next, pallet_neuro_staking::Call::chill {}));
		assert_eq!(Staking::provider(bob).unwrap().status, ProviderStatus::Chilled);
	});
}
