//! Builds the runtime for WASM next to the native one.

fn main() {
	#[cfg(feature = "std")]
	{
		// The target directory may lie outside the workspace, where the builder would not find our Cargo.lock.
		if std::env::var_os("WASM_BUILD_WORKSPACE_HINT").is_none() {
			std::env::set_var("WASM_BUILD_WORKSPACE_HINT", concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
		}
		let builder = substrate_wasm_builder::WasmBuilder::init_with_defaults();
		#[cfg(feature = "metadata-hash")]
		let builder = builder.enable_metadata_hash("NEURO", 12);
		builder.build();
	}
}
