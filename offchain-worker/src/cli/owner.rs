//! For whom the account at hand works: itself, or a provider whose operator it is; and what only that provider signs.

use super::CliError;
use neuroshard_chain_client::{keys::Account, staking, Call, ChainAt, ChainClient, ChainError, Submitter};
use neuroshard_types::AccountId;

/// For whom `account` works at `at`.
pub(super) async fn of(at: &ChainAt, account: &Account) -> Result<AccountId, CliError> {
	let me = account.id();
	Ok(served(at, &me).await?.unwrap_or(me))
}

/// The provider that `me` is the operator of. On a chain of a release without operators nobody is: what was claimed there must be defended all the
/// same.
async fn served(at: &ChainAt, me: &AccountId) -> Result<Option<AccountId>, CliError> {
	match at.owner_of(me).await {
		Err(ChainError::Missing { .. }) => Ok(None),
		served => Ok(served?),
	}
}

/// For whom `account` works from now on: `asked` if it is given. It agrees to be the operator that this provider has named.
pub(super) async fn settle(client: &ChainClient, account: &Account, asked: Option<&AccountId>) -> Result<AccountId, CliError> {
	let (at, me) = (client.now().await?, account.id());
	let serves = served(&at, &me).await?;
	let named = match asked {
		Some(owner) => at.operator_of(owner).await?,
		None => None,
	};
	match service(&me, asked, serves.as_ref(), named.as_ref())? {
		Service::Works(who) => Ok(who),
		Service::Agrees(owner) => {
			Submitter::spawn(client.clone(), account.clone()).submit(staking::serve(Some(owner.clone()))).await?;
			tracing::info!("this account, {me}, is the operator of {owner} now");
			Ok(owner)
		}
	}
}

/// What is to be done so that an account works for whom it should.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Service {
	/// Nothing: it works for this account.
	Works(AccountId),
	/// This provider has named it, and it has to agree.
	Agrees(AccountId),
}

/// For whom `me` works that was asked to work for `asked`, acts for `serves` now, and whom `asked` has named as operator: `named`.
fn service(me: &AccountId, asked: Option<&AccountId>, serves: Option<&AccountId>, named: Option<&AccountId>) -> Result<Service, CliError> {
	let operator = || me.to_string();
	match (asked, serves) {
		(None, None) => Ok(Service::Works(me.clone())),
		(None, Some(owner)) => Ok(Service::Works(owner.clone())),
		(Some(owner), Some(known)) if owner != known => {
			Err(CliError::OtherOwner { operator: operator(), known: known.to_string(), owner: owner.to_string() })
		}
		(Some(owner), Some(_)) => Ok(Service::Works(owner.clone())),
		(Some(owner), None) if owner == me => Ok(Service::Works(owner.clone())),
		(Some(owner), None) if named == Some(me) => Ok(Service::Agrees(owner.clone())),
		(Some(owner), None) => Err(CliError::NotNamed { operator: operator(), owner: owner.to_string() }),
	}
}

/// Prints `call` for the wallet that has the key of `owner`.
pub(super) fn print_call(at: &ChainAt, owner: &AccountId, call: &Call) -> Result<(), CliError> {
	println!("{owner} signs {} itself, wherever its key is. The call for its wallet", call.describe());
	println!("(polkadot.js Apps: Developer, Extrinsics, Decode; then Submission):\n\n    0x{}\n", hex::encode(at.call_data(call)?));
	Ok(())
}

#[cfg(test)]
mod tests {
	use super::*;

	fn account(number: u8) -> AccountId {
		AccountId::new([number; 32])
	}

	#[test]
	fn an_account_works_for_whom_it_acts_on_chain_and_agrees_only_to_be_the_operator_of_whom_it_was_told() {
		let (me, owner, other) = (account(1), account(2), account(3));
		let of = |asked, serves, named| service(&me, asked, serves, named).map_err(|error| error.to_string());
		assert_eq!(of(None, None, None), Ok(Service::Works(me.clone())));
		assert_eq!(of(None, Some(&owner), None), Ok(Service::Works(owner.clone())));
		assert_eq!(of(Some(&owner), Some(&owner), Some(&me)), Ok(Service::Works(owner.clone())));
		assert_eq!(of(Some(&owner), None, Some(&me)), Ok(Service::Agrees(owner.clone())));
		assert_eq!(of(Some(&me), None, None), Ok(Service::Works(me.clone())));
		for named in [None, Some(&other), Some(&owner)] {
			let error = of(Some(&owner), None, named).unwrap_err();
			assert!(error.contains(&format!("register --owner {owner}")) && error.contains(&me.to_string()), "{error}");
		}
		let error = of(Some(&owner), Some(&other), Some(&me)).unwrap_err();
		assert!(error.contains(&format!("the operator of {other}")) && error.contains("--base-path"), "{error}");
	}
}
