//! What tests of several modules begin with.

#[path = "../chain-client/src/testing.rs"]
mod connect;

pub(crate) use connect::Connect;
use neuroshard_types::{
	provider::{ProviderInfo, ProviderStatus, ProviderView, Role, Roles, Tier},
	NEURO,
};

/// An active worker with a bond of 5 NEURO.
pub(crate) fn provider() -> ProviderView {
	ProviderView {
		info: ProviderInfo {
			roles: Roles::only(Role::Worker),
			hardware: Default::default(),
			ponw_key: [2; 33],
			peer_id: Default::default(),
			addresses: Default::default(),
		},
		status: ProviderStatus::Active,
		bonded: 5 * NEURO,
		unbonding: Vec::new(),
		open_claims: 0,
		disputable_until: 0,
		reputation: 100,
		tier: Tier::C,
		locked_until: 0,
		suspended_until: 0,
		missed_audits: 0,
	}
}
