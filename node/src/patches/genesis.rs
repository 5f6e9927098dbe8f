//! The first block, from a chain spec, by an executor that keeps compiled code. The SDK's own builder has the runtime compiled anew whenever a node starts from a
//! spec that is not raw, also where the first block is there already.

use codec::{Decode, Encode};
use neuroshard_runtime::opaque::Block;
use sc_chain_spec::{json_merge, BuildGenesisBlock, ChainSpec, GenesisBlockBuilder};
use sc_client_api::Backend;
use sc_executor::RuntimeVersionOf;
use serde::Deserialize;
use serde_json::Value;
use sp_blockchain::Error;
use sp_core::{
	storage::{well_known_keys::CODE, Storage},
	traits::{CallContext, CodeExecutor, RuntimeCode, WrappedRuntimeCode},
};
use sp_runtime::traits::{Hash, HashingFor};
use sp_state_machine::BasicExternalities;
use std::sync::Arc;

/// Builds the first block of a chain spec if it is asked to.
pub struct Genesis<'a, B, E> {
	/// What it is built from.
	pub spec: &'a dyn ChainSpec,
	/// Whether its state is written.
	pub commit: bool,
	/// Where it is written to.
	pub backend: Arc<B>,
	/// Executes the runtime.
	pub executor: E,
}

impl<B: Backend<Block>, E: CodeExecutor + RuntimeVersionOf> BuildGenesisBlock<Block> for Genesis<'_, B, E> {
	type BlockImportOperation = B::BlockImportOperation;

	fn build_genesis_block(self) -> sp_blockchain::Result<(Block, Self::BlockImportOperation)> {
		let Self { spec, commit, backend, executor } = self;
		let storage = storage(spec, &executor).map_err(Error::Storage)?;
		GenesisBlockBuilder::new_with_storage(storage, commit, backend, executor)?.build_genesis_block()
	}
}

/// What a chain spec says of the state at genesis: a runtime, and where values differ from its defaults.
#[derive(Deserialize)]
struct Patched {
	#[serde(with = "sp_core::bytes")]
	code: Vec<u8>,
	patch: Value,
}

/// The state at genesis.
///
/// # Errors
/// Words about a spec that is none, or one that its runtime does not take.
fn storage(spec: &dyn ChainSpec, executor: &impl CodeExecutor) -> Result<Storage, String> {
	let mut json: Value = serde_json::from_str(&spec.as_json(false)?).map_err(|error| format!("the chain spec is no JSON: {error}"))?;
	let patched = json.pointer_mut("/genesis/runtimeGenesis").map(Value::take).and_then(|genesis| Patched::deserialize(genesis).ok());
	match patched {
		Some(patched) => patched.storage(executor),
		// It has the state itself, or all of the configuration.
		None => spec.as_storage_builder().build_storage(),
	}
}

impl Patched {
	fn storage(self, executor: &impl CodeExecutor) -> Result<Storage, String> {
		let Self { code, patch } = self;
		let fetcher = WrappedRuntimeCode(code.as_slice().into());
		let runtime = RuntimeCode { code_fetcher: &fetcher, heap_pages: None, hash: HashingFor::<Block>::hash(&code).encode() };
		let mut state = BasicExternalities::new_empty();
		let mut call = |method: &str, data: &[u8]| {
			let (result, _) = executor.call(&mut state, &runtime, method, data, CallContext::Offchain);
			result.map_err(|error| format!("the chain spec's runtime does not execute {method}: {error}"))
		};
		let undecodable = |error| format!("the chain spec's runtime answers what is no answer: {error}");
		let defaults = call("GenesisBuilder_get_preset", &Option::<String>::None.encode())?;
		let defaults = Option::<Vec<u8>>::decode(&mut &defaults[..]).map_err(undecodable)?;
		let defaults = defaults.ok_or("the chain spec's runtime has no values for genesis")?;
		let mut config =
			serde_json::from_slice(&defaults).map_err(|error| format!("its runtime's values for genesis are no JSON: {error}"))?;
		json_merge(&mut config, patch);
		let built = call("GenesisBuilder_build_state", &config.to_string().encode())?;
		let built = Result::<(), String>::decode(&mut &built[..]).map_err(undecodable)?;
		built.map_err(|error| format!("the chain spec's runtime does not take its genesis: {error}"))?;
		let mut storage = state.into_storages();
		storage.top.insert(CODE.to_vec(), code);
		Ok(storage)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_runtime::{genesis, WASM_BINARY};
	use sc_service::{ChainType, GenericChainSpec};
	use serde_json::json;
	use sp_runtime::BuildStorage;

	fn spec(patch: Value) -> GenericChainSpec {
		let wasm = WASM_BINARY.expect("the runtime is built");
		GenericChainSpec::builder(wasm, None)
			.with_name("x")
			.with_id("x")
			.with_chain_type(ChainType::Local)
			.with_genesis_config_patch(patch)
			.build()
	}

	#[test]
	fn state_at_genesis_is_that_of_the_sdks_own_builder() {
		let mut patch: Value = serde_json::from_slice(&genesis::preset(&genesis::LOCAL_TESTNET.into()).unwrap()).unwrap();
		patch["parameters"]["slotDuration"] = json!(777);
		let executor = sc_executor::WasmExecutor::<sp_io::SubstrateHostFunctions>::builder().build();
		let spec = spec(patch);
		let ours = storage(&spec, &executor).unwrap();
		assert_eq!(ours.top.get(CODE).map(Vec::as_slice), WASM_BINARY);
		assert!(ours.top == spec.build_storage().unwrap().top && ours.children_default.is_empty());
		// The state itself, as a raw spec has it.
		let raw = GenericChainSpec::<sc_chain_spec::NoExtension>::from_json_bytes(spec.as_json(true).unwrap().into_bytes()).unwrap();
		assert!(ours.top == storage(&raw, &executor).unwrap().top);
	}

	#[test]
	fn a_genesis_that_the_runtime_does_not_take_is_an_error_in_words() {
		let executor = sc_executor::WasmExecutor::<sp_io::SubstrateHostFunctions>::builder().build();
		let error = storage(&spec(json!({ "disputes": { "clocks": 1 } })), &executor).unwrap_err();
		assert!(error.contains("does not take its genesis") && error.contains("clocks"), "{error}");
	}
}
