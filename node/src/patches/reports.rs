//! Keeps reports of equivocation until the chain has them for good.
//!
//! A report is of use only in the pool of a node that authors a block before it forgets its pool. So what was reported is also stored, and brought to
//! the pool again with every best block, through restarts, until the finalized state has no use for it any more: it knows the offence, or is too
//! far from it.

use codec::{Decode, Encode};
use neuroshard_runtime::{opaque::Block, BlockNumber, Hash};
use sc_client_api::AuxStore;
use sc_transaction_pool_api::{error::IntoPoolError, LocalTransactionPool};
use sp_blockchain::HeaderBackend;
use sp_runtime::traits::Block as BlockT;
use std::sync::{Arc, Mutex, PoisonError};

/// Most reports that are kept; the oldest makes room.
pub const MAX_REPORTS: usize = 128;
/// Key that they are stored under.
const KEY: &[u8] = b"reports_of_equivocation";

type Extrinsic = <Block as BlockT>::Extrinsic;

/// A report, and the height at which it was valid first.
#[derive(Clone, Encode, Decode)]
struct Kept {
	since: BlockNumber,
	report: Extrinsic,
}

/// A pool that keeps what it is given.
pub struct Reports<S, P> {
	store: Arc<S>,
	pool: P,
	/// Held from what is read of the list until what is written.
	changing: Mutex<()>,
}

impl<S: AuxStore + HeaderBackend<Block>, P: LocalTransactionPool<Block = Block>> Reports<S, P> {
	/// Keeps in `store` what is brought to `pool`.
	pub fn new(store: Arc<S>, pool: P) -> Self {
		Self { store, pool, changing: Mutex::new(()) }
	}

	/// Brings what is kept to the pool again, at the best block, and forgets what is not valid at the finalized one. `is_valid` is asked about a block and a
	/// report; a report is kept while that is not known.
	///
	/// # Errors
	/// What the storage says.
	pub fn again<E>(&self, is_valid: impl Fn(Hash, &Extrinsic) -> Result<bool, E>) -> sp_blockchain::Result<()> {
		let chain = self.store.info();
		let mut done = Vec::new();
		for Kept { since, report } in self.load()? {
			// Before, the finalized state may be too old to know the session.
			if chain.finalized_number >= since && matches!(is_valid(chain.finalized_hash, &report), Ok(false)) {
				done.push(report);
			} else if matches!(is_valid(chain.best_hash, &report), Ok(true)) {
				// It is in there already, or the next block brings it again.
				let _ = self.pool.submit_local(chain.best_hash, report);
			}
		}
		if !done.is_empty() {
			self.change(|kept| kept.retain(|it| !done.contains(&it.report)))?;
		}
		Ok(())
	}

	fn change(&self, change: impl FnOnce(&mut Vec<Kept>)) -> sp_blockchain::Result<()> {
		let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
		let mut kept = self.load()?;
		change(&mut kept);
		self.store.insert_aux(&[(KEY, kept.encode().as_slice())], &[])
	}

	/// Returns the reports that are kept. What cannot be read was not written here.
	fn load(&self) -> sp_blockchain::Result<Vec<Kept>> {
		let bytes = self.store.get_aux(KEY)?;
		Ok(bytes.and_then(|bytes| Vec::decode(&mut &bytes[..]).ok()).unwrap_or_default())
	}

	fn keep(&self, at: Hash, report: Extrinsic) -> sp_blockchain::Result<()> {
		let since = self.store.number(at)?.unwrap_or_else(|| self.store.info().best_number);
		self.change(|kept| {
			if kept.iter().any(|it| it.report == report) {
				return;
			}
			if kept.len() >= MAX_REPORTS {
				kept.remove(0);
			}
			kept.push(Kept { since, report });
		})
	}
}

impl<S: AuxStore + HeaderBackend<Block>, P: LocalTransactionPool<Block = Block>> LocalTransactionPool for Reports<S, P> {
	type Block = Block;
	type Hash = ();
	type Error = P::Error;

	/// Keeps the report unless the pool says that it is invalid: one without room for it, or of a node that does not author, may take it later.
	fn submit_local(&self, at: Hash, report: Extrinsic) -> Result<(), Self::Error> {
		use sc_transaction_pool_api::error::Error::{InvalidTransaction, UnknownTransaction};
		if let Err(error) = self.pool.submit_local(at, report.clone()) {
			match error.into_pool_error() {
				Ok(error @ (InvalidTransaction(_) | UnknownTransaction(_))) => return Err(error.into()),
				Ok(error) => tracing::debug!("A report of equivocation is kept though the pool does not take it now: {error}"),
				Err(error) => tracing::debug!("A report of equivocation is kept though the pool fails: {error}"),
			}
		}
		if let Err(error) = self.keep(at, report) {
			tracing::warn!("A report of equivocation is in the pool and nowhere else: {error}");
		}
		Ok(())
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_runtime::Header;
	use sc_client_api::{backend::NewBlockState, in_mem::Blockchain};
	use sc_transaction_pool_api::error::Error;
	use sp_runtime::{traits::Header as _, transaction_validity::InvalidTransaction, OpaqueExtrinsic};

	/// Extrinsics that were submitted to a pool, and its answer to them.
	#[derive(Clone, Default)]
	struct Pool(Arc<Mutex<Vec<Extrinsic>>>, Answer);

	#[derive(Clone, Copy, Default)]
	enum Answer {
		#[default]
		Taken,
		Unactionable,
		Invalid,
	}

	impl LocalTransactionPool for Pool {
		type Block = Block;
		type Hash = ();
		type Error = Error;
		fn submit_local(&self, _: Hash, report: Extrinsic) -> Result<(), Error> {
			self.0.lock().expect("nobody panics").push(report);
			match self.1 {
				Answer::Taken => Ok(()),
				Answer::Unactionable => Err(Error::Unactionable),
				Answer::Invalid => Err(Error::InvalidTransaction(InvalidTransaction::Stale)),
			}
		}
	}

	fn report(tag: u8) -> Extrinsic {
		OpaqueExtrinsic::from_blob(vec![4, tag])
	}

	/// A chain whose blocks are final up to 3, and whose best one is 5.
	fn chain() -> Arc<Blockchain<Block>> {
		let chain = Blockchain::new();
		(0..=3).for_each(|number| add(&chain, number, NewBlockState::Final));
		(4..=5).for_each(|number| add(&chain, number, NewBlockState::Best));
		Arc::new(chain)
	}

	fn block(number: BlockNumber) -> Header {
		let parent = number.checked_sub(1).map(|parent| block(parent).hash()).unwrap_or_default();
		Header::new(number, Hash::zero(), Hash::zero(), parent, Default::default())
	}

	fn add(chain: &Blockchain<Block>, number: BlockNumber, state: NewBlockState) {
		let header = block(number);
		chain.insert(header.hash(), header, None, None, state, true).expect("the next block");
	}

	fn submit(chain: &Arc<Blockchain<Block>>, pool: &Pool, tag: u8) -> bool {
		let kept = Reports::new(chain.clone(), pool.clone()).submit_local(block(5).hash(), report(tag)).is_ok();
		taken(pool);
		kept
	}

	/// Returns the extrinsics that are submitted to a fresh pool of a restarted node where reports are valid at the blocks of these heights alone.
	fn again(chain: &Arc<Blockchain<Block>>, valid: &[BlockNumber]) -> Vec<Extrinsic> {
		let (pool, valid) = (Pool::default(), valid.iter().map(|number| block(*number).hash()).collect::<Vec<_>>());
		Reports::new(chain.clone(), pool.clone()).again(|at, _| Ok::<_, ()>(valid.contains(&at))).expect("a store");
		taken(&pool)
	}

	fn taken(pool: &Pool) -> Vec<Extrinsic> {
		std::mem::take(&mut *pool.0.lock().expect("nobody panics"))
	}

	#[test]
	fn a_report_is_brought_again_after_a_restart_until_the_finalized_state_has_no_use_for_it() {
		let chain = chain();
		assert!(submit(&chain, &Pool::default(), 1));
		assert_eq!(again(&chain, &[5]), vec![report(1)]);
		assert_eq!(again(&chain, &[3, 5]), vec![report(1)], "as often as it takes");
		assert_eq!(again(&chain, &[]), vec![], "the best block has it, or knows the offence");
		add(&chain, 6, NewBlockState::Best);
		assert_eq!(again(&chain, &[6]), vec![report(1)], "that block is not of the best chain any more");
		add(&chain, 6, NewBlockState::Final);
		assert_eq!(again(&chain, &[]), vec![]);
		assert_eq!(again(&chain, &[6]), vec![], "forgotten");
	}

	#[test]
	fn a_report_of_what_the_finalized_state_does_not_know_yet_is_kept() {
		let chain = chain();
		assert!(submit(&chain, &Pool::default(), 1));
		add(&chain, 4, NewBlockState::Final);
		assert_eq!(again(&chain, &[]), vec![]);
		assert_eq!(chain.info().finalized_number, 4, "below the block at which it was reported");
		add(&chain, 6, NewBlockState::Best);
		assert_eq!(again(&chain, &[6]), vec![report(1)]);
	}

	#[test]
	fn a_report_is_kept_while_nobody_can_say_whether_it_is_valid() {
		let chain = chain();
		assert!(submit(&chain, &Pool::default(), 1));
		add(&chain, 6, NewBlockState::Final);
		let pool = Pool::default();
		Reports::new(chain.clone(), pool.clone()).again(|_, _| Err("no state")).expect("a store");
		assert_eq!(taken(&pool), vec![]);
		assert_eq!(again(&chain, &[6]), vec![report(1)]);
	}

	#[test]
	fn what_a_pool_has_no_use_for_is_kept_and_what_is_invalid_is_not() {
		let chain = chain();
		assert!(submit(&chain, &Pool(Arc::default(), Answer::Unactionable), 1), "a node that does not author");
		assert!(!submit(&chain, &Pool(Arc::default(), Answer::Invalid), 2));
		assert_eq!(again(&chain, &[5]), vec![report(1)]);
	}

	#[test]
	fn a_report_is_kept_once_and_the_oldest_of_too_many_makes_room() {
		let chain = chain();
		for tag in [0, 0].into_iter().chain(1..=128) {
			assert!(submit(&chain, &Pool::default(), tag));
		}
		assert_eq!(again(&chain, &[5]), (1..=128).map(report).collect::<Vec<_>>());
	}
}
