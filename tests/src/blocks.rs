//! What blocks hold, and how full they are.

use crate::Error;
use codec::{Compact, Decode, DecodeAll, Encode};
use neuroshard_types::{BlockNumber, Moment, H256};
use std::{collections::BTreeSet, sync::Arc};
use subxt::{
	backend::LegacyBackend,
	client::{ClientAtBlock, OnlineClientAtBlockImpl},
	config::{substrate::SubstrateConfig, HashFor, RpcConfigFor},
	constants,
	events::Phase,
	ext::scale_decode::DecodeAsType,
	rpcs::{
		client::RpcClient,
		methods::legacy::{LegacyRpcMethods, NumberOrHex},
	},
	storage, OnlineClient,
};

/// A connection over which extrinsics are handed over and blocks are fetched.
#[derive(Clone)]
pub struct Connection(LegacyRpcMethods<RpcConfigFor<SubstrateConfig>>);

/// A connection that knows the chain's types.
pub struct Chain(OnlineClient<SubstrateConfig>);

/// What a block did.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
	/// Chain time, milliseconds.
	pub time: Moment,
	/// Places of the extrinsics that did what they should.
	pub succeeded: BTreeSet<usize>,
	/// Share of its limits that it used: that of ordinary extrinsics, or of the whole block if it used more of that.
	pub fullness: f64,
}

#[derive(Clone, Copy, Debug, DecodeAsType)]
#[decode_as_type(crate_path = "subxt::ext::scale_decode")]
struct Weight {
	ref_time: u64,
	proof_size: u64,
}

/// What ordinary extrinsics took of a block's reference time, and what they may take of it, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ordinary {
	/// What they took.
	pub used: u64,
	/// What they may take.
	pub limit: u64,
	/// What each takes beside its own weight.
	pub base: u64,
}

/// Beginning of a chain's answer about an extrinsic.
#[derive(Decode)]
struct Info {
	ref_time: Compact<u64>,
	_proof_size: Compact<u64>,
	_class: u8,
	_fee: u128,
}

/// What a block used so far.
#[derive(Clone, Copy, Debug, DecodeAsType)]
#[decode_as_type(crate_path = "subxt::ext::scale_decode")]
struct Used {
	normal: Weight,
	operational: Weight,
	mandatory: Weight,
}

#[derive(Clone, Copy, Debug, DecodeAsType)]
#[decode_as_type(crate_path = "subxt::ext::scale_decode")]
struct OfClass {
	base_extrinsic: Weight,
	max_total: Option<Weight>,
}

#[derive(Clone, Copy, Debug, DecodeAsType)]
#[decode_as_type(crate_path = "subxt::ext::scale_decode")]
struct Classes {
	normal: OfClass,
}

/// What a block may use at most.
#[derive(Clone, Copy, Debug, DecodeAsType)]
#[decode_as_type(crate_path = "subxt::ext::scale_decode")]
struct Limits {
	max_block: Weight,
	per_class: Classes,
}

impl Limits {
	/// What ordinary extrinsics may use.
	fn ordinary(&self) -> Weight {
		self.per_class.normal.max_total.unwrap_or(self.max_block)
	}
}

impl Connection {
	/// Connects to the node at `url`.
	///
	/// # Errors
	/// [`Error::Setup`] with what the connection says; so do all others.
	pub async fn open(url: &str) -> Result<Self, Error> {
		Ok(Self(LegacyRpcMethods::new(RpcClient::from_insecure_url(url).await.map_err(setup)?)))
	}

	/// Hands an extrinsic to the node's pool.
	///
	/// # Errors
	/// [`Error::Unsound`] if the pool refuses it.
	pub async fn submit(&self, extrinsic: &[u8]) -> Result<(), Error> {
		let refused = |error: subxt::rpcs::Error| Error::Unsound(format!("a node refused an extrinsic: {error}"));
		self.0.author_submit_extrinsic(extrinsic).await.map(drop).map_err(refused)
	}

	/// Reference time of an extrinsic, in picoseconds: of its call, and of what is checked about it.
	pub async fn time_of(&self, extrinsic: &[u8]) -> Result<u64, Error> {
		let length = u32::try_from(extrinsic.len()).map_err(setup)?;
		let input = [extrinsic, &length.encode()].concat();
		let answer = self.0.state_call("TransactionPaymentApi_query_info", Some(&input), None).await.map_err(setup)?;
		Ok(Info::decode_all(&mut answer.as_slice()).map_err(setup)?.ref_time.0)
	}

	/// Height of the best block.
	pub async fn best(&self) -> Result<BlockNumber, Error> {
		self.height(None).await
	}

	/// Height of the finalized block.
	pub async fn finalized(&self) -> Result<BlockNumber, Error> {
		self.height(Some(self.0.chain_get_finalized_head().await.map_err(setup)?)).await
	}

	/// The block at a height of the best chain.
	pub async fn hash(&self, number: BlockNumber) -> Result<H256, Error> {
		let hash = self.0.chain_get_block_hash(Some(NumberOrHex::Number(number.into()))).await.map_err(setup)?;
		hash.map(|hash| H256(hash.0)).ok_or_else(|| setup(format!("the node has no block {number}")))
	}

	/// Extrinsics of a block.
	pub async fn body(&self, hash: H256) -> Result<Vec<Vec<u8>>, Error> {
		let block = self.0.chain_get_block(Some(HashFor::<SubstrateConfig>::from(hash.0))).await.map_err(setup)?;
		let block = block.ok_or_else(|| setup(format!("the node has no block {hash:?}")))?;
		Ok(block.block.extrinsics.into_iter().map(|bytes| bytes.0).collect())
	}

	async fn height(&self, hash: Option<HashFor<SubstrateConfig>>) -> Result<BlockNumber, Error> {
		let header = self.0.chain_get_header(hash).await.map_err(setup)?;
		let header = header.ok_or_else(|| setup("the node does not know its own head"))?;
		BlockNumber::try_from(header.number).map_err(setup)
	}
}

impl Chain {
	/// Connects to the node at `url`.
	///
	/// # Errors
	/// As [`Connection::open`]; so do all others.
	pub async fn connect(url: &str) -> Result<Self, Error> {
		let backend = LegacyBackend::builder().build(RpcClient::from_insecure_url(url).await.map_err(setup)?);
		let api = OnlineClient::from_backend_with_config(SubstrateConfig::new(), Arc::new(backend)).await;
		Ok(Self(api.map_err(setup)?))
	}

	/// Chain time after a block, milliseconds.
	pub async fn time(&self, number: BlockNumber) -> Result<Moment, Error> {
		let at = self.0.at_block(number).await.map_err(setup)?;
		let now = at.storage().fetch(storage::dynamic::<(), Moment>("Timestamp", "Now"), ()).await.map_err(setup)?;
		now.decode().map_err(setup)
	}

	/// What ordinary extrinsics took of the block at a height.
	pub async fn ordinary(&self, number: BlockNumber) -> Result<Ordinary, Error> {
		let at = self.0.at_block(number).await.map_err(setup)?;
		let (used, limits) = weights(&at).await?;
		let base = limits.per_class.normal.base_extrinsic.ref_time;
		Ok(Ordinary { used: used.normal.ref_time, limit: limits.ordinary().ref_time, base })
	}

	/// What the block at a height did.
	pub async fn done(&self, number: BlockNumber) -> Result<Done, Error> {
		let at = self.0.at_block(number).await.map_err(setup)?;
		let (used, limits) = weights(&at).await?;
		let mut succeeded = BTreeSet::new();
		for event in at.events().fetch().await.map_err(setup)?.iter() {
			let event = event.map_err(setup)?;
			if let (Phase::ApplyExtrinsic(place), "System", "ExtrinsicSuccess") = (event.phase(), event.pallet_name(), event.event_name()) {
				succeeded.insert(usize::try_from(place).map_err(setup)?);
			}
		}
		Ok(Done { time: self.time(number).await?, succeeded, fullness: fullness(&used, &limits) })
	}
}

/// What a block used, and what it may use.
async fn weights(at: &ClientAtBlock<SubstrateConfig, OnlineClientAtBlockImpl<SubstrateConfig>>) -> Result<(Used, Limits), Error> {
	let used = at.storage().fetch(storage::dynamic::<(), Used>("System", "BlockWeight"), ()).await.map_err(setup)?;
	let limits = at.constants().entry(constants::dynamic("System", "BlockWeights")).map_err(setup)?;
	Ok((used.decode().map_err(setup)?, limits))
}

/// The largest share of any limit.
fn fullness(used: &Used, limits: &Limits) -> f64 {
	let normal = limits.ordinary();
	let of = |weight: fn(&Weight) -> u64| {
		let all = [used.normal, used.operational, used.mandatory].iter().map(weight).fold(0, u64::saturating_add);
		share(weight(&used.normal), weight(&normal)).max(share(all, weight(&limits.max_block)))
	};
	of(|weight| weight.ref_time).max(of(|weight| weight.proof_size))
}

fn share(used: u64, limit: u64) -> f64 {
	used as f64 / limit.max(1) as f64
}

fn setup(error: impl std::fmt::Display) -> Error {
	Error::Setup(format!("a question to a node: {error}"))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_block_is_as_full_as_the_limit_that_it_is_nearest_to() {
		let weight = |ref_time: u64| Weight { ref_time, proof_size: 0 };
		let most = Weight { ref_time: 200, proof_size: u64::MAX };
		let limits = Limits {
			max_block: most,
			per_class: Classes { normal: OfClass { base_extrinsic: weight(1), max_total: Some(Weight { ref_time: 150, ..most }) } },
		};
		let of = |normal, operational, mandatory| {
			let used = Used { normal: weight(normal), operational: weight(operational), mandatory: weight(mandatory) };
			fullness(&used, &limits)
		};
		assert_eq!(of(75, 0, 0), 0.5);
		assert_eq!(of(150, 0, 10), 1.0);
		assert_eq!(of(60, 100, 20), 0.9);
		assert!(of(100, 101, 0) > 1.0);
		assert!(of(1, 0, 200) > 1.0);
		assert!(of(0, 0, 201) > 1.0);
	}
}
