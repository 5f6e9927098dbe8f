//! Many accounts, made and used by all threads.

use neuroshard_chain_client::keys::Account;
use neuroshard_e2e::Error;
use neuroshard_types::AccountId;

/// Which accounts: each set has others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set {
	/// Those that send.
	Senders = 1,
	/// Those that receive, of which nobody has the keys.
	Receivers = 2,
	/// Those that offer to compute.
	Providers = 3,
}

impl Set {
	/// A number that no other account has.
	fn number(self, index: u32) -> u128 {
		(self as u128) << 64 | u128::from(index)
	}

	/// The secret of an account: the same in every run.
	pub(super) fn account(self, index: u32) -> Result<Account, Error> {
		Ok(Account::from_secret(&format!("0x{:064x}", self.number(index)))?)
	}

	/// An account without a secret.
	pub(super) fn id(self, index: u32) -> AccountId {
		let mut bytes = [0; 32];
		let (_, low) = bytes.split_at_mut(16);
		low.copy_from_slice(&self.number(index).to_be_bytes());
		AccountId::new(bytes)
	}
}

/// What `make` makes of the numbers below `count`, in order, by all threads of the machine.
///
/// # Errors
/// The first one of `make`.
pub(super) fn in_parallel<T: Send>(count: u32, make: impl Fn(u32) -> Result<T, Error> + Sync) -> Result<Vec<T>, Error> {
	let threads = std::thread::available_parallelism().map_or(1, usize::from);
	let share = count.div_ceil(u32::try_from(threads).unwrap_or(u32::MAX)).max(1);
	let make = &make;
	std::thread::scope(|scope| {
		let first = (0..count).step_by(usize::try_from(share).unwrap_or(usize::MAX));
		let part = |from: u32| (from..from.saturating_add(share).min(count)).map(make).collect::<Result<Vec<T>, Error>>();
		let parts: Vec<_> = first.map(|from| scope.spawn(move || part(from))).collect();
		let mut all = Vec::new();
		for part in parts {
			all.extend(part.join().map_err(|_| Error::Setup("a thread that made accounts or signatures has panicked".into()))??);
		}
		Ok(all)
	})
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::collections::BTreeSet;

	#[test]
	fn what_many_threads_make_is_in_order_and_whole() {
		for count in [0, 1, 2, 3, 1_000, 1_001] {
			assert_eq!(in_parallel(count, Ok).unwrap(), (0..count).collect::<Vec<_>>());
		}
		let error = in_parallel(100, |index| if index == 70 { Err(Error::Setup("no".into())) } else { Ok(index) });
		assert!(error.is_err());
	}

	#[test]
	fn accounts_differ_and_are_the_same_in_every_run() {
		let ids = |set: Set| (0..50).map(|index| set.account(index).unwrap().id()).collect::<BTreeSet<_>>();
		let all: BTreeSet<_> = ids(Set::Senders).into_iter().chain(ids(Set::Providers)).collect();
		assert_eq!(all.len(), 100);
		assert_eq!(ids(Set::Senders), ids(Set::Senders));
		assert_ne!(Set::Receivers.id(1), Set::Receivers.id(256));
	}
}
