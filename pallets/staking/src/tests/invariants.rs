//! Random sequences of calls keep every invariant, and no money appears or disappears unnoticed.

use super::*;
use crate::mock::{new_test_ext, Balances, DisputePeriod, ALICE, BOB, CHARLIE, COOLDOWN, FUNDS, NOBODY};
use frame_support::{
	dispatch::DispatchResult,
	storage::with_storage_layer,
	traits::{fungible::Inspect, Hooks},
};
use neuroshard_types::{
	offence::Offence,
	provider::{ProviderInfo, ProviderStatus, Role, Roles},
	traits::{Providers, SlashTo},
};
use proptest::prelude::*;

/// Those that act, and one that never registers.
const ACCOUNTS: [AccountId; 4] = [ALICE, BOB, CHARLIE, NOBODY];

#[derive(Clone, Debug)]
enum Action {
	Register(u8, u8, Balance),
	Update(u8, u8),
	BondExtra(Balance),
	Unbond(Balance),
	Withdraw,
	Chill,
	Activate,
	Deregister,
	/// Answers the challenge, rightly or not.
	Prove(bool),
	OpenClaim,
	CloseClaim,
	/// Something that it claims can be disputed from now on.
	Claim,
	Burn(Balance),
	Pay(Balance, u8),
	Lock(u16),
	Operator(Option<usize>),
	Serve(Option<usize>),
	Punish(Offence),
	Missed(u32),
	Reported,
	Up,
	/// A block with room.
	Idle,
	Succeed,
	Fail(u32),
	Wait(u32),
}

fn action() -> impl Strategy<Value = Action> {
	let amount = || 0..3_000u128;
	let roles = || 1..16u8;
	// Few identities, so that they collide.
	let identity = 1..5u8;
	prop_oneof![
		4 => (identity.clone(), roles(), amount()).prop_map(|(tag, roles, bond)| Action::Register(tag, roles, bond)),
		2 => (identity, roles()).prop_map(|(tag, roles)| Action::Update(tag, roles)),
		1 => (0..4u16).prop_map(Action::Lock),
		3 => prop::option::weighted(0.8, 0..4usize).prop_map(Action::Operator),
		3 => prop::option::weighted(0.8, 0..4usize).prop_map(Action::Serve),
		1 => prop_oneof![
			4 => Just(Offence::InvalidProof), 4 => Just(Offence::RepeatedFailure), 4 => Just(Offence::Byzantine), 1 => Just(Offence::Sybil)
		].prop_map(Action::Punish),
		3 => (0..40u32).prop_map(Action::Missed),
		1 => Just(Action::Reported),
		1 => Just(Action::Up),
		2 => Just(Action::Idle),
		2 => amount().prop_map(Action::BondExtra),
		4 => amount().prop_map(Action::Unbond),
		3 => Just(Action::Withdraw),
		1 => Just(Action::Chill),
		2 => Just(Action::Activate),
		1 => Just(Action::Deregister),
		3 => any::<bool>().prop_map(Action::Prove),
		1 => Just(Action::OpenClaim),
		2 => Just(Action::CloseClaim),
		1 => Just(Action::Claim),
		2 => amount().prop_map(Action::Burn),
		2 => (amount(), 0..5u8).prop_map(|(amount, to)| Action::Pay(amount, to)),
		1 => Just(Action::Succeed),
		1 => (0..200u32).prop_map(Action::Fail),
		4 => (1..40u32).prop_map(Action::Wait),
	]
}

fn offering(tag: u8, roles: u8) -> ProviderInfo {
	let mut info = ProviderInfo { roles: Roles(roles), ..info(tag) };
	info.hardware.gflops = 100 + u32::from(tag % 4);
	info
}

/// Carries `action` out for `who`; a refused call must leave no trace, as the dispatcher guarantees on chain.
fn run(who: &AccountId, action: Action) {
	let origin = || signed(who.clone());
	let call = |call: &dyn Fn() -> DispatchResult| {
		let _ = with_storage_layer(call);
	};
	match action {
		Action::Register(tag, roles, bond) => call(&|| Staking::register(origin(), offering(tag, roles), bond)),
		Action::Update(tag, roles) => call(&|| Staking::update_info(origin(), offering(tag, roles))),
		Action::Lock(days) => call(&|| Staking::lock(origin(), days)),
		Action::Operator(operator) => call(&|| Staking::set_operator(origin(), operator.map(|number| ACCOUNTS[number].clone()))),
		Action::Serve(owner) => call(&|| Staking::serve(origin(), owner.map(|number| ACCOUNTS[number].clone()))),
		Action::Punish(offence) => {
			let before = (Staking::slashable(who), Balances::total_issuance());
			let burned = Staking::punish(who, offence);
			assert_eq!((Staking::slashable(who), Balances::total_issuance()), (before.0 - burned, before.1 - burned));
		}
		Action::Missed(ago) => Staking::note_audit_missed(who, System::block_number().saturating_sub(ago)),
		Action::Reported => Staking::note_audit_reported(who),
		Action::Up => Staking::note_uptime(who),
		Action::Idle => {
			Staking::on_idle(System::block_number(), frame_support::weights::Weight::MAX);
		}
		Action::BondExtra(amount) => call(&|| Staking::bond_extra(origin(), amount)),
		Action::Unbond(amount) => call(&|| Staking::unbond(origin(), amount)),
		Action::Withdraw => call(&|| Staking::withdraw_unbonded(origin())),
		Action::Chill => call(&|| Staking::chill(origin())),
		Action::Activate => call(&|| Staking::activate(origin())),
		Action::Deregister => call(&|| Staking::deregister(origin())),
		Action::Prove(rightly) => {
			let status = Pallet::<Test>::provider(who.clone()).map(|provider| provider.status);
			let digest = match status {
				Some(ProviderStatus::Unproven { challenge }) if rightly => answer(challenge),
				_ => H256::zero(),
			};
			call(&|| Staking::prove_arithmetic(origin(), digest));
		}
		Action::OpenClaim => call(&|| <Staking as Providers<_, _>>::open_claim(who)),
		Action::CloseClaim => Staking::close_claim(who),
		Action::Claim => Staking::note_disputable(who),
		Action::Burn(amount) => {
			let before = (Staking::slashable(who), Balances::total_issuance());
			let taken = Staking::slash(who, amount, SlashTo::Burn);
			assert_eq!(taken, amount.min(before.0), "a slash takes what it can");
			assert_eq!(Staking::slashable(who), before.0 - taken);
			assert_eq!(Balances::total_issuance(), before.1 - taken, "what is burned leaves the issuance");
		}
		Action::Pay(amount, to) => {
			let before = Staking::slashable(who);
			let taken = Staking::slash(who, amount, SlashTo::Account(&AccountId::new([to; 32])));
			assert_eq!(taken, amount.min(before), "a slash takes what it can");
			assert_eq!(Staking::slashable(who), before - taken);
		}
		Action::Succeed => Staking::note_success(who),
		Action::Fail(points) => Staking::note_failure(who, points),
		Action::Wait(blocks) => System::set_block_number(System::block_number() + blocks),
	}
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(64))]

	#[test]
	fn random_calls_keep_every_invariant(actions in prop::collection::vec((0..3usize, action()), 1..120)) {
		new_test_ext().execute_with(|| {
			let accounts = [ALICE, BOB, CHARLIE];
			let mut claimed = [None; 3];
			for (index, action) in actions {
				let who = &accounts[index];
				let known = Pallet::<Test>::provider(who.clone());
				let disputable = claimed[index].is_some_and(|block| System::block_number() < block + DisputePeriod::get());
				let blocked = disputable || known.as_ref().is_some_and(|provider| provider.open_claims > 0);
				if known.is_some() && matches!(action, Action::Claim) {
					claimed[index] = Some(System::block_number());
				}
				let withdraws = matches!(action, Action::Withdraw);
				let before = Balances::balance(who);
				let is_active = |who: &AccountId| Role::ALL.into_iter().any(|role| Staking::is_active(who, role));
				let unproven = |provider: ProviderView| matches!(provider.status, ProviderStatus::Unproven { .. });
				let was_proven = Pallet::<Test>::provider(who.clone()).is_some_and(|provider| !unproven(provider));
				run(who, action.clone());
				let (was, is) = (known.clone(), Pallet::<Test>::provider(who.clone()));
				let now = System::block_number();
				if let (Some(was), Some(is)) = (&was, &is) {
					prop_assert!(is.locked_until >= was.locked_until && is.suspended_until >= was.suspended_until, "after {:?}", action);
					let left = is.unbonding.iter().filter(|chunk| chunk.unlocks_at == now + COOLDOWN).map(|chunk| chunk.amount).sum::<Balance>();
					let before = was.unbonding.iter().filter(|chunk| chunk.unlocks_at == now + COOLDOWN).map(|chunk| chunk.amount).sum::<Balance>();
					prop_assert!(left <= before || was.locked_until <= now, "a locked stake leaves by {:?}", action);
					prop_assert!(is.status != ProviderStatus::Active || is.suspended_until <= now, "active while suspended, by {:?}", action);
					let became = |role: Role| {
						let active = |view: &ProviderView| view.status == ProviderStatus::Active && view.info.roles.contains(role);
						active(is) && !active(was)
					};
					if became(Role::Verifier) {
						prop_assert!(is.bonded >= Pallet::<Test>::verifier_terms().least_bond, "a verifier without the bond, by {:?}", action);
					}
				}
				if was.is_some_and(|was| was.suspended_until > now) {
					prop_assert!(is.is_some(), "a suspension outlasts {:?}", action);
				}
				if is_active(who) && !was_proven {
					prop_assert!(matches!(action, Action::Prove(true)), "active by {:?}", action);
				}
				prop_assert_eq!(Pallet::<Test>::do_try_state(), Ok(()), "after {:?}", action);
				if blocked && withdraws {
					prop_assert_eq!(Balances::balance(who), before, "an open or disputable claim keeps withdrawals back");
				}
				if disputable {
					prop_assert!(Pallet::<Test>::provider(who.clone()).is_some(), "who can be challenged stays registered");
				}
				prop_assert!(Balances::total_issuance() <= 3 * FUNDS);
			}
			Ok(())
		})?;
	}

	/// A bond split over chunks loses exactly what a slash takes, and in the order of a reference that knows single units.
	#[test]
	fn a_slash_agrees_with_taking_unit_by_unit(active in 0..20u128, parts in prop::collection::vec(1..10u128, 0..6), amount in 0..90u128) {
		let mut bond = crate::Bond { active: active + parts.iter().sum::<u128>(), ..Default::default() };
		for (block, part) in parts.iter().enumerate() {
			prop_assert_eq!(bond.unbond(*part, u32::try_from(block).expect("few parts")), Ok(()));
		}
		let mut units: Vec<Option<usize>> = vec![None; usize::try_from(active).expect("small")];
		for (index, part) in parts.iter().enumerate() {
			units.extend(vec![Some(index); usize::try_from(*part).expect("small")]);
		}
		let taken = units.len().min(usize::try_from(amount).expect("small"));
		units.truncate(units.len() - taken);
		let left = |kind: Option<usize>| units.iter().filter(|unit| **unit == kind).count() as u128;

		prop_assert_eq!(bond.slash(amount), taken as u128);
		prop_assert_eq!(bond.active, left(None));
		let expected: Vec<_> = (0..parts.len()).map(|index| left(Some(index))).filter(|amount| *amount > 0).collect();
		prop_assert_eq!(bond.unbonding.iter().map(|chunk| chunk.amount).collect::<Vec<_>>(), expected);
	}
}

#[test]
fn a_broken_invariant_is_noticed() {
	let broken = |change: &dyn Fn(&mut crate::Provider), message: &'static str| {
		new_test_ext().execute_with(|| {
			register(&ALICE, 1_000);
			crate::Providers::<Test>::mutate_extant(&ALICE, |provider| change(provider));
			assert_eq!(Pallet::<Test>::do_try_state(), Err(message.into()));
		});
	};
	broken(&|provider| provider.bond.active = 1_001, "bond and unbonding differ from the hold");
	broken(&|provider| provider.disputable_until = 22, "claims can be disputed for too long");
	broken(&|provider| provider.reputation = 1_001, "reputation above its maximum");
	broken(&|provider| provider.info = info(2), "PoNW key mapped to somebody else");
	broken(&|provider| provider.suspended_until = 2, "an active provider is suspended");
	broken(&|provider| provider.locked_until = 2 + 365 * crate::mock::DAY, "a stake is locked for too long");
	broken(&|provider| provider.missed.count = 3, "missed audits are not punished");
	broken(&|provider| provider.info.roles = Roles::only(Role::Driver), "active providers are counted wrongly");
	broken(
		&|provider| {
			provider.bond.active = 400;
			provider.bond.unbonding = vec![chunk(300, 9), chunk(300, 9)].try_into().expect("two fit");
		},
		"unbonding chunks out of order",
	);
	broken(
		&|provider| {
			provider.bond.active = 999;
			provider.bond.unbonding = vec![chunk(1, 9)].try_into().expect("one fits");
		},
		"an active provider below the minimum bond",
	);
	broken(
		&|provider| {
			provider.status = ProviderStatus::Chilled;
			provider.bond.unbonding = vec![chunk(0, 9)].try_into().expect("one fits");
		},
		"an empty unbonding chunk",
	);
	new_test_ext().execute_with(|| {
		crate::PonwKeyOwner::<Test>::insert(info(1).ponw_key, ALICE);
		assert_eq!(Pallet::<Test>::do_try_state(), Err("a PoNW key without a provider".into()));
	});
	let operated = |change: fn(), message: &'static str| {
		new_test_ext().execute_with(|| {
			register(&ALICE, 1_000);
			assert_ok!(Staking::set_operator(signed(ALICE), Some(BOB)));
			assert_ok!(Staking::serve(signed(BOB), Some(ALICE)));
			assert_eq!(Pallet::<Test>::do_try_state(), Ok(()));
			change();
			assert_eq!(Pallet::<Test>::do_try_state(), Err(message.into()));
		});
	};
	operated(|| crate::Operators::<Test>::insert(CHARLIE, NOBODY), "an operator is named by nobody");
	operated(|| crate::Operators::<Test>::remove(ALICE), "an operator serves somebody who has not named it");
	operated(|| crate::OwnerOf::<Test>::insert(CHARLIE, ALICE), "an operator serves somebody who has not named it");
	operated(
		|| {
			crate::OwnerOf::<Test>::remove(BOB);
			register(&BOB, 1_000);
			crate::OwnerOf::<Test>::insert(BOB, ALICE);
		},
		"an operator is a provider",
	);
}
