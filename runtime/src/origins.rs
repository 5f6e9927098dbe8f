//! Origins of governance, by name.
//!
//! "Half" always means more than half of the members. `docs/spec/governance-datasets.md` lists what each of them may do.

use crate::{AccountId, Balance, OriginCaller, NEURO};
use core::cmp::Ordering;
use frame_support::{
	parameter_types,
	traits::{EitherOf, EitherOfDiverse, PrivilegeCmp},
};
use frame_system::{EnsureRoot, EnsureRootWithSuccess, EnsureWithSuccess};
use pallet_collective::{EnsureProportionAtLeast, EnsureProportionMoreThan, Instance1, Instance2, RawOrigin};

/// The council: decides about money, approvals and its own members.
pub type CouncilCollective = Instance1;
/// The technical committee: acts fast where the chain is in danger.
pub type TechnicalCollective = Instance2;

/// More than half of the council.
pub type HalfCouncil = EnsureProportionMoreThan<AccountId, CouncilCollective, 1, 2>;
/// At least two thirds of the council.
pub type TwoThirdsCouncil = EnsureProportionAtLeast<AccountId, CouncilCollective, 2, 3>;
/// More than half of the technical committee.
pub type HalfTechnical = EnsureProportionMoreThan<AccountId, TechnicalCollective, 1, 2>;

/// Root, or more than half of the council.
pub type RootOrHalfCouncil = EitherOfDiverse<EnsureRoot<AccountId>, HalfCouncil>;
/// Root, or two thirds of the council.
pub type RootOrTwoThirdsCouncil = EitherOfDiverse<EnsureRoot<AccountId>, TwoThirdsCouncil>;
/// Root, or more than half of the technical committee.
pub type RootOrHalfTechnical = EitherOfDiverse<EnsureRoot<AccountId>, HalfTechnical>;
/// Root, or more than half of the council or of the technical committee.
pub type RootOrHalfOfEither = EitherOfDiverse<EnsureRoot<AccountId>, EitherOfDiverse<HalfTechnical, HalfCouncil>>;

/// Origin that stops training runs and models, and lets models be used again.
pub type StopRun = RootOrHalfOfEither;

/// Origin that retires the datasets of others.
pub type RetireDataset = RootOrHalfOfEither;

parameter_types! {
	/// Most that half of the council spends at once.
	pub const SmallSpend: Balance = 10_000 * NEURO;
	/// Most that two thirds of the council spend at once.
	pub const LargeSpend: Balance = 1_000_000 * NEURO;
	/// Root spends what there is.
	pub const AnySpend: Balance = Balance::MAX;
}

/// Origin that spends the treasury's money, with the most that it spends at once.
pub type SpendFromTreasury = EitherOf<
	EnsureRootWithSuccess<AccountId, AnySpend>,
	EitherOf<EnsureWithSuccess<TwoThirdsCouncil, AccountId, LargeSpend>, EnsureWithSuccess<HalfCouncil, AccountId, SmallSpend>>,
>;

/// Root stands above all, and a larger share of a collective above a smaller one of the same. Others cannot be compared unless they are equal.
pub struct BySharesOfVotes;

impl PrivilegeCmp<OriginCaller> for BySharesOfVotes {
	fn cmp_privilege(left: &OriginCaller, right: &OriginCaller) -> Option<Ordering> {
		let root = OriginCaller::system(frame_system::RawOrigin::Root);
		match (left, right) {
			_ if left == right => Some(Ordering::Equal),
			_ if *left == root => Some(Ordering::Greater),
			_ if *right == root => Some(Ordering::Less),
			(OriginCaller::Council(RawOrigin::Members(yes, count)), OriginCaller::Council(RawOrigin::Members(other_yes, other_count))) => {
				Some(shares((*yes, *count), (*other_yes, *other_count)))
			}
			(
				OriginCaller::TechnicalCommittee(RawOrigin::Members(yes, count)),
				OriginCaller::TechnicalCommittee(RawOrigin::Members(other_yes, other_count)),
			) => Some(shares((*yes, *count), (*other_yes, *other_count))),
			_ => None,
		}
	}
}

/// Compares two shares, each a number of votes and the number of all.
fn shares(left: (u32, u32), right: (u32, u32)) -> Ordering {
	let product = |votes: u32, count: u32| u64::from(votes).saturating_mul(u64::from(count));
	product(left.0, right.1).cmp(&product(right.0, left.1))
}
