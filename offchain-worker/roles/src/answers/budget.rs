//! Budget of this account for demands: of each provider no more than its stake is worth, and nothing that it does not have.
//!
//! Whoever demands a text that is delivered then loses half of its deposit, and the provider as much. What may be gained is half of what the provider has at stake,
//! so that a part of it bounds what a provider that hands nothing over can make its auditors spend.

use neuroshard_chain_client::{answer_audits::demand, ChainAt, ChainError, Neuro, Submitter};
use neuroshard_types::{answer_audit::AnswerAuditView, AccountId, Balance, BlockNumber};
use std::collections::{BTreeMap, BTreeSet};

/// Blocks in which so much is spent on a provider: a day of three seconds each.
const PERIOD: BlockNumber = 28_800;
/// The part of a provider's stake that is spent on demands of its texts in that time. One demand always is.
const PART: Balance = 100;

/// Amount that was spent.
#[derive(Default)]
pub(super) struct Budget {
	/// Blocks of the demands of a provider's texts.
	demands: BTreeMap<AccountId, Vec<BlockNumber>>,
	/// Providers of which it was said that nothing more is demanded.
	told: BTreeSet<AccountId>,
	/// True if it was said that this account has too little.
	poor: bool,
}

/// Demands of the texts of a provider with this stake in a [`PERIOD`]; a demand holds `deposit`.
fn most(stake: Balance, deposit: Balance) -> Balance {
	// Half of a deposit is burned.
	(stake / PART).saturating_mul(2).checked_div(deposit).unwrap_or(Balance::MAX).max(1)
}

impl Budget {
	/// Returns whether the text of an answer is demanded by `submitter` now. Says once why it is not.
	///
	/// # Errors
	/// If the chain cannot be asked.
	pub(super) async fn allows(&mut self, at: &ChainAt, submitter: &Submitter, audit: &AnswerAuditView) -> Result<bool, ChainError> {
		let (provider, now, deposit) = (&audit.answer.provider, at.block().number, at.answer_audit_terms().await?.deposit);
		self.demands.retain(|_, blocks| {
			blocks.retain(|block| block.saturating_add(PERIOD) > now);
			!blocks.is_empty()
		});
		let stake = at
			.provider(provider)
			.await?
			.map_or(0, |provider| provider.unbonding.iter().fold(provider.bonded, |sum, part| sum.saturating_add(part.amount)));
		let demands = self.demands.get(provider).map_or(0, Vec::len);
		if Balance::try_from(demands).unwrap_or(Balance::MAX) >= most(stake, deposit) {
			if self.told.insert(provider.clone()) {
				tracing::warn!(
					"{provider} hands over no texts: {demands} of them were demanded on chain, and more are not before a day is over, since {} at stake is not worth it",
					Neuro(stake)
				);
			}
			return Ok(false);
		}
		self.told.remove(provider);
		let fee = at.fee(&demand(audit.answer.clone())).await?;
		let needed = deposit.saturating_add(at.existential_deposit()?).saturating_add(fee);
		let free = at.funds(submitter.signer()).await?.free;
		if free < needed && !std::mem::replace(&mut self.poor, true) {
			let who = submitter.signer();
			tracing::error!(
				"{who} has {} free, and demanding the text of an answer takes {}: texts that are not handed over are demanded when it has that",
				Neuro(free),
				Neuro(needed)
			);
		}
		self.poor = free < needed;
		Ok(!self.poor)
	}

	/// Notes that a text of `provider` was demanded in a block.
	pub(super) fn note(&mut self, provider: &AccountId, block: BlockNumber) {
		self.demands.entry(provider.clone()).or_default().push(block);
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::NEURO;

	#[test]
	fn a_hundredth_of_the_stake_is_spent_and_one_demand_always() {
		for (stake, demands) in [(0, 1), (5 * NEURO, 1), (100 * NEURO, 2), (1_000 * NEURO, 20), (1_049 * NEURO, 20)] {
			assert_eq!(most(stake, NEURO), demands, "{stake}");
		}
		assert_eq!(most(NEURO, 0), Balance::MAX);
	}

	#[test]
	fn a_budget_is_for_a_day_of_the_chain() {
		assert_eq!(PERIOD, neuroshard_runtime::DAYS);
	}
}
