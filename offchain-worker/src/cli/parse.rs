//! Values of options that several commands have.

use neuroshard_chain_client::Neuro;
use neuroshard_types::{AccountId, NEURO};
use sp_core::crypto::{Ss58AddressFormat, Ss58Codec};
use std::net::{SocketAddr, ToSocketAddrs};

/// The chain's prefix of addresses: the generic one.
const PREFIX: u16 = 42;

/// Bytes of a gibibyte.
const GIB: f64 = (1_u64 << 30) as f64;

/// An account by its address.
pub(super) fn address(text: &str) -> Result<AccountId, String> {
	let (account, format) = AccountId::from_ss58check_with_version(text)
		.map_err(|_| format!("{text:?} is not an address: expected one such as 5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"))?;
	if format != Ss58AddressFormat::custom(PREFIX) {
		let here = account.to_ss58check_with_version(Ss58AddressFormat::custom(PREFIX));
		return Err(format!("{text:?} is an address of another chain: if its owner has the key here, too, its address is {here}"));
	}
	Ok(account)
}

/// An amount of NEURO above zero.
pub(super) fn amount(text: &str) -> Result<Neuro, String> {
	match text.parse()? {
		Neuro(0) => Err(format!("{text:?} is nothing: name an amount from {} up", Neuro(NEURO / 1_000_000))),
		amount => Ok(amount),
	}
}

/// A number of threads.
pub(super) fn threads(text: &str) -> Result<usize, String> {
	match text.parse() {
		Ok(threads) if threads > 0 => Ok(threads),
		_ => Err(format!("{text:?} is not a number of threads: expected 1 or more; without the option, all of the machine's are used")),
	}
}

/// An address of this machine, `HOST:PORT`; of a host's addresses the first one of IPv4, if it has one.
pub(super) fn listen(text: &str) -> Result<SocketAddr, String> {
	if text.rsplit_once(':').is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err()) {
		return Err(format!(
			"{text:?} is not HOST:PORT: expected an address or a name and a port, such as 127.0.0.1:8080 or localhost:8080"
		));
	}
	let found = text.to_socket_addrs().map_err(|error| format!("no address of the host in {text:?} is known: {error}"))?;
	let mut all: Vec<SocketAddr> = found.collect();
	// The order among others stays.
	all.sort_by_key(SocketAddr::is_ipv6);
	all.first().copied().ok_or_else(|| format!("the host in {text:?} has no address"))
}

/// Text of the form of an SPDX licence expression. Whether there is such a licence is not looked up.
pub(super) fn licence(text: &str) -> Result<String, String> {
	let spaced = text.replace('(', " ( ").replace(')', " ) ");
	// Open brackets, and whether an expression has just ended.
	let (mut depth, mut ended) = (0_usize, false);
	for word in spaced.split(' ').filter(|word| !word.is_empty()) {
		match (word, ended) {
			("(", false) => depth = depth.saturating_add(1),
			(")", true) if depth > 0 => depth = depth.saturating_sub(1),
			("AND" | "OR" | "WITH", true) => ended = false,
			("AND" | "OR" | "WITH", false) => return Err(no_licence(text)),
			(name, false) if is_licence(name) => ended = true,
			_ => return Err(no_licence(text)),
		}
	}
	match ended && depth == 0 {
		true => Ok(text.to_owned()),
		false => Err(no_licence(text)),
	}
}

/// Whether this can name a licence, an exception, or one of somebody's own, `LicenseRef-..`, also in another document, `DocumentRef-..:LicenseRef-..`.
fn is_licence(name: &str) -> bool {
	let name = name.strip_suffix('+').unwrap_or(name);
	name.starts_with(|first: char| first.is_ascii_alphanumeric())
		&& name.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | ':'))
}

fn no_licence(text: &str) -> String {
	format!("{text:?} is no SPDX licence expression: expected one such as Apache-2.0, \"MIT OR Apache-2.0\" or LicenseRef-mine")
}

/// A share from 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
	match text.parse() {
		Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
		_ => Err(format!("{text:?} is not a share: expected a number from 0 (none) to 1 (all)")),
	}
}

/// Refuses `--audit`, which `--check` was called.
pub(super) fn audit(_: &str) -> Result<f64, String> {
	Err("this option is called --check. Audits are what the chain draws this account for, whatever it checks".into())
}

/// `--max-disk` where it is not given, in GiB.
pub(super) const MAX_DISK: &str = "50";

/// A size in GiB, as bytes.
pub(super) fn gib(text: &str) -> Result<u64, String> {
	match text.parse::<f64>() {
		// Exact below 2^53 bytes; whole bytes are all that is needed.
		Ok(gib) if gib > 0.0 && gib <= 1e9 => Ok((gib * GIB) as u64),
		_ => Err(format!("{text:?} is not a size: name GiB, such as 50 or 0.5")),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_chain_client::keys::Account;

	#[test]
	fn a_licence_has_the_form_of_an_spdx_expression() {
		for right in [
			"Apache-2.0",
			"GPL-2.0+",
			"LicenseRef-mixed",
			"DocumentRef-a:LicenseRef-b",
			"MIT OR Apache-2.0",
			"(MIT AND (GPL-2.0-only WITH Classpath-exception-2.0))",
		] {
			assert_eq!(licence(right).as_deref(), Ok(right));
		}
		for wrong in [
			"",
			" ",
			"my own licence",
			"MIT,Apache-2.0",
			"MIT OR",
			"OR MIT",
			"MIT AND OR MIT",
			"(MIT",
			"MIT)",
			"()",
			"MIT (MIT)",
			"MIT\nOR MIT",
			"+",
			"\u{e4}",
			"\u{1b}[31m",
		] {
			let words = licence(wrong).unwrap_err();
			assert!(words.contains("Apache-2.0") && !words.contains('\u{1b}') && !words.contains('\n'), "{words}");
		}
	}

	#[test]
	fn hosts_to_listen_at_are_addresses_or_names() {
		for (text, expected) in [
			("localhost:18080", "127.0.0.1:18080"),
			("127.0.0.1:0", "127.0.0.1:0"),
			("[::1]:80", "[::1]:80"),
			("0.0.0.0:8080", "0.0.0.0:8080"),
		] {
			assert_eq!(listen(text).map(|address| address.to_string()), Ok(expected.to_owned()));
		}
		for wrong in ["localhost", ":8080", "8080", "localhost:", "localhost:http", "localhost:65536", "http://localhost"] {
			assert!(listen(wrong).unwrap_err().contains("HOST:PORT"), "{wrong}");
		}
		assert!(listen("nobody.invalid:8080").unwrap_err().contains("nobody.invalid"));
	}

	#[test]
	fn a_share_is_between_nothing_and_everything() {
		assert_eq!(["0", "0.25", "1"].map(|text| share(text).unwrap()), [0.0, 0.25, 1.0]);
		for wrong in ["-0.1", "1.1", "NaN", "all"] {
			assert!(share(wrong).is_err(), "{wrong}");
		}
	}

	#[test]
	fn disk_limits_are_sizes() {
		assert_eq!((gib("0.5"), gib(MAX_DISK)), (Ok(1 << 29), Ok(50 << 30)));
		for wrong in ["0", "-1", "NaN", "inf", "1e10", "much"] {
			assert!(gib(wrong).unwrap_err().contains("name GiB"), "{wrong}");
		}
	}

	#[test]
	fn an_address_is_read_and_one_of_another_chain_is_not() {
		let alice = Account::from_secret("//Alice").unwrap();
		assert_eq!(address(&alice.address()).unwrap(), alice.id());
		// Alice's address on Polkadot, prefix 0.
		let error = address("15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5").unwrap_err();
		assert!(error.contains("another chain") && error.contains(&alice.address()), "{error}");
	}

	#[test]
	fn what_is_no_address_is_named() {
		let typo = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQZ";
		for wrong in ["", "//Alice", "alice", typo] {
			assert!(address(wrong).unwrap_err().starts_with(&format!("{wrong:?} is not an address")), "{wrong}");
		}
	}

	#[test]
	fn amounts_are_exact_and_above_zero() {
		// A number that no float holds.
		assert_eq!(amount("9007199.254740993001").unwrap().0, 9_007_199_254_740_993_001);
		assert_eq!(amount("0.000000000001").unwrap().0, 1);
		for wrong in ["0", "0.0", "-1", "1e3", "ten", "0.0000000000001"] {
			assert!(amount(wrong).unwrap_err().contains(wrong), "{wrong}");
		}
	}

	#[test]
	fn no_threads_are_no_number_of_threads() {
		assert_eq!(threads("2"), Ok(2));
		for wrong in ["0", "-1", "", "1.5", "all"] {
			assert!(threads(wrong).unwrap_err().contains("1 or more"), "{wrong}");
		}
	}
}
