//! `dispute`.

use super::{
	check::read,
	open::{create_base, open, Opened},
	parse, CliError, Common,
};
use clap::Args;
use neuroshard_chain_client::{BlockId, ChainAt, ChainError, Neuro};
use neuroshard_compute::exec::Exec;
use neuroshard_disputes::answers::{
	challenge, check_disputable,
	player::{computed, doubt_of},
	Accusation, Dispute, Parts, Player, PlayerError, State, TranscriptStore,
};
use neuroshard_graph::{game::Side, ParamLayout};
use neuroshard_support::hardware;
use neuroshard_types::{
	answer_audit::AnswerId,
	dispute::{AnswerClaim, ClaimId},
};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

/// Exit code for a dispute that was lost.
const LOST: u8 = 2;
/// Between two looks whether the game is there at all.
const LOOK: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(super) struct DisputeAnswer {
	/// File with the receipt, as the answer brought it, or as `gateway` kept it; - reads it from standard input.
	#[arg(value_name = "RECEIPT")]
	receipt: PathBuf,
	/// Threads.
	#[arg(long, value_parser = parse::threads)]
	threads: Option<usize>,
}

impl DisputeAnswer {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let transcript = read(&self.receipt)?;
		let signed = transcript.validate()? && transcript.receipt.provider.is_some();
		let (true, Some((run, round)), Some((session, place))) = (signed, transcript.receipt.checkpoint, transcript.receipt.paid) else {
			let words = "only answers of a run's model that a provider has signed, in a paid session, can be disputed on chain";
			return Err(CliError::Invalid(words.into()));
		};
		let stop = CancellationToken::new();
		super::start::stop_on_signals(&stop)?;
		let opened = open(common).await?;
		create_base(&opened.base)?;
		let (at, genesis) = (opened.client.now().await?, opened.client.genesis());
		let audited = match &transcript.receipt.provider {
			Some(provider) => at.answer_audit(&AnswerId { session, provider: provider.clone(), place }).await?.is_some(),
			None => false,
		};
		if !audited && at.session(session).await?.is_none() {
			let words = format!(
				"session {session} is settled, or was never opened: an answer can be disputed until its session is settled, or as long as it is audited"
			);
			return Err(CliError::Invalid(words));
		}
		let transcript_store = TranscriptStore::open(&opened.base)?;
		let root = transcript.receipt.parameters;
		// What nobody could dispute is refused before anything is computed.
		let accusation = |doubt| Accusation::new(&transcript, doubt, &opened.who, genesis);
		accusation(0)?;
		let view = at.run(run).await?.ok_or_else(|| CliError::Unknown(format!("run {run}")))?;
		let config = view.config;
		let (judged, threads) =
			(AnswerClaim { config: config.clone(), receipt: transcript.receipt.clone() }, hardware::threads(self.threads));
		if let Err(error) = transcript.receipt.sampling.validate() {
			println!("false whatever the model gives, since nobody can claim the receipt's settings: {error}");
			return self.at_once(&opened, &accusation(0)?, &config.model).await;
		}
		check_disputable(&config, round, &transcript.receipt).map_err(|error| CliError::Invalid(error.to_string()))?;
		let (kept, told) = (transcript_store.clone(), transcript.clone());
		let checked = computed(move || {
			let layout = ParamLayout::new(&judged.config.model)?;
			let checkpoint = kept.checkpoint(run, root, &layout, threads)?;
			let in_use = kept.keep_checkpoint(&checkpoint, &layout, threads)?;
			let doubt = doubt_of(Arc::new(Exec::new(threads)?), round, judged, checkpoint, [told.prompt, told.answer])?;
			Ok::<_, PlayerError>((doubt, in_use))
		});
		let (doubt, in_use) = checked.await??;
		let Some(doubt) = doubt else {
			drop(in_use);
			transcript_store.forget_checkpoints()?;
			println!("equal: the model gives these {} tokens, there is nothing to dispute", transcript.answer.len());
			return Ok(0);
		};
		println!("different from token {doubt} of the answer on");
		let accusation = accusation(doubt)?;
		transcript_store.keep(&transcript)?;
		self.say_bond(&opened, &at, &accusation, &config.model).await?;
		let parts = Parts {
			client: opened.client.clone(),
			submitter: opened.submitter.clone(),
			transcript_store,
			side: Side::Challenger,
			threads,
			in_use: Some(in_use),
			lie: None,
		};
		let (player, disputes) = Player::new(parts);
		let made = challenge(&opened.client, &opened.submitter, &accusation, &config.model).await?;
		println!("answer disputed on chain in block {}; moves are made by this command until it has ended", made.number);
		let mut playing = JoinSet::new();
		playing.spawn(player.run(stop.clone()));
		let ended = stop.run_until_cancelled(ended(&opened, &accusation.claim, made, disputes)).await;
		stop.cancel();
		while playing.join_next().await.is_some() {}
		verdict(ended, &opened)
	}

	/// Disputes an answer that is false by what was signed alone: the chain decides in the same block.
	async fn at_once(&self, opened: &Opened, accusation: &Accusation, model: &neuroshard_types::ModelConfig) -> Result<u8, CliError> {
		let made = challenge(&opened.client, &opened.submitter, accusation, model).await?;
		let verdicts = opened.client.at(made).await?.verdicts().await?;
		let found = verdicts.into_iter().find(|verdict| verdict.claim == accusation.claim && verdict.challenger == opened.who);
		let (claim, challenger) = (accusation.claim.clone(), opened.who.clone());
		let dispute = Dispute { claim, challenger, paid: None, state: State::Ended(found.map(Box::new)) };
		verdict(Some(Some(dispute)), opened)
	}

	/// Says what disputing takes.
	async fn say_bond(
		&self,
		opened: &Opened,
		at: &ChainAt,
		accusation: &Accusation,
		model: &neuroshard_types::ModelConfig,
	) -> Result<(), CliError> {
		if at.game(&accusation.claim, &opened.who).await?.is_some() {
			println!("the answer is disputed by this account already: going on");
			return Ok(());
		}
		let (_, kept) = accusation.needed(at, &opened.submitter, model).await?;
		let bond = kept.saturating_sub(at.existential_deposit()?);
		println!("disputing it takes a bond of {}, which comes back if the answer is false", Neuro(bond));
		Ok(())
	}
}

/// The dispute about `claim`, which block `made` had, when it has ended; `None` if it is not there.
async fn ended(opened: &Opened, claim: &ClaimId, made: BlockId, mut disputes: watch::Receiver<Vec<Dispute>>) -> Option<Dispute> {
	let find = |disputes: &[Dispute]| disputes.iter().find(|dispute| dispute.claim == *claim).cloned();
	let mut before = None;
	loop {
		let now = find(&disputes.borrow_and_update());
		match now {
			Some(dispute) if matches!(dispute.state, State::Ended(_)) => return Some(dispute),
			Some(dispute) if before.as_ref() != Some(&dispute) => {
				println!("{}", dispute.state);
				before = Some(dispute);
			}
			_ => {}
		}
		match timeout(LOOK, disputes.changed()).await {
			Ok(Ok(())) => continue,
			Ok(Err(_)) => return None,
			Err(_) => {}
		}
		// One that a short reorganisation took away may come back, until the final state is as far as that block and does not have it either.
		let gone = async {
			let heads = opened.client.heads().await?;
			for block in [heads.best, heads.finalized] {
				if block.number < made.number || opened.client.at(block).await?.game(claim, &opened.who).await?.is_some() {
					return Ok(false);
				}
			}
			Ok::<_, ChainError>(true)
		};
		if before.is_none() && gone.await.unwrap_or(false) {
			return None;
		}
	}
}

/// What is said at the end.
fn verdict(ended: Option<Option<Dispute>>, opened: &Opened) -> Result<u8, CliError> {
	let again = "start this command again with the same receipt";
	let Some(ended) = ended else {
		return Err(CliError::Invalid(format!("stopped before the dispute has ended: {again} in time, or the bond is lost")));
	};
	let Some(dispute) = ended else {
		return Err(CliError::Invalid(format!(
			"the dispute is not on the chain any more, and how it ended was not seen: {again} to look again"
		)));
	};
	println!("{}", dispute.state);
	match dispute.is_lost(&opened.who) {
		Some(true) => Ok(LOST),
		Some(false) => Ok(0),
		None => Err(CliError::Invalid(format!(
			"whether this account has won was not seen: its bond is back if nobody has taken it; {again} to look again"
		))),
	}
}

#[cfg(test)]
mod tests {
	use crate::cli::Cli;
	use clap::Parser;
	use neuroshard_inference::receipt::Transcript;

	fn refused(receipt: &std::path::Path) -> String {
		let base = tempfile::tempdir().unwrap();
		let arguments = ["neuroshard-worker", "dispute", receipt.to_str().unwrap(), "--base-path", base.path().to_str().unwrap()];
		let cli = Cli::try_parse_from(arguments).unwrap();
		tokio::runtime::Runtime::new().unwrap().block_on(super::super::run(cli)).unwrap_err().to_string()
	}

	#[test]
	fn what_is_no_signed_receipt_of_a_paid_answer_is_refused_before_a_node_is_asked() {
		let folder = tempfile::tempdir().unwrap();
		let file = folder.path().join("receipt.json");
		assert!(refused(&file).contains("receipt.json"));
		std::fs::write(&file, "{}").unwrap();
		assert!(refused(&file).contains("has no receipt"));
		let write = |transcript: &Transcript| std::fs::write(&file, serde_json::to_vec(transcript).unwrap()).unwrap();
		let transcript = neuroshard_fixtures::answers::answer().1;
		write(&Transcript { key: None, signature: None, ..transcript.clone() });
		assert!(refused(&file).contains("only answers of a run's model that a provider has signed"));
		let mut changed = transcript.clone();
		changed.receipt.price += 1;
		write(&changed);
		assert!(refused(&file).contains("signature"));
		let mut changed = transcript;
		changed.answer.pop();
		write(&changed);
		assert!(refused(&file).contains("the answer is not the one"));
	}
}
