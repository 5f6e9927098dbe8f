//! One extrinsic on its way: signed, handed to the pool, looked for in blocks, and signed anew when its time is over.

use crate::{
	attempts::{Attempts, Expiry, Stuck, MORTALITY},
	call::Call,
	client::{BlockId, ChainAt, ChainClient, Heads},
	error::{ChainError, Neuro},
	explain::{self, Refusal},
	keys::Account,
	submit::{Event, Included},
};
use neuroshard_types::{AccountId, Balance, BlockNumber, H256};
use std::{
	collections::HashSet,
	sync::atomic::{AtomicU64, Ordering},
	time::Duration,
};
use subxt::{error::DispatchError, events::Phase};

/// The birth block is the finalized one, but at most this far behind the best one, so that validity remains while finality lags.
const BIRTH_LAG: BlockNumber = 16;
/// Pause between two looks at the chain.
const LOOK_INTERVAL: Duration = Duration::from_millis(300);

/// Priority of an extrinsic among those of its account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rank {
	/// It takes the account's next nonce on chain from whatever the pool has for it. Moves drive others out of the pool; what cannot be driven
	/// out is waited for, and followed in the very next block.
	Urgent,
	/// The same, but it stands aside for urgent ones.
	Timely,
	/// The same, but it stands aside for both.
	Prompt,
	/// It comes after what the pool has of this account, and stands aside for all others.
	Ordinary,
}

/// The extrinsics of one account.
pub(super) struct Lane {
	client: ChainClient,
	account: Account,
	/// Whom it acts for, if that is not itself.
	owner: Option<AccountId>,
	/// The nonce after that of the last extrinsic with a deadline that got into a block.
	passed: AtomicU64,
}

/// A signed extrinsic, its nonce, and the block that its validity begins with.
struct Signed {
	bytes: Vec<u8>,
	nonce: u64,
	birth: BlockId,
}

impl Lane {
	pub(super) fn new(client: ChainClient, account: Account, owner: Option<AccountId>) -> Self {
		Self { client, account, owner, passed: AtomicU64::new(0) }
	}

	/// Sends `call` and waits until it is in a block. One with a deadline offers tips where it gets into none, but leaves `keep` planck free.
	///
	/// # Errors
	/// Those of [`super::Submitter::submit`].
	pub(super) async fn deliver(&self, call: &Call, expiry: Expiry, rank: Rank, keep: Balance) -> Result<Included, ChainError> {
		let mut attempts = Attempts::new(expiry);
		let mut stuck = Stuck::default();
		let mut versions = Versions::default();
		loop {
			let signed = patiently(|| self.sign(call, rank, expiry, (stuck.tip, keep), versions.last_nonce())).await?;
			versions.add(&signed);
			let followed = match self.follow(call, &signed, &mut versions, rank, expiry, &stuck).await {
				// The fee may still be there.
				Err(ChainError::Unfunded { .. }) if stuck.tip > 0 => {
					stuck.tip = 0;
					continue;
				}
				followed => followed?,
			};
			match followed {
				Followed::Included(included) => return Ok(included),
				Followed::Expired => attempts.expired(call)?,
				Followed::Late(deadline) => return Err(ChainError::Late { call: call.describe(), deadline }),
				Followed::Outdated { reason, sent, .. } if rank == Rank::Ordinary => attempts.outdated(call, reason, sent)?,
				// Before one with a deadline is handed over anew, the blocks are looked at for all its versions.
				Followed::Outdated { reason, blocks, .. } => {
					self.waited(call, blocks, &mut attempts, &mut stuck).await?;
					attempts.outdated(call, reason, false)?;
				}
				// It would have the same place again.
				Followed::Waited { .. } if matches!(expiry, Expiry::AsOf(_)) => {
					attempts.outdated(call, "another extrinsic of this account has its place".into(), false)?;
				}
				// That others of this account come first is no fault of the call's, but one with a deadline waits all the same.
				Followed::Waited { .. } if rank == Rank::Ordinary => {}
				Followed::Waited { blocks } => self.waited(call, blocks, &mut attempts, &mut stuck).await?,
			}
			if rank == Rank::Ordinary {
				versions = Versions::default();
			}
		}
	}

	/// After so many more blocks have not taken one with a deadline: offers more, or says that it took too long.
	async fn waited(&self, call: &Call, blocks: BlockNumber, attempts: &mut Attempts, stuck: &mut Stuck) -> Result<(), ChainError> {
		stuck.passed_by(blocks);
		if blocks > 0 {
			attempts.renew();
		}
		if stuck.is_too_long() {
			attempts.expired(call)?;
		}
		if stuck.is_due(0) {
			match patiently(|| self.client.is_syncing()).await? {
				// Blocks of a node that catches up come fast, and none of them could have had it.
				true => stuck.forgive(),
				false => stuck.raise(),
			}
		}
		Ok(())
	}

	/// Signs with a tip, of which an account that has too little free beside what it must keep offers less. What was signed `before` with a lower nonce may be
	/// in a block of another branch: what is signed now is valid on this branch alone.
	async fn sign(
		&self,
		call: &Call,
		rank: Rank,
		expiry: Expiry,
		(tip, keep): (Balance, Balance),
		before: Option<u64>,
	) -> Result<Signed, ChainError> {
		let (client, who) = (&self.client, self.account.id());
		if let Expiry::AsOf(birth) = expiry {
			let at = client.at(birth).await?;
			self.check_service(&at).await?;
			let nonce = at.nonce(&who).await?;
			return Ok(Signed { bytes: at.sign(&self.account, call, nonce, 0, Some((birth, MORTALITY)))?, nonce, birth });
		}
		let heads = client.heads().await?;
		let at = client.at(heads.best).await?;
		self.check_service(&at).await?;
		let nonce = match rank {
			Rank::Ordinary => client.next_nonce(&who).await?,
			Rank::Urgent | Rank::Timely | Rank::Prompt => at.nonce(&who).await?,
		};
		let birth = match birth_height(&heads) {
			_ if before.is_some_and(|before| before < nonce) => heads.best,
			height if height == heads.finalized.number => heads.finalized,
			height => client.block_at(height).await?,
		};
		let tip = match tip {
			0 => 0,
			tip => tip.min(at.funds(&who).await?.free.saturating_sub(keep) / 10),
		};
		if tip > 0 {
			tracing::info!("blocks have not taken {}: it offers a tip of {} now", call.describe(), Neuro(tip));
		}
		let bytes = at.sign(&self.account, call, nonce, tip, Some((birth, MORTALITY)))?;
		Ok(Signed { bytes, nonce, birth })
	}

	/// Refuses to sign for an owner that this account is not the operator of any more: it would act for itself.
	async fn check_service(&self, at: &ChainAt) -> Result<(), ChainError> {
		match &self.owner {
			Some(owner) if at.owner_of(&self.account.id()).await?.as_ref() != Some(owner) => {
				Err(ChainError::Dismissed { operator: self.account.address(), owner: owner.to_string() })
			}
			_ => Ok(()),
		}
	}

	async fn follow(
		&self,
		call: &Call,
		signed: &Signed,
		versions: &mut Versions,
		rank: Rank,
		expiry: Expiry,
		stuck: &Stuck,
	) -> Result<Followed, ChainError> {
		let (client, who) = (&self.client, self.account.id());
		let mut due = Due::default();
		// The best blocks when it was handed over first, and when the pool may have taken it first.
		let (mut offered, mut taken) = (None, None);
		let mut outdated = 0;
		loop {
			// What is in a block by now is in the blocks that are looked at next.
			let passed = rank != Rank::Urgent && self.passed.load(Ordering::Relaxed) > signed.nonce;
			let heads = patiently(|| client.heads()).await?;
			// The blocks come first: an extrinsic that is in one is refused by the pool as outdated.
			let walk = patiently(|| find(client, heads.best.hash, versions)).await?;
			versions.seen.extend(walk.looked_at);
			if let Some((block, index, nonce)) = walk.found {
				if rank != Rank::Ordinary {
					self.passed.fetch_max(nonce.saturating_add(1), Ordering::Relaxed);
				}
				return patiently(|| outcome(client, call, block, index)).await.map(Followed::Included);
			}
			let blocks = offered.map_or(0, |first| heads.best.number.saturating_sub(first));
			// The block that had the other one may be on a branch that was given up since.
			if passed && patiently(|| async { client.at(heads.best).await?.nonce(&who).await }).await? > signed.nonce {
				return Ok(Followed::Waited { blocks });
			}
			if let Some(deadline) = expiry.missed(heads.best.number) {
				return Ok(Followed::Late(deadline));
			}
			if is_over(signed.birth.number, heads.best.number) {
				return Ok(Followed::Expired);
			}
			if rank != Rank::Ordinary && blocks > 0 && stuck.is_due(blocks) {
				return Ok(Followed::Waited { blocks });
			}
			if due.is_now(heads.best.number) {
				let sent = taken.is_some();
				offered.get_or_insert(heads.best.number);
				// Behind one that the pool has dropped, it would be in none of the next blocks.
				if sent && patiently(|| client.next_nonce(&who)).await? < signed.nonce {
					let reason = "an extrinsic that this account sent before it is gone".into();
					return Ok(Followed::Outdated { reason, sent, blocks });
				}
				let answer = client.submit(&signed.bytes).await;
				if may_have_it(&answer) {
					taken.get_or_insert(heads.best.number);
				}
				if answer.as_ref().is_err_and(ChainError::passes) {
					// Before it is handed over again, the blocks are looked at: they may have it.
					tokio::time::sleep(LOOK_INTERVAL).await;
					continue;
				}
				match answer? {
					Ok(()) | Err(Refusal::Known) => {}
					Err(Refusal::Occupied(reason)) if rank != Rank::Ordinary || matches!(expiry, Expiry::AsOf(_)) => {
						tracing::debug!("{} waits: {reason}", call.describe());
					}
					Err(Refusal::Outdated | Refusal::Occupied(_) | Refusal::Banned(_)) if !overtaken(sent, &mut outdated) => {}
					Err(Refusal::Outdated | Refusal::Occupied(_)) => {
						tokio::time::sleep(LOOK_INTERVAL).await;
						let reason = "another extrinsic of this account was faster; is the account used elsewhere, too?".into();
						return Ok(Followed::Outdated { reason, sent, blocks });
					}
					// After a reorganisation that can be what is valid now, but also what the next block has. Other bytes for the same nonce are
					// taken.
					Err(Refusal::Banned(reason)) => {
						tokio::time::sleep(LOOK_INTERVAL).await;
						return Ok(Followed::Outdated { reason, sent, blocks });
					}
					Err(Refusal::Unfunded) => return Err(unfunded(client, &self.account).await),
					Err(Refusal::Later(reason)) => tracing::debug!("{} waits: {reason}", call.describe()),
					Err(Refusal::Never(reason)) => return Err(ChainError::Pool { call: call.describe(), reason }),
				}
				due.rest(heads.best.number);
			}
			tokio::time::sleep(LOOK_INTERVAL).await;
		}
	}
}

/// The block in which an extrinsic is handed to the pool (again): after each one without it. A restarted node has lost its pool, and one that has changed to
/// another branch drops what was not valid there, which may be valid in the next block.
#[derive(Default, Debug)]
struct Due(Option<BlockNumber>);

impl Due {
	/// Returns whether it is to be handed over when the best block is `best`; true if it never was.
	fn is_now(&self, best: BlockNumber) -> bool {
		self.0.is_none_or(|block| best >= block)
	}

	fn rest(&mut self, best: BlockNumber) {
		self.0 = Some(best.saturating_add(1));
	}
}

/// Height of the block that an extrinsic's validity begins with: the finalized one, which no reorganisation takes away, unless that is so
/// far behind that little of the validity would remain.
fn birth_height(heads: &Heads) -> BlockNumber {
	heads.finalized.number.max(heads.best.number.saturating_sub(BIRTH_LAG))
}

/// Returns whether no block after `best` can have an extrinsic born in `birth`.
fn is_over(birth: BlockNumber, best: BlockNumber) -> bool {
	best > birth.saturating_add(MORTALITY)
}

enum Followed {
	Included(Included),
	/// Its time is over, and it is in no block.
	Expired,
	/// No block before this one can have it any more.
	Late(BlockNumber),
	/// The pool wants another nonce or birth block; whether it had taken the extrinsic before, and blocks that have not.
	Outdated {
		reason: String,
		sent: bool,
		blocks: BlockNumber,
	},
	/// One with a deadline that none of so many blocks has taken, or in whose place one of a higher rank got into the last of them.
	Waited {
		blocks: BlockNumber,
	},
}

/// One extrinsic as it was signed so far: any of these may be in a block.
#[derive(Default)]
struct Versions {
	/// Bytes and nonces.
	signed: Vec<(Vec<u8>, u64)>,
	/// Height of the earliest block that the validity of any of them begins with.
	birth: Option<BlockNumber>,
	/// Blocks that have none of them. What is signed later is in none of these either.
	seen: HashSet<H256>,
}

impl Versions {
	fn add(&mut self, signed: &Signed) {
		let birth = signed.birth.number;
		self.birth = Some(self.birth.map_or(birth, |earliest| earliest.min(birth)));
		self.signed.push((signed.bytes.clone(), signed.nonce));
	}

	/// Nonce of the last one.
	fn last_nonce(&self) -> Option<u64> {
		self.signed.last().map(|(_, nonce)| *nonce)
	}
}

/// Returns whether the pool may have what was handed over. An answer that was lost on its way may have been yes.
fn may_have_it(answer: &Result<Result<(), Refusal>, ChainError>) -> bool {
	matches!(answer, Ok(Ok(()) | Err(Refusal::Known)) | Err(ChainError::NodeAway { .. }))
}

/// Returns whether the pool's answer "outdated", or that it has put the extrinsic aside, means that no block gets the extrinsic. One that the pool had
/// before and is in no block that was looked at may be in the very next one; the second time, some blocks later, it would have been found there.
fn overtaken(sent_before: bool, outdated: &mut u32) -> bool {
	*outdated = outdated.saturating_add(1);
	!sent_before || *outdated > 1
}

/// Result of a walk back from the best block, and the blocks it looked at.
struct Walk {
	/// Block, place in it, and nonce.
	found: Option<(BlockId, u32, u64)>,
	looked_at: Vec<H256>,
}

/// Looks for the first version of the extrinsic that is in a block, from `head` back to the birth block of the first one, skipping what was looked at before.
async fn find(client: &ChainClient, head: H256, versions: &Versions) -> Result<Walk, ChainError> {
	let mut walk = Walk { found: None, looked_at: Vec::new() };
	let mut hash = head;
	while !versions.seen.contains(&hash) {
		let (number, parent) = client.header(hash).await?;
		if versions.birth.is_none_or(|birth| number <= birth) {
			break;
		}
		let body = client.body(hash).await?;
		let found = (0u32..).zip(&body).find_map(|(index, extrinsic)| {
			let (_, nonce) = versions.signed.iter().find(|(bytes, _)| bytes == extrinsic)?;
			Some((BlockId { number, hash }, index, *nonce))
		});
		// The earliest one is what did it.
		walk.found = found.or(walk.found);
		walk.looked_at.push(hash);
		hash = parent;
	}
	Ok(walk)
}

/// Events of extrinsic `index`, unless it failed.
async fn outcome(client: &ChainClient, call: &Call, block: BlockId, index: u32) -> Result<Included, ChainError> {
	let at = client.at(block).await?;
	let bad = |error: subxt::error::EventsError| client.rpc_error("the events of a block", error);
	let all = at.at.events().fetch().await.map_err(bad)?;
	let mut events = Vec::new();
	for event in all.iter() {
		let event = event.map_err(bad)?;
		if event.phase() != Phase::ApplyExtrinsic(index) {
			continue;
		}
		let failed = match (event.pallet_name(), event.event_name()) {
			("System", "ExtrinsicFailed") => Some(event.field_bytes()),
			// The outer call succeeds whatever becomes of the inner one: `Result<(), DispatchError>`.
			("Sudo", "Sudid") => event.field_bytes().split_first().filter(|(tag, _)| **tag == 1).map(|(_, error)| error),
			_ => None,
		};
		if let Some(bytes) = failed {
			let undecodable = |error: subxt::error::DispatchErrorDecodeError| ChainError::BadAnswer {
				what: format!("the failure of {}", call.describe()),
				reason: error.to_string(),
			};
			let error = DispatchError::decode_from(bytes, at.at.metadata()).map_err(undecodable)?;
			return Err(explain::failure(&call.describe(), &error));
		}
		events.push(Event {
			pallet: event.pallet_name().to_owned(),
			name: event.event_name().to_owned(),
			fields: event.field_bytes().to_vec(),
		});
	}
	Ok(Included { block, events })
}

async fn unfunded(client: &ChainClient, account: &Account) -> ChainError {
	let funds = async { client.now().await?.funds(&account.id()).await };
	let free = funds.await.map(|funds| funds.free).unwrap_or_default();
	ChainError::Unfunded { address: account.address(), free: Neuro(free) }
}

/// Repeats what fails because the node is away, or answers no more calls for now.
async fn patiently<T, F: std::future::Future<Output = Result<T, ChainError>>>(mut ask: impl FnMut() -> F) -> Result<T, ChainError> {
	loop {
		match ask().await {
			Err(error) if error.passes() => tokio::time::sleep(LOOK_INTERVAL).await,
			done => return done,
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn an_extrinsic_is_given_up_when_another_one_has_its_nonce() {
		assert!(overtaken(false, &mut 0), "it was never sent: the nonce is somebody else's");
		let mut outdated = 0;
		assert!(!overtaken(true, &mut outdated), "it may be in the block that is being made");
		assert!(overtaken(true, &mut outdated));
	}

	#[test]
	fn what_was_handed_over_to_a_node_that_did_not_answer_may_be_in_its_pool() {
		let away = ChainError::NodeAway { url: String::new(), reason: String::new() };
		assert!(may_have_it(&Err(away)) && may_have_it(&Ok(Ok(()))) && may_have_it(&Ok(Err(Refusal::Known))));
		assert!(!may_have_it(&Ok(Err(Refusal::Outdated))) && !may_have_it(&Ok(Err(Refusal::Later(String::new())))));
		let refused = ChainError::Rpc { what: String::new(), reason: String::new() };
		assert!(!may_have_it(&Err(refused)));
	}

	#[test]
	fn validity_begins_with_the_finalized_block_unless_finality_lags() {
		let at = |number| BlockId { number, ..Default::default() };
		let heads = |best, finalized| Heads { best: at(best), finalized: at(finalized) };
		assert_eq!(birth_height(&heads(100, 97)), 97);
		assert_eq!(birth_height(&heads(100, 20)), 84);
		assert_eq!(birth_height(&heads(3, 0)), 0);
	}

	#[test]
	fn an_extrinsic_is_over_when_no_later_block_may_hold_it_and_is_sent_again_until_then() {
		// Valid in blocks 100 to 163: the block after 163 is the first that refuses it; one more is waited for.
		assert!(!is_over(100, 164) && is_over(100, 165));
		let mut due = Due::default();
		assert!(due.is_now(100));
		due.rest(100);
		assert!(!due.is_now(100) && due.is_now(101));
	}
}
