//! Decisions of governance.

use super::{governance::Body, Act};
use crate::sequences::chain::account;
use frame_support::{dispatch::RawOrigin, traits::PalletInfoAccess};
use neuroshard_runtime::{enactment, AccountId, Balances, BlockNumber, Runtime, RuntimeCall, SafeMode, Treasury, TxPause, NEURO};
use pallet_neuro_training::Call as Training;
use sp_runtime::{
	traits::{BlakeTwo256, Hash},
	MultiAddress,
};

/// A body and its decision.
pub fn decided(act: &Act) -> Option<(Body, RuntimeCall)> {
	let [choice, ..] = act.amount.to_le_bytes();
	Some(match choice % 24 {
		0..=3 => (Body::Council, spend(act)),
		4 | 5 => safe_mode(act)?,
		6 | 7 => pause(act)?,
		8 | 9 => (Body::Committee, enactment::Call::clear { hash: BlakeTwo256::hash_of(&reserved(act)) }.into()),
		10 if act.is_one_in(2) => {
			let (hash, _) = act.one_of(enactment::Cleared::<Runtime>::get())?;
			(Body::Committee, enactment::Call::withdraw { hash }.into())
		}
		10..=12 => (Body::Council, enactment::Call::enact { call: Box::new(reserved(act)) }.into()),
		13 => (Body::Council, pallet_identity::Call::add_registrar { account: MultiAddress::Id(act.me()) }.into()),
		14 if act.is_one_in(4) => (Body::Council, pallet_identity::Call::kill_identity { target: MultiAddress::Id(act.other()) }.into()),
		14 | 15 => {
			let when = neuroshard_runtime::System::block_number() + 1 + BlockNumber::from(act.small % 16);
			let call = pallet_scheduler::Call::schedule { when, maybe_periodic: None, priority: act.whom, call: Box::new(spend(act)) };
			(Body::Council, call.into())
		}
		16 => {
			let planned = |(when, tasks): (BlockNumber, Vec<_>)| (0..).zip(tasks).map(move |(index, _)| (when, index));
			let agenda = pallet_scheduler::Agenda::<Runtime>::iter().map(|(when, tasks)| (when, tasks.into_inner()));
			let (when, index) = act.one_of(agenda.flat_map(planned))?;
			(Body::Council, pallet_scheduler::Call::cancel { when, index }.into())
		}
		17 => (Body::Council, pallet_preimage::Call::request_preimage { hash: BlakeTwo256::hash(&[act.small % 4; 100]) }.into()),
		18 => (Body::Council, pallet_preimage::Call::unrequest_preimage { hash: BlakeTwo256::hash(&[act.small % 4; 100]) }.into()),
		19 => {
			let index = act.one_of(pallet_treasury::Spends::<Runtime>::iter_keys())?;
			(Body::Council, pallet_treasury::Call::void_spend { index }.into())
		}
		20 => {
			let call = pallet_collective::Call::<Runtime, pallet_collective::Instance1>::set_members {
				new_members: members(act),
				prime: None,
				old_count: 3,
			};
			(Body::Council, call.into())
		}
		21 => (Body::Council, Training::approve_run { run: (act.small % 4).into() }.into()),
		_ => (Body::Committee, Training::halt_model { run: (act.small % 4).into(), reason: Default::default() }.into()),
	})
}

/// Three members who follow one another.
fn members(act: &Act) -> Vec<AccountId> {
	let mut members: Vec<AccountId> = (0..3).map(|next| account(act.whom % 64 + next)).collect();
	members.sort();
	members
}

/// Returns a call that only root may make.
fn reserved(act: &Act) -> RuntimeCall {
	let first = account(act.small % 2);
	match act.small % 4 {
		0 | 1 => {
			let dest = MultiAddress::Id(account(2));
			pallet_balances::Call::force_transfer { source: MultiAddress::Id(first), dest, value: NEURO }.into()
		}
		_ => pallet_collective::Call::<Runtime, pallet_collective::Instance2>::set_members {
			new_members: members(&Act { whom: act.small % 4, ..*act }),
			prime: None,
			old_count: 3,
		}
		.into(),
	}
}

fn spend(act: &Act) -> RuntimeCall {
	let pot = Balances::free_balance(Treasury::account_id());
	let amount = act.value().min(pot / 4).max(1);
	let beneficiary = Box::new(act.other());
	pallet_treasury::Call::spend { asset_kind: Box::new(()), amount, beneficiary, valid_from: None }.into()
}

/// Safe mode begins seldom, and ends soon.
fn safe_mode(act: &Act) -> Option<(Body, RuntimeCall)> {
	Some(match SafeMode::is_entered() {
		true if act.is_one_in(4) => (Body::Council, pallet_safe_mode::Call::force_extend {}.into()),
		true => (Body::Council, pallet_safe_mode::Call::force_exit {}.into()),
		false if act.is_one_in(4) => (Body::Committee, pallet_safe_mode::Call::force_enter {}.into()),
		false => return None,
	})
}

/// Calls that are paused are mostly allowed again.
fn pause(act: &Act) -> Option<(Body, RuntimeCall)> {
	let name = |pallet: &str, call: &[u8]| Some((pallet.as_bytes().to_vec().try_into().ok()?, call.to_vec().try_into().ok()?));
	let full_name = match act.small % 3 {
		0 => name(Balances::name(), b"transfer_allow_death")?,
		1 => name(neuroshard_runtime::Validators::name(), b"nominate")?,
		_ => name(neuroshard_runtime::Staking::name(), b"bond_extra")?,
	};
	Some(match TxPause::is_paused(&full_name) {
		true => (Body::Council, pallet_tx_pause::Call::unpause { ident: full_name }.into()),
		false => (Body::Committee, pallet_tx_pause::Call::pause { full_name }.into()),
	})
}

/// Returns a call that Alice makes by the key that development networks have.
pub fn by_key(act: &Act) -> RuntimeCall {
	match act.is_one_in(4) {
		// Nobody but root or the council spends: it fails, and the key's call succeeds all the same.
		true => {
			let as_origin = Box::new(RawOrigin::Signed(act.me()).into());
			pallet_utility::Call::dispatch_as { as_origin, call: Box::new(spend(act)) }.into()
		}
		false => spend(act),
	}
}
