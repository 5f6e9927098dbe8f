//! The kernels inside the runtime's WASM give the bits that the native ones give.

use codec::Decode;
use sc_executor::WasmExecutor;
use sp_core::traits::{CallContext, CodeExecutor, RuntimeCode, WrappedRuntimeCode};

#[test]
fn the_known_answers_inside_the_wasm_runtime_are_the_native_ones() {
	let wasm = neuroshard_runtime::WASM_BINARY.expect("this test needs the WASM runtime: unset SKIP_WASM_BUILD");
	let executor = WasmExecutor::<sp_io::SubstrateHostFunctions>::builder().build();
	let code = RuntimeCode { code_fetcher: &WrappedRuntimeCode(wasm.into()), hash: vec![1], heap_pages: None };
	let mut externalities = sp_io::TestExternalities::default();
	let answer = executor.call(&mut externalities.ext(), &code, "KernelsApi_known_answers", &[], CallContext::Offchain).0.unwrap();
	let digests = Vec::<(Vec<u8>, [u8; 32])>::decode(&mut &answer[..]).unwrap();
	let native: Vec<(Vec<u8>, [u8; 32])> =
		neuroshard_kernels::kat::digests().into_iter().map(|(name, digest)| (name.as_bytes().to_vec(), digest)).collect();
	assert!(native.len() >= 10, "only {} known answers", native.len());
	assert_eq!(digests, native);
}
