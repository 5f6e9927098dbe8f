//! Builds the runtime for WASM next to the native one.

fn main() {
	#[cfg(feature = "std")]
	{
		let builder = substrate_wasm_builder::WasmBuilder::init_with_defaults();
		#[cfg(feature = "metadata-hash")]
		let builder = builder.enable_metadata_hash("NEURO", 12);
		builder.build();
	}
}
