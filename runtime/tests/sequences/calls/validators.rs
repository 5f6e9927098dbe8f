//! Candidates, nominators, session keys, and offences.

use super::{
	governance::{at_once, Body},
	signed, Act, Deed,
};
use crate::sequences::chain::ACTORS;
use codec::Encode;
use neuroshard_runtime::{offences::DisableAndSlash, AccountId, Runtime, SessionKeys};
use pallet_neuro_validators::{Call, Nominations};
use sp_core::{ed25519, proof_of_possession::ProofOfPossessionGenerator, sr25519, Pair};
use sp_runtime::Perbill;

pub fn deed(act: &Act) -> Deed {
	let (candidate, amount) = (act.other(), act.value());
	let commission = Perbill::from_percent(u32::from(act.small) % 101);
	match act.what % 24 {
		0..=2 => act.mine(Call::bond { amount, commission }),
		3 => act.mine(Call::bond_extra { amount }),
		4 => act.mine(Call::unbond { amount }),
		5 | 6 => act.mine(Call::withdraw_unbonded {}),
		7 => act.mine(Call::chill {}),
		8 | 9 => act.mine(Call::activate {}),
		10 => act.mine(Call::set_commission { commission }),
		11..=13 => act.mine(Call::nominate { candidate, amount }),
		14 => {
			let nominated = Nominations::<Runtime>::iter().map(|(candidate, who, nomination)| (candidate, who, nomination.stake.active));
			let (candidate, who, active) = act.one_of(nominated)?;
			signed(who, Call::unnominate { candidate, amount: act.part(active) })
		}
		15 => {
			let (candidate, who) = act.one_of(Nominations::<Runtime>::iter_keys())?;
			signed(who, Call::withdraw_nomination { candidate })
		}
		16..=18 => act.mine(Call::claim_rewards { candidate }),
		19 => at_once(Body::Council, Call::set_validator_count { count: u32::from(act.small % 8) }),
		20 | 21 => set_keys(act),
		22 if act.is_one_in(8) => act.mine(pallet_session::Call::purge_keys {}),
		23 if act.is_one_in(4) => {
			equivocate(&act.one_of(pallet_session::Pallet::<Runtime>::validators())?, commission);
			None
		}
		_ => None,
	}
}

/// Number `change` of the session keys of an actor.
fn pairs(actor: usize, change: u8) -> (sr25519::Pair, ed25519::Pair) {
	let seed = format!("{}//{change}", ACTORS[actor % ACTORS.len()].to_seed());
	let failed = "a seed and a number make a key";
	(sr25519::Pair::from_string(&seed, None).expect(failed), ed25519::Pair::from_string(&seed, None).expect(failed))
}

/// The session keys that an actor has at first.
pub fn session_keys(actor: usize) -> SessionKeys {
	public(&pairs(actor, 0))
}

fn public((babe, grandpa): &(sr25519::Pair, ed25519::Pair)) -> SessionKeys {
	SessionKeys { babe: babe.public().into(), grandpa: grandpa.public().into() }
}

/// Other session keys, or the same again, with the proof that they are its own.
fn set_keys(act: &Act) -> Deed {
	let mut pairs = pairs(act.who.into(), act.small % 3);
	let owner = act.me().encode();
	let keys = public(&pairs);
	let proof = (pairs.0.generate_proof_of_possession(&owner), pairs.1.generate_proof_of_possession(&owner)).encode();
	act.mine(pallet_session::Call::set_keys { keys, proof })
}

/// `who`, if it is a validator now and not the author of this block, is reported for an offence that costs this much.
fn equivocate(who: &AccountId, fraction: Perbill) {
	use sp_staking::offence::{OffenceDetails, OnOffenceHandler};
	// Nobody reports itself: the block would be thrown away with the report.
	if pallet_authorship::Pallet::<Runtime>::author().as_ref() == Some(who) {
		return;
	}
	let session = pallet_session::CurrentIndex::<Runtime>::get();
	let elected = pallet_neuro_validators::Exposures::<Runtime>::get(session);
	let Some((_, exposure)) = elected.into_iter().find(|(validator, _)| validator == who) else { return };
	let details = OffenceDetails { offender: (who.clone(), exposure), reporters: Vec::new() };
	DisableAndSlash::on_offence(&[details], &[fraction], session);
}
