//! Tests of which shares of votes are which origins.

use super::*;
use core::cmp::Ordering::{self, Equal, Greater, Less};
use frame_support::traits::{EnsureOrigin, PrivilegeCmp};
use neuroshard_runtime::{
	origins::{BySharesOfVotes, RootOrHalfCouncil, RootOrHalfOfEither, RootOrHalfTechnical, RootOrTwoThirdsCouncil, StopRun},
	OriginCaller,
};
use pallet_collective::RawOrigin::Members;

fn council_of(yes: u32, count: u32) -> OriginCaller {
	OriginCaller::Council(Members(yes, count))
}

fn committee_of(yes: u32, count: u32) -> OriginCaller {
	OriginCaller::TechnicalCommittee(Members(yes, count))
}

fn root() -> OriginCaller {
	OriginCaller::system(frame_system::RawOrigin::Root)
}

fn allows<E: EnsureOrigin<RuntimeOrigin>>(origin: OriginCaller) -> bool {
	E::try_origin(origin.into()).is_ok()
}

#[test]
fn half_is_more_than_half_and_two_thirds_are_at_least_that() {
	for (yes, count, half, thirds) in
		[(1, 2, false, false), (2, 3, true, true), (3, 5, true, false), (4, 6, true, true), (3, 6, false, false)]
	{
		assert_eq!(allows::<RootOrHalfCouncil>(council_of(yes, count)), half);
		assert_eq!(allows::<RootOrTwoThirdsCouncil>(council_of(yes, count)), thirds);
		assert_eq!(allows::<RootOrHalfTechnical>(committee_of(yes, count)), half);
		for origin in [council_of(yes, count), committee_of(yes, count)] {
			assert_eq!(allows::<RootOrHalfOfEither>(origin.clone()), half);
			assert_eq!(allows::<StopRun>(origin), half);
		}
	}
}

#[test]
fn neither_collective_decides_for_the_other_and_no_signature_decides_anything() {
	assert!(!allows::<RootOrHalfCouncil>(committee_of(3, 3)) && !allows::<RootOrTwoThirdsCouncil>(committee_of(3, 3)));
	assert!(!allows::<RootOrHalfTechnical>(council_of(3, 3)));
	let alice = || OriginCaller::system(frame_system::RawOrigin::Signed(account(Alice)));
	assert!(!allows::<StopRun>(alice()) && !allows::<RootOrHalfCouncil>(alice()) && !allows::<RootOrTwoThirdsCouncil>(alice()));
	assert!(allows::<StopRun>(root()) && allows::<RootOrHalfCouncil>(root()) && allows::<RootOrTwoThirdsCouncil>(root()));
}

#[test]
fn larger_shares_of_one_collective_cancel_what_smaller_ones_have_scheduled() {
	let compare = |left: OriginCaller, right: OriginCaller| -> Option<Ordering> { BySharesOfVotes::cmp_privilege(&left, &right) };
	assert_eq!(compare(council_of(3, 3), council_of(2, 3)), Some(Greater));
	assert_eq!(compare(council_of(2, 3), council_of(5, 7)), Some(Less));
	assert_eq!(compare(committee_of(2, 4), committee_of(3, 6)), Some(Equal));
	assert_eq!(compare(committee_of(3, 3), council_of(1, 3)), None);
	assert_eq!((compare(root(), council_of(3, 3)), compare(committee_of(3, 3), root())), (Some(Greater), Some(Less)));
	assert_eq!(compare(root(), root()), Some(Equal));
}
