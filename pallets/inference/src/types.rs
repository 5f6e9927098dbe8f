//! Stored types.

use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::{traits::ConstU32, BoundedBTreeSet, BoundedVec};
use neuroshard_types::{
	inference::{ClaimView, Offer, OfferView, SessionView, Voucher, MAX_SPANS},
	AccountId, Balance, BlockNumber, H256,
};
use scale_info::TypeInfo;

/// Offer of a driver, and the members that have agreed to it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Standing {
	/// The offer.
	pub offer: Offer,
	/// Its hash.
	pub hash: H256,
	/// Members of the ring that have agreed; the driver is none of them. Each has a claim open at its bond.
	pub consents: BoundedBTreeSet<AccountId, ConstU32<MAX_SPANS>>,
	/// Sessions with the driver alone that are not settled.
	pub sessions: u32,
	/// Planck on hold.
	pub deposit: Balance,
}

impl Standing {
	/// Returns whether all members of the ring have agreed.
	pub fn is_ready(&self, driver: &AccountId) -> bool {
		// Nobody else agrees.
		self.offer.members(driver).len() == self.consents.len()
	}

	/// As view functions show it.
	pub(crate) fn shown(self, driver: AccountId) -> OfferView {
		let ready = self.is_ready(&driver);
		let Self { offer, hash, consents, sessions, deposit } = self;
		let consents = BoundedVec::truncate_from(consents.into_iter().collect());
		OfferView { driver, offer, hash, consents, ready, sessions, deposit }
	}
}

/// A session.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Session {
	/// Account that pays.
	pub user: AccountId,
	/// Provider that is paid; `None` for a prepaid balance.
	pub provider: Option<AccountId>,
	/// Planck on hold.
	pub escrow: Balance,
	/// Planck that were paid.
	pub paid: Balance,
	/// Number of providers that were paid.
	pub payees: u32,
	/// First block in which what is left may be returned; `None` while it is open.
	pub closes_at: Option<BlockNumber>,
}

impl From<Session> for SessionView {
	fn from(Session { user, provider, escrow, paid, closes_at, .. }: Session) -> Self {
		Self { user, provider, escrow, paid, closes_at }
	}
}

/// Claim of a provider on a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Claim {
	/// Planck that left the escrow for it.
	pub paid: Balance,
	/// Planck of the last voucher: more than `paid` if the escrow had less.
	pub owed: Balance,
	/// Answers of the last voucher.
	pub answers: u32,
	/// Receipts of the last voucher.
	pub receipts: H256,
}

impl Claim {
	/// Returns whether `voucher` is a later one than the last, or is the last one and was not paid in full.
	pub fn is_followed_by(&self, voucher: &Voucher) -> bool {
		let same = (self.owed, self.answers, self.receipts) == (voucher.amount, voucher.answers, voucher.receipts);
		voucher.amount > self.paid && (voucher.answers > self.answers || same)
	}
}

impl From<Claim> for ClaimView {
	fn from(Claim { paid, owed, answers, receipts }: Claim) -> Self {
		Self { paid, owed, answers, receipts }
	}
}
