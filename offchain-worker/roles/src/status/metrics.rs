//! Prometheus metrics, on the address that the operator names.

use super::{Reporter, Status};
use axum::{extract::State, http::header, response::IntoResponse, routing::get, Router};
use neuroshard_chain_client::NodeReport;
use neuroshard_http::{listen, Guard, OPEN_METRICS};
use prometheus_client::{
	encoding::text::encode,
	metrics::{
		counter::ConstCounter,
		family::Family,
		gauge::{ConstGauge, Gauge},
		info::Info,
	},
	registry::{Registry, Unit},
};
use std::{net::SocketAddr, sync::atomic::AtomicU64, time::Duration};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// For answers that are under way when the worker stops.
const DRAIN: Duration = Duration::from_secs(2);

/// Why metrics cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
	/// The address is taken or not ours.
	#[error("cannot serve metrics at {address} ({source}): name another address with --metrics HOST:PORT")]
	Listen {
		/// The address.
		address: SocketAddr,
		/// Error of the operating system.
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
	let guard = Guard::new(bound, Vec::new(), Vec::new());
	let router = guard.before(Router::new().route("/metrics", get(scrape)).with_state(reporter));
	tokio::spawn(listen(listener, router, stop, DRAIN));
	Ok(bound)
}

async fn scrape(State(reporter): State<Reporter>) -> impl IntoResponse {
	([(header::CONTENT_TYPE, OPEN_METRICS)], text(&reporter.current()))
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
	counter(&mut registry, "audits_too_slow", "Audits without a sample: this machine is too slow", None, status.audits.too_slow);
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
	let left = status.disputes.blocks_left.map(f64::from);
	gauge("dispute_blocks_left", "Fewest blocks that are left for a move of this account in a dispute", left);
	let left = status.phase_deadline.map(|deadline| deadline.saturating_sub(status.best_block).into());
	gauge("phase_blocks_left", "Blocks until the phase of the round under way ends at the latest", left);
	gauge("audits_open", "Audits that wait for this account's seal or report", Some(status.audits.open.into()));
	gauge("audits_sealed", "Audits that wait for this account's report alone", Some(status.audits.sealed.into()));
	gauge("training_loss", "Loss of the newest inner step, nats per token", status.training_loss.map(f64::from));
	gauge("validation_loss", "Held-out loss of the newest checkpoint, nats per token", status.validation_loss.map(f64::from));
	gauge("tokens_per_second", "Tokens of the newest finished training per second of its inner steps", status.tokens_per_second);
	gauge("computing_seconds", "Seconds in which its compute thread was at work", Some(status.computing_seconds));
	gauge("earned_neuro", "Claimed so far, in NEURO", neuro(&status.earned));
	gauge("claimable_neuro", "Ready to be claimed, in NEURO", neuro(&status.claimable));
	nodes(&mut registry, status);
	let mut text = String::new();
	match encode(&mut text, &registry) {
		Ok(()) => text,
		// Writing to a string does not fail; an empty answer would say "no metrics" to the scraper.
		Err(_) => String::new(),
	}
}

/// Registers what each of several nodes reports, by its place on the command line and its host. The rest of its address may be a secret.
fn nodes(registry: &mut Registry, status: &Status) {
	if status.nodes.is_empty() {
		return;
	}
	let contradicted = if status.contradiction.is_some() { 1.0 } else { 0.0 };
	registry.register("node_contradiction", "Whether nodes name different finalized blocks of one height", ConstGauge::new(contradicted));
	let mut family = |name: &str, help: &str, value: fn(&NodeReport) -> Option<f64>| {
		let family = Family::<Vec<(&str, String)>, Gauge<f64, AtomicU64>>::default();
		for (place, node) in (1u32..).zip(&status.nodes) {
			if let Some(value) = value(node) {
				family.get_or_create(&vec![("node", place.to_string()), ("host", host(&node.url).to_owned())]).set(value);
			}
		}
		registry.register(name, help, family);
	};
	family("node_best_block", "Best block of each node", |node| node.best_block.map(f64::from));
	family("node_finalized_block", "Finalized block of each node", |node| node.finalized_block.map(f64::from));
	family("node_used", "Whether the node is in use", |node| Some(if node.used { 1.0 } else { 0.0 }));
	family("node_fit", "Whether the node answers, and is not behind others", |node| Some(if node.problem.is_none() { 1.0 } else { 0.0 }));
}

fn host(url: &str) -> &str {
	let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
	let rest = rest.split(['/', '?']).next().unwrap_or(rest);
	rest.rsplit_once('@').map_or(rest, |(_, host)| host)
}

/// Planck as text, in NEURO: rounded, for graphs only.
fn neuro(planck: &str) -> Option<f64> {
	planck.parse::<f64>().ok().map(|planck| planck / 1e12)
}

#[cfg(test)]
mod tests {
	use super::*;
	use tokio::io::{AsyncReadExt, AsyncWriteExt};

	async fn scraped(address: SocketAddr, headers: &str) -> String {
		let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
		stream.write_all(format!("GET /metrics HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n").as_bytes()).await.unwrap();
		let mut answer = String::new();
		stream.read_to_string(&mut answer).await.unwrap();
		answer
	}

	#[tokio::test]
	async fn pages_in_browsers_and_names_of_others_are_refused() {
		let stop = CancellationToken::new();
		let address = serve("127.0.0.1:0".parse().unwrap(), Reporter::new(Status::default()), stop.clone()).await.unwrap();
		for headers in
			["Host: evil.example", "Host: localhost\r\nSec-Fetch-Site: cross-site", "Host: localhost\r\nOrigin: https://evil.example"]
		{
			assert!(scraped(address, headers).await.starts_with("HTTP/1.1 403"), "{headers}");
		}
		stop.cancel();
	}

	#[tokio::test]
	async fn a_scraper_reads_the_status() {
		let status = Status { account: "5Grw".into(), best_block: 42, bytes_in: 7, earned: "1500000000000".into(), ..Default::default() };
		let stop = CancellationToken::new();
		let address = serve("127.0.0.1:0".parse().unwrap(), Reporter::new(status), stop.clone()).await.unwrap();
		let answer = scraped(address, "Host: localhost").await;
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

	#[test]
	fn blocks_left_for_moves_and_phases_are_there_only_while_something_is_to_be_done() {
		let mut status = Status { best_block: 40, phase_deadline: Some(52), ..Default::default() };
		status.disputes.blocks_left = Some(7);
		let lines = text(&status);
		assert!(lines.contains("neuroshard_worker_dispute_blocks_left 7.0"), "{lines}");
		assert!(lines.contains("neuroshard_worker_phase_blocks_left 12.0"), "{lines}");
		assert!(!text(&Status::default()).contains("blocks_left"));
	}

	#[test]
	fn each_of_several_nodes_has_its_metrics_without_what_may_be_a_secret() {
		let node = |url: &str, used, best_block, problem: Option<&str>| NodeReport {
			url: url.into(),
			used,
			best_block,
			problem: problem.map(str::to_owned),
			..Default::default()
		};
		let nodes =
			vec![node("ws://127.0.0.1:9944", false, None, Some("does not answer")), node("wss://me:pw@host:1/key", true, Some(42), None)];
		let text = text(&Status { nodes, contradiction: Some("words".into()), ..Default::default() });
		for line in [
			"neuroshard_worker_node_best_block{node=\"2\",host=\"host:1\"} 42.0",
			"neuroshard_worker_node_used{node=\"1\",host=\"127.0.0.1:9944\"} 0.0",
			"neuroshard_worker_node_used{node=\"2\",host=\"host:1\"} 1.0",
			"neuroshard_worker_node_fit{node=\"1\",host=\"127.0.0.1:9944\"} 0.0",
			"neuroshard_worker_node_contradiction 1.0",
		] {
			assert!(text.contains(line), "{line} is not in {text}");
		}
		assert!(!text.contains("pw") && !text.contains("key"));
		assert!(!super::text(&Status::default()).contains("node_"), "there is nothing to compare");
	}

	#[tokio::test]
	async fn a_taken_port_is_named_with_the_option_that_changes_it() {
		let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
		let address = taken.local_addr().unwrap();
		let error = serve(address, Reporter::new(Status::default()), CancellationToken::new()).await.unwrap_err();
		assert!(error.to_string().contains("--metrics"), "{error}");
	}
}
