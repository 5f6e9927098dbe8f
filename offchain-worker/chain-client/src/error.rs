//! Errors between worker and chain, in words that say what to do.

use crate::shape::Mismatch;
use neuroshard_types::{Balance, BlockNumber};

/// Why the chain did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
	/// Nobody answers at the node's address.
	#[error("no node answers at {url} ({reason}): start one, or name another with --node ws://HOST:PORT")]
	NodeAway {
		/// The address.
		url: String,
		/// Error of the connection.
		reason: String,
	},
	/// Somebody answers at the node's address, and lets nobody in who asks like this.
	#[error(
		"the node at {url} refuses the connection (HTTP {status}: {words}). Name it as it wants to be asked, or another one, with --node"
	)]
	Refused {
		/// The address.
		url: String,
		/// Status of the answer.
		status: u16,
		/// Body of the answer.
		words: String,
	},
	/// The node answers no more calls for now.
	#[error("the node at {url} answers no more calls for now ({reason}): try again soon, or raise its limits")]
	NodeBusy {
		/// The address.
		url: String,
		/// Error of the node.
		reason: String,
	},
	/// The node's address is none.
	#[error("{url} is not the address of a node: expected ws://HOST:PORT or wss://HOST:PORT")]
	BadUrl {
		/// Address that was given.
		url: String,
	},
	/// The nodes are not all on one chain.
	#[error("the nodes are on different chains: {first} has the genesis block {}, {second} has {}. Name nodes of one chain with --node", .hashes[0], .hashes[1])]
	OtherChain {
		/// Address of a node.
		first: String,
		/// Address of another one.
		second: String,
		/// Genesis hash of each.
		hashes: [String; 2],
	},
	/// The data folder belongs to another chain.
	#[error("this node is on the chain {found}, but {folder} belongs to the chain {expected}: name the right node with --node, or another folder with --base-path")]
	WrongChain {
		/// Genesis hash of the node's chain.
		found: String,
		/// Genesis hash that the folder belongs to.
		expected: String,
		/// The data folder.
		folder: String,
	},
	/// The chain lacks something this worker needs.
	#[error("the chain at this node has no {what}: it is not a NeuroShard chain, or of another version; use the worker of its release")]
	Missing {
		/// Item that is missing.
		what: String,
	},
	/// The chain means something else by this name.
	#[error("the chain's {what} is not what this worker knows ({mismatch}): use the worker of the chain's release")]
	Incompatible {
		/// Call or view function.
		what: String,
		/// First difference between the types.
		mismatch: Mismatch,
	},
	/// The chain's answer is no value of the type it promised.
	#[error("the node's answer to {what} cannot be decoded: {reason}")]
	BadAnswer {
		/// Request that was made.
		what: String,
		/// Error of decoding.
		reason: String,
	},
	/// The node refused a request.
	#[error("the node refused {what}: {reason}")]
	Rpc {
		/// Request that was made.
		what: String,
		/// Its answer.
		reason: String,
	},
	/// The account cannot pay.
	#[error("account {address} has {free} and cannot pay for this: send it some NEURO first")]
	Unfunded {
		/// Address of the account.
		address: String,
		/// Its free balance.
		free: Neuro,
	},
	/// The account that signs acts for its owner no more.
	#[error("account {operator} is not the operator of {owner} any more, so that nothing was sent: its owner has named another one, or none. Stop this worker, or have it named again with `neuroshard-worker register --owner {owner}`")]
	Dismissed {
		/// Address of the account that signs.
		operator: String,
		/// Address of the provider.
		owner: String,
	},
	/// The transaction pool does not take the extrinsic.
	#[error("the node does not accept {call}: {reason}")]
	Pool {
		/// The call.
		call: String,
		/// The pool's error, explained.
		reason: String,
	},
	/// The extrinsic got into a block, and its call failed there.
	#[error("{call} failed: {name}. {advice}")]
	Dispatch {
		/// The call.
		call: String,
		/// `Pallet::Error`.
		name: String,
		/// The error's documentation on chain: what to do.
		advice: String,
	},
	/// The extrinsic did not get into a block while it was valid, several times over.
	#[error("{call} got into no block within {blocks} blocks: is the chain producing blocks, and is the node synced? (`neuroshard-worker doctor` tells)")]
	NotIncluded {
		/// The call.
		call: String,
		/// Number of blocks that were waited for.
		blocks: u32,
	},
	/// The extrinsic got into no block before its deadline.
	#[error("{call} got into no block before block {deadline}, which is too late for it: keep the node synced, and some NEURO free for tips where blocks are full")]
	Late {
		/// The call.
		call: String,
		/// First block that is too late.
		deadline: BlockNumber,
	},
	/// Whoever sends extrinsics has ended, or gave this one up by a panic.
	#[error("nobody sends extrinsics any more, or this one was given up by a fault of the program, which the log tells")]
	Stopped,
}

impl ChainError {
	/// Returns whether the node may answer if it is asked again.
	pub fn passes(&self) -> bool {
		matches!(self, Self::NodeAway { .. } | Self::NodeBusy { .. })
	}

	/// Returns whether the call was executed and refused with this `Pallet::Error`.
	pub fn is_dispatch(&self, expected: &str) -> bool {
		matches!(self, Self::Dispatch { name, .. } if name == expected)
	}
}

/// An amount as people read it: NEURO with up to six decimals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neuro(pub Balance);

impl std::fmt::Display for Neuro {
	fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		use neuroshard_types::NEURO;
		let micro = (self.0 % NEURO) / (NEURO / 1_000_000);
		let decimals = format!("{micro:06}");
		match decimals.trim_end_matches('0') {
			"" => write!(formatter, "{} NEURO", self.0 / NEURO),
			decimals => write!(formatter, "{}.{decimals} NEURO", self.0 / NEURO),
		}
	}
}

impl std::str::FromStr for Neuro {
	type Err = String;

	/// Reads an amount such as `100`, `0.5` or `2 NEURO`.
	fn from_str(text: &str) -> Result<Self, String> {
		use neuroshard_types::NEURO;
		let wrong = || format!("{text:?} is not an amount of NEURO: expected a number such as 100 or 0.5, with at most 12 decimals");
		let number = text.trim().trim_end_matches("NEURO").trim_end();
		let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
		let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
		if !digits(whole) || !digits(decimals) || decimals.len() > 12 {
			return Err(wrong());
		}
		let whole: Balance = whole.parse().map_err(|_| wrong())?;
		let decimals: Balance = format!("{decimals:0<12}").parse().map_err(|_| wrong())?;
		whole.checked_mul(NEURO).and_then(|planck| planck.checked_add(decimals)).map(Self).ok_or_else(wrong)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::NEURO;

	#[test]
	fn amounts_are_written_for_people() {
		assert_eq!(Neuro(0).to_string(), "0 NEURO");
		assert_eq!(Neuro(1_500 * NEURO).to_string(), "1500 NEURO");
		assert_eq!(Neuro(NEURO / 2).to_string(), "0.5 NEURO");
		assert_eq!(Neuro(NEURO + 1_999_999).to_string(), "1.000001 NEURO", "what is below a millionth is cut");
	}

	#[test]
	fn amounts_are_read_exactly_or_not_at_all() {
		let read = |text: &str| text.parse::<Neuro>().map(|amount| amount.0);
		assert_eq!(read("100"), Ok(100 * NEURO));
		assert_eq!(read("0.000000000001"), Ok(1));
		assert_eq!(read("2.5 NEURO"), Ok(2 * NEURO + NEURO / 2));
		for wrong in ["", ".", "1.", "-1", "1e3", "0.0000000000001", "1,5", "340282366920938463463374607431768211456"] {
			assert!(read(wrong).is_err(), "{wrong:?}");
		}
	}
}
