//! Chain specs: the runtime's presets under the names that the command line knows.

use neuroshard_runtime::{genesis, WASM_BINARY};
use sc_service::ChainType;

/// Chain spec with the extension that sync-state RPC fills.
pub type ChainSpec = sc_service::GenericChainSpec<Extensions>;

/// Extensions that a chain spec has beside genesis.
#[derive(Default, Clone, Debug, serde::Serialize, serde::Deserialize, sc_chain_spec::ChainSpecExtension)]
#[serde(rename_all = "camelCase")]
pub struct Extensions {
	/// Blocks known to be good, by number.
	pub fork_blocks: sc_client_api::ForkBlocks<neuroshard_runtime::opaque::Block>,
	/// Blocks known to be bad.
	pub bad_blocks: sc_client_api::BadBlocks<neuroshard_runtime::opaque::Block>,
	/// State that light clients start from.
	pub light_sync_state: sc_sync_state_rpc::LightSyncStateExtension,
}

/// Loads a chain spec by preset name or from a JSON file. The empty name is the development chain.
pub fn load(id: &str) -> Result<Box<dyn sc_service::ChainSpec>, String> {
	let spec = match id {
		"" | "dev" | "development" => {
			from_preset("NeuroShard Development", "neuroshard_dev", ChainType::Development, genesis::DEVELOPMENT)?
		}
		"local" | "local_testnet" => from_preset("NeuroShard Local Testnet", "neuroshard_local", ChainType::Local, genesis::LOCAL_TESTNET)?,
		"live" => from_preset("NeuroShard", "neuroshard", ChainType::Live, genesis::LIVE)?,
		path => ChainSpec::from_json_file(path.into())
			.map_err(|error| format!("`{path}` is neither a preset (dev, local, live) nor a readable chain spec: {error}"))?,
	};
	Ok(Box::new(spec))
}

/// A preset's values come from the node's own copy of the runtime's source: to ask the compiled runtime for the same ones takes many seconds.
fn from_preset(name: &str, id: &str, chain_type: ChainType, preset: &str) -> Result<ChainSpec, String> {
	let wasm = WASM_BINARY.ok_or("this node was built without its runtime (SKIP_WASM_BUILD): build it again without that variable")?;
	let values = genesis::preset(&preset.into()).ok_or_else(|| format!("the runtime has no preset `{preset}`"))?;
	let values = serde_json::from_slice(&values).map_err(|error| format!("the values of the runtime's preset `{preset}`: {error}"))?;
	let mut properties = sc_service::Properties::new();
	properties.insert("tokenSymbol".into(), "NEURO".into());
	properties.insert("tokenDecimals".into(), 12.into());
	properties.insert("ss58Format".into(), neuroshard_runtime::SS58_PREFIX.into());
	Ok(ChainSpec::builder(wasm, Extensions::default())
		.with_name(name)
		.with_id(id)
		.with_chain_type(chain_type)
		.with_protocol_id("neuro")
		.with_properties(properties)
		.with_genesis_config_patch(values)
		.build())
}
