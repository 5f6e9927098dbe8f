//! The file in which the leader of a quorum names its members.

use crate::cli::CliError;
use neuroshard_network::PeerAddress;
use neuroshard_types::{
	quorum::{Span, MAX_MEMBERS},
	AccountId, ModelConfig,
};
use serde::Deserialize;
use std::path::Path;

/// Bytes of a file, at most.
const MOST: u64 = 1 << 20;

/// A member as the file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
	/// Its address on the chain.
	account: String,
	/// Units of the model that it is to hold.
	units: u32,
	/// Where it is reached, with its identity.
	address: String,
}

/// A member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::cli) struct Named {
	/// The account.
	pub(in crate::cli) who: AccountId,
	/// Units of the model that it is to hold.
	pub(in crate::cli) units: u32,
	/// Where it is reached.
	pub(in crate::cli) address: PeerAddress,
}

/// Those whom the file names, in the order of their numbers.
pub(in crate::cli) fn read(path: &Path) -> Result<Vec<Named>, CliError> {
	let long = std::fs::metadata(path).map_err(CliError::file(path))?.len() > MOST;
	let text = if long { String::new() } else { std::fs::read_to_string(path).map_err(CliError::file(path))? };
	parse(&text).map_err(|why| {
		CliError::Invalid(format!(
			"{} does not name the members of a quorum: {why}. Expected is a list such as [{{\"account\": \"5Grw..\", \"units\": 3, \"address\": \
			 \"/ip4/192.0.2.1/udp/4700/quic-v1/p2p/12D3..\"}}, ..]",
			path.display()
		))
	})
}

fn parse(text: &str) -> Result<Vec<Named>, String> {
	let lines: Vec<Line> = serde_json::from_str(text).map_err(|error| error.to_string())?;
	if lines.is_empty() || lines.len() > usize::try_from(MAX_MEMBERS).unwrap_or(usize::MAX) {
		return Err(format!("it has {} members, and a quorum has 1 to {MAX_MEMBERS}", lines.len()));
	}
	let mut members: Vec<Named> = Vec::new();
	for Line { account, units, address } in lines {
		let who = crate::cli::parse::address(&account)?;
		let address: PeerAddress = address.parse().map_err(|error: neuroshard_network::AddressError| error.to_string())?;
		if members.iter().any(|other| other.who == who || other.address.peer == address.peer) {
			return Err(format!("{account} or its identity is in it twice"));
		}
		members.push(Named { who, units, address });
	}
	Ok(members)
}

/// What each is to hold: the first one has the end of the model and its embedding, and layers follow.
pub(super) fn holders(members: &[Named], model: &ModelConfig) -> Result<Vec<(AccountId, Span)>, CliError> {
	let counts: Vec<u32> = members.iter().map(|member| member.units).collect();
	let cut = neuroshard_graph::span::cut(model, &counts);
	let spans = cut.map_err(|error| {
		let units = neuroshard_graph::span::units(model);
		CliError::Invalid(format!("the model has {units} units, its layers, the embedding and the end, which cannot be held so: {error}"))
	})?;
	Ok(members.iter().map(|member| member.who.clone()).zip(spans).collect())
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_network::Keypair;

	const ALICE: &str = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY";
	const BOB: &str = "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty";

	fn line(account: &str, units: u32) -> String {
		let peer = Keypair::generate_ed25519().public().to_peer_id();
		format!(r#"{{"account": "{account}", "units": {units}, "address": "/ip4/127.0.0.1/udp/4700/quic-v1/p2p/{peer}"}}"#)
	}

	#[test]
	fn members_are_read_in_order_and_hold_the_end_first() {
		let members = parse(&format!("[{}, {}]", line(ALICE, 2), line(BOB, 4))).unwrap();
		let model = ModelConfig { layers: 4, tied: true, ..ModelConfig::tiny() };
		let [alice, bob] = [ALICE, BOB].map(|account| crate::cli::parse::address(account).unwrap());
		// Units 0 to 5: the embedding, four layers and the end.
		let expected = vec![(alice.clone(), Span { first: 5, count: 2 }), (bob.clone(), Span { first: 1, count: 4 })];
		assert_eq!(holders(&members, &model).unwrap(), expected);
		let words = holders(&members, &ModelConfig { layers: 5, ..model }).unwrap_err().to_string();
		assert!(words.contains("the model has 7 units"), "{words}");
	}

	#[test]
	fn what_is_no_list_of_members_is_refused_with_what_it_should_be() {
		let folder = tempfile::tempdir().unwrap();
		let path = folder.path().join("members.json");
		let refusal = |text: &str| {
			std::fs::write(&path, text).unwrap();
			read(&path).unwrap_err().to_string()
		};
		for (text, why) in [
			(String::new(), "EOF"),
			("[]".into(), "0 members"),
			(format!("[{}]", line("bob", 2)), "is not an address"),
			(format!("[{}, {}]", line(BOB, 2), line(BOB, 1)), "twice"),
			(line(BOB, 2), "invalid type"),
			(format!("[{}]", line(BOB, 2).replace("/p2p/", "/dns4/")), "p2p"),
			(format!("[{}]", line(BOB, 2).replace("units", "layers")), "unknown field"),
		] {
			let words = refusal(&text);
			assert!(words.contains(why) && words.contains("members.json") && words.contains("\"units\": 3"), "{words}");
		}
		assert!(read(&folder.path().join("none")).is_err());
	}
}
