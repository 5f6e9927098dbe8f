//! Stored types of a provider, and of all of them together.

use crate::{bond::Bond, INITIAL_REPUTATION, MAX_REPUTATION};
use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::BoundedVec;
use neuroshard_types::{
	provider::{ProviderInfo, ProviderStatus, ProviderView, Role, Roles, Tier},
	Balance, BlockNumber, H256,
};
use scale_info::TypeInfo;

/// A registered provider.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Provider {
	/// Its registration.
	pub info: ProviderInfo,
	/// Its participation status.
	pub status: ProviderStatus,
	/// Its bond.
	pub bond: Bond,
	/// Claims that keep every withdrawal back.
	pub open_claims: u32,
	/// First block in which nothing that it claimed in adopted rounds can be disputed any more. It keeps every withdrawal back, and the
	/// registration, so that whoever attested something can be challenged about it.
	pub disputable_until: BlockNumber,
	/// Successes minus failures, within 0 and [`MAX_REPUTATION`].
	pub reputation: u32,
	/// First block in which unbonding may start.
	pub locked_until: BlockNumber,
	/// First block in which it may take part again after an offence; [`BlockNumber::MAX`] if it is banned.
	pub suspended_until: BlockNumber,
	/// Audits in a row that it was drawn for and did not report.
	pub missed: Missed,
}

/// Audits in a row that somebody was drawn for and did not report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Missed {
	/// Number of audits, below [`MISSES`](crate::MISSES).
	pub count: u32,
	/// Block in which the last of them was noted.
	pub noted_at: BlockNumber,
}

impl Provider {
	/// A new provider with `bond` planck that has to answer `challenge` first.
	pub fn new(info: ProviderInfo, bond: Balance, challenge: H256) -> Self {
		Self {
			info,
			status: ProviderStatus::Unproven { challenge },
			bond: Bond { active: bond, unbonding: BoundedVec::new() },
			open_claims: 0,
			disputable_until: 0,
			reputation: INITIAL_REPUTATION,
			locked_until: 0,
			suspended_until: 0,
			missed: Missed::default(),
		}
	}

	/// Raises the reputation by one, up to `most`; above that it stays as it is.
	pub fn praise(&mut self, most: u32) {
		self.reputation = self.reputation.max(self.reputation.saturating_add(1).min(most.min(MAX_REPUTATION)));
	}

	/// Lowers the reputation by `points`, down to zero.
	pub fn blame(&mut self, points: u32) {
		self.reputation = self.reputation.saturating_sub(points);
	}

	/// Roles that it takes part in now: what it offers, while it is active.
	pub fn active_roles(&self) -> Roles {
		match self.status {
			ProviderStatus::Active => self.info.roles,
			ProviderStatus::Chilled | ProviderStatus::Unproven { .. } => Roles::default(),
		}
	}
}

/// Numbers of active providers that offer each role, in the order of [`Role::ALL`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct RoleCounts([u32; Role::ALL.len()]);

impl RoleCounts {
	/// Those that offer `role`.
	pub fn of(&self, role: Role) -> u32 {
		Role::ALL.into_iter().zip(self.0).find(|(each, _)| *each == role).map_or(0, |(_, count)| count)
	}

	/// Moves one provider from the roles that it took part in to those that it takes part in now.
	pub fn change(&mut self, before: Roles, after: Roles) {
		for (role, count) in Role::ALL.into_iter().zip(&mut self.0) {
			match (before.contains(role), after.contains(role)) {
				(false, true) => *count = count.saturating_add(1),
				(true, false) => *count = count.saturating_sub(1),
				_ => {}
			}
		}
	}
}

impl From<Provider> for ProviderView {
	fn from(provider: Provider) -> Self {
		Self {
			status: provider.status,
			bonded: provider.bond.active,
			unbonding: provider.bond.unbonding.into_inner(),
			open_claims: provider.open_claims,
			disputable_until: provider.disputable_until,
			reputation: provider.reputation,
			tier: Tier::of(provider.info.hardware.gflops),
			info: provider.info,
			locked_until: provider.locked_until,
			suspended_until: provider.suspended_until,
			missed_audits: provider.missed.count,
		}
	}
}
