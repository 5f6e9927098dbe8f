//! Builds the runtime for WASM next to the native one.

fn main() {
	#[cfg(feature = "std")]
	{
		// The target directory may lie outside the workspace, where the builder would not find our Cargo.lock.
		// Another checkout may have compiled this script, so where it is now is asked when it runs.
		if let (None, Some(runtime)) = (std::env::var_os("WASM_BUILD_WORKSPACE_HINT"), std::env::var_os("CARGO_MANIFEST_DIR")) {
			std::env::set_var("WASM_BUILD_WORKSPACE_HINT", std::path::Path::new(&runtime).join(".."));
		}
		let builder = substrate_wasm_builder::WasmBuilder::init_with_defaults();
		#[cfg(feature = "metadata-hash")]
		let builder = builder.enable_metadata_hash("NEURO", 12);
		builder.build();
	}
}
