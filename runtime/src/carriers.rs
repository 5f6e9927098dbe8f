//! Which calls carry other calls.

use crate::RuntimeCall;
use alloc::{vec, vec::Vec};
use pallet_neuro_disputes::Carriers;

/// Batches and other ways of making calls by a call.
pub struct UtilityAndSudo;

impl Carriers<RuntimeCall> for UtilityAndSudo {
	fn carried(call: &RuntimeCall) -> Vec<&RuntimeCall> {
		use pallet_sudo::Call as Sudo;
		use pallet_utility::Call as Utility;
		match call {
			RuntimeCall::Utility(call) => match call {
				Utility::batch { calls } | Utility::batch_all { calls } | Utility::force_batch { calls } => calls.iter().collect(),
				Utility::as_derivative { call, .. } | Utility::with_weight { call, .. } => vec![call],
				Utility::dispatch_as { call, .. } | Utility::dispatch_as_fallible { call, .. } => vec![call],
				Utility::if_else { main, fallback } => vec![main, fallback],
				Utility::__Ignore(..) => Vec::new(),
			},
			RuntimeCall::Sudo(call) => match call {
				Sudo::sudo { call } | Sudo::sudo_unchecked_weight { call, .. } | Sudo::sudo_as { call, .. } => vec![call],
				Sudo::set_key { .. } | Sudo::remove_key {} | Sudo::__Ignore(..) => Vec::new(),
			},
			_ => Vec::new(),
		}
	}
}
