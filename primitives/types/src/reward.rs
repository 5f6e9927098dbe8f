//! NEURO rewards.

use crate::{Balance, BlockNumber};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

/// Number of an era, counted from 0.
pub type EraIndex = u32;

/// What an account has earned, as the view function `Rewards::earnings` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Earnings {
	/// Claimed and minted so far, in planck.
	pub claimed: Balance,
	/// Of ended eras, ready to claim, in planck.
	pub claimable: Balance,
	/// Estimate for the current era if it ended now, in planck.
	pub current_era_estimate: Balance,
}

/// The current era, as the view function `Rewards::era` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct EraView {
	/// Its number.
	pub index: EraIndex,
	/// First block of the era.
	pub starts_at: BlockNumber,
	/// First block of the next era.
	pub ends_at: BlockNumber,
	/// Most that the work of this era is paid, in planck.
	pub budget: Balance,
}
