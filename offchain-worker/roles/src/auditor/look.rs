//! Reading from the chain what an auditor needs.

use super::Auditor;
use crate::{
	memory::{free_beside_rounds, Needs},
	pace::MEASURED_BLOCKS,
	WorkerError,
};
use neuroshard_chain_client::{ChainAt, ChainError};
use neuroshard_types::{
	audit::{AuditPhase, AuditView},
	provider::{ProviderView, Role},
	run::{RunConfig, RunStatus},
	AccountId, Balance, BlockNumber, RunId,
};

/// Rules of audits that genesis has fixed.
#[derive(Clone, Copy, Default)]
pub(super) struct Rules {
	/// True if anybody is drawn, for work or for answers.
	pub(super) audited: bool,
	/// Challenge window, in blocks.
	pub(super) window: BlockNumber,
	/// Blocks for sealing the report on some work; `None` if no work is audited.
	pub(super) seal_time: Option<BlockNumber>,
}

/// Returns why running a round of this run again does not fit into the free memory; `None` if it does.
fn too_large(run: RunId, config: &RunConfig, leads: bool) -> Option<TooLarge> {
	match Needs::of(config).ok()?.check_case(free_beside_rounds(leads)) {
		Err(WorkerError::TooLittleMemory { needed, available }) => Some(TooLarge { run, needed, available }),
		_ => None,
	}
}

/// Efforts that audits of what can be drawn take on this machine.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Efforts {
	/// The longest one.
	pub(super) longest: Option<Longest>,
	/// One that does not fit into memory, if there is any.
	pub(super) too_large: Option<TooLarge>,
}

/// Time that a round takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Longest {
	/// A round of this run.
	pub(super) run: RunId,
	/// Milliseconds that it takes to run it again.
	pub(super) takes_ms: u64,
	/// Milliseconds until it has to be sealed.
	pub(super) has_ms: u64,
}

/// Round that does not fit into memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TooLarge {
	/// A round of this run.
	pub(super) run: RunId,
	/// Bytes that running it again takes.
	pub(super) needed: u64,
	/// Bytes that are available.
	pub(super) available: u64,
}

/// State of audits on chain.
pub(super) struct Seen {
	pub(super) now: BlockNumber,
	pub(super) rules: Rules,
	pub(super) provider: Option<ProviderView>,
	/// Free balance of whoever pays, in planck.
	pub(super) free: Balance,
	/// Part of it that must stay for disputes about reports, in planck; zero for whom nobody can draw.
	pub(super) reserve: Balance,
	/// Efforts of audits that it can be drawn for here.
	pub(super) efforts: Efforts,
	/// True if less than that is free, and a dispute is open that this account opened: its bond is on hold.
	pub(super) challenging: bool,
	pub(super) verifiers: Vec<AccountId>,
	/// True if this account is one of them, and was when a block was made that is finalized.
	pub(super) held: bool,
	/// Those of this account, the most urgent first.
	pub(super) audits: Vec<AuditView>,
	/// The same as the finalized block has them; empty if nobody asks for them.
	pub(super) finalized: Vec<AuditView>,
}

impl Auditor {
	pub(super) async fn look(&mut self) -> Result<Seen, ChainError> {
		let heads = self.client.heads().await?;
		let (at, now) = (self.client.at(heads.best).await?, heads.best.number);
		let Some(provider) = at.provider(&self.me).await? else {
			let (rules, verifiers, audits, finalized) = Default::default();
			return Ok(Seen {
				now,
				rules,
				provider: None,
				free: 0,
				reserve: 0,
				efforts: Efforts::default(),
				challenging: false,
				verifiers,
				held: false,
				audits,
				finalized,
			});
		};
		let rules = self.rules(&at).await?;
		let (free, verifiers) = (at.funds(self.submitter.signer()).await?.free, at.verifiers().await?);
		let held = verifiers.contains(&self.me)
			&& (self.place.is_held() || self.client.at(heads.finalized).await?.verifiers().await?.contains(&self.me));
		let audits = self.audits(&at).await?;
		let can_be_drawn = rules.audited && provider.info.roles.contains(Role::Verifier);
		let (reserve, efforts) = match can_be_drawn {
			true => self.efforts(&at, &audits, (&provider, rules)).await?,
			false => Default::default(),
		};
		let challenging = free < reserve && at.games_of(&self.me).await?.iter().any(|(_, challenger)| *challenger == self.me);
		let reporting = audits.iter().any(|audit| audit.phase == AuditPhase::Reporting && audit.report.is_none());
		let finalized = match reporting {
			true => self.audits(&self.client.at(heads.finalized).await?).await?,
			false => Vec::new(),
		};
		Ok(Seen { now, rules, provider: Some(provider), free, reserve, efforts, challenging, verifiers, held, audits, finalized })
	}

	async fn rules(&mut self, at: &ChainAt) -> Result<Rules, ChainError> {
		if let Some(known) = self.rules {
			return Ok(known);
		}
		let terms = at.audit_terms().await?;
		let audited = terms.share > 0 || at.answer_audit_terms().await?.share > 0;
		let seal_time = (terms.share > 0).then_some(terms.seal_time);
		let rules = Rules { audited, window: at.dispute_terms().await?.window, seal_time };
		self.rules = Some(rules);
		Ok(rules)
	}

	/// Returns the most that disputes about reports can cost, over all runs whose work can be drawn or was, and the efforts of what can be drawn.
	async fn efforts(
		&mut self,
		at: &ChainAt,
		audits: &[AuditView],
		(provider, rules): (&ProviderView, Rules),
	) -> Result<(Balance, Efforts), ChainError> {
		let (mut most, mut efforts) = (0, Efforts::default());
		let now = at.block().number;
		self.measure(at).await;
		// Who is too slow stays off the list for as long, and tries again then.
		self.samples.pace.forget_before(now.saturating_sub(rules.window));
		let (has_ms, status) = (rules.seal_time.and_then(|blocks| self.samples.pace.blocks_ms(blocks)), self.reporter.current());
		for (run, view) in at.run_views(at.runs().await?).await? {
			let (config, can_be_drawn) = (&view.config, view.approved && view.status == RunStatus::Active);
			if can_be_drawn || audits.iter().any(|audit| audit.run == run) {
				most = most.max(self.reserves.of(at, run, config).await?);
			}
			if let Some(speed) = status.tokens_per_second_alone.filter(|_| status.run == Some(run)) {
				self.samples.pace.note_training(run, config, speed, now);
			}
			if let Some(has_ms) = has_ms.filter(|_| can_be_drawn) {
				let takes_ms = self.samples.pace.audit_ms(run, config, config.train.inner_steps, provider.info.hardware.gflops.into());
				let longest = efforts.longest.into_iter().chain([Longest { run, takes_ms, has_ms }]);
				efforts.longest = longest.max_by_key(|audit| audit.takes_ms);
			}
			if can_be_drawn && rules.seal_time.is_some() && !self.in_files {
				efforts.too_large = efforts.too_large.or_else(|| too_large(run, config, self.leads));
			}
		}
		Ok((most, efforts))
	}

	/// Measures how long blocks take, now and then. A node may not have earlier states yet.
	async fn measure(&self, at: &ChainAt) {
		let now = at.block().number;
		if self.samples.pace.knows_blocks(now) {
			return;
		}
		let times = async {
			let before = self.client.block_at(now.saturating_sub(MEASURED_BLOCKS).max(1)).await?;
			Ok::<_, ChainError>(((before.number, self.client.at(before).await?.time().await?), (now, at.time().await?)))
		};
		match times.await {
			Ok((earlier, later)) => self.samples.pace.note_blocks(earlier, later),
			Err(error) => tracing::debug!("how long blocks take is not known yet: {error}"),
		}
	}

	async fn audits(&self, at: &ChainAt) -> Result<Vec<AuditView>, ChainError> {
		let mut audits = at.audits_of(&self.me).await?;
		audits.sort_by_key(|audit| audit.deadline);
		Ok(audits)
	}
}
