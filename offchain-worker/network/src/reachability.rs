//! Reachability of this node by others, in words.

use crate::address::{is_loopback, is_relayed};
use libp2p::Multiaddr;

/// Reachability of this node, as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reachability {
	/// Listening on loopback only: programs on this machine can reach us, nobody else.
	LocalOnly,
	/// Others confirmed that they can reach us here.
	Public(Multiaddr),
	/// Others tried and could not; this relay address works for setting up direct connections.
	Relayed(Multiaddr),
	/// Others tried and could not.
	Unreachable,
	/// Nobody has tried yet.
	Unknown,
}

/// Result of AutoNAT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Probed {
	Public(Multiaddr),
	Private,
	Unknown,
}

impl Reachability {
	/// Puts together what AutoNAT found with where we listen, relayed addresses included.
	pub(crate) fn judge(probed: &Probed, listening: &[Multiaddr]) -> Self {
		let relayed = listening.iter().find(|address| is_relayed(address));
		match (probed, relayed) {
			(Probed::Public(address), _) => Self::Public(address.clone()),
			(_, Some(relay)) => Self::Relayed(relay.clone()),
			_ if listening.iter().all(is_loopback) => Self::LocalOnly,
			(Probed::Private, None) => Self::Unreachable,
			(Probed::Unknown, None) => Self::Unknown,
		}
	}

	/// Describes what it means and what to do about it.
	pub fn words(&self) -> String {
		match self {
			Self::LocalOnly => {
				"Only programs on this machine can reach this worker, because it listens on loopback. That is right for a local network. \
				To take part from elsewhere, listen on 0.0.0.0."
					.to_owned()
			}
			Self::Public(address) => format!("Others can reach this worker at {address}."),
			Self::Relayed(address) => format!(
				"Others cannot reach this worker directly. They get in touch through {address} and then try to open a direct path, which works \
				with most home routers. Forwarding the port would be surer."
			),
			Self::Unreachable => {
				"Others tried to reach this worker and could not: a router or firewall is in between. Forward the listening port (UDP \
				and TCP) to this machine, or name a relay. Until then this worker can still fetch, and serves peers that it is connected to."
					.to_owned()
			}
			Self::Unknown => "Nobody has tried to reach this worker yet. That takes a public peer and up to two minutes.".to_owned(),
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn address(text: &str) -> Multiaddr {
		text.parse().unwrap()
	}

	#[test]
	fn every_situation_has_its_words() {
		let local = address("/ip4/127.0.0.1/tcp/1");
		let lan = address("/ip4/192.168.1.2/tcp/1");
		let public = address("/ip4/192.0.2.1/tcp/1");
		let relay = address("/ip4/192.0.2.1/tcp/1/p2p-circuit");
		let judge =
			|probed, listening: &[&Multiaddr]| Reachability::judge(&probed, &listening.iter().map(|a| (*a).clone()).collect::<Vec<_>>());
		assert_eq!(judge(Probed::Unknown, &[&local]), Reachability::LocalOnly);
		assert_eq!(judge(Probed::Unknown, &[&local, &lan]), Reachability::Unknown);
		assert_eq!(judge(Probed::Private, &[&local, &lan]), Reachability::Unreachable);
		assert_eq!(judge(Probed::Private, &[&lan, &relay]), Reachability::Relayed(relay.clone()));
		assert_eq!(judge(Probed::Public(public.clone()), &[&lan]), Reachability::Public(public.clone()));
		assert!(Reachability::Public(public).words().contains("192.0.2.1"));
		assert!(Reachability::Unreachable.words().contains("Forward the listening port"));
	}
}
