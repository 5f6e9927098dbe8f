//! Calls that carry other calls.

use crate::RuntimeCall;
use alloc::{vec, vec::Vec};
use pallet_neuro_disputes::Carriers;

/// Batches, proxies, multisigs, motions, the scheduler and sudo: every way of making calls by a call.
pub struct AllCarriers;

impl Carriers<RuntimeCall> for AllCarriers {
	fn carried(call: &RuntimeCall) -> Vec<&RuntimeCall> {
		by_signature(call).or_else(|| by_governance(call)).unwrap_or_default()
	}
}

/// Returns what a call that anybody may sign carries: it is dispatched under the filters of its own, so it can be looked at call by call. `None` for
/// all other calls.
pub fn by_signature(call: &RuntimeCall) -> Option<Vec<&RuntimeCall>> {
	use pallet_multisig::Call as Multisig;
	use pallet_proxy::Call as Proxy;
	use pallet_utility::Call as Utility;
	let carried = match call {
		RuntimeCall::Utility(call) => match call {
			Utility::batch { calls } | Utility::batch_all { calls } | Utility::force_batch { calls } => calls.iter().collect(),
			Utility::as_derivative { call, .. } | Utility::with_weight { call, .. } => vec![&**call],
			Utility::dispatch_as { call, .. } | Utility::dispatch_as_fallible { call, .. } => vec![&**call],
			Utility::if_else { main, fallback } => vec![&**main, &**fallback],
			Utility::__Ignore(..) => return None,
		},
		RuntimeCall::Proxy(call) => match call {
			Proxy::proxy { call, .. } | Proxy::proxy_announced { call, .. } => vec![&**call],
			Proxy::add_proxy { .. }
			| Proxy::remove_proxy { .. }
			| Proxy::remove_proxies {}
			| Proxy::create_pure { .. }
			| Proxy::kill_pure { .. }
			| Proxy::announce { .. }
			| Proxy::remove_announcement { .. }
			| Proxy::reject_announcement { .. }
			| Proxy::poke_deposit {}
			| Proxy::__Ignore(..) => return None,
		},
		RuntimeCall::Multisig(call) => match call {
			Multisig::as_multi_threshold_1 { call, .. } | Multisig::as_multi { call, .. } => vec![&**call],
			// A hash says nothing about the call, which is carried by the last signature at the latest.
			Multisig::approve_as_multi { .. }
			| Multisig::cancel_as_multi { .. }
			| Multisig::poke_deposit { .. }
			| Multisig::__Ignore(..) => return None,
		},
		_ => return None,
	};
	Some(carried)
}

/// Returns what a call carries that is dispatched by an origin of its own, now or later. `None` for all other calls.
fn by_governance(call: &RuntimeCall) -> Option<Vec<&RuntimeCall>> {
	use pallet_collective::Call as Collective;
	use pallet_scheduler::Call as Scheduler;
	use pallet_sudo::Call as Sudo;
	let carried = match call {
		RuntimeCall::Sudo(call) => match call {
			Sudo::sudo { call } | Sudo::sudo_unchecked_weight { call, .. } | Sudo::sudo_as { call, .. } => call,
			Sudo::set_key { .. } | Sudo::remove_key {} | Sudo::__Ignore(..) => return None,
		},
		RuntimeCall::Enactment(crate::enactment::Call::enact { call }) => call,
		RuntimeCall::Council(Collective::execute { proposal, .. } | Collective::propose { proposal, .. }) => proposal,
		RuntimeCall::TechnicalCommittee(Collective::execute { proposal, .. } | Collective::propose { proposal, .. }) => proposal,
		RuntimeCall::Scheduler(call) => match call {
			Scheduler::schedule { call, .. }
			| Scheduler::schedule_named { call, .. }
			| Scheduler::schedule_after { call, .. }
			| Scheduler::schedule_named_after { call, .. } => call,
			Scheduler::cancel { .. }
			| Scheduler::cancel_named { .. }
			| Scheduler::set_retry { .. }
			| Scheduler::set_retry_named { .. }
			| Scheduler::cancel_retry { .. }
			| Scheduler::cancel_retry_named { .. }
			| Scheduler::__Ignore(..) => return None,
		},
		_ => return None,
	};
	Some(vec![&**carried])
}
