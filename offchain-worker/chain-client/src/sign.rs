//! Extrinsics, signed, as bytes.

use crate::{
	call::Call,
	client::{BlockId, ChainAt, Hash},
	error::ChainError,
	keys::Account,
};
use neuroshard_types::{Balance, BlockNumber};
use subxt::{
	config::{substrate::SubstrateConfig, DefaultExtrinsicParamsBuilder},
	error::ExtrinsicError,
};

impl ChainAt {
	/// The bytes of `call` for this chain, as a wallet takes them.
	///
	/// # Errors
	/// Those of [`Call::encode`].
	pub fn call_data(&self, call: &Call) -> Result<Vec<u8>, ChainError> {
		call.encode(self.at.metadata_ref())
	}

	/// The extrinsic by which `account` makes `call` with a tip in planck, with its length in front. It is `valid` after a block of this chain for so
	/// many blocks (a power of two from 4 to 65,536), or else for ever, on any branch. The node is asked nothing.
	///
	/// # Errors
	/// Those of [`Call::encode`].
	pub fn sign(
		&self,
		account: &Account,
		call: &Call,
		nonce: u64,
		tip: Balance,
		valid: Option<(BlockId, BlockNumber)>,
	) -> Result<Vec<u8>, ChainError> {
		let payload = call.payload(self.at.metadata_ref())?;
		let parameters = DefaultExtrinsicParamsBuilder::<SubstrateConfig>::new().nonce(nonce).tip(tip);
		let parameters = match valid {
			Some((birth, blocks)) => parameters.mortal_from_unchecked(blocks.into(), birth.number.into(), Hash::from(birth.hash.0)),
			None => parameters.immortal(),
		};
		let refused = |error: ExtrinsicError| ChainError::Missing { what: format!("way to sign {}: {error}", call.describe()) };
		let mut signable = self.at.tx().create_signable_offline(&payload, parameters.build()).map_err(refused)?;
		Ok(signable.sign(account.signer()).map_err(refused)?.into_encoded())
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{system, testing::Connect};
	use neuroshard_mock_node::{nonce_and_tip_of, Fate, MockNode, Script};

	#[tokio::test]
	async fn an_extrinsic_is_valid_for_some_blocks_or_for_ever() {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let at = node.client().await.now().await.unwrap();
		let alice = Account::from_secret("//Alice").unwrap();
		let sign = |valid| at.sign(&alice, &system::remark(vec![7; 100]), 5, 3, valid).unwrap();
		let (mortal, immortal) = (sign(Some((at.block(), 64))), sign(None));
		assert_eq!(nonce_and_tip_of(&mortal), (5, 3));
		// Behind length, version, address and signature: no era, and nonce and tip as compact numbers.
		assert_eq!(immortal.get(2 + 1 + 33 + 65..).unwrap()[..3], [0, 5 << 2, 3 << 2]);
		assert_eq!(mortal.len(), immortal.len() + 1, "an era that ends takes two bytes");
		assert!(immortal.ends_with(&[7; 100]));
	}
}
