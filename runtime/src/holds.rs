//! Amounts that are on hold of all accounts together, for each reason.
//!
//! Our own pallets check what is on hold of every account that they know. Here is the other half: nothing is on hold of anybody else. And the
//! deposits of the SDK's pallets: those on hold, and what `pallet-assets` took for places among the holders of models, which is a reserve.

use crate::{
	origins::{CouncilCollective, TechnicalCollective},
	AccountId, Balance, Balances, Runtime, RuntimeHoldReason, System,
};
use alloc::{collections::BTreeMap, vec::Vec};
use codec::{DecodeAll, Encode};
use frame_support::{
	ensure,
	traits::{fungible::InspectHold, Get},
};
use pallet_assets::ExistenceReason;
use pallet_neuro_dataset::{Attestations, Challenges, Datasets, HoldReason as Dataset};
use pallet_neuro_disputes::{AnswerAudits, Games, HoldReason as Disputes};
use pallet_neuro_inference::{HoldReason as Inference, Offers, Sessions};
use pallet_neuro_ownership::Models;
use pallet_neuro_staking::{HoldReason as Staking, Providers};
use pallet_neuro_training::{HoldReason as Training, Runs};
use pallet_neuro_validators::{Candidates, HoldReason as Validators, Nominations};
use pallet_preimage::{HoldReason as Preimage, RequestStatus, RequestStatusFor};
use pallet_safe_mode::{Deposits as OfSafeMode, HoldReason as SafeMode};
use pallet_session::{HoldReason as Session, NextKeys};
use sp_runtime::TryRuntimeError;

/// The sum of some amounts. `None` if it is more than there can be.
fn sum(mut amounts: impl Iterator<Item = Balance>) -> Option<Balance> {
	amounts.try_fold(0, |sum: Balance, amount| sum.checked_add(amount))
}

/// Returns the amount on hold by tickets of the SDK, which store nothing but the amount and show it to nobody. `None` if it is more than there can be.
fn sum_of_tickets(tickets: impl Iterator<Item = impl Encode>) -> Option<Balance> {
	let amounts: Result<Vec<_>, _> = tickets.map(|ticket| Balance::decode_all(&mut &ticket.encode()[..])).collect();
	sum(amounts.ok()?.into_iter())
}

/// Checks that deposits, bonds and stakes add up to what is on hold for them. Where storage does not say what exactly is on hold, it checks what
/// storage does say:
///
/// - Models that outlive their runs: it is no more than the deposits of all of them. One whose first share came after that has none.
/// - Session keys: whoever has something on hold for them has keys, and one deposit. Keys of genesis have none.
/// - Motions: see [`motions_are_paid_for`].
pub fn are_all_known() -> Result<(), TryRuntimeError> {
	let holds: Vec<_> = pallet_balances::Holds::<Runtime>::iter_values().flatten().collect();
	let held = |reason: RuntimeHoldReason| sum(holds.iter().filter(|hold| hold.id == reason).map(|hold| hold.amount));
	let known: [(RuntimeHoldReason, Option<Balance>); 13] = [
		(Staking::Bond.into(), sum(Providers::<Runtime>::iter_values().map(|provider| provider.bond.total()))),
		(Validators::SelfBond.into(), sum(Candidates::<Runtime>::iter_values().map(|candidate| candidate.own.stake.total()))),
		(Validators::Nomination.into(), sum(Nominations::<Runtime>::iter_values().map(|nomination| nomination.stake.total()))),
		(Dataset::Manifest.into(), sum(Datasets::<Runtime>::iter_values().map(|dataset| dataset.deposit))),
		(Dataset::Attestation.into(), sum(Attestations::<Runtime>::iter_values().map(|attestation| attestation.deposit))),
		(Dataset::Challenge.into(), sum(Challenges::<Runtime>::iter_values().map(|challenge| challenge.bond))),
		(Training::Run.into(), sum(Runs::<Runtime>::iter_values().map(|run| run.deposit))),
		(Disputes::Challenge.into(), sum(Games::<Runtime>::iter_values().map(|game| game.bond))),
		(
			Disputes::Demand.into(),
			sum(AnswerAudits::<Runtime>::iter_values().filter_map(|audit| audit.demand().map(|demand| demand.deposit))),
		),
		(Inference::Offer.into(), sum(Offers::<Runtime>::iter_values().map(|standing| standing.deposit))),
		(Inference::Escrow.into(), sum(Sessions::<Runtime>::iter_values().map(|session| session.escrow))),
		(Preimage::Preimage.into(), deposits_of_preimages()),
		(SafeMode::EnterOrExtend.into(), sum(OfSafeMode::<Runtime>::iter_values())),
	];
	for (reason, known) in known {
		ensure!(known.is_some() && known == held(reason), "more or less is on hold than deposits, bonds and stakes add up to");
	}
	ensure!(held(Training::Model.into()) <= deposits_of_models(), "more is on hold for models than there are");
	only_keys_hold_deposits_of_keys()?;
	motions_are_paid_for::<CouncilCollective>(RuntimeHoldReason::Council(pallet_collective::HoldReason::ProposalSubmission))?;
	motions_are_paid_for::<TechnicalCollective>(RuntimeHoldReason::TechnicalCommittee(pallet_collective::HoldReason::ProposalSubmission))
}

fn deposits_of_preimages() -> Option<Balance> {
	sum_of_tickets(RequestStatusFor::<Runtime>::iter_values().filter_map(|status| match status {
		RequestStatus::Unrequested { ticket, .. } => Some(ticket.1),
		RequestStatus::Requested { maybe_ticket, .. } => maybe_ticket.map(|(_, ticket)| ticket),
	}))
}

fn only_keys_hold_deposits_of_keys() -> Result<(), TryRuntimeError> {
	let deposit = <Runtime as pallet_session::Config>::KeyDeposit::get();
	for (who, holds) in pallet_balances::Holds::<Runtime>::iter() {
		for hold in holds.iter().filter(|hold| hold.id == Session::Keys.into()) {
			let known = hold.amount == deposit && NextKeys::<Runtime>::contains_key(&who);
			ensure!(known, "more or less is on hold for session keys than their deposit");
		}
	}
	Ok(())
}

/// Checks that deposits of motions are on hold of who proposed them. More may be: when a motion is proposed anew before its deposit was released,
/// `pallet-collective` forgets that deposit, which then stays on hold.
fn motions_are_paid_for<Body: 'static>(reason: RuntimeHoldReason) -> Result<(), TryRuntimeError>
where
	Runtime: pallet_collective::Config<Body, AccountId = AccountId>,
{
	let mut tickets = BTreeMap::<AccountId, Vec<_>>::new();
	for (who, ticket) in pallet_collective::CostOf::<Runtime, Body>::iter_values() {
		tickets.entry(who).or_default().push(ticket);
	}
	for (who, tickets) in tickets {
		let held = Balances::balance_on_hold(&reason, &who);
		ensure!(sum_of_tickets(tickets.iter()).is_some_and(|deposits| deposits <= held), "less is on hold for motions than their deposits");
	}
	Ok(())
}

/// Checks that deposits for places among the holders of models are reserved of who paid them. What else is reserved beside holds does not say
/// what it is for.
pub fn places_are_paid_for() -> Result<(), TryRuntimeError> {
	let mut deposits = BTreeMap::<AccountId, Balance>::new();
	for (_, who, place) in pallet_assets::Account::<Runtime>::iter() {
		let (payer, deposit) = match place.reason {
			ExistenceReason::DepositHeld(deposit) => (who, deposit),
			ExistenceReason::DepositFrom(payer, deposit) => (payer, deposit),
			_ => continue,
		};
		let sum = deposits.entry(payer).or_default();
		*sum = sum.checked_add(deposit).ok_or("deposits for places exceed what there can be")?;
	}
	for (payer, deposits) in deposits {
		let held = sum(pallet_balances::Holds::<Runtime>::get(&payer).iter().map(|hold| hold.amount));
		let needed = held.and_then(|held| held.checked_add(deposits)).ok_or("deposits for places exceed what there can be")?;
		ensure!(System::account(&payer).data.reserved >= needed, "less is reserved than deposits for places add up to");
	}
	Ok(())
}

/// Deposits of all models that outlive their runs.
fn deposits_of_models() -> Option<Balance> {
	let deposit = <Runtime as pallet_neuro_training::Config>::ModelDeposit::get();
	sum(Models::<Runtime>::iter_keys().filter(|run| !Runs::<Runtime>::contains_key(run)).map(|_| deposit))
}
