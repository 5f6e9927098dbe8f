//! The holder's side of an offer: it agrees to what its driver offers with it, if that is what it was told, and to nothing else.

use super::{
	super::message::Hold,
	{is_of, Terms, Unfit},
};
use neuroshard_chain_client::{inference, next_block, ChainClient, ChainError, Heads, Neuro, Submitter};
use neuroshard_network::PeerId;
use neuroshard_support::{backoff::Backoff, counted::counted};
use neuroshard_types::{
	inference::{Class, OfferView},
	AccountId, Balance, BlockNumber, H256,
};
use std::{
	collections::{BTreeMap, BTreeSet},
	sync::{
		atomic::{AtomicU64, Ordering},
		Arc,
	},
	time::Duration,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Blocks until what failed is tried again: each attempt may cost a fee.
const BACKOFF: Backoff<BlockNumber> = Backoff::new(5, 1_200);
/// Longest time in which consents are taken back when the holder ends.
const LAST: Duration = Duration::from_secs(12);

/// A driver: the account that it names, and its identity.
type Driver = (AccountId, PeerId);

/// Task that a driver gives this worker over one stream: what it holds, and what is offered with it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Task {
	/// Peer at the other end.
	peer: PeerId,
	/// Terms that it says it offers.
	terms: Terms,
	/// Root of the parameters that are loaded here.
	parameters: H256,
	/// The arithmetic.
	class: Class,
	/// First layer, and how many.
	span: (u32, u32),
}

/// Tasks of drivers, by stream: as many as are answered at a time. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Tasks(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
	all: watch::Sender<BTreeMap<u64, Task>>,
	next: AtomicU64,
}

/// A stream over which this worker holds something for a driver that offers it. Dropped, it does not any more.
#[derive(Debug)]
pub struct Seat {
	tasks: Tasks,
	number: u64,
}

impl Tasks {
	/// Notes that `hold` is held for the driver with the identity `peer`, as long as the seat is kept; `None` if that driver offers nothing with it.
	pub(crate) fn take(&self, peer: PeerId, hold: &Hold) -> Option<Seat> {
		let terms = hold.terms.clone()?;
		let task = Task { peer, terms, parameters: hold.parameters, class: hold.class, span: (hold.first, hold.layers) };
		let number = self.0.next.fetch_add(1, Ordering::Relaxed);
		self.0.all.send_modify(|all| _ = all.insert(number, task));
		Some(Seat { tasks: self.clone(), number })
	}
}

impl Drop for Seat {
	fn drop(&mut self) {
		self.tasks.0.all.send_modify(|all| _ = all.remove(&self.number));
	}
}

/// Difference that keeps this worker from agreeing to an offer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Difference {
	#[error("it offers nothing yet")]
	Nothing,
	#[error("it tells this worker different things over different connections")]
	Contradiction,
	#[error("it offers the checkpoint {offered:?}, and {held:?} is held here")]
	Parameters { offered: H256, held: H256 },
	#[error("it offers {offered:?}, and {held:?} is computed here")]
	Class { offered: Class, held: Class },
	#[error(
		"it takes {} for 1000 tokens of a prompt and {} for 1000 of an answer, and told this worker other prices",
		Neuro(.prompt.saturating_mul(1_000)),
		Neuro(.generated.saturating_mul(1_000))
	)]
	Prices { prompt: Balance, generated: Balance },
	#[error("it offers that each layer is held by {offered}, and told this worker {told}")]
	Redundancy { offered: u8, told: u8 },
	#[error("it offers that this account holds {}, and had it hold {}", spans(.offered), spans(.held))]
	Spans { offered: BTreeSet<(u32, u32)>, held: BTreeSet<(u32, u32)> },
}

/// Spans in words: first layers, and how many.
fn spans(spans: &BTreeSet<(u32, u32)>) -> String {
	let words: Vec<String> = spans.iter().map(|(first, layers)| format!("{} from layer {first} on", counted(*layers, "layer"))).collect();
	match words.is_empty() {
		true => "nothing".into(),
		false => words.join(" and "),
	}
}

/// Decision about an offer.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Decision {
	/// Agree to the offer with this hash.
	Join(H256),
	/// Nothing: this worker has agreed.
	Agreed,
}

/// Decides what `me` does about the offer that the chain says a driver makes, for whom `tasks` are held.
///
/// # Errors
/// [`Difference`], if it is not what was told.
fn decide(me: &AccountId, tasks: &[&Task], view: Option<&OfferView>) -> Result<Decision, Difference> {
	let OfferView { offer, hash, consents, .. } = view.ok_or(Difference::Nothing)?;
	let Some(Task { terms, parameters, class, .. }) = tasks.first() else { return Err(Difference::Nothing) };
	if tasks.iter().any(|other| (&other.terms, &other.parameters, other.class) != (terms, parameters, *class)) {
		return Err(Difference::Contradiction);
	}
	if offer.checkpoint.root != *parameters {
		return Err(Difference::Parameters { offered: offer.checkpoint.root, held: *parameters });
	}
	if offer.class != *class {
		return Err(Difference::Class { offered: offer.class, held: *class });
	}
	if offer.prices != terms.prices {
		return Err(Difference::Prices { prompt: offer.prices.prompt, generated: offer.prices.generated });
	}
	if offer.redundancy != terms.redundancy {
		return Err(Difference::Redundancy { offered: offer.redundancy, told: terms.redundancy });
	}
	let offered = offer.ring.iter().filter(|span| span.who == *me).map(|span| (u32::from(span.first), u32::from(span.layers))).collect();
	let held = tasks.iter().map(|task| task.span).collect();
	if offered != held {
		return Err(Difference::Spans { offered, held });
	}
	Ok(if consents.contains(me) { Decision::Agreed } else { Decision::Join(*hash) })
}

/// Returns the decision about an offer for each driver for whom `tasks` has something: the hash that is to be agreed to, if that was not done.
#[cfg(test)]
pub(super) fn decisions(me: &AccountId, tasks: &Tasks, view: Option<&OfferView>) -> Vec<Result<Option<H256>, Difference>> {
	let tasks = tasks.0.all.borrow().clone();
	let hash = |decision| if let Decision::Join(hash) = decision { Some(hash) } else { None };
	by_driver(&tasks).into_values().map(|tasks| decide(me, &tasks, view).map(hash)).collect()
}

/// Tasks by who gave them: by account and identity, so that nobody who names the account of a driver comes in its way.
fn by_driver(tasks: &BTreeMap<u64, Task>) -> BTreeMap<Driver, Vec<&Task>> {
	let mut drivers = BTreeMap::<Driver, Vec<&Task>>::new();
	for task in tasks.values() {
		drivers.entry((task.terms.driver.clone(), task.peer)).or_default().push(task);
	}
	drivers
}

/// Why this worker has not agreed.
#[derive(Debug, thiserror::Error)]
enum NotAgreed {
	#[error("the offer of {0} is not agreed to: {1}")]
	Differs(AccountId, Difference),
	#[error("a driver names an account that is not its own, and nothing that it offers is agreed to: {0}")]
	Stranger(Unfit),
	#[error("the offer of {0} could not be agreed to, which is tried again later: {1}")]
	Failed(AccountId, ChainError),
	#[error("offers wait: {0}")]
	Chain(#[from] ChainError),
}

/// State that is remembered of a driver.
#[derive(Debug, Default)]
struct Known {
	/// Message about it that was logged last.
	said: String,
	/// Offer that could not be agreed to, the first block in which it is tried again, and how long that was.
	failed: Option<(H256, BlockNumber, BlockNumber)>,
}

/// Agrees to offers for this worker's account.
pub struct Member {
	client: ChainClient,
	submitter: Submitter,
	tasks: Tasks,
	/// Drivers by account and identity, as long as something is held for them.
	known: BTreeMap<Driver, Known>,
	/// Driver whose offer is being agreed to.
	joining: Option<AccountId>,
}

impl Member {
	/// Agrees, by `submitter`, to offers of those whose `tasks` it has.
	pub fn new(client: ChainClient, submitter: Submitter, tasks: Tasks) -> Self {
		Self { client, submitter, tasks, known: BTreeMap::new(), joining: None }
	}

	/// Watches the chain until `stop` is cancelled, and then takes all consents back: no session begins with a ring whose member is not there. Sessions
	/// that have begun are paid as before.
	pub async fn run(mut self, stop: CancellationToken) {
		let mut heads = self.client.follow(Heads::default(), |_| {});
		let mut tasks = self.tasks.0.all.subscribe();
		loop {
			heads.mark_unchanged();
			let now = tasks.borrow_and_update().clone();
			if stop.run_until_cancelled(self.turn(&now)).await.is_none() {
				break;
			}
			tokio::select! {
				changed = tasks.changed() => if changed.is_err() { break },
				() = next_block(&mut heads, &stop) => {}
			}
		}
		match tokio::time::timeout(LAST, self.leave()).await {
			Ok(Ok(())) => {}
			Ok(Err(error)) => {
				tracing::warn!(
					"not all offers are left, so that the bond stays bound until their drivers replace or withdraw them: {error}"
				);
			}
			Err(_) => tracing::warn!("the chain did not take in time that this worker leaves the offers that it has agreed to"),
		}
	}

	/// Agrees to what can be agreed to.
	async fn turn(&mut self, tasks: &BTreeMap<u64, Task>) {
		let drivers = by_driver(tasks);
		self.known.retain(|driver, _| drivers.contains_key(driver));
		for (driver, tasks) in drivers {
			match self.look(&driver, &tasks).await {
				Ok(words) => self.say(driver, words, |words| tracing::info!("{words}")),
				Err(why @ NotAgreed::Chain(_)) => return tracing::warn!("{why}"),
				Err(why @ NotAgreed::Differs(_, Difference::Nothing)) => {
					self.say(driver, Some(why.to_string()), |words| tracing::info!("{words}"));
				}
				Err(why @ NotAgreed::Differs(..)) => self.say(driver, Some(why.to_string()), |words| tracing::warn!("{words}")),
				Err(why) => self.say(driver, Some(why.to_string()), |words| tracing::error!("{words}")),
			}
		}
	}

	/// Says something of a driver, unless it was said last.
	fn say(&mut self, driver: Driver, words: Option<String>, say: impl FnOnce(&str)) {
		let known = self.known.entry(driver).or_default();
		if let Some(words) = words.filter(|words| *words != known.said) {
			say(&words);
			known.said = words;
		}
	}

	/// Agrees to what a driver offers, if that is what it told; what is to be said about it.
	async fn look(&mut self, driver: &Driver, tasks: &[&Task]) -> Result<Option<String>, NotAgreed> {
		let (account, peer) = driver;
		let at = self.client.now().await?;
		let hash = match decide(self.submitter.who(), tasks, at.offer_of(account).await?.as_ref()) {
			Err(difference) => return Err(NotAgreed::Differs(account.clone(), difference)),
			Ok(Decision::Agreed) => return Ok(Some(format!("the offer of {account} is agreed to"))),
			Ok(Decision::Join(hash)) => hash,
		};
		is_of(account, peer, at.provider(account).await?.as_ref()).map_err(NotAgreed::Stranger)?;
		let now = at.block().number;
		let failed = self.known.get(driver).and_then(|known| known.failed).filter(|(failed, ..)| *failed == hash);
		if failed.is_some_and(|(_, again, _)| again > now) {
			return Ok(None);
		}
		self.joining = Some(account.clone());
		let joined = self.submitter.submit_once(inference::join(account.clone(), hash)).await;
		self.joining = None;
		let known = self.known.entry(driver.clone()).or_default();
		match joined {
			Ok(_) => {
				known.failed = None;
				Ok(Some(format!("the offer of {account} is agreed to")))
			}
			Err(error) => {
				let rest = BACKOFF.after(failed.map(|(_, _, rest)| rest));
				known.failed = Some((hash, now.saturating_add(rest), rest));
				Err(NotAgreed::Failed(account.clone(), error))
			}
		}
	}

	/// Takes back what this account has agreed to, also before this process.
	async fn leave(&self) -> Result<(), ChainError> {
		let me = self.submitter.who();
		let offers = self.client.now().await?.offers().await?;
		let agreed = offers.into_iter().filter(|view| view.consents.contains(me)).map(|view| view.driver);
		// What was on its way may be in a block by then.
		let drivers: BTreeSet<AccountId> = agreed.chain(self.joining.clone()).collect();
		for driver in drivers {
			match self.submitter.submit_once(inference::leave(driver.clone())).await {
				Ok(_) => tracing::info!("the offer of {driver} is not agreed to any more"),
				// It was not agreed to, or the driver was faster.
				Err(error) if error.is_dispatch("Inference::NoOffer") || error.is_dispatch("Inference::NotJoined") => {}
				Err(error) => return Err(error),
			}
		}
		Ok(())
	}
}
