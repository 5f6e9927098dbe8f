//! Points: what final work is worth within its era.

use crate::{multiplier::stake_multiplier, Config, Current, CurrentTotal, Event, Pallet, Points, WorkRates};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_types::{
	proof::ProofKind,
	provider::Role,
	traits::{Providers, WorkCredits},
	AccountId, Balance,
};
use scale_info::TypeInfo;
use sp_core::U256;

/// A rate of 1.
pub const RATE_ONE: u32 = 1_000;
/// Largest rate.
pub const RATE_MAX: u32 = 1_000_000;

/// What kinds of work and roles are worth, in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Rates {
	/// Base of training.
	pub training: u32,
	/// Multipliers of driver, worker, verifier and predictor.
	pub roles: [u32; 4],
}

impl Rates {
	/// Whether no rate is above [`RATE_MAX`].
	pub fn is_valid(&self) -> bool {
		self.training <= RATE_MAX && self.roles.iter().all(|rate| *rate <= RATE_MAX)
	}

	/// Base of a kind of work. Uptime is never paid.
	pub fn base(&self, kind: ProofKind) -> u32 {
		match kind {
			ProofKind::Training => self.training,
			ProofKind::Uptime => 0,
		}
	}

	/// Multiplier of a role.
	pub fn role(&self, role: Role) -> u32 {
		let [driver, worker, verifier, predictor] = self.roles;
		match role {
			Role::Driver => driver,
			Role::Worker => worker,
			Role::Verifier => verifier,
			Role::Predictor => predictor,
		}
	}

	/// Points of `units` of work at an active bond of `stake` planck, in units of 2^-32, rounded down; saturates at `u128::MAX`.
	pub fn points(&self, kind: ProofKind, role: Role, units: u128, stake: Balance) -> u128 {
		let one = u64::from(RATE_ONE).saturating_mul(RATE_ONE.into());
		// At most 2^(128 + 20 + 20 + 36): fits.
		let product = U256::from(units)
			.saturating_mul(self.base(kind).into())
			.saturating_mul(self.role(role).into())
			.saturating_mul(stake_multiplier(stake).into());
		(product / U256::from(one)).try_into().unwrap_or(u128::MAX)
	}
}

/// Points of an account in an era.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct AccountPoints {
	/// Sum of its credits, in units of 2^-32.
	pub points: u128,
	/// Most that the account is paid for the era, in planck: its smallest slashable bond at any of these credits.
	pub cap: Balance,
}

impl<T: Config> WorkCredits<AccountId> for Pallet<T> {
	fn credit(who: &AccountId, kind: ProofKind, role: Role, units: u128) {
		let total = CurrentTotal::<T>::get();
		let points = WorkRates::<T>::get().points(kind, role, units, T::Providers::bond(who));
		// Beyond what the era's total can hold, nothing counts: shares of the total stay exact.
		let points = points.min(u128::MAX.saturating_sub(total));
		if points == 0 {
			return;
		}
		let era = Current::<T>::get().index;
		let slashable = T::Providers::slashable(who);
		CurrentTotal::<T>::put(total.saturating_add(points));
		Points::<T>::mutate(era, who, |entry| {
			let AccountPoints { points: before, cap } = entry.unwrap_or(AccountPoints { points: 0, cap: Balance::MAX });
			// Never more than the total, which does not overflow.
			*entry = Some(AccountPoints { points: before.saturating_add(points), cap: cap.min(slashable) });
		});
		Self::deposit_event(Event::Credited { who: who.clone(), era, points });
	}
}
