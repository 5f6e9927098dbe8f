//! The genesis of a preset, as tests of the worker begin with it, too.

use neuroshard_runtime::{genesis, RuntimeGenesisConfig};
use serde_json::Value;

/// Genesis of a preset: its patch merged into the default, as the chain-spec builder does.
pub fn genesis_of(preset: &str) -> RuntimeGenesisConfig {
	let patch = serde_json::from_slice(&genesis::preset(&preset.into()).expect("a preset")).expect("JSON");
	let mut config = serde_json::to_value(RuntimeGenesisConfig::default()).expect("JSON");
	merge(&mut config, patch);
	serde_json::from_value(config).expect("a genesis")
}

fn merge(base: &mut Value, patch: Value) {
	match (base, patch) {
		(Value::Object(base), Value::Object(patch)) => {
			patch.into_iter().for_each(|(key, value)| merge(base.entry(key).or_insert(Value::Null), value));
		}
		(base, patch) => *base = patch,
	}
}
