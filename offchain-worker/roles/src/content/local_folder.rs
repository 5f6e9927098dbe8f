//! The folder that the operator named with `--dataset`, and what it turned out not to hold.

use neuroshard_data::DataError;
use neuroshard_support::backoff::Backoff;
use neuroshard_types::DatasetId;
use std::{
	collections::BTreeMap,
	path::{Path, PathBuf},
	sync::{Arc, Mutex, PoisonError},
	time::{Duration, Instant},
};

/// After which time a folder that could not be read is looked at again: every look reads the whole dataset.
const BACKOFF: Backoff<Duration> = Backoff::new(Duration::from_secs(60), Duration::from_secs(3_600));

/// Why the folder is not used for a dataset.
#[derive(Clone, Copy, Debug)]
enum Bar {
	/// It holds another one, or a damaged one.
	Differs,
	/// It could not be read, which may pass.
	Unreadable { rest: Duration, until: Instant },
}

/// The folder that the operator named, and the datasets of the chain that it turned out not to hold. Clones share these.
#[derive(Clone, Debug, Default)]
pub struct LocalFolder {
	folder: Option<PathBuf>,
	bars: Arc<Mutex<BTreeMap<DatasetId, Bar>>>,
}

impl LocalFolder {
	pub fn new(folder: Option<PathBuf>) -> Self {
		Self { folder, bars: Arc::default() }
	}

	/// The folder, if it is worth looking at `now` whether it holds dataset `id`.
	pub fn of(&self, id: DatasetId, now: Instant) -> Option<&Path> {
		let bars = self.bars.lock().unwrap_or_else(PoisonError::into_inner);
		let barred = bars.get(&id).is_some_and(|bar| match bar {
			Bar::Differs => true,
			Bar::Unreadable { until, .. } => now < *until,
		});
		self.folder.as_deref().filter(|_| !barred)
	}

	/// Returns whether the operator's folder is `path`.
	pub fn holds(&self, path: &Path) -> bool {
		let same = |folder: &PathBuf| matches!((folder.canonicalize(), path.canonicalize()), (Ok(one), Ok(other)) if one == other);
		self.folder.as_ref().is_some_and(same)
	}

	/// Notes `now` why the folder does not do for dataset `id`: a difference bars it until the worker starts anew, and what could not be
	/// read is read again later.
	pub fn note(&self, id: DatasetId, error: &DataError, now: Instant) {
		let mut bars = self.bars.lock().unwrap_or_else(PoisonError::into_inner);
		let bar = match (error, bars.get(&id)) {
			(DataError::Io { .. }, before) => {
				let last = before.and_then(|bar| match bar {
					Bar::Unreadable { rest, .. } => Some(*rest),
					Bar::Differs => None,
				});
				let rest = BACKOFF.after(last);
				Bar::Unreadable { rest, until: now.checked_add(rest).unwrap_or(now) }
			}
			_ => Bar::Differs,
		};
		bars.insert(id, bar);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn folder() -> LocalFolder {
		LocalFolder::new(Some("/data".into()))
	}

	#[test]
	fn a_difference_bars_the_folder_for_that_dataset_only() {
		let (local, now) = (folder(), Instant::now());
		local.note(3, &DataError::Chunk { shard: 0, chunk: 1 }, now);
		assert_eq!(local.of(3, now + Duration::from_secs(1 << 30)), None);
		assert!(local.clone().of(3, now).is_none() && local.of(4, now).is_some(), "clones share it, other datasets do not");
	}

	#[test]
	fn what_could_not_be_read_is_read_again_less_and_less_often() {
		let (local, start) = (folder(), Instant::now());
		let mut looked = Vec::new();
		for minute in 0..260 {
			let now = start + Duration::from_secs(60 * minute);
			if local.of(3, now).is_some() {
				looked.push(minute);
				local.note(3, &DataError::Io { path: "/data".into(), source: std::io::Error::other("away") }, now);
			}
		}
		assert_eq!(looked, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
	}
}
