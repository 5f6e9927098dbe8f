//! Shares of models.

use crate::Balance;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

/// Shares of an account in a model, as the view function `Ownership::shares` shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct SharesView {
	/// Shares that earn, and that wallets cannot send.
	pub earning: u128,
	/// Shares that do not earn, and that wallets can send.
	pub free: u128,
	/// Revenue that it earned and has not claimed, in whole planck.
	pub claimable: Balance,
}

/// A model that has owners, as the view function `Ownership::model` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct ModelView {
	/// All shares there are.
	pub shares: u128,
	/// Those of them that earn.
	pub earning: u128,
	/// Revenue so far, in planck.
	pub revenue: Balance,
	/// Revenue that was claimed, in planck.
	pub paid: Balance,
}
