//! What a finished training amounts to, and whether it is what it must be.

use crate::{
	audits, invariants::first_broken, until, AuditSummary, CheaterSummary, DisputeSummary, Error, Network, Training, Verdicts, View, SLOT,
};
use neuroshard_chain_client::ChainAt;
use neuroshard_compute::exec::Exec;
use neuroshard_data::dataset::tokenizer;
use neuroshard_graph::{sampler::Sampling, Class, ParamLayout};
use neuroshard_inference::{generate::generate, Model};
use neuroshard_support::hardware;
use neuroshard_training::{adapter::merge, checkpoint::Checkpoint};
use neuroshard_types::{Balance, BlockNumber, RoundIndex, H256};
use serde::Serialize;
use std::{
	borrow::Cow,
	fmt::Display,
	fs::{remove_file, File},
	path::Path,
	time::Duration,
};

/// Longest wait for what a challenge window takes beside its blocks, and for era and claims.
const MINT_LIMIT: Duration = Duration::from_secs(300);
/// Longest wait for the last checkpoint in every worker's files.
const CHECKPOINT_LIMIT: Duration = Duration::from_secs(120);
/// Blocks between the end of a challenge window and the state that surely has its work credited.
const CREDIT_SLACK: BlockNumber = 2;
/// What the sampled text begins with.
const PROMPT: &str = "The ";
/// Most tokens that follow.
const SAMPLE: u32 = 200;
/// Workers that it takes for an audit: whose work it is, and two auditors.
const FOR_AUDIT: usize = 3;
/// The loss must fall below this share of its start.
const LOSS_SHARE: f64 = 0.8;

/// Bytes that a worker exchanged with others in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BytesOfWorker {
	/// Received.
	pub received: u64,
	/// Sent.
	pub sent: u64,
}

/// A finished round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundSummary {
	/// Its number, from 0.
	pub round: RoundIndex,
	/// Held-out loss of the checkpoint it ended with, nats per token.
	pub validation_loss: f32,
	/// Deltas in that checkpoint.
	pub included: usize,
	/// Mean of received and sent bytes together over the workers.
	pub bytes_per_worker: u64,
	/// Bytes of each worker, in the order of `checkpoint_roots_workers`.
	pub bytes: Vec<BytesOfWorker>,
}

/// What a finished training amounts to. Amounts are planck as text, since JSON numbers end at 2^53.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
	/// Rounds, oldest first.
	pub rounds: Vec<RoundSummary>,
	/// Held-out loss of the first checkpoint, nats per token.
	pub validation_loss_start: f32,
	/// Held-out loss of the last one.
	pub validation_loss_end: f32,
	/// Entropy of the held-out text's token frequencies, nats per token.
	pub unigram_entropy: f64,
	/// Root of the newest checkpoint, as the chain has it.
	pub checkpoint_root_chain: String,
	/// Roots recomputed from every worker's files.
	pub checkpoint_roots_workers: Vec<String>,
	/// Claimed and minted rewards of all workers.
	pub rewards_total: String,
	/// Minted for blocks and the treasury up to the same finalized block.
	pub issued_total: String,
	/// Burned by disputes, offences and fees of inference up to the same finalized block.
	pub burned_total: String,
	/// Total issuance at that block, less that of genesis.
	pub issuance_delta: String,
	/// Whether the issuance grew by the rewards and what was minted for blocks and the treasury, less what was burned.
	pub balanced: bool,
	/// Finalized block at the end.
	pub finalized_block: BlockNumber,
	/// The first finalized block after which an invariant of the runtime did not hold, with the invariant; `None` if all held after every
	/// block.
	pub broken_invariant: Option<String>,
	/// Block in which the last round was adopted.
	pub last_adopted_block: BlockNumber,
	/// Tokens of the deltas in the checkpoints per second of chain time, from the start of the first round's training to the last
	/// adoption: [`View::tokens_per_second`].
	pub tokens_per_second: f64,
	/// Seconds from the start of the first process on.
	pub wall_seconds: f64,
	/// Text sampled from the trained model.
	pub sample: String,
	/// Disputes that were decided, oldest first.
	pub disputes: Vec<DisputeSummary>,
	/// Audits that were drawn, oldest first.
	pub audits: Vec<AuditSummary>,
	/// What became of those who cheated on purpose.
	pub cheaters: Vec<CheaterSummary>,
}

/// What a summary need not show.
#[derive(Clone, Copy, Default)]
struct Terms {
	/// Processes were killed.
	killed: bool,
	/// Nobody has waited for rewards.
	unpaid: bool,
}

/// Rewards and issuance at one finalized block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minted {
	/// Claimed by all workers, in planck.
	pub rewards: Balance,
	/// Minted for blocks and the treasury, in planck.
	pub issued: Balance,
	/// Burned by disputes, offences and fees of inference, in planck.
	pub burned: Balance,
	/// Growth of the total issuance since genesis, in planck: below zero if more was burned than minted.
	pub issuance: i128,
	/// The block.
	pub block: BlockNumber,
}

impl Minted {
	/// Waits until the work of `round` is final, its era is over and every worker has claimed its part of it, all in finalized blocks,
	/// the adoption of the newest round among them.
	///
	/// # Errors
	/// [`Error::Late`] if that does not happen, [`Error::Chain`] if the node does not answer.
	pub async fn wait(network: &Network, training: &Training, round: RoundIndex) -> Result<Self, Error> {
		let client = network.client();
		// The block that adopted it may be on a branch that was given up since.
		let what = format!("the adoption of round {round}");
		let record = until(&what, MINT_LIMIT, async || Ok(client.now().await?.record(training.run, round).await?)).await?;
		let now = client.now().await?;
		let window = now.challenge_window().await?;
		let credited = record.adopted_at.saturating_add(window).saturating_add(CREDIT_SLACK);
		let finalized = async || Ok::<_, Error>(client.at(client.heads().await?.finalized).await?);
		let what = format!("the challenge window of round {round}");
		let limit = MINT_LIMIT.saturating_add(SLOT.saturating_mul(window));
		until(&what, limit, async || Ok((finalized().await?.block().number >= credited).then_some(()))).await?;
		let newest = now.run(training.run).await?.and_then(|run| run.rounds_adopted.checked_sub(1)).unwrap_or(round);
		let newest = now.record(training.run, newest).await?.map_or(credited, |record| record.adopted_at);
		let era = client.at(client.block_at(credited).await?).await?.era().await?.index;
		let what = format!("the claims of era {era}");
		until(&what, MINT_LIMIT, async || {
			let at = finalized().await?;
			if at.era().await?.index <= era || at.block().number < newest {
				return Ok(None);
			}
			let is_claimed = has_claimed_up_to(&at, network, era).await?;
			Ok(if is_claimed { Some(Self::at(&at, network).await?) } else { None })
		})
		.await
	}

	/// Of the newest finalized block, whatever is still to be claimed.
	///
	/// # Errors
	/// [`Error::Chain`] if the node does not answer.
	pub async fn now(network: &Network) -> Result<Self, Error> {
		let client = network.client();
		Self::at(&client.at(client.heads().await?.finalized).await?, network).await
	}

	async fn at(at: &ChainAt, network: &Network) -> Result<Self, Error> {
		let (client, block) = (network.client(), at.block().number);
		let genesis = client.at(client.block_at(0).await?).await?.total_issuance().await?;
		let mut rewards: Balance = 0;
		for worker in &network.workers {
			rewards = rewards.saturating_add(at.earnings(&worker.provider()).await?.claimed);
		}
		let issuance = signed(at.total_issuance().await?).saturating_sub(signed(genesis));
		let mut verdicts = Verdicts::default();
		verdicts.read(client, block).await?;
		let sums = at.issuance().await?;
		let issued = sums.to_validators.saturating_add(sums.to_treasury);
		let burned = verdicts.burned(block).saturating_add(sums.burned);
		Ok(Self { rewards, issued, burned, issuance, block })
	}

	/// As [`Self::wait`] for the first round that is audited, so that its audits are closed by then; for the first of all if none is yet.
	///
	/// # Errors
	/// As [`Self::wait`].
	pub async fn wait_for_first(network: &Network, training: &Training) -> Result<Self, Error> {
		let first = first_audited(network, training).await?;
		let minted = Self::wait(network, training, first.unwrap_or(0)).await?;
		match first {
			Some(_) => Ok(minted),
			// What was drawn only meanwhile has a window of its own.
			None => match first_audited(network, training).await? {
				Some(round) if round > 0 => Self::wait(network, training, round).await,
				_ => Ok(minted),
			},
		}
	}

	/// Whether all money that there is came from somewhere: the issuance grew by the rewards of the workers and by what was minted for blocks
	/// and the treasury, less what was burned.
	pub fn is_balanced(&self) -> bool {
		signed(self.rewards.saturating_add(self.issued)).saturating_sub(signed(self.burned)) == self.issuance
	}
}

/// The first round that is audited, up to the newest finalized block.
async fn first_audited(network: &Network, training: &Training) -> Result<Option<RoundIndex>, Error> {
	let finalized = network.client().heads().await?.finalized.number;
	Ok(audits::read(network.client(), training.run, finalized).await?.first().map(|audit| audit.round))
}

/// An amount that a difference can be taken of. There is far less money than this has room for.
fn signed(amount: Balance) -> i128 {
	i128::try_from(amount).unwrap_or(i128::MAX)
}

/// Whether no worker has anything left to claim from the eras up to `era`.
async fn has_claimed_up_to(at: &ChainAt, network: &Network, era: u32) -> Result<bool, Error> {
	for worker in &network.workers {
		if at.claimable_eras(&worker.provider()).await?.iter().any(|(open, _)| *open <= era) {
			return Ok(false);
		}
	}
	Ok(true)
}

impl Summary {
	/// Collects the summary of `training`, whose newest state is `view`.
	///
	/// # Errors
	/// [`Error::Checkpoint`] if a worker's files are damaged, [`Error::Unsound`] if a worker has none.
	pub async fn collect(network: &Network, training: &Training, view: &View, minted: Minted, wall: Duration) -> Result<Self, Error> {
		let checkpoints = checkpoints(network, training, view.run.checkpoint).await?;
		let finalized = network.client().heads().await?.finalized.number;
		let mut verdicts = Verdicts::default();
		verdicts.read(network.client(), finalized).await?;
		let mut cheaters = Vec::new();
		for cheater in &network.cheaters {
			cheaters.push(CheaterSummary::collect(network, cheater, &verdicts, view).await?);
		}
		let sample = match checkpoints.first() {
			Some(checkpoint) => sample(training, checkpoint)?,
			None => String::new(),
		};
		let root = |root: H256| format!("{root:?}");
		Ok(Self {
			rounds: rounds(view),
			validation_loss_start: training.first_loss,
			validation_loss_end: view.newest_loss().unwrap_or(training.first_loss),
			unigram_entropy: training.unigram_entropy,
			checkpoint_root_chain: root(view.run.checkpoint),
			checkpoint_roots_workers: checkpoints.iter().map(|checkpoint| root(checkpoint.header.root())).collect(),
			rewards_total: minted.rewards.to_string(),
			issued_total: minted.issued.to_string(),
			burned_total: minted.burned.to_string(),
			issuance_delta: minted.issuance.to_string(),
			balanced: minted.is_balanced(),
			finalized_block: finalized,
			broken_invariant: first_broken(network.client(), finalized).await?,
			last_adopted_block: view.records.last().map_or(0, |record| record.adopted_at),
			tokens_per_second: view.tokens_per_second,
			wall_seconds: wall.as_secs_f64(),
			sample,
			audits: audits::read(network.client(), training.run, finalized).await?,
			disputes: verdicts.list().iter().map(|one| DisputeSummary::new(one, &network.cheaters)).collect(),
			cheaters,
		})
	}

	/// How many parts in audits auditors missed.
	pub fn missed_audits(&self) -> usize {
		self.audits.iter().map(AuditSummary::missed).sum()
	}

	/// How many audits were drawn, and how many reports of their auditors are there.
	pub fn audited(&self) -> (usize, usize) {
		(self.audits.len(), self.audits.iter().map(AuditSummary::reports).sum())
	}

	/// Fails if a summary cannot be written to `path`. A file that is there keeps its content.
	///
	/// # Errors
	/// [`Error::SummaryFile`] with what the system said.
	pub fn check_file(path: &Path) -> Result<(), Error> {
		let existed = path.exists();
		File::options().append(true).create(true).open(path).map_err(refused(path))?;
		match existed {
			true => Ok(()),
			false => remove_file(path).map_err(refused(path)),
		}
	}

	/// Writes it to `path` as JSON.
	///
	/// # Errors
	/// [`Error::SummaryFile`] with what the system said.
	pub fn write(&self, path: &Path) -> Result<(), Error> {
		let text = serde_json::to_string_pretty(self).map_err(|error| Error::Setup(error.to_string()))?;
		std::fs::write(path, text + "\n").map_err(refused(path))
	}

	/// Fails with the reason if the training is not what it must be. One without cheaters had so many `rounds`, the model learned, and some of the
	/// work was audited; one with cheaters may be too short for that.
	///
	/// # Errors
	/// [`Error::Unsound`].
	pub fn verify(&self, rounds: Option<usize>) -> Result<(), Error> {
		self.check(rounds, Terms::default())
	}

	/// [`Self::verify`] of a network whose processes were killed: who is away when it is to audit is not paid for that, and loses nothing.
	///
	/// # Errors
	/// As [`Self::verify`].
	pub fn verify_killed(&self) -> Result<(), Error> {
		self.check(None, Terms { killed: true, unpaid: false })
	}

	/// [`Self::verify`] of a network with cheaters that did not wait for rewards.
	///
	/// # Errors
	/// As [`Self::verify`].
	pub fn verify_unpaid(&self) -> Result<(), Error> {
		self.check(None, Terms { killed: false, unpaid: true })
	}

	fn check(&self, rounds: Option<usize>, Terms { killed, unpaid }: Terms) -> Result<(), Error> {
		let (start, end) = (f64::from(self.validation_loss_start), f64::from(self.validation_loss_end));
		let short = rounds.is_none();
		let rounds = rounds.unwrap_or(self.rounds.len());
		let same_roots = self.checkpoint_roots_workers.iter().all(|root| *root == self.checkpoint_root_chain);
		let claims = [
			(self.rounds.len() == rounds, format!("{} of {rounds} rounds were adopted", self.rounds.len())),
			(short || end < LOSS_SHARE * start, format!("the loss only fell from {start:.4} to {end:.4}")),
			(
				short || end < self.unigram_entropy,
				format!("the loss {end:.4} is not below the unigram entropy {:.4}", self.unigram_entropy),
			),
			(short || self.checkpoint_roots_workers.len() < FOR_AUDIT || self.audits.iter().any(AuditSummary::has_samples), "nobody has audited any work".into()),
			(same_roots, "a worker's checkpoint is not the chain's".into()),
			(unpaid || self.rewards_total != "0", "nothing was minted".into()),
			(self.broken_invariant.is_none(), self.broken_invariant.clone().unwrap_or_default()),
			(
				self.balanced,
				format!(
					"rewards of {} planck and {} planck for blocks and the treasury, less {} planck that were burned, stand against {} planck of new issuance",
					self.rewards_total, self.issued_total, self.burned_total, self.issuance_delta
				),
			),
			(
				self.finalized_block >= self.last_adopted_block,
				format!("block {} is finalized, but the last round ended in {}", self.finalized_block, self.last_adopted_block),
			),
		];
		let honest = self.disputes.iter().filter(|one| one.honest_loser);
		let honest = honest
			.map(|one| format!("an honest account lost the dispute about {:?} of {} by {}", one.claim.kind, one.claim.who, one.verdict));
		let broken = claims.into_iter().filter(|(holds, _)| !holds).map(|(_, words)| words);
		let outcomes = || self.audits.iter().flat_map(|audit| &audit.auditors).map(|auditor| auditor.outcome.as_str());
		let in_vain = outcomes().any(|outcome| outcome != "open") && !outcomes().any(|outcome| outcome == "paid");
		let audits =
			self.audits.iter().flat_map(|audit| audit.broken(&self.cheaters, killed)).chain(in_vain.then(|| "no auditor was paid".into()));
		let cheaters = self.cheaters.iter().flat_map(CheaterSummary::broken);
		let broken: Vec<String> = broken.chain(honest).chain(audits).chain(cheaters).collect();
		match broken.is_empty() {
			true => Ok(()),
			false => Err(Error::Unsound(broken.join("; "))),
		}
	}
}

fn refused(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
	move |source| Error::SummaryFile { path: path.to_path_buf(), source }
}

/// Text from the newest checkpoint that any worker has in its files; nothing if none has one.
///
/// # Errors
/// [`Error::Checkpoint`] if the files are damaged.
pub fn newest_sample(network: &Network, training: &Training) -> Result<Option<String>, Error> {
	let mut newest: Option<Checkpoint> = None;
	for worker in &network.workers {
		let checkpoint = worker.checkpoint(training.run, &training.model)?;
		let newer = checkpoint.filter(|found| newest.as_ref().is_none_or(|known| known.header.round < found.header.round));
		newest = newer.or(newest);
	}
	newest.map(|checkpoint| sample(training, &checkpoint)).transpose()
}

fn sample(training: &Training, checkpoint: &Checkpoint) -> Result<String, Error> {
	let (name, root) = (format!("run-{}", training.run), checkpoint.header.root().0);
	let tokenizer = tokenizer(&training.dataset)?;
	let (params, threads) = (whole(training, checkpoint)?, hardware::threads(None));
	let model = Model::of_run(name, &training.model, &tokenizer, &params, root, Class::ExactF32, threads);
	let mut model = model.map_err(|error| Error::Setup(error.to_string()))?;
	let text = generate(&mut model, None, PROMPT, SAMPLE, &Sampling { temperature: 0.7, ..Sampling::default() });
	Ok(format!("{PROMPT}{}", text.map_err(|error| Error::Setup(error.to_string()))?))
}

/// All parameters of the model in a checkpoint, with the adapter merged that it may be one of.
fn whole<'a>(training: &Training, checkpoint: &'a Checkpoint) -> Result<Cow<'a, [f32]>, Error> {
	let (Some(adapter), Some(base)) = (&training.train.adapter, &training.base) else { return Ok(Cow::Borrowed(&checkpoint.params)) };
	let failed = |error: &dyn Display| Error::Setup(error.to_string());
	let (layout, threads) = (ParamLayout::new(&training.model).map_err(|error| failed(&error))?, hardware::threads(None));
	let mut params = Checkpoint::load(base, &layout, threads)?.ok_or_else(|| Error::Setup("no base is there".into()))?.params;
	let exec = Exec::new(threads).map_err(|error| failed(&error))?;
	merge(&exec, &training.model, adapter, &checkpoint.params, &mut params).map_err(|error| failed(&error))?;
	Ok(Cow::Owned(params))
}

/// The newest checkpoint of every worker that keeps one, once its root is `root` or no other one comes.
async fn checkpoints(network: &Network, training: &Training, root: H256) -> Result<Vec<Checkpoint>, Error> {
	let mut found = Vec::new();
	for worker in network.workers.iter().filter(|worker| worker.has_checkpoints()) {
		let what = format!("the last checkpoint of {}", worker.name());
		let read = || worker.checkpoint(training.run, &training.model);
		let newest = until(&what, CHECKPOINT_LIMIT, async || Ok(read()?.filter(|checkpoint| checkpoint.header.root() == root))).await;
		let checkpoint = match newest {
			Err(Error::Late { .. }) => read()?,
			other => Some(other?),
		};
		found.push(checkpoint.ok_or_else(|| Error::Unsound(format!("{} has no checkpoint", worker.name())))?);
	}
	Ok(found)
}

fn rounds(view: &View) -> Vec<RoundSummary> {
	(0u32..)
		.zip(&view.records)
		.map(|(round, record)| {
			let of_round = |status: &neuroshard_roles::status::Status| {
				let noted = status.rounds.iter().find(|noted| noted.round == round);
				noted.map(|noted| BytesOfWorker { received: noted.bytes_in, sent: noted.bytes_out }).unwrap_or_default()
			};
			let bytes: Vec<_> = view.workers.iter().map(|status| status.as_ref().map(of_round).unwrap_or_default()).collect();
			let total = bytes.iter().map(|bytes| bytes.received.saturating_add(bytes.sent)).fold(0, u64::saturating_add);
			RoundSummary {
				round,
				validation_loss: record.validation_loss.get(),
				included: record.included.len(),
				bytes_per_worker: u64::try_from(bytes.len()).ok().and_then(|count| total.checked_div(count)).unwrap_or_default(),
				bytes,
			}
		})
		.collect()
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::AuditorSummary;

	fn good() -> Summary {
		let round = |round, validation_loss| RoundSummary { round, validation_loss, included: 3, bytes_per_worker: 1, bytes: Vec::new() };
		Summary {
			rounds: vec![round(0, 4.0), round(1, 2.0)],
			validation_loss_start: 5.0,
			validation_loss_end: 2.0,
			unigram_entropy: 3.0,
			checkpoint_root_chain: "0x01".into(),
			checkpoint_roots_workers: vec!["0x01".into(); 3],
			rewards_total: "7".into(),
			issued_total: "2".into(),
			issuance_delta: "9".into(),
			finalized_block: 9,
			broken_invariant: None,
			last_adopted_block: 9,
			tokens_per_second: 1.0,
			wall_seconds: 1.0,
			sample: String::new(),
			burned_total: "0".into(),
			balanced: true,
			disputes: Vec::new(),
			audits: vec![audit("paid", "paid")],
			cheaters: Vec::new(),
		}
	}

	/// An audit by an honest account and by [`CheaterSummary::caught`].
	fn audit(honest: &str, cheater: &str) -> AuditSummary {
		let auditors = [("somebody else", honest), ("somebody", cheater)];
		let auditor =
			|(who, outcome): (&str, &str)| AuditorSummary { who: who.into(), report: Some("0x02".into()), outcome: outcome.into() };
		AuditSummary { round: 0, subject: "a worker".into(), step: 1, auditors: auditors.map(auditor).into() }
	}

	#[test]
	fn a_sound_training_passes() {
		good().verify(Some(2)).unwrap();
		let audits = vec![audit("paid", "missed"), audit("unpaid", "open"), audit("open", "open")];
		Summary { audits, cheaters: vec![CheaterSummary::caught()], ..good() }.verify(Some(2)).unwrap();
		Summary { audits: vec![audit("open", "open")], ..good() }.verify(Some(2)).unwrap();
		// Nobody is left to audit the work of one of two.
		Summary { audits: Vec::new(), checkpoint_roots_workers: vec!["0x01".into(); 2], ..good() }.verify(Some(2)).unwrap();
		let short = Summary { validation_loss_end: 4.9, cheaters: vec![CheaterSummary::caught()], ..good() };
		short.verify(None).unwrap();
		assert!(short.verify(Some(2)).is_err());
	}

	#[test]
	fn money_is_balanced_if_all_of_it_came_from_somewhere() {
		let minted = Minted { rewards: 7, issued: 4, burned: 12, issuance: -1, block: 3 };
		assert!(minted.is_balanced());
		for other in [Minted { rewards: 8, ..minted }, Minted { issued: 3, ..minted }, Minted { burned: 11, ..minted }] {
			assert!(!other.is_balanced(), "{other:?}");
		}
	}

	#[test]
	fn a_check_leaves_a_files_content_and_no_new_file() {
		let folder = tempfile::tempdir().unwrap();
		let path = folder.path().join("summary.json");
		Summary::check_file(&path).unwrap();
		assert!(!path.exists());
		good().write(&path).unwrap();
		let written = std::fs::read_to_string(&path).unwrap();
		Summary::check_file(&path).unwrap();
		assert_eq!(std::fs::read_to_string(&path).unwrap(), written);
	}

	#[test]
	fn a_place_that_takes_no_file_is_named() {
		let folder = tempfile::tempdir().unwrap();
		for path in [folder.path().to_path_buf(), folder.path().join("missing/summary.json")] {
			let error = Summary::check_file(&path).unwrap_err().to_string();
			assert!(error.contains("--summary") && error.contains(&path.display().to_string()), "{error}");
		}
	}

	#[test]
	fn every_broken_promise_is_named() {
		type Break = fn(&mut Summary);
		let cases: [(&str, Break); 15] = [
			("got away", |summary| summary.cheaters.push(CheaterSummary { dispute: None, ..CheaterSummary::caught() })),
			("auditor somebody else missed", |summary| summary.audits.push(audit("missed", "paid"))),
			("no auditor was paid", |summary| summary.audits = vec![audit("unpaid", "open")]),
			("nobody has audited", |summary| summary.audits.clear()),
			("nobody has audited", |summary| summary.audits[0].auditors.iter_mut().for_each(|auditor| auditor.report = None)),
			("report 0x02 and 0x03", |summary| summary.audits[0].auditors[1].report = Some("0x03".into())),
			("rounds were adopted", |summary| drop(summary.rounds.pop())),
			("only fell", |summary| summary.validation_loss_start = 2.4),
			("unigram", |summary| summary.unigram_entropy = 1.9),
			("checkpoint", |summary| summary.checkpoint_roots_workers.push("0x02".into())),
			("nothing was minted", |summary| (summary.rewards_total, summary.issuance_delta) = ("0".into(), "0".into())),
			("new issuance", |summary| summary.balanced = false),
			("finalized", |summary| summary.finalized_block = 8),
			("staking: more than", |summary| summary.broken_invariant = Some("after block 3: staking: more than there is".into())),
			("only fell", |summary| summary.validation_loss_end = f32::NAN),
		];
		for (words, spoil) in cases {
			let mut summary = good();
			spoil(&mut summary);
			let error = summary.verify(Some(2)).unwrap_err().to_string();
			assert!(error.contains(words), "{words}: {error}");
		}
	}
}
