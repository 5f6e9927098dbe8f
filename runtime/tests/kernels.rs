//! The kernels inside the runtime's WASM give the bits that the native ones give.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use codec::{Decode, Encode};
use neuroshard_kernels::kat;
use neuroshard_runtime::Runtime;
use pallet_neuro_staking::WeightInfo;
use sc_executor::WasmExecutor;
use sp_core::traits::{CallContext, CodeExecutor, RuntimeCode, WrappedRuntimeCode};
use std::time::{Duration, Instant};

/// Asks the WASM runtime, and measures how long the fastest of so many calls takes.
fn ask<T: Decode>(method: &str, input: &[u8], times: usize) -> (T, Duration) {
	let wasm = neuroshard_runtime::WASM_BINARY.expect("this test needs the WASM runtime: unset SKIP_WASM_BUILD");
	let executor = WasmExecutor::<sp_io::SubstrateHostFunctions>::builder().build();
	let code = RuntimeCode { code_fetcher: &WrappedRuntimeCode(wasm.into()), hash: vec![1], heap_pages: None };
	let mut externalities = sp_io::TestExternalities::default();
	let calls = (0..times).map(|_| {
		let started = Instant::now();
		let answer = executor.call(&mut externalities.ext(), &code, method, input, CallContext::Offchain).0.unwrap();
		(T::decode(&mut &answer[..]).unwrap(), started.elapsed())
	});
	calls.min_by_key(|(_, elapsed)| *elapsed).unwrap()
}

#[test]
fn the_known_answers_inside_the_wasm_runtime_are_the_native_ones() {
	let (digests, _) = ask::<Vec<(Vec<u8>, [u8; 32])>>("KernelsApi_known_answers", &[], 1);
	let native: Vec<(Vec<u8>, [u8; 32])> = kat::digests().into_iter().map(|(name, digest)| (name.as_bytes().to_vec(), digest)).collect();
	assert!(native.len() >= 10, "only {} known answers", native.len());
	assert_eq!(digests, native);
}

#[test]
fn the_answer_to_a_drawn_test_is_the_native_one() {
	let charged = <<Runtime as pallet_neuro_staking::Config>::WeightInfo as WeightInfo>::prove_arithmetic();
	let charged = Duration::from_nanos(charged.ref_time() / 1_000);
	assert!(charged <= Duration::from_millis(50), "{charged:?}");
	for seed in [[0; 32], [0xa5; 32], [1; 32]] {
		let (answer, elapsed) = ask::<[u8; 32]>("KernelsApi_drawn_answer", &seed.encode(), 10);
		assert_eq!(answer, kat::drawn(seed));
		println!("{elapsed:?} on this machine; {charged:?} are charged");
	}
}
