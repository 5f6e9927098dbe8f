//! Metrics of the server. They have a prefix that tells them from those of the SDK's own server.

use super::budget::{Budget, Kind};
use sc_rpc_server::RpcMetrics;
use std::sync::Arc;
use substrate_prometheus_endpoint::{
	prometheus::{
		core::{Collector, Desc},
		proto::MetricFamily,
	},
	register, MetricSource, Opts, PrometheusError, Registry, SourcedGauge,
};

/// Before the names of all metrics of the server.
const PREFIX: &str = "neuroshard";

/// Registers the SDK's metrics of calls, and what is taken of the budgets of `kinds`, with `registry`.
pub fn register_all(registry: &Registry, kinds: [&Kind; 2]) -> Result<Option<RpcMetrics>, PrometheusError> {
	let own = Registry::new_custom(Some(PREFIX.into()), None)?;
	let held = Opts::new("rpc_held_bytes", "Bytes that are reserved for requests and answers of all calls that are not over");
	let budgets = kinds.iter().flat_map(|kind| [kind.requests.clone(), kind.answers.clone()]).collect();
	register(SourcedGauge::new(&held, Held(budgets))?, &own)?;
	let metrics = RpcMetrics::new(Some(&own))?;
	registry.register(Box::new(Nested(own)))?;
	Ok(metrics)
}

/// All metrics of a registry, for another one.
struct Nested(Registry);

impl Collector for Nested {
	fn desc(&self) -> Vec<&Desc> {
		Vec::new()
	}

	fn collect(&self) -> Vec<MetricFamily> {
		self.0.gather()
	}
}

#[derive(Clone)]
struct Held(Vec<Arc<Budget>>);

impl MetricSource for Held {
	type N = u64;

	fn collect(&self, mut set: impl FnMut(&[&str], u64)) {
		set(&[], self.0.iter().map(|budget| budget.taken()).sum());
	}
}
