//! Restriction of the addresses that this worker connects to when others have named them: in their offers and registrations on the chain, or to its peers.
//!
//! Anybody can name any address. A worker that connected to all of them would do so for strangers inside its own network: to its router, to services of
//! its machine, to what its cloud tells its machines. So the rule is applied to addresses, after names are resolved and immediately before connecting.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Range of addresses that may be dialled when others have named them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reach {
	/// To machines of the internet.
	#[default]
	Internet,
	/// Anywhere: for networks without the internet, such as those of one machine. Only an operator decides that.
	Anywhere,
}

impl Reach {
	/// Returns whether it covers an address.
	pub fn covers(self, ip: IpAddr) -> bool {
		self == Self::Anywhere || is_global_ip(ip)
	}
}

/// Returns whether an address belongs to one machine of the internet: none of a private network, of this machine, of a link, of many machines, or for
/// examples and later use, nor one that contains an IPv4 address.
pub(crate) fn is_global_ip(ip: IpAddr) -> bool {
	match ip {
		IpAddr::V4(ip) => is_global_v4(ip),
		IpAddr::V6(ip) => is_global_v6(ip),
	}
}

/// By the special-purpose registry of IANA.
fn is_global_v4(ip: Ipv4Addr) -> bool {
	let special = match ip.octets() {
		// This network, addresses behind a carrier's router, protocol assignments, relays of 6to4, benchmarks, later use.
		[0, ..] | [100, 64..=127, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] | [240..=255, ..] => true,
		_ => false,
	};
	!(special || ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_multicast() || ip.is_documentation())
}

/// By the special-purpose registry of IANA. Nothing outside 2000::/3 is given to machines: neither IPv4 addresses in other forms (mapped, NAT64) nor
/// those of links and private networks.
fn is_global_v6(ip: Ipv6Addr) -> bool {
	match ip.segments() {
		// Protocol assignments (Teredo among them), examples, 6to4.
		[0x2001, 0..=0x01ff, ..] | [0x2001, 0x0db8, ..] | [0x2002, ..] | [0x3fff, 0..=0x0fff, ..] => false,
		[first, ..] => first & 0xe000 == 0x2000,
	}
}
