//! The transaction pool as the network sees it: what goes to peers, and how fast.
//!
//! The SDK puts all extrinsics that a peer may not know into that peer's queue at once. A queue has room for 2,048, and one that is full ends the
//! connection. So a node with more than that in its pool would lose every peer that connects, again and again, and a validator without peers
//! makes no blocks: who can fill pools could stop the chain.

use pallet_neuro_disputes::FIRST;
use sc_transaction_pool_api::{
	ImportNotificationStream, InPoolTransaction, PoolStatus, ReadyTransactions, TransactionFor, TransactionPool, TransactionSource,
	TransactionStatusStreamFor, TxHash, TxInvalidityReportMap,
};
use sp_runtime::traits::Block as BlockT;
use std::{
	collections::{HashMap, HashSet},
	hash::Hash,
	pin::Pin,
	sync::{Arc, Mutex, PoisonError},
	time::{Duration, Instant},
};

/// Extrinsics that go to peers when the network asks for all that are ready, which it does every 2.9 seconds. All may come in the wrong order: a pool
/// keeps 819 that wait for others before them, by default, and what has no room there is not told again. So three such parts have room, if none has more
/// bytes than they have places: one from the middle of a pass, which a peer gets first that connects then, and two for a peer that is busy and has not
/// taken one when the next one comes.
const AT_ONCE: usize = 256;
/// Mean time between extrinsics that go to peers because they are new. With [`AT_ONCE`], about 900 in a second.
const PAUSE: Duration = Duration::from_micros(1_250);
/// New extrinsics of each kind that go to peers without a pause. With [`AT_ONCE`], three eighths of a peer's queue: the rest is for a second and more in
/// which a busy machine takes nothing out.
const BURST: u32 = 256;

/// A pool that tells the network about few extrinsics at a time, and about all of them in the end, those with the highest priority first. All else is
/// the pool's own.
pub struct Gossip<P: TransactionPool> {
	pool: Arc<P>,
	ration: Mutex<Ration<TxHash<P>>>,
}

impl<P: TransactionPool> Gossip<P> {
	/// Returns the view of `pool` that the network may see.
	pub fn new(pool: Arc<P>) -> Self {
		Self { pool, ration: Mutex::new(Ration::new(Instant::now())) }
	}

	fn ration<T>(&self, take: impl FnOnce(&mut Ration<TxHash<P>>) -> T) -> T {
		// What a panic could leave behind is a ration all the same.
		take(&mut self.ration.lock().unwrap_or_else(PoisonError::into_inner))
	}
}

/// Ration of extrinsics: which ones peers have been told about, and when they may be told about the next one.
struct Ration<H> {
	/// Times at which the extrinsics so far would have gone, had each one waited for [`PAUSE`]; those with reserved room by themselves.
	due: [Instant; 2],
	/// Those that went to peers in this pass over the pool.
	offered: HashSet<H>,
	/// Those that went in the pass before.
	known: HashSet<H>,
	/// Parts that were [chosen](Self::choose) in this pass.
	parts: usize,
	/// True if this pass has begun once more for a peer that came in the middle of it.
	again: bool,
}

impl<H: Clone + Eq + Hash> Ration<H> {
	fn new(now: Instant) -> Self {
		Self { due: [now; 2], offered: HashSet::new(), known: HashSet::new(), parts: 0, again: false }
	}

	/// Returns whether a new extrinsic goes to peers now. One that does not is among the [chosen](Self::choose) ones later.
	/// Moves and acts, which come first, are counted by themselves: others cannot keep them back.
	fn take(&mut self, hash: &H, is_first: bool, now: Instant) -> bool {
		let [others, first] = &mut self.due;
		let due = if is_first { first } else { others };
		let next = (*due).max(now);
		if next >= now + PAUSE * BURST {
			return false;
		}
		*due = next + PAUSE;
		self.offered.insert(hash.clone());
		true
	}

	/// The first [`AT_ONCE`] of the ready extrinsics that have not gone to peers. After the last of them it begins anew, for peers that have come since.
	fn choose<T>(&mut self, ready: impl Iterator<Item = T>, hash: impl Fn(&T) -> &H) -> Vec<T> {
		let mut chosen = Vec::new();
		let mut offered = HashSet::new();
		for one in ready {
			let is_new = !self.offered.contains(hash(&one));
			if !is_new || chosen.len() < AT_ONCE {
				offered.insert(hash(&one).clone());
			}
			if is_new && chosen.len() < AT_ONCE {
				chosen.push(one);
			}
		}
		// What is not ready any more is forgotten: no set is larger than the pool.
		if chosen.len() < AT_ONCE {
			(self.offered, self.known, self.parts, self.again) = (HashSet::new(), offered, 0, false);
		} else {
			(self.offered, self.parts) = (offered, self.parts.saturating_add(1));
		}
		chosen
	}

	/// Some peer did not know these. Whoever lacks what went in the pass before has come since. In the middle of a pass it has got a part for which it
	/// lacks what comes before, and has room for no more than a few of these: the pass begins once more. It does so once, or somebody who connects again
	/// and again could keep the rest of the pool from all others.
	fn told<'a>(&mut self, mut hashes: impl Iterator<Item = &'a H>)
	where
		H: 'a,
	{
		if self.parts > 1 && !self.again && hashes.any(|hash| self.known.contains(hash)) {
			(self.offered, self.parts, self.again) = (HashSet::new(), 0, true);
		}
	}
}

/// The ready extrinsics that go to peers now.
struct Chosen<T>(std::vec::IntoIter<T>);

impl<T> Iterator for Chosen<T> {
	type Item = T;

	fn next(&mut self) -> Option<T> {
		self.0.next()
	}
}

impl<T> ReadyTransactions for Chosen<T> {
	fn report_invalid(&mut self, _: &T) {}
}

type Ready<P> = Box<dyn ReadyTransactions<Item = Arc<<P as TransactionPool>::InPoolTransaction>> + Send>;
type BlockHash<P> = <<P as TransactionPool>::Block as BlockT>::Hash;

#[async_trait::async_trait]
impl<P: TransactionPool<InPoolTransaction: Send + Sync> + 'static> TransactionPool for Gossip<P> {
	type Block = P::Block;
	type Hash = P::Hash;
	type InPoolTransaction = P::InPoolTransaction;
	type Error = P::Error;

	async fn submit_at(
		&self,
		at: BlockHash<P>,
		source: TransactionSource,
		xts: Vec<TransactionFor<Self>>,
	) -> Result<Vec<Result<TxHash<Self>, Self::Error>>, Self::Error> {
		self.pool.submit_at(at, source, xts).await
	}

	async fn submit_one(&self, at: BlockHash<P>, source: TransactionSource, xt: TransactionFor<Self>) -> Result<TxHash<Self>, Self::Error> {
		self.pool.submit_one(at, source, xt).await
	}

	async fn submit_and_watch(
		&self,
		at: BlockHash<P>,
		source: TransactionSource,
		xt: TransactionFor<Self>,
	) -> Result<Pin<Box<TransactionStatusStreamFor<Self>>>, Self::Error> {
		self.pool.submit_and_watch(at, source, xt).await
	}

	async fn ready_at(&self, at: BlockHash<P>) -> Ready<P> {
		self.pool.ready_at(at).await
	}

	fn ready(&self) -> Ready<P> {
		let ready = self.pool.ready().filter(|one| one.is_propagable());
		Box::new(Chosen(self.ration(|ration| ration.choose(ready, |one| one.hash())).into_iter()))
	}

	async fn report_invalid(
		&self,
		at: Option<BlockHash<P>>,
		errors: TxInvalidityReportMap<TxHash<Self>>,
	) -> Vec<Arc<Self::InPoolTransaction>> {
		self.pool.report_invalid(at, errors).await
	}

	fn futures(&self) -> Vec<Self::InPoolTransaction> {
		self.pool.futures()
	}

	fn status(&self) -> PoolStatus {
		self.pool.status()
	}

	fn import_notification_stream(&self) -> ImportNotificationStream<TxHash<Self>> {
		self.pool.import_notification_stream()
	}

	fn on_broadcasted(&self, propagations: HashMap<TxHash<Self>, Vec<String>>) {
		self.ration(|ration| ration.told(propagations.keys()));
		self.pool.on_broadcasted(propagations);
	}

	fn hash_of(&self, xt: &TransactionFor<Self>) -> TxHash<Self> {
		self.pool.hash_of(xt)
	}

	fn ready_transaction(&self, hash: &TxHash<Self>) -> Option<Arc<Self::InPoolTransaction>> {
		let found = self.pool.ready_transaction(hash).filter(|one| one.is_propagable())?;
		let is_first = *found.priority() >= FIRST;
		self.ration(|ration| ration.take(hash, is_first, Instant::now())).then_some(found)
	}

	async fn ready_at_with_timeout(&self, at: BlockHash<P>, timeout: Duration) -> Ready<P> {
		self.pool.ready_at_with_timeout(at, timeout).await
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn chosen(ration: &mut Ration<u32>, ready: impl IntoIterator<Item = u32>) -> Vec<u32> {
		ration.choose(ready.into_iter(), |one| one)
	}

	#[test]
	fn a_peer_is_told_about_all_of_a_full_pool_a_part_at_a_time_and_best_first() {
		let mut ration = Ration::new(Instant::now());
		assert_eq!(chosen(&mut ration, 0..700), (0..256).collect::<Vec<_>>());
		// Meanwhile the first hundred got into a block, and a better one came.
		let ready = || std::iter::once(9_999).chain(100..700);
		assert_eq!(chosen(&mut ration, ready()), std::iter::once(9_999).chain(256..511).collect::<Vec<_>>());
		assert_eq!(chosen(&mut ration, ready()), (511..700).collect::<Vec<_>>());
		assert_eq!(chosen(&mut ration, ready()), std::iter::once(9_999).chain(100..355).collect::<Vec<_>>(), "for who has come since");
	}

	#[test]
	fn who_comes_in_the_middle_is_told_from_the_beginning_once_in_a_pass_and_who_knows_all_changes_nothing() {
		let mut ration = Ration::new(Instant::now());
		// The first of the part that goes to a peer that does not know `unknown` of them.
		let mut part = |unknown: &dyn Fn(&u32) -> bool| {
			let part = chosen(&mut ration, 0..1_000);
			ration.told(part.iter().filter(|one| unknown(one)));
			part[0]
		};
		let (all, none) = (|_: &u32| true, |_: &u32| false);
		assert_eq!([part(&all), part(&all), part(&all), part(&all)], [0, 256, 512, 768], "a first pass has no middle");
		assert_eq!([part(&none), part(&none), part(&all)], [0, 256, 512]);
		assert_eq!([part(&all), part(&all), part(&all), part(&all)], [0, 256, 512, 768], "once");
		assert_eq!([part(&none), part(&all), part(&all)], [0, 256, 0]);
		assert_eq!([part(&none), part(&none), part(&none), part(&none)], [256, 512, 768, 0], "who knows all changes nothing");
	}

	#[test]
	fn a_pool_that_is_told_about_at_once_is_told_about_whole_every_time() {
		let mut ration = Ration::new(Instant::now());
		for _ in 0..3 {
			assert_eq!(chosen(&mut ration, 0..255), (0..255).collect::<Vec<_>>());
		}
	}

	#[test]
	fn new_extrinsics_go_at_once_until_there_are_too_many_and_none_goes_twice() {
		let start = Instant::now();
		let mut ration = Ration::new(start);
		let went: Vec<_> = (0..1_000).filter(|one| ration.take(one, false, start)).collect();
		assert_eq!(went, (0..256).collect::<Vec<_>>());
		// One for every pause that begins in the second after that.
		let millisecond = Duration::from_millis(1);
		let later = (1..=1_000u32).filter(|passed| ration.take(&(5_000 + passed), false, start + millisecond * *passed)).count();
		assert_eq!(later, 800);
		assert_eq!(chosen(&mut ration, 0..1_000), (256..512).collect::<Vec<_>>(), "what had to wait");
		// A pause gives no more than the burst back.
		let rested = start + Duration::from_secs(60);
		assert_eq!((0..1_000).filter(|one| ration.take(one, false, rested)).count(), 256);
		assert_eq!((2_000..3_000).filter(|one| ration.take(one, true, rested)).count(), 256, "moves and acts do not wait for others");
	}

	#[test]
	fn what_left_the_pool_is_forgotten() {
		let mut ration = Ration::new(Instant::now());
		chosen(&mut ration, 0..5_000);
		chosen(&mut ration, 4_000..6_000);
		assert!(ration.offered.iter().all(|one| *one >= 4_000) && ration.offered.len() <= 2_000);
	}
}
