//! The sr25519 account.

use super::{path, KeyError, Unlock, ACCOUNT};
use neuroshard_types::{
	inference::{Ask, Voucher},
	AccountId, H256,
};
use rand::{rngs::OsRng, RngCore};
use sp_core::{crypto::Ss58Codec, sr25519::Signature};
use sp_runtime::MultiSignature;
use std::{path::Path, str::FromStr};
use subxt_signer::{
	bip39::{self, Mnemonic},
	sr25519::{Error, Keypair},
	SecretUri,
};
use zeroize::Zeroizing;

/// An account that can sign extrinsics.
#[derive(Clone)]
pub struct Account(Keypair);

impl Account {
	/// The account of a phrase, a 0x-prefixed seed, or a development path such as `//Alice`, with derivations and password as in
	/// Substrate's secret URIs.
	///
	/// # Errors
	/// [`KeyError::NotAKey`], or of a phrase [`KeyError::WordCount`], [`KeyError::UnknownWord`] or [`KeyError::Checksum`]; none of
	/// them repeats the secret.
	pub fn from_secret(secret: &str) -> Result<Self, KeyError> {
		// Nothing at all would stand for the development phrase, which everybody knows.
		let secret = Some(secret.trim()).filter(|secret| !secret.is_empty()).ok_or(KeyError::NotAKey)?;
		let uri = SecretUri::from_str(secret).map_err(|_| KeyError::NotAKey)?;
		Keypair::from_uri(&uri).map(Self).map_err(|error| match error {
			// A single word is more likely no phrase at all.
			Error::Phrase(bip39::Error::BadWordCount(words)) if words > 1 => KeyError::WordCount { words },
			Error::Phrase(bip39::Error::UnknownWord(index)) => KeyError::UnknownWord { position: index.saturating_add(1) },
			Error::Phrase(bip39::Error::InvalidChecksum) => KeyError::Checksum,
			_ => KeyError::NotAKey,
		})
	}

	/// The account of `suri`, else of the account key under `base`, which may be encrypted.
	///
	/// # Errors
	/// [`KeyError::Missing`] without either, and whatever is wrong with the key file or its passphrase.
	pub fn load(base: &Path, suri: Option<&str>, unlock: &Unlock) -> Result<Self, KeyError> {
		if let Some(suri) = suri {
			return Self::from_secret(suri);
		}
		let path = path(base, ACCOUNT);
		let secret = super::read(&path, unlock)?;
		Self::from_secret(&secret)
			.map_err(|_| KeyError::Malformed { path, expected: "a phrase, a 0x-prefixed seed, or a development path such as //Alice" })
	}

	/// Identifier on chain: the public key.
	pub fn id(&self) -> AccountId {
		AccountId::new(self.0.public_key().0)
	}

	/// Identifier as people write it (SS58, generic prefix).
	pub fn address(&self) -> String {
		self.id().to_ss58check()
	}

	/// Signature of a voucher for the chain with this first block: what it says is owed then.
	pub fn sign_voucher(&self, voucher: &Voucher, genesis: H256) -> MultiSignature {
		MultiSignature::Sr25519(Signature::from_raw(self.0.sign(&voucher.message(genesis)).0))
	}

	/// Signature of the account's statement that it asks, for the chain with this first block.
	pub fn sign_ask(&self, ask: &Ask, genesis: H256) -> MultiSignature {
		MultiSignature::Sr25519(Signature::from_raw(self.0.sign(&ask.message(genesis)).0))
	}

	/// The pair that signs extrinsics.
	pub(crate) fn signer(&self) -> &Keypair {
		&self.0
	}
}

impl std::fmt::Debug for Account {
	fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		write!(formatter, "Account({})", self.address())
	}
}

/// A fresh 12-word phrase.
pub(super) fn new_phrase() -> Result<Zeroizing<String>, KeyError> {
	let mut entropy = Zeroizing::new([0; 16]);
	OsRng.fill_bytes(entropy.as_mut());
	let phrase = Mnemonic::from_entropy(entropy.as_ref()).map_err(|_| KeyError::NotAKey)?;
	Ok(Zeroizing::new(phrase.to_string()))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn seeds_phrases_and_paths_give_the_accounts_that_other_tools_give() {
		// `subkey inspect` of the development phrase and of Alice's raw seed.
		let phrase = "bottom drive obey lake curtain smoke basket hold race lonely fit walk";
		assert_eq!(Account::from_secret(phrase).unwrap().address(), "5DfhGyQdFobKM8NsWvEeAKk5EQQgYe9AydgJ7rMB6E1EqRzV");
		let alice = "0xe5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a";
		assert_eq!(Account::from_secret(alice).unwrap().id(), Account::from_secret("//Alice").unwrap().id());
	}

	#[test]
	fn the_chain_takes_a_voucher_of_the_account_and_nobody_elses() {
		let [alice, bob] = ["//Alice", "//Bob"].map(|path| Account::from_secret(path).unwrap());
		let genesis = H256::repeat_byte(3);
		let voucher = Voucher { session: 7, provider: bob.id(), amount: 5, answers: 2, receipts: H256::repeat_byte(9) };
		let signature = alice.sign_voucher(&voucher, genesis);
		assert!(voucher.is_signed(genesis, &alice.id(), &signature));
		assert!(!voucher.is_signed(genesis, &bob.id(), &signature));
		assert!(!voucher.is_signed(H256::zero(), &alice.id(), &signature));
		let more = Voucher { amount: 6, ..voucher };
		assert!(!more.is_signed(genesis, &alice.id(), &signature));
		let ask = Ask { session: 7, provider: bob.id(), until: 1_000 };
		let signature = alice.sign_ask(&ask, genesis);
		assert!(ask.is_signed(genesis, &alice.id(), &signature) && !ask.is_signed(genesis, &bob.id(), &signature));
		assert!(!Ask { until: 1_001, ..ask }.is_signed(genesis, &alice.id(), &signature));
	}

	#[test]
	fn what_is_no_key_is_refused_without_being_repeated() {
		for wrong in ["", " \n", "0x12", "bottom", "0xzz", "hunter2"] {
			let error = Account::from_secret(wrong).unwrap_err();
			assert!(matches!(error, KeyError::NotAKey));
			assert!(!error.to_string().contains("hunter2"));
		}
	}

	#[test]
	fn a_mistake_in_a_phrase_is_named_by_its_position_alone() {
		let error = |phrase: &str| Account::from_secret(phrase).unwrap_err();
		let typo = error("bottom drive obey lake curtian smoke basket hold race lonely fit walk");
		assert!(matches!(typo, KeyError::UnknownWord { position: 5 }), "{typo}");
		assert!(!typo.to_string().contains("curtian") && !format!("{typo:?}").contains("curtian"), "{typo}");
		assert!(matches!(error("bottom drive obey"), KeyError::WordCount { words: 3 }));
		let swapped = error("drive bottom obey lake curtain smoke basket hold race lonely fit walk");
		assert!(matches!(swapped, KeyError::Checksum), "{swapped}");
	}
}
