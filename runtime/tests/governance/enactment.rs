//! Tests of what only root may do, without anybody being root.

use super::*;
use frame_support::assert_noop;
use neuroshard_runtime::{
	enactment::{Call, Error},
	DAYS,
};

fn upgrade() -> RuntimeCall {
	frame_system::Call::authorize_upgrade { code_hash: H256([7; 32]) }.into()
}

fn clear() -> RuntimeCall {
	Call::clear { hash: BlakeTwo256::hash_of(&upgrade()) }.into()
}

fn enact() -> RuntimeCall {
	Call::enact { call: Box::new(upgrade()) }.into()
}

fn is_authorized() -> bool {
	System::authorized_upgrade().is_some_and(|upgrade| *upgrade.code_hash() == H256([7; 32]))
}

#[test]
fn an_upgrade_takes_the_committee_a_notice_and_two_thirds_of_the_council() {
	execute(|| {
		assert_eq!(council(upgrade()), Err(DispatchError::BadOrigin));
		assert_eq!(council(enact()), Err(Error::<Runtime>::NotCleared.into()));
		assert_ok!(committee(clear()));
		assert_eq!(committee(clear()), Err(Error::<Runtime>::AlreadyCleared.into()));
		System::set_block_number(System::block_number() + DAYS - 1);
		assert_eq!(council(enact()), Err(Error::<Runtime>::TooEarly.into()));
		assert!(!is_authorized());
		System::set_block_number(System::block_number() + 1);
		assert_ok!(council(enact()));
		assert!(is_authorized());
		// Once.
		assert_eq!(council(enact()), Err(Error::<Runtime>::NotCleared.into()));
	});
}

#[test]
fn neither_body_does_the_other_ones_part_and_nobody_else_any() {
	execute(|| {
		assert_eq!(council(clear()), Err(DispatchError::BadOrigin));
		assert_ok!(committee(clear()));
		assert_eq!(committee(enact()), Err(DispatchError::BadOrigin));
		for call in [clear(), enact()] {
			assert_noop!(call.dispatch(signed(Alice)).map_err(|error| error.error), DispatchError::BadOrigin);
		}
	});
}

#[test]
fn a_clearance_is_taken_back_and_so_many_wait_at_most() {
	execute(|| {
		assert_ok!(committee(clear()));
		let withdraw: RuntimeCall = Call::withdraw { hash: BlakeTwo256::hash_of(&upgrade()) }.into();
		assert_ok!(committee(withdraw));
		System::set_block_number(System::block_number() + DAYS);
		assert_eq!(council(enact()), Err(Error::<Runtime>::NotCleared.into()));
		for number in 0..16 {
			assert_ok!(committee(Call::clear { hash: H256([number; 32]) }));
		}
		assert_eq!(committee(clear()), Err(Error::<Runtime>::TooManyCleared.into()));
	});
}

#[test]
fn two_thirds_of_the_council_alone_neither_choose_the_committee_nor_throw_out_its_motions() {
	type Committee = pallet_collective::Call<Runtime, pallet_collective::Instance2>;
	let members = || pallet_collective::Members::<Runtime, pallet_collective::Instance2>::get();
	execute(|| {
		let before = members();
		let (motion, chosen) = (H256([7; 32]), vec![account(Alice)]);
		let replace: RuntimeCall = Committee::set_members { new_members: chosen.clone(), prime: None, old_count: 3 }.into();
		let others: [RuntimeCall; 2] =
			[Committee::disapprove_proposal { proposal_hash: motion }.into(), Committee::kill { proposal_hash: motion }.into()];
		for call in others.into_iter().chain([replace.clone()]) {
			assert_eq!(council(call.clone()), Err(DispatchError::BadOrigin));
			assert_eq!(committee(call), Err(DispatchError::BadOrigin));
		}
		assert_eq!(members(), before);
		// Both together.
		assert_ok!(committee(Call::clear { hash: BlakeTwo256::hash_of(&replace) }));
		System::set_block_number(System::block_number() + DAYS);
		assert_ok!(council(Call::enact { call: Box::new(replace) }));
		assert_eq!(members(), chosen);
	});
}
