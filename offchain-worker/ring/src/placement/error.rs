//! Errors of placement.

use super::Role;
use neuroshard_graph::ConfigError;
use std::fmt::Write;

/// Why a model cannot be placed, or what of the input is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlacementError {
	/// The model's shape.
	#[error(transparent)]
	Config(#[from] ConfigError),
	/// The load that the ring is planned for is invalid.
	#[error("the context must be 1 to {most} tokens, and the batch at least 1 and at most the number of sequences")]
	Load {
		/// The model's longest sequence.
		most: u32,
	},
	/// The costs of the model.
	#[error("the model must have 1 to 128 layers and a batch, and share no more bytes than each of its ends has")]
	Model,
	/// The request is invalid.
	#[error("redundancy must be at least 1, and the spans 1 to {most}", most = super::MOST_SPANS)]
	Request,
	/// A number of a node that nothing can be computed from.
	#[error("node {name}: {what}")]
	Node {
		/// Its name.
		name: String,
		/// Error, in words.
		what: &'static str,
	},
	/// Two nodes of one name.
	#[error("two nodes are called {0}: names must differ")]
	SameName(String),
	/// A link of which a number is not one that can be computed with.
	#[error("the link from node {from} to node {to}: its latency must be 0 to 86400 seconds and its bandwidth at least 1 byte per second")]
	Link {
		/// Place of the node that it begins at.
		from: usize,
		/// Place of the node that it ends at.
		to: usize,
	},
	/// Links of other nodes.
	#[error("there are links between {links} nodes, and {nodes} nodes")]
	LinksOfOthers {
		/// Nodes that the links are between.
		links: usize,
		/// Nodes.
		nodes: usize,
	},
	/// There are no nodes.
	#[error("there are no nodes to place the model on")]
	NoNodes,
	/// More nodes than layers.
	#[error("{nodes} nodes cannot have a layer each of {layers}: use fewer nodes")]
	TooManyNodes {
		/// Nodes.
		nodes: usize,
		/// Layers.
		layers: usize,
	},
	/// Nobody has a role.
	#[error("no node may be a {0}: a ring needs one")]
	NoRole(Role),
	/// The nodes have too little memory.
	#[error("{}", memory_text(*.needed, *.available, *.missing, .short, *.exact))]
	Memory {
		/// Bytes that the model needs.
		needed: u64,
		/// Bytes that the nodes lend that could take part together.
		available: u64,
		/// Bytes that must be added to the memory of the nodes in `short`. No smaller number would do if `exact`.
		missing: u64,
		/// Nodes that would have to lend more, and the bytes.
		short: Vec<(String, u64)>,
		/// True if `missing` is the smallest number.
		exact: bool,
	},
	/// The nodes would have the memory, but roles, links or the number of spans are in the way.
	#[error("no ring was found that the nodes' roles, the measured links and the number of spans allow: measure more links, or allow more spans")]
	NoRing,
	/// Too few nodes could hold a span.
	#[error(
		"layers {first} to {last} need {asked} different nodes, and only {found} could hold them: a replica takes {bytes} bytes; \
		the one that comes nearest lacks {missing} bytes"
	)]
	Redundancy {
		/// First layer of the span.
		first: usize,
		/// Last layer of the span.
		last: usize,
		/// Number of different nodes that are asked for.
		asked: usize,
		/// Number of nodes that were found.
		found: usize,
		/// Bytes of the span.
		bytes: u64,
		/// Bytes that the node lacks that comes nearest, of those that have the roles; 0 if there is no such node.
		missing: u64,
	},
}

fn memory_text(needed: u64, available: u64, missing: u64, short: &[(String, u64)], exact: bool) -> String {
	let least = if exact { "" } else { ", or somewhat fewer" };
	let mut text = format!("{missing} bytes of memory are missing{least}: the model needs {needed} bytes, and the nodes lend {available}");
	if available >= needed {
		text.push_str(", but not in pieces that whole layers fit in");
	}
	for (place, (name, bytes)) in short.iter().enumerate() {
		// Writing to a string does not fail.
		let _ = write!(text, "{} {name} lacks {bytes}", if place == 0 { ";" } else { "," });
	}
	text
}
