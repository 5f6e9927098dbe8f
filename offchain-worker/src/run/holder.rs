//! The holder: attests the dataset in the operator's folder if it is asked to, and opens the chunks that challengers ask this account for.
//!
//! It is an actor beside the worker's tasks, since an answer has a deadline. It knows nothing that the chain does not say, so that a restart
//! changes nothing.

use super::{content::blocking, told::Told, wait::wait, WorkerError, LEAVE_FILE};
use crate::{
	chain::{holdings, Call, ChainAt, ChainClient, ChainError, Heads, Submitter},
	data::{dataset::verify_against, manifest::DatasetManifest},
	verify::library::Shards,
};
use neuroshard_graph::witness::{Chunk, Library};
use neuroshard_types::{
	dataset::{AttestationView, ChallengeView, ChunkOpening, ShardRange},
	provider::ProviderStatus,
	BlockNumber, DatasetId, H256,
};
use std::{path::PathBuf, time::Instant};
use tokio_util::sync::CancellationToken;

/// Blocks until what the chain refused is tried again: every attempt costs a fee.
const REST: BlockNumber = 20;
/// Blocks until the folder's dataset is looked for on chain again.
const LOOK_AGAIN: BlockNumber = 200;

/// What is to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
	Attest(ShardRange),
	Withdraw,
	Answer(ChallengeView),
}

/// What the chain says about this account and a dataset that is at hand.
struct Seen {
	now: BlockNumber,
	/// Blocks for which an attestation holds.
	period: BlockNumber,
	shards: u32,
	/// Whether the dataset is on chain.
	known: bool,
	/// Whether this account is an active provider.
	active: bool,
	attestation: Option<AttestationView>,
	/// The most urgent first.
	challenges: Vec<ChallengeView>,
}

/// What is to be sent now, if anything is. `wanted`: whether the dataset is to be attested.
fn step(seen: &Seen, wanted: bool) -> Option<Step> {
	if !seen.known {
		return seen.attestation.map(|_| Step::Withdraw);
	}
	// A transaction gets into the next block at the earliest.
	let asked = seen.challenges.iter().find(|challenge| challenge.deadline > seen.now);
	if let Some(challenge) = asked {
		return Some(Step::Answer(challenge.clone()));
	}
	let all = ShardRange { first: 0, count: seen.shards };
	match seen.attestation {
		None => (wanted && seen.active).then_some(Step::Attest(all)),
		Some(_) if !seen.challenges.is_empty() => None,
		Some(attestation) if wanted => {
			let is_old = attestation.expires_at.saturating_sub(seen.now) < seen.period / 2;
			(is_old && seen.active).then_some(Step::Attest(all))
		}
		Some(_) => Some(Step::Withdraw),
	}
}

/// A chunk as the chain reads it; `None` if it is longer than any can be.
fn opening(chunk: Chunk) -> Option<ChunkOpening> {
	let hashes = |proof: Vec<[u8; 32]>| proof.into_iter().map(H256).collect::<Vec<_>>().try_into().ok();
	let Chunk { leaf, in_shard, in_corpus } = chunk;
	Some(ChunkOpening { data: leaf.to_vec().try_into().ok()?, in_shard: hashes(in_shard)?, in_dataset: hashes(in_corpus)? })
}

/// The actor.
pub(super) struct Holder {
	base: PathBuf,
	client: ChainClient,
	submitter: Submitter,
	folder: PathBuf,
	wanted: bool,
	/// The dataset of the chain that the folder holds, once it was compared.
	held: Option<(DatasetId, u32, Shards)>,
	/// First block in which it is looked for again.
	look_at: BlockNumber,
	/// What was refused, and the first block in which it is tried again.
	refused: Option<(Step, BlockNumber)>,
	told: Told,
}

impl Holder {
	/// Attests the dataset in `folder` if that is `wanted`, and answers in any case.
	pub(super) fn new(base: PathBuf, client: ChainClient, submitter: Submitter, folder: PathBuf, wanted: bool) -> Self {
		Self { base, client, submitter, folder, wanted, held: None, look_at: 0, refused: None, told: Told::default() }
	}

	/// Works until `stop` is cancelled.
	pub(super) async fn run(mut self, stop: CancellationToken) {
		let mut heads = self.client.follow(Heads::default(), |_| {});
		loop {
			heads.mark_unchanged();
			let Some(turn) = stop.run_until_cancelled(self.turn()).await else { return };
			match turn {
				Ok(true) => continue,
				Ok(false) => {}
				// Whoever follows the heads for the status says that.
				Err(WorkerError::Chain(error @ ChainError::NodeAway { .. })) => tracing::debug!("attestations: {error}"),
				Err(error) => self.say(&error),
			}
			wait(&mut heads, &stop).await;
		}
	}

	fn say(&mut self, error: &WorkerError) {
		let words = error.to_string();
		if self.told.is_new(&words, Instant::now()) {
			tracing::warn!("attestations: {words}");
		}
	}

	/// Sends what is most urgent; `false` if there is nothing.
	async fn turn(&mut self) -> Result<bool, WorkerError> {
		let best = self.client.heads().await?.best;
		let at = self.client.at(best).await?;
		let me = self.submitter.who().clone();
		let Some((id, count, shards)) = self.held(&at).await? else { return Ok(false) };
		let known = at.dataset(id).await?.is_some();
		let attestation = at.attestation(id, &me).await?;
		let challenges = match attestation {
			Some(AttestationView { challenges: 1.., .. }) => at.challenges_of(id, &me).await?,
			_ => Vec::new(),
		};
		let period = at.attestation_terms().await?.period;
		let active = at.provider(&me).await?.is_some_and(|provider| provider.status == ProviderStatus::Active);
		if !known && attestation.is_none() {
			self.held = None;
			return Ok(false);
		}
		let seen = Seen { now: best.number, period, shards: count, known, active, attestation, challenges };
		let wanted = self.wanted && !self.base.join(LEAVE_FILE).exists();
		let Some(step) = step(&seen, wanted) else { return Ok(false) };
		if self.refused.as_ref().is_some_and(|(refused, until)| *refused == step && seen.now < *until) {
			return Ok(false);
		}
		let call = match &step {
			Step::Attest(range) => holdings::attest(id, *range),
			Step::Withdraw => holdings::withdraw(id, me),
			Step::Answer(challenge) => self.answer(id, challenge, shards).await?,
		};
		match self.submitter.submit_once(call).await {
			Ok(_) => {
				tell(id, &step);
				Ok(true)
			}
			Err(error) => {
				self.refused = Some((step, seen.now.saturating_add(REST)));
				Err(error.into())
			}
		}
	}

	async fn answer(&self, id: DatasetId, challenge: &ChallengeView, shards: Shards) -> Result<Call, WorkerError> {
		let place = challenge.place;
		let chunk = blocking(move || Ok(shards.chunk(place.shard, place.chunk).and_then(opening))).await?;
		let opening = chunk.ok_or_else(|| WorkerError::File {
			path: self.folder.clone(),
			source: std::io::Error::other(format!("chunk {} of shard {} cannot be read", place.chunk, place.shard)),
		})?;
		Ok(holdings::answer(id, challenge.challenger.clone(), opening))
	}

	/// The dataset of the chain that the folder holds, and its shards. It is read and compared once.
	async fn held(&mut self, at: &ChainAt) -> Result<Option<(DatasetId, u32, Shards)>, WorkerError> {
		let now = at.block().number;
		if self.held.is_none() && self.look_at <= now {
			self.look_at = now.saturating_add(LOOK_AGAIN);
			let folder = self.folder.clone();
			let root = blocking(move || Ok(DatasetManifest::read(&folder).map(|manifest| manifest.root))).await?;
			let Ok(root) = root else { return Ok(None) };
			for id in at.datasets().await? {
				let Some(view) = at.dataset(id).await?.filter(|view| view.manifest.root == root) else { continue };
				let (folder, manifest) = (self.folder.clone(), view.manifest.clone());
				let verified = blocking(move || Ok(verify_against(&folder, &manifest, &format!("dataset {id} on the chain")))).await?;
				match verified {
					Ok(dataset) => {
						let roots = dataset.manifest.shard_roots.into();
						let shape = view.manifest.shape;
						self.held = Some((id, shape.shard_count, Shards::new(self.folder.clone(), shape, roots)));
						break;
					}
					Err(error) => tracing::debug!("attestations: {error}"),
				}
			}
		}
		Ok(self.held.clone())
	}
}

fn tell(id: DatasetId, step: &Step) {
	match step {
		Step::Attest(_) => tracing::info!("attested dataset {id}"),
		Step::Withdraw => tracing::info!("withdrew the attestation of dataset {id}"),
		Step::Answer(challenge) => tracing::info!(challenger = %challenge.challenger, "opened a chunk of dataset {id} that was asked for"),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::{dataset::ChunkPlace, AccountId};

	const ALL: ShardRange = ShardRange { first: 0, count: 4 };

	fn seen(attestation: Option<(BlockNumber, u32)>, deadlines: &[BlockNumber]) -> Seen {
		let challenge = |deadline: &BlockNumber| ChallengeView {
			challenger: AccountId::new([1; 32]),
			place: ChunkPlace { shard: 1, chunk: 2 },
			deadline: *deadline,
		};
		let attestation = attestation.map(|(expires_at, challenges)| AttestationView { shards: ALL, expires_at, challenges });
		let challenges = deadlines.iter().map(challenge).collect();
		Seen { now: 100, period: 40, shards: 4, known: true, active: true, attestation, challenges }
	}

	#[test]
	fn a_dataset_is_attested_if_that_is_wanted_and_renewed_when_half_of_the_time_is_over() {
		assert_eq!(step(&seen(None, &[]), true), Some(Step::Attest(ALL)));
		assert_eq!(step(&seen(None, &[]), false), None);
		assert_eq!(step(&seen(Some((120, 0)), &[]), true), None);
		assert_eq!(step(&seen(Some((119, 0)), &[]), true), Some(Step::Attest(ALL)));
		assert_eq!(step(&seen(Some((90, 0)), &[]), true), Some(Step::Attest(ALL)));
	}

	#[test]
	fn who_is_not_active_attests_nothing_and_answers() {
		let chilled = |seen| Seen { active: false, ..seen };
		assert_eq!(step(&chilled(seen(None, &[])), true), None);
		assert_eq!(step(&chilled(seen(Some((110, 0)), &[])), true), None);
		assert!(matches!(step(&chilled(seen(Some((140, 1)), &[101])), true), Some(Step::Answer(_))));
	}

	#[test]
	fn what_was_attested_of_a_dataset_that_is_gone_is_withdrawn() {
		let gone = |seen| Seen { known: false, ..seen };
		assert_eq!(step(&gone(seen(Some((140, 1)), &[130])), true), Some(Step::Withdraw));
		assert_eq!(step(&gone(seen(None, &[])), true), None);
	}

	#[test]
	fn what_is_not_wanted_any_more_is_withdrawn_when_nothing_is_asked_for() {
		assert_eq!(step(&seen(Some((140, 0)), &[]), false), Some(Step::Withdraw));
		assert!(matches!(step(&seen(Some((140, 1)), &[101]), false), Some(Step::Answer(_))));
		// Too late: somebody may conclude it, and until then nothing can be withdrawn.
		assert_eq!(step(&seen(Some((140, 1)), &[100]), false), None);
	}

	#[test]
	fn what_can_be_answered_in_time_is_answered_the_most_urgent_first() {
		let Some(Step::Answer(challenge)) = step(&seen(Some((140, 3)), &[99, 105, 130]), true) else { panic!("an answer") };
		assert_eq!(challenge.deadline, 105);
	}
}
