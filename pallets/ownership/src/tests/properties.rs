//! Whatever happens in whatever order: holders have earned what a model says that keeps everybody's shares at every revenue, and not a
//! planck is lost or made.

use crate::{mock::*, Call, Holdings, Models, FRACTION_BITS};
use neuroshard_types::{traits::FinalWork, AccountId, Balance, RunId};
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
}

fn step() -> impl Strategy<Value = (RunId, Step)> {
	let who = || 0u8..4;
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
#[derive(Default)]
struct Naive {
	shares: BTreeMap<u8, Shares>,
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

	/// Applies a step, if it is possible.
	fn apply(&mut self, step: &Step) -> bool {
		match *step {
			Step::Work(who, units) => self.of(who).earning += units,
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
				if shares == 0 || self.of(from).earning < shares {
					return false;
				}
				self.of(from).earning -= shares;
				self.of(to).earning += shares;
			}
			Step::Wallet(from, to, shares) => {
				if self.of(from).free < shares {
					return false;
				}
				self.of(from).free -= shares;
				self.of(to).free += shares;
			}
			Step::WalletAll(from, to) => {
				let shares = core::mem::take(&mut self.of(from).free);
				self.of(to).free += shares;
			}
		}
		true
	}

	/// What `who` should have earned, in units of 2^-96 planck, rounded down once for each revenue.
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
			send(&nth(from), pallet_assets::Call::<Test>::transfer { id, target, amount: shares })
		}
		Step::WalletAll(from, to) => {
			let dest = nth(to);
			send(&nth(from), pallet_assets::Call::<Test>::transfer_all { id, dest, keep_alive: false })
		}
	};
	done.is_ok()
}

/// What is settled and not, of `who`, in units of 2^-96 planck.
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
				let (before, had) = (entries(), (0..4).map(|who| Balances::free_balance(nth(who))).collect::<Vec<_>>());
				let claimable = |who: u8| Ownership::shares(nth(who), id).claimable;
				let announced = (0..4).map(claimable).collect::<Vec<_>>();
				// Nothing is sent by who has nothing, or by who sends nothing, whether that is refused or not.
				let idle = match step {
					Step::Wallet(_, _, shares) => shares == 0,
					Step::WalletAll(from, _) => naive[index].of(from).free == 0,
					_ => false,
				};
				let taken = perform(id, &step);
				let got = (0..4).map(|who| Balances::free_balance(nth(who)) - had[usize::from(who)]).collect::<Vec<_>>();
				match step {
					// Only an account that does not exist yet, and is owed less than the existential deposit, may not be paid.
					Step::Claim(who) => {
						let due = announced[usize::from(who)];
						let payable = due > 0 && (due >= ED || had[usize::from(who)] >= ED);
						prop_assert_eq!(taken, payable);
						let mut expected = vec![0; 4];
						expected[usize::from(who)] = if taken { due } else { 0 };
						prop_assert_eq!(got, expected);
						*paid.entry((id, who)).or_default() += if taken { due } else { 0 };
					}
					_ => {
						prop_assert!(got.iter().all(|amount| *amount == 0), "paid without a claim");
						let possible = naive[index].apply(&step);
						prop_assert!(idle || taken == possible, "{:?}", step);
					}
				}
				let gone = before.difference(&entries()).count();
				let to_oneself = matches!(step, Step::Transfer(from, to, _) if from == to);
				left[index] += u32::try_from(gone).expect("few") + u32::from(to_oneself);
				Ownership::do_try_state().expect("invariants hold");
				for who in 0..4 {
					let shares = Ownership::shares(nth(who), id);
					prop_assert_eq!(Shares { earning: shares.earning, free: shares.free }, *naive[index].of(who));
					prop_assert_eq!(Assets::balance(id, nth(who)), shares.earning + shares.free);
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
