//! Points: what final work is worth within its era.

use crate::{factors, multiplier::stake_multiplier, Config, Current, CurrentTotal, Event, Operations, Pallet, Points, WorkRates};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_types::{
	proof::ProofKind,
	provider::Role,
	traits::{Providers, WorkCredits, WorkUnits},
	AccountId, Balance, ModelConfig, TrainConfig,
};
use scale_info::TypeInfo;
use sp_core::U256;

/// A rate of 1.
pub const RATE_ONE: u32 = 1_000;
/// Largest rate.
pub const RATE_MAX: u32 = 1_000_000;
/// Largest bonus of a scarce role: its work counts at most twice.
pub const BONUS_MAX: u32 = 1_000;

/// Rates of kinds of work and of roles. They are in thousandths; arrays hold driver, worker, verifier and predictor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Rates {
	/// Base of training.
	pub training: u32,
	/// Multipliers of roles.
	pub roles: [u32; 4],
	/// Active providers of each role from which on it is not scarce; 0 if it never is.
	pub targets: [u32; 4],
	/// Bonus of work in a role that nobody else offers, in thousandths.
	pub scarcity: u32,
	/// Most points of one credit, in whole points.
	pub cap: u64,
}

/// Weights of the work of an account when it is credited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
	/// Active bond, in planck.
	pub stake: Balance,
	/// Reputation, 0 to 1,000.
	pub reputation: u32,
	/// Active providers of the role that the work was done in.
	pub active: u32,
}

/// The entry of `role` in an array of driver, worker, verifier and predictor.
fn entry_of([driver, worker, verifier, predictor]: [u32; 4], role: Role) -> u32 {
	match role {
		Role::Driver => driver,
		Role::Worker => worker,
		Role::Verifier => verifier,
		Role::Predictor => predictor,
	}
}

impl Rates {
	/// Returns whether no rate is above [`RATE_MAX`], no bonus above [`BONUS_MAX`], and a credit can be worth something.
	pub fn is_valid(&self) -> bool {
		let rates = self.training <= RATE_MAX && self.roles.iter().all(|rate| *rate <= RATE_MAX);
		rates && self.scarcity <= BONUS_MAX && self.cap > 0
	}

	/// Base of a kind of work. Uptime is never paid.
	pub fn base(&self, kind: ProofKind) -> u32 {
		match kind {
			ProofKind::Training => self.training,
			ProofKind::Uptime => 0,
		}
	}

	/// Points of `units` of work by an account of this standing, in units of 2^-32, rounded down; saturates at `u128::MAX`. Not capped.
	pub fn points(&self, kind: ProofKind, role: Role, units: u128, standing: Standing) -> u128 {
		let thousandths = [
			self.base(kind),
			entry_of(self.roles, role),
			factors::of_scarcity(self.scarcity, entry_of(self.targets, role), standing.active),
			factors::of_reputation(standing.reputation),
		];
		let mut product = U256::from(units).saturating_mul(stake_multiplier(standing.stake).into());
		let mut one = U256::one();
		// At most 2^(128 + 36 + 20 + 20 + 11 + 11): fits.
		for rate in thousandths {
			product = product.saturating_mul(rate.into());
			one = one.saturating_mul(RATE_ONE.into());
		}
		(product / one).try_into().unwrap_or(u128::MAX)
	}

	/// Most points of one credit, in units of 2^-32.
	pub fn most(&self) -> u128 {
		u128::from(self.cap) << 32
	}
}

/// Points of an account in an era, and what became of them. Kept until the era expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct AccountPoints {
	/// Sum of its credits for training, in units of 2^-32.
	pub training: u128,
	/// Sum of its credits for audits, in units of 2^-32.
	pub audits: u128,
	/// Most that the account is paid for the era, in planck: its smallest slashable bond at any of these credits.
	pub cap: Balance,
	/// Amount that it claimed, in planck; `None` before it does.
	pub claimed: Option<Balance>,
}

impl AccountPoints {
	/// Of all its credits. Never more than the era's total, which does not overflow.
	pub fn points(&self) -> u128 {
		self.training.saturating_add(self.audits)
	}
}

impl<T: Config> WorkUnits for Pallet<T> {
	fn of_round(model: &ModelConfig, train: &TrainConfig, steps: u32) -> u128 {
		Operations::<T>::get().of_round(model, train, steps)
	}
}

impl<T: Config> WorkCredits<AccountId> for Pallet<T> {
	fn credit(who: &AccountId, kind: ProofKind, role: Role, units: u128) {
		let total = CurrentTotal::<T>::get();
		let standing = Standing {
			stake: T::Providers::bond(who),
			reputation: T::Providers::reputation(who),
			active: T::Providers::active_count(role),
		};
		let rates = WorkRates::<T>::get();
		// Beyond what the era's total can hold, nothing counts: shares of the total stay exact.
		let points = rates.points(kind, role, units, standing).min(rates.most()).min(u128::MAX.saturating_sub(total));
		if points == 0 {
			return;
		}
		let era = Current::<T>::get().index;
		let slashable = T::Providers::slashable(who);
		CurrentTotal::<T>::put(total.saturating_add(points));
		Points::<T>::mutate(era, who, |entry| {
			let mut sum = entry.unwrap_or(AccountPoints { training: 0, audits: 0, cap: Balance::MAX, claimed: None });
			// Never more than the total, which does not overflow.
			let credits = if role == Role::Verifier { &mut sum.audits } else { &mut sum.training };
			*credits = credits.saturating_add(points);
			sum.cap = sum.cap.min(slashable);
			*entry = Some(sum);
		});
		Self::deposit_event(Event::Credited { who: who.clone(), era, points });
	}
}
