//! The driver's side of an offer with members: whether all of them have agreed.

use neuroshard_chain_client::{next_block, ChainClient, ChainError, Heads};
use neuroshard_types::{
	inference::{Offer, OfferView},
	AccountId,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// State of an offer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Consent {
	/// All members have agreed.
	Ready,
	/// These have not.
	Waits(Vec<AccountId>),
	/// It is not on the chain, or another one is.
	Gone,
}

impl Consent {
	/// Returns the state of `offer` of `driver`, of which the chain says `view`.
	pub(super) fn of(driver: &AccountId, offer: &Offer, view: Option<&OfferView>) -> Self {
		let Some(view) = view.filter(|view| view.offer == *offer) else { return Self::Gone };
		let missing: Vec<AccountId> = offer.members(driver).into_iter().filter(|who| !view.consents.contains(who)).collect();
		match view.ready {
			true => Self::Ready,
			false => Self::Waits(missing),
		}
	}

	/// Describes the state, for people.
	fn words(&self) -> String {
		let list = |missing: &[AccountId]| missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
		match self {
			Self::Ready => "all members of the ring have agreed to the offer: sessions may begin".into(),
			Self::Waits(missing) => format!(
				"waiting for {} to agree to the offer; no session begins before. `neuroshard-worker hold --provider` agrees by itself, as long as it is connected and \
				 its account has some NEURO for the fee; its log says what keeps it",
				list(missing)
			),
			Self::Gone => "the offer that was made is not on the chain any more: it was withdrawn, or another process of this account has replaced it. No session \
			               begins with this ring before this command is started anew"
				.into(),
		}
	}
}

/// Watches how an offer stands, and says so whenever that changes.
pub struct Watch {
	/// The chain.
	pub client: ChainClient,
	/// Driver that made the offer.
	pub driver: AccountId,
	/// The offer.
	pub offer: Offer,
}

impl Watch {
	/// Watches until `stop` is cancelled; `ready` is told whether all have agreed.
	pub async fn run(self, ready: watch::Sender<bool>, stop: CancellationToken) {
		let mut heads = self.client.follow(Heads::default(), |_| {});
		let mut known = None;
		loop {
			heads.mark_unchanged();
			match stop.run_until_cancelled(self.look()).await {
				None => return,
				Some(Ok(consent)) if known.as_ref() != Some(&consent) => {
					match consent {
						Consent::Ready => tracing::info!("{}", consent.words()),
						Consent::Waits(_) | Consent::Gone => tracing::warn!("{}", consent.words()),
					}
					ready.send_replace(consent == Consent::Ready);
					known = Some(consent);
				}
				Some(Ok(_)) => {}
				Some(Err(error)) => tracing::warn!("it is not known whether all members have agreed: {error}"),
			}
			next_block(&mut heads, &stop).await;
		}
	}

	async fn look(&self) -> Result<Consent, ChainError> {
		let view = self.client.now().await?.offer_of(&self.driver).await?;
		Ok(Consent::of(&self.driver, &self.offer, view.as_ref()))
	}
}
