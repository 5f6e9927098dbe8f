//! Statistics of a server.

use prometheus_client::{
	encoding::text::encode,
	metrics::{counter::Counter, gauge::Gauge},
	registry::Registry,
};

/// Counters since the start, and gauges.
#[derive(Default)]
pub struct Stats {
	/// Requests that were taken.
	pub requests: Counter,
	/// Requests that were refused.
	pub refused: Counter,
	/// Connections that are open.
	pub connections: Gauge,
	/// Tokens of prompts.
	pub prompt_tokens: Counter,
	/// Those of them whose pages another text had left.
	pub shared_tokens: Counter,
	/// Tokens that were chosen.
	pub generated_tokens: Counter,
	/// Those of them that speculative decoding had drafted.
	pub drafted_tokens: Counter,
	/// Texts that are being continued.
	pub texts: Gauge,
	/// Pages of the KV cache in use.
	pub pages: Gauge,
}

impl Stats {
	/// In the OpenMetrics text format.
	pub fn text(&self) -> String {
		let mut registry = Registry::with_prefix("neuroshard_serve");
		registry.register("requests", "Requests that were taken", self.requests.clone());
		registry.register("refused", "Requests that were refused", self.refused.clone());
		registry.register("connections", "Connections that are open", self.connections.clone());
		registry.register("prompt_tokens", "Tokens of prompts", self.prompt_tokens.clone());
		registry.register("shared_tokens", "Tokens of prompts that another prefill had left in the KV cache", self.shared_tokens.clone());
		registry.register("generated_tokens", "Tokens that were chosen", self.generated_tokens.clone());
		registry.register(
			"drafted_tokens",
			"Tokens that were chosen as speculative decoding had drafted them",
			self.drafted_tokens.clone(),
		);
		registry.register("texts", "Texts that are being continued", self.texts.clone());
		registry.register("pages", "Pages of the KV cache in use", self.pages.clone());
		let mut text = String::new();
		// Writing to a string does not fail.
		let _ = encode(&mut text, &registry);
		text
	}
}
