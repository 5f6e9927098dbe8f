//! Batches, proxies, multisigs, names, preimages, the treasury's payments, and the key of development networks.

use super::{decided::by_key, signed, Act, Deed};
use crate::sequences::chain::account;
use codec::Encode;
use frame_support::{dispatch::GetDispatchInfo, weights::Weight};
use neuroshard_runtime::{proxies::ProxyType, AccountId, Multisig, Runtime, RuntimeCall, NEURO};
use pallet_identity::{legacy::IdentityInfo, Data, IdentityOf, Judgement, Registrars};
use sp_runtime::{
	traits::{BlakeTwo256, Hash},
	MultiAddress,
};

/// Most that signing for others costs.
const MAX_WEIGHT: Weight = Weight::from_parts(10_000_000_000, u64::MAX);

pub fn deed(act: &Act) -> Deed {
	let dest = || MultiAddress::Id(act.other());
	let transfer = || RuntimeCall::from(pallet_balances::Call::transfer_keep_alive { dest: dest(), value: act.value() });
	match act.what % 32 {
		// All or nothing: what the first did is undone if the second fails.
		0 | 1 => {
			let nominate = pallet_neuro_validators::Call::nominate { candidate: act.other(), amount: act.value() }.into();
			act.mine(pallet_utility::Call::batch_all { calls: vec![nominate, transfer()] })
		}
		2 => act.mine(pallet_utility::Call::force_batch { calls: vec![transfer(), transfer()] }),
		3 => act.mine(pallet_utility::Call::as_derivative { index: 0, call: Box::new(transfer()) }),
		4 | 5 => {
			let proxy_type = if act.is_one_in(2) { ProxyType::Any } else { ProxyType::Staking };
			act.mine(pallet_proxy::Call::add_proxy { delegate: dest(), proxy_type, delay: 0 })
		}
		6 | 7 => {
			let appointed = |(real, (proxies, _)): (AccountId, (_, _))| Some((real, first(proxies)?));
			let (real, delegate) = act.one_of(pallet_proxy::Proxies::<Runtime>::iter().filter_map(appointed))?;
			let call = match act.is_one_in(2) {
				true => Box::new(transfer()),
				false => Box::new(pallet_neuro_staking::Call::bond_extra { amount: act.value() }.into()),
			};
			signed(delegate, pallet_proxy::Call::proxy { real: MultiAddress::Id(real), force_proxy_type: None, call })
		}
		8 => act.mine(pallet_proxy::Call::remove_proxies {}),
		9..=13 => sign(act),
		14 => {
			let (together, ..) = pair(act);
			let dest = MultiAddress::Id(together);
			act.mine(pallet_balances::Call::transfer_keep_alive { dest, value: 10 * NEURO })
		}
		15..=22 => name(act),
		23 | 24 => act.mine(pallet_preimage::Call::note_preimage { bytes: vec![act.small % 4; 100] }),
		25 => act.mine(pallet_preimage::Call::unnote_preimage { hash: BlakeTwo256::hash(&[act.small % 4; 100]) }),
		26..=28 => {
			let index = act.one_of(pallet_treasury::Spends::<Runtime>::iter_keys())?;
			match act.is_one_in(4) {
				true => act.mine(pallet_treasury::Call::check_status { index }),
				false => act.mine(pallet_treasury::Call::payout { index }),
			}
		}
		29 => signed(account(0), pallet_sudo::Call::sudo { call: Box::new(by_key(act)) }),
		_ => act.mine(frame_system::Call::remark_with_event { remark: vec![act.small] }),
	}
}

fn first(proxies: impl IntoIterator<Item = pallet_proxy::ProxyDefinition<AccountId, ProxyType, u32>>) -> Option<AccountId> {
	proxies.into_iter().next().map(|proxy| proxy.delegate)
}

/// An account of two neighbours together, both of them, and what they want to do.
fn pair(act: &Act) -> (AccountId, [AccountId; 2], RuntimeCall) {
	let first = act.who / 2;
	let mut both = [account(first), account(first + 1)];
	both.sort();
	let call = pallet_balances::Call::transfer_keep_alive { dest: MultiAddress::Id(account(first + 2)), value: NEURO };
	(Multisig::multi_account_id(&both, 2), both, call.into())
}

/// A signature for two, or its withdrawal.
fn sign(act: &Act) -> Deed {
	let (together, [one, two], call) = pair(act);
	let call_hash = BlakeTwo256::hash_of(&call).0;
	let open = pallet_multisig::Multisigs::<Runtime>::get(together, call_hash);
	let (signer, other, maybe_timepoint) = match open {
		None if act.is_one_in(2) => (one, two, None),
		None => (two, one, None),
		Some(open) if act.is_one_in(8) => {
			let other = if open.depositor == one { two } else { one };
			let (threshold, other_signatories, timepoint) = (2, vec![other], open.when);
			return signed(open.depositor, pallet_multisig::Call::cancel_as_multi { threshold, other_signatories, timepoint, call_hash });
		}
		Some(open) if open.approvals.contains(&one) => (two, one, Some(open.when)),
		Some(open) => (one, two, Some(open.when)),
	};
	let (threshold, other_signatories) = (2, vec![other]);
	match maybe_timepoint.is_none() && act.is_one_in(4) {
		true => {
			let max_weight = MAX_WEIGHT;
			signed(signer, pallet_multisig::Call::approve_as_multi { threshold, other_signatories, maybe_timepoint, call_hash, max_weight })
		}
		false => {
			let (max_weight, call) = (call.get_dispatch_info().call_weight, Box::new(call));
			signed(signer, pallet_multisig::Call::as_multi { threshold, other_signatories, maybe_timepoint, call, max_weight })
		}
	}
}

/// An account's name, and who judges it.
fn name(act: &Act) -> Deed {
	use pallet_identity::Call;
	let registrars = || Registrars::<Runtime>::get().into_iter().flatten().map(|registrar| registrar.account);
	match act.what % 32 {
		15 | 16 => {
			let text = vec![b'a' + act.small % 26; usize::from(act.whom % 32)];
			let none = || Data::None;
			let info = IdentityInfo {
				additional: Default::default(),
				display: Data::Raw(text.try_into().ok()?),
				legal: none(),
				web: none(),
				riot: none(),
				email: none(),
				pgp_fingerprint: None,
				image: none(),
				twitter: none(),
			};
			act.mine(Call::set_identity { info: Box::new(info) })
		}
		17 if act.is_one_in(2) => act.mine(Call::clear_identity {}),
		17 | 18 => act.mine(Call::add_sub { sub: MultiAddress::Id(act.other()), data: Data::None }),
		19 => act.mine(Call::remove_sub { sub: MultiAddress::Id(act.other()) }),
		20 => {
			let (index, account) = act.one_of((0..).zip(registrars()))?;
			signed(account, Call::set_fee { index, fee: act.value().min(NEURO) })
		}
		21 => {
			let who = act.one_of(IdentityOf::<Runtime>::iter_keys())?;
			let (reg_index, _) = act.one_of((0..).zip(registrars()))?;
			signed(who, Call::request_judgement { reg_index, max_fee: NEURO })
		}
		_ => {
			let (who, registration) = act.one_of(IdentityOf::<Runtime>::iter())?;
			let (reg_index, account) = act.one_of((0..).zip(registrars()))?;
			let (target, identity) = (MultiAddress::Id(who), BlakeTwo256::hash(&registration.info.encode()));
			signed(account, Call::provide_judgement { reg_index, target, judgement: Judgement::Reasonable, identity })
		}
	}
}
