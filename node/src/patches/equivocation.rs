//! Notices two blocks of one author for one slot, and hands what proves it over to be reported.
//!
//! BABE's own block import looks for them too, but at headers that have lost their seals on the way, with which nothing can be proven: the
//! runtime does not take its reports. So this looks at whole headers: at every one that a peer announces, and at every one that is to be imported,
//! before it is. What becomes of the block afterwards does not matter: the seal alone proves who made it.

use super::slots::{look, set_reported, Sight};
use neuroshard_runtime::{opaque::Block, Hash, Header};
use sc_client_api::AuxStore;
use sc_consensus::{BlockCheckParams, BlockImport, BlockImportParams, ImportResult};
use sp_consensus::{
	block_validation::{BlockAnnounceValidator, DefaultBlockAnnounceValidator, Validation},
	BlockOrigin,
};
use sp_consensus_babe::{AuthorityId, EquivocationProof, Slot};
use sp_runtime::traits::Header as _;
use std::{
	future::Future,
	pin::Pin,
	sync::{Arc, Mutex, PoisonError},
	time::Duration,
};

/// An error of the chain or of the storage.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Requests to the chain.
pub trait Chain: Send + Sync + 'static {
	/// The slot that is running.
	fn now(&self) -> Slot;
	/// The best block.
	fn best(&self) -> Hash;
	/// Returns the authorities that can have the place `index` in a child of the block `parent`.
	fn authors(&self, parent: Hash, index: u32) -> Vec<AuthorityId>;
	/// Reports what is proven.
	///
	/// # Errors
	/// Why it could not be: it is tried again when the second block is seen again, after another best block.
	fn report(&self, proof: EquivocationProof<Header>) -> Result<(), Failure>;
}

/// Why a block of this node's own is not imported.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
	"this node's key has made another block for slot {0} already: the block is thrown away. If that happens again, another node runs with the \
	 same session keys: stop one of them"
)]
pub struct SecondOwnBlock(pub u64);

/// Compares the headers that a node sees. Clones share everything.
pub struct Watch<S, C>(Arc<Shared<S, C>>);

struct Shared<S, C> {
	store: Arc<S>,
	chain: C,
	/// Held from what is read of a slot until what is written.
	looking: Mutex<()>,
	/// Reports that failed since this block is the best one.
	failed: Mutex<Failed>,
	vain: Mutex<Vain>,
}

/// Most headers that peers announce in a slot and that are looked at in vain, from all peers together: each costs up to four signatures, so that these
/// are a tenth of a second of work in three. Behind them, headers are looked at when they are imported, whose number the SDK bounds. [`PAUSE`] keeps the
/// fifty peers that a node has below that, so that it takes more of them to hide an equivocation that is only announced.
const MAX_VAIN: u32 = 600;

/// Time for which the announcement of a header that was looked at in vain waits before it goes on. The SDK validates four announcements of a peer at a
/// time, and does not take more from it: so a peer has four of these in a second. That of a block of an honest peer waits if this node is too far behind
/// to know its author, and fetches other blocks meanwhile.
const PAUSE: Duration = Duration::from_secs(1);

/// Headers of a slot that peers announced and that were looked at in vain: nobody who may have made them has, or their author was reported before.
#[derive(Default)]
struct Vain {
	slot: Slot,
	headers: u32,
}

impl Vain {
	/// Returns whether there may be another one at `now`.
	fn allows(&mut self, now: Slot) -> bool {
		if self.slot != now {
			*self = Self { slot: now, headers: 0 };
		}
		self.headers < MAX_VAIN
	}
}

/// Most reports that fail after a best block; more are not tried until the next one.
const MAX_FAILED: usize = 16;

/// Slots and authors that could not be reported at a best block: whoever sends the headers again causes no more work before the next one.
#[derive(Default)]
struct Failed {
	best: Hash,
	reports: Vec<(Slot, AuthorityId)>,
}

impl Failed {
	/// Returns whether `report` is to be tried at `best`.
	fn allows(&mut self, best: Hash, report: &(Slot, AuthorityId)) -> bool {
		if self.best != best {
			*self = Self { best, reports: Vec::new() };
		}
		self.reports.len() < MAX_FAILED && !self.reports.contains(report)
	}
}

impl<S, C> Clone for Watch<S, C> {
	fn clone(&self) -> Self {
		Self(self.0.clone())
	}
}

impl<S: AuxStore + Send + Sync + 'static, C: Chain> Watch<S, C> {
	/// Remembers headers in `store`.
	pub fn new(store: Arc<S>, chain: C) -> Self {
		Self(Arc::new(Shared { store, chain, looking: Mutex::new(()), failed: Mutex::default(), vain: Mutex::default() }))
	}

	/// Looks at a whole header that somebody else made, a child of `parent` or of whatever has the same authorities, and reports its author if it made
	/// another one for the same slot. Says whether that was in vain. A failure is logged, and keeps nobody from importing the block.
	pub fn look_at(&self, header: &Header, parent: Hash) -> bool {
		self.try_look_at(header, parent).unwrap_or_else(|error| {
			tracing::warn!("Block {} is not compared with others of its slot: {error}", header.hash());
			true
		})
	}

	/// Looks at a header that a peer has announced, unless too many were looked at in vain. Its parent may be unknown, so this asks the best block about its
	/// author. Says whether that was in vain.
	pub fn look_at_announced(&self, header: &Header) -> bool {
		let Shared { chain, vain, .. } = &*self.0;
		let vain = || vain.lock().unwrap_or_else(PoisonError::into_inner);
		if !vain().allows(chain.now()) {
			return false;
		}
		let in_vain = self.look_at(header, chain.best());
		if in_vain {
			vain().headers += 1;
		}
		in_vain
	}

	fn try_look_at(&self, header: &Header, parent: Hash) -> Result<bool, Failure> {
		let Shared { store, chain, looking, failed, .. } = &*self.0;
		let look = || {
			let _looking = looking.lock().unwrap_or_else(PoisonError::into_inner);
			look(&**store, chain.now(), header, |index| chain.authors(parent, index))
		};
		let proof = match look()? {
			Sight::Second { proof, reported: false } => proof,
			Sight::Second { .. } | Sight::Unsealed => return Ok(true),
			Sight::Ignored | Sight::First | Sight::Again => return Ok(false),
		};
		// This node's own blocks do not wait for what follows.
		let (slot, offender) = (proof.slot, proof.offender.clone());
		let (best, report) = (chain.best(), (slot, offender.clone()));
		if !failed.lock().unwrap_or_else(PoisonError::into_inner).allows(best, &report) {
			return Ok(true);
		}
		if let Err(error) = chain.report(*proof) {
			failed.lock().unwrap_or_else(PoisonError::into_inner).reports.push(report);
			return Err(error);
		}
		let _looking = looking.lock().unwrap_or_else(PoisonError::into_inner);
		set_reported(&**store, slot, &offender)?;
		tracing::info!("{offender} made two blocks for slot {slot}; reported");
		Ok(false)
	}

	/// Looks at a header of this node's own, before anybody else has seen it.
	fn look_at_own(&self, header: &Header) -> Result<(), SecondOwnBlock> {
		let Shared { store, chain, looking, .. } = &*self.0;
		let _looking = looking.lock().unwrap_or_else(PoisonError::into_inner);
		match look(&**store, chain.now(), header, |index| chain.authors(*header.parent_hash(), index)) {
			Ok(Sight::Second { proof, .. }) => Err(SecondOwnBlock(*proof.slot)),
			Ok(_) => Ok(()),
			Err(error) => {
				tracing::warn!("This node's block {} is not compared with others of its slot: {error}", header.hash());
				Ok(())
			}
		}
	}
}

/// A block import that looks at blocks before it passes them on to `inner`.
pub struct Equivocations<I, S, C> {
	inner: I,
	watch: Watch<S, C>,
}

impl<I: Clone, S, C> Clone for Equivocations<I, S, C> {
	fn clone(&self) -> Self {
		Self { inner: self.inner.clone(), watch: self.watch.clone() }
	}
}

impl<I, S, C> Equivocations<I, S, C> {
	/// Wraps `inner`, whatever imports blocks.
	pub fn new(inner: I, watch: Watch<S, C>) -> Self {
		Self { inner, watch }
	}
}

#[async_trait::async_trait]
impl<I, S, C> BlockImport<Block> for Equivocations<I, S, C>
where
	I: BlockImport<Block, Error = sp_consensus::Error> + Send + Sync,
	S: AuxStore + Send + Sync + 'static,
	C: Chain,
{
	type Error = sp_consensus::Error;

	async fn check_block(&self, block: BlockCheckParams<Block>) -> Result<ImportResult, Self::Error> {
		self.inner.check_block(block).await
	}

	/// A block of this node's own that is a second one of its slot, after a restart or since its keys are used elsewhere, is refused.
	async fn import_block(&self, block: BlockImportParams<Block>) -> Result<ImportResult, Self::Error> {
		// One that comes with its state stands for a chain that this node does not know.
		if !block.with_state() {
			let header = block.post_header();
			match block.origin {
				BlockOrigin::Own => self.watch.look_at_own(&header).map_err(|error| sp_consensus::Error::Other(Box::new(error)))?,
				_ => {
					self.watch.look_at(&header, *header.parent_hash());
				}
			}
		}
		self.inner.import_block(block).await
	}
}

/// Looks at the headers that peers announce, those too that are never imported: nothing below the finalized block is even fetched. `P` makes what waits so
/// long.
pub struct Announcements<S, C, P> {
	watch: Watch<S, C>,
	pause: P,
}

impl<S, C, P> Announcements<S, C, P> {
	/// Shows headers to `watch`, and waits by `pause`.
	pub fn new(watch: Watch<S, C>, pause: P) -> Self {
		Self { watch, pause }
	}
}

impl<S, C, P, W> BlockAnnounceValidator<Block> for Announcements<S, C, P>
where
	S: AuxStore + Send + Sync + 'static,
	C: Chain,
	P: Fn(Duration) -> W,
	W: Future<Output = ()> + Send + 'static,
{
	fn validate(
		&mut self,
		header: &Header,
		data: &[u8],
	) -> Pin<Box<dyn Future<Output = Result<Validation, Box<dyn std::error::Error + Send>>> + Send>> {
		let in_vain = self.watch.look_at_announced(header);
		let validated = BlockAnnounceValidator::<Block>::validate(&mut DefaultBlockAnnounceValidator, header, data);
		if !in_vain {
			return validated;
		}
		let pause = (self.pause)(PAUSE);
		Box::pin(async move {
			pause.await;
			validated.await
		})
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::patches::slots::{
		tests::{author, header, SLOT},
		REMEMBERED,
	};
	use futures::{
		executor::block_on,
		future::{pending, ready},
		FutureExt,
	};
	use sc_client_api::in_mem::Blockchain;
	use sp_consensus_babe::check_equivocation_proof;
	use sp_core::Pair;

	/// A chain of the author number 1, the slots for which it was reported, and how often it was asked about authors.
	#[derive(Clone, Default)]
	struct Chain(Arc<Mutex<Vec<u64>>>, bool, Arc<Mutex<Hash>>, Arc<Mutex<u32>>, Arc<Mutex<u64>>);

	impl super::Chain for Chain {
		fn now(&self) -> Slot {
			(SLOT + 3 + *self.4.lock().expect("nobody panics")).into()
		}
		fn best(&self) -> Hash {
			*self.2.lock().expect("nobody panics")
		}
		fn authors(&self, _: Hash, _: u32) -> Vec<AuthorityId> {
			*self.3.lock().expect("nobody panics") += 1;
			vec![author(1).public()]
		}
		fn report(&self, proof: EquivocationProof<Header>) -> Result<(), Failure> {
			let slot = *proof.slot;
			assert!(check_equivocation_proof(proof));
			self.0.lock().expect("nobody panics").push(slot);
			if self.1 {
				return Err("no state".into());
			}
			Ok(())
		}
	}

	/// Imports no block, as if all of them were below the finalized one, and counts them.
	#[derive(Clone, Default)]
	struct Refuses(Arc<Mutex<u32>>);

	#[async_trait::async_trait]
	impl BlockImport<Block> for Refuses {
		type Error = sp_consensus::Error;
		async fn check_block(&self, _: BlockCheckParams<Block>) -> Result<ImportResult, Self::Error> {
			Ok(ImportResult::KnownBad)
		}
		async fn import_block(&self, _: BlockImportParams<Block>) -> Result<ImportResult, Self::Error> {
			*self.0.lock().expect("nobody panics") += 1;
			Err(sp_consensus::Error::ClientImport("not in the finalized chain".into()))
		}
	}

	struct Node {
		chain: Chain,
		inner: Refuses,
		store: Arc<Blockchain<Block>>,
		watch: Watch<Blockchain<Block>, Chain>,
	}

	impl Node {
		fn new() -> Self {
			Self::with(Chain::default(), Arc::new(Blockchain::new()))
		}

		fn with(chain: Chain, store: Arc<Blockchain<Block>>) -> Self {
			Self { inner: Refuses::default(), watch: Watch::new(store.clone(), chain.clone()), chain, store }
		}

		/// Imports a block of the author number 1, and returns why it was refused.
		fn import(&self, origin: BlockOrigin, slot: u64, state: u8) -> String {
			let import = Equivocations::new(self.inner.clone(), self.watch.clone());
			let mut header = header(&author(1), slot, state);
			let seal = header.digest_mut().pop().expect("a seal");
			let mut block = BlockImportParams::new(origin, header);
			block.post_digests.push(seal);
			block_on(import.import_block(block)).expect_err("a refused block").to_string()
		}

		fn announce(&self, header: &Header) -> Validation {
			block_on(Announcements::new(self.watch.clone(), |_| ready(())).validate(header, &[])).expect("an answer")
		}

		/// Returns whether the announcement of a header goes on at once.
		fn goes_on(&self, header: &Header) -> bool {
			let mut announcements = Announcements::new(self.watch.clone(), |time| {
				assert_eq!(time, Duration::from_secs(1));
				pending()
			});
			announcements.validate(header, &[]).now_or_never().is_some()
		}

		fn reported(&self) -> Vec<u64> {
			self.chain.0.lock().expect("nobody panics").clone()
		}

		fn passed_on(&self) -> u32 {
			*self.inner.0.lock().expect("nobody panics")
		}
	}

	#[test]
	fn a_second_block_is_reported_once_though_its_import_fails() {
		let node = Node::new();
		node.import(BlockOrigin::NetworkBroadcast, SLOT, 1);
		assert_eq!(node.reported(), Vec::<u64>::new());
		for state in [2, 2, 3] {
			node.import(BlockOrigin::NetworkBroadcast, SLOT, state);
		}
		assert_eq!((node.reported(), node.passed_on()), (vec![SLOT], 4));
	}

	#[test]
	fn blocks_of_the_last_thousand_slots_are_compared_while_a_node_catches_up() {
		let node = Node::new();
		let recent = SLOT + 3 - REMEMBERED;
		for (slot, state) in [(recent, 1), (recent, 2), (recent - 1, 1), (recent - 1, 2)] {
			node.import(BlockOrigin::NetworkInitialSync, slot, state);
		}
		assert_eq!((node.reported(), node.passed_on()), (vec![recent], 4));
	}

	#[test]
	fn a_second_block_is_reported_when_it_is_only_announced() {
		let node = Node::new();
		node.import(BlockOrigin::NetworkBroadcast, SLOT, 1);
		assert_eq!(node.announce(&header(&author(1), SLOT, 2)), Validation::Success { is_new_best: false });
		assert_eq!(node.reported(), vec![SLOT]);
		for state in [1, 2] {
			node.announce(&header(&author(1), SLOT + 1, state));
		}
		assert_eq!(node.reported(), vec![SLOT, SLOT + 1], "two that were announced and nothing else");
	}

	#[test]
	fn what_somebody_else_has_sealed_is_not_reported() {
		let node = Node::new();
		node.import(BlockOrigin::NetworkBroadcast, SLOT, 1);
		node.announce(&header(&author(2), SLOT, 2));
		assert_eq!(node.reported(), Vec::<u64>::new());
	}

	#[test]
	fn a_report_that_fails_is_made_again_when_the_block_is_seen_again_after_another_best_block() {
		let node = Node::with(Chain { 1: true, ..Chain::default() }, Arc::new(Blockchain::new()));
		for state in [1, 2, 2, 3] {
			node.import(BlockOrigin::NetworkBroadcast, SLOT, state);
		}
		assert_eq!((node.reported(), node.passed_on()), (vec![SLOT], 4));
		*node.chain.2.lock().expect("nobody panics") = Hash::repeat_byte(1);
		node.import(BlockOrigin::NetworkBroadcast, SLOT, 2);
		assert_eq!(node.reported(), vec![SLOT, SLOT]);
	}

	#[test]
	fn no_more_than_sixteen_reports_fail_at_a_best_block() {
		let node = Node::with(Chain { 1: true, ..Chain::default() }, Arc::new(Blockchain::new()));
		for slot in SLOT - 20..SLOT {
			for state in [1, 2] {
				node.announce(&header(&author(1), slot, state));
			}
		}
		assert_eq!(node.reported(), (SLOT - 20..SLOT - 4).collect::<Vec<_>>());
	}

	#[test]
	fn only_what_was_looked_at_in_vain_waits() {
		let node = Node::new();
		let first = header(&author(1), SLOT, 1);
		assert!(node.goes_on(&first), "the first one");
		assert!(node.goes_on(&first), "again");
		assert!(node.goes_on(&header(&author(1), SLOT, 2)), "a second one, which is reported");
		assert!(!node.goes_on(&header(&author(1), SLOT, 3)), "of somebody who was reported");
		assert!(!node.goes_on(&header(&author(2), SLOT, 4)), "of nobody who may have made it");
		assert!(node.goes_on(&header(&author(2), SLOT + 9, 4)), "of a slot that is not compared");
	}

	#[test]
	fn no_more_than_six_hundred_headers_are_looked_at_in_vain_in_a_slot_and_imported_ones_always() {
		let node = Node::new();
		let forged = |state: u32| {
			let mut header = header(&author(2), SLOT, 1);
			header.set_extrinsics_root(Hash::from_low_u64_be(state.into()));
			header
		};
		let asked = || *node.chain.3.lock().expect("nobody panics");
		for state in 0..700 {
			node.announce(&forged(state));
		}
		assert_eq!(asked(), 600);
		assert!(node.goes_on(&forged(700)), "the rest waits for nothing");
		node.import(BlockOrigin::NetworkBroadcast, SLOT, 1);
		assert_eq!(asked(), 601);
		*node.chain.4.lock().expect("nobody panics") += 1;
		node.announce(&forged(701));
		assert_eq!(asked(), 602, "the next slot has others");
	}

	#[test]
	fn a_node_imports_one_block_of_its_own_for_a_slot_also_after_a_restart() {
		let node = Node::new();
		node.import(BlockOrigin::Own, SLOT, 1);
		assert_eq!(node.passed_on(), 1);
		let restarted = Node::with(node.chain.clone(), node.store.clone());
		assert_eq!(restarted.import(BlockOrigin::Own, SLOT, 2), SecondOwnBlock(SLOT).to_string());
		assert_eq!(restarted.passed_on(), 0, "nobody is ever shown it");
		restarted.import(BlockOrigin::Own, SLOT + 1, 2);
		assert_eq!((restarted.passed_on(), restarted.reported()), (1, Vec::new()));
	}

	#[test]
	fn a_node_does_not_follow_a_block_of_its_key_from_elsewhere_by_one_of_its_own() {
		let node = Node::new();
		node.announce(&header(&author(1), SLOT, 1));
		assert_eq!(node.import(BlockOrigin::Own, SLOT, 2), SecondOwnBlock(SLOT).to_string());
		assert_eq!((node.passed_on(), node.reported()), (0, Vec::new()));
	}
}
