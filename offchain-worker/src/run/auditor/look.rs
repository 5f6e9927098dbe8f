//! Reading from the chain what an auditor needs.

use super::Auditor;
use neuroshard_chain_client::{ChainAt, ChainError};
use neuroshard_types::{
	audit::{AuditPhase, AuditView},
	provider::{ProviderView, Role},
	run::RunStatus,
	AccountId, Balance, BlockNumber,
};

/// What genesis has fixed of audits.
#[derive(Clone, Copy, Default)]
pub(super) struct Rules {
	/// Whether anybody is drawn, for work or for answers.
	pub(super) audited: bool,
	/// Challenge window, in blocks.
	pub(super) window: BlockNumber,
}

/// What the chain says of audits.
pub(super) struct Seen {
	pub(super) now: BlockNumber,
	pub(super) rules: Rules,
	pub(super) provider: Option<ProviderView>,
	/// Free balance of whoever pays, in planck.
	pub(super) free: Balance,
	/// What of it must stay for disputes about reports, in planck; zero for whom nobody can draw.
	pub(super) reserve: Balance,
	/// Whether less than that is free, and a dispute is open that this account opened: its bond is on hold.
	pub(super) challenging: bool,
	pub(super) verifiers: Vec<AccountId>,
	/// Whether this account is one of them, and was when a block was made that is finalized.
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
		let reserve = if can_be_drawn { self.reserve(&at, &audits).await? } else { 0 };
		let challenging = free < reserve && at.games_of(&self.me).await?.iter().any(|(_, challenger)| *challenger == self.me);
		let reporting = audits.iter().any(|audit| audit.phase == AuditPhase::Reporting && audit.report.is_none());
		let finalized = match reporting {
			true => self.audits(&self.client.at(heads.finalized).await?).await?,
			false => Vec::new(),
		};
		Ok(Seen { now, rules, provider: Some(provider), free, reserve, challenging, verifiers, held, audits, finalized })
	}

	async fn rules(&mut self, at: &ChainAt) -> Result<Rules, ChainError> {
		if let Some(known) = self.rules {
			return Ok(known);
		}
		let audited = at.audit_terms().await?.share > 0 || at.answer_audit_terms().await?.share > 0;
		let rules = Rules { audited, window: at.dispute_terms().await?.window };
		self.rules = Some(rules);
		Ok(rules)
	}

	/// What disputes about reports can cost: the most of all runs whose work can be drawn, or was.
	async fn reserve(&mut self, at: &ChainAt, audits: &[AuditView]) -> Result<Balance, ChainError> {
		let mut most = 0;
		for (run, view) in at.run_views(at.runs().await?).await? {
			if view.approved && view.status == RunStatus::Active || audits.iter().any(|audit| audit.run == run) {
				most = most.max(self.reserves.of(at, run, &view.config).await?);
			}
		}
		Ok(most)
	}

	async fn audits(&self, at: &ChainAt) -> Result<Vec<AuditView>, ChainError> {
		let mut audits = at.audits_of(&self.me).await?;
		audits.sort_by_key(|audit| audit.deadline);
		Ok(audits)
	}
}
