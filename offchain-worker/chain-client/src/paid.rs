//! Paid inference: what is offered, what users have put aside, and what was claimed of it.

use crate::{client::ChainAt, error::ChainError, query::View};
use codec::{Decode, Encode};
use neuroshard_types::{
	inference::{ClaimView, InferenceTerms, Offer, OfferView, SessionId, SessionView},
	ownership::ModelView,
	AccountId, Balance, BlockNumber, RunId,
};
use scale_info::TypeInfo;
use subxt::metadata::Metadata;

/// Most offers of one page: those of the pallet. A chain that lists fewer would seem to have no more.
const PAGE: u32 = 100;

const OFFER_OF: View<(AccountId,), Option<OfferView>> = View::new("Inference", "offer_of");
const OFFERS: View<(Option<AccountId>,), Vec<OfferView>> = View::new("Inference", "offers");
const NEXT_SESSION: View<(), SessionId> = View::new("Inference", "next_session");
const SESSION: View<(SessionId,), Option<SessionView>> = View::new("Inference", "session");
const SESSIONS_OF: View<(AccountId,), Vec<SessionId>> = View::new("Inference", "sessions_of");
const CLAIMED: View<(SessionId, AccountId), ClaimView> = View::new("Inference", "claimed");
const DEPOSIT_FOR: View<(AccountId, Offer), Balance> = View::new("Inference", "deposit_for");
const TERMS: View<(), InferenceTerms> = View::new("Inference", "terms");
const OWNED: View<(RunId,), Option<ModelView>> = View::new("Ownership", "model");
const HALTED: View<(RunId,), Option<Halt>> = View::new("Training", "halted");

/// Since when a model may not be used, and why.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct Halt {
	/// Block in which it was halted.
	pub since: BlockNumber,
	/// Why, for people to read; UTF-8, if those who halted it took care.
	pub reason: Vec<u8>,
}

/// Checks that the chain has these view functions with the same types.
///
/// # Errors
/// The first one that is missing or differs.
pub(super) fn check(metadata: &Metadata) -> Result<(), ChainError> {
	OFFER_OF.check(metadata)?;
	OFFERS.check(metadata)?;
	SESSION.check(metadata)?;
	SESSIONS_OF.check(metadata)?;
	CLAIMED.check(metadata)?;
	DEPOSIT_FOR.check(metadata)?;
	TERMS.check(metadata)?;
	HALTED.check(metadata)
}

impl ChainAt {
	/// Returns the offer of `driver`.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn offer_of(&self, driver: &AccountId) -> Result<Option<OfferView>, ChainError> {
		self.view(&OFFER_OF, (driver.clone(),)).await
	}

	/// All offers, ready or not, in no order of meaning.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn offers(&self) -> Result<Vec<OfferView>, ChainError> {
		self.pages(&OFFERS, PAGE, |last| (last.map(|last| last.driver.clone()),)).await
	}

	/// The number that the next session will have: those below it were given.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn next_session(&self) -> Result<SessionId, ChainError> {
		self.view(&NEXT_SESSION, ()).await
	}

	/// A session; `None` if it was settled, or never opened.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn session(&self, id: SessionId) -> Result<Option<SessionView>, ChainError> {
		self.view(&SESSION, (id,)).await
	}

	/// Sessions of `user` that are not settled, in the order in which they were opened.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn sessions_of(&self, user: &AccountId) -> Result<Vec<SessionId>, ChainError> {
		self.view(&SESSIONS_OF, (user.clone(),)).await
	}

	/// Returns the claim of `provider` on a session; all zeros if there is none, or if it was settled.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn claimed(&self, session: SessionId, provider: &AccountId) -> Result<ClaimView, ChainError> {
		self.view(&CLAIMED, (session, provider.clone())).await
	}

	/// Deposit in planck that this offer of `driver` holds.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn offer_deposit(&self, driver: &AccountId, offer: Offer) -> Result<Balance, ChainError> {
		self.view(&DEPOSIT_FOR, (driver.clone(), offer)).await
	}

	/// Returns the rules that hold for sessions and offers.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn inference_terms(&self) -> Result<InferenceTerms, ChainError> {
		self.view(&TERMS, ()).await
	}

	/// The shares of the model of a run, whose owners get a part of every payment; `None` if there are none. For those who watch a network.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn owned(&self, run: RunId) -> Result<Option<ModelView>, ChainError> {
		self.view(&OWNED, (run,)).await
	}

	/// Since when the model of a run may not be used, and why; `None` if it may.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn halted(&self, run: RunId) -> Result<Option<Halt>, ChainError> {
		self.view(&HALTED, (run,)).await
	}
}
