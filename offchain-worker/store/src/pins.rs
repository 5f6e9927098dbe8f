//! Pins of blobs that must stay: a set of labels per root, kept across restarts.

use crate::StoreError;
use neuroshard_types::H256;
use std::{
	collections::{BTreeMap, BTreeSet},
	fs, io,
	path::Path,
};

/// Labels by root. A root that is not in the store may be pinned ahead of its arrival.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pins {
	labels: BTreeMap<H256, BTreeSet<String>>,
}

impl Pins {
	/// Returns whether anything pins `root`.
	pub(crate) fn holds(&self, root: H256) -> bool {
		self.labels.contains_key(&root)
	}

	/// Adds a label; says whether that changed anything.
	pub(crate) fn add(&mut self, root: H256, label: &str) -> bool {
		self.labels.entry(root).or_default().insert(label.to_owned())
	}

	/// Takes a label off; says whether that changed anything.
	pub(crate) fn take(&mut self, root: H256, label: &str) -> bool {
		let Some(labels) = self.labels.get_mut(&root) else { return false };
		let removed = labels.remove(label);
		if labels.is_empty() {
			self.labels.remove(&root);
		}
		removed
	}

	/// Roots that carry `label`.
	pub(crate) fn with_label(&self, label: &str) -> Vec<H256> {
		self.labels.iter().filter(|(_, labels)| labels.contains(label)).map(|(root, _)| *root).collect()
	}

	/// All labels in use, each once.
	pub(crate) fn labels(&self) -> Vec<String> {
		self.labels.values().flatten().collect::<BTreeSet<_>>().into_iter().cloned().collect()
	}

	/// Reads the file; none means no pins.
	pub(crate) fn load(path: &Path) -> Result<Self, StoreError> {
		let damaged = |reason: String| StoreError::Pins { path: path.to_owned(), reason };
		let text = match fs::read(path) {
			Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
			outcome => outcome.map_err(|error| StoreError::io("read", path, error))?,
		};
		let stored: BTreeMap<String, BTreeSet<String>> = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
		let mut labels = BTreeMap::new();
		for (name, set) in stored {
			let mut root = [0; 32];
			hex::decode_to_slice(&name, &mut root).map_err(|error| damaged(format!("{name:?}: {error}")))?;
			if !set.is_empty() {
				labels.insert(H256(root), set);
			}
		}
		Ok(Self { labels })
	}

	/// The file's contents.
	pub(crate) fn to_json(&self) -> Vec<u8> {
		let stored: BTreeMap<String, &BTreeSet<String>> = self.labels.iter().map(|(root, set)| (hex::encode(root.0), set)).collect();
		// A map of strings to sets of strings always has a JSON form.
		serde_json::to_vec_pretty(&stored).unwrap_or_default()
	}
}
