//! Questions and extrinsics of the operators of validators, and of wallets.

use crate::Error;
use neuroshard_types::{AccountId, Balance, BlockNumber};
use serde::Deserialize;
use std::sync::Arc;
use subxt::{
	backend::LegacyBackend,
	config::{
		substrate::{DigestItem, SubstrateConfig},
		HashFor, RpcConfigFor,
	},
	dynamic::{self, Value},
	ext::{
		scale_decode::DecodeAsType,
		scale_encode::EncodeAsFields,
		scale_value::{scale::decode_as_type, ValueDef, Variant},
	},
	rpcs::{
		client::{rpc_params, RpcClient},
		methods::legacy::{LegacyRpcMethods, NumberOrHex},
	},
	utils::AccountId32,
	OnlineClient,
};
use subxt_signer::sr25519::Keypair;

/// Part of the nominators' rewards that a new validator keeps, in parts of 10^9.
const COMMISSION: u128 = 100_000_000;
/// Bytes of a session key.
const KEY: usize = 32;

/// A connection to one node.
#[derive(Clone)]
pub struct AuthorityClient {
	api: OnlineClient<SubstrateConfig>,
	rpc: RpcClient,
}

/// What is read of an offender.
#[derive(DecodeAsType)]
#[decode_as_type(crate_path = "subxt::ext::scale_decode")]
struct Offender {
	barred_until: BlockNumber,
}

/// What is read of a candidate.
#[derive(DecodeAsType)]
#[decode_as_type(crate_path = "subxt::ext::scale_decode")]
struct Candidate {
	own: Position,
}

/// What is read of its own position.
#[derive(DecodeAsType)]
#[decode_as_type(crate_path = "subxt::ext::scale_decode")]
struct Position {
	stake: Stake,
}

/// What is read of a stake.
#[derive(DecodeAsType)]
#[decode_as_type(crate_path = "subxt::ext::scale_decode")]
struct Stake {
	active: Balance,
}

/// New session keys of a node, and its proof that it has them.
#[derive(Clone, Debug, Deserialize)]
pub struct SessionKeys {
	keys: String,
	proof: String,
}

impl AuthorityClient {
	/// Connects to the node at `url`.
	///
	/// # Errors
	/// [`Error::Setup`] with what the connection says; so do all others.
	pub async fn connect(url: &str) -> Result<Self, Error> {
		let rpc = RpcClient::from_insecure_url(url).await.map_err(setup)?;
		// What follows the chain's head is cut off by a node that finalizes late; this waits.
		let backend = LegacyBackend::builder().build(rpc.clone());
		let api = OnlineClient::from_backend(Arc::new(backend)).await.map_err(setup)?;
		Ok(Self { api, rpc })
	}

	/// Height of the finalized head.
	///
	/// # Errors
	/// As [`Self::connect`].
	pub async fn finalized(&self) -> Result<BlockNumber, Error> {
		let hash = self.methods().chain_get_finalized_head().await.map_err(setup)?;
		self.height(hash).await
	}

	/// Height of the best block.
	///
	/// # Errors
	/// As [`Self::connect`].
	pub async fn best(&self) -> Result<BlockNumber, Error> {
		let hash = self.methods().chain_get_block_hash(None).await.map_err(setup)?;
		self.height(hash.ok_or_else(|| setup("the node has no best block"))?).await
	}

	/// Who made the finalized block at this height.
	///
	/// # Errors
	/// As [`Self::connect`].
	pub async fn author(&self, number: BlockNumber) -> Result<AccountId, Error> {
		let methods = self.methods();
		let hash = methods.chain_get_block_hash(Some(NumberOrHex::Number(number.into()))).await.map_err(setup)?;
		let header = methods.chain_get_header(hash).await.map_err(setup)?.ok_or_else(|| setup("the node does not know the block"))?;
		// A claim of a slot begins with its kind and with the place of the author, both as SCALE writes them.
		let place = header.digest.logs.iter().find_map(|item| match item {
			DigestItem::PreRuntime([b'B', b'A', b'B', b'E'], claim) => Some(u32::from_le_bytes(claim.get(1..5)?.try_into().ok()?)),
			_ => None,
		});
		let place = place.and_then(|place| usize::try_from(place).ok()).ok_or_else(|| setup("the block has no author"))?;
		let validators: Vec<AccountId32> = self.storage_at(number, "Session", "Validators").await?;
		validators.get(place).map(|who| AccountId::new(who.0)).ok_or_else(|| setup("the author is no validator"))
	}

	/// The validators of the session of the finalized head.
	///
	/// # Errors
	/// As [`Self::connect`].
	pub async fn validators(&self) -> Result<Vec<AccountId>, Error> {
		let validators: Vec<AccountId32> = self.storage_at(self.finalized().await?, "Session", "Validators").await?;
		Ok(validators.into_iter().map(|who| AccountId::new(who.0)).collect())
	}

	/// Active self-bond of a candidate after the finalized block at this height, in planck; nothing if it is none.
	///
	/// # Errors
	/// As [`Self::connect`].
	pub async fn self_bond(&self, number: BlockNumber, who: &AccountId) -> Result<Balance, Error> {
		let candidate: Option<Candidate> = self.of_account(number, "Validators", "Candidates", who).await?;
		Ok(candidate.map_or(0, |candidate| candidate.own.stake.active))
	}

	/// First block in which an offender can be a candidate again, as the finalized block at this height says; `None` if it is no offender.
	///
	/// # Errors
	/// As [`Self::connect`].
	pub async fn barred_until(&self, number: BlockNumber, who: &AccountId) -> Result<Option<BlockNumber>, Error> {
		let offender: Option<Offender> = self.of_account(number, "Validators", "Offenders", who).await?;
		Ok(offender.map(|offender| offender.barred_until))
	}

	/// The validators that may not author for the rest of their session, after the finalized block at this height.
	///
	/// # Errors
	/// As [`Self::connect`].
	pub async fn disabled(&self, number: BlockNumber) -> Result<Vec<AccountId>, Error> {
		// Each with the fraction that it was slashed.
		let places: Vec<(u32, u32)> = self.storage_at(number, "Session", "DisabledValidators").await?;
		let validators: Vec<AccountId32> = self.storage_at(number, "Session", "Validators").await?;
		let account = |(place, _): (u32, u32)| validators.get(usize::try_from(place).ok()?).map(|who| AccountId::new(who.0));
		places.into_iter().map(|place| account(place).ok_or_else(|| setup("nobody is at the place of who is disabled"))).collect()
	}

	/// Value of a storage entry without key after the block at this height, which must be finalized and not pruned.
	///
	/// # Errors
	/// As [`Self::connect`].
	pub async fn storage_at<V: DecodeAsType>(&self, number: BlockNumber, pallet: &str, entry: &str) -> Result<V, Error> {
		let at = self.api.at_block(number).await.map_err(setup)?;
		at.storage().fetch(dynamic::storage::<(), V>(pallet, entry), ()).await.map_err(setup)?.decode().map_err(setup)
	}

	/// What a map has for an account after the finalized block at this height.
	async fn of_account<V: DecodeAsType>(&self, number: BlockNumber, pallet: &str, map: &str, who: &AccountId) -> Result<Option<V>, Error> {
		let at = self.api.at_block(number).await.map_err(setup)?;
		let who = AccountId32(*AsRef::<[u8; 32]>::as_ref(who));
		let entry = at.storage().try_fetch(dynamic::storage::<(AccountId32,), V>(pallet, map), (who,)).await.map_err(setup)?;
		entry.map(|entry| entry.decode().map_err(setup)).transpose()
	}

	/// Has the node make session keys of its own for `owner`.
	///
	/// # Errors
	/// As [`Self::connect`].
	pub async fn rotate_keys(&self, owner: &AccountId) -> Result<SessionKeys, Error> {
		let owner = format!("0x{}", hex::encode(AsRef::<[u8]>::as_ref(owner)));
		self.rpc.request("author_rotateKeysWithOwner", rpc_params![owner]).await.map_err(setup)
	}

	/// Registers a node's session keys for the account of `signer`, and makes it a candidate with `bond` planck of its own. Returns when both are
	/// finalized.
	///
	/// # Errors
	/// As [`Self::connect`], and what the chain refuses.
	pub async fn become_candidate(&self, signer: &Keypair, keys: &SessionKeys, bond: Balance) -> Result<(), Error> {
		let (bytes, proof) = (unhex(&keys.keys)?, unhex(&keys.proof)?);
		let (babe, grandpa) = bytes.split_at_checked(KEY).ok_or_else(|| setup("session keys are too short"))?;
		let keys = Value::named_composite([("babe", Value::from_bytes(babe)), ("grandpa", Value::from_bytes(grandpa))]);
		self.submit(signer, "Session", "set_keys", vec![keys, Value::from_bytes(proof)]).await?;
		self.submit(signer, "Validators", "bond", vec![Value::u128(bond), Value::u128(COMMISSION)]).await
	}

	/// Signs and sends a call, and returns when it is finalized.
	///
	/// # Errors
	/// As [`Self::connect`], and what the chain refuses.
	pub async fn submit(&self, signer: &Keypair, pallet: &str, name: &str, arguments: impl EncodeAsFields) -> Result<(), Error> {
		let call = dynamic::tx(pallet, name, arguments);
		let mut transactions = self.api.tx().await.map_err(setup)?;
		let sent = transactions.sign_and_submit_then_watch_default(&call, signer).await.map_err(setup)?;
		sent.wait_for_finalized_success().await.map(drop).map_err(setup)
	}

	/// Signs and sends a call whose bytes somebody has prepared, in hexadecimal, and returns when it is finalized.
	///
	/// # Errors
	/// As [`Self::submit`], and [`Error::Setup`] for what is no call.
	pub async fn submit_prepared(&self, signer: &Keypair, call: &str) -> Result<(), Error> {
		let (at, bytes) = (self.api.at_current_block().await.map_err(setup)?, unhex(call)?);
		let metadata = at.metadata_ref();
		let decoded = decode_as_type(&mut &*bytes, metadata.outer_enums().call_enum_ty(), metadata.types()).map_err(setup)?;
		let pallet = variant(decoded.remove_context())?;
		let call = pallet.values.into_values().next().ok_or_else(|| setup("the pallet's name is no call"))?;
		let call = variant(call)?;
		self.submit(signer, &pallet.name, &call.name, call.values).await
	}

	fn methods(&self) -> LegacyRpcMethods<RpcConfigFor<SubstrateConfig>> {
		LegacyRpcMethods::new(self.rpc.clone())
	}

	async fn height(&self, hash: HashFor<SubstrateConfig>) -> Result<BlockNumber, Error> {
		let header = self.methods().chain_get_header(Some(hash)).await.map_err(setup)?;
		let header = header.ok_or_else(|| setup("the node does not know its own head"))?;
		BlockNumber::try_from(header.number).map_err(setup)
	}
}

fn setup(error: impl std::fmt::Display) -> Error {
	Error::Setup(error.to_string())
}

fn variant(value: Value) -> Result<Variant<()>, Error> {
	match value.value {
		ValueDef::Variant(variant) => Ok(variant),
		other => Err(setup(format!("{other:?} is no call"))),
	}
}

fn unhex(text: &str) -> Result<Vec<u8>, Error> {
	hex::decode(text.trim_start_matches("0x")).map_err(setup)
}
