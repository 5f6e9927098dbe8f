//! Text of the crates that cargo has fetched.

use super::{
	reader::{Reader, Share},
	walk::{self, sorted_entries},
	LeftOut,
};
use crate::DataError;
use std::{
	collections::BTreeMap,
	path::{Path, PathBuf},
};

/// Takes the beginning of the first file of every crate below `root`, then of the second of every crate, and so on.
pub(super) fn read(root: &Path, reader: &mut Reader<'_>) -> Result<(), DataError> {
	reader.without_repeats();
	// A crate's folder name, whichever registry mirror it was unpacked for, to its folder.
	let mut crates = BTreeMap::new();
	for index in sorted_entries(root).map_err(|_| DataError::NoText { path: root.to_path_buf(), left_out: LeftOut::default() })? {
		if index.is_dir() {
			for folder in sorted_entries(&index)? {
				if let (true, Some(name)) = (folder.is_dir(), folder.file_name()) {
					crates.entry(name.to_os_string()).or_insert(folder);
				}
			}
		}
	}
	let mut queues = Vec::with_capacity(crates.len());
	for folder in crates.into_values() {
		// Most of a crate is no text to train on, and nobody asks why.
		let files = walk::files(&folder, None, &mut LeftOut::default())?;
		let mut ranked: Vec<(u8, PathBuf)> = files.into_iter().filter_map(|file| Some((rank(&folder, &file)?, file))).collect();
		ranked.sort();
		queues.push(ranked.into_iter().map(|(_, file)| file));
	}
	// Round-robin; a crate leaves when its files are used up.
	while !queues.is_empty() {
		let mut failure = None;
		queues.retain_mut(|files| {
			let Some(file) = files.next() else { return false };
			if let Err(error) = reader.file(root, &file, None, Share::Beginning) {
				failure.get_or_insert(error);
			}
			true
		});
		if let Some(error) = failure {
			return Err(error);
		}
	}
	Ok(())
}

/// Place of a crate's file in the order of its files; `None` for one that is no text to train on.
fn rank(folder: &Path, path: &Path) -> Option<u8> {
	let extension = path.extension().and_then(|extension| extension.to_str());
	let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
	match extension {
		_ if name.starts_with("README") => Some(0),
		Some("rs") if path.starts_with(folder.join("src")) => Some(1),
		Some("rs" | "md") => Some(2),
		_ => None,
	}
}
