//! Names of files on a mirror: those that a store gives them in its folder.

use neuroshard_types::H256;
use object_store::path::Path;

/// A file on a mirror.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum File {
	/// The bytes of a blob.
	Bin(H256),
	/// The hashes of its leaves.
	Leaves(H256),
	/// A note.
	Note(H256),
}

impl File {
	/// The file below `prefix`.
	pub fn below(self, prefix: &Path) -> Path {
		let blob = |root: H256, extension| {
			let name = hex::encode(root.0);
			prefix.clone().join("blobs").join(&name[..2]).join(format!("{name}.{extension}"))
		};
		match self {
			Self::Bin(root) => blob(root, "bin"),
			Self::Leaves(root) => blob(root, "leaves"),
			Self::Note(root) => prefix.clone().join("notes").join(hex::encode(root.0)),
		}
	}
}
