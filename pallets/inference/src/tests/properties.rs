//! Whatever is called in whatever order: the chain takes what a plain model of sessions and vouchers takes, everybody has what it says, and no
//! planck is lost, made, or paid twice.

use crate::{mock::*, Call, NextSession};
use neuroshard_types::{
	inference::{SessionId, Voucher},
	traits::PaidAnswers,
	AccountId, Balance, BlockNumber,
};
use proptest::prelude::*;
use sp_runtime::DispatchResult;
use std::collections::{BTreeMap, BTreeSet};

/// Something that two users, two drivers and others may do.
#[derive(Clone, Debug)]
enum Step {
	/// User, provider or none, escrow.
	Open(u8, Option<u8>, Balance),
	/// Session, user, amount.
	TopUp(u8, u8, Balance),
	/// Session, provider, amount and answers of a voucher, who signed it.
	Claim(u8, u8, Balance, u32, u8),
	/// The last voucher of this session and provider once more.
	Again(u8, u8),
	/// Session, and whose answer is false.
	Condemn(u8, u8),
	/// Session, and who.
	Close(u8, u8),
	/// Session.
	Settle(u8),
	/// Blocks.
	Pass(BlockNumber),
	/// True if the model may not be used.
	Halt(bool),
	/// True if shares earn.
	Earn(bool),
}

fn step() -> impl Strategy<Value = Step> {
	let amount = || prop_oneof![4 => 1..2_000u128, 1 => 0..200u128, 1 => 1..FUNDS];
	let (session, seed, driver) = (|| 0u8..6, || 1u8..3, || 0u8..2);
	// Mostly signed by the user of the session, as 0 stands for.
	let signer = prop_oneof![9 => Just(0u8), 1 => seed()];
	prop_oneof![
		4 => (seed(), prop::option::of(driver()), amount()).prop_map(|(user, provider, escrow)| Step::Open(user, provider, escrow)),
		3 => (session(), seed(), amount()).prop_map(|(session, user, amount)| Step::TopUp(session, user, amount)),
		12 => (session(), driver(), amount(), 0..30u32, signer).prop_map(|(session, provider, amount, answers, signer)| {
			Step::Claim(session, provider, amount, answers, signer)
		}),
		3 => (session(), driver()).prop_map(|(session, provider)| Step::Again(session, provider)),
		1 => (session(), driver()).prop_map(|(session, provider)| Step::Condemn(session, provider)),
		3 => (session(), 0u8..4).prop_map(|(session, who)| Step::Close(session, who)),
		3 => session().prop_map(Step::Settle),
		2 => (1..DELAY).prop_map(Step::Pass),
		1 => prop::bool::weighted(0.3).prop_map(Step::Halt),
		1 => prop::bool::weighted(0.7).prop_map(Step::Earn),
	]
}

fn driver(number: u8) -> AccountId {
	[DRIVER, OTHER][usize::from(number)].clone()
}

/// Two users and two drivers.
fn somebody(number: u8) -> AccountId {
	[user(1), user(2), DRIVER, OTHER][usize::from(number)].clone()
}

/// A session, naively.
#[derive(Clone, Debug)]
struct Naive {
	user: u8,
	provider: Option<u8>,
	/// All that was ever put aside.
	put: Balance,
	/// Payments to each, one after the other.
	payments: Vec<(u8, Balance)>,
	/// The last voucher of each.
	last: BTreeMap<u8, Voucher>,
	/// Providers that are paid nothing more.
	condemned: BTreeSet<u8>,
	closes_at: Option<BlockNumber>,
}

impl Naive {
	fn left(&self) -> Balance {
		self.put - self.payments.iter().map(|(_, amount)| amount).sum::<Balance>()
	}

	fn paid(&self, provider: u8) -> Balance {
		self.payments.iter().filter(|(who, _)| *who == provider).map(|(_, amount)| amount).sum()
	}
}

#[derive(Default)]
struct World {
	sessions: BTreeMap<SessionId, Naive>,
	/// Amounts that users have paid in sessions that are over.
	spent: BTreeMap<u8, Balance>,
	owners: Balance,
	others: Balance,
	halted: bool,
	barren: bool,
}

impl World {
	/// The session that a small number stands for, whether there is one or not.
	fn id(&self, number: u8) -> SessionId {
		NextSession::<Test>::get().saturating_sub(1 + u64::from(number))
	}

	fn of(&self, user: u8) -> impl Iterator<Item = &Naive> {
		self.sessions.values().filter(move |session| session.user == user)
	}

	fn free(&self, user: u8) -> Balance {
		let put: Balance = self.of(user).map(|session| session.put).sum();
		FUNDS - put - self.spent.get(&user).copied().unwrap_or_default()
	}

	/// Pays a voucher, if that is possible.
	fn pay(&mut self, id: SessionId, provider: u8, voucher: &Voucher, signer: u8) -> bool {
		let (halted, barren) = (self.halted, self.barren);
		let Some(session) = self.sessions.get_mut(&id) else { return false };
		let named = session.provider.is_none_or(|one| one == provider);
		let before = session.paid(provider);
		let later = match session.last.get(&provider) {
			Some(last) => voucher == last || voucher.answers > last.answers,
			None => voucher.answers > 0,
		};
		let amount = voucher.amount.saturating_sub(before).min(session.left());
		let lied = session.condemned.contains(&provider);
		if halted || !named || lied || signer != session.user || !later || amount == 0 {
			return false;
		}
		session.payments.push((provider, amount));
		session.last.insert(provider, voucher.clone());
		let owners = if barren { 0 } else { amount / 10 };
		self.owners += owners;
		self.others += amount - owners;
		true
	}

	/// Does a step on the chain and here. Returns whether both took it, or neither did.
	fn step(&mut self, step: &Step) -> (bool, bool) {
		let now = System::block_number();
		let done = |result: DispatchResult| result.is_ok();
		match *step {
			Step::Open(seed, provider, escrow) => {
				let id = NextSession::<Test>::get();
				let call = Call::open_session { provider: provider.map(driver), escrow };
				let room = self.of(seed).count() < usize::try_from(MAX_SESSIONS).expect("few");
				let usable = provider.is_none() || !self.halted;
				let possible = escrow >= MIN_ESCROW && room && usable && escrow <= self.free(seed) - ED;
				if possible {
					let (payments, last, condemned) = Default::default();
					self.sessions.insert(id, Naive { user: seed, provider, put: escrow, payments, last, condemned, closes_at: None });
				}
				(done(send(&user(seed), call)), possible)
			}
			Step::TopUp(number, seed, amount) => {
				let (id, free) = (self.id(number), self.free(seed) - ED);
				let taken = done(send(&user(seed), Call::top_up { session: id, amount }));
				let session = self.sessions.get_mut(&id).filter(|session| session.user == seed && session.closes_at.is_none());
				let possible = session.filter(|_| amount > 0 && amount <= free).map(|session| session.put += amount).is_some();
				(taken, possible)
			}
			Step::Claim(number, provider, amount, answers, signer) => {
				let id = self.id(number);
				let signer = if signer > 0 { signer } else { self.sessions.get(&id).map_or(1, |session| session.user) };
				let voucher = voucher(id, &driver(provider), amount, answers);
				(done(claim(signer, voucher.clone())), self.pay(id, provider, &voucher, signer))
			}
			Step::Again(number, provider) => {
				let id = self.id(number);
				let last = self.sessions.get(&id).and_then(|session| Some((session.user, session.last.get(&provider)?.clone())));
				let Some((signer, voucher)) = last else { return (true, true) };
				(done(claim(signer, voucher.clone())), self.pay(id, provider, &voucher, signer))
			}
			Step::Condemn(number, provider) => {
				let id = self.id(number);
				Inference::condemn(id, &driver(provider));
				let session = self.sessions.get_mut(&id);
				let answered = session.filter(|session| session.provider == Some(provider) || session.last.contains_key(&provider));
				(Inference::is_condemned(id, &driver(provider)), answered.map(|session| session.condemned.insert(provider)).is_some())
			}
			Step::Close(number, who) => {
				let (id, who) = (self.id(number), somebody(who));
				let taken = done(send(&who, Call::close_session { session: id }));
				let party = |session: &Naive| user(session.user) == who || session.provider.is_some_and(|provider| driver(provider) == who);
				let session = self.sessions.get_mut(&id).filter(|session| party(session) && session.closes_at.is_none());
				(taken, session.map(|session| session.closes_at = Some(now + DELAY)).is_some())
			}
			Step::Settle(number) => {
				let id = self.id(number);
				let over = self.sessions.get(&id).is_some_and(|session| session.closes_at.is_some_and(|at| at <= now));
				if over {
					let session = self.sessions.remove(&id).expect("it is there");
					*self.spent.entry(session.user).or_default() += session.put - session.left();
				}
				(done(send(&NOBODY, Call::settle { session: id })), over)
			}
			Step::Pass(blocks) => {
				System::set_block_number(now + blocks);
				(true, true)
			}
			Step::Halt(halted) => {
				self.halted = halted;
				HaltedModels::set(if halted { [RUN].into() } else { [].into() });
				(true, true)
			}
			Step::Earn(earn) => {
				self.barren = !earn;
				SharesEarn::set(earn);
				(true, true)
			}
		}
	}
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(256))]

	#[test]
	fn no_planck_is_lost_made_or_paid_twice(steps in prop::collection::vec(step(), 1..80)) {
		new_test_ext().execute_with(|| {
			offer_alone(&DRIVER);
			offer_alone(&OTHER);
			let issued = Balances::total_issuance();
			let mut world = World::default();
			for step in steps {
				let (taken, possible) = world.step(&step);
				prop_assert_eq!(taken, possible, "{:?}", step);
				check_invariants();
				for seed in 1..3 {
					let held: Balance = world.of(seed).map(Naive::left).sum();
					prop_assert_eq!(money(&user(seed)), (world.free(seed), held), "{:?}", step);
				}
				let pots = (Balances::free_balance(OWNERS_POT) - ED, Balances::free_balance(FEES_POT) - ED);
				prop_assert_eq!(pots, (world.owners, world.others), "{:?}", step);
				for (id, session) in &world.sessions {
					let view = Inference::session(*id).expect("it is not settled");
					prop_assert_eq!((view.escrow, view.paid, view.closes_at), (session.left(), session.put - session.left(), session.closes_at));
					for number in 0..2 {
						prop_assert_eq!(Inference::claimed(*id, driver(number)).paid, session.paid(number));
					}
				}
				prop_assert_eq!(Balances::total_issuance(), issued);
			}
			Ok(())
		})?;
	}
}
