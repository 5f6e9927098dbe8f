//! Rate limit of the proofs that an account may submit: at most 120 in *any* hour of chain time.
//!
//! The times of the accepted proofs are kept exactly. A counter per clock hour would let 240 pass around its boundary, and a
//! refilled bucket of 120 would let 240 pass within the hour after a long silence.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::{traits::ConstU32, BoundedVec};
use neuroshard_types::{
	proof::{FRESHNESS_MS, MAX_PROOFS_PER_HOUR},
	Moment, RunId,
};
use scale_info::TypeInfo;

/// An hour of chain time, milliseconds.
pub(crate) const HOUR_MS: Moment = 60 * 60 * 1000;

/// Recent proofs of an account.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Activity {
	/// Chain times at which its proofs of the last hour were accepted, ascending.
	pub(crate) accepted: BoundedVec<Moment, ConstU32<MAX_PROOFS_PER_HOUR>>,
	/// Newest hour for which it proved uptime.
	pub(crate) uptime_hour: Option<RunId>,
}

/// The account has used up its rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RateExceeded;

impl Activity {
	/// Proofs accepted within the hour that ends now.
	pub(crate) fn used(&self, now: Moment) -> u32 {
		let used = self.accepted.iter().filter(|at| counts(**at, now)).count();
		u32::try_from(used).unwrap_or(MAX_PROOFS_PER_HOUR)
	}

	/// First chain time, not before `now`, at which one more proof is accepted.
	pub(crate) fn next_allowed_at(&self, now: Moment) -> Moment {
		match self.accepted.first() {
			Some(oldest) if self.accepted.is_full() => oldest.saturating_add(HOUR_MS).max(now),
			_ => now,
		}
	}

	/// Counts a proof that is accepted now.
	pub(crate) fn note(&mut self, now: Moment) -> Result<(), RateExceeded> {
		self.accepted.retain(|at| counts(*at, now));
		self.accepted.try_push(now).map_err(|_| RateExceeded)
	}

	/// Returns whether nothing of this can refuse a proof any more. A proof of the hour noted here is fresh until five minutes
	/// after that hour's end, and the hour was noted no earlier than five minutes before its beginning.
	pub(crate) fn is_stale(&self, now: Moment) -> bool {
		let lifetime = HOUR_MS.saturating_add(2 * FRESHNESS_MS);
		self.accepted.last().is_none_or(|newest| newest.saturating_add(lifetime) < now)
	}
}

/// Returns whether a proof accepted at `at` lies within the hour that ends at `now`.
fn counts(at: Moment, now: Moment) -> bool {
	now < at.saturating_add(HOUR_MS)
}
