//! Choice of the provider that is asked.

use neuroshard_chain_client::Neuro;
use neuroshard_disputes::answers::Endpoint;
use neuroshard_network::Reach;
use neuroshard_types::{inference::OfferView, AccountId, Balance, RunId};

/// Why nobody can be asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoOffer {
	/// The named provider offers nothing.
	#[error("{0} offers nothing")]
	OfProvider(AccountId),
	/// The named provider's offer is not usable.
	#[error("the offer of {provider} cannot be used: {why}")]
	Unusable {
		/// The provider.
		provider: AccountId,
		/// Why.
		why: String,
	},
	/// No offer of the run is usable.
	#[error("nobody offers to answer with run {run}{}", first.as_ref().map(|why| format!(" as is wanted: {why}")).unwrap_or_default())]
	OfRun {
		/// The run.
		run: RunId,
		/// Problem of the first offer of it, if there is one.
		first: Option<String>,
	},
}

/// Requirements of an offer.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
	/// The run, if not any.
	pub run: Option<RunId>,
	/// The dearest price of a thousand tokens, of a prompt or of an answer, in planck.
	pub most: Option<Balance>,
	/// Range of addresses of offers that may be dialled.
	pub reach: Reach,
}

impl Wanted {
	/// Returns the endpoint of the offer's provider, or why it is not what is wanted.
	///
	/// # Errors
	/// In words.
	pub fn endpoint(&self, view: &OfferView) -> Result<Endpoint, String> {
		let offer = &view.offer;
		if let Some(run) = self.run.filter(|run| *run != offer.checkpoint.run) {
			return Err(format!("it is for run {}, not {run}", offer.checkpoint.run));
		}
		if !view.ready {
			return Err("not all of its ring have agreed to it".into());
		}
		let dearest = offer.prices.prompt.max(offer.prices.generated).saturating_mul(1_000);
		if let Some(most) = self.most.filter(|most| dearest > *most) {
			return Err(format!("it takes {} for 1000 tokens, and --most-price is {}", Neuro(dearest), Neuro(most)));
		}
		let endpoint = Endpoint::parse(&offer.endpoint).map_err(|error| error.to_string())?.reaching(self.reach);
		endpoint.check().map_err(|error| error.to_string())?;
		Ok(endpoint)
	}

	/// The offer of a named provider, with its address.
	///
	/// # Errors
	/// [`NoOffer`].
	pub fn of(&self, provider: &AccountId, view: Option<OfferView>) -> Result<(OfferView, Endpoint), NoOffer> {
		let view = view.ok_or_else(|| NoOffer::OfProvider(provider.clone()))?;
		let endpoint = self.endpoint(&view).map_err(|why| NoOffer::Unusable { provider: provider.clone(), why })?;
		Ok((view, endpoint))
	}

	/// Of those that are usable, the offer of a provider with whom there is a session already (`known`), else the cheapest.
	///
	/// # Errors
	/// [`NoOffer::OfRun`].
	pub fn cheapest(&self, run: RunId, offers: Vec<OfferView>, known: &[AccountId]) -> Result<(OfferView, Endpoint), NoOffer> {
		let (mut usable, mut first) = (Vec::new(), None);
		for view in offers.into_iter().filter(|view| view.offer.checkpoint.run == run) {
			match self.endpoint(&view) {
				Ok(endpoint) => usable.push((view, endpoint)),
				Err(why) => {
					first.get_or_insert(format!("{}: {why}", view.driver));
				}
			}
		}
		let rank = |(view, _): &(OfferView, Endpoint)| {
			let prices = view.offer.prices;
			(!known.contains(&view.driver), prices.prompt.saturating_add(prices.generated), view.driver.clone())
		};
		usable.into_iter().min_by_key(rank).ok_or(NoOffer::OfRun { run, first })
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::{
		inference::{CheckpointId, Class, Offer, Prices},
		H256, NEURO,
	};

	fn offer(driver: u8, run: RunId, price: Balance) -> OfferView {
		let offer = Offer {
			checkpoint: CheckpointId { run, round: 1, root: H256::zero() },
			class: Class::ExactF32,
			prices: Prices { prompt: price / 2, generated: price },
			redundancy: 1,
			endpoint: b"http://host:1".to_vec().try_into().unwrap(),
			ring: Default::default(),
		};
		let driver = AccountId::new([driver; 32]);
		OfferView { hash: offer.hash(&driver), driver, offer, consents: Default::default(), ready: true, sessions: 0, deposit: 0 }
	}

	#[test]
	fn the_cheapest_offer_of_the_run_is_taken_unless_there_is_a_session() {
		let offers = vec![offer(1, 0, 30), offer(2, 0, 20), offer(3, 1, 1), OfferView { ready: false, ..offer(4, 0, 1) }];
		let of = |known: &[AccountId]| Wanted::default().cheapest(0, offers.clone(), known).unwrap().0.driver;
		assert_eq!(of(&[]), AccountId::new([2; 32]));
		assert_eq!(of(&[AccountId::new([1; 32]), AccountId::new([3; 32])]), AccountId::new([1; 32]));
		let none = Wanted::default().cheapest(7, offers, &[]).unwrap_err();
		assert_eq!(none.to_string(), "nobody offers to answer with run 7");
	}

	#[test]
	fn what_is_too_dear_or_cannot_be_asked_is_told() {
		let wanted = Wanted { run: Some(0), most: Some(NEURO), reach: Reach::Internet };
		let refused = |view: OfferView| wanted.of(&view.driver.clone(), Some(view)).unwrap_err().to_string();
		assert!(wanted.of(&AccountId::new([1; 32]), Some(offer(1, 0, NEURO / 1_000))).is_ok());
		assert!(refused(offer(1, 0, NEURO / 1_000 + 1)).contains("--most-price is 1 NEURO"));
		assert!(refused(offer(1, 1, 1)).contains("for run 1, not 0"));
		assert!(refused(OfferView { ready: false, ..offer(1, 0, 1) }).contains("agreed"));
		let mut other = offer(1, 0, 1);
		other.offer.endpoint = b"/ip4/1.2.3.4".to_vec().try_into().unwrap();
		assert!(refused(other.clone()).contains("http://HOST:PORT"));
		let mut private = offer(2, 0, 1);
		private.offer.endpoint = b"http://192.168.0.1:8000".to_vec().try_into().unwrap();
		assert!(refused(private.clone()).contains("--dial-private"));
		let (dearer, endpoint) = wanted.cheapest(0, vec![private.clone(), offer(3, 0, 2)], &[]).unwrap();
		assert_eq!((dearer.driver, endpoint.to_string()), (AccountId::new([3; 32]), "http://host:1".to_owned()));
		let anywhere = Wanted { reach: Reach::Anywhere, ..wanted.clone() };
		assert_eq!(anywhere.cheapest(0, vec![private.clone()], &[]).unwrap().0.driver, private.driver);
		let none = wanted.cheapest(0, vec![other], &[]).unwrap_err();
		assert!(none.to_string().contains("as is wanted"), "{none}");
		assert_eq!(wanted.of(&AccountId::new([1; 32]), None), Err(NoOffer::OfProvider(AccountId::new([1; 32]))));
	}
}
