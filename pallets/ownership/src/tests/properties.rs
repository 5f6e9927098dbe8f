//! Whatever happens in whatever order: holders have earned what a model says that keeps everybody's shares at every revenue, not a planck is
//! lost or made, and on deposit is what the places cost that no work made.

use crate::{mock::*, Call, Holdings, Models, FRACTION_BITS};
use frame_support::traits::fungible::Inspect as _;
use neuroshard_types::{traits::FinalWork, AccountId, Balance, RunId};
use pallet_assets::Call as Wallet;
use proptest::prelude::*;
use sp_core::U256;
use std::collections::{BTreeMap, BTreeSet};

/// Something that may happen to one of two models, by or to some of four accounts.
#[derive(Clone, Debug)]
enum Step {
	/// Work of so many units.
	Work(u8, u128),
	Revenue(Balance),
	Claim(u8),
	Enrol(u8, u128),
	Release(u8, u128),
	/// From, to and shares.
	Transfer(u8, u8, u128),
	/// A plain transfer with `pallet-assets`.
	Wallet(u8, u8, u128),
	/// All that can be sent, with `pallet-assets`.
	WalletAll(u8, u8),
	/// The first one pays the deposit for a place of the second one.
	Place(u8, u8),
	/// The first one wants it back.
	Refund(u8, u8),
}

fn step() -> impl Strategy<Value = (RunId, Step)> {
	let (who, with_money) = (|| 0u8..4, || 0u8..3);
	let shares = || prop_oneof![4 => 0..300u128, 1 => 0..1_000_000u128, 1 => Just(1)];
	let amount = prop_oneof![3 => 1..50u128, 2 => 1..1_000_000u128, 1 => 1..(1u128 << 80)];
	let step = prop_oneof![
		3 => (who(), prop_oneof![0..300u128, 0..1_000_000u128]).prop_map(|(who, units)| Step::Work(who, units)),
		5 => amount.prop_map(Step::Revenue),
		3 => who().prop_map(Step::Claim),
		3 => (who(), shares()).prop_map(|(who, shares)| Step::Enrol(who, shares)),
		3 => (who(), shares()).prop_map(|(who, shares)| Step::Release(who, shares)),
		3 => (who(), who(), shares()).prop_map(|(from, to, shares)| Step::Transfer(from, to, shares)),
		3 => (who(), who(), shares()).prop_map(|(from, to, shares)| Step::Wallet(from, to, shares)),
		1 => (who(), who()).prop_map(|(from, to)| Step::WalletAll(from, to)),
		2 => (with_money(), who()).prop_map(|(payer, to)| Step::Place(payer, to)),
		2 => (who(), who()).prop_map(|(payer, to)| Step::Refund(payer, to)),
	];
	(0u32..2, step)
}

fn nth(who: u8) -> AccountId {
	[ALICE, BOB, CAROL, NOBODY][usize::from(who)].clone()
}

/// Shares of an account.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Shares {
	earning: u128,
	free: u128,
}

/// A model, naively: who had what at every revenue.
#[derive(Clone, Default)]
struct Naive {
	/// True if there ever was a share.
	exists: bool,
	shares: BTreeMap<u8, Shares>,
	/// Accounts that have a place among the holders, each with the one that paid the deposit for it; nobody did if it came by work.
	places: BTreeMap<u8, Option<u8>>,
	/// Every revenue with the shares that earned then.
	history: Vec<(Balance, BTreeMap<u8, u128>)>,
}

impl Naive {
	fn of(&mut self, who: u8) -> &mut Shares {
		self.shares.entry(who).or_default()
	}

	fn earning(&self) -> u128 {
		self.shares.values().map(|shares| shares.earning).sum()
	}

	/// Applies a step, if it is possible. Places of work are gone with their last share.
	fn apply(&mut self, step: &Step) -> bool {
		let done = self.apply_to_shares(step);
		let Self { places, shares, .. } = self;
		places.retain(|who, payer| payer.is_some() || shares.get(who).is_some_and(|shares| *shares != Shares::default()));
		done
	}

	fn apply_to_shares(&mut self, step: &Step) -> bool {
		match *step {
			Step::Work(who, units) => {
				self.exists |= units > 0;
				self.of(who).earning += units;
				self.places.entry(who).or_default();
			}
			Step::Revenue(amount) => {
				if self.earning() == 0 {
					return false;
				}
				let earning = self.shares.iter().map(|(who, shares)| (*who, shares.earning)).collect();
				self.history.push((amount, earning));
			}
			Step::Claim(_) => {}
			Step::Enrol(who, shares) => {
				if shares == 0 || self.of(who).free < shares {
					return false;
				}
				self.of(who).free -= shares;
				self.of(who).earning += shares;
			}
			Step::Release(who, shares) => {
				if shares == 0 || self.of(who).earning < shares {
					return false;
				}
				self.of(who).earning -= shares;
				self.of(who).free += shares;
			}
			Step::Transfer(from, to, shares) => {
				if shares == 0 || self.of(from).earning < shares || !self.places.contains_key(&to) {
					return false;
				}
				self.of(from).earning -= shares;
				self.of(to).earning += shares;
			}
			Step::Wallet(from, to, shares) => {
				if self.of(from).free < shares || !self.places.contains_key(&to) {
					return false;
				}
				self.of(from).free -= shares;
				self.of(to).free += shares;
			}
			Step::WalletAll(from, to) => {
				if !self.places.contains_key(&to) {
					return false;
				}
				let shares = core::mem::take(&mut self.of(from).free);
				self.of(to).free += shares;
			}
			Step::Place(payer, to) => {
				if !self.exists || self.places.contains_key(&to) {
					return false;
				}
				self.places.insert(to, Some(payer));
			}
			Step::Refund(payer, to) => {
				if self.places.get(&to) != Some(&Some(payer)) || *self.of(to) != Shares::default() {
					return false;
				}
				self.places.remove(&to);
			}
		}
		true
	}

	/// Returns an account that has no shares that earn any more after a possible step, or has none in the middle of one.
	fn leaver(&self, step: &Step) -> Option<u8> {
		match *step {
			Step::Release(who, shares) | Step::Transfer(who, _, shares) => {
				self.shares.get(&who).is_some_and(|has| has.earning == shares).then_some(who)
			}
			_ => None,
		}
	}

	/// For how many places `payer` has paid.
	fn paid_by(&self, payer: u8) -> u128 {
		self.places.values().map(|paid| u128::from(*paid == Some(payer))).sum()
	}

	/// Returns the amount that `who` should have earned, in units of 2^-96 planck, rounded down once for each revenue.
	fn earned(&self, who: u8) -> U256 {
		let part = |(amount, earning): &(Balance, BTreeMap<u8, u128>)| {
			let mine = earning.get(&who).copied().unwrap_or_default();
			// At most 2^80 x 2^30 x 2^96.
			((U256::from(*amount) * U256::from(mine)) << FRACTION_BITS) / U256::from(earning.values().sum::<u128>())
		};
		self.history.iter().map(part).fold(U256::zero(), |sum, part| sum + part)
	}
}

/// Sends a step to the chain and says whether it was taken. Shares that wallets send are those of `pallet-assets`.
fn perform(id: RunId, step: &Step) -> bool {
	let done = match *step {
		Step::Work(who, units) => {
			Ownership::final_work(&nth(who), id, units);
			Ok(())
		}
		Step::Revenue(amount) => send(&PAYER, Call::deposit_revenue { model: id, amount }),
		Step::Claim(who) => send(&PAYER, Call::claim_for { who: nth(who), model: id }),
		Step::Enrol(who, shares) => send(&nth(who), Call::enrol { model: id, shares }),
		Step::Release(who, shares) => send(&nth(who), Call::release { model: id, shares }),
		Step::Transfer(from, to, shares) => send(&nth(from), Call::transfer { model: id, to: nth(to), shares }),
		Step::Wallet(from, to, shares) => {
			let target = nth(to);
			send(&nth(from), Wallet::<Test>::transfer { id, target, amount: shares })
		}
		Step::WalletAll(from, to) => {
			let dest = nth(to);
			send(&nth(from), Wallet::<Test>::transfer_all { id, dest, keep_alive: false })
		}
		Step::Place(payer, to) => send(&nth(payer), Wallet::<Test>::touch_other { id, who: nth(to) }),
		Step::Refund(payer, to) if payer == to => send(&nth(to), Wallet::<Test>::refund { id, allow_burn: false }),
		Step::Refund(payer, to) => send(&nth(payer), Wallet::<Test>::refund_other { id, who: nth(to) }),
	};
	done.is_ok()
}

/// Returns the debt to `who`, settled and not, in units of 2^-96 planck.
fn owed(id: RunId, who: u8) -> U256 {
	let mut holding = Holdings::<Test>::get(nth(who), id).unwrap_or_default();
	holding.settle(&Models::<Test>::get(id).unwrap_or_default());
	holding.owed
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(256))]

	#[test]
	fn everybody_earns_what_its_shares_earned_while_they_were_its_own(steps in prop::collection::vec(step(), 1..60)) {
		new_test_ext().execute_with(|| {
			let mut naive = [Naive::default(), Naive::default()];
			let mut paid = BTreeMap::<(RunId, u8), Balance>::new();
			let mut left = [0u32; 2];
			for (id, step) in steps {
				let index = usize::try_from(id).expect("two models");
				let entries = || Holdings::<Test>::iter_keys().filter(|(_, model)| *model == id).collect::<BTreeSet<_>>();
				let money = |who: u8| Balances::total_balance(&nth(who));
				let (before, had) = (entries(), (0..4).map(money).collect::<Vec<_>>());
				let claimable = |who: u8| Ownership::shares(nth(who), id).claimable;
				let announced = (0..4).map(claimable).collect::<Vec<_>>();
				// Nothing is sent by who has nothing, or by who sends nothing, whether that is refused or not.
				let idle = match step {
					Step::Wallet(_, _, shares) => shares == 0,
					Step::WalletAll(from, _) => naive[index].of(from).free == 0,
					_ => false,
				};
				let taken = perform(id, &step);
				let got = (0..4).map(|who| money(who) - had[usize::from(who)]).collect::<Vec<_>>();
				let mut after = naive[index].clone();
				let mut possible = after.apply(&step);
				let mut expected = vec![0; 4];
				// Who claims is paid, and who has no shares that earn any more.
				let payee = if let Step::Claim(who) = step { Some(who) } else { naive[index].leaver(&step).filter(|_| possible) };
				if let Some(who) = payee {
					let due = announced[usize::from(who)];
					// Only an account that does not exist yet, and is owed less than the existential deposit, cannot be paid.
					let claims = matches!(step, Step::Claim(_));
					possible &= if due == 0 { !claims } else { due >= ED || had[usize::from(who)] >= ED };
					expected[usize::from(who)] = if possible { due } else { 0 };
					*paid.entry((id, who)).or_default() += expected[usize::from(who)];
				}
				prop_assert!(idle || taken == possible, "{:?}", step);
				prop_assert_eq!(got, expected);
				if taken {
					naive[index] = after;
				}
				let gone = before.difference(&entries()).count();
				let to_oneself = matches!(step, Step::Transfer(from, to, _) if from == to);
				left[index] += u32::try_from(gone).expect("few") + u32::from(to_oneself);
				Ownership::do_try_state().expect("invariants hold");
				for who in 0..4 {
					let shares = Ownership::shares(nth(who), id);
					prop_assert_eq!(Shares { earning: shares.earning, free: shares.free }, *naive[index].of(who));
					prop_assert_eq!(Assets::balance(id, nth(who)), shares.earning + shares.free);
					prop_assert_eq!(Ownership::has_place(&nth(who), id), naive[index].places.contains_key(&who));
					let deposits = naive.iter().map(|model| model.paid_by(who)).sum::<u128>() * DEPOSIT;
					prop_assert_eq!(Balances::reserved_balance(nth(who)), deposits);
				}
			}
			for id in 0..2 {
				let index = usize::try_from(id).expect("two models");
				let mut sum = Models::<Test>::get(id).unwrap_or_default().remainder;
				for who in 0..4 {
					let has = owed(id, who) + (U256::from(paid.get(&(id, who)).copied().unwrap_or_default()) << FRACTION_BITS);
					let should = naive[index].earned(who);
					// Who leaves leaves a fraction of a planck to the others; what did not divide waits for the next revenue: it is far less
					// than a planck, since there are far less than 2^96 shares.
					let planck = U256::one() << FRACTION_BITS;
					let tolerated = planck * U256::from(left[index]) + (planck >> 8);
					prop_assert!(has.max(should) - has.min(should) <= tolerated, "model {}: {} has {} and not {}", id, who, has, should);
					sum += has;
				}
				let revenue: Balance = naive[index].history.iter().map(|(amount, _)| amount).sum();
				prop_assert_eq!(sum, U256::from(revenue) << FRACTION_BITS, "planck were lost or made");
			}
			Ok(())
		})?;
	}
}
