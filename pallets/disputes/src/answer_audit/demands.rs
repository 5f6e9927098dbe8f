//! Texts: auditors demand them, and providers deliver them or lose.

use super::{AnswerAudit, Demand, TextOf};
use crate::{AnswerAudits, Config, DeliverTime, Demands, DemandsSpan, Error, Event, HoldReason, Pallet, WeightInfo};
use frame_support::{
	defensive, ensure,
	storage::with_storage_layer,
	traits::{
		fungible::{Inspect, Mutate, MutateHold},
		tokens::{Fortitude, Precision, Preservation},
		Get,
	},
	weights::Weight,
};
use frame_system::pallet_prelude::BlockNumberFor;
use neuroshard_graph::{answer::MAX_TEXT, game::open_answer};
use neuroshard_types::{
	answer_audit::AnswerId,
	dispute::{AnswerClaim, ClaimId, ClaimKind, Claims},
	grounds::Grounds,
	inference::{chained, Receipt, Tokens},
	proof::ProofSignature,
	traits::{Providers, SlashTo},
	AccountId, Balance, RunId, H256,
};
use sp_runtime::{traits::Zero, DispatchResult};

/// Most demands whose time is over that are looked at in one block; the rest follows in the next blocks.
pub(crate) const MAX_ENDED: u32 = 16;

/// Delivery of a provider: a text, and the proof that it is the one that was paid for.
#[derive(Clone, Copy)]
pub(crate) struct Handed<'a> {
	pub receipt: &'a Receipt,
	pub signature: &'a ProofSignature,
	/// Root of the receipts of the answers before.
	pub before: H256,
	/// Hashes of those behind it.
	pub later: &'a [H256],
	pub prompt: &'a [u32],
	pub answer: &'a [u32],
}

/// Returns the number of tokens that are handed over, and of hashes of later receipts.
pub(crate) fn size(prompt: &[u32], answer: &[u32], later: &[H256]) -> (u32, u32) {
	let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
	(count(prompt.len()).saturating_add(count(answer.len())), count(later.len()))
}

impl Handed<'_> {
	/// Returns whether its tokens are those of the receipt.
	fn has_text(&self) -> bool {
		Tokens::of(self.prompt) == self.receipt.prompt && Tokens::of(self.answer) == self.receipt.answer
	}

	/// Root of all receipts, with the hash of its own.
	fn root(&self, receipt: H256) -> H256 {
		self.later.iter().fold(chained(self.before, receipt), |root, later| chained(root, *later))
	}
}

impl<T: Config> Pallet<T> {
	/// The audit of an answer, as long as it is open.
	pub(crate) fn open_answer_audit(answer: &AnswerId) -> Option<AnswerAudit> {
		AnswerAudits::<T>::get(answer).filter(|audit| Self::now() < audit.closes_at)
	}

	/// See [`crate::Call::demand_answer`].
	pub(crate) fn do_demand(payer: AccountId, answer: AnswerId) -> DispatchResult {
		let auditor = T::Providers::acts_for(payer.clone());
		let audit = Self::open_answer_audit(&answer).filter(|audit| audit.auditor == auditor);
		let mut audit = audit.ok_or(Error::<T>::NotDrawnForAnswer)?;
		ensure!(audit.text == TextOf::Undemanded, Error::<T>::AlreadyDemanded);
		ensure!(!Self::is_session_condemned(answer.session, &answer.provider), Error::<T>::Condemned);
		ensure!(Self::now() <= audit.demand_by, Error::<T>::DemandOver);
		Self::ensure_has_say(&auditor)?;
		let (deposit, deadline) = (T::DemandDeposit::get(), Self::now().saturating_add(DeliverTime::<T>::get()));
		T::Currency::hold(&HoldReason::Demand.into(), &payer, deposit)?;
		audit.text = TextOf::Demanded(Demand { payer, deposit, deadline });
		AnswerAudits::<T>::insert(&answer, audit);
		DemandsSpan::<T>::mutate(|span| Demands::<T>::insert(span.append(), &answer));
		Self::deposit_event(Event::AnswerDemanded { answer, auditor, deposit, deadline });
		Ok(())
	}

	/// The audit for which `answer.provider` may hand this over now, and the demand that it meets.
	pub(crate) fn to_deliver(answer: &AnswerId, handed: &Handed<'_>) -> Result<(AnswerAudit, Demand), Error<T>> {
		let audit = AnswerAudits::<T>::get(answer).ok_or(Error::<T>::NotDemanded)?;
		let demand = audit.demand().filter(|demand| Self::now() <= demand.deadline).cloned().ok_or(Error::<T>::NotDemanded)?;
		ensure!(!Self::is_session_condemned(answer.session, &answer.provider), Error::<T>::NotDemanded);
		let receipt = handed.receipt;
		ensure!(receipt.paid == Some((answer.session, answer.place)), Error::<T>::WrongReceipts);
		ensure!(receipt.provider.as_ref() == Some(&answer.provider), Error::<T>::NotSigned);
		// Nothing is hashed before this: few hashes, and no more tokens than anybody can dispute.
		let (tokens, later) = size(handed.prompt, handed.answer, handed.later);
		ensure!(later == audit.answers.saturating_sub(answer.place).saturating_sub(1), Error::<T>::WrongReceipts);
		ensure!(tokens <= MAX_TEXT && handed.has_text(), Error::<T>::WrongText);
		let genesis = frame_system::Pallet::<T>::block_hash(BlockNumberFor::<T>::zero());
		// What nobody could dispute is not what was paid for, whatever it says.
		ensure!(Self::is_disputable(receipt, audit.checkpoint.run, genesis), Error::<T>::Undisputable);
		ensure!(handed.root(receipt.hash(genesis)) == audit.receipts, Error::<T>::WrongReceipts);
		let key = T::Providers::ponw_key(&answer.provider).ok_or(Error::<T>::NotSigned)?;
		ensure!(receipt.is_signed(genesis, key, handed.signature), Error::<T>::NotSigned);
		Ok((audit, demand))
	}

	/// Returns whether an answer is not false by its settings alone, and a game can be opened about it, if it has any choice to doubt. The run that is `offered`
	/// may have been removed since.
	fn is_disputable(receipt: &Receipt, offered: RunId, genesis: H256) -> bool {
		let Some(ClaimId { run, round, .. }) = receipt.claim(genesis) else { return false };
		if receipt.sampling.validate().is_err() {
			return false;
		}
		let Some(config) = T::Claims::config(run) else { return run == offered };
		if receipt.claimed(&config.tokenizer.tokens).choices() == 0 {
			return true;
		}
		let grounds = Grounds::Answer { round, claim: AnswerClaim { config, receipt: receipt.clone() } };
		grounds.judge(|setting| open_answer(setting, 0)).is_ok()
	}

	/// See [`crate::Call::deliver_answer`].
	pub(crate) fn do_deliver(by: &AccountId, answer: AnswerId, handed: &Handed<'_>) -> DispatchResult {
		let (mut audit, Demand { payer, deposit, .. }) = Self::to_deliver(&answer, handed)?;
		// Nobody can prove who of both has failed the other one before. So it costs both as much, and who demands never more than who has delivered.
		let half = deposit.saturating_div(2);
		let taken = Self::charge(by, &answer.provider, deposit.saturating_sub(half));
		let (reason, part) = (HoldReason::Demand.into(), half.min(taken));
		let ended = with_storage_layer(|| {
			T::Currency::burn_held(&reason, &payer, part, Precision::Exact, Fortitude::Force)?;
			T::Currency::release(&reason, &payer, deposit.saturating_sub(part), Precision::Exact)
		});
		let burned = match ended {
			Ok(_) => part.saturating_add(taken),
			Err(_) => {
				defensive!("a deposit that is on hold was not ended");
				taken
			}
		};
		audit.text = TextOf::Delivered(Self::now());
		let auditor = audit.auditor.clone();
		AnswerAudits::<T>::insert(&answer, audit);
		Self::deposit_event(Event::AnswerDelivered { answer, auditor, burned });
		Ok(())
	}

	/// Burns `amount` of what `by` can spend, and of what `provider` has at stake only what is missing. A stake that falls below the least one costs the provider
	/// its roles and an auditor its say: nobody is to bring that about by a demand. As much as a deposit is left to `by`, for the fees of what is demanded next:
	/// who cannot pay for these loses all that is at stake. Returns what was burned.
	fn charge(by: &AccountId, provider: &AccountId, amount: Balance) -> Balance {
		let (preservation, precision, force) = (Preservation::Preserve, Precision::BestEffort, Fortitude::Polite);
		let spendable = T::Currency::reducible_balance(by, preservation, force).saturating_sub(T::DemandDeposit::get());
		let due = amount.min(spendable);
		let paid = with_storage_layer(|| T::Currency::burn_from(by, due, preservation, precision, force)).unwrap_or(0);
		let missing = amount.saturating_sub(paid);
		if missing.is_zero() {
			return paid;
		}
		paid.saturating_add(T::Providers::slash(provider, missing, SlashTo::Burn))
	}

	/// Ends demands whose time is over, earliest first. Returns the weight.
	pub(crate) fn end_demands() -> Weight {
		let (now, mut span) = (Self::now(), DemandsSpan::<T>::get());
		let (mut seen, mut ended) = (0u32, 0u32);
		while let Some(number) = span.oldest().filter(|_| seen < MAX_ENDED) {
			let found = Demands::<T>::get(number).and_then(|answer| Some((AnswerAudits::<T>::get(&answer)?, answer)));
			if let Some((audit, answer)) = found {
				match audit.demand().cloned() {
					// All later ones end later.
					Some(demand) if now <= demand.deadline => break,
					Some(demand) => {
						Self::end_demand(answer, audit, demand);
						ended = ended.saturating_add(1);
					}
					None => {}
				}
			}
			Demands::<T>::remove(number);
			span.pass();
			seen = seen.saturating_add(1);
		}
		if seen > 0 {
			DemandsSpan::<T>::put(span);
		}
		T::WeightInfo::end_demands(seen).saturating_add(T::WeightInfo::end_demand().saturating_mul(ended.into()))
	}

	/// A text was not delivered in time: the provider loses as one that is late in a game, unless it has lost in this session already.
	fn end_demand(answer: AnswerId, audit: AnswerAudit, demand: Demand) {
		let Demand { payer, deposit, .. } = demand;
		let reason = HoldReason::Demand.into();
		let released = with_storage_layer(|| T::Currency::release(&reason, &payer, deposit, Precision::Exact));
		if released != Ok(deposit) {
			defensive!("a deposit that is on hold was not released");
		}
		let auditor = audit.auditor.clone();
		let claim = ClaimId {
			run: audit.checkpoint.run,
			round: audit.checkpoint.round,
			kind: ClaimKind::Answer(audit.receipts),
			who: answer.provider.clone(),
		};
		AnswerAudits::<T>::insert(&answer, AnswerAudit { text: TextOf::Withheld, ..audit });
		let (mut rewarded, mut burned) = (0, 0);
		if !Self::is_session_condemned(answer.session, &answer.provider) {
			let loss = Self::slash(&answer.provider, &auditor);
			(rewarded, burned) = (loss.rewarded, loss.burned);
			Self::condemn_session(answer.session, &answer.provider);
			Self::condemn(&claim, &claim.who);
		}
		Self::deposit_event(Event::AnswerWithheld { answer, auditor, rewarded, burned });
	}
}
