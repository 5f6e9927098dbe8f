//! Prometheus metrics, on the address that the operator names.

use crate::run::status::{Reporter, Status};
use axum::{extract::State, http::header, response::IntoResponse, routing::get, Router};
use prometheus_client::{
	encoding::text::encode,
	metrics::{counter::ConstCounter, gauge::ConstGauge, info::Info},
	registry::{Registry, Unit},
};
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Content type of the OpenMetrics text format.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Why metrics cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
	/// The address is taken or not ours.
	#[error("cannot serve metrics at {address} ({source}): name another address with --metrics HOST:PORT")]
	Listen {
		/// The address.
		address: SocketAddr,
		/// What the system said.
		source: std::io::Error,
	},
}

/// Serves `/metrics` at `address` until `stop` is cancelled. Returns the address, with the port that the system chose for port 0.
///
/// # Errors
/// [`MetricsError::Listen`].
pub async fn serve(address: SocketAddr, reporter: Reporter, stop: CancellationToken) -> Result<SocketAddr, MetricsError> {
	let failed = |source| MetricsError::Listen { address, source };
	let listener = TcpListener::bind(address).await.map_err(failed)?;
	let bound = listener.local_addr().map_err(failed)?;
	let router = Router::new().route("/metrics", get(scrape)).with_state(reporter);
	tokio::spawn(async move {
		let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
		if let Err(error) = served {
			tracing::warn!("metrics ended: {error}");
		}
	});
	Ok(bound)
}

async fn scrape(State(reporter): State<Reporter>) -> impl IntoResponse {
	([(header::CONTENT_TYPE, CONTENT_TYPE)], text(&reporter.current()))
}

/// The status in the OpenMetrics text format.
fn text(status: &Status) -> String {
	let mut registry = Registry::with_prefix("neuroshard_worker");
	let about = Info::new([("account", status.account.clone()), ("peer_id", status.peer_id.clone())]);
	registry.register("identity", "Account and peer id", about);
	let counter = |registry: &mut Registry, name: &str, help: &str, unit: Option<Unit>, value: u64| match unit {
		Some(unit) => registry.register_with_unit(name, help, unit, ConstCounter::new(value)),
		None => registry.register(name, help, ConstCounter::new(value)),
	};
	counter(&mut registry, "received", "Bytes received from peers", Some(Unit::Bytes), status.bytes_in);
	counter(&mut registry, "sent", "Bytes sent to peers", Some(Unit::Bytes), status.bytes_out);
	counter(&mut registry, "tokens", "Tokens trained on", None, status.tokens);
	counter(&mut registry, "claims_checked", "Claims of others that were recomputed", None, status.disputes.checked);
	counter(&mut registry, "claims_challenged", "Claims of others that were found false and disputed", None, status.disputes.challenged);
	counter(&mut registry, "audits_reported", "Samples reported as an auditor", None, status.audits.reported);
	counter(
		&mut registry,
		"audits_unavailable",
		"Audits without a sample: something could not be fetched",
		None,
		status.audits.unavailable,
	);
	counter(&mut registry, "audits_challenged", "Samples of other auditors that were disputed", None, status.audits.challenged);
	let mut gauge = |name: &str, help: &str, value: Option<f64>| {
		if let Some(value) = value {
			registry.register(name, help, ConstGauge::new(value));
		}
	};
	gauge("best_block", "Best block of the node", Some(status.best_block.into()));
	gauge("finalized_block", "Finalized block of the node", Some(status.finalized_block.into()));
	gauge("peers", "Connected peers", Some(status.peers.into()));
	gauge("round", "Round under way", status.round.map(f64::from));
	gauge("disputes_open", "Disputes in which this account defends or challenges", Some(status.disputes.open.into()));
	gauge("audits_open", "Audits that wait for this account's seal or report", Some(status.audits.open.into()));
	gauge("audits_sealed", "Audits that wait for this account's report alone", Some(status.audits.sealed.into()));
	gauge("training_loss", "Loss of the newest inner step, nats per token", status.training_loss.map(f64::from));
	gauge("validation_loss", "Held-out loss of the newest checkpoint, nats per token", status.validation_loss.map(f64::from));
	gauge("tokens_per_second", "Tokens of the newest finished training per second of its inner steps", status.tokens_per_second);
	gauge("earned_neuro", "Claimed so far, in NEURO", neuro(&status.earned));
	gauge("claimable_neuro", "Ready to be claimed, in NEURO", neuro(&status.claimable));
	let mut text = String::new();
	match encode(&mut text, &registry) {
		Ok(()) => text,
		// Writing to a string does not fail; an empty answer would say "no metrics" to the scraper.
		Err(_) => String::new(),
	}
}

/// Planck as text, in NEURO: rounded, for graphs only.
fn neuro(planck: &str) -> Option<f64> {
	planck.parse::<f64>().ok().map(|planck| planck / 1e12)
}

#[cfg(test)]
mod tests {
	use super::*;
	use tokio::io::{AsyncReadExt, AsyncWriteExt};

	#[tokio::test]
	async fn a_scraper_reads_the_status() {
		let status = Status { account: "5Grw".into(), best_block: 42, bytes_in: 7, earned: "1500000000000".into(), ..Default::default() };
		let stop = CancellationToken::new();
		let address = serve("127.0.0.1:0".parse().unwrap(), Reporter::new(status), stop.clone()).await.unwrap();
		let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
		stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
		let mut answer = String::new();
		stream.read_to_string(&mut answer).await.unwrap();
		stop.cancel();
		assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
		for line in [
			"neuroshard_worker_best_block 42.0",
			"neuroshard_worker_received_bytes_total 7",
			"neuroshard_worker_earned_neuro 1.5",
			"neuroshard_worker_identity_info{account=\"5Grw\"",
		] {
			assert!(answer.contains(line), "{line} is not in {answer}");
		}
		assert!(!answer.contains("validation_loss"), "what is not known is not there");
	}

	#[tokio::test]
	async fn a_taken_port_is_named_with_the_option_that_changes_it() {
		let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
		let address = taken.local_addr().unwrap();
		let error = serve(address, Reporter::new(Status::default()), CancellationToken::new()).await.unwrap_err();
		assert!(error.to_string().contains("--metrics"), "{error}");
	}
}
