//! Paid inference: offers, those who agree to them, sessions, and vouchers.

use super::{answers, providers::genesis, signed, Act, Deed};
use neuroshard_runtime::{AccountId, Inference, Runtime, Staking, Training};
use neuroshard_types::{
	inference::{CheckpointId, Class, Offer, Prices, SessionId, Span, Voucher},
	provider::Role,
	traits::Providers as _,
};
use pallet_neuro_inference::{Call, Offers, Sessions};
use pallet_neuro_staking::Providers;
use pallet_neuro_training::Runs;
use sp_keyring::Sr25519Keyring;

pub fn deed(act: &Act) -> Deed {
	match act.what % 28 {
		0..=2 => {
			let driver = act.one_of(active(Role::Driver)).filter(|_| !act.is_one_in(8)).unwrap_or_else(|| act.me());
			let offer = offer(act, driver.clone())?;
			signed(driver, Call::offer { offer })
		}
		3 | 4 => {
			let missing = Offers::<Runtime>::iter().flat_map(|(driver, standing)| {
				let members = standing.offer.members(&driver).into_iter().filter(move |who| !standing.consents.contains(who));
				members.map(move |who| (who, driver.clone(), standing.hash))
			});
			let (who, driver, offer_hash) = act.one_of(missing)?;
			signed(who, Call::join { driver, offer_hash })
		}
		5 if act.is_one_in(2) => {
			let agreed = Offers::<Runtime>::iter()
				.flat_map(|(driver, standing)| standing.consents.into_iter().map(move |who| (who, driver.clone())));
			let (who, driver) = act.one_of(agreed)?;
			signed(who, Call::leave { driver })
		}
		6 if act.is_one_in(2) => signed(act.one_of(Offers::<Runtime>::iter_keys())?, Call::withdraw_offer {}),
		7..=9 => {
			let provider = act.one_of(Offers::<Runtime>::iter_keys()).filter(|_| !act.is_one_in(3));
			act.mine(Call::open_session { provider, escrow: act.value() })
		}
		10 => {
			let (session, user) = act.one_of(Sessions::<Runtime>::iter().map(|(id, session)| (id, session.user)))?;
			signed(user, Call::top_up { session, amount: act.value() })
		}
		11..=15 => claim(act),
		16 | 17 => {
			let (session, user, provider) =
				act.one_of(Sessions::<Runtime>::iter().map(|(id, session)| (id, session.user, session.provider)))?;
			signed(provider.filter(|_| act.is_one_in(2)).unwrap_or(user), Call::close_session { session })
		}
		18 | 19 => act.mine(Call::settle { session: session(act)? }),
		_ => answers::deed(act),
	}
}

/// Returns the accounts that offer a role and are active.
fn active(role: Role) -> impl Iterator<Item = AccountId> {
	Providers::<Runtime>::iter_keys().filter(move |who| Staking::is_active(who, role))
}

fn session(act: &Act) -> Option<SessionId> {
	act.one_of(Sessions::<Runtime>::iter_keys())
}

/// An offer of the newest checkpoint of some run: alone, or with somebody who computes everything once more.
fn offer(act: &Act, driver: AccountId) -> Option<Offer> {
	let run = act.one_of(Runs::<Runtime>::iter_keys())?;
	let view = Training::run(run)?;
	let layers = u16::try_from(view.config.model.layers).ok()?;
	let other = act.one_of(active(Role::Worker).filter(|who| *who != driver)).filter(|_| !act.amount.is_multiple_of(3));
	let ring: Vec<_> = [Some(driver), other].into_iter().flatten().map(|who| Span { who, first: 0, layers }).collect();
	Some(Offer {
		checkpoint: CheckpointId { run, round: view.rounds_adopted, root: view.checkpoint },
		class: Class::ExactF32,
		prices: Prices { prompt: 1, generated: act.small.into() },
		redundancy: u8::try_from(ring.len()).expect("few"),
		endpoint: b"http://127.0.0.1".to_vec().try_into().expect("short"),
		ring: ring.try_into().expect("few"),
	})
}

/// Somebody with an offer is paid, mostly by a voucher of the session's user.
fn claim(act: &Act) -> Deed {
	let (id, session) = act.one_of(Sessions::<Runtime>::iter())?;
	let provider = session.provider.or_else(|| act.one_of(Offers::<Runtime>::iter_keys()))?;
	let before = Inference::claimed(id, provider.clone());
	let amount = before.paid.saturating_add(act.value());
	let answers = before.answers.saturating_add(u32::from(act.small % 4));
	let receipts = answers::root(&provider, id, answers);
	let voucher = Voucher { session: id, provider: provider.clone(), amount, answers, receipts };
	let signer = if act.is_one_in(8) { act.other() } else { session.user };
	let signature = Sr25519Keyring::from_account_id(&signer)?.sign(&voucher.message(genesis())).into();
	signed(provider, Call::claim { session: id, voucher, signature })
}
