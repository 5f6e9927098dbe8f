//! How the members of a quorum reach each other.

use super::members::Named;
use crate::cli::CliError;
use neuroshard_network::{Keypair, Multiaddr, Purpose, Streams};
use neuroshard_roles::Ways;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Where a member listens for those with larger numbers, unless it is told.
const LISTEN: &str = "/ip4/0.0.0.0/udp/4700/quic-v1";

/// Listens for the others, and knows where they are. The task ends with the token.
pub(in crate::cli) async fn open(
	members: Vec<Named>,
	keypair: Keypair,
	listen: &[Multiaddr],
	stop: CancellationToken,
) -> Result<(Ways, JoinHandle<()>), CliError> {
	let listen = match listen {
		[] => LISTEN.parse().into_iter().collect(),
		listen => listen.to_vec(),
	};
	let (streams, incoming, bound, task) = Streams::start_for(Purpose::Quorum, keypair, listen, stop).await?;
	for address in &bound {
		tracing::info!("the other members of the quorum reach this one at {address}");
	}
	let own = streams.local();
	// Whoever copies a file to another machine forgets this.
	if members.iter().all(|member| member.address.peer != own) {
		tracing::warn!("the members file names nobody with the identity of this worker, {own}: the others cannot reach it by that file");
	}
	let members = members.into_iter().map(|member| (member.who, member.address)).collect();
	Ok((Ways { members, streams, incoming }, task))
}
