//! Extrinsics, signed, as bytes.

use super::{
	call::Call,
	client::{BlockId, ChainAt, Hash},
	error::ChainError,
};
use crate::keys::Account;
use neuroshard_types::{Balance, BlockNumber};
use subxt::{
	config::{substrate::SubstrateConfig, DefaultExtrinsicParamsBuilder},
	error::ExtrinsicError,
};

impl ChainAt {
	/// The extrinsic by which `account` makes `call` with a tip in planck, with its length in front. It is valid for `blocks` blocks (a power of two
	/// from 4 to 65,536) after `birth`, a block of this chain. The node is asked nothing.
	///
	/// # Errors
	/// Those of [`Call::encode`].
	pub fn sign(
		&self,
		account: &Account,
		call: &Call,
		nonce: u64,
		tip: Balance,
		birth: BlockId,
		blocks: BlockNumber,
	) -> Result<Vec<u8>, ChainError> {
		let payload = call.payload(self.at.metadata_ref())?;
		let parameters = DefaultExtrinsicParamsBuilder::<SubstrateConfig>::new()
			.nonce(nonce)
			.tip(tip)
			.mortal_from_unchecked(blocks.into(), birth.number.into(), Hash::from(birth.hash.0))
			.build();
		let refused = |error: ExtrinsicError| ChainError::Missing { what: format!("way to sign {}: {error}", call.describe()) };
		let mut signable = self.at.tx().create_signable_offline(&payload, parameters).map_err(refused)?;
		Ok(signable.sign(account.signer()).map_err(refused)?.into_encoded())
	}
}
