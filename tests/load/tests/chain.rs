//! The load generator as people start it, with a load that is done within a few blocks.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use neuroshard_e2e::Ended;
use serde_json::Value;
use std::process::Command;

#[tokio::test]
async fn a_small_load_is_finalized_and_its_figures_fit_together() {
	let folder = tempfile::tempdir().unwrap();
	let file = folder.path().join("load.json");
	let mut command = Command::new(env!("CARGO_BIN_EXE_neuroshard-load"));
	command.args(["--transfers", "300", "--proofs", "20", "--json"]).arg(&file);
	let said = Ended::output_of(command).await.unwrap();
	assert!(said.contains("300 transfers finalized") && said.contains("20 proofs finalized"), "{said}");
	let measured: Vec<Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
	let of = |kind: &str| measured.iter().find(|one| one["kind"] == kind).unwrap();
	assert_eq!(measured.len(), 2);
	for (kind, count) in [("transfers", 300), ("proofs", 20)] {
		let one = of(kind);
		assert_eq!((one["validators"].as_u64(), one["finalized"].as_u64()), (Some(1), Some(count)), "{one}");
		let (blocks, most) = (one["blocks"].as_u64().unwrap(), one["max_in_block"].as_u64().unwrap());
		assert!(most <= count && blocks * most >= count, "{one}");
		// No block comes sooner than half a slot after the one before it.
		let rate = one["finalized_per_second"].as_f64().unwrap();
		assert!(rate > 0.0 && rate <= count as f64 / 1.5, "{one}");
		let fullness = one["max_block_fullness"].as_f64().unwrap();
		assert!(fullness > 0.0 && fullness <= 1.0, "{one}");
		// A node with the chain's WASM compiled is no smaller than that.
		assert!(one["peak_rss_bytes"].as_u64().unwrap() > 50 << 20, "{one}");
	}
}
