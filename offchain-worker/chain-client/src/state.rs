//! The few storage entries of standard pallets that have no view function.

use crate::{client::ChainAt, error::ChainError};
use codec::{Decode, Encode};
use neuroshard_types::{AccountId, Balance, Moment};
use sp_crypto_hashing::{blake2_128, twox_128};

/// A storage entry: its key, and its name for people.
pub(super) struct Entry {
	pub(super) name: String,
	pub(super) key: Vec<u8>,
}

impl Entry {
	fn value(pallet: &str, item: &str) -> Self {
		let key = [twox_128(pallet.as_bytes()), twox_128(item.as_bytes())].concat();
		Self { name: format!("{pallet}::{item}"), key }
	}

	/// An entry of a `Blake2_128Concat` map.
	fn of(self, key: &impl Encode) -> Self {
		let encoded = key.encode();
		let key = [self.key, blake2_128(&encoded).to_vec(), encoded].concat();
		Self { key, ..self }
	}
}

pub(super) fn decode<V: Decode>(entry: &Entry, mut bytes: &[u8]) -> Result<V, ChainError> {
	V::decode(&mut bytes).map_err(|error| ChainError::BadAnswer { what: entry.name.clone(), reason: error.to_string() })
}

/// Money of an account, in planck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Funds {
	/// Free, frozen parts included.
	pub free: Balance,
	/// On hold: bonds and deposits.
	pub held: Balance,
}

/// `frame_system::AccountInfo` with `pallet_balances::AccountData`.
#[derive(Decode)]
struct AccountInfo {
	_nonce: u32,
	_consumers: u32,
	_providers: u32,
	_sufficients: u32,
	free: Balance,
	reserved: Balance,
}

impl ChainAt {
	/// Money of `who`.
	///
	/// # Errors
	/// As every read: [`ChainError::NodeAway`], [`ChainError::Rpc`], [`ChainError::BadAnswer`].
	pub async fn funds(&self, who: &AccountId) -> Result<Funds, ChainError> {
		let info: Option<AccountInfo> = self.storage(&Entry::value("System", "Account").of(who)).await?;
		Ok(info.map(|info| Funds { free: info.free, held: info.reserved }).unwrap_or_default())
	}

	/// All NEURO there is, in planck.
	///
	/// # Errors
	/// As [`Self::funds`].
	pub async fn total_issuance(&self) -> Result<Balance, ChainError> {
		Ok(self.storage(&Entry::value("Balances", "TotalIssuance")).await?.unwrap_or_default())
	}

	/// Holder of the sudo key; `None` if it was given up, or the chain never had one.
	///
	/// # Errors
	/// As [`Self::funds`].
	pub async fn sudo_key(&self) -> Result<Option<AccountId>, ChainError> {
		self.storage(&Entry::value("Sudo", "Key")).await
	}

	/// Chain time of the block.
	///
	/// # Errors
	/// As [`Self::funds`].
	pub async fn time(&self) -> Result<Moment, ChainError> {
		Ok(self.storage(&Entry::value("Timestamp", "Now")).await?.unwrap_or_default())
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn keys_are_those_of_every_substrate_chain() {
		assert_eq!(hex::encode(Entry::value("Timestamp", "Now").key), "f0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb");
		// As public documentation of Substrate has it.
		assert_eq!(hex::encode(Entry::value("Sudo", "Key").key), "5c0d1176a568c1f92944340dbfed9e9c530ebca703c85910e7164cb7d1c9e47b");
		// Alice's account, as block explorers show it.
		let alice = crate::keys::Account::from_secret("//Alice").unwrap().id();
		assert_eq!(
			hex::encode(Entry::value("System", "Account").of(&alice).key),
			concat!(
				"26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9",
				"de1e86a9a8c739864cf3cc5ec2bea59fd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"
			)
		);
	}

	#[test]
	fn an_account_is_decoded_by_its_fields() {
		let bytes = (7u32, 1u32, 1u32, 0u32, 500u128, 300u128, 0u128, 0u128).encode();
		let info: AccountInfo = decode(&Entry::value("System", "Account"), &bytes).unwrap();
		assert_eq!((info.free, info.reserved), (500, 300));
		assert!(decode::<AccountInfo>(&Entry::value("System", "Account"), &bytes[..20]).is_err());
	}
}
